"""Worksheet of the workspace: what is swept, what came of it, a plane, a place, a box."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.learn.fields import Text, heading
from hil.dashboard.learn.form import FieldKind, Form
from hil.dashboard.learn.stage import colour_of
from hil.dashboard.learn.work_bar import WorkBar
from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, Theme
from hil.kinematics.workspace.reach_volume import REACHED, VOID
from hil.kinematics.workspace.voxels import ByteArray
from hil.lessons.faults import FieldError, FieldErrors

SLICE_PX = 220
TICK_PX = 28
"""Of a tick before a name, which a column does not count by itself."""

SWEEP = (
    FieldKind("step_deg", "step, deg", "of every turning joint; empty for what is usual"),
    FieldKind("step_mm", "step, mm", "of every sliding joint; empty for what is usual"),
    FieldKind("joints", "joints", "names or numbers with commas; empty for all that move the tool point"),
    FieldKind("ranges", "ranges", "JOINT:LOW:HIGH instead of the limits, several with blanks between"),
    FieldKind("voxel_mm", "voxel, mm", "edge, for volume, holes and voids; empty for none"),
)
BOX = (
    FieldKind("corner", "corner, mm", "x, y, z"),
    FieldKind("opposite", "opposite, mm", "x, y, z of the corner farthest from it"),
    FieldKind("step", "distance, mm", "of the places; empty for a tenth of the longest edge"),
    FieldKind("pitch", "pitch, deg", "of the tool above the ground; empty where it is free"),
    FieldKind("roll", "roll, deg", "about the tool axis; empty where it is free"),
)
PLANE = (FieldKind("at", "at, mm", "where the plane cuts its axis"),)
PLACE = (FieldKind("place", "x, y, z, mm", "of a place; Ctrl and a click in the scene takes one"),)


class Table(QTableWidget):
    """A table to read."""

    def __init__(self, name: str, heads: Sequence[str]) -> None:
        super().__init__(0, len(heads))
        self.setHorizontalHeaderLabels(list(heads))
        self.setAccessibleName(name)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.hide()

    def show_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """These, as high as they are; heads over nothing are not shown."""
        self.setVisible(bool(rows))
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                item = QTableWidgetItem(text)
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEditable)
                self.setItem(number, column, item)
        high = self.horizontalHeader().sizeHint().height() + 6
        self.setFixedHeight(high + sum(self.rowHeight(k) for k in range(min(len(rows), 12))) + 14)

    def texts(self) -> list[list[str]]:
        """As they are shown."""
        found = []
        for row in range(self.rowCount()):
            items = [self.item(row, column) for column in range(self.columnCount())]
            found.append(["" if item is None else item.text() for item in items])
        return found


class WorkspaceSheet(QWidget):
    """All widgets of the view.

    Signals:
        shown: other segments are wanted.
    """

    shown = Signal()

    def __init__(
        self,
        owner: QObject,
        checks: Mapping[str, Callable[[Mapping[str, str]], object]],
        sweep: Callable[[], None],
        try_box: Callable[[], None],
    ) -> None:
        super().__init__()
        self._theme = DARK
        self.form = Form(SWEEP, {}, checks["sweep"])
        self.closed = QCheckBox(tr("with the upper ends of the ranges"))
        self.closed.setChecked(True)
        self.amount = QLabel()
        self.amount.setWordWrap(True)
        self.amount.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.bar = WorkBar(tr("Sweep"), sweep, owner)
        self.segments = Table(tr("Segments"), ("segment", "points, closed", "half open", "drawn", "seconds"))
        self.segments.itemChanged.connect(lambda _: self.shown.emit())
        self.figures = Text(tr("What is reached"), 8)
        self.axis = QComboBox()
        self.axis.addItems(["z", "x", "y"])
        self.axis.setAccessibleName(tr("Axis across which the plane is"))
        self.plane = Form(PLANE, {}, checks["plane"])
        self.area = QLabel()
        self.area.setWordWrap(True)
        self.slice = QLabel()
        self.slice.setAccessibleName(tr("The plane: within reach, and voids"))
        self.slice_key = QLabel()
        self.slice_key.setTextFormat(Qt.TextFormat.RichText)
        self.place = Form(PLACE, {}, checks["place"])
        self.ways = Text(tr("Ways to the place"), 6, sentences=True)
        self.box = Form(BOX, {}, checks["box"])
        self.box_bar = WorkBar(tr("Try the box"), try_box, owner)
        self.needs = Table(tr("What the box asks of the joints"), ("joint", "lamp", "limits", "needed"))
        self.box_words = QLabel()
        self.box_words.setWordWrap(True)
        self._lay_out()

    @property
    def forms(self) -> tuple[Form, ...]:
        """All of them."""
        return self.form, self.plane, self.place, self.box

    def _lay_out(self) -> None:
        cut = QWidget()
        row = QHBoxLayout(cut)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.axis)
        row.addWidget(self.plane, 1)
        self.section = QWidget()
        beside = QHBoxLayout(self.section)
        beside.setContentsMargins(0, 0, 0, 0)
        beside.addWidget(self.slice)
        beside.addWidget(self.slice_key)
        beside.addStretch(1)
        parts: list[QWidget] = [
            heading(tr("Where the tool gets to")), self.form, self.closed, self.amount, self.bar, self.segments,
            self.figures, heading(tr("A plane through it (with a voxel)")), cut, self.area, self.section,
            heading(tr("A place: every way to it, or why there is none")), self.place, self.ways,
            heading(tr("A box: what it asks of the joints")), self.box, self.box_bar, self.needs, self.box_words,
        ]  # fmt: skip
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 4, 6, 4)
        column.setSpacing(5)
        for part in parts:
            column.addWidget(part)
        column.addStretch(1)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        for form in self.forms:
            form.set_theme(theme)

    def show_segments(self, rows: Sequence[Sequence[str]], checked: Sequence[bool]) -> None:
        """A row for each segment, in its colour, with a tick for being drawn."""
        before = self.segments.blockSignals(True)
        self.segments.show_rows(rows)
        for number, on in enumerate(checked):
            item = self.segments.item(number, 0)
            if item is not None:
                item.setCheckState(Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
                item.setForeground(colour_of(f"curve {number}", self._theme))
        header = self.segments.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        wide = max(self.segments.sizeHintForColumn(0) + TICK_PX, header.sectionSizeHint(0))
        self.segments.setColumnWidth(0, wide)
        self.segments.blockSignals(before)

    def wanted(self) -> list[bool]:
        """Which segments are drawn."""
        items = [self.segments.item(row, 0) for row in range(self.segments.rowCount())]
        return [item is not None and item.checkState() == Qt.CheckState.Checked for item in items]

    def show_slice(self, cells: ByteArray | None) -> None:
        """A layer of cells as a picture; the first axis to the right, the second up."""
        self.section.setVisible(cells is not None)
        if cells is None:
            self.slice.clear()
            return
        right, up = [axis for axis in "xyz" if axis != self.axis.currentText()]
        colours = (colour_of("accent", self._theme).name(), colour_of("bad", self._theme).name())
        marks = [f"<span style='color:{colour}'>\u25a0</span>" for colour in colours]
        ways = tr("{right} to the right, {up} up", right=right, up=up)
        self.slice_key.setText(f"{marks[0]} {tr('within reach')}<br>{marks[1]} {tr('voids')}<br>{ways}")
        palette = {
            REACHED: colour_of("accent", self._theme).rgba(),
            VOID: colour_of("bad", self._theme).rgba(),
        }
        pixels = np.full(cells.shape, colour_of("panel", self._theme).rgba(), np.uint32)
        for kind, colour in palette.items():
            pixels[cells == kind] = colour
        upright = np.ascontiguousarray(pixels.T[::-1])
        high, wide = upright.shape
        image = QImage(upright.tobytes(), wide, high, 4 * wide, QImage.Format.Format_ARGB32)
        self.slice.setPixmap(QPixmap.fromImage(image).scaledToWidth(SLICE_PX))


def number_or_none(values: Mapping[str, Any], key: str) -> float | None:
    """The number of a field; None where it is empty.

    Raises:
        FieldErrors: it is none.
    """
    text = str(values.get(key, "")).strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise FieldErrors((FieldError(key, f"{text!r} given; allowed: a number, or nothing"),)) from None


def three_numbers(values: Mapping[str, Any], key: str) -> tuple[float, float, float]:
    """Three numbers with commas or blanks between.

    Raises:
        FieldErrors: they are none.
    """
    text = str(values.get(key, ""))
    try:
        x, y, z = (float(part) for part in text.replace(",", " ").split())
    except ValueError:
        raise FieldErrors((FieldError(key, f"{text!r} given; allowed: x, y, z in mm, three numbers"),)) from None
    if not np.isfinite([x, y, z]).all():
        raise FieldErrors((FieldError(key, f"{text!r} given; allowed: finite numbers"),))
    return x, y, z
