"""What both scenes share: what is drawn, the hands on the camera, and the lines that change with the pose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

from hil.dashboard.arm import ShownArm
from hil.dashboard.camera import VIEWS, Camera
from hil.dashboard.figures import FRAME_LENGTH, Body, Trace, box_lines, dashed, frame_lines, grid_lines, round_step_m
from hil.dashboard.theme import Theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget as _Widget
else:
    _Widget = object

Floats = npt.NDArray[np.float64]

LAYERS = ("simulated", "commanded", "reported", "stop", "trace", "fences", "world frame", "tool frame", "DH frames")
SHOWN_AT_FIRST = frozenset(LAYERS) - {"DH frames"}

ORBIT_RAD = math.radians(0.4)
"""Turn for one point of mouse movement."""

KEY_TURN_RAD = math.radians(5.0)
KEY_PAN = 0.04
WHEEL_ZOOM = 0.9
FAR_AWAY = 2.35
"""Distance of the eye at first, in halves of the scene's size."""


class Pose(NamedTuple):
    """Where an arm is drawn: world frames (dof + 2, 4, 4), and how far the gripper is open."""

    frames: Floats
    opening_m: float | None


class SceneState(NamedTuple):
    """What is known of the arm now; None for what is not."""

    simulated: Pose | None = None
    commanded: Pose | None = None
    reported: Pose | None = None
    stopping: Pose | None = None


class Scene(Protocol):
    """A view of the arm: in OpenGL, or painted."""

    camera: Camera
    layers: set[str]

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


class Stage:
    """Everything about one arm's scene that does not depend on how it is painted."""

    def __init__(self, arm: ShownArm, trace: Trace) -> None:
        self.arm, self.trace = arm, trace
        self.body = Body(arm)
        fences = arm.fences
        self.height_m = 0.0 if fences is None else fences.table_height_m
        self.half_m = 1.15 * self.body.size_m
        self.grid = grid_lines(self.half_m, self.height_m, round_step_m(self.half_m))
        nothing = np.zeros((0, 2, 3))
        self.keep_in = nothing if fences is None or fences.keep_in is None else box_lines(fences.keep_in)
        keep_out = [] if fences is None else [box_lines(box) for box in fences.keep_out]
        self.keep_out = np.concatenate(keep_out) if keep_out else nothing

    def first_camera(self) -> Camera:
        """From which all of the arm is seen."""
        size_m = self.body.size_m
        centre_m = (0.0, 0.0, self.height_m + 0.42 * size_m)
        level = Camera(azimuth_rad=0.0, elevation_rad=0.0, distance_m=FAR_AWAY * size_m, centre_m=centre_m)
        return level.seen_from("3D")

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
                labels += [str(number) for number in range(len(shown) - 1)]
            if "tool frame" in layers:
                frames.append(shown[-1])
                labels.append("xyz")
        return frame_lines(
            np.array(frames).reshape(-1, 4, 4), FRAME_LENGTH * 2.0 * self.body.size_m, labels, camera.axes()
        )


class Hands(_Widget):
    """Mouse and keys on the camera of a `Scene`: left turns, middle or Shift pans, the wheel zooms."""

    camera: Camera
    _stage: Stage | None = None
    _grip: QPointF | None = None

    def look(self, camera: Camera) -> None:
        """To be replaced."""
        raise NotImplementedError

    def fit(self) -> None:
        """From where all of the arm is seen."""
        if self._stage is not None:
            self.look(self._stage.first_camera())

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
