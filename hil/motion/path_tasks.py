"""From a step that leads along a path to its geometry, and to how the hand is turned on it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hil.errors import CommandError, ConfigError
from hil.kinematics.poses import rotation_vector, xyzabc_to_pose
from hil.link import FloatArray
from hil.model.rig import Axis, Rig
from hil.motion.path_steps import ArcStep, PathKeys, PathStep
from hil.motion.path_wish import PathWish
from hil.motion.refusals import Spot, beyond_soft_limits, refused
from hil.paths.orientation import EvenPitch, EvenTurn, Orientation, PitchedAxis, Policy, ToolAxis
from hil.paths.path import Arc, CurvePath, Path
from hil.paths.spline import LEAST_CHORD_M, SplineCurve
from hil.refusal import Refusal
from hil.robot import Robot
from hil.units import DEG, MM

FULL_POSE_AXES = 6
"""From so many axes on an arm keeps its whole orientation where a file says nothing about it."""

LACKING_GRID = 400
"""Places of a path at which is looked how far the hand stays away from what is asked of it."""


class Here(NamedTuple):
    """Where a step begins.

    Attributes:
        file: for messages.
        key: of the step in the file, ``step 3``.
        position: of every axis.
        spot: in the motion.
    """

    rig: Rig
    robot: Robot
    file: str
    key: str
    position: FloatArray
    spot: Spot

    @property
    def joints(self) -> FloatArray:
        """Without the gripper."""
        return self.position[: self.robot.dof]

    @property
    def pose(self) -> FloatArray:
        """Of the tool, (4, 4)."""
        return self.robot.forward_kinematics(self.joints)

    def wrong(self, name: str, error: CommandError, value: object) -> ConfigError:
        """A fault of the step's own geometry."""
        words = str(error)
        return ConfigError(
            self.file, f"{self.key}.{name}", value, error.allowed or "another value", words[:1].upper() + words[1:]
        )


def wish_of(here: Here, step: PathStep) -> PathWish:
    """The path of a step from where the arm stands, and what is asked of it.

    Raises:
        ConfigError: the path cannot be: points on a line, twice the same one, a start off its circle.
        RefusedError: the arm cannot turn its hand so.
    """
    noun, path = _path(here, step)
    return wish_on(here, path, step, noun)


def wish_on(here: Here, path: Path, step: PathKeys, noun: str) -> PathWish:
    """What a step asks of a path.

    Raises:
        ConfigError: the orientation cannot be.
        RefusedError: the arm cannot turn its hand so.
    """
    asked = here.rig.tool_speed_m_s if step.speed_mm_s is None else step.speed_mm_s * MM
    effort = step.speed_percent / 100.0
    hand = orientation_of(here, path, step, noun)
    return PathWish(noun, path, hand, asked * effort, effort, step.tolerance_mm * MM, step.singularity)


def _path(here: Here, step: PathStep) -> tuple[str, Path]:
    start = here.pose[:3, 3]
    if isinstance(step, ArcStep):
        return "arc", _arc(here, step, start)
    first = np.array(step.through_mm[0]) * MM
    if float(np.linalg.norm(first - start)) < LEAST_CHORD_M:
        advice = "The tool stands there already: begin with the next point"
        raise ConfigError(
            here.file, f"{here.key}.through_mm", list(step.through_mm[0]), "a first point away from the tool", advice
        )
    try:
        through = np.concatenate([start[None, :], np.array(step.through_mm) * MM])
        return "spline", CurvePath(SplineCurve(through, closed=step.closed))
    except CommandError as error:
        value: object = [list(point) for point in step.through_mm]
        raise here.wrong(
            "through_mm", error, value if len(step.through_mm) <= 3 else f"{len(step.through_mm)} points"
        ) from None


def _arc(here: Here, step: ArcStep, start: FloatArray) -> Arc:
    if step.centre_mm is not None and step.angle_deg is not None:
        try:
            axis = np.array((0.0, 0.0, 1.0) if step.axis is None else step.axis)
            return Arc.about(start, np.array(step.centre_mm) * MM, axis, step.angle_deg * DEG)
        except CommandError as error:
            raise here.wrong("centre_mm", error, list(step.centre_mm)) from None
    assert step.through_mm is not None and step.to_mm is not None
    middle, end = np.array(step.through_mm) * MM, np.array(step.to_mm) * MM
    try:
        return Arc.through(start, middle, end, whole_circle=step.whole_circle)
    except CommandError as error:
        raise here.wrong("through_mm", error, list(step.through_mm)) from None


def orientation_of(here: Here, path: Path, step: PathKeys, noun: str) -> Orientation:
    """How the hand is turned on the path.

    Raises:
        ConfigError: the orientation cannot be.
        RefusedError: the arm's axes cannot take what the step asks.
    """
    robot, pose = here.robot, here.pose
    if step.orientation not in (None, "keep"):
        return _policy(here, path, step, noun)
    if step.abc_deg is not None:
        goal = _rotation(here, path, step)
        turn = rotation_vector((pose[:3, :3].T @ goal).tolist())
        return EvenTurn(pose[:3, :3], np.array(turn))
    silent = step.pitch_deg is None and step.roll_deg is None
    if silent and (robot.dof >= FULL_POSE_AXES or (step.orientation == "keep" and not robot.has_pitch_and_roll)):
        return EvenTurn(pose[:3, :3], np.zeros(3))
    if not robot.has_pitch_and_roll:
        return EvenPitch(_radians(step.pitch_deg), _radians(step.roll_deg))
    now = robot.tool_target(here.joints.tolist())
    tilt = 0.0 if step.pitch_deg is None else math.remainder(step.pitch_deg * DEG - now.pitch_rad, 2.0 * math.pi)
    twist = 0.0
    if step.roll_deg is not None and now.roll_rad is not None:
        index = robot.dof - 1
        twist = roll_way(here.rig.axes[index], float(here.position[index]), now.roll_rad, step.roll_deg * DEG)
    roll = now.roll_rad if now.roll_rad is not None else _radians(step.roll_deg)
    return EvenPitch(now.pitch_rad, roll, tilt_rad=tilt, twist_rad=twist)


def roll_way(axis: Axis, here: float, now_rad: float, wanted_rad: float, *, long_way: bool = False) -> float:
    """How far a roll joint turns: the shorter way round that its soft limits leave, or the other one, in radians.

    Args:
        axis: the joint.
        here: its position.
        now_rad: the roll there.
        wanted_rad: the roll to reach.
        long_way: the other one.
    """
    turn = 2.0 * math.pi
    nearest = round((now_rad - wanted_rad) / turn)
    ways = [wanted_rad + (nearest + k) * turn - now_rad for k in (0, -1, 1)]
    inside = [way for way in ways if not beyond_soft_limits([axis], [here + way], "", start=[here])]
    short = min(inside, key=lambda way: round(abs(way), 9), default=wanted_rad - now_rad)
    if not long_way:
        return short
    other = [way for way in inside if way * short < 0.0]
    # Where the other way round leaves the limits, the line says so.
    return min(other, key=abs, default=short - math.copysign(turn, short))


def _policy(here: Here, path: Path, step: PathKeys, noun: str) -> Orientation:
    robot, policy = here.robot, _named(here, path, step)
    if not robot.has_pitch_and_roll:
        return ToolAxis(path, policy, here.pose[:3, :3])
    now = robot.tool_target(here.joints.tolist())
    base = robot.link_frames(here.joints)[0]
    hand = PitchedAxis(path, policy, base, now.roll_rad, now.pitch_rad)
    at = np.linspace(0.0, path.length_m, LACKING_GRID + 1)
    lacking = hand.lacking_rad(at)
    k = int(np.argmax(lacking))
    if lacking[k] > step.orientation_tolerance_deg * DEG:
        most, allowed = float(lacking[k]) / DEG, step.orientation_tolerance_deg
        x, y, z = path.points_m(at[k : k + 1])[0] / MM
        refusal = Refusal(
            check="E-07",
            subject="tool",
            limit=f"{robot.dof} axes cannot take this orientation at ({x:z.1f}, {y:z.1f}, {z:z.1f}) mm, "
            f"{100.0 * at[k] / path.length_m:.0f} % of the way: the tool axis would still be {most:.2f} deg off",
            margin=allowed - most,
            unit="deg",
            nearest_allowed=f"orientation_tolerance_deg = {math.ceil(100.0 * most) / 100.0:.2f}",
            advice=f"Allow so much, give the {noun} a pitch_deg instead, or lead it where the hand can point away from "
            "the base axis.",
        )
        raise refused([refusal], here.spot)
    return hand


def _named(here: Here, path: Path, step: PathKeys) -> Policy:
    policy = step.orientation
    assert policy is not None and policy != "keep"
    if policy == "normal" and path.normals(np.zeros(1)) is None:
        raise ConfigError(
            here.file,
            f"{here.key}.orientation",
            policy,
            "ground, along or keep: this path lies on no surface",
            "An arc has its plane, and a curve of a surface its surface",
        )
    return policy


def _rotation(here: Here, path: Path, step: PathKeys) -> FloatArray:
    assert step.abc_deg is not None and step.convention is not None
    end = path.points_m(np.array([path.length_m]))[0] / MM
    try:
        return xyzabc_to_pose((*end.tolist(), *step.abc_deg), step.convention)[:3, :3]
    except CommandError as error:
        raise ConfigError(here.file, f"{here.key}.abc_deg", list(step.abc_deg), str(error)) from None


def _radians(degrees: float | None) -> float | None:
    return None if degrees is None else degrees * DEG
