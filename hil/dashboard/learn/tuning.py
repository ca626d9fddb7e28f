"""A search for gains: heat map, the best settings, before and after, and the run of every cell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from PySide6.QtWidgets import QComboBox, QLabel, QWidget

from hil.control.best import BestRun
from hil.control.experiment import Experiment
from hil.control.joint_values import joint_units, joint_words
from hil.control.search import Found
from hil.dashboard.arm import arm_of_model
from hil.dashboard.learn.experiment_form import ExperimentForm
from hil.dashboard.learn.fields import column_of, heading, quietly, row_of
from hil.dashboard.learn.form import FieldKind
from hil.dashboard.learn.heat_map import HeatMapWidget
from hil.dashboard.learn.jobs import Searched, search_job, setting_job
from hil.dashboard.learn.plot import Line, LinePlot
from hil.dashboard.learn.view import LessonView
from hil.dashboard.learn.work import Work
from hil.dashboard.learn.work_bar import WorkBar
from hil.dashboard.learn.workspace_sheet import Table
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.errors import HilError
from hil.lessons.experiments import arm_for
from hil.lessons.faults import FieldError, FieldErrors
from hil.lessons.picture import Arm, Picture
from hil.lessons.sheet import Sheet
from hil.lessons.timeline import STILL, Moment, Timeline
from hil.lessons.tuning import SHOWN, SearchEnd, experiment_at, grid_at_once, heat_map, kept, setting_rows
from hil.model.files import state_dir
from hil.model.link_shapes import arm_length_m
from hil.model.robot import RobotModel
from hil.robot import Robot

FIRST = "bandwidth=1:10:1 rate=50,100,200,500"
GHOST = 0.35
MOMENT_S = 0.05

VARY_TIP = (
    "NAME=FROM:TO:STEP, NAME=FROM:TO:xCOUNT or NAME=A,B,C, several with blanks between; kp, kd, ki, rate, bandwidth, "
    "torque-limit, viscous, dry, armature, mass, payload, delay, noise or resolution"
)
VARY = (FieldKind("vary", "vary", VARY_TIP),)


class TuningView(LessonView):
    """One search on one arm."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Found | None = None
        self.runs: tuple[BestRun, ...] = ()
        self.opened: BestRun | None = None
        self._searching: tuple[RobotModel, Experiment, tuple[str, ...]] | None = None
        self._command = ""
        self.form = ExperimentForm(VARY, self._check_vary)
        self.form.changed.connect(self.changed)
        self.note = QLabel()
        self.note.setWordWrap(True)
        self.bar = WorkBar(tr("Search"), self.search, self)
        self.bar.work.told.connect(self._goes_on)
        self.bar.work.done.connect(self._ended)
        self.bar.work.failed.connect(self.said)
        self.bar.stop.clicked.connect(self._stopped)
        self.opening = Work(self)
        self.opening.done.connect(self._open_came)
        self.opening.failed.connect(self.said)
        self.across, self.up = QComboBox(), QComboBox()
        for box, name in ((self.across, tr("What goes to the right")), (self.up, tr("What goes up"))):
            box.setAccessibleName(name)
            box.currentIndexChanged.connect(lambda _: self._draw_map())
        self.map = HeatMapWidget()
        self.map.picked.connect(self.open)
        self.best = Table(tr("The best settings"), ("setting", "cost", "largest error", "torque rms"))
        self.compared = Table(
            tr("Before and after"), ("", "cost x s", "tool off at most", "at the end", "largest torque")
        )
        self.joint = QComboBox()
        self.joint.setAccessibleName(tr("Joint that is plotted"))
        self.joint.currentIndexChanged.connect(lambda _: self._plot())
        self.errors = LinePlot(tr("Errors before, after, and of the cell"), tr("time, s"), "deg")
        self.words = QLabel()
        self.words.setWordWrap(True)
        self.best_heading = heading(tr("The best settings"))
        ways = row_of([QLabel(tr("to the right")), self.across, QLabel(tr("up")), self.up])
        parts: list[QWidget] = [
            heading(tr("A search for gains")), self.form.fields["vary"], self.note, self.bar, self.words, self.map,
            ways, self.best_heading, self.best, heading(tr("Before and after")), self.compared, self.joint, self.errors,
            heading(tr("The experiment")), self.form,
        ]  # fmt: skip
        self.worksheet = column_of(parts)

    def set_robot(self, model: RobotModel) -> None:
        """This arm from now on."""
        self.close()
        self.model, self.robot = model, Robot(model)
        self.home = self.robot.link_frames([axis.home for axis in arm_of_model(model).axes])
        self.found, self.runs, self.opened = None, (), None
        trouble = self.form.set_model(model, {"vary": FIRST})
        estimated = tr("No source gives masses for this arm: they are estimated from the shapes of its links.")
        self.note.setText(trouble or (estimated if self.form.estimate else ""))
        self.note.setVisible(bool(self.note.text()))
        quietly(self.joint, self._fill_joints)
        self._show()

    def _fill_joints(self) -> None:
        self.joint.clear()
        self.joint.addItems([joint.name for joint in self.model.joints])
        self.joint.setCurrentIndex(min(1, self.model.dof - 1))

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self.form.set_theme(theme)
        self.map.set_theme(theme)
        self.errors.set_theme(theme)

    def undo(self) -> None:
        """Take back what was typed last."""
        self.form.undo()

    def redo(self) -> None:
        """Do again what was taken back."""
        self.form.redo()

    # -- the search --------------------------------------------------------------------------------------

    def _check_vary(self, values: Mapping[str, str], experiment: Experiment) -> None:
        assert self.form.arm is not None
        try:
            grid_at_once(arm_for(self.form.arm, experiment), experiment, values["vary"].split())
        except HilError as error:
            raise FieldErrors((FieldError("vary", str(error)),)) from None

    @property
    def folder(self) -> Path:
        """Where searches of this arm are kept."""
        return state_dir() / "lessons" / f"tune-{self.model.id}"

    def search(self) -> None:
        """Begin, or go on where the same search was stopped; another one forgets it."""
        if self.is_wrong(self.form):
            return
        try:
            experiment, arm = self.form.experiment(), self.form.heavy()
        except HilError as error:
            self.said.emit(str(error))
            return
        vary = tuple(self.form.good["vary"].split())
        asked = (arm.model, experiment, vary)
        again = asked != self._searching
        self._searching, self.runs, self.opened = asked, (), None
        options = [word for each in vary for word in ("--vary", each)]
        self._command = shlex.join(["hil", "tune", *self.form.options(), *options])
        self.bar.work.start(search_job, *asked, str(self.folder), again)
        self.bar.started()

    def _goes_on(self, told: Searched) -> None:
        assert self._searching is not None
        model, experiment, vary = self._searching
        self.bar.told(told.done, told.total)
        self.found = Found(grid_at_once(Robot(model), experiment, vary), told.table)
        self._fill_axes()
        self._show()

    def _ended(self, end: SearchEnd) -> None:
        self.found, self.runs = end.found, end.runs
        self._fill_axes()
        self._show()

    def _stopped(self) -> None:
        """What was kept is shown; the same search goes on from there."""
        if self._searching is None or self.runs:
            return
        model, experiment, vary = self._searching
        try:
            left = kept(grid_at_once(Robot(model), experiment, vary), self.folder)
        except HilError:
            return
        if self.found is None or left.done >= self.found.done:
            self.found = left
        self._show()
        self.said.emit(tr("stopped; Search goes on from what is kept"))

    def _fill_axes(self) -> None:
        assert self.found is not None
        titles = [axis.title for axis in self.found.grid.axes]
        if [self.across.itemText(k) for k in range(self.across.count())] == titles:
            return
        for box, first in ((self.across, 0), (self.up, min(1, len(titles) - 1))):

            def fill(box: QComboBox = box, first: int = first) -> None:
                box.clear()
                box.addItems(titles)
                box.setCurrentIndex(first)

            quietly(box, fill)

    # -- a cell ------------------------------------------------------------------------------------------

    def open(self, number: int) -> None:
        """The run of a setting, in full."""
        if self.found is None or self._searching is None:
            return
        model, _, _ = self._searching
        experiment = experiment_at(Robot(model), self.found, number)
        (row,) = setting_rows(self.found, [number])
        name = ", ".join(f"{axis.title} = {row[axis.title]:g}" for axis in self.found.grid.axes)
        self.opening.start(setting_job, model, experiment, name)

    def _open_came(self, run: BestRun) -> None:
        self.opened = run
        self._show()

    # -- numbers -----------------------------------------------------------------------------------------

    def _shown_runs(self) -> list[BestRun]:
        return [*self.runs, *([] if self.opened is None else [self.opened])]

    def _show(self) -> None:
        self._draw_map()
        rows: list[list[str]] = []
        words = ""
        if self.found is not None:
            titles = [axis.title for axis in self.found.grid.axes]
            measured = setting_rows(self.found, self.found.best(SHOWN))
            cost = "cost_s" if self.found.grid.rates_vary else "cost"
            rows = [
                [
                    ", ".join(f"{title} {row[title]:.6g}" for title in titles),
                    f"{row[cost]:.6g}",
                    f"{row['largest_error']:.4g} rad",
                    f"{row['torque_rms']:.4g} N m",
                ]
                for row in measured
            ]
            words = tr(
                "{done} of {total} settings, {unstable} unstable (hatched)",
                done=self.found.done, total=len(self.found.table), unstable=self.found.unstable,
            )  # fmt: skip
        self.words.setText(words)
        self.best.show_rows(rows)
        self.best_heading.setVisible(bool(rows))
        self.compared.show_rows([run_row(run) for run in self._shown_runs()])
        self._plot()
        self.changed.emit()

    def _draw_map(self) -> None:
        across, up = self.across.currentIndex(), self.up.currentIndex()
        if self.found is None or across < 0:
            self.map.show_map(None)
            return
        self.map.show_map(heat_map(self.found, across, up))

    def _plot(self) -> None:
        k = max(self.joint.currentIndex(), 0)
        units, words = joint_units(self.model), joint_words(self.model)
        lines = [
            Line(run.name, run.trace.time_s, run.trace.error[:, k] / units[k], f"curve {number}", number)
            for number, run in enumerate(self._shown_runs())
        ]
        self.errors.show_lines(lines, words[k])

    # -- the scene ---------------------------------------------------------------------------------------

    @property
    def shown(self) -> BestRun | None:
        """The run that is played: of the cell that was opened, else the best one."""
        return self.opened or (self.runs[-1] if self.runs else None)

    def timeline(self) -> Timeline:
        """The run that is shown."""
        run = self.shown
        if run is None:
            return STILL
        end_s = float(run.trace.time_s[-1])
        times = [k * MOMENT_S for k in range(int(end_s / MOMENT_S) + 1) if k * MOMENT_S < end_s]
        return Timeline(end_s, tuple(Moment(t, f"{run.name}: {t:.2f} s") for t in (*times, end_s)))

    def picture(self, time_s: float) -> Picture:
        """The arm in that run, and where it should be."""
        size_m, run = arm_length_m(self.model), self.shown
        if run is None:
            return Picture(arms=(Arm(self.model, self.home),), size_m=size_m)
        times = run.trace.time_s
        tick = min(int(times.searchsorted(time_s - 1e-9)), len(times) - 1)
        actual = self.robot.link_frames(run.trace.actual[tick])
        wanted = self.robot.link_frames(run.trace.wanted[tick])
        return Picture(arms=(Arm(self.model, actual), Arm(self.model, wanted, "commanded", GHOST)), size_m=size_m)

    def show_moment(self, time_s: float) -> None:
        """The mark in the plot."""
        self.errors.mark(time_s)

    # -- what is taken along -----------------------------------------------------------------------------

    def command_text(self) -> str:
        """As `hil tune` is typed."""
        if self._command:
            return self._command
        options = [word for each in self.form.good["vary"].split() for word in ("--vary", each)]
        return shlex.join(["hil", "tune", *self.form.options(), *options])

    def data(self) -> Sheet:
        """Every setting that was run, with what it measured."""
        if self.found is None:
            return Sheet((), [])
        rows = setting_rows(self.found, range(len(self.found.table)))
        heads = tuple(rows[0]) if rows else ()
        return Sheet(heads, [list(row.values()) for row in rows])

    def close(self) -> None:
        """End what works."""
        self.bar.end()
        self.opening.stop()
        self._command = ""
        self._searching = None


def run_row(run: BestRun) -> list[str]:
    """A run in a line, in the words of the command."""
    summary = run.summary
    return [
        run.name,
        "unstable" if summary.cost_s is None else f"{summary.cost_s:.5g} s",
        f"{summary.tool_largest_mm:.3g} mm",
        f"{summary.tool_end_mm:.3g} mm",
        f"{max(joint.largest_torque for joint in summary.joints):.4g} N m",
    ]
