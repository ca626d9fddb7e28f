"""Numbers of all axes at one moment: newest, or under the cursor."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.arm import ShownArm
from hil.dashboard.session import QUANTITIES
from hil.dashboard.texts import tr

Singles = npt.NDArray[np.float32]
UNKNOWN = "-"


class Readout(QWidget):
    """A row for every axis, a column for every quantity."""

    def __init__(self) -> None:
        super().__init__()
        self._when = QLabel(" ")
        self._table = QTableWidget(0, len(QUANTITIES) + 1)
        self._table.verticalHeader().hide()
        self._table.setHorizontalHeaderLabels([tr("axis"), *(tr(quantity) for quantity in QUANTITIES)])
        self._table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self._table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._table.setAccessibleName(tr("Numbers of all axes"))
        self._table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self._table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        self._table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self._table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._when)
        layout.addWidget(self._table)

    def show_arm(self, arm: ShownArm) -> None:
        """Rows for its axes."""
        table = self._table
        table.setRowCount(len(arm.axes))
        height = table.fontMetrics().height() + 4
        for row, axis in enumerate(arm.axes):
            table.setRowHeight(row, height)
            for column in range(len(QUANTITIES) + 1):
                item = QTableWidgetItem(UNKNOWN if column else f"{axis.name} [{axis.unit_name}]")
                side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
                item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
                table.setItem(row, column, item)
        table.setFixedHeight(height * len(arm.axes) + table.horizontalHeader().sizeHint().height() + 2)

    def set_colours(self, colours: list[str]) -> None:
        """The axes' names in the colours of their curves."""
        for row, colour in enumerate(colours):
            name = self._table.item(row, 0)
            if name is not None:
                name.setForeground(QColor(colour))

    def show_values(self, when: str, low: Singles, high: Singles) -> None:
        """Numbers of one moment; where only a range is known, the range."""
        self._when.setText(when)
        rows = self._table.rowCount()
        for index, (lowest, highest) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            column, row = divmod(index, rows) if rows else (0, 0)
            item = self._table.item(row, column + 1)
            text = value_text(lowest, highest)
            if item is not None and item.text() != text:
                item.setText(text)


def value_text(low: float, high: float) -> str:
    """A number, or the range in which it was."""
    if math.isnan(low) or math.isnan(high):
        return UNKNOWN
    if high - low < 0.005:
        return f"{0.5 * (low + high):z.2f}"
    return f"{low:.1f} … {high:.1f}"
