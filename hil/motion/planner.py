"""From a task to a motion: every step becomes samples that keep all limits, or a refusal that says why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from hil.errors import CommandError, ConfigError
from hil.kinematics.poses import rotation_vector, xyzabc_to_pose
from hil.kinematics.results import IkResult
from hil.link import FloatArray
from hil.model.files import find
from hil.model.rig import Axis, AxisKind, Rig
from hil.motion.lines import Inverse, StraightLine, plan_line
from hil.motion.motion import STILL, Kind, Mark, Motion, Point
from hil.motion.profiles import HEADROOM, axis_limits, rest_to_rest, run_time_s
from hil.motion.refusals import POSTURE, Spot, beyond_hard_limits, beyond_soft_limits, refused, require_time
from hil.motion.tasks import Gripper, LineStep, Move, Start, Step, Task, Wait, load_task
from hil.motion.ways_out import WayOutPlan
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.tables import closest
from hil.units import DEG, MM

ELBOWS = {"up": "elbow up", "down": "elbow down"}
FULL_POSE_AXES = 6
"""From so many axes on an arm keeps its whole orientation where a file says nothing about it."""

NEARER = "Move the target nearer to the arm, or give it another pitch_deg or elbow."
ANY_ORIENTATION = "An arm of {} axes cannot take any orientation: give pitch_deg and roll_deg instead of abc_deg."

AT_END = "at the end of this step"

PITCH_STEP_RAD = 5.0 * DEG
"""How finely a pitch is looked for where a file leaves it open."""

SWEEP_RAD, SWEEP_M = 2.0 * DEG, 5.0 * MM
LEAST_SWEEP = 16
"""How finely the tool's speed is looked at along a joint move."""

ARC_OVER_CHORD = 1.001
"""A chord of the tool's path between two such points is shorter than the path by less than this."""


def plan(rig: Rig, task: str | Path) -> Motion:
    """Find, read and plan a task for a rig.

    Raises:
        ConfigError: there is no such task, or something in it is wrong.
        RefusedError: the rig's arm cannot do it.
    """
    return plan_task(rig, Robot(rig.robot), load_task(find("tasks", task)))


def plan_task(rig: Rig, robot: Robot, task: Task) -> Motion:
    """Plan a whole task.

    Args:
        rig: limits, named poses and period.
        robot: kinematics of `rig.robot`.
        task: what to do.

    Returns:
        The motion from the task's start pose, from rest to rest.

    Raises:
        ConfigError: the task is for another rig, or names something that this rig lacks.
        RefusedError: a step cannot be done within the limits; the refusals say where, and what would be.
    """
    motion, error = plan_until_refused(rig, robot, task)
    if error is not None:
        raise error
    return motion


def plan_until_refused(rig: Rig, robot: Robot, task: Task) -> tuple[Motion, RefusedError | None]:
    """Plan the steps of a task up to the first that cannot be done.

    Args:
        rig: limits, named poses and period.
        robot: kinematics of `rig.robot`.
        task: what to do.

    Returns:
        The motion of the steps before, one mark a step, and the refusal; None if every step can be done. Before the
        first step, or if the start pose itself is refused, the motion is a single sample.

    Raises:
        ConfigError: the task is for another rig, or names something that this rig lacks.
    """
    if task.rig is not None and task.rig != rig.id:
        raise ConfigError(
            task.file,
            "rig",
            task.rig,
            f'"{rig.id}", the rig in use',
            "Leave the key out if the task suits both",
        )
    try:
        planner = _Planner(rig, robot, task)
    except RefusedError as error:
        return Motion([axis.name for axis in rig.axes], rig.period_s, [rig.park]), error
    for number, step in enumerate(task.steps, start=1):
        try:
            planner.add(number, step)
        except RefusedError as error:
            return planner.motion(), error
    return planner.motion(), None


def plan_joint_move(rig: Rig, start: Sequence[float], goal: Sequence[float], *, speed_percent: float = 100.0) -> Motion:
    """One joint move of every axis, the gripper included.

    From where a limit is not kept it goes straight if that makes nothing worse, else first a short way out (see
    `hil.motion.ways_out`).

    Args:
        rig: limits and period.
        start: position of every axis, shape (n_axes,), in rad or m.
        goal: the same, where it shall rest.
        speed_percent: part of every limit that is used, above 0 to 100.

    Raises:
        CommandError: a number is not finite, or a length does not fit the rig.
        RefusedError: the start is outside a hard limit, or the goal outside a soft one, and further than the start.
    """
    if not 0.0 < speed_percent <= 100.0:
        raise CommandError(f"speed {speed_percent!r} %; allowed: above 0 to 100 %", value=speed_percent)
    ends = {"start": start, "goal": goal}
    for name, values in ends.items():
        if len(values) != len(rig.axes) or not all(map(math.isfinite, values)):
            raise CommandError(
                f"{name} of a joint move: {list(values)!r}; allowed: {len(rig.axes)} finite numbers",
                value=values,
            )
    if found := beyond_hard_limits(rig.axes, start, "at the start"):
        raise refused(found, Spot(0, rig.period_s, "start"))
    if found := beyond_soft_limits(rig.axes, goal, "at the goal", start=start):
        raise refused(found, Spot(0, rig.period_s, "goal"))
    here, there = np.array(start, dtype=np.float64), np.array(goal, dtype=np.float64)
    robot, effort, spot = Robot(rig.robot), speed_percent / 100.0, Spot(0, rig.period_s, "joint move")
    leaving = WayOutPlan(rig, robot, here)
    samples = leaving.planned(there, lambda places: _joint_runs(rig, robot, [here, *places], effort, spot))
    mark = Mark(first=0, last=len(samples) - 1, step=0, kind="joint", label="joint move")
    return Motion([axis.name for axis in rig.axes], rig.period_s, samples, [mark])


def _joint_runs(rig: Rig, robot: Robot, places: Sequence[FloatArray], effort: float, spot: Spot) -> FloatArray:
    """Samples from place to place, at rest at each of them; row 0 is the first place."""
    blocks = [places[0][None, :]]
    for start, goal in pairwise(places):
        if len(blocks) > 1:
            blocks[-1] = _at_corner(rig, blocks[-1])
        before = sum(map(len, blocks)) - 1
        blocks.append(_joint_run(rig, robot, start, goal, effort, spot._replace(first=spot.first + before))[1:])
    return np.concatenate(blocks)


def _at_corner(rig: Rig, rows: FloatArray) -> FloatArray:
    """With the rest that a controller of few targets needs at the end of a step, or it would cut the corner."""
    pace = rig.controller.pace
    if pace is None or not len(rows):
        return rows
    return np.concatenate([rows, np.repeat(rows[-1:], math.ceil(pace.longest_s / rig.period_s), axis=0)])


def _joint_run(rig: Rig, robot: Robot, start: FloatArray, goal: FloatArray, effort: float, spot: Spot) -> FloatArray:
    """Samples of a straight way in joint space, all axes starting and ending together; row 0 is `start`."""
    way = goal - start
    if not way.any():
        return start[None, :].copy()
    size = np.maximum(np.abs(way), STILL)
    speed, acceleration, jerk = (float((limit / size).min()) * effort * HEADROOM for limit in axis_limits(rig))
    pace = _tool_pace(rig, robot, start, way)
    if pace > 0.0:
        speed = min(speed, rig.tool_speed_m_s * HEADROOM / pace)
    require_time(spot, run_time_s(1.0, speed, acceleration, jerk))
    fractions = rest_to_rest(1.0, speed, acceleration, jerk, rig.period_s)
    rows = start + fractions[:, None] * way
    rows[-1] = goal
    return rows


def _tool_pace(rig: Rig, robot: Robot, start: FloatArray, way: FloatArray) -> float:
    """Most metres of tool travel per whole way."""
    joints = way[: robot.dof]
    fine = [SWEEP_RAD if axis.kind is AxisKind.REVOLUTE else SWEEP_M for axis in rig.axes[: robot.dof]]
    count = max(LEAST_SWEEP, math.ceil(float((np.abs(joints) / fine).max())))
    fractions = np.linspace(0.0, 1.0, count + 1)
    points = robot.forward_kinematics(start[: robot.dof] + fractions[:, None] * joints)[:, :3, 3]
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).max()) * count * ARC_OVER_CHORD


class _Planner:
    """Collects the samples of one task, step after step."""

    def __init__(self, rig: Rig, robot: Robot, task: Task) -> None:
        self._rig, self._robot, self._file = rig, robot, task.file
        self._axes = rig.axes
        self._position = self._start(task.start)
        self._kept = False
        self._blocks = [self._position[None, :]]
        self._marks: list[Mark] = []
        self._last = 0

    def motion(self) -> Motion:
        """Everything so far."""
        names = [axis.name for axis in self._axes]
        return Motion(names, self._rig.period_s, np.concatenate(self._blocks), self._marks)

    def add(self, number: int, step: Step) -> None:
        """Plan one step from where the last one ended."""
        match step:
            case Move():
                self._run(number, step, "joint", self._goal(number, step))
            case Gripper():
                self._run(number, step, "gripper", self._opened(number, step))
            case LineStep():
                self._line(number, step)
            case Wait():
                require_time(self._spot(number, "wait"), step.seconds)
                count = max(1, math.ceil(step.seconds / self._rig.period_s - 1e-9))
                self._append(number, step.label, "wait", np.repeat(self._position[None, :], count + 1, axis=0))

    def _run(self, number: int, step: Move | Gripper, kind: Kind, goal: FloatArray) -> None:
        effort, spot, start = step.speed_percent / 100.0, self._spot(number, kind), self._position
        leaving = None if self._kept else WayOutPlan(self._rig, self._robot, start)
        if leaving is None or not leaving.needed:
            # Where a step ends too near to something all the same, the preview says so.
            self._kept = True
            rows = _joint_run(self._rig, self._robot, start, goal, effort, spot)
        else:
            rows = leaving.planned(
                goal, lambda places: _joint_runs(self._rig, self._robot, [start, *places], effort, spot)
            )
        self._append(number, step.label, kind, rows)

    def _append(self, number: int, label: str, kind: Kind, rows: FloatArray, line: StraightLine | None = None) -> None:
        rows = np.concatenate([rows[:1], _at_corner(self._rig, rows[1:])])
        last = self._last + len(rows) - 1
        self._marks.append(
            Mark(
                first=self._last,
                last=last,
                step=number,
                kind=kind,
                label=label,
                start_m=None if line is None else _point(line.start_m),
                end_m=None if line is None else _point(line.end_m),
                tolerance_m=None if line is None else line.tolerance_m,
            )
        )
        self._blocks.append(rows[1:])
        self._position, self._last = rows[-1], last

    def _refused(self, number: int, kind: Kind, refusals: Sequence[Refusal]) -> Exception:
        return refused(refusals, self._spot(number, kind))

    def _spot(self, number: int, kind: Kind) -> Spot:
        return Spot(self._last, self._rig.period_s, f"step {number} ({kind})")

    # -- where to ------------------------------------------------------------------------------------------

    def _start(self, start: str | Start) -> FloatArray:
        if isinstance(start, Start):
            position = np.array(self._rig.park)
            self._name_joints(position, start.joints_deg or {}, AxisKind.REVOLUTE, "start.joints_deg", by=False)
            self._name_joints(position, start.joints_mm or {}, AxisKind.PRISMATIC, "start.joints_mm", by=False)
            if start.opening_mm is not None:
                position[self._gripper("start.opening_mm", start.opening_mm)] = start.opening_mm * MM
        else:
            position = np.array(self._rig.home if start == "home" else self._rig.park)
        if found := beyond_hard_limits(self._axes, position.tolist(), "at the start"):
            raise refused(found, Spot(0, self._rig.period_s, "start"))
        return position

    def _goal(self, number: int, step: Move) -> FloatArray:
        goal = self._position.copy()
        dof = self._robot.dof
        key = f"step {number}"
        if step.to is not None:
            goal[:dof] = (self._rig.home if step.to == "home" else self._rig.park)[:dof]
        elif step.to_mm is not None:
            goal[:dof] = self._joints_at(number, step)
        else:
            for name, table, kind, by in (
                ("joints_deg", step.joints_deg, AxisKind.REVOLUTE, False),
                ("joints_mm", step.joints_mm, AxisKind.PRISMATIC, False),
                ("by_deg", step.by_deg, AxisKind.REVOLUTE, True),
                ("by_mm", step.by_mm, AxisKind.PRISMATIC, True),
            ):
                self._name_joints(goal, table or {}, kind, f"{key}.{name}", by=by)
        if found := beyond_soft_limits(self._axes, goal.tolist(), AT_END, start=self._position.tolist()):
            raise self._refused(number, "joint", found)
        return goal

    def _name_joints(
        self, position: FloatArray, table: Mapping[str, float], kind: AxisKind, key: str, *, by: bool
    ) -> None:
        names = [axis.name for axis in self._axes if axis.kind is kind]
        unit = DEG if kind is AxisKind.REVOLUTE else MM
        for name, value in table.items():
            if name not in names:
                meant = closest(name, names)
                raise ConfigError(
                    self._file,
                    f"{key}.{name}",
                    value,
                    f"the joints {', '.join(names)}" if names else "no key at all: this arm has no such joint",
                    (f"Did you mean {meant!r}? " if meant else "")
                    + "Turning joints take degrees, sliding ones millimetres; the gripper has steps of its own",
                )
            index = self._rig.index(name)
            position[index] = value * unit + (position[index] if by else 0.0)

    def _gripper(self, key: str, value: object) -> int:
        index = self._rig.gripper
        if index is None:
            raise ConfigError(self._file, key, value, f"nothing: rig {self._rig.id} has no gripper")
        return index

    def _opened(self, number: int, step: Gripper) -> FloatArray:
        index = self._gripper(f"step {number}.opening_mm", step.opening_mm)
        goal = self._position.copy()
        goal[index] = step.opening_mm * MM
        if found := beyond_soft_limits(self._axes, goal.tolist(), AT_END, start=self._position.tolist()):
            raise self._refused(number, "gripper", found)
        return goal

    # -- inverse kinematics --------------------------------------------------------------------------------

    def _joints_at(self, number: int, step: Move) -> FloatArray:
        """The nearest posture that brings the tool where the step wants it."""
        assert step.to_mm is not None
        now = self._joints()
        point = [value * MM for value in step.to_mm]
        if step.abc_deg is not None:
            results = [self._robot.inverse_kinematics(self._pose(number, step.to_mm, step), seed=now)]
        elif self._keeps_orientation(step):
            pose = self._robot.forward_kinematics(now).copy()
            pose[:3, 3] = point
            results = [self._robot.inverse_kinematics(pose, seed=now)]
        else:
            pitches, roll = self._pitches(step), _radians(step.roll_deg)
            results = [self._target(point, pitch, roll) for pitch in pitches]
            if not any(self._usable(result, step.elbow) for result in results) and pitches[-1] is None:
                results = [*self._other_pitches(point, roll), results[-1]]
        for result in results:
            found = self._usable(result, step.elbow)
            if found:
                return min(found, key=lambda q: float((np.abs(q - now) / self._speeds()).max()))
        raise self._refused(number, "joint", self._no_posture(results[-1], step))

    def _keeps_orientation(self, step: Move | LineStep) -> bool:
        silent = step.pitch_deg is None and step.roll_deg is None
        return silent and self._robot.dof >= FULL_POSE_AXES

    def _pitches(self, step: Move) -> list[float | None]:
        """The pitch asked for; if none is, the present one, and any if that cannot be."""
        if step.pitch_deg is not None:
            return [step.pitch_deg * DEG]
        if not self._robot.has_pitch_and_roll:
            return [None]
        return [self._robot.tool_target(self._joints()).pitch_rad, None]

    def _other_pitches(self, point: Sequence[float], roll: float | None) -> Iterator[IkResult]:
        """Solutions at pitches all round, nearest to the present one first: this rig may allow few of them."""
        if not self._robot.has_pitch_and_roll:
            return
        present = self._robot.tool_target(self._joints()).pitch_rad
        for k in range(1, math.ceil(math.pi / PITCH_STEP_RAD)):
            for turn in (k * PITCH_STEP_RAD, -k * PITCH_STEP_RAD):
                yield self._target(point, math.remainder(present + turn, 2.0 * math.pi), roll)

    def _target(self, point: Sequence[float], pitch: float | None, roll: float | None) -> IkResult:
        return self._robot.inverse_kinematics_target(point, pitch, roll, self._joints())

    def _joints(self) -> list[float]:
        joints: list[float] = self._position[: self._robot.dof].tolist()
        return joints

    def _pose(self, number: int, to_mm: Sequence[float], step: Move | LineStep) -> FloatArray:
        assert step.abc_deg is not None and step.convention is not None
        try:
            return xyzabc_to_pose((*to_mm, *step.abc_deg), step.convention)
        except CommandError as error:
            raise ConfigError(self._file, f"step {number}.abc_deg", list(step.abc_deg), str(error)) from None

    def _speeds(self) -> FloatArray:
        return np.array([axis.speed for axis in self._axes[: self._robot.dof]])

    def _usable(self, result: IkResult, elbow: str | None = None) -> list[FloatArray]:
        """Solutions inside the rig's soft limits, with the elbow as wanted; turned by whole turns where that helps."""
        axes, now = self._axes[: self._robot.dof], self._joints()
        return [
            np.array(q)
            for solution in result.solutions
            if elbow is None or ELBOWS[elbow] in solution.branch
            for q in (solution.q, _within_a_turn(axes, solution.q))
            if not beyond_soft_limits(axes, q, "", start=now)
        ]

    def _no_posture(self, result: IkResult, step: Move) -> list[Refusal]:
        assert step.to_mm is not None
        where = "({:z.1f}, {:z.1f}, {:z.1f}) mm".format(*step.to_mm)
        candidates = [s for s in result.solutions if step.elbow is None or ELBOWS[step.elbow] in s.branch]
        if candidates:
            axes = self._axes[: self._robot.dof]
            what = f"to be at {where}"
            options = [beyond_soft_limits(axes, _within_a_turn(axes, s.q), what, POSTURE) for s in candidates]
            return min(options, key=lambda found: max(-r.margin for r in found))
        if result.solutions and not any("elbow" in solution.branch for solution in result.solutions):
            advice = "Leave elbow out, or ask for joints_deg."
            nearest = "this point without elbow"
            return [_unreachable(where, "this robot's postures have no elbow up or down", None, nearest, advice)]
        if result.solutions:
            others = sorted({solution.branch for solution in result.solutions})
            return [_unreachable(where, f"not reached with {ELBOWS[step.elbow or 'up']}", None, " or ".join(others))]
        if step.abc_deg is not None and self._robot.dof < FULL_POSE_AXES:
            nearest, advice = "this point with a pitch", ANY_ORIENTATION.format(self._robot.dof)
            return [_unreachable(where, result.reason, result.distance_m, nearest, advice)]
        return [_unreachable(where, result.reason, result.distance_m, "a point within reach")]

    # -- lines ---------------------------------------------------------------------------------------------

    def _line(self, number: int, step: LineStep) -> None:
        robot, rig = self._robot, self._rig
        pose = robot.forward_kinematics(self._position[: robot.dof])
        start = pose[:3, 3].copy()
        end = np.array(step.to_mm) * MM if step.to_mm is not None else start + np.array(step.by_mm) * MM
        inverse, turn = self._orientation(number, step, pose, end)
        asked = rig.tool_speed_m_s if step.speed_mm_s is None else step.speed_mm_s * MM
        effort = step.speed_percent / 100.0
        line = StraightLine(start, end, turn, asked * effort, effort, step.tolerance_mm * MM)
        spot = self._spot(number, "line")
        self._append(number, step.label, "line", plan_line(rig, robot, self._position, line, inverse, spot), line)

    def _orientation(self, number: int, step: LineStep, pose: FloatArray, end: FloatArray) -> tuple[Inverse, float]:
        """Inverse kinematics along the line, and how far the tool turns on it, in radians."""
        if step.abc_deg is not None:
            goal = self._pose(number, (end / MM).tolist(), step)
            return self._turning(pose, goal, step)
        if self._keeps_orientation(step):
            goal = pose.copy()
            goal[:3, 3] = end
            return self._turning(pose, goal, step)
        return self._pitching(step, pose[:3, 3], end)

    def _turning(self, pose: FloatArray, goal: FloatArray, step: LineStep) -> tuple[Inverse, float]:
        turn = np.array(rotation_vector((pose[:3, :3].T @ goal[:3, :3]).tolist()))
        angle = float(np.linalg.norm(turn))
        if step.turn == "long" and angle > 0.0:
            turn *= 1.0 - 2.0 * math.pi / angle
        robot = self._robot

        def inverse(fraction: float, seed: list[float]) -> IkResult:
            at = np.eye(4)
            at[:3, :3] = pose[:3, :3] @ _rotation(fraction * turn)
            at[:3, 3] = pose[:3, 3] + fraction * (goal[:3, 3] - pose[:3, 3])
            return robot.inverse_kinematics(at, seed=seed)

        return inverse, float(np.linalg.norm(turn))

    def _pitching(self, step: LineStep, start: FloatArray, end: FloatArray) -> tuple[Inverse, float]:
        robot, way = self._robot, end - start
        if not robot.has_pitch_and_roll:
            # No present pitch and roll to go on from: what the file gives holds for the whole line.
            pitch_rad, roll_rad = _radians(step.pitch_deg), _radians(step.roll_deg)
            return lambda fraction, seed: robot.inverse_kinematics_target(
                (start + fraction * way).tolist(), pitch_rad, roll_rad, seed
            ), 0.0
        now = robot.tool_target(self._joints())
        roll = now.roll_rad if step.roll_deg is None else step.roll_deg * DEG
        pitch = self._end_pitch(end, now.pitch_rad, roll) if step.pitch_deg is None else step.pitch_deg * DEG
        tilt = math.remainder(pitch - now.pitch_rad, 2.0 * math.pi)
        twist = 0.0 if step.roll_deg is None or now.roll_rad is None else self._twist(now.roll_rad, step)

        def inverse(fraction: float, seed: list[float]) -> IkResult:
            return robot.inverse_kinematics_target(
                (start + fraction * way).tolist(),
                pitch_rad=now.pitch_rad + fraction * tilt,
                roll_rad=roll if now.roll_rad is None else now.roll_rad + fraction * twist,
                seed=seed,
            )

        return inverse, max(abs(tilt), abs(twist))

    def _twist(self, now: float, step: LineStep) -> float:
        """How far the roll joint turns: the short way round, as a move does, or the other one."""
        assert step.roll_deg is not None
        wanted, turn = step.roll_deg * DEG, 2.0 * math.pi
        index = self._robot.dof - 1
        axis, here = self._axes[index], float(self._position[index])
        nearest = round((now - wanted) / turn)
        ways = [wanted + (nearest + k) * turn - now for k in (0, -1, 1)]
        inside = [way for way in ways if not beyond_soft_limits([axis], [here + way], "", start=[here])]
        short = min(inside, key=lambda way: round(abs(way), 9), default=wanted - now)
        if step.turn != "long":
            return short
        other = [way for way in inside if way * short < 0.0]
        # Where the other way round leaves the limits, the line says so.
        return min(other, key=abs, default=short - math.copysign(turn, short))

    def _end_pitch(self, end: FloatArray, present: float, roll: float | None) -> float:
        """The present pitch if the line's end can be reached with it, else that of the nearest joints."""
        if self._usable(self._target(end.tolist(), present, roll)):
            return present
        found = self._usable(self._target(end.tolist(), None, roll))
        return self._robot.tool_target(found[0].tolist()).pitch_rad if found else present


def _within_a_turn(axes: Sequence[Axis], q: Sequence[float]) -> list[float]:
    """The same posture, each turning joint within half a turn of the middle of its range."""
    return [
        0.5 * (axis.lower + axis.upper) + math.remainder(v - 0.5 * (axis.lower + axis.upper), 2.0 * math.pi)
        if axis.kind is AxisKind.REVOLUTE
        else v
        for axis, v in zip(axes, q, strict=True)
    ]


def _radians(degrees: float | None) -> float | None:
    return None if degrees is None else degrees * DEG


def _point(point: FloatArray) -> Point:
    x, y, z = point.tolist()
    return x, y, z


def _unreachable(where: str, reason: str, distance_m: float | None, nearest: str, advice: str = NEARER) -> Refusal:
    return Refusal(
        check="E-07",
        subject="tool",
        limit=f"reach: {where}: {reason}",
        margin=-1.0 if distance_m is None else -distance_m / MM,
        unit="pose" if distance_m is None else "mm",
        nearest_allowed=nearest,
        advice=advice,
    )


def _rotation(vector: FloatArray) -> FloatArray:
    """Rotation matrix of an axis times an angle (Rodrigues)."""
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    matrix: FloatArray = np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)
    return matrix
