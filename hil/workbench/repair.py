"""Makes a well-formed journal of one that was cut, so that other programs open it; the cut one is never touched."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from mcap.writer import MCAP0_MAGIC

from hil.errors import JournalError
from hil.runtime.journal import (
    Completeness,
    EndKind,
    EndRecord,
    GapRecord,
    JournalVerdict,
    JournalWriter,
    read_journal,
    verify,
)
from hil.types import TickRecord


def repair(journal: Path, output: Path) -> JournalVerdict:
    """Copy all records that are whole and unchanged, and close the copy as abandoned.

    The records keep their bytes and hashes; only what was never written is added: the closing record, which says
    that the session did not end as it should, and the summary in which other programs look first.

    Args:
        journal: an unfinished or broken journal, or one that is being written; only read.
        output: a new file.

    Returns:
        What `verify` says of the copy.

    Raises:
        JournalError: nothing to repair, nothing to save, or the copy cannot be written.
    """
    found = verify(journal)
    if found.records == 0:
        raise JournalError(
            f"{journal}: not even the session record can be read; there is nothing to save: {found.reason}"
        )
    mended = (Completeness.BROKEN, Completeness.BEING_WRITTEN)
    if found.completeness not in mended and _is_closed(journal):
        raise JournalError(f"{journal}: nothing to repair: {found.text}")
    if output.exists():
        raise JournalError(f"{output}: exists already; name another file with -o, or remove it")
    try:
        _copy(journal, output, found)
        _compare(journal, output, found.records)
    except JournalError:
        output.unlink(missing_ok=True)
        raise
    return verify(output)


def _copy(journal: Path, output: Path, found: JournalVerdict) -> None:
    entries = islice(read_journal(journal), found.records)
    session = next(entries).session
    assert session is not None  # a journal without one is broken at record 0
    with JournalWriter(output, session) as writer:
        last_s, ended = session.t_s, False
        for entry in entries:
            last_s = entry.data.t_s
            match entry.data:
                case TickRecord() as tick:
                    writer.tick(tick)
                case GapRecord() as gap:
                    writer.gap(gap.first, gap.last, gap.t_s, gap.reason)
                case EndRecord() as end:
                    writer.end(end.kind, end.reason, end.t_s)
                    ended = True
        if not ended:
            writer.end(EndKind.ABANDONED, _reason(found), last_s)


def _is_closed(journal: Path) -> bool:
    with journal.open("rb") as file:
        file.seek(-len(MCAP0_MAGIC), 2)
        return file.read() == MCAP0_MAGIC


def _reason(found: JournalVerdict) -> str:
    if found.completeness is Completeness.BROKEN:
        return f"it was repaired: record {found.records} and all after it were left out: {found.reason}"
    if found.completeness is Completeness.BEING_WRITTEN:
        return "it was copied while it was being written, up to here"
    return f"it was repaired: {found.reason}"


def _compare(journal: Path, output: Path, records: int) -> None:
    """The copy holds the same bytes under the same hashes, or it is no copy."""
    pairs = zip(islice(read_journal(journal), records), read_journal(output), strict=False)
    if sum(old.chain == new.chain and old.payload == new.payload for old, new in pairs) == records:
        return
    raise JournalError(
        f"{journal}: this version cannot write its records again as they are; use the version that wrote it"
    )
