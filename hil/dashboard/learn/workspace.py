"""What the arm reaches: clouds by segment, planes, places, and what a box asks of the joints."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping

import numpy as np

from hil.dashboard.arm import arm_of_model
from hil.dashboard.learn.dh_file import robot_word
from hil.dashboard.learn.fields import Text
from hil.dashboard.learn.form import Form
from hil.dashboard.learn.jobs import box_job, reach_job, with_clouds
from hil.dashboard.learn.view import LessonView, alike
from hil.dashboard.learn.workspace_sheet import WorkspaceSheet, number_or_none, three_numbers
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.errors import CommandError, HilError
from hil.kinematics.limits import Range, range_of
from hil.kinematics.results import IkResult
from hil.kinematics.workspace.joint_workspace import JointWorkspace
from hil.kinematics.workspace.reach_volume import is_coarse
from hil.lessons.boxes import BoxAsk, dexterity, places_of
from hil.lessons.faults import FieldError, FieldErrors
from hil.lessons.picture import Arm, Picture, Points
from hil.lessons.sheet import Sheet
from hil.lessons.workspaces import (
    PlaneArea,
    Reached,
    Size,
    WorkspaceAsk,
    grouped,
    plane_area,
    size_of,
    solutions_at,
)
from hil.model.link_shapes import arm_length_m
from hil.model.robot import RobotModel
from hil.model.specification import unit_of
from hil.robot import Robot
from hil.units import MM

GHOST = 0.4
MOST_GHOSTS = 8
ROOM = 1.25
"""Clouds reach all around the arm."""


class WorkspaceView(LessonView):
    """Sweeps, planes, places and boxes of one arm."""

    model: RobotModel

    def __init__(self) -> None:
        super().__init__()
        self.reached: Reached | None = None
        self.ask: WorkspaceAsk | None = None
        self.area: PlaneArea | None = None
        self.need: JointWorkspace | None = None
        self.box_ask: BoxAsk | None = None
        self.place_mm: tuple[float, float, float] | None = None
        self.ways: IkResult | None = None
        self._meant = False
        self._command = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        checks = {
            "sweep": self._check_sweep, "plane": self._check_plane, "place": self._check_place, "box": self._check_box,
        }  # fmt: skip
        sheet = self.sheet = WorkspaceSheet(self, checks, self.sweep, self.try_box)
        self.worksheet = sheet
        sheet.form.changed.connect(self._asked)
        sheet.closed.toggled.connect(lambda _: self._asked())
        sheet.shown.connect(self.changed)
        sheet.plane.changed.connect(self._cut)
        sheet.axis.currentIndexChanged.connect(lambda _: self._cut())
        sheet.place.changed.connect(self._look_at_place)
        sheet.bar.work.told.connect(lambda told: sheet.bar.told(*told))
        sheet.bar.work.done.connect(self._swept)
        sheet.bar.work.failed.connect(self.said)
        sheet.box_bar.work.told.connect(lambda told: sheet.box_bar.told(*told))
        sheet.box_bar.work.done.connect(self._tried)
        sheet.box_bar.work.failed.connect(self.said)

    def set_robot(self, model: RobotModel) -> None:
        """This arm from now on."""
        self.close()
        keep = hasattr(self, "model") and alike(self.model, model)
        self.model, self.robot = model, Robot(model)
        self.q = [axis.home for axis in arm_of_model(model).axes]
        self.frames = self.robot.link_frames(self.q)
        self.reached = self.area = self.need = self.place_mm = self.ways = self.ask = self.box_ask = None
        sheet = self.sheet
        tool_mm = self.frames[-1, :3, 3] / MM
        near, far = (", ".join(f"{v:.0f}" for v in tool_mm + by) for by in (-50.0, 50.0))
        for form in sheet.forms:
            first = {"corner": near, "opposite": far} if form is sheet.box else {}
            (form.keep_or_renew if keep else form.renew)(first)
        sheet.show_segments([], [])
        for text in (sheet.figures, sheet.ways):
            tell(text, "")
        sheet.needs.show_rows([])
        for label in (sheet.box_words, sheet.area):
            label.setText("")
            label.hide()
        sheet.show_slice(None)
        self._asked()
        if sheet.place.good["place"].strip():
            self._look_at_place()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self.sheet.set_theme(theme)

    def undo(self) -> None:
        """Take back what was typed last in the form with the focus."""
        self._form().undo()

    def redo(self) -> None:
        """Do again what was taken back."""
        self._form().redo()

    def _form(self) -> Form:
        focus = self.worksheet.focusWidget()
        return next(
            (form for form in self.sheet.forms if focus is not None and form.isAncestorOf(focus)), self.sheet.form
        )

    # -- what is asked -----------------------------------------------------------------------------------

    def _ask_of(self, values: Mapping[str, str]) -> WorkspaceAsk:
        step_deg, step_mm, voxel_mm = (number_or_none(values, key) for key in ("step_deg", "step_mm", "voxel_mm"))
        return WorkspaceAsk(
            robot=robot_word(self.model),
            step_deg=step_deg,
            step_mm=step_mm,
            joints=values["joints"].strip(),
            ranges=tuple(values["ranges"].split()),
            closed=self.sheet.closed.isChecked(),
            voxel_mm=voxel_mm,
        )

    def _check_sweep(self, values: Mapping[str, str]) -> Size:
        return size_of(self.robot, self._ask_of(values))

    def _check_plane(self, values: Mapping[str, str]) -> None:
        at_mm = number_or_none(values, "at")
        if at_mm is not None and self.reached is not None and self.reached.reach is not None:
            plane_area(self.reached.reach, self.sheet.axis.currentText(), at_mm)

    def _check_place(self, values: Mapping[str, str]) -> None:
        if values["place"].strip():
            three_numbers(values, "place")

    def _box_of(self, values: Mapping[str, str]) -> BoxAsk:
        return BoxAsk(
            robot=robot_word(self.model),
            corner_mm=three_numbers(values, "corner"),
            opposite_mm=three_numbers(values, "opposite"),
            step_mm=number_or_none(values, "step"),
            pitch_deg=number_or_none(values, "pitch"),
            roll_deg=number_or_none(values, "roll"),
        )

    def _check_box(self, values: Mapping[str, str]) -> None:
        ask = self._box_of(values)
        try:
            places_of(ask)
        except CommandError as error:
            raise FieldErrors((FieldError("pitch" if "pitch" in str(error) else "step", str(error)),)) from None

    def _asked(self) -> None:
        """Another sweep is meant: how much it is."""
        self._meant = False
        self.size: Size | None = None
        try:
            self.size = self._check_sweep(self.sheet.form.good)
        except HilError as error:  # an arm with a slide that has no limits: its range is asked for
            self.sheet.amount.setText(str(error))
            return
        words = tr(
            "{points} points; {closed} with the upper ends, {half} without",
            points=grouped(self.size.points), closed=grouped(self.size.closed), half=grouped(self.size.half_open),
        )  # fmt: skip
        if self.size.warning:
            words += "\n" + tr(
                "Warning: {warning}. Press Sweep twice to do it all the same.", warning=self.size.warning
            )
        self.sheet.amount.setText(words)

    # -- the sweep ---------------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Begin; a great many points are asked for twice."""
        if self.size is None or self.is_wrong(self.sheet.form):
            return
        if self.size.warning and not self._meant:
            self._meant = True
            self.said.emit(self.size.warning)
            return
        self.said.emit("")
        self.ask = self._ask_of(self.sheet.form.good)
        self._forget_files()
        self._folder = tempfile.TemporaryDirectory(prefix="hil-lessons-", ignore_cleanup_errors=True)
        self.sheet.bar.work.start(reach_job, self.model, self.ask, self._folder.name)
        self.sheet.bar.started()

    def _swept(self, reached: Reached) -> None:
        assert self._folder is not None and self.ask is not None
        self.reached = with_clouds(reached, self._folder.name)
        self._command = shlex.join(self.ask.command())
        segments = reached.report["segments"]
        rows = [
            [
                cloud.name,
                grouped(each["points_closed"]),
                grouped(each["points_half_open"]),
                grouped(len(cloud.points_m)),
                f"{seconds:.2f}",
            ]
            for cloud, each, seconds in zip(self.reached.clouds, segments, reached.times_s, strict=True)
        ]
        self.sheet.show_segments(rows, [True] * len(rows))
        tell(self.sheet.figures, "\n".join(reach_lines(reached)))
        self._cut()
        self.changed.emit()

    def _cut(self) -> None:
        """The plane that is asked for, through what was swept with a voxel."""
        self.area = None
        mapped = None if self.reached is None else self.reached.reach
        at_mm = number_or_none(self.sheet.plane.good, "at")
        cells = None
        words = ""
        if mapped is not None and at_mm is not None:
            axis = self.sheet.axis.currentText()
            try:
                self.area = plane_area(mapped, axis, at_mm)
                cells = mapped.slice("xyz".index(axis), at_mm * MM)
                words = (
                    f"plane {axis} = {at_mm:g} mm: {self.area.reached_m2:.6g} m2 within reach, "
                    f"{self.area.void_m2:.6g} m2 in voids"
                )
            except CommandError as error:
                words = str(error)
        elif at_mm is not None:
            words = tr("sweep with a voxel first")
        self.sheet.area.setText(words)
        self.sheet.area.setVisible(bool(words))
        self.sheet.show_slice(cells)

    # -- a place -----------------------------------------------------------------------------------------

    def picked(self, point_m: tuple[float, float, float]) -> None:
        """A place in the scene: every way to it."""
        self.sheet.place.take({"place": ", ".join(f"{value / MM:.1f}" for value in point_m)})
        for part in (self.sheet.place, self.sheet.ways):
            self.sought.emit(part)

    def _look_at_place(self) -> None:
        values = self.sheet.place.good
        self.place_mm = self.ways = None
        if not values["place"].strip():
            # A place that was taken back: the figures that are left are the sweep's.
            self._command = shlex.join(self.ask.command()) if self.ask is not None and self.reached is not None else ""
            tell(self.sheet.ways, "")
            self.changed.emit()
            return
        self.place_mm = three_numbers(values, "place")
        self.ways = solutions_at(self.robot, self.place_mm)
        self._command = shlex.join(
            ["hil", "ik", robot_word(self.model), *(f"{value:.10g}" for value in self.place_mm), "--all"]
        )
        tell(self.sheet.ways, "\n".join(way_texts(self.model, self.ways)))
        self.changed.emit()

    # -- a box -------------------------------------------------------------------------------------------

    def try_box(self) -> None:
        """Begin."""
        if self.is_wrong(self.sheet.box):
            return
        self.box_ask = self._box_of(self.sheet.box.good)
        self.sheet.box_bar.work.start(box_job, self.model, self.box_ask)
        self.sheet.box_bar.started()

    def _tried(self, need: JointWorkspace) -> None:
        assert self.box_ask is not None
        self.need = need
        self._command = shlex.join(self.box_ask.command())
        limits = [range_of(joint) for joint in self.model.joints]
        rows = []
        for each, limit in zip(need.joints, limits, strict=True):
            texts = [
                "nothing within reach" if low is None and high is None and what == "needed" else
                f"{'open' if low is None else _bare(limit, low)} to {'open' if high is None else limit.text(high)}"
                for what, low, high in (
                    ("limits", each.lower, each.upper), ("needed", each.needed_lower, each.needed_upper),
                )
            ]  # fmt: skip
            lamp = f"LIT: {each.lamp} places, by up to {limit.text(each.worst)}" if each.lamp else "off"
            rows.append([each.name, lamp, *texts])
        self.sheet.needs.show_rows(rows)
        ways = dexterity(need)
        places = ", ".join(f"{count} with {number}" for number, count in enumerate(ways.places))
        self.sheet.box_words.show()
        self.sheet.box_words.setText(
            tr(
                "{count} places: {usable} can be used, {beyond} only beyond limits, {out} are out of reach. Postures "
                "within limits at a place: {mean} on the average; places: {places}",
                count=len(need.samples), usable=need.usable, beyond=need.beyond_limits, out=need.out_of_reach,
                mean=f"{ways.mean:.2f}", places=places,
            )
        )  # fmt: skip
        self.changed.emit()

    # -- what is drawn and taken along -------------------------------------------------------------------

    def picture(self, time_s: float) -> Picture:
        """The arm at home, the clouds that are ticked, the place with its postures, the box's places."""
        points: list[Points] = []
        if self.reached is not None:
            wanted = self.sheet.wanted()
            # The largest first: what few points have is drawn over it.
            order = sorted(range(len(self.reached.clouds)), key=lambda k: -len(self.reached.clouds[k].points_m))  # type: ignore[union-attr]
            for k in order:
                if wanted[k]:
                    cloud = self.reached.clouds[k]
                    size_px = 1.0 if len(cloud.points_m) > 50_000 else 3.0
                    points.append(Points(cloud.points_m, f"curve {k}", size_px, even=True))
        if self.need is not None:
            points += _box_points(self.need)
        arms = [Arm(self.model, self.frames)]
        if self.place_mm is not None:
            points.append(Points(np.array([self.place_mm]) * MM, "bad" if self._no_way() else "good", 7.0))
            usable = [] if self.ways is None else [s for s in self.ways.solutions if s.within_limits]
            arms += [
                Arm(self.model, self.robot.link_frames(solution.q), f"curve {number}", GHOST)
                for number, solution in enumerate(usable[:MOST_GHOSTS])
            ]
        return Picture(arms=tuple(arms), points=tuple(points), size_m=ROOM * arm_length_m(self.model))

    def _no_way(self) -> bool:
        return self.ways is None or not any(s.within_limits for s in self.ways.solutions)

    def command_text(self) -> str:
        """What prints the figures that were asked for last."""
        if not self._command:
            return shlex.join(self._ask_of(self.sheet.form.good).command())
        if self.area is not None and self.ask is not None and self._command == shlex.join(self.ask.command()):
            return f"{self._command} --plane {self.area.axis}:{self.area.at_mm:g}"
        return self._command

    def data(self) -> Sheet:
        """Segments with their points and times."""
        rows: list[list[float | str]] = []
        if self.reached is not None:
            for cloud, each, seconds in zip(
                self.reached.clouds, self.reached.report["segments"], self.reached.times_s, strict=True
            ):
                rows.append([cloud.name, each["points_closed"], each["points_half_open"], len(cloud.points_m), seconds])
        return Sheet(("segment", "points_closed", "points_half_open", "drawn", "seconds"), rows)

    def close(self) -> None:
        """End what works, and forget the clouds."""
        self.sheet.bar.end()
        self.sheet.box_bar.end()
        self.reached = None
        self._command = ""
        self._forget_files()

    def _forget_files(self) -> None:
        """What is drawn stays readable until it is drawn no more."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def tell(text: Text, words: str) -> None:
    """Show it, and nothing where there is nothing to say."""
    text.show_text(words)
    text.setVisible(bool(words))


def reach_lines(reached: Reached) -> list[str]:
    """The figures in the words of the command."""
    report = reached.report
    lines = [f"{grouped(report['points'])} points, elapsed {report['elapsed_s']:.3f} s"]
    bounds = report["bounds"]
    for axis, low, high in zip("xyz", bounds.lower_m, bounds.upper_m, strict=True):
        lines.append(f"{axis} from {low / MM:z.1f} to {high / MM:z.1f} mm")
    lines.append(f"stretched out {report['stretched_out_m'] / MM:.1f} mm")
    lines.append(f"every place within reach is {report['nearness_m'] / MM:.1f} mm or less from a point")
    if reached.reach is None:
        return lines
    summary = reached.reach.summary
    if is_coarse(report["nearness_m"], summary.voxel_m):
        return [*lines, "coarse: a larger voxel or a smaller step tells volume, voids and holes"]
    size = f"volume {summary.volume_m3:.6g} m3" if summary.area_m2 is None else f"area {summary.area_m2:.6g} m2"
    lines.append(f"{size}; voxel {summary.voxel_m / MM:g} mm")
    lines.append(
        f"connected pieces: {summary.pieces}; holes through: {summary.holes or 'none'}; "
        f"voids enclosed: {len(summary.voids) or 'none'}"
    )
    return lines


def way_texts(model: RobotModel, ways: IkResult) -> list[str]:
    """Each posture with its values, or why there is none."""
    units = [unit_of(joint)[0] for joint in model.joints]
    lines = [
        f"{number}: {', '.join(f'{v / unit:z.2f}' for v, unit in zip(s.q, units, strict=True))}  {s.branch}"
        f"{'' if s.within_limits else '  beyond limits'}"
        for number, s in enumerate(ways.solutions, 1)
    ]
    return [*lines, ways.reason] if ways.reason else lines


def _box_points(need: JointWorkspace) -> list[Points]:
    kinds: dict[str, list[tuple[float, float, float]]] = {"good": [], "warn": [], "bad": []}
    for sample in need.samples:
        kind = "good" if sample.usable else "warn" if sample.solutions else "bad"
        kinds[kind].append(sample.point_m)
    return [Points(np.array(places), kind, 4.0) for kind, places in kinds.items() if places]


def _bare(limit: Range, value: float) -> str:
    """A coordinate without its unit, which stands once, behind the other end of its range."""
    return limit.text(value).rpartition(" ")[0]
