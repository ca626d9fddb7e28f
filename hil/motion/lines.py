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

from hil.kinematics.results import IkResult
from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion.motion import STILL
from hil.motion.profiles import HEADROOM, axis_limits, rest_to_rest, run_time_s, usage
from hil.motion.refusals import LIMIT_SLACK, Spot, beyond_soft_limits, in_unit, refused, require_time, say, unit_of
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.units import DEG, MM

Inverse = Callable[[float, list[float]], IkResult]
"""Inverse kinematics at a fraction of the way, near a seed."""

GRID_M = 2e-3
GRID_RAD = 1.0 * DEG
LEAST_GRID, MOST_GRID = 32, 1000
"""How finely the way is traced before its speed is chosen."""

STEP_RAD = 15.0 * DEG
STEP_M = 20e-3
"""Most that a joint may change between two traced points; more is another posture, or a singular one."""

SLOW_DOWN = 25.0
"""Times that joints may slow the tool at the worst place of a line; beyond that a singularity is to blame."""

CURVATURE_SHARE = 0.6
CRUISE_JERK_SHARE = 0.4
"""Parts of a joint's acceleration and jerk that the bend of its way may take at full speed; ramps use the
rest."""

UNDERESTIMATE = 1.05
"""Differences between traced points miss the peaks between them by less than this."""

SLOWER_STILL = 1.01
MOST_CORRECTION = 4.0
"""Times that sampling may show a line to be too fast; what needs more has a jump that no slowness smooths out."""

POSTURE_ADVICE = (
    "The arm would have to change its posture on the line (elbow, or base turning round): lead the line further away "
    "from there, or make it a joint move."
)

LIMIT_ADVICE = (
    "Lead the line elsewhere, or begin it in another posture with a move before it. Where the way does not matter, "
    "make it a move."
)

LEAST_TRAVEL_M = 1e-6
"""Travel of the tool from which its pace can be told."""


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
    trace.check_continuity(grid, joints)
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
            raise trace.impossible(rig, fractions, rows)
        speed, acceleration, jerk = speed / slower, acceleration / slower**2, jerk / slower**3


class _Trace:
    """Joints along one line, each point on the branch of the point before."""

    def __init__(
        self, rig: Rig, robot: Robot, start: FloatArray, line: StraightLine, inverse: Inverse, spot: Spot
    ) -> None:
        self._robot, self._start, self._line, self._inverse, self._spot = robot, start, line, inverse, spot
        self._axes = rig.axes[: robot.dof]
        self._tool_speed_m_s = rig.tool_speed_m_s
        self._turns = np.array([axis.kind is AxisKind.REVOLUTE for axis in self._axes])
        # An axis that begins beyond a soft limit may go back, and no further out.
        lower = [min(axis.lower + axis.soft_margin, at) for axis, at in zip(self._axes, start, strict=True)]
        upper = [max(axis.upper - axis.soft_margin, at) for axis, at in zip(self._axes, start, strict=True)]
        self._lower, self._upper = np.array(lower) - LIMIT_SLACK, np.array(upper) + LIMIT_SLACK

    def follow(self, fractions: FloatArray) -> FloatArray:
        """Joint positions at rising fractions, shape (len(fractions), dof); the first is the start itself."""
        rows = np.empty((len(fractions), len(self._axes)))
        rows[0] = self._start
        for k in range(1, len(fractions)):
            result = self._inverse(float(fractions[k]), rows[k - 1].tolist())
            if not result.solutions:
                self.check_limits(fractions[:k], rows[:k])
                raise self._unreachable(float(fractions[k]), result, float(fractions[k - 1]))
            rows[k] = self._nearest(result, rows[k - 1])
        return rows

    def _nearest(self, result: IkResult, before: FloatArray) -> FloatArray:
        found = np.array([solution.q for solution in result.solutions])
        turns = np.round((before - found) / (2.0 * math.pi)) * self._turns
        found = found + 2.0 * math.pi * turns
        nearest: FloatArray = found[int(np.argmin(np.abs(found - before).max(axis=1)))]
        return nearest

    def check_limits(self, fractions: FloatArray, rows: FloatArray) -> None:
        """Refuse a point at which a joint would be outside its soft limits."""
        outside = ((rows < self._lower) | (rows > self._upper)).any(axis=1)
        if outside.any():
            k = int(np.argmax(outside))
            what = f"at {self._words(float(fractions[k]))},"
            found = beyond_soft_limits(self._axes, rows[k].tolist(), what, LIMIT_ADVICE, start=self._start.tolist())
            raise self._refused(found, float(fractions[k]))

    def check_continuity(self, grid: FloatArray, rows: FloatArray) -> None:
        """Refuse a change of posture between two points, however few there are, and any point outside limits."""
        steps = np.abs(np.diff(rows, axis=0))
        allowed = np.where(self._turns, STEP_RAD, STEP_M)
        jumps = steps > allowed
        away = halfway_m(self._robot, rows, self._line)
        bad = np.flatnonzero(jumps.any(axis=1) | (away > max(self._line.tolerance_m, 1.0 * MM)))
        sound = int(bad[0]) + 1 if len(bad) else len(rows)
        self.check_limits(grid[:sound], rows[:sound])
        if not len(bad):
            return
        k = int(bad[0])
        column = int(np.argmax(steps[k] / allowed))
        axis = self._axes[column]
        refusal = Refusal(
            check="E-05",
            subject=axis.name,
            limit=f"at most {say(axis, float(allowed[column]))} from one point to the next, "
            f"{say(axis, float(steps[k, column]))} needed; half-way between them the tool would be "
            f"{away[k] / MM:.1f} mm off the line",
            margin=in_unit(axis, float(allowed[column] - steps[k, column])),
            unit=unit_of(axis),
            nearest_allowed=f"the line up to {self._words(float(grid[k]))}",
            advice=POSTURE_ADVICE,
        )
        raise self._refused([refusal], float(grid[k + 1]))

    def _unreachable(self, fraction: float, result: IkResult, last: float) -> RefusedError:
        by = result.distance_m
        refusal = Refusal(
            check="E-07",
            subject=result.joint or "tool",
            limit=f"reach: at {self._words(fraction)}: {result.reason}",
            margin=-by / MM if by is not None else -1.0,
            unit="mm" if by is not None else "pose",
            nearest_allowed=f"the line up to {self._words(last)}",
            advice="End the line there, move it nearer to the arm, or give it another pitch_deg.",
        )
        return self._refused([refusal], fraction)

    def check_pace(self, fractions: FloatArray, rows: FloatArray) -> None:
        """Refuse where a joint would have to race for little travel of the tool."""
        travel = np.diff(fractions) * self._line.length_m
        moving = np.flatnonzero(travel > LEAST_TRAVEL_M)
        if not len(moving):
            return
        steps = np.maximum(np.abs(np.diff(rows, axis=0)[moving]), STILL)
        speeds = np.array([axis.speed for axis in self._axes])
        paces = travel[moving, None] * speeds / steps
        slowest = paces.min(axis=1)
        best = min(self._tool_speed_m_s, float(slowest.max()))
        k = int(np.argmin(slowest))
        if slowest[k] * SLOW_DOWN >= best:
            return
        fraction = float(fractions[moving[k]])
        axis = self._axes[int(np.argmin(paces[k]))]
        least = best / SLOW_DOWN
        refusal = Refusal(
            check="E-08",
            subject=axis.name,
            limit=f"speed {say(axis, axis.speed)}/s, which at {self._words(fraction)}, leaves the tool "
            f"{slowest[k] / MM:.2f} mm/s",
            margin=(float(slowest[k]) - least) / MM,
            unit="mm/s",
            nearest_allowed=f"{least / MM:.2f} mm/s, a {SLOW_DOWN:g}th of what the line allows elsewhere",
            advice="The line passes too near to a singular posture (arm straight, or tool above the base "
            "axis): lead it further away, or make it a joint move.",
        )
        raise self._refused([refusal], fraction)

    def impossible(self, rig: Rig, fractions: FloatArray, rows: FloatArray) -> RefusedError:
        """The refusal of a line that slowing down does not make possible."""
        dof = len(self._axes)
        self.check_pace(fractions, rows[:, :dof])
        away = halfway_m(self._robot, rows[:, :dof], self._line)
        used = usage(rig, rows)[:, :dof]
        steps = np.abs(np.diff(rows[:, :dof], axis=0)) / axis_limits(rig)[0][:dof]
        if used.max() <= 1.0:
            k = int(np.argmax(away))
            worst = float(away[k])
            refusal = Refusal(
                check="E-06",
                subject="tool",
                limit=f"within {self._line.tolerance_m / MM:g} mm of the line; {worst / MM:.3f} mm off it between "
                "samples",
                margin=(self._line.tolerance_m - worst) / MM,
                unit="mm",
                nearest_allowed=f"tolerance_mm = {worst / MM:.3f}",
                advice="Allow more tolerance_mm, lead the line away from singular postures, or make it a joint move.",
            )
        else:
            column = int(np.argmax(used.max(axis=0)))
            k = int(np.argmax(steps[:, column]))
            axis = self._axes[column]
            refusal = Refusal(
                check="E-05",
                subject=axis.name,
                limit=f"speed {say(axis, axis.speed)}/s; at {self._words(float(fractions[k]))}, it would have to "
                f"change by {say(axis, float(np.ptp(rows[k : k + 2, column])))} at once, however slow the tool",
                margin=1.0 - float(used.max()),
                unit="times the limit",
                nearest_allowed=f"the line up to {self._words(float(fractions[k]))}",
                advice=POSTURE_ADVICE,
            )
        return self._refused([refusal], float(fractions[k]))

    def _words(self, fraction: float) -> str:
        x, y, z = self._line.point_m(fraction) / MM
        return f"({x:z.1f}, {y:z.1f}, {z:z.1f}) mm, {100.0 * fraction:.0f} % of the way"

    def _refused(self, refusals: list[Refusal], fraction: float) -> RefusedError:
        """With the sample at which the tool would be there at the speed asked for."""
        way_s = self._line.length_m / self._line.speed_m_s
        return refused(refusals, self._spot, math.ceil(fraction * way_s / self._spot.period_s))


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
