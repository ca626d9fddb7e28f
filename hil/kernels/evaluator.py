"""One quantity of one arm without a compiler: single calls in straight-line Python, many in numpy blocks."""

from __future__ import annotations

import math
from struct import Struct

import numpy as np

from hil.kernels.emit_numpy import InBlocks
from hil.kernels.emit_python import python_function
from hil.kernels.routine import Routine
from hil.kernels.scalar import FloatArray


class Evaluator:
    """A routine with one result array.

    Attributes:
        shape: of the result.
    """

    def __init__(self, routine: Routine) -> None:
        (result,) = routine.results
        self.shape = result.shape
        self._routine = routine
        self._values = python_function(routine, flat=True)
        self._blocks: InBlocks | None = None
        # Packing a tuple into the array's memory takes a third of the time of an assignment.
        self._pack_into = Struct(f"{math.prod(result.shape)}d").pack_into

    def one(self, out: FloatArray | None, *arguments: list[float]) -> FloatArray:
        """The result for one set of finite arguments, in `out` (float64, of the right shape) if given."""
        values = self._values(*arguments)
        if out is not None and not out.flags.c_contiguous:
            out[...] = np.array(values).reshape(self.shape)
            return out
        array = np.empty(self.shape) if out is None else out
        self._pack_into(array.data, 0, *values)
        return array

    def many(self, out: FloatArray | None, *arguments: FloatArray) -> FloatArray:
        """The results for N sets of finite arguments of shape (N, n), in `out` (of the right shape) if given."""
        if self._blocks is None:
            self._blocks = InBlocks(self._routine)
        result = np.empty((len(arguments[0]), *self.shape)) if out is None or not out.flags.c_contiguous else out
        self._blocks.many_into(result, *arguments)
        if out is None or out is result:
            return result
        out[...] = result
        return out
