"""Goals of axes or of the tool, given one after the other, as positions of every axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hil.errors import CommandError, InterlockError
from hil.kinematics.results import IkResult
from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.jog_ways import FULL_POSE_AXES, rotation_of
from hil.motion.refusals import say
from hil.robot import Robot
from hil.types import AxisGoal, ToolGoal
from hil.units import DEG, MM

MOST_TURN_RAD = 30.0 * DEG
"""A joint that would have to turn further between two goals would have to change the posture of the arm."""


class GoalSolver:
    """Finds the positions for each goal in the posture that the arm has.

    Args:
        rig: its axes.
        robot: kinematics of `rig.robot`.
        start: where every axis stands, in rad or m.
    """

    def __init__(self, rig: Rig, robot: Robot, start: Sequence[float]) -> None:
        self._rig, self._robot = rig, robot
        self._revolute = np.array([joint.type.value == "revolute" for joint in robot.model.joints])
        self.near: tuple[float, ...] = tuple(start)

    def positions(self, goal: AxisGoal | ToolGoal) -> tuple[float, ...]:
        """Positions of every axis for a goal; the next one is looked for from there.

        Raises:
            CommandError: it does not fit the arm.
            InterlockError: the tool cannot be there, or only in another posture of the arm.
        """
        found = self._of_axes(goal) if isinstance(goal, AxisGoal) else self._of_tool(goal)
        self.near = found
        return found

    def _of_axes(self, goal: AxisGoal) -> tuple[float, ...]:
        axes = self._rig.axes
        if len(goal.positions) != len(axes):
            raise CommandError(
                f"{len(goal.positions)} positions given; this rig has the axes {', '.join(axis.name for axis in axes)}",
                value=goal.positions,
                allowed=f"{len(axes)} positions",
            )
        return goal.positions

    def _of_tool(self, goal: ToolGoal) -> tuple[float, ...]:
        dof, gripper = self._robot.dof, self._rig.gripper
        if goal.opening_m is not None and gripper is None:
            raise CommandError(f"{self._rig.id} has no gripper: leave the opening out", value=goal.opening_m)
        here = np.array(self.near[:dof])
        result = self._by_pitch(goal, here) if self._robot.has_pitch_and_roll else self._by_pose(goal, here)
        if not result.solutions:
            place = ", ".join(f"{value / MM:.0f}" for value in goal.position_m)
            raise InterlockError(f"the tool cannot be at {place} mm: {result.reason}", ["a goal within reach"])
        solutions = np.array([solution.q for solution in result.solutions])
        solutions += 2.0 * math.pi * np.round((here - solutions) / (2.0 * math.pi)) * self._revolute
        turns = np.abs(solutions - here) * self._revolute
        nearest = int(np.argmin(turns.max(axis=1)))
        if turns[nearest].max() > MOST_TURN_RAD:
            axis = self._rig.axes[int(np.argmax(turns[nearest]))]
            raise InterlockError(
                f"for that goal of the tool {axis.name} would have to turn by {say(axis, float(turns[nearest].max()))} "
                f"at once; allowed: {say(axis, MOST_TURN_RAD)}. Lead more slowly, or round the singular posture",
                ["a goal in the same posture"],
            )
        found = [*solutions[nearest].tolist(), *self.near[dof:]]
        if goal.opening_m is not None and gripper is not None:
            found[gripper] = goal.opening_m
        return tuple(found)

    def _by_pitch(self, goal: ToolGoal, here: FloatArray) -> IkResult:
        if goal.turn is not None:
            raise CommandError(
                f"{self._robot.name} cannot turn its tool about any axis; allowed: pitch and roll", value=goal.turn
            )
        now = self._robot.tool_target(here.tolist())
        pitch = now.pitch_rad if goal.pitch is None else goal.pitch
        roll = now.roll_rad if goal.roll is None else goal.roll
        return self._robot.inverse_kinematics_target(goal.position_m, pitch, roll, here.tolist())

    def _by_pose(self, goal: ToolGoal, here: FloatArray) -> IkResult:
        if goal.pitch is not None or goal.roll is not None:
            raise CommandError(
                f"{self._robot.name} has no pitch and roll of its own; allowed: its orientation, as a b c", value=goal
            )
        pose = self._robot.forward_kinematics(here)
        pose[:3, 3] = goal.position_m
        if goal.turn is not None:
            pose[:3, :3] = rotation_of(np.array(goal.turn))
        if self._robot.dof >= FULL_POSE_AXES:
            return self._robot.inverse_kinematics(pose, here.tolist())
        return self._robot.inverse_kinematics_point_first(pose, here.tolist())
