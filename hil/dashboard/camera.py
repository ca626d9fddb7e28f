"""Where the scene is looked at from; the same numbers for OpenGL and for the painted view."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from hil.types import Record

Floats = npt.NDArray[np.float64]

FIELD_RAD = math.radians(40.0)
"""Angle of view across the picture's width."""

STEEPEST_RAD = math.radians(89.9)
NEAREST, FARTHEST = 0.02, 100.0

VIEWS = {
    "3D": (-50.0, 22.0),
    "front": (0.0, 0.0),
    "left": (90.0, 0.0),
    "back": (180.0, 0.0),
    "right": (-90.0, 0.0),
    "top": (-90.0, 89.9),
}
"""Named views: azimuth and elevation in degrees. The front is what the arm's x axis points at."""


class Camera(Record, frozen=True):
    """An eye that looks at a point.

    Attributes:
        azimuth_rad: of the eye about the world's z axis, from x.
        elevation_rad: of the eye above the point.
        distance_m: from the point.
        centre_m: the point.
    """

    azimuth_rad: float
    elevation_rad: float
    distance_m: float
    centre_m: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def seen_from(self, name: str) -> Camera:
        """The same distance and point from a named side."""
        azimuth_deg, elevation_deg = VIEWS[name]
        return msgspec.structs.replace(
            self, azimuth_rad=math.radians(azimuth_deg), elevation_rad=math.radians(elevation_deg)
        )

    def orbited(self, azimuth_rad: float, elevation_rad: float) -> Camera:
        """Turned about the point."""
        return msgspec.structs.replace(
            self,
            azimuth_rad=math.remainder(self.azimuth_rad + azimuth_rad, 2.0 * math.pi),
            elevation_rad=max(-STEEPEST_RAD, min(STEEPEST_RAD, self.elevation_rad + elevation_rad)),
        )

    def zoomed(self, factor: float) -> Camera:
        """Nearer or farther by a factor."""
        return msgspec.structs.replace(self, distance_m=max(NEAREST, min(FARTHEST, self.distance_m * factor)))

    def panned(self, right: float, up: float) -> Camera:
        """The point moved across the picture, in parts of its width."""
        across = 2.0 * self.distance_m * math.tan(FIELD_RAD / 2.0)
        axes = self.axes()
        centre = np.array(self.centre_m) + across * (right * axes[0] + up * axes[1])
        return msgspec.structs.replace(self, centre_m=tuple(centre.tolist()))

    def axes(self) -> Floats:
        """Rows: to the right, up, and towards the eye."""
        ca, sa = math.cos(self.azimuth_rad), math.sin(self.azimuth_rad)
        ce, se = math.cos(self.elevation_rad), math.sin(self.elevation_rad)
        return np.array([[-sa, ca, 0.0], [-ca * se, -sa * se, ce], [ca * ce, sa * ce, se]])

    def eye_m(self) -> Floats:
        """Where the eye is."""
        eye: Floats = np.array(self.centre_m) + self.distance_m * self.axes()[2]
        return eye

    def project(self, points_m: Floats, width: int, height: int) -> tuple[Floats, Floats]:
        """Where points are in a picture.

        Args:
            points_m: shape (..., 3).
            width: of the picture.
            height: of the picture.

        Returns:
            Columns and rows, shape (..., 2), and distances in front of the eye, shape (...,). What is behind the eye
            is moved in front of it, far out.
        """
        seen = (points_m - np.array(self.centre_m)) @ self.axes().T
        depth = np.maximum(self.distance_m - seen[..., 2], 1e-3 * self.distance_m)
        scale = width / (2.0 * math.tan(FIELD_RAD / 2.0)) / depth
        columns = width / 2.0 + scale * seen[..., 0]
        return np.stack([columns, height / 2.0 - scale * seen[..., 1]], axis=-1), depth
