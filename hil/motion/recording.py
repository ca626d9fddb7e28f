"""A recorded motion as a file: the positions that were commanded, one row a period, exact to the last digit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hil.errors import ConfigError
from hil.link import FloatArray
from hil.motion.motion import LEAST_PERIOD_S, MAX_PERIOD_S, MAX_SAMPLES
from hil.types import Record

MAX_RECORDING_BYTES = 200_000_000
HEAD = ("rig", "period_s")

FROM_REST = 1.001
"""Of the step that jerk allows from rest: what rounding may add to it."""


class Recording(Record, frozen=True, kw_only=True):
    """Positions of all axes of a rig.

    Attributes:
        rig: id of the rig that it was recorded on.
        period_s: between rows.
        axes: names, in the order of the rig.
        units: of each axis, ``rad`` or ``m``.
        rows: little-endian doubles of shape (N, n_axes).
        file: where it was read from, for messages.
    """

    rig: str
    period_s: float
    axes: tuple[str, ...]
    units: tuple[str, ...]
    rows: bytes
    file: str = ""

    @property
    def samples(self) -> FloatArray:
        """Shape (N, n_axes)."""
        return np.frombuffer(self.rows, dtype="<f8").reshape(-1, len(self.axes))


class MovingEnd(NamedTuple):
    """An end of a recording at which the arm does not rest, or brakes harder than it may.

    Attributes:
        verb: ``begins`` or ``ends``.
        axis: number of the axis that is farthest from rest.
        speed: of it there, rad/s or m/s.
    """

    verb: str
    axis: int
    speed: float


def moving_end(recording: Recording, jerk: FloatArray) -> MovingEnd | None:
    """The first end of a recording that is in mid-motion; None if it goes from rest to rest.

    Args:
        recording: one row or more.
        jerk: most of each axis, rad/s3 or m/s3.
    """
    samples = recording.samples
    if len(samples) < 2:
        return None
    most = FROM_REST * jerk * recording.period_s**3
    for verb, way in (("begins", samples), ("ends", samples[::-1])):
        # As if the arm had rested there: what it would take to go on as it does.
        used = np.abs(np.diff(np.vstack([*[way[:1]] * 3, way[1:4]]), n=3, axis=0)).max(axis=0) / most
        if used.max() > 1.0:
            axis = int(np.argmax(used))
            return MovingEnd(verb, axis, float(abs(way[1, axis] - way[0, axis])) / recording.period_s)
    return None


def recording_text(recording: Recording) -> str:
    """The file: a head that names rig and period, then a row a sample, in radians and metres.

    Numbers are written so that they are read back to the same ones.
    """
    names = ",".join(f"{name}_{unit}" for name, unit in zip(recording.axes, recording.units, strict=True))
    lines = [f"# rig = {recording.rig}", f"# period_s = {recording.period_s!r}", names]
    lines += [",".join(map(repr, row)) for row in recording.samples.tolist()]
    return "\n".join(lines) + "\n"


def read_recording(path: Path) -> Recording:
    """Read such a file.

    Raises:
        ConfigError: it cannot be read, or is none.
    """
    file = str(path)
    try:
        if path.stat().st_size > MAX_RECORDING_BYTES:
            raise ConfigError(file, "file", f"more than {MAX_RECORDING_BYTES} bytes", "a recording below that size")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no text in UTF-8"
        raise ConfigError(file, "file", reason, "a readable recording, as hil journal task writes it") from None
    head = dict(line[1:].split("=", 1) for line in lines if line.startswith("#") and "=" in line)
    facts = {key.strip(): value.strip() for key, value in head.items()}
    rows = [line.split(",") for line in lines if line and not line.startswith("#")]
    for key in HEAD:
        if key not in facts:
            raise ConfigError(file, key, None, f"a line '# {key} = ...' at its head, as hil journal task writes it")
    names = [name.rpartition("_") for name in rows[0]] if rows else []
    axes, units = tuple(name for name, _, _ in names), tuple(unit for _, _, unit in names)
    if not set(units) <= {"rad", "m"}:
        raise ConfigError(file, "names", ",".join(rows[0])[:60], "names of axes that end in _rad or _m")
    if len(rows) < 2 or len(rows) - 1 > MAX_SAMPLES or len(set(axes)) != len(axes):
        raise ConfigError(file, "rows", len(rows), "a row of different axis names, and 1 or more rows of positions")
    table = np.empty((len(rows) - 1, len(axes)))
    for k, row in enumerate(rows[1:]):
        table[k] = _numbers(file, k + 1, row, len(axes))
    return Recording(
        rig=facts["rig"],
        period_s=_period(file, facts["period_s"]),
        axes=axes,
        units=units,
        rows=np.ascontiguousarray(table, dtype="<f8").tobytes(),
        file=file,
    )


def _period(file: str, text: str) -> float:
    try:
        period_s = float(text)
    except ValueError:
        period_s = math.nan
    if not LEAST_PERIOD_S <= period_s <= MAX_PERIOD_S:
        raise ConfigError(file, "period_s", text, f"{LEAST_PERIOD_S:g} to {MAX_PERIOD_S:g}")
    return period_s


def _numbers(file: str, row: int, texts: list[str], count: int) -> list[float]:
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise ConfigError(file, f"row {row}", ",".join(texts)[:60], f"{count} finite numbers, one per axis")
    return numbers
