"""Where a limit is not kept a planned move leaves by a short way, and where none is broken it is as it always was."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space_judge import SpaceJudge, broken, fault

from hil.model.rig import Rig
from hil.motion.planner import plan_joint_move, plan_task
from hil.motion.tasks import task_from_table
from hil.motion.ways_out import WayOutPlan, nearest_to_zero
from hil.robot import Robot
from hil.runtime import wiring
from hil.safety.checker import check_motion
from hil.units import DEG, MM

LOW = (0.0, 40 * DEG, -65 * DEG, -30 * DEG, 0.0, 10 * MM)
ROUND = {"base": -41, "shoulder": 66, "elbow": -83, "wrist": -83}
"""Straight there from LOW the hand goes down before it goes up."""


def raised(name: str, height_mm: float) -> Rig:
    rig = wiring.load_rig(name)
    return msgspec.structs.replace(rig, fences=msgspec.structs.replace(rig.fences, table_height_m=height_mm * MM))


def goal_of(rig: Rig) -> tuple[float, ...]:
    return tuple(ROUND.get(axis.name, 0) * DEG if axis.name != "gripper" else LOW[-1] for axis in rig.axes)


def test_a_move_that_would_first_go_deeper_leaves_by_a_short_way_and_then_goes_on() -> None:
    rig = raised("lynx6", 30)
    motion = plan_joint_move(rig, LOW, goal_of(rig))
    assert fault(SpaceJudge(rig), rig, motion.samples) == ""
    assert check_motion(rig, Robot(rig.robot), motion).refusals == ()
    corner = motion.samples[1 + int(np.argmax(np.abs(np.diff(motion.samples, axis=0)).max(axis=1)[1:] < 1e-4))]
    assert not broken(SpaceJudge(rig), rig, corner).any(), "where it turns everything is kept"
    assert np.abs(corner[:5] - LOW[:5]).max() < 20 * DEG
    assert motion.end == goal_of(rig)


def test_a_step_of_a_task_leaves_in_the_same_way_with_one_mark() -> None:
    rig = raised("lynx6", 30)
    start = {axis.name: at / DEG for axis, at in zip(rig.axes[:5], LOW[:5], strict=True)}
    table = {
        "title": "t",
        "start": {"joints_deg": start, "opening_mm": 10},
        "step": [{"do": "move", "joints_deg": ROUND}, {"do": "move", "to": "home"}],
    }
    motion = plan_task(rig, Robot(rig.robot), task_from_table(table, "t.toml"))
    assert [mark.step for mark in motion.marks] == [1, 2]
    assert check_motion(rig, Robot(rig.robot), motion).refusals == ()


def test_a_controller_of_few_targets_rests_where_the_way_out_ends() -> None:
    """Or it would cut the corner, and what it cuts was not looked at."""
    rig = raised("rv2aj", 0)
    fences = msgspec.structs.replace(rig.fences, table_height_m=150 * MM)
    low = (0.0, 60 * DEG, 80 * DEG, 20 * DEG, 0.0)
    fences = msgspec.structs.replace(fences, table_height_m=0.14)
    rig = msgspec.structs.replace(rig, fences=fences)
    leaving = WayOutPlan(rig, Robot(rig.robot), np.array(low))
    assert leaving.needed
    for goal in (rig.home, rig.park, (40 * DEG, 40 * DEG, 110 * DEG, 80 * DEG, 0.0)):
        motion = plan_joint_move(rig, low, goal)
        if check_motion(rig, Robot(rig.robot), motion).refusals:
            continue
        assert fault(SpaceJudge(rig), rig, motion.samples) == ""


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_where_every_limit_is_kept_a_move_is_the_straight_one(seed: int) -> None:
    rig = wiring.load_rig("lynx6")
    random = np.random.default_rng(seed)
    start, goal = (
        np.array([random.uniform(a.lower + a.soft_margin, a.upper - a.soft_margin) for a in rig.axes]) for _ in "ab"
    )
    if broken(SpaceJudge(rig), rig, start).any():
        return
    assert not WayOutPlan(rig, Robot(rig.robot), start).needed
    rows = plan_joint_move(rig, start.tolist(), goal.tolist()).samples
    way = goal - start
    parts = ((rows - start) @ way) / (way @ way)
    assert np.abs(rows - start - parts[:, None] * way).max() < 1e-12


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(2, 6))
def test_the_mixture_nearest_to_zero_is_one_in_whose_direction_all_agree(seed: int, count: int, axes: int) -> None:
    points = np.random.default_rng(seed).normal(size=(count, axes))
    found = nearest_to_zero(points)
    assert (points @ found >= found @ found - 1e-5).all()
    trial = np.random.default_rng(1).dirichlet(np.ones(count), 200) @ points
    assert np.linalg.norm(found) <= np.linalg.norm(trial, axis=1).min() + 1e-6


def test_of_two_that_pull_opposite_ways_nothing_is_left() -> None:
    assert np.linalg.norm(nearest_to_zero(np.array([[1.0, 0.0], [-1.0, 0.0]]))) == pytest.approx(0.0, abs=1e-6)
