"""A small arm whose every number is known here, so that the tests can say exactly where a limit lies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np

from drivers.ssc32 import Ssc32Axis, Ssc32Settings
from hil.link import FloatArray
from hil.model.rig import Axis, AxisKind, Box, Capsule, Fences, Rig
from hil.model.robot import Joint, JointType, RobotModel
from hil.motion.motion import Mark, Motion
from hil.motion.profiles import rest_to_rest
from hil.units import DEG, MM

PERIOD_S = 0.02
NAMES = ("base", "shoulder", "elbow", "wrist", "roll", "gripper")
IDENTITY = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))
HOME = (0.0, 90.0 * DEG, -60.0 * DEG, -60.0 * DEG, 0.0, 10.0 * MM)


def make_robot() -> RobotModel:
    rows = (
        ("base", 110.6, 0.0, 0.0, 90.0),
        ("shoulder", 0.0, 0.0, 120.0, 0.0),
        ("elbow", 0.0, 0.0, 120.0, 0.0),
        ("wrist", 0.0, 90.0, 0.0, 90.0),
        ("roll", 150.0, 0.0, 0.0, 0.0),
    )
    return RobotModel(
        id="test-arm",
        title="five joints",
        manufacturer="",
        joints=tuple(
            Joint(
                name=name,
                type=JointType.REVOLUTE,
                d_m=d * MM,
                theta_rad=theta * DEG,
                a_m=a * MM,
                alpha_rad=alpha * DEG,
                sign=1,
            )
            for name, d, theta, a, alpha in rows
        ),
        base=IDENTITY,
        tool=IDENTITY,
        home=None,
        source="",
        status="",
    )


def make_axis(name: str, lower: float, upper: float, home: float, kind: AxisKind = AxisKind.REVOLUTE) -> Axis:
    """Limits in degrees or millimetres: 60/s, 300/s2, 3000/s3, soft margin 2."""
    unit = DEG if kind is AxisKind.REVOLUTE else MM
    return Axis(
        name=name,
        kind=kind,
        lower=lower * unit,
        upper=upper * unit,
        soft_margin=2.0 * unit if kind is AxisKind.REVOLUTE else 0.5 * unit,
        speed=60.0 * unit,
        acceleration=300.0 * unit,
        jerk=3000.0 * unit,
        home=home,
        park=home,
        divergence=5.0 * unit,
        servo_lag_s=0.05,
        servo_speed=300.0 * unit,
    )


AXES = (
    make_axis("base", -90.0, 90.0, HOME[0]),
    make_axis("shoulder", 0.0, 180.0, HOME[1]),
    make_axis("elbow", -150.0, 90.0, HOME[2]),
    make_axis("wrist", -90.0, 90.0, HOME[3]),
    make_axis("roll", -90.0, 80.0, HOME[4]),
    make_axis("gripper", 0.0, 32.0, HOME[5], AxisKind.GRIPPER),
)

SHAPES = (
    Capsule(name="pedestal", link=0, start_m=(0.0, 0.0, 0.03), end_m=(0.0, 0.0, 0.06), radius_m=0.045),
    Capsule(name="upper arm", link=2, start_m=(-0.12, 0.0, 0.0), end_m=(0.0, 0.0, 0.0), radius_m=0.02),
    Capsule(name="forearm", link=3, start_m=(-0.12, 0.0, 0.0), end_m=(0.0, 0.0, 0.0), radius_m=0.02),
    Capsule(name="hand", link=5, start_m=(0.0, 0.0, -0.13), end_m=(0.0, 0.0, -0.01), radius_m=0.015),
)

FENCES = Fences(
    table_height_m=0.0,
    stands_on_table=("pedestal",),
    keep_out=(),
    keep_in=None,
    clearance_m=0.005,
    neighbours=(("pedestal", "upper arm"), ("upper arm", "forearm"), ("forearm", "hand")),
)


def make_controller() -> Ssc32Settings:
    """Ten microseconds a degree, twenty a millimetre; pulses from 550 to 2450 us."""
    span = {"base": 0.0, "shoulder": 90.0, "elbow": -30.0, "wrist": 0.0, "roll": 0.0}
    axes = []
    for channel, name in enumerate(NAMES):
        if name == "gripper":
            points: tuple[tuple[float, float], ...] = ((0.0, 1000.0), (40.0 * MM, 1800.0))
        else:
            middle = span[name]
            points = tuple(((middle + x) * DEG, 1500.0 + 8.0 * x) for x in (-120.0, 0.0, 120.0))
        axes.append(
            Ssc32Axis(
                name=name,
                channel=channel,
                revolute=name != "gripper",
                points=points,
                lower_us=520,
                upper_us=2480,
            )
        )
    return Ssc32Settings(port_url="", baud=115200, axes=tuple(axes))


class Clipping:
    """A controller that pulls positions of the roll axis up to its lowest without a word."""

    def __init__(self, inner: Ssc32Settings, lowest: float, says_so: bool = True) -> None:
        self._inner, self._lowest, self._says_so = inner, lowest, says_so

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        low, high = self._inner.bounds()
        if self._says_so:
            low[4] = self._lowest
        return low, high

    def quantise(self, positions: FloatArray) -> FloatArray:
        sent = self._inner.quantise(positions)
        sent[..., 4] = np.maximum(sent[..., 4], self._lowest)
        return sent

    def quantise_pose(self, positions: Sequence[float]) -> tuple[float, ...]:
        return tuple(self.quantise(np.array(positions)).tolist())


def make_rig(**changes: object) -> Rig:
    rig = Rig(
        id="test",
        title="",
        robot=make_robot(),
        axes=AXES,
        period_s=PERIOD_S,
        look_ahead_s=0.04,
        energise_order=tuple(range(len(NAMES))),
        energise_dwell_s=0.5,
        tool_speed_m_s=1.0,
        shapes=SHAPES,
        fences=FENCES,
        controller=make_controller(),
    )
    return msgspec.structs.replace(rig, **changes)


def with_axis(rig: Rig, name: str, **changes: object) -> Rig:
    axes = tuple(msgspec.structs.replace(axis, **changes) if axis.name == name else axis for axis in rig.axes)
    return msgspec.structs.replace(rig, axes=axes)


def with_fences(rig: Rig, **changes: object) -> Rig:
    return msgspec.structs.replace(rig, fences=msgspec.structs.replace(rig.fences, **changes))


def pose(**degrees: float) -> tuple[float, ...]:
    """Home, with the named axes elsewhere (degrees, gripper in millimetres)."""
    units = dict.fromkeys(NAMES, DEG) | {"gripper": MM}
    return tuple(
        degrees[name] * units[name] if name in degrees else home for name, home in zip(NAMES, HOME, strict=True)
    )


def hold(rig: Rig, positions: Sequence[float], count: int = 5) -> Motion:
    """Stand still at one place."""
    return Motion([axis.name for axis in rig.axes], rig.period_s, np.tile(positions, (count, 1)))


def arrive(rig: Rig, positions: Sequence[float], count: int = 5, start: Sequence[float] = HOME) -> Motion:
    """Go to one place from another where every limit is kept, and stand still there."""
    rows = move(rig, start, positions).samples
    return Motion([axis.name for axis in rig.axes], rig.period_s, np.vstack([rows, np.tile(positions, (count, 1))]))


def move(rig: Rig, *poses: Sequence[float], share: float = 0.9, marks: Sequence[Mark] = ()) -> Motion:
    """From rest to rest along straight lines in joint space, at a share of the rig's limits."""
    rows = [np.array([poses[0]])]
    for start, goal in pairwise(poses):
        way = np.array(goal) - np.array(start)
        scale = [
            min(getattr(axis, what) / abs(d) for axis, d in zip(rig.axes, way, strict=True) if d)
            for what in ("speed", "acceleration", "jerk")
        ]
        part = rest_to_rest(1.0, *(share * value for value in scale), rig.period_s)
        rows.append(np.array(start) + part[1:, None] * way)
    return Motion([axis.name for axis in rig.axes], rig.period_s, np.concatenate(rows), marks)


def box(name: str, lower_mm: Sequence[float], upper_mm: Sequence[float]) -> Box:
    low, high = (tuple(v * MM for v in corner) for corner in (lower_mm, upper_mm))
    return Box(name=name, lower_m=low, upper_m=high)  # type: ignore[arg-type]
