"""The arm in OpenGL: solid where it is simulated, a ghost where it is commanded, an outline where it is reported.

It is a window of its own inside the main one: a widget would have everything around it composed anew in every frame,
which halves the rate where OpenGL is done in software.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import OpenGL

OpenGL.ERROR_CHECKING = False  # asks the driver after every call, at three times the cost of the calls
import pyqtgraph.opengl as gl  # noqa: E402
from OpenGL import GL  # noqa: E402
from pyqtgraph.opengl.GLViewWidget import GLViewMixin  # noqa: E402
from pyqtgraph.opengl.shaders import FragmentShader, ShaderProgram, VertexShader  # noqa: E402
from PySide6.QtCore import Qt  # noqa: E402
from PySide6.QtGui import QAction, QColor, QKeyEvent, QKeySequence, QMatrix4x4, QSurfaceFormat, QVector3D  # noqa: E402
from PySide6.QtOpenGL import QOpenGLWindow  # noqa: E402
from PySide6.QtWidgets import QWidget  # noqa: E402

from hil.dashboard.arm import ShownArm  # noqa: E402
from hil.dashboard.camera import FIELD_RAD, Camera  # noqa: E402
from hil.dashboard.figures import Trace  # noqa: E402
from hil.dashboard.scene_stage import SHOWN_AT_FIRST, Hands, Pose, SceneState, Stage  # noqa: E402
from hil.dashboard.theme import DARK, Theme  # noqa: E402
from hil.model.link_shapes import LinkMesh  # noqa: E402

Floats = npt.NDArray[np.float64]
GHOST_ALPHA = 0.35
PREVIEW_ALPHA = 0.5
OLD_ALPHA = 0.25
WIDE = 2.0

SOLID = {GL.GL_DEPTH_TEST: True, GL.GL_BLEND: False, GL.GL_CULL_FACE: True, GL.GL_POLYGON_OFFSET_FILL: False}
GHOST = {
    GL.GL_DEPTH_TEST: True,
    GL.GL_BLEND: True,
    GL.GL_CULL_FACE: True,
    GL.GL_POLYGON_OFFSET_FILL: True,  # where ghost and arm are in the same place the arm is seen, without flicker
    "glPolygonOffset": (2.0, 2.0),
    "glBlendFunc": (GL.GL_SRC_ALPHA, GL.GL_ONE_MINUS_SRC_ALPHA),
}

ON_TOP = {GL.GL_DEPTH_TEST: False, GL.GL_BLEND: False, GL.GL_CULL_FACE: False}

VERTEX = """
uniform mat4 u_mvp;
uniform mat3 u_normal;
attribute vec4 a_position;
attribute vec3 a_normal;
attribute vec4 a_color;
varying vec4 v_color;
varying vec3 v_normal;
void main() {
    v_normal = normalize(u_normal * a_normal);
    v_color = a_color;
    gl_Position = u_mvp * a_position;
}
"""
FRAGMENT = """
#ifdef GL_ES
precision mediump float;
#endif
varying vec4 v_color;
varying vec3 v_normal;
void main() {
    float bright = 0.42 + 0.58 * max(dot(v_normal, normalize(vec3(-0.3, 0.5, 1.0))), 0.0);
    gl_FragColor = vec4(v_color.rgb * bright, v_color.a);
}
"""
"""A lamp beside the eye, so that what faces it is never dark."""


class GlCanvas(Hands, GLViewMixin, QOpenGLWindow):  # type: ignore[misc]  # pyqtgraph has no types
    """A window that OpenGL draws into, with hands on its camera."""

    def __init__(self, update: QOpenGLWindow.UpdateBehavior = QOpenGLWindow.UpdateBehavior.NoPartialUpdate) -> None:
        super().__init__(update)
        shape = QSurfaceFormat.defaultFormat()
        shape.setDepthBufferSize(24)  # a window, unlike a widget, has none unless it is asked for
        self.setFormat(shape)
        self.widget = QWidget.createWindowContainer(self)
        self.widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.widget.setMinimumSize(160, 120)
        self._theme = DARK
        self._shader = ShaderProgram(None, [VertexShader(VERTEX), FragmentShader(FRAGMENT)])
        self.opts["fov"] = math.degrees(FIELD_RAD)

    def devicePixelRatioF(self) -> float:  # noqa: N802 - what pyqtgraph asks widgets for
        """Points of the screen for one of the layout."""
        return self.devicePixelRatio()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """As `Hands`; what is left goes where it would go from a widget: to the next one by Tab, else to a shortcut."""
        super().keyPressEvent(event)
        if event.isAccepted():
            return
        if event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            forwards = event.key() == Qt.Key.Key_Tab
            other = self.widget.nextInFocusChain() if forwards else self.widget.previousInFocusChain()
            if other is not None:
                other.setFocus(Qt.FocusReason.TabFocusReason)
            return
        pressed = QKeySequence(event.keyCombination())
        for action in self.widget.window().findChildren(QAction):
            if action.shortcut() == pressed and action.isEnabled():
                action.trigger()
                return

    def projectionMatrix(self, region: tuple[int, ...], viewport: tuple[int, ...]) -> QMatrix4x4:  # noqa: N802
        """As pyqtgraph's, but not from a thousandth to a thousandfold: surfaces close together flicker in that."""
        _, _, width, height = viewport
        near, far = 0.05 * self.camera.distance_m, 20.0 * self.camera.distance_m
        right = near * math.tan(0.5 * FIELD_RAD)
        top = right * height / max(width, 1)
        matrix = QMatrix4x4()
        matrix.frustum(-right, right, -top, top, near, far)
        return matrix

    def look(self, camera: Camera) -> None:
        """From there."""
        self.camera = camera
        self.opts["azimuth"] = math.degrees(camera.azimuth_rad)
        self.opts["elevation"] = math.degrees(camera.elevation_rad)
        self.opts["distance"] = camera.distance_m
        self.opts["center"] = QVector3D(*camera.centre_m)
        self.update()

    def _mesh(self, mesh: LinkMesh, colour: tuple[float, ...]) -> Any:
        """A body, not yet seen; red, green, blue and opacity."""
        item = gl.GLMeshItem(
            vertexes=mesh.vertices,
            faces=mesh.faces,
            smooth=False,
            shader=self._shader,
            color=colour,
            glOptions=SOLID if colour[3] == 1.0 else GHOST,
        )
        item.setVisible(False)
        self.addItem(item)
        return item

    def _line(self, colour: tuple[float, ...], ends: Floats, width: float, *, on_top: bool = False) -> Any:
        item = gl.GLLinePlotItem(
            pos=flat(ends),
            color=colour,
            width=width,
            mode="lines",
            antialias=False,
            glOptions=ON_TOP if on_top else "translucent",
        )
        self.addItem(item)
        return item


class GlScene(GlCanvas):
    """As `hil.dashboard.scene_stage.Scene`."""

    _stage: Stage | None = None

    def __init__(self) -> None:
        super().__init__()
        self.layers = set(SHOWN_AT_FIRST)
        self._state = SceneState()
        self._solid: list[Any] = []
        self._ghost: list[Any] = []
        self._previewed: list[Any] = []
        self._failing: dict[str, Any] = {}
        self._way: Floats | None = None
        self._lines: dict[str, Any] = {}
        self._trace_version = -1
        self._dimmed = False
        self.look(Camera(azimuth_rad=-0.9, elevation_rad=0.4, distance_m=2.0))

    def show_arm(self, arm: ShownArm, trace: Trace) -> None:
        """Draw this arm from now on."""
        self._stage = Stage(arm, trace)
        self._build()
        self.fit()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.setBackgroundColor(QColor(theme.scene))
        if self._stage is not None:
            self._build()

    def look(self, camera: Camera) -> None:
        """From there."""
        super().look(camera)
        self._draw_lines()

    def show_state(self, state: SceneState) -> None:
        """Draw the arm so."""
        self._state = state
        self.fit_again()
        self._dim(old=state.old)
        self._place(self._solid, state.simulated, "simulated")
        self._place(self._ghost, state.commanded, "commanded")
        self._place_preview(state)
        self._draw_lines()
        self.update()

    # -- building ----------------------------------------------------------------------------------------

    def _build(self) -> None:
        assert self._stage is not None
        self.clear()
        theme, stage = self._theme, self._stage
        self._lines = {}
        self._named("grid", theme.table, stage.grid, 1.0)
        self._named("keep in", theme.fence, stage.keep_in, 1.0)
        self._named("keep out", theme.keep_out, stage.keep_out, WIDE)
        self._named("trace", theme.trace, stage.trace.lines(), 1.0)
        self._solid = [self._body(mesh, theme.simulated, 1.0) for mesh in stage.body.meshes]
        self._dimmed = False
        self._named("reported", theme.reported, _NOTHING, WIDE)
        self._named("error x10", theme.bad, _NOTHING, WIDE)
        self._named("stop", theme.stopping, _NOTHING, WIDE)
        # What can be seen through comes last, over all that is behind it.
        self._ghost = [self._body(mesh, theme.commanded, GHOST_ALPHA) for mesh in stage.body.meshes]
        self._named("previewed", theme.previewed, _NOTHING, WIDE)
        self._named("frames", theme.text, _NOTHING, WIDE, on_top=True)
        # Most windows never show a preview: what it needs is made when it is.
        self._previewed, self._failing, self._way = [], {}, None
        self._trace_version = -1
        self.show_state(self._state)

    def _body(self, mesh: LinkMesh, colour: str, alpha: float) -> Any:
        return self._mesh(mesh, (*rgba(QColor(colour))[:3], alpha))

    def _named(self, name: str, colour: str, ends: Floats, width: float, *, on_top: bool = False) -> None:
        self._lines[name] = self._line(rgba(QColor(colour)), ends, width, on_top=on_top)

    # -- what changes ------------------------------------------------------------------------------------

    def _dim(self, *, old: bool) -> None:
        """What is old is seen through, and so told from what is so."""
        if old is self._dimmed:
            return
        self._dimmed = old
        for item in self._solid:
            item.setColor((*rgba(QColor(self._theme.simulated))[:3], OLD_ALPHA if old else 1.0))
            item.setGLOptions(GHOST if old else SOLID)

    def _place(self, items: list[Any], pose: Pose | None, layer: str) -> None:
        shown = pose is not None and layer in self.layers
        for number, item in enumerate(items):
            item.setVisible(shown)
            if shown and pose is not None and self._stage is not None:
                frame = self._stage.body.frame_of(number, *pose)
                item.setTransform(QMatrix4x4(*frame.ravel().tolist()))

    def _place_preview(self, state: SceneState) -> None:
        stage, pose = self._stage, state.previewed
        if stage is None or (pose is None and not self._previewed):
            return
        if not self._previewed:
            theme = self._theme
            self._previewed = [self._body(mesh, theme.previewed, PREVIEW_ALPHA) for mesh in stage.body.meshes]
            self._failing = {name: self._body(mesh, theme.bad, 1.0) for name, mesh in stage.suspects.items()}
        self._place(self._previewed, pose, "previewed")
        for name, item in self._failing.items():
            shown = pose is not None and name in state.failing and "previewed" in self.layers
            item.setVisible(shown)
            if shown and pose is not None:
                item.setTransform(QMatrix4x4(*pose.frames[stage.suspects[name].link].ravel().tolist()))

    def _draw_lines(self) -> None:
        if self._stage is None or not self._lines:
            return
        stage, state, lines = self._stage, self._state, self._lines
        self._set("reported", None if state.reported is None else stage.outline(state.reported, self.camera))
        way = None if state.previewed is None or "previewed" not in self.layers else state.way
        lines["previewed"].setVisible(way is not None)
        if way is not None and way is not self._way:
            self._way = way
            lines["previewed"].setData(pos=flat(way))
        self._set("error x10", None if state.grown is None else stage.outline(state.grown, self.camera))
        self._set("stop", None if state.stopping is None else stage.dashes(state.stopping, self.camera))
        ends, axes = stage.frame_lines(state, self.layers, self.camera)
        lines["frames"].setData(pos=flat(ends), color=np.repeat(_palette(self._theme)[axes], 2, axis=0))
        lines["frames"].setVisible(len(ends) > 0)
        for name in ("keep in", "keep out"):
            lines[name].setVisible("fences" in self.layers)
        lines["trace"].setVisible("trace" in self.layers)
        if stage.trace.version != self._trace_version:
            self._trace_version = stage.trace.version
            lines["trace"].setData(pos=flat(stage.trace.lines()))

    def _set(self, name: str, ends: Floats | None) -> None:
        shown = ends is not None and name in self.layers
        self._lines[name].setVisible(shown)
        if shown:
            self._lines[name].setData(pos=flat(ends))


_NOTHING = np.zeros((0, 2, 3))


def flat(ends: Floats | None) -> npt.NDArray[np.float32]:
    """Points two by two; a line of no length for none, since an empty array cannot be drawn."""
    points = np.zeros((2, 3)) if ends is None or not len(ends) else ends.reshape(-1, 3)
    return points.astype(np.float32)


def rgba(full: QColor) -> tuple[float, ...]:
    """Shares of red, green, blue, and opacity."""
    return full.redF(), full.greenF(), full.blueF(), full.alphaF()


def _palette(theme: Theme) -> npt.NDArray[np.float32]:
    return np.array([rgba(QColor(colour)) for colour in theme.axes], dtype=np.float32)
