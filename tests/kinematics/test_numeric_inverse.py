"""Inverse kinematics by iteration: success within reach, plain failure outside, the paper's gains."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.errors import CommandError
from hil.kernels.build import build_loops, fast_available
from hil.kernels.chain import chain_of, forward, frame_of_rows
from hil.kernels.scalar import FLOATS
from hil.kinematics import numeric
from hil.kinematics.limits import Range, best_turn, range_of
from hil.kinematics.numeric import transpose_eigenvalue
from hil.kinematics.results import IkResult

Solve = Callable[..., IkResult]

needs_fast = pytest.mark.skipif(not fast_available(), reason="the extra [fast] is not installed")
both = pytest.mark.parametrize("fast", [False, pytest.param(True, marks=needs_fast)], ids=["floats", "compiled"])


def limits(robot: hil.Robot) -> tuple[list[float], list[float]]:
    low = [-math.pi if j.lower is None else j.lower for j in robot.model.joints]
    high = [math.pi if j.upper is None else j.upper for j in robot.model.joints]
    return low, high


def solver_of(robot: hil.Robot, fast: bool) -> Solve:
    """The search for one arm, on floats or compiled."""
    chain, ranges = chain_of(robot.model), [range_of(joint) for joint in robot.model.joints]
    solver = numeric.Solver(chain, ranges) if fast else None

    def solve(task: numeric.Task | np.ndarray, seed: Sequence[float] | None = None, **settings: object) -> IkResult:
        if isinstance(task, np.ndarray):
            task = numeric.pose_task(frame_of_rows(task.tolist()))
        start = None if seed is None else [float(v) for v in seed]
        return numeric.solve_dls(chain, ranges, task, start, solver=solver, **settings)

    return solve


def assert_reaches(robot: hil.Robot, result: IkResult, pose: np.ndarray, tolerance: float = 1e-9) -> None:
    assert result.ok, result.reason
    low, high = limits(robot)
    for solution in result.solutions:
        reached = robot.forward_kinematics(solution.q)
        assert np.linalg.norm(reached[:3, 3] - pose[:3, 3]) <= tolerance + 1e-12
        assert np.abs(reached[:3, :3] - pose[:3, :3]).max() <= tolerance + 1e-12
        assert solution.error <= tolerance
        for joint, value, below, above in zip(robot.model.joints, solution.q, low, high, strict=True):
            assert joint.lower is None or value >= below
            assert joint.upper is None or value <= above


@both
@pytest.mark.parametrize("name", hil.list_robots())
def test_what_forward_kinematics_reaches_is_found_within_limits(name: str, fast: bool) -> None:
    robot, generator = hil.load_robot(name), np.random.default_rng(8)
    solve, (low, high) = solver_of(robot, fast), limits(robot)
    for _ in range(60 if fast else 6):
        pose = robot.forward_kinematics(generator.uniform(low, high))
        assert_reaches(robot, solve(pose, generator.uniform(low, high)), pose)


@both
@pytest.mark.parametrize("name", ["puma560", "panda", "lynx6", "stanford", "pioneer2-arm"])
def test_poses_with_joints_at_limits_and_at_quarter_turns_are_found_too(name: str, fast: bool) -> None:
    robot, generator = hil.load_robot(name), np.random.default_rng(3)
    solve, (low, high) = solver_of(robot, fast), limits(robot)
    for _ in range(60 if fast else 10):
        q = generator.uniform(low, high)
        quarters = np.round(q / (math.pi / 2)) * math.pi / 2
        straight = (quarters > low) & (quarters < high) & (generator.random(robot.dof) < 0.5)
        stopped = generator.random(robot.dof) < 0.3
        q = np.where(straight, quarters, np.where(stopped, np.where(q > quarters, high, low), q))
        pose = robot.forward_kinematics(q)
        assert_reaches(robot, solve(pose, generator.uniform(low, high)), pose)


@both
def test_a_coarser_tolerance_is_kept_to(fast: bool) -> None:
    robot = hil.load_robot("puma560")
    pose = robot.forward_kinematics([0.3, 0.9, -1.0, 0.4, 0.5, 0.6])
    result = solver_of(robot, fast)(pose, [0.0] * 6, tolerance=1e-3)
    assert_reaches(robot, result, pose, 1e-3)
    assert result.best.error > 1e-9


@needs_fast
@pytest.mark.parametrize("name", ["puma560", "panda", "stanford", "pioneer2-arm", "planar-2r"])
def test_both_searches_take_the_same_way(name: str) -> None:
    robot, generator = hil.load_robot(name), np.random.default_rng(4)
    (low, high), floats, compiled = limits(robot), solver_of(robot, False), solver_of(robot, True)
    for _ in range(10):
        q = generator.uniform(low, high)
        pose, seed = robot.forward_kinematics(q), q + generator.uniform(-0.1, 0.1, robot.dof)
        one, other = compiled(pose, seed), floats(pose, seed)
        assert one.best.q == pytest.approx(other.best.q, abs=1e-6)
        assert one.iterations == other.iterations > 0


@needs_fast
@settings(max_examples=200)
@given(
    st.floats(-20, 20),
    st.floats(-7, 7) | st.just(-math.inf),
    st.floats(0, 7) | st.just(math.inf),
    st.none() | st.floats(-20, 20),
)
def test_the_compiled_search_takes_whole_turns_as_the_library_does(
    value: float, lower: float, width: float, near: float | None
) -> None:
    upper = lower + width if math.isfinite(lower) else width
    wanted = best_turn(value, Range("J", True, lower, upper), near)
    loops = build_loops("least_squares")
    found = loops.turned.py_func(value, lower, upper, math.nan if near is None else near)
    assert min(max(found, lower), upper) == wanted or abs(found - wanted) < 1e-9


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


@both
def test_a_five_axis_arm_says_how_far_a_pose_is_outside_its_set_and_what_to_ask_instead(fast: bool) -> None:
    robot = hil.load_robot("pioneer2-arm")
    pose = robot.forward_kinematics([0.3, -0.4, 0.5, 0.4, 0.6])
    pose[:3, :3] = pose[:3, :3] @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    result = solver_of(robot, fast)(pose, [0.1] * 5, restarts=20)
    assert not result.ok
    assert result.distance_m > 1e-3
    assert "with 5 joints most full poses are out of reach" in result.reason
    point = solver_of(robot, fast)(numeric.axis_task(pose[:3, 3], pose[:3, 2]), [0.1] * 5)
    reached = robot.forward_kinematics(point.best.q)
    assert reached[:3, 3] == pytest.approx(pose[:3, 3], abs=1e-9)
    assert reached[:3, 2] == pytest.approx(pose[:3, 2], abs=1e-9)


@both
@pytest.mark.parametrize("name", ["lynx6", "puma560", "panda"])
def test_parts_of_a_pose_can_be_asked_for(name: str, fast: bool) -> None:
    robot, generator = hil.load_robot(name), np.random.default_rng(6)
    solve, (low, high) = solver_of(robot, fast), limits(robot)
    for _ in range(5):
        pose, seed = robot.forward_kinematics(generator.uniform(low, high)), generator.uniform(low, high)
        point, axis = pose[:3, 3].tolist(), pose[:3, 2].tolist()
        pitch = math.atan2(axis[2], math.hypot(axis[0], axis[1]))
        for task in (numeric.point_task(point, None), numeric.point_task(point, pitch), numeric.axis_task(point, axis)):
            result = solve(task, seed)
            assert result.ok, result.reason
            frame = forward(chain_of(robot.model), result.best.q, FLOATS)
            assert frame[9:] == pytest.approx(point, abs=2e-9)
            if task.kind == numeric.PITCH:
                assert math.sin(math.asin(frame[8]) - pitch) == pytest.approx(0.0, abs=1e-7)
            if task.kind == numeric.AXIS:
                assert frame[6:9] == pytest.approx(axis, abs=2e-9)


@both
def test_an_axis_straight_the_other_way_is_reached(fast: bool) -> None:
    robot = hil.load_robot("puma560")
    q = np.array([0.3, 0.9, -1.0, 0.4, 0.5, 0.6])
    pose = robot.forward_kinematics(q)
    opposite = q + np.array([0.0, 0.0, 0.0, 0.0, math.pi, 0.0])
    assert robot.forward_kinematics(opposite)[:3, 2] == pytest.approx(-pose[:3, 2], abs=1e-12)
    result = solver_of(robot, fast)(numeric.axis_task(pose[:3, 3], pose[:3, 2]), opposite)
    assert robot.forward_kinematics(result.best.q)[:3, 2] == pytest.approx(pose[:3, 2], abs=2e-9)


@pytest.mark.parametrize("axis", [[0, 0, 0], [0, math.nan, 1], [1, 0]])
def test_an_axis_without_a_direction_is_refused(axis: list[float]) -> None:
    with pytest.raises(CommandError, match="tool axis"):
        numeric.axis_task([0.1, 0.2, 0.3], axis)


@both
def test_what_cannot_be_reached_is_told_with_the_least_distance(fast: bool) -> None:
    robot = hil.load_robot("planar-2r")
    pose = np.eye(4)
    pose[:3, 3] = 3.0, 0.0, 0.25
    result = solver_of(robot, fast)(numeric.point_task(pose[:3, 3].tolist(), None), [0.4, 0.3], restarts=5)
    assert not result.solutions
    assert result.distance_m == pytest.approx(math.hypot(1.0, 0.25), abs=1e-6)
    assert "6 starts" in result.reason


@both
def test_a_search_cut_short_is_carried_on_from_the_nearest_try(fast: bool) -> None:
    robot = hil.load_robot("puma560")
    pose = robot.forward_kinematics([0.3, 0.9, -1.0, 0.4, 0.5, 0.6])
    result = solver_of(robot, fast)(pose, [0.2, 0.8, -0.9, 0.3, 0.4, 0.5], iterations=1, restarts=0)
    assert_reaches(robot, result, pose)


@both
def test_a_generator_of_ones_own_gives_the_further_starts(fast: bool) -> None:
    robot = hil.load_robot("panda")
    low, high = limits(robot)
    pose = robot.forward_kinematics(np.random.default_rng(1).uniform(low, high))
    solve = solver_of(robot, fast)
    answers = [solve(pose, [0.0] * 7, generator=np.random.default_rng(5), restarts=80) for _ in range(2)]
    assert answers[0] == answers[1]
    assert_reaches(robot, answers[0], pose)


@both
@pytest.mark.parametrize(
    ("setting", "value"), [("tolerance", 0.0), ("tolerance", math.nan), ("iterations", 0), ("restarts", -1)]
)
def test_settings_that_mean_nothing_are_refused(setting: str, value: float, fast: bool) -> None:
    with pytest.raises(CommandError, match=setting):
        solver_of(hil.load_robot("puma560"), fast)(np.eye(4), **{setting: value})


def test_a_first_call_needs_no_compiler_and_asking_for_one_names_the_extra() -> None:
    program = """
import sys, hil
from hil.errors import MissingExtraError
from hil.kernels.chain import chain_of
from hil.kinematics import numeric
robot = hil.load_robot("panda")
pose = robot.forward_kinematics([0.1, 0.2, 0.3, -1.0, 0.2, 1.0, 0.1])
assert robot.inverse_kinematics_numeric(pose, [0.0] * 7).ok
assert "numba" not in sys.modules
try:
    numeric.Solver(chain_of(robot.model), ())
except MissingExtraError as error:
    print(error)
"""
    environment = {**os.environ, "HIL_WITHOUT_FAST": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert "fast" in done.stdout


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


@both
def test_the_steps_are_told_whatever_came_of_them(fast: bool) -> None:
    robot = hil.load_robot("puma560")
    solve, q = solver_of(robot, fast), np.array([0.1, 0.7, -2.0, 0.3, 0.8, -0.4])
    pose = robot.forward_kinematics(q)
    assert solve(pose, q).iterations == 0
    assert solve(pose, q + 0.05).iterations < 10
    pose[0, 3] += 9.0
    assert solve(pose, q).iterations > 100

    assert robot.inverse_kinematics(robot.forward_kinematics(q)).iterations is None


def test_a_transpose_tells_its_steps_too() -> None:
    robot, home, pose = rv2aj_case()
    slow = robot.inverse_kinematics_numeric(pose, home, "transpose", gain=0.5, iterations=2200)
    assert 2000 < slow.iterations < 2200
    assert robot.inverse_kinematics_numeric(pose, home, "transpose", gain=0.5, iterations=slow.iterations).ok
    cut = robot.inverse_kinematics_numeric(pose, home, "transpose", gain=0.5, iterations=slow.iterations - 1)
    assert not cut.ok and cut.iterations == slow.iterations - 1


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


@pytest.mark.parametrize("gain", [1e150, 1e308])
def test_a_gain_far_too_large_ends_in_words_not_in_warnings(gain: float) -> None:
    robot, home, pose = rv2aj_case()
    result = robot.inverse_kinematics_numeric(pose, home, "transpose", gain=gain)
    assert not result.ok
    assert "gain is too large" in result.reason


def test_what_the_transpose_returns_was_judged_by_forward_kinematics() -> None:
    robot, home, pose = rv2aj_case()
    result = robot.inverse_kinematics_numeric(pose, home, "transpose", gain=[10] * 3 + [0.2] * 3)
    assert 0.0 < result.best.error <= 1e-6
    assert_reaches(robot, result, pose, 1e-6)


@pytest.mark.parametrize("gain", [[1, 2], np.eye(5), math.nan])
def test_a_gain_of_another_shape_is_refused(gain: object) -> None:
    robot, home, pose = rv2aj_case()
    with pytest.raises(CommandError, match="6x6"):
        robot.inverse_kinematics_numeric(pose, home, "transpose", gain=gain)


def test_an_unknown_method_is_refused() -> None:
    robot, home, pose = rv2aj_case()
    with pytest.raises(CommandError, match="unknown method 'newton'"):
        robot.inverse_kinematics_numeric(pose, home, "newton")
