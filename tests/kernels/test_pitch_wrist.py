"""The closed form of yaw, two pitch axes, forearm roll and wrist bend, as the Pioneer 2 arm has them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from closed_forms import (
    ANGLES,
    FLIPS,
    LENGTHS,
    OFFSETS,
    QUARTERS,
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
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hil
from hil.kernels.chain import Chain, forward
from hil.kernels.pitch_wrist import PitchWristForm, recognise
from hil.kernels.scalar import FLOATS

Array = npt.NDArray[np.float64]
PIONEER = chain_named("pioneer2-arm")
KINDS = ["anyhow", "nearly straight or folded", "near the axis", "both"]
ROLLS = ["anyhow", "bend axis out of the plane", "bend axis in the plane"]


def form_of(chain: Chain) -> PitchWristForm:
    form = recognise(chain)
    assert form is not None
    return form


def beside(generator: np.random.Generator, size: int) -> Array:
    """Often 0, else any power of ten from rounding up, with either sign."""
    amounts = np.where(generator.random(size) < 0.4, 0.0, 10.0 ** generator.uniform(-15, -3, size))
    result: Array = amounts * generator.choice([-1.0, 1.0], size)
    return result


def hard(form: PitchWristForm, kind: str, roll: str, generator: np.random.Generator, size: int) -> Array:
    """Configurations (N, 5) with the wrist point on the yaw axis, the elbow straight, or both, or nearly so."""
    arm = form.plane
    thetas = generator.uniform(-math.pi, math.pi, (size, 5))
    if roll != "anyhow":
        first = 0.0 if roll == "bend axis out of the plane" else math.pi / 2
        thetas[:, 3] = first + generator.choice([0.0, math.pi], size) + beside(generator, size)
    if kind in ("nearly straight or folded", "both"):
        elbow = generator.choice([0.0, math.pi], size) + beside(generator, size)
        thetas[:, 2] = arm.turn3 * (elbow - form.forearm_rad)
    possible = np.ones(size, dtype=bool)
    if kind in ("near the axis", "both"):
        wrist = arm.a2_m + arm.a3_m * np.exp(1j * (arm.turn3 * thetas[:, 2] + form.forearm_rad))
        cosine = (beside(generator, size) - arm.a1_m) / np.abs(wrist)
        possible = np.abs(cosine) < 1.0
        thetas[:, 1] = generator.choice([-1.0, 1.0], size) * np.arccos(np.clip(cosine, -1, 1)) - np.angle(wrist)
    q = [(v - row.theta) * row.sign for row, v in zip(form.chain.rows, thetas.T, strict=True)]
    result: Array = np.array(q).T[possible]
    return result


@st.composite
def arms(draw: st.DrawFn) -> PitchWristForm:
    rows = [
        (OFFSETS, OFFSETS, QUARTERS),
        (ZERO, LENGTHS, FLIPS),
        (ZERO, OFFSETS, QUARTERS),
        (LENGTHS, ZERO, QUARTERS),
        (OFFSETS, OFFSETS, ANGLES),
    ]
    form = recognise(drawn_chain(draw, rows))
    assume(form is not None)
    assert form is not None
    return form


def test_only_arms_of_this_structure_are_recognised() -> None:
    assert [name for name in hil.list_robots() if recognise(chain_named(name)) is not None] == [
        "pioneer2-arm",
        "vrm-abbirb2400-5axis",
    ]
    form = form_of(PIONEER)
    assert form.branches == ("front, elbow up", "front, elbow down", "back, elbow up", "back, elbow down")


def test_every_configuration_is_among_the_answers_to_its_pose() -> None:
    for q in [*random_configurations(PIONEER, 300).tolist(), *hard_configurations(PIONEER, 300).tolist()]:
        assert_pose_comes_back(form_of(PIONEER), q)


@pytest.mark.parametrize("roll", ROLLS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_hard_configuration_has_a_right_answer_near_it(kind: str, roll: str) -> None:
    form = form_of(PIONEER)
    # Two angles that a pose gives to half of all digits each can, together, hide a thousandth of a radian.
    near = 1e-3 if kind == "both" else 1e-5
    for q in hard(form, kind, roll, np.random.default_rng(2), 60).tolist():
        assert_pose_comes_back(form, q, near)


def test_configurations_at_the_limits_come_back() -> None:
    joints = hil.load_robot("pioneer2-arm").model.joints
    lower = [-math.pi if j.lower is None else j.lower for j in joints]
    upper = [math.pi if j.upper is None else j.upper for j in joints]
    for q in np.where(np.random.default_rng(3).random((32, 5)) < 0.5, lower, upper).tolist():
        assert_pose_comes_back(form_of(PIONEER), q)


@settings(max_examples=30)
@given(arms(), st.integers(0, 2**32 - 1))
def test_any_offsets_base_tool_and_senses_of_rotation_are_solved(form: PitchWristForm, seed: int) -> None:
    for q in random_configurations(form.chain, 3, seed).tolist():
        assert_pose_comes_back(form, q)


def test_floats_arrays_and_emitted_code_give_the_same_branches() -> None:
    q = np.vstack([random_configurations(PIONEER, 20), hard_configurations(PIONEER, 40)])
    assert_same_for_every_scalar(form_of(PIONEER), frame_of_arrays(PIONEER, q), [0.3] * 5)


def test_poses_within_and_out_of_reach_and_of_any_size_give_finite_branches() -> None:
    assert_finite_everywhere(form_of(PIONEER), np.random.default_rng(7))


def test_a_forearm_along_the_yaw_axis_leaves_the_yaw_as_it_is() -> None:
    form = form_of(PIONEER)
    arm = form.plane
    upright = math.pi / 2
    shoulder = math.acos(-arm.a1_m / arm.a2_m)
    thetas = np.array([[0.6, shoulder, arm.turn3 * (upright - form.forearm_rad - shoulder), 0.4, 0.3]])
    q = [(v - row.theta) * row.sign for row, v in zip(PIONEER.rows, thetas[0], strict=True)]
    wanted = forward(PIONEER, q, FLOATS)
    rest = [-1.1 * PIONEER.rows[0].sign - PIONEER.rows[0].theta, 0.0, 0.0, 0.0, 0.0]
    open_ones = [branch for branch in form.solve(wanted, rest, FLOATS) if branch.free >= 0.0 and branch.exists >= 0.0]
    assert any(branch.q[0] == pytest.approx(rest[0]) for branch in open_ones)
    for branch in open_ones:
        assert forward(PIONEER, branch.q, FLOATS) == pytest.approx(wanted, abs=1e-10)


def test_a_pose_that_five_axes_cannot_take_and_one_out_of_reach_have_no_branch() -> None:
    form = form_of(PIONEER)
    c, s = math.cos(0.3), math.sin(0.3)
    for q in random_configurations(PIONEER, 30).tolist():
        x0, x1, x2, y0, y1, y2, z0, z1, z2, px, py, pz = forward(PIONEER, q, FLOATS)
        tilted_z = (c * z0 - s * x0, c * z1 - s * x1, c * z2 - s * x2)
        tilted = (c * x0 + s * z0, c * x1 + s * z1, c * x2 + s * z2, y0, y1, y2, *tilted_z, px, py, pz)
        far = (x0, x1, x2, y0, y1, y2, z0, z1, z2, px + 1.0, py, pz)
        for wanted in (tilted, far):
            assert all(branch.exists < 0.0 for branch in form.solve(wanted, q, FLOATS))
