"""What each servo carries while an arm stands still: an estimate from gravity alone, with nothing in the gripper.

By the masses of the robot where its file has them; else by the rig's shapes, taken as hollow bodies of one density.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import msgspec

from hil.model.rig import Axis, AxisKind, Capsule, Rig
from hil.model.robot import LinkInertia, RobotModel
from hil.model.servo import HobbyServo
from hil.types import Record

DENSITY_KG_M3 = 550.0
"""Servos, brackets and the air between: the links that the Lynx6 and the AL5D move, 0.33 kg each, have 500 and 590 of
the volume of their shapes."""

HEAVY = 0.5
"""From this share of its stall torque on, a servo that holds for long gets hot."""

SINKS_N_M = 0.02
"""A joint that carries less stays about where it is, by the friction of its gears."""
POSES = 32
SHOWN_N_M = 0.005
"""What is less is not worth a word."""


class Load(Record, frozen=True):
    """What one joint carries.

    Attributes:
        axis: its name.
        torque_n_m: against gravity, N m; N of a sliding joint. The sign is that of the joint.
        share: of what its servo can hold at all; None where the rig does not say which servo that is.
    """

    axis: str
    torque_n_m: float
    share: float | None = None

    @property
    def heavy(self) -> bool:
        """Too much for long."""
        return self.share is not None and self.share > HEAVY

    @property
    def text(self) -> str:
        """Words for a person."""
        unknown = f"{self.axis} {abs(self.torque_n_m):.2f} N m"
        return unknown if self.share is None else f"{unknown}, {100.0 * self.share:.0f} % of its servo's stall torque"


class GravityLoad:
    """Works out the loads of one rig.

    Args:
        rig: the resolved rig.

    Attributes:
        basis: what the numbers come from, in words.
    """

    def __init__(self, rig: Rig) -> None:
        from hil.dynamics.model import Dynamics  # long to import, and a loop that starts needs none

        self._joints = rig.axes[: rig.robot.dof]
        known = rig.robot.inertia is not None
        self.basis = (
            f"an estimate from the masses of robot {rig.robot.id}, gripper empty"
            if known
            else "a rough estimate from the sizes of the rig's shapes, gripper empty"
        )
        self._dynamics = Dynamics(rig.robot if known else model_of_shapes(rig), point_masses=True)

    def torques(self, positions: Sequence[float]) -> tuple[float, ...]:
        """What holds each joint at rest, N m.

        Args:
            positions: one per joint, in rad or m; a gripper's behind them does not count.
        """
        return tuple(self._dynamics.gravity_torque(positions[: len(self._joints)]).tolist())

    def words(self, positions: Sequence[float]) -> str:
        """What the joints carry, in one line, and a warning of those that carry too much for long."""
        return carried_words(self.loads(positions), self.basis)

    def loads(self, positions: Sequence[float]) -> tuple[Load, ...]:
        """The load of each joint, in chain order; positions as for `torques`."""
        return tuple(_load(axis, torque) for axis, torque in zip(self._joints, self.torques(positions), strict=True))


def carried_words(loads: Sequence[Load], basis: str) -> str:
    """What these joints carry, in one line, and a warning of those that carry too much for long."""
    carried = "; ".join(load.text for load in loads if abs(load.torque_n_m) >= SHOWN_N_M) or "nothing to speak of"
    heavy = [load.axis for load in loads if load.heavy]
    warning = (
        f". WARNING: {', '.join(heavy)} above {100.0 * HEAVY:.0f} %: a servo that holds so much for long gets hot; "
        "put the arm where it carries less"
    )
    return f"against gravity ({basis}): {carried}{warning if heavy else ''}"


def _load(axis: Axis, torque_n_m: float) -> Load:
    most = axis.stall_torque_n_m
    return Load(axis=axis.name, torque_n_m=torque_n_m, share=None if most is None else abs(torque_n_m) / most)


def release_order(rig: Rig, positions: Sequence[float], load: GravityLoad | None = None) -> tuple[int, ...]:
    """In which order the axes are let go of: the gripper first, then by what they carry, the heaviest last.

    Of joints that carry the same the outermost comes first: what is let go of sinks no further than it has to.

    Args:
        rig: the resolved rig.
        positions: where its axes are, in rad or m.
        load: of the same rig, where somebody has it already.
    """
    torques = (load or GravityLoad(rig)).torques(positions)
    joints = sorted(range(len(torques)), key=lambda index: (round(abs(torques[index]), 3), -index))
    others = [index for index, axis in enumerate(rig.axes) if axis.kind is AxisKind.GRIPPER]
    return (*others, *joints)


def sinking_joints(rig: Rig) -> frozenset[int]:
    """Indices of the joints that gravity turns in some pose, so that they do not stay where they are let go of."""
    load, joints = GravityLoad(rig), rig.axes[: rig.robot.dof]
    chance = random.Random(0)
    poses = [[chance.uniform(axis.lower, axis.upper) for axis in joints] for _ in range(POSES)]
    torques = [load.torques(pose) for pose in poses]
    return frozenset(i for i in range(len(joints)) if max(abs(each[i]) for each in torques) > SINKS_N_M)


def axis_loads(rig: Rig) -> Callable[[Sequence[float]], tuple[float, ...]] | None:
    """What the axes have to hold where they are, N m or N, a gripper nothing; None where no servo gives way."""
    if not any(isinstance(axis.servo, HobbyServo) and axis.servo.sag > 0.0 for axis in rig.axes):
        return None
    load = GravityLoad(rig)
    others = (0.0,) * (len(rig.axes) - rig.robot.dof)
    return lambda positions: (*load.torques(positions), *others)


def model_of_shapes(rig: Rig) -> RobotModel:
    """The robot with the mass of its shapes, each link's as a point: good for gravity alone."""
    links = [_point([shape for shape in rig.shapes if shape.link == n]) for n in range(1, rig.robot.dof + 1)]
    return msgspec.structs.replace(rig.robot, inertia=tuple(links))


def _point(shapes: Sequence[Capsule]) -> LinkInertia:
    masses = [_mass_kg(shape) for shape in shapes]
    whole = sum(masses)
    x, y, z = (
        sum(mass * (shape.start_m[i] + shape.end_m[i]) / 2.0 for mass, shape in zip(masses, shapes, strict=True))
        for i in range(3)
    )
    return LinkInertia(mass_kg=whole, com_m=(x / whole, y / whole, z / whole) if whole else (0.0, 0.0, 0.0))


def _mass_kg(shape: Capsule) -> float:
    """Of a rod with round ends."""
    r = shape.radius_m
    return DENSITY_KG_M3 * math.pi * r * r * (math.dist(shape.start_m, shape.end_m) + 4.0 * r / 3.0)
