"""Qt's application for any window of ours: style, the user's language, where settings are kept, signals that close it.

It knows no session and no service: a window that needs none does not wait for them to be loaded.
"""

from __future__ import annotations

import signal
import sys

import pyqtgraph as pg
from PySide6.QtCore import QLocale, QSettings, Qt, QTimer, QTranslator
from PySide6.QtWidgets import QApplication, QWidget

from hil.model.files import state_dir, user_dir

NAME = "hil"
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
    if app.applicationName() == NAME:
        # A second style or translator would have every widget dressed and named anew.
        return app
    app.setApplicationName(NAME)
    app.setStyle("Fusion")
    pg.setConfigOptions(antialias=False)
    translator = QTranslator(app)
    if translator.load(QLocale(), "hil", "_", str(user_dir() / "translations")):
        app.installTranslator(translator)
    return app


def settings() -> QSettings:
    """Where layout and theme are remembered."""
    return QSettings(str(state_dir() / "dashboard.ini"), QSettings.Format.IniFormat)


def application() -> QApplication:
    """The one that runs."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return app


def closing(told: list[int], window: QWidget) -> QTimer:
    """Closes the window once a signal has come; Python sees signals only while it runs."""
    awake = QTimer()
    awake.setInterval(LOOK_FOR_SIGNALS_MS)
    awake.timeout.connect(lambda: told and window.close())
    return awake


def told_to_close() -> list[int]:
    """Signals that have come: nothing may be raised in the middle of Qt. What is ignored, as by `nohup`, stays so."""
    told: list[int] = []
    for name in ENDING:
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), lambda number, frame: told.append(number))
    return told
