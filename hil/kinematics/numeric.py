"""Inverse kinematics by iteration for any chain: damped least squares with restarts, Jacobian transpose.

Whatever comes out has been checked by forward kinematics; what fails says so with the distance left. Nothing
here raises from linear algebra. Randomness comes in as an argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.kernels.build import build_loops
from hil.kernels.chain import IDENTITY, Chain, Column, Frame, forward_and_jacobian
from hil.kernels.scalar import FLOATS, FloatArray
from hil.kinematics.limits import Range, best_turn, in_range, result_of
from hil.kinematics.poses import rotation_vector
from hil.kinematics.results import IkResult, IkSolution
from hil.units import DEG, MM

DLS_TOLERANCE = 1e-9
DLS_ITERATIONS = 40
DLS_RESTARTS = 100
TRANSPOSE_TOLERANCE = 1e-6
TRANSPOSE_ITERATIONS = 5000
TRANSPOSE_GAIN = 0.5

DAMPING = 0.1
"""Damping per half squared error, lengths in units of the arm's own."""

LEAST_DAMPING = 1e-15

MAX_STEP_RAD = 2.0
"""Longest joint step of one iteration: beyond it the linear model says nothing."""

PATIENCE = 4
"""A start has to halve its squared error within this many steps, or the next one is tried."""

MOST_FAILED = 12
"""Trials in a row that do not improve: then it is a minimum."""

LEAST_GAIN = 1e-9
"""An improvement by a smaller part is none."""

LAST_STEPS = 200
"""Trials from the nearest try where nothing was found, so that the distance told is that of a minimum."""

POSE, AXIS, PITCH, POINT = 0, 1, 2, 3
"""Kinds of task, as the compiled search numbers them."""


class Residual(NamedTuple):
    """What a target still lacks, metres or radians per row, and how the joints change it."""

    error: list[float]
    columns: list[Column]
    distance_m: float
    turn_rad: float

    @property
    def largest(self) -> float:
        """The larger of metres and radians."""
        return max(self.distance_m, self.turn_rad)


class Task(NamedTuple):
    """What is wanted.

    Attributes:
        kind: one of the numbers above.
        target: a frame of which the kind says what counts; with `PITCH`, its first number is the angle.
        lacking: from tool frame and Jacobian columns to what is lacking.
    """

    kind: int
    target: Frame
    lacking: Callable[[Frame, list[Column]], Residual]


def pose_task(wanted: Frame) -> Task:
    """Reach a full pose: difference of position, then the rotation vector that is lacking."""

    def lacking(tool: Frame, columns: list[Column]) -> Residual:
        dx, dy, dz = wanted[9] - tool[9], wanted[10] - tool[10], wanted[11] - tool[11]
        rx, ry, rz = rotation_vector(_rotation_to(tool, wanted))
        return Residual(
            [dx, dy, dz, rx, ry, rz],
            columns,
            math.sqrt(dx * dx + dy * dy + dz * dz),
            math.sqrt(rx * rx + ry * ry + rz * rz),
        )

    return Task(POSE, wanted, lacking)


def axis_task(position_m: Sequence[float], axis: Sequence[float]) -> Task:
    """Reach a point with the tool's z axis along `axis`; any turn about it will do (five conditions).

    Raises:
        CommandError: a number that is not finite, or an axis without a direction.
    """
    px, py, pz = (float(v) for v in position_m)
    length = math.hypot(*axis)
    if len(axis) != 3 or not math.isfinite(length + px + py + pz) or length == 0.0:
        raise CommandError(
            f"the tool axis has to be three finite numbers, not all zero; {list(axis)} was given",
            value=axis,
            allowed="a direction x, y, z",
        )
    ux, uy, uz = (float(v) / length for v in axis)

    def lacking(tool: Frame, columns: list[Column]) -> Residual:
        dx, dy, dz = px - tool[9], py - tool[10], pz - tool[11]
        x, y, z = tool[6:9]
        rx, ry, rz = y * uz - z * uy, z * ux - x * uz, x * uy - y * ux
        sine = math.sqrt(rx * rx + ry * ry + rz * rz)
        angle = math.atan2(sine, x * ux + y * uy + z * uz)
        scale = angle / sine if sine > 1e-12 else 1.0
        if sine <= 1e-12 and angle > 1.0:
            # Straight the other way: any line square to the axis will do.
            (rx, ry, rz), scale = tool[:3], angle
        reduced: list[Column] = []
        for vx, vy, vz, wx, wy, wz in columns:
            roll = wx * x + wy * y + wz * z
            reduced.append((vx, vy, vz, wx - roll * x, wy - roll * y, wz - roll * z))
        error = [dx, dy, dz, rx * scale, ry * scale, rz * scale]
        return Residual(error, reduced, math.sqrt(dx * dx + dy * dy + dz * dz), angle)

    return Task(AXIS, (*IDENTITY[:6], ux, uy, uz, px, py, pz), lacking)


def point_task(position_m: Sequence[float], pitch_rad: float | None) -> Task:
    """Reach a point, with any orientation or with the tool's z axis at an angle above the ground plane."""
    px, py, pz = position_m

    def lacking(tool: Frame, columns: list[Column]) -> Residual:
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

    if pitch_rad is None:
        return Task(POINT, (*IDENTITY[:9], px, py, pz), lacking)
    return Task(PITCH, (pitch_rad, *IDENTITY[1:9], px, py, pz), lacking)


SEARCH_LOOPS = "least_squares"


class Solver:
    """The compiled search: the same as that of `solve_dls` on floats, some thirty times faster."""

    def __init__(self, chain: Chain, ranges: Sequence[Range]) -> None:
        """Build it, or take it from the cache; the first time on a machine this takes some seconds.

        Raises:
            MissingExtraError: Numba is not installed.
        """
        self._ranges = tuple(ranges)
        self._search = build_loops(SEARCH_LOOPS).search
        self._arm = (
            np.array(chain.rows, dtype=np.float64),
            np.array([chain.base, IDENTITY if chain.tool is None else chain.tool], dtype=np.float64),
            np.array([[r.lower for r in ranges], [r.upper for r in ranges]], dtype=np.float64),
            _length(chain, ranges),
            np.array([DAMPING, LEAST_DAMPING, MAX_STEP_RAD, PATIENCE, LAST_STEPS], dtype=np.float64),
        )
        self._middle = np.array([r.middle for r in ranges])
        self._starts = _starts(ranges, DLS_RESTARTS, None)

    def solve(
        self,
        task: Task,
        seed: Sequence[float] | None,
        tolerance: float,
        iterations: int,
        restarts: int,
        generator: np.random.Generator | None,
    ) -> IkResult:
        """As `solve_dls`."""
        n = len(self._ranges)
        if generator is None and restarts <= DLS_RESTARTS:
            starts = self._starts[:restarts]
        else:
            starts = _starts(self._ranges, restarts, generator)
        start = self._middle if seed is None else np.array(seed, dtype=np.float64)
        found = np.empty((restarts + 1, n + 1))
        count, within, used, steps, distance, turn = self._search(
            *self._arm, task.kind, task.target, start, seed is not None, starts, tolerance, iterations, found
        )
        if count == 0:
            return _not_found(task, n, used, steps, distance, turn)
        solutions = [
            IkSolution(q=tuple(row[:n]), within_limits=False, branch="", error=row[n]) for row in found[:count].tolist()
        ]
        if within:
            best = solutions[-1]
            solution = IkSolution(q=best.q, within_limits=True, branch="", error=best.error)
            return IkResult(solutions=(solution,), iterations=steps)
        return _counted(result_of(_distinct(solutions), self._ranges, seed), steps)


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
    solver: Solver | None = None,
) -> IkResult:
    """Damped least squares from the seed, then from random starts within the limits.

    The damping falls with the squared error (Chan and Lawrence 1988), so that it is strong far away and near
    singular poses, and vanishes at the goal. A solution outside the limits is brought inside, where that can be
    done, by going on from the nearest limits with the joints kept within them. If nothing was found, the nearest
    try is carried on to the minimum it leads to: that is a solution after all, or the distance told.

    Args:
        chain: constants of the arm.
        ranges: limits per joint.
        task: what is wanted.
        seed: first start, or None for the middle of the ranges; the answer is given in the turns nearest to it.
        tolerance: accepted error, metres and radians.
        iterations: steps per start.
        restarts: starts after the first one.
        generator: where further starts come from; by default one with a fixed seed, so equal calls answer
            equally.
        solver: the compiled search for the same chain and ranges; without it, the one on floats.

    Raises:
        CommandError: a tolerance that is not positive, no iterations, or a negative number of restarts.
    """
    _check_settings(tolerance, iterations, restarts)
    if solver is not None:
        return solver.solve(task, seed, tolerance, iterations, restarts, generator)
    search = _Search.of(chain, ranges, task, tolerance)
    outside: list[IkSolution] = []
    nearest, nearest_q = Residual([], [], math.inf, math.inf), None
    start: Sequence[float] = [r.middle for r in ranges] if seed is None else list(seed)
    starts: list[list[float]] | None = None
    steps = 0
    for attempt in range(restarts + 1):
        if attempt > 0:
            starts = _starts(ranges, restarts, generator).tolist() if starts is None else starts
            start = starts[attempt - 1]
        q, residual, taken = search.descend(start, iterations)
        steps += taken
        if residual.largest <= tolerance:
            solutions, taken = search.accepted(q, seed, iterations)
            steps += taken
            if solutions and solutions[-1].within_limits:
                return IkResult(solutions=(solutions[-1],), iterations=steps)
            outside += solutions
        elif residual.largest < nearest.largest:
            nearest, nearest_q = residual, q
    if not outside and nearest_q is not None:
        # With more patience, the nearest try may turn out to be a solution after all.
        nearest_q, nearest = search.settle(nearest_q)
        if nearest.largest <= tolerance:
            solutions, taken = search.accepted(nearest_q, seed, iterations)
            outside, steps = solutions[-1:], steps + taken
    if outside:
        return _counted(result_of(_distinct(outside), ranges, seed), steps)
    return _not_found(task, len(ranges), restarts + 1, steps, nearest.distance_m, nearest.turn_rad)


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

    Raises:
        CommandError: a gain of another shape, or a tolerance or number of steps that means nothing.
    """
    _check_settings(tolerance, iterations, 0)
    matrix = gain_matrix(gain)
    q = np.array(seed, dtype=np.float64)
    error, jacobian = _transpose_error(chain, q, wanted)
    steps = 0
    while steps < iterations:
        if float(error @ error) < tolerance * tolerance:
            break
        with np.errstate(over="ignore", invalid="ignore"):
            q = q + jacobian @ (matrix @ error)
        steps += 1
        if not np.isfinite(q).all():
            break
        error, jacobian = _transpose_error(chain, q, wanted)
    finite = bool(np.isfinite(q).all())
    if finite and float(error @ error) < tolerance * tolerance:
        search = _Search.of(chain, ranges, pose_task(wanted), tolerance)
        return _counted(result_of([_judged(search, q.tolist(), seed)], ranges, seed), steps)
    distance = turn = math.inf
    places = [seed, q.tolist()] if finite else [seed]
    if finite:
        left = pose_task(wanted).lacking(*forward_and_jacobian(chain, q.tolist(), FLOATS))
        distance, turn = left.distance_m, left.turn_rad
    return IkResult(
        reason=(
            f"Jacobian transpose did not converge in {iterations} steps: {distance / MM:.4g} mm and "
            f"{turn / DEG:.4g} deg are left. {_gain_advice(chain, places, matrix)}"
        ),
        distance_m=distance,
        iterations=steps,
    )


def transpose_trail(
    chain: Chain,
    wanted: Frame,
    seed: Sequence[float],
    *,
    gain: npt.ArrayLike = TRANSPOSE_GAIN,
    tolerance: float = TRANSPOSE_TOLERANCE,
    iterations: int = TRANSPOSE_ITERATIONS,
) -> list[list[float]]:
    """Where the joints are after each step of `solve_transpose`, the seed first, for lessons.

    Raises:
        CommandError: as `solve_transpose`.
    """
    _check_settings(tolerance, iterations, 0)
    matrix = gain_matrix(gain)
    q = np.array(seed, dtype=np.float64)
    trail = [q.tolist()]
    while len(trail) <= iterations:
        error, jacobian = _transpose_error(chain, q, wanted)
        if float(error @ error) < tolerance * tolerance:
            break
        with np.errstate(over="ignore", invalid="ignore"):
            q = q + jacobian @ (matrix @ error)
        if not np.isfinite(q).all():
            break
        trail.append(q.tolist())
    return trail


def dls_trail(
    chain: Chain,
    ranges: Sequence[Range],
    task: Task,
    seed: Sequence[float],
    *,
    tolerance: float = DLS_TOLERANCE,
    iterations: int = DLS_ITERATIONS,
) -> list[list[float]]:
    """Where the joints are after each step of `solve_dls` from its first start, the seed first, for lessons.

    Raises:
        CommandError: as `solve_dls`.
    """
    _check_settings(tolerance, iterations, 0)
    search = _Search.of(chain, ranges, task, tolerance)
    trail = [list(seed)]
    for count in range(1, iterations + 1):
        q, _, taken = search.descend(seed, count)
        if taken < count:
            break
        trail.append(q)
    return trail


def nearest_within(chain: Chain, ranges: Sequence[Range], task: Task, seed: Sequence[float]) -> list[float]:
    """Where the arm comes nearest to what it cannot reach, no joint beyond its limits: the minimum near a seed."""
    return _Search.of(chain, ranges, task, DLS_TOLERANCE).nearest(seed)


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
    matrix = gain_matrix(gain)
    # Divided by its largest number first, so that no gain overflows.
    scale = float(np.abs(matrix).max())
    if scale == 0.0:
        return 0.0
    return scale * float(np.abs(np.linalg.eigvals(columns @ (matrix / scale) @ columns.T)).max())


def _gain_advice(chain: Chain, places: Sequence[Sequence[float]], matrix: FloatArray) -> str:
    """What the bound at the start, or else at the end, says about the gain."""
    for q in places:
        largest = transpose_eigenvalue(chain, q, matrix)
        if largest >= 2.0:
            return (
                f"The gain is too large: scale it by less than {2.0 / largest:.3g} "
                f"(2 / lambda_max; largest eigenvalue of J^T K J {largest:.3g}, bound 2)"
            )
    return "The gain is stable: allow more steps, or raise the gain for position and orientation separately"


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


class _Search(NamedTuple):
    """One search on floats; lengths are divided by the arm's own, slides too."""

    chain: Chain
    ranges: Sequence[Range]
    task: Task
    tolerance: float
    length: float
    error_scale: FloatArray
    column_scale: FloatArray
    step_scale: list[float]

    @classmethod
    def of(cls, chain: Chain, ranges: Sequence[Range], task: Task, tolerance: float) -> _Search:
        length = _length(chain, ranges)
        error_scale = np.array([1.0 / length] * 3 + [1.0] * 3)
        step_scale = [1.0 if r.revolute else length for r in ranges]
        return cls(chain, ranges, task, tolerance, length, error_scale, np.outer(step_scale, error_scale), step_scale)

    def residual(self, q: Sequence[float]) -> Residual:
        return self.task.lacking(*forward_and_jacobian(self.chain, q, FLOATS))

    def clipped(self, q: Sequence[float]) -> list[float]:
        """Every joint within its limits."""
        return [min(max(v, r.lower), r.upper) for v, r in zip(q, self.ranges, strict=True)]

    def descend(
        self, start: Sequence[float], iterations: int, *, inside: bool = False
    ) -> tuple[list[float], Residual, int]:
        """The best that the start leads to, and the steps it took; `inside` keeps every joint within its limits."""
        q, before = list(start), math.inf
        residual = self.residual(q)
        count = 0
        while count < iterations and not residual.largest <= self.tolerance:
            half_square = self._half_square(residual)
            if count % PATIENCE == 0:
                if not half_square <= 0.5 * before:
                    break
                before = half_square
            error, columns = self._scaled(residual)
            if inside:
                columns[self._standing(q, columns @ error)] = 0.0
            step = self._step(columns, error, DAMPING * half_square + LEAST_DAMPING)
            if step is None:
                break
            q = [v + s for v, s in zip(q, step, strict=True)]
            if inside:
                q = self.clipped(q)
            residual = self.residual(q)
            count += 1
        return q, residual, count

    def settle(self, start: Sequence[float]) -> tuple[list[float], Residual]:
        """The minimum nearby, limits aside.

        A step that does not improve is taken back and tried again with four times the damping (Levenberg,
        Marquardt).
        """
        q, residual = list(start), self.residual(start)
        half_square = self._half_square(residual)
        damping = DAMPING * half_square
        for _ in range(LAST_STEPS):
            if residual.largest <= self.tolerance:
                break
            error, columns = self._scaled(residual)
            step = self._step(columns, error, damping + 1e3 * LEAST_DAMPING)
            if step is None:
                break
            trial = [v + s for v, s in zip(q, step, strict=True)]
            reached = self.residual(trial)
            if not self._half_square(reached) < half_square:
                damping *= 4.0
                continue
            damping /= 3.0
            q, residual, half_square = trial, reached, self._half_square(reached)
        return q, residual

    def nearest(self, start: Sequence[float]) -> list[float]:
        """The minimum nearby with every joint within its limits, by the steps of `settle`."""
        q = self.clipped(start)
        residual = self.residual(q)
        half_square = self._half_square(residual)
        damping, failed = DAMPING * half_square, 0
        for _ in range(LAST_STEPS):
            error, columns = self._scaled(residual)
            columns[self._standing(q, columns @ error)] = 0.0
            step = self._step(columns, error, damping + 1e3 * LEAST_DAMPING)
            if step is None or failed > MOST_FAILED:
                break
            trial = self.clipped([v + s for v, s in zip(q, step, strict=True)])
            reached = self.residual(trial)
            if not self._half_square(reached) < (1.0 - LEAST_GAIN) * half_square:
                damping, failed = 4.0 * damping, failed + 1
                continue
            damping, failed = damping / 3.0, 0
            q, residual, half_square = trial, reached, self._half_square(reached)
        return q

    def accepted(
        self, q: Sequence[float], seed: Sequence[float] | None, iterations: int
    ) -> tuple[list[IkSolution], int]:
        """A solution as it stands, and if that is outside the limits the one that is reached from there, if any.

        Returns:
            Those, and the steps that the second took.
        """
        solution = _judged(self, q, seed)
        kept = [solution] if solution.error <= self.tolerance else []
        if kept and solution.within_limits:
            return kept, 0
        reached, _, steps = self.descend(self.clipped(solution.q), iterations, inside=True)
        brought = _judged(self, reached, seed)
        if brought.error <= self.tolerance and brought.within_limits:
            kept.append(brought)
        return kept, steps

    def _half_square(self, residual: Residual) -> float:
        return 0.5 * ((residual.distance_m / self.length) ** 2 + residual.turn_rad**2)

    def _scaled(self, residual: Residual) -> tuple[FloatArray, FloatArray]:
        """Error and columns, lengths in units of the arm's own."""
        return np.array(residual.error) * self.error_scale, np.array(residual.columns) * self.column_scale

    def _standing(self, q: Sequence[float], slope: FloatArray) -> list[bool]:
        """Joints at a limit that want to go on outwards."""
        return [
            (v <= r.lower and s < 0.0) or (v >= r.upper and s > 0.0)
            for v, r, s in zip(q, self.ranges, slope.tolist(), strict=True)
        ]

    def _step(self, columns: FloatArray, error: FloatArray, damping: float) -> list[float] | None:
        """The damped step from the smaller of the two normal equations, or None where it is not a number."""
        few = len(columns) < 6
        square = columns @ columns.T if few else columns.T @ columns
        square.flat[:: len(square) + 1] += damping
        try:
            step = np.linalg.solve(square, columns @ error) if few else columns @ np.linalg.solve(square, error)
        except np.linalg.LinAlgError:
            return None
        values = step.tolist()
        if not math.isfinite(sum(values)):
            return None
        longest = max(map(abs, values))
        shrink = MAX_STEP_RAD / longest if longest > MAX_STEP_RAD else 1.0
        return [v * shrink * s for v, s in zip(values, self.step_scale, strict=True)]


def _judged(search: _Search, q: Sequence[float], seed: Sequence[float] | None) -> IkSolution:
    """`q` in the turns that suit limits and seed, with the error that forward kinematics finds there."""
    near = seed if seed is not None else [None] * len(search.ranges)
    turned = tuple(best_turn(v, r, n) for v, r, n in zip(q, search.ranges, near, strict=True))
    error = search.residual(turned).largest
    return IkSolution(q=turned, within_limits=in_range(turned, search.ranges), branch="", error=error)


def _counted(result: IkResult, steps: int) -> IkResult:
    return msgspec.structs.replace(result, iterations=steps)


def _not_found(task: Task, joints: int, starts: int, steps: int, distance_m: float, turn_rad: float) -> IkResult:
    advice = ""
    if task.kind == POSE and joints < 6:
        advice = (
            f"; with {joints} joints most full poses are out of reach: ask for a position with a pitch or a tool axis"
        )
    return IkResult(
        reason=(
            f"no solution found from {starts} starts: the nearest try is {distance_m / MM:.4g} mm and "
            f"{turn_rad / DEG:.4g} deg off (a numeric search cannot prove that there is none){advice}"
        ),
        distance_m=distance_m,
        iterations=steps,
    )


def _distinct(solutions: Sequence[IkSolution]) -> list[IkSolution]:
    """Without those that several starts have found."""
    kept: dict[tuple[int, ...], IkSolution] = {}
    for solution in solutions:
        kept.setdefault(tuple(round(v * 1e5) for v in solution.q), solution)
    return list(kept.values())


def _check_settings(tolerance: float, iterations: int, restarts: int) -> None:
    if not 0.0 < tolerance < math.inf:
        raise CommandError(
            f"tolerance: {tolerance!r} is not a positive number", value=tolerance, allowed="above 0, metres and radians"
        )
    if iterations < 1:
        raise CommandError(f"iterations: {iterations!r} is less than one", value=iterations, allowed="1 or more")
    if restarts < 0:
        raise CommandError(f"restarts: {restarts!r} is less than none", value=restarts, allowed="0 or more")


def _length(chain: Chain, ranges: Sequence[Range]) -> float:
    """What counts as much as one radian: half the length of the stretched-out chain, metres."""
    total = 0.0 if chain.tool is None else math.hypot(*chain.tool[9:])
    for row, limits in zip(chain.rows, ranges, strict=True):
        total += math.hypot(row.a, row.d) + (0.0 if limits.revolute else limits.half_width)
    return 0.5 * total if total > 0.0 else 1.0


def _starts(ranges: Sequence[Range], restarts: int, generator: np.random.Generator | None) -> FloatArray:
    """Random configurations, one per row."""
    generator = np.random.default_rng(0) if generator is None else generator
    low = [max(r.lower, r.middle - r.half_width) for r in ranges]
    high = [min(r.upper, r.middle + r.half_width) for r in ranges]
    return generator.uniform(low, high, (restarts, len(ranges)))


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
