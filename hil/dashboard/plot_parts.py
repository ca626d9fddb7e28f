"""What a plot is made of: axes, lines, and the area that hears keys and mouse."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QTransform
from PySide6.QtWidgets import QWidget

THICK = 2.0
"""Of a line, in points of the screen."""


class Axis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """Painted at once: the recording that pyqtgraph keeps is played far slower, and is new in every frame anyway."""

    def paint(self, painter: QPainter, option: object, widget: QWidget | None) -> None:
        """Ticks, grid and numbers."""
        specs = self.generateDrawSpecs(painter)
        if specs is not None:
            self.drawPicture(painter, *specs)


class TimeAxis(Axis):
    """Hours, minutes and seconds of the session."""

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:  # noqa: N802 - pyqtgraph's name
        """As far as they are needed."""
        return [clock_text(value, 1 if spacing < 1.0 else 0) for value in values]


def clock_text(seconds: float, decimals: int = 0) -> str:
    """``1:02:03`` or ``2:03.4``."""
    sign, seconds = ("-" if seconds < 0.0 else ""), abs(round(seconds, decimals))
    minutes, rest = divmod(seconds, 60.0)
    hours, minutes = divmod(int(minutes), 60)
    width = 3 + decimals if decimals else 2
    small = f"{rest:0{width}.{decimals}f}"
    return f"{sign}{hours}:{minutes:02d}:{small}" if hours else f"{sign}{minutes}:{small}"


class Curve(pg.PlotCurveItem):  # type: ignore[misc]
    """A line two points thick, drawn as several thin ones: Qt needs far longer for one that is thick."""

    def paint(self, painter: QPainter, option: object, widget: QWidget | None) -> None:
        """Once, and again a point of the screen lower."""
        super().paint(painter, option, widget)
        ratio = painter.device().devicePixelRatio()
        for _ in range(1, round(THICK * ratio)):
            painter.setTransform(painter.transform() * QTransform.fromTranslate(0.0, 1.0 / ratio))
            super().paint(painter, option, widget)


class Area(pg.GraphicsLayoutWidget):  # type: ignore[misc]
    """Where the plots are; tells when the mouse has left, and which keys are pressed.

    Signals:
        left: the mouse has.
        stepped: so many steps to the right.
        ended: -1 for the left end, 1 for the right one.
        turned: so many pages to the right.
        zoomed: 1 for less time, -1 for more.
    """

    left = Signal()
    stepped = Signal(int)
    ended = Signal(int)
    turned = Signal(int)
    zoomed = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Arrows, ends, pages, plus and minus; anything else is somebody else's."""
        keys, key = Qt.Key, event.key()
        far = 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        if key in (keys.Key_Left, keys.Key_Right):
            self.stepped.emit(far if key == keys.Key_Right else -far)
        elif key in (keys.Key_Home, keys.Key_End):
            self.ended.emit(1 if key == keys.Key_End else -1)
        elif key in (keys.Key_PageUp, keys.Key_PageDown):
            self.turned.emit(1 if key == keys.Key_PageDown else -1)
        elif key in (keys.Key_Plus, keys.Key_Equal, keys.Key_Minus):
            self.zoomed.emit(-1 if key == keys.Key_Minus else 1)
        elif key == keys.Key_Backspace:
            self.left.emit()
        else:
            event.ignore()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """The mouse is elsewhere."""
        self.left.emit()
        super().leaveEvent(event)
