"""Lessons in a window for tests: fields typed into, jobs done at once or waited for, commands that were copied run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtTest import QTest
from typer.testing import CliRunner, Result

from hil.cli.app import app
from hil.dashboard.learn.form import Form
from hil.dashboard.learn.work import Work
from hil.errors import HilError


def type_into(form: Form, key: str, text: str) -> None:
    """As by hand: the text, and on to the next field."""
    edit = form.fields[key].edit
    edit.setText(text)
    edit.editingFinished.emit()


def fault_of(form: Form, key: str) -> str:
    """What the field says is wrong with it."""
    fault = form.fields[key].fault
    return fault.text() if not fault.isHidden() else ""


def here(work: Work, job: Callable[..., Any], *arguments: object) -> None:
    """In place of `Work.start`: the job in this process, to its end."""
    try:
        result = job(*arguments)
        if isinstance(result, Iterator):
            while True:
                try:
                    work.told.emit(next(result))
                except StopIteration as end:
                    result = end.value
                    break
    except HilError as error:
        work.failed.emit(str(error))
    else:
        work.done.emit(result)


def waited(owner: QObject, work: Work, most_s: float = 60.0) -> None:
    """Until the job in its own process is done."""
    for _ in range(round(most_s / 0.05)):
        if not work.busy:
            return
        QTest.qWait(50)
    raise AssertionError("the job is not done")


def run(command: str) -> Result:
    """What a copied command prints."""
    words = shlex.split(command)
    assert words[0] == "hil"
    return CliRunner().invoke(app, words[1:])


def printed(command: str) -> Any:
    """The JSON of a copied command, which has to run."""
    outcome = run(f"{command} --json")
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)
