"""Figures of curves: from above and from two sides, what the arm reaches in one colour and the rest in another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hil.figures.looks import BLACK, BLUE, GREY, WRONG, Entry, Style
from hil.figures.options import FigureOptions, require_target
from hil.figures.sheet import Note, Sheet, drawing, save, tidy
from hil.kernels.scalar import FloatArray
from hil.units import MM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE: Style = {"color": GREY, "linestyle": "-", "linewidth": 0.6}
REACHED: Style = {"color": BLUE, "linestyle": "", "marker": "o", "markersize": 2.2}
OUTSIDE: Style = {"color": WRONG, "linestyle": "", "marker": "x", "markersize": 4.0}
BASE: Style = {"color": BLACK, "linestyle": "", "marker": "s", "markersize": 4.0}

VIEWS = (("from above", 0, 1), ("from the side (-y)", 0, 2), ("from the front (x)", 1, 2))
WIDE_BODY_PT, NARROW_BODY_PT = 190.0, 480.0
PAD_PT = 8.0
FEW = 120
"""Samples whose marks stay apart."""


def draw_curve(
    title: str,
    points_m: FloatArray,
    reached: Sequence[bool] | None,
    words: str,
    file: Path,
    *,
    arm: str = "",
    options: FigureOptions | None = None,
) -> None:
    """Draw samples of a curve in three views, with one scale for each view's two directions.

    Args:
        title: first line.
        points_m: shape (N, 3).
        reached: for each point whether the arm reaches it; None without an arm.
        words: last line.
        file: PNG, SVG or PDF by its ending.
        arm: its name, for the key.
        options: size and resolution.

    Raises:
        HilError: the figure cannot be written.
        CommandError: the file's ending is not known, or the size is not possible.
    """
    require_target(file)
    options = options or FigureOptions()
    places = points_m / MM
    good = np.ones(len(places), dtype=bool) if reached is None else np.array(reached)
    reached_style = REACHED if len(places) <= FEW else {**REACHED, "markersize": 1.0}
    with drawing(options):
        body_pt = NARROW_BODY_PT if options.narrow else WIDE_BODY_PT
        sheet = Sheet(options, title, _key(good, arm), [Note(words)], body_pt)
        panels = _panels(sheet)
        for panel, (name, across, up) in zip(panels, VIEWS, strict=True):
            panel.plot(places[:, across], places[:, up], zorder=2, **LINE)
            panel.plot(places[good, across], places[good, up], zorder=3, **reached_style)
            panel.plot(places[~good, across], places[~good, up], zorder=4, **OUTSIDE)
            if arm:
                panel.plot([0.0], [0.0], zorder=4, **BASE)
            panel.set_title(name)
            panel.set_xlabel(f"{'xyz'[across]}, mm")
            panel.set_ylabel(f"{'xyz'[up]}, mm")
            tidy(panel)
        sheet.settle()
        seen = np.vstack([places, np.zeros((1, 3))]) if arm else places
        low, high = seen.min(axis=0), seen.max(axis=0)
        for panel, (_, across, up) in zip(panels, VIEWS, strict=True):
            axes = [across, up]
            size = max(float((high - low)[axes].max()), 1.0)
            least = 0.05 * size
            middle, half = 0.5 * (low + high)[axes], np.maximum(0.5 * (high - low)[axes], least)
            sheet.fit_equal(panel, middle - half, middle + half, PAD_PT)
        save(sheet, file)


def _panels(sheet: Sheet) -> list[Axes]:
    grid = sheet.grid(3) if sheet.options.narrow else sheet.grid(1, 3, wspace=0.3)
    return [sheet.figure.add_subplot(grid[k]) for k in range(3)]


def _key(good: FloatArray, arm: str) -> list[Entry]:
    if not arm:
        return [Entry("samples", REACHED)]
    key = [Entry(f"reached by {arm}", REACHED)] if good.any() else []
    key += [Entry("not reached", OUTSIDE)] if not good.all() else []
    return [*key, Entry("base axis, on the ground", BASE)]
