"""Moves that run into each other (CNT 1), and stops and restarts on the way that a move was going.

Everything here is tried on its samples: the closest fit that keeps the joints' limits is taken.
"""

from __future__ import annotations

import numpy as np

from hil.link import FloatArray
from hil.motion.overlap import longest_overlap
from hil.motion.profiles import HEADROOM
from hil.motion.stops import stop_samples
from hil.program.arm import LIMIT_SLACK_RAD, ProgramArm
from hil.program.motions import Limits, excess

HISTORY = 3
"""Samples before a change that the third difference sees."""

RAMP_GROWTH, LONGEST_RAMP = 1.25, 2000
"""Ramps of the speed along a way are tried from short to long, in samples."""


def release(arm: ProgramArm, rows: FloatArray, near_mm: float | None) -> int:
    """First sample at which the next move may set in: where this one brakes, or is within `near_mm` of its end."""
    if near_mm is not None:
        points = arm.members(rows)[:, :3]
        far = np.linalg.norm(points - points[-1], axis=1) > near_mm
        return int(np.flatnonzero(far)[-1]) + 1 if far.any() else 0
    pace = np.abs(np.diff(rows, axis=0)).max(axis=1, initial=0.0)
    return int(np.flatnonzero(pace >= 0.999 * pace.max())[-1]) + 1 if len(pace) else 0


def blended(
    arm: ProgramArm, limits: Limits, rows: FloatArray, now: int, after: FloatArray, near_mm: float | None
) -> tuple[FloatArray, int]:
    """Two moves laid over each other: while the first brakes the second already starts.

    Args:
        arm: for distances and joint limits.
        limits: that the whole has to keep.
        rows: samples of the first move.
        now: sample of it that was sent last.
        after: samples of the second, from the end of the first.
        near_mm: the first has to be over before the second has gone so far; None for any distance.

    Returns:
        All samples, and the index at which the second move begins; the ends of both are kept.
    """
    most = min(len(rows) - 1 - now, len(after) - 1)
    if near_mm is not None and len(after) > 1:
        points = arm.members(after)[:, :3]
        most = min(most, int(np.argmax(np.linalg.norm(points - points[0], axis=1) > near_mm)) or most)
    before = max(now - HISTORY, 0)

    def fits(joined: FloatArray) -> bool:
        tail = joined[before:]
        inside = (tail >= arm.lower_rad - LIMIT_SLACK_RAD) & (tail <= arm.upper_rad + LIMIT_SLACK_RAD)
        return bool(inside.all()) and _fits(limits, tail, now > 0)

    joined, overlap = longest_overlap(rows, after, most, fits)
    return joined, len(rows) - 1 - overlap


def _fits(limits: Limits, rows: FloatArray, moving: bool) -> bool:
    """True if the samples keep the limits; a move that is under way does not begin from rest."""
    return _excess_from(limits, rows) <= 1.0 if moving else excess(limits, rows) <= 1.0


def _excess_from(limits: Limits, rows: FloatArray) -> float:
    """As `excess`, but without the rest before the first sample."""
    still = np.concatenate([rows, np.repeat(rows[-1:], HISTORY, axis=0)])
    h = limits.period_s
    speed = np.diff(still, axis=0) / h
    acceleration = np.diff(speed, axis=0) / h
    jerk = np.diff(acceleration, axis=0) / h
    return max(
        float((np.abs(speed) / limits.speed).max(initial=0.0)),
        float((np.abs(acceleration) / limits.acceleration).max(initial=0.0)),
        float((np.abs(jerk) / limits.jerk).max(initial=0.0)),
    )


def stopped(limits: Limits, rows: FloatArray, now: int) -> tuple[FloatArray, float]:
    """The samples after `now` that bring a move to rest on its own way, as soon as the limits allow.

    Args:
        limits: of the joints.
        rows: samples of the move.
        now: the one that was sent last.

    Returns:
        Shape (K, n), the last one at rest, and where on the way that is, as an index with fraction. A move that would
        end sooner just ends. Without a fit on the way, each joint stops as soon as it can; the index is then that of
        the end of the way, since nothing of it can be gone on with.
    """
    history = rows[max(now - HISTORY, 0) : now + 1]
    left = float(len(rows) - 1 - now)
    count = 2
    while count <= LONGEST_RAMP:
        travel = np.cumsum(_falling(count))
        if travel[-1] >= left:
            return rows[now + 1 :], float(len(rows) - 1)
        found = _between(rows, now + travel)
        if _excess_from(limits, np.concatenate([history, found])) <= 1.0:
            return found, now + float(travel[-1])
        count = max(count + 1, int(count * RAMP_GROWTH))
    return _stopped_apart(limits, history), float(len(rows) - 1)


def resumed(limits: Limits, rows: FloatArray, cursor: float) -> FloatArray:
    """Samples from rest at `cursor` to the end of the way; row 0 is where the arm rests.

    The first part is run slower, rising to full pace, as soon as the limits allow.
    """
    start = _between(rows, np.array([cursor]))
    count = 2
    while count <= LONGEST_RAMP:
        rising = cursor + np.cumsum(_falling(count)[::-1])
        if rising[-1] >= len(rows) - 1:
            break
        onward = np.arange(rising[-1] + 1.0, len(rows) - 1.0 + 1e-9)
        found = np.concatenate([start, _between(rows, np.concatenate([rising, onward])), rows[-1:]])
        if excess(limits, found) <= 1.0:
            return found
        count = max(count + 1, int(count * RAMP_GROWTH))
    return _slowly(limits, rows, cursor)


def _slowly(limits: Limits, rows: FloatArray, cursor: float) -> FloatArray:
    """The rest of the way at an even share of its pace, from rest to rest."""
    left = len(rows) - 1 - cursor
    count = max(int(np.ceil(left)), 2)
    while True:
        u = np.linspace(0.0, 1.0, count + 1)
        found = _between(rows, cursor + left * u**3 * (10.0 - 15.0 * u + 6.0 * u**2))
        found[-1] = rows[-1]
        if excess(limits, found) <= 1.0 or count > LONGEST_RAMP * 10:
            return found
        count = int(count * RAMP_GROWTH) + 1


def _falling(count: int) -> FloatArray:
    """Paces from 1 to 0 within `count` samples, level at both ends."""
    u = np.arange(1.0, count + 1.0) / count
    pace: FloatArray = 1.0 - u**2 * (3.0 - 2.0 * u)
    return pace


def _between(rows: FloatArray, cursors: FloatArray) -> FloatArray:
    """Rows at indices with fraction, by cubics through the neighbours and never beyond them."""
    last = len(rows) - 1
    base = np.clip(np.floor(cursors).astype(int), 0, last)
    t = (cursors - base)[:, None]
    p0, p1, p2, p3 = (rows[np.clip(base + k, 0, last)] for k in (-1, 0, 1, 2))
    slope_1, slope_2 = 0.5 * (p2 - p0), 0.5 * (p3 - p1)
    found: FloatArray = (
        p1
        + t * slope_1
        + t**2 * (3.0 * (p2 - p1) - 2.0 * slope_1 - slope_2)
        + t**3 * (2.0 * (p1 - p2) + slope_1 + slope_2)
    )
    low, high = np.minimum.reduce([p0, p1, p2, p3]), np.maximum.reduce([p0, p1, p2, p3])
    return np.clip(found, low, high)


def _stopped_apart(limits: Limits, history: FloatArray) -> FloatArray:
    padded = np.concatenate([np.repeat(history[:1], HISTORY, axis=0), history])[-3:]
    h = limits.period_s
    v = (padded[2] - padded[1]) / h
    a = (padded[2] - 2.0 * padded[1] + padded[0]) / h**2
    return stop_samples(h, limits.acceleration * HEADROOM, limits.jerk, padded[2], v, a)
