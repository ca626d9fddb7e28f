"""Reads robots and rigs from their TOML files, strictly; degrees and millimetres end here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.errors import ConfigError
from hil.model._rig_file import ControllerBuilder, rig_from_table
from hil.model._robot_file import robot_from_table
from hil.model.files import find, merged, read_toml
from hil.model.rig import Rig
from hil.model.robot import RobotModel


def load_robot(name_or_path: str | Path, *, file: str = "", key: str = "") -> RobotModel:
    """Load one robot.

    Args:
        name_or_path: name among the known robots, or the path of a TOML file.
        file: the file in which the name was given, for messages; empty if in none.
        key: the key there.

    Raises:
        ConfigError: not found, or anything in the file is wrong; names file, key, value, allowed.
    """
    path = find("robots", name_or_path, file=file, key=key)
    return robot_from_table(read_toml(path), path.stem, str(path))


def load_rig(
    name_or_path: str | Path, controllers: Mapping[str, ControllerBuilder], changes: Mapping[str, Any] | None = None
) -> Rig:
    """Load one rig with its robot and its controller's settings.

    Args:
        name_or_path: name among the known rigs, or the path of a TOML file.
        controllers: per `controller.kind`, what turns that table into settings: called with the table,
            (name, kind) of every axis, and the file's name.
        changes: what is laid over the file, as a rig that inherits from it would say it.

    Raises:
        ConfigError: not found, or anything in the file is wrong; names file, key, value, allowed.
    """
    path = find("rigs", name_or_path)
    rig, table = _load_rig(path, controllers, ())
    return _from_table(merged(table, changes), path, controllers) if changes else rig


def _load_rig(
    path: Path, controllers: Mapping[str, ControllerBuilder], heirs: tuple[Path, ...]
) -> tuple[Rig, dict[str, Any]]:
    """The rig and its table with everything inherited; `heirs` are the files that led here.

    An inherited file is checked as a rig of its own first, so that its faults are reported under its name.
    """
    table = read_toml(path)
    parent = table.pop("inherit", None)
    if parent is not None:
        above = _parent(path, parent, (*heirs, path))
        table = merged(_load_rig(above, controllers, (*heirs, path))[1], table)
    return _from_table(table, path, controllers), table


def _from_table(table: Mapping[str, Any], path: Path, controllers: Mapping[str, ControllerBuilder]) -> Rig:
    file = str(path)
    return rig_from_table(table, path.stem, file, lambda name: load_robot(name, file=file, key="robot"), controllers)


def _parent(path: Path, name: object, heirs: tuple[Path, ...]) -> Path:
    if not isinstance(name, str):
        raise ConfigError(str(path), "inherit", name, "the name or path of one rig")
    parent = find("rigs", name, file=str(path), key="inherit")
    if parent.resolve() in [heir.resolve() for heir in heirs]:
        circle = " -> ".join([*(heir.stem for heir in heirs), parent.stem])
        raise ConfigError(str(path), "inherit", name, "a rig that does not inherit from this one", circle)
    return parent
