"""Lessons in a window: the shell, and the DH table that is alive."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

import csv  # noqa: E402
import re  # noqa: E402
import shlex  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from looks import cut_off, focus_order, focusable  # noqa: E402
from PySide6.QtCore import Qt  # noqa: E402
from PySide6.QtGui import QGuiApplication, QImage  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from hil.cli.app import app  # noqa: E402
from hil.dashboard.learn.views import VIEWS  # noqa: E402
from hil.dashboard.theme import THEMES  # noqa: E402
from hil.lessons.dh_table import COLUMNS  # noqa: E402
from hil.model.files import list_names  # noqa: E402
from hil.model.reader import load_robot  # noqa: E402
from hil.robot import Robot  # noqa: E402

Make = Callable[..., Any]
D, THETA, A, ALPHA = (COLUMNS.index(name) for name in ("d", "theta", "a", "alpha"))


def typed(window: Any, row: int, column: int, text: str) -> None:
    """As by hand: the cell's text is finished."""
    window.shell.view.sheet.table.item(row, column).setText(text)


def play(window: Any, name: str) -> None:
    sheet = window.shell.view.sheet
    sheet.play.setCurrentIndex([sheet.play.itemText(k) for k in range(sheet.play.count())].index(name))


def printed(command: str) -> str:
    """What a copied command prints; it has to run."""
    words = shlex.split(command)
    assert words[0] == "hil"
    outcome = CliRunner().invoke(app, words[1:])
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


def numbers(text: str) -> np.ndarray:
    """The matrix in a text: its last four rows."""
    rows = [row for row in text.strip().splitlines() if len(re.findall(r"-?\d+\.\d+", row)) == 4]
    return np.array([[float(value) for value in row.split()] for row in rows[-4:]])


def test_an_edit_is_drawn_at_once_and_a_wrong_one_keeps_the_last_good_robot(make_lessons: Make) -> None:
    """S2-01, S3-01: editing, the shape at once, invalid text; and undo."""
    window = make_lessons()
    shell, view = window.shell, window.shell.view
    before = shell.picture().arms[0].frames
    typed(window, 1, A, "300 + 50")
    drawn = shell.picture().arms[0]
    assert drawn.model.joints[1].a_m == pytest.approx(0.35) and not np.allclose(drawn.frames, before)
    assert np.array_equal(drawn.frames, Robot(drawn.model).link_frames(view.good.start))
    typed(window, 2, D, "15o")
    assert shell.picture().arms[0].model is drawn.model, "the last good robot stays"
    assert view.sheet.table.item(2, D).text() == "15o", "and so does the text"
    assert "J3, d (mm), column 3" in view.sheet.trouble.text() and view.sheet.trouble.isVisible()
    assert "column 3" in view.sheet.table.item(2, D).toolTip()
    view.sheet.back.click()
    assert view.sheet.table.item(2, D).text() == "150.05" and not view.sheet.trouble.isVisible()
    QTest.keyClick(shell, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert np.array_equal(shell.picture().arms[0].frames, before)
    QTest.keyClick(shell, Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
    assert shell.picture().arms[0].model.joints[1].a_m == pytest.approx(0.35)


def test_rows_are_added_and_taken_away(make_lessons: Make) -> None:
    """S3-01: a table of one's own, up to eight rows."""
    window = make_lessons("planar-2r")
    sheet = window.shell.view.sheet
    sheet.add.click()
    assert sheet.table.rowCount() == 3 and window.shell.model.dof == 3
    for _ in range(9):
        sheet.add.click()
    assert sheet.table.rowCount() == 8 and "no more than 8" in window.shell.said.text()
    for _ in range(9):
        sheet.away.click()
    assert sheet.table.rowCount() == 1 and "one row" in window.shell.said.text()
    assert window.shell.picture().arms[0].model.dof == 1


def test_the_running_cell_is_lit_and_the_frame_ends_on_that_of_the_arm(make_lessons: Make) -> None:
    """S2-02, S1-03: one row motion by motion, base to tool; frames drawn as forward kinematics has them."""
    window = make_lessons()
    shell, view, bar = window.shell, window.shell.view, window.shell.time_bar
    frames = view.robot.link_frames(view.good.start)
    play(window, "one row")
    view.sheet.row.setCurrentIndex(3)
    lit = []
    for _ in range(4):
        bar.step_on.click()
        lit.append(view.sheet.table.lit)
    assert lit == [(3, D), (3, THETA), (3, A), (3, ALPHA)], "in the order d, theta, a, alpha"
    assert np.array_equal(shell.picture().frames[-1].pose, frames[4])
    bar.step_back.click()
    assert bar.time_s == 3.0, "a step back is exact"
    play(window, "base to tool")
    bar.look(1e9)
    assert np.array_equal(shell.picture().frames[-1].pose, frames[-1])
    assert np.allclose(numbers(view.sheet.matrix.toPlainText()), np.round(frames[-1], 6), atol=1e-9)
    for drawn, frame in zip(shell.picture().frames[:-1], frames[:-1], strict=True):
        assert np.array_equal(drawn.pose, frame)


def test_the_matrix_beside_it_is_that_of_hil_fk(make_lessons: Make) -> None:
    """S1-04: the live matrix is forward kinematics; what is copied prints the same."""
    window = make_lessons("rv2aj")
    play(window, "joint motion")
    window.shell.time_bar.look(1.1)
    window.shell.copy.click()
    command = QGuiApplication.clipboard().text()
    assert command.startswith("hil fk rv2aj ")
    shown = numbers(window.shell.view.sheet.matrix.toPlainText())
    assert np.array_equal(numbers(printed(command)), shown)
    assert np.linalg.det(window.shell.view.matrix_at(1.1)[1]) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("name", ["base to tool", "one row", "joint motion", "frame to frame"])
@pytest.mark.parametrize("robot", ["ur5", "stanford", "planar-3r", "al5d"])
def test_what_is_copied_prints_the_matrix_of_every_play(robot: str, name: str, make_lessons: Make) -> None:
    """Also of an arm that stands on a base of its own, whose frame 0 is not the world."""
    window = make_lessons(robot)
    sheet = window.shell.view.sheet
    play(window, name)
    sheet.row.setCurrentIndex(1)
    sheet.first.setCurrentIndex(2)
    window.shell.time_bar.look(1e9)
    window.shell.copy.click()
    shown = numbers(sheet.matrix.toPlainText())
    assert np.array_equal(numbers(printed(QGuiApplication.clipboard().text())), shown)


def test_the_command_of_an_edited_robot_runs_too(make_lessons: Make) -> None:
    window = make_lessons("lynx6")
    typed(window, 2, A, "200")
    window.shell.copy.click()
    frame = window.shell.view.robot.forward_kinematics(window.shell.view.good.start)
    assert np.allclose(numbers(printed(QGuiApplication.clipboard().text())), frame, atol=1e-6)


def test_any_two_frames_are_drawn_and_read(make_lessons: Make) -> None:
    """S2-03: frame to frame, as drawing and as matrix."""
    window = make_lessons()
    view = window.shell.view
    play(window, "frame to frame")
    view.sheet.first.setCurrentIndex(5)
    view.sheet.last.setCurrentIndex(2)
    frames = view.robot.link_frames(view.good.start)
    name, matrix = view.matrix_at(0.0)
    assert name == "T 5 2" and np.allclose(frames[5] @ matrix, frames[2], atol=1e-12)
    assert np.array_equal(window.shell.picture().lines[0].ends[0], frames[[5, 2], :3, 3])
    window.shell.time_bar.look(2.0)
    assert np.array_equal(window.shell.picture().frames[-1].pose, frames[2])


def test_joint_motion_is_exported_as_it_is_played(make_lessons: Make, tmp_path: Path) -> None:
    """S2-12: initial and final values and a profile; the file has what is animated. S1-05: the tool's way."""
    window = make_lessons("stanford")
    play(window, "joint motion")
    view = window.shell.view
    view.sheet.seconds.edit.setText("2")
    view.sheet.seconds.edit.editingFinished.emit()
    path = tmp_path / "motion.csv"
    window.shell.write(path)
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    assert len(rows) == 101 and float(rows[-1]["t_s"]) == 2.0
    tool = window.shell.view.moving(float(rows[50]["t_s"]))[:3, 3]
    assert [float(rows[50][key]) for key in ("x_mm", "y_mm", "z_mm")] == pytest.approx((1000 * tool).tolist())
    way = window.shell.picture().lines[0].ends
    assert np.allclose(way[0, 0], view.robot.forward_kinematics(view.good.start)[:3, 3])
    view.sheet.seconds.edit.setText("soon")
    view.sheet.seconds.edit.editingFinished.emit()
    assert "seconds, column 1" in view.sheet.seconds.fault.text()
    assert window.shell.time_bar.time_line.duration_s == 2.0, "the last good motion stays"


def test_it_is_played_by_its_clock_and_stops_at_the_end(make_lessons: Make) -> None:
    """S3-09: speed of the animation, and steps."""
    window = make_lessons()
    bar = window.shell.time_bar
    now = [100.0]
    bar._clock = lambda: now[0]
    bar.speed.setValue(2.0)
    bar.play.click()
    now[0] += 1.5
    bar.tick()
    assert bar.time_s == pytest.approx(3.0) and bar.play.isChecked()
    now[0] += 1000.0
    bar.tick()
    assert bar.time_s == bar.time_line.duration_s and not bar.play.isChecked()
    bar.slider.setValue(0)
    assert bar.time_s == 0.0


@pytest.mark.processes
def test_symbols_come_from_another_process_and_are_copied_as_latex(make_lessons: Make, qtbot: Any) -> None:
    """S3-02: the matrix in symbols."""
    pytest.importorskip("sympy")
    window = make_lessons("planar-2r")
    view = window.shell.view
    view.sheet.lengths.setChecked(True)
    view.sheet.as_symbols.click()
    assert view.work.busy and view.sheet.symbols.toPlainText() == "at work ..."
    qtbot.waitUntil(lambda: view.symbols is not None, timeout=60_000)
    assert "a1*c1 + a2*c12" in view.sheet.symbols.toPlainText()
    copies = dict(view.entries())
    assert r"a_{2}\,c_{12}" in copies["Symbols as LaTeX"]().replace("a_2", "a_{2}")
    typed(window, 0, A, "123")
    assert view.symbols is None and not view.sheet.symbols.isVisible(), "those of another table go"


def test_the_command_for_the_equations_writes_them(
    make_lessons: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sympy")
    monkeypatch.chdir(tmp_path)
    window = make_lessons("planar-2r")
    typed(window, 0, A, "123")
    printed(dict(window.shell.view.entries())["Command for the equations"]())
    (file,) = (tmp_path / "equations").glob("*.tex")
    assert "0.123" in file.read_text("utf-8"), "those of the edited table"


def test_a_table_is_saved_as_a_robot_that_every_command_knows(make_lessons: Make) -> None:
    """S1-22, S3-01: a robot of one's own, from a table; names are checked."""
    window = make_lessons("planar-3r")
    view = window.shell.view
    typed(window, 2, A, "77")
    for name, words in (("No Name", "allowed: up to 40"), ("puma560", "comes with the program"), ("", "allowed")):
        view.sheet.save_name.edit.setText(name)
        view.sheet.save.click()
        assert words in view.sheet.save_name.fault.text()
    typed(window, 0, D, "x")
    view.sheet.save_name.edit.setText("mine")
    view.sheet.save.click()
    assert "wrong entry" in view.sheet.save_name.fault.text() and "mine" not in list_names("robots")
    view.undo()
    view.sheet.save.click()
    assert load_robot("mine").joints == view.good.model.joints
    assert "hil fk mine" in view.sheet.saved.text()
    printed("hil fk mine 0 0 0")


def test_a_motion_goes_to_the_preview_as_a_task_and_nowhere_else(make_lessons: Make) -> None:
    """S2-09: a lesson has no way to an arm but the preview."""
    from hil.motion.tasks import load_task

    window = make_lessons("lynx6")
    assert not window.shell.send.isEnabled()
    play(window, "joint motion")
    window.shell.send.click()
    (path,) = window.sent
    assert "[[step]]" in path.read_text("utf-8") and str(path) in window.shell.said.text()
    assert len(load_task(path).steps) == 2
    typed(window, 0, D, "99")
    assert not window.shell.send.isEnabled(), "no arm has an edited table"


def test_every_robot_is_shown_masses_or_not(make_lessons: Make) -> None:
    """S5-04, S1-01."""
    shell = make_lessons().shell
    for name in list_names("robots"):
        shell.set_robot(load_robot(name))
        assert shell.picture().arms[0].model.id == name and not shell.view.faults
        shell.time_bar.look(1e9)
        assert shell.title.text()


def test_the_picture_is_exported(make_lessons: Make, tmp_path: Path) -> None:
    shell = make_lessons().shell
    shell.write(tmp_path / "lesson.png")
    assert QImage(str(tmp_path / "lesson.png")).width() > 100
    with pytest.raises(OSError, match=r"allowed: a name that ends in \.png"):
        shell.write(tmp_path / "lesson.xyz")


@pytest.mark.parametrize(("size", "theme"), [((1280, 800), THEMES["dark"]), ((700, 900), THEMES["light"])])
def test_no_words_are_cut_off_and_tab_reaches_everything(
    size: tuple[int, int], theme: Any, make_lessons: Make, qtbot: Any
) -> None:
    window = make_lessons()
    window.resize(*size)
    window.set_theme(theme)
    for kind in VIEWS:
        window.shell.show_view(kind.name)
        for _ in range(3):
            QApplication.processEvents()
        assert not cut_off(window), kind.name
        nameless = [each for each in focusable(window) if not (each.accessibleName() or getattr(each, "text", str)())]
        assert not [each.metaObject().className() for each in nameless], kind.name
    if size[0] > 1000:
        missed = set(focusable(window)) - set(focus_order(window, qtbot))
        assert not [each.accessibleName() or each.metaObject().className() for each in missed]
