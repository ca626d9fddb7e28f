"""The emulated CR1's line: framing, end codes, requests, replies. Tags M, C, S, I, U as in docs/fake-cr1.md."""

from __future__ import annotations

import pytest
from cr1_terminal import Cr1Terminal
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import ConfigError
from sim.cr1 import Cr1, Cr1Settings, EndCode, Procedure
from sim.uart import EIGHT_E_TWO, EIGHT_N_ONE, FRAMINGS, Framing, Parity, mishear

BYTE_S = 12 / 9600


# Framing, speed, pacing.


def test_the_factory_line_is_9600_8e2_with_twelve_bit_times_a_byte():  # M
    cr1 = Cr1()
    assert (cr1.baud, cr1.framing.name, cr1.byte_s) == (9600, "8E2", BYTE_S)


@pytest.mark.parametrize("baud", [9600, 19200, 38400])  # S above 9600
def test_a_joint_reply_of_81_characters_takes_its_time_on_the_wire(baud):
    terminal = Cr1Terminal(baud=baud, answer_s=0.01)
    terminal.type("1;1;JPOSF\r")
    sent = terminal.cr1.transmit(10.0)
    assert len(sent) == 82
    assert sent[0][0] == pytest.approx(terminal.now_s + 0.01 + 12 / baud)
    assert sent[-1][0] == pytest.approx(terminal.now_s + 0.01 + 82 * 12 / baud)


def test_a_host_that_is_set_to_8n1_is_not_understood():  # M: a real CR1 at factory values does not understand 8N1
    terminal = Cr1Terminal()
    terminal.type("1;1;STATE\r", EIGHT_N_ONE)
    assert terminal.wait(1.0) == ""
    assert terminal.cr1.counts.broken > 0


def test_a_host_at_another_speed_is_not_understood():
    cr1 = Cr1()
    cr1.receive(b"1;1;STATE\r", 0.0, 12 / 19200, EIGHT_E_TWO)
    assert b"QoK" not in b"".join(data for _, data in cr1.transmit(1.0))


@given(data=st.binary(max_size=40), framing=st.sampled_from(list(FRAMINGS.values())))
@settings(max_examples=60)
def test_a_receiver_with_the_senders_framing_and_speed_hears_every_byte(data: bytes, framing: Framing):
    byte_s = framing.bits / 9600
    heard = mishear(data, 0.0, byte_s, byte_s, framing, framing)
    assert bytes(value for _, value, _ in heard) == data
    assert not any(wrong for *_, wrong in heard)


@given(value=st.integers(0, 255))
@settings(max_examples=40)
def test_the_other_parity_is_always_noticed(value: int):
    even, odd = Framing(Parity.EVEN, 2), Framing(Parity.ODD, 2)
    assert [wrong for *_, wrong in mishear(bytes((value,)), 0.0, BYTE_S, BYTE_S, odd, even)][:1] == [True]


# End codes.


def test_carriage_return_ends_request_and_reply():  # M: CTERM232 = 0
    assert Cr1Terminal().raw("1;1;OVRD\r") == "QoK100\r"


def test_a_line_feed_alone_ends_nothing():  # M, I
    assert Cr1Terminal().raw("1;1;OVRD\n") == ""


@pytest.mark.parametrize("end", ["\r\n", "\r\r\n", "\r\r", "\r\n\n"])
def test_other_habits_of_ending_a_request_get_one_answer(end):  # I
    terminal = Cr1Terminal()
    assert terminal.raw(f"1;1;OVRD{end}") == "QoK100\r"
    assert terminal.raw("1;1;OVRD\r") == "QoK100\r"


def test_with_cterm232_at_1_replies_end_with_both():  # M
    assert Cr1Terminal(end_code=EndCode.CR_LF).raw("1;1;OVRD\r\n") == "QoK100\r\n"


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n", ""])
@pytest.mark.parametrize("code", list(EndCode))
def test_a_network_face_takes_any_end_or_a_pause(end, code):  # S
    terminal = Cr1Terminal(any_end=True, end_code=code)
    assert terminal.raw(f"1;1;OVRD{end}") == f"QoK100{code.text}"


def test_on_a_network_face_only_a_pause_ends_a_request_without_end_code():
    terminal = Cr1Terminal(any_end=True, answer_s=0.0)
    terminal.type("1;1;OV")
    assert terminal.wait(0.04) == ""
    terminal.type("RD")
    assert terminal.wait(0.045) == ""
    assert terminal.wait(0.02) == "QoK100\r"


# Requests in their parts.


@pytest.mark.parametrize("head", ["1;1;", ";;", "1;;", ";1;", "0;0;", "1;9;"])  # M
def test_robot_and_slot_may_be_left_out_but_not_their_semicolons(head):
    assert Cr1Terminal().raw(f"{head}OVRD\r") == "QoK100\r"


@pytest.mark.parametrize("head", ["1;34;", "4;1;", "1;10;"])
def test_a_slot_or_robot_that_is_not_there_is_refused(head):  # U which error
    assert Cr1Terminal().raw(f"{head}OVRD\r") == "QeR311000000\r"


@pytest.mark.parametrize(
    "line", ["GC", "1;1;GC", "1;1;MJ 30,0,0,0,0,0", "1;1", "hello", "1;1;", "\x00\xff", "1;1;ovrd", "1;1;FOO", "D,1"]
)
def test_what_is_no_request_is_answered_with_6010_and_nine_digits(line):  # C for the two Movemaster lines
    terminal = Cr1Terminal()
    assert terminal.raw(f"{line}\r") == "QeR601000000\r"
    assert terminal.ask("ERROR") == "QoK"
    assert terminal.cr1.machine.alarms.standing is None


def test_four_digits_after_qer_are_a_choice():  # M writes four, C saw nine
    assert Cr1Terminal(error_digits=4).ask("GC") == "QeR6010"


def test_a_request_of_255_bytes_passes_and_a_longer_one_is_6080():  # M
    terminal = Cr1Terminal()
    text = "1;1;EXEC".ljust(255, "X")
    assert terminal.raw(f"{text}\r", 1.0) == "QeR602000000\r"
    assert terminal.raw(f"{text}X\r", 1.0) == "QeR608000000\r"
    assert terminal.raw("Y" * 5000 + "\r", 10.0) == "QeR608000000\r"
    assert terminal.ask("OVRD") == "QoK100"


def test_the_controller_never_speaks_first():  # M
    terminal = Cr1Terminal()
    terminal.ready()
    assert terminal.wait(100.0) == ""


# Several at a time.


def test_glued_requests_are_answered_one_after_another():
    terminal = Cr1Terminal()
    answers = terminal.raw("1;1;OVRD\r1;1;GC\r1;1;ERROR\r1;1;LINENO\r", 2.0)
    assert answers == "QoK100\rQeR601000000\rQoK\rQoK0\r"


def test_a_request_waits_until_the_answer_before_it_has_left():
    terminal = Cr1Terminal(answer_s=0.02)
    terminal.type("1;1;JPOSF\r1;1;OVRD\r")
    sent = terminal.cr1.transmit(10.0)
    assert sent[82][0] - sent[81][0] == pytest.approx(0.02 + BYTE_S)


def test_replies_that_nobody_reads_stay_in_order_in_front_of_later_ones():
    terminal = Cr1Terminal()
    for text in ("JPOSF", "PPOSF", "OVRD"):
        terminal.type(f"1;1;{text}\r")
        terminal.now_s += 0.5
    assert [line[:4] for line in terminal.wait(1.0).split("\r")] == ["QoKJ", "QoKX", "QoK1", ""]


def test_requests_beyond_the_buffer_are_lost_and_those_in_it_are_answered():
    terminal = Cr1Terminal()
    answers = terminal.raw("1;1;PPOSF\r" * 200, 60.0)
    assert 64 <= answers.count("\r") < 200
    assert terminal.ask("OVRD") == "QoK100"


@given(cuts=st.lists(st.floats(0.0, 0.3), max_size=12))
@settings(max_examples=30)
def test_it_makes_no_difference_how_a_request_is_cut_into_pieces(cuts: list[float]):
    terminal = Cr1Terminal()
    request = "1;1;OPEN=NARCUSR\r"
    found = ""
    for place, letter in enumerate(request):
        terminal.type(letter)
        found += terminal.wait(cuts[place % len(cuts)] if cuts else 0.0)
    assert (found + terminal.wait(1.0)).startswith("QoK1F;37;6,0;3,5,A,1E,32,46,64;MB4;PRM;RV-2AJ;")


# What the wire is set to.


def test_the_procedural_variant_is_refused_in_words():
    with pytest.raises(ConfigError, match="ENQ/ACK procedure of CPRC232=1 is not emulated"):
        Cr1(Cr1Settings(procedure=Procedure.PROCEDURAL))


def test_neither_it_nor_the_movemaster_language_can_be_set_as_a_parameter():
    assert Cr1Terminal().ask("PRM=CPRC232;1") == "QeR708100000"
    assert Cr1Terminal().ask("PRM=RLNG;0") == "QeR708100000"


def test_enquiries_of_the_procedural_variant_are_junk():
    assert Cr1Terminal().raw("\x05\r") == "QeR601000000\r"


def test_serial_parameters_count_from_the_next_power_up_on():  # M
    terminal = Cr1Terminal(boot_s=1.0)
    terminal.do("PRM=CBAU232;19200", "PRM=CTERM232;1")
    assert terminal.raw("1;1;OVRD\r") == "QoK100\r"
    terminal.cr1.power_cycle(terminal.now_s)
    terminal.wait(1.5)
    assert terminal.cr1.baud == 19200
    assert terminal.raw("1;1;OVRD\r") == "QoK100\r\n"


def test_everything_before_open_can_be_refused():  # M: 6010 is also "line not opened"
    terminal = Cr1Terminal(must_open=True)
    assert terminal.ask("OVRD") == "QeR601000000"
    terminal.do("OPEN=NARCUSR")
    assert terminal.ask("OVRD") == "QoK100"
    terminal.do("CLOSE")
    assert terminal.ask("OVRD") == "QeR601000000"


def test_requests_in_a_hurry_are_counted_while_a_program_runs():  # M: leave 100 ms
    terminal = Cr1Terminal({"LOOP": "10 GOTO 10"}).ready()
    terminal.do("RUNLOOP")
    assert terminal.cr1.counts.hurried == 0
    terminal.raw("1;1;OVRD\r", 0.06)
    terminal.raw("1;1;OVRD\r", 0.06)
    assert terminal.cr1.counts.hurried == 1
