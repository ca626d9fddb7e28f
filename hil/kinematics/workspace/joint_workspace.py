"""The joint workspace: what the places of a Cartesian box ask of every joint, with lamps for exceeded limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from hil.errors import CommandError
from hil.kinematics.limits import Range, violation
from hil.kinematics.results import IkResult, IkSolution
from hil.kinematics.workspace.cloud import Progress
from hil.types import Record
from hil.units import MM

MOST_SAMPLES = 1_000_000

Point = tuple[float, float, float]


class JointNeed(Record, frozen=True):
    """What the box asks of one joint, radians (metres where prismatic).

    Attributes:
        name: the joint's.
        lower, upper: the joint's limits, None where there is none.
        needed_lower, needed_upper: range over the samples within reach, of the posture that is used at each: the
            best within limits, or where there is none the best outside. None if no sample is within reach.
        lamp: number of samples at which the posture that is used breaks this joint's limits; lit above 0.
        worst: by how much at most.
    """

    name: str
    lower: float | None
    upper: float | None
    needed_lower: float | None
    needed_upper: float | None
    lamp: int
    worst: float


class PostureNeed(Record, frozen=True):
    """The same for one posture kept all over the box, for example ``front, elbow up``.

    Attributes:
        branch: the posture's name; empty for numeric answers.
        samples: samples that it reaches, within limits or not.
        usable: of these, within all limits.
        needed: lower and upper end of the range needed, per joint.
        lamps: per joint, samples that break its limits.
    """

    branch: str
    samples: int
    usable: int
    needed: tuple[tuple[float, float], ...]
    lamps: tuple[int, ...]


class Sample(Record, frozen=True):
    """One place of the box.

    Attributes:
        point_m: in the world.
        solutions: all postures, those within limits first.
        reason: why none can be used; empty if one can.
        lamps: indices of the joints whose limits the first solution breaks.
    """

    point_m: Point
    solutions: tuple[IkSolution, ...]
    reason: str
    lamps: tuple[int, ...]

    @property
    def usable(self) -> bool:
        """True if some posture is within all limits."""
        return not self.reason


class JointWorkspace(Record, frozen=True):
    """A box seen from the joints.

    Attributes:
        samples: all places tried, z fastest.
        usable: number of them with a posture within all limits.
        beyond_limits: within reach, but with no posture within all limits.
        out_of_reach: with no posture at all.
        joints: per joint.
        postures: per posture, the one with the most usable samples first.
    """

    samples: tuple[Sample, ...]
    usable: int
    beyond_limits: int
    out_of_reach: int
    joints: tuple[JointNeed, ...]
    postures: tuple[PostureNeed, ...]


def box_points(corner_m: Sequence[float], opposite_m: Sequence[float], step_m: float) -> tuple[Point, ...]:
    """Points evenly over a box, faces included, z fastest; neighbours are at most `step_m` apart.

    Args:
        corner_m: x, y, z of one corner.
        opposite_m: of the opposite one; a box may be a plane, a line or a point.
        step_m: largest distance of neighbours.

    Raises:
        CommandError: a number that is not finite, a step that is not positive, too many points.
    """
    if len(corner_m) != 3 or len(opposite_m) != 3 or not all(map(math.isfinite, (*corner_m, *opposite_m))):
        raise CommandError(
            f"box from {tuple(corner_m)} to {tuple(opposite_m)} given; allowed: twice x, y, z, finite",
            value=(tuple(corner_m), tuple(opposite_m)),
            allowed="twice x, y, z, finite",
        )
    if not (math.isfinite(step_m) and step_m > 0.0):
        raise CommandError(f"box step {step_m / MM:g} mm given; allowed: above 0", value=step_m, allowed="above 0")
    sizes = [math.ceil(abs(b - a) / step_m - 1e-9) + 1 for a, b in zip(corner_m, opposite_m, strict=True)]
    if math.prod(sizes) > MOST_SAMPLES:
        raise CommandError(
            f"a step of {step_m / MM:g} mm makes {math.prod(sizes)} samples of this box; allowed: {MOST_SAMPLES}",
            value=step_m,
            allowed=f"at most {MOST_SAMPLES} samples",
        )
    axes = [
        np.linspace(min(a, b), max(a, b), size).tolist() for a, b, size in zip(corner_m, opposite_m, sizes, strict=True)
    ]
    return tuple(product(*axes))


def joint_workspace(
    points: Sequence[Point],
    solve: Callable[[Point], IkResult],
    ranges: Sequence[Range],
    on_progress: Progress | None = None,
) -> JointWorkspace:
    """Sweep the points through inverse kinematics and note what every joint has to do.

    Args:
        points: from `box_points`, metres in the world.
        solve: inverse kinematics of a point, with whatever orientation is wanted; all solutions, best first.
        ranges: the joints' limits.
        on_progress: is told how many points are done.

    Raises:
        CommandError: no points.
    """
    if not points:
        raise CommandError("no points given; allowed: one or more", value=0, allowed="one or more")
    samples = []
    for done, point in enumerate(points, 1):
        result = solve(point)
        samples.append(
            Sample(
                point_m=point,
                solutions=result.solutions,
                reason=result.reason,
                lamps=_lamps(result.solutions[0], ranges) if result.solutions else (),
            )
        )
        if on_progress is not None:
            on_progress(done)
    usable = sum(sample.usable for sample in samples)
    reached = [sample for sample in samples if sample.solutions]
    return JointWorkspace(
        samples=tuple(samples),
        usable=usable,
        beyond_limits=len(reached) - usable,
        out_of_reach=len(samples) - len(reached),
        joints=tuple(_need(i, limits, reached) for i, limits in enumerate(ranges)),
        postures=_postures(reached, ranges),
    )


def _lamps(solution: IkSolution, ranges: Sequence[Range]) -> tuple[int, ...]:
    return tuple(i for i, (v, r) in enumerate(zip(solution.q, ranges, strict=True)) if violation(v, r) > 0.0)


def _need(joint: int, limits: Range, reached: Sequence[Sample]) -> JointNeed:
    values = [sample.solutions[0].q[joint] for sample in reached]
    return JointNeed(
        name=limits.name,
        lower=limits.lower if math.isfinite(limits.lower) else None,
        upper=limits.upper if math.isfinite(limits.upper) else None,
        needed_lower=min(values, default=None),
        needed_upper=max(values, default=None),
        lamp=sum(joint in sample.lamps for sample in reached),
        worst=max((violation(v, limits) for v in values), default=0.0),
    )


def _postures(reached: Sequence[Sample], ranges: Sequence[Range]) -> tuple[PostureNeed, ...]:
    by_branch: dict[str, list[IkSolution]] = {}
    for sample in reached:
        # Where a branch has several answers (a free pitch), the first is the best.
        for branch, solution in {s.branch: s for s in reversed(sample.solutions)}.items():
            by_branch.setdefault(branch, []).append(solution)
    postures = []
    for branch, solutions in by_branch.items():
        lamps = [_lamps(solution, ranges) for solution in solutions]
        columns = list(zip(*(solution.q for solution in solutions), strict=True))
        postures.append(
            PostureNeed(
                branch=branch,
                samples=len(solutions),
                usable=sum(not lit for lit in lamps),
                needed=tuple((min(column), max(column)) for column in columns),
                lamps=tuple(sum(i in lit for lit in lamps) for i in range(len(ranges))),
            )
        )
    return tuple(sorted(postures, key=lambda posture: (-posture.usable, -posture.samples, posture.branch)))
