"""Joint axes in space -> standard DH rows: exact for any order of parallel, crossing and skew axes.

J. Denavit, R. S. Hartenberg, A kinematic notation for lower-pair mechanisms based on matrices, J. Appl. Mech. 22, 1955:
x of frame i lies on the common normal of axes i and i + 1. Where that leaves a choice, the frame that the file itself
has at the joint is kept if it is one, else theta is made small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.errors import ConfigError
from hil.model.transforms import Matrix, dh_transform, inverse
from hil.units import DEG, MM

PARALLEL = 1e-12
"""Sine of the angle below which two axes are one direction."""

NEARLY_PARALLEL = 1e-5
"""Below this the common normal lies so far away that its place is lost in rounding."""

TOUCHING_M = 1e-12
KEPT = 1e-12
ALONG = 1.0 - 1e-9
"""Cosine above which a direction counts as along another."""

Vector = npt.NDArray[np.float64]


class AxisLine(NamedTuple):
    """One joint at q = 0, in the root frame.

    Attributes:
        frame: where the file places it, (4, 4); the axis goes through its origin.
        direction: z of the DH frame, shape (3,).
    """

    name: str
    frame: Matrix
    direction: Vector


class DhRow(NamedTuple):
    """Constants of one row, with everything at q = 0 in theta and d."""

    theta_rad: float
    d_m: float
    a_m: float
    alpha_rad: float


class DhTable(NamedTuple):
    """A chain: base and tool (4, 4), and one row a joint."""

    base: Matrix
    rows: tuple[DhRow, ...]
    tool: Matrix


def dh_table(axes: Sequence[AxisLine], tip: Matrix, file: str) -> DhTable:
    """The table of a chain.

    Args:
        axes: its joints from base to tip, at q = 0.
        tip: the tool frame at q = 0, in the root frame, (4, 4).
        file: for messages.

    Raises:
        ConfigError: two axes are nearly, but not quite, parallel.
    """
    base = tidy_transform(_first_frame(axes[0]))
    frame, rows = base, []
    for axis, following in pairwise(axes):
        aim = _next_frame(frame, axis, following, file)
        row = _row_between(frame, aim)
        rows.append(row)
        frame = frame @ dh_transform(*row)
    row = _row_between(frame, _last_frame(frame, tip))
    rows.append(row)
    frame = frame @ dh_transform(*row)
    return DhTable(base, tuple(rows), tidy_transform(inverse(frame) @ tip))


def tidy_transform(matrix: Matrix) -> Matrix:
    """Without the last digits that rounding has left: 1e-15 in rotations, 1e-15 m in places."""
    nearest = np.round(matrix)
    result: Matrix = np.where(np.abs(matrix - nearest) < 1e-15, nearest, matrix) + 0.0
    result[:3, 3] = [tidy(value, MM) for value in matrix[:3, 3]]
    return result


def tidy(value: float, unit: float) -> float:
    """The number of few decimals (of `unit`) that this is within rounding; else the number itself."""
    given = value / unit
    short = round(given, 9)
    return short * unit + 0.0 if abs(short - given) * unit < 2e-15 * max(1.0, abs(value)) else value


def _first_frame(axis: AxisLine) -> Matrix:
    """Z on the first axis, the origin next to that of the root, x as near to the root's as can be."""
    z, point = axis.direction, axis.frame[:3, 3]
    return _frame(_across(np.eye(3), z), z, point - (point @ z) * z)


def _next_frame(frame: Matrix, axis: AxisLine, following: AxisLine, file: str) -> Matrix:
    z, z_next = frame[:3, 2], following.direction
    point, target = frame[:3, 3], following.frame[:3, 3]
    cross = np.cross(z, z_next)
    sine = float(np.linalg.norm(cross))
    if sine < PARALLEL:
        away = (target - point) - ((target - point) @ z) * z
        apart = float(np.linalg.norm(away))
        x = away / apart if apart > TOUCHING_M else _kept_x(following, frame)
        return _frame(_small_turn(frame, x, following), z_next, target)
    if sine < NEARLY_PARALLEL:
        degrees = math.asin(sine) / DEG
        raise ConfigError(
            file,
            f"joint {following.name}: origin",
            f"an axis {degrees:.2g} deg off that of joint {axis.name}",
            f"parallel axes, or {math.asin(NEARLY_PARALLEL) / DEG:.2g} deg or more between them",
            "Write the angles with all their digits: a quarter turn is 1.5707963267948966",
        )
    x = cross / sine
    along = float((target - point) @ np.cross(x, z)) / sine
    origin = target - along * z_next
    return _frame(_small_turn(frame, x, following), z_next, origin)


def _last_frame(frame: Matrix, tip: Matrix) -> Matrix:
    """The tip itself where it can be a DH frame; else one on the last axis, with x as near to the tip's as can be."""
    z, x, away = frame[:3, 2], tip[:3, 0], tip[:3, 3] - frame[:3, 3]
    if abs(float(z @ x)) < KEPT and abs(float(away @ np.cross(z, x))) < TOUCHING_M:
        return tip
    return _frame(_across(tip, z), z, frame[:3, 3] + (away @ z) * z)


def _kept_x(following: AxisLine, frame: Matrix) -> Vector:
    """X of two axes in one line: that of the file if it fits, else no turn."""
    x: Vector = following.frame[:3, 0]
    return x if abs(float(x @ frame[:3, 2])) < KEPT else frame[:3, 0]


def _small_turn(frame: Matrix, x: Vector, following: AxisLine) -> Vector:
    """`x` or its opposite: the file's own if it is one of the two, else what turns least, then what points outwards."""
    own = float(x @ following.frame[:3, 0])
    if abs(own) > 1.0 - KEPT:
        return x if own > 0 else -x
    ahead = float(x @ frame[:3, 0])
    if abs(ahead) > KEPT:
        return x if ahead > 0 else -x
    outwards = float((following.frame[:3, 3] - frame[:3, 3]) @ x)
    return -x if outwards < -TOUCHING_M else x


def _across(axes: Matrix, z: Vector) -> Vector:
    """The first column that is not along `z`, made square to it and of length 1."""
    column = axes[:3, 0] if abs(float(axes[:3, 0] @ z)) < ALONG else axes[:3, 1]
    across = column - (column @ z) * z
    return np.asarray(across / np.linalg.norm(across))


def _frame(x: Vector, z: Vector, origin: Vector) -> Matrix:
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    matrix = np.eye(4)
    matrix[:3, 0], matrix[:3, 1], matrix[:3, 2], matrix[:3, 3] = x, np.cross(z, x), z, origin
    return matrix


def _row_between(frame: Matrix, aim: Matrix) -> DhRow:
    """Theta, d, a and alpha that lead from one DH frame to the next."""
    x, z, away = aim[:3, 0], frame[:3, 2], aim[:3, 3] - frame[:3, 3]
    theta = math.atan2(float(x @ frame[:3, 1]), float(x @ frame[:3, 0]))
    alpha = math.atan2(float(np.cross(z, aim[:3, 2]) @ x), float(z @ aim[:3, 2]))
    return DhRow(tidy(theta, DEG), tidy(float(away @ z), MM), tidy(float(away @ x), MM), tidy(alpha, DEG))
