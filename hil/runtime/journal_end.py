"""What whoever had an arm moved says at the end: is the journal there, is it this session's, and is it whole?"""

from __future__ import annotations

from pathlib import Path

from hil.errors import JournalError
from hil.runtime.journal import Completeness, EndKind, SessionRecord, closing_record, read_journal, verify
from hil.runtime.journal_file import being_written
from hil.types import Record

WHOLE_BYTES = 16 << 20
"""Up to this length a journal is verified whole, half a second for six minutes; of a longer one the end is read."""


class JournalEnd(Record, frozen=True):
    """What became of a journal.

    Attributes:
        complete: it is there, whole, and holds every tick.
        text: names it, and says what is missing.
    """

    complete: bool
    text: str


def judge_end(path: Path, session: SessionRecord, ticks: int) -> JournalEnd:
    """Read back what a session has left.

    Args:
        path: where its journal was to be.
        session: as it was begun.
        ticks: how many the loop has published.
    """
    try:
        wrong = _wrong(path, session, ticks)
    except JournalError as error:
        wrong = str(error).removeprefix(f"{path}: ")
    if not path.exists():
        return JournalEnd(complete=False, text=f"there is NO JOURNAL: {path} is gone")
    if wrong:
        return JournalEnd(complete=False, text=f"the journal is NOT COMPLETE: {path}: {wrong}")
    return JournalEnd(complete=True, text=f"journal {path}")


def _wrong(path: Path, session: SessionRecord, ticks: int) -> str:
    first = next(read_journal(path), None)
    if first is None or first.session is None:
        return "not even its session record can be read"
    found = first.session
    if (found.start_epoch_s, found.start_monotonic_s, found.rig_digest) != (
        session.start_epoch_s,
        session.start_monotonic_s,
        session.rig_digest,
    ):
        return "it is of another session"
    if being_written(path):
        return "its recorder has not closed it yet"
    if path.stat().st_size > WHOLE_BYTES:
        return _wrong_end(path, ticks)
    verdict = verify(path)
    if verdict.completeness not in (Completeness.COMPLETE, Completeness.NEVER_BEGAN):
        return verdict.text
    if not (ticks or verdict.ticks or verdict.lost):
        return f"the session {verdict.text}"
    return _wrong_count(verdict.ticks, verdict.lost, ticks)


def _wrong_end(path: Path, ticks: int) -> str:
    end = closing_record(path)
    if end is None:
        return "it has no end record"
    if end.kind is not EndKind.CLOSED:
        return f"the recorder closed it because {end.reason}"
    return _wrong_count(end.ticks, end.lost, ticks)


def _wrong_count(found: int, lost: int, ticks: int) -> str:
    if lost:
        return f"{lost} ticks are lost"
    return "" if found == ticks else f"it holds {found} ticks, the loop made {ticks}"
