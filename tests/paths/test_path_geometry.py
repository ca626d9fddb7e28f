from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hil.errors import CommandError
from hil.paths.path import Arc, CurvePath, Line, Path, Reversed
from hil.paths.spline import SplineCurve

coordinate = st.floats(-0.5, 0.5)
point = st.tuples(coordinate, coordinate, coordinate).map(np.array)

WAVE = np.array([[0.0, 0.0, 0.0], [0.10, 0.02, 0.0], [0.12, 0.10, 0.03], [0.02, 0.12, 0.01], [0.0, 0.05, 0.0]])


def paths() -> dict[str, Path]:
    return {
        "line": Line(np.array([0.1, 0.0, 0.2]), np.array([0.2, 0.1, 0.1])),
        "arc": Arc.through(np.array([0.2, 0.0, 0.1]), np.array([0.2, 0.05, 0.15]), np.array([0.2, 0.1, 0.1])),
        "two turns": Arc.about(
            np.array([0.2, 0.05, 0.1]), np.array([0.2, 0.0, 0.1]), np.array([0, 0, 2.0]), 4 * math.pi
        ),
        "spline": CurvePath(SplineCurve(WAVE)),
        "closed spline": CurvePath(SplineCurve(WAVE, closed=True)),
    }


@pytest.mark.parametrize("name", paths())
def test_a_path_goes_a_metre_a_metre(name: str) -> None:
    path = paths()[name]
    at = np.linspace(0.0, path.length_m, 4001)
    chords = np.linalg.norm(np.diff(path.points_m(at), axis=0), axis=1)
    assert chords.sum() == pytest.approx(path.length_m, rel=2e-6)
    assert chords == pytest.approx(np.full(4000, path.length_m / 4000), rel=2e-4)


@pytest.mark.parametrize("name", paths())
def test_directions_are_unit_tangents(name: str) -> None:
    path = paths()[name]
    at = np.linspace(0.0, path.length_m, 60)[1:-1]
    slope = (path.points_m(at + 1e-6) - path.points_m(at - 1e-6)) / 2e-6
    assert path.directions(at) == pytest.approx(slope, abs=1e-6)
    assert np.linalg.norm(path.directions(at), axis=1) == pytest.approx(np.ones(len(at)), abs=1e-12)


@given(point, point, point)
@settings(max_examples=60)
def test_an_arc_passes_its_three_points_and_every_point_is_on_its_circle(a, b, c) -> None:
    sides = [np.linalg.norm(y - x) for x, y in ((a, b), (b, c), (a, c))]
    area = np.linalg.norm(np.cross(b - a, c - a))
    assume(min(sides) > 1e-3 and area > 1e-3 * sides[0] * sides[2])
    arc = Arc.through(a, b, c)
    at = np.linspace(0.0, arc.length_m, 400)
    points = arc.points_m(at)
    radii = np.linalg.norm(points - arc.circle.centre, axis=1)
    assert np.ptp(radii) <= 1e-9 * max(1.0, arc.circle.radius)
    assert points[0] == pytest.approx(a, abs=1e-9) and points[-1] == pytest.approx(c, abs=1e-9)
    assert np.linalg.norm(points - b, axis=1).min() <= arc.length_m / 399


def test_a_whole_circle_ends_where_it_began() -> None:
    arc = Arc.through(WAVE[0], WAVE[1], WAVE[2], whole_circle=True)
    first, last = arc.points_m(np.array([0.0, arc.length_m]))
    assert last == pytest.approx(first, abs=1e-12)
    assert arc.length_m == pytest.approx(2 * math.pi * arc.circle.radius)


def test_a_minus_goes_the_other_way_round() -> None:
    start, centre, axis = np.array([0.1, 0.0, 0.0]), np.zeros(3), np.array([0.0, 0.0, 1.0])
    ends = [Arc.about(start, centre, axis, angle).points_m(np.array([0.05 * math.pi]))[0] for angle in (2.0, -2.0)]
    assert ends[0] == pytest.approx([0.0, 0.1, 0.0], abs=1e-12)
    assert ends[1] == pytest.approx([0.0, -0.1, 0.0], abs=1e-12)


def test_three_points_on_a_line_are_refused_with_the_distance_that_would_do() -> None:
    # 200 mm long: the middle one has to be off the line by more than a millionth of the way to it.
    with pytest.raises(CommandError) as caught:
        Arc.through(np.zeros(3), np.array([0.1, 0.0, 0.0]), np.array([0.2, 0.0, 0.0]))
    assert "the middle one is 0.0000 mm off it" in str(caught.value)
    assert caught.value.allowed == "more than 0.001 mm off the line through the others, or a line in its place"
    Arc.through(np.zeros(3), np.array([0.1, 2e-6, 0.0]), np.array([0.2, 0.0, 0.0]))


@pytest.mark.parametrize(("two", "words"), [((0, 0, 1), "first and the second"), ((0, 1, 0), "first and the third")])
def test_a_point_given_twice_is_named(two, words) -> None:
    with pytest.raises(CommandError, match=words):
        Arc.through(*(WAVE[k] for k in two))


def test_an_arc_whose_start_is_out_of_its_plane_is_refused_with_how_far() -> None:
    with pytest.raises(CommandError, match=r"3\.000 mm out of the plane"):
        Arc.about(np.array([0.1, 0.0, 0.003]), np.zeros(3), np.array([0.0, 0.0, 1.0]), 1.0)


def test_a_spline_passes_its_points_in_their_order() -> None:
    curve = SplineCurve(WAVE)
    assert curve.points_m(curve.knots) == pytest.approx(WAVE, abs=1e-12)


@pytest.mark.parametrize("closed", [False, True])
def test_a_spline_jumps_neither_in_speed_nor_in_acceleration(closed: bool) -> None:
    curve = SplineCurve(WAVE, closed=closed)
    inner, step = curve.knots[1:-1], 1e-7
    before, after = (curve.derivatives_m(inner + side * step) for side in (-1.0, 1.0))
    assert after == pytest.approx(before, abs=1e-5)
    bends = [
        (curve.derivatives_m(inner + k * step) - curve.derivatives_m(inner + (k - 1) * step)) / step for k in (0, 1)
    ]
    assert bends[1] == pytest.approx(bends[0], abs=1e-3 * np.abs(bends[0]).max())


def test_a_closed_spline_goes_on_as_it_began() -> None:
    curve = SplineCurve(WAVE, closed=True)
    ends = np.array(curve.domain)
    assert np.ptp(curve.points_m(ends), axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert np.ptp(curve.derivatives_m(ends), axis=0) == pytest.approx(np.zeros(3), abs=1e-9)


def test_a_point_twice_in_a_row_is_refused_with_both_numbers() -> None:
    with pytest.raises(CommandError, match="points 2 and 3 are one"):
        SplineCurve(WAVE[[0, 1, 1, 2]])
    with pytest.raises(CommandError, match="points 4 and 1 are one"):
        SplineCurve(WAVE[[0, 1, 2, 0]], closed=True)


def test_a_parameter_that_runs_downwards_leads_from_its_start_to_its_end() -> None:
    class Falling:
        domain = (2.0, 0.5)

        def points_m(self, parameter):
            return np.stack([parameter**2, parameter, 0 * parameter], axis=1)

        def derivatives_m(self, parameter):
            return np.stack([2 * parameter, np.ones_like(parameter), 0 * parameter], axis=1)

        def normals(self, parameter):
            return None

    path = CurvePath(Falling())
    first, last = path.points_m(np.array([0.0, path.length_m]))
    assert first == pytest.approx([4.0, 2.0, 0.0], abs=1e-9) and last == pytest.approx([0.25, 0.5, 0.0], abs=1e-9)
    assert path.directions(np.array([0.1]))[0, 0] < 0.0
    back = Reversed(path)
    assert back.points_m(np.zeros(1))[0] == pytest.approx(last)
    assert back.directions(np.array([0.0])) == pytest.approx(-path.directions(np.array([path.length_m])))


def test_a_curve_that_stands_still_is_refused_with_the_place() -> None:
    class Stuck:
        domain = (0.0, 2.0)

        def points_m(self, parameter):
            return np.stack([np.minimum(parameter, 1.0), 0 * parameter, 0 * parameter], axis=1)

        def derivatives_m(self, parameter):
            return np.stack([(parameter < 1.0) * 1.0, 0 * parameter, 0 * parameter], axis=1)

        def normals(self, parameter):
            return None

    with pytest.raises(CommandError, match="stands still at parameter 1"):
        CurvePath(Stuck())
