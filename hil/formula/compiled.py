"""Formulas of the same variables, worked out together over many samples, with their exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hil.errors import CommandError
from hil.formula.errors import OutsideDomainError
from hil.formula.formula import Formula
from hil.kernels.differentiate import derivatives
from hil.kernels.emit_numpy import InBlocks
from hil.kernels.routine import Argument, Routine, draft
from hil.kernels.scalar import FloatArray, Functions, Scalar

MOST_SAMPLES = 10_000_000


class CompiledFormulas:
    """Several formulas as one piece of straight-line code.

    Args:
        formulas: they declare the same variables, in the same order.
    """

    def __init__(self, formulas: Sequence[Formula]) -> None:
        self._formulas = tuple(formulas)
        self.variables = formulas[0].variables
        if any(formula.variables != self.variables for formula in formulas):
            raise ValueError("formulas that are compiled together declare the same variables")
        self._names = [variable.name for variable in self.variables]
        self._values = InBlocks(self._drafted("", strict=True))
        self._slopes: dict[str, InBlocks] = {}

    def routine(self, by: str = "") -> Routine:
        """The equations for any emitter: one argument ``x`` of all variables, one result ``y`` of all formulas.

        Args:
            by: a variable; the result is then their derivatives by it, per its declared unit.
        """
        return self._drafted(by, strict=False)

    def _drafted(self, by: str, strict: bool) -> Routine:
        def body(x: Sequence[Scalar], functions: Functions) -> dict[str, Any]:
            given = dict(zip(self._names, x, strict=False))
            values = [formula.over(given, functions, strict=strict) for formula in self._formulas]
            if by:
                graph = x[0].graph
                values = list(derivatives([graph.expression(value) for value in values], given[by]))
            return {"y": ((len(values),), values, "values of the formulas")}

        # Numba and C take the names of arguments as they are; those of people could be anything.
        return draft("formulas", "Formulas.", [Argument("x", max(len(self._names), 1), "variables")], body)

    def values(self, columns: Mapping[str, FloatArray]) -> FloatArray:
        """Values at N samples, shape (N, number of formulas).

        Args:
            columns: of each variable the values, shape (N,), in its declared unit.

        Raises:
            CommandError: a variable is missing, not finite, or of another length.
            OutsideDomainError: the first sample without a finite value, and the operation that has none there.
        """
        table = self._table(columns)
        found = _quietly(self._values, table)
        self._check(found, table)
        return found

    def slopes(self, columns: Mapping[str, FloatArray], by: str) -> FloatArray:
        """Derivatives at N samples by one variable, per its declared unit, shape (N, number of formulas).

        Raises:
            CommandError: as `values`.
            OutsideDomainError: the first sample without a finite value or derivative.
        """
        table = self._table(columns)
        if by not in self._slopes:
            self._slopes[by] = InBlocks(self.routine(by))
        found = _quietly(self._slopes[by], table)
        if not np.isfinite(found).all():
            self._check(_quietly(self._values, table), table)
            sample, which = (int(index[0]) for index in np.nonzero(~np.isfinite(found)))
            raise self._steep(self._formulas[which], by, table, sample)
        return found

    def _table(self, columns: Mapping[str, FloatArray]) -> FloatArray:
        try:
            rows = [np.asarray(columns[name], dtype=np.float64) for name in self._names]
        except KeyError as error:
            raise CommandError(f"no values for the variable {error.args[0]}", value=error.args[0]) from None
        if any(row.ndim != 1 or len(row) != len(rows[0]) for row in rows) or (rows and len(rows[0]) > MOST_SAMPLES):
            shapes = ", ".join(str(row.shape) for row in rows)
            raise CommandError(f"variables of shape {shapes}; allowed: (N,) each, N up to {MOST_SAMPLES}", value=shapes)
        for name, row in zip(self._names, rows, strict=True):
            if not np.isfinite(row).all():
                sample = int(np.argmin(np.isfinite(row)))
                raise CommandError(
                    f"{name} of sample {sample} is {float(row[sample])!r}; allowed: a finite number", value=row[sample]
                )
        return np.stack(rows, axis=1)

    def _check(self, found: FloatArray, table: FloatArray) -> None:
        bad = ~np.isfinite(found)
        if not bad.any():
            return
        sample = int(np.argmax(bad.any(axis=1)))
        place = self._place(table, sample)
        for which in np.flatnonzero(bad[sample]):
            self._formulas[which].value_at(place, sample)
        # Straight-line code may overflow where a walk on floats just does not.
        formula = self._formulas[int(np.argmax(bad[sample]))]
        raise OutsideDomainError(formula.text, 1, "too large a number", place, sample=sample, what=formula.what)

    def _steep(self, formula: Formula, by: str, table: FloatArray, sample: int) -> OutsideDomainError:
        place = self._place(table, sample)
        units = {variable.name: variable.unit.value for variable in self.variables}
        detail = f"it has a value there, but no finite slope along {by}"
        advice = f"another {by}, a little beside it"
        return OutsideDomainError(
            formula.text, 1, detail, place, sample=sample, what=formula.what, allowed=advice, units=units
        )

    def _place(self, table: FloatArray, sample: int) -> dict[str, float]:
        return dict(zip(self._names, map(float, table[sample]), strict=True))


def _quietly(blocks: InBlocks, table: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):
        return blocks.many(table)
