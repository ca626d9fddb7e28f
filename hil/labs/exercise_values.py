"""Numbers of an exercise that may be formulas of what is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from hil.formula.formula import read_formula

Value = float | Annotated[str, Meta(min_length=1, max_length=500)]
Xyz = tuple[Value, Value, Value]


def worked_out(value: float | str, case: Mapping[str, float]) -> float:
    """A number, or the value of a formula for one case.

    Raises:
        HilError: the formula has no finite value there.
    """
    return read_formula(value, list(case)).value(**case) if isinstance(value, str) else float(value)


def all_worked_out(values: Sequence[float | str], case: Mapping[str, float]) -> list[float]:
    """Several."""
    return [worked_out(value, case) for value in values]
