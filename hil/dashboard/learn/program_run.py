"""The proof of a program or task, in a process of its own, and what it did: line by line, variable by variable."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from hil.dashboard.learn.command import Command
from hil.dashboard.learn.dh_file import robot_word
from hil.dashboard.learn.program_file import ProgramFile
from hil.dashboard.learn.program_sheet import ProgramSheet
from hil.dashboard.learn.work import Work
from hil.dashboard.texts import tr
from hil.errors import CommandError, HilError
from hil.lessons.numbers import unit_of_type
from hil.lessons.program_steps import Run, read_run, read_steps, rows_of
from hil.lessons.program_text import inputs_of
from hil.robot import Robot

PROGRAM_ARM = "rv2aj"
"""The arm whose controller runs MELFA-BASIC here."""


def units_of(robot: Robot) -> dict[str, float]:
    """Units of the joints, in rad or m, by the joints' names."""
    return {joint.name: unit_of_type(joint.type)[0] for joint in robot.model.joints}


class ProgramRun(QObject):
    """What was proved last.

    Signals:
        forgotten: what was proved counts no more.
        changed: there is another run, or none.
        played: a run that passed is to be played from its start.
        said: why what a run did cannot be shown.

    Attributes:
        shown: the run that is looked at; None without one.

    Args:
        sheet: with editor, buttons and tables.
        file: the text.
        robot: the arm that it is for, now.
    """

    forgotten = Signal()
    changed = Signal()
    played = Signal()
    said = Signal(str)

    def __init__(self, sheet: ProgramSheet, file: ProgramFile, robot: Callable[[], Robot]) -> None:
        super().__init__()
        self._sheet, self._file, self._robot = sheet, file, robot
        self._proving, self._reading = Command(self), Work(self)
        self.shown: Run | None = None
        self._proving.done.connect(self._proved)
        self._reading.done.connect(self._show)
        self._reading.failed.connect(self.said)
        sheet.run.clicked.connect(self.begin)
        sheet.inputs.typed.connect(lambda _: self._inputs())
        sheet.breakpoint.clicked.connect(self._break)

    @property
    def busy(self) -> bool:
        """Whether something is being proved, or read to be shown."""
        return self._proving.busy or self._reading.busy

    def begin(self) -> None:
        """Have the text proved on the simulated arm; what it then did is played."""
        path = self._file.written()
        if path is None or self._inputs() is None:
            return
        self.forget()
        self._files = [path.with_suffix(ending) for ending in (".trace.csv", ".variables.csv")]
        for file in self._files:
            file.unlink(missing_ok=True)
        self._sheet.tables.setCurrentWidget(self._sheet.variables)
        self._sheet.state.setText(tr("being proved ..."))
        kept = ["--trace", str(self._files[0])]
        if self._file.is_program:
            kept += ["--variables", str(self._files[1])]
        self._proving.start([*self._words(str(path)), *kept])

    def forget(self) -> None:
        """What was proved was another text, or for another arm."""
        self.shown = None
        self.end()
        self._sheet.variables.show_variables(())
        self._sheet.editor.mark(running=0)
        self._sheet.state.setText("")
        self._sheet.said.show_text("")
        self.forgotten.emit()

    def command_text(self) -> str:
        """As `hil program` or `hil preview` is typed.

        Raises:
            CommandError: positions or inputs cannot be read.
        """
        path = self._file.written()
        if path is None:
            raise CommandError(self._sheet.trouble.text())
        if self._inputs() is None:
            raise CommandError(self._sheet.inputs.fault.text())
        return " ".join(["hil", *self._words(str(path))])

    def _inputs(self) -> list[str] | None:
        """The assumed inputs; None where one cannot be read, and the field says why."""
        field = self._sheet.inputs
        try:
            found = inputs_of(field.text)
        except HilError as error:
            field.say(str(error))
            return None
        field.say("")
        return found

    def _words(self, path: str) -> list[str]:
        if not self._file.is_program:
            return ["preview", robot_word(self._robot().model), path]
        inputs = [word for text in self._inputs() or () for word in ("--input", text)]
        return ["program", PROGRAM_ARM, path, "--preview", *inputs]

    # -- what came of it ---------------------------------------------------------------------------------

    def _proved(self, code: int, out: str, wrong: str) -> None:
        self._sheet.state.setText(tr("passed") if code == 0 else tr("refused: nothing of it would be sent"))
        # Of its own files nobody needs to hear.
        own = ("trace of ", "variables of ")
        told = [line for line in (wrong + out).splitlines() if line.strip() and not line.startswith(own)]
        self._sheet.said.show_text("\n".join(told))
        if code == 0:
            trace_file, steps_file = self._files
            text, language = self._file.text, self._file.language
            program, units = self._file.is_program, units_of(self._robot())
            self._reading.start(read_run, trace_file, steps_file if program else None, text, language, units)
        else:
            self._sheet.tables.setCurrentWidget(self._sheet.said)
            self._show_end()
            self.changed.emit()

    def _show(self, run: Run) -> None:
        """What it did is there to be played."""
        self.shown = run
        self.changed.emit()
        self.played.emit()

    def _show_end(self) -> None:
        """Of a program that was refused: the statement at which it ended, and its variables there."""
        try:
            steps = read_steps(self._files[1].read_text(encoding="utf-8"))
        except (OSError, HilError):
            return  # It did not begin, or is a task: what was said tells all.
        last = steps.steps[-1]
        self._sheet.variables.show_variables(steps.variables(math.inf))
        self._sheet.editor.mark(running=rows_of(self._file.text, self._file.language).get(last.line, 0))

    def show_moment(self, time_s: float) -> None:
        """The running line has a ground, and what is known of it stands below."""
        run = self.shown
        if run is None:
            return
        at = run.trace.at(time_s)
        self._sheet.editor.mark(running=run.row(time_s))
        self._sheet.variables.show_variables(run.variables(time_s))
        x, y, z = run.trace.tool_mm[at]
        words = tr("passed; tool {x:.2f}, {y:.2f}, {z:.2f} mm", x=x, y=y, z=z)
        if self._file.is_program:
            words += tr("; outputs on: {on}", on=run.trace.outputs[at] or tr("none"))
        self._sheet.state.setText(words)

    # -- break points ------------------------------------------------------------------------------------

    def _break(self) -> None:
        """A break point comes or goes at the line of the cursor."""
        editor = self._sheet.editor
        editor.breaks ^= {editor.row}
        editor.mark()

    def pause_at(self, before_s: float, after_s: float) -> float | None:
        """Where playing pauses between two moments: the line of a break point is about to be done."""
        if self.shown is None or not self._sheet.editor.breaks:
            return None
        return self.shown.pause_at(before_s, after_s, self._sheet.editor.breaks)

    def end(self) -> None:
        """End what works."""
        self._proving.stop()
        self._reading.stop()
