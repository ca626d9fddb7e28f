"""Curves on paper: a panel for each joint's positions, one for all errors, one for all speeds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hil.dashboard.arm import ShownArm
from hil.dashboard.curves import SOLID, Floats, column_of, points_of
from hil.dashboard.history import History
from hil.dashboard.texts import tr
from hil.figures.looks import SIGNALS, Entry, Style, series
from hil.figures.options import POINTS_PER_MM, FigureOptions, require_target
from hil.figures.sheet import Note, Sheet, drawing, save, tidy
from hil.figures.time_axis import most_ticks, set_time_axis, time_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 4000
"""Of a curve: some two for each dot of a printed page."""

ROW_MM, SHARED_MM = 24.0, 32.0
"""Heights of a joint's panel, and of one that all joints share."""


class Origin(NamedTuple):
    """Whose curves they are.

    Attributes:
        real: of a real arm.
        epoch_s: when the session's time was 0, seconds since 1970; None where nobody knows.
    """

    real: bool
    epoch_s: float | None


class _Line(NamedTuple):
    quantity: str
    axis: int
    style: Style


class _Panel(NamedTuple):
    name: str
    lines: Sequence[_Line]
    height_mm: float


def draw_curves(
    path: Path,
    arm: ShownArm,
    origin: Origin,
    history: History,
    columns: Sequence[tuple[str, int]],
    span_s: tuple[float, float],
    options: FigureOptions | None = None,
) -> None:
    """Write a stretch of curves as a figure.

    Args:
        path: PNG, SVG or PDF by its ending; an older one is replaced.
        arm: whose curves they are.
        origin: FAKE or REAL, and when.
        history: where they are kept.
        columns: quantity and axis of each.
        span_s: from when to when.
        options: size and resolution.

    Raises:
        HilError: there is nothing to draw, matplotlib is missing, or the file cannot be written.
    """
    require_target(path)
    options = options or FigureOptions()
    panels = _panels(arm, columns)
    begin_s, end_s = max(span_s[0], history.begin_s or 0.0), span_s[1]
    with drawing(options):
        heights = [panel.height_mm * POINTS_PER_MM for panel in panels]
        title = _title(arm, origin, begin_s)
        sheet = Sheet(options, title, _key(arm, panels), _notes(history, span_s), sum(heights) + 4.0 * options.font_pt)
        grid = sheet.grid(len(panels), height_ratios=heights)
        drawn = [sheet.figure.add_subplot(grid[row]) for row in range(len(panels))]
        room_pt = options.width_pt - 8.0 * options.font_pt
        scale = time_scale(begin_s, end_s, most_ticks(room_pt, options.font_pt))
        for axes, panel in zip(drawn, panels, strict=True):
            _draw_panel(axes, panel, arm, history, (begin_s, end_s))
            axes.set_xlim(begin_s, end_s)
            set_time_axis(axes, scale, tr("time of the session"), numbers=axes is drawn[-1])
        sheet.figure.align_ylabels(drawn)
        sheet.settle()
        save(sheet, path)


def _panels(arm: ShownArm, columns: Sequence[tuple[str, int]]) -> list[_Panel]:
    """A joint's positions are told apart by what they are; errors and speeds by whose they are."""
    panels = []
    for axis in dict.fromkeys(axis for quantity, axis in columns if quantity in SIGNALS):
        lines = [_Line(quantity, each, SIGNALS[quantity]) for quantity, each in columns if quantity in SIGNALS]
        shown = arm.axes[axis]
        name = f"{shown.name},\n{shown.unit_name}"
        panels.append(_Panel(name, [line for line in lines if line.axis == axis], ROW_MM))
    for quantity, per in (("error", ""), ("speed", "/s")):
        lines = [_Line(quantity, axis, series(axis)) for each, axis in columns if each == quantity]
        if lines:
            units = ", ".join(f"{unit}{per}" for unit in sorted({arm.axes[line.axis].unit_name for line in lines}))
            panels.append(_Panel(f"{tr(quantity)},\n{units}", lines, SHARED_MM))
    return panels or [_Panel("", [], SHARED_MM)]


def _key(arm: ShownArm, panels: Sequence[_Panel]) -> list[Entry]:
    lines = [line for panel in panels for line in panel.lines]
    signals = dict.fromkeys(line.quantity for line in lines if line.quantity in SIGNALS)
    joints = sorted({line.axis for line in lines if line.quantity not in SIGNALS})
    return [
        *(Entry(tr(quantity), SIGNALS[quantity]) for quantity in signals),
        *(Entry(arm.axes[axis].name, series(axis)) for axis in joints),
    ]


def _title(arm: ShownArm, origin: Origin, begin_s: float) -> str:
    kind = tr("REAL") if origin.real else tr("FAKE")
    if origin.epoch_s is None:
        return f"{kind} {arm.title}"
    began = datetime.fromtimestamp(origin.epoch_s + begin_s, tz=UTC)
    return f"{kind} {arm.title}, {began:%Y-%m-%d %H:%M:%S} UTC"


def _notes(history: History, span_s: tuple[float, float]) -> list[Note]:
    if history.between(*span_s, MOST_POINTS).exact:
        return []
    return [Note(tr("Of each short stretch of time the lowest and the highest value are drawn."))]


def _draw_panel(axes: Axes, panel: _Panel, arm: ShownArm, history: History, span_s: tuple[float, float]) -> None:
    span = history.between(*span_s, MOST_POINTS)
    for line in panel.lines:
        points = points_of(span, column_of(arm, line.quantity, line.axis), SOLID, 0.0)
        x, y = _broken(points.x, points.y, points.joined)
        axes.plot(x, y, label=f"{line.quantity} {arm.axes[line.axis].name}", **line.style)
    if panel.lines and panel.lines[0].quantity == "error":
        axes.axhline(0.0, color="black", linewidth=0.6)
    low, high = axes.get_ylim()
    short = max(0.0, 1.0 - (high - low))
    axes.set_ylim(low - 0.5 * short, high + 0.5 * short)
    axes.set_ylabel(panel.name)
    axes.locator_params(axis="y", nbins=4)
    tidy(axes)


def _broken(x: Floats, y: Floats, joined: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[Floats, Floats]:
    """With a NaN after each point that is not joined to the next, so that no line crosses what is not known."""
    ends = np.flatnonzero(~joined[:-1]) + 1
    return np.insert(x, ends, np.nan), np.insert(y, ends, np.nan)
