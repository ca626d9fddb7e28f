"""One exercise from end to end by the window alone: the class of 90 minutes, a robot from paper to curve."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

import math  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from lesson_views import here, run, type_into  # noqa: E402

from hil.dashboard.learn.curves import CurvesView  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.lessons.dh_table import COLUMNS  # noqa: E402

Make = Callable[..., Any]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are done in this process, and do not wait for more to be typed."""
    monkeypatch.setattr(Work, "start", here)
    monkeypatch.setattr(CurvesView, "_ask_soon", CurvesView._ask)


def test_a_whole_exercise_without_a_line_of_code(make_lessons: Make, at_once: None) -> None:
    """S3-18: table, number by hand, saved robot, postures, reach, curve, and the same proof before it leaves."""
    window = make_lessons("lynx6", "dh")
    shell, sheet = window.shell, window.shell.view.sheet
    for row, column, text in ((0, "d", "100"), (1, "a", "150"), (2, "a", "60 + 40"), (1, "start", "30")):
        sheet.table.item(row, COLUMNS.index(column)).setText(text)
    shell.time_bar.look(shell.time_bar.time_line.duration_s)
    by_hand_mm = [400.0 * math.cos(math.radians(30.0)), 0.0, 100.0 + 400.0 * math.sin(math.radians(30.0))]
    assert np.allclose(shell.view.moving(shell.time_bar.time_s)[:3, 3] * 1e3, by_hand_mm)
    sheet.save_name.edit.setText("paper-arm")
    sheet.save.click()
    assert shell.robots.currentText() == "paper-arm" and "saved" in shell.view.sheet.saved.text()
    assert "X 0.000  Y 0.000  Z 500.000 mm" in run("hil fk paper-arm 0 90 0 0 0").output

    shell.show_view("solutions")
    view = shell.view
    for field, text in zip(view.sheet.fields["point"], ("200", "0", "150", "-60", "0"), strict=True):
        field.edit.setText(text)
    view.sheet.typed.emit()
    assert len(view.result.solutions) == 4 and sum(each.within_limits for each in view.result.solutions) == 1
    assert "4 of 4 solutions" in run(view.command_text()).output

    shell.show_view("workspace")
    type_into(shell.view.sheet.form, "step_deg", "10")
    shell.view.sweep()
    assert "x from -400.0 to 400.0 mm" in shell.view.sheet.figures.toPlainText()

    shell.show_view("curves")
    view = shell.view
    view.load("ellipse")
    shell.send.click()
    assert window.sent_to[-1] == "paper-arm"
    assert "PASSED" in run(f"hil preview {window.sent_to[-1]} {window.sent[-1]}").output
    type_into(view.form, "shift_mm", "0, 0, -60")
    assert view.answer.reach.first_outside is None, "all of it is reached"
    shell.send.click()
    lower = run(f"hil preview {window.sent_to[-1]} {window.sent[-1]}")
    assert lower.exit_code == 1 and "lower soft limit" in str(lower.exception), "the preview asks more"


def test_an_edited_table_is_a_robot_for_every_command_that_is_copied(make_lessons: Make, at_once: None) -> None:
    """Without being saved: its file is written beside what is copied, and the figures are its own."""
    window = make_lessons("lynx6", "dh")
    window.shell.view.sheet.table.item(1, COLUMNS.index("a")).setText("150")
    for name in ("dh", "solutions", "workspace", "curves", "dynamics"):
        window.shell.show_view(name)
        outcome = run(window.shell.view.command_text())
        assert outcome.exit_code in (0, 1) and "no robot" not in outcome.output, name
        assert "lynx6-edited" in window.shell.view.command_text()
    reach_mm = 530.6  # 110.6 + 150 + 120 + 150
    assert f"{reach_mm:.1f} mm" in run("hil workspace " + _robot(window)).output


def _robot(window: Any) -> str:
    window.shell.show_view("workspace")
    return str(window.shell.view.command_text().split()[2])
