"""The same scene painted without OpenGL, for remote desktops and virtual machines: back to front, face by face."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from hil.dashboard.arm import ShownArm
from hil.dashboard.camera import Camera
from hil.dashboard.figures import Trace, face_normals
from hil.dashboard.scene_stage import SHOWN_AT_FIRST, Hands, Pose, SceneState, Stage
from hil.dashboard.theme import DARK, Theme

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SHADES = 24
DARKEST = 0.45
GHOST_ALPHA = 90
PREVIEW_ALPHA = 120
OLD_ALPHA = 70


class PaintedScene(Hands, QWidget):
    """As `hil.dashboard.scene_stage.Scene`."""

    _stage: Stage | None = None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(160, 120)
        self.layers = set(SHOWN_AT_FIRST)
        self.camera = Camera(azimuth_rad=-0.9, elevation_rad=0.4, distance_m=2.0)
        self._theme = DARK
        self._state = SceneState()

    @property
    def widget(self) -> QWidget:
        """Itself."""
        return self

    def show_arm(self, arm: ShownArm, trace: Trace) -> None:
        """Draw this arm from now on."""
        self._stage = Stage(arm, trace)
        self._state = SceneState()
        self.fit()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.update()

    def look(self, camera: Camera) -> None:
        """From there."""
        self.camera = camera
        self.update()

    def show_state(self, state: SceneState) -> None:
        """Draw the arm so."""
        self._state = state
        self.fit_again()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Everything, back to front."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.scene))
        if self._stage is not None:
            self._paint(painter, self._stage)
        painter.end()

    def _paint(self, painter: QPainter, stage: Stage) -> None:
        theme, state, layers = self._theme, self._state, self.layers
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw(painter, stage.grid, theme.table, 1.0)
        if "fences" in layers:
            self._draw(painter, stage.keep_in, theme.fence, 1.0)
            self._draw(painter, stage.keep_out, theme.keep_out, 2.0)
        if "trace" in layers:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            self._draw(painter, stage.trace.lines(), theme.trace, 1.0)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state.commanded is not None and "commanded" in layers:
            self._fill_arm(painter, stage, state.commanded, theme.commanded, GHOST_ALPHA)
        if state.simulated is not None and "simulated" in layers:
            self._fill_arm(painter, stage, state.simulated, theme.simulated, OLD_ALPHA if state.old else 255)
        if state.previewed is not None and "previewed" in layers:
            self._paint_preview(painter, stage, state.previewed)
        if state.reported is not None and "reported" in layers:
            self._draw(painter, stage.outline(state.reported, self.camera), theme.reported, 1.6)
        if state.grown is not None and "error x10" in layers:
            self._draw(painter, stage.outline(state.grown, self.camera), theme.bad, 2.0)
        if state.stopping is not None and "stop" in layers:
            self._draw(painter, stage.dashes(state.stopping, self.camera), theme.stopping, 1.6)
        ends, axes = stage.frame_lines(state, layers, self.camera)
        for axis, colour in enumerate(theme.axes):
            self._draw(painter, ends[axes == axis], colour, 2.0)

    def _draw(self, painter: QPainter, ends: Floats, colour: str, width: float) -> None:
        draw_lines(painter, self.camera, (self.width(), self.height()), ends, QColor(colour), width)

    def _paint_preview(self, painter: QPainter, stage: Stage, pose: Pose) -> None:
        theme, state = self._theme, self._state
        self._fill_arm(painter, stage, pose, theme.previewed, PREVIEW_ALPHA)
        self._draw(painter, stage.outline(pose, self.camera), theme.previewed, 1.0)
        if state.way is not None:
            self._draw(painter, state.way, theme.previewed, 1.6)
        for name in sorted(state.failing & stage.suspects.keys()):
            mesh = stage.suspects[name]
            frame = pose.frames[mesh.link]
            self._fill(painter, mesh.vertices @ frame[:3, :3].T + frame[:3, 3], mesh.faces, theme.bad, 255)

    def _fill_arm(self, painter: QPainter, stage: Stage, pose: Pose, colour: str, alpha: int) -> None:
        self._fill(painter, stage.body.placed(*pose), stage.body.faces, colour, alpha)

    def _fill(self, painter: QPainter, vertices: Floats, faces: Ints, colour: str, alpha: int) -> None:
        fill_faces(painter, self.camera, (self.width(), self.height()), vertices, faces, QColor(colour), alpha)


def fill_faces(
    painter: QPainter,
    camera: Camera,
    size: tuple[int, int],
    vertices: Floats,
    faces: Ints,
    colour: QColor,
    alpha: int,
) -> None:
    """Paint what is seen of closed bodies, back to front, lit from beside the eye.

    Args:
        painter: on a picture of this size.
        camera: the eye.
        size: width and height.
        vertices: shape (V, 3), in the world.
        faces: shape (F, 3), counter-clockwise from outside.
        colour: in full light.
        alpha: from 0 to 255, solid.
    """
    normals = face_normals(vertices, faces)
    first = vertices[faces[:, 0]]
    seen = np.flatnonzero(np.einsum("fi,fi->f", normals, camera.eye_m() - first) > 0.0)
    places, depths = camera.project(vertices, *size)
    order = seen[np.argsort(-depths[faces[seen]].mean(axis=1))]
    light = camera.axes()[2] + 0.5 * camera.axes()[1] - 0.3 * camera.axes()[0]
    bright = np.clip(normals[order] @ (light / np.linalg.norm(light)), 0.0, 1.0)
    shades = np.rint(bright * (SHADES - 1)).astype(int).tolist()
    brushes = [_shade(colour, DARKEST + (1.0 - DARKEST) * k / (SHADES - 1), alpha) for k in range(SHADES)]
    painter.setPen(Qt.PenStyle.NoPen)
    for corners, shade in zip(places[faces[order]].tolist(), shades, strict=True):
        if alpha == 255:  # its own colour closes the seams between neighbours
            painter.setPen(QPen(brushes[shade], 0.6))
        painter.setBrush(brushes[shade])
        painter.drawConvexPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
    painter.setBrush(Qt.BrushStyle.NoBrush)


def draw_lines(
    painter: QPainter, camera: Camera, size: tuple[int, int], ends: Floats, colour: QColor, width: float
) -> None:
    """Lines (S, 2, 3) of the world in a picture of this size."""
    if not len(ends):
        return
    painter.setPen(QPen(colour, width))
    places, _ = camera.project(ends, *size)
    painter.drawLines([QLineF(*line) for line in places.reshape(-1, 4).tolist()])


def _shade(full: QColor, factor: float, alpha: int) -> QColor:
    return QColor(int(full.red() * factor), int(full.green() * factor), int(full.blue() * factor), alpha)
