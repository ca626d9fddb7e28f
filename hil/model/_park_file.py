"""That somebody has looked how a rig's limp arm lies: a note beside the calibrations, in the user's folder."""

from __future__ import annotations

import math
from pathlib import Path

from hil.model._calibration_file import KIND, write_whole
from hil.model._robot_file import Text
from hil.model.files import read_toml, user_dir
from hil.model.rig import Rig
from hil.tables import convert, toml_keys
from hil.types import Record

SAME = 1e-6
ESTIMATE = "estimate"


class ParkNote(Record, frozen=True):
    """Who has seen the limp arm lie in the rig's park pose, and when; `park` per axis, rad or m."""

    rig: Text
    by: Text
    date: Text
    park: tuple[float, ...]


def park_source(rig: Rig) -> str:
    """Where a rig's park pose comes from: who has measured it and when, else what its file says, else an estimate.

    Raises:
        ConfigError: the note cannot be read.
    """
    path = park_file(rig.id)
    if path.is_file():
        note = convert(read_toml(path), ParkNote, file=str(path))
        if len(note.park) == len(rig.park) and all(map(_same, note.park, rig.park)):
            return f"measured by {note.by}, {note.date}"
    return rig.park_source or ESTIMATE


def write_park(rig: Rig, by: str, date: str) -> Path:
    """Note that the limp arm lies in the park pose as the rig has it.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    head = {"rig": rig.id, "by": "".join(filter(str.isprintable, by)), "date": date}
    lines = [
        "# Somebody has seen the limp arm lie in this pose. `hil release` asks.",
        *toml_keys(head),
        f"park = [{', '.join(map(repr, rig.park))}]",
    ]
    path = park_file(rig.id)
    write_whole(path, "\n".join([*lines, ""]))
    return path


def park_file(rig_id: str) -> Path:
    """Where the note of a rig is, or would be."""
    return user_dir() / KIND / f"{rig_id}.park"


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, abs_tol=SAME)
