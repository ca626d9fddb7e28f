"""Programs for the RV-2AJ and tasks: written, checked while they are, proved, and looked at line by line.

The window judges nothing: it asks `hil lint`, `hil check`, `hil program --preview` and `hil preview`, each in a process
of its own, and shows what they say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog

from hil.dashboard.arm import arm_of_model
from hil.dashboard.learn.command import Command
from hil.dashboard.learn.dh_file import robot_word
from hil.dashboard.learn.fields import quietly
from hil.dashboard.learn.places import Places
from hil.dashboard.learn.program_sheet import Finding, ProgramSheet
from hil.dashboard.learn.view import LessonView
from hil.dashboard.preview_file import LANGUAGES, Source, bundled, read_source, row_of
from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, Theme
from hil.errors import CommandError, HilError
from hil.lessons.numbers import unit_of_type
from hil.lessons.picture import Arm, Frame, Lines, Picture, Points, way_lines
from hil.lessons.program_steps import Run, read_steps, rows_of, steps_of
from hil.lessons.program_text import AXES, SYSTEM_WORDS, WORDS, inputs_of, labels, read_places, read_trace, variables_of
from hil.lessons.sheet import Sheet
from hil.lessons.task_words import task_words, taught_step
from hil.lessons.timeline import STILL, Timeline
from hil.model.files import state_dir
from hil.model.link_shapes import arm_length_m
from hil.model.reader import load_robot
from hil.model.robot import RobotModel
from hil.robot import Robot
from hil.units import MM

PROGRAM_ARM = "rv2aj"
"""The arm whose controller runs MELFA-BASIC here."""

FIRST = "pick-and-place.mb4"


class ProgramsView(LessonView):
    """One text at a time."""

    robot: Robot

    def __init__(self) -> None:
        super().__init__()
        self.sheet = self.worksheet = ProgramSheet()
        self.checking, self.proving = Command(self), Command(self)
        self._theme = DARK
        self.shown_run: Run | None = None
        self.findings: list[Finding] = []
        self._gone_to: tuple[float, ...] | None = None
        self.places = Places(
            self.sheet,
            lambda: self.robot.forward_kinematics(self._q(self._now_s)),
            lambda pose: self.robot.inverse_kinematics(pose, self._q(self._now_s)),
        )
        self.name, self.language = "", "melfa"
        self._now_s = 0.0
        sheet = self.sheet
        self._examples = bundled()
        sheet.example.addItems(list(self._examples))
        sheet.example.activated.connect(lambda _: self.open(self._examples[sheet.example.currentText()]))
        sheet.open.clicked.connect(self._ask_open)
        sheet.keep.clicked.connect(self._ask_keep)
        sheet.editor.rested.connect(self.check)
        sheet.editor.textChanged.connect(self._changed)
        sheet.findings.itemActivated.connect(lambda _: self._go_to())
        sheet.findings.itemClicked.connect(lambda _: self._go_to())
        sheet.run.clicked.connect(self.run)
        sheet.inputs.typed.connect(lambda _: self._inputs())
        sheet.breakpoint.clicked.connect(self._break)
        sheet.step.clicked.connect(lambda: self.stepped.emit(1))
        sheet.teach.clicked.connect(self._teach)
        sheet.go.clicked.connect(self._go)
        sheet.merge.clicked.connect(self._sort_out)
        self.places.changed.connect(self._another_list)
        self.places.gone_to.connect(self._stand)
        self.checking.done.connect(self._checked)
        self.proving.done.connect(self._proved)

    def set_robot(self, model: RobotModel) -> None:
        """Tasks are for this arm; programs are for the RV-2AJ whatever it is."""
        self._model = model
        if not self.name:
            self.open(self._examples[FIRST])
        else:
            self._use_arm()

    def _use_arm(self) -> None:
        model = load_robot(PROGRAM_ARM) if self.language == "melfa" else self._model
        if not hasattr(self, "robot") or self.robot.model != model:
            self.robot = Robot(model)
            self._home = tuple(axis.home for axis in arm_of_model(model).axes)
        self._forget()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.sheet.set_theme(theme)

    # -- files -------------------------------------------------------------------------------------------

    def _ask_open(self) -> None:
        kinds = " ".join(f"*{ending}" for ending in LANGUAGES)
        chosen, _ = QFileDialog.getOpenFileName(self.sheet, tr("Open"), "", tr("Programs and tasks") + f" ({kinds})")
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
        sheet = self.sheet
        quietly(sheet.example, lambda: sheet.example.setCurrentText(path.name))
        self.places.begin(read_places(source.points))
        sheet.editor.breaks = set()
        sheet.editor.colours.language = source.language
        sheet.set_language(source.language)
        sheet.editor.setPlainText(source.text)
        self._use_arm()
        self.check()

    def _ask_keep(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(self.sheet, tr("Save as"), self.name)
        if chosen:
            self.keep(Path(chosen))

    def keep(self, path: Path) -> None:
        """Write the text, and the positions beside a program; what cannot be written is said."""
        try:
            path.write_text(self.text, encoding="utf-8")
            if self.language == "melfa":
                path.with_suffix(".pos").write_text(self.places.text(), encoding="utf-8")
        except OSError as error:
            self.said.emit(f"{error.filename}: {error.strerror or error}")
        except HilError as error:
            self.places.say_fault(str(error))
        else:
            self.name = path.name

    @property
    def text(self) -> str:
        """As it is typed."""
        return self.sheet.editor.toPlainText()

    def can_be_sent(self) -> bool:
        """A program once it was written; a preview takes it whole."""
        return bool(self.text.strip())

    def task_robot(self) -> str:
        """Programs are for the RV-2AJ."""
        return PROGRAM_ARM if self.language == "melfa" else ""

    def task_file(self) -> Path | None:
        """The text in a file of its own, for the preview; None while something in it cannot be written."""
        folder = state_dir() / "lessons"
        path = folder / self.name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text, encoding="utf-8")
            if self.language == "melfa":
                path.with_suffix(".pos").write_text(self.places.text(), encoding="utf-8")
        except OSError as error:
            self.said.emit(f"{error.filename}: {error.strerror or error}")
            return None
        except HilError as error:
            self.places.say_fault(str(error))
            return None
        self.places.say_fault("")
        return path

    # -- what is wrong -----------------------------------------------------------------------------------

    def _changed(self) -> None:
        """What was proved was another text."""
        if self.shown_run is not None:
            self._forget()

    def _forget(self) -> None:
        self.shown_run = self._gone_to = None
        self.proving.stop()
        self.sheet.variables.show_variables(())
        self.sheet.editor.mark(running=0)
        self.sheet.state.setText("")
        self.sheet.said.show_text("")
        self.changed.emit()

    def _another_list(self) -> None:
        self._forget()
        self.check()

    def _stand(self, q: tuple[float, ...]) -> None:
        """The arm of the scene stands so."""
        self._forget()
        self._gone_to = q
        self.changed.emit()

    def check(self) -> None:
        """Have the text checked; errors come while one types."""
        self.sheet.editor.set_words(self._words())
        path = self.task_file()
        if path is not None:
            self.checking.start(self._lint_words(path))

    def _words(self) -> list[str]:
        """What may be completed to."""
        if self.language == "task":
            return [*task_words(), *self._units()]
        named = [*labels(self.text), *variables_of(self.text), *(place.name for place in self.places.now)]
        return [*WORDS, *SYSTEM_WORDS, *named]

    def _units(self) -> dict[str, float]:
        """Of the joints, by their names."""
        return {joint.name: unit_of_type(joint.type)[0] for joint in self.robot.model.joints}

    def _lint_words(self, path: Path) -> list[str]:
        if self.language == "melfa":
            return ["lint", str(path), "--rig", PROGRAM_ARM, "--json"]
        return ["check", str(path)]

    def _checked(self, code: int, out: str, wrong: str) -> None:
        findings: list[Finding] = []
        if self.language == "melfa" and out.lstrip().startswith("["):
            for each in json.loads(out):
                advice = f". {each['advice']}" if each["advice"] else ""
                words = f"{each['code']} {each['text']}{advice}".strip()
                findings.append(Finding(each["severity"], each["row"], each["column"], words))
        elif code:
            words = (wrong or out).strip()
            source = Source(Path(self.name), self.name, "task", self.text)
            findings.append(Finding("error", row_of(source, words) or 0, 1, words))
        self.findings = findings
        self.sheet.show_findings(findings)

    def _go_to(self) -> None:
        at = self.sheet.findings.currentRow()
        if 0 <= at < len(self.findings) and self.findings[at].row:
            self.sheet.editor.go_to(self.findings[at].row, self.findings[at].column)

    # -- a run -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Have it proved on the simulated arm; what a program then did is played."""
        path = self.task_file()
        if path is None or self._inputs() is None:
            return
        self._forget()
        self._files = [path.with_suffix(ending) for ending in (".trace.csv", ".variables.csv")]
        for file in self._files:
            file.unlink(missing_ok=True)
        self.sheet.tables.setCurrentWidget(self.sheet.variables)
        self.sheet.state.setText(tr("being proved ..."))
        kept = ["--trace", str(self._files[0])]
        if self.language == "melfa":
            kept += ["--variables", str(self._files[1])]
        self.proving.start([*self._run_words(str(path)), *kept])

    def _inputs(self) -> list[str] | None:
        """The assumed inputs; None where one cannot be read, and the field says why."""
        field = self.sheet.inputs
        try:
            found = inputs_of(field.text)
        except HilError as error:
            field.say(str(error))
            return None
        field.say("")
        return found

    def _run_words(self, path: str) -> list[str]:
        if self.language == "task":
            return ["preview", robot_word(self._model), path]
        inputs = [word for text in self._inputs() or () for word in ("--input", text)]
        return ["program", PROGRAM_ARM, path, "--preview", *inputs]

    def _proved(self, code: int, out: str, wrong: str) -> None:
        self.sheet.state.setText(tr("passed") if code == 0 else tr("refused: nothing of it would be sent"))
        # Of its own files nobody needs to hear.
        own = ("trace of ", "variables of ")
        told = [line for line in (wrong + out).splitlines() if line.strip() and not line.startswith(own)]
        self.sheet.said.show_text("\n".join(told))
        if code == 0:
            self._show_run()
        else:
            self.sheet.tables.setCurrentWidget(self.sheet.said)
            self._show_end()
        self.changed.emit()
        if self.shown_run is not None:
            self.played.emit()

    def _show_run(self) -> None:
        """What it did is there to be played."""
        trace_file, steps_file = self._files
        program = self.language == "melfa"
        try:
            trace = read_trace(trace_file.read_text(encoding="utf-8"), None if program else self._units())
            steps = read_steps(steps_file.read_text(encoding="utf-8")) if program else steps_of(trace)
        except (OSError, HilError) as error:
            self.said.emit(str(error))
        else:
            self.shown_run = Run(trace, steps, rows_of(self.text, self.language), {} if program else self._units())

    def _show_end(self) -> None:
        """Of a program that was refused: the statement at which it ended, and its variables there."""
        try:
            steps = read_steps(self._files[1].read_text(encoding="utf-8"))
        except (OSError, HilError):
            return  # It did not begin, or is a task: what was said tells all.
        last = steps.steps[-1]
        self.sheet.variables.show_variables(steps.variables(math.inf))
        self.sheet.editor.mark(running=rows_of(self.text, self.language).get(last.line, 0))

    def _break(self) -> None:
        """A break point comes or goes at the line of the cursor."""
        editor = self.sheet.editor
        editor.breaks ^= {editor.row}
        editor.mark()

    def pause_at(self, before_s: float, after_s: float) -> float | None:
        """Where playing pauses between two moments: the line of a break point is about to be done."""
        if self.shown_run is None or not self.sheet.editor.breaks:
            return None
        return self.shown_run.pause_at(before_s, after_s, self.sheet.editor.breaks)

    def timeline(self) -> Timeline:
        """A moment before each statement, or each step."""
        return STILL if self.shown_run is None else self.shown_run.timeline

    def _q(self, time_s: float) -> tuple[float, ...]:
        if self._gone_to is not None or self.shown_run is None:
            return self._gone_to or self._home
        trace = self.shown_run.trace
        return tuple(trace.q[trace.at(time_s)].tolist())

    def picture(self, time_s: float) -> Picture:
        """The arm, the way of its tool, and the positions of the list."""
        model = self.robot.model
        frames = self.robot.link_frames(self._q(time_s))
        lines: tuple[Lines, ...] = ()
        if self.shown_run is not None and len(self.shown_run.trace.times_s) > 1:
            lines = (Lines(way_lines(self.shown_run.trace.tool_mm * MM), "trace"),)
        places = self.places.points_m()
        points = (Points(places, "accent", 8.0),) if len(places) else ()
        return Picture((Arm(model, frames),), (Frame(frames[-1], "xyz"),), lines, points, arm_length_m(model))

    def show_moment(self, time_s: float) -> None:
        """The running line has a ground, and what is known of it stands below."""
        self._now_s = time_s
        run = self.shown_run
        if run is None:
            return
        at = run.trace.at(time_s)
        self.sheet.editor.mark(running=run.row(time_s))
        self.sheet.variables.show_variables(run.variables(time_s))
        x, y, z = run.trace.tool_mm[at]
        words = tr("passed; tool {x:.2f}, {y:.2f}, {z:.2f} mm", x=x, y=y, z=z)
        if self.language == "melfa":
            words += tr("; outputs on: {on}", on=run.trace.outputs[at] or tr("none"))
        self.sheet.state.setText(words)

    # -- positions ---------------------------------------------------------------------------------------

    def _teach(self) -> None:
        """Where the arm of the scene stands: a position of the list, or a step of the task below that of the cursor."""
        if self.language == "melfa":
            self.places.teach()
            return
        q, units = self._q(self._now_s), self._units()
        values = {name: value / unit for (name, unit), value in zip(units.items(), q, strict=True)}
        kinds = {joint.name: unit_of_type(joint.type)[1] for joint in self.robot.model.joints}
        self.sheet.editor.add_step(taught_step(values, kinds))

    def _go(self) -> None:
        """The arm of the scene stands at the position, or where the step of the cursor ends."""
        if self.language == "melfa":
            self.places.go()
            return
        end_s = None if self.shown_run is None else self.shown_run.end_of(self.sheet.editor.row)
        self.places.say(
            tr("prove the task first: where a step ends depends on those before it") if end_s is None else ""
        )
        if end_s is not None:
            self.looked.emit(end_s)

    def _sort_out(self) -> None:
        """Of positions that are the same place one stays."""
        found = self.places.sorted_out(self.text)
        if found is not None and found.text != self.text:
            self.sheet.editor.replace(found.text)

    # -- what is taken along -----------------------------------------------------------------------------

    def undo(self) -> None:
        """Of the text."""
        self.sheet.editor.undo()

    def redo(self) -> None:
        """Of the text."""
        self.sheet.editor.redo()

    def command_text(self) -> str:
        """As `hil program` or `hil preview` is typed."""
        path = self.task_file()
        if path is None:
            raise CommandError(self.sheet.trouble.text())
        if self._inputs() is None:
            raise CommandError(self.sheet.inputs.fault.text())
        return " ".join(["hil", *self._run_words(str(path))])

    def entries(self) -> tuple[tuple[str, Callable[[], str]], ...]:
        """The text, and the list of positions."""
        return ((tr("Text"), lambda: self.text), (tr("Positions"), lambda: self.places.text()))

    def data(self) -> Sheet:
        """The run, sample by sample; without one the positions."""
        if self.shown_run is None:
            return Sheet(("position", *AXES), [[place.name, *place.numbers] for place in self.places.now])
        trace = self.shown_run.trace
        return Sheet(
            ("t_s", "line", "x_mm", "y_mm", "z_mm", "outputs"),
            [
                [float(time_s), float(line), *map(float, tool), outputs]
                for time_s, line, tool, outputs in zip(
                    trace.times_s, trace.lines, trace.tool_mm, trace.outputs, strict=True
                )
            ],
        )

    def close(self) -> None:
        """End what works."""
        self.checking.stop()
        self.proving.stop()
