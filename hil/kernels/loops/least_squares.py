"""Inverse kinematics of any chain by damped least squares, whole search in one compiled call.

The same search as `hil.kinematics.numeric` does on floats: damping after Chan and Lawrence (1988), starts given up
that no longer halve their error, solutions outside the limits brought inside where that can be done. Lengths are
divided by the arm's own, so that one damping suits all sizes.
"""

from __future__ import annotations

# mypy: disallow-untyped-decorators=False
import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

FloatArray: TypeAlias = npt.NDArray[np.float64]

TURN = 2.0 * math.pi
ON_LIMIT = 1e-9
POSE, AXIS, PITCH, POINT = 0, 1, 2, 3


@njit(nogil=True, error_model="numpy")
def place(table: FloatArray, ends: FloatArray, q: FloatArray, axes: FloatArray, tool: FloatArray) -> None:
    """Axis and origin of every joint, n x 6, and the tool frame, 12 numbers column by column."""
    x0, x1, x2 = ends[0, 0], ends[0, 1], ends[0, 2]
    y0, y1, y2 = ends[0, 3], ends[0, 4], ends[0, 5]
    z0, z1, z2 = ends[0, 6], ends[0, 7], ends[0, 8]
    p0, p1, p2 = ends[0, 9], ends[0, 10], ends[0, 11]
    for i in range(table.shape[0]):
        sign, d, a = table[i, 4], table[i, 2], table[i, 3]
        axes[i, 0], axes[i, 1], axes[i, 2] = sign * z0, sign * z1, sign * z2
        axes[i, 3], axes[i, 4], axes[i, 5] = p0, p1, p2
        if table[i, 0] != 0.0:
            angle = table[i, 1] + sign * q[i]
            c, s = math.cos(angle), math.sin(angle)
        else:
            c, s = table[i, 5], table[i, 6]
            d += sign * q[i]
        x0, y0 = c * x0 + s * y0, c * y0 - s * x0
        x1, y1 = c * x1 + s * y1, c * y1 - s * x1
        x2, y2 = c * x2 + s * y2, c * y2 - s * x2
        p0, p1, p2 = p0 + d * z0 + a * x0, p1 + d * z1 + a * x1, p2 + d * z2 + a * x2
        c, s = table[i, 7], table[i, 8]
        y0, z0 = c * y0 + s * z0, c * z0 - s * y0
        y1, z1 = c * y1 + s * z1, c * z1 - s * y1
        y2, z2 = c * y2 + s * z2, c * z2 - s * y2
    for k in range(4):
        u, v, w = ends[1, 3 * k], ends[1, 3 * k + 1], ends[1, 3 * k + 2]
        tool[3 * k] = x0 * u + y0 * v + z0 * w
        tool[3 * k + 1] = x1 * u + y1 * v + z1 * w
        tool[3 * k + 2] = x2 * u + y2 * v + z2 * w
    tool[9] += p0
    tool[10] += p1
    tool[11] += p2


@njit(nogil=True, error_model="numpy")
def turn_to(tool: FloatArray, wanted: FloatArray, error: FloatArray) -> None:
    """Axis times angle of the rotation from the tool's axes to the wanted ones, into error[3:6]."""
    r11 = wanted[0] * tool[0] + wanted[3] * tool[3] + wanted[6] * tool[6]
    r12 = wanted[0] * tool[1] + wanted[3] * tool[4] + wanted[6] * tool[7]
    r13 = wanted[0] * tool[2] + wanted[3] * tool[5] + wanted[6] * tool[8]
    r21 = wanted[1] * tool[0] + wanted[4] * tool[3] + wanted[7] * tool[6]
    r22 = wanted[1] * tool[1] + wanted[4] * tool[4] + wanted[7] * tool[7]
    r23 = wanted[1] * tool[2] + wanted[4] * tool[5] + wanted[7] * tool[8]
    r31 = wanted[2] * tool[0] + wanted[5] * tool[3] + wanted[8] * tool[6]
    r32 = wanted[2] * tool[1] + wanted[5] * tool[4] + wanted[8] * tool[7]
    r33 = wanted[2] * tool[2] + wanted[5] * tool[5] + wanted[8] * tool[8]
    x, y, z = 0.5 * (r32 - r23), 0.5 * (r13 - r31), 0.5 * (r21 - r12)
    sine, cosine = math.sqrt(x * x + y * y + z * z), 0.5 * (r11 + r22 + r33 - 1.0)
    if cosine > 0.0 or sine > 1e-4:
        scale = math.atan2(sine, cosine) / sine if sine > 1e-12 else 1.0
        error[3], error[4], error[5] = x * scale, y * scale, z * scale
        return
    # Near half a turn the skew part vanishes; the axis is the longest column of (R + R^T) / 2 - cos * 1, which is
    # the one with the largest diagonal.
    xy, xz, yz = 0.5 * (r12 + r21), 0.5 * (r13 + r31), 0.5 * (r23 + r32)
    ax, ay, az = r11 - cosine, xy, xz
    if r22 > r11 and r22 >= r33:
        ax, ay, az = xy, r22 - cosine, yz
    elif r33 > r11:
        ax, ay, az = xz, yz, r33 - cosine
    scale = math.atan2(sine, cosine) / math.sqrt(ax * ax + ay * ay + az * az)
    if ax * x + ay * y + az * z < 0.0:
        scale = -scale
    error[3], error[4], error[5] = ax * scale, ay * scale, az * scale


@njit(nogil=True, error_model="numpy")
def axis_to(tool: FloatArray, wanted: FloatArray, error: FloatArray) -> float:
    """The shortest turn of the tool's z axis to the wanted one, into error[3:6]; its angle."""
    x = tool[7] * wanted[8] - tool[8] * wanted[7]
    y = tool[8] * wanted[6] - tool[6] * wanted[8]
    z = tool[6] * wanted[7] - tool[7] * wanted[6]
    sine = math.sqrt(x * x + y * y + z * z)
    angle = math.atan2(sine, tool[6] * wanted[6] + tool[7] * wanted[7] + tool[8] * wanted[8])
    if sine > 1e-12:
        scale = angle / sine
    elif angle < 1.0:
        scale = 1.0
    else:
        # Straight the other way: any line square to the axis will do.
        x, y, z, scale = tool[0], tool[1], tool[2], angle
    error[3], error[4], error[5] = x * scale, y * scale, z * scale
    return angle


@njit(nogil=True, error_model="numpy")
def lacking(kind: int, wanted: FloatArray, tool: FloatArray, error: FloatArray) -> tuple[float, float]:
    """What the tool lacks, metres then radians, into `error`; and the lengths of both halves.

    With `PITCH`, wanted[0] is the angle above the ground, and error[4:6] holds the horizontal line to turn about.
    With `AXIS`, only the z axis of `wanted` counts.
    """
    error[0], error[1], error[2] = wanted[9] - tool[9], wanted[10] - tool[10], wanted[11] - tool[11]
    error[3] = error[4] = error[5] = 0.0
    distance = math.sqrt(error[0] * error[0] + error[1] * error[1] + error[2] * error[2])
    if kind == POSE:
        turn_to(tool, wanted, error)
        return distance, math.sqrt(error[3] * error[3] + error[4] * error[4] + error[5] * error[5])
    if kind == POINT:
        return distance, 0.0
    if kind == AXIS:
        return distance, axis_to(tool, wanted, error)
    hx, hy = tool[6], tool[7]
    level = math.sqrt(hx * hx + hy * hy)
    if level <= 1e-6:
        hx, hy = wanted[9], wanted[10]
        level = math.sqrt(hx * hx + hy * hy)
    if level <= 1e-9:
        hx, hy, level = 1.0, 0.0, 1.0
    hx, hy = hx / level, hy / level
    turn = math.atan2(tool[8], tool[6] * hx + tool[7] * hy) - wanted[0]
    turn -= TURN * round(turn / TURN)
    error[3], error[4], error[5] = turn, -hy, hx
    return distance, abs(turn)


@njit(nogil=True, error_model="numpy")
def linearise(
    kind: int, table: FloatArray, axes: FloatArray, tool: FloatArray, error: FloatArray, length: float, rows: FloatArray
) -> None:
    """The transposed Jacobian, n x 6, and `error`, both with lengths in units of `length`, slides too."""
    for i in range(table.shape[0]):
        zx, zy, zz = axes[i, 0], axes[i, 1], axes[i, 2]
        if table[i, 0] == 0.0:
            rows[i, 0], rows[i, 1], rows[i, 2] = zx, zy, zz
            rows[i, 3] = rows[i, 4] = rows[i, 5] = 0.0
            continue
        ax, ay, az = (tool[9] - axes[i, 3]) / length, (tool[10] - axes[i, 4]) / length, (tool[11] - axes[i, 5]) / length
        rows[i, 0], rows[i, 1], rows[i, 2] = zy * az - zz * ay, zz * ax - zx * az, zx * ay - zy * ax
        if kind == POSE:
            rows[i, 3], rows[i, 4], rows[i, 5] = zx, zy, zz
        elif kind == AXIS:
            roll = zx * tool[6] + zy * tool[7] + zz * tool[8]
            rows[i, 3], rows[i, 4], rows[i, 5] = zx - roll * tool[6], zy - roll * tool[7], zz - roll * tool[8]
        else:
            rows[i, 3] = error[4] * zx + error[5] * zy if kind == PITCH else 0.0
            rows[i, 4] = rows[i, 5] = 0.0
    for k in range(3):
        error[k] /= length
    if kind == PITCH:
        error[4] = error[5] = 0.0


@njit(nogil=True, error_model="numpy")
def damped(rows: FloatArray, error: FloatArray, damping: float, square: FloatArray, step: FloatArray) -> bool:
    """The damped least squares step for n joints, from the smaller of the two normal equations; False if singular."""
    n = rows.shape[0]
    if n < 6:
        for i in range(n):
            for j in range(i + 1):
                total = 0.0
                for k in range(6):
                    total += rows[i, k] * rows[j, k]
                square[i, j] = total
            square[i, i] += damping
            total = 0.0
            for k in range(6):
                total += rows[i, k] * error[k]
            step[i] = total
        return cholesky(square, step, n)
    for i in range(6):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += rows[k, i] * rows[k, j]
            square[i, j] = total
        square[i, i] += damping
    weights = step[n:]
    for k in range(6):
        weights[k] = error[k]
    if not cholesky(square, weights, 6):
        return False
    for i in range(n):
        total = 0.0
        for k in range(6):
            total += rows[i, k] * weights[k]
        step[i] = total
    return True


@njit(nogil=True, error_model="numpy")
def cholesky(square: FloatArray, right: FloatArray, size: int) -> bool:
    """Solve in place, of the symmetric matrix the lower half is read; False where it is not positive definite."""
    for j in range(size):
        pivot = square[j, j]
        for k in range(j):
            pivot -= square[j, k] * square[j, k]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / math.sqrt(pivot)
        square[j, j] = inverse
        for i in range(j + 1, size):
            total = square[i, j]
            for k in range(j):
                total -= square[i, k] * square[j, k]
            square[i, j] = total * inverse
    for j in range(size):
        total = right[j]
        for k in range(j):
            total -= square[j, k] * right[k]
        right[j] = total * square[j, j]
    for j in range(size - 1, -1, -1):
        total = right[j]
        for k in range(j + 1, size):
            total -= square[k, j] * right[k]
        right[j] = total * square[j, j]
    return True


@njit(nogil=True, error_model="numpy")
def turned(value: float, lower: float, upper: float, near: float) -> float:
    """A joint angle whole turns away: inside its limits if that can be, near `near` (if that is not NaN)."""
    value -= TURN * math.ceil((value - math.pi) / TURN)
    if not math.isnan(near):
        value += TURN * round((near - value) / TURN)
    if value < lower - ON_LIMIT:
        value += TURN * math.ceil((lower - ON_LIMIT - value) / TURN)
        if value - upper > lower - (value - TURN):
            value -= TURN
    elif value > upper + ON_LIMIT:
        value -= TURN * math.ceil((value - upper - ON_LIMIT) / TURN)
        if lower - value > (value + TURN) - upper:
            value += TURN
    return value


@njit(nogil=True, error_model="numpy")
def descend(
    table: FloatArray,
    ends: FloatArray,
    limits: FloatArray,
    length: float,
    kind: int,
    wanted: FloatArray,
    tolerance: float,
    iterations: int,
    patience: int,
    tuning: FloatArray,
    inside: bool,
    q: FloatArray,
    axes: FloatArray,
    tool: FloatArray,
    rows: FloatArray,
    error: FloatArray,
    square: FloatArray,
    step: FloatArray,
) -> tuple[float, float, int]:
    """Improve `q` in place; metres and radians left, and the steps it took. `inside` keeps it within the limits."""
    gain, least, longest = tuning[0], tuning[1], tuning[2]
    n, before, count = q.shape[0], math.inf, 0
    while True:
        place(table, ends, q, axes, tool)
        distance, turn = lacking(kind, wanted, tool, error)
        if (distance <= tolerance and turn <= tolerance) or count >= iterations:
            return distance, turn, count
        half_square = 0.5 * (distance * distance / (length * length) + turn * turn)
        if count % patience == 0:
            if not half_square <= 0.5 * before:
                return distance, turn, count
            before = half_square
        linearise(kind, table, axes, tool, error, length, rows)
        if inside:
            # A joint at its limit that wants to go on outwards stands still for this step.
            for i in range(n):
                slope = 0.0
                for k in range(6):
                    slope += rows[i, k] * error[k]
                if (q[i] <= limits[0, i] and slope < 0.0) or (q[i] >= limits[1, i] and slope > 0.0):
                    rows[i, :] = 0.0
        damping = gain * half_square + least
        # Where rounding makes the matrix indefinite, a thousand times the least damping is above rounding.
        if not damped(rows, error, damping, square, step) and not damped(
            rows, error, damping + 1e3 * least, square, step
        ):
            return distance, turn, count
        widest = 0.0
        for i in range(n):
            widest = max(widest, abs(step[i]))
        scale = longest / widest if widest > longest else 1.0
        for i in range(n):
            q[i] += step[i] * scale * (1.0 if table[i, 0] != 0.0 else length)
            if inside:
                q[i] = min(max(q[i], limits[0, i]), limits[1, i])
        count += 1


@njit(nogil=True, error_model="numpy")
def settle(
    table: FloatArray,
    ends: FloatArray,
    length: float,
    kind: int,
    wanted: FloatArray,
    tolerance: float,
    trials: int,
    tuning: FloatArray,
    q: FloatArray,
    axes: FloatArray,
    tool: FloatArray,
    rows: FloatArray,
    error: FloatArray,
    square: FloatArray,
    step: FloatArray,
) -> tuple[float, float]:
    """Go down to the minimum nearby, limits aside; metres and radians left there.

    A step that does not improve is taken back and tried again with four times the damping (Levenberg, Marquardt).
    """
    least, longest = tuning[1], tuning[2]
    n, trial = q.shape[0], np.empty(q.shape[0])
    place(table, ends, q, axes, tool)
    distance, turn = lacking(kind, wanted, tool, error)
    half_square = 0.5 * (distance * distance / (length * length) + turn * turn)
    damping = tuning[0] * half_square
    for _ in range(trials):
        if distance <= tolerance and turn <= tolerance:
            break
        place(table, ends, q, axes, tool)
        lacking(kind, wanted, tool, error)
        linearise(kind, table, axes, tool, error, length, rows)
        if not damped(rows, error, damping + 1e3 * least, square, step):
            break
        widest = 0.0
        for i in range(n):
            widest = max(widest, abs(step[i]))
        scale = longest / widest if widest > longest else 1.0
        for i in range(n):
            trial[i] = q[i] + step[i] * scale * (1.0 if table[i, 0] != 0.0 else length)
        place(table, ends, trial, axes, tool)
        next_distance, next_turn = lacking(kind, wanted, tool, error)
        next_half = 0.5 * (next_distance * next_distance / (length * length) + next_turn * next_turn)
        if not next_half < half_square:
            damping *= 4.0
            continue
        damping /= 3.0
        distance, turn, half_square = next_distance, next_turn, next_half
        q[:] = trial
    return distance, turn


@njit(
    "Tuple((i8, b1, i8, i8, f8, f8))"
    "(f8[:,::1], f8[:,::1], f8[:,::1], f8, f8[::1], i8, UniTuple(f8, 12), f8[::1], b1, f8[:,::1], f8, i8, f8[:,::1])",
    nogil=True,
    error_model="numpy",
    cache=True,
)
def search(
    table: FloatArray,
    ends: FloatArray,
    limits: FloatArray,
    length: float,
    tuning: FloatArray,
    kind: int,
    target: tuple[float, ...],
    seed: FloatArray,
    seeded: bool,
    starts: FloatArray,
    tolerance: float,
    iterations: int,
    found: FloatArray,
) -> tuple[int, bool, int, int, float, float]:
    """Search from the seed, then from each row of `starts`, until a solution within the limits is found.

    Args:
        table: n x 9, the constants of each row as in `hil.kernels.chain.Row`.
        ends: base and tool frames, 2 x 12.
        limits: lower and upper, 2 x n.
        length: what counts as much as one radian, metres.
        tuning: damping per half squared error; least damping; longest step, radians; steps within which the half
            squared error has to halve; steps spent on the nearest try if nothing was found.
        kind: `POSE`, `AXIS`, `PITCH` or `POINT`.
        target: a frame of which kind reads what it needs; with `PITCH`, its first number is the angle.
        seed: first start.
        seeded: the turns of the answer are to be near the seed.
        starts: further ones, k x n.
        tolerance: accepted metres and radians.
        iterations: steps per start.
        found: (k + 1) x (n + 1), filled with solutions and their errors.

    Returns:
        How many rows of `found` are filled; whether the last one is within the limits; starts used; steps taken;
        metres and radians that the nearest try lacked.
    """
    n, patience = table.shape[0], int(tuning[3])
    wanted, tool, error = np.array(target), np.empty(12), np.empty(6)
    axes, rows, square, step = np.empty((n, 6)), np.empty((n, 6)), np.empty((6, 6)), np.empty(n + 6)
    q, nearest = np.empty(n), np.empty(n)
    least_distance = least_turn = math.inf
    count, steps = 0, 0
    # After all starts, the nearest try is carried on with more patience, if nothing was found.
    for attempt in range(starts.shape[0] + 2):
        last = attempt > starts.shape[0]
        if last and (count > 0 or least_distance == math.inf):
            break
        for i in range(n):
            q[i] = nearest[i] if last else seed[i] if attempt == 0 else starts[attempt - 1, i]
        # The second round starts from the limits that a solution of the first one violates.
        for inside in (False, True):
            if last and not inside:
                distance, turn = settle(
                    table, ends, length, kind, wanted, tolerance, int(tuning[4]), tuning, q, axes, tool, rows, error,
                    square, step,
                )  # fmt: skip
                least_distance, least_turn = distance, turn
            else:
                distance, turn, taken = descend(
                    table, ends, limits, length, kind, wanted, tolerance, iterations, patience, tuning, inside,
                    q, axes, tool, rows, error, square, step,
                )  # fmt: skip
                steps += taken
            if not max(distance, turn) <= tolerance:
                if max(distance, turn) < max(least_distance, least_turn):
                    least_distance, least_turn = distance, turn
                    nearest[:] = q
                break
            within = True
            for i in range(n):
                lower, upper = limits[0, i], limits[1, i]
                if table[i, 0] != 0.0:
                    q[i] = turned(q[i], lower, upper, seed[i] if seeded else math.nan)
                if lower - ON_LIMIT <= q[i] <= upper + ON_LIMIT:
                    q[i] = min(max(q[i], lower), upper)
                else:
                    within = False
            place(table, ends, q, axes, tool)
            distance, turn = lacking(kind, wanted, tool, error)
            if max(distance, turn) <= tolerance:
                found[count, :n] = q
                found[count, n] = max(distance, turn)
                if within:
                    return count + 1, True, attempt + 1, steps, distance, turn
                if not inside:
                    count += 1
            for i in range(n):
                q[i] = min(max(q[i], limits[0, i]), limits[1, i])
    return count, False, starts.shape[0] + 1, steps, least_distance, least_turn
