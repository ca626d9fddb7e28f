"""Margins of all checks over time, one lane each with its zero line; what fails is filled, hatched, and on top."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QToolTip

from hil.dashboard.preview_motion import ShownLane, ShownMotion
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme

Floats = npt.NDArray[np.float64]

ZERO = 0.7
"""Height of the zero line in a lane, from its top."""

GAP = 8
HIGHEST = 2
"""Times as high as its writing needs it that a lane becomes where there is room."""

TENS = 10
ROUND_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Plan(NamedTuple):
    """Where things are in a picture of some size.

    Attributes:
        left, right: edges of the lanes.
        numbers: width of a column of numbers.
        lane: height of one.
        ruler: height of the times below.
    """

    width: int
    left: int
    right: int
    numbers: int
    lane: int
    ruler: int


class Lanes(QAbstractScrollArea):
    """The timeline; a click or a drag looks at a moment, arrows go from sample to sample.

    Signals:
        looked: at another moment, seconds.
        stepped: so many samples on.
    """

    looked = Signal(float)
    stepped = Signal(int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._motion: ShownMotion | None = None
        self._time_s = 0.0
        self._drawn: QPixmap | None = None
        self.setAccessibleName(tr("What is left of every limit over time; left and right go from sample to sample"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumHeight(90)
        self.verticalScrollBar().valueChanged.connect(self._draw_anew)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Some lanes."""
        return QSize(320, 220)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self._draw_anew()

    def show_motion(self, motion: ShownMotion | None) -> None:
        """Draw this one."""
        self._motion = motion
        self.verticalScrollBar().setValue(0)
        self._fit()
        self._draw_anew()

    def look(self, time_s: float) -> None:
        """At this moment."""
        if time_s != self._time_s:
            self._time_s = time_s
            self.viewport().update()

    @property
    def whole(self) -> QSize:
        """Size of a picture in which all lanes are seen."""
        plan = self._plan(self.viewport().width())
        count = 0 if self._motion is None else len(self._motion.lanes)
        return QSize(plan.width, count * plan.lane + plan.ruler)

    # -- events ------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Lanes as they were drawn before, and the cursor."""
        view = self.viewport()
        plan, top = self._plan(view.width()), self.verticalScrollBar().value()
        if self._drawn is None:
            ratio = view.devicePixelRatioF()
            self._drawn = QPixmap(math.ceil(view.width() * ratio), math.ceil(view.height() * ratio))
            self._drawn.setDevicePixelRatio(ratio)
            self._drawn.fill(QColor(self._theme.panel))
            lanes = QPainter(self._drawn)
            lanes.setFont(self.font())
            self._draw_lanes(lanes, plan, top, view.height())
            lanes.end()
        painter = QPainter(view)
        painter.drawPixmap(0, 0, self._drawn)
        self._draw_cursor(painter, plan, top, view.height())
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Another size."""
        self._fit()
        self._draw_anew()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Look there."""
        self._point(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Go on looking while the button is down."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._point(event.position().x())

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Left and right by a sample, with Shift by ten; Home and End."""
        keys = Qt.Key
        by = TENS if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        motion = self._motion
        if event.key() in (keys.Key_Left, keys.Key_Right):
            self.stepped.emit(by if event.key() == keys.Key_Right else -by)
        elif event.key() in (keys.Key_Home, keys.Key_End) and motion is not None:
            self.looked.emit(0.0 if event.key() == keys.Key_Home else motion.duration_s)
        else:
            super().keyPressEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802
        """A tip says which joint or body the margin under the mouse is of."""
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.words_at(event.pos()), self)
            return True
        return bool(super().viewportEvent(event))

    def words_at(self, where: QPoint) -> str:
        """What is left there, and of what; empty beside the lanes."""
        motion, plan = self._motion, self._plan(self.viewport().width())
        index = (where.y() + self.verticalScrollBar().value()) // plan.lane
        if motion is None or index >= len(motion.lanes) or where.y() > self.viewport().height() - plan.ruler:
            return ""
        lane, time_s = motion.lanes[index], self._time_at(where.x(), motion, plan)
        at = motion.nearest(time_s)
        left = margin_text(float(lane.margins[at]), lane.unit)
        return tr("{time:.2f} s, [{check}] {lane}: {left}, {subject}", time=time_s, check=lane.check, lane=lane.title,
                  left=left, subject=lane.subjects[lane.which[at]])  # fmt: skip

    def _time_at(self, x: float, motion: ShownMotion, plan: Plan) -> float:
        part = (x - plan.left) / max(plan.right - plan.left, 1)
        return min(max(part, 0.0), 1.0) * motion.duration_s

    def _point(self, x: float) -> None:
        if self._motion is not None:
            self.looked.emit(self._time_at(x, self._motion, self._plan(self.viewport().width())))

    def _fit(self) -> None:
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, self.whole.height() - self.viewport().height()))
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(self._plan(0).lane)

    def _draw_anew(self) -> None:
        self._drawn = None
        self.viewport().update()

    # -- drawing -----------------------------------------------------------------------------------------

    def _plan(self, width: int) -> Plan:
        metrics = self.fontMetrics()
        lanes = () if self._motion is None else self._motion.lanes
        least = metrics.height() + GAP
        left = max((metrics.horizontalAdvance(_title(lane)) for lane in lanes), default=0) + 2 * GAP
        told = [margin_text(value, lane.unit) for lane in lanes for value in (lane.least, lane.full)]
        numbers = max(map(metrics.horizontalAdvance, (*told, tr("there"), tr("least")))) + GAP
        return Plan(
            width=width,
            left=left,
            right=max(width - 2 * numbers - GAP, left + 1),
            numbers=numbers,
            lane=max(least, min((self.viewport().height() - least) // max(len(lanes), 1), HIGHEST * least)),
            ruler=least,
        )

    def _draw_lanes(self, painter: QPainter, plan: Plan, top: int, height: int) -> None:
        """Lanes from `top` on, and the times below them."""
        motion = self._motion
        if motion is None:
            return
        floor = min(height - plan.ruler, len(motion.lanes) * plan.lane - top)
        painter.save()
        painter.setClipRect(QRectF(0, 0, plan.width, floor))
        for index, lane in enumerate(motion.lanes):
            above = index * plan.lane - top
            if -plan.lane < above < floor:
                self._draw_lane(painter, plan, lane, motion.times_s, above)
        painter.restore()
        self._draw_ruler(painter, plan, motion, floor)

    def _draw_lane(self, painter: QPainter, plan: Plan, lane: ShownLane, times_s: Floats, above: int) -> None:
        theme = self._theme
        box = QRectF(plan.left, above + 1, plan.right - plan.left, plan.lane - 2)
        painter.fillRect(box, QColor(theme.window))
        zero = box.top() + ZERO * box.height()
        x, margins = _thinned(times_s, lane.margins, plan)
        for begin, end in _runs(~np.isnan(margins)):
            self._draw_run(painter, box, zero, lane, x[begin:end], margins[begin:end])
        painter.setPen(QPen(QColor(theme.faint), 1.0))
        painter.drawLine(QPointF(box.left(), zero), QPointF(box.right(), zero))
        ink = QColor(theme.bad if lane.fails else theme.text)
        painter.setPen(ink)
        flags = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(GAP, above, plan.left - GAP, plan.lane), flags, _title(lane))
        least = QRectF(plan.right + plan.numbers, above, plan.numbers, plan.lane)
        painter.drawText(least, flags | Qt.AlignmentFlag.AlignRight, margin_text(lane.least, lane.unit))

    def _draw_run(
        self, painter: QPainter, box: QRectF, zero: float, lane: ShownLane, x: Floats, margins: Floats
    ) -> None:
        theme = self._theme
        high = (zero - box.top()) * np.clip(margins / lane.full, 0.0, 1.0)
        low = (box.bottom() - zero) * np.clip(margins / min(lane.least, -1e-9), 0.0, 1.0) * (margins < 0.0)
        y = zero - high + low
        curve = [QPointF(*place) for place in np.stack([x, y], axis=1).tolist()]
        area = QColor(theme.accent)
        area.setAlpha(60)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(area)
        painter.drawPolygon(QPolygonF([QPointF(curve[0].x(), zero), *curve, QPointF(curve[-1].x(), zero)]))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.accent), 1.2))
        painter.drawPolyline(QPolygonF(curve))
        for begin, end in _runs(margins < 0.0):
            band = QRectF(x[begin] - 1.0, box.top(), max(x[end - 1] - x[begin], 0.0) + 2.0, box.height())
            soft = QColor(theme.bad)
            soft.setAlpha(90)
            painter.fillRect(band, soft)
            painter.fillRect(band, QBrush(QColor(theme.bad), Qt.BrushStyle.BDiagPattern))

    def _draw_ruler(self, painter: QPainter, plan: Plan, motion: ShownMotion, floor: float) -> None:
        """Times, and where the steps of the file begin."""
        theme, wide = self._theme, plan.right - plan.left
        duration_s = max(motion.duration_s, 1e-9)
        flags = Qt.AlignmentFlag.AlignVCenter
        painter.setPen(QPen(QColor(theme.line), 1.0))
        for stage in motion.stages:
            x = plan.left + wide * stage.first * motion.period_s / duration_s
            painter.drawLine(QPointF(x, 0.0), QPointF(x, floor))
        least_s = duration_s * self.fontMetrics().horizontalAdvance("00:00.0   ") / max(wide, 1)
        every_s = next((each for each in ROUND_S if each >= least_s), ROUND_S[-1])
        painter.setPen(QColor(theme.faint))
        for count in range(int(duration_s / every_s) + 1):
            x = plan.left + wide * count * every_s / duration_s
            painter.drawLine(QPointF(x, floor), QPointF(x, floor + 3))
            painter.drawText(QRectF(x + 2, floor, 80, plan.ruler), flags, f"{count * every_s:g} s")
        for column, text in ((0, tr("there")), (1, tr("least"))):
            place = QRectF(plan.right + column * plan.numbers, floor, plan.numbers, plan.ruler)
            painter.drawText(place, flags | Qt.AlignmentFlag.AlignRight, text)

    def _draw_cursor(self, painter: QPainter, plan: Plan, top: int, height: int) -> None:
        """The moment that is looked at, and what is left then."""
        motion, theme = self._motion, self._theme
        if motion is None:
            return
        floor = min(height - plan.ruler, len(motion.lanes) * plan.lane - top)
        x = plan.left + (plan.right - plan.left) * self._time_s / max(motion.duration_s, 1e-9)
        painter.setPen(QPen(QColor(theme.previewed), 2.0))
        painter.drawLine(QPointF(x, 0.0), QPointF(x, floor))
        at = motion.nearest(self._time_s)
        painter.setClipRect(QRectF(0, 0, plan.width, floor))
        for index, lane in enumerate(motion.lanes):
            above = index * plan.lane - top
            if -plan.lane < above < floor:
                value = float(lane.margins[at])
                painter.setPen(QColor(theme.bad if value < 0.0 else theme.text))
                place = QRectF(plan.right, above, plan.numbers, plan.lane)
                flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
                painter.drawText(place, flags, margin_text(value, lane.unit))


def _title(lane: ShownLane) -> str:
    return f"✕ {lane.title}" if lane.fails else lane.title


def margin_text(value: float, unit: str) -> str:
    """A margin as it is written, with as many digits as it needs."""
    if math.isnan(value):
        return "-"
    size = abs(value)
    digits = 0 if size >= 100.0 else 1 if size >= 10.0 else 2 if size >= 0.1 or size == 0.0 else 4
    return f"{value:z.{digits}f} {unit}"


def _thinned(times_s: Floats, margins: Floats, plan: Plan) -> tuple[Floats, Floats]:
    """One point for each point of the screen: the smallest margin there; NaN only where nothing was judged at all."""
    wide = max(plan.right - plan.left, 1)
    x = wide * times_s / max(float(times_s[-1]), 1e-9)
    column = np.minimum(x.astype(np.int64), wide)
    first = np.flatnonzero(np.diff(column, prepend=-1))
    known = np.where(np.isnan(margins), np.inf, margins)
    least = np.minimum.reduceat(known, first)
    return plan.left + x[first], np.where(np.isinf(least), np.nan, least)


def _runs(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Begin and end of every stretch of true ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]
