"""Lessons as somebody meets them who has never seen them: clicked, scrolled, saved and sent for the first time."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

import re  # noqa: E402
import shlex  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from lesson_views import here, type_into  # noqa: E402
from PySide6.QtCore import QPoint, QPointF, Qt  # noqa: E402
from PySide6.QtGui import QColor, QGuiApplication  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QScrollArea, QWidget  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from hil.cli.app import app  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.dashboard.theme import THEMES  # noqa: E402
from hil.lessons.dh_table import COLUMNS  # noqa: E402
from hil.model.reader import load_robot  # noqa: E402
from hil.model.robot_text import robot_text  # noqa: E402

Make = Callable[..., Any]
A, END = COLUMNS.index("a"), COLUMNS.index("end")


@pytest.fixture(autouse=True)
def nothing_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Work, "start", lambda work, *job: None)


def ground(table: Any, row: int, column: int) -> str:
    """The colour of a cell beside its text, as it is seen."""
    cell = table.visualItemRect(table.item(row, column))
    at = table.viewport().mapTo(table, cell.bottomRight() - QPoint(6, 5))
    return str(table.grab().toImage().pixelColor(at).name())


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_a_chosen_cell_has_the_ground_of_what_is_wrong_or_moves(theme: Any, make_lessons: Make) -> None:
    """The cell that was just typed into is the chosen one."""
    window = make_lessons("lynx6")
    window.set_theme(theme)
    table = window.shell.view.sheet.table
    table.setCurrentCell(1, A)
    assert ground(table, 1, A) == QColor(theme.panel).name(), "what is only chosen is not lit"
    table.light((1, A))
    assert ground(table, 1, A) == QColor(theme.accent).name()
    table.light(None)
    table.item(1, A).setText("15o")
    assert ground(table, 1, A) == QColor(theme.bad).name()


def test_what_is_told_to_be_tried_after_saving_runs(make_lessons: Make) -> None:
    window = make_lessons("lynx6")
    view = window.shell.view
    view.sheet.table.item(1, A).setText("150")
    view.sheet.table.item(1, END).setText("75")
    view.sheet.save_name.edit.setText("paper-arm")
    view.sheet.save.click()
    found = re.search(r"try: (hil fk .*?), or: hil learn paper-arm", view.sheet.saved.text())
    assert found is not None
    outcome = CliRunner().invoke(app, shlex.split(found[1])[1:])
    assert outcome.exit_code == 0 and "Z 530.600 mm" in outcome.output
    assert view.sheet.table.item(1, END).text() == "75", "the motion that was typed stays"


def test_an_edited_robot_has_no_remarks_on_the_other_ones_numbers(make_lessons: Make) -> None:
    window = make_lessons("lynx6")
    view = window.shell.view
    for length in ("150", "160"):
        view.sheet.table.item(1, A).setText(length)
    assert window.shell.title.text() == "Lynx6 (edited)"
    assert load_robot("lynx6").notes and not view.good.model.notes


def test_a_row_is_chosen_by_its_number_which_has_the_colour_of_its_arm(make_lessons: Make) -> None:
    window = make_lessons("lynx6", "solutions")
    view = window.shell.view
    table, heads = view.sheet.table, view.sheet.table.verticalHeader()
    view.picked((0.2, 0.0, 0.15))
    assert len(view.result.solutions) > 1
    for row in (0, 1):
        at = QPoint(heads.width() // 2, heads.sectionViewportPosition(row) + 5)
        QTest.mouseClick(heads.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
        seen = table.verticalHeaderItem(row).icon().pixmap(10).toImage().pixelColor(5, 5)
        assert seen.name() == QColor(window.shell._theme.curves[row]).name()
    assert table.chosen == [0, 1] and view.motion is not None


def test_limits_are_told_in_one_sentence(make_lessons: Make) -> None:
    window = make_lessons("lynx6", "solutions")
    view = window.shell.view
    for field, text in zip(view.sheet.fields["point"], ("200", "0", "150", "30"), strict=False):
        field.edit.setText(text)
    view.sheet.typed.emit()
    assert "solutions within the limits: within reach, but only outside joint limits" in view.sheet.verdict.text()


def seen(part: QWidget, area: QScrollArea) -> bool:
    """All of it is within what is scrolled."""
    port = area.viewport()
    return bool(port.rect().contains(part.rect().translated(part.mapTo(port, QPoint()))))


def test_why_a_place_is_out_of_reach_comes_into_sight(make_lessons: Make) -> None:
    """Ctrl and a click in the scene, while the worksheet shows something else."""
    window = make_lessons("lynx6", "workspace")
    window.resize(1024, 600)
    area, sheet = window.shell.sheets.currentWidget(), window.shell.view.sheet
    sheet.show_segments([["base", "19", "18", "19", "0.00"]] * 5, [True] * 5)
    sheet.figures.show()
    QApplication.processEvents()
    assert not seen(sheet.place, area)
    window.shell.view.picked((2.0, 0.0, 0.0))
    assert seen(sheet.ways, area)
    assert sheet.ways.horizontalScrollBar().maximum() == 0, "the sentence is read to its end"


def test_what_was_sent_is_no_fault_and_a_preview_that_fails_says_why(make_lessons: Make, qtbot: Any) -> None:
    window = make_lessons("lynx6")
    shell = window.shell
    ends: list[str | None] = [None, None, "the local service did not start"]
    shell._send = lambda path, robot: lambda: ends.pop(0)
    shell.view.sheet.play.setCurrentIndex(2)
    shell.send.click()
    assert "in a window of its own" in shell.said.text()
    assert shell._theme.bad not in shell.said.styleSheet()
    qtbot.waitUntil(lambda: "did not start" in shell.said.text(), timeout=60_000)
    assert shell._theme.bad in shell.said.styleSheet()
    assert not shell._looks.isActive()


def whole(scene: Any) -> Any:
    """From where all of the picture is seen."""
    return scene._stage.first_camera(scene.width() / scene.height())


def test_an_arm_of_quite_another_size_is_seen_whole(make_lessons: Make) -> None:
    """The arm of the programs is twice as large; clouds have room all around."""
    window = make_lessons("lynx6")
    shell, scene = window.shell, window.shell.scene
    before = scene.camera
    shell.view.sheet.table.item(1, A).setText("130")
    assert scene.camera is before, "of a longer link one sees that it is longer"
    for name in ("programs", "workspace", "dh"):
        shell.show_view(name)
        assert scene.camera == whole(scene), name
    scene.look(mine := scene.camera.zoomed(0.5))
    shell.show_view("programs")
    assert scene.camera is mine, "somebody looks from elsewhere"


@pytest.mark.parametrize("robot", ["ur5", "lynx6", "stanford"])
def test_a_cloud_is_seen_whole(robot: str, make_lessons: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it reaches far below the floor."""
    monkeypatch.setattr(Work, "start", here)
    window = make_lessons(robot, "workspace")
    shell, scene = window.shell, window.shell.scene
    type_into(shell.view.sheet.form, "step_deg", "60")
    type_into(shell.view.sheet.form, "step_mm", "400")
    shell.view.sweep()
    for cloud in shell.view.reached.clouds:
        places, _ = scene.camera.project(np.asarray(cloud.points_m, float), scene.width(), scene.height())
        assert (places >= 0.0).all() and (places <= (scene.width(), scene.height())).all(), cloud.name
    scene.look(mine := scene.camera.zoomed(0.5))
    shell.view.sweep()
    assert scene.camera is mine, "somebody looks from elsewhere"


@pytest.mark.parametrize(("robot", "view"), [("kuka-kr5-arc", "dh"), ("planar-3r", "solutions"), ("ur5", "dh")])
def test_frames_are_seen_whole_with_their_letters(robot: str, view: str, make_lessons: Make) -> None:
    scene = make_lessons(robot, view).shell.scene
    ends, _ = scene._stage.frames(scene.camera)
    places, _ = scene.camera.project(ends.reshape(-1, 3), scene.width(), scene.height())
    assert (places >= 0.0).all() and (places <= (scene.width(), scene.height())).all()


def test_a_surface_of_curves_is_seen_whole(make_lessons: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Work, "start", here)
    window = make_lessons("lynx6", "curves")
    shell, scene = window.shell, window.shell.scene
    shell.view.load("sphere")
    type_into(shell.view.form, "shift_mm", "200, 200, 0")
    shell.view.bar.begin.click()
    ends = np.concatenate([lines.ends.reshape(-1, 3) for lines in shell.picture().lines])
    places, _ = scene.camera.project(ends, scene.width(), scene.height())
    assert (places >= 0.0).all() and (places <= (scene.width(), scene.height())).all()


def test_another_size_of_the_window_shows_all_of_a_still_picture(make_lessons: Make) -> None:
    window = make_lessons("lynx6", "specification")
    window.resize(1024, 600)
    QApplication.processEvents()
    scene = window.shell.scene
    assert scene.camera == whole(scene)


def turn_wheel(part: QWidget, keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """One notch down over its middle, as the window system tells it: what is passed on goes to what is around."""
    whole = part.window()
    at = QPointF(part.mapTo(whole, part.rect().center()))
    QTest.wheelEvent(whole.windowHandle(), at, QPoint(0, -120), QPoint(), keys)
    QApplication.processEvents()


@pytest.mark.parametrize("name", ["choice", "plot", "number"])
def test_the_wheel_scrolls_the_worksheet_over_lists_and_plots(name: str, make_lessons: Make) -> None:
    window = make_lessons("lynx6", "curves")
    window.resize(1024, 600)
    QApplication.processEvents()
    view, area = window.shell.view, window.shell.sheets.currentWidget()
    part = {"choice": view.choice, "plot": view.speeds.viewport(), "number": view.number}[name]
    before = (view.choice.currentText(), view.number.value(), view.speeds.viewRange()[0])
    turn_wheel(part)
    assert area.verticalScrollBar().value() > 0
    assert (view.choice.currentText(), view.number.value(), view.speeds.viewRange()[0]) == before
    if name == "plot":
        turn_wheel(part, Qt.KeyboardModifier.ControlModifier)
        assert view.speeds.viewRange()[0] != before[2], "with Ctrl it zooms"


def test_a_robot_of_a_file_can_be_chosen_again_and_is_itself_in_a_command(make_lessons: Make, tmp_path: Any) -> None:
    """Also one whose file somewhere is called as a robot that is known: the class's file beside what was saved."""
    files = [tmp_path / f"{name}.toml" for name in ("scara-of-mine", "planar-2r")]
    for file in files:
        file.write_text(robot_text(load_robot("planar-2r"), ()), encoding="utf-8")
        window = make_lessons(str(file))
        shell = window.shell
        shell.copy.click()
        assert shlex.split(QGuiApplication.clipboard().text())[2] == str(file)
    window = make_lessons(str(files[0]))
    for name in ("lynx6", "scara-of-mine"):
        window.shell.robots.setCurrentText(name)
        window.shell.robots.activated.emit(window.shell.robots.currentIndex())
        assert window.shell.model.id == name and not window.shell.said.text()
    sheet = window.shell.view.sheet
    sheet.table.item(0, A).setText("77")
    sheet.save_name.edit.setText("scara-of-mine")
    sheet.save.click()
    assert window.shell.model.joints[0].a_m == pytest.approx(0.077), "what was saved last has the name"


def test_rows_are_added_by_clicks_at_one_place(make_lessons: Make) -> None:
    """The button stays under the pointer while the table becomes longer."""
    window = make_lessons("planar-3r")
    sheet = window.shell.view.sheet
    QApplication.processEvents()
    before = sheet.add.mapTo(window, QPoint())
    sheet.add.click()
    QApplication.processEvents()
    assert sheet.table.rowCount() == 4 and sheet.add.mapTo(window, QPoint()) == before


@pytest.mark.parametrize(
    ("lesson", "key", "begin"),
    [
        ("workspace", "step_deg", lambda view: view.sheet.bar.begin),
        ("dynamics", "duration", lambda view: view.bar.begin),
        ("tuning", "vary", lambda view: view.bar.begin),
    ],
)
def test_nothing_is_begun_for_another_text_than_the_one_that_is_typed(
    lesson: str, key: str, begin: Any, make_lessons: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(Work, "start", lambda work, *job: begun.append(job))
    window = make_lessons("lynx6", lesson)
    view = window.shell.view
    form = view.sheet.form if lesson == "workspace" else view.form
    good = form.fields[key].text
    form.fields[key].edit.setText("1o")
    form.fields[key].edit.editingFinished.emit()
    begin(view).click()
    assert not begun and "mend it first" in window.shell.said.text()
    form.fields[key].edit.setText(good)
    form.fields[key].edit.editingFinished.emit()
    begin(view).click()
    assert begun and not window.shell.said.text()


@pytest.mark.parametrize(("answer", "left"), [("No", "mine"), ("Yes", "")])
def test_a_name_without_its_ending_writes_over_no_file_unasked(
    answer: str, left: str, make_lessons: Make, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dialog has asked about `mine` alone, and `mine.csv` is what is written."""
    asked: list[str] = []
    (tmp_path / "mine.csv").write_text("mine", encoding="utf-8")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "mine"), ""))
    monkeypatch.setattr(
        QMessageBox, "question", lambda *words: (asked.append(words[2]), getattr(QMessageBox.StandardButton, answer))[1]
    )
    make_lessons("lynx6").shell.export.menu().actions()[1].trigger()
    assert asked == [f"{tmp_path / 'mine.csv'} is there already. Write over it?"]
    assert ((tmp_path / "mine.csv").read_text(encoding="utf-8") == "mine") is bool(left)


def test_what_was_copied_or_written_is_told(make_lessons: Make, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    window = make_lessons("lynx6")
    shell = window.shell
    shell.copy.click()
    assert shell.said.text() == f"copied: {QGuiApplication.clipboard().text()}"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "mine"), ""))
    shell.export.menu().actions()[1].trigger()
    assert shell.said.text() == f"written: {tmp_path / 'mine.csv'}" and (tmp_path / "mine.csv").exists()
    assert shell._theme.bad not in shell.said.styleSheet()
