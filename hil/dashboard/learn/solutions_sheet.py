"""The worksheet of the inverse solutions: the target, every solution with its limits, and the iterations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.learn.fields import Field, heading, quietly, row_layout
from hil.dashboard.learn.plot import KeyedPlot
from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, Theme, ink_on
from hil.dashboard.widgets import dress, push
from hil.kernels.scalar import FloatArray
from hil.lessons.targets import FIELDS, KINDS

SHOWN = ("all solutions", "between two", "damped least squares", "Jacobian transpose")
UNITS = {"X": "mm", "Y": "mm", "Z": "mm", "pitch": "deg", "roll": "deg", "A": "deg", "B": "deg", "C": "deg"}
PATCH = 10
"""Pixels of the patch in an arm's colour beside its row."""
LEAST_ERROR = 1e-9
"""Below this an error is drawn as this: a logarithm has no zero."""


class SolutionTable(QTableWidget):
    """A row for each solution, in the colour of its arm.

    Signals:
        picked: numbers of the rows that are chosen, at most two, in the order in which they were.
    """

    picked = Signal(list)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Solutions"))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setTabKeyNavigation(False)
        self.verticalHeader().setDefaultSectionSize(22)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.chosen: list[int] = []
        self._theme = DARK
        self.cellClicked.connect(lambda row, _: self.choose(row))
        self.itemActivated.connect(lambda item: self.choose(item.row()))
        self.verticalHeader().sectionClicked.connect(self.choose)

    def show_solutions(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """These, none chosen."""
        self.chosen = []
        self.setColumnCount(len(heads))
        self.setHorizontalHeaderLabels(list(heads))
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                self.setItem(number, column, QTableWidgetItem(text))
        header = self.horizontalHeader().sizeHint().height()
        self.setFixedHeight(header + 22 * max(len(rows), 1) + 2 * self.frameWidth() + 20)
        self._colour()

    def choose(self, row: int) -> None:
        """One more row, or one less; of three the first is left."""
        if row in self.chosen:
            self.chosen.remove(row)
        else:
            self.chosen = [*self.chosen, row][-2:]
        self._colour()
        self.picked.emit(self.chosen)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self._colour()

    def _colour(self) -> None:
        theme = self._theme
        for number in range(self.rowCount()):
            colour = theme.curves[number % len(theme.curves)]
            ground = colour if number in self.chosen else theme.panel
            for column in range(self.columnCount()):
                item = self.item(number, column)
                if item is not None:
                    item.setBackground(QColor(ground))
                    item.setForeground(QColor(ink_on(ground) if number in self.chosen else theme.text))
            header = QTableWidgetItem(str(number + 1))
            # The style sheet decides on the colour of a header's words.
            patch = QPixmap(PATCH, PATCH)
            patch.fill(QColor(colour))
            header.setIcon(QIcon(patch))
            self.setVerticalHeaderItem(number, header)


class ErrorCurve(KeyedPlot):
    """What an iteration lacks after each step, on a logarithmic scale."""

    def __init__(self) -> None:
        super().__init__(tr("Left after each step"))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMouseEnabled(x=False, y=False)
        self.hideButtons()
        self.getPlotItem().setLogMode(x=False, y=True)
        self.getAxis("bottom").setLabel(tr("step"))
        self._mm = self.plot([], [])
        self._deg = self.plot([], [])
        self._at = pg.InfiniteLine(pos=0.0, angle=90)
        self.addItem(self._at)
        self.show_key([("mm", "curve 0", 0), ("deg", "curve 1", 1)])

    def show_errors(self, error_mm: FloatArray, error_deg: FloatArray) -> None:
        """These, one a step."""
        steps = np.arange(len(error_mm))
        self._mm.setData(steps, np.maximum(error_mm, LEAST_ERROR))
        self._deg.setData(steps, np.maximum(error_deg, LEAST_ERROR))

    def errors(self) -> tuple[FloatArray, FloatArray]:
        """What is drawn: millimetres and degrees."""
        return self._mm.getOriginalDataset()[1], self._deg.getOriginalDataset()[1]

    def point_at(self, step: int) -> None:
        """The step that is looked at."""
        self._at.setValue(float(step))

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        super().set_theme(theme)
        self._mm.setPen(pg.mkPen(theme.curves[0], width=2))
        self._deg.setPen(pg.mkPen(theme.curves[1], width=2, style=Qt.PenStyle.DashLine))
        self._at.setPen(pg.mkPen(theme.text))


class SolutionsSheet(QWidget):
    """All of it; `hil.dashboard.learn.solutions` says what happens.

    Signals:
        typed: a field of the target is finished, its kind's own.
    """

    typed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.kind = QComboBox()
        self.kind.setAccessibleName(tr("What is asked for"))
        self.kind.addItems([tr("a point, with pitch and roll"), tr("a full pose"), tr("a matrix, metres")])
        self.fields: dict[str, tuple[Field, ...]] = {
            kind: tuple(Field(_titled(name), "") for name in FIELDS[kind]) for kind in KINDS
        }
        self.home, self.arm = push(tr("Home")), push(tr("From the arm"))
        self.home.setToolTip(tr("The target is where the tool is at home"))
        self.arm.setToolTip(tr("The target is where the tool is now"))
        self.back, self.forth = push(tr("Undo"), tip=tr("Ctrl+Z")), push(tr("Redo"), tip=tr("Ctrl+Y"))
        self.verdict = QLabel()
        self.verdict.setWordWrap(True)
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.table = SolutionTable()
        self.shown = QComboBox()
        self.shown.setAccessibleName(tr("What is shown"))
        self.shown.addItems([tr(each) for each in SHOWN])
        self.start = Field(tr("start"), "", tr("Joint values from which the iteration starts, blanks between"))
        self.gain = Field(tr("gain"), "0.5", tr("K of the transpose, for metres and radians alike"))
        self.curve = ErrorCurve()
        self.hint = QLabel(tr("Two rows that are clicked can be played one to the other."))
        self.hint.setWordWrap(True)
        self._lay_out()
        for fields in self.fields.values():
            for field in fields:
                field.typed.connect(self.typed)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 4, 6, 4)
        column.setSpacing(5)
        column.addLayout(row_layout(QLabel(tr("target")), self.kind, self.back, self.forth))
        for fields in self.fields.values():
            for place in range(0, len(fields), 3):
                row = QHBoxLayout()
                for field in fields[place : place + 3]:
                    row.addWidget(field, 1, Qt.AlignmentFlag.AlignTop)
                column.addLayout(row)
        column.addLayout(row_layout(self.home, self.arm))
        column.addWidget(self.verdict)
        column.addWidget(self.table)
        column.addWidget(self.hint)
        column.addWidget(heading(tr("Shown")))
        column.addWidget(self.shown)
        column.addWidget(self.start)
        column.addWidget(self.gain)
        column.addWidget(self.curve)
        column.addStretch(1)

    @property
    def shows(self) -> str:
        """One of `SHOWN`."""
        return SHOWN[self.shown.currentIndex()]

    def show_kind(self, kind: str) -> None:
        """The fields of this kind, and no others."""
        quietly(self.kind, lambda: self.kind.setCurrentIndex(KINDS.index(kind)))
        for name, fields in self.fields.items():
            for field in fields:
                field.setVisible(name == kind)

    def show_choices(self) -> None:
        """Only what is needed for what is shown."""
        iterates = self.shows in SHOWN[2:]
        self.start.setVisible(iterates)
        self.curve.setVisible(iterates)
        self.gain.setVisible(self.shows == "Jacobian transpose")

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self.table.set_theme(theme)
        self.curve.set_theme(theme)
        for field in (*(each for fields in self.fields.values() for each in fields), self.start, self.gain):
            field.set_theme(theme)

    def judge(self, text: str, colour: str) -> None:
        """What is said of the target."""
        self.verdict.setText(text)
        dress(self.verdict, f"color: {colour}; font-weight: 600;")


def _titled(name: str) -> str:
    return f"{tr(name)}, {UNITS[name]}" if name in UNITS else tr(name)
