"""Previewing and sending from the window through a real service, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qt_ready import require_qt

require_qt()

import pytest  # noqa: E402
import pytestqt.exceptions  # noqa: E402
from lab_box import LabBox, lab_in_a_box  # noqa: E402
from PySide6.QtCore import QCoreApplication, QEvent, QSettings, Qt  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402

from hil.dashboard.application import make_application  # noqa: E402
from hil.dashboard.service_link import ServiceLink  # noqa: E402
from hil.dashboard.session import Session  # noqa: E402
from hil.dashboard.window import Window  # noqa: E402
from hil.service.connection import reach  # noqa: E402
from hil.types import Mode  # noqa: E402

pytestmark = pytest.mark.processes
LONGEST_MS = 60_000
TASKS = Path(__file__).parent / "tasks"
TRIES = 5
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabBox]:
    """A lab in a box."""
    with lab_in_a_box(tmp_path_factory.mktemp("lab")) as found:
        yield found


@pytest.fixture
def url(box: LabBox, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its address, for its own user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(box.state))
    return box.url


class Person:
    """Somebody at the Preview view of a window on a real service."""

    def __init__(self, window: Window, qtbot: Any) -> None:
        self.window, self._qtbot = window, qtbot
        self.view: Any = window.views["preview"]

    def until(self, reached: Callable[[], bool]) -> None:
        """Look on until something is so."""
        try:
            self._qtbot.waitUntil(reached, timeout=LONGEST_MS)
        except pytestqt.exceptions.TimeoutError:
            send, lines = self.view.send, list(self.window.session.lines)[-12:]
            raise AssertionError(f"{self.mode}; {send.missing.text()!r}; {send.words.text()!r}; {lines}") from None

    def open(self, name: str) -> None:
        """A file, and wait for what is said of it."""
        self.view.previewing.open(TASKS / name)
        self.until(lambda: self.view.previewing.previewed is not None)

    def arm(self) -> None:
        """The first press, once it is allowed."""
        send = self.view.send
        self.until(send.arm.isEnabled)
        send.arm.click()
        self.until(send.run.isEnabled)
        assert self.mode is Mode.ARMED

    def from_here(self) -> None:
        """Preview again where the arm was held on its way; one that was held at once still stands at the start."""
        send = self.view.send
        self.until(lambda: send.again.isVisible() or send.arm.isEnabled())
        if send.again.isVisible():
            send.again.click()

    def run_to_the_end(self) -> None:
        """Both presses; a machine so busy that the arm was held meanwhile gets another try, from there."""
        send = self.view.send
        for _ in range(TRIES):
            self.arm()
            QTest.mousePress(send.run, LEFT)
            self.until(lambda: not self.view.sending.running)
            QTest.mouseRelease(send.run, LEFT)
            if "done" in send.words.text():
                return
            self.from_here()
        raise AssertionError(f"never done in {TRIES} tries: {send.words.text()}")

    def move_to(self, done_permille: int) -> None:
        """Both presses, until so much of it is done, with as many tries."""
        send = self.view.send
        for _ in range(TRIES):
            self.arm()
            QTest.mousePress(send.run, LEFT)
            self.until(lambda: not self.view.sending.running or send.done.value() > done_permille)
            if self.mode is Mode.STREAMING and self.view.sending.running:
                return
            QTest.mouseRelease(send.run, LEFT)
            self.from_here()
        raise AssertionError(f"never so far in {TRIES} tries: {send.words.text()}")

    @property
    def mode(self) -> Mode | None:
        """Of the bridge."""
        newest = self.window.session.newest
        return None if newest is None else newest.mode

    @property
    def commanded(self) -> tuple[float | None, ...]:
        """Where the arm is."""
        newest = self.window.session.newest
        assert newest is not None
        return newest.commanded


@pytest.fixture
def person(url: str, tmp_path: Path, qtbot: Any) -> Iterator[Person]:
    """Who may drive the lab's arm, and does not yet."""
    make_application()
    link = ServiceLink(reach(url)[0], "arm-1", "Ada")
    session = Session(link)
    settings = QSettings(str(tmp_path / "dashboard.ini"), QSettings.Format.IniFormat)
    window = Window(session, settings, opengl=False, size=(1280, 800))
    window.show()
    window.docks["preview"].raise_()
    link.begin()
    person = Person(window, qtbot)
    person.until(lambda: person.mode is Mode.IDLE and session.arm is not None)
    yield person
    window.close()
    window.deleteLater()
    session.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_a_failing_task_is_shown_with_its_places_and_a_passing_one_is_sent_and_moves_the_arm(person: Person) -> None:
    person.open("too-low.toml")
    assert person.view.table.table.rowCount() == 2 and person.view.previewing.motion.lanes[0].fails
    assert person.window.session.figure.failing == {"left_finger", "right_finger"}
    assert not person.view.send.arm.isEnabled()

    person.open("home.toml")
    send, axes = person.view.send, person.window.session.arm.axes
    assert send.claim.isVisible() and not send.arm.isEnabled()
    send.claim.click()
    person.run_to_the_end()
    assert person.commanded[:5] == pytest.approx([axis.home for axis in axes[:5]], abs=0.01)

    # What may be pressed follows from what the window has heard, at its next look.
    person.until(lambda: not send.arm.isEnabled() and "the start pose" in send.missing.text())
    send.again.click()
    person.until(send.arm.isEnabled)


def test_letting_go_and_stopping_by_key_hold_a_real_arm(person: Person) -> None:
    send = person.view.send
    for stop in (lambda: QTest.mouseRelease(send.run, LEFT), lambda: QTest.keyClick(person.view, Qt.Key.Key_Escape)):
        person.open("there-and-back.toml")
        if send.claim.isVisible():
            send.claim.click()
        person.move_to(100)
        stop()
        person.until(lambda: person.mode is Mode.HOLDING)
        person.until(lambda: not person.view.sending.running)
        QTest.mouseRelease(send.run, LEFT)
