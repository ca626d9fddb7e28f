"""Where the tool is at a length: straight, round, and along any curve.

A path is geometry alone. Lengths are metres from its start; how the tool is turned on it is `hil.paths.orientation`,
when it is where is `hil.paths.timing`.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from hil.errors import CommandError
from hil.kernels.scalar import FloatArray
from hil.paths.circle import STRAIGHT, Circle, circle_through
from hil.paths.curve import Curve
from hil.units import MM

LEAST_LENGTH_M = 1e-6
"""A path shorter than this has no direction."""

LONGEST_M = 10_000.0
"""A path beyond this is no motion of an hour."""

SHOWN_POINTS = 400
"""Of a path in a notebook's picture."""

FIRST_PIECES, MOST_PIECES = 256, 16_384
LENGTH_ERROR = 1e-9
"""A curve is measured in pieces, twice as many each time, until its length changes by less than this part of it."""

GAUSS = np.array([-math.sqrt(0.6), 0.0, math.sqrt(0.6)])
GAUSS_WEIGHTS = np.array([5.0, 8.0, 5.0]) / 9.0

NEWTON_STEPS = 4
"""Steps from the length at a piece's ends to the parameter inside it; two are exact to rounding on most curves."""


class Path(Protocol):
    """Where the tool is at a length.

    Attributes:
        length_m: from start to end.
    """

    @property
    def length_m(self) -> float:
        """From start to end, above 0."""
        ...

    def points_m(self, at_m: FloatArray) -> FloatArray:
        """Tool points at lengths from the start, shape (N, 3) for (N,), in metres."""
        ...

    def directions(self, at_m: FloatArray) -> FloatArray:
        """Unit tangents there, shape (N, 3)."""
        ...

    def normals(self, at_m: FloatArray) -> FloatArray | None:
        """Unit normals of the surface that the path lies on, shape (N, 3); None where it lies on none."""
        ...


class Shown:
    """Lets a path draw itself in a notebook."""

    length_m: float

    def points_m(self, at_m: FloatArray) -> FloatArray:
        """Tool points at lengths from the start."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from hil.figures import notebook

        points_mm = self.points_m(np.linspace(0.0, self.length_m, SHOWN_POINTS)) / MM
        title = f"{type(self).__name__}, {self.length_m / MM:.1f} mm long"
        return notebook.page(notebook.views(title, points_mm))


class Line(Shown):
    """A straight stretch between two points, shape (3,) each, in metres.

    Raises:
        CommandError: the points are one.
    """

    def __init__(self, start_m: FloatArray, end_m: FloatArray) -> None:
        way = np.asarray(end_m, dtype=np.float64) - start_m
        self.length_m = _long_enough(float(np.linalg.norm(way)), "the two points of a line are one")
        self._start_m, self._direction = np.array(start_m, dtype=np.float64), way / self.length_m

    def points_m(self, at_m: FloatArray) -> FloatArray:
        """Tool points."""
        points: FloatArray = self._start_m + at_m[:, None] * self._direction
        return points

    def directions(self, at_m: FloatArray) -> FloatArray:
        """The same everywhere."""
        return np.repeat(self._direction[None, :], len(at_m), axis=0)

    def normals(self, at_m: FloatArray) -> FloatArray | None:
        """A line lies on no surface."""
        return None


class Arc(Shown):
    """Along a circle, by an angle above 0 that may be several turns; the surface that it lies on is its plane.

    Args:
        circle: in metres, its first point being the start.
        angle_rad: how far.
    """

    def __init__(self, circle: Circle, angle_rad: float) -> None:
        self.circle, self.angle_rad = circle, angle_rad
        self.length_m = _long_enough(circle.radius * angle_rad, "the arc has no length")
        self._normal = np.cross(circle.u, circle.v) / circle.radius**2

    @classmethod
    def through(
        cls, start_m: FloatArray, middle_m: FloatArray, end_m: FloatArray, *, whole_circle: bool = False
    ) -> Arc:
        """From the first point by the second to the third; as a whole circle back to the first.

        Raises:
            CommandError: two points are one, or all three on a line; it says how far the middle one would have to be
                off it.
        """
        circle = circle_through(start_m, middle_m, end_m)
        if circle is None:
            raise _no_circle(start_m, middle_m, end_m)
        return cls(circle, 2.0 * math.pi if whole_circle else circle.angle_rad)

    @classmethod
    def about(cls, start_m: FloatArray, centre_m: FloatArray, axis: FloatArray, angle_rad: float) -> Arc:
        """About a centre, counter-clockwise seen against the axis; a negative angle goes the other way round.

        Raises:
            CommandError: the start is the centre, the axis has no direction, or the start is not across from the
                centre at a right angle to the axis; or the angle is 0.
        """
        size = float(np.linalg.norm(axis))
        if not size > 0.0:
            raise CommandError(
                "the axis of an arc has no direction", value=list(axis), allowed="three numbers, not all 0"
            )
        axis = np.asarray(axis, dtype=np.float64) / size
        u = np.asarray(start_m, dtype=np.float64) - centre_m
        radius = _long_enough(float(np.linalg.norm(u)), "an arc starts at its own centre")
        along = float(u @ axis)
        if abs(along) > max(1e-6 * radius, 1e-7):
            raise CommandError(
                f"an arc starts {abs(along) / MM:.3f} mm out of the plane through its centre",
                value=list(centre_m),
                allowed="a centre at the height of the start, measured along the axis",
            )
        u = u - along * axis
        v = np.cross(axis, u) * math.copysign(1.0, angle_rad)
        return cls(Circle(np.asarray(centre_m, dtype=np.float64) + along * axis, u, v, 0.0, 0.0), abs(angle_rad))

    def points_m(self, at_m: FloatArray) -> FloatArray:
        """Tool points."""
        points: FloatArray = self.circle.point(at_m / self.circle.radius)
        return points

    def directions(self, at_m: FloatArray) -> FloatArray:
        """Tangents."""
        angle = (at_m / self.circle.radius)[:, None]
        way: FloatArray = (np.cos(angle) * self.circle.v - np.sin(angle) * self.circle.u) / self.circle.radius
        return way

    def normals(self, at_m: FloatArray) -> FloatArray | None:
        """That of the arc's plane."""
        return np.repeat(self._normal[None, :], len(at_m), axis=0)


class CurvePath(Shown):
    """A curve walked by its length.

    Args:
        curve: points and derivatives over a parameter.

    Raises:
        CommandError: the curve has no length, or stands still or jumps somewhere on the way.
        HilError: what the curve itself refuses.
    """

    def __init__(self, curve: Curve) -> None:
        self._curve = curve
        start, end = curve.domain
        # A parameter may run downwards; the path goes from where it starts to where it ends all the same.
        self._sign = math.copysign(1.0, end - start)
        pieces, before = FIRST_PIECES, math.inf
        while True:
            ends, lengths = self._measured(pieces)
            total = float(lengths[-1])
            if abs(total - before) <= LENGTH_ERROR * total or pieces >= MOST_PIECES:
                break
            pieces, before = 2 * pieces, total
        if not total <= LONGEST_M:
            allowed = f"up to {LONGEST_M:g} m"
            raise CommandError(f"the curve is {total:.3g} m long; allowed: {allowed}", value=total, allowed=allowed)
        self.length_m = _long_enough(total, "the curve has no length")
        self._ends, self._lengths = ends, lengths
        still = np.flatnonzero(np.diff(lengths) <= 0.0)
        if len(still):
            raise CommandError(
                f"the curve stands still at parameter {ends[still[0]]:g}",
                value=float(ends[still[0]]),
                allowed="a curve that moves everywhere",
            )

    def points_m(self, at_m: FloatArray) -> FloatArray:
        """Tool points."""
        return self._curve.points_m(self.parameters(at_m))

    def directions(self, at_m: FloatArray) -> FloatArray:
        """Tangents."""
        way = self._sign * self._curve.derivatives_m(self.parameters(at_m))
        directions: FloatArray = way / np.maximum(np.linalg.norm(way, axis=1), 1e-300)[:, None]
        return directions

    def normals(self, at_m: FloatArray) -> FloatArray | None:
        """Those of the curve's surface."""
        return self._curve.normals(self.parameters(at_m))

    def parameters(self, at_m: FloatArray) -> FloatArray:
        """Parameters at lengths."""
        at = np.clip(np.asarray(at_m, dtype=np.float64), 0.0, self.length_m)
        k = np.clip(np.searchsorted(self._lengths, at, side="right") - 1, 0, len(self._ends) - 2)
        low, high = self._ends[k], self._ends[k + 1]
        gone = at - self._lengths[k]
        parameter = low + (high - low) * gone / (self._lengths[k + 1] - self._lengths[k])
        for _ in range(NEWTON_STEPS):
            walked, pace = self._walked(low, parameter), self._pace(parameter)
            step = (gone - walked) / np.maximum(pace, 1e-300)
            parameter = np.clip(parameter + self._sign * step, np.minimum(low, high), np.maximum(low, high))
            if float(np.abs(step).max(initial=0.0)) <= 1e-13 * max(abs(low[0]), float(np.ptp(self._ends))):
                break
        found: FloatArray = parameter
        return found

    def _measured(self, pieces: int) -> tuple[FloatArray, FloatArray]:
        ends = np.linspace(*self._curve.domain, pieces + 1)
        return ends, np.concatenate([[0.0], np.cumsum(self._walked(ends[:-1], ends[1:]))])

    def _walked(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Lengths between parameters, by three points of Gauss each."""
        half = 0.5 * (high - low)
        places = (0.5 * (high + low))[:, None] + half[:, None] * GAUSS
        walked: FloatArray = (self._pace(places.ravel()).reshape(places.shape) @ GAUSS_WEIGHTS) * np.abs(half)
        return walked

    def _pace(self, parameter: FloatArray) -> FloatArray:
        pace: FloatArray = np.linalg.norm(self._curve.derivatives_m(parameter), axis=1)
        return pace


class Reversed(Shown):
    """Another path from its end to its start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.length_m = path.length_m

    def points_m(self, at_m: FloatArray) -> FloatArray:
        """Tool points."""
        return self._path.points_m(self.length_m - at_m)

    def directions(self, at_m: FloatArray) -> FloatArray:
        """Tangents."""
        return -self._path.directions(self.length_m - at_m)

    def normals(self, at_m: FloatArray) -> FloatArray | None:
        """Those of the path: the surface stays the same."""
        return self._path.normals(self.length_m - at_m)


def _long_enough(length_m: float, fault: str) -> float:
    if not length_m >= LEAST_LENGTH_M:
        raise CommandError(fault, value=length_m, allowed=f"at least {LEAST_LENGTH_M / MM:g} mm")
    return length_m


def _no_circle(start_m: FloatArray, middle_m: FloatArray, end_m: FloatArray) -> CommandError:
    pairs = (
        ("first", "second", start_m, middle_m),
        ("first", "third", start_m, end_m),
        ("second", "third", middle_m, end_m),
    )
    for one, other, a, b in pairs:
        if float(np.linalg.norm(b - a)) < LEAST_LENGTH_M:
            return CommandError(f"the {one} and the {other} point of an arc are one", allowed="three different points")
    a, b = middle_m - start_m, end_m - start_m
    apart = max(STRAIGHT * float(np.linalg.norm(a)), LEAST_LENGTH_M)
    off = float(np.linalg.norm(np.cross(a, b)) / np.linalg.norm(b))
    return CommandError(
        f"the three points of an arc are on one line: the middle one is {off / MM:.4f} mm off it",
        value=off,
        allowed=f"more than {max(apart / MM, 0.001):.3f} mm off the line through the others, or a line in its place",
    )
