"""EXEC: every statement of the language does what it does in a program, or is refused by the number that is written."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import pytest
from cr1_terminal import Cr1Terminal

from hil.program import nodes
from hil.program.builder import Dialect
from hil.program.errors import ProgramError
from hil.program.statements import UNUSED, WORDS
from hil.program.structure import parts_of
from hil.program.syntax import parse_statement
from sim.cr1 import AfterServoOff

POSE = "(250,0,450,0,180)(6,0)"
CORNERS = ("P1=(250,0,350,0,180)(6,0)", "P2=(260,0,350,0,180)(6,0)", "P3=(250,20,350,0,180)(6,0)")


class Case(NamedTuple):
    """A statement, and what stands before it."""

    statement: str
    before: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.statement


def case(statement: str, *before: str) -> Case:
    return Case(statement, before)


SAME = [
    case("M1=41+1"),
    case('C1$="AB"'),
    case("P1.X=12"),
    case("M_OUT(5)=1"),
    case("M_OUTB(16)=165"),
    case("M_TIMER(1)=5"),
    case(f"MOV {POSE}"),
    case(f"MOV {POSE} WTH M_OUT(3)=1"),
    case(f"MOV {POSE} WTHIF M_OUT(9)=0,M_OUT(4)=1"),
    case("MVS P2", "MOV P1", *CORNERS),
    case("MVS ,-5", *CORNERS, "MOV P1"),
    case("MVR P1,P2,P3", *CORNERS, "MOV P1"),
    case("MVR2 P1,P3,P2", *CORNERS, "MOV P1"),
    case("MVR3 P1,P2,P4", *CORNERS, "P4=(255,0,350,0,180)(6,0)", "MOV P1"),
    case("MVC P1,P2,P3", *CORNERS, "MOV P1"),
    case("MVA P2", *CORNERS, "MOV P1"),
    case("MVA P2,1", "DEF ARCH 1,10,10", *CORNERS, "MOV P1"),
    case("OVRD 40"),
    case("JOVRD 35"),
    case("JOVRD 50.0"),
    case("SPD 100"),
    case("SPD M_NSPD"),
    case("ACCEL 50,60"),
    case("CNT 1,5,5"),
    case("FINE 100"),
    case("DLY 0.3"),
    case("HOPEN 1", "HCLOSE 1"),
    case("HCLOSE 2"),
    case("TOOL (0,0,50,0,0,0)"),
    case("TOOL P_NTOOL", "TOOL (0,0,50,0,0,0)"),
    case("BASE (10,20,0,0,0,0)"),
    case("WAIT M_OUT(7)=1", "M_OUT(7)=1"),
    case("ERROR 9200"),
    case("CLR 0", "M1=3", "M_01=4", "M_OUT(6)=1", *CORNERS[:1]),
    case("CLR 1", "M1=3", "M_OUT(6)=1"),
    case("CLR 2", "M1=3", "M_OUT(6)=1", "M_01=4"),
    case("CLR 3", "M1=3", "M_01=4"),
    case("JRC 1"),
    case('CHRSRCH C1$(1),"B",M1', "DIM C1$(3)", 'C1$(2)="B"'),
    case("HLT"),
    case("SKIP"),
    case("DEF PLT 1,P1,P2,P3,,2,2,1", *CORNERS),
    case("P5=PLT 1,4", "DEF PLT 1,P1,P2,P3,,2,2,1", *CORNERS),
    case("DEF ARCH 1,10,10"),
    case("TORQ 1,50"),
    case("LOADSET 1,1"),
    case("GETM 1"),
    case("RELM"),
    case("PRIORITY 1"),
    case('XRUN 2,"A"'),
    case('XLOAD 2,"A"'),
    case("XSTP 2"),
    case("XRST 2"),
    case("XCLR 2"),
    case("RESET ERR"),
    case("SERVO ON"),
    case("SERVO ON", "SERVO OFF", "DLY 1"),
    case("SERVO OFF"),
    case("OADL ON"),
    case("PREC ON"),
    case("CMP OFF"),
    case("CMPG 1,1"),
    case("IF M_OUT(7)=0 THEN M1=2 ELSE M1=3"),
    case(f"IF M_OUT(7)=0 THEN MOV {POSE}"),
    case("ACT 0=0"),
    case("DEF FNA(M2)=M2*2"),
    case("M1=FNA(4)", "DEF FNA(M2)=M2*2"),
    case("DEF INTE MCOUNT"),
    case("DIM M7(3)"),
    case("M7(2)=5", "DIM M7(3)"),
    case("DEF IO PORT1=BYTE,16"),
    case("PORT1=9", "DEF IO PORT1=BYTE,16"),
    case('OPEN "COM1:" AS #1'),
    case('PRINT #1,"HELLO"', 'OPEN "COM1:" AS #1'),
    case("CLOSE #1", 'OPEN "COM1:" AS #1'),
    case('CALLP "SUB"'),
    case('CALLP "SUB2",5'),
    case("MOV P2", "MOV P1", "SPD 50", "JOVRD 20", *CORNERS),
]
"""What is done before and after, and by a program, is to be seen alike."""

OTHERWISE = {
    "END": "a program ends; a single statement brings the speeds back and closes lines",
    "M_OUT(5)=1 DLY 0.2": "a program that halts meanwhile keeps the output as it is",
    "INPUT #1,M1": "it waits for a line that comes meanwhile",
    "COLCHK ON": "a program on this controller refuses it as V, EXEC takes V's spelling",
    "COLLVL 100,100": "the same",
    "MVTUNE 2": "the same",
    'TITLE "PALLET"': "the same",
}

REFUSED = {
    "ERROR 9001": 9001,
    "ERROR 9101": 9101,
    "MOV PNONE": 4340,
    "M1=M9": 4340,
    "P1=PLT 1,1": 3850,
    "OVRD 101": 3110,
    "OVRD 50,0": 4220,
    "JOVRD 50,0": 4220,
    "JOVRD 0": 3110,
    "RETURN": 3840,
    'CALLP "NONE"': 4140,
    "COM(1) ON": 3110,
    "ACT 1=1": 3110,
    "FPRM M1": 3120,
    "GC": 4220,
    "MXT 1,1": 3140,
    "MJ 30,0,0,0,0,0": 4220,
    "SP 5": 4220,
}
"""What a program is stopped by refuses a single statement, by the same number; but 4340 for a program's 3700."""

NEEDS_A_PROGRAM = {
    "GOTO 10": 3600,
    "GOSUB 10": 3600,
    "ON 1 GOTO 10": 3600,
    "ON 5 GOTO 10": 3600,
    "ON 1 GOSUB *L": 3600,
    "IF M_OUT(7)=0 GOTO 10": 3600,
    "DEF ACT 1,M_IN(1)=1 GOSUB *L": 3600,
    "ON COM(1) GOSUB *L": 3600,
    "IF M1=1 THEN": 3252,
    "ELSEIF M1=1 THEN": 3255,
    "ELSE": 3255,
    "ENDIF": 3252,
    "FOR M1=1 TO 3": 3230,
    "NEXT": 3230,
    "NEXT M1": 3230,
    "WHILE M1=1": 3250,
    "WEND": 3250,
    "SELECT M1": 3254,
    "CASE 1": 3254,
    "DEFAULT": 3254,
    "END SELECT": 3254,
    "BREAK": 3254,
}
"""Jumps and parts of blocks: what they belong to is not in the single statement."""

PROGRAMS = {"SUB": "10 M_OUT(2)=1\n20 END", "SUB2": "10 FPRM M1\n20 M_OUTB(24)=M1\n30 END"}

LOOKS = (
    *("VALM1;M", "VALM2;M", "VALC1$;C", "VALP1;P", "VALP5;P", "VALM7(2);M", "GVALM_01;M", "VALM_OVRD;M"),
    *("VALM_JOVRD;M", "VALM_SPD;M", "VALM_SKIPCQ;M", "VALM_SVO;M", "VALP_CURR;P", "VALMCOUNT;M", "VALFNA(1);M"),
    *("VALPORT1;M", "IOSIGNAL0;0", "OUT16", "HNDSTS", "PARMEXTL", "PARMEXBS", "JPOSF", "PPOSF", "ERROR"),
)


def seen(terminal: Cr1Terminal) -> dict[str, str]:
    terminal.wait(3.0)
    found = {look: terminal.ask(look, wait_s=0.3) for look in LOOKS}
    found["servo"] = str(terminal.status()[0] & 0x20)
    return found


def by_program(case: Case) -> tuple[dict[str, str], str, Cr1Terminal]:
    lines = [*[line for line in case.before if not line.startswith("P")], case.statement, "HLT"]
    points = [line for line in case.before if line.startswith("P") and "=(" in line]
    lines = [*points, *[line for line in lines if line not in points]]
    text = "\n".join(f"{10 * number} {line}" for number, line in enumerate(lines, start=1))
    terminal = Cr1Terminal({**PROGRAMS, "A": text}).ready()
    said = terminal.raw("1;1;RUNA;1\r", 12.0)
    return seen(terminal), said, terminal


def by_exec(case: Case) -> tuple[dict[str, str], str, Cr1Terminal]:
    terminal = Cr1Terminal(PROGRAMS).ready()
    points = [line for line in case.before if line.startswith("P") and "=(" in line]
    for line in [*points, *[line for line in case.before if line not in points]]:
        terminal.do(f"EXEC{line}")
        terminal.wait(3.0)
    said = terminal.raw(f"1;1;EXEC{case.statement}\r", 12.0)
    return seen(terminal), said, terminal


def parsed(text: str) -> list[nodes.Statement]:
    return list(parts_of(parse_statement(text, Dialect.LOOSE)))


@pytest.mark.parametrize("case", SAME, ids=repr)
def test_a_single_statement_does_what_it_does_in_a_program(case: Case) -> None:
    there, said_there, _ = by_program(case)
    here, said_here, _ = by_exec(case)
    assert said_here.upper() == said_there.upper()
    assert here == there


@pytest.mark.parametrize(("statement", "number"), REFUSED.items())
def test_what_stops_a_program_refuses_a_single_statement_and_stands(statement: str, number: int) -> None:
    there, said, _ = by_program(case(statement))
    here, refused, _ = by_exec(case(statement))
    assert refused == f"QeR{number}00000\r"
    assert here["ERROR"][:7] == f"Qok{number}"
    assert here["ERROR"] == there["ERROR"].replace("3700", "4340")
    assert number != 4220 or said == refused, "a program with such a line cannot even be started"


@pytest.mark.parametrize(("statement", "number"), NEEDS_A_PROGRAM.items())
def test_what_needs_lines_around_it_is_refused(statement: str, number: int) -> None:
    _, refused, _ = by_exec(case(statement))
    assert refused == f"QeR{number}00000\r"


# Servo.


def test_servo_on_by_a_statement_is_servo_on_by_request():  # M SERVO
    states = []
    for request in ("SRVON", "EXECSERVO ON"):
        terminal = Cr1Terminal(servo_on_s=1.5)
        terminal.do("CNTLON", request)
        states.append([terminal.ask("DSTATE", wait_s=0.25) for _ in range(8)])
    assert states[0] == states[1]
    assert (states[0][0], states[0][-1]) == ("QoK80100;1;0", "QoKA0100;1;0")


def test_servo_off_by_a_statement_is_servo_off_by_request():
    states = []
    for request in ("SRVOFF", "EXECSERVO OFF"):
        terminal = Cr1Terminal(servo_off_s=1.5).ready()
        terminal.do(request)
        states.append([terminal.ask("DSTATE", wait_s=0.25), terminal.ask("SRVON", wait_s=0.25)])
        terminal.wait(1.5)
        states[-1].append(terminal.ask("SRVON"))
    assert states[0] == states[1] == ["QoK80100;1;0", "QeR167000000", "QoK"]


def test_a_program_waits_for_its_servo_by_m_svo():
    program = "10 SERVO ON\n20 WAIT M_SVO=1\n30 MOV J1\n40 END\nJ1=(10,0,90,0,90,0)"
    terminal = Cr1Terminal({"A": program}, servo_on_s=1.0)
    terminal.do("CNTLON")
    run_s = terminal.now_s
    terminal.do("RUNA;1")
    assert terminal.ask("VALM_SVO;M") == "QoKM_SVO=+0"
    terminal.settle()
    assert terminal.joints()[0] == 10
    assert 1.0 < terminal.trace[0][0] - run_s < 1.1


GOES_ON = "10 SERVO OFF\n20 RELM\n30 M_OUT(1)=1\n40 DLY 2\n50 M_OUT(2)=1\n60 HLT"


@pytest.mark.parametrize(
    ("choice", "outputs", "status"),
    [(AfterServoOff.GOES_ON, "QoK0006", (0x80, 0x06)), (AfterServoOff.PAUSES, "QoK0000", (0x80, 0x06))],
)
def test_a_program_goes_on_after_servo_off_or_pauses_there(choice, outputs, status):  # M by the example of GETM
    terminal = Cr1Terminal({"A": GOES_ON}, after_servo_off=choice).ready()
    terminal.do("RUNA;1")
    terminal.wait(4.0)
    assert terminal.ask("OUT0") == outputs
    assert terminal.status()[:2] == status
    assert terminal.ask("LINENO") == ("QoK60" if choice is AfterServoOff.GOES_ON else "QoK20")


def test_servo_off_in_one_slot_stops_the_move_of_another_and_lets_a_counting_one_go_on():
    programs = {
        "MOVE": "10 OVRD 10\n20 MOV J1\n30 END\nJ1=(120,0,90,0,90,0)",
        "COUNT": "10 M1=0\n20 M1=M1+1\n30 DLY 0.1\n40 GOTO 20",
        "OFF": "10 SERVO OFF\n20 END",
    }
    terminal = Cr1Terminal(programs).ready()
    terminal.do("RUNMOVE;1")
    assert terminal.ask("RUNCOUNT", slot="2") == "QoK"
    assert terminal.ask("RUNOFF;1", slot="3") == "QoK"
    terminal.wait(1.0)
    stopped, counted = terminal.joints(), int(terminal.ask("VALM1;M", slot="2").split("=+")[1])
    assert 0.5 < stopped[0] < 60.0
    terminal.wait(2.0)
    assert terminal.joints() == stopped
    assert int(terminal.ask("VALM1;M", slot="2").split("=+")[1]) > counted + 15
    assert terminal.status()[1] == 0x06


def test_a_move_after_servo_off_is_an_error_of_the_program_while_the_drives_still_fall():  # M L2000
    program = "10 SERVO OFF\n20 MOV J1\n30 END\nJ1=(10,0,90,0,90,0)"
    terminal = Cr1Terminal({"A": program}, servo_off_s=1.5).ready()
    terminal.do("RUNA;1")
    terminal.wait(3.0)
    assert terminal.ask("ERROR") == "Qok2000;2"
    assert terminal.trace == []


# What is not over with the answer.


def test_a_pulse_by_a_statement_ends_in_its_time_and_moves_nothing():  # M DLY
    terminal = Cr1Terminal().ready()
    terminal.ask("EXECM_OUT(5)=1 DLY 1.0", wait_s=0.1)
    assert terminal.ask("OUT0", wait_s=0.3) == "QoK0020"
    assert terminal.ask("DSTATE", wait_s=0.1) == "QoKA0100;1;0"
    terminal.do("EXECMOV (250,0,450,0,180)")
    terminal.wait(1.0)
    assert terminal.ask("OUT0") == "QoK0000"


def test_a_fifth_pulse_at_a_time_is_refused():  # M: up to four
    terminal = Cr1Terminal().ready()
    for signal in range(4):
        terminal.do(f"EXECM_OUT({signal})=1 DLY 9")
    assert terminal.ask("EXECM_OUT(5)=1 DLY 9") == "QeR311000000"


def test_a_timer_runs_between_two_statements():  # M: M_TIMER in ms
    terminal = Cr1Terminal().ready()
    terminal.do("EXECM_TIMER(1)=0")
    terminal.wait(2.0)
    terminal.do("EXECM1=M_TIMER(1)")
    assert 2400 < float(terminal.ask("VALM1;M").split("=+")[1]) < 2650


def test_end_brings_the_speeds_back_and_closes_the_line():  # M END
    terminal = Cr1Terminal().ready()
    terminal.do("EXECOVRD 40", 'EXECOPEN "COM1:" AS #1', "EXECEND")
    assert terminal.ask("VALM_OVRD;M") == "QoKM_OVRD=+100"
    assert terminal.raw("PRN 5\r") == "QeR650000000\r"


def test_input_waits_for_its_line():
    terminal = Cr1Terminal().ready()
    terminal.do('EXECOPEN "COM1:" AS #1', "EXECINPUT #1,M1")
    assert terminal.ask("EXECMOV (250,0,450,0,180)") == "QeR564000000"
    assert terminal.raw("PRN 7\r") == ""
    assert terminal.ask("VALM1;M") == "QoKM1=+7"


def test_the_answer_goes_before_what_the_statement_prints():
    terminal = Cr1Terminal().ready()
    terminal.do('EXECOPEN "COM1:" AS #1')
    assert terminal.raw('1;1;EXECPRINT #1,"HELLO"\r') == "QoK\rHELLO\r"


def test_collisions_are_a_word_of_v_that_exec_takes():
    assert Cr1Terminal().ready().ask("EXECCOLCHK ON") == "QoK"
    assert Cr1Terminal({"A": "10 COLCHK ON"}).ready().ask("RUNA") == "QeR422000000"


# With a program in the slot.


def test_speeds_and_definitions_are_those_of_the_program_that_is_paused():
    terminal = Cr1Terminal({"A": "10 OVRD 30\n20 DEF FNA(M1)=M1+1\n30 HLT\n40 M3=FNB(2)\n50 HLT"}).ready()
    terminal.do("RUNA;1", "EXECM2=FNA(4)", "EXECDEF FNB(M1)=M1*3", "EXECJOVRD 55")
    assert terminal.ask("VALM2;M") == "QoKM2=+5"
    assert terminal.ask("VALM_OVRD;M") == "QoKM_OVRD=+30"
    assert terminal.ask("VALM_JOVRD;M") == "QoKM_JOVRD=+55"
    terminal.do("RUN")
    assert terminal.ask("VALM3;M") == "QoKM3=+6"


def test_a_program_that_is_saved_later_can_be_called():
    terminal = Cr1Terminal().ready()
    assert terminal.ask('EXECCALLP "B"') == "QeR414000000"
    terminal.do("RSTALRM", "LOAD=B", "EDATA10 M_OUT(1)=1", "SAVE", 'EXECCALLP "B"')
    assert terminal.ask("OUT0") == "QoK0002"


# One at a time.


@pytest.mark.parametrize(
    "statement", ["MOV J2", "DLY 1", "IF M_OUT(9)=0 THEN MOV J2", 'CALLP "SUB"', "WAIT M_OUT(9)=0"]
)
@pytest.mark.parametrize("slot", ["1", "2"])
def test_what_lasts_waits_for_no_other_but_is_refused(statement, slot):  # S: a second EXEC during a move
    terminal = Cr1Terminal(PROGRAMS).ready()
    terminal.do("OVRD=10", "EXECJ1=(120,0,90,0,90,0)", "EXECMOV J1")
    assert terminal.ask(f"EXEC{statement}", slot=slot) == "QeR564000000"


def test_what_stop_ended_holds_up_nothing_after_it():
    terminal = Cr1Terminal().ready()
    terminal.do("EXECDLY 20", "STOP", "EXECJ1=(10,0,90,0,90,0)", "EXECMOV J1")
    terminal.wait(3.0)
    assert terminal.joints()[0] == 10


def test_after_a_refused_statement_the_slot_is_as_it_was():
    terminal = Cr1Terminal().ready()
    terminal.ask("EXECERROR 9101")
    terminal.do("RSTALRM")
    assert [terminal.ask(f"VALM_{name};M") for name in ("RUN", "WAI", "PSA")] == [
        "QoKM_RUN=+0",
        "QoKM_WAI=+0",
        "QoKM_PSA=+1",
    ]


def test_halt_alone_is_over_at_once_time_and_again():
    terminal = Cr1Terminal().ready()
    for _ in range(20):
        terminal.do("EXECHLT")
    assert terminal.status()[:2] == (0xA0, 0x10)
    assert len(terminal.cr1.machine.language.desk(terminal.cr1.machine.slot(1)).machine.frames) == 1


def test_every_statement_of_the_language_is_in_one_of_the_tables() -> None:
    everything = [*[each.statement for each in SAME], *OTHERWISE, *REFUSED, *NEEDS_A_PROGRAM]
    found: list[Any] = [part for text in everything for part in _parts(text)]
    assert {type(part) for part in found} >= set(get_args(nodes.Statement))
    words = {part.word for part in found if isinstance(part, nodes.Word)}
    assert words >= WORDS.keys() | UNUSED.keys()
    moves = {part.word for part in found if isinstance(part, nodes.Move)}
    assert moves == {"MOV", "MVS", "MVR", "MVR2", "MVR3", "MVC", "MVA"}
    switches = {part.word for part in found if isinstance(part, nodes.Switch)}
    assert switches == {"SERVO", "OADL", "PREC", "COLCHK"}
    markers = {part.word for part in found if isinstance(part, nodes.Marker)}
    assert markers == {"ELSE", "ENDIF", "WEND", "DEFAULT", "END SELECT"}


def _parts(text: str) -> list[nodes.Statement]:
    try:
        return parsed(text)
    except ProgramError:
        assert REFUSED.get(text) == 4220
        return []
