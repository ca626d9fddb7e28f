"""What is wrong with a motion, one line each; picking one looks at its worst sample."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent
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
NUMBERS = ("Time", "Sample", "Margin")
MOST_SEEN = 6
"""Lines that are seen without scrolling: the rest of the room is the timeline's."""


class Table(QTableWidget):
    """Letters are not for looking up lines: the view around it has keys of its own."""

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """As ever, but for letters."""
        if event.text().isalnum():
            event.ignore()
        else:
            super().keyPressEvent(event)


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
        self._sorted = 0, False
        self.table = Table(0, len(COLUMNS))
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
        head.sectionClicked.connect(self._sort)
        self.table.currentCellChanged.connect(self._pick)
        self.table.cellClicked.connect(lambda row, column: self._pick(row))

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        for row in range(self.table.rowCount()):
            self._colour(row)

    def show_rows(self, rows: list[Row], time_s: float) -> None:
        """These; the line of this moment is picked."""
        if set(rows) == set(self._rows):
            return
        self._sorted = 0, False
        self._fill(rows, next((row for row in rows if row.time_s == time_s), None))

    def _sort(self, column: int) -> None:
        """By this column; once more, the other way round."""
        before, backwards = self._sorted
        self._sorted = column, column == before and not backwards
        current = self.table.currentRow()
        picked = self._rows[current] if 0 <= current < len(self._rows) else None
        self._fill(sorted(self._rows, key=lambda row: _rank(row, column), reverse=self._sorted[1]), picked)

    def _fill(self, rows: list[Row], picked: Row | None) -> None:
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
        current = -1 if picked is None else rows.index(picked)
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


def _rank(row: Row, column: int) -> tuple[float, str]:
    """Numbers by their size, words by their letters."""
    text = _cells(row)[column]
    number = text.partition(" ")[0]
    try:
        return (float(number), "") if COLUMNS[column] in NUMBERS else (0.0, text)
    except ValueError:
        return -math.inf, text
