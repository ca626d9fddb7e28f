"""The text that is edited and its positions as files: opened, saved, and written for whoever judges or runs them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog

from hil.dashboard.learn.fields import quietly
from hil.dashboard.learn.places import Places
from hil.dashboard.learn.program_sheet import ProgramSheet
from hil.dashboard.preview_file import LANGUAGES, bundled, read_source
from hil.dashboard.texts import tr
from hil.dashboard.widgets import ask_file, may_write_over
from hil.errors import HilError
from hil.lessons.program_text import read_places
from hil.model.files import state_dir


class ProgramFile(QObject):
    """One text at a time, with the list of positions beside it where it is a program.

    Signals:
        opened: another file.
        said: why one could not be read or written.

    Attributes:
        name: of the file.
        language: melfa or task.
        examples: files that are there without a search, by their names.

    Args:
        sheet: with editor and buttons.
        places: positions of a program.
    """

    opened = Signal()
    said = Signal(str)

    def __init__(self, sheet: ProgramSheet, places: Places) -> None:
        super().__init__()
        self._sheet, self._places = sheet, places
        self.name, self.language = "", "melfa"
        self.examples = bundled()
        sheet.example.addItems(list(self.examples))
        sheet.example.activated.connect(lambda _: self.open(self.examples[sheet.example.currentText()]))
        sheet.open.clicked.connect(self._ask_open)
        sheet.keep.clicked.connect(self._ask_keep)

    @property
    def text(self) -> str:
        """As it is typed."""
        return self._sheet.editor.text

    @property
    def is_program(self) -> bool:
        """Whether it is MELFA-BASIC, and no task."""
        return self.language == "melfa"

    def _ask_open(self) -> None:
        kinds = " ".join(f"*{ending}" for ending in LANGUAGES)
        chosen, _ = QFileDialog.getOpenFileName(self._sheet, tr("Open"), "", tr("Programs and tasks") + f" ({kinds})")
        if chosen:
            self.open(Path(chosen))

    def open(self, path: Path) -> None:
        """Read a program with its positions, or a task."""
        try:
            source = read_source(path)
        except HilError as error:
            self.said.emit(str(error))
            return
        self.name, self.language = path.name, source.language
        sheet = self._sheet
        quietly(sheet.example, lambda: sheet.example.setCurrentText(path.name))
        self._places.begin(read_places(source.points))
        sheet.editor.breaks = set()
        sheet.editor.colours.language = source.language
        sheet.set_language(source.language)
        sheet.editor.setPlainText(source.text)
        self.opened.emit()

    def _ask_keep(self) -> None:
        path = ask_file(self._sheet, tr("Save as"), self.name)
        if path is None:
            return
        # Who says yes to a program that is there means its positions too.
        if path.exists() or not self.is_program or may_write_over(self._sheet, tr("Save as"), path.with_suffix(".pos")):
            self.keep(path)

    def keep(self, path: Path) -> None:
        """Write the text, and the positions beside a program; what cannot be written is said."""
        if self._write(path):
            self.name = path.name

    def written(self) -> Path | None:
        """The text in a file of its own, to be judged and run; None while something in it cannot be written."""
        path = state_dir() / "lessons" / self.name
        return path if self._write(path) else None

    def _write(self, path: Path) -> bool:
        """Both files, or neither: a wrong position leaves what was there before."""
        try:
            points = self._places.text() if self.is_program else None
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text, encoding="utf-8")
            if points is not None:
                path.with_suffix(".pos").write_text(points, encoding="utf-8")
        except OSError as error:
            self.said.emit(f"{error.filename}: {error.strerror or error}")
            return False
        except HilError as error:
            self._places.say_fault(str(error))
            return False
        self._places.say_fault("")
        return True
