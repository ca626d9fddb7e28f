"""The journal: an MCAP file of JSON records, each bound to all before it by a hash chain.

Not chunked, so that a file cut anywhere reads up to its last whole record. A long session goes on in further files,
each whole by itself. `docs/journal.md` describes the format.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
from msgspec import Meta

from hil.errors import CommandError, JournalError
from hil.runtime.journal_file import JournalFile, being_written
from hil.types import Record, TickRecord

FORMAT_VERSION = 1
FIRST_CHAIN = "0" * 64
"""What stands for the chain before the first record."""

PACKING = ".packing"
"""End of the name of a copy that is being made."""

_MAGIC = b"\x89MCAP0\r\n"
"""With which an MCAP file begins and ends; its package is read where journals are, for the loop never reads one."""

_PART = re.compile(r"_part-[0-9]{4,}$")
_PROFILE = "hil-journal"
_LARGEST_RECORD_BYTES = 256 << 20
_TAIL_BYTES = 128 << 10
_LONGEST_TAIL_BYTES = 16 << 20
_MESSAGE = struct.Struct("<BQHIQQ")
"""What stands before a message's own bytes: opcode, length from the channel on, channel, sequence, two times."""
_MESSAGE_OPCODE = 5
_OPENING = re.compile(rb'\{"n":([0-9]{1,18}),"chain":"([0-9a-f]{64})","data":\{')


class Wiring(Enum):
    """Whether the journal's arm was a stand-in or the real one."""

    FAKE = "FAKE"
    REAL = "REAL"


class SessionRecord(Record, frozen=True, tag="session"):
    """The first record: everything that a replay needs beside the ticks.

    Attributes:
        software_version: version of this package that ran.
        wiring: FAKE or REAL.
        port: pyserial URL or device path, or a name for an in-memory line.
        rig_id: id of the rig.
        rig_digest: digest that certificates are bound to.
        rig: the whole resolved rig as a JSON tree, robot and controller settings included.
        settings: what else the run was started with, as a JSON tree.
        start_epoch_s: seconds since 1970 at the start.
        start_monotonic_s: the loop's clock at the same moment; all `t_s` are on it.
        part: number of this file of the session, from 0.
        first_tick: number of its first tick.
        after: chain after the last record of the file before.
    """

    software_version: str
    wiring: Wiring
    port: str
    rig_id: str
    rig_digest: str
    rig: dict[str, Any]
    settings: dict[str, Any]
    start_epoch_s: float
    start_monotonic_s: float
    format_version: int = FORMAT_VERSION
    part: Annotated[int, Meta(ge=0)] = 0
    first_tick: Annotated[int, Meta(ge=0)] = 0
    after: str = FIRST_CHAIN

    @property
    def t_s(self) -> float:
        """When the session began, on the loop's clock."""
        return self.start_monotonic_s


class GapRecord(Record, frozen=True, tag="gap"):
    """Ticks `first` to `last`, both included, that did not reach the journal."""

    t_s: float
    first: int
    last: int
    reason: str


class EndKind(Enum):
    """How the recording ended."""

    CLOSED = "closed"
    CONTINUED = "continued"
    ABANDONED = "abandoned"


class EndRecord(Record, frozen=True, tag="end"):
    """The last record. Only `CLOSED` means that the loop ended as it should and every tick was looked for.

    Attributes:
        reason: words; after `CONTINUED` the name of the file in which the session goes on.
        ticks, lost: in this file.
    """

    t_s: float
    kind: EndKind
    reason: str
    ticks: int
    lost: int


Data = SessionRecord | TickRecord | GapRecord | EndRecord

_TOPICS: dict[type[Any], str] = {
    SessionRecord: "session",
    TickRecord: "tick",
    GapRecord: "gap",
    EndRecord: "end",
}


class _Envelope(Record, frozen=True):
    n: int
    chain: str
    data: msgspec.Raw


class Entry(Record, frozen=True):
    """One record as it was read; exactly one of `session`, `tick`, `gap`, `end` is not None.

    Attributes:
        n: running number from 0.
        chain: SHA-256 over the chain before and this record's own bytes, hexadecimal.
        payload: the record's own bytes, canonical JSON.
        data: what they say.
        log_time_ns: nanoseconds since 1970.
        publish_time_ns: nanoseconds on the loop's clock.
    """

    n: int
    chain: str
    payload: bytes
    data: Data
    log_time_ns: int
    publish_time_ns: int

    @property
    def session(self) -> SessionRecord | None:
        """The session record, if this is it."""
        return self.data if isinstance(self.data, SessionRecord) else None

    @property
    def tick(self) -> TickRecord | None:
        """The tick record, if it is one."""
        return self.data if isinstance(self.data, TickRecord) else None

    @property
    def gap(self) -> GapRecord | None:
        """The gap record, if it is one."""
        return self.data if isinstance(self.data, GapRecord) else None

    @property
    def end(self) -> EndRecord | None:
        """The end record, if this is it."""
        return self.data if isinstance(self.data, EndRecord) else None


def next_chain(chain: str, payload: bytes) -> str:
    """SHA-256, hexadecimal, of the chain before and a record's bytes."""
    return hashlib.sha256(chain.encode("ascii") + payload).hexdigest()


class _Times:
    """Turns the loop's clock into the two times of an MCAP message, by one offset for the whole file."""

    def __init__(self, session: SessionRecord) -> None:
        self._offset_ns = round(session.start_epoch_s * 1e9) - round(session.start_monotonic_s * 1e9)

    def __call__(self, t_s: float) -> tuple[int, int]:
        """Log time and publish time in nanoseconds."""
        publish_ns = max(0, round(t_s * 1e9))
        return max(0, publish_ns + self._offset_ns), publish_ns


class JournalWriter:
    """Writes one journal; what was flushed survives the death of the process.

    Args:
        path: a new file.
        session: becomes the first record.
        file: that file, where it was opened before; it is still to be flushed then.

    Raises:
        JournalError: the file exists or cannot be made.
        CommandError: the session record holds a number that is not finite.
    """

    def __init__(self, path: Path, session: SessionRecord, file: JournalFile | None = None) -> None:
        from mcap.writer import CompressionType, IndexType, Writer

        self.path = Path(path)
        self._file = file or JournalFile(self.path)
        stream: Any = self._file  # of a stream the writer uses `write` and `tell`
        self._writer: Any = Writer(  # its annotations are incomplete
            stream, compression=CompressionType.NONE, index_types=IndexType.NONE, use_chunking=False
        )
        session = _with_lists(session)
        self._times = _Times(session)
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(Data)
        self.session = session
        self._n, self._chain = 0, FIRST_CHAIN
        self.ticks = self.lost = 0
        self._writer.start(profile=_PROFILE)
        self._channels = _register(self._writer)
        self._write(session)
        if file is None:
            self.flush()

    @property
    def size_bytes(self) -> int:
        """How long the file is by now."""
        return self._file.tell()

    def continue_in(self, path: Path, t_s: float) -> JournalWriter:
        """End this file and go on with the same session in another; this one is still to be flushed and closed.

        Raises:
            JournalError: that one cannot be made; this one is as it was.
        """
        file = self._file.open_another(path)
        first_tick = self.session.first_tick + self.ticks + self.lost
        self._finish(EndKind.CONTINUED, path.name, t_s)
        part = self.session.part + 1
        session = msgspec.structs.replace(self.session, part=part, first_tick=first_tick, after=self._chain)
        return JournalWriter(path, session, file)

    def tick(self, record: TickRecord) -> None:
        """Add one tick.

        Raises:
            CommandError: it holds a number that JSON cannot; nothing was written.
        """
        self._write(record)
        self.ticks += 1

    def gap(self, first: int, last: int, t_s: float, reason: str) -> None:
        """Note that ticks `first` to `last`, both included, are missing."""
        self._write(GapRecord(t_s=t_s, first=first, last=last, reason=reason))
        self.lost += last - first + 1

    def end(self, kind: EndKind, reason: str, t_s: float) -> None:
        """Write the last record and the file's summary, look whether it is there, and close it.

        Raises:
            JournalError: the disk is full or gone, or the file is not there as it was written.
        """
        try:
            self._finish(kind, reason, t_s)
            self._file.flush()
            self._file.sync()
            self._file.look()
        finally:
            self._file.close()

    def _finish(self, kind: EndKind, reason: str, t_s: float) -> None:
        self._write(EndRecord(t_s=t_s, kind=kind, reason=reason, ticks=self.ticks, lost=self.lost))
        self._writer.finish()

    def flush(self) -> None:
        """Hand everything to the operating system.

        Raises:
            DiskFullError: there is no room; what is left is handed over by the next call.
            JournalError: the disk is gone.
        """
        self._file.flush()

    def look(self) -> None:
        """Hold what stands under the file's name against what was written since the last look.

        Raises:
            TamperedError: it was removed, replaced, cut or written to.
            JournalError: it cannot be looked at.
        """
        self._file.look()

    def close(self) -> None:
        """Let go of the file without an end record; nothing to do after `end`."""
        self._file.close()

    def _write(self, data: Data) -> None:
        payload = self._encoder.encode(data)
        self._check_round_trip(data, payload)
        chain = next_chain(self._chain, payload)
        log_ns, publish_ns = self._times(data.t_s)
        self._writer.add_message(
            channel_id=self._channels[type(data)],
            log_time=log_ns,
            publish_time=publish_ns,
            sequence=self._n & 0xFFFFFFFF,
            data=_enclose(self._n, chain, payload),
        )
        self._n, self._chain = self._n + 1, chain

    def _check_round_trip(self, data: Data, payload: bytes) -> None:
        """JSON has no NaN and msgspec writes null for it; a journal has to read back as it was given."""
        try:
            same = self._decoder.decode(payload) == data
        except (msgspec.DecodeError, CommandError):
            same = False
        if not same:
            raise CommandError(
                f"{_TOPICS[type(data)]} record does not read back as it was given: "
                "it holds a number that is not finite, or a value of the wrong type",
                allowed="finite numbers",
            )

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _register(writer: Any) -> dict[type[Any], int]:
    """Make the channels known; gives their numbers."""
    numbers = {}
    for kind, topic in _TOPICS.items():
        schema_id = writer.register_schema(f"hil.{topic}", "jsonschema", msgspec.json.encode(json_schema(kind)))
        numbers[kind] = writer.register_channel(topic, "json", schema_id)
    return numbers


def _with_lists(session: SessionRecord) -> SessionRecord:
    """Tuples in the session's trees become lists, which is how they read back."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(session), type=SessionRecord)


def _enclose(n: int, chain: str, payload: bytes) -> bytes:
    return b'{"n":%d,"chain":"%s","data":%s}' % (n, chain.encode("ascii"), payload)


class _WholeReads:
    """A file as long as it is now, whose reads give all that was asked for or say that it ends.

    MCAP's own reader takes less, and what is written meanwhile may be half a record.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.length = self._left = os.fstat(file.fileno()).st_size

    def read(self, length: int = -1) -> bytes:
        from mcap.exceptions import EndOfFile, McapError

        if length < 0:
            raise McapError("a record is shorter than its own header")
        if length > self._left:
            raise EndOfFile
        self._left -= length
        return self._file.read(length)


class _BrokenError(JournalError):
    """The file is there and is read as it should be, but what stands in it cannot be right."""


def read_journal(path: Path) -> Iterator[Entry]:
    """All whole records of a journal, in the order of the file; one that was cut off simply ends there.

    One that is being written ends where it ended when it was opened. Only the form is looked at here; see `verify`.

    Raises:
        JournalError: there is no such file, it is no journal, or a record in it makes no sense.
    """
    times: _Times | None = None
    decoder = msgspec.json.Decoder(Data)
    for n, (topic, message) in enumerate(_messages(path)):
        where = f"{path}: record {n}"
        try:
            envelope = msgspec.json.decode(message.data, type=_Envelope)
            payload = bytes(envelope.data)
            if times is None:
                _check_version(payload, where)
            data = decoder.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, CommandError) as error:
            raise _BrokenError(f"{where} makes no sense: {error}") from None
        if times is None:
            times = _first_times(data, where)
        if message.data != _enclose(envelope.n, envelope.chain, payload):
            raise _BrokenError(f"{where} is not written as this program writes")
        if _TOPICS[type(data)] != topic:
            raise _BrokenError(f"{where} is a {_TOPICS[type(data)]} record on channel {topic}")
        if (message.log_time, message.publish_time) != times(data.t_s) or message.sequence != n & 0xFFFFFFFF:
            raise _BrokenError(f"{where}: its time or sequence number does not fit what it says")
        yield Entry(
            n=envelope.n,
            chain=envelope.chain,
            payload=payload,
            data=data,
            log_time_ns=message.log_time,
            publish_time_ns=message.publish_time,
        )


class _Version(msgspec.Struct):
    """As much of a session record as every version has."""

    format_version: int
    software_version: str


def _check_version(payload: bytes, where: str) -> None:
    version = msgspec.json.decode(payload, type=_Version)
    if version.format_version != FORMAT_VERSION:
        raise JournalError(
            f"{where}: format version {version.format_version} given; allowed: {FORMAT_VERSION}. "
            f"Version {version.software_version} of this program wrote it: read it with that one"
        )


def _first_times(data: Data, where: str) -> _Times:
    if not isinstance(data, SessionRecord):
        raise _BrokenError(f"{where} is a {_TOPICS[type(data)]} record; a journal begins with its session")
    return _Times(data)


def _open(path: Path) -> IO[bytes]:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from None


def _messages(path: Path) -> Iterator[tuple[str, Any]]:
    """Topic and MCAP message of each record, until the file ends or is cut."""
    from mcap.exceptions import EndOfFile, InvalidMagic, McapError
    from mcap.reader import NonSeekingReader

    count, position = 0, len(_MAGIC)
    with _open(path) as file:
        stream: Any = _WholeReads(file)
        reader = NonSeekingReader(stream, record_size_limit=_LARGEST_RECORD_BYTES)
        try:
            for _, channel, message in reader.iter_messages(log_time_order=False):
                count, position = count + 1, file.tell()
                yield channel.topic, message
        except EndOfFile:
            file.seek(position)
            _refuse_more_records(file.read(max(stream.length - position, 0)), count, path)
        except InvalidMagic:
            raise _BrokenError(f"{path}: is this a journal? It does not begin as one does") from None
        except (McapError, struct.error, ValueError) as error:
            words = str(error) or type(error).__name__
            raise _BrokenError(f"{path}: record {count} does not begin where it should: {words}") from None


def _refuse_more_records(rest: bytes, count: int, path: Path) -> None:
    """A cut leaves part of one record; whole ones, or the end of a finished file, show a changed length."""
    if b'{"n":%d,"chain":"' % (count + 1) in rest or rest.endswith(_MAGIC):
        raise _BrokenError(f"{path}: record {count} says that it is longer than it can be")


def read_payloads(path: Path) -> Iterator[bytes]:
    """Each whole record's own bytes, in the order of the file, for whoever computes the chain; see `read_journal`.

    Raises:
        JournalError: there is no such file, it is no journal, or a record is not framed as one.
    """
    for n, (_, message) in enumerate(_messages(path)):
        opening = _OPENING.match(message.data)
        if opening is None or not message.data.endswith(b"}"):
            raise _BrokenError(f"{path}: record {n} is not written as this program writes")
        yield message.data[opening.end() - 1 : -1]


def newest_record(path: Path) -> tuple[int, str] | None:
    """Number and chain of the last whole record of a journal that somebody is writing; only its end is read.

    None for a packed journal, and where no record ends within the last 16 MiB.

    Raises:
        JournalError: the file cannot be read.
    """
    found = _newest(path)
    return None if found is None else found[:2]


def closing_record(path: Path) -> EndRecord | None:
    """The end record of a journal, if it has one and is not packed; only its end is read.

    Raises:
        JournalError: the file cannot be read.
    """
    found = _newest(path)
    if found is None:
        return None
    try:
        data = msgspec.json.decode(found[2], type=Data)
    except (msgspec.DecodeError, UnicodeDecodeError, CommandError):
        return None
    return data if isinstance(data, EndRecord) else None


def _newest(path: Path) -> tuple[int, str, bytes] | None:
    """Number, chain and own bytes of the last whole record."""
    length = _TAIL_BYTES
    with _open(path) as file:
        size = os.fstat(file.fileno()).st_size
        while True:
            begin = max(0, size - length)
            try:
                file.seek(begin)
                tail = file.read(size - begin)
            except OSError as error:
                raise JournalError(f"{path}: cannot be read: {error.strerror}") from None
            for opening in reversed(list(_OPENING.finditer(tail))):
                if end := _whole_until(tail, opening):
                    payload = tail[opening.end() - 1 : end - 1]
                    return int(opening[1]), opening[2].decode("ascii"), payload
            if begin == 0 or length >= _LONGEST_TAIL_BYTES:
                return None
            length *= 8  # a motion that was loaded stands in one record


def _whole_until(tail: bytes, opening: re.Match[bytes]) -> int:
    """Where the record ends that really begins here, if it does within what was read; else 0."""
    begin = opening.start() - _MESSAGE.size
    if begin < 0:
        return 0
    opcode, length, _, sequence, _, _ = _MESSAGE.unpack_from(tail, begin)
    end = begin + 9 + length  # the length counts from behind itself
    whole = (
        opcode == _MESSAGE_OPCODE
        and sequence == int(opening[1]) & 0xFFFFFFFF
        and opening.end() < end <= len(tail)
        and tail[end - 1 : end] == b"}"
    )
    return end if whole else 0


class Completeness(Enum):
    """What can be said of a journal."""

    COMPLETE = "complete"
    NEVER_BEGAN = "never began"
    """Closed as it should be, with not one tick in it: its loop has not come up."""
    BEING_WRITTEN = "being written"
    UNFINISHED = "unfinished"
    BROKEN = "broken"


class JournalVerdict(Record, frozen=True):
    """What `verify` found.

    Attributes:
        completeness: the verdict.
        records: records that are whole and in order, from the beginning.
        ticks: ticks among them.
        lost: ticks that are missing according to the gap records among them.
        duration_s: from the first of these ticks to the last.
        reason: why it ended, what is missing at its end, or what is wrong with record number `records`.
        title: FAKE or REAL, port and rig; empty if not even the session can be read.
        part: which file of its session it is, from 0.
        after: the last chain of the file before, as this one says.
        head: the chain after the last of these records.
    """

    completeness: Completeness
    records: int
    ticks: int
    lost: int
    duration_s: float
    reason: str
    title: str = ""
    part: int = 0
    after: str = FIRST_CHAIN
    head: str = FIRST_CHAIN

    @property
    def broken_at(self) -> int | None:
        """Number of the first record that is wrong, or None."""
        return self.records if self.completeness is Completeness.BROKEN else None

    @property
    def text(self) -> str:
        """One line that explains."""
        held = f"{self.records} records, {self.ticks} ticks over {self.duration_s:.2f} s"
        losses = f"{self.lost} ticks lost" if self.lost else "no tick lost"
        held = f"part {self.part}, {held}" if self.part else held
        title = f" ({self.title})" if self.title else ""
        if self.completeness is Completeness.COMPLETE:
            return f"complete{title}: {held}, {losses}; ended: {self.reason}"
        if self.completeness is Completeness.NEVER_BEGAN:
            return f"never began{title}: it has not one tick; ended: {self.reason}"
        if self.completeness is Completeness.BEING_WRITTEN:
            return f"being written{title}: {held} so far, {losses}, all of them unchanged"
        if self.completeness is Completeness.UNFINISHED:
            return f"unfinished{title}: {held}, {losses}, all of them unchanged; then {self.reason}"
        return f"broken at record {self.records}{title}: {self.reason}. Before it: {held}, unchanged"


def verify(path: Path) -> JournalVerdict:
    """Check a whole journal: form, order, hash chain, tick numbers, and the counts in its end record.

    The chain shows a change to any record as long as the records after it are not written anew; a journal
    recomputed from the change on passes here and fails a replay, and disagrees with a chain that was noted down.
    One that is being written is checked as far as it went when this began.

    Raises:
        JournalError: the file cannot be read, or is of a version that this program does not know.
    """
    written = being_written(path)  # asked first: what is written no more by then is as long as it will ever be
    check = _Check()
    try:
        for entry in read_journal(path):
            if wrong := check.add(entry):
                return check.verdict(Completeness.BROKEN, wrong)
    except _BrokenError as error:
        return check.verdict(Completeness.BROKEN, str(error).removeprefix(f"{path}: "))
    if check.end is None and (written or being_written(path)):  # the second finds one that had just been made
        return check.verdict(Completeness.BEING_WRITTEN, "it has no end yet")
    if check.end is None:
        return check.verdict(Completeness.UNFINISHED, "the file ends without a closing record: its recorder was killed")
    if check.end.kind is EndKind.CONTINUED:
        return check.verdict(Completeness.COMPLETE, f"the session goes on in {check.end.reason}")
    if check.end.kind is not EndKind.CLOSED:
        return check.verdict(Completeness.UNFINISHED, f"the recorder closed it because {check.end.reason}")
    return check.verdict(Completeness.COMPLETE if check.began else Completeness.NEVER_BEGAN, check.end.reason)


class _Check:
    """Walks along the records and remembers what the next one has to fit."""

    def __init__(self) -> None:
        self.end: EndRecord | None = None
        self._session: SessionRecord | None = None
        self._chain = FIRST_CHAIN
        self._records = self._ticks = self._lost = self._next_tick = 0
        self._first_s = self._last_s = 0.0

    @property
    def began(self) -> bool:
        """Its loop has ticked, in this file, in one before it, or in what is lost."""
        return bool(self._ticks or self._lost or (self._session is not None and self._session.part))

    def add(self, entry: Entry) -> str:
        """What is wrong with this record, or an empty text."""
        wrong = self._wrong(entry)
        if not wrong:
            self._count(entry)
        return wrong

    def _wrong(self, entry: Entry) -> str:
        if self.end is not None:
            return "it stands after the end record"
        if entry.n != self._records:
            return f"it carries number {entry.n}: records were taken out, added or moved"
        if entry.chain != next_chain(self._chain, entry.payload):
            return "its hash does not fit: it was changed after it was written"
        match entry.data:
            case SessionRecord() if self._session is not None:
                return "it is a second session record"
            case TickRecord(tick=tick) if tick != self._next_tick:
                return f"it is tick {tick}, tick {self._next_tick} should follow, and no gap is recorded"
            case GapRecord(first=first, last=last) if first != self._next_tick or last < first:
                return f"it records ticks {first} to {last} as lost; tick {self._next_tick} should follow"
            case EndRecord(ticks=ticks, lost=lost) if (ticks, lost) != (self._ticks, self._lost):
                return f"it says {ticks} ticks and {lost} lost, the journal has {self._ticks} and {self._lost}"
        return ""

    def _count(self, entry: Entry) -> None:
        self._records, self._chain = self._records + 1, entry.chain
        match entry.data:
            case SessionRecord() as session:
                self._session, self._next_tick = session, session.first_tick
            case TickRecord(tick=tick, t_s=t_s):
                self._first_s = t_s if self._ticks == 0 else self._first_s
                self._ticks, self._next_tick, self._last_s = self._ticks + 1, tick + 1, t_s
            case GapRecord(first=first, last=last):
                self._lost, self._next_tick = self._lost + last - first + 1, last + 1
            case EndRecord() as end:
                self.end = end

    def verdict(self, completeness: Completeness, reason: str) -> JournalVerdict:
        """The verdict on what was added so far."""
        session = self._session
        return JournalVerdict(
            completeness=completeness,
            records=self._records,
            ticks=self._ticks,
            lost=self._lost,
            duration_s=self._last_s - self._first_s,
            reason=reason,
            title=f"{session.wiring.value}, {session.port}, rig {session.rig_id}" if session else "",
            part=session.part if session else 0,
            after=session.after if session else FIRST_CHAIN,
            head=self._chain,
        )


# -- sessions of several files ---------------------------------------------------------------------------


def part_path(first: Path, part: int) -> Path:
    """The file of a session that begins in `first`: that one for part 0; names sort in the order of the parts."""
    return first if part == 0 else first.with_name(f"{first.stem}_part-{part:04d}{first.suffix}")


def first_path(path: Path) -> Path:
    """The file in which the session of `path` begins, by their names."""
    return path.with_name(f"{_PART.sub('', path.stem)}{path.suffix}")


def wrong_link(verdict: JournalVerdict, before: JournalVerdict) -> str:
    """Why one file does not go on where another ends; empty if it does."""
    if verdict.part != before.part + 1:
        return f"it is part {verdict.part}; part {before.part + 1} should follow"
    if verdict.after != before.head:
        return "it follows another file than the one that is here: its note of the last hash does not fit"
    return ""


def pack(path: Path) -> None:
    """Write a closed journal anew in compressed chunks: the same records and hashes, in a seventh of the room.

    Raises:
        JournalError: it cannot be read or written, or the copy is none; the file is as it was.
    """
    from mcap.writer import CompressionType, IndexType, Writer

    half = path.with_name(f"{path.name}{PACKING}")
    try:
        with half.open("wb") as file:
            writer: Any = Writer(file, compression=CompressionType.ZSTD, index_types=IndexType.NONE)
            writer.start(profile=_PROFILE)
            channels = {_TOPICS[kind]: number for kind, number in _register(writer).items()}
            for topic, message in _messages(path):
                writer.add_message(
                    channel_id=channels[topic],
                    log_time=message.log_time,
                    publish_time=message.publish_time,
                    sequence=message.sequence,
                    data=message.data,
                )
            writer.finish()
            file.flush()
            os.fsync(file.fileno())
        if _digest(half) != _digest(path):
            raise JournalError(f"{path}: a packed copy does not read back as it was written")
        shutil.copystat(path, half)
        half.replace(path)
    except OSError as error:
        raise JournalError(f"{path}: cannot be packed: {error.strerror}") from None
    finally:
        half.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    for topic, message in _messages(path):
        found.update(f"{topic} {message.log_time} {message.publish_time} {message.sequence} ".encode())
        found.update(message.data)
    return found.hexdigest()


def json_schema(kind: type[Any]) -> dict[str, Any]:
    """JSON schema of a channel's messages, in the plain form that plotting programs understand.

    Null stands for absent: a field that may be null is described by its other type, the kinds of a field that has
    several by all their fields together, and a list of fixed length by its first item.
    """
    (root,), components = msgspec.json.schema_components([kind], ref_template="{name}")
    properties = {"n": {"type": "integer"}, "chain": {"type": "string"}, "data": _plain(root, components)}
    return {"title": f"hil.{_TOPICS[kind]}", "type": "object", "properties": properties}


def _plain(node: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return _plain(components[node["$ref"]], components)
    if "anyOf" in node:
        kinds = [_plain(kind, components) for kind in node["anyOf"] if kind.get("type") != "null"]
        properties = {key: value for kind in kinds for key, value in kind.get("properties", {}).items()}
        return {**kinds[0], "properties": properties} if properties else kinds[0]
    if "enum" in node:
        return {"type": "string"}
    plain: dict[str, Any] = {key: node[key] for key in ("type", "contentEncoding") if key in node}
    if items := node.get("items") or next(iter(node.get("prefixItems", ())), None):
        plain["items"] = _plain(items, components)
    if "properties" in node:
        plain["properties"] = {key: _plain(value, components) for key, value in node["properties"].items()}
    return plain
