"""Whether a hand is still on the dead-man: a hold in which nothing changes has to be let go of and pressed anew.

A stuck key, a taped button, a frozen game pad and a window that hangs all look like a hand that holds still. What tells
them apart is what the input says by itself, and that sooner or later a hand changes something.
"""

from __future__ import annotations

import math

from hil.types import Record

UNCHANGED_S = 10.0
"""A hold in which nothing has changed for so long does not count any more."""

PLANNED_UNCHANGED_S = 60.0
"""The same for a motion that was looked at as a whole before: home, park, a task, a self-test."""

INPUT_SILENT_S = 1.5
"""An input that reports by itself while it is held, and has said nothing for so long, is unplugged or frozen. Longer
than the slowest repetition of a keyboard, half a second, and a line on which a hand can be held at all."""

WARNING_S, PLANNED_WARNING_S = 3.0, 10.0
"""So long before the end of a hold its driver is told; in the last third of a hold that is shorter than that."""


class Sign(Record, frozen=True):
    """What shows that a hand is there; seconds by the clock of whoever says it.

    Attributes:
        changed_s: when a person last changed something at the input: pressed, moved it, pressed another key. None
            where nobody says so: the press alone counts then, and what is asked for.
        reported_s: when the input last said anything by itself: a key that repeats, a sample of a pad. None for one
            that says nothing while it is held still, as a mouse.
    """

    changed_s: float | None = None
    reported_s: float | None = None


NO_SIGN = Sign()


class HoldWatch:
    """Follows one hold after the other.

    Args:
        unchanged_s: longest hold in which nothing changes.
        planned_unchanged_s: the same while a planned motion was asked for.
    """

    def __init__(self, unchanged_s: float, planned_unchanged_s: float) -> None:
        self._limits_s = unchanged_s, planned_unchanged_s
        self._changed_s = -math.inf
        self._reported_s: float | None = None
        self._told = self._warned = False
        self._planned = False
        self._asked: object = None

    def begin(self, now_s: float) -> None:
        """It is pressed."""
        self._reported_s, self._told = None, False
        self._planned, self._asked = False, None
        self._change(now_s)

    def see(self, sign: Sign, now_s: float) -> None:
        """What is said of the hand that holds. Nothing counts from before the press, nor from after now."""
        if sign.changed_s is not None:
            self._told = True
            if (changed_s := min(sign.changed_s, now_s)) > self._changed_s:
                self._change(changed_s)
        self._reported_s = None if sign.reported_s is None else min(sign.reported_s, now_s)

    def ask(self, what: object, now_s: float, *, planned: bool) -> None:
        """Something is asked for under this hold: a planned motion, or a jog, again and again.

        A jog that is another one than before shows a hand, where nothing else is said of one.
        """
        if planned or (what != self._asked and not self._told):
            self._change(now_s)
        self._planned, self._asked = planned, what

    def over(self, now_s: float) -> str:
        """Why the hold does not count any more; empty while it does."""
        if self._reported_s is not None and now_s - self._reported_s > INPUT_SILENT_S:
            return "the input says nothing any more, as if it were unplugged or frozen: let go, then press again"
        if self._left_s(now_s) > 0.0:
            return ""
        return f"nothing has changed for {self._limit_s:g} s, as if the key were stuck: let go, then press again"

    def warning(self, now_s: float) -> tuple[str, float] | None:
        """Words, once, shortly before the hold ends, and how long that is."""
        left_s, before_s = self._left_s(now_s), PLANNED_WARNING_S if self._planned else WARNING_S
        if self._warned or left_s > min(before_s, self._limit_s / 3.0):
            return None
        self._warned = True
        held_s = self._limit_s - left_s
        words = f"nothing has changed for {held_s:.0f} s: the arm stops in {left_s:.0f} s, unless the hand shows itself"
        return words, left_s

    @property
    def _limit_s(self) -> float:
        return self._limits_s[self._planned]

    def _left_s(self, now_s: float) -> float:
        return self._changed_s + self._limit_s - now_s

    def _change(self, at_s: float) -> None:
        self._changed_s, self._warned = at_s, False
