"""Round times: 1, 2, 5, 10, 15, 30 seconds, and whole minutes and hours for long ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS_S = (
    *(factor * 10.0**power for power in (-3, -2, -1) for factor in (1.0, 2.0, 5.0)),
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1800.0),
    *(3600.0, 7200.0, 14400.0, 21600.0, 43200.0, 86400.0),
)

LONG_UNITS = ((3600.0, "h"), (60.0, "min"))

EMS_PER_TICK = 3.6
"""Room of a tick with its number, in sizes of the letters."""


class TimeScale(NamedTuple):
    """Where a time axis has its numbers.

    Attributes:
        step_s: between two of them.
        unit_s: seconds in the unit that is written.
        unit: its name.
        ticks_s: the numbers, in seconds.
    """

    step_s: float
    unit_s: float
    unit: str
    ticks_s: tuple[float, ...]

    def label(self, time_s: float) -> str:
        """A number as it stands at the axis."""
        return f"{time_s / self.unit_s:.{self.decimals}f}"

    @property
    def decimals(self) -> int:
        """As many as the step needs."""
        return max(0, -math.floor(math.log10(self.step_s / self.unit_s) + 1e-9))


def time_scale(low_s: float, high_s: float, most: int) -> TimeScale:
    """Round numbers for a stretch of time.

    Args:
        low_s: its begin.
        high_s: its end.
        most: so many numbers have room, 2 or more.
    """
    span_s = high_s - low_s
    step_s = next((step for step in STEPS_S if span_s / step <= most), 0.0)
    if not step_s:
        day_s = STEPS_S[-1]
        step_s = math.ceil(span_s / most / day_s) * day_s
    unit_s, unit = next((each for each in LONG_UNITS if step_s >= each[0]), (1.0, "s"))
    first, last = math.ceil(low_s / step_s - 1e-9), math.floor(high_s / step_s + 1e-9)
    return TimeScale(step_s, unit_s, unit, tuple(count * step_s for count in range(first, last + 1)))


def most_ticks(width_pt: float, font_pt: float) -> int:
    """Numbers that have room along an axis."""
    return max(2, int(width_pt / (EMS_PER_TICK * font_pt)))


def set_time_axis(panel: Axes, scale: TimeScale, words: str, *, numbers: bool = True) -> None:
    """Give a panel whose abscissa is seconds its ticks, and its name with the unit.

    Args:
        panel: has its limits already.
        scale: from `time_scale`.
        words: what time it is, for example ``time since the session began``.
        numbers: False for a panel above another one with the same axis.
    """
    panel.set_xticks(scale.ticks_s, [scale.label(time_s) for time_s in scale.ticks_s])
    panel.tick_params(axis="x", labelbottom=numbers)
    if numbers:
        panel.set_xlabel(f"{words}, {scale.unit}")
