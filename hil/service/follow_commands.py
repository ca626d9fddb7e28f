"""Targets that a client sends, many a second, as the gate has let them through."""

from __future__ import annotations

from hil.errors import InterlockError
from hil.model.rig import Rig
from hil.motion.goals import GoalSolver
from hil.robot import Robot
from hil.service import wire
from hil.service.arm_loop import ArmLoop
from hil.service.live_arm import LiveArm


class FollowCommands:
    """Those of one arm.

    Args:
        rig: what it is.
        loop: that is asked.
        live: what is known of the arm.
    """

    def __init__(self, rig: Rig, loop: ArmLoop, live: LiveArm) -> None:
        self._rig, self._loop, self._live = rig, loop, live
        self._robot = Robot(rig.robot)
        self._solver: GoalSolver | None = None

    def begin(self) -> None:
        """The arm is armed anew: the tool is led from where it stands then."""
        self._solver = None

    def ask(self, message: wire.FollowTarget, share: float, now_s: float) -> None:
        """Ask the loop for it.

        Args:
            message: what is wanted.
            share: part of the rig's speeds that the gate allows.
            now_s: monotonic clock.

        Raises:
            CommandError: it does not fit the rig.
            InterlockError: there is no loop, the pose is not known, or the tool cannot be there.
        """
        if self._solver is None:
            pose = self._live.pose
            if pose is None:
                raise InterlockError("where the arm stands is not known", ["known pose"])
            self._solver = GoalSolver(self._rig, self._robot, pose)
        positions = self._solver.positions(message.target)
        self._loop.follow(positions, min(message.issued_s, now_s), share)
