"""Starts the window: Qt's application, the user's language, the session; and ends with it."""

from __future__ import annotations

import signal
import sys

import pyqtgraph as pg
from PySide6.QtCore import QLocale, QSettings, Qt, QTimer, QTranslator
from PySide6.QtWidgets import QApplication

from hil.dashboard.garbage import collected_here
from hil.dashboard.link import Link
from hil.dashboard.session import Session
from hil.dashboard.trouble import Troubles, watching
from hil.dashboard.window import Window
from hil.model.files import state_dir, user_dir

LOOK_FOR_SIGNALS_MS = 200
ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK")
"""What closes the window, as its own button does."""


def make_application() -> QApplication:
    """Qt's application, styled alike everywhere, in the user's language where there is a translation of it.

    Translations are files like ``hil_de.qm`` in the folder ``translations`` of the user's own folder.
    """
    # Pyqtgraph keeps one set of shaders for all of its widgets.
    QApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    found = QApplication.instance()
    app = found if isinstance(found, QApplication) else QApplication([sys.argv[0] or "hil"])
    app.setApplicationName("hil")
    app.setStyle("Fusion")
    pg.setConfigOptions(antialias=False)
    translator = QTranslator(app)
    if translator.load(QLocale(), "hil", "_", str(user_dir() / "translations")):
        app.installTranslator(translator)
    return app


def settings() -> QSettings:
    """Where layout and theme are remembered."""
    return QSettings(str(state_dir() / "dashboard.ini"), QSettings.Format.IniFormat)


def run(link: Link, *, opengl: bool) -> int:
    """Show the window until it is closed."""
    told = _told_to_close()
    app = make_application()
    session, troubles = Session(link), Troubles(state_dir() / "dashboard.log")
    troubles.failed.connect(session.fail, Qt.ConnectionType.QueuedConnection)
    troubles.noted.connect(session.note, Qt.ConnectionType.QueuedConnection)
    with watching(troubles), collected_here():
        window = Window(session, settings(), opengl=opengl)
        window.show()
        if window.tour.first_time:
            window.tour.begin()
        link.begin()
        # Python sees signals only while it runs.
        awake = QTimer()
        awake.timeout.connect(lambda: told and window.close())
        awake.start(LOOK_FOR_SIGNALS_MS)
        return app.exec()


def _told_to_close() -> list[int]:
    """Signals that have come: nothing may be raised in the middle of Qt. What is ignored, as by `nohup`, stays so."""
    told: list[int] = []
    for name in ENDING:
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), lambda number, frame: told.append(number))
    return told
