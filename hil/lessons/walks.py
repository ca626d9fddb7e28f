"""Frames that walk through a DH table: each row as its four elementary motions, with the product so far.

The order is that of the source paper: along z by d, about z by theta, along x by a, about x by alpha. The two about z
may change places, so the walk ends where Rz(theta) Tz(d) Tx(a) Rx(alpha) ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hil.kernels.scalar import FloatArray
from hil.kinematics.poses import rotation_vector
from hil.lessons.timeline import Moment, Timeline
from hil.model.robot import JointType, RobotModel
from hil.model.transforms import cos_sin, inverse
from hil.robot import Robot
from hil.units import DEG, MM

PART_S = 1.0
"""Length of one elementary motion."""

PARTS = ("d", "theta", "a", "alpha")
"""In the order of the motions, as columns of the table."""


class Part(NamedTuple):
    """One elementary motion.

    Attributes:
        row: of the table, from 0; the number of rows for the tool's own transform.
        column: of `PARTS`, or `tool`.
        before: product of all motions before this one, (4, 4).
        value: metres or radians by which it goes.
        tool: the tool's transform, (4, 4).
    """

    row: int
    column: str
    before: FloatArray
    value: float
    tool: FloatArray = np.eye(4)

    def at(self, share: float) -> FloatArray:
        """The product up to a share of this motion, (4, 4)."""
        if self.column == "tool":
            return self.before @ screwed(np.eye(4), self.tool, share)
        return self.before @ elementary(self.column, share * self.value)


class Step(NamedTuple):
    """A moment of a walk.

    Attributes:
        pose: of the moving frame in the world, (4, 4).
        product: from where the walk began to there, (4, 4): the matrix beside the table.
        part: the motion that is on.
        share: how much of it is done.
    """

    pose: FloatArray
    product: FloatArray
    part: Part
    share: float


class Walk:
    """A frame that goes from one frame of the arm to a later one.

    Args:
        robot: the arm.
        q: its joint values, rad or m.
        first: the frame where it begins: 0 for the base's, i for DH frame i.
        last: where it ends; n + 1 for the tool's, of an arm of n joints.
    """

    def __init__(self, robot: Robot, q: Sequence[float], first: int, last: int) -> None:
        frames = robot.link_frames(q)
        self._start, self._end = frames[first], frames[last]
        self._product = inverse(frames[first]) @ frames[last]
        self.parts = tuple(_parts(robot.model, q, first, last))

    @property
    def timeline(self) -> Timeline:
        """One stretch for each part."""
        ends = [Moment((number + 1) * PART_S, part_words(part)) for number, part in enumerate(self.parts)]
        return Timeline(len(self.parts) * PART_S, (Moment(0.0), *ends))

    def at(self, time_s: float) -> Step:
        """At a moment; at the end the frame is the arm's own, number for number."""
        place = min(max(time_s / PART_S, 0.0), float(len(self.parts)))
        number = min(max(math.ceil(place) - 1, 0), len(self.parts) - 1)
        part, share = self.parts[number], place - number
        if number == len(self.parts) - 1 and share >= 1.0:
            return Step(self._end, self._product, part, 1.0)
        product = part.at(share)
        return Step(self._start @ product, product, part, share)

    def way(self, count: int = 24) -> FloatArray:
        """Of the moving frame's origin, as points (K, 3)."""
        times = np.linspace(0.0, len(self.parts) * PART_S, count * len(self.parts) + 1)
        return np.array([self.at(float(time_s)).pose[:3, 3] for time_s in times])


def elementary(column: str, value: float) -> FloatArray:
    """One motion along or about an axis, (4, 4): of `d` and `theta` z, of `a` and `alpha` x."""
    matrix: FloatArray = np.eye(4)
    if column in ("d", "a"):
        matrix[2 if column == "d" else 0, 3] = value
        return matrix
    c, s = cos_sin(value)
    if column == "theta":
        matrix[:2, :2] = [[c, -s], [s, c]]
    else:
        matrix[1:3, 1:3] = [[c, -s], [s, c]]
    return matrix


def part_words(part: Part) -> str:
    """What goes on, in a few words."""
    if part.column == "tool":
        return "the tool's own transform"
    along = part.column in ("d", "a")
    axis = "z" if part.column in ("d", "theta") else "x"
    amount = f"{part.value / MM:z.6g} mm along" if along else f"{part.value / DEG:z.6g} deg about"
    return f"row {part.row + 1}, {part.column}: {amount} {axis}"


def row_values(model: RobotModel, row: int, q: float) -> dict[str, float]:
    """The four numbers of a row where its joint stands at `q`, metres and radians."""
    joint = model.joints[row]
    turns = joint.type is JointType.REVOLUTE
    return {
        "d": joint.d_m + (0.0 if turns else joint.sign * q),
        "theta": joint.theta_rad + (joint.sign * q if turns else 0.0),
        "a": joint.a_m,
        "alpha": joint.alpha_rad,
    }


def _parts(model: RobotModel, q: Sequence[float], first: int, last: int) -> list[Part]:
    product, parts = np.eye(4), []
    for row in range(first, min(last, model.dof)):
        for column, value in row_values(model, row, q[row]).items():
            parts.append(Part(row, column, product, value))
            product = parts[-1].at(1.0)
    if last > model.dof:
        parts.append(Part(model.dof, "tool", product, 0.0, np.array(model.tool)))
    return parts


def between(robot: Robot, q: Sequence[float], start: int, end: int) -> FloatArray:
    """The transform from any frame to any other, (4, 4): 0 for the base's, i for DH frame i, n + 1 for the tool's."""
    frames = robot.link_frames(q)
    found: FloatArray = inverse(frames[start]) @ frames[end]
    return found


def screwed(start: FloatArray, end: FloatArray, share: float) -> FloatArray:
    """A pose on the way from one to another: straight, and turning evenly about one axis."""
    if share >= 1.0:
        return end
    turn = start[:3, :3].T @ end[:3, :3]
    pose: FloatArray = np.eye(4)
    pose[:3, :3] = start[:3, :3] @ rotation_by(share * _turn_vector(turn))
    pose[:3, 3] = (1.0 - share) * start[:3, 3] + share * end[:3, 3]
    return pose


def rotation_by(vector: FloatArray) -> FloatArray:
    """The rotation about a vector by its length, rad, (3, 3)."""
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turned: FloatArray = np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)
    return turned


def _turn_vector(turn: FloatArray) -> FloatArray:
    rows = tuple(tuple(float(v) for v in row) for row in turn)
    return np.array(rotation_vector(rows))
