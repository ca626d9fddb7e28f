"""Programs for the RV-2AJ and tasks: written, checked while they are, proved, and looked at line by line.

The window judges nothing: it asks `hil lint`, `hil check`, `hil program --preview` and `hil preview`, each in a process
of its own, and shows what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hil.dashboard.arm import arm_of_model
from hil.dashboard.learn.places import Places
from hil.dashboard.learn.program_check import ProgramCheck
from hil.dashboard.learn.program_file import ProgramFile
from hil.dashboard.learn.program_run import PROGRAM_ARM, ProgramRun, units_of
from hil.dashboard.learn.program_sheet import ProgramSheet
from hil.dashboard.learn.view import LessonView
from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, Theme
from hil.lessons.numbers import unit_of_type
from hil.lessons.picture import Arm, Frame, Lines, Picture, Points, way_lines
from hil.lessons.program_text import AXES
from hil.lessons.sheet import Sheet
from hil.lessons.task_words import taught_step
from hil.lessons.timeline import STILL, Timeline
from hil.model.link_shapes import arm_length_m
from hil.model.reader import load_robot
from hil.model.robot import RobotModel
from hil.robot import Robot
from hil.units import MM

FIRST = "pick-and-place.mb4"


class ProgramsView(LessonView):
    """The text and its arm in the scene.

    Attributes:
        file: the text as a file.
        places: positions of a program.
        checks: what is wrong with the text.
        proof: what it did on the simulated arm.
    """

    robot: Robot

    def __init__(self) -> None:
        super().__init__()
        sheet = self.sheet = self.worksheet = ProgramSheet()
        self._theme = DARK
        self._gone_to: tuple[float, ...] | None = None
        self._now_s = 0.0
        self.places = Places(
            sheet,
            lambda: self.robot.forward_kinematics(self._q(self._now_s)),
            lambda pose: self.robot.inverse_kinematics(pose, self._q(self._now_s)),
        )
        self.file = ProgramFile(sheet, self.places)
        self.checks = ProgramCheck(sheet, self.file, self.places, lambda: self.robot)
        self.proof = ProgramRun(sheet, self.file, lambda: self.robot)
        self._connect()

    def _connect(self) -> None:
        sheet = self.sheet
        sheet.editor.rested.connect(self.checks.begin)
        sheet.editor.textChanged.connect(self._changed)
        sheet.step.clicked.connect(lambda: self.stepped.emit(1))
        sheet.teach.clicked.connect(self._teach)
        sheet.go.clicked.connect(self._go)
        sheet.merge.clicked.connect(self._sort_out)
        self.file.opened.connect(self._opened)
        self.places.changed.connect(self._another_list)
        self.places.gone_to.connect(self._stand)
        self.proof.forgotten.connect(self._forgotten)
        self.proof.changed.connect(self.changed)
        self.proof.played.connect(self.played)
        for each in (self.file, self.proof):
            each.said.connect(self.said)

    def set_robot(self, model: RobotModel) -> None:
        """Tasks are for this arm; programs are for the RV-2AJ whatever it is."""
        self._model = model
        if not self.file.name:
            self.file.open(self.file.examples[FIRST])
        else:
            self._use_arm()

    def _use_arm(self) -> None:
        model = load_robot(PROGRAM_ARM) if self.file.is_program else self._model
        if not hasattr(self, "robot") or self.robot.model != model:
            self.robot = Robot(model)
            self._home = tuple(axis.home for axis in arm_of_model(model).axes)
        self.proof.forget()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.sheet.set_theme(theme)

    # -- another text ------------------------------------------------------------------------------------

    def _opened(self) -> None:
        self._use_arm()
        self.checks.begin()

    def _changed(self) -> None:
        """What was proved was another text."""
        if self.proof.shown is not None or self.proof.busy:
            self.proof.forget()

    def _another_list(self) -> None:
        self.proof.forget()
        self.checks.begin()

    def _forgotten(self) -> None:
        self._gone_to = None
        self.changed.emit()

    def undo(self) -> None:
        """Of the text."""
        self.sheet.editor.undo()

    def redo(self) -> None:
        """Of the text."""
        self.sheet.editor.redo()

    # -- the arm of the scene ----------------------------------------------------------------------------

    def _q(self, time_s: float) -> tuple[float, ...]:
        run = self.proof.shown
        if self._gone_to is not None or run is None:
            return self._gone_to or self._home
        return tuple(run.trace.q[run.trace.at(time_s)].tolist())

    def timeline(self) -> Timeline:
        """A moment before each statement, or each step."""
        return STILL if self.proof.shown is None else self.proof.shown.timeline

    def pause_at(self, before_s: float, after_s: float) -> float | None:
        """Where playing pauses between two moments: at break points."""
        return self.proof.pause_at(before_s, after_s)

    def picture(self, time_s: float) -> Picture:
        """The arm, the way of its tool, and the positions of the list."""
        model, run = self.robot.model, self.proof.shown
        frames = self.robot.link_frames(self._q(time_s))
        lines: tuple[Lines, ...] = ()
        if run is not None and len(run.trace.times_s) > 1:
            lines = (Lines(way_lines(run.trace.tool_mm * MM), "trace"),)
        places = self.places.points_m()
        points = (Points(places, "accent", 8.0),) if len(places) else ()
        return Picture((Arm(model, frames),), (Frame(frames[-1], "xyz"),), lines, points, arm_length_m(model))

    def show_moment(self, time_s: float) -> None:
        """What the run does then."""
        self._now_s = time_s
        self.proof.show_moment(time_s)

    # -- positions ---------------------------------------------------------------------------------------

    def _teach(self) -> None:
        """Where the arm of the scene stands: a position of the list, or a step of the task below that of the cursor."""
        if self.file.is_program:
            self.places.teach()
            return
        q, units = self._q(self._now_s), units_of(self.robot)
        values = {name: value / unit for (name, unit), value in zip(units.items(), q, strict=True)}
        kinds = {joint.name: unit_of_type(joint.type)[1] for joint in self.robot.model.joints}
        self.sheet.editor.add_step(taught_step(values, kinds))

    def _go(self) -> None:
        """The arm of the scene stands at the position, or where the step of the cursor ends."""
        if self.file.is_program:
            self.places.go()
            return
        run = self.proof.shown
        end_s = None if run is None else run.end_of(self.sheet.editor.row)
        self.places.say(
            tr("prove the task first: where a step ends depends on those before it") if end_s is None else ""
        )
        if end_s is not None:
            self.looked.emit(end_s)

    def _stand(self, q: tuple[float, ...]) -> None:
        """The arm of the scene stands so."""
        self.proof.forget()
        self._gone_to = q
        self.changed.emit()

    def _sort_out(self) -> None:
        """Of positions that are the same place one stays."""
        found = self.places.sorted_out(self.file.text)
        if found is not None and found.text != self.file.text:
            self.sheet.editor.replace(found.text)

    # -- what is taken along -----------------------------------------------------------------------------

    def can_be_sent(self) -> bool:
        """A program once it was written; a preview takes it whole."""
        return bool(self.file.text.strip())

    def task_robot(self) -> str:
        """Programs are for the RV-2AJ."""
        return PROGRAM_ARM if self.file.is_program else ""

    def task_file(self) -> Path | None:
        """The text in a file of its own, for the preview; None while something in it cannot be written."""
        return self.file.written()

    def command_text(self) -> str:
        """As `hil program` or `hil preview` is typed."""
        return self.proof.command_text()

    def entries(self) -> tuple[tuple[str, Callable[[], str]], ...]:
        """The text, and the list of positions."""
        return ((tr("Text"), lambda: self.file.text), (tr("Positions"), lambda: self.places.text()))

    def data(self) -> Sheet:
        """The run, sample by sample; without one the positions."""
        if self.proof.shown is None:
            return Sheet(("position", *AXES), [[place.name, *place.numbers] for place in self.places.now])
        trace = self.proof.shown.trace
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
        self.sheet.editor.end()
        self.checks.end()
        self.proof.end()
