"""A byte ring in a memory-mapped file: one process writes and never waits, any number of others read.

A file, because on Python 3.11 a reader's exit deletes `SharedMemory`. It outlives a killed writer.

Layout: a header of 4096 bytes, then the data, addressed by positions that only grow (modulo the capacity).
A record is a length, a checksum and a running number, then the payload, padded to 16 bytes. The writer
publishes `tail` and `claim` before it touches the bytes of a record and `head` after; a reader copies, then
looks whether `claim` has meanwhile reached what it copied. The three are aligned 64-bit words, each stored in
one go. So is `kept`, by which the reader that keeps the records says how many it has; its words of trouble stand in
the header before the mark that there are some. While it starts, the writer leaves marks there of how far it is. The
checksum covers machines that let another core see `head` before the payload.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import tempfile
import zlib
from collections import deque
from pathlib import Path

from hil.errors import JournalError
from hil.types import Record

MAGIC = b"HILRING1"
VERSION = 2
HEADER_BYTES = 4096
READER_SLOTS = 4
RECORDER_SLOT = 0

_RECORD = struct.Struct("=IIQ")
_TOO_LARGE = 0xFFFFFFFF
_ANY = -1
_ALIGN = _RECORD.size
_PATIENCE = 3
"""Calls of `read` after which a record whose checksum stays wrong is given up."""

# Indices of 64-bit words in the header; word 0 is the magic.
_VERSION, _CAPACITY, _PID, _CLOSED, _HEAD, _CLAIM, _TAIL, _BEAT, _KEPT, _TROUBLE = range(1, 11)
_SLOTS = 16
_SLOT_WORDS = 4  # pid, cursor, heartbeat, one spare
_MARKS, _MOST_MARKS = 64, 8  # word of the first; two words each: time, and time used by the process
_REASON_AT, _TROUBLE_AT, _WORDS_BYTES = 1024, 2048, 512


def default_folder() -> Path:
    """A folder in memory where the system has one, so that the loop never waits for a disk."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


class ReaderSlot(Record, frozen=True):
    """What a declared reader publishes: who it is, how far it has read, when it was last at work."""

    pid: int
    cursor: int
    heartbeat_s: float


class _Mapped:
    """The mapped file and its header as aligned 64-bit words."""

    def __init__(self, path: Path, writable: bool) -> None:
        self.path = Path(path)
        with self.path.open("r+b" if writable else "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= HEADER_BYTES:
                raise JournalError(f"{self.path}: not a ring file, or not a whole one ({size} bytes)")
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
            self._map = mmap.mmap(file.fileno(), size, access=access)
        self._header = memoryview(self._map)[:HEADER_BYTES]
        self._words, self._stamps = self._header.cast("Q"), self._header.cast("d")
        self.capacity_bytes = self._words[_CAPACITY]
        if (
            bytes(self._header[:8]) != MAGIC
            or self._words[_VERSION] != VERSION
            or self.capacity_bytes != size - HEADER_BYTES
        ):
            self._unmap()
            raise JournalError(f"{self.path}: not a ring file of version {VERSION}")

    @property
    def writer_pid(self) -> int:
        """Process that created the ring."""
        return self._words[_PID]

    @property
    def heartbeat_s(self) -> float:
        """The writer's last heartbeat on its own clock; NaN before the first one."""
        return self._stamps[_BEAT]

    @property
    def closed(self) -> bool:
        """True once the writer has closed the ring on purpose."""
        return self._words[_CLOSED] != 0

    @property
    def closing_reason(self) -> str:
        """What the writer said when it closed the ring."""
        return self._text(_REASON_AT)

    @property
    def trouble(self) -> str:
        """Why the one who keeps the records cannot go on, in his words; empty while he can."""
        return self._text(_TROUBLE_AT) if self._words[_TROUBLE] else ""

    def mark(self, place: int) -> tuple[float, float] | None:
        """Clock reading and CPU seconds that the writer has marked in one of eight places; None before."""
        at_s = self._stamps[_MARKS + 2 * place]
        return (at_s, self._stamps[_MARKS + 2 * place + 1]) if at_s else None

    def _text(self, at: int) -> str:
        return bytes(self._header[at : at + _WORDS_BYTES]).rstrip(b"\0").decode("utf-8", errors="ignore")

    def _put_text(self, at: int, text: str) -> None:
        data = text.encode("utf-8")[:_WORDS_BYTES]
        self._header[at : at + len(data)] = data

    def _unmap(self) -> None:
        for view in (self._words, self._stamps, self._header):
            view.release()
        self._map.close()


class RingWriter(_Mapped):
    """The one writer: use `create`, or `attach` in a process that was handed a fresh ring."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, writable=True)
        if self._words[_HEAD] != 0:
            self._unmap()
            raise JournalError(f"{path}: something was written to this ring before; make a new one")
        self._starts: deque[int] = deque()
        self._next_number = 0
        self._head = 0
        self._open = True

    @classmethod
    def create(cls, path: Path, capacity_bytes: int) -> RingWriter:
        """Make a ring that appears at `path` whole or not at all; an older file there is replaced.

        Args:
            path: where; see `default_folder`.
            capacity_bytes: room for records, rounded up to whole pages.

        Raises:
            OSError: the file cannot be made, for instance because the memory file system is too small.
        """
        capacity_bytes = max(1, -(-capacity_bytes // mmap.PAGESIZE)) * mmap.PAGESIZE
        header = struct.pack("=8sQQQ", MAGIC, VERSION, capacity_bytes, os.getpid())
        header += bytes(8 * _BEAT - len(header)) + struct.pack("=d", math.nan)
        half_made = path.with_name(f"{path.name}.{os.getpid()}.new")
        # Zeros, not a hole: a full file system shows here, and not as a bus error in the loop.
        with half_made.open("wb") as file:
            file.write(header.ljust(HEADER_BYTES, b"\0"))
            for _ in range(capacity_bytes // mmap.PAGESIZE):
                file.write(bytes(mmap.PAGESIZE))
        half_made.replace(path)
        return cls(path)

    @classmethod
    def attach(cls, path: Path) -> RingWriter:
        """Become the writer of a ring that another process has made and let go of with `detach`.

        Raises:
            OSError: the file cannot be opened.
            JournalError: it is not a ring, or was written to before.
        """
        writer = cls(path)
        writer._words[_PID] = os.getpid()
        return writer

    def detach(self) -> None:
        """Let go of the file without closing the ring: another process will `attach` to it."""
        if self._open:
            self._open = False
            self._unmap()

    @property
    def count(self) -> int:
        """Records appended so far, which is the number of the next one."""
        return self._next_number

    def append(self, payload: bytes) -> bool:
        """Add one record over the oldest ones; returns at once.

        Returns:
            False if the payload is larger than the ring: its number is used up, and readers count it as lost.
        """
        number, length = self._next_number, len(payload)
        self._next_number = number + 1
        size = record_bytes(length)
        fits = size <= self.capacity_bytes
        if not fits:
            payload, length, size = b"", _TOO_LARGE, _ALIGN
        start, words, starts, capacity = self._head, self._words, self._starts, self.capacity_bytes
        end = start + size
        while starts and starts[0] < end - capacity:
            starts.popleft()
        words[_TAIL] = starts[0] if starts else start
        words[_CLAIM] = end
        at = start % capacity + HEADER_BYTES
        _RECORD.pack_into(self._map, at, length, _checksum(number, payload), number)
        self._copy_in(at + _ALIGN, payload)
        words[_HEAD] = self._head = end
        starts.append(start)
        return fits

    def _copy_in(self, at: int, payload: bytes) -> None:
        room = len(self._map) - at
        if len(payload) <= room:
            self._map[at : at + len(payload)] = payload
        else:
            self._map[at : at + room] = payload[:room]
            self._map[HEADER_BYTES : HEADER_BYTES + len(payload) - room] = payload[room:]

    def beat(self, now_s: float) -> None:
        """Publish a heartbeat."""
        self._stamps[_BEAT] = now_s

    def slot(self, index: int) -> ReaderSlot | None:
        """What the reader declared in slot `index` last published; None while nobody has declared himself."""
        word = _SLOTS + index * _SLOT_WORDS
        if self._words[word] == 0:
            return None
        return ReaderSlot(pid=self._words[word], cursor=self._words[word + 1], heartbeat_s=self._stamps[word + 2])

    def set_mark(self, place: int, now_s: float, cpu_s: float) -> None:
        """Say that something has been reached, and what this process has used of a core until then."""
        assert 0 <= place < _MOST_MARKS and now_s
        self._stamps[_MARKS + 2 * place + 1] = cpu_s
        self._stamps[_MARKS + 2 * place] = now_s  # last: it says that there is one

    @property
    def kept(self) -> int | None:
        """How many records have been kept for good, as their keeper says; None before his first word."""
        return self._words[_KEPT] - 1 if self._words[_KEPT] else None

    @property
    def unkept(self) -> int:
        """Records appended of which the keeper has not said that they are kept."""
        return self._next_number - (self.kept or 0)

    def free_bytes(self, index: int) -> int:
        """Bytes that can be appended before what the reader in slot `index` has still to read is lost."""
        slot = self.slot(index)
        return self.capacity_bytes - (self._head - (slot.cursor if slot else 0))

    def close(self, reason: str = "") -> None:
        """Mark the ring closed, with a word why, and let go of the file; twice is fine."""
        if not self._open:
            return
        self._put_text(_REASON_AT, reason)
        self._words[_CLOSED] = 1
        self.detach()

    def __enter__(self) -> RingWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RingReader(_Mapped):
    """One reader with its own cursor.

    Args:
        path: the ring.
        slot: index of the slot in which this reader declares itself to the writer; None to stay unseen.
        from_now: begin with the next record that is appended, instead of with record 0.

    Raises:
        OSError: the file cannot be opened.
        JournalError: it is not a ring.
    """

    def __init__(self, path: Path, *, slot: int | None = None, from_now: bool = False) -> None:
        super().__init__(path, writable=slot is not None)
        self.lost = 0
        self._cursor = self._words[_HEAD] if from_now else 0
        self._next_number = _ANY if from_now else 0
        self._disappointments = 0
        self._open = True
        self._slot = None if slot is None else _SLOTS + slot * _SLOT_WORDS
        if self._slot is not None:
            self._stamps[self._slot + 2] = math.nan
            self._words[self._slot + 1] = self._cursor
            self._words[self._slot] = os.getpid()

    @property
    def drained(self) -> bool:
        """True while every complete record has been read."""
        return self._cursor == self._words[_HEAD]

    @property
    def next_number(self) -> int:
        """All records with lower numbers were read or are lost; -1 until a reader `from_now` has read one."""
        return self._next_number

    def read(self, limit: int = 1000) -> list[bytes]:
        """Up to `limit` payloads, oldest first; `lost` counts what was overwritten before it was read."""
        if self._cursor >= self._words[_HEAD]:
            return []
        return [payload for _, payload in self.numbered(limit)]

    def numbered(self, limit: int) -> list[tuple[int, bytes]]:
        """Up to `limit` records as (running number, payload); a jump in the numbers is a loss."""
        records: list[tuple[int, bytes]] = []
        for _ in range(limit):
            record = self._next()
            if record is None and self._overwritten():
                self._cursor = self._words[_TAIL]
                record = self._next()
            if record is None:
                break
            number, payload = record
            if self._next_number != _ANY:
                self.lost += number - self._next_number
            self._next_number = number + 1
            if payload is None:
                self.lost += 1
            else:
                records.append((number, payload))
        return records

    def _next(self) -> tuple[int, bytes | None] | None:
        """The record at the cursor, its payload None where that was too large; None without a whole one."""
        head = self._words[_HEAD]
        if self._cursor >= head:
            return None
        at = self._cursor % self.capacity_bytes + HEADER_BYTES
        length, checksum, number = _RECORD.unpack_from(self._map, at)
        stored = 0 if length == _TOO_LARGE else length
        end = self._cursor + record_bytes(stored)
        payload = self._copy_out(at + _ALIGN, stored) if end <= head else b""
        if self._overwritten():
            return None
        if end > head or checksum != _checksum(number, payload):
            self._disappointments += 1
            if self._disappointments >= _PATIENCE:
                self._cursor, self._disappointments = head, 0
            return None
        self._cursor, self._disappointments = end, 0
        return number, None if length == _TOO_LARGE else payload

    def _copy_out(self, at: int, length: int) -> bytes:
        room = len(self._map) - at
        if length <= room:
            return self._map[at : at + length]
        return self._map[at:] + self._map[HEADER_BYTES : HEADER_BYTES + length - room]

    def _overwritten(self) -> bool:
        return self._cursor + self.capacity_bytes < self._words[_CLAIM]

    def publish_cursor(self) -> None:
        """Tell the writer how far this declared reader has read."""
        if self._slot is not None:
            self._words[self._slot + 1] = self._cursor

    def beat(self, now_s: float) -> None:
        """Publish cursor and heartbeat of this declared reader."""
        self.publish_cursor()
        if self._slot is not None:
            self._stamps[self._slot + 2] = now_s

    def keep(self, count: int) -> None:
        """Tell the writer that all records with lower numbers are kept: they stand where they can be read back."""
        if self._slot is not None:
            self._words[_KEPT] = count + 1

    def complain(self, words: str) -> None:
        """Tell the writer that the records cannot be kept any more; only the first words count."""
        if self._slot is not None and not self._words[_TROUBLE]:
            self._put_text(_TROUBLE_AT, words)
            self._words[_TROUBLE] = 1

    def close(self) -> None:
        """Let go of the file; twice is fine."""
        if self._open:
            self._open = False
            self._unmap()

    def __enter__(self) -> RingReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def record_bytes(length: int) -> int:
    """Room that a payload of `length` bytes takes in a ring."""
    return _ALIGN + -(-length // _ALIGN) * _ALIGN


def _checksum(number: int, payload: bytes) -> int:
    return zlib.crc32(payload, number & 0xFFFFFFFF)
