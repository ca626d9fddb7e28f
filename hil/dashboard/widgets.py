"""Small pieces that several views use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QActionGroup, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QLabel,
    QMenu,
    QMessageBox,
    QSizePolicy,
    QStackedLayout,
    QToolButton,
    QWidget,
)

from hil.dashboard.texts import tr
from hil.dashboard.theme import THEMES, Theme

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


def ask_file(parent: QWidget, title: str, name: str, words: str = "") -> Path | None:
    """The file that a person chooses to write; None where nothing is to be written.

    Args:
        parent: over which the question appears.
        title: of the question.
        name: what is proposed; its ending is added to a name that is typed without one.
        words: which files are listed, as Qt has it: ``CSV (*.csv)``.
    """
    chosen, _ = QFileDialog.getSaveFileName(parent, title, name, words)
    if not chosen:
        return None
    path = Path(chosen)
    if path.suffix or not Path(name).suffix:
        return path
    path = path.with_name(path.name + Path(name).suffix)
    return path if may_write_over(parent, title, path) else None


def may_write_over(parent: QWidget, title: str, path: Path) -> bool:
    """Whether a file may be written that no question named so far; one that is there is asked for."""
    if not path.exists():
        return True
    words = tr("{path} is there already. Write over it?", path=path)
    return QMessageBox.question(parent, title, words) == QMessageBox.StandardButton.Yes


def dress(widget: QWidget, style: str) -> None:
    """Set a style sheet if it is another one: the same one again costs a new layout as well."""
    if widget.styleSheet() != style:
        widget.setStyleSheet(style)


def advise(widget: QWidget, tip: str) -> None:
    """Set a tip if it is another one: everybody around is told even of the same one again."""
    if widget.toolTip() != tip:
        widget.setToolTip(tip)


def keep_place(widget: QWidget) -> None:
    """Hidden, it keeps its place: nothing beside it moves when it comes and goes."""
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)


class Slot(QWidget):
    """One place for several widgets, of which one is seen, or none; as wide and high as the largest of them."""

    def __init__(self, *widgets: QWidget) -> None:
        super().__init__()
        self._stack = QStackedLayout(self)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._nothing = QWidget()
        for widget in (self._nothing, *widgets):
            self._stack.addWidget(widget)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_one(self, widget: QWidget | None) -> None:
        """This one, or nothing."""
        self._stack.setCurrentWidget(widget or self._nothing)

    def shown(self, widget: QWidget) -> bool:
        """Whether it is this one."""
        return self._stack.currentWidget() is widget


class Island(QWidget):
    """What changes inside has nothing around it laid out anew, unless it needs more room or less.

    A label has everything up to the window laid out and painted again for each other text, of whatever size.

    Attributes:
        inside: what is in it; of the same size.
    """

    def __init__(self) -> None:
        super().__init__()
        self.inside = QWidget(self)
        self._needed = QSize()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As what is inside."""
        return self.inside.sizeHint()

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """As what is inside."""
        return self.inside.minimumSizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """More room, or less."""
        super().resizeEvent(event)
        self.inside.resize(event.size())

    def event(self, event: QEvent) -> bool:
        """Tell what is around of another size alone."""
        if event.type() is QEvent.Type.LayoutRequest and (needed := self.minimumSizeHint()) != self._needed:
            self._needed = needed
            self.updateGeometry()
        return super().event(event)


class Lines(QLabel):
    """So many lines of text, as high with one as with all; what has no room is left out, and said in the tip.

    Args:
        lines: for how many there is room.
    """

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._lines = lines
        self._rows: tuple[str, ...] = ("",)
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The same always."""
        return QSize(120, self._lines * self.fontMetrics().lineSpacing() + 2)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """As `sizeHint`."""
        return QSize(0, self.sizeHint().height())

    def heightForWidth(self, width: int) -> int:  # noqa: N802
        """As `sizeHint`."""
        return self.sizeHint().height()

    def say(self, rows: Sequence[str]) -> None:
        """Show these, the first ones first."""
        if tuple(rows) != self._rows:
            self._rows = tuple(rows)
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """More room, or less."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        rows = list(self._rows)
        room = self.sizeHint().height()
        text = "<br>".join(rows)
        self.setText(text)
        while len(rows) > 1 and QLabel.heightForWidth(self, self.width()) > room:
            rows.pop()
            self.setText("<br>".join(rows) + " ...")
        short = len(rows) < len(self._rows) or QLabel.heightForWidth(self, self.width()) > room
        advise(self, text if short else "")


class OneLine(QLabel):
    """A text in one line, as wide as there is room; what has none is left out with dots, and said in the tip."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """The text."""
        room = self.contentsRect()
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
        advise(self, self.text() if shown != self.text() else "")
        painter = QPainter(self)
        self.style().drawItemText(
            painter, room, int(self.alignment()), self.palette(), self.isEnabled(), shown, self.foregroundRole()
        )


def fill_theme_menu(menu: QMenu, now: Theme, choose: Callable[[Theme], None]) -> None:
    """Every theme, the present one checked."""
    group = QActionGroup(menu)
    for theme in THEMES.values():
        action = menu.addAction(tr(theme.name))
        action.setCheckable(True)
        action.setChecked(theme is now)
        action.triggered.connect(lambda _=False, theme=theme: choose(theme))
        group.addAction(action)


def tab_style(theme: Theme) -> str:
    """Tabs on which the focus is seen."""
    return (
        f"QTabBar::tab {{ background: {theme.window}; color: {theme.faint}; border: 1px solid {theme.line}; "
        "padding: 4px 10px; }"
        f"QTabBar::tab:selected {{ background: {theme.panel}; color: {theme.text}; }}"
        f"QTabBar::tab:selected:focus {{ border: 2px solid {theme.accent}; padding: 3px 9px; }}"
    )
