"""What public programs for an SSC-32 do, in our own words: the fake has to answer each as the board would."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sim.ports import MemoryPort
from sim.ssc32 import BoardSettings, Firmware, Fractions, Ssc32Board


class Client:
    """A program that writes, sleeps, and reads once what is there by then; nothing is put together."""

    def __init__(self, board: Ssc32Board | None = None) -> None:
        self.board = board or Ssc32Board()
        self.port = MemoryPort(self.board, self.board.baud)
        self.now_s = 0.0

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s

    def write(self, text: str) -> None:
        self.port.write(text.encode("latin-1"), self.now_s)

    def read(self, after_s: float = 0.02) -> bytes:
        self.sleep(after_s)
        return self.port.read(self.now_s)

    def ask(self, text: str, after_s: float = 0.02) -> bytes:
        self.write(text)
        return self.read(after_s)

    def pulse(self, channel: int) -> float:
        self.board.advance(self.now_s)
        return self.board.pulse_us(channel)


def at_home(client: Client, **pulses_us: int) -> Client:
    """Its servos stand: c0=1500 for channel 0."""
    client.write("".join(f"#{name[1:]}P{pulse_us}" for name, pulse_us in pulses_us.items()) + "\r")
    client.sleep(0.05)
    return client


# -- one read per reply, 20 ms after the question -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("VER\r", b"SSC32-V2.03XE\r"),
        ("Q\r", b"."),
        ("QP0 QP1\r", b"\x96\x50"),
        ("A B C D\r", b"1111"),
        ("R1\r", b"600\r"),
    ],
)
def test_one_read_after_20_ms_brings_the_whole_reply(question: str, answer: bytes) -> None:
    client = at_home(Client(), c0=1500, c1=800)
    for _ in range(50):
        assert client.ask(question) == answer


def test_at_9600_baud_20_ms_are_too_short_for_a_version_and_the_rest_spoils_the_next_reply() -> None:
    client = Client(Ssc32Board(BoardSettings(firmware=Firmware.U)))
    first = client.ask("VER\r")
    assert b"SSC32-V2.50USB\r".startswith(first) and len(first) < 15
    assert client.ask("Q\r", 0.03) == b"SSC32-V2.50USB\r"[len(first) :] + b"."


def test_reading_letter_by_letter_to_the_end_of_the_line_never_reads_too_much() -> None:
    client = Client()
    client.write("VER\rQ\r")
    text = b""
    while not text.endswith(b"\r"):
        text += client.read(10 / 115200)
    assert text == b"SSC32-V2.03XE\r"
    assert client.read() == b"."


def test_polling_every_20_ms_is_busy_until_the_time_is_over_and_then_done_for_good() -> None:
    client = at_home(Client(), c0=1000)
    client.write("#0P2000T500\r")
    answers = [client.ask("Q\r") for _ in range(40)]
    assert answers == [b"+"] * answers.count(b"+") + [b"."] * answers.count(b".")
    assert 24 <= answers.count(b"+") <= 26


# -- how lines are written ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["#0P1600#1P900\r", "#0 P1600 #1 P900 \r", "#0p1600#1p900\r\n", "\n#0P1600\t#1P900\r", "#0P1600\n#1P900\r"],
    ids=repr,
)
def test_all_ways_to_write_a_group_do_the_same(line: str) -> None:
    client = at_home(Client(), c0=1500, c1=1500)
    client.write(line)
    client.sleep(0.05)
    assert (client.pulse(0), client.pulse(1)) == (1600.0, 900.0)


@pytest.mark.parametrize("line", ["#0P1600\n", "#0P1600", "#0P1600<CR>", "VER\n", "Q\n" * 20], ids=repr)
def test_without_a_cr_there_is_silence_and_nothing_moves(line: str) -> None:
    client = at_home(Client(), c0=1500)
    assert client.ask(line, 2.0) == b""
    assert client.pulse(0) == 1500.0


def test_ten_returns_at_the_beginning_are_nothing_or_the_end_of_what_another_program_left() -> None:
    client = Client()
    assert client.ask("\r" * 10) == b""
    client.write("#0P15")
    client.write("\r" * 10)
    client.sleep(0.05)
    assert client.pulse(0) == 500.0


@pytest.mark.parametrize(("fractions", "pulse_us"), [(Fractions.DROP_SERVO, 1500.0), (Fractions.DROP_SPEED, 1600.0)])
def test_three_decimals_move_nothing_or_at_full_speed(fractions: Fractions, pulse_us: float) -> None:
    client = at_home(Client(Ssc32Board(BoardSettings(fractions=fractions))), c0=1500, c1=1500)
    client.write("#0P1600.123S100.000\r#1P1600S1000\r")
    client.sleep(0.06)
    assert client.pulse(0) == pulse_us
    client.sleep(0.2)
    assert client.pulse(1) == 1600.0


# -- retries and restarts -----------------------------------------------------------------------------------------


def test_a_move_that_is_sent_again_until_it_is_done_goes_on_from_where_it_is_and_arrives() -> None:
    client = at_home(Client(), c0=1000)
    seen: list[float] = []
    for _ in range(200):
        client.write("#0P2000T400\r")
        client.sleep(0.02)
        seen.append(client.pulse(0))
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(2000.0, abs=20.0)
    client.sleep(0.5)
    assert client.pulse(0) == 2000.0


def test_a_question_that_is_sent_three_times_is_answered_three_times() -> None:
    assert Client().ask("VER\r" * 3) == b"SSC32-V2.03XE\r" * 3


@pytest.mark.parametrize("again", ["#0P2000T1000\r", "#0P2000S500\r"])
def test_a_restart_in_the_middle_of_a_move_is_silent_and_the_next_timed_move_is_a_jump(again: str) -> None:
    client = at_home(Client(), c0=1000)
    client.write("#0P2000T1000\r")
    client.sleep(0.5)
    assert 1400.0 < client.pulse(0) < 1600.0
    client.board.power_cycle(client.now_s)
    assert client.ask("Q\r", 0.05) == b""
    client.sleep(0.1)
    assert client.ask("Q\r") == b"."
    assert client.ask("QP0\r") == b"\x00"
    assert client.pulse(0) == 0.0
    client.write(again)
    client.sleep(0.04)
    assert client.pulse(0) == 2000.0


@pytest.mark.parametrize("junk", ["?" * 3, "3F;3F;1\r", "\x00", "ATZ\r", "1;1;OPEN=NARCUSR\r", "G28\r\n"], ids=repr)
def test_junk_of_other_programs_is_answered_by_nothing_and_moves_nothing(junk: str) -> None:
    client = at_home(Client(), c0=1500)
    assert client.ask(f"{junk}\r", 0.2) == b""
    assert client.ask("VER\r") == b"SSC32-V2.03XE\r"
    assert client.pulse(0) == 1500.0


@pytest.mark.parametrize("make", [lambda: Client(), lambda: Client(Ssc32Board(BoardSettings(firmware=Firmware.V1)))])
def test_p0_for_each_channel_at_the_start_lets_the_arm_go_limp(make: Callable[[], Client]) -> None:
    client = at_home(make(), c0=1500, c1=1500)
    client.write("#0P0\r#1P0\r")
    client.sleep(0.05)
    assert (client.pulse(0), client.pulse(1)) == (0.0, 0.0)
    assert client.ask("QP0QP1\r") == b"\x00\x00"
