"""The capsule around a mesh: a body for checks of distances that leaves no point of the mesh outside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hil.space.geometry import FloatArray, Point


class Enclosing(NamedTuple):
    """A rounded rod: all points within `radius_m` of the stretch from `start_m` to `end_m`."""

    start_m: Point
    end_m: Point
    radius_m: float


def enclosing_capsule(points: FloatArray) -> Enclosing:
    """A capsule along the longest direction of the points, as short as its radius lets it be.

    Args:
        points: shape (N, 3), metres, N at least 1.
    """
    middle = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - middle, full_matrices=False)
    axes = _completed(axes)
    along = (points - middle) @ axes.T
    # Half way between the outermost points across, rather than their mean: fine meshes have most points on one side.
    across = 0.5 * (along[:, 1:].max(axis=0) + along[:, 1:].min(axis=0))
    apart = np.linalg.norm(along[:, 1:] - across, axis=1)
    radius_m = float(apart.max())
    cap = np.sqrt(np.maximum(radius_m**2 - apart**2, 0.0))
    first, last = float((along[:, 0] + cap).min()), float((along[:, 0] - cap).max())
    if first > last:
        first = last = 0.5 * (first + last)
        radius_m = float(np.linalg.norm(along - [first, *across], axis=1).max())
    start, end = (middle + np.array([place, *across]) @ axes for place in (first, last))
    return Enclosing(_point(start), _point(end), radius_m)


def _completed(axes: FloatArray) -> FloatArray:
    """Three directions, where one or two points gave fewer."""
    if len(axes) == 3:
        return axes
    full, _ = np.linalg.qr(np.vstack([axes, np.eye(3)]).T)
    return full.T[:3]


def _point(place: FloatArray) -> Point:
    x, y, z = place.tolist()
    return x, y, z
