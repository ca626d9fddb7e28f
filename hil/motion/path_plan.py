"""Samples along any path of the tool: traced, judged, timed, and proved on the samples themselves."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
import numpy as np

from hil.kinematics.along import STEP_RAD
from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.bridges import MOST_BRIDGES, Bridge, widest_bridge
from hil.motion.lines import StraightLine
from hil.motion.path_wish import PathWish
from hil.motion.posture_change import changes_on
from hil.motion.profiles import HEADROOM, axis_limits, usage
from hil.motion.refusals import Spot, refused, require_time
from hil.motion.trace import SLOW_DOWN, Trace
from hil.paths.orientation import Orientation
from hil.paths.path import LEAST_LENGTH_M, Line
from hil.paths.timing import Course, PathLimits, TooLongError, time_on_path
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.units import DEG, MM

GRID_M, GRID_RAD = 1e-3, 0.5 * DEG
LEAST_GRID, MOST_GRID = 96, 4000
"""How finely a path is traced before it is timed."""

FINER = 10
"""Times as finely, where joints may race for little travel of the tool."""

SAME_PLACE_M, SAME_TURN_RAD = 1e-6, 1e-5
"""A path begins where the arm stands, within this."""

TRIES = 5
"""Times that a path is timed anew, slower, because its samples were too far off it."""

REACHED, FEWEST = 0.99, 8
"""Part of the speed asked for at which a line is not slowed down; and samples below which there is nothing to gain."""


class PathPlan(NamedTuple):
    """A planned path.

    Attributes:
        rows: positions of every axis, shape (K + 1, n_axes).
        points_m: where the tool has to be at each of them and half-way to the next, shape (2 K + 1, 3).
    """

    rows: FloatArray
    points_m: FloatArray


def plan_path(rig: Rig, robot: Robot, start: FloatArray, wish: PathWish, spot: Spot) -> PathPlan:
    """Samples of a path from rest to rest.

    Args:
        rig: limits and period.
        robot: kinematics of `rig.robot`.
        start: position of every axis before the path, shape (n_axes,); the gripper keeps its.
        wish: which path, and how.
        spot: where it begins in the motion.

    Raises:
        RefusedError: it begins elsewhere than the arm stands, some of it cannot be reached, is outside a soft limit,
            needs another posture, cannot be followed, or takes too long.
    """
    tracer = _Tracer(rig, robot, start, wish, spot)
    at, joints = tracer.traced()
    length, pace = wish.length_m, min(wish.speed_m_s, rig.tool_speed_m_s)
    limits = _limits(rig, robot.dof, wish.effort, pace)
    for _ in range(TRIES):
        course = _timed(joints, length, limits, spot, compiled=robot.is_compiled)
        tracer.refuse_jump(course, at, joints)
        rows = np.repeat(start[None, :], len(course.at_m), axis=0)
        rows[1:, : robot.dof] = tracer.joints(course.at_m)[1:]
        away = tracer.away_m(course.at_m, rows[:, : robot.dof])
        tracer.check_limits(course.at_m / length, rows[:, : robot.dof])
        over = max(float(usage(rig, rows)[:, : robot.dof].max()), 1.0)
        off = float(away.max(initial=0.0)) / wish.tolerance_m
        if over <= 1.0 and off <= 1.0:
            return PathPlan(rows, tracer.points_m(course.at_m))
        slower = max(over, math.sqrt(off)) * 1.05
        limits = limits._replace(
            pace_m_s=float(np.diff(course.at_m).max()) / rig.period_s / slower if off > 1.0 else limits.pace_m_s,
            acceleration=limits.acceleration / over**2,
            jerk=None if limits.jerk is None else limits.jerk / over**3,
            speed=limits.speed / over,
        )
    raise tracer.impossible(rig, course.at_m / length, rows, away)


def quicker_line(
    rig: Rig, robot: Robot, rows: FloatArray, line: StraightLine, hand: Orientation, spot: Spot
) -> FloatArray:
    """A line that some place of it slowed down as a whole, slowed down there only; as it was where that gains nothing.

    Args:
        rig: limits and period.
        robot: kinematics of `rig.robot`.
        rows: samples of the line, row 0 being where it starts.
        line: that was planned.
        hand: how the tool is turned on it.
        spot: where it begins in the motion.
    """
    asked = min(line.speed_m_s, rig.tool_speed_m_s)
    # What a controller of few targets makes of a quicker line is another way: it keeps the even one.
    if line.length_m < LEAST_LENGTH_M or rig.controller.pace is not None or len(rows) < FEWEST:
        return rows
    points = robot.forward_kinematics(rows[:, : robot.dof])[:, :3, 3]
    fastest = float(np.linalg.norm(np.diff(points, axis=0), axis=1).max()) / rig.period_s
    if fastest >= REACHED * asked:
        return rows
    path = Line(line.start_m, line.end_m)
    wish = PathWish("line", path, hand, line.speed_m_s, line.effort, line.tolerance_m)
    try:
        quicker = plan_path(rig, robot, rows[0], wish, spot).rows
    except RefusedError:
        return rows
    return quicker if len(quicker) < len(rows) else rows


def _timed(joints: FloatArray, length_m: float, limits: PathLimits, spot: Spot, *, compiled: bool) -> Course:
    try:
        course = time_on_path(joints, length_m, limits, compiled=compiled)
    except TooLongError as error:
        require_time(spot, error.seconds)
        raise
    require_time(spot, course.seconds)
    return course


def _limits(rig: Rig, dof: int, effort: float, pace_m_s: float) -> PathLimits:
    speed, acceleration, jerk = (limit[:dof] * effort for limit in axis_limits(rig))
    return PathLimits(rig.period_s, speed, acceleration, jerk, pace_m_s * HEADROOM)


def _with_options(error: RefusedError, options: list[str]) -> RefusedError:
    return _advised(error, f"Or set singularity = {', or '.join(options)}.") if options else error


def _advised(error: RefusedError, words: str) -> RefusedError:
    found = [msgspec.structs.replace(each, advice=f"{each.advice} {words}") for each in error.refusals]
    return RefusedError(found, "the motion cannot be planned")


class _Tracer(Trace):
    """The joints along one path."""

    def __init__(self, rig: Rig, robot: Robot, start: FloatArray, wish: PathWish, spot: Spot) -> None:
        super().__init__(rig, robot, start[: robot.dof], wish, spot)
        self._wish, self._rig, self._position = wish, rig, start
        self._bridges: list[Bridge] = []

    def traced(self) -> tuple[FloatArray, FloatArray]:
        """Lengths on an even grid and the joints there, nothing wrong with them."""
        wish = self._wish
        count = math.ceil(max(wish.length_m / GRID_M, wish.orientation.turn_rad / GRID_RAD))
        count *= FINER if wish.singularity == "slow" else 1
        at = np.linspace(0.0, wish.length_m, min(max(count, LEAST_GRID), MOST_GRID) + 1)
        joints = self.joints(at)
        self._check_start(joints[0])
        joints[0] = self._start
        if wish.singularity == "leave":
            joints = self._left(at, joints)
        try:
            self._check_course(at, joints)
        except RefusedError as error:
            raise self._with_cost(error, at, joints) from None
        return at, joints

    def _check_course(self, at: FloatArray, joints: FloatArray) -> None:
        """Refuse a change of posture, and a joint that races."""
        fractions = at / self._wish.length_m
        self.check_continuity(fractions, joints, self.away_m(at, joints))
        if self._wish.singularity != "slow":
            self.check_pace(fractions, joints)

    def _left(self, at: FloatArray, joints: FloatArray) -> FloatArray:
        """The joints with short cuts where they would have to race, the tool off its path within its tolerance."""
        for _ in range(MOST_BRIDGES):
            slowest = self.paces(at / self._wish.length_m, joints).min(axis=1)
            worst = int(np.argmin(slowest))
            best = min(self._tool_speed_m_s, float(slowest.max()))
            if slowest[worst] * SLOW_DOWN >= best:
                break
            bridge = widest_bridge(at, joints, worst, self._off_m, self._wish.tolerance_m)
            if bridge is None:
                break
            self._bridges.append(bridge)
            joints = self._bridged(at, joints)
        return joints

    def _off_m(self, at_m: FloatArray, joints: FloatArray) -> FloatArray:
        points = self._robot.forward_kinematics(joints)[:, :3, 3]
        away: FloatArray = np.linalg.norm(points - self._wish.path.points_m(at_m), axis=1)
        return away

    def _bridged(self, at_m: FloatArray, rows: FloatArray) -> FloatArray:
        rows = rows.copy()
        for bridge in self._bridges:
            inside = bridge.inside(at_m)
            rows[inside] = bridge.rows(at_m[inside])
        return rows

    def _with_cost(self, error: RefusedError, at: FloatArray, joints: FloatArray) -> RefusedError:
        """The refusal of a path beside a singular posture, with what it would take to go there all the same."""
        wish, options = self._wish, []
        checks = {each.check for each in error.refusals}
        if not checks & {"E-02", "E-05", "E-08"}:
            return error
        if wish.singularity == "change":
            return _advised(error, "No other posture at rest leads on from there, or those that do leave a soft limit.")
        if wish.singularity != "refuse":
            return error
        if checks == {"E-02"}:
            return _with_options(error, self._change_cost())
        if any(each.check == "E-08" for each in error.refusals):
            limits = _limits(self._rig, self._robot.dof, wish.effort, min(wish.speed_m_s, self._rig.tool_speed_m_s))
            try:
                course = time_on_path(joints, wish.length_m, limits, compiled=self._robot.is_compiled)
                options.append(f'"slow", which takes {course.seconds:.1f} s')
            except TooLongError:
                pass
        left = self._left(at, joints)
        try:
            self._check_course(at, left)
            most = float(self._off_m(at, left).max()) / MM
            options.append(f'"leave", which leaves the {wish.noun} by up to {most:.2f} mm')
        except RefusedError:
            pass
        return _with_options(error, [*options, *self._change_cost()])

    def _change_cost(self) -> list[str]:
        """Where another posture would be taken, if that helps, and what it costs."""
        try:
            changes = changes_on(self._rig, self._robot, self._position, self._wish, self._spot)
        except RefusedError:
            return []
        stops = "; ".join(f"at {self._words(each.at_m / self._wish.length_m)}, {each.cost}" for each in changes or ())
        return [f'"change", which takes another posture {stops}'] if stops else []

    def joints(self, at_m: FloatArray) -> FloatArray:
        """Joints at rising lengths from 0 on, shape (N, dof)."""
        targets = self._wish.orientation.targets(self._wish.path, at_m)
        found = self._robot.inverse_kinematics_along(targets, self._start.tolist())
        if found.refusal is not None:
            k = len(found.rows)
            fractions = at_m / self._wish.length_m
            self.check_limits(fractions[:k], found.rows)
            raise self.unreachable(float(fractions[k]), found.refusal, float(fractions[max(k - 1, 0)]))
        return self._bridged(at_m, found.rows)

    def points_m(self, at_m: FloatArray) -> FloatArray:
        """Where the tool has to be at lengths and half-way between each two."""
        both = np.empty(2 * len(at_m) - 1)
        both[::2], both[1::2] = at_m, 0.5 * (at_m[1:] + at_m[:-1])
        return self._wish.path.points_m(both)

    def away_m(self, at_m: FloatArray, joints: FloatArray) -> FloatArray:
        """How far the tool is off the path where the joints are half-way between two rows, shape (N - 1,)."""
        middle = 0.5 * (at_m[1:] + at_m[:-1])
        apart = self._robot.forward_kinematics(0.5 * (joints[1:] + joints[:-1]))[:, :3, 3]
        apart = apart - self._wish.path.points_m(middle)
        way = self._wish.path.directions(middle)
        across: FloatArray = np.linalg.norm(apart - (apart * way).sum(axis=1)[:, None] * way, axis=1)
        return across

    def refuse_jump(self, course: Course, at_m: FloatArray, joints: FloatArray) -> None:
        """Refuse a path in which no slowness keeps the joints' limits."""
        if course.excess <= 1.0:
            return
        k = min(max(int(np.searchsorted(at_m, course.worst_m)), 1), len(at_m) - 1)
        fraction = float(at_m[k] / at_m[-1])
        steps = np.abs(joints[k] - joints[k - 1])
        axis = self._axes[int(np.argmax(steps))]
        refusal = Refusal(
            check="E-05",
            subject=axis.name,
            limit=f"speed, acceleration and jerk at {self._words(fraction)}, where it would have to change at once, "
            "however slow the tool",
            margin=1.0 - course.excess,
            unit="times the limit",
            nearest_allowed=f"the {self._wish.noun} up to {self._words(float(at_m[k - 1] / at_m[-1]))}",
            advice=f"Round the corner of the {self._wish.noun} there, or make two steps of it.",
        )
        raise self._refused([refusal], fraction)

    def _check_start(self, first: FloatArray) -> None:
        """Refuse a path that begins elsewhere, or with the tool turned in another way, than the arm stands."""
        here, there = self._robot.forward_kinematics(np.array([self._start, first]))
        away = float(np.linalg.norm(there[:3, 3] - here[:3, 3]))
        cosine = 0.5 * (float(np.trace(here[:3, :3].T @ there[:3, :3])) - 1.0)
        turned = math.acos(min(max(cosine, -1.0), 1.0))
        step = float(np.abs(first - self._start).max())
        if away <= SAME_PLACE_M and turned <= max(SAME_TURN_RAD, 0.0) and step <= STEP_RAD:
            return
        far, unit = (away / MM, "mm") if away > SAME_PLACE_M else (turned / DEG, "deg")
        if away <= SAME_PLACE_M and turned <= SAME_TURN_RAD:
            far = step / DEG
        refusal = Refusal(
            check="E-05",
            subject="tool",
            limit=f"the {self._wish.noun} begins {far:.2f} {unit} from how the arm stands",
            margin=-far,
            unit=unit,
            nearest_allowed="to begin where the arm stands, the hand as the step asks",
            advice="Put a move before it that brings the hand there.",
        )
        raise refused([refusal], self._spot)
