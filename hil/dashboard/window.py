"""The main window: header and STOP on top, the scene in the middle, every other view a dock; remembers its layout."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QChildEvent, QSettings, Qt, QTimer
from PySide6.QtGui import QAction, QCloseEvent, QKeySequence
from PySide6.QtWidgets import (
    QDockWidget,
    QHBoxLayout,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from hil.dashboard.application import application
from hil.dashboard.drive import DriveView
from hil.dashboard.events import EventsView
from hil.dashboard.header import Header
from hil.dashboard.help import EVERYWHERE, KeysView
from hil.dashboard.keys import StopKeys
from hil.dashboard.lessons_dock import LessonsView
from hil.dashboard.live_view import LiveView
from hil.dashboard.plots import PlotsView
from hil.dashboard.pose import PoseView
from hil.dashboard.power import PowerView
from hil.dashboard.preview import PreviewView
from hil.dashboard.session import Session
from hil.dashboard.specification import SpecificationView
from hil.dashboard.status import StatusView
from hil.dashboard.tab_order import is_behind, put_in_order
from hil.dashboard.texts import tr
from hil.dashboard.theme import DARK, THEMES, Theme, apply
from hil.dashboard.tour import Tour
from hil.dashboard.widgets import Lines, fill_theme_menu, keep_place, push

LAYOUT_VERSION = 3
"""Raised when docks come or go: an older layout is then left alone."""

BANNER_MS = 12_000
LEAST_SIZE = (1280, 800)
PART_OF_SCREEN = 0.85
WIDE = 1800
"""From this width on curves and controls are side by side at first, instead of one behind the other."""

WIDEST = 2400
"""From this one on the small docks below the scene are, too."""


class View(NamedTuple):
    """One dock.

    Attributes:
        name: for the layout; never translated.
        title: for people.
        make: builds the widget; one that has `set_theme` is told of a new theme.
        area: where it is at first, if it is `beside` no other.
        beside: name of the view under whose tab it is at first.
        apart: in a window of this width it is to the right of that one instead; 0 for never. (Qt 6.11 draws two bars
            for a second group of tabs in one area, so there is only one.)
        hidden: not shown before it is asked for.
    """

    name: str
    title: str
    make: Callable[[Session, Theme], QWidget]
    area: Qt.DockWidgetArea = Qt.DockWidgetArea.BottomDockWidgetArea
    beside: str = ""
    apart: int = 0
    hidden: bool = False


VIEWS = (
    View("plots", "Curves", PlotsView, Qt.DockWidgetArea.RightDockWidgetArea),
    View("drive", "Drive", DriveView, Qt.DockWidgetArea.RightDockWidgetArea, beside="plots", apart=WIDE),
    View("preview", "Preview", PreviewView, beside="plots"),
    View("status", "Status", StatusView, Qt.DockWidgetArea.BottomDockWidgetArea),
    View("pose", "Tool", lambda session, theme: PoseView(session), beside="status", apart=WIDEST),
    View("robot", "Robot", lambda session, theme: SpecificationView(session), beside="status", apart=WIDEST),
    View("events", "Events", lambda session, theme: EventsView(session), beside="status"),
    View("keys", "Keys", lambda session, theme: KeysView(), beside="status", hidden=True),
    View("power", "Power", PowerView, beside="status"),
    View("lessons", "Lessons", LessonsView, beside="plots", hidden=True),
)
"""All docks; a new view is one line here and one file beside this one."""


class Banner(QWidget):
    """A line across the window for what went wrong; goes away by itself, or when it is told to.

    Attributes:
        offered: does something about it, where something can be done.
    """

    def __init__(self) -> None:
        super().__init__()
        self.text = Lines(2)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.offered = push("")
        self.offered.hide()
        self._act: Callable[[], object] = self.hide
        self.offered.clicked.connect(self._accept)
        away = push(tr("Dismiss"), self.hide)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 1, 12, 1)
        row.addWidget(self.text, 1)
        row.addWidget(self.offered)
        row.addWidget(away)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setStyleSheet("Banner { background: #7a1f10; } Banner QLabel { color: #ffffff; font-weight: 600; }")
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.hide)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        # Its place is its own, also while it is not seen: nothing below moves when it comes.
        keep_place(self)
        self.hide()

    def say(self, text: str) -> None:
        """Show this for a while; what is offered stays."""
        self.text.say((escape(text, quote=False),))
        self.show()
        if self.offered.isHidden():
            self._timer.start(BANNER_MS)

    def offer(self, text: str, label: str, act: Callable[[], object]) -> None:
        """Show this, and a button that does something about it, until that is pressed or sent away."""
        self._timer.stop()
        self.offered.setText(label)
        self.offered.show()
        self._act = act
        self.say(text)

    def _accept(self) -> None:
        self.offered.hide()
        self._act()


class Window(QMainWindow):
    """Everything that is seen.

    Args:
        session: the arm that is looked at.
        settings: where layout and theme are remembered.
        opengl: whether the scene can be drawn in OpenGL.
        size: at first; None for most of the screen.
    """

    def __init__(
        self, session: Session, settings: QSettings, *, opengl: bool, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__()
        self.session, self._settings = session, settings
        self.theme = THEMES.get(str(settings.value("theme", DARK.name)), DARK)
        self._colour()
        self.setWindowTitle(tr("Arm"))
        self.setDockNestingEnabled(True)
        self.resize(*(size or _first_size()))
        self.header, self.banner = Header(session), Banner()
        self.tour = Tour(self, self._place, settings, self.theme)
        top = QWidget()
        column = QVBoxLayout(top)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self.banner)
        column.addWidget(self.tour)
        self._menu = self.menuBar()
        self.setMenuWidget(self._with_menu(top))
        self.live = LiveView(session, self.theme, opengl=opengl)
        self.setCentralWidget(self.live)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self.setCorner(Qt.Corner.TopRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self.views: dict[str, QWidget] = {}
        self.docks: dict[str, QDockWidget] = {}
        for view in VIEWS:
            self._add(view)
        lessons = self.views["lessons"]
        assert isinstance(lessons, LessonsView)
        lessons.opengl = opengl
        lessons.sent.connect(self.open_preview)
        for name in ("plots", "drive", "pose", "status"):
            self.docks[name].raise_()
        self._fill_menus()
        self._tell_keys()
        self._first_layout = self.saveState(LAYOUT_VERSION)
        self._restore()
        self._keys = StopKeys(session.stop)
        application().installEventFilter(self._keys)
        self._keys.escaped.connect(self.tour.leave)
        self._keys.touched.connect(session.calm.stir)
        session.failed.connect(self.banner.say)
        session.arm_changed.connect(self._put_in_order)
        session.arm_changed.connect(self._name)
        session.linked.connect(self._name)
        self._put_in_order()
        self._name()

    def open_at_first(self, task: Path) -> None:
        """Preview a task or program as soon as the arm is heard, and show the view that tells of it."""
        if self.session.arm is not None:
            self.open_preview(task)
            return

        def once() -> None:
            self.session.arm_changed.disconnect(once)
            self.open_preview(task)

        self.session.arm_changed.connect(once)

    def open_preview(self, path: Path) -> None:
        """Preview a task or program, and show the view that tells of it. Nothing moves by that."""
        preview = self.views["preview"]
        assert isinstance(preview, PreviewView)
        self.bring(self.docks["preview"])
        preview.previewing.open(path)

    def _with_menu(self, top: QWidget) -> QWidget:
        """Menu bar above header and banner: what no dock can cover."""
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._menu)
        column.addWidget(top)
        return whole

    def _add(self, view: View) -> None:
        dock = QDockWidget(tr(view.title), self)
        dock.setObjectName(view.name)
        widget = view.make(self.session, self.theme)
        dock.setWidget(widget)
        if not view.beside:
            self.addDockWidget(view.area, dock)
        elif view.apart and self.width() >= view.apart:
            self.addDockWidget(view.area, dock, Qt.Orientation.Horizontal)
        else:
            self.tabifyDockWidget(self.docks[view.beside], dock)
        if view.hidden:
            dock.hide()
        self.docks[view.name], self.views[view.name] = dock, widget

    def _fill_menus(self) -> None:
        arm = self._menu.addMenu(tr("&Arm"))
        stop = arm.addAction(tr("&Stop (Esc or Space)"))
        stop.triggered.connect(lambda: self.session.stop())
        freeze = arm.addAction(tr("&Freeze and latch"))
        freeze.setShortcut(QKeySequence("Ctrl+Shift+E"))
        freeze.triggered.connect(lambda: self.session.stop(freeze=True))
        supply = arm.addAction(tr("Servo supply was &cut, or may have been"))
        supply.triggered.connect(lambda: self.session.supply_cut())
        arm.addSeparator()
        leave = arm.addAction(tr("&Quit"))
        leave.setShortcut(QKeySequence.StandardKey.Quit)
        leave.triggered.connect(self.close)
        views = self._menu.addMenu(tr("&View"))
        for number, dock in enumerate(self.docks.values(), start=1):
            self._view_action(views, dock, QKeySequence(f"Ctrl+{number % 10}"))
        views.addSeparator()
        views.addAction(tr("&Layout as at first"), self.reset_layout)
        self._theme_menu()
        helping = self._menu.addMenu(tr("&Help"))
        keys = helping.addAction(tr("All &keys"))
        keys.setShortcut(QKeySequence("F1"))
        keys.triggered.connect(lambda: self.bring(self.docks["keys"]))
        helping.addAction(tr("&Tour of this window"), self.tour.begin)

    def _view_action(self, menu: QMenu, dock: QDockWidget, keys: QKeySequence) -> None:
        action = menu.addAction(dock.windowTitle())
        action.setShortcut(keys)
        action.setCheckable(True)
        action.setChecked(not dock.isHidden())
        dock.toggleViewAction().toggled.connect(action.setChecked)

        def act() -> None:
            if dock.isAncestorOf(self.focusWidget() or self):
                dock.close()
            else:
                self.bring(dock)
            action.setChecked(not dock.isHidden())

        action.triggered.connect(act)

    def bring(self, dock: QDockWidget) -> None:
        """Show a dock, in front of those with which it shares its place, and give it the focus."""
        dock.show()
        dock.raise_()
        view = dock.widget()
        for widget in (view, *view.findChildren(QWidget)):
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isEnabled() and widget.isVisibleTo(dock):
                widget.setFocus(Qt.FocusReason.ShortcutFocusReason)
                return

    def _tell_keys(self) -> None:
        """Fill the page of keys: those that count everywhere, the menus', and what each view says of itself."""
        actions = [action for action in self.findChildren(QAction) if not action.shortcut().isEmpty()]
        menus = tuple((action.shortcut().toString(), action.text().replace("&", "")) for action in actions)
        named = [
            (tr("In the scene"), self.live),
            *((dock.windowTitle(), dock.widget()) for dock in self.docks.values()),
        ]
        own = [(title, tuple((key, tr(what)) for key, what in getattr(view, "KEYS", ()))) for title, view in named]
        everywhere = tuple((tr(key), tr(what)) for key, what in EVERYWHERE)
        page = self.views["keys"]
        assert isinstance(page, KeysView)
        page.show_keys([(tr("Everywhere"), everywhere + menus), *own])

    def _place(self, name: str) -> QWidget | None:
        """What the tour speaks of."""
        places = {"lamp": self.header.lamp, "stop": self.header.stop, "scene": self.live, "menu": self._menu}
        return places.get(name) or self.docks.get(name)

    def _theme_menu(self) -> None:
        fill_theme_menu(self._menu.addMenu(tr("&Colours")), self.theme, self.set_theme)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on, also next time."""
        self.theme = theme
        self._settings.setValue("theme", theme.name)
        self._colour()
        for widget in (self.tour, self.live, *self.views.values()):
            if hasattr(widget, "set_theme"):
                widget.set_theme(theme)

    def _colour(self) -> None:
        apply(self.theme, application())

    def reset_layout(self) -> None:
        """All docks where they were at first."""
        self.restoreState(self._first_layout, LAYOUT_VERSION)
        self._share_room()

    def _restore(self) -> None:
        geometry, state = self._settings.value("geometry"), self._settings.value("layout")
        if geometry is not None:
            self.restoreGeometry(geometry)
        if state is None or not self.restoreState(state, LAYOUT_VERSION):
            self._share_room()
            # Whoever has never been here wants to see an arm move.
            self.bring(self.docks["drive"])

    def _share_room(self) -> None:
        """At first the scene has two thirds of the height, and half of the width; less with two docks beside it."""
        parts = {"plots": 0.30, "drive": 0.34} if self.width() >= WIDE else {"plots": 0.46}
        widths = [int(part * self.width()) for part in parts.values()]
        self.resizeDocks([self.docks[name] for name in parts], widths, Qt.Orientation.Horizontal)
        self.resizeDocks([self.docks["status"]], [int(0.32 * self.height())], Qt.Orientation.Vertical)

    def _name(self) -> None:
        welcome = self.session.welcome
        if welcome is not None:
            real = tr("REAL") if welcome.real else tr("FAKE")
            who = welcome.name or tr("nobody by name")
            self.setWindowTitle(f"{welcome.arm} ({real}) - {who} - {welcome.server}")

    def _put_in_order(self) -> None:
        """The Tab key: STOP, the tour, the scene, the docks; again with another arm, which has other buttons."""
        put_in_order([self.header, self.banner, self.tour, self.live, *self.docks.values()])

    def focusNextPrevChild(self, forwards: bool) -> bool:  # noqa: N802 - Qt's name
        """The Tab key, past docks that are behind others."""
        first = self.focusWidget()
        while super().focusNextPrevChild(forwards):
            if self.focusWidget() is first or not is_behind(self.focusWidget()):
                return True
        return False

    def childEvent(self, event: QChildEvent) -> None:  # noqa: N802 - Qt's name
        """Tabs of docks take no focus: Qt 6.11 leaves unused ones behind, and Ctrl with a digit does more."""
        tabs = event.child()
        if event.polished() and isinstance(tabs, QTabBar):
            tabs.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        super().childEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 - Qt's name
        """Remember the layout, let go of the service."""
        self._settings.setValue("geometry", self.saveGeometry())
        self._settings.setValue("layout", self.saveState(LAYOUT_VERSION))
        application().removeEventFilter(self._keys)
        lessons = self.views["lessons"]
        assert isinstance(lessons, LessonsView)
        lessons.end()
        self.session.link.close()
        super().closeEvent(event)


def _first_size() -> tuple[int, int]:
    """Most of the screen, but no less than what all views need, if there is so much."""
    room = application().primaryScreen().availableSize()
    width, height = (
        min(whole, max(least, int(PART_OF_SCREEN * whole)))
        for whole, least in zip((room.width(), room.height()), LEAST_SIZE, strict=True)
    )
    return width, height
