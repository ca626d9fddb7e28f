"""The chain's equations run on floats and on numpy arrays as they stand: the plain reference of what is emitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hil.kernels import chain as equations
from hil.kernels.chain import Chain, Column, Frame
from hil.kernels.scalar import ARRAYS, FLOATS

FloatArray: TypeAlias = npt.NDArray[np.float64]

BLOCK = 2048
"""Configurations per block: long enough to hide numpy's call cost, short enough for the cache."""


def matrix(frame: Frame, out: FloatArray | None = None) -> FloatArray:
    """The 4x4 array of one frame of floats, shape (4, 4)."""
    x0, x1, x2, y0, y1, y2, z0, z1, z2, p0, p1, p2 = frame
    rows = ((x0, y0, z0, p0), (x1, y1, z1, p1), (x2, y2, z2, p2), (0.0, 0.0, 0.0, 1.0))
    if out is None:
        return np.array(rows)
    out[:] = rows
    return out


def forward(chain: Chain, q: Sequence[float], out: FloatArray | None = None) -> FloatArray:
    """Tool pose of one configuration, shape (4, 4)."""
    return matrix(equations.forward(chain, q, FLOATS), out)


def forward_many(chain: Chain, q: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Tool poses of N configurations, `q` of shape (N, n); result (N, 4, 4)."""
    poses = np.empty((len(q), 4, 4)) if out is None else out
    _in_blocks(q, lambda block, rows: _store_frame(equations.forward(chain, block, ARRAYS), poses[rows]))
    return poses


def frames_many(chain: Chain, q: FloatArray) -> FloatArray:
    """All link frames of N configurations, shape (N, n + 2, 4, 4)."""
    frames = np.empty((len(q), len(chain.rows) + 2, 4, 4))

    def work(block: FloatArray, rows: slice) -> None:
        for i, frame in enumerate(equations.link_frames(chain, block, ARRAYS)):
            _store_frame(frame, frames[rows, i])

    _in_blocks(q, work)
    return frames


def jacobian(chain: Chain, q: Sequence[float], out: FloatArray | None = None) -> FloatArray:
    """Geometric Jacobian of one configuration, shape (6, n)."""
    columns = equations.forward_and_jacobian(chain, q, FLOATS)[1]
    if out is None:
        return np.array(columns).T.copy()
    out.T[:] = columns
    return out


def jacobian_many(chain: Chain, q: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Geometric Jacobians of N configurations, shape (N, 6, n)."""
    jacobians = np.empty((len(q), 6, len(chain.rows))) if out is None else out

    def work(block: FloatArray, rows: slice) -> None:
        columns: list[Column] = equations.forward_and_jacobian(chain, block, ARRAYS)[1]
        for i, column in enumerate(columns):
            for k, value in enumerate(column):
                jacobians[rows, k, i] = value

    _in_blocks(q, work)
    return jacobians


def _in_blocks(q: FloatArray, work: Callable[[FloatArray, slice], None]) -> None:
    for first in range(0, len(q), BLOCK):
        rows = slice(first, min(first + BLOCK, len(q)))
        work(np.ascontiguousarray(q[rows].T), rows)


def _store_frame(frame: Frame, out: FloatArray) -> None:
    for column in range(4):
        for row in range(3):
            out[:, row, column] = frame[3 * column + row]
    out[:, 3, :3] = 0.0
    out[:, 3, 3] = 1.0
