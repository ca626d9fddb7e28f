"""The closed form of six axes with a spherical wrist, on every bundled arm and on arms drawn at random."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.kernels import spherical_wrist, stanford
from hil.kernels.chain import (
    IDENTITY,
    Chain,
    Frame,
    Row,
    append_row,
    chain_of,
    compose,
    forward,
    invert,
    link_frames,
)
from hil.kernels.closed_form import Branch, ClosedForm
from hil.kernels.emit_python import python_function
from hil.kernels.routine import Argument, draft
from hil.kernels.scalar import ARRAYS, FLOATS
from hil.kernels.spherical_wrist import Elbow, SphericalWristArm
from hil.model.transforms import cos_sin

ELBOWED = [
    "abb-irb120",
    "abb-irb140",
    "abb-irb1600-6-1.2",
    "abb-irb2400-12-1.55",
    "abb-irb4400l-30-2.43",
    "fanuc-lrmate200ic",
    "fanuc-m10ia",
    "fanuc-r1000ia-80f",
    "kuka-kr-5-sixx-r650",
    "kuka-kr-5-sixx-r850",
    "kuka-kr16-2",
    "kuka-kr5-arc",
    "kuka-kr6-r900-sixx",
    "mitsubishi-rv4fl",
    "mitsubishi-rv7fl",
    "motoman-mh5",
    "puma560",
    "staubli-tx60",
    "staubli-tx90",
    "vrm-abbirb120",
    "vrm-abbirb1410",
    "vrm-abbirb2400",
    "vrm-abbirb4400l30",
    "vrm-abbirb6620",
    "vrm-abbirb6650",
    "vrm-epsonc3a60ct",
    "vrm-fanucm10ia",
    "vrm-fanucr1000i",
    "vrm-fanucr2000i",
    "vrm-fanucs430",
    "vrm-kukakr210ultra",
    "vrm-kukakr5",
    "vrm-kukakr5sixx",
    "vrm-kukakr62",
    "vrm-puma560",
]
SLIDING = ["stanford"]
ARMS = {
    name: recognise(chain_of(hil.load_robot(name).model))
    for recognise, names in ((spherical_wrist.recognise, ELBOWED), (stanford.recognise, SLIDING))
    for name in names
}

OFFSETS = np.tile([0.0, 1e-15, -1e-12, 1e-9, 1e-8, -1e-6, 1e-3], 6)
"""How far from a singular posture, radians or metres: on it, within the noise, near it."""

CERTIFIED = 1e-9
NOISE = 1e-12
SAME = 1e-5
"""A root of the rounding error, times the length of an arm over that of the shortest lever."""


def arm(name: str) -> SphericalWristArm:
    found = ARMS[name]
    assert found is not None
    return found


def poses(chain: Chain, q: np.ndarray) -> Frame:
    """Tool frames of N configurations, as twelve arrays."""
    frame = forward(chain, list(q.T), ARRAYS)
    return tuple(np.broadcast_to(value, len(q)) for value in frame)  # type: ignore[return-value]


def solve(form: ClosedForm, frame: Frame, rest: np.ndarray) -> list[Branch]:
    with np.errstate(all="raise", under="ignore"):
        return form.solve(frame, list(rest.T), ARRAYS)


def shape_of(branches: list[Branch], count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q (branch, N, 6), exists and free (branch, N)."""
    q = np.array([[np.broadcast_to(v, count) for v in branch.q] for branch in branches]).transpose(0, 2, 1)
    return q, np.array([b.exists for b in branches]), np.array([b.free for b in branches])


def errors(chain: Chain, q: np.ndarray, frame: Frame) -> np.ndarray:
    """The larger of metres and radians between what `q` reaches and `frame`."""
    reached = poses(chain, q)
    squares = [(a - b) ** 2 for a, b in zip(reached, frame, strict=True)]
    return np.maximum(np.sqrt(sum(squares[9:])), np.sqrt(0.5 * sum(squares[:9])))


def apart(form: ClosedForm, q: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Largest difference of a joint, whole turns left out."""
    turning = np.array([row.revolute for row in form.chain.rows])
    difference = q - other
    wrapped = np.where(turning, np.remainder(difference + np.pi, 2 * np.pi) - np.pi, difference)
    return np.asarray(np.abs(wrapped).max(-1))


def check(form: ClosedForm, q: np.ndarray, rest: np.ndarray, accepted: float = CERTIFIED) -> np.ndarray:
    """All branches are certified; answers how far the nearest branch is from the generating configurations."""
    frame = poses(form.chain, q)
    solutions, exists, free = shape_of(solve(form, frame, rest), len(q))
    assert len(solutions) == len(form.branches) == 8
    assert np.isfinite(solutions).all() and np.isfinite(exists).all() and np.isfinite(free).all()
    for solution, there in zip(solutions, exists >= 0.0, strict=True):
        assert (errors(form.chain, solution, frame)[there] <= accepted).all()
    return np.where(exists >= 0.0, apart(form, solutions, q), np.inf).min(0)


def configurations(form: SphericalWristArm, count: int, seed: int) -> np.ndarray:
    q = np.random.default_rng(seed).uniform(-math.pi, math.pi, (count, 6))
    if not form.chain.rows[2].revolute:
        q[:, 2] = np.sign(q[:, 2]) * 0.2 + q[:, 2] / 4.0
    return q


def set_theta(form: ClosedForm, q: np.ndarray, joint: int, theta: np.ndarray | float) -> None:
    row = form.chain.rows[joint]
    q[:, joint] = (theta - row.theta) * row.sign


def straighten(form: SphericalWristArm, q: np.ndarray, off: np.ndarray | float, folded: bool = False) -> None:
    """Put the elbow straight, or folded, but for `off`; a boom at the length that its wrist can have least."""
    plane = form.plane
    if isinstance(plane, Elbow):
        straight = -math.atan2(plane.fore[1], plane.fore[0]) + (math.pi if folded else 0.0)
        set_theta(form, q, 2, plane.turn * straight + off)
    else:
        q[:, 2] = off


def line_up(form: SphericalWristArm, q: np.ndarray, off: np.ndarray | float) -> None:
    """Put axes 4 and 6 in line but for `off`, every second time folded."""
    set_theta(form, q, 4, np.arange(len(q)) % 2 * math.pi + off)


def wrist_in_plane(form: SphericalWristArm, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Place of the wrist's centre in the plane, seen from the shoulder."""
    frame: Frame = IDENTITY
    first = form.chain.rows[0]
    for row, value in zip(form.chain.rows[:4], [np.full(len(q), -first.theta * first.sign), *q.T[1:4]], strict=True):
        frame = append_row(frame, row, value, ARRAYS)
    return frame[9] - first.a, first.sin_alpha * (frame[11] - first.d)


def bring_over_axis(form: SphericalWristArm, q: np.ndarray, off: np.ndarray | float) -> np.ndarray:
    """Turn joint 2 so that the wrist's centre is in line with the yaw axis but for `off`; says where it can be."""
    x, y = wrist_in_plane(form, q)
    length = np.hypot(x, y)
    wanted = off - form.chain.rows[0].a
    possible = length > np.abs(wanted) + 1e-3
    turn = np.arccos(np.clip(wanted / np.maximum(length, 1e-9), -1.0, 1.0)) - np.arctan2(y, x)
    q[:, 1] += np.where(possible, turn * form.chain.rows[1].sign, 0.0)
    return possible


def test_the_arms_of_the_family_are_recognised_from_their_dh_tables_and_no_others() -> None:
    chains = {name: chain_of(hil.load_robot(name).model) for name in hil.list_robots()}
    assert [name for name, chain in chains.items() if spherical_wrist.recognise(chain)] == ELBOWED
    assert [name for name, chain in chains.items() if stanford.recognise(chain)] == SLIDING
    assert {"ur5", "panda", "pa10-7", "lynx6", "rv2aj", "adept-cobra600"} <= set(chains)


@pytest.mark.parametrize("name", ARMS)
def test_every_branch_reaches_the_pose_and_the_generating_configuration_is_among_them(name: str) -> None:
    form = arm(name)
    q = configurations(form, 200, 1)
    rest = configurations(form, 200, 2)
    assert (check(form, q, rest, NOISE) < SAME).all()


@pytest.mark.parametrize("name", ARMS)
def test_each_branch_of_a_pose_leads_back_to_the_same_branches(name: str) -> None:
    form = arm(name)
    q = configurations(form, 10, 3)
    rest = np.zeros_like(q)
    solutions, exists, _ = shape_of(solve(form, poses(form.chain, q), rest), len(q))
    for number, (solution, there) in enumerate(zip(solutions, exists >= 0.0, strict=True)):
        again, _, _ = shape_of(solve(form, poses(form.chain, solution), rest), len(q))
        assert (apart(form, again[number], solution)[there] < SAME).all()


@pytest.mark.parametrize("name", ARMS)
def test_wrist_axes_in_line_lose_nothing(name: str) -> None:
    form = arm(name)
    q = configurations(form, len(OFFSETS), 4)
    line_up(form, q, OFFSETS)
    assert (check(form, q, q) < SAME).all()
    check(form, q, configurations(form, len(OFFSETS), 5))


@pytest.mark.parametrize("name", ELBOWED)
def test_a_straight_elbow_loses_nothing(name: str) -> None:
    form = arm(name)
    q = configurations(form, len(OFFSETS), 6)
    straighten(form, q, OFFSETS)
    assert (check(form, q, q, NOISE) < SAME).all()


@pytest.mark.parametrize("name", ELBOWED)
def test_a_folded_elbow_loses_nothing(name: str) -> None:
    form = arm(name)
    q = configurations(form, len(OFFSETS), 7)
    straighten(form, q, OFFSETS, folded=True)
    nearest = check(form, q, q)
    # The wrist's centre then is `inner` from the shoulder's axis, 5 um on one arm: so much more does noise turn it.
    lever_m = abs(form.plane.inner_m) or 1.0  # type: ignore[attr-defined]
    assert (nearest < max(SAME, 100.0 * math.sqrt(2.0 * spherical_wrist.BLUR_M / lever_m))).all()


@pytest.mark.parametrize("name", ARMS)
def test_a_wrist_over_the_yaw_axis_loses_nothing(name: str) -> None:
    form = arm(name)
    q = configurations(form, len(OFFSETS), 8)
    possible = bring_over_axis(form, q, OFFSETS)
    assert possible.any()
    assert (check(form, q, q)[possible] < SAME).all()
    check(form, q, configurations(form, len(OFFSETS), 9))


@pytest.mark.parametrize("name", ARMS)
def test_singular_in_several_ways_at_once_still_gives_the_configuration_at_rest(name: str) -> None:
    form = arm(name)
    q = configurations(form, 40, 10)
    straighten(form, q, 0.0)
    line_up(form, q, 0.0)
    over = q.copy()
    possible = bring_over_axis(form, over, 0.0)
    assert (check(form, q, q) < SAME).all()
    assert (check(form, over, over)[possible] < SAME).all()
    check(form, over, configurations(form, 40, 11))


@pytest.mark.parametrize("folded", [False, True])
def test_a_limit_of_the_elbow_over_the_axis_of_an_arm_with_two_shoulder_offsets_is_not_lost(folded: bool) -> None:
    rows = list(arm("staubli-tx90").chain.rows)
    rows[0] = rows[0]._replace(a=1.0)
    rows[1] = rows[1]._replace(d=0.95, a=1.6 if folded else 1.1)
    form = spherical_wrist.recognise(Chain(tuple(rows), IDENTITY, None))
    assert form is not None
    for off in (0.0, 1e-9, 3e-9, 1e-8, -3e-8, 5e-8, 7e-8, -1e-7, 1.5e-7, -2e-7, 3e-7, 1e-6):
        q = configurations(form, 200, 20)
        straighten(form, q, 0.0, folded)
        assert bring_over_axis(form, q, off).all() or folded
        assert np.isfinite(check(form, q, np.zeros_like(q))).all()


@pytest.mark.parametrize("difference_m", [1e-10, 3e-9, 1e-8, 5e-7, -5e-7, 1e-6, 1e-4])
@pytest.mark.parametrize("ahead_m", [0.0, 0.3])
@pytest.mark.parametrize("across_m", [0.0, 0.02, -1.0])
def test_a_forearm_folded_to_all_but_nothing_is_not_lost(difference_m: float, ahead_m: float, across_m: float) -> None:
    q90 = math.pi / 2
    rows = (
        row(q90, a=ahead_m),
        row(0.0, d=across_m, a=0.7),
        row(q90, a=0.7 + difference_m),
        row(q90),
        row(-q90),
        row(0.0, d=0.1),
    )
    form = spherical_wrist.recognise(Chain(rows, IDENTITY, None))
    assert form is not None
    q = configurations(form, 20 * len(OFFSETS), 21)
    straighten(form, q, np.tile(OFFSETS, 20), folded=True)
    assert np.isfinite(check(form, q, np.zeros_like(q))).all()
    line_up(form, q, np.repeat(OFFSETS, 20))
    assert np.isfinite(check(form, q, np.zeros_like(q))).all()


@pytest.mark.parametrize("name", ["abb-irb140", "puma560", "staubli-tx90", "vrm-kukakr62", "stanford"])
def test_what_a_singular_pose_leaves_open_is_flagged_and_taken_from_rest(name: str) -> None:
    form = arm(name)
    q = configurations(form, 30, 12)
    line_up(form, q, 0.0)
    rest = configurations(form, 30, 13)
    solutions, exists, free = shape_of(solve(form, poses(form.chain, q), rest), 30)
    flagged = (free >= 0.0) & (exists >= 0.0)
    assert flagged.any(0).all()
    turned = np.remainder(solutions[..., 3] - rest[:, 3] + 0.5, np.pi) - 0.5
    assert turned[flagged] == pytest.approx(0.0, abs=1e-12)
    generic = configurations(form, 30, 14)
    assert (shape_of(solve(form, poses(form.chain, generic), rest), 30)[2] < 0.0).all()


def test_over_the_yaw_axis_joint_1_stays_at_rest_or_half_a_turn_from_it() -> None:
    form = arm("abb-irb140")
    q = configurations(form, 40, 15)
    q = q[bring_over_axis(form, q, 0.0)]
    rest = np.full_like(q, 0.3)
    solutions, exists, free = shape_of(solve(form, poses(form.chain, q), rest), len(q))
    assert (free >= 0.0).all()
    assert solutions[:4, :, 0] == pytest.approx(0.3)
    assert solutions[4:, :, 0] == pytest.approx(0.3 + math.pi)
    assert (exists >= 0.0).all(1).any()


@pytest.mark.parametrize("name", ELBOWED)
def test_out_of_reach_the_orientation_is_kept_and_the_shortfall_told(name: str) -> None:
    form = arm(name)
    q = configurations(form, 30, 16)
    frame = poses(form.chain, q)
    far = (*frame[:9], *(np.full(30, value) for value in (9.0, -7.0, 5.0)))
    solutions, exists, _ = shape_of(solve(form, far, np.zeros_like(q)), 30)
    assert (exists < 0.0).all()
    for solution, short in zip(solutions, -exists, strict=True):
        reached = poses(form.chain, solution)
        missed = np.sqrt(sum((a - b) ** 2 for a, b in zip(reached[9:], far[9:], strict=True)))
        assert missed == pytest.approx(short, abs=2e-9)
        assert np.max([np.abs(a - b) for a, b in zip(reached[:9], far[:9], strict=True)]) < NOISE


@pytest.mark.parametrize("name", ["puma560", "staubli-tx90", "vrm-puma560", "stanford"])
def test_a_point_nearer_to_the_yaw_axis_than_the_shoulder_offset_is_out_of_reach(name: str) -> None:
    form = arm(name)
    after = invert(form.after_inverse)
    for aside in (0.0, 1e-12, 0.5, 1.0 - 1e-6):
        wrist = (*IDENTITY[:9], aside * abs(form.across_m), 0.0, 0.3)
        wanted = compose(invert(form.base_inverse), compose(wrist, after))
        for branch in form.solve(wanted, [0.1] * 6, FLOATS):
            assert branch.exists <= -(1.0 - aside) * abs(form.across_m) + 2e-9
            reached = forward(form.chain, branch.q, FLOATS)
            assert reached[:9] == pytest.approx(wanted[:9], abs=NOISE)
            assert math.dist(reached[9:], wanted[9:]) == pytest.approx(-branch.exists, abs=2e-9)


@pytest.mark.parametrize("name", ["puma560", "abb-irb120", "staubli-tx60"])
def test_a_wrist_on_the_shoulder_is_out_of_reach_by_the_inner_radius(name: str) -> None:
    form = arm(name)
    first = form.chain.rows[0]
    for x, z in ((0.0, 0.0), (1e-13, -1e-14), (1e-5, 1e-4)):
        wrist = (*IDENTITY[:9], first.a + x, form.across_m, first.d + z)
        wanted = compose(invert(form.base_inverse), compose(wrist, invert(form.after_inverse)))
        for branch in form.solve(wanted, [0.1] * 6, FLOATS):
            reached = forward(form.chain, branch.q, FLOATS)
            assert reached[:9] == pytest.approx(wanted[:9], abs=NOISE)
            assert math.dist(reached[9:], wanted[9:]) == pytest.approx(-branch.exists, abs=2e-9)


@pytest.mark.parametrize("name", ELBOWED)
def test_the_names_of_the_branches_say_where_wrist_and_elbow_are(name: str) -> None:
    form = arm(name)
    assert len(set(form.branches)) == 8
    q = configurations(form, 20, 17)
    solutions, exists, _ = shape_of(solve(form, poses(form.chain, q), np.zeros_like(q)), 20)
    for words, solution, there in zip(form.branches, solutions, exists >= 0.0, strict=True):
        frames = link_frames(form.chain._replace(base=IDENTITY), list(solution[there].T), ARRAYS)
        base_up = form.chain.base[8]
        first, second, fourth = frames[1], frames[2], frames[4]
        yaw = form.chain.rows[0].theta + form.chain.rows[0].sign * solution[there, 0]
        outward = np.cos(yaw), np.sin(yaw)
        along = fourth[9] * outward[0] + fourth[10] * outward[1]
        assert ((along > 0) == words.startswith("front")).all()
        out = [f[9] * outward[0] + f[10] * outward[1] for f in (first, second, fourth)]
        height = [np.broadcast_to(base_up * f[11], there.sum()) for f in (first, second, fourth)]
        side = 1.0 if words.startswith("front") else -1.0
        beyond = side * (out[2] - out[0]) > 1e-3
        line = height[0] + (height[2] - height[0]) / (out[2] - out[0]) * (out[1] - out[0])
        assert ((height[1] > line) == ("elbow up" in words))[beyond].all()
        q5 = solution[there, 4]
        fifth = form.chain.rows[4]
        if fifth.theta == 0.0:
            assert ((np.sin(q5) > 0.0) == ("not flipped" in words)).all()


@pytest.mark.parametrize("name", ["puma560", "abb-irb140", "staubli-tx90", "mitsubishi-rv4fl", "stanford"])
def test_floats_arrays_and_emitted_code_agree(name: str) -> None:
    form = arm(name)

    def body(pose: Sequence[object], rest: Sequence[object], functions: object) -> dict[str, object]:
        branches = form.solve(tuple(pose), rest, functions)
        return {
            "q": ((len(branches), 6), [value for branch in branches for value in branch.q], "rad"),
            "state": ((len(branches), 2), [v for b in branches for v in (b.exists, b.free)], "m"),
        }

    emitted = python_function(
        draft("inverse", "All branches.", [Argument("pose", 12, "tool"), Argument("rest", 6, "rad")], body)
    )
    q = configurations(form, 12, 18)
    line_up(form, q[:4], 0.0)
    straighten(form, q[2:6], 0.0)
    bring_over_axis(form, q[5:8], 0.0)
    rest = configurations(form, 12, 19)
    frame = poses(form.chain, q)
    solutions, exists, free = shape_of(solve(form, frame, rest), len(q))
    for i in range(len(q)):
        wanted = tuple(float(value[i]) for value in frame)
        single = form.solve(wanted, rest[i].tolist(), FLOATS)
        straight_line, state = emitted(wanted, rest[i].tolist())
        assert np.array([b.exists for b in single]) == pytest.approx(exists[:, i], abs=1e-12)
        assert np.array([b.free for b in single]) == pytest.approx(free[:, i], abs=1e-12)
        assert np.array(state) == pytest.approx(np.array([exists[:, i], free[:, i]]).T, abs=1e-12)
        assert (apart(form, np.array([b.q for b in single]), solutions[:, i]) < SAME).all()
        assert (apart(form, np.array(straight_line), solutions[:, i]) < SAME).all()


QUARTERS = st.sampled_from([math.pi / 2, -math.pi / 2])
ANGLES = st.floats(-math.pi, math.pi, allow_subnormal=False)
# No arm has an offset of nanometres, which the rounding of a metre would drown.
LENGTHS = st.one_of(st.just(0.0), st.floats(1e-3, 1.0), st.floats(-1.0, -1e-3))
ARM_LENGTHS = st.one_of(st.floats(0.1, 1.0), st.floats(-1.0, -0.1))


def row(
    alpha: float, theta: float = 0.0, d: float = 0.0, a: float = 0.0, sign: float = 1.0, slides: bool = False
) -> Row:
    return Row(not slides, theta, d, a, sign, *cos_sin(theta), *cos_sin(alpha))


@st.composite
def transforms(draw: st.DrawFn) -> Frame:
    frame: Frame = IDENTITY
    for _ in range(2):
        frame = append_row(frame, row(draw(ANGLES), draw(ANGLES), draw(LENGTHS), draw(LENGTHS)), 0.0, FLOATS)
    return frame


@st.composite
def wrists(draw: st.DrawFn, d4: st.SearchStrategy[float]) -> list[Row]:
    signs = st.sampled_from([1.0, -1.0])
    return [
        row(draw(QUARTERS), draw(ANGLES), draw(d4), 0.0, draw(signs)),
        row(draw(QUARTERS), draw(ANGLES), 0.0, 0.0, draw(signs)),
        row(draw(ANGLES), draw(ANGLES), draw(LENGTHS), draw(LENGTHS), draw(signs)),
    ]


@st.composite
def elbowed(draw: st.DrawFn) -> Chain:
    signs = st.sampled_from([1.0, -1.0])
    rows = (
        row(draw(QUARTERS), draw(ANGLES), draw(LENGTHS), draw(LENGTHS), draw(signs)),
        row(draw(st.sampled_from([0.0, math.pi])), draw(ANGLES), draw(LENGTHS), draw(ARM_LENGTHS), draw(signs)),
        row(draw(st.one_of(QUARTERS, ANGLES)), draw(ANGLES), draw(LENGTHS), draw(ARM_LENGTHS), draw(signs)),
        *draw(wrists(LENGTHS)),
    )
    return Chain(rows, draw(transforms()), draw(st.one_of(st.none(), transforms())))


@st.composite
def sliding(draw: st.DrawFn) -> Chain:
    signs = st.sampled_from([1.0, -1.0])
    rows = (
        row(draw(QUARTERS), draw(ANGLES), draw(LENGTHS), draw(LENGTHS), draw(signs)),
        row(draw(QUARTERS), draw(ANGLES), draw(LENGTHS), draw(LENGTHS), draw(signs)),
        row(draw(ANGLES), draw(ANGLES), draw(LENGTHS), draw(LENGTHS), draw(signs), slides=True),
        *draw(wrists(LENGTHS)),
    )
    return Chain(rows, draw(transforms()), draw(st.one_of(st.none(), transforms())))


@given(elbowed() | sliding(), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_any_arm_of_the_structure_is_solved_whatever_its_offsets_signs_base_and_tool(chain: Chain, seed: int) -> None:
    form = spherical_wrist.recognise(chain) or stanford.recognise(chain)
    assert form is not None
    q = configurations(form, 20, seed)
    nearest = check(form, q, np.zeros_like(q))
    # One in a while lands beside a singular posture by itself.
    assert (np.sort(nearest)[:-1] < 1e-4).all() and np.isfinite(nearest).all()


@given(elbowed() | sliding(), st.integers(0, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_any_arm_of_the_structure_is_certified_in_singular_postures(chain: Chain, which: int, seed: int) -> None:
    form = spherical_wrist.recognise(chain) or stanford.recognise(chain)
    assert form is not None
    q = configurations(form, 20, seed)
    if which % 3 == 0:
        line_up(form, q, 0.0)
    if which % 2 == 0:
        straighten(form, q, 0.0, folded=which == 4)
    if which > 2:
        bring_over_axis(form, q, 0.0)
    assert np.isfinite(check(form, q, configurations(form, 20, seed + 1))).all()


@given(elbowed() | sliding(), st.integers(0, 3), st.floats(0.01, 1.0))
@settings(max_examples=40, deadline=None)
def test_an_arm_outside_the_structure_is_not_recognised(chain: Chain, which: int, much: float) -> None:
    joint, changes = [
        (0, {"cos_alpha": math.cos(much), "sin_alpha": math.sin(much)}),
        (3, {"a": much}),
        (4, {"a": much}),
        (4, {"d": much}),
    ][which]
    rows = list(chain.rows)
    rows[joint] = rows[joint]._replace(**changes)
    for changed in (tuple(rows), chain.rows[:5], (*chain.rows, chain.rows[5])):
        assert spherical_wrist.recognise(chain._replace(rows=changed)) is None
        assert stanford.recognise(chain._replace(rows=changed)) is None
