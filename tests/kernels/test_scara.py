"""Closed form of SCARA arms: every order of the slide, both elbows, folded and straight."""

from __future__ import annotations

import math

import numpy as np
import pytest
from closed_forms import (
    ANGLES,
    FLIPS,
    OFFSETS,
    SIGNED_LENGTHS,
    ZERO,
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

from hil.kernels.chain import compose, forward
from hil.kernels.scalar import FLOATS
from hil.kernels.scara import ScaraArm, recognise
from hil.kinematics.certified import all_solutions


def cobra() -> ScaraArm:
    form = recognise(chain_named("adept-cobra600"))
    assert form is not None
    return form


@st.composite
def arms(draw: st.DrawFn) -> ScaraArm:
    slide = draw(st.integers(0, 3))
    lengths = [SIGNED_LENGTHS, SIGNED_LENGTHS, OFFSETS]
    lengths.insert(slide, ZERO if slide in (1, 2) else OFFSETS)
    rows = [(OFFSETS, length, FLIPS) for length in lengths[:3]]
    form = recognise(drawn_chain(draw, [*rows, (OFFSETS, lengths[3], ANGLES)], slides=[slide]))
    assert form is not None
    return form


def test_only_arms_with_a_slide_along_three_parallel_axes_are_recognised() -> None:
    others = ["puma560", "stanford", "lynx6", "planar-2r", "planar-3r", "panda", "ur5"]
    assert all(recognise(chain_named(name)) is None for name in others)
    assert cobra().branches == ("elbow right", "elbow left")


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_random_and_hard_configurations_of_the_cobra_come_back(seed: int) -> None:
    form = cobra()
    for q in (*random_configurations(form.chain, 5, seed), *hard_configurations(form.chain, 5, seed)):
        assert_pose_comes_back(form, q.tolist())


@given(form=arms(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_slide_may_stand_anywhere_in_the_chain(form: ScaraArm, data: st.DataObject) -> None:
    q = data.draw(st.lists(ANGLES, min_size=4, max_size=4))
    assert_pose_comes_back(form, q)


def test_a_positive_second_angle_is_the_right_elbow() -> None:
    form = cobra()
    solutions = all_solutions(form, forward(form.chain, (0.2, 0.5, 0.1, 0.3), FLOATS), (0.0,) * 4)
    assert {s.branch: s.q[1] > 0.0 for s in solutions} == {"elbow right": True, "elbow left": False}


def test_a_tilted_tool_is_lacking_by_its_angle() -> None:
    form = cobra()
    pose = forward(form.chain, (0.2, 0.5, 0.1, 0.3), FLOATS)
    c, s = math.cos(0.1), math.sin(0.1)
    tilted = compose(pose, (1.0, 0.0, 0.0, 0.0, c, s, 0.0, -s, c, 0.0, 0.0, 0.0))
    assert [b.exists for b in form.solve(tilted, (0.0,) * 4, FLOATS)] == pytest.approx([-0.1, -0.1], abs=1e-12)


def test_a_point_beyond_the_links_is_lacking_by_its_distance() -> None:
    form = cobra()
    pose = list(forward(form.chain, (0.2, 0.0, 0.1, 0.3), FLOATS))
    pose[9] += 0.01 * math.cos(0.2)
    pose[10] += 0.01 * math.sin(0.2)
    assert [b.exists for b in form.solve(tuple(pose), (0.0,) * 4, FLOATS)] == pytest.approx([-0.01] * 2, abs=1e-12)


def test_floats_arrays_and_emitted_code_agree() -> None:
    form = cobra()
    wanted = frame_of_arrays(form.chain, random_configurations(form.chain, 40))
    assert_same_for_every_scalar(form, wanted, [0.1, -0.2, 0.03, -0.4])


def test_no_pose_gives_anything_that_is_not_finite() -> None:
    assert_finite_everywhere(cobra(), np.random.default_rng(4))
