"""Starts the dashboard: its session and its window; and ends with it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer

from hil.dashboard.application import closing, make_application, settings, told_to_close
from hil.dashboard.garbage import collected_here, freeze
from hil.dashboard.link import Link
from hil.dashboard.restart import OwnService, Restart
from hil.dashboard.session import Session
from hil.dashboard.trouble import Troubles, watching
from hil.dashboard.window import Window
from hil.model.files import state_dir


def run(link: Link, *, opengl: bool, task: Path | None = None, own: OwnService | None = None) -> bool:
    """Show the window until it is closed; whether its own service was started again, for another window.

    Args:
        link: to the arm.
        opengl: whether the scene can be drawn in OpenGL.
        task: a task or program that is previewed once the arm is heard.
        own: the service that was started for this window; None for one that others have.
    """
    told = told_to_close()
    app = make_application()
    session, troubles = Session(link), Troubles(state_dir() / "dashboard.log")
    troubles.failed.connect(session.fail, Qt.ConnectionType.QueuedConnection)
    troubles.noted.connect(session.note, Qt.ConnectionType.QueuedConnection)
    with watching(troubles), collected_here(lambda: session.dead_man.grip is not None):
        # What comes waits until Qt's loop runs; the process beside the window starts while that is built.
        link.begin()
        window = Window(session, settings(), opengl=opengl)
        window.show()
        if window.tour.first_time:
            window.tour.begin()
        if task is not None:
            window.open_at_first(task)
        session.arm_changed.connect(lambda: QTimer.singleShot(0, freeze))
        restart = None if own is None else Restart(own, session, window)
        awake = closing(told, window)
        awake.start()
        app.exec()
        return restart is not None and restart.wanted
