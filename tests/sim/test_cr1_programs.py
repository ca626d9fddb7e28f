"""Programs in the emulated CR1: editing, files, running, variables, stepping, and the line that a program opens."""

from __future__ import annotations

from itertools import pairwise

import pytest
from cr1_terminal import Cr1Terminal

from hil.errors import ConfigError
from sim.cr1 import Cr1, Procedure, SlotState, Stop, programs

VT = "\x0b"

THERE_AND_BACK = """\
10 MOV J1
20 MOV J2
30 END
J1=(30,0,90,0,60,0)
J2=(0,0,90,0,60,0)
"""
FOLLOW = "10 MOV J1\n20 GOTO 10\nJ1=(0,0,90,0,60,0)\n"
LINK = """\
10 OPEN "COM1:" AS #1
20 INPUT #1,M1,M2
30 PRINT #1,M1+M2
40 GOTO 20
"""


def editing() -> Cr1Terminal:
    terminal = Cr1Terminal()
    terminal.do("LOAD=100")
    return terminal


# Editing.


def test_lines_are_added_replaced_listed_and_kept_by_save():  # M
    terminal = editing()
    terminal.do("EDATA20 MOV P2", "EDATA10 MOV P1", "EDATA30 M1=1", "EDATA20 MVS P2")
    assert terminal.ask("LISTLTOP") == f"QoK10 MOV P1{VT}20 MVS P2{VT}30 M1=1;3;0"
    assert terminal.ask("LISTITOP") == "QoK10 MOV P1"
    assert terminal.ask("LISTI+1") == "QoK20 MVS P2"
    assert terminal.ask("LISTIEND") == "QoK30 M1=1"
    assert terminal.ask("LISTI+1") == "QoK"
    assert terminal.ask("LISTI20") == "QoK20 MVS P2"
    assert terminal.ask("LISTI-1") == "QoK10 MOV P1"
    assert terminal.ask("LISTCNT10;20") == "QoK0002"
    assert terminal.ask("FCHECK100") == "QoKF"
    terminal.do("SAVE")
    assert terminal.ask("FCHECK100") == "QoKN"


def test_new_throws_the_edits_away_and_makes_no_file():  # M
    terminal = editing()
    terminal.do("EDATA10 MOV P1", "NEW")
    assert terminal.ask("FCHECK100") == "QoKF"
    assert terminal.ask("EDATA10 MOV P1") == "QeR603000000"


def test_several_items_at_once_and_which_of_them_is_wrong():  # M
    terminal = editing()
    terminal.do(f"EMDAT10 MOV P1{VT}20 MOV P2")
    answer = terminal.ask(f"EMDAT30 M1=1{VT}40 FOO BAR({VT}50 END")
    assert answer.startswith("Qer422000000;2;")
    assert terminal.ask("LISTCNT10;99") == "Qok0003"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("10 FOO BAR(", "Qer4220"),
        ("10 " + "M1=1+" * 30 + "1", "Qer4210"),
        ("32768 END", "Qer4420"),
        ("0 END", "Qer4420"),
        ("10 LONGNAMES=1", "Qer4300"),
        ("HELLO", "Qer4220"),
        ("P1=(1,2", "Qer4220"),
    ],
)
def test_a_refused_edit_names_error_and_column_in_lower_case_and_stands(line, answer):  # M
    terminal = editing()
    found = terminal.ask(f"EDATA{line}")
    assert found[:7] == answer
    assert int(found.split(";")[1]) >= 1
    assert terminal.ask("ERROR") == f"Qok{answer[3:]};2"
    assert terminal.ask("LISTITOP") == "Qok"


def test_positions_are_shown_with_sign_two_decimals_and_flags():  # M
    terminal = editing()
    terminal.do("EDATAP1=(400.13,0,644.62,180,0,180)(7,0)", "EDATAJ1=(0, 10, 20, 0, 30, 0,)", "EDATAP(2)=(1,2,3)(,)")
    assert terminal.ask("LISTPP1") == "QoKP1=(+400.13,+0.00,+644.62,+180.00,+0.00,+180.00)(7,0)"
    assert terminal.ask("LISTPTOP").startswith("QoKP1=")
    assert terminal.ask("LISTP+1") == "QoKJ1=(+0.00,+10.00,+20.00,+0.00,+30.00,+0.00)"
    assert terminal.ask("LISTP+1") == "QoKP(2)=(+1.00,+2.00,+3.00,+0.00,+0.00,+0.00)(,)"
    assert terminal.ask("LISTP+1") == "QoK"
    assert [terminal.ask(f"VTYPRD{name}") for name in ("M1", "C1$", "P1", "J1")] == ["QoKM", "QoKC", "QoKP", "QoKJ"]


def test_lines_are_deleted_searched_and_renumbered_with_their_jumps():  # M
    terminal = editing()
    for line in ("10 M1=1", "12 IF M1=1 THEN 15 ELSE 10", "15 GOSUB 20", "18 ON M1 GOTO 10,12,15", "20 RETURN"):
        terminal.do(f"EDATA{line}")
    assert terminal.ask("ESEARCHGOSUB") == "QoK15 GOSUB 20;4"
    terminal.do("RENUM0;0;0;0")
    assert terminal.ask("LISTLTOP", wait_s=2) == (
        f"QoK10 M1=1{VT}20 IF M1=1 THEN 30 ELSE 10{VT}30 GOSUB 50{VT}40 ON M1 GOTO 10,20,30{VT}50 RETURN;5;0"
    )
    terminal.do("DELETE20;40")
    assert terminal.ask("LISTLTOP") == f"QoK10 M1=1{VT}50 RETURN;2;0"
    assert terminal.ask("DELETE20;40") == "QeR423000000"
    terminal.do("ECLR")
    assert terminal.ask("LISTLTOP") == "QoK"


def test_a_long_listing_comes_in_pages_that_say_whether_more_follows():  # M
    terminal = editing()
    for number in range(1, 41):
        terminal.do(f"EDATA{number} M1={number}")
    found, answer = [], terminal.ask("LISTLTOP", wait_s=2)
    for _ in range(10):
        lines, count, more = answer[3:].rsplit(";", 2)
        found += lines.split(VT)
        assert int(count) == len(lines.split(VT))
        if more == "0":
            break
        answer = terminal.ask("LISTL+1", wait_s=2)
    assert found == [f"{number} M1={number}" for number in range(1, 41)]


def test_a_program_that_runs_cannot_be_edited_nor_one_that_is_edited_run():  # M 4180, 4170
    terminal = Cr1Terminal({"LOOP": "10 GOTO 10", "A": "10 END"}).ready()
    terminal.do("RUNLOOP")
    assert terminal.ask("LOAD=LOOP") == "QeR418000000"
    terminal.do("LOAD=A")
    assert terminal.ask("RUNA", slot="2") == "QeR417000000"
    assert terminal.ask("FDELA") == "QeR417000000"
    assert terminal.ask("FDELLOOP") == "QeR418000000"


# Files.


def test_the_directory_has_thirteen_fields_at_the_top_and_eleven_below():  # M
    terminal = Cr1Terminal({"100": THERE_AND_BACK, "200": "10 END"})
    top, second = terminal.ask("PDIRTOP")[3:].split(";"), terminal.ask("PDIR2")[3:].split(";")
    assert (top[0], top[3], top[7], top[8], len(top)) == ("100.MB4", "2", "3", "2", 13)
    assert (second[0], second[5], second[6], len(second)) == ("200.MB4", "1", "0", 11)
    assert terminal.ask("PDIR3") == "QoK"
    assert len(terminal.ask("FDIRTOP").split(";")) == 6
    assert len(terminal.ask("FDIR<*.*").split(";")) == 6
    assert terminal.ask("FDIR2").startswith("QoK200.MB4;")


def test_files_are_copied_renamed_protected_and_deleted():  # M
    terminal = Cr1Terminal({"A": "10 END"})
    terminal.do("FCOPYA;B", "FRENAMEB;C", "FATTRIBC;+p")
    assert terminal.ask("FDELC") == "QeR320000000"
    terminal.do("FATTRIBC;-p", "FDELC")
    assert terminal.ask("FDELC") == "QeR414000000"
    assert terminal.ask("FCOPYA;THIRTEENCHARS") == "QeR412000000"
    assert terminal.ask("FCOPYA;B*") == "QeR413000000"
    terminal.do("FINIT")
    assert terminal.ask("PDIRTOP") == "QoK"


def test_a_file_is_read_in_hex_and_written_back():  # M; the head C
    terminal = Cr1Terminal({"A": THERE_AND_BACK * 1 + "40 REM " + "x" * 60})
    terminal.do("FOPENA;r")
    text, more = "", "1"
    while more == "1":
        block, more = terminal.ask("FREAD", wait_s=2)[3:].split(";")
        text += block
    terminal.do("FCLOSE")
    assert text.startswith("524F42505247")
    terminal.do("FOPENB;w")
    for start in range(0, len(text), 200):
        part = text[start : start + 200]
        assert terminal.ask(f"FWRITE{len(part) // 2};{part}") == "QoK"
    terminal.do("FCLOSE")
    assert terminal.cr1.machine.store.find("B").text == terminal.cr1.machine.store.find("A").text
    assert terminal.ask("FREAD") == "QeR314000000"


def test_the_memory_is_finite():  # M L4110
    terminal = Cr1Terminal(memory_bytes=700)
    terminal.do("LOAD=A")
    for number in range(10, 90, 10):
        terminal.do(f"EDATA{number} REM {'x' * 90}")
    assert terminal.ask("SAVE") == "QeR411000000"
    terminal.do("NEW")
    assert terminal.ask("EFREE") == "QoK700;0;0"


def test_a_program_that_cannot_be_kept_is_refused_when_the_fake_is_made():
    with pytest.raises(ConfigError, match="4130"):
        Cr1(programs={"a*b": "10 END"})
    with pytest.raises(ConfigError, match="4220"):
        Cr1(programs={"A": "no line"})


# Running.


def test_one_cycle_moves_there_and_back_and_ends():  # M
    terminal = Cr1Terminal({"100": THERE_AND_BACK}).ready()
    terminal.do("OVRD=20", "RUN100;1")
    assert terminal.ask("PRGRD") == "QoK100.MB4"
    assert terminal.status()[:2] == (0xE0, 0x00)
    terminal.settle()
    assert terminal.joints() == (0, 0, 90, 60, 0)
    assert max(joints[0] for _, joints in terminal.trace) == pytest.approx(30)
    assert terminal.status()[:2] == (0xA0, 0x10)
    fields = terminal.ask("PDIRTOP")[3:].split(";")
    assert fields[-1] == "1"
    assert int(fields[-3]) == pytest.approx(terminal.trace[-1][0] * 1000 - terminal.trace[0][0] * 1000, rel=0.1)


def test_repeat_mode_begins_again_until_a_cycle_stop():  # M
    terminal = Cr1Terminal({"100": THERE_AND_BACK}).ready()
    terminal.do("RUN100")
    terminal.wait(8)
    assert terminal.status()[0] & 1
    terminal.ask("CSTOP", wait_s=0.05)
    assert terminal.status()[0] & 2
    terminal.settle()
    assert terminal.joints() == (0, 0, 90, 60, 0)
    assert int(terminal.ask("PDIRTOP").split(";")[-1]) >= 3


def test_stop_pauses_and_run_goes_on_to_the_very_end_of_the_move():  # M
    terminal = Cr1Terminal({"100": THERE_AND_BACK}).ready()
    terminal.do("OVRD=20", "RUN100;1", "STOP")
    terminal.wait(1)
    paused = terminal.joints()
    assert 0 < paused[0] < 30
    assert terminal.ask("DSTATE") == "QoKA0060;1;1"
    terminal.wait(5)
    assert terminal.joints() == paused
    terminal.do("RUN")
    terminal.settle()
    assert max(joints[0] for _, joints in terminal.trace) == pytest.approx(30)


def test_after_a_jog_in_a_pause_it_first_goes_back_to_where_it_stopped():  # M RETPATH = 1
    terminal = Cr1Terminal({"100": THERE_AND_BACK}).ready()
    terminal.do("OVRD=20", "RUN100;1", "STOP")
    terminal.wait(1)
    paused = terminal.joints()
    for _ in range(5):
        terminal.ask("JOG00;00;00;20;00", wait_s=0.05)
    terminal.wait(1)
    assert terminal.joints()[4] > 0.5
    terminal.trace.clear()
    terminal.do("RUN")
    terminal.settle()
    assert min(abs(joints[4]) + abs(joints[0] - paused[0]) for _, joints in terminal.trace) < 1e-2
    assert terminal.joints() == (0, 0, 90, 60, 0)


def test_slotinit_cancels_the_pause_and_goes_to_the_top():  # M
    terminal = Cr1Terminal({"100": THERE_AND_BACK, "200": "10 END"}).ready()
    terminal.do("OVRD=20", "RUN100;1", "STOP")
    terminal.wait(1)
    assert terminal.ask("RUN200;1") == "QeR511000000"
    terminal.do("SLOTINIT")
    assert terminal.ask("LINENO") == "QoK10"
    terminal.do("RUN200;1")


def test_a_missing_program_is_4140_and_none_selected_is_5100():  # M
    terminal = Cr1Terminal().ready()
    assert terminal.ask("RUN100") == "QeR414000000"
    assert terminal.ask("RUN") == "QeR510000000"


def test_an_error_in_a_program_stops_it_at_its_line_until_it_is_reset():  # M, I
    terminal = Cr1Terminal({"100": "10 M1=1\n20 MOV PNOT\n30 M1=2\nJ1=(0,0,0,0,0,0)"}).ready()
    terminal.do("RUN100;1")
    terminal.wait(0.5)
    assert terminal.ask("ERROR") == "Qok3700;2"
    assert terminal.ask("STATE").split(";")[:2] == ["Qok100.MB4", "20"]
    assert terminal.ask("ERRORLOGTOP").split(";")[5:7] == ["100", "20"]
    assert terminal.ask("RUN") == "Qer560000000"
    terminal.do("RSTALRM", "RUN")
    assert terminal.ask("ERROR") == "Qok3700;2"
    terminal.do("RSTALRM", "SLOTINIT")
    assert terminal.ask("LINENO") == "QoK10"


def test_a_users_high_error_switches_the_servo_off():  # M
    terminal = Cr1Terminal({"100": "10 ERROR 9001"}).ready()
    terminal.do("RUN100;1")
    terminal.wait(0.5)
    assert terminal.ask("ERROR") == "Qok9001;1"
    assert not terminal.status()[0] & 0x20


def test_after_an_emergency_stop_a_program_goes_on_without_a_jump():
    terminal = Cr1Terminal({"100": THERE_AND_BACK}).ready()
    terminal.do("OVRD=20", "RUN100;1")
    terminal.cr1.press(Stop.PANEL, terminal.now_s)
    held = terminal.joints()
    terminal.wait(1)
    assert terminal.joints() == held
    terminal.cr1.press(Stop.PANEL, terminal.now_s, False)
    terminal.do("RSTALRM", "SRVON")
    terminal.wait(1)
    terminal.trace.clear()
    terminal.do("RUN")
    terminal.settle()
    steps = [abs(b[1][0] - a[1][0]) for a, b in pairwise(terminal.trace)]
    assert max(steps) < 0.5
    assert terminal.joints() == (0, 0, 90, 60, 0)


def test_a_program_moves_the_hands_and_waits_for_inputs():
    text = "10 HCLOSE 1\n20 WAIT M_IN(3)=1\n30 M_OUT(5)=1\n40 END"
    terminal = Cr1Terminal({"100": text}).ready()
    terminal.do("INDMY", "RUN100;1")
    terminal.wait(1)
    assert terminal.ask("HNDSTS").startswith("QoK900;2;1;")
    assert terminal.ask("OUT5") == "QoK0000"
    terminal.do("IN=0;0008")
    assert terminal.ask("OUT5") == "QoK0001"


def test_programs_call_others_and_run_in_several_slots():  # M
    terminal = Cr1Terminal({"A": '10 CALLP "B"\n20 M_OUT(1)=1', "B": "10 M_OUT(2)=1", "C": "10 M_OUT(3)=1"}).ready()
    terminal.do("RUNA;1")
    assert terminal.ask("RUNC;1", slot="2") == "QoK"
    assert terminal.ask("OUT0") == "QoK000E"


def test_a_program_without_end_of_its_loop_leaves_the_controller_alive():
    terminal = Cr1Terminal({"100": "10 GOTO 10"}).ready()
    terminal.do("RUN100")
    terminal.wait(5)
    assert terminal.ask("OVRD") == "QoK100"
    assert terminal.ask("RUN100") == "QeR564000000"
    assert terminal.ask("SLOTINIT") == "QeR564000000"
    terminal.do("STOP", "SLOTINIT")


def test_programs_are_selected_by_name_and_by_neighbour():  # M
    terminal = Cr1Terminal({"A": "10 END", "B": "10 M1=1\n20 END"}).ready()
    terminal.do("PRGLOAD=B", "LINENO=20")
    assert terminal.ask("LINENO") == "QoK20"
    assert terminal.ask("LINERD") == "QoK20 END"
    assert terminal.ask("LINESRD0;1;1") == f"QoK0;2;10 M1=1{VT}20 END;0020"
    assert terminal.ask("LINENO=30") == "QeR423000000"
    terminal.do("SLOTINIT", "PRGUP")
    assert terminal.ask("PRGRD") == "QoKA.MB4"
    terminal.do("PRGDOWN")
    assert terminal.ask("PRGRD") == "QoKB.MB4"
    assert terminal.ask("SLOTRD") == "QoKB.MB4;REP;START;1"


# Variables, also while it runs.


def test_hot_steers_a_running_loop():  # M for numbers, S for joints
    terminal = Cr1Terminal({"FOLLOW": FOLLOW}).ready()
    terminal.do("RUNFOLLOW")
    terminal.wait(1)
    terminal.do("HOTFOLLOW;J1=(20,0,90,0,60,0,)")
    terminal.wait(2)
    assert terminal.joints() == (20, 0, 90, 60, 0)
    assert terminal.ask("VALJ1;J") == "QoKJ1=(+20.00,+0.00,+90.00,+0.00,+60.00,+0.00)"
    assert terminal.ask("HOTNONE;J1=(0)") == "QeR414000000"
    assert terminal.ask("HOTFOLLOW;J1=") == "QeR422000000"
    assert terminal.ask("HOTFOLLOW") == "QeR312000000"


def test_hot_into_a_program_that_is_not_loaded_is_its_start_value():
    terminal = Cr1Terminal({"FOLLOW": FOLLOW}).ready()
    terminal.do("HOTFOLLOW;J1=(10,0,90,0,60,0)", "RUNFOLLOW")
    terminal.wait(2)
    assert terminal.joints()[0] == 10


def test_variables_are_read_by_name_and_one_after_another():  # M
    terminal = Cr1Terminal({"A": '10 M1=3\n20 M2=-2.5\n30 C1$="HI"\n40 M_01=7\n50 DLY 99'}).ready()
    terminal.do("RUNA;1")
    assert terminal.ask("VALM1;M") == "QoKM1=+3"
    assert terminal.ask("VALM2;M") == "QoKM2=-2.5"
    assert terminal.ask("VALC1$;C") == 'QoKC1$="HI"'
    assert terminal.ask("VAL<;M") == "QoKM1=+3"
    assert terminal.ask("VAL+1;M") == "QoKM2=-2.5"
    assert terminal.ask("VAL+1;M") == "QoK"
    assert terminal.ask("VALS<;M") == f"QoKM1=+3{VT}M2=-2.5;2;0"
    assert terminal.ask("GVALM_01;M") == "QoKM_01=+7"
    assert terminal.ask("VALM9;M") == "QeR434000000"


def test_single_statements_see_the_variables_of_the_program_in_their_slot():
    terminal = Cr1Terminal({"A": "10 J1=(5,0,90,0,60,0)\n20 HLT"}).ready()
    terminal.do("RUNA;1")
    terminal.wait(0.5)
    assert terminal.ask("DSTATE") == "QoKA0060;1;1"
    terminal.do("EXECMOV J1")
    terminal.settle()
    assert terminal.joints()[0] == 5


# Stepping in the edit slot.


def test_step_does_one_line_and_its_move():  # M
    terminal = Cr1Terminal({"A": THERE_AND_BACK}).ready()
    terminal.do("LOAD=A", "STEP1")
    terminal.settle()
    assert terminal.joints()[0] == 30
    terminal.do("STEP1")
    terminal.settle()
    assert terminal.joints()[0] == 0
    terminal.do("STEPB", "STEPR")
    terminal.settle()
    assert terminal.cr1.machine.slots[9].state is SlotState.IDLE


# The line that a program opens.


def test_prn_feeds_input_and_print_answers_unasked():  # M
    terminal = Cr1Terminal({"LINK": LINK}).ready()
    terminal.do("RUNLINK")
    assert terminal.raw("PRN 1,2\r") == "3\r"
    assert terminal.raw("PRN1.5,2\rPRN 3,4\r") == "3.5\r7\r"
    assert terminal.ask("OVRD") == "QoK100"


def test_prn_before_the_program_has_opened_the_line_is_6500():  # M
    assert Cr1Terminal().raw("PRN 1,2\r") == "QeR650000000\r"


def test_data_of_another_type_are_3500():  # M
    terminal = Cr1Terminal({"LINK": LINK}).ready()
    terminal.do("RUNLINK")
    assert terminal.raw("PRN one,two\r") == ""
    assert terminal.ask("ERROR") == "Qok3500;2"


def test_on_a_data_link_every_line_goes_to_the_program():  # M
    terminal = Cr1Terminal({"LINK": LINK}, procedure=Procedure.DATA_LINK)
    assert terminal.raw("1;1;OVRD\r") == "QeR601000000\r"
    cr1 = terminal.cr1
    cr1.machine.servo.come_on()
    programs.start(cr1.machine, cr1.machine.slot(1), "LINK", None)
    terminal.wait(0.1)
    assert terminal.raw("1,2\r") == "3\r"


def test_the_end_of_the_program_closes_its_line():  # M
    terminal = Cr1Terminal({"LINK": LINK}).ready()
    terminal.do("RUNLINK", "STOP", "SLOTINIT")
    assert terminal.raw("PRN 1,2\r") == "QeR650000000\r"


def test_a_printed_text_waits_for_the_answer_before_it_and_takes_its_time():  # I
    terminal = Cr1Terminal({"SAY": '10 OPEN "COM1:" AS #1\n20 PRINT #1,"HELLO"\n30 DLY 9'}).ready()
    terminal.type("1;1;RUNSAY\r")
    sent = terminal.cr1.transmit(terminal.now_s + 1)
    assert b"".join(data for _, data in sent) == b"QoK\rHELLO\r"
    assert all(b[0] - a[0] >= 12 / 9600 - 1e-9 for a, b in pairwise(sent))


# START at the panel.


def test_a_program_that_is_started_at_the_panel_reads_the_data_link_from_the_first_line_on():  # M
    terminal = Cr1Terminal({"LINK": LINK}, procedure=Procedure.DATA_LINK)
    terminal.cr1.press_start("link", 0.0)
    terminal.wait(0.1)
    assert terminal.raw("1,2\r3,4\r") == "3\r7\r"


@pytest.mark.parametrize(("name", "number"), [("NONE", 4140), ("TORN", 4220)])
def test_start_at_the_panel_says_which_programs_there_are(name: str, number: int):
    cr1 = Cr1Terminal({"LINK": LINK, "TORN": "10 MOV"}).cr1
    with pytest.raises(ConfigError, match=rf"memory: LINK, TORN.*{number}"):
        cr1.press_start(name, 0.0)
