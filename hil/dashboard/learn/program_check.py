"""What is wrong with a text: asked of `hil lint` or `hil check` in a process of its own, shown, and led to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from hil.dashboard.learn.command import Command
from hil.dashboard.learn.places import Places
from hil.dashboard.learn.program_file import ProgramFile
from hil.dashboard.learn.program_run import PROGRAM_ARM, units_of
from hil.dashboard.learn.program_sheet import Finding, ProgramSheet
from hil.dashboard.preview_file import Source, row_of
from hil.lessons.program_text import SYSTEM_WORDS, WORDS, labels, variables_of
from hil.lessons.task_words import task_words
from hil.robot import Robot


class ProgramCheck(QObject):
    """Errors as one types, and the words that may be completed to.

    Attributes:
        findings: of the text that was checked last.

    Args:
        sheet: with editor and list.
        file: the text.
        places: its positions.
        robot: the arm that it is for, now.
    """

    def __init__(self, sheet: ProgramSheet, file: ProgramFile, places: Places, robot: Callable[[], Robot]) -> None:
        super().__init__()
        self._sheet, self._file, self._places, self._robot = sheet, file, places, robot
        self.checking = Command(self)
        self.findings: list[Finding] = []
        self.checking.done.connect(self._checked)
        sheet.findings.itemActivated.connect(lambda _: self._go_to())
        sheet.findings.itemClicked.connect(lambda _: self._go_to())

    def begin(self) -> None:
        """Have the text checked as it is now."""
        self._sheet.editor.set_words(self._words())
        path = self._file.written()
        if path is not None:
            program = self._file.is_program
            self.checking.start(
                ["lint", str(path), "--rig", PROGRAM_ARM, "--json"] if program else ["check", str(path)]
            )

    def _words(self) -> list[str]:
        """What may be completed to."""
        if not self._file.is_program:
            return [*task_words(), *units_of(self._robot())]
        text = self._file.text
        named = [*labels(text), *variables_of(text), *(place.name for place in self._places.now)]
        return [*WORDS, *SYSTEM_WORDS, *named]

    def _checked(self, code: int, out: str, wrong: str) -> None:
        findings: list[Finding] = []
        if self._file.is_program and out.lstrip().startswith("["):
            for each in json.loads(out):
                advice = f". {each['advice']}" if each["advice"] else ""
                words = f"{each['code']} {each['text']}{advice}".strip()
                findings.append(Finding(each["severity"], each["row"], each["column"], words))
        elif code:
            words = (wrong or out).strip()
            source = Source(Path(self._file.name), self._file.name, "task", self._file.text)
            findings.append(Finding("error", row_of(source, words) or 0, 1, words))
        self.findings = findings
        self._sheet.show_findings(findings)

    def _go_to(self) -> None:
        at = self._sheet.findings.currentRow()
        if 0 <= at < len(self.findings) and self.findings[at].row:
            self._sheet.editor.go_to(self.findings[at].row, self.findings[at].column)

    def end(self) -> None:
        """End what works."""
        self.checking.stop()
