"""What of a rig's limits whoever reads back finished bytes has to know."""

from __future__ import annotations

from hil.link import AxisBounds, MotionBounds
from hil.model.rig import Rig


def motion_bounds(rig: Rig) -> MotionBounds:
    """Limits of each axis, and how far it gets in one period at its highest speed."""
    return MotionBounds(
        axes=tuple(AxisBounds(lower=a.lower, upper=a.upper, step=a.speed * rig.period_s) for a in rig.axes),
        period_s=rig.period_s,
        look_ahead_s=rig.look_ahead_s,
    )
