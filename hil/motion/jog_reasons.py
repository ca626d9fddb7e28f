"""Why a jog goes no further, and what leads on from there, in words; decides nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
import numpy as np

from hil.link import FloatArray
from hil.model.rig import Axis, AxisKind, Rig
from hil.motion import jog_refusals as no
from hil.motion.jog_judge import JogJudge
from hil.motion.jog_room import JogRoom, Reached
from hil.motion.jog_ways import OUT_CHANGE_RAD, OUT_LINE_M, OUT_TURN_RAD, Place, Trail, ways_out
from hil.motion.refusals import RIG_FILE, in_unit, say, unit_of
from hil.refusal import Refusal
from hil.robot import Robot
from hil.types import AxisJog, ToolJog
from hil.units import DEG, MM

Move = AxisJog | ToolJog

JUMP_RAD = 2.0 * DEG
"""A joint that would be so far beyond its limit at once has not come there by a way, but by another posture."""


class Stand(NamedTuple):
    """What a reason is given for.

    Attributes:
        here: where every axis is, shape (n,).
        reached: what is near there, and which limits are not kept.
        step: an increment was asked for.
        tool: a move of the tool was asked for.
    """

    here: FloatArray
    reached: Reached
    step: bool
    tool: bool


class JogReasons:
    """The words of one jog; see `JogMotion` for its arguments.

    Args:
        judge: looks at positions as the jog does.
    """

    def __init__(self, rig: Rig, robot: Robot, room: JogRoom | None, judge: JogJudge) -> None:
        self._rig, self._robot, self._room, self._judge = rig, robot, room, judge

    def blocked(self, trail: Trail, ahead: Place, move: Move, stand: Stand) -> Refusal:
        """Why a way ends before its end, and how far it goes."""
        found = self.of_the_tool(trail.refusal or no.other_posture(), ahead, move, stand)
        share = ahead.length / trail.way.end if math.isfinite(trail.way.end) else 1.0
        if isinstance(move, AxisJog):
            index = int(np.argmax(np.abs(move.amounts)))
            axis = self._rig.axes[index]
            asked, unit = in_unit(axis, move.amounts[index]), unit_of(axis)
            nearest = f"{axis.name} by {share * asked:+.2f} {unit}"
            advice = "Step the other way, or take a smaller increment."
        else:
            scale, unit = (MM, "mm") if any(move.linear) else (DEG, "deg")
            asked = ahead.length / scale / share if share > 0.0 else trail.way.end / scale
            nearest = f"{ahead.length / scale:.2f} {unit} this way"
            other = "Take a smaller increment, or: " if stand.step else "Another direction: "
            advice = f"{other}{self.ways_out(move, stand)}."
        if stand.reached.floors or found.advice == RIG_FILE:
            return msgspec.structs.replace(self.explained(found, stand), nearest_allowed=nearest)
        return Refusal(
            check=found.check,
            subject=found.subject,
            limit=f"{found.limit} is in the way",
            margin=(share - 1.0) * abs(asked),
            unit=unit,
            nearest_allowed=nearest,
            advice=advice,
        )

    def at_limit(self, axis: Axis, upper: bool, stand: Stand) -> str:
        """That an axis is at a soft limit, and the way out."""
        bound, side, other = (
            (axis.upper - axis.soft_margin, "upper", "-") if upper else (axis.lower + axis.soft_margin, "lower", "+")
        )
        words = f"[E-02] {axis.name} is at its {side} soft limit {say(axis, bound)}"
        floors = stand.reached.floors
        if not floors:
            return f"{words}; jog it the other way ({other}{axis.name})"
        if self._rig.index(axis.name) in (floors.upper if upper else floors.lower):
            words = words.replace(" at ", " beyond ", 1)
        return f"{words}. {self._ways_out_of_limits(stand)}"

    def ways_out(self, tried: ToolJog, stand: Stand) -> str:
        """Directions of the tool that are free, in words."""
        return ways_out(self._robot, stand.here, tried, lambda positions: self.refusal_of(positions, stand))

    def of_the_tool(self, refusal: Refusal, ahead: Place, move: Move, stand: Stand) -> Refusal:
        """A refusal of a way of the tool that ends at a place ahead.

        Near a singular posture a joint has to race, or to jump into another posture: there reach ends, and the limit
        that the joint comes to is not what is in the way.
        """
        if isinstance(move, AxisJog) or refusal.check != "E-02":
            return refusal
        index = self._rig.index(refusal.subject)
        axis, turned = self._rig.axes[index], abs(float(ahead.positions[index] - stand.here[index]))
        races = turned > OUT_CHANGE_RAD * max(ahead.length / (OUT_LINE_M if any(move.linear) else OUT_TURN_RAD), 1.0)
        if axis.kind is AxisKind.REVOLUTE and (races or abs(refusal.margin) * DEG > JUMP_RAD):
            return no.singular(axis)
        return msgspec.structs.replace(refusal, advice="Another direction, or single joints.")

    def explained(self, refusal: Refusal, stand: Stand) -> Refusal:
        """With what leads out, where limits are not kept and joints can change that."""
        if not stand.reached.floors or refusal.advice == RIG_FILE:
            return refusal
        return msgspec.structs.replace(refusal, advice=self._ways_out_of_limits(stand))

    def _ways_out_of_limits(self, stand: Stand) -> str:
        """What leads out of the limits that are not kept, in words."""
        assert self._room is not None
        if self._room.by_the_file(stand.here.tolist()):
            return RIG_FILE
        return no.ways_out(*self._room.ways_out(self._robot, stand.reached, stand.here, tool=stand.tool))

    def refusal_of(self, positions: FloatArray, stand: Stand) -> Refusal | None:
        """Why an arm that comes from here may not be there."""
        return self._judge.refusal(stand.reached, stand.here, positions)
