"""Both sides of every bound of every statement: the last value that is taken, and the first that is refused."""

from __future__ import annotations

import pytest

from hil.program.frames import NO_SPEED, SlotState
from hil.program.interpreter import Interpreter
from hil.program.motions import default_limits
from hil.program.rv2aj import Rv2aj
from hil.program.settings import Settings
from hil.program.signals import AssumedSignals, InputChange, Inputs, TextArrives
from hil.program.structure import Program, parse_program
from hil.program.values import Joints, Position
from hil.units import DEG

HOME = [angle * DEG for angle in (0.0, 0.0, 90.0, 90.0, 0.0)]
POINTS = "P1=(250,0,400,0,180,0)(6,0)\nP2=(250,60,400,0,180,0)(6,0)\nP3=(300,0,400,0,180,0)(6,0)\nJ1=(0,0,80,0,60,0)\n"


def ran(
    text: str, ticks: int = 30, inputs: Inputs | None = None, library: dict[str, Program] | None = None
) -> Interpreter:
    """A machine after some ticks of a program whose lines stand between bars."""
    lines = [f"{10 * k} {line}" for k, line in enumerate(text.split(" | "), start=1)]
    program = parse_program("\n".join([*lines, POINTS]))
    signals = AssumedSignals(inputs)
    machine = Interpreter(program, Rv2aj(), signals, default_limits(0.02), HOME, library=library)
    machine.run()
    for _ in range(ticks):
        machine.tick()
    return machine


def outcome(text: str, ticks: int = 30) -> int:
    """The error that a program ends in, 0 for none."""
    error = ran(text, ticks).error
    return error.number if error else 0


TAKEN = (
    "OVRD 1",
    "OVRD 100",
    "OVRD 0.5",
    "OVRD 100.4",
    "JOVRD 1",
    "JOVRD 100",
    "SPD 0.001",
    "SPD 20000",
    "ACCEL 1,100",
    "ACCEL 100,1",
    "ACCEL",
    "ACCEL ,50",
    "CNT 0",
    "CNT 1",
    "CNT 1,0,0",
    "CNT 1.4",
    "FINE 0",
    "FINE 300",
    "DLY 0",
    "DLY 3600",
    "HOPEN 1",
    "HCLOSE 8",
    "HOPEN 8,63,63,0.3",
    "TOOL 0",
    "BASE P_NBASE",
    "ERROR 9200",
    "ERROR 9299",
    "CLR 0",
    "CLR 3",
    "M_OUT(1)=1 DLY 3600",
    "M_OUT(1)=1 DLY 0",
    "M_OUT(32767)=1",
    "M_OUT(0)=1",
    "M_OUTB(32760)=255",
    "M_TIMER(1)=0",
    "M_TIMER(8)=0",
    "M1=M_TIMER(8)",
    "M1=M_HNDCQ(8)",
    "M1=M_OPEN(8)",
    "DEF ARCH 1",
    "DEF ARCH 4,5,5",
    "DEF PLT 1,P1,P2,P3,,1,1,1",
    "DEF PLT 8,P1,P2,P3,,32767,1,2",
    "DEF PLT 1,P1,P2,P3,,3,0,3",
    "DEF PLT 1,P1,P2,P3,,3,0,13",
    "DEF PLT 1,P1,P2,P3,,2,2,11",
    "DEF PLT 1,P1,P2,P3,,2,2,12",
    "DEF PLT 1,P1,P2,P3,,2,3,1 | P9=PLT 1,1 | P9=PLT 1,6",
    "DEF ACT 1,M_IN(1)=1 GOTO 10",
    "DEF ACT 8,M_IN(1)=1 GOTO 10",
    "DEF ACT 8,M_IN(1)=1 GOTO 10 | ACT 8=1",
    "ACT 0=1",
    "ACT 0=0",
    "DIM M1(1)",
    "DIM M1(999)",
    "DIM M1(100,100,10)",
    "DIM M1(3) | M1(1)=1 | M1(3)=1",
    "DEF INTE M1 | M1=32767 | M1=-32768 | M1=32767.4",
    "DEF LONG M1 | M1=2147483647 | M1=-2147483648",
    "DEF FLOAT M1 | M1=3.4E38",
    "M1=10^300",
    "P9=P1*2 | P9=P1/2 | P9=P1+P2 | P9=P1-P2",
    "J9=J1*2 | J9=J1/2 | J9=J1+J1 | J9=J1-J1",
    "M1=1<<32 | M1=1>>32 | M1=4294967295 AND 1",
    "M1=7 MOD 2",
    "P1.FL1=0 | P1.FL1=4294967295",
    "ON 0 GOTO 10",
    "ON 5 GOTO 10,10",
    "ON 32767 GOTO 10",
    "ON -0.4 GOTO 10",
    "M1=0 | ON 2 GOTO 10,40 | ERROR 9001 | M2=1",
    "FOR M1=1 TO 3 | NEXT",
    "FOR M1=3 TO 1 STEP -1 | NEXT M1",
    "FOR M1=1 TO 0 STEP 1 | ERROR 9001 | NEXT",
    "DEF FNA(X)=X+1 | M1=FNA(2)",
    'OPEN "COM1:" AS #1 | CLOSE #1',
    'OPEN "COM8:" AS #8',
    'OPEN "ENET:1.2.3.4" AS #2',
    'OPEN "COM1:" AS #1 | PRINT #1,M_PI | CLOSE',
    "GOSUB 30 | GOTO 40 | RETURN | M1=1",
    "GOSUB 30 | GOTO 40 | RETURN 0 | M1=1",
    "DEF IO A=BIT,32767",
    "DEF IO A=WORD,0,65535 | A=1",
    'C1$=CHR$(65)+"A" | M1=(C1$="AA")+(C1$<>"A")',
    "M1=NOT 0 | M1=NOT 5",
    "WAIT 1",
    "SERVO OFF | SERVO ON",
    "OADL ON | OADL OFF | PREC ON",
    "ON COM(1) GOSUB 30 | COM(1) ON | COM(1) OFF",
    "ON COM(8) GOSUB 10 | COM(8) STOP",
)

REFUSED = (
    ("OVRD 0", 3110),
    ("OVRD 0.4", 3110),
    ("OVRD 101", 3110),
    ("OVRD 100.5", 3110),
    ("JOVRD 0", 3110),
    ("JOVRD 101", 3110),
    ("SPD 0", 3110),
    ("SPD -1", 3110),
    ("ACCEL 0,100", 2820),
    ("ACCEL 100,0", 2820),
    ("ACCEL 101", 3110),
    ("ACCEL 1,101", 3110),
    ("CNT 2", 3110),
    ("CNT -1", 3110),
    ("CNT 1,-0.1", 3110),
    ("CNT 1,0,-0.1", 3110),
    ("DLY -0.01", 3110),
    ("DLY 3600.1", 3110),
    ("HOPEN 0", 3110),
    ("HCLOSE 9", 3110),
    ("TOOL 1", 3810),
    ("TOOL J1", 3810),
    ("BASE 9", 3810),
    ("BASE -1", 3810),
    ("TOOL (0,0,0,30,0,0)", 3860),
    ("ERROR 8999", 3110),
    ("ERROR 9300", 3110),
    ("ERROR 9000", 9000),
    ("ERROR 9199", 9199),
    ("CLR -1", 3110),
    ("CLR 4", 3110),
    ("M_OUT(1)=1 DLY 3600.1", 3110),
    ("M_OUT(1)=1 DLY -0.1", 3110),
    ("M1=1 DLY 1", 3110),
    ("M_OUT(32768)=1", 3110),
    ("M_OUT(-1)=1", 3110),
    ("M_IN(1)=1", 3210),
    ("P_CURR=P1", 3210),
    ("M_PI=3", 3210),
    ("M1=M_IN(1,2)", 3120),
    ("M_OUT=1", 3120),
    ("M_TIMER(0)=1", 3110),
    ("M_TIMER(9)=1", 3110),
    ("M1=M_TIMER(1,2)", 3120),
    ("M1=M_HNDCQ(9)", 3110),
    ("M1=M_HNDCQ(0)", 3110),
    ("M1=M_OPEN(9)", 3110),
    ("M1=M_NOTHING", 4340),
    ("DEF ARCH 0", 3110),
    ("DEF ARCH 5", 3110),
    ("DEF PLT 0,P1,P2,P3,,2,2,1", 3110),
    ("DEF PLT 9,P1,P2,P3,,2,2,1", 3110),
    ("DEF PLT 1,P1,P2,P3,,0,2,1", 3110),
    ("DEF PLT 1,P1,P2,P3,,2,0,1", 3110),
    ("DEF PLT 1,P1,P2,P3,,32768,1,1", 3110),
    ("DEF PLT 1,P1,P2,P3,,256,128,1", 3110),
    ("DEF PLT 1,P1,P2,P3,,3,-1,3", 3110),
    ("DEF PLT 1,P1,P2,P3,,2,2,0", 3110),
    ("DEF PLT 1,P1,P2,P3,,2,2,4", 3110),
    ("DEF PLT 1,P1,P2,P3,,2,2,10", 3110),
    ("DEF PLT 1,P1,P2,P3,,2,2,14", 3110),
    ("DEF PLT 1,P1,,P3,,2,2,1", 3120),
    ("DEF PLT 1,P1,P2,P3,,2,3,1 | P9=PLT 1,0", 3110),
    ("DEF PLT 1,P1,P2,P3,,2,3,1 | P9=PLT 1,7", 3110),
    ("P9=PLT 1,1", 3850),
    ("P9=PLT 9,1", 3110),
    ("P9=PLT 0,1", 3110),
    ("DEF ACT 0,M_IN(1)=1 GOTO 10", 3110),
    ("DEF ACT 9,M_IN(1)=1 GOTO 10", 3110),
    ("ACT 1=1", 3110),
    ("ACT 9=1", 3110),
    ("ACT -1=1", 3110),
    ("DIM M1(0)", 3110),
    ("DIM M1(1000)", 3110),
    ("DIM M1(100,100,11)", 3110),
    ("DIM M1(3) | M1(0)=1", 4370),
    ("DIM M1(3) | M1(4)=1", 4370),
    ("DIM M1(3) | M1(1,1)=1", 4370),
    ("DIM M1(3) | M1=1", 4370),
    ("M1(1)=1", 4370),
    ("DEF INTE M1 | M1=32768", 3110),
    ("DEF INTE M1 | M1=-32769", 3110),
    ("DEF INTE M1 | M1=32767.5", 3110),
    ("DEF LONG M1 | M1=2147483648", 3110),
    ("DEF LONG M1 | M1=-2147483649", 3110),
    ("DEF FLOAT M1 | M1=3.5E38", 3110),
    ("M1=10^400", 3110),
    ("M1=1/0", 3110),
    ("M1=1 MOD 0", 3110),
    ("M1=1 MOD 0.4", 3110),
    ("P9=P1/0", 3110),
    ("J9=J1/0", 3110),
    ("M1=1<<33", 3110),
    ("M1=1>>33", 3110),
    ("M1=4294967296 AND 1", 3110),
    ("M1=P1", 3810),
    ("P9=1", 3810),
    ("J9=P1", 3810),
    ("C1$=1", 3810),
    ('M1="A"', 3810),
    ('M1="A"+1', 3810),
    ('M1=1+"A"', 3810),
    ('M1=("A"<"B")', 3810),
    ('P9=P1*"A"', 3810),
    ("P9=P1 MOD 2", 3810),
    ("P9=P1+1", 3810),
    ("M1=P1.Q", 3810),
    ("M1=J1.X", 3810),
    ("M1=J1.J9", 3810),
    ('P1.X="A"', 3810),
    ("P1.FL1=-1", 3110),
    ("P1.FL1=4294967296", 3110),
    ("P9=(1,2,3)(1,2,3)", 3860),
    ("P9=(1,2,3)(-1,0)", 3110),
    ("P9=(1E10,2,3)", 3110),
    ("ON -1 GOTO 10", 3110),
    ("ON 32768 GOTO 10", 3110),
    ("FOR M1=1 TO 2 STEP 0 | NEXT", 3110),
    ("GOTO 30 | FOR M1=1 TO 2 | NEXT", 3230),
    ("RETURN", 3840),
    ("GOSUB 20 | RETURN 1", 3110),
    ("GOSUB 20 | RETURN 2", 3110),
    ("DEF ACT 1,M_SVO=1 GOSUB 50 | ACT 1=1 | DLY 5 | HLT | RETURN 2", 3110),
    ("DEF FNA(X)=X | M1=FNA(1,2)", 3120),
    ("DEF FNA(X)=FNA(X) | M1=FNA(1)", 3100),
    ("M1=SIN(1,2)", 3120),
    ("M1=SQR(-1)", 3110),
    ("M1=ATN2(1)", 3120),
    ("M1=NOTHING(1)", 4370),
    ('OPEN "COM1:" AS #0', 3110),
    ('OPEN "COM1:" AS #9', 3110),
    ('OPEN "COM1:" AS #1 | OPEN "COM1:" AS #1', 3130),
    ('OPEN "A.TXT" AS #1', 3140),
    ("PRINT #1,M_PI", 3140),
    ("INPUT #1,M1", 3140),
    ("CALLP 1", 3810),
    ('CALLP "ABCDEFGHIJKL"', 4140),
    ('CALLP "ABCDEFGHIJKLM"', 4120),
    ("FPRM M1", 3120),
    ("COM(1) ON", 3110),
    ("ON COM(0) GOSUB 10", 3110),
    ("ON COM(9) GOSUB 10", 3110),
    ("M1=M2", 3700),
    ("M1=P9.X", 3700),
    ("DEF INTE M1 | DEF FLOAT M1", 4350),
    ("M_01=1 | M1=M_02", 3700),
    ("SERVO OFF | MOV P1", 2000),
    ("MOV P1 TYPE 2,0", 2830),
    ("MOV P1 TYPE 0,2", 2830),
    ("MVS P1 TYPE -1,0", 2830),
    ("IF P1 THEN 10", 3810),
    ('WHILE "A" | WEND', 3810),
    ("WAIT P1", 3810),
    ('SELECT "A" | CASE 1 | END SELECT', 3810),
    ("CONST DEF INTE MA=1 | MA=2", 3210),
    ('M_OUT(1)="A"', 3810),
    ("DEF IO A=BIT,32768 | A=1", 3110),
    ("DEF IO A=WORD,0,65536 | A=1", 3110),
    ("DEF IO A=WORD,0,-1 | A=1", 3110),
)


@pytest.mark.parametrize("text", TAKEN)
def test_the_last_value_that_is_allowed_is_taken(text: str) -> None:
    assert outcome(text) == 0


@pytest.mark.parametrize(("text", "number"), REFUSED)
def test_the_first_value_that_is_not_is_refused_with_its_number(text: str, number: int) -> None:
    assert outcome(text) == number


def test_modal_statements_set_what_they_name() -> None:
    modal = ran("OVRD 37 | JOVRD 41 | SPD 123.5 | ACCEL 11,22 | CNT 1,7,9 | FINE 1 | OADL ON | HLT").modal
    assert (modal.override, modal.joint_override, modal.speed_mm_s) == (37, 41, 123.5)
    assert (modal.acceleration, modal.deceleration, modal.blend, modal.before_mm, modal.after_mm) == (
        11,
        22,
        True,
        7,
        9,
    )
    assert modal.fine and modal.load_dependent
    modal = ran("CNT 1,7,9 | CNT 1,8 | FINE 1 | FINE 0 | OADL ON | OADL OFF | ACCEL ,33 | SPD 9999.9 | HLT").modal
    assert (modal.before_mm, modal.after_mm, modal.fine, modal.load_dependent) == (8, 8, False, False)
    assert (modal.acceleration, modal.deceleration, modal.speed_mm_s) == (100, 33, 9999.9)
    assert ran(f"SPD 5 | SPD {NO_SPEED:g} | CNT 1,7 | CNT 1 | HLT").modal.speed_mm_s is None
    assert ran("CNT 1,7 | CNT 1 | HLT").modal.before_mm is None
    assert not ran("CNT 1,7 | CNT 0 | HLT").modal.blend


@pytest.mark.parametrize("hand", range(1, 9))
def test_a_hand_has_two_outputs_of_its_own(hand: int) -> None:
    machine = ran(f"HCLOSE {hand} | HLT")
    first = 900 + 2 * (hand - 1)
    assert (machine.signals.output_bit(first), machine.signals.output_bit(first + 1)) == (0, 1)
    machine = ran(f"HCLOSE {hand} | HOPEN {hand} | HLT")
    assert (machine.signals.output_bit(first), machine.signals.output_bit(first + 1)) == (1, 0)


def test_four_pulses_run_at_a_time_and_each_ends_after_its_time() -> None:
    four = " | ".join(f"M_OUT({k})=1 DLY 0.2" for k in range(1, 5))
    assert outcome(four) == 0
    assert outcome(f"{four} | M_OUT(5)=1 DLY 0.2") == 3110
    machine = ran("M_OUT(3)=1 | M_OUT(3)=0 DLY 0.2 | M_OUTB(8)=255 DLY 0.1 | DLY 10", 5)
    assert (machine.signals.output_bit(3), machine.read("M_OUTB(8)")) == (0, 255)
    machine.tick()
    assert (machine.signals.output_bit(3), machine.read("M_OUTB(8)")) == (0, 0)
    for _ in range(5):
        machine.tick()
    assert machine.signals.output_bit(3) == 1


def test_heights_of_an_arch_are_up_then_down() -> None:
    machine = ran("DEF ARCH 2,11,22 | DEF ARCH 3,7 | DEF ARCH 4 | HLT")
    assert machine.frame.arches == {2: (11, 22), 3: (7, Settings().arch_mm), 4: (Settings().arch_mm,) * 2}


@pytest.mark.parametrize(
    ("case", "taken"),
    [
        ("CASE 5", (5,)),
        ("CASE 4 TO 6", (4, 5, 6)),
        ("CASE IS < 5", (3, 4)),
        ("CASE IS <= 5", (3, 4, 5)),
        ("CASE IS > 5", (6, 7)),
        ("CASE IS >= 5", (5, 6, 7)),
        ("CASE IS <> 5", (3, 4, 6, 7)),
        ("CASE IS = 5", (5,)),
    ],
)
def test_a_case_takes_what_it_says_and_nothing_else(case: str, taken: tuple[int, ...]) -> None:
    found = [
        value
        for value in range(3, 8)
        if ran(f"M1=0 | SELECT {value} | {case} | M1=1 | BREAK | DEFAULT | M1=2 | END SELECT | HLT").read("M1") == 1
    ]
    assert tuple(found) == taken


def test_loops_turn_as_often_as_they_say() -> None:
    assert ran("M2=0 | FOR M1=1 TO 3 | M2=M2+1 | NEXT | HLT").read("M2") == 3
    assert ran("M2=0 | FOR M1=5 TO 1 STEP -2 | M2=M2+1 | NEXT | HLT").read("M2") == 3
    assert ran("M2=0 | FOR M1=1 TO 2 STEP 0.5 | M2=M2+1 | NEXT | HLT").read("M1") == 2.5
    assert ran("M2=0 | FOR M1=1 TO 9 | IF M1=4 THEN BREAK | M2=M2+1 | NEXT | HLT").read("M2") == 3
    assert ran("M1=0 | WHILE M1<3 | M1=M1+1 | WEND | HLT").read("M1") == 3


@pytest.mark.parametrize(("selector", "place"), [(0, 0), (1, 1), (1.4, 1), (1.5, 2), (2, 2), (3, 0)])
def test_on_goto_counts_from_one_and_falls_through_beyond_its_list(selector: float, place: int) -> None:
    text = f"M1=0 | ON {selector} GOTO 50,70 | HLT | HLT | M1=1 | HLT | M1=2 | HLT"
    assert ran(text).read("M1") == place


def test_an_if_behind_an_endif_is_its_own_and_an_elseif_is_not() -> None:
    text = "M1=0 | IF M1=1 THEN | M2=1 | {} M1=0 THEN | M2=2 | ENDIF | HLT"
    assert ran(text.format("ELSEIF")).read("M2") == 2
    machine = ran("IF 0 THEN | ENDIF | ELSE1=0 | IF 1 THEN | M2=3 | ENDIF | HLT")
    assert machine.read("M2") == 3
    other = ran("M1=0 | IF M1=1 THEN | M2=1 | ENDIF | M2=4 | IF M1=0 THEN | M2=M2+1 | ELSE | M2=9 | ENDIF | HLT")
    assert other.read("M2") == 5


def test_a_declaration_gives_its_type_and_its_first_value() -> None:
    machine = ran(
        "DEF JNT SAFE=(1,2,3,0,5,6) | DEF POS WORK=(1,2,3)(6,0) | DEF INTE N=2.5 | DEF JNT OTHER | OTHER=(9,8) | HLT"
    )
    assert isinstance(machine.read("SAFE"), Joints) and machine.read("SAFE").degrees[:3] == (1.0, 2.0, 3.0)
    assert isinstance(machine.read("WORK"), Position) and machine.read("WORK").fl1 == 6
    assert machine.read("N") == 3
    assert machine.read("OTHER").degrees[:3] == (9.0, 8.0, 0.0)


def test_ports_read_and_write_their_bits_through_their_mask() -> None:
    inputs = Inputs(changes=(InputChange(time_s=0.0, signal=16, value=0xAB, width=8),))
    machine = ran(
        "DEF IO A=BYTE,16,&H0F | DEF IO B=BYTE,16 | DEF IO C=BIT,17 | M1=A | M2=B | M3=C | A=255 | HLT", 30, inputs
    )
    assert (machine.read("M1"), machine.read("M2"), machine.read("M3")) == (0x0B, 0xAB, 1)
    assert machine.read("M_OUTB(16)") == 0x0F
    machine = ran("DEF IO A=WORD,32,&HF0F0 | M_OUTW(32)=&H0F0F | A=&HFFFF | HLT")
    assert machine.read("M_OUTW(32)") == 0xFFFF


def test_gosubs_within_each_other_have_a_most() -> None:
    most = Settings().stack_depth
    assert most == 100
    deep = "M1=0 | GOSUB 40 | HLT | M1=M1+1 | IF M1<{} THEN GOSUB 40 | RETURN"
    assert ran(deep.format(most), 60).state is SlotState.PAUSED
    error = ran(deep.format(most + 1), 60).error
    assert error is not None and error.number == 3100


def test_called_programs_have_a_most_and_take_what_fprm_names() -> None:
    library = {f"S{k}": parse_program(f'10 CALLP "S{k + 1}"\n20 END', name=f"S{k}") for k in range(1, 9)}
    library["S7"] = parse_program("10 M1=1\n20 END", name="S7")
    assert ran('CALLP "S1" | HLT', library=library).error is None
    library["S7"] = parse_program('10 CALLP "S8"\n20 END', name="S7")
    library["S8"] = parse_program("10 M1=1\n20 END", name="S8")
    error = ran('CALLP "S1" | HLT', library=library).error
    assert error is not None and error.number == 3710
    called = {"SUB": parse_program("10 FPRM M1,P1\n20 M_01=M1+P1.X\n30 END", name="SUB")}
    assert ran('CALLP "SUB",5,P1 | HLT', library=called).read("M_01") == 255
    error = ran('CALLP "SUB",5 | HLT', library=called).error
    assert error is not None and error.number == 3120


def test_texts_of_a_line_have_to_fit() -> None:
    def after(text: str) -> Interpreter:
        inputs = Inputs(texts=(TextArrives(time_s=0.0, number=1, text=text),))
        return ran('OPEN "COM1:" AS #1 | INPUT #1,M1,C1$,P9,J9 | HLT', 30, inputs)

    good = after('7,"AB",(1,2,3)(6,0),(1,2,3)')
    assert (good.read("M1"), good.read("C1$")) == (7, "AB")
    assert good.read("P9").members[:3] == (1.0, 2.0, 3.0) and good.read("J9").degrees[:3] == (1.0, 2.0, 3.0)
    for bad in ("X,A,(1,2,3),(1,2)", "1,A,5,(1,2)", "1,A,(1,2,X),(1,2)"):
        error = after(bad).error
        assert error is not None and error.number == 3500
