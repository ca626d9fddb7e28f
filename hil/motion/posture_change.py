"""Where a path is interrupted for another posture: the arm rests on it, takes the posture, and goes on from there.

A posture may end on a path (a joint at its limit, a turn of the base) or come near to a singular one where a joint has
to race. Another posture of the arm with the tool at the same place may go on. Which, and where to change, is looked for
here; the way from one to the other is a joint move, on which the tool leaves its place and comes back to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hil.kinematics.along import STEP_M, STEP_RAD, Targets
from hil.link import FloatArray
from hil.model.rig import Axis, AxisKind, Rig
from hil.motion.joint_runs import joint_run
from hil.motion.motion import STILL, Motion
from hil.motion.path_wish import PathWish
from hil.motion.refusals import Spot, beyond_soft_limits
from hil.motion.trace import SLOW_DOWN
from hil.motion.whole_turns import within_a_turn
from hil.paths.orientation import Orientation
from hil.paths.part import OrientationPart, PathPart
from hil.paths.path import Path
from hil.robot import Robot
from hil.units import DEG, MM

CHANGED = "another posture"
"""Label of the samples in which one is taken on a path, before its place and what it costs."""

STEP_ALONG_M, LEAST_PLACES, MOST_PLACES = 1e-3, 96, 1000
"""How finely a path is looked at."""

MOST_CHANGES = 4

OTHER_RAD, OTHER_M = 1.0 * DEG, 1.0 * MM
"""Postures of which no joint differs by more are one."""

KEPT_FOR = 0.8
"""Part of the slowing down before a singular posture that a posture may take here: a plan looks at it more finely."""


class Stop(NamedTuple):
    """A rest on a path, and the posture to go on in.

    Attributes:
        at_m: length at which it is; 0 before the path begins.
        before: joints with which the arm comes to rest there.
        joints: of the other posture, the tool where it is.
    """

    at_m: float
    before: FloatArray
    joints: FloatArray


class Change(NamedTuple):
    """Another posture, taken at rest on a path.

    Attributes:
        at_m: length at which the arm rests for it.
        rows: positions of every axis from the one posture to the other, shape (K + 1, n_axes).
        seconds: that it takes.
        away_m: how far the tool is off its place on the way, at most.
    """

    at_m: float
    rows: FloatArray
    seconds: float
    away_m: float

    @property
    def cost(self) -> str:
        """In words."""
        return f"in {self.seconds:.1f} s, the tool up to {self.away_m / MM:.0f} mm off its place"


def changes_on(rig: Rig, robot: Robot, start: FloatArray, wish: PathWish, spot: Spot) -> list[Change] | None:
    """Where a path is interrupted for another posture, and by which way; None where that does not help.

    Args:
        rig: limits and period.
        robot: kinematics of `rig.robot`.
        start: position of every axis before the path, shape (n_axes,).
        wish: which path, and how.
        spot: where it begins in the motion.

    Raises:
        RefusedError: the way to another posture takes too long.
    """
    dof = robot.dof
    stops = stops_on(rig, robot, start[:dof], wish.path, wish.orientation, wish.tolerance_m)
    if stops is None:
        return None
    changes = []
    for stop in stops:
        before, after = start.copy(), start.copy()
        before[:dof], after[:dof] = stop.before, stop.joints
        rows = joint_run(rig, robot, before, after, wish.effort, spot)
        points = robot.forward_kinematics(rows[:, :dof])[:, :3, 3]
        away_m = float(np.linalg.norm(points - points[0], axis=1).max())
        changes.append(Change(stop.at_m, rows, (len(rows) - 1) * rig.period_s, away_m))
    return changes


def changed_words(wish: PathWish, change: Change) -> str:
    """What a preview says of a change: the place, and what it costs."""
    x, y, z = wish.point_m(change.at_m / wish.length_m) / MM
    part = 100.0 * change.at_m / wish.length_m
    return f"{CHANGED} at ({x:z.1f}, {y:z.1f}, {z:z.1f}) mm, {part:.0f} % of the {wish.noun}: {change.cost}"


def changes_of(motion: Motion) -> list[str]:
    """Each change in a planned motion, by step, place and cost."""
    return [
        f"step {mark.step}: {mark.label}"
        for mark in motion.marks
        if mark.kind == "solution" and mark.label.startswith(f"{CHANGED} at ")
    ]


def part_of(wish: PathWish, first_m: float, last_m: float) -> PathWish:
    """The same wish for a part of its path, in one posture."""
    hand = OrientationPart(wish.orientation, wish.path, first_m, last_m)
    return wish._replace(path=PathPart(wish.path, first_m, last_m), orientation=hand, singularity="refuse")


class _Course(NamedTuple):
    """A posture followed from one place on: joints as far as it goes soundly."""

    rows: FloatArray
    last: int


def stops_on(
    rig: Rig, robot: Robot, start: FloatArray, path: Path, hand: Orientation, tolerance_m: float
) -> list[Stop] | None:
    """Where to change the posture so that all of a path can be gone; None where no change of it does.

    Args:
        rig: limits.
        robot: kinematics of `rig.robot`.
        start: joints before the path, shape (dof,).
        path: geometry.
        hand: how the tool is turned on it.
        tolerance_m: how far the tool may be off it.
    """
    search = _Search(rig, robot, path, hand, tolerance_m)
    stops: list[Stop] = []
    k, joints = 0, start
    for _ in range(MOST_CHANGES + 1):
        here = search.course(k, joints)
        if here.last == search.end:
            return stops
        found = search.best_change(k, here)
        if found is None:
            return None
        place, other = found
        stops.append(Stop(float(search.at_m[place]), here.rows[place - k], other))
        k, joints = place, other
    return None


class _Search:
    """Postures along one path."""

    def __init__(self, rig: Rig, robot: Robot, path: Path, hand: Orientation, tolerance_m: float) -> None:
        count = min(max(math.ceil(path.length_m / STEP_ALONG_M), LEAST_PLACES), MOST_PLACES)
        self.end = count
        self.at_m = np.linspace(0.0, path.length_m, count + 1)
        self._robot, self._path, self._tolerance_m = robot, path, tolerance_m
        self._targets: Targets = hand.targets(path, self.at_m)
        self._axes: tuple[Axis, ...] = tuple(rig.axes[: robot.dof])
        self._speeds = np.array([axis.speed for axis in self._axes])
        self._tool_speed_m_s = rig.tool_speed_m_s
        turns = np.array([axis.kind is AxisKind.REVOLUTE for axis in self._axes])
        self._steps, self._other = np.where(turns, STEP_RAD, STEP_M), np.where(turns, OTHER_RAD, OTHER_M)
        self._lower = np.array([axis.lower + axis.soft_margin for axis in self._axes])
        self._upper = np.array([axis.upper - axis.soft_margin for axis in self._axes])

    def course(self, k: int, joints: FloatArray) -> _Course:
        """Followed from the k-th place on; `last` is the last sound one, k - 1 where not even that is."""
        rows = self._robot.inverse_kinematics_along(self._targets.after(k), joints.tolist()).rows
        if not len(rows) or (np.abs(rows[0] - joints) > self._other).any():
            return _Course(rows[:0], k - 1)
        bad = ((rows < np.minimum(self._lower, joints)) | (rows > np.maximum(self._upper, joints))).any(axis=1)
        if len(rows) > 1:
            steps = np.abs(np.diff(rows, axis=0))
            paces = (float(self.at_m[1]) * self._speeds / np.maximum(steps, STILL)).min(axis=1)
            best = min(self._tool_speed_m_s, float(paces.max()))
            middle = 0.5 * (self.at_m[k + 1 : k + len(rows)] + self.at_m[k : k + len(rows) - 1])
            between = self._robot.forward_kinematics(0.5 * (rows[1:] + rows[:-1]))[:, :3, 3]
            off = np.linalg.norm(between - self._path.points_m(middle), axis=1)
            bad[1:] |= (steps > self._steps).any(axis=1) | (off > max(self._tolerance_m, 1.0 * MM))
            bad[1:] |= paces * SLOW_DOWN * KEPT_FOR < best
        sound = int(np.argmax(bad)) if bad.any() else len(rows)
        return _Course(rows[:sound], k + sound - 1)

    def best_change(self, k: int, here: _Course) -> tuple[int, FloatArray] | None:
        """Place and joints of the change that leads farthest, of those the quickest; None where none leads farther."""
        best: tuple[int, float, int, FloatArray] | None = None
        for place in _places(k, here.last):
            now = here.rows[place - k]
            for other in self._others(now):
                last = self.course(place, other).last
                cost = float((np.abs(other - now) / self._speeds).max())
                if last > here.last and (best is None or (last, -cost) > best[:2]):
                    best = (last, -cost, place, other)
        return None if best is None else best[2:]

    def _others(self, now: FloatArray) -> Iterator[FloatArray]:
        """Other postures with the tool where it is, inside the soft limits."""
        seen: list[FloatArray] = [now]
        for solution in self._robot.inverse_kinematics(self._robot.forward_kinematics(now)).solutions:
            for q in (np.array(solution.q), np.array(within_a_turn(self._axes, solution.q))):
                known = any((np.abs(q - each) <= self._other).all() for each in seen)
                if not known and not beyond_soft_limits(self._axes, q.tolist(), ""):
                    seen.append(q)
                    yield q


def _places(first: int, last: int) -> Iterator[int]:
    """Places to change at: from the last sound one back, at first in small steps, and the first of all."""
    back = 1
    while last - back > first:
        yield last - back
        back *= 2
    if last >= first:
        yield first
