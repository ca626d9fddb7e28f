"""Time on a path in one compiled call: the same course as `hil.paths.timing` works out in numpy, up to rounding.

What limits a place is a few straight lines of the squared pace. Here a line is divided out only where it is the one
that limits, which is most of what there is to gain.
"""

import math

import numpy as np
from numba import njit

JOINTS = 6
"""Of the arm; `hil.paths.timing` puts in how many: loops of a known length are unrolled, which saves a fifth."""

TOO_LONG, WHOLE = 0, 1


@njit(nogil=True, error_model="numpy")
def slopes(joints, step, first, second):
    """First and second derivative over length on an even grid."""
    places, n = len(joints), JOINTS
    last = places - 1
    half, square = 0.5 / step, 1.0 / (step * step)
    for k in range(1, last):
        for j in range(n):
            first[k, j] = (joints[k + 1, j] - joints[k - 1, j]) * half
            second[k, j] = (joints[k + 1, j] - 2.0 * joints[k, j] + joints[k - 1, j]) * square
    for j in range(n):
        first[0, j] = (4.0 * joints[1, j] - 3.0 * joints[0, j] - joints[2, j]) * half
        first[last, j] = (3.0 * joints[last, j] - 4.0 * joints[last - 1, j] + joints[last - 2, j]) * half
        second[0, j] = 2.0 * second[1, j] - second[2, j]
        second[last, j] = 2.0 * second[last - 1, j] - second[last - 2, j]


@njit(nogil=True, error_model="numpy")
def lines_of(first, second, limits, planned, step, still, bends, all_changes):
    """At both ends of every step, over that step: what a squared pace takes of its change, and the most of it."""
    places, n = len(first), JOINTS
    for k in range(places - 1):
        for j in range(n):
            most = step * planned * limits[1, j]
            slope, bend = first[k, j], step * second[k, j]
            size = 1.0 / max(abs(slope), still)
            bends[k, j] = -bend * size if slope < 0.0 else bend * size
            all_changes[k, j] = most * size
            bend = step * second[k + 1, j]
            slope = first[k + 1, j] + bend
            size = 1.0 / max(abs(slope), still)
            bends[k, n + j] = -bend * size if slope < 0.0 else bend * size
            all_changes[k, n + j] = most * size


@njit(nogil=True, error_model="numpy")
def fastest(first, limits, planned, pace, still, squares):
    """Squared pace that the joints' speeds and the tool's allow."""
    for k in range(len(first)):
        least = pace
        for j in range(JOINTS):
            size, speed = max(abs(first[k, j]), still), planned * limits[0, j]
            if size * least > speed:
                least = speed / size
        squares[k] = least * least


@njit(nogil=True, error_model="numpy")
def ceilings(bends, all_changes, fast, room, force, stale, apart_least, changes, top):
    """Where `stale`: changes of the squared pace that are left, and the most of it that leaves one to all joints."""
    steps, lines = len(bends), 2 * JOINTS
    n, i_low, i_high = lines // 2, 0, 0
    for k in range(steps):
        if not stale[k]:
            continue
        for j in range(n):
            changes[k, j] = all_changes[k, j] * force[k]
            changes[k, n + j] = all_changes[k, n + j] * force[k + 1]
        z = fast[k] * room[k]
        # Newton's steps end on a corner, where two lines meet: most often the same two as at the place before.
        apart = max(abs(bends[k, i_low] - bends[k, i_high]), apart_least)
        if i_low != i_high and z * apart > changes[k, i_low] + changes[k, i_high]:
            z = (changes[k, i_low] + changes[k, i_high]) / apart
        while True:
            low = high = math.inf
            for i in range(lines):
                bend = bends[k, i] * z
                low = changes[k, i] + bend if changes[k, i] + bend < low else low
                high = changes[k, i] - bend if changes[k, i] - bend < high else high
            if low + high >= 0.0:
                break
            for i in range(lines):
                bend = bends[k, i] * z
                i_low = i if changes[k, i] + bend == low else i_low
                i_high = i if changes[k, i] - bend == high else i_high
            apart = max(abs(bends[k, i_low] - bends[k, i_high]), apart_least)
            lower = (changes[k, i_low] + changes[k, i_high]) / apart
            if not lower < z:
                break
            z = lower
        top[k] = z
        stale[k] = False


@njit(nogil=True, error_model="numpy")
def quickest(bends, changes, top, begin, end, back, squares):
    """Squares of the pace from rest to rest: back from the end, and forth within what the end allows.

    Only steps from `begin` to `end` have other lines than before; where what comes out is as it was, so is the rest.
    """
    steps, lines = len(bends), 2 * JOINTS
    z, low = back[end + 1], begin
    for m in range(end + 1):
        k = end - m
        after, z = z, top[k]
        beyond = 0  # counted first: nothing is divided, and nothing waits for it, where no line limits
        for i in range(lines):
            beyond += z * (1.0 - bends[k, i]) > after + changes[k, i]
        if beyond:
            for i in range(lines):
                if z * (1.0 - bends[k, i]) > after + changes[k, i]:
                    z = (after + changes[k, i]) / (1.0 - bends[k, i])
        if k < begin:
            if z == back[k]:
                break
            low = k
        back[k] = z
    low = max(low - 1, 0)
    z = squares[low]
    for k in range(low, steps):
        before, z = z, back[k + 1]
        beyond = 0
        for i in range(lines):
            beyond += (1.0 - bends[k, i]) * before + changes[k, i] < z
        if beyond:
            for i in range(lines):
                z = min(z, (1.0 - bends[k, i]) * before + changes[k, i])
        z = max(z, 0.0)
        if k > end and z == squares[k + 1]:
            break
        squares[k + 1] = z


@njit(nogil=True, error_model="numpy")
def moments(squares, step, pace, times):
    """Paces and times at the places of the grid."""
    most = 0.0
    for k in range(len(squares)):
        pace[k] = math.sqrt(squares[k])
        if k:
            most = max(most, pace[k] + pace[k - 1])
    floor = max(most * 1e-9, 1e-12)
    times[0] = 0.0
    for k in range(1, len(squares)):
        times[k] = times[k - 1] + 2.0 * step / max(pace[k] + pace[k - 1], floor)


@njit(nogil=True, error_model="numpy")
def sampled(squares, pace, times, step, length, period, window, count):
    """Lengths at the samples, averaged over a window."""
    last = len(squares) - 2
    at = np.empty(count + window)
    k = 0
    for i in range(count + 1):
        moment = i * period
        while k < last and times[k + 1] <= moment:
            k += 1
        gone = min(moment, times[-1]) - times[k]
        change = 0.5 * (squares[k + 1] - squares[k]) / step
        at[i] = k * step + gone * (pace[k] + 0.5 * change * gone)
    for i in range(count, count + window):
        at[i] = length
    if window > 1:
        raw, total = np.empty(count + window), 0.0
        for i in range(count + window):
            raw[i] = at[i]
            total += raw[i]
            if i >= window:
                total -= raw[i - window]
            at[i] = total / window
        at[0], at[count + window - 1] = 0.0, length
    before = 0.0
    for i in range(len(at)):
        before = at[i] = min(max(at[i], before), length)
    return at


@njit(nogil=True, error_model="numpy")
def place_of(at, i):
    """The length at a sample, standing still before the first and after the last."""
    return at[min(max(i, 0), len(at) - 1)]


@njit(nogil=True, error_model="numpy")
def judged(at, joints, first, step, period, limits, headroom, used, slower):
    """Parts of the limits that the samples use, by rows of speed, acceleration, jerk; index of the slowest wanted."""
    n, last, samples = JOINTS, len(joints) - 2, len(at)
    rows, worst = np.empty((samples + 6, n)), 0
    for i in range(samples + 6):
        length = place_of(at, i - 3)
        k = min(max(int(length / step), 0), last)
        t = length / step - k
        for j in range(n):
            p, q = joints[k, j], joints[k + 1, j]
            a, b, way = first[k, j] * step, first[k + 1, j] * step, q - p
            rows[i, j] = p + t * (a + t * (3.0 * way - 2.0 * a - b + t * (a + b - 2.0 * way)))
    by_jerk, per = limits[2, 0] < math.inf, np.empty((3, n))
    for j in range(n):
        per[0, j] = 1.0 / (period * headroom * limits[0, j])
        per[1, j] = 1.0 / (period * period * headroom * limits[1, j])
        per[2, j] = 1.0 / (period * period * period * headroom * limits[2, j])
    for i in range(samples + 3):
        speeds = bends = jolts = 0.0
        for j in range(n):
            went, before = rows[i + 3, j] - rows[i + 2, j], rows[i + 2, j] - rows[i + 1, j]
            used[0, i, j] = abs(went) * per[0, j]
            used[1, i, j] = abs(went - before) * per[1, j]
            speeds = used[0, i, j] if used[0, i, j] > speeds else speeds
            bends = used[1, i, j] if used[1, i, j] > bends else bends
            if by_jerk:
                used[2, i, j] = abs((went - before) - (before - (rows[i + 1, j] - rows[i, j]))) * per[2, j]
                jolts = used[2, i, j] if used[2, i, j] > jolts else jolts
        slower[i] = max(speeds, math.sqrt(bends))
        if by_jerk:
            slower[i] = max(slower[i], jolts ** (1.0 / 3.0))
        if slower[i] > slower[worst]:
            worst = i
    return worst


@njit(nogil=True, error_model="numpy")
def lower(at, used, slower, first, step, period, window, limits, pace_m_s, rules, most, lowered, room, force, stale):
    """Take from pace and acceleration what is too much at its place; see `_lower` in numpy. First and last stale."""
    still, overdone, least_share = rules[3], rules[4], rules[5]
    grid_last, n, kinds = len(room) - 1, JOINTS, 3 if limits[2, 0] < math.inf else 2
    for k in range(grid_last + 1):
        most[k], lowered[k] = math.inf, 1.0
    for i in range(len(slower)):
        if not slower[i] > 1.0:
            continue
        begin = max(int(place_of(at, i - 3 - window) / step), 0)
        end = min(math.ceil(place_of(at, i + window) / step), grid_last)
        k = min(round(place_of(at, i - 1) / step), grid_last)
        x3, x2, x1, x0 = place_of(at, i), place_of(at, i - 1), place_of(at, i - 2), place_of(at, i - 3)
        quick = x3 - x2
        if i >= 1:
            quick = max(quick, x2 - x1)
        if i >= 2:
            quick = max(quick, x1 - x0)
        square = (quick / period) * (quick / period)
        change = abs((x3 - x2) - (x2 - x1)) / (period * period)
        jolt = abs((x3 - x2) - 2.0 * (x2 - x1) + (x1 - x0)) / (period * period * period)
        bound, part = math.inf, 1.0
        for kind in range(kinds):
            j = 0
            for m in range(1, n):
                j = m if used[kind, i, m] > used[kind, i, j] else j
            over = used[kind, i, j]
            if not over > 1.0:
                continue
            ramp, power = 0.0, 2.0  # of speed: none of it is a ramp's
            if kind > 0:
                straight = (change if kind == 1 else jolt) * abs(first[k, j]) / limits[kind, j]
                ramp, power = min(straight / over, 1.0), 1.0 if kind == 1 else 2.0 / 3.0
                part = min(part, (over * overdone) ** -max(ramp, least_share))
            if ramp < 1.0 - least_share:
                bound = min(bound, square * (over * overdone) ** (-power * (1.0 - ramp)))
        for g in range(begin, end + 1):
            most[g], lowered[g] = min(most[g], bound), min(lowered[g], part)
    low, high = grid_last, 0
    for k in range(grid_last + 1):
        if most[k] < math.inf or lowered[k] < 1.0:
            low, high = min(low, max(k - 1, 0)), min(k, grid_last - 1)
            allowed = pace_m_s
            for j in range(n):
                allowed = min(allowed, limits[0, j] / max(abs(first[k, j]), still))
            room[k] = min(room[k], most[k] / (allowed * allowed))
            force[k] *= lowered[k]
            stale[max(k - 1, 0)] = stale[k] = True
    return low, high


@njit(nogil=True, error_model="numpy")
def smallest(room, force):
    """The smallest of either."""
    least = math.inf
    for k in range(len(room)):
        least = min(least, room[k], force[k])
    return least


@njit(nogil=True, error_model="numpy")
def window_of(first, still, period, limits):
    """Periods to average over: as long as the joint that limits the start or the end takes to its full acceleration."""
    if not limits[2, 0] < math.inf:
        return 1
    longest = 0.0
    for k in (0, len(first) - 1):
        change = jolt = math.inf
        for j in range(JOINTS):
            size = max(abs(first[k, j]), still)
            change, jolt = min(change, limits[1, j] / size), min(jolt, limits[2, j] / size)
        longest = max(longest, change / jolt)
    return max(1, math.ceil(longest / period - 1e-9))


@njit(cache=True, nogil=True, error_model="numpy")
def course(joints, length, period, limits, pace_m_s, rules, most_samples):
    """Lengths at the samples, seconds, excess, index of the worst, status; see `time_on_path`.

    Args:
        joints: (N, n), C-ordered.
        length: of the whole, m.
        period: between samples, s.
        limits: rows of speed, acceleration and jerk, (3, n), C-ordered; jerk infinite for a plan without it.
        pace_m_s: most of the tool on its path.
        rules: headroom, planned, least apart, still, overdone, least share, slowest, rounds.
        most_samples: that a motion may have.
    """
    headroom, planned, apart_least, still, slowest = rules[0], rules[1], rules[2], rules[3], rules[6]
    places, n = len(joints), JOINTS
    step = length / (places - 1)
    first, second = np.empty((places, n)), np.empty((places, n))
    slopes(joints, step, first, second)
    window = window_of(first, still, period, limits)
    lines = np.empty((3, places - 1, 2 * JOINTS))
    bends, all_changes, changes = lines[0], lines[1], lines[2]
    lines_of(first, second, limits, planned, 2.0 * step, still, bends, all_changes)
    work = np.empty((7, places))
    fast, top, pace, times, most, lowered = work[0], work[1], work[2], work[3], work[4], work[5]
    back, squares, begin, end = np.zeros(places), np.zeros(places), 0, places - 2
    fastest(first, limits, planned, pace_m_s * headroom, still, fast)
    room, force, stale = np.empty(places), np.empty(places), np.empty(places, dtype=np.bool_)
    for k in range(places):
        room[k], force[k], stale[k] = 1.0, 1.0, True
    seconds, excess, worst, at = 0.0, math.inf, 0, work[6]
    for _ in range(int(rules[7])):
        ceilings(bends, all_changes, fast, room, force, stale, apart_least, changes, top)
        quickest(bends, changes, top, begin, end, back, squares)
        moments(squares, step, pace, times)
        seconds = times[places - 1] + (window - 1) * period
        wanted = math.ceil(times[places - 1] / period - 1e-9)
        if wanted + window > most_samples:
            return at, seconds, excess, worst, TOO_LONG
        at = sampled(squares, pace, times, step, length, period, window, int(wanted))
        used, slower = np.empty((3, len(at) + 3, n)), np.empty(len(at) + 3)
        worst = judged(at, joints, first, step, period, limits, headroom, used, slower)
        excess = slower[worst]
        if excess <= 1.0 or smallest(room, force) < slowest:
            break
        begin, end = lower(
            at, used, slower, first, step, period, window, limits, pace_m_s, rules, most, lowered, room, force, stale
        )
    return at, seconds, excess, worst, WHOLE
