"""From measured points to a calibrated axis: limits, residuals, and which measurements cannot be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from hil.errors import InterlockError
from hil.model._calibration_file import PULSE_US, AxisCalibration, Direction
from hil.piecewise import PiecewiseLinear
from hil.workbench._calibration_plan import AxisPlan, Progress

SLOPES = (0.4, 2.5)
"""A servo turns by so many times its usual angle per microsecond, or something was misread."""
SPAN = 0.25
"""The points have to cover this part of the range at least."""
FAR = 0.3
"""A joint whose servo stands in the middle is not further from its own middle than this part of its range."""
BEYOND = 0.06
"""The part of the range by which limits may lie beyond the outermost points: nobody has measured there."""


def inside(pulse_us: int) -> int:
    """The nearest pulse that a servo takes."""
    return min(max(pulse_us, PULSE_US[0]), PULSE_US[1])


def calibrated(axis: AxisPlan, progress: Progress) -> AxisCalibration:
    """What was measured of one axis, with residuals and limits.

    Limits are those of the rig, narrowed to what pulses of 500 to 2500 us reach and to a little beyond the outermost
    points. Pulse limits are the whole microseconds just outside them.

    Raises:
        InterlockError: there are too few points.
    """
    points = tuple(sorted(progress.points.get(axis.name, ())))
    if words := lacking(axis, points):
        raise InterlockError(words, [axis.name])
    low, high = _limits(axis, points)
    pulses = PiecewiseLinear(*zip(*points, strict=True))
    edge_us = sorted((pulses(low), pulses(high)))
    return AxisCalibration(
        channel=progress.channels[axis.name],
        direction=progress.directions[axis.name],
        points=points,
        residuals=residuals(points),
        lower_us=inside(math.floor(edge_us[0] + 1e-8)),
        upper_us=inside(math.ceil(edge_us[1] - 1e-8)),
        lower=None if low == axis.lower else low,
        upper=None if high == axis.upper else high,
    )


def pulse_at(axis: AxisPlan, points: Sequence[tuple[float, int]], direction: Direction, position: float) -> float:
    """The pulse of a position by what was measured, one point at least; by a single one and the usual slope."""
    if len(points) > 1:
        return PiecewiseLinear(*zip(*sorted(points), strict=True))(position)
    return points[0][1] + (position - points[0][0]) * axis.us_per_unit * (1.0 if direction == "rising" else -1.0)


def position_at(axis: AxisPlan, points: Sequence[tuple[float, int]], direction: Direction, pulse_us: int) -> float:
    """The position of a pulse, as `pulse_at`."""
    if len(points) > 1:
        return PiecewiseLinear(*zip(*sorted(points), strict=True)).inverse(pulse_us)
    return points[0][0] + (pulse_us - points[0][1]) / axis.us_per_unit * (1.0 if direction == "rising" else -1.0)


def residuals(points: Sequence[tuple[float, int]]) -> tuple[float, ...]:
    """How far each point lies from the straight line of least squares through all, in units of position."""
    count = len(points)
    mean, mean_us = sum(point[0] for point in points) / count, sum(point[1] for point in points) / count
    slope = sum((at - mean) * (us - mean_us) for at, us in points) / sum((us - mean_us) ** 2 for _, us in points)
    return tuple(round(at - mean - slope * (us - mean_us), 3) + 0.0 for at, us in points)


def _limits(axis: AxisPlan, points: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Limits of the axis with these points, rising."""
    ends = sorted(PiecewiseLinear(*zip(*points, strict=True)).inverse(pulse_us) for pulse_us in PULSE_US)
    low = max(points[0][0] - BEYOND * axis.span, ends[0])
    high = min(points[-1][0] + BEYOND * axis.span, ends[1])
    return (
        axis.lower if low <= axis.lower else math.ceil(low * 10.0) / 10.0,
        axis.upper if high >= axis.upper else math.floor(high * 10.0) / 10.0,
    )


def lacking(axis: AxisPlan, points: Sequence[tuple[float, int]]) -> str:
    """What is missing before an axis is calibrated; empty if nothing is."""
    covered = max(points)[0] - min(points)[0] if points else 0.0
    if len(points) < 2 or covered < SPAN * axis.span:
        return (
            f"{axis.name}: {len(points)} points over {axis.say(covered)}; needed: two or more over "
            f"{axis.say(SPAN * axis.span)}, better five over the whole range"
        )
    low, high = _limits(axis, sorted(points))
    if low > axis.needs[0] or high < axis.needs[1]:
        return (
            f"{axis.name}: measured so far, it may go from {axis.say(low)} to {axis.say(high)}; home and park of the "
            f"rig need {axis.say(axis.needs[0])} to {axis.say(axis.needs[1])}. Measure nearer to that end. If the "
            f"servo does not get there, move its horn by a tooth (--centre), or change home or park in the rig"
        )
    return ""


def doubt(axis: AxisPlan, points: Sequence[tuple[float, int]], new: tuple[float, int], direction: Direction) -> str:
    """Why a measurement cannot be; empty if it can."""
    position, pulse_us = new
    if not axis.lower - axis.span / 2 <= position <= axis.upper + axis.span / 2:
        return (
            f"{position:g} {axis.unit}: {axis.name} goes from {axis.say(axis.lower)} to {axis.say(axis.upper)} by the "
            f"rig's file. Type = and what you measure, in {axis.unit}"
        )
    expected = axis.first_at + (pulse_us - axis.first_us) / axis.us_per_unit * (1.0 if direction == "rising" else -1.0)
    if not points and abs(position - expected) > FAR * axis.span:
        return (
            f"{axis.say(position)} at {pulse_us} us: it should be near {axis.say(expected)}. Measure again; if it is "
            "so, the horn is several teeth off: put it on anew with --centre"
        )
    for (at, at_us), (to, to_us) in pairwise(sorted((*points, new), key=lambda point: point[1])):
        per_us = (to - at) / (to_us - at_us)
        if per_us == 0.0 or (per_us > 0.0) != (direction == "rising"):
            return (
                f"{axis.say(position)} at {pulse_us} us: then {axis.name} would run against the direction you saw. "
                "Measure again; if the direction was seen wrongly, type direction"
            )
        if not SLOPES[0] <= 1.0 / abs(per_us) / axis.us_per_unit <= SLOPES[1]:
            return (
                f"{axis.say(position)} at {pulse_us} us: that would make {1.0 / abs(per_us):.1f} us per {axis.unit}, "
                f"where about {axis.us_per_unit:.1f} are usual. Measure again; undo forgets the point before"
            )
    return ""


def summary(axis: AxisPlan, found: AxisCalibration) -> str:
    slope = (found.points[-1][1] - found.points[0][1]) / (found.points[-1][0] - found.points[0][0])
    rows = [f"{axis.name}: channel {found.channel}, {found.direction}, {abs(slope):.2f} us per {axis.unit}"]
    for (at, us), residual in zip(found.points, found.residuals, strict=True):
        rows.append(f"  {at:z8.1f} {axis.unit}  {us:5d} us  {residual:+z6.2f} {axis.unit} from a straight line")
    for what, limit, wanted in (("lower", found.lower, axis.lower), ("upper", found.upper, axis.upper)):
        if limit is not None:
            rows.append(f"  {what} limit {axis.say(limit)} instead of {axis.say(wanted)}: nothing was measured beyond")
    return "\n".join(rows)
