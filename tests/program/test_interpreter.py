"""What a program does, tick by tick."""

from __future__ import annotations

import numpy as np
import pytest

from hil.program.errors import ProgramError
from hil.program.frames import SlotState
from hil.program.interpreter import Interpreter
from hil.program.motions import default_limits
from hil.program.rv2aj import Rv2aj
from hil.program.settings import Settings
from hil.program.signals import AssumedSignals, InputChange, Inputs, TextArrives
from hil.program.structure import parse_program
from hil.units import DEG

HOME = [angle * DEG for angle in (0.0, 0.0, 90.0, 90.0, 0.0)]
PERIOD_S = 0.01
POINTS = """
P1=(250,0,300,0,180,0)(6,0)
P2=(250,120,300,0,180,0)(6,0)
P3=(300,60,300,0,180,0)(6,0)
"""


def machine_of(text: str, inputs: Inputs | None = None, **settings: object) -> Interpreter:
    program = parse_program(text + POINTS)
    signals = AssumedSignals(inputs)
    return Interpreter(
        program,
        Rv2aj(),
        signals,
        default_limits(PERIOD_S),
        HOME,
        settings=Settings(**settings),  # type: ignore[arg-type]
    )


def run(machine: Interpreter, most: int = 3000) -> list[tuple[int, np.ndarray]]:
    """Line and joints of every tick, to the end."""
    found = []
    if machine.state is not SlotState.RUNNING:
        machine.run()
    while machine.state is SlotState.RUNNING or machine.stopping:
        machine.tick()
        line = machine.shown_line
        found.append((0 if line is None else line.number or line.row, machine.row))
        assert len(found) < most, "it does not end"
    return found


def value(text: str, expression: str) -> object:
    machine = machine_of(text)
    run(machine)
    assert machine.error is None, machine.error
    return machine.read(expression)


@pytest.mark.parametrize("seconds", [0.0, 0.004, 0.01, 0.05, 0.3, 1.234])
def test_a_delay_lasts_its_time_to_within_one_tick(seconds: float) -> None:
    machine = machine_of(f"10 M_OUT(1)=1\n20 DLY {seconds}\n30 M_OUT(1)=0\n40 END")
    machine.run()
    ticks = 0
    machine.tick()
    while machine.signals.output_bit(1):
        ticks += 1
        machine.tick()
    assert seconds - 1e-9 <= ticks * PERIOD_S < seconds + PERIOD_S


def test_moves_follow_one_another_without_an_idle_tick() -> None:
    steps = run(machine_of("10 MOV P1\n20 MOV P2\n30 MOV P1\n40 END"))
    still = [k for k in range(1, len(steps) - 1) if not (steps[k][1] - steps[k - 1][1]).any()]
    assert still == []


def test_the_same_program_gives_the_same_joints_to_the_last_bit() -> None:
    text = "10 FOR M1=1 TO 3\n20 MOV P1+(0,RND*20,0)\n30 MVS P2\n40 NEXT\n50 END"
    one, other = run(machine_of(text)), run(machine_of(text))
    assert len(one) == len(other)
    assert all((a[1] == b[1]).all() for a, b in zip(one, other, strict=True))


def test_a_move_ends_exactly_where_it_was_told_to() -> None:
    machine = machine_of("10 MOV P1,-50\n20 MVS P1\n30 END")
    run(machine)
    assert machine.position.members[:5] == pytest.approx((250, 0, 300, 0, 180), abs=1e-9)


def test_a_straight_line_stays_straight_and_turns_evenly() -> None:
    machine = machine_of("10 MOV P1\n20 MVS P4\n30 END\nP4=(320,100,260,40,160,0)(6,0)")
    steps = [joints for line, joints in run(machine) if line == 20]
    poses = machine.arm.members(np.array(steps))[:, :5]
    start, goal = np.array([250, 0, 300, 0, 180]), np.array([320, 100, 260, 40, 160])
    share = (poses[:, 0] - start[0]) / (goal[0] - start[0])
    assert poses == pytest.approx(start + share[:, None] * (goal - start), abs=1e-6)


def test_arcs_keep_their_radius_and_come_to_their_end() -> None:
    machine = machine_of("10 MOV P1\n20 MVR P1,P3,P2\n30 END")
    points = machine.arm.members(np.array([joints for line, joints in run(machine) if line == 20]))[:, :3]
    centre = np.array([239, 60, 300])  # of the circle through the three points
    radii = np.linalg.norm(points - centre, axis=1)
    assert np.ptp(radii) < 0.01
    assert points[-1] == pytest.approx((250, 120, 300), abs=1e-6)


def test_a_circle_comes_back_to_its_first_point_and_its_turn() -> None:
    machine = machine_of("10 MOV P1\n20 MVC P1,P3,P2\n30 END")
    steps = run(machine)
    before = next(joints for line, joints in reversed(steps) if line == 10)
    assert machine.row == pytest.approx(before, abs=1e-9)


def test_speed_of_the_tool_is_what_spd_and_ovrd_say() -> None:
    machine = machine_of("10 MOV P1\n20 SPD 40\n30 OVRD 50\n40 MVS P2\n50 END")
    points = machine.arm.members(np.array([joints for line, joints in run(machine) if line == 40]))[:, :3]
    speed = np.linalg.norm(np.diff(points, axis=0), axis=1).max() / PERIOD_S
    assert speed == pytest.approx(20.0, rel=0.01)


def test_override_slows_joint_moves_and_end_forgets_it() -> None:
    fast = len(run(machine_of("10 MOV P2\n20 END")))
    slow = machine_of("10 OVRD 50\n20 JOVRD 40\n30 MOV P2\n40 END")
    assert len(run(slow)) > 2 * fast
    assert slow.modal.override == 100


def test_cnt_rounds_the_corner_and_saves_time_and_stays_near_when_told() -> None:
    def corner(word: str) -> tuple[int, float]:
        machine = machine_of(f"10 MOV P1\n20 {word}\n30 MVS P2\n40 MVS P3\n50 END")
        steps = run(machine)
        points = machine.arm.members(np.array([joints for _, joints in steps]))[:, :3]
        return len(steps), float(np.linalg.norm(points - np.array([250, 120, 300]), axis=1).min())

    exact, loose, near = corner("CNT 0"), corner("CNT 1"), corner("CNT 1,3")
    assert exact[1] < 1e-6
    assert loose[0] < near[0] <= exact[0]
    assert 0.1 < near[1] < 3.0 < loose[1] + 3.0
    assert loose[1] > near[1]


def test_outputs_pulse_beside_the_following_lines() -> None:
    machine = machine_of("10 M_OUT(17)=1 DLY 0.05\n20 DLY 0.2\n30 END")
    machine.run()
    seen = []
    for _ in range(10):
        machine.tick()
        seen.append(machine.signals.output_bit(17))
    assert seen == [1] * 5 + [0] * 5


def test_an_interrupt_stops_the_move_on_its_way_and_return_0_ends_it() -> None:
    text = (
        "10 DEF ACT 1,M_IN(9)=1 GOSUB *I,S\n20 MOV P1\n30 ACT 1=1\n40 SPD 60\n50 MVS P2\n60 END\n"
        "70 *I\n80 M1=M1+1\n90 PAT=P_CURR\n100 RETURN 0\n"
    ).replace("10 DEF", "5 M1=0\n10 DEF")
    machine = machine_of(text, Inputs(changes=(InputChange(time_s=1.5, signal=9, value=1),)))
    run(machine)
    assert machine.error is None
    assert machine.position.members[1] == pytest.approx(120, abs=1e-6)
    assert machine.read("M1") == 1
    assert 1.0 < machine.read("PAT.Y") < 119.0  # type: ignore[operator]
    assert machine.read("PAT.X") == pytest.approx(250, abs=0.05)


def test_return_1_goes_on_after_the_interrupted_move() -> None:
    text = "10 DEF ACT 1,M_IN(9)=1 GOSUB *I\n20 MOV P1\n30 ACT 1=1\n40 SPD 60\n50 MVS P2\n60 END\n70 *I\n80 RETURN 1\n"
    machine = machine_of(text, Inputs(changes=(InputChange(time_s=1.5, signal=9, value=1),)))
    run(machine)
    assert machine.error is None
    assert machine.position.members[1] < 119.0


def test_an_interrupt_with_l_lets_the_line_end() -> None:
    text = (
        "10 DEF ACT 1,M_IN(9)=1 GOSUB *I,L\n20 MOV P1\n30 ACT 1=1\n40 SPD 60\n50 MVS P2\n60 END\n"
        "70 *I\n80 PAT=P_CURR\n90 RETURN 1\n"
    )
    machine = machine_of(text, Inputs(changes=(InputChange(time_s=1.5, signal=9, value=1),)))
    run(machine)
    assert machine.read("PAT.Y") == pytest.approx(120, abs=1e-6)


def test_of_two_interrupts_the_lower_number_goes_first_and_is_not_interrupted_by_the_other() -> None:
    text = (
        '5 C1$=""\n10 DEF ACT 1,M_IN(9)=1 GOSUB *A\n20 DEF ACT 2,M_IN(9)=1 GOSUB *B\n30 ACT 1=1\n40 ACT 2=1\n50 DLY 1\n'
        '60 END\n100 *A\n110 C1$=C1$+"A"\n115 DLY 0.1\n120 C1$=C1$+"a"\n130 RETURN 0\n'
        '200 *B\n210 C1$=C1$+"B"\n220 RETURN 0\n'
    )
    machine = machine_of(text, Inputs(changes=(InputChange(time_s=0.3, signal=9, value=1),)))
    run(machine)
    assert machine.read("C1$") == "AaB"


def test_stop_pauses_on_the_way_and_run_ends_the_same_move() -> None:
    machine = machine_of("10 MOV P1\n20 SPD 60\n30 MVS P2\n40 END")
    machine.run()
    while machine.line is None or machine.line.number != 30:
        machine.tick()
    for _ in range(60):
        machine.tick()
    machine.stop()
    while machine.stopping:
        machine.tick()
    assert machine.state is SlotState.PAUSED
    place = machine.position.members
    assert place[0] == pytest.approx(250, abs=0.02) and 1.0 < place[1] < 119.0
    for _ in range(10):
        machine.tick()
    assert machine.position.members == place
    run(machine)
    assert machine.position.members[:3] == pytest.approx((250, 120, 300), abs=1e-6)
    assert machine.state is SlotState.ENDED


def test_after_a_jog_in_the_pause_the_arm_first_goes_back_to_where_it_stopped() -> None:
    machine = machine_of("10 MOV P1\n20 SPD 60\n30 MVS P2\n40 END")
    machine.run()
    for _ in range(150):
        machine.tick()
    machine.stop()
    while machine.stopping:
        machine.tick()
    stopped = machine.row
    machine.place_arm((stopped + np.array([0.1, -0.05, 0.0, 0.0, 0.2])).tolist())
    steps = run(machine)
    assert min(np.abs(joints - stopped).max() for _, joints in steps) < 1e-9


def test_a_step_does_one_statement_with_its_move() -> None:
    machine = machine_of("10 M1=1\n20 MOV P1\n30 M1=2\n40 END")
    for wanted in (1, 1, 2):
        machine.step()
        while machine.state is SlotState.RUNNING:
            machine.tick()
        assert machine.read("M1") == wanted
    assert machine.position.members[:3] == pytest.approx((250, 0, 300), abs=1e-9)


def test_a_breakpoint_holds_before_its_line_and_run_goes_on() -> None:
    machine = machine_of("10 M1=1\n20 M1=2\n30 M1=3\n40 END")
    machine.breakpoints.add(20)
    run(machine)
    assert machine.state is SlotState.PAUSED and machine.read("M1") == 1
    run(machine)
    assert machine.state is SlotState.ENDED and machine.read("M1") == 3


def test_halt_pauses_and_start_goes_on_with_the_next_line() -> None:
    machine = machine_of("10 M1=1\n20 HLT\n30 M1=2\n40 END")
    run(machine)
    assert machine.state is SlotState.PAUSED
    run(machine)
    assert machine.read("M1") == 2


def test_repeat_mode_begins_again_after_end() -> None:
    machine = machine_of("10 DLY 0.1\n20 END")
    machine.run(repeat=True)
    for _ in range(100):
        machine.tick()
    assert machine.state is SlotState.RUNNING
    assert machine.cycles >= 8


def test_an_error_stops_at_its_line_and_has_to_be_reset_before_anything_runs() -> None:
    machine = machine_of("10 M1=1\n20 MOV P9\n30 END")
    run(machine)
    assert machine.state is SlotState.FAILED
    assert machine.error is not None and machine.error.code == "L3700"
    assert machine.error.place is not None and machine.error.place.number == 20
    with pytest.raises(ProgramError, match="5600"):
        machine.run()
    machine.reset_error()
    machine.assign("P9=(250,0,320,0,180,0)(6,0)")
    run(machine)
    assert machine.state is SlotState.ENDED


def test_statements_and_variables_can_be_given_from_outside() -> None:
    machine = machine_of("10 M1=5\n20 HLT\n30 END")
    run(machine)
    machine.direct("MOV P1,-20")
    run_direct = run(machine)
    assert len(run_direct) > 10
    assert machine.state is SlotState.PAUSED
    assert machine.position.members[2] == pytest.approx(320, abs=1e-6)
    machine.assign("M1=M1*2")
    assert machine.read("M1+1") == 11


def test_end_of_a_called_program_comes_back_with_values_copied() -> None:
    other = parse_program("10 FPRM M5,P5\n20 M_00=M5*2\n30 M5=0\n40 MOV P5\n50 END", name="OTHER")
    program = parse_program('10 M1=4\n20 CALLP "other.mb4",M1,P1\n30 M2=M_00+M1\n40 END' + POINTS)
    machine = Interpreter(program, Rv2aj(), AssumedSignals(), default_limits(PERIOD_S), HOME, library={"OTHER": other})
    run(machine)
    assert machine.error is None
    assert machine.read("M2") == 12


def test_a_program_that_calls_itself_is_refused() -> None:
    program = parse_program('10 CALLP "ME"\n20 END', name="ME")
    machine = Interpreter(program, Rv2aj(), AssumedSignals(), default_limits(PERIOD_S), HOME, library={"ME": program})
    run(machine)
    assert machine.error is not None and machine.error.number == 3710


def test_input_waits_takes_what_it_needs_and_keeps_the_rest() -> None:
    text = '10 OPEN "COM1:" AS #1\n20 INPUT #1,M1,C1$\n30 INPUT #1,J1\n40 INPUT #1,M2\n50 END'
    inputs = Inputs(
        texts=(
            TextArrives(time_s=0.2, number=1, text='3,"A,B",(1,2,3,0,5,6)'),
            TextArrives(time_s=0.4, number=1, text="-2.5"),
        )
    )
    machine = machine_of(text, inputs)
    assert len(run(machine)) * PERIOD_S == pytest.approx(0.42, abs=0.02)
    assert (machine.read("M1"), machine.read("C1$"), machine.read("M2")) == (3, "A,B", -2.5)
    assert machine.read("J1.J6") == pytest.approx(6 * DEG)


def test_print_uses_columns_of_ten_and_no_end_after_a_separator() -> None:
    machine = machine_of('10 OPEN "COM1:" AS #1\n20 PRINT #1,"AB",12;"C"\n30 PRINT #1,P1;\n40 PRINT #1\n50 END')
    run(machine)
    assert isinstance(machine.signals, AssumedSignals)
    texts = "".join(text for _, text in machine.signals.sent)
    assert texts == "AB        12C\r(250.0,0.0,300.0,0.0,180.0,0.0)(6,0)\r"


def test_arrived_text_can_interrupt() -> None:
    text = (
        '10 OPEN "COM1:" AS #1\n20 ON COM(1) GOSUB *C\n30 COM(1) ON\n40 DLY 0.5\n50 END\n'
        "60 *C\n70 INPUT #1,M1\n80 RETURN 0\n"
    )
    machine = machine_of(text, Inputs(texts=(TextArrives(time_s=0.2, number=1, text="7"),)))
    run(machine)
    assert machine.read("M1") == 7


@pytest.mark.parametrize(
    ("code", "expression", "wanted"),
    [
        ("M1=7/2", "M1", 3.5),
        ("M1=2^10", "M1", 1024),
        ("M1=-2^2", "M1", -4),
        ("M1=CINT(2.5)+CINT(-2.5)", "M1", 0),
        ("M1=-7 MOD 3", "M1", -1),
        ("M1=1+2*3-4/2", "M1", 5),
        ("M1=(1<2) AND (3>=3)", "M1", 1),
        ("M1=NOT 0", "M1", 1),
        ("M1=&HF0 OR &B101", "M1", 0xF5),
        ("M1=1<<4", "M1", 16),
        ("P9=P1\nP9.A=RAD(90)", "P9.A", np.pi / 2),
        ("DEF INTE KK\nKK=2.5", "KK", 3),
        ("DEF FLOAT KF\nKF=0.1", "KF", float(np.float32(0.1))),
        ('C1$=LEFT$("ABCDE",2)+MID$("ABCDE",3,1)', "C1$", "ABC"),
        ('C1$=MIRROR$("BJ")', "C1$", "RB"),
        ('M1=VAL("&H1F")', "M1", 31),
        ('M1=STRPOS("HELLO","LL")', "M1", 3),
        ("M1=CVI(MKI$(-300))", "M1", -300),
        ("M1=ZONE(P1,(200,-50,200),(300,50,400))", "M1", 1),
        ("M1=POSCQ((900,0,0,0,180,0))", "M1", 0),
        ("M1=DIST(P1,P2)", "M1", 120.0),
        ('P9=SETFL1(P1,"LB")', "P9.FL1", 0),
        ("P9=SETFL2(P1,6,-1)", "P9.FL2", 0x00F00000),
        ("M1=RDFL2(SETFL2(P1,6,-1),6)", "M1", -1),
        ("P9=INV((10,0,0,0,0,90))", "P9.Y", 10.0),
        ("M1=0\nFOR M2=10 TO 1 STEP -4\nM1=M1+M2\nNEXT", "M1", 18),
        ("M1=5\nFOR M2=1 TO 0\nM1=0\nNEXT M2", "M1", 5),
    ],
)
def test_expressions_are_worth_what_the_language_says(code: str, expression: str, wanted: object) -> None:
    found = value(code + "\nEnd", expression)
    assert found == (pytest.approx(wanted, abs=1e-12) if isinstance(wanted, float) else wanted)


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("OVRD 101", 3110),
        ("SPD 0", 3110),
        ("ACCEL 0", 2820),
        ("MOV P1 TYPE 2,0", 2830),
        ("M_IN(1)=1", 3210),
        ("M_PI=3", 3210),
        ("M1=SQR(-1)", 3110),
        ("M1=SIN(1,2)", 3120),
        ("M1=P1", 3810),
        ("M1=10^400", 3110),
        ("PRINT #1,1", 3140),
        ('OPEN "DISK" AS #1', 3140),
        ("J1=(0,0,90,5,0,0)\nMOV J1", 3860),
        ("TOOL (0,0,0,30,0,0)", 3860),
        ("ACT 3=1", 3110),
        ("DEF INTE KK\nKK=40000", 3110),
        ('CALLP "NOBODYHASTHISNAME"', 4120),
        ("M_OUT(99999)=1", 3110),
        ("MVR3 P1,P3,P2", 3860),
        ("DEF INTE KK\nDEF FLOAT KK", 4350),
    ],
)
def test_what_cannot_be_done_has_the_controllers_number(code: str, number: int) -> None:
    machine = machine_of(code + "\nEnd")
    run(machine)
    assert machine.error is not None
    assert machine.error.number == number


def test_components_are_degrees_where_the_parameter_says_so() -> None:
    machine = machine_of("P9=P1\nP9.A=90\nEnd", degrees_in_components=True)
    run(machine)
    assert machine.read("P9.A") == pytest.approx(90)


def test_a_speed_that_a_joint_cannot_keep_is_refused_or_lowered_as_set() -> None:
    text = "10 MOV P4\n20 SPD 400\n30 MVS P5\n40 END\nP4=(60,150,560,0,90,0)(6,0)\nP5=(60,-150,560,0,90,0)(6,0)"
    lenient, faithful = machine_of(text), machine_of(text, refuse_overspeed=True)
    run(lenient)
    run(faithful)
    assert lenient.error is None
    assert faithful.error is not None and faithful.error.code == "H2131"


def test_a_busy_loop_waits_for_the_next_tick_and_nothing_hangs() -> None:
    machine = machine_of(
        "10 *L\n20 IF M_IN(3)=0 THEN *L\n30 END", Inputs(changes=(InputChange(time_s=0.5, signal=3, value=1),))
    )
    assert len(run(machine)) == pytest.approx(51, abs=2)


# -- small numbers that only one program can tell from their neighbours ----------------------------------------------


def test_an_interrupts_own_condition_does_not_interrupt_its_routine_again() -> None:
    """While a routine runs, only interrupts of a lower number may come: its own number is none."""
    text = (
        "5 M1=0\n10 DEF ACT 3,M_IN(9)=1 GOSUB *I\n20 ACT 3=1\n30 DLY 1\n40 END\n"
        "100 *I\n110 M1=M1+1\n120 DLY 0.3\n130 RETURN 0\n"
    )
    twice = Inputs(
        changes=(
            InputChange(time_s=0.1, signal=9, value=1),
            InputChange(time_s=0.2, signal=9, value=0),
            InputChange(time_s=0.25, signal=9, value=1),
        )
    )
    machine = machine_of(text, twice)
    machine.run()
    while machine.frame.returns == []:
        machine.tick()
    depths = []
    while machine.frame.returns:
        depths.append(len(machine.frame.returns))
        machine.tick()
    assert set(depths) == {1}


@pytest.mark.parametrize(("back", "waited"), [("RETURN 0", True), ("RETURN 1", False)])
def test_return_1_leaves_the_wait_that_was_interrupted_and_return_0_does_not(back: str, waited: bool) -> None:
    text = (
        f"5 M1=0\n10 DEF ACT 1,M_IN(9)=1 GOSUB *I\n20 ACT 1=1\n30 WAIT M_IN(8)=1\n40 M1=1\n50 END\n100 *I\n110 {back}\n"
    )
    machine = machine_of(text, Inputs(changes=(InputChange(time_s=0.2, signal=9, value=1),)))
    machine.run()
    for _ in range(round(0.5 / PERIOD_S)):
        machine.tick()
    assert (machine.state is SlotState.RUNNING) is waited
    assert machine.read("M1") == (0 if waited else 1)


def test_goto_of_an_interrupt_leaves_the_rest_of_a_delay_behind() -> None:
    text = "10 DEF ACT 1,M_IN(9)=1 GOTO *I\n20 ACT 1=1\n30 DLY 5\n40 END\n100 *I\n110 M_OUT(1)=1\n120 END\n"
    machine = machine_of(text, Inputs(changes=(InputChange(time_s=0.2, signal=9, value=1),)))
    assert len(run(machine)) * PERIOD_S < 0.3
    assert machine.signals.output_bit(1) == 1


def test_a_move_that_was_paused_ends_alone_before_the_next_one_sets_in() -> None:
    """After a pause nothing is laid over the end of the move: the corner is not cut from an old place in it."""
    machine = machine_of("10 MOV P1\n20 CNT 1,10\n30 SPD 60\n40 MVS P2\n50 MVS P3\n60 END")
    machine.run()
    while machine.line is None or machine.line.number != 40:
        machine.tick()
    for _ in range(5):
        machine.tick()
    machine.stop()
    while machine.stopping:
        machine.tick()
    points = machine.arm.members(np.array([joints for _, joints in run(machine)]))[:, :3]
    assert np.linalg.norm(points - np.array([250, 120, 300]), axis=1).min() < 1e-6


@pytest.mark.parametrize(("word", "wanted"), [("HOPEN 1", (1, 0)), ("HCLOSE 1", (0, 1)), ("HOPEN 2", (1, 0))])
def test_a_hand_has_two_outputs_and_one_of_them_is_on(word: str, wanted: tuple[int, int]) -> None:
    machine = machine_of(f"10 {word}\n20 END")
    run(machine)
    first = 900 + 2 * (int(word[-1]) - 1)
    assert (machine.signals.output_bit(first), machine.signals.output_bit(first + 1)) == wanted


def test_one_distance_of_cnt_counts_for_both_sides_of_the_corner() -> None:
    def corner(word: str) -> np.ndarray:
        steps = run(machine_of(f"10 MOV P1\n20 {word}\n30 SPD 30\n40 MVS P2\n50 SPD 300\n60 MVS P3\n70 END"))
        return np.array([joints for _, joints in steps])

    both, same, other = corner("CNT 1,20"), corner("CNT 1,20,20"), corner("CNT 1,20,2")
    assert both.shape == same.shape and (both == same).all()
    assert other.shape != both.shape or (other != both).any()
