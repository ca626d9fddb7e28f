"""The oracle of unsafe bytes: what it lets pass, what it finds, and where it says it is."""

from __future__ import annotations

import functools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_session import Session, lynx6

from hil.errors import ConfigError
from hil.testing.oracle import UnsafeBytes
from hil.types import JointCommand, LetGo, Mode, Reset, SupplyCut, TickRecord

FIRST_MOVES = b"#0P1460\r#1P1520\r#2P1725\r#3P1455\r#5P1580\r#4P1760\r"


def fed(*lines: bytes, every_s: float = 1.0) -> UnsafeBytes:
    """An oracle that was told these lines, one a second."""
    oracle = UnsafeBytes(lynx6())
    for number, line in enumerate(lines):
        oracle.feed(line, number * every_s)
    return oracle


# -- bytes of any program ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"#0P1500T1000\r",
        b"#0P1500S500\r",
        b"#0P1500 S500 T100\r",
        b" #0 P1500 #1 P1500 T1000 \r",
        b"#0p1500t1000\r",
        b"#0P1460\r",
        b"VER\rQ\rQP0\rQP0QP1QP31\rR0\rSS\r",
        b"STOP0\r",
        b"#31P1750\r",
        b"\x1b\r",
        b"#0P9999\x1b#0P1500T1000\r",
        b"#0P9999",
        b"\r\r",
    ],
)
def test_what_a_careful_program_sends_passes(line: bytes) -> None:
    assert not fed(FIRST_MOVES, line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"#0P2302T3000\r", "2302 us is outside its pulse limits, 545..2301 us"),
        (b"#0P544T3000\r", "outside its pulse limits"),
        (b"#7P1500T1000\r", "channel 7 is not the rig's"),
        (b"#0P1500\r", "base moves by 4.19 deg without time or speed"),
        (b"#0P1500T10\r", "allowed: 60.00 deg/s"),
        (b"#0P1500S5000\r", "allowed: 60.00 deg/s"),
        (b"#0P1460#1P1700T10\r", "shoulder moves by"),
        (b"PL 0 SQ 1\r", "not a line whose effect is known"),
        (b"#0H\r", "not a line whose effect is known"),
        (b"#0PO50\r", "not a line whose effect is known"),
        (b"GOBOOT\r", "not a line whose effect is known"),
        (b"R4=960\r", "not a line whose effect is known"),
        (b"\x80\x05\xdc\r", "not plain text: it can begin a binary command"),
        (b"#0P1460.5T100\r", "not a line whose effect is known"),
    ],
)
def test_what_could_hurt_is_found_in_words(line: bytes, words: str) -> None:
    oracle = fed(FIRST_MOVES, line)
    assert oracle.first is not None
    assert words in oracle.first.text
    with pytest.raises(AssertionError, match="unsafe: byte"):
        oracle.check()


@pytest.mark.parametrize("line", [b"#0P1460T1000\r", b"#0P1460S100\r", b"#0P1460#1P1520\r"])
def test_a_first_move_has_to_be_alone_and_plain(line: bytes) -> None:
    first = fed(line).first
    assert first is not None
    assert "base is driven for the first time, and not alone and plainly" in first.words


def test_the_offset_is_where_the_bad_target_stands() -> None:
    data = FIRST_MOVES + b"#1P1520#0P2400T5000\r"
    first = fed(data).first
    assert first is not None
    assert data[first.offset :].startswith(b"#0P2400")


def test_a_program_that_streams_within_the_speed_limit_passes_and_twice_as_fast_does_not() -> None:
    def streamed(step_us: int) -> UnsafeBytes:
        oracle = fed(b"#0P1460\r")
        for k in range(40):
            oracle.feed(f"#0P{1460 + step_us * k}T60\r".encode(), 1.0 + 0.02 * k)
        return oracle

    assert not streamed(11)
    assert streamed(22)


def test_a_stopped_channel_counts_from_where_it_was_stopped() -> None:
    half_way = (b"#0P1460\r", b"#0P2060T2000\r", b"STOP0\r", b"#0P1760\r")
    assert not fed(*half_way)
    assert fed(*half_way[:2], b"", half_way[3])


@functools.cache
def pieces() -> tuple[bytes, list[str]]:
    data = FIRST_MOVES + b"#0P2400T60\r#7P1500\rVER\r#1P1600\rnonsense\r#2P1725T20\r"
    return data, [finding.text for finding in UnsafeBytes(lynx6()).feed(data, 1.0).findings]


@given(cuts=st.lists(st.integers(0, 200), max_size=12))
def test_it_does_not_matter_in_which_pieces_bytes_come(cuts: list[int]) -> None:
    data, whole = pieces()
    oracle, at = UnsafeBytes(lynx6()), 0
    for cut in [*sorted(cuts), len(data)]:
        oracle.feed(data[at:cut], 1.0)
        at = max(at, cut)
    assert [finding.text for finding in oracle.findings] == whole
    assert len(whole) == 5
    assert oracle.seen == len(data)


@given(axis=st.integers(0, 5), pulse_us=st.integers(500, 2500))
def test_a_pulse_is_unsafe_exactly_outside_the_limits_of_pulse_and_joint(axis: int, pulse_us: int) -> None:
    rig = lynx6()
    wire, limits = rig.controller.axes[axis], rig.axes[axis]  # type: ignore[attr-defined]
    ends = sorted(rig.controller.maps[axis](x) for x in (limits.lower, limits.upper))  # type: ignore[attr-defined]
    inside = ends[0] - 0.5 <= pulse_us <= ends[1] + 0.5 and wire.lower_us <= pulse_us <= wire.upper_us
    assert bool(fed(f"#{wire.channel}P{pulse_us}\r".encode())) is not inside


def test_a_controller_that_it_cannot_read_is_refused() -> None:
    class Other:
        kind = "other"

    with pytest.raises(ConfigError, match="'other' given"):
        UnsafeBytes(msgspec.structs.replace(lynx6(), controller=Other()))


# -- ticks of the bridge -----------------------------------------------------------------------------------


@functools.cache
def streaming() -> tuple[TickRecord, ...]:
    return tuple(Session().to(Mode.STREAMING).records)


def spoilt(at: TickRecord, written: bytes) -> UnsafeBytes:
    records = [msgspec.structs.replace(r, written=written) if r is at else r for r in streaming()]
    return UnsafeBytes(lynx6()).take(records)


def test_a_session_of_the_bridge_passes_and_all_its_bytes_were_seen() -> None:
    oracle = UnsafeBytes(lynx6()).take(streaming())
    assert not oracle
    assert oracle.seen == sum(len(record.written) for record in streaming())
    assert "nothing unsafe" in repr(oracle)


def test_a_finding_names_tick_mode_byte_and_line() -> None:
    record = next(r for r in streaming() if isinstance(r.sent, JointCommand))
    oracle = spoilt(record, record.written.replace(b"#0P14", b"#0P24"))
    assert oracle.first is not None
    assert (oracle.first.tick, oracle.first.mode) == (record.tick, Mode.STREAMING)
    assert f"tick {record.tick}" in oracle.first.text and "streaming" in oracle.first.text


def test_two_moves_in_a_tick_and_half_a_line_are_found() -> None:
    record = next(r for r in streaming() if isinstance(r.sent, JointCommand))
    assert any("second timed move" in f.words for f in spoilt(record, record.written * 2).findings)
    assert any("without an end" in f.words for f in spoilt(record, record.written + b"#0P1").findings)


def test_first_moves_without_a_pause_are_found() -> None:
    """All servos at once pull the supply down, and the board restarts."""
    hasty = msgspec.structs.replace(lynx6(), energise_dwell_s=0.1)
    records = Session(hasty).to(Mode.IDLE).records
    assert not UnsafeBytes(hasty).take(records)
    first = UnsafeBytes(lynx6()).take(records).first
    assert first is not None
    assert "ms after the one before; allowed: 400 or more" in first.words


# -- the servo supply --------------------------------------------------------------------------------------


def judged(session: Session) -> str:
    first = UnsafeBytes(lynx6()).take(session.records).first
    return "" if first is None else first.words


def test_an_arm_that_is_driven_after_a_cut_without_a_new_word_is_found() -> None:
    session = Session()
    session.until(Mode.UNKNOWN_POSE)
    session.until(Mode.ENERGISING, session.confirm())
    honest = session.records
    assert judged(session) == ""
    cut = msgspec.structs.replace(honest[-2], requests=(SupplyCut(by="the test"),))
    session.records = [*honest[:-2], cut, honest[-1]]
    assert "energising after the servo supply was said to be cut" in judged(session)


def test_the_way_back_after_a_cut_is_let_pass() -> None:
    session = Session()
    session.until(Mode.UNKNOWN_POSE)
    session.tick(SupplyCut(by="the test"))
    session.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    session.until(Mode.IDLE, session.vouch())
    assert judged(session) == ""


# -- axes that are let go of -------------------------------------------------------------------------------


def let_go() -> Session:
    session = Session().to(Mode.IDLE)
    session.run(0.2, LetGo(axis="elbow", by="the test"))
    return session


def test_an_axis_that_was_let_go_of_by_name_is_let_pass() -> None:
    assert judged(let_go()) == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"requests": ()}, "lets a servo go that nobody has asked for"),
        ({"requests": (LetGo(axis="wrist", by="the test"),)}, "lets a servo go that nobody has asked for"),
        ({"written": b"#2P0\r#2P0\r"}, "lets a servo go that nobody has asked for"),
        ({"written": b"#2P0\r#3P0\r"}, "lets a servo go that nobody has asked for"),
        ({"mode": Mode.STREAMING}, "lets a servo go while the arm is streaming"),
    ],
)
def test_an_axis_that_is_let_go_of_otherwise_is_found(changes: dict[str, object], words: str) -> None:
    session = let_go()
    index = next(i for i, record in enumerate(session.records) if record.released is not None)
    session.records[index] = msgspec.structs.replace(session.records[index], **changes)
    assert judged(session) == words


def test_a_pose_from_before_an_axis_was_let_go_of_counts_no_more() -> None:
    session = let_go()
    session.until(Mode.ENERGISING, session.confirm())
    last = msgspec.structs.replace(session.records[-1], requests=())
    confirmed = next(r for r in reversed(session.records) if r.requests)
    session.records = [
        msgspec.structs.replace(r, requests=()) if r is confirmed else r for r in session.records[:-1]
    ] + [last]
    assert judged(session) == "energising without a confirmed pose"
