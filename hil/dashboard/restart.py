"""Where the service that a window has started for itself ends, the window offers to start it again.

Nothing moves by that: a new service begins with an arm of which nobody has said where it is.
"""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject, QTimer

from hil.dashboard.session import Session
from hil.dashboard.texts import tr
from hil.dashboard.window import Window
from hil.errors import HilError

LOOK_EVERY_MS = 250


class OwnService(Protocol):
    """The service that this window has started."""

    @property
    def ended(self) -> bool:
        """Whether it is there no more."""

    def begin(self) -> None:
        """Start it again."""

    def ready(self) -> bool:
        """Whether it can be reached; raises `HilError` if it did not start."""


class Restart(QObject):
    """Watches over one window's own service.

    Args:
        service: that one.
        session: of the window; says when the service is not reached.
        window: closes once a new service is there, for another one to be opened on it.

    Attributes:
        wanted: whether it was started again.
    """

    def __init__(self, service: OwnService, session: Session, window: Window) -> None:
        super().__init__(window)
        self._service, self._session, self._window = service, session, window
        self.wanted = False
        self._starting = False
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_EVERY_MS)
        self._timer.timeout.connect(self.look)
        session.linked.connect(self._linked)

    def look(self) -> None:
        """Offer it as soon as the service has ended; once it was started again, make room for another window."""
        if self._starting:
            self._await()
        elif self._service.ended:
            self._offer(tr("The service of this window has ended; nothing is known of the arm any more."))

    def _linked(self) -> None:
        if self._session.parted:
            self._timer.start()
        else:
            self._timer.stop()

    def _offer(self, why: str) -> None:
        self._timer.stop()
        self._window.banner.offer(why, tr("Start it again"), self._begin)

    def _begin(self) -> None:
        self._window.banner.say(tr("The service starts ..."))
        self._service.begin()
        self._starting = True
        self._timer.start()

    def _await(self) -> None:
        try:
            ready = self._service.ready()
        except HilError as error:
            self._starting = False
            self._offer(str(error))
            return
        if ready:
            self.wanted = True
            self._window.close()
