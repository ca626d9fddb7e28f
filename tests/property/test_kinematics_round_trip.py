"""Round trips of the closed form over every arm of the family, real and drawn at random."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.kinematics.certified import ACCEPTED_ERROR
from hil.model.robot import Joint, JointType, RobotModel

ANALYTIC = [name for name in hil.list_robots() if hil.load_robot(name).has_closed_form]
ANGLES = st.floats(-math.pi, math.pi, allow_subnormal=False)
LENGTHS = st.floats(0.05, 0.5)
OFFSETS = st.one_of(st.just(0.0), st.floats(-0.1, 0.1, allow_subnormal=False))
QUARTERS = st.sampled_from([math.pi / 2, -math.pi / 2])
FLIPS = st.sampled_from([0.0, math.pi, -math.pi])
SIGNS = st.sampled_from([1, -1])


def rigid(z: float, x: float, dx: float, dy: float, dz: float) -> tuple[tuple[float, ...], ...]:
    cz, sz, cx, sx = math.cos(z), math.sin(z), math.cos(x), math.sin(x)
    return ((cz, -sz * cx, sz * sx, dx), (sz, cz * cx, -cz * sx, dy), (0.0, sx, cx, dz), (0.0, 0.0, 0.0, 1.0))


TRANSFORMS = st.builds(rigid, ANGLES, ANGLES, OFFSETS, OFFSETS, OFFSETS)


@st.composite
def family(draw: st.DrawFn) -> RobotModel:
    """Yaw, three parallel pitch axes, roll or none; any offsets, base and tool."""
    axes = draw(st.sampled_from([4, 5]))
    shapes = [
        (OFFSETS, OFFSETS, QUARTERS),
        (OFFSETS, LENGTHS, FLIPS),
        (OFFSETS, LENGTHS, FLIPS),
        (OFFSETS, OFFSETS, QUARTERS if axes == 5 else ANGLES),
        (OFFSETS, OFFSETS, ANGLES),
    ][:axes]
    joints = tuple(
        Joint(
            name=f"joint{i}",
            type=JointType.REVOLUTE,
            d_m=draw(d),
            theta_rad=draw(ANGLES),
            a_m=draw(a),
            alpha_rad=draw(alpha),
            sign=draw(SIGNS),
        )
        for i, (d, a, alpha) in enumerate(shapes)
    )
    return RobotModel(
        id="drawn",
        title="",
        manufacturer="",
        joints=joints,
        base=draw(TRANSFORMS),
        tool=draw(TRANSFORMS),
        home=None,
        source="",
        status="",
    )


def apart(q: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(np.remainder(q - other + np.pi, 2 * np.pi) - np.pi).max())


def check_round_trip(robot: hil.Robot, q: np.ndarray) -> None:
    pose = robot.forward_kinematics(q)
    solutions = robot.inverse_kinematics_all(pose)
    assert 1 <= len(solutions) <= len(robot.branches)
    assert np.abs(robot.forward_kinematics(solutions) - pose).max() < 1e-9
    for i, solution in enumerate(solutions):
        assert all(apart(solution, other) > 1e-7 for other in solutions[i + 1 :])
    again = robot.inverse_kinematics(pose, seed=q)
    best = min(again.solutions, key=lambda s: apart(np.array(s.q), q))
    # A free joint that stays where the seed has it may cost as much as an answer may be off, and is told.
    allowed = ACCEPTED_ERROR if best.note else 1e-9
    assert robot.forward_kinematics(best.q) == pytest.approx(pose, abs=allowed)


@pytest.mark.parametrize("name", ANALYTIC)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_every_branch_of_every_analytic_arm_returns_the_pose(name: str, data: st.DataObject) -> None:
    robot = hil.load_robot(name)
    check_round_trip(robot, np.array(data.draw(st.lists(ANGLES, min_size=robot.dof, max_size=robot.dof))))


@given(model=family(), data=st.data())
@settings(max_examples=200, deadline=None)
def test_every_drawn_arm_of_the_family_returns_the_pose(model: RobotModel, data: st.DataObject) -> None:
    robot = hil.Robot(model)
    assert robot.has_closed_form
    check_round_trip(robot, np.array(data.draw(st.lists(ANGLES, min_size=robot.dof, max_size=robot.dof))))


@pytest.mark.parametrize("name", ANALYTIC)
def test_the_configuration_itself_is_among_the_answers(name: str) -> None:
    robot, generator = hil.load_robot(name), np.random.default_rng(2)
    for q in generator.uniform(-math.pi, math.pi, (40, robot.dof)):
        solutions = robot.inverse_kinematics_all(robot.forward_kinematics(q))
        assert min(apart(s, q) for s in solutions) < 1e-6


@given(model=family(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_drawn_arm_returns_the_point_with_its_pitch_and_roll(model: RobotModel, data: st.DataObject) -> None:
    robot = hil.Robot(model)
    q = np.array(data.draw(st.lists(ANGLES, min_size=robot.dof, max_size=robot.dof)))
    position = robot.forward_kinematics(q)[:3, 3]
    result = robot.inverse_kinematics_target(robot.tool_target(q).position_m, seed=q)
    assert result.ok
    assert robot.forward_kinematics(result.best.q)[:3, 3] == pytest.approx(position, abs=1e-8)
