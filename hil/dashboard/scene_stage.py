"""What both scenes share: what is drawn, the hands on the camera, and the lines that change with the pose."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from hil.dashboard.arm import ShownArm
from hil.dashboard.camera import FARTHEST, FIELD_RAD, VIEWS, Camera
from hil.dashboard.figures import FRAME_LENGTH, Body, Trace, box_lines, dashed, frame_lines, grid_lines, round_step_m
from hil.dashboard.theme import Theme
from hil.model.link_shapes import LinkMesh, capsule_meshes, floor_m

Floats = npt.NDArray[np.float64]

LAYERS = (
    "simulated",
    "commanded",
    "reported",
    "error x10",
    "stop",
    "previewed",
    "trace",
    "fences",
    "world frame",
    "tool frame",
    "DH frames",
)
SHOWN_AT_FIRST = frozenset(LAYERS) - {"DH frames"}

ORBIT_RAD = math.radians(0.4)
"""Turn for one point of mouse movement."""

KEY_TURN_RAD = math.radians(5.0)
KEY_PAN = 0.04
WHEEL_ZOOM = 0.9
EDGE = 0.03
"""Part of the picture's height that stays free at each edge."""
HALF_WIDE, HALF_HIGH = 0.72, 0.62
"""Half of what is seen at first, in sizes of the arm."""


class Pose(NamedTuple):
    """Where an arm is drawn: world frames (dof + 2, 4, 4), and how far the gripper is open."""

    frames: Floats
    opening_m: float | None


class SceneState(NamedTuple):
    """What is known of the arm now; None for what is not.

    Attributes:
        grown: the reported arm with its error ten times as large; None while the error is small.
        old: all of this is as it was when it was last heard of.
        previewed: where a motion that is looked at has the arm.
        failing: joints, or bodies by the names of the rig's shapes, that fail there.
        way: of the tool in that motion, as lines (S, 2, 3); the same object as long as it is the same way.
    """

    simulated: Pose | None = None
    commanded: Pose | None = None
    reported: Pose | None = None
    stopping: Pose | None = None
    grown: Pose | None = None
    old: bool = False
    previewed: Pose | None = None
    failing: frozenset[str] = frozenset()
    way: Floats | None = None


class Scene(Protocol):
    """A view of the arm: in OpenGL, or painted."""

    camera: Camera
    layers: set[str]

    @property
    def widget(self) -> QWidget:
        """What is put into a window."""

    def show_arm(self, arm: ShownArm, trace: Trace) -> None:
        """Draw this arm from now on."""

    def show_state(self, state: SceneState) -> None:
        """Draw the arm so."""

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""

    def look(self, camera: Camera) -> None:
        """From there."""

    def fit(self) -> None:
        """From where all of the arm is seen."""


def holds(camera: Camera, points_m: Floats, aspect: float) -> bool:
    """All of them are in a picture so many times as wide as high, a little from its edges."""
    high = 1000
    wide = round(aspect * high)
    places, _ = camera.project(points_m, wide, high)
    edge = EDGE * high
    return bool((places >= edge).all() and (places <= (wide - edge, high - edge)).all())


class Stage:
    """Everything about one arm's scene that does not depend on how it is painted."""

    def __init__(self, arm: ShownArm, trace: Trace) -> None:
        self.arm, self.trace = arm, trace
        self.body = Body(arm)
        fences = arm.fences
        self.height_m = 0.0 if fences is None else floor_m(arm.model, fences.table_height_m)
        self.half_m = 1.15 * self.body.size_m
        self.grid = grid_lines(self.half_m, self.height_m, round_step_m(self.half_m))
        nothing = np.zeros((0, 2, 3))
        self.keep_in = nothing if fences is None or fences.keep_in is None else box_lines(fences.keep_in)
        keep_out = [] if fences is None else [box_lines(box) for box in fences.keep_out]
        self.keep_out = np.concatenate(keep_out) if keep_out else nothing
        self.suspects = dict(_suspects(arm, self.body))

    def first_camera(self, aspect: float) -> Camera:
        """From which all of the arm is seen in a picture so many times as wide as high."""
        size_m = self.body.size_m
        far = max(HALF_WIDE, HALF_HIGH * aspect) / math.tan(FIELD_RAD / 2.0)
        centre_m = (0.0, 0.0, self.height_m + 0.45 * size_m)
        level = Camera(azimuth_rad=0.0, elevation_rad=0.0, distance_m=far * size_m, centre_m=centre_m)
        camera, home = level.seen_from("3D"), self._at_home()
        while not holds(camera, home, aspect) and camera.distance_m < FARTHEST:
            camera = camera.zoomed(1.0 / WHEEL_ZOOM)
        return camera

    def _at_home(self) -> Floats:
        """Where all of the arm is at home, shape (V, 3)."""
        frames = self.arm.frames([axis.home for axis in self.arm.axes])
        assert frames is not None
        return self.body.placed(frames, None)

    def outline(self, pose: Pose, camera: Camera) -> Floats:
        """Of an arm there, shape (S, 2, 3)."""
        return self.body.outline(self.body.placed(*pose), camera.eye_m())

    def dashes(self, pose: Pose, camera: Camera) -> Floats:
        """The same in dashes."""
        return dashed(self.outline(pose, camera), 0.03 * self.body.size_m)

    def frame_lines(self, state: SceneState, layers: set[str], camera: Camera) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Axes of the frames that are wanted: ends (S, 2, 3), and which axis each belongs to (3: writing)."""
        frames, labels = [], []
        if "world frame" in layers:
            frames.append(np.eye(4))
            labels.append("xyz")
        if state.simulated is not None:
            shown = state.simulated.frames
            if "DH frames" in layers:
                frames += list(shown[:-1])
                labels += _numbers(shown[:-1, :3, 3])
            if "tool frame" in layers:
                frames.append(shown[-1])
                labels.append("xyz")
        return frame_lines(
            np.array(frames).reshape(-1, 4, 4), FRAME_LENGTH * 2.0 * self.body.size_m, labels, camera.axes()
        )


def _suspects(arm: ShownArm, body: Body) -> Iterator[tuple[str, LinkMesh]]:
    """By name whatever can fail: joints, shown by the link that they move, and bodies as they are checked."""
    for index, axis in enumerate(arm.axes):
        yield axis.name, body.meshes[min(index + 1, arm.model.dof)]
    if arm.rig is not None:
        for shape, mesh in zip(arm.rig.shapes, capsule_meshes(arm.rig.shapes), strict=True):
            yield shape.name, mesh


def _numbers(origins: Floats) -> list[str]:
    """Numbers of frames; one in the place of another is written beside its number."""
    labels: list[str] = []
    for number, origin in enumerate(origins):
        before = [labels[k] for k in range(number) if np.allclose(origins[k], origin, atol=1e-9)]
        labels.append(" " * (len(before[-1]) + 1) + str(number) if before else str(number))
    return labels


class Fitted(Protocol):
    """Knows from where all of it is seen."""

    def first_camera(self, aspect: float) -> Camera:
        """In a picture so many times as wide as high."""
        ...


class Hands:
    """Mouse and keys on the camera of a `Scene`: left turns, middle or Shift pans, the wheel zooms."""

    camera: Camera
    _stage: Fitted | None = None
    _grip: QPointF | None = None
    _fitted: Camera | None = None
    _fitted_to = 0.0

    if TYPE_CHECKING:

        def width(self) -> int:
            """Of the picture."""

        def height(self) -> int:
            """Of the picture."""

        def look(self, camera: Camera) -> None:
            """From there."""

    def fit(self) -> None:
        """From where all of the arm is seen."""
        if self._stage is not None:
            self._fitted_to = self.width() / max(self.height(), 1)
            self._fitted = self._stage.first_camera(self._fitted_to)
            self.look(self._fitted)

    def fit_again(self) -> None:
        """The same in a picture of another shape, unless somebody has looked elsewhere since."""
        if self.camera is self._fitted and self.width() / max(self.height(), 1) != self._fitted_to:
            self.fit()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Take hold."""
        self._grip = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Turn or pan."""
        if self._grip is None:
            return
        moved = event.position() - self._grip
        self._grip = event.position()
        pans = event.buttons() & (Qt.MouseButton.MiddleButton | Qt.MouseButton.RightButton)
        if pans or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.look(self.camera.panned(-moved.x() / self.width(), moved.y() / self.width()))
        else:
            self.look(self.camera.orbited(-ORBIT_RAD * moved.x(), ORBIT_RAD * moved.y()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Let go."""
        self._grip = None

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        """Nearer or farther."""
        self.look(self.camera.zoomed(WHEEL_ZOOM ** (event.angleDelta().y() / 120.0)))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Arrows turn, with Shift pan; plus and minus zoom; digits are the named views."""
        keys = Qt.Key
        ways = {keys.Key_Left: (-1, 0), keys.Key_Right: (1, 0), keys.Key_Up: (0, 1), keys.Key_Down: (0, -1)}
        key, camera = event.key(), self.camera
        if event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier):
            event.ignore()
            return
        names = list(VIEWS)
        if key in ways:
            right, up = ways[keys(key)]
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self.look(camera.panned(KEY_PAN * right, KEY_PAN * up))
            else:
                self.look(camera.orbited(KEY_TURN_RAD * right, KEY_TURN_RAD * up))
        elif key in (keys.Key_Plus, keys.Key_Equal):
            self.look(camera.zoomed(WHEEL_ZOOM))
        elif key == keys.Key_Minus:
            self.look(camera.zoomed(1.0 / WHEEL_ZOOM))
        elif event.text().isdigit() and 1 <= int(event.text()) <= len(names):
            self.look(camera.seen_from(names[int(event.text()) - 1]))
        else:
            event.ignore()
