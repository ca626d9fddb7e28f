"""Compiled routines: one call, and many configurations on as many threads as pay."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from hil.kernels.build import build
from hil.kernels.emit_numba import OK, TILE, numba_source
from hil.kernels.routine import Routine
from hil.kernels.scalar import FloatArray

WORTH_A_THREAD = 100_000
"""Configurations per thread below which starting it costs more than it saves."""


class CompiledRoutine:
    """Machine code of one routine.

    Attributes:
        one: ``one(arguments..., results...) -> status``: float64 vectors in, C-ordered float64 arrays written in place;
            any status but `OK` means that nothing was written (not finite, too large, or a wrong shape). Other types:
            TypeError.
        arguments: how many there are.
        shape: of the first output.
    """

    def __init__(self, routine: Routine) -> None:
        """Compile, or load from the cache.

        Raises:
            MissingExtraError: Numba is not installed.
        """
        module = build(numba_source(routine))
        self.arguments = len(routine.arguments)
        self.shape = routine.outputs[0].shape
        self.one: Callable[..., int] = module.one
        self._many: Callable[..., int] = module.many

    def many(self, *arrays: FloatArray, threads: int | None = None) -> bool:
        """Work on N configurations; arguments, then results, each with N rows.

        Args:
            arrays: float64, C-ordered.
            threads: how many; by default as many as processors, as far as the work is worth them.

        Returns:
            False if something was not finite or of a wrong shape; the results are then not to be used.
        """
        count = len(arrays[0])
        if any(len(array) != count for array in arrays):
            return False
        workers = min(threads or os.cpu_count() or 1, max(1, count // WORTH_A_THREAD))
        if workers == 1:
            return self._many(*arrays) == OK
        # Whole tiles for each, so that the results do not depend on the number of threads.
        edges = [count * i // workers // TILE * TILE for i in range(workers)] + [count]

        def work(i: int) -> int:
            return self._many(*(array[edges[i] : edges[i + 1]] for array in arrays))

        with ThreadPoolExecutor(workers) as pool:
            return all(status == OK for status in pool.map(work, range(workers)))


def direct(compiled: CompiledRoutine, careful: Callable[..., FloatArray]) -> Callable[..., FloatArray]:
    """`careful`, but for one configuration in arrays of floats, which goes straight to machine code.

    Args:
        compiled: a routine of one or three vectors and one output.
        careful: the same quantity for anything, which refuses what is wrong; takes the vectors and `out`.
    """
    one, shape, array, empty = compiled.one, compiled.shape, np.ndarray, np.empty

    def of_one(q: Any, out: Any = None) -> FloatArray:
        if q.__class__ is array:
            result = empty(shape) if out is None else out
            try:
                if one(q, result) == OK:
                    return result
            except TypeError:  # many configurations, or not contiguous floats
                pass
        return careful(q, out)

    def of_three(q: Any, second: Any, third: Any, out: Any = None) -> FloatArray:
        if q.__class__ is array:
            result = empty(shape) if out is None else out
            try:
                if one(q, second, third, result) == OK:
                    return result
            except TypeError:
                pass
        return careful(q, second, third, out)

    return functools.wraps(careful)(of_one if compiled.arguments == 1 else of_three)


def contiguous(values: npt.ArrayLike) -> FloatArray:
    """`values` as the float64, C-ordered array that a kernel takes; no copy where it is one."""
    result: FloatArray = np.ascontiguousarray(values, dtype=np.float64)
    return result
