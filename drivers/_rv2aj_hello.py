"""Who is at the other end of a line: the CR1 of an RV-2AJ, another controller, something else, or nobody."""

from __future__ import annotations

from drivers._rv2aj_codec import Identity, decode_identity
from drivers._rv2aj_line import Ask, Line
from drivers._rv2aj_settings import Rv2ajSettings
from drivers._rv2aj_talk import ATTEMPTS, RequestRefusedError, Talk, need
from hil.errors import ControllerError, HilError, LinkTimeout

CLIENT = "HIL"
ARM = "RV-2AJ"
JOINT_AXES = 0x37
FACTORY = "factory: 9600 baud, 8 data bits, even parity, 2 stop bits"


def greet(line: Line, settings: Rv2ajSettings) -> Talk[Identity]:
    """Open the session. Takes nothing from anybody and moves nothing.

    Raises:
        LinkTimeout: nobody answers.
        ControllerError: something else answers, or an arm of another kind.
    """
    name = settings.port_url
    for _ in range(ATTEMPTS):
        heard = yield Ask(f"OPEN={CLIENT}", decode_identity, 200)
        if heard is not None and heard.reply is not None:
            break
    else:
        raise _nobody(line, settings)
    if not heard.reply.accepted:
        raise RequestRefusedError("OPEN", heard.reply)
    found = decode_identity(heard.reply.data)
    if ARM not in found.robot.upper() or found.joint_axes != JOINT_AXES:
        raise ControllerError(
            f"{name}: the controller drives a {found.robot} with joints {found.joint_axes:02X}, the rig is for an "
            f"{ARM} ({JOINT_AXES:02X}): is this the right port?"
        )
    line.opened = True
    language = yield from need(Ask("PARRLNG", length=20))
    if language.data.split(";")[1:2] == ["0"]:
        raise ControllerError(
            f"{name}: the controller is set to Movemaster commands (parameter RLNG = 0); set RLNG to 1, MELFA-BASIC "
            "IV, then switch it off and on"
        )
    return found


def _nobody(line: Line, settings: Rv2ajSettings) -> HilError:
    name, words = settings.port_url, f"{settings.baud} baud, {settings.framing}, CR"
    if line.noise:
        return ControllerError(
            f"{name}: something answers at {words}, but it is no CR1, or its line is set otherwise ({FACTORY}). "
            f"It said {line.noise[:40]!r}",
            line.noise.encode("latin-1"),
        )
    return LinkTimeout(
        f"{name}: no answer to OPEN at {words}. Check the power first, then the cable (null modem: pins 2 and 3 "
        f"crossed), then that the controller's line is set the same ({FACTORY}), then whether this is the right port",
        name,
    )
