"""Random formulas of three inputs: built once, evaluated over any scalar."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from hil.kernels.routine import Argument, Routine, draft
from hil.kernels.scalar import FLOATS, Functions, Scalar

INPUTS = 3
Formula = tuple[Any, ...]
"""A tree: (kind, formulas...) or ("input", i) or ("constant", number)."""

_CONSTANTS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, math.pi / 2, -math.pi / 2, math.pi, -3 * math.pi / 2]),
    st.floats(-3.0, 3.0, allow_subnormal=False),
)
_LEAVES = st.one_of(st.tuples(st.just("input"), st.integers(0, INPUTS - 1)), st.tuples(st.just("constant"), _CONSTANTS))


def _branches(formulas: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    one = st.tuples(
        st.sampled_from(["negate", "sin", "cos", "sqrt", "exp", "log", "floor", "sinh", "cosh", "tanh"]), formulas
    )
    two = st.tuples(st.sampled_from(["+", "-", "*", "/", "atan2", "maximum", "power"]), formulas, formulas)
    three = st.tuples(st.just("where"), formulas, formulas, formulas)
    return st.one_of(one, two, two, three)


FORMULAS: st.SearchStrategy[Formula] = st.recursive(_LEAVES, _branches, max_leaves=14)
VALUES = st.lists(st.floats(-3.0, 3.0, allow_subnormal=False), min_size=INPUTS, max_size=INPUTS)


class Seen:
    """What the evaluation on floats came across.

    Attributes:
        margin: the least distance to a place where a function jumps or is steep.
        largest: the largest number on the way.
    """

    def __init__(self) -> None:
        self.margin, self.largest = math.inf, 1.0

    def near(self, distance: float) -> None:
        self.margin = min(self.margin, abs(distance))


def value_of(formula: Formula, given: Sequence[Scalar], functions: Functions, seen: Seen | None = None) -> Scalar:
    """`formula` over any scalar; no divisor and no root is of less than what is safe."""
    kind, *rest = formula
    if kind == "input":
        return given[rest[0]]
    if kind == "constant":
        return rest[0]
    operands = [value_of(each, given, functions, seen) for each in rest]
    if seen is not None:
        _notice(kind, operands, seen)
    value = _OPERATIONS[kind](functions, *operands)
    if seen is not None:
        seen.largest = max(seen.largest, abs(value))
    return value


_OPERATIONS: dict[str, Callable[..., Scalar]] = {
    "+": lambda f, a, b: a + b,
    "-": lambda f, a, b: a - b,
    "*": lambda f, a, b: a * b,
    "/": lambda f, a, b: a / f.maximum(b, 0.5),
    "negate": lambda f, a: -a,
    "sin": lambda f, a: f.sin(a),
    "cos": lambda f, a: f.cos(a),
    "sqrt": lambda f, a: f.sqrt(f.maximum(a, 0.25)),
    "atan2": lambda f, a, b: f.atan2(a, b),
    "maximum": lambda f, a, b: f.maximum(a, b),
    "where": lambda f, a, b, c: f.where(a, b, c),
    "exp": lambda f, a: f.exp(3.0 * f.sin(a)),
    "log": lambda f, a: f.log(f.maximum(a, 0.5)),
    "floor": lambda f, a: f.floor(a),
    "sinh": lambda f, a: f.sinh(3.0 * f.sin(a)),
    "cosh": lambda f, a: f.cosh(3.0 * f.sin(a)),
    "tanh": lambda f, a: f.tanh(a),
    "power": lambda f, a, b: f.power(f.maximum(a, 0.5), 2.0 * f.cos(b)),
}


def _notice(kind: str, operands: list[float], seen: Seen) -> None:
    if kind == "where":
        seen.near(operands[0])
    elif kind == "floor":
        seen.near(operands[0] - round(operands[0]))
    elif kind == "atan2":
        seen.near(math.hypot(*operands))
        if operands[1] <= 0.0:
            seen.near(operands[0])


def routine_of(formulas: Sequence[Formula], name: str = "formulas") -> Routine:
    """A routine with one result for all `formulas`."""

    def body(x: Sequence[Scalar], functions: Functions) -> dict[str, Any]:
        return {"y": ((len(formulas),), [value_of(each, x, functions) for each in formulas], "values of the formulas")}

    return draft(name, "Formulas.", [Argument("x", INPUTS, "inputs")], body)


def on_floats(formula: Formula, given: Sequence[float]) -> tuple[float, Seen]:
    """The value, and what was seen on the way."""
    seen = Seen()
    return value_of(formula, given, FLOATS, seen), seen
