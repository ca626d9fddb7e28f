"""Curves over time: positions, error and speed of the joints that are picked, live, stopped, and scrolled back."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QMenu,
    QScrollBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.curve_figure import Origin, draw_curves
from hil.dashboard.curves import write_csv
from hil.dashboard.export import fill_menu, is_table
from hil.dashboard.pace import Pace
from hil.dashboard.plot_parts import clock_text
from hil.dashboard.plot_stack import PLOT_NAMES, PlotStack
from hil.dashboard.readout import Readout
from hil.dashboard.session import QUANTITIES, Session
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme, ink_on
from hil.dashboard.widgets import push, toggle
from hil.errors import CommandError
from hil.types import Mode

DRAW_EVERY_MS = 80
SPANS_S = {"10 s": 10.0, "30 s": 30.0, "2 min": 120.0, "10 min": 600.0, "1 h": 3600.0, "4 h": 14400.0}
FIRST_SPAN = "30 s"
AT_REST_S = 1.0
STANDS = frozenset({Mode.IDLE, Mode.HOLDING, Mode.UNKNOWN_POSE, Mode.FAULT, Mode.ESTOP})
SIGNS = {"commanded": "──", "simulated": "╌╌", "reported": "┈┈"}
"""How the lines of these look."""

SCROLL_STEPS_S = 0.1
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
        self._joints: list[QToolButton] = []
        self._drawn: object = None
        self._drawn_s = 0.0
        self._signals = {name: toggle(f"{tr(name)} {sign}", True, self._changed) for name, sign in SIGNS.items()}
        self._shown = {name: toggle(tr(name), True, self._changed) for name in ("error", "speed")}
        self.stack = PlotStack()
        self.stack.plots["position"].getViewBox().sigRangeChangedManually.connect(self._dragged)
        self.stack.area.scene().sigMouseMoved.connect(self._point)
        self.stack.area.left.connect(lambda: self.point_at(None))
        self.stack.area.stepped.connect(self._step)
        self.stack.area.ended.connect(lambda side: self.point_at(self._seen[side > 0]))
        self.stack.area.turned.connect(self._turn)
        self.stack.area.zoomed.connect(self._zoom)
        self.stack.area.setAccessibleName(tr("Curves: arrows move the cursor"))
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
        layout.addWidget(self.stack.area, 1)
        layout.addLayout(self._time_row())
        layout.addWidget(self._readout)
        self.set_theme(theme)
        session.arm_changed.connect(self._show_arm)
        if session.arm is not None:
            self._show_arm()
        self._pace = Pace(session.calm, self.refresh, DRAW_EVERY_MS, self, behind=False)

    # -- building ----------------------------------------------------------------------------------------

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
        for button in self._joints:
            button.deleteLater()
        self._joints = []
        while self._joint_row.count():
            self._joint_row.takeAt(0)
        for axis in arm.axes:
            button = toggle(axis.name, not axis.gripper, self._changed, tr("Curves of {name}", name=axis.name))
            self._joint_row.addWidget(button)
            self._joints.append(button)
        self._joint_row.addStretch(1)
        self._end_s, self._drawn = None, None
        self.stack.show_arm(arm)
        self._readout.show_arm(arm)
        self.set_theme(self._theme)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.stack.set_theme(theme)
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
        self.stack.point_at(time_s)
        self._show_numbers()

    @property
    def _seen(self) -> tuple[float, float]:
        """From when to when curves are shown."""
        begin_s, end_s = self.stack.seen_s
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
        self.show_span(*self.stack.seen_s)

    def _point(self, where: QPointF) -> None:
        self.point_at(self.stack.time_at(where))

    # -- drawing -----------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Draw the curves, if something is new."""
        history = self._session.history
        if history.end_s is None or not self.isVisible():
            return
        newest_s = history.end_s if self._end_s is None else self._end_s
        width = max(self.stack.area.width(), 100)
        if self._rests(newest_s):
            return
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
        self.stack.see(begin_s, end_s)
        self.stack.draw(history.between(begin_s, end_s, 2 * width), self._span_s, self._wanted_plots(), self._picked())
        self._move_scroll(newest_s)

    def _rests(self, newest_s: float) -> bool:
        """An arm at rest draws straight lines: they are drawn on once a second."""
        frame, drawn = self._session.newest, self._drawn
        at_rest = frame is not None and frame.mode in STANDS and self._session.live
        if at_rest and drawn is not None and 0.0 <= newest_s - self._drawn_s < AT_REST_S:
            return True
        self._drawn_s = newest_s
        return False

    def _wanted_plots(self) -> list[str]:
        """Names of the plots that are shown."""
        return [name for name in PLOT_NAMES if name not in self._shown or self._shown[name].isChecked()]

    def _picked(self) -> set[tuple[str, int]]:
        """Quantity and axis of the curves whose buttons are down."""
        axes = [index for index, button in enumerate(self._joints) if button.isChecked()]
        wanted = [each for each in QUANTITIES if each not in self._signals or self._signals[each].isChecked()]
        return {(quantity, axis) for quantity in wanted for axis in axes}

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
        columns = self.stack.drawn(plots)
        if is_table(path):
            write_csv(path, arm, history, columns, span_s)
            return
        origin = Origin(welcome.real, self._session.began_epoch_s)
        draw_curves(path, arm, origin, history, columns, span_s)

    def _fill_export(self, menu: QMenu) -> None:
        """All that is shown, or one plot of it."""
        for part in menu.findChildren(QMenu):
            part.deleteLater()
        menu.clear()
        shown = [name for name, plot in self.stack.plots.items() if plot.isVisible()]
        fill_menu(menu.addMenu(tr("&All")), self._session, "curves", self.export, self)
        for name in shown:
            fill_menu(menu.addMenu(tr(name)), self._session, name, partial(self.export, plots=(name,)), self)
        menu.addSeparator()
        menu.addAction(tr("&Clear curves and trace"), self.clear)


def _joint_style(colour: str, theme: Theme) -> str:
    return (
        f"QToolButton {{ border: 1px solid {colour}; border-radius: 3px; padding: 2px 7px; }}"
        f"QToolButton:checked {{ background: {colour}; color: {ink_on(colour)}; }}"
        f"QToolButton:focus {{ border: 2px solid {theme.text}; padding: 1px 6px; }}"
    )
