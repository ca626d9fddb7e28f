"""Closed-form inverse of the Stanford arm: yaw, shoulder, a boom that slides in the plane, and a spherical wrist.

Two sides of the yaw axis, two directions of the boom and two of the wrist make eight branches. With a boom that
never slides through its shoulder (the Stanford arm's own limits, 12 to 50 inches) four of them are left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hil.kernels.chain import Chain, Row, compose
from hil.kernels.scalar import Functions, Scalar
from hil.kernels.spherical_wrist import (
    DIVISOR_M,
    NEAR,
    PlanePosture,
    PlaneReach,
    SphericalWristArm,
    alpha_turn,
    arm_of,
    directed,
    drawn_out,
    exact_length,
    has_wrist,
    shoulder_turn,
)


class Slide(NamedTuple):
    """A shoulder joint, and a sliding joint at right angles to its axis.

    Attributes:
        shoulder: row 2.
        boom: row 3.
        beside_m: from the shoulder's axis to the line that the wrist's centre slides on.
        ahead_m: from that line's nearest point to the wrist's centre, when d3 is 0, along the boom.
    """

    shoulder: Row
    boom: Row
    beside_m: float
    ahead_m: float

    @property
    def ring_m(self) -> tuple[float, float]:
        """Least and greatest distance from the shoulder."""
        return abs(self.beside_m), math.inf

    def names(self, side: float, up: float) -> tuple[str, ...]:
        """Out where the wrist's centre is on the positive side of the shoulder, along the boom."""
        return "boom out", "boom drawn through"

    def solve(self, x: Scalar, y: Scalar, rest: Sequence[Scalar], functions: Functions) -> PlaneReach:
        """Pythagoras; a point too near the shoulder is drawn away from it."""
        beside = self.beside_m
        x, y, distance = directed(x, y, functions)
        reached = drawn_out(distance, abs(beside), functions)
        length = functions.sqrt((reached - beside) * (reached + beside))
        scale = 1.0 / (distance * functions.maximum(reached, DIVISOR_M))
        off_axis = distance - NEAR if beside == 0.0 else None
        postures = []
        for extension in (length, -length):
            ahead = -self.shoulder.sin_alpha * extension
            c2, s2 = scale * (x * beside + y * ahead), scale * (y * beside - x * ahead)
            q2, c2, s2 = shoulder_turn(self.shoulder, c2, s2, off_axis, rest[1], functions)
            q3 = self.boom.sign * (extension - (self.ahead_m + self.boom.d))
            postures.append(PlanePosture((q2, q3), c2, s2))
        short = functions.maximum(reached - distance, 0.0)
        return PlaneReach(postures, short, None if off_axis is None else -off_axis)


def recognise(chain: Chain) -> SphericalWristArm | None:
    """The arm if it has a yaw, a shoulder, a boom sliding at right angles to both, a spherical wrist; else None.

    alpha1 and alpha2 are +-90 deg; theta3, alpha3, all of a1 to a3, d1, d2 and d4, and what follows joint 6 are free.
    """
    rows = chain.rows
    if not has_wrist(chain) or not rows[1].revolute or rows[2].revolute or rows[1].cos_alpha != 0.0:
        return None
    boom = rows[2]
    c, s = boom.cos_theta, boom.sin_theta
    # The wrist's centre, without the slide, in the axes that the boom has when theta2 is 0.
    fore_y = -boom.sin_alpha * rows[3].d
    boom_x, boom_y, boom_z = c * boom.a - s * fore_y, s * boom.a + c * fore_y, boom.cos_alpha * rows[3].d
    spun = (c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    return arm_of(
        "six axes with a sliding boom and a spherical wrist",
        chain,
        Slide(rows[1], boom, exact_length(rows[1].a + boom_x), boom_z),
        offset_m=rows[1].d + rows[1].sin_alpha * boom_y,
        wrist_turn=compose(compose(alpha_turn(rows[1]), spun), alpha_turn(boom)),
    )
