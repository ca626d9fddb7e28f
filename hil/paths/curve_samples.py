"""Samples of a curve as a table for a real arm: CSV whose head says robot, units and time step; read back as it was.

Numbers are written with as many digits as tell them apart from their neighbours, so nothing is lost on the way.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

from hil.errors import ConfigError
from hil.kernels.scalar import FloatArray
from hil.model.files import parse_toml
from hil.tables import convert, toml_keys
from hil.types import Record

MARK = "# samples of a curve"
FIXED = ("t_s", "x_mm", "y_mm", "z_mm")
MOST_ROWS = 100_000
MAX_FILE_BYTES = 50_000_000
TIME_SLACK_S = 1e-9


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
    length_unit: Annotated[str, Meta(pattern="^mm$")] = "mm"
    angle_unit: Annotated[str, Meta(pattern="^deg$")] = "deg"


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
        text = data.decode("utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(file, "file", reason, "a readable CSV file") from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(file, "file", f"more than {MAX_FILE_BYTES} bytes", "a file below that size")
    # Not splitlines: a title may hold what that takes for the end of a line.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[0].strip() != MARK:
        raise ConfigError(file, "line 1", lines[0][:40] or None, f"{MARK!r}, as `hil curve --csv` writes it")
    heads = next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))
    table = "\n".join(line[1:].strip() for line in lines[1:heads])
    head = convert(parse_toml(table.encode(), file), SamplesHead, file=file)
    columns = tuple(lines[heads].split(",")) if heads < len(lines) and lines[heads] else ()
    if columns[: len(FIXED)] != FIXED:
        raise ConfigError(file, f"line {heads + 1}", ",".join(columns)[:60] or None, f"{','.join(FIXED)}, then joints")
    rows = _rows(file, lines, heads + 1, len(columns), head.dt_s)
    return CurveSamples(head, rows[:, 1 : len(FIXED)], columns[len(FIXED) :], rows[:, len(FIXED) :])


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
    return value
