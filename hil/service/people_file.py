"""A SQLite file with names of people in it: nobody else reads it, what is deleted is gone, its faults are words."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hil.errors import ConfigError

IN_MEMORY = ":memory:"


class PeopleFile:
    """An open one. Reads no clock.

    Args:
        path: the file, made for its owner alone if it is not there, or `IN_MEMORY`.
        schema: what a new one begins with; sets ``user_version``.
        version: what that sets.
        lasting: what was written is there after a power failure, too; else the newest may be lost, and no disk is
            waited for. The file is never damaged by one.
        allowed: what the file has to be, for what is said of one that is not.
        advice: what to do about it.
        shared: by threads.

    Raises:
        ConfigError: it cannot be used.
    """

    def __init__(
        self,
        path: Path | str,
        schema: str,
        version: int,
        *,
        lasting: bool,
        allowed: str,
        advice: str = "",
        shared: bool = False,
    ) -> None:
        self._path, self._allowed, self._advice = str(path), allowed, advice
        self._lock = threading.RLock()
        with self._errors():
            if self._path != IN_MEMORY:
                os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
            self._base = sqlite3.connect(self._path, isolation_level=None, check_same_thread=not shared)
            try:
                self._prepare(schema, version, "FULL" if lasting else "NORMAL")
            except BaseException:
                self.close()
                raise

    def _prepare(self, schema: str, version: int, synchronous: str) -> None:
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute(f"PRAGMA synchronous = {synchronous}")
        self._base.execute("PRAGMA secure_delete = ON")
        self._base.execute("PRAGMA foreign_keys = ON")
        (found,) = self._base.execute("PRAGMA user_version").fetchone()
        if found == 0:
            self._base.executescript(schema)
        elif found != version:
            raise ConfigError(self._path, "version", found, str(version), "Move the file away: a new one is made")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._base.close()

    def rows(self, query: str, *values: object) -> list[Any]:
        """All that it finds."""
        with self._lock, self._errors():
            return self._base.execute(query, values).fetchall()

    @contextlib.contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing."""
        with self._lock, self._errors():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise ConfigError(self._path, "file", str(error), self._allowed, self._advice) from None
