"""What lint learns from runs: past stops and waits, with inputs, a second time, in programs that are called."""

from __future__ import annotations

import pytest

from hil.program.dry_run import MOST_TICKS
from hil.program.lint import Finding, lint
from hil.program.structure import parse_program, read_program

POINTS = "P1=(250,0,300,0,180,0)(6,0)\nP2=(250,120,300,0,180,0)(6,0)\n"


def found(text: str, **given: object) -> list[Finding]:
    """Findings but for unused points."""
    program, errors = read_program(f"{text}\n{POINTS}")
    return [each for each in lint(program, errors, **given) if "not used" not in each.text]  # type: ignore[arg-type]


def brief(text: str) -> list[tuple[str, int, int]]:
    """Severity, number and row of each."""
    return [(each.severity, each.number, each.row) for each in found(text)]


@pytest.mark.parametrize(
    "before",
    [
        "10 HLT",
        "10 MOV P1 WTH HLT",
        "10 DLY 3600",
        "10 WAIT M_IN(8)=1",
        "10 WAIT M_IN(1)=1 AND M_IN(2)=0",
        "10 WAIT M_INB(16)=173",
        "10 IF M_IN(3)=0 THEN 10",
        '10 OPEN "COM1:" AS #1\n12 INPUT #1,M1,P9,J9,C1$',
        "10 ERROR 9200",
        "10 GOSUB *R\n12 GOTO 20\n14 *R\n16 RETURN",
        "10 WAIT M_TIMER(1)>100",
    ],
)
def test_what_stops_a_program_behind_a_stop_or_a_wait_is_an_error(before: str) -> None:
    rows = len(before.splitlines()) + 1
    assert ("error", 3110, rows) in brief(f"{before}\n20 OVRD 0\n30 END")


def test_a_finding_names_the_inputs_of_its_run_as_the_command_takes_them() -> None:
    (first,) = [each for each in found("10 WAIT M_IN(8)=1\n20 OVRD 0\n30 END") if each.severity == "error"]
    assert first.text.endswith("(with --input 8=1@0.02)")
    (other,) = [each for each in found("10 IF M_IN(5)=1 THEN OVRD 0\n20 END") if each.number]
    assert other.severity == "warning" and other.text.endswith("(with --input 5=1)")
    (text,) = [each for each in found('10 OPEN "COM1:" AS #1\n20 INPUT #1,M1\n30 OVRD M1\n40 END') if each.number]
    assert '--text "0@' in text.text


def test_a_wait_that_nothing_ends_is_pointed_out_and_what_is_behind_it_is_no_error() -> None:
    assert brief("10 M1=0\n20 WAIT M1=1\n30 OVRD 0\n40 END") == [("warning", 0, 2)]


def test_an_interrupt_that_an_input_calls_is_run_too() -> None:
    text = "10 IF M_SVO=1 THEN DEF ACT 1,M_IN(4)=1 GOSUB *I\n20 ACT 1=1\n30 GOTO 30\n40 *I\n50 OVRD 0\n60 RETURN"
    assert ("error", 3110, 5) in brief(text)
    assert not any(each.text == "no way leads here" for each in found(text))


def test_a_deliberate_error_is_a_warning_and_one_that_only_warns_goes_on() -> None:
    assert brief("10 ERROR 9100\n20 END") == [("warning", 9100, 1), ("note", 0, 2)]
    assert brief("10 ERROR 9299\n20 END") == []
    assert brief("10 M1=9100\n20 ERROR M1\n30 END") == [("warning", 9100, 2)]


def test_an_error_in_a_condition_has_the_line_of_its_own_if() -> None:
    assert ("error", 3700, 3) in brief("10 IF M_IN(1)=1 THEN\n20 ENDIF\n30 IF M9=1 THEN\n40 ENDIF\n50 END")
    assert ("error", 3700, 2) in brief("10 IF M_IN(1)=1 THEN\n20 ELSEIF M9=1 THEN\n30 ENDIF\n40 END")


def test_a_second_run_from_where_the_first_ended_is_looked_at() -> None:
    text = "10 MVS P3\n20 MOV P4\n30 END\nP3=(250,0,320,0,180,0)(6,0)\nP4=(350,0,400,0,90,0)(4,0)"
    (again,) = [each for each in found(text) if each.number == 2810]
    assert again.severity == "warning" and "when it runs again" in again.text


def test_an_error_in_a_called_program_stands_where_it_is_called() -> None:
    library = {"SUB": parse_program("10 M1=1\n20 OVRD 0\n30 END", name="SUB")}
    (each,) = [each for each in found('10 M1=1\n20 CALLP "SUB"\n30 END', library=library) if each.number]
    assert (each.severity, each.number, each.row) == ("error", 3110, 2)
    assert "in SUB, line 20" in each.text


def test_a_program_that_is_too_long_to_be_run_to_its_end_says_so() -> None:
    endless = found("10 M1=0\n20 M1=M1+1\n30 GOTO 20")
    assert [(each.severity, "not looked at" in each.text) for each in endless] == [("note", True)]
    circle = found("10 M1=0\n20 M_OUT(1)=1\n30 DLY 0.1\n40 GOTO 20")
    assert circle == []
    assert MOST_TICKS == 6000


def test_a_counter_that_runs_over_is_met_although_it_takes_long() -> None:
    assert ("error", 3110, 3) in brief("10 DEF INTE M1\n20 M1=32000\n30 M1=M1+1\n40 GOTO 30")


@pytest.mark.parametrize("statement", ["M_OUT(256)=1", "M1=M_IN(899)", "M1=M_IN(908)"])
def test_a_signal_that_a_cr1_has_not_is_a_warning(statement: str) -> None:
    assert ("warning", 6600, 1) in brief(f"10 {statement}\n20 END")


@pytest.mark.parametrize("statement", ["M_OUT(255)=1", "M1=M_IN(900)", "M1=M_IN(907)", "M1=M_IN(0)"])
def test_a_signal_that_it_has_is_none(statement: str) -> None:
    assert brief(f"10 {statement}\n20 END") == []
