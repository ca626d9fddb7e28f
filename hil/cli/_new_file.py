"""Files that commands write where a user says: whole, and never over one that is there."""

from __future__ import annotations

from pathlib import Path


def refuse_existing(path: Path) -> None:
    """Raises ConfigError where something is at `path` already, or its folder is missing."""
    from hil.errors import ConfigError

    if path.exists():
        raise ConfigError(str(path), "file", "a file that is there", "a new name: nothing is overwritten")
    if not path.parent.is_dir():
        raise ConfigError(str(path), "file", str(path.parent), "a folder that is there")


def write_new(path: Path, content: str | bytes) -> None:
    """Write a new file.

    Raises:
        ConfigError: there is one already, or the place cannot be written to.
    """
    from hil.errors import ConfigError

    refuse_existing(path)
    try:
        with path.open("xb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        allowed = "a place that can be written to"
        raise ConfigError(str(path), "file", error.strerror or str(error), allowed) from None
