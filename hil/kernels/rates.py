"""Velocity and acceleration kinematics of any DH chain, their inverses, and the Jacobian's rate, over any scalar.

All velocities are of the tool point in the world, linear before angular. The inverses take a spherical wrist in
3x3 blocks about the wrist's centre, where the Jacobian is block triangular (J. M. Hollerbach and G. Sahar,
Wrist-Partitioned Inverse Kinematic Accelerations and Manipulator Dynamics, 1983), and every other chain by
Gram-Schmidt: the least squares answer with fewer than six joints, the smallest one with more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from hil.kernels.chain import Chain, Column, Frame, forward_and_jacobian, link_frames
from hil.kernels.constant_fold import (
    ZERO,
    Vector,
    add,
    cross,
    dot,
    minus,
    plus,
    scale,
    signed,
    size,
    smaller,
    subtract,
    times,
)
from hil.kernels.scalar import Functions, Scalar

Twist: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]

SINGULAR = 1e-9
"""A determinant or pivot this small, in lengths of the arm, counts as singular."""

MEETING_M = 1e-12
"""Wrist axes that miss each other by no more meet in a point."""


class JointRates(NamedTuple):
    """Joint speeds or accelerations.

    Attributes:
        values: n of them; finite even at a singularity, where they have no meaning.
        regular: not negative where the Jacobian can be inverted; else minus the shortfall of its determinant (of
            its smallest pivot for arms without a spherical wrist), in lengths of the arm.
    """

    values: list[Scalar]
    regular: Scalar


class InverseJacobian(NamedTuple):
    """The inverse: n rows of six; the pseudo-inverse for an arm with another number of joints.

    Attributes:
        regular: as that of `JointRates`.
    """

    rows: list[list[Scalar]]
    regular: Scalar


class _Motion(NamedTuple):
    """Velocity and acceleration of one frame."""

    velocity: Vector = ZERO
    spin: Vector = ZERO
    acceleration: Vector = ZERO
    spin_change: Vector = ZERO


_Solver: TypeAlias = Callable[[Twist], list[Scalar]]


def velocity(chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], functions: Functions) -> Twist:
    """J qd: velocity of the tool point, m/s, and angular velocity, rad/s."""
    last = _motions(chain, link_frames(chain, q, functions), qd, [0.0] * len(qd))[-1]
    return (*last.velocity, *last.spin)


def acceleration(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar], functions: Functions
) -> Twist:
    """J qdd + Jdot qd: acceleration of the tool point, m/s2, and angular acceleration, rad/s2."""
    last = _motions(chain, link_frames(chain, q, functions), qd, qdd)[-1]
    return (*last.acceleration, *last.spin_change)


def jacobian_rate(chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], functions: Functions) -> list[Column]:
    """Jdot: n columns, change per second of those of the Jacobian."""
    frames = link_frames(chain, q, functions)
    motions = _motions(chain, frames, qd, [0.0] * len(qd))
    tip, tip_velocity = _origin(frames[-1]), motions[-1].velocity
    columns: list[Column] = []
    for row, frame, motion in zip(chain.rows, frames, motions, strict=False):
        axis = _axis(frame, row.sign)
        turning = cross(motion.spin, axis)
        if row.revolute:
            arm, arm_change = subtract(tip, _origin(frame)), subtract(tip_velocity, motion.velocity)
            columns.append((*add(cross(turning, arm), cross(axis, arm_change)), *turning))
        else:
            columns.append((*turning, *ZERO))
    return columns


def inverse_velocity(chain: Chain, q: Sequence[Scalar], twist: Twist, functions: Functions) -> JointRates:
    """Joint speeds that move the tool as `twist` says."""
    solve, regular = _solver(chain, q, functions)
    return JointRates(solve(twist), regular)


def inverse_acceleration(
    chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], wanted: Twist, functions: Functions
) -> JointRates:
    """Joint accelerations that accelerate the tool as `wanted` says, at joint speeds `qd`."""
    there = acceleration(chain, q, qd, [0.0] * len(qd), functions)
    solve, regular = _solver(chain, q, functions)
    a, b, c, d, e, f = (minus(x, y) for x, y in zip(wanted, there, strict=True))
    return JointRates(solve((a, b, c, d, e, f)), regular)


def inverse_jacobian(chain: Chain, q: Sequence[Scalar], functions: Functions) -> InverseJacobian:
    """The inverse of the geometric Jacobian."""
    solve, regular = _solver(chain, q, functions)
    columns = []
    for i in range(6):
        a, b, c, d, e, f = (1.0 if k == i else 0.0 for k in range(6))
        columns.append(solve((a, b, c, d, e, f)))
    return InverseJacobian([list(row) for row in zip(*columns, strict=True)], regular)


def has_spherical_wrist(chain: Chain) -> bool:
    """True for six axes of which the last three turn and meet in a point, the origin of DH frame 4."""
    if len(chain.rows) != 6:
        return False
    fourth, fifth, sixth = chain.rows[3:]
    return (
        fourth.revolute
        and fifth.revolute
        and sixth.revolute
        and max(abs(fourth.a), abs(fifth.a), abs(fifth.d)) <= MEETING_M
        and fourth.sin_alpha != 0.0
        and fifth.sin_alpha != 0.0
    )


def _axis(frame: Frame, sign: float) -> Vector:
    return signed(sign, frame[6]), signed(sign, frame[7]), signed(sign, frame[8])


def _origin(frame: Frame) -> Vector:
    return frame[9], frame[10], frame[11]


def _motions(chain: Chain, frames: Sequence[Frame], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[_Motion]:
    """Motion of each of `frames`: base, DH frames 1 to n, tool."""
    motions = [_Motion()]
    for i, row in enumerate(chain.rows):
        before, axis = motions[-1], _axis(frames[i], row.sign)
        driven, pushed = scale(qd[i], axis), scale(qdd[i], axis)
        if row.revolute:
            spin = add(before.spin, driven)
            spin_change = add(before.spin_change, add(pushed, cross(before.spin, driven)))
            turned = before._replace(spin=spin, spin_change=spin_change)
            motions.append(_carried(turned, frames[i], frames[i + 1]))
        else:
            carried = _carried(before, frames[i], frames[i + 1])
            sideways = scale(2.0, cross(before.spin, driven))
            motions.append(
                carried._replace(
                    velocity=add(carried.velocity, driven),
                    acceleration=add(carried.acceleration, add(pushed, sideways)),
                )
            )
    motions.append(motions[-1] if chain.tool is None else _carried(motions[-1], frames[-2], frames[-1]))
    return motions


def _carried(motion: _Motion, start: Frame, end: Frame) -> _Motion:
    """Motion of the origin of `end`, fixed to a body of which that of `start` moves so."""
    arm = subtract(_origin(end), _origin(start))
    swing = cross(motion.spin, arm)
    bent = add(cross(motion.spin_change, arm), cross(motion.spin, swing))
    return motion._replace(velocity=add(motion.velocity, swing), acceleration=add(motion.acceleration, bent))


def _solver(chain: Chain, q: Sequence[Scalar], functions: Functions) -> tuple[_Solver, Scalar]:
    if has_spherical_wrist(chain):
        return _wrist_solver(chain, q, functions)
    columns = forward_and_jacobian(chain, q, functions)[1]
    # A metre of the tool weighs as a radian at arm's length.
    weight = 1.0 / _length(chain)
    weighted = [[times(weight, v) for v in column[:3]] + list(column[3:]) for column in columns]
    if len(columns) <= 6:
        solve, regular = _least_squares(weighted, functions)
    else:
        solve, regular = _smallest(weighted, functions)
    return lambda twist: solve([times(weight, v) for v in twist[:3]] + list(twist[3:])), regular


def _wrist_solver(chain: Chain, q: Sequence[Scalar], functions: Functions) -> tuple[_Solver, Scalar]:
    frames = link_frames(chain, q, functions)
    axes = [_axis(frame, row.sign) for row, frame in zip(chain.rows, frames, strict=False)]
    centre = _origin(frames[4])
    arm: list[Vector] = [
        cross(axis, subtract(centre, _origin(frame))) if row.revolute else axis
        for row, axis, frame in zip(chain.rows[:3], axes, frames, strict=False)
    ]
    unit = math.prod(_length(chain) for row in chain.rows[:3] if row.revolute)
    solve_arm, arm_determinant = _solver_3(arm, unit, functions)
    solve_wrist, wrist_determinant = _solver_3(axes[3:], 1.0, functions)
    to_centre = subtract(centre, _origin(frames[-1]))

    def solve(twist: Twist) -> list[Scalar]:
        rest: Vector = (twist[3], twist[4], twist[5])
        values = solve_arm(add((twist[0], twist[1], twist[2]), cross(rest, to_centre)))
        for row, axis, value in zip(chain.rows, axes, values, strict=False):
            if row.revolute:
                rest = subtract(rest, scale(value, axis))
        return [*values, *solve_wrist(rest)]

    nearest = smaller(
        size(times(1.0 / unit, arm_determinant), functions), size(wrist_determinant, functions), functions
    )
    return solve, nearest - SINGULAR


def _solver_3(
    columns: Sequence[Vector], unit: float, functions: Functions
) -> tuple[Callable[[Vector], list[Scalar]], Scalar]:
    """Cramer's rule for three columns, and their determinant, which counts as zero below SINGULAR * `unit`."""
    a, b, c = columns
    rows = (cross(b, c), cross(c, a), cross(a, b))
    determinant = dot(a, rows[0])
    least = SINGULAR * unit
    shifted = functions.where(
        determinant, functions.maximum(determinant, least), -functions.maximum(-determinant, least)
    )
    inverse = 1.0 / shifted
    return lambda v: [times(inverse, dot(row, v)) for row in rows], determinant


def _least_squares(
    columns: list[list[Scalar]], functions: Functions
) -> tuple[Callable[[list[Scalar]], list[Scalar]], Scalar]:
    """Solver for six rows and up to six columns."""
    units, upper, inverse, regular = _orthonormal(columns, functions)

    def solve(right: list[Scalar]) -> list[Scalar]:
        values = []
        for unit in units:
            part = _inner(unit, right)
            right = _less(right, part, unit)
            values.append(part)
        for k in reversed(range(len(values))):
            for i, entry in upper[k]:
                values[k] = minus(values[k], times(entry, values[i]))
            values[k] = times(inverse[k], values[k])
        return values

    return solve, regular


def _smallest(
    columns: list[list[Scalar]], functions: Functions
) -> tuple[Callable[[list[Scalar]], list[Scalar]], Scalar]:
    """Solver for six rows and more columns, by the rows' own orthonormal system."""
    rows = [list(row) for row in zip(*columns, strict=True)]
    units, upper, inverse, regular = _orthonormal(rows, functions)

    def solve(right: list[Scalar]) -> list[Scalar]:
        parts = list(right)
        total: list[Scalar] = [0.0] * len(columns)
        for k, unit in enumerate(units):
            parts[k] = times(inverse[k], parts[k])
            for i, entry in upper[k]:
                parts[i] = minus(parts[i], times(entry, parts[k]))
            total = [plus(value, times(parts[k], u)) for value, u in zip(total, unit, strict=True)]
        return total

    return solve, regular


def _orthonormal(
    vectors: list[list[Scalar]], functions: Functions
) -> tuple[list[list[Scalar]], list[list[tuple[int, Scalar]]], list[Scalar], Scalar]:
    """Modified Gram-Schmidt: unit vectors; per vector, (index, share) in later ones; inverse lengths; `regular`."""
    remaining = list(vectors)
    units, upper, inverse = [], [], []
    smallest: Scalar = None
    for k in range(len(vectors)):
        vector = remaining[k]
        length = functions.sqrt(_inner(vector, vector))
        inverse.append(1.0 / functions.maximum(length, SINGULAR))
        unit = [times(inverse[k], v) for v in vector]
        shares = []
        for i in range(k + 1, len(vectors)):
            share = _inner(unit, remaining[i])
            remaining[i] = _less(remaining[i], share, unit)
            shares.append((i, share))
        units.append(unit)
        upper.append(shares)
        smallest = length if smallest is None else smaller(smallest, length, functions)
    return units, upper, inverse, smallest - SINGULAR


def _inner(u: Sequence[Scalar], v: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(u, v, strict=True):
        total = plus(total, times(x, y))
    return total


def _less(u: Sequence[Scalar], factor: Scalar, v: Sequence[Scalar]) -> list[Scalar]:
    return [minus(x, times(factor, y)) for x, y in zip(u, v, strict=True)]


def _length(chain: Chain) -> float:
    """Sum of the table's lengths, and of the tool's: a constant that stands for the arm's size, never zero."""
    tool = 0.0 if chain.tool is None else math.hypot(*chain.tool[9:12])
    return sum(abs(row.a) + abs(row.d) for row in chain.rows) + tool or 1.0
