"""The worksheet of the DH table: its cells, what is played, matrices, and the robot's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QHeaderView,
    QLabel,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.learn.dh_bodies import BodySheet
from hil.dashboard.learn.fields import Field, Text, heading, quietly, row_layout
from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, Theme, ink_on
from hil.dashboard.widgets import dress, push
from hil.lessons.dh_table import COLUMNS, Fault, Row

HEADS = ("joint", "type", "theta\ndeg", "d\nmm", "a\nmm", "alpha\ndeg", "from", "to")
"""Units on a line of their own: so the table of six joints is seen whole in a small window."""

PLAYS = ("base to tool", "one row", "joint motion", "frame to frame")

PROFILES = ("quintic", "cubic", "trapezoid", "blended")


class _Cell(QStyledItemDelegate):
    """A chosen cell keeps its own ground, which says what is wrong or what moves, and has a frame."""

    theme = DARK

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """The cell, and the frame."""
        plain = QStyleOptionViewItem(option)
        state = option.state
        plain.state = state & ~QStyle.StateFlag.State_Selected
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        if chosen:  # the table has painted the ground of what is chosen already
            painter.fillRect(option.rect, QColor(self.theme.panel))
        super().paint(painter, plain, index)
        if chosen:
            painter.save()
            painter.setPen(QPen(QColor(self.theme.text), 2))
            painter.drawRect(option.rect.adjusted(1, 1, -1, -1))
            painter.restore()


class DhTable(QTableWidget):
    """The cells, as texts.

    Signals:
        typed: row, column and the text that is there now.
    """

    typed = Signal(int, int, str)

    def __init__(self) -> None:
        super().__init__(0, len(HEADS))
        self.setHorizontalHeaderLabels([tr(head) for head in HEADS])
        self.setAccessibleName(tr("DH table"))
        self.verticalHeader().setDefaultSectionSize(24)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setStretchLastSection(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)
        self._theme = DARK
        self._cell = _Cell(self)
        self.setItemDelegate(self._cell)
        self._faults: dict[tuple[int, int], str] = {}
        self._lit: tuple[int, int] | None = None
        self.cellChanged.connect(lambda row, column: self.typed.emit(row, column, self._text(row, column)))

    def _text(self, row: int, column: int) -> str:
        item = self.item(row, column)
        return "" if item is None else item.text()

    def show_rows(self, rows: Sequence[Row], faults: Sequence[Fault]) -> None:
        """These texts, and what is wrong with some of them."""
        self._faults = {(fault.row, fault.column): fault.sentence for fault in faults}
        quietly(self, lambda: self._fill(rows))
        self._colour()
        header = self.horizontalHeader().sizeHint().height()
        self.setFixedHeight(header + 24 * max(len(rows), 2) + 2 * self.frameWidth() + 18)

    def _fill(self, rows: Sequence[Row]) -> None:
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for column, name in enumerate(COLUMNS):
                item = self.item(number, column)
                if item is None:
                    item = QTableWidgetItem()
                    self.setItem(number, column, item)
                if item.text() != getattr(row, name):
                    item.setText(getattr(row, name))
                item.setToolTip(self._faults.get((number, column), ""))

    def light(self, cell: tuple[int, int] | None) -> None:
        """The cell whose motion is on."""
        if cell != self._lit:
            self._lit = cell
            quietly(self, self._colour)

    @property
    def lit(self) -> tuple[int, int] | None:
        """The cell whose motion is on."""
        return self._lit

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = self._cell.theme = theme
        quietly(self, self._colour)

    def _colour(self) -> None:
        before = self.blockSignals(True)
        for number in range(self.rowCount()):
            for column in range(self.columnCount()):
                item = self.item(number, column)
                if item is None:
                    continue
                ground = self._theme.accent if (number, column) == self._lit else ""
                ground = self._theme.bad if (number, column) in self._faults else ground
                item.setBackground(QBrush(QColor(ground)) if ground else QBrush())
                item.setForeground(QBrush(QColor(ink_on(ground) if ground else self._theme.text)))
        self.blockSignals(before)


class DhSheet(QWidget):
    """All of it; `hil.dashboard.learn.dh` says what the buttons do."""

    def __init__(self) -> None:
        super().__init__()
        self.table = DhTable()
        self.add, self.away = push(tr("Add a row")), push(tr("Take the row away"))
        self.back, self.forth = push(tr("Undo"), tip=tr("Ctrl+Z")), push(tr("Redo"), tip=tr("Ctrl+Y"))
        self.trouble = QLabel()
        self.trouble.setWordWrap(True)
        self.trouble.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.play = _choice(tr("What is played"), [tr(each) for each in PLAYS])
        self.row = _choice(tr("Row"), [])
        self.first, self.last = _choice(tr("From frame"), []), _choice(tr("To frame"), [])
        self.profile = _choice(tr("Profile of the motion"), [tr(each) for each in PROFILES])
        self.seconds = Field(tr("seconds"), "3")
        self.matrix = Text(tr("Matrix"), 5)
        self.symbols = Text(tr("Matrix in symbols"), 6)
        self.symbols.hide()
        self.lengths = QCheckBox(tr("lengths as a2, d4"))
        self.as_symbols = push(tr("As symbols"), tip=tr("The same matrix, for any joint values"))
        self.save_name = Field(tr("save as robot"), "", tr("Then every command knows it by this name"))
        self.save = push(tr("Save"))
        self.unsave = push(tr("Take the file back"), tip=tr("No command knows the robot any more; the table stays"))
        self.unsave.hide()
        self.saved = QLabel()
        self.saved.setWordWrap(True)
        self.bodies = BodySheet()
        self._lay_out()

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 4, 6, 4)
        column.setSpacing(5)
        # Above the table: there they stay where they are while it becomes longer.
        column.addLayout(row_layout(self.add, self.away, self.back, self.forth))
        column.addWidget(self.table)
        column.addWidget(self.trouble)
        column.addLayout(row_layout(QLabel(tr("play")), self.play))
        self.only: Mapping[str, QWidget] = {
            "one row": _held(QLabel(tr("row")), self.row),
            "joint motion": _held(self.profile, self.seconds),
            "frame to frame": _held(QLabel(tr("from")), self.first, QLabel(tr("to")), self.last),
        }
        for part in self.only.values():
            column.addWidget(part)
        column.addWidget(heading(tr("Matrix, in metres")))
        column.addWidget(self.matrix)
        column.addLayout(row_layout(self.as_symbols, self.lengths))
        column.addWidget(self.symbols)
        column.addLayout(row_layout(self.save_name, self.save, self.unsave))
        column.addWidget(self.saved)
        column.addWidget(self.bodies)
        column.addStretch(1)

    @property
    def played(self) -> str:
        """One of `PLAYS`."""
        return PLAYS[self.play.currentIndex()]

    def show_choices(self) -> None:
        """Only what the chosen play needs."""
        for name, part in self.only.items():
            part.setVisible(name == self.played)

    def set_frames(self, dof: int) -> None:
        """Rows, frames and links of an arm of so many joints; choices stay as far as there are such."""
        frames = [str(number) for number in range(dof + 1)] + [tr("tool")]
        links = [tr("base"), *(tr("link {number}", number=number) for number in range(1, dof + 1))]
        lists = ((self.row, frames[1:-1]), (self.first, frames), (self.last, frames), (self.bodies.link, links))
        for box, texts in lists:
            if [box.itemText(k) for k in range(box.count())] != texts:
                quietly(box, lambda box=box, texts=texts: _refill(box, texts, last=box is self.last))  # type: ignore[misc]

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self.table.set_theme(theme)
        for field in (self.seconds, self.save_name):
            field.set_theme(theme)
        self.bodies.set_theme(theme)
        dress(self.trouble, f"color: {theme.bad};")


def _refill(box: QComboBox, texts: Sequence[str], *, last: bool) -> None:
    before = box.currentIndex() if box.count() else (len(texts) - 1 if last else 0)
    box.clear()
    box.addItems(list(texts))
    box.setCurrentIndex(min(before, len(texts) - 1))


def _choice(name: str, texts: Sequence[str]) -> QComboBox:
    box = QComboBox()
    box.setAccessibleName(name)
    box.addItems(list(texts))
    return box


def _held(*widgets: QWidget) -> QWidget:
    whole = QWidget()
    whole.setLayout(row_layout(*widgets))
    return whole
