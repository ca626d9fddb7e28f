"""How the emulated CR1 moves its arm: single statements, jogging, stops, limits, and what it shows of it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from cr1_terminal import Cr1Terminal

from sim.cr1.arm import ArmModel

GOLDEN_JOINTS = "J1;0.00;J2;21.19;J3;72.78;J4;****;J5;86.03;J6;0.00;;****,****;50;0.00;00000000"
GOLDEN_POSE = "X;250.00;Y;0.00;Z;450.00;A;0.00;B;180.00;;6,0;50;0.00;00000000"

COMPUTED = [
    ((0, 0, 0, 0, 0), (0, 0, 782, 0, 0), 6),
    ((0, 0, 90, 0, 0), (232, 0, 550, 0, 90), 6),
    ((0, 0, 90, 90, 0), (160, 0, 478, 0, 180), 6),
    ((45, 30, 60, 60, -30), (226.981, 226.981, 454.153, -68.971, 150), 6),
    ((-90, 60, 30, 45, 120), (0, -427.418, 374.088, 183.640, 135), 6),
    ((0, 120, -30, 0, 0), (448.506, 0, 175, 0, 90), 4),
    ((10, 10, -50, 80, 15), (-12.953, -2.284, 723.924, 22.660, 40), 0),
    ((0, -60, 120, 90, 0), (-41.942, 0, 442.646, 0, 150), 2),
    ((-107.7560, 32.1796, 104.1809, 42.9295, 66.1123), (-74.55, -232.81, 323.81, 173.86, 179.29), 6),
]
"""Reference A4: joints, pose, FL1; the last one from a pendant (C)."""

TWO_POSTURES = [
    ("350,0,600,0,90", (39.63, 8.19, 42.18), (46.02, -8.19, 52.18)),
    ("300,0,600,0,45", (21.07, 63.26, -39.33), (68.93, -63.26, 39.33)),
    ("350,0,400,0,90", (37.43, 90.58, -38.01), (103.00, -90.58, 77.58)),
]


def fields(answer: str) -> dict[str, float]:
    """Numbers of a position reply by their axes."""
    parts = answer[3:].split(";;")[0].split(";")
    return {name: float(value) for name, value in zip(parts[::2], parts[1::2], strict=True) if value != "****"}


# What it shows.


def test_the_golden_pose_comes_back_through_joints_and_pose_byte_for_byte():  # C
    terminal = Cr1Terminal().ready()
    terminal.do("OVRD=50", "EXECP1=(250,0,450,0,180)(6,0)", "EXECMOV P1")
    terminal.settle()
    assert terminal.ask("JPOSF") == f"QoK{GOLDEN_JOINTS}"
    assert terminal.ask("PPOSF") == f"QoK{GOLDEN_POSE}"
    assert (len(GOLDEN_JOINTS) + 3, len(GOLDEN_POSE) + 3) == (81, 65)


@pytest.mark.parametrize(("joints", "pose", "fl1"), COMPUTED)
def test_poses_and_flags_are_those_of_the_reference(joints, pose, fl1):
    terminal = Cr1Terminal(joints=joints)
    answer = terminal.ask("PPOSF")
    assert tuple(fields(answer).values()) == pytest.approx(pose, abs=0.0051)
    assert answer.split(";;")[1].startswith(f"{fl1},0;")


@pytest.mark.parametrize(("j6", "fl2"), [(180, 0), (180.1, 1 << 20), (-180.1, 15 << 20), (200, 1048576)])
def test_turns_of_j6_show_in_the_second_flag_in_decimal(j6, fl2):  # M
    answer = Cr1Terminal(joints=(0, 0, 90, 0, j6)).ask("PPOSF")
    assert answer.split(";;")[1].startswith(f"6,{fl2};")


@pytest.mark.parametrize(("pose", "above", "below"), TWO_POSTURES)
def test_flags_choose_the_elbow(pose, above, below):
    for flag, joints in ((6, above), (4, below)):
        terminal = Cr1Terminal().ready()
        terminal.do(f"EXECMOV ({pose})({flag},0)")
        terminal.settle()
        shown = fields(terminal.ask("JPOSF"))
        assert (shown["J2"], shown["J3"], shown["J5"]) == pytest.approx(joints, abs=0.011)


def test_one_axis_at_a_time():  # M: ..POS<1..8>
    terminal = Cr1Terminal()
    assert terminal.ask("JPOS3").startswith("QoKJ3;90.00;;")
    assert terminal.ask("PPOS1").startswith("QoKX;160.00;;")


def test_other_views_of_the_position():  # M names, I contents
    terminal = Cr1Terminal(joints=(90, 0, 90, 90, 0))
    assert fields(terminal.ask("RPOSF"))["X"] == pytest.approx(160)
    assert fields(terminal.ask("RPOSF"))["Y"] == pytest.approx(90)
    assert fields(terminal.ask("XPOSF"))["A"] == 90


# Single statements.


def test_the_answer_comes_when_a_move_is_accepted_not_when_it_ends():  # M
    terminal = Cr1Terminal().ready()
    terminal.do("EXECJ1=(90,0,90,0,90,0)")
    assert terminal.ask("EXECMOV J1", wait_s=0.06) == "QoK"
    assert terminal.joints()[0] < 10
    assert terminal.status()[0] & 0x40
    terminal.settle()
    assert terminal.joints() == (90, 0, 90, 90, 0)
    assert not terminal.status()[0] & 0x40


def test_a_second_move_during_the_first_is_5640_and_disturbs_nothing():  # S
    terminal = Cr1Terminal().ready()
    terminal.do("EXECJ1=(90,0,90,0,90,0)", "EXECJ2=(0,0,90,0,90,0)")
    terminal.ask("EXECMOV J1", wait_s=0.05)
    assert terminal.ask("EXECMOV J2", wait_s=0.1) == "QeR564000000"
    assert terminal.ask("ERROR", wait_s=0.1) == "QoK"
    terminal.settle()
    assert terminal.joints()[0] == 90


def test_reads_and_assignments_work_during_a_move():
    terminal = Cr1Terminal().ready()
    terminal.do("EXECJ1=(90,0,90,0,90,0)")
    terminal.ask("EXECMOV J1", wait_s=0.05)
    terminal.do("EXECJ2=(0,0,90,0,90,0)")
    assert 0 < fields(terminal.ask("JPOSF"))["J1"] <= 90


@pytest.mark.parametrize(
    "statement",
    [
        "J1=(0.0, 21.19, 72.78, 0.0, 86.03, 0.0)",  # C
        "J1 = (0,21.19,72.78,0,86.03,0)",  # C
        "J1=(0,21.19,72.78,0,86.03,0,)",  # S, in HOT for certain
        "j1=(0,21.19,72.78,0,86.03,0,0,0)",
        "J1=(+0.00,+21.19,+72.78,+0.00,+86.03,+0.00)",
    ],
)
def test_blanks_case_signs_and_trailing_commas_of_foreign_clients_are_taken(statement):
    terminal = Cr1Terminal().ready()
    terminal.do(f"EXEC{statement}", "EXECMOV J1")
    terminal.settle()
    assert terminal.joints() == (0, 21.19, 72.78, 86.03, 0)


def test_an_undefined_variable_is_4340_and_stands():  # M
    terminal = Cr1Terminal().ready()
    assert terminal.ask("EXECMOV PNONE") == "QeR434000000"
    assert terminal.ask("ERROR") == "Qok4340;2"


@pytest.mark.parametrize("statement", ["FOO BAR(", "MOV", "MOV P1,,", "1 2 3", "((((", '"'])
def test_what_is_no_statement_is_4220_and_stands(statement):
    terminal = Cr1Terminal().ready()
    assert terminal.ask(f"EXEC{statement}") == "QeR422000000"
    assert terminal.ask("ERROR") == "Qok4220;2"


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("MOV (900,0,450,0,180)", 2802),
        ("MOV (350,0,300,0,0)(6,0)", 2602),
        ("MVS (0,-350,350,0,180)(6,0)", 2803),
        ("MVS (350,0,400,0,90)(4,0)", 2810),
    ],
)
def test_an_impossible_move_is_refused_before_anything_moves(statement, number):  # M
    terminal = Cr1Terminal(joints=(90, 37.4335, 90.5801, 51.9864, 0)).ready()
    before = terminal.joints()
    answer = terminal.ask(f"EXEC{statement}")
    assert answer[:7] in (f"QeR{number}", f"QeR{number - 200}")
    assert terminal.joints() == before


def test_a_joint_target_beyond_its_limit_is_2602_before_the_move():  # U which, configurable nowhere else
    terminal = Cr1Terminal().ready()
    terminal.do("EXECJ1=(0,130,0,0,0,0)")
    assert terminal.ask("EXECMOV J1") == "QeR260200000"


def test_a_delay_keeps_it_running_for_its_time():
    terminal = Cr1Terminal().ready()
    assert terminal.ask("EXECDLY 2", wait_s=0.1) == "QoK"
    terminal.wait(1.8)
    assert terminal.cr1.in_motion
    terminal.wait(0.3)
    assert not terminal.cr1.in_motion


def test_no_joint_is_faster_than_its_limit_and_no_cycle_jumps():  # U speeds
    terminal = Cr1Terminal().ready()
    terminal.do("EXECJ1=(150,-60,120,0,-90,200)", "EXECMOV J1")
    terminal.settle()
    top = [0.0] * 5
    for (then_s, then), (now_s, now) in pairwise(terminal.trace):
        assert now_s - then_s == pytest.approx(0.0071)
        top = [max(fast, abs(b - a) / 0.0071) for fast, a, b in zip(top, then, now, strict=True)]
    assert all(fast <= limit + 1e-6 for fast, limit in zip(top, (180, 90, 135, 180, 210), strict=True))
    assert max(fast / limit for fast, limit in zip(top, (180, 90, 135, 180, 210), strict=True)) > 0.9


@pytest.mark.parametrize("percent", [10, 50])
def test_override_slows_every_move(percent):  # M
    durations = []
    for override in (100, percent):
        terminal = Cr1Terminal().ready()
        terminal.do(f"OVRD={override}", "EXECJ1=(140,0,90,0,90,0)", "EXECMOV J1")
        terminal.settle()
        durations.append(terminal.trace[-1][0] - terminal.trace[0][0])
    assert durations[1] / durations[0] == pytest.approx(100 / percent, rel=0.35)


def test_the_end_speed_shows_while_the_tool_moves():  # M
    terminal = Cr1Terminal().ready()
    terminal.do("EXECMOV (250,0,450,0,180)(6,0)")
    terminal.settle()
    terminal.ask("EXECSPD 20", wait_s=0.1)
    terminal.ask("EXECMVS (250,60,450,0,180)(6,0)", wait_s=1.0)
    assert terminal.ask("PPOSF").split(";;")[1].split(";")[2] == "20.00"
    terminal.settle()
    assert ";0.00;00000000" in terminal.ask("PPOSF")


def test_a_straight_line_is_straight():
    terminal = Cr1Terminal().ready()
    terminal.do("EXECMOV (250,-80,450,0,180)(6,0)")
    terminal.settle()
    terminal.trace.clear()
    terminal.do("EXECMVS (250,80,450,0,180)(6,0)")
    terminal.settle()
    from hil.program.rv2aj import Rv2aj

    for _, joints in terminal.trace:
        x, _, z = Rv2aj().position([math.radians(angle) for angle in joints]).members[:3]
        assert (x, z) == pytest.approx((250, 450), abs=1e-6)


def test_a_tool_moves_the_control_point_and_not_the_arm():
    terminal = Cr1Terminal().ready()
    terminal.do("EXECTOOL (0,0,50,0,0,0)")
    assert fields(terminal.ask("PPOSF"))["Z"] == 428
    assert terminal.joints() == (0, 0, 90, 90, 0)
    assert terminal.ask("PARMEXTL") == "QoKMEXTL;0.00, 0.00, 50.00, 0.00, 0.00, 0.00;6"


def test_the_safe_position_is_reached_by_a_command():  # M
    terminal = Cr1Terminal(joints=(30, 10, 80, 60, 20)).ready()
    terminal.do("MOVSP")
    terminal.settle()
    assert terminal.joints() == (0, 0, 90, 90, 0)


# Stops.


def test_stop_slows_down_on_the_way_and_a_single_statement_is_dropped():  # M, I
    terminal = Cr1Terminal().ready()
    terminal.do("EXECJ1=(140,30,90,0,60,0)")
    terminal.ask("EXECMOV J1", wait_s=0.5)
    moving = terminal.joints()
    assert terminal.ask("STOP") == "QoK"
    terminal.settle()
    stopped = terminal.joints()
    assert moving[0] < stopped[0] < 120
    assert stopped[1] / stopped[0] == pytest.approx(30 / 140, rel=1e-3)
    terminal.wait(5)
    assert terminal.joints() == stopped
    terminal.do("EXECMOV J1")
    terminal.settle()
    assert terminal.joints()[0] == 140


def test_stop_leaves_the_safe_move_on_its_way_too():
    terminal = Cr1Terminal(joints=(140, 0, 90, 90, 0)).ready()
    terminal.ask("MOVSP", wait_s=0.4)
    terminal.do("STOP")
    terminal.settle()
    assert 10 < terminal.joints()[0] < 135


def test_servo_off_in_a_move_brings_the_arm_to_rest_first():
    terminal = Cr1Terminal().ready()
    terminal.do("EXECJ1=(140,0,90,0,90,0)")
    terminal.ask("EXECMOV J1", wait_s=0.5)
    terminal.do("SRVOFF")
    terminal.wait(2)
    assert terminal.status() == (0x80, 0x10, 0)
    speeds = [b[1][0] - a[1][0] for a, b in pairwise(terminal.trace)]
    assert speeds[-1] < 0.2


def test_an_emergency_stop_holds_the_arm_at_once():  # M
    from sim.cr1 import Stop

    terminal = Cr1Terminal().ready()
    terminal.do("EXECJ1=(140,0,90,0,90,0)")
    terminal.ask("EXECMOV J1", wait_s=0.5)
    terminal.cr1.press(Stop.PANEL, terminal.now_s)
    at_once = terminal.joints()
    terminal.wait(3)
    assert terminal.joints() == at_once
    assert terminal.ask("EXECMOV J1") == "Qer560000000"


# Jogging.


def test_a_jog_lasts_only_while_it_is_asked_for():  # M: about 140 ms
    terminal = Cr1Terminal().ready()
    for _ in range(3):
        terminal.ask("JOG00;00;00;01;00", wait_s=0.07)
    asked_s = terminal.now_s
    terminal.wait(3)
    last_s = terminal.trace[-1][0]
    assert asked_s < last_s < asked_s + 0.14 + 0.25
    assert terminal.joints()[0] > 3
    assert terminal.joints()[1:] == (0, 90, 90, 0)


@pytest.mark.parametrize(
    ("request_text", "axis", "sign"),
    [
        ("JOG00;00;00;01;00", "J1", 1),
        ("JOG00;00;01;00;00", "J1", -1),
        ("JOG00;00;10;00;00", "J5", -1),  # bit 4 is J5, not J6
        ("JOG00;00;00;20;00", "J6", 1),
        ("JOG01;00;01;00;00;00", "X", -1),  # the manual's example with its sixth field
        ("JOG01;00;00;04;00", "Z", 1),
        ("JOG02;00;00;04;00", "Z", -1),  # the tool points down
        ("JOG05;00;01;00;00", "X", -1),
    ],
)
def test_minus_comes_first_and_axes_are_bits(request_text, axis, sign):  # M
    terminal = Cr1Terminal(joints=(0, 21.19, 72.78, 80.0, 0)).ready()
    terminal.do("OVRD=20")
    view = "JPOSF" if axis[0] == "J" else "PPOSF"
    before = fields(terminal.ask(view))[axis]
    terminal.do(request_text)
    terminal.wait(1)
    assert sign * (fields(terminal.ask(view))[axis] - before) > 0.1


def test_a_cartesian_jog_keeps_the_other_members():
    terminal = Cr1Terminal(joints=(0, 21.19, 72.78, 80.0, 0)).ready()
    before = fields(terminal.ask("PPOSF"))
    for _ in range(4):
        terminal.ask("JOG01;00;00;02;00", wait_s=0.07)
    terminal.wait(1)
    after = fields(terminal.ask("PPOSF"))
    assert after["Y"] - before["Y"] > 5
    for name in "XZAB":
        assert after[name] == pytest.approx(before[name], abs=0.05)


def test_inching_moves_one_step_for_as_long_as_it_is_held():  # M
    terminal = Cr1Terminal().ready()
    for _ in range(3):
        terminal.ask("JOG00;00;00;01;01", wait_s=0.05)
    assert terminal.joints()[0] == pytest.approx(0.1)
    terminal.wait(0.2)
    terminal.do("JOG00;00;00;01;02")
    assert terminal.joints()[0] == pytest.approx(0.11)


@pytest.mark.parametrize("command", ["JOG 00;00;00;01;00", "JOG00;00;01", "JOG", "JOG00;00;00;0G;00", "JOG0;0;0;1;0"])
def test_a_blank_or_too_few_fields_move_nothing(command):  # S
    terminal = Cr1Terminal().ready()
    assert terminal.ask(command)[:7] in ("QeR6010", "QeR4220")
    terminal.wait(1)
    assert terminal.trace == []


def test_a_jog_stops_at_the_limit_with_its_error_and_bit():  # U: the emulator's choice for jogs
    terminal = Cr1Terminal(joints=(149, 0, 90, 0, 0)).ready()
    for _ in range(8):
        terminal.ask("JOG00;00;00;01;00", wait_s=0.06)
    assert terminal.ask("ERROR") == "Qok2161;1"
    assert terminal.joints()[0] <= 150
    assert terminal.ask("JPOSF").endswith("01000000")


def test_a_jog_needs_the_servo_and_no_other_motion():  # M L2000, L2030
    terminal = Cr1Terminal()
    terminal.do("CNTLON")
    assert terminal.ask("JOG00;00;00;01;00") == "QeR200000000"
    terminal = Cr1Terminal().ready()
    terminal.do("EXECDLY 5")
    assert terminal.ask("JOG00;00;00;01;00") == "QeR203000000"


def test_with_the_machine_lock_programs_run_and_the_arm_stays():  # M
    terminal = Cr1Terminal().ready()
    terminal.do("MLOCKON", "EXECJ1=(30,0,90,0,90,0)", "EXECMOV J1")
    terminal.settle()
    assert terminal.joints()[0] == 30
    assert terminal.trace == []
    assert terminal.status()[0] & 4
    terminal.do("MLOCKOFF")
    assert terminal.joints()[0] == 0


def test_an_arm_that_sags_stands_off_where_it_is_driven_and_shows_that_in_joints_and_pose():
    terminal = Cr1Terminal(joints=(0, 0, 90, 90, 0), arm=ArmModel(sag_deg=(0.0, 0.5, 0.0, 0.0, 0.0))).ready()
    assert fields(terminal.ask("JPOSF"))["J2"] == 0.0
    terminal.do("EXECJT=(0,10,80,0,90,0)", "EXECMOV JT")
    terminal.settle()
    shown = fields(terminal.ask("JPOSF"))
    assert (shown["J2"], shown["J3"]) == (10.5, 80.0)
    assert fields(terminal.ask("PPOSF"))["B"] == 180.5
