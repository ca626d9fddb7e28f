"""What is known of a robot: every number with its source, and up to three robots in one table."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
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

from hil.dashboard.learn.fields import quietly
from hil.dashboard.learn.view import LessonView
from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, Theme
from hil.errors import HilError
from hil.lessons.history import History
from hil.lessons.picture import Arm, Picture
from hil.lessons.sheet import Sheet
from hil.lessons.specification import MOST, Comparison, compared, side_by_side
from hil.model.files import list_names
from hil.model.reader import load_robot
from hil.model.robot import RobotModel
from hil.model.specification import NOT_GIVEN

HIGH = 520
"""Least height of the table: it has a row for each number."""


class SpecificationLesson(LessonView):
    """The table, the arms side by side, and the source of the number that is pointed at."""

    def __init__(self) -> None:
        super().__init__()
        self._theme = DARK
        self.worksheet = QWidget()
        self.others = [QComboBox() for _ in range(MOST - 1)]
        names = [tr("no other"), *list_names("robots")]
        row = QHBoxLayout()
        row.addWidget(QLabel(tr("beside it")))
        for number, box in enumerate(self.others, start=2):
            box.setAccessibleName(tr("Robot {number} of the table", number=number))
            box.addItems(names)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(10)
            box.currentIndexChanged.connect(self._chosen)
            row.addWidget(box, 1)
        self.table = QTableWidget()
        self.table.setAccessibleName(tr("What is known"))
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setTabKeyNavigation(False)
        self.table.setMinimumHeight(HIGH)
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(20)
        self.table.currentCellChanged.connect(lambda row, column, *_: self._tell(row, column))
        self.source = QLabel(tr("Point at a number to read where it comes from."))
        self.source.setWordWrap(True)
        self.source.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column = QVBoxLayout(self.worksheet)
        column.setContentsMargins(6, 4, 6, 4)
        column.addLayout(row)
        column.addWidget(self.table, 1)
        column.addWidget(self.source)
        self.history: History[tuple[str, ...]] = History(("",) * (MOST - 1))

    def set_robot(self, model: RobotModel) -> None:
        """This arm in the first column."""
        self._model = model
        self._compare()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        if hasattr(self, "comparison"):
            self._fill()

    def _chosen(self) -> None:
        """Another robot in another column."""
        self.history.add(tuple(box.currentText() if box.currentIndex() else "" for box in self.others))
        self._compare()

    def retake(self) -> None:
        """What was typed, as it is after a step back or on."""
        self._compare()

    def _compare(self) -> None:
        for box, name in zip(self.others, self.history.now, strict=True):
            quietly(box, lambda box=box, name=name: box.setCurrentIndex(max(box.findText(name), 0)))  # type: ignore[misc]
        self.models = [self._model]
        for name in self.history.now:
            if name:
                try:
                    self.models.append(load_robot(name))
                except HilError as error:
                    self.said.emit(str(error))
        self.comparison: Comparison = compared(self.models)
        self._frames, self._size_m = side_by_side(self.models)
        self._fill()
        self.changed.emit()

    def _fill(self) -> None:
        told, table = self.comparison, self.table
        table.blockSignals(True)
        table.setColumnCount(1 + len(told.names))
        table.setHorizontalHeaderLabels(["", *told.names])
        table.setRowCount(len(told.rows))
        for number, row in enumerate(told.rows):
            table.setItem(number, 0, QTableWidgetItem(tr(row.key)))
            for column, (value, source) in enumerate(zip(row.values, row.sources, strict=True), start=1):
                item = QTableWidgetItem(f"{value} [{source}]" if source else value)
                item.setToolTip(told.sources[source - 1] if source else "")
                if value == NOT_GIVEN:
                    item.setForeground(QColor(self._theme.faint))
                table.setItem(number, column, item)
        header = table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        for column in range(1, table.columnCount()):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        table.blockSignals(False)

    def _tell(self, row: int, column: int) -> None:
        """Where the number that is pointed at comes from."""
        told = self.comparison
        if not (0 <= row < len(told.rows) and 0 < column <= len(told.names)):
            return
        number = told.rows[row].sources[column - 1]
        what = f"{told.names[column - 1]}, {tr(told.rows[row].key)}: {told.rows[row].values[column - 1]}"
        where = f"[{number}] {told.sources[number - 1]}" if number else tr("no source gives it")
        self.source.setText(f"{what}\n{where}")

    def picture(self, time_s: float) -> Picture:
        """The robots at home, side by side."""
        colours = ("simulated", "curve 0", "curve 1")
        arms = zip(self.models, self._frames, colours, strict=False)
        return Picture(tuple(Arm(model, frames, colour) for model, frames, colour in arms), size_m=self._size_m)

    def command_text(self) -> str:
        """`hil robots` for each, a line for a robot."""
        names = list_names("robots")
        return "\n".join(f"hil robots {each.id if each.id in names else each.file or each.id}" for each in self.models)

    def data(self) -> Sheet:
        """The table with all sources in full."""
        return self.comparison.sheet()

    def entries(self) -> tuple[tuple[str, Callable[[], str]], ...]:
        """The sources, numbered as in the table."""

        def sources() -> str:
            return "".join(f"[{number}] {text}\n" for number, text in enumerate(self.comparison.sources, start=1))

        return ((tr("Sources"), sources),)
