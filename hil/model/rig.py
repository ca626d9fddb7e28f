"""The rig record: one set-up of robot, controller, calibration, fences and rates, in metres and radians."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import Any

import msgspec

from hil.link import ControllerSettings
from hil.model.pad import PadSettings
from hil.model.robot import RobotModel
from hil.model.servo import ServoModel
from hil.types import Record


class AxisKind(Enum):
    """What a position of this axis means."""

    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    GRIPPER = "gripper"


class Axis(Record, frozen=True):
    """One commanded axis: a joint of the robot, or the gripper. Radians if revolute, else metres.

    Attributes:
        lower, upper: hard limits of the rig, inside those of the robot.
        soft_margin: motions stay this far inside the hard limits.
        home, park: named poses; park is where the limp arm rests.
        divergence: band within which command, shadow and report have to agree.
        servo_lag_s, servo_speed: how the servo behind the axis follows; for the shadow and for settling.
        stall_torque_n_m: the most that it can hold, by its data sheet; None where the rig does not say.
        servo: how the servo follows in more detail; None for the plain lag.
    """

    name: str
    kind: AxisKind
    lower: float
    upper: float
    soft_margin: float
    speed: float
    acceleration: float
    jerk: float
    home: float
    park: float
    divergence: float
    servo_lag_s: float
    servo_speed: float
    stall_torque_n_m: float | None = None
    servo: ServoModel | None = None


class Capsule(Record, frozen=True):
    """A rounded rod fixed to a link: all points within `radius_m` of the stretch from `start_m` to `end_m`.

    Attributes:
        link: 0 for the base, i for the link that carries DH frame i (the tool frame rides on the last one).
        start_m, end_m: in that frame.
    """

    name: str
    link: int
    start_m: tuple[float, float, float]
    end_m: tuple[float, float, float]
    radius_m: float


class Box(Record, frozen=True):
    """An axis-aligned box in the robot's base frame."""

    name: str
    lower_m: tuple[float, float, float]
    upper_m: tuple[float, float, float]


class Fences(Record, frozen=True):
    """What the whole arm keeps clear of.

    Attributes:
        table_height_m: z of the table top; every shape that does not stand on it stays above.
        stands_on_table: names of the shapes that may touch the table.
        keep_out: boxes that no shape may enter.
        keep_in: the box that every shape has to stay in, or None.
        clearance_m: distance kept from the table, from boxes, and between shapes.
        neighbours: pairs of shapes that touch by construction and are not checked against each other.
    """

    table_height_m: float
    stands_on_table: tuple[str, ...]
    keep_out: tuple[Box, ...]
    keep_in: Box | None
    clearance_m: float
    neighbours: tuple[tuple[str, str], ...]


class AdapterIdentity(Record, frozen=True):
    """How an adapter is told from others: by its serial number, else by where it is plugged in.

    Attributes:
        serial_number: empty if it has none that is its own.
        place: USB bus and sockets, or the name of a port that is not on USB.
    """

    serial_number: str = ""
    place: str = ""

    @property
    def text(self) -> str:
        """Words for a person."""
        return f"adapter {self.serial_number}" if self.serial_number else f"the port at {self.place}"


class CalibrationNote(Record, frozen=True):
    """The calibration that is laid over a rig: which one, of what, and by whom.

    Attributes:
        id: its file's name.
        rig: the rig for which it was made.
        date: as 2026-01-31.
        adapter: of the arm that was calibrated; None for one that was made on a fake controller.
    """

    id: str
    rig: str
    date: str
    operator: str
    adapter: AdapterIdentity | None
    file: str = ""

    @property
    def text(self) -> str:
        """Words for a person."""
        where = "on a fake controller" if self.adapter is None else f"on {self.adapter.text}"
        return f"{self.id}, by {self.operator} {where}"


class Rig(Record, frozen=True):
    """One set-up, resolved and checked.

    Attributes:
        axes: joints in chain order, then the gripper if there is one.
        energise_order: indices of `axes`, the order in which they are driven for the first time.
        energise_dwell_s: pause after each of them.
        tool_speed_m_s: limit of the tool point's speed while previewed motion runs.
        shapes: the arm's own body, for collision checks.
        controller: the settings record of the driver that `controller.kind` names.
        adapter_serial: serial number of the USB adapter this rig is bound to, by its file or by its calibration; None
            where not bound.
        calibration: what was laid over the rig's own pulses; None for a rig that nobody has calibrated.
        park_source: where the park pose comes from, as its file has it; empty where it does not say.
        owner_silent_s: for how long the program that asked for a certified motion may be silent while nobody's hand is
            on a key.
        defaults: for a rig that was made of a robot alone, what was taken for what the robot's file does not say.
        pad: what a game pad does; what it asks for is judged like any other jog.
    """

    id: str
    title: str
    robot: RobotModel
    axes: tuple[Axis, ...]
    period_s: float
    look_ahead_s: float
    energise_order: tuple[int, ...]
    energise_dwell_s: float
    tool_speed_m_s: float
    shapes: tuple[Capsule, ...]
    fences: Fences
    controller: ControllerSettings
    adapter_serial: str | None = None
    calibration: CalibrationNote | None = None
    park_source: str = ""
    file: str = ""
    owner_silent_s: float = 1.0
    defaults: tuple[str, ...] = ()
    pad: PadSettings = PadSettings()

    @property
    def home(self) -> tuple[float, ...]:
        """Home position of every axis."""
        return tuple(axis.home for axis in self.axes)

    @property
    def park(self) -> tuple[float, ...]:
        """Park position of every axis."""
        return tuple(axis.park for axis in self.axes)

    @property
    def gripper(self) -> int | None:
        """Index of the gripper among the axes, or None."""
        return next((i for i, axis in enumerate(self.axes) if axis.kind is AxisKind.GRIPPER), None)

    def index(self, name: str) -> int:
        """Index of the axis called `name`; KeyError if there is none."""
        for i, axis in enumerate(self.axes):
            if axis.name == name:
                return i
        raise KeyError(name)

    @property
    def digest(self) -> str:
        """SHA-256 over everything that a certificate binds: robot, limits, calibration, fences, rates."""
        return digest_of(self)


TOLD_ONLY = frozenset({"defaults", "file", "owner_silent_s", "pad", "park_source", "stall_torque_n_m"})
"""Facts for people, and for whoever watches the processes, on which no sample and no limit depends: who adds one keeps
certificates and old journals valid."""

CAME_LATER = frozenset({"servo"})
"""Keys that count only where they say something, so that certificates and journals from before them stay valid."""


def digest_of(record: Any) -> str:
    """SHA-256 of a record's canonical JSON, without what is `TOLD_ONLY`, or came later and is empty."""
    tree = msgspec.to_builtins(record)
    _drop_told(tree)
    return hashlib.sha256(msgspec.json.encode(tree, order="deterministic")).hexdigest()


def _drop_told(tree: Any) -> None:
    if isinstance(tree, dict):
        for key in TOLD_ONLY & tree.keys():
            del tree[key]
        for key in CAME_LATER & tree.keys():
            if tree[key] is None:
                del tree[key]
        for value in tree.values():
            _drop_told(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            _drop_told(value)
