"""Connecting: who is there is found out in under three seconds, and nothing that can move the arm is sent."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ssc32_script import TICK_S, Bench, BoardPort, settings

from drivers._ssc32_codec import find_version
from drivers._ssc32_identity import BoardIdentity, why_no_motion
from drivers.ssc32 import build
from hil.errors import ControllerError, LinkClosed, LinkError, LinkTimeout
from hil.types import EnergiseCommand, LinkPhase, StateSource

V1 = b"SSC32-1.06XE\r"
USB = b"SSC32-V2.50USB\r"


def diagnose(bench):
    """The error that ends the handshake and how long it took; afterwards nothing more may be sent."""
    bench.driver.open(bench.now_s)
    opened_s = bench.now_s
    with pytest.raises((LinkError, ControllerError)) as caught:
        bench.tick(200)
    took_s = bench.now_s - opened_s
    sent = len(bench.port.sent)
    assert bench.tick(50).phase is LinkPhase.CLOSED
    bench.driver.stop(bench.now_s)
    with pytest.raises(LinkClosed):
        bench.driver.write(EnergiseCommand(seq=1, axis=0, position=0.0), bench.now_s)
    assert len(bench.port.sent) == sent
    assert bench.port.closed
    return caught.value, took_s


@pytest.mark.parametrize("version", [V1, b"SSC32-V2.01XE\r", b"SSC32-V2.04GP \r", USB])
def test_a_board_is_greeted_with_escape_first_and_known_by_its_name(version):
    bench = Bench(BoardPort(version))
    assert build(bench.settings, lambda: bench.port).read(0.0).phase is LinkPhase.CLOSED
    state = bench.connect()
    assert state.identity == version.decode().strip()
    assert bench.port.bytes_sent.startswith(b"\x1b\r")
    assert state.known == (False, False, False)


def test_nothing_that_can_move_the_arm_is_sent_at_connect():
    bench = Bench(BoardPort())
    bench.connect()
    bench.tick(100)
    for line in bench.port.lines:
        assert re.fullmatch(rb"VER|R0|SS|R(32|34|36|63|64|66|68|95)|(QP\d+)+|#31P1750", line), line
    assert bench.port.lines.count(b"#31P1750") == 1


def test_without_a_canary_only_questions_are_asked_and_detection_is_called_best_effort():
    bench = Bench(BoardPort(), canary_channel=None)
    bench.connect()
    assert not any(b"#" in line for line in bench.port.lines)
    assert any("best effort" in notice for notice in bench.notices)


def test_a_half_line_of_a_dead_client_is_dropped_and_never_carried_out():
    bench = Bench(BoardPort(left_over=b"#0P15"))
    bench.connect()
    bench.energise(0.1)
    assert bench.port.lines[0] == b"VER"
    assert b"#0P1515" in bench.port.lines


def test_replies_to_a_former_client_are_drained_before_anything_is_asked():
    port = BoardPort()
    port.coming = [(100.03, b".\x96"), (100.07, b"\x96")]
    bench = Bench(port)
    bench.connect()
    assert port.sent[1][0] >= 100.07 + 0.05


def test_a_board_at_another_rate_is_named_with_both_rates_and_the_mend():
    for at in (9600, 38400, 2400):
        error, took_s = diagnose(Bench(BoardPort(USB, baud=at)))
        assert type(error) is LinkError
        assert f"SSC32-V2.50USB) answers at {at} baud, the rig says 115200" in str(error)
        assert "controller.baud" in str(error)
        assert "R4 = 11520" in str(error)
        assert took_s < 3.0


def test_only_escape_and_version_are_sent_while_looking_for_the_rate():
    bench = Bench(BoardPort(baud=2400))
    diagnose(bench)
    assert {data for _, _, data in bench.port.sent} <= {b"\x1b\r", b"VER\r", b"~~\x1b\rVER\r"}


@pytest.mark.parametrize(("baud", "tick_s"), [(115200, 0.02), (115200, 0.004), (9600, 0.1), (2400, 0.1)])
def test_silence_at_every_rate_points_at_power_cable_and_lamps_in_under_three_seconds(baud, tick_s, monkeypatch):
    monkeypatch.setattr("ssc32_script.TICK_S", tick_s)
    bench = Bench(BoardPort(baud=1), baud=baud)
    bench.driver.open(bench.now_s)
    with pytest.raises(LinkTimeout) as caught:
        bench.tick(2000)
    assert bench.now_s - 100.0 < 3.0
    for word in ("no answer", "power", "USB", "receive line", "LED", str(baud)):
        assert word in str(caught.value)


def test_something_else_that_answers_is_quoted():
    bench = Bench(BoardPort(b"Grbl 1.1f ['$' for help]\r\n"))
    error, took_s = diagnose(bench)
    assert type(error) is ControllerError
    assert error.raw.startswith(b"Grbl 1.1f")
    assert "no SSC-32" in str(error)
    assert "Grbl" in str(error)
    assert took_s < 3.0


def test_a_device_that_never_falls_silent_is_diagnosed_all_the_same():
    port = BoardPort(b"")
    port.coming = [(100 + i * 0.01, b"$GPGGA,1\r\n") for i in range(400)]
    error, took_s = diagnose(Bench(port))
    assert type(error) is ControllerError
    assert b"$GPGGA" in error.raw
    assert took_s < 3.0


def test_one_lost_first_answer_is_forgiven():
    port = BoardPort()
    answers = iter([b"SSC32-V2", b"SSC32-V2.04GP \r"])
    port.mangle = lambda line, reply: [(0.0, next(answers, reply) if line == b"VER" else reply)]
    assert Bench(port).connect().identity == "SSC32-V2.04GP"


def test_a_port_that_cannot_be_opened_says_so_at_once():
    def refuse():
        raise LinkClosed("/dev/ttyTEST: there is no such port", "/dev/ttyTEST")

    driver = build(settings(), refuse)
    with pytest.raises(LinkClosed, match="no such port"):
        driver.open(0.0)
    assert driver.read(0.1).phase is LinkPhase.CLOSED
    driver.stop(0.2)


def test_a_port_that_dies_in_any_stage_of_the_handshake_ends_closed():
    for ticks in range(1, 14):
        bench = Bench()
        bench.driver.open(bench.now_s)
        bench.tick(ticks)
        bench.port.gone = True
        with pytest.raises(LinkClosed):
            bench.tick()
        assert bench.tick(3).phase is LinkPhase.CLOSED
        bench.driver.stop(bench.now_s)


def test_a_port_that_dies_at_the_first_byte_is_let_go():
    bench = Bench()
    bench.port.gone = True
    with pytest.raises(LinkClosed):
        bench.driver.open(bench.now_s)
    assert bench.port.closed
    assert bench.tick().phase is LinkPhase.CLOSED


@pytest.mark.parametrize(
    ("bits", "startup", "words"),
    [
        (8, b"", ["R0 is 8", "stored pulse (bit 3)", "type R0=0 and"]),
        (1, b"", ["R0 is 1", "startup string '' (bit 0)", "type R0=0 and"]),
        (13, b"#0P1500T2000;", ["R0 is 13", "'#0P1500T2000;' (bit 0) and", "(bit 3)", "type R0=4 and"]),
    ],
)
def test_a_board_that_moves_its_servos_by_itself_is_refused_with_what_to_type(bits, startup, words):
    bench = Bench(BoardPort(registers={0: bits}, startup=startup))
    error, took_s = diagnose(bench)
    assert type(error) is ControllerError
    for word in (*words, "115200 baud", "cut the board's power"):
        assert word in str(error)
    assert took_s < 1.0
    assert b"#" not in bench.port.bytes_sent and b"=" not in bench.port.bytes_sent


@given(bits=st.integers(0, 0xFFFF))
def test_only_bits_0_and_3_without_bit_15_are_refused_and_never_what_is_to_be_typed_then(bits):
    board, firmware = BoardIdentity(version="", registers=((0, bits),)), find_version(USB)
    words = why_no_motion(board, firmware, 9600)
    assert bool(words) == (bits & 0x8000 == 0 and bits & 9 != 0)
    if words:
        typed = int(re.search(r"R0=(\d+) ", words)[1])
        assert typed == bits & ~9
        assert not why_no_motion(BoardIdentity(version="", registers=((0, typed),)), firmware, 9600)


@pytest.mark.parametrize(
    ("bits", "startup", "words"), [(0, b"PL0SQ1;", ["PL0SQ1", "ever set"]), (9 | 1 << 15, b"", []), (2, b"VER;", [])]
)
def test_what_could_move_the_arm_at_power_up_is_reported(bits, startup, words):
    bench = Bench(BoardPort(registers={0: bits}, startup=startup))
    bench.connect()
    text = " ".join(bench.notices)
    assert ("WARNING" in text) == bool(words)
    for word in words:
        assert word in text


def test_firmware_1_is_asked_no_registers():
    bench = Bench(BoardPort(V1))
    bench.connect()
    assert not {b"R0", b"SS"} & set(bench.port.lines)


@pytest.mark.parametrize("deaf", [(b"R0",), (b"R0", b"SS"), (b"R0", b"SS", b"R32", b"R64")])
def test_a_board_that_does_not_tell_its_register_0_is_refused_for_unknown_is_not_clear(deaf):
    port = BoardPort()
    port.mangle = lambda line, reply: [] if line in deaf else [(0.0, reply)]
    error, took_s = diagnose(Bench(port))
    assert "R0 could not be read" in str(error) and "type R0 and the Enter key" in str(error)
    assert took_s < 3.0
    assert b"#" not in port.bytes_sent


def test_register_0_is_asked_again_by_itself_before_it_counts_as_unknown():
    port = BoardPort()
    lost = iter([b""] * 3)
    port.mangle = lambda line, reply: [(0.0, next(lost, reply) if line == b"R0" else reply)]
    assert Bench(port).connect().phase is LinkPhase.READY


def test_a_register_answer_that_comes_too_late_is_not_taken_for_pulses():
    port = BoardPort()
    port.widths = {0: 1500}
    late = iter([0.45])
    port.mangle = lambda line, reply: [(next(late, 0.0) if line == b"R0" else 0.0, reply)]
    state = Bench(port).connect()
    assert state.joints is not None
    assert state.joints.positions[1:] == (None, None)


def test_a_board_that_answers_version_but_no_pulses_ends_in_words():
    port = BoardPort()
    port.mangle = lambda line, reply: [] if line.startswith(b"QP") else [(0.0, reply)]
    error, took_s = diagnose(Bench(port))
    assert type(error) is LinkTimeout
    assert "answered VER" in str(error)
    assert took_s < 3.0


def test_what_the_board_already_drives_is_shown_as_an_echo_and_stays_unknown():
    port = BoardPort()
    port.widths = {0: 1460, 2: 580}
    bench = Bench(port)
    state = bench.connect()
    assert state.joints is not None
    assert state.joints.source is StateSource.ECHOED
    base, elbow, gripper = state.joints.positions
    assert base == pytest.approx(0.0, abs=1e-9)
    assert elbow == pytest.approx(1.5708, abs=1e-3)
    assert gripper is None
    assert state.known == (False, False, False)


def test_a_canary_that_does_not_hold_is_refused():
    port = BoardPort()

    def dead_canary(line, reply):
        return [(0.0, reply[:3] + b"\x00" + reply[4:] if line.startswith(b"QP") else reply)]

    port.mangle = dead_canary
    error, _ = diagnose(Bench(port))
    assert type(error) is ControllerError
    assert "canary channel 31 was set to 1750 us and reads 0" in str(error)


def test_a_reconnect_in_one_process_starts_from_nothing():
    bench = Bench().ready()
    assert bench.tick().known == (True, True, True)
    bench.driver.close()
    assert bench.tick().known == (False, False, False)
    bench.port.closed = False
    state = bench.connect()
    assert state.known == (False, False, False)
    assert b"\x1b\r" in bench.port.bytes_sent


def test_connecting_takes_about_a_third_of_a_second():
    bench = Bench()
    bench.connect()
    assert bench.now_s - 100.0 < 20 * TICK_S
