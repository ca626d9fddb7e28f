"""Samples of a curve as a table for a real arm: CSV whose head says robot, units and time step; read back as it was.

Numbers are written with as many digits as tell them apart from their neighbours, so nothing is lost on the way.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from hil.errors import ConfigError
from hil.kernels.scalar import FloatArray
from hil.model.files import parse_toml
from hil.model.robot import RobotModel
from hil.model.specification import unit_of
from hil.robot import Robot
from hil.tables import convert, toml_keys
from hil.types import Record
from hil.units import MM

MARK = "# samples of a curve"
FIXED = ("t_s", "x_mm", "y_mm", "z_mm")
MOST_ROWS = 100_000
MAX_FILE_BYTES = 50_000_000
TIME_SLACK_S = 1e-9
LARGEST = 1e9
"""Of any number: a tool a thousand kilometres away is none, and what is worked out from more may be no number."""

NEAR_MM = 0.01
BESIDE_LIMIT_DEG_MM = 1e-6
"""How far joints may take the tool from its point, and be beyond a limit: what another program rounds."""


class SamplesHead(Record, frozen=True):
    """What stands in the first lines, behind ``#``.

    Attributes:
        title: of the curve.
        robot: id of the arm that the joint columns are for; empty where there are none.
        dt_s: from one sample to the next.
        length_unit: of x, y and z, and of joints that slide.
        angle_unit: of joints that turn.
    """

    title: Annotated[str, Meta(max_length=200)]
    dt_s: Annotated[float, Meta(gt=0, le=60)]
    robot: str = ""
    length_unit: Literal["mm"] = "mm"
    angle_unit: Literal["deg"] = "deg"


class CurveSamples(NamedTuple):
    """Samples at equal steps of time.

    Attributes:
        head: what they are of.
        points_mm: tool points, shape (N, 3).
        joints: names with units, as ``base_deg``; empty for points alone.
        positions: of the joints, shape (N, number of joints), in these units.
    """

    head: SamplesHead
    points_mm: FloatArray
    joints: tuple[str, ...]
    positions: FloatArray


def samples_text(samples: CurveSamples) -> str:
    """The file."""
    head = samples.head
    keys = {"title": head.title, "robot": head.robot or None, "dt_s": head.dt_s, "length_unit": head.length_unit}
    if samples.joints:
        keys["angle_unit"] = head.angle_unit
    lines = [MARK, *(f"# {line}" for line in toml_keys(keys)), ",".join([*FIXED, *samples.joints])]
    for k, (point, q) in enumerate(zip(samples.points_mm.tolist(), samples.positions.tolist(), strict=True)):
        lines.append(",".join(map(repr, [k * head.dt_s, *point, *q])))
    return "\n".join([*lines, ""])


def read_samples(path: str | Path) -> CurveSamples:
    """Read a file that `samples_text` wrote.

    Raises:
        ConfigError: it cannot be read, or a line of it is wrong; lines are counted from 1.
    """
    file = str(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no text in UTF-8"
        raise ConfigError(file, "file", reason, "a readable CSV file") from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(file, "file", f"more than {MAX_FILE_BYTES} bytes", "a file below that size")
    # Not splitlines: a title may hold what that takes for the end of a line.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[0].strip() != MARK:
        raise ConfigError(file, "line 1", lines[0][:40] or None, f"{MARK!r}, as `hil curve --csv` writes it")
    heads = next((k for k, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    table = "\n".join(line[1:].strip() for line in lines[1:heads])
    head = convert(parse_toml(table.encode(), file), SamplesHead, file=file)
    columns = tuple(lines[heads].split(",")) if heads < len(lines) and lines[heads] else ()
    if columns[: len(FIXED)] != FIXED:
        raise ConfigError(file, f"line {heads + 1}", ",".join(columns)[:60] or None, f"{','.join(FIXED)}, then joints")
    _check_columns(file, heads + 1, head, columns[len(FIXED) :])
    rows = _rows(file, lines, heads + 1, len(columns), head.dt_s)
    return CurveSamples(head, rows[:, 1 : len(FIXED)], columns[len(FIXED) :], rows[:, len(FIXED) :])


def joint_columns(model: RobotModel) -> tuple[tuple[str, ...], FloatArray]:
    """Names of an arm's joint columns, and what a 1 in each is in rad or m."""
    units = [unit_of(joint) for joint in model.joints]
    names = tuple(f"{joint.name}_{unit}" for joint, (_, unit) in zip(model.joints, units, strict=True))
    return names, np.array([size for size, _ in units])


def check_joints(samples: CurveSamples, robot: Robot, file: str) -> None:
    """Refuse samples whose joint columns are not for this arm, beyond its limits, or not those of their points.

    Raises:
        ConfigError: the first of them.
    """
    if not samples.joints:
        return
    if samples.head.robot != robot.name:
        advice = f"Its joint columns are for that arm: write them anew with {robot.name} behind the curve"
        raise ConfigError(file, "robot", samples.head.robot, f"{robot.name!r}, the robot in use", advice)
    names, units = joint_columns(robot.model)
    if samples.joints != names:
        raise ConfigError(file, "columns", ",".join(samples.joints), ",".join(names))
    for k, joint in enumerate(robot.model.joints):
        for what, limit, sign in (("lower", joint.lower, -1.0), ("upper", joint.upper, 1.0)):
            beyond = np.zeros(0) if limit is None else sign * (samples.positions[:, k] - limit / units[k])
            if beyond.size and beyond.max() > BESIDE_LIMIT_DEG_MM:
                at = int(np.argmax(beyond > BESIDE_LIMIT_DEG_MM))
                key, given = f"sample {at + 1}, {names[k]}", float(samples.positions[at, k])
                raise ConfigError(file, key, given, f"up to the {what} limit {float(limit or 0.0) / units[k]:g}")
    tools_mm = robot.forward_kinematics(samples.positions * units)[:, :3, 3] / MM
    apart = np.linalg.norm(tools_mm - samples.points_mm, axis=1)
    if apart.max() > NEAR_MM:
        at = int(np.argmax(apart > NEAR_MM))
        here, there = (", ".join(f"{value:.3f}" for value in points[at]) for points in (samples.points_mm, tools_mm))
        advice = "Samples are written together: hil curve CURVE ROBOT --csv FILE"
        allowed = f"{there}, where its joints bring the tool"
        raise ConfigError(file, f"sample {at + 1}", f"x, y, z = {here}", allowed, advice)


def _check_columns(file: str, number: int, head: SamplesHead, joints: tuple[str, ...]) -> None:
    twice = next((name for k, name in enumerate(joints) if name in joints[:k]), None)
    if twice is not None:
        raise ConfigError(file, f"line {number}", twice, "each column once")
    other = next((name for name in joints if not name.endswith(("_deg", "_mm"))), None)
    if other is not None:
        raise ConfigError(file, f"line {number}", other, "joints that end in _deg or _mm")
    if joints and not head.robot:
        raise ConfigError(file, "robot", None, "the id of the arm that the joint columns are for")


def _rows(file: str, lines: list[str], first: int, width: int, dt_s: float) -> FloatArray:
    given = [(number, line) for number, line in enumerate(lines[first:], start=first + 1) if line.strip()]
    if not 2 <= len(given) <= MOST_ROWS:
        raise ConfigError(file, "rows", len(given), f"2 to {MOST_ROWS} samples")
    rows = np.empty((len(given), width))
    for k, (number, line) in enumerate(given):
        parts = line.split(",")
        if len(parts) != width:
            advice = "A comma parts two values; the decimal mark is a point" if len(parts) > width else ""
            raise ConfigError(file, f"line {number}", f"{len(parts)} values", f"{width} numbers", advice)
        rows[k] = [_number(file, number, part) for part in parts]
        if abs(rows[k, 0] - k * dt_s) > TIME_SLACK_S * (1.0 + k):
            raise ConfigError(file, f"line {number}", f"t_s = {rows[k, 0]:g}", f"{k * dt_s:g}, which is {k} times dt_s")
    return rows


def _number(file: str, line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(file, f"line {line}", text, "a finite number")
    if abs(value) > LARGEST:
        raise ConfigError(file, f"line {line}", text, f"up to {LARGEST:g}")
    return value
