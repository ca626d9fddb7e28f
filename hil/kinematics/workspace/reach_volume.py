"""What a set of reached voxels encloses: volume, separate pieces, voids inside, holes through, slices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hil.errors import CommandError
from hil.kinematics.workspace.cloud import Bounds, Cloud, Progress
from hil.kinematics.workspace.components import BoolArray, LabelArray, Parts, parts_of
from hil.kinematics.workspace.voxels import ByteArray, Grid, grid_around, reached_by
from hil.types import Record
from hil.units import MM

OUTSIDE, REACHED, VOID = 0, 1, 2
"""What the cells of a map and of a slice say."""

OUTER = 0
"""The empty part that lies around everything: it holds the grid's first voxel."""

COARSE_VOXELS = 3.0
"""Points farther apart than so many voxels tear holes."""

FLAT_M = 1e-9
"""A cloud thinner than this is an area and has no volume."""


class Void(Record, frozen=True):
    """A cavity that the tool point cannot enter and that reached places close in on all sides."""

    volume_m3: float
    lower_m: tuple[float, float, float]
    upper_m: tuple[float, float, float]


class ReachVolume(Record, frozen=True):
    """What is within reach, in voxels.

    Attributes:
        voxel_m: edge of a voxel; what is smaller is not seen.
        bounds: of the reached voxels' centres, or of the cloud.
        volume_m3: estimate. Of a voxel that the surface crosses only half is counted on the average.
        touched_m3: of all reached voxels, so an upper bound.
        area_m2: the same estimate for an arm that moves in one plane of the grid; None for any other.
        pieces: connected parts of what is reached. Here and below gaps narrower than two voxels count as closed:
            so wide is what a rough surface, made of points, has by chance.
        voids: the largest first.
        holes: ways through, as through the ring of a doughnut; voids are not counted among them.
    """

    voxel_m: float
    bounds: Bounds
    volume_m3: float
    touched_m3: float
    area_m2: float | None
    pieces: int
    voids: tuple[Void, ...]
    holes: int


class ReachMap(NamedTuple):
    """The reached voxels and what was found out about them.

    Attributes:
        grid: where the voxels are.
        cells: OUTSIDE, REACHED or VOID, shape of the grid.
        summary: the numbers.
    """

    grid: Grid
    cells: ByteArray
    summary: ReachVolume

    def slice(self, axis: int, at_m: float) -> ByteArray:
        """The layer of cells across one axis that holds a coordinate, shape of the other two axes in order.

        Raises:
            CommandError: the coordinate is outside the grid, or the axis none of 0, 1, 2.
        """
        if axis not in (0, 1, 2):
            raise CommandError(f"axis {axis!r} given; allowed: 0, 1, 2 for x, y, z", value=axis, allowed="0, 1, 2")
        low, size = self.grid.corner_m[axis], self.grid.voxel_m
        end = low + size * self.grid.shape[axis]
        if not low <= at_m < end:
            raise CommandError(
                f"a slice at {'xyz'[axis]} = {at_m / MM:g} mm was asked for; allowed: {low / MM:g} to {end / MM:g}",
                value=at_m,
                allowed=f"{low / MM:g} to {end / MM:g} mm",
            )
        index = min(int((at_m - low) / size), self.grid.shape[axis] - 1)
        layer: ByteArray = np.take(self.cells, index, axis=axis)
        return layer


def is_coarse(nearness_m: float, voxel_m: float) -> bool:
    """Whether a sweep is too coarse for anything to be said of volume, voids and holes.

    Args:
        nearness_m: how far a place within reach is from the nearest point at most, from `sweeps.nearness_m`.
        voxel_m: edge of a voxel.
    """
    return nearness_m > COARSE_VOXELS * voxel_m


def reach_map(cloud: Cloud, voxel_m: float, on_progress: Progress | None = None) -> ReachMap:
    """Reached voxels of a cloud, its volume, voids and holes; goes through the cloud twice.

    The points have to lie as densely as the voxels: see `sweeps_for_voxel` and `nearness_m`.

    Args:
        cloud: of the tool point.
        voxel_m: edge of a voxel.
        on_progress: is told how many points were taken, up to twice those of the cloud.

    Raises:
        CommandError: a voxel that is not positive, or too small.
    """
    bounds = cloud.bounds(on_progress)
    grid = grid_around(bounds, voxel_m)
    second = None if on_progress is None else lambda done: on_progress(cloud.points + done)
    return map_of(grid, reached_by(cloud, grid, second), bounds)


def map_of(grid: Grid, reached: BoolArray, bounds: Bounds | None = None) -> ReachMap:
    """Volume, voids and holes of reached voxels.

    Args:
        grid: where they are; its outermost layer has to be empty, as `grid_around` leaves it.
        reached: shape of the grid.
        bounds: of the points that were tried, where they are known better than by voxel.

    Raises:
        CommandError: nothing is reached, or the outermost layer is not empty.
    """
    inner = reached[1:-1, 1:-1, 1:-1]
    number, inside = int(np.count_nonzero(reached)), int(np.count_nonzero(inner))
    if number == 0 or number != inside:
        what = "nothing is within reach in this grid" if number == 0 else "what is reached goes beyond the grid"
        raise CommandError(f"{what}; allowed: a grid with the reach inside and an empty layer around it", value=number)
    closed = _closed(reached)
    solid, empty = parts_of(closed, corners=True), parts_of(~closed, corners=False)
    labels = empty.labels()
    voids = _voids(empty, labels, grid)
    euler, _ = _euler_and_exposed(closed)
    _, faces = _euler_and_exposed(reached)
    volume = grid.voxel_m**3
    flat = bounds is not None and min(h - w for w, h in zip(bounds.lower_m, bounds.upper_m, strict=True)) < FLAT_M
    cells = reached.astype(np.uint8)
    cells[_spread(labels > OUTER + 1) & ~reached & (labels != OUTER + 1)] = VOID
    summary = ReachVolume(
        voxel_m=grid.voxel_m,
        bounds=bounds or _bounds(grid, reached),
        volume_m3=0.0 if flat else (number - faces / 2) * volume,
        touched_m3=number * volume,
        # The two faces of the single layer are no edge of the area.
        area_m2=(number - (faces - 2 * number) / 2) * grid.voxel_m**2 if flat else None,
        pieces=solid.number,
        voids=voids,
        holes=solid.number + len(voids) - euler,
    )
    return ReachMap(grid, cells, summary)


def _closed(reached: BoolArray) -> BoolArray:
    """Without gaps narrower than two voxels: widened by a voxel all around, then narrowed again."""
    padded = np.pad(reached, 1)
    widened = _spread(padded)
    narrowed: BoolArray = ~_spread(~widened)[1:-1, 1:-1, 1:-1]
    return narrowed


def _spread(mask: BoolArray) -> BoolArray:
    """With all 26 neighbours of what is set."""
    for axis in range(3):
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        wider = mask.copy()
        wider[tuple(low)] |= mask[tuple(high)]
        wider[tuple(high)] |= mask[tuple(low)]
        mask = wider
    return mask


def _voids(empty: Parts, labels: LabelArray, grid: Grid) -> tuple[Void, ...]:
    sizes, (low, high) = empty.sizes(), empty.boxes()
    voids = []
    for part in range(OUTER + 1, empty.number):
        a, b = low[part].tolist(), high[part].tolist()
        box = tuple(slice(i, j + 1) for i, j in zip(a, b, strict=True))
        _, faces = _euler_and_exposed(np.pad(labels[box] == part + 1, 1))
        voids.append(
            Void(
                # The surface crosses voxels that count as reached: half of them is the void's.
                volume_m3=(float(sizes[part]) + faces / 2) * grid.voxel_m**3,
                lower_m=_corner(grid, a, 0),
                upper_m=_corner(grid, b, 1),
            )
        )
    return tuple(sorted(voids, key=lambda void: -void.volume_m3))


def _corner(grid: Grid, index: list[int], beyond: int) -> tuple[float, float, float]:
    x, y, z = (c + grid.voxel_m * (i + beyond) for c, i in zip(grid.corner_m, index, strict=True))
    return x, y, z


def _bounds(grid: Grid, reached: BoolArray) -> Bounds:
    """Of the reached voxels' centres."""
    ends = []
    for axis in range(3):
        others = tuple(other for other in range(3) if other != axis)
        ends.append(grid.centres_m(axis)[np.flatnonzero(reached.any(axis=others))[[0, -1]]].tolist())
    (x0, x1), (y0, y1), (z0, z1) = ends
    return Bounds(lower_m=(x0, y0, z0), upper_m=(x1, y1, z1))


def _euler_and_exposed(reached: BoolArray) -> tuple[int, int]:
    """Corners - edges + faces - cubes of the closed voxels, and the number of faces with nothing on the other side.

    The first is pieces - holes + voids (Euler and Poincare).
    """
    counts = [0, 0, 0, 0]
    for directions in range(8):
        cells = reached
        for axis in range(3):
            if directions >> axis & 1:
                # What lies between two neighbours belongs to the solid if one of them does.
                low, high = [slice(None)] * 3, [slice(None)] * 3
                low[axis], high[axis] = slice(None, -1), slice(1, None)
                cells = cells[tuple(low)] | cells[tuple(high)]
        counts[directions.bit_count()] += int(np.count_nonzero(cells))
    cubes, faces, edges, corners = counts
    return corners - edges + faces - cubes, 2 * faces - 6 * cubes
