"""The window's one dead-man: what is held counts only while the window says anew, in time, that a hand is on it.

The window says so every few hundredths of a second. Where it cannot, because it hangs or has lost its focus, the arm
stops by itself, and nothing begins anew without being let go of first. It says besides what shows the hand: a key that
repeats, a pointer that moves, another key. The service ends a hold in which nothing changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPointF, QTimer
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication

from hil.dashboard.link import Link
from hil.dashboard.texts import tr
from hil.service import wire
from hil.service.client_channel import HELD_S
from hil.service.hold_watch import Sign
from hil.service.wire import NoticeKind

TICK_MS, REST_TICK_MS = 40, 200
"""While something is held, and while nothing is."""

LAPSE_S = 0.3
"""A window that was busy for longer may have missed that the key was let go."""

ENDS_HOLDS = frozenset(
    {NoticeKind.HEARTBEAT_LOST, NoticeKind.TAKEN_OVER, NoticeKind.FROZEN, NoticeKind.SUSPENDED, NoticeKind.STOPPED}
    | {NoticeKind.PRESS_AGAIN}
)
"""After these nothing more comes of what is held: it has to be let go of and pressed again."""

_STIRS = frozenset({QEvent.Type.MouseButtonPress, QEvent.Type.Wheel, QEvent.Type.TouchUpdate, QEvent.Type.TabletMove})
"""Events that only a hand makes, besides keys and a pointer that moves."""


class Grip:
    """Whether a hand is on one thing, shared with the thread that talks; it lapses if nobody says so anew.

    Args:
        clock: monotonic.
        dropped: told why, where it is not the hand that lets go.

    Attributes:
        sign: what shows the hand.
    """

    def __init__(self, clock: Callable[[], float], dropped: Callable[[str], None]) -> None:
        self.dropped = dropped
        self.sign = Sign(changed_s=clock())
        self._clock = clock
        self._until_s = -math.inf
        self._gone = False

    def renew(self) -> None:
        """The hand is there now."""
        self._until_s = self._clock() + HELD_S

    def changed(self) -> None:
        """The hand has done something; a key that has repeated itself so far may do so no longer."""
        self.sign = Sign(changed_s=self._clock())

    def reported(self) -> None:
        """A key repeats itself."""
        self.sign = Sign(changed_s=self.sign.changed_s, reported_s=self._clock())

    def let_go(self) -> None:
        """The hand is gone, for good."""
        self._gone = True

    @property
    def held(self) -> bool:
        """Whether it counts as held."""
        return not self._gone and self._clock() < self._until_s


class DeadMan(QObject):
    """Keeps the one grip alive that a window has, whatever view it is of. Ends with its parent, in the window's thread.

    Args:
        link: told that it is held, and that it is let go of.
        clock: monotonic.
        parent: of the timer.

    Attributes:
        grip: what the hand is on; None for nothing.
    """

    def __init__(self, link: Link, clock: Callable[[], float], parent: QObject) -> None:
        super().__init__(parent)
        self.grip: Grip | None = None
        self._link, self._clock = link, clock
        self._ticked_s = -math.inf
        self._pointer: QPointF | None = None
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)
        self._timer.start(REST_TICK_MS)

    def take_hold(self, dropped: Callable[[str], None]) -> Grip:
        """A hand is on something new; the service hears first that nothing was held before.

        Args:
            dropped: told why, where something else ends it than `let_go`.
        """
        self.drop(tr("something else is held"))
        self._link.let_go()
        self.grip = Grip(self._clock, dropped)
        self.grip.renew()
        self._ticked_s, self._pointer = self._clock(), None
        self._timer.start(TICK_MS)
        self._link.hold(self.grip.sign)
        if (app := QApplication.instance()) is not None:
            app.installEventFilter(self)
        return self.grip

    def let_go(self, grip: Grip) -> None:
        """The hand is gone from this; something else that is held by now is not meant."""
        grip.let_go()
        if grip is not self.grip:
            return
        self.grip = None
        self._timer.start(REST_TICK_MS)
        if (app := QApplication.instance()) is not None:
            app.removeEventFilter(self)
        self._link.let_go()

    def drop(self, why: str) -> None:
        """Whatever is held counts no more, for this reason, until it is pressed anew."""
        if (grip := self.grip) is not None:
            self.let_go(grip)
            grip.dropped(why)

    def hear(self, notice: wire.Notice) -> None:
        """The service may have ended what is held."""
        if notice.kind in ENDS_HOLDS:
            self.drop(notice.text)

    def tick(self) -> None:
        """Say anew that it is held; called by a timer of its own."""
        now_s = self._clock()
        late, self._ticked_s = now_s - self._ticked_s > LAPSE_S, now_s
        if self.grip is None:
            self._link.alive()
            return
        if late:
            self.drop(tr("the window was busy: press again"))
            return
        self.grip.renew()
        self._link.hold(self.grip.sign)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """What comes in while something is held shows the hand; nothing is kept from anybody."""
        if (grip := self.grip) is None:
            return False
        if isinstance(event, QKeyEvent):
            if not event.isAutoRepeat():
                # Keys repeat one at a time, the newest: the one that is held may say nothing from now on.
                grip.changed()
            elif event.type() is QEvent.Type.KeyPress:
                grip.reported()
        elif isinstance(event, QMouseEvent) and event.type() is QEvent.Type.MouseMove:
            self._point(grip, event.globalPosition())
        elif event.type() in _STIRS:
            grip.changed()
        return False

    def _point(self, grip: Grip, place: QPointF) -> None:
        """A pointer is told about also where it has not moved, as when something comes up below it."""
        if self._pointer is not None and place != self._pointer:
            grip.changed()
        self._pointer = place
