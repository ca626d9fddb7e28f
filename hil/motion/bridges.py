"""Short cuts of the joints past a singular posture, the tool no farther off its path than it may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.link import FloatArray

Flags = npt.NDArray[np.bool_]

SHARE = 0.9
"""Part of a tolerance that a short cut takes."""

MOST_BRIDGES = 6
HALVINGS = 12


class Bridge(NamedTuple):
    """A cubic of the joints between two lengths of a path, which leaves and meets it with its slopes."""

    start_m: float
    end_m: float
    first: FloatArray
    last: FloatArray
    first_slope: FloatArray
    last_slope: FloatArray

    def inside(self, at_m: FloatArray) -> Flags:
        """Which lengths it covers."""
        covered: Flags = (at_m > self.start_m) & (at_m < self.end_m)
        return covered

    def rows(self, at_m: FloatArray) -> FloatArray:
        """Joints at lengths inside, shape (N, n)."""
        width = self.end_m - self.start_m
        t = ((at_m - self.start_m) / width)[:, None]
        a, b, way = self.first_slope * width, self.last_slope * width, self.last - self.first
        found: FloatArray = self.first + t * (a + t * (3.0 * way - 2.0 * a - b + t * (a + b - 2.0 * way)))
        return found


def widest_bridge(
    at_m: FloatArray,
    joints: FloatArray,
    worst: int,
    away_m: Callable[[FloatArray, FloatArray], FloatArray],
    most_m: float,
) -> Bridge | None:
    """The widest short cut about a place of the grid; None where not even the narrowest stays near enough.

    Args:
        at_m: lengths of the grid.
        joints: there, shape (N, n).
        worst: index of the place.
        away_m: how far the tool is off the path at lengths with these joints.
        most_m: that it may be.
    """
    slope = np.gradient(joints, at_m, axis=0)
    low, high, best = 1, len(at_m), None
    for _ in range(HALVINGS):
        half = (low + high) // 2
        i, k = max(worst - half, 0), min(worst + half, len(at_m) - 1)
        bridge = Bridge(float(at_m[i]), float(at_m[k]), joints[i], joints[k], slope[i], slope[k])
        inner = at_m[i + 1 : k]
        if not len(inner) or float(away_m(inner, bridge.rows(inner)).max()) <= SHARE * most_m:
            best, low = bridge, half
        else:
            high = half
        if high - low <= 1:
            break
    return best
