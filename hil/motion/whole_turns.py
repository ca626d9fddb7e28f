"""Turning joints of one posture, a whole turn apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hil.model.rig import Axis, AxisKind


def within_a_turn(axes: Sequence[Axis], q: Sequence[float]) -> list[float]:
    """The same posture, each turning joint within half a turn of the middle of its range."""
    return [
        0.5 * (axis.lower + axis.upper) + math.remainder(v - 0.5 * (axis.lower + axis.upper), 2.0 * math.pi)
        if axis.kind is AxisKind.REVOLUTE
        else v
        for axis, v in zip(axes, q, strict=True)
    ]
