"""A part of a path, with the tool turned on it as on the whole."""

from __future__ import annotations

from hil.kernels.scalar import FloatArray
from hil.kinematics.along import Targets
from hil.paths.orientation import Orientation
from hil.paths.path import Path


class PathPart:
    """From one length of a path to another.

    Args:
        whole: the path.
        first_m, last_m: lengths on it, the first below the last.
    """

    def __init__(self, whole: Path, first_m: float, last_m: float) -> None:
        self._whole, self._first_m, self.length_m = whole, first_m, last_m - first_m

    def points_m(self, at_m: FloatArray) -> FloatArray:
        """Tool points."""
        return self._whole.points_m(at_m + self._first_m)

    def directions(self, at_m: FloatArray) -> FloatArray:
        """Those of the whole."""
        return self._whole.directions(at_m + self._first_m)

    def normals(self, at_m: FloatArray) -> FloatArray | None:
        """Those of the whole."""
        return self._whole.normals(at_m + self._first_m)


class OrientationPart:
    """How the tool is turned on a part of a path."""

    def __init__(self, hand: Orientation, whole: Path, first_m: float, last_m: float) -> None:
        self._hand, self._whole, self._first_m = hand, whole, first_m
        self.turn_rad = hand.turn_rad * (last_m - first_m) / whole.length_m

    def targets(self, path: Path, at_m: FloatArray) -> Targets:
        """Points and orientations at lengths of the part."""
        return self._hand.targets(self._whole, at_m + self._first_m)
