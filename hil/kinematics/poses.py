"""Poses: 4x4 arrays inside; X Y Z in millimetres, A B C in degrees and a named convention at the edge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.kernels.scalar import FloatArray
from hil.types import Record
from hil.units import DEG, MM

Matrix3: TypeAlias = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]

ROTATION_TOLERANCE = 1e-6
"""A matrix farther than this from a rotation is refused; a nearer one is made exact."""

ROUNDING = 1e-15
"""A rotation whose columns are this near to orthonormal is exact already."""

POLE = 1e-10
"""Cosine of B below which A and C turn about the same axis as far as double precision can tell."""

PLANE_TOLERANCE_RAD = 1e-6


class Convention(Enum):
    """What A, B and C mean.

    RPY_XYZ_FIXED: rotation Rz(C) Ry(B) Rx(A); A roll about fixed X, B pitch about Y, C yaw about Z.
    KUKA_ABC: rotation Rz(A) Ry(B) Rx(C).
    MELFA: five-axis Mitsubishi read-out of an arm whose flange axis stays in the plane through the base axis.
        B is the tilt of that axis from straight up, outwards positive, up to 180 for straight down; A is the
        flange's roll plus yaw times cos B; C carries nothing and is 0. The yaw is that of X, Y unless it is
        given.
    """

    RPY_XYZ_FIXED = "rpy_xyz_fixed"
    KUKA_ABC = "kuka_abc"
    MELFA = "melfa"


class XyzAbc(Record, frozen=True):
    """A pose for people.

    Attributes:
        separate: False at a pole, where only the sum or difference of A and C means anything; C (in KUKA's
            naming A) is then shown as 0.
    """

    x_mm: float
    y_mm: float
    z_mm: float
    a_deg: float
    b_deg: float
    c_deg: float
    convention: Convention = Convention.RPY_XYZ_FIXED
    separate: bool = True

    def _repr_html_(self) -> str:
        from hil.figures import notebook

        names = ("X, mm", "Y, mm", "Z, mm", "A, deg", "B, deg", "C, deg")
        values = (self.x_mm, self.y_mm, self.z_mm, self.a_deg, self.b_deg, self.c_deg)
        return notebook.page(
            notebook.table(names, [[f"{value:z.4f}" for value in values]]),
            notebook.line(f"{self.convention.value}{'; ' if self.note else ''}{self.note}"),
            notebook.matrix(xyzabc_to_pose(self)),
        )

    @property
    def note(self) -> str:
        """Words to show beside the numbers; empty where there is nothing to say."""
        return "" if self.separate else "A and C not separate here"


def checked_pose(pose: npt.ArrayLike) -> FloatArray:
    """A 4x4 rigid transform as an exact one.

    Args:
        pose: shape (4, 4), metres.

    Raises:
        CommandError: wrong shape, non-finite, last row not 0 0 0 1, mirrored, or not orthonormal within 1e-6.
    """
    try:
        array = np.array(pose, dtype=np.float64)
    except (TypeError, ValueError):
        raise CommandError("a pose has to be a 4x4 array of numbers", value=pose, allowed="shape (4, 4)") from None
    if array.shape != (4, 4):
        raise CommandError(
            f"a pose has to be a 4x4 array, shape {array.shape} was given", value=pose, allowed="shape (4, 4)"
        )
    if _is_exact(array.tolist()):
        return array
    if not np.isfinite(array).all():
        raise CommandError("the pose holds a number that is not finite", value=pose, allowed="finite numbers")
    if np.abs(array[3] - (0.0, 0.0, 0.0, 1.0)).max() > ROTATION_TOLERANCE:
        raise CommandError(
            f"the last row of a pose has to be 0 0 0 1, {array[3].tolist()} was given",
            value=pose,
            allowed="0 0 0 1",
        )
    rotation = array[:3, :3]
    defect = float(np.abs(rotation.T @ rotation - np.eye(3)).max())
    if defect > ROTATION_TOLERANCE:
        raise CommandError(
            f"the 3x3 part of the pose is not a rotation: its columns are off unit length or right angles by "
            f"{defect:.3g}, allowed is {ROTATION_TOLERANCE:g}",
            value=pose,
            allowed="an orthonormal matrix",
        )
    if np.linalg.det(rotation) < 0.0:
        raise CommandError(
            "the 3x3 part of the pose is a mirror image (determinant -1), not a rotation",
            value=pose,
            allowed="determinant +1",
        )
    left, _, right = np.linalg.svd(rotation)
    array[:3, :3] = left @ right
    array[3] = (0.0, 0.0, 0.0, 1.0)
    return array


def _is_exact(rows: list[list[float]]) -> bool:
    """True for a rigid transform that rounding alone keeps from being perfect; the usual case, told quickly."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = rows
    return (
        last == [0.0, 0.0, 0.0, 1.0]
        and math.isfinite(x + y + z)
        and abs(a * a + d * d + g * g - 1.0) <= ROUNDING
        and abs(b * b + e * e + h * h - 1.0) <= ROUNDING
        and abs(c * c + f * f + i * i - 1.0) <= ROUNDING
        and abs(a * b + d * e + g * h) <= ROUNDING
        and abs(a * c + d * f + g * i) <= ROUNDING
        and abs(b * c + e * f + h * i) <= ROUNDING
        and a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g) > 0.0
    )


def rotation_rz_ry_rx(z_rad: float, y_rad: float, x_rad: float) -> Matrix3:
    """Rows of Rz(z) Ry(y) Rx(x)."""
    cz, sz = math.cos(z_rad), math.sin(z_rad)
    cy, sy = math.cos(y_rad), math.sin(y_rad)
    cx, sx = math.cos(x_rad), math.sin(x_rad)
    return (
        (cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx),
        (sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx),
        (-sy, cy * sx, cy * cx),
    )


def angles_rz_ry_rx(rotation: Sequence[Sequence[float]]) -> tuple[float, float, float, bool]:
    """The z, y, x angles (|y| <= pi/2) of Rz Ry Rx, and whether z and x are separate; z is 0 at a pole."""
    (r11, r12, _), (r21, r22, _), (r31, r32, r33) = rotation
    cosine = math.hypot(r11, r21)
    y = math.atan2(-r31, cosine)
    if cosine < POLE:
        return 0.0, y, math.atan2(r12, r22) if y > 0 else math.atan2(-r12, r22), False
    return math.atan2(r21, r11), y, math.atan2(r32, r33), True


def pose_to_xyzabc(
    pose: npt.ArrayLike,
    convention: Convention | str = Convention.RPY_XYZ_FIXED,
    *,
    yaw_rad: float | None = None,
) -> XyzAbc:
    """A pose in millimetres and degrees.

    Args:
        pose: shape (4, 4), metres.
        convention: what A, B, C mean.
        yaw_rad: MELFA only, base angle where it is known, as for an arm that leans over backwards.

    Raises:
        CommandError: not a pose; or, for MELFA, a flange axis outside the plane through the base axis.
    """
    convention = convention_named(convention)
    array = checked_pose(pose)
    x, y, z = (float(v) / MM for v in array[:3, 3])
    rotation = array[:3, :3].tolist()
    separate = True
    if convention is Convention.MELFA:
        a, b = _melfa_angles(rotation, _melfa_yaw(x, y, rotation, yaw_rad))
        c = 0.0
    else:
        about_z, b, about_x, separate = angles_rz_ry_rx(rotation)
        a, c = (about_z, about_x) if convention is Convention.KUKA_ABC else (about_x, about_z)
    return XyzAbc(
        x_mm=x + 0.0,
        y_mm=y + 0.0,
        z_mm=z + 0.0,
        a_deg=_shown(a),
        b_deg=_shown(b),
        c_deg=_shown(c),
        convention=convention,
        separate=separate,
    )


def xyzabc_to_pose(
    values: XyzAbc | Sequence[float],
    convention: Convention | str | None = None,
    *,
    yaw_rad: float | None = None,
) -> FloatArray:
    """The 4x4 pose, in metres, of X Y Z (mm) and A B C (degrees).

    Args:
        values: a record, or six numbers.
        convention: what A, B, C mean; by default the record's own, or RPY_XYZ_FIXED for numbers.
        yaw_rad: MELFA only, base angle where it is not that of X, Y.

    Raises:
        CommandError: not six finite numbers; an unknown convention; MELFA with a C other than 0.
    """
    if isinstance(values, XyzAbc):
        convention = values.convention if convention is None else convention
        values = (values.x_mm, values.y_mm, values.z_mm, values.a_deg, values.b_deg, values.c_deg)
    convention = convention_named(convention or Convention.RPY_XYZ_FIXED)
    if len(values) != 6 or not all(math.isfinite(v) for v in values):
        raise CommandError(
            f"a pose has to be six finite numbers X Y Z A B C, {list(values)} was given",
            value=values,
            allowed="six finite numbers",
        )
    x, y, z, a_deg, b_deg, c_deg = (float(v) for v in values)
    a, b, c = a_deg * DEG, b_deg * DEG, c_deg * DEG
    pose = np.eye(4)
    pose[:3, 3] = x * MM, y * MM, z * MM
    if convention is Convention.MELFA:
        if c != 0.0:
            raise CommandError(f"C is {c_deg} deg, but a five-axis melfa pose has C = 0", value=c_deg, allowed="0")
        yaw = math.atan2(y, x) if yaw_rad is None else yaw_rad
        pose[:3, :3] = _melfa_rotation(yaw, b, a - yaw * math.cos(b))
    elif convention is Convention.KUKA_ABC:
        pose[:3, :3] = rotation_rz_ry_rx(a, b, c)
    else:
        pose[:3, :3] = rotation_rz_ry_rx(c, b, a)
    return pose


def convention_named(name: Convention | str) -> Convention:
    """The convention called `name`.

    Raises:
        CommandError: there is none of that name.
    """
    try:
        return Convention(name)
    except ValueError:
        allowed = ", ".join(c.value for c in Convention)
        raise CommandError(
            f"unknown angle convention {name!r}; allowed: {allowed}", value=name, allowed=allowed
        ) from None


def rotation_vector(rotation: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Axis times angle of a rotation, stable from no turn to half a turn."""
    (r11, r12, r13), (r21, r22, r23), (r31, r32, r33) = rotation
    x, y, z = 0.5 * (r32 - r23), 0.5 * (r13 - r31), 0.5 * (r21 - r12)
    sine, cosine = math.sqrt(x * x + y * y + z * z), 0.5 * (r11 + r22 + r33 - 1.0)
    if cosine > 0.0 or sine > 1e-4:
        scale = math.atan2(sine, cosine) / sine if sine > 1e-12 else 1.0
        return x * scale, y * scale, z * scale
    # Near half a turn the skew part vanishes; the axis is the largest column of (R + R^T) / 2 - cos * 1.
    symmetric = (
        (r11 - cosine, 0.5 * (r12 + r21), 0.5 * (r13 + r31)),
        (0.5 * (r12 + r21), r22 - cosine, 0.5 * (r23 + r32)),
        (0.5 * (r13 + r31), 0.5 * (r23 + r32), r33 - cosine),
    )
    ax, ay, az = max(symmetric, key=lambda column: sum(v * v for v in column))
    angle = math.atan2(sine, cosine) / math.sqrt(ax * ax + ay * ay + az * az)
    if ax * x + ay * y + az * z < 0.0:
        angle = -angle
    return ax * angle, ay * angle, az * angle


def _shown(angle_rad: float) -> float:
    """Degrees without a negative zero, and half a turn always as +180."""
    degrees = angle_rad / DEG + 0.0
    return 180.0 if degrees == -180.0 else degrees


def _melfa_yaw(x: float, y: float, rotation: list[list[float]], yaw_rad: float | None) -> float:
    if yaw_rad is not None:
        return yaw_rad
    if math.hypot(x, y) > 1e-6:
        return math.atan2(y, x)
    return math.atan2(rotation[1][2], rotation[0][2]) if math.hypot(rotation[0][2], rotation[1][2]) > 1e-9 else 0.0


def _melfa_angles(rotation: list[list[float]], yaw: float) -> tuple[float, float]:
    c, s = math.cos(yaw), math.sin(yaw)
    axis = [row[2] for row in rotation]
    off = math.asin(min(abs(c * axis[1] - s * axis[0]), 1.0))
    if off > PLANE_TOLERANCE_RAD:
        raise CommandError(
            f"the flange axis points {off / DEG:.3f} deg out of the plane through the base axis; "
            "a five-axis melfa pose cannot say that",
            value=off / DEG,
            allowed="a flange axis in the plane through the base axis",
        )
    tilt = math.atan2(c * axis[0] + s * axis[1], axis[2])
    first = [row[0] for row in rotation]
    second = [row[1] for row in rotation]
    # The plane's normal (-s, c, 0), seen in the flange, is (sin roll, cos roll, 0).
    roll = math.atan2(c * first[1] - s * first[0], c * second[1] - s * second[0])
    return math.remainder(roll + yaw * math.cos(tilt), 2 * math.pi), tilt


def _melfa_rotation(yaw: float, tilt: float, roll: float) -> FloatArray:
    rz, ry = rotation_rz_ry_rx(yaw, 0.0, 0.0), rotation_rz_ry_rx(0.0, tilt, 0.0)
    result: FloatArray = np.array(rz) @ np.array(ry) @ np.array(rotation_rz_ry_rx(roll, 0.0, 0.0))
    return result
