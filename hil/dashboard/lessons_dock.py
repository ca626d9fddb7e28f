"""The lessons as a tab of the dashboard: built when they are first looked at, on the robot that is shown."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from hil.dashboard.learn.dh_file import robot_word
from hil.dashboard.learn.shell import LearnShell
from hil.dashboard.learn.views import VIEWS
from hil.dashboard.session import Session
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.errors import CommandError
from hil.model.reader import load_robot


class LessonsView(QWidget):
    """An empty place until it is shown, then the shell.

    Signals:
        sent: a task's file that the preview is to open.

    Attributes:
        opengl: whether the scene can be drawn in OpenGL; said before it is shown.
    """

    KEYS = LearnShell.KEYS
    FIRST_ROBOT = "lynx6"
    """Until an arm is heard."""

    sent = Signal(Path)

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._session, self._theme = session, theme
        self.opengl = False
        self.shell: LearnShell | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        session.arm_changed.connect(self._another_arm)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Build the shell, the first time."""
        super().showEvent(event)
        if self.shell is None:
            arm = self._session.arm
            self.shell = LearnShell(
                load_robot(self.FIRST_ROBOT) if arm is None else arm.model,
                self._theme,
                opengl=self.opengl,
                send=self._send,
                kinds=VIEWS,
                arm_joints=self._arm_joints,
            )
            self._column.addWidget(self.shell)

    def _send(self, path: Path, robot: str) -> None:
        """To the preview of the arm that is shown, if the task is for it.

        Raises:
            CommandError: it is for another robot.
        """
        arm = self._session.arm
        if arm is not None and robot != robot_word(arm.model):
            shown = arm.model.id
            raise CommandError(
                tr(
                    "the task is for {robot}, the arm here is {shown}: hil learn {robot} sends it",
                    robot=robot,
                    shown=shown,
                )
            )
        self.sent.emit(path)

    def _arm_joints(self) -> tuple[float, ...] | None:
        """Where the arm is simulated to be; None while that is not known."""
        newest, arm = self._session.newest, self._session.arm
        if newest is None or arm is None:
            return None
        joints = [q for q in newest.simulated[: arm.robot.dof] if q is not None]
        return tuple(joints) if len(joints) == arm.robot.dof else None

    def _another_arm(self) -> None:
        if self.shell is not None and self._session.arm is not None:
            self.shell.set_robot(self._session.arm.model)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        if self.shell is not None:
            self.shell.set_theme(theme)

    def end(self) -> None:
        """The window goes."""
        if self.shell is not None:
            self.shell.end()
