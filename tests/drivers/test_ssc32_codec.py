"""The SSC-32's language: nothing illegal can be said, nothing can be misread."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers import _ssc32_codec as codec
from hil.errors import CommandError, ControllerError

MOVE = re.compile(rb"^(#\d{1,2}P\d{3,4}(S\d+)?)+(T\d+)?\r$")
ANYTHING = st.one_of(st.integers(), st.floats(), st.booleans(), st.none(), st.text(max_size=3))
CHANNELS = st.one_of(st.integers(-2, 34), ANYTHING)
PULSES = st.one_of(st.integers(490, 2510), ANYTHING)
TIMES = st.one_of(st.none(), st.integers(-1, 65540), ANYTHING)


@given(st.dictionaries(CHANNELS, PULSES, max_size=8), TIMES, st.dictionaries(CHANNELS, TIMES, max_size=2))
def test_a_move_is_refused_or_leaves_as_plain_text_with_every_number_in_range(pulses, time_ms, speeds):
    try:
        line = codec.encode_move(pulses, time_ms, speeds)
    except CommandError:
        return
    assert MOVE.match(line)
    assert set(line) <= {0x0D, *range(0x20, 0x7F)}
    for channel, pulse in re.findall(rb"#(\d+)P(\d+)", line):
        assert 0 <= int(channel) <= 31
        assert 500 <= int(pulse) <= 2500
    for number in re.findall(rb"[ST](\d+)", line):
        assert 1 <= int(number) <= 65535


@pytest.mark.parametrize("pulse", [1500.0, True, np.int64(1500), np.float64(1500), "1500", None, float("nan")])
def test_a_pulse_that_is_no_plain_whole_number_is_refused(pulse):
    with pytest.raises(CommandError, match=r"whole number 500\.\.2500"):
        codec.encode_move({0: pulse})


@pytest.mark.parametrize("pulse", [0, 499, 2501, 5000, -1500])
def test_a_pulse_out_of_range_is_refused_and_never_clamped(pulse):
    with pytest.raises(CommandError) as caught:
        codec.encode_move({0: pulse})
    assert caught.value.value == pulse


@pytest.mark.parametrize("yes", [True, np.int64(1), 1.0])
def test_a_yes_is_no_number_of_a_channel_and_no_time(yes):
    with pytest.raises(CommandError, match=r"whole number 0\.\.31"):
        codec.encode_move({yes: 1500})
    with pytest.raises(CommandError, match=r"whole number 1\.\.65535"):
        codec.encode_move({1: 1500}, yes)


@pytest.mark.parametrize("time_ms", [0, 65536, -1, 20.0, False])
def test_a_time_that_the_board_might_misread_is_refused(time_ms):
    with pytest.raises(CommandError, match="time in ms"):
        codec.encode_move({0: 1500}, time_ms)


def test_the_worked_example_of_the_manual_comes_out_as_printed():
    line = codec.encode_move({5: 1600, 17: 750, 2: 2250}, 2000, {17: 500})
    assert line == b"#5P1600#17P750S500#2P2250T2000\r"


def test_stop_goes_out_as_one_line_per_channel():
    assert codec.encode_stop([0, 5, 31]) == b"STOP0\rSTOP5\rSTOP31\r"


def test_an_empty_move_or_query_is_refused():
    for refused in (lambda: codec.encode_move({}), lambda: codec.query_pulses([])):
        with pytest.raises(CommandError):
            refused()


REPLIES = {
    codec.VERSION: b"SSC32-V2.04GP \r",
    codec.STATUS: b"+",
    codec.query_pulses([0, 1, 31]): bytes([150, 250, 0]),
    codec.query_register(0): b"-50\r",
    codec.STARTUP: b'"#0P1500T100;"\r',
}


@given(st.lists(st.sampled_from(list(REPLIES)), min_size=1, max_size=8), st.data())
def test_replies_match_their_questions_under_any_split_of_the_bytes(queries, data):
    stream = b"".join(REPLIES[query] for query in queries)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    decoder = codec.ReplyDecoder()
    for query in queries:
        decoder.expect(query)
    replies = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        replies += decoder.feed(stream[start:end])
    assert replies == [(query, REPLIES[query]) for query in queries]
    assert decoder.surplus == b""


def test_bytes_that_nobody_asked_for_are_kept_apart():
    decoder = codec.ReplyDecoder()
    decoder.expect(codec.STATUS)
    assert decoder.feed(b".\x96") == [(codec.STATUS, b".")]
    assert decoder.surplus == b"\x96"
    decoder.clear()
    assert decoder.surplus == b""


@given(st.binary(min_size=1, max_size=8))
def test_a_pulse_answer_is_read_exactly_or_refused_with_its_bytes(raw):
    try:
        pulses = codec.decode_pulses(raw)
    except ControllerError as error:
        assert error.raw == raw
        assert any(1 <= byte <= 49 or byte > 250 for byte in raw)
    else:
        assert pulses == tuple(10 * byte for byte in raw)


def test_plus_means_moving_dot_means_done_and_anything_else_means_unknown():
    assert codec.decode_status(b"+") is True
    assert codec.decode_status(b".") is False
    for raw in (b"", b"\x96", b"+."):
        with pytest.raises(ControllerError):
            codec.decode_status(raw)


@pytest.mark.parametrize(
    ("answer", "text", "stop"),
    [
        (b"SSC32-1.06XE\r", "SSC32-1.06XE", False),
        (b"SSC32-V2.01XE\r", "SSC32-V2.01XE", True),
        (b"SSC32-V2.04GP \r", "SSC32-V2.04GP", True),
        (b"SSC32-V2.50USB\r", "SSC32-V2.50USB", True),
        (b"SSC32-EXPERIMENT\r", "SSC32-EXPERIMENT", False),
        (b"\x00\x96\rSSC32-V2.04GP \r", "SSC32-V2.04GP", True),
    ],
)
def test_any_ssc32_is_recognised_and_its_abilities_follow_from_its_number(answer, text, stop):
    firmware = codec.find_version(answer)
    assert firmware is not None
    assert (firmware.text, firmware.has_stop, firmware.has_registers) == (text, stop, stop)


@pytest.mark.parametrize("answer", [b"", b"SSC32-V2.04GP", b"OK\r", b"ssc32-V2\r", b"$GPGGA,1,2\r", b"XSSC32-V2.0\r"])
def test_anything_else_is_not_taken_for_a_board(answer):
    assert codec.find_version(answer) is None


@pytest.mark.parametrize("raw", [b"", b"\r", b"abc\r", b"1e3\r", b"--5\r"])
def test_a_register_answer_that_is_no_number_is_refused(raw):
    with pytest.raises(ControllerError):
        codec.decode_register(raw)


def test_the_startup_string_loses_its_quotes_and_tells_whether_it_moves():
    assert codec.decode_startup(b'""\r') == ""
    assert codec.decode_startup(b'"#0P1500 T100;"\r') == "#0P1500 T100;"
    assert codec.startup_moves("#0P1500;")
    assert codec.startup_moves("pl0sq1;")
    assert not codec.startup_moves("")
    with pytest.raises(ControllerError):
        codec.decode_startup(b"#0P1500;\r")


@given(st.dictionaries(st.integers(0, 31), st.integers(-10, 3000), min_size=1), st.integers(1, 65535))
def test_no_move_ever_lets_a_servo_go(pulses, time_ms):
    try:
        data = codec.encode_move(pulses, time_ms)
    except CommandError:
        return
    assert 0 not in pulses.values() and b"P0" not in data
