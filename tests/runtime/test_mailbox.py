from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import CommandError, InterlockError
from hil.runtime.mailbox import RESERVED_BYTES, MailboxReader, MailboxWriter
from hil.types import Arm, Confirm, Disconnect, EmergencyStop, FollowTarget, Load, Request, Reset, Start, Stop

CAPACITY = 4 * RESERVED_BYTES
WORDS = st.text(max_size=20)
REQUESTS: st.SearchStrategy[Request] = st.one_of(
    st.builds(Confirm, positions=st.lists(st.floats(-10, 10), min_size=1, max_size=8).map(tuple), by=WORDS),
    st.builds(Load, motion=st.binary(max_size=2000), certificate=st.binary(max_size=200)),
    st.builds(Arm, digest=WORDS),
    st.builds(Start, digest=WORDS),
    st.builds(Stop, reason=WORDS),
    st.builds(EmergencyStop, reason=WORDS),
    st.builds(Reset, by=WORDS),
    st.builds(Disconnect, reason=WORDS),
)


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[MailboxWriter, MailboxReader]]:
    writer = MailboxWriter.create(tmp_path / "box", CAPACITY)
    reader = MailboxReader(tmp_path / "box")
    yield writer, reader
    reader.close()
    writer.close()


@settings(max_examples=50, deadline=None)
@given(st.lists(REQUESTS, max_size=30), st.integers(1, 9))
def test_requests_arrive_as_they_were_sent_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, requests: list[Request], limit: int
) -> None:
    path = tmp_path_factory.mktemp("box") / "box"
    writer = MailboxWriter.create(path, CAPACITY)
    reader = MailboxReader(path)
    for request in requests:
        writer.send(request)
    taken: list[Request] = []
    while batch := reader.take(limit):
        assert len(batch) <= limit
        taken.extend(batch)
    assert taken == requests
    reader.close()
    writer.close()


@given(st.binary(max_size=60))
@settings(max_examples=100, deadline=None)
def test_no_bytes_in_the_box_make_the_loop_stumble(tmp_path_factory: pytest.TempPathFactory, junk: bytes) -> None:
    path = tmp_path_factory.mktemp("box") / "box"
    writer = MailboxWriter.create(path, CAPACITY)
    reader = MailboxReader(path)
    writer._ring.append(junk)
    writer.send(Stop(reason="end"))
    assert reader.take()[-1] == Stop(reason="end")
    reader.close()
    writer.close()


@pytest.mark.parametrize("targets", [1, 8, 60, 100])
def test_a_stop_does_not_stand_in_line_behind_targets_to_follow(
    ends: tuple[MailboxWriter, MailboxReader], targets: int
) -> None:
    writer, reader = ends
    for number in range(targets):
        writer.send(FollowTarget(seq=number, issued_s=0.01 * number, positions=(0.1,)))
    writer.send(Stop(reason="enough"))
    taken = reader.take()
    assert taken[-1] == Stop(reason="enough")
    assert len(taken) == targets + 1


def test_so_many_looks_are_taken_into_a_box_full_of_targets_in_one_tick(
    ends: tuple[MailboxWriter, MailboxReader],
) -> None:
    writer, reader = ends
    for number in range(200):
        writer.send(FollowTarget(seq=number, issued_s=0.01 * number, positions=(0.1,)))
    assert [len(reader.take()), len(reader.take()), len(reader.take())] == [128, 72, 0]


def test_what_cannot_be_read_stops_the_arm_in_its_turn_and_says_why(ends: tuple[MailboxWriter, MailboxReader]) -> None:
    writer, reader = ends
    writer.send(Start(digest="d"))
    writer._ring.append(b"\x81\xa4type\xa5dance")
    writer.send(Arm(digest="d"))
    first, stop, last = reader.take()
    assert (first, last) == (Start(digest="d"), Arm(digest="d"))
    assert isinstance(stop, Stop)
    assert stop.reason == "a request of 12 bytes to the loop cannot be read: Invalid value 'dance' - at `$.type`"


def test_what_is_wrong_with_a_request_is_told_in_few_letters(ends: tuple[MailboxWriter, MailboxReader]) -> None:
    writer, reader = ends
    writer._ring.append(msgspec.msgpack.encode({"type": "x" * 60_000}))
    (stop,) = reader.take()
    assert isinstance(stop, Stop) and len(stop.reason) == 200


def test_a_pose_that_is_not_finite_is_refused_at_both_ends(ends: tuple[MailboxWriter, MailboxReader]) -> None:
    writer, reader = ends
    nowhere = Confirm(positions=(0.0, math.nan), by="somebody")
    with pytest.raises(CommandError, match=r"confirmed pose: \(0.0, nan\) given; allowed: finite numbers"):
        writer.send(nowhere)
    writer._ring.append(writer._encoder.encode(nowhere))
    (stop,) = reader.take()
    assert isinstance(stop, Stop) and "finite numbers" in stop.reason


def test_a_full_box_refuses_new_work_but_never_a_stop(ends: tuple[MailboxWriter, MailboxReader]) -> None:
    writer, reader = ends
    load = Load(motion=bytes(RESERVED_BYTES), certificate=b"")
    sent = 0
    with pytest.raises(InterlockError, match="load: not sent, the loop has not taken"):
        while True:
            writer.send(load)
            sent += 1
    assert sent == 2
    writer.send(Stop(reason="enough"))
    writer.send(EmergencyStop(reason="really"))
    assert reader.take() == (load, load, Stop(reason="enough"), EmergencyStop(reason="really"))
    writer.send(load)
    assert reader.take() == (load,)


def test_a_request_that_can_never_fit_says_how_large_it_may_be(
    ends: tuple[MailboxWriter, MailboxReader],
) -> None:
    with pytest.raises(CommandError, match=rf"load: \d+ bytes given; allowed: {CAPACITY - RESERVED_BYTES}"):
        ends[0].send(Load(motion=bytes(CAPACITY), certificate=b""))


def test_the_loop_judges_the_owners_age_by_its_own_clock(ends: tuple[MailboxWriter, MailboxReader]) -> None:
    writer, reader = ends
    assert reader.age_s(5.0) == math.inf
    writer.beat(5.0)
    assert reader.age_s(5.25) == 0.25
    assert reader.age_s(4.0) == 0.0
    assert not reader.closed
    writer.close()
    assert reader.closed
