"""The wheel scrolls a worksheet, whatever is under the pointer: it chooses nothing and zooms no plot."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QWidget


class WheelScrolls(QObject):
    """Passes the wheel on to what is around lists, numbers and plots. With Ctrl held they have it themselves."""

    def watch(self, sheet: QWidget) -> None:
        """All of them that are in a worksheet."""
        parts: list[QWidget] = [*sheet.findChildren(QComboBox), *sheet.findChildren(QAbstractSpinBox)]
        parts += [plot.viewport() for plot in sheet.findChildren(pg.PlotWidget)]
        for part in parts:
            part.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Not theirs, and not done with."""
        if not isinstance(event, QWheelEvent) or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            return False
        event.ignore()
        return True
