"""Streaming, echo, stop and restart: what leaves, what is believed, and what is refused."""

import contextlib
import math
import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from ssc32_script import Bench, BoardPort

from hil.errors import CommandError, ControllerError, HilError, LinkClosed, LinkError, LinkOverrun
from hil.types import EnergiseCommand, JointCommand, LinkPhase

V1 = b"SSC32-1.06XE\r"
NUMBERS = st.one_of(st.floats(-4, 4), st.floats(allow_nan=True, allow_infinity=True))


def moves(port):
    return [data for _, _, data in port.sent if data.startswith(b"#")]


# --- first move ---


def test_the_first_move_of_a_channel_is_plain_alone_and_untimed():
    bench = Bench()
    bench.connect()
    bench.port.sent.clear()
    bench.energise(0.0, 0.0, 0.01)
    assert moves(bench.port) == [b"#0P1460\r", b"#2P1455\r", b"#4P1625\r"]


def test_no_timed_move_leaves_while_any_axis_is_unknown():
    bench = Bench()
    bench.connect()
    bench.energise(0.0, 0.0)
    before = list(bench.port.sent)
    with pytest.raises(CommandError, match="not energised: gripper") as caught:
        bench.move(0.0, 0.0, 0.01)
    assert caught.value.axis == "gripper"
    assert bench.port.sent == before


def test_energising_returns_what_the_board_sees_and_marks_only_that_axis():
    bench = Bench()
    bench.connect()
    command = EnergiseCommand(seq=1, axis=1, position=0.2)
    sent = bench.driver.write(command, bench.now_s)
    assert isinstance(sent, EnergiseCommand)
    assert sent.position == bench.settings.quantise([0.0, 0.2, 0.0])[1]
    assert bench.tick().known == (False, True, False)


def test_an_axis_that_does_not_exist_cannot_be_energised():
    bench = Bench()
    bench.connect()
    for axis in (-1, 3):
        with pytest.raises(CommandError, match=r"allowed: 0\.\.2"):
            bench.driver.write(EnergiseCommand(seq=1, axis=axis, position=0.0), bench.now_s)


# --- moves ---


def test_a_move_is_one_write_with_all_axes_and_the_time_to_its_due_moment():
    bench = Bench().ready()
    sent = bench.move(0.1, -0.2, 0.02, due_in_s=0.06)
    assert [data for _, _, data in bench.port.sent] == [b"#0P1515#2P1568#4P1834T60\r"]
    assert list(sent.positions) == bench.settings.quantise([0.1, -0.2, 0.02]).tolist()


@pytest.mark.parametrize(("due_in_s", "time_ms"), [(0.0, 1), (-5.0, 1), (0.0004, 1), (1.5, 1500), (1e6, 65535)])
def test_the_time_of_a_move_stays_within_what_the_board_takes(due_in_s, time_ms):
    bench = Bench().ready()
    bench.move(0.0, 0.0, 0.01, due_in_s=due_in_s)
    assert moves(bench.port)[0].endswith(b"T%d\r" % time_ms)


def test_a_position_outside_the_pulse_limits_names_axis_pulse_and_allowed_and_nothing_leaves():
    bench = Bench().ready()
    with pytest.raises(CommandError) as caught:
        bench.move(0.0, math.radians(95), 0.01)
    assert caught.value.axis == "elbow"
    assert "elbow: 95.00 deg needs a pulse of 531.4 us; allowed: 580..2340 us" in str(caught.value)
    assert bench.port.sent == []


@pytest.mark.parametrize("positions", [(0.0, 0.0), (0.0,) * 4])
def test_a_command_of_the_wrong_length_is_refused(positions):
    bench = Bench().ready()
    with pytest.raises(CommandError, match="allowed: 3"):
        bench.move(*positions)
    assert bench.port.sent == []


def test_numbers_of_commands_must_rise_and_a_refused_one_does_not_count():
    bench = Bench().ready()
    bench.move(0.0, 0.0, 0.01)
    same = JointCommand(seq=bench.seq, due_s=bench.now_s + 0.1, positions=(0.0, 0.0, 0.01))
    with pytest.raises(CommandError, match="must rise"):
        bench.driver.write(same, bench.now_s)
    bench.tick()
    with pytest.raises(CommandError):
        bench.move(9.0, 0.0, 0.01)
    bench.seq -= 1
    bench.move(0.0, 0.0, 0.01)


def test_before_ready_and_after_close_every_command_is_refused():
    bench = Bench()
    command = EnergiseCommand(seq=1, axis=0, position=0.0)
    with pytest.raises(LinkClosed, match="not connected"):
        bench.driver.write(command, bench.now_s)
    bench.driver.open(bench.now_s)
    bench.tick()
    with pytest.raises(LinkError, match="still connecting"):
        bench.driver.write(command, bench.now_s)


@hypothesis_settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.floats(-1, 100), st.integers(-1, 3)), max_size=12))
def test_whatever_is_asked_no_byte_leaves_that_breaks_a_pulse_limit(asked):
    bench = Bench().ready()
    for base, elbow, gripper, due_in_s, axis in asked:
        bench.seq += 1
        with contextlib.suppress(HilError):
            bench.driver.write(EnergiseCommand(seq=bench.seq, axis=axis, position=base), bench.now_s)
        with contextlib.suppress(HilError):
            bench.move(base, elbow, gripper, due_in_s=due_in_s)
        bench.tick()
    limits = {axis.channel: (axis.lower_us, axis.upper_us) for axis in bench.settings.axes}
    for line in moves(bench.port):
        assert re.fullmatch(rb"(#\d{1,2}P\d{3,4})+(T\d+)?\r", line)
        for channel, pulse in re.findall(rb"#(\d+)P(\d+)", line):
            low, high = limits[int(channel)]
            assert low <= int(pulse) <= high
        for time_ms in re.findall(rb"T(\d+)", line):
            assert 1 <= int(time_ms) <= 65535


# --- the wire's time ---


def test_a_line_that_has_not_drained_refuses_the_next_move_and_sends_nothing():
    bench = Bench(BoardPort(baud=9600, speed=9600), baud=9600).ready()
    bench.move(0.0, 0.0, 0.01)
    bench.move(0.0, 0.0, 0.01)
    sent = len(bench.port.sent)
    with pytest.raises(LinkOverrun, match="one move in flight"):
        bench.move(0.0, 0.0, 0.01)
    assert len(bench.port.sent) == sent
    bench.tick(5)
    bench.move(0.0, 0.0, 0.01)


def test_sending_faster_than_the_wire_never_makes_the_arm_lag_by_more_than_two_moves():
    bench = Bench(BoardPort(baud=9600, speed=9600), baud=9600).ready()
    free_s, refused = bench.now_s, 0
    for _ in range(200):
        start = len(bench.port.sent)
        try:
            bench.move(0.0, 0.0, 0.01)
        except LinkOverrun:
            refused += 1
        for at_s, _, data in bench.port.sent[start:]:
            free_s = max(at_s, free_s) + len(data) * 10 / 9600
            assert free_s - at_s <= 2 * len(b"#0P2320#2P2340#4P2500T65535\r") * 10 / 9600
        bench.tick()
    assert refused > 0


def test_queries_wait_for_an_idle_line():
    bench = Bench(BoardPort(baud=9600, speed=9600), baud=9600).ready()
    bench.move(0.0, 0.0, 0.01)
    bench.move(0.0, 0.0, 0.01)
    sent = len(bench.port.sent)
    bench.tick(1)
    assert len(bench.port.sent) == sent


def test_a_stalled_port_is_an_overrun_and_the_torn_line_is_cancelled_before_the_next():
    bench = Bench().ready()
    bench.port.room = 5
    with pytest.raises(LinkOverrun):
        bench.move(0.3, 0.0, 0.01)
    bench.port.room = None
    bench.seq -= 1
    bench.move(0.3, 0.0, 0.01)
    assert bench.port.lines == [b"#0P1624#2P1455#4P1625T60"]


# --- echo ---


def test_pulses_are_asked_at_ten_hertz_or_more_while_streaming():
    bench = Bench().ready()
    for _ in range(100):
        bench.tick()
        bench.move(0.0, 0.0, 0.01)
    asked = [at_s for at_s, _, data in bench.port.sent if data.startswith(b"QP")]
    assert max(b - a for a, b in pairwise(asked)) <= 0.1
    assert len(asked) <= 50


def test_at_most_one_query_is_open_on_a_line_that_is_known_to_be_slow():
    port = BoardPort()
    port.mangle = lambda line, reply: [(0.09, reply)]
    bench = Bench(port).ready()
    open_queries = 0
    for _ in range(100):
        before = len(bench.port.coming)
        bench.tick()
        open_queries = max(open_queries, len(bench.port.coming))
        assert before <= 1
    assert open_queries == 1


def test_on_a_line_that_has_just_become_slow_few_are():
    bench = Bench().ready()
    bench.port.mangle = lambda line, reply: [(0.25, reply)]
    assert max(len(bench.tick() and bench.port.coming) for _ in range(100)) <= 7


@pytest.mark.parametrize("delay_s", [0.0, 0.005, 0.016, 0.05, 0.09])
def test_a_line_that_is_always_slow_is_waited_for(delay_s):
    port = BoardPort()
    port.mangle = lambda line, reply: [(delay_s, reply)]
    bench = Bench(port).ready()
    state = bench.tick(20)
    assert (state.line.late, state.line.lost, state.line.overdue_s) == (0, 0, None)
    assert bench.now_s - state.line.believed_s < 0.3


def test_a_line_that_becomes_slow_is_waited_for_once_it_is_known_to_be():
    bench = Bench().ready()
    bench.port.mangle = lambda line, reply: [(0.06, reply)]
    bench.tick(100)
    late = bench.driver.read(bench.now_s).line.late
    assert bench.tick(200).line.late == late > 0


def test_a_missing_reply_is_overdue_at_the_second_look_and_asked_for_again_at_once():
    bench = Bench().ready()
    while not bench.port.lines or not bench.port.lines[-1].startswith(b"QP"):
        bench.tick()
    bench.port.coming.clear()
    bench.port.lines.clear()
    assert bench.tick().line.overdue_s is None
    assert bench.tick().line.overdue_s == pytest.approx(bench.now_s - 0.04, abs=0.004)
    assert bench.port.lines == [b"VER", b"QP0QP2QP4QP31"]
    state = bench.tick(2)
    assert (state.line.lost, state.line.late, state.line.overdue_s) == (1, 0, None)


def test_a_board_that_falls_silent_leaves_the_newest_report_as_old_as_it_is():
    bench = Bench().ready()
    bench.tick(2)
    bench.port.mangle = lambda line, reply: []
    states = [bench.tick() for _ in range(50)]
    assert states[-1].line.overdue_s == states[5].line.overdue_s
    assert states[-1].line.believed_s == states[5].line.believed_s


def test_silence_is_asked_about_sparingly():
    bench = Bench().ready()
    bench.port.mangle = lambda line, reply: []
    bench.tick(50)
    assert len(bench.port.sent) <= 50


def test_a_byte_that_is_no_width_makes_the_whole_reading_void():
    bench = Bench().ready()
    good = bench.tick(10).joints
    bench.port.mangle = lambda line, reply: [
        (0.0, reply[:1] + b"\x0d" + reply[2:] if line.startswith(b"QP") else reply)
    ]
    state = bench.tick(30)
    assert state.line.noise_bytes > 0
    assert state.line.overdue_s is not None
    assert state.joints.positions == good.positions


def test_one_reading_whose_canary_is_neither_off_nor_as_set_is_asked_again_and_not_believed():
    bench = Bench().ready()
    good = bench.tick(10).joints
    wrong = iter([b"\x92\x92\x92\x97"])
    bench.port.mangle = lambda line, reply: [(0.0, next(wrong, reply) if line.startswith(b"QP") else reply)]
    states = [bench.tick() for _ in range(30)]
    assert {state.joints.positions for state in states} == {good.positions}
    assert states[-1].line.wrong_echoes == 1
    assert states[-1].line.doubtful_s is None


@pytest.mark.parametrize("answers", [(0x96, 0x96), (0x96, 0x32, 0xFA), (0x96, 0x00, 0x96)])
def test_a_canary_that_keeps_reading_something_else_is_a_restart_whatever_it_reads(answers):
    bench = Bench().ready()
    bench.tick(10)
    values = iter(answers)
    bench.port.mangle = lambda line, reply: [
        (0.0, reply[:-1] + bytes([next(values, 0xAF)]) if line.startswith(b"QP") else reply)
    ]
    with pytest.raises(ControllerError, match=r"restarted.*canary channel as it was set \(it reads"):
        bench.tick(30)
    assert next(values, None) is None


FAULTS = st.sampled_from(["lose", "double", "delay", "long delay", "split", "stray", "none"])


@hypothesis_settings(deadline=None, max_examples=150)
@example([("lose", 0)] * 3 + [("stray", 0), ("lose", 0), ("delay", 2), ("double", 0), ("lose", 0)])
@given(st.lists(st.tuples(FAULTS, st.integers(0, 20)), max_size=40))
def test_lost_doubled_late_and_stray_bytes_never_shift_a_value(faults):
    script = iter(faults)

    def mangle(line, reply):
        fault, at = next(script, ("none", 0))
        at %= len(reply)
        return {
            "lose": [(0.0, reply[:at] + reply[at + 1 :])],
            "double": [(0.0, reply[: at + 1] + reply[at:])],
            "delay": [(0.0, reply[:at]), (0.06, reply[at:])],
            "long delay": [(0.0, reply[:at]), (0.15, reply[at:])],
            "split": [(0.0, reply[:at]), (0.021, reply[at:])],
            "stray": [(0.0, reply), (0.03, b"\x96")],
            "none": [(0.0, reply)],
        }[fault]

    bench = Bench(canary_channel=None)
    bench.connect()
    truth = (1500, 900, 2200)
    bench.energise(*(bench.settings.position(i, width) for i, width in enumerate(truth)))
    bench.tick(10)
    bench.port.mangle = mangle
    expected = tuple(bench.settings.position(i, width) for i, width in enumerate(truth))
    try:
        for _ in range(300):
            assert bench.tick().joints.positions == pytest.approx(expected)
    except ControllerError as error:
        # Answers that lose a byte again and again, with another in its place, say twice what the board cannot make.
        assert "commands arrive damaged" in str(error)
        assert sum(fault != "none" for fault, _ in faults) >= 4
        return
    bench.port.mangle = lambda line, reply: [(0.0, reply)]
    state = bench.tick(60)
    assert bench.now_s - state.joints.t_s < 0.1
    assert state.line.overdue_s is None


def test_a_pause_of_the_whole_program_neither_loses_a_reply_nor_counts_one():
    bench = Bench().ready()
    for _ in range(5):
        bench.now_s += 2.0
        bench.tick()
    state = bench.tick(5)
    assert (state.line.late, state.line.lost, state.line.noise_bytes) == (0, 0, 0)


# --- restart ---


def test_a_restart_in_mid_stream_is_seen_by_the_canary_and_ends_all_motion():
    bench = Bench().ready()
    bench.port.restart()
    restarted_s = bench.now_s
    with pytest.raises(ControllerError, match=r"restarted.*canary"):
        for _ in range(20):
            bench.tick()
            bench.move(0.0, 0.0, 0.01)
    assert bench.now_s - restarted_s <= 0.2
    sent = len(moves(bench.port))
    state = bench.tick(20)
    assert state.known == (False, False, False)
    for command in (
        JointCommand(seq=10**6, due_s=bench.now_s, positions=(0.0, 0.0, 0.01)),
        EnergiseCommand(seq=10**6, axis=0, position=0.0),
    ):
        with pytest.raises(ControllerError, match="restarted"):
            bench.driver.write(command, bench.now_s)
    assert len(moves(bench.port)) == sent


def test_without_a_canary_a_restart_at_rest_is_seen_by_the_axes():
    bench = Bench(canary_channel=None).ready()
    bench.port.restart()
    with pytest.raises(ControllerError, match="base, elbow, gripper"):
        bench.tick(20)


def test_a_channel_read_before_its_first_pulse_could_show_is_no_restart():
    bench = Bench(canary_channel=None)
    bench.connect()
    for axis, channel in enumerate(bench.settings.channels):
        bench.tick(2)
        bench.driver.write(EnergiseCommand(seq=axis + 1, axis=axis, position=0.01), bench.now_s)
        width = bench.port.widths.pop(channel)
        bench.tick(2)
        bench.port.widths[channel] = width
    assert bench.tick(20).known == (True, True, True)


def test_after_a_restart_only_a_new_connection_moves_the_arm_again():
    bench = Bench().ready()
    bench.port.restart()
    with pytest.raises(ControllerError):
        bench.tick(20)
    bench.driver.stop(bench.now_s)
    bench.driver.close()
    bench.port.closed = False
    bench.connect()
    bench.energise(0.0, 0.0, 0.01)
    bench.move(0.0, 0.0, 0.01)


# --- stop ---


def test_stop_freezes_every_axis_in_one_write_and_twice_is_fine():
    bench = Bench().ready()
    bench.move(0.5, 0.0, 0.01)
    bench.driver.stop(bench.now_s)
    bench.driver.stop(bench.now_s)
    stops = [data for _, _, data in bench.port.sent if b"STOP" in data]
    assert stops == [b"\x1b\rSTOP0\rSTOP2\rSTOP4\r"] * 2


def test_stop_goes_out_whatever_is_still_queued():
    bench = Bench(BoardPort(baud=9600, speed=9600), baud=9600).ready()
    bench.move(0.5, 0.0, 0.01)
    bench.move(0.5, 0.0, 0.01)
    bench.driver.stop(bench.now_s)
    assert bench.port.sent[-1][2].startswith(b"\x1b\rSTOP")


def test_stop_never_drops_the_arm():
    for version in (V1, b"SSC32-V2.50USB\r"):
        bench = Bench(BoardPort(version)).ready()
        bench.driver.stop(bench.now_s)
        assert not re.search(rb"#\d+(P0+[#\r]|[LH])", bench.port.bytes_sent)


def test_firmware_1_is_frozen_at_the_pulse_it_should_have_now_and_says_so():
    bench = Bench(BoardPort(V1)).ready()
    bench.move(0.5, 0.0, 0.01, due_in_s=1.0)
    bench.tick(25)
    bench.driver.stop(bench.now_s)
    half_way = bench.port.sent[-1][2]
    match = re.fullmatch(rb"\x1b\r#0P(\d+)\r", half_way)
    assert match
    assert int(match[1]) == pytest.approx((1460 + 1734) / 2, abs=3)
    bench.tick()
    assert any("SSC32-1.06XE has no STOP" in notice for notice in bench.notices)
    sent = len(bench.port.sent)
    bench.driver.stop(bench.now_s)
    assert len(bench.port.sent) == sent


def test_firmware_1_is_sent_nothing_by_a_stop_while_nothing_moves():
    """A board that has restarted would take it for a first move of every limp servo at once."""
    bench = Bench(BoardPort(V1)).ready()
    bench.move(0.5, 0.0, 0.01)
    bench.tick(10)
    sent = len(bench.port.sent)
    bench.driver.stop(bench.now_s)
    assert len(bench.port.sent) == sent


def test_stop_is_safe_in_any_state():
    bench = Bench()
    bench.driver.stop(bench.now_s)
    bench.driver.open(bench.now_s)
    bench.driver.stop(bench.now_s)
    bench.driver.close()
    bench.driver.stop(bench.now_s)
    bench.port.closed = False
    bench.connect()
    bench.port.gone = True
    bench.driver.stop(bench.now_s)
    bench.driver.stop(bench.now_s)
    with pytest.raises(LinkClosed):
        bench.tick()
    assert bench.tick().phase is LinkPhase.CLOSED


# --- the line fails ---


@pytest.mark.parametrize("act", ["read", "write"])
def test_an_unplugged_adapter_is_one_clear_error_and_then_a_closed_link(act):
    bench = Bench().ready()
    bench.port.gone = True
    with pytest.raises(LinkClosed):
        bench.tick() if act == "read" else bench.move(0.0, 0.0, 0.01)
    state = bench.tick()
    assert state.phase is LinkPhase.CLOSED
    assert state.known == (False, False, False)
    assert state.joints is None
    assert state.identity == ""
    assert bench.port.closed


def test_close_sends_nothing_and_twice_is_fine():
    bench = Bench().ready()
    sent = len(bench.port.sent)
    bench.driver.close()
    bench.driver.close()
    assert len(bench.port.sent) == sent
