"""A curve of formulas: typed, placed, followed by the arm sample by sample, sent to the preview."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

import numpy as np
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QSpinBox, QWidget

from hil.dashboard.arm import arm_of_model
from hil.dashboard.learn.dh_file import robot_word
from hil.dashboard.learn.fields import Text, column_of, heading, quietly
from hil.dashboard.learn.form import FieldKind, Form
from hil.dashboard.learn.jobs import curve_job
from hil.dashboard.learn.plot import Line, LinePlot
from hil.dashboard.learn.view import LessonView
from hil.dashboard.learn.work_bar import WorkBar
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.errors import HilError
from hil.kernels.scalar import FloatArray
from hil.lessons.curves import (
    CurveAnswer,
    curve_of,
    fields_of,
    index_of,
    moved_to,
    table_of,
    table_text,
    task_text,
)
from hil.lessons.faults import FieldError, FieldErrors
from hil.lessons.picture import Arm, Lines, Picture, Points, way_lines
from hil.lessons.sheet import Sheet
from hil.lessons.timeline import STILL, Moment, Timeline
from hil.model.files import find, list_names, read_toml, user_dir
from hil.model.link_shapes import arm_length_m
from hil.model.robot import RobotModel
from hil.model.specification import unit_of
from hil.paths.curve_file import CurveFile, Family
from hil.paths.curve_samples import CurveSamples, SamplesHead, joint_columns, samples_text
from hil.paths.curves import CLOSED_M, length_m
from hil.robot import Robot
from hil.units import MM

FIRST = "sphere"
DRAFT = "lesson-curve"
"""Name of the file in the user's folder that has what was typed last."""

ASK_AFTER_MS = 250
"""What the arm reaches is asked for once nothing was typed or dragged for so long."""

DT_S = 0.05
NEEDLE_M = 0.02

KINDS = (
    FieldKind("title", "title"),
    FieldKind("x", "x =", "a formula of the parameters and constants; empty where a parameter is called x"),
    FieldKind("y", "y =", "a formula"),
    FieldKind("z", "z =", "a formula"),
    FieldKind("unit", "unit", "of what the formulas give: mm, cm or m"),
    FieldKind("constants", "constants", "a = 40; b = 2*pi"),
    FieldKind("p1.name", "1st parameter"),
    FieldKind("p1.start", "from"),
    FieldKind("p1.end", "to"),
    FieldKind("p1.unit", "unit", "deg, rad, or nothing"),
    FieldKind("p1.count", "curves", "where this parameter chooses one of a family"),
    FieldKind("p2.name", "2nd parameter", "empty for one curve alone"),
    FieldKind("p2.start", "from"),
    FieldKind("p2.end", "to"),
    FieldKind("p2.unit", "unit", "deg, rad, or nothing"),
    FieldKind("p2.count", "curves", "where this parameter chooses one of a family"),
    FieldKind("along", "along", "with two parameters: the one that runs along the curve"),
    FieldKind("index", "curve number", "of the family, from 1"),
    FieldKind("samples", "samples", "both ends included"),
    FieldKind("shift_mm", "shift, mm", "x, y, z; Ctrl and a drag in the scene moves the curve's middle there"),
    FieldKind("turn_deg", "turn, deg", "about x, then y, then z"),
    FieldKind("scale", "scale"),
    FieldKind("dt", "seconds a sample", "for the time line, the speed and the samples for the arm"),
)


class CurvesView(LessonView):
    """One curve, and what the arm makes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: CurveAnswer | None = None
        self._source = FIRST
        self.table = read_toml(find("curves", FIRST))
        self.read: CurveFile
        self.points_m: FloatArray = np.zeros((0, 3))
        self.choice = QComboBox()
        self.choice.setAccessibleName(tr("Curve to begin with"))
        self.choice.addItems([name for name in list_names("curves") if _of_formulas(name)])
        self.choice.setCurrentText(FIRST)
        self.choice.activated.connect(lambda _: self.load(self.choice.currentText()))
        self.form = Form(KINDS, {**fields_of(self.table), "dt": f"{DT_S:g}"}, self._check)
        self.form.changed.connect(self._typed)
        self.number = QSpinBox()
        self.number.setAccessibleName(tr("Curve of the family"))
        self.number.valueChanged.connect(lambda value: self.form.take({"index": str(value)}))
        self.family = QLabel()
        self.family.setWordWrap(True)
        self.even = QCheckBox(tr("at equal lengths: the speed is constant"))
        self.even.toggled.connect(lambda _: self._renew())
        self.bar = WorkBar(tr("What the arm reaches"), self._ask, self)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._ask)
        self.bar.work.told.connect(lambda told: self.bar.told(*told))
        self.bar.work.done.connect(self._answered)
        self.bar.work.failed.connect(self.said)
        self.figures = Text(tr("The curve in numbers"), 7, sentences=True)
        self.speeds = LinePlot(tr("Speed of the tool along the curve"), tr("time, s"), tr("mm/s"))
        parts: list[QWidget] = [
            heading(tr("A curve")), self.choice, self.family, self.number, self.figures, self.bar, self.even,
            self.speeds, heading(tr("Its formulas")), self.form,
        ]  # fmt: skip
        self.worksheet = column_of(parts)

    def set_robot(self, model: RobotModel) -> None:
        """This arm from now on; the curve stays."""
        self.close()
        self.model, self.robot = model, Robot(model)
        self.home = self.robot.link_frames([axis.home for axis in arm_of_model(model).axes])
        self._renew()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self.form.set_theme(theme)
        self.speeds.set_theme(theme)

    def undo(self) -> None:
        """Take back what was typed last."""
        self.form.undo()

    def redo(self) -> None:
        """Do again what was taken back."""
        self.form.redo()

    def load(self, name: str) -> None:
        """Another curve to begin with; undo brings the one before back."""
        self._source = name
        self.form.take({**fields_of(read_toml(find("curves", name))), "dt": self.form.good["dt"]})

    # -- what is asked -----------------------------------------------------------------------------------

    def _check(self, values: Mapping[str, str]) -> None:
        curve_of(values)
        try:
            dt_s = float(values["dt"])
        except ValueError:
            dt_s = 0.0
        if not 0.0 < dt_s <= 60.0:
            raise FieldErrors((FieldError("dt", f"{values['dt']!r} given; allowed: more than 0, up to 60 s"),))

    @property
    def dt_s(self) -> float:
        """From one sample to the next."""
        return float(self.form.good["dt"])

    @property
    def index(self) -> int | None:
        """Of the family."""
        return index_of(self.form.good) if self.read.family is not None else None

    def _typed(self) -> None:
        if self.table_is_bundled(self._source):
            self._renew()
            return
        found = next((name for name in list_names("curves") if _of_formulas(name) and self.table_is_bundled(name)), "")
        self._source = found
        if not found:
            self._keep_draft()
        self._renew()

    def table_is_bundled(self, name: str) -> bool:
        """Whether the fields are those of a file that is there, but for the curve's number."""
        if not name:
            return False
        try:
            kept = fields_of(read_toml(find("curves", name)))
        except HilError:
            return False
        return all(kept[key] == self.form.good[key] for key in kept if key != "index")

    def _keep_draft(self) -> None:
        """What was typed, as a file that the command finds and that outlives the window."""
        folder = user_dir() / "curves"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{DRAFT}.toml").write_text(table_text(table_of(self.form.good)), encoding="utf-8")
        except OSError as error:
            self.said.emit(f"{error.filename}: {error.strerror}")
        else:
            self._source = DRAFT

    def _renew(self) -> None:
        """The curve at once; what the arm makes of it as soon as that is known."""
        self.table, self.read = curve_of(self.form.good)
        self.points_m = self.read.points_m(even=self.even.isChecked())
        self.answer = None
        family = self.read.family
        self.number.setVisible(family is not None)
        if family is None:
            self.family.setText(tr("one curve alone"))
        else:
            self.family.setText(
                f"curve {family.index} of {family.count}, {family.name} = {family.value:.6g} {family.unit}".rstrip()
            )
            quietly(self.number, lambda: self._number_within(family))
        self._show_figures()
        self._ask_soon()
        self.changed.emit()

    def _number_within(self, family: Family) -> None:
        self.number.setRange(1, family.count)
        self.number.setValue(family.index)

    def _ask_soon(self) -> None:
        self.bar.end()
        self._soon.start(ASK_AFTER_MS)

    def _ask(self) -> None:
        self.bar.work.start(curve_job, self.model, self.table, self.index, self.even.isChecked())
        self.bar.started()

    def _answered(self, answer: CurveAnswer) -> None:
        self.answer = answer
        self._show_figures()
        self.changed.emit()

    def _show_figures(self) -> None:
        gap_m = self.read.closure_gap_m
        ends = "closed" if gap_m <= CLOSED_M else f"not closed: its end is {gap_m / MM:.2f} mm from its start"
        lines = [f"{len(self.points_m)} samples, {length_m(self.points_m) / MM:.1f} mm long, {ends}"]
        speeds = np.linalg.norm(np.diff(self.points_m, axis=0), axis=1) / MM / self.dt_s
        lines.append(f"speed {speeds.min():.2f} to {speeds.max():.2f} mm/s, {speeds.mean():.2f} on the average")
        if self.answer is not None:
            reach = self.answer.reach
            count, total = sum(reach.reached), len(reach.reached)
            lines.append(f"{self.robot.name} reaches {count} of {total} samples, {100 * reach.share:.0f} %")
            first = reach.first_outside
            if first is not None:
                x, y, z = (float(value) for value in self.points_m[first] / MM)
                lines.append(f"sample {first + 1} at {x:.1f}, {y:.1f}, {z:.1f} mm: {reach.reasons[first]}")
        self.figures.show_text("\n".join(lines))
        times: FloatArray = self.dt_s * (np.arange(len(speeds), dtype=np.float64) + 0.5)
        self.speeds.show_lines([Line(tr("along the arc"), times, speeds)])

    # -- the scene ---------------------------------------------------------------------------------------

    def picked(self, point_m: tuple[float, float, float]) -> None:
        """The curve's middle is put there."""
        self.form.take(moved_to(self.form.good, self.points_m, point_m))

    def timeline(self) -> Timeline:
        """A moment for each sample."""
        if self.answer is None:
            return STILL
        reach = self.answer.reach
        moments = tuple(
            Moment(k * self.dt_s, tr("sample {number}: {words}", number=k + 1, words=reason or tr("reached")))
            for k, reason in enumerate(reach.reasons)
        )
        return Timeline(self.dt_s * (len(moments) - 1), moments)

    def show_moment(self, time_s: float) -> None:
        """The mark in the plot."""
        self.speeds.mark(time_s)

    def _sample(self, time_s: float) -> int:
        return min(max(round(time_s / self.dt_s), 0), len(self.points_m) - 1)

    def picture(self, time_s: float) -> Picture:
        """Surface, curve, samples by reach, the tool's axis, and the arm at the moment's sample."""
        answer, frames = self.answer, self.home
        lines = [Lines(way_lines(self.points_m), "accent", 2.0)]
        points: list[Points] = []
        if answer is None:
            points.append(Points(self.points_m, "faint", 5.0))
        else:
            for strip in answer.surface:
                lines.append(Lines(way_lines(strip), "faint", 1.0))
            good = np.array(answer.reach.reached)
            points += [
                Points(self.points_m[which], colour, 6.0)
                for which, colour in ((good, "good"), (~good, "bad"))
                if which.any()
            ]
            if good.any():
                tips = self.points_m[good] - NEEDLE_M * answer.axes[good]
                lines.append(Lines(np.stack([tips, self.points_m[good]], axis=1), "previewed", 1.0))
                reached = np.flatnonzero(good)
                before = reached[reached <= self._sample(time_s)]
                frames = self.robot.link_frames(answer.reach.q[before[-1] if len(before) else reached[0]])
        return Picture(
            arms=(Arm(self.model, frames),), lines=tuple(lines), points=tuple(points), size_m=arm_length_m(self.model)
        )

    # -- what is taken along -----------------------------------------------------------------------------

    def command_text(self) -> str:
        """As `hil curve` is typed; what was typed here is a file of the user's own."""
        words = ["hil", "curve", self._source, robot_word(self.model)]
        if self.index is not None:
            words += ["--index", str(self.index)]
        return shlex.join([*words, "--even"] if self.even.isChecked() else words)

    def data(self) -> Sheet:
        """Samples with time, joints, and why one is not reached."""
        units = [unit_of(joint) for joint in self.model.joints]
        heads = ["t_s", "x_mm", "y_mm", "z_mm"]
        heads += [f"{joint.name}_{unit[1]}" for joint, unit in zip(self.model.joints, units, strict=True)]
        rows: list[list[float | str]] = []
        for k, point in enumerate((self.points_m / MM).tolist()):
            joints: list[float | str] = [""] * len(units)
            reason = ""
            if self.answer is not None:
                reason = self.answer.reach.reasons[k]
                if not reason:
                    q = self.answer.reach.q[k].tolist()
                    joints = [value / unit[0] for value, unit in zip(q, units, strict=True)]
            rows.append([k * self.dt_s, *point, *joints, reason])
        return Sheet((*heads, "not_reached"), rows)

    def task_text(self) -> str:
        """The arm along the curve; nothing where it does not reach all of it."""
        if self.answer is None or self.answer.reach.first_outside is not None:
            return ""
        return task_text(self.table, self.index, self.form.good["title"] or DRAFT)

    def entries(self) -> tuple[tuple[str, Any], ...]:
        """The curve as a file, and its samples for the arm."""
        return (
            (tr("Curve file (TOML)"), lambda: table_text(self.table, self.index)),
            (tr("Samples for the arm (CSV)"), self.samples_text),
        )

    def samples_text(self) -> str:
        """As `hil curve --csv` writes them; without joints where the arm does not reach all of it."""
        head = SamplesHead(title=self.read.title, dt_s=self.dt_s)
        joints: tuple[str, ...] = ()
        positions = np.empty((len(self.points_m), 0))
        if self.answer is not None and self.answer.reach.first_outside is None:
            head = SamplesHead(title=self.read.title, dt_s=self.dt_s, robot=self.robot.name)
            joints, units = joint_columns(self.model)
            positions = self.answer.reach.q / units
        return samples_text(CurveSamples(head, self.points_m / MM, joints, positions))

    def close(self) -> None:
        """End what works."""
        self._soon.stop()
        self.bar.end()


def _of_formulas(name: str) -> bool:
    try:
        return "text" not in read_toml(find("curves", name))
    except (HilError, tomllib.TOMLDecodeError):
        return False
