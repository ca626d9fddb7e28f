"""What the CR1 knows about itself: standing error and log, operation right, servo, key, teach box, emergency stops."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from hil.program.errors import known

LOG_LENGTH = 128
POWER_ONLY = frozenset({6800})
"""Errors that only a power cycle clears."""

_TEXTS: dict[int, tuple[str, str]] = {
    50: ("H", "EMERGENCY STOP (EXTERNAL)"),
    60: ("H", "EMERGENCY STOP (OPERATION PANEL)"),
    70: ("H", "EMERGENCY STOP (TEACHING BOX)"),
    51: ("H", "EMERGENCY STOP WIRING UNSTABLE (EXTERNAL)"),
    61: ("H", "EMERGENCY STOP WIRING UNSTABLE (OPERATION PANEL)"),
    71: ("H", "EMERGENCY STOP WIRING UNSTABLE (TEACHING BOX)"),
    1630: ("C", "SERVO ON DURING AN ERROR"),
    1640: ("C", "SERVO ON WITH THE DEADMAN SWITCH OFF"),
    1650: ("C", "SERVO ON WITH THE BRAKES RELEASED"),
    1660: ("C", "SERVO IS BEING SWITCHED ON"),
    1670: ("C", "SERVO IS BEING SWITCHED OFF"),
    1680: ("H", "SERVO DID NOT COME ON IN TIME"),
    1681: ("H", "SERVO DROPPED"),
    1770: ("C", "ORIGIN NOT SET"),
    2030: ("L", "JOG NOT POSSIBLE NOW"),
    3200: ("L", "READ ONLY"),
    3281: ("L", "NOT POSSIBLE WHILE RUNNING OR EDITING"),
    4100: ("L", "TOO MANY PROGRAMS"),
    4110: ("L", "PROGRAM MEMORY FULL"),
    4130: ("L", "CHARACTER NOT ALLOWED IN A PROGRAM NAME"),
    4170: ("L", "PROGRAM IS BEING EDITED"),
    4180: ("L", "PROGRAM IS RUNNING"),
    4190: ("L", "PROGRAM IS SELECTED"),
    4230: ("L", "NO SUCH LINE"),
    4250: ("L", "NO MORE LINES"),
    4910: ("L", "LANGUAGE DIFFERS FROM RLNG"),
    5000: ("H", "TEACHING BOX ENABLED IN AUTO MODE"),
    5010: ("L", "AUTOENA INPUT OFF"),
    5100: ("L", "NO PROGRAM SELECTED"),
    5110: ("L", "ANOTHER PROGRAM IS SELECTED"),
    5120: ("L", "PROGRAM CANNOT BE SELECTED NOW"),
    5130: ("L", "SERVO OFF IS GOING ON"),
    5140: ("L", "PROGRAM FILE IS BUSY"),
    5150: ("L", "ORIGIN NOT SET"),
    5600: ("L", "NOT POSSIBLE DURING AN ERROR"),
    5610: ("C", "STOP INPUT IS ON"),
    5620: ("L", "CYCLE STOP IS ON"),
    5630: ("L", "SERVO OFF INPUT IS ON"),
    5640: ("L", "NOT POSSIBLE WHILE RUNNING"),
    5650: ("L", "NOT POSSIBLE WHILE STOPPED"),
    5660: ("L", "EDIT WHILE RUNNING"),
    6010: ("L", "ILLEGAL COMMAND OR LINE NOT OPENED"),
    6020: ("L", "OPERATION IS NOT ENABLED"),
    6030: ("L", "EDIT IS NOT ENABLED"),
    6060: ("C", "PARAMETER WRITING NEEDS THE TEACH MODE"),
    6080: ("C", "REQUEST TOO LONG"),
    6500: ("C", "COMMUNICATION LINE NOT OPENED BY A PROGRAM"),
    6510: ("H", "SERIAL PARAMETER WRONG"),
    6600: ("L", "SIGNAL NUMBER OUT OF RANGE"),
    6640: ("L", "SIGNAL NOT WRITABLE"),
    6800: ("L", "PSEUDO INPUT MODE WAS ON: SWITCH THE POWER OFF"),
    7080: ("C", "PARAMETER UNKNOWN OR LOCKED (READ)"),
    7081: ("C", "PARAMETER UNKNOWN OR LOCKED (WRITE)"),
    7500: ("C", "BATTERY LOW"),
    7520: ("C", "BATTERY CONSUMPTION TIME IS OVER"),
}


def letter_of(number: int) -> str:
    """Class of an error: H, L or C."""
    return _TEXTS[number][0] if number in _TEXTS else known(number).letter


def text_of(number: int) -> str:
    """What the panel shows for it."""
    return _TEXTS[number][1] if number in _TEXTS else known(number).cause.upper()


LEVELS = {"H": 1, "L": 2, "C": 3}


class Alarm(NamedTuple):
    """One error as the log keeps it."""

    number: int
    at_s: float
    program: str
    line: int

    @property
    def level(self) -> int:
        """1 high, 2 low, 3 caution."""
        return LEVELS[letter_of(self.number)]


class Alarms:
    """The standing error, and those that were.

    Args:
        on_alarm: told of each new one; H switches the servo off, H and L stop what runs.
    """

    def __init__(self, on_alarm: Callable[[Alarm], None]) -> None:
        self.standing: Alarm | None = None
        self.log: list[Alarm] = []
        self._on_alarm = on_alarm

    @property
    def number(self) -> int:
        """Of the standing error, 0 for none."""
        return self.standing.number if self.standing else 0

    def strike(self, number: int, at_s: float, program: str = "", line: int = 0) -> None:
        """An error happens; the graver one, or else the later one, is shown."""
        alarm = Alarm(number, at_s, program, line)
        self.log.append(alarm)
        del self.log[:-LOG_LENGTH]
        if self.standing is None or alarm.level <= self.standing.level:
            self.standing = alarm
        self._on_alarm(alarm)

    def reset(self) -> None:
        """Take the standing error away, if a reset can."""
        if self.standing is not None and self.standing.number not in POWER_ONLY:
            self.standing = None


class ServoState(Enum):
    """Drives of all axes together."""

    OFF = "off"
    RISING = "rising"
    ON = "on"
    FALLING = "falling"


class Servo:
    """Switching the drives takes time.

    Attributes:
        due_s: when the switching is done; infinity if none goes on.
    """

    def __init__(self, rise_s: float, fall_s: float) -> None:
        self._rise_s, self._fall_s = rise_s, fall_s
        self.state = ServoState.OFF
        self.due_s = math.inf

    @property
    def on(self) -> bool:
        """True while the drives hold or move the arm."""
        return self.state is ServoState.ON

    @property
    def holds(self) -> bool:
        """True while the drives can still move the arm: also until switching off is done."""
        return self.state in (ServoState.ON, ServoState.FALLING)

    def come_on(self) -> None:
        """On at once."""
        self.state, self.due_s = ServoState.ON, math.inf

    def switch_on(self, now_s: float) -> None:
        """Begin to switch on, unless it is on."""
        if self.state in (ServoState.OFF, ServoState.FALLING):
            self.state, self.due_s = ServoState.RISING, now_s + self._rise_s

    def switch_off(self, now_s: float) -> None:
        """Begin to switch off, brakes first."""
        if self.state in (ServoState.ON, ServoState.RISING):
            self.state, self.due_s = ServoState.FALLING, now_s + self._fall_s

    def drop(self) -> None:
        """Off at once."""
        self.state, self.due_s = ServoState.OFF, math.inf

    def run_to(self, now_s: float) -> None:
        """Finish what is due."""
        if now_s >= self.due_s:
            self.state = ServoState.ON if self.state is ServoState.RISING else ServoState.OFF
            self.due_s = math.inf


class Holder(Enum):
    """Who has the operation right."""

    NOBODY = "nobody"
    PC = "pc"
    OTHER = "other"
    """The operation panel, the teach box or another PC."""


class Stop(Enum):
    """Emergency stops by the bit that STPSIG shows, and the error of each."""

    OUTSIDE = 0
    PANEL = 1
    TEACH_BOX = 2

    @property
    def number(self) -> int:
        """H0050, H0060 or H0070."""
        return 50 + 10 * self.value


class Key(Enum):
    """Where the key stands: by the value of M_MODE."""

    TEACH = 1
    AUTO_OP = 2
    """The operation panel has the arm."""
    AUTO_EXT = 3
    """A computer may have it."""


class FirstPosition(Enum):
    """Where the arm is shown to be before its servos were on for the first time since power-up."""

    TRUE = "true"
    ZERO = "zero"
    """At 0 on every axis, wherever it stands."""


class ServoOff(Enum):
    """What SRVOFF does while something moves."""

    STOPS = "stops"
    """It slows down, and the drives go off."""
    REFUSED = "refused"
    """5640: nothing, as for a second move."""


class AfterServoOff(Enum):
    """What becomes of a program in which SERVO OFF stands."""

    GOES_ON = "goes_on"
    """It goes on with the next line; what moves the arm stops."""
    PAUSES = "pauses"
    """It waits to be started again, as after SRVOFF."""


class Panel:
    """Everything that a person can do to the controller by hand.

    Args:
        key: where it stands at first.

    Attributes:
        key: where it stands.
        teach_box: the teach box is enabled.
        pressed: emergency stops that are pressed.
        holder: who has the operation right.
        stop_latched: STOPON was sent, and not yet STOPOFF.
        brakes_released: somebody may push the arm by hand.
    """

    def __init__(self, key: Key = Key.AUTO_EXT) -> None:
        self.key = key
        self.teach_box = False
        self.pressed: set[Stop] = set()
        self.holder = Holder.NOBODY
        self.forget()

    def forget(self) -> None:
        """The power is gone: what hands have set stays."""
        if self.holder is Holder.PC:
            self.holder = Holder.NOBODY
        self.stop_latched = self.brakes_released = False

    @property
    def teach(self) -> bool:
        """The key stands at TEACH, not AUTO."""
        return self.key is Key.TEACH

    @property
    def others_hold(self) -> bool:
        """True while a PC cannot have the operation right."""
        return self.key is not Key.AUTO_EXT or self.teach_box or self.holder is Holder.OTHER

    def lasting_cause(self) -> int:
        """The error that comes back as soon as it is reset; 0 for none."""
        for stop in Stop:
            if stop in self.pressed:
                return stop.number
        return 5000 if self.teach_box and not self.teach else 0
