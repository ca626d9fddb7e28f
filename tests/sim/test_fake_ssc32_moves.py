"""Servo moves of the emulated SSC-32: grammar, timing, first moves, range, offsets, levels."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.ssc32 import FRAME_S, BoardSettings, Firmware, FirstMove, Fractions, Level, Mixed, Ssc32Board
from sim.ssc32.counts import Counts
from sim.ssc32.words import LineParser, vocabulary

BYTE_S = 10 / 115200


def moving(terminal, *channels, at=1500):
    """A terminal whose channels are known, at a width."""
    for channel in channels:
        terminal.ask(f"#{channel}P{at}\r")
    terminal.frames.clear()
    return terminal


# Grammar.


@pytest.mark.parametrize(
    "line",
    [
        "#0P1600#1P1700T100\r",
        "#0p1600#1p1700t100\r",
        " #0 P1600\t#1 P1700 T100 \r\n",
        "\n#0P1600#1\nP1700T100\r",
        "T100#0P1600#1P1700\r",
        "#0P1600T100#1P1700\r",
        "\r" * 10 + "#0P1600#1P1700T100\r",
        "#00P01600#1P1700T0100\r",
    ],
)
def test_case_blanks_tabs_line_feeds_and_the_place_of_t_do_not_matter(terminal, line):
    board = moving(terminal(), 0, 1)
    board.ask(line, 0.3)
    assert (board.pulse(0), board.pulse(1)) == (1600, 1700)
    assert len(board.widths(0)) == len(board.widths(1)) == 5
    assert board.board.counts.parse_errors == 0


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 70000)), min_size=1, max_size=7),
    st.none() | st.integers(0, 140000),
)
def test_a_plain_move_is_read_as_its_words_one_by_one(targets, time_ms):
    words = [f"#{channel}P{width}" for channel, width in targets] + ([] if time_ms is None else [f"T{time_ms}"])
    read, counted = [], []
    # A blank within a word is not plain, and changes nothing.
    for line in ("".join(words), " ".join(words).replace("P", " P", 1)):
        counts = Counts()
        parser = LineParser(vocabulary(Firmware.V2, "SSC32-V2.01XE"), Mixed.ALL, counts)
        read.append(parser.parse(line))
        counted.append(counts)
    assert read[0] == read[1] and counted[0] == counted[1]
    assert [(servo.number, servo.width) for servo in read[0].servos] == targets


@given(st.lists(st.integers(0, 99), min_size=1, max_size=9))
def test_a_plain_question_is_read_as_its_words_one_by_one(channels):
    words = [f"QP{channel}" for channel in channels]
    parser = LineParser(vocabulary(Firmware.V2, "SSC32-V2.01XE"), Mixed.FIRST_TYPE, Counts())
    assert parser.parse("".join(words)) == parser.parse(" ".join(words).replace("QP", "QP ", 1))


def test_nothing_happens_before_the_carriage_return_and_a_line_feed_is_none(terminal):
    board = terminal()
    board.ask("#0P1500\n\n")
    assert board.pulse(0) == 0
    board.ask("\r")
    assert board.pulse(0) == 1500


def test_empty_lines_are_harmless(terminal):
    board = terminal()
    assert board.ask("\r" * 10) == b""
    assert board.board.counts.lines == 0


def test_escape_drops_the_text_of_the_line_and_stops_no_motion(terminal):
    board = moving(terminal(), 0)
    board.ask("#0P2000T200\r", 0.05)
    board.ask("#0P15\x1b\r", 0.3)
    assert board.pulse(0) == 2000


def test_text_left_by_a_killed_client_merges_with_the_next_line_unless_escaped(terminal):
    board = moving(terminal(), 0, at=1000)
    board.ask("#0P15")
    board.ask("\r")
    assert board.pulse(0) == 500
    board = moving(terminal(), 0, at=1000)
    board.ask("#0P15")
    board.ask("\x1b\r#0P1200\r")
    assert board.pulse(0) == 1200


@pytest.mark.parametrize(
    "line", ["HELLO\r", "#0P1600X5\r", "$\r", "12\r", "P1600\r", "#P1600\r", "#0P\r", "#3H#0P1600\r"]
)
def test_a_line_with_a_word_the_board_does_not_know_does_nothing_and_is_counted(terminal, line):
    board = moving(terminal(), 0)
    assert board.ask(line) == b""
    assert board.pulse(0) == 1500
    assert board.board.counts.parse_errors == 1


def test_of_mixed_types_the_first_is_done_and_the_others_are_recorded(terminal):
    board = terminal()
    assert board.ask("#0P1500 VER\r") == b""
    assert board.pulse(0) == 1500
    assert board.ask("VER #0P1600\r") == b"SSC32-V2.03XE\r"
    assert board.pulse(0) == 1500
    assert board.board.counts.mixed_lines == 2


def test_mixed_types_can_be_set_to_be_all_done(terminal):
    board = terminal(mixed=Mixed.ALL)
    assert board.ask("#0P1500 VER\r") == b"SSC32-V2.03XE\r"
    assert board.pulse(0) == 1500


def test_a_blank_inside_a_number_makes_two_numbers_of_which_the_last_counts(terminal):
    board = terminal()
    board.ask("#1 2P1500\r")
    assert (board.pulse(1), board.pulse(2), board.pulse(12)) == (0, 1500, 0)
    assert board.board.counts.oddities == 1


def test_after_32_positions_in_a_line_the_rest_is_ignored(terminal):
    board = terminal()
    board.ask("".join(f"#{n}P1500" for n in range(32)) + "#0P2000\r")
    assert board.board.pulses_us() == (1500,) * 32


@pytest.mark.parametrize("line", ["#0P1600.5S100#1P1700\r", "#0P1600S100.0#1P1700\r", "#0P1600,5S100#1P1700\r"])
def test_a_fraction_leaves_that_servo_out(terminal, line):
    board = moving(terminal(), 0, 1)
    board.ask(line, 0.5)
    assert (board.pulse(0), board.pulse(1)) == (1500, 1700)


@pytest.mark.parametrize("line", ["#0P1600.5S100\r", "#0P1600S100.0\r"])
def test_a_fraction_can_be_set_to_lose_the_speed_limit_which_is_the_dangerous_variant(terminal, line):
    board = moving(terminal(fractions=Fractions.DROP_SPEED), 0)
    board.ask(line)
    assert board.widths(0) == [1600]


def test_a_fraction_in_t_loses_t(terminal):
    board = moving(terminal(), 0)
    board.ask("#0P1600T100.0\r")
    assert board.widths(0) == [1600]


# Timing.


def test_the_manuals_example_with_channel_17_at_2000_takes_two_and_a_half_seconds_for_all(terminal):
    board = terminal()
    for line in ("#5P1500\r", "#17P2000\r", "#2P1500\r"):
        board.ask(line)
    board.frames.clear()
    board.ask("#5P1600#17P750S500#2P2250T2000\r", 3.0)
    assert [len(board.widths(c)) for c in (17, 2)] == [125, 125]
    assert board.frames[-1][0] - board.frames[0][0] == pytest.approx(2.48)
    assert (board.pulse(5), board.pulse(17), board.pulse(2)) == (1600, 750, 2250)


def test_the_manuals_example_with_channel_17_at_1000_takes_two_seconds_for_all(terminal):
    board = terminal()
    for line in ("#5P1500\r", "#17P1000\r", "#2P1500\r"):
        board.ask(line)
    board.frames.clear()
    board.ask("#5P1600#17P750S500#2P2250T2000\r", 3.0)
    assert len(board.widths(2)) == 100
    assert board.widths(2)[:2] == [1508, 1515]


@given(
    st.lists(
        st.tuples(st.integers(500, 2500), st.integers(500, 2500), st.none() | st.integers(50, 60000)),
        min_size=1,
        max_size=5,
    ),
    st.none() | st.integers(0, 3000),
)
def test_the_longest_of_t_and_all_distances_over_s_wins_and_all_arrive_together(servos, time_ms):
    board = Ssc32Board(BoardSettings(resolution_us=0.0))
    board.receive("".join(f"#{n}P{s[0]}" for n, s in enumerate(servos)).encode() + b"\r", 0.0, BYTE_S)
    board.advance(1.0)
    line = "".join(f"#{n}P{s[1]}" + (f"S{s[2]}" if s[2] else "") for n, s in enumerate(servos))
    line += "" if time_ms is None else f"T{time_ms}"
    board.receive(line.encode() + b"\r", 1.001, BYTE_S)
    expected_s = max([(time_ms or 0) / 1000] + [abs(b - a) / s for a, b, s in servos if s])
    frames = max(expected_s / FRAME_S, 1e-12)
    for k in (1, 2, 3, int(frames) - 1, int(frames) + 1):
        if k < 1:
            continue
        shadow = Ssc32Board(BoardSettings(resolution_us=0.0))
        shadow.receive("".join(f"#{n}P{s[0]}" for n, s in enumerate(servos)).encode() + b"\r", 0.0, BYTE_S)
        shadow.advance(1.0)
        shadow.receive(line.encode() + b"\r", 1.001, BYTE_S)
        shadow.advance(1.0 + k * FRAME_S + 0.001)
        for n, (start, goal, _) in enumerate(servos):
            assert shadow.pulse_us(n) == pytest.approx(start + (goal - start) * min(1.0, k / frames), abs=1e-6)


def test_without_s_and_t_the_width_changes_whole_at_the_next_frame(terminal):
    board = moving(terminal(), 0)
    board.ask("#0P2400\r")
    assert board.widths(0) == [2400]


def test_frames_come_every_20_ms_and_in_equal_steps(terminal):
    board = moving(terminal(), 0)
    board.ask("#0P1600T200\r", 0.5)
    times = [time_s for time_s, _ in board.frames]
    assert board.widths(0) == [1510, 1520, 1530, 1540, 1550, 1560, 1570, 1580, 1590, 1600]
    for a, b in pairwise(times):
        assert b - a == pytest.approx(FRAME_S)
    assert times[0] / FRAME_S == pytest.approx(round(times[0] / FRAME_S))


def test_a_new_command_starts_from_the_interpolated_width_and_others_carry_on(terminal):
    board = moving(terminal(), 0, 1)
    board.ask("#0P2000#1P2000T1000\r", 0.5)
    middle = board.pulse(0)
    assert 1500 < middle < 2000
    board.frames.clear()
    board.ask("#0P1500T500\r", 1.0)
    assert middle > board.widths(0)[0] > middle - 20
    assert max(board.widths(0)) < middle
    assert (board.pulse(0), board.pulse(1)) == (1500, 2000)


def test_s0_is_one_microsecond_a_second_and_t0_is_no_minimum(terminal):
    board = moving(terminal(), 0, 1)
    board.ask("#0P1510S0\r", 5.0)
    assert board.pulse(0) == 1505
    board.ask("#1P1600T0\r")
    assert board.widths(1) == [1600]


def test_half_microseconds_can_be_generated_if_chosen(terminal):
    board = moving(terminal(resolution_us=0.5), 0)
    board.ask("#0P1501T40\r")
    assert board.widths(0) == [1500.5, 1501]


# The first move.


@pytest.mark.parametrize("line", ["#0P2000T5000\r", "#0P2000S10\r", "#0P2000S10T5000\r"])
def test_the_first_command_of_a_channel_jumps_whatever_s_and_t_say(terminal, line):
    board = terminal()
    board.ask(line)
    assert board.widths(0) == [2000]


def test_the_first_move_is_decided_for_each_channel_of_a_line(terminal):
    board = moving(terminal(), 0)
    board.ask("#0P1600#1P1900S1T200\r", 0.5)
    assert board.widths(1) == [1900]
    assert len(board.widths(0)) == 10


def test_firmware_1_06_can_be_set_to_start_timed_first_moves_at_500(terminal):
    board = terminal(Firmware.V1, first_move=FirstMove.FROM_500)
    board.ask("#0P1500T100\r", 0.5)
    assert board.widths(0) == [700, 900, 1100, 1300, 1500]
    board.ask("#1P1500\r")
    assert board.widths(1) == [1500]


def test_released_channels_jump_again(terminal):
    board = moving(terminal(), 0)
    board.ask("#0P0\r")
    assert board.pulse(0) == 0
    board.ask("#0P1900T5000\r")
    assert board.pulse(0) == 1900


# Range.


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (500, 500),
        (2500, 2500),
        (0, 0),
        (1, 500),
        (499, 500),
        (2501, 2500),
        (3000, 2500),
        (5000, 2500),
        (9999, 2500),
    ],
)
def test_widths_out_of_range_are_clipped_and_zero_ends_the_pulses(terminal, sent, shown):
    board = moving(terminal(), 0)
    board.ask(f"#0P{sent}\r")
    assert board.pulse(0) == shown
    assert board.board.counts.clipped == (sent != shown)


@pytest.mark.parametrize(("sent", "half_way"), [(1, 1000), (9999, 2000)])
def test_a_timed_move_out_of_range_is_one_to_the_end_of_the_range(terminal, sent, half_way):
    """Clipped at its end only, it would be at the range's end before its time."""
    board = moving(terminal(), 0)
    board.ask(f"#0P{sent}T1000\r", 0.0)
    board.wait(0.5)
    assert board.pulse(0) == pytest.approx(half_way, abs=30)


def test_negative_widths_and_channels_above_31_are_ignored(terminal):
    board = moving(terminal(), 0, 1)
    board.ask("#40P1700#0P-5#1P1700\r")
    assert (board.pulse(0), board.pulse(1)) == (1500, 1700)
    assert board.board.counts.oddities >= 2


# Offsets.


def test_an_offset_is_added_at_once_to_every_width(terminal):
    board = moving(terminal(), 0, 1)
    board.ask("#0PO-100#1PO50\r")
    assert (board.widths(0), board.widths(1)) == ([1400], [1550])
    board.ask("#0P2000T100\r", 0.3)
    assert board.pulse(0) == 1900
    board.ask("#0PO-30\r#0PO-30\r")
    assert board.pulse(0) == 1970


def test_an_offset_stays_within_100_and_the_pulse_within_500_to_2500(terminal):
    board = moving(terminal(), 0)
    board.ask("#0PO-900\r")
    assert board.pulse(0) == 1400
    board.ask("#0P500\r")
    assert board.pulse(0) == 500


@pytest.mark.parametrize(("firmware", "answer"), [(Firmware.V1, 140), (Firmware.V2, 150), (Firmware.U, 150)])
def test_only_old_firmware_answers_the_width_with_its_offset(terminal, firmware, answer):
    board = moving(terminal(firmware), 0)
    board.ask("#0PO-100\r")
    assert board.ask("QP0\r") == bytes((answer,))


@pytest.mark.parametrize(("pulse", "offset", "answer"), [(500, -100, 50), (2500, 100, 250), (560, -100, 50)])
def test_the_answered_width_stays_within_what_a_pin_makes(terminal, pulse, offset, answer):
    board = moving(terminal(Firmware.V1), 0)
    board.ask(f"#0P{pulse}\r", 0.2)
    board.ask(f"#0PO{offset}\r", 0.2)
    assert board.ask("QP0\r") == bytes((answer,))
    assert board.pulse(0) == 10 * answer


# Levels.


def test_discrete_outputs_become_constant_at_the_next_frame(terminal):
    board = moving(terminal(), 3, 4)
    board.ask("#3H #4L\r")
    assert (board.board.level(3), board.board.level(4)) == (Level.HIGH, Level.LOW)
    assert (board.pulse(3), board.pulse(4)) == (0, 0)


def test_the_manuals_byte_output_sets_a_whole_bank(terminal):
    board = terminal()
    board.ask("#3:123\r")
    high = [n for n in range(24, 32) if board.board.level(n) is Level.HIGH]
    assert high == [24, 25, 27, 28, 29, 30]
    assert board.board.level(26) is board.board.level(31) is Level.LOW
    assert board.board.level(23) is Level.OFF


@pytest.mark.parametrize("line", ["#4:1\r", "#0:256\r"])
def test_a_byte_output_out_of_range_is_ignored(terminal, line):
    board = terminal()
    board.ask(line)
    assert all(board.board.level(n) is Level.OFF for n in range(32))


# Properties.

lines = st.one_of(
    st.builds(
        lambda c, p, s, t: f"#{c}P{p}{s}{t}\r",
        st.integers(0, 34),
        st.integers(-10, 4000),
        st.sampled_from(["", "S200", "S0", "S1.5"]),
        st.sampled_from(["", "T100", "T40"]),
    ),
    st.sampled_from(
        ["#0PO90\r", "#1PO-90\r", "STOP0\r", "QP0QP1\r", "Q\r", "#0L\r", "\x1b", "VER\r", "XS100\r", "R0\r"]
    ),
    st.text(st.characters(max_codepoint=255), max_size=12),
)


def run(pieces, firmware):
    board = Ssc32Board(BoardSettings(firmware=firmware, baud=115200))
    seen = []
    board.watch(lambda time_s, changes: seen.append((round(time_s, 6), tuple(changes))))
    replies = []
    for at_s, data in pieces:
        board.receive(data, at_s, BYTE_S)
        replies += board.transmit(at_s)
    replies += board.transmit(60.0)
    return seen, [(round(at_s, 9), data) for at_s, data in replies], board.pulses_us()


@settings(max_examples=60)
@given(st.lists(lines, max_size=12), st.data(), st.sampled_from(list(Firmware)))
def test_any_split_of_the_bytes_gives_the_same_result(texts, data, firmware):
    stream = "".join(texts).encode("latin-1")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    edges = [0, *cuts, len(stream)]
    pieces = [(a * BYTE_S, stream[a:b]) for a, b in pairwise(edges)]
    assert run(pieces, firmware) == run([(0.0, stream)], firmware)


@settings(max_examples=60)
@given(st.lists(st.tuples(lines, st.floats(0, 0.2)), max_size=12), st.sampled_from(list(Firmware)))
def test_the_pulse_is_never_outside_500_to_2500_whatever_comes(texts, firmware):
    at_s, pieces = 0.0, []
    for text, pause_s in texts:
        data = text.encode("latin-1")
        pieces.append((at_s, data))
        at_s += len(data) * BYTE_S + pause_s
    seen, _, _ = run(pieces, firmware)
    for _, changes in seen:
        assert all(pulse == 0 or 500 <= pulse <= 2500 for _, pulse in changes)


@given(st.lists(st.floats(0.0001, 0.3), min_size=1, max_size=10))
def test_advancing_in_any_steps_gives_the_same_frames(steps):
    def play(times):
        board = Ssc32Board()
        seen = []
        board.watch(lambda time_s, changes: seen.append((time_s, tuple(changes))))
        board.receive(b"#0P1500\r#1P700\r#0P2000#1P2200T777\r", 0.0, BYTE_S)
        for time_s in times:
            board.advance(time_s)
        board.advance(5.0)
        return seen

    assert play([sum(steps[: n + 1]) for n in range(len(steps))]) == play([])
