"""Who is at the other end of a line: the CR1 of an RV-2AJ, another controller, something else, or nobody."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drivers._rv2aj_alarms import explain
from drivers._rv2aj_codec import Identity, decode_identity
from drivers._rv2aj_line import Ask, Cr1Line
from drivers._rv2aj_settings import Rv2ajSettings
from drivers._rv2aj_talk import Talk, attempt, need
from hil.errors import ControllerError, HilError, LineCause, LinkTimeout

CLIENTS = ("HIL", "NARCUSR", "TOOLBOX")
"""Names under which a session is opened. Ours first; the others are those of the maker's own programs, which public
clients use: a controller may know no other."""
AT_A_TIME = 2
"""So often each is said before the next, while nobody answers."""
ARM = "RV-2AJ"
NAME = re.compile(r"\w{2}-\w+(?:[-/]\w+)*", re.ASCII)
"""How the maker names arms; any other name has lost letters, or their separators, on the way."""
FACTORY = "factory: 9600 baud, 8 data bits, even parity, 2 stop bits"
ANSWERED = re.compile(r"[Qq][Oo]|(?:;[-\w. ]*){3}|RV-|CRn|MELFA|MITSU")
"""What the text of an answer to OPEN has, also with letters missing."""
SILENCE_S = 2.0
"""How long after it was due an answer is waited for where nobody else judges the silence."""
GREETING_S = 2.5
"""The same before the session is open: for the names one after the other."""


def hello(client: str) -> Ask:
    """The request that opens a session under a name."""
    return Ask(f"OPEN={client}", decode_identity, 200)


def greet(line: Cr1Line, settings: Rv2ajSettings, before: str = "") -> Talk[Identity]:
    """Open the session under a name that the controller takes. Takes nothing from anybody and moves nothing.

    Args:
        line: open; its `client` is the name that was taken.
        settings: name and setting of the line.
        before: the name that was taken the last time, which is tried first; empty if none was.

    Raises:
        ControllerError: something else answers, or an arm of another kind.
    """
    name = settings.port_url
    found = yield from _open(line, before)
    if not NAME.fullmatch(found.robot.strip()):
        raise ControllerError(
            f"{name}: the controller calls its arm {found.robot!r}, but its {LineCause.TORN.value}",
            cause=LineCause.TORN,
        )
    if ARM not in found.robot.upper():
        raise ControllerError(
            f"{name}: the controller drives a {found.robot} with joints {found.joint_axes:02X}, the rig is for an "
            f"{ARM}: is this the right port?"
        )
    language = yield from need(Ask("PARRLNG", _language, length=20))
    if language.data.split(";")[1:2] == ["0"]:
        raise ControllerError(
            f"{name}: the controller is set to Movemaster commands (parameter RLNG = 0); set RLNG to 1, MELFA-BASIC "
            "IV, then switch it off and on"
        )
    return found


def _open(line: Cr1Line, before: str) -> Talk[Identity]:
    """Name by name: a refusal brings the next one here, silence in the line itself."""
    names = sorted(CLIENTS, key=lambda client: client != before)
    for place, client in enumerate(names):
        later = [other for other in names[place:] for _ in range(AT_A_TIME)][1:]
        ask = hello(client)._replace(otherwise=tuple(f"OPEN={other}" for other in later))
        reply, _ = yield from attempt(ask)
        if reply.accepted:
            line.opened, line.client = True, line.greeting.removeprefix("OPEN=")
            return decode_identity(reply.data)
    raise ControllerError(
        f"{line.settings.port_url}: the controller refuses OPEN ({explain(reply.error).words}), as {_listed(names)}. "
        "If it takes none of these names, tell us; if letters got lost on the way, its line is set otherwise "
        f"({FACTORY})"
    )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _language(data: str) -> None:
    """Raises ControllerError unless this is the value of RLNG, and not a second answer to OPEN."""
    if not data.startswith("RLNG;"):
        raise ControllerError(f"{data[:60]!r} is no answer to PARRLNG", data.encode("latin-1"))


def refuse_silence(line: Cr1Line, now_s: float) -> None:
    """Give up once an answer stays away for `SILENCE_S`, or `GREETING_S`.

    Raises:
        LinkTimeout: nobody answers.
        ControllerError: nobody answers, and what comes instead has no meaning.
    """
    if line.silent_s(now_s) > (GREETING_S if line.greeting_out else SILENCE_S):
        raise _no_more(line, now_s) if line.opened else _nobody(line, now_s)


def _nobody(line: Cr1Line, now_s: float) -> HilError:
    settings = line.settings
    name, words = settings.port_url, f"{settings.baud} baud, {settings.framing}, CR"
    noise = line.noise
    if ANSWERED.search(line.newest):
        sign = line.sign(now_s) or LineCause.TORN
        return ControllerError(f"{name}: something answers at {words}, but its {sign.value}", cause=sign)
    if noise:
        return ControllerError(
            f"{name}: something answers at {words}, but it is no CR1, or its line is set otherwise ({FACTORY}). "
            f"It said {noise[:40]!r}",
            noise.encode("latin-1"),
        )
    return LinkTimeout(
        f"{name}: no answer to OPEN at {words}. Check the power first, then the cable (null modem: pins 2 and 3 "
        f"crossed), then that the controller's line is set the same ({FACTORY}), then whether this is the right port. "
        f"It was asked as {_listed(CLIENTS)}",
        name,
    )


def _no_more(line: Cr1Line, now_s: float) -> HilError:
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
