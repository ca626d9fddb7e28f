"""Units: degrees and millimetres at the edge, radians and metres inside; pulse tables between angle and servo."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

MM = 1e-3
DEG = math.pi / 180.0


class PiecewiseLinear:
    """A strictly monotone map through two or more points, straight between them and beyond the outer ones.

    Args:
        x: strictly increasing abscissae, shape (n,), n >= 2.
        y: strictly increasing or strictly decreasing values, shape (n,).

    Raises:
        ValueError: fewer than two points, a non-finite number, or not strictly monotone.
    """

    __slots__ = ("_rising", "_x", "_y")

    def __init__(self, x: Sequence[float], y: Sequence[float]) -> None:
        if len(x) != len(y) or len(x) < 2:
            raise ValueError("needs two or more points")
        if not all(math.isfinite(v) for v in (*x, *y)):
            raise ValueError("points must be finite numbers")
        steps = [b - a for a, b in zip(y, y[1:], strict=False)]
        if any(b <= a for a, b in zip(x, x[1:], strict=False)):
            raise ValueError("points must stand in strictly rising order")
        if not (all(s > 0 for s in steps) or all(s < 0 for s in steps)):
            raise ValueError("values must strictly rise or strictly fall")
        self._x, self._y = tuple(map(float, x)), tuple(map(float, y))
        self._rising = steps[0] > 0

    def __call__(self, x: float) -> float:
        """Value at `x`."""
        i = min(max(bisect_right(self._x, x), 1), len(self._x) - 1)
        x0, x1, y0, y1 = self._x[i - 1], self._x[i], self._y[i - 1], self._y[i]
        return y0 + (x - x0) * (y1 - y0) / (x1 - x0)

    def inverse(self, y: float) -> float:
        """The `x` whose value is `y`."""
        ys = self._y if self._rising else tuple(-v for v in self._y)
        i = min(max(bisect_right(ys, y if self._rising else -y), 1), len(ys) - 1)
        x0, x1, y0, y1 = self._x[i - 1], self._x[i], self._y[i - 1], self._y[i]
        return x0 + (y - y0) * (x1 - x0) / (y1 - y0)

    def slope(self, x: float) -> float:
        """Derivative of the segment that holds `x`."""
        i = min(max(bisect_right(self._x, x), 1), len(self._x) - 1)
        return (self._y[i] - self._y[i - 1]) / (self._x[i] - self._x[i - 1])

    def array(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Values at every element of `x`, any shape; the same arithmetic as a single call."""
        knots, values = np.asarray(self._x), np.asarray(self._y)
        i = np.clip(np.searchsorted(knots, x, side="right"), 1, len(knots) - 1)
        x0, x1, y0, y1 = knots[i - 1], knots[i], values[i - 1], values[i]
        result: npt.NDArray[np.float64] = y0 + (x - x0) * (y1 - y0) / (x1 - x0)
        return result

    def inverse_array(self, y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Inverse at every element of `y`, any shape."""
        order = 1.0 if self._rising else -1.0
        knots, values = np.asarray(self._x), np.asarray(self._y)
        i = np.clip(np.searchsorted(order * values, order * y, side="right"), 1, len(knots) - 1)
        x0, x1, y0, y1 = knots[i - 1], knots[i], values[i - 1], values[i]
        result: npt.NDArray[np.float64] = x0 + (y - y0) * (x1 - x0) / (y1 - y0)
        return result
