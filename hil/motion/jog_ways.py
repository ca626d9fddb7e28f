"""Ways of a jog, of single axes or of the tool, as a length from 0, and where on them a change of the joints leads.

A way is followed by changes of the joints and not by lengths: in front of a singular posture (arm straight) a
length of nothing is a large change of the joints, and out of one the joints still move evenly. Changes are
measured in seconds, the time that they would take at the speeds allowed: the root of the sum of the squares of
change over speed, so that one second a second keeps every speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from hil.errors import CommandError
from hil.kinematics.point_first import turned_away_rad
from hil.kinematics.results import IkResult
from hil.link import FloatArray
from hil.refusal import Refusal
from hil.robot import Robot
from hil.types import JogFrame, ToolJog
from hil.units import DEG, MM

FULL_POSE_AXES = 6
"""From so many joints on an arm takes any orientation."""

CLOSE = 1e-11
"""Seconds by which a change of the joints may differ from the one asked for."""

CLOSE_ENOUGH = 1e-8
"""The same where inverse kinematics by iteration gives no better."""

SAME = 1e-6
"""Part by which two solutions may differ in nearness and count as equally near."""

FIRST_CHANGE_RAD = 1e-4
"""Whoever looks ahead from a start begins with so little, so that all agree on which way the joints go."""

TURNED_RAD = 1e-6
"""A tool that is turned is turned so far, to this; an arm of few axes cannot turn about every axis."""

ROUGHLY = 0.2
NARROW = 1e-15
MOST_TRIES = 90
TRY_AXIS_RAD, TRY_LINE_M = 1.0 * DEG, 1.0 * MM

OUT_LINE_M, OUT_TURN_RAD = 0.5 * MM, 0.5 * DEG
OUT_CHANGE_RAD = 20.0 * DEG
"""A direction leads out of a place if so short a way along it takes no larger change of any joint."""


class Way(Protocol):
    """Positions of every axis as a function of the length along a way.

    Attributes:
        end: length at which it ends; infinite while held.
        first: a length to try first.
        straight: True if the joints move in fixed proportion.
        refusal: why the last `at` that gave nothing did so.
    """

    end: float
    first: float
    straight: bool
    refusal: Refusal | None

    def at(self, length: float, near: FloatArray) -> FloatArray | None:
        """Positions there, in the posture of `near`; None if there are none."""
        ...


class AxisWay:
    """Single axes by given amounts, straight in joint space: lengths from 0 to 1."""

    straight = True
    end, first = 1.0, 0.01

    def __init__(self, start: FloatArray, amounts: FloatArray) -> None:
        self._start, self._amounts = start, amounts
        self.refusal: Refusal | None = None

    def at(self, length: float, near: FloatArray) -> FloatArray | None:
        """Positions there."""
        positions: FloatArray = self._start + length * self._amounts
        return positions


class ToolWay:
    """The tool along one direction, and turning with it: lengths in metres, or radians where it only turns.

    Args:
        robot: kinematics.
        start: position of every axis at length 0; the gripper keeps its.
        move: direction; its size is the length at which a step ends.
        step: False for a way without an end.

    Raises:
        CommandError: the arm cannot turn its tool so.
    """

    straight = False

    def __init__(self, robot: Robot, start: FloatArray, move: ToolJog, *, step: bool) -> None:
        size = size_of(move)
        self._robot, self._start = robot, start
        self.end = size if step else math.inf
        self.first = TRY_LINE_M if any(move.linear) else TRY_AXIS_RAD
        self.refusal: Refusal | None = None
        pose = robot.forward_kinematics(start[: robot.dof])
        self._pose = pose
        turned = pose[:3, :3] if move.frame is JogFrame.TOOL else np.eye(3)
        self._line = turned @ np.array(move.linear) / size
        if robot.has_pitch_and_roll:
            self._inverse = self._by_pitch(move, size)
        else:
            self._inverse = self._by_pose(move, turned, size)

    def _by_pitch(self, move: ToolJog, size: float) -> Callable[[float, list[float]], IkResult]:
        if any(move.turn):
            raise CommandError(
                f"{self._robot.name} cannot turn its tool about any axis; allowed: pitch and roll",
                value=move.turn,
                allowed="pitch, roll",
            )
        begin = self._robot.tool_target(self._start[: self._robot.dof].tolist())
        if begin.roll_rad is None and move.roll:
            raise CommandError(f"{self._robot.name} has no roll joint: leave the roll out", value=move.roll)
        pitch, roll = move.pitch / size, move.roll / size

        def inverse(length: float, seed: list[float]) -> IkResult:
            point = (self._pose[:3, 3] + length * self._line).tolist()
            rolled = None if begin.roll_rad is None else begin.roll_rad + length * roll
            return self._robot.inverse_kinematics_target(point, begin.pitch_rad + length * pitch, rolled, seed)

        return inverse

    def _by_pose(self, move: ToolJog, turned: FloatArray, size: float) -> Callable[[float, list[float]], IkResult]:
        if move.pitch or move.roll:
            raise CommandError(
                f"{self._robot.name} has no pitch and roll of its own; allowed: x, y, z and turns about x, y, z",
                value=move,
            )
        any_pose = self._robot.dof >= FULL_POSE_AXES
        turn = turned @ np.array(move.turn) / size

        def inverse(length: float, seed: list[float]) -> IkResult:
            pose = np.eye(4)
            pose[:3, 3] = self._pose[:3, 3] + length * self._line
            pose[:3, :3] = rotation_of(length * turn) @ self._pose[:3, :3]
            return self._robot.inverse_kinematics(pose, seed) if any_pose else self._point_first(pose, seed, turn)

        return inverse

    def _point_first(self, pose: FloatArray, seed: list[float], turn: FloatArray) -> IkResult:
        """An arm of fewer axes is led by its point, turning its tool as little as it can; a turn is made or refused."""
        found = self._robot.inverse_kinematics_point_first(pose, seed)
        if not (found.solutions and turn.any()):
            return found
        away_rad = turned_away_rad(self._robot.forward_kinematics(found.solutions[0].q), pose)
        if away_rad <= TURNED_RAD:
            return found
        return IkResult(reason=f"with {self._robot.dof} joints the tool cannot turn so; use single joints")

    def at(self, length: float, near: FloatArray) -> FloatArray | None:
        """Positions there, nearest to `near`; None if the tool cannot be there."""
        dof = self._robot.dof
        here = near[:dof]
        result = self._inverse(length, here.tolist())
        if not result.solutions:
            self.refusal = _out_of_reach(result)
            return None
        found = np.array([solution.q for solution in result.solutions])
        found += self._turns(here - found)
        away = np.abs(found - here).max(axis=1)
        # Out of a straight arm both elbows are equally near; the upper one, last by name, stays clear of the table.
        nearest = np.flatnonzero(away <= away.min() * (1.0 + SAME))
        positions: FloatArray = near.copy()
        positions[:dof] = found[max(nearest.tolist(), key=lambda k: result.solutions[k].branch)]
        return positions

    def _turns(self, gap: FloatArray) -> FloatArray:
        revolute = np.array([joint.type.value == "revolute" for joint in self._robot.model.joints])
        whole: FloatArray = 2.0 * math.pi * np.round(gap / (2.0 * math.pi)) * revolute
        return whole


class Place(NamedTuple):
    """A point of a way: its length and the positions there."""

    length: float
    positions: FloatArray


class Trail:
    """A way walked by changes of the joints.

    Args:
        way: where it leads.
        speeds: speed allowed to each axis, shape (n,).
        fits: why positions may not be taken, or None.

    Attributes:
        refusal: what was in the way last.
        first_change_s: change with which to begin to look ahead.
    """

    def __init__(self, way: Way, speeds: FloatArray, fits: Callable[[FloatArray], Refusal | None]) -> None:
        self.way, self._speeds, self._fits = way, speeds, fits
        self.refusal: Refusal | None = None
        self.first_change_s = FIRST_CHANGE_RAD / float(speeds.max())

    def apart(self, one: FloatArray, other: FloatArray) -> float:
        """Change of the joints between two positions, in seconds."""
        return float(np.linalg.norm((one - other) / self._speeds))

    def advance(self, place: Place, change: float, guess: float) -> tuple[Place, bool]:
        """The place ahead that is `change` away; with False the last place before it if something is in the way.

        The end of the way is never passed: it is given instead.
        """
        begin = place.positions
        return self._search(place, guess, lambda positions: self.apart(positions, begin) - change, CLOSE)

    def look(self, place: Place, change: float, guess: float) -> tuple[Place, bool]:
        """The same for a place that will not be sent: about `change` away will do."""
        begin = place.positions
        return self._search(place, guess, lambda positions: self.apart(positions, begin) - change, ROUGHLY * change)

    def approach(self, place: Place, goal: FloatArray, left: float, guess: float) -> tuple[Place, bool]:
        """The place ahead from which `left` is still to go to `goal`."""
        return self._search(place, guess, lambda positions: left - self.apart(goal, positions), CLOSE)

    def _search(
        self, place: Place, guess: float, beyond: Callable[[FloatArray], float], close: float
    ) -> tuple[Place, bool]:
        """Where `beyond`, rising along the way, is zero: secants that keep it between two places."""
        end = self.way.end
        low, high = place, Place(math.inf, place.positions)
        low_gap, high_gap = beyond(place.positions), math.inf
        low_weight = high_weight = 1.0
        side = 0
        length = min(place.length + guess, end)
        for _ in range(MOST_TRIES):
            positions = self._at(length, place.positions)
            gap = math.inf if positions is None else beyond(positions)
            here = Place(length, place.positions if positions is None else positions)
            if abs(gap) <= close or (gap < 0.0 and length >= end):
                return here, True
            # A side that stays put twice counts half, or the other would creep.
            if gap < 0.0:
                low, low_gap, low_weight = here, gap, 1.0
                high_weight *= 0.5 if side < 0 else 1.0
                side = -1
            else:
                high, high_gap, high_weight = here, gap, 1.0
                low_weight *= 0.5 if side > 0 else 1.0
                side = 1
            if high.length < math.inf and high.length - low.length <= NARROW * high.length:
                break
            if high.length == math.inf:
                length = min(place.length + 2.0 * (low.length - place.length), end)
            else:
                length = _between(low.length, low_weight * low_gap, high.length, high_weight * high_gap)
        nearer = min((high_gap, high), (-low_gap, low), key=lambda pair: pair[0])
        return (nearer[1], True) if nearer[0] <= CLOSE_ENOUGH else (low, False)

    def _at(self, length: float, near: FloatArray) -> FloatArray | None:
        positions = self.way.at(length, near)
        if positions is None:
            self.refusal = self.way.refusal
            return None
        refusal = self._fits(positions)
        if refusal is not None:
            self.refusal = refusal
            return None
        return positions


def _between(low: float, low_gap: float, high: float, high_gap: float) -> float:
    """Where a straight line through both gaps is zero; the middle where that is no help."""
    if high_gap == math.inf:
        return 0.5 * (low + high)
    length = low - low_gap * (high - low) / (high_gap - low_gap)
    return length if low < length < high else 0.5 * (low + high)


def size_of(move: ToolJog) -> float:
    """Length of a step, or speed of a hold: of the line if there is one, else of the turn; 0 for no motion."""
    return math.hypot(*move.linear) or math.hypot(move.pitch, move.roll, *move.turn)


def along(one: ToolJog, other: ToolJog) -> bool:
    """Whether two moves lead the same way, at whatever speed."""
    return one.frame is other.frame and bool(np.allclose(_direction(one), _direction(other), rtol=0.0, atol=1e-9))


def ways_out(robot: Robot, start: FloatArray, tried: ToolJog, fits: Callable[[FloatArray], Refusal | None]) -> str:
    """The directions of the tool, other than the one tried, that are open from a place, in words."""
    names = directions(robot, start, tried.frame, lambda way: fits(way[-1]) is None, (1.0,), tried)
    single = "jogging single joints works from any posture"
    return f"the tool can go {', '.join(names)} from here; {single}" if names else single


def directions(
    robot: Robot,
    start: FloatArray,
    frame: JogFrame,
    leads: Callable[[list[FloatArray]], bool],
    parts: Sequence[float],
    tried: ToolJog | None = None,
    most_rad: float = OUT_CHANGE_RAD,
) -> list[str]:
    """The directions of the tool that can be gone from a place and lead where it is wanted.

    Args:
        robot: kinematics.
        start: position of every axis, shape (n_axes,).
        frame: in which directions are meant.
        leads: whether positions along a direction lead where it is wanted.
        parts: of a small way, at which these positions are; the last is 1.
        tried: a direction to leave out.
        most_rad: most that a joint may change on the small way: where it takes more, the tool creeps.
    """
    return [
        f"{sign}{name}"
        for name, move in _directions(robot, frame)
        for sign, turned in (("+", move), ("-", _reversed(move)))
        if not (tried is not None and along(turned, tried)) and _is_open(robot, start, turned, leads, parts, most_rad)
    ]


def _directions(robot: Robot, frame: JogFrame) -> list[tuple[str, ToolJog]]:
    u, w = OUT_LINE_M, OUT_TURN_RAD
    lines = ((u, 0.0, 0.0), (0.0, u, 0.0), (0.0, 0.0, u))
    found = [(name, ToolJog(frame=frame, linear=line)) for name, line in zip("xyz", lines, strict=True)]
    return [*found, ("pitch", ToolJog(frame=frame, pitch=w))] if robot.has_pitch_and_roll else found


def _reversed(move: ToolJog) -> ToolJog:
    x, y, z = move.linear
    return ToolJog(frame=move.frame, linear=(-x, -y, -z), pitch=-move.pitch)


def _is_open(
    robot: Robot,
    start: FloatArray,
    move: ToolJog,
    leads: Callable[[list[FloatArray]], bool],
    parts: Sequence[float],
    most_rad: float,
) -> bool:
    way = ToolWay(robot, start, move, step=True)
    found: list[FloatArray] = []
    for part in parts:
        there = way.at(part * way.end, start)
        if there is None or float(np.abs(there - start).max()) > most_rad:
            return False
        found.append(there)
    return leads(found)


def _direction(move: ToolJog) -> FloatArray:
    return np.array((*move.linear, move.pitch, move.roll, *move.turn)) / (size_of(move) or 1.0)


def _out_of_reach(result: IkResult) -> Refusal:
    by = result.distance_m
    return Refusal(
        check="E-07",
        subject=result.joint or "tool",
        limit=f"reach: {result.reason or 'no posture brings the tool there'}",
        margin=-by / MM if by is not None else -1.0,
        unit="mm" if by is not None else "pose",
        nearest_allowed="up to here",
        advice="Another direction, or single joints.",
    )


def rotation_of(vector: FloatArray) -> FloatArray:
    """The rotation matrix of a rotation vector (Rodrigues' formula)."""
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = (vector / angle).tolist()
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: FloatArray = np.eye(3) + math.sin(angle) * skew + (1.0 - math.cos(angle)) * (skew @ skew)
    return rotation
