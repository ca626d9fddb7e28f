"""Ways of the tool: straight lines and arcs, as poses at a fraction of the way; it turns in step with its travel."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from hil.link import FloatArray
from hil.paths.circle import Circle, circle_through
from hil.program.errors import ProgramError
from hil.program.values import Position
from hil.units import DEG

RADII_AGREE_MM = 0.01
"""How far the two radii of an arc with a given centre may differ."""

ON_ONE_POINT_MM = 1e-6


class Path(Protocol):
    """A way from fraction 0 to fraction 1.

    Attributes:
        length_mm: travel of the control point.
        turn_rad: the larger change of A and B.
    """

    length_mm: float
    turn_rad: float

    def members(self, fractions: FloatArray) -> FloatArray:
        """Poses, shape (N, 8), at fractions of shape (N,)."""
        ...


class Straight:
    """X, Y, Z and the angles all change evenly."""

    def __init__(self, start: Position, goal: Position) -> None:
        self._start = np.array(start.members)
        self._way = np.array(goal.members) - self._start
        self.length_mm = float(np.linalg.norm(self._way[:3]))
        self.turn_rad = float(np.abs(self._way[3:5]).max()) * DEG

    def members(self, fractions: FloatArray) -> FloatArray:
        """Poses at fractions."""
        found: FloatArray = self._start + fractions[:, None] * self._way
        return found


class Arc:
    """Along a circle by `angle_rad`, while the angles change evenly from those of `start` to those of `goal`."""

    def __init__(self, circle: Circle, angle_rad: float, start: Position, goal: Position) -> None:
        self._circle, self._angle_rad = circle, angle_rad
        self._start = np.array(start.members)
        self._way = np.array(goal.members) - self._start
        self.length_mm = circle.radius * abs(angle_rad)
        self.turn_rad = float(np.abs(self._way[3:5]).max()) * DEG

    def members(self, fractions: FloatArray) -> FloatArray:
        """Poses at fractions."""
        found: FloatArray = self._start + fractions[:, None] * self._way
        found[:, :3] = self._circle.point(fractions * self._angle_rad)
        return found


def short_way(start: Position, goal: Position) -> Position:
    """The goal with A in the turn nearest to that of the start."""
    members = list(goal.members)
    members[3] -= 360.0 * round((members[3] - start.members[3]) / 360.0)
    x, y, z, a, b, c, one, two = members
    return Position(members=(x, y, z, a, b, c, one, two), fl1=goal.fl1, fl2=goal.fl2)


def arc(word: str, points: tuple[Position, Position, Position]) -> tuple[Path, Position]:
    """The way of MVR, MVR2, MVR3 or MVC from its first point on, and where it ends.

    Three points on a line, or two equal ones, give a straight way, as on the controller.

    Raises:
        ProgramError: the radii of MVR3 differ.
    """
    start, second, third = points
    if word == "MVR3":
        return _about_centre(start, second, third)
    if word == "MVR2":
        # The third point only says where the circle is; the way is the one that avoids it.
        circle = circle_through(_xyz(start), _xyz(second), _xyz(third))
        if circle is None:
            return Straight(start, second), second
        return Arc(circle, circle.middle_rad, start, second), second
    circle = circle_through(_xyz(start), _xyz(second), _xyz(third))
    if word == "MVC":
        if circle is None:
            return Straight(start, start), start
        return Arc(circle, 2.0 * math.pi, start, start), start
    if circle is None:
        return Straight(start, third), third
    return Arc(circle, circle.angle_rad, start, third), third


def _about_centre(start: Position, goal: Position, centre: Position) -> tuple[Path, Position]:
    """The shorter way, below 180 degrees."""
    first, last = _xyz(start) - _xyz(centre), _xyz(goal) - _xyz(centre)
    radius, other = float(np.linalg.norm(first)), float(np.linalg.norm(last))
    if abs(radius - other) > RADII_AGREE_MM:
        raise ProgramError(
            3860, f"MVR3 with radii {radius:.3f} and {other:.3f} mm", allowed=f"equal within {RADII_AGREE_MM} mm"
        )
    if radius < ON_ONE_POINT_MM:
        return Straight(start, goal), goal
    normal = np.cross(first, last)
    size = float(np.linalg.norm(normal))
    angle = math.atan2(size, float(first @ last))
    if size <= 1e-9 * radius**2:
        return Straight(start, goal), goal
    circle = Circle(_xyz(centre), first, np.cross(normal / size, first), angle, angle)
    return Arc(circle, angle, start, goal), goal


def same_place(one: Position, other: Position) -> bool:
    """True if no move is needed from one to the other."""
    away = np.abs(np.array(one.members[:5]) - np.array(other.members[:5]))
    return bool(away.max() < 1e-4)


def _xyz(place: Position) -> FloatArray:
    return np.array(place.members[:3])
