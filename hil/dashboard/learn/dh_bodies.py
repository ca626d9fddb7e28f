"""Bodies of links from STL files, beside the DH table whose frames place them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QVBoxLayout, QWidget

from hil.dashboard.learn.fields import heading, row_layout
from hil.dashboard.learn.work import Work
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import dress, push
from hil.lessons.stl_body import StlBody, read_body
from hil.model.stl import METRES, Units


class BodySheet(QWidget):
    """What stands in the worksheet; `DhBodies` says what the buttons do."""

    def __init__(self) -> None:
        super().__init__()
        self.link, self.unit = QComboBox(), QComboBox()
        self.link.setAccessibleName(tr("Link that gets a body"))
        self.unit.setAccessibleName(tr("Unit of the STL"))
        self.unit.addItems([tr("unit by its size"), *METRES])
        self.choose = push(tr("Body from an STL ..."), tip=tr("It moves with the DH frame of this link"))
        self.away = push(tr("Take it away"), tip=tr("The link is drawn from the table again"))
        self.facts, self.trouble = QLabel(), QLabel()
        for label in (self.facts, self.trouble):
            label.setWordWrap(True)
            label.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(heading(tr("Body of a link")))
        column.addLayout(row_layout(self.link, self.choose))
        column.addLayout(row_layout(self.unit, self.away))
        column.addWidget(self.facts)
        column.addWidget(self.trouble)

    @property
    def chosen_unit(self) -> Units | None:
        """None for the one that the file says, or its size lets guess."""
        return cast("Units", self.unit.currentText()) if self.unit.currentIndex() else None

    def say(self, lines: Sequence[str], trouble: str) -> None:
        """What is known of the chosen link's body, or why it has none."""
        for label, text in ((self.facts, "\n".join(lines)), (self.trouble, trouble)):
            label.setText(text)
            label.setVisible(bool(text))

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        dress(self.trouble, f"color: {theme.bad};")


class DhBodies(QObject):
    """Reads bodies in a process of its own, and knows which there are.

    Signals:
        taken: the bodies that there are from now on, in the order of their links.
    """

    taken = Signal(object)

    def __init__(self, sheet: BodySheet, parent: QObject) -> None:
        super().__init__(parent)
        self._sheet = sheet
        self._bodies: tuple[StlBody, ...] = ()
        self.work = Work(self)
        self.work.done.connect(self._came)
        self.work.failed.connect(self._failed)
        sheet.choose.clicked.connect(self._choose)
        sheet.away.clicked.connect(self._away)
        sheet.link.currentIndexChanged.connect(lambda _: self._say())
        sheet.unit.currentIndexChanged.connect(lambda _: self._read_again())

    def show(self, bodies: tuple[StlBody, ...]) -> None:
        """These there are."""
        self._bodies = bodies
        self._say()

    def begin(self, file: str) -> None:
        """Give the chosen link this file's body, as soon as it is read."""
        self._say(tr("at work ..."))
        self.work.start(read_body, file, self._sheet.link.currentIndex(), self._sheet.chosen_unit)

    @property
    def _body(self) -> StlBody | None:
        """Of the chosen link."""
        return next((each for each in self._bodies if each.link == self._sheet.link.currentIndex()), None)

    def _choose(self) -> None:
        file, _ = QFileDialog.getOpenFileName(self._sheet, tr("Body of a link"), "", tr("STL files") + " (*.stl *.STL)")
        if file:
            self.begin(file)

    def _read_again(self) -> None:
        """The same file in another unit."""
        if (body := self._body) is not None:
            self.begin(body.file)

    def _away(self) -> None:
        self.taken.emit(tuple(each for each in self._bodies if each is not self._body))

    def _came(self, body: StlBody) -> None:
        others = [each for each in self._bodies if each.link != body.link]
        self.taken.emit(tuple(sorted([*others, body], key=lambda each: each.link)))

    def _failed(self, why: str) -> None:
        self._say(trouble=why)

    def _say(self, at_work: str = "", trouble: str = "") -> None:
        body = self._body
        lines = () if body is None else (Path(body.file).name, *body.facts.lines)
        self._sheet.say((at_work,) if at_work else lines, trouble)
        self._sheet.away.setEnabled(body is not None)
