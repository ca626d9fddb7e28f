"""Reads robots and rigs from their TOML files, strictly; degrees and millimetres end here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hil.errors import ConfigError
from hil.model._calibration_file import laid_over, newest_for, note_of, read_calibration
from hil.model._rig_file import ControllerBuilder, rig_from_table
from hil.model._robot_file import robot_from_table
from hil.model.files import find, merged, read_toml
from hil.model.rig import Rig
from hil.model.robot import RobotModel

Judge = Callable[[Rig, frozenset[str]], None]


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
    if path.suffix.lower() in (".urdf", ".xacro"):
        made = f"hil import {path} -o {path.stem}.toml"
        raise ConfigError(str(path), "file", path.suffix, "a robot's TOML file", f"This makes one of it: {made}")
    return robot_from_table(read_toml(path), path.stem, str(path))


def load_rig(
    name_or_path: str | Path,
    controllers: Mapping[str, ControllerBuilder],
    changes: Mapping[str, Any] | None = None,
    *,
    calibrated: bool | Path = True,
    judge: Judge = lambda rig, foreign: None,
) -> Rig:
    """Load one rig with its robot, its controller's settings, and its calibration if it has one.

    Args:
        name_or_path: name among the known rigs, or the path of a TOML file.
        controllers: per `controller.kind`, what turns that table into settings: called with the table,
            (name, kind) of every axis, and the file's name.
        changes: what is laid over the file, as a rig that inherits from it would say it.
        calibrated: False for the rig as its file has it, to calibrate it; or the calibration to lay over it.
        judge: told the rig, and which bodies it has unchanged from a rig of another robot; raises what is wrong.

    Raises:
        ConfigError: not found, or anything in a file is wrong; names file, key, value, allowed.
    """
    path = find("rigs", name_or_path)
    rig, table, ancestors, foreign = _load_rig(path, controllers, ())
    wanted, note = table, None
    file = calibrated if isinstance(calibrated, Path) else _calibration_of(rig, table) if calibrated else None
    if file is not None:
        calibration = read_calibration(file, rig, ancestors)
        wanted, note = merged(table, laid_over(calibration, rig)), note_of(calibration, file)
    if changes:
        wanted = merged(wanted, changes)
    if wanted is not table:
        label = str(path) if file is None else f"{path} with {file}"
        rig = msgspec.structs.replace(_from_table(wanted, path, controllers, label), calibration=note)
    judge(rig, foreign)
    return rig


def _calibration_of(rig: Rig, table: Mapping[str, Any]) -> Path | None:
    """The calibration in force: the one that the rig names, else the newest one that was made for it.

    Raises:
        ConfigError: the rig names one that is not there.
    """
    name = table.get("calibration")
    if name is not None:
        return find("calibrations", name, file=rig.file, key="calibration")
    return newest_for(rig)


def _load_rig(
    path: Path, controllers: Mapping[str, ControllerBuilder], heirs: tuple[Path, ...]
) -> tuple[Rig, dict[str, Any], tuple[str, ...], frozenset[str]]:
    """The rig, its table with everything inherited, from which rigs, and bodies of another robot's rig.

    `heirs` are the files that led here.

    An inherited file is checked as a rig of its own first, so that its faults are reported under its name.
    """
    table = read_toml(path)
    parent = table.pop("inherit", None)
    ancestors: tuple[str, ...] = ()
    foreign: frozenset[str] = frozenset()
    if parent is not None:
        above = _parent(path, parent, (*heirs, path))
        _, inherited, older, foreign = _load_rig(above, controllers, (*heirs, path))
        # A calibration belongs to one arm: whoever inherits has another one, or says so.
        inherited.pop("calibration", None)
        table, ancestors = merged(inherited, table), (above.stem, *older)
        foreign = _foreign(table, inherited, foreign)
    return _from_table(table, path, controllers, str(path)), table, ancestors, foreign


def _foreign(table: Mapping[str, Any], inherited: Mapping[str, Any], before: frozenset[str]) -> frozenset[str]:
    """Bodies that stand here as in the rig above, which has them for another robot."""
    above, shapes = inherited["shapes"], table["shapes"]
    if not isinstance(shapes, list):
        return frozenset()
    kept = frozenset(row["name"] for row in above if row in shapes)
    return kept if table.get("robot") != inherited.get("robot") else kept & before


def _from_table(table: Mapping[str, Any], path: Path, controllers: Mapping[str, ControllerBuilder], label: str) -> Rig:
    """The checked rig; `label` names it in messages."""
    file = str(path)
    rig = rig_from_table(table, path.stem, label, lambda name: load_robot(name, file=file, key="robot"), controllers)
    return msgspec.structs.replace(rig, file=file)


def _parent(path: Path, name: object, heirs: tuple[Path, ...]) -> Path:
    if not isinstance(name, str):
        raise ConfigError(str(path), "inherit", name, "the name or path of one rig")
    parent = find("rigs", name, file=str(path), key="inherit")
    if parent.resolve() in [heir.resolve() for heir in heirs]:
        circle = " -> ".join([*(heir.stem for heir in heirs), parent.stem])
        raise ConfigError(str(path), "inherit", name, "a rig that does not inherit from this one", circle)
    return parent
