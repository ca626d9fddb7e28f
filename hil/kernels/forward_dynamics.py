"""Forward dynamics: joint accelerations from torques, by the factorised mass matrix, over any scalar.

For the PUMA 560 this takes 607 multiplications and additions, status included; articulated bodies on the same
reduced constants took 827.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hil.kernels.bodies import Mechanism
from hil.kernels.constant_fold import minus, plus, smaller, times
from hil.kernels.mass_matrix import LowerTriangle, mass_matrix
from hil.kernels.newton_euler import Gravity, inverse_dynamics
from hil.kernels.scalar import Functions, Scalar

LEAST_PIVOT = 1e-12
"""Inertia below which a joint counts as massless, kg m2 (kg where prismatic): it has no forward dynamics."""


class Accelerations(NamedTuple):
    """What the torques do.

    Attributes:
        qdd: n accelerations; finite even where they have no meaning.
        smallest_pivot: of M; `qdd` has a meaning only where it is above `LEAST_PIVOT`.
    """

    qdd: list[Scalar]
    smallest_pivot: Scalar


class Factors(NamedTuple):
    """M = L' D L, as `factorised` leaves it.

    Attributes:
        lower: L without its diagonal of ones; row i has i entries.
        inverse: 1 / D, from guarded divisions.
        smallest_pivot: of D.
    """

    lower: LowerTriangle
    inverse: list[Scalar]
    smallest_pivot: Scalar


def forward_dynamics(
    mechanism: Mechanism,
    gravity: Gravity,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    functions: Functions,
) -> Accelerations:
    """Accelerations under torques `tau`, friction left out.

    Args:
        mechanism: the arm.
        gravity: acceleration of free fall in the world, m/s2.
        q: n joint coordinates.
        qd: n speeds.
        tau: n torques (forces where prismatic).
        functions: of the scalar type.
    """
    bias = inverse_dynamics(mechanism, gravity, q, qd, [0.0] * len(mechanism.axes), functions)
    factors = factorised(mass_matrix(mechanism, q, functions), functions)
    moving = [minus(torque, needed) for torque, needed in zip(tau, bias, strict=True)]
    return Accelerations(solved(factors, moving), factors.smallest_pivot)


def factorised(matrix: LowerTriangle, functions: Functions) -> Factors:
    """L' D L of a symmetric positive matrix, from the last row up.

    From the tip on, each pivot is the inertia that a joint feels with all joints behind it free, so a massless
    link shows as an exact zero. R. Featherstone, Rigid Body Dynamics Algorithms, section 6.5.
    """
    rows = [list(row) for row in matrix]
    inverse: list[Scalar] = [0.0] * len(rows)
    smallest: Scalar = None
    for k in reversed(range(len(rows))):
        pivot = rows[k][k]
        smallest = pivot if smallest is None else smaller(smallest, pivot, functions)
        inverse[k] = 1.0 / functions.maximum(pivot, LEAST_PIVOT)
        for i in range(k):
            factor = times(rows[k][i], inverse[k])
            for j in range(i + 1):
                rows[i][j] = minus(rows[i][j], times(factor, rows[k][j]))
        # Row k is used as it was by the rows below the diagonal, and only then divided.
        rows[k] = [times(value, inverse[k]) for value in rows[k][:k]]
    return Factors(rows, inverse, smallest)


CORNER = 3
"""Joints at the base whose part of M `cornered` inverts in one go."""


class Cornered(NamedTuple):
    """M = L' B L with B diagonal but for the first `CORNER` joints, as `cornered` leaves it.

    Attributes:
        lower: L without its diagonal of ones; empty rows for the corner.
        inverse: of the diagonal beyond the corner; zeros for the corner.
        adjugate: of the corner, lower triangle: its inverse times its determinant.
        rate: 1 over that determinant.
    """

    lower: LowerTriangle
    inverse: list[Scalar]
    adjugate: LowerTriangle
    rate: Scalar


def cornered(matrix: LowerTriangle, functions: Functions) -> Cornered:
    """As `factorised`, but for the first three joints, whose part is inverted by its cofactors with one division.

    Divisions of pivots wait for one another, and a loop that is alone on its processor waits for them.
    """
    n = len(matrix)
    count = min(CORNER, n)
    rows = [list(row) for row in matrix]
    inverse: list[Scalar] = [0.0] * n
    for k in reversed(range(count, n)):
        inverse[k] = 1.0 / functions.maximum(rows[k][k], LEAST_PIVOT)
        for i in range(k):
            factor = times(rows[k][i], inverse[k])
            for j in range(i + 1):
                rows[i][j] = minus(rows[i][j], times(factor, rows[k][j]))
        rows[k] = [times(value, inverse[k]) for value in rows[k][:k]]
    adjugate, determinant = _adjugate(rows[:count])
    rate = 1.0 / functions.maximum(determinant, LEAST_PIVOT**count)
    return Cornered([[] for _ in range(count)] + rows[count:], inverse, adjugate, rate)


def _adjugate(rows: LowerTriangle) -> tuple[LowerTriangle, Scalar]:
    """Of a symmetric matrix of one to three rows, and its determinant."""
    if len(rows) == 1:
        return [[1.0]], rows[0][0]
    (a,), (b, c) = rows[:2]
    if len(rows) == 2:
        return [[c], [minus(0.0, b), a]], minus(times(a, c), times(b, b))
    d, e, f = rows[2]
    first = minus(times(c, f), times(e, e))
    second = minus(times(d, e), times(b, f))
    third = minus(times(b, e), times(c, d))
    adjugate = [
        [first],
        [second, minus(times(a, f), times(d, d))],
        [third, minus(times(b, d), times(a, e)), minus(times(a, c), times(b, b))],
    ]
    return adjugate, plus(plus(times(a, first), times(b, second)), times(d, third))


def solved_by_corner(factors: Cornered, right: Sequence[Scalar]) -> list[Scalar]:
    """The x of M x = `right`."""
    count, values = len(factors.adjugate), list(right)
    for k in reversed(range(count, len(values))):
        for i in range(k):
            values[i] = minus(values[i], times(factors.lower[k][i], values[k]))
    found: list[Scalar] = []
    for i in range(count):
        total: Scalar = 0.0
        for j in range(count):
            total = plus(total, times(factors.adjugate[max(i, j)][min(i, j)], values[j]))
        found.append(times(total, factors.rate))
    for k in range(count, len(values)):
        known: Scalar = 0.0
        for i in range(k):
            known = plus(known, times(factors.lower[k][i], found[i]))
        found.append(minus(times(values[k], factors.inverse[k]), known))
    return found


def solved(factors: Factors, right: Sequence[Scalar]) -> list[Scalar]:
    """The x of M x = `right`."""
    count, lower = len(right), factors.lower
    values = list(right)
    for k in reversed(range(count)):
        for i in range(k):
            values[i] = minus(values[i], times(lower[k][i], values[k]))
    for k in range(count):
        known: Scalar = 0.0
        for i in range(k):
            known = plus(known, times(lower[k][i], values[i]))
        values[k] = minus(times(values[k], factors.inverse[k]), known)
    return values
