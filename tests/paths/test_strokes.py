"""Letters and words as strokes."""

from __future__ import annotations

import math
import string
from itertools import combinations, pairwise

import numpy as np
import pytest

from hil.errors import CommandError
from hil.paths.strokes import GAP, HEIGHT, ArcPiece, LinePiece, letters, text_pieces


def _ends(piece):
    first, last = piece.curve.points_m(np.array(piece.curve.domain))
    return first, last


def _drawn(text: str, height_mm: float = 60.0):
    """Points of what is drawn, in millimetres."""
    pieces = text_pieces(text, height_mm, 10.0)
    return 1e3 * np.vstack([p.curve.points_m(np.linspace(*p.curve.domain, 181)) for p in pieces if p.pen_down])


def test_all_letters_and_digits_can_be_written() -> None:
    assert set(string.ascii_uppercase + string.digits + " .,-+=/!?:()") == set(letters())


@pytest.mark.parametrize("letter", [letter for letter in letters() if letter != " "])
def test_a_letter_is_drawn_inside_its_box_without_a_gap(letter: str) -> None:
    pieces = text_pieces(letter, 60.0, 10.0)
    for before, after in pairwise(pieces):
        assert np.allclose(_ends(before)[1], _ends(after)[0], atol=1e-9)
    points = _drawn(letter)
    low, high = points.min(axis=0), points.max(axis=0)
    assert low[0] >= -1e-6 and low[1] >= (-9.0 if letter == "," else -1e-6) - 1e-6
    assert high[0] <= 50.0 + 10.0 and high[1] <= 60.0 + 1e-6 and np.all(points[:, 2] == 0.0)
    if letter in string.ascii_uppercase + string.digits:
        assert low[1] < 0.5 and high[1] > 59.5


def test_no_two_letters_look_alike() -> None:
    shapes = {letter: _drawn(letter)[::10, :2] for letter in string.ascii_uppercase + string.digits}
    for (one, points), (other, others) in combinations(shapes.items(), 2):
        distances = np.linalg.norm(points[:, None] - others[None], axis=2)
        assert max(distances.min(axis=0).max(), distances.min(axis=1).max()) > 6.0, (one, other)


def test_between_strokes_the_pen_goes_up_across_and_down() -> None:
    pieces = text_pieces("H", 60.0, 10.0)
    assert [piece.pen_down for piece in pieces] == [True, False, False, False, True, False, False, False, True]
    up, across, down = pieces[1:4]
    for piece, way in ((up, (0, 0, 10)), (across, (40, -60, 0)), (down, (0, 0, -10))):
        first, last = _ends(piece)
        assert 1e3 * (last - first) == pytest.approx(way, abs=1e-9)


def test_letters_follow_each_other_with_a_gap_and_a_blank_is_wider() -> None:
    two, apart = _drawn("LL"), _drawn("L L")
    unit = 60.0 / HEIGHT
    assert two[:, 0].max() == pytest.approx(unit * (3.5 + GAP + 3.5))
    assert apart[:, 0].max() == pytest.approx(unit * (3.5 + GAP + 2.0 + GAP + 3.5))


def test_small_letters_are_written_as_large_and_height_scales() -> None:
    assert np.allclose(_drawn("abc"), _drawn("ABC"))
    assert np.allclose(_drawn("S", 30.0), 0.5 * _drawn("S", 60.0))


@pytest.mark.parametrize(
    ("text", "words"),
    [("CAFÉ", "character 4 of 'CAFÉ': 'É'"), ("   ", "0 letters to write"), ("A" * 201, "201 letters")],
)
def test_what_cannot_be_written_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        text_pieces(text, 60.0, 10.0)


@pytest.mark.parametrize(
    "piece",
    [
        LinePiece(start_m=(0.1, 0.0, 0.2), end_m=(0.0, 0.3, 0.2)),
        ArcPiece(centre_m=(0.1, 0.2, 0.0), radius_m=0.05, start_deg=90.0, end_deg=-150.0),
    ],
)
def test_pieces_have_exact_derivatives_and_the_normal_of_the_sheet(piece) -> None:
    at = np.linspace(*piece.domain, 7)[1:-1]
    step = 1e-6 * abs(piece.domain[1] - piece.domain[0])
    slopes = (piece.points_m(at + step) - piece.points_m(at - step)) / (2 * step)
    assert piece.derivatives_m(at) == pytest.approx(slopes, abs=1e-9)
    assert np.all(piece.normals(at) == (0.0, 0.0, 1.0))
    with pytest.raises(CommandError, match="the parameter of sample 0 is 999; allowed"):
        piece.points_m(np.array([999.0]))


def test_an_arc_is_as_long_as_its_angle() -> None:
    arc = ArcPiece(centre_m=(0.0, 0.0, 0.0), radius_m=0.05, start_deg=30.0, end_deg=270.0)
    points = arc.points_m(np.linspace(*arc.domain, 2001))
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).sum() == pytest.approx(0.05 * math.radians(240.0), rel=1e-5)
