"""Draws every view of the dashboard and saves pictures of the screen, at the size of a small and of a big one."""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import numpy as np
from pretend import PretendLink
from previews_here import previewer
from PySide6.QtCore import QEvent, QSettings, Qt
from PySide6.QtWidgets import QScrollArea, QWidget
from stl_files import BOX_FACES
from urdf_files import ARM

from hil.dashboard.application import make_application
from hil.dashboard.arm import ShownArm, arm_of_rig
from hil.dashboard.drive_hand import DriveHand
from hil.dashboard.learn.app import LearnWindow
from hil.dashboard.session import Session
from hil.dashboard.window import Window
from hil.lessons.dh_table import COLUMNS
from hil.model.reader import load_robot
from hil.model.stl import write_stl
from hil.own_program import HIL
from hil.runtime.wiring import load_rig
from hil.service.rights import Role
from hil.service.wire import LeasePhase
from hil.types import Mode, StateSource
from hil.units import DEG, MM

FOLDER = Path(__file__).parents[1] / "docs" / "screens"
TASKS = Path(__file__).parents[1] / "configs" / "tasks"
FAULTY = Path(__file__).parents[1] / "tests" / "dashboard" / "tasks"
SMALL, BIG = (1280, 800), (2560, 1440)
LONGEST_JOB_S = 120.0
FALL = 2
LOOK_S = 3.0
"""How long a view is drawn before its picture is kept: graphs and scene need some frames."""


PROOF_S = 60.0
"""A program is proved in less."""


class Camera(NamedTuple):
    """Where pictures go, and how long each is looked at."""

    folder: Path
    look_s: float


class Studio:
    """One window with an arm that has moved for a while."""

    def __init__(self, size: tuple[int, int], theme: str, *, opengl: bool = True, rig: str = "lynx6") -> None:
        self.app = make_application()
        self.arm: ShownArm = arm_of_rig(load_rig(rig))
        self.now_s = 0.0
        self.link = PretendLink(self.arm)
        self.session = Session(self.link, clock=lambda: self.now_s)
        with tempfile.TemporaryDirectory() as folder:
            settings = QSettings(str(Path(folder) / "screens.ini"), QSettings.Format.IniFormat)
            settings.setValue("theme", theme)
            self.window: Any = Window(self.session, settings, opengl=opengl, size=size)
        self.window.show()
        self.link.begin()
        self.link.mode = Mode.IDLE
        self.run(3.0)
        self.link.mode = Mode.STREAMING
        self.run(25.0)

    def run(self, seconds: float) -> None:
        """Let time go on for the arm."""
        for _ in range(round(seconds / 0.5)):
            self.link.advance(0.5)
            self.now_s += 0.5
            self.session.take()

    def save(self, name: str, camera: Camera) -> None:
        """Draw for a while, as it would be looked at, then keep the picture."""
        end_s = time.monotonic() + camera.look_s
        while time.monotonic() < end_s:
            if self.link.reachable:
                self.link.advance(0.04)
                self.now_s += 0.04
            self.app.processEvents()
            time.sleep(0.02)
        kept(self.app, self.window, name, camera)


class Lessons:
    """The window of the lessons on a robot, at one view."""

    def __init__(self, robot: str, view: str, size: tuple[int, int], theme: str, *, opengl: bool = True) -> None:
        self.app = make_application()
        with tempfile.TemporaryDirectory() as folder:
            settings = QSettings(str(Path(folder) / "screens.ini"), QSettings.Format.IniFormat)
            settings.setValue("theme", theme)
            self.window: Any = LearnWindow(load_robot(robot), settings, opengl=opengl, send=print)
        self.window.resize(*size)
        self.shell = self.window.shell
        self.shell.show_view(view)
        self.window.show()
        self.app.processEvents()
        self.shell.scene.fit()

    @property
    def view(self) -> Any:
        """The view that is looked at."""
        return self.shell.view

    def save(self, name: str, camera: Camera) -> None:
        """Draw for a while, then keep the picture."""
        end_s = time.monotonic() + camera.look_s
        while time.monotonic() < end_s:
            self.app.processEvents()
            time.sleep(0.02)
        kept(self.app, self.window, name, camera)


def kept(app: Any, window: Any, name: str, camera: Camera) -> None:
    """Keep the picture of a window, and let the window go."""
    camera.folder.mkdir(parents=True, exist_ok=True)
    file = camera.folder / f"{name}.png"
    picture = app.primaryScreen().grabWindow(window.winId())
    saved = picture.save(str(file))
    window.close()
    # Gone before the next one comes: Qt and Python do not agree, at their end, on who deletes what first.
    window.deleteLater()
    app.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    app.processEvents()
    if not saved:
        raise SystemExit(f"screens: {file} could not be written: is the disk full, the folder yours?")
    print(f"{file} {picture.width()}x{picture.height()}", flush=True)


def live(size: tuple[int, int], theme: str, *, opengl: bool = True, rig: str = "lynx6") -> Studio:
    """The window as it opens."""
    studio = Studio(size, theme, opengl=opengl, rig=rig)
    if rig != "lynx6":
        studio.link.source = StateSource.MEASURED
    return studio


def tool() -> Studio:
    """The tool's numbers, DH frames in the scene, from above."""
    studio = Studio(SMALL, "dark")
    studio.window.docks["pose"].raise_()
    studio.window.live.show_layer("DH frames", True)
    studio.window.live.scene.look(studio.window.live.scene.camera.seen_from("left"))
    return studio


def robot() -> Studio:
    """What the robot's file says."""
    studio = Studio(SMALL, "light")
    studio.window.docks["robot"].raise_()
    return studio


def refused() -> Studio:
    """Held after a refusal, with the list of events."""
    studio = Studio(SMALL, "dark")
    studio.link.mode = Mode.HOLDING
    studio.link.changes["refusal"] = (
        "elbow: upper limit 85.0 deg, margin -2.5 deg; nearest allowed: 85.0 deg. Choose a nearer target."
    )
    studio.run(2.0)
    return studio


def lost() -> Studio:
    """The service has gone away."""
    studio = Studio(SMALL, "dark")
    studio.window.docks["events"].raise_()
    studio.link.lose("the channel was closed")
    studio.session.stop()
    return studio


def scrolled() -> Studio:
    """Curves held, one joint, read under the cursor."""
    studio = Studio(SMALL, "light")
    studio.window.bring(studio.window.docks["plots"])
    plots = studio.window.views["plots"]
    plots.pick({1})
    plots.show_span(9.0, 12.0)
    studio.app.processEvents()
    plots.refresh()
    plots.point_at(10.2)
    return studio


def tour() -> Studio:
    """The tour, where it speaks of the scene."""
    studio = Studio(SMALL, "dark")
    studio.window.tour.begin()
    while studio.window.tour.step.place != "scene":
        studio.window.tour.go(1)
    return studio


def keys() -> Studio:
    """The page of all keys."""
    studio = Studio(SMALL, "light")
    studio.window.bring(studio.window.docks["keys"])
    return studio


def preview(size: tuple[int, int], theme: str, task: Path, time_s: float | None, **options: Any) -> Studio:
    """A task that is previewed, at some moment of it, by whoever drives the arm."""
    studio, view = previewed(size, theme, task, **options)
    if time_s is not None:
        view.previewing.look(time_s)
    return studio


def sent() -> Studio:
    """The same task while it runs."""
    studio, view = previewed(SMALL, "light", TASKS / "pick-and-place.toml")
    view.sending.arm()
    studio.run(0.5)
    view.sending.press()
    for _ in range(400):
        studio.link.advance(0.02)
        studio.now_s += 0.02
        studio.session.dead_man.tick()
        studio.session.take()
    return studio


def previewed(size: tuple[int, int], theme: str, task: Path, **options: Any) -> tuple[Studio, Any]:
    """A window on a parked arm, and its Preview view with what is said of a task."""
    studio = Studio(size, theme, **options)
    rig = studio.arm.rig
    assert rig is not None  # arm_of_rig has made it of one
    studio.link.previewer = previewer(rig)
    studio.link.mode, studio.link.place = Mode.IDLE, list(rig.park)
    studio.link.lease_is(LeasePhase.HELD, yours=True, holder="Ada", waiting=0)
    studio.session.clear()
    studio.window.docks["preview"].raise_()
    view = studio.window.views["preview"]
    view.previewing.open(task)
    while view.previewing.previewed is None:
        studio.run(0.5)
    return studio, view


def drive(size: tuple[int, int], theme: str, *, rig: str = "lynx6", moves: bool = False) -> Studio:
    """The Drive view of who has the arm, one joint on its way to a target."""
    studio = Studio(size, theme, rig=rig)
    driving = driver(studio)
    driving.aim(1, driving.arm.axes[1].home - 0.9)
    if moves:
        driving.press_target("hand", 1)
    return studio


def driver(studio: Studio, role: Role = Role.DRIVE) -> DriveHand:
    """Somebody who has just got the arm, which is at rest."""
    studio.window.docks["drive"].raise_()
    studio.link.role, studio.link.mode = role, Mode.IDLE
    studio.link.come_back()
    studio.link.lease_is(LeasePhase.FREE, holder="", waiting=0, slot_left_s=None)
    driving: DriveHand = studio.window.views["drive"].driving
    driving.lease.claim()
    studio.run(0.5)
    return driving


def wizard() -> Studio:
    """An unknown pose, half of the joints driven."""
    studio = Studio(SMALL, "dark")
    driving, axes = driver(studio, Role.TEACH), studio.arm.axes
    park = tuple(axis.park for axis in axes)
    studio.link.changes |= {"commanded": (None,) * len(axes), "simulated": park, "reported": park}
    studio.link.mode, studio.link.joint_time_s = Mode.UNKNOWN_POSE, 1.0
    studio.run(0.5)
    studio.window.views["drive"].refresh()
    studio.window.views["drive"].wizard.seen.setChecked(True)
    driving.press_confirm("hand")
    return studio


def waiting() -> Studio:
    """Somebody else drives; we stand in the queue."""
    studio = Studio(SMALL, "dark")
    studio.window.docks["drive"].raise_()
    studio.link.role = Role.DRIVE
    studio.link.come_back()
    studio.link.lease_is(LeasePhase.HELD, holder="Grace", waiting=1)
    studio.run(0.5)
    studio.window.views["drive"].driving.lease.claim(wait=True)
    studio.run(0.5)
    return studio


def take_over() -> Studio:
    """Somebody else drives, and a teacher is asked whether to take the arm over."""
    studio = Studio(SMALL, "light")
    studio.window.docks["drive"].raise_()
    studio.link.role = Role.TEACH
    studio.link.come_back()
    studio.link.lease_is(LeasePhase.HELD, holder="Grace", waiting=1)
    studio.run(0.5)
    studio.window.views["drive"].refresh()
    studio.window.views["drive"].lease.over.click()
    return studio


def difference() -> Studio:
    """An arm at rest whose elbow is reported three degrees from where it was sent."""
    studio = drive((1440, 900), "dark")
    elbow, axes = 2, studio.arm.axes
    place = studio.link.place = [axis.home for axis in axes]
    studio.session.trace.clear()
    studio.window.live.scene.look(studio.window.live.scene.camera.seen_from("right"))
    errors = tuple(3.0 * DEG if axis == elbow else 0.0 for axis in range(len(axes)))
    studio.link.mode = Mode.HOLDING
    studio.link.changes |= {
        "reported": tuple(here + error for here, error in zip(place, errors, strict=True)),
        "errors": errors,
        "bands": tuple(2.0 * axis.unit for axis in axes),
        "used": tuple(abs(error) / (2.0 * DEG) for error in errors),
        "alarm": "the elbow is reported 3.0 deg from its command",
        "tool_m": None,
    }
    studio.run(1.0)
    return studio


def dh(size: tuple[int, int], theme: str, *, opengl: bool = True) -> Lessons:
    """A frame on its way through a table, the running cell lit."""
    lessons = Lessons("puma560", "dh", size, theme, opengl=opengl)
    lessons.view.sheet.first.setCurrentIndex(0)
    lessons.shell.time_bar.look(10.6)
    return lessons


def dh_wrong() -> Lessons:
    """A wrong entry, which keeps the last good robot."""
    lessons = Lessons("lynx6", "dh", SMALL, "light")
    lessons.view.sheet.table.item(2, 3).setText("15o")
    return lessons


def dh_played(robot: str, play: int, theme: str, time_s: float, **ends: int) -> Lessons:
    """A play of a table: joint motion, or from one frame to another one."""
    lessons = Lessons(robot, "dh", SMALL, theme)
    sheet = lessons.view.sheet
    sheet.play.setCurrentIndex(play)
    for name, at in ends.items():
        getattr(sheet, name).setCurrentIndex(at)
    lessons.shell.time_bar.look(time_s)
    return lessons


def from_stl() -> Lessons:
    """A link of a Lynx6 with the body of an STL: two plates and their rungs."""
    plates = [((-128.0, 8.0), (-12.0, 12.0), (side - 2.0, side + 2.0)) for side in (-20.0, 20.0)]
    rungs = [((at - 3.0, at + 3.0), (-3.0, 3.0), (-18.0, 18.0)) for at in (-95.0, -60.0, -25.0)]
    bodies = [(np.array(list(itertools.product(*sides))) * MM, k) for k, sides in enumerate([*plates, *rungs])]
    vertices = np.concatenate([corners for corners, _ in bodies])
    faces = np.concatenate([BOX_FACES + 8 * k for _, k in bodies])
    lessons = Lessons("lynx6", "dh", SMALL, "dark")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "upper-arm.stl"
        file.write_bytes(write_stl(vertices, faces))
        for link in (2, 3):
            lessons.view.sheet.bodies.link.setCurrentIndex(link)
            lessons.view.bodies.begin(str(file))
            worked(lessons, lessons.view.bodies)
    lessons.view.sheet.play.setCurrentIndex(2)
    lessons.shell.time_bar.look(1.2)
    return lessons


def imported() -> Lessons:
    """An arm from a URDF, with its table."""
    with tempfile.TemporaryDirectory() as folder:
        urdf, robot = Path(folder) / "arm.urdf", Path(folder) / "my-own.toml"
        urdf.write_text(ARM, encoding="utf-8")
        subprocess.run([*HIL, "import", str(urdf), "-o", str(robot), "--name", "My own arm"], check=True)
        return Lessons(str(robot), "dh", SMALL, "light")


def target(robot: str, theme: str, *texts: str, shown: int = 0, rows: Sequence[int] = ()) -> Lessons:
    """What is asked for usually of this arm, by number."""
    lessons = Lessons(robot, "solutions", SMALL, theme)
    sheet = lessons.view.sheet
    for field, text in zip(sheet.fields[lessons.view.history.now.kind], texts, strict=False):
        field.edit.setText(text)
    sheet.typed.emit()
    for row in rows:
        sheet.table.choose(row)
    if shown:
        sheet.shown.setCurrentIndex(shown)
    lessons.shell.time_bar.look(1.0)
    return lessons


def warned() -> Lessons:
    """A sweep of more points than are made without a second word."""
    lessons = Lessons("lynx6", "workspace", SMALL, "light")
    typed(lessons.view.sheet.form, step_deg="2.5")
    lessons.view.sweep()
    return lessons


def positions() -> Lessons:
    """The positions of a program."""
    lessons = programs(SMALL, "light")
    lessons.view.sheet.tables.setCurrentIndex(0)
    return lessons


def solutions(size: tuple[int, int], theme: str, shown: int) -> Lessons:
    """A full pose for a PUMA, as all of its solutions or step by step."""
    lessons = Lessons("puma560", "solutions", size, theme)
    fields = lessons.view.sheet.fields["pose"]
    for field, text in zip(fields, ("450", "150", "300", "170", "20", "30"), strict=True):
        field.edit.setText(text)
    lessons.view.sheet.typed.emit()
    lessons.view.sheet.shown.setCurrentIndex(shown)
    lessons.shell.time_bar.look(0.75)
    return lessons


def specification(size: tuple[int, int], theme: str) -> Lessons:
    """Three robots in one table."""
    lessons = Lessons("puma560", "specification", size, theme)
    for box, name in zip(lessons.view.others, ("lynx6", "ur5"), strict=True):
        box.setCurrentText(name)
    lessons.view.table.setCurrentCell(15, 1)
    lessons.shell.scene.fit()
    return lessons


def worked(lessons: Lessons, *bars: Any) -> Lessons:
    """Once the jobs in their own processes are done."""
    end_s = time.monotonic() + LONGEST_JOB_S
    while any(bar.work.busy for bar in bars) and time.monotonic() < end_s:
        lessons.app.processEvents()
        time.sleep(0.02)
    return lessons


def bring(lessons: Lessons, widget: QWidget) -> None:
    """Scroll the worksheet to something."""
    sheet = lessons.shell.sheets.currentWidget()
    assert isinstance(sheet, QScrollArea)
    lessons.app.processEvents()
    sheet.ensureWidgetVisible(widget)


def typed(form: Any, **texts: str) -> None:
    """Into fields, as by hand."""
    for key, text in texts.items():
        form.fields[key].edit.setText(text)
        form.fields[key].edit.editingFinished.emit()


def workspace(size: tuple[int, int], theme: str, *, opengl: bool = True) -> Lessons:
    """Clouds by segment, a plane, a place with its postures."""
    lessons = Lessons("lynx6", "workspace", size, theme, opengl=opengl)
    view = lessons.view
    typed(view.sheet.form, step_deg="6", voxel_mm="30")
    view.sweep()
    worked(lessons, view.sheet.bar)
    typed(view.sheet.plane, at="150")
    view.sheet.segments.item(3, 0).setCheckState(Qt.CheckState.Unchecked)
    view.picked((0.25, 0.05, 0.2))
    lessons.shell.scene.fit()
    return lessons


def box(size: tuple[int, int], theme: str) -> Lessons:
    """What a box asks of the joints, its lamps."""
    lessons = Lessons("lynx6", "workspace", size, theme)
    view = lessons.view
    typed(view.sheet.box, corner="100, -150, 50", opposite="350, 150, 300", step="50")
    view.try_box()
    worked(lessons, view.sheet.box_bar)
    bring(lessons, view.sheet.box_words)
    return lessons


def curve(size: tuple[int, int], theme: str, *, wrong: bool = False, opengl: bool = True) -> Lessons:
    """A circle of the sphere, partly out of reach, or a formula with a mistake."""
    lessons = Lessons("lynx6", "curves", size, theme, opengl=opengl)
    view = lessons.view
    typed(view.form, shift_mm="80, 0, 0")
    if wrong:
        typed(view.form, **{"z": "15 + 15*sine(v)", "p2.end": ""})
        bring(lessons, view.form.fields["p2.name"])
    view.bar.begin.click()
    worked(lessons, view.bar)
    lessons.shell.time_bar.look(0.6)
    return lessons


def gap() -> Lessons:
    """A rim that is not closed before two pi, at an even speed."""
    lessons = Lessons("lynx6", "curves", SMALL, "light")
    view = lessons.view
    view.choice.setCurrentText("hyperbolic-paraboloid")
    view.load("hyperbolic-paraboloid")
    view.even.setChecked(True)
    view.bar.begin.click()
    return worked(lessons, view.bar)


def dynamics(size: tuple[int, int], theme: str, what: int) -> Lessons:
    """Torques, a run, or a free fall of a PUMA."""
    lessons = Lessons("puma560", "dynamics", size, theme)
    view = lessons.view
    if what == FALL:
        typed(view.form, start="0,60,-60,0,0,0", duration="2")
    view.what.setCurrentIndex(what)
    view.begin()
    worked(lessons, view.bar)
    view.joint.setCurrentIndex(2 if what != FALL else 0)
    lessons.shell.time_bar.look(0.5)
    return lessons


def tuning(size: tuple[int, int], theme: str) -> Lessons:
    """A heat map with unstable cells, and the run of one."""
    lessons = Lessons("puma560", "tuning", size, theme)
    view = lessons.view
    typed(view.form, vary="bandwidth=1:40:x14 rate=50:400:x8", duration="0.5")
    view.search()
    worked(lessons, view.bar)
    view.map.choose(2, 3)
    view.map.open()
    end_s = time.monotonic() + LONGEST_JOB_S
    while view.opening.busy and time.monotonic() < end_s:
        lessons.app.processEvents()
        time.sleep(0.02)
    lessons.shell.time_bar.look(0.3)
    return lessons


def programs(size: tuple[int, int], theme: str) -> Lessons:
    """A program that was proved, in the middle of its run."""
    lessons = Lessons("rv2aj", "programs", size, theme)
    lessons.view.proof.begin()
    end_s = time.monotonic() + PROOF_S
    while (lessons.view.proof.busy or lessons.view.checks.checking.busy) and time.monotonic() < end_s:
        lessons.app.processEvents()
        time.sleep(0.02)
    lessons.shell.time_bar.look(20.0)
    return lessons


def paper_arm(view: str) -> Lessons:
    """The arm of the class of 90 minutes, as it is typed into the table."""
    lessons = Lessons("lynx6", "dh", SMALL, "light", opengl=False)
    table = lessons.view.sheet.table
    for row, column, text in ((0, "d", "100"), (1, "a", "150"), (2, "a", "60 + 40")):
        table.item(row, COLUMNS.index(column)).setText(text)
    lessons.shell.show_view(view)
    lessons.app.processEvents()
    lessons.shell.scene.fit()
    return lessons


def class_table() -> Lessons:
    """A frame on its way through the table."""
    lessons = paper_arm("dh")
    lessons.shell.time_bar.look(6.5)
    return lessons


def class_solutions() -> Lessons:
    """Four postures for one place."""
    lessons = paper_arm("solutions")
    for field, text in zip(lessons.view.sheet.fields["point"], ("200", "0", "150", "-60", "0"), strict=True):
        field.edit.setText(text)
    lessons.view.sheet.typed.emit()
    return lessons


def class_reach() -> Lessons:
    """The cloud of ten degrees."""
    lessons = paper_arm("workspace")
    typed(lessons.view.sheet.form, step_deg="10")
    lessons.view.sweep()
    return worked(lessons, lessons.view.sheet.bar)


def class_curve() -> Lessons:
    """The ellipse with the arm on it."""
    lessons = paper_arm("curves")
    lessons.view.choice.setCurrentText("ellipse")
    lessons.view.load("ellipse")
    lessons.view.bar.begin.click()
    worked(lessons, lessons.view.bar)
    lessons.shell.time_bar.look(1.6)
    return lessons


SCREENS: dict[str, Callable[[], Studio | Lessons]] = {
    "live-dark": lambda: live(SMALL, "dark"),
    "live-light": lambda: live(SMALL, "light"),
    "live-big": lambda: live(BIG, "dark"),
    "live-big-light": lambda: live(BIG, "light", rig="rv2aj"),
    "live-painted": lambda: live(SMALL, "dark", opengl=False),
    "tool-and-frames": tool,
    "robot": robot,
    "refused": refused,
    "no-service": lost,
    "curves-held": scrolled,
    "preview-passed": lambda: preview(SMALL, "dark", TASKS / "pick-and-place.toml", 4.3),
    "preview-sent": sent,
    "preview-failed": lambda: preview(SMALL, "light", FAULTY / "too-low.toml", None),
    "preview-too-far": lambda: preview(SMALL, "dark", FAULTY / "too-far.toml", None, opengl=False),
    "preview-big": lambda: preview(BIG, "dark", FAULTY / "too-low.toml", None),
    "preview-big-light": lambda: preview(BIG, "light", TASKS / "pick-and-place.toml", 6.1),
    "drive": lambda: drive(SMALL, "dark", moves=True),
    "drive-big-light": lambda: drive(BIG, "light", rig="rv2aj"),
    "drive-1366": lambda: drive((1366, 768), "dark", moves=True),
    "drive-1440": lambda: drive((1440, 900), "light", moves=True),
    "drive-1920": lambda: drive((1920, 1080), "dark", rig="rv2aj"),
    "drive-3840": lambda: drive((3840, 2160), "light", moves=True),
    "difference": difference,
    "drive-pose": wizard,
    "drive-waiting": waiting,
    "drive-take-over": take_over,
    "tour": tour,
    "keys": keys,
    "learn-dh": lambda: dh(SMALL, "dark"),
    "learn-dh-big-light": lambda: dh(BIG, "light"),
    "learn-dh-painted": lambda: dh(SMALL, "light", opengl=False),
    "learn-dh-wrong": dh_wrong,
    "learn-motion": lambda: dh_played("kuka-kr5-arc", 2, "dark", 1.2),
    "learn-frames": lambda: dh_played("kuka-kr5-arc", 3, "light", 30.0, first=1, last=4),
    "learn-prismatic": lambda: dh_played("stanford", 1, "dark", 2.0, row=2),
    "learn-rv2aj": lambda: dh_played("rv2aj", 0, "light", 30.0),
    "learn-imported": imported,
    "learn-stl": from_stl,
    "learn-planar": lambda: target("planar-3r", "light", "1800", "600", "0", "0", "0", "40"),
    "learn-between": lambda: target("kuka-kr5-arc", "dark", "600", "200", "800", "90", "0", "90", rows=(0, 1)),
    "learn-unreachable": lambda: target("lynx6", "dark", "420", "150", "250", "-20"),
    "learn-transpose": lambda: target("rv2aj", "light", "300", "100", "400", "-80", shown=3),
    "learn-warning": warned,
    "learn-positions": positions,
    "learn-solutions": lambda: solutions(SMALL, "dark", 0),
    "learn-solutions-big-light": lambda: solutions(BIG, "light", 0),
    "learn-steps": lambda: solutions(SMALL, "light", 2),
    "learn-workspace": lambda: workspace(SMALL, "dark"),
    "learn-workspace-big-light": lambda: workspace(BIG, "light"),
    "learn-workspace-painted": lambda: workspace(SMALL, "light", opengl=False),
    "learn-box": lambda: box(SMALL, "light"),
    "learn-curves": lambda: curve(SMALL, "dark"),
    "learn-curves-big-light": lambda: curve(BIG, "light"),
    "learn-curves-wrong": lambda: curve(SMALL, "light", wrong=True, opengl=False),
    "learn-gap": gap,
    "learn-torques": lambda: dynamics(SMALL, "light", 0),
    "learn-run": lambda: dynamics(SMALL, "dark", 1),
    "learn-fall-big": lambda: dynamics(BIG, "dark", FALL),
    "learn-tuning": lambda: tuning(SMALL, "dark"),
    "learn-tuning-big-light": lambda: tuning(BIG, "light"),
    "learn-programs": lambda: programs(SMALL, "dark"),
    "learn-programs-big-light": lambda: programs(BIG, "light"),
    "learn-programs-1366": lambda: programs((1366, 768), "light"),
    "learn-curves-1920": lambda: curve((1920, 1080), "dark"),
    "learn-solutions-3840": lambda: solutions((3840, 2160), "light", 0),
    "class-table": class_table,
    "class-solutions": class_solutions,
    "class-reach": class_reach,
    "class-curve": class_curve,
    "learn-specification": lambda: specification(SMALL, "light"),
    "learn-specification-big": lambda: specification(BIG, "dark"),
}


def main() -> int:
    """Draw what was asked for; all by default."""
    parser = argparse.ArgumentParser(prog="scripts/screens", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones (all): {', '.join(SCREENS)}")
    parser.add_argument("--into", type=Path, default=FOLDER, help="folder of the pictures (docs/screens)")
    parser.add_argument("--look", type=float, default=LOOK_S, help=f"seconds that each is drawn for ({LOOK_S:g})")
    wanted = parser.parse_args()
    if unknown := set(wanted.names) - set(SCREENS):
        parser.error(f"no screen {', '.join(sorted(unknown))}; choose from {', '.join(SCREENS)}")
    for name in wanted.names or SCREENS:
        SCREENS[name]().save(name, Camera(wanted.into, wanted.look))
    return 0


if __name__ == "__main__":
    sys.exit(main())
