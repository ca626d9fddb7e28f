"""An RV-2AJ on a table, free of any file but the robot's own, for planning programs."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import numpy as np

import hil
from hil.link import FloatArray
from hil.model.rig import Axis, AxisKind, Fences, Rig
from hil.program.motions import SPEED_DEG_S
from hil.types import Record
from hil.units import DEG

HOME = (0.0, 0.0, 90.0, 90.0, 0.0)


class PlainController(Record, frozen=True, tag="plain"):
    """Controller settings that change nothing."""

    kind: ClassVar[str] = "plain"
    port_url: str = "loop://"
    baud: int = 9600
    settle_s: float = 0.02
    framing: str = "8E2"
    pace: None = None

    def quantise(self, positions: FloatArray) -> FloatArray:
        return positions

    def quantise_pose(self, positions: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(positions)

    def quantum(self) -> FloatArray:
        return np.full(5, 1e-6)

    def report_quantum(self) -> FloatArray:
        return np.full(5, 1e-6)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return np.full(5, -10.0), np.full(5, 10.0)

    def line_time_s(self) -> float:
        return 0.005


def rig(**changes: Any) -> Rig:
    """At 20 ms, with the limits of the robot file."""
    model = hil.load_robot("rv2aj").model
    axes = tuple(
        Axis(
            name=joint.name,
            kind=AxisKind.REVOLUTE,
            lower=joint.lower or 0.0,
            upper=joint.upper or 0.0,
            soft_margin=0.0,
            speed=speed * DEG,
            acceleration=speed * DEG / 0.2,
            jerk=speed * DEG / 0.2 / 0.05,
            home=home * DEG,
            park=home * DEG,
            divergence=5 * DEG,
            servo_lag_s=0.05,
            servo_speed=300 * DEG,
        )
        for joint, speed, home in zip(model.joints, SPEED_DEG_S, HOME, strict=True)
    )
    fences = Fences(
        table_height_m=0.0,
        stands_on_table=(),
        keep_out=(),
        keep_in=None,
        clearance_m=0.0,
        neighbours=(),
    )
    plain = Rig(
        id="rv2aj-test",
        title="RV-2AJ",
        robot=model,
        axes=axes,
        period_s=0.02,
        look_ahead_s=0.06,
        energise_order=(0, 1, 2, 3, 4),
        energise_dwell_s=0.1,
        tool_speed_m_s=2.1,
        shapes=(),
        fences=fences,
        controller=PlainController(),
    )
    return msgspec.structs.replace(plain, **changes)


def with_gripper(base: Rig) -> Rig:
    """The same with a hand that opens 60 mm."""
    hand = Axis(
        name="gripper",
        kind=AxisKind.GRIPPER,
        lower=0.0,
        upper=0.06,
        soft_margin=0.0,
        speed=0.1,
        acceleration=0.5,
        jerk=5.0,
        home=0.06,
        park=0.06,
        divergence=0.01,
        servo_lag_s=0.05,
        servo_speed=0.3,
    )
    return msgspec.structs.replace(base, axes=(*base.axes, hand), energise_order=(*base.energise_order, 5))
