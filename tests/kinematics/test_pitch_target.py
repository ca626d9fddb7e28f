"""Targets of a point with pitch and roll given or free."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hil
from hil.errors import CommandError

ARMS = ["al5d", "l6-terzakis", "lynx6", "lynx6-4axis", "rhino-xr3", "rv2aj", "rv2aj-seed"]


def random_configuration(robot: hil.Robot, generator: np.random.Generator) -> np.ndarray:
    low = [-math.pi if j.lower is None else j.lower for j in robot.model.joints]
    high = [math.pi if j.upper is None else j.upper for j in robot.model.joints]
    return generator.uniform(low, high)


@pytest.mark.parametrize("name", ARMS)
def test_what_a_configuration_reaches_leads_back_to_it(name: str) -> None:
    robot, generator = hil.load_robot(name), np.random.default_rng(3)
    for _ in range(40):
        q = random_configuration(robot, generator)
        target = robot.tool_target(q)
        assert target.position_m == pytest.approx(robot.forward_kinematics(q)[:3, 3], abs=1e-12)
        given = robot.inverse_kinematics_target(*target, seed=q)
        assert given.ok
        assert given.best.q == pytest.approx(q, abs=1e-6)
        free = robot.inverse_kinematics_target(target.position_m, seed=q)
        assert free.ok
        assert free.best.q == pytest.approx(q, abs=1e-6)


@pytest.mark.parametrize("pitch_deg", [-90, -60, -30, 0, 45])
def test_pitch_is_the_angle_of_the_tool_axis_above_the_ground(pitch_deg: float) -> None:
    for name, column in (("lynx6", 2), ("rv2aj", 2), ("al5d", 0)):
        robot = hil.load_robot(name)
        roll = None if name == "al5d" else 0.2
        result = robot.inverse_kinematics_target((0.15, 0.1, 0.2), math.radians(pitch_deg), roll)
        assert len(result.solutions) >= 2 or "out of reach" in result.reason
        for solution in result.solutions:
            pose = robot.forward_kinematics(solution.q)
            assert pose[:3, 3] == pytest.approx((0.15, 0.1, 0.2), abs=1e-9)
            outwards = np.array([0.15, 0.1, 0]) / math.hypot(0.15, 0.1)
            expected = math.cos(math.radians(pitch_deg)) * outwards
            expected[2] = math.sin(math.radians(pitch_deg))
            assert pose[:3, column] == pytest.approx(expected, abs=1e-9)
            if roll is not None:
                assert solution.q[4] == roll


def test_without_a_seed_the_joints_keep_away_from_their_limits() -> None:
    robot = hil.load_robot("lynx6")
    best = robot.inverse_kinematics_target((0.2, 0.0, 0.15)).best
    joints = robot.model.joints[:4]
    margins = [min(v - j.lower, j.upper - v) / (j.upper - j.lower) for v, j in zip(best.q, joints, strict=False)]
    for pitch in np.radians(np.arange(-90, 91, 5)):
        for other in robot.inverse_kinematics_target((0.2, 0.0, 0.15), float(pitch)).solutions:
            if other.within_limits:
                pairs = zip(other.q, joints, strict=False)
                worst = min(min(v - j.lower, j.upper - v) / (j.upper - j.lower) for v, j in pairs)
                assert worst <= min(margins) + 1e-6


def test_a_free_pitch_follows_the_seed_without_jumps_along_a_line() -> None:
    robot = hil.load_robot("lynx6")
    q = robot.inverse_kinematics_target((0.3, -0.12, 0.15), math.radians(-10), 0.0).best.q
    for y in np.linspace(-0.12, 0.12, 60):
        best = robot.inverse_kinematics_target((0.3, float(y), 0.15), seed=q).best
        assert max(abs(a - b) for a, b in zip(best.q, q, strict=True)) < 0.05
        q = best.q


def test_equal_calls_answer_equally() -> None:
    robot = hil.load_robot("lynx6")
    assert robot.inverse_kinematics_target((0.2, 0.05, 0.1)) == robot.inverse_kinematics_target((0.2, 0.05, 0.1))


def test_a_fully_stretched_arm_is_reached_and_one_millimetre_more_is_refused() -> None:
    robot = hil.load_robot("lynx6")
    assert robot.inverse_kinematics_target((0.39, 0, 0.1106)).ok
    result = robot.inverse_kinematics_target((0.391, 0, 0.1106))
    assert not result.solutions
    assert result.distance_m == pytest.approx(1e-3, abs=1e-12)
    assert "391.00 mm from the shoulder" in result.reason
    assert "0.00 to 390.00 mm" in result.reason


@pytest.mark.parametrize("point", [(0.39, 0.0, 0.0), (0.0, 0.0, -0.2895)])
def test_reach_is_counted_from_the_shoulder_not_from_the_base(point: tuple[float, float, float]) -> None:
    result = hil.load_robot("lynx6").inverse_kinematics_target(point)
    assert result.distance_m == pytest.approx(math.dist(point, (0, 0, 0.1106)) - 0.39, abs=1e-12)


def test_a_pitch_that_cannot_be_had_names_the_distance_and_the_nearest_one_that_can() -> None:
    robot = hil.load_robot("lynx6")
    result = robot.inverse_kinematics_target((0.34, 0, 0.1106), math.radians(-60))
    wrist = math.dist((0.34, 0.0), (0.15 * math.cos(math.radians(-60)), 0.15 * math.sin(math.radians(-60))))
    assert result.distance_m == pytest.approx(wrist - 0.24, abs=1e-12)
    nearest = float(result.reason.split("the nearest pitch within reach is ")[1].split()[0])
    assert -60 < nearest < 0
    assert robot.inverse_kinematics_target((0.34, 0, 0.1106), math.radians(nearest + 0.01)).solutions
    assert not robot.inverse_kinematics_target((0.34, 0, 0.1106), math.radians(nearest - 0.01)).solutions


def test_a_point_only_outside_the_limits_names_joint_and_limit() -> None:
    result = hil.load_robot("lynx6").inverse_kinematics_target((0.05, 0, 0.12))
    assert not result.ok
    assert result.distance_m is None
    assert f"outside joint limits: {result.joint} would have to be" in result.reason
    assert result.limit in result.reason


def test_a_roll_beyond_its_limit_is_refused_with_it() -> None:
    result = hil.load_robot("lynx6").inverse_kinematics_target((0.33, 0, 0.15), 0.0, math.radians(100))
    assert result.limit == "upper limit 80.00 deg"
    assert "100.00 deg, 20.00 deg beyond" in result.reason


def test_an_arm_without_a_roll_joint_says_so() -> None:
    result = hil.load_robot("al5d").inverse_kinematics_target((0.2, 0, 0.1), 0.0, 0.5)
    assert result.reason == "this arm has no roll joint: leave the roll out"


def test_six_axes_take_a_point_and_a_pitch_by_iteration() -> None:
    robot = hil.load_robot("puma560")
    result = robot.inverse_kinematics_target((0.4, 0.2, 0.3), math.radians(-50))
    pose = robot.forward_kinematics(result.best.q)
    assert pose[:3, 3] == pytest.approx((0.4, 0.2, 0.3), abs=1e-8)
    assert math.degrees(math.asin(pose[2, 2])) == pytest.approx(-50, abs=1e-6)
    assert robot.inverse_kinematics_target((0.4, 0.2, 0.3)).ok
    assert "full pose" in robot.inverse_kinematics_target((0.4, 0.2, 0.3), 0.0, 0.0).reason
    far = robot.inverse_kinematics_target((5.0, 0, 0))
    assert not far.ok
    assert far.distance_m > 3.0


def test_a_target_that_is_no_target_is_refused_by_name() -> None:
    robot = hil.load_robot("lynx6")
    with pytest.raises(CommandError, match="pitch: nan"):
        robot.inverse_kinematics_target((0.2, 0, 0.1), math.nan)
    with pytest.raises(CommandError, match="y: inf"):
        robot.inverse_kinematics_target((0.2, math.inf, 0.1))
    with pytest.raises(CommandError, match="three numbers"):
        robot.inverse_kinematics_target((0.2, 0.1))
    with pytest.raises(CommandError, match="full pose"):
        hil.load_robot("puma560").tool_target([0.0] * 6)
