"""Targets to follow as nobody should send them: lost, late, doubled, out of order, stale, jumping, no numbers."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence

from hil.errors import CommandError
from hil.model.rig import AxisKind, Rig
from hil.types import FollowTarget

SOURCE_HZ = (10.0, 20.0, 50.0, 100.0)
LOST, LATE, DOUBLED, STALE, AGAIN, JUMPS, OUTSIDE, NO_NUMBER, SILENT = (
    0.05,
    0.1,
    0.03,
    0.02,
    0.02,
    0.02,
    0.02,
    0.02,
    0.003,
)
"""How often each goes wrong, of all targets."""


class BadTargets:
    """A source of targets about a place, from one seed.

    Args:
        rng: source of all chance.
        rig: its axes.

    Attributes:
        refused: targets that were no numbers, and could not even be made.
    """

    def __init__(self, rng: random.Random, rig: Rig) -> None:
        self._rng, self._rig = rng, rig
        self._seq = self.refused = 0
        self._coming: list[tuple[float, int, FollowTarget]] = []
        self.begin([axis.home for axis in rig.axes], 0.0)

    def begin(self, here: Sequence[float], now_s: float) -> None:
        """Lead from this place (every axis, rad or m) along another way, at another rate."""
        rng = self._rng
        self._start, self._begun_s, self._due_s = tuple(here), now_s, now_s
        self._period_s = 1.0 / rng.choice(SOURCE_HZ)
        self._coming.clear()
        scales = [1.0 if axis.kind is AxisKind.REVOLUTE else 0.02 for axis in self._rig.axes]
        self._ways = [(rng.choice((0.0, rng.uniform(-0.3, 0.3))) * each, rng.uniform(0.1, 0.6)) for each in scales]

    def take(self, now_s: float) -> list[FollowTarget]:
        """What comes in until now."""
        while self._due_s <= now_s:
            self._make(self._due_s)
            self._due_s += self._period_s
        found = []
        while self._coming and self._coming[0][0] <= now_s:
            found.append(heapq.heappop(self._coming)[2])
        return found

    def _make(self, at_s: float) -> None:
        rng = self._rng
        if rng.random() < SILENT:
            self._due_s += rng.uniform(0.05, 0.6)
        if rng.random() < LOST:
            return
        passed_s = at_s - self._begun_s
        positions = [
            start + way * (1.0 - math.cos(2.0 * math.pi * hz * passed_s)) + rng.gauss(0.0, 1e-4)
            for start, (way, hz) in zip(self._start, self._ways, strict=True)
        ]
        if rng.random() < JUMPS:
            positions = [value + rng.uniform(-1.0, 1.0) for value in positions]
        if rng.random() < OUTSIDE:
            positions[rng.randrange(len(positions))] = rng.choice((-1.0, 1.0)) * 10.0 ** rng.uniform(0.0, 300.0)
        if rng.random() < NO_NUMBER:
            positions[rng.randrange(len(positions))] = rng.choice((math.nan, math.inf, -math.inf))
        self._seq += 0 if rng.random() < AGAIN else 1
        issued_s = at_s - (rng.uniform(0.0, 5.0) if rng.random() < STALE else 0.0)
        try:
            target = FollowTarget(
                seq=self._seq, issued_s=issued_s, positions=tuple(positions), speed_share=rng.choice((1.0, 0.5, 2.0))
            )
        except CommandError:
            self.refused += 1
            return
        for _ in range(2 if rng.random() < DOUBLED else 1):
            comes_s = at_s + (rng.uniform(0.0, 0.15) if rng.random() < LATE else rng.uniform(0.0, 0.01))
            heapq.heappush(self._coming, (comes_s, rng.randrange(1 << 30), target))
