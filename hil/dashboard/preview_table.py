"""What is wrong with a motion, one line each; picking one looks at its worst sample."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.preview_motion import Row
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme

COLUMNS = ("Time", "Sample", "Joint or body", "Margin", "Limit", "Nearest allowed", "Check", "Where")
MARGIN = COLUMNS.index("Margin")
MOST_SEEN = 6
"""Lines that are seen without scrolling: the rest of the room is the timeline's."""


class FaultTable(QWidget):
    """The table, and what to change about the line that is picked.

    Signals:
        picked: the time of a line's worst sample, seconds.
    """

    picked = Signal(float)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: list[Row] = []
        self.table = QTableWidget(0, len(COLUMNS))
        self.table.setHorizontalHeaderLabels([tr(name) for name in COLUMNS])
        self.table.setAccessibleName(tr("What fails; picking a line shows it in the scene"))
        self.table.verticalHeader().hide()
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setTabKeyNavigation(False)
        self.table.setWordWrap(False)
        head = self.table.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        self.advice = QLabel()
        self.advice.setWordWrap(True)
        self.advice.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        column.addWidget(self.table)
        column.addWidget(self.advice)
        self.table.currentCellChanged.connect(self._pick)
        self.table.cellClicked.connect(lambda row, column: self._pick(row))

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        for row in range(self.table.rowCount()):
            self._colour(row)

    def show_rows(self, rows: list[Row], time_s: float) -> None:
        """These; the line of this moment is picked."""
        if rows == self._rows:
            return
        self._rows = rows
        self.table.blockSignals(True)
        self.table.setRowCount(len(rows))
        height = self.table.fontMetrics().height() + 6
        for number, row in enumerate(rows):
            self.table.setRowHeight(number, height)
            for column, text in enumerate(_cells(row)):
                item = QTableWidgetItem(text)
                item.setToolTip(text)
                self.table.setItem(number, column, item)
            self._colour(number)
        frame = self.table.horizontalHeader().sizeHint().height() + self.table.horizontalScrollBar().sizeHint().height()
        self.table.setFixedHeight(min(len(rows), MOST_SEEN) * height + frame + 4)
        current = next((number for number, row in enumerate(rows) if row.time_s == time_s), -1)
        self.table.setCurrentCell(current, 0)
        self.table.blockSignals(False)
        self.advice.setText(self._advice(current))

    def _colour(self, row: int) -> None:
        item = self.table.item(row, MARGIN)
        if item is not None:
            item.setForeground(QColor(self._theme.bad))

    def _advice(self, row: int) -> str:
        return self._rows[row].advice if 0 <= row < len(self._rows) else ""

    def _pick(self, row: int, *rest: int) -> None:
        self.advice.setText(self._advice(row))
        if 0 <= row < len(self._rows):
            time_s = self._rows[row].time_s
            if time_s is not None:
                self.picked.emit(time_s)


def _cells(row: Row) -> tuple[str, ...]:
    """In the order of `COLUMNS`."""
    time = "-" if row.time_s is None else f"{row.time_s:.2f} s"
    sample = "-" if row.sample is None else str(row.sample)
    return time, sample, row.subject, row.margin, row.limit, row.nearest, row.check, row.place
