"""Calibrations: dated files of their own that are laid over a rig, and the note on who has looked at its arm."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hil.errors import ConfigError
from hil.model._robot_file import Text
from hil.model.files import folders, read_toml, user_dir
from hil.model.rig import AdapterIdentity, AxisKind, CalibrationNote, Rig
from hil.tables import convert, toml_keys
from hil.types import Record
from hil.units import DEG, MM

PULSE_US = (500, 2500)
KIND = "calibrations"
TOLERANCE_US = 1e-6

Direction = Literal["rising", "falling"]
PulseUs = Annotated[int, Meta(ge=PULSE_US[0], le=PULSE_US[1])]
Channel = Annotated[int, Meta(ge=0, le=31)]


class AxisCalibration(Record, frozen=True):
    """One axis as it was measured, in degrees, or in millimetres of a gripper or sliding joint.

    Attributes:
        channel: output that its servo hangs on.
        direction: which way the position was seen to go as the pulse grows.
        points: (position, pulse in us), positions rising, two or more.
        residuals: per point, how far it lies from the straight line through all.
        lower_us, upper_us: pulse limits.
        lower, upper: how far the axis can go, where that is less than the rig allows; else None.
    """

    channel: int
    direction: Direction
    points: tuple[tuple[float, int], ...]
    residuals: tuple[float, ...]
    lower_us: int
    upper_us: int
    lower: float | None = None
    upper: float | None = None


class Calibration(Record, frozen=True):
    """All axes of one arm.

    Attributes:
        rig: name of the rig that it is for.
        adapter: of the arm that was measured; None for a fake controller.
        port: where it was then.
        axes: by name.
    """

    rig: str
    date: datetime.date
    operator: str
    adapter: AdapterIdentity | None
    port: str
    axes: dict[str, AxisCalibration]


class Confirmation(Record, frozen=True):
    """Somebody saw the right arm move when this rig was addressed.

    Attributes:
        place: where the adapter was plugged in.
        calibration: name of the calibration that was in force.
        date: day and time, ISO 8601.
    """

    rig: Text
    by: Text
    date: Text
    port: Text
    place: Text
    calibration: Text


class RevoluteTable(Record, frozen=True):
    """``[axis.NAME]`` of a turning joint."""

    channel: Channel
    direction: Direction
    points_deg_us: Annotated[tuple[tuple[float, PulseUs], ...], Meta(min_length=2)]
    residuals_deg: tuple[float, ...]
    lower_us: PulseUs
    upper_us: PulseUs
    lower_deg: float | None = None
    upper_deg: float | None = None


class LinearTable(Record, frozen=True):
    """``[axis.NAME]`` of a gripper or a sliding joint."""

    channel: Channel
    direction: Direction
    points_mm_us: Annotated[tuple[tuple[float, PulseUs], ...], Meta(min_length=2)]
    residuals_mm: tuple[float, ...]
    lower_us: PulseUs
    upper_us: PulseUs
    lower_mm: float | None = None
    upper_mm: float | None = None


class AdapterTable(Record, frozen=True):
    """``[adapter]``: what the arm hung on."""

    port: Text
    place: Text
    serial_number: Text | None = None


class CalibrationTable(Record, frozen=True):
    """A calibration file."""

    rig: Text
    made_on: Literal["arm", "fake"]
    date: datetime.date
    operator: Text
    axis: dict[str, dict[str, Any]]
    adapter: AdapterTable | None = None


# -- finding ---------------------------------------------------------------------------------------------


def calibration_files(rig_id: str) -> list[Path]:
    """All calibrations that are named after a rig, newest first; of equally new ones, the first in search order."""
    name = re.compile(rf"{re.escape(rig_id)}-(\d{{4}}-\d{{2}}-\d{{2}})(?:-(\d+))?\.toml")
    found = [
        ((match[1], int(match[2] or 1)), path)
        for folder in folders(KIND)
        for path in sorted(folder.glob(f"{_escaped(rig_id)}-*.toml"))
        if (match := name.fullmatch(path.name))
    ]
    return [path for _, path in sorted(found, key=lambda each: each[0], reverse=True)]


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def newest_for(rig: Rig) -> Path | None:
    """The calibration in force for a rig that names none: the newest of an arm, else the newest of a fake, else None.

    A rehearsal on a fake never takes the place of what was measured.
    """
    rehearsed = None
    for path in calibration_files(rig.id):
        if read_toml(path).get("made_on") != "fake":
            return path
        rehearsed = rehearsed or path
    return rehearsed


# -- reading ---------------------------------------------------------------------------------------------


def read_calibration(path: Path, rig: Rig, heirs_of: tuple[str, ...] = ()) -> Calibration:
    """Read one calibration strictly, against the rig that it is to be laid over.

    Args:
        path: the file.
        rig: the rig without it.
        heirs_of: rigs from which that one inherits and whose calibrations it may use when it names them.

    Raises:
        ConfigError: something in it is missing or cannot be, or it is for another rig or another adapter.
    """
    file = str(path)
    given = convert(read_toml(path), CalibrationTable, file=file)
    if given.rig not in (rig.id, *heirs_of):
        advice = "Calibrations belong to one arm and do not fit another of the same make"
        raise ConfigError(file, "rig", given.rig, f"{rig.id!r}, the rig that it is used for", advice)
    adapter = _adapter(given, rig, file)
    names = [axis.name for axis in rig.axes]
    if sorted(given.axis) != sorted(names):
        advice = f"`hil calibrate {rig.id}` writes a whole one"
        raise ConfigError(file, "axis", sorted(given.axis), f"every axis of the rig: {', '.join(names)}", advice)
    axes = {axis.name: _axis(given.axis[axis.name], axis.name, axis.kind, file) for axis in rig.axes}
    users: dict[int, str] = {}
    for name, axis in axes.items():
        if axis.channel in users:
            taken = f"a channel that no other axis uses; {users[axis.channel]} has this one"
            raise ConfigError(file, f"axis.{name}.channel", axis.channel, taken)
        users[axis.channel] = name
    return Calibration(
        rig=given.rig,
        date=given.date,
        operator=given.operator,
        adapter=adapter,
        port="" if given.adapter is None else given.adapter.port,
        axes=axes,
    )


def _adapter(given: CalibrationTable, rig: Rig, file: str) -> AdapterIdentity | None:
    if given.made_on == "fake":
        return None
    if given.adapter is None:
        raise ConfigError(file, "adapter", None, "the adapter of the arm that was calibrated")
    serial = given.adapter.serial_number or ""
    if rig.adapter_serial is not None and serial != rig.adapter_serial:
        raise ConfigError(
            file,
            "adapter.serial_number",
            serial or None,
            f"{rig.adapter_serial!r}, to which rig {rig.id} is bound",
            "It was measured on another arm, or the adapter was exchanged: calibrate again",
        )
    return AdapterIdentity(serial_number=serial, place=given.adapter.place)


def _axis(table: Mapping[str, Any], name: str, kind: AxisKind, file: str) -> AxisCalibration:
    key = f"axis.{name}"
    if kind is AxisKind.REVOLUTE:
        turning = convert(table, RevoluteTable, file=file, prefix=key)
        axis = _record(turning, turning.points_deg_us, turning.residuals_deg, turning.lower_deg, turning.upper_deg)
    else:
        linear = convert(table, LinearTable, file=file, prefix=key)
        axis = _record(linear, linear.points_mm_us, linear.residuals_mm, linear.lower_mm, linear.upper_mm)
    _check_axis(axis, key, "deg" if kind is AxisKind.REVOLUTE else "mm", file)
    return axis


def _record(
    table: RevoluteTable | LinearTable,
    points: tuple[tuple[float, int], ...],
    residuals: tuple[float, ...],
    lower: float | None,
    upper: float | None,
) -> AxisCalibration:
    return AxisCalibration(
        channel=table.channel,
        direction=table.direction,
        points=points,
        residuals=residuals,
        lower_us=table.lower_us,
        upper_us=table.upper_us,
        lower=lower,
        upper=upper,
    )


def _check_axis(axis: AxisCalibration, key: str, unit: str, file: str) -> None:
    given = [list(point) for point in axis.points]
    rises = [after[1] > before[1] for before, after in pairwise(axis.points)]
    still = any(after[1] == before[1] for before, after in pairwise(axis.points))
    if still or len(set(rises)) > 1 or any(after[0] <= before[0] for before, after in pairwise(axis.points)):
        allowed = "positions rising, pulses rising all the way or falling all the way"
        raise ConfigError(file, f"{key}.points_{unit}_us", given, allowed, "Calibrate this axis again")
    runs = "rising" if rises[0] else "falling"
    if runs != axis.direction:
        raise ConfigError(
            file,
            f"{key}.direction",
            axis.direction,
            f'"{runs}", as the points run',
            "One of the two is wrong, and a joint that runs backwards drives into its stop: calibrate this axis again",
        )
    if len(axis.residuals) != len(axis.points):
        allowed = f"{len(axis.points)} numbers, one for each point"
        raise ConfigError(file, f"{key}.residuals_{unit}", list(axis.residuals), allowed)
    if axis.lower_us >= axis.upper_us:
        raise ConfigError(file, f"{key}.upper_us", axis.upper_us, f"more than lower_us = {axis.lower_us}")


# -- laying over -----------------------------------------------------------------------------------------


def note_of(calibration: Calibration, path: Path) -> CalibrationNote:
    """What a rig remembers of the calibration that was laid over it."""
    return CalibrationNote(
        id=path.stem,
        rig=calibration.rig,
        date=calibration.date.isoformat(),
        operator=calibration.operator,
        adapter=calibration.adapter,
        file=str(path),
    )


def laid_over(calibration: Calibration, rig: Rig) -> dict[str, Any]:
    """The calibration as changes to the table of a rig: channels, points, pulse limits, narrower limits of an axis."""
    wires: dict[str, Any] = {}
    changes: dict[str, Any] = {"controller": {"axis": wires}}
    for axis in rig.axes:
        unit, factor = ("deg", DEG) if axis.kind is AxisKind.REVOLUTE else ("mm", MM)
        found = calibration.axes[axis.name]
        wires[axis.name] = {
            "channel": found.channel,
            "direction": found.direction,
            f"points_{unit}_us": [list(point) for point in found.points],
            "lower_us": found.lower_us,
            "upper_us": found.upper_us,
        }
        narrower: dict[str, float] = {}
        if found.lower is not None and found.lower * factor > axis.lower:
            narrower[f"lower_{unit}"] = found.lower
        if found.upper is not None and found.upper * factor < axis.upper:
            narrower[f"upper_{unit}"] = found.upper
        if narrower and axis.kind is AxisKind.GRIPPER:
            changes["gripper"] = narrower
        elif narrower:
            changes.setdefault("joints", {})[axis.name] = narrower
    if calibration.adapter is not None and calibration.adapter.serial_number:
        changes["adapter_serial"] = calibration.adapter.serial_number
    return changes


# -- writing ---------------------------------------------------------------------------------------------


def new_calibration_file(rig_id: str, date: datetime.date) -> Path:
    """A name in the user's folder that is not taken and is newer than all others of that day."""
    folder = user_dir() / KIND
    taken = {path.name for path in calibration_files(rig_id)}
    stem, number = f"{rig_id}-{date.isoformat()}", 1
    while (name := f"{stem}.toml" if number == 1 else f"{stem}-{number}.toml") in taken:
        number += 1
    return folder / name


def calibration_text(calibration: Calibration, rig: Rig) -> str:
    """The file's text."""
    lines = [
        f"# Calibration of rig {calibration.rig}, written by `hil calibrate`; docs/calibrate.md explains it.",
        "# Positions in degrees (gripper: mm), pulses in microseconds; residuals: distance from a straight line.",
        "",
        f"rig = {json.dumps(calibration.rig)}",
        f'made_on = "{"fake" if calibration.adapter is None else "arm"}"',
        f"date = {calibration.date.isoformat()}",
        f"operator = {json.dumps(calibration.operator, ensure_ascii=False)}",
    ]
    if calibration.adapter is not None:
        serial, place = calibration.adapter.serial_number, calibration.adapter.place
        lines += ["", "[adapter]", f"port = {json.dumps(calibration.port)}", f"place = {json.dumps(place)}"]
        lines += [f"serial_number = {json.dumps(serial)}"] if serial else []
    for axis in rig.axes:
        unit, found = "deg" if axis.kind is AxisKind.REVOLUTE else "mm", calibration.axes[axis.name]
        points = ", ".join(f"[{position:g}, {pulse_us}]" for position, pulse_us in found.points)
        lines += [
            "",
            f"[axis.{axis.name}]",
            f"channel = {found.channel}",
            f'direction = "{found.direction}"',
            f"points_{unit}_us = [{points}]",
            f"residuals_{unit} = [{', '.join(f'{residual:g}' for residual in found.residuals)}]",
            f"lower_us = {found.lower_us}",
            f"upper_us = {found.upper_us}",
        ]
        lines += [
            f"{name}_{unit} = {value:g}"
            for name, value in (("lower", found.lower), ("upper", found.upper))
            if value is not None
        ]
    return "\n".join(lines) + "\n"


# -- who has looked at the arm ---------------------------------------------------------------------------


def read_confirmation(rig_id: str) -> Confirmation | None:
    """Who saw this rig's arm move, and where it was plugged in then; None if nobody has.

    Raises:
        ConfigError: the note cannot be read.
    """
    path = _confirmation_file(rig_id)
    return convert(read_toml(path), Confirmation, file=str(path)) if path.is_file() else None


def write_confirmation(confirmation: Confirmation) -> Path:
    """Remember it; the one before is forgotten.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    path = _confirmation_file(confirmation.rig)
    fields = msgspec.structs.asdict(confirmation)
    write_whole(path, "# Written by `hil calibrate` or `hil identify`.\n\n" + "\n".join(toml_keys(fields)) + "\n")
    return path


def forget_confirmation(rig_id: str) -> None:
    """Nobody vouches for this rig's arm any more."""
    _confirmation_file(rig_id).unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file of the user's folder whole or not at all.

    Raises:
        ConfigError: the folder cannot be written to.
    """
    half_written = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half_written.write_text(text, encoding="utf-8")
        half_written.replace(path)
    except OSError as error:
        allowed = "a folder that can be written to"
        raise ConfigError(str(path), "file", error.strerror or str(error), allowed) from None


def _confirmation_file(rig_id: str) -> Path:
    return user_dir() / KIND / f"{rig_id}.identity"
