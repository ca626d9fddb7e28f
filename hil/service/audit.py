"""The audit: who did what when from where with which verdict, chained by hashes, the chain's heads signed.

Somebody who edits a file and computes its chain anew lacks the key for the heads. Names of people are not in it:
a token's id stands for them, and the list of issued tokens says whose it was, as long as it is kept.
`docs/service-keys.md` describes the format.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Annotated

import msgspec
from filelock import FileLock, Timeout
from msgspec import Meta

from hil.errors import AuditTakenError, JournalError
from hil.service.keys import SigningKey
from hil.types import Record

FIRST_CHAIN = "0" * 64
SUFFIX = ".audit.jsonl"
LONGEST_DETAIL = 500
"""Characters of a record's words that are kept: what strangers send cannot fill the disk."""

HEAD_EVERY_S = 60.0
JUMP_S = 2.0
"""So much may the time of day and the monotonic clock drift apart between two records."""
QUIET_S = 1.0
"""The same deed by the same person again within this time is counted, not written anew."""
MOST_COUNTED = 1000
DAY_S = 86_400


class Deed(Record, frozen=True, tag="deed"):
    """Something that somebody did or tried.

    Attributes:
        who: id of the token, or empty for a stranger or the service itself.
        role: of the token, or empty.
        what: kind of deed, for example ``jog`` or ``log in``.
        arm: id of the arm concerned, or empty.
        origin: network address, as much of it as the settings keep.
        verdict: ``done``, ``refused``, or another word for how it ended.
        detail: words.
        times: how often, where the same came again and again.
    """

    who: str
    what: str
    verdict: str
    role: str = ""
    arm: str = ""
    origin: str = ""
    detail: str = ""
    times: int = 1


class Opened(Record, frozen=True, tag="opened"):
    """A file begins; signed, so that the chain holds on where older files are gone."""

    after: str
    signature: bytes


class Head(Record, frozen=True, tag="head"):
    """The service vouches for the chain up to here."""

    signature: bytes


class ClockJump(Record, frozen=True, tag="clock_jump"):
    """The time of day was set: times before and after are not on one scale."""

    by_s: float


class Removed(Record, frozen=True, tag="removed"):
    """Older files were deleted as the settings want it; records before `first` are gone on purpose."""

    first: int


class Closed(Record, frozen=True, tag="closed"):
    """The service ended as it should."""

    reason: str


Data = Deed | Opened | Head | ClockJump | Removed | Closed


class Entry(Record, frozen=True):
    """One record with its place in time.

    Attributes:
        n: running number from 0, over all files.
        t_s: seconds since 1970.
    """

    n: Annotated[int, Meta(ge=0)]
    t_s: float
    data: Data


class ChainedLine(Record, frozen=True):
    """A line of a file: a record's own bytes, and the chain after them."""

    chain: str
    entry: msgspec.Raw


class Now(Record, frozen=True):
    """Both clocks, read at one moment: seconds since 1970, and monotonic seconds."""

    epoch_s: float
    monotonic_s: float


def next_chain(chain: str, entry: bytes) -> str:
    """SHA-256, hexadecimal, of the chain before and a record's bytes."""
    return hashlib.sha256(chain.encode("ascii") + entry).hexdigest()


def signed_bytes(kind: str, chain: str) -> bytes:
    """What is signed for a head or for the beginning of a file."""
    return f"hil-audit-{kind}:{chain}".encode("ascii")


class AuditLog:
    """Appends to the audit, one file a day. Every call takes the time; the same deed again is counted.

    Args:
        folder: made if it is not there; one writer at a time.
        key: signs the heads.
        now: both clocks.
        retention_days: files that are older are deleted.

    Raises:
        AuditTakenError: another service keeps its audit there.
        JournalError: the folder cannot be written to, or what is there is not whole.
    """

    def __init__(self, folder: Path, key: SigningKey, now: Now, *, retention_days: int) -> None:
        self._folder, self._key, self._retention_days = folder, key, retention_days
        self._encoder = msgspec.json.Encoder()
        self._counted: dict[Deed, tuple[int, float]] = {}
        self._file: FileIO | None = None
        self._day = ""
        self._last, self._head_s, self._unsigned = now, now.monotonic_s, False
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = FileLock(folder / ".lock")
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise AuditTakenError(f"{folder}: another service keeps its audit here; give each a folder") from None
        self._n, self._chain, last_s = _last_place(folder)
        self._open_day(now)
        if last_s is not None and now.epoch_s < last_s - JUMP_S:
            self._write(ClockJump(by_s=now.epoch_s - last_s), now)

    @property
    def head(self) -> str:
        """The chain after the newest record: whoever notes it down elsewhere can show later that nothing was cut."""
        return self._chain

    def note(self, deed: Deed, now: Now) -> None:
        """Write a deed, or count it when the very same came within the last second.

        Raises:
            JournalError: the disk is full or gone.
        """
        deed = msgspec.structs.replace(deed, detail=_clean(deed.detail), origin=_clean(deed.origin))
        # Words may differ each time (a counter, an age); they do not make it another deed.
        kind = msgspec.structs.replace(deed, detail="", times=1)
        times, since_s = self._counted.get(kind, (0, float("-inf")))
        if now.monotonic_s - since_s < QUIET_S:
            self._counted[kind] = (times + deed.times, since_s)
            return
        if times:
            self._write(msgspec.structs.replace(kind, times=times), now)
        if len(self._counted) >= MOST_COUNTED:
            self._write_counted(now, everything=True)
        self._counted[kind] = (0, now.monotonic_s)
        self._write(deed, now)

    def tick(self, now: Now) -> None:
        """Write what was counted and has come to rest, sign the head when due, begin a new day; call each second.

        Raises:
            JournalError: the disk is full or gone.
        """
        self._write_counted(now, everything=False)
        if self._unsigned and now.monotonic_s - self._head_s >= HEAD_EVERY_S:
            self._sign(now)

    def sign(self, now: Now) -> None:
        """Sign the head now, where something is not signed for yet: somebody is about to read it.

        Raises:
            JournalError: the disk is full or gone.
        """
        if self._unsigned:
            self._sign(now)

    def close(self, reason: str, now: Now) -> None:
        """Write the last record, sign, and close the file.

        Raises:
            JournalError: the disk is full or gone.
        """
        if self._file is None:
            return
        self._write_counted(now, everything=True)
        self._write(Closed(reason=reason), now)
        self._sign(now)
        self._file.close()
        self._file = None
        self._lock.release()

    def _write_counted(self, now: Now, *, everything: bool) -> None:
        rested = [
            (kind, times)
            for kind, (times, since_s) in self._counted.items()
            if everything or now.monotonic_s - since_s >= QUIET_S
        ]
        for kind, times in rested:
            del self._counted[kind]
            if times:
                self._write(msgspec.structs.replace(kind, times=times), now)

    def _sign(self, now: Now) -> None:
        self._write(Head(signature=self._key.sign(signed_bytes("head", self._chain))), now)
        self._head_s = now.monotonic_s
        if self._file is not None:
            with disk_errors(self._folder):
                os.fsync(self._file.fileno())

    def _write(self, data: Data, now: Now) -> None:
        jump_s = (now.epoch_s - self._last.epoch_s) - (now.monotonic_s - self._last.monotonic_s)
        self._last = now
        if abs(jump_s) > JUMP_S:
            self._append(ClockJump(by_s=round(jump_s, 3)), now)
        if _day(now.epoch_s) != self._day:
            self._open_day(now)
        self._append(data, now)

    def _open_day(self, now: Now) -> None:
        if self._file is not None:
            self._append(Head(signature=self._key.sign(signed_bytes("head", self._chain))), now)
            self._file.close()
            self._file = None
        self._day = _day(now.epoch_s)
        with disk_errors(self._folder):
            path = self._folder / f"{self._n:010d}-{self._day}{SUFFIX}"
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0)
        self._append(Opened(after=self._chain, signature=self._key.sign(signed_bytes("opened", self._chain))), now)
        self._remove_old(now)

    def _remove_old(self, now: Now) -> None:
        oldest = _day(now.epoch_s - self._retention_days * DAY_S)
        files = audit_files(self._folder)
        kept = [path for path in files if path.name.split("-", 1)[1] >= f"{oldest}{SUFFIX}"]
        # A day in the middle stays while one before it does: the chain has no holes.
        first = files.index(kept[0]) if kept else len(files) - 1
        if first == 0:
            return
        self._append(Removed(first=int(files[first].name.split("-", 1)[0])), now)
        with disk_errors(self._folder):
            for path in files[:first]:
                path.unlink()

    def _append(self, data: Data, now: Now) -> None:
        entry = self._encoder.encode(Entry(n=self._n, t_s=now.epoch_s, data=data))
        chain = next_chain(self._chain, entry)
        if self._file is None:
            raise JournalError(f"{self._folder}: the audit is closed")
        with disk_errors(self._folder):
            _write_whole(self._file, self._encoder.encode(ChainedLine(chain=chain, entry=msgspec.Raw(entry))) + b"\n")
        self._n, self._chain, self._unsigned = self._n + 1, chain, not isinstance(data, Head)


def audit_files(folder: Path) -> list[Path]:
    """All files of an audit, oldest first."""
    return sorted(folder.glob(f"[0-9]*-*{SUFFIX}"))


def _last_place(folder: Path) -> tuple[int, str, float | None]:
    """Number and chain to go on with, and when the last record was written; a line cut by a crash is taken out."""
    files = audit_files(folder)
    if not files:
        return 0, FIRST_CHAIN, None
    path = files[-1]
    with disk_errors(folder):
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if not whole:
            path.unlink()
            return _last_place(folder)
        if len(whole) < len(data):
            os.truncate(path, len(whole))
    try:
        line = msgspec.json.decode(whole.splitlines()[-1], type=ChainedLine)
        entry = msgspec.json.decode(line.entry, type=Entry)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise JournalError(
            f"{path}: the last line is no record of an audit; move the folder away for a closer look, "
            "and the service begins a new one"
        ) from None
    return entry.n + 1, line.chain, entry.t_s


def _write_whole(file: FileIO, line: bytes) -> None:
    """All of a line or nothing, so that a disk that was full for a moment leaves no torn one in the middle."""
    begin, left = file.tell(), memoryview(line)
    try:
        while left:
            left = left[file.write(left) :]
    except OSError:
        file.truncate(begin)
        file.seek(begin)
        raise


def _clean(words: str) -> str:
    return words[:LONGEST_DETAIL].encode("utf-8", "replace").decode()


def _day(epoch_s: float) -> str:
    return f"{datetime.datetime.fromtimestamp(epoch_s, datetime.UTC):%Y%m%d}"


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn what the system says about files into a JournalError."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"{path}: the audit cannot be kept here: {error.strerror or error}") from None
