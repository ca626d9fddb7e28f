"""Stops: from any state of motion to rest within acceleration and jerk, on the tick's own grid of time.

A stop has to go on from samples that were already sent, so it is worked out in their finite differences:
with h the period, a[k+1] = a[k] + j h, v[k+1] = v[k] + a[k+1] h, p[k+1] = p[k] + v[k+1] h. Take one axis,
seen so that its speed is positive once the acceleration has been let go. Over K periods it can brake as
hard as allowed, or let go only; any mixture of the two keeps the limits as well. The smallest K for which
hard braking takes all the speed, mixed so that exactly none is left, is the stop. Both parts begin alike,
so no stop speeds up more than the jerk limit forces it to.

Accelerations below are counted per period; `step` is the most by which one may differ from the one before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hil.errors import CommandError
from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.profiles import HEADROOM, axis_limits


class _Stops(NamedTuple):
    """Stops worked out but not yet written down; every field of one shape, mirrored by `side`."""

    side: FloatArray
    v: FloatArray
    a: FloatArray
    bound: FloatArray
    step: FloatArray
    periods: FloatArray
    weight: FloatArray


def stop_ramp(
    rig: Rig, position: Sequence[float], velocity: Sequence[float], acceleration: Sequence[float]
) -> FloatArray:
    """Samples that bring every axis to rest, each as soon as its acceleration and jerk limits allow.

    Args:
        rig: gives limits and period.
        position: sample p0 sent last, per axis.
        velocity: (p0 - p1) / h, where p1 is the sample before it and h the period.
        acceleration: (p0 - 2 p1 + p2) / h^2, where p2 is the sample before that. Take unrounded samples:
            rounding to whole microseconds alone makes large accelerations.

    Returns:
        Shape (K, n), K >= 1: the samples one, two, ... periods after p0. All axes rest at the last one. An
        acceleration that is already above its limit is let go within the jerk limit.

    Raises:
        CommandError: a number is not finite, or a length does not fit the rig.
    """
    p = _checked(rig, "position", position)
    v = _checked(rig, "velocity", velocity)
    _, most, jerk = axis_limits(rig)
    return stop_samples(rig.period_s, most, jerk, p, v, _checked(rig, "acceleration", acceleration))


def stop_samples(
    period_s: float,
    most: FloatArray,
    jerk: FloatArray,
    p: FloatArray,
    v: FloatArray,
    a: FloatArray,
    *,
    together: bool = False,
) -> FloatArray:
    """The same for any coordinates.

    Args:
        period_s: time between samples.
        most: limit of acceleration, shape (n,), like all that follow.
        jerk: limit of jerk.
        p: position now; all finite.
        v: velocity now.
        a: acceleration now.
        together: all come to rest at once, with the last; so what moved in proportion nearly goes on to do so.
    """
    stops = _plan(period_s, most, jerk, v, a)
    if together:
        stops = _plan(period_s, most, jerk, v, a, float(stops.periods.max()))
    k = np.arange(1.0, max(float(stops.periods.max()), 1.0) + 1.0)[:, None]
    falling = stops.a - k * stops.step
    hard = np.maximum(np.maximum(falling, -stops.bound), np.minimum(k - stops.periods, 0.0) * stops.step)
    gentle = np.sign(stops.a) * np.maximum(np.abs(stops.a) - k * stops.step, 0.0)
    mixed = gentle + stops.weight * (hard - gentle)
    speed = v + period_s * stops.side * np.cumsum(mixed, axis=0)
    # Nothing but rounding is left of the last speed; said exactly, what follows stands still for certain.
    speed[k >= stops.periods] = 0.0
    samples: FloatArray = p + period_s * np.cumsum(speed, axis=0)
    return samples


def first_and_rest(
    period_s: float, most: FloatArray, jerk: FloatArray, v: FloatArray, a: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """How far the stop of `stop_samples` leads with its first sample, and in all; shape (n,) each.

    Args:
        period_s: time between samples.
        most: limit of acceleration, shape (n,), like all that follow.
        jerk: limit of jerk.
        v: velocity now; all finite.
        a: acceleration now.
    """
    stops = _plan(period_s, most, jerk, v, a)
    hard = np.maximum(np.maximum(stops.a - stops.step, -stops.bound), np.minimum(1.0 - stops.periods, 0.0) * stops.step)
    gentle = np.sign(stops.a) * np.maximum(np.abs(stops.a) - stops.step, 0.0)
    speed = v + period_s * stops.side * (gentle + stops.weight * (hard - gentle))
    first: FloatArray = period_s * np.where(stops.periods <= 1.0, 0.0, speed)
    return first, _travel(period_s, stops)


def stop_positions(rig: Rig, motion: Motion) -> FloatArray:
    """Where every axis would rest if `stop_ramp` began right after each sample, shape (N, n) in rad or m."""
    h, p = rig.period_s, motion.samples
    before = np.concatenate([p[:1], p[:1], p])
    v = (p - before[1:-1]) / h
    _, most, jerk = axis_limits(rig)
    stops = _plan(h, most, jerk, v, (p - 2.0 * before[1:-1] + before[:-2]) / h**2)
    rest: FloatArray = p + _travel(h, stops)
    return rest


def stop_time_s(rig: Rig) -> float:
    """Longest time a stop can take: any axis at full speed and still accelerating as hard as it may."""
    speed, most, jerk = axis_limits(rig)
    return rig.period_s * float(_plan(rig.period_s, most, jerk, speed, most).periods.max())


def rest_time_s(rig: Rig) -> float:
    """Longest time from a stop to the last moving pulse: the ramp, the look-ahead, and what the controller takes."""
    return stop_time_s(rig) + rig.look_ahead_s + rig.controller.settle_s


def _checked(rig: Rig, name: str, values: Sequence[float]) -> FloatArray:
    if len(values) != len(rig.axes):
        raise CommandError(f"stop: {len(values)} values of {name} for {len(rig.axes)} axes")
    for axis, value in zip(rig.axes, values, strict=True):
        if not math.isfinite(value):
            raise CommandError(
                f"stop: {name} {value!r} of {axis.name} is not a finite number", axis=axis.name, value=value
            )
    return np.asarray(values, dtype=np.float64)


def _plan(h: float, limit: FloatArray, jerk: FloatArray, v: FloatArray, a: FloatArray, least: float = 0.0) -> _Stops:
    """Length, at least so many periods, and mixture of the stop of every state; `v` and `a` of shape (..., n)."""
    step = jerk * (HEADROOM * h)
    side = np.where(v / h + _let_go(a, step) >= 0.0, 1.0, -1.0)
    v, a = side * v, side * a
    bound = np.maximum(limit * HEADROOM, np.abs(a))
    count = np.maximum(np.ceil(np.abs(a) / step), _shortest(v / h, a, bound, step) - 2.0)
    count = np.maximum(count, least)
    while True:
        hard = _hard_sum(a, bound, step, count)
        # A hair of allowance: a state on the very edge shall not cost a whole period for its rounding.
        missing = v / h + hard > 1e-9 * step
        if not missing.any():
            break
        count = count + missing
    gentle = _let_go(a, step)
    span = gentle - hard
    weight = np.divide(gentle + v / h, span, out=np.zeros_like(span), where=span > 0.0)
    return _Stops(side, v, a, bound, step, count, weight)


def _let_go(a: FloatArray, step: FloatArray) -> FloatArray:
    """Sum of what remains of `a` while it falls to nothing by `step` a period."""
    size = np.abs(a)
    whole = np.floor(size / step)
    total: FloatArray = np.sign(a) * whole * (size - step * (whole + 1.0) / 2.0)
    return total


def _shortest(w: FloatArray, a: FloatArray, bound: FloatArray, step: FloatArray) -> FloatArray:
    """Periods of the stop in continuous time, rounded down: where the search begins."""
    area = np.maximum(w + a * a / (2.0 * step), 0.0)
    times: FloatArray = np.where(area * step <= bound * bound, 2.0 * np.sqrt(area / step), area / bound + bound / step)
    return np.floor(a / step + times)


def _pieces(
    a: FloatArray, bound: FloatArray, step: FloatArray, count: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """How many periods of the hardest braking are on its way down, at the bound, and on its way back."""
    down = np.floor(np.minimum((a + bound) / step, (a / step + count) / 2.0))
    back = np.minimum(np.floor(bound / step) + 1.0, count - down)
    return down, count - down - back, back


def _hard_sum(a: FloatArray, bound: FloatArray, step: FloatArray, count: FloatArray) -> FloatArray:
    """Sum of the hardest braking over `count` periods."""
    down, flat, back = _pieces(a, bound, step, count)
    total: FloatArray = down * a - bound * flat - 0.5 * step * (down * (down + 1.0) + back * (back - 1.0))
    return total


def _travel(h: float, stops: _Stops) -> FloatArray:
    """How far each stop leads."""
    hard, gentle = _hard_travel(stops), _gentle_travel(stops)
    travel: FloatArray = stops.side * (h * stops.periods * stops.v + h**2 * (gentle + stops.weight * (hard - gentle)))
    return travel


def _hard_travel(stops: _Stops) -> FloatArray:
    """The same sum with each acceleration counted once for every period in which its speed lasts."""
    down, flat, back = _pieces(stops.a, stops.bound, stops.step, stops.periods)
    total: FloatArray = (
        _falling_travel(stops.a, stops.step, down, stops.periods)
        - stops.bound * flat * (stops.periods - down - 0.5 * (flat - 1.0))
        - stops.step * (back - 1.0) * back * (back + 1.0) / 3.0
    )
    return total


def _gentle_travel(stops: _Stops) -> FloatArray:
    size = np.abs(stops.a)
    total: FloatArray = np.sign(stops.a) * _falling_travel(size, stops.step, np.floor(size / stops.step), stops.periods)
    return total


def _falling_travel(a: FloatArray, step: FloatArray, down: FloatArray, count: FloatArray) -> FloatArray:
    """Sum over k = 1..down of (count + 1 - k) (a - k step)."""
    once = 0.5 * down * (down + 1.0)
    squares = once * (2.0 * down + 1.0) / 3.0
    total: FloatArray = a * (down * (count + 1.0) - once) - step * ((count + 1.0) * once - squares)
    return total
