"""How motion says no: limits in the user's units, with the sample and the step that they concern."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hil.errors import RefusedError
from hil.model.rig import Axis, AxisKind
from hil.types import Refusal
from hil.units import DEG, MM

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
    return f"{in_unit(axis, value):.2f} {unit_of(axis)}"


def beyond_soft_limits(axes: Sequence[Axis], positions: Sequence[float], what: str) -> list[Refusal]:
    """One refusal for each axis that would be outside its soft limits; `what` says when, in words."""
    found = []
    for axis, value in zip(axes, positions, strict=True):
        lower, upper = axis.lower + axis.soft_margin, axis.upper - axis.soft_margin
        if lower - LIMIT_SLACK <= value <= upper + LIMIT_SLACK:
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
                advice="Move the target, or reach it in another posture.",
            )
        )
    return found


def refused(refusals: Sequence[Refusal], sample: int, period_s: float, place: str) -> RefusedError:
    """The error that carries `refusals`, each with its place in the motion and in the user's file."""
    placed = [
        msgspec.structs.replace(refusal, sample=sample, time_s=sample * period_s, place=place) for refusal in refusals
    ]
    return RefusedError(placed, "the motion cannot be planned")
