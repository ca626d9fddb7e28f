"""The last gate before an SSC-32: it reads the finished bytes and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers import _ssc32_codec as codec
from drivers._ssc32_gate import Gate, Wire
from hil.errors import CommandError
from hil.link import AxisBounds, MotionBounds
from hil.piecewise import PiecewiseLinear

WIRES = (
    Wire("base", 0, 500, 2400, ((-1.0, 600.0), (0.0, 1500.0), (1.0, 2300.0))),
    Wire("elbow", 3, 700, 2300, ((-1.0, 2400.0), (1.0, 600.0))),
)
BOUNDS = MotionBounds(
    axes=(AxisBounds(lower=-0.9, upper=0.9, step=0.02), AxisBounds(lower=-0.8, upper=0.8, step=0.02)),
    period_s=0.02,
    look_ahead_s=0.04,
)
SAMPLES = np.array([[0.0, 0.0], [0.01, -0.01], [0.02, -0.02]])
ROWS = (b"#0P1500#3P1500T40\r", b"#0P1508#3P1509T40\r", b"#0P1516#3P1518T40\r")


def gate(limits_us: dict[int, tuple[int, int]]) -> Gate:
    return Gate(
        [Wire(f"channel {n}", n, low, high, ((0.0, 500.0), (1.0, 2500.0))) for n, (low, high) in limits_us.items()]
    )


def bound(*sent: bytes) -> Gate:
    """A gate that knows the arm, and by which these lines have left."""
    made = Gate(WIRES)
    made.bound(BOUNDS)
    for line in (b"#0P1500\r", b"#3P1500\r", *sent):
        made.check(line)
        made.left()
    return made


def certified(rows: int = 0) -> Gate:
    """One in the middle of a certified motion."""
    made = bound()
    made.certify(SAMPLES)
    for index in range(rows):
        made.check_row(ROWS[index], index)
        made.left()
    return made


# -- whatever leaves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"#0P1500\n",
        b"#0P1500\xff\r",
        "\ufeff#0P1500\r".encode(),
        b"",
        b"\r",
        b"#0P9999\r",
        b"#0P499\r",
        b"#1P1500\r",
        b"#0P1500",
        b"#0P1500\r#0P1",
        b"#0P1500#0P1600\r",
        b"#0 P1500\r",
        b"#0P1500S100\r",
        b"#0P1500T\r",
        b"#0P1500T0\r",
        b"#0P1500T65536\r",
        b"#0P1500T40#0P1500\r",
        b"#0P+1500\r",
        b"#0P1500.5\r",
        b"PL0SQ1\r",
        b"STOP\r",
        b"R0=1\r",
    ],
)
def test_what_is_no_known_line_or_no_allowed_pulse_does_not_leave(data):
    with pytest.raises(CommandError):
        gate({0: (500, 2500)}).check(data)


@pytest.mark.parametrize(
    "data",
    [
        codec.CANCEL,
        b"~~" + codec.CANCEL + codec.VERSION.line,
        codec.STATUS.line + codec.STARTUP.line,
        codec.query_pulses([0, 31]).line + codec.query_register(0).line,
        codec.encode_stop([0, 31]),
        codec.CANCEL + codec.encode_move({0: 1500}),
        codec.encode_move({0: 500}, 65535),
    ],
)
def test_what_the_driver_has_to_say_leaves(data):
    gate({0: (500, 2500)}).check(data)


@given(st.binary(max_size=40))
def test_no_byte_that_could_start_a_binary_command_passes(data):
    try:
        gate({0: (600, 2400)}).check(data)
    except CommandError:
        return
    assert all(byte in (0x0D, 0x1B) or 0x20 <= byte <= 0x7E for byte in data)


@given(st.integers(0, 31), st.sets(st.integers(0, 31), max_size=6))
def test_a_release_is_one_line_of_one_channel_and_leaves_as_such_alone(channel, allowed):
    data, made = codec.encode_release(channel), gate(dict.fromkeys(allowed, (500, 2500)))
    if channel in allowed:
        made.check_release(data)
    else:
        with pytest.raises(CommandError):
            made.check_release(data)
    with pytest.raises(CommandError, match="pulse 0 would let the servo go; only a release does"):
        gate(dict.fromkeys(range(32), (0, 2500))).check(data)


@pytest.mark.parametrize(
    "data", [b"#0P0\r#1P0\r", b"#0P0#1P0\r", b"#0P0T20\r", b"#0P0", b"#0P1500\r", b"\x1b\r#0P0\r", b"#99P0\r", b""]
)
def test_nothing_else_leaves_as_a_release(data):
    with pytest.raises(CommandError):
        gate(dict.fromkeys(range(32), (500, 2500))).check_release(data)


# -- an arm's own limits -----------------------------------------------------------------------------------


def test_an_arm_s_limits_become_pulses_that_lie_inside_of_them():
    made = bound()
    for line, allowed in ((b"#0P689\r", "690..2220"), (b"#0P2221\r", "690..2220"), (b"#3P779\r", "780..2220")):
        with pytest.raises(CommandError, match=allowed):
            made.check(line)
    for line in (b"#0P690\r", b"#0P2220\r", b"#3P780\r", b"#3P2220\r"):
        made.check(line)


def test_a_group_move_goes_no_further_than_the_highest_speed_and_the_rounding_take_it():
    made = bound()
    made.check(b"#0P1519#3P1481T40\r")
    with pytest.raises(CommandError, match="base: from a pulse of 1500 to 1520 us in one step; allowed: 19 us"):
        made.check(b"#0P1520#3P1500T40\r")
    with pytest.raises(CommandError, match="elbow: from a pulse of 1481 to 1461 us in one step; allowed: 19 us"):
        bound(b"#0P1500#3P1481T40\r").check(b"#0P1500#3P1461T40\r")


def test_a_group_move_names_every_axis_and_takes_the_look_ahead():
    made = bound()
    for line, words in (
        (b"#0P1500T40\r", "names the channels 0, 3"),
        (b"#0P1500#3P1500T39\r", r"39 ms; allowed: 40\.\.40 ms"),
        (b"#0P1500#3P1500T4\r", "4 ms"),
        (b"#0P1500#3P1500T400\r", "400 ms"),
    ):
        with pytest.raises(CommandError, match=words):
            made.check(line)


def test_what_was_not_driven_or_was_stopped_does_not_go_in_a_group():
    made = Gate(WIRES)
    made.bound(BOUNDS)
    with pytest.raises(CommandError, match="base: a group move, and channel 0 was not driven before"):
        made.check(ROWS[0])
    made = bound(b"STOP0\rSTOP3\r")
    with pytest.raises(CommandError, match="was not driven before"):
        made.check(ROWS[0])
    made = bound()
    made.check_release(b"#3P0\r")
    made.left()
    with pytest.raises(CommandError, match="was not driven before"):
        made.check(ROWS[0])


def test_a_line_that_did_not_leave_is_no_step_to_count_from():
    made = bound()
    made.check(b"#0P1515#3P1500T40\r")
    with pytest.raises(CommandError, match="from a pulse of 1500"):
        made.check(b"#0P1530#3P1500T40\r")


# -- a certified motion ------------------------------------------------------------------------------------


def test_the_lines_of_a_certified_motion_leave_in_their_order():
    certified(rows=3)


@given(st.integers(0, 17), st.integers(0, 255))
def test_a_changed_byte_of_a_certified_line_is_found(place, byte):
    line = bytearray(ROWS[1])
    if line[place] == byte:
        return
    line[place] = byte
    with pytest.raises(CommandError):
        certified(rows=1).check_row(bytes(line), 1)


@pytest.mark.parametrize("index", [-1, 0, 2, 3, 10**9])
def test_a_sample_whose_turn_it_is_not_is_found(index):
    made = certified(rows=2) if index == 0 else certified(rows=1) if index != 3 else certified(rows=3)
    with pytest.raises(CommandError, match="its turn has sample"):
        made.check_row(ROWS[1], index)


def test_the_line_of_another_sample_is_found():
    with pytest.raises(CommandError, match=r"elbow, sample 1: a pulse of 1518 us, and the certified one is 1509\.0 us"):
        certified(rows=1).check_row(ROWS[2], 1)


@pytest.mark.parametrize("place", range(len(ROWS[2])))
def test_in_the_middle_of_a_motion_each_byte_of_a_line_is_read(place):
    line = bytearray(ROWS[2])
    line[place] ^= 1
    with pytest.raises(CommandError):
        certified(rows=2).check_row(bytes(line), 2)


def test_in_the_middle_of_a_motion_the_step_is_that_from_the_line_that_left():
    """The row before was looked at and did not leave: from what did, the step to this one is looked at anew."""
    made = certified(rows=2)
    made.check_row(ROWS[2], 2)
    made.check(b"#0P1300\r")
    made.left()
    with pytest.raises(CommandError, match="in one step"):
        made.check_row(ROWS[2], 2)


def test_a_sample_that_did_not_leave_comes_again_and_a_motion_begins_at_its_first():
    made = certified(rows=1)
    made.check_row(ROWS[1], 1)
    made.check_row(ROWS[1], 1)
    made.begin()
    with pytest.raises(CommandError, match="its turn has sample 0"):
        made.check_row(ROWS[1], 1)


def test_a_certified_line_is_held_against_the_arm_s_limits_all_the_same():
    made = bound(*(b"#0P%d\r" % pulse_us for pulse_us in (2215,)))
    made.certify(np.array([[0.91, 0.0]]))
    with pytest.raises(CommandError, match=r"channel 0: pulse 2228 us; allowed: 690\.\.2220 us"):
        made.check_row(b"#0P2228#3P1500T40\r", 0)


@given(st.lists(st.floats(-1.5, 1.5), min_size=1, max_size=20))
def test_its_arithmetic_is_that_of_the_calibration(positions):
    for wire in WIRES:
        known = PiecewiseLinear(*zip(*wire.points, strict=True))
        assert wire.exact_us(np.array(positions)) == pytest.approx([known(x) for x in positions], abs=1e-9)
