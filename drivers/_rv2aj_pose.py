"""Joints of an RV-2AJ to the pose that its controller shows, in degrees and millimetres, A and B not wrapped.

The closed form follows the maker's zero pose (arm straight up, joints bending forward): B = J2 + J3 + J5. Roll A is
J6 - J1 with the flange down and J6 + J1 with it up; between the two, A = J6 + J1 cos B is what one arm's pendant
agrees with, and it stands in one place, `roll_deg`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, floor, hypot, radians, sin

from drivers._rv2aj_codec import Pose

SHOULDER_MM, UPPER_ARM_MM, FOREARM_MM, FLANGE_MM = 300.0, 250.0, 160.0, 72.0
RIGHT, ABOVE = 4, 2
TURN_BITS = 4


def roll_deg(j1_deg: float, j6_deg: float, b_deg: float) -> float:
    """The angle A."""
    return j6_deg + j1_deg * cos(radians(b_deg))


def pose(joints_deg: Sequence[float]) -> Pose:
    """The pose without a tool.

    Args:
        joints_deg: J1, J2, J3, J5, J6.
    """
    j1, j2, j3, j5, j6 = joints_deg
    s, t, u = radians(j2), radians(j2 + j3), radians(j2 + j3 + j5)
    reach = UPPER_ARM_MM * sin(s) + FOREARM_MM * sin(t) + FLANGE_MM * sin(u)
    b = j2 + j3 + j5
    return Pose(
        x=reach * cos(radians(j1)),
        y=reach * sin(radians(j1)),
        z=SHOULDER_MM + UPPER_ARM_MM * cos(s) + FOREARM_MM * cos(t) + FLANGE_MM * cos(u),
        a=roll_deg(j1, j6, b),
        b=b,
        flag1=(RIGHT if reach >= 0.0 else 0) | (ABOVE if j3 >= 0.0 else 0),
        flag2=turns(joints_deg),
    )


def turns(joints_deg: Sequence[float]) -> int:
    """The second flag word: turns of each axis beyond half a turn, four bits each, in two's complement."""
    j1, j2, j3, j5, j6 = joints_deg
    word = 0
    for place, angle in enumerate((j1, j2, j3, 0.0, j5, j6)):
        count = floor((angle + 180.0) / 360.0) if angle >= 0.0 else -floor((180.0 - angle) / 360.0)
        word |= (count & 0xF) << TURN_BITS * place
    return word


def distance_mm(one: Pose, other: Pose) -> float:
    """How far two poses' points lie apart."""
    return hypot(one.x - other.x, one.y - other.y, one.z - other.z)
