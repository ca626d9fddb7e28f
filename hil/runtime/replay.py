"""Replay: the same loop, guard and driver fed with a journal's times, received bytes and requests.

A journal that was edited, its hash chain recomputed or not, sends something else than it claims and fails here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hil.errors import (
    HilError,
    InterlockError,
    JournalError,
    LinkClosed,
    LinkError,
    LinkOpening,
    LinkOverrun,
    LinkTimeout,
)
from hil.runtime import wiring
from hil.runtime.journal import FIRST_CHAIN, SessionRecord, first_path, part_path, read_journal
from hil.types import LineFailure, Record, TickRecord

_KINDS: dict[str, type[HilError]] = {
    kind.__name__: kind for kind in (LinkError, LinkClosed, LinkOpening, LinkOverrun, LinkTimeout, InterlockError)
}


class ReplayVerdict(Record, frozen=True):
    """Whether a journal's own past, run again, sends what the journal says.

    Attributes:
        ticks: ticks replayed.
        wire_bytes: bytes that left, the same in both if `same`.
        first_difference: words naming the first tick and field that differ, or empty.
    """

    ticks: int
    wire_bytes: int
    first_difference: str

    @property
    def same(self) -> bool:
        """True if every tick came out the same."""
        return not self.first_difference


class ReplayPort:
    """Gives back what the journal's line gave, tick by tick, failures included."""

    def __init__(self) -> None:
        self._unread = self._unwritten = b""
        self._failures: list[LineFailure] = []

    def load(self, record: TickRecord) -> None:
        """Take the next tick's bytes and failures."""
        self._unread, self._unwritten = record.received, record.written
        self._failures = list(record.failures)

    def open(self) -> ReplayPort:
        """Open as the recorded port did."""
        self._fail("open")
        return self

    def read(self, now_s: float) -> bytes:
        """All that was received in this tick, then nothing."""
        data, self._unread = self._unread, b""
        if not data:
            self._fail("read")
        return data

    def write(self, data: bytes, now_s: float) -> None:
        """Take what the recorded port took; fail as it did, in the same order, where it did not."""
        if data and self._unwritten.startswith(data):
            self._unwritten = self._unwritten[len(data) :]
        else:
            self._fail("write")

    def set_baud(self, baud: int) -> None:
        """A recording has no speed."""

    def close(self) -> None:
        """Nothing to let go of."""

    def _fail(self, call: str) -> None:
        for index, failure in enumerate(self._failures):
            if failure.call == call:
                del self._failures[index]
                raise _KINDS.get(failure.kind, LinkError)(failure.message)


def replay(path: Path) -> ReplayVerdict:
    """Run a journal again and compare every tick; a later file of a session together with all before it.

    Raises:
        JournalError: the file has no readable session, or records or files before it are missing.
    """
    session = _session(path)
    paths = [part_path(first_path(path), part) for part in range(session.part)]
    if missing := [each for each in paths if not each.exists()]:
        raise JournalError(
            f"{path}: part {session.part} of a session is replayed with all parts before it; "
            f"{missing[0].name} is not beside it. Put a copy of it there; without one this file can still be "
            "verified, plotted and exported, and only sessions that are whole can be replayed"
        )
    session = _session(paths[0]) if paths else session
    port = ReplayPort()
    bridge = wiring.replay_bridge(session, port.open)
    ticks = wire_bytes = 0
    for record in _ticks([*paths, path]):
        port.load(record)
        again = bridge.tick(
            record.t_s, record.requests, late_s=record.late_s, missed=record.missed, work_s=record.work_s
        )
        if again != record:
            return ReplayVerdict(ticks=ticks, wire_bytes=wire_bytes, first_difference=_difference(record, again))
        ticks += 1
        wire_bytes += len(record.written)
    return ReplayVerdict(ticks=ticks, wire_bytes=wire_bytes, first_difference="")


def _session(path: Path) -> SessionRecord:
    session = next((entry.session for entry in read_journal(path) if entry.session is not None), None)
    if session is None:
        raise JournalError(f"{path}: no session record at the beginning; nothing can be replayed")
    if "experiment" in session.settings:
        raise JournalError(
            f"{path}: a run of hil simulate, which no bridge sent; its settings stand in its first record and in the "
            ".json that hil simulate -o writes: hil simulate ROBOT --settings FILE runs it again"
        )
    return session


def _ticks(paths: Sequence[Path]) -> Iterator[TickRecord]:
    chain = FIRST_CHAIN
    for path in paths:
        for entry in read_journal(path):
            if entry.session is not None and entry.session.after != chain:
                raise JournalError(f"{path}: does not follow the file before it; a replay needs every tick")
            if entry.gap is not None:
                raise JournalError(f"{path}: records are missing (gap at record {entry.n}); a replay needs every tick")
            if entry.tick is not None:
                yield entry.tick
            chain = entry.chain


def _difference(recorded: TickRecord, again: TickRecord) -> str:
    for field in msgspec.structs.fields(TickRecord):
        old, new = getattr(recorded, field.name), getattr(again, field.name)
        if old != new:
            return f"tick {recorded.tick}, {field.name}: the journal says {old!r}, the replay gives {new!r}"
    return ""
