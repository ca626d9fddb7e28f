"""Any text in any field of any lesson, in any order: it stays, nothing good is lost, undo leads all the way back."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

import itertools  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, example, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from hil.dashboard.learn.command import Command  # noqa: E402
from hil.dashboard.learn.fields import Field  # noqa: E402
from hil.dashboard.learn.form import Form  # noqa: E402
from hil.dashboard.learn.views import VIEWS  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.errors import HilError  # noqa: E402
from hil.lessons.dh_table import COLUMNS  # noqa: E402

Make = Callable[..., Any]

BAD = (
    "", " ", "?!", "nan", "inf", "-inf", "1e400", "-1", "0", "1/0", "sqrt(-1)", "0^-1", "1,2", "1 2 3", "1;2;3", "x=",
    "=", "a=1; a=2", "15o", "1e", "--5", "9" * 400, "x" * 3000, "(" * 200, "٣", "½", "1\u00a0000", "JOINT:0:NOWHERE",
    "8=1@", "bandwidth=1:2", "u*", "__import__('os')", "%s", "{0}", "😀",
)  # fmt: skip
"""What people type, and what they would not: empty, no numbers, beyond numbers, half a formula, other scripts."""

TEXTS = st.one_of(st.sampled_from(BAD), st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=12))
STEPS = st.lists(st.tuples(st.integers(0, 99), TEXTS), min_size=1, max_size=6)
MANY = settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No job is begun, in no process."""
    monkeypatch.setattr(Work, "start", lambda work, *job: None)
    monkeypatch.setattr(Command, "start", lambda command, words: None)


def type_over(field: Field, text: str) -> str:
    """As by hand, in one go; what stands there then, since a line has no room for everything."""
    field.edit.setFocus()
    field.edit.selectAll()
    field.edit.insert(text) if text else field.edit.del_()
    typed = field.text
    field.edit.editingFinished.emit()
    return typed


def told(view: Any) -> str:
    """The command that would be copied, or why there is none."""
    try:
        return str(view.command_text())
    except HilError as error:
        return f"none: {error}"


def stands_alone(view: Any, field: Field) -> bool:
    """Whether neither a form nor the view keeps its history."""
    targets = getattr(view.sheet, "fields", {}) if hasattr(view, "sheet") else {}
    # A field of a form may stand elsewhere in the worksheet.
    forms = view.worksheet.findChildren(Form)
    return not any(field in fields for fields in (*(form.fields.values() for form in forms), *targets.values()))


def take_back(view: Any, field: Field, before: str) -> None:
    """By the view's undo; of a field that stands alone by its own."""
    field.edit.setFocus()
    if not stands_alone(view, field) and field.text != before:
        view.undo()
    while field.text != before and field.edit.isUndoAvailable():
        field.edit.undo()
    field.edit.editingFinished.emit()


def faults(fields: list[Field]) -> list[str]:
    return [field.fault.text() for field in fields if field.fault.text()]


CHOICES: dict[str, dict[str, tuple[int, ...]]] = {
    "dh": {"play": (2,)},
    "solutions": {"kind": (0, 1, 2), "shown": (3,)},
}
"""Choices of a sheet that bring fields to sight; the fields of every one of them are tried."""


def cases() -> list[tuple[str, tuple[tuple[str, int], ...]]]:
    """Views with a way to choose in each."""
    found = []
    for kind in VIEWS:
        chosen = CHOICES.get(kind.name, {})
        ways = itertools.product(*([(box, at) for at in places] for box, places in chosen.items()))
        found += [(kind.name, way) for way in ways if kind.name != "specification"]
    return found


@pytest.mark.parametrize("robot", ["lynx6", "stanford"])
@pytest.mark.parametrize(("name", "way"), cases())
def test_any_text_in_any_field_stays_and_is_taken_back(
    name: str, way: tuple[tuple[str, int], ...], robot: str, make_lessons: Make
) -> None:
    window = make_lessons(robot, name)
    view = window.shell.view
    for box, at in way:
        getattr(view.sheet, box).setCurrentIndex(at)
    fields: list[Field] = [field for field in view.worksheet.findChildren(Field) if field.isVisible()]
    assert fields
    forms: list[Form] = view.worksheet.findChildren(Form)
    at_first, command = [field.text for field in fields], told(view)

    @MANY
    @given(steps=STEPS)
    def tried(steps: list[tuple[int, str]]) -> None:
        befores = []
        for number, text in steps:
            field = fields[number % len(fields)]
            goods = [(form, dict(form.good)) for form in forms]
            befores.append((field, field.text))
            typed = type_over(field, text)
            assert field.text == typed, f"{field.name}: the text stays as it was typed"
            for form, good in goods:
                wrong = [key for key, each in form.fields.items() if each.fault.text()]
                assert [form.good[key] for key in wrong] == [good[key] for key in wrong], "the last good text counts"
            assert np.isfinite(window.shell.picture().arms[0].frames).all(), f"{field.name}: the arm stays"
            told(view)
        for field, before in reversed(befores):
            take_back(view, field, before)
        assert [field.text for field in fields] == at_first, steps
        assert told(view) == command and not faults(fields), steps

    tried()


def cells(window: Any) -> Iterator[tuple[int, int]]:
    table = window.shell.view.sheet.table
    return ((row, column) for row in range(table.rowCount()) for column in range(table.columnCount()))


@pytest.mark.parametrize("robot", ["lynx6", "stanford"])
def test_any_text_in_any_cell_of_the_dh_table_stays_and_is_taken_back(robot: str, make_lessons: Make) -> None:
    window = make_lessons(robot, "dh")
    view, table = window.shell.view, window.shell.view.sheet.table
    places, good, command = list(cells(window)), window.shell.view.good, told(window.shell.view)

    @MANY
    @given(steps=STEPS)
    def tried(steps: list[tuple[int, str]]) -> None:
        rows = view.history.now.rows
        for number, text in steps:
            row, column = places[number % len(places)]
            before = view.good
            table.item(row, column).setText(text)
            assert getattr(view.history.now.rows[row], COLUMNS[column]) == table.item(row, column).text()
            assert not view.faults or view.good is before, "a wrong entry keeps the last good robot"
            assert bool(view.sheet.trouble.text()) == bool(view.faults)
            assert np.isfinite(window.shell.picture().arms[0].frames).all()
        for _ in steps:
            view.undo()
        assert view.history.now.rows == rows and view.good == good and told(view) == command, steps

    tried()


def test_any_text_in_any_cell_of_the_positions_stays_and_is_taken_back(make_lessons: Make) -> None:
    window = make_lessons("rv2aj", "programs")
    view, table = window.shell.view, window.shell.view.sheet.places
    places = [(row, column) for row in range(table.rowCount()) for column in range(table.columnCount())]
    at_first, command = view.places.now, told(view)

    @MANY
    @given(steps=STEPS)
    def tried(steps: list[tuple[int, str]]) -> None:
        for number, text in steps:
            row, column = places[number % len(places)]
            table.item(row, column).setText(text)
            place = view.places.now[row]
            assert (place.name, *place.numbers)[column] == text.strip()
            window.shell.picture()
            assert told(view).startswith("none: ") == bool(view.sheet.trouble.text())
        for _ in steps:
            if view.places.now != at_first:
                view.sheet.back.click()
        assert view.places.now == at_first and told(view) == command and not view.sheet.trouble.text(), steps

    tried()


@pytest.mark.parametrize("file", ["pick-and-place.mb4", "square.toml"])
def test_any_text_in_the_editor_is_kept_and_taken_back(file: str, make_lessons: Make) -> None:
    view = make_lessons("lynx6", "programs").shell.view
    view.file.open(view.file.examples[file])
    before, editor = view.file.text, view.sheet.editor

    @MANY
    @given(text=TEXTS)
    @example(text="1\u00a0000")
    def tried(text: str) -> None:
        editor.replace(text)
        view.checks.begin()
        view.task_file()
        assert view.file.text == text or text.splitlines() != [text], "only ends of lines may be others"
        while view.file.text != before and editor.document().isUndoAvailable():
            view.undo()
        assert view.file.text == before, text

    tried()
