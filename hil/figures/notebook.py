"""What a notebook shows of an arm, a path, a motion or a journal: a table, and a picture that needs no server.

Pictures are SVG within the page; without matplotlib a line says how to get them, and the table stands alone.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.errors import MissingExtraError
from hil.figures.looks import BLUE, GREY, Entry, Style, series
from hil.figures.options import FigureFormat, FigureOptions, require_matplotlib
from hil.figures.sheet import Sheet, drawing, tidy, written
from hil.figures.time_axis import most_ticks, set_time_axis, time_scale

FloatArray = npt.NDArray[np.float64]

OPTIONS = FigureOptions(width_mm=174.0, font_pt=8.0)
VIEWS_PT, ONE_PANEL_PT, PANEL_PT = 170.0, 140.0, 70.0
PAD_PT = 8.0
VIEWS = (("from the side", 0, 2), ("from above", 0, 1))
MOST_POINTS = 2000
"""Of a line in a picture; more are not seen."""

WAY: Style = {"color": BLUE, "linestyle": "-", "linewidth": 1.1}
LINKS: Style = {"color": GREY, "linestyle": "-", "linewidth": 2.2, "marker": "o", "markersize": 3.0}


class Trace(NamedTuple):
    """A line of a panel over time: its name in the key, its values, how it is drawn."""

    name: str
    values: FloatArray
    style: Style


class Panel(NamedTuple):
    """A panel over time: what stands at its axis, and its lines."""

    label: str
    traces: tuple[Trace, ...]


def page(*parts: str) -> str:
    """Parts one below the other."""
    return f"<div>{''.join(parts)}</div>"


def heading(text: str) -> str:
    """A title."""
    return f"<p><strong>{html.escape(text)}</strong></p>"


def line(text: str) -> str:
    """A line of text."""
    return f"<p>{html.escape(text)}</p>" if text else ""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def matrix(values: FloatArray) -> str:
    """A matrix of numbers."""
    rows = "".join(f"<tr>{''.join(f'<td>{value:z.6f}</td>' for value in row)}</tr>" for row in values)
    return f"<table><tbody>{rows}</tbody></table>"


def views(title: str, points_mm: FloatArray, *, links: bool = False) -> str:
    """Points joined by lines, seen from the side and from above, with one scale for both directions.

    Args:
        title: in words, also for whoever does not see the picture.
        points_mm: shape (N, 3).
        links: an arm's frames rather than a way.
    """
    return _picture(title, lambda: _views(title, _thinned(points_mm), LINKS if links else WAY))


def over_time(title: str, time_s: FloatArray, panels: Sequence[Panel]) -> str:
    """Panels over time, one above the other.

    Args:
        title: in words.
        time_s: shape (N,), of every trace.
        panels: at least one.
    """
    return _picture(title, lambda: _over_time(title, time_s, panels))


def joint_traces(names: Sequence[str], values: FloatArray) -> tuple[Trace, ...]:
    """A trace per column, shape (N, names), told apart by colour and dashes."""
    return tuple(Trace(name, values[:, k], series(k)) for k, name in enumerate(names))


def _picture(title: str, draw: Callable[[], bytes]) -> str:
    try:
        require_matplotlib()
    except MissingExtraError as error:
        return line(str(error))
    data = base64.b64encode(draw()).decode("ascii")
    # As a picture of its own: names within one SVG never meet those of another on the page.
    return f'<img alt="{html.escape(title, quote=True)}" src="data:image/svg+xml;base64,{data}">'


def _views(title: str, points_mm: FloatArray, style: Style) -> bytes:
    with drawing(OPTIONS):
        sheet = Sheet(OPTIONS, title, [], [], VIEWS_PT)
        grid = sheet.grid(1, 2, wspace=0.3)
        panels = [sheet.figure.add_subplot(grid[k]) for k in range(2)]
        for panel, (name, across, up) in zip(panels, VIEWS, strict=True):
            panel.plot(points_mm[:, across], points_mm[:, up], **style)
            panel.set_title(name)
            panel.set_xlabel(f"{'xyz'[across]}, mm")
            panel.set_ylabel(f"{'xyz'[up]}, mm")
            tidy(panel)
        sheet.settle()
        least = 0.1 * max(float(np.ptp(points_mm, axis=0).max()), 1.0)
        for panel, (_, across, up) in zip(panels, VIEWS, strict=True):
            seen = points_mm[:, [across, up]]
            low, high = seen.min(axis=0), seen.max(axis=0)
            half = np.maximum(0.5 * (high - low), least)
            sheet.fit_equal(panel, 0.5 * (low + high) - half, 0.5 * (low + high) + half, PAD_PT)
        return written(sheet, FigureFormat.SVG)


def _over_time(title: str, time_s: FloatArray, panels: Sequence[Panel]) -> bytes:
    named = {trace.name: Entry(trace.name, trace.style) for panel in panels for trace in panel.traces}
    low, high = float(time_s[0]), float(max(time_s[-1], time_s[0] + 1e-3))
    keep = _kept(len(time_s))
    with drawing(OPTIONS):
        body_pt = ONE_PANEL_PT if len(panels) == 1 else PANEL_PT * len(panels) + 20.0
        sheet = Sheet(OPTIONS, title, list(named.values()), [], body_pt)
        grid = sheet.grid(len(panels))
        drawn = [sheet.figure.add_subplot(grid[k]) for k in range(len(panels))]
        scale = time_scale(low, high, most_ticks(0.85 * OPTIONS.width_pt, OPTIONS.font_pt))
        for k, (axes, panel) in enumerate(zip(drawn, panels, strict=True)):
            for trace in panel.traces:
                axes.plot(time_s[keep], trace.values[keep], **trace.style)
            axes.set_ylabel(panel.label)
            axes.set_xlim(low, high)
            tidy(axes)
            set_time_axis(axes, scale, "time", numbers=k == len(panels) - 1)
        sheet.settle()
        return written(sheet, FigureFormat.SVG)


def _thinned(points: FloatArray) -> FloatArray:
    return points[_kept(len(points))]


def _kept(count: int) -> npt.NDArray[np.intp]:
    """Evenly, with both ends."""
    return np.unique(np.linspace(0, count - 1, min(count, MOST_POINTS)).round().astype(np.intp))
