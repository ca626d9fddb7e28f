"""Joint limits in inverse kinematics: whole turns, preference among solutions, what is in the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hil.kinematics.results import IkResult, IkSolution
from hil.model.robot import Joint, JointType
from hil.units import DEG, MM

TURN = 2 * math.pi
TOLERANCE = 1e-9
"""A coordinate this little outside a limit (radians or metres) counts as standing on it."""


class Range(NamedTuple):
    """One joint's limits, infinite where no source gives one."""

    name: str
    revolute: bool
    lower: float
    upper: float

    @property
    def middle(self) -> float:
        """Middle of the range; where a side is open, the value nearest to 0 within it."""
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            return 0.5 * (self.lower + self.upper)
        return min(max(0.0, self.lower), self.upper)

    @property
    def half_width(self) -> float:
        """Half the range; half a turn (or 1 m) where a side is open."""
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            return max(0.5 * (self.upper - self.lower), TOLERANCE)
        return math.pi if self.revolute else 1.0

    def text(self, value: float) -> str:
        """A coordinate in the user's unit."""
        return f"{value / DEG:z.2f} deg" if self.revolute else f"{value / MM:z.2f} mm"


def range_of(joint: Joint) -> Range:
    """Limits of one joint."""
    return Range(
        joint.name,
        joint.type is JointType.REVOLUTE,
        -math.inf if joint.lower is None else joint.lower,
        math.inf if joint.upper is None else joint.upper,
    )


def wrap(angle_rad: float) -> float:
    """The same direction in (-pi, pi]."""
    return angle_rad - TURN * math.ceil((angle_rad - math.pi) / TURN)


def best_turn(value: float, limits: Range, near: float | None) -> float:
    """The same joint angle, whole turns away if that brings it inside its limits or nearer to `near`.

    Where no turn is inside, the one nearest to the limits is taken. A value that rounding has put just outside a
    limit is set on it. Prismatic values stay as they are.
    """
    if limits.revolute:
        value = wrap(value)
        if near is not None:
            value += TURN * round((near - value) / TURN)
        if value < limits.lower - TOLERANCE:
            above = value + TURN * math.ceil((limits.lower - TOLERANCE - value) / TURN)
            value = min(above, above - TURN, key=lambda v: violation(v, limits))
        elif value > limits.upper + TOLERANCE:
            below = value - TURN * math.ceil((value - limits.upper - TOLERANCE) / TURN)
            value = min(below, below + TURN, key=lambda v: violation(v, limits))
    if violation(value, limits) <= TOLERANCE:
        return min(max(value, limits.lower), limits.upper)
    return value


def violation(value: float, limits: Range) -> float:
    """How far outside its limits a coordinate is; 0 inside."""
    return max(limits.lower - value, value - limits.upper, 0.0)


def in_range(q: Sequence[float], ranges: Sequence[Range]) -> bool:
    """True if no coordinate is outside its limits."""
    return all(violation(v, r) == 0.0 for v, r in zip(q, ranges, strict=True))


def discomfort(q: Sequence[float], ranges: Sequence[Range]) -> float:
    """How far the most strained joint is from its middle, as a share of its half range."""
    return max(abs(v - r.middle) / r.half_width for v, r in zip(q, ranges, strict=True))


def squared_distance(q: Sequence[float], seed: Sequence[float]) -> float:
    """Squared joint distance."""
    return sum((a - b) ** 2 for a, b in zip(q, seed, strict=True))


def ranked(
    solutions: Sequence[IkSolution], ranges: Sequence[Range], seed: Sequence[float] | None
) -> tuple[IkSolution, ...]:
    """Within limits first; then nearest to the seed, or the most comfortable."""

    def key(solution: IkSolution) -> tuple[bool, float]:
        cost = discomfort(solution.q, ranges) if seed is None else squared_distance(solution.q, seed)
        return not solution.within_limits, cost

    return tuple(sorted(solutions, key=key))


def result_of(solutions: Sequence[IkSolution], ranges: Sequence[Range], seed: Sequence[float] | None) -> IkResult:
    """Solutions in order of preference; if none is within limits, the limit least in the way is named."""
    ordered = ranked(solutions, ranges, seed)
    if ordered[0].within_limits:
        return IkResult(solutions=ordered)
    excess, value, limits = min(
        (max((violation(v, r), v, r) for v, r in zip(solution.q, ranges, strict=True)) for solution in ordered),
        key=lambda worst: worst[0],
    )
    side, bound = ("lower", limits.lower) if value < limits.lower else ("upper", limits.upper)
    limit = f"{side} limit {limits.text(bound)}"
    return IkResult(
        solutions=ordered,
        reason=(
            f"within reach, but only outside joint limits: {limits.name} would have to be at "
            f"{limits.text(value)}, {limits.text(excess)} beyond its {limit}"
        ),
        joint=limits.name,
        limit=limit,
    )
