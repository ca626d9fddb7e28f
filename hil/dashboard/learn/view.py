"""What the shell asks of a view: its worksheet, its time, what is drawn at a moment, and what can be taken along."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from hil.dashboard.learn.form import Form
from hil.dashboard.theme import Theme
from hil.lessons.history import History
from hil.lessons.picture import Picture
from hil.lessons.sheet import Sheet
from hil.lessons.timeline import STILL, Timeline
from hil.model.robot import RobotModel

ArmJoints = Callable[[], tuple[float, ...] | None]


def alike(one: RobotModel, other: RobotModel) -> bool:
    """Whether what was typed for one arm can stand for the other: the joints have the same names, and move alike."""
    return [(joint.name, joint.type) for joint in one.joints] == [(joint.name, joint.type) for joint in other.joints]


class LessonView(QObject):
    """One view; those that stand are listed in `hil.dashboard.learn.views`.

    Whatever takes longer than a few milliseconds is done by `hil.dashboard.learn.work.Work`, in a process of its own.

    Signals:
        changed: time line or picture are others: the shell asks for both anew.
        said: a sentence for the line below the scene, such as what is wrong with what was typed.
        stepped: so many moments on.
        played: from the start.
        looked: at a moment, seconds.
        robot_kept: one was written under this name: it is shown from now on, and listed.
        robot_gone: the one that was written under this name was taken back.
        sought: a part of the worksheet has the answer to what was done in the scene: it is brought into sight.
        robot_changed: the robot itself is another one (an edited table): the other views are told.

    Attributes:
        worksheet: the widget at the right.
        arm_joints: joint values of the arm that the dashboard shows; None without one.
        history: of what was typed; None where forms or an editor have their own.
    """

    changed = Signal()
    said = Signal(str)
    stepped = Signal(int)
    played = Signal()
    looked = Signal(float)
    sought = Signal(QWidget)
    robot_changed = Signal(object)
    robot_kept = Signal(str)
    robot_gone = Signal(str)

    worksheet: QWidget

    def __init__(self) -> None:
        super().__init__()
        self.arm_joints: ArmJoints = lambda: None
        self.history: History[Any] | None = None

    def set_robot(self, model: RobotModel) -> None:
        """This arm from now on."""
        raise NotImplementedError

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""

    def timeline(self) -> Timeline:
        """What is played; a still picture by default."""
        return STILL

    def picture(self, time_s: float) -> Picture:
        """What is drawn at a moment of the time line; called for every frame, so it is quick."""
        raise NotImplementedError

    def show_moment(self, time_s: float) -> None:
        """The worksheet follows the time, with a lit cell for example."""

    def picked(self, point_m: tuple[float, float, float]) -> None:
        """A place in the scene was pointed at (Ctrl and a click), in the plane through the picture's middle."""

    def command_text(self) -> str:
        """The command that prints the same figures, as it is typed: ``hil fk lynx6 0 90 0 0 0``."""
        raise NotImplementedError

    def data(self) -> Sheet:
        """The figures, for a file."""
        raise NotImplementedError

    def task_text(self) -> str:
        """A task for the preview, as the text of its file; empty where there is nothing to be sent."""
        return ""

    def can_be_sent(self) -> bool:
        """Whether there is something for the preview."""
        return bool(self.task_text())

    def task_file(self) -> Path | None:
        """A file that is there already for the preview, where the view writes its own; None for `task_text`."""
        return None

    def task_robot(self) -> str:
        """The robot that the task is for, where it is another than the one that is chosen; else empty."""
        return ""

    def pause_at(self, before_s: float, after_s: float) -> float | None:
        """Where playing pauses between two moments, as at a break point; None where it goes on."""
        return None

    def entries(self) -> tuple[tuple[str, Any], ...]:
        """More that can be copied, each with its words and a function that gives the text."""
        return ()

    def is_wrong(self, form: Form) -> bool:
        """Whether nothing long is begun now, as a field is wrong; it is said which."""
        trouble = form.trouble
        self.said.emit(trouble)
        return bool(trouble)

    def undo(self) -> None:
        """Take back what was typed last."""
        if self.history is not None and self.history.back():
            self.retake()

    def redo(self) -> None:
        """Do again what was taken back."""
        if self.history is not None and self.history.forth():
            self.retake()

    def retake(self) -> None:
        """What the history has now counts."""

    def close(self) -> None:
        """The window goes: end what works for this view."""
