"""The scene with its buttons: named views, what is drawn, and what the reported outline is worth."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from hil.dashboard.camera import VIEWS
from hil.dashboard.differences import GROWN, grown
from hil.dashboard.pace import Pace
from hil.dashboard.scene_stage import LAYERS, Pose, Scene, SceneState
from hil.dashboard.session import Session
from hil.dashboard.texts import SOURCES, tr
from hil.dashboard.theme import Theme
from hil.dashboard.widgets import Lines, push
from hil.service.wire import Telemetry
from hil.types import Mode

FRAME_EVERY_MS = 33
UNKNOWN = frozenset({Mode.UNKNOWN_POSE, Mode.ENERGISING, Mode.CONNECTING, Mode.DISCONNECTED})
"""Modes in which nobody knows where the arm stands: none is drawn as known."""

FRAME = 2
"""Width of the frame around a scene that has the focus."""


def make_scene(opengl: bool) -> Scene:
    """The scene in OpenGL, or painted."""
    if opengl:
        from hil.dashboard.scene import GlScene

        return GlScene()
    from hil.dashboard.scene2d import PaintedScene

    return PaintedScene()


class LiveView(QWidget):
    """The scene, drawn anew on a timer of its own while something has changed."""

    KEYS = (
        ("Left, Right, Up, Down", "turn"),
        ("Shift and an arrow", "pan"),
        ("+, -", "nearer, farther"),
        ("1 to 6", "the named views"),
    )

    def __init__(self, session: Session, theme: Theme, *, opengl: bool) -> None:
        super().__init__()
        self._session, self._theme = session, theme
        self.scene = make_scene(opengl)
        self.scene.set_theme(theme)
        widget = self.scene.widget
        widget.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        widget.setAccessibleName(tr("Scene: arrows turn, Shift and arrows pan, plus and minus zoom"))
        self._legend = Lines(3)
        self._legend.setContentsMargins(8, 0, 8, 2)
        self._drawn: tuple[object, ...] | None = None
        layout = QVBoxLayout(self)
        # The scene in OpenGL covers all that is drawn over it: what frames it needs an edge of its own.
        layout.setContentsMargins(3, 0, 3, 3)
        layout.setSpacing(2)
        layout.addLayout(self._buttons(opengl))
        layout.addWidget(widget, 1)
        layout.addWidget(self._legend)
        session.arm_changed.connect(self._show_arm)
        app = QGuiApplication.instance()
        assert isinstance(app, QGuiApplication)
        app.focusObjectChanged.connect(self._frame_anew)
        self._pace = Pace(session.calm, self.refresh, FRAME_EVERY_MS, self)
        if session.arm is not None:
            self._show_arm()
        self._write_legend(None)

    def _buttons(self, opengl: bool) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(6, 4, 6, 0)
        for number, name in enumerate(VIEWS, start=1):
            tip = tr("Look from there (key {number} in the scene)", number=number)
            row.addWidget(push(tr(name), lambda name=name: self._look_from(name), tip))  # type: ignore[misc]
        row.addWidget(push(tr("Fit"), self.scene.fit, tr("All of the arm")))
        row.addStretch(1)
        if not opengl:
            painted = QLabel(tr("painted"))
            painted.setToolTip(tr("The scene is drawn without OpenGL, which this display does not have."))
            row.addWidget(painted)
        row.addWidget(push(tr("Clear trace"), self._session.trace.clear))
        layers = push(tr("Show"))
        layers.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        layers.setMenu(self._layers_menu())
        row.addWidget(layers)
        return row

    def _layers_menu(self) -> QMenu:
        menu = QMenu(self)
        for layer in LAYERS:
            action = menu.addAction(tr(layer))
            action.setCheckable(True)
            action.setChecked(layer in self.scene.layers)
            action.toggled.connect(lambda on, layer=layer: self.show_layer(layer, on))
        return menu

    def _look_from(self, name: str) -> None:
        self.scene.look(self.scene.camera.seen_from(name))

    def show_layer(self, layer: str, on: bool) -> None:
        """Draw one of `LAYERS`, or not."""
        (self.scene.layers.add if on else self.scene.layers.discard)(layer)
        self._drawn = None

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.scene.set_theme(theme)
        self._drawn = None
        self._write_legend(self._session.newest)

    def _frame_anew(self) -> None:
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """A frame around the scene while it has the focus."""
        super().paintEvent(event)
        if self.scene.widget.hasFocus():
            around = self.scene.widget.geometry().adjusted(-FRAME, -FRAME, FRAME, FRAME)
            QPainter(self).fillRect(around, QColor(self._theme.accent))

    def refresh(self) -> None:
        """Draw what is newest, if it is new."""
        session = self._session
        frame, ghost, figure = session.newest, session.ghost, session.figure
        if frame is None or not self.isVisible():
            return
        old, rest = not session.live, session.resting_place()
        seen = (frame.mode, frame.source, frame.commanded, frame.simulated, frame.reported, frame.errors)
        key = (seen, rest, old, session.trace.version, ghost, figure)
        if key == self._drawn:
            return
        self._drawn = key
        known = frame.mode not in UNKNOWN
        self.scene.show_state(
            SceneState(
                simulated=self._pose(frame.simulated if known else ()),
                commanded=self._pose(ghost.positions if ghost is not None else frame.commanded if known else ()),
                reported=self._pose(frame.reported if known else ()),
                stopping=self._pose(rest or ()),
                grown=self._pose(self._grown(frame) if known else ()),
                old=old,
                previewed=None if figure is None else self._pose(figure.positions),
                failing=frozenset() if figure is None else figure.failing,
                way=None if figure is None else figure.way,
            )
        )
        self._write_legend(frame)

    def _grown(self, frame: Telemetry) -> Sequence[float]:
        arm = self._session.arm
        return () if arm is None else grown(arm, frame) or ()

    def _pose(self, positions: Sequence[float | None]) -> Pose | None:
        arm = self._session.arm
        frames = None if arm is None or not positions else arm.frames(positions)
        return None if arm is None or frames is None else Pose(frames, arm.opening_m(positions))

    def _show_arm(self) -> None:
        assert self._session.arm is not None
        self.scene.show_arm(self._session.arm, self._session.trace)
        self._drawn = None

    def _write_legend(self, frame: Telemetry | None) -> None:
        theme = self._theme
        source = None if frame is None else frame.source
        label, meaning = ("", tr("nothing reported")) if source is None else map(tr, SOURCES[source])
        known = f"<b>{label}</b> ({meaning})" if label else meaning
        ghost = tr("commanded") if self._session.ghost is None else f"<b>{self._session.ghost.words}</b>"
        parts: tuple[tuple[str, str, str], ...] = (
            (theme.simulated, "■", tr("solid: simulated")),
            (theme.commanded, "▒", tr("ghost: ") + ghost),
            (theme.reported, "▢", tr("outline: reported, ") + known),
            (theme.stopping, "┅", tr("dashes: would stop there if released now")),
        )
        arm = self._session.arm
        if arm is not None and frame is not None and frame.mode not in UNKNOWN and grown(arm, frame) is not None:
            parts += ((theme.bad, "▢", f"<b>{tr('outline: its error, {times:g} times as large', times=GROWN)}</b>"),)
        if frame is not None and frame.mode in UNKNOWN:
            parts = ((theme.commanded, "▒", tr("ghost: ") + ghost),) if self._session.ghost is not None else ()
            parts += ((theme.warn, "?", f"<b>{tr('where the arm stands is not known: none is drawn')}</b>"),)
        if (figure := self._session.figure) is not None:
            parts += ((theme.previewed, "◧", f"<b>{figure.words}</b>"),)
        old = "" if frame is None or self._session.live else f"<b>{tr('NOT LIVE: as it was when last heard of.')}</b> "
        text = old + " &nbsp; ".join(
            f'<span style="color:{colour}">{sign}</span> {words}' for colour, sign, words in parts
        )
        self._legend.say((text,))
