"""What a program needs of an arm: its axes, where they bring the tool, how to get there, the frames TOOL and BASE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from hil.link import FloatArray
from hil.program.errors import ProgramError
from hil.program.values import ZERO_JOINTS, Joints, Position, joints
from hil.units import DEG

LIMIT_SLACK_RAD = 1e-9
"""Rounding that a joint may show beyond its limit."""


class Posture(NamedTuple):
    """On which side the arm leans, and where its elbow is: the bits of FL1 that five axes have."""

    right: bool
    above: bool


class ProgramArm(Protocol):
    """An arm as a program sees it. Members are X, Y, Z in mm and A, B, C, L1, L2 (angles in degrees).

    Attributes:
        name: the model.
        slots: for each joint, its place among the eight of a joint set.
        lower_rad, upper_rad: joint limits, shape (n,).
    """

    name: str
    slots: tuple[int, ...]
    lower_rad: FloatArray
    upper_rad: FloatArray

    def with_frames(self, *, tool: Position | None = None, base: Position | None = None) -> ProgramArm:
        """The same arm with another tool or base.

        Raises:
            ProgramError: an offset that this arm cannot show in its pose.
        """
        ...

    def members(self, rows: FloatArray) -> FloatArray:
        """Poses, shape (N, 8), of joint rows of shape (N, n)."""
        ...

    def position(self, row: Sequence[float]) -> Position:
        """One pose with its flags."""
        ...

    def posture(self, row: Sequence[float]) -> Posture:
        """How the arm stands."""
        ...

    def solve(self, members: FloatArray, posture: Posture) -> tuple[FloatArray, FloatArray]:
        """Joint rows, shape (N, n), and how far in mm each pose is out of reach, shape (N,); 0 where it is not."""
        ...

    def moved(self, place: Position, along_mm: float) -> Position:
        """The place moved along the Z axis of its own tool."""
        ...

    def product(self, left: Position, right: Position) -> Position:
        """Go to `left`, and from there by `right` in the tool's frame."""
        ...


def posture_of(place: Position, now: Posture) -> Posture:
    """The posture that a position's flags ask for; the present one where they were never taught."""
    return now if place.fl1 is None else Posture(bool(place.fl1 & 4), bool(place.fl1 & 2))


def joint_set(arm: ProgramArm, row: Sequence[float]) -> Joints:
    """Joint angles in the eight places of the language."""
    degrees = list(ZERO_JOINTS.degrees)
    for slot, value in zip(arm.slots, row, strict=True):
        degrees[slot] = float(value) / DEG
    return joints(degrees)


def row_of(arm: ProgramArm, angles: Joints) -> FloatArray:
    """The joint row, shape (n,), of a joint set.

    Raises:
        ProgramError: an axis that the arm lacks is not 0.
    """
    for slot, value in enumerate(angles.degrees):
        if slot not in arm.slots and value != 0.0:
            names = ", ".join(f"J{present + 1}" for present in arm.slots)
            raise ProgramError(
                3860, f"J{slot + 1} = {value:g}, an axis that this arm lacks", allowed=f"{names}; else 0"
            )
    return np.array([angles.degrees[slot] * DEG for slot in arm.slots])


def beyond(arm: ProgramArm, row: FloatArray) -> int | None:
    """Index of the first joint outside its limits, or None."""
    outside = (row < arm.lower_rad - LIMIT_SLACK_RAD) | (row > arm.upper_rad + LIMIT_SLACK_RAD)
    return int(np.argmax(outside)) if outside.any() else None


def say_limit(arm: ProgramArm, joint: int, value_rad: float) -> tuple[str, str]:
    """A joint outside its limits, and the limits, in words."""
    lower, upper = arm.lower_rad[joint] / DEG, arm.upper_rad[joint] / DEG
    name = f"J{arm.slots[joint] + 1}"
    return f"{name} at {value_rad / DEG:.2f} deg", f"{name} {lower:g} to {upper:g} deg"


def goal_row(arm: ProgramArm, place: Position, now: FloatArray, number: int = 2802) -> FloatArray:
    """The joint row that brings the tool to a place, in the posture and turn that its flags ask for.

    Args:
        arm: with its present frames.
        place: where to.
        now: the present joint row; gives what the flags leave open.
        number: error for a place out of reach; 2600 stands for limits where this is 2800, and so on.

    Raises:
        ProgramError: out of reach, or only with a joint outside its limits.
    """
    rows, away = arm.solve(np.array([place.members]), posture_of(place, arm.posture(now.tolist())))
    if away[0] > 0.0:
        raise ProgramError(number, f"{place} is {away[0]:.1f} mm out of reach", allowed="a position within reach")
    row = _with_turn(arm, rows[0], place.fl2)
    joint = beyond(arm, row)
    if joint is not None:
        detail, allowed = say_limit(arm, joint, float(row[joint]))
        raise ProgramError(number - 200, f"{place} needs {detail}", allowed=allowed)
    return row


def turn_count(value_rad: float) -> int:
    """Turns of an axis as FL2 counts them: they change at 180, 540, .. degrees."""
    return int(np.floor((value_rad / DEG + 180.0) / 360.0 - 1e-12))


def turns_of(arm: ProgramArm, row: Sequence[float]) -> int:
    """FL2: four bits an axis, two's complement."""
    return sum((turn_count(float(value)) & 0xF) << (4 * slot) for slot, value in zip(arm.slots, row, strict=True))


def _with_turn(arm: ProgramArm, row: FloatArray, fl2: int | None) -> FloatArray:
    """The last joint's turn: as FL2 counts it if the limits allow, else as solved, else whatever fits."""
    turns = [row + np.array([0.0] * (len(row) - 1) + [2.0 * np.pi * k]) for k in (0, 1, -1)]
    fitting = [turn for turn in turns if beyond(arm, turn) is None]
    if fl2 is not None:
        wanted = fl2 >> (4 * arm.slots[-1]) & 0xF
        fitting.sort(key=lambda turn: (turn_count(float(turn[-1])) & 0xF) != wanted)
    return fitting[0] if fitting else row
