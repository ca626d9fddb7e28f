"""The joint workspace of a box: what is needed of each joint, and lamps that count what they say."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.errors import CommandError
from hil.kinematics.limits import range_of, violation
from hil.kinematics.results import IkResult
from hil.kinematics.workspace.joint_workspace import JointWorkspace, Point, box_points, joint_workspace
from hil.units import DEG

ROBOT = hil.load_robot("lynx6-4axis")
MILLIMETRES = st.integers(-1000, 1000).map(lambda mm: mm / 1000)
RANGES = tuple(range_of(joint) for joint in ROBOT.model.joints)


def solve(point: Point) -> IkResult:
    return ROBOT.inverse_kinematics_target(point, pitch_rad=-60 * DEG)


def mapped(corner: Point, opposite: Point, step_m: float = 0.05) -> JointWorkspace:
    return joint_workspace(box_points(corner, opposite, step_m), solve, RANGES)


@settings(max_examples=25)
@given(st.tuples(*[st.floats(-0.3, 0.4)] * 3), st.tuples(*[st.floats(-0.3, 0.4)] * 3))
def test_a_lamp_counts_the_samples_at_which_the_used_posture_breaks_the_joint_s_limits(
    corner: Point, opposite: Point
) -> None:
    box = mapped(corner, opposite, 0.2)
    for i, (need, limits) in enumerate(zip(box.joints, RANGES, strict=True)):
        used = [sample.solutions[0].q[i] for sample in box.samples if sample.solutions]
        assert need.lamp == sum(violation(v, limits) > 0.0 for v in used)
        assert (need.lamp > 0) == (need.worst > 0.0)
        if used:
            assert (need.needed_lower, need.needed_upper) == (min(used), max(used))
    assert box.usable + box.beyond_limits + box.out_of_reach == len(box.samples)
    assert box.usable == sum(solve(sample.point_m).ok for sample in box.samples)
    lit = {i for sample in box.samples for i in sample.lamps}
    assert lit == {i for i, need in enumerate(box.joints) if need.lamp}
    assert all(sample.usable == (bool(sample.solutions) and not sample.lamps) for sample in box.samples)


def test_a_box_within_reach_lights_no_lamp() -> None:
    box = mapped((0.23, -0.05, 0.08), (0.25, 0.05, 0.1))
    assert box.usable == len(box.samples) > 1
    assert not any(need.lamp for need in box.joints)
    assert box.postures[0].branch == "front, elbow up"
    assert box.postures[0].usable == len(box.samples)


def test_a_box_near_the_base_lights_the_elbow_and_names_how_far_beyond_it_would_go() -> None:
    box = mapped((0.1, -0.02, 0.05), (0.14, 0.02, 0.09), 0.02)
    elbow = box.joints[2]
    assert elbow.name == "elbow" and elbow.lamp > 0
    assert elbow.needed_lower is not None and elbow.lower is not None
    assert elbow.worst == pytest.approx(elbow.lower - elbow.needed_lower)


def test_a_box_far_away_asks_nothing_and_says_so() -> None:
    box = mapped((1.0, 0.0, 0.0), (1.2, 0.1, 0.1))
    assert box.out_of_reach == len(box.samples)
    assert all(need.needed_lower is None and need.lamp == 0 for need in box.joints)
    assert box.postures == ()
    assert "out of reach" in box.samples[0].reason


def test_all_postures_are_told_apart() -> None:
    box = mapped((0.23, 0.0, 0.08), (0.23, 0.0, 0.08))
    assert {posture.branch for posture in box.postures} == {
        "front, elbow up",
        "front, elbow down",
        "back, elbow up",
        "back, elbow down",
    }
    for posture in box.postures:
        assert posture.usable <= posture.samples == 1
        assert (posture.usable == 1) == (sum(posture.lamps) == 0)


@settings(max_examples=30)
@given(
    st.tuples(*[MILLIMETRES] * 3),
    st.tuples(*[MILLIMETRES] * 3),
    st.floats(0.05, 3.0),
)
def test_a_box_s_points_hold_its_corners_and_are_no_farther_apart_than_asked(
    corner: Point, opposite: Point, step_m: float
) -> None:
    points = box_points(corner, opposite, step_m)
    for axis in range(3):
        values = sorted({point[axis] for point in points})
        assert values[0] == min(corner[axis], opposite[axis])
        assert values[-1] == max(corner[axis], opposite[axis])
        assert all(b - a <= step_m * (1 + 1e-6) for a, b in pairwise(values))


@pytest.mark.parametrize(
    ("corner", "opposite", "step_m"),
    [
        ((0, 0, math.nan), (1, 1, 1), 0.1),
        ((0, 0), (1, 1, 1), 0.1),
        ((0, 0, 0), (1, 1, math.inf), 0.1),
        ((0, 0, 0), (1, 1, 1), 0.0),
        ((0, 0, 0), (1, 1, 1), math.nan),
        ((0, 0, 0), (1, 1, 1), 1e-3),
    ],
)
def test_a_box_that_is_none_and_too_many_samples_are_refused(
    corner: tuple[float, ...], opposite: tuple[float, ...], step_m: float
) -> None:
    with pytest.raises(CommandError, match="allowed"):
        box_points(corner, opposite, step_m)


def test_no_points_are_refused_and_progress_is_told() -> None:
    with pytest.raises(CommandError, match="no points"):
        joint_workspace((), solve, RANGES)
    told: list[int] = []
    joint_workspace(box_points((0.2, 0, 0.1), (0.3, 0, 0.1), 0.05), solve, RANGES, told.append)
    assert told == [1, 2, 3]
