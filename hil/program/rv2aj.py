"""The RV-2AJ in its controller's own terms: joints J1 J2 J3 J5 J6, poses X Y Z A B, posture flags, flange 72 mm out.

All joints at zero the arm points straight up; J2, J3 and J5 bend it forward. B = J2 + J3 + J5 is the tilt of the flange
axis from straight up. A is the roll of the flange; how it depends on J1 between flange up and flange down is known at
both ends only, and stands in `roll_share_deg` alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.link import FloatArray
from hil.program.arm import Posture, ProgramArm, turns_of
from hil.program.errors import ProgramError
from hil.program.values import ZERO_POSITION, Position, position
from hil.units import DEG

SHOULDER_MM, UPPER_MM, FOREARM_MM, FLANGE_MM = 300.0, 250.0, 160.0, 72.0
LOWER_DEG = (-150.0, -60.0, -110.0, -90.0, -200.0)
UPPER_DEG = (150.0, 120.0, 120.0, 90.0, 200.0)
SLOTS = (0, 1, 2, 4, 5)

REACH_SLACK = 1e-9
"""Rounding that the cosine of J3 may show beyond 1."""

ON_AXIS_MM = 1e-6
"""Distance from the axis of J1 at which the side is not told by rounding."""

MOST_TURNS = 100
"""Steps in which J1 and J6 of a tool beside the flange's axis have to settle."""


def roll_share_deg(j1_deg: FloatArray, b_deg: FloatArray) -> FloatArray:
    """What J1 adds to A: A = J6 + J1 cos B.

    With the flange down A = J6 - J1, with it up A = J6 + J1; between the two this form is an assumption.
    """
    share: FloatArray = j1_deg * np.cos(b_deg * DEG)
    return share


class _Turned(NamedTuple):
    """J1, J6 and what is left in the arm's plane, arrays of shape (N,)."""

    j1_deg: FloatArray
    j6_deg: FloatArray
    r_mm: FloatArray
    z_mm: FloatArray


class Rv2aj:
    """The arm with its limits and its frames.

    Args:
        lower_deg, upper_deg: joint limits; a rig may narrow them.
        tool: offset of the control point from the flange; X, Y, Z and C.
        base: where the robot's origin is in the coordinates that programs use; X, Y, Z and C.

    Raises:
        ProgramError: a frame that is tilted, which a pose of five members cannot show.
    """

    name = "RV-2AJ"
    slots: tuple[int, ...] = SLOTS

    def __init__(
        self,
        lower_deg: Sequence[float] = LOWER_DEG,
        upper_deg: Sequence[float] = UPPER_DEG,
        tool: Position = ZERO_POSITION,
        base: Position = ZERO_POSITION,
    ) -> None:
        self.lower_rad = np.array(lower_deg) * DEG
        self.upper_rad = np.array(upper_deg) * DEG
        self._limits = tuple(lower_deg), tuple(upper_deg)
        self._tool, self._base = tool, base
        for word, frame in (("TOOL", tool), ("BASE", base)):
            if frame.members[3] or frame.members[4]:
                raise ProgramError(
                    3860, f"{word} {frame}", allowed="X, Y, Z and C; five axes cannot show a frame tilted by A or B"
                )

    def with_frames(self, *, tool: Position | None = None, base: Position | None = None) -> ProgramArm:
        """The same arm with another tool or base."""
        return Rv2aj(*self._limits, self._tool if tool is None else tool, self._base if base is None else base)

    # -- forward -------------------------------------------------------------------------------------------------------

    def members(self, rows: FloatArray) -> FloatArray:
        """Poses, shape (N, 8), of joint rows of shape (N, 5)."""
        j1, s, j3, j5, j6 = rows.T
        t = s + j3
        u = t + j5
        tx, ty, tz, _, _, tc, _, _ = self._tool.members
        aside, across = tx * np.cos(j6) - ty * np.sin(j6), tx * np.sin(j6) + ty * np.cos(j6)
        length = FLANGE_MM + tz
        r = UPPER_MM * np.sin(s) + FOREARM_MM * np.sin(t) + length * np.sin(u) + aside * np.cos(u)
        z = SHOULDER_MM + UPPER_MM * np.cos(s) + FOREARM_MM * np.cos(t) + length * np.cos(u) - aside * np.sin(u)
        found = np.zeros((len(rows), 8))
        found[:, 0] = r * np.cos(j1) - across * np.sin(j1)
        found[:, 1] = r * np.sin(j1) + across * np.cos(j1)
        found[:, 2], found[:, 4] = z, u / DEG
        found[:, 3] = j6 / DEG + roll_share_deg(j1 / DEG, found[:, 4]) + tc
        return self._from_robot(found)

    def position(self, row: Sequence[float]) -> Position:
        """One pose with its flags."""
        values = self.members(np.array([row]))[0].tolist()
        right, above = self.posture(row)
        return position(values, 4 * right + 2 * above, turns_of(self, row))

    def posture(self, row: Sequence[float]) -> Posture:
        """Right: the flange centre is before the axis of J1. Above: J3 bends forward."""
        _, s, j3, j5, _ = row
        r = UPPER_MM * math.sin(s) + FOREARM_MM * math.sin(s + j3) + FLANGE_MM * math.sin(s + j3 + j5)
        return Posture(r >= -ON_AXIS_MM, j3 >= -REACH_SLACK)

    # -- inverse -------------------------------------------------------------------------------------------------------

    def solve(self, members: FloatArray, posture: Posture) -> tuple[FloatArray, FloatArray]:
        """Joint rows, shape (N, 5), and how far in mm each pose is out of reach."""
        robot = self._to_robot(members)
        turned, on_side = self._turn(robot, posture.right)
        b = robot[:, 4] * DEG
        length = FLANGE_MM + self._tool.members[2]
        rw, zw = turned.r_mm - length * np.sin(b), turned.z_mm - SHOULDER_MM - length * np.cos(b)
        distance = np.hypot(rw, zw)
        cosine = (distance**2 - UPPER_MM**2 - FOREARM_MM**2) / (2.0 * UPPER_MM * FOREARM_MM)
        j3 = np.arccos(np.clip(cosine, -1.0, 1.0)) * (1.0 if posture.above else -1.0)
        j2 = np.arctan2(rw, zw) - np.arctan2(FOREARM_MM * np.sin(j3), UPPER_MM + FOREARM_MM * np.cos(j3))
        j2 = _wrapped(j2)
        rows = np.column_stack([turned.j1_deg * DEG, j2, j3, _wrapped(b - j2 - j3), turned.j6_deg * DEG])
        over = np.maximum(distance - (UPPER_MM + FOREARM_MM), (UPPER_MM - FOREARM_MM) - distance)
        away = np.where(np.abs(cosine) > 1.0 + REACH_SLACK, np.maximum(over, 1e-3), 0.0)
        return rows, np.where(on_side, away, np.maximum(away, np.abs(turned.r_mm)))

    def _turn(self, robot: FloatArray, right: bool) -> tuple[_Turned, npt.NDArray[np.bool_]]:
        """J1 and J6, and whether the flange is then on the side asked for."""
        side = 1.0 if right else -1.0
        first, second = self._turn_to(robot, side), self._turn_to(robot, -side)
        reach = self._tool.members[2] * np.sin(robot[:, 4] * DEG)
        good = side * (first.r_mm - reach) >= -ON_AXIS_MM
        other = ~good & (side * (second.r_mm - reach) >= -ON_AXIS_MM)
        picked = _Turned(*(np.where(other, b, a) for a, b in zip(first, second, strict=True)))
        return picked, good | other

    def _turn_to(self, robot: FloatArray, side: float) -> _Turned:
        """The control point seen with J1 turned towards it (`side` 1) or away from it (-1)."""
        x, y, z, a, b = robot[:, :5].T
        tx, ty, _, _, _, tc, _, _ = self._tool.members
        azimuth, square = np.arctan2(y, x), x * x + y * y
        across = aside = np.zeros_like(x)
        j1 = _wrapped(azimuth if side > 0.0 else azimuth - math.pi)
        for _ in range(MOST_TURNS if tx or ty else 0):
            j6 = (a - tc - roll_share_deg(j1 / DEG, b)) * DEG
            aside, across = tx * np.cos(j6) - ty * np.sin(j6), tx * np.sin(j6) + ty * np.cos(j6)
            before, j1 = j1, _wrapped(azimuth - np.arctan2(across, side * _root(square - across**2)))
            if np.abs(_wrapped(j1 - before)).max(initial=0.0) < 1e-13:
                break
        r = side * _root(square - across**2)
        j6_deg = a - tc - roll_share_deg(j1 / DEG, b)
        tilt = b * DEG
        return _Turned(j1 / DEG, j6_deg, r - aside * np.cos(tilt), z + aside * np.sin(tilt))

    # -- frames --------------------------------------------------------------------------------------------------------

    def _to_robot(self, members: FloatArray) -> FloatArray:
        """From the coordinates of programs to those of the robot itself."""
        bx, by, bz, _, _, bc, _, _ = self._base.members
        x, y = members[:, 0] - bx, members[:, 1] - by
        cos, sin = math.cos(bc * DEG), math.sin(bc * DEG)
        found = members.copy()
        found[:, 0], found[:, 1] = cos * x + sin * y, cos * y - sin * x
        found[:, 2] = members[:, 2] - bz
        found[:, 3] = members[:, 3] - roll_share_deg(np.full(len(members), bc), members[:, 4])
        return found

    def _from_robot(self, members: FloatArray) -> FloatArray:
        bx, by, bz, _, _, bc, _, _ = self._base.members
        cos, sin = math.cos(bc * DEG), math.sin(bc * DEG)
        found = members.copy()
        found[:, 0] = bx + cos * members[:, 0] - sin * members[:, 1]
        found[:, 1] = by + sin * members[:, 0] + cos * members[:, 1]
        found[:, 2] = members[:, 2] + bz
        found[:, 3] = members[:, 3] + roll_share_deg(np.full(len(members), bc), members[:, 4])
        return found

    def moved(self, place: Position, along_mm: float) -> Position:
        """The place moved along the Z axis of its own tool."""
        return self.product(place, position((0.0, 0.0, along_mm)))

    def product(self, left: Position, right: Position) -> Position:
        """Full transforms, of which the result keeps what five axes can do.

        `left` is a pose of the arm, `right` an offset: X, Y, Z, and turns C about Z, then B about Y, then A about X of
        the frame so reached. The tool axis of the result is laid into the plane of the arm.
        """
        robot = self._to_robot(np.array([left.members]))
        is_right = left.fl1 is None or bool(left.fl1 & 4)
        turned, _ = self._turn(robot, is_right)
        j1, b, j6 = float(turned.j1_deg[0]) * DEG, float(robot[0, 4]) * DEG, float(turned.j6_deg[0]) * DEG
        start = _about_z(j1) @ _about_y(b) @ _about_z(j6 + self._tool.members[5] * DEG)
        offset = right.members
        point = robot[0, :3] + start @ np.array(offset[:3])
        turn = start @ _about_z(offset[5] * DEG) @ _about_y(offset[4] * DEG) @ _about_x(offset[3] * DEG)
        a_deg, b_deg = self._reduced(point, turn, robot[0], is_right)
        reduced = np.array([[*point, a_deg, b_deg, 0.0, *left.members[6:]]])
        return position(self._from_robot(reduced)[0].tolist(), left.fl1, left.fl2)

    def _reduced(self, point: FloatArray, turn: FloatArray, near: FloatArray, right: bool) -> tuple[float, float]:
        """A and B of a frame, each in the turn nearest to that of `near`."""
        trial = np.array([[*point, near[3], near[4], 0.0, 0.0, 0.0]])
        a = b = 0.0
        # A tool beside the flange's axis makes J1 depend on A: a few rounds settle it.
        for _ in range(3 if self._tool.members[0] or self._tool.members[1] else 1):
            j1 = float(self._turn(trial, right)[0].j1_deg[0])
            axis = turn[:, 2]
            outward = axis[0] * math.cos(j1 * DEG) + axis[1] * math.sin(j1 * DEG)
            b = _near(math.atan2(outward, axis[2]) / DEG, float(near[4]))
            rest = (_about_z(j1 * DEG) @ _about_y(b * DEG)).T @ turn
            roll = math.atan2(rest[1, 0] - rest[0, 1], rest[0, 0] + rest[1, 1]) / DEG
            share = float(roll_share_deg(np.array([j1]), np.array([b]))[0])
            a = _near(roll + share, float(near[3]))
            trial[0, 3], trial[0, 4] = a, b
        return a, b


def _wrapped(angle_rad: FloatArray) -> FloatArray:
    """In -180 up to 180 degrees, the upper end included."""
    found: FloatArray = angle_rad - 2.0 * math.pi * np.ceil(angle_rad / (2.0 * math.pi) - 0.5)
    return found


def _near(angle_deg: float, to_deg: float) -> float:
    return angle_deg + 360.0 * round((to_deg - angle_deg) / 360.0)


def _root(square: FloatArray) -> FloatArray:
    root: FloatArray = np.sqrt(np.maximum(square, 0.0))
    return root


def _about_x(angle_rad: float) -> FloatArray:
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _about_y(angle_rad: float) -> FloatArray:
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def _about_z(angle_rad: float) -> FloatArray:
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
