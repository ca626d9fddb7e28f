"""The time of a lesson: how long it plays, and the moments at which one may stop."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

NEAR_S = 1e-9


class Moment(NamedTuple):
    """One moment to stop at: when, and what it shows in a few words."""

    time_s: float
    words: str = ""


class Timeline(NamedTuple):
    """What is played.

    Attributes:
        duration_s: 0 for a still picture.
        moments: in order, the first at 0; between two of them a step goes.
        ahead: words of a moment are of the stretch that begins with it; else of the one that ends with it.
    """

    duration_s: float = 0.0
    moments: tuple[Moment, ...] = (Moment(0.0),)
    ahead: bool = False

    def stepped(self, time_s: float, by: int) -> float:
        """The moment so many on, or back; the ends are the last ones."""
        times = [moment.time_s for moment in self.moments]
        at = bisect_right(times, time_s + NEAR_S) - 1 if by > 0 else bisect_left(times, time_s - NEAR_S)
        return times[min(max(at + by, 0), len(times) - 1)]

    def words_at(self, time_s: float) -> str:
        """Of the stretch that is on at this time."""
        times = [moment.time_s for moment in self.moments]
        if self.ahead:
            return self.moments[max(bisect_right(times, time_s + NEAR_S) - 1, 0)].words
        return self.moments[min(bisect_left(times, time_s - NEAR_S), len(times) - 1)].words


STILL = Timeline()
