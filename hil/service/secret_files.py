"""Files that hold secrets: made for their owner alone, and refused when anybody else could have read them."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from hil.errors import ConfigError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def write_secret(path: Path, data: bytes) -> None:
    """Write a new file that only its owner can read; on Windows the folder's rights hold instead.

    Raises:
        ConfigError: there is a file already, or the place cannot be written to.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except FileExistsError:
        allowed = "a new name: nothing is overwritten"
        raise ConfigError(str(path), "file", "a file that is there", allowed) from None
    except OSError as error:
        allowed = "a place that can be written to"
        raise ConfigError(str(path), "file", error.strerror or str(error), allowed) from None


def read_secret(path: Path) -> bytes:
    """Read a file that only its owner can read.

    Raises:
        ConfigError: it cannot be read, belongs to somebody else, or others may read or change it.
    """
    try:
        with path.open("rb") as file:
            if sys.platform != "win32":
                _check_rights(path, os.fstat(file.fileno()))
            return file.read()
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a file that can be read") from None


if sys.platform != "win32":

    def _check_rights(path: Path, facts: os.stat_result) -> None:
        if facts.st_mode & _OTHERS:
            given = f"mode {stat.S_IMODE(facts.st_mode):04o}: others of this computer may use it"
            advice = f"Do `chmod 600 {path}`; if others were on this computer meanwhile, make new keys instead"
            raise ConfigError(str(path), "rights", given, "mode 0600", advice)
        if facts.st_uid not in (os.geteuid(), 0):
            given = f"a file of user number {facts.st_uid}"
            raise ConfigError(str(path), "owner", given, f"a file of user number {os.geteuid()}, who runs this")
