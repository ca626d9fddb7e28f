"""The hand on what is held down: it counts only while the window says anew, in time, that it is there.

The window says so every few hundredths of a second. Where it cannot, because it hangs or has lost its focus, the arm
stops by itself, and nothing begins anew without being let go of first.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from hil.dashboard.session import Session
from hil.service.client import HELD_S

TICK_MS = 40
LAPSE_S = 0.3
"""A window that was busy for longer may have missed that the key was let go."""


class Grip:
    """Whether a hand is on one thing, shared with the thread that talks; it lapses if nobody says so anew."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until_s = -math.inf
        self._gone = False

    def renew(self) -> None:
        """The hand is there now."""
        self._until_s = self._clock() + HELD_S

    def let_go(self) -> None:
        """The hand is gone, for good."""
        self._gone = True

    @property
    def held(self) -> bool:
        """Whether it counts as held."""
        return not self._gone and self._clock() < self._until_s


class DeadMan(QObject):
    """Keeps one grip alive. Ends with its parent, so that its timer ends in the window's thread.

    Signals:
        lapsed: the window was busy for too long; what is held counts as let go of.

    Attributes:
        grip: what the hand is on; None for nothing.
    """

    lapsed = Signal()

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self.grip: Grip | None = None
        self._session = session
        self._ticked_s = -math.inf
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)
        self._timer.start(TICK_MS)

    def take_hold(self) -> Grip:
        """A hand is on something new; the service hears first that nothing was held before."""
        self.let_go()
        self.grip = Grip(lambda: self._session.now_s)
        self.grip.renew()
        self._ticked_s = self._session.now_s
        return self.grip

    def let_go(self) -> None:
        """The hand is gone."""
        if self.grip is not None:
            self.grip.let_go()
            self.grip = None
        self._session.link.let_go()

    def tick(self) -> None:
        """Say anew that it is held; called by a timer of its own."""
        now_s = self._session.now_s
        late, self._ticked_s = now_s - self._ticked_s > LAPSE_S, now_s
        if self.grip is None:
            return
        if late:
            self.lapsed.emit()
            self.let_go()
            return
        self.grip.renew()
        self._session.link.hold()
