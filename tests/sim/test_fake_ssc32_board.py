"""Queries, registers, power and the odd modes of the emulated SSC-32."""

from __future__ import annotations

import pytest

from sim.ssc32 import BoardSettings, BoardState, Firmware, Level, Ssc32Board, Untouched

BYTE_S = 10 / 115200
ALL = list(Firmware)
NEWER = [Firmware.V2, Firmware.U]


# Queries.


@pytest.mark.parametrize(
    ("firmware", "text"),
    [(Firmware.V1, b"SSC32-1.06XE\r"), (Firmware.V2, b"SSC32-V2.03XE\r"), (Firmware.U, b"SSC32-V2.50USB\r")],
)
def test_ver_answers_the_firmwares_text_and_a_carriage_return(terminal, firmware, text):
    assert terminal(firmware).ask("ver\r") == text


def test_the_text_of_ver_can_be_set_with_its_trailing_blank(terminal):
    assert terminal(version="SSC32-V2.04GP ").ask("VER\r") == b"SSC32-V2.04GP \r"


@pytest.mark.parametrize("firmware", ALL)
def test_q_says_plus_while_a_timed_move_lasts_and_then_a_full_stop(terminal, firmware):
    board = terminal(firmware)
    board.ask("#0P1500\r")
    assert board.ask("Q\r") == b"."
    board.ask("#0P2000T1000\r", 0.5)
    assert board.ask("Q\r") == b"+"
    board.wait(0.5)
    assert board.ask("Q\r") == b"."


def test_q_is_a_timer_that_a_plain_move_does_not_start_and_stop_does_not_end(terminal):
    board = terminal()
    board.ask("#0P1500\r")
    board.type("#0P2000\r")
    assert board.ask("Q\r") == b"."
    board.ask("#0P1500T1000\r")
    board.ask("STOP0\r")
    assert board.ask("Q\r") == b"+"
    board.wait(1.0)
    assert board.ask("Q\r") == b"."


def test_of_overlapping_moves_the_newest_counts_for_q(terminal):
    board = terminal()
    board.ask("#0P1500#1P1500\r")
    board.ask("#0P2000T5000\r")
    board.ask("#1P2000T100\r", 0.2)
    assert board.ask("Q\r") == b"."


@pytest.mark.parametrize(("width", "byte"), [(1500, 0x96), (500, 50), (2500, 250), (1509, 150), (1000, 100)])
def test_qp_answers_one_binary_byte_of_tens_of_microseconds(terminal, width, byte):
    board = terminal()
    board.ask(f"#4P{width}\r")
    assert board.ask("QP4\r") == bytes((byte,))


@pytest.mark.parametrize("line", ["QP0QP1QP2\r", "QP 0 QP 1 QP 2\r", "qp0 qp1 qp2\r"])
def test_several_qp_in_a_line_answer_in_order(terminal, line):
    board = terminal()
    board.ask("#0P1500#1P600\r")
    assert board.ask(line) == bytes((150, 60, 0))


def test_qp_follows_the_interpolated_width_and_stays_after_a_stop(terminal):
    board = terminal()
    board.ask("#0P1000\r")
    board.ask("#0P2000T1000\r", 0.5)
    (first,) = board.ask("QP0\r", 0.0005) + board.wait(0.002)
    assert 145 <= first <= 155
    board.ask("STOP0\r")
    (held,) = board.ask("QP0\r")
    assert board.ask("QP0\r", 2.0) == bytes((held,))
    assert held < 180


@pytest.mark.parametrize("firmware", ALL)
@pytest.mark.parametrize(("untouched", "bytes_"), [(Untouched.ZERO, {0}), (Untouched.MIDDLE, {150})])
def test_what_qp_answers_for_a_channel_that_nothing_has_driven_is_a_choice(terminal, firmware, untouched, bytes_):
    board = terminal(firmware, untouched=untouched)
    assert set(board.ask("QP0QP5QP31\r")) == bytes_
    assert board.ask("#5P1200\r") + board.ask("QP5\r") == b"\x78"
    board.ask("#5P0\r")
    assert board.ask("QP5\r") == b"\x00", "it was driven, and is no more"
    board.board.power_cycle(board.now_s)
    board.wait(0.2)
    assert set(board.ask("QP5\r")) == bytes_


def test_garbage_of_an_untouched_channel_is_any_byte_and_another_one_each_time(terminal):
    board = terminal(untouched=Untouched.GARBAGE)
    answers = b"".join(board.ask("QP0QP1QP2QP3\r") for _ in range(64))
    assert sorted(answers) == list(range(256))
    assert answers[:4] != answers[4:8]


@pytest.mark.parametrize("line", ["QP#4\r", "QP\r", "QP40\r", "QP04"])
def test_a_malformed_qp_answers_nothing(terminal, line):
    assert terminal().ask(line) == b""


def test_released_and_level_channels_answer_zero_to_qp(terminal):
    board = terminal()
    board.ask("#0P1500#1P1500\r")
    board.ask("#0P0\r")
    board.ask("#1H\r")
    assert board.ask("QP0QP1\r") == b"\x00\x00"


def test_a_query_in_the_middle_of_a_move_is_answered_and_disturbs_nothing(terminal):
    board = terminal()
    board.ask("#0P1500\r")
    board.frames.clear()
    board.ask("#0P1600T200\r", 0.05)
    board.ask("Q\rQP0\rVER\r", 0.3)
    assert board.widths(0) == list(range(1510, 1601, 10))


def test_idle_inputs_read_one_and_changes_count_after_15_ms(terminal):
    board = terminal()
    assert board.ask("A B C D\r") == b"1111"
    board.board.set_input("B", False, board.now_s)
    assert board.ask("B\r", 0.005) == b"1"
    board.wait(0.015)
    assert board.ask("A B\r") == b"10"


def test_a_glitch_shorter_than_15_ms_is_not_seen(terminal):
    board = terminal()
    board.board.set_input("A", False, 1.0)
    board.board.set_input("A", True, 1.01)
    board.now_s = 2.0
    assert board.ask("AL\r") == b"1"


def test_a_latched_input_remembers_a_low_until_it_is_read(terminal):
    board = terminal()
    board.board.set_input("D", False, 0.1)
    board.board.set_input("D", True, 0.2)
    board.now_s = 0.5
    assert board.ask("A B C DL\r") == b"1110"
    assert board.ask("DL\r") == b"1"


def test_the_first_analogue_read_is_invalid_and_then_volts_are_bytes(terminal):
    board = terminal()
    board.board.set_voltage("A", 2.0)
    board.board.set_voltage("B", 3.5)
    assert board.ask("VA VB\r") == b"\xff\xff"
    assert board.ask("VA VB\r") == bytes((102, 179))
    board.ask("A\r")
    assert board.ask("VA\r") == b"\xff"
    assert board.ask("VA\r") == bytes((102,))
    board.board.set_voltage("A", 9.0)
    assert board.ask("VA\r") == b"\xff"


def test_only_the_ssc32u_has_inputs_beyond_d(terminal):
    assert terminal(Firmware.U).ask("E EL F FL\r") == b"1111"
    assert terminal(Firmware.U).ask("VH\r") == b"\xff"
    for firmware in (Firmware.V1, Firmware.V2):
        assert terminal(firmware).ask("E\r") + terminal(firmware).ask("VE\r") == b""


# Reply timing.


@pytest.mark.parametrize(
    ("baud", "line", "milliseconds"),
    [
        (2400, "Q\r", 13.1),
        (9600, "Q\r", 3.7),
        (38400, "Q\r", 1.4),
        (115200, "Q\r", 0.86),
        (2400, "QP0QP1QP2QP3QP4QP5\r", 105),
        (9600, "QP0QP1QP2QP3QP4QP5\r", 27.0),
        (38400, "QP0QP1QP2QP3QP4QP5\r", 7.5),
        (115200, "QP0QP1QP2QP3QP4QP5\r", 3.1),
    ],
)
def test_round_trips_take_what_the_wire_the_transmit_delay_and_the_pacing_take(baud, line, milliseconds):
    board = Ssc32Board(BoardSettings(baud=baud))
    board.receive(line.encode(), 0.0, 10 / baud)
    assert board.transmit(1.0)[-1][0] * 1000 == pytest.approx(milliseconds, rel=0.02)


def test_replies_leave_only_when_their_time_has_come():
    board = Ssc32Board()
    board.receive(b"Q\r", 0.0, BYTE_S)
    assert board.transmit(0.0008) == []
    ((end_s, data),) = board.transmit(0.001)
    assert data == b"."
    assert end_s == pytest.approx(2 * BYTE_S + 600e-6 + BYTE_S)


def test_registers_1_and_2_set_delay_and_pacing_only_if_enabled(terminal):
    def last_byte_s(enabled):
        board = terminal(registers={0: enabled, 1: 2000, 2: 1000}).board
        board.receive(b"QP0QP1\r", 0.0, BYTE_S)
        return board.transmit(1.0)[-1][0]

    assert last_byte_s(2) == pytest.approx(9 * BYTE_S + 0.002 + 0.001)
    assert last_byte_s(0) == last_byte_s(0x8002) == pytest.approx(9 * BYTE_S + 670e-6)


# Stopping.


@pytest.mark.parametrize("line", ["STOP0\r", "stop 0\r", "STOP0STOP1\r"])
@pytest.mark.parametrize("firmware", NEWER)
def test_stop_freezes_a_channel_and_the_others_continue(terminal, firmware, line):
    board = terminal(firmware)
    board.ask("#0P1500#2P1500\r")
    board.ask("#0P2000#2P2000T1000\r", 0.5)
    board.ask(line, 1.0)
    assert 1700 < board.pulse(0) < 1800
    assert board.pulse(2) == 2000


def test_firmware_1_has_no_stop_and_no_registers(terminal):
    board = terminal(Firmware.V1)
    board.ask("#0P1500\r")
    board.ask("#0P2000T100\r", 0.02)
    assert board.ask("STOP0\rR0\rSS\rRDFLT\r", 2.0) == b""
    assert board.pulse(0) == 2000
    assert board.board.counts.parse_errors == 4


def test_stop_without_a_number_does_nothing(terminal):
    board = terminal()
    board.ask("#0P1500\r")
    board.ask("#0P2000T100\r", 0.02)
    board.ask("STOP\r", 0.2)
    assert board.pulse(0) == 2000


# Registers and the startup string.


def test_registers_have_their_defaults_and_answer_as_text(terminal):
    board = terminal(Firmware.U, baud=9600)
    for line, answer in [
        ("R0", b"0"),
        ("R1", b"600"),
        ("R2", b"70"),
        ("R4", b"960"),
        ("R32", b"0"),
        ("R64", b"1500"),
    ]:
        assert board.ask(line + "\r") == answer + b"\r"


@pytest.mark.parametrize("line", ["R32=-50\r", "r 32 = -50\r"])
def test_a_register_write_is_silent_and_reads_back(terminal, line):
    board = terminal()
    assert board.ask(line) == b""
    assert board.ask("R32\r") == b"-50\r"


def test_offsets_in_registers_stay_within_100(terminal):
    board = terminal()
    board.ask("R33=500\r")
    assert board.ask("R33\r") == b"100\r"


def test_rdflt_takes_more_than_a_second_and_then_says_ok(terminal):
    board = terminal()
    board.ask("R1=5\r")
    assert board.ask("RDFLT\r", 1.0) == b""
    assert board.wait(0.2) == b"OK\r"
    assert board.ask("R1\r") == b"600\r"


def test_register_values_are_applied_at_power_up_only(terminal):
    board = terminal()
    for line in ("R0=12\r", "R32=20\r", "R64=1000\r", "R65=0\r", "R66=65535\r", "R67=3000\r"):
        board.ask(line)
    assert board.board.pulses_us() == (0,) * 32
    board.board.power_cycle(board.now_s)
    board.wait(0.5)
    assert [board.pulse(n) for n in range(5)] == [1020, 0, 0, 2500, 1500]
    assert (board.board.level(1), board.board.level(2)) == (Level.LOW, Level.HIGH)


def test_bit_15_of_register_0_disables_everything_at_power_up(terminal):
    board = terminal(registers={0: 0x8000 | 15}, startup="#5P1500;")
    board.wait(0.5)
    assert board.board.pulses_us() == (0,) * 32


def test_without_its_bit_the_initial_width_stays_off(terminal):
    board = terminal(registers={0: 4, 32: 50})
    board.wait(0.5)
    assert board.pulse(0) == 0
    board.ask("#0P1500\r")
    assert board.pulse(0) == 1550


def test_an_ssc32u_changes_its_baud_rate_at_power_up(terminal):
    board = terminal(Firmware.U)
    board.ask("R4=960\r")
    assert board.board.baud == 115200
    board.board.power_cycle(board.now_s)
    board.wait(0.5)
    assert board.board.baud == 9600


def test_the_startup_string_is_appended_to_shown_and_deleted_from(terminal):
    board = terminal()
    assert board.ask("SS\r") == b'""\r'
    board.ask("SSCAT #0P1500;\r")
    board.ask("sscat  #1p700 T5;\r", 0.3)
    assert board.ask("SS\r") == b'"#0P1500; #1p700 T5;"\r'
    board.ask("SSDEL 11\r")
    assert board.ask("SS\r") == b'"#0P1500;"\r'
    board.ask("SSDEL255\r")
    assert board.ask("SS\r") == b'""\r'


def test_the_startup_string_keeps_100_characters(terminal):
    board = terminal()
    board.ask("SSCAT " + "A" * 150 + "\r", 1.0)
    assert board.ask("SS\r") == b'"' + b"A" * 100 + b'"\r'


def test_the_startup_string_runs_at_power_up_if_its_bit_is_set_and_may_not_write(terminal):
    startup = "#0P1500;R1=9;SSDEL255;#1P1600"
    board = terminal(registers={0: 1}, startup=startup)
    board.wait(0.5)
    assert (board.pulse(0), board.pulse(1)) == (1500, 0)
    assert board.board.machine.eeprom.register(1) == 600
    assert board.board.machine.eeprom.startup == startup
    board = terminal(startup=startup)
    board.wait(0.5)
    assert board.pulse(0) == 0


# Power.


def test_a_brown_out_is_silent_and_forgets_everything(terminal):
    board = terminal()
    board.ask("#0P1500\r")
    board.ask("#0PO50\r")
    board.ask("#0P2000T5000\r", 0.5)
    board.board.power_cycle(board.now_s)
    assert board.pulse(0) == 0
    assert board.wait(1.0) == b""
    assert board.ask("QP0Q\r") == b"\x00"
    assert board.ask("Q\r") == b"."
    board.ask("#0P1800T5000\r")
    assert board.pulse(0) == 1800
    assert board.board.counts.boots == 2


def test_bytes_sent_while_the_board_boots_are_lost(terminal):
    board = terminal()
    board.board.power_cycle(0.0)
    assert board.ask("VER\r", 0.05) == b""
    board.wait(0.1)
    assert board.ask("VER\r") == b"SSC32-V2.03XE\r"
    assert board.board.counts.lost == 4


def test_a_line_cut_by_the_end_of_booting_loses_only_its_beginning():
    board = Ssc32Board()
    board.power_cycle(0.0)
    board.receive(b"#0P1500\r#1P1600\r", 0.1 - 4.5 * BYTE_S, BYTE_S)
    board.advance(1.0)
    assert (board.pulse_us(0), board.pulse_us(1)) == (0, 1600)


def test_a_board_without_logic_supply_takes_bytes_and_never_answers():
    board = Ssc32Board(powered=False)
    board.receive(b"VER\r#0P1500\r", 0.0, BYTE_S)
    assert board.transmit(1.0) == []
    assert board.pulse_us(0) == 0
    board.power_cycle(1.0)
    board.receive(b"VER\r", 2.0, BYTE_S)
    assert len(board.transmit(3.0)) == 14


def test_a_hung_board_keeps_its_pulses_and_says_nothing(terminal):
    board = terminal()
    board.ask("#0P1500\r")
    board.ask("#0P2000T1000\r", 0.5)
    board.board.hang(board.now_s)
    held = board.pulse(0)
    assert board.ask("Q\r#0P1000\r", 2.0) == b""
    assert board.pulse(0) == held
    board.board.hang(board.now_s, False)
    assert board.ask("QP0\r") == bytes((int(held) // 10,))


def test_too_many_servos_starting_in_one_frame_can_brown_the_board_out(terminal):
    board = terminal(brown_out_channels=4)
    for channel in range(6):
        board.ask(f"#{channel}P1500\r")
    assert board.board.counts.boots == 1
    board.ask("#6P1500#7P1500#8P1500#9P1500\r", 0.5)
    assert board.board.counts.boots == 2
    assert board.board.pulses_us() == (0,) * 32


def test_a_pulled_cable_cuts_a_line_and_leaves_its_beginning_in_the_board():
    board = Ssc32Board()
    board.receive(b"#0P1500\r", 0.0, BYTE_S)
    board.cut(5.5 * BYTE_S)
    board.receive(b"\r", 1.0, BYTE_S)
    board.advance(2.0)
    assert board.pulse_us(0) == 500


# Other modes.


def test_after_goboot_only_g0000_is_understood(terminal):
    board = terminal()
    board.ask("#0P1500\r")
    board.ask("GOBOOT\r")
    assert board.board.state is BoardState.LOADER
    assert board.ask("VER\r") + board.ask("G0000\r") + board.ask(" g0000\r") == b""
    board.ask("g0000\r", 0.5)
    assert board.ask("VER\r") == b"SSC32-V2.03XE\r"
    assert board.pulse(0) == 0


def test_a_power_cycle_leaves_the_boot_loader_too(terminal):
    board = terminal()
    board.ask("GOBOOT\r")
    board.board.power_cycle(board.now_s)
    board.wait(0.5)
    assert board.ask("VER\r") == b"SSC32-V2.03XE\r"


def test_goboot_is_not_known_to_the_ssc32u(terminal):
    board = terminal(Firmware.U)
    board.ask("GOBOOT\r")
    assert board.ask("VER\r") == b"SSC32-V2.50USB\r"


@pytest.mark.parametrize(("value", "width"), [(0, 500), (125, 1500), (250, 2500)])
@pytest.mark.parametrize("firmware", [Firmware.V1, Firmware.V2])
def test_minissc_moves_at_once_without_a_carriage_return(terminal, firmware, value, width):
    board = terminal(firmware)
    board.ask(bytes((255, 7, value)))
    assert board.pulse(7) == width


@pytest.mark.parametrize("firmware", NEWER)
def test_binary_moves_wait_for_their_commit_and_take_its_time(terminal, firmware):
    board = terminal(firmware)
    board.ask("#0P1500#1P1500\r")
    board.frames.clear()
    board.ask(bytes((0x80, 1600 >> 8, 1600 & 255, 0x81, 1700 >> 8, 1700 & 255)))
    assert board.frames == []
    board.ask(bytes((0xA1, 0, 100)), 0.3)
    assert board.widths(0) == [1520, 1540, 1560, 1580, 1600]
    assert board.pulse(1) == 1700


def test_binary_width_zero_and_ffff_are_levels(terminal):
    board = terminal()
    board.ask("#0P1500#1P1500\r")
    board.ask(bytes((0x80, 0, 0, 0x81, 255, 255, 0xA1, 0, 0)))
    assert (board.board.level(0), board.board.level(1)) == (Level.LOW, Level.HIGH)


def test_a_byte_above_127_in_text_swallows_the_next_two_on_2_x(terminal):
    board = terminal()
    board.ask("#0P1500\r")
    board.ask("\xa5#0P1700\r")
    assert board.pulse(0) == 1500
    assert board.board.counts.binary == 1


def test_a_byte_above_127_in_text_is_discarded_on_1_x(terminal):
    board = terminal(Firmware.V1)
    board.ask("#0\xa5P1700\r")
    assert board.pulse(0) == 1700
    assert board.board.counts.oddities == 1


def test_the_player_of_gp_builds_answers_that_it_rests(terminal):
    assert terminal(version="SSC32-V2.04GP ").ask("PL0SQ1\rQPL0\r") == b"\xff\x00\x00\x00"
    assert terminal().ask("QPL0\r") == b""


# The wrong baud rate.


@pytest.mark.parametrize(
    ("line_baud", "board_baud"), [(115200, 9600), (9600, 115200), (38400, 115200), (115200, 38400)]
)
def test_at_the_wrong_baud_rate_the_board_hears_the_same_garbage_every_time(line_baud, board_baud):
    def heard():
        board = Ssc32Board(BoardSettings(firmware=Firmware.U, baud=board_baud))
        board.receive(b"\x1b\rVER\rVER\r#0P1500\r" * 5, 0.0, 10 / line_baud)
        replies = board.transmit(2.0)
        assert b"SSC32" not in b"".join(data for _, data in replies)
        return board.counts, replies, board.pulses_us()

    assert heard() == heard()
    assert heard()[0].framing_errors > 0


def test_a_few_percent_off_the_baud_rate_is_borne():
    board = Ssc32Board()
    board.receive(b"VER\r", 0.0, BYTE_S * 1.02)
    assert len(board.transmit(1.0)) == 14


def test_the_ssc32u_comes_at_9600_baud_and_the_others_at_115200():
    assert [Ssc32Board(BoardSettings(firmware=f)).baud for f in ALL] == [115200, 115200, 9600]
