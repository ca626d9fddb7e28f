"""What both scenes of lessons share: bodies of arms, colours by role, the first camera, frames as lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Qt, SignalInstance
from PySide6.QtGui import QColor, QImage, QMouseEvent
from PySide6.QtWidgets import QWidget

from hil.dashboard.arm import arm_of_model
from hil.dashboard.camera import FARTHEST, FIELD_RAD, Camera
from hil.dashboard.figures import FRAME_LENGTH, Body, frame_lines, grid_lines, round_step_m
from hil.dashboard.scene_stage import HALF_HIGH, HALF_WIDE, WHEEL_ZOOM, Hands, holds
from hil.dashboard.theme import Theme
from hil.kernels.scalar import FloatArray
from hil.lessons.picture import Arm, Picture

MUCH = 1.2
"""As many times as large, or as small, as what was fitted: that is looked at from elsewhere."""

MOST_FITTED = 20_000
"""Places of a cloud that are looked at for the camera; they are spread over all of it."""

FAR_AWAY = 3.0
"""What is so many sizes of the picture away is not looked for: the arm would be a dot."""

MOST_BODIES = 32
MOST_DRAWN = 200_000
"""Points of a cloud that are painted without OpenGL; of more, every so-manieth."""


class LessonScene(Protocol):
    """Draws pictures: in OpenGL, or painted."""

    camera: Camera

    @property
    def pointed(self) -> SignalInstance:
        """A place was pointed at: x, y, z, metres, in the plane through the camera's point."""
        ...

    @property
    def widget(self) -> QWidget:
        """What is put into a window."""
        ...

    @property
    def waiting(self) -> int:
        """Points of clouds that are not drawn yet; they come bit by bit while the picture rests."""
        ...

    def show_picture(self, picture: Picture) -> None:
        """Draw this."""

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""

    def look(self, camera: Camera) -> None:
        """From there."""

    def fit(self) -> None:
        """From where all of it is seen."""

    def grabbed(self) -> QImage:
        """The picture as it is seen."""
        ...


class Bodies:
    """Surfaces of arms by their models and parts, the last few kept."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], tuple[Arm, Body]] = {}

    def of(self, arm: Arm) -> Body:
        """The body; made when it is first asked for."""
        key = body_key(arm)
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= MOST_BODIES:
                del self._kept[next(iter(self._kept))]
            found = self._kept[key] = (arm, Body(arm_of_model(arm.model), arm.parts))
        return found[1]


def body_key(arm: Arm) -> tuple[int, ...]:
    """The same for the same body."""
    return (id(arm.model), *map(id, arm.parts))


class LessonStage:
    """A picture as the scenes need it."""

    def __init__(self) -> None:
        self.picture = Picture()
        self.bodies = Bodies()
        self._grid: tuple[float, FloatArray] = (0.0, np.zeros((0, 2, 3)))

    def first_camera(self, aspect: float) -> Camera:
        """From which a picture so many times as wide as high is seen whole."""
        size_m, spread = self.picture.size_m, self.spread()
        far = max(HALF_WIDE, HALF_HIGH * aspect) / math.tan(FIELD_RAD / 2.0)
        clouds = [points.places[:MOST_FITTED, 2] for points in self.picture.points if points.even]
        heights = np.concatenate(clouds) if clouds else np.array([0.0, 0.8 * size_m])
        centre_m = (0.0, 0.0, 0.5 * float(heights.min() + heights.max()))
        camera = Camera(0.0, 0.0, 1.25 * far * size_m, centre_m).seen_from("3D")
        arms = [self.bodies.of(arm).placed(arm.frames, None) for arm in self.picture.arms]
        letters = self.frames(camera)[0].reshape(-1, 3)
        everything = np.concatenate([spread, letters, *arms])
        while not holds(camera, everything, aspect) and camera.distance_m < FARTHEST:
            camera = camera.zoomed(1.0 / WHEEL_ZOOM)
        return camera

    def spread(self) -> FloatArray:
        """Places of lines and clouds (N, 3), as far as they are looked for."""
        picture = self.picture
        parts = [lines.ends.reshape(-1, 3)[:MOST_FITTED] for lines in picture.lines]
        parts += [np.asarray(points.places[:MOST_FITTED], np.float64) for points in picture.points]
        places = np.concatenate([np.zeros((0, 3)), *parts])
        near: FloatArray = places[np.abs(places).max(axis=1, initial=0.0) < FAR_AWAY * picture.size_m]
        return near

    def grid(self) -> FloatArray:
        """Lines of the floor, (S, 2, 3)."""
        half_m = 1.15 * self.picture.size_m
        if self._grid[0] != half_m:
            self._grid = (half_m, grid_lines(half_m, 0.0, round_step_m(half_m)))
        return self._grid[1] if self.picture.floor else np.zeros((0, 2, 3))

    def frames(self, camera: Camera) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """All axes as lines (S, 2, 3), with the axis of each; 3 for writing."""
        found = []
        for frame in self.picture.frames:
            length_m = FRAME_LENGTH * 2.0 * self.picture.size_m * frame.scale
            found.append(frame_lines(frame.pose[None], length_m, [frame.label], camera.axes()))
        if not found:
            return np.zeros((0, 2, 3)), np.zeros(0, np.int64)
        return np.concatenate([each.ends for each in found]), np.concatenate([each.colours for each in found])


def colour_of(role: str, theme: Theme) -> QColor:
    """The colour of a role, as `hil.lessons.picture` says."""
    if role.startswith("#"):
        return QColor(role)
    kind, _, number = role.partition(" ")
    if kind == "curve":
        return QColor(theme.curves[int(number) % len(theme.curves)])
    if kind == "axis":
        return QColor(theme.axes[int(number)])
    return QColor(str(getattr(theme, role)))


def pointed_at(camera: Camera, x: float, y: float, width: int, height: int) -> tuple[float, float, float]:
    """The place behind a point of the picture, in the plane through the camera's point that faces the eye."""
    across_m = 2.0 * camera.distance_m * math.tan(FIELD_RAD / 2.0) / width
    right, up, _ = camera.axes()
    place = np.array(camera.centre_m) + across_m * ((x - 0.5 * width) * right + (0.5 * height - y) * up)
    return float(place[0]), float(place[1]), float(place[2])


class PointingHand(Hands):
    """Hands that point at a place with Ctrl, on a scene whose signal `pointed` tells of it."""

    _points = False
    _fitted_size_m = 0.0
    _seen: tuple[object, ...] = ()
    _stage: LessonStage

    if TYPE_CHECKING:

        @property
        def pointed(self) -> SignalInstance:
            """As `LessonScene.pointed`."""
            ...

    def fit(self) -> None:
        """From where all of it is seen."""
        self._fitted_size_m = self._stage.picture.size_m
        super().fit()

    def fit_again(self) -> None:
        """Also where the picture is of quite another size, the arm of another lesson, or has what would be cut.

        A little is left alone: of a link that is made longer one is to see that it is longer.
        """
        size_m = self._stage.picture.size_m
        if self.camera is self._fitted and (
            not self._fitted_size_m / MUCH < size_m < self._fitted_size_m * MUCH or self._is_cut()
        ):
            self.fit()
        else:
            super().fit_again()

    def _is_cut(self) -> bool:
        """Whether lines or clouds that were not there before are seen in part only."""
        picture = self._stage.picture
        new = (*(lines.ends for lines in picture.lines), *(points.places for points in picture.points))
        if len(new) == len(self._seen) and all(one is other for one, other in zip(new, self._seen, strict=True)):
            return False
        self._seen = new
        return not holds(self.camera, self._stage.spread(), self.width() / max(self.height(), 1))

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Take hold; with Ctrl point at a place."""
        self._points = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if self._points:
            self._point(event)
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Turn, pan, or point on."""
        if self._points:
            self._point(event)
        else:
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Let go."""
        self._points = False
        super().mouseReleaseEvent(event)

    def _point(self, event: QMouseEvent) -> None:
        at = event.position()
        self.pointed.emit(*pointed_at(self.camera, at.x(), at.y(), self.width(), self.height()))
