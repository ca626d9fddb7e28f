"""What the places of a box ask of the joints: the joint workspace as a lesson, and how many postures reach a place."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from hil.errors import CommandError
from hil.kinematics.poses import xyzabc_to_pose
from hil.kinematics.results import IkResult
from hil.kinematics.workspace.cloud import Progress
from hil.kinematics.workspace.joint_workspace import JointWorkspace, Point, box_points, joint_workspace
from hil.lessons.workspaces import limits_of
from hil.robot import Robot
from hil.types import Record
from hil.units import DEG, MM

BOX_SAMPLES_ACROSS = 10


class BoxAsk(Record, frozen=True):
    """Which box, in the words of the command's options.

    Attributes:
        corner_mm, opposite_mm: of the box.
        step_mm: distance of the places; None for a tenth of the longest edge.
        pitch_deg, roll_deg: of the tool; None where free.
        ranges: ``JOINT:LOW:HIGH`` instead of the limits.
    """

    robot: str
    corner_mm: tuple[float, float, float]
    opposite_mm: tuple[float, float, float]
    step_mm: float | None = None
    pitch_deg: float | None = None
    roll_deg: float | None = None
    ranges: tuple[str, ...] = ()

    def command(self) -> list[str]:
        """The command that tells the same numbers."""
        words = ["hil", "workspace", self.robot, "--box", *(f"{v:g}" for v in (*self.corner_mm, *self.opposite_mm))]
        for option, value in (("--box-step", self.step_mm), ("--pitch", self.pitch_deg), ("--roll", self.roll_deg)):
            if value is not None:
                words += [option, f"{value:g}"]
        for each in self.ranges:
            words += ["--range", each]
        return words


class Dexterity(Record, frozen=True):
    """How many ways there are to the places of a box.

    Attributes:
        most, mean: postures within limits at a place.
        places: how many places have so many postures, from 0 on.
    """

    most: int
    mean: float
    places: tuple[int, ...]


def solver(
    arm: Robot, pitch_deg: float | None, roll_deg: float | None, orientation: tuple[float, float, float] | None
) -> Callable[[Point], IkResult]:
    """Inverse kinematics with the orientation that was asked for: free, pitch and roll, or A, B, C in degrees."""
    if orientation is None:
        pitch, roll = (None if angle is None else angle * DEG for angle in (pitch_deg, roll_deg))
        return lambda point: arm.inverse_kinematics_target(point, pitch_rad=pitch, roll_rad=roll)
    turned = xyzabc_to_pose([0.0, 0.0, 0.0, *orientation])

    def solve(point: Point) -> IkResult:
        turned[:3, 3] = point
        return arm.inverse_kinematics(turned)

    return solve


def step_of(corner_m: Sequence[float], opposite_m: Sequence[float], step_mm: float | None) -> float:
    """Distance of the places, metres: as asked, or a tenth of the longest edge."""
    if step_mm is not None:
        return step_mm * MM
    usual = max(abs(b - a) for a, b in zip(corner_m, opposite_m, strict=True)) / BOX_SAMPLES_ACROSS
    return usual if math.isfinite(usual) and usual > 0.0 else MM


def places_of(ask: BoxAsk) -> tuple[Point, ...]:
    """The places that are tried; quick.

    Raises:
        CommandError: a number or a step that is not possible, or too many places.
    """
    corner, opposite = [v * MM for v in ask.corner_mm], [v * MM for v in ask.opposite_mm]
    for name, value in (("pitch", ask.pitch_deg), ("roll", ask.roll_deg)):
        if value is not None and not math.isfinite(value):
            raise CommandError(f"{name}: {value!r} given; allowed: a finite number of degrees", value=value)
    return box_points(corner, opposite, step_of(corner, opposite, ask.step_mm))


def box_need(arm: Robot, ask: BoxAsk, told: Progress | None = None) -> JointWorkspace:
    """Try every place: the heavy part.

    Raises:
        CommandError: something in the ask is not possible.
    """
    solve = solver(arm, ask.pitch_deg, ask.roll_deg, None)
    return joint_workspace(places_of(ask), solve, limits_of(arm, ask.ranges), told)


def dexterity(need: JointWorkspace) -> Dexterity:
    """Postures within limits, place by place; answers of one posture with other pitches count once."""
    counts = [len({s.branch for s in sample.solutions if s.within_limits}) for sample in need.samples]
    seen = Counter(counts)
    most = max(counts)
    return Dexterity(most=most, mean=sum(counts) / len(counts), places=tuple(seen[k] for k in range(most + 1)))
