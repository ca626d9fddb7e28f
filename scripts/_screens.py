"""Draws every view of the dashboard and saves pictures of the screen, at the size of a small and of a big one."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from pretend import PretendLink
from previews_here import previewer
from PySide6.QtCore import QEvent, QSettings

from hil.dashboard.app import make_application
from hil.dashboard.arm import ShownArm, arm_of_rig
from hil.dashboard.drive_hand import DriveHand
from hil.dashboard.session import Session
from hil.dashboard.window import Window
from hil.runtime.wiring import load_rig
from hil.service.rights import Role
from hil.service.wire import LeasePhase
from hil.types import Mode, StateSource

FOLDER = Path(__file__).parents[1] / "docs" / "screens"
TASKS = Path(__file__).parents[1] / "configs" / "tasks"
FAULTY = Path(__file__).parents[1] / "tests" / "dashboard" / "tasks"
SMALL, BIG = (1280, 800), (2560, 1440)
LOOK_S = 3.0
"""How long a view is drawn before its picture is kept: graphs and scene need some frames."""


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
        camera.folder.mkdir(parents=True, exist_ok=True)
        file = camera.folder / f"{name}.png"
        picture = self.app.primaryScreen().grabWindow(self.window.winId())
        saved = picture.save(str(file))
        self.window.close()
        # Gone before the next one comes: Qt and Python do not agree, at their end, on who deletes what first.
        self.window.deleteLater()
        self.app.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        self.app.processEvents()
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
    driving.claim()
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
    studio.window.views["drive"].driving.claim(wait=True)
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


SCREENS: dict[str, Callable[[], Studio]] = {
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
    "drive-pose": wizard,
    "drive-waiting": waiting,
    "drive-take-over": take_over,
    "tour": tour,
    "keys": keys,
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
