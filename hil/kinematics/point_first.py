"""Inverse kinematics of arms that cannot take any orientation: the point exactly, the orientation as near as can be.

Newton steps: what the point needs first, and in the freedom that is left what turns the tool towards the orientation
(task priority; Siciliano et al., Robotics, 2009, 3.5.1). From a pose that the arm has, a small way along any
line gives one answer, and the way back leads to where it began.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from hil.kinematics.limits import TOLERANCE, Range, result_of, violation
from hil.kinematics.poses import rotation_vector
from hil.kinematics.results import IkResult, IkSolution
from hil.link import FloatArray

POINT_M = 1e-10
STEP = 1e-9
"""A step of the joints that changes nothing any more, rad or m."""
MOST_STEPS = 60
LONGEST_STEP = 0.2
LOST = 1e-12
"""Part of the squares that keeps an inverse finite where a direction is lost; the steps that follow mend it."""
TINY = 1e-30


def solve(
    forward: Callable[[Sequence[float]], FloatArray],
    jacobian: Callable[[Sequence[float]], FloatArray],
    ranges: Sequence[Range],
    pose: FloatArray,
    seed: Sequence[float],
) -> IkResult:
    """Joint coordinates for a point, and how far the orientation stays away from the pose's.

    Args:
        forward: tool pose of joint coordinates, (4, 4).
        jacobian: geometric Jacobian in the world, (6, n), linear rows first.
        ranges: limits of the joints.
        pose: wanted, (4, 4), metres.
        seed: where the search starts, shape (n,).

    Returns:
        One solution in the posture of the seed; its `error` is that of the point, in metres. Or none, with the
        distance to which the point was approached.
    """
    q = np.array(seed, dtype=np.float64)
    nearest_m = math.inf
    for count in range(1, MOST_STEPS + 1):
        at = forward(q.tolist())
        gap = pose[:3, 3] - at[:3, 3]
        apart_m = float(np.linalg.norm(gap))
        nearest_m = min(nearest_m, apart_m)
        step = _step(jacobian(q.tolist()), gap, _turn(at, pose))
        longest = float(np.abs(step).max())
        if apart_m <= POINT_M and longest <= STEP:
            return _found(q, apart_m, ranges, seed, count)
        q += step * min(1.0, LONGEST_STEP / longest) if longest > 0.0 else 0.0
        if longest == 0.0:
            break
    if nearest_m <= POINT_M:
        # The point is held; what the tool still turns by is no more than the search can tell.
        return _found(q, nearest_m, ranges, seed, MOST_STEPS)
    reason = "the tool's point cannot be brought there from this posture"
    return IkResult(reason=reason, distance_m=nearest_m, iterations=MOST_STEPS)


def _found(q: FloatArray, error_m: float, ranges: Sequence[Range], seed: Sequence[float], count: int) -> IkResult:
    inside = all(violation(value, limits) <= TOLERANCE for value, limits in zip(q.tolist(), ranges, strict=True))
    solution = IkSolution(q=tuple(q.tolist()), within_limits=inside, branch="", error=error_m)
    return msgspec.structs.replace(result_of([solution], ranges, seed), iterations=count)


def turned_away_rad(at: FloatArray, pose: FloatArray) -> float:
    """The angle between the orientations of two poses, (4, 4) each."""
    return float(np.linalg.norm(_turn(at, pose)))


def _step(jacobian: FloatArray, gap: FloatArray, turn: FloatArray) -> FloatArray:
    """Joints for the point, and in what is free beside it for the orientation."""
    point, angular = jacobian[:3], jacobian[3:]
    onto = _inverse(point, point)
    first = onto @ gap
    within = angular - (angular @ onto) @ point
    second = _inverse(within, angular) @ (turn - angular @ first)
    step: FloatArray = first + second - onto @ (point @ second)
    return step


def _inverse(rows: FloatArray, beside: FloatArray) -> FloatArray:
    """Right inverse of three rows, (n, 3); a direction that they lack, beside the size of others, gives nothing."""
    square = rows @ rows.T + np.eye(3) * (LOST * float((beside * beside).sum()) + TINY)
    inverse = np.linalg.solve(square, rows).T
    return np.asarray(inverse, dtype=np.float64)


def _turn(at: FloatArray, pose: FloatArray) -> FloatArray:
    """Rotation vector in the world that turns one orientation into the other."""
    return np.array(rotation_vector((pose[:3, :3] @ at[:3, :3].T).tolist()))
