"""Why a target could not be sent: one cause in words, with what to do about it."""

from __future__ import annotations

from typing import NamedTuple

from drivers._rv2aj_alarms import explain
from drivers._rv2aj_course import Course
from drivers._rv2aj_line import Cr1Line
from hil.types import LineAccount

BUSY = 5640
"""The controller refuses what it is asked because something runs there still."""

HELD_UP_S = 0.5
"""Less of it explains nothing."""
SILENT_S = 1.0
"""An answer that is late for longer is called silence."""

_SLOW = "look at the adapter, and at what else the controller is asked"


class Facts(NamedTuple):
    """What can hold up a target.

    Attributes:
        held_up_s: for how long the loop itself was.
        stalled: the port does not take what is handed to it.
        silent_s: for how long an answer is overdue now.
        noise_bytes: bytes without meaning since the target began to wait.
        busy: what the controller says when it is; empty if it is not.
        short: joint that rests off the last target, and by how many degrees.
        moving: the arm has not come to rest at the target before.
        late: answers that came late meanwhile, and by how much the last one.
        lost: answers that never came.
    """

    held_up_s: float = 0.0
    stalled: bool = False
    silent_s: float = 0.0
    noise_bytes: int = 0
    busy: str = ""
    short: tuple[str, float] | None = None
    moving: bool = False
    late: tuple[int, float] = (0, 0.0)
    lost: int = 0


def explain_wait(facts: Facts) -> str:
    """The cause that explains most."""
    if facts.held_up_s > max(HELD_UP_S, facts.silent_s):
        return (
            f"this program itself was held up for {facts.held_up_s:.1f} s: look at what else runs on this computer, "
            "and whether it went to sleep"
        )
    if facts.stalled:
        return "the port takes no more bytes: look at the adapter and at its driver"
    if facts.noise_bytes and (facts.silent_s or facts.lost):
        return (
            f"{facts.noise_bytes} bytes without meaning came instead of answers: look at the cable and at what lies "
            "beside it, and whether the line is set the same at both ends"
        )
    if facts.silent_s > SILENT_S:
        return f"the controller has been silent for {facts.silent_s:.1f} s: look at its power and at the cable"
    if facts.silent_s:
        return f"an answer is {facts.silent_s:.1f} s late by now, and has not come: {_SLOW}"
    if facts.busy:
        return f"the controller is busy: {facts.busy}"
    if facts.short is not None:
        joint, off_deg = facts.short
        return (
            f"{joint} rests {abs(off_deg):.2f} deg off the target before, and does not come nearer: look for what "
            "holds it, and at its load"
        )
    if facts.late[0]:
        return f"answers came late, the last by {facts.late[1]:.1f} s: {_SLOW}"
    if facts.lost:
        return f"{facts.lost} answers were lost on the line: look at the cable and at what lies beside it"
    if facts.moving:
        return (
            "the arm is still on its way to the target before, slower than the rig says: look at its load, and raise "
            "controller.send_period_ms"
        )
    return "the controller and the line take longer than the rig says: raise controller.send_period_ms"


class Wait:
    """The wait of a target for its turn: how everything stood when it began, and what holds the target up.

    Args:
        line: on which it will leave.
        course: where the arm was sent before.
    """

    def __init__(self, line: Cr1Line, course: Course) -> None:
        self._line, self._course = line, course
        self._before, self._held_up_s = LineAccount(), 0.0

    def begin(self) -> None:
        """From now on a target waits, or a newer one does."""
        self._before, self._held_up_s = self._account(), self._course.targets.held_up_s

    def why(self, now_s: float) -> str:
        """The cause in words."""
        line, targets, believed = self._line, self._course.targets, self._course.believed
        before, account = self._before, self._account()
        short = targets.sent is not None and targets.rests_short(believed)
        return explain_wait(
            Facts(
                held_up_s=targets.held_up_s - self._held_up_s,
                stalled=line.stalled,
                silent_s=line.silent_s(now_s),
                noise_bytes=account.noise_bytes - before.noise_bytes,
                busy="" if targets.busy_since_s is None else explain(BUSY).words,
                short=believed.farthest(targets.sent) if short and targets.sent is not None else None,
                moving=self._course.moving,
                late=(account.late - before.late, line.late_s),
                lost=account.lost - before.lost,
            )
        )

    def _account(self) -> LineAccount:
        return self._line.account(self._course.believed.at_s)
