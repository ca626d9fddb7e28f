"""Torques and motions: what a motion asks of the motors, a controlled run, a free fall that is played."""

from __future__ import annotations

import shlex
from enum import Enum

import numpy as np
from PySide6.QtWidgets import QComboBox, QLabel, QWidget

from hil.control.joint_values import joint_units, joint_words
from hil.dashboard.arm import arm_of_model
from hil.dashboard.learn.experiment_form import ExperimentForm
from hil.dashboard.learn.fields import Text, column_of, heading, quietly
from hil.dashboard.learn.jobs import needed_job, run_job
from hil.dashboard.learn.plot import Line, LinePlot
from hil.dashboard.learn.view import LessonView
from hil.dashboard.learn.work_bar import WorkBar
from hil.dashboard.learn.workspace_sheet import Table
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.errors import HilError
from hil.kernels.scalar import FloatArray
from hil.lessons.dynamics import PARTS, NeededTorques, Run, needed_columns, needed_of_joints, run_columns
from hil.lessons.picture import Arm, Lines, Picture, way_lines
from hil.lessons.sheet import Sheet
from hil.lessons.timeline import STILL, Moment, Timeline
from hil.model.link_shapes import arm_length_m
from hil.model.robot import RobotModel
from hil.robot import Robot

MOMENT_S = 0.05
MOST_DRAWN = 2000
"""Places of a way that are drawn."""

GHOST = 0.35
RUN_HEADS = ("joint", "wanted", "actual", "largest error", "rms error", "largest torque")
FALL_HEADS = ("joint", "start", "end", "largest difference", "rms difference", "largest torque")
"""Nothing is wanted of an arm that falls: what the command calls wanted is where it was let go."""


class What(Enum):
    """What is worked out, and the command's option for it."""

    NEEDED = ("torques that the motion asks for", "--inverse")
    RUN = ("a controlled run", "--energy")
    FALL = ("a free fall", "--free-fall")


class DynamicsView(LessonView):
    """One experiment on one arm."""

    def __init__(self) -> None:
        super().__init__()
        self.needed: NeededTorques | None = None
        self.run: Run | None = None
        self._shown = What.NEEDED
        self._command = ""
        self.what = QComboBox()
        self.what.setAccessibleName(tr("What is worked out"))
        for each in What:
            self.what.addItem(tr(each.value[0]))
        self.what.currentIndexChanged.connect(lambda _: self.begin())
        self.form = ExperimentForm()
        self.form.changed.connect(self._typed)
        self.note = QLabel()
        self.note.setWordWrap(True)
        self.bar = WorkBar(tr("Work it out"), self.begin, self)
        self.bar.work.done.connect(self._came)
        self.bar.work.failed.connect(self.said)
        self.joint = QComboBox()
        self.joint.setAccessibleName(tr("Joint that is plotted"))
        self.joint.currentIndexChanged.connect(lambda _: self._plot())
        self.torques = LinePlot(tr("Torques"), tr("time, s"), "N m")
        self.places = LinePlot(tr("Wanted and actual"), tr("time, s"), "deg")
        self.errors = LinePlot(tr("Wanted minus actual"), tr("time, s"), "deg")
        self.table = Table(tr("By joint"), ("joint", "", "", "", "", ""))
        self.figures = Text(tr("In numbers"), 5)
        parts: list[QWidget] = [
            heading(tr("Motion and torque")), self.what, self.bar, self.note, self.table, self.figures, self.joint,
            self.torques, self.places, self.errors, heading(tr("The experiment")), self.form,
        ]  # fmt: skip
        self.worksheet = column_of(parts)

    def set_robot(self, model: RobotModel) -> None:
        """This arm from now on, with a first motion of it."""
        self.close()
        self.model, self.robot = model, Robot(model)
        self.home = self.robot.link_frames([axis.home for axis in arm_of_model(model).axes])
        self.needed = self.run = None
        trouble = self.form.set_model(model, {})
        estimated = tr("No source gives masses for this arm: they are estimated from the shapes of its links.")
        self.note.setText(trouble or (estimated if self.form.estimate else ""))
        self.note.setVisible(bool(self.note.text()))
        quietly(self.joint, self._fill_joints)
        self._show_numbers()
        self._plot()
        self.changed.emit()

    def _fill_joints(self) -> None:
        self.joint.clear()
        self.joint.addItems([tr("all joints"), *(joint.name for joint in self.model.joints)])

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self.form.set_theme(theme)
        for plot in (self.torques, self.places, self.errors):
            plot.set_theme(theme)

    def undo(self) -> None:
        """Take back what was typed last."""
        self.form.undo()

    def redo(self) -> None:
        """Do again what was taken back."""
        self.form.redo()

    # -- work --------------------------------------------------------------------------------------------

    def _typed(self) -> None:
        """What is shown is of another experiment: work it out anew, if it was asked for before."""
        if self.needed is not None or self.run is not None or self.bar.work.busy:
            self.begin()

    def begin(self) -> None:
        """Work out what is chosen."""
        if self.is_wrong(self.form):
            return
        self._shown = list(What)[self.what.currentIndex()]
        try:
            experiment, arm = self.form.experiment(), self.form.heavy()
        except HilError as error:
            self.said.emit(str(error))
            return
        self._command = shlex.join(["hil", "simulate", *self.form.options(), self._shown.value[1]])
        if self._shown is What.NEEDED:
            self.bar.work.start(needed_job, arm.model, experiment)
        else:
            self.bar.work.start(run_job, arm.model, experiment, self._shown is What.FALL)
        self.bar.started()

    def _came(self, result: object) -> None:
        self.needed = result if isinstance(result, NeededTorques) else None
        self.run = result if isinstance(result, Run) else None
        self._frames()
        self._show_numbers()
        self._plot()
        self.changed.emit()

    def _frames(self) -> None:
        """Where the arm is, tick by tick."""
        if self.needed is not None:
            self._time_s, self._q, self._wanted = self.needed.time_s, self.needed.q, None
        elif self.run is not None:
            trace = self.run.trace
            self._time_s, self._q = trace.time_s, trace.actual
            self._wanted = None if self._shown is What.FALL else trace.wanted
        self._way = way_lines(self.robot.forward_kinematics(_few(self._q))[:, :3, 3])

    # -- numbers -----------------------------------------------------------------------------------------

    def _show_numbers(self) -> None:
        words = ""
        if self.needed is not None:
            heads = ("joint", "largest", "at", "rms", "of gravity", "at rest")
            rows = [
                [
                    joint.name,
                    f"{joint.largest:z.4g} {joint.unit}",
                    f"{joint.largest_s:.3f} s",
                    f"{joint.rms:.4g}",
                    f"{joint.largest_gravity:.4g}",
                    f"{joint.at_rest:z.4g}",
                ]
                for joint in needed_of_joints(self.robot, self.needed)
            ]
        elif self.run is not None:
            heads = FALL_HEADS if self._shown is What.FALL else RUN_HEADS
            rows = [
                [
                    joint.name,
                    f"{joint.wanted:z.2f} {joint.unit}",
                    f"{joint.actual:z.2f} {joint.unit}",
                    joint.error_text(joint.largest_error),
                    joint.error_text(joint.rms_error),
                    f"{joint.largest_torque:.2f} {'N m' if joint.unit == 'deg' else 'N'}",
                ]
                for joint in self.run.summary.joints
            ]
            words = "\n".join(run_lines(self.run, fall=self._shown is What.FALL))
        else:
            heads, rows = ("joint", "", "", "", "", ""), []
        self.table.setHorizontalHeaderLabels(list(heads))
        self.table.show_rows(rows)
        self.figures.show_text(words)
        self.figures.setVisible(bool(words))

    def _plot(self) -> None:
        chosen = self.joint.currentIndex() - 1
        which = range(self.model.dof) if chosen < 0 else [chosen]
        units, words = joint_units(self.model), joint_words(self.model)
        names = [joint.name for joint in self.model.joints]
        torques: list[Line] = []
        places: list[Line] = []
        errors: list[Line] = []
        for k in which:
            colour = f"curve {k}"
            if self.needed is not None:
                time_s = self.needed.time_s
                torques.append(Line(names[k], time_s, self.needed.total[:, k], colour))
                if chosen >= 0:
                    torques += [
                        Line(tr(part), time_s, values[:, k], f"curve {k + 1 + n}", 1 + n % 3)
                        for n, (part, values) in enumerate(zip(PARTS, self.needed.parts, strict=True))
                    ]
                places.append(Line(names[k], time_s, self.needed.q[:, k] / units[k], colour))
            elif self.run is not None:
                trace = self.run.trace
                torques.append(Line(names[k], trace.time_s, trace.torque[:, k], colour))
                places.append(Line(names[k], trace.time_s, trace.actual[:, k] / units[k], colour))
                if self._shown is not What.FALL:
                    wanted = f"{names[k]}, {tr('wanted')}"
                    places.append(Line(wanted, trace.time_s, trace.wanted[:, k] / units[k], colour, 1))
                    errors.append(Line(names[k], trace.time_s, trace.error[:, k] / units[k], colour))
        unit = " / ".join(dict.fromkeys(words[k] for k in which))
        force = " / ".join(dict.fromkeys("N m" if words[k] == "deg" else "N" for k in which))
        self.torques.show_lines(torques, force)
        self.places.show_lines(places, unit)
        self.errors.show_lines(errors, unit)
        self.torques.setVisible(self._shown is not What.FALL)
        self.errors.setVisible(bool(errors))

    # -- the scene ---------------------------------------------------------------------------------------

    def timeline(self) -> Timeline:
        """All of the run, a moment every twentieth of a second."""
        if self.needed is None and self.run is None:
            return STILL
        end_s = float(self._time_s[-1])
        times = [k * MOMENT_S for k in range(int(end_s / MOMENT_S) + 1)]
        moments = [Moment(time_s, f"{time_s:.2f} s") for time_s in times if time_s < end_s]
        return Timeline(end_s, (*moments, Moment(end_s, f"{end_s:.2f} s")))

    def picture(self, time_s: float) -> Picture:
        """The arm at this moment; where it should be, as a ghost; the way of the tool."""
        size_m = arm_length_m(self.model)
        if self.needed is None and self.run is None:
            return Picture(arms=(Arm(self.model, self.home),), size_m=size_m)
        tick = min(int(np.searchsorted(self._time_s, time_s - 1e-9)), len(self._time_s) - 1)
        arms = [Arm(self.model, self.robot.link_frames(self._q[tick]))]
        if self._wanted is not None:
            arms.append(Arm(self.model, self.robot.link_frames(self._wanted[tick]), "commanded", GHOST))
        return Picture(arms=tuple(arms), lines=(Lines(self._way, "trace", 1.5),), size_m=size_m)

    def show_moment(self, time_s: float) -> None:
        """Marks in the plots."""
        for plot in (self.torques, self.places, self.errors):
            plot.mark(time_s)

    # -- what is taken along -----------------------------------------------------------------------------

    def command_text(self) -> str:
        """As `hil simulate` is typed."""
        option = list(What)[self.what.currentIndex()].value[1]
        return self._command or shlex.join(["hil", "simulate", *self.form.options(), option])

    def data(self) -> Sheet:
        """The columns that the command writes."""
        if self.needed is not None:
            names, columns = needed_columns(self.robot, self.needed)
        elif self.run is not None:
            names, columns = run_columns(self.robot, self.run.trace)
        else:
            return Sheet((), [])
        return Sheet(tuple(names), columns.tolist())

    def close(self) -> None:
        """End what works."""
        self.bar.end()
        self._command = ""


def run_lines(run: Run, *, fall: bool) -> list[str]:
    """Tool, cost and energy in words."""
    summary, book = run.summary, run.book
    lines = [summary.unstable] if summary.unstable else []
    if not fall:
        lines.append(f"tool: {summary.tool_largest_mm:.3g} mm off at most, {summary.tool_end_mm:.3g} mm at the end")
        if summary.cost is not None:
            lines.append(f"cost: {summary.cost:.5g} over {summary.ticks} ticks at {summary.rate_hz:g} Hz")
    start_j, end_j = book.kinetic_start + book.potential_start, book.kinetic_end + book.potential_end
    lines.append(f"energy: {start_j:.5g} J at the start, {end_j:.5g} J at the end")
    lines.append(f"unexplained at most {book.drift:.2%} of the largest kinetic energy, {book.kinetic_most:.5g} J")
    return [*lines, summary.estimated] if summary.estimated else lines


def _few(q: FloatArray) -> FloatArray:
    """Not more rows than are drawn, the last one among them."""
    step = max(1, -(-len(q) // MOST_DRAWN))
    few: FloatArray = np.concatenate([q[::step], q[-1:]])
    finite: FloatArray = few[np.isfinite(few).all(axis=1)]
    return finite
