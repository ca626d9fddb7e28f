"""Where the Tab key goes: in the order in which things are laid out, and never to what is behind something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QLayout, QWidget


def in_order(root: QWidget) -> Iterator[QWidget]:
    """A widget and all within it that take the focus by Tab, as they are laid out."""
    if root.focusPolicy() & Qt.FocusPolicy.TabFocus:
        yield root
    layout = root.layout()
    placed = [] if layout is None else list(_placed(layout))
    direct = root.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    for child in (*placed, *(each for each in direct if each not in placed)):
        if not child.isWindow():
            yield from in_order(child)


def _placed(layout: QLayout) -> Iterator[QWidget]:
    for index in range(layout.count()):
        item = layout.itemAt(index)
        assert item is not None
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            yield widget
        elif inner is not None:
            yield from _placed(inner)


def put_in_order(roots: Sequence[QWidget]) -> None:
    """Let the Tab key go through these, one after the other."""
    for one, other in pairwise(widget for root in roots for widget in in_order(root)):
        QWidget.setTabOrder(one, other)


def is_behind(widget: QWidget | None) -> bool:
    """Whether it is in a dock behind another one, which Qt counts as visible."""
    while widget is not None and not isinstance(widget, QDockWidget):
        widget = widget.parentWidget()
    return widget is not None and widget.visibleRegion().isEmpty()
