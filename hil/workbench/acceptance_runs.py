"""What a step of an acceptance has moved: what is to be run, what its journal says of it in numbers, and the judges.

A number decides. What a person has seen can fail a step that its number would let pass, never the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from hil.runtime.first_cause import first_fault, why_it_ended
from hil.runtime.journal import read_journal, verify
from hil.runtime.report import line_quality
from hil.types import Disconnect, JointState, Mode, Record, Stop, TickRecord
from hil.units import DEG

REST = 1e-4
"""A setpoint no further than this from where it ends stands, in rad and in m: 0.006 degrees, 0.1 mm."""
STAND = 0.2 * DEG
"""What is measured of a joint changes by less while it stands."""


class Deed(Enum):
    """What a person does in the middle of a run.

    Attributes:
        do: in words, to the person.
        undo: what is to be done afterwards; empty for nothing.
        fault: what happens to the fake instead, by its name there; empty where the program itself is meant, or no fake
            can show it.
        lasts: it has to be undone.
    """

    NOTHING = ("", "", "", False)
    INTERRUPT = ("press Ctrl-C", "", "", False)
    UNPLUG = ("pull the USB plug", "plug it in again", "unplug", True)
    RESTART = ("switch the logic supply off and on", "", "reset", False)
    PANEL_STOP = ("press STOP at the controller's panel", "reset it at the panel", "", False)
    KEY = ("turn the key to TEACH", "turn it back to AUTO (Ext.)", "key_turned", True)
    EMERGENCY_STOP = ("press the emergency stop", "release it", "emergency_stop", True)

    def __init__(self, do: str, undo: str, fault: str, lasts: bool) -> None:
        self.do, self.undo, self.fault, self.lasts = do, undo, fault, lasts


class Way(Enum):
    """What the arm does in a run."""

    TASK = "a task"
    SWING = "there and back"
    TWO_DEGREES = "two degrees and back"
    STANDS = "stands in its park pose"
    HOME = "to home"
    LOOK = "connected, nobody vouches for its pose"
    COMMAND = "another command"


class Run(Record, frozen=True):
    """One run of a step.

    Attributes:
        name: of it within its step; empty where there is one only.
        way: what the arm does; `task` for a task, or the command.
        deed: what somebody does meanwhile.
        changes: to the rig, as a rig that inherits from it would say it.
        seconds: for how long, where it goes on until then.
    """

    way: Way
    name: str = ""
    task: str = ""
    deed: Deed = Deed.NOTHING
    changes: Mapping[str, Mapping[str, Any]] = {}
    seconds: float = 0.0

    @property
    def moves(self) -> bool:
        """Bytes that move the arm leave in it."""
        return self.way not in (Way.LOOK, Way.COMMAND) or self.task == "calibrate"


class Measured(Record, frozen=True):
    """What came of one run.

    Attributes:
        step, run: which.
        journal: name of its journal in the archive; empty if there is none.
        verified: what reading it back says; `complete` if that is well.
        trouble: why it did not begin, or did not go on, in the program's words; `asked` if it only lacked somebody's
            word.
        mode: in which it ended.
        samples: of motions, streamed.
        deed_s: when the deed was done, by the clock of the journal; None where a person did it.
        stop_to_rest_s: from the stop to the last move of a setpoint, and of the joints where they are measured.
        rest_time_s: what that may take at most by the rig: its ramp, its look-ahead, and what the controller takes.
        good_to_fault_s: from the last report that could be believed to the fault.
        deed_to_fault_s: from the deed to the fault, where that was noted.
        still_to_fault_s: how long measured joints had stood still at the fault.
        fault: its words; `ended` those of whatever ended the motion.
        moved_after: commands that move, sent after the fault, or after it stood.
        limp, axes: of all axes, those that the controller did not drive when it was connected.
        travel_deg: the longest way that a joint was measured to go.
        targets, line: what the driver says of its targets, and of its line.
        worst: of a calibration, its largest residual in degrees or millimetres.
    """

    step: str
    run: str = ""
    journal: str = ""
    verified: str = ""
    complete: bool = False
    trouble: str = ""
    asked: bool = False
    mode: str = ""
    samples: int = 0
    deed_s: float | None = None
    stop_to_rest_s: float | None = None
    rest_time_s: float | None = None
    good_to_fault_s: float | None = None
    deed_to_fault_s: float | None = None
    still_to_fault_s: float | None = None
    fault: str = ""
    ended: str = ""
    moved_after: int = 0
    limp: int = 0
    axes: int = 0
    travel_deg: float | None = None
    targets: str = ""
    line: str = ""
    worst: float | None = None


def measure(step: str, run: str, journal: Path, deed_s: float | None = None) -> Measured:
    """Read a run's journal back and take its numbers.

    Args:
        step: which it is of.
        run: its name within that.
        journal: of its session.
        deed_s: when the deed was done, if that is known.

    Raises:
        JournalError: it cannot be read.
    """
    verdict = verify(journal)
    records = [entry.tick for entry in read_journal(journal) if entry.tick is not None]
    events = [event for record in records for event in record.events]
    found = Measured(
        step=step,
        run=run,
        journal=journal.name,
        verified=verdict.text,
        complete=verdict.completeness.value == "complete",
        deed_s=deed_s,
    )
    if not records:
        return found
    fault = next((record for record in records if record.mode is Mode.FAULT), None)
    parting = next((n for n, each in enumerate(records) if _parts(each)), len(records))
    last = records[max(parting - 1, 0)] if fault is None else fault
    changes: dict[str, Any] = {
        "mode": last.mode.value,
        "samples": sum(record.sample is not None for record in records),
        "stop_to_rest_s": _stop_to_rest_s(records),
        "fault": first_fault(events),
        "ended": "" if last.mode is Mode.IDLE else why_it_ended(events),
        "moved_after": _moved_after(records),
        "travel_deg": _travel_deg(records),
        "targets": next((event for event in events if "targets a second" in event), ""),
        "line": line_quality(records).text,
    }
    at_first = next((record.reported for record in records if record.reported is not None), None)
    if at_first is not None:
        changes["limp"] = sum(value is None for value in at_first.positions)
        changes["axes"] = len(at_first.positions)
    else:
        changes["limp"] = changes["axes"] = len(records[0].setpoint)
    if fault is not None:
        changes["good_to_fault_s"] = _good_to_fault_s(records, fault)
        changes["still_to_fault_s"] = _still_to_fault_s(records, fault)
        changes["deed_to_fault_s"] = None if deed_s is None else fault.t_s - deed_s
    return msgspec.structs.replace(found, **changes)


def _parts(record: TickRecord) -> bool:
    return any(isinstance(request, Disconnect) for request in record.requests)


def _stop_to_rest_s(records: Sequence[TickRecord]) -> float | None:
    begun = next((n for n, record in enumerate(records) if record.sample is not None), len(records))
    stop = next(
        (n for n in range(begun, len(records)) if any(isinstance(each, Stop) for each in records[n].requests)), None
    )
    if stop is None:
        return None
    end = records[-1].setpoint
    moving = [
        n
        for n in range(stop, len(records) - 1)
        if any(abs(here - there) > REST for here, there in zip(records[n].setpoint, end, strict=True))
    ]
    rest_s = records[moving[-1] + 1 if moving else stop].t_s
    return max(rest_s, _measured_rest_s(records)) - records[stop].t_s


def _measured_rest_s(records: Sequence[TickRecord]) -> float:
    """When the joints were first measured where they stayed; long ago where nothing is measured."""
    states = _states(records)
    rest_s = -math.inf
    for before, state in pairwise(states):
        if _differ(before.positions, states[-1].positions):
            rest_s = state.t_s
    return rest_s


def _states(records: Sequence[TickRecord]) -> list[JointState]:
    """What was measured, in order."""
    found = [record.reported for record in records if record.reported is not None]
    return [state for state in found if state.source.of_arm]


def _differ(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    return any(a is not None and b is not None and abs(a - b) > STAND for a, b in zip(one, other, strict=True))


def _good_to_fault_s(records: Sequence[TickRecord], fault: TickRecord) -> float | None:
    if fault.line is not None and fault.line.believed_s is not None:
        return fault.t_s - fault.line.believed_s
    reports = [each.reported.t_s for each in records if each.reported is not None and each.tick <= fault.tick]
    return fault.t_s - max(reports) if reports else None


def _still_to_fault_s(records: Sequence[TickRecord], fault: TickRecord) -> float | None:
    """How long nothing that is measured had changed; None where nothing is."""
    states = _states([record for record in records if record.tick <= fault.tick])
    for state in reversed(states):
        if _differ(state.positions, states[-1].positions):
            return fault.t_s - state.t_s
    return None


def _moved_after(records: Sequence[TickRecord]) -> int:
    """Commands that move, sent after the first tick of FAULT, or of HOLDING behind a stop."""
    ends = (Mode.FAULT, Mode.HOLDING)
    end = next((n for n, record in enumerate(records) if record.mode in ends), len(records))
    return sum(record.sent is not None for record in records[end + 1 :])


def _travel_deg(records: Sequence[TickRecord]) -> float | None:
    states = [state.positions for state in _states(records)]
    if not states or any(value is None for state in states for value in state):
        return None
    spans = [max(column) - min(column) for column in zip(*states, strict=True)]
    return float(max(spans)) / DEG


# -- judges ----------------------------------------------------------------------------------------------------------

Finding = tuple[bool | None, str, str]
"""Passed, failed, or None for cannot be judged; what was measured; what to do."""
RunJudge = Callable[[Measured], Finding]

SEND = "do not go on with what moves; send the archive"
AGAIN = "the same command asks for it again"


def common(run: Measured | None) -> Finding | None:
    """What is wrong with any run, before its numbers count."""
    if run is None:
        return None, "not run", AGAIN
    if run.asked:
        return None, run.trouble, AGAIN
    if run.trouble and not (run.fault and run.samples):
        # A fault while it was connected is not the one that was asked for.
        return False, run.trouble, SEND
    if not run.complete:
        return False, f"its journal: {run.verified or 'there is none'}", SEND
    return None


def ran_through(run: Measured) -> Finding:
    """A motion that ran to its end."""
    number = f"{run.samples} samples, ended {run.mode}"
    if run.ended:
        return False, f"{number}: {run.ended}", SEND
    if run.samples == 0:
        return None, "nothing was streamed", AGAIN
    return True, number, ""


def came_to_rest(most_s: float | None = None) -> RunJudge:
    """It was stopped, and stood in time.

    Args:
        most_s: how long that may take; what the rig's own ramps and look-ahead take if not given.
    """

    def judge(run: Measured) -> Finding:
        allowed_s = run.rest_time_s if most_s is None else most_s
        if run.stop_to_rest_s is None or allowed_s is None:
            return None, "there was no stop in the middle of the motion", f"press Ctrl-C while it moves; {AGAIN}"
        number = f"at rest {run.stop_to_rest_s:.2f} s after the stop, {run.moved_after} commands after that"
        in_time = run.stop_to_rest_s <= allowed_s
        return in_time and run.moved_after == 0, number, f"allowed: {allowed_s:.3g} s, and none. {SEND}"

    return judge


def was_named(most_s: float, *, by: str = "report") -> RunJudge:
    """A fault came, in time and in words, and nothing that moves was sent any more.

    Args:
        most_s: how late it may be.
        by: ``report``: since the last report that could be believed. ``deed``: since the deed, or, where a person did
            it and nobody knows when, since the joints stood still.
    """

    def judge(run: Measured) -> Finding:
        if not run.fault:
            if run.mode == Mode.IDLE.value and run.deed_s is None:
                return None, "nothing was named before it ended", f"if it was done: failed, send the archive. {AGAIN}"
            return False, f"nothing was named; ended {run.mode}", SEND
        if by == "report":
            late_s, since = run.good_to_fault_s, "after the last good report"
        elif run.deed_to_fault_s is not None:
            late_s, since = run.deed_to_fault_s, "after it was done"
        else:
            late_s, since = run.still_to_fault_s, "after the joints stood still"
        if late_s is None:
            return None, f"named, when cannot be told: {run.fault}", AGAIN
        known = f", {run.deed_to_fault_s:.2f} s after it was done" if by == "report" and run.deed_to_fault_s else ""
        number = f"named {late_s:.2f} s {since}{known}, {run.moved_after} commands after that: {run.fault}"
        return late_s <= most_s and run.moved_after == 0, number, f"allowed: {most_s:g} s, and none. {SEND}"

    return judge


def went(least_deg: float, most_deg: float) -> RunJudge:
    """A joint was measured to go so far."""

    def judge(run: Measured) -> Finding:
        through = ran_through(run)
        if through[0] is not True:
            return through
        if run.travel_deg is None:
            return None, "nothing was measured of the joints", AGAIN
        number = f"it went {run.travel_deg:.2f} degrees"
        return least_deg <= run.travel_deg <= most_deg, number, f"allowed: {least_deg:g} to {most_deg:g}. {SEND}"

    return judge


def kept_going(run: Measured) -> Finding:
    """It moved for its time."""
    through = ran_through(run)
    if through[0] is not True:
        return through
    return True, "; ".join(filter(None, (through[1], run.targets, run.line))), ""


def was_limp(run: Measured) -> Finding:
    """The controller drove nothing when it was connected, and nobody was passed over."""
    number = f"{run.limp} of {run.axes} axes limp, the pose was asked for"
    if run.axes == 0:
        return None, "the controller reported nothing", AGAIN
    return run.limp == run.axes, number, "was the power cut, of logic and servos? If so: send the archive"


def ended_well(run: Measured) -> Finding:
    """A command that ended with 0."""
    return True, "ended with 0", ""


def residuals_shown(run: Measured) -> Finding:
    """A calibration, and how far its worst point lies from a line: a servo may be so, a wrong reading looks alike."""
    return True, "written" if run.worst is None else f"largest residual {run.worst:.2f}", ""
