"""The generations of an evolution on disk, so that a search that was broken off goes on where it was."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from zipfile import BadZipFile

import msgspec
import numpy as np

from hil.control.search import Grid
from hil.errors import CommandError, ConfigError
from hil.kernels.scalar import FloatArray

FILE = "evolution.npz"


class Generations:
    """What was run so far, in its order; the same search asks for the same again, and is answered from here.

    Args:
        folder: made if it is not there.
        grid: the experiment, and what varies between which ends.
        seed: of the search.
        again: forget what another search left there.

    Raises:
        CommandError: another search is there.
        ConfigError: the folder cannot be used.
    """

    def __init__(self, folder: Path, grid: Grid, seed: int, *, again: bool = False) -> None:
        self._file, self._next = folder / FILE, 0
        self._search = hashlib.sha256(msgspec.json.encode([grid, seed])).hexdigest()
        self._points: list[FloatArray] = []
        self._tables: list[FloatArray] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(str(folder), "folder", error.strerror, "a folder that can be written to") from None
        if self._file.exists() and not again:
            self._read()

    @property
    def done(self) -> int:
        """How many settings are kept."""
        return sum(map(len, self._points))

    def known(self, points: FloatArray) -> FloatArray | None:
        """What these gave, if they are the next generation of what is kept."""
        number, self._next = self._next, self._next + 1
        if number >= len(self._points):
            return None
        if not np.array_equal(self._points[number], points):
            # Another version of the library goes another way from here.
            del self._points[number:], self._tables[number:]
            return None
        return self._tables[number]

    def keep(self, points: FloatArray, table: FloatArray) -> None:
        """Add a generation: the file appears whole or not at all.

        Raises:
            ConfigError: it cannot be written.
        """
        self._points.append(points)
        self._tables.append(table)
        part = self._file.with_suffix(".part")
        lengths = [len(each) for each in self._points]
        try:
            with part.open("wb") as file:
                np.savez(
                    file,
                    search=np.array(self._search),
                    lengths=np.array(lengths),
                    points=np.vstack(self._points),
                    tables=np.vstack(self._tables),
                )
            os.replace(part, self._file)
        except OSError as error:
            raise ConfigError(str(self._file), "file", error.strerror, "a folder that can be written to") from None

    def _read(self) -> None:
        try:
            with self._file.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                search, lengths = str(stored["search"]), stored["lengths"]
                points, tables = stored["points"], stored["tables"]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise ConfigError(str(self._file), "file", str(error), "what hil tune wrote; --again begins anew") from None
        if search != self._search:
            allowed = "another folder, or --again"
            raise CommandError(
                f"{self._file.parent} holds another search; allowed: {allowed}, which forgets that one",
                value=str(self._file.parent),
                allowed=allowed,
            )
        edges = np.cumsum(lengths)[:-1]
        self._points, self._tables = np.split(points, edges), np.split(tables, edges)
