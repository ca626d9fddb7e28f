"""The functions that a formula may call, over any scalar, and what they take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from hil.kernels.scalar import Functions, Scalar

CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e, "deg": math.pi / 180.0}
"""Known to every formula that does not declare the name itself; ``30*deg`` is an angle of 30 degrees."""

OTHER_NAMES: Mapping[str, str] = {
    "ln": "log",
    "lg": "log10",
    "tg": "tan",
    "tgh": "tanh",
    "sen": "sin",
    "root": "sqrt",
    "raiz": "sqrt",
    "pow": "^",
    "power": "^",
    "mod": "u - n*floor(u/n)",
    "sgn": "sign",
    "fabs": "abs",
    "ceiling": "ceil",
    "where": "if",
    "piecewise": "if",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctg": "atan",
    "radians": "deg",
    "exp10": "10^",
    "π": "pi",
    "cot": "1/tan",
    "sec": "1/cos",
    "csc": "1/sin",
}
"""What other programs, books and languages call it, and how it is written here."""


class Function(NamedTuple):
    """One function.

    Attributes:
        least: arguments at least.
        most: arguments at most; None for any number.
        over: gives the value over any scalar.
        takes: what it takes, in words; empty if everything.
        accepts: whether floats are inside the domain.
    """

    least: int
    most: int | None
    over: Callable[..., Scalar]
    takes: str = ""
    accepts: Callable[..., bool] | None = None

    @property
    def arguments(self) -> str:
        """How many, in words."""
        if self.most is None:
            return f"{self.least} or more arguments"
        return "1 argument" if self.most == 1 else f"{self.most} arguments"


def _tan(f: Functions, x: Scalar) -> Scalar:
    return f.sin(x) / f.cos(x)


def _asin(f: Functions, x: Scalar) -> Scalar:
    return f.atan2(x, f.sqrt((1.0 - x) * (1.0 + x)))


def _acos(f: Functions, x: Scalar) -> Scalar:
    return f.atan2(f.sqrt((1.0 - x) * (1.0 + x)), x)


def _largest(f: Functions, *values: Scalar) -> Scalar:
    found = values[0]
    for value in values[1:]:
        found = f.maximum(found, value)
    return found


def _smallest(f: Functions, *values: Scalar) -> Scalar:
    return -_largest(f, *(-value for value in values))


def sign(f: Functions, x: Scalar) -> Scalar:
    """-1, 0 or 1; what is not a number stays so."""
    return f.where(x, f.where(-x, 0.0, 1.0), f.where(-x, -1.0, x))


def _within_one(x: float) -> bool:
    return -1.0 <= x <= 1.0


FUNCTIONS: Mapping[str, Function] = {
    "sin": Function(1, 1, lambda f, x: f.sin(x)),
    "cos": Function(1, 1, lambda f, x: f.cos(x)),
    "tan": Function(1, 1, _tan),
    "asin": Function(1, 1, _asin, "-1 to 1", _within_one),
    "acos": Function(1, 1, _acos, "-1 to 1", _within_one),
    "atan": Function(1, 1, lambda f, x: f.atan2(x, 1.0)),
    "atan2": Function(2, 2, lambda f, y, x: f.atan2(y, x)),
    "sinh": Function(1, 1, lambda f, x: f.sinh(x)),
    "cosh": Function(1, 1, lambda f, x: f.cosh(x)),
    "tanh": Function(1, 1, lambda f, x: f.tanh(x)),
    "sqrt": Function(1, 1, lambda f, x: f.sqrt(x), "0 or more", lambda x: x >= 0.0),
    "exp": Function(1, 1, lambda f, x: f.exp(x)),
    "log": Function(1, 1, lambda f, x: f.log(x), "more than 0", lambda x: x > 0.0),
    "log10": Function(1, 1, lambda f, x: f.log(x) / math.log(10.0), "more than 0", lambda x: x > 0.0),
    "abs": Function(1, 1, lambda f, x: f.maximum(x, -x)),
    "sign": Function(1, 1, sign),
    "floor": Function(1, 1, lambda f, x: f.floor(x)),
    "ceil": Function(1, 1, lambda f, x: -f.floor(-x)),
    "hypot": Function(2, 2, lambda f, x, y: f.sqrt(x * x + y * y)),
    "min": Function(2, None, _smallest),
    "max": Function(2, None, _largest),
}
"""By name. A choice is written ``if(condition, value, otherwise)`` and is no function: only one of its sides counts."""

NAMES = (*FUNCTIONS, "if")
