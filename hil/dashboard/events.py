"""What has happened, as lines: changes of mode, refusals, notices; those of one kind are one line, with their count."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QPlainTextEdit

from hil.dashboard.session import MOST_LINES, Session
from hil.dashboard.texts import tr

WRITE_AFTER_MS = 100
"""Events come several at a time; they are written together."""


class EventsView(QPlainTextEdit):
    """The newest lines of the session."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.setReadOnly(True)
        self.setMaximumBlockCount(MOST_LINES)
        self.setAccessibleName(tr("What happened"))
        self.setMinimumHeight(40)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.refresh)
        session.noted.connect(lambda: self._timer.isActive() or self._timer.start(WRITE_AFTER_MS))
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Seen again."""
        super().showEvent(event)
        self.refresh()

    def refresh(self) -> None:
        """Write what is new, for somebody who sees it."""
        text = "\n".join(self._session.lines)
        if text == self.toPlainText():
            return
        bar = self.verticalScrollBar()
        at_end, place = bar.value() >= bar.maximum(), bar.value()
        self.setPlainText(text)
        bar.setValue(bar.maximum() if at_end else place)
