"""A button that does something while it is held down, by the mouse alone; keys go to the panel around it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QMouseEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

HEIGHT = 26


class HoldButton(QPushButton):
    """Counts as let go also when the pointer leaves it, and when it goes out of sight; it has to be pressed anew then.

    Signals:
        taken: it goes down.
        let_go: it comes up.
    """

    taken = Signal()
    let_go = Signal()

    def __init__(self, text: str, tip: str, panel: QWidget | None = None) -> None:
        super().__init__(text)
        self.setToolTip(tip)
        self.setAccessibleName(tip)
        self.setAutoDefault(False)
        self.setMinimumSize(30, HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        # The panel takes the keys, so that a button that was clicked last is no other place for them.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        if panel is not None:
            self.setFocusProxy(panel)
        self._held = False

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """The left button counts."""
        if event.button() is Qt.MouseButton.LeftButton and not self._held:
            self._held = True
            self.setDown(True)
            self.taken.emit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Off the button is off."""
        if not self.rect().contains(event.position().toPoint()):
            self._end()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Let go."""
        if event.button() is Qt.MouseButton.LeftButton:
            self._end()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """Out of sight."""
        self._end()
        super().hideEvent(event)

    def _end(self) -> None:
        if self._held:
            self._held = False
            self.setDown(False)
            self.let_go.emit()
