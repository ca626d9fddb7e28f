"""How near a recorded session kept to its paths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hil.errors import JournalError
from hil.robot import Robot
from hil.runtime.journal import Entry, SessionRecord, read_journal
from hil.runtime.path_report import OnPath, paths_of_records
from hil.runtime.wiring import rig_of_session
from hil.types import TickRecord


def paths_of_journal(journal: Path) -> list[OnPath]:
    """Results of every motion with paths that was sent, in the order of the session.

    Raises:
        JournalError: it is none, or it tells of no path.
    """
    entries = read_journal(journal)
    first = next(entries, None)
    if first is None or not isinstance(first.data, SessionRecord):
        raise JournalError(f"{journal}: it does not begin with its session, so its arm is not known")
    rig = rig_of_session(first.data)
    found = list(paths_of_records(rig, Robot(rig.robot), _ticks(entries)))
    if not found:
        raise JournalError(f"{journal}: no motion that leads the tool along a path was sent in this session")
    return found


def _ticks(entries: Iterator[Entry]) -> Iterator[TickRecord]:
    for entry in entries:
        if isinstance(entry.data, TickRecord):
            yield entry.data
