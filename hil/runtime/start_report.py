"""A start, step by step: how far every process is, what took the time, and in which words a person hears of it.

The loop puts a mark into its ring at each step; the first one is its first sign of life. Until its first tick a session
is starting, and no limit of time runs but for a process that is dead.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from hil.types import Record

TOLD_S = 2.0
"""A start of up to this length is nothing to tell."""
GROWS, OFTEN_S = 2.0, 10.0
"""It is told again after so many times the time before, and after so long at the latest: that is a sign of life too."""


class Step(IntEnum):
    """What has been reached, in this order; the numbers are the places of the marks in the ring."""

    FAKE = 0
    LOOP = 1
    JOURNAL = 2
    BUILT = 3
    TICKING = 4


_TITLES = {
    Step.FAKE: "the fake controller",
    Step.LOOP: "the loop's process and its imports",
    Step.JOURNAL: "the recorder and its journal",
    Step.BUILT: "guard and driver",
    Step.TICKING: "the first tick",
}


class Mark(Record, frozen=True):
    """When a step was reached.

    Attributes:
        at_s: on the clock of all processes.
        cpu_s: what the process that reached it had used by then; None where nobody has measured.
    """

    at_s: float
    cpu_s: float | None = None


class StartReport:
    """Follows one start, from the owner's side.

    Args:
        say: takes words, while it is slow and once it is over.

    Attributes:
        over: everything is there, or nothing has begun.
        marks: of the steps that have been reached.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._began_s = 0.0
        self._tell_s, self._first = TOLD_S, Step.FAKE
        self.marks: dict[Step, Mark] = {}
        self.over = True

    def begin(self, now_s: float, first: Step) -> None:
        """The process of the first step is about to be started."""
        self._began_s, self._tell_s, self._first, self.over = now_s, TOLD_S, first, False
        self.marks.clear()

    def reached(self, step: Step, mark: Mark) -> None:
        """A process has come so far."""
        self.marks[step] = mark

    def look(self, now_s: float) -> None:
        """Tell now and then how far it is."""
        if self.over or now_s - self._began_s < self._tell_s:
            return
        passed_s = now_s - self._began_s
        self._tell_s = min(GROWS * passed_s, passed_s + OFTEN_S)
        self._say(self.words(now_s))

    def words(self, now_s: float) -> str:
        """How far it is."""
        waits_for = _TITLES[Step(max(self.marks, default=self._first - 1) + 1)]
        took = f" ({', '.join(said)})" if (said := self._took()) else ""
        return f"starting for {now_s - self._began_s:.1f} s{took}: waits for {waits_for}; nothing moves yet"

    def end(self, now_s: float) -> None:
        """The loop has ticked; say what took the time if it was slow."""
        if self.over:
            return
        self.over = True
        self.marks[Step.TICKING] = Mark(at_s=now_s)
        if now_s - self._began_s >= TOLD_S:
            self._say(
                f"the start took {now_s - self._began_s:.1f} s ({', '.join(self._took())}): close what keeps this "
                "computer busy"
            )

    def _took(self) -> list[str]:
        """What each step that is done took, and how much of that was work."""
        said: list[str] = []
        before_s, used_s = self._began_s, 0.0
        for step, mark in sorted(self.marks.items()):
            work = ""
            if mark.cpu_s is not None:
                work, used_s = f", {mark.cpu_s - used_s:.2f} s of it work", mark.cpu_s
            said.append(f"{_TITLES[step]} {max(0.0, mark.at_s - before_s):.1f} s{work}")
            before_s = mark.at_s
        return said
