"""A search's folder: what was searched and what was found so far, so that it can go on where it was broken off."""

from __future__ import annotations

import os
from pathlib import Path
from zipfile import BadZipFile

import msgspec
import numpy as np

from hil.control.search import MEASURES, Found, Grid
from hil.errors import CommandError, ConfigError
from hil.kernels.scalar import FloatArray

DEFINITION, TABLE, BEST = "search.json", "found.npz", "best.json"


class Store:
    """One folder of one search."""

    def __init__(self, folder: Path, grid: Grid, *, again: bool = False) -> None:
        """Open it, and read what is there.

        Args:
            folder: made if it is not there.
            grid: what is searched.
            again: forget what another search left there.

        Raises:
            CommandError: another search is there.
            ConfigError: the folder cannot be used.
        """
        self.folder, self.grid = folder, grid
        self.table: FloatArray = np.full((grid.count, len(MEASURES)), np.nan)
        text = msgspec.json.format(msgspec.json.encode(grid)).decode()
        definition = folder / DEFINITION
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if definition.exists() and not again:
                if definition.read_text(encoding="utf-8") != text:
                    raise CommandError(
                        f"{folder} holds another search; allowed: another folder, or --again, which forgets that one",
                        value=str(folder),
                        allowed="another folder, or --again",
                    )
                self._read()
            else:
                (folder / TABLE).unlink(missing_ok=True)
                definition.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigError(str(folder), "folder", error.strerror, "a folder that can be written to") from None

    @property
    def found(self) -> Found:
        """What is known by now."""
        return Found(self.grid, self.table)

    def keep(self) -> None:
        """Write the table: it appears whole or not at all."""
        part = self.folder / f"{TABLE}.part"
        with part.open("wb") as file:
            np.savez_compressed(file, table=self.table)
        os.replace(part, self.folder / TABLE)

    def _read(self) -> None:
        file = self.folder / TABLE
        if not file.exists():
            return
        try:
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                table = stored["table"]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise ConfigError(str(file), "table", str(error), "what hil tune wrote; --again begins anew") from None
        if table.shape == self.table.shape:
            self.table = table
