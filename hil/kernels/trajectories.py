"""Motions of one joint as equations: cubic, and constant velocity between cubic blends, over any scalar.

Times are counted from the start; before it and after the end, the state of the nearer end holds.
"""

from __future__ import annotations

from typing import NamedTuple

from hil.kernels.constant_fold import smaller
from hil.kernels.scalar import Functions, Scalar

SHORTEST_S = 1e-9
"""Durations below this count as this long, so that no division fails."""


class Cubic(NamedTuple):
    """Coefficients of a0 + a1 t + a2 t^2 + a3 t^3."""

    a0: Scalar
    a1: Scalar
    a2: Scalar
    a3: Scalar


class Sample(NamedTuple):
    """Position, speed and acceleration."""

    q: Scalar
    qd: Scalar
    qdd: Scalar


def cubic_coefficients(
    q0: Scalar, q1: Scalar, qd0: Scalar, qd1: Scalar, duration_s: Scalar, functions: Functions
) -> Cubic:
    """The cubic from position `q0` at speed `qd0` to `q1` at `qd1`."""
    inverse = 1.0 / functions.maximum(duration_s, SHORTEST_S)
    mean = (q1 - q0) * inverse
    return Cubic(q0, qd0, (3.0 * mean - 2.0 * qd0 - qd1) * inverse, (qd0 + qd1 - 2.0 * mean) * inverse * inverse)


def cubic(
    q0: Scalar, q1: Scalar, qd0: Scalar, qd1: Scalar, duration_s: Scalar, t_s: Scalar, functions: Functions
) -> Sample:
    """State at time `t_s` of the motion of `cubic_coefficients`."""
    coefficients = cubic_coefficients(q0, q1, qd0, qd1, duration_s, functions)
    return sampled(coefficients, _within(t_s, duration_s, functions))


def sampled(coefficients: Cubic, t_s: Scalar) -> Sample:
    """State of a cubic at a time, in or out of its span."""
    a0, a1, a2, a3 = coefficients
    return Sample(
        a0 + t_s * (a1 + t_s * (a2 + t_s * a3)),
        a1 + t_s * (2.0 * a2 + 3.0 * a3 * t_s),
        2.0 * a2 + 6.0 * a3 * t_s,
    )


def blended(
    q0: Scalar, q1: Scalar, cruise: Scalar, blend_s: Scalar, duration_s: Scalar, t_s: Scalar, functions: Functions
) -> Sample:
    """State at time `t_s` of a motion from rest to rest that cruises between two mirrored cubic blends.

    Args:
        q0: start.
        q1: end.
        cruise: speed between the blends, signed; see `smooth_cruise` and `parabolic_cruise`.
        blend_s: length of each blend, at most half of `duration_s`.
        duration_s: of the whole motion.
        t_s: time from its start.
        functions: of the scalar type.
    """
    distance = blend_distance(q0, q1, cruise, blend_s, duration_s)
    t = _within(t_s, duration_s, functions)
    blend = cubic_coefficients(0.0, distance, 0.0, cruise, blend_s, functions)
    left_s = duration_s - t
    first, last = sampled(blend, t), sampled(blend, left_s)
    q = q0 + distance + cruise * (t - blend_s)
    starting, stopping = blend_s - t, blend_s - left_s

    def chosen(at_start: Scalar, at_end: Scalar, between: Scalar) -> Scalar:
        return functions.where(starting, at_start, functions.where(stopping, at_end, between))

    return Sample(
        chosen(q0 + first.q, q1 - last.q, q),
        chosen(first.qd, last.qd, cruise),
        chosen(first.qdd, -last.qdd, 0.0),
    )


def blend_distance(q0: Scalar, q1: Scalar, cruise: Scalar, blend_s: Scalar, duration_s: Scalar) -> Scalar:
    """What each blend covers."""
    return 0.5 * (q1 - q0 - cruise * (duration_s - 2.0 * blend_s))


def keeps_direction(q0: Scalar, q1: Scalar, cruise: Scalar, blend_s: Scalar, duration_s: Scalar) -> Scalar:
    """Not negative where the blended motion never turns back: its blends cover cruise * blend_s / 3 or more."""
    return cruise * (blend_distance(q0, q1, cruise, blend_s, duration_s) - cruise * blend_s / 3.0)


def smooth_cruise(q0: Scalar, q1: Scalar, blend_s: Scalar, duration_s: Scalar, functions: Functions) -> Scalar:
    """The cruise speed for which the acceleration has no jump where a blend meets it."""
    return (q1 - q0) / functions.maximum(duration_s - 2.0 / 3.0 * blend_s, SHORTEST_S)


def parabolic_cruise(q0: Scalar, q1: Scalar, blend_s: Scalar, duration_s: Scalar, functions: Functions) -> Scalar:
    """The cruise speed for which the blends are parabolas, of constant acceleration."""
    return (q1 - q0) / functions.maximum(duration_s - blend_s, SHORTEST_S)


def _within(t_s: Scalar, duration_s: Scalar, functions: Functions) -> Scalar:
    return smaller(functions.maximum(t_s, 0.0), duration_s, functions)
