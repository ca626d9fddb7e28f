"""The plots that stand one below the other: their axes, curves and cursor lines; what is shown is said from outside."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QSizePolicy

from hil.dashboard.arm import ShownArm
from hil.dashboard.curves import DASHES, column_of, points_of
from hil.dashboard.plot_parts import Area, Axis, Curve, TimeAxis
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme

PLOT_NAMES = ("position", "error", "speed")
PLOTS = (("position", ("commanded", "simulated", "reported")), ("error", ("error",)), ("speed", ("speed",)))

DASH_UNITS = 170
"""Units of dashes across a plot."""

HEAD_ROOM = 0.06
TICK_DENSITY = 2.0
ANY_HEIGHT = 1e6


class PlotStack:
    """All plots of one view, over the same time.

    Attributes:
        area: the widget that they are in.
        plots: by name.
        curves: by quantity and axis.
    """

    def __init__(self) -> None:
        self.area = Area()
        self.area.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.area.setMinimumHeight(120)
        self.plots = {name: self._plot(row, name) for row, (name, _) in enumerate(PLOTS)}
        self.curves: dict[tuple[str, int], Any] = {}
        self._arm: ShownArm | None = None
        for name in self.plots:
            self.show(name, on=True)
        self._lines = [self._cursor_line(plot) for plot in self.plots.values()]

    def _plot(self, row: int, name: str) -> Any:
        axes = {"bottom": TimeAxis("bottom"), "left": Axis("left")}
        plot = self.area.addPlot(row=row, col=0, axisItems=axes, enableMenu=False)
        plot.hideButtons()
        plot.getAxis("left").setWidth(52)
        # Few lines, and none that can be seen through: they cost more than all curves.
        plot.showGrid(x=True, y=True, alpha=1.0)
        for side in ("left", "bottom"):
            plot.getAxis(side).setStyle(maxTickLevel=0)
            plot.getAxis(side).setTickDensity(TICK_DENSITY)
        plot.getAxis("left").enableAutoSIPrefix(False)
        plot.setMouseEnabled(x=True, y=False)
        plot.enableAutoRange(x=False, y=False)
        if row:
            plot.setXLink(self.area.getItem(0, 0))
        return plot

    def _cursor_line(self, plot: Any) -> Any:
        line = pg.InfiniteLine(angle=90, movable=False)
        line.setVisible(False)
        plot.addItem(line, ignoreBounds=True)
        return line

    # -- what is shown -----------------------------------------------------------------------------------

    def show_arm(self, arm: ShownArm) -> None:
        """A curve for every axis and quantity of this one."""
        for (quantity, _), curve in self.curves.items():
            self.plots[plot_of(quantity)].removeItem(curve)
        self.curves, self._arm = {}, arm
        for index in range(len(arm.axes)):
            for name, quantities in PLOTS:
                for quantity in quantities:
                    curve = Curve(antialias=False)
                    curve.setSegmentedLineMode("on")
                    self.plots[name].addItem(curve, ignoreBounds=True)
                    self.curves[quantity, index] = curve

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self.area.setBackground(theme.panel)
        for plot in self.plots.values():
            for side in ("left", "bottom"):
                plot.getAxis(side).setPen(theme.line)
                plot.getAxis(side).setTickPen(theme.grid)
                plot.getAxis(side).setTextPen(theme.text)
        for line in self._lines:
            line.setPen(pg.mkPen(theme.faint))
        for (_, index), curve in self.curves.items():
            curve.setPen(pg.mkPen(theme.curves[index % len(theme.curves)]))

    def point_at(self, time_s: float | None) -> None:
        """The cursor there; None for no cursor."""
        for line in self._lines:
            line.setVisible(time_s is not None)
            if time_s is not None:
                line.setValue(time_s)

    def time_at(self, where: QPointF) -> float | None:
        """Of a place in the area; None beside the plots."""
        for plot in self.plots.values():
            if plot.isVisible() and plot.sceneBoundingRect().contains(where):
                return float(plot.getViewBox().mapSceneToView(where).x())
        return None

    @property
    def seen_s(self) -> tuple[float, float]:
        """From when to when."""
        begin_s, end_s = self.plots["position"].viewRange()[0]
        return begin_s, end_s

    def see(self, begin_s: float, end_s: float) -> None:
        """This stretch of time, in all of them."""
        self.plots["position"].setXRange(begin_s, end_s, padding=0.0)

    def show(self, name: str, *, on: bool) -> None:
        """A plot in its row, or neither; the positions have as much room as both others."""
        self.plots[name].setVisible(on)
        row = PLOT_NAMES.index(name)
        layout = self.area.ci.layout
        layout.setRowStretchFactor(row, 0 if not on else 2 if row == 0 else 1)
        layout.setRowMaximumHeight(row, ANY_HEIGHT if on else 0.0)

    def draw(self, span: Any, span_s: float, shown: Collection[str], picked: Collection[tuple[str, int]]) -> None:
        """Draw a stretch of the history.

        Args:
            span: the stretch.
            span_s: how long it is.
            shown: names of the plots that are seen.
            picked: quantity and axis of the curves that are wanted.
        """
        last = [name for name in PLOT_NAMES if name in shown][-1]
        for name, quantities in PLOTS:
            self.show(name, on=name in shown)
            if name in shown:
                self._draw_plot(name, quantities, span, span_s / DASH_UNITS, picked)
                # The axis with times belongs to the lowest plot that is shown.
                self.plots[name].getAxis("bottom").setStyle(showValues=name == last)

    def _draw_plot(
        self, name: str, quantities: tuple[str, ...], span: Any, unit_s: float, picked: Collection[tuple[str, int]]
    ) -> None:
        arm = self._arm
        assert arm is not None
        lows, highs, units = [], [], set()
        for quantity in quantities:
            for index, axis in enumerate(arm.axes):
                curve = self.curves[quantity, index]
                curve.setVisible((quantity, index) in picked)
                if (quantity, index) not in picked:
                    continue
                column = column_of(arm, quantity, index)
                points = points_of(span, column, DASHES[quantity], unit_s)
                curve.setData(points.x, points.y, connect=points.joined.astype(np.int32))
                units.add(axis.unit_name)
                lows.append(span.low[:, column])
                highs.append(span.high[:, column])
        plot = self.plots[name]
        unit = ", ".join(sorted(units)) + ("/s" if name == "speed" else "")
        label = f"{tr(name)} [{unit}]"
        if plot.getAxis("left").labelText != label:
            plot.setLabel("left", label)
        if (limits := _limits(lows, highs)) is not None:
            plot.setYRange(*limits, padding=HEAD_ROOM)

    def drawn(self, plots: Collection[str]) -> list[tuple[str, int]]:
        """Quantity and axis of every curve that is seen in these plots."""
        return [
            (quantity, axis)
            for (quantity, axis), curve in self.curves.items()
            if curve.isVisible() and plot_of(quantity) in plots and self.plots[plot_of(quantity)].isVisible()
        ]


def plot_of(quantity: str) -> str:
    """Name of the plot that has it."""
    return next(name for name, quantities in PLOTS if quantity in quantities)


def _limits(lows: list[Any], highs: list[Any]) -> tuple[float, float] | None:
    if not lows:
        return None
    low = min((float(np.nanmin(values)) for values in lows if np.isfinite(values).any()), default=None)
    high = max((float(np.nanmax(values)) for values in highs if np.isfinite(values).any()), default=None)
    if low is None or high is None:
        return None
    middle, half = 0.5 * (low + high), max(0.5 * (high - low), 0.5)
    return middle - half, middle + half
