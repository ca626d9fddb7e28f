"""What was known before each answer of a calibration, so that answers can be taken back."""

from __future__ import annotations

from hil.types import Record
from hil.workbench._calibration_plan import Plan, Progress


class Known(Record, frozen=True):
    """What answers have told; not where the servos are.

    Attributes:
        progress: without pulses.
        unused: channels that move nothing.
        passed: references of an axis that are dealt with, where that is known otherwise than by points near them.
    """

    progress: Progress
    unused: frozenset[int]
    passed: dict[str, frozenset[float]]


class Past:
    """What was known at each answer, oldest first."""

    def __init__(self) -> None:
        self._known: list[Known] = []

    def remember(self, known: Known) -> None:
        """An answer comes; this was known before it."""
        if not self._known or self._known[-1] != known:
            self._known.append(known)

    def before(self, now: Known) -> Known | None:
        """What was known before the last answer that told anything, which is forgotten; None for none."""
        while self._known and self._known[-1] == now:
            self._known.pop()
        return self._known.pop() if self._known else None


def what_is_gone(before: Known, now: Known, plan: Plan) -> str:
    """What is known now and was not before, in words."""
    gone = []
    for axis in plan.axes:
        name, was, is_ = axis.name, before.progress, now.progress
        old = was.points.get(name, ())
        gone += [f"{name} at {axis.say(at)}" for at, us in is_.points.get(name, ()) if (at, us) not in old]
        if name in is_.directions and is_.directions[name] != was.directions.get(name):
            gone.append(f"the direction of {name}")
        if name in is_.channels and is_.channels[name] != was.channels.get(name):
            gone.append(f"{name} on channel {is_.channels[name]}")
    return ", ".join(gone) or "what was skipped, refused or left out"
