"""Nonsense in every field of every lesson: the field says what is wrong, the text stays, undo brings it back."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import pytest  # noqa: E402
from PySide6.QtCore import Qt  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QComboBox  # noqa: E402

from hil.dashboard.learn.command import Command  # noqa: E402
from hil.dashboard.learn.fields import Field  # noqa: E402
from hil.dashboard.learn.views import VIEWS  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.lessons.dh_table import COLUMNS  # noqa: E402

Make = Callable[..., Any]

NONSENSE = "?!"
ANY_TEXT = {("curves", "title")}
"""Where every text is right."""

FIELDS = {
    "dh": 2, "solutions": 14, "workspace": 12, "curves": 23, "dynamics": 18, "tuning": 19, "programs": 1,
    "specification": 0,
}  # fmt: skip
"""How many there are: a new one is tried too, or this says so."""


@pytest.fixture(autouse=True)
def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No job is begun, in no process."""
    monkeypatch.setattr(Work, "start", lambda work, *job: None)
    monkeypatch.setattr(Command, "start", lambda command, words: None)


def finish(field: Field) -> None:
    QTest.keyClick(field.edit, Qt.Key.Key_Return)


def seen(view: Any, field: Field) -> None:
    """Where a view shows it: a target of its kind, a method that asks for it."""
    for choice in view.worksheet.findChildren(QComboBox):
        for at in range(choice.count()):
            if field.isVisible():
                return
            choice.setCurrentIndex(at)


def says(view: Any) -> list[str]:
    """What stands at any field of a view."""
    return [field.fault.text() for field in view.worksheet.findChildren(Field) if not field.fault.isHidden()]


@pytest.mark.parametrize("name", [kind.name for kind in VIEWS])
def test_every_field_says_what_is_wrong_and_undo_brings_it_back(name: str, make_lessons: Make) -> None:
    window = make_lessons("lynx6", name)
    view = window.shell.view
    fields, sheet = view.worksheet.findChildren(Field), getattr(view, "sheet", None)
    assert len(fields) == FIELDS[name]
    for field in fields:
        seen(view, field)
        before = field.text
        if (name, field.name) in ANY_TEXT:
            continue
        field.edit.setFocus()
        field.edit.selectAll()
        QTest.keyClicks(field.edit, NONSENSE)
        finish(field)
        saved = field is getattr(sheet, "save_name", None)
        if saved:
            view.sheet.save.click()
        assert field.text == NONSENSE, f"{field.name}: the text stays"
        assert says(view), f"{field.name}: nothing is said"
        for _ in range(4):
            if field.text != before:
                QTest.keyClick(field.edit, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        finish(field)
        if not saved:
            assert field.text == before and not says(view), f"{field.name}: {says(view)}"


def test_every_cell_of_the_table_says_what_is_wrong_and_undo_brings_it_back(make_lessons: Make) -> None:
    window = make_lessons("lynx6", "dh")
    view, table = window.shell.view, window.shell.view.sheet.table
    good = view.good
    for column, name in enumerate(COLUMNS):
        before = table.item(1, column).text()
        table.item(1, column).setText("" if name == "name" else NONSENSE)
        assert view.sheet.trouble.isVisible() and table.item(1, column).toolTip(), name
        assert view.good == good
        view.undo()
        assert table.item(1, column).text() == before and not view.sheet.trouble.isVisible(), name
        view.redo()
        view.undo()
        assert table.item(1, column).text() == before


def test_every_cell_of_the_positions_says_what_is_wrong_and_undo_brings_it_back(make_lessons: Make) -> None:
    view = make_lessons("rv2aj", "programs").shell.view
    table = view.sheet.places
    for column in range(table.columnCount()):
        before = table.item(0, column).text()
        table.item(0, column).setText(NONSENSE)
        assert "position" in view.sheet.trouble.text() and table.item(0, column).text() == NONSENSE
        view.sheet.back.click()
        assert table.item(0, column).text() == before and not view.sheet.trouble.text()
