"""What a person would notice of a window: words that do not fit, and where the Tab key goes."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtGui import QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QScrollArea, QWidget

MOST_TABS = 400
SLACK = 1.0
"""Points by which rounding may differ."""


def cut_off(window: QWidget) -> list[str]:
    """Words of labels and buttons that are seen, and for which there is too little room."""
    found = []
    for widget in window.findChildren(QWidget):
        if not isinstance(widget, QLabel | QAbstractButton) or widget.visibleRegion().isEmpty():
            continue
        text = widget.text().replace("&", "")
        if text and not _fits(widget, text):
            found.append(f"{type(widget).__name__} {text!r} in {widget.width()}x{widget.height()}")
    return found


def _fits(widget: Any, text: str) -> bool:
    width, height = _room(widget)
    document = QTextDocument()
    document.setDefaultFont(widget.font())
    document.setDocumentMargin(0)
    rich = isinstance(widget, QLabel) and GuiQt.mightBeRichText(widget.text())
    (document.setHtml if rich else document.setPlainText)(widget.text() if rich else text)
    if isinstance(widget, QLabel) and widget.wordWrap():
        document.setTextWidth(width)
    size = document.size()
    return size.width() <= width + SLACK and size.height() <= height + SLACK


def _room(widget: QWidget) -> tuple[float, float]:
    """What is seen of a widget's own room; whatever can be scrolled to counts as seen."""
    margins = widget.contentsMargins()
    width, height = widget.width(), widget.height()
    if not _scrolls(widget):
        seen = widget.visibleRegion().boundingRect()
        width, height = seen.width(), seen.height()
    return width - margins.left() - margins.right(), height - margins.top() - margins.bottom()


def _scrolls(widget: QWidget | None) -> bool:
    while widget is not None:
        if isinstance(widget, QScrollArea):
            return True
        widget = widget.parentWidget()
    return False


def focusable(window: QWidget) -> list[QWidget]:
    """All that is seen and takes the focus by Tab."""
    return [
        widget
        for widget in window.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.isEnabled()
        and widget.isVisible()
        and not widget.visibleRegion().isEmpty()
        and widget.focusProxy() is None
    ]


def focus_order(window: QWidget, qtbot: Any) -> list[QWidget]:
    """Where the Tab key goes, until it comes round."""
    with qtbot.waitActive(window, timeout=10_000):
        window.activateWindow()
    order: list[QWidget] = []
    for _ in range(MOST_TABS):
        QTest.keyClick(window.focusWidget() or window, Qt.Key.Key_Tab)
        QApplication.processEvents()
        at = window.focusWidget()
        if at is None or at in order:
            break
        order.append(at)
    return order
