"""That somebody said a rig's servo supply was cut: a note in the state folder, until a person has vouched anew.

Whoever is at the bench may write it from any terminal; a session of the rig that runs meanwhile looks for it.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from hil.errors import ConfigError
from hil.model._calibration_file import write_whole
from hil.model._robot_file import Text
from hil.model.files import read_toml, state_dir
from hil.tables import convert, toml_keys
from hil.types import Record


class SupplyNote(Record, frozen=True):
    """What was said: by whom, and when (ISO 8601)."""

    rig: Text
    by: Text
    date: Text


def read_supply(rig_id: str) -> SupplyNote | None:
    """The note of a rig; None if its supply was not said to be cut.

    Raises:
        ConfigError: it cannot be read.
    """
    path = supply_file(rig_id)
    return convert(read_toml(path), SupplyNote, file=str(path)) if path.is_file() else None


def write_supply(rig_id: str, by: str, date: str) -> Path:
    """Note that somebody said so.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    values = {"rig": rig_id, "by": "".join(filter(str.isprintable, by)).strip() or "somebody", "date": date}
    lines = [
        "# Somebody said that the servo supply was cut. The next pose that is confirmed takes this away.",
        *toml_keys(values),
    ]
    path = supply_file(rig_id)
    write_whole(path, "\n".join([*lines, ""]))
    return path


def forget_supply(rig_id: str) -> None:
    """A person has vouched for it since.

    Raises:
        ConfigError: the note cannot be taken away.
    """
    path = supply_file(rig_id)
    try:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    except OSError as error:
        raise ConfigError(str(path), "file", str(error.strerror), "a note that can be taken away") from None


def supply_file(rig_id: str) -> Path:
    """Where the note of a rig is, or would be."""
    return state_dir() / "supply" / f"{rig_id}.toml"
