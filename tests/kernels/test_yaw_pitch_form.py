"""The closed form of the Lynx6 family for full poses: nothing missing, nothing wrong, the same for every scalar."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.kernels.chain import Chain, Frame, Row, chain_of, exact_cos_sin, forward
from hil.kernels.closed_form import ClosedForm
from hil.kernels.scalar import ARRAYS, FLOATS
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
OTHERS = ["adept-cobra600", "pioneer2-arm", "planar-3r", "puma560", "stanford", "panda"]
Array = npt.NDArray[np.float64]


def form_of(name: str) -> YawPitchForm:
    form = recognise(chain_of(hil.load_robot(name).model))
    assert form is not None
    return form


def apart(left: Array, right: Array) -> Array:
    """Largest joint difference per configuration, whole turns aside."""
    result: Array = np.abs(np.remainder(left - right + np.pi, 2 * np.pi) - np.pi).max(axis=-1)
    return result


def poses_of(chain: Chain, q: Array) -> Frame:
    """A frame of arrays: forward kinematics of each row of `q`."""
    frame: Any = tuple(np.broadcast_to(v, len(q)) for v in forward(chain, list(q.T), ARRAYS))
    return frame  # type: ignore[no-any-return]


def one_of(frame: Frame, index: int) -> Frame:
    """One frame of floats out of a frame of arrays."""
    values: Any = tuple(float(v[index]) for v in frame)
    return values  # type: ignore[no-any-return]


def moved(frame: Frame, by_m: Array) -> Frame:
    return (*frame[:9], frame[9] + by_m[0], frame[10] + by_m[1], frame[11] + by_m[2])


def pose_errors(chain: Chain, q: Array, wanted: Frame) -> Array:
    reached = poses_of(chain, q)
    gaps = np.array([a - b for a, b in zip(reached, wanted, strict=True)])
    result: Array = np.maximum(np.sqrt((gaps[9:] ** 2).sum(axis=0)), np.sqrt(0.5 * (gaps[:9] ** 2).sum(axis=0)))
    return result


def assert_every_answer_right_and_none_missing(form: ClosedForm, q: Array, same_rad: float = 1e-6) -> None:
    """All poses of `q` (N, n) have right answers only, and `q` among them, or one that is free."""
    wanted = poses_of(form.chain, q)
    found, free, answers = np.zeros(len(q), dtype=bool), np.zeros(len(q), dtype=bool), np.zeros(len(q))
    for branch in form.solve(wanted, [np.zeros(len(q))] * q.shape[1], ARRAYS):
        answer = np.array([np.broadcast_to(v, len(q)) for v in branch.q]).T
        assert np.isfinite(answer).all()
        right = (branch.exists >= 0.0) & (pose_errors(form.chain, answer, wanted) <= 1e-9)
        answers += right
        found |= right & (apart(answer, q) < same_rad)
        free |= right & (np.broadcast_to(branch.free, len(q)) >= 0.0)
    assert (answers > 0).all()
    assert (found | free).all()


def thetas_of(form: YawPitchForm, q: Array) -> Array:
    result: Array = np.array([row.theta + row.sign * v for row, v in zip(form.chain.rows, q.T, strict=True)]).T
    return result


def coordinates_of(form: YawPitchForm, thetas: Array) -> Array:
    result: Array = np.array([(v - row.theta) * row.sign for row, v in zip(form.chain.rows, thetas.T, strict=True)]).T
    return result


def hard(form: YawPitchForm, kind: str, generator: np.random.Generator, size: int) -> Array:
    """Configurations at the edges of the family, exactly on them and by powers of ten beside them."""
    thetas = generator.uniform(-math.pi, math.pi, (size, len(form.chain.rows)))
    beside = np.where(generator.random(size) < 0.4, 0.0, 10.0 ** generator.uniform(-15, -4, size))
    beside *= generator.choice([-1.0, 1.0], size)
    plane = form.plane
    if kind in ("straight", "folded"):
        thetas[:, 2] = (0.0 if kind == "straight" else math.pi) + beside
        return coordinates_of(form, thetas)
    # The hand on the yaw axis, with the tool anyhow or (for a roll axis) along the yaw axis.
    elbow = plane.turn3 * thetas[:, 2]
    wrist = plane.a2_m + plane.a3_m * np.exp(1j * elbow)
    if kind == "on the axis":
        turning = wrist + complex(*form.tail) * np.exp(1j * (elbow + plane.turn4 * thetas[:, 3]))
        fixed = np.zeros(size)
        phi = None
    else:
        phi = generator.choice([0.0, math.pi], size) + 10.0 ** generator.uniform(-15, -4, size)
        turning, fixed = wrist, (complex(*form.tail) * np.exp(1j * phi)).real
    cosine = (beside - plane.a1_m - fixed) / np.abs(turning)
    thetas[:, 1] = generator.choice([-1.0, 1.0], size) * np.arccos(np.clip(cosine, -1, 1)) - np.angle(turning)
    if phi is not None:
        thetas[:, 3] = plane.turn4 * (phi - thetas[:, 1] - elbow)
    return coordinates_of(form, thetas[np.abs(cosine) < 1.0])


def test_the_family_is_recognised_from_its_dh_table_and_nothing_else_is() -> None:
    assert all(recognise(chain_of(hil.load_robot(name).model)) is not None for name in FAMILY)
    assert all(recognise(chain_of(hil.load_robot(name).model)) is None for name in OTHERS)


@pytest.mark.parametrize("name", FAMILY)
def test_a_form_names_its_branches_and_its_family(name: str) -> None:
    form: ClosedForm = form_of(name)
    assert form.branches == ("front, elbow up", "front, elbow down", "back, elbow up", "back, elbow down")
    assert "pitch" in form.family


@pytest.mark.parametrize("name", FAMILY)
def test_every_random_configuration_is_among_the_answers_to_its_pose(name: str) -> None:
    form = form_of(name)
    q = np.random.default_rng(1).uniform(-math.pi, math.pi, (200, len(form.chain.rows)))
    assert_every_answer_right_and_none_missing(form, q)


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("kind", ["straight", "folded", "on the axis", "along the axis"])
def test_every_hard_configuration_is_among_the_answers_to_its_pose(name: str, kind: str) -> None:
    form = form_of(name)
    if kind == "along the axis" and form.roll is None:
        return
    # A yaw known to 1e-10 only, where point and tool axis both leave it almost open, is all that a pose can tell.
    same_rad = 1e-4 if kind == "along the axis" else 1e-5
    assert_every_answer_right_and_none_missing(form, hard(form, kind, np.random.default_rng(2), 60), same_rad)


@pytest.mark.parametrize("name", FAMILY)
def test_configurations_at_the_limits_are_among_the_answers(name: str) -> None:
    model = hil.load_robot(name).model
    generator = np.random.default_rng(3)
    lower = np.array([-math.pi if j.lower is None else j.lower for j in model.joints])
    upper = np.array([math.pi if j.upper is None else j.upper for j in model.joints])
    q = np.where(generator.random((64, model.dof)) < 0.5, lower, upper)
    assert_every_answer_right_and_none_missing(form_of(name), q)


def arm(
    offsets_m: tuple[float, ...], signs: tuple[float, ...], flips: tuple[int, ...], thetas: tuple[float, ...]
) -> Chain:
    """An arm of the family with any offsets, directions and a tilted base."""
    quarter = math.pi / 2
    alphas = (flips[0] * quarter, 0.0 if flips[1] > 0 else math.pi, 0.0 if flips[2] > 0 else math.pi)
    rows = [
        Row(True, theta, d, a, sign, *exact_cos_sin(theta), *exact_cos_sin(alpha))
        for theta, d, a, sign, alpha in zip(
            thetas,
            (0.1, *offsets_m[:3], 0.07),
            (offsets_m[3], 0.2, 0.15, offsets_m[4], offsets_m[5]),
            signs,
            (*alphas, flips[3] * quarter, 0.3),
            strict=True,
        )
    ]
    c, s = math.cos(0.4), math.sin(0.4)
    base: Frame = (c, 0.0, -s, 0.0, 1.0, 0.0, s, 0.0, c, 0.1, -0.2, 0.3)
    tool: Frame = (1.0, 0.0, 0.0, 0.0, c, s, 0.0, -s, c, 0.01, 0.02, 0.03)
    return Chain(tuple(rows), base, tool)


directions = st.sampled_from((-1, 1))


@settings(max_examples=30)
@given(
    st.tuples(*[st.sampled_from((-0.04, 0.0, 0.03))] * 6),
    st.tuples(*[directions] * 5),
    st.tuples(*[directions] * 4),
    st.tuples(*[st.floats(-3.0, 3.0)] * 5),
    st.integers(0, 2**32 - 1),
)
def test_any_offsets_base_tool_and_joint_directions_are_solved(
    offsets_m: tuple[float, ...],
    signs: tuple[float, ...],
    flips: tuple[int, ...],
    thetas: tuple[float, ...],
    seed: int,
) -> None:
    chain = arm(offsets_m, signs, flips, thetas)
    form = recognise(chain)
    assert form is not None
    generator = np.random.default_rng(seed)
    assert_every_answer_right_and_none_missing(form, generator.uniform(-math.pi, math.pi, (20, 5)), 1e-5)
    assert_every_answer_right_and_none_missing(form, hard(form, "on the axis", generator, 20), 1e-5)


@pytest.mark.parametrize("name", ["lynx6", "lynx6-4axis", "al5d", "rhino-xr3"])
def test_each_element_of_arrays_is_answered_as_floats_are(name: str) -> None:
    form = form_of(name)
    generator = np.random.default_rng(4)
    n = len(form.chain.rows)
    q = np.vstack(
        [
            generator.uniform(-3, 3, (30, n)),
            hard(form, "straight", generator, 30),
            hard(form, "on the axis", generator, 30),
        ]
    )
    wanted, rest = poses_of(form.chain, q), generator.uniform(-1, 1, q.shape)
    many = form.solve(wanted, list(rest.T), ARRAYS)
    for i in range(len(q)):
        for branch, one in zip(many, form.solve(one_of(wanted, i), rest[i].tolist(), FLOATS), strict=True):
            row = [float(np.broadcast_to(v, len(q))[i]) for v in branch.q]
            assert apart(np.array(row), np.array(one.q)) < 1e-12
            assert float(np.broadcast_to(branch.exists, len(q))[i]) == pytest.approx(one.exists, abs=1e-12)
            assert float(np.broadcast_to(branch.free, len(q))[i]) == pytest.approx(one.free, abs=1e-12)


@pytest.mark.parametrize("name", ["lynx6", "rv2aj"])
def test_what_a_singular_pose_leaves_open_stays_as_it_is(name: str) -> None:
    form = form_of(name)
    thetas = np.array([0.7, math.pi / 2, 0.0, 0.0, 0.2])
    thetas[3] = -form.plane.turn4 * thetas[1]
    q = coordinates_of(form, thetas[None])[0]
    rest = coordinates_of(form, np.array([[-0.3, 0.0, 0.0, 0.0, 0.0]]))[0]
    wanted = forward(form.chain, q.tolist(), FLOATS)
    for branch in form.solve(wanted, rest.tolist(), FLOATS)[:2]:
        assert branch.free >= 0.0
        assert branch.q[0] == pytest.approx(rest[0])
        assert forward(form.chain, branch.q, FLOATS) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("name", ["lynx6", "lynx6-4axis", "rhino-xr3"])
def test_an_orientation_that_the_axes_cannot_take_has_no_branch(name: str) -> None:
    form = form_of(name)
    generator = np.random.default_rng(6)
    for q in generator.uniform(-2, 2, (20, len(form.chain.rows))):
        x0, x1, x2, y0, y1, y2, z0, z1, z2, px, py, pz = forward(form.chain, q.tolist(), FLOATS)
        c, s = math.cos(0.01), math.sin(0.01)
        turned = (c * x0 - s * x1, s * x0 + c * x1, x2, c * y0 - s * y1, s * y0 + c * y1, y2)
        wanted = (*turned, c * z0 - s * z1, s * z0 + c * z1, z2, px, py, pz)
        assert all(branch.exists < 0.0 for branch in form.solve(wanted, q.tolist(), FLOATS))


def test_a_wrist_out_of_reach_lacks_what_it_is_too_far() -> None:
    form = form_of("lynx6")
    wanted = forward(form.chain, [0.3, 1.0, 0.0, -0.4, 0.0], FLOATS)
    frames = [forward(Chain(form.chain.rows[:k], form.chain.base, None), [0.3, 1.0, 0.0][:k], FLOATS) for k in (1, 3)]
    (shoulder, wrist) = (np.array(frame[9:]) for frame in frames)
    outwards = (wrist - shoulder) / np.linalg.norm(wrist - shoulder)
    gaps = []
    for beyond_m in (0.001, 0.01, 0.1):
        branch = form.solve(moved(wanted, beyond_m * outwards), [0.0] * 5, FLOATS)[0]
        assert np.isfinite(branch.q).all()
        gaps.append(branch.exists)
        assert branch.exists == pytest.approx(-beyond_m, abs=1e-6)
    assert all(left > right for left, right in pairwise(gaps))
