"""The picture that a fake's camera shows: the arm as rods above its table, and the time, as a small PNG."""

from __future__ import annotations

import itertools
import math
import struct
import time
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hil.model.link_shapes import floor_m
from hil.model.rig import Rig
from hil.robot import Robot

WIDTH, HEIGHT = 320, 240
_MARGIN = 20
_AZIMUTH_RAD, _ELEVATION_RAD = math.radians(-60.0), math.radians(25.0)
_PALETTE = bytes((24, 26, 30, 60, 66, 74, 230, 159, 0, 86, 180, 233, 240, 240, 240))
"""Background, table, arm, tool, writing: colours that people with any colour vision tell apart."""
_TABLE, _ARM, _TOOL, _WRITING = 1, 2, 3, 4
_GLYPHS = dict(zip("0123456789:.", (31599, 11415, 29671, 29647, 23497, 31183, 31215, 29257, 31727, 31695, 1040, 2),
                   strict=True))  # fmt: skip
"""Three by five points each, the top left one as the highest of fifteen bits."""

Pixels = npt.NDArray[np.uint8]


class Sketch:
    """Draws one rig's arm."""

    def __init__(self, rig: Rig) -> None:
        self._robot = Robot(rig.robot)
        reach_m = max(0.1, _reach_m(rig, self._robot))
        self._scale = (HEIGHT - 2 * _MARGIN) / (2.0 * reach_m)
        cos_a, sin_a = math.cos(_AZIMUTH_RAD), math.sin(_AZIMUTH_RAD)
        self._right = np.array([-sin_a, cos_a, 0.0])
        rise, fall = math.cos(_ELEVATION_RAD), math.sin(_ELEVATION_RAD)
        self._up = np.array([-cos_a * fall, -sin_a * fall, rise])
        corners = [(x * reach_m, y * reach_m, floor_m(rig.robot, rig.fences.table_height_m)) for x, y in _SQUARE]
        self._blank = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
        _lines(self._blank, self._seen(np.array(corners)), _TABLE, 1)

    def png(self, positions: Sequence[float | None], now_epoch_s: float) -> bytes:
        """The arm with its axes there; without it where that is not known.

        Args:
            positions: per axis, rad or m.
            now_epoch_s: for the writing.
        """
        pixels = self._blank.copy()
        joints = [value for value in positions[: self._robot.dof] if value is not None]
        if len(joints) == self._robot.dof:
            origins = np.vstack([np.zeros((1, 3)), self._robot.link_frames(joints)[:, :3, 3]])
            seen = self._seen(origins)
            _lines(pixels, seen, _ARM, 3)
            _lines(pixels, seen[-2:], _TOOL, 3)
        tenths = int(now_epoch_s * 10.0) % 10
        _write(pixels, f"{time.strftime('%H:%M:%S', time.localtime(now_epoch_s))}.{tenths}")
        return _png(pixels)

    def _seen(self, points_m: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Columns and rows in the picture, shape (n, 2)."""
        return np.column_stack(
            [
                WIDTH / 2 + self._scale * (points_m @ self._right),
                HEIGHT * 0.6 - self._scale * (points_m @ self._up),
            ]
        )


_SQUARE = ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))


def _reach_m(rig: Rig, robot: Robot) -> float:
    """How far from the base the arm is, stretched as in its home or park pose, whichever is farther."""
    poses = (rig.home[: robot.dof], rig.park[: robot.dof])
    frames = [robot.link_frames(pose)[:, :3, 3] for pose in poses]
    lengths = [np.linalg.norm(np.diff(frame, axis=0, prepend=np.zeros((1, 3))), axis=1).sum() for frame in frames]
    return float(max(lengths))


def _lines(pixels: Pixels, points: npt.NDArray[np.float64], colour: int, width: int) -> None:
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        steps = np.linspace(0.0, 1.0, int(max(abs(x1 - x0), abs(y1 - y0))) + 2)
        columns, rows = np.rint(x0 + steps * (x1 - x0)).astype(int), np.rint(y0 + steps * (y1 - y0)).astype(int)
        for dx in range(-(width // 2), width // 2 + 1):
            for dy in range(-(width // 2), width // 2 + 1):
                inside = (columns + dx >= 0) & (columns + dx < WIDTH) & (rows + dy >= 0) & (rows + dy < HEIGHT)
                pixels[rows[inside] + dy, columns[inside] + dx] = colour


def _write(pixels: Pixels, text: str) -> None:
    for place, character in enumerate(text):
        for bit in range(15):
            if _GLYPHS[character] >> (14 - bit) & 1:
                row, column = 6 + 2 * (bit // 3), 6 + 8 * place + 2 * (bit % 3)
                pixels[row : row + 2, column : column + 2] = _WRITING


def _png(pixels: Pixels) -> bytes:
    """An indexed PNG (RFC 2083), rows unfiltered."""
    rows = np.zeros((HEIGHT, WIDTH + 1), dtype=np.uint8)
    rows[:, 1:] = pixels
    header = struct.pack("!IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", _PALETTE), (b"IDAT", zlib.compress(rows.tobytes(), 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))
