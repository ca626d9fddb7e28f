"""A window on a pretended arm, for all tests of it; every warning of Qt fails a test."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from qt_ready import obstacle

if not obstacle():
    from pretend import PretendLink
    from PySide6.QtCore import QCoreApplication, QEvent, QSettings
    from PySide6.QtWidgets import QApplication

    from hil.dashboard.application import make_application
    from hil.dashboard.arm import ShownArm, arm_of_rig
    from hil.dashboard.learn.app import LearnWindow
    from hil.dashboard.session import Session
    from hil.dashboard.window import Window
    from hil.model.reader import load_robot
    from hil.runtime.wiring import load_rig

    HARMLESS = (
        "propagateSizeHints",
        "This plugin does not support raise",
        "does not support grabbing the keyboard",
        "OpenType support missing",
    )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol() -> Iterator[None]:
        """Python collects wherever it allocates, and an object of Qt that ends in another thread ends the process.

        So it collects here, when nothing of the test is held any more: not by its fixtures, not by what pytest keeps.
        """
        gc.disable()
        # What is there already is no garbage of this test; collecting after it takes no time.
        gc.freeze()
        answer = yield
        if QApplication.instance():
            for left in QApplication.topLevelWidgets():
                # A program that a later test starts would not end with its own window.
                left.hide()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        gc.enable()
        return answer

    @pytest.fixture(autouse=True)
    def no_qt_warnings(qapp: Any, qtlog: Any) -> Iterator[None]:
        """Nothing that Qt complains about passes unseen."""
        yield
        warnings = [record for record in qtlog.records if record.type.name != "QtDebugMsg"]
        assert not [each.message for each in warnings if not any(words in each.message for words in HARMLESS)]

    class Bench:
        """A window, the link that it hears, and time that goes on when told to."""

        def __init__(self, arm: ShownArm, settings: QSettings) -> None:
            make_application()
            self.now_s = 0.0
            self.link = PretendLink(arm)
            self.session = Session(self.link, clock=lambda: self.now_s)
            self.window = Window(self.session, settings, opengl=False, size=(1280, 800))

        def run(self, seconds: float) -> None:
            """Let time go on, and take in what has come."""
            while seconds > 1e-9:
                part = min(seconds, 10.0)
                self.link.advance(part)
                self.now_s += part
                self.session.take()
                seconds -= part

        def draw(self) -> None:
            """Everything, now."""
            self.window.header.refresh()
            self.window.live.refresh()
            for view in self.window.views.values():
                if hasattr(view, "refresh"):
                    view.refresh()
            self.window.grab()

    @pytest.fixture
    def make_bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
        """Makes a window on an arm; on a Lynx6 by default."""
        benches: list[Bench] = []

        def make(arm: ShownArm | None = None) -> Bench:
            settings = QSettings(str(tmp_path / "dashboard.ini"), QSettings.Format.IniFormat)
            bench = Bench(arm or arm_of_rig(load_rig("lynx6")), settings)
            benches.append(bench)
            bench.window.show()
            bench.link.begin()
            return bench

        yield make
        for bench in benches:
            bench.window.close()
            bench.window.deleteLater()
            bench.session.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    @pytest.fixture
    def make_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
        """Makes the window of `hil learn` on a robot, with folders of its own; `sent` has the tasks for a preview."""
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        windows: list[Any] = []

        def make(robot: str = "puma560", view: str = "dh") -> Any:
            make_application()
            settings = QSettings(str(tmp_path / "lessons.ini"), QSettings.Format.IniFormat)
            sent: list[Path] = []
            asked: list[str] = []

            def send(path: Path, robot: str) -> None:
                sent.append(path)
                asked.append(robot)

            window: Any = LearnWindow(load_robot(robot), settings, opengl=False, send=send)
            window.sent, window.sent_to = sent, asked
            windows.append(window)
            window.shell.show_view(view)
            window.show()
            return window

        yield make
        for window in windows:
            window.close()
            window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
