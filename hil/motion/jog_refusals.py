"""How a jog says no."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hil.model.rig import Axis, AxisKind, Rig
from hil.motion.jog_room import TooNear
from hil.motion.refusals import RIG_FILE, in_unit, say, unit_of
from hil.refusal import Refusal
from hil.types import AxisJog, ToolJog
from hil.units import DEG, MM

MOST_STEP = {AxisKind.REVOLUTE: 45.0 * DEG, AxisKind.PRISMATIC: 100.0 * MM, AxisKind.GRIPPER: 100.0 * MM}
MOST_LINE_M, MOST_TURN_RAD = 100.0 * MM, 45.0 * DEG
"""Largest increments; longer ways are tasks, which are previewed."""


def beyond_limit(axis: Axis, value: float) -> Refusal:
    """An axis would be at `value`, beyond a soft limit."""
    low = value < axis.lower + axis.soft_margin
    bound = axis.lower + axis.soft_margin if low else axis.upper - axis.soft_margin
    return Refusal(
        check="E-02",
        subject=axis.name,
        limit=f"{'lower' if low else 'upper'} soft limit {say(axis, bound)}",
        margin=-abs(in_unit(axis, value - bound)),
        unit=unit_of(axis),
        nearest_allowed=say(axis, bound),
        advice=f"Jog {axis.name} the other way.",
    )


def too_near(found: TooNear) -> Refusal:
    """A distance would be less than it may be."""
    limit, advice = "distance kept while jogging, a stop from here included", "Another direction leads away."
    if found.unmoved:
        limit, advice = "distance kept", RIG_FILE
    elif found.broken:
        limit = "it is too near already, and may come no nearer, in a stop from here either"
    return Refusal(
        check=found.check,
        subject=found.subject,
        limit=limit,
        margin=found.left_m / MM,
        unit="mm",
        nearest_allowed="up to here",
        advice=advice,
    )


def ways_out(axes: Sequence[str], tool: Sequence[str], poses: Sequence[str] = ()) -> str:
    """What leads out of limits that are not kept.

    Args:
        axes: single axes with their direction, as ``+shoulder``.
        tool: directions of the tool, as ``+z``.
        poses: named poses to which a planned move leads out.
    """
    ways = [
        *([f"jog {' or '.join(axes)}"] if axes else []),
        *([f"jog the tool {' or '.join(tool)}"] if tool else []),
        *([f"go {' or '.join(poses)}"] if poses else []),
    ]
    if ways:
        return f"Out of it: {', or '.join(ways)}."
    return (
        "No single joint and no direction of the tool leads out without coming nearer to something. Home and park are "
        "planned with all joints at once: try them; else cut the power and lead the arm out by hand."
    )


def too_fast(axis: Axis, word: str, excess: float) -> Refusal:
    """A rate of an axis would be `excess` times its limit."""
    return Refusal(
        check="E-03",
        subject=axis.name,
        limit=f"{word} limit; the way of the tool takes {excess:.2f} times that here",
        margin=1.0 - excess,
        unit="times the limit",
        nearest_allowed="up to here",
        advice="Jog single joints past this place.",
    )


def singular(axis: Axis) -> Refusal:
    """The tool's way ends at or near a singular posture, where the axis would have to race or to jump."""
    return Refusal(
        check="E-07",
        subject="tool",
        limit=f"reach: {axis.name} would have to turn far for next to no way of the tool; this singular posture (arm "
        "straight, or tool above the base axis)",
        margin=-1.0,
        unit="pose",
        nearest_allowed="up to here",
        advice="Another direction, or single joints.",
    )


def other_posture() -> Refusal:
    """The tool's way ends in this posture."""
    return Refusal(
        check="E-05",
        subject="posture",
        limit="the tool can go on only in another posture of the arm (elbow, or base turned round)",
        margin=-1.0,
        unit="posture",
        nearest_allowed="up to here",
        advice="Jog single joints past this place.",
    )


def tool_too_fast(speed_m_s: float, most_m_s: float) -> Refusal:
    """The tool would be faster than allowed."""
    return Refusal(
        check="E-03",
        subject="tool",
        limit=f"speed {most_m_s / MM:.1f} mm/s",
        margin=(most_m_s - speed_m_s) / MM,
        unit="mm/s",
        nearest_allowed=f"{most_m_s / MM:.1f} mm/s",
        advice="Jog slower.",
    )


def large_step(rig: Rig, move: AxisJog | ToolJog) -> list[Refusal]:
    """What of an increment is more than a jog makes at once."""
    if isinstance(move, ToolJog):
        line_m, turn_rad = math.hypot(*move.linear), math.hypot(move.pitch, move.roll, *move.turn)
        return [
            too_large("tool", f"{given / scale:.1f} {unit}", f"{most / scale:.0f} {unit}", (most - given) / scale, unit)
            for given, most, scale, unit in ((line_m, MOST_LINE_M, MM, "mm"), (turn_rad, MOST_TURN_RAD, DEG, "deg"))
            if given > most * (1.0 + 1e-9)
        ]
    return [
        too_large(axis.name, say(axis, amount), say(axis, most), in_unit(axis, most - abs(amount)), unit_of(axis))
        for axis, amount in zip(rig.axes, move.amounts, strict=True)
        if abs(amount) > (most := MOST_STEP[axis.kind]) * (1.0 + 1e-9)
    ]


def too_large(subject: str, given: str, most: str, margin: float, unit: str) -> Refusal:
    """A step longer than any jog."""
    return Refusal(
        check="E-02",
        subject=subject,
        limit=f"a step of {most} at most; {given} given",
        margin=margin,
        unit=unit,
        nearest_allowed=most,
        advice="Take smaller increments, or write a task, which is previewed.",
    )
