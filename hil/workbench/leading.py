"""What leads an arm, as positions for it: lines that say where it shall be, or where another arm is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.errors import CommandError
from hil.kinematics.poses import rotation_vector
from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion.goals import GoalSolver
from hil.motion.refusals import say
from hil.robot import Robot
from hil.types import AxisGoal, ToolGoal
from hil.workbench.target_lines import TargetLines


class Leading:
    """Makes positions of lines.

    Args:
        rig: of the arm that follows.
        leader: whose poses the lines are; None where they are goals of the arm itself.
        by_tool: follow the leader's tool, not its joints.
        scale: so many times the leader's way.

    Raises:
        CommandError: the leader has nothing in common with the arm.
    """

    def __init__(self, rig: Rig, leader: Rig | None = None, *, by_tool: bool = False, scale: float = 1.0) -> None:
        self._rig, self._robot = rig, Robot(rig.robot)
        self._leader = leader
        self._map: _Map | None = None
        if leader is not None:
            robot = Robot(leader.robot)
            self._leads = GoalSolver(leader, robot, leader.home)
            self._map = ToolMap(self._robot, robot, scale) if by_tool else AxisMap(rig, leader, scale)
        self._solver = GoalSolver(rig, self._robot, rig.home)

    def begin(self, here: Sequence[float]) -> None:
        """The arm stands here, every axis in rad or m."""
        self._solver.near = tuple(here)
        self._lines = TargetLines(self._rig if self._leader is None else self._leader, self._solver.near)
        if self._leader is not None:
            self._lines = TargetLines(self._leader, self._leader.home)

    def here_words(self) -> str:
        """Where the arm stands, as a line would say it."""
        numbers = [say(axis, value).split()[0] for axis, value in zip(self._rig.axes, self._solver.near, strict=True)]
        return f"joints {' '.join(numbers)}"

    def take(self, line: str) -> tuple[int | None, tuple[float, ...] | None]:
        """The number of a line, and the positions that it asks for.

        Returns:
            Without positions for a line that asks for nothing; the end has the number 0 then, and an empty line none.

        Raises:
            CommandError: it means nothing here.
            InterlockError: the tool cannot be there.
        """
        found = self._lines.read(line)
        if found is None:
            return None, None
        if found.goal is None:
            return 0, None
        if self._map is None:
            return found.seq, self._solver.positions(found.goal)
        return found.seq, self.led(self._leads.positions(found.goal))

    def led(self, leader: Sequence[float]) -> tuple[float, ...]:
        """Positions for a pose of the leader, every axis in rad or m; its first one leads to where the arm stands.

        Raises:
            InterlockError: the tool cannot be there.
        """
        assert self._map is not None
        return self._solver.positions(self._map.goal(np.asarray(leader, dtype=np.float64), self._solver.near))


class AxisMap:
    """Axis by axis: those of one name, or else those in one place of the chain; the gripper leads the gripper.

    Args:
        rig: follows.
        leader: leads.
        scale: so many times the leader's way; the gripper's is as it is.

    Raises:
        CommandError: no axis leads another.
    """

    def __init__(self, rig: Rig, leader: Rig, scale: float) -> None:
        names = {axis.name: i for i, axis in enumerate(leader.axes)}
        joints = [i for i, axis in enumerate(leader.axes) if axis.kind is not AxisKind.GRIPPER]
        pairs: list[tuple[int, int, float]] = []
        by_name = any(axis.name in names for axis in rig.axes if axis.kind is not AxisKind.GRIPPER)
        for i, axis in enumerate(rig.axes):
            found = leader.gripper if axis.kind is AxisKind.GRIPPER else names.get(axis.name)
            if found is None and not by_name and axis.kind is not AxisKind.GRIPPER and i < len(joints):
                found = joints[i]
            if found is not None and leader.axes[found].kind is axis.kind:
                pairs.append((i, found, 1.0 if axis.kind is AxisKind.GRIPPER else scale))
        if not pairs:
            raise CommandError(f"no axis of {leader.id} leads one of {rig.id}: follow its tool", value=leader.id)
        self._pairs = pairs
        self._begun: tuple[FloatArray, tuple[float, ...]] | None = None

    def goal(self, leader: FloatArray, here: tuple[float, ...]) -> AxisGoal:
        """Where the arm shall be."""
        if self._begun is None:
            self._begun = leader, here
        first, start = self._begun
        positions = list(start)
        for follows, leads, scale in self._pairs:
            positions[follows] += scale * float(leader[leads] - first[leads])
        return AxisGoal(positions=tuple(positions))


class ToolMap:
    """Tool by tool: the way of the leader's point, and how it turns as far as both can turn so.

    Args:
        robot: follows.
        leader: leads.
        scale: so many times the leader's way; turns are as they are.
    """

    def __init__(self, robot: Robot, leader: Robot, scale: float) -> None:
        self._robot, self._leads, self._scale = robot, leader, scale
        self._begun: tuple[FloatArray, FloatArray, tuple[float, ...]] | None = None

    def goal(self, leader: FloatArray, here: tuple[float, ...]) -> ToolGoal:
        """Where the tool shall be."""
        pose = self._leads.forward_kinematics(leader[: self._leads.dof])
        if self._begun is None:
            self._begun = leader, pose, here
        first, first_pose, start = self._begun
        start_pose = self._robot.forward_kinematics(np.array(start[: self._robot.dof]))
        x, y, z = (start_pose[:3, 3] + self._scale * (pose[:3, 3] - first_pose[:3, 3])).tolist()
        if self._robot.has_pitch_and_roll:
            return self._tipped((x, y, z), first, leader, start)
        turned = pose[:3, :3] @ first_pose[:3, :3].T @ start_pose[:3, :3]
        return ToolGoal(position_m=(x, y, z), turn=rotation_vector(turned.tolist()))

    def _tipped(
        self, point: tuple[float, float, float], first: FloatArray, leader: FloatArray, start: tuple[float, ...]
    ) -> ToolGoal:
        own = self._robot.tool_target(start[: self._robot.dof])
        pitch, roll = own.pitch_rad, own.roll_rad
        if self._leads.has_pitch_and_roll:
            before, now = (self._leads.tool_target(each[: self._leads.dof].tolist()) for each in (first, leader))
            pitch += now.pitch_rad - before.pitch_rad
            if None not in (roll, now.roll_rad, before.roll_rad):
                assert roll is not None and now.roll_rad is not None and before.roll_rad is not None
                roll += now.roll_rad - before.roll_rad
        return ToolGoal(position_m=point, pitch=pitch, roll=roll)


_Map = AxisMap | ToolMap
