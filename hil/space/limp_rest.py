"""Where a limp arm comes to rest, worked out on paper: it sinks joint by joint until stops, table or itself hold it.

Slowly, as by the friction of its gears; an estimate like the masses behind it, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.model.rig import AxisKind, Rig
from hil.robot import Robot
from hil.space.body import Body
from hil.space.gravity_load import SINKS_N_M, GravityLoad
from hil.types import Record
from hil.units import DEG, MM

STEP = 0.5 * DEG
MOST_STEPS = 4000
"""More than every joint's whole travel, there and back."""


class LimpRest(Record, frozen=True):
    """Where a limp arm rests.

    Attributes:
        positions: per axis, rad or m; axes that gravity does not turn are where they were.
        held_by: per axis, what holds it there: "stop", "friction", or "contact" with itself or the table.
        basis: what the numbers come from, in words.
    """

    positions: tuple[float, ...]
    held_by: tuple[str, ...]
    basis: str


def limp_rest(rig: Rig, start: Sequence[float]) -> LimpRest:
    """Let an arm go at `start`, and follow it until it rests.

    Args:
        rig: the resolved rig; its robot's joint limits are the stops, where the robot has them.
        start: where it is let go of, per axis, rad or m.
    """
    fall = _Fall(rig)
    pose = list(start)
    for _ in range(MOST_STEPS):
        # What is pulled hardest goes first, as far as its friction is overcome.
        moved = next((each for each in fall.pulled(pose) if fall.sinks(pose, each)), None)
        if moved is None:
            break
        pose[moved] = fall.onward(pose, moved)
    held_by = tuple(fall.holder(pose, index) for index in range(len(rig.axes)))
    return LimpRest(positions=tuple(pose), held_by=held_by, basis=fall.load.basis)


class _Fall:
    def __init__(self, rig: Rig) -> None:
        self.load = GravityLoad(rig)
        self._joints = rig.robot.dof
        self._stops = [
            (
                axis.lower if joint.lower is None else joint.lower,
                axis.upper if joint.upper is None else joint.upper,
            )
            for axis, joint in zip(rig.axes, rig.robot.joints, strict=False)
        ]
        self._turns = [axis.kind is AxisKind.REVOLUTE for axis in rig.axes]
        self._body = Body(rig, Robot(rig.robot))
        # Fences are lines on paper; only the table and the arm itself hold anything.
        self._solid = [
            index for index, each in enumerate(self._body.constraints) if each.check == "E-09" or each.group == "table"
        ]

    def pulled(self, pose: Sequence[float]) -> list[int]:
        """The joints that gravity turns against their friction, the hardest pulled first."""
        torques = self.load.torques(pose)
        found = [i for i in range(self._joints) if self._turns[i] and abs(torques[i]) > SINKS_N_M]
        return sorted(found, key=lambda index: -abs(torques[index]))

    def onward(self, pose: Sequence[float], index: int) -> float:
        """A step further down, no further than the stop."""
        step = -STEP if self.load.torques(pose)[index] > 0.0 else STEP
        low, high = self._stops[index]
        return min(max(pose[index] + step, low), high)

    def sinks(self, pose: Sequence[float], index: int) -> bool:
        """Whether nothing is in the way of that step, and the joint does not just swing about its lowest place."""
        there = [*pose]
        there[index] = self.onward(pose, index)
        if there[index] == pose[index] or self._in_the_way(pose, there):
            return False
        before, after = self.load.torques(pose)[index], self.load.torques(there)[index]
        return before * after > 0.0 or abs(after) < abs(before)

    def holder(self, pose: Sequence[float], index: int) -> str:
        """What holds an axis of an arm that has come to rest."""
        if index >= self._joints or index not in self.pulled(pose):
            return "friction"
        return "stop" if self.onward(pose, index) == pose[index] else "contact"

    def _in_the_way(self, here: Sequence[float], there: Sequence[float]) -> bool:
        """Something solid would be driven into, or further into."""
        both = np.array([here[: self._joints], there[: self._joints]])
        left_m = self._body.margins(both)[:, self._solid] + self._body.clearance_m
        return bool(np.any((left_m[1] < 0.0) & (left_m[1] < left_m[0])))


def words(rig: Rig, rest: LimpRest) -> str:
    """How far the park pose is from where the limp arm would rest, for a person."""
    apart = []
    for axis, at, held in zip(rig.axes, rest.positions, rest.held_by, strict=True):
        turns = axis.kind is AxisKind.REVOLUTE
        unit, name = (DEG, "deg") if turns else (MM, "mm")
        if abs(at - axis.park) >= 2.0 * STEP and turns:
            apart.append(f"{axis.name} at {at / unit:.0f} {name} by {held} (park: {axis.park / unit:.0f})")
    if not apart:
        return f"let go of there, the arm stays within a degree ({rest.basis})"
    return f"let go of there, the arm would sink: {', '.join(apart)} ({rest.basis})"
