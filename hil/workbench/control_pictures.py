"""Figures of a simulated run: wanted against actual position, error, speed and torque of every joint; heat maps."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hil.control.best import BestRun
from hil.control.joint_values import joint_units, joint_words
from hil.control.results import Trace
from hil.control.search import Found
from hil.control.summary import RunSummary, tool_places
from hil.figures.looks import BLACK, SIGNALS, WRONG, Entry, series
from hil.figures.options import POINTS_PER_MM, FigureOptions
from hil.figures.sheet import Note, Sheet, drawing, save, tidy
from hil.figures.time_axis import most_ticks, set_time_axis, time_scale
from hil.kernels.scalar import FloatArray
from hil.robot import Robot
from hil.units import MM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW_MM = 26.0
"""Height of a joint's panels."""

COLOURS = "cividis"
"""Differs in brightness for everybody."""


def draw_run(file: Path, robot: Robot, trace: Trace, summary: RunSummary, options: FigureOptions) -> None:
    """A row for each joint: position, error, torque; below, the tool's error."""
    with drawing(options):
        save(_run_sheet(robot, trace, summary, options), file)


def svg_of_run(robot: Robot, trace: Trace, summary: RunSummary, options: FigureOptions) -> str:
    """The same as an element for a page."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.svg"
        draw_run(file, robot, trace, summary, options)
        text = file.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


def _run_sheet(robot: Robot, trace: Trace, summary: RunSummary, options: FigureOptions) -> Sheet:
    units, words = joint_units(robot.model), joint_words(robot.model)
    wanted, actual = SIGNALS["commanded"], SIGNALS["simulated"]
    key = [Entry("wanted", wanted), Entry("actual", actual)]
    notes = [
        Note(f"tool: {summary.tool_largest_mm:.3g} mm off at most, {summary.tool_end_mm:.3g} mm at the end"),
        *(Note(text, heavy=True) for text in (summary.unstable, summary.estimated) if text),
    ]
    count = robot.dof
    body_pt = (count + 1) * ROW_MM * POINTS_PER_MM
    sheet = Sheet(options, f"{robot.model.title}: wanted and actual", key, notes, body_pt)
    grid = sheet.grid(count + 1, 4)
    panels: list[Axes] = []
    for k, joint in enumerate(robot.model.joints):
        rows = (
            (f"{joint.name}, {words[k]}", trace.wanted[:, k] / units[k], trace.actual[:, k] / units[k]),
            (f"error, {words[k]}", None, trace.error[:, k] / units[k]),
            (f"speed, {words[k]}/s", trace.wanted_speed[:, k] / units[k], trace.speed[:, k] / units[k]),
            ("torque, N m" if words[k] == "deg" else "force, N", None, trace.torque[:, k]),
        )
        for column, (label, reference, values) in enumerate(rows):
            panel = sheet.figure.add_subplot(grid[k, column])
            if reference is not None:
                panel.plot(trace.time_s, reference, **wanted)
            panel.plot(trace.time_s, values, **actual)
            panel.set_ylabel(label)
            panels.append(panel)
    panel = sheet.figure.add_subplot(grid[count, :])
    distance = np.linalg.norm(tool_places(robot, trace.wanted) - tool_places(robot, trace.actual), axis=1) / MM
    panel.plot(trace.time_s, distance, **actual)
    panel.set_ylabel("tool off, mm")
    panels.append(panel)
    _times(sheet, panels, trace.time_s)
    return sheet


def _times(sheet: Sheet, panels: Sequence[Axes], time_s: FloatArray) -> None:
    low, high = float(time_s[0]), max(float(time_s[-1]), 1e-3)
    room = sheet.options.width_pt - 8.0 * sheet.options.font_pt
    for panel in panels:
        tidy(panel)
        panel.set_xlim(low, high)
        panel.locator_params(axis="y", nbins=4)
        last = panel is panels[-1]
        most = most_ticks(room if last else room / 6.0, sheet.options.font_pt)
        set_time_axis(panel, time_scale(low, high, max(most, 2)), "time", numbers=last)
    sheet.settle()


def draw_search(file: Path, robot: Robot, found: Found, best: Sequence[BestRun], options: FigureOptions) -> None:
    """Costs over what varies, error against torque, and the run before and after."""
    with drawing(options):
        save(_search_sheet(robot, found, best, options), file)


def _search_sheet(robot: Robot, found: Found, best: Sequence[BestRun], options: FigureOptions) -> Sheet:
    chosen = found.best()
    key = [
        Entry("before", series(0)),
        Entry("after", series(1)),
        Entry("best", {"color": WRONG, "marker": "x", "linestyle": "", "markersize": 5.0}),
        Entry("not beaten in both", {"color": BLACK, "linestyle": "-", "linewidth": 1.0}),
    ]
    values = found.values(chosen)[0] if chosen else []
    set_so = ", ".join(f"{axis.title} {value:.4g}" for axis, value in zip(found.grid.axes, values, strict=False))
    notes = [Note(f"best: {set_so}" if chosen else "no setting is stable", heavy=not chosen)]
    if found.unstable:
        notes.append(
            Note(f"{found.unstable} of {found.done} settings are unstable: white in the map, left out beside it")
        )
    if best and best[-1].summary.estimated:
        notes.append(Note(best[-1].summary.estimated, heavy=True))
    sheet = Sheet(options, f"{robot.model.title}: search for the smallest error", key, notes, 110.0 * POINTS_PER_MM)
    grid = sheet.grid(2, 2)
    _draw_map(sheet, sheet.figure.add_subplot(grid[0, 0]), found)
    _draw_front(sheet.figure.add_subplot(grid[0, 1]), found)
    panel = sheet.figure.add_subplot(grid[1, :])
    for number, run in enumerate(best):
        off = np.linalg.norm(tool_places(robot, run.trace.wanted) - tool_places(robot, run.trace.actual), axis=1)
        panel.plot(run.trace.time_s, off / MM, label=run.name, **series(number))
    panel.set_ylabel("tool off, mm")
    panel.set_xlabel("time, s")
    tidy(panel)
    sheet.settle()
    return sheet


def _draw_map(sheet: Sheet, panel: Axes, found: Found) -> None:
    """Smallest cost over the first two axes that vary, whatever the others are; over one, a line."""
    axes = [k for k, axis in enumerate(found.grid.axes) if len(axis.values) > 1]
    costs = np.where(np.isfinite(found.costs), found.costs, np.nan)
    best = found.best()
    tidy(panel)
    if not axes or not best:
        panel.set_axis_off()
        return
    first = axes[0]
    x = found.grid.axes[first]
    at = found.values(best)[0]
    panel.set_xlabel(x.title)
    if len(axes) == 1 or found.points is not None:
        points = found.values(range(len(found.table)))[:, first]
        panel.plot(points, costs, linestyle="", marker=".", markersize=2.0, color=series(0)["color"])
        panel.plot([at[first]], [found.costs[best[0]]], linestyle="", marker="x", markersize=5.0, color=WRONG)
        panel.set_ylabel("cost")
        return
    second = axes[1]
    y = found.grid.axes[second]
    shaped = np.where(np.isfinite(costs), costs, np.inf).reshape(found.grid.shape)
    least = shaped.min(axis=tuple(k for k in range(shaped.ndim) if k not in (first, second)))
    drawn = np.ma.masked_invalid(least.T)
    columns, rows = np.arange(len(x.values)), np.arange(len(y.values))
    image = panel.pcolormesh(columns, rows, drawn, cmap=COLOURS, shading="nearest", rasterized=True)
    sheet.figure.colorbar(image, ax=panel, label="cost")
    for axis, values in ((panel.xaxis, x.values), (panel.yaxis, y.values)):
        shown = np.unique(np.linspace(0, len(values) - 1, min(len(values), 6)).round().astype(int))
        axis.set_ticks(shown.tolist(), [f"{values[k]:.4g}" for k in shown])
    panel.set_ylabel(y.title)
    place = [found.grid.axes[k].values.index(at[k]) for k in (first, second)]
    panel.plot(place[:1], place[1:], linestyle="", marker="x", markersize=5.0, color=WRONG)


def _draw_front(panel: Axes, found: Found) -> None:
    """Error against torque: what no other setting beats in both."""
    torque = found.table[:, 3]
    shown = np.isfinite(found.costs)
    panel.plot(torque[shown], found.costs[shown], linestyle="", marker=".", markersize=1.5, color=series(0)["color"],
               rasterized=True)  # fmt: skip
    front = found.pareto()
    panel.plot(torque[front], found.costs[front], color=BLACK, linewidth=1.0)
    for k in found.best():
        panel.plot([torque[k]], [found.costs[k]], linestyle="", marker="x", markersize=5.0, color=WRONG)
    panel.set_xlabel("torque rms, N m")
    panel.set_ylabel("cost")
    tidy(panel)
