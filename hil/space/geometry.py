"""Distances between segments and boxes: over whole batches with numpy, and one at a time in plain floats.

A capsule is a segment with a radius: every distance here is of the segment, the caller takes the radius off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Point = tuple[float, float, float]

_EDGES: tuple[Point, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

PARALLEL = 1e-12
"""Squared sine below which segments count as parallel; a metre long they then part by a micrometre."""


def segment_distance(start: FloatArray, end: FloatArray, other_start: FloatArray, other_end: FloatArray) -> FloatArray:
    """Shortest distance between two segments, in the unit of the points.

    Closest points after Ericson, Real-Time Collision Detection (2005), 5.1.9; a segment may have no length.

    Args:
        start: first segments' one end, shape (..., 3).
        end: their other end.
        other_start: second segments' one end, same shape.
        other_end: their other end.

    Returns:
        Distances, shape (...).
    """
    along, across, apart = end - start, other_end - other_start, start - other_start
    aa, bb, ab = _dot(along, along), _dot(across, across), _dot(along, across)
    ar, br = _dot(along, apart), _dot(across, apart)
    determinant = aa * bb - ab * ab
    skew = determinant > PARALLEL * aa * bb
    s = np.where(skew, _unit(_ratio(ab * br - ar * bb, np.where(skew, determinant, 0.0))), 0.0)
    t = _unit(_ratio(ab * s + br, bb))
    s = _unit(_ratio(ab * t - ar, aa))
    gap = apart + s[..., None] * along - t[..., None] * across
    result: FloatArray = np.sqrt(_dot(gap, gap))
    return result


def segment_box_distance(start: FloatArray, end: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Shortest distance between segments and one axis-aligned box; 0 where they touch or cross.

    Along the segment the squared distance is convex and piecewise quadratic, with knots where a coordinate
    passes a face of the box; so its slope is piecewise linear and its zero is found exactly.

    Args:
        start: segments' one end, shape (..., 3).
        end: their other end.
        lower: the box's lowest corner, shape (3,).
        upper: its highest corner.

    Returns:
        Distances, shape (...).
    """
    along = end - start
    faces = np.concatenate([_ratio(lower - start, along), _ratio(upper - start, along)], axis=-1)
    edge = np.zeros((*faces.shape[:-1], 1))
    knots = np.sort(np.concatenate([edge, _unit(faces), edge + 1.0], axis=-1), axis=-1)
    points = start[..., None, :] + knots[..., None] * along[..., None, :]
    slope = _dot(points - np.clip(points, lower, upper), along[..., None, :])
    left = np.clip((slope <= 0.0).sum(axis=-1, keepdims=True) - 1, 0, knots.shape[-1] - 2)
    at, below = np.take_along_axis(knots, left, -1), np.take_along_axis(slope, left, -1)
    after, above = np.take_along_axis(knots, left + 1, -1), np.take_along_axis(slope, left + 1, -1)
    t = at + (after - at) * _unit(_ratio(-below, above - below))
    nearest = start + t * along
    gap = nearest - np.clip(nearest, lower, upper)
    result: FloatArray = np.sqrt(_dot(gap, gap))
    return result


def segment_box_depth(start: FloatArray, end: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """How far segments that touch or cross an axis-aligned box would have to be shifted to only touch it.

    Box and segment together are a solid with faces along the box's own and along the segment at right angles to its
    edges; the nearest of those faces is meant. Negative for a segment that lies beside the box.

    Args:
        start: segments' one end, shape (..., 3).
        end: their other end.
        lower: the box's lowest corner, shape (3,).
        upper: its highest corner.

    Returns:
        Depths, shape (...).
    """
    along = end - start
    across = np.cross(along[..., None, :], np.eye(3))
    length = np.sqrt(_dot(across, across))
    # A segment along an edge has no face there: another axis, looked at twice, changes nothing.
    own = np.broadcast_to(np.eye(3), across.shape)
    across = np.where(length[..., None] > 0.0, _ratio(across, length[..., None]), own)
    normals = np.concatenate([own, across], axis=-2)
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    one, two = ((normals * (point - middle)[..., None, :]).sum(axis=-1) for point in (start, end))
    reach = (np.abs(normals) * half).sum(axis=-1)
    low, high = np.minimum(one, two), np.maximum(one, two)
    result: FloatArray = np.minimum(reach - low, high + reach).min(axis=-1)
    return result


def room_inside(start: FloatArray, end: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Distance from segments to the nearest wall of the box around them; negative where one pokes out.

    Args:
        start: segments' one end, shape (..., 3).
        end: their other end.
        lower: the box's lowest corner, shape (3,).
        upper: its highest corner.

    Returns:
        Distances, shape (...).
    """
    low, high = np.minimum(start, end), np.maximum(start, end)
    result: FloatArray = np.minimum(low - lower, upper - high).min(axis=-1)
    return result


def point_segment_distance(points: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """Distance of points, shape (..., 3), from one segment, shape (3,) each end, or from one each."""
    along = end - start
    t = _unit(_ratio(_dot(points - start, along), np.asarray(_dot(along, along))))
    gap = points - start - t[..., None] * along
    result: FloatArray = np.sqrt(_dot(gap, gap))
    return result


def segment_distance_single(start: Point, end: Point, other_start: Point, other_end: Point) -> float:
    """`segment_distance` for one pair of segments, in plain floats."""
    px, py, pz = start
    qx, qy, qz = other_start
    ux, uy, uz = end[0] - px, end[1] - py, end[2] - pz
    vx, vy, vz = other_end[0] - qx, other_end[1] - qy, other_end[2] - qz
    rx, ry, rz = px - qx, py - qy, pz - qz
    aa, bb, ab = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz, ux * vx + uy * vy + uz * vz
    ar, br = ux * rx + uy * ry + uz * rz, vx * rx + vy * ry + vz * rz
    determinant = aa * bb - ab * ab
    s = 0.0
    if determinant > PARALLEL * aa * bb:
        s = (ab * br - ar * bb) / determinant
        s = 0.0 if s < 0.0 else 1.0 if s > 1.0 else s
    t = (ab * s + br) / bb if bb > 0.0 else 0.0
    t = 0.0 if t < 0.0 else 1.0 if t > 1.0 else t
    s = (ab * t - ar) / aa if aa > 0.0 else 0.0
    s = 0.0 if s < 0.0 else 1.0 if s > 1.0 else s
    gx, gy, gz = rx + s * ux - t * vx, ry + s * uy - t * vy, rz + s * uz - t * vz
    return math.sqrt(gx * gx + gy * gy + gz * gz)


def segment_box_distance_single(start: Point, end: Point, lower: Point, upper: Point) -> float:
    """`segment_box_distance` for one segment, in plain floats."""
    along = (end[0] - start[0], end[1] - start[1], end[2] - start[2])
    knots = [0.0, 1.0]
    for i in (0, 1, 2):
        if along[i] != 0.0:
            for face in (lower[i], upper[i]):
                t = (face - start[i]) / along[i]
                if 0.0 < t < 1.0:
                    knots.append(t)
    knots.sort()
    at, below = 0.0, _slope(start, along, 0.0, lower, upper)
    if below < 0.0:
        for after in knots[1:]:
            above = _slope(start, along, after, lower, upper)
            if above >= 0.0:
                at += (after - at) * below / (below - above)
                break
            at, below = after, above
    return math.sqrt(sum(_excess(start[i] + at * along[i], lower[i], upper[i]) ** 2 for i in (0, 1, 2)))


def segment_box_depth_single(start: Point, end: Point, lower: Point, upper: Point) -> float:
    """`segment_box_depth` for one segment, in plain floats."""
    middle, half = (tuple(f * (a + s * b) for a, b in zip(upper, lower, strict=True)) for f, s in ((0.5, 1), (0.5, -1)))
    ux, uy, uz = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    px, py, pz = start[0] - middle[0], start[1] - middle[1], start[2] - middle[2]
    depth = math.inf
    for nx, ny, nz in (*_EDGES, (0.0, uz, -uy), (-uz, 0.0, ux), (uy, -ux, 0.0)):
        length = math.sqrt(nx * nx + ny * ny + nz * nz)
        if length > 0.0:
            one = (nx * px + ny * py + nz * pz) / length
            two = one + (nx * ux + ny * uy + nz * uz) / length
            reach = (abs(nx) * half[0] + abs(ny) * half[1] + abs(nz) * half[2]) / length
            depth = min(depth, reach - min(one, two), max(one, two) + reach)
    return depth


def _slope(start: Point, along: Point, t: float, lower: Point, upper: Point) -> float:
    """Half the derivative of the squared distance to the box at `t` along the segment."""
    return sum(_excess(start[i] + t * along[i], lower[i], upper[i]) * along[i] for i in (0, 1, 2))


def _excess(value: float, lower: float, upper: float) -> float:
    """How far `value` is outside of [lower, upper], signed; 0 inside."""
    return value - lower if value < lower else value - upper if value > upper else 0.0


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    result: FloatArray = a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]
    return result


def _unit(x: FloatArray) -> FloatArray:
    result: FloatArray = np.clip(x, 0.0, 1.0)
    return result


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Quotient that is 0 where the divisor is 0: a segment without length, or a face that it runs along."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    with np.errstate(over="ignore"):
        result: FloatArray = np.divide(above, below, out=np.zeros(shape), where=below != 0.0)
    return result


def unpack(vector: Sequence[float]) -> Point:
    """Three numbers as a plain point."""
    x, y, z = (float(v) for v in vector)
    return x, y, z
