"""Lines and leaders: what they say in degrees and millimetres, and what an arm that follows is sent for it."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import CommandError, HilError, InterlockError
from hil.model.rig import Rig
from hil.motion.goals import GoalSolver
from hil.robot import Robot
from hil.runtime.wiring import load_rig
from hil.types import AxisGoal, ToolGoal
from hil.units import DEG, MM
from hil.workbench.leading import Leading
from hil.workbench.target_lines import TargetLine, TargetLines


@functools.cache
def rig(name: str) -> Rig:
    return load_rig(name)


def lines(name: str = "lynx6") -> TargetLines:
    return TargetLines(rig(name), rig(name).home)


def led(leading: Leading, line: str) -> tuple[float, ...]:
    found = leading.take(line)[1]
    assert found is not None
    return found


def test_joints_are_degrees_and_millimetres_in_the_order_of_the_rig() -> None:
    found = lines().read("#17 joints 10 90 -75 -55 5 20")
    expected = tuple(v * u for v, u in zip((10, 90, -75, -55, 5, 20), [DEG] * 5 + [MM], strict=True))
    assert found == TargetLine(17, AxisGoal(positions=expected))


def test_what_a_line_of_names_leaves_out_is_as_in_the_line_before() -> None:
    reader = lines()
    reader.read("joints base=10")
    found = reader.read("JOINTS gripper=5")
    assert found is not None and isinstance(found.goal, AxisGoal)
    assert found.goal.positions == (10 * DEG, *rig("lynx6").home[1:5], 5 * MM)
    assert found.seq is None


def test_the_tool_is_a_point_and_what_else_is_given() -> None:
    found = lines().read("tool 180 -20 120 pitch=-40 gripper=12")
    assert found is not None
    assert found.goal == ToolGoal(position_m=(0.18, -0.02, 0.12), pitch=-40 * DEG, opening_m=12 * MM)
    turned = lines("ur5").read("tool 100 0 400 a=0 b=0 c=90")
    assert turned is not None and isinstance(turned.goal, ToolGoal)
    assert turned.goal.turn == pytest.approx((0.0, 0.0, 90 * DEG))


@pytest.mark.parametrize("end", ["end", "stop", "q", "#9 end"])
def test_an_end_is_no_target(end: str) -> None:
    assert lines().read(end) is not None
    assert lines().read(end).goal is None
    assert lines().read("   ") is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("frobnicate 1 2", "'frobnicate 1 2' is no target; allowed: joints and a number for every axis"),
        ("joints 1 2", "2 numbers given; this rig has the axes base, shoulder"),
        ("joints 1 2 3 4 5 nan", "gripper: 'nan' given; allowed: a finite number"),
        ("joints base=inf", "base: 'inf' given; allowed: a finite number"),
        ("tool 1e300 0 0", "x: '1e300' given; allowed: up to 1e+06"),
        ("joints hip=3", "there is no axis 'hip'; allowed: base"),
        ("joints base=1 base=2", "base is given twice; allowed: once in a line"),
        ("tool 1 2", "tool '1 2'; allowed: joints"),
        ("tool 1 2 3 pitch=4 pitch=5", "pitch is given twice; allowed: once in a line"),
        ("tool 1 2 3 yaw=1", "allowed: joints"),
        ("tool 1 2 3 a=1", "of a b c all three have to be given"),
        ("joints " + "1" * 600, "a line of 607 characters; allowed: 500"),
        ("#12", None),
    ],
)
def test_what_means_nothing_is_one_sentence(line: str, words: str | None) -> None:
    if words is None:
        assert lines().read(line) is None
        return
    with pytest.raises(CommandError) as error:
        lines().read(line)
    assert words in str(error.value)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="joints tol=#0123456789.-+einfa\t \x00é", max_size=60))
def test_no_line_does_more_than_be_a_target_or_be_refused(text: str) -> None:
    reader = lines()
    try:
        found = reader.read(text)
    except CommandError as error:
        assert "\n" not in str(error)
        return
    if found is not None and isinstance(found.goal, AxisGoal):
        assert all(map(math.isfinite, found.goal.positions))


# -- goals of the tool -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lynx6", "rv2aj", "ur5"])
def test_a_goal_of_the_tool_is_reached_in_the_posture_that_the_arm_has(name: str) -> None:
    arm = rig(name)
    robot = Robot(arm.robot)
    solver = GoalSolver(arm, robot, arm.home)
    dof = robot.dof
    begin = robot.forward_kinematics(np.array(arm.home[:dof]))[:3, 3]
    for k in range(1, 40):
        before = np.array(solver.near)
        goal = begin + np.array([0.0, 1.0, -0.5]) * k * 1e-3
        found = solver.positions(ToolGoal(position_m=tuple(goal.tolist())))
        assert np.abs(np.array(found) - before).max() < 5 * DEG
        assert robot.forward_kinematics(np.array(found[:dof]))[:3, 3] == pytest.approx(goal, abs=1e-6)
        assert found[dof:] == arm.home[dof:]


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (ToolGoal(position_m=(2.0, 0.0, 0.0)), "the tool cannot be at 2000, 0, 0 mm"),
        (ToolGoal(position_m=(0.2, 0.0, 0.1), turn=(0.0, 0.0, 1.0)), "cannot turn its tool about any axis"),
        (AxisGoal(positions=(0.0,)), "1 positions given; this rig has the axes base"),
    ],
)
def test_a_goal_that_the_arm_cannot_have_is_refused_in_words(goal: AxisGoal | ToolGoal, words: str) -> None:
    arm = rig("lynx6")
    solver = GoalSolver(arm, Robot(arm.robot), arm.home)
    with pytest.raises(HilError, match=words):
        solver.positions(goal)
    assert solver.near == arm.home


def test_a_goal_that_needs_another_posture_is_refused() -> None:
    arm = rig("lynx6")
    robot = Robot(arm.robot)
    solver = GoalSolver(arm, robot, arm.home)
    x, y, z = robot.tool_target(arm.home[:5]).position_m
    with pytest.raises(InterlockError, match="base would have to turn by"):
        solver.positions(ToolGoal(position_m=(0.0, x, z)))
    assert y == pytest.approx(0.0)


# -- leaders ---------------------------------------------------------------------------------------------------


def test_the_first_pose_of_a_leader_leads_nowhere_and_from_there_its_way_counts_by_the_scale() -> None:
    leading = Leading(rig("ur5"), rig("lynx6"), scale=-0.5)
    leading.begin(rig("ur5").home)
    assert led(leading, "joints 40 90 -75 -55 5 20") == rig("ur5").home
    found = led(leading, "joints 50 90 -75 -55 25 5")
    away = np.array(found) - rig("ur5").home
    assert away / DEG == pytest.approx([-5.0, 0.0, 0.0, 0.0, -10.0, 0.0])


def test_axes_of_one_name_lead_each_other_and_the_gripper_leads_the_gripper_unscaled() -> None:
    leading = Leading(rig("lynx6"), rig("lynx6"), scale=0.5)
    leading.begin(rig("lynx6").home)
    led(leading, "joints 0 90 -75 -55 0 20")
    found = led(leading, "joints 10 90 -75 -55 0 15")
    assert found[0] == pytest.approx(5 * DEG)
    assert found[5] == pytest.approx(rig("lynx6").home[5] - 5 * MM)


@pytest.mark.parametrize(("follows", "leads"), [("lynx6", "lynx6"), ("ur5", "lynx6"), ("lynx6", "ur5")])
def test_tool_by_tool_the_point_goes_the_leader_s_way_by_the_scale(follows: str, leads: str) -> None:
    leading = Leading(rig(follows), rig(leads), by_tool=True, scale=0.5)
    robots = {name: Robot(rig(name).robot) for name in (follows, leads)}

    def point(name: str, positions: tuple[float, ...]) -> np.ndarray:
        found: np.ndarray = robots[name].forward_kinematics(np.array(positions[: robots[name].dof]))[:3, 3]
        return found

    leading.begin(rig(follows).home)
    assert leading.led(rig(leads).home) == pytest.approx(rig(follows).home, abs=1e-6)
    goal = list(rig(leads).home)
    for _ in range(10):
        goal[0] += 1 * DEG
        found = leading.led(goal)
    way = point(leads, tuple(goal)) - point(leads, rig(leads).home)
    assert point(follows, found) - point(follows, rig(follows).home) == pytest.approx(0.5 * way, abs=1e-6)
