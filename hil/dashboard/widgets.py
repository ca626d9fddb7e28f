"""Small pieces that several views use."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

LEAST_WIDTH = 30


def push(text: str, act: Callable[[], object] | None = None, tip: str = "") -> QToolButton:
    """A button that does something."""
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip)
    if act is not None:
        button.clicked.connect(lambda: act())
    return button


def toggle(text: str, on: bool, act: Callable[[], object], tip: str = "") -> QToolButton:
    """A button that stays down; it can be squeezed, so that a robot of many joints does not widen the window."""
    button = push(text, tip=tip)
    button.setCheckable(True)
    button.setChecked(on)
    button.setMinimumWidth(LEAST_WIDTH)
    button.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
    button.toggled.connect(lambda: act())
    return button


def dress(widget: QWidget, style: str) -> None:
    """Set a style sheet if it is another one: the same one again costs a new layout as well."""
    if widget.styleSheet() != style:
        widget.setStyleSheet(style)
