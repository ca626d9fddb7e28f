"""Poses that were reached by hand, written into a task file as steps; what stands there already stays as it is."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hil.errors import ConfigError
from hil.model.rig import Axis, AxisKind, Rig
from hil.motion.refusals import beyond_soft_limits
from hil.motion.tasks import Gripper, Task, load_task
from hil.refusal import RefusedError
from hil.units import DEG, MM

DIGITS = 4
"""Decimals of a degree or millimetre; finer than a pulse can say."""


def append_pose(file: Path, rig: Rig, positions: Sequence[float]) -> int:
    """Add the steps that bring the arm to a pose; a file that is not there is begun, to start from the park pose.

    Args:
        file: the task.
        rig: whose pose it is.
        positions: of every axis, rad or m.

    Returns:
        Number of the first step added, counted from 1.

    Raises:
        ConfigError: the file is no task, is one for another rig, or cannot be written.
        RefusedError: an axis is beyond its soft limits, where no task may go.
    """
    found = beyond_soft_limits(rig.axes, positions, "in this pose")
    if found:
        raise RefusedError(found, "the pose is not kept: no task may go there")
    task, text = _read(file, rig)
    steps = "".join(_steps(rig, positions, _last_opening(task)))
    _write(file, f"{text.rstrip()}\n\n{steps}")
    return 1 if task is None else len(task.steps) + 1


def _read(file: Path, rig: Rig) -> tuple[Task | None, str]:
    if not file.exists():
        title = json.dumps(file.stem.replace("-", " ").replace("_", " ").strip() or "Jogged", ensure_ascii=False)
        return None, f'title = {title}\nrig = {json.dumps(rig.id)}\nstart = "park"\n'
    task = load_task(file)
    if task.rig is not None and task.rig != rig.id:
        raise ConfigError(str(file), "rig", task.rig, f'"{rig.id}", the rig in use', "Name another file")
    try:
        return task, file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(file), "file", error.strerror, "a readable task file") from None


def _last_opening(task: Task | None) -> float | None:
    """Opening that the gripper was last told, in millimetres."""
    steps = () if task is None else task.steps
    return next((step.opening_mm for step in reversed(steps) if isinstance(step, Gripper)), None)


def _steps(rig: Rig, positions: Sequence[float], opening_mm: float | None) -> list[str]:
    tables: dict[str, list[str]] = {"joints_deg": [], "joints_mm": []}
    opening = None
    for axis, value in zip(rig.axes, positions, strict=True):
        if axis.kind is AxisKind.GRIPPER:
            opening = _number(_inside(axis, value, MM))
        else:
            key, scale = ("joints_deg", DEG) if axis.kind is AxisKind.REVOLUTE else ("joints_mm", MM)
            tables[key].append(f"{json.dumps(axis.name, ensure_ascii=False)} = {_number(_inside(axis, value, scale))}")
    goals = "".join(f"{key} = {{ {', '.join(values)} }}\n" for key, values in tables.items() if values)
    steps = [f'[[step]]\ndo = "move"\n{goals}']
    if opening is not None and (opening_mm is None or float(opening) != opening_mm):
        steps.append(f'\n[[step]]\ndo = "gripper"\nopening_mm = {opening}\n')
    return steps


def _inside(axis: Axis, value: float, scale: float) -> float:
    """The value in degrees or millimetres, rounded, and not beyond a soft limit by its rounding."""
    rounded, least = round(value / scale, DIGITS), 10.0**-DIGITS
    if rounded * scale > axis.upper - axis.soft_margin:
        return rounded - least
    return rounded + least if rounded * scale < axis.lower + axis.soft_margin else rounded


def _number(value: float) -> str:
    return repr(round(value, DIGITS) + 0.0)


def _write(file: Path, text: str) -> None:
    """Put the whole file in place at once, after it was read back strictly."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".hil-") as folder:
            draft = Path(folder) / file.name
            draft.write_text(text, encoding="utf-8", newline="\n")
            load_task(draft)
            draft.replace(file)
    except OSError as error:
        raise ConfigError(str(file), "file", error.strerror, "a place where files can be written") from None
