"""The canary's pulse is one that its board cannot give it; what a board drives counts if its witness is silent."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ssc32_script import Bench, BoardPort

from drivers._ssc32_adoption import APART_US, CANARY_US, canary_us, witness_channel
from drivers._ssc32_channels import Ssc32Channels
from drivers._ssc32_identity import BoardIdentity
from hil.errors import CommandError, ControllerError
from hil.types import LinkPhase

V1 = b"SSC32-1.06XE\r"


def board(stored_us: int | None = None, offset_us: int | None = None) -> BoardIdentity:
    found = ((95, stored_us), (63, offset_us))
    return BoardIdentity(version="", registers=tuple((n, value) for n, value in found if value is not None))


@given(
    stored_us=st.none() | st.integers(0, 65535),
    offset_us=st.none() | st.integers(-100, 100),
    shown_us=st.integers(0, 2550),
)
def test_whatever_a_board_holds_and_shows_its_canary_gets_a_pulse_far_from_it(stored_us, offset_us, shown_us):
    width_us = canary_us(board(stored_us, offset_us), 31, shown_us)
    assert width_us in CANARY_US
    by_itself = [0, 500, 1500, 2500, shown_us]
    if stored_us is not None:
        by_itself += [stored_us, min(max(stored_us, 500), 2500), stored_us + (offset_us or 0)]
    assert min(abs(width_us - other) for other in by_itself) > 100 + 100 + 2 * 10
    assert APART_US == 220


def test_a_fresh_board_gives_the_first_width_and_a_second_connection_another():
    assert canary_us(board(1500, 0), 31, 0) == 1750
    assert canary_us(board(1500, 0), 31, 1750) == 1250
    bench = Bench()
    bench.connect()
    bench.driver.close()
    bench.port.closed = False
    bench.connect()
    assert re.findall(rb"#31P\d+", bench.port.bytes_sent) == [b"#31P1750", b"#31P1250"]


@pytest.mark.parametrize(
    ("stored_us", "offset_us", "width"),
    [(1500, 0, b"1750"), (1700, 0, b"1250"), (1971, 0, b"1750"), (1971, -2, b"1250"), (1970, 0, b"1250")],
)
def test_stored_pulse_and_offset_of_the_canarys_channel_are_asked_and_avoided(stored_us, offset_us, width):
    bench = Bench(BoardPort(registers={0: 0, 63: offset_us, 95: stored_us}))
    bench.connect()
    assert b"#31P" + width in bench.port.lines


def test_no_other_pulse_than_the_chosen_one_leaves_for_the_canary():
    bench = Bench()
    bench.connect()
    line = bench.driver._line
    for pulse_us in (1500, 1250, 1749):
        with pytest.raises(CommandError, match=r"allowed: 1750\.\.1750 us"):
            line.send(b"#31P%d\r" % pulse_us, bench.now_s)


def test_before_it_is_chosen_none_leaves():
    bench = Bench()
    bench.driver.open(bench.now_s)
    with pytest.raises(CommandError, match="not used"):
        bench.driver._line.send(b"#31P1750\r", bench.now_s)


def test_firmware_1_without_registers_gets_a_canary_too():
    bench = Bench(BoardPort(V1))
    bench.connect()
    assert b"#31P1750" in bench.port.lines


def test_the_witness_is_the_highest_channel_that_nobody_uses():
    bench = Bench()
    assert witness_channel(bench.settings) == 30
    assert witness_channel(bench.settings, (30, 29)) == 28
    assert witness_channel(bench.settings, range(32)) is None
    assert witness_channel(Bench(canary_channel=None).settings) == 31


def answering(port: BoardPort, channel: int, answers: list[int]) -> None:
    """Have one channel answer this, then as it is."""
    values = iter(answers)

    def mangle(line, reply):
        asked = [int(n) for n in re.findall(rb"QP(\d+)", line)]
        if channel in asked:
            at = asked.index(channel)
            reply = reply[:at] + bytes([next(values, reply[at])]) + reply[at + 1 :]
        return [(0.0, reply)]

    port.mangle = mangle


@pytest.mark.parametrize("answers", [[150, 150], [0, 150], [150, 0], [7, 255], [0, 1]])
def test_a_witness_that_is_not_silent_both_times_makes_all_axes_limp_and_says_so(answers):
    bench = Bench()
    bench.port.widths = {0: 1500, 2: 1500, 4: 1800}
    answering(bench.port, 30, answers)
    state = bench.connect()
    assert state.joints.positions == (None, None, None)
    words = [notice for notice in bench.notices if notice.startswith("WARNING")]
    assert len(words) == 1
    assert f"channel 30 was driven by nobody, and yet the board answers {answers[0]} and {answers[1]}" in words[0]
    state = bench.tick(20)
    assert state.joints.positions == (None, None, None)
    bench.energise(0.1)
    state = bench.tick(10)
    assert state.joints.positions[0] == pytest.approx(0.1, abs=0.03)
    assert state.joints.positions[1:] == (None, None)


def test_a_silent_witness_lets_what_is_driven_count():
    bench = Bench()
    bench.port.widths = {0: 1460}
    state = bench.connect()
    assert state.joints.positions[0] == pytest.approx(0.0, abs=0.02)
    assert not [notice for notice in bench.notices if notice.startswith("WARNING")]
    assert bench.port.lines.count(b"QP0QP2QP4QP31QP30") == 2
    bench.tick(10)
    assert bench.port.lines[-1] == b"QP0QP2QP4QP31"


def test_one_garbled_byte_of_an_axis_is_asked_again_and_makes_nothing_limp():
    bench = Bench()
    bench.port.widths = {0: 1460, 2: 1500, 4: 1800}
    answering(bench.port, 2, [7])
    assert None not in bench.connect().joints.positions
    assert not [notice for notice in bench.notices if notice.startswith("WARNING")]


def test_an_axis_that_never_tells_a_pulse_makes_all_limp_and_does_not_hold_up_the_handshake():
    bench = Bench()
    bench.port.widths = {0: 1460}
    answering(bench.port, 2, [7] * 1000)
    assert bench.connect().joints.positions == (None, None, None)
    assert any("for an axis what is no pulse" in notice for notice in bench.notices)
    assert bench.now_s - 100.0 < 1.0


def test_where_no_channel_is_left_to_ask_nothing_counts_as_driven():
    bench = Bench()
    bench.port.widths = {0: 1460}
    bench.driver = Ssc32Channels(bench.settings, range(32), lambda: bench.port)
    assert set(bench.connect().joints.positions) == {None}
    assert any("none can show" in notice for notice in bench.notices)


def test_calibrating_some_channels_asks_none_that_the_rig_has_a_servo_on():
    bench = Bench(canary_channel=29)
    bench.driver = Ssc32Channels(bench.settings, (30, 31), lambda: bench.port)
    bench.connect()
    assert b"QP30QP31QP29QP28" in bench.port.lines


def test_without_a_canary_the_witness_is_asked_twice_all_the_same():
    bench = Bench(canary_channel=None)
    answering(bench.port, 31, [0, 150])
    bench.connect()
    assert bench.port.lines.count(b"QP0QP2QP4QP31") == 2
    assert any("answers 0 and 150" in notice for notice in bench.notices)


def test_a_board_that_restarts_between_the_canary_and_its_answer_is_not_ready():
    bench = Bench()
    bench.driver.open(bench.now_s)
    while b"#31P1750" not in bench.port.lines:
        bench.tick()
    bench.port.restart()
    with pytest.raises(ControllerError, match="has just restarted, connect again"):
        bench.tick(100)
    assert bench.tick().phase is LinkPhase.CLOSED
