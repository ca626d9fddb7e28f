"""What a board says of itself: read at every connection, believed when said twice alike, and the same each time."""

from __future__ import annotations

import contextlib
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ssc32_script import TICK_S, Bench, BoardPort

from drivers._ssc32_channels import Ssc32Channels
from drivers._ssc32_identity import INSISTS, PATIENCE_S, SILENCES, name_of
from hil.errors import ControllerError, LinkTimeout
from hil.types import ControllerIdentity, LinkPhase

USB = b"SSC32-V2.50USB\r"
V1 = b"SSC32-1.06XE\r"
CHANNELS = (0, 2, 4)
REGISTERS = (0, *(32 + channel for channel in CHANNELS), *(64 + channel for channel in CHANNELS))
STORED = {0: 4, 4: 11520, 32: -12, 34: 7, 64: 1500, 66: 1400, 68: 65535}


def facts(bench: Bench) -> dict[str, str]:
    """What the connected driver says of its board."""
    controller = bench.driver.read(bench.now_s).controller
    assert controller is not None
    return dict(controller.facts)


def exchange(bench: Bench, **board: object) -> BoardPort:
    """Pull the plug, and put it into another board."""
    bench.driver.close()
    bench.port = BoardPort(**board)  # type: ignore[arg-type]
    return bench.port


def refused(bench: Bench) -> str:
    """The words with which a connection is refused; nothing that moves may have left, and nothing more may."""
    bench.driver.open(bench.now_s)
    with pytest.raises(ControllerError) as caught:
        bench.tick(200)
    assert b"#" not in bench.port.bytes_sent
    sent = len(bench.port.sent)
    assert bench.tick(20).phase is LinkPhase.CLOSED
    assert len(bench.port.sent) == sent and bench.port.closed
    return str(caught.value)


# -- what is read --------------------------------------------------------------------------------------------


def test_all_that_decides_where_the_rigs_servos_stand_is_read():
    bench = Bench(BoardPort(USB, registers=STORED, startup=b"VER;"))
    assert bench.driver.read(0.0).controller is None
    bench.connect()
    assert facts(bench) == {
        "what it calls itself": "SSC32-V2.50USB",
        "enable bits (R0)": "4",
        "startup string (SS)": "VER;",
        "baud rate / 10 (R4)": "11520",
        "pulse offset of channel 0 in us (R32)": "-12",
        "pulse offset of channel 2 in us (R34)": "7",
        "pulse offset of channel 4 in us (R36)": "0",
        "pulse offset of channel 31 in us (R63)": "0",
        "start-up pulse of channel 0 in us (R64)": "1500",
        "start-up pulse of channel 2 in us (R66)": "1400",
        "start-up pulse of channel 4 in us (R68)": "65535",
        "start-up pulse of channel 31 in us (R95)": "0",
    }


def test_a_board_with_jumpers_has_no_register_for_its_speed():
    bench = Bench(BoardPort(registers=STORED))
    bench.connect()
    assert "baud rate / 10 (R4)" not in facts(bench)
    assert b"R4" not in bench.port.lines


def test_firmware_1_has_its_version_and_nothing_else():
    bench = Bench(BoardPort(V1))
    bench.connect()
    assert facts(bench) == {"what it calls itself": "SSC32-1.06XE"}


def test_no_burst_is_more_than_half_of_the_boards_buffer_however_many_channels_there_are():
    bench = Bench(BoardPort(USB))
    bench.driver = Ssc32Channels(bench.settings, range(32), lambda: bench.port)
    bench.connect()
    bursts = [data for _, _, data in bench.port.sent if b"R" in data and b"VER" not in data[:4]]
    assert max(map(len, bursts)) <= 64
    assert len(facts(bench)) == 4 + 2 * 32


def test_whom_it_knows_it_asks_once_and_a_stranger_twice():
    stranger = Bench(BoardPort(USB, registers=STORED))
    stranger.connect()
    known = Bench(BoardPort(USB, registers=STORED))
    known.driver.expect(stranger.driver.read(stranger.now_s).controller, "")
    known.connect()
    assert [bench.port.lines.count(b"R32") for bench in (stranger, known)] == [2, 1]
    assert known.now_s < stranger.now_s


# -- who is refused ------------------------------------------------------------------------------------------


def test_the_same_board_is_welcome_as_often_as_it_comes():
    bench = Bench(BoardPort(USB, registers=STORED, startup=b"VER;"))
    bench.connect()
    for _ in range(3):
        exchange(bench, version=USB, registers=STORED, startup=b"VER;")
        assert bench.connect().phase is LinkPhase.READY


def test_another_version_is_refused_with_what_was_and_what_is():
    bench = Bench(BoardPort(USB))
    bench.connect()
    exchange(bench, version=b"SSC32-V2.04GP \r")
    words = refused(bench)
    assert "what it calls itself was 'SSC32-V2.50USB', is 'SSC32-V2.04GP'" in words
    assert "Connect the one that was there before" in words


@pytest.mark.parametrize(
    ("board", "words"),
    [
        ({"registers": {**STORED, 0: 6}}, "enable bits (R0) was '4', is '6'"),
        ({"registers": {**STORED, 4: 960}}, "baud rate / 10 (R4) was '11520', is '960'"),
        ({"registers": {**STORED, 32: 12}}, "pulse offset of channel 0 in us (R32) was '-12', is '12'"),
        ({"registers": {**STORED, 68: 0}}, "start-up pulse of channel 4 in us (R68) was '65535', is '0'"),
        ({"registers": STORED, "startup": b"#0P1500;"}, "startup string (SS) was '', is '#0P1500;'"),
    ],
)
def test_each_register_counts(board, words):
    bench = Bench(BoardPort(USB, registers=STORED))
    bench.connect()
    exchange(bench, version=USB, **board)
    assert words in refused(bench)
    exchange(bench, version=USB, registers=STORED)
    assert bench.connect().phase is LinkPhase.READY


@given(
    before=st.dictionaries(st.sampled_from(REGISTERS), st.integers(1, 99)),
    now=st.dictionaries(st.sampled_from((*REGISTERS, 33, 67, 95)), st.integers(1, 99)),
)
def test_two_boards_are_told_apart_by_what_they_say_of_the_rigs_channels(before, now):
    for registers in (before, now):
        registers[0] = 16 * registers.get(0, 0)  # no bit of it may move a servo by itself
    bench = Bench(BoardPort(registers=before), canary_channel=None)
    bench.connect()
    exchange(bench, registers=now)
    different = {number for number in REGISTERS if before.get(number, 0) != now.get(number, 0)}
    if not different:
        assert bench.connect().phase is LinkPhase.READY
        return
    words = refused(bench)
    told = {number for number in REGISTERS if f"(R{number}) was" in words}
    assert told <= different and len(told) == min(len(different), 4)
    assert ("more" in words) == (len(different) > 4)


def test_one_from_an_earlier_session_is_expected_at_the_first_connection_already():
    bench = Bench(BoardPort(USB, registers=STORED))
    bench.driver.expect(ControllerIdentity(facts=(("what it calls itself", "SSC32-V2.04GP"),)), "Look at the arm")
    words = refused(bench)
    assert "was 'SSC32-V2.04GP', is 'SSC32-V2.50USB'" in words and words.endswith("Look at the arm")


# -- what could not be read is unknown -----------------------------------------------------------------------


@pytest.mark.parametrize("deaf", [(b"SS",), (b"R32",), (b"R64", b"R66", b"R68")])
def test_what_is_not_answered_is_unknown_and_not_different(deaf):
    bench = Bench(BoardPort(registers=STORED))
    bench.connect()
    known = facts(bench)
    port = exchange(bench, registers=dict.fromkeys(STORED, 99))
    for number in set(STORED) - {int(line[1:]) for line in deaf if line != b"SS"}:
        port.registers[number] = STORED[number]
    port.mangle = lambda line, reply: [] if line in deaf else [(0.0, reply)]
    assert bench.connect().phase is LinkPhase.READY
    assert set(facts(bench)) < set(known)


def test_what_was_unknown_at_first_counts_from_when_it_was_known():
    bench = Bench(BoardPort(registers=STORED))
    bench.port.mangle = lambda line, reply: [] if line.startswith(b"R3") else [(0.0, reply)]
    bench.connect()
    assert name_of(32) not in facts(bench)
    exchange(bench, registers=STORED)
    bench.connect()
    exchange(bench, registers={**STORED, 32: 1})
    assert "(R32) was '-12', is '1'" in refused(bench)


def test_a_board_that_answers_nothing_but_register_0_is_used_and_does_not_hold_up_the_handshake():
    bench = Bench()
    bench.port.mangle = lambda line, reply: [] if re.match(rb"R[^0]|SS", line) else [(0.0, reply)]
    bench.connect()
    assert facts(bench) == {"what it calls itself": "SSC32-V2.04GP", "enable bits (R0)": "0"}
    assert bench.now_s - 100.0 < 40 * TICK_S


def test_a_board_that_falls_silent_in_the_middle_of_it_is_not_waited_for_for_long():
    bench = Bench()
    answered = iter([True])
    bench.port.mangle = lambda line, reply: [(0.0, reply)] if line != b"VER" or next(answered, False) else []
    bench.driver.open(bench.now_s)
    with pytest.raises(ControllerError, match="R0 could not be read"):
        bench.tick(15 + round((1 + INSISTS) * SILENCES * (PATIENCE_S + 0.1) / TICK_S))


@pytest.mark.parametrize("known", [True, False])
def test_one_garbled_digit_is_asked_again_and_is_no_other_board(known):
    bench = Bench(BoardPort(registers=STORED))
    if known:
        bench.connect()
        exchange(bench, registers=STORED)
    garbled = iter([b"13\r"])
    bench.port.mangle = lambda line, reply: [(0.0, next(garbled, reply) if line == b"R34" else reply)]
    bench.connect()
    assert facts(bench)["pulse offset of channel 2 in us (R34)"] == "7"


def test_an_answer_that_is_late_is_never_taken_for_another_registers():
    for late in (b"R0", b"R32", b"R36", b"R64"):
        bench = Bench(BoardPort(registers=STORED))
        delays = iter([PATIENCE_S + 0.1])
        bench.port.mangle = lambda line, reply, late=late, delays=delays: [
            (next(delays, 0.0) if line == late else 0.0, reply)
        ]
        bench.connect()
        said = facts(bench)
        assert {n: said.get(name_of(n), str(STORED.get(n, 0))) for n in REGISTERS} == {
            n: str(STORED.get(n, 0)) for n in REGISTERS
        }


@pytest.mark.parametrize("late_s", [0.1, PATIENCE_S + 0.1, 0.7, 1.1])
def test_on_a_line_on_which_everything_is_late_nothing_is_taken_for_something_else(late_s):
    bench = Bench(BoardPort(registers=STORED))
    bench.connect()
    known = facts(bench)
    port = exchange(bench, registers=STORED)
    greeted = iter([0.0, 0.0])
    port.mangle = lambda line, reply: [(next(greeted, late_s) if line == b"VER" else late_s, reply)]
    bench.driver.open(bench.now_s)
    with contextlib.suppress(LinkTimeout):
        bench.tick(200)
    expected = bench.driver._acquaintance.expected
    assert expected is not None and dict(expected.facts) == known


def test_on_a_noisy_line_the_same_board_is_never_another_one():
    """One byte in a hundred of what the board answers is another: a line on which nobody would work."""
    rng, ready = random.Random(20261128), 0
    bench = Bench(BoardPort(registers=STORED, startup=b"VER;"))
    bench.connect()

    def noise(line: bytes, reply: bytes) -> list[tuple[float, bytes]]:
        return [(0.0, bytes(b if rng.random() > 0.01 else rng.randrange(256) for b in reply))]

    for _ in range(150):
        port = exchange(bench, registers=STORED, startup=b"VER;")
        port.mangle = noise
        bench.driver.open(bench.now_s)
        try:
            for _ in range(150):
                ready += bench.tick().phase is LinkPhase.READY
        except Exception as error:
            assert "not the controller that was here before" not in str(error)
    assert ready
