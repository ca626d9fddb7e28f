"""One reading of the language: points as programs have them, names, labels, and what is said of a slip."""

from __future__ import annotations

import re

import pytest

from hil.program.builder import Dialect
from hil.program.errors import ProgramError
from hil.program.interpreter import Interpreter, SlotState
from hil.program.lint import lint
from hil.program.motions import default_limits
from hil.program.points import parse_points
from hil.program.rv2aj import Rv2aj
from hil.program.signals import AssumedSignals
from hil.program.slips import STATEMENTS
from hil.program.structure import parse_program, read_program
from hil.program.syntax import _parser
from hil.program.values import Joints, Position
from hil.units import DEG
from sim.cr1 import Cr1, Cr1Settings
from sim.uart import EIGHT_E_TWO

HOME = [angle * DEG for angle in (0.0, 0.0, 90.0, 90.0, 0.0)]


def number_of(text: str, dialect: Dialect = Dialect.LOOSE) -> int:
    """The first error of a program, 0 for none."""
    _, errors = read_program(text, dialect=dialect)
    return errors[0].number if errors else 0


def of_list(text: str, dialect: Dialect = Dialect.LOOSE) -> int:
    """The error of a list of points, 0 for none."""
    try:
        parse_points(text, "mine.pos", dialect)
    except ProgramError as error:
        return error.number
    return 0


def ran(text: str, dialect: Dialect = Dialect.LOOSE) -> Interpreter:
    """A machine that ran a program for two seconds."""
    machine = Interpreter(parse_program(text, dialect=dialect), Rv2aj(), AssumedSignals(), default_limits(0.02), HOME)
    machine.run()
    for _ in range(100):
        machine.tick()
    return machine


# -- points ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("P1=(1,2,3)", 0),
        ("P1=(250,0,350,0,180,0)(6,0)", 0),
        ("P1=(250,0,350,0,180,0,0,0)(6,0)", 0),
        ("P1=(1,2,3,4,5,6,7,8,)", 0),
        ("P1=(1,2,3,4,5,6,7,8,9)", 3120),
        ("P1=(1E10,2,3)(6,0)", 3110),
        ("P1=(1E999,2,3)(6,0)", 3110),
        ("P1=(1,2,3)(6,0,0)", 3860),
        ("P1=(1,2,3)(-1,0)", 3110),
        ("P1=(1,2,3)(4294967295,0)", 0),
        ("P1=(1,2,3)(4294967296,0)", 3110),
        ("J1=(1,2,3,0,5,6)", 0),
        ("J1=(1,2,3,0,5,6)(6,0)", 3810),
        ("M1=(1,2,3,4,5,6)(6,0)", 3810),
        ("DEF POS WORK=(1,2,3)(6,0)", 0),
        ("DEF JNT SAFE=(1,2,3,0,5,6)", 0),
        ("DEF JNT SAFE=(1,2,3,0,5,6)(6,0)", 3810),
        ("P1(1)=(1,2,3)(6,0)", 0),
        ("P1(999)=(1,2,3)(6,0)", 0),
        ("P1(0)=(1,2,3)(6,0)", 4370),
        ("P1(1000)=(1,2,3)(6,0)", 4370),
        ("P1(1,2,3,4)=(1,2,3)(6,0)", 4370),
        ("PABCDEFGHIJKLMNO=(1,2,3)(6,0)", 0),
        ("PABCDEFGHIJKLMNOP=(1,2,3)(6,0)", 4300),
    ],
)
def test_a_point_is_read_by_one_rule_in_a_list_and_behind_a_program(line: str, number: int) -> None:
    assert of_list(line) == number
    assert number_of(f"10 MOV P1\n20 END\n{line}") == number


@pytest.mark.parametrize("line", ["P1=(1)", "P1=(A,2)", "P1 (1,2)", "P1=(1,2)(X,0)x"])
def test_what_is_no_point_is_refused_in_a_list(line: str) -> None:
    assert of_list(line) == 3860


@pytest.mark.parametrize("line", ["P1=(,,,,,)(,)", "P1=(1,2,3)(6.0,0)", "p1=( +1 , -2.5e1 , .5 )( 6 , )  ' words"])
def test_points_are_read_in_every_spelling(line: str) -> None:
    assert of_list(line) == 0


def test_strict_iv_has_short_names_of_points_too() -> None:
    assert of_list("PABCDEFGH=(1,2,3)(6,0)", Dialect.STRICT) == 4300
    assert of_list("PABCDEFG=(1,2,3)(6,0)", Dialect.STRICT) == 0
    assert of_list("PA_B=(1,2,3)(6,0)", Dialect.STRICT) == 4310


def test_a_point_in_a_list_and_in_the_program_is_given_twice_unless_it_is_the_same() -> None:
    listed = parse_points("P1=(250,0,400,0,180,0)(6,0)\nP2(1)=(250,0,400,0,180,0)(6,0)\n")
    text = "10 MOV P1\n20 END\n"
    _, errors = read_program(f"{text}P1=(250,0,380,0,180,0)(6,0)\n", points=listed)
    assert [(error.number, error.row) for error in errors] == [(4350, 3)]
    assert not read_program(f"{text}P1=(250,0,400,0,180,0)(6,0)\n", points=listed)[1]
    assert [e.number for e in read_program(f"{text}P2=(1,2,3)(6,0)\n", points=listed)[1]] == [4350]


def test_one_name_is_no_point_and_an_array_at_once() -> None:
    assert of_list("P1=(1,2,3)(6,0)\nP1(1)=(1,2,3)(6,0)") == 4350
    assert of_list("P1(1)=(1,2,3)(6,0)\nP1(1,2)=(1,2,3)(6,0)") == 4350
    assert of_list("P1(1)=(1,2,3)(6,0)\nP1(2)=(1,2,3)(6,0)") == 0


def test_a_list_gives_its_names_their_type() -> None:
    machine = ran("10 WORK=P_ZERO\n20 END\n", Dialect.STRICT)
    assert machine.error is not None and machine.error.number == 4340
    points = parse_points("DEF POS WORK=(1,2,3)(6,0)\nDEF JNT SAFE=(0,0,80,0,60,0)\nP1=(9,8,7)(6,0)\n")
    program = parse_program("10 WORK=P1\n20 P2=WORK\n30 MOV SAFE\n40 END\n", dialect=Dialect.STRICT, points=points)
    machine = Interpreter(program, Rv2aj(), AssumedSignals(), default_limits(0.02), HOME)
    machine.run()
    for _ in range(200):
        machine.tick()
    assert machine.state is SlotState.ENDED
    assert isinstance(machine.read("P2"), Position) and machine.read("P2").members[:3] == (9.0, 8.0, 7.0)
    assert isinstance(machine.read("SAFE"), Joints)


@pytest.mark.parametrize("line", ["P1=(1,2,3)(6,0,0)", "J1=(1,2,3,0,5,6)(6,0)", "P1(1000)=(1,2,3)(6,0)", "M1=(1,2,3)"])
def test_the_editor_of_the_fake_refuses_the_same(line: str) -> None:
    cr1 = Cr1(Cr1Settings(boot_s=0.0))

    def ask(command: str) -> str:
        cr1.receive(f"1;1;{command}\r".encode(), cr1.now_s, cr1.byte_s, EIGHT_E_TWO)
        return b"".join(data for _, data in cr1.transmit(cr1.now_s + 0.5)).decode().strip()

    for command in ("OPEN=ME", "CNTLON", "LOAD=MINE"):
        ask(command)
    answer = ask(f"EDATA{line}")
    assert answer[:3].upper() == "QER" and int(answer[3:7]) == of_list(line)


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_name_without_a_def_is_a_number_in_v_and_an_error_in_iv() -> None:
    text = "10 LIMIT=20\n20 OVRD LIMIT\n30 END\n"
    assert ran(text).modal.override == 100 and ran(text).state is SlotState.ENDED
    strict = ran(text, Dialect.STRICT)
    assert strict.error is not None and (strict.error.number, strict.error.row) == (4340, 1)
    assert {(f.severity, f.number) for f in lint(parse_program(text))} == {("note", 0)}
    assert ("error", 4340) in {(f.severity, f.number) for f in lint(parse_program(text, dialect=Dialect.STRICT))}


@pytest.mark.parametrize("dialect", Dialect)
def test_a_string_needs_its_mark_or_a_def(dialect: Dialect) -> None:
    machine = ran("10 CTEXT=1\n20 END", dialect)
    assert machine.error is not None and machine.error.number == 4340
    assert ran('10 DEF CHAR CTEXT\n20 CTEXT="A"\n30 END', dialect).state is SlotState.ENDED


def test_an_exclamation_mark_before_an_equals_sign_is_pointed_out() -> None:
    found = lint(parse_program("10 M1!=3\n20 IF M1!=2 THEN 10\n30 END"))
    assert [(f.severity, f.row) for f in found if "<>" in f.advice] == [("warning", 1), ("warning", 2)]


# -- labels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize(
    ("label", "jump"), [("* SUB1", "GOSUB *SUB1"), ("*SUB1", "GOSUB * SUB1"), ("*  SUB1", "ON M1 GOSUB *SUB1,* SUB1")]
)
def test_blanks_may_stand_after_the_star_of_a_label(label: str, jump: str, dialect: Dialect) -> None:
    program = parse_program(f"10 M1=1\n20 {jump}\n30 END\n40 {label}\n50 RETURN", dialect=dialect)
    assert dict(program.labels) == {"SUB1": 3}
    assert number_of(f"10 GOTO *A\n20 {label}\n30 *SUB1\n40 *A", dialect) == 4440


# -- slips -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("MOVE P1", "MOV or MVS?"),
        ("MOVE", "MOV or MVS?"),
        ("MOVL P1", "MOV?"),
        ("LIN P1", "MVS?"),
        ("DELAY 1", "DLY?"),
        ("SPEED 100", "SPD or OVRD?"),
        ("GO TO 10", "GOTO?"),
        ("GOTTO 10", "GOTO?"),
        ("HCLOS 1", "HCLOSE or CLOSE?"),
        ("WHIL 1", "WHILE?"),
        ('CALL "A"', "CALLP or GOSUB?"),
    ],
)
def test_a_word_that_is_no_statement_is_told_what_was_probably_meant(line: str, meant: str) -> None:
    _, errors = read_program(f"10 {line}\n20 END")
    assert errors[0].number == 4220 and errors[0].column == 4
    assert errors[0].detail == f"{line.split()[0]} is no statement of MELFA-BASIC: {meant}"
    assert "?. " not in str(errors[0])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("M1=1;", "one statement stands on a line"),
        ("\u2018[Control mode]", "the straight '"),
        ("IF M1!2 THEN 10", ""),
        ("M1[1]=2", "brackets are ( and )"),
        ("FSC ON,0,0,1", "force control"),
        ("DEF MOTRG 1,M1>2", "a trigger for force control"),
        ("TRK ON", "tracking"),
        ('NVRUN #1,"A"', "a vision sensor"),
        ("EHOPEN 1,100,100", "an electric hand"),
    ],
)
def test_what_belongs_to_another_language_or_controller_is_named(line: str, told: str) -> None:
    _, errors = read_program(f"10 {line}\n20 END")
    assert errors[0].number == 4220 and told in f"{errors[0].detail} {errors[0].allowed}"


def test_every_word_that_is_suggested_begins_a_statement() -> None:
    parser, _ = _parser()
    terminals = {str(each.pattern.value).strip('"') for each in parser.terminals}
    for word in " ".join(STATEMENTS).split():
        assert word in terminals or word == "REM", word


@pytest.mark.parametrize(
    "line",
    ["COLLVL 50,50,,,,,,", "CAVCHK ON", "CAVCHK ON,0,NOERR", "CAVCHK OFF", "MVTUNE 2", "SPDOPT ON", 'TITLE "LOADER"'],
)
def test_what_later_controllers_watch_is_left_out_in_v_and_unknown_in_iv(line: str) -> None:
    machine = ran(f"10 {line}\n20 M1=1\n30 HLT")
    assert machine.state is SlotState.PAUSED and machine.read("M1") == 1
    assert number_of(f"10 {line}\n20 END", Dialect.STRICT) == 4220


def test_jrc_does_nothing_as_delivered_and_says_so() -> None:
    machine = ran("10 JRC 1\n20 HLT", Dialect.STRICT)
    assert machine.state is SlotState.PAUSED and any("JRCEXE" in notice for notice in machine.notices)


def test_a_constant_of_v_takes_its_type_from_its_name() -> None:
    machine = ran('10 CONST LIMIT=11,C1$="A"\n20 M1=LIMIT\n30 HLT\n40 LIMIT=1\n50 END')
    assert machine.read("M1") == 11
    machine.run()
    machine.tick()
    assert machine.error is not None and machine.error.number == 3210


@pytest.mark.parametrize(
    ("line", "dialect", "number"),
    [
        ("BASE 1", Dialect.LOOSE, 0),
        ("BASE 8", Dialect.LOOSE, 0),
        ("BASE 9", Dialect.LOOSE, 3810),
        ("BASE 1", Dialect.STRICT, 3810),
        ("BASE 0", Dialect.STRICT, 0),
        ("TOOL 1", Dialect.LOOSE, 3810),
    ],
)
def test_a_numbered_base_is_v(line: str, dialect: Dialect, number: int) -> None:
    machine = ran(f"10 {line}\n20 END", dialect)
    assert (machine.error.number if machine.error else 0) == number


# -- CLR, CHRSRCH ------------------------------------------------------------------------------------------------------

CLEARED = "10 M1=5\n20 M_01=7\n30 P1.X=9\n40 M_OUT(3)=1\n50 HCLOSE 1\n60 CLR {}\n70 HLT\nP1=(1,2,3)(6,0)"


@pytest.mark.parametrize(("kind", "own", "shared", "output"), [(0, 0, 0, 0), (1, 5, 7, 0), (2, 0, 7, 1), (3, 5, 0, 1)])
def test_clr_clears_outputs_own_numbers_or_shared_ones(kind: int, own: int, shared: int, output: int) -> None:
    machine = ran(CLEARED.format(kind))
    assert (machine.read("M1"), machine.read("M_01"), machine.read("M_OUT(3)")) == (own, shared, output)
    assert machine.read("P1.X") == 9 and machine.read("M_OUT(900)") == 0 and machine.read("M_OUT(901)") == 1


def test_clr_needs_its_number_and_has_four() -> None:
    assert number_of("10 CLR\n20 END") == 4220
    machine = ran("10 CLR 4\n20 END")
    assert machine.error is not None and machine.error.number == 3110


SEARCH = '10 DIM C1$(4)\n20 C1$(1)="ABC"\n30 C1$(2)="MELFA"\n40 C1$(4)="MELFA"\n50 CHRSRCH C1$(3),"{}",M1\n60 HLT'


@pytest.mark.parametrize(("text", "place"), [("MELFA", 2), ("ABC", 1), ("AB", 0), ("melfa", 0)])
def test_chrsrch_finds_the_first_element_that_is_the_text(text: str, place: int) -> None:
    assert ran(SEARCH.format(text), Dialect.STRICT).read("M1") == place


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ('CHRSRCH C2$,"A",M1', 4370),
        ("CHRSRCH C1$(1),5,M1", 3810),
        ('CHRSRCH M2(1),"A",M1', 4370),
        ('CHRSRCH C3$(1),"A",M1', 4370),
    ],
)
def test_chrsrch_wants_an_array_of_strings_and_a_string(line: str, number: int) -> None:
    machine = ran(f"10 DIM C1$(4)\n20 DIM M2(3)\n30 DIM C3$(2,2)\n40 {line}\n50 END")
    assert machine.error is not None and machine.error.number == number


def test_what_chrsrch_sets_counts_as_set() -> None:
    found = lint(parse_program(SEARCH.format("ABC") + "\n70 M2=M1"))
    assert not any(re.search(r"M1 is read", each.text) for each in found)
