"""Straight ways in joint space, from rest to rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion.motion import STILL
from hil.motion.profiles import HEADROOM, axis_limits, rest_to_rest, run_time_s, usage
from hil.motion.refusals import Spot, refused, require_time
from hil.paths.classical import Profile, fractions
from hil.refusal import Refusal
from hil.robot import Robot
from hil.units import DEG, MM

SWEEP_RAD, SWEEP_M = 2.0 * DEG, 5.0 * MM
LEAST_SWEEP = 16
CLASSICAL_TRIES = 40
"""How finely the tool's speed is looked at along a joint move."""

ARC_OVER_CHORD = 1.001
"""A chord of the tool's path between two such points is shorter than the path by less than this."""


def joint_runs(rig: Rig, robot: Robot, places: Sequence[FloatArray], effort: float, spot: Spot) -> FloatArray:
    """Samples from place to place, at rest at each of them; row 0 is the first place."""
    blocks = [places[0][None, :]]
    for start, goal in pairwise(places):
        if len(blocks) > 1:
            blocks[-1] = at_corner(rig, blocks[-1])
        before = sum(map(len, blocks)) - 1
        blocks.append(joint_run(rig, robot, start, goal, effort, spot._replace(first=spot.first + before))[1:])
    return np.concatenate(blocks)


def at_corner(rig: Rig, rows: FloatArray) -> FloatArray:
    """With the rest that a controller of few targets needs at the end of a step, or it would cut the corner."""
    pace = rig.controller.pace
    if pace is None or not len(rows):
        return rows
    return np.concatenate([rows, np.repeat(rows[-1:], math.ceil(pace.longest_s / rig.period_s), axis=0)])


def joint_run(rig: Rig, robot: Robot, start: FloatArray, goal: FloatArray, effort: float, spot: Spot) -> FloatArray:
    """Samples of a straight way in joint space, all axes starting and ending together; row 0 is `start`."""
    way = goal - start
    if not way.any():
        return start[None, :].copy()
    size = np.maximum(np.abs(way), STILL)
    speed, acceleration, jerk = (float((limit / size).min()) * effort * HEADROOM for limit in axis_limits(rig))
    pace = _tool_pace(rig, robot, start, way)
    if pace > 0.0:
        speed = min(speed, rig.tool_speed_m_s * HEADROOM / pace)
    require_time(spot, run_time_s(1.0, speed, acceleration, jerk))
    fractions = rest_to_rest(1.0, speed, acceleration, jerk, rig.period_s)
    rows = start + fractions[:, None] * way
    rows[-1] = goal
    return rows


class Classical(NamedTuple):
    """A textbook's profile for a joint move: its duration and the length of its blends, where the file gives them."""

    profile: Profile
    seconds: float | None
    blend_s: float | None


def classical_run(
    rig: Rig, robot: Robot, start: FloatArray, goal: FloatArray, effort: float, wanted: Classical, spot: Spot
) -> FloatArray:
    """The same straight way with a textbook's course in time; as short as the limits allow where no duration is given.

    Raises:
        CommandError: the blends are longer than the whole.
        RefusedError: the duration asked for is too short.
    """
    way = goal - start
    if not way.any():
        return start[None, :].copy()
    seconds = wanted.seconds or max(float((np.abs(way) / axis_limits(rig)[0]).max()), 2.0 * (wanted.blend_s or 0.0))
    for _ in range(CLASSICAL_TRIES):
        require_time(spot, seconds)
        rows: FloatArray = start + fractions(wanted.profile, seconds, rig.period_s, wanted.blend_s)[:, None] * way
        rows[-1] = goal
        speed, acceleration, jerk = usage(rig, rows).max(axis=1) / effort / HEADROOM
        points = robot.forward_kinematics(rows[:, : robot.dof])[:, :3, 3]
        travel = float(np.linalg.norm(np.diff(points, axis=0), axis=1).max())
        tool = travel / (rig.period_s * rig.tool_speed_m_s * HEADROOM)
        over = max(speed, tool, math.sqrt(acceleration), math.sqrt(jerk))
        if over <= 1.0:
            return rows
        if wanted.seconds is not None:
            break
        seconds = math.ceil(seconds * max(over, 1.001) / rig.period_s) * rig.period_s
    refusal = Refusal(
        check="E-03",
        subject="joint move",
        limit=f"speed, acceleration and jerk: a {wanted.profile} motion in {seconds:.2f} s would need {over:.2f} times "
        "the time",
        margin=1.0 - over,
        unit="times the limit",
        nearest_allowed=f"about {seconds * over:.2f} s",
        advice="Leave seconds out: the move is then as short as the limits allow.",
    )
    raise refused([refusal], spot)


def _tool_pace(rig: Rig, robot: Robot, start: FloatArray, way: FloatArray) -> float:
    """Most metres of tool travel per whole way."""
    joints = way[: robot.dof]
    fine = [SWEEP_RAD if axis.kind is AxisKind.REVOLUTE else SWEEP_M for axis in rig.axes[: robot.dof]]
    count = max(LEAST_SWEEP, math.ceil(float((np.abs(joints) / fine).max())))
    fractions = np.linspace(0.0, 1.0, count + 1)
    points = robot.forward_kinematics(start[: robot.dof] + fractions[:, None] * joints)[:, :3, 3]
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).max()) * count * ARC_OVER_CHORD
