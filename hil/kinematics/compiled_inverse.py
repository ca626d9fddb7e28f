"""All inverse solutions in machine code: one pose into an array, many poses branch by branch."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hil.kernels.build import build
from hil.kernels.closed_form import ClosedForm
from hil.kernels.emit_inverse import inverse_source
from hil.kernels.emit_numba import OK
from hil.kernels.scalar import FloatArray
from hil.kinematics.certified import ACCEPTED_ERROR, EXACT_ERROR, SAME_RAD, AllSolutions

WORTH_A_THREAD = 5_000
"""Poses per thread below which starting it costs more than it saves."""


def compiled_inverse_source(form: ClosedForm) -> str:
    """What is compiled for the closed form of one arm."""
    return inverse_source(form, exact=EXACT_ERROR, accepted=ACCEPTED_ERROR, same=SAME_RAD)


class CompiledInverse:
    """The closed form of one arm, compiled. Open joints go to zero, as in `Robot.inverse_kinematics_all`."""

    def __init__(self, form: ClosedForm) -> None:
        """Compile, or load from the cache.

        Raises:
            MissingExtraError: Numba is not installed.
        """
        module = build(compiled_inverse_source(form))
        self._one: Callable[..., int] = module.solutions
        self._many: Callable[..., int] = module.solutions_many
        self._shape = (len(form.branches), len(form.chain.rows))
        self._rest = np.zeros(len(form.chain.rows))

    def one(self, pose: object) -> FloatArray | None:
        """Solutions in the order of the branches, shape (k, n); None where the pose needs a careful look first."""
        out = np.empty(self._shape)
        try:
            count = self._one(pose, self._rest, out)
        except TypeError:
            return None
        return out[:count] if count >= 0 else None

    def many(self, poses: FloatArray, threads: int | None = None) -> AllSolutions | None:
        """Every branch of poses of shape (N, 4, 4); None where some pose needs a careful look first.

        Args:
            poses: float64, C-ordered.
            threads: how many; by default as many as processors, as far as the work is worth them.
        """
        q = np.empty((len(poses), *self._shape))
        valid = np.empty((len(poses), self._shape[0]), dtype=np.bool_)
        workers = min(threads or os.cpu_count() or 1, max(1, len(poses) // WORTH_A_THREAD))
        edges = [len(poses) * i // workers for i in range(workers + 1)]

        def work(i: int) -> int:
            rows = slice(edges[i], edges[i + 1])
            return self._many(poses[rows], self._rest, q[rows], valid[rows])

        if workers == 1:
            return AllSolutions(q, valid) if work(0) == OK else None
        with ThreadPoolExecutor(workers) as pool:
            fine = all(status == OK for status in pool.map(work, range(workers)))
        return AllSolutions(q, valid) if fine else None
