"""A smooth curve through points: a cubic spline, its speed and its acceleration continuous.

The parameter grows by the square root of each chord (centripetal), which neither loops nor overshoots much where points
lie unevenly (Lee, Computer-Aided Design, 1989); a Catmull-Rom spline over the same parameter would jump in acceleration
at every point, and an arm would have to slow down there. Both ends are natural, without curvature; a closed one goes on
as it began.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.kernels.scalar import FloatArray
from hil.units import MM

LEAST_CHORD_M = 1e-6
MOST_POINTS = 1000


class SplineCurve:
    """Through points in their order; a `hil.paths.curve.Curve`.

    Args:
        points_m: shape (N, 3), at least two of them, at least three if closed.
        closed: it returns to its first point, which is not given twice.

    Raises:
        CommandError: there are too few or too many, one is not finite, or the same point comes twice in a row, told by
            their numbers from 1.
    """

    def __init__(self, points_m: npt.ArrayLike, *, closed: bool = False) -> None:
        points = np.array(points_m, dtype=np.float64).reshape(-1, 3)
        least = 3 if closed else 2
        if not least <= len(points) <= MOST_POINTS:
            raise CommandError(
                f"{len(points)} points of a spline", value=len(points), allowed=f"{least} to {MOST_POINTS}"
            )
        if not np.isfinite(points).all():
            bad = int(np.argwhere(~np.isfinite(points))[0, 0])
            raise CommandError(f"point {bad + 1} of a spline is not finite", value=bad + 1, allowed="finite numbers")
        if closed:
            points = np.concatenate([points, points[:1]])
        chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
        refuse_twice(chords, len(points) - 1 if closed else None)
        self._knots = np.concatenate([[0.0], np.cumsum(np.sqrt(chords))])
        self._points = points
        self._bends = _bends(self._knots, points, closed=closed)

    @property
    def domain(self) -> tuple[float, float]:
        """From 0 to the sum of the square roots of the chords, in metres."""
        return 0.0, float(self._knots[-1])

    @property
    def knots(self) -> FloatArray:
        """Parameters of the points, shape (N,), with the first once more if closed."""
        return self._knots

    def points_m(self, parameter: FloatArray) -> FloatArray:
        """Points."""
        k, width, low, high = self._place(parameter)
        bend_low, bend_high = self._bends[k], self._bends[k + 1]
        points: FloatArray = (
            low * self._points[k]
            + high * self._points[k + 1]
            + ((low**3 - low) * bend_low + (high**3 - high) * bend_high) * width**2 / 6.0
        )
        return points

    def derivatives_m(self, parameter: FloatArray) -> FloatArray:
        """Derivatives by the parameter."""
        k, width, low, high = self._place(parameter)
        rise = (self._points[k + 1] - self._points[k]) / width
        bent: FloatArray = (
            rise + ((3.0 * high**2 - 1.0) * self._bends[k + 1] - (3.0 * low**2 - 1.0) * self._bends[k]) * width / 6.0
        )
        return bent

    def normals(self, parameter: FloatArray) -> FloatArray | None:
        """It lies on no surface."""
        return None

    def _place(self, parameter: FloatArray) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray, FloatArray]:
        """Number of the piece, its width, and the shares of its two ends, for each parameter."""
        k = np.clip(np.searchsorted(self._knots, parameter, side="right") - 1, 0, len(self._knots) - 2)
        width = (self._knots[k + 1] - self._knots[k])[:, None]
        high = (np.asarray(parameter)[:, None] - self._knots[k][:, None]) / width
        return k, width, 1.0 - high, high


def refuse_twice(chords_m: Sequence[float] | FloatArray, returns_from: int | None = None) -> None:
    """Refuse a list in which a point comes twice in a row.

    Args:
        chords_m: from each point to the next.
        returns_from: number of the last point of a closed list, whose way leads back to the first.

    Raises:
        CommandError: with the numbers of the two, from 1.
    """
    for k, chord in enumerate(np.asarray(chords_m).tolist()):
        if chord < LEAST_CHORD_M:
            other = 1 if returns_from == k + 1 else k + 2
            raise CommandError(
                f"points {k + 1} and {other} are one",
                value=other,
                allowed=f"points at least {LEAST_CHORD_M / MM:g} mm from each other; leave one out",
            )


def _bends(knots: FloatArray, points: FloatArray, *, closed: bool) -> FloatArray:
    """Second derivatives at the knots, shape (N, 3)."""
    h = np.diff(knots)[:, None]
    rises = np.diff(points, axis=0) / h
    count = len(points)
    if closed:
        n = count - 1
        matrix, right = np.zeros((n, n)), np.empty((n, 3))
        for k in range(n):
            before, here = h[k - 1, 0], h[k, 0]
            matrix[k, k] += 2.0 * (before + here)
            matrix[k, k - 1] += before
            matrix[k, (k + 1) % n] += here
            right[k] = 6.0 * (rises[k] - rises[k - 1])
        found = np.linalg.solve(matrix, right)
        round_again: FloatArray = np.concatenate([found, found[:1]])
        return round_again
    bends: FloatArray = np.zeros_like(points)
    if count > 2:
        matrix = np.diag(2.0 * (h[:-1, 0] + h[1:, 0])) + np.diag(h[1:-1, 0], 1) + np.diag(h[1:-1, 0], -1)
        bends[1:-1] = np.linalg.solve(matrix, 6.0 * np.diff(rises, axis=0))
    return bends
