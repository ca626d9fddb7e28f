"""Rest-to-rest profiles within speed, acceleration and jerk, and the finite differences that prove it.

Every finite difference of a sampled curve is a weighted mean of its derivative over the samples' span. So a
curve that keeps a limit everywhere, rest before and after included, keeps it in its samples too, at any
period.
"""

from __future__ import annotations

import math

import numpy as np

from hil.errors import CommandError
from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.motion import MAX_SAMPLES

HEADROOM = 1.0 - 1e-6
"""Part of a limit that is planned with, so that rounding of doubles never shows as an excess."""


def axis_limits(rig: Rig) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Speed, acceleration and jerk of every axis, shape (n,) each, in rad or m per s, s2, s3."""
    table = np.array([(axis.speed, axis.acceleration, axis.jerk) for axis in rig.axes], dtype=np.float64)
    return table[:, 0], table[:, 1], table[:, 2]


def rest_to_rest(length: float, speed: float, acceleration: float, jerk: float, period_s: float) -> FloatArray:
    """The quickest symmetric jerk-limited run from 0 to `length`, sampled.

    Seven stretches of constant jerk, of which those at a limit shrink to nothing where it is not reached.

    Args:
        length: distance, 0 or more.
        speed: limit, above 0, in the unit of `length` per s.
        acceleration: limit, above 0, per s2.
        jerk: limit, above 0, per s3.
        period_s: time between samples.

    Returns:
        Shape (K + 1,), from exactly 0 to exactly `length`; shape (1,) for no distance.

    Raises:
        CommandError: an argument is not finite or not positive, or the run would take too many samples.
    """
    if not (math.isfinite(length) and length >= 0.0):
        raise CommandError(f"length {length!r} of a run: a finite number of 0 or more is needed", value=length)
    for name, value in (
        ("speed", speed),
        ("acceleration", acceleration),
        ("jerk", jerk),
        ("period", period_s),
    ):
        if not (math.isfinite(value) and value > 0.0):
            raise CommandError(f"{name} {value!r} of a run: a finite number above 0 is needed", value=value)
    if length == 0.0:
        return np.zeros(1)
    bend_s, ramp_s, cruise_s = _stretches(length, speed, acceleration, jerk)
    count = math.ceil((2.0 * ramp_s + cruise_s) / period_s - 1e-9)
    if count >= MAX_SAMPLES:
        raise CommandError(f"a run of {2.0 * ramp_s + cruise_s:.0f} s takes too many samples")
    t: FloatArray = np.arange(max(count, 1) + 1, dtype=np.float64) * period_s
    s = np.where(
        t <= ramp_s + 0.5 * cruise_s,
        _rising(t, bend_s, ramp_s, jerk),
        length - _rising(2.0 * ramp_s + cruise_s - t, bend_s, ramp_s, jerk),
    )
    s[0], s[-1] = 0.0, length
    return s


def run_time_s(length: float, speed: float, acceleration: float, jerk: float) -> float:
    """Duration of such a run before it is rounded up to whole periods; `length` above 0."""
    _, ramp_s, cruise_s = _stretches(length, speed, acceleration, jerk)
    return 2.0 * ramp_s + cruise_s


def _stretches(length: float, speed: float, acceleration: float, jerk: float) -> tuple[float, float, float]:
    """Times of one bend (changing acceleration), one whole ramp, and the cruise between the ramps."""
    bend_s = min(acceleration / jerk, math.sqrt(speed / jerk))
    ramp_s = speed / (jerk * bend_s) + bend_s
    if length >= speed * ramp_s:
        return bend_s, ramp_s, length / speed - ramp_s
    bend_s = min(acceleration / jerk, (0.5 * length / jerk) ** (1.0 / 3.0))
    peak = jerk * bend_s
    # The peak speed v solves v * (v / peak + bend_s) = length.
    ramp_s = 0.5 * bend_s + math.sqrt(0.25 * bend_s**2 + length / peak)
    return bend_s, max(ramp_s, 2.0 * bend_s), 0.0


def _rising(t: FloatArray, bend_s: float, ramp_s: float, jerk: float) -> FloatArray:
    """Distance at `t` within the first half: three stretches of ramp, then the cruise; 0 before the start."""
    acceleration = jerk * bend_s
    even_s = max(ramp_s - 2.0 * bend_s, 0.0)
    bent_speed, even_speed = 0.5 * acceleration * bend_s, acceleration * (even_s + 0.5 * bend_s)
    # Stretch by stretch, since cubes of the whole time would cancel and leave their rounding in the jerk.
    up, even = np.clip(t, 0.0, bend_s), np.clip(t - bend_s, 0.0, even_s)
    down, cruise = np.clip(t - bend_s - even_s, 0.0, bend_s), np.maximum(t - ramp_s, 0.0)
    distance: FloatArray = (
        jerk / 6.0 * up**3
        + even * (bent_speed + 0.5 * acceleration * even)
        + down * (even_speed + down * (0.5 * acceleration - jerk / 6.0 * down))
        + cruise * (even_speed + bent_speed)
    )
    return distance


def differences(samples: FloatArray, period_s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """First, second and third finite differences, with the rest before the first and after the last sample.

    Args:
        samples: shape (N, n).
        period_s: time between samples.

    Returns:
        Speed, acceleration and jerk, shape (N + 3, n) each; row k is the difference that ends at sample k.
    """
    still = np.concatenate([np.repeat(samples[:1], 3, axis=0), samples, np.repeat(samples[-1:], 3, axis=0)])
    speed = np.diff(still, axis=0) / period_s
    acceleration = np.diff(speed, axis=0) / period_s
    return speed[2:], acceleration[1:], np.diff(acceleration, axis=0) / period_s


def usage(rig: Rig, samples: FloatArray) -> FloatArray:
    """Largest speed, acceleration and jerk of each axis as a part of its limit, shape (3, n)."""
    found = differences(samples, rig.period_s)
    return np.array([np.abs(d).max(axis=0) / limit for d, limit in zip(found, axis_limits(rig), strict=True)])
