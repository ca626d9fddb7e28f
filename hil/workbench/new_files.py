"""New rigs and robots in the user's folder: a small file, read back strictly before it is put in its place."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hil.errors import ConfigError
from hil.model.files import find, list_names, user_dir
from hil.tables import toml_keys, toml_value

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
"""Names that Windows keeps for devices, with any ending."""


@dataclass(frozen=True)
class Length:
    """One length of an arm that a person measures, with what can be true of an arm of this kind."""

    key: str
    question: str
    lower_mm: float
    upper_mm: float


LENGTHS = (
    Length("base_height_mm", "table to the axis of the shoulder", 30.0, 300.0),
    Length("upper_arm_mm", "axis of the shoulder to axis of the elbow", 50.0, 400.0),
    Length("forearm_mm", "axis of the elbow to axis of the wrist", 50.0, 400.0),
    Length("hand_mm", "axis of the wrist to the finger tips, gripper closed", 40.0, 350.0),
)
HEIGHT_TOLERANCE_MM = 10.0
RATIO = 2.5
"""Upper arm and forearm of such kits differ by less than this factor."""

_OTHER_UNITS = ((10.0, "centimetres"), (25.4, "inches"), (1000.0, "metres"))


def new_rig(
    name: str,
    parent: str,
    check: Callable[[Path], object],
    *,
    robot: str | None = None,
    title: str | None = None,
    port: str | None = None,
    adapter_serial: str | None = None,
) -> Path:
    """Write a rig that inherits from another and says only what differs.

    Args:
        name: of the new rig.
        parent: name or path of the rig to inherit from.
        check: reads a rig's file strictly and raises what is wrong with it.
        robot: name of a robot with the same joints, but for example lengths of its own.
        title: shown to people; made of the parent's if None.
        port: device or URL of the line.
        adapter_serial: serial number of the USB adapter that the rig is bound to.

    Returns:
        The new file.

    Raises:
        ConfigError: the name cannot be had, or the rig would not load; nothing was written.
    """
    above = find("rigs", parent, file="hil new rig", key="--from")
    named = above.stem in list_names("rigs") and find("rigs", above.stem).resolve() == above.resolve()
    top = {
        "inherit": above.stem if named else str(above.resolve()),
        "title": title or f"{name}, from {above.stem}",
        "robot": robot,
        "adapter_serial": adapter_serial,
    }
    lines = [f"# Only what differs from {above.stem}; every key is explained in docs/rigs.md.", "", *toml_keys(top)]
    if port is not None:
        lines += ["", "[controller]", *toml_keys({"port": port})]
    return write_checked("rigs", name, "\n".join(lines) + "\n", check)


def new_robot(
    name: str,
    lengths_mm: Mapping[str, float],
    check: Callable[[Path], object],
    *,
    axes: int,
    measured_by: str,
    date: str,
    height_mm: float | None = None,
) -> Path:
    """Write a robot of the Lynx6 kind, base, shoulder, elbow, wrist, and maybe wrist rotation, from its lengths.

    Args:
        name: of the new robot.
        lengths_mm: one for each of `LENGTHS`, by key.
        check: reads a robot's file strictly and raises what is wrong with it.
        axes: 4, or 5 with wrist rotation.
        measured_by: who has measured.
        date: when, as 2026-01-31.
        height_mm: table to finger tips with the arm straight up, to check the others by; None if not measured.

    Returns:
        The new file.

    Raises:
        ConfigError: the name cannot be had, or a length cannot be; nothing was written.
    """
    if axes not in (4, 5):
        raise ConfigError("hil new robot", "--axes", axes, "4, or 5 with wrist rotation")
    for length in LENGTHS:
        check_length(length, lengths_mm[length.key])
    _check_together(lengths_mm, height_mm)
    return write_checked(
        "robots", name, _robot_text(name, lengths_mm, axes, f"measured by {measured_by}, {date}"), check
    )


def check_name(kind: str, name: str) -> Path:
    """Where a new file with this name would go.

    Args:
        kind: ``rigs`` or ``robots``.
        name: wanted.

    Raises:
        ConfigError: no name for a file, or taken.
    """
    command = f"hil new {kind.removesuffix('s')}"
    if not _NAME.fullmatch(name) or _DEVICES.fullmatch(name):
        allowed = "1 to 63 letters, digits, - and _, first a letter or digit; no name that Windows keeps, as com3"
        raise ConfigError(command, "NAME", name, allowed)
    taken = next((known for known in list_names(kind) if known.casefold() == name.casefold()), None)
    if taken is not None:
        raise ConfigError(command, "NAME", name, "a name that is not taken", f"{find(kind, taken)} has it")
    return user_dir() / kind / f"{name}.toml"


def check_length(length: Length, value_mm: float) -> None:
    """Refuse what cannot be the length of such an arm, and guess the unit that was meant.

    Raises:
        ConfigError: out of bounds, or not a number.
    """
    if length.lower_mm <= value_mm <= length.upper_mm:
        return
    likely = [(value_mm * factor, unit) for factor, unit in _OTHER_UNITS]
    meant = next((f"{mm:g} mm, if those were {unit}" for mm, unit in likely if _possible(length, mm)), "")
    allowed = f"{length.lower_mm:g} to {length.upper_mm:g} mm, {length.question}"
    raise ConfigError("hil new robot", length.key, value_mm, allowed, f"Did you mean {meant}?" if meant else "")


def _possible(length: Length, value_mm: float) -> bool:
    return length.lower_mm <= value_mm <= length.upper_mm


def _check_together(lengths_mm: Mapping[str, float], height_mm: float | None) -> None:
    upper, fore = lengths_mm["upper_arm_mm"], lengths_mm["forearm_mm"]
    if not 1 / RATIO <= upper / fore <= RATIO:
        raise ConfigError(
            "hil new robot",
            "forearm_mm",
            fore,
            f"{upper / RATIO:.0f} to {upper * RATIO:.0f} mm beside an upper arm of {upper:g} mm",
            "Measure both again, from axis to axis",
        )
    total = sum(lengths_mm[length.key] for length in LENGTHS)
    if height_mm is not None and not abs(height_mm - total) <= HEIGHT_TOLERANCE_MM:
        raise ConfigError(
            "hil new robot",
            "height_mm",
            height_mm,
            f"{total:g} mm, the sum of the four lengths, to {HEIGHT_TOLERANCE_MM:g} mm",
            "One of the five is wrong: measure again, with the arm straight up",
        )


def _robot_text(name: str, lengths_mm: Mapping[str, float], axes: int, source: str) -> str:
    base, upper, fore, hand = (lengths_mm[length.key] for length in LENGTHS)
    title = f"Lynx6-type arm {name}, {axes} axes"
    top = {
        "title": title,
        "manufacturer": "Lynxmotion",
        "convention": "standard",
        "status": "measured by its owner, not verified",
        "source": source,
    }
    notes = (
        "Shoulder: elevation from level; elbow and wrist: relative to the link before, up positive.",
        "Limits are the usual servos' half turn: narrow them in the rig to what this arm can do.",
        "Masses were not measured: no dynamics.",
    )
    text = [*toml_keys(top), "notes = [", *(f"  {toml_value(note)}," for note in notes), "]"]
    if axes == 4:
        text += ["", "[tool]", f"translation_mm = [0, 0, {hand:g}]"]
    text += _joint("base", d_mm=base, alpha_deg=90, limits_deg=(-90, 90))
    text += _joint("shoulder", a_mm=upper, limits_deg=(0, 180), home_deg=90)
    text += _joint("elbow", a_mm=fore, limits_deg=(-90, 90))
    text += _joint("wrist", theta_deg=90, alpha_deg=90, limits_deg=(-90, 90))
    if axes == 5:
        text += _joint("wrist_rotate", d_mm=hand, limits_deg=(-90, 90))
    return "\n".join(text) + "\n"


def _joint(
    name: str,
    *,
    limits_deg: tuple[float, float],
    d_mm: float = 0,
    theta_deg: float = 0,
    a_mm: float = 0,
    alpha_deg: float = 0,
    home_deg: float = 0,
) -> list[str]:
    """One row of the DH table: Rz(theta + q) Tz(d) Tx(a) Rx(alpha)."""
    row = {
        "d_mm": d_mm,
        "theta_deg": theta_deg,
        "a_mm": a_mm,
        "alpha_deg": alpha_deg,
        "lower_deg": limits_deg[0],
        "upper_deg": limits_deg[1],
        "home_deg": home_deg,
    }
    return [
        "",
        "[[joints]]",
        *toml_keys({"name": name, "type": "revolute"}),
        *(f"{key} = {x:g}" for key, x in row.items()),
    ]


def write_checked(kind: str, name: str, text: str, check: Callable[[Path], object]) -> Path:
    """Write a new file to the user's folder once it reads well.

    Args:
        kind: ``rigs`` or ``robots``.
        name: of the file.
        text: what it says.
        check: reads it strictly and raises what is wrong with it.

    Raises:
        ConfigError: the name cannot be had, the file would not load, or cannot be written; nothing was written.
    """
    place = check_name(kind, name)
    with tempfile.TemporaryDirectory(prefix="hil-new-") as folder:
        trial = Path(folder) / place.name
        trial.write_text(text, encoding="utf-8")
        try:
            check(trial)
        except ConfigError as error:
            file = f"hil new {kind.removesuffix('s')} {name}" if error.file == str(trial) else error.file
            raise ConfigError(file, error.key, error.value, error.allowed, error.advice) from None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise ConfigError(str(place), "file", "a file", "no file of that name: nothing is overwritten") from None
    except OSError as error:
        allowed = "a folder that can be written to"
        raise ConfigError(str(place), "file", error.strerror or str(error), allowed) from None
    return place
