"""Clouds of millions of points, painted: a part at once while the camera moves, the rest bit by bit when it rests."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PySide6.QtGui import QImage

from hil.dashboard.camera import FIELD_RAD, Camera
from hil.lessons.picture import Points

AT_ONCE = 40_000
"""Points of all clouds together that a frame draws at once: a few milliseconds."""

MORE = 60_000
"""Points that are added at a time."""

NEAREST = 1e-3


class CloudCanvas:
    """The pixels of some clouds seen from one place; the nearest point of those drawn so far is seen."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._clouds: list[tuple[Points, int]] = []
        self._drawn: list[int] = []
        self._pixels = np.zeros(0, np.uint32)
        self._depths = np.zeros(0, np.float32)
        self._size = (0, 0)
        self._camera: Camera | None = None

    @property
    def waiting(self) -> int:
        """Points that are not drawn yet."""
        return sum(len(points.places) - drawn for (points, _), drawn in zip(self._clouds, self._drawn, strict=True))

    def look(self, camera: Camera, size: tuple[int, int], clouds: Sequence[tuple[Points, int]]) -> None:
        """From there, at these clouds with their colours (ARGB); an even part of all is drawn, if this is new."""
        key = (camera, size, *((id(points.places), colour) for points, colour in clouds))
        if key == self._key:
            return
        self._key, self._camera, self._size, self._clouds = key, camera, size, list(clouds)
        self._pixels = np.zeros(size[0] * size[1], np.uint32)
        self._depths = np.full(size[0] * size[1], np.inf, np.float32)
        self._drawn = [0] * len(self._clouds)
        self._add(AT_ONCE)

    def more(self) -> bool:
        """Draw some that were left out; whether any are left."""
        self._add(MORE)
        return self.waiting > 0

    def image(self) -> QImage:
        """As it is by now."""
        width, height = self._size
        return QImage(self._pixels.tobytes(), width, height, 4 * width, QImage.Format.Format_ARGB32).copy()

    def _add(self, most: int) -> None:
        waiting = self.waiting
        if not waiting:
            return
        for number, (points, colour) in enumerate(self._clouds):
            drawn = self._drawn[number]
            left = len(points.places) - drawn
            count = min(left, math.ceil(most * left / waiting))
            self._draw(points, drawn, drawn + count, colour)
            self._drawn[number] = drawn + count

    def _draw(self, points: Points, first: int, last: int, colour: int) -> None:
        assert self._camera is not None
        columns, rows, depths = _project(self._camera, np.asarray(points.places[first:last], np.float32), self._size)
        width, height = self._size
        size_px = max(1, round(points.size_px))
        seen = np.flatnonzero(
            (columns >= 0)
            & (columns <= width - size_px)
            & (rows >= 0)
            & (rows <= height - size_px)
            & (depths > NEAREST)
        )
        corner, near = rows[seen] * width + columns[seen], depths[seen]
        for right in range(size_px):
            for down in range(size_px):
                at = corner + (down * width + right)
                nearer = np.flatnonzero(near < self._depths[at])
                at = at[nearer]
                self._depths[at] = near[nearer]
                self._pixels[at] = colour


def _project(
    camera: Camera, places: npt.NDArray[np.float32], size: tuple[int, int]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """As `Camera.project`, in half the memory: columns, rows, depths."""
    width, height = size
    axes = camera.axes().astype(np.float32)
    seen = places @ axes.T - (np.array(camera.centre_m, np.float32) @ axes.T)
    depths = np.float32(camera.distance_m) - seen[:, 2]
    scale = np.float32(width / (2.0 * math.tan(FIELD_RAD / 2.0))) / np.maximum(depths, np.float32(NEAREST))
    most = 4 * max(width, height)
    columns = np.clip(np.float32(0.5 * width) + scale * seen[:, 0], -most, most).astype(np.int32)
    rows = np.clip(np.float32(0.5 * height) - scale * seen[:, 1], -most, most).astype(np.int32)
    return columns, rows, depths
