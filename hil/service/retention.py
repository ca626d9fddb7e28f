"""How a lab's journals are named, and how long they are kept: by age, and by the room that all of them take."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from hil.runtime.journal import PACKING, first_path
from hil.runtime.journal_file import being_written

_WRITTEN_S = 60.0
"""A file that was written to within this time has not ended yet."""

_HALF_MADE_S = 3600.0
_NAME = re.compile(r"(?P<rig>.+)-[0-9]{8}-[0-9]{6}-[0-9]{6}")


def new_journal(folder: Path, rig: str, now: datetime) -> Path:
    """Where a session of this rig that begins now is recorded: rig, day, time, microseconds."""
    return folder / f"{rig}-{now:%Y%m%d-%H%M%S-%f}.mcap"


def rig_of(journal: Path) -> str | None:
    """The id of the rig that a journal is of, by its name; None for another file. One arm of a lab has that rig."""
    named = _NAME.fullmatch(first_path(journal).stem)
    return None if named is None else named["rig"]


class _File(NamedTuple):
    written_s: float
    path: Path
    size: int


def delete_old(folder: Path, oldest_s: float, most_bytes: int, now_s: float) -> None:
    """Delete journals that have not been written to since `oldest_s`, and the oldest until all take `most_bytes`.

    A session that has ended goes whole: without its first file none of the others could be replayed. One that goes on
    loses its oldest files, where they are too old or where nothing else is left to make room.

    Args:
        folder: of journals of the service alone.
        oldest_s: seconds since 1970; a session that has ended is as old as its last file.
        most_bytes: of all journals together; files that are being written count, and are never deleted.
        now_s: seconds since 1970.
    """
    by_first: dict[Path, list[_File]] = defaultdict(list)
    for path in folder.glob("*.mcap"):
        by_first[first_path(path)] += _looked_at(path)
    sessions = sorted((sorted(files) for files in by_first.values() if files), key=lambda files: files[-1])
    room = most_bytes - sum(file.size for files in sessions for file in files)
    for files in (files for files in sessions if not _written(files[-1], now_s)):
        if files[-1].written_s < oldest_s or room < 0:
            room += _delete(files)
    for file in sorted(file for files in sessions if _written(files[-1], now_s) for file in files):
        if not _written(file, now_s) and (file.written_s < oldest_s or room < 0):
            room += _delete([file])
    half_made = [file for path in folder.glob(f"*{PACKING}") for file in _looked_at(path)]
    _delete([file for file in half_made if file.written_s < now_s - _HALF_MADE_S])


def _written(file: _File, now_s: float) -> bool:
    """Whether somebody may still write to it: he has lately, or has it open, as a recorder that was stopped."""
    return file.written_s > now_s - _WRITTEN_S or being_written(file.path)


def _looked_at(path: Path) -> list[_File]:
    """The file as it is; empty where it is gone."""
    with contextlib.suppress(OSError):
        seen = path.stat()
        return [_File(seen.st_mtime, path, seen.st_size)]
    return []


def _delete(files: Sequence[_File]) -> int:
    """Delete files, the last one first, so that what is left after a failure still has its beginning; bytes freed."""
    freed = 0
    for file in reversed(files):
        with contextlib.suppress(OSError):
            file.path.unlink()
            freed += file.size
    return freed
