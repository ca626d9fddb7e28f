"""A press counts only where it was aimed: right after the buttons have moved, the pointer may be over another one."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QChildEvent, QEvent, QObject
from PySide6.QtWidgets import QAbstractButton, QWidget

SETTLED_S = 0.3
"""So long after a button has moved, has come or has gone, presses by the pointer are left out."""

_MOVES = frozenset({QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show})
_PRESSES = frozenset({QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick, QEvent.Type.TouchBegin})


class Steady(QObject):
    """Watches all that can be pressed in a panel; keys, which have no place, always count.

    Args:
        panel: whose presses are meant.
        clock: monotonic.
        left_out: told of each press that did not count.
        others: kinds of widgets besides buttons that are pressed.
    """

    def __init__(
        self, panel: QWidget, clock: Callable[[], float], left_out: Callable[[], None], others: tuple[type, ...] = ()
    ) -> None:
        super().__init__(panel)
        self._clock, self._left_out, self._kinds = clock, left_out, (QAbstractButton, *others)
        self._moved_s = -math.inf
        self._watch(panel)

    def _watch(self, widget: QObject) -> None:
        widget.installEventFilter(self)
        for child in widget.findChildren(QWidget):
            child.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Note what moves; keep a press that comes too soon after it."""
        kind = event.type()
        if isinstance(event, QChildEvent) and event.added() and event.child().isWidgetType():
            self._watch(event.child())
        elif kind in _MOVES and isinstance(watched, self._kinds):
            self._moved_s = self._clock()
        elif kind in _PRESSES and isinstance(watched, self._kinds) and self._clock() - self._moved_s < SETTLED_S:
            self._left_out()
            return True
        return False
