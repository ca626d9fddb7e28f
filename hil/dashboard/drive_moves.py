"""What a press asks of the arm: rates and increments of single axes and of the tool, by the arm that is shown."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from hil.dashboard.arm import ShownArm
from hil.dashboard.texts import tr
from hil.types import AxisJog, JogFrame, ToolJog
from hil.units import DEG

Move = AxisJog | ToolJog

NEAR = 0.05
"""Degrees or millimetres from its target at which an axis counts as there."""

SETTLE_S = 0.45
"""Time in which an axis that is near its target would reach it at its present speed: it slows down as it comes near."""

TOOL_SPEED_M_S, TURN_SPEED_RAD_S = 0.25, 60.0 * DEG
"""Where the rig is not known; what is too fast for it the service brings down."""


class Direction(Enum):
    """Ways of the tool: along an axis of the frame, or turning."""

    X = "X"
    Y = "Y"
    Z = "Z"
    PITCH = "pitch"
    ROLL = "roll"
    A = "A"
    B = "B"
    C = "C"

    @property
    def turns(self) -> bool:
        """Whether it is a turn."""
        return self not in LINES


LINES = (Direction.X, Direction.Y, Direction.Z)


class Turn(NamedTuple):
    """A turn on the pad.

    Attributes:
        why_not: why this arm cannot; empty if it can.
    """

    direction: Direction
    why_not: str = ""


def turns_of(arm: ShownArm) -> tuple[Turn, ...]:
    """The turns that an arm's tool has, and why it lacks the rest."""
    robot = arm.robot
    if robot.dof >= 6:
        return tuple(Turn(direction) for direction in (Direction.A, Direction.B, Direction.C))
    sideways = tr("only by joint 1, {name}", name=arm.axes[0].name)
    if not robot.has_pitch_and_roll:
        why_not = tr("with {count} joints the tool cannot turn by itself: use single joints", count=robot.dof)
        return tuple(Turn(direction, why_not) for direction in (Direction.A, Direction.B, Direction.C))
    has_roll = robot.tool_target([axis.home for axis in arm.axes[: robot.dof]]).roll_rad is not None
    no_roll = "" if has_roll else tr("this arm has no roll joint")
    return Turn(Direction.PITCH), Turn(Direction.ROLL, no_roll), Turn(Direction.C, sideways)


def only(arm: ShownArm, axis: int, amount: float) -> AxisJog:
    """One axis alone."""
    return AxisJog(amounts=tuple(amount if index == axis else 0.0 for index in range(len(arm.axes))))


def rate_towards(arm: ShownArm, axis: int, here: float, target: float, share: float) -> float:
    """As fast as allowed, slower near the target, nothing at it; rad/s or m/s."""
    shown, way = arm.axes[axis], target - here
    if abs(way) < NEAR * shown.unit:
        return 0.0
    most = share * shown.speed
    return min(max(way / SETTLE_S, -most), most)


def along(frame: JogFrame, direction: Direction, amount: float) -> ToolJog:
    """The tool alone, along or about one axis of a frame."""
    x, y, z = (amount if direction is each else 0.0 for each in LINES)
    a, b, c = (amount if direction is each else 0.0 for each in (Direction.A, Direction.B, Direction.C))
    return ToolJog(
        frame=frame,
        linear=(x, y, z),
        pitch=amount if direction is Direction.PITCH else 0.0,
        roll=amount if direction is Direction.ROLL else 0.0,
        turn=(a, b, c),
    )


def tool_speed(arm: ShownArm, direction: Direction) -> float:
    """The fastest that is asked of the tool, m/s or rad/s."""
    if not direction.turns:
        return TOOL_SPEED_M_S if arm.rig is None else arm.rig.tool_speed_m_s
    turning = [axis.speed for axis in arm.axes if not axis.gripper]
    return min(turning, default=TURN_SPEED_RAD_S)
