"""How far an arm may stand from where a motion begins."""

from __future__ import annotations

from hil.model.rig import AxisKind, Rig
from hil.units import DEG, MM

START_TOLERANCE = {AxisKind.REVOLUTE: 0.5 * DEG, AxisKind.PRISMATIC: 0.5 * MM, AxisKind.GRIPPER: 0.5 * MM}


def start_tolerances(rig: Rig) -> tuple[float, ...]:
    """How far each axis may stand from the start of a motion, rad or m.

    The first sample makes up for the difference in one step, which has to keep the axis' speed limit.
    """
    return tuple(min(START_TOLERANCE[axis.kind], axis.speed * rig.period_s) for axis in rig.axes)
