"""Who is at the other end of a line: the CR1 of an RV-2AJ, another controller, something else, or nobody."""

from __future__ import annotations

from drivers._rv2aj_codec import Identity, decode_identity
from drivers._rv2aj_line import Ask, Line
from drivers._rv2aj_settings import Rv2ajSettings
from drivers._rv2aj_talk import Talk, need
from hil.errors import ControllerError, HilError, LinkTimeout

CLIENT = "HIL"
ARM = "RV-2AJ"
JOINT_AXES = 0x37
FACTORY = "factory: 9600 baud, 8 data bits, even parity, 2 stop bits"
SILENCE_S = 2.0
"""How long after it was due an answer is waited for where nobody else judges the silence."""

HELLO = Ask(f"OPEN={CLIENT}", decode_identity, 200)


def greet(line: Line, settings: Rv2ajSettings) -> Talk[Identity]:
    """Open the session. Takes nothing from anybody and moves nothing.

    Raises:
        ControllerError: something else answers, or an arm of another kind.
    """
    name = settings.port_url
    found = decode_identity((yield from need(HELLO)).data)
    if ARM not in found.robot.upper() or found.joint_axes != JOINT_AXES:
        raise ControllerError(
            f"{name}: the controller drives a {found.robot} with joints {found.joint_axes:02X}, the rig is for an "
            f"{ARM} ({JOINT_AXES:02X}): is this the right port?"
        )
    line.opened = True
    language = yield from need(Ask("PARRLNG", _language, length=20))
    if language.data.split(";")[1:2] == ["0"]:
        raise ControllerError(
            f"{name}: the controller is set to Movemaster commands (parameter RLNG = 0); set RLNG to 1, MELFA-BASIC "
            "IV, then switch it off and on"
        )
    return found


def _language(data: str) -> None:
    """Raises ControllerError unless this is the value of RLNG, and not a second answer to OPEN."""
    if not data.startswith("RLNG;"):
        raise ControllerError(f"{data[:60]!r} is no answer to PARRLNG", data.encode("latin-1"))


def refuse_silence(line: Line, now_s: float) -> None:
    """Give up once an answer stays away for `SILENCE_S`.

    Raises:
        LinkTimeout: nobody answers.
        ControllerError: nobody answers, and what comes instead has no meaning.
    """
    if line.silent_s(now_s) > SILENCE_S:
        raise _nobody(line, now_s) if not line.opened else _no_more(line, now_s)


def _nobody(line: Line, now_s: float) -> HilError:
    settings = line.settings
    name, words = settings.port_url, f"{settings.baud} baud, {settings.framing}, CR"
    noise = line.noise
    if noise:
        return ControllerError(
            f"{name}: something answers at {words}, but it is no CR1, or its line is set otherwise ({FACTORY}). "
            f"It said {noise[:40]!r}",
            noise.encode("latin-1"),
        )
    return LinkTimeout(
        f"{name}: no answer to OPEN at {words}. Check the power first, then the cable (null modem: pins 2 and 3 "
        f"crossed), then that the controller's line is set the same ({FACTORY}), then whether this is the right port",
        name,
    )


def _no_more(line: Line, now_s: float) -> HilError:
    name = line.settings.port_url
    if line.noisy:
        return ControllerError(
            f"{name}: the controller's answers have stopped, and bytes without meaning come instead "
            f"(the last {line.noise[:40]!r}): look at the cable and at what lies beside it",
            line.noise.encode("latin-1"),
        )
    return LinkTimeout(
        f"{name}: the controller has been silent for {line.silent_s(now_s):.1f} s in the middle of a conversation: "
        "look at its power and at the cable",
        name,
    )
