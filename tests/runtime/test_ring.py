from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import JournalError
from hil.runtime.processes import process_alive
from hil.runtime.ring import HEADER_BYTES, RingReader, RingWriter, record_bytes

PAGE = mmap.PAGESIZE
SIZES = st.integers(0, 700) | st.integers(0, PAGE + 40)


def _payload(number: int, size: int) -> bytes:
    return bytes([number % 251]) * size


class RingModel:
    """What a ring of one page should hold: the newest records that fit together."""

    def __init__(self) -> None:
        self.held: deque[tuple[int, int, bytes | None]] = deque()
        self.head = 0

    def append(self, number: int, payload: bytes) -> None:
        size = record_bytes(len(payload))
        kept: bytes | None = payload if size <= PAGE else None
        start = self.head
        self.head += size if kept is not None else record_bytes(0)
        self.held.append((start, number, kept))
        while self.held[0][0] < self.head - PAGE:
            self.held.popleft()


@settings(max_examples=150, deadline=None)
@given(steps=st.lists(st.tuples(SIZES, st.booleans(), st.booleans()), max_size=40), limit=st.integers(1, 7))
def test_every_reader_gets_all_that_is_still_there_and_counts_the_rest_exactly(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, bool, bool]], limit: int
) -> None:
    path = tmp_path_factory.mktemp("ring") / "ring"
    writer, model = RingWriter.create(path, PAGE), RingModel()
    readers = [RingReader(path), RingReader(path, slot=1)]
    seen: list[list[int]] = [[], []]

    def drain(i: int) -> None:
        before = readers[i].next_number
        records: list[tuple[int, bytes]] = []
        while not readers[i].drained:
            batch = readers[i].numbered(limit)
            assert len(batch) <= limit
            records += batch
        assert records == [(n, p) for _, n, p in model.held if p is not None and n >= before]
        seen[i].extend(number for number, _ in records)

    for number, (size, first_reads, second_reads) in enumerate(steps):
        payload = _payload(number, size)
        assert writer.append(payload) == (record_bytes(size) <= PAGE)
        model.append(number, payload)
        for i, reads in enumerate((first_reads, second_reads)):
            if reads:
                drain(i)
    for i, reader in enumerate(readers):
        drain(i)
        assert reader.next_number == (len(steps) if model.held else 0)
        assert reader.lost == len(steps) - len(seen[i])
        assert seen[i] == sorted(set(seen[i]))
        reader.close()
    writer.close()


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return tmp_path / "ring"


def test_a_reader_from_now_on_sees_only_what_comes_and_has_lost_nothing(ring: Path) -> None:
    with RingWriter.create(ring, PAGE) as writer:
        writer.append(b"before")
        with RingReader(ring, from_now=True) as reader:
            writer.append(b"after")
            assert reader.numbered(10) == [(1, b"after")]
            assert reader.lost == 0


def test_a_record_that_is_being_overwritten_is_never_returned(ring: Path) -> None:
    """The writer stops dead between its claim and its head: what it may have touched counts as gone."""
    writer = RingWriter.create(ring, PAGE)
    half = b"a" * (PAGE // 2 - 16)
    writer.append(half)
    writer.append(half)
    words = memoryview(writer._map)[:HEADER_BYTES].cast("Q")
    words[6] = writer._head + 64  # claim
    words[7] = PAGE // 2  # tail
    with RingReader(ring) as reader:
        assert reader.numbered(10) == [(1, half)]
        assert reader.lost == 1
    words.release()


def test_a_record_whose_bytes_have_not_arrived_is_waited_for_and_then_given_up(ring: Path) -> None:
    writer = RingWriter.create(ring, PAGE)
    writer.append(b"payload")
    at = HEADER_BYTES + 16
    writer._map[at : at + 1] = b"P"
    with RingReader(ring) as reader:
        assert reader.read(10) == []
        writer._map[at : at + 1] = b"p"
        assert reader.read(10) == [b"payload"]
        writer.append(b"spoilt")
        writer._map[at + 32 : at + 33] = b"S"
        assert [reader.read(10) for _ in range(3)] == [[], [], []]
        writer.append(b"next")
        assert reader.numbered(10) == [(2, b"next")]
        assert reader.lost == 1


def test_the_header_tells_readers_about_the_writer(ring: Path) -> None:
    writer = RingWriter.create(ring, PAGE)
    with RingReader(ring) as reader:
        assert reader.writer_pid == os.getpid()
        assert not reader.closed
        assert reader.heartbeat_s != reader.heartbeat_s
        writer.beat(12.5)
        assert reader.heartbeat_s == 12.5
        writer.close("parkiert, Ende")
        writer.close()
        assert reader.closed
        assert reader.closing_reason == "parkiert, Ende"


def test_a_long_closing_reason_is_cut_at_a_whole_character(ring: Path) -> None:
    writer = RingWriter.create(ring, PAGE)
    writer.close("x" + "ü" * 600)
    with RingReader(ring) as reader:
        assert set(reader.closing_reason) == {"x", "ü"}


def test_the_writer_sees_how_far_a_declared_reader_is_and_when_it_was_last_at_work(ring: Path) -> None:
    with RingWriter.create(ring, PAGE) as writer:
        assert writer.slot(0) is None
        writer.append(b"one")
        assert writer.free_bytes(0) == PAGE - 32
        with RingReader(ring, slot=0) as reader:
            reader.read(1)
            reader.beat(3.0)
            slot = writer.slot(0)
            assert slot is not None
            assert (slot.pid, slot.cursor, slot.heartbeat_s) == (os.getpid(), 32, 3.0)
            assert writer.free_bytes(0) == PAGE


def test_the_writer_sees_how_much_is_kept_and_the_first_words_of_trouble(ring: Path) -> None:
    with RingWriter.create(ring, PAGE) as writer, RingReader(ring, slot=0) as keeper:
        for _ in range(3):
            writer.append(b"one")
        assert (writer.kept, writer.unkept, writer.trouble) == (None, 3, "")
        keeper.keep(0)
        assert (writer.kept, writer.unkept) == (0, 3)
        keeper.keep(2)
        assert (writer.kept, writer.unkept) == (2, 1)
        keeper.complain("die Platte ist voll " + "ü" * 600)
        keeper.complain("something else")
        assert writer.trouble.startswith("die Platte ist voll ü")


def test_a_reader_without_a_slot_can_tell_the_writer_nothing(ring: Path) -> None:
    with RingWriter.create(ring, PAGE) as writer, RingReader(ring) as reader:
        reader.keep(5)
        reader.complain("nothing is kept")
        assert (writer.kept, writer.trouble) == (None, "")


def test_a_ring_can_be_made_by_one_process_and_written_by_another(ring: Path) -> None:
    RingWriter.create(ring, PAGE).detach()
    with RingReader(ring) as reader:
        assert not reader.closed
        with RingWriter.attach(ring) as writer:
            writer.append(b"hello")
            assert reader.read() == [b"hello"]
        with pytest.raises(JournalError, match="was written to this ring before; make a new one"):
            RingWriter.attach(ring)


def test_a_new_ring_at_the_same_place_leaves_readers_of_the_old_one_alone(ring: Path) -> None:
    old = RingWriter.create(ring, PAGE)
    old.append(b"old")
    reader = RingReader(ring)
    with RingWriter.create(ring, PAGE) as new:
        new.append(b"new")
        assert reader.read(5) == [b"old"]
        with RingReader(ring) as second:
            assert second.read(5) == [b"new"]


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"x" * (HEADER_BYTES + PAGE)])
def test_a_file_that_is_no_ring_is_refused_by_name(ring: Path, content: bytes) -> None:
    ring.write_bytes(content)
    with pytest.raises(JournalError, match="ring: not a ring file"):
        RingReader(ring)


WRITER = """
import sys
from pathlib import Path
from hil.runtime.ring import RingWriter
writer = RingWriter.create(Path(sys.argv[1]), 1 << 16)
number = 0
while True:
    writer.append(number.to_bytes(8, "little") * (number % 97))
    number += 1
    if number == 20000:
        print("running", flush=True)
"""


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")
def test_a_killed_writer_leaves_a_ring_that_can_be_drained_to_its_last_whole_record(ring: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(ring)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with RingReader(ring) as reader:
            live = reader.numbered(200)
            process.send_signal(signal.SIGKILL)
            process.wait()
            records = live + reader.numbered(1 << 20)
            assert records
            for number, payload in records:
                assert payload == number.to_bytes(8, "little") * (number % 97)
            assert reader.next_number == records[-1][0] + 1 >= 20000
            assert reader.lost == reader.next_number - len(records)
            assert reader.drained
            assert not reader.closed
            assert not process_alive(reader.writer_pid)


@pytest.mark.processes
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux shows unreaped processes")
def test_a_killed_child_that_nobody_has_reaped_counts_as_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", "print(1, flush=True); input()"], stdout=-1, stdin=-1) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert process_alive(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not process_alive(child.pid)
        child.wait()
    assert not process_alive(0)
    assert process_alive(os.getpid())
