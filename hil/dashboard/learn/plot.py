"""A small plot of a worksheet: lines over one axis, told apart by colour and dash, with a mark at the moment shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from hil.dashboard.learn.stage import colour_of
from hil.dashboard.plot_parts import Axis
from hil.dashboard.theme import DARK, Theme
from hil.kernels.scalar import FloatArray

HEIGHT = 170
SIDES = ("bottom", "left")
MOST_KEYS = 4
"""Of the key in one column: more have no room in the plot."""

KEY_ALPHA = 150
"""The key is read also where a line goes behind it."""

LEVEL = 1e-6
"""A line that varies by a smaller part of its size is level."""
TINY = 1e-6
DASHES = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine)


class Line(NamedTuple):
    """One line.

    Attributes:
        colour: a role, as in `hil.lessons.picture`.
        dash: 0 for a solid one.
    """

    name: str
    x: FloatArray
    y: FloatArray
    colour: str = "curve 0"
    dash: int = 0


class LinePlot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """Lines with a key."""

    def __init__(self, name: str, across: str, up: str) -> None:
        super().__init__(axisItems={side: Axis(orientation=side) for side in SIDES})
        self.setAccessibleName(name)
        self.setFixedHeight(HEIGHT)
        self.setMouseEnabled(x=True, y=False)
        self.setMenuEnabled(False)
        self._theme = DARK
        self._lines: tuple[Line, ...] = ()
        self._labels = (across, up)
        self._key: Any = self.addLegend(offset=(-4, 4), labelTextSize="8pt", verSpacing=-4)
        self._mark = pg.InfiniteLine(angle=90)
        self.set_theme(DARK)

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is drawn."""
        return self._lines

    def show_lines(self, lines: Sequence[Line], up: str = "") -> None:
        """These from now on; values that are not finite are left out."""
        self._lines = tuple(lines)
        if up:
            self._labels = (self._labels[0], up)
        plot = self.getPlotItem()
        plot.clear()
        for side, label in zip(SIDES, self._labels, strict=True):
            plot.setLabel(side, label, color=self._theme.faint)
        for line in self._lines:
            pen = pg.mkPen(colour_of(line.colour, self._theme), width=1, style=DASHES[line.dash % len(DASHES)])
            plot.plot(line.x, np.where(np.isfinite(line.y), line.y, np.nan), pen=pen, name=line.name, connect="finite")
        self._key.setColumnCount(-(-len(self._lines) // MOST_KEYS) or 1)
        plot.addItem(self._mark, ignoreBounds=True)
        plot.autoRange()
        self._keep_rounding_small()

    def _keep_rounding_small(self) -> None:
        """A line that is level but for rounding is shown level."""
        values = [line.y[np.isfinite(line.y)] for line in self._lines]
        finite = np.concatenate(values) if values else np.zeros(0)
        if len(finite) and np.ptp(finite) <= LEVEL * max(float(np.abs(finite).max()), TINY):
            middle = float(finite.mean())
            self.setYRange(middle - max(0.1 * abs(middle), TINY), middle + max(0.1 * abs(middle), TINY))

    def mark(self, x: float) -> None:
        """The moment that is shown."""
        self._mark.setValue(x)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.setBackground(theme.panel)
        self._mark.setPen(pg.mkPen(theme.accent, width=1))
        self._key.setLabelTextColor(theme.text)
        ground = QColor(theme.panel)
        ground.setAlpha(KEY_ALPHA)
        self._key.setBrush(pg.mkBrush(ground))
        for side in SIDES:
            self.getAxis(side).enableAutoSIPrefix(False)
            self.getAxis(side).setPen(theme.line)
            self.getAxis(side).setTextPen(theme.faint)
        self.show_lines(self._lines)
