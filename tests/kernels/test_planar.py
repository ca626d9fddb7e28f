"""Closed form of planar arms with two and three joints, and of the two links that other families share."""

from __future__ import annotations

import math

import numpy as np
import pytest
from closed_forms import (
    ANGLES,
    FLIPS,
    OFFSETS,
    SIGNED_LENGTHS,
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

from hil.kernels.chain import forward
from hil.kernels.planar import PlanarArm, recognise, two_links
from hil.kernels.scalar import FLOATS
from hil.kinematics.certified import all_solutions


def named(name: str) -> PlanarArm:
    form = recognise(chain_named(name))
    assert form is not None
    return form


@st.composite
def arms(draw: st.DrawFn) -> PlanarArm:
    count = draw(st.sampled_from([2, 3]))
    rows = [(OFFSETS, SIGNED_LENGTHS, FLIPS)] * (count - 1) + [(OFFSETS, OFFSETS, ANGLES)]
    form = recognise(drawn_chain(draw, rows))
    if form is None:
        # The tool point of two joints can lie on the second axis by chance: then there is no second link.
        return named("planar-2r")
    return form


def test_only_two_or_three_parallel_turning_axes_are_recognised() -> None:
    others = ["puma560", "stanford", "lynx6", "adept-cobra600", "panda", "ur5", "al5d"]
    assert all(recognise(chain_named(name)) is None for name in others)
    assert [named(name).family for name in ("planar-2r", "planar-3r")] == ["planar 2R", "planar 3R"]


@given(name=st.sampled_from(["planar-2r", "planar-3r"]), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_random_and_hard_configurations_come_back(name: str, seed: int) -> None:
    form = named(name)
    for q in (*random_configurations(form.chain, 5, seed), *hard_configurations(form.chain, 5, seed)):
        assert_pose_comes_back(form, q.tolist())


@given(form=arms(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_every_drawn_planar_arm_returns_its_configuration(form: PlanarArm, data: st.DataObject) -> None:
    count = len(form.chain.rows)
    assert_pose_comes_back(form, data.draw(st.lists(ANGLES, min_size=count, max_size=count)))


def test_the_elbow_of_a_positive_angle_is_down() -> None:
    for name, q in (("planar-2r", (0.3, 0.8)), ("planar-3r", (0.3, 0.8, -0.2))):
        form = named(name)
        solutions = {s.branch: s.q for s in all_solutions(form, forward(form.chain, q, FLOATS), (0.0,) * len(q))}
        assert solutions["elbow down"] == pytest.approx(q, abs=1e-12)


def test_two_joints_take_of_all_orientations_at_a_point_only_two() -> None:
    form = named("planar-2r")
    first = forward(form.chain, (0.3, 0.8), FLOATS)
    other = forward(form.chain, (1.1, -0.8), FLOATS)
    assert first[9:] == pytest.approx(other[9:], abs=1e-12)
    assert [b.exists >= 0.0 for b in form.solve(first, (0.0, 0.0), FLOATS)] == [True, False]
    assert [b.exists >= 0.0 for b in form.solve(other, (0.0, 0.0), FLOATS)] == [False, True]
    turned = forward(
        form.chain._replace(
            tool=(math.cos(0.1), math.sin(0.1), 0.0, -math.sin(0.1), math.cos(0.1), 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
        ),
        (0.3, 0.8),
        FLOATS,
    )
    down, up = form.solve(turned, (0.0, 0.0), FLOATS)
    assert down.exists == pytest.approx(-0.1, abs=1e-12)
    assert up.exists == pytest.approx(-0.9, abs=1e-12)
    assert down.q == pytest.approx((0.3, 0.8), abs=1e-12)


def test_a_point_off_the_plane_is_lacking_by_its_height() -> None:
    for name in ("planar-2r", "planar-3r"):
        form = named(name)
        q = (0.3, 0.8, -0.2)[: len(form.chain.rows)]
        pose = list(forward(form.chain, q, FLOATS))
        pose[11] += 0.02
        assert max(b.exists for b in form.solve(tuple(pose), q, FLOATS)) == pytest.approx(-0.02, abs=1e-12)


def test_three_joints_folded_onto_the_shoulder_keep_the_first_at_rest() -> None:
    form = named("planar-3r")
    q = (0.7, math.pi, 0.4)
    branches = form.solve(forward(form.chain, q, FLOATS), (1.9, 0.0, 0.0), FLOATS)
    assert all(b.free >= 0.0 and b.exists >= 0.0 and b.q[0] == pytest.approx(1.9) for b in branches)
    assert_pose_comes_back(form, q)


@given(
    first=st.floats(0.05, 1.0),
    second=st.floats(0.05, 1.0),
    elbow=st.one_of(ANGLES, st.sampled_from([0.0, math.pi, 1e-12, 1e-9, 1e-7, math.pi - 1e-9])),
    bearing=ANGLES,
)
@settings(max_examples=200, deadline=None)
def test_two_links_end_where_they_shall(first: float, second: float, elbow: float, bearing: float) -> None:
    x = first * math.cos(bearing) + second * math.cos(bearing + elbow)
    y = first * math.sin(bearing) + second * math.sin(bearing + elbow)
    reach = two_links(first, second, x, y, FLOATS)
    assert reach.margin_m >= -1e-15
    for bend in (1.0, -1.0):
        shoulder = reach.bearing - bend * reach.spread
        end = shoulder + bend * reach.elbow
        assert first * math.cos(shoulder) + second * math.cos(end) == pytest.approx(x, abs=1e-14)
        assert first * math.sin(shoulder) + second * math.sin(end) == pytest.approx(y, abs=1e-14)


def test_floats_arrays_and_emitted_code_agree() -> None:
    for name in ("planar-2r", "planar-3r"):
        form = named(name)
        wanted = frame_of_arrays(form.chain, random_configurations(form.chain, 40))
        assert_same_for_every_scalar(form, wanted, [0.1, -0.2, 0.3][: len(form.chain.rows)])


def test_no_pose_gives_anything_that_is_not_finite() -> None:
    for name in ("planar-2r", "planar-3r"):
        assert_finite_everywhere(named(name), np.random.default_rng(4))
