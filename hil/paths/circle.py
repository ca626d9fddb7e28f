"""A circle through three points, and an arc about a centre; in any unit of length."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hil.kernels.scalar import FloatArray

STRAIGHT = 1e-6
"""Sine of the angle at the first point below which three points count as a line."""


class Circle(NamedTuple):
    """An arc from its first point, counted by angle.

    Attributes:
        centre: shape (3,).
        u, v: two half axes in its plane, u towards the first point, shape (3,) each.
        middle_rad, angle_rad: angles of the second and the third point, above 0.
    """

    centre: FloatArray
    u: FloatArray
    v: FloatArray
    middle_rad: float
    angle_rad: float

    def point(self, angle_rad: float | FloatArray) -> FloatArray:
        """Points at angles: shape (3,), or (N, 3)."""
        angle = np.asarray(angle_rad)[..., None]
        found: FloatArray = self.centre + np.cos(angle) * self.u + np.sin(angle) * self.v
        return found

    @property
    def radius(self) -> float:
        """Radius, in the unit of the points."""
        return float(np.linalg.norm(self.u))


def circle_through(first: FloatArray, second: FloatArray, third: FloatArray) -> Circle | None:
    """The circle that passes three points in their order, or None if two are equal or all on a line."""
    a, b = second - first, third - first
    normal = np.cross(a, b)
    size = float(np.linalg.norm(normal))
    if size <= STRAIGHT * max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12):
        return None
    to_centre = (float(a @ a) * np.cross(b, normal) - float(b @ b) * np.cross(a, normal)) / (2.0 * size**2)
    centre = first + to_centre
    u = first - centre
    v = np.cross(normal / size, u)
    angles = [math.atan2(float((p - centre) @ v), float((p - centre) @ u)) % (2.0 * math.pi) for p in (second, third)]
    return Circle(centre, u, v, angles[0], angles[1])
