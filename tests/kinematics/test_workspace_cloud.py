"""The forward cloud: counts of the 3D-RAS paper, points of partial chains, bounds, memory that stays small."""

from __future__ import annotations

import math
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.errors import CommandError
from hil.kernels.chain import Chain, chain_of
from hil.kinematics.limits import Range, range_of
from hil.kinematics.workspace.cloud import BLOCK, Cloud, cloud, farthest_m
from hil.kinematics.workspace.sweeps import (
    Sweep,
    count,
    moving_joints,
    nearness_m,
    nice_step_rad,
    sweeps_for_voxel,
    sweeps_of,
)
from hil.units import DEG

ARMS = ["lynx6", "lynx6-4axis", "puma560", "stanford", "adept-cobra600", "panda", "ur5", "planar-3r"]
PAPER = (90.0, 45.0, 45.0, 90.0)
"""Half of the ranges of eq. (18)."""


def arm(name: str) -> tuple[Chain, tuple[Range, ...]]:
    model = hil.load_robot(name).model
    return chain_of(model), tuple(range_of(joint) for joint in model.joints)


def paper_sweeps(step_deg: float) -> tuple[Sweep, ...]:
    return tuple(
        Sweep(name=f"q{i}", revolute=True, lower=-half * DEG, upper=half * DEG, step=step_deg * DEG)
        for i, half in enumerate(PAPER, 1)
    )


def all_points(points: Cloud) -> np.ndarray:
    return np.concatenate([block.copy() for block in points.blocks()])


@pytest.mark.parametrize(("factor", "half_open", "closed"), [(15, 5184, 8281), (30, 324, 784), (90, 4, 36)])
def test_counts_are_those_of_equation_18_and_with_the_ends_those_of_a_closed_grid(
    factor: float, half_open: int, closed: int
) -> None:
    chain, _ = arm("lynx6-4axis")
    for which, expected in ((False, half_open), (True, closed)):
        points = cloud(chain, paper_sweeps(factor), closed=which)
        assert points.points == expected == len(all_points(points))


def test_each_link_has_the_paper_s_number_of_points() -> None:
    chain, _ = arm("lynx6-4axis")
    segments = cloud(chain, paper_sweeps(15), closed=False).segments()
    assert [segment.points for segment in segments] == [12, 72, 432, 5184]


def test_step_two_closed_is_the_seventeen_million_point_cloud_and_step_one_half_open_the_paper_s_largest() -> None:
    assert count(paper_sweeps(2), closed=True) == 17_522_596
    assert count(paper_sweeps(1), closed=False) == 262_440_000


@pytest.mark.parametrize("name", ARMS)
def test_every_point_of_every_segment_is_forward_kinematics_of_its_joint_values(name: str) -> None:
    robot = hil.load_robot(name)
    chain, ranges = arm(name)
    sweeps = sweeps_of(ranges, step_rad=120 * DEG)
    for i, segment in enumerate(cloud(chain, sweeps).segments(), 1):
        values = [sweep.values(closed=True) for sweep in sweeps]
        q = np.array([*product(*values[:i])])
        q = np.hstack([q, np.zeros((len(q), robot.dof - i))])
        frame = -1 if i == robot.dof else i
        points = all_points(segment)
        assert points.shape == (len(q), 3)
        some = np.linspace(0, len(q) - 1, 40, dtype=int)
        assert points[some] == pytest.approx(robot.link_frames(q[some])[:, frame, :3, 3], abs=1e-12)


@settings(max_examples=40)
@given(
    lower=st.floats(-3.0, 3.0),
    width=st.floats(0.0, 6.0),
    step=st.floats(1e-3, 7.0),
)
def test_a_sweep_begins_low_rises_by_its_step_and_closed_ends_high(lower: float, width: float, step: float) -> None:
    sweep = Sweep(name="q", revolute=True, lower=lower, upper=lower + width, step=step)
    closed, half_open = sweep.values(closed=True), sweep.values(closed=False)
    assert (len(closed), len(half_open)) == (sweep.closed, sweep.half_open)
    assert closed[0] == half_open[0] == sweep.lower
    assert closed[-1] == sweep.upper
    if not sweep.held:
        assert half_open[-1] < sweep.upper
        assert (np.diff(closed) > 0).all()
        assert np.diff(closed).max() <= step * (1 + 1e-6)


def test_blocks_are_of_one_buffer_and_memory_does_not_grow_with_the_cloud() -> None:
    chain, _ = arm("lynx6-4axis")
    tracemalloc.start()
    try:
        peaks = []
        for step in (6, 3):
            tracemalloc.reset_peak()
            points = cloud(chain, paper_sweeps(step))
            assert sum(len(block) for block in points.blocks()) == points.points
            peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    assert max(peaks) < 10 * BLOCK * 24


def test_a_joint_with_very_many_values_is_a_cloud_like_any_other() -> None:
    chain, _ = arm("planar-2r")
    sweeps = [
        Sweep(name="a", revolute=True, lower=0.0, upper=1.0, step=0.5),
        Sweep(name="b", revolute=True, lower=0.0, upper=1.0, step=1e-5),
    ]
    assert sum(len(block) for block in cloud(chain, sweeps).blocks()) == 3 * 100_001


def test_an_arm_that_is_held_still_is_one_point() -> None:
    chain, ranges = arm("puma560")
    points = all_points(cloud(chain, sweeps_of(ranges, step_rad=0.1, moved=())))
    assert points == pytest.approx(hil.load_robot("puma560").forward_kinematics([0.0] * 6)[np.newaxis, :3, 3])


def test_progress_is_told_to_the_last_point() -> None:
    chain, _ = arm("lynx6-4axis")
    told: list[int] = []
    points = cloud(chain, paper_sweeps(5))
    bounds = points.bounds(told.append)
    assert told == sorted(told) and told[-1] == points.points
    assert bounds.lower_m == pytest.approx(all_points(points).min(axis=0), abs=1e-15)
    assert bounds.upper_m == pytest.approx(all_points(points).max(axis=0), abs=1e-15)


@pytest.mark.parametrize("name", ARMS)
def test_no_point_is_farther_from_the_base_than_the_corrected_equation_20(name: str) -> None:
    chain, ranges = arm(name)
    sweeps = sweeps_of(ranges, step_rad=90 * DEG)
    away = np.linalg.norm(all_points(cloud(chain, sweeps)) - np.array(chain.base[9:]), axis=1)
    assert away.max() <= farthest_m(chain, sweeps) + 1e-12


def test_the_bound_is_exact_for_the_lynx6_and_right_with_an_offset_where_the_printed_one_is_too_small() -> None:
    chain, ranges = arm("lynx6-4axis")
    sweeps = sweeps_of(ranges, step_rad=30 * DEG)
    assert farthest_m(chain, sweeps) == pytest.approx(0.1106 + 0.12 + 0.12 + 0.15)
    assert np.linalg.norm(all_points(cloud(chain, sweeps)), axis=1).max() == pytest.approx(farthest_m(chain, sweeps))
    a1 = 0.1
    offset = Chain((chain.rows[0]._replace(a=a1), *chain.rows[1:]), chain.base, chain.tool)
    fine = sweeps_of(ranges, step_rad=6 * DEG)
    reached = np.linalg.norm(all_points(cloud(offset, fine)), axis=1).max()
    assert math.hypot(0.5006, a1) < reached <= farthest_m(offset, fine)


def test_a_roll_about_an_axis_through_the_tool_point_is_known_not_to_move_it() -> None:
    assert moving_joints(*arm("lynx6")) == (0, 1, 2, 3)
    assert moving_joints(*arm("puma560")) == (0, 1, 2)
    assert moving_joints(*arm("adept-cobra600")) == (0, 1, 2)
    assert moving_joints(*arm("panda")) == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize("name", ["lynx6-4axis", "stanford", "panda", "ur5"])
def test_sweeps_for_a_voxel_keep_to_the_number_of_points_and_go_round_once(name: str) -> None:
    chain, ranges = arm(name)
    moved = moving_joints(chain, ranges)
    sweeps = sweeps_for_voxel(chain, ranges, 0.03, moved=moved, most_points=1_000_000)
    assert 250_000 < count(sweeps, closed=True) <= 1_000_000
    assert all(sweep.upper - sweep.lower <= 2 * math.pi + 1e-12 for sweep in sweeps if sweep.revolute)
    assert all(sweep.held == (i not in moved) for i, sweep in enumerate(sweeps))


def test_any_place_has_a_point_as_near_as_promised() -> None:
    chain, ranges = arm("lynx6-4axis")
    sweeps = sweeps_of(ranges, step_rad=20 * DEG)
    points = all_points(cloud(chain, sweeps))
    q = np.random.default_rng(3).uniform([r.lower for r in ranges], [r.upper for r in ranges], (50, 4))
    for place in hil.load_robot("lynx6-4axis").forward_kinematics(q)[:, :3, 3]:
        assert np.linalg.norm(points - place, axis=1).min() <= nearness_m(chain, sweeps, closed=True)


def test_the_usual_step_is_the_finest_that_keeps_the_cloud_small() -> None:
    _, ranges = arm("lynx6-4axis")
    assert nice_step_rad(ranges, (0, 1, 2, 3), 37**4) == pytest.approx(5 * DEG)
    assert nice_step_rad(ranges, (0, 1, 2, 3), 37**4 - 1) == pytest.approx(6 * DEG)


def test_a_revolute_joint_without_limits_goes_once_round_and_a_slide_without_limits_is_refused() -> None:
    assert sweeps_of([Range("q", True, -math.inf, math.inf)], step_rad=1.0)[0].upper == math.pi
    assert sweeps_of([Range("q", True, 1.0, math.inf)], step_rad=1.0)[0].upper == 1.0 + 2 * math.pi
    with pytest.raises(CommandError, match="slide has no limits"):
        sweeps_of([Range("z", False, 0.0, math.inf)], step_rad=1.0)


@pytest.mark.parametrize("step", [0.0, -1.0, math.nan, math.inf, 1e-9])
def test_a_step_that_is_no_step_is_refused_with_the_joint_s_name(step: float) -> None:
    with pytest.raises(CommandError, match="elbow"):
        Sweep(name="elbow", revolute=True, lower=-1.0, upper=1.0, step=step)


@pytest.mark.parametrize("ends", [(1.0, 0.0), (math.nan, 1.0), (0.0, math.inf)])
def test_a_range_that_is_no_range_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(CommandError, match="finite"):
        Sweep(name="elbow", revolute=True, lower=ends[0], upper=ends[1], step=0.1)


def test_too_many_points_and_too_few_sweeps_are_refused() -> None:
    chain, ranges = arm("ur5")
    with pytest.raises(CommandError, match="larger step"):
        cloud(chain, sweeps_of(ranges, step_rad=1 * DEG))
    with pytest.raises(CommandError, match="one per joint"):
        cloud(chain, paper_sweeps(15))
