"""Small pieces of worksheets: a field for a number that says what is wrong with it, and a matrix to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from hil.dashboard.theme import Theme
from hil.dashboard.widgets import dress
from hil.errors import HilError
from hil.kernels.scalar import FloatArray
from hil.lessons.numbers import typed_number

FIELD_WIDTH = 92


class Field(QWidget):
    """A text with its name before it; what is wrong with it stands below, and the text stays as it was typed.

    Signals:
        typed: the text, once it is finished and another one.
    """

    typed = Signal(str)

    def __init__(self, name: str, text: str, tip: str = "") -> None:
        super().__init__()
        self.name, self._before, self._bad = name, text, "#c62f14"
        self.edit = QLineEdit(text)
        self.edit.setAccessibleName(name)
        self.edit.setToolTip(tip)
        self.edit.setMinimumWidth(FIELD_WIDTH)
        self.fault = QLabel()
        self.fault.setWordWrap(True)
        self.fault.hide()
        self.label = QLabel(name)
        self.label.setBuddy(self.edit)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(2)
        grid.addWidget(self.label, 0, 0)
        grid.addWidget(self.edit, 0, 1)
        grid.addWidget(self.fault, 1, 0, 1, 2)
        grid.setColumnStretch(1, 1)
        self.edit.editingFinished.connect(self._finished)

    @property
    def text(self) -> str:
        """As it was typed."""
        return self.edit.text()

    def set_text(self, text: str) -> None:
        """Another text, without telling."""
        self._before = text
        if self.edit.text() != text:
            self.edit.setText(text)

    def say(self, fault: str) -> None:
        """What is wrong with it; nothing if it is right."""
        self.fault.setText(fault)
        self.fault.setVisible(bool(fault))
        dress(self.edit, f"QLineEdit {{ border: 2px solid {self._bad}; }}" if fault else "")

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._bad = theme.bad
        dress(self.fault, f"color: {theme.bad};")
        self.say(self.fault.text())

    def _finished(self) -> None:
        if self.edit.text() != self._before:
            self._before = self.edit.text()
            self.typed.emit(self._before)


def checked(field: Field, lower: float, upper: float) -> float | None:
    """The number in a field; None where there is none, and the field says why."""
    try:
        value = typed_number(field.text, field.name, lower, upper)
    except HilError as error:
        field.say(str(error))
        return None
    field.say("")
    return value


class Text(QPlainTextEdit):
    """Something to read and to copy, in letters of one width, as high as it is; sentences are wrapped, figures not."""

    def __init__(self, name: str, lines: int = 5, *, sentences: bool = False) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setAccessibleName(name)
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        wraps = QPlainTextEdit.LineWrapMode.WidgetWidth if sentences else QPlainTextEdit.LineWrapMode.NoWrap
        self.setLineWrapMode(wraps)
        self.setTabChangesFocus(True)
        self.set_lines(lines)

    def set_lines(self, lines: int) -> None:
        """As high as so many lines."""
        self.setFixedHeight(self.fontMetrics().lineSpacing() * (lines + 1) + 14)

    def show_text(self, text: str) -> None:
        """This from now on; the same one again costs nothing."""
        if self.toPlainText() != text:
            self.setPlainText(text)


def matrix_text(name: str, matrix: FloatArray) -> str:
    """A transform as people read it: metres, six decimals, as `hil fk` prints it."""
    return "\n".join([name, *("  ".join(f"{value:z10.6f}" for value in row) for row in matrix)])


def column_of(parts: Sequence[QWidget], stretch: bool = True) -> QWidget:
    """Widgets, one below the other."""
    whole = QWidget()
    column = QVBoxLayout(whole)
    column.setContentsMargins(6, 4, 6, 4)
    column.setSpacing(5)
    for part in parts:
        column.addWidget(part)
    if stretch:
        column.addStretch(1)
    return whole


def row_layout(*parts: QWidget) -> QHBoxLayout:
    """Widgets, one beside the other from the left on, each as wide as it wants to be."""
    row = QHBoxLayout()
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(4)
    for part in parts:
        row.addWidget(part)
    row.addStretch(1)
    return row


def row_of(parts: Sequence[QWidget]) -> QWidget:
    """Widgets, one beside the other; what is no label shares the room."""
    whole = QWidget()
    row = QHBoxLayout(whole)
    row.setContentsMargins(0, 0, 0, 0)
    for part in parts:
        row.addWidget(part, 0 if isinstance(part, QLabel) else 1)
    return whole


def heading(text: str) -> QLabel:
    """A line in bold over what follows."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    dress(label, "font-weight: 600;")
    label.setWordWrap(True)
    return label


def quietly(widget: QWidget, act: Callable[[], object]) -> None:
    """Change a widget without its telling of it."""
    before = widget.blockSignals(True)
    act()
    widget.blockSignals(before)
