"""How often a view looks at the arm: often while anything changes, seldom while nothing does.

What is shown of an arm at rest is looked at twice a second, by all views together: a window is put together anew for
each of them that has drawn something by itself. The first thing that changes has every view look at once.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from hil.dashboard.tab_order import is_behind
from hil.service.wire import Telemetry

CALM_AFTER_S = 1.0
"""Nothing has changed for so long: the arm is at rest, and nobody does anything at the window."""

REST_MS, WATCH_MS = 500, 200


class Calm(QObject):
    """Whether anything changes that a window shows.

    Args:
        clock: monotonic.
        hears: whether what is shown is what is so; an arm that is not heard any more is news, too.

    Signals:
        woken: something has changed, after nothing had for long.
        looks: the time at which all views look that are at rest.
    """

    woken = Signal()
    looks = Signal()

    def __init__(self, clock: Callable[[], float], hears: Callable[[], bool], parent: QObject) -> None:
        super().__init__(parent)
        self._clock, self._hears = clock, hears
        self._stirred_s = clock()
        self._heard = False
        self._shown: tuple[object, ...] = ()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.watch)
        self._timer.start(WATCH_MS)
        self._rest = QTimer(self)
        self._rest.timeout.connect(self.looks)
        self._rest.start(REST_MS)

    @property
    def lasts(self) -> bool:
        """Nothing changes."""
        return self._clock() - self._stirred_s > CALM_AFTER_S

    def stir(self) -> None:
        """Something has changed."""
        calm, self._stirred_s = self.lasts, self._clock()
        if calm:
            self.woken.emit()

    def watch(self) -> None:
        """Look whether the arm is still heard."""
        if self._hears() is not self._heard:
            self._heard = not self._heard
            self.stir()

    def see(self, frame: Telemetry) -> None:
        """The newest of the arm; times that only go on are no change."""
        lease = frame.lease
        shown = (
            frame.mode, frame.lamp, frame.commanded, frame.simulated, frame.reported, frame.source, frame.alarm,
            frame.refusal, frame.progress, frame.speed_share,
            lease.phase, lease.epoch, lease.holder, lease.waiting, lease.frozen, lease.latched,
        )  # fmt: skip
        if shown != self._shown:
            self._shown = shown
            self.stir()


class Pace(QObject):
    """A timer of a view; at rest it is that of all views.

    Args:
        calm: whether anything changes.
        look: what the view does each time.
        every_ms: while something changes.
        parent: the view.
        behind: whether the view looks, too, while it is behind another one.
    """

    def __init__(
        self, calm: Calm, look: Callable[[], object], every_ms: int, parent: QWidget, *, behind: bool = True
    ) -> None:
        super().__init__(parent)
        self._calm, self._look, self._every_ms = calm, look, every_ms
        self._view, self._behind = parent, behind
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.turn)
        self._timer.start(every_ms)
        calm.woken.connect(self._wake)
        calm.looks.connect(self._look_at_rest)

    @property
    def every_ms(self) -> int:
        """How often it looks now."""
        return self._every_ms if self._timer.isActive() else REST_MS

    def turn(self) -> None:
        """Look, and go on as often as there is anything to see."""
        if self._behind or not is_behind(self._view):
            self._look()
        if self._calm.lasts:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _look_at_rest(self) -> None:
        if not self._timer.isActive():
            self.turn()

    def _wake(self) -> None:
        if not self._timer.isActive():
            self._timer.start()
