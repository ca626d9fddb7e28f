"""The RV-2AJ's pose in its controller's terms."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import hil
from hil.program.arm import Posture, goal_row, joint_set, row_of, turns_of
from hil.program.errors import ProgramError
from hil.program.rv2aj import LOWER_DEG, UPPER_DEG, Rv2aj
from hil.program.values import Position, joints, position
from hil.units import DEG, MM

ARM = Rv2aj()

VECTORS = [
    ((0, 0, 0, 0, 0), (0, 0, 782, 0, 0), 6),
    ((0, 0, 90, 0, 0), (232, 0, 550, 0, 90), 6),
    ((0, 0, 90, 90, 0), (160, 0, 478, 0, 180), 6),
    ((45, 30, 60, 60, -30), (226.981, 226.981, 454.153, -68.971, 150), 6),
    ((-90, 60, 30, 45, 120), (0, -427.418, 374.088, 183.640, 135), 6),
    ((0, 120, -30, 0, 0), (448.506, 0, 175, 0, 90), 4),
    ((10, 10, -50, 80, 15), (-12.953, -2.284, 723.924, 22.660, 40), 0),
    ((0, -60, 120, 90, 0), (-41.942, 0, 442.646, 0, 150), 2),
]
TWO_WAYS = [
    ((350, 0, 600, 0, 90), (39.63, 8.19, 42.18), (46.02, -8.19, 52.18)),
    ((300, 0, 600, 0, 45), (21.07, 63.26, -39.33), (68.93, -63.26, 39.33)),
    ((350, 0, 400, 0, 90), (37.43, 90.58, -38.01), (103.00, -90.58, 77.58)),
]

inside = st.tuples(*(st.floats(low, high) for low, high in zip(LOWER_DEG, UPPER_DEG, strict=True)))
tools = st.tuples(
    st.floats(-40, 40), st.floats(-40, 40), st.floats(0, 150), st.just(0.0), st.just(0.0), st.floats(-90, 90)
)


@pytest.mark.parametrize(("angles", "pose", "fl1"), VECTORS)
def test_the_reference_vectors_hold_in_both_directions(
    angles: tuple[float, ...], pose: tuple[float, ...], fl1: int
) -> None:
    found = ARM.position([angle * DEG for angle in angles])
    assert found.members[:5] == pytest.approx(pose, abs=1e-3)
    assert found.fl1 == fl1
    back = goal_row(ARM, found, np.zeros(5))
    assert ARM.position(back.tolist()).members == pytest.approx(found.members, abs=1e-6)


def test_one_robots_own_read_out_of_joints_and_pose_agrees() -> None:
    shown = (250.00, 0.00, 450.00, 0.00, 180.00)
    assert ARM.position([v * DEG for v in (0, 21.19, 72.78, 86.03, 0)]).members[:5] == pytest.approx(shown, abs=0.02)
    pendant = (-74.55, -232.81, 323.81, 173.86, 179.29)
    listed = (-107.7560, 32.1796, 104.1809, 42.9295, 66.1123)
    assert ARM.position([v * DEG for v in listed]).members[:5] == pytest.approx(pendant, abs=0.011)


@pytest.mark.parametrize(("pose", "above", "below"), TWO_WAYS)
def test_flags_choose_between_the_two_elbows(
    pose: tuple[float, ...], above: tuple[float, ...], below: tuple[float, ...]
) -> None:
    for flags, wanted in ((6, above), (4, below)):
        row = goal_row(ARM, position(pose, flags, 0), np.zeros(5))
        assert (row[1:4] / DEG).tolist() == pytest.approx(wanted, abs=0.006)


@given(inside)
@settings(max_examples=60, deadline=None)
def test_joints_come_back_from_their_pose_and_flags(angles: tuple[float, ...]) -> None:
    row = np.array(angles) * DEG
    place = ARM.position(row.tolist())
    away = abs(place.members[0]) + abs(place.members[1])
    if away < 1.0 or abs(angles[2]) < 0.5:
        return
    found = goal_row(ARM, place, row)
    assert found == pytest.approx(row, abs=1e-6)


@given(inside, tools)
@settings(max_examples=60, deadline=None)
def test_a_tool_beside_the_flange_axis_is_undone_wherever_the_turns_settle(
    angles: tuple[float, ...], tool: tuple[float, ...]
) -> None:
    arm = ARM.with_frames(tool=position(tool))
    row = np.array(angles) * DEG
    place = arm.position(row.tolist())
    if np.hypot(*place.members[:2]) < 200.0 or abs(angles[2]) < 0.5:
        return
    try:
        found = goal_row(arm, place, row)
    except ProgramError:
        return
    # Another J1 may reach the same pose; the pose has to agree.
    assert arm.position(found.tolist()).members == pytest.approx(place.members, abs=1e-4)


@given(inside, st.tuples(*(st.floats(-200, 200),) * 3, st.just(0.0), st.just(0.0), st.floats(-180, 180)))
@settings(max_examples=60, deadline=None)
def test_a_base_moves_and_turns_what_programs_see_and_not_the_arm(
    angles: tuple[float, ...], base: tuple[float, ...]
) -> None:
    row = np.array(angles) * DEG
    arm = ARM.with_frames(base=position(base))
    place, plain = arm.position(row.tolist()), ARM.position(row.tolist())
    if np.hypot(*plain.members[:2]) < 1.0 or abs(angles[2]) < 0.5:
        return
    assert goal_row(arm, place, row) == pytest.approx(row, abs=1e-6)
    turn = base[5] * DEG
    assert place.members[0] - base[0] == pytest.approx(
        np.cos(turn) * plain.members[0] - np.sin(turn) * plain.members[1], abs=1e-6
    )


@given(inside)
@settings(max_examples=30, deadline=None)
def test_the_tool_point_is_where_the_robot_model_has_it(angles: tuple[float, ...]) -> None:
    model = hil.load_robot("rv2aj")
    pose = model.forward_kinematics([angle * DEG for angle in angles])
    place = ARM.position([angle * DEG for angle in angles])
    assert np.array(place.members[:3]) * MM == pytest.approx(pose[:3, 3], abs=1e-9)
    axis = pose[:3, 2]
    assert np.arctan2(np.hypot(axis[0], axis[1]), axis[2]) == pytest.approx(
        abs(np.arctan2(np.sin(place.members[4] * DEG), np.cos(place.members[4] * DEG))), abs=1e-7
    )


def test_an_approach_moves_along_the_tool_and_minus_is_away_from_the_work() -> None:
    down = position((250, 0, 300, 0, 180), 6, 0)
    assert ARM.moved(down, -50.0).members[:5] == pytest.approx((250, 0, 350, 0, 180))
    level = position((200, 200, 400, 10, 90), 6, 0)
    ahead = ARM.moved(level, 30.0).members
    assert ahead[:3] == pytest.approx((200 + 30 / 2**0.5, 200 + 30 / 2**0.5, 400))
    assert ahead[3:5] == pytest.approx((10, 90))


@given(st.floats(-150, 150), st.floats(-100, 100), st.floats(-100, 100), st.floats(-170, 170))
@settings(max_examples=40, deadline=None)
def test_an_offset_in_the_tool_frame_turns_with_the_flange(j1: float, dx: float, dy: float, turn: float) -> None:
    row = np.array([j1, 20, 80, 80, 30]) * DEG  # flange straight down
    place = ARM.position(row.tolist())
    moved = ARM.product(place, position((dx, dy, 0, 0, 0, turn)))
    assert np.hypot(moved.members[0] - place.members[0], moved.members[1] - place.members[1]) == pytest.approx(
        np.hypot(dx, dy), abs=1e-6
    )
    assert moved.members[2] == pytest.approx(place.members[2])
    # The flange looks down: its heading is J1 - J6 = -A, whatever J1 the new point needs.
    assert (moved.members[3] - place.members[3] - turn + 180) % 360 - 180 == pytest.approx(0.0, abs=1e-6)


def test_turns_are_counted_four_bits_an_axis() -> None:
    assert turns_of(ARM, np.array([0, 0, 0, 0, 190]) * DEG) == 0x00100000
    assert turns_of(ARM, np.array([0, 0, 0, 0, -190]) * DEG) == 0x00F00000
    assert turns_of(ARM, np.array([0, 0, 0, 0, 180]) * DEG) == 0
    up = Position(members=(250.0, 0.0, 450.0, -170.0, 180.0, 0.0, 0.0, 0.0), fl1=6, fl2=0x00100000)
    assert goal_row(ARM, up, np.zeros(5))[4] / DEG == pytest.approx(190.0)


def test_out_of_reach_and_out_of_limits_are_told_apart() -> None:
    with pytest.raises(ProgramError) as far:
        goal_row(ARM, position((600, 0, 400, 0, 90), 6, 0), np.zeros(5))
    assert far.value.number == 2802
    with pytest.raises(ProgramError) as behind:
        goal_row(ARM, position((-300, 0, 400, 0, 90), 6, 0), np.zeros(5))
    assert behind.value.number == 2602


def test_the_fourth_place_of_a_joint_set_stays_empty() -> None:
    row = row_of(ARM, joints((1, 2, 3, 0, 5, 6)))
    assert joint_set(ARM, row.tolist()).degrees == pytest.approx((1, 2, 3, 0, 5, 6, 0, 0))
    with pytest.raises(ProgramError, match="J4"):
        row_of(ARM, joints((1, 2, 3, 4, 5, 6)))


def test_a_tilted_tool_is_refused() -> None:
    with pytest.raises(ProgramError, match="tilted"):
        ARM.with_frames(tool=position((0, 0, 100, 0, 30)))


def test_postures_are_right_and_above_at_rest() -> None:
    assert ARM.posture((0.0,) * 5) == Posture(right=True, above=True)
