"""A roll turns the short way round, in a line as in a move; a line told to turns the long way."""

from __future__ import annotations

import functools
import itertools
import math

import msgspec
import numpy as np
import pytest
from motion_rigs import revolute

from hil.errors import ConfigError
from hil.kinematics.poses import pose_to_xyzabc, rotation_vector
from hil.model.reader import load_robot
from hil.model.rig import Fences, Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_task
from hil.motion.tasks import task_from_table
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.runtime import wiring
from hil.units import DEG, MM

DOWN = {"do": "line", "by_mm": [0, 0, -20]}


@functools.cache
def rv2aj() -> tuple[Rig, Robot]:
    """Its J6 turns from -198 to 198 degrees, soft limits 2 degrees inside."""
    rig = wiring.load_rig("rv2aj")
    return rig, Robot(rig.robot)


def plan(start_deg: float, step: dict[str, object]) -> Motion:
    rig, robot = rv2aj()
    table = {"title": "turn", "start": {"joints_deg": {"J1": 0, "J2": 0, "J3": 90, "J5": 85, "J6": start_deg}}}
    return plan_task(rig, robot, task_from_table({**table, "step": [step]}, "turn.toml"))


def turned_deg(motion: Motion) -> float:
    return float(motion.end[4] - motion.start[4]) / DEG


def move_to_the_same(roll_deg: float) -> dict[str, object]:
    robot = rv2aj()[1]
    point = robot.forward_kinematics([0.0, 0.0, 90 * DEG, 85 * DEG, 0.0])[:3, 3] / MM
    return {"do": "move", "to_mm": (point - (0, 0, 20)).tolist(), "roll_deg": roll_deg}


@pytest.mark.parametrize(
    ("start_deg", "roll_deg", "turn_deg"),
    [(175, -175, 10), (-175, 175, -10), (190, -170, 0), (0, 170, 170), (-60, 90, 150), (150, -163, -313)],
)
def test_a_line_turns_the_roll_as_a_move_with_the_same_target_does(
    start_deg: float, roll_deg: float, turn_deg: float
) -> None:
    """From 150 to -163 the short way ends at 197 degrees, beyond the soft limit of 196: so the other."""
    line = plan(start_deg, {**DOWN, "roll_deg": roll_deg})
    assert turned_deg(line) == pytest.approx(turn_deg, abs=1e-6)
    assert turned_deg(plan(start_deg, move_to_the_same(roll_deg))) == pytest.approx(turn_deg, abs=1e-6)
    steps = np.diff(line.samples[:, 4])
    assert (steps * math.copysign(1.0, turn_deg) >= -1e-9).all(), "it turns one way, evenly"


@pytest.mark.parametrize(("start_deg", "roll_deg", "turn_deg"), [(175, -175, -350), (0, 170, -190), (-175, 175, 350)])
def test_a_line_that_is_told_to_turns_the_long_way(start_deg: float, roll_deg: float, turn_deg: float) -> None:
    step = {**DOWN, "roll_deg": roll_deg}
    assert turned_deg(plan(start_deg, {**step, "turn": "long"})) == pytest.approx(turn_deg, abs=1e-6)
    assert plan(start_deg, {**step, "turn": "short"}).digest == plan(start_deg, step).digest


def test_a_long_way_that_the_limits_do_not_leave_is_refused_with_joint_and_limit() -> None:
    with pytest.raises(RefusedError, match=r"J6: lower soft limit -196\.00 deg"):
        plan(-90, {**DOWN, "roll_deg": 90, "turn": "long"})


def test_a_turn_without_a_target_to_turn_to_is_a_mistake_in_the_file() -> None:
    with pytest.raises(ConfigError, match="only together with roll_deg or abc_deg"):
        plan(0, {**DOWN, "turn": "long"})
    with pytest.raises(ConfigError, match="turn"):
        plan(0, {**DOWN, "roll_deg": 10, "turn": "left"})


def test_six_joints_turn_the_tool_the_short_way_and_the_long_one_about_the_same_axis() -> None:
    names = ("waist", "shoulder", "elbow", "forearm", "wrist", "flange")
    fences = Fences(table_height_m=-9.0, stands_on_table=(), keep_out=(), keep_in=None, clearance_m=0.0, neighbours=())
    axes = tuple(revolute(name, -400, 400, 0, 0) for name in names)
    rig = msgspec.structs.replace(
        wiring.load_rig("lynx6"), robot=load_robot("puma560"), axes=axes, shapes=(), fences=fences, energise_order=()
    )
    robot = Robot(rig.robot)
    begin = np.array((10, 40, -30, 20, 50, 10)) * DEG
    pose = robot.forward_kinematics(begin)
    turned = pose.copy()
    c, s = math.cos(40 * DEG), math.sin(40 * DEG)
    turned[:3, :3] = pose[:3, :3] @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    at = pose_to_xyzabc(turned)
    start = {"joints_deg": dict(zip(names, (begin / DEG).tolist(), strict=True))}
    step = {
        "do": "line",
        "by_mm": [0, 0, 1],
        "abc_deg": [at.a_deg, at.b_deg, at.c_deg],
        "convention": at.convention.value,
    }

    def angle_deg(turn: str) -> float:
        table = {"title": "t", "start": start, "step": [{**step, "turn": turn}]}
        rows = plan_task(rig, robot, task_from_table(table, "t.toml")).samples
        frames = robot.forward_kinematics(rows)[:, :3, :3]
        return (
            sum(float(np.linalg.norm(rotation_vector((a.T @ b).tolist()))) for a, b in itertools.pairwise(frames)) / DEG
        )

    assert angle_deg("short") == pytest.approx(40, abs=0.1)
    assert angle_deg("long") == pytest.approx(320, abs=0.5)
