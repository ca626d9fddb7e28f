"""From a task to a motion: every step becomes samples that keep all limits, or a refusal that says why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from hil.errors import CommandError, ConfigError
from hil.kinematics.poses import rotation_vector, xyzabc_to_pose
from hil.kinematics.results import IkResult
from hil.link import FloatArray
from hil.model.files import find
from hil.model.rig import AxisKind, Rig
from hil.motion.curve_pitch import with_nearest_place
from hil.motion.curve_steps import approach_of, pieces_of, wish_along
from hil.motion.joined_samples import Blend, JoinedSamples, StraightWay, Stretch
from hil.motion.joint_runs import Classical, classical_run, joint_run, joint_runs
from hil.motion.lines import Inverse, StraightLine, plan_line
from hil.motion.motion import Kind, Mark, Motion
from hil.motion.path_plan import plan_path, quicker_line
from hil.motion.path_steps import ArcStep, CurveStep, PathStep, PointsStep, SolutionStep, SplineStep
from hil.motion.path_tasks import FULL_POSE_AXES, Here, roll_way, wish_of
from hil.motion.path_wish import PathWish
from hil.motion.posture_change import Change, changed_words, changes_on, part_of
from hil.motion.postures import posture_at
from hil.motion.refusals import POSTURE, Spot, beyond_hard_limits, beyond_soft_limits, refused, require_time
from hil.motion.replays import replay_rows
from hil.motion.step_files import CurveOfFile, Replay
from hil.motion.step_groups import moves_of
from hil.motion.tasks import Gripper, LineStep, Move, Repeat, Start, Step, Task, Wait, load_task
from hil.motion.ways_out import WayOutPlan
from hil.motion.whole_turns import within_a_turn
from hil.paths.orientation import EvenPitch, EvenTurn, Orientation
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.tables import closest
from hil.units import DEG, MM

ELBOWS = {"up": "elbow up", "down": "elbow down"}
NEARER = "Move the target nearer to the arm, or give it another pitch_deg or elbow."
ANY_ORIENTATION = "An arm of {} axes cannot take any orientation: give pitch_deg and roll_deg instead of abc_deg."

AT_END = "at the end of this step"

PITCH_STEP_RAD = 5.0 * DEG
"""How finely a pitch is looked for where a file leaves it open."""


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
    samples = leaving.planned(there, lambda places: joint_runs(rig, robot, [here, *places], effort, spot))
    mark = Mark(first=0, last=len(samples) - 1, step=0, kind="joint", label="joint move")
    return Motion([axis.name for axis in rig.axes], rig.period_s, samples, [mark])


class _Planner:
    """Collects the samples of one task, step after step."""

    def __init__(self, rig: Rig, robot: Robot, task: Task) -> None:
        self._rig, self._robot, self._file = rig, robot, task.file
        self._axes = rig.axes
        self._samples = JoinedSamples(rig, robot, self._start(task.start))
        self._kept = False

    def motion(self) -> Motion:
        """Everything so far."""
        return self._samples.motion()

    @property
    def _position(self) -> FloatArray:
        return self._samples.position

    def add(self, number: int, step: Step) -> None:
        """Plan one step from where the last one ended."""
        match step:
            case Move():
                self._run(number, step, "joint", self._goal(number, step))
            case Gripper():
                self._run(number, step, "gripper", self._opened(number, step))
            case LineStep():
                self._line(number, step)
            case ArcStep() | SplineStep():
                self._path(number, step)
            case CurveOfFile():
                self._curve(number, step)
            case PointsStep():
                joints = [axis.name for axis in self._axes if axis.kind is AxisKind.REVOLUTE]
                for move in moves_of(step, joints):
                    self.add(number, move)
            case Repeat():
                for _ in range(step.times):
                    for inner in step.steps:
                        self.add(number, inner)
            case SolutionStep():
                self._run(number, step, "solution", self._other_posture(number, step))
            case Replay():
                self._replay(number, step)
            case Wait():
                require_time(self._spot(number, "wait"), step.seconds)
                count = max(1, math.ceil(step.seconds / self._rig.period_s - 1e-9))
                rows = np.repeat(self._position[None, :], count + 1, axis=0)
                self._samples.append(Stretch(number, step.label, "wait", rows))

    def _run(self, number: int, step: Move | Gripper | SolutionStep, kind: Kind, goal: FloatArray) -> None:
        effort, spot, start = step.speed_percent / 100.0, self._spot(number, kind), self._position
        if isinstance(step, Move) and step.profile is not None:
            wanted = Classical(step.profile, step.seconds, step.blend_seconds)
            rows = classical_run(self._rig, self._robot, start, goal, effort, wanted, spot)
            self._samples.append(Stretch(number, step.label, kind, rows, blend=_blend(step)))
            return
        leaving = None if self._kept else WayOutPlan(self._rig, self._robot, start)
        if leaving is None or not leaving.needed:
            # Where a step ends too near to something all the same, the preview says so.
            self._kept = True
            rows = joint_run(self._rig, self._robot, start, goal, effort, spot)
        else:
            rows = leaving.planned(
                goal, lambda places: joint_runs(self._rig, self._robot, [start, *places], effort, spot)
            )
        self._samples.append(Stretch(number, step.label, kind, rows, blend=_blend(step)))

    def _refused(self, number: int, kind: Kind, refusals: Sequence[Refusal]) -> Exception:
        return refused(refusals, self._spot(number, kind))

    def _spot(self, number: int, kind: Kind) -> Spot:
        return Spot(self._samples.last, self._rig.period_s, f"step {number} ({kind})")

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
            for q in (solution.q, within_a_turn(axes, solution.q))
            if not beyond_soft_limits(axes, q, "", start=now)
        ]

    def _no_posture(self, result: IkResult, step: Move) -> list[Refusal]:
        assert step.to_mm is not None
        where = "({:z.1f}, {:z.1f}, {:z.1f}) mm".format(*step.to_mm)
        candidates = [s for s in result.solutions if step.elbow is None or ELBOWS[step.elbow] in s.branch]
        if candidates:
            axes = self._axes[: self._robot.dof]
            what = f"to be at {where}"
            options = [beyond_soft_limits(axes, within_a_turn(axes, s.q), what, POSTURE) for s in candidates]
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

    # -- paths ---------------------------------------------------------------------------------------------

    def _here(self, number: int, kind: Kind) -> Here:
        spot = self._spot(number, kind)
        return Here(self._rig, self._robot, self._file, f"step {number}", self._position, spot)

    def _path(self, number: int, step: PathStep) -> None:
        here = self._here(number, step.do)
        self._follow(number, step, here, wish_of(here, step), step.label)

    def _curve(self, number: int, curve: CurveOfFile) -> None:
        here, step = self._here(number, "curve"), curve.step
        pieces = pieces_of(curve, here)
        move = approach_of(here, step, pieces)
        try:
            self._run(number, move, "joint", self._goal(number, move))
            for path in pieces:
                now = self._here(number, "curve")
                self._follow(number, step, now, wish_along(now, step, path), curve.label)
        except RefusedError as error:
            raise with_nearest_place(error, here, curve, pieces) from None

    def _follow(self, number: int, step: PathStep | CurveStep, here: Here, wish: PathWish, label: str) -> None:
        for part, change in self._parts(here, wish):
            if part is not None:
                spot = self._spot(number, step.do)
                planned = plan_path(self._rig, self._robot, self._position, part, spot)
                blend = _blend(step) if change is None else None
                self._samples.append(
                    Stretch(number, label, step.do, planned.rows, None, planned.points_m, wish.tolerance_m, blend)
                )
            if change is not None:
                rows = joint_run(
                    self._rig,
                    self._robot,
                    self._position,
                    change.rows[-1],
                    wish.effort,
                    self._spot(number, "solution"),
                )
                self._samples.append(Stretch(number, changed_words(wish, change), "solution", rows))

    def _parts(self, here: Here, wish: PathWish) -> Iterator[tuple[PathWish | None, Change | None]]:
        """A path in one go, or in parts with another posture between them where the step allows that."""
        changes = []
        if wish.singularity == "change":
            changes = changes_on(self._rig, self._robot, self._position, wish, here.spot) or []
        first = 0.0
        for change in changes:
            yield (part_of(wish, first, change.at_m) if change.at_m > first else None), change
            first = change.at_m
        yield (part_of(wish, first, wish.length_m) if changes else wish), None

    def _replay(self, number: int, replay: Replay) -> None:
        rows = replay_rows(self._rig, replay, f"step {number}", self._spot(number, "replay"))
        move = Move(do="move", speed_percent=replay.step.speed_percent, label=replay.label)
        if (rows[0] != self._position).any():
            self._run(number, move, "joint", rows[0])
        self._samples.append(Stretch(number, replay.label, "replay", rows))

    def _other_posture(self, number: int, step: SolutionStep) -> FloatArray:
        """The joints in the posture asked for, the tool where it is."""
        here = self._here(number, "solution")
        goal = self._position.copy()
        goal[: self._robot.dof] = posture_at(here, step)
        return goal

    # -- lines ---------------------------------------------------------------------------------------------

    def _line(self, number: int, step: LineStep) -> None:
        robot, rig = self._robot, self._rig
        pose = robot.forward_kinematics(self._position[: robot.dof])
        start = pose[:3, 3].copy()
        end = np.array(step.to_mm) * MM if step.to_mm is not None else start + np.array(step.by_mm) * MM
        inverse, hand = self._orientation(number, step, pose, end)
        asked = rig.tool_speed_m_s if step.speed_mm_s is None else step.speed_mm_s * MM
        effort = step.speed_percent / 100.0
        line = StraightLine(start, end, hand.turn_rad, asked * effort, effort, step.tolerance_mm * MM)
        spot = self._spot(number, "line")
        rows = plan_line(rig, robot, self._position, line, inverse, spot)
        rows = quicker_line(rig, robot, rows, line, hand, spot)
        way = StraightWay(line.start_m, line.end_m, line.tolerance_m)
        self._samples.append(Stretch(number, step.label, "line", rows, line=way, blend=_blend(step)))

    def _orientation(
        self, number: int, step: LineStep, pose: FloatArray, end: FloatArray
    ) -> tuple[Inverse, Orientation]:
        """Inverse kinematics along the line, place by place, and how the hand is turned on it."""
        if step.abc_deg is not None:
            goal = self._pose(number, (end / MM).tolist(), step)
            return self._turning(pose, goal, step)
        if self._keeps_orientation(step):
            goal = pose.copy()
            goal[:3, 3] = end
            return self._turning(pose, goal, step)
        return self._pitching(step, pose[:3, 3], end)

    def _turning(self, pose: FloatArray, goal: FloatArray, step: LineStep) -> tuple[Inverse, Orientation]:
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

        return inverse, EvenTurn(pose[:3, :3], turn)

    def _pitching(self, step: LineStep, start: FloatArray, end: FloatArray) -> tuple[Inverse, Orientation]:
        robot, way = self._robot, end - start
        if not robot.has_pitch_and_roll:
            # No present pitch and roll to go on from: what the file gives holds for the whole line.
            pitch_rad, roll_rad = _radians(step.pitch_deg), _radians(step.roll_deg)
            return lambda fraction, seed: robot.inverse_kinematics_target(
                (start + fraction * way).tolist(), pitch_rad, roll_rad, seed
            ), EvenPitch(pitch_rad, roll_rad)
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

        rolled = roll if now.roll_rad is None else now.roll_rad
        return inverse, EvenPitch(now.pitch_rad, rolled, tilt_rad=tilt, twist_rad=twist)

    def _twist(self, now: float, step: LineStep) -> float:
        """How far the roll joint turns: the short way round, as a move does, or the other one."""
        assert step.roll_deg is not None
        index = self._robot.dof - 1
        here = float(self._position[index])
        return roll_way(self._axes[index], here, now, step.roll_deg * DEG, long_way=step.turn == "long")

    def _end_pitch(self, end: FloatArray, present: float, roll: float | None) -> float:
        """The present pitch if the line's end can be reached with it, else that of the nearest joints."""
        if self._usable(self._target(end.tolist(), present, roll)):
            return present
        found = self._usable(self._target(end.tolist(), None, roll))
        return self._robot.tool_target(found[0].tolist()).pitch_rad if found else present


def _radians(degrees: float | None) -> float | None:
    return None if degrees is None else degrees * DEG


def _blend(step: Step | CurveStep) -> Blend | None:
    near_mm, near_deg = getattr(step, "blend_mm", None), getattr(step, "blend_deg", None)
    if near_mm is None and near_deg is None:
        return None
    return Blend(None if near_mm is None else near_mm * MM, None if near_deg is None else near_deg * DEG)


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
