"""Closed forms made safe: checked forwards, limits judged, singular poses noted, the same for one pose and many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import chain_arrays as arrays
import numpy as np
import pytest
from closed_forms import apart, chain_named, hard_configurations, random_configurations

import hil
from hil.kernels.chain import Chain, Frame, compose, forward
from hil.kernels.closed_form import Branch, ClosedForm
from hil.kernels.families import recognise
from hil.kernels.scalar import FLOATS, Functions, Scalar
from hil.kinematics.certified import all_solutions, all_solutions_many, solve_pose
from hil.kinematics.limits import Range, range_of

NAMES = ["ur5", "adept-cobra600", "planar-2r", "planar-3r", "puma560", "stanford", "lynx6"]


def form_of(name: str) -> ClosedForm:
    form = recognise(chain_named(name))
    assert form is not None
    return form


def ranges_of(name: str) -> tuple[Range, ...]:
    return tuple(range_of(joint) for joint in hil.load_robot(name).model.joints)


class Lying(NamedTuple):
    """A form whose branches claim to exist: one right, one wrong, one not a number."""

    chain: Chain
    truth: tuple[float, ...]
    family: str = "made up"
    branches: tuple[str, ...] = ("right", "wrong", "nowhere")

    def solve(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        wrong = tuple(v + 0.1 for v in self.truth)
        return [Branch(q, 0.0, -1.0) for q in (self.truth, wrong, (math.nan,) * len(self.truth))]


def test_what_forward_kinematics_does_not_confirm_is_no_solution() -> None:
    chain = chain_named("puma560")
    q = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    solutions = all_solutions(Lying(chain, q), forward(chain, q, FLOATS), q)
    assert [s.branch for s in solutions] == ["right"]


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_gives_what_single_calls_give(name: str) -> None:
    form = form_of(name)
    configurations = np.vstack([random_configurations(form.chain, 30), hard_configurations(form.chain, 30)])
    poses = arrays.forward_many(form.chain, configurations)
    poses[::7, :3, 3] *= 1.7
    rest = [0.1] * len(form.chain.rows)
    many = all_solutions_many(form, poses, rest)
    assert many.q.shape == (60, len(form.branches), len(form.chain.rows))
    assert np.isfinite(many.q).all()
    for pose, q, valid in zip(poses, many.q, many.valid, strict=True):
        frame: Frame = tuple(pose[:3, :].T.ravel().tolist())  # type: ignore[assignment]
        single = all_solutions(form, frame, rest)
        assert len(single) == valid.sum()
        for row in q[valid].tolist():
            assert min(apart(form.chain, row, s.q) for s in single) < 1e-5


def test_a_slot_of_a_batch_is_always_the_same_posture() -> None:
    form = form_of("ur5")
    path = np.linspace((0.1, -1.0, 1.2, -0.4, 0.9, 0.2), (0.5, -1.3, 1.5, -0.8, 1.2, 0.6), 200)
    many = all_solutions_many(form, arrays.forward_many(form.chain, path))
    slots = np.abs(many.q - path[:, None, :]).max(axis=2).argmin(axis=1)
    assert len(set(slots.tolist())) == 1
    assert many.valid[:, slots[0]].all()


def test_a_batch_longer_than_a_block_and_an_empty_one_are_complete() -> None:
    form = form_of("adept-cobra600")
    poses = arrays.forward_many(form.chain, random_configurations(form.chain, arrays.BLOCK + 7))
    many = all_solutions_many(form, poses)
    assert (many.valid.sum(axis=1) == 2).all()
    assert all_solutions_many(form, poses[:0]).q.shape == (0, 2, 4)


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_s_own_posture_comes_first(name: str) -> None:
    form = form_of(name)
    open_ranges = [r._replace(lower=-math.inf, upper=math.inf) for r in ranges_of(name)]
    for q in random_configurations(form.chain, 20).tolist():
        result = solve_pose(form, open_ranges, forward(form.chain, q, FLOATS), q)
        assert result.ok
        assert result.solutions[0].q == pytest.approx(q, abs=1e-6)


def test_a_joint_that_turns_more_than_once_stays_on_the_seed_s_turn() -> None:
    q = (-5.0, -1.0, 1.2, 4.0, 0.9, 6.0)
    form = form_of("ur5")
    best = solve_pose(form, ranges_of("ur5"), forward(form.chain, q, FLOATS), q).best
    assert best is not None
    assert best.q == pytest.approx(q, abs=1e-9)


def test_solutions_outside_limits_are_listed_and_marked_after_the_others() -> None:
    form = form_of("adept-cobra600")
    q = (0.6, 0.7, 0.1, 0.0)
    result = solve_pose(form, ranges_of("adept-cobra600"), forward(form.chain, q, FLOATS), q)
    assert result.ok
    assert [s.within_limits for s in result.solutions] == [True, False]
    beyond = solve_pose(form, ranges_of("adept-cobra600"), forward(form.chain, (0.0, 1.0, 0.3, 0.0), FLOATS), None)
    assert not beyond.ok
    assert len(beyond.solutions) == 2
    assert "upper limit 210.00 mm" in beyond.reason


def test_an_open_joint_keeps_the_seed_and_says_which_joints_move_together() -> None:
    form = form_of("ur5")
    q = (0.4, -1.0, 1.3, 0.5, 0.0, 0.7)
    best = solve_pose(form, ranges_of("ur5"), forward(form.chain, q, FLOATS), q).best
    assert best is not None
    assert best.q == pytest.approx(q, abs=1e-9)
    assert best.note == ("singular pose: J6 is free (J2, J3, J4 and J6 can move together) and was kept at 40.11 deg")
    wrist = form_of("puma560")
    q = (0.4, -1.0, 1.3, 0.5, 0.0, 0.7)
    pose = forward(wrist.chain, q, FLOATS)
    noted = [s.note for s in all_solutions(wrist, pose, q) if apart(wrist.chain, s.q, q) < 1e-6]
    assert noted == ["singular pose: J4 is free (J4 and J6 can move together) and was kept at 28.65 deg"]
    assert all(
        s.note == "" for s in all_solutions(wrist, forward(wrist.chain, (0.4, -1.0, 1.3, 0.5, 0.9, 0.7), FLOATS), q)
    )


def test_an_open_joint_leaves_its_place_where_that_alone_meets_the_limits() -> None:
    form = form_of("puma560")
    q = (0.4, -1.0, 1.3, 1.5, 0.0, 1.5)
    pose = forward(form.chain, q, FLOATS)
    narrow = [r._replace(lower=v - 0.1, upper=v + 0.1) for v, r in zip(q, ranges_of("puma560"), strict=True)]
    # At rest joint 4 would stand at its middle, and joint 6 beyond its limit, for want of a millimetre of room.
    narrow[3] = narrow[3]._replace(lower=-3.0, upper=1.55)
    result = solve_pose(form, narrow, pose, (0.4, -1.0, 1.3, 0.0, 0.0, 1.5))
    assert result.ok
    assert result.best is not None
    assert result.best.error <= 1e-9
    assert result.best.q[3] == pytest.approx(1.4, abs=1e-6)
    assert "J4 is free" in result.best.note


def test_a_pose_out_of_reach_is_refused_with_its_distance() -> None:
    form = form_of("ur5")
    q = (0.4, -0.3, 0.0, 0.2, 0.9, 0.7)
    pose = forward(form.chain, q, FLOATS)
    base, wrist = form.chain.base, np.array(pose[9:])
    assert base[9:] == (0.0, 0.0, 0.0)
    far = (*pose[:9], *(wrist * 10.0).tolist())
    result = solve_pose(form, ranges_of("ur5"), far, None)
    assert not result.ok
    assert result.solutions == ()
    assert result.distance_m is not None
    assert result.distance_m > 1.0
    assert f"out of reach by {result.distance_m * 1e3:.3f} mm with this orientation" in result.reason


def test_an_orientation_that_so_few_joints_cannot_take_is_refused_with_the_angle() -> None:
    form = form_of("adept-cobra600")
    pose = forward(form.chain, (0.2, 0.5, 0.1, 0.3), FLOATS)
    c, s = math.cos(0.2), math.sin(0.2)
    tilted = compose(pose, (1.0, 0.0, 0.0, 0.0, c, s, 0.0, -s, c, 0.0, 0.0, 0.0))
    result = solve_pose(form, ranges_of("adept-cobra600"), tilted, None)
    assert not result.ok
    assert "4 axes cannot take this orientation here: it is 11.459 deg off" in result.reason


def test_a_pose_rounded_to_seven_digits_is_still_met_as_well_as_it_can_be() -> None:
    for name in NAMES:
        form = form_of(name)
        q = random_configurations(form.chain, 1, 7)[0].tolist()
        rounded: Frame = tuple(round(v, 7) for v in forward(form.chain, q, FLOATS))  # type: ignore[assignment]
        solutions = all_solutions(form, rounded, q)
        assert min(apart(form.chain, s.q, q) for s in solutions) < 1e-4
        assert all(s.error <= 1e-6 for s in solutions)
