"""Inverse solutions: a target, every way to reach it as an arm, the motion between two, the iterations step by step."""

from __future__ import annotations

import shlex

import numpy as np

from hil.dashboard.arm import arm_of_model
from hil.dashboard.learn.dh_file import robot_word
from hil.dashboard.learn.fields import Field, checked
from hil.dashboard.learn.solutions_sheet import SHOWN, SolutionsSheet
from hil.dashboard.learn.view import LessonView, alike
from hil.dashboard.learn.work import Work
from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, Theme
from hil.errors import CommandError
from hil.kernels.scalar import FloatArray
from hil.kinematics.results import IkResult
from hil.lessons.history import History
from hil.lessons.motions import JointMotion
from hil.lessons.numbers import shown, typed_number
from hil.lessons.picture import Arm, Frame, Lines, Picture, Points, way_lines
from hil.lessons.sheet import Sheet
from hil.lessons.solutions import (
    Nearest,
    Trail,
    between_task,
    iterated,
    nearest_to,
    solution_rows,
    solution_sheet,
    verdict,
)
from hil.lessons.targets import (
    KINDS,
    Goal,
    Target,
    WrongTargetError,
    answer,
    is_quick,
    moved,
    read_target,
    solved,
    target_at,
    usual_kind,
)
from hil.lessons.timeline import STILL, Timeline
from hil.model.link_shapes import arm_length_m
from hil.model.robot import RobotModel
from hil.model.specification import unit_of
from hil.robot import Robot

GHOST, CHOSEN = 0.4, 0.95
MOST_GAIN = 1e6
MOST_ANGLE = 3600.0


class SolutionsView(LessonView):
    """One target at a time."""

    robot: Robot
    _home: tuple[float, ...]
    _last: tuple[float, ...]
    """Joint values that were seen last."""

    def __init__(self) -> None:
        super().__init__()
        self.sheet = self.worksheet = SolutionsSheet()
        self.work = Work(self)
        self._theme = DARK
        self.result = IkResult()
        self.goal: Goal | None = None
        self.motion: JointMotion | None = None
        self.trail: Trail | None = None
        self.nearest: Nearest | None = None
        """Of a target without any solution."""

        sheet = self.sheet
        sheet.typed.connect(self._typed)
        sheet.kind.currentIndexChanged.connect(self._kind_chosen)
        sheet.home.clicked.connect(lambda: self._take(self._home))
        sheet.arm.clicked.connect(self._from_arm)
        sheet.back.clicked.connect(self.undo)
        sheet.forth.clicked.connect(self.redo)
        sheet.table.picked.connect(self._picked_rows)
        sheet.shown.currentIndexChanged.connect(self._show)
        sheet.start.typed.connect(self._show)
        sheet.gain.typed.connect(self._show)
        self.work.done.connect(self._came)
        self.work.failed.connect(self.said)

    def set_robot(self, model: RobotModel) -> None:
        """This arm from now on: its tool where it is at home, or the target of an arm much like it."""
        keep = hasattr(self, "robot") and alike(self.robot.model, model) and self.history.is_begun
        self.robot = Robot(model)
        self._home = self._last = tuple(axis.home for axis in arm_of_model(model).axes)
        if not keep:
            self.history: History[Target] = History(target_at(self.robot, self._home, usual_kind(self.robot)))
            self.sheet.start.set_text(" ".join(shown(round(v, 6)) for v in self._in_units(self._home)))
        self._read()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.sheet.set_theme(theme)
        self._judge()

    def _in_units(self, q: tuple[float, ...]) -> list[float]:
        units = [unit_of(joint)[0] for joint in self.robot.model.joints]
        return [value / unit for value, unit in zip(q, units, strict=True)]

    # -- the target --------------------------------------------------------------------------------------

    def _typed(self) -> None:
        kind = self.history.now.kind
        self.history.add(Target(kind, tuple(field.text for field in self.sheet.fields[kind])))
        self._read()

    def _kind_chosen(self, at: int) -> None:
        """The same place asked for in another way."""
        q = self.result.solutions[0].q if self.result.solutions else self._home
        self.history.add(target_at(self.robot, q, KINDS[at]))
        self._read()

    def _take(self, q: tuple[float, ...]) -> None:
        self.history.add(target_at(self.robot, q, self.history.now.kind))
        self._read()

    def _from_arm(self) -> None:
        q = self.arm_joints()
        if q is None or len(q) < self.robot.dof:
            self.said.emit(tr("no arm is shown here whose place is known; hil dashboard shows one"))
            return
        self._take(q[: self.robot.dof])

    def picked(self, point_m: tuple[float, float, float]) -> None:
        """The tool's point goes there."""
        self.history.add(moved(self.history.now, point_m))
        self._read()

    def retake(self) -> None:
        """What was typed, as it is after a step back or on."""
        self._read()

    def _read(self) -> None:
        """Texts into fields, then the answer; with a wrong text the last good target stays."""
        target = self.history.now
        self.sheet.show_kind(target.kind)
        fields = self.sheet.fields[target.kind]
        for field, text in zip(fields, target.texts, strict=True):
            field.set_text(text)
            field.say("")
        try:
            self.goal = read_target(target)
        except WrongTargetError as error:
            fields[error.field].say(str(error))
            self.changed.emit()
            return
        if is_quick(self.robot, self.goal):
            self._came(answer(self.robot, self.goal))
        else:
            self.sheet.judge(tr("searching ..."), self._theme.text)
            self.work.start(solved, self.robot.model, self.goal)

    def _came(self, result: IkResult) -> None:
        self.work.stop()
        self.result, self.nearest = result, None
        if result.solutions:
            self._last = result.solutions[0].q
        elif self.goal is not None:
            self.nearest = nearest_to(self.robot, self.goal, (self._last, self._home))
            self._last = self.nearest.q
        heads = [joint.name for joint in self.robot.model.joints]
        self.sheet.table.show_solutions([*heads, tr("limits"), tr("branch")], solution_rows(self.robot.model, result))
        self._judge()
        self._show()

    def _judge(self) -> None:
        colour = self._theme.good if self.result.ok else self._theme.bad
        if hasattr(self, "robot"):
            words = verdict(self.robot, self.result)
            if self.nearest is not None:
                words += "\n" + tr(
                    "Drawn dimmed: the nearest within the limits that was found, {distance} mm and {turn} deg off.",
                    distance=f"{self.nearest.distance_mm:.2f}", turn=f"{self.nearest.turn_deg:.2f}",
                )  # fmt: skip
            self.sheet.judge(words, colour)

    # -- what is shown -----------------------------------------------------------------------------------

    def _picked_rows(self, chosen: list[int]) -> None:
        if len(chosen) == 2 and self.sheet.shows == SHOWN[0]:
            self.sheet.shown.setCurrentIndex(1)
        self._show()
        if self.motion is not None:
            self.played.emit()

    def _show(self) -> None:
        """Make anew what is played."""
        sheet, pair = self.sheet, self.pair
        sheet.show_choices()
        self.motion = self.trail = None
        if sheet.shows == "between two" and pair is not None:
            one, other = (self.result.solutions[number].q for number in pair)
            self.motion = JointMotion(self.robot, one, other)
        elif sheet.shows in SHOWN[2:]:
            self._iterate("dls" if sheet.shows == SHOWN[2] else "transpose")
        sheet.hint.setVisible(sheet.shows in SHOWN[:2] and pair is None and len(self.result.solutions) > 1)
        self.changed.emit()

    @property
    def pair(self) -> tuple[int, int] | None:
        """The two solutions that are chosen."""
        chosen = self.sheet.table.chosen
        return (chosen[0], chosen[1]) if len(chosen) == 2 else None

    def _iterate(self, method: str) -> None:
        sheet, pose = self.sheet, None if self.goal is None else self.goal.pose
        if pose is None and self.result.solutions:
            pose = self.robot.forward_kinematics(self.result.solutions[0].q)
        start = self._start()
        gain = checked(sheet.gain, 0.0, MOST_GAIN)
        if pose is None or start is None or gain is None:
            return
        self.trail = iterated(self.robot.model, pose, start, method, gain)
        sheet.curve.show_errors(self.trail.error_mm, self.trail.error_deg)

    def _start(self) -> list[float] | None:
        """Joint values of the field, rad or m; None where they are none, and the field says why."""
        field: Field = self.sheet.start
        joints = self.robot.model.joints
        texts = field.text.replace(",", " ").split()
        try:
            if len(texts) != len(joints):
                names = ", ".join(joint.name for joint in joints)
                raise CommandError(f"start: {len(texts)} values given; allowed: {len(joints)} ({names})")
            values = [
                typed_number(text, f"start, {joint.name}", -MOST_ANGLE, MOST_ANGLE) * unit_of(joint)[0]
                for text, joint in zip(texts, joints, strict=True)
            ]
        except CommandError as error:
            field.say(str(error))
            return None
        field.say("")
        return values

    def timeline(self) -> Timeline:
        """Of the motion between two, or of the steps."""
        if self.motion is not None:
            return self.motion.timeline
        return STILL if self.trail is None else self.trail.timeline

    def picture(self, time_s: float) -> Picture:
        """Each solution as an arm, or the one that moves."""
        model = self.robot.model
        size_m = arm_length_m(model)
        frames, points = self._target_marks()
        if self.trail is not None:
            q = self.trail.q[self.trail.at(time_s)]
            way = self.robot.forward_kinematics(self.trail.q)[:, :3, 3]
            lines = (Lines(way_lines(way), "trace", on_top=True),) if len(way) > 1 else ()
            return Picture((Arm(model, self.robot.link_frames(q)),), frames, lines, points, size_m)
        chosen = self.sheet.table.chosen
        arms = [
            Arm(
                model,
                self.robot.link_frames(solution.q),
                f"curve {number}",
                CHOSEN if number in chosen and self.motion is None else GHOST,
            )
            for number, solution in enumerate(self.result.solutions)
            if self.motion is None or number in chosen
        ]
        drawn: tuple[Lines, ...] = ()
        if self.nearest is not None and self.goal is not None:
            near = self.robot.link_frames(self.nearest.q)
            arms.append(Arm(model, near, opacity=GHOST))
            lacking = np.array([near[-1, :3, 3], self.goal.point_m])
            drawn = (Lines(way_lines(lacking), "bad", on_top=True),)
        if self.motion is not None:
            arms.append(Arm(model, self.robot.link_frames(self.motion.at(time_s))))
            drawn = (Lines(way_lines(self.motion.way()), "trace", on_top=True),)
        return Picture(tuple(arms), frames, drawn, points, size_m)

    def _target_marks(self) -> tuple[tuple[Frame, ...], tuple[Points, ...]]:
        if self.goal is None:
            return (), ()
        pose = self.goal.pose
        place: FloatArray = np.array([self.goal.point_m])
        return (() if pose is None else (Frame(pose, "xyz", scale=1.3),)), (Points(place, "bad", 9.0),)

    def show_moment(self, time_s: float) -> None:
        """The step that is looked at is marked in the curve."""
        if self.trail is not None:
            self.sheet.curve.point_at(self.trail.at(time_s))

    # -- what is taken along -----------------------------------------------------------------------------

    def command_text(self) -> str:
        """As `hil ik` is typed."""
        if self.goal is None:
            raise CommandError(tr("no target yet"))
        model, pair = self.robot.model, self.pair
        between = "" if pair is None else f" --between {pair[0] + 1} {pair[1] + 1}"
        return f"hil ik {shlex.quote(robot_word(model))} {self.goal.words} --all{between}"

    def data(self) -> Sheet:
        """Every solution; every sample of a motion; every step of an iteration."""
        if self.motion is not None:
            return self.motion.sheet()
        if self.trail is not None:
            return self.trail.sheet(self.robot.model)
        return solution_sheet(self.robot.model, self.result)

    def task_text(self) -> str:
        """From one solution to the other."""
        if self.motion is None or self.pair is None or self.goal is None:
            return ""
        return between_task(self.robot.model, self.result, self.goal, self.pair)

    def close(self) -> None:
        """End what works."""
        self.work.stop()
