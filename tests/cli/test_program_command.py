"""hil program as typed: proved and refused without anything being sent. Running it is in tests/processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Terminal

from hil.program.trace import from_csv

SHORT = "10 MOV J1\n20 END\nJ1=(3,-19,109,0,79,2)\n"
WAITS = "10 WAIT M_IN(8)=1\n20 MOV J1\n30 END\nJ1=(3,-19,109,0,79,2)\n"


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    (tmp_path / "short.mb4").write_text(SHORT)
    (tmp_path / "waits.mb4").write_text(WAITS)
    return Terminal(tmp_path, monkeypatch, capsys)


def test_a_preview_proves_the_program_and_writes_its_trace(terminal: Terminal) -> None:
    done = terminal.run("program", "rv2aj", "short.mb4", "--preview", "--trace", "short.csv")
    assert done.code == 0, done.text
    assert done.out.startswith("FAKE rv2aj")
    assert "PASSED" in done.out
    assert "it depends on nothing from outside" in done.out
    rows = from_csv((terminal.folder / "short.csv").read_text())
    assert rows[-1].joints_deg == pytest.approx((3, -19, 109, 79, 2), abs=1e-3)
    again = terminal.run("program", "rv2aj", "short.mb4", "--preview", "--trace", "short.csv")
    assert again.code == 1
    assert "no trace is overwritten" in again.err


def test_inputs_are_assumed_as_typed(terminal: Terminal) -> None:
    done = terminal.run("program", "rv2aj", "waits.mb4", "--preview", "--input", "8=1@1.5")
    assert done.code == 0, done.text
    assert "it depends on inputs 8; the arm holds where they differ" in done.out
    waiting = terminal.run("program", "rv2aj", "waits.mb4", "--preview")
    assert waiting.code == 1
    assert "Assume the input that it waits for" in waiting.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--input", "8"), "--input '8' given; allowed: N=0 or N=1"),
        (("--input", "8=2"), "--input '8=2' given"),
        (("--input", "99999=1"), "--input '99999=1' given"),
        (("--text", ""), "--text '' given"),
        (("--break", "15"), "there is no line 15 in SHORT"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(terminal: Terminal, arguments: tuple[str, ...], words: str) -> None:
    done = terminal.run("program", "rv2aj", "short.mb4", "--preview", *arguments)
    assert done.code == 1
    assert words in done.err


def test_a_program_with_an_error_is_refused_with_number_line_and_column(terminal: Terminal) -> None:
    (terminal.folder / "wrong.mb4").write_text("10 MOVE P1\n")
    done = terminal.run("program", "rv2aj", "wrong.mb4", "--preview")
    assert done.code == 1
    assert "L4220" in done.err


def test_other_arms_run_no_programs(terminal: Terminal) -> None:
    done = terminal.run("program", "lynx6", "short.mb4", "--preview")
    assert done.code == 1
    assert "an RV-2AJ" in done.err


def test_a_real_port_needs_the_word_hardware(terminal: Terminal) -> None:
    assert terminal.run("program", "rv2aj", "short.mb4", "--port", "/dev/ttyUSB0").code == 2


def test_every_statement_is_written_with_the_variables_that_it_changed(terminal: Terminal) -> None:
    (terminal.folder / "counts.mb4").write_text("10 M1=2\n20 M2=1/0\n30 END\n")
    done = terminal.run("program", "rv2aj", "short.mb4", "--preview", "--variables", "short.csv")
    assert done.code == 0 and "variables of 2 statements written to short.csv" in done.out, done.text
    assert "1,0.0000,SHORT,10,MOV J1,,,\n" in (terminal.folder / "short.csv").read_text()
    again = terminal.run("program", "rv2aj", "short.mb4", "--preview", "--variables", "short.csv")
    assert again.code == 1 and "--variables: short.csv exists already" in again.err
    refused = terminal.run("program", "rv2aj", "counts.mb4", "--preview", "--variables", "counts.csv")
    assert refused.code == 1, refused.text
    assert "10,M1=2,M1,number,2\n" in (terminal.folder / "counts.csv").read_text(), "up to where it ends"
