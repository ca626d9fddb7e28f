"""Inverse kinematics by iteration for any chain: damped least squares with restarts, Jacobian transpose.

Whatever comes out has been checked by forward kinematics; what fails says so with the distance left. Nothing
here raises from linear algebra. Randomness comes in as an argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.kernels.chain import Chain, Column, Frame, forward_and_jacobian
from hil.kernels.scalar import FLOATS
from hil.kinematics.limits import Range, best_turn, in_range, result_of
from hil.kinematics.poses import rotation_vector
from hil.kinematics.results import IkResult, IkSolution
from hil.units import DEG, MM

FloatArray: TypeAlias = npt.NDArray[np.float64]

DLS_TOLERANCE = 1e-9
DLS_ITERATIONS = 20
DLS_RESTARTS = 60
DLS_DAMPING = 0.05
TRANSPOSE_TOLERANCE = 1e-6
TRANSPOSE_ITERATIONS = 5000
TRANSPOSE_GAIN = 0.5

MAX_STEP_RAD = 1.0
"""Longest joint step of one iteration: beyond it the linear model says nothing."""


class Residual(NamedTuple):
    """What a target still lacks, metres or radians per row, and how the joints change it."""

    error: list[float]
    columns: list[Column]
    distance_m: float
    turn_rad: float


Task: TypeAlias = Callable[[Frame, list[Column]], Residual]
"""From tool frame and Jacobian columns to what is lacking."""


def pose_task(wanted: Frame) -> Task:
    """Reach a full pose: difference of position, then the rotation vector that is lacking."""

    def residual(tool: Frame, columns: list[Column]) -> Residual:
        dx, dy, dz = wanted[9] - tool[9], wanted[10] - tool[10], wanted[11] - tool[11]
        rx, ry, rz = rotation_vector(_rotation_to(tool, wanted))
        return Residual(
            [dx, dy, dz, rx, ry, rz],
            columns,
            math.sqrt(dx * dx + dy * dy + dz * dz),
            math.sqrt(rx * rx + ry * ry + rz * rz),
        )

    return residual


def point_task(position_m: Sequence[float], pitch_rad: float | None) -> Task:
    """Reach a point, with any orientation or with the tool's z axis at an angle above the ground plane."""
    px, py, pz = position_m

    def residual(tool: Frame, columns: list[Column]) -> Residual:
        error = [px - tool[9], py - tool[10], pz - tool[11], 0.0, 0.0, 0.0]
        distance = math.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)
        if pitch_rad is None:
            return Residual(error, [(*c[:3], 0.0, 0.0, 0.0) for c in columns], distance, 0.0)
        ax, ay, az = tool[6:9]
        level = math.hypot(ax, ay)
        hx, hy = (ax / level, ay / level) if level > 1e-6 else _outward(px, py)
        # Turn about the horizontal line square to the axis's own heading; the heading itself stays free.
        turn = math.atan2(az, ax * hx + ay * hy) - pitch_rad
        turn = math.remainder(turn, 2 * math.pi)
        sx, sy = -hy, hx
        error[3] = turn
        reduced: list[Column] = [(*c[:3], sx * c[3] + sy * c[4], 0.0, 0.0) for c in columns]
        return Residual(error, reduced, distance, abs(turn))

    return residual


def solve_dls(
    chain: Chain,
    ranges: Sequence[Range],
    task: Task,
    seed: Sequence[float] | None,
    *,
    tolerance: float = DLS_TOLERANCE,
    iterations: int = DLS_ITERATIONS,
    restarts: int = DLS_RESTARTS,
    generator: np.random.Generator | None = None,
) -> IkResult:
    """Damped least squares from the seed, then from random starts within the limits.

    The damping falls with the squared error (Chan and Lawrence 1988), so that it is strong far away and near
    singular poses, and vanishes at the goal.

    Args:
        chain: constants of the arm.
        ranges: limits per joint.
        task: what is wanted.
        seed: first start, or None for the middle of the ranges.
        tolerance: accepted error, metres and radians.
        iterations: steps per start.
        restarts: starts after the first one.
        generator: where further starts come from; by default one with a fixed seed, so equal calls answer
            equally.
    """
    start = [r.middle for r in ranges] if seed is None else list(seed)
    outside: list[IkSolution] = []
    nearest = Residual([], [], math.inf, math.inf)
    for attempt in range(restarts + 1):
        if attempt > 0:
            generator = np.random.default_rng(0) if generator is None else generator
            start = _random_start(ranges, generator)
        q, residual = _descend(chain, ranges, task, start, tolerance, iterations)
        error = max(residual.distance_m, residual.turn_rad)
        if error <= tolerance:
            solution = _judged(q, ranges, seed, error)
            if solution.within_limits:
                return IkResult(solutions=(solution,))
            outside.append(solution)
        elif error < max(nearest.distance_m, nearest.turn_rad):
            nearest = residual
    if outside:
        return result_of(outside, ranges, seed)
    return IkResult(
        reason=(
            f"no solution found from {restarts + 1} starts: the nearest try is "
            f"{nearest.distance_m / MM:.4g} mm and {nearest.turn_rad / DEG:.4g} deg off "
            "(a numeric search cannot prove that there is none)"
        ),
        distance_m=nearest.distance_m,
    )


def solve_transpose(
    chain: Chain,
    ranges: Sequence[Range],
    wanted: Frame,
    seed: Sequence[float],
    *,
    gain: npt.ArrayLike = TRANSPOSE_GAIN,
    tolerance: float = TRANSPOSE_TOLERANCE,
    iterations: int = TRANSPOSE_ITERATIONS,
) -> IkResult:
    """The method of the RV-2AJ simulation paper: dq = J^T K e with a fixed gain, from one start.

    e is the position difference in metres, then half the sum of the cross products of the axes, which is the
    sine of the missing angle times its axis. That sum vanishes at half a turn as well as at the goal, so
    beyond a quarter turn the axis alone takes its place. The step is stable while the largest eigenvalue of
    J^T K J stays below 2; metres and radians are mixed, so separate gains for position and orientation
    converge far faster.

    Args:
        chain: constants of the arm.
        ranges: limits per joint.
        wanted: tool frame to reach.
        seed: start.
        gain: K, one number, six, or 6x6; linear rows first.
        tolerance: accepted length of e.
        iterations: steps.
    """
    matrix = gain_matrix(gain)
    q = np.array(seed, dtype=np.float64)
    error, jacobian = _transpose_error(chain, q, wanted)
    for _ in range(iterations):
        if not math.isfinite(float(error @ error)) or float(error @ error) < tolerance * tolerance:
            break
        q = q + jacobian @ (matrix @ error)
        error, jacobian = _transpose_error(chain, q, wanted)
    length = math.sqrt(float(error @ error))
    if length < tolerance:
        return result_of([_judged(q.tolist(), ranges, seed, length)], ranges, seed)
    if not math.isfinite(length):
        distance = turn = math.inf
    else:
        left = pose_task(wanted)(*forward_and_jacobian(chain, q.tolist(), FLOATS))
        distance, turn = left.distance_m, left.turn_rad
    return IkResult(
        reason=(
            f"Jacobian transpose did not converge in {iterations} steps: {distance / MM:.4g} mm and "
            f"{turn / DEG:.4g} deg are left.{_gain_advice(chain, seed, matrix)}"
        ),
        distance_m=distance,
    )


def gain_matrix(gain: npt.ArrayLike) -> FloatArray:
    """K as a 6x6 array.

    Raises:
        CommandError: not one number, six, or 6x6, or not finite.
    """
    array = np.asarray(gain, dtype=np.float64)
    if not np.isfinite(array).all() or array.shape not in ((), (6,), (6, 6)):
        raise CommandError(
            "gain has to be one finite number, six, or a 6x6 array (linear rows first)",
            value=gain,
            allowed="one number, six, or 6x6",
        )
    if array.ndim == 2:
        return array
    return np.diag(np.broadcast_to(array, 6))


def transpose_eigenvalue(chain: Chain, q: Sequence[float], gain: npt.ArrayLike) -> float:
    """Largest eigenvalue of J^T K J at `q`; a transpose step with gain K is stable there below 2."""
    columns: FloatArray = np.array(forward_and_jacobian(chain, q, FLOATS)[1])
    return float(np.abs(np.linalg.eigvals(columns @ gain_matrix(gain) @ columns.T)).max())


def _gain_advice(chain: Chain, seed: Sequence[float], matrix: FloatArray) -> str:
    largest = transpose_eigenvalue(chain, seed, matrix)
    if largest < 2.0:
        return ""
    return (
        f" The gain is too large: scale it by less than {2.0 / largest:.3g} "
        f"(largest eigenvalue of J^T K J {largest:.3g}, bound 2)"
    )


def _transpose_error(chain: Chain, q: FloatArray, wanted: Frame) -> tuple[FloatArray, FloatArray]:
    """e, shape (6,), and the transposed Jacobian, shape (n, 6)."""
    tool, columns = forward_and_jacobian(chain, q.tolist(), FLOATS)
    needed = _rotation_to(tool, wanted)
    (r11, r12, r13), (r21, r22, r23), (r31, r32, r33) = needed
    turn = (0.5 * (r32 - r23), 0.5 * (r13 - r31), 0.5 * (r21 - r12))
    if r11 + r22 + r33 < 1.0:
        x, y, z = rotation_vector(needed)
        angle = math.sqrt(x * x + y * y + z * z)
        turn = (x / angle, y / angle, z / angle)
    return np.array([*(w - t for w, t in zip(wanted[9:], tool[9:], strict=True)), *turn]), np.array(columns)


def _descend(
    chain: Chain,
    ranges: Sequence[Range],
    task: Task,
    start: Sequence[float],
    tolerance: float,
    iterations: int,
) -> tuple[list[float], Residual]:
    q = list(start)
    residual = task(*forward_and_jacobian(chain, q, FLOATS))
    identity = np.eye(len(q))
    for _ in range(iterations):
        if residual.distance_m <= tolerance and residual.turn_rad <= tolerance:
            break
        error: FloatArray = np.array(residual.error)
        columns: FloatArray = np.array(residual.columns)
        damping = DLS_DAMPING * float(error @ error) + 1e-15
        try:
            step = np.linalg.solve(columns @ columns.T + damping * identity, columns @ error)
        except np.linalg.LinAlgError:
            break
        longest = float(np.abs(step).max())
        if not math.isfinite(longest):
            break
        if longest > MAX_STEP_RAD:
            step *= MAX_STEP_RAD / longest
        q = [v + s for v, s in zip(q, step.tolist(), strict=True)]
        residual = task(*forward_and_jacobian(chain, q, FLOATS))
    return q, residual


def _judged(q: Sequence[float], ranges: Sequence[Range], seed: Sequence[float] | None, error: float) -> IkSolution:
    near = seed if seed is not None else [None] * len(ranges)
    turned = tuple(best_turn(v, r, n) for v, r, n in zip(q, ranges, near, strict=True))
    return IkSolution(q=turned, within_limits=in_range(turned, ranges), branch="", error=error)


def _random_start(ranges: Sequence[Range], generator: np.random.Generator) -> list[float]:
    low = [max(r.lower, r.middle - r.half_width) for r in ranges]
    high = [min(r.upper, r.middle + r.half_width) for r in ranges]
    values: list[float] = generator.uniform(low, high).tolist()
    return values


def _rotation_to(
    tool: Frame, wanted: Frame
) -> tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]:
    """Rows of the rotation that turns the tool's axes into the wanted ones, in the base frame."""
    a, b, c, d, e, f, g, h, i = tool[:9]
    j, k, m, n, o, p, r, s, t = wanted[:9]
    return (
        (j * a + n * d + r * g, j * b + n * e + r * h, j * c + n * f + r * i),
        (k * a + o * d + s * g, k * b + o * e + s * h, k * c + o * f + s * i),
        (m * a + p * d + t * g, m * b + p * e + t * h, m * c + p * f + t * i),
    )


def _outward(px: float, py: float) -> tuple[float, float]:
    length = math.hypot(px, py)
    return (px / length, py / length) if length > 1e-9 else (1.0, 0.0)
