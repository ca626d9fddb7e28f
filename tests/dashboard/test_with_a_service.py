"""The window and a lab of real processes: what it says when the service goes, the arm is pulled, or a teacher comes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qt_ready import require_qt

require_qt()

import pytest  # noqa: E402
import pytestqt.exceptions  # noqa: E402
from kill_rounds import Program  # noqa: E402
from lab_load import free_port  # noqa: E402
from lab_rounds import ARM, Lab  # noqa: E402
from PySide6.QtCore import QCoreApplication, QEvent, QSettings, Qt  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402

from hil.dashboard.application import make_application  # noqa: E402
from hil.dashboard.service_link import ServiceLink  # noqa: E402
from hil.dashboard.session import Session  # noqa: E402
from hil.dashboard.window import Window  # noqa: E402
from hil.service.connection import reach  # noqa: E402
from hil.service.lab_request import Access  # noqa: E402
from hil.service.remote import RemoteArm  # noqa: E402
from hil.service.rights import Role  # noqa: E402
from hil.types import Mode  # noqa: E402

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]
LONGEST_S = 90.0
STANDING = (Mode.IDLE, Mode.HOLDING)


class Looker:
    """Somebody at a window."""

    def __init__(self, access: Access, arm: str, folder: Path, qtbot: Any) -> None:
        make_application()
        self._qtbot = qtbot
        self.session = Session(ServiceLink(access, arm, "Ada"))
        settings = QSettings(str(folder / "dashboard.ini"), QSettings.Format.IniFormat)
        self.window = Window(self.session, settings, opengl=False, size=(1280, 800))
        self.window.show()
        self.drive: Any = self.window.views["drive"]
        self.session.link.begin()

    @property
    def mode(self) -> Mode | None:
        """Of the bridge, as shown."""
        return None if self.session.newest is None or not self.session.live else self.session.newest.mode

    @property
    def lamp(self) -> str:
        """What the lamp says."""
        return self.window.header.lamp.text()

    def until(self, reached: Callable[[], bool]) -> None:
        """Look on until something is so; if it never is, with what was seen last."""
        try:
            self._qtbot.waitUntil(reached, timeout=round(1000 * LONGEST_S))
        except pytestqt.exceptions.TimeoutError:
            raise AssertionError([self.lamp, self.drive.driving.words, *list(self.session.lines)[-12:]]) from None

    def move(self) -> None:
        """Take the arm, and hold the key that turns the base until it does."""
        self.until(lambda: self.mode in STANDING)
        self.window.bring(self.window.docks["drive"])
        if not self.drive.driving.drives:
            self.until(self.drive.lease.drive.isVisible)
            self.drive.lease.drive.click()
            self.until(lambda: self.drive.driving.drives)
        self.turn(self.drive)

    def turn(self, focus: Any) -> None:
        """Hold the key until the arm moves; a busy machine may end a hold, and who holds it presses anew, as told."""

        def moves() -> bool:
            if self.mode is Mode.STREAMING:
                return True
            if not self.drive.driving.holding:
                QTest.keyRelease(focus, Qt.Key.Key_Plus)
                QTest.keyPress(focus, Qt.Key.Key_Plus)
            return False

        self.until(moves)

    def let_go(self) -> None:
        """Of the key."""
        QTest.keyRelease(self.drive, Qt.Key.Key_Plus)

    def leave(self) -> None:
        """Close the window."""
        self.window.close()
        self.window.deleteLater()
        self.session.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture(autouse=True)
def _home_of_the_services_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks is who has started the service: the key of its start is in the same place."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


# -- a service that goes and comes -----------------------------------------------------------------------


def serve(folder: Path, port: int, name: str) -> Program:
    """A lab in a box."""
    server = Program(folder, name, "serve", "--demo", "1", "--port", str(port))
    server.says("in another terminal: hil drive", LONGEST_S)
    return server


def test_a_killed_service_is_said_and_a_new_one_is_found_without_a_line_across_the_gap(
    tmp_path: Path, qtbot: Any
) -> None:
    port = free_port()
    servers = [serve(tmp_path, port, "first")]
    looker = Looker(reach(f"http://127.0.0.1:{port}")[0], "arm-1", tmp_path, qtbot)
    try:
        looker.until(lambda: looker.mode in STANDING)
        looker.until(lambda: "READY" in looker.lamp)
        servers[0].remember_family()
        servers[0].process.kill()
        looker.until(lambda: "NO CONNECTION" in looker.lamp)
        before_s = looker.session.history.end_s
        assert before_s is not None
        QTest.keyClick(looker.window, Qt.Key.Key_Escape)
        assert looker.window.banner.isVisible() and "could not be sent" in looker.window.banner.text.text()
        servers[0].ends(LONGEST_S)
        servers.append(serve(tmp_path, port, "second"))
        looker.until(lambda: "READY" in looker.lamp)
        looker.until(lambda: (looker.session.history.end_s or 0.0) > before_s + 1.0)
        span = looker.session.history.between(0.0, 1e9, 100_000)
        assert any(span.gap[(span.last_s >= before_s - 0.5) & (span.last_s <= before_s)])
        assert sum("connected to" in line for line in looker.session.lines) == 2
    finally:
        looker.leave()
        for server in servers:
            server.clear_up()


def press(looker: Looker, key: Qt.Key) -> None:
    """A key, wherever the focus is."""
    QTest.keyClick(looker.window.focusWidget(), key)


def test_a_newcomer_gets_from_the_tour_to_a_moving_arm_by_tab_and_return(tmp_path: Path, qtbot: Any) -> None:
    port = free_port()
    server = serve(tmp_path, port, "serve")
    looker = Looker(reach(f"http://127.0.0.1:{port}")[0], "arm-1", tmp_path, qtbot)
    try:
        with qtbot.waitActive(looker.window, timeout=10_000):
            looker.window.activateWindow()
        looker.until(lambda: looker.mode in STANDING)
        looker.window.tour.begin()
        while looker.window.tour.isVisible():
            press(looker, Qt.Key.Key_Return)
        looker.until(lambda: looker.drive.lease.drive.isVisible())
        for _ in range(3):
            if looker.window.focusWidget() is not looker.drive.lease.drive:
                press(looker, Qt.Key.Key_Tab)
        press(looker, Qt.Key.Key_Return)
        looker.until(lambda: looker.drive.driving.drives)
        looker.turn(looker.window.focusWidget())
        QTest.keyRelease(looker.window.focusWidget(), Qt.Key.Key_Plus)
        looker.until(lambda: looker.mode in STANDING)
    finally:
        looker.leave()
        server.clear_up()


# -- an arm on its line, and other people ------------------------------------------------------------------


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with keys, whose arm is on a line of its own, parked and free."""
    made = Lab(tmp_path_factory.mktemp("lab"))
    try:
        made.serve()
        made.make_ready()
        yield made
    finally:
        made.close()


@pytest.fixture
def looker(lab: Lab, tmp_path: Path, qtbot: Any) -> Iterator[Looker]:
    """A student's window."""
    looker = Looker(lab.access(lab.token("student", Role.DRIVE)), ARM, tmp_path, qtbot)
    try:
        yield looker
    finally:
        looker.leave()


def test_space_stops_an_arm_that_moves_whatever_has_the_focus(lab: Lab, looker: Looker) -> None:
    looker.move()
    QTest.keyClick(looker.window.live.scene, Qt.Key.Key_Space)
    looker.until(lambda: looker.mode is Mode.HOLDING)
    trace = lab.rest()
    assert all(trace.pulses), "a stop holds, it lets nothing go limp"
    assert looker.session.newest is not None
    base = looker.session.arm.axes[0] if looker.session.arm is not None else None
    at = looker.session.newest.commanded[0]
    assert base is not None and at is not None and at < base.upper - 0.1, "it did not run into its limit"
    looker.let_go()


def test_an_arm_that_a_teacher_takes_is_said_and_what_was_held_has_ended(lab: Lab, looker: Looker) -> None:
    looker.move()
    taken, free = threading.Event(), threading.Event()

    def teach() -> None:
        with RemoteArm(lab.access(lab.token("teacher", Role.TEACH, on_site=True)), ARM, on_site=True) as teacher:
            teacher.take_over("a lesson")
            taken.set()
            free.wait(LONGEST_S)
            teacher.park(speed_percent=100.0)

    teacher = threading.Thread(target=teach)
    teacher.start()
    try:
        looker.until(taken.is_set)
        looker.until(lambda: not looker.drive.driving.drives and not looker.drive.driving.holding)
        looker.until(lambda: any("taken over" in line for line in looker.session.lines))
        looker.until(lambda: "driven by teacher" in looker.window.header._lease.text())
        looker.until(lambda: looker.mode in STANDING)
        assert not looker.drive.controls.isVisible() or not looker.drive.driving.holding
        looker.let_go()
        QTest.keyPress(looker.drive, Qt.Key.Key_Plus)
        looker.until(lambda: not looker.drive.driving.holding)
        QTest.keyRelease(looker.drive, Qt.Key.Key_Plus)
    finally:
        free.set()
        while teacher.is_alive():
            QCoreApplication.processEvents()
            teacher.join(0.01)
    looker.until(lambda: looker.mode in STANDING)


def test_a_cable_that_is_pulled_is_a_fault_with_its_reason(lab: Lab, looker: Looker) -> None:
    """The last one here: the arm does not come back."""
    looker.move()
    lab.fake.process.kill()
    looker.until(lambda: "FAULT" in looker.lamp or "AWAY" in looker.lamp)
    looker.until(lambda: "FAULT" in looker.lamp)
    said = " ".join(looker.session.lines) + looker.window.header._meaning.text()
    assert "fault" in said.lower()
    looker.until(lambda: not looker.drive.driving.holding)
    looker.let_go()
