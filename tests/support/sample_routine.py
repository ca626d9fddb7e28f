"""A routine with a bit of everything, and what it has to give."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hil.kernels.routine import Argument, Routine, draft

Array = npt.NDArray[np.float64]


def several() -> Routine:
    """A vector and a scalar in; a scalar, a matrix and a vector out, unless the first entry is negative."""

    def body(v: Any, x: Any, functions: Any) -> dict[str, tuple[tuple[int, ...], tuple[Any, ...], str]]:
        return {
            "regular": ((), (v[0],), "condition"),
            "length": ((), (functions.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]),), "m"),
            "both": ((2, 3), (*(x * c for c in v), functions.sin(x), functions.cos(x), 1.0), "m"),
            "moved": ((5,), (*(c + x for c in v), x, 0.0), "m"),
        }

    return draft("several", "Some of all.", [Argument("v", 3, "m"), Argument("x", 0, "rad")], body)


def check_several(v: Array, x: Array, length: Array, both: Array, moved: Array) -> None:
    """Arguments and results of N rows."""
    assert np.allclose(length, np.linalg.norm(v, axis=1), rtol=0, atol=2e-15)
    assert np.allclose(both[:, 0], v * x[:, None], rtol=0, atol=2e-15)
    assert np.allclose(both[:, 1], np.column_stack([np.sin(x), np.cos(x), np.ones(len(x))]), rtol=0, atol=2e-15)
    assert np.allclose(moved, np.column_stack([v + x[:, None], x, np.zeros(len(x))]), rtol=0, atol=2e-15)
