"""Moves as samples: where they lead, how straight, how fast; and what stops, restarts and corners make of them."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

from hil.link import FloatArray
from hil.paths.circle import circle_through
from hil.program.arm import goal_row
from hil.program.blends import blended, release, resumed, stopped
from hil.program.errors import ProgramError
from hil.program.motions import Limits, Pace, default_limits, excess, follow, joint_move
from hil.program.pallets import Pallet
from hil.program.paths import Straight, arc
from hil.program.rv2aj import LOWER_DEG, UPPER_DEG, Rv2aj
from hil.program.values import Position, position
from hil.units import DEG

ARM = Rv2aj()
LIMITS = default_limits(0.01)
ALMOST = 1.0 + 1e-9

rows = st.tuples(*(st.floats(low, high) for low, high in zip(LOWER_DEG, UPPER_DEG, strict=True))).map(
    lambda angles: np.array(angles) * DEG
)
places = st.tuples(
    st.floats(200, 330), st.floats(-150, 150), st.floats(200, 380), st.floats(-90, 90), st.floats(160, 180)
).map(lambda members: position(members, 6, 0))
paces = st.builds(Pace, st.floats(0.05, 1.0), st.floats(0.1, 1.0), st.one_of(st.none(), st.floats(5.0, 500.0)))


def stand(place: Position) -> FloatArray:
    try:
        return goal_row(ARM, place, np.zeros(5))
    except ProgramError:
        assume(False)
        raise


def line(start: Position, goal: Position, pace: Pace) -> FloatArray:
    row = stand(start)
    try:
        return follow(ARM, LIMITS, Straight(ARM.position(row.tolist()), goal), ARM.posture(row.tolist()), row, pace)
    except ProgramError as error:
        assume(error.number not in (2602, 2603, 2802, 2803))
        raise


@given(rows, rows, paces)
@settings(max_examples=40, deadline=None)
def test_joint_moves_end_exactly_and_keep_every_limit(start: FloatArray, goal: FloatArray, pace: Pace) -> None:
    samples = joint_move(ARM, LIMITS, start, goal, pace)
    assert (samples[0] == start).all() and (samples[-1] == goal).all()
    assert excess(LIMITS, samples, pace) <= ALMOST
    ways = (samples - start) @ (goal - start)
    assert (np.diff(ways) >= -1e-12).all()


@given(places, places, paces)
@settings(max_examples=30, deadline=None)
def test_straight_lines_are_straight_and_keep_every_limit(start: Position, goal: Position, pace: Pace) -> None:
    samples = line(start, goal, pace)
    assert excess(LIMITS, samples, pace) <= ALMOST
    poses, ends = ARM.members(samples), np.array([start.members, goal.members])
    assert poses[-1] == pytest.approx(ends[1], abs=1e-6)
    way = ends[1] - ends[0]
    share = (poses - ends[0]) @ way / max(float(way @ way), 1e-12)
    assert poses == pytest.approx(ends[0] + share[:, None] * way, abs=1e-5)
    if pace.speed_mm_s is not None:
        speeds = np.linalg.norm(np.diff(poses[:, :3], axis=0), axis=1) / LIMITS.period_s
        assert speeds.max(initial=0.0) <= pace.speed_mm_s * pace.override * 1.001 + 1e-9


@given(places, places, st.floats(0.0, 1.0))
@settings(max_examples=30, deadline=None)
def test_a_stop_stays_on_its_way_keeps_the_limits_and_the_rest_can_be_gone_later(
    start: Position, goal: Position, when: float
) -> None:
    samples = line(start, goal, Pace(speed_mm_s=150.0))
    now = int(when * (len(samples) - 1))
    halt, cursor = stopped(LIMITS, samples, now)
    whole = np.concatenate([samples[: now + 1], halt])
    assert excess(LIMITS, whole) <= ALMOST
    poses = ARM.members(whole)[:, :3]
    ends = np.array([start.members[:3], goal.members[:3]])
    way = ends[1] - ends[0]
    share = (poses - ends[0]) @ way / max(float(way @ way), 1e-12)
    assert poses == pytest.approx(ends[0] + share[:, None] * way, abs=0.01)
    if cursor < len(samples) - 1:
        onward = resumed(LIMITS, samples, cursor)
        assert onward[0] == pytest.approx(halt[-1], abs=1e-12)
        assert (onward[-1] == samples[-1]).all()
        assert excess(LIMITS, onward) <= ALMOST


@given(places, places, places, st.one_of(st.none(), st.floats(1.0, 40.0)))
@settings(max_examples=25, deadline=None)
def test_a_rounded_corner_keeps_the_limits_and_both_ends(
    first: Position, second: Position, third: Position, near: float | None
) -> None:
    one, two = line(first, second, Pace()), line(second, third, Pace())
    two = two + (one[-1] - two[0])
    now = release(ARM, one, near)
    both, begins = blended(ARM, LIMITS, one, now, two, near)
    assert excess(LIMITS, both) <= ALMOST
    assert (both[: begins + 1] == one[: begins + 1]).all()
    assert both[-1] == pytest.approx(two[-1], abs=1e-12)
    assert len(both) <= len(one) + len(two) - 1


@given(places, places, places)
@settings(max_examples=40, deadline=None)
def test_circles_pass_their_points_in_order(first: Position, second: Position, third: Position) -> None:
    circle = circle_through(*(np.array(p.members[:3]) for p in (first, second, third)))
    assume(circle is not None and circle.radius < 1e4)
    assert circle is not None
    assert 0.0 < circle.middle_rad < circle.angle_rad < 2.0 * np.pi
    for angle, place in ((0.0, first), (circle.middle_rad, second), (circle.angle_rad, third)):
        assert circle.point(angle) == pytest.approx(np.array(place.members[:3]), abs=1e-5)
    avoiding, _ = arc("MVR2", (first, third, second))
    halfway = avoiding.members(np.array([0.5]))[0, :3]
    assert np.linalg.norm(halfway - circle.point(circle.middle_rad)) > 1e-3


def test_far_from_the_axis_a_crossing_line_is_followed_and_near_it_it_is_slow_or_refused() -> None:
    for x, passes in ((200.0, True), (20.0, True), (0.2, False)):
        start, goal = position((x, 200, 600, 0, 90), 6, 0), position((x, -200, 600, 0, 90), 6, 0)
        row = goal_row(ARM, start, np.zeros(5))
        path = Straight(ARM.position(row.tolist()), goal)
        if passes:
            samples = follow(ARM, LIMITS, path, ARM.posture(row.tolist()), row, Pace())
            assert np.isfinite(samples).all() and excess(LIMITS, samples) <= ALMOST
        else:
            with pytest.raises(ProgramError) as racing:
                follow(ARM, LIMITS, path, ARM.posture(row.tolist()), row, Pace())
            assert racing.value.code == "H2131"


def test_a_line_between_good_ends_that_leaves_the_reach_is_refused_before_anything_moves() -> None:
    start, goal = position((0, 350, 350, 0, 180), 6, 0), position((0, -350, 350, 0, 180), 6, 0)
    row = goal_row(ARM, start, np.zeros(5))
    goal_row(ARM, goal, np.zeros(5))
    with pytest.raises(ProgramError) as leaving:
        follow(ARM, LIMITS, Straight(ARM.position(row.tolist()), goal), ARM.posture(row.tolist()), row, Pace())
    assert leaving.value.number in (2603, 2803)


def corners(angle: float = 0.0) -> tuple[Position, Position, Position]:
    return (
        position((0, 0, 0, 180, 180), 6, 0),
        position((20, 0, 0, angle, 180), 6, 0),
        position((0, 10, 0, 180, 180), 6, 0),
    )


def test_pallet_places_go_zigzag_or_the_same_way() -> None:
    start, end_a, end_b = corners(180.0)
    zigzag, same = (Pallet(start, end_a, end_b, None, 3, 2, way) for way in (1, 2))
    xy = [[tuple(pallet.place(k).members[:2]) for k in range(1, 7)] for pallet in (zigzag, same)]
    assert xy[0] == [(0, 0), (10, 0), (20, 0), (20, 10), (10, 10), (0, 10)]
    assert xy[1] == [(0, 0), (10, 0), (20, 0), (0, 10), (10, 10), (20, 10)]
    assert zigzag.place(4).fl1 == 6
    with pytest.raises(ProgramError, match="3110"):
        zigzag.place(7)


def test_corners_of_both_signs_swing_as_on_the_controller_and_direction_11_keeps_the_start() -> None:
    start, end_a, end_b = corners(-180.0)
    swinging, kept = (Pallet(start, end_a, end_b, None, 3, 2, way) for way in (2, 12))
    assert swinging.place(2).members[3] == pytest.approx(0.0)
    assert swinging.flips() == "A"
    assert kept.place(2).members[3] == 180.0
    assert kept.flips() == ""


def test_an_arc_pallet_divides_its_arc_evenly() -> None:
    pallet = Pallet(
        position((100, 0, 0), 6, 0), position((0, 100, 0), 6, 0), position((-100, 0, 0), 6, 0), None, 5, 1, 3
    )
    for k in range(5):
        angle = np.pi * k / 4
        assert pallet.place(k + 1).members[:2] == pytest.approx((100 * np.cos(angle), 100 * np.sin(angle)), abs=1e-9)


def test_limits_are_those_of_the_sheet_where_no_rig_says_otherwise() -> None:
    assert isinstance(LIMITS, Limits)
    assert (LIMITS.speed / DEG).tolist() == pytest.approx([180, 90, 135, 180, 210])
