"""A grid of voxels, and which of them are within reach: by the points of a cloud, or by asking for every centre."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.kernels.build import build_loops, fast_available
from hil.kernels.scalar import FloatArray
from hil.kinematics.workspace.cloud import BLOCK, Bounds, Cloud, Progress
from hil.kinematics.workspace.components import BoolArray
from hil.types import Record
from hil.units import MM

ByteArray: TypeAlias = npt.NDArray[np.uint8]

MOST_VOXELS = 200_000_000

COMPILE_ABOVE = 100_000
"""Points above which the compiled loop pays, its loading included."""

COMPILED_BLOCK = 1 << 20
"""Points per call of the compiled loop: its threads meet at the end of each."""


class Grid(Record, frozen=True):
    """Cubes along the world's axes.

    Attributes:
        corner_m: lowest corner of the first voxel.
        voxel_m: edge of a voxel.
        shape: voxels along x, y, z.
    """

    corner_m: tuple[float, float, float]
    voxel_m: float
    shape: tuple[int, int, int]

    def centres_m(self, axis: int) -> FloatArray:
        """Coordinates of the voxels' centres along one axis."""
        return self.corner_m[axis] + self.voxel_m * (np.arange(self.shape[axis], dtype=np.float64) + 0.5)


def grid_around(bounds: Bounds, voxel_m: float) -> Grid:
    """The grid that holds a box, with one empty voxel on every side; the world's origin is a voxel's centre.

    Raises:
        CommandError: a voxel that is not positive, or so small that there are too many.
    """
    if not (math.isfinite(voxel_m) and voxel_m > 0.0):
        raise CommandError(f"voxel {voxel_m / MM:g} mm given; allowed: above 0", value=voxel_m, allowed="above 0")
    first = [round(low / voxel_m) - 1 for low in bounds.lower_m]
    last = [round(high / voxel_m) + 1 for high in bounds.upper_m]
    nx, ny, nz = (b - a + 1 for a, b in zip(first, last, strict=True))
    if nx * ny * nz > MOST_VOXELS:
        least = voxel_m * (nx * ny * nz / MOST_VOXELS) ** (1 / 3)
        raise CommandError(
            f"a voxel of {voxel_m / MM:g} mm makes {nx * ny * nz} voxels; allowed: {MOST_VOXELS}, "
            f"so {math.ceil(10 * least / MM) / 10:g} mm or more",
            value=voxel_m,
            allowed=f"at least {least / MM:.3g} mm",
        )
    x, y, z = ((index - 0.5) * voxel_m for index in first)
    return Grid(corner_m=(x, y, z), voxel_m=voxel_m, shape=(nx, ny, nz))


def reached_by(cloud: Cloud, grid: Grid, on_progress: Progress | None = None) -> BoolArray:
    """The voxels of `grid` that hold some point of `cloud`; points outside the grid are left out."""
    cells = np.zeros(grid.shape, dtype=np.uint8)
    corner, inverse = np.array(grid.corner_m), 1.0 / grid.voxel_m
    compiled = cloud.points > COMPILE_ABOVE and fast_available()
    mark = build_loops("cloud").mark if compiled else _mark
    done = 0
    for frames, places in cloud.factors(COMPILED_BLOCK if compiled else BLOCK):
        mark(frames, places, corner, inverse, cells)
        done += frames.shape[1] * places.shape[1]
        if on_progress is not None:
            on_progress(done)
    return cells.view(np.bool_)


def reached_where(
    grid: Grid, reachable: Callable[[tuple[float, float, float]], bool], on_progress: Progress | None = None
) -> BoolArray:
    """The voxels of `grid` whose centres satisfy `reachable`, for example a closed form with a given orientation.

    Args:
        grid: the grid.
        reachable: takes a point in the world, metres.
        on_progress: is told the voxels done.
    """
    reached = np.zeros(grid.shape, dtype=np.bool_)
    xs, ys, zs = (grid.centres_m(axis).tolist() for axis in range(3))
    for i, x in enumerate(xs):
        for j, y in enumerate(ys):
            reached[i, j] = [reachable((x, y, z)) for z in zs]
        if on_progress is not None:
            on_progress((i + 1) * len(ys) * len(zs))
    return reached


def _mark(frames: FloatArray, places: FloatArray, corner: FloatArray, inverse: float, cells: ByteArray) -> None:
    """What the compiled loop of the same name does, with numpy."""
    scaled = frames * inverse
    scaled[:, :, 3] -= (corner * inverse)[:, np.newaxis]
    index = np.floor(np.matmul(scaled, places)).reshape(3, -1).astype(np.int64)
    inside = ((index >= 0) & (index < np.array(cells.shape)[:, np.newaxis])).all(axis=0)
    if not inside.all():
        index = index[:, inside]
    cells[index[0], index[1], index[2]] = 1
