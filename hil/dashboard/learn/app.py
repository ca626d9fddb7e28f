"""The window of `hil learn`: the shell alone, without any arm."""

from __future__ import annotations

from PySide6.QtCore import QSettings
from PySide6.QtGui import QCloseEvent, QKeySequence
from PySide6.QtWidgets import QMainWindow

from hil.dashboard.application import application, closing, make_application, settings, told_to_close
from hil.dashboard.garbage import collected_here
from hil.dashboard.learn.shell import LearnShell, Send
from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, THEMES, Theme, apply
from hil.dashboard.widgets import fill_theme_menu
from hil.model.robot import RobotModel

FIRST_SIZE = (1280, 800)


class LearnWindow(QMainWindow):
    """The shell in a window of its own, with a menu for what counts everywhere."""

    def __init__(self, model: RobotModel, kept: QSettings, *, opengl: bool, send: Send) -> None:
        super().__init__()
        self._settings = kept
        self._theme = THEMES.get(str(kept.value("theme", DARK.name)), DARK)
        self._colour()
        self.shell = LearnShell(model, self._theme, opengl=opengl, send=send)
        self.setCentralWidget(self.shell)
        self.setWindowTitle(tr("Lessons"))
        self.resize(*FIRST_SIZE)
        self._fill_menus()

    def _fill_menus(self) -> None:
        lesson = self.menuBar().addMenu(tr("&Lesson"))
        for number, kind in enumerate(self.shell.kinds, start=1):
            action = lesson.addAction(tr(kind.title))
            action.setShortcut(QKeySequence(f"Ctrl+{number % 10}"))
            action.triggered.connect(lambda _=False, name=kind.name: self.shell.show_view(name))
        lesson.addSeparator()
        leave = lesson.addAction(tr("&Quit"))
        leave.setShortcut(QKeySequence.StandardKey.Quit)
        leave.triggered.connect(self.close)
        fill_theme_menu(self.menuBar().addMenu(tr("&Colours")), self._theme, self.set_theme)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on, also next time."""
        self._theme = theme
        self._settings.setValue("theme", theme.name)
        self._colour()
        self.shell.set_theme(theme)

    def _colour(self) -> None:
        apply(self._theme, application())

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 - Qt's name
        """End what works."""
        self.shell.end()
        super().closeEvent(event)


def run(model: RobotModel, *, opengl: bool, send: Send, view: str = "") -> int:
    """Show the window until it is closed.

    Args:
        model: the arm at first.
        opengl: whether the scene can be drawn in OpenGL.
        send: how a task gets to a preview.
        view: the view at first; the first one if empty.
    """
    told = told_to_close()
    app = make_application()
    # No hand moves an arm here.
    with collected_here(lambda: False):
        window = LearnWindow(model, settings(), opengl=opengl, send=send)
        if view:
            window.shell.show_view(view)
        window.show()
        awake = closing(told, window)
        awake.start()
        return app.exec()
