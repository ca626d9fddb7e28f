"""Closed-form inverse of six axes of which the second, third and fourth are parallel, as in UR arms.

The three parallel axes work in a plane that stands beside the first axis at a constant distance: that gives the
first angle (left or right). The last axis then shows the fifth angle (two signs) and the direction of the fifth
axis in the plane, and two links reach for the wrist (elbow up or down): 8 branches. The order is that of
K. P. Hawkins, Analytic Inverse Kinematics for the Universal Robots UR-5/UR-10 Arms (2013), for any offsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from hil.kernels.chain import Chain, Frame, Row
from hil.kernels.closed_form import Branch
from hil.kernels.planar import (
    FREE,
    REACH_TOLERANCE_M,
    SHORTEST_LINK_M,
    Ends,
    beyond,
    can_fold,
    ends_of,
    smaller,
    two_links,
)
from hil.kernels.scalar import Functions, Scalar
from hil.kernels.yaw_pitch import yaw_angle

SMALLEST = 1e-30
"""Keeps a division defined where its result is not used, with single precision as well."""

ROUNDING_M = 1e-15
"""A sum of the arm's lengths below this is what rounding left of 0; a larger one is an offset, however small."""


class Seen(NamedTuple):
    """The frame that joints 1 to 6 have to give, in the axes of frame 1, with the wrist seen from the shoulder."""

    x: tuple[Scalar, Scalar, Scalar]
    y: tuple[Scalar, Scalar, Scalar]
    z: tuple[Scalar, Scalar, Scalar]
    wrist: tuple[Scalar, Scalar]


class Wrist(NamedTuple):
    """One way to turn the wrist.

    Attributes:
        phi: plane angle of frame 4's x axis.
        point: joint 4, from the shoulder, in the plane.
    """

    theta5: Scalar
    phi: Scalar
    theta6: Scalar
    point: tuple[Scalar, Scalar]


WristsSolver: TypeAlias = Callable[[Seen, Scalar, Functions], tuple[list[Wrist], Scalar]]
"""What is seen and the rest value of theta6, to both ways to turn the wrist, and where they are free."""


class ParallelAxesArm(NamedTuple):
    """An arm of the family.

    Attributes:
        across_m: how far the wrist's plane stands beside the first axis, along first axis times outward
            direction.
        turn3, turn4: +1 or -1, the direction in which joints 3 and 4 count in the plane.
        sense4: +1 or -1, the direction of frame 4's y axis along the plane's normal.
        tail_m: from joint 4 to the wrist, in the plane, when frame 4's x axis lies along the plane's x axis.
        upper_m, fore_m: lengths of the two links.
        upper_rad, fore_rad: their directions in their own frames, 0 or pi.
    """

    family: str
    chain: Chain
    branches: tuple[str, ...]
    ends: Ends
    across_m: float
    turn3: float
    turn4: float
    sense4: float
    tail_m: tuple[float, float]
    upper_m: float
    upper_rad: float
    fore_m: float
    fore_rad: float

    @property
    def kept_joint(self) -> int:
        """Joint 6, which moves together with joints 2 to 4 where the last axis is parallel to theirs."""
        return 5

    def solve(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """Left or right, wrist not flipped or flipped, elbow one way or the other; see `ClosedForm`."""
        return self._solve(wanted, rest, self._wrists, functions)

    def lever(self, free: float) -> float:
        """See `hil.kernels.closed_form.KeepingForm.lever`."""
        return max(-free, 0.0)

    def kept(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """The same with joint 6 held; see `hil.kernels.closed_form.KeepingForm.kept`."""
        return self._solve(wanted, rest, self._kept_wrists, functions)

    def _solve(self, wanted: Frame, rest: Sequence[Scalar], wrists: WristsSolver, functions: Functions) -> list[Branch]:
        frame = self.ends.between(wanted)
        thetas = [row.theta + row.sign * v for row, v in zip(self.chain.rows, rest, strict=True)]
        radius = functions.sqrt(frame[9] * frame[9] + frame[10] * frame[10])
        yaw_lacking: Scalar = 0.0
        yaw_free: Scalar = -1.0
        if self.across_m == 0.0:
            yaw_free = FREE - radius
        else:
            yaw_lacking = beyond(radius - abs(self.across_m), REACH_TOLERANCE_M, functions)
        result = []
        for side in (1.0, -1.0):
            theta1, along = yaw_angle(frame[9], frame[10], self.across_m, side, functions)
            if self.across_m == 0.0:
                turned = thetas[0] if side > 0.0 else thetas[0] + math.pi
                theta1 = functions.where(yaw_free, turned, theta1)
            seen = _seen(self.chain.rows[0], frame, theta1, along, functions)
            for branch in self._arms(seen, theta1, thetas, wrists, functions):
                exists = smaller(branch.exists, yaw_lacking, functions)
                result.append(Branch(branch.q, exists, functions.maximum(branch.free, yaw_free)))
        return result

    def _arms(
        self, seen: Seen, theta1: Scalar, rest: Sequence[Scalar], solver: WristsSolver, functions: Functions
    ) -> list[Branch]:
        """The four branches of one first angle."""
        wrists, wrist_free = solver(seen, rest[5], functions)
        result = []
        for wrist in wrists:
            reach = two_links(self.upper_m, self.fore_m, *wrist.point, functions)
            lacking = beyond(reach.margin_m, REACH_TOLERANCE_M, functions)
            free = wrist_free
            shoulder_free: Scalar = -1.0
            if can_fold(self.upper_m, self.fore_m):
                shoulder_free = FREE - reach.distance_m
                free = functions.maximum(free, shoulder_free)
            for bend in (1.0, -1.0):
                upper = reach.bearing - bend * reach.spread
                if can_fold(self.upper_m, self.fore_m):
                    upper = functions.where(shoulder_free, rest[1] + self.upper_rad, upper)
                theta2 = upper - self.upper_rad
                elbow = bend * reach.elbow + (self.upper_rad - self.fore_rad)
                theta4 = self.turn4 * (wrist.phi - theta2 - elbow)
                found = (theta1, theta2, self.turn3 * elbow, theta4, wrist.theta5, wrist.theta6)
                q = tuple(row.sign * (v - row.theta) for row, v in zip(self.chain.rows, found, strict=True))
                result.append(Branch(q, lacking, free))
        return result

    def _wrists(self, seen: Seen, rest6: Scalar, functions: Functions) -> tuple[list[Wrist], Scalar]:
        """Both signs of theta5; where its sine vanishes, theta6 is free.

        In the axes of frame 1, with phi the plane angle of frame 4's x axis, s = sin theta5 and c = cos theta5:
        x4 = (cos phi, sin phi, 0), y4 = (0, 0, sense4), z4 = sense4 (sin phi, -cos phi, 0),
        z5 = sin(alpha5) (s x4 - c y4), and the last axis is z5.
        """
        sense5 = self.chain.rows[4].sin_alpha
        zx, zy, zz = seen.z
        sine = functions.sqrt(zx * zx + zy * zy)
        cosine = -sense5 * self.sense4 * zz
        bend5 = functions.atan2(sine, cosine)
        free = FREE - sine
        open_x, open_y = _open_direction(seen, cosine, rest6, functions)
        scale = sense5 / functions.maximum(sine, FREE)
        wrists = []
        for flip in (1.0, -1.0):
            towards_x = functions.where(free, open_x, flip * scale * zx)
            towards_y = functions.where(free, open_y, flip * scale * zy)
            phi = functions.atan2(*self._within_reach(seen.wrist, sine, towards_x, towards_y, functions))
            c, s = functions.cos(phi), functions.sin(phi)
            # theta6 follows from the angles before it, so that it takes up whatever rounding left in phi.
            x5 = (cosine * c, cosine * s, self.sense4 * flip * sine)
            y5 = (sense5 * self.sense4 * s, -sense5 * self.sense4 * c)
            turned = y5[0] * seen.x[0] + y5[1] * seen.x[1] - _dot(x5, seen.y)
            kept = _dot(x5, seen.x) + y5[0] * seen.y[0] + y5[1] * seen.y[1]
            wrists.append(Wrist(flip * bend5, phi, functions.atan2(turned, kept), self._fourth(seen, c, s)))
        return wrists, free

    def _kept_wrists(self, seen: Seen, rest6: Scalar, functions: Functions) -> tuple[list[Wrist], Scalar]:
        """The same with theta6 at rest, or half a turn from it, whichever bends joint 5 the way that the branch says.

        x5 = cos theta6 x6 - sin theta6 y6 then stands where it shall, and the tool lacks a turn about it.
        """
        c6, s6 = functions.cos(rest6), functions.sin(rest6)
        x5, y5, z5 = (c6 * x - s6 * y for x, y in zip(seen.x, seen.y, strict=True))
        cosine = -self.chain.rows[4].sin_alpha * self.sense4 * seen.z[2]
        sign = functions.where(cosine, 1.0, -1.0)
        wrists = []
        for flip in (1.0, -1.0):
            bends = flip * self.sense4 * z5
            way = functions.where(bends, 1.0, -1.0)
            phi = functions.atan2(way * sign * y5, way * sign * x5)
            theta5 = functions.atan2(way * self.sense4 * z5, cosine)
            point = self._fourth(seen, functions.cos(phi), functions.sin(phi))
            wrists.append(Wrist(theta5, phi, functions.where(bends, rest6, rest6 + math.pi), point))
        return wrists, 0.0

    def _fourth(self, seen: Seen, c: Scalar, s: Scalar) -> tuple[Scalar, Scalar]:
        """Joint 4, from the shoulder, where frame 4 stands at the plane angle with these cosine and sine."""
        tail_x, tail_y = self.tail_m
        return seen.wrist[0] - (c * tail_x - s * tail_y), seen.wrist[1] - (s * tail_x + c * tail_y)

    def _within_reach(
        self, wrist: tuple[Scalar, Scalar], sine: Scalar, x: Scalar, y: Scalar, functions: Functions
    ) -> tuple[Scalar, Scalar]:
        """Sine and cosine of the direction nearest to (x, y) for which the two links reach, if it costs nothing.

        Joint 4 travels on a circle about the wrist, part of which may be out of reach. While the last axis is
        (nearly) square to the plane, joints 2, 3, 4 and 6 can move together, and so rounding, or a rest value,
        may have led to that part. Turning frame 4 then changes the tool's orientation by `sine` times the turn.
        """
        tail_x, tail_y = self.tail_m
        tail_squared = tail_x * tail_x + tail_y * tail_y
        if tail_squared == 0.0:
            return y, x
        wrist_x, wrist_y = wrist
        squared = wrist_x * wrist_x + wrist_y * wrist_y
        turned_x, turned_y = x * tail_x - y * tail_y, y * tail_x + x * tail_y
        along = wrist_x * turned_x + wrist_y * turned_y
        across = wrist_x * turned_y - wrist_y * turned_x
        # |wrist - tail|^2 between inner^2 and outer^2 is the same as `along` between these two.
        outer, inner = self.upper_m + self.fore_m, self.upper_m - self.fore_m
        least = 0.5 * (squared + (tail_squared - outer * outer))
        most = 0.5 * (squared + (tail_squared - inner * inner))
        span = functions.sqrt(squared * tail_squared)
        allowed = functions.maximum(smaller(along, most, functions), least)
        allowed = functions.maximum(smaller(allowed, span, functions), -span)
        beside = functions.sqrt(functions.maximum((span - allowed) * (span + allowed), 0.0))
        beside = functions.where(across, beside, -beside)
        # Back from the angle between wrist and tail to the direction itself.
        scale = 1.0 / functions.maximum(squared * tail_squared, SMALLEST)
        back_x, back_y = wrist_x * tail_x + wrist_y * tail_y, wrist_y * tail_x - wrist_x * tail_y
        new_x, new_y = scale * (allowed * back_x - beside * back_y), scale * (beside * back_x + allowed * back_y)
        shift_x, shift_y = new_x - x, new_y - y
        cost = sine * functions.sqrt(shift_x * shift_x + shift_y * shift_y)
        moves = smaller(functions.maximum(least - along, along - most), 2.0 * FREE - cost, functions)
        return functions.where(moves, new_y, y), functions.where(moves, new_x, x)


def recognise(chain: Chain) -> ParallelAxesArm | None:
    """The arm if its DH table has the family's structure, else None.

    Six revolute axes; alpha1, alpha4 and alpha5 are +-90 deg, alpha2 and alpha3 0 or 180 deg; a2 and a3 are not
    0, a5 is. All other offsets, base and tool may be anything.
    """
    rows = chain.rows
    if len(rows) != 6 or not all(row.revolute for row in rows):
        return None
    if any(rows[i].cos_alpha != 0.0 for i in (0, 3, 4)) or any(rows[i].sin_alpha != 0.0 for i in (1, 2)):
        return None
    if min(abs(rows[1].a), abs(rows[2].a)) < SHORTEST_LINK_M or rows[4].a != 0.0:
        return None
    turn3 = rows[1].cos_alpha
    turn4 = turn3 * rows[2].cos_alpha
    sense4 = rows[3].sin_alpha * turn4
    across_m = -rows[0].sin_alpha * (rows[1].d + turn3 * rows[2].d + turn4 * rows[3].d)
    if abs(across_m) < ROUNDING_M:
        across_m = 0.0
    return ParallelAxesArm(
        family="six axes, three of them parallel",
        chain=chain,
        branches=_branch_names(chain, across_m),
        ends=ends_of(chain),
        across_m=across_m,
        turn3=turn3,
        turn4=turn4,
        sense4=sense4,
        tail_m=(rows[3].a, -sense4 * rows[4].d),
        upper_m=abs(rows[1].a),
        upper_rad=0.0 if rows[1].a > 0.0 else math.pi,
        fore_m=abs(rows[2].a),
        fore_rad=0.0 if rows[2].a > 0.0 else math.pi,
    )


def _branch_names(chain: Chain, across_m: float) -> tuple[str, ...]:
    """Left or right is the side of the plane for who looks from the first axis to the wrist."""
    up = 1.0 if chain.base[8] >= 0.0 else -1.0
    names = []
    for side in (1.0, -1.0):
        if across_m == 0.0:
            shoulder = "front" if side > 0.0 else "back"
        else:
            shoulder = "left" if side * across_m * up > 0.0 else "right"
        for wrist in ("wrist not flipped", "wrist flipped"):
            for bend in (1.0, -1.0):
                above = bend * chain.rows[0].sin_alpha * up * side < 0.0
                names.append(f"{shoulder}, elbow {'up' if above else 'down'}, {wrist}")
    return tuple(names)


def _seen(first: Row, frame: Frame, theta1: Scalar, along: Scalar, functions: Functions) -> Seen:
    """`frame` in the axes of frame 1, where x points away from the first axis and z is the plane's normal."""
    c, s, up = functions.cos(theta1), functions.sin(theta1), first.sin_alpha

    def turned(x: Scalar, y: Scalar, z: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        return c * x + s * y, up * z, up * (s * x - c * y)

    return Seen(
        turned(*frame[0:3]),
        turned(*frame[3:6]),
        turned(*frame[6:9]),
        (along - first.a, up * (frame[11] - first.d)),
    )


def _dot(u: tuple[Scalar, Scalar, Scalar], v: tuple[Scalar, Scalar, Scalar]) -> Scalar:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def _open_direction(seen: Seen, cosine: Scalar, rest6: Scalar, functions: Functions) -> tuple[Scalar, Scalar]:
    """Direction of frame 4's x axis if theta6 stays at rest while the last axis is square to the plane."""
    c, s = functions.cos(rest6), functions.sin(rest6)
    sign = functions.where(cosine, 1.0, -1.0)
    return sign * (c * seen.x[0] - s * seen.y[0]), sign * (c * seen.x[1] - s * seen.y[1])
