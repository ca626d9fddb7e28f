"""Scripted faults: a TOML file says what goes wrong on the line and with the board, and when."""

from __future__ import annotations

import math
import random
import tomllib
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from hil.errors import ConfigError
from hil.findings import Findings
from hil.types import Record
from sim.uart import FRAMINGS


class FaultKind(Enum):
    """What goes wrong."""

    LOST = "lost"
    GARBLED = "garbled"
    DOUBLED = "doubled"
    LATE = "late"
    DELAYED = "delayed"
    DRIBBLED = "dribbled"
    MERGED = "merged"
    ECHOED = "echoed"
    SHARED = "shared"
    UNPLUG = "unplug"
    RESET = "reset"
    BROWN_OUT = "brown_out"
    STALL = "stall"
    HUNG = "hung"
    NO_POWER = "no_power"
    NO_SERVO_POWER = "no_servo_power"
    STALE_TEXT = "stale_text"
    WRONG_LINE = "wrong_line"
    KEY_TURNED = "key_turned"
    TEACH_BOX = "teach_box"
    EMERGENCY_STOP = "emergency_stop"
    SERVO_ALARM = "servo_alarm"
    RIGHT_TAKEN = "right_taken"
    NO_NETWORK = "no_network"


class Direction(Enum):
    """Which way the bytes go that a fault meets."""

    REPLIES = "replies"
    COMMANDS = "commands"


BYTE_KINDS = frozenset(
    {
        FaultKind.LOST,
        FaultKind.GARBLED,
        FaultKind.DOUBLED,
        FaultKind.LATE,
        FaultKind.DELAYED,
        FaultKind.DRIBBLED,
        FaultKind.MERGED,
        FaultKind.ECHOED,
        FaultKind.SHARED,
    }
)
ANY_CONTROLLER = BYTE_KINDS | {
    FaultKind.UNPLUG,
    FaultKind.RESET,
    FaultKind.HUNG,
    FaultKind.NO_POWER,
    FaultKind.STALE_TEXT,
    FaultKind.WRONG_LINE,
}
"""Faults that the line brings about, whatever hangs on it."""

_USUAL = Direction.REPLIES
_ONE_WAY = {FaultKind.ECHOED: Direction.COMMANDS, FaultKind.SHARED: Direction.REPLIES}
"""Faults that can happen one way only."""
_EXTRA = {
    FaultKind.LATE: "delay_ms",
    FaultKind.DELAYED: "delay_ms",
    FaultKind.DRIBBLED: "delay_ms",
    FaultKind.MERGED: "delay_ms",
    FaultKind.STALL: "channel",
    FaultKind.BROWN_OUT: "channels_starting",
    FaultKind.STALE_TEXT: "text",
    FaultKind.WRONG_LINE: "framing",
    FaultKind.SERVO_ALARM: "number",
}

Seconds = Annotated[float, msgspec.Meta(ge=0.0)]


class Fault(Record, frozen=True):
    """One ``[[fault]]`` of a file.

    Attributes:
        at_s: when it begins, counted from the start of the fake.
        for_s: how long it lasts; None for ever.
        every: of byte faults, each n-th byte; probability: each byte with this chance. Neither: every byte.
        direction: which bytes a byte fault meets.
        delay_ms: how late a byte is. Late ones hold up the line, and what follows waits until it is free again; delayed
            ones are on their way for so much longer, as through a slow adapter, and nothing overtakes them. Dribbled
            ones come so long after the byte before them at the soonest; merged ones wait in the adapter for its next
            look, one in so long, and arrive together.
        channel: whose joint stalls.
        channels_starting: a brown-out happens once so many servos get their first pulse in one frame.
        text: what an earlier client left in the board, without CR.
        framing: how the host's port wraps a byte, such as 8N1 where the controller expects 8E2.
        number: of the servo alarm, four digits as the controller's list has them.
    """

    kind: FaultKind
    at_s: Seconds = 0.0
    for_s: Annotated[float, msgspec.Meta(gt=0.0)] | None = None
    every: Annotated[int, msgspec.Meta(ge=1)] | None = None
    probability: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] | None = None
    direction: Direction | None = None
    delay_ms: Annotated[float, msgspec.Meta(gt=0.0)] | None = None
    channel: Annotated[int, msgspec.Meta(ge=0, le=31)] | None = None
    channels_starting: Annotated[int, msgspec.Meta(ge=1, le=32)] | None = None
    text: str | None = None
    framing: str | None = None
    number: Annotated[int, msgspec.Meta(ge=1, le=9999)] | None = None

    @property
    def end_s(self) -> float:
        """When it ends, counted like `at_s`."""
        return math.inf if self.for_s is None else self.at_s + self.for_s


class FaultFile(Record, frozen=True):
    """A fault file as it is read."""

    title: str
    fault: tuple[Fault, ...]
    seed: int = 0


def load_faults(path: str | Path) -> FaultFile:
    """Read a fault file.

    Raises:
        ConfigError: unreadable, no TOML, or a key that is unknown, missing, out of range or out of place.
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), "file", str(error), "a readable fault file") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), "file", str(error), "valid TOML") from None
    return faults_from_table(table, str(path))


def faults_from_table(table: Mapping[str, Any], file: str) -> FaultFile:
    """The same from a parsed table; `file` is for messages.

    Raises:
        ConfigError: as `load_faults`.
    """
    findings = Findings(file, table)
    findings.not_finite(table)
    faults = findings.read(table, FaultFile)
    for number, fault in enumerate(faults.fault):
        if findings.sound(f"fault.{number}.kind"):
            _check(fault, f"fault.{number}", findings)
    findings.stop()
    return faults


def _check(fault: Fault, key: str, findings: Findings) -> None:
    kind = fault.kind
    if kind in BYTE_KINDS:
        only = _ONE_WAY.get(kind)
        if only is not None and fault.direction not in (None, only):
            findings.say(f"{key}.direction", fault.direction.value, f"{only.value}: {kind.value} happens one way only")
        if fault.every is not None and fault.probability is not None:
            allowed = "either every or probability"
            findings.say(f"{key}.probability", fault.probability, allowed)
    else:
        for name in ("every", "probability", "direction"):
            if getattr(fault, name) is not None:
                allowed = f"no {name} with kind {kind.value}: it happens at at_s"
                findings.say(f"{key}.{name}", getattr(fault, name), allowed)
    for name in dict.fromkeys(_EXTRA.values()):
        owners = [owner for owner, extra in _EXTRA.items() if extra == name]
        given = getattr(fault, name)
        if kind in owners and given is None:
            findings.say(f"{key}.{name}", None, f"kind {kind.value} needs {name}")
        if kind not in owners and given is not None:
            kinds = " or ".join(owner.value for owner in owners)
            findings.say(f"{key}.{name}", given, f"{name} goes only with kind {kinds}")
    if fault.framing is not None and fault.framing not in FRAMINGS:
        findings.say(f"{key}.framing", fault.framing, ", ".join(FRAMINGS))
    if fault.text is not None and any(not " " <= letter <= "~" for letter in fault.text):
        findings.say(f"{key}.text", fault.text, "printable ASCII, no CR")


def _way(fault: Fault) -> Direction:
    """Which bytes a byte fault meets."""
    return _ONE_WAY.get(fault.kind) or fault.direction or _USUAL


class Event(Record, frozen=True):
    """A fault of the board or cable begins, or ends."""

    time_s: float
    fault: Fault
    begins: bool


class Struck(NamedTuple):
    """What becomes of one byte.

    Attributes:
        arriving: the bytes that arrive instead.
        late_s: for how long it holds up the line; delayed_s: for how much longer it is on its way.
        gap_s: how long after the byte before it arrives at the soonest.
        look_s: it arrives when the adapter looks, one in so long; 0 for at once.
        back: bytes that come back to who sent it.
    """

    arriving: bytes
    late_s: float = 0.0
    delayed_s: float = 0.0
    gap_s: float = 0.0
    look_s: float = 0.0
    back: bytes = b""

    def arrives_s(self, end_s: float, before_s: float) -> float:
        """When it is there, if its last bit is over at `end_s` and the byte before arrived at `before_s`."""
        due_s = max(end_s + self.late_s + self.delayed_s, before_s + self.gap_s)
        return math.ceil(due_s / self.look_s - 1e-9) * self.look_s if self.look_s else due_s


class FaultScript:
    """A fault file at work. A script outlives its port: a cable that is plugged in again is the same cable.

    Args:
        faults: what the file says.
        rng: source of all chance; the same one gives the same faults for the same bytes.
        start_s: the clock's reading at the fake's start.

    Attributes:
        channels: whose joints stall some time.
        kinds: what happens some time.
    """

    def __init__(self, faults: FaultFile, rng: random.Random, start_s: float = 0.0) -> None:
        self._rng = rng
        self._start_s = start_s
        self._bytes = {way: [f for f in faults.fault if f.kind in BYTE_KINDS and _way(f) is way] for way in Direction}
        self._met: dict[int, int] = {}
        self._others: set[int] = set()
        self._unplugs = [f for f in faults.fault if f.kind is FaultKind.UNPLUG]
        self.channels = frozenset(f.channel for f in faults.fault if f.channel is not None)
        self.kinds = frozenset(fault.kind for fault in faults.fault)
        moments = []
        for fault in faults.fault:
            if fault.kind not in BYTE_KINDS:
                moments.append(Event(time_s=start_s + fault.at_s, fault=fault, begins=True))
                if fault.for_s is not None:
                    moments.append(Event(time_s=start_s + fault.end_s, fault=fault, begins=False))
        self._events = sorted(moments, key=lambda event: event.time_s)

    @property
    def next_event_s(self) -> float:
        """When the next board or cable fault begins or ends; infinity if none does."""
        return self._events[0].time_s if self._events else math.inf

    def due(self, now_s: float) -> list[Event]:
        """Take the events up to `now_s`, in order."""
        count = sum(event.time_s <= now_s for event in self._events)
        due, self._events = self._events[:count], self._events[count:]
        return due

    def unplugs(self, now_s: float) -> int:
        """How often the cable has been pulled by `now_s`."""
        return sum(self._start_s + fault.at_s <= now_s for fault in self._unplugs)

    def unplugged(self, now_s: float) -> bool:
        """True while the cable is out."""
        return any(f.at_s <= now_s - self._start_s < f.end_s for f in self._unplugs)

    def strike(self, value: int, time_s: float, way: Direction) -> Struck:
        """What becomes of one byte."""
        arriving, back = bytes((value,)), b""
        late_s = delayed_s = gap_s = look_s = 0.0
        for fault in self._bytes[way]:
            if not fault.at_s <= time_s - self._start_s < fault.end_s:
                continue
            hits, delay_s = self._hits(fault), (fault.delay_ms or 0.0) / 1000
            if fault.kind is FaultKind.SHARED:
                # A hit is a change of who reads: each of the two takes what is there when it looks.
                if hits:
                    self._others ^= {id(fault)}
                arriving = b"" if id(fault) in self._others else arriving
            elif not hits:
                continue
            elif fault.kind is FaultKind.LOST:
                arriving = b""
            elif fault.kind is FaultKind.DOUBLED:
                arriving = arriving * 2
            elif fault.kind is FaultKind.GARBLED:
                arriving = bytes(each ^ (1 << self._rng.randrange(8)) for each in arriving)
            elif fault.kind is FaultKind.LATE:
                late_s += delay_s
            elif fault.kind is FaultKind.DELAYED:
                delayed_s += delay_s
            elif fault.kind is FaultKind.DRIBBLED:
                gap_s = max(gap_s, delay_s)
            elif fault.kind is FaultKind.MERGED:
                look_s = max(look_s, delay_s)
            else:
                back = bytes((value,))
        return Struck(arriving, late_s, delayed_s, gap_s, look_s, back)

    def _hits(self, fault: Fault) -> bool:
        if fault.probability is not None:
            return self._rng.random() < fault.probability
        if fault.every is None:
            return True
        met = self._met[id(fault)] = self._met.get(id(fault), 0) + 1
        return met % fault.every == 0
