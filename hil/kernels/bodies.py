"""An arm as moving bodies: constants of joints, masses, motors and friction, reduced to what torques depend on.

Dynamics works in axis frames: that of joint j rides on link j, its z is the joint's axis, and it lies
Tx(a) Rx(alpha) before DH frame j. Mass is kept as the second moments J = sum m r r', the first moments
h = sum m r and the mass m about the frame's origin. What a link carries on its own axis feels no turn about it
and belongs as well to the link before: moving it there leaves a revolute link with no mass, no hz and no Jzz,
and changes no torque (the base parameters of Khalil and Dombre, Modeling, Identification and Control of
Robots, chapter 9).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from hil.errors import CommandError
from hil.kernels.chain import Chain, chain_of
from hil.kernels.constant_fold import Vector, add, plus, scale, signed, times, turn_x, turn_z
from hil.kernels.scalar import Functions, Scalar
from hil.model.robot import LinkInertia, RobotModel

ROUNDING = 1e-15
"""What is this small against the largest moment of the arm is left over from rounding, and counts as zero."""


class Moments(NamedTuple):
    """Mass of a body about the origin of its frame: kg, kg m, kg m2; `mass` is a constant."""

    mass: float
    first: Vector
    xx: Scalar
    xy: Scalar
    xz: Scalar
    yy: Scalar
    yz: Scalar
    zz: Scalar


NOTHING = Moments(0.0, (0.0, 0.0, 0.0), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Axis(NamedTuple):
    """A joint's constants: from the axis frame before, Tx(a) Rx(alpha) Rz(theta) Tz(d)."""

    revolute: bool
    sign: float
    a: float
    cos_alpha: float
    sin_alpha: float
    theta: float
    d: float
    cos_theta: float
    sin_theta: float


class Mechanism(NamedTuple):
    """Constants of one arm's dynamics.

    Attributes:
        chain: its kinematics.
        axes: per joint.
        bodies: per link, reduced; the first link's motor is in them.
        base: what of the links' mass rests on the base; it counts in the potential energy alone.
        armature: inertia of each motor on the joint's side, Jm G^2; zero for a first revolute joint, see `bodies`.
        viscous: friction per speed on the joint's side, B G^2.
        coulomb: friction on the joint's side for positive and negative speed, |G| Tc.
    """

    chain: Chain
    axes: tuple[Axis, ...]
    bodies: tuple[Moments, ...]
    base: Moments
    armature: tuple[float, ...]
    viscous: tuple[float, ...]
    coulomb: tuple[tuple[float, float], ...]


class Place(NamedTuple):
    """One axis frame in the one before, for given coordinates; `offset` is its origin."""

    axis: Axis
    c: Scalar
    s: Scalar
    offset: Vector


def mechanism_of(model: RobotModel, *, motors: bool = True, point_masses: bool = False) -> Mechanism:
    """Constants of `model`.

    Args:
        model: the arm.
        motors: count the inertia of the motors.
        point_masses: take a link whose source gives no inertia tensor as a point at its centre of mass.

    Raises:
        CommandError: no source gives masses, or a tensor is missing.
    """
    links = _given_links(model)
    missing = links_without_tensor(model)
    if missing and not point_masses:
        raise CommandError(
            f"{model.id}: the source gives masses, but no inertia tensor for {', '.join(missing)}: gravity can be "
            "worked out, nothing that accelerates. Give inertia_kg_m2 in [joints.inertia] (all zeros for a point mass)",
            value=None,
            allowed="an inertia tensor for every link",
        )
    chain = chain_of(model)
    axes = _axes(chain)
    raw = [_moments(link, row.a, row.cos_alpha, row.sin_alpha) for link, row in zip(links, chain.rows, strict=True)]
    gears = [1.0 if link.gear_ratio is None else link.gear_ratio for link in links]
    armature = [(link.motor_inertia_kg_m2 or 0.0) * gear**2 * motors for link, gear in zip(links, gears, strict=True)]
    bodies, base = _reduced(axes, raw)
    if axes[0].revolute:
        # The first link turns about a resting axis: only its moment about that axis counts, the motor's included.
        whole = NOTHING._replace(first=bodies[0].first, xx=bodies[0].xx + bodies[0].yy + armature[0])
        bodies[0], armature[0] = whole, 0.0
    return Mechanism(
        chain=chain,
        axes=axes,
        bodies=_without_rounding(bodies),
        base=base,
        armature=tuple(armature),
        viscous=tuple((link.viscous_nm_s or 0.0) * gear**2 for link, gear in zip(links, gears, strict=True)),
        coulomb=tuple(_coulomb(link, gear) for link, gear in zip(links, gears, strict=True)),
    )


def links_without_tensor(model: RobotModel) -> tuple[str, ...]:
    """Names of the joints whose links have a mass but no inertia tensor."""
    pairs = zip(model.joints, model.inertia or (), strict=False)
    return tuple(joint.name for joint, link in pairs if link.inertia_kg_m2 is None)


def placed(mechanism: Mechanism, q: Iterable[Scalar], functions: Functions) -> list[Place]:
    """Every axis frame in the one before, for joint coordinates `q`."""
    places = []
    for axis, value in zip(mechanism.axes, q, strict=True):
        moved = signed(axis.sign, value)
        if axis.revolute:
            angle = plus(axis.theta, moved)
            c, s, d = functions.cos(angle), functions.sin(angle), axis.d
        else:
            c, s, d = axis.cos_theta, axis.sin_theta, plus(axis.d, moved)
        offset = (axis.a, times(-axis.sin_alpha, d), times(axis.cos_alpha, d))
        places.append(Place(axis, c, s, offset))
    return places


def to_child(place: Place, v: Vector) -> Vector:
    """A vector of the frame before, in the axis frame."""
    return turn_z(place.c, signed(-1.0, place.s), turn_x(place.axis.cos_alpha, -place.axis.sin_alpha, v))


def to_parent(place: Place, v: Vector) -> Vector:
    """A vector of the axis frame, in the frame before."""
    return turn_x(place.axis.cos_alpha, place.axis.sin_alpha, turn_z(place.c, place.s, v))


def joined(u: Moments, v: Moments) -> Moments:
    """Two bodies as one, in the same frame."""
    return Moments(u.mass + v.mass, add(u.first, v.first), *(plus(a, b) for a, b in zip(u[2:], v[2:], strict=True)))


def in_parent(place: Place, body: Moments) -> Moments:
    """A body of the axis frame, in the frame before."""
    c, s, axis = place.c, place.s, place.axis
    xx, xy, yy = _turned(c, s, body.xx, body.xy, body.yy)
    xz, yz, _ = turn_z(c, s, (body.xz, body.yz, 0.0))
    yy, yz, zz = _turned(axis.cos_alpha, axis.sin_alpha, yy, yz, body.zz)
    _, xy, xz = turn_x(axis.cos_alpha, axis.sin_alpha, (0.0, xy, xz))
    turned = Moments(body.mass, to_parent(place, body.first), xx, xy, xz, yy, yz, zz)
    return _shifted(turned, place.offset)


def _turned(c: Scalar, s: Scalar, uu: Scalar, uv: Scalar, vv: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Second moments in a plane, turned in it: c e and s e carry both squares of c and s."""
    if isinstance(s, float) and s == 0.0:
        return uu, uv, vv
    if isinstance(c, float) and c == 0.0:
        return vv, signed(-1.0, uv), uu
    e = plus(times(c, plus(uu, signed(-1.0, vv))), times(-2.0, times(s, uv)))
    ce = times(c, e)
    return plus(vv, ce), plus(uv, times(s, e)), plus(uu, signed(-1.0, ce))


def _shifted(body: Moments, offset: Vector) -> Moments:
    """A body about a point from which its frame's origin lies at `offset`."""
    moved = add(body.first, scale(body.mass, offset))
    # J + p h' + h p' + m p p' = J + p (h + m p)' + h p'
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    second = (
        plus(old, plus(times(offset[i], moved[k]), times(body.first[i], offset[k])))
        for old, (i, k) in zip(body[2:], pairs, strict=True)
    )
    return Moments(body.mass, moved, *second)


def _given_links(model: RobotModel) -> tuple[LinkInertia, ...]:
    if model.inertia is None:
        raise CommandError(
            f"{model.id}: no source gives masses for this arm, so it has no dynamics. "
            "Give a [joints.inertia] table for every joint in a robot file of your own",
            value=None,
            allowed="an arm whose links have masses",
        )
    return model.inertia


def _axes(chain: Chain) -> tuple[Axis, ...]:
    before = [(0.0, 1.0, 0.0), *((row.a, row.cos_alpha, row.sin_alpha) for row in chain.rows)]
    return tuple(
        Axis(row.revolute, row.sign, *constants, row.theta, row.d, row.cos_theta, row.sin_theta)
        for row, constants in zip(chain.rows, before, strict=False)
    )


def _moments(link: LinkInertia, a: float, cos_alpha: float, sin_alpha: float) -> Moments:
    """Moments in the axis frame of what is given in the DH frame at the link's far end."""
    tensor = link.inertia_kg_m2 or ((0.0, 0.0, 0.0),) * 3
    half = (tensor[0][0] + tensor[1][1] + tensor[2][2]) / 2.0
    about_com = Moments(
        0.0,
        (0.0, 0.0, 0.0),
        *(half - tensor[0][0], -tensor[0][1], -tensor[0][2]),
        *(half - tensor[1][1], -tensor[1][2]),
        half - tensor[2][2],
    )
    point = _shifted(NOTHING._replace(mass=link.mass_kg), link.com_m)
    distal = Axis(True, 1.0, a, cos_alpha, sin_alpha, 0.0, 0.0, 1.0, 0.0)
    return in_parent(Place(distal, 1.0, 0.0, (a, 0.0, 0.0)), joined(about_com, point))


def _reduced(axes: tuple[Axis, ...], raw: list[Moments]) -> tuple[list[Moments], Moments]:
    """Bodies with everything moved towards the base that may be, and what arrives there."""
    bodies, arriving = [], NOTHING
    for axis, own in zip(reversed(axes), reversed(raw), strict=True):
        body = joined(own, arriving)
        x, y, z = body.first
        if axis.revolute:
            movable = NOTHING._replace(mass=body.mass, first=(0.0, 0.0, z), zz=body.zz)
            bodies.append(body._replace(mass=0.0, first=(x, y, 0.0), zz=0.0))
        else:
            # Sliding does not turn: second moments are felt by the link before just as well.
            movable = body._replace(mass=0.0, first=(0.0, 0.0, 0.0))
            bodies.append(NOTHING._replace(mass=body.mass, first=body.first))
        rest = (axis.a, -axis.sin_alpha * axis.d, axis.cos_alpha * axis.d)
        arriving = in_parent(Place(axis, axis.cos_theta, axis.sin_theta, rest), movable)
    return bodies[::-1], arriving


def _without_rounding(bodies: list[Moments]) -> tuple[Moments, ...]:
    first = ROUNDING * max(abs(value) for body in bodies for value in body.first)
    second = ROUNDING * max(abs(value) for body in bodies for value in body[2:])
    return tuple(
        Moments(
            body.mass,
            (_chopped(body.first[0], first), _chopped(body.first[1], first), _chopped(body.first[2], first)),
            *(_chopped(value, second) for value in body[2:]),
        )
        for body in bodies
    )


def _chopped(value: float, tolerance: float) -> float:
    return 0.0 if math.fabs(value) <= tolerance else value


def _coulomb(link: LinkInertia, gear: float) -> tuple[float, float]:
    positive, negative = link.coulomb_nm or (0.0, 0.0)
    return abs(gear) * positive, abs(gear) * negative
