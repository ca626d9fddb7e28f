"""The tour: a strip below the header that says what is where, and a frame around what it speaks of.

It is part of the layout and covers nothing, so STOP is always in sight; its keys stay those of STOP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSettings, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QLabel, QWidget

from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import dress, push

SEEN = "tour_seen"
"""Setting that says that the tour has begun once."""

LINES = 2
FRAME = 3
FOLLOW_EVERY_MS = 100


class Step(NamedTuple):
    """What is said of one place.

    Attributes:
        place: name of what is framed, for whoever knows where it is.
    """

    place: str
    title: str
    text: str


STEPS = (
    Step("lamp", "The lamp", "what the arm does now, as colour, sign and word. NO CONNECTION and OLD: old news."),
    Step("stop", "STOP", "by this button, Esc or Space, whatever has the focus. None of them is ever switched off."),
    Step(
        "drive",
        "Drive",
        "take the arm, then hold a button or a key to move it. Let go, and it stops.",
    ),
    Step(
        "scene",
        "The scene",
        "solid is the simulation, the ghost what is commanded, the outline what is reported. The mouse turns it; "
        "with the focus in it so do the arrows, and 1 to 6 are views.",
    ),
    Step("plots", "Curves", "positions, error and speed. Drag or scroll back while recording goes on; export them."),
    Step(
        "preview",
        "Preview",
        "open a task or a program, see every check before anything moves, then send it to the arm.",
    ),
    Step("menu", "Help", "this tour again, and the page of all keys: F1. Ctrl and a digit bring a dock to the front."),
)


class Frame(QObject):
    """Four bars along the inner edges of a widget; what is between them stays as it is."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._bars = [QWidget(window) for _ in range(4)]
        for bar in self._bars:
            bar.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
            bar.hide()

    @property
    def seen(self) -> list[QRect]:
        """The bars."""
        return [bar.geometry() for bar in self._bars if bar.isVisible()]

    def set_colour(self, colour: str) -> None:
        """Of the bars."""
        for bar in self._bars:
            dress(bar, f"background: {colour};")

    def surround(self, place: QWidget | None) -> None:
        """Frame this, where it is now; None for nothing. What floats in a window of its own gets no frame."""
        seen = place is not None and place.isVisible() and place.window() is self._window
        if place is not None and seen:
            whole = QRect(place.mapTo(self._window, QPoint()), place.size())
            for bar, where in zip(self._bars, edges(whole), strict=True):
                bar.setGeometry(where)
        for bar in self._bars:
            bar.setVisible(seen)
            bar.raise_()


def edges(whole: QRect) -> list[QRect]:
    """The bars of a frame."""
    x, y, width, height = whole.x(), whole.y(), whole.width(), whole.height()
    return [
        QRect(x, y, width, FRAME),
        QRect(x, y + height - FRAME, width, FRAME),
        QRect(x, y, FRAME, height),
        QRect(x + width - FRAME, y, FRAME, height),
    ]


class Tour(QWidget):
    """Hidden until `begin`; Return or the right arrow goes on, the left arrow back, Esc leaves.

    Args:
        window: in which the places are.
        find: gives a place by its name; None where there is none, whose step is left out.
        settings: where it is remembered that the tour was seen.
    """

    def __init__(
        self, window: QWidget, find: Callable[[str], QWidget | None], settings: QSettings, theme: Theme
    ) -> None:
        super().__init__()
        self._find, self._settings = find, settings
        self._frame = Frame(window)
        self._steps: list[tuple[Step, QWidget]] = []
        self._at = 0
        self._before: QWidget | None = None
        self.words = QLabel()
        self.words.setTextFormat(Qt.TextFormat.RichText)
        self.words.setWordWrap(True)
        self._count = QLabel()
        self._back = push(tr("&Back"), lambda: self.go(-1))
        self.next = push(tr("&Next"), lambda: self.go(1))
        self._leave = push(tr("&End tour"), self.leave)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6)
        row.addWidget(self.words, 1)
        for widget in (self._count, self._back, self.next, self._leave):
            row.addWidget(widget)
        for button in (self._back, self.next, self._leave):
            button.installEventFilter(self)
        self.setFixedHeight(LINES * self.words.fontMetrics().lineSpacing() + 2 * 6 + FRAME)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setObjectName("tour")
        self.set_theme(theme)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._follow)
        self.hide()

    @property
    def first_time(self) -> bool:
        """Whether nobody has seen it here yet."""
        return not self._settings.value(SEEN, False, type=bool)

    @property
    def step(self) -> Step:
        """What is said now."""
        return self._steps[self._at][0]

    @property
    def framed(self) -> list[QRect]:
        """The bars of the frame that are seen, in the window."""
        return self._frame.seen

    def begin(self) -> None:
        """From the first step, and no more by itself."""
        self._settings.setValue(SEEN, True)
        if not self.isVisible():
            self._before = self.window().focusWidget()
        found = [(step, self._find(step.place)) for step in STEPS]
        self._steps = [(step, place) for step, place in found if place is not None]
        self._at = 0
        self.show()
        self.next.setFocus(Qt.FocusReason.OtherFocusReason)
        self._timer.start(FOLLOW_EVERY_MS)
        self._say()

    def go(self, steps: int) -> None:
        """Forwards or back; past the last step it ends."""
        if self._at + steps >= len(self._steps):
            self.leave()
            return
        self._at = max(0, self._at + steps)
        self._say()

    def leave(self) -> None:
        """End it, and give the focus back to where it was, in front again."""
        if not self.isVisible():
            return
        self._timer.stop()
        self._frame.surround(None)
        had_focus = self.isAncestorOf(self.window().focusWidget() or self.window())
        self.hide()
        if had_focus and self._before is not None:
            _bring_forward(self._before)
            self._before.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._frame.set_colour(theme.accent)
        dress(self, f"#tour {{ background: {theme.panel}; border-bottom: {FRAME}px solid {theme.accent}; }}")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Arrows on its buttons turn the pages."""
        if event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            ways = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}
            if event.key() in ways:
                self.go(ways[Qt.Key(event.key())])
                return True
        return super().eventFilter(watched, event)

    def _say(self) -> None:
        step, place = self._steps[self._at]
        _bring_forward(place)
        self.words.setText(f"<b>{tr(step.title)}:</b> {tr(step.text)}")
        self._count.setText(tr("{number} of {all}", number=self._at + 1, all=len(self._steps)))
        self._back.setEnabled(self._at > 0)
        last = self._at == len(self._steps) - 1
        self.next.setText(tr("&Done") if last else tr("&Next"))
        self._leave.setVisible(not last)
        if not self.isAncestorOf(self.window().focusWidget() or self.window()):
            self.next.setFocus(Qt.FocusReason.OtherFocusReason)
        self._follow()

    def _follow(self) -> None:
        """The frame where the place is now: docks are moved meanwhile, and the window is resized."""
        self._frame.surround(self._steps[self._at][1])


def _bring_forward(widget: QWidget | None) -> None:
    """Show the dock in which it is, if it is in one, before others in the same place."""
    while widget is not None and not isinstance(widget, QDockWidget):
        widget = widget.parentWidget()
    if widget is not None:
        widget.show()
        widget.raise_()
