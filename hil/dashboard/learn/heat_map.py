"""A heat map of a search: each cell a setting, unstable ones hatched, what was not run yet empty."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QHelpEvent,
    QKeyEvent,
    QLinearGradient,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolTip, QWidget

from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, DARK_INK, LIGHT_INK, Theme
from hil.kernels.scalar import FloatArray
from hil.lessons.tuning import HeatMap

RAMP = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")
"""Cividis: differs in brightness for everybody. The cheapest is the brightest."""

LEFT, TOP, BOTTOM, EDGE = 64, 24, 34, 6
SCALE = QRectF(LEFT, 5, 120, 12)
"""Of what a colour costs: the dearest at its left, the cheapest at its right."""
HEIGHT = 240
MOST_TICKS = 6
LEAST_COST = 1e-300
"""So that a cost of nothing has a logarithm."""


class HeatMapWidget(QWidget):
    """Draws a map; a click or Enter opens a cell's run.

    Signals:
        picked: number of the setting.
    """

    picked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(HEIGHT)
        self.setMinimumWidth(160)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Costs of the search; arrows choose a cell, Enter opens its run"))
        self.setMouseTracking(True)
        self.map: HeatMap | None = None
        self._range: tuple[float, float] | None = None
        """The cheapest and the dearest of the stable cells, if there are any."""

        self.chosen = (0, 0)
        self._theme = DARK

    def show_map(self, found: HeatMap | None) -> None:
        """This from now on."""
        self.map = found
        self._range = None if found is None else _range_of(found.cost)
        if found is not None:
            rows, columns = found.cost.shape
            self.chosen = min(self.chosen[0], rows - 1), min(self.chosen[1], columns - 1)
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.update()

    def words(self, row: int, column: int) -> str:
        """What a cell says."""
        assert self.map is not None
        across, up = self.map.across, self.map.up
        parts = [f"{across.title} = {across.values[column]:g}"]
        if up != across:
            parts.append(f"{up.title} = {up.values[row]:g}")
        cost = self.map.cost[row, column]
        told = tr("not run yet") if math.isnan(cost) else tr("unstable") if math.isinf(cost) else f"{cost:.6g}"
        return f"{', '.join(parts)}: {told}"

    def colour(self, cost: float) -> QColor:
        """Of a stable cell; costs are told apart by their ratios."""
        assert self._range is not None
        low, high = (math.log(each) for each in self._range)
        return _mixed(1.0 if high <= low else (high - math.log(max(cost, LEAST_COST))) / (high - low))

    def cell(self, row: int, column: int) -> QRectF:
        """Where it is drawn; the lowest value is at the bottom."""
        assert self.map is not None
        rows, columns = self.map.cost.shape
        wide, high = (self.width() - LEFT - EDGE) / columns, (self.height() - BOTTOM - TOP) / rows
        return QRectF(LEFT + column * wide, TOP + (rows - 1 - row) * high, wide, high)

    # -- Qt ----------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Cells, their values along both axes, the chosen one in a frame."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.panel))
        if self.map is None:
            painter.setPen(QColor(self._theme.faint))
            painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), tr("nothing was searched yet"))
            painter.end()
            return
        rows, columns = self.map.cost.shape
        for row in range(rows):
            for column in range(columns):
                self._paint_cell(painter, row, column)
        self._paint_axes(painter, rows, columns)
        if self._range is not None:
            self._paint_scale(painter, *self._range)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        # Two lines: one of them is seen on any cell.
        for colour, inwards in ((DARK_INK, 1.0), (LIGHT_INK, 3.0)):
            painter.setPen(QPen(QColor(colour), 2.0))
            painter.drawRect(self.cell(*self.chosen).adjusted(inwards, inwards, -inwards, -inwards))
        painter.end()

    def _paint_cell(self, painter: QPainter, row: int, column: int) -> None:
        assert self.map is not None
        cost, place = float(self.map.cost[row, column]), self.cell(row, column)
        if math.isnan(cost):
            return
        if math.isinf(cost):
            painter.fillRect(place, QBrush(QColor(self._theme.bad), Qt.BrushStyle.BDiagPattern))
        else:
            painter.fillRect(place, self.colour(cost))

    def _paint_scale(self, painter: QPainter, cheapest: float, dearest: float) -> None:
        ramp = QLinearGradient(SCALE.topLeft(), SCALE.topRight())
        for number, colour in enumerate(RAMP):
            ramp.setColorAt(number / (len(RAMP) - 1), QColor(colour))
        painter.fillRect(SCALE, ramp)
        painter.setPen(QColor(self._theme.text))
        words = tr("cost {dearest} to {cheapest}", dearest=f"{dearest:.3g}", cheapest=f"{cheapest:.3g}")
        place = QRectF(SCALE.right() + EDGE, 2, self.width() - SCALE.right() - EDGE, 18)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), words)

    def _paint_axes(self, painter: QPainter, rows: int, columns: int) -> None:
        assert self.map is not None
        across, up = self.map.across, self.map.up
        painter.setPen(QColor(self._theme.text))
        for column in _some(columns):
            place = self.cell(0, column)
            below = QRectF(place.center().x() - 40, place.bottom() + 1, 80, 15)
            painter.drawText(below, int(Qt.AlignmentFlag.AlignCenter), f"{across.values[column]:.4g}")
        name = QRectF(LEFT, self.height() - 17, self.width() - LEFT, 16)
        painter.drawText(name, int(Qt.AlignmentFlag.AlignCenter), across.title)
        if up == across:
            return
        for row in _some(rows):
            place = self.cell(row, 0)
            beside = QRectF(0, place.center().y() - 8, LEFT - 4, 16)
            painter.drawText(beside, int(Qt.AlignmentFlag.AlignRight), f"{up.values[row]:.4g}")
        painter.drawText(QRectF(2, self.height() - 17, LEFT, 16), int(Qt.AlignmentFlag.AlignLeft), up.title)

    def at(self, place: QPoint) -> tuple[int, int] | None:
        """The cell there."""
        if self.map is None:
            return None
        rows, columns = self.map.cost.shape
        for row in range(rows):
            for column in range(columns):
                if self.cell(row, column).contains(place.x(), place.y()):
                    return row, column
        return None

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Open the run of the cell."""
        found = self.at(event.position().toPoint())
        if found is not None:
            self.choose(*found)
            self.open()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Arrows choose, Enter opens."""
        keys = Qt.Key
        ways = {keys.Key_Left: (0, -1), keys.Key_Right: (0, 1), keys.Key_Up: (1, 0), keys.Key_Down: (-1, 0)}
        if event.key() in ways and self.map is not None:
            by = ways[keys(event.key())]
            self.choose(self.chosen[0] + by[0], self.chosen[1] + by[1])
        elif event.key() in (keys.Key_Return, keys.Key_Enter):
            self.open()
        else:
            event.ignore()

    def choose(self, row: int, column: int) -> None:
        """This cell, or the nearest there is."""
        if self.map is None:
            return
        rows, columns = self.map.cost.shape
        self.chosen = min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)
        self.setAccessibleDescription(self.words(*self.chosen))
        self.update()

    def open(self) -> None:
        """The run of the chosen cell, if one was made."""
        if self.map is not None and self.map.numbers[self.chosen] >= 0:
            self.picked.emit(int(self.map.numbers[self.chosen]))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Say what the cell is."""
        found = self.at(event.position().toPoint())
        if found is not None:
            QToolTip.showText(event.globalPosition().toPoint(), self.words(*found), self)

    def event(self, event) -> bool:  # type: ignore[no-untyped-def]
        """Tips are told by the cell."""
        if isinstance(event, QHelpEvent):
            return True
        return bool(super().event(event))


def _range_of(cost: FloatArray) -> tuple[float, float] | None:
    finite = cost[np.isfinite(cost)]
    return (max(float(finite.min()), LEAST_COST), max(float(finite.max()), LEAST_COST)) if len(finite) else None


def _mixed(share: float) -> QColor:
    """The colour so far along the ramp, 0 to 1."""
    place = share * (len(RAMP) - 1)
    at = min(int(place), len(RAMP) - 2)
    one, other, part = QColor(RAMP[at]), QColor(RAMP[at + 1]), place - at
    mixed = [round(a + part * (b - a)) for a, b in zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)]  # type: ignore[index]
    return QColor(*mixed)


def _some(count: int) -> list[int]:
    """Places of the values that are written."""
    step = max(1, -(-count // MOST_TICKS))
    return list(range(0, count, step))
