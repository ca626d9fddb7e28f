"""Curves of formulas: one curve out of a family on a surface, in space, placed where it is wanted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

import numpy as np
from msgspec import Meta

from hil.errors import CommandError
from hil.formula.compiled import CompiledFormulas
from hil.formula.errors import OutsideDomainError
from hil.formula.formula import Formula
from hil.kernels.scalar import FloatArray
from hil.paths.curve import Curve
from hil.types import Record
from hil.units import DEG, MM

SLACK = 1e-9
"""A parameter may be so far outside its domain, as a part of it: what a person adds up rounds."""

CLOSED_M = 1e-6
"""A curve whose ends are no farther apart is closed."""

FARTHEST_M = 1e6
"""A coordinate beyond this is no place for an arm, and what is worked out from it may have no number any more."""

STEEPEST_M = 1e60
"""A slope beyond this, per unit of the parameter, neither: lengths and normals square it twice."""

LEAST_NORMAL_M2 = 1e-18
"""Below this product of the two slopes, per unit of both parameters, a surface has no normal."""


class Placement(Record, frozen=True):
    """Where a curve is put: scaled about its own origin, then turned about it, then shifted.

    Attributes:
        shift_mm: at last.
        turn_deg: about the fixed axes X, then Y, then Z.
        scale: first.
    """

    shift_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)
    turn_deg: tuple[float, float, float] = (0.0, 0.0, 0.0)
    scale: Annotated[float, Meta(gt=0)] = 1.0

    @property
    def rotation(self) -> FloatArray:
        """Shape (3, 3)."""
        (ca, cb, cc), (sa, sb, sc) = ([f(angle * DEG) for angle in self.turn_deg] for f in (math.cos, math.sin))
        about_x = np.array([[1.0, 0.0, 0.0], [0.0, ca, -sa], [0.0, sa, ca]])
        about_y = np.array([[cb, 0.0, sb], [0.0, 1.0, 0.0], [-sb, 0.0, cb]])
        about_z = np.array([[cc, -sc, 0.0], [sc, cc, 0.0], [0.0, 0.0, 1.0]])
        turned: FloatArray = about_z @ about_y @ about_x
        return turned


class FormulaCurve:
    """A curve of three formulas: one parameter runs, the others stand still.

    Args:
        coordinates: x, y and z, which declare the same variables.
        unit_m: metres of 1.
        along: the variable that runs.
        domain: of that variable, in its declared unit.
        still: values of the others, in their declared units.
    """

    def __init__(
        self,
        coordinates: tuple[Formula, Formula, Formula],
        unit_m: float,
        along: str,
        domain: tuple[float, float],
        still: Mapping[str, float],
    ) -> None:
        self._compiled, self._coordinates = CompiledFormulas(coordinates), coordinates
        self._unit_m, self._along, self._domain, self._still = unit_m, along, domain, dict(still)

    @property
    def domain(self) -> tuple[float, float]:
        """Where the parameter starts and ends."""
        return self._domain

    def points_m(self, parameter: FloatArray) -> FloatArray:
        """Points.

        Raises:
            CommandError: a parameter outside the domain.
            OutsideDomainError: a formula has no finite value at one of them, or one that is too far away.
        """
        columns = self._columns(parameter)
        found = self._compiled.values(columns)
        self._refuse_beyond(FARTHEST_M, "", found, columns)
        return self._unit_m * found

    def derivatives_m(self, parameter: FloatArray) -> FloatArray:
        """Exact derivatives.

        Raises:
            CommandError: a parameter outside the domain.
            OutsideDomainError: a formula has no finite value or slope at one of them.
        """
        return self._slopes(self._columns(parameter), self._along)

    def normals(self, parameter: FloatArray) -> FloatArray | None:
        """Unit normals of the surface of both parameters, by the right hand from the one that runs; None for one alone.

        Raises:
            CommandError: a parameter outside the domain, or a place where the surface has no normal, such as a pole.
            OutsideDomainError: a formula has no finite value or slope at one of them.
        """
        others = list(self._still)
        if len(others) != 1:
            return None
        columns = self._columns(parameter)
        along, across = (self._slopes(columns, name) for name in (self._along, others[0]))
        product = np.cross(along, across)
        size = np.linalg.norm(product, axis=1)
        if size.size and size.min() < LEAST_NORMAL_M2:
            sample = int(np.argmin(size))
            at = float(parameter[sample])
            raise CommandError(
                f"the surface has no normal at {self._along} = {at:.6g}: it comes to a point or an edge there", value=at
            )
        units: FloatArray = product / size[:, None]
        return units

    def _slopes(self, columns: Mapping[str, FloatArray], by: str) -> FloatArray:
        found = self._compiled.slopes(columns, by)
        self._refuse_beyond(STEEPEST_M, f"a slope along {by} of ", found, columns)
        return self._unit_m * found

    def _refuse_beyond(self, most_m: float, what: str, found: FloatArray, columns: Mapping[str, FloatArray]) -> None:
        far = np.abs(found) > most_m / self._unit_m
        if not far.any():
            return
        sample, which = (int(index[0]) for index in np.nonzero(far))
        formula = self._coordinates[which]
        raise OutsideDomainError(
            formula.text,
            1,
            f"{what}{self._unit_m * found[sample, which]:.6g} m",
            {name: float(column[sample]) for name, column in columns.items()},
            sample=sample,
            what=formula.what,
            allowed=f"up to {most_m:g} m",
            units={variable.name: variable.unit.value for variable in formula.variables},
        )

    def _columns(self, parameter: FloatArray) -> dict[str, FloatArray]:
        runs = within(parameter, self._domain, self._along)
        return {self._along: runs, **{name: np.full(len(runs), value) for name, value in self._still.items()}}


class PlacedCurve:
    """Another curve, scaled, turned and shifted.

    Attributes:
        placement: how.
    """

    def __init__(self, curve: Curve, placement: Placement) -> None:
        self.placement, self._curve, self._scale = placement, curve, placement.scale
        self._rotation = placement.rotation
        self._shift_m = MM * np.array(placement.shift_mm)

    @property
    def domain(self) -> tuple[float, float]:
        """That of the curve."""
        return self._curve.domain

    def points_m(self, parameter: FloatArray) -> FloatArray:
        """Points."""
        return self._scale * self._curve.points_m(parameter) @ self._rotation.T + self._shift_m

    def derivatives_m(self, parameter: FloatArray) -> FloatArray:
        """Derivatives."""
        return self._scale * self._curve.derivatives_m(parameter) @ self._rotation.T

    def normals(self, parameter: FloatArray) -> FloatArray | None:
        """Normals of the surface, turned with it."""
        found = self._curve.normals(parameter)
        return None if found is None else found @ self._rotation.T


def within(parameter: FloatArray, domain: tuple[float, float], name: str = "the parameter") -> FloatArray:
    """`parameter`, with what is outside by rounding put on the end.

    Raises:
        CommandError: not finite, or farther outside.
    """
    low, high = sorted(domain)
    values = np.asarray(parameter, dtype=np.float64)
    slack = SLACK * max(high - low, abs(low), abs(high))
    bad = ~((values >= low - slack) & (values <= high + slack))
    if bad.any():
        sample = int(np.argmax(bad))
        raise CommandError(
            f"{name} of sample {sample} is {float(values[sample]):.6g}; allowed: {domain[0]:.6g} to {domain[1]:.6g}",
            value=float(values[sample]),
            allowed=f"{domain[0]:.6g} to {domain[1]:.6g}",
        )
    return np.clip(values, low, high)


def parameters_of(curve: Curve, count: int) -> FloatArray:
    """`count` parameters at equal steps, both ends included."""
    return np.linspace(*curve.domain, count)


def even_parameters_of(curve: Curve, count: int) -> FloatArray:
    """`count` parameters at equal lengths of the curve, both ends included; for constant speed within a thousandth.

    Raises:
        CommandError: the curve has no length.
    """
    pieces = 64 * count
    grid = np.linspace(*curve.domain, min(max(pieces, 4096), 200_000) + 1)
    steps = np.linalg.norm(np.diff(curve.points_m(grid), axis=0), axis=1)
    lengths = np.concatenate([[0.0], np.cumsum(steps)])
    if not lengths[-1] > 0.0:
        raise CommandError("the curve is a single point: it has no length", value=0.0)
    return np.interp(np.linspace(0.0, lengths[-1], count), lengths, grid)


def closure_gap_m(curve: Curve) -> float:
    """Distance of the curve's end from its start; `CLOSED_M` or less for a closed one."""
    first, last = curve.points_m(np.array(curve.domain))
    return float(np.linalg.norm(last - first))


def length_m(points_m: FloatArray) -> float:
    """Length of the line through points, shape (N, 3)."""
    return float(np.linalg.norm(np.diff(points_m, axis=0), axis=1).sum())
