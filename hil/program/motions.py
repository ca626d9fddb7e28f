"""Samples of one motion statement: from rest to rest, within the joints' speed, acceleration and jerk.

A way of the tool is described by a fraction from 0 to 1. The joints are traced along it first; their derivatives say
how fast the fraction may run, and the samples, not the reasoning, decide in the end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hil.errors import CommandError
from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion.profiles import HEADROOM, axis_limits, differences, rest_to_rest
from hil.program.arm import Posture, ProgramArm, beyond, say_limit
from hil.program.errors import ProgramError
from hil.program.paths import Path
from hil.units import DEG, MM

GRID_MM, GRID_RAD = 2.0, 1.0 * DEG
LEAST_GRID, MOST_GRID = 24, 4000
"""How finely a way is traced before it is timed."""

CURVATURE_SHARE, CRUISE_JERK_SHARE = 0.6, 0.4
"""Parts of a joint's acceleration and jerk that the bend of its way may take at full speed; ramps use the rest."""

UNDERESTIMATE = 1.05
"""Differences between traced points miss the peaks between them by less than this."""

SLOWER_STILL, MOST_CORRECTION = 1.01, 6.0
"""Times that sampling may show a way to be too fast; what needs more has a jump that no slowness smooths out."""

JUMP_RAD = 12.0 * DEG
"""From one point of the grid to the next no joint turns farther on a way that can be followed."""

SLOW_DOWN = 100.0
"""Times that a joint may slow the tool at the worst place of a way, against the best; beyond, it is singular."""

STILL = 1e-12

SWEEP = 48
"""Points of a joint move at which the tool's speed is looked at."""

SPEED_TIME_S, ACCELERATION_TIME_S = 0.2, 0.05
"""How long an axis takes to full speed and full acceleration, where nobody says; the maker's figures are unknown."""

SPEED_DEG_S = (180.0, 90.0, 135.0, 180.0, 210.0)
TOOL_SPEED_MM_S = 2100.0
"""Largest speeds of the RV-2AJ, as its data sheet is remembered: not confirmed."""


class Limits(NamedTuple):
    """How fast joints (rad and s, shape (n,)) and tool (mm/s) may go; samples are `period_s` apart."""

    period_s: float
    speed: FloatArray
    acceleration: FloatArray
    jerk: FloatArray
    tool_mm_s: float


class Pace(NamedTuple):
    """What part of the limits a move may use, each above 0 to 1.

    Attributes:
        override: of every speed.
        acceleration: of acceleration and jerk.
        speed_mm_s: of the tool on lines and arcs; None for the best that the joints allow.
    """

    override: float = 1.0
    acceleration: float = 1.0
    speed_mm_s: float | None = None


def default_limits(period_s: float) -> Limits:
    """The RV-2AJ as far as its ratings are known."""
    speed = np.array(SPEED_DEG_S) * DEG
    acceleration = speed / SPEED_TIME_S
    return Limits(period_s, speed, acceleration, acceleration / ACCELERATION_TIME_S, TOOL_SPEED_MM_S)


def limits_of(rig: Rig) -> Limits:
    """The joints of a rig, its gripper left out."""
    joints = [k for k, axis in enumerate(rig.axes) if axis.kind is not AxisKind.GRIPPER]
    speed, acceleration, jerk = (limit[joints] for limit in axis_limits(rig))
    return Limits(rig.period_s, speed, acceleration, jerk, rig.tool_speed_m_s / MM)


def joint_move(arm: ProgramArm, limits: Limits, start: FloatArray, goal: FloatArray, pace: Pace) -> FloatArray:
    """MOV: all joints start and end together.

    Args:
        arm: for the speed of the tool.
        limits: of the joints.
        start: joint row, shape (n,).
        goal: the same.
        pace: how much of the limits.

    Returns:
        Shape (K + 1, n), row 0 being `start`, the last one `goal`.
    """
    way = goal - start
    if not way.any():
        return start[None, :].copy()
    size = np.maximum(np.abs(way), STILL)
    speed = float((limits.speed / size).min()) * HEADROOM
    acceleration, jerk = (
        float((limit / size).min()) * HEADROOM * pace.acceleration for limit in (limits.acceleration, limits.jerk)
    )
    points = arm.members(start + np.linspace(0.0, 1.0, SWEEP + 1)[:, None] * way)[:, :3]
    travel = float(np.linalg.norm(np.diff(points, axis=0), axis=1).max()) * SWEEP * UNDERESTIMATE
    if travel > 0.0:
        speed = min(speed, limits.tool_mm_s * HEADROOM / travel)
    fractions = _run(speed * pace.override, acceleration, jerk, limits.period_s)
    rows: FloatArray = start + fractions[:, None] * way
    rows[-1] = goal
    return rows


def follow(
    arm: ProgramArm,
    limits: Limits,
    path: Path,
    posture: Posture,
    start: FloatArray,
    pace: Pace,
    *,
    refuse_overspeed: bool = False,
) -> FloatArray:
    """MVS, MVR, MVC: the joints along a way of the tool.

    Args:
        arm: with its present frames.
        limits: of the joints and the tool.
        path: the way; it begins where `start` has the tool.
        posture: kept all along.
        start: joint row, shape (n,).
        pace: how much of the limits.
        refuse_overspeed: a given speed that the joints cannot keep is refused, as the controller does, not lowered.

    Returns:
        Shape (K + 1, n), row 0 being `start`.

    Raises:
        ProgramError: the way leaves the reach or a joint its limits, at its end or before; or a joint would race.
    """
    way = _Way(arm, limits, path, posture, start)
    count = min(max(math.ceil(max(path.length_mm / GRID_MM, path.turn_rad / GRID_RAD)), LEAST_GRID), MOST_GRID)
    grid = np.linspace(0.0, 1.0, count + 1)
    joints = way.rows(grid)
    if not np.ptp(joints, axis=0).any():
        return start[None, :].copy()
    way.refuse_jumps(grid, joints)
    speed, acceleration, jerk = way.run_limits(grid, joints, pace, refuse_overspeed)
    slowed = 1.0
    while True:
        fractions = _run(speed, acceleration, jerk, limits.period_s)
        rows = way.rows(fractions)
        rows[0] = start
        slower = excess(limits, rows, pace)
        if slower <= 1.0:
            return rows
        slower *= SLOWER_STILL
        slowed *= slower
        if slowed > MOST_CORRECTION:
            raise way.racing(rows)
        speed, acceleration, jerk = speed / slower, acceleration / slower**2, jerk / slower**3


def excess(limits: Limits, rows: FloatArray, pace: Pace | None = None) -> float:
    """How many times slower these samples would have to run to keep every limit of the joints; 1 or less if they do."""
    share = 1.0 if pace is None else pace.acceleration
    speed, acceleration, jerk = differences(rows, limits.period_s)
    used = (
        float((np.abs(speed) / limits.speed).max()),
        math.sqrt(float((np.abs(acceleration) / (limits.acceleration * share)).max())),
        math.cbrt(float((np.abs(jerk) / (limits.jerk * share)).max())),
    )
    return max(used)


class _Way:
    """The joints along one way."""

    def __init__(self, arm: ProgramArm, limits: Limits, path: Path, posture: Posture, start: FloatArray) -> None:
        self._arm, self._limits, self._path, self._posture, self._start = arm, limits, path, posture, start
        first, _ = arm.solve(path.members(np.zeros(1)), posture)
        self._turns = 2.0 * math.pi * np.round((start - first[0]) / (2.0 * math.pi))

    def rows(self, fractions: FloatArray) -> FloatArray:
        """Joint rows at rising fractions from 0 on, without jumps of a whole turn.

        Raises:
            ProgramError: one is out of reach, or a joint outside its limits.
        """
        found, away = self._arm.solve(self._path.members(fractions), self._posture)
        unreached = np.asarray(away > 0.0)
        if unreached.any():
            raise self._refused(2803, fractions, unreached, f"{away.max():.1f} mm out of reach")
        rows: FloatArray = np.unwrap(found, axis=0) + self._turns
        outside = np.asarray(((rows < self._arm.lower_rad - 1e-9) | (rows > self._arm.upper_rad + 1e-9)).any(axis=1))
        if outside.any():
            k = int(np.argmax(outside))
            joint = beyond(self._arm, rows[k])
            assert joint is not None
            detail, allowed = say_limit(self._arm, joint, float(rows[k, joint]))
            raise self._refused(2603, fractions, outside, detail, allowed)
        return rows

    def _refused(
        self, number: int, fractions: FloatArray, bad: np.ndarray, detail: str, allowed: str = ""
    ) -> ProgramError:
        """With the place where it begins; if only the end is bad, it is the target's fault."""
        k = int(np.argmax(bad))
        if bad[-1] and not bad[: max(len(bad) - 1, 1)].any():
            number -= 1
        x, y, z = self._path.members(fractions[k : k + 1])[0, :3]
        where = f"at ({x:.1f}, {y:.1f}, {z:.1f}), {100.0 * fractions[k]:.0f} % of the way"
        return ProgramError(number, f"{where}: {detail}", allowed=allowed)

    def refuse_jumps(self, grid: FloatArray, joints: FloatArray) -> None:
        """Refuse a way on which a joint has to jump, which passes a singular posture."""
        steps = np.abs(np.diff(joints, axis=0))
        if (steps > JUMP_RAD).any():
            k, joint = np.unravel_index(int(np.argmax(steps)), steps.shape)
            raise self._fast(int(joint), float(grid[k]), f"would have to turn {steps[k, joint] / DEG:.0f} deg at once")

    def racing(self, rows: FloatArray) -> ProgramError:
        """The error of a way that slowing down does not make possible."""
        speed = np.abs(differences(rows, self._limits.period_s)[0]) / self._limits.speed
        k, joint = np.unravel_index(int(np.argmax(speed)), speed.shape)
        return self._fast(int(joint), float(k) / max(len(speed) - 1, 1), "cannot follow at any speed")

    def _fast(
        self, joint: int, fraction: float, what: str, allowed: str = "a way farther from the singular posture"
    ) -> ProgramError:
        slot = self._arm.slots[joint] + 1
        x, y, z = self._path.members(np.array([fraction]))[0, :3]
        where = f"at ({x:.1f}, {y:.1f}, {z:.1f})"
        return ProgramError(2130 + slot, f"J{slot} {what} {where}", allowed=allowed)

    def run_limits(
        self, grid: FloatArray, joints: FloatArray, pace: Pace, refuse_overspeed: bool
    ) -> tuple[float, float, float]:
        """Speed, acceleration and jerk for the fraction of the way, in 1/s, 1/s2 and 1/s3.

        With q(f(t)): q' f1, q" f1^2 + q' f2 and q"' f1^3 + 3 q" f1 f2 + q' f3 have to keep each joint's limits.
        """
        part = float(grid[1])
        bends = [np.maximum(np.abs(np.diff(joints, k, axis=0)) / part**k, STILL) * UNDERESTIMATE for k in (1, 2, 3)]
        speed = self._limits.speed * HEADROOM
        acceleration, jerk = (
            limit * (HEADROOM * pace.acceleration) for limit in (self._limits.acceleration, self._limits.jerk)
        )
        d1, d2, d3 = (bend.max(axis=0) for bend in bends)
        length = max(self._path.length_mm, STILL)
        self._refuse_racing(grid, bends[0])
        wanted = self._limits.tool_mm_s if pace.speed_mm_s is None else min(pace.speed_mm_s, self._limits.tool_mm_s)
        if refuse_overspeed and pace.speed_mm_s is not None:
            self._refuse_overspeed(grid, bends[0], wanted, pace.override)
        f1 = min(float((speed / d1).min()), wanted * HEADROOM / length) * pace.override
        f1 = min(
            f1,
            float(np.sqrt(CURVATURE_SHARE * acceleration / d2).min()),
            float(np.cbrt(CRUISE_JERK_SHARE * jerk / d3).min()),
        )
        rest = jerk - d3 * f1**3
        f2 = min(float(((acceleration - d2 * f1**2) / d1).min()), float((rest / (6.0 * d2 * f1)).min()))
        f3 = float(((rest - 3.0 * d2 * f1 * f2) / d1).min())
        return f1, f2, f3

    def _refuse_racing(self, grid: FloatArray, slopes: FloatArray) -> None:
        """Refuse where a joint would slow the tool far below what the way allows elsewhere."""
        paces = self._limits.speed / slopes
        slowest = paces.min(axis=1)
        k = int(np.argmin(slowest))
        if self._path.length_mm > 1.0 and slowest[k] * SLOW_DOWN < slowest.max():
            at = f"would leave the tool {slowest[k] * self._path.length_mm:.2f} mm/s"
            raise self._fast(int(np.argmin(paces[k])), float(grid[k]), at)

    def _refuse_overspeed(self, grid: FloatArray, slopes: FloatArray, pace_mm_s: float, override: float) -> None:
        if self._path.length_mm < 1.0:
            return
        speed_mm_s = pace_mm_s * override
        needed = slopes / UNDERESTIMATE * speed_mm_s / self._path.length_mm
        over = needed / self._limits.speed
        if over.max() > 1.0:
            k, joint = np.unravel_index(int(np.argmax(over)), over.shape)
            what = f"would have to turn {needed[k, joint] / DEG:.0f} deg/s at {speed_mm_s:g} mm/s"
            allowed = f"SPD up to {pace_mm_s / float(over.max()):.0f} here"
            raise self._fast(int(joint), float(grid[k]), what, allowed)


def _run(speed: float, acceleration: float, jerk: float, period_s: float) -> FloatArray:
    try:
        return rest_to_rest(1.0, speed, acceleration, jerk, period_s)
    except CommandError as error:
        raise ProgramError(3110, f"this move: {error}") from None
