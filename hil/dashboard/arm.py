"""The arm that the window shows: its model, its axes in people's units, and its rig where the service gave one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hil.errors import ConfigError
from hil.link import FloatArray, Pace
from hil.model.reader import load_rig, load_robot
from hil.model.rig import AxisKind, Fences, Rig
from hil.model.robot import JointType, RobotModel
from hil.model.specification import unit_of
from hil.robot import Robot
from hil.service.wire import AxisInfo, PulledRig, Welcome
from hil.types import Record
from hil.units import DEG, MM

FREE_TURN_RAD, FREE_SLIDE_M = np.pi, 0.5
"""Range that is shown of a joint for which no source gives limits."""

SLOW_SHARE = 0.5
"""Speed of a joint for which no source gives one, in ranges a second."""


class ShownAxis(NamedTuple):
    """One axis as it is shown.

    Attributes:
        unit: rad or m in one unit of people, which is called `unit_name`.
        lower, upper: soft limits, rad or m.
    """

    name: str
    unit: float
    unit_name: str
    gripper: bool
    lower: float
    upper: float
    speed: float
    home: float
    park: float


class ShownArm:
    """What all views draw from.

    Attributes:
        title: for people.
        robot: its kinematics.
        axes: in the order of all positions; the gripper last, if there is one.
        rig: None where only the robot is known; then there are no fences and no stop ghost.
    """

    def __init__(self, title: str, model: RobotModel, axes: Sequence[ShownAxis], rig: Rig | None = None) -> None:
        self.title, self.axes, self.rig = title, tuple(axes), rig
        self.robot = Robot(model)

    @property
    def keys(self) -> tuple[int, ...]:
        """The number that picks each axis: the one that ends its name, where all names end with one (J1 J2 J3 J5 J6).

        Else its place, from 1.
        """
        ends = [int(axis.name[-1]) if axis.name[-1:].isdecimal() else 0 for axis in self.axes]
        named = all(ends) and len(set(ends)) == len(ends)
        return tuple(ends) if named else tuple(range(1, len(self.axes) + 1))

    @property
    def model(self) -> RobotModel:
        """The robot's record."""
        return self.robot.model

    @property
    def fences(self) -> Fences | None:
        """What the arm keeps clear of; None where that is not known."""
        return None if self.rig is None else self.rig.fences

    @property
    def scale(self) -> FloatArray:
        """Per axis what a position is divided by for people, shape (n,)."""
        return np.array([axis.unit for axis in self.axes])

    def frames(self, positions: Sequence[float | None]) -> FloatArray | None:
        """World frames of base, links and tool, shape (dof + 2, 4, 4); None while a joint's place is not known."""
        joints = [q for q in positions[: self.robot.dof] if q is not None]
        return self.robot.link_frames(joints) if len(joints) == self.robot.dof else None

    def opening_m(self, positions: Sequence[float | None]) -> float | None:
        """How far the gripper is open; None without one, or where it is not known."""
        return next((q for axis, q in zip(self.axes, positions, strict=False) if axis.gripper), None)


def arm_of_rig(rig: Rig, axes: Sequence[AxisInfo] = ()) -> ShownArm:
    """An arm whose rig is known.

    Args:
        rig: as the service gave it.
        axes: as the service counts with them; empty for the rig's own.
    """
    shown = [_told(axis) for axis in axes] or [
        ShownAxis(
            axis.name,
            *_unit(axis.kind),
            axis.kind is AxisKind.GRIPPER,
            axis.lower + axis.soft_margin,
            axis.upper - axis.soft_margin,
            axis.speed,
            axis.home,
            axis.park,
        )
        for axis in rig.axes
    ]
    return ShownArm(rig.title, rig.robot, shown, rig)


def arm_of_model(model: RobotModel) -> ShownArm:
    """An arm of which nothing but the robot is known."""
    axes = []
    for joint, home in zip(model.joints, model.home or [0.0] * model.dof, strict=True):
        free = FREE_TURN_RAD if joint.type is JointType.REVOLUTE else FREE_SLIDE_M
        lower = -free if joint.lower is None else joint.lower
        upper = free if joint.upper is None else joint.upper
        speed = joint.max_speed or SLOW_SHARE * (upper - lower)
        home = min(max(home, lower), upper)
        axes.append(ShownAxis(joint.name, *unit_of(joint), False, lower, upper, speed, home, home))
    return ShownArm(model.title, model, axes)


def arm_of_files(pulled: PulledRig, axes: Sequence[AxisInfo]) -> ShownArm:
    """The arm whose files the service gave.

    Raises:
        ConfigError: they are no rig that this version can read.
    """
    with tempfile.TemporaryDirectory(prefix="hil-dashboard-") as folder:
        rigs = [path for file in pulled.files if (path := _write(Path(folder), file.name, file.text)) is not None]
        if not rigs:
            raise ConfigError(f"rig of {pulled.arm}", "files", None, "a rig's file")
        return arm_of_rig(load_rig(rigs[0], _AnyController(), calibrated=False), axes)


def arm_of_welcome(welcome: Welcome) -> ShownArm:
    """The arm by its robot's name alone, for a service that does not give its rig.

    Raises:
        ConfigError: this computer does not know the robot.
    """
    return ShownArm(welcome.title, load_robot(welcome.robot), [_told(axis) for axis in welcome.axes])


def _write(folder: Path, name: str, text: str) -> Path | None:
    """Write one file; its path if it is a rig. A name that leads out of the folder comes from no honest service."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ConfigError("the service's rig", "files", name, "names below the rig's own folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path if path.parent.name == "rigs" else None


def _told(axis: AxisInfo) -> ShownAxis:
    kind = AxisKind(axis.kind)
    gripper = kind is AxisKind.GRIPPER
    return ShownAxis(axis.name, *_unit(kind), gripper, axis.lower, axis.upper, axis.speed, axis.home, axis.park)


def _unit(kind: AxisKind) -> tuple[float, str]:
    return (DEG, "deg") if kind is AxisKind.REVOLUTE else (MM, "mm")


class _FarController(Record, frozen=True):
    """Stands for the controller at the other end of the service, of which a window needs nothing but its numbers.

    Implements `ControllerSettings`; everything passes, since the service has checked the rig.
    """

    kind: ClassVar[str] = "far"
    axes: int
    port_url: str = ""
    baud: int = 115200
    framing: str = "8N1"
    settle_s: float = 0.0
    pace: Pace | None = None

    def quantise(self, positions: FloatArray) -> FloatArray:
        return positions

    def quantise_pose(self, positions: Sequence[float]) -> tuple[float, ...]:
        return tuple(positions)

    def quantum(self) -> FloatArray:
        return np.zeros(self.axes)

    def report_quantum(self) -> FloatArray:
        return np.zeros(self.axes)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return np.full(self.axes, -np.inf), np.full(self.axes, np.inf)

    def line_time_s(self) -> float:
        return 0.0


class _AnyController(Mapping[str, Any]):
    """Whatever kind a rig names, its numbers stay at the service."""

    def __getitem__(self, kind: str) -> Any:
        return lambda table, specs, file: _FarController(axes=len(specs))

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, kind: object) -> bool:
        return True
