"""The shell of all lessons: scene left, worksheet right, time line below; nothing here reaches an arm."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer
from PySide6.QtGui import QColor, QGuiApplication, QImage, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.camera import VIEWS as SIDES
from hil.dashboard.learn.dh_file import robot_word
from hil.dashboard.learn.stage import LessonScene
from hil.dashboard.learn.time_bar import TimeBar
from hil.dashboard.learn.view import ArmJoints, LessonView
from hil.dashboard.learn.views import VIEWS, ViewKind
from hil.dashboard.learn.wheel import WheelScrolls
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import ask_file, dress, push, tab_style
from hil.errors import HilError
from hil.lessons.dh_table import EDITED
from hil.lessons.picture import Picture
from hil.model.files import list_names, state_dir
from hil.model.reader import load_robot
from hil.model.robot import RobotModel

NARROW = 900
"""Below this width the worksheet is under the scene."""

WIDEST_SHEET = 1000
"""No worksheet is wider, on a screen of any size: its fields would be lines across an empty place."""

FRAME = 2
"""Width of the frame around the scene with the focus."""

AROUND = 6
"""Seen above and below a part that is brought into sight, pixels."""

LOOK_MS = 500
"""Between two looks at a preview that was opened."""

Ended = Callable[[], str | None]
"""Says why a preview ended: nothing while it is open, an empty text once it was closed by hand."""

Send = Callable[[Path, str], Ended | None]
"""Opens a task's file in a preview of the robot of a name or file, perhaps elsewhere; may raise HilError."""


class LearnShell(QWidget):
    """All of it.

    Args:
        model: the arm at first.
        theme: colours at first.
        opengl: whether the scene can be drawn in OpenGL.
        send: how a task gets to a preview.
        kinds: the views that there are.
        arm_joints: joint values of the arm that the dashboard shows.
    """

    KEYS = (
        ("P", "play or pause"),
        ("Left, Right", "in the time line: a moment back, a moment on"),
        ("Ctrl+Z, Ctrl+Y", "take back what was typed, and do it again"),
        ("Ctrl and a click", "in the scene: take this place"),
    )

    def __init__(
        self,
        model: RobotModel,
        theme: Theme,
        *,
        opengl: bool,
        send: Send,
        kinds: Sequence[ViewKind] = VIEWS,
        arm_joints: ArmJoints = lambda: None,
    ) -> None:
        super().__init__()
        self.model, self._theme, self._send, self.kinds = model, theme, send, tuple(kinds)
        self._arm_joints, self._opengl = arm_joints, opengl
        self.shown: dict[str, LessonView] = {}
        self.view: LessonView | None = None
        self._files: dict[str, str] = {}
        """Of robots that no name leads to, by what they are called here."""

        self._good = False
        self._wheel = WheelScrolls(self)
        self._previews: list[Ended] = []
        self._looks = QTimer(self)
        self._looks.timeout.connect(self._look_at_previews)
        self.scene = _make_scene(opengl)
        self.time_bar = TimeBar()
        self.time_bar.moved.connect(self._draw)
        self.time_bar.pause_at = lambda before, after: self.view.pause_at(before, after) if self.view else None
        self.scene.pointed.connect(lambda x, y, z: self.view and self.view.picked((x, y, z)))
        self.said = QLabel()
        self.said.setWordWrap(True)
        self.said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._lay_out()
        self.set_theme(theme)
        self.show_view(self.kinds[0].name)
        self.scene.fit()

    # -- building ----------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self.tabs = QTabBar()
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(True)
        self.tabs.setAccessibleName(tr("Lessons"))
        for kind in self.kinds:
            self.tabs.addTab(tr(kind.title))
        self.tabs.currentChanged.connect(lambda at: self.show_view(self.kinds[at].name))
        self.sheets = QStackedWidget()
        self.sheets.setMaximumWidth(WIDEST_SHEET)
        self.scene.widget.setAccessibleName(tr("Scene"))
        left = _Framed(self.scene.widget, self._theme)
        self._framed = left
        column = QVBoxLayout(left)
        column.setContentsMargins(FRAME, 0, FRAME, 0)
        column.setSpacing(2)
        column.addLayout(self._sides())
        column.addWidget(self.scene.widget, 1)
        column.addWidget(self.time_bar)
        column.addWidget(self.time_bar.words)
        self.halves = QSplitter(Qt.Orientation.Horizontal)
        self.halves.addWidget(left)
        self.halves.addWidget(self.sheets)
        self.halves.setChildrenCollapsible(False)
        self.halves.setSizes([560, 440])
        whole = QVBoxLayout(self)
        whole.setContentsMargins(4, 4, 4, 4)
        whole.setSpacing(3)
        whole.addLayout(self._robots())
        whole.addWidget(self.tabs)
        whole.addWidget(self.halves, 1)
        whole.addWidget(self.said)
        whole.addLayout(self._takings())

    def _robots(self) -> QHBoxLayout:
        self.robots = QComboBox()
        self.robots.setAccessibleName(tr("Robot"))
        self.robots.addItems(list_names("robots"))
        self._list(self.model)
        self.robots.activated.connect(lambda _: self._load(self.robots.currentText()))
        self.title = QLabel()
        self.title.setWordWrap(True)
        row = QHBoxLayout()
        row.addWidget(self.robots)
        row.addWidget(self.title, 1)
        return row

    def _sides(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(2)
        for number, name in enumerate(SIDES, start=1):
            tip = tr("Look from there (key {number} in the scene)", number=number)
            row.addWidget(push(tr(name), lambda name=name: self._look_from(name), tip))  # type: ignore[misc]
        row.addWidget(push(tr("Fit"), self.scene.fit, tr("All of it")))
        row.addStretch(1)
        if not self._opengl:
            painted = QLabel(tr("painted"))
            painted.setToolTip(tr("The scene is drawn without OpenGL, which this display does not have."))
            row.addWidget(painted)
        return row

    def _takings(self) -> QHBoxLayout:
        self.copy = push(tr("Copy as command"), self._copy_command, tr("What prints the same figures"))
        self.more = push(tr("Copy"))
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.aboutToShow.connect(lambda: self._fill_copies(menu))
        self.more.setMenu(menu)
        self.export = push(tr("Export"), tip=tr("The picture, or its figures as a table"))
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        kinds = QMenu(self)
        kinds.addAction(tr("Picture (PNG)")).triggered.connect(lambda: self._ask("png"))
        kinds.addAction(tr("Figures (CSV)")).triggered.connect(lambda: self._ask("csv"))
        self.export.setMenu(kinds)
        self.send = push(
            tr("Send to Preview"), self._send_task, tr("Writes a task and has it checked; nothing moves by that")
        )
        row = QHBoxLayout()
        row.setSpacing(4)
        for button in (self.copy, self.more, self.export):
            row.addWidget(button)
        row.addStretch(1)
        row.addWidget(self.send)
        return row

    # -- what is looked at -------------------------------------------------------------------------------

    def show_view(self, name: str) -> None:
        """One of the views; it is made when it is first looked at."""
        at = [kind.name for kind in self.kinds].index(name)
        if name not in self.shown:
            self._add(self.kinds[at])
        self.view = self.shown[name]
        self.tabs.setCurrentIndex(at)
        self.sheets.setCurrentIndex(list(self.shown).index(name))
        self.say("")
        self._refresh(self.view)

    def _add(self, kind: ViewKind) -> None:
        view = kind.make()
        view.setParent(self)
        view.arm_joints = self._arm_joints
        view.changed.connect(lambda: self._refresh(view))
        view.said.connect(lambda text: self.say(text) if view is self.view else None)
        view.stepped.connect(lambda by: self.time_bar.step(by) if view is self.view else None)
        view.played.connect(lambda: self.time_bar.begin() if view is self.view else None)
        view.looked.connect(lambda time_s: self.time_bar.look(time_s) if view is self.view else None)
        view.robot_kept.connect(self._kept)
        view.robot_gone.connect(self._unlist)
        view.robot_changed.connect(lambda model: self._take(model, view))
        sheet = QScrollArea()
        sheet.setWidgetResizable(True)
        sheet.setWidget(view.worksheet)
        sheet.setFrameShape(QScrollArea.Shape.NoFrame)
        sheet.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._wheel.watch(view.worksheet)
        view.sought.connect(lambda part: _bring_into_sight(sheet, view.worksheet, part))
        self.sheets.addWidget(sheet)
        self.shown[kind.name] = view
        view.set_theme(self._theme)
        view.set_robot(self.model)

    def set_robot(self, model: RobotModel) -> None:
        """Another arm in all views."""
        self._list(model)
        self.say("")
        self._take(model, None)
        self.scene.fit()

    def _list(self, model: RobotModel) -> None:
        """It is chosen in the list, and can be chosen again."""
        if self.robots.findText(model.id) < 0:
            self.robots.insertItem(0, model.id)
            self._files[model.id] = model.file
        self.robots.setCurrentText(model.id)

    def _take(self, model: RobotModel, source: LessonView | None) -> None:
        self.model = model
        self.robots.setCurrentText(model.id.removesuffix(EDITED))
        for view in self.shown.values():
            if view is not source:
                view.set_robot(model)
        if self.view is not None:
            self._refresh(self.view)

    def _load(self, name: str) -> None:
        try:
            self.set_robot(load_robot(self._files.get(name) or name))
        except HilError as error:
            self.robots.setCurrentText(self.model.id)
            self.say(str(error))

    def _kept(self, name: str) -> None:
        """A robot was written: from now on its name leads to that."""
        self._files.pop(name, None)
        self._load(name)

    def _unlist(self, name: str) -> None:
        """A robot that was taken back; an older one of the name stays."""
        if name not in list_names("robots"):
            self.robots.removeItem(self.robots.findText(name))

    def _refresh(self, view: LessonView) -> None:
        if view is not self.view:
            return
        self.title.setText(self.model.title)
        self.time_bar.set_timeline(view.timeline())
        self.send.setEnabled(view.can_be_sent())
        self.more.setVisible(bool(view.entries()))

    def _draw(self, time_s: float) -> None:
        if self.view is not None:
            self.scene.show_picture(self.view.picture(time_s))
            self.view.show_moment(time_s)

    def picture(self) -> Picture:
        """What is drawn now."""
        assert self.view is not None
        return self.view.picture(self.time_bar.time_s)

    def say(self, text: str, *, good: bool = False) -> None:
        """A sentence below the scene: of what is wrong, or of what went well."""
        self._good = good
        dress(self.said, f"color: {self._theme.text if good else self._theme.bad};")
        self.said.setText(text)
        self.said.setVisible(bool(text))

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.scene.set_theme(theme)
        self._framed.theme = theme
        self._framed.update()
        dress(self.tabs, tab_style(theme))
        self.time_bar.set_theme(theme)
        self.say(self.said.text(), good=self._good)
        for view in self.shown.values():
            view.set_theme(theme)

    def _look_from(self, name: str) -> None:
        self.scene.look(self.scene.camera.seen_from(name))

    # -- what is taken along -----------------------------------------------------------------------------

    def _copy_command(self) -> None:
        if self.view is not None:
            self._told(self._copy)

    def _copy(self, view: LessonView) -> None:
        text = view.command_text()
        QGuiApplication.clipboard().setText(text)
        self.say(tr("copied: {command}", command=text), good=True)

    def _fill_copies(self, menu: QMenu) -> None:
        menu.clear()
        for words, text in () if self.view is None else self.view.entries():
            menu.addAction(words).triggered.connect(
                lambda _=False, text=text: self._told(lambda view: QGuiApplication.clipboard().setText(text()))
            )

    def _ask(self, kind: str) -> None:
        name = f"{self.model.id}-{self.kinds[self.tabs.currentIndex()].name}.{kind}"
        path = ask_file(self, tr("Export"), name, f"{kind.upper()} (*.{kind})")
        if path is not None:
            self._told(lambda view: self._written(path))

    def _written(self, path: Path) -> None:
        self.write(path)
        self.say(tr("written: {path}", path=path), good=True)

    def write(self, path: Path) -> None:
        """The figures for a name that ends in .csv, else the picture.

        Raises:
            OSError: the file cannot be written.
        """
        assert self.view is not None
        if path.suffix.lower() == ".csv":
            path.write_text(self.view.data().csv_text(), encoding="utf-8")
        elif not self._grabbed().save(str(path)):
            raise OSError(None, tr("no picture is written there; allowed: a name that ends in .png"), str(path))

    def _grabbed(self) -> QImage:
        return self.scene.grabbed()

    def _send_task(self) -> None:
        def send(view: LessonView) -> None:
            folder = state_dir() / "lessons"
            folder.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{self.model.id}-{self.kinds[self.tabs.currentIndex()].name}")
            path = view.task_file()
            if path is None and view.task_text():
                path = folder / f"{name}.toml"
                path.write_text(view.task_text(), encoding="utf-8")
            if path is None:
                return
            ended = self._send(path, view.task_robot() or robot_word(self.model))
            if ended is None:
                self.say(tr("sent to the preview: {path}", path=path), good=True)
                return
            self.say(tr("sent to the preview, which opens in a window of its own: {path}", path=path), good=True)
            self._previews.append(ended)
            self._looks.start(LOOK_MS)

        self._told(send)

    def _look_at_previews(self) -> None:
        """One that could not begin says why in a terminal that nobody may see."""
        ends = [(each, each()) for each in self._previews]
        self._previews = [each for each, why in ends if why is None]
        if not self._previews:
            self._looks.stop()
        for _, why in ends:
            if why:
                self.say(tr("the preview has ended: {why}", why=why))

    def _told(self, act: Callable[[LessonView], object]) -> None:
        """Do something with the view; what goes wrong is said below the scene."""
        if self.view is None:
            return
        try:
            act(self.view)
        except OSError as error:
            self.say(f"{error.filename}: {error.strerror or error}")
        except HilError as error:
            self.say(str(error))

    # -- Qt ----------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """P plays; Ctrl+Z and Ctrl+Y take back and do again."""
        control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if control and event.key() == Qt.Key.Key_Z and self.view is not None:
            self.view.undo()
        elif control and event.key() == Qt.Key.Key_Y and self.view is not None:
            self.view.redo()
        elif event.key() == Qt.Key.Key_P and not control:
            self.time_bar.toggle()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Worksheet beside the scene, or below it where there is no room."""
        way = Qt.Orientation.Horizontal if self.width() >= NARROW else Qt.Orientation.Vertical
        if self.halves.orientation() != way:
            self.halves.setOrientation(way)
        super().resizeEvent(event)

    def end(self) -> None:
        """The window goes."""
        for view in self.shown.values():
            view.close()


class _Framed(QWidget):
    """Paints a frame around the scene while it has the focus."""

    def __init__(self, scene: QWidget, theme: Theme) -> None:
        super().__init__()
        self._scene, self.theme = scene, theme
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        app.focusObjectChanged.connect(self._frame_anew)

    def _frame_anew(self) -> None:
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """The frame."""
        super().paintEvent(event)
        if self._scene.hasFocus():
            around = self._scene.geometry().adjusted(-FRAME, -FRAME, FRAME, FRAME)
            QPainter(self).fillRect(around, QColor(self.theme.accent))


def _bring_into_sight(area: QScrollArea, sheet: QWidget, part: QWidget) -> None:
    """A part that was just filled has its place only when all is laid out anew."""
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    QApplication.sendEvent(sheet, QEvent(QEvent.Type.LayoutRequest))
    place = part.rect().translated(part.mapTo(sheet, QPoint()))
    # Of a text Qt's own way shows no more than the line of its cursor.
    for y in (place.bottom(), place.top()):
        area.ensureVisible(place.left(), y, 0, AROUND)


def _make_scene(opengl: bool) -> LessonScene:
    if opengl:
        from hil.dashboard.learn.scene_gl import GlLesson

        return GlLesson()
    from hil.dashboard.learn.scene_painted import PaintedLesson

    return PaintedLesson()
