"""Piecewise linear maps: between the angle of a joint and the pulse of its servo, as a calibration table gives it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt


class PiecewiseLinear:
    """A strictly monotone map through two or more points, straight between them and beyond the outer ones.

    Args:
        x: strictly increasing abscissae, shape (n,), n >= 2.
        y: strictly increasing or strictly decreasing values, shape (n,).

    Raises:
        ValueError: fewer than two points, a non-finite number, or not strictly monotone.
    """

    __slots__ = ("_inner_x", "_inner_y", "_order", "_segments", "_x", "_y")

    def __init__(self, x: Sequence[float], y: Sequence[float]) -> None:
        if len(x) != len(y) or len(x) < 2:
            raise ValueError("needs two or more points")
        if not all(math.isfinite(v) for v in (*x, *y)):
            raise ValueError("points must be finite numbers")
        steps = [b - a for a, b in pairwise(y)]
        if any(b <= a for a, b in pairwise(x)):
            raise ValueError("points must stand in strictly rising order")
        if not (all(s > 0 for s in steps) or all(s < 0 for s in steps)):
            raise ValueError("values must strictly rise or strictly fall")
        self._x, self._y = tuple(map(float, x)), tuple(map(float, y))
        self._order = 1.0 if steps[0] > 0 else -1.0
        # Searching among the inner points alone extends the outer segments without a clamp: this runs every tick.
        self._inner_x = self._x[1:-1]
        self._inner_y = tuple(self._order * v for v in self._y[1:-1])
        self._segments = tuple(zip(self._x, self._x[1:], self._y, self._y[1:], strict=False))

    def __call__(self, x: float) -> float:
        """Value at `x`."""
        x0, x1, y0, y1 = self._segments[bisect_right(self._inner_x, x)]
        return y0 + (x - x0) * (y1 - y0) / (x1 - x0)

    def inverse(self, y: float) -> float:
        """The `x` whose value is `y`."""
        x0, x1, y0, y1 = self._segments[bisect_right(self._inner_y, self._order * y)]
        return x0 + (y - y0) * (x1 - x0) / (y1 - y0)

    def slope(self, x: float) -> float:
        """Derivative of the segment that holds `x`."""
        x0, x1, y0, y1 = self._segments[bisect_right(self._inner_x, x)]
        return (y1 - y0) / (x1 - x0)

    def array(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Values at every element of `x`, any shape; the same arithmetic as a single call."""
        knots, values = np.asarray(self._x), np.asarray(self._y)
        i = np.clip(np.searchsorted(knots, x, side="right"), 1, len(knots) - 1)
        x0, x1, y0, y1 = knots[i - 1], knots[i], values[i - 1], values[i]
        result: npt.NDArray[np.float64] = y0 + (x - x0) * (y1 - y0) / (x1 - x0)
        return result

    def inverse_array(self, y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Inverse at every element of `y`, any shape."""
        order, knots, values = self._order, np.asarray(self._x), np.asarray(self._y)
        i = np.clip(np.searchsorted(order * values, order * y, side="right"), 1, len(knots) - 1)
        x0, x1, y0, y1 = knots[i - 1], knots[i], values[i - 1], values[i]
        result: npt.NDArray[np.float64] = x0 + (y - y0) * (x1 - x0) / (y1 - y0)
        return result
