"""A six-axis rig with the Lynx6's measured lengths, free of any file, so that motion is tested by itself."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from hil.link import FloatArray
from hil.model.rig import Axis, AxisKind, Fences, Rig
from hil.model.robot import Joint, JointType, RobotModel
from hil.types import Record
from hil.units import DEG


class PlainController(Record, frozen=True, tag="plain"):
    """Controller settings that change nothing."""

    port_url: str = "loop://"
    settle_s: float = 0.02
    framing: str = "8N1"
    pace: None = None

    def quantise(self, positions: FloatArray) -> FloatArray:
        return positions

    def quantum(self) -> FloatArray:
        return np.zeros(6)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return np.full(6, -10.0), np.full(6, 10.0)

    def line_time_s(self) -> float:
        return 0.005


def revolute(name: str, lower: float, upper: float, home: float, park: float) -> Axis:
    return Axis(
        name=name,
        kind=AxisKind.REVOLUTE,
        lower=lower * DEG,
        upper=upper * DEG,
        soft_margin=2 * DEG,
        speed=60 * DEG,
        acceleration=200 * DEG,
        jerk=1500 * DEG,
        home=home * DEG,
        park=park * DEG,
        divergence=5 * DEG,
        servo_lag_s=0.05,
        servo_speed=300 * DEG,
    )


def joint(name: str, d: float, theta: float, a: float, alpha: float, lower: float, upper: float) -> Joint:
    return Joint(
        name=name,
        type=JointType.REVOLUTE,
        d_m=d,
        theta_rad=theta,
        a_m=a,
        alpha_rad=alpha,
        sign=1,
        lower=lower,
        upper=upper,
    )


UNIT = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
RIGHT = math.pi / 2


def make_rig(**changes: Any) -> Rig:
    model = RobotModel(
        id="lynx6",
        title="Lynx6",
        manufacturer="Lynxmotion",
        joints=(
            joint("base", 0.1106, 0.0, 0.0, RIGHT, -RIGHT, RIGHT),
            joint("shoulder", 0.0, 0.0, 0.12, 0.0, 0.0, math.pi),
            joint("elbow", 0.0, 0.0, 0.12, 0.0, -RIGHT, RIGHT),
            joint("wrist", 0.0, RIGHT, 0.0, RIGHT, -RIGHT, RIGHT),
            joint("wrist_rotate", 0.15, 0.0, 0.0, 0.0, -RIGHT, 80 * DEG),
        ),
        base=UNIT,
        tool=UNIT,
        home=(0.0, RIGHT, 0.0, 0.0, 0.0),
        source="measured lengths",
        status="verified",
    )
    gripper = Axis(
        name="gripper",
        kind=AxisKind.GRIPPER,
        lower=0.0,
        upper=0.03,
        soft_margin=0.0005,
        speed=0.03,
        acceleration=0.15,
        jerk=1.5,
        home=0.02,
        park=0.02,
        divergence=0.005,
        servo_lag_s=0.05,
        servo_speed=0.1,
    )
    rig = Rig(
        id="lynx6",
        title="Lynx6",
        robot=model,
        axes=(
            revolute("base", -90, 90, 0, 0),
            revolute("shoulder", 0, 180, 90, 120),
            revolute("elbow", -90, 90, -20, -80),
            revolute("wrist", -90, 90, -20, -60),
            revolute("wrist_rotate", -90, 80, 0, 0),
            gripper,
        ),
        period_s=0.02,
        look_ahead_s=0.04,
        energise_order=(1, 2, 3, 0, 4, 5),
        energise_dwell_s=0.5,
        tool_speed_m_s=0.25,
        shapes=(),
        fences=Fences(
            table_height_m=0.0,
            stands_on_table=(),
            keep_out=(),
            keep_in=None,
            clearance_m=0.005,
            neighbours=(),
        ),
        controller=PlainController(),
    )
    return msgspec.structs.replace(rig, **changes)
