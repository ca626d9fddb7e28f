"""The closed form of the Lynx6 family for full poses: nothing missing, nothing wrong, the same for every scalar."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from closed_forms import (
    ANGLES,
    FLIPS,
    LENGTHS,
    OFFSETS,
    QUARTERS,
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

import hil
from hil.kernels.chain import Frame, forward, link_frames
from hil.kernels.scalar import FLOATS
from hil.kernels.yaw_pitch_form import YawPitchForm, recognise

FAMILY = [
    "al5d",
    "crs-a255",
    "l6-terzakis",
    "lynx6",
    "lynx6-4axis",
    "lynx6-alu",
    "lynx6-kinect",
    "rhino-xr3",
    "rv2aj",
    "rv2aj-seed",
    "teachmover",
]
Array = npt.NDArray[np.float64]


def form_of(name: str) -> YawPitchForm:
    form = recognise(chain_named(name))
    assert form is not None
    return form


@st.composite
def arms(draw: st.DrawFn) -> YawPitchForm:
    rows = [
        (OFFSETS, OFFSETS, QUARTERS),
        (OFFSETS, LENGTHS, FLIPS),
        (OFFSETS, LENGTHS, FLIPS),
        (OFFSETS, OFFSETS, QUARTERS),
        (OFFSETS, OFFSETS, ANGLES),
    ]
    form = recognise(drawn_chain(draw, rows if draw(st.booleans()) else rows[:4]))
    assert form is not None
    return form


def coordinates_of(form: YawPitchForm, thetas: Array) -> Array:
    result: Array = np.array([(v - row.theta) * row.sign for row, v in zip(form.chain.rows, thetas.T, strict=True)]).T
    return result


def on_the_axis(form: YawPitchForm, generator: np.random.Generator, size: int, tool_along_it: bool = False) -> Array:
    """Configurations with the hand's point on the yaw axis, exactly or by any power of ten beside it."""
    thetas = generator.uniform(-math.pi, math.pi, (size, len(form.chain.rows)))
    beside = np.where(generator.random(size) < 0.4, 0.0, 10.0 ** generator.uniform(-15, -4, size))
    beside *= generator.choice([-1.0, 1.0], size)
    arm = form.plane
    elbow = arm.turn3 * thetas[:, 2]
    phi = generator.choice([0.0, math.pi], size) + beside
    moving = arm.a2_m + arm.a3_m * np.exp(1j * elbow)
    fixed = complex(*form.tail) * np.exp(1j * phi)
    if not tool_along_it:
        moving = moving + complex(*form.tail) * np.exp(1j * (elbow + arm.turn4 * thetas[:, 3]))
        fixed = 0.0 * fixed
    cosine = (beside - arm.a1_m - fixed.real) / np.abs(moving)
    thetas[:, 1] = generator.choice([-1.0, 1.0], size) * np.arccos(np.clip(cosine, -1, 1)) - np.angle(moving)
    if tool_along_it:
        thetas[:, 3] = arm.turn4 * (phi - thetas[:, 1] - elbow)
    return coordinates_of(form, thetas[np.abs(cosine) < 1.0])


def test_the_family_is_recognised_from_its_dh_table_and_nothing_else_is() -> None:
    assert [name for name in hil.list_robots() if recognise(chain_named(name)) is not None] == FAMILY


def test_a_form_names_its_branches_and_its_family() -> None:
    form = form_of("lynx6")
    assert form.branches == ("front, elbow up", "front, elbow down", "back, elbow up", "back, elbow down")
    assert form.family == "yaw and three parallel pitch axes, and a roll axis"


@pytest.mark.parametrize("name", FAMILY)
def test_every_configuration_is_among_the_answers_to_its_pose(name: str) -> None:
    form = form_of(name)
    for q in random_configurations(form.chain, 100).tolist():
        assert_pose_comes_back(form, q)


@pytest.mark.parametrize("name", FAMILY)
def test_straight_and_folded_elbows_and_tools_in_line_come_back(name: str) -> None:
    form = form_of(name)
    for q in hard_configurations(form.chain, 100).tolist():
        assert_pose_comes_back(form, q)


@pytest.mark.parametrize("name", FAMILY)
def test_a_hand_on_or_beside_the_yaw_axis_comes_back(name: str) -> None:
    form = form_of(name)
    for q in on_the_axis(form, np.random.default_rng(3), 80).tolist():
        assert_pose_comes_back(form, q)


@pytest.mark.parametrize("name", [name for name in FAMILY if name not in ("al5d", "lynx6-4axis")])
def test_a_tool_along_the_yaw_axis_comes_back_or_leaves_the_yaw_as_it_is(name: str) -> None:
    form = form_of(name)
    for q in on_the_axis(form, np.random.default_rng(4), 80, tool_along_it=True).tolist():
        # Point and tool may both know the yaw to few digits only; nobody can tell more from the pose.
        assert_pose_comes_back(form, q, near=1e-5)


@pytest.mark.parametrize("name", FAMILY)
def test_configurations_at_the_limits_come_back(name: str) -> None:
    model = hil.load_robot(name).model
    lower = np.array([-math.pi if j.lower is None else j.lower for j in model.joints])
    upper = np.array([math.pi if j.upper is None else j.upper for j in model.joints])
    at_upper = np.random.default_rng(5).random((32, model.dof)) < 0.5
    for q in np.where(at_upper, upper, lower).tolist():
        assert_pose_comes_back(form_of(name), q)


@settings(max_examples=40)
@given(arms(), st.integers(0, 2**32 - 1))
def test_any_offsets_base_tool_and_senses_of_rotation_are_solved(form: YawPitchForm, seed: int) -> None:
    for q in random_configurations(form.chain, 3, seed).tolist():
        assert_pose_comes_back(form, q)
    for q in on_the_axis(form, np.random.default_rng(seed), 3).tolist():
        assert_pose_comes_back(form, q)


@pytest.mark.parametrize("name", ["lynx6", "lynx6-4axis", "al5d", "rhino-xr3"])
def test_floats_arrays_and_emitted_code_give_the_same_branches(name: str) -> None:
    form = form_of(name)
    q = np.vstack([hard_configurations(form.chain, 30), on_the_axis(form, np.random.default_rng(6), 30)])
    assert_same_for_every_scalar(form, frame_of_arrays(form.chain, q), [0.3] * len(form.chain.rows))


@pytest.mark.parametrize("name", ["lynx6", "al5d"])
def test_poses_within_and_out_of_reach_and_of_any_size_give_finite_branches(name: str) -> None:
    assert_finite_everywhere(form_of(name), np.random.default_rng(7))


@pytest.mark.parametrize("name", ["lynx6", "rv2aj"])
def test_an_upright_arm_keeps_the_yaw_that_its_pose_leaves_open(name: str) -> None:
    form = form_of(name)
    thetas = np.array([[0.7, math.pi / 2, 0.0, -form.plane.turn4 * math.pi / 2, 0.2], [-0.3, 0.0, 0.0, 0.0, 0.0]])
    q, rest = coordinates_of(form, thetas).tolist()
    wanted = forward(form.chain, q, FLOATS)
    for branch in form.solve(wanted, rest, FLOATS)[:2]:
        assert branch.free >= 0.0
        assert branch.q[0] == pytest.approx(rest[0])
        assert forward(form.chain, branch.q, FLOATS) == pytest.approx(wanted, abs=1e-10)


def test_a_forearm_folded_onto_the_shoulder_keeps_the_shoulder() -> None:
    form = form_of("lynx6")
    wanted = forward(form.chain, [0.4, 0.9, math.pi, 0.3, 0.2], FLOATS)
    branch = form.solve(wanted, [0.0, 0.25, 0.0, 0.0, 0.0], FLOATS)[0]
    assert branch.free >= 0.0
    assert branch.q[1] == pytest.approx(0.25)
    assert forward(form.chain, branch.q, FLOATS) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("name", ["lynx6", "lynx6-4axis", "rhino-xr3"])
def test_an_orientation_that_the_axes_cannot_take_has_no_branch(name: str) -> None:
    form = form_of(name)
    c, s = math.cos(0.01), math.sin(0.01)
    for q in random_configurations(form.chain, 20).tolist():
        x0, x1, x2, y0, y1, y2, z0, z1, z2, px, py, pz = forward(form.chain, q, FLOATS)
        turned = (c * x0 - s * x1, s * x0 + c * x1, x2, c * y0 - s * y1, s * y0 + c * y1, y2)
        wanted: Frame = (*turned, c * z0 - s * z1, s * z0 + c * z1, z2, px, py, pz)
        assert all(branch.exists < 0.0 for branch in form.solve(wanted, q, FLOATS))


def test_a_wrist_out_of_reach_lacks_what_it_is_too_far() -> None:
    form = form_of("lynx6")
    frames = link_frames(form.chain, [0.3, 1.0, 0.0, -0.4, 0.0], FLOATS)
    shoulder, wrist = np.array(frames[1][9:]), np.array(frames[3][9:])
    outwards = (wrist - shoulder) / np.linalg.norm(wrist - shoulder)
    lacking = []
    for beyond_m in (0.001, 0.01, 0.1):
        x, y, z = (np.array(frames[-1][9:]) + beyond_m * outwards).tolist()
        branch = form.solve((*frames[-1][:9], x, y, z), [0.0] * 5, FLOATS)[0]
        assert branch.exists == pytest.approx(-beyond_m, abs=1e-6)
        lacking.append(-branch.exists)
    assert all(left < right for left, right in pairwise(lacking))
