"""Lessons in OpenGL; items are kept from frame to frame, so that a moment of a motion costs little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyqtgraph.opengl as gl
from OpenGL import GL
from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QColor, QExposeEvent, QImage, QMatrix4x4, QResizeEvent
from PySide6.QtOpenGL import QOpenGLWindow

from hil.dashboard.camera import Camera
from hil.dashboard.learn.cloud_item import SOFTWARE_PASS, CloudItem, points_of_a_pass
from hil.dashboard.learn.stage import LessonStage, PointingHand, body_key, colour_of
from hil.dashboard.scene import GlCanvas, flat, rgba
from hil.dashboard.theme import Theme
from hil.lessons.picture import Arm, Lines, Picture, Points

FRAME_WIDTH = 2.0
REST_MS, NEXT_MS = 200, 15
"""After which a picture rests, and more of its clouds is drawn; between two passes keys and mouse come first."""


class GlLesson(PointingHand, GlCanvas):
    """As `hil.dashboard.learn.stage.LessonScene`."""

    pointed = Signal(float, float, float)
    _stage: LessonStage

    def __init__(self) -> None:
        # What was drawn stays: a pass that adds points to it draws nothing else.
        super().__init__(QOpenGLWindow.UpdateBehavior.PartialUpdateBlit)
        self._stage = LessonStage()
        self._arms: list[list[Any]] = []
        self._drawn: list[Any] = []
        self._dots: list[Any] = []
        self._adds, self._pass = False, SOFTWARE_PASS
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(self._add)
        self._frames: Any = None
        self._order: tuple[Arm, ...] = ()
        self._built: object = None
        self._fitted = Camera(azimuth_rad=-0.9, elevation_rad=0.4, distance_m=2.0)
        self.look(self._fitted)

    def show_picture(self, picture: Picture) -> None:
        """Draw this."""
        before, self._stage.picture = self._stage.picture, picture
        # What can be seen through comes last, over all that is behind it.
        self._order = tuple(sorted(picture.arms, key=lambda arm: -arm.opacity))
        if self._built != (built := _kinds(picture, self._order)) or not self._arms + self._drawn:
            self._build()
            self._built = built
        self.fit_again()
        for arm, items in zip(self._order, self._arms, strict=True):
            self._pose(arm, items)
        for lines, item in zip(picture.lines, self._drawn, strict=True):
            item.setData(pos=flat(lines.ends))
        for points, item, old in zip(picture.points, self._dots, _padded(before, picture), strict=True):
            if points is not old and not points.even:
                item.setData(**self._dot_data(points))
        self._draw_frames()
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.setBackgroundColor(QColor(theme.scene))
        self._built = None
        self.show_picture(self._stage.picture)

    def look(self, camera: Camera) -> None:
        """From there."""
        super().look(camera)
        self._draw_frames()

    @property
    def clouds(self) -> list[CloudItem]:
        """Those that are drawn pass by pass."""
        return [item for item in self._dots if isinstance(item, CloudItem)]

    @property
    def waiting(self) -> int:
        """Points of clouds that are not drawn yet."""
        return sum(item.left for item in self.clouds)

    def initializeGL(self) -> None:  # noqa: N802 - Qt's name
        """Once there is a context: who draws, and how much of a cloud at a time."""
        super().initializeGL()
        self._pass = points_of_a_pass(bytes(GL.glGetString(GL.GL_RENDERER) or b"").decode("ascii", "replace"))

    def paintGL(self) -> None:  # noqa: N802
        """All of it with a part of the clouds, or some more of their points into what is there."""
        adds, self._adds = self._adds, False
        self._share(CloudItem.go_on if adds else CloudItem.begin)
        if adds:
            region = self.getViewport()
            self.setProjection(region, region)
            self.setModelview()
            for item in self.clouds:
                if self.default_vao.isCreated():
                    self.default_vao.bind()
                item.paint()
        else:
            super().paintGL()
        if self.waiting:
            self._rest.start(NEXT_MS if adds else REST_MS)

    def _share(self, act: Callable[[CloudItem, int], None]) -> None:
        """Give each cloud its part of a pass."""
        clouds = self.clouds
        waiting = sum(len(item.places) if act is CloudItem.begin else item.left for item in clouds)
        for item in clouds:
            part = len(item.places) if act is CloudItem.begin else item.left
            act(item, -(-self._pass * part // max(waiting, 1)))

    def _add(self) -> None:
        """The picture rests: some more of the clouds."""
        self._adds = True
        super().update()

    def update(self, *region: Any) -> None:
        """Something is another: all is drawn anew."""
        self._adds = False
        super().update(*region)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Another size has nothing to be added to, and all of it is to be seen in it."""
        self._adds = False
        super().resizeEvent(event)
        self.fit_again()

    def exposeEvent(self, event: QExposeEvent) -> None:  # noqa: N802
        """Nor has one that was hidden."""
        self._adds = False
        super().exposeEvent(event)

    def grabbed(self) -> QImage:
        """The picture as it is seen."""
        image: QImage = self.grabFramebuffer()
        return image

    def _build(self) -> None:
        self.clear()
        stage, theme, picture = self._stage, self._theme, self._stage.picture
        self._line(rgba(QColor(theme.table)), stage.grid(), 1.0)
        self._dots = [self._dot_item(points) for points in picture.points]
        solid = [arm for arm in self._order if arm.opacity == 1.0]
        self._arms = [self._body(arm) for arm in solid]
        self._drawn = [self._line_item(lines) for lines in picture.lines]
        self._arms += [self._body(arm) for arm in self._order[len(solid) :]]
        self._frames = self._line(rgba(QColor(theme.text)), np.zeros((0, 2, 3)), FRAME_WIDTH, on_top=True)

    def _body(self, arm: Arm) -> list[Any]:
        colour = (*rgba(colour_of(arm.colour, self._theme))[:3], arm.opacity)
        return [self._mesh(mesh, colour) for mesh in self._stage.bodies.of(arm).meshes]

    def _pose(self, arm: Arm, items: list[Any]) -> None:
        body = self._stage.bodies.of(arm)
        for number, item in enumerate(items):
            item.setVisible(True)
            item.setTransform(QMatrix4x4(*body.frame_of(number, arm.frames, None).ravel().tolist()))

    def _line_item(self, lines: Lines) -> Any:
        return self._line(rgba(colour_of(lines.colour, self._theme)), lines.ends, lines.width, on_top=lines.on_top)

    def _dot_item(self, points: Points) -> Any:
        if points.even:
            colour = rgba(colour_of(str(points.colours), self._theme))
            item: Any = CloudItem(np.asarray(points.places, np.float32), colour, points.size_px)
        else:
            item = gl.GLScatterPlotItem(glOptions="opaque", **self._dot_data(points))
        self.addItem(item)
        return item

    def _dot_data(self, points: Points) -> dict[str, Any]:
        if isinstance(points.colours, str):
            colours: Any = rgba(colour_of(points.colours, self._theme))
        else:
            colours = np.concatenate([points.colours, np.ones((len(points.colours), 1))], axis=1).astype(np.float32)
        return {"pos": np.ascontiguousarray(points.places, np.float32), "color": colours, "size": points.size_px}

    def _draw_frames(self) -> None:
        if self._frames is None:
            return
        ends, axes = self._stage.frames(self.camera)
        palette = np.array([rgba(QColor(colour)) for colour in self._theme.axes], np.float32)
        self._frames.setVisible(len(ends) > 0)
        if len(ends):
            self._frames.setData(pos=flat(ends), color=np.repeat(palette[axes], 2, axis=0))


def _kinds(picture: Picture, arms: tuple[Arm, ...]) -> object:
    """What has to be built anew if it is another."""
    return (
        tuple((body_key(arm), arm.colour, arm.opacity) for arm in arms),
        tuple((lines.colour, lines.width, lines.on_top) for lines in picture.lines),
        tuple(id(points.places) if points.even else None for points in picture.points),
        picture.size_m,
        picture.floor,
    )


def _padded(before: Picture, picture: Picture) -> list[Points | None]:
    """The points of the picture before, one for each of this one."""
    return [*before.points, *([None] * len(picture.points))][: len(picture.points)]
