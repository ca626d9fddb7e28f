"""Begin and stop something long, and see how far it is."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QWidget

from hil.dashboard.learn.work import Work
from hil.dashboard.texts import tr
from hil.dashboard.widgets import push

STEPS = 1000


class WorkBar(QWidget):
    """A button that begins, one that stops, a bar between; the work is in a process of its own.

    Args:
        words: on the button that begins.
        begin: starts `work`.
        owner: of the work.
    """

    def __init__(self, words: str, begin: Callable[[], None], owner: QObject) -> None:
        super().__init__()
        self.work = Work(owner)
        self.begin = push(words, begin)
        self.stop = push(tr("Stop"), self.end)
        self.bar = QProgressBar()
        self.bar.setRange(0, STEPS)
        self.bar.setAccessibleName(tr("How far it is"))
        self.bar.setMinimumWidth(60)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.begin)
        row.addWidget(self.bar, 1)
        row.addWidget(self.stop)
        self.work.done.connect(lambda _: self._show(STEPS))
        self.work.failed.connect(lambda _: self._show(0))
        self._show(0)

    def told(self, done: int, total: int) -> None:
        """So much of so much."""
        self._show(STEPS * done // max(total, 1))

    def started(self) -> None:
        """It has begun."""
        self._show(0)

    def end(self) -> None:
        """Stop what runs."""
        self.work.stop()
        self._show(0)

    def _show(self, steps: int) -> None:
        self.bar.setValue(steps)
        self.begin.setEnabled(not self.work.busy)
        self.stop.setEnabled(self.work.busy)
