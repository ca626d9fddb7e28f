"""Driving a virtual arm from the window through a real service, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qt_ready import require_qt

require_qt()

import pytest  # noqa: E402
import pytestqt.exceptions  # noqa: E402
from lab_box import LabBox, lab_in_a_box  # noqa: E402
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QSettings, Qt  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402

from hil.dashboard.application import make_application  # noqa: E402
from hil.dashboard.drive_hold import HoldButton  # noqa: E402
from hil.dashboard.drive_joints import AxisBar  # noqa: E402
from hil.dashboard.service_link import ServiceLink  # noqa: E402
from hil.dashboard.session import Session  # noqa: E402
from hil.dashboard.window import Window  # noqa: E402
from hil.service.connection import reach  # noqa: E402
from hil.types import Mode  # noqa: E402
from hil.units import DEG  # noqa: E402

pytestmark = pytest.mark.processes
LONGEST_MS = 60_000
MOST_TRIES = 20
SETTLED_MS = 400
STANDING = (Mode.IDLE, Mode.HOLDING)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabBox]:
    """A lab in a box."""
    with lab_in_a_box(tmp_path_factory.mktemp("lab")) as found:
        yield found


@pytest.fixture
def url(box: LabBox, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its address, for its own user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(box.state))
    return box.url


class Driver:
    """A person at the Drive view, with the lease."""

    def __init__(self, window: Window, qtbot: Any) -> None:
        self.window, self._qtbot = window, qtbot
        self.view: Any = window.views["drive"]
        self.rows: Any = None

    def until(self, reached: Callable[[], bool]) -> None:
        """Look on until something is so; if it never is, with what the window has said."""
        try:
            self._qtbot.waitUntil(reached, timeout=LONGEST_MS)
        except pytestqt.exceptions.TimeoutError:
            said = [self.view.words.text(), *list(self.window.session.lines)[-12:]]
            raise AssertionError(f"{self.mode}: {said}") from None

    def come(self) -> None:
        """Become the driver of an arm that is ready."""
        self.until(lambda: self.mode in STANDING and self.view.lease.drive.isVisible())
        self.view.lease.drive.click()
        self.until(lambda: self.view.driving.drives)
        assert not self.view.checklist.bad, self.view.checklist.missing.text()
        self.rows = self.view.joints.rows

    def hold(self, key: Qt.Key | HoldButton | AxisBar, reached: Callable[[], bool], at: QPoint | None = None) -> None:
        """Hold a key or a button down until something is so.

        The lab stops whoever is not heard for a quarter of a second; where a busy computer lets that happen, this
        lets go and presses again, as people do.
        """
        driving = self.view.driving
        for _ in range(MOST_TRIES):
            self.until(lambda: driving.press is None)
            # A press right after buttons have moved is left out: people need longer than that.
            self._qtbot.wait(SETTLED_MS)
            self._press(key, at)
            self.until(lambda: reached() or not driving.holding)
            self._release(key)
            if reached():
                return
        raise AssertionError(f"never reached: {self.view.words.text()}")

    def _press(self, what: Qt.Key | HoldButton | AxisBar, at: QPoint | None) -> None:
        if isinstance(what, Qt.Key):
            QTest.keyPress(self.view, what)
        else:
            QTest.mousePress(what, Qt.MouseButton.LeftButton, pos=at or what.rect().center())

    def _release(self, what: Qt.Key | HoldButton | AxisBar) -> None:
        if isinstance(what, Qt.Key):
            QTest.keyRelease(self.view, what)
        else:
            QTest.mouseRelease(what, Qt.MouseButton.LeftButton)

    def rests(self) -> bool:
        """Whether the arm holds where it was let go of."""
        return self.mode is Mode.HOLDING

    def leave(self) -> None:
        """Park, and give the arm back."""
        self.hold(Qt.Key.Key_P, lambda: self.parked)
        self.view.lease.back.click()
        self.until(lambda: not self.view.driving.drives)

    @property
    def parked(self) -> bool:
        """Whether the arm rests in its park pose."""
        newest = self.window.session.newest
        axes = self.view.driving.arm.axes
        places = zip(newest.commanded, axes, strict=True) if newest is not None else ()
        near = all(here is not None and abs(here - axis.park) < 0.3 * axis.unit for here, axis in places)
        return near and self.mode is Mode.IDLE

    @property
    def mode(self) -> Mode | None:
        """Of the bridge."""
        newest = self.window.session.newest
        return None if newest is None else newest.mode

    @property
    def base_deg(self) -> float:
        """Where the base is."""
        newest = self.window.session.newest
        assert newest is not None and newest.commanded[0] is not None
        return newest.commanded[0] / DEG


@pytest.fixture
def driver(url: str, tmp_path: Path, qtbot: Any) -> Iterator[Driver]:
    """Drives the lab's arm, and gives it back in its park pose."""
    make_application()
    link = ServiceLink(reach(url)[0], "arm-1", "Ada")
    session = Session(link)
    settings = QSettings(str(tmp_path / "dashboard.ini"), QSettings.Format.IniFormat)
    window = Window(session, settings, opengl=False, size=(1280, 800))
    window.show()
    window.docks["drive"].raise_()
    link.begin()
    driver = Driver(window, qtbot)
    try:
        driver.come()
        yield driver
        driver.leave()
    finally:
        window.close()
        window.deleteLater()
        session.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_a_key_moves_a_joint_until_it_is_let_go(driver: Driver) -> None:
    before = driver.base_deg
    driver.hold(Qt.Key.Key_Plus, lambda: driver.base_deg > before + 2.0)
    driver.until(driver.rests)


def test_esc_stops_what_the_mouse_holds_and_nothing_goes_on_while_it_is_still_down(driver: Driver) -> None:
    before, button = driver.base_deg, driver.rows[0].minus

    def moved_and_stopped() -> bool:
        if driver.base_deg > before - 2.0:
            return False
        QTest.keyClick(button, Qt.Key.Key_Escape)
        return True

    driver.hold(button, moved_and_stopped)
    driver.until(driver.rests)
    assert not driver.view.driving.holding


def test_an_increment_goes_so_far_and_ends_by_itself(driver: Driver) -> None:
    driver.view.driving.set_increment(2.0)
    for _ in range(MOST_TRIES):
        before = driver.base_deg
        QTest.keyClick(driver.view, Qt.Key.Key_Plus)

        def so_far(before: float = before) -> bool:
            return driver.mode is Mode.IDLE and abs(driver.base_deg - before - 2.0) < 0.1

        # A busy machine on which nobody was heard for a while has stopped it on its way.
        driver.until(lambda so_far=so_far: so_far() or "nothing heard" in driver.view.words.text())
        if so_far():
            return
        driver.until(driver.rests)
    raise AssertionError(f"stopped {MOST_TRIES} times")


def test_a_slider_leads_the_joint_to_its_target(driver: Driver) -> None:
    bar = driver.rows[0].bar
    at = QPoint(round(bar.x_of(15.0 * DEG)), 9)
    driver.hold(bar, lambda: abs(driver.base_deg - driver.view.driving.targets[0] / DEG) < 0.2, at)
    driver.until(driver.rests)
    assert abs(driver.base_deg - 15.0) < 2.0, "to within what a point of the bar is wide"


def test_the_pad_leads_the_tool(driver: Driver) -> None:
    def height_m() -> float:
        newest = driver.window.session.newest
        assert newest is not None and newest.tool_m is not None
        return newest.tool_m[2]

    before = height_m()
    driver.hold(Qt.Key.Key_R, lambda: height_m() > before + 2e-3)
    driver.until(driver.rests)


def test_a_frozen_arm_is_reset_and_energised_joint_by_joint(driver: Driver) -> None:
    driver.window.session.stop(freeze=True)
    driver.until(driver.view.fault.reset.isVisible)
    driver.view.fault.reset.click()
    driver.until(driver.view.wizard.energise.isVisible)
    driver.view.wizard.seen.setChecked(True)
    driver.hold(driver.view.wizard.energise, lambda: driver.mode is Mode.IDLE)
    driver.until(driver.view.controls.isVisible)
