"""Statement by statement: what changed, in which order, and that looking on changes nothing."""

from __future__ import annotations

import csv
import io

import pytest

from hil.program.errors import ProgramError
from hil.program.program_plan import plan_program
from hil.program.signals import InputChange, Inputs
from hil.program.steps import COLUMNS, StepRecorder, StepRow, to_csv
from hil.program.structure import parse_program
from hil.runtime.wiring import load_rig

TEXT = """10 DEF INTE COUNT
20 DIM MA(3)
30 COUNT=0
40 C1$="AB"
50 *AGAIN
60 MA(2)=COUNT*2
70 COUNT=COUNT+1
80 J1=J_CURR
90 IF COUNT<2 THEN GOTO *AGAIN
100 M_01=7
110 DEF IO LAMP=BIT,10
120 WAIT M_IN(8)=1
130 LAMP=1
140 M_TIMER(1)=0
150 DLY 0.04
160 END
P1=(250,0,400,0,180,0)(6,0)
"""
INPUTS = Inputs(changes=(InputChange(time_s=0.1, signal=8, value=1),))


def walked(text: str, inputs: Inputs | None = None) -> list[StepRow]:
    recorder = StepRecorder()
    plan_program(load_rig("rv2aj"), parse_program(text, name="MINE"), inputs, steps=recorder)
    return recorder.rows


def changes(rows: list[StepRow], variable: str) -> list[tuple[int, str]]:
    return [(row.line, row.value) for row in rows if row.variable == variable]


def test_every_kind_of_variable_is_there_as_it_changes() -> None:
    rows = walked(TEXT, INPUTS)
    assert changes(rows, "COUNT") == [(30, "0"), (70, "1"), (70, "2")]
    assert changes(rows, "MA(2)") == [(60, "0"), (60, "2")]
    assert changes(rows, "C1$") == [(40, '"AB"')]
    assert changes(rows, "P1") == [(0, "(250.0,0.0,400.0,0.0,180.0,0.0)(6,0)")], "a taught point stands before all"
    assert [line for line, _ in changes(rows, "J1")] == [80]
    assert changes(rows, "M_01") == [(100, "7")]
    assert changes(rows, "M_IN(8)") == [(0, "0"), (120, "1")]
    assert changes(rows, "LAMP") == [(110, "0")], "a port that DEF IO names is read as an input"
    kinds = {row.variable: row.kind for row in rows}
    assert [kinds[name] for name in ("P1", "J1", "C1$", "M_01")] == ["position", "joint set", "string", "number"]


def test_statements_come_in_the_order_in_which_they_are_done_and_a_wait_is_one() -> None:
    begun = [row for row in walked(TEXT, INPUTS) if not row.variable and row.step]
    lines = [row.line for row in begun]
    assert lines == [10, 20, 30, 40, 60, 70, 80, 90, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160]
    assert [row.step for row in begun] == list(range(1, len(lines) + 1))
    assert begun[14].time_s == 0.0 and begun[15].time_s == pytest.approx(0.1), "the wait lasts until the input comes"


def test_system_variables_follow_a_move_sample_by_sample() -> None:
    rows = walked("10 OVRD 50\n20 MOV J1\n30 END\nJ1=(3,-19,109,0,79,2)\n")
    places = [row for row in rows if row.variable == "J_CURR"]
    assert len(places) > 10 and {row.line for row in places[1:]} <= {20, 30}
    assert places[-1].value == "(3.0,-19.0,109.0,0.0,79.0,2.0,0.0,0.0)"
    assert changes(rows, "M_OVRD") == [(0, "100"), (10, "50"), (30, "100")], "END puts it back"


def test_looking_on_changes_neither_motion_nor_what_is_expected() -> None:
    rig, program = load_rig("rv2aj"), parse_program("10 IF M_OUT(8)=0 THEN M1=M_IN(9)\n20 DLY 0.1\n30 END\n")
    plain = plan_program(rig, program, INPUTS)
    watched = plan_program(rig, program, INPUTS, steps=StepRecorder())
    assert watched.motion.digest == plain.motion.digest and watched.expected == plain.expected
    assert [(each.first, each.last) for each in plain.expected] == [(1, 1)]


def test_a_called_programs_variables_carry_its_name_and_go_with_it() -> None:
    main = parse_program('10 CALLP "SUB"\n20 END\n', name="MAIN")
    sub = parse_program("10 M1=5\n20 DLY 0.02\n30 END\n", name="SUB")
    recorder = StepRecorder()
    plan_program(load_rig("rv2aj"), main, library={"SUB": sub}, steps=recorder)
    assert [row.value for row in recorder.rows if row.variable == "SUB:M1"] == ["5", ""]
    assert [row.program for row in recorder.rows if not row.variable] == ["MAIN", "SUB", "SUB", "SUB", "MAIN"]


def test_a_program_that_fails_has_its_statements_up_to_there() -> None:
    recorder = StepRecorder()
    with pytest.raises(ProgramError):
        plan_program(load_rig("rv2aj"), parse_program("10 M1=1\n20 M1=M1/0\n30 END\n"), steps=recorder)
    assert [row.line for row in recorder.rows if not row.variable and row.step] == [10, 20]


def test_the_table_is_read_back_cell_by_cell() -> None:
    rows = walked(TEXT, INPUTS)
    read = list(csv.reader(io.StringIO(to_csv(rows))))
    assert tuple(read[0]) == COLUMNS and len(read) == len(rows) + 1
    assert ["4", "0.0000", "MINE", "40", 'C1$="AB"', "C1$", "string", '"AB"'] in read
