"""Inverse dynamics of any DH chain by recursive Newton-Euler, over any scalar; gravity, velocity and friction terms.

J. Y. S. Luh, M. W. Walker and R. P. C. Paul, On-Line Computational Scheme for Mechanical Manipulators, 1980; with
the matrix U = [wd] + [w][w] of W. Khalil and J.-F. Kleinfinger, 1987, that gives the acceleration of a point r of
a link as a + U r, the force on its mass as U h, and the moment as the antisymmetric part of U J.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from hil.kernels.bodies import Mechanism, Moments, Place, placed, to_child, to_parent
from hil.kernels.constant_fold import ZERO, Vector, add, cross, dot, minus, plus, scale, signed, times
from hil.kernels.scalar import Functions, Scalar

Gravity: TypeAlias = tuple[Scalar, Scalar, Scalar]

EARTH_M_S2: Gravity = (0.0, 0.0, -9.81)
"""Acceleration of free fall in the world; the published PUMA 560 numbers use this value."""


class Spin(NamedTuple):
    """How a link turns: w, its products, and U, row by row."""

    rate: Vector
    change: Vector
    squares: Vector
    rows: tuple[Vector, Vector, Vector]


REST = Spin(ZERO, ZERO, ZERO, (ZERO, ZERO, ZERO))


def inverse_dynamics(
    mechanism: Mechanism,
    gravity: Gravity,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    functions: Functions,
) -> list[Scalar]:
    """Torques (forces where prismatic) that give the accelerations `qdd`: M qdd + V + G, friction left out.

    Args:
        mechanism: the arm.
        gravity: acceleration of free fall in the world, m/s2.
        q: n joint coordinates.
        qd: n speeds.
        qdd: n accelerations.
        functions: of the scalar type.
    """
    places = placed(mechanism, q, functions)
    spin, lift = REST, _base_acceleration(mechanism, gravity)
    spins, lifts = [], []
    for place, speed, acceleration in zip(places, qd, qdd, strict=True):
        spin, lift = _next_link(place, spin, lift, speed, acceleration)
        spins.append(spin)
        lifts.append(lift)
    force, moment, torques = ZERO, ZERO, []
    for place, body, spin, lift in zip(
        reversed(places), reversed(mechanism.bodies), reversed(spins), reversed(lifts), strict=True
    ):
        force = add(force, _force(body, spin, lift))
        moment = add(moment, add(_moment(body, spin), cross(body.first, lift)))
        torques.append(signed(place.axis.sign, moment[2] if place.axis.revolute else force[2]))
        force = to_parent(place, force)
        moment = add(to_parent(place, moment), cross(place.offset, force))
    return [
        plus(torque, times(armature, acceleration))
        for torque, armature, acceleration in zip(reversed(torques), mechanism.armature, qdd, strict=True)
    ]


def gravity_torque(mechanism: Mechanism, gravity: Gravity, q: Sequence[Scalar], functions: Functions) -> list[Scalar]:
    """G: torques that hold the arm at rest."""
    rest = [0.0] * len(mechanism.axes)
    return inverse_dynamics(mechanism, gravity, q, rest, rest, functions)


def coriolis_torque(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar], functions: Functions
) -> list[Scalar]:
    """V: torques of Coriolis and centrifugal forces."""
    return inverse_dynamics(mechanism, ZERO, q, qd, [0.0] * len(mechanism.axes), functions)


def friction_torque(mechanism: Mechanism, qd: Sequence[Scalar], functions: Functions) -> list[Scalar]:
    """F: torques that overcome friction, viscous and Coulomb; a joint at rest has none."""
    torques = []
    for speed, viscous, (forwards, backwards) in zip(qd, mechanism.viscous, mechanism.coulomb, strict=True):
        dry = 0.0
        if forwards != 0.0 or backwards != 0.0:
            dry = functions.where(speed, functions.where(-speed, 0.0, forwards), backwards)
        torques.append(plus(times(viscous, speed), dry))
    return torques


def _base_acceleration(mechanism: Mechanism, gravity: Gravity) -> Vector:
    """What a falling observer sees the base do, in the base's frame."""
    base = mechanism.chain.base
    x, y, z = dot(base[0:3], gravity), dot(base[3:6], gravity), dot(base[6:9], gravity)
    return minus(0.0, x), minus(0.0, y), minus(0.0, z)


def _next_link(place: Place, before: Spin, lift: Vector, speed: Scalar, acceleration: Scalar) -> tuple[Spin, Vector]:
    """Motion of a link and of its axis frame's origin, from those of the link before."""
    speed, acceleration = signed(place.axis.sign, speed), signed(place.axis.sign, acceleration)
    rows = before.rows
    offset = place.offset
    lift = to_child(place, add(lift, (dot(rows[0], offset), dot(rows[1], offset), dot(rows[2], offset))))
    rate, change = to_child(place, before.rate), to_child(place, before.change)
    x, y, z = rate
    if place.axis.revolute:
        change = (
            plus(change[0], times(y, speed)),
            minus(change[1], times(x, speed)),
            plus(change[2], acceleration),
        )
        return _spin((x, y, plus(z, speed)), change), lift
    twice = times(2.0, speed)
    lift = plus(lift[0], times(y, twice)), minus(lift[1], times(x, twice)), plus(lift[2], acceleration)
    return _spin(rate, change), lift


def _spin(rate: Vector, change: Vector) -> Spin:
    (x, y, z), (dx, dy, dz) = rate, change
    xx, yy, zz = times(x, x), times(y, y), times(z, z)
    xy, xz, yz = times(x, y), times(x, z), times(y, z)
    rows = (
        (minus(0.0, plus(yy, zz)), minus(xy, dz), plus(xz, dy)),
        (plus(xy, dz), minus(0.0, plus(xx, zz)), minus(yz, dx)),
        (minus(xz, dy), plus(yz, dx), minus(0.0, plus(xx, yy))),
    )
    return Spin(rate, change, (xx, yy, zz), rows)


def _force(body: Moments, spin: Spin, lift: Vector) -> Vector:
    u = spin.rows
    turning = (dot(u[0], body.first), dot(u[1], body.first), dot(u[2], body.first))
    return add(turning, scale(body.mass, lift))


def _moment(body: Moments, spin: Spin) -> Vector:
    """Antisymmetric part of U J; the differences of U's diagonal are those of the squares."""
    (_, u01, u02), (u10, _, u12), (u20, u21, _) = spin.rows
    sx, sy, sz = spin.squares
    x = minus(times(body.yy, u21), times(body.zz, u12))
    x = plus(x, minus(times(body.xy, u20), times(body.xz, u10)))
    y = minus(times(body.zz, u02), times(body.xx, u20))
    y = plus(y, minus(times(body.yz, u01), times(body.xy, u21)))
    z = minus(times(body.xx, u10), times(body.yy, u01))
    z = plus(z, minus(times(body.xz, u12), times(body.yz, u02)))
    return (
        plus(x, times(body.yz, minus(sz, sy))),
        plus(y, times(body.xz, minus(sx, sz))),
        plus(z, times(body.xy, minus(sy, sx))),
    )
