"""Arms of fewer than six axes bring the tool's point where it is wanted, and its orientation as near as they can."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import CommandError
from hil.kinematics.point_first import POINT_M, turned_away_rad
from hil.model.files import list_names
from hil.model.reader import load_robot
from hil.model.transforms import random_q
from hil.robot import Robot

FEW = [name for name in list_names("robots") if load_robot(name).dof < 6]


@functools.cache
def arm(name: str) -> Robot:
    return Robot(load_robot(name))


def well_placed(robot: Robot, seed: int) -> np.ndarray:
    """Joints at which the tool's point can be moved in every way that the arm has."""
    generator = np.random.default_rng(seed)
    for _ in range(100):
        q = random_q(robot.model, generator)
        values = np.linalg.svd(robot.jacobian(q)[:3], compute_uv=False)
        if values[min(2, robot.dof - 1)] > 0.1 * values[0] or robot.model.id.startswith("planar"):
            return np.array(q)
    raise AssertionError(f"{robot.name} has no such pose")


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(FEW), seed=st.integers(0, 10_000), size=st.floats(0.0, 0.05))
def test_a_pose_that_the_arm_has_is_found(name: str, seed: int, size: float) -> None:
    robot = arm(name)
    q = well_placed(robot, seed)
    goal = q + size * np.random.default_rng(seed).uniform(-1.0, 1.0, robot.dof)
    pose = robot.forward_kinematics(goal)
    (found,) = robot.inverse_kinematics_point_first(pose, q.tolist()).solutions
    reached = robot.forward_kinematics(found.q)
    assert np.linalg.norm(reached[:3, 3] - pose[:3, 3]) <= POINT_M
    assert found.error <= POINT_M
    assert turned_away_rad(reached, pose) <= 1e-6


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(FEW), seed=st.integers(0, 10_000), way_mm=st.floats(0.1, 3.0))
def test_the_way_back_leads_to_where_it_began(name: str, seed: int, way_mm: float) -> None:
    robot = arm(name)
    q = well_placed(robot, seed)
    here = robot.forward_kinematics(q)
    there = here.copy()
    rows = robot.jacobian(q)[:3]
    there[:3, 3] += rows @ (rows.T @ np.ones(3)) / np.linalg.norm(rows @ (rows.T @ np.ones(3))) * way_mm * 1e-3
    forth = robot.inverse_kinematics_point_first(there, q.tolist())
    if not forth.solutions:
        assert forth.distance_m is not None and forth.distance_m > POINT_M
        return
    (back,) = robot.inverse_kinematics_point_first(here, list(forth.solutions[0].q)).solutions
    assert np.abs(np.array(back.q) - q).max() < 1e-5
    assert np.linalg.norm(robot.forward_kinematics(back.q)[:3, 3] - here[:3, 3]) <= POINT_M


def test_a_planar_arm_cannot_leave_its_plane() -> None:
    robot = arm("planar-3r")
    pose = robot.forward_kinematics([0.0, 0.7, 0.7]).copy()
    pose[2, 3] = 0.01
    found = robot.inverse_kinematics_point_first(pose, [0.0, 0.7, 0.7])
    assert not found.solutions
    assert found.distance_m == pytest.approx(0.01, rel=1e-3)
    assert "cannot be brought there" in found.reason


def test_limits_are_told() -> None:
    robot = arm("spatial-3r")
    q = [0.0, np.radians(199.0), np.radians(-80.0)]
    pose = robot.forward_kinematics([0.0, np.radians(202.0), np.radians(-80.0)])
    found = robot.inverse_kinematics_point_first(pose, q)
    assert not found.ok
    assert found.joint == "shoulder"


def test_what_is_no_pose_is_refused() -> None:
    with pytest.raises(CommandError):
        arm("spatial-3r").inverse_kinematics_point_first(np.full((4, 4), np.nan), [0.0, 0.0, 0.0])
