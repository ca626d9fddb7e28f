"""Closed-form inverse of the Lynx6 family: a yaw axis, three parallel pitch axes, and a roll axis or none.

Recognised from the DH table: alpha1 is +-90 deg, alpha2 and alpha3 are 0 or 180 deg, and with five axes
alpha4 is +-90 deg. Offsets d and a of any row, any base and any tool are allowed. Up to four postures (front
or back, elbow up or down) reach a pose; each is checked by forward kinematics before it is given out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hil.kernels import yaw_pitch as equations
from hil.kernels.chain import IDENTITY, Chain, Frame, Row, compose, forward, invert
from hil.kernels.scalar import FLOATS
from hil.kernels.yaw_pitch import PlaneArm
from hil.kinematics.limits import Range, best_turn, in_range, result_of, wrap
from hil.kinematics.results import IkResult, IkSolution
from hil.units import DEG, MM

REACH_TOLERANCE_M = 1e-9
"""A wrist this little outside the reach is a straight or folded elbow blurred by rounding."""

ACCEPTED_ERROR = 1e-6
"""What forward kinematics may lack (metres, radians) where the target itself was given with rounding."""

EXACT_ERROR = 1e-9
"""What it lacks at most where the target is exact; if one posture is that good, worse ones are no solutions."""

NEAR_AXIS_M = 1e-4
"""Closer than this to the yaw axis the orientation is asked for the yaw as well: it may know it better."""

SAME_RAD = 1e-6
"""Answers this near to each other are one: a straight elbow splits by the root of the rounding error."""


class YawPitchArm(NamedTuple):
    """An arm of the family.

    Attributes:
        across_m: how far the wrist's plane stands beside the yaw axis, along yaw axis times outward
            direction.
        base_inverse: from the world to the base frame.
        link: frame 4 in the axes of frame 1, when the plane angles add up to 0 (before row 4's a and alpha if
            there is no roll axis).
        after, after_inverse: what follows the last joint's own motion: its a and alpha, then the tool.
        roll: row of the roll axis, or None.
        up: +1 where the yaw axis points up in the world, -1 where it points down.
    """

    chain: Chain
    ranges: tuple[Range, ...]
    plane: PlaneArm
    across_m: float
    base_inverse: Frame
    link: Frame
    after: Frame
    after_inverse: Frame
    roll: Row | None
    up: float

    def tool_in_plane(self, roll_theta_rad: float) -> Frame:
        """Tool frame in the axes of frame 1, seen from the wrist, when the plane angles add up to 0."""
        if self.roll is None:
            return compose(self.link, self.after)
        return compose(compose(self.link, _screw(self.roll, roll_theta_rad)), self.after)


class Yaw(NamedTuple):
    """One way to turn the plane onto a point: `side` +1 in front, -1 behind the back."""

    side: float
    theta_rad: float
    along_m: float


class Rest(NamedTuple):
    """DH angles to keep where a singular target leaves them open."""

    yaw_rad: float = 0.0
    shoulder_rad: float = 0.0


def rest_of(arm: YawPitchArm, seed: Sequence[float] | None) -> Rest:
    """The seed's own angles, or zeros."""
    if seed is None:
        return Rest()
    return Rest(*(row.theta + row.sign * v for row, v in zip(arm.chain.rows[:2], seed[:2], strict=True)))


def recognise(chain: Chain, ranges: Sequence[Range]) -> YawPitchArm | None:
    """The arm if its DH table has the family's structure, else None."""
    rows = chain.rows
    if len(rows) not in (4, 5) or not all(row.revolute for row in rows):
        return None
    if rows[0].cos_alpha != 0.0 or rows[1].sin_alpha != 0.0 or rows[2].sin_alpha != 0.0:
        return None
    if rows[1].a <= 0.0 or rows[2].a <= 0.0 or (len(rows) == 5 and rows[3].cos_alpha != 0.0):
        return None
    turn3 = rows[1].cos_alpha
    turn4 = turn3 * rows[2].cos_alpha
    flip: Frame = (1.0, 0.0, 0.0, 0.0, turn4, 0.0, 0.0, 0.0, turn4, 0.0, 0.0, 0.0)
    roll = rows[4] if len(rows) == 5 else None
    link = flip if roll is None else compose(flip, _shape(rows[3]))
    after = _shape(rows[-1]) if chain.tool is None else compose(_shape(rows[-1]), chain.tool)
    return YawPitchArm(
        chain=chain,
        ranges=tuple(ranges),
        plane=PlaneArm(rows[0].a, rows[0].d, rows[0].sin_alpha, rows[1].a, rows[2].a, turn3, turn4),
        across_m=-rows[0].sin_alpha * (rows[1].d + turn3 * rows[2].d + turn4 * rows[3].d),
        base_inverse=invert(chain.base),
        link=link,
        after=after,
        after_inverse=invert(after),
        roll=roll,
        up=1.0 if chain.base[8] >= 0.0 else -1.0,
    )


def all_solutions(arm: YawPitchArm, pose: Frame, rest: Rest) -> list[IkSolution]:
    """Every posture that reaches `pose`, angles in (-pi, pi], no limits applied, best error first.

    Args:
        arm: the arm.
        pose: wanted tool frame in the world.
        rest: angles to use where the target leaves them open.
    """
    wanted = compose(compose(arm.base_inverse, pose), arm.after_inverse)
    tail = _tail(arm)
    found = []
    for yaw in _yaws(arm, wanted, arm.across_m, rest.yaw_rad):
        phi, off = _plane_direction(arm, wanted, yaw.theta_rad)
        if off > ACCEPTED_ERROR:
            continue
        x, y = equations.plane_coordinates(arm.plane, yaw.along_m, wanted[11])
        for bend in (-1.0, 1.0):
            pitches = pitch_joints(arm, x, y, phi, tail, bend, rest)
            if pitches is None:
                continue
            thetas = [yaw.theta_rad, *pitches]
            if arm.roll is not None:
                thetas.append(_roll_theta(arm, wanted, yaw.theta_rad, phi))
            q = tuple(wrap(v) for v in coordinates(arm, thetas))
            error = pose_error(forward(arm.chain, q, FLOATS), pose)
            if error <= ACCEPTED_ERROR:
                found.append(IkSolution(q=q, within_limits=True, branch=branch(arm, yaw.side, bend), error=error))
    exact = [solution for solution in found if solution.error <= EXACT_ERROR]
    return distinct(exact or found)


def solve_pose(arm: YawPitchArm, pose: Frame, seed: Sequence[float] | None) -> IkResult:
    """All solutions for a full pose within limits first, or the reason why there is none."""
    found = all_solutions(arm, pose, rest_of(arm, seed))
    if not found:
        return _refusal(arm, compose(compose(arm.base_inverse, pose), arm.after_inverse))
    return result_of([in_limits(s, arm.ranges, seed) for s in found], arm.ranges, seed)


def pitch_joints(
    arm: YawPitchArm, x: float, y: float, phi: float, tail: tuple[float, float], bend: float, rest: Rest
) -> tuple[float, float, float] | None:
    """theta2 to theta4 for a point in the plane, or None if the wrist would be outside its ring."""
    theta2, theta3, theta4, squared = equations.pitch_angles(arm.plane, x, y, phi, tail, bend, FLOATS)
    if overshoot(arm, squared) > REACH_TOLERANCE_M:
        return None
    if squared < REACH_TOLERANCE_M**2:
        # The forearm is folded back onto the shoulder: every shoulder angle holds the wrist there.
        theta4 += arm.plane.turn4 * (theta2 - rest.shoulder_rad)
        theta2 = rest.shoulder_rad
    return theta2, theta3, theta4


def in_limits(solution: IkSolution, ranges: Sequence[Range], seed: Sequence[float] | None) -> IkSolution:
    """The same solution with each angle on its best turn, and the limits judged."""
    near = seed if seed is not None else [None] * len(ranges)
    q = tuple(best_turn(v, r, n) for v, r, n in zip(solution.q, ranges, near, strict=True))
    return IkSolution(q=q, within_limits=in_range(q, ranges), branch=solution.branch, error=solution.error)


def coordinates(arm: YawPitchArm, thetas: Sequence[float]) -> list[float]:
    """Joint coordinates of the first DH angles, or of all."""
    return [(theta - row.theta) * row.sign for theta, row in zip(thetas, arm.chain.rows, strict=False)]


def branch(arm: YawPitchArm, side: float, bend: float) -> str:
    """Name of a posture; the elbow is up when it lies above the line from shoulder to wrist."""
    above = bend * arm.plane.y_along_yaw * arm.up * side < 0.0
    return f"{'front' if side > 0 else 'back'}, elbow {'up' if above else 'down'}"


def overshoot(arm: YawPitchArm, squared: float) -> float:
    """How far a wrist at this squared distance from the shoulder is outside its ring; negative inside."""
    distance = math.sqrt(squared)
    a2, a3 = arm.plane.a2_m, arm.plane.a3_m
    return max(distance - (a2 + a3), abs(a2 - a3) - distance)


def pose_error(reached: Frame, wanted: Frame) -> float:
    """The larger of the distance in metres and the angle in radians (exact for small angles)."""
    turn = sum((a - b) ** 2 for a, b in zip(reached[:9], wanted[:9], strict=True))
    distance = math.dist(reached[9:], wanted[9:])
    return max(distance, math.sqrt(0.5 * turn))


def distinct(solutions: list[IkSolution]) -> list[IkSolution]:
    """One of each group of equal answers, the most exact one, in the order of their errors."""
    kept: list[IkSolution] = []
    for solution in sorted(solutions, key=lambda s: s.error):
        if not any(_same(solution.q, other.q) for other in kept):
            kept.append(solution)
    return kept


def point_yaws(arm: YawPitchArm, px: float, py: float, across: float, hint_rad: float) -> list[Yaw]:
    """The two yaws that bring a point (base frame) into the plane; on the axis, the hint and its opposite."""
    if math.hypot(px, py) < REACH_TOLERANCE_M and abs(across) < REACH_TOLERANCE_M:
        return [Yaw(1.0, hint_rad, 0.0), Yaw(-1.0, hint_rad + math.pi, 0.0)]
    return [Yaw(side, *equations.yaw_angle(px, py, across, side, FLOATS)) for side in (1.0, -1.0)]


def reach_refusal(
    arm: YawPitchArm, point: Sequence[float], across: float, tail: tuple[float, float]
) -> IkResult | None:
    """Why no orientation whatever brings the tool to `point` (base frame); None if some does."""
    px, py, pz = point
    beside = abs(across) - math.hypot(px, py)
    if beside > REACH_TOLERANCE_M:
        return IkResult(
            reason=(
                f"out of reach by {beside / MM:.3f} mm: the arm's plane stands {abs(across) / MM:.2f} mm "
                "beside the base axis and cannot come nearer to it"
            ),
            distance_m=beside,
        )
    hand = math.hypot(*tail)
    a2, a3 = arm.plane.a2_m, arm.plane.a3_m
    outer = a2 + a3 + hand
    inner = max(0.0, 2.0 * max(a2, a3, hand) - outer)
    gaps = []
    for yaw in point_yaws(arm, px, py, across, 0.0):
        shoulder = math.hypot(*equations.plane_coordinates(arm.plane, yaw.along_m, pz))
        gaps.append((max(shoulder - outer, inner - shoulder), shoulder))
    gap, shoulder = min(gaps)
    if gap <= REACH_TOLERANCE_M:
        return None
    return IkResult(
        reason=(
            f"out of reach by {gap / MM:.3f} mm: the point is {shoulder / MM:.2f} mm from the shoulder, "
            f"the arm reaches from {inner / MM:.2f} to {outer / MM:.2f} mm"
        ),
        distance_m=gap,
    )


def _shape(row: Row) -> Frame:
    """Tx(a) Rx(alpha)."""
    return (
        *(1.0, 0.0, 0.0),
        *(0.0, row.cos_alpha, row.sin_alpha),
        *(0.0, -row.sin_alpha, row.cos_alpha),
        *(row.a, 0.0, 0.0),
    )


def _screw(row: Row, theta_rad: float) -> Frame:
    """Rz(theta) Tz(d)."""
    c, s = math.cos(theta_rad), math.sin(theta_rad)
    return (c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, row.d)


def _tail(arm: YawPitchArm) -> tuple[float, float]:
    """From the wrist to the last DH frame's own origin, in the plane; the roll does not move it."""
    d = 0.0 if arm.roll is None else arm.roll.d
    return arm.link[9] + d * arm.link[6], arm.link[10] + d * arm.link[7]


def _yaws(arm: YawPitchArm, wanted: Frame, across: float, hint_rad: float) -> Iterator[Yaw]:
    """Yaws that the point gives, and near the axis also those that the orientation gives."""
    px, py = wanted[9], wanted[10]
    if math.hypot(px, py) >= abs(across) - REACH_TOLERANCE_M:
        yield from point_yaws(arm, px, py, across, hint_rad)
    if math.hypot(px, py) > NEAR_AXIS_M:
        return
    if arm.roll is None:
        # Row 4's z axis is the plane's normal, up to the flips of rows 2 and 3.
        normal_x, normal_y = arm.link[8] * wanted[6], arm.link[8] * wanted[7]
        angle = math.atan2(arm.plane.y_along_yaw * normal_x, -arm.plane.y_along_yaw * normal_y)
    elif math.hypot(wanted[6], wanted[7]) > REACH_TOLERANCE_M:
        angle = math.atan2(wanted[7], wanted[6])
    else:
        angle = hint_rad
    along = px * math.cos(angle) + py * math.sin(angle)
    yield Yaw(1.0, angle, along)
    yield Yaw(-1.0, angle + math.pi, -along)


def _axes(arm: YawPitchArm, yaw_rad: float) -> Frame:
    """Axes of frame 1 in the base frame."""
    c, s, up = math.cos(yaw_rad), math.sin(yaw_rad), arm.plane.y_along_yaw
    return (c, s, 0.0, 0.0, 0.0, up, up * s, -up * c, 0.0, 0.0, 0.0, 0.0)


def _plane_direction(arm: YawPitchArm, wanted: Frame, yaw_rad: float) -> tuple[float, float]:
    """Sum of the plane angles that the orientation asks for, and the angle that this yaw leaves lacking."""
    seen = compose(invert(_axes(arm, yaw_rad)), wanted)
    if arm.roll is not None:
        x, y, out = seen[6], seen[7], seen[8]
        off = math.atan2(abs(out), math.hypot(x, y))
        return math.atan2(y, x) - math.atan2(arm.link[7], arm.link[6]), off
    turn = compose(seen, invert(arm.link))
    return math.atan2(turn[1] - turn[3], turn[0] + turn[4]), math.atan2(math.hypot(turn[6], turn[7]), turn[8])


def _roll_theta(arm: YawPitchArm, wanted: Frame, yaw_rad: float, phi: float) -> float:
    """theta5, given all angles before it."""
    c, s = math.cos(phi), math.sin(phi)
    turned: Frame = (c, s, 0.0, -s, c, 0.0, *IDENTITY[6:])
    before = compose(compose(_axes(arm, yaw_rad), turned), arm.link)
    rest = compose(invert(before), wanted)
    return math.atan2(rest[1] - rest[3], rest[0] + rest[4])


def _same(q: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(wrap(a - b)) < SAME_RAD for a, b in zip(q, other, strict=True))


def _refusal(arm: YawPitchArm, wanted: Frame) -> IkResult:
    """Reach for any orientation first, then the orientation, then the reach with this orientation."""
    tail = _tail(arm)
    refusal = reach_refusal(arm, wanted[9:], arm.across_m, tail)
    if refusal is not None:
        return refusal
    options = []
    for yaw in _yaws(arm, wanted, arm.across_m, 0.0):
        phi, off = _plane_direction(arm, wanted, yaw.theta_rad)
        x, y = equations.plane_coordinates(arm.plane, yaw.along_m, wanted[11])
        squared = equations.pitch_angles(arm.plane, x, y, phi, tail, 1.0, FLOATS)[3]
        options.append((off, overshoot(arm, squared), yaw.theta_rad))
    off, _, yaw_rad = min(options)
    if off > ACCEPTED_ERROR:
        what = "tool axis" if arm.roll is not None else "tool"
        first = arm.chain.rows[0]
        base = (yaw_rad - first.theta) * first.sign
        return IkResult(
            reason=(
                f"{len(arm.chain.rows)} axes cannot take this orientation here: with the base at "
                f"{wrap(base) / DEG:.2f} deg, where the point is, the {what} would still be "
                f"{off / DEG:.3f} deg off; turn the target by that angle, or give a pitch instead of a full "
                "orientation"
            )
        )
    gap = min(short for angle, short, _ in options if angle <= ACCEPTED_ERROR)
    return wrist_refusal(arm, gap, "this orientation")


def wrist_refusal(arm: YawPitchArm, gap: float, condition: str, advice: str = "") -> IkResult:
    """The wrist is outside its ring by `gap`, given an orientation."""
    a2, a3 = arm.plane.a2_m, arm.plane.a3_m
    return IkResult(
        reason=(
            f"out of reach by {gap / MM:.3f} mm with {condition}: the wrist has to be "
            f"{abs(a2 - a3) / MM:.2f} to {(a2 + a3) / MM:.2f} mm from the shoulder{advice}"
        ),
        distance_m=gap,
    )
