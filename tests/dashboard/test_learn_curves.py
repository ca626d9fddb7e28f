"""Lessons in a window: a curve of formulas, beside what the command prints."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

import tomllib  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from lesson_views import fault_of, here, run, type_into  # noqa: E402

from hil.dashboard.learn.curves import CurvesView  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.lessons.curves import FIELDS  # noqa: E402
from hil.paths.curve_file import load_curve  # noqa: E402
from hil.paths.curve_samples import read_samples  # noqa: E402

Make = Callable[..., Any]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are done in this process, and do not wait for more to be typed."""
    monkeypatch.setattr(Work, "start", here)
    monkeypatch.setattr(CurvesView, "_ask_soon", CurvesView._ask)


@pytest.fixture
def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No job is begun."""
    monkeypatch.setattr(Work, "start", lambda work, *job: None)


def opened(make_lessons: Make, curve: str = "ellipse") -> Any:
    window = make_lessons("lynx6", "curves")
    view = window.shell.view
    if curve != "sphere":
        view.load(curve)
    return view


def told(view: Any) -> Any:
    import json

    outcome = run(f"{view.command_text()} --json")
    assert outcome.exit_code in (0, 1), outcome.output
    return json.loads(outcome.stdout)


def test_a_curve_is_the_one_of_the_command(make_lessons: Make, at_once: None) -> None:
    """Samples, gap, reach and reasons, of the curve of the family that is chosen."""
    view = opened(make_lessons, "sphere")
    view.number.setValue(5)
    printed = told(view)
    assert "--index 5" in view.command_text()
    assert np.allclose(view.points_m * 1e3, printed["points_mm"], atol=1e-9)
    assert view.answer.reach.share == printed["share"]
    assert list(view.answer.reach.reasons) == printed["reasons"]
    assert view.answer.gap_m * 1e3 == pytest.approx(printed["closure_gap_mm"])
    assert printed["family"]["index"] == 5


def test_what_is_not_reached_is_another_colour_and_says_why(make_lessons: Make, at_once: None) -> None:
    """And nothing of it is sent to a preview."""
    view = opened(make_lessons)
    assert view.task_text()
    type_into(view.form, "shift_mm", "250, 0, 0")
    reach = view.answer.reach
    assert sum(not reached for reached in reach.reached) > 0
    by_colour = {points.colours: len(points.places) for points in view.picture(0.0).points}
    assert by_colour.get("bad") == sum(not reached for reached in reach.reached)
    assert reach.reasons[reach.first_outside] in view.figures.toPlainText()
    assert view.task_text() == ""
    assert told(view)["share"] == reach.share


def test_a_surface_is_drawn_curve_by_curve(make_lessons: Make, at_once: None) -> None:
    """All of the sphere's circles lie on its ellipsoid."""
    view = opened(make_lessons, "sphere")
    surface = view.answer.surface
    assert surface.shape[0] == 24
    place = (surface.reshape(-1, 3) - (0.2, 0.2, 0.15)) / (0.1, 0.1, 0.15)
    assert np.allclose(np.linalg.norm(place, axis=1), 1.0, atol=1e-9)
    assert sum(lines.colour == "faint" for lines in view.picture(0.0).lines) == 24


def test_with_equal_lengths_the_speed_is_constant(make_lessons: Make, at_once: None) -> None:
    """Within a hundredth, and as the samples of the command have it."""
    view = opened(make_lessons)
    uneven = view.speeds.lines[0].y
    view.even.setChecked(True)
    even = view.speeds.lines[0].y
    assert np.ptp(even) < 0.01 * even.mean() < np.ptp(uneven)
    assert view.command_text().endswith("--even")
    assert np.allclose(view.points_m * 1e3, told(view)["points_mm"], atol=1e-9)


def test_samples_for_the_arm_are_those_of_the_command(make_lessons: Make, at_once: None, tmp_path: Path) -> None:
    """Robot, time step and joints; read back as they were."""
    view = opened(make_lessons)
    file = tmp_path / "mine.csv"
    file.write_text(view.samples_text(), encoding="utf-8")
    theirs = tmp_path / "theirs.csv"
    assert run(f"{view.command_text()} --csv {theirs}").exit_code == 0
    one, other = read_samples(file), read_samples(theirs)
    assert one.head == other.head
    assert np.allclose(one.points_mm, other.points_mm) and np.allclose(one.positions, other.positions)


WRONG = [
    ("x", "265 + coss(u)", "column 7: no function is called coss"),
    ("z", "sqrt(u - 1)", "column 1: no value at"),
    ("constants", "a", "NAME = VALUE"),
    ("p1.start", "", "nothing given"),
    ("p1.unit", "turns", "'turns' given"),
    ("p1.name", "2u", ""),
    ("unit", "feet", "'feet' given"),
    ("samples", "many", "a whole number"),
    ("samples", "1", "1 given"),
    ("shift_mm", "1, 2", "three numbers"),
    ("turn_deg", "a, b, c", "three numbers"),
    ("scale", "0", "0.0 given"),
    ("title", "", "nothing given"),
    ("along", "w", "a parameter"),
    ("index", "2", ""),
    ("p2.start", "1", ""),
    ("dt", "0", "more than 0"),
]


def test_a_wrong_field_says_where_and_undo_brings_it_back(make_lessons: Make, unasked: None) -> None:
    """The last good curve stays."""
    view = opened(make_lessons)
    before = view.form.typed
    points = view.points_m.copy()
    for field, text, words in WRONG:
        type_into(view.form, field, text)
        faults = {key: fault_of(view.form, key) for key in view.form.fields}
        assert any(words in fault for fault in faults.values() if fault), (field, faults)
        assert np.array_equal(view.points_m, points)
        view.undo()
        assert view.form.typed == before
        assert not any(fault_of(view.form, key) for key in view.form.fields), field


def test_two_wrong_fields_keep_a_third_alive(make_lessons: Make, unasked: None) -> None:
    """What is right counts at once."""
    view = opened(make_lessons)
    type_into(view.form, "x", "nonsense(")
    type_into(view.form, "unit", "feet")
    points = view.points_m.copy()
    type_into(view.form, "shift_mm", "0, 0, 10")
    assert fault_of(view.form, "x") and fault_of(view.form, "unit")
    assert np.allclose(view.points_m - points, (0.0, 0.0, 0.010))


def test_a_drag_puts_the_middle_there(make_lessons: Make, unasked: None) -> None:
    """And the command shows the curve at its new place, out of a file of the user's own."""
    view = opened(make_lessons)
    view.picked((0.2, 0.02, 0.16))
    assert np.allclose(view.points_m.mean(axis=0), (0.2, 0.02, 0.16), atol=1e-4)
    assert "lesson-curve" in view.command_text()
    assert np.allclose(view.points_m * 1e3, told(view)["points_mm"], atol=1e-9)


def test_the_task_is_previewed_as_it_is(make_lessons: Make, at_once: None, tmp_path: Path) -> None:
    """The shell's button hands over a file that holds the curve."""
    window = make_lessons("lynx6", "curves")
    view = window.shell.view
    view.load("plane")
    window.shell.send.click()
    assert len(window.sent) == 1
    task = tomllib.loads(window.sent[0].read_text(encoding="utf-8"))
    assert task["step"][0]["do"] == "curve" and "parameters" in task["step"][0]["curve"]
    outcome = run(f"hil preview lynx6 {window.sent[0]}")
    assert outcome.exit_code == 0, outcome.output


def test_every_field_is_a_key_of_a_file(make_lessons: Make, unasked: None, tmp_path: Path) -> None:
    """The copied file reads back as the same curve."""
    view = opened(make_lessons, "sphere")
    assert set(FIELDS) <= set(view.form.fields)
    words, text = view.entries()[0]
    assert "TOML" in words
    file = tmp_path / "curve.toml"
    file.write_text(text(), encoding="utf-8")
    assert np.array_equal(load_curve(file).points_m(), view.points_m)


def test_time_goes_from_sample_to_sample(make_lessons: Make, at_once: None) -> None:
    """The arm's tool is at the sample, and a step goes back exactly."""
    view = opened(make_lessons)
    line = view.timeline()
    assert len(line.moments) == len(view.points_m)
    time_s = line.stepped(0.0, 3)
    tool = view.picture(time_s).arms[0].frames[-1, :3, 3]
    assert np.allclose(tool, view.points_m[3], atol=1e-6)
    assert line.stepped(time_s, -3) == 0.0
