"""Closed form of arms with three parallel axes, as UR: all eight branches, in easy and in hard poses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from closed_forms import (
    ANGLES,
    FLIPS,
    OFFSETS,
    QUARTERS,
    SIGNED_LENGTHS,
    ZERO,
    apart,
    assert_finite_everywhere,
    assert_pose_comes_back,
    assert_same_for_every_scalar,
    chain_named,
    drawn_chain,
    frame_of_arrays,
    hard_configurations,
    random_configurations,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.kernels.chain import IDENTITY, forward, link_frames
from hil.kernels.parallel_axes import ParallelAxesArm, recognise
from hil.kernels.scalar import FLOATS
from hil.kinematics.certified import all_solutions


def ur5() -> ParallelAxesArm:
    form = recognise(chain_named("ur5"))
    assert form is not None
    return form


@st.composite
def arms(draw: st.DrawFn) -> ParallelAxesArm:
    chain = drawn_chain(
        draw,
        [
            (OFFSETS, OFFSETS, QUARTERS),
            (OFFSETS, SIGNED_LENGTHS, FLIPS),
            (OFFSETS, SIGNED_LENGTHS, FLIPS),
            (OFFSETS, OFFSETS, QUARTERS),
            (OFFSETS, ZERO, QUARTERS),
            (OFFSETS, OFFSETS, ANGLES),
        ],
    )
    form = recognise(chain)
    assert form is not None
    return form


def test_only_arms_with_three_parallel_axes_and_square_wrists_are_recognised() -> None:
    others = ["puma560", "stanford", "lynx6", "adept-cobra600", "planar-3r", "panda", "kuka-kr5-arc"]
    assert all(recognise(chain_named(name)) is None for name in others)
    assert ur5().family == "six axes, three of them parallel"


def test_the_eight_branches_have_eight_names_that_say_what_is_seen() -> None:
    form = recognise(chain_named("ur5")._replace(base=IDENTITY))
    assert form is not None
    assert len(set(form.branches)) == 8
    up = np.array([0.0, 0.0, 1.0])
    for q in random_configurations(form.chain, 60):
        pose = forward(form.chain, q.tolist(), FLOATS)
        for solution in all_solutions(form, pose, q.tolist()):
            frames = link_frames(form.chain, solution.q, FLOATS)
            shoulder, elbow, fore, wrist = (np.array(frames[i][9:]) for i in (1, 2, 3, 5))
            outward = np.array(frames[1][:3])
            facing = outward if outward @ wrist > 0.0 else -outward
            assert ("left" in solution.branch) == (float(np.cross(up, facing) @ wrist) > 0.0)
            assert ("wrist flipped" in solution.branch) == (solution.q[4] < 0.0)
            line = fore - shoulder
            if line @ facing > 0.0:
                above = (elbow - shoulder) - line * ((elbow - shoulder) @ line) / (line @ line)
                assert ("elbow up" in solution.branch) == (above[2] > 0.0)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_every_configuration_of_a_ur5_comes_back(seed: int) -> None:
    form = ur5()
    for q in random_configurations(form.chain, 4, seed):
        assert_pose_comes_back(form, q.tolist())


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_hard_configurations_of_a_ur5_come_back(seed: int) -> None:
    form = ur5()
    for q in hard_configurations(form.chain, 4, seed):
        # With straight elbow and wrist in line at once, a digit of the pose is worth the root of it in the joints.
        assert_pose_comes_back(form, q.tolist(), near=2e-2)


@given(form=arms(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_every_drawn_arm_of_the_family_returns_its_configuration(form: ParallelAxesArm, data: st.DataObject) -> None:
    q = data.draw(st.lists(ANGLES, min_size=6, max_size=6))
    assert_pose_comes_back(form, q, near=2e-3)


def test_a_pose_in_the_middle_of_the_work_space_has_eight_different_answers() -> None:
    form = ur5()
    pose = forward(form.chain, (0.3, -1.2, 1.4, -0.9, 1.1, 0.4), FLOATS)
    solutions = all_solutions(form, pose, (0.0,) * 6)
    assert sorted(s.branch for s in solutions) == sorted(form.branches)


@pytest.mark.parametrize("beside", [0.0, 1e-13, -1e-11, 1e-9, 1e-7, -1e-5])
@pytest.mark.parametrize("bend", [0.0, math.pi])
def test_a_wrist_in_line_keeps_the_last_joint_at_rest_where_it_is_free(bend: float, beside: float) -> None:
    form = ur5()
    q = (0.4, -1.0, 1.3, 0.5, bend + beside, 0.7)
    branches = form.solve(forward(form.chain, q, FLOATS), q, FLOATS)
    free = [b for b in branches if b.free >= 0.0]
    assert bool(free) == (abs(beside) < 1e-10)
    assert all(math.remainder(b.q[5] - 0.7, 2 * math.pi) == pytest.approx(0.0, abs=1e-9) for b in free if b.exists >= 0)
    assert_pose_comes_back(form, q)


@pytest.mark.parametrize("rest6", [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
def test_a_free_last_joint_leaves_rest_as_far_as_the_elbow_needs(rest6: float) -> None:
    form = ur5()
    stretched = (0.4, -0.3, 0.0, 0.2, 0.0, 0.7)
    pose = forward(form.chain, stretched, FLOATS)
    solutions = all_solutions(form, pose, (0.0, 0.0, 0.0, 0.0, 0.0, rest6))
    free = [s for s in solutions if s.note]
    assert free
    assert all(s.error <= 1e-9 for s in solutions)
    assert all("J6" in s.note for s in free)


def test_a_wrist_beside_the_first_axis_nearer_than_the_plane_is_out_of_reach_by_that_much() -> None:
    form = ur5()
    q = (0.4, -1.0, 1.3, 0.5, 0.8, 0.7)
    pose = forward(form.chain, q, FLOATS)
    wrist = form.ends.between(pose)
    radius = math.hypot(wrist[9], wrist[10])
    near = 0.9 * abs(form.across_m)
    shift = [wrist[9] * (near / radius - 1.0), wrist[10] * (near / radius - 1.0)]
    base = form.chain.base
    moved = [pose[9 + i] + base[i] * shift[0] + base[3 + i] * shift[1] for i in range(3)]
    branches = form.solve((*pose[:9], *moved), q, FLOATS)
    assert max(b.exists for b in branches) == pytest.approx(-0.1 * abs(form.across_m), abs=1e-12)


@pytest.mark.parametrize("beside", [0.0, 1e-14, -1e-10, 1e-7])
def test_a_wrist_right_where_the_plane_passes_the_first_axis_is_reached(beside: float) -> None:
    form = recognise(chain_named("ur5")._replace(base=IDENTITY))
    assert form is not None
    for q in random_configurations(form.chain, 20):
        q[:2] = 0.0
        wrist = form.ends.between(forward(form.chain, q.tolist(), FLOATS))
        q[1] = math.pi / 2 - math.atan2(wrist[11] - form.chain.rows[0].d, wrist[9]) + beside
        wrist = form.ends.between(forward(form.chain, q.tolist(), FLOATS))
        assert math.hypot(wrist[9], wrist[10]) == pytest.approx(abs(form.across_m), abs=1e-9)
        assert_pose_comes_back(form, q.tolist(), near=1e-5)


def test_floats_arrays_and_emitted_code_agree() -> None:
    form = ur5()
    rest = [0.1, -0.2, 0.3, -0.4, 0.5, -0.6]
    assert_same_for_every_scalar(form, frame_of_arrays(form.chain, random_configurations(form.chain, 40)), rest)


def test_no_pose_gives_anything_that_is_not_finite() -> None:
    assert_finite_everywhere(ur5(), np.random.default_rng(4))


def test_answers_do_not_depend_on_the_sense_in_which_links_are_measured() -> None:
    form = ur5()
    assert form.upper_rad == math.pi
    q = (0.2, -0.7, 0.9, 0.1, 0.6, -0.3)
    solutions = all_solutions(form, forward(form.chain, q, FLOATS), q)
    assert min(apart(form.chain, s.q, q) for s in solutions) < 1e-12
