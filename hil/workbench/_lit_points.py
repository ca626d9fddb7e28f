"""A small renderer without a screen: many lit points seen from one direction, nearest in front, as an image."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.kernels.scalar import FloatArray

LIGHT = np.array([-0.45, 0.55, 0.70]) / math.hypot(0.45, 0.55, 0.70)
FILL_LIGHT = np.array([0.75, -0.20, 0.63]) / math.hypot(0.75, 0.20, 0.63)
"""Where light comes from: over the viewer's left shoulder, and weaker from the right; right, up, towards the viewer."""

SHADE, MAIN, FILL = 0.36, 0.60, 0.24
"""Brightness of what no light meets, and what the lights add at most."""


class View(NamedTuple):
    """Directions of an orthographic view in the world, unit vectors."""

    right: FloatArray
    up: FloatArray
    toward: FloatArray

    def flat(self, points: FloatArray) -> FloatArray:
        """Picture coordinates of points in the world, shape (N, 2)."""
        return points @ np.stack([self.right, self.up], axis=1)


class Points(NamedTuple):
    """What is drawn.

    Attributes:
        places: shape (N, 3), metres.
        normals: shape (N, 3), unit length or zero, for points that make up a surface; None for little balls.
        colours: shape (N, 3), 0 to 1.
        size_m: width of a point.
    """

    places: FloatArray
    normals: FloatArray | None
    colours: FloatArray
    size_m: float


class Picture(NamedTuple):
    """An image for `imshow`: RGBA, upper row first, and its extent in metres: left, right, bottom, top."""

    image: npt.NDArray[np.float32]
    extent: tuple[float, float, float, float]


TOP = View(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
SIDE = View(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.array([0.0, -1.0, 0.0]))


def seen_from(azimuth_rad: float, elevation_rad: float) -> View:
    """The view of somebody who stands in this direction of the origin."""
    ca, sa, ce, se = math.cos(azimuth_rad), math.sin(azimuth_rad), math.cos(elevation_rad), math.sin(elevation_rad)
    return View(np.array([-sa, ca, 0.0]), np.array([-se * ca, -se * sa, ce]), np.array([ce * ca, ce * sa, se]))


def render(points: Points, view: View, pixels: int) -> Picture:
    """The picture, `pixels` wide or high, whichever is longer.

    Args:
        points: one or more.
        view: from where.
        pixels: of the longer side.
    """
    flat, depth = view.flat(points.places), points.places @ view.toward
    low, high = flat.min(axis=0) - points.size_m, flat.max(axis=0) + points.size_m
    pixel = float((high - low).max()) / pixels
    width, height = (max(1, math.ceil(v / pixel)) for v in high - low)
    middle = ((flat - low) / pixel).astype(np.int64)
    radius = max(1, round(0.5 * points.size_m / pixel))
    dx, dy = (offsets.ravel() for offsets in np.mgrid[-radius : radius + 1, -radius : radius + 1])
    if points.normals is None:
        out = 1.0 - (dx**2 + dy**2) / (radius + 0.5) ** 2
        dx, dy, out = dx[out >= 0.0], dy[out >= 0.0], out[out >= 0.0]
        ball = np.stack([dx / (radius + 0.5), dy / (radius + 0.5), np.sqrt(out)], axis=1)
        bright = np.broadcast_to(_brightness(ball), (len(depth), len(ball)))
    else:
        bright = np.broadcast_to(_brightness(_in_view(points.normals, view))[:, np.newaxis], (len(depth), len(dx)))
    order = np.argsort(depth, kind="stable")
    x = np.clip(middle[order, :1] + dx, 0, width - 1)
    y = np.clip(middle[order, 1:] + dy, 0, height - 1)
    image = np.zeros((height * width, 4), dtype=np.float32)
    # Of several colours for one cell the last one stays: the nearest.
    image[y * width + x, :3] = points.colours[order, np.newaxis].astype(np.float32) * bright[order, :, np.newaxis]
    image[y * width + x, 3] = 1.0
    extent = (float(low[0]), float(low[0]) + width * pixel, float(low[1]), float(low[1]) + height * pixel)
    return Picture(image.reshape(height, width, 4)[::-1].clip(0.0, 1.0), extent)


def _in_view(normals: FloatArray, view: View) -> FloatArray:
    return normals @ np.stack([view.right, view.up, view.toward], axis=1)


def _brightness(normals: FloatArray) -> FloatArray:
    """Of normals in the view; where there is none, of a flat sheet, full light."""
    lit = SHADE + MAIN * np.maximum(normals @ LIGHT, 0.0) + FILL * np.maximum(normals @ FILL_LIGHT, 0.0)
    bright: FloatArray = np.where((normals == 0.0).all(axis=1), 1.0, lit).astype(np.float32)
    return bright
