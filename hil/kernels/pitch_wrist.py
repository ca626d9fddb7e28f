"""Yaw, two parallel pitch axes, forearm roll and wrist bend: all branches for a full pose, over any scalar.

A spherical-wrist arm without its last roll. The wrist point gives yaw, shoulder and elbow (front or back, elbow up or
down); the bend axis, square to the forearm, gives the roll. Five axes meet six wishes: a pose mostly has one branch.
Where the wrist point knows an angle badly (on the yaw axis, or with a straight or folded elbow) the bend axis, being
square to the forearm, knows it better, and is asked instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hil.kernels import yaw_pitch as equations
from hil.kernels.chain import IDENTITY, Chain, Frame, compose, invert
from hil.kernels.closed_form import Branch
from hil.kernels.scalar import Functions, Scalar
from hil.kernels.yaw_pitch import PlaneArm
from hil.kernels.yaw_pitch_form import shape

REACH_TOLERANCE_M = 1e-9
"""A wrist this little outside the reach is a straight or folded elbow blurred by rounding."""

POSE_TOLERANCE = 1e-6
"""How far (radians) a pose that was given with rounding may be from one that five axes can take."""

NEAR_AXIS = 1e-6
"""Nearer to the yaw axis than this share of the reach, the wrist point alone does not give the yaw to nine digits."""

NEARLY_STRAIGHT = 1e-4
"""Below this sine of the elbow the wrist point loses digits of the forearm's angle, half of them in the end; a bend
axis with more than this in the arm's plane knows it better, and with less it hardly minds."""

OPEN = 1e-12
"""Below this neither point nor bend axis knows the yaw, or a point on the yaw axis does not tell front from back."""

LEAST_LENGTH_M = 1e-6


class _Hand(NamedTuple):
    """What a pose asks for, in the base frame: wrist point, bend axis, and the hand's x and y axes."""

    wrist: tuple[Scalar, Scalar, Scalar]
    bend_axis: tuple[Scalar, Scalar, Scalar]
    x_axis: tuple[Scalar, Scalar, Scalar]
    y_axis: tuple[Scalar, Scalar, Scalar]


class PitchWristForm(NamedTuple):
    """An arm of the family.

    Attributes:
        plane: the first three rows; its forearm leads from elbow to wrist, however row 3 and 4 are offset.
        forearm_rad: plane angle of the forearm from the x axis of frame 3.
        turn: +1 or -1, where the y axis of frame 3 lies along, or against, the plane's normal.
        bend_turn: +1 or -1, the sine of alpha4.
        up: +1 where the yaw axis points up in the world, -1 where it points down.
        after_inverse: from the tool to the hand, the frame after the last joint's own motion.
    """

    family: str
    chain: Chain
    branches: tuple[str, ...]
    plane: PlaneArm
    forearm_rad: float
    turn: float
    bend_turn: float
    up: float
    base_inverse: Frame
    after_inverse: Frame

    def solve(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """Front and back, each with elbow up and down; see `ClosedForm`."""
        first = self.chain.rows[0]
        kept = first.theta + first.sign * rest[0]
        hand = self._hand(wanted)
        px, py, _ = hand.wrist
        level = functions.sqrt(px * px + py * py)
        facing = functions.atan2(py, px)
        return [
            self._posture(hand, side, above, level, facing, kept, functions)
            for side in (1.0, -1.0)
            for above in (1.0, -1.0)
        ]

    @property
    def kept_joint(self) -> int:
        """Joint 1, which moves together with the roll, or the bend, where their axis is the yaw axis."""
        return 0

    def lever(self, free: float) -> float:
        """See `hil.kernels.closed_form.KeepingForm.lever`."""
        return max(-free, 0.0)

    def kept(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """The same with joint 1 held; see `hil.kernels.closed_form.KeepingForm.kept`."""
        first = self.chain.rows[0]
        theta1 = first.theta + first.sign * rest[0]
        hand = self._hand(wanted)
        along = hand.wrist[0] * functions.cos(theta1) + hand.wrist[1] * functions.sin(theta1)
        facing = functions.where(along, theta1, theta1 + math.pi)
        return [
            self._posture(hand, side, above, functions.maximum(along, -along), facing, None, functions)
            for side in (1.0, -1.0)
            for above in (1.0, -1.0)
        ]

    def _hand(self, wanted: Frame) -> _Hand:
        seen = wanted if self.base_inverse == IDENTITY else compose(self.base_inverse, wanted)
        x0, x1, x2, y0, y1, y2, z0, z1, z2, px, py, pz = compose(seen, self.after_inverse)
        d = self.chain.rows[4].d
        return _Hand((px - d * z0, py - d * z1, pz - d * z2), (z0, z1, z2), (x0, x1, x2), (y0, y1, y2))

    def _posture(
        self,
        hand: _Hand,
        side: float,
        above: float,
        level: Scalar,
        facing: Scalar,
        rest: Scalar | None,
        functions: Functions,
    ) -> Branch:
        """One branch; `level` is the wrist's distance from the yaw axis, `facing` the yaw towards it.

        Without a rest value `facing` is the yaw whatever the pose says.
        """
        arm = self.plane
        bend = -above * side * arm.y_along_yaw * self.up
        x, y = equations.plane_coordinates(arm, side * level, hand.wrist[2])
        to_wrist, inner, outer, _ = equations.elbow_triangle(arm, x, y, functions)
        frame3 = to_wrist + bend * (outer - inner) - self.forearm_rad
        if rest is None:
            theta1, free = facing if side > 0.0 else facing + math.pi, 0.0
        else:
            theta1, free = self._yaw(hand, side, level, facing, frame3, rest, functions)
        cos1, sin1 = functions.cos(theta1), functions.sin(theta1)
        frame3 = self._squared_to_bend_axis(hand, cos1, sin1, frame3, functions.sin(outer), functions)
        # The shoulder is where the elbow then has to be; without a blur it is the triangle's own.
        forearm = frame3 + self.forearm_rad
        elbow_x, elbow_y = x - arm.a3_m * functions.cos(forearm), y - arm.a3_m * functions.sin(forearm)
        theta2 = functions.atan2(elbow_y, elbow_x)
        theta4, theta5, skew = self._wrist(hand, cos1, sin1, frame3, functions)
        upper_arm = functions.sqrt(elbow_x * elbow_x + elbow_y * elbow_y) - arm.a2_m
        beside_x, beside_y = side * level * cos1 - hand.wrist[0], side * level * sin1 - hand.wrist[1]
        beside = functions.sqrt(beside_x * beside_x + beside_y * beside_y)
        off = functions.maximum(functions.maximum(skew, -skew), beside) - POSE_TOLERANCE
        stretch = functions.maximum(upper_arm, -upper_arm) - REACH_TOLERANCE_M
        thetas = (theta1, theta2, arm.turn3 * (frame3 - theta2), theta4, theta5)
        q = tuple((v - row.theta) * row.sign for v, row in zip(thetas, self.chain.rows, strict=True))
        return Branch(q, -functions.maximum(off, stretch), free)

    def _wrist(
        self, hand: _Hand, cos1: Scalar, sin1: Scalar, frame3: Scalar, functions: Functions
    ) -> tuple[Scalar, Scalar, Scalar]:
        """theta4, theta5, and how much of the bend axis lies along the forearm's roll axis, where none should."""
        cos3, sin3 = functions.cos(frame3), functions.sin(frame3)
        x, y, out = equations.seen_in_plane(self.plane, hand.bend_axis, cos1, sin1)
        theta4 = functions.atan2(self.bend_turn * (cos3 * x + sin3 * y), -self.bend_turn * self.turn * out)
        sine5, cosine5 = (
            self.bend_turn * self.turn * (sin3 * u - cos3 * v)
            for u, v, _ in (
                equations.seen_in_plane(self.plane, axis, cos1, sin1) for axis in (hand.x_axis, hand.y_axis)
            )
        )
        return theta4, functions.atan2(sine5, cosine5), sin3 * x - cos3 * y

    def _yaw(
        self,
        hand: _Hand,
        side: float,
        level: Scalar,
        facing: Scalar,
        frame3: Scalar,
        rest: Scalar,
        functions: Functions,
    ) -> tuple[Scalar, Scalar]:
        """theta1 from the point, or near the yaw axis from the bend axis; and not negative where it is open.

        The forearm direction (sin f, -cos f) of frame 3's angle f has to be square to the bend axis z:
        sin f |z_xy| cos(theta1 - angle of z_xy) = y_along_yaw z_z cos f.
        """
        zx, zy, zz = hand.bend_axis
        sin3, cos3 = functions.sin(frame3), functions.cos(frame3)
        wish_x, wish_y = sin3 * zx, sin3 * zy
        height = self.plane.y_along_yaw * zz * cos3
        strength = wish_x * wish_x + wish_y * wish_y
        middle = functions.atan2(wish_y, wish_x)
        half = functions.atan2(functions.sqrt(functions.maximum(strength - height * height, 0.0)), height)
        point = facing if side > 0.0 else facing + math.pi
        # Of the two roots take the one that the point means; a point on the axis means both, one for each side.
        nearest = functions.sin(point - middle)
        if side < 0.0:
            nearest = functions.where(OPEN - level, -functions.sin(facing - middle), nearest)
        axis = middle + functions.where(nearest, half, -half)
        reach = self.plane.a2_m + self.plane.a3_m
        share = level / reach
        knows = functions.sqrt(strength)
        by_point = functions.maximum(share - NEAR_AXIS, share - knows)
        theta1 = functions.where(by_point, point, axis)
        free = OPEN - functions.maximum(share, knows)
        return functions.where(free, rest if side > 0.0 else rest + math.pi, theta1), free

    def _squared_to_bend_axis(
        self, hand: _Hand, cos1: Scalar, sin1: Scalar, frame3: Scalar, sine: Scalar, functions: Functions
    ) -> Scalar:
        """The angle of frame 3; with an elbow nearly straight or folded the one that is square to the bend axis."""
        x, y, _ = equations.seen_in_plane(self.plane, hand.bend_axis, cos1, sin1)
        agrees = functions.where(functions.cos(frame3) * x + functions.sin(frame3) * y, 1.0, -1.0)
        knows = functions.sqrt(x * x + y * y)
        by_point = functions.maximum(sine - NEARLY_STRAIGHT, NEARLY_STRAIGHT - knows)
        return functions.where(by_point, frame3, functions.atan2(agrees * y, agrees * x))


def recognise(chain: Chain) -> PitchWristForm | None:
    """The closed form if the DH table has the family's structure, else None.

    The structure: five revolute axes; alpha1, alpha3 and alpha4 are +-90 deg, alpha2 is 0 or 180 deg; d2, d3 and a4
    are 0; upper arm and forearm differ in length. Any base and tool are allowed.
    """
    rows = chain.rows
    if len(rows) != 5 or not all(row.revolute for row in rows):
        return None
    if any(rows[i].cos_alpha != 0.0 for i in (0, 2, 3)) or rows[1].sin_alpha != 0.0:
        return None
    if rows[1].d != 0.0 or rows[2].d != 0.0 or rows[3].a != 0.0:
        return None
    turn3 = rows[1].cos_alpha
    turn = turn3 * rows[2].sin_alpha
    forearm = math.hypot(rows[2].a, rows[3].d)
    if min(rows[1].a, forearm, abs(rows[1].a - forearm)) < LEAST_LENGTH_M:
        return None
    after = shape(rows[4]) if chain.tool is None else compose(shape(rows[4]), chain.tool)
    return PitchWristForm(
        family="yaw, two parallel pitch axes, forearm roll and wrist bend",
        chain=chain,
        branches=tuple(f"{side}, elbow {elbow}" for side in ("front", "back") for elbow in ("up", "down")),
        plane=PlaneArm(rows[0].a, rows[0].d, rows[0].sin_alpha, rows[1].a, forearm, turn3, turn3),
        forearm_rad=math.atan2(-turn * rows[3].d, rows[2].a),
        turn=turn,
        bend_turn=rows[3].sin_alpha,
        up=1.0 if chain.base[8] >= 0.0 else -1.0,
        base_inverse=invert(chain.base),
        after_inverse=invert(after),
    )
