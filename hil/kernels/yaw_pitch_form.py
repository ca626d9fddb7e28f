"""Yaw, three parallel pitch axes, and a roll axis or none: all branches for a full pose, over any scalar.

With a roll axis, point and tool axis both say which way the arm's plane faces; each knows it as well as it lies away
from the yaw axis. Their sum, each with that weight, is exact to rounding wherever one of them knows, so that poses on
and beside the yaw axis need no case of their own. Without a roll axis the orientation alone gives the yaw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hil.kernels import yaw_pitch as equations
from hil.kernels.chain import IDENTITY, Chain, Frame, Row, compose, invert
from hil.kernels.closed_form import Branch
from hil.kernels.scalar import Functions, Scalar
from hil.kernels.yaw_pitch import PlaneArm

REACH_TOLERANCE_M = 1e-9
"""A wrist this little outside the reach is a straight or folded elbow blurred by rounding."""

POSE_TOLERANCE = 1e-6
"""How far (metres, radians) a pose that was given with rounding may lie beside what the arm's plane can hold."""

OPEN = 1e-10
"""Below this, as a share of the reach and as a sine, neither point nor tool axis knows the yaw."""

FOLDED_M = 1e-10
"""A wrist this near to the shoulder leaves the shoulder open."""

TANGENT = 1e-8
"""Weight of the point where the plane just touches its circle: it still knows the yaw to half of all digits."""

NO_OFFSET_M = 1e-12


class Plane(NamedTuple):
    """One way to turn the arm's plane.

    Attributes:
        theta1: the yaw, with its cosine and sine.
        along: the hand's point away from the yaw axis, metres; negative behind it.
        free: not negative where the yaw was open.
    """

    theta1: Scalar
    cos: Scalar
    sin: Scalar
    along: Scalar
    free: Scalar


class YawPitchForm(NamedTuple):
    """An arm of the family. The hand is the frame after the last joint's own motion, in the base frame.

    Attributes:
        across_m: how far the wrist's plane stands beside the yaw axis, along yaw axis times outward direction.
        up: +1 where the yaw axis points up in the world, -1 where it points down.
        after: from the hand to the tool.
        roll: row of the roll axis, or None.
        roll_turn: +1 or -1, where the roll joint's y axis lies along, or against, the plane's normal.
        tail: from the wrist to the hand, in the plane, when the plane angles add up to 0, metres.
    """

    family: str
    chain: Chain
    branches: tuple[str, ...]
    plane: PlaneArm
    across_m: float
    up: float
    base_inverse: Frame
    after: Frame
    after_inverse: Frame
    roll: Row | None
    roll_turn: float
    tail: tuple[float, float]

    def solve(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """Front and back, each with elbow up and down; see `ClosedForm`."""
        rows = self.chain.rows
        kept = [row.theta + row.sign * value for row, value in zip(rows[:2], rest, strict=False)]
        hand = self.hand(wanted)
        branches = []
        for side, plane in zip((1.0, -1.0), self.planes(hand, kept[0], functions), strict=True):
            branches += self._postures(hand, plane, side, kept[1], functions)
        return branches

    @property
    def kept_joint(self) -> int:
        """Joint 1, which moves together with the roll where the tool points along the yaw axis."""
        return 0

    def lever(self, free: float) -> float:
        """See `hil.kernels.closed_form.KeepingForm.lever`: here `free` is a square."""
        return math.sqrt(max(-free, 0.0))

    def kept(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """The same with joint 1 held; see `hil.kernels.closed_form.KeepingForm.kept`. Empty without a roll axis."""
        if self.roll is None:
            return []
        theta1, shoulder = (row.theta + row.sign * value for row, value in zip(self.chain.rows[:2], rest, strict=False))
        hand = self.hand(wanted)
        c, s = functions.cos(theta1), functions.sin(theta1)
        along = hand[9] * c + hand[10] * s
        if self.across_m == 0.0:
            # The arm faces the point, whichever way it stands: who crosses the axis comes from front to back.
            way = functions.where(along, 1.0, -1.0)
            facing = functions.where(along, theta1, theta1 + math.pi)
            front = Plane(facing, way * c, way * s, way * along, 0.0)
            back = Plane(facing + math.pi, -way * c, -way * s, -way * along, 0.0)
        else:
            front = back = Plane(theta1, c, s, along, 0.0)
        return [
            *self._postures(hand, front, 1.0, shoulder, functions),
            *self._postures(hand, back, -1.0, shoulder, functions),
        ]

    def hand(self, wanted: Frame) -> Frame:
        """The hand that goes with a tool frame in the world."""
        seen = wanted if self.base_inverse == IDENTITY else compose(self.base_inverse, wanted)
        return seen if self.after_inverse == IDENTITY else compose(seen, self.after_inverse)

    def planes(self, hand: Frame, rest: Scalar, functions: Functions) -> tuple[Plane, Plane]:
        """Facing the hand, and with the back to it. `rest` is the yaw (theta1) to keep where it is open."""
        if self.roll is None:
            plane = self._plane_of_normal(hand, functions)
            return plane, plane
        if self.across_m == 0.0:
            front = self._plane_of_roll_axis(hand, 1.0, rest, functions)
            return front, Plane(front.theta1 + math.pi, -front.cos, -front.sin, -front.along, front.free)
        return (
            self._plane_of_roll_axis(hand, 1.0, rest, functions),
            self._plane_of_roll_axis(hand, -1.0, rest, functions),
        )

    def seen(self, direction: Sequence[Scalar], plane: Plane) -> tuple[Scalar, Scalar, Scalar]:
        """A direction of the base frame in the axes of frame 1: in the plane, and out of it along its normal."""
        return equations.seen_in_plane(self.plane, direction, plane.cos, plane.sin)

    def bearing(self, hand: Frame, plane: Plane) -> tuple[Scalar, Scalar]:
        """Cosine and sine of the sum of the plane angles that the hand asks for, both times one positive factor."""
        if self.roll is None:
            x, y, _ = self.seen(hand[0:3], plane)
            return x, y
        x, y, _ = self.seen(hand[6:9], plane)
        return -self.roll_turn * y, self.roll_turn * x

    def _plane_of_normal(self, hand: Frame, functions: Functions) -> Plane:
        """Without roll, the hand's z axis is the plane's normal, up to the flips of rows 2 and 3."""
        turn = self.plane.y_along_yaw * self.plane.turn4
        x, y = -turn * hand[7], turn * hand[6]
        length = functions.sqrt(functions.maximum(x * x + y * y, OPEN * OPEN))
        cos, sin = x / length, y / length
        return Plane(functions.atan2(y, x), cos, sin, hand[9] * cos + hand[10] * sin, -1.0)

    def _plane_of_roll_axis(self, hand: Frame, side: float, rest: Scalar, functions: Functions) -> Plane:
        """The roll axis lies in the plane, the point in it or `across_m` beside it."""
        px, py = hand[9], hand[10]
        across, reach = self.across_m, self.plane.a2_m + self.plane.a3_m + math.hypot(*self.tail)
        if across == 0.0:
            x, y = side * px / reach, side * py / reach
        else:
            level = px * px + py * py
            along = functions.sqrt(functions.maximum(level - across * across, 0.0))
            weight = (along / reach + TANGENT) / functions.maximum(level, across * across)
            x, y = weight * (side * along * px + across * py), weight * (side * along * py - across * px)
        agrees = functions.where(x * hand[6] + y * hand[7], 1.0, -1.0)
        x, y = x + agrees * hand[6], y + agrees * hand[7]
        length = functions.sqrt(functions.maximum(x * x + y * y, OPEN * OPEN))
        known = x * x + y * y - OPEN * OPEN
        cos = functions.where(known, x / length, functions.cos(rest))
        sin = functions.where(known, y / length, functions.sin(rest))
        theta1 = functions.where(known, functions.atan2(y, x), rest)
        return Plane(theta1, cos, sin, px * cos + py * sin, -known)

    def _postures(self, hand: Frame, plane: Plane, side: float, rest: Scalar, functions: Functions) -> list[Branch]:
        """Elbow up and elbow down in one plane. `rest` is the theta2 to keep where the shoulder is open."""
        arm = self.plane
        c, s = self.bearing(hand, plane)
        phi = functions.atan2(s, c)
        length = functions.sqrt(functions.maximum(c * c + s * s, OPEN * OPEN))
        c, s = c / length, s / length
        x, y = equations.plane_coordinates(arm, plane.along, hand[11])
        to_wrist, inner, outer, squared = equations.elbow_triangle(
            arm, x - (c * self.tail[0] - s * self.tail[1]), y - (s * self.tail[0] + c * self.tail[1]), functions
        )
        # With the forearm folded back onto the shoulder every shoulder angle holds the wrist there.
        folded = FOLDED_M**2 - squared
        free = functions.maximum(plane.free, folded)
        exists = self._exists(hand, plane, side, squared, functions)
        roll = self._roll(hand, plane, functions)
        branches = []
        for above in (1.0, -1.0):
            bend = -above * side * arm.y_along_yaw * self.up
            elbow = bend * outer
            shoulder = functions.where(folded, rest, to_wrist - bend * inner)
            thetas = [plane.theta1, shoulder, arm.turn3 * elbow, arm.turn4 * (phi - shoulder - elbow), *roll]
            q = tuple((v - row.theta) * row.sign for v, row in zip(thetas, self.chain.rows, strict=True))
            branches.append(Branch(q, exists, free))
        return branches

    def _roll(self, hand: Frame, plane: Plane, functions: Functions) -> list[Scalar]:
        """theta5, if there is one: how the hand's x and y axes lie to the plane's normal."""
        if self.roll is None:
            return []
        sine, cosine = self.seen(hand[0:3], plane)[2], self.seen(hand[3:6], plane)[2]
        return [functions.atan2(self.roll_turn * sine, self.roll_turn * cosine)]

    def _exists(self, hand: Frame, plane: Plane, side: float, squared: Scalar, functions: Functions) -> Scalar:
        """Point and orientation within what the plane can hold, wrist within its ring."""
        beside = plane.cos * hand[10] - plane.sin * hand[9] - self.across_m
        x, y, out = self.seen(hand[6:9], plane)
        tilt = functions.sqrt(x * x + y * y) if self.roll is None else functions.maximum(out, -out)
        off = functions.maximum(functions.maximum(beside, -beside), tilt) - POSE_TOLERANCE
        ring = equations.overshoot(self.plane, squared, functions) - REACH_TOLERANCE_M
        exists = -functions.maximum(off, ring)
        if self.roll is not None:
            return exists
        # The orientation has decided between front and back.
        if side > 0.0:
            return functions.where(plane.along, exists, plane.along)
        return functions.where(plane.along, -plane.along - REACH_TOLERANCE_M, exists)


def recognise(chain: Chain) -> YawPitchForm | None:
    """The closed form if the DH table has the family's structure, else None.

    The structure: 4 or 5 revolute axes; alpha1 is +-90 deg, alpha2 and alpha3 are 0 or 180 deg, and with five axes
    alpha4 is +-90 deg; upper arm and forearm have a length. Offsets d and a of any row, any base and any tool are
    allowed.
    """
    rows = chain.rows
    if len(rows) not in (4, 5) or not all(row.revolute for row in rows):
        return None
    if rows[0].cos_alpha != 0.0 or rows[1].sin_alpha != 0.0 or rows[2].sin_alpha != 0.0:
        return None
    if rows[1].a <= 0.0 or rows[2].a <= 0.0 or (len(rows) == 5 and rows[3].cos_alpha != 0.0):
        return None
    turn3 = rows[1].cos_alpha
    turn4 = turn3 * rows[2].cos_alpha
    roll = rows[4] if len(rows) == 5 else None
    roll_turn = turn4 * rows[3].sin_alpha
    across = -rows[0].sin_alpha * (rows[1].d + turn3 * rows[2].d + turn4 * rows[3].d)
    after = shape(rows[-1]) if chain.tool is None else compose(shape(rows[-1]), chain.tool)
    return YawPitchForm(
        family=f"yaw and three parallel pitch axes, {'no roll axis' if roll is None else 'and a roll axis'}",
        chain=chain,
        branches=tuple(f"{side}, elbow {elbow}" for side in ("front", "back") for elbow in ("up", "down")),
        plane=PlaneArm(rows[0].a, rows[0].d, rows[0].sin_alpha, rows[1].a, rows[2].a, turn3, turn4),
        across_m=0.0 if abs(across) < NO_OFFSET_M else across,
        up=1.0 if chain.base[8] >= 0.0 else -1.0,
        base_inverse=invert(chain.base),
        after=after,
        after_inverse=invert(after),
        roll=roll,
        roll_turn=roll_turn,
        tail=(0.0, 0.0) if roll is None else (rows[3].a, -roll_turn * roll.d),
    )


def shape(row: Row) -> Frame:
    """Tx(a) Rx(alpha): what a row has after its joint's own motion."""
    return (
        *(1.0, 0.0, 0.0),
        *(0.0, row.cos_alpha, row.sin_alpha),
        *(0.0, -row.sin_alpha, row.cos_alpha),
        *(row.a, 0.0, 0.0),
    )
