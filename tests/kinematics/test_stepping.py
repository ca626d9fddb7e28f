"""Straight lines by small steps of the inverse Jacobian: Table II of the Virtual Robot Module paper, and feedback."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.errors import CommandError
from hil.kernels.chain import chain_of
from hil.kinematics.poses import Convention, XyzAbc, pose_to_xyzabc, rotation_rz_ry_rx, xyzabc_to_pose
from hil.kinematics.stepped_line import SteppedLine, step_line, step_line_to, turning_rates
from hil.units import DEG, MM

ROBOT = hil.load_robot("vrm-kukakr5")
CHAIN = chain_of(ROBOT.model)
START = [v * DEG for v in (0.0, 90.0, 0.0, 0.0, 90.0, 0.0)]
CHANGE = (-200.0, 200.0, -200.0, -90.0, 0.0, 90.0)
GOAL = (600.0, 200.0, 805.0, 90.0, 0.0, 90.0)

PRINTED = {
    100: (598.535, 201.818, 803.696, 90.825, 0.734, None),
    200: (599.261, None, None, 90.407, 0.363, 90.505),
    500: (599.696, 200.380, 804.770, 90.158, 0.145, 90.207),
    1000: (599.892, 200.188, 804.875, 90.078, 0.073, 90.100),
}
"""Table II as printed, without its three misprints: C at 100 steps, Y and Z at 200."""

EXACT = {
    100: (598.542, 201.800, 803.745, 90.824, 0.731, 91.007),
    200: (599.280, 200.907, 804.388, 90.404, 0.363, 90.506),
    500: (599.714065, 200.364234, 804.758837, 90.159594, 0.144688, 90.202839),
    1000: (599.857393, 200.182345, 804.880028, 90.079477, 0.072245, 90.101500),
}


def cells(pose: XyzAbc) -> tuple[float, ...]:
    return pose.x_mm, pose.y_mm, pose.z_mm, pose.a_deg, pose.b_deg, pose.c_deg


def errors(line: SteppedLine) -> np.ndarray:
    return np.array([*line.error_mm, *line.error_deg])


def test_table_2_starts_where_the_paper_says_and_asks_for_its_goal() -> None:
    start = pose_to_xyzabc(ROBOT.forward_kinematics(START))
    assert cells(start) == pytest.approx((800.0, 0.0, 1005.0, 180.0, 0.0, 0.0), abs=1e-9)
    assert cells(step_line(CHAIN, START, CHANGE, 1).goal) == pytest.approx(GOAL, abs=1e-9)


@pytest.mark.parametrize("steps", PRINTED)
def test_four_decimals_in_every_link_matrix_give_the_printed_cells_to_the_last_digit(steps: int) -> None:
    reached = cells(step_line(CHAIN, START, CHANGE, steps, digits=4).reached)
    for value, printed in zip(reached, PRINTED[steps], strict=True):
        assert printed is None or value == pytest.approx(printed, abs=0.0005)


def test_the_other_three_of_the_printed_cells_are_misprints() -> None:
    """C at 100 steps is half a degree off; Y and Z at 200 steps are those of 500."""
    at_100, at_200 = (cells(step_line(CHAIN, START, CHANGE, steps, digits=4).reached) for steps in (100, 200))
    assert sum(cell is not None for row in PRINTED.values() for cell in row) == 21
    assert 91.505 - at_100[5] == pytest.approx(0.5, abs=0.005)
    assert at_200[1:3] == pytest.approx((200.873, 804.356), abs=0.001)
    assert PRINTED[500][1:3] == (200.380, 804.770)


@pytest.mark.parametrize("steps", EXACT)
def test_exact_arithmetic_stays_near_the_print(steps: int) -> None:
    reached = cells(step_line(CHAIN, START, CHANGE, steps).reached)
    assert reached == pytest.approx(EXACT[steps], abs=1e-4 if steps >= 500 else 6e-4)
    for i, (value, printed) in enumerate(zip(reached, PRINTED[steps], strict=True)):
        assert printed is None or value == pytest.approx(printed, abs=0.06 if i < 3 else 0.006)


@pytest.mark.parametrize("steps", [100, 200, 500])
def test_twice_the_steps_halve_the_error(steps: int) -> None:
    once = errors(step_line(CHAIN, START, CHANGE, steps))
    twice = errors(step_line(CHAIN, START, CHANGE, 2 * steps))
    assert once / twice == pytest.approx(2.0, abs=0.1)


def test_of_eight_solutions_at_either_end_two_keep_the_limits() -> None:
    """The start and its wrist flip; of the goal, the one that the stepping comes to, and its flip."""
    limit = (22.410, 117.126, -49.867, -133.150, 31.503, 47.713)
    ends = ((pose_to_xyzabc(ROBOT.forward_kinematics(START)), (0.0, 90.0, 0.0, 0.0, 90.0, 0.0), (180.0, -90.0, 180.0)),)
    ends += ((step_line(CHAIN, START, CHANGE, 1).goal, limit, (46.850, -31.503, -132.287)),)
    for end, first, flip in ends:
        pose = xyzabc_to_pose(end)
        solutions = ROBOT.inverse_kinematics(pose).solutions
        assert len(solutions) == 8
        for solution in solutions:
            assert ROBOT.forward_kinematics(solution.q) == pytest.approx(pose, abs=1e-9)
        kept = np.degrees([solution.q for solution in solutions if solution.within_limits])
        for wanted in (first, (*first[:3], *flip)):
            away = np.abs(np.remainder(kept - np.array(wanted) + 180.0, 360.0) - 180.0).max(axis=1)
            assert away.min() < 0.001 and len(kept) == 2


@pytest.mark.parametrize("steps", [1, 3, 50, 51, 200])
def test_the_closed_loop_arrives_with_any_number_of_steps(steps: int) -> None:
    line = step_line(CHAIN, START, CHANGE, steps, closed_loop=True)
    assert np.abs(errors(line)).max() < 1e-5
    assert len(line.q) == steps + 1
    limit = (22.410, 117.126, -49.867, -133.150, 31.503, 47.713)
    assert np.array(line.q[-1]) / DEG == pytest.approx(np.array(limit), abs=0.001)


def test_the_closed_loop_stays_on_the_line_at_every_via_point() -> None:
    line = step_line(CHAIN, START, CHANGE, 50, closed_loop=True)
    for k, q in enumerate(line.q):
        pose = ROBOT.forward_kinematics(q)
        wanted = np.array((800.0, 0.0, 1005.0, 180.0, 0.0, 0.0)) + np.array(CHANGE) * k / 50
        assert pose[:3, 3] / MM == pytest.approx(wanted[:3], abs=1e-6)
        a, b, c = (v * DEG for v in wanted[3:])
        assert pose[:3, :3] == pytest.approx(np.array(rotation_rz_ry_rx(c, b, a)), abs=1e-9)


@settings(max_examples=25)
@given(
    st.tuples(*[st.floats(-80.0, 80.0, allow_subnormal=False)] * 3),
    st.tuples(*[st.floats(-20.0, 20.0, allow_subnormal=False)] * 3),
    st.integers(50, 70),
)
def test_any_line_within_reach_is_met_and_comes_back(
    shift_mm: tuple[float, ...], turn_deg: tuple[float, ...], steps: int
) -> None:
    change = (*shift_mm, *turn_deg)
    there = step_line(CHAIN, START, change, steps, closed_loop=True)
    assert np.abs(errors(there)).max() < 1e-3
    back = step_line(CHAIN, there.q[-1], [-v for v in change], steps, closed_loop=True)
    assert np.array(back.q[-1]) == pytest.approx(np.array(START), abs=1e-8)


@pytest.mark.parametrize("closed_loop", [False, True])
def test_no_change_is_exactly_no_motion(closed_loop: bool) -> None:
    line = step_line(CHAIN, START, (0.0,) * 6, 7, closed_loop=closed_loop)
    assert set(line.q) == {tuple(START)}


def test_only_a_shift_keeps_the_orientation_and_only_a_turn_keeps_the_point() -> None:
    start = ROBOT.forward_kinematics(START)
    for change, kept in (((-100.0, 50.0, -80.0, 0.0, 0.0, 0.0), np.s_[:3, :3]), ((0, 0, 0, 20, 10, 30), np.s_[:3, 3])):
        for q in step_line(CHAIN, START, change, 20, closed_loop=True).q:
            assert ROBOT.forward_kinematics(q)[kept] == pytest.approx(start[kept], abs=1e-9)


@pytest.mark.parametrize("closed_loop", [False, True])
def test_the_goal_and_the_change_that_leads_there_give_the_same_path(closed_loop: bool) -> None:
    relative = step_line(CHAIN, START, CHANGE, 60, closed_loop=closed_loop)
    names = ("x_mm", "y_mm", "z_mm", "a_deg", "b_deg", "c_deg")
    goal = XyzAbc(**dict(zip(names, GOAL, strict=True)))  # type: ignore[arg-type]
    kuka = XyzAbc(x_mm=600, y_mm=200, z_mm=805, a_deg=90, b_deg=0, c_deg=90, convention=Convention.KUKA_ABC)
    for wanted in (goal, kuka):
        absolute = step_line_to(CHAIN, START, wanted, 60, closed_loop=closed_loop)
        assert np.array(absolute.q) == pytest.approx(np.array(relative.q), abs=1e-9)


@given(*[st.floats(-1.5, 1.5)] * 6)
def test_turning_rates_are_those_of_the_rotation_matrix(
    a: float, b: float, c: float, da: float, db: float, dc: float
) -> None:
    h = 1e-6
    before, after = (np.array(rotation_rz_ry_rx(c + t * dc, b + t * db, a + t * da)) for t in (-h, h))
    middle = np.array(rotation_rz_ry_rx(c, b, a))
    spin = (after - before) / (2 * h) @ middle.T
    omega = turning_rates(b, c) @ (da, db, dc)
    assert omega == pytest.approx((spin[2, 1], spin[0, 2], spin[1, 0]), abs=1e-6)


def test_an_arm_with_seven_axes_takes_the_shortest_joint_steps() -> None:
    panda = chain_of(hil.load_robot("panda").model)
    start = [0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5]
    line = step_line(panda, start, (30.0, -40.0, 20.0, 5.0, 5.0, -5.0), 50, closed_loop=True)
    assert np.abs(errors(line)).max() < 1e-3


def test_a_singular_start_and_a_goal_out_of_reach_are_refused_with_the_step() -> None:
    with pytest.raises(CommandError, match="step 1 of 10: the arm is singular"):
        step_line(CHAIN, [0.0, math.pi / 2, 0.0, 0.0, 0.0, 0.0], CHANGE, 10)
    with pytest.raises(CommandError, match=r"step \d+ of 50"):
        step_line(CHAIN, START, (2000.0, 0.0, 0.0, 0.0, 0.0, 0.0), 50, closed_loop=True)


@pytest.mark.parametrize(
    ("change", "steps", "options", "words"),
    [
        (CHANGE, 0, {}, "at least one; 0"),
        (CHANGE, 1_000_001, {}, "1000001 was given; allowed: 1 to 1000000"),
        (CHANGE, 2.5, {}, "whole number of steps"),
        (CHANGE[:5], 10, {}, "six finite numbers"),
        ((math.nan, *CHANGE[1:]), 10, {}, "six finite numbers"),
        ((1e308, *CHANGE[1:]), 10, {}, r"a change of 1e\+308; allowed: up to 1e\+06 mm and degrees"),
        (CHANGE, 10, {"digits": -1}, "digits of 0 or more"),
        (CHANGE, 10, {"digits": 4, "closed_loop": True}, "no feedback"),
    ],
)
def test_what_makes_no_line_is_refused(
    change: Sequence[float], steps: int, options: dict[str, object], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        step_line(CHAIN, START, change, steps, **options)  # type: ignore[arg-type]


def test_a_start_that_is_no_configuration_and_an_arm_with_five_axes_are_refused() -> None:
    with pytest.raises(CommandError, match="6 finite joint coordinates"):
        step_line(CHAIN, [0.0] * 5, CHANGE, 10)
    with pytest.raises(CommandError, match="this arm has 5"):
        step_line(chain_of(hil.load_robot("lynx6").model), [0.0] * 5, CHANGE, 10)


@given(st.lists(st.integers(-20, 20), min_size=6, max_size=6), st.lists(st.integers(-20, 20), min_size=6, max_size=6))
def test_a_list_a_tuple_and_an_array_are_the_same_start_and_the_same_change(away: list[int], by: list[int]) -> None:
    start = [v + n * DEG for v, n in zip(START, away, strict=True)]
    lines = [
        ROBOT.step_line(kind(start), kind(by), 1)  # type: ignore[operator]
        for kind in (list, tuple, np.array)
    ]
    assert lines[0] == lines[1] == lines[2] == step_line(CHAIN, start, by, 1)
    assert step_line_to(CHAIN, np.array(start), lines[0].goal, 1).q[0] == tuple(start)


@pytest.mark.parametrize("wrong", [None, "abcdef", 3.0, [[0.0] * 6], [0.0] * 5, [*[0.0] * 5, math.inf], [1, [2], 3]])
def test_what_are_no_numbers_is_refused_as_everywhere(wrong: object) -> None:
    with pytest.raises(CommandError, match=r"joint coordinates|is not a finite number"):
        ROBOT.step_line(wrong, CHANGE, 10)  # type: ignore[arg-type]
    with pytest.raises(CommandError, match="6 finite joint coordinates"):
        step_line(CHAIN, wrong, CHANGE, 10)  # type: ignore[arg-type]
    with pytest.raises(CommandError, match="six finite numbers"):
        ROBOT.step_line(START, wrong, 10)  # type: ignore[arg-type]
    with pytest.raises(CommandError, match="whole number of steps"):
        ROBOT.step_line(START, CHANGE, True)
