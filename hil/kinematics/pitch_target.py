"""Targets for arms that cannot take any orientation: a point, perhaps a pitch and a roll.

Pitch is the angle of the tool axis above the plane that the yaw axis stands on, measured from the direction
that leads from the base axis to the point; 90 deg is straight up, beyond it the tool leans back. Roll is the
coordinate of the roll joint. The tool axis is the tool frame's z, or its x on arms whose tool z lies across
the arm's plane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.kernels import yaw_pitch as equations
from hil.kernels.chain import IDENTITY, Frame, Row, compose, forward
from hil.kernels.scalar import ARRAYS, FLOATS, Functions, Scalar
from hil.kernels.yaw_pitch_form import REACH_TOLERANCE_M, shape
from hil.kinematics.certified import ACCEPTED_ERROR, distinct, in_limits
from hil.kinematics.limits import TURN, Range, result_of, wrap
from hil.kinematics.results import IkResult, IkSolution
from hil.kinematics.yaw_pitch import (
    Rest,
    Yaw,
    YawPitchArm,
    branch,
    coordinates,
    pitch_joints,
    point_yaws,
    reach_refusal,
    rest_of,
    wrist_refusal,
)
from hil.units import DEG

IN_PLANE = 1e-6
"""Part of the tool axis that may lie across the arm's plane."""
FIRST_GRID = 91
REFINING_GRID = 21
REFINEMENTS = 7
"""Each refinement narrows the pitch tenfold: 2 deg apart at first, 1e-9 rad in the end."""

OUTSIDE_COST = 1e3
"""Cost of one radian outside the limits against one of joint distance: first get inside, then get near."""


class ToolTarget(NamedTuple):
    """Where a tool is, in the terms of this family: metres in the world; no roll without a roll joint."""

    position_m: tuple[float, float, float]
    pitch_rad: float
    roll_rad: float | None


class _Problem(NamedTuple):
    """A target prepared: point in the base frame, tool as the roll leaves it.

    Attributes:
        axis: which column of the tool frame is the tool axis (its index in a `Frame`), and its plane angle.
    """

    point: tuple[float, float, float]
    across: float
    tail: tuple[float, float]
    axis: tuple[int, float] | None
    roll: tuple[float, ...]
    yaws: tuple[Yaw, ...]
    rest: Rest


def target_of(arm: YawPitchArm, q: Sequence[float]) -> ToolTarget:
    """Point, pitch and roll that `q` reaches: what `solve_target` takes."""
    world = forward(arm.form.chain, q, FLOATS)
    thetas = [row.theta + row.sign * v for row, v in zip(arm.form.chain.rows, q, strict=True)]
    phi = thetas[1] + arm.form.plane.turn3 * thetas[2] + arm.form.plane.turn4 * thetas[3]
    axis = _tool_axis(_tool_in_plane(arm, thetas[-1]))
    direction = phi + (0.0 if axis is None else axis[1])
    place = compose(arm.form.base_inverse, world)
    along = math.cos(thetas[0]) * place[9] + math.sin(thetas[0]) * place[10]
    side = -1.0 if along < -REACH_TOLERANCE_M else 1.0
    return ToolTarget((world[9], world[10], world[11]), _pitch(arm, side, direction), q[4] if arm.form.roll else None)


def pitch_axis(arm: YawPitchArm) -> str:
    """On which axis of the tool frame pitch is measured, ``z`` or ``x``; empty where neither lies in the plane."""
    theta5 = 0.0 if arm.form.roll is None else arm.form.roll.theta
    axis = _tool_axis(_tool_in_plane(arm, theta5))
    return "" if axis is None else {6: "z", 0: "x"}[axis[0]]


def solve_target(
    arm: YawPitchArm,
    position_m: Sequence[float],
    pitch_rad: float | None,
    roll_rad: float | None,
    seed: Sequence[float] | None,
) -> IkResult:
    """Solutions for a point (world, metres), with the pitch given or free, and the roll given or as it is.

    A free pitch is chosen so that the joints stay nearest to the seed, or farthest from their limits without
    one. A free roll keeps the seed's, or is 0 (or the limit nearest to 0).
    """
    if roll_rad is not None and arm.form.roll is None and abs(roll_rad) > ACCEPTED_ERROR:
        return IkResult(reason="this arm has no roll joint: leave the roll out")
    problem = _prepare(arm, position_m, roll_rad, seed)
    refusal = reach_refusal(arm, problem.point, problem.across, problem.tail)
    if refusal is not None:
        return refusal
    if pitch_rad is None:
        found = _free_pitch(arm, problem, position_m, seed)
    elif problem.axis is None:
        return IkResult(reason="the tool axis leaves the arm's plane at this roll: pitch has no meaning here")
    else:
        found = _given_pitch(arm, problem, position_m, problem.axis, pitch_rad)
        if not found:
            return _pitch_refusal(arm, problem, problem.axis, pitch_rad)
    return result_of([in_limits(s, arm.ranges, seed) for s in distinct(found)], arm.ranges, seed)


def reach_gap_m(arm: YawPitchArm, position_m: Sequence[float]) -> float:
    """How far a point (world, metres) is outside what the lengths allow in any orientation; 0 or less inside."""
    problem = _prepare(arm, position_m, None, None)
    refusal = reach_refusal(arm, problem.point, problem.across, problem.tail)
    return 0.0 if refusal is None or refusal.distance_m is None else refusal.distance_m


def _prepare(
    arm: YawPitchArm, position_m: Sequence[float], roll_rad: float | None, seed: Sequence[float] | None
) -> _Problem:
    roll: tuple[float, ...] = ()
    theta5 = 0.0
    if arm.form.roll is not None:
        limits = arm.ranges[4]
        if roll_rad is None:
            roll_rad = min(max(0.0, limits.lower), limits.upper) if seed is None else seed[4]
        roll = (roll_rad,)
        theta5 = arm.form.roll.theta + arm.form.roll.sign * roll_rad
    tool = _tool_in_plane(arm, theta5)
    px, py, pz = position_m
    place = compose(arm.form.base_inverse, (*IDENTITY[:9], px, py, pz))
    across = arm.form.across_m - arm.form.plane.y_along_yaw * tool[11]
    rest = rest_of(arm, seed)
    return _Problem(
        point=(place[9], place[10], place[11]),
        across=across,
        tail=(tool[9], tool[10]),
        axis=_tool_axis(tool),
        roll=roll,
        yaws=tuple(point_yaws(arm, place[9], place[10], across, rest.yaw_rad)),
        rest=rest,
    )


def _tool_in_plane(arm: YawPitchArm, roll_theta_rad: float) -> Frame:
    return tool_in_plane(arm, roll_theta_rad, FLOATS)


def tool_in_plane(arm: YawPitchArm, roll_theta_rad: Scalar, functions: Functions) -> Frame:
    """Tool frame in the axes of frame 1, seen from the wrist, when the plane angles add up to 0."""
    form = arm.form
    turn4 = form.plane.turn4
    wrist: Frame = (1.0, 0.0, 0.0, 0.0, turn4, 0.0, 0.0, 0.0, turn4, 0.0, 0.0, 0.0)
    if form.roll is None:
        return compose(wrist, form.after)
    forearm = compose(wrist, shape(form.chain.rows[3]))
    return compose(compose(forearm, _screw(form.roll, roll_theta_rad, functions)), form.after)


def _screw(row: Row, theta_rad: Scalar, functions: Functions) -> Frame:
    """Rz(theta) Tz(d)."""
    c, s = functions.cos(theta_rad), functions.sin(theta_rad)
    return (c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, row.d)


def _tool_axis(tool: Frame) -> tuple[int, float] | None:
    """The tool axis and its plane angle; None where neither z nor x lies in the plane."""
    if abs(tool[8]) < IN_PLANE:
        return 6, math.atan2(tool[7], tool[6])
    return (0, math.atan2(tool[1], tool[0])) if abs(tool[2]) < IN_PLANE else None


def _direction(arm: YawPitchArm, side: float, pitch_rad: float) -> float:
    """Plane angle of a tool axis with this pitch."""
    upwards = arm.form.plane.y_along_yaw * arm.form.up
    return math.atan2(upwards * math.sin(pitch_rad), side * math.cos(pitch_rad))


def _pitch(arm: YawPitchArm, side: float, direction_rad: float) -> float:
    """Pitch of a tool axis with this plane angle."""
    upwards = arm.form.plane.y_along_yaw * arm.form.up
    return math.atan2(upwards * math.sin(direction_rad), side * math.cos(direction_rad))


def _given_pitch(
    arm: YawPitchArm,
    problem: _Problem,
    position_m: Sequence[float],
    axis: tuple[int, float],
    pitch_rad: float,
) -> list[IkSolution]:
    found = []
    for yaw in problem.yaws:
        phi = _direction(arm, yaw.side, pitch_rad) - axis[1]
        for bend in (-1.0, 1.0):
            for solution in _solution(arm, problem, position_m, yaw, phi, bend):
                tool = compose(arm.form.base_inverse, forward(arm.form.chain, solution.q, FLOATS))
                if abs(arm.form.up * tool[axis[0] + 2] - math.sin(pitch_rad)) <= ACCEPTED_ERROR:
                    found.append(solution)
    return found


def _solution(
    arm: YawPitchArm, problem: _Problem, position_m: Sequence[float], yaw: Yaw, phi: float, bend: float
) -> list[IkSolution]:
    """One posture, certified; empty if the wrist cannot be there."""
    x, y = equations.plane_coordinates(arm.form.plane, yaw.along_m, problem.point[2])
    pitches = pitch_joints(arm, x, y, phi, problem.tail, bend, problem.rest)
    if pitches is None:
        return []
    thetas = [yaw.theta_rad, *pitches]
    q = (*(wrap(v) for v in coordinates(arm, thetas)), *problem.roll)
    error = math.dist(forward(arm.form.chain, q, FLOATS)[9:], position_m)
    if error > ACCEPTED_ERROR:
        return []
    return [IkSolution(q=q, within_limits=True, branch=branch(arm, yaw.side, bend), error=error)]


class _Arc(NamedTuple):
    """Tool directions with the wrist within reach: straight out from the shoulder, plus or minus these."""

    yaw: Yaw
    straight_rad: float
    nearest_rad: float
    farthest_rad: float


def _arcs(arm: YawPitchArm, problem: _Problem) -> list[_Arc]:
    """The reachable directions per yaw, as values of phi, by the law of cosines."""
    a2, a3 = arm.form.plane.a2_m, arm.form.plane.a3_m
    hand = math.hypot(*problem.tail)
    arcs = []
    for yaw in problem.yaws:
        x, y = equations.plane_coordinates(arm.form.plane, yaw.along_m, problem.point[2])
        distance = math.hypot(x, y)
        nearest_wrist, farthest_wrist = abs(distance - hand), distance + hand
        if nearest_wrist > a2 + a3 + REACH_TOLERANCE_M or farthest_wrist < abs(a2 - a3) - REACH_TOLERANCE_M:
            continue
        product = max(2.0 * distance * hand, 1e-15)
        squares = distance * distance + hand * hand
        outer, inner = (squares - (a2 + a3) ** 2) / product, (squares - (a2 - a3) ** 2) / product
        straight = math.atan2(y, x) - math.atan2(problem.tail[1], problem.tail[0])
        arcs.append(_Arc(yaw, straight, math.acos(_unit(inner)), math.acos(_unit(outer))))
    return arcs


def _unit(value: float) -> float:
    return min(max(value, -1.0), 1.0)


def _free_pitch(
    arm: YawPitchArm, problem: _Problem, position_m: Sequence[float], seed: Sequence[float] | None
) -> list[IkSolution]:
    """The best direction of each posture, from a scan of the whole arc, refined around its best point."""
    rows = [(arc, sign, bend) for arc in _arcs(arm, problem) for sign in (-1.0, 1.0) for bend in (-1.0, 1.0)]
    if not rows:
        return []
    scan = _Scan(arm, problem, rows, seed)
    low = np.array([[arc.nearest_rad] for arc, _, _ in rows])
    high = np.array([[arc.farthest_rad] for arc, _, _ in rows])
    best = low
    index = np.arange(len(rows))
    for size in (FIRST_GRID, *([REFINING_GRID] * REFINEMENTS)):
        turn = low + (high - low) * np.linspace(0.0, 1.0, size)
        at = np.argmin(scan.cost(turn), axis=1)
        best = turn[index, at][:, None]
        low, high = (
            turn[index, np.maximum(at - 1, 0)][:, None],
            turn[index, np.minimum(at + 1, size - 1)][:, None],
        )
    found = []
    for (arc, sign, bend), turn_rad in zip(rows, best[:, 0].tolist(), strict=True):
        found += _solution(arm, problem, position_m, arc.yaw, arc.straight_rad + sign * turn_rad, bend)
    return found


class _Scan:
    """Cost of many tool directions at once: row by row one posture, column by column one direction."""

    def __init__(
        self,
        arm: YawPitchArm,
        problem: _Problem,
        rows: Sequence[tuple[_Arc, float, float]],
        seed: Sequence[float] | None,
    ) -> None:
        self._arm, self._tail, self._seed = arm, problem.tail, seed
        places = [equations.plane_coordinates(arm.form.plane, arc.yaw.along_m, problem.point[2]) for arc, _, _ in rows]
        self._x, self._y = (np.array(values)[:, None] for values in zip(*places, strict=True))
        self._straight = np.array([[arc.straight_rad] for arc, _, _ in rows])
        self._sign = np.array([[sign] for _, sign, _ in rows])
        self._bend = np.array([[bend] for _, _, bend in rows])
        self._yaw = np.array([[arc.yaw.theta_rad] for arc, _, _ in rows])

    def cost(self, turn: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Joint distance to the seed, or strain without one, plus a heavy price for leaving the limits."""
        phi = self._straight + self._sign * turn
        pitches = equations.pitch_angles(self._arm.form.plane, self._x, self._y, phi, self._tail, self._bend, ARRAYS)
        outside, strain = np.zeros(()), np.zeros(())
        for i, q in enumerate(coordinates(self._arm, [self._yaw, *pitches[:3]])):  # type: ignore[list-item]
            limits = self._arm.ranges[i]
            near = limits.middle if self._seed is None else self._seed[i]
            value = q - TURN * np.round((q - _centre(limits, near)) / TURN)
            outside = outside + np.maximum(np.maximum(limits.lower - value, value - limits.upper), 0.0)
            if self._seed is None:
                strain = np.maximum(strain, np.abs(value - limits.middle) / limits.half_width)
            else:
                strain = strain + (value - near) ** 2
        result: npt.NDArray[np.float64] = OUTSIDE_COST * outside + strain
        return result


def _centre(limits: Range, near: float) -> float:
    """Middle of the whole turn in which a joint is looked for: around `near`, as far as the limits let it."""
    if limits.upper - limits.lower < TURN:
        return limits.middle
    return min(max(near, limits.lower + math.pi), limits.upper - math.pi)


def _pitch_refusal(arm: YawPitchArm, problem: _Problem, axis: tuple[int, float], pitch_rad: float) -> IkResult:
    """Why the point cannot be reached with this pitch, and the nearest pitch with which it can."""
    gaps, pitches = [], []
    for arc in _arcs(arm, problem):
        side = arc.yaw.side
        phi = _direction(arm, side, pitch_rad) - axis[1]
        x, y = equations.plane_coordinates(arm.form.plane, arc.yaw.along_m, problem.point[2])
        gaps.append(
            equations.overshoot(
                arm.form.plane, equations.pitch_angles(arm.form.plane, x, y, phi, problem.tail, 1.0, FLOATS)[3], FLOATS
            )
        )
        turn = wrap(phi - arc.straight_rad)
        turn = math.copysign(min(max(abs(turn), arc.nearest_rad), arc.farthest_rad), turn)
        pitches.append(_pitch(arm, side, arc.straight_rad + turn + axis[1]))
    nearest = min(pitches, key=lambda pitch: abs(wrap(pitch - pitch_rad)))
    return wrist_refusal(
        arm,
        min(gaps),
        f"pitch {pitch_rad / DEG:z.2f} deg",
        f"; the nearest pitch within reach is {nearest / DEG:z.2f} deg",
    )
