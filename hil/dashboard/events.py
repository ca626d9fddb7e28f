"""What happened, line by line: changes of mode, refusals, notices, losses."""

from __future__ import annotations

from PySide6.QtWidgets import QPlainTextEdit

from hil.dashboard.session import MOST_LINES, Session
from hil.dashboard.texts import tr


class EventsView(QPlainTextEdit):
    """The newest lines of the session."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setMaximumBlockCount(MOST_LINES)
        self.setAccessibleName(tr("What happened"))
        self.setMinimumHeight(40)
        for line in session.lines:
            self.appendPlainText(line)
        session.noted.connect(self.appendPlainText)
