"""How motion says no: limits in the user's units, with the sample and the step that they concern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hil.model.rig import Axis, AxisKind
from hil.motion.motion import MAX_DURATION_S, MAX_SAMPLES
from hil.refusal import Refusal, RefusedError
from hil.units import DEG, MM


class Spot(NamedTuple):
    """A place of the motion that messages point at: its first sample, and the step of the user's file."""

    first: int
    period_s: float
    place: str


SENSIBLE = 1e6
"""No position is as large; one that is given all the same is not written out."""
LIMIT_SLACK = 1e-12
"""Rounding that a position may show beyond a limit, in radians or metres."""


def unit_of(axis: Axis) -> str:
    """The user's unit of a position of this axis."""
    return "deg" if axis.kind is AxisKind.REVOLUTE else "mm"


def in_unit(axis: Axis, value: float) -> float:
    """A position in the user's unit."""
    return value / (DEG if axis.kind is AxisKind.REVOLUTE else MM)


def say(axis: Axis, value: float) -> str:
    """A position in words."""
    amount = in_unit(axis, value)
    return f"{amount:z.2f} {unit_of(axis)}" if abs(amount) < SENSIBLE else f"{amount:g} {unit_of(axis)}"


def say_range(axis: Axis) -> str:
    """The limits of an axis in words."""
    return f"{in_unit(axis, axis.lower):z.2f} to {say(axis, axis.upper)}"


RIG_FILE = "No joint changes this distance: correct the rig file, a shape, the table's height, a box or the clearance."

INSIDE = "Ask for a position inside the soft limits; they stand in the rig file."
BACK = "Bring the arm inside them first: one with brakes by the teach box of its controller, a limp one by hand."
POSTURE = "Move the target, or reach it in another posture: another pitch_deg or elbow."
"""What to change: where a joint was named, where the arm itself stands outside, and where inverse kinematics chose its
position."""


def beyond_soft_limits(
    axes: Sequence[Axis],
    positions: Sequence[float],
    what: str,
    advice: str = INSIDE,
    *,
    start: Sequence[float] | None = None,
) -> list[Refusal]:
    """One refusal for each axis that would be outside its soft limits.

    Args:
        axes: whose limits count.
        positions: where they would be.
        what: when, in words.
        advice: what to change.
        start: where they come from: an axis that is beyond a limit there may be so as well, and no further out.
    """
    found = []
    for axis, value, known in zip(axes, positions, positions if start is None else start, strict=True):
        lower, upper = axis.lower + axis.soft_margin, axis.upper - axis.soft_margin
        low, high = (lower, upper) if start is None else (min(lower, known), max(upper, known))
        if low - LIMIT_SLACK <= value <= high + LIMIT_SLACK:
            continue
        side, bound = ("lower", lower) if value < lower else ("upper", upper)
        found.append(
            Refusal(
                check="E-02",
                subject=axis.name,
                limit=f"{side} soft limit {say(axis, bound)}; {what} it would be at {say(axis, value)}",
                margin=in_unit(axis, min(value - lower, upper - value)),
                unit=unit_of(axis),
                nearest_allowed=say(axis, bound),
                advice=advice,
            )
        )
    return found


def beyond_hard_limits(axes: Sequence[Axis], positions: Sequence[float], what: str) -> list[Refusal]:
    """The same where a soft limit does not count, for an arm may stand beyond it."""
    inside = [min(max(value, axis.lower), axis.upper) for axis, value in zip(axes, positions, strict=True)]
    return beyond_soft_limits(axes, positions, what, BACK, start=inside)


def require_time(spot: Spot, seconds: float) -> None:
    """Refuse a stretch that would make the motion too long, before any of it is worked out.

    Raises:
        RefusedError: the motion would end later than allowed.
    """
    most_s = min(MAX_DURATION_S, (MAX_SAMPLES - 1) * spot.period_s)
    before_s = spot.first * spot.period_s
    if before_s + seconds <= most_s:
        return
    refusal = Refusal(
        check="E-04",
        subject="duration",
        limit=f"a motion lasts at most {most_s:.0f} s; with this step it would last {before_s + seconds:.0f} s",
        margin=most_s - before_s - seconds,
        unit="s",
        nearest_allowed=f"{most_s - before_s:.0f} s for this step",
        advice="Wait less, move faster, or make two tasks of it.",
    )
    raise refused([refusal], spot)


def refused(refusals: Sequence[Refusal], spot: Spot, ahead: int = 0) -> RefusedError:
    """The error that carries `refusals`, placed in the motion `ahead` samples after the spot."""
    sample = spot.first + ahead
    placed = [
        msgspec.structs.replace(refusal, sample=sample, time_s=sample * spot.period_s, place=spot.place)
        for refusal in refusals
    ]
    return RefusedError(placed, "the motion cannot be planned")
