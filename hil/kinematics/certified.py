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
from hil.kernels.closed_form import Branch, ClosedForm, KeepingForm
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

BESIDE = 1e-3
"""With a lever (see `KeepingForm`) shorter than this a seed's value is tried in the joint that is all but open.

It is the root of `ACCEPTED_ERROR`: farther away the certificate leaves a joint no more than a thousandth of a radian.
"""

HELD_ERROR = 0.9 * ACCEPTED_ERROR
"""What it may cost to hold a joint at its seed: the certificate, with room for what rounding adds."""

AT_SEED = 1e-12
"""A joint this near to its seed (radians) is there."""

SAME_RAD = 1e-6
"""Answers this near to each other are one: a straight elbow splits by the root of the rounding error."""


BoolArray: TypeAlias = npt.NDArray[np.bool_]

PROBES = (1e-3, 1.0, -1.0, 2.0, -2.0, 3.0)
"""How far (radians or metres) a rest value is moved to see which joints a singular pose leaves open.

The far ones are for a joint that stands at the edge of what the reach leaves it.
"""

MOVED = 1e-6
"""A joint that moves less than this when a rest value is moved does not take part."""

TAKES_PART = 0.01
"""The same beside a singular pose, as a share of the move: there all joints follow a little."""


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
    return _solutions(form, pose, rest, form.solve(pose, rest, FLOATS))


def judged_solutions(
    form: ClosedForm, ranges: Sequence[Range], pose: Frame, rest: Sequence[float], seed: Sequence[float] | None
) -> list[IkSolution]:
    """Every posture that reaches `pose`, limits judged.

    With a seed a joint that the pose leaves all but open keeps the seed's value, as one that it leaves open: as long
    as forward kinematics then lacks no more than `ACCEPTED_ERROR`, and no limit breaks that would otherwise hold.
    """
    branches = form.solve(pose, rest, FLOATS)
    judged = [in_limits(s, ranges, seed) for s in _solutions(form, pose, rest, branches)]
    # Elsewhere, which is all but everywhere, this comparison is all that it costs. Where `free` is the square of a
    # lever it lets a little more through.
    if seed is None or max(branch.free for branch in branches) < -BESIDE or not isinstance(form, KeepingForm):
        return judged
    tries = form.kept(pose, seed, FLOATS)
    if not tries:
        return judged
    exact = {s.branch: s for s in judged}
    held = {}
    for index, (name, branch) in enumerate(zip(form.branches, branches, strict=True)):
        solution = exact.get(name)
        found = None if form.lever(branch.free) > BESIDE else _held(form, pose, seed, index, branches, solution, tries)
        there = None if found is None else in_limits(found, ranges, seed)
        if there is not None and (there.within_limits or solution is None or not solution.within_limits):
            held[name] = there
    if not held:
        return judged
    together = _held_together(form, pose, seed, tries)
    noted = [structs.replace(s, note=_held_note(form, together[s.branch], s, seed)) for s in distinct([*held.values()])]
    others = [s for s in judged if s.branch not in held and not any(_same(s.q, other.q) for other in noted)]
    return [*noted, *others]


def _solutions(form: ClosedForm, pose: Frame, rest: Sequence[float], branches: Sequence[Branch]) -> list[IkSolution]:
    """Those branches that are solutions, singular ones noted, best error first."""
    confirmed = (_confirmed(form, pose, branches, index) for index in range(len(branches)))
    found = [solution for solution in confirmed if solution is not None]
    # This asks which postures are real: one that misses an exact target by more, while another meets it, only comes
    # near. A seed's value is therefore held afterwards, in postures that passed: it asks where such a posture stands
    # in a freedom that the pose all but leaves, and there the promise is the wider one.
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
    judged = judged_solutions(form, ranges, pose, rest, seed)
    if not judged:
        return _refusal(form, pose, rest)
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
    words = "; ".join(_joint_words(form, joint, q, rest) for joint in joints)
    return f"singular pose: {words}" if words else "singular pose"


def _joint_words(form: ClosedForm, joint: OpenJoint, q: Sequence[float], rest: Sequence[float]) -> str:
    """That a joint is open, which others go with it, and where it was put."""
    i = joint.joint
    away = _wrapped(form.chain, [a - b for a, b in zip(q, rest, strict=True)])
    names = [f"J{j + 1}" for j, slope in enumerate(joint.slopes) if slope != 0.0]
    together = f" ({', '.join(names[:-1])} and {names[-1]} can move together)" if len(names) > 1 else ""
    value = f"{q[i] / DEG:z.2f} deg" if form.chain.rows[i].revolute else f"{q[i] / MM:z.2f} mm"
    return f"J{i + 1} is free{together} and was {'kept at' if abs(away[i]) <= MOVED else 'set to'} {value}"


def _held(
    form: KeepingForm,
    pose: Frame,
    seed: Sequence[float],
    index: int,
    branches: Sequence[Branch],
    solution: IkSolution | None,
    tries: Sequence[Branch],
) -> IkSolution | None:
    """A branch with its all but open joint at the seed, or on the way there; None where it stays as it is.

    What that costs may rise to `HELD_ERROR`. From there to twice as much the joint goes over to its exact value, and
    so it does towards `BESIDE`: for one seed the answer has no step, and whoever creeps along a line finds no gap.

    Args:
        form: the arm's closed form.
        pose: wanted tool frame in the world.
        seed: n joint coordinates.
        index: of the branch.
        branches: as the equations give them.
        solution: the branch, certified; None if it is none. An elbow that cannot follow where the pose would have the
            joint may well do where the seed has it.
        tries: all branches with the joint at the seed.
    """
    joint, name = form.kept_joint, form.branches[index]
    allowed = HELD_ERROR * min(2.0 * (1.0 - form.lever(branches[index].free) / BESIDE), 1.0)
    q = tries[index].q
    cost = _lacking(form, pose, tries[index])
    if solution is None:
        reached = tries[index].exists >= 0.0 and cost <= allowed
        return IkSolution(_wrapped(form.chain, q), within_limits=True, branch=name, error=cost) if reached else None
    turn = wrap(q[joint] - solution.q[joint])
    if not cost < 2.0 * allowed:
        return None
    # Where the pose leaves the joint open, some branches have it at the seed and others half a turn away. That stays,
    # unless rounding has left it open for some and not for others, who would then have it at the same place.
    opened = all(branch.free >= 0.0 for branch in branches if form.lever(branch.free) <= BESIDE)
    if opened and abs(math.sin(turn)) <= AT_SEED:
        return None
    if cost > allowed:
        # It costs as the sine of the turn.
        turn = math.asin((2.0 * allowed - cost) / cost * math.sin(turn))
        there = [*seed[:joint], solution.q[joint] + turn, *seed[joint + 1 :]]
        between = form.kept(pose, there, FLOATS)[index]
        q, cost = between.q, _lacking(form, pose, between)
    if not cost <= ACCEPTED_ERROR:
        return None
    return structs.replace(solution, q=_wrapped(form.chain, q), error=cost)


def _lacking(form: ClosedForm, pose: Frame, branch: Branch) -> float:
    """What forward kinematics of a branch with a held joint lacks; infinite where it is no such posture."""
    if not branch.exists >= -ACCEPTED_ERROR or not all(map(math.isfinite, branch.q)):
        return math.inf
    return float(pose_error(forward(form.chain, _wrapped(form.chain, branch.q), FLOATS), pose, FLOATS))


def _held_together(
    form: KeepingForm, pose: Frame, seed: Sequence[float], tries: Sequence[Branch]
) -> dict[str, OpenJoint]:
    """Which joints move with the one that is held, per branch."""
    moved = [v + PROBES[0] * (i == form.kept_joint) for i, v in enumerate(seed)]
    found = {}
    for name, here, there in zip(form.branches, tries, form.kept(pose, moved, FLOATS), strict=True):
        change = _wrapped(form.chain, [b - a for a, b in zip(here.q, there.q, strict=True)])
        slopes = tuple(v / PROBES[0] if abs(v) > TAKES_PART * PROBES[0] else 0.0 for v in change)
        found[name] = OpenJoint(form.kept_joint, slopes)
    return found


def _held_note(form: ClosedForm, joint: OpenJoint, solution: IkSolution, seed: Sequence[float]) -> str:
    """What the solution said already, and which joint was held in words."""
    words = _joint_words(form, joint, solution.q, seed)
    held = f"nearly singular pose: {words}"
    told = f"J{joint.joint + 1} is free" in solution.note
    return f"{solution.note}; {held}" if solution.note and not told else held


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
