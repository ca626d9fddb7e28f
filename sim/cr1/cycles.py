"""The CR1's control cycles: when the next one ends, and how many there were."""

from __future__ import annotations

import math


class Cycles:
    """Counts them from power-up on.

    Args:
        period_s: how long one lasts.
    """

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self._origin_s, self._done = 0.0, 0

    def begin(self, at_s: float) -> None:
        """The first one begins."""
        self._origin_s, self._done = at_s, 0

    @property
    def next_end_s(self) -> float:
        """When the next one ends."""
        return self._origin_s + (self._done + 1) * self.period_s

    def count(self) -> None:
        """One more is done."""
        self._done += 1

    def by(self, time_s: float) -> int:
        """How many have ended by then, also those in which there was nothing to do."""
        return max(self._done, self._passed(time_s))

    def catch_up(self, time_s: float) -> None:
        """Nothing was to be done up to now: the next one ends after it."""
        self._done = self.by(time_s)

    def skip_to(self, time_s: float) -> None:
        """The processor stood still until now: what it missed is not made up for."""
        self._done = self._passed(time_s)

    def _passed(self, time_s: float) -> int:
        return math.floor((time_s - self._origin_s) / self.period_s + 1e-9)
