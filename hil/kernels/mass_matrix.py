"""Mass matrix of any DH chain by composite rigid bodies, and the energies, over any scalar.

M. W. Walker and D. E. Orin, Efficient Dynamic Computer Simulation of Robotic Mechanisms, 1982, method 3; with the
moments of `hil.kernels.bodies` in place of inertia tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from hil.kernels.bodies import Mechanism, Moments, Place, in_parent, joined, placed, to_parent
from hil.kernels.constant_fold import Vector, add, cross, dot, minus, plus, scale, signed, times
from hil.kernels.newton_euler import Gravity
from hil.kernels.scalar import Functions, Scalar

LowerTriangle: TypeAlias = list[list[Scalar]]
"""Rows of a symmetric matrix up to the diagonal: row i has i + 1 entries."""


def mass_matrix(mechanism: Mechanism, q: Sequence[Scalar], functions: Functions) -> LowerTriangle:
    """M, motors included, for joint coordinates `q`; kg m2 (kg, kg m where prismatic)."""
    places = placed(mechanism, q, functions)
    rows: LowerTriangle = []
    composite = None
    for j in reversed(range(len(places))):
        body = mechanism.bodies[j]
        composite = body if composite is None else joined(body, in_parent(places[j + 1], composite))
        rows.append(_row(places[: j + 1], composite, mechanism.armature[j]))
    return rows[::-1]


def kinetic_energy(matrix: LowerTriangle, qd: Sequence[Scalar]) -> Scalar:
    """Half of qd' M qd, joules."""
    total: Scalar = 0.0
    for i, row in enumerate(matrix):
        moved = times(0.5, times(row[i], qd[i]))
        for k in range(i):
            moved = plus(moved, times(row[k], qd[k]))
        total = plus(total, times(qd[i], moved))
    return total


def potential_energy(mechanism: Mechanism, gravity: Gravity, q: Sequence[Scalar], functions: Functions) -> Scalar:
    """Energy of the links' weight, zero at the world's origin, joules."""
    mass, first = 0.0, (0.0, 0.0, 0.0)
    for place, body in zip(reversed(placed(mechanism, q, functions)), reversed(mechanism.bodies), strict=True):
        mass += body.mass
        first = add(to_parent(place, add(first, body.first)), scale(mass, place.offset))
    mass += mechanism.base.mass
    x, y, z = add(first, mechanism.base.first)
    base = mechanism.chain.base
    world = scale(mass, base[9:12])
    for part, column in ((x, base[0:3]), (y, base[3:6]), (z, base[6:9])):
        world = add(world, scale(part, column))
    return minus(0.0, dot(gravity, world))


def _row(places: Sequence[Place], composite: Moments, armature: float) -> list[Scalar]:
    """Row j of M: what unit acceleration of joint j asks of joints 0 to j."""
    last = places[-1].axis
    force, moment = _reaction(last.revolute, composite)
    row = [plus(moment[2] if last.revolute else force[2], armature)]
    for place, below in zip(reversed(places[1:]), reversed(places[:-1]), strict=True):
        force = to_parent(place, force)
        moment = add(to_parent(place, moment), cross(place.offset, force))
        wanted = moment[2] if below.axis.revolute else force[2]
        row.append(signed(last.sign * below.axis.sign, wanted))
    return row[::-1]


def _reaction(revolute: bool, body: Moments) -> tuple[Vector, Vector]:
    """Force and moment that a body needs to accelerate by one unit about, or along, z."""
    x, y, _ = body.first
    if revolute:
        return (minus(0.0, y), x, 0.0), (minus(0.0, body.xz), minus(0.0, body.yz), plus(body.xx, body.yy))
    return (0.0, 0.0, body.mass), (y, minus(0.0, x), 0.0)
