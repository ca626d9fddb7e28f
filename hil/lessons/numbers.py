"""Numbers that people type: plain ones, or formulas such as ``250/2`` or ``atan(0.25/0.16)/deg``."""

from __future__ import annotations

import re

from hil.errors import CommandError
from hil.formula.errors import FormulaError, OutsideDomainError
from hil.model.robot import JointType
from hil.units import DEG, MM

_PLAIN = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?\s*", re.ASCII)


def typed_number(text: str, what: str, lower: float, upper: float) -> float:
    """The number that a text means.

    Args:
        text: as it was typed.
        what: the field's name, for messages.
        lower: least value that makes sense, in the field's unit.
        upper: the greatest.

    Raises:
        CommandError: it is no formula, has no value, or the value is outside; a sentence that says where.
    """
    if not text.strip():
        raise CommandError(f"{what}: nothing is typed; allowed: a number or a formula", value=text)
    try:
        value = float(text) if _PLAIN.fullmatch(text) else _worked_out(text, what)
    except FormulaError as error:
        raise CommandError(f"{what}, column {error.column}: {error.sentence}", value=text) from None
    except OutsideDomainError as error:
        raise CommandError(f"{what}, column {error.column}: {error.detail} has no value", value=text) from None
    if not lower <= value <= upper:
        raise CommandError(
            f"{what}: {value:g} given; allowed: {lower:g} to {upper:g}", value=value, allowed=f"{lower:g} to {upper:g}"
        )
    return value


def _worked_out(text: str, what: str) -> float:
    # Imported here: most numbers are plain, and whoever reads those is ready the sooner without the grammar.
    from hil.formula.formula import read_formula

    return float(read_formula(text, what=what).value())


def shown(value: float) -> str:
    """A number as a field shows it: short, and read back to the same one."""
    text = f"{value:.10g}"
    return text if float(text) == value else repr(value)


def unit_of_type(kind: JointType) -> tuple[float, str]:
    """Radians or metres in a unit of people, and its name."""
    return (DEG, "deg") if kind is JointType.REVOLUTE else (MM, "mm")
