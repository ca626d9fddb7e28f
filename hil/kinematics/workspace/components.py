"""Connected parts of a voxel grid, by runs of voxels along the last axis; numpy only.

SciPy has the same as `ndimage.label`, but it is installed only with an extra, and runs are far fewer than voxels.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.intp]
LabelArray: TypeAlias = npt.NDArray[np.int32]


class Parts(NamedTuple):
    """Connected parts of a grid, in the order of their first voxels.

    Attributes:
        number: how many.
        part: of each run, shape (r,).
        row, start, stop: of each run: index of its line of voxels, first voxel in it, one past its last.
        shape: of the grid.
    """

    number: int
    part: IntArray
    row: IntArray
    start: IntArray
    stop: IntArray
    shape: tuple[int, int, int]

    def sizes(self) -> IntArray:
        """Voxels of each part, shape (number,)."""
        return np.bincount(self.part, weights=self.stop - self.start, minlength=self.number).astype(np.intp)

    def boxes(self) -> tuple[IntArray, IntArray]:
        """First and last voxel index of each part along the three axes, each of shape (number, 3)."""
        low = np.full((self.number, 3), max(self.shape), dtype=np.intp)
        high = np.zeros((self.number, 3), dtype=np.intp)
        i, j = np.divmod(self.row, self.shape[1])
        for axis, (first, last) in enumerate(((i, i), (j, j), (self.start, self.stop - 1))):
            np.minimum.at(low[:, axis], self.part, first)
            np.maximum.at(high[:, axis], self.part, last)
        return low, high

    def labels(self) -> LabelArray:
        """Of each voxel, 0 where it belongs to no part, else the part's index plus one; shape of the grid."""
        size = self.shape[2]
        change = np.zeros(self.shape[0] * self.shape[1] * (size + 1), dtype=np.int32)
        line = self.row * (size + 1)
        change[line + self.start] += self.part.astype(np.int32) + 1
        change[line + self.stop] -= self.part.astype(np.int32) + 1
        labels = np.cumsum(change, dtype=np.int32).reshape(*self.shape[:2], size + 1)
        return np.ascontiguousarray(labels[:, :, :size])


def parts_of(mask: BoolArray, *, corners: bool) -> Parts:
    """The connected parts of a grid's true voxels.

    Args:
        mask: shape (nx, ny, nz).
        corners: voxels that share only an edge or a corner count as connected (26 neighbours instead of 6).
    """
    nx, ny, nz = shape = mask.shape
    padded = np.zeros((nx * ny, nz + 2), dtype=np.int8)
    padded[:, 1:-1] = mask.reshape(nx * ny, nz)
    change = np.diff(padded, axis=1)
    row, start = np.nonzero(change == 1)
    stop = np.nonzero(change == -1)[1]
    pairs = [
        _touching(row, start, stop, shape, step, int(corners))
        for step in ([(0, 1), (1, -1), (1, 0), (1, 1)] if corners else [(0, 1), (1, 0)])
    ]
    root = _joined(len(row), np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs]))
    roots, part = np.unique(root, return_inverse=True)
    return Parts(len(roots), part.astype(np.intp), row, start, stop, (nx, ny, nz))


def _touching(
    row: IntArray, start: IntArray, stop: IntArray, shape: tuple[int, ...], step: tuple[int, int], slack: int
) -> tuple[IntArray, IntArray]:
    """Pairs of runs that touch, the second one in the line `step` away from the first one's."""
    ny, nz = shape[1], shape[2]
    line = nz + 3  # More than a run and its slack can reach, so that lines do not mix.
    starts, stops = row * line + start, row * line + stop
    away = (step[0] * ny + step[1]) * line
    neighbour = row % ny + step[1]
    runs = np.flatnonzero((neighbour >= 0) & (neighbour < ny))
    first = np.searchsorted(stops, starts[runs] + away - slack, side="right")
    after = np.searchsorted(starts, stops[runs] + away + slack, side="left")
    number = np.maximum(after - first, 0)
    a = np.repeat(runs, number)
    within = np.arange(len(a)) - np.repeat(np.cumsum(number) - number, number)
    return a, np.repeat(first, number) + within


def _joined(number: int, a: IntArray, b: IntArray) -> IntArray:
    """For each of `number` things the first one of its group, given pairs that belong together."""
    root = np.arange(number)
    while len(a):
        low = np.minimum(root[a], root[b])
        np.minimum.at(root, root[a], low)
        np.minimum.at(root, root[b], low)
        while not np.array_equal(root, root[root]):
            root = root[root]
        apart = root[a] != root[b]
        a, b = a[apart], b[apart]
    return root
