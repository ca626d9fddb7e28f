"""Inverse kinematics by iteration: success within reach, plain failure outside, the paper's gains."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hil
from hil.errors import CommandError
from hil.kernels.chain import chain_of
from hil.kinematics.numeric import transpose_eigenvalue


def limits(robot: hil.Robot) -> tuple[list[float], list[float]]:
    low = [-math.pi if j.lower is None else j.lower for j in robot.model.joints]
    high = [math.pi if j.upper is None else j.upper for j in robot.model.joints]
    return low, high


@pytest.mark.parametrize("name", ["puma560", "kuka-kr5-arc", "lynx6", "pioneer2-arm", "stanford", "ur5"])
def test_targets_within_reach_are_found_within_limits(name: str) -> None:
    robot, generator = hil.load_robot(name), np.random.default_rng(8)
    low, high = limits(robot)
    failures = 0
    for _ in range(100):
        pose = robot.forward_kinematics(generator.uniform(low, high))
        result = robot.inverse_kinematics_numeric(pose, generator.uniform(low, high))
        failures += not result.ok
        for solution in result.solutions:
            assert robot.forward_kinematics(solution.q) == pytest.approx(pose, abs=1e-8)
            assert solution.error <= 1e-9
    assert failures <= 1


def test_a_redundant_arm_is_no_exception() -> None:
    robot = hil.load_robot("panda")
    low, high = limits(robot)
    pose = robot.forward_kinematics(0.5 * (np.array(low) + np.array(high)) + 0.2)
    assert robot.inverse_kinematics(pose).ok


def test_the_answer_near_the_seed_is_kept_and_equal_calls_answer_equally() -> None:
    robot = hil.load_robot("puma560")
    q = np.array([0.1, 0.7, -2.0, 0.3, 0.8, -0.4])
    pose = robot.forward_kinematics(q)
    result = robot.inverse_kinematics(pose, q + 0.05)
    assert result.best.q == pytest.approx(q, abs=1e-7)
    assert robot.inverse_kinematics(pose) == robot.inverse_kinematics(pose)
    other = robot.inverse_kinematics_numeric(pose, [0.0] * 6, generator=np.random.default_rng(5))
    assert robot.forward_kinematics(other.best.q) == pytest.approx(pose, abs=1e-8)


def test_a_point_farther_than_the_stretched_arm_is_refused_with_the_distance() -> None:
    robot = hil.load_robot("planar-2r")
    pose = np.eye(4)
    pose[:3, 3] = 2.001, 0.0, 0.0
    result = robot.inverse_kinematics(pose)
    assert not result.solutions
    assert result.distance_m == pytest.approx(1e-3, abs=1e-9)
    assert "out of reach by 1.000 mm" in result.reason


def test_an_orientation_that_cannot_be_had_is_a_plain_failure_with_what_is_left() -> None:
    robot = hil.load_robot("planar-3r")
    pose = robot.forward_kinematics([0.3, 0.4, 0.5])
    pose[:3, :3] = pose[:3, :3] @ np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    result = robot.inverse_kinematics_numeric(pose, [0.1, 0.1, 0.1], restarts=2)
    assert not result.ok
    assert result.distance_m is not None
    assert "3 starts" in result.reason
    assert "deg off" in result.reason


def test_a_pose_only_outside_the_limits_names_joint_and_limit() -> None:
    robot = hil.load_robot("lynx6")
    q = np.radians([0, 45, 100, 10, 0])
    result = robot.inverse_kinematics_numeric(robot.forward_kinematics(q), q, restarts=5)
    assert not result.ok
    assert (result.joint, result.limit) == ("elbow", "upper limit 90.00 deg")


def test_singular_starts_never_raise() -> None:
    for name in ("puma560", "adept-cobra600", "lynx6", "planar-2r", "vrm-kukakr5"):
        robot = hil.load_robot(name)
        pose = robot.forward_kinematics(np.full(robot.dof, 0.1))
        for start in ([0.0] * robot.dof, [math.pi / 2] * robot.dof):
            robot.inverse_kinematics_numeric(pose, start)
            robot.inverse_kinematics_numeric(pose, start, "transpose", iterations=20)


def rv2aj_case() -> tuple[hil.Robot, np.ndarray, np.ndarray]:
    robot = hil.load_robot("rv2aj-seed")
    home = np.array(robot.model.home)
    return robot, home, robot.forward_kinematics(home + np.radians([20, 15, -10, 10, 30]))


def test_the_stability_bound_at_the_rv2aj_home_is_the_papers() -> None:
    robot, home, _ = rv2aj_case()
    assert transpose_eigenvalue(chain_of(robot.model), home.tolist(), 1.0) == pytest.approx(3.0557, abs=1e-4)


def test_the_transpose_converges_below_the_bound_and_says_why_above_it() -> None:
    robot, home, pose = rv2aj_case()
    slow = robot.inverse_kinematics_numeric(pose, home, "transpose", gain=0.5, iterations=2200)
    assert slow.ok
    assert robot.forward_kinematics(slow.best.q) == pytest.approx(pose, abs=2e-6)
    assert not robot.inverse_kinematics_numeric(pose, home, "transpose", gain=0.5, iterations=2000).ok
    wild = robot.inverse_kinematics_numeric(pose, home, "transpose", gain=1.0)
    assert not wild.ok
    assert "gain is too large: scale it by less than 0.655" in wild.reason


def test_separate_gains_converge_in_less_than_two_hundred_steps() -> None:
    robot, home, pose = rv2aj_case()
    gains = np.diag([10.0] * 3 + [0.2] * 3)
    assert robot.inverse_kinematics_numeric(pose, home, "transpose", gain=gains, iterations=200).ok
    assert robot.inverse_kinematics_numeric(pose, home, "transpose", gain=[10] * 3 + [0.2] * 3, iterations=200).ok


def test_the_transpose_does_not_take_half_a_turn_for_the_goal() -> None:
    robot, home, _ = rv2aj_case()
    turned = home + np.array([0, 0, 0, 0, math.pi])
    result = robot.inverse_kinematics_numeric(
        robot.forward_kinematics(turned), home, "transpose", gain=[10] * 3 + [0.2] * 3
    )
    assert abs(result.best.q[4]) == pytest.approx(math.pi, abs=1e-5)


def test_a_gain_far_too_large_ends_in_words_not_in_warnings() -> None:
    robot, home, pose = rv2aj_case()
    result = robot.inverse_kinematics_numeric(pose, home, "transpose", gain=1e150)
    assert not result.ok
    assert "gain is too large" in result.reason


@pytest.mark.parametrize("gain", [[1, 2], np.eye(5), math.nan])
def test_a_gain_of_another_shape_is_refused(gain: object) -> None:
    robot, home, pose = rv2aj_case()
    with pytest.raises(CommandError, match="6x6"):
        robot.inverse_kinematics_numeric(pose, home, "transpose", gain=gain)


def test_an_unknown_method_is_refused() -> None:
    robot, home, pose = rv2aj_case()
    with pytest.raises(CommandError, match="unknown method 'newton'"):
        robot.inverse_kinematics_numeric(pose, home, "newton")
