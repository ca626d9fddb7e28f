"""Time on a path: as fast as limits allow, sample by sample, and slower only where one is met.

A path is a way of the joints over an even grid of its length. Speed and acceleration of the joints and the speed of the
tool give, at each place, what the pace along the path and its change may be; going back from the end and forth from the
start finds the quickest course within them (Pham, "A new approach to time-optimal path parameterization based on
reachability analysis", IEEE T-RO, 2018). Jerk is no part of that: the course is sampled and averaged over a window as
long as a joint takes to its full acceleration, which bounds how fast acceleration changes. What the samples show to be
too much is then lowered at its place, and there only, until they keep every limit: the samples decide, not the
reasoning.
"""

from __future__ import annotations

import math
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np

from hil.errors import CommandError
from hil.kernels.build import build, loops_source
from hil.kernels.compiled import contiguous
from hil.kernels.scalar import FloatArray

HEADROOM = 1.0 - 1e-6
"""Part of a limit that is planned with, so that rounding never shows as an excess."""

PLANNED = 0.997
"""Part of speed and acceleration that the course takes: between the places of the grid a little more is used."""

LEAST_APART = 1e-30

STILL = 1e-12
"""Radians or metres a metre of path below which a joint does not move."""

ROUNDS = 40
"""Times that limits are lowered where samples are beyond them."""

OVERDONE = 1.005
"""A limit is lowered by a little more than it was exceeded: else it is approached for ever."""

LEAST_SHARE = 0.1
"""Both bend and ramp are held to blame for at least so much, or a wrong guess would change nothing."""

SLOWEST = 1e-8
"""Part of its own pace below which a path that has still not kept its limits has a jump in it."""

MOST_SAMPLES = 2_000_000
LONGEST_S = 3600.0
"""No motion lasts longer, and no round makes a path shorter: what takes more is given up at once."""

LOOPS, UNKNOWN = "path_time", "JOINTS = 6\n"
"""The same in machine code, in `hil/kernels/loops/`, and its line that says for how many joints."""

RULES = np.array([HEADROOM, PLANNED, LEAST_APART, STILL, OVERDONE, LEAST_SHARE, SLOWEST, ROUNDS])
RULES.flags.writeable = False


class TooLongError(CommandError):
    """A path would take more samples than a motion may have.

    Attributes:
        seconds: that it would take.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"a path of {seconds:.0f} s takes too many samples", value=seconds)
        self.seconds = seconds


class PathLimits(NamedTuple):
    """What joints and tool may do.

    Attributes:
        period_s: between samples.
        speed, acceleration: of every joint, shape (n,), rad or m per s, s2.
        jerk: the same per s3; None for a plan without it.
        pace_m_s: most of the tool on its path, m/s; for a path that only turns in its own unit a second.
    """

    period_s: float
    speed: FloatArray
    acceleration: FloatArray
    jerk: FloatArray | None
    pace_m_s: float


class Course(NamedTuple):
    """When a path is where.

    Attributes:
        at_m: lengths at the samples, from exactly 0 to exactly the whole, shape (K + 1,).
        seconds: before rounding up to whole periods.
        excess: most that a sample is beyond a limit, as times that it would have to run slower; 1 or less if they keep
            all. Above it the path has a jump that no slowness smooths out.
        worst_m: length at which that is.
    """

    at_m: FloatArray
    seconds: float
    excess: float
    worst_m: float


class Slopes(NamedTuple):
    """Joints over length on an even grid: first to third derivative, shape (N, n) each, and the step in metres."""

    step_m: float
    first: FloatArray
    second: FloatArray
    third: FloatArray


def slopes(joints: FloatArray, length_m: float) -> Slopes:
    """Derivatives of joints over length.

    Args:
        joints: on an even grid over the length, shape (N, n), N at least 5.
        length_m: of the whole.
    """
    step = length_m / (len(joints) - 1)
    first = np.gradient(joints, step, axis=0, edge_order=2)
    second = np.empty_like(joints)
    second[1:-1] = (joints[2:] - 2.0 * joints[1:-1] + joints[:-2]) / step**2
    second[0], second[-1] = 2.0 * second[1] - second[2], 2.0 * second[-2] - second[-3]
    return Slopes(step, first, second, np.gradient(second, step, axis=0))


def time_on_path(joints: FloatArray, length_m: float, limits: PathLimits, *, compiled: bool = False) -> Course:
    """Put time on a path.

    Args:
        joints: along the path, on an even grid over its length, shape (N, n), N at least 5; the first and the last are
            where it rests.
        length_m: of the whole, above 0.
        limits: to be kept.
        compiled: in machine code, some thirty times as quickly; the same up to rounding. The code is compiled once, for
            the user's cache folder, and loading it takes longer than a few paths take without it.

    Returns:
        The course; whether it keeps the limits is in its `excess`.

    Raises:
        TooLongError: it would take more samples than a motion may have.
        MissingExtraError: compiled, and the extra [fast] is not installed.
    """
    if compiled:
        return _compiled(joints, length_m, limits)
    along = slopes(joints, length_m)
    window = 1 if limits.jerk is None else _window(along, limits)
    interpolated = _Cubic(joints, along.first, along.step_m)
    room = np.ones(len(joints))  # of the pace, squared
    force = np.ones(len(joints))  # of the accelerations
    best: Course | None = None
    for _ in range(ROUNDS):
        squares = _quickest(along, limits, room, force)
        at, seconds = _sampled(squares, along.step_m, length_m, limits.period_s, window)
        judged = _judged(interpolated.rows(at), limits)
        worst = int(np.argmax(judged.slower))
        best = Course(at, seconds, float(judged.slower[worst]), float(at[min(max(worst - 1, 0), len(at) - 1)]))
        if best.excess <= 1.0 or min(room.min(), force.min()) < SLOWEST:
            break
        _lower(along, limits, at, judged, window, room, force)
    assert best is not None
    return best


def _most_samples(period_s: float) -> int:
    return min(MOST_SAMPLES, math.ceil(LONGEST_S / period_s) + 2)


@cache
def _loops(joints: int) -> ModuleType:
    source = loops_source(LOOPS)
    assert UNKNOWN in source
    return build(source.replace(UNKNOWN, f"JOINTS = {joints}\n"))


def _compiled(joints: FloatArray, length_m: float, limits: PathLimits) -> Course:
    """The same by `hil/kernels/loops/path_time.py`."""
    jerk = np.full(len(limits.speed), math.inf) if limits.jerk is None else limits.jerk
    most = np.array((limits.speed, limits.acceleration, jerk))
    at, seconds, excess, worst, whole = _loops(len(limits.speed)).course(
        contiguous(joints), length_m, limits.period_s, most, limits.pace_m_s, RULES, _most_samples(limits.period_s)
    )
    if not whole:
        raise TooLongError(seconds)
    return Course(at, seconds, excess, float(at[min(max(worst - 1, 0), len(at) - 1)]))


class _Judged(NamedTuple):
    """Samples against limits.

    Attributes:
        speed, acceleration, jerk: parts of the limits used by the differences that end at each sample, (N + 3, n).
        slower: times slower that they would have to run, shape (N + 3,).
    """

    speed: FloatArray
    acceleration: FloatArray
    jerk: FloatArray
    slower: FloatArray


def _judged(rows: FloatArray, limits: PathLimits) -> _Judged:
    still = np.concatenate([np.repeat(rows[:1], 3, axis=0), rows, np.repeat(rows[-1:], 3, axis=0)])
    h = limits.period_s
    steps = np.diff(still, axis=0)
    bends = np.diff(steps, axis=0)
    speed = np.abs(steps[2:]) / (h * HEADROOM * limits.speed)
    acceleration = np.abs(bends[1:]) / (h**2 * HEADROOM * limits.acceleration)
    slower = np.maximum(speed.max(axis=1), np.sqrt(acceleration.max(axis=1)))
    if limits.jerk is None:
        jerk = np.zeros_like(speed)
    else:
        jerk = np.abs(np.diff(bends, axis=0)) / (h**3 * HEADROOM * limits.jerk)
        slower = np.maximum(slower, np.cbrt(jerk.max(axis=1)))
    return _Judged(speed, acceleration, jerk, slower)


def _window(along: Slopes, limits: PathLimits) -> int:
    """Periods to average over: as long as the joint that limits the start or the end takes to its full acceleration."""
    assert limits.jerk is not None
    times_s = []
    for slope in (along.first[0], along.first[-1]):
        size = np.maximum(np.abs(slope), STILL)
        times_s.append(float((limits.acceleration / size).min() / (limits.jerk / size).min()))
    return max(1, math.ceil(max(times_s) / limits.period_s - 1e-9))


def _quickest(along: Slopes, limits: PathLimits, room: FloatArray, force: FloatArray) -> FloatArray:
    """Squares of the pace on the grid, the most that speed and acceleration allow from rest to rest."""
    step = 2.0 * along.step_m
    # Over a step the square of the pace changes evenly: accelerations are kept at its start and at its end.
    first = np.concatenate([along.first[:-1], along.first[1:] + step * along.second[1:]], axis=1)
    second = np.concatenate([along.second[:-1], along.second[1:]], axis=1)
    forces = limits.acceleration * PLANNED * force[:, None]
    size = np.maximum(np.abs(first), STILL)
    ratio = second / np.where(first < 0.0, -size, size)
    most = np.concatenate([forces[:-1], forces[1:]], axis=1) / size
    ceiling = _ceiling(along, ratio, most, limits, room)
    # From z at a place some change within its limits has to lead to at most what the next place allows, and going forth
    # the largest such change is taken.
    shrink = 1.0 - step * ratio
    safe = np.where(shrink > 0.0, shrink, 1.0)
    gain, offset = np.where(shrink > 0.0, 1.0 / safe, 0.0), np.where(shrink > 0.0, step * most / safe, math.inf)
    back = _backward(ceiling.tolist(), _Lowest(gain, offset, ceiling[1:]))
    return np.array(_forward(back, _Lowest(shrink, step * most, ceiling[:-1])))


def _ceiling(along: Slopes, ratio: FloatArray, most: FloatArray, limits: PathLimits, room: FloatArray) -> FloatArray:
    """Squares of the pace that speed allows, and at which some change of the pace keeps all accelerations."""
    size = np.maximum(np.abs(along.first), STILL)
    pace = np.minimum((limits.speed * PLANNED / size).min(axis=1), limits.pace_m_s * HEADROOM)
    ceiling: FloatArray = pace**2 * room
    for j in range(ratio.shape[1] - 1):
        apart = np.abs(ratio[:, j + 1 :] - ratio[:, j : j + 1])
        together = most[:, j + 1 :] + most[:, j : j + 1]
        ceiling[:-1] = np.minimum(ceiling[:-1], (together / np.maximum(apart, LEAST_APART)).min(axis=1))
    return ceiling


class _Lowest:
    """The lowest of several straight lines over 0 to an end, place by place: those that are it nowhere are left out."""

    def __init__(self, gain: FloatArray, offset: FloatArray, end: FloatArray) -> None:
        order = np.argsort(offset, axis=1, kind="stable")
        gain, offset = np.take_along_axis(gain, order, axis=1), np.take_along_axis(offset, order, axis=1)
        at_end = gain * end[:, None] + offset
        before = np.minimum.accumulate(at_end, axis=1)[:, :-1]
        kept = np.ones(gain.shape, dtype=bool)
        kept[:, 1:] = at_end[:, 1:] < before
        self.firsts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).tolist()
        self.lines = list(zip(gain[kept].tolist(), offset[kept].tolist(), strict=True))


def _backward(ceiling: list[float], lowest: _Lowest) -> list[float]:
    """Largest squares from which the end can still be reached at rest."""
    squares, firsts, lines = [0.0] * len(ceiling), lowest.firsts, lowest.lines
    z = 0.0
    for k in range(len(ceiling) - 2, -1, -1):
        allowed = ceiling[k]
        for g, o in lines[firsts[k] : firsts[k + 1]]:
            bound = g * z + o
            if bound < allowed:
                allowed = bound
        squares[k] = z = allowed
    squares[0] = 0.0
    return squares


def _forward(most: list[float], lowest: _Lowest) -> list[float]:
    """As fast as can be from rest, within what the end allows."""
    squares, firsts, lines = [0.0] * len(most), lowest.firsts, lowest.lines
    z = 0.0
    for k in range(len(most) - 1):
        allowed = most[k + 1]
        for g, o in lines[firsts[k] : firsts[k + 1]]:
            bound = g * z + o
            if bound < allowed:
                allowed = bound
        squares[k + 1] = z = max(allowed, 0.0)
    return squares


def _sampled(
    squares: FloatArray, step_m: float, length_m: float, period_s: float, window: int
) -> tuple[FloatArray, float]:
    """Lengths at the samples, averaged over a window; and the time that the whole takes."""
    pace = np.sqrt(squares)
    between = pace[1:] + pace[:-1]
    floor = max(float(between.max()) * 1e-9, 1e-12)
    times = np.concatenate([[0.0], np.cumsum(2.0 * step_m / np.maximum(between, floor))])
    seconds = float(times[-1]) + (window - 1) * period_s
    count = math.ceil(float(times[-1]) / period_s - 1e-9)
    if count + window > _most_samples(period_s):
        raise TooLongError(seconds)
    moments = np.arange(count + 1) * period_s
    k = np.clip(np.searchsorted(times, moments, side="right") - 1, 0, len(squares) - 2)
    gone = np.minimum(moments, times[-1]) - times[k]
    change = 0.5 * (squares[k + 1] - squares[k]) / step_m
    at = k * step_m + gone * (pace[k] + 0.5 * change * gone)
    at[-1] = length_m
    if window > 1:
        padded = np.concatenate([np.zeros(window - 1), at, np.full(window - 1, length_m)])
        sums = np.cumsum(np.concatenate([[0.0], padded]))
        at = (sums[window:] - sums[:-window]) / window
        at[0], at[-1] = 0.0, length_m
    lengths: FloatArray = np.clip(np.maximum.accumulate(at), 0.0, length_m)
    return lengths, seconds


def _lower(
    along: Slopes,
    limits: PathLimits,
    at_m: FloatArray,
    judged: _Judged,
    window: int,
    room: FloatArray,
    force: FloatArray,
) -> None:
    """Take from pace and acceleration, at the places where samples are beyond a limit, what is too much there.

    What the bend of the way causes wants a lower pace, what its ramps cause a lower acceleration.
    """
    beyond = np.flatnonzero(judged.slower > 1.0)
    h, last = limits.period_s, len(at_m) - 1
    padded = np.concatenate([np.repeat(at_m[:1], 3), at_m, np.repeat(at_m[-1:], 3)])
    pace = np.diff(padded)[2:] / h
    change = np.diff(padded, n=2)[1:] / h**2
    jolt = np.diff(padded, n=3) / h**3
    grid_last = len(room) - 1
    most, lowered = np.full_like(room, math.inf), np.ones_like(force)  # of the squared pace, and of acceleration
    for k in beyond.tolist():
        low = at_m[min(max(k - 3 - window, 0), last)]
        high = at_m[min(k + window, last)]
        first, final = max(int(low / along.step_m), 0), min(math.ceil(high / along.step_m), grid_last)
        i = min(round(at_m[min(max(k - 1, 0), last)] / along.step_m), grid_last)
        part = slice(first, final + 1)
        square = float(pace[max(k - 2, 0) : k + 1].max()) ** 2
        over_speed = float(judged.speed[k].max())
        if over_speed > 1.0:
            most[part] = np.minimum(most[part], square * (over_speed * OVERDONE) ** -2)
        for used, straight, power in (
            (judged.acceleration[k], abs(change[k]) * np.abs(along.first[i]) / limits.acceleration, 1.0),
            (judged.jerk[k], _straight_jerk(along, limits, i, jolt[k]), 2.0 / 3.0),
        ):
            j = int(np.argmax(used))
            over = float(used[j])
            if over <= 1.0:
                continue
            ramp = min(float(straight[j]) / over, 1.0)
            lowered[part] = np.minimum(lowered[part], (over * OVERDONE) ** -max(ramp, LEAST_SHARE))
            if ramp < 1.0 - LEAST_SHARE:
                most[part] = np.minimum(most[part], square * (over * OVERDONE) ** (-power * (1.0 - ramp)))
    ceiling = np.minimum((limits.speed / np.maximum(np.abs(along.first), STILL)).min(axis=1), limits.pace_m_s) ** 2
    np.minimum(room, most / ceiling, out=room)
    force *= lowered


def _straight_jerk(along: Slopes, limits: PathLimits, i: int, jolt: float) -> FloatArray:
    if limits.jerk is None:
        return np.zeros_like(limits.speed)
    found: FloatArray = abs(jolt) * np.abs(along.first[i]) / limits.jerk
    return found


class _Cubic:
    """Joints between the places of the grid, by cubics that meet with their slopes."""

    def __init__(self, joints: FloatArray, first: FloatArray, step_m: float) -> None:
        self._joints, self._first, self._step = joints, first * step_m, step_m

    def rows(self, at_m: FloatArray) -> FloatArray:
        """Joint rows at lengths."""
        k = np.clip((at_m / self._step).astype(np.intp), 0, len(self._joints) - 2)
        t = (at_m / self._step - k)[:, None]
        p, q, a, b = self._joints[k], self._joints[k + 1], self._first[k], self._first[k + 1]
        way = q - p
        rows: FloatArray = p + t * (a + t * (3.0 * way - 2.0 * a - b + t * (a + b - 2.0 * way)))
        return rows
