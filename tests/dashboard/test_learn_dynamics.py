"""Lessons in a window: torques, runs, free falls and searches, beside what the commands print."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

import csv  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import msgspec  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from lesson_views import fault_of, here, printed, run, type_into, waited  # noqa: E402
from PySide6.QtCore import Qt  # noqa: E402
from PySide6.QtGui import QColor  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402

from hil.control.summary import JointSummary  # noqa: E402
from hil.dashboard.learn.plot import Line, LinePlot  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.dashboard.theme import THEMES, Theme, contrast  # noqa: E402
from hil.lessons.dynamics import PARTS  # noqa: E402

Make = Callable[..., Any]
NEEDED, RUN, FALL = range(3)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are done in this process."""
    monkeypatch.setattr(Work, "start", here)


@pytest.fixture
def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No job is begun."""
    monkeypatch.setattr(Work, "start", lambda work, *job: None)


def opened(make_lessons: Make, view: str = "dynamics", robot: str = "puma560", **fields: str) -> Any:
    window = make_lessons(robot, view)
    shown = window.shell.view
    for key, text in {"duration": "0.2", "rate": "200", **fields}.items():
        type_into(shown.form, key, text)
    return shown


def test_torques_of_a_motion_are_those_of_the_command(make_lessons: Make, at_once: None) -> None:
    """Largest, rms and parts, joint by joint; the parts add up."""
    view = opened(make_lessons)
    view.begin()
    told = printed(view.command_text())
    assert "--inverse" in view.command_text()
    assert [row[1] for row in view.table.texts()] == [
        f"{joint['largest']:z.4g} {joint['unit']}" for joint in told["joints"]
    ]
    needed = view.needed
    assert np.allclose(sum(needed.parts), needed.total)
    assert np.allclose(
        needed.total - needed.parts[PARTS.index("friction")],
        view.robot.inverse_dynamics(needed.q, needed.speed, needed.acceleration),
    )
    view.joint.setCurrentIndex(2)
    assert len(view.torques.lines) == 1 + len(PARTS)


def test_the_columns_of_the_torques_are_those_of_the_command(make_lessons: Make, at_once: None, tmp_path: Path) -> None:
    """The table that the shell exports, number by number."""
    view = opened(make_lessons)
    view.begin()
    file = tmp_path / "needed.csv"
    assert run(f"{view.command_text()} -o {file}").exit_code == 0
    heads, *rows = csv.reader(file.read_text(encoding="utf-8").splitlines())
    sheet = view.data()
    assert tuple(heads) == sheet.heads
    assert np.allclose(np.array(rows, float), np.array(sheet.rows, float), rtol=1e-7, atol=1e-9)


def test_wanted_and_actual_are_those_of_the_command(make_lessons: Make, at_once: None) -> None:
    """Errors by joint; the plotted error is wanted minus actual."""
    view = opened(make_lessons)
    view.what.setCurrentIndex(RUN)
    told = printed(view.command_text())
    assert [row[3] for row in view.table.texts()] == [
        msgspec.convert(joint, JointSummary).error_text(joint["largest_error"]) for joint in told["joints"]
    ]
    assert view.run.summary.cost == pytest.approx(told["cost"])
    wanted, actual = view.places.lines[1], view.places.lines[0]
    assert np.allclose(view.errors.lines[0].y, wanted.y - actual.y)
    assert f"{told['energy_j']['drift']:.2%}" in view.figures.toPlainText()


def test_a_free_fall_is_played_and_keeps_its_energy(make_lessons: Make, at_once: None) -> None:
    """The arm of the picture is the one of the run, moment by moment."""
    view = opened(make_lessons, robot="planar-2r", duration="0.3")
    view.what.setCurrentIndex(FALL)
    told = printed(view.command_text())
    assert view.run.book.drift == pytest.approx(told["energy_j"]["drift"])
    assert view.run.book.potential_end == pytest.approx(told["energy_j"]["potential_end"])
    line = view.timeline()
    assert line.duration_s == pytest.approx(0.3)
    end = view.picture(line.duration_s).arms[0].frames
    assert np.allclose(end, view.robot.link_frames(view.run.trace.actual[-1]))


WRONG = [
    ("to", "J9=10", "no joint 'J9'"),
    ("to", "1,2", "numbers given"),
    ("start", "x", "'x' is no number"),
    ("reference", "loop", "loop given"),
    ("duration", "-1", "-1"),
    ("duration", "soon", "'soon' given"),
    ("settle", "-1", "settling time"),
    ("payload", "-2", "payload"),
    ("gravity", "1,2", "three numbers"),
    ("law", "best", "best given"),
    ("kp", "100", "kp without kd"),
    ("kd", "a", "'a' is no number"),
    ("ki", "-1", "ki of"),
    ("bandwidth", "0", "bandwidth"),
    ("rate", "0", "rate"),
    ("delay", "-1", "delay"),
    ("noise", "-1", "noise"),
    ("resolution", "-1", "resolution"),
    ("torque_limit", "-1", "torque_limit"),
    ("disturb", "J2", "JOINT:NM"),
]


def test_a_wrong_field_of_an_experiment_says_so(make_lessons: Make, unasked: None) -> None:
    """In the command's words; the last good experiment stays, and undo brings the text back."""
    view = opened(make_lessons)
    before, good = view.form.typed, view.form.experiment()
    for key, text, words in WRONG:
        type_into(view.form, key, text)
        assert words in fault_of(view.form, key), key
        assert view.form.experiment() == good
        view.undo()
        assert view.form.typed == before
        assert fault_of(view.form, key) == ""


def test_an_arm_without_masses_runs_with_an_estimate(make_lessons: Make, at_once: None) -> None:
    """And says so; the command has the option."""
    view = opened(make_lessons, robot="crs-a255")
    assert "estimated" in view.note.text()
    view.begin()
    assert "--estimate-masses" in view.command_text()
    assert printed(view.command_text())["ticks"] == len(view.needed.time_s)


def searched(make_lessons: Make, vary: str = "kp=10:2000:x3 kd=10:200:x3") -> Any:
    view = opened(make_lessons, "tuning", vary=vary)
    view.search()
    return view


def test_a_search_is_the_one_of_the_command(
    make_lessons: Make, at_once: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Best settings, costs, unstable ones, before and after."""
    monkeypatch.chdir(tmp_path)
    view = searched(make_lessons)
    told = printed(view.command_text())
    assert view.found.unstable == told["unstable"] and view.found.done == told["done"] == 9
    assert [row[1] for row in view.best.texts()] == [f"{row['cost']:.6g}" for row in told["best"]]
    shown = [row[1] for row in view.compared.texts()]
    assert shown == [f"{each['summary']['cost_s']:.5g} s" for each in told["runs"]]


def test_a_cell_opens_its_run(make_lessons: Make, at_once: None) -> None:
    """By key and by click; its cost is that of the cell."""
    view = searched(make_lessons)
    QTest.keyClick(view.map, Qt.Key.Key_Right)
    QTest.keyClick(view.map, Qt.Key.Key_Return)
    at = view.map.chosen
    assert view.opened.summary.cost == pytest.approx(view.map.map.cost[at])
    assert view.compared.texts()[-1][0] == view.opened.name
    assert len(view.errors.lines) == 3
    view.map.resize(300, 240)
    QTest.mouseClick(view.map, Qt.MouseButton.LeftButton, pos=view.map.cell(2, 2).center().toPoint())
    assert view.map.chosen == (2, 2)
    assert view.opened.summary.cost == pytest.approx(view.map.map.cost[2, 2])


def test_unstable_cells_are_hatched_and_missing_ones_are_empty() -> None:
    """Seen in the pixels: one colour for a cost, two for a hatch, the panel's for nothing."""
    from hil.control.search import Axis
    from hil.dashboard.learn.heat_map import RAMP, SCALE, HeatMapWidget
    from hil.lessons.tuning import HeatMap

    axis = Axis(name="kp", values=(1.0, 2.0, 3.0))
    widget = HeatMapWidget()
    widget.resize(360, 240)
    widget.show_map(HeatMap(axis, axis, np.array([[1.0, np.inf, np.nan]]), np.array([[0, 1, -1]])))
    widget.choose(0, 0)
    image = widget.grab().toImage()

    def colours(column: int) -> set[str]:
        place = widget.cell(0, column).adjusted(6, 6, -6, -6).toRect()
        xs, ys = range(place.left(), place.right(), 3), range(place.top(), place.bottom(), 3)
        return {image.pixelColor(x, y).name() for x in xs for y in ys}

    assert [min(len(colours(column)), 2) for column in range(3)] == [1, 2, 1]
    assert colours(0) != colours(2)
    ends = [image.pixelColor(int(x), int(SCALE.center().y())).name() for x in (SCALE.left(), SCALE.right() - 1)]
    assert [QColor(end).lightness() for end in ends] == pytest.approx(
        [QColor(RAMP[k]).lightness() for k in (0, -1)], abs=4
    )
    assert widget.words(0, 1).endswith("unstable") and widget.words(0, 2).endswith("not run yet")
    widget.deleteLater()


def test_costs_are_searched_for_their_range_once_for_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each of its cells, and not anew for each painting."""
    from hil.control.search import Axis
    from hil.dashboard.learn import heat_map
    from hil.lessons.tuning import HeatMap

    looked: list[int] = []
    usual = heat_map._range_of
    monkeypatch.setattr(heat_map, "_range_of", lambda cost: (looked.append(cost.size), usual(cost))[1])
    axis = Axis(name="kp", values=tuple(map(float, range(1, 31))))
    widget = heat_map.HeatMapWidget()
    widget.show_map(HeatMap(axis, axis, np.ones((30, 30)), np.zeros((30, 30), int)))
    for _ in range(3):
        widget.grab()
    assert looked == [900]
    widget.deleteLater()


@pytest.mark.parametrize("cost", [1.0, 10.0, np.inf, np.nan])
@pytest.mark.parametrize("theme", THEMES.values())
def test_the_chosen_cell_is_seen_on_any_ground(cost: float, theme: Theme) -> None:
    from hil.control.search import Axis
    from hil.dashboard.learn.heat_map import HeatMapWidget
    from hil.lessons.tuning import HeatMap

    axis = Axis(name="kp", values=(1.0, 2.0, 3.0))
    widget = HeatMapWidget()
    widget.set_theme(theme)
    widget.resize(360, 240)
    widget.show_map(HeatMap(axis, axis, np.array([[cost, 1.0, 10.0]]), np.array([[0, 1, 2]])))
    image, place = widget.grab().toImage(), widget.cell(0, 0).toRect()
    ground = image.pixelColor(place.left() + 9, place.center().y()).name()
    frame = [image.pixelColor(place.left() + k, place.center().y()).name() for k in range(5)]
    assert max(contrast(ground, each) for each in frame) >= 3.0
    widget.deleteLater()


@pytest.mark.parametrize("lines", [1, 5, 14])
@pytest.mark.parametrize("width", [300, 560, 1000])
def test_the_key_of_a_plot_lies_above_its_curves(lines: int, width: int, qtbot: Any) -> None:
    plot = LinePlot("Torques", "time, s", "N m")
    qtbot.addWidget(plot)
    plot.resize(width, plot.height())
    plot.show()
    names = [f"J{k}, wanted and actual" for k in range(lines)]
    plot.show_lines([Line(name, np.arange(3.0), np.arange(3.0), dash=k) for k, name in enumerate(names)])
    qtbot.waitExposed(plot)
    plot.grab()
    item = plot.getPlotItem()
    key = item.titleLabel.item.mapRectToScene(item.titleLabel.item.boundingRect())
    curves = item.getViewBox().mapRectToScene(item.getViewBox().boundingRect())
    assert key.bottom() <= curves.top() + 1.0, "above"
    assert plot.rect().contains(key.toAlignedRect()), "and whole"
    assert plot.rect().contains(curves.toAlignedRect()) and curves.height() >= 80.0, "with room for the curves"
    assert all(name in item.titleLabel.item.toPlainText().replace("\xa0", " ") for name in names)


def test_a_wrong_range_keeps_the_last_good_one(make_lessons: Make, unasked: None) -> None:
    """And says what may stand there."""
    view = opened(make_lessons, "tuning")
    good = view.form.good["vary"]
    for text, words in (("kq=1:2:1", "NAME=FROM:TO:STEP"), ("", "nothing varies"), ("kp=1,2 kp=3,4", "varies twice")):
        type_into(view.form, "vary", text)
        assert words in fault_of(view.form, "vary")
        assert view.form.good["vary"] == good
        view.undo()
    assert fault_of(view.form, "vary") == ""


@pytest.mark.processes
def test_a_search_goes_on_where_it_was_stopped(make_lessons: Make) -> None:
    """It works in a process of its own; what was kept is shown."""
    view = searched(make_lessons, "kp=10:2000:x30 kd=10:200:x30")
    for _ in range(200):
        QTest.qWait(50)
        if view.found is not None and view.found.done:
            break
    view.bar.stop.click()
    assert not view.bar.work.busy
    view.search()
    waited(view, view.bar.work)
    assert view.found.done == 900 and len(view.runs) == 2
