"""A task out of a journal: what was commanded, period by period, to be played back through preview and certificate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hil.errors import JournalError
from hil.motion.recording import Recording, moving_end, recording_text
from hil.runtime.journal import SessionRecord, read_journal
from hil.types import JointCommand, TickRecord

LEAST_CHANGE = 1e-12
"""Radians or metres below which a command is the one before."""


class WrittenTask(NamedTuple):
    """What was written.

    Attributes:
        task: the task file.
        positions: the file beside it that it plays back.
        rig: id of the rig.
        samples: number of rows.
        seconds: that they last at the speed asked for.
    """

    task: Path
    positions: Path
    rig: str
    samples: int
    seconds: float


def write_journal_task(
    journal: Path, task: Path, *, backwards: bool = False, speed_percent: float = 100.0
) -> WrittenTask:
    """Write a task that replays what a session commanded, from its first movement to its last.

    Args:
        journal: jogs, tasks and programs alike; only read.
        task: a new file, `.toml`; the positions go beside it, `.csv`.
        backwards: play it from its end to its start.
        speed_percent: part of its speed, 1 to 100; at 100 every sample is the recorded one.

    Raises:
        JournalError: nothing was moved, the journal is none, or a file is there already or cannot be written.
    """
    recording = recording_of_journal(journal)
    positions = task.with_suffix(".csv")
    head = f"title = {json.dumps(f'Replay of {journal.name}', ensure_ascii=False)}\nrig = {json.dumps(recording.rig)}\n"
    step = f'\n[[step]]\ndo = "replay"\nfile = {json.dumps(positions.name, ensure_ascii=False)}\n'
    step += "backwards = true\n" if backwards else ""
    step += f"speed_percent = {speed_percent:g}\n" if speed_percent != 100.0 else ""
    for path, text in ((positions, recording_text(recording)), (task, head + step)):
        try:
            with open(path, "x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except FileExistsError:
            raise JournalError(f"{path} exists already: name another file with -o") from None
        except OSError as error:
            raise JournalError(f"{path} cannot be written: {error.strerror}") from None
    count = len(recording.samples)
    seconds = (count - 1) * recording.period_s * 100.0 / speed_percent
    return WrittenTask(task, positions, recording.rig, count, seconds)


def recording_of_journal(journal: Path) -> Recording:
    """The commanded positions of a session, one row a tick, from rest to rest.

    Raises:
        JournalError: nothing was moved, it breaks off in mid-motion, or the journal is none.
    """
    session: SessionRecord | None = None
    rows: list[tuple[float, ...]] = []
    for entry in read_journal(journal):
        if isinstance(entry.data, SessionRecord) and session is None:
            session = entry.data
        if isinstance(entry.data, TickRecord):
            if isinstance(entry.data.wanted, JointCommand):
                rows.append(entry.data.wanted.positions)
            elif rows:
                rows.append(rows[-1])
    if session is None or not rows:
        raise JournalError(f"{journal}: nothing was commanded in this session, so there is nothing to play back")
    samples = np.array(rows)
    moved = np.flatnonzero((np.abs(np.diff(samples, axis=0)) > LEAST_CHANGE).any(axis=1))
    if not len(moved):
        raise JournalError(f"{journal}: the arm only held in this session, so there is nothing to play back")
    samples = samples[moved[0] : moved[-1] + 2]
    axes = session.rig["axes"]
    recording = Recording(
        rig=session.rig_id,
        period_s=float(session.rig["period_s"]),
        axes=tuple(axis["name"] for axis in axes),
        units=tuple("rad" if axis["kind"] == "revolute" else "m" for axis in axes),
        rows=np.ascontiguousarray(samples, dtype="<f8").tobytes(),
    )
    moving = moving_end(recording, np.array([axis["jerk"] for axis in axes], dtype=np.float64))
    if moving is not None:
        raise JournalError(
            f"{journal}: what was commanded {moving.verb} while {recording.axes[moving.axis]} moves; allowed: a motion "
            "from rest to rest. Take the journal of a session that came to its end"
        )
    return recording
