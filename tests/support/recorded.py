"""Journals of virtual sessions, for whatever reads journals."""

from __future__ import annotations

from pathlib import Path

from virtual_session import Session, swing

from hil.runtime.journal import EndKind, JournalWriter, part_path
from hil.types import EmergencyStop, Mode


def run_to_end(degrees: float = 40.0) -> Session:
    """A session that connects, drives the limp arm, and streams one short motion to its end."""
    session = Session()
    session.to(Mode.STREAMING, swing(degrees))
    session.until(Mode.IDLE)
    session.run(0.1)
    return session


def run_to_stop() -> Session:
    """A session that is frozen by a software stop in the middle of a motion."""
    session = Session()
    session.to(Mode.STREAMING, swing(40.0))
    session.tick(EmergencyStop(reason="the test"))
    session.run(0.2)
    return session


def write_journal(session: Session, path: Path, *, closed: bool = True, gap: tuple[int, int] | None = None) -> Path:
    """Write a session as the recorder does.

    Args:
        session: what happened.
        path: a new file.
        closed: False leaves the file as a killed recorder does.
        gap: first and last tick to leave out.
    """
    with JournalWriter(path, session.session_record()) as journal:
        for record in session.records:
            if gap is None or not gap[0] <= record.tick <= gap[1]:
                journal.tick(record)
            elif record.tick == gap[1]:
                journal.gap(*gap, record.t_s, "overwritten before it was recorded")
        journal.flush()
        if closed:
            journal.end(EndKind.CLOSED, "disconnected", session.records[-1].t_s)
    return path


def write_parts(session: Session, path: Path, parts: int, *, every: int = 1) -> list[Path]:
    """Write a session into several files; of `every` ticks but one is recorded as lost."""
    records = session.records
    paths = [part_path(path, part) for part in range(parts)]
    journal = JournalWriter(path, session.session_record())
    for number, record in enumerate(records):
        if number % every:
            journal.gap(record.tick, record.tick, record.t_s, "overwritten before it was recorded")
        else:
            journal.tick(record)
        if (number + 1) % -(-len(records) // parts) == 0 and number + 1 < len(records):
            full, journal = journal, journal.continue_in(paths[journal.session.part + 1], record.t_s)
            full.close()
    journal.end(EndKind.CLOSED, "disconnected", records[-1].t_s)
    return paths
