"""How long journals are kept: by age, and by the room that all of them take."""

from __future__ import annotations

import contextlib
from pathlib import Path

from hil.runtime.journal import PACKING

_WRITTEN_S = 60.0
"""A file that was written to within this time has not ended yet."""

_HALF_MADE_S = 3600.0


def delete_old(folder: Path, oldest_s: float, most_bytes: int, now_s: float) -> None:
    """Delete journals that have not been written to since `oldest_s`, and the oldest until all take `most_bytes`.

    Args:
        folder: of journals of the service alone.
        oldest_s: seconds since 1970.
        most_bytes: of all journals together; those that are being written count, and are never deleted.
        now_s: seconds since 1970.
    """
    found = sorted((written_s, path, size) for path in folder.glob("*.mcap") for written_s, size in _looked_at(path))
    whole = sum(size for _, _, size in found)
    for written_s, path, size in found:
        if written_s > now_s - _WRITTEN_S or (written_s >= oldest_s and whole <= most_bytes):
            continue
        if _delete(path):
            whole -= size
    for path in folder.glob(f"*{PACKING}"):
        if any(written_s < now_s - _HALF_MADE_S for written_s, _ in _looked_at(path)):
            _delete(path)


def _looked_at(path: Path) -> list[tuple[float, int]]:
    """When it was written to last, and its length; empty where it is gone."""
    with contextlib.suppress(OSError):
        seen = path.stat()
        return [(seen.st_mtime, seen.st_size)]
    return []


def _delete(path: Path) -> bool:
    with contextlib.suppress(OSError):
        path.unlink()
        return True
    return False
