"""Reading the audit: whether it is whole and signed for, and who did what."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hil.errors import JournalError
from hil.service.audit import (
    FIRST_CHAIN,
    ChainedLine,
    ClockJump,
    Data,
    Deed,
    Entry,
    Head,
    Opened,
    Removed,
    audit_files,
    disk_errors,
    next_chain,
    signed_bytes,
)
from hil.service.keys import PublicKey
from hil.types import Record

JOURNAL = "journal"
"""Kind of the deeds by which the service signs for the journals of motion."""


class AuditVerdict(Record, frozen=True):
    """What a look at the whole audit found.

    Attributes:
        whole: every record is unchanged, none is missing between the first and the last.
        text: one line for people.
        records: how many are unchanged.
        vouched: how many of them the service has signed for; those after may have been written by anybody.
        head: the chain after the last one.
    """

    whole: bool
    text: str
    records: int
    vouched: int
    head: str


def verify(folder: Path, key: PublicKey, *, noted_head: str | None = None) -> AuditVerdict:
    """Check chain, signatures and numbers of a whole audit.

    Args:
        folder: as the service keeps it.
        key: public key of the service's signing key for the audit.
        noted_head: a chain that somebody noted down before; it has to be there.

    Raises:
        JournalError: the folder cannot be read.
    """
    check = _Check(key)
    trouble = ""
    for path in audit_files(folder):
        for number, line in enumerate(_lines(path), start=1):
            trouble = check.add(line, begins_file=number == 1)
            if trouble:
                trouble = f"broken at {path.name}, line {number}: {trouble}"
                break
        if trouble:
            break
    if not trouble:
        trouble = check.missing(noted_head)
    unsigned = check.records - check.vouched
    good = f"whole: {check.records} records" + (f", the last {unsigned} of them not yet signed for" if unsigned else "")
    return AuditVerdict(
        whole=not trouble,
        text=trouble or good,
        records=check.records,
        vouched=check.vouched,
        head=check.chain,
    )


class _Check:
    """Follows the chain record by record."""

    def __init__(self, key: PublicKey) -> None:
        self._key = key
        self._heads: set[str] = set()
        self._first: int | None = None
        self._allowed_first = 0
        self.chain = FIRST_CHAIN
        self.records = self.vouched = 0

    def add(self, line: bytes, *, begins_file: bool) -> str:
        """What is wrong with the next line, or nothing."""
        try:
            read = msgspec.json.decode(line, type=ChainedLine)
            entry = msgspec.json.decode(read.entry, type=Entry)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return "this is no record"
        if begins_file != isinstance(entry.data, Opened):
            return "a file begins with a record that says so, and no other record does"
        if self._first is None:
            self._first = entry.n
            if isinstance(entry.data, Opened):
                self.chain = entry.data.after
        elif entry.n != self._first + self.records:
            return f"record {self._first + self.records} is missing"
        if next_chain(self.chain, bytes(read.entry)) != read.chain:
            return "it was changed, or something before it was"
        if trouble := self._check_signature(entry.data):
            return trouble
        if isinstance(entry.data, Removed):
            self._allowed_first = max(self._allowed_first, entry.data.first)
        self.chain = read.chain
        self._heads.add(read.chain)
        self.records += 1
        if isinstance(entry.data, Head):
            self.vouched = self.records
        return ""

    def _check_signature(self, data: Data) -> str:
        if isinstance(data, Opened) and (
            data.after != self.chain or not self._key.verifies(signed_bytes("opened", self.chain), data.signature)
        ):
            return "the beginning of this file is not signed by the service"
        if isinstance(data, Head) and not self._key.verifies(signed_bytes("head", self.chain), data.signature):
            return "the service did not sign this chain: it was computed anew"
        return ""

    def missing(self, noted_head: str | None) -> str:
        """What is not there but should be, or nothing."""
        if self._first is None:
            return "there is no record"
        if self._first != self._allowed_first:
            return f"records before {self._first} are missing, and no record says that they were removed on purpose"
        if noted_head is not None and noted_head not in self._heads:
            return "the chain that was noted down is not there: records were cut off, or this is another audit"
        return ""


def query(
    folder: Path,
    *,
    who: Sequence[str] | None = None,
    arm: str | None = None,
    what: str | None = None,
    verdict: str | None = None,
    since_s: float = float("-inf"),
    until_s: float = float("inf"),
) -> Iterator[Entry]:
    """Deeds that fit, and every clock jump between them; oldest first. Checks nothing: see `verify`.

    Args:
        folder: as the service keeps it.
        who: ids of tokens; None for anybody's.
        arm: only this one; None for any.
        what: only this kind of deed; None for any but what is noted of journals every minute.
        verdict: only what ended so; None for any.
        since_s: from then, seconds since 1970.
        until_s: up to then.

    Raises:
        JournalError: a file cannot be read, or holds something else.
    """
    for entry in _entries(folder):
        if not since_s <= entry.t_s <= until_s:
            continue
        deed = entry.data
        if isinstance(deed, ClockJump) or (
            isinstance(deed, Deed)
            and (who is None or deed.who in who)
            and (arm is None or deed.arm == arm)
            and (deed.what != JOURNAL if what is None else deed.what == what)
            and (verdict is None or deed.verdict == verdict)
        ):
            yield entry


def checked(folder: Path, key: PublicKey, since_s: float) -> Iterator[Entry]:
    """Records of the files since a day, each held against chain and signatures; only what is signed for.

    Args:
        folder: as the service keeps it.
        key: public key of the service's signing key for the audit.
        since_s: seconds since 1970; earlier records of the same day come as well.

    Raises:
        JournalError: a file cannot be read, or a record is not as the service wrote it.
    """
    day = f"{datetime.datetime.fromtimestamp(since_s, datetime.UTC):%Y%m%d}"
    check, unsigned = _Check(key), list[Entry]()
    for path in audit_files(folder):
        if path.name.split("-", 1)[1] < day:
            continue
        for number, line in enumerate(_lines(path), start=1):
            if trouble := check.add(line, begins_file=number == 1):
                raise JournalError(f"{path}: line {number}: {trouble}")
            entry = msgspec.json.decode(msgspec.json.decode(line, type=ChainedLine).entry, type=Entry)
            unsigned.append(entry)
            if isinstance(entry.data, Head):
                yield from unsigned
                unsigned.clear()


def vouched_deeds(folder: Path, what: str) -> Iterator[tuple[float, Deed]]:
    """Deeds of one kind, each with its time, that the service has signed for if the audit is whole; see `verify`.

    Raises:
        JournalError: a file cannot be read, or holds something else.
    """
    unsigned: list[tuple[float, Deed]] = []
    for entry in _entries(folder):
        if isinstance(entry.data, Deed) and entry.data.what == what:
            unsigned.append((entry.t_s, entry.data))
        elif isinstance(entry.data, Head):
            yield from unsigned
            unsigned.clear()


def _entries(folder: Path) -> Iterator[Entry]:
    for path in audit_files(folder):
        for line in _lines(path):
            try:
                yield msgspec.json.decode(msgspec.json.decode(line, type=ChainedLine).entry, type=Entry)
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise JournalError(f"{path}: a line is no record of an audit; `hil audit verify` says where") from None


def _lines(path: Path) -> Iterator[bytes]:
    """One after the other: a busy day's file is longer than a small board's memory should be filled with."""
    with disk_errors(path), path.open("rb") as file:
        for line in file:
            yield line.removesuffix(b"\n")
