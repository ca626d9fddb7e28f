"""What the CR1 adds to the arm's kinematics: speeds, jogging, special places. Degrees and millimetres."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from hil.link import FloatArray
from hil.program.arm import ProgramArm
from hil.program.rv2aj import LOWER_DEG, SLOTS, UPPER_DEG
from hil.types import Record
from hil.units import DEG

AXES = len(SLOTS)
SINGULAR = 1e-2
"""Smallest singular value, mm per degree, of a place at which the arm can still be jogged along X, Y and Z."""

TURN_DEG_S = 90.0
"""Speed about A and B that counts as full when jogging."""

Five = tuple[float, float, float, float, float]


class ArmModel(Record, frozen=True):
    """What the reference leaves to the single robot, or does not know.

    Attributes:
        lower_deg, upper_deg: limits, the parameter MEJAR.
        speed_deg_s: top speed of each joint; not confirmed by any document at hand.
        tool_mm_s: top speed of the control point; not confirmed either.
        acceleration_s: time from rest to top speed.
        origin_deg: where the arm stands when it is made.
        safe_deg: where MOVSP goes, the parameter JSAFE.
        jog_part: part of the top speed that jogging at full override has.
        jog_mm_s: the same of the control point.
        inch_deg, inch_mm: length of a high and of a low inching step.
    """

    lower_deg: Five = LOWER_DEG
    upper_deg: Five = UPPER_DEG
    speed_deg_s: Five = (180.0, 90.0, 135.0, 180.0, 210.0)
    tool_mm_s: float = 2100.0
    acceleration_s: float = 0.2
    origin_deg: Five = (0.0, 0.0, 90.0, 90.0, 0.0)
    safe_deg: Five = (0.0, 0.0, 90.0, 90.0, 0.0)
    jog_part: float = 0.2
    jog_mm_s: float = 250.0
    inch_deg: tuple[float, float] = (0.1, 0.01)
    inch_mm: tuple[float, float] = (0.1, 0.01)


class JogMode(Enum):
    """What the axes of a jog mean."""

    JOINT = 0
    XYZ = 1
    TOOL = 2
    THREE_AXIS_XYZ = 4
    CYLINDER = 5


class Jog(NamedTuple):
    """A jog that was asked for.

    Attributes:
        signs: direction of each of X Y Z A B C, or J1 to J6.
        inch: 0 for going on, 1 for a high and 2 for a low step.
    """

    mode: JogMode
    signs: tuple[int, int, int, int, int, int]
    inch: int


def jog_rates(model: ArmModel, arm: ProgramArm, joints: Sequence[float], jog: Jog, override: float) -> list[float]:
    """Speed of each joint, deg/s, for a jog; of an inching step, the whole step in degrees.

    Args:
        model: speeds and steps.
        arm: with its present frames.
        joints: where it is, five in degrees.
        jog: what is asked for.
        override: 0 to 1.

    Returns:
        One number a joint; none where the joints cannot follow.
    """
    linear = model.inch_mm[jog.inch - 1] if jog.inch else model.jog_mm_s * override
    turning = model.inch_deg[jog.inch - 1] if jog.inch else TURN_DEG_S * model.jog_part * override
    if jog.mode is JogMode.JOINT:
        steps = [turning if jog.inch else speed * model.jog_part * override for speed in model.speed_deg_s]
        return [jog.signs[slot] * step for slot, step in zip(SLOTS, steps, strict=True)]
    jacobian = _jacobian(arm, joints)
    if float(np.linalg.svd(jacobian, compute_uv=False)[-1]) < SINGULAR:
        return []
    wanted = _wanted(arm, joints, jog, linear, turning)
    rates = [float(rate) for rate in np.linalg.solve(jacobian, wanted)]
    excess = max(abs(rate) / speed for rate, speed in zip(rates, model.speed_deg_s, strict=True))
    return [rate / max(excess, 1.0) for rate in rates]


def _wanted(arm: ProgramArm, joints: Sequence[float], jog: Jog, linear: float, turning: float) -> list[float]:
    """Along X, Y and Z of the base, and of A and B."""
    x, y, z = (sign * linear for sign in jog.signs[:3])
    tilts = [sign * turning for sign in jog.signs[3:5]]
    base = joints[0] * DEG
    if jog.mode is JogMode.TOOL:
        tilt, roll = (joints[1] + joints[2] + joints[3]) * DEG, joints[4] * DEG
        ahead, aside = x * math.cos(roll) - y * math.sin(roll), x * math.sin(roll) + y * math.cos(roll)
        out, z = ahead * math.cos(tilt) + z * math.sin(tilt), z * math.cos(tilt) - ahead * math.sin(tilt)
        x, y = out * math.cos(base) - aside * math.sin(base), out * math.sin(base) + aside * math.cos(base)
    elif jog.mode is JogMode.CYLINDER:
        place = arm.position([angle * DEG for angle in joints]).members
        angle, turn = math.atan2(place[1], place[0]), jog.signs[1] * turning * DEG
        x, y = x * math.cos(angle) - place[1] * turn, x * math.sin(angle) + place[0] * turn
    return [x, y, z, *tilts]


def _jacobian(arm: ProgramArm, joints: Sequence[float]) -> FloatArray:
    """Change of X, Y, Z, A, B per degree of each joint, by central differences; shape (5, 5)."""
    here = np.array(joints)
    step = 1e-3 * np.eye(AXES)
    rows = np.concatenate([here + step, here - step]) * DEG
    members = arm.members(rows)[:, :AXES]
    jacobian: FloatArray = (members[:AXES] - members[AXES:]).T / 2e-3
    return jacobian
