"""What joints answer within one step: dry friction that holds at rest, and stops, by projected Gauss-Seidel.

A friction that only opposes speed never holds: at rest it would have to take any value up to its size. Taken over a
whole step it can be worked out: the torque, within its size, that leaves the joint at rest at the step's end, or
as near as it gets. A stop is a torque in one direction that keeps the joint from passing it within the step. The
joints feel each other, so the torques are found in turns, from those of the step before. J. J. Moreau, Unilateral
Contact and Dry Friction in Finite Freedom Dynamics, 1988.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hil.kernels.constant_fold import minus, plus, smaller, times
from hil.kernels.scalar import Functions, Scalar

SWEEPS = 4
"""Turns over all joints in one step; each step goes on from the torques of the one before."""


class Bounds(NamedTuple):
    """What limits the answers of the joints, n numbers each.

    Attributes:
        forwards: largest dry friction against a positive speed, N m (N where prismatic), not negative.
        backwards: against a negative one, not negative.
        slowest: speed that would put the joint on its lower stop at the step's end.
        fastest: the same for the upper one.
    """

    forwards: Sequence[Scalar]
    backwards: Sequence[Scalar]
    slowest: Sequence[Scalar]
    fastest: Sequence[Scalar]


class Settled(NamedTuple):
    """Speeds at the step's end, and the torques that the joints took: positive against a positive speed."""

    speeds: list[Scalar]
    reactions: list[Scalar]


def settled(
    speeds: Sequence[Scalar],
    mobility: Sequence[Sequence[Scalar]],
    before: Sequence[Scalar],
    bounds: Bounds,
    functions: Functions,
    sweeps: int = SWEEPS,
) -> Settled:
    """Speeds with friction and stops.

    Args:
        speeds: at the step's end without them.
        mobility: change of speed per torque over the step, the inverse mass matrix times the step; symmetric, n x n.
        before: reactions of the step before, to begin with.
        bounds: of the reactions.
        functions: of the scalar type.
        sweeps: turns over all joints.
    """
    count = len(speeds)
    reactions = list(before)
    found = [
        minus(speed, _sum([times(mobility[i][k], reactions[k]) for k in range(count)]))
        for i, speed in enumerate(speeds)
    ]
    inverse = [1.0 / mobility[i][i] for i in range(count)]
    for _ in range(sweeps):
        for i in range(count):
            own = plus(found[i], times(mobility[i][i], reactions[i]))
            wanted = times(own, inverse[i])
            friction = functions.maximum(smaller(wanted, bounds.forwards[i], functions), -bounds.backwards[i])
            left = minus(own, times(mobility[i][i], friction))
            stop = plus(
                functions.maximum(minus(left, bounds.fastest[i]), 0.0),
                smaller(minus(left, bounds.slowest[i]), 0.0, functions),
            )
            reaction = plus(friction, times(stop, inverse[i]))
            change = minus(reaction, reactions[i])
            reactions[i] = reaction
            for k in range(count):
                found[k] = minus(found[k], times(mobility[k][i], change))
    return Settled(found, reactions)


def _sum(values: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for value in values:
        total = plus(total, value)
    return total
