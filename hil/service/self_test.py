"""An arm's self-test: every axis a little way towards the middle of its range and back, and what came of it.

It is made on somebody's request, who holds the dead-man meanwhile and looks on; nothing moves here by itself. What an
arm reports is held against what it was sent. An SSC-32 reports the pulses that it makes, not where the servos are: its
test shows line, board and supply of the logic, and only eyes show the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final

from hil.model.rig import AxisKind, Rig
from hil.service.arm_channel import ArmReport
from hil.types import WRITING, Mode, Record
from hil.units import DEG, MM

SWING: Final = MappingProxyType(
    {AxisKind.REVOLUTE: 5.0 * DEG, AxisKind.PRISMATIC: 5.0 * MM, AxisKind.GRIPPER: 5.0 * MM}
)
"""How far an axis goes, where its range has so much room."""

TOLERANCE: Final = MappingProxyType(
    {AxisKind.REVOLUTE: 2.0 * DEG, AxisKind.PRISMATIC: 2.0 * MM, AxisKind.GRIPPER: 2.0 * MM}
)
"""How far a report may be from what was sent, at rest. An SSC-32 reports in steps of 10 us, about 0.9 degrees."""

REST_S = 0.6
"""An axis stands so long at each end of its way, so that a report can catch up with it."""

SETTLE_S = 0.5
"""The last report is waited for so long after the motion."""

SLOWEST_PERCENT = 1.0
"""Of the rig's speeds, as in any task."""


def swings(rig: Rig, pose: Sequence[float]) -> tuple[float, ...]:
    """How far each axis goes from a pose, rad or m; towards the middle of its range."""
    found = []
    for axis, position in zip(rig.axes, pose, strict=True):
        way = min(SWING[axis.kind], 0.5 * (axis.upper - axis.lower) - axis.soft_margin)
        found.append(way if position <= 0.5 * (axis.lower + axis.upper) else -way)
    return tuple(found)


def self_test_task(rig: Rig, pose: Sequence[float], speed_percent: float) -> str:
    """The self-test from a pose, as a task file."""
    lines = ['title = "Self-test"']
    for axis, position, way in zip(rig.axes, pose, swings(rig, pose), strict=True):
        for there in (way, -way):
            lines += ["[[step]]", f'label = "{axis.name}"', f"speed_percent = {speed_percent}"]
            if axis.kind is AxisKind.GRIPPER:
                goal = position + way if there == way else position
                lines += ['do = "gripper"', f"opening_mm = {goal / MM}"]
            else:
                key, unit = ("by_deg", DEG) if axis.kind is AxisKind.REVOLUTE else ("by_mm", MM)
                lines += ['do = "move"', f"{key} = {{ {axis.name} = {there / unit} }}"]
            lines += ["[[step]]", 'do = "wait"', f"seconds = {REST_S}"]
    return "\n".join(lines)


class Ending(Enum):
    """How a self-test ended."""

    PASSED = "passed"
    FAILED = "failed"
    BROKEN_OFF = "broken off"


class Outcome(Record, frozen=True):
    """What came of a self-test; in words why it did not pass, or else how the positions were known."""

    ending: Ending
    words: str


class RunningTest:
    """Follows one, from the moment at which its motion was handed to the loop.

    Args:
        rig: of the arm.
        pose: where it begins, rad or m.
        digest: of its motion, by which the loop's words tell it from any other.
    """

    def __init__(self, rig: Rig, pose: Sequence[float], digest: str) -> None:
        self._rig, self._swings, self._begins = rig, swings(rig, pose), f"streaming motion {digest[:12]}"
        self._least = list[float | None]([None] * len(rig.axes))
        self._most = list[float | None]([None] * len(rig.axes))
        self._begun = False
        self._stopped_by = ""
        self._rests: tuple[float, ArmReport] | None = None

    def take(self, report: ArmReport, now_s: float, trouble: str, *, settled: bool, called_off: bool) -> Outcome | None:
        """News of the arm; gives the outcome once there is one.

        Args:
            report: of the arm's worker.
            now_s: monotonic clock.
            trouble: words of the arm's fault; empty without one.
            settled: whether the report is from after all that the loop was asked.
            called_off: whether somebody, or the service, has stopped the arm since it was asked for.
        """
        for event in report.events:
            self._begun = self._begun or self._begins in event
            if "-> stopping: " in event or "-> holding: " in event:
                self._stopped_by = self._stopped_by or event.partition(": ")[2]
        if report.mode is Mode.ESTOP:
            return Outcome(ending=Ending.BROKEN_OFF, words="an emergency stop came on its way")
        if report.mode in (Mode.FAULT, Mode.DISCONNECTED, Mode.UNKNOWN_POSE):
            return Outcome(ending=Ending.FAILED, words=trouble or f"its mode became {report.mode.value}")
        if self._rests is not None and report.mode is not Mode.IDLE:
            return self._judged(self._rests[1])  # the next motion has begun
        if not self._begun:
            waits = not settled or report.mode in WRITING or report.mode is Mode.ARMED
            return None if waits else Outcome(ending=Ending.BROKEN_OFF, words="the loop did not begin it")
        if report.reported is not None:
            self._widen(report.reported)
        if report.mode is Mode.HOLDING:
            if called_off:
                return Outcome(ending=Ending.BROKEN_OFF, words="it was stopped on its way; ask for it again")
            return Outcome(ending=Ending.FAILED, words=f"the loop stopped it: {self._stopped_by or 'no reason given'}")
        if report.mode is not Mode.IDLE:
            return None
        since_s = now_s if self._rests is None else self._rests[0]
        self._rests = since_s, report
        return None if now_s - since_s < SETTLE_S else self._judged(report)

    def _widen(self, reported: Sequence[float | None]) -> None:
        for index, value in enumerate(reported):
            if value is not None:
                least, most = self._least[index], self._most[index]
                self._least[index] = value if least is None else min(least, value)
                self._most[index] = value if most is None else max(most, value)

    def _judged(self, report: ArmReport) -> Outcome:
        reported = report.reported or (None,) * len(self._rig.axes)
        faults, unseen = list[str](), list[str]()
        for index, (axis, sent, told) in enumerate(zip(self._rig.axes, report.commanded, reported, strict=True)):
            least, most = self._least[index], self._most[index]
            if sent is None or told is None or least is None or most is None:
                unseen.append(axis.name)
                continue
            unit, sign = (DEG, "deg") if axis.kind is AxisKind.REVOLUTE else (MM, "mm")
            if most - least < 0.5 * abs(self._swings[index]):
                faults.append(
                    f"{axis.name} was sent {abs(self._swings[index]) / unit:.1f} {sign} there and back, "
                    f"and its reports changed by {(most - least) / unit:.1f}"
                )
            elif abs(told - sent) > TOLERANCE[axis.kind]:
                faults.append(
                    f"{axis.name} stands at {told / unit:.1f} {sign}, and was sent to {sent / unit:.1f}; "
                    f"allowed: {TOLERANCE[axis.kind] / unit:.1f} off"
                )
        if faults:
            return Outcome(ending=Ending.FAILED, words="; ".join(faults))
        how = "" if report.source is None else f"positions {report.source.value}"
        if unseen:
            how = f"{how}{', ' if how else ''}nothing reported of {', '.join(unseen)}"
        return Outcome(ending=Ending.PASSED, words=how)
