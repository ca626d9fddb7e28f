"""Whether the person still looks: a window that loses its focus, goes out of sight or is blocked lets go of the arm."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QWidget

from hil.dashboard.texts import tr

GONE = {
    QEvent.Type.WindowDeactivate: "the window has lost the focus",
    QEvent.Type.WindowBlocked: "a dialog has opened",
    QEvent.Type.Hide: "the window is out of sight",
    QEvent.Type.Close: "the window is closed",
}


class Hand(Protocol):
    """What may hold something."""

    def drop(self, why: str) -> None:
        """Let go of it, for this reason."""


class Eyes(QObject):
    """Watches the window that a panel is in, and where the keys go."""

    def __init__(self, hand: Hand, panel: QWidget) -> None:
        super().__init__(panel)
        self._hand, self._panel = hand, panel
        self._window: QWidget | None = None
        self._dock: QDockWidget | None = None
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus)
        app.applicationStateChanged.connect(self._state)

    def watch(self) -> None:
        """The panel is seen, perhaps in another window than before: a dock can float."""
        self._watch_dock()
        window = self._panel.window()
        if window is self._window:
            return
        if self._window is not None:
            self._window.removeEventFilter(self)
        self._window = window
        window.installEventFilter(self)

    def _watch_dock(self) -> None:
        """Qt does not hide what lies behind another tab; only the dock tells."""
        above = self._panel.parentWidget()
        while above is not None and not isinstance(above, QDockWidget):
            above = above.parentWidget()
        if above is not None and above is not self._dock:
            self._dock = above
            above.visibilityChanged.connect(self._seen)

    def _seen(self, seen: bool) -> None:
        if not seen:
            self._hand.drop(tr("the panel is out of sight"))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Of the window; nothing is kept from it."""
        why = GONE.get(event.type())
        if why is not None and watched is self._window:
            self._hand.drop(tr(why))
        return False

    def _focus(self, before: QWidget | None, now: QWidget | None) -> None:
        if now is None or not (now is self._panel or self._panel.isAncestorOf(now)):
            self._hand.drop(tr("the keys go elsewhere now"))

    def _state(self, state: Qt.ApplicationState) -> None:
        if state != Qt.ApplicationState.ApplicationActive:
            self._hand.drop(tr("the window has lost the focus"))
