"""Saving a robot, taking that back, and changing the arm: what was typed is there, in every lesson."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import pytest  # noqa: E402
from lesson_views import run, type_into  # noqa: E402
from PySide6.QtCore import Qt  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402

from hil.dashboard.learn.command import Command  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.lessons.dh_table import COLUMNS  # noqa: E402
from hil.model.files import list_names, user_dir  # noqa: E402
from hil.model.reader import load_robot  # noqa: E402

Make = Callable[..., Any]
A = COLUMNS.index("a")


@pytest.fixture(autouse=True)
def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No job is begun, in no process."""
    monkeypatch.setattr(Work, "start", lambda work, *job: None)
    monkeypatch.setattr(Command, "start", lambda command, words: None)


def type_cell(view: Any, row: int, text: str) -> None:
    view.sheet.table.item(row, A).setText(text)


def save(view: Any, name: str) -> None:
    view.sheet.save_name.edit.setText(name)
    view.sheet.save.click()
    assert not view.sheet.save_name.fault.text()


def file_of(name: str) -> Path:
    return user_dir() / "robots" / f"{name}.toml"


def test_undo_leads_back_over_a_save(make_lessons: Make) -> None:
    """To the table as it was typed, then to that of the arm at first; the file stays until it is taken back."""
    window = make_lessons("lynx6", "dh")
    shell, view = window.shell, window.shell.view
    type_cell(view, 1, "100 + 50")
    save(view, "mine")
    assert shell.robots.currentText() == "mine" and view.good.model.id == "mine"
    QTest.keyClick(shell, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert view.sheet.table.item(1, A).text() == "100 + 50", "as it was typed"
    assert (
        shell.robots.currentText() == "lynx6"
        and view.good.model.id == "lynx6-edited"
        and "mine" in list_names("robots")
    )
    view.undo()
    assert view.good.model == load_robot("lynx6"), "with its masses and its name"
    view.redo()
    view.redo()
    assert view.good.model == load_robot("mine") and shell.robots.currentText() == "mine"
    assert run(view.command_text()).exit_code == 0


def test_a_save_is_taken_back_and_the_table_stays(make_lessons: Make) -> None:
    window = make_lessons("lynx6", "dh")
    shell, view = window.shell, window.shell.view
    type_cell(view, 1, "150")
    assert not view.sheet.unsave.isVisible(), "nothing was saved"
    save(view, "mine")
    type_cell(view, 2, "99")
    assert view.sheet.unsave.isVisible()
    type_cell(view, 0, "x")
    view.sheet.unsave.click()
    assert "wrong entry" in view.sheet.saved.text() and file_of("mine").exists()
    view.undo()
    view.sheet.unsave.click()
    assert (
        not file_of("mine").exists() and shell.robots.findText("mine") < 0 and "taken back" in view.sheet.saved.text()
    )
    assert not view.sheet.unsave.isVisible()
    assert [view.sheet.table.item(row, A).text() for row in (1, 2)] == ["150", "99"], "what was typed stays"
    for _ in range(4):
        assert view.good.model.id in ("lynx6-edited", "lynx6") and run(view.command_text()).exit_code == 0
        view.undo()
    assert view.good.model == load_robot("lynx6")
    view.redo()
    save(view, "mine")
    assert load_robot("mine").joints[1].a_m == pytest.approx(0.150), "the name is free again"


def test_a_save_over_an_older_one_is_taken_back_to_it(make_lessons: Make) -> None:
    view = make_lessons("planar-2r", "dh").shell.view
    type_cell(view, 1, "70")
    save(view, "mine")
    first = file_of("mine").read_text("utf-8")
    type_cell(view, 1, "80")
    save(view, "mine")
    assert file_of("mine").read_text("utf-8") != first
    view.sheet.unsave.click()
    assert file_of("mine").read_text("utf-8") == first and load_robot("mine").joints[1].a_m == pytest.approx(0.070)


def test_a_file_that_somebody_else_has_changed_is_not_taken_back(make_lessons: Make) -> None:
    view = make_lessons("planar-2r", "dh").shell.view
    type_cell(view, 1, "70")
    save(view, "mine")
    changed = file_of("mine").read_text("utf-8") + "# mine\n"
    file_of("mine").write_text(changed, encoding="utf-8")
    view.sheet.unsave.click()
    assert "it stays" in view.sheet.saved.text() and file_of("mine").read_text("utf-8") == changed


def test_what_was_typed_in_other_lessons_stays_when_the_table_is_edited_or_saved(make_lessons: Make) -> None:
    """And goes with an arm of other joints."""
    window = make_lessons("lynx6", "solutions")
    shell = window.shell
    fields = shell.view.sheet.fields["point"]
    fields[0].edit.setText("200")
    shell.view.sheet.typed.emit()
    shell.show_view("workspace")
    type_into(shell.view.sheet.form, "step_deg", "10")
    type_into(shell.view.sheet.place, "place", "200, 0, 150")
    shell.show_view("dynamics")
    type_into(shell.view.form, "payload", "0.1")
    shell.show_view("dh")
    type_cell(shell.view, 1, "150")
    save(shell.view, "mine")

    def typed() -> tuple[str, ...]:
        workspace, dynamics = shell.shown["workspace"], shell.shown["dynamics"]
        return (
            fields[0].text,
            *(workspace.sheet.form.typed["step_deg"], workspace.sheet.place.typed["place"]),
            dynamics.form.typed["payload"],
        )

    assert typed() == ("200", "10", "200, 0, 150", "0.1")
    assert shell.shown["solutions"].command_text().startswith("hil ik mine 200 ")
    assert shell.shown["workspace"].ways is not None, "every way to the place, for the arm as it is now"
    assert "hil ik mine 200 0 150" in shell.shown["workspace"].command_text()
    shell.shown["solutions"].undo()
    assert fields[0].text != "200", "undo goes on as before"
    shell.set_robot(load_robot("puma560"))
    assert typed()[1:] == ("", "", "")
