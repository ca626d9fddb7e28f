"""The lines of a whole motion for an SSC-32, as `Ssc32Driver` would make them one by one."""

from __future__ import annotations

import numpy as np

from hil.errors import CommandError
from hil.link import FloatArray
from hil.piecewise import PiecewiseLinear
from hil.wire_table import WireTable

Limits = tuple[int, int]


def wire_table(
    channels: tuple[int, ...],
    maps: tuple[PiecewiseLinear, ...],
    limits_us: tuple[Limits, ...],
    samples: FloatArray,
    look_ahead_s: float,
) -> WireTable:
    """One group move per sample.

    Raises:
        CommandError: a sample needs a pulse outside its axis' limits.
    """
    pulses = np.stack([np.rint(each.array(samples[:, i])) for i, each in enumerate(maps)], axis=1)
    low, high = np.array(limits_us).T
    beyond = np.argwhere(~((low <= pulses) & (pulses <= high)))
    if len(beyond):
        row, column = beyond[0].tolist()
        allowed = f"{low[column]}..{high[column]} us"
        value = float(pulses[row, column])
        raise CommandError(
            f"sample {row}: channel {channels[column]} needs a pulse of {value:g} us; allowed: {allowed}",
            value=value,
            allowed=allowed,
        )
    natives = pulses.astype(np.int64)
    time_ms = time_of(look_ahead_s)
    line = b"".join(b"#%d" % channel + b"P%d" for channel in channels) + b"T%d\r" % time_ms
    return WireTable(
        "ssc32",
        time_ms,
        natives,
        np.stack([each.inverse_array(pulses[:, i]) for i, each in enumerate(maps)], axis=1),
        [line % tuple(row) for row in natives.tolist()],
    )


def time_of(seconds: float) -> int:
    """The time field of a group move, whole milliseconds that the board takes."""
    return min(max(round(seconds * 1000.0), 1), 65535)
