"""Jogging, as the JOG request asks for it. Degrees and millimetres."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from hil.link import FloatArray
from hil.program.arm import ProgramArm
from hil.program.errors import ProgramError
from hil.program.rv2aj import SLOTS
from hil.units import DEG
from sim.cr1.arm import ArmModel, Cr1Arm

AXES = len(SLOTS)
SINGULAR = 1e-2
"""Smallest singular value, mm per degree, of a place at which the arm can still be jogged along X, Y and Z."""

TURN_DEG_S = 90.0
"""Speed about A and B that counts as full when jogging."""

TIMEOUT_S = 0.14
"""A jog ends so long after it was last asked for."""

LEAST_PACE = 1e-9


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


class Jogger:
    """Moves the arm while a jog is asked for again and again.

    Args:
        arm: what it moves.
    """

    def __init__(self, arm: Cr1Arm) -> None:
        self._arm = arm
        self._jog: Jog | None = None
        self._until_s = -math.inf
        self._pace = 0.0

    @property
    def moving(self) -> bool:
        """A jog goes on, or slows down."""
        return self._pace > 0.0

    def ask(self, jog: Jog, now_s: float, override: float) -> bool:
        """Jog on; an inching step is made at once, and only once while it is held.

        Returns:
            False where the joints cannot follow.

        Raises:
            ProgramError: an inching step would pass a limit.
        """
        if not _rates(self._arm, self._arm.joints, jog, override):
            return False
        held = jog == self._jog and now_s <= self._until_s
        if jog != self._jog:
            self._pace = 0.0
        self._jog, self._until_s = jog, now_s + TIMEOUT_S
        if jog.inch and not held:
            before = self._arm.row
            self._move(_rates(self._arm, self._arm.joints, jog, 1.0))
            self._arm.note(before, now_s)
            self._arm.rest()
        elif not jog.inch and any(jog.signs):
            self._pace = max(self._pace, LEAST_PACE)
        return True

    def stop(self) -> None:
        """Slow down, as if nobody asked any more."""
        self._until_s = -math.inf

    def freeze(self) -> None:
        """Stand still at once."""
        self._pace = 0.0

    def step(self, time_s: float, override: float) -> None:
        """Do one control cycle.

        Raises:
            ProgramError: a limit is reached; the jog is over.
        """
        if self._jog is None or self._pace <= 0.0:
            return
        arm, jog = self._arm, self._jog
        change = arm.limits.period_s / arm.model.acceleration_s
        self._pace = min(self._pace + change, 1.0) if time_s <= self._until_s else max(self._pace - change, 0.0)
        lasting_s = self._pace * arm.limits.period_s
        rates = _rates(arm, arm.joints, jog, override)
        # The rates in the middle of the cycle keep a straight way straight.
        middle = [angle + 0.5 * lasting_s * rate for angle, rate in zip(arm.joints, rates, strict=bool(rates))]
        rates = _rates(arm, middle, jog, override) if middle else []
        self._move([rate * lasting_s for rate in rates])

    def _move(self, steps: Sequence[float]) -> None:
        if not steps:
            self._pace = 0.0
            return
        try:
            self._arm.drive(self._arm.row + np.array(steps) * DEG)
        except ProgramError:
            self._pace = 0.0
            raise


def _rates(arm: Cr1Arm, joints: Sequence[float], jog: Jog, override: float) -> list[float]:
    return jog_rates(arm.model, arm.kinematics, joints, jog, override)
