"""Motions of joints as a lesson plays them: a profile between two sets of values, and what the tool does meanwhile."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np

from hil.kernels.scalar import FloatArray
from hil.kinematics.poses import XyzAbc, pose_to_xyzabc
from hil.lessons.numbers import unit_of_type
from hil.lessons.sheet import Sheet
from hil.lessons.timeline import Moment, Timeline
from hil.model.robot import JointType, RobotModel
from hil.model.specification import unit_of
from hil.paths.classical import Profile, fractions
from hil.robot import Robot
from hil.tables import toml_value

PERIOD_S = 0.02
DURATION_S = 3.0


class JointMotion:
    """All joints from one set of values to another, in step.

    Args:
        robot: the arm.
        start, end: joint values, rad or m.
        profile: how the way is spread over time.
        duration_s: of the whole.
    """

    def __init__(
        self,
        robot: Robot,
        start: Sequence[float],
        end: Sequence[float],
        profile: Profile = "quintic",
        duration_s: float = DURATION_S,
    ) -> None:
        self.robot = robot
        self._start, self._end = np.array(start), np.array(end)
        shares = fractions(profile, duration_s, PERIOD_S)
        self.times_s: FloatArray = np.minimum(np.arange(len(shares)) * PERIOD_S, duration_s)
        self.q: FloatArray = self._start + shares[:, None] * (self._end - self._start)
        self.q[0], self.q[-1] = self._start, self._end

    @property
    def timeline(self) -> Timeline:
        """A moment for each sample."""
        return Timeline(float(self.times_s[-1]), tuple(Moment(float(time_s)) for time_s in self.times_s))

    def at(self, time_s: float) -> FloatArray:
        """Joint values at a moment, between samples on the straight line."""
        place = min(max(time_s / PERIOD_S, 0.0), float(len(self.q) - 1))
        if time_s >= self.times_s[-1]:
            return np.array(self.q[-1])
        low = int(place)
        share = place - low
        if share < 1e-9:
            return np.array(self.q[low])
        found: FloatArray = self.q[low] + share * (self.q[min(low + 1, len(self.q) - 1)] - self.q[low])
        return found

    def way(self) -> FloatArray:
        """Of the tool, points (K, 3)."""
        poses = self.robot.forward_kinematics(self.q)
        return np.array(poses[:, :3, 3])

    def sheet(self) -> Sheet:
        """Every sample: time, joints, tool."""
        model = self.robot.model
        units = [unit_of(joint) for joint in model.joints]
        heads = ["t_s", *(f"{joint.name}_{unit[1]}" for joint, unit in zip(model.joints, units, strict=True))]
        rows = []
        for time_s, q in zip(self.times_s.tolist(), self.q, strict=True):
            told = pose_to_xyzabc(self.robot.forward_kinematics(q))
            joints = [float(v) / unit[0] for v, unit in zip(q, units, strict=True)]
            rows.append([time_s, *joints, *xyzabc(told)])
        return Sheet((*heads, "x_mm", "y_mm", "z_mm", "a_deg", "b_deg", "c_deg"), rows)


def xyzabc(told: XyzAbc) -> tuple[float, float, float, float, float, float]:
    """The six numbers of a pose."""
    return told.x_mm, told.y_mm, told.z_mm, told.a_deg, told.b_deg, told.c_deg


def joint_task(model: RobotModel, title: str, *targets: Sequence[float]) -> str:
    """A task that takes all joints to each target in turn, as the text of its file."""
    lines = [f"title = {toml_value(title)}"]
    for q in targets:
        lines += ["", "[[step]]", 'do = "move"']
        for kind, key in ((JointType.REVOLUTE, "joints_deg"), (JointType.PRISMATIC, "joints_mm")):
            unit = unit_of_type(kind)[0]
            named = [
                f"{toml_value(joint.name)} = {float(value) / unit!r}"
                for joint, value in zip(model.joints, q, strict=True)
                if joint.type is kind
            ]
            if named:
                lines.append(f"{key} = {{ {', '.join(named)} }}")
    return "\n".join(lines) + "\n"


def fk_command(name: str, model: RobotModel, q: Sequence[float], ends: tuple[int, int] | None = None) -> str:
    """`hil fk` for these joint values; with ends, from one frame to another one."""
    units = [unit_of(joint)[0] for joint in model.joints]
    values = [f"{float(v) / unit:.12g}" for v, unit in zip(q, units, strict=True)]
    options = [] if ends is None else ["--frames", *map(str, ends)]
    return shlex.join(["hil", "fk", name, *values, *options])
