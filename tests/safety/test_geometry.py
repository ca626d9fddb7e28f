"""Distances: the batch, the plain floats and a search by brute force agree."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.space.geometry import (
    point_segment_distance,
    room_inside,
    segment_box_distance,
    segment_box_distance_single,
    segment_distance,
    segment_distance_single,
    unpack,
)

# Whole numbers give touching, parallel and zero-length segments often; the fractions give everything else.
number = st.one_of(st.integers(-3, 3).map(float), st.floats(-3.0, 3.0, width=32))
point = st.tuples(number, number, number)
LOWER, UPPER = (-1.0, -0.5, 0.0), (1.0, 0.5, 2.0)


def along(start, end, count=201):
    return np.asarray(start) + np.linspace(0.0, 1.0, count)[:, None] * (np.asarray(end) - np.asarray(start))


def brute_segments(a, b, c, d):
    return np.linalg.norm(along(a, b)[:, None] - along(c, d)[None], axis=-1).min()


def brute_box(a, b):
    points = along(a, b, 2001)
    return np.linalg.norm(points - np.clip(points, LOWER, UPPER), axis=-1).min()


@settings(max_examples=150, deadline=None)
@given(point, point, point, point)
def test_segment_distance_is_the_smallest_distance_of_any_two_points(a, b, c, d):
    exact = segment_distance(*(np.array([p]) for p in (a, b, c, d)))[0]
    searched = brute_segments(a, b, c, d)
    assert exact <= searched + 1e-6
    assert exact >= searched - 0.06
    assert abs(segment_distance_single(a, b, c, d) - exact) < 1e-9


@settings(max_examples=150, deadline=None)
@given(point, point)
def test_box_distance_is_the_smallest_distance_of_any_point_on_the_segment(a, b):
    exact = segment_box_distance(np.array([a]), np.array([b]), np.array(LOWER), np.array(UPPER))[0]
    searched = brute_box(a, b)
    assert exact <= searched + 1e-9
    assert exact >= searched - 0.01
    assert abs(segment_box_distance_single(a, b, LOWER, UPPER) - exact) < 1e-9


def test_a_segment_through_a_box_touches_it_although_both_ends_are_far_outside():
    assert segment_box_distance_single((-5.0, 0.0, 1.0), (5.0, 0.1, 1.0), LOWER, UPPER) == 0.0


def test_crossing_segments_are_as_far_apart_as_their_common_perpendicular():
    assert segment_distance_single((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.3), (0.0, 1.0, 0.3)) == 0.3


def test_room_inside_a_box_is_that_of_the_end_nearest_to_a_wall():
    room = room_inside(np.array([[0.0, 0.0, 0.5]]), np.array([[0.9, 0.0, 1.0]]), np.array(LOWER), np.array(UPPER))
    assert np.isclose(room[0], 0.1)


def test_a_point_beyond_the_end_of_a_segment_is_measured_to_that_end():
    distance = point_segment_distance(np.array([[3.0, 4.0, 0.0]]), np.zeros(3), np.array([-1.0, 0.0, 0.0]))
    assert np.isclose(distance[0], 5.0)


def test_unpack_gives_plain_floats():
    assert unpack(np.array([1, 2, 3])) == (1.0, 2.0, 3.0)
