"""The worksheet of programs: an editor with colours and errors, the list of positions, what a run said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QStringListModel, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFontDatabase,
    QKeyEvent,
    QKeySequence,
    QShortcut,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QHeaderView,
    QLabel,
    QListView,
    QListWidget,
    QPlainTextEdit,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.learn.fields import Field, Text, quietly, row_layout
from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, Theme
from hil.dashboard.widgets import dress, push, tab_style
from hil.lessons.program_steps import Variable
from hil.lessons.program_text import AXES, Place, spans

REST_MS = 500
"""Without a key for so long, the text is checked."""

LEAST_BEGUN = 2
"""Letters of a word from which on others are offered."""

OFFER_WIDTH = 160
TAKING = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab)

LANGUAGES = ("melfa", "task")
LEAST_TABLE = 150
SHEET = Qt.ShortcutContext.WidgetWithChildrenShortcut


class Finding(NamedTuple):
    """One thing that is wrong: row and column from 1, row 0 for the whole."""

    severity: str
    row: int
    column: int
    words: str


class Colours(QSyntaxHighlighter):
    """Colours words, numbers, texts, labels and comments."""

    def __init__(self, editor: QPlainTextEdit) -> None:
        super().__init__(editor.document())
        self.language, self.theme = LANGUAGES[0], DARK

    def highlightBlock(self, text: str) -> None:  # noqa: N802 - Qt's name
        """One line."""
        theme = self.theme
        roles = {"word": theme.accent, "number": theme.good, "text": theme.warn, "label": theme.curves[0]}
        for span in spans(text, self.language):
            form = QTextCharFormat()
            form.setForeground(QColor(roles.get(span.kind, theme.faint if span.kind == "comment" else theme.text)))
            if span.kind in ("word", "label"):
                form.setFontWeight(600)
            self.setFormat(span.start, span.length, form)


class Editor(QPlainTextEdit):
    """The text; errors are underlined, the running line and lines with a break point have a ground.

    Signals:
        rested: the text is another one, and nobody types any more.
    """

    rested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Program"))
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTabChangesFocus(True)
        self.setMinimumHeight(195)
        self.colours = Colours(self)
        self._model = QStringListModel(self)
        self.completer = QCompleter(self._model, self)
        self._offered = QListView()
        self.completer.setPopup(self._offered)
        self.completer.setWidget(self)
        self.completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.completer.activated.connect(self.take)
        self._findings: Sequence[Finding] = ()
        self._running = 0
        self.breaks: set[int] = set()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.rested)
        self.textChanged.connect(lambda: self._timer.start(REST_MS))

    def end(self) -> None:
        """Nothing is begun any more for what was typed last."""
        self._timer.stop()

    def set_words(self, words: Sequence[str]) -> None:
        """What may be completed to."""
        self._model.setStringList(sorted(set(words)))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Return and Tab take what is offered; a word that is begun is offered to be completed."""
        if self._offered.isVisible() and event.key() in TAKING:
            event.ignore()  # the completer's own
            return
        super().keyPressEvent(event)
        if event.text().isalnum() or self._offered.isVisible():
            self.offer()

    def offer(self) -> None:
        """Offer words that begin as the one before the cursor does, from two letters on."""
        begun = self._begun()
        self.completer.setCompletionPrefix(begun)
        count = self.completer.completionCount()
        if len(begun) < LEAST_BEGUN or not count or self.completer.currentCompletion().upper() == begun.upper():
            self._offered.hide()
            return
        place = self.cursorRect()
        place.setWidth(OFFER_WIDTH)
        self.completer.complete(place)

    def _begun(self) -> str:
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        found = re.search(r"\*?[A-Za-z_]\w*$", before)
        return "" if found is None else found.group()

    def take(self, word: str) -> None:
        """Put a word that was offered in the place of what is begun."""
        cursor = self.textCursor()
        back = QTextCursor.MoveOperation.Left
        cursor.movePosition(back, QTextCursor.MoveMode.KeepAnchor, len(self._begun()))
        cursor.insertText(word)
        self.setTextCursor(cursor)

    @property
    def text(self) -> str:
        """As it is typed. Qt's own plain text makes another blank of one at which no line may break."""
        return self.document().toRawText().replace("\u2029", "\n").replace("\u2028", "\n")

    def replace(self, text: str) -> None:
        """Another text that undo takes back."""
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)

    def add_step(self, text: str) -> None:
        """Put a step of a task below the one of the cursor, and the cursor into it."""
        rows = self.text.splitlines()
        row = self.row
        while row < len(rows) and not rows[row].lstrip().startswith("[["):
            row += 1
        while row > 0 and not rows[row - 1].strip():
            row -= 1
        lines = [*rows[:row], *text.rstrip("\n").splitlines(), *rows[row:]]
        self.replace("\n".join(lines) + "\n")
        self.go_to(row + 2)

    def mark(self, findings: Sequence[Finding] | None = None, running: int | None = None) -> None:
        """Show what is wrong, and which row runs (from 1; 0 for none)."""
        self._findings = self._findings if findings is None else findings
        if running is not None and running != self._running:
            self._running = running
            self._show_row(running)
        theme = self.colours.theme
        marks = [self._ground(row, theme.warn) for row in self.breaks]
        if self._running:
            marks.append(self._ground(self._running, theme.accent))
        marks += [self._line(finding, theme) for finding in self._findings if finding.row]
        self.setExtraSelections(marks)

    def _show_row(self, row: int) -> None:
        """Scroll until a row is seen; the cursor stays where it is."""
        block = self.document().findBlockByNumber(row - 1)
        place = self.blockBoundingGeometry(block).translated(self.contentOffset())
        if row and not (place.top() >= 0 and place.bottom() <= self.viewport().height()):
            rows = self.viewport().height() // max(self.fontMetrics().lineSpacing(), 1)
            self.verticalScrollBar().setValue(max(row - 1 - rows // 2, 0))

    def _ground(self, row: int, colour: str) -> QTextEdit.ExtraSelection:
        mark = QTextEdit.ExtraSelection()
        ground = QColor(colour)
        ground.setAlpha(90)
        mark.format.setBackground(ground)
        mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
        mark.cursor = QTextCursor(self.document().findBlockByNumber(row - 1))
        return mark

    def _line(self, finding: Finding, theme: Theme) -> QTextEdit.ExtraSelection:
        mark = QTextEdit.ExtraSelection()
        mark.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        mark.format.setUnderlineColor(QColor(theme.bad if finding.severity == "error" else theme.warn))
        block = self.document().findBlockByNumber(finding.row - 1)
        cursor = QTextCursor(block)
        cursor.setPosition(min(block.position() + finding.column - 1, block.position() + max(block.length() - 1, 0)))
        if not cursor.movePosition(QTextCursor.MoveOperation.EndOfWord, QTextCursor.MoveMode.KeepAnchor):
            cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        mark.cursor = cursor
        return mark

    @property
    def row(self) -> int:
        """Of the cursor, from 1."""
        return self.textCursor().blockNumber() + 1

    def go_to(self, row: int, column: int = 1) -> None:
        """Put the cursor there, and take the focus."""
        block = self.document().findBlockByNumber(max(row - 1, 0))
        cursor = QTextCursor(block)
        cursor.setPosition(block.position() + min(max(column - 1, 0), max(block.length() - 1, 0)))
        self.setTextCursor(cursor)
        self.setFocus(Qt.FocusReason.OtherFocusReason)


class VariableTable(QTableWidget):
    """Every variable with its value at the moment that is looked at; what the last statement changed is in bold."""

    def __init__(self) -> None:
        super().__init__(0, 3)
        self.setAccessibleName(tr("Variables"))
        self.setHorizontalHeaderLabels([tr("variable"), tr("kind"), tr("value")])
        self.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(22)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setStretchLastSection(True)
        self._shown: tuple[Variable, ...] = ()

    def show_variables(self, variables: Sequence[Variable]) -> None:
        """These from now on; only cells that are others are written."""
        if len(variables) != self.rowCount():
            self.setRowCount(len(variables))
            self._shown = ()
        for row, each in enumerate(variables):
            if row < len(self._shown) and self._shown[row] == each:
                continue
            for column, text in enumerate((each.name, tr(each.kind), each.value)):
                item = self.item(row, column) or QTableWidgetItem()
                if item.tableWidget() is None:
                    self.setItem(row, column, item)
                item.setText(text)
                font = item.font()
                font.setBold(each.changed)
                item.setFont(font)
        self._shown = tuple(variables)


class ProgramSheet(QWidget):
    """All of it; `programs` and the modules beside it say what happens.

    Signals:
        place_typed: row, column and text of a position.
    """

    place_typed = Signal(int, int, str)

    def __init__(self) -> None:
        super().__init__()
        self.example = QComboBox()
        self.example.setAccessibleName(tr("Examples"))
        self.open = push(tr("Open..."))
        self.keep = push(tr("Save as..."))
        self.editor = Editor()
        self.findings = QListWidget()
        self.findings.setAccessibleName(tr("What is wrong"))
        self.findings.setFixedHeight(84)
        self.findings.setWordWrap(True)
        self.findings.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.run, self.step = push(tr("Prove and run")), push(tr("Step"))
        self.breakpoint = push(tr("Break point"))
        self.run.setToolTip(tr("On the simulated arm, by the same proof as before any run; nothing else moves (F5)"))
        self.step.setToolTip(tr("One statement, or one step of a task, on (F10)"))
        self.breakpoint.setToolTip(tr("Playing pauses before the line of the cursor (F9)"))
        for key, button in (("F5", self.run), ("F9", self.breakpoint), ("F10", self.step)):
            QShortcut(QKeySequence(key), self, context=SHEET).activated.connect(button.click)
        self.inputs = Field(tr("inputs"), "", tr("Such as 8=1@2.5: input 8 is on from 2.5 s; blanks between"))
        self.state = QLabel()
        self.state.setWordWrap(True)
        self.said = Text(tr("What the proof said"), 5, sentences=True)
        self.places = QTableWidget(0, 1 + len(AXES))
        self.places.setAccessibleName(tr("Positions"))
        self.places.setHorizontalHeaderLabels([tr("position"), *AXES])
        self.places.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.places.verticalHeader().setDefaultSectionSize(22)
        self.places.setTabKeyNavigation(False)
        self.places.setMinimumHeight(LEAST_TABLE)
        self.variables = VariableTable()
        self.places.cellChanged.connect(self._place_changed)
        self.teach, self.away = push(tr("Teach")), push(tr("Take away"))
        self.go = push(tr("Go to"))
        self.back, self.forth = push(tr("Undo")), push(tr("Redo"))
        self.sort = push(tr("Twice?"), tip=tr("Names of positions that are the same place"))
        self.merge = push(tr("Sort out"), tip=tr("Of positions that are the same place one stays, also in the program"))
        self.trouble = QLabel()
        self.trouble.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 4, 6, 4)
        column.setSpacing(4)
        column.addLayout(row_layout(self.example, self.open, self.keep))
        column.addWidget(self.editor, 1)
        column.addWidget(self.findings)
        column.addLayout(row_layout(self.run, self.step, self.breakpoint, self.inputs))
        column.addWidget(self.state)
        column.addWidget(self._tables(), 1)
        column.addLayout(row_layout(self.teach, self.go, self.away, self.back, self.forth))
        column.addLayout(row_layout(self.sort, self.merge))
        column.addWidget(self.trouble)

    def _tables(self) -> QTabWidget:
        self.tables = QTabWidget()
        self.tables.tabBar().setAccessibleName(tr("Positions, variables, proof"))
        self.tables.addTab(self.places, tr("Positions, mm and deg"))
        self.tables.addTab(self.variables, tr("Variables"))
        self.tables.addTab(self.said, tr("Proof"))
        return self.tables

    def set_language(self, language: str) -> None:
        """A task has no list of positions beside it: what is taught is a step in it."""
        program = language == "melfa"
        self.tables.setTabVisible(0, program)
        for widget in (self.inputs, self.away, self.sort, self.merge, self.back, self.forth):
            widget.setVisible(program)
        if program:
            self.teach.setToolTip(tr("A new position: where the tool of the scene is"))
            self.go.setToolTip(tr("The arm of the scene stands at the position; no other arm moves"))
        else:
            self.teach.setToolTip(tr("A new step at the cursor: to where the arm of the scene stands"))
            self.go.setToolTip(tr("The arm of the scene stands where the step of the cursor ends; no other arm moves"))

    def _place_changed(self, row: int, column: int) -> None:
        item = self.places.item(row, column)
        self.place_typed.emit(row, column, "" if item is None else item.text())

    def show_places(self, places: Sequence[Place]) -> None:
        """These positions."""
        quietly(self.places, lambda: self._fill(places))

    def _fill(self, places: Sequence[Place]) -> None:
        self.places.setRowCount(len(places))
        for row, place in enumerate(places):
            for column, text in enumerate((place.name, *place.numbers)):
                item = self.places.item(row, column) or QTableWidgetItem()
                if item.tableWidget() is None:
                    self.places.setItem(row, column, item)
                item.setText(text)

    def show_findings(self, findings: Sequence[Finding]) -> None:
        """What is wrong, in the list and in the text."""
        self.findings.clear()
        for each in findings:
            where = f"{each.row}:{each.column} " if each.row else ""
            self.findings.addItem(f"{where}{tr(each.severity)}: {each.words}")
        self.editor.mark(findings)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self.editor.colours.theme = theme
        self.editor.colours.rehighlight()
        self.editor.mark()
        self.inputs.set_theme(theme)
        dress(self.tables, tab_style(theme))
        dress(self.trouble, f"color: {theme.bad};")
