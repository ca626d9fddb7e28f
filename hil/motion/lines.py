"""Straight lines of the tool: the joints along them, a speed every joint can follow, and proof.

The way is described by a fraction from 0 to 1. The joints are first traced along it, which shows what
cannot be reached and where a posture would have to change. Their derivatives with respect to the fraction
give, by the chain rule, the speed, acceleration and jerk at which the fraction may run. The run is then
sampled, and the samples, not the reasoning, decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hil.kinematics.along import nearest
from hil.kinematics.results import IkResult
from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.motion import STILL
from hil.motion.profiles import HEADROOM, axis_limits, rest_to_rest, run_time_s, usage
from hil.motion.refusals import Spot, require_time
from hil.motion.trace import Trace
from hil.robot import Robot
from hil.units import DEG

Inverse = Callable[[float, list[float]], IkResult]
"""Inverse kinematics at a fraction of the way, near a seed."""

GRID_M = 2e-3
GRID_RAD = 1.0 * DEG
LEAST_GRID, MOST_GRID = 32, 1000
"""How finely the way is traced before its speed is chosen."""

CURVATURE_SHARE = 0.6
CRUISE_JERK_SHARE = 0.4
"""Parts of a joint's acceleration and jerk that the bend of its way may take at full speed; ramps use the
rest."""

UNDERESTIMATE = 1.05
"""Differences between traced points miss the peaks between them by less than this."""

SLOWER_STILL = 1.01
MOST_CORRECTION = 4.0
"""Times that sampling may show a line to be too fast; what needs more has a jump that no slowness smooths out."""


class StraightLine(NamedTuple):
    """A straight stretch of the tool, and what is asked of it.

    Attributes:
        start_m, end_m: the tool point at both ends, shape (3,).
        turn_rad: how far the tool turns on the way.
        speed_m_s: asked for; joints and the rig's tool speed may lower it.
        effort: part of the joints' limits that may be used, above 0 to 1.
        tolerance_m: how far the tool may be off the line.
    """

    start_m: FloatArray
    end_m: FloatArray
    turn_rad: float
    speed_m_s: float
    effort: float
    tolerance_m: float

    @property
    def noun(self) -> str:
        """What messages call it."""
        return "line"

    @property
    def length_m(self) -> float:
        """Distance from start to end."""
        return float(np.linalg.norm(self.end_m - self.start_m))

    def point_m(self, fraction: float) -> FloatArray:
        """Tool point at a fraction of the way, shape (3,)."""
        point: FloatArray = self.start_m + fraction * (self.end_m - self.start_m)
        return point


def plan_line(
    rig: Rig, robot: Robot, start: FloatArray, line: StraightLine, inverse: Inverse, spot: Spot
) -> FloatArray:
    """Joint samples of a straight line.

    Args:
        rig: limits and period.
        robot: kinematics of `rig.robot`.
        start: position of every axis before the line, shape (n_axes,); the gripper keeps its.
        line: where to, how fast, how straight.
        inverse: gives the pose's solutions along the line.
        spot: where the line begins in the motion.

    Returns:
        Shape (K + 1, n_axes), row 0 being `start`.

    Raises:
        RefusedError: some of it cannot be reached, is outside a soft limit, needs another posture, or cannot
            be followed.
    """
    trace = _Trace(rig, robot, start[: robot.dof], line, inverse, spot)
    count = max(line.length_m / GRID_M, line.turn_rad / GRID_RAD)
    grid = np.linspace(0.0, 1.0, min(max(math.ceil(count), LEAST_GRID), MOST_GRID) + 1)
    joints = trace.follow(grid)
    if not np.ptp(joints, axis=0).any():
        return start[None, :].copy()
    trace.check_continuity(grid, joints, halfway_m(robot, joints, line))
    speed, acceleration, jerk = _run_limits(rig, grid, joints, line, trace)
    slowed = 1.0
    while True:
        require_time(spot, run_time_s(1.0, speed, acceleration, jerk))
        fractions = rest_to_rest(1.0, speed, acceleration, jerk, rig.period_s)
        rows = np.repeat(start[None, :], len(fractions), axis=0)
        rows[:, : robot.dof] = trace.follow(fractions)
        trace.check_limits(fractions, rows[:, : robot.dof])
        slower = _excess(rig, robot, rows, line)
        if slower <= 1.0:
            trace.check_pace(fractions, rows[:, : robot.dof])
            return rows
        slower *= SLOWER_STILL
        slowed *= slower
        if slowed > MOST_CORRECTION:
            raise trace.impossible(rig, fractions, rows, halfway_m(robot, rows[:, : robot.dof], line))
        speed, acceleration, jerk = speed / slower, acceleration / slower**2, jerk / slower**3


class _Trace(Trace):
    """Joints along one line, each point on the branch of the point before."""

    def __init__(
        self, rig: Rig, robot: Robot, start: FloatArray, line: StraightLine, inverse: Inverse, spot: Spot
    ) -> None:
        super().__init__(rig, robot, start, line, spot)
        self._inverse = inverse

    def follow(self, fractions: FloatArray) -> FloatArray:
        """Joint positions at rising fractions, shape (len(fractions), dof); the first is the start itself."""
        rows = np.empty((len(fractions), len(self._axes)))
        rows[0] = self._start
        for k in range(1, len(fractions)):
            result = self._inverse(float(fractions[k]), rows[k - 1].tolist())
            if not result.solutions:
                self.check_limits(fractions[:k], rows[:k])
                raise self.unreachable(float(fractions[k]), result, float(fractions[k - 1]))
            rows[k] = nearest(result, rows[k - 1], self._turns)
        return rows


def deviation_m(points_m: FloatArray, start_m: FloatArray, end_m: FloatArray) -> FloatArray:
    """Distance of every point from the stretch between start and end, shape (N,) for points (N, 3)."""
    way = end_m - start_m
    square = float(way @ way)
    along = (points_m - start_m) @ way / square if square > 0.0 else np.zeros(len(points_m))
    distance: FloatArray = np.linalg.norm(points_m - start_m - np.clip(along, 0.0, 1.0)[:, None] * way, axis=1)
    return distance


def halfway_m(robot: Robot, joints: FloatArray, line: StraightLine) -> FloatArray:
    """How far the tool is off the line where the joints are half-way between two rows, shape (N - 1,)."""
    middle = robot.forward_kinematics(0.5 * (joints[1:] + joints[:-1]))
    return deviation_m(middle[:, :3, 3], line.start_m, line.end_m)


def _run_limits(
    rig: Rig, grid: FloatArray, joints: FloatArray, line: StraightLine, trace: _Trace
) -> tuple[float, float, float]:
    """Speed, acceleration and jerk for the fraction of the way, in 1/s, 1/s2 and 1/s3.

    With q(f(t)): q' f1, q" f1^2 + q' f2 and q"' f1^3 + 3 q" f1 f2 + q' f3 have to keep each joint's limits.
    """
    part = float(grid[1])
    bends = [np.maximum(np.abs(np.diff(joints, k, axis=0)) / part**k, STILL) * UNDERESTIMATE for k in (1, 2, 3)]
    speed, acceleration, jerk = (limit[: joints.shape[1]] * (line.effort * HEADROOM) for limit in axis_limits(rig))
    trace.check_pace(grid, joints)
    d1, d2, d3 = (bend.max(axis=0) for bend in bends)
    f1 = min(
        float((speed / d1).min()),
        float(np.sqrt(CURVATURE_SHARE * acceleration / d2).min()),
        float(np.cbrt(CRUISE_JERK_SHARE * jerk / d3).min()),
        min(line.speed_m_s, rig.tool_speed_m_s) * HEADROOM / max(line.length_m, STILL),
    )
    rest = jerk - d3 * f1**3
    f2 = min(float(((acceleration - d2 * f1**2) / d1).min()), float((rest / (6.0 * d2 * f1)).min()))
    f3 = float(((rest - 3.0 * d2 * f1 * f2) / d1).min())
    return f1, f2, f3


def _excess(rig: Rig, robot: Robot, rows: FloatArray, line: StraightLine) -> float:
    """How many times slower these samples would have to run to keep every limit; 1 or less if they do."""
    speed, acceleration, jerk = usage(rig, rows).max(axis=1)
    joints = rows[:, : robot.dof]
    points = robot.forward_kinematics(joints)[:, :3, 3]
    tool = np.linalg.norm(np.diff(points, axis=0), axis=1).max() / (rig.period_s * rig.tool_speed_m_s)
    away = max(
        float(halfway_m(robot, joints, line).max()),
        float(deviation_m(points, line.start_m, line.end_m).max()),
    )
    return float(max(speed, tool, math.sqrt(acceleration), math.cbrt(jerk), math.sqrt(away / line.tolerance_m)))
