"""What public programs for a CR1 do, in our own words: the fake has to answer each as the controller would."""

from __future__ import annotations

import pytest
from cr1_terminal import Cr1Terminal

from sim.cr1 import EndCode

OPENING = (
    "OPEN=NARCUSR",
    "PARRLNG",
    "PDIRTOP",
    "PPOSF",
    "PARMEXTL",
    "KEYWDptest",
    "SRVON",
    "RSTALRM",
    "STATE",
    "CNTLON",
)
"""As the maker's own program opens a line, in the order in which many others repeat it."""
ECHOED_ANSWERS = (
    "3F;3F;7,0;3,5,A,1E,32,46,64;MB4;PRM;RV-3SB;CRn-5xx;MELFA;05-07-14;Ver.K4a;ENG;;1;1;8;",
    "RLNG;1;1",
    "1.MB4;4767;24-02-2821:05:14;2;220160;12;;9;82;135256;6848;9661;14",
    "X;176.01;Y;33.14;Z;541.62;A;-0.01;B;92.71;C;0.00;;6,0;100;0.00;00000000",
)
"""A program that sends what it should have read, as one does that was made from a listing of the line."""


def replies(t: Cr1Terminal, text: str, wait_s: float = 5.0) -> list[str]:
    """What comes to a burst, answer by answer."""
    found = t.raw(text, wait_s)
    assert found == "" or found.endswith("\r")
    return found.split("\r")[:-1]


# -- bursts and reads ----------------------------------------------------------------------------------------------


def test_ten_requests_in_one_burst_are_answered_one_by_one_in_their_order() -> None:
    t = Cr1Terminal()
    found = replies(t, "".join(f"1;1;{request}\r" for request in OPENING))
    assert len(found) == len(OPENING)
    assert found[0].startswith("QoK1F;37;6,0")
    assert found[1].startswith("QoKRLNG;1")
    assert found[3].startswith("QoKX;")
    assert found[6].startswith("QeR6020"), "the right comes last in this order"
    assert found[9] == "QoK"


def test_a_read_every_20_ms_brings_pieces_and_together_they_are_one_reply() -> None:
    t = Cr1Terminal()
    whole = t.raw("1;1;JPOSF\r")
    t.type("1;1;JPOSF\r")
    pieces = [t.wait(0.02) for _ in range(30)]
    assert "".join(pieces) == whole
    assert len([piece for piece in pieces if piece]) >= 5
    assert max(map(len, pieces)) <= 17, "20 ms are 16 bytes at 9600 8E2"


def test_one_read_after_20_ms_is_a_part_and_the_rest_stands_before_the_next_reply() -> None:
    t = Cr1Terminal()
    t.type("1;1;JPOSF\r")
    first = t.wait(0.02)
    assert "QoKJ1;0.00".startswith(first) and len(first) < 10
    t.wait(0.05)
    assert not t.raw("1;1;OVRD\r").startswith("QoK100\r")


def test_reading_to_a_line_feed_never_ends_with_cr_and_does_with_both() -> None:
    assert "\n" not in Cr1Terminal().raw("1;1;STATE\r")
    t = Cr1Terminal(end_code=EndCode.CR_LF)
    assert t.raw("1;1;OVRD\r") == "QoK100\r\n"


# -- how requests end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\r", "\r\n", "\r\r\n"], ids=repr)
def test_one_request_has_one_answer_whatever_stands_around_its_cr(end: str) -> None:
    t = Cr1Terminal()
    assert replies(t, f"1;1;OVRD{end}1;1;OVRD{end}") == ["QoK100", "QoK100"]


def test_requests_without_any_end_are_met_by_silence() -> None:
    t = Cr1Terminal()
    assert t.raw("".join(f"1;1;{request}" for request in OPENING), 3.0) == ""


# -- junk, and answers sent back -----------------------------------------------------------------------------------


def test_answers_that_are_sent_back_as_requests_are_refused_and_the_next_request_is_answered() -> None:
    t = Cr1Terminal()
    found = replies(t, "".join(f"{text}\r" for text in ECHOED_ANSWERS))
    assert len(found) == len(ECHOED_ANSWERS)
    assert all(answer.startswith("QeR") for answer in found), found
    assert t.ask("OVRD") == "QoK100"
    assert not t.trace


@pytest.mark.parametrize("axes", ["3F;3F", "FF;FF"])
def test_a_controller_that_says_so_opens_with_the_masks_of_six_axes(axes: str) -> None:
    assert Cr1Terminal(axes=axes).ask("OPEN=NARCUSR").startswith(f"QoK{axes};")


@pytest.mark.parametrize("word", ["GC", "MJ 30,0,0,0,0,0", "WH", "NT"])
def test_movemaster_words_behind_the_prefix_are_6010(word: str) -> None:
    t = Cr1Terminal().ready()
    assert t.ask(word).startswith("QeR6010")
    assert not t.trace


# -- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "(10.000,21.194,72.779,0.000,86.026,0.000)",
        "(10.0, 21.194, 72.779, 0.0, 86.026, 0.0)",
        "(10,21.194,72.779,0,86.026,0,)",
        "(+10.000,+21.194,+72.779,+0.000,+86.026,+0.000)",
    ],
)
def test_three_decimals_blanks_signs_and_a_last_comma_are_taken_alike(target: str) -> None:
    t = Cr1Terminal({"HOT": "10 MOV J1\n20 GOTO 10\nJ1=(0,0,90,0,90,0)"}).ready()
    t.do("RUNHOT;0", f"HOTHOT;J1={target}")
    t.wait(4.0)
    assert t.joints()[0] == 10.0
    assert t.joints()[1] == pytest.approx(21.194, abs=1e-6)


def test_a_pose_with_three_decimals_is_gone_to() -> None:
    t = Cr1Terminal().ready()
    t.do("EXECMOV (250.000,0.000,450.000,0.000,180.000,0.000)(6,0)")
    t.settle()
    assert t.ask("JPOSF").startswith("QoKJ1;0.00;J2;21.19;J3;72.78;J4;****;J5;86.03;")


# -- retries, and resets in the middle of a move -------------------------------------------------------------------


def test_a_second_move_is_refused_until_the_first_is_over_and_a_retry_gets_through() -> None:
    t = Cr1Terminal().ready()
    t.do("OVRD=8", "EXECJA=(30,0,90,0,90,0)", "EXECJB=(0,0,90,0,90,0)", "EXECMOV JA")
    tries = 0
    while (answer := t.ask("EXECMOV JB", wait_s=0.2))[:3].upper() != "QOK":
        assert answer[:7].upper() == "QER5640"
        tries += 1
        assert tries < 100
    assert tries > 3
    assert max(joints[0] for _, joints in t.trace) == pytest.approx(30.0)
    t.settle()
    assert t.joints()[0] == 0.0


@pytest.mark.parametrize("reset", ["STOP", "SRVOFF"])
def test_a_reset_in_the_middle_of_a_move_stops_it_and_the_next_begins_where_it_stands(reset: str) -> None:
    t = Cr1Terminal().ready()
    t.do("OVRD=20", "EXECJA=(60,0,90,0,90,0)", "EXECMOV JA")
    t.wait(0.5)
    t.do(reset)
    t.settle()
    stood = t.joints()[0]
    assert 0.0 < stood < 60.0
    t.do("RSTALRM", "SLOTINIT", "SRVON")
    t.wait(1.0)
    assert t.joints()[0] == stood
    t.do("EXECMOV JA")
    t.settle()
    assert t.joints()[0] == 60.0


def test_a_power_cycle_in_the_middle_of_a_move_forgets_the_right_the_servos_and_the_move() -> None:
    t = Cr1Terminal().ready()
    t.do("OVRD=20", "EXECJA=(60,0,90,0,90,0)", "EXECMOV JA")
    t.wait(0.5)
    t.cr1.power_cycle(t.now_s)
    assert t.raw("1;1;STATE\r") == ""
    t.wait(4.0)
    stood = t.joints()
    assert t.ask("EXECMOV JA").startswith("QeR6020")
    t.wait(2.0)
    assert t.joints() == stood


def test_a_program_that_is_not_there_is_4140_by_its_name() -> None:
    t = Cr1Terminal().ready()
    t.do("OPEN=NARCUSR", "CNTLON", "RSTPRG")
    assert t.ask("PRGLOAD=COSIROP").startswith("QeR4140")
    t.do("LOAD=COSIROP", "SAVE", "PRGLOAD=COSIROP", "OVRD=3")
