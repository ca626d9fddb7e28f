"""Closed-form inverse of a yaw axis that carries three parallel pitch axes, over any scalar.

The pitch axes work in a plane through (or beside) the yaw axis. In the frame of the first DH row that plane
is x-y: x points away from the yaw axis, y up or down it, and plane angles add up along the links. The law of
cosines gives the elbow; writing it with the product (outer^2 - D^2)(D^2 - inner^2) keeps straight and folded
elbows exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hil.kernels.scalar import Functions, Scalar


class PlaneArm(NamedTuple):
    """Constants of the first four rows.

    Attributes:
        a1_m, d1_m: from the base frame's origin to the shoulder, away from the yaw axis and along it.
        y_along_yaw: +1 where the plane's y axis is the yaw axis, -1 where it is the opposite (the sine of
            alpha1).
        a2_m, a3_m: upper arm and forearm.
        turn3, turn4: +1 or -1, the direction in which joints 3 and 4 count in the plane.
    """

    a1_m: float
    d1_m: float
    y_along_yaw: float
    a2_m: float
    a3_m: float
    turn3: float
    turn4: float


def yaw_angle(px: Scalar, py: Scalar, across: Scalar, side: Scalar, functions: Functions) -> tuple[Scalar, Scalar]:
    """Yaw that brings a point to the distance `across` beside the arm's plane.

    Args:
        px: the point, in the base frame, metres.
        py: its other coordinate.
        across: wanted coordinate along the plane's left-hand normal (yaw axis times outward direction),
            metres.
        side: +1 to face the point, -1 to turn the back on it.
        functions: of the scalar type.

    Returns:
        theta1, and the point's coordinate away from the yaw axis (negative behind it).
    """
    along = side * functions.sqrt(functions.maximum(px * px + py * py - across * across, 0.0))
    return functions.atan2(py, px) - functions.atan2(across, along), along


def plane_coordinates(arm: PlaneArm, along: Scalar, height: Scalar) -> tuple[Scalar, Scalar]:
    """Plane coordinates, from the shoulder, of a point at `along` and `height` in the base frame."""
    return along - arm.a1_m, arm.y_along_yaw * (height - arm.d1_m)


def seen_in_plane(
    arm: PlaneArm, direction: Sequence[Scalar], cos1: Scalar, sin1: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """A direction of the base frame in the axes of frame 1: x and y in the plane, z out of it along its normal."""
    x, y, z = direction
    up = arm.y_along_yaw
    return cos1 * x + sin1 * y, up * z, up * (sin1 * x - cos1 * y)


def pitch_angles(
    arm: PlaneArm,
    x: Scalar,
    y: Scalar,
    phi: Scalar,
    tail: tuple[Scalar, Scalar],
    bend: Scalar,
    functions: Functions,
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Angles of the three pitch joints for a point and a direction in the plane.

    Args:
        arm: constants.
        x: the point, from the shoulder, metres.
        y: its other coordinate.
        phi: wanted sum of the three plane angles.
        tail: from the wrist to the point, in the plane, when `phi` is 0, metres.
        bend: +1 or -1, the sign of the elbow's plane angle.
        functions: of the scalar type.

    Returns:
        theta2, theta3, theta4, and the squared distance from shoulder to wrist. Where that distance is
        outside the reach the angles belong to the nearest reachable wrist.
    """
    c, s = functions.cos(phi), functions.sin(phi)
    to_wrist, inner, elbow, squared = elbow_triangle(
        arm, x - (c * tail[0] - s * tail[1]), y - (s * tail[0] + c * tail[1]), functions
    )
    shoulder, elbow = to_wrist - bend * inner, bend * elbow
    return shoulder, arm.turn3 * elbow, arm.turn4 * (phi - shoulder - elbow), squared


def elbow_triangle(
    arm: PlaneArm, wrist_x: Scalar, wrist_y: Scalar, functions: Functions
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Angles of the triangle of shoulder, elbow and wrist.

    Args:
        arm: constants.
        wrist_x: the wrist in the plane, from the shoulder, metres.
        wrist_y: its other coordinate.
        functions: of the scalar type.

    Returns:
        Plane angle from shoulder to wrist; inner angle at the shoulder and outer angle at the elbow, both in
        [0, pi]; squared distance from shoulder to wrist.
    """
    squared = wrist_x * wrist_x + wrist_y * wrist_y
    a2, a3 = arm.a2_m, arm.a3_m
    outer, inner = a2 + a3, a2 - a3
    product = (outer * outer - squared) * (squared - inner * inner)
    sine = functions.sqrt(functions.maximum(product, 0.0))
    return (
        functions.atan2(wrist_y, wrist_x),
        functions.atan2(sine, squared + (a2 * a2 - a3 * a3)),
        functions.atan2(sine, squared - (a2 * a2 + a3 * a3)),
        squared,
    )


def overshoot(arm: PlaneArm, squared: Scalar, functions: Functions) -> Scalar:
    """How far a wrist at this squared distance from the shoulder is outside its ring, metres; negative inside."""
    distance = functions.sqrt(squared)
    return functions.maximum(distance - (arm.a2_m + arm.a3_m), abs(arm.a2_m - arm.a3_m) - distance)
