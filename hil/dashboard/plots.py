"""Curves over time: positions, error and speed of the joints that are picked, live, stopped, and scrolled back."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QMenu,
    QScrollBar,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.curve_figure import Origin, draw_curves
from hil.dashboard.curves import DASHES, column_of, points_of, write_csv
from hil.dashboard.export import fill_menu, is_table
from hil.dashboard.plot_parts import Area, Axis, Curve, TimeAxis, clock_text
from hil.dashboard.readout import Readout
from hil.dashboard.session import Session
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme, ink_on
from hil.dashboard.widgets import push, toggle
from hil.errors import CommandError

DRAW_EVERY_MS = 80
PLOT_NAMES = ("position", "error", "speed")
PLOTS = (("position", ("commanded", "simulated", "reported")), ("error", ("error",)), ("speed", ("speed",)))
SPANS_S = {"10 s": 10.0, "30 s": 30.0, "2 min": 120.0, "10 min": 600.0, "1 h": 3600.0, "4 h": 14400.0}
FIRST_SPAN = "30 s"
SIGNS = {"commanded": "──", "simulated": "╌╌", "reported": "┈┈"}
"""How the lines of these look."""

DASH_UNITS = 170
"""Units of dashes across a plot."""

SCROLL_STEPS_S = 0.1
HEAD_ROOM = 0.06
TICK_DENSITY = 2.0
ANY_HEIGHT = 1e6
CURSOR_STEPS = 100
"""Steps of the cursor by keys across a plot."""


class PlotsView(QWidget):
    """The curves, their buttons, and the numbers under the cursor; drawn on a timer of its own."""

    KEYS = (
        ("Left, Right", "cursor in the plots; with Shift, ten times as far"),
        ("Home, End", "cursor to the oldest and to the newest that is shown"),
        ("Page up, Page down", "back and forth through the session; at its end the curves run again"),
        ("+, -", "less and more time"),
        ("Backspace", "no cursor"),
    )

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._session, self._theme = session, theme
        self._span_s = SPANS_S[FIRST_SPAN]
        self._end_s: float | None = None
        self._cursor_s: float | None = None
        self._curves: dict[tuple[str, int], Any] = {}
        self._joints: list[QToolButton] = []
        self._drawn: object = None
        self._signals = {name: toggle(f"{tr(name)} {sign}", True, self._changed) for name, sign in SIGNS.items()}
        self._shown = {name: toggle(tr(name), True, self._changed) for name in ("error", "speed")}
        self._area = Area()
        self._area.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._area.setMinimumHeight(120)
        self._plots = {name: self._plot(row, name) for row, (name, _) in enumerate(PLOTS)}
        for name in self._plots:
            self._show_plot(name, True)
        self._lines = [self._cursor_line(plot) for plot in self._plots.values()]
        self._area.scene().sigMouseMoved.connect(self._point)
        self._area.left.connect(lambda: self.point_at(None))
        self._area.stepped.connect(self._step)
        self._area.ended.connect(lambda side: self.point_at(self._seen[side > 0]))
        self._area.turned.connect(self._turn)
        self._area.zoomed.connect(self._zoom)
        self._area.setAccessibleName(tr("Curves: arrows move the cursor"))
        self._scroll = QScrollBar(Qt.Orientation.Horizontal)
        self._scroll.setAccessibleName(tr("Scroll back through the session"))
        self._scroll.valueChanged.connect(self._scrolled)
        self._pause = toggle(
            tr("Pause"), False, lambda: self._hold(self._pause.isChecked()), tr("Hold the curves; recording goes on")
        )
        self._joint_row = QHBoxLayout()
        self._readout = Readout()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 2, 4, 2)
        layout.setSpacing(2)
        layout.addLayout(self._joint_row)
        layout.addLayout(self._second_row())
        layout.addWidget(self._area, 1)
        layout.addLayout(self._time_row())
        layout.addWidget(self._readout)
        self.set_theme(theme)
        session.arm_changed.connect(self._show_arm)
        if session.arm is not None:
            self._show_arm()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.refresh)
        self._timer.start(DRAW_EVERY_MS)

    # -- building ----------------------------------------------------------------------------------------

    def _plot(self, row: int, name: str) -> Any:
        plot = self._area.addPlot(row=row, col=0, axisItems={"bottom": TimeAxis("bottom"), "left": Axis("left")})
        plot.setMenuEnabled(False)
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
            plot.setXLink(self._area.getItem(0, 0))
        else:
            plot.getViewBox().sigRangeChangedManually.connect(self._dragged)
        return plot

    def _cursor_line(self, plot: Any) -> Any:
        line = pg.InfiniteLine(angle=90, movable=False)
        line.setVisible(False)
        plot.addItem(line, ignoreBounds=True)
        return line

    def _second_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(3)
        for button in (*self._signals.values(), *self._shown.values()):
            row.addWidget(button)
        row.addStretch(1)
        return row

    def _time_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(3)
        row.addWidget(self._scroll, 1)
        self._spans = QComboBox()
        self._spans.addItems([tr(name) for name in SPANS_S])
        self._spans.setCurrentIndex(list(SPANS_S).index(FIRST_SPAN))
        self._spans.setAccessibleName(tr("Time that is shown"))
        self._spans.currentIndexChanged.connect(self._span_picked)
        row.addWidget(self._spans)
        row.addWidget(self._pause)
        more = push(tr("Export"))
        more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        self._fill_export(menu)
        menu.aboutToShow.connect(lambda: self._fill_export(menu))
        more.setMenu(menu)
        row.addWidget(more)
        return row

    def _show_arm(self) -> None:
        """A curve for every axis and quantity; all joints are picked, the gripper is not, for it has another unit."""
        arm = self._session.arm
        assert arm is not None
        for (quantity, _), curve in self._curves.items():
            self._plots[_plot_of(quantity)].removeItem(curve)
        for button in self._joints:
            button.deleteLater()
        self._curves, self._joints = {}, []
        while self._joint_row.count():
            self._joint_row.takeAt(0)
        for index, axis in enumerate(arm.axes):
            button = toggle(axis.name, not axis.gripper, self._changed, tr("Curves of {name}", name=axis.name))
            self._joint_row.addWidget(button)
            self._joints.append(button)
            for name, quantities in PLOTS:
                for quantity in quantities:
                    curve = Curve(antialias=False)
                    curve.setSegmentedLineMode("on")
                    self._plots[name].addItem(curve, ignoreBounds=True)
                    self._curves[quantity, index] = curve
        self._joint_row.addStretch(1)
        self._end_s, self._drawn = None, None
        self._readout.show_arm(arm)
        self.set_theme(self._theme)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self._area.setBackground(theme.panel)
        for plot in self._plots.values():
            for side in ("left", "bottom"):
                plot.getAxis(side).setPen(theme.line)
                plot.getAxis(side).setTickPen(theme.grid)
                plot.getAxis(side).setTextPen(theme.text)
        for line in self._lines:
            line.setPen(pg.mkPen(theme.faint))
        for (_, index), curve in self._curves.items():
            curve.setPen(pg.mkPen(self._colour(index)))
        for index, button in enumerate(self._joints):
            button.setStyleSheet(_joint_style(self._colour(index), theme))
        self._readout.set_colours([self._colour(index) for index in range(len(self._joints))])
        self._drawn = None

    def _colour(self, index: int) -> str:
        return self._theme.curves[index % len(self._theme.curves)]

    # -- what people do ----------------------------------------------------------------------------------

    def pick(self, joints: set[int]) -> None:
        """Curves of these axes alone."""
        for index, button in enumerate(self._joints):
            button.setChecked(index in joints)

    def pause(self, on: bool = True) -> None:
        """Hold the curves, or let them run."""
        self._pause.setChecked(on)

    @property
    def paused(self) -> bool:
        """Whether the curves are held."""
        return self._pause.isChecked()

    def show_newest(self, name: str) -> None:
        """Let the curves run, with one of `SPANS_S`."""
        self.pause(False)
        self._spans.setCurrentIndex(list(SPANS_S).index(name))

    def show_span(self, begin_s: float, end_s: float) -> None:
        """Hold the curves, and show this stretch of the session."""
        self._span_s = max(end_s - begin_s, 0.1)
        self.pause()
        self._end_s = end_s
        self._drawn = None

    def point_at(self, time_s: float | None) -> None:
        """Numbers of this moment; None for the newest."""
        self._cursor_s = time_s
        for line in self._lines:
            line.setVisible(time_s is not None)
            if time_s is not None:
                line.setValue(time_s)
        self._show_numbers()

    @property
    def _seen(self) -> tuple[float, float]:
        """From when to when curves are shown."""
        begin_s, end_s = self._plots["position"].viewRange()[0]
        newest_s = self._session.history.end_s
        return begin_s, end_s if newest_s is None else min(end_s, newest_s)

    def _step(self, steps: int) -> None:
        """The cursor, by keys; at first it is where the newest is."""
        begin_s, end_s = self._seen
        at_s = end_s if self._cursor_s is None else self._cursor_s
        self.point_at(min(max(at_s + steps * self._span_s / CURSOR_STEPS, begin_s), end_s))

    def _turn(self, pages: int) -> None:
        """Back and forth, by keys."""
        self._scroll.setValue(self._scroll.value() + pages * self._scroll.pageStep())

    def _zoom(self, steps: int) -> None:
        """Less time or more, by keys."""
        self._spans.setCurrentIndex(min(max(self._spans.currentIndex() - steps, 0), len(SPANS_S) - 1))

    def clear(self) -> None:
        """Forget curves and trace; what comes is kept again."""
        self._session.clear()
        self.pause(False)
        self._drawn = None

    def _changed(self) -> None:
        self._drawn = None

    def _span_picked(self, index: int) -> None:
        self._span_s = list(SPANS_S.values())[index]
        self._drawn = None

    def _hold(self, on: bool) -> None:
        self._pause.setText(tr("Live") if on else tr("Pause"))
        self._end_s = self._session.history.end_s if on else None
        if not on:
            self._span_s = list(SPANS_S.values())[self._spans.currentIndex()]
        self._drawn = None

    def _scrolled(self, value: int) -> None:
        """Back into the session; at its end the curves run again."""
        self.pause(value < self._scroll.maximum())
        if self.paused:
            self._end_s = value * SCROLL_STEPS_S
        self._drawn = None

    def _dragged(self) -> None:
        """Panned or zoomed by mouse: held there."""
        begin_s, end_s = self._plots["position"].getViewBox().viewRange()[0]
        self.show_span(begin_s, end_s)

    def _point(self, where: QPointF) -> None:
        for plot in self._plots.values():
            if plot.isVisible() and plot.sceneBoundingRect().contains(where):
                self.point_at(float(plot.getViewBox().mapSceneToView(where).x()))
                return
        self.point_at(None)

    # -- drawing -----------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Draw the curves, if something is new."""
        history = self._session.history
        if history.end_s is None or not self.isVisible():
            return
        newest_s = history.end_s if self._end_s is None else self._end_s
        width = max(self._area.width(), 100)
        self._show_numbers()
        # What would move the curves by less than a point is not worth a picture.
        key = (int(newest_s * width / self._span_s), self._span_s, width)
        if key == self._drawn:
            return
        self._drawn = key
        begin_s, end_s = newest_s - self._span_s, newest_s
        if history.begin_s is not None and begin_s < history.begin_s:
            # The first curves grow from the left.
            begin_s, end_s = history.begin_s, history.begin_s + self._span_s
        self._plots["position"].setXRange(begin_s, end_s, padding=0.0)
        span = history.between(begin_s, end_s, 2 * width)
        unit_s = self._span_s / DASH_UNITS
        for name, quantities in PLOTS:
            shown = name not in self._shown or self._shown[name].isChecked()
            self._show_plot(name, shown)
            if shown:
                self._draw_plot(name, quantities, span, unit_s)
        self._move_scroll(newest_s)

    def _show_plot(self, name: str, on: bool) -> None:
        """A plot in its row, or neither; the positions have as much room as both others."""
        self._plots[name].setVisible(on)
        row = PLOT_NAMES.index(name)
        layout = self._area.ci.layout
        layout.setRowStretchFactor(row, 0 if not on else 2 if row == 0 else 1)
        layout.setRowMaximumHeight(row, ANY_HEIGHT if on else 0.0)

    def _draw_plot(self, name: str, quantities: tuple[str, ...], span: Any, unit_s: float) -> None:
        arm = self._session.arm
        assert arm is not None
        lows, highs, units = [], [], set()
        for quantity in quantities:
            for index, button in enumerate(self._joints):
                curve = self._curves[quantity, index]
                on = button.isChecked() and (quantity not in self._signals or self._signals[quantity].isChecked())
                curve.setVisible(on)
                if not on:
                    continue
                column = column_of(arm, quantity, index)
                points = points_of(span, column, DASHES[quantity], unit_s)
                curve.setData(points.x, points.y, connect=points.joined.astype(np.int32))
                units.add(arm.axes[index].unit_name)
                lows.append(span.low[:, column])
                highs.append(span.high[:, column])
        plot = self._plots[name]
        unit = ", ".join(sorted(units)) + ("/s" if name == "speed" else "")
        label = f"{tr(name)} [{unit}]"
        if plot.getAxis("left").labelText != label:
            plot.setLabel("left", label)
        # The axis with times belongs to the lowest plot that is shown.
        last = [each for each, _ in PLOTS if each not in self._shown or self._shown[each].isChecked()][-1]
        plot.getAxis("bottom").setStyle(showValues=name == last)
        limits = _limits(lows, highs)
        if limits is not None:
            plot.setYRange(*limits, padding=HEAD_ROOM)

    def _move_scroll(self, end_s: float) -> None:
        history = self._session.history
        assert history.begin_s is not None and history.end_s is not None
        self._scroll.blockSignals(True)
        page = round(self._span_s / SCROLL_STEPS_S)
        low = round(history.begin_s / SCROLL_STEPS_S) + page
        high = max(round(history.end_s / SCROLL_STEPS_S), low)
        self._scroll.setRange(low, high)
        self._scroll.setPageStep(page)
        self._scroll.setSingleStep(max(1, page // 20))
        self._scroll.setValue(high if self._end_s is None else round(end_s / SCROLL_STEPS_S))
        self._scroll.blockSignals(False)

    def _show_numbers(self) -> None:
        history = self._session.history
        time_s = history.end_s if self._cursor_s is None else self._cursor_s
        found = None if time_s is None else history.at(time_s)
        if found is not None:
            at_s, low, high = found
            words = tr("newest") if self._cursor_s is None else tr("at the cursor")
            self._readout.show_values(f"{clock_text(at_s, 2)}  {words}", low, high)

    # -- export ------------------------------------------------------------------------------------------

    def export(self, path: Path, plots: Collection[str] = PLOT_NAMES) -> None:
        """Write what is shown of these plots as PNG, SVG, PDF or CSV, by the file's ending.

        Raises:
            OSError: the file cannot be written.
            HilError: its ending is not known, there is nothing yet, or matplotlib is not installed.
        """
        arm, history, welcome = self._session.arm, self._session.history, self._session.welcome
        if arm is None or welcome is None or history.end_s is None:
            raise CommandError(tr("there are no curves yet"))
        end_s = history.end_s if self._end_s is None else self._end_s
        span_s = (end_s - self._span_s, end_s)
        columns = self._columns(plots)
        if is_table(path):
            write_csv(path, arm, history, columns, span_s)
            return
        origin = Origin(welcome.real, self._session.began_epoch_s)
        draw_curves(path, arm, origin, history, columns, span_s)

    def _columns(self, plots: Collection[str]) -> list[tuple[str, int]]:
        """Quantity and axis of every curve that is shown in these plots."""
        return [
            (quantity, axis)
            for (quantity, axis), curve in self._curves.items()
            if curve.isVisible() and _plot_of(quantity) in plots and self._plots[_plot_of(quantity)].isVisible()
        ]

    def _fill_export(self, menu: QMenu) -> None:
        """All that is shown, or one plot of it."""
        for part in menu.findChildren(QMenu):
            part.deleteLater()
        menu.clear()
        shown = [name for name, plot in self._plots.items() if plot.isVisible()]
        fill_menu(menu.addMenu(tr("&All")), self._session, "curves", self.export, self)
        for name in shown:
            fill_menu(menu.addMenu(tr(name)), self._session, name, partial(self.export, plots=(name,)), self)
        menu.addSeparator()
        menu.addAction(tr("&Clear curves and trace"), self.clear)


def _plot_of(quantity: str) -> str:
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


def _joint_style(colour: str, theme: Theme) -> str:
    return (
        f"QToolButton {{ border: 1px solid {colour}; border-radius: 3px; padding: 2px 7px; }}"
        f"QToolButton:checked {{ background: {colour}; color: {ink_on(colour)}; }}"
        f"QToolButton:focus {{ border: 2px solid {theme.text}; padding: 1px 6px; }}"
    )
