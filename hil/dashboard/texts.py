"""What the window says, ready for translation: `tr` for sentences, and words for everything that has a code."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from hil.service.wire import Lamp, LeasePhase, NoticeKind
from hil.types import Mode, StateSource, Supply

CONTEXT = "dashboard"
"""Context of every text in a translation file."""

YOUNG_S = 0.5


def tr(text: str, **values: object) -> str:
    """A text in the user's language, with `{names}` filled in."""
    translated = QCoreApplication.translate(CONTEXT, text)
    return translated.format(**values) if values else translated


def age_text(age_s: float) -> str:
    """How old a picture is. A young one has no number: nobody reads what changes with every look."""
    return tr("under {age:.1f} s old", age=YOUNG_S) if age_s < YOUNG_S else tr("{age:.1f} s old", age=age_s)


MODES = {
    Mode.DISCONNECTED: ("DISCONNECTED", "no line to the controller"),
    Mode.CONNECTING: ("CONNECTING", "asking the controller who it is"),
    Mode.UNKNOWN_POSE: ("UNKNOWN POSE", "somebody has to look where the limp arm is"),
    Mode.ENERGISING: ("ENERGISING", "joints are driven one by one"),
    Mode.IDLE: ("IDLE", "at rest; nothing is armed"),
    Mode.ARMED: ("ARMED", "will move as soon as it is told to"),
    Mode.STREAMING: ("MOVING", "commands go to the controller"),
    Mode.STOPPING: ("STOPPING", "slowing down within its limits"),
    Mode.HOLDING: ("HOLDING", "stopped; holds its pose, queued motion was thrown away"),
    Mode.FAULT: ("FAULT", "something failed; see the last reason"),
    Mode.ESTOP: ("SOFTWARE STOP", "latched until somebody resets it"),
}
"""Per mode its word and what it means."""

OFF, WAITING, OLD = "no connection", "waiting", "old"
LAMPS = {
    Lamp.AWAY: "away",
    Lamp.STARTING: "starting",
    Lamp.UNKNOWN: "pose unknown",
    Lamp.READY: "ready",
    Lamp.ARMED: "armed",
    Lamp.MOVING: "moving",
    Lamp.ALARM: "error alarm",
    Lamp.FROZEN: "frozen",
    Lamp.LATCHED: "stop latched",
    Lamp.FAULT: "fault",
    Lamp.ESTOP: "software stop",
}
"""How an arm is, in one word or two: the same as on the page and on the wall (`hil/service/page/words_lamp.js`)."""

SOURCES = {
    StateSource.MEASURED: ("MEASURED", "by the arm's own sensors"),
    StateSource.ECHOED: ("ECHOED", "the pulse that the board makes; nobody measures where the arm is"),
    StateSource.SIMULATED: ("SIMULATED", "by a model"),
}
"""Per source of a report its label and what it is worth."""

LEASES = {
    LeasePhase.FREE: "nobody drives",
    LeasePhase.HELD: "driven by {holder}",
    LeasePhase.SUSPENDED: "kept for {holder}, who is not heard",
    LeasePhase.CHANGING: "changes hands: the arm is brought to rest first",
    LeasePhase.CLEARING: "left by its driver; park it first",
}

SUPPLIES = {
    Supply.UNSAID: "nobody has said anything of it; whoever confirms the pose says that it is on.",
    Supply.ON: "said to be on by whoever confirmed the pose.",
    Supply.CUT: (
        "CUT, somebody said. Nothing that is echoed counts. Support the arm, leave the supply off, switch the logic "
        "off as well, put the arm into its park pose, logic on, supply on with your hands clear, reset, confirm."
    ),
    Supply.FORGOTTEN: (
        "it was cut, and the board has forgotten its pulses since. Put the arm into its park pose, supply on with your "
        "hands clear, then confirm both."
    ),
    Supply.FELT: "its controller knows by itself.",
}
"""What is held of the servo supply, and what to do next."""

NOTICES = {
    NoticeKind.SLOT_ENDS: "slot ends",
    NoticeKind.SLOT_OVER: "slot over",
    NoticeKind.TOKEN_ENDS: "token ends",
    NoticeKind.HEARTBEAT_LOST: "driver not heard",
    NoticeKind.DEADMAN_RELEASED: "dead-man released",
    NoticeKind.HOLD_ENDS: "nothing changes at the dead-man",
    NoticeKind.PRESS_AGAIN: "press again",
    NoticeKind.SUSPENDED: "lease suspended",
    NoticeKind.RESUMED: "lease resumed",
    NoticeKind.TAKEN_OVER: "taken over",
    NoticeKind.FROZEN: "frozen",
    NoticeKind.THAWED: "thawed",
    NoticeKind.STOPPED: "stopped",
    NoticeKind.PICTURE_STALE: "picture too old",
    NoticeKind.PICTURE_BACK: "picture is back",
    NoticeKind.PARKING: "parking",
    NoticeKind.SELF_TEST: "self-test",
    NoticeKind.MESSAGE: "message",
    NoticeKind.LOOP: "loop",
    NoticeKind.ARM_LOST: "arm lost",
    NoticeKind.SERVER_ENDS: "server ends",
}
