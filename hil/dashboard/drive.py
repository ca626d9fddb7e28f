"""The Drive view: whose turn it is, what is still missing, sliders and pad; everything moves only while it is held."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QLabel, QScrollArea, QToolButton, QVBoxLayout, QWidget

from hil.dashboard.drive_checklist import Checklist
from hil.dashboard.drive_eyes import Eyes
from hil.dashboard.drive_hand import SIZES, SPEEDS, DriveHand
from hil.dashboard.drive_hold import HoldButton
from hil.dashboard.drive_joints import AxisBar, JointsPanel
from hil.dashboard.drive_lease import LeaseBar
from hil.dashboard.drive_repair import PoseWizard, ResetPanel
from hil.dashboard.drive_tool import ToolPanel
from hil.dashboard.pace import Pace
from hil.dashboard.session import Session
from hil.dashboard.steady import Steady
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import Lines, Slot, dress, push
from hil.types import JogFrame, Mode

LOOK_EVERY_MS = 100
T = TypeVar("T")
BESIDE = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier


class DriveView(QScrollArea):
    """All of it. Keys work while it has the focus, which a click into it gives."""

    KEYS = (
        ("1 to 9, Up, Down", "pick a joint"),
        ("+ and -, Right, Left", "move the joint that is picked, while held"),
        ("G", "the joint goes to its target, while held"),
        ("W S, A D, R F", "the tool along X, Y, Z, while held"),
        ("U J, I K, O L", "the tool turns: pitch and roll, or about X, Y, Z, while held"),
        ("H, P", "the planned move home, to park, while held"),
        ("E", "the next increment; with an unknown pose: energise, while held"),
        ("Q", "the other frame"),
        ("Page up, Page down", "faster, slower"),
    )

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session, self._theme = session, theme
        self.driving = DriveHand(session, self)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Drive: keys move the arm while they are held"))
        self.lease = LeaseBar(self.driving)
        self.checklist = Checklist(self.driving, theme)
        self.wizard = PoseWizard(self.driving, theme, self)
        self.fault = ResetPanel(self.driving)
        self.controls, self._settings = QWidget(), QWidget()
        self.joints: JointsPanel | None = None
        self.tool: ToolPanel | None = None
        self.words, self._keys, self._allowed = Lines(2), Lines(1), QLabel()
        self._above = Slot(self.checklist, self.lease.question)
        self._above.show_one(self.checklist)
        self._choices: list[tuple[QToolButton, Callable[[], bool]]] = []
        self._column = QVBoxLayout(self.controls)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self._lay_out()
        self._eyes = Eyes(self.driving, self)
        self._steady = Steady(self, lambda: session.now_s, self._left_out, (AxisBar,))
        self.lease.asking.connect(lambda asks: self._above.show_one(self.lease.question if asks else self.checklist))
        self.driving.said.connect(lambda text: self.words.say((escape(text, quote=False),)))
        self.driving.changed.connect(self.refresh)
        self.driving.changed.connect(session.calm.stir)
        session.arm_changed.connect(self._show_arm)
        self._pace = Pace(session.calm, self.refresh, LOOK_EVERY_MS, self)
        if session.arm is not None:
            self._show_arm()
        self.set_theme(theme)

    def _lay_out(self) -> None:
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(8, 3, 8, 2)
        column.setSpacing(4)
        for widget in (self.lease, self._above, self.wizard, self.fault, self.controls, self.words):
            column.addWidget(widget)
        column.addStretch(1)
        column.addWidget(self._keys)
        self.setWidget(inside)
        self._keys.setEnabled(False)

    def _left_out(self) -> None:
        self.driving.say(tr("that press was left out: the buttons had just moved; press again"))

    def _show_arm(self) -> None:
        """Sliders and pad of this arm."""
        while (item := self._column.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self._choices.clear()
        self._allowed = QLabel()
        self.joints = JointsPanel(self.driving, self._theme, self)
        self.tool = ToolPanel(self.driving, self)
        for widget in (self._sizes(), self._speeds(), self.joints, self._frames(), self.tool):
            self._column.addWidget(widget)
        inside = self.widget()
        assert inside is not None  # since `_lay_out`
        self.setMinimumWidth(inside.minimumSizeHint().width() + 2)
        self.refresh()

    # -- settings ----------------------------------------------------------------------------------------

    def _sizes(self) -> QWidget:
        """How far a press moves."""
        driving = self.driving
        widget, row = _row()
        row.addWidget(QLabel(tr("Move")))
        sizes: list[tuple[str, float | None]] = [(tr("while held"), None), *((f"{size:g}", size) for size in SIZES)]
        tip = tr("One press moves so far, in degrees or millimetres, and ends by itself (key E: the next one)")
        self._choose(row, sizes, driving.set_increment, lambda: driving.increment, tip)
        row.addWidget(QLabel(tr("deg or mm a press")))
        row.addStretch(1)
        return widget

    def _speeds(self) -> QWidget:
        """How fast."""
        driving = self.driving
        widget, row = _row()
        row.addWidget(QLabel(tr("Speed")))
        speeds = [(f"{100.0 * share:g} %", share) for share in SPEEDS]
        tip = tr("Part of the rig's speeds (keys Page up, Page down); the lab may allow less")
        self._choose(row, speeds, driving.set_speed, lambda: driving.speed_share, tip)
        row.addWidget(self._allowed, 1)
        return widget

    def _frames(self) -> QWidget:
        """Frame of the tool's directions, and the planned moves."""
        driving = self.driving
        widget, row = _row()
        row.addWidget(QLabel(tr("Tool in the frame of")))
        frames = [(tr("the world"), JogFrame.WORLD), (tr("the tool"), JogFrame.TOOL)]
        tip = tr("In which X Y Z and turns are meant (key Q)")
        self._choose(row, frames, driving.set_frame, lambda: driving.frame, tip)
        row.addStretch(1)
        for text, pose, key in ((tr("Home"), "home", "H"), (tr("Park"), "park", "P")):
            tip = tr("A planned and checked move, while held (key {key})", key=key)
            button = HoldButton(f"{text}   [{key}]", tip, self)
            button.taken.connect(lambda pose=pose, button=button: driving.press_go(button, pose))
            button.let_go.connect(lambda button=button: driving.release(button))
            row.addWidget(button)
        return widget

    def _choose(
        self,
        row: QHBoxLayout,
        choices: list[tuple[str, T]],
        pick: Callable[[T], None],
        picked: Callable[[], T],
        tip: str,
    ) -> None:
        """Buttons of which one is down."""
        group = QButtonGroup(self)
        for text, value in choices:
            button = push(text, partial(pick, value), tip)
            button.setCheckable(True)
            group.addButton(button)
            row.addWidget(button)
            self._choices.append((button, partial(_is_picked, picked, value)))

    # -- keys --------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """A key that goes down; one that repeats itself is no new wish."""
        ours = not event.modifiers() & BESIDE
        if not (ours and (event.isAutoRepeat() or self._pressed(_source(event), event.key(), event.text()))):
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """A key that comes up."""
        if not event.isAutoRepeat():
            self.driving.release(_source(event))

    def _pressed(self, source: object, key: int, text: str) -> bool:
        driving, keys = self.driving, Qt.Key
        if self.wizard.isVisible():
            if key == keys.Key_E:
                self.wizard.pressed(source)
            return key == keys.Key_E
        if self.tool is None or not self.controls.isVisible():
            return False
        if text.isdecimal() and text != "0":
            self._pick(int(text))
        elif key in (keys.Key_Up, keys.Key_Down):
            driving.select(driving.axis + (1 if key == keys.Key_Down else -1))
        elif key in (keys.Key_Plus, keys.Key_Equal, keys.Key_Right):
            driving.press_axis(source, driving.axis, 1)
        elif key in (keys.Key_Minus, keys.Key_Underscore, keys.Key_Left):
            driving.press_axis(source, driving.axis, -1)
        elif key == keys.Key_G:
            driving.press_target(source, driving.axis)
        elif key in (keys.Key_H, keys.Key_P):
            driving.press_go(source, "home" if key == keys.Key_H else "park")
        elif key in (keys.Key_PageUp, keys.Key_PageDown):
            driving.faster(1 if key == keys.Key_PageUp else -1)
        elif key == keys.Key_E:
            every = (None, *SIZES)
            driving.set_increment(every[(every.index(driving.increment) + 1) % len(every)])
        elif key == keys.Key_Q:
            driving.set_frame(JogFrame.TOOL if driving.frame is JogFrame.WORLD else JogFrame.WORLD)
        else:
            return self.tool.pressed(source, key)
        return True

    def _pick(self, number: int) -> None:
        keys = self.driving.arm.keys
        if number in keys:
            self.driving.select(keys.index(number))
        else:
            self.driving.say(tr("{number} is no axis of this arm", number=number))

    # -- seen or not -------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """In a window of its own, or in the main one."""
        super().showEvent(event)
        self._eyes.watch()
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """Who does not see the panel does not drive by it."""
        self.driving.drop(tr("the panel is out of sight"))
        super().hideEvent(event)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.checklist.set_theme(theme)
        self.wizard.set_theme(theme)
        if self.joints is not None:
            self.joints.set_theme(theme)
        dress(self.words, "font-weight: 600;")

    def refresh(self) -> None:
        """Say how it is now."""
        mode = self.driving.mode
        unknown = mode is Mode.UNKNOWN_POSE or (mode is Mode.ENERGISING and self.wizard.isVisibleTo(self))
        failed = mode in (Mode.FAULT, Mode.ESTOP)
        if unknown != self.wizard.isVisibleTo(self):
            self.wizard.setVisible(unknown)
            self.wizard.show_ghost(unknown)
        self.fault.setVisible(failed)
        self.controls.setVisible(not unknown and not failed and self.joints is not None)
        if not self.isVisible():
            return
        self.lease.refresh()
        self.checklist.refresh()
        self.wizard.refresh()
        self.fault.refresh()
        for button, picked in self._choices:
            button.setChecked(picked())
        if self.joints is not None and self.tool is not None:
            self.joints.refresh()
            self.tool.refresh()
            self._allowed.setText(self._speed_words())
        self._keys.say((self._key_words(),))

    def _speed_words(self) -> str:
        """What the lab makes of the chosen speed."""
        welcome, newest = self.session.welcome, self.session.newest
        if welcome is None or newest is None:
            return ""
        most = min(welcome.speed_share, newest.speed_share)
        if most >= self.driving.speed_share:
            return ""
        return tr("the lab allows {most:.0f} % now", most=100.0 * most)

    def _key_words(self) -> str:
        focus = self.focusWidget() if self.isActiveWindow() else None
        if not (self.hasFocus() or (focus is not None and focus.hasFocus())):
            return tr("Keys: click into this panel first. Esc and Space stop, always.")
        return tr("Keys: 1-9 or Up, Down pick a joint; - and + or Left, Right move it. Esc and Space stop, always.")


def _row() -> tuple[QWidget, QHBoxLayout]:
    widget = QWidget()
    row = QHBoxLayout(widget)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(3)
    return widget, row


def _is_picked(picked: Callable[[], object], value: object) -> bool:
    return picked() == value


def _source(event: QKeyEvent) -> object:
    """The key as a thing: with Shift it may come up under another name than it went down."""
    return "key", event.nativeScanCode() or event.key()
