"""The Lynx6 family in the loop: every answer checked forwards, joint limits, and why there is none.

A yaw axis, three parallel pitch axes, and a roll axis or none (`hil.kernels.yaw_pitch_form`). Up to four postures
(front or back, elbow up or down) reach a pose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hil.kernels import yaw_pitch as equations
from hil.kernels import yaw_pitch_form
from hil.kernels.chain import Chain, Frame
from hil.kernels.scalar import FLOATS
from hil.kernels.yaw_pitch_form import REACH_TOLERANCE_M, Plane, YawPitchForm
from hil.kinematics.certified import ACCEPTED_ERROR, judged_solutions
from hil.kinematics.limits import Range, result_of, wrap
from hil.kinematics.results import IkResult
from hil.units import DEG, MM

NEAR_AXIS_M = 1e-4
"""Closer than this to the yaw axis a refusal asks the orientation for the yaw as well: it may know it better."""


class YawPitchArm(NamedTuple):
    """An arm of the family: its equations, and its limits."""

    form: YawPitchForm
    ranges: tuple[Range, ...]


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
    return Rest(*(row.theta + row.sign * v for row, v in zip(arm.form.chain.rows[:2], seed[:2], strict=True)))


def recognise(chain: Chain, ranges: Sequence[Range]) -> YawPitchArm | None:
    """The arm if its DH table has the family's structure, else None."""
    form = yaw_pitch_form.recognise(chain)
    return None if form is None else YawPitchArm(form, tuple(ranges))


def solve_pose(arm: YawPitchArm, pose: Frame, seed: Sequence[float] | None) -> IkResult:
    """All solutions for a full pose within limits first, or the reason why there is none, in the family's own words."""
    rest = coordinates(arm, [0.0] * len(arm.ranges)) if seed is None else list(seed)
    judged = judged_solutions(arm.form, arm.ranges, pose, rest, seed)
    if not judged:
        return _refusal(arm, arm.form.hand(pose))
    return result_of(judged, arm.ranges, seed)


def pitch_joints(
    arm: YawPitchArm, x: float, y: float, phi: float, tail: tuple[float, float], bend: float, rest: Rest
) -> tuple[float, float, float] | None:
    """theta2 to theta4 for a point in the plane, or None if the wrist would be outside its ring."""
    theta2, theta3, theta4, squared = equations.pitch_angles(arm.form.plane, x, y, phi, tail, bend, FLOATS)
    if equations.overshoot(arm.form.plane, squared, FLOATS) > REACH_TOLERANCE_M:
        return None
    if squared < REACH_TOLERANCE_M**2:
        # The forearm is folded back onto the shoulder: every shoulder angle holds the wrist there.
        theta4 += arm.form.plane.turn4 * (theta2 - rest.shoulder_rad)
        theta2 = rest.shoulder_rad
    return theta2, theta3, theta4


def coordinates(arm: YawPitchArm, thetas: Sequence[float]) -> list[float]:
    """Joint coordinates of the first DH angles, or of all."""
    return [(theta - row.theta) * row.sign for theta, row in zip(thetas, arm.form.chain.rows, strict=False)]


def branch(arm: YawPitchArm, side: float, bend: float) -> str:
    """Name of a posture; the elbow is up when it lies above the line from shoulder to wrist."""
    above = bend * arm.form.plane.y_along_yaw * arm.form.up * side < 0.0
    return f"{'front' if side > 0 else 'back'}, elbow {'up' if above else 'down'}"


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
    a2, a3 = arm.form.plane.a2_m, arm.form.plane.a3_m
    outer = a2 + a3 + hand
    inner = max(0.0, 2.0 * max(a2, a3, hand) - outer)
    gaps = []
    for yaw in point_yaws(arm, px, py, across, 0.0):
        shoulder = math.hypot(*equations.plane_coordinates(arm.form.plane, yaw.along_m, pz))
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


def _refusal(arm: YawPitchArm, hand: Frame) -> IkResult:
    """Reach for any orientation first, then the orientation, then the reach with this orientation."""
    form = arm.form
    refusal = reach_refusal(arm, hand[9:], form.across_m, form.tail)
    if refusal is not None:
        return refusal
    options = []
    for plane in _planes(arm, hand):
        c, s = form.bearing(hand, plane)
        x, y = equations.plane_coordinates(form.plane, plane.along, hand[11])
        squared = equations.pitch_angles(form.plane, x, y, math.atan2(s, c), form.tail, 1.0, FLOATS)[3]
        options.append((_off(form, hand, plane), equations.overshoot(form.plane, squared, FLOATS), plane.theta1))
    # Front and back often lack the same angle: rounding shall not decide which one is named.
    off, _, yaw_rad = min(options, key=lambda option: round(option[0], 9))
    gap = min((short for angle, short, _ in options if angle <= ACCEPTED_ERROR), default=0.0)
    if gap <= REACH_TOLERANCE_M:
        what = "tool axis" if form.roll is not None else "tool"
        return IkResult(
            reason=(
                f"{len(form.chain.rows)} axes cannot take this orientation here: with the base at "
                f"{wrap(coordinates(arm, [yaw_rad])[0]) / DEG:z.2f} deg, where the point is, the {what} would still be "
                f"{off / DEG:.3f} deg off; turn the target by that angle, or give a pitch instead of a full "
                "orientation"
            )
        )
    return wrist_refusal(arm, gap, "this orientation")


def _planes(arm: YawPitchArm, hand: Frame) -> list[Plane]:
    """The planes that hold the point, and near the yaw axis also those that the orientation knows better."""
    planes = [
        Plane(yaw.theta_rad, math.cos(yaw.theta_rad), math.sin(yaw.theta_rad), yaw.along_m, -1.0)
        for yaw in point_yaws(arm, hand[9], hand[10], arm.form.across_m, 0.0)
    ]
    return planes if math.hypot(hand[9], hand[10]) > NEAR_AXIS_M else [*planes, *arm.form.planes(hand, 0.0, FLOATS)]


def _off(form: YawPitchForm, hand: Frame, plane: Plane) -> float:
    """The angle that the hand's orientation leaves lacking in this plane."""
    x, y, out = form.seen(hand[6:9], plane)
    level = math.hypot(x, y)
    return math.atan2(level, form.plane.turn4 * out) if form.roll is None else math.atan2(abs(out), level)


def wrist_refusal(arm: YawPitchArm, gap: float, condition: str, advice: str = "") -> IkResult:
    """The wrist is outside its ring by `gap`, given an orientation."""
    a2, a3 = arm.form.plane.a2_m, arm.form.plane.a3_m
    return IkResult(
        reason=(
            f"out of reach by {gap / MM:.3f} mm with {condition}: the wrist has to be "
            f"{abs(a2 - a3) / MM:.2f} to {(a2 + a3) / MM:.2f} mm from the shoulder{advice}"
        ),
        distance_m=gap,
    )
