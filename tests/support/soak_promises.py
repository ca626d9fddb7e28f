"""Judges of what is promised over time: deaths, silences, stops, latches, reports, and the journal's own bytes.

Like those in `soak_oracles` they read records and bytes by themselves and trust nothing of the product.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from soak_oracles import FRAME_S, RigFacts, Violation

from hil.types import (
    WRITING,
    Confirm,
    Disconnect,
    EmergencyStop,
    EndStream,
    EnergiseCommand,
    JointCommand,
    JointState,
    LetGo,
    Mode,
    Reset,
    StateSource,
    Stop,
    SupplyCut,
    TickRecord,
)

GAP_S = 0.1
"""No tick for longer than this while something is streamed: the motion is stopped."""
REPORT_AGE_S, REPORT_AGE_PERIODS = 0.2, 5
CR1_ROUND_S = 0.63
"""A target, a look and the state, asked and answered at 9600 baud."""
"""How old a report may be when it is adopted; whichever is longer."""
OWNER_SILENT_S, RECORDER_SILENT_S = 1.0, 0.5
NOTICE_S = 0.05
"""What noticing may take beyond that: two ticks and their lateness."""
SILENCES_S = {"owner silent": OWNER_SILENT_S + NOTICE_S, "recorder silent": RECORDER_SILENT_S + NOTICE_S}

_LATCHED = frozenset({Mode.FAULT, Mode.ESTOP})
_BEFORE: dict[Mode, frozenset[Mode]] = {
    Mode.ENERGISING: frozenset({Mode.UNKNOWN_POSE}),
    Mode.IDLE: frozenset({Mode.ENERGISING, Mode.ARMED, Mode.STREAMING}),
    Mode.ARMED: frozenset({Mode.IDLE, Mode.HOLDING}),
    Mode.STREAMING: frozenset({Mode.ARMED}),
    Mode.STOPPING: frozenset({Mode.STREAMING}),
    Mode.HOLDING: frozenset({Mode.ARMED, Mode.STREAMING, Mode.STOPPING}),
}
"""From where each mode may be entered that nobody may be in without a known pose."""


class DeathJudge:
    """Whoever is dead: nothing more is sent from the tick in which it died; an owner's death ends the session too."""

    def __init__(self) -> None:
        self._dead: set[str] = set()

    def died(self, who: str) -> None:
        """The owner or the recorder has been killed since the last tick."""
        self._dead.add(who)

    def judge(self, record: TickRecord) -> None:
        """Take one tick."""
        for who in self._dead:
            quiet = record.sent is None and record.mode not in WRITING | {Mode.ARMED}
            _hold(quiet, f"the {who} is dead, and in mode {record.mode.value} the stream goes on")
        owned = "owner" not in self._dead or record.mode is Mode.DISCONNECTED
        _hold(owned, f"the owner is dead, and the line is not released: {record.mode.value}")


class StopJudge:
    """A stop begins in its tick, a software stop latches in its tick, and a freeze is told to the controller.

    Args:
        freezes: whether these bytes tell the controller to stop; None for a firmware that knows no such command.
    """

    def __init__(self, freezes: Callable[[bytes], bool] | None) -> None:
        self._freezes = freezes
        self._mode, self._last_s = Mode.DISCONNECTED, math.inf

    def judge(self, record: TickRecord) -> None:
        """Take one tick."""
        before, after = self._mode, record.mode
        kinds = {type(request) for request in record.requests}
        stopped = {Stop, Disconnect} & kinds
        _hold(not stopped or after not in (Mode.STREAMING, Mode.ENERGISING), f"a stop was asked for: {after.value}")
        # Asked for in one tick they count in their order: a reset may come behind a stop that somebody has seen to.
        newest = next((kind for kind in map(type, reversed(record.requests)) if kind in (EmergencyStop, Reset)), None)
        latched = newest is not EmergencyStop or after in (Mode.ESTOP, Mode.DISCONNECTED)
        _hold(latched, f"a software stop was asked for: {after.value}")
        gap_s = record.t_s - self._last_s
        noticed = gap_s <= GAP_S or before is not Mode.STREAMING or after is not Mode.STREAMING
        _hold(noticed, f"no tick for {gap_s:.3f} s, and it goes on streaming")
        moved = before in (Mode.STREAMING, Mode.STOPPING)  # a first move is over when its line has left
        if self._freezes is not None and moved and after in _LATCHED and not record.failures:
            _hold(self._freezes(record.written), f"{after.value}, and nothing told the controller: {record.written!r}")
        self._mode, self._last_s = after, record.t_s


class LatchJudge:
    """FAULT and ESTOP are left by a reset only, which leads to an unknown pose; no mode is entered past the others."""

    def __init__(self) -> None:
        self._mode = Mode.DISCONNECTED
        self._leaving = False

    def judge(self, record: TickRecord) -> None:
        """Take one tick."""
        before, after = self._mode, record.mode
        kinds = {type(request) for request in record.requests}
        self._leaving |= bool({Disconnect, EndStream} & kinds)
        if before in _LATCHED and after is not before:
            reset = Reset in kinds and after in (Mode.UNKNOWN_POSE, Mode.CONNECTING, Mode.FAULT)
            stopped = after is Mode.ESTOP and EmergencyStop in kinds
            gone = after is Mode.DISCONNECTED and self._leaving
            _hold(reset or stopped or gone, f"{before.value} became {after.value}, and nobody has reset it")
        elif after is not before and after in _BEFORE:
            # What happened within the tick stands in its events.
            passed = {event.partition(" -> ")[0] for event in record.events if " -> " in event}
            by = {before.value} | passed
            known = any(mode.value in by for mode in _BEFORE[after])
            _hold(known, f"{before.value} became {after.value}, and the pose was not known there")
        self._mode = after


class AdoptJudge:
    """The pose that is driven first: from reports that are fresh, and that said the same twice.

    Args:
        rig: the facts.
        same: how far two reports of an axis may be apart and still be one.
    """

    def __init__(self, rig: RigFacts, same: Sequence[float]) -> None:
        self._rig, self._same = rig, same
        self._mode = Mode.DISCONNECTED
        self._reports: list[JointState] = []
        self._still_s = -math.inf
        self.worst_age_s = 0.0

    def judge(self, record: TickRecord) -> None:
        """Take one tick."""
        before, self._mode = self._mode, record.mode
        if record.reported is None:
            self._reports = []
        elif not self._reports or record.reported != self._reports[-1]:
            self._reports = [*self._reports[-1:], record.reported]
        if record.mode is Mode.ENERGISING and before is not Mode.ENERGISING:
            self._judge_adopted(record)
        self._note_motion(record, before)

    def _judge_adopted(self, record: TickRecord) -> None:
        _hold(len(self._reports) == 2, "axes are driven, and the controller has not said twice where they are")
        older, report = self._reports
        age_s = record.t_s - report.t_s
        measured = report.source is StateSource.MEASURED
        bound_s = max(CR1_ROUND_S if measured else REPORT_AGE_S, REPORT_AGE_PERIODS * self._rig.period_s)
        _hold(age_s <= bound_s + 1e-9, f"a report {age_s:.3f} s old was adopted, allowed {bound_s:.3f} s")
        _hold(report.t_s >= self._still_s - 1e-9, "a report was adopted from before the arm had come to rest")
        for axis, a, b, same in zip(self._rig.axes, older.positions, report.positions, self._same, strict=True):
            alike = a is b if a is None or b is None else abs(a - b) <= same
            _hold(alike, f"{axis.name} was adopted at {b}, and the report before said {a}")
        self.worst_age_s = max(self.worst_age_s, age_s)

    def _note_motion(self, record: TickRecord, before: Mode) -> None:
        if isinstance(record.sent, JointCommand):
            due_s = min(record.sent.due_s, record.t_s + self._rig.look_ahead_s)
        elif isinstance(record.sent, EnergiseCommand):
            due_s = record.t_s
        elif record.mode in _LATCHED and before in WRITING:
            due_s = record.t_s
            self._still_s = -math.inf
        else:
            return
        self._still_s = max(self._still_s, due_s + min(FRAME_S, self._rig.settle_after_s))


class ConfirmJudge:
    """An axis is driven first where somebody said that it is, or where the controller says that it drives it."""

    def __init__(self, rig: RigFacts, same: Sequence[float]) -> None:
        self._rig, self._same = rig, same
        self._said: Confirm | None = None
        self._mode = Mode.DISCONNECTED

    def judge(self, record: TickRecord) -> None:
        """Take one tick."""
        before, self._mode = self._mode, record.mode
        for request in record.requests:
            # Anywhere else it is refused.
            whole = isinstance(request, Confirm) and len(request.positions) == len(self._rig.axes)
            if isinstance(request, Confirm) and whole and before is Mode.UNKNOWN_POSE:
                self._said = request
        if not isinstance(record.wanted, EnergiseCommand) or record.sent is None:
            return
        axis, at = record.wanted.axis, record.wanted.position
        reported = None if record.reported is None else record.reported.positions[axis]
        said = None if self._said is None else self._said.positions[axis]
        near = any(there is not None and abs(there - at) <= 2.2 * self._same[axis] for there in (said, reported))
        name = self._rig.axes[axis].name
        _hold(near, f"{name} is driven at {at:.4f}; confirmed: {said}, reported: {reported}")


class SupplyJudge:
    """Once somebody has said that the servo supply was cut, nothing drives the arm before the way back was gone.

    That leads over a new connection and a new word. And whoever has switched the logic off and put the arm down sees it
    stay there, whatever the supply does, until a pose is confirmed.

    Args:
        rig: the facts.
        cut: it was said in the session before, and nobody has vouched since.
    """

    def __init__(self, rig: RigFacts, cut: bool = False) -> None:
        self._rig = rig
        self.cut, self._anew, self._back = cut, False, False
        self._put: tuple[float, ...] | None = None
        self.said = self.returned = 0

    def put(self, positions: Sequence[float]) -> None:
        """The logic was off, and the arm was put there by hand."""
        self._put = tuple(positions)

    def judge(self, record: TickRecord) -> None:
        """Take one tick."""
        for request in record.requests:
            if isinstance(request, SupplyCut):
                self.cut, self._anew = True, False
                self.said += 1
            elif isinstance(request, Confirm) and request.supply_on and self._anew:
                self.returned += self.cut
                self._back |= self.cut
                self.cut = False
        quiet = record.sent is None and record.mode not in WRITING | {Mode.IDLE, Mode.ARMED, Mode.HOLDING}
        _hold(not self.cut or quiet, f"the servo supply was said to be cut, and nobody vouched: {record.mode.value}")
        if self._back and record.mode is Mode.ENERGISING:
            self._back = False
            driven = record.reported is None or any(at is not None for at in record.reported.positions)
            _hold(not driven, "the servo supply was cut, and the arm is driven by a board that never forgot its pulses")
        self._anew |= any("-> connecting" in event for event in record.events)

    def judge_arm(self, record: TickRecord, positions: Sequence[float], excuse: object = None) -> None:
        """Take one tick, where the servos are, and what may move them that no program can help."""
        elsewhere = any(
            abs(there - now) > axis.still
            for axis, there, now in zip(self._rig.axes, self._put or (), positions, strict=False)
        )
        if record.mode in WRITING or (elsewhere and excuse is not None):
            self._put = None
        for axis, there, now in zip(self._rig.axes, self._put or (), positions, strict=False):
            _hold(
                abs(there - now) <= axis.still,
                f"{axis.name} went from {there:.4f} to {now:.4f} where it was put by hand, in mode {record.mode.value}",
            )


class LimpJudge:
    """Once an axis was let go of, nothing drives the arm before somebody has confirmed a pose anew."""

    def __init__(self) -> None:
        self._limp = ""

    def judge(self, record: TickRecord) -> None:
        """Take one tick."""
        for request in record.requests:
            if isinstance(request, LetGo) and any(f"lets go of the {request.axis};" in said for said in record.events):
                self._limp = request.axis
        if any("pose confirmed by" in said for said in record.events):
            self._limp = ""
        quiet = record.sent is None and record.mode not in WRITING | {Mode.IDLE, Mode.ARMED, Mode.HOLDING}
        _hold(not self._limp or quiet, f"{self._limp} was let go of, and nobody confirmed: {record.mode.value}")


_TICK = re.compile(rb'"data":\{"type":"tick","tick":(\d+),')
_END = re.compile(rb'"data":\{"type":"end","t_s":[^,]+,"kind":"closed"')


def ticks_in(path: Path) -> tuple[list[int], bool]:
    """A journal, read with nothing that wrote it: numbers of its ticks, and whether it says that these are all."""
    data = path.read_bytes()
    return [int(number) for number in _TICK.findall(data)], _END.search(data) is not None


def judge_journal(path: Path, published: int, *, complete: bool, at_least: int) -> None:
    """Count a journal's ticks in the bytes of its file, with nothing that wrote or reads it.

    Args:
        path: the file.
        published: ticks that the loop made.
        complete: it has to hold all of them, and say that it ends.
        at_least: so many it has to hold in any case.
    """
    ticks, ends = ticks_in(path)
    missing = next((n for n, tick in enumerate(ticks) if n != tick), None)
    _hold(missing is None, f"the journal holds no tick {missing}, and goes on")
    _hold(len(ticks) >= at_least, f"the journal holds {len(ticks)} ticks; its recorder had seen {at_least}")
    _hold(ends == complete, f"the journal {'ends' if ends else 'does not end'}, and should{'' if complete else ' not'}")
    _hold(not complete or len(ticks) == published, f"{len(ticks)} of {published} ticks in a journal that ends")


def _hold(condition: bool, words: str) -> None:
    if not condition:
        raise Violation(words)
