"""A rig for a robot and a controller, written out whole: what the robot's file says, and named defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hil.errors import ConfigError
from hil.model.files import find, read_toml
from hil.model.rig import Capsule
from hil.model.rig_text import file_text
from hil.model.robot import Joint, JointType, RobotModel
from hil.model.stl import Units, read_stl
from hil.robot import Robot
from hil.space.enclosing_capsule import enclosing_capsule
from hil.space.rig_of_robot import rig_of_robot
from hil.workbench.new_files import write_checked

KINDS = ("simulated", "ssc32", "cr1")
COMMAND = "hil new rig"

TRAVEL_DEG = 170.0
"""A usual servo turns half a turn; no pulse leads to its stops."""
US_PER_DEG = 10.0
MIDDLE_US = 1500
SERVO_DEG_S, SERVO_MM_S = 200.0, 60.0
"""What a usual servo does at 4.8 V without load."""
CALM_DEG_S, CALM_MM_S = 45.0, 30.0
"""Reduced speed with a person near, for an arm that nobody has driven yet."""
SERVO_LAG_MS = 50.0
SERVO_BAND_DEG, SERVO_BAND_MM = 8.0, 5.0
DWELL_MS = 400
GRIPPER_US = (1000, 2000)
CANARY = 31
REPORT_US = 15.0
"""One and a half of the steps in which a board tells a pulse."""
THINNEST_M = 1e-4
_LINK = re.compile(r"link-(\d+)")
CR1_RIG = "rv2aj"
STRAIGHT = 1e-6


class Wish(NamedTuple):
    """What is asked for.

    Attributes:
        name: of the new rig.
        kind: of its controller, one of `KINDS`.
        port: device or URL of its line; None for the usual one.
        gripper_mm: opening of a gripper on the channel behind the joints; None for none.
        park: where the limp arm lies, in degrees or millimetres per joint; None for home.
        meshes: folder of STL files ``...link-N...stl``, each in the frame of its link; None for bodies along the links.
        units: of these files; None for files that say it themselves, as those that are written here do.
    """

    name: str
    kind: str
    port: str | None = None
    gripper_mm: float | None = None
    park: tuple[float, ...] | None = None
    meshes: Path | None = None
    units: Units | None = None


class Draft(NamedTuple):
    """A rig's table, and what was taken for what nobody said."""

    table: dict[str, Any]
    defaults: tuple[str, ...]


def draft(robot: RobotModel, wish: Wish) -> Draft:
    """The rig that is wished for; not checked yet.

    Raises:
        ConfigError: the wish cannot be met with this robot or controller.
    """
    if wish.kind not in KINDS:
        raise ConfigError(COMMAND, "--controller", wish.kind, ", ".join(KINDS))
    bodies = None if wish.meshes is None else _bodies(robot, wish.meshes, wish.units)
    made = rig_of_robot(robot, {"kind": "simulated"}, bodies)
    defaults = [words for words in made.defaults if not words.startswith("park: ")]
    table = {**made.table, "title": f"{robot.title}, {_KIND_WORDS[wish.kind]}"}
    _ADAPT[wish.kind](table, robot, wish, defaults)
    _park(table, robot, wish, defaults)
    return Draft(table, tuple(defaults))


def write_rig(robot: RobotModel, robot_name: str, wish: Wish, check: Callable[[Path], object]) -> tuple[Path, Draft]:
    """Write the rig to the user's folder.

    Args:
        robot: of the rig.
        robot_name: as the rig's file names it.
        wish: what is asked for.
        check: reads a rig's file strictly and raises what is wrong with it.

    Raises:
        ConfigError: the name cannot be had, the wish cannot be met, or the rig would not load; nothing was written.
    """
    made = draft(robot, wish)
    comments = (
        f"{robot.title}: made from the robot's file. Every key is explained in docs/rigs.md.",
        "Taken for what nobody said; measure, and put your own:",
        *(f"  {words}" for words in made.defaults),
    )
    text = file_text({**made.table, "robot": robot_name}, comments)
    return write_checked("rigs", wish.name, text, check), made


def with_tool_axis(robot_name: str, name: str, axis: str, check: Callable[[Path], object]) -> Path:
    """Write the same robot once more, its hand pointing along another axis of its last link.

    Args:
        robot_name: name or path of the robot.
        name: of the new one.
        axis: ``x``, ``-x``, ``y``, ``-y``, ``z`` or ``-z`` of the frame of the last link.
        check: reads a robot's file strictly and raises what is wrong with it.

    Raises:
        ConfigError: no such axis, or the name cannot be had.
    """
    if axis not in _TURNS:
        raise ConfigError(COMMAND, "--tool-axis", axis, ", ".join(_TURNS))
    table = read_toml(find("robots", robot_name))
    tool = {**table.get("tool", {"translation_mm": [0, 0, 0]}), "rotation": _TURNS[axis]}
    order = {**{key: value for key, value in table.items() if key != "tool"}, "tool": tool}
    comments = (f"As {robot_name}, but that its hand points along {axis} of the last link.",)
    return write_checked("robots", name, file_text(order, comments), check)


def _bodies(robot: RobotModel, folder: Path, units: Units | None) -> tuple[Capsule, ...]:
    """A capsule around each link's mesh.

    Raises:
        ConfigError: there are none, one is of no link, or cannot be read, or its unit is in doubt.
    """
    found: dict[int, Path] = {}
    for file in sorted(folder.glob("*.stl")):
        named = _LINK.search(file.stem)
        if named is not None:
            found.setdefault(int(named[1]), file)
    if not found or max(found) > robot.dof:
        allowed = f"a folder of files as arm-link-0.stl to arm-link-{robot.dof}.stl, each in the frame of its link"
        raise ConfigError(
            COMMAND, "--stl", str(folder), allowed, f"`hil robots {robot.id} --stl DIR` writes such a folder"
        )
    shapes = []
    for link, file in found.items():
        body = enclosing_capsule(read_stl(file, units).vertices)
        name = "base" if link == 0 else f"{robot.joints[link - 1].name}_link"
        shapes.append(
            Capsule(
                name=name, link=link, start_m=body.start_m, end_m=body.end_m, radius_m=max(body.radius_m, THINNEST_M)
            )
        )
    return tuple(shapes)


def tool_words(robot: RobotModel) -> str:
    """Along which axis of the last link the hand points: that of the tool frame on which pitch is measured, else z."""
    pitch = Robot(robot).pitch_axis
    axis = pitch or "z"
    column = [row["xyz".index(axis)] for row in robot.tool[:3]]
    most = max(range(3), key=lambda index: abs(column[index]))
    sign = "-" if column[most] < 0.0 else ""
    straight = abs(column[most]) > 1.0 - STRAIGHT
    where = (
        f"{sign}{'xyz'[most]} of the last link" if straight else f"{axis} of the tool frame, slanting to the last link"
    )
    return f"the hand points along {where}" + ("; `pitch` is measured on it" if pitch else "")


def mistaken_parent(parent: str, name: str) -> ConfigError:
    """What is meant where a rig is asked for and a robot was given."""
    return ConfigError(
        COMMAND,
        "--from",
        parent,
        "a rig; this is a robot",
        f"Write: hil new rig {name} --robot {parent} --controller simulated (or ssc32, cr1)",
    )


# -- one adaptation per kind -----------------------------------------------------------------------------


def _simulated(table: dict[str, Any], robot: RobotModel, wish: Wish, defaults: list[str]) -> None:
    for option, given in (("--port", wish.port), ("--gripper-mm", wish.gripper_mm)):
        if given is not None:
            raise ConfigError(COMMAND, option, given, "nothing, for a simulated controller", "Leave it out")


def _ssc32(table: dict[str, Any], robot: RobotModel, wish: Wish, defaults: list[str]) -> None:
    joints = [_servo(row, joint, defaults.append) for row, joint in zip(table["joints"], robot.joints, strict=True)]
    axes = {
        row["name"]: _channel(row, joint, number)
        for number, (row, joint) in enumerate(zip(joints, robot.joints, strict=True))
    }
    order = [row["name"] for row in joints]
    table |= {"joints": joints, "timing": {**table["timing"], "energise_dwell_ms": DWELL_MS}}
    if wish.gripper_mm is not None:
        table["gripper"] = _gripper(wish.gripper_mm)
        axes["gripper"] = {
            "channel": len(joints),
            "lower_us": GRIPPER_US[0],
            "upper_us": GRIPPER_US[1],
            "points_mm_us": [[0, GRIPPER_US[0]], [wish.gripper_mm, GRIPPER_US[1]]],
        }
        order.append("gripper")
    table["energise_order"] = order
    table["controller"] = {
        "kind": "ssc32",
        "port": wish.port or "/dev/ttyUSB0",
        "baud": 115200,
        "canary_channel": CANARY,
        "axis": axes,
    }
    defaults.append(f"channels: the axes in order from 0, nothing on {CANARY}; `hil calibrate` asks which is which")
    defaults.append(f"pulses: {MIDDLE_US} us in the middle, {US_PER_DEG:g} us a degree; `hil calibrate` measures them")
    defaults.append(f"speed: at most {CALM_DEG_S:g} deg/s, for an arm that nobody has driven yet")


def _servo(row: Mapping[str, Any], joint: Joint, say: Callable[[str], None]) -> dict[str, Any]:
    """An axis as a usual servo moves it: half a turn about its home, at reduced speed."""
    revolute = joint.type is JointType.REVOLUTE
    unit, calm, fast, band = (
        ("deg", CALM_DEG_S, SERVO_DEG_S, SERVO_BAND_DEG) if revolute else ("mm", CALM_MM_S, SERVO_MM_S, SERVO_BAND_MM)
    )
    low, high, home = row[f"lower_{unit}"], row[f"upper_{unit}"], row[f"home_{unit}"]
    if revolute and high - low > TRAVEL_DEG:
        low = min(max(home - TRAVEL_DEG / 2, low), high - TRAVEL_DEG)
        high = low + TRAVEL_DEG
        say(f"{joint.name}: {low:g} to {high:g} deg, {TRAVEL_DEG:g} deg about home, what a usual servo turns")
    if not revolute:
        # The board tells pulses in steps of 10 us; a band below that would be an alarm at rest.
        band = max(band, REPORT_US * (high - low) / (GRIPPER_US[1] - GRIPPER_US[0]))
    speed = min(calm, row[f"speed_{unit}_s"])
    changed = {
        "lower": low,
        "upper": high,
        "speed": speed,
        "acceleration": round(speed / 0.3, 3),
        "jerk": round(speed / 0.03, 3),
        "divergence": round(band, 3),
        "servo_speed": max(fast, speed),
    }
    keys = {
        "speed": f"speed_{unit}_s",
        "acceleration": f"acceleration_{unit}_s2",
        "jerk": f"jerk_{unit}_s3",
        "servo_speed": f"servo_speed_{unit}_s",
    }
    return {
        **row,
        **{keys.get(key, f"{key}_{unit}"): value for key, value in changed.items()},
        "servo_lag_ms": SERVO_LAG_MS,
    }


def _channel(row: Mapping[str, Any], joint: Joint, number: int) -> dict[str, Any]:
    if joint.type is not JointType.REVOLUTE:
        low, high = row["lower_mm"], row["upper_mm"]
        points = [[low, GRIPPER_US[0]], [high, GRIPPER_US[1]]]
        return {"channel": number, "lower_us": GRIPPER_US[0], "upper_us": GRIPPER_US[1], "points_mm_us": points}
    low, high = row["lower_deg"], row["upper_deg"]
    half_us = round((high - low) / 2 * US_PER_DEG)
    points = [[low, MIDDLE_US - half_us], [high, MIDDLE_US + half_us]]
    return {"channel": number, "lower_us": points[0][1], "upper_us": points[1][1], "points_deg_us": points}


def _gripper(opening_mm: float) -> dict[str, Any]:
    margin = round(0.02 * opening_mm, 3)
    speed = min(CALM_MM_S, opening_mm)
    return {
        "name": "gripper",
        "lower_mm": 0,
        "upper_mm": opening_mm,
        "soft_margin_mm": margin,
        "speed_mm_s": speed,
        "acceleration_mm_s2": round(speed / 0.3, 3),
        "jerk_mm_s3": round(speed / 0.03, 3),
        "home_mm": opening_mm / 2,
        "park_mm": opening_mm / 2,
        "divergence_mm": SERVO_BAND_MM,
        "servo_lag_ms": SERVO_LAG_MS,
        "servo_speed_mm_s": max(SERVO_MM_S, speed),
    }


def _cr1(table: dict[str, Any], robot: RobotModel, wish: Wish, defaults: list[str]) -> None:
    """Axes at the rates of the bundled RV-2AJ, which are what its controller keeps up with."""
    if wish.gripper_mm is not None:
        raise ConfigError(
            COMMAND, "--gripper-mm", wish.gripper_mm, "nothing: the hand of a CR1 is no axis", "Leave it out"
        )
    pattern = read_toml(find("rigs", CR1_RIG))
    known = {row["name"]: row for row in pattern["joints"]}
    names = [joint.name for joint in robot.joints]
    if names != list(known):
        raise ConfigError(
            COMMAND,
            "--robot",
            names,
            f"the five joints {', '.join(known)} of an RV-2AJ, which is what a CR1 drives here",
            "Give the robot's joints these names, or take --controller simulated",
        )
    rates = ("speed", "acceleration", "jerk", "divergence", "servo_lag", "servo_speed")
    table["joints"] = [
        {**row, **{key: value for key, value in known[row["name"]].items() if key.startswith(rates)}}
        for row in table["joints"]
    ]
    port = {} if wish.port is None else {"port": wish.port}
    table |= {"timing": dict(pattern["timing"]), "tool": dict(pattern["tool"])}
    table["controller"] = {**pattern["controller"], **port}
    defaults[:] = [words for words in defaults if not words.startswith(("speed of", "acceleration"))]
    defaults.append(f"speeds and everything of the controller: as rig {CR1_RIG} has them")


def _park(table: dict[str, Any], robot: RobotModel, wish: Wish, defaults: list[str]) -> None:
    if wish.park is None:
        if wish.kind == "ssc32":
            defaults.append("park: as home, where a limp arm does not lie: put your own before it goes on hardware")
            table["park_source"] = "estimate"
        return
    if len(wish.park) != robot.dof:
        names = ", ".join(joint.name for joint in robot.joints)
        raise ConfigError(COMMAND, "--park", list(wish.park), f"{robot.dof} numbers, for {names}")
    if wish.kind == "ssc32":
        table["park_source"] = "estimate"
    for row, joint, value in zip(table["joints"], robot.joints, wish.park, strict=True):
        row["park_deg" if joint.type is JointType.REVOLUTE else "park_mm"] = value


_ADAPT = {"simulated": _simulated, "ssc32": _ssc32, "cr1": _cr1}
_KIND_WORDS = {"simulated": "simulated", "ssc32": "on an SSC-32", "cr1": "on a CR1"}
_TURNS: Mapping[str, list[list[int]]] = {
    "z": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "-z": [[1, 0, 0], [0, -1, 0], [0, 0, -1]],
    "x": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
    "-x": [[0, 0, -1], [0, 1, 0], [1, 0, 0]],
    "y": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
    "-y": [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
}
"""The tool frame in the frame of the last link, so that its z is this axis."""
