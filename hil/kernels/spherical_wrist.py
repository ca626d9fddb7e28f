"""Closed-form inverse of six axes with a spherical wrist: yaw, two joints in a plane, and a wrist, over any scalar.

Where the last three axes meet in a point, that point's place is a matter of the first three joints alone (Pieper
1968); the wrist then supplies the rotation that is left. Here the yaw axis carries a plane, as on the PUMA 560
(Paul and Zhang 1986), and two joints move the wrist's centre in it: shoulder and elbow, or shoulder and slide
(`hil.kernels.stanford`). Sines and cosines are carried as ratios of lengths; angles are only taken at the end.

Singular postures lose nothing: lengths come from factored differences of squares, which keep the relative
precision of what is small; what a posture leaves open takes the caller's rest value; and the last wrist
angle is what remains once the first is chosen. A pose out of reach keeps its orientation, and misses the place
by the shortfall.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from hil.kernels.chain import IDENTITY, Chain, Frame, Row, compose, invert
from hil.kernels.closed_form import Branch
from hil.kernels.scalar import Functions, Scalar

REACH_TOLERANCE_M = 1e-9
"""A wrist centre this little outside the reach is a limit of the reach, blurred by rounding."""

NEAR = 1e-10
"""Lengths (metres) and sines below this are zero: their direction is noise, and the rest value replaces it. So are
constants of the arm."""

BLUR_M = 1e-14
"""This near to a limit of the reach a length is at the limit: its root would make 1e-7 rad of noise out of it."""

DIVISOR_M = 1e-12
"""No length is divided by less; those that matter are never as small."""

Vector = tuple[Scalar, Scalar, Scalar]

WristSolver: TypeAlias = Callable[
    [Sequence[Vector], tuple[Scalar, Scalar], Functions], tuple[Scalar, Scalar, Scalar, Scalar]
]
"""The wanted axes in the plane and the direction of axis 4's rest value, to q4, theta5, q6 and the tilt."""


class PlanePosture(NamedTuple):
    """One way to bring the wrist's centre to a point of the plane.

    Attributes:
        q: coordinates of joints 2 and 3.
        c, s: cosine and sine of the plane angle that the wrist has been turned by.
    """

    q: tuple[Scalar, Scalar]
    c: Scalar
    s: Scalar


class PlaneReach(NamedTuple):
    """All postures for one point of the plane.

    Attributes:
        postures: in the order of the names.
        short: distance from the point to the nearest that is reached, metres; 0 within reach.
        free: not negative where the point is on the axis of joint 2; None if that is never within reach.
    """

    postures: list[PlanePosture]
    short: Scalar
    free: Scalar | None


class PlaneJoints(Protocol):
    """Joints 2 and 3, which move the wrist's centre in the plane."""

    @property
    def ring_m(self) -> tuple[float, float]:
        """Least and greatest distance from the shoulder."""
        ...

    def names(self, side: float, up: float) -> tuple[str, ...]:
        """Names of the postures: the plane in front (`side` +1) or turned back, its y axis up (`up` +1) or down."""
        ...

    def solve(self, x: Scalar, y: Scalar, rest: Sequence[Scalar], functions: Functions) -> PlaneReach:
        """Postures for a point of the plane, from the shoulder, metres; `rest` as in `ClosedForm.solve`."""
        ...


class Yaw(NamedTuple):
    """Joint 1 turned so that the plane holds the wrist's centre.

    Attributes:
        q: its coordinate.
        c, s: cosine and sine of theta1.
        along: the point's coordinate in the plane, away from the yaw axis, metres.
    """

    q: Scalar
    c: Scalar
    s: Scalar
    along: Scalar


class SphericalWristArm(NamedTuple):
    """An arm of the family.

    In front means that the wrist's centre is on the positive side of the yaw axis, along the plane; a wrist is not
    flipped where joint 5 is turned the positive way from its stretched or folded posture.

    Attributes:
        across_m: how far the plane stands beside the yaw axis, along yaw axis times outward direction.
        plane: joints 2 and 3.
        wrist_turn: frame 3 in the plane's axes when the plane angle is 0; only the rotation counts.
        base_inverse: from the world to the base frame.
        after_inverse: from the tool back to the wrist's centre, in the axes that joint 6 turns.
    """

    family: str
    chain: Chain
    branches: tuple[str, ...]
    across_m: float
    plane: PlaneJoints
    wrist_turn: Frame
    base_inverse: Frame
    after_inverse: Frame

    @property
    def kept_joint(self) -> int:
        """Joint 4, which moves together with joint 6 where the wrist is straight."""
        return 3

    def solve(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """All branches for a tool frame in the world; see `hil.kernels.closed_form.ClosedForm.solve`.

        `exists` is the reach tolerance less the shortfall, for all branches of the same side.
        """
        return self._solve(wanted, rest, self._wrist, functions)

    def lever(self, free: float) -> float:
        """See `hil.kernels.closed_form.KeepingForm.lever`."""
        return max(-free, 0.0)

    def kept(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """The same with joint 4 held; see `hil.kernels.closed_form.KeepingForm.kept`."""
        return self._solve(wanted, rest, self._kept_wrist, functions)

    def _solve(self, wanted: Frame, rest: Sequence[Scalar], wrist: WristSolver, functions: Functions) -> list[Branch]:
        frame = wanted if self.base_inverse == IDENTITY else compose(self.base_inverse, wanted)
        frame = frame if self.after_inverse == IDENTITY else compose(frame, self.after_inverse)
        first = self.chain.rows[0]
        y = first.sin_alpha * (frame[11] - first.d)
        axes = frame[0:3], frame[3:6], frame[6:9]
        yaws, aside, free = self._yaws((frame[9], frame[10], y), rest[0], functions)
        rest4 = dh_value(self.chain.rows[3], rest[3])
        rest_direction = functions.cos(rest4), functions.sin(rest4)
        fifth = self.chain.rows[4]
        positive = fifth.sin_alpha * fifth.sign
        branches = []
        for yaw in yaws:
            reach = self.plane.solve(yaw.along - first.a, y, rest, functions)
            short = reach.short if aside is None else functions.sqrt(aside * aside + reach.short * reach.short)
            exists = REACH_TOLERANCE_M - short
            arm_free = _larger(free, reach.free, functions)
            seen = [_in_plane(axis, yaw, first.sin_alpha) for axis in axes]
            for posture in reach.postures:
                turned = [_turned_back(vector, posture) for vector in seen]
                q4, theta5, q6, tilt = wrist(turned, rest_direction, functions)
                wrist_free = _larger(arm_free, NEAR - tilt, functions)
                before = (yaw.q, *posture.q)
                for way in (1.0, -1.0):
                    half_turn = 0.0 if way == positive else math.pi
                    q5 = coordinate(fifth, way * positive * theta5)
                    branches.append(Branch((*before, q4 + half_turn, q5, q6 + half_turn), exists, wrist_free))
        return branches

    def _yaws(
        self, point: Vector, rest: Scalar, functions: Functions
    ) -> tuple[list[Yaw], Scalar | None, Scalar | None]:
        """Both ways to turn the plane onto a point; how far this falls short; where the turn is free.

        The point: two coordinates in the base frame, then the plane's y.
        """
        row = self.chain.rows[0]
        px, py, y = point
        if self.across_m == 0.0:
            distance = functions.sqrt(px * px + py * py)
            off_axis = distance - NEAR
            theta = dh_value(row, rest)
            px = functions.where(off_axis, px, functions.cos(theta))
            py = functions.where(off_axis, py, functions.sin(theta))
            scale = 1.0 / functions.where(off_axis, distance, 1.0)
            c, s, q = scale * px, scale * py, coordinate(row, functions.atan2(py, px))
            return [Yaw(q, c, s, distance), Yaw(q + math.pi, -c, -s, -distance)], None, -off_axis
        across = self.across_m
        px, py, distance = directed(px, py, functions)
        reached = drawn_out(distance, abs(across), functions)
        length = functions.sqrt((reached - across) * (reached + across))
        yaws = []
        for along in self._within_blur(length, y, functions):
            c, s = px * along + py * across, py * along - px * across
            scale = 1.0 / (distance * functions.sqrt(along * along + across * across))
            yaws.append(Yaw(coordinate(row, functions.atan2(s, c)), scale * c, scale * s, along))
        return yaws, functions.maximum(reached - distance, 0.0), None

    def _within_blur(self, length: Scalar, y: Scalar, functions: Functions) -> tuple[Scalar, Scalar]:
        """Both coordinates along the plane, moved to where joints 2 and 3 reach the point if that is within the blur.

        `BLUR_M` across the plane is some 1e-7 m along it for a point about as near to the yaw axis as the plane. That
        may decide about a straight elbow, or about a forearm folded to all but nothing.
        """
        ahead = self.chain.rows[0].a
        least, most = self.plane.ring_m
        blur = 2.0 * BLUR_M * abs(self.across_m)
        if ahead == 0.0 and (least == 0.0 or blur < REACH_TOLERANCE_M * least):
            return length, -length
        spare = blur / (2.0 * length + math.sqrt(blur))
        nearest = functions.sqrt(functions.maximum(least * least - y * y, 0.0)) if least > 0.0 else None
        farthest = functions.sqrt(functions.maximum(most * most - y * y, 0.0)) if math.isfinite(most) else None

        def lacking(away: Scalar) -> Scalar:
            way = 0.0 if nearest is None else functions.maximum(nearest - away, 0.0)
            if farthest is not None:
                way = way - functions.maximum(away - farthest, 0.0)
            return -functions.maximum(-functions.maximum(way, -spare), -spare)

        if ahead == 0.0:
            reached = length + lacking(length)
            return reached, -reached
        alongs = []
        for along in (length, -length):
            away = along - ahead
            way = lacking(functions.maximum(away, -away))
            alongs.append(along + functions.where(away, way, -way))
        return alongs[0], alongs[1]

    def _wrist(
        self, axes: Sequence[Vector], rest_direction: tuple[Scalar, Scalar], functions: Functions
    ) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """q4, theta5 and q6 for the wanted axes in the plane, and the sine of the angle between axes 4 and 6."""
        x, y, z = self._sixth_axis(axes[2])
        tilt = functions.sqrt(x * x + y * y)
        x = functions.where(tilt - NEAR, x, rest_direction[0])
        y = functions.where(tilt - NEAR, y, rest_direction[1])
        return self._wrist_angles(axes, (x, y, z), tilt, functions)

    def _kept_wrist(
        self, axes: Sequence[Vector], rest_direction: tuple[Scalar, Scalar], functions: Functions
    ) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """The same with axis 4 at rest, or opposite: joint 5 bends by what of axis 6 lies in the plane of its bend."""
        x, y, z = self._sixth_axis(axes[2])
        rest_x, rest_y = rest_direction
        along = x * rest_x + y * rest_y
        x, y = functions.where(along, rest_x, -rest_x), functions.where(along, rest_y, -rest_y)
        return self._wrist_angles(axes, (x, y, z), functions.maximum(along, -along), functions)

    def _sixth_axis(self, axis_z: Vector) -> Vector:
        """Axis 6 in the axes of frame 3."""
        third_x, third_y, third_z = self.wrist_turn[0:3], self.wrist_turn[3:6], self.wrist_turn[6:9]
        return _dot(third_x, axis_z), _dot(third_y, axis_z), _dot(third_z, axis_z)

    def _wrist_angles(
        self, axes: Sequence[Vector], direction: Vector, tilt: Scalar, functions: Functions
    ) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """The wrist's angles for a tilt of axis 6 towards (x, y) of `direction`; its z is that of axis 6."""
        axis_x, axis_y, _ = axes
        third_x, third_y = self.wrist_turn[0:3], self.wrist_turn[3:6]
        fourth, fifth, sixth = self.chain.rows[3:6]
        x, y, z = direction
        sign = fourth.sin_alpha * fifth.sin_alpha
        theta5 = functions.atan2(fifth.sin_alpha * tilt, -sign * z)
        # Axis 5 is at right angles to axis 4 and to (x, y); measured against it, theta6 suits any choice of theta4.
        theta6 = functions.atan2(
            sign * (y * _dot(third_x, axis_x) - x * _dot(third_y, axis_x)),
            sign * (y * _dot(third_x, axis_y) - x * _dot(third_y, axis_y)),
        )
        return coordinate(fourth, functions.atan2(y, x)), theta5, coordinate(sixth, theta6), tilt


class Elbow(NamedTuple):
    """Shoulder and elbow joints with parallel axes.

    Attributes:
        shoulder, elbow: rows 2 and 3.
        turn: +1 or -1, the direction in which joint 3 counts in the plane.
        upper_m: upper arm; may be negative.
        fore: from the elbow to the wrist's centre, in the plane, when theta3 is 0, metres.
        fore_m: its length.
        inner_m, outer_m: difference and sum of the lengths of upper arm and forearm: the reach around the shoulder.
    """

    shoulder: Row
    elbow: Row
    turn: float
    upper_m: float
    fore: tuple[float, float]
    fore_m: float
    inner_m: float
    outer_m: float

    @property
    def ring_m(self) -> tuple[float, float]:
        """Least and greatest distance from the shoulder."""
        return abs(self.inner_m), self.outer_m

    def names(self, side: float, up: float) -> tuple[str, ...]:
        """Elbow up where it lies above the line from the shoulder to a wrist farther out than the shoulder."""
        first_is_up = -side * up * self.upper_m > 0.0
        return ("elbow up", "elbow down") if first_is_up else ("elbow down", "elbow up")

    def solve(self, x: Scalar, y: Scalar, rest: Sequence[Scalar], functions: Functions) -> PlaneReach:
        """Law of cosines, as `hil.kernels.yaw_pitch.pitch_angles`; a point out of reach is drawn to the ring."""
        upper, inner, outer = self.upper_m, self.inner_m, self.outer_m
        x, y, distance = directed(x, y, functions)
        reached = drawn_out(distance, abs(inner), functions)
        reached = functions.where(outer - BLUR_M - reached, reached, outer)
        # The wrist's centre in the axes of the upper arm; its other posture is the mirror image.
        wrist_x = (reached * reached + inner * outer) / (2.0 * upper)
        product = (outer - reached) * (outer + reached) * (reached - inner) * (reached + inner)
        wrist_y = functions.sqrt(product) / (2.0 * abs(upper))
        from_elbow = wrist_x - upper
        bend = functions.atan2(wrist_y, from_elbow)
        straight = math.atan2(self.fore[1], self.fore[0])
        fore_x, fore_y = (length / (self.fore_m * self.fore_m) for length in self.fore)
        scale = 1.0 / (distance * functions.maximum(reached, DIVISOR_M))
        off_axis = distance - NEAR if inner == 0.0 else None
        postures = []
        for side in (1.0, -1.0):
            aside = side * wrist_y
            c2, s2 = scale * (x * wrist_x + y * aside), scale * (y * wrist_x - x * aside)
            q2, c2, s2 = shoulder_turn(self.shoulder, c2, s2, off_axis, rest[1], functions)
            c3, s3 = from_elbow * fore_x + aside * fore_y, aside * fore_x - from_elbow * fore_y
            q3 = coordinate(self.elbow, self.turn * (side * bend - straight))
            postures.append(PlanePosture((q2, q3), c2 * c3 - s2 * s3, s2 * c3 + c2 * s3))
        short = functions.maximum(reached - distance, distance - reached)
        return PlaneReach(postures, short, None if off_axis is None else -off_axis)


def recognise(chain: Chain) -> SphericalWristArm | None:
    """The arm if it has six turning joints: yaw, parallel shoulder and elbow, spherical wrist; else None.

    alpha1 is +-90 deg, alpha2 is 0 or 180 deg; alpha3, all of a1 to a3 and d1 to d4, and what follows joint 6 are
    free, as long as upper arm and forearm have a length.
    """
    rows = chain.rows
    if not all(row.revolute for row in rows) or not has_wrist(chain) or rows[1].sin_alpha != 0.0:
        return None
    turn = rows[1].cos_alpha
    fore = (rows[2].a, -turn * rows[2].sin_alpha * rows[3].d)
    upper_m, fore_m = rows[1].a, math.hypot(*fore)
    if abs(upper_m) < NEAR or fore_m < NEAR:
        return None
    elbow = Elbow(
        shoulder=rows[1],
        elbow=rows[2],
        turn=turn,
        upper_m=upper_m,
        fore=fore,
        fore_m=fore_m,
        inner_m=exact_length(abs(upper_m) - fore_m),
        outer_m=abs(upper_m) + fore_m,
    )
    return arm_of(
        "six axes with a spherical wrist",
        chain,
        elbow,
        offset_m=rows[1].d + turn * (rows[2].d + rows[2].cos_alpha * rows[3].d),
        wrist_turn=compose(alpha_turn(rows[1]), alpha_turn(rows[2])),
    )


def has_wrist(chain: Chain) -> bool:
    """Six joints, the last three turning about a common point at right angles, the first a yaw that carries a plane."""
    rows = chain.rows
    if len(rows) != 6 or not all(row.revolute for row in (rows[0], *rows[3:])) or rows[0].cos_alpha != 0.0:
        return False
    if rows[3].cos_alpha != 0.0 or rows[4].cos_alpha != 0.0:
        return False
    return all(exact_length(length) == 0.0 for length in (rows[3].a, rows[4].a, rows[4].d))


def arm_of(family: str, chain: Chain, plane: PlaneJoints, offset_m: float, wrist_turn: Frame) -> SphericalWristArm:
    """The arm, given joints 2 and 3.

    Args:
        family: in words.
        chain: with a wrist.
        plane: joints 2 and 3.
        offset_m: from frame 1 to the wrist's centre along the z axis of frame 1, which is the plane's normal.
        wrist_turn: frame 3 in the axes of frame 1 when the plane angle is 0.
    """
    first, last = chain.rows[0], chain.rows[5]
    after = compose((*IDENTITY[:11], last.d), compose((*IDENTITY[:9], last.a, 0.0, 0.0), alpha_turn(last)))
    up = first.sin_alpha if chain.base[8] >= 0.0 else -first.sin_alpha
    names = [
        f"{face}, {posture}, wrist {wrist}"
        for face, side in (("front", 1.0), ("back", -1.0))
        for posture in plane.names(side, up)
        for wrist in ("not flipped", "flipped")
    ]
    return SphericalWristArm(
        family=family,
        chain=chain,
        branches=tuple(names),
        across_m=-first.sin_alpha * exact_length(offset_m),
        plane=plane,
        wrist_turn=wrist_turn,
        base_inverse=invert(chain.base),
        after_inverse=invert(after if chain.tool is None else compose(after, chain.tool)),
    )


def dh_value(row: Row, q: Scalar) -> Scalar:
    """The angle theta of a turning joint at coordinate `q`."""
    return row.theta + row.sign * q


def coordinate(row: Row, theta: Scalar) -> Scalar:
    """The coordinate at which a turning joint has the angle `theta`."""
    return row.sign * (theta - row.theta)


def shoulder_turn(
    row: Row, c: Scalar, s: Scalar, off_axis: Scalar | None, rest: Scalar, functions: Functions
) -> tuple[Scalar, Scalar, Scalar]:
    """Coordinate, cosine and sine of joint 2: as given, or of the rest value where `off_axis` is negative."""
    if off_axis is not None:
        theta = dh_value(row, rest)
        c = functions.where(off_axis, c, functions.cos(theta))
        s = functions.where(off_axis, s, functions.sin(theta))
    return coordinate(row, functions.atan2(s, c)), c, s


def directed(x: Scalar, y: Scalar, functions: Functions) -> tuple[Scalar, Scalar, Scalar]:
    """A vector and its length; one without a direction is given a short one along x."""
    length = functions.sqrt(x * x + y * y)
    x, y = functions.where(length - DIVISOR_M, x, DIVISOR_M), functions.where(length - DIVISOR_M, y, 0.0)
    return x, y, functions.maximum(length, DIVISOR_M)


def drawn_out(distance: Scalar, least: float, functions: Functions) -> Scalar:
    """`distance`, or `least` where it is shorter than that or hardly longer."""
    return functions.where(distance - (least + (BLUR_M if least > 0.0 else NEAR)), distance, least)


def exact_length(length_m: float) -> float:
    """`length_m`, or 0 where it is the rounding of 0."""
    return 0.0 if abs(length_m) < NEAR else length_m


def alpha_turn(row: Row) -> Frame:
    """Rx(alpha)."""
    c, s = row.cos_alpha, row.sin_alpha
    return (1.0, 0.0, 0.0, 0.0, c, s, 0.0, -s, c, 0.0, 0.0, 0.0)


def _in_plane(vector: Vector, yaw: Yaw, sin_alpha: float) -> Vector:
    """A vector of the base frame in the axes of frame 1."""
    x, y, z = vector
    return yaw.c * x + yaw.s * y, sin_alpha * z, sin_alpha * (yaw.s * x - yaw.c * y)


def _turned_back(vector: Vector, posture: PlanePosture) -> Vector:
    x, y, z = vector
    return posture.c * x + posture.s * y, posture.c * y - posture.s * x, z


def _dot(constants: Sequence[float], vector: Vector) -> Scalar:
    """Product of a constant direction and a vector; most directions are axes."""
    terms = [component * c for c, component in zip(constants, vector, strict=True) if c != 0.0]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _larger(x: Scalar | None, y: Scalar | None, functions: Functions) -> Scalar:
    """The larger of those that are given."""
    if x is None or y is None:
        return y if x is None else x
    return functions.maximum(x, y)
