"""A small plot of a worksheet: lines over one axis, told apart by colour and dash, with a mark at the moment shown."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent

from hil.dashboard.learn.stage import colour_of
from hil.dashboard.plot_parts import Axis
from hil.dashboard.theme import DARK, Theme
from hil.kernels.scalar import FloatArray

HEIGHT = 170
SIDES = ("bottom", "left")
KEY_SIZE = "8pt"
KEY_ROOM = 24
"""Of the plot's width that its key leaves, pixels."""

NO_BREAK = "&nbsp;"
LEVEL = 1e-6
"""A line that varies by a smaller part of its size is level."""
TINY = 1e-6
DASHES = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine)
DASH_SIGNS = ("\u2014", "\u2013 \u2013", "\u00b7\u00b7\u00b7", "\u2013\u00b7\u2013")
"""The same in the key, of signs that every font has."""


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


class KeyedPlot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """A plot with its name and its key above it, where no line goes."""

    def __init__(self, name: str) -> None:
        super().__init__(axisItems={side: Axis(orientation=side) for side in SIDES}, enableMenu=False)
        self.setAccessibleName(name)
        self.theme = DARK
        self._keys: tuple[tuple[str, str, int], ...] = ()
        plot = self.getPlotItem()
        # Over the axis too: there is more room.
        plot.layout.removeItem(plot.titleLabel)
        plot.layout.addItem(plot.titleLabel, 0, 0, 1, 3)
        self._write_key()

    @property
    def key_height(self) -> float:
        """Of name and key, pixels."""
        return float(self.getPlotItem().titleLabel.item.boundingRect().height())

    def show_key(self, keys: Sequence[tuple[str, str, int]]) -> None:
        """Name, colour's role and dash of each line."""
        self._keys = tuple(keys)
        self._write_key()

    def _write_key(self) -> None:
        plot, theme = self.getPlotItem(), self.theme
        words = [f"<b>{escape(self.accessibleName())}</b>"]
        for name, role, dash in self._keys:
            sign, colour = DASH_SIGNS[dash % len(DASH_SIGNS)], colour_of(role, theme).name()
            shown, sign = escape(name).replace(" ", NO_BREAK), sign.replace(" ", NO_BREAK)
            words.append(f"<b style='color:{colour}'>{sign}</b>{NO_BREAK}{shown}")
        label = plot.titleLabel
        label.setAttr("justify", "left")
        plot.setTitle(" &nbsp; ".join(words), color=theme.text, size=KEY_SIZE)
        label.item.setTextWidth(max(self.width() - KEY_ROOM, 1))
        label.setMaximumHeight(self.key_height)
        plot.layout.setRowFixedHeight(0, self.key_height)
        label.setMinimumWidth(0)
        self.setFixedHeight(HEIGHT + round(self.key_height))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """The key has another width, first: the plot is not made narrower than its key was."""
        if event is not None and event.size().width() != event.oldSize().width() and self.getPlotItem() is not None:
            self._write_key()
        super().resizeEvent(event)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self.theme = theme
        self.setBackground(theme.panel)
        for side in SIDES:
            self.getAxis(side).enableAutoSIPrefix(False)
            self.getAxis(side).setPen(theme.line)
            self.getAxis(side).setTextPen(theme.faint)
        self._write_key()


class LinePlot(KeyedPlot):
    """Lines over one axis."""

    def __init__(self, name: str, across: str, up: str) -> None:
        super().__init__(name)
        self.setMouseEnabled(x=True, y=False)
        self._lines: tuple[Line, ...] = ()
        self._labels = (across, up)
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
            plot.setLabel(side, label, color=self.theme.faint)
        for line in self._lines:
            pen = pg.mkPen(colour_of(line.colour, self.theme), width=1, style=DASHES[line.dash % len(DASHES)])
            plot.plot(line.x, np.where(np.isfinite(line.y), line.y, np.nan), pen=pen, connect="finite")
        self.show_key([(line.name, line.colour, line.dash) for line in self._lines])
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
        super().set_theme(theme)
        self._mark.setPen(pg.mkPen(theme.accent, width=1))
        self.show_lines(self._lines)
