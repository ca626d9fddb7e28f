"""Targets as they are typed: a full pose, a point with or without pitch and roll, or a matrix."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from hil.errors import CommandError
from hil.kernels.scalar import FloatArray
from hil.kinematics.poses import checked_pose, pose_to_xyzabc, xyzabc_to_pose
from hil.kinematics.results import IkResult
from hil.lessons.numbers import shown, typed_number
from hil.model.robot import RobotModel
from hil.robot import Robot
from hil.types import Record
from hil.units import DEG, MM

KINDS = ("point", "pose", "matrix")

FIELDS: Mapping[str, tuple[str, ...]] = {
    "point": ("X", "Y", "Z", "pitch", "roll"),
    "pose": ("X", "Y", "Z", "A", "B", "C"),
    "matrix": ("matrix",),
}
"""What is asked for: millimetres and degrees; pitch and roll may be left empty; of a matrix metres, row by row."""

FARTHEST_MM, WIDEST_DEG = 1e5, 3600.0
_SIXTEEN = 16


class Target(Record, frozen=True):
    """Texts as they were typed, in the order of `FIELDS`."""

    kind: str
    texts: tuple[str, ...]


class Goal(Record, frozen=True):
    """A target that was read.

    Attributes:
        numbers: X Y Z in mm, and A B C in degrees of a full pose.
        pitch_deg: None for any.
        roll_deg: None for any.
    """

    numbers: tuple[float, ...]
    pitch_deg: float | None = None
    roll_deg: float | None = None

    @property
    def point_m(self) -> tuple[float, float, float]:
        """Of the tool."""
        x, y, z = (value * MM for value in self.numbers[:3])
        return x, y, z

    @property
    def pose(self) -> FloatArray | None:
        """The full pose, (4, 4); None where only the point is asked for."""
        return xyzabc_to_pose(self.numbers) if len(self.numbers) == 6 else None

    @property
    def words(self) -> str:
        """As `hil ik` takes them."""
        found = [shown(value) for value in self.numbers]
        found += [] if self.pitch_deg is None else ["--pitch", shown(self.pitch_deg)]
        return " ".join([*found, *([] if self.roll_deg is None else ["--roll", shown(self.roll_deg)])])


class WrongTargetError(CommandError):
    """A target that cannot be read.

    Attributes:
        field: the place of the wrong text among `FIELDS` of its kind.
    """

    def __init__(self, field: int, words: str) -> None:
        self.field = field
        super().__init__(words)


def usual_kind(robot: Robot) -> str:
    """What this arm is asked for: not every arm can take any orientation."""
    planar = robot.has_closed_form and robot.dof >= 3 and not robot.has_pitch_and_roll
    return "pose" if robot.dof >= 6 or planar else "point"


def target_at(robot: Robot, q: FloatArray | tuple[float, ...], kind: str) -> Target:
    """The target that an arm with these joints has reached."""
    pose = robot.forward_kinematics(q)
    told = pose_to_xyzabc(pose)
    place = [_tidy(value) for value in (told.x_mm, told.y_mm, told.z_mm)]
    if kind == "pose":
        return Target(kind, (*place, *(_tidy(value) for value in (told.a_deg, told.b_deg, told.c_deg))))
    if kind == "matrix":
        return Target(kind, ("\n".join(" ".join(_tidy(v, 9) for v in row) for row in pose),))
    if not robot.has_pitch_and_roll:
        return Target(kind, (*place, "", ""))
    reached = robot.tool_target(list(map(float, q)))
    return Target(kind, (*place, _tidy(reached.pitch_rad / DEG), ""))


def moved(target: Target, point_m: tuple[float, float, float]) -> Target:
    """The same with the tool's point elsewhere."""
    if target.kind == "matrix":
        try:
            pose = np.array(_matrix(target.texts[0]))
        except WrongTargetError:
            return target
        pose[:3, 3] = point_m
        return Target("matrix", ("\n".join(" ".join(_tidy(v, 9) for v in row) for row in pose),))
    return Target(target.kind, (*(_tidy(value / MM, 2) for value in point_m), *target.texts[3:]))


def read_target(target: Target) -> Goal:
    """The numbers of a target.

    Raises:
        WrongTargetError: the first text that is none, with its field.
    """
    if target.kind == "matrix":
        told = pose_to_xyzabc(_matrix(target.texts[0]))
        return Goal((told.x_mm, told.y_mm, told.z_mm, told.a_deg, told.b_deg, told.c_deg))
    values: list[float | None] = []
    for place, (name, text) in enumerate(zip(FIELDS[target.kind], target.texts, strict=True)):
        if name in ("pitch", "roll") and not text.strip():
            values.append(None)
            continue
        most = FARTHEST_MM if place < 3 else WIDEST_DEG
        try:
            values.append(typed_number(text, name, -most, most))
        except CommandError as error:
            raise WrongTargetError(place, str(error)) from None
    if target.kind == "pose":
        return Goal(tuple(value for value in values if value is not None))
    return Goal(tuple(value for value in values[:3] if value is not None), values[3], values[4])


def solved(model: RobotModel, goal: Goal) -> IkResult:
    """What `hil ik` answers: every solution, or why there is none; for a numeric arm this takes a while."""
    return answer(Robot(model), goal)


def answer(robot: Robot, goal: Goal) -> IkResult:
    """The same of a robot that is there."""
    pose = goal.pose
    if pose is not None:
        return robot.inverse_kinematics(pose)
    pitch = None if goal.pitch_deg is None else goal.pitch_deg * DEG
    roll = None if goal.roll_deg is None else goal.roll_deg * DEG
    return robot.inverse_kinematics_target(goal.point_m, pitch_rad=pitch, roll_rad=roll)


def is_quick(robot: Robot, goal: Goal) -> bool:
    """Whether the answer comes at once: an arm without a closed form may search for seconds."""
    return robot.has_pitch_and_roll or (robot.has_closed_form and goal.pose is not None)


def _matrix(text: str) -> FloatArray:
    """A matrix from its numbers, row by row, with any brackets and commas."""
    words = [word for word in re.split(r"[\s,;\[\]]+", text) if word]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        wrong = next(word for word in words if not _is_number(word))
        raise WrongTargetError(0, f"matrix: {wrong!r} is no number; allowed: sixteen, row by row") from None
    if len(numbers) != _SIXTEEN:
        raise WrongTargetError(
            0, f"matrix: {len(numbers)} numbers given; allowed: sixteen, four rows of four, metres"
        ) from None
    try:
        return checked_pose(np.array(numbers).reshape(4, 4))
    except CommandError as error:
        raise WrongTargetError(0, f"matrix: {error}") from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _tidy(value: float, digits: int = 6) -> str:
    return shown(round(float(value), digits) + 0.0)
