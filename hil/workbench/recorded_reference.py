"""References from files: what a task plans, what a journal's arm was told, or a table of somebody's own."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hil.control.experiment import Kind, Reference
from hil.control.joint_values import joint_units, joint_words
from hil.errors import CommandError, ConfigError
from hil.kernels.scalar import FloatArray
from hil.model.files import find, list_names
from hil.motion.planner import plan
from hil.robot import Robot
from hil.runtime.wiring import load_rig
from hil.workbench.columns import read_columns

ENDINGS = (".toml", ".mcap", ".csv")
MOST_SAMPLES = 200_000


def reference_of_file(file: Path, arm: Robot) -> Reference:
    """The motion of a file as a reference, samples at one period.

    Args:
        file: a task (.toml, or its name), planned within the limits of the rig of the arm's name or of its file; a
            journal (.mcap): what it was told while it moved; or a table (.csv) with ``time_s`` and a column
            ``NAME_deg`` or ``NAME_mm`` per joint.
        arm: whose joints they are.

    Raises:
        CommandError: another ending, joints that are missing, or times that are not evenly spaced.
        ConfigError, RefusedError, JournalError: the file cannot be used.
    """
    ending = file.suffix.lower()
    if ending in (".toml", ""):
        # A rig of the same name has the gripper that a task may use.
        rig = load_rig(arm.model.id if arm.model.id in list_names("rigs") else arm.model.file)
        motion = plan(rig, find("tasks", str(file)))
        return _reference(file, arm, motion.axes, motion.samples, motion.period_s, joint_units(arm.model))
    if ending == ".mcap":
        columns = read_columns(file)
        names = [axis.name for axis in columns.axes]
        rows = np.stack([axis.commanded for axis in columns.axes], axis=1)
        known = np.flatnonzero(np.isfinite(rows).all(axis=1))
        if len(known) < 2:
            raise CommandError(
                f"{file}: the arm was told of no motion; allowed: a journal in which it moved", value=file
            )
        times = columns.time_s[known[0] : known[-1] + 1]
        period = float(np.median(np.diff(times)))
        even = np.arange(times[0], times[-1] + 0.5 * period, period)
        filled = np.stack([np.interp(even, columns.time_s[known], rows[known, k]) for k in range(len(names))], axis=1)
        return _reference(file, arm, names, filled, period, [1.0] * arm.dof)
    if ending == ".csv":
        return _of_table(file, arm)
    allowed = f"a name that ends in {', '.join(ENDINGS)}"
    raise CommandError(f"{file} given; allowed: {allowed}", value=file, allowed=allowed)


def _of_table(file: Path, arm: Robot) -> Reference:
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(str(file), "file", None, "a table that can be read", str(error)) from None
    wanted = [f"{j.name}_{unit}" for j, unit in zip(arm.model.joints, joint_words(arm.model), strict=True)]
    heads = list(rows[0]) if rows else []
    missing = [name for name in ("time_s", *wanted) if name not in heads]
    if missing or len(rows) < 2:
        allowed = f"the columns time_s, {', '.join(wanted)}, and two rows or more"
        raise CommandError(f"{file}: no {', '.join(missing) or 'rows'}; allowed: {allowed}", allowed=allowed)
    try:
        table = np.array([[float(row[name]) for name in ("time_s", *wanted)] for row in rows])
    except (TypeError, ValueError) as error:
        raise CommandError(f"{file}: {error}; allowed: numbers with a point before their decimals") from None
    steps = np.diff(table[:, 0])
    period = float(np.median(steps))
    if not (period > 0.0 and np.abs(steps - period).max() <= 1e-3 * period):
        raise CommandError(f"{file}: time_s goes on unevenly; allowed: rows at one period", allowed="one period")
    return _reference(file, arm, [j.name for j in arm.model.joints], table[:, 1:], period, [1.0] * arm.dof)


def _reference(
    file: Path, arm: Robot, names: Sequence[str], rows: FloatArray, period_s: float, units: Sequence[float]
) -> Reference:
    joints = [joint.name for joint in arm.model.joints]
    missing = [name for name in joints if name not in names]
    if missing:
        raise CommandError(f"{file} moves {', '.join(names)}; allowed: a motion of {', '.join(joints)}", value=file)
    if len(rows) > MOST_SAMPLES:
        raise CommandError(f"{file}: {len(rows)} samples; allowed: up to {MOST_SAMPLES}", value=len(rows))
    chosen = rows[:, [list(names).index(name) for name in joints]] / np.array(units)
    samples = tuple(tuple(row) for row in np.round(chosen, 9).tolist())
    return Reference(
        kind=Kind.RECORDED, start=samples[0], end=samples[-1], duration_s=(len(rows) - 1) * period_s, samples=samples
    )
