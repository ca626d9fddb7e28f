"""What a command that moves an arm says of its journal: before anything is planned, and in its last line."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer
from command_line import Terminal

from hil.cli.motion_commands import close_with
from hil.runtime.host import Host
from hil.runtime.journal_end import JournalEnd
from hil.runtime.report import LineQuality


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


def host(complete: bool, text: str) -> Host:
    end = JournalEnd(complete=complete, text=text)
    quality = LineQuality(questions=200, late=1)
    rig = SimpleNamespace(id="lynx6")
    return cast(Host, SimpleNamespace(rig=rig, real=False, journal_end=lambda: end, line_quality=quality))


LINE = (
    "the line: 99.5 % of 200 questions answered well; 1 answers late, 0 lost, 0 bytes without meaning, "
    "0 reports that did not fit what was sent\n"
)


def test_a_complete_journal_is_named_in_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    close_with(host(True, "journal run.mcap"), "5000 bytes sent", done=True)
    assert capsys.readouterr() == (f"{LINE}5000 bytes sent; journal run.mcap\n", "")


@pytest.mark.parametrize("done", [True, False])
def test_one_that_is_not_complete_is_no_success_whatever_the_arm_did(
    done: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "the journal is NOT COMPLETE: run.mcap: 3 ticks are lost"
    with pytest.raises(typer.Exit) as end:
        close_with(host(False, words), "5000 bytes sent", done=done)
    assert end.value.exit_code == 1
    assert capsys.readouterr() == (f"{LINE}5000 bytes sent; {words}\n", f"lynx6: {words}\n")


def test_a_motion_that_did_not_end_is_no_success_whatever_the_journal_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        close_with(host(True, "journal run.mcap"), "5000 bytes sent", done=False)
    assert capsys.readouterr() == (f"{LINE}5000 bytes sent; journal run.mcap\n", "")


@pytest.mark.parametrize(
    "command",
    [
        ("run", "lynx6", "no-such-task"),
        ("jog", "lynx6"),
        ("park", "lynx6"),
        ("program", "rv2aj", "no-such-program.mb4"),
    ],
)
def test_where_no_journal_can_be_made_nothing_else_is_looked_at(terminal: Terminal, command: tuple[str, ...]) -> None:
    outcome = terminal.run(*command, "--journal", "missing/run.mcap")
    assert outcome.code == 1
    assert outcome.err == f"{Path('missing/run.mcap')}: no journal can be made here: {os.strerror(2)}\n"


@pytest.mark.parametrize("command", [("run", "lynx6", "no-such-task"), ("demo",)])
def test_the_usual_folder_is_no_better(terminal: Terminal, command: tuple[str, ...]) -> None:
    (terminal.folder / "state").write_text("not a folder")
    outcome = terminal.run(*command)
    assert outcome.code == 1
    assert "no journal can be made here: " in outcome.err
    assert "Traceback" not in outcome.err


def test_a_preview_needs_no_journal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("nothing is recorded here")

    monkeypatch.setattr("hil.runtime.journal_file.require_room", refuse)
    outcome = terminal.run("program", "rv2aj", "no-such-program.mb4", "--preview")
    assert outcome.code == 1 and "no-such-program" in outcome.err
