"""Session, operation right, servo, key, teach box, stops and errors of the emulated CR1."""

from __future__ import annotations

import pytest
from cr1_terminal import Cr1Terminal

from sim.cr1 import Face, Series, Stop

SERVO, RUNNING, ENABLED, TEACH = 0x20, 0x40, 0x80, 0x08


# A session as the reference puts it together.


def test_a_session_byte_for_byte():  # M and C formats
    terminal = Cr1Terminal(servo_on_s=0.9)
    copyright_text = "COPYRIGHT(C)1999-2003 MITSUBISHI ELECTRIC CORPORATION ALL RIGHTS RESERVED"
    head = "QoK1F;37;6,0;3,5,A,1E,32,46,64;MB4;PRM;RV-2AJ;CRn-5xx;MELFA;03-11-19;Ver.J4;ENG;"
    assert terminal.ask("OPEN=NARCUSR") == f"{head}{copyright_text};1;1;8;"
    assert terminal.ask("SRVON") == "QeR602000000"
    assert terminal.ask("CNTLON") == "QoK"
    assert terminal.ask("SRVON") == "QoK"
    assert terminal.ask("DSTATE") == "QoK80100;1;0"
    terminal.wait(0.5)
    assert terminal.ask("DSTATE") == "QoKA0100;1;0"
    assert terminal.ask("OVRD=50") == "QoK50"
    assert terminal.ask("PPOSF") == "QoKX;160.00;Y;0.00;Z;478.00;A;0.00;B;180.00;;6,0;50;0.00;00000000"
    assert terminal.ask("EXECJT=(0,10,80,0,90,0)") == "QoK"
    assert terminal.ask("EXECMOV JT") == "QoK"
    terminal.settle()
    assert terminal.ask("EXECMOV PNONE") == "QeR434000000"
    assert terminal.ask("ERROR") == "Qok4340;2"
    assert terminal.ask("ERRORMES4340").startswith("Qok")
    assert terminal.ask("RSTALRM") == "QoK"
    assert terminal.ask("GC") == "QeR601000000"
    assert terminal.ask("CNTLOFF") == "QoK"
    assert terminal.ask("CLOSE") == "QoK"


def test_the_bytes_of_the_examples():  # M
    terminal = Cr1Terminal()
    assert terminal.raw(bytes.fromhex("31 3B 31 3B 43 4E 54 4C 4F 4E 0D")).encode() == bytes.fromhex("51 6F 4B 0D")
    terminal.do("CNTLOFF")
    refused = bytes.fromhex("51 65 52 36 30 32 30 30 30 30 30 30 0D")
    assert terminal.raw("1;1;SRVON\r").encode() == refused


def test_without_options_the_key_is_at_auto_the_servo_off_and_no_error_stands():
    terminal = Cr1Terminal()
    assert terminal.status() == (0x00, 0x10, 0)
    assert terminal.ask("ERROR") == "QoK"


def test_a_six_axis_face_shows_j4_and_c():  # C formats
    terminal = Cr1Terminal(face=Face.SIX)
    assert terminal.ask("OPEN=X").startswith("QoK3F;3F;7,0;")
    assert terminal.ask("JPOSF") == "QoKJ1;0.00;J2;0.00;J3;90.00;J4;0.00;J5;90.00;J6;0.00;;****,****;100;0.00;00000000"
    assert terminal.ask("PPOSF") == "QoKX;160.00;Y;0.00;Z;478.00;A;0.00;B;180.00;C;0.00;;7,0;100;0.00;00000000"


# The operation right.


@pytest.mark.parametrize(
    "command",
    [
        *("SRVON", "SRVOFF", "EXECMOV P1", "RUN100;1", "STEP1", "PRGLOAD=1", "PRGUP", "LINENO=10", "OVRD=10", "MOVSP"),
        *("JOG00;00;00;01;00", "BREAKON00", "HOME0;01", "ALIGN"),
    ],
)
def test_what_operates_the_arm_needs_the_right(command):  # M
    assert Cr1Terminal().ask(command) == "QeR602000000"


@pytest.mark.parametrize(
    "command",
    [
        *("STOP", "STOPON", "STOPOFF", "RSTALRM", "SLOTINIT", "CNTLOFF", "HNDON1", "HNDOFF1", "OUT=0;0001"),
        *("JPOSF", "PPOSF", "STATE", "ERROR", "OVRD", "PDIRTOP", "PARRLNG", "KEYWDpMELFA", "TIME", "EFREE", "STPSIG"),
    ],
)
def test_what_only_looks_or_stops_needs_no_right(command):  # M
    assert Cr1Terminal().ask(command)[:3] == "QoK"


def test_only_one_holds_the_right():  # M
    terminal = Cr1Terminal()
    terminal.cr1.take_right(0.0)
    assert terminal.ask("CNTLON") == "QeR602000000"
    assert terminal.ask("SRVON") == "QeR602000000"
    terminal.cr1.take_right(terminal.now_s, False)
    terminal.do("CNTLON", "SRVON")


# The servo.


def test_the_servo_comes_on_some_time_after_the_answer():  # I
    terminal = Cr1Terminal(servo_on_s=1.5)
    terminal.do("CNTLON", "SRVON")
    assert not terminal.status()[0] & SERVO
    assert terminal.ask("SRVON") == "QeR166000000"
    terminal.wait(0.6)
    assert terminal.status()[0] & SERVO


def test_the_servo_goes_off_and_cannot_come_on_meanwhile():  # I
    terminal = Cr1Terminal(servo_off_s=1.5).ready()
    terminal.do("SRVOFF")
    assert terminal.ask("SRVON") == "QeR167000000"
    terminal.wait(1.5)
    assert not terminal.status()[0] & SERVO
    terminal.do("SRVON")


def test_while_an_error_stands_the_servo_cannot_come_on():  # M C1630
    terminal = Cr1Terminal()
    terminal.do("CNTLON")
    terminal.cr1.fail(2600, terminal.now_s)
    assert terminal.ask("SRVON") == "Qer163000000"


def test_with_the_teach_box_enabled_the_servo_cannot_come_on():  # M H5000
    terminal = Cr1Terminal()
    terminal.do("CNTLON")
    terminal.cr1.enable_teach_box(terminal.now_s)
    assert terminal.ask("SRVON") == "Qer602000000"
    assert terminal.ask("ERROR") == "Qok5000;1"


def test_motion_without_servo_is_2000_and_stands():  # M
    terminal = Cr1Terminal()
    terminal.do("CNTLON")
    assert terminal.ask("EXECMOV (250,0,450,0,180)") == "QeR200000000"
    assert terminal.ask("ERROR") == "Qok2000;2"


# Errors.


def test_while_an_error_stands_the_third_letter_is_lower_case():  # I, strongly supported
    terminal = Cr1Terminal()
    terminal.cr1.fail(2600, 0.0)
    assert terminal.ask("OVRD") == "Qok100"
    assert terminal.ask("FOO") == "Qer601000000"
    assert terminal.status()[2] == 2600
    terminal.do("RSTALRM")
    assert terminal.ask("OVRD") == "QoK100"


def test_status_shows_stop_and_selectable_with_an_error_in_an_idle_slot():  # M example A1 12 4220
    terminal = Cr1Terminal()
    terminal.cr1.fail(4220, 0.0)
    assert terminal.status()[1:] == (0x12, 4220)


@pytest.mark.parametrize("command", ["EXECMOV P1", "EXECM1=1", "RUN1", "MOVSP", "JOG00;00;00;01;00", "STEP1"])
def test_until_it_is_reset_nothing_starts(command):  # M 5600
    terminal = Cr1Terminal({"1": "10 END"}).ready()
    terminal.cr1.fail(2600, terminal.now_s)
    assert terminal.ask(command) == "Qer560000000"


def test_a_refused_request_leaves_nothing_standing_unless_so_chosen():  # U
    assert Cr1Terminal().ask("FOO") == "QeR601000000"
    terminal = Cr1Terminal(requests_stand=True)
    assert terminal.ask("FOO") == "QeR601000000"
    assert terminal.ask("ERROR") == "Qok6010;2"


def test_high_errors_switch_the_servo_off_and_low_ones_do_not():  # M
    terminal = Cr1Terminal().ready()
    terminal.cr1.fail(2600, terminal.now_s)
    assert terminal.status()[0] & SERVO
    terminal.cr1.fail(1681, terminal.now_s)
    assert not terminal.status()[0] & SERVO
    assert terminal.ask("ERROR") == "Qok1681;1"


def test_a_caution_stands_and_hinders_no_start():  # M: the program goes on
    terminal = Cr1Terminal().ready()
    terminal.cr1.fail(7520, terminal.now_s)
    assert terminal.ask("ERROR") == "Qok7520;3"
    terminal.do("EXECM1=1")


def test_the_log_lists_the_newest_first():  # M
    terminal = Cr1Terminal(day=15)
    terminal.cr1.fail(2600, 10.0)
    terminal.cr1.fail(4140, 20.0)
    terminal.now_s = 30.0
    assert terminal.ask("ERRORLOGTOP") == "Qok04-01-16;00:00:20;4140;PROGRAM NOT FOUND;2;;0;414000000"
    assert ";2600;" in terminal.ask("ERRORLOG+1")
    assert terminal.ask("ERRORLOG+1") == "Qok"
    assert ";2600;" in terminal.ask("ERRORLOGEND")
    terminal.do("ERRLOGCLR0")
    assert terminal.ask("ERRORLOGTOP") == "Qok"


def test_leaving_the_pseudo_inputs_asks_for_a_power_cycle():  # M L6800
    terminal = Cr1Terminal(boot_s=0.5)
    assert terminal.ask("IN=10;00FF") == "QeR664000000"
    terminal.do("INDMY", "IN=10;00FF")
    assert terminal.ask("IN8") == "QoK03FC"
    terminal.do("INSET", "RSTALRM")
    assert terminal.ask("ERROR") == "Qok6800;2"
    terminal.cr1.power_cycle(terminal.now_s)
    terminal.wait(1.0)
    assert terminal.ask("ERROR") == "QoK"


# Hands on the panel.


@pytest.mark.parametrize(
    ("stop", "number", "bit"), [(Stop.OUTSIDE, 50, 1), (Stop.PANEL, 60, 2), (Stop.TEACH_BOX, 70, 4)]
)
def test_an_emergency_stop_comes_back_until_it_is_released(stop, number, bit):  # M
    terminal = Cr1Terminal().ready()
    terminal.cr1.press(stop, terminal.now_s)
    assert terminal.ask("ERROR") == f"Qok{number:04d};1"
    assert terminal.ask("STPSIG") == f"Qok00;{bit:02X}"
    assert terminal.status()[0] & SERVO == 0
    assert terminal.status()[1] & 1
    terminal.do("RSTALRM")
    assert terminal.ask("ERROR") == f"Qok{number:04d};1"
    terminal.cr1.press(stop, terminal.now_s, False)
    terminal.do("RSTALRM")
    assert terminal.ask("ERROR") == "QoK"
    terminal.do("SRVON")


def test_the_key_at_teach_takes_the_right_and_the_servo_away():  # I
    terminal = Cr1Terminal().ready()
    terminal.cr1.turn_key(terminal.now_s, teach=True)
    terminal.wait(1.0)
    run, _, error = terminal.status()
    assert (run & TEACH, run & ENABLED, run & SERVO, error) == (TEACH, 0, 0, 0)
    assert terminal.ask("CNTLON") == "QeR602000000"
    assert terminal.ask("ATENA") == "QoK1"
    terminal.cr1.turn_key(terminal.now_s, teach=False)
    terminal.do("CNTLON", "SRVON")


def test_a_key_turned_in_a_motion_stops_the_arm_for_good():
    terminal = Cr1Terminal().ready()
    terminal.do("OVRD=30", "EXECJ1=(90,0,90,0,90,0)", "EXECMOV J1")
    terminal.cr1.turn_key(terminal.now_s, teach=True)
    terminal.wait(2.0)
    stopped = terminal.joints()
    assert 1.0 < stopped[0] < 60.0
    terminal.cr1.turn_key(terminal.now_s, teach=False)
    terminal.do("CNTLON", "SRVON")
    terminal.wait(5.0)
    assert terminal.joints() == stopped


def test_the_teach_box_in_automatic_mode_is_an_error_until_it_is_disabled():  # M H5000
    terminal = Cr1Terminal().ready()
    terminal.cr1.enable_teach_box(terminal.now_s)
    assert terminal.ask("ERROR") == "Qok5000;1"
    terminal.do("RSTALRM")
    assert terminal.ask("ERROR") == "Qok5000;1"
    terminal.cr1.enable_teach_box(terminal.now_s, False)
    terminal.do("RSTALRM", "CNTLON", "SRVON")


def test_a_latched_stop_hinders_starts_until_stopoff():  # M
    terminal = Cr1Terminal({"1": "10 DLY 9"}).ready()
    terminal.do("STOPON")
    assert terminal.status()[1] & 0x08
    assert terminal.ask("RUN1") == "QeR561000000"
    assert terminal.ask("STPSIG") == "QoK02;00"
    terminal.do("STOPOFF", "RUN1")


# Power.


def test_after_power_comes_back_programs_stay_and_all_else_is_forgotten():  # M
    terminal = Cr1Terminal(boot_s=2.0).ready()
    terminal.do("LOAD=A", "EDATA10 END", "SAVE", "OVRD=10", "EXECTOOL (0,0,50,0,0,0)")
    terminal.cr1.fail(2600, terminal.now_s)
    terminal.cr1.power_cycle(terminal.now_s)
    assert terminal.raw("1;1;OVRD\r", 1.0) == ""
    terminal.wait(1.5)
    assert terminal.status() == (0, 0x10, 0)
    assert terminal.ask("OVRD") == "QoK100"
    assert terminal.ask("FCHECKA") == "QoKN"
    assert terminal.ask("PPOSF").startswith("QoKX;160.00;Y;0.00;Z;428.00;")


def test_rstpwr_answers_and_starts_anew():
    terminal = Cr1Terminal(boot_s=1.0, series=Series.CR_750)
    terminal.do("CNTLON", "RSTPWR")
    terminal.wait(2.0)
    assert terminal.status()[0] == 0


def test_without_power_and_while_it_hangs_it_says_nothing():
    terminal = Cr1Terminal()
    terminal.cr1.hang(0.0)
    assert terminal.raw("1;1;OVRD\r") == ""
    terminal.cr1.hang(terminal.now_s, False)
    assert terminal.ask("OVRD") == "QoK100"
    terminal.cr1.power_off(terminal.now_s)
    assert terminal.raw("1;1;OVRD\r", 10.0) == ""


# Parameters, signals, clock.


def test_parameters_read_as_captured():  # C
    terminal = Cr1Terminal()
    assert terminal.ask("PNRRLNG") == "QoKRLNG;1;1"
    assert terminal.ask("PARMEXTL") == "QoKMEXTL;0.00, 0.00, 0.00, 0.00, 0.00, 0.00;6"
    assert terminal.ask("PARTASKMAX") == "QoKTASKMAX;8;1"
    assert terminal.ask("PARNONE") == "QeR708000000"
    assert terminal.ask("PRM=NONE;1") == "QeR708100000"
    assert terminal.ask("PRM=MEXTL;1,2") == "QeR708100000"


def test_hidden_parameters_show_behind_the_keyword():  # M
    terminal = Cr1Terminal()
    assert terminal.ask("PNRMEJAR") == "QeR708000000"
    assert terminal.ask("PARMEJAR").startswith("QoKMEJAR;-150.00, 150.00, -60.00, 120.00, ")
    terminal.do("KEYWDpMELFA")
    assert terminal.ask("PNRMEJAR").endswith(";16")


def test_the_tool_parameter_counts_from_the_next_power_up_on():  # M
    terminal = Cr1Terminal(boot_s=0.5)
    terminal.do("PRM=MEXTL;0, 0, 50, 0, 0, 0")
    assert "Z;478.00" in terminal.ask("PPOSF")
    terminal.cr1.power_cycle(terminal.now_s)
    terminal.wait(1.0)
    assert "Z;428.00" in terminal.ask("PPOSF")


def test_hands_are_pairs_of_outputs_open_at_power_up():  # M
    terminal = Cr1Terminal()
    assert terminal.ask("HNDSTS") == "QoK900;1;1;902;1;1;904;1;1;906;1;1;-1;-1;-1;-1;-1;-1;-1;-1;-1;-1;-1;-1"
    terminal.do("HNDOFF2")
    assert terminal.ask("HNDSTS").startswith("QoK900;1;1;902;2;1;")
    assert terminal.ask("OUT900") == "QoK0059"
    assert terminal.ask("HNDON9") == "QeR311000000"


def test_signals_are_words_of_sixteen_bits_in_hex():  # M
    terminal = Cr1Terminal()
    terminal.do("OUT=4;A5A5")
    assert terminal.ask("OUT4") == "QoKA5A5"
    assert terminal.ask("OUT8") == "QoK0A5A"
    assert terminal.ask("IOSIGNAL0;4") == "QoK0000A5A5"
    assert terminal.ask("OUT=500;0001") == "QeR660000000"


def test_the_clock_runs_and_can_be_set():
    terminal = Cr1Terminal()
    terminal.do("TIME=24-02-2823:59:58")
    assert terminal.ask("TIME").startswith("QoK24-02-2823:59:5")
    terminal.wait(2.0)
    assert terminal.ask("TIME").startswith("QoK24-02-2900:00:0")
    assert terminal.ask("TIME=later") == "QeR311000000"


def test_origin_monitor_and_areas():  # M formats
    terminal = Cr1Terminal()
    assert terminal.ask("CALIB") == "QoKN3737"
    assert terminal.ask("USERAREASTS") == "QoK00"
    assert terminal.ask("ATENA") == "QoK0"
    assert terminal.ask("EFREE") == "QoK90000;0;0"
