"""What a rig's controller said of itself the last time: a note beside the calibrations, in the user's folder."""

from __future__ import annotations

from pathlib import Path

from hil.model._calibration_file import KIND, write_whole
from hil.model._robot_file import Text
from hil.model.files import read_toml, user_dir
from hil.model.rig import Rig
from hil.tables import convert, toml_keys, toml_value
from hil.types import ControllerIdentity, Record


class ControllerNote(Record, frozen=True):
    """Who answered at a rig's real port.

    Attributes:
        calibration: name of the calibration that was in force; empty for a rig that needs none.
        date: day and time at which it was first met like this, or accepted by a person; ISO 8601.
        port: where.
        facts: what it said of itself.
    """

    rig: Text
    calibration: str
    date: Text
    port: Text
    facts: tuple[tuple[str, str], ...]


def read_controller(rig: Rig) -> ControllerIdentity | None:
    """Whom to expect at a rig's real port; None if nobody was met with the calibration that is in force.

    Raises:
        ConfigError: the note cannot be read.
    """
    path = controller_file(rig.id)
    if not path.is_file():
        return None
    note = convert(read_toml(path), ControllerNote, file=str(path))
    return ControllerIdentity(facts=note.facts) if note.calibration == calibration_of(rig) else None


def write_controller(rig_id: str, calibration: str, controller: ControllerIdentity, *, port: str, date: str) -> Path:
    """Remember who answers; the one before is forgotten.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    head = {"rig": rig_id, "calibration": calibration, "date": date, "port": port}
    lines = [
        "# What the controller said of itself. `hil identify` and `hil calibrate` write it anew.",
        "",
        *toml_keys(head),
        "facts = [",
        *(f"    {toml_value(fact)}," for fact in controller.facts),
        "]",
    ]
    path = controller_file(rig_id)
    write_whole(path, "\n".join([*lines, ""]))
    return path


def calibration_of(rig: Rig) -> str:
    """Name of the calibration in force, empty where there is none."""
    return "" if rig.calibration is None else rig.calibration.id


def controller_file(rig_id: str) -> Path:
    """Where the note of a rig is."""
    return user_dir() / KIND / f"{rig_id}.controller"
