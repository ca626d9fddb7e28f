"""Closed forms made safe to use: every branch checked by forward kinematics, wrapped, and told apart.

One pose gives records in order of preference, many poses give arrays. Nothing that forward kinematics does not
confirm is called a solution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import structs

from hil.kernels.chain import Chain, Frame, forward
from hil.kernels.closed_form import Branch, ClosedForm
from hil.kernels.emit_numpy import BLOCK
from hil.kernels.inverse import pose_error
from hil.kernels.scalar import ARRAYS, FLOATS, FloatArray
from hil.kinematics.limits import TURN, Range, best_turn, in_range, result_of, wrap
from hil.kinematics.results import IkResult, IkSolution
from hil.units import DEG, MM

ACCEPTED_ERROR = 1e-6
"""What forward kinematics may lack (metres, radians) where the target itself was given with rounding."""

EXACT_ERROR = 1e-9
"""What it lacks at most where the target is exact; if one posture is that good, worse ones are no solutions."""

SAME_RAD = 1e-6
"""Answers this near to each other are one: a straight elbow splits by the root of the rounding error."""


BoolArray: TypeAlias = npt.NDArray[np.bool_]

PROBES = (1e-3, 1.0, -1.0, 2.0, -2.0, 3.0)
"""How far (radians or metres) a rest value is moved to see which joints a singular pose leaves open.

The far ones are for a joint that stands at the edge of what the reach leaves it.
"""

MOVED = 1e-6
"""A joint that moves less than this when a rest value is moved does not take part."""


PLACES = 49
"""Where an open joint is tried over its range if the place it has breaks a limit."""


class OpenJoint(NamedTuple):
    """A joint that a singular pose leaves open, and how far each joint moves with its rest value."""

    joint: int
    slopes: tuple[float, ...]


class AllSolutions(NamedTuple):
    """Every branch of N poses.

    Attributes:
        q: shape (N, k, n), k being the number of the family's branches; always finite. Slot b is always the
            posture `branches[b]`, so that one posture can be followed along a path.
        valid: shape (N, k), True where `q` was confirmed by forward kinematics. Elsewhere the branch does not
            reach the pose (`q` then is the nearest posture it has), or equals another valid one.
    """

    q: FloatArray
    valid: BoolArray


def all_solutions(form: ClosedForm, pose: Frame, rest: Sequence[float]) -> list[IkSolution]:
    """Every posture that reaches `pose`, angles in (-pi, pi], no limits applied, best error first.

    Args:
        form: the arm's closed form.
        pose: wanted tool frame in the world.
        rest: n joint coordinates to keep where the pose leaves them open.
    """
    branches = form.solve(pose, rest, FLOATS)
    confirmed = (_confirmed(form, pose, branches, index) for index in range(len(branches)))
    found = [solution for solution in confirmed if solution is not None]
    exact = [solution for solution in found if solution.error <= EXACT_ERROR]
    kept = distinct(exact or found)
    is_open = {name for name, branch in zip(form.branches, branches, strict=True) if branch.free >= 0.0}
    if not any(solution.branch in is_open for solution in kept):
        return kept
    joints = open_joints(form, pose, rest)
    return [
        structs.replace(s, note=_note(form, joints[s.branch], s.q, rest)) if s.branch in is_open else s for s in kept
    ]


def solve_pose(form: ClosedForm, ranges: Sequence[Range], pose: Frame, seed: Sequence[float] | None) -> IkResult:
    """All solutions for a pose, those within limits first, or the reason why there is none.

    Args:
        form: the arm's closed form.
        ranges: limits per joint.
        pose: wanted tool frame in the world.
        seed: n joint coordinates; solutions near them come first, and open joints stay there. Without,
            open joints go to the middle of their range. They leave it where that alone meets the limits.
    """
    rest = [r.middle for r in ranges] if seed is None else list(seed)
    found = all_solutions(form, pose, rest)
    if not found:
        return _refusal(form, pose, rest)
    judged = [in_limits(s, ranges, seed) for s in found]
    if not any(s.within_limits for s in judged) and any(s.note for s in judged):
        judged = _moved_inside(form, ranges, pose, rest, judged)
    return result_of(judged, ranges, seed)


def in_limits(solution: IkSolution, ranges: Sequence[Range], seed: Sequence[float] | None) -> IkSolution:
    """The same solution with each angle on its best turn, and the limits judged."""
    near = seed if seed is not None else [None] * len(ranges)
    q = tuple(best_turn(v, r, n) for v, r, n in zip(solution.q, ranges, near, strict=True))
    return structs.replace(solution, q=q, within_limits=in_range(q, ranges))


def distinct(solutions: list[IkSolution]) -> list[IkSolution]:
    """One of each group of equal answers, the most exact one, in the order of their errors."""
    kept: list[IkSolution] = []
    for solution in sorted(solutions, key=lambda s: s.error):
        if not any(_same(solution.q, other.q) for other in kept):
            kept.append(solution)
    return kept


def all_solutions_many(form: ClosedForm, poses: FloatArray, rest: Sequence[float] | None = None) -> AllSolutions:
    """Every branch of many poses, angles in (-pi, pi], no limits applied.

    Args:
        form: the arm's closed form.
        poses: wanted tool frames in the world, shape (N, 4, 4).
        rest: n joint coordinates to keep where a pose leaves them open; zeros by default.
    """
    count, joints = len(form.branches), len(form.chain.rows)
    q = np.empty((len(poses), count, joints))
    valid = np.empty((len(poses), count), dtype=np.bool_)
    kept = [0.0] * joints if rest is None else list(rest)
    for first in range(0, len(poses), BLOCK):
        rows = slice(first, first + BLOCK)
        _solve_block(form, poses[rows], kept, q[rows], valid[rows])
    return AllSolutions(q, valid)


def certify(form: ClosedForm, poses: FloatArray, q: FloatArray, exists: BoolArray) -> BoolArray:
    """Which branches of a batch are solutions: confirmed by forward kinematics, and not the same as another one.

    The counterpart of `all_solutions` for branches that any kernel has found.

    Args:
        form: the arm's closed form.
        poses: wanted tool frames, shape (N, 4, 4).
        q: branches with wrapped angles, shape (N, k, n).
        exists: what the equations say about them, shape (N, k).
    """
    error = np.where(exists, _errors(form.chain, poses, q), np.inf)
    best = error.min(axis=1, keepdims=True)
    valid: BoolArray = error <= np.where(best <= EXACT_ERROR, EXACT_ERROR, ACCEPTED_ERROR)
    for i in range(q.shape[1]):
        for j in range(i + 1, q.shape[1]):
            same = valid[:, i] & valid[:, j]
            if not same.any():
                continue
            apart = np.abs(_wrapped_array(form.chain, q[same, i] - q[same, j])).max(axis=1)
            same[same] = apart < SAME_RAD
            worse = error[:, j] >= error[:, i]
            valid[:, j] &= ~(same & worse)
            valid[:, i] &= ~(same & ~worse)
    return valid


def _solve_block(form: ClosedForm, poses: FloatArray, rest: list[float], q: FloatArray, valid: BoolArray) -> None:
    columns = np.ascontiguousarray(poses[:, :3, :].transpose(2, 1, 0)).reshape(12, len(poses))
    wanted: Frame = tuple(columns)  # type: ignore[assignment]
    exists = np.empty(valid.shape, dtype=np.bool_)
    for b, branch in enumerate(form.solve(wanted, rest, ARRAYS)):
        for i, value in enumerate(branch.q):
            q[:, b, i] = value
        exists[:, b] = np.greater_equal(branch.exists, 0.0)
    q[:] = _wrapped_array(form.chain, q)
    valid[:] = certify(form, poses, q, exists)


def _errors(chain: Chain, poses: FloatArray, q: FloatArray) -> FloatArray:
    """What forward kinematics lacks, as `pose_error` measures it, shape (N, k)."""
    reached = forward(chain, np.moveaxis(q, -1, 0), ARRAYS)
    turn = np.zeros(q.shape[:2])
    way = np.zeros(q.shape[:2])
    for index, value in enumerate(reached):
        column, row = divmod(index, 3)
        difference = value - poses[:, row, column, None]
        total = turn if column < 3 else way
        total += difference * difference
    errors: FloatArray = np.sqrt(np.maximum(0.5 * turn, way))
    return errors


def _wrapped(chain: Chain, q: Sequence[float]) -> tuple[float, ...]:
    return tuple(wrap(v) if row.revolute else v for v, row in zip(q, chain.rows, strict=True))


def _wrapped_array(chain: Chain, q: FloatArray) -> FloatArray:
    turning = np.array([row.revolute for row in chain.rows])
    wrapped: FloatArray = q - np.where(turning, TURN * np.ceil((q - math.pi) / TURN), 0.0)
    return wrapped


def open_joints(form: ClosedForm, pose: Frame, rest: Sequence[float]) -> dict[str, list[OpenJoint]]:
    """Which joints a pose leaves open, per branch: those that follow when a rest value is moved."""
    before = form.solve(pose, rest, FLOATS)
    found: dict[str, list[OpenJoint]] = {name: [] for name in form.branches}
    for i, row in enumerate(form.chain.rows):
        missing = {name for name, branch in zip(form.branches, before, strict=True) if branch.free >= 0.0}
        for step in PROBES if row.revolute else PROBES[:1]:
            after = form.solve(pose, [v + step * (j == i) for j, v in enumerate(rest)], FLOATS)
            for name, here, there in zip(form.branches, before, after, strict=True):
                change = _wrapped(form.chain, [b - a for a, b in zip(here.q, there.q, strict=True)])
                if name in missing and abs(change[i]) > MOVED:
                    missing.remove(name)
                    found[name].append(OpenJoint(i, tuple(v / step if abs(v) > MOVED else 0.0 for v in change)))
            if not missing:
                break
    return found


def _confirmed(form: ClosedForm, pose: Frame, branches: Sequence[Branch], index: int) -> IkSolution | None:
    """One branch as a solution, if forward kinematics agrees."""
    branch = branches[index]
    if not branch.exists >= 0.0 or not all(map(math.isfinite, branch.q)):
        return None
    q = _wrapped(form.chain, branch.q)
    error = pose_error(forward(form.chain, q, FLOATS), pose, FLOATS)
    if not error <= ACCEPTED_ERROR:
        return None
    return IkSolution(q=q, within_limits=True, branch=form.branches[index], error=error)


def _note(form: ClosedForm, joints: Sequence[OpenJoint], q: Sequence[float], rest: Sequence[float]) -> str:
    """Which joints are open in words, and where they were put."""
    parts = []
    away = _wrapped(form.chain, [a - b for a, b in zip(q, rest, strict=True)])
    for joint in joints:
        i = joint.joint
        names = [f"J{j + 1}" for j, slope in enumerate(joint.slopes) if slope != 0.0]
        together = f" ({', '.join(names[:-1])} and {names[-1]} can move together)" if len(names) > 1 else ""
        value = f"{q[i] / DEG:z.2f} deg" if form.chain.rows[i].revolute else f"{q[i] / MM:z.2f} mm"
        parts.append(f"J{i + 1} is free{together} and was {'kept at' if abs(away[i]) <= MOVED else 'set to'} {value}")
    return f"singular pose: {'; '.join(parts)}" if parts else "singular pose"


def _moved_inside(
    form: ClosedForm, ranges: Sequence[Range], pose: Frame, rest: Sequence[float], solutions: Sequence[IkSolution]
) -> list[IkSolution]:
    """The same solutions, with open joints moved as little as brings all joints within their limits."""
    joints = open_joints(form, pose, rest)

    def moved(solution: IkSolution) -> IkSolution:
        index = form.branches.index(solution.branch)
        for joint in joints[solution.branch] if solution.note else ():
            for value in _places(joint, ranges, solution.q):
                there = [*rest[: joint.joint], value, *rest[joint.joint + 1 :]]
                found = _confirmed(form, pose, form.solve(pose, there, FLOATS), index)
                judged = None if found is None else in_limits(found, ranges, there)
                if judged is not None and judged.within_limits and judged.error <= max(solution.error, EXACT_ERROR):
                    return structs.replace(judged, note=_note(form, joints[solution.branch], judged.q, rest))
        return solution

    return [moved(solution) for solution in solutions]


def _places(joint: OpenJoint, ranges: Sequence[Range], q: Sequence[float]) -> list[float]:
    """Where to try an open joint, the nearest first: over its range, and where the others meet their limits."""
    own = ranges[joint.joint]
    here = q[joint.joint]
    low, high = max(own.lower, own.middle - own.half_width), min(own.upper, own.middle + own.half_width)
    places = np.linspace(low, high, PLACES).tolist()
    for value, slope, limits in zip(q, joint.slopes, ranges, strict=True):
        if slope != 0.0:
            bounds = (bound + turn for bound in (limits.lower, limits.upper) for turn in (-TURN, 0.0, TURN))
            places += [here + (bound - value) / slope for bound in bounds if math.isfinite(bound)]
    return sorted((v for v in places if low <= v <= high), key=lambda v: abs(v - here))


def _refusal(form: ClosedForm, pose: Frame, rest: Sequence[float]) -> IkResult:
    """How near the nearest posture of any branch comes."""
    tries = []
    for name, branch in zip(form.branches, form.solve(pose, rest, FLOATS), strict=True):
        reached = forward(form.chain, branch.q, FLOATS)
        turn = 2.0 * math.asin(min(0.5 * pose_error((*reached[:9], *pose[9:]), pose, FLOATS), 1.0))
        tries.append((math.dist(reached[9:], pose[9:]), turn, name))
    distance, turn, name = min(tries, key=lambda t: max(t[0], t[1]))
    where = f"({name})" if name else ""
    if turn <= ACCEPTED_ERROR:
        reason = f"out of reach by {distance / MM:.3f} mm with this orientation, in the nearest posture {where}"
        return IkResult(reason=reason, distance_m=distance)
    lacking = f"{turn / DEG:.3f} deg off in the nearest posture {where}"
    if distance <= ACCEPTED_ERROR:
        return IkResult(reason=f"{len(form.chain.rows)} axes cannot take this orientation here: it is {lacking}")
    return IkResult(
        reason=f"out of reach by {distance / MM:.3f} mm, and the orientation is {lacking}",
        distance_m=distance,
    )


def _same(q: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(wrap(a - b)) < SAME_RAD for a, b in zip(q, other, strict=True))
