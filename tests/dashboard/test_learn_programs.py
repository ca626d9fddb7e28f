"""Programs and tasks in the window of the lessons: errors as one types, positions, proof, and the run line by line."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

import csv  # noqa: E402
import shlex  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from lesson_views import here as in_this_process  # noqa: E402
from PySide6.QtGui import QGuiApplication, QTextCursor  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from hil.cli.app import app  # noqa: E402
from hil.dashboard.learn.command import Command  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.errors import CommandError  # noqa: E402
from hil.lessons.program_steps import APART_S  # noqa: E402
from hil.lessons.program_text import Place, places_text, read_places, read_trace, spans, twice  # noqa: E402

Make = Callable[..., Any]

TRACE = """time_s,line,statement,J1,J2,J3,J5,J6,X,Y,Z,A,B,outputs
0.0000,10,,0.0,-20.0,110.0,80.0,0.0,86.9976,0.0,464.0170,0.0,170.0,900
0.0200,20,MOV P1,1.0,-20.0,110.0,80.0,0.0,86.98,1.5,464.0170,0.0,170.0,900
0.0400,20,MOV P1,2.0,-20.0,110.0,80.0,0.0,86.94,3.0,464.0170,0.0,170.0,900
0.0600,30,HCLOSE 1,2.0,-20.0,110.0,80.0,0.0,86.94,3.0,464.0170,0.0,170.0,900 901
"""


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the window asks for, run here and now instead of in a process of its own."""
    asked: list[list[str]] = []

    def start(self: Command, words: list[str]) -> None:
        asked.append(list(words))
        if words[0] == "program":
            Path(words[words.index("--trace") + 1]).write_text(TRACE, encoding="utf-8")
            Path(words[words.index("--variables") + 1]).write_text(STEPS, encoding="utf-8")
            self.done.emit(0, "PASSED", "")
            return
        if words[0] == "preview":
            Path(words[words.index("--trace") + 1]).write_text(TASK_TRACE, encoding="utf-8")
            self.done.emit(0, "PASSED", "")
            return
        outcome = CliRunner().invoke(app, words)
        wrong = str(outcome.exception) if outcome.exception and outcome.exit_code else ""
        self.done.emit(outcome.exit_code, outcome.stdout, wrong)

    monkeypatch.setattr(Command, "start", start)
    monkeypatch.setattr(Work, "start", in_this_process)
    return asked


STEPS = """step,time_s,program,line,statement,variable,kind,value
0,0.0000,X,0,,P1,position,"(250.0,0.0,400.0,0.0,180.0,0.0)(6,0)"
0,0.0000,X,0,,M_OVRD,number,100
1,0.0000,X,15,M1=3,,,
1,0.0000,X,15,M1=3,M1,number,3
2,0.0000,X,20,MOV P1,,,
2,0.0200,X,20,MOV P1,P_CURR,position,"(86.98,1.5,464.02,0.0,170.0,0.0)(0,0)"
3,0.0400,X,30,HCLOSE 1,,,
4,0.0600,X,40,END,,,
"""


TASK_TRACE = """time_s,line,statement,base,shoulder,elbow,wrist,wrist_rotate,gripper,X,Y,Z
0.0000,1,joint out of park,0.0,90.0,-90.0,0.0,0.0,10.0,100.0,0.0,200.0
0.0200,1,joint out of park,5.0,90.0,-90.0,0.0,0.0,10.0,99.0,8.0,200.0
0.0400,2,wait,10.0,90.0,-90.0,0.0,0.0,10.0,98.0,16.0,200.0
0.0600,2,wait,10.0,90.0,-90.0,0.0,0.0,10.0,98.0,16.0,200.0
"""
TASK = """title = "mine"

[[step]]
do = "move"
to = "home"

[[step]]
do = "wait"
seconds = 0.02
"""


def variables(view: Any) -> dict[str, tuple[str, str, bool]]:
    """What the table shows: kind, value, and whether it is in bold."""
    table = view.sheet.variables
    return {
        table.item(row, 0).text(): (
            table.item(row, 1).text(), table.item(row, 2).text(), table.item(row, 0).font().bold()
        )
        for row in range(table.rowCount())
    }  # fmt: skip


def written(window: Any, text: str, points: str = "") -> Any:
    """The view with another text."""
    view = window.shell.view
    view.places.set(read_places(points).places)
    editor = view.sheet.editor
    editor.selectAll()
    editor.insertPlainText(text)
    view.checks.begin()
    return view


def test_errors_come_as_one_types_with_their_place(make_lessons: Make, commands: list[list[str]]) -> None:
    """S5-09: an unknown command names line and column; a click leads there."""
    window = make_lessons("rv2aj", "programs")
    view = written(window, "10 MOV P1\n20 MOVE P1\n30 END\n", "DEF POS P1=(250,0,400,0,180,0)(6,0)\n")
    wrong = [finding for finding in view.checks.findings if finding.severity == "error"]
    assert [(each.row, each.column) for each in wrong] == [(2, 4)] and "MOV or MVS?" in wrong[0].words
    place = view.checks.findings.index(wrong[0])
    view.sheet.findings.setCurrentRow(place)
    view.sheet.findings.itemClicked.emit(view.sheet.findings.currentItem())
    assert view.sheet.editor.row == 2 and view.sheet.editor.textCursor().columnNumber() == 3
    marks = view.sheet.editor.extraSelections()
    assert any(mark.cursor.selectedText() == "MOVE" for mark in marks)
    assert commands[-1][0] == "lint" and commands[-1][-1] == "--json"
    view.undo()
    assert "MOVE" not in view.file.text, "undo brings the text before back"


def test_a_wrong_task_is_told_at_its_row(make_lessons: Make, commands: list[list[str]], tmp_path: Path) -> None:
    window = make_lessons("lynx6", "programs")
    task = tmp_path / "mine.toml"
    task.write_text('title = "x"\n\n[[step]]\ndo = "move"\nto = "hone"\n', encoding="utf-8")
    window.shell.view.file.open(task)
    (finding,) = window.shell.view.checks.findings
    assert finding.severity == "error" and "hone" in finding.words and finding.row in (0, 3)
    assert commands[-1][0] == "check"


def test_a_run_is_looked_at_line_by_line_and_pauses_at_break_points(
    make_lessons: Make, commands: list[list[str]], tmp_path: Path
) -> None:
    """S5-09, S5-10: the same proof and the same trace as of hil program; steps are statements."""
    window = make_lessons("lynx6", "programs")
    shell, view = window.shell, written(window, "10 'x\n15 M1=3\n20 MOV P1\n30 HCLOSE 1\n40 END\n")
    view.sheet.inputs.edit.setText("8=1@2.5 9=0")
    view.sheet.run.click()
    assert commands[-1][:2] == ["program", "rv2aj"] and commands[-1][3:8] == [
        "--preview", "--input", "8=1@2.5", "--input", "9=0"
    ]  # fmt: skip
    bar = shell.time_bar
    assert bar.play.isChecked(), "what passed is played"
    bar.look(0.0)
    assert "line 15: M1=3" in bar.words.text() and view.sheet.editor._running == 2
    view.sheet.step.click()
    assert not bar.play.isChecked() and bar.time_s == APART_S, "a statement without time is a step too"
    assert "line 20: MOV P1" in bar.words.text() and view.sheet.editor._running == 3
    bar.step_on.click()
    assert bar.time_s == 0.04 and view.sheet.editor._running == 4
    assert np.allclose(shell.picture().arms[0].frames, view.robot.link_frames(np.radians([2.0, -20, 110, 80, 0])))
    bar.step_on.click()
    assert "900 901" in view.sheet.state.text()
    view.sheet.editor.go_to(4)
    view.sheet.breakpoint.click()
    now = [0.0]
    bar._clock = lambda: now[0]
    bar.look(0.0)
    bar.toggle()
    now[0] += 100.0
    bar.tick()
    assert bar.time_s == 0.04 and not bar.play.isChecked(), "it pauses before line 30"
    view.sheet.breakpoint.click()
    view.sheet.editor.go_to(3)
    view.sheet.breakpoint.click()
    bar.begin()
    now[0] += 100.0
    bar.tick()
    assert bar.time_s == APART_S, "and before a line that takes no time"
    shell.write(tmp_path / "run.csv")
    rows = list(csv.DictReader((tmp_path / "run.csv").read_text("utf-8").splitlines()))
    assert [float(row["line"]) for row in rows] == [10, 20, 20, 30] and float(rows[-1]["y_mm"]) == 3.0
    shell.copy.click()
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:3] == ["hil", "program", "rv2aj"] and Path(words[3]).read_text("utf-8") == view.file.text
    view.sheet.editor.setPlainText("10 END\n")
    assert view.proof.shown is None and bar.time_line.duration_s == 0.0, "what was proved was another text"


def test_positions_are_taught_edited_and_sorted_out(make_lessons: Make, commands: list[list[str]]) -> None:
    """S5-08: names P1 and on, one that is there twice is refused, the file comes back the same."""
    window = make_lessons("rv2aj", "programs")
    view = written(window, "10 MOV P1\n20 END\n", "DEF POS P1=(250.00,0.00,400.00,0.00,180.00,0.00)(6,0)\n")
    view.sheet.teach.click()
    assert [place.name for place in view.places.now] == ["P1", "P2"]
    tool_mm = 1000.0 * view.robot.forward_kinematics(view._home)[:3, 3]
    assert np.allclose([float(text) for text in view.places.now[1].numbers[:3]], tool_mm, atol=0.006)
    view.sheet.places.item(1, 0).setText("P1")
    assert "there twice" in view.sheet.trouble.text() and view.sheet.places.item(1, 0).text() == "P1"
    view.sheet.places.item(1, 0).setText("P7")
    view.sheet.places.item(1, 1).setText("2o0")
    assert "position P7, X, column 2" in view.sheet.trouble.text()
    view.sheet.places.item(1, 1).setText("200")
    assert not view.sheet.trouble.text() and read_places(view.places.text()) == read_places(
        view.task_file().with_suffix(".pos").read_text("utf-8")
    )
    view.places.set((*view.places.now, Place("PX", view.places.now[0].numbers)))
    view.sheet.sort.click()
    assert view.sheet.trouble.text() == "P1 = PX"
    view.sheet.places.setCurrentCell(2, 0)
    view.sheet.away.click()
    assert len(view.places.now) == 2
    assert len(window.shell.picture().points[0].places) == 2


def test_the_scene_goes_to_a_position_and_undo_brings_positions_back(
    make_lessons: Make, commands: list[list[str]]
) -> None:
    """S5-08: go to, edit, undo; one that is out of reach says by how much."""
    window = make_lessons("rv2aj", "programs")
    view = written(window, "10 END\n", "DEF POS P1=(250.00,0.00,400.00,0.00,180.00,0.00)(6,0)\n")
    view.sheet.places.setCurrentCell(0, 0)
    view.sheet.go.click()
    tool_mm = 1000.0 * window.shell.picture().arms[0].frames[-1][:3, 3]
    assert np.allclose(tool_mm, [250.0, 0.0, 400.0], atol=1e-5)
    view.sheet.places.item(0, 1).setText("2500")
    view.sheet.go.click()
    assert "P1: out of reach by" in view.sheet.trouble.text()
    view.sheet.back.click()
    assert view.places.now[0].numbers[0] == "250.00"
    view.sheet.forth.click()
    assert view.sheet.places.item(0, 1).text() == "2500"


def test_words_positions_and_labels_are_offered_as_one_types(make_lessons: Make, commands: list[list[str]]) -> None:
    window = make_lessons("rv2aj", "programs")
    view = written(window, "10 *PICKUP\n20 MOV PPL", "DEF POS PPLACE=(250,0,400,0,180,0)(6,0)\n")
    editor = view.sheet.editor
    editor.moveCursor(QTextCursor.MoveOperation.End)
    editor.offer()
    assert editor.completer.popup().isVisible() and editor.completer.currentCompletion() == "PPLACE"
    editor.completer.activated.emit("PPLACE")
    assert view.file.text.endswith("20 MOV PPLACE")
    editor.insertPlainText("\n30 gos")
    editor.offer()
    assert editor.completer.currentCompletion() == "GOSUB"
    editor.take("GOSUB")
    editor.insertPlainText(" *PI")
    editor.offer()
    assert editor.completer.currentCompletion() == "*PICKUP"
    editor.completer.popup().hide()


def test_a_program_goes_to_the_preview_with_its_positions(make_lessons: Make, commands: list[list[str]]) -> None:
    """S2-09."""
    window = make_lessons("rv2aj", "programs")
    window.shell.send.click()
    (path,) = window.sent
    assert path.suffix == ".mb4" and path.with_suffix(".pos").is_file()


def test_words_labels_numbers_and_comments_are_coloured(make_lessons: Make, commands: list[list[str]]) -> None:
    line = "100 *SEEN MOV P1,-40 'go'"
    kinds = {line[span.start : span.start + span.length]: span.kind for span in spans(line, "melfa")}
    assert kinds == {"100": "number", "*SEEN": "label", "MOV": "word", "P1": "name", "40": "number", "'go'": "comment"}
    window = make_lessons("rv2aj", "programs")
    view = written(window, line)
    shown = view.sheet.editor.document().firstBlock().layout().formats()
    theme = view._theme
    colours = {form.format.foreground().color().name() for form in shown}
    assert {theme.accent, theme.good, theme.faint} <= colours


def test_positions_and_traces_that_are_none_are_refused() -> None:
    with pytest.raises(CommandError, match="position 'Q1': allowed"):
        places_text([Place("Q1", ("0",) * 6)])
    with pytest.raises(CommandError, match="no sample"):
        read_trace("time_s,line\n")
    assert twice([Place("P1", ("1",) * 6), Place("P2", ("1.001",) * 6), Place("P3", ("2",) * 6)]) == [("P1", "P2")]


@pytest.mark.processes
def test_the_proof_is_that_of_hil_program_in_a_process_of_its_own(make_lessons: Make, qtbot: Any) -> None:
    """S5-10: what is drawn is what the arm would do, to the trace's own rounding."""
    window = make_lessons("rv2aj", "programs")
    view = written(window, "10 DLY 0.1\n20 END\n")
    view.sheet.run.click()
    qtbot.waitUntil(lambda: not view.proof.busy, timeout=90_000)
    assert view.proof.shown is not None, view.sheet.said.toPlainText()
    trace = view.proof.shown.trace
    tool_mm = 1000.0 * view.robot.forward_kinematics(trace.q)[:, :3, 3]
    assert np.abs(tool_mm - trace.tool_mm).max() < 1e-3


def test_variables_are_shown_as_one_steps(make_lessons: Make, commands: list[list[str]]) -> None:
    window = make_lessons("rv2aj", "programs")
    view = written(window, "10 'x\n15 M1=3\n20 MOV P1\n30 HCLOSE 1\n40 END\n")
    view.sheet.run.click()
    window.shell.time_bar.look(0.0)
    assert variables(view) == {
        "P1": ("position", "(250.0,0.0,400.0,0.0,180.0,0.0)(6,0)", False), "M_OVRD": ("number", "100", False)
    }  # fmt: skip
    view.sheet.step.click()
    assert variables(view)["M1"] == ("number", "3", True), "the statement before has changed it"
    view.sheet.step.click()
    assert variables(view)["M1"] == ("number", "3", False)
    assert variables(view)["P_CURR"] == ("position", "(86.98,1.5,464.02,0.0,170.0,0.0)(0,0)", True)
    assert [view.sheet.variables.item(row, 0).text() for row in range(4)] == ["M1", "P1", "M_OVRD", "P_CURR"]


def test_the_line_that_is_next_is_scrolled_to(make_lessons: Make, commands: list[list[str]]) -> None:
    """And the cursor stays where somebody has put it."""
    window = make_lessons("rv2aj", "programs")
    view = written(window, "".join(f"{row} 'x\n" for row in range(1, 90)))
    editor = view.sheet.editor
    editor.go_to(2)
    editor.mark(running=80)
    assert editor.firstVisibleBlock().blockNumber() > 60 and editor.row == 2
    at = editor.verticalScrollBar().value()
    editor.mark(running=79)
    assert editor.verticalScrollBar().value() == at, "what is seen already moves nothing"


def test_a_program_that_is_refused_shows_where_and_its_variables_there(
    make_lessons: Make, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = make_lessons("rv2aj", "programs")
    view = written(window, "10 'x\n15 M1=3\n20 MOV P1\n30 HCLOSE 1\n40 END\n")

    def refuse(self: Command, words: list[str]) -> None:
        if words[0] == "lint":
            return
        Path(words[words.index("--variables") + 1]).write_text(STEPS[: STEPS.index("4,0.0600")], encoding="utf-8")
        self.done.emit(1, "", "line 30: out of reach")

    monkeypatch.setattr(Command, "start", refuse)
    view.sheet.run.click()
    assert view.sheet.editor._running == 4 and variables(view)["M1"][1] == "3"
    assert "refused" in view.sheet.state.text() and "out of reach" in view.sheet.said.toPlainText()
    assert window.shell.time_bar.time_line.duration_s == 0.0, "what would not be sent is not played"


def test_a_task_is_played_step_by_step_with_its_trace(
    make_lessons: Make, commands: list[list[str]], tmp_path: Path
) -> None:
    """The same proof as of hil preview; the running step has a ground, and break points hold before a step."""
    window = make_lessons("lynx6", "programs")
    task = tmp_path / "mine.toml"
    task.write_text(TASK, encoding="utf-8")
    view, bar = window.shell.view, window.shell.time_bar
    view.file.open(task)
    assert not view.sheet.inputs.isVisible(), "a task has no inputs"
    view.sheet.run.click()
    assert commands[-1][:2] == ["preview", "lynx6"] and bar.play.isChecked()
    bar.look(0.02)
    assert view.sheet.editor._running == 3 and variables(view)["base"] == ("deg", "5.00", False)
    assert variables(view)["X"] == ("mm", "99.00", False)
    assert np.allclose(window.shell.picture().arms[0].frames, view.robot.link_frames(np.radians([5, 90, -90, 0, 0])))
    assert len(window.shell.picture().lines[0].ends) > 0
    view.sheet.step.click()
    assert bar.time_s == 0.04 and view.sheet.editor._running == 7
    view.sheet.editor.go_to(8)
    view.sheet.go.click()
    assert bar.time_s == pytest.approx(0.06), "the arm of the scene stands where the step ends"
    view.sheet.editor.go_to(4)
    view.sheet.teach.click()
    assert "joints_deg = { base = 10.00, shoulder = 90.00" in view.file.text and view.sheet.editor.row == 7
    assert not view.checks.findings, view.checks.findings
    view.undo()
    assert view.file.text == TASK


def test_a_task_s_words_and_the_joints_of_its_arm_are_offered(make_lessons: Make, commands: list[list[str]]) -> None:
    window = make_lessons("lynx6", "programs")
    view = window.shell.view
    view.file.open(view.file.examples["square.toml"])
    editor = view.sheet.editor
    editor.moveCursor(QTextCursor.MoveOperation.End)
    for begun, whole in (("speed_p", "speed_percent"), ("wrist_r", "wrist_rotate"), ("spl", "spline")):
        editor.insertPlainText(f"\n{begun}")
        editor.offer()
        assert editor.completer.currentCompletion() == whole
    editor.completer.popup().hide()


def test_positions_that_are_there_twice_are_sorted_out(make_lessons: Make, commands: list[list[str]]) -> None:
    """S5-08: one stays, in the list and in the program; one that the program writes to is left."""
    point = "=(250.00,0.00,400.00,0.00,180.00,0.00)(6,0)\n"
    window = make_lessons("rv2aj", "programs")
    view = written(window, "10 MOV PA\n20 MOV PB,-50 'PB\n30 END\n", f"DEF POS PA{point}DEF POS PB{point}")
    view.sheet.merge.click()
    assert [place.name for place in view.places.now] == ["PA"] and "PB is now PA" in view.sheet.trouble.text()
    assert view.file.text == "10 MOV PA\n20 MOV PA,-50 'PB\n30 END\n"
    view = written(window, "10 MOV PA\n20 PB.X=3\n30 END\n", f"DEF POS PA{point}DEF POS PB{point}")
    view.sheet.merge.click()
    assert len(view.places.now) == 2 and "both stay" in view.sheet.trouble.text()


def test_what_the_table_of_positions_does_not_show_stays_in_the_file(
    make_lessons: Make, commands: list[list[str]], tmp_path: Path
) -> None:
    lists = "DEF POS P1=(250.123,0.00,400.00,0.00,180.00,0.00)(6,0)\n"
    lists += "DEF JNT J1=(0,0,90,0,90,0)\nP(2)=(1,2,3,0,180,0)(6,0)\n"
    (tmp_path / "mine.mb4").write_text("10 MOV P1\n20 END\n", encoding="utf-8")
    (tmp_path / "mine.pos").write_text(lists, encoding="utf-8")
    view = make_lessons("rv2aj", "programs").shell.view
    view.file.open(tmp_path / "mine.mb4")
    assert view.task_file().with_suffix(".pos").read_text("utf-8") == lists


@pytest.mark.parametrize(("robot", "file"), [("rv2aj", "mine.mb4"), ("lynx6", "mine.toml")])
def test_a_run_is_that_of_the_command_that_is_copied(
    robot: str, file: str, make_lessons: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the proof says, every sample and every variable: the real commands, run here and now."""
    start = tmp_path / "start"
    start.mkdir()
    (start / "mine.mb4").write_text("10 M1=2\n20 DLY 0.1\n30 M1=M1+1\n40 END\n", encoding="utf-8")
    (start / "mine.toml").write_text('title = "x"\n[[step]]\ndo = "wait"\nseconds = 0.1\n', encoding="utf-8")

    def here(self: Command, words: list[str]) -> None:
        outcome = CliRunner().invoke(app, words)
        self.done.emit(outcome.exit_code, outcome.stdout, "")

    monkeypatch.setattr(Command, "start", here)
    monkeypatch.setattr(Work, "start", in_this_process)
    window = make_lessons(robot, "programs")
    view, bar = window.shell.view, window.shell.time_bar
    view.file.open(start / file)
    view.sheet.run.click()
    window.shell.copy.click()
    words = shlex.split(QGuiApplication.clipboard().text())
    told = CliRunner().invoke(app, words[1:])
    assert told.exit_code == 0 and view.proof.shown is not None
    said = view.sheet.said.toPlainText()
    assert "PASSED" in said and all(line in said for line in told.stdout.splitlines() if line.strip())
    trace = view.proof.shown.trace
    tool_mm = 1000.0 * view.robot.forward_kinematics(trace.q)[:, :3, 3]
    assert np.abs(tool_mm - trace.tool_mm).max() < 1e-3
    bar.look(bar.time_line.duration_s)
    if file.endswith("mb4"):
        assert variables(view)["M1"][:2] == ("number", "3")
        assert [step.line for step in view.proof.shown.steps.steps] == [10, 20, 30, 40]
    else:
        assert variables(view)["X"][1] == f"{trace.tool_mm[-1][0]:z.2f}"
