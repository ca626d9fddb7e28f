"""What to measure of a rig's axes, and what to expect: in degrees and millimetres, as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from hil.link import ServoChannel
from hil.model._calibration_file import Direction
from hil.model.rig import AxisKind, Rig
from hil.piecewise import PiecewiseLinear
from hil.robot import Robot
from hil.types import Record
from hil.units import DEG, MM

MIDDLE_US = 1500
"""The middle of a servo's travel: the one pulse that is harmless whichever joint it is, and however that is mounted."""
GRID = 45.0
END_GAP = 20.0


class AxisPlan(Record, frozen=True):
    """One axis as the rig's file has it: what to measure, and what to expect.

    Attributes:
        unit: ``deg`` or ``mm``, of all positions.
        lower, upper: limits of the rig.
        references: positions worth measuring at, rising.
        channel: the output that the rig's file names.
        us_per_unit: usual change of the pulse per unit, without sign.
        positive: what a growing position looks like, in words.
        first_us: pulse of the first move.
        first_at: where the axis is expected to be at that pulse.
        needs: lowest and highest position that the rig's poses need.
    """

    name: str
    unit: str
    lower: float
    upper: float
    references: tuple[float, ...]
    channel: int
    us_per_unit: float
    positive: str
    first_us: int
    first_at: float
    needs: tuple[float, float]

    @property
    def span(self) -> float:
        """Range of the axis."""
        return self.upper - self.lower

    def is_near(self, position: float, reference: float) -> bool:
        """Whether a point there does for a reference: at an end almost there, between them within a third of a gap."""
        at = self.references.index(reference)
        if at in (0, len(self.references) - 1):
            return abs(position - reference) < 0.02 * self.span
        gap = min(reference - self.references[at - 1], self.references[at + 1] - reference)
        return abs(position - reference) <= gap / 3.0

    def say(self, position: float) -> str:
        """A position in words."""
        return f"{position:z.1f} {self.unit}"


class Plan(Record, frozen=True):
    """What to calibrate.

    Attributes:
        axes: in the order in which they are first driven.
        channels: outputs that may carry a servo, in the order in which they are tried.
    """

    rig: str
    axes: tuple[AxisPlan, ...]
    channels: tuple[int, ...]

    def axis(self, name: str) -> AxisPlan:
        """The axis of this name."""
        return next(axis for axis in self.axes if axis.name == name)


class Progress(Record, frozen=True):
    """What is known so far; kept in a draft so that a stop loses nothing.

    Attributes:
        held: last pulse of every channel that was driven.
        channels: which axis hangs on which channel.
        directions: which way each axis goes as its pulse grows.
        points: (position, pulse) per axis.
        done: axes that are finished.
    """

    held: dict[int, int] = msgspec.field(default_factory=dict)
    channels: dict[str, int] = msgspec.field(default_factory=dict)
    directions: dict[str, Direction] = msgspec.field(default_factory=dict)
    points: dict[str, tuple[tuple[float, int], ...]] = msgspec.field(default_factory=dict)
    done: tuple[str, ...] = ()


def plan_calibration(
    rig: Rig, servos: Sequence[ServoChannel], *, at_park: bool = False, channels: Sequence[int] = ()
) -> Plan:
    """Plan the calibration of a rig.

    Args:
        rig: the rig as its file has it, or with the calibration that is to be redone.
        servos: its channels, see `hil.runtime.channel_wiring.channels_of`.
        at_park: True to begin in the park pose, for a rig whose calibration can be trusted that far; else in the
            middle of every servo's travel.
        channels: outputs to try; none: those of the rig.
    """
    middle = middle_pose(servos)
    axes = tuple(_axis_plan(rig, index, servos[index], middle, at_park=at_park) for index in rig.energise_order)
    return Plan(rig=rig.id, axes=axes, channels=tuple(channels) or tuple(axis.channel for axis in axes))


def middle_pose(servos: Sequence[ServoChannel]) -> tuple[float, ...]:
    """Where every axis is with its servo in the middle of its travel, rad or m."""
    return tuple(_inverse(servo, MIDDLE_US) for servo in servos)


def _axis_plan(rig: Rig, index: int, servo: ServoChannel, middle: tuple[float, ...], *, at_park: bool) -> AxisPlan:
    axis = rig.axes[index]
    unit, factor = ("deg", DEG) if axis.kind is AxisKind.REVOLUTE else ("mm", MM)
    positions, pulses = zip(*servo.points, strict=True)
    first_us = round(PiecewiseLinear(positions, pulses)(axis.park)) if at_park else MIDDLE_US
    low, high, margin = axis.lower / factor, axis.upper / factor, axis.soft_margin / factor
    poses = (axis.home / factor, axis.park / factor)
    return AxisPlan(
        name=axis.name,
        unit=unit,
        lower=low,
        upper=high,
        references=_references(low + margin, high - margin, unit),
        channel=servo.channel,
        us_per_unit=abs(pulses[-1] - pulses[0]) / (positions[-1] - positions[0]) * factor,
        positive=_positive(rig, index, middle),
        first_us=first_us,
        first_at=_inverse(servo, first_us) / factor,
        needs=(max(low, min(poses) - 1.1 * margin), min(high, max(poses) + 1.1 * margin)),
    )


def _inverse(servo: ServoChannel, pulse_us: float) -> float:
    return PiecewiseLinear(*zip(*servo.points, strict=True)).inverse(pulse_us)


def _references(lower: float, upper: float, unit: str) -> tuple[float, ...]:
    """Both ends, and what a set square shows between them; a gripper closed, half open and open."""
    if unit == "mm":
        return (math.ceil(lower), round((lower + upper) / 2), math.floor(upper))
    low, high = 5.0 * math.ceil(lower / 5.0), 5.0 * math.floor(upper / 5.0)
    first = GRID * math.ceil((low + END_GAP) / GRID)
    between = [first + GRID * step for step in range(int((high - low) // GRID) + 1)]
    return (low, *(position for position in between if position <= high - END_GAP), high)


def _positive(rig: Rig, index: int, pose: tuple[float, ...]) -> str:
    """How a growing position looks from outside, with the arm about where it is when that is asked."""
    axis = rig.axes[index]
    if axis.kind is AxisKind.GRIPPER:
        return "the fingers open"
    frames = Robot(rig.robot).link_frames(pose[: rig.robot.dof])
    turning, origin, tip = frames[index][:3, 2], frames[index][:3, 3], frames[-1][:3, 3]
    turning = turning * rig.robot.joints[index].sign
    if axis.kind is AxisKind.PRISMATIC:
        return f"everything beyond it moves {_towards(turning, tip)}"
    if abs(turning[2]) > 0.8:
        return f"it turns {'counter-clockwise' if turning[2] > 0 else 'clockwise'}, seen from above"
    swing = np.cross(turning, tip - origin)
    if np.linalg.norm(swing) < 0.02:
        hand = frames[-1][:3, 2]
        return f"the hand turns {'clockwise' if turning @ hand > 0 else 'counter-clockwise'}, seen from the arm"
    return f"the hand moves {_towards(swing, tip)}"


def _towards(way: np.ndarray[Any, Any], tip: np.ndarray[Any, Any]) -> str:
    """A direction in the words of somebody who stands beside the table."""
    if abs(way[2]) >= math.hypot(way[0], way[1]):
        return "up" if way[2] > 0 else "down"
    out = way[0] * tip[0] + way[1] * tip[1]
    if math.hypot(tip[0], tip[1]) < 0.02:
        # Straight above the base there is no outward: x is where the arm points with its base at zero.
        out = way[0]
    return "forward, away from the base" if out > 0 else "back, over the base"
