"""Rigid transforms as 4x4 arrays, for work on models: DH rows, roll-pitch-yaw, turns about any axis.

What runs in a loop or in a batch is in `hil.kernels`; this is for reading, writing and checking files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from hil.model.robot import Joint, JointType, RobotModel, Transform

Matrix = npt.NDArray[np.float64]

EXACT_RAD = 1e-14
"""Angles this near to whole quarter turns are meant as such, as in the kernels."""


def cos_sin(angle_rad: float) -> tuple[float, float]:
    """Cosine and sine, exact at whole quarter turns."""
    quarters = angle_rad / (math.pi / 2)
    nearest = round(quarters)
    if abs(quarters - nearest) * (math.pi / 2) < EXACT_RAD:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[nearest % 4]
    return math.cos(angle_rad), math.sin(angle_rad)


def dh_transform(theta_rad: float, d_m: float, a_m: float, alpha_rad: float) -> Matrix:
    """Rz(theta) Tz(d) Tx(a) Rx(alpha), shape (4, 4)."""
    ct, st = cos_sin(theta_rad)
    ca, sa = cos_sin(alpha_rad)
    return np.array(
        [
            [ct, -st * ca, st * sa, a_m * ct],
            [st, ct * ca, -ct * sa, a_m * st],
            [0.0, sa, ca, d_m],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def from_rpy(xyz_m: Sequence[float], rpy_rad: Sequence[float]) -> Matrix:
    """Translation, then Rz(yaw) Ry(pitch) Rx(roll): the origin of a URDF. Shape (4, 4)."""
    (cr, sr), (cp, sp), (cy, sy) = (cos_sin(angle) for angle in rpy_rad)
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    matrix[:3, 3] = xyz_m
    return matrix


def rpy_of(rotation: Matrix) -> tuple[float, float, float]:
    """Roll, pitch and yaw (rad) that `from_rpy` turns into `rotation`; roll is 0 where only both together count.

    Args:
        rotation: shape (3, 3).
    """
    flat = math.hypot(rotation[0, 0], rotation[1, 0])
    pitch = math.atan2(-rotation[2, 0], flat)
    if flat < 1e-12:
        return 0.0, pitch, math.atan2(-rotation[0, 1], rotation[1, 1])
    return (
        math.atan2(rotation[2, 1], rotation[2, 2]),
        pitch,
        math.atan2(rotation[1, 0], rotation[0, 0]),
    )


def turn(axis: npt.ArrayLike, angle_rad: float) -> Matrix:
    """Turn about a unit vector through the origin (Rodrigues), shape (4, 4)."""
    x, y, z = np.asarray(axis, dtype=np.float64)
    c, s = cos_sin(angle_rad)
    matrix = np.eye(4)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    matrix[:3, :3] = np.eye(3) + s * cross + (1.0 - c) * (cross @ cross)
    return matrix


def shift(vector_m: npt.ArrayLike) -> Matrix:
    """Translation, shape (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, 3] = np.asarray(vector_m, dtype=np.float64)
    return matrix


def inverse(matrix: Matrix) -> Matrix:
    """Inverse of a rigid transform, shape (4, 4)."""
    result = np.eye(4)
    result[:3, :3] = matrix[:3, :3].T
    result[:3, 3] = -matrix[:3, :3].T @ matrix[:3, 3]
    return result


def rows(matrix: Matrix) -> Transform:
    """The transform as a record holds it."""
    return tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in matrix)


def joint_transform(joint: Joint, q: float) -> Matrix:
    """One DH row at `q` (rad, or m for a slide), shape (4, 4)."""
    theta, d = joint.theta_rad, joint.d_m
    if joint.type is JointType.REVOLUTE:
        theta += joint.sign * q
    else:
        d += joint.sign * q
    return dh_transform(theta, d, joint.a_m, joint.alpha_rad)


def frames(model: RobotModel, q: Iterable[float]) -> list[Matrix]:
    """N + 2 frames in the world, each (4, 4): base, DH frames 1 to n, tool."""
    found = [np.array(model.base)]
    for joint, value in zip(model.joints, q, strict=True):
        found.append(found[-1] @ joint_transform(joint, value))
    found.append(found[-1] @ np.array(model.tool))
    return found


def random_q(model: RobotModel, generator: np.random.Generator) -> list[float]:
    """Joint coordinates within the limits; half a turn or half a metre either way where none are given."""
    half = {JointType.REVOLUTE: math.pi, JointType.PRISMATIC: 0.5}
    spans = [
        (-half[j.type], half[j.type]) if j.lower is None or j.upper is None else (j.lower, j.upper)
        for j in model.joints
    ]
    return [float(generator.uniform(low, high)) for low, high in spans]
