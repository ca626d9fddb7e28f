"""What an arm reaches of a curve, and the nearest place at which it reaches all of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.model.files import find
from hil.paths.curve_file import load_curve
from hil.paths.reach import (
    Nearest,
    changed,
    gaps_m,
    nearest_scale,
    nearest_shift,
    nearest_turn,
    reach_of,
    reaches_all,
)
from hil.units import DEG

SHOULDER_M, REACH_M = np.array([0.0, 0.0, 0.1106]), 0.39


@pytest.fixture(scope="module")
def lynx6():
    return hil.load_robot("lynx6")


def _pipes():
    return load_curve(find("curves", "pipes")).points_m()


def _ring(x_m: float, radius_m: float, z_m: float = 0.12, count: int = 16):
    angle = np.linspace(0.0, 2.0 * np.pi, count)
    return np.stack([x_m + radius_m * np.cos(angle), radius_m * np.sin(angle), np.full(count, z_m)], axis=1)


def test_reach_tells_each_sample_and_the_first_outside_with_its_distance(lynx6) -> None:
    points = _pipes()
    reach = reach_of(lynx6, points)
    beyond = np.linalg.norm(points - SHOULDER_M, axis=1) - REACH_M
    assert reach.reached == tuple(beyond <= 0.0) and reach.share == 17 / 32
    assert reach.first_outside == 0 and reach.reasons[0].startswith("out of reach by 43.756 mm")
    assert reach.gaps_m[0] == pytest.approx(0.043756, abs=1e-6)
    good = np.array(reach.reached)
    assert np.isnan(reach.q[~good]).all()
    assert lynx6.forward_kinematics(reach.q[good])[:, :3, 3] == pytest.approx(points[good], abs=1e-9)


def test_limits_of_joints_are_told_apart_from_lengths(lynx6) -> None:
    # Close to its own shoulder: within its lengths, but its elbow bends by 90 degrees only.
    reach = reach_of(lynx6, np.array([[0.05, 0.0, 0.05], [0.25, 0.0, 0.12]]))
    assert reach.gaps_m.tolist() == [0.0, 0.0] and reach.share_of_lengths == 1.0
    assert reach.reached == (False, True) and "beyond its upper limit" in reach.reasons[0]


def test_the_joints_of_neighbours_are_neighbours(lynx6) -> None:
    points = load_curve(find("curves", "ellipse")).points_m()
    reach = reach_of(lynx6, points)
    assert reach.share == 1.0 and np.abs(np.diff(reach.q, axis=0)).max() < 5.0 * DEG


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-0.6, 0.6), min_size=3, max_size=3))
def test_gaps_agree_with_the_inverse(lynx6, place) -> None:
    gap = float(gaps_m(lynx6, np.array([place]))[0])
    distance = lynx6.inverse_kinematics_target(place).distance_m if gap > 0.0 else None
    assert gap == pytest.approx(max(np.linalg.norm(np.array(place) - SHOULDER_M) - REACH_M, 0.0), abs=2e-9)
    assert distance is None or distance == pytest.approx(gap)


def test_an_arm_without_a_plane_of_its_own_is_bounded_by_its_length() -> None:
    puma = hil.load_robot("puma560")
    assert puma.reach_gap_m((0.3, 0.2, 0.3)) == 0.0
    assert puma.reach_gap_m((5.0, 0.0, 0.0)) > 3.0


# -- the nearest place ------------------------------------------------------------------------------------------------


def test_one_point_is_shifted_straight_towards_the_shoulder(lynx6) -> None:
    point = np.array([[0.5, 0.1, 0.2]])
    found = nearest_shift(lynx6, point)
    away = point[0] - SHOULDER_M
    distance = np.linalg.norm(away)
    assert found.of_lengths_alone
    assert found.shift_m == pytest.approx(-(distance - REACH_M) * away / distance, abs=3e-5)


def test_the_pipes_come_within_reach_by_the_shortest_shift(lynx6) -> None:
    points = _pipes()
    found = nearest_shift(lynx6, points)
    assert reaches_all(lynx6, changed(points, found))
    size = float(np.linalg.norm(found.shift_m))
    assert size == pytest.approx(0.05805, abs=5e-5)
    # Nothing shorter does: by the lengths alone, in a thousand directions around it.
    random = np.random.default_rng(1).normal(size=(1000, 3))
    for direction in random / np.linalg.norm(random, axis=1)[:, None]:
        shift = (size - 2e-4) * direction
        assert np.linalg.norm(points + shift - SHOULDER_M, axis=1).max() > REACH_M


def test_what_is_reached_needs_no_shift(lynx6) -> None:
    assert np.all(nearest_shift(lynx6, _ring(0.22, 0.05)).shift_m == 0.0)


def test_limits_of_joints_ask_for_more_than_lengths(lynx6) -> None:
    points = _ring(-0.02, 0.05)  # around the base axis
    found = nearest_shift(lynx6, points)
    assert not found.of_lengths_alone and reaches_all(lynx6, changed(points, found))


def test_a_curve_that_is_too_large_needs_a_scale(lynx6) -> None:
    points = _ring(0.2, 0.6)
    assert nearest_shift(lynx6, points) is None
    found = nearest_scale(lynx6, points)
    assert 0.1 < found.scale < REACH_M / 0.6 and reaches_all(lynx6, changed(points, found))


def test_a_turn_about_the_vertical_may_do(lynx6) -> None:
    points = np.linspace((0.25, -0.05, 0.12), (0.45, 0.05, 0.12), 9)
    assert not reaches_all(lynx6, points)
    found = nearest_turn(lynx6, points)
    assert found.turn_deg != 0.0 and reaches_all(lynx6, changed(points, found))
    less = abs(found.turn_deg) - 2.0
    assert not any(reaches_all(lynx6, changed(points, Nearest(np.zeros(3), turn_deg=turn))) for turn in (less, -less))


def test_no_turn_brings_a_curve_that_is_far_away(lynx6) -> None:
    assert nearest_turn(lynx6, _ring(2.0, 0.05, count=4)) is None
