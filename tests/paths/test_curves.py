"""Curves of formulas: files, families, places, closure; the worked shapes of the 3D-RAS paper with their numbers."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import hil
from hil.errors import CommandError, ConfigError, ConfigErrors
from hil.formula.errors import OutsideDomainError
from hil.model.files import find, list_names
from hil.paths.curve_file import CurveFormulaError, curve_from_table, load_curve
from hil.paths.curves import Placement, even_parameters_of, length_m
from hil.paths.reach import gaps_m

CM = 0.01


@pytest.fixture(scope="module")
def lynx6():
    return hil.load_robot("lynx6")


def bundled(name: str, index: int | None = None):
    return load_curve(find("curves", name), index=index)


def family_points_m(name: str):
    """All samples of a shape, curve after curve."""
    family = bundled(name).family
    numbers = [None] if family is None else range(1, family.count + 1)
    return np.vstack([bundled(name, index).points_m() for index in numbers])


def circle(**changes):
    table = {"title": "circle", "x": "100*cos(u)", "y": "100*sin(u)", "z": "50"}
    return {**table, "parameters": {"u": {"start": 0, "end": 360, "unit": "deg"}}, **changes}


# -- the worked shapes of 3D-RAS --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "samples", "inside"),
    [
        ("sphere", 28 * 28, 28 * 28),  # equations 34 to 36
        ("moebius-band", 28 * 28, 28 * 28),  # equations 31 to 33
        ("epicycloid", 70, 56),  # equations 28 to 30: 80 %
        ("pipes", 32, 17),  # equations 37 to 39: 53 %
        ("hyperbolic-paraboloid", 25 * 25, 157),  # equations 25 to 27: 25 %
    ],
)
def test_what_the_lengths_of_a_lynx6_allow_of_the_worked_shapes(lynx6, name: str, samples: int, inside: int) -> None:
    # 39 cm from the shoulder; a test of lengths alone, as the paper's equations 19 and 20 are meant.
    points = family_points_m(name)
    gaps = gaps_m(lynx6, points)
    assert (len(points), int(np.sum(gaps <= 0.0))) == (samples, inside)
    by_hand = np.linalg.norm(points - (0.0, 0.0, 0.1106), axis=1) - 0.39
    assert gaps == pytest.approx(np.maximum(by_hand, 0.0), abs=1e-9)


def test_the_farthest_sample_of_the_sphere_just_fits(lynx6) -> None:
    points = family_points_m("sphere")
    assert np.linalg.norm(points - (0.0, 0.0, 0.1106), axis=1).max() == pytest.approx(0.388, abs=5e-4)
    assert points[:, 2].min() == pytest.approx(0.0003, abs=5e-5)  # the ellipsoid touches the table


def test_the_rim_of_the_paraboloid_is_not_closed_before_two_pi() -> None:
    # 3D-RAS, equations 25 to 27 with u from 0 to 6: the gap is 2.82 cm, 2 * 10 cm * sin(3).
    rim = bundled("hyperbolic-paraboloid", 1)
    assert rim.closure_gap_m == pytest.approx(2 * 10 * CM * math.sin(3.0), abs=1e-12)
    assert rim.closure_gap_m / CM == pytest.approx(2.82, abs=0.005)


def test_every_point_of_the_seam_lies_on_both_pipes() -> None:
    # 3D-RAS, equations 37 to 39: r1 = 8, r2 = 9, shifted by (25, 25, 15) cm.
    x, y, z = (bundled("pipes").points_m(500) / CM - (25.0, 25.0, 15.0)).T
    assert np.hypot(x, y) == pytest.approx(8.0, abs=1e-12)
    assert np.hypot(y, z) == pytest.approx(9.0, abs=1e-12)
    assert bundled("pipes").closure_gap_m < 1e-12


def test_the_epicycloid_has_the_period_pi_and_does_not_end_where_it_began() -> None:
    epicycloid = bundled("epicycloid")
    curve = epicycloid.pieces[0].curve
    at = np.linspace(0.0, 20.0, 50)
    assert curve.points_m(at) == pytest.approx(curve.points_m(at + math.pi), abs=1e-12)
    assert epicycloid.closure_gap_m > 0.1


def test_the_band_has_one_edge() -> None:
    # Half a turn: after one round the edge at +v is the one at -v.
    (first, *_, last) = bundled("moebius-band", 28).points_m()
    middle = np.array([0.25, 0.2, 0.2])
    assert (last - middle)[0] == pytest.approx(-(first - middle)[0], abs=1e-12)
    assert bundled("moebius-band", 1).closure_gap_m < 1e-12


# -- predefined curves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list_names("curves"))
def test_a_bundled_curve_is_smooth_within_its_pieces_and_has_exact_derivatives(name: str) -> None:
    for piece in bundled(name).pieces[:12]:
        low, high = piece.curve.domain
        at = np.linspace(low, high, 9)[1:-1]
        step = 1e-5 * (high - low)
        slopes = (piece.curve.points_m(at + step) - piece.curve.points_m(at - step)) / (2 * step)
        assert piece.curve.derivatives_m(at) == pytest.approx(slopes, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", ["sphere", "torus", "plane"])
def test_normals_are_units_and_square_to_the_curve(name: str) -> None:
    curve = bundled(name).pieces[0].curve
    at = np.linspace(*curve.domain, 21)
    normals, along = curve.normals(at), curve.derivatives_m(at)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0)
    assert np.sum(normals * along, axis=1) == pytest.approx(0.0, abs=1e-12)


def test_the_normal_of_a_torus_points_away_from_its_ring() -> None:
    curve = bundled("torus").pieces[0].curve
    at = np.array([0.0, 90.0])
    points, normals = curve.points_m(at), curve.normals(at)
    ring = np.array([[0.27, 0.0, 0.13], [0.22, 0.05, 0.13]])
    assert normals == pytest.approx((points - ring) / 0.02, abs=1e-9)


def test_a_pole_has_no_normal_and_a_curve_alone_none_at_all() -> None:
    table = circle(x="cos(v)*cos(u)", y="cos(v)*sin(u)", z="sin(v)", along="u")
    table["parameters"]["v"] = {"start": -90, "end": 90, "unit": "deg", "count": 3, "index": 3}
    curve = curve_from_table(table, "pole.toml").pieces[0].curve
    with pytest.raises(CommandError, match="no normal at u = 0"):
        curve.normals(np.array([0.0]))
    assert bundled("helix").pieces[0].curve.normals(np.array([0.0])) is None


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_curve_of_a_family_is_chosen_by_its_index() -> None:
    table = circle(x="v*cos(u)", y="v*sin(u)", along="u")
    table["parameters"]["v"] = {"start": 10, "end": 50, "count": 5}
    for index, radius_m in ((None, 0.01), (1, 0.01), (3, 0.03), (5, 0.05)):
        read = curve_from_table(table, "rings.toml", index=index)
        assert np.hypot(*read.points_m()[:, :2].T) == pytest.approx(radius_m)
    table["parameters"]["v"]["index"] = 4
    assert curve_from_table(table, "rings.toml").family.value == 40.0


def test_a_surface_takes_its_coordinates_as_parameters() -> None:
    # 3D-RAS, surface trajectories y = f(x1, x2): x and z are the plane, y the height over it.
    table = {"title": "surface", "unit": "cm", "y": "10 + x*z/10", "along": "z"}
    table["parameters"] = {"x": {"start": 1, "end": 5, "count": 5, "index": 2}, "z": {"start": 0, "end": 20}}
    points = curve_from_table(table, "surface.toml").points_m(3)
    assert points == pytest.approx(np.array([[0.02, 0.10, 0.0], [0.02, 0.12, 0.1], [0.02, 0.14, 0.2]]))


def test_units_and_constants_count() -> None:
    for unit, metres in (("mm", 1e-3), ("cm", 1e-2), ("m", 1.0)):
        read = curve_from_table(circle(x="r*cos(u)", y="r*sin(u)", constants={"q": 2, "r": "q/2"}, unit=unit), "c.toml")
        assert np.hypot(*read.points_m()[:, :2].T) == pytest.approx(metres)


def test_a_curve_is_scaled_then_turned_then_shifted() -> None:
    place = {"scale": 2.0, "turn_deg": [90, 0, 90], "shift_mm": [1, 2, 3]}
    plain, placed = curve_from_table(circle(), "c.toml"), curve_from_table(circle(place=place), "c.toml")
    x, y, z = 1e3 * plain.points_m().T
    # About X: (x, -z, y); then about Z: (z, x, y).
    assert 1e3 * placed.points_m() == pytest.approx(np.stack([2 * z + 1, 2 * x + 2, 2 * y + 3], axis=1))
    at = np.array([30.0])
    turned = placed.pieces[0].curve.derivatives_m(at)
    assert turned == pytest.approx(
        2 * plain.pieces[0].curve.derivatives_m(at) @ Placement(turn_deg=(90, 0, 90)).rotation.T
    )


def test_samples_at_equal_lengths_have_constant_speed() -> None:
    # 3D-RAS, constant speed along the curve: within 1 %.
    ellipse = bundled("ellipse").pieces[0].curve
    steps = np.linalg.norm(np.diff(ellipse.points_m(even_parameters_of(ellipse, 400)), axis=0), axis=1)
    assert steps.max() / steps.min() < 1.001
    # Its length by elliptic integrals: 4 a E(1 - (b / a)^2), a = 80, b = 40 mm.
    assert length_m(ellipse.points_m(np.linspace(0, 360, 20001))) == pytest.approx(0.3875379, rel=1e-6)


def test_a_word_is_sampled_with_its_corners() -> None:
    word = curve_from_table({"title": "L", "text": "L", "height_mm": 60}, "l.toml")
    points = 1e3 * word.points_m(11)
    assert len(points) == 11
    assert np.min(np.linalg.norm(points - (0.0, 0.0, 0.0), axis=1)) < 1e-9  # the corner of the L


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"x": "100*coss(u)"}, "x", "x, column 5: no function is called coss"),
        ({"x": "100,5*cos(u)"}, "x", "Write 100.5 for 100,5"),
        ({"z": "w"}, "z", "z, column 1: nothing is called w; allowed: u, pi, e, deg"),
        ({"z": "u/0"}, "z", "whatever the variables are"),
        ({"z": ""}, "z", "z, column 1: there is no formula"),
        ({"z": "\N{FULLWIDTH DIGIT ONE}*u"}, "z", "z, column 1: '\N{FULLWIDTH DIGIT ONE}' found"),
        ({"z": None}, "z", "a formula, or a parameter called z"),
        ({"unit": "inch"}, "unit", "'cm' or 'm' or 'mm'"),
        ({"samples": 1}, "samples", ">= 2"),
        ({"sample": 5}, "sample", "Did you mean `samples`?"),
        ({"along": "v"}, "along", "a parameter: u"),
        ({"parameters": {}}, "parameters", "one or two tables"),
        ({"parameters": {"u": {"start": 1, "end": 1}}}, "parameters.u.end", "another value than start"),
        ({"parameters": {"u": {"start": -1e308, "end": 1e308}}}, "parameters.u.end", "a finite way from start"),
        ({"parameters": {"u": {"start": 0, "end": "2*pie"}}}, "parameters.u.end", "Did you mean pi?"),
        ({"parameters": {"u": {"start": 0, "end": math.nan}}}, "parameters.u.end", "a finite number"),
        ({"parameters": {"u": {"start": 0, "end": 1, "count": 3}}}, "parameters.u.count", "u runs along the curve"),
        ({"parameters": {"u": {"start": 0, "end": 1}, "v": {"start": 0, "end": 1, "count": 2}}}, "along", "u or v"),
        (
            {"parameters": {"u": {"start": 0, "end": 1}, "v": {"start": 0, "end": 1}}, "along": "u"},
            "parameters.v.count",
            "how many curves",
        ),
        (
            {
                "parameters": {"u": {"start": 0, "end": 1}, "v": {"start": 0, "end": 1, "count": 4, "index": 5}},
                "along": "u",
            },
            "parameters.v.index",
            "1 to 4, which is its count",
        ),
        ({"parameters": {"sin": {"start": 0, "end": 1}}}, "parameters", "'sin' is a word of every formula"),
        ({"constants": {"pi r": 3}}, "constants.pi r", "cannot be a name"),
        ({"constants": {"r": "1/0"}}, "constants.r", "1 divided by 0"),
        ({"constants": {"u": 1}}, "constants.u", "a parameter has this name"),
        ({"height_mm": 20}, "height_mm", "only together with text"),
        ({"place": {"scale": 0}}, "place.scale", ">= 0.001"),
    ],
)
def test_a_wrong_file_is_answered_by_its_key(changes, key: str, words: str) -> None:
    table = {name: value for name, value in circle(**changes).items() if value is not None}
    with pytest.raises(ConfigError) as caught:
        curve_from_table(table, "c.toml")
    faults = caught.value.faults if isinstance(caught.value, ConfigErrors) else (caught.value,)
    assert words in str(next(fault for fault in faults if fault.key == key))
    assert str(caught.value).startswith("c.toml: ")


def test_a_wrong_formula_carries_its_error() -> None:
    with pytest.raises(CurveFormulaError) as caught:
        curve_from_table(circle(y="100*sinn(u)"), "c.toml")
    assert (caught.value.file, caught.value.key, caught.value.error.column) == ("c.toml", "y", 5)
    assert str(caught.value).endswith("\n    100*sinn(u)\n        ^")


def test_several_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigErrors) as caught:
        curve_from_table(circle(x="coss(u)", y="sin(w)"), "c.toml")
    assert [fault.key for fault in caught.value.faults] == ["x", "y"]


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"text": "CAFÉ", "height_mm": 20}, "text", "'É' cannot be written"),
        ({"text": "CAFE"}, "height_mm", "the height of the letters"),
        ({"text": "CAFE", "height_mm": 20, "x": "1"}, "x", "no such key beside text"),
        ({"text": "CAFE", "height_mm": 20, "constants": {"r": 1}}, "constants", "no such table beside text"),
    ],
)
def test_a_wrong_word_is_answered_by_its_key(changes, key: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        curve_from_table({"title": "word", **changes}, "w.toml")
    assert caught.value.key == key


@pytest.mark.parametrize(("index", "allowed"), [(0, "1 to 28"), (29, "1 to 28"), (-1, "1 to 28")])
def test_an_index_outside_the_family_is_refused(index: int, allowed: str) -> None:
    with pytest.raises(CommandError, match=f"curve {index} of its family; allowed: {allowed}"):
        bundled("sphere", index)


@pytest.mark.parametrize("name", ["helix", "word"])
def test_one_curve_alone_has_no_index(name: str) -> None:
    with pytest.raises(CommandError, match="no index, it is one curve alone"):
        bundled(name, 1)


def test_a_formula_outside_its_domain_is_told_with_file_coordinate_and_place() -> None:
    read = curve_from_table(circle(z="sqrt(4 - u)"), "c.toml")  # u is seen in radians
    with pytest.raises(OutsideDomainError) as caught:
        read.points_m(5)
    assert str(caught.value).startswith("c.toml: z, column 1: outside its domain at u = 270 deg: sqrt of -0.712389")
    assert caught.value.sample == 3


@pytest.mark.parametrize(
    ("z", "words"),
    [
        ("1e200*u^100", "z, column 1: outside its domain at u = 90 deg: 4.09249e+216 m; allowed: up to 1e+06 m"),
        ("2e9", "z, column 1: outside its domain at u = 0 deg: 2e+06 m; allowed: up to 1e+06 m"),
    ],
)
def test_a_place_where_no_arm_ever_is_is_told_and_nothing_is_worked_out_from_it(z: str, words: str) -> None:
    with pytest.raises(OutsideDomainError, match=re.escape(words)):
        curve_from_table(circle(z=z), "c.toml").points_m(5)


@pytest.mark.parametrize("count", [1, 0, -5, 100_001])
def test_a_number_of_samples_that_cannot_be(count: int) -> None:
    with pytest.raises(CommandError, match="allowed: 2 to 100000"):
        bundled("helix").points_m(count)


def test_a_file_that_is_not_there_or_no_toml(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a readable curve file"):
        load_curve(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("title = ", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"bad\.toml"):
        load_curve(tmp_path / "bad.toml")
    (tmp_path / "long.toml").write_text("#" * 200_000, encoding="utf-8")
    with pytest.raises(ConfigError, match="more than 100000 bytes"):
        load_curve(tmp_path / "long.toml")
