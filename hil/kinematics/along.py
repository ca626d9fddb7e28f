"""The inverse along a way: many targets in a row, each in the posture of the one before.

Where an arm has its solutions in closed form they are worked out all at once, and looked at one by one only where that
posture ends: at a target out of reach, or beside a singular one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.kernels import yaw_pitch as equations
from hil.kernels.chain import IDENTITY, compose
from hil.kernels.scalar import ARRAYS, FloatArray
from hil.kernels.yaw_pitch_form import REACH_TOLERANCE_M
from hil.kinematics.certified import ACCEPTED_ERROR, AllSolutions
from hil.kinematics.limits import TURN
from hil.kinematics.pitch_target import IN_PLANE, tool_in_plane
from hil.kinematics.results import IkResult
from hil.kinematics.yaw_pitch import YawPitchArm

Flags = npt.NDArray[np.bool_]

STEP_RAD, STEP_M = math.radians(15.0), 20e-3
"""Most that a joint changes from one target to the next while its posture lasts."""

FEW = 3
"""Times that a posture may end before targets are taken one by one."""


class Targets(NamedTuple):
    """Where the tool shall be, N times.

    Attributes:
        points_m: tool points in the world, shape (N, 3).
        pitch_rad, roll_rad: as `Robot.inverse_kinematics_target` takes them, shape (N,) each; None leaves them open.
        rotations: whole orientations instead of pitch and roll, shape (N, 3, 3).
    """

    points_m: FloatArray
    pitch_rad: FloatArray | None = None
    roll_rad: FloatArray | None = None
    rotations: FloatArray | None = None

    def after(self, k: int) -> Targets:
        """Those from the k-th on."""
        pitch, roll, turned = (None if each is None else each[k:] for each in self[1:])
        return Targets(self.points_m[k:], pitch, roll, turned)

    def pose(self, k: int) -> FloatArray:
        """The k-th whole pose, (4, 4)."""
        assert self.rotations is not None
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self.rotations[k], self.points_m[k]
        return pose


class Followed(NamedTuple):
    """Joints along targets, as far as they go.

    Attributes:
        rows: shape (K, n); K is less than the number of targets if one cannot be reached.
        refusal: why the next one cannot; None if all can.
    """

    rows: FloatArray
    refusal: IkResult | None


Many = Callable[[Targets, FloatArray], FloatArray]
"""Rows for targets in the posture nearest to a seed, as far as that posture goes."""
One = Callable[[int, Sequence[float]], IkResult]


def follow(targets: Targets, seed: Sequence[float], turning: Sequence[bool], one: One, many: Many | None) -> Followed:
    """Joints along targets.

    Args:
        targets: N of them.
        seed: where the joints are before, shape (n,).
        turning: which joints turn.
        one: solutions of the k-th target near a seed.
        many: solutions of many at once; None where there is no closed form.
    """
    count = len(targets.points_m)
    rows = np.empty((count, len(seed)))
    turns = np.array(turning, dtype=bool)
    before = np.array(seed, dtype=np.float64)
    k = ended = 0
    while k < count:
        if many is not None and ended < FEW:
            found = many(targets.after(k), before)
            found = found[: _sound(found, before, turns)]
            if len(found):
                rows[k : k + len(found)] = found
                before = found[-1]
                k += len(found)
                continue
            ended += 1
        result = one(k, before.tolist())
        if not result.solutions:
            return Followed(rows[:k], result)
        rows[k] = before = nearest(result, before, turns)
        k += 1
    return Followed(rows, None)


def nearest(result: IkResult, before: FloatArray, turns: FloatArray | Sequence[bool]) -> FloatArray:
    """The solution nearest to where the joints were, by whole turns where that helps."""
    found = np.array([solution.q for solution in result.solutions])
    found = found + TURN * (np.round((before - found) / TURN) * turns)
    chosen: FloatArray = found[int(np.argmin(np.abs(found - before).max(axis=1)))]
    return chosen


def _sound(rows: FloatArray, before: FloatArray, turns: FloatArray) -> int:
    """How many of the rows follow each other without a jump."""
    if not len(rows):
        return 0
    steps = np.abs(np.diff(np.concatenate([before[None, :], rows]), axis=0))
    jumps = (steps > np.where(turns, STEP_RAD, STEP_M)).any(axis=1)
    return int(np.argmax(jumps)) if jumps.any() else len(rows)


def many_in_plane(arm: YawPitchArm, forward: Callable[[FloatArray], FloatArray]) -> Many:
    """For arms of a yaw axis and three pitch axes, targets with a pitch and a roll.

    Args:
        arm: its equations.
        forward: tool poses of rows, (N, 4, 4).
    """

    def many(targets: Targets, seed: FloatArray) -> FloatArray:
        return _in_plane(arm, forward, targets, seed)

    return many


def many_of_all(everything: Callable[[FloatArray], AllSolutions], turning: Sequence[bool]) -> Many:
    """For arms with a closed form, targets with a whole orientation."""

    def many(targets: Targets, seed: FloatArray) -> FloatArray:
        assert targets.rotations is not None
        poses = np.tile(np.eye(4), (len(targets.points_m), 1, 1))
        poses[:, :3, :3], poses[:, :3, 3] = targets.rotations, targets.points_m
        found = everything(poses)
        turns = np.array(turning, dtype=bool)
        return _nearest_course(np.moveaxis(found.q, 1, 0), found.valid.T, seed, turns)

    return many


def _in_plane(
    arm: YawPitchArm, forward: Callable[[FloatArray], FloatArray], targets: Targets, seed: FloatArray
) -> FloatArray:
    assert targets.pitch_rad is not None
    form = arm.form
    roll = (
        np.full(len(targets.points_m), seed[4] if form.roll else 0.0) if targets.roll_rad is None else targets.roll_rad
    )
    theta5 = 0.0 * roll if form.roll is None else form.roll.theta + form.roll.sign * roll
    tool = tool_in_plane(arm, theta5, ARRAYS)
    axis = _axis_angle(tool)
    if axis is None:
        return np.empty((0, len(seed)))
    place = compose(form.base_inverse, (*IDENTITY[:9], *targets.points_m.T))
    tail = (tool[9], tool[10])
    across = form.across_m - form.plane.y_along_yaw * tool[11]
    upwards = form.plane.y_along_yaw * form.up
    courses, valid = [], []
    for side in (1.0, -1.0):
        theta1, out = equations.yaw_angle(place[9], place[10], across, side, ARRAYS)
        phi = np.arctan2(upwards * np.sin(targets.pitch_rad), side * np.cos(targets.pitch_rad)) - axis
        x, y = equations.plane_coordinates(form.plane, out, place[11])
        for bend in (-1.0, 1.0):
            *pitches, squared = equations.pitch_angles(form.plane, x, y, phi, tail, bend, ARRAYS)
            reached = np.asarray(equations.overshoot(form.plane, squared, ARRAYS)) <= REACH_TOLERANCE_M
            rows = [
                (theta - row.theta) * row.sign for theta, row in zip((theta1, *pitches), form.chain.rows, strict=False)
            ]
            rows += [roll] if form.roll is not None else []
            courses.append(np.stack(np.broadcast_arrays(*rows), axis=-1))
            valid.append(np.broadcast_to(reached, roll.shape))
    best = _nearest_course(np.array(courses), np.array(valid), seed, np.ones(len(seed), dtype=bool))
    if not len(best):
        return best
    error = np.linalg.norm(forward(best)[:, :3, 3] - targets.points_m[: len(best)], axis=1)
    wrong = error > ACCEPTED_ERROR
    return best[: int(np.argmax(wrong))] if wrong.any() else best


def _axis_angle(tool: Sequence[object]) -> FloatArray | None:
    """Plane angle of the tool axis, its z or else its x; None where neither stays in the plane."""
    frame = [np.asarray(value) for value in tool]
    if np.abs(frame[8]).max() < IN_PLANE:
        return np.asarray(np.arctan2(frame[7], frame[6]))
    return np.asarray(np.arctan2(frame[1], frame[0])) if np.abs(frame[2]).max() < IN_PLANE else None


def _nearest_course(
    courses: FloatArray, valid: npt.NDArray[np.bool_], seed: FloatArray, turns: FloatArray
) -> FloatArray:
    """Of several postures (k, N, n) that which begins nearest to the seed, as far as it goes."""
    first = courses[:, 0] + TURN * (np.round((seed - courses[:, 0]) / TURN) * turns)
    away = np.where(valid[:, 0], np.abs(first - seed).max(axis=1), math.inf)
    slot = int(np.argmin(away))
    if not math.isfinite(away[slot]):
        return np.empty((0, len(seed)))
    course, reached = courses[slot], valid[slot]
    sound = len(course) if reached.all() else int(np.argmin(reached))
    rows = course[:sound].copy()
    rows[:, turns] = np.unwrap(rows[:, turns], axis=0)
    moved: FloatArray = rows + (first[slot] - rows[0])
    return moved
