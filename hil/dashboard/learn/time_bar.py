"""The time line below the scene: play, step, scrub, how fast, and what is on."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QDoubleSpinBox, QHBoxLayout, QSlider, QWidget

from hil.clock import monotonic_s
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import OneLine, dress, push
from hil.lessons.timeline import STILL, Timeline

PLAY_EVERY_MS = 16
GRAIN_S = 0.01
"""Of the slider."""

SLOWEST, FASTEST = 0.1, 10.0


class TimeBar(QWidget):
    """Which moment is looked at.

    Signals:
        moved: another moment, seconds.
    """

    moved = Signal(float)

    def __init__(self, clock: Callable[[], float] = monotonic_s) -> None:
        super().__init__()
        self._clock = clock
        self.pause_at: Callable[[float, float], float | None] = lambda before_s, after_s: None
        self.time_line: Timeline = STILL
        self.time_s = 0.0
        self._ticked_s = 0.0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)
        self.back = push("|◀", lambda: self.look(0.0), tr("To the start (Home)"))
        self.step_back = push("-1", lambda: self.step(-1), tr("A step back (Left)"))
        self.play = push("▶", self.toggle, tr("Play or pause (P)"))
        self.play.setCheckable(True)
        self.step_on = push("+1", lambda: self.step(1), tr("A step on (Right)"))
        for button, name in (
            (self.back, tr("To the start")),
            (self.step_back, tr("A step back")),
            (self.play, tr("Play")),
            (self.step_on, tr("A step on")),
        ):
            button.setAccessibleName(name)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName(tr("Moment that is looked at"))
        self.slider.valueChanged.connect(self._scrubbed)
        self.speed = QDoubleSpinBox()
        self.speed.setRange(SLOWEST, FASTEST)
        self.speed.setDecimals(1)
        self.speed.setSingleStep(0.1)
        self.speed.setValue(1.0)
        self.speed.setSuffix(" x")
        self.speed.setAccessibleName(tr("How fast it is played"))
        self.words = OneLine()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(3)
        for widget in (self.back, self.step_back, self.play, self.step_on, self.slider, self.speed):
            row.addWidget(widget, 1 if widget is self.slider else 0)
        self.set_timeline(STILL)

    def set_timeline(self, timeline: Timeline) -> None:
        """Another motion; the moment stays as far as there is one."""
        self.time_line = timeline
        moves = timeline.duration_s > 0.0
        for widget in (self.back, self.step_back, self.play, self.step_on, self.slider, self.speed):
            widget.setEnabled(moves)
        self.slider.blockSignals(True)
        self.slider.setRange(0, round(timeline.duration_s / GRAIN_S))
        self.slider.blockSignals(False)
        if not moves:
            self._pause()
        self.look(self.time_s)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        dress(
            self.slider,
            f"QSlider {{ border: 2px solid {theme.window}; }} QSlider:focus {{ border: 2px solid {theme.accent}; }}",
        )

    def look(self, time_s: float) -> None:
        """At this moment."""
        self.time_s = min(max(time_s, 0.0), self.time_line.duration_s)
        self.slider.blockSignals(True)
        self.slider.setValue(round(self.time_s / GRAIN_S))
        self.slider.blockSignals(False)
        words = self.time_line.words_at(self.time_s)
        where = tr("{now:.2f} of {end:.2f} s", now=self.time_s, end=self.time_line.duration_s)
        self.words.setText(f"{where}   {words}" if self.time_line.duration_s > 0.0 else words)
        self.moved.emit(self.time_s)

    def step(self, by: int) -> None:
        """So many moments on, exactly."""
        self._pause()
        self.look(self.time_line.stepped(self.time_s, by))

    def begin(self) -> None:
        """Play from the start."""
        self._pause()
        self.look(0.0)
        self.toggle()

    def toggle(self) -> None:
        """Play, from the start once the end is reached; or pause."""
        if self._timer.isActive() or self.time_line.duration_s <= 0.0:
            self._pause()
            return
        if self.time_s >= self.time_line.duration_s:
            self.look(0.0)
        self._ticked_s = self._clock()
        self.play.setChecked(True)
        self._timer.start(PLAY_EVERY_MS)

    def tick(self) -> None:
        """Play on by the time that has passed."""
        now_s = self._clock()
        passed_s, self._ticked_s = now_s - self._ticked_s, now_s
        goal_s = self.time_s + self.speed.value() * passed_s
        pause_s = self.pause_at(self.time_s, goal_s)
        if pause_s is not None:
            self.look(pause_s)
            self._pause()
            return
        self.look(goal_s)
        if self.time_s >= self.time_line.duration_s:
            self._pause()

    def _pause(self) -> None:
        self._timer.stop()
        self.play.setChecked(False)

    def _scrubbed(self, value: int) -> None:
        self._pause()
        self.look(value * GRAIN_S)
