"""The list of tokens that count no more: a text file that only grows, looked at again for every message."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from hil.errors import ConfigError
from hil.service.grants import Grant

ALL_BEFORE = "all-before"

HEADING = """\
# Tokens that count no more: one a line, its id, until when it would have counted, and why.
# `hil token revoke` writes here. A line that cannot be read shuts everybody out until it is mended.
"""


def revoke(path: Path, grant_id: str, expires_s: float, reason: str) -> None:
    """Add one token to the list; the service sees it with the next message.

    Raises:
        ConfigError: the list cannot be written to.
    """
    _append(path, grant_id, expires_s, reason)


def revoke_all(path: Path, issued_until_s: float, reason: str) -> None:
    """Add every token that was made until then.

    Raises:
        ConfigError: the list cannot be written to.
    """
    _append(path, ALL_BEFORE, issued_until_s, reason)


class Revocations:
    """What stands in the list now.

    Args:
        path: the file; read again whenever it has changed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._ids: frozenset[str] = frozenset()
        self._all_until_s = float("-inf")

    def covers(self, grant: Grant) -> bool:
        """Whether this token was revoked.

        Raises:
            ConfigError: the list is missing or cannot be read. Whoever asks has to refuse then.
        """
        self._refresh()
        return grant.token_id in self._ids or grant.issued_s <= self._all_until_s

    def _refresh(self) -> None:
        try:
            facts = self._path.stat()
            seen = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
            if seen == self._seen:
                return
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self._seen = None
            raise ConfigError(str(self._path), "file", str(error), "the list of revoked tokens") from None
        self._seen = None
        ids, all_until_s = set(), float("-inf")
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            name, epoch_s = _read_line(self._path, number, line)
            if name == ALL_BEFORE:
                all_until_s = max(all_until_s, epoch_s)
            else:
                ids.add(name)
        self._ids, self._all_until_s, self._seen = frozenset(ids), all_until_s, seen


def _read_line(path: Path, number: int, line: str) -> tuple[str, float]:
    fields = line.split(None, 2)
    try:
        return fields[0], datetime.datetime.fromisoformat(fields[1]).timestamp()
    except (IndexError, ValueError):
        allowed = "an id, a time as 2026-01-31T10:00:00+00:00, and why"
        raise ConfigError(str(path), f"line {number}", line, allowed) from None


def _append(path: Path, name: str, epoch_s: float, reason: str) -> None:
    moment = datetime.datetime.fromtimestamp(epoch_s, datetime.UTC).isoformat(timespec="seconds")
    line = f"{name} {moment} {' '.join(reason.split())}\n"
    try:
        # Whoever mended the list by hand may have left its last line open.
        line = line if path.read_bytes()[-1:] in (b"", b"\n") else f"\n{line}"
        # One write, so that two people who revoke at once do not mix their lines.
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(handle, line.encode())
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        allowed = "the list of revoked tokens, which `hil serve init` makes"
        raise ConfigError(str(path), "file", error.strerror or str(error), allowed) from None
