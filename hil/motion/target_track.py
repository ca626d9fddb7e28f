"""Targets as they came in, played back a little late: between two of them a straight line, behind the newest nothing.

The delay is what the targets themselves ask for. Where the next one is late the playback waits at the newest, and is
so much later from then on; where they have come in good time for a while it catches up again, a little faster than
they were given.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from hil.link import FloatArray

CATCH_UP = 0.02
"""Part by which the playback is faster while there is more in hand than is needed."""

REMEMBERED = 25
"""Targets by whose coming it is judged how much is needed."""

SPARE_PERIODS = 1.0
"""So many periods in hand when a target comes in are not given up."""

PAUSE_S = 0.15
"""After so long a time without targets the next one begins anew: what was late was no line, but no target."""

SLOPE_S = 0.04
"""Over so much time it is seen at which velocity targets lead on; over less, their rounding would look like motion."""

MOST_BEHIND_S = 0.3
"""Nothing is played back later than this."""


class Wanted(NamedTuple):
    """Where the targets are at the next sample.

    Attributes:
        positions: of every axis, rad or m.
        velocity: at which they lead there, per s.
    """

    positions: FloatArray
    velocity: FloatArray


class _Point(NamedTuple):
    at_s: float
    positions: FloatArray


class TargetTrack:
    """The targets of one run.

    Args:
        period_s: time between samples.
    """

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._points: deque[_Point] = deque()
        self._in_hand: deque[float] = deque(maxlen=REMEMBERED)
        self._now_s = 0.0
        self._passed = False

    @property
    def newest(self) -> FloatArray:
        """The target that came in last; there has to be one."""
        return self._points[-1].positions

    @property
    def newest_s(self) -> float:
        """When it was meant for, by the sender's clock; minus infinity before the first."""
        return self._points[-1].at_s if self._points else float("-inf")

    @property
    def behind_s(self) -> float:
        """By how much the playback is later than the newest target."""
        return self.newest_s - self._now_s if self._points else 0.0

    def add(self, at_s: float, positions: FloatArray) -> None:
        """A target has come in; its time has to be later than that of the one before."""
        if self._passed and at_s - self.newest_s > PAUSE_S:
            self._points.clear()
            self._in_hand.clear()
        if self._points:
            self._in_hand.append(self.behind_s)
        else:
            self._now_s = at_s
        self._points.append(_Point(at_s, positions))

    def turn(self) -> None:
        """One period goes by."""
        if not self._points:
            return
        needed_s = SPARE_PERIODS * self._period_s
        in_time = len(self._in_hand) == REMEMBERED and min(self._in_hand) > needed_s
        ahead_s = self._now_s + self._period_s * (1.0 + CATCH_UP if in_time else 1.0)
        # A hair of allowance: stamps a period apart shall not cost a period for their rounding.
        self._passed = ahead_s > self.newest_s + 1e-6 * self._period_s
        self._now_s = max(min(ahead_s, self.newest_s), self.newest_s - MOST_BEHIND_S)
        while len(self._points) > 2 and self._points[1].at_s <= self._now_s - SLOPE_S:
            self._points.popleft()

    @property
    def wanted(self) -> Wanted | None:
        """Where the targets are now; None behind the newest, where nothing is known."""
        if self._passed or not self._points:
            return None
        here = self._at(self._now_s)
        since_s = max(self._points[0].at_s, self._now_s - SLOPE_S)
        if self._now_s <= since_s:
            return Wanted(here, np.zeros(len(here)))
        return Wanted(here, (here - self._at(since_s)) / (self._now_s - since_s))

    def _at(self, at_s: float) -> FloatArray:
        """Between which targets a time lies, and where on the line between them."""
        before = self._points[0]
        for after in self._points:
            if after.at_s >= at_s and after is not before:
                share = (at_s - before.at_s) / (after.at_s - before.at_s)
                positions: FloatArray = before.positions + share * (after.positions - before.positions)
                return positions
            before = after
        return before.positions
