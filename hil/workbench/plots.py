"""Pictures of a journal: per axis what was commanded, simulated and reported, and how far they are apart."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hil.errors import ConfigError, HilError, MissingExtraError
from hil.link import FloatArray
from hil.types import Mode, StateSource
from hil.workbench.columns import AxisColumns, JournalColumns, Words, cut_out, read_columns
from hil.workbench.export import plain_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE_INCHES, DOTS_PER_INCH = (12.8, 8.0), 100

COMMANDED, SIMULATED, REPORTED, WRONG = "#444444", "#0072B2", "#D55E00", "#CC0000"
"""Of the Okabe-Ito palette, which people with any kind of colour vision tell apart; the dashes do it without colour."""

MODE_TINTS = {
    Mode.ENERGISING: "#FBF0B8",
    Mode.ARMED: "#E4E4F4",
    Mode.STREAMING: "#CFE6F7",
    Mode.STOPPING: "#FBD9B5",
    Mode.FAULT: "#F3B8A8",
    Mode.ESTOP: "#F3B8A8",
    Mode.CONNECTING: "#EDEDED",
    Mode.UNKNOWN_POSE: "#EDEDED",
    Mode.DISCONNECTED: "#DDDDDD",
}

MEANING = {
    StateSource.ECHOED: "ECHOED (the pulse that the controller generates, not the arm)",
    StateSource.MEASURED: "MEASURED",
    StateSource.SIMULATED: "SIMULATED",
}

LEAST_SPAN = 1.0
"""Degrees or millimetres that a panel shows at least."""

MOST_EVENTS = 12
URGENT = ("stop", "fault", "refused", "gap", "limit", "line:", "lost")
"""Words of the events that are shown first where there is no room for all."""

LETTER_PX = 6.2
"""Width of a letter of the smallest print."""


class _Band(NamedTuple):
    """A stretch of time in one mode."""

    mode: Mode
    start_s: float
    end_s: float


class _Flag(NamedTuple):
    """Everything that was said in one tick, with its number in the picture."""

    number: int
    time_s: float
    text: str


def plot_journal(
    journal: Path, folder: Path, axis: str | None = None, *, first_s: float = 0.0, last_s: float = math.inf
) -> list[Path]:
    """Draw one picture per axis.

    Args:
        journal: the journal, which may be unfinished.
        folder: where the pictures go; made if it is not there. Older ones of the same name are replaced.
        axis: only this one.
        first_s: only from this time since the session began.
        last_s: only until this time.

    Returns:
        The pictures, PNG, 1280 by 800.

    Raises:
        JournalError: the journal cannot be read, or there is no tick in the stretch.
        ConfigError: it has no such axis.
        HilError: matplotlib is missing, or a picture cannot be written.
    """
    require_matplotlib()
    columns = read_columns(journal)
    if first_s > 0.0 or last_s < math.inf:
        columns = cut_out(columns, first_s, last_s)
    names = [each.name for each in columns.axes]
    if axis is not None and axis not in names:
        raise ConfigError(str(journal), "--axis", axis, f"one of {', '.join(names)}")
    pictures = []
    for plain, each in zip(plain_names(names), columns.axes, strict=True):
        if axis in (None, each.name):
            picture = folder / f"{journal.stem}-{plain}.png"
            save(_draw(columns, each), picture)
            pictures.append(picture)
    return pictures


# -- for all pictures ------------------------------------------------------------------------------------


def require_matplotlib() -> None:
    """Say in one line what is missing.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("pictures", "plot") from None


def new_figure() -> Figure:
    """An empty figure that needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_INCHES, dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, file: Path) -> None:
    """Write a figure as PNG.

    Raises:
        HilError: the file cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="png")
    except OSError as error:
        raise HilError(f"{file}: the picture cannot be written: {error.strerror}") from None


def tidy(axes: Axes) -> None:
    """Grid and frame as all panels have them."""
    axes.grid(True, color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw_bands(strip: Axes, panels: Sequence[Axes], bands: Sequence[tuple[str, str, float, float]]) -> None:
    """Tint stretches of time, and name those in `strip` that have room for their name, or for its first word.

    Args:
        strip: a low panel above the others.
        panels: the others; all share the time axis.
        bands: name, tint (empty for none), start and end in seconds.
    """
    low, high = panels[0].get_xlim()
    width_px = panels[0].get_window_extent().width
    strip.set_axis_off()
    strip.set_xlim(low, high)
    for name, tint, start_s, end_s in bands:
        for panel in [strip, *panels] if tint else []:
            panel.axvspan(start_s, end_s, color=tint, linewidth=0, zorder=0)
        room_px = (min(end_s, high) - max(start_s, low)) / (high - low) * width_px
        shown = next((words for words in (name, name.split()[0]) if len(words) * LETTER_PX < room_px), "")
        if shown:
            middle = 0.5 * (max(start_s, low) + min(end_s, high))
            strip.text(middle, 0.5, shown, fontsize=8, ha="center", va="center")


# -- one axis --------------------------------------------------------------------------------------------


def _draw(columns: JournalColumns, axis: AxisColumns) -> Figure:
    figure = new_figure()
    flags, left_out = _flags(columns.words)
    lines = _list(flags, left_out)
    text_share = min(0.30, 0.03 + 0.021 * (lines.count("\n") + 1))
    grid = figure.add_gridspec(
        3, 1, left=0.07, right=0.985, top=0.92, bottom=text_share + 0.06, height_ratios=[1, 13, 8], hspace=0.06
    )
    above = figure.add_subplot(grid[1])
    below = figure.add_subplot(grid[2], sharex=above)
    strip = figure.add_subplot(grid[0])
    above.set_xlim(*_span(columns.time_s))
    time_s = _broken(columns.time_s, columns.row_after_gap)

    def line(panel: Axes, values: FloatArray, label: str, colour: str, **style: Any) -> None:
        panel.plot(time_s, _broken(values, columns.row_after_gap), label=label, color=colour, **style)

    commanded = {"linewidth": 3.2, "alpha": 0.45}
    dashed = {"linewidth": 1.6, "linestyle": (0, (6, 2))}
    dotted = {"linewidth": 1.4, "linestyle": (0, (1.2, 1.2))}
    how = " and ".join(MEANING[source] for source in dict.fromkeys(columns.source) if source is not None)
    line(above, axis.commanded, "commanded", COMMANDED, **commanded)
    line(above, axis.simulated, "simulated arm", SIMULATED, **dashed)
    line(above, axis.reported, f"reported: {how or 'nothing'}", REPORTED, **dotted)
    worst = _worst(columns, axis.simulated_error, axis.unit)
    line(below, axis.simulated_error, f"simulated - commanded{worst}", SIMULATED, **dashed)
    worst = _worst(columns, axis.error, axis.unit)
    line(below, axis.error, f"reported - commanded{worst}", REPORTED, **dotted)
    below.axhline(0.0, color=COMMANDED, linewidth=0.8)
    _level(above, [(axis.lower, "lower limit"), (axis.upper, "upper limit")], axis.unit)
    _level(below, [(-axis.divergence, "divergence limit"), (axis.divergence, "divergence limit")], axis.unit)
    above.set_ylabel(f"{axis.name}, {axis.unit}")
    below.set_ylabel(f"error, {axis.unit}")
    below.set_xlabel("time since the session began, s")
    above.tick_params(labelbottom=False)
    for panel in (above, below):
        tidy(panel)
        panel.legend(loc="best", fontsize=9, framealpha=0.85)
    figure.canvas.draw()
    bands = [(band.mode.value, MODE_TINTS.get(band.mode, ""), band.start_s, band.end_s) for band in _bands(columns)]
    draw_bands(strip, [above, below], bands)
    _mark(above, below, flags)
    began = datetime.fromtimestamp(columns.session.start_epoch_s, tz=UTC)
    figure.suptitle(
        f"{axis.name}: {columns.session.wiring.value} rig {columns.session.rig_id}, {began:%Y-%m-%d %H:%M:%S} UTC",
        x=0.07,
        y=0.975,
        ha="left",
        fontsize=13,
    )
    figure.text(0.07, text_share, lines, fontsize=8, va="top", ha="left", linespacing=1.35)
    return figure


def _span(time_s: FloatArray) -> tuple[float, float]:
    low, high = float(time_s[0]), float(time_s[-1])
    return low, max(high, low + 1e-3)


def _broken(values: FloatArray, rows: Sequence[int]) -> FloatArray:
    """With a NaN before each of `rows`, so that no line crosses a gap."""
    return np.insert(values, list(rows), np.nan)


def _worst(columns: JournalColumns, error: FloatArray, unit: str) -> str:
    """In words: the largest error while motion was streamed."""
    moving = np.array([mode in (Mode.STREAMING, Mode.STOPPING) for mode in columns.mode]) & ~np.isnan(error)
    if not moving.any():
        return ""
    row = int(np.argmax(np.where(moving, np.abs(np.nan_to_num(error)), -1.0)))
    return f", worst in motion {error[row]:+.2f} {unit} at {columns.time_s[row]:.2f} s"


def _level(panel: Axes, levels: Sequence[tuple[float, str]], unit: str) -> None:
    """Draw limits, those that are near enough not to flatten the curves; noise is not blown up."""
    low, high = panel.get_ylim()
    short = max(0.0, LEAST_SPAN - (high - low))
    low, high = low - 0.5 * short, high + 0.5 * short
    room = high - low
    near = [(value, name) for value, name in levels if low - 0.5 * room < value < high + 0.5 * room]
    for value, name in near:
        panel.axhline(value, color=WRONG, linewidth=1.0, linestyle=(0, (8, 3, 1, 3)))
        panel.annotate(
            f"{name} {value:g} {unit}",
            (1.0, value),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 3),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color=WRONG,
        )
    values = [value for value, _ in near]
    panel.set_ylim(min([low, *(v - 0.05 * room for v in values)]), max([high, *(v + 0.08 * room for v in values)]))


def _bands(columns: JournalColumns) -> Iterator[_Band]:
    rows = 0
    for mode, group in groupby(columns.mode):
        first, rows = rows, rows + len(list(group))
        end = columns.time_s[min(rows, len(columns.mode) - 1)]
        yield _Band(mode, float(columns.time_s[first]), float(end))


def _flags(words: Sequence[Words]) -> tuple[list[_Flag], int]:
    """What was said, tick by tick, the urgent first where there is no room for all; and how many were left out."""
    ticks = [list(group) for _, group in groupby(words, key=lambda said: said.row)]
    texts = ["; ".join(said.text for said in tick) for tick in ticks]
    urgent = [i for i, text in enumerate(texts) if _is_urgent(text)]
    calm = [i for i, text in enumerate(texts) if not _is_urgent(text)]
    chosen = sorted([*_spread(urgent, MOST_EVENTS), *_spread(calm, max(0, MOST_EVENTS - len(urgent)))])
    flags = [_Flag(number, ticks[i][0].time_s, texts[i]) for number, i in enumerate(chosen, 1)]
    return flags, len(ticks) - len(chosen)


def _is_urgent(text: str) -> bool:
    return any(word in text.lower() for word in URGENT)


def _spread(items: Sequence[int], most: int) -> list[int]:
    """All of them, or as many as there is room for, evenly over the whole."""
    return list(items) if len(items) <= most else [items[i * len(items) // most] for i in range(most)]


def _list(flags: Sequence[_Flag], left_out: int) -> str:
    lines = [
        f"{flag.number:2d}  {flag.time_s:7.2f} s  {textwrap.shorten(flag.text, 170, placeholder=' ...')}"
        for flag in flags
    ]
    if left_out:
        lines.append(f"and {left_out} more events: hil journal export writes all of them")
    return "\n".join(lines) or "no events"


def _mark(above: Axes, below: Axes, flags: Sequence[_Flag]) -> None:
    """A line per event, and its number where there is room beside the one before."""
    low, high = above.get_xlim()
    apart_s = 16.0 / above.get_window_extent().width * (high - low)
    last_s, level = -np.inf, 0
    for flag in flags:
        urgent = _is_urgent(flag.text)
        for panel in (above, below):
            panel.axvline(flag.time_s, color=WRONG if urgent else "#888888", linewidth=0.9, linestyle=":", zorder=1)
        level = (level + 1) % 4 if flag.time_s - last_s < apart_s else 0
        last_s = flag.time_s
        above.annotate(
            str(flag.number),
            (flag.time_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -10 - 12 * level),
            textcoords="offset points",
            fontsize=8,
            color=WRONG if urgent else "#333333",
            annotation_clip=True,
        )
