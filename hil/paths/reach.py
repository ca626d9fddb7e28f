"""Which points of a curve an arm reaches, and the nearest place for the curve at which it reaches all of them.

Nothing is clipped: what cannot be reached is counted, and told with its distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from hil.kernels.scalar import FloatArray
from hil.kinematics.limits import range_of
from hil.robot import Robot
from hil.units import DEG

INSIDE_M = 1e-5
"""How far inside what the lengths allow the nearest place is."""

MOST_PLANES = 200
MOST_PLACES, FEW_POINTS = 200, 40
FARTHEST_M = 10.0
TIGHT_M = 1e-9
LEAST_SCALE = 0.05
"""A curve that is made smaller than this is another curve."""
STEPS_TO_MIDDLE = 20
HALVINGS = 10
TURN_STEP_DEG = 2.0
MOST_FROM_MIDDLE = 2.0
"""Radians, or metres, of a joint whose range is wide or has no end."""


class Reach(NamedTuple):
    """What an arm makes of N points, with the tool's pitch free where it has one.

    Attributes:
        gaps_m: how far each is outside what the lengths allow; 0 inside.
        q: joint coordinates within limits, shape (N, n); NaN where there are none.
        reasons: why a point is not reached; empty where it is.
    """

    gaps_m: FloatArray
    q: FloatArray
    reasons: tuple[str, ...]

    @property
    def share_of_lengths(self) -> float:
        """Share of points that the lengths allow, 0 to 1."""
        return float(np.mean(self.gaps_m <= 0.0))

    @property
    def reached(self) -> tuple[bool, ...]:
        """For each point, whether lengths and limits allow it."""
        return tuple(not reason for reason in self.reasons)

    @property
    def share(self) -> float:
        """Share of points that are reached, 0 to 1."""
        return float(np.mean(self.reached))

    @property
    def first_outside(self) -> int | None:
        """Index of the first point that is not reached."""
        return next((k for k, reason in enumerate(self.reasons) if reason), None)


class Nearest(NamedTuple):
    """A change of place after which all points are reached; about the middle of the points, then the shift.

    Attributes:
        shift_m: how far to move them.
        turn_deg: about the vertical through their middle, before.
        scale: about their middle, first.
        of_lengths_alone: the shift is the smallest that the lengths ask for; else limits of joints asked for more.
    """

    shift_m: FloatArray
    turn_deg: float = 0.0
    scale: float = 1.0
    of_lengths_alone: bool = True


def gaps_m(arm: Robot, points_m: FloatArray) -> FloatArray:
    """How far each point is outside what the lengths allow; quick."""
    return np.array([arm.reach_gap_m(point) for point in points_m.tolist()])


def reach_of(arm: Robot, points_m: FloatArray) -> Reach:
    """Each point by the arm's inverse, with its pitch free, near the joints of the point before.

    Args:
        arm: any.
        points_m: shape (N, 3).
    """
    gaps, q, reasons = gaps_m(arm, points_m), np.full((len(points_m), arm.dof), np.nan), []
    seed = None
    for k, point in enumerate(points_m.tolist()):
        result = arm.inverse_kinematics_target(point, seed=seed)
        if result.best is None:
            reasons.append(result.reason)
        else:
            reasons.append("")
            q[k] = seed = result.best.q
    return Reach(gaps, q, tuple(reasons))


def reaches_all(arm: Robot, points_m: FloatArray) -> bool:
    """Whether every point is reached; stops at the first that is not."""
    if gaps_m(arm, points_m).max() > 0.0:
        return False
    seed = None
    for point in points_m.tolist():
        best = arm.inverse_kinematics_target(point, seed=seed).best
        if best is None:
            return False
        seed = best.q
    return True


def nearest_shift(arm: Robot, points_m: FloatArray) -> Nearest | None:
    """The smallest shift that the lengths ask for, and as much farther towards the middle as limits of joints do.

    Returns:
        None where no shift is found: the curve is too large, or the joints' limits cut the room.
    """
    shift_m = _shift_of_lengths(arm, points_m)
    if shift_m is None:
        return None
    if reaches_all(arm, points_m + shift_m):
        return Nearest(shift_m)
    middle_m = _roomy_middle(arm, points_m) - points_m.mean(axis=0)

    def at(share: float) -> FloatArray:
        between: FloatArray = (1.0 - share) * shift_m + share * middle_m
        return between

    shares = np.linspace(0.0, 1.0, STEPS_TO_MIDDLE + 1)[1:]
    good = next((float(share) for share in shares if reaches_all(arm, points_m + at(share))), None)
    if good is None:
        return None
    low = good - 1.0 / STEPS_TO_MIDDLE
    for _ in range(HALVINGS):
        half = 0.5 * (low + good)
        low, good = (low, half) if reaches_all(arm, points_m + at(half)) else (half, good)
    return Nearest(at(good), of_lengths_alone=False)


def nearest_turn(arm: Robot, points_m: FloatArray) -> Nearest | None:
    """The smallest turn about the vertical through the middle that does without a shift; None where none does."""
    for step in range(int(180.0 / TURN_STEP_DEG) + 1):
        for turn_deg in sorted({step * TURN_STEP_DEG, -step * TURN_STEP_DEG}):
            if reaches_all(arm, changed(points_m, Nearest(np.zeros(3), turn_deg=turn_deg))):
                return Nearest(np.zeros(3), turn_deg=turn_deg, of_lengths_alone=False)
    return None


def nearest_scale(arm: Robot, points_m: FloatArray) -> Nearest | None:
    """The largest scale below 1 with which some shift does; None where not even a twentieth does."""
    low, good = LEAST_SCALE, None
    found = _with_scale(arm, points_m, low)
    if found is None:
        return None
    good, high = found, 1.0
    for _ in range(HALVINGS):
        half = 0.5 * (low + high)
        tried = _with_scale(arm, points_m, half)
        if tried is None:
            high = half
        else:
            low, good = half, tried
    return good


def changed(points_m: FloatArray, change: Nearest) -> FloatArray:
    """The points after a change of place."""
    middle = points_m.mean(axis=0)
    cosine, sine = np.cos(change.turn_deg * DEG), np.sin(change.turn_deg * DEG)
    turn = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    moved: FloatArray = change.scale * (points_m - middle) @ turn.T + middle + change.shift_m
    return moved


def _with_scale(arm: Robot, points_m: FloatArray, scale: float) -> Nearest | None:
    found = nearest_shift(arm, changed(points_m, Nearest(np.zeros(3), scale=scale)))
    return None if found is None else found._replace(scale=scale)


def _shift_of_lengths(arm: Robot, points_m: FloatArray) -> FloatArray | None:
    """Cutting planes: each worst point says how far to go at least along its own direction.

    What the lengths allow is a ball (for an arm whose shoulder stands on its first axis), so the set of good shifts is
    convex, and the shortest shift of all planes that were found is never longer than the one that is looked for.
    """
    shift = np.zeros(3)
    planes: list[tuple[FloatArray, float]] = []
    for _ in range(MOST_PLANES):
        gaps = gaps_m(arm, points_m + shift)
        worst = int(np.argmax(gaps))
        if gaps[worst] <= 0.0:
            return shift
        normal = _inwards(arm, points_m[worst] + shift, float(gaps[worst]))
        if normal is None:
            return None
        planes.append((normal, float(normal @ shift + gaps[worst] + INSIDE_M)))
        found = _shortest(planes)
        if found is None or np.linalg.norm(found) > FARTHEST_M:
            return None
        shift = found
        planes = [plane for plane in planes if plane[0] @ shift <= plane[1] + TIGHT_M]
    return None


def _inwards(arm: Robot, point_m: FloatArray, gap_m: float) -> FloatArray | None:
    """Direction in which the gap closes fastest."""
    step = 1e-6
    slope: FloatArray = np.array([arm.reach_gap_m((point_m + step * axis).tolist()) - gap_m for axis in np.eye(3)])
    slope /= step
    size = float(np.linalg.norm(slope))
    inwards: FloatArray = -slope / max(size, 1e-12)
    return None if size < 1e-3 else inwards


def _shortest(planes: Sequence[tuple[FloatArray, float]]) -> FloatArray | None:
    """The shortest vector on the far side of all planes (normal, distance); None where there is none.

    Three of them hold it at most, so every one, two and three are tried.
    """
    normals, needed = np.array([plane[0] for plane in planes]), np.array([plane[1] for plane in planes])
    for size in (1, 2, 3):
        for chosen in map(list, combinations(range(len(planes)), size)):
            rows = normals[chosen]
            squares = rows @ rows.T
            if np.linalg.det(squares) < 1e-12:
                continue
            pushes = np.linalg.solve(squares, needed[chosen])
            vector: FloatArray = pushes @ rows
            if pushes.min() >= 0.0 and (normals @ vector >= needed - TIGHT_M).all():
                return vector
    return None


def _roomy_middle(arm: Robot, points_m: FloatArray) -> FloatArray:
    """Where the middle of the points has most room: tried at places with every joint well inside its limits."""
    ranges = [range_of(joint) for joint in arm.model.joints]
    thirds = np.array([-0.5, 0.0, 0.5])
    values = [limits.middle + thirds * min(limits.half_width, MOST_FROM_MIDDLE) for limits in ranges]
    grid = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, arm.dof)
    places = np.unique(np.round(arm.forward_kinematics(grid)[:, :3, 3], 4), axis=0)
    middle = points_m.mean(axis=0)
    places = places[np.argsort(np.linalg.norm(places - middle, axis=1), kind="stable")][:MOST_PLACES]
    few = points_m[:: -(-len(points_m) // FEW_POINTS)] - middle
    outside = [float(np.sum(gaps_m(arm, few + place))) for place in places]
    roomiest: FloatArray = places[int(np.argmin(outside))]
    return roomiest
