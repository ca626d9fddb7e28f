"""Lessons painted without OpenGL, for remote desktops and virtual machines."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from hil.dashboard.camera import Camera
from hil.dashboard.learn.cloud_canvas import CloudCanvas
from hil.dashboard.learn.stage import MOST_DRAWN, LessonStage, PointingHand, colour_of
from hil.dashboard.scene2d import draw_lines, fill_faces
from hil.dashboard.theme import DARK, Theme
from hil.lessons.picture import Arm, Picture, Points

REST_MS = 15
"""Between two parts of a cloud: keys and mouse come first."""


class PaintedLesson(PointingHand, QWidget):
    """As `hil.dashboard.learn.stage.LessonScene`."""

    pointed = Signal(float, float, float)
    _stage: LessonStage

    def __init__(self) -> None:
        super().__init__()
        self._stage = LessonStage()
        self._theme = DARK
        self._clouds = CloudCanvas()
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(self._more)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(160, 120)
        self.camera = Camera(azimuth_rad=-0.9, elevation_rad=0.4, distance_m=2.0)
        self._fitted = self.camera

    @property
    def widget(self) -> QWidget:
        """Itself."""
        return self

    @property
    def waiting(self) -> int:
        """Points of clouds that are not drawn yet."""
        return self._clouds.waiting

    def show_picture(self, picture: Picture) -> None:
        """Draw this."""
        self._stage.picture = picture
        self.fit_again()
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.update()

    def look(self, camera: Camera) -> None:
        """From there."""
        self.camera = camera
        self.update()

    def grabbed(self) -> QImage:
        """The picture as it is seen."""
        return self.grab().toImage()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """All of it is to be seen in another size too."""
        super().resizeEvent(event)
        self.fit_again()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Everything, back to front."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.scene))
        self._paint(painter)
        painter.end()

    def _paint(self, painter: QPainter) -> None:
        stage, theme, size = self._stage, self._theme, (self.width(), self.height())
        picture = stage.picture
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_lines(painter, self.camera, size, stage.grid(), QColor(theme.table), 1.0)
        self._paint_clouds(painter, [points for points in picture.points if points.even and len(points.places)])
        for points in picture.points:
            if not points.even:
                self._dots(painter, points)
        for arm in sorted(picture.arms, key=lambda arm: arm.opacity):
            self._arm(painter, arm)
        for lines in sorted(picture.lines, key=lambda lines: lines.on_top):
            draw_lines(painter, self.camera, size, lines.ends, colour_of(lines.colour, theme), lines.width)
        ends, axes = stage.frames(self.camera)
        for axis, colour in enumerate(theme.axes):
            draw_lines(painter, self.camera, size, ends[axes == axis], QColor(colour), 2.0)

    def _paint_clouds(self, painter: QPainter, clouds: list[Points]) -> None:
        """A part of them while the camera moves; what is left follows as soon as nothing else is to be done."""
        if not clouds:
            return
        colours = [colour_of(str(points.colours), self._theme).rgba() for points in clouds]
        self._clouds.look(self.camera, (self.width(), self.height()), list(zip(clouds, colours, strict=True)))
        painter.drawImage(0, 0, self._clouds.image())
        if self._clouds.waiting:
            self._rest.start(REST_MS)

    def _more(self) -> None:
        self._clouds.more()
        self.update()

    def _arm(self, painter: QPainter, arm: Arm) -> None:
        body = self._stage.bodies.of(arm)
        colour, size = colour_of(arm.colour, self._theme), (self.width(), self.height())
        vertices = body.placed(arm.frames, None)
        fill_faces(painter, self.camera, size, vertices, body.faces, colour, round(255 * arm.opacity))

    def _dots(self, painter: QPainter, points: Points) -> None:
        """Straight into pixels: a painter takes a second for what numpy does in ten milliseconds."""
        step = max(1, -(-len(points.places) // MOST_DRAWN))
        places, depths = self.camera.project(np.asarray(points.places[::step], np.float64), self.width(), self.height())
        if isinstance(points.colours, str):
            colours = np.broadcast_to(_bytes(colour_of(points.colours, self._theme)), (len(places), 4))
        else:
            shares = np.asarray(points.colours[::step])
            colours = np.concatenate(
                [np.rint(255.0 * shares[:, ::-1]).astype(np.uint8), np.full((len(shares), 1), 255, np.uint8)], axis=1
            )
        painter.drawImage(0, 0, _image(places, depths, colours, (self.width(), self.height()), points.size_px))


def _image(
    places: npt.NDArray[np.float64],
    depths: npt.NDArray[np.float64],
    colours: npt.NDArray[np.uint8],
    size: tuple[int, int],
    dot_px: float,
) -> QImage:
    """Square dots, the nearest ones over the others."""
    width, height = size
    canvas = np.zeros((height, width, 4), np.uint8)
    order = np.argsort(-depths)
    columns, rows = np.rint(places[order]).astype(int).T
    half = max(1, round(dot_px)) // 2
    for right in range(-half, max(1, round(dot_px)) - half):
        for down in range(-half, max(1, round(dot_px)) - half):
            x, y = columns + right, rows + down
            inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
            canvas[y[inside], x[inside]] = colours[order][inside]
    return QImage(canvas.tobytes(), width, height, 4 * width, QImage.Format.Format_ARGB32).copy()


def _bytes(colour: QColor) -> npt.NDArray[np.uint8]:
    return np.array([colour.blue(), colour.green(), colour.red(), 255], np.uint8)
