"""A rig for a robot that has none: its own limits and rates, a body drawn from its DH table, defaults for the rest.

Each number that the robot's file lacks is named together with what was taken for it. The result is a rig's table as a
person would write it, in degrees and millimetres, so that it is checked, shown and changed like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hil.model.link_shapes import HOUSING, ROD, Stick, arm_length_m, link_sticks, thickness
from hil.model.rig import Capsule
from hil.model.robot import Joint, JointType, RobotModel
from hil.robot import Robot
from hil.space.geometry import FloatArray, Point, segment_distance
from hil.units import DEG, MM

PERIOD_MS, LOOK_AHEAD_MS = 20, 60
TOOL_SPEED_MM_S = 250.0
"""Reduced speed with a person near, ISO 10218-1."""
TURN_DEG = 180.0
SLIDE_SHARE = 0.5
"""Part of the arm's length that a slide without limits is given."""
SPEED_DEG_S, SPEED_MM_S = 60.0, 100.0
RAMP_S, JERK_S = 0.3, 0.1
"""Time from rest to full speed, and from none to full acceleration."""
MARGIN_DEG, MARGIN_MM, MARGIN_SHARE = 1.0, 1.0, 0.02
"""Soft margin, but at most this part of the range."""
LAG_MS = 20.0
SERVO_SHARE = 1.25
"""How much faster than the rig's limit the simulated servo can be."""
BAND_DEG, BAND_MM, BAND_S = 3.0, 3.0, 0.1
"""Within this, or the way of so long a time at full speed, command, simulation and report have to agree."""
CLEARANCE_MM = 5.0
SAMPLES = 400
MOSTLY = 0.9
"""Two bodies that overlap in this part of all poses, or at home, touch by construction."""
BELOW_MM = 10.0
FIRST = 1
"""The link that carries this frame turns where it stands."""
UPRIGHT = 1e-6
BEND_RAD = 45.0 * DEG
BENDING = {1: (), 2: (1,), 3: (1, 2), 4: (1, 2), 5: (1, 2, 3), 6: (1, 2, 4), 7: (1, 3, 5)}
"""Joints that bend an arm of so many, by their usual order; the others turn it about itself."""
GOOD, BEHIND = 0.7, 0.3


class RobotRig(NamedTuple):
    """What a rig of a robot alone is.

    Attributes:
        table: as a rig's file has it, without a controller's axes.
        defaults: what was taken for what the robot's file does not say, one sentence each.
    """

    table: dict[str, Any]
    defaults: tuple[str, ...]


def rig_of_robot(robot: RobotModel, controller: Mapping[str, Any], bodies: Sequence[Capsule] | None = None) -> RobotRig:
    """A rig's table for a robot.

    Args:
        robot: any.
        controller: the ``[controller]`` table, as its kind wants it.
        bodies: of the arm, where they are known; None for rods along its links.
    """
    defaults: list[str] = []
    size_m = arm_length_m(robot)
    rods = _rods(robot, size_m) if bodies is None else tuple(_Rod.of(body) for body in bodies)
    wanted = robot.home or _bent(robot, rods, size_m)
    joints = [_axis(joint, at, size_m, defaults.append) for joint, at in zip(robot.joints, wanted, strict=True)]
    _say_common(joints, robot, defaults)
    home = [_in_si(row, joint, "home") for row, joint in zip(joints, robot.joints, strict=True)]
    stands = _stands_on_base(robot, rods, home)
    defaults.append(
        "bodies: rods along each link of the DH table, as wide as a usual arm of this length; measure yours"
        if bodies is None
        else "bodies: one capsule around each mesh"
    )
    defaults.append(
        "table: at the height of the robot's base"
        if stands
        else "table: none; by its file the robot does not stand on its base frame"
    )
    table_mm = robot.base[2][3] / MM if stands else -round(2.0 * size_m / MM) - BELOW_MM
    return RobotRig(
        {
            "title": f"{robot.title}, simulated" if controller.get("kind") == "simulated" else robot.title,
            "robot": robot.id,
            "energise_order": [joint.name for joint in robot.joints],
            "timing": {"period_ms": PERIOD_MS, "look_ahead_ms": LOOK_AHEAD_MS, "energise_dwell_ms": 0},
            "tool": {"speed_mm_s": TOOL_SPEED_MM_S},
            "joints": joints,
            "shapes": [rod.table() for rod in rods],
            "fences": {
                "table_height_mm": table_mm,
                "clearance_mm": CLEARANCE_MM,
                "stands_on_table": [rod.name for rod in rods if rod.link <= (FIRST if stands else 0)],
                "neighbours": _neighbours(robot, rods, joints, home),
            },
            "controller": dict(controller),
        },
        tuple(defaults),
    )


# -- axes ------------------------------------------------------------------------------------------------


def _axis(joint: Joint, wanted: float, size_m: float, say: Callable[[str], None]) -> dict[str, Any]:
    revolute = joint.type is JointType.REVOLUTE
    unit, word, factor = ("deg", "deg", DEG) if revolute else ("mm", "mm", MM)
    lower, upper = joint.lower, joint.upper
    if lower is None or upper is None:
        lower, upper = (-TURN_DEG * DEG, TURN_DEG * DEG) if revolute else (0.0, SLIDE_SHARE * size_m)
        say(f"{joint.name}: no limits in the robot's file; {lower / factor:g} to {upper / factor:g} {word}")
    low, high = _inwards(lower / factor, upper / factor)
    margin = min(MARGIN_DEG if revolute else MARGIN_MM, MARGIN_SHARE * (high - low))
    speed = SPEED_DEG_S if revolute else SPEED_MM_S
    if joint.max_speed is not None:
        speed = math.floor(joint.max_speed / factor * 1000.0) / 1000.0
    home = _inside(wanted / factor, low + margin, high - margin)
    band = max(BAND_DEG if revolute else BAND_MM, BAND_S * speed)
    return {
        "name": joint.name,
        f"lower_{unit}": low,
        f"upper_{unit}": high,
        f"soft_margin_{unit}": round(margin, 6),
        f"speed_{unit}_s": speed,
        f"acceleration_{unit}_s2": round(speed / RAMP_S, 3),
        f"jerk_{unit}_s3": round(speed / RAMP_S / JERK_S, 3),
        f"home_{unit}": home,
        f"park_{unit}": home,
        f"divergence_{unit}": round(band, 3),
        "servo_lag_ms": LAG_MS,
        f"servo_speed_{unit}_s": round(SERVO_SHARE * speed, 3),
    }


def _inwards(low: float, high: float) -> tuple[float, float]:
    """Limits to a millionth, never outside what they were."""
    return math.ceil(low * 1e6 - 1e-3) / 1e6, math.floor(high * 1e6 + 1e-3) / 1e6


def _inside(wanted: float, low: float, high: float) -> float:
    """A position, or as near to it as the limits let."""
    inset = 0.01 * (high - low)
    return round(min(max(wanted, low + inset), high - inset), 3)


def _in_si(row: Mapping[str, Any], joint: Joint, key: str) -> float:
    value: float = row[f"{key}_deg"] * DEG if joint.type is JointType.REVOLUTE else row[f"{key}_mm"] * MM
    return value


def _say_common(joints: Sequence[Mapping[str, Any]], robot: RobotModel, defaults: list[str]) -> None:
    without = [joint for joint in robot.joints if joint.max_speed is None]
    if without:
        names = "all joints" if len(without) == robot.dof else ", ".join(joint.name for joint in without)
        speeds = sorted({SPEED_DEG_S if j.type is JointType.REVOLUTE else SPEED_MM_S for j in without}, reverse=True)
        words = " and ".join(
            f"{speed:g} deg/s" if speed == SPEED_DEG_S else f"{speed:g} mm/s for slides" for speed in sorted(speeds)
        )
        defaults.append(f"speed of {names}: not in the robot's file; {words}")
    defaults.append(
        f"acceleration: full speed in {RAMP_S:g} s, full acceleration in {JERK_S:g} s; tool at most "
        f"{TOOL_SPEED_MM_S:g} mm/s"
    )
    if robot.home is None:
        defaults.append("home: not in the robot's file; bent by multiples of 45 deg so that the tool can go every way")
    defaults.append("park: as home, since a simulated arm does not fall")


# -- a pose to begin with --------------------------------------------------------------------------------


def _bent(robot: RobotModel, rods: Sequence[_Rod], size_m: float) -> list[float]:
    """Of poses whose bending joints stand at multiples of 45 deg, a simple one from which the tool can go every way.

    All joints at zero is a straight arm for many robots, where the tool can go nowhere.
    """
    limits = [
        (-math.inf if joint.lower is None else joint.lower, math.inf if joint.upper is None else joint.upper)
        for joint in robot.joints
    ]
    resting = [min(max(0.0, low), high) for low, high in limits]
    bending = [index for index in BENDING.get(robot.dof, BENDING[7]) if robot.joints[index].type is JointType.REVOLUTE]
    steps = [
        [step for k in range(-3, 5) if limits[index][0] < (step := k * BEND_RAD) < limits[index][1]] or [resting[index]]
        for index in bending
    ]
    poses = np.array([resting] * math.prod(map(len, steps)))
    poses[:, bending] = np.array(list(product(*steps)))
    worth = _dexterity(robot, poses, size_m) * _in_front_and_above(robot, rods, poses)
    good = np.flatnonzero(worth >= GOOD * worth.max())
    best = min(good.tolist(), key=lambda k: (round(float(np.abs(poses[k]).sum()), 9), k))
    found: list[float] = poses[best].tolist()
    return found


def _dexterity(robot: RobotModel, poses: FloatArray, size_m: float) -> FloatArray:
    """How far the tool is from where it cannot go some way, (N,): the product of the singular values that it has."""
    rows = 6 if robot.dof >= 6 else 3
    jacobian = Robot(robot).jacobian(poses)[:, :rows].copy()
    jacobian[:, :3] /= size_m
    values = np.linalg.svd(jacobian, compute_uv=False)
    has = values.max(axis=0) > UPRIGHT
    product_of: FloatArray = values[:, has].prod(axis=1)
    return product_of


def _in_front_and_above(robot: RobotModel, rods: Sequence[_Rod], poses: FloatArray) -> FloatArray:
    """1 where the tool is in front and all bodies are over the base; less where they are not, (N,)."""
    start, end = _placed(robot, rods, poses)
    above = [index for index, rod in enumerate(rods) if rod.link > FIRST]
    lowest_m = (
        np.minimum(start[:, above, 2], end[:, above, 2]).min(axis=1, initial=0.0) if above else np.zeros(len(poses))
    )
    in_front = Robot(robot).forward_kinematics(poses)[:, 0, 3] >= robot.base[0][3]
    weights: FloatArray = np.where(lowest_m >= robot.base[2][3], 1.0, BEHIND) * np.where(in_front, 1.0, BEHIND)
    return weights


# -- bodies ----------------------------------------------------------------------------------------------


class _Rod(NamedTuple):
    name: str
    link: int
    start_m: Point
    end_m: Point
    radius_m: float

    @classmethod
    def of(cls, body: Capsule) -> _Rod:
        """The same as a rig has it."""
        return cls(body.name, body.link, body.start_m, body.end_m, body.radius_m)

    def table(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "link": self.link,
            "start_mm": [round(value / MM, 3) + 0.0 for value in self.start_m],
            "end_mm": [round(value / MM, 3) + 0.0 for value in self.end_m],
            "radius_mm": round(self.radius_m / MM, 3),
        }


def _rods(robot: RobotModel, size_m: float) -> tuple[_Rod, ...]:
    """A ball in the first joint, then for each link a rod along every stick that is longer than it is thick."""
    found = [_Rod("base", 0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), HOUSING * size_m)]
    for number, joint in enumerate(robot.joints, 1):
        radius_m = ROD * size_m * thickness(robot, number)
        sticks = [each for each in link_sticks(robot, number) if _length_m(each) > radius_m]
        for count, stick in enumerate(sticks):
            name = f"{joint.name}_link" + ("" if count == 0 else f"_{count + 1}")
            found.append(_Rod(name, number, _point(stick.start_m), _point(stick.end_m), radius_m))
    if len(found) == 1:
        origin = (0.0, 0.0, 0.0)
        found.append(_Rod(f"{robot.joints[-1].name}_link", robot.dof, origin, origin, ROD * size_m))
    return tuple(found)


def _length_m(stick: Stick) -> float:
    return float(np.linalg.norm(stick.end_m - stick.start_m))


def _point(place: npt.NDArray[np.float64]) -> Point:
    x, y, z = (float(value) for value in place)
    return x, y, z


def _placed(robot: RobotModel, rods: Sequence[_Rod], poses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both ends of every rod in the base frame of the world, (N, rods, 3) each."""
    carried = Robot(robot).link_frames(poses)[:, [rod.link for rod in rods]]
    rotation, origin = carried[..., :3, :3], carried[..., :3, 3]
    start, end = (
        np.einsum("nsij,sj->nsi", rotation, np.array([getattr(rod, key) for rod in rods])) + origin
        for key in ("start_m", "end_m")
    )
    return start, end


def _neighbours(
    robot: RobotModel, rods: Sequence[_Rod], joints: Sequence[Mapping[str, Any]], home: Sequence[float]
) -> list[list[str]]:
    """Pairs of links next to each other, or that overlap at home or nearly everywhere: they touch as they are built.

    As the set-up assistants of motion planners have it: a pair that always overlaps says nothing about a pose.
    """
    spans = [
        (_in_si(row, joint, "lower"), _in_si(row, joint, "upper"))
        for row, joint in zip(joints, robot.joints, strict=True)
    ]
    low, high = np.array(spans).T
    poses = np.vstack([np.array(home), np.random.default_rng(0).uniform(low, high, (SAMPLES, robot.dof))])
    start, end = _placed(robot, rods, poses)
    pairs = list(combinations(range(len(rods)), 2))
    one, two = (np.array(side) for side in zip(*pairs, strict=True))
    apart = segment_distance(start[:, one], end[:, one], start[:, two], end[:, two])
    radii = np.array([rod.radius_m for rod in rods])
    touching = apart - radii[one] - radii[two] < CLEARANCE_MM * MM
    carrying = [rod.link for rod in rods]
    behind = {link: max((other for other in carrying if other < link), default=0) for link in carrying}
    found = []
    for column, (i, j) in enumerate(pairs):
        first, second = sorted((carrying[i], carrying[j]))
        adjacent = first == second or behind[second] == first
        if adjacent or touching[0, column] or touching[:, column].mean() >= MOSTLY:
            found.append([rods[i].name, rods[j].name])
    return found


def _stands_on_base(robot: RobotModel, rods: Sequence[_Rod], home: Sequence[float]) -> bool:
    """A first joint that turns about the vertical, raised over its base, and all else above that at home."""
    upright, raised_m = robot.base[2][2], robot.joints[0].d_m
    above = [index for index, rod in enumerate(rods) if rod.link > FIRST]
    if upright < 1.0 - UPRIGHT or raised_m <= 0.0 or robot.joints[0].type is not JointType.REVOLUTE or not above:
        return False
    start, end = _placed(robot, rods, np.array([home]))
    lowest_m = np.minimum(start[0, above, 2], end[0, above, 2]) - [rods[index].radius_m for index in above]
    return bool(lowest_m.min() >= robot.base[2][3] + CLEARANCE_MM * MM)
