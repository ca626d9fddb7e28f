"""Esc and Space stop the arm, whatever has the focus; Return presses what has it, since Space no longer does."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtOpenGL import QOpenGLWindow
from PySide6.QtWidgets import QAbstractButton, QApplication, QDialog, QLineEdit, QPlainTextEdit, QTextEdit, QWidget

STOPPING_KEYS = (Qt.Key.Key_Escape, Qt.Key.Key_Space)
PRESSING_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_TOUCHES = frozenset({QEvent.Type.KeyPress, QEvent.Type.MouseButtonPress, QEvent.Type.Wheel, QEvent.Type.TouchBegin})


class StopKeys(QObject):
    """To be installed on the application, so that no dialog and no menu can swallow a stop.

    Signals:
        escaped: Esc was pressed; what it closes besides may go.
        touched: a hand is at the window.
    """

    escaped = Signal()
    touched = Signal()

    def __init__(self, stop: Callable[[], None]) -> None:
        super().__init__()
        self._stop = stop

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Look at every key before anybody else does."""
        kind = event.type()
        if kind in _TOUCHES:
            self.touched.emit()
        if kind is not QEvent.Type.KeyPress or not isinstance(watched, QWidget | QOpenGLWindow):
            return False
        assert isinstance(event, QKeyEvent)
        if event.key() in STOPPING_KEYS and not _is_writing(watched, event):
            if not event.isAutoRepeat():
                self._stop()
            if event.key() == Qt.Key.Key_Escape:
                _close_what_is_open()
                self.escaped.emit()
            return True
        if event.key() in PRESSING_KEYS and isinstance(watched, QAbstractButton) and not event.isAutoRepeat():
            watched.click()
            return True
        return False


def _close_what_is_open() -> None:
    """Esc still leaves menus and dialogs."""
    popup, modal = QApplication.activePopupWidget(), QApplication.activeModalWidget()
    if popup is not None:
        popup.close()
    elif isinstance(modal, QDialog):
        modal.reject()


def _is_writing(watched: QObject, event: QKeyEvent) -> bool:
    """Whether a space is wanted as a letter."""
    if event.key() != Qt.Key.Key_Space:
        return False
    if not isinstance(watched, QLineEdit | QTextEdit | QPlainTextEdit):
        return False
    return watched.isEnabled() and not watched.isReadOnly()
