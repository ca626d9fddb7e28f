"""Many settings of one controlled arm, run side by side: what is around the arm's own equations.

`hil.kernels.emit_lanes` puts two functions of one arm in front of what follows the line below: `control_lanes` and
`move_lanes`, which work on one tile of settings. A tile is a flat buffer of rows, `ROW` numbers apart; row
``block * n + k`` holds one number of joint k for every setting. `hil.control.plain` does the same in numpy.
"""

import numpy as np
from numba import njit

from hil.kernels.lane_layout import (
    ASKED,
    AT_LIMIT,
    BEYOND_ERROR,
    BEYOND_SPEED,
    BEYOND_TORQUE,
    ERROR_SUM,
    FAILED,
    FAILED_AT,
    LARGEST_ERROR,
    LIMIT,
    MEASURED,
    MEASURED_BEFORE,
    QD,
    QUEUED,
    ROW,
    SCORES,
    SETTINGS,
    SPEED_SEEN,
    STATE_BLOCKS,
    TAU,
    TILE,
    TORQUE_SQUARES,
    Q,
)


def control_lanes(state, shared, lanes):
    """The controller's equations, put in here by the emitter."""


def move_lanes(state, shared, lanes):
    """The arm's equations, put in here by the emitter."""


# -- from here on, beside the equations of one arm -------------------------------------------------------


@njit(nogil=True, error_model="numpy")
def measure(state, lanes, n, noise, resolution, by_difference, period_s):
    """What the controller sees: positions with noise, in whole steps of the encoder, and speeds."""
    for k in range(n):
        step = resolution[k]
        for i in range(lanes):
            state[(MEASURED_BEFORE * n + k) * ROW + i] = state[(MEASURED * n + k) * ROW + i]
        if step > 0.0:
            for i in range(lanes):
                seen = (state[(Q * n + k) * ROW + i] + noise[k]) / step
                state[(MEASURED * n + k) * ROW + i] = np.floor(seen + 0.5) * step
        else:
            for i in range(lanes):
                state[(MEASURED * n + k) * ROW + i] = state[(Q * n + k) * ROW + i] + noise[k]
        if by_difference:
            for i in range(lanes):
                moved = state[(MEASURED * n + k) * ROW + i] - state[(MEASURED_BEFORE * n + k) * ROW + i]
                state[(SPEED_SEEN * n + k) * ROW + i] = moved / period_s
        else:
            for i in range(lanes):
                state[(SPEED_SEEN * n + k) * ROW + i] = state[(QD * n + k) * ROW + i]


@njit(nogil=True, error_model="numpy")
def score(state, scores, lanes, n, wanted, bounds, tick):
    """Add one tick to every setting's scores, and mark those beyond the bounds."""
    alive = 0
    for k in range(n):
        most_error, most_speed, most_torque = bounds[0, k], bounds[1, k], bounds[2, k]
        for i in range(lanes):
            error = abs(wanted[k] - state[(Q * n + k) * ROW + i])
            torque = state[(QUEUED * n + k) * ROW + i]
            asked = state[(ASKED * n + k) * ROW + i]
            scores[(ERROR_SUM * n + k) * ROW + i] += error
            largest = scores[(LARGEST_ERROR * n + k) * ROW + i]
            scores[(LARGEST_ERROR * n + k) * ROW + i] = error if error > largest else largest
            scores[(TORQUE_SQUARES * n + k) * ROW + i] += torque * torque
            scores[(AT_LIMIT * n + k) * ROW + i] += 1.0 if asked >= state[(LIMIT * n + k) * ROW + i] else 0.0
            speed = abs(state[(QD * n + k) * ROW + i])
            beyond = 0.0 if asked <= most_torque else BEYOND_TORQUE
            beyond = beyond if speed <= most_speed else BEYOND_SPEED
            beyond = beyond if error <= most_error else BEYOND_ERROR
            failed = scores[FAILED * n * ROW + i]
            at = scores[FAILED_AT * n * ROW + i]
            scores[FAILED_AT * n * ROW + i] = tick if (failed == 0.0) & (beyond > 0.0) else at
            scores[FAILED * n * ROW + i] = beyond if failed == 0.0 else failed
    for i in range(lanes):
        if scores[FAILED * n * ROW + i] == 0.0:
            alive += 1
    return alive


@njit("void(float64[:, ::1], float64[:, ::1], int64[::1], float64[::1], float64[:, ::1], float64[:, ::1], "
      "float64[:, ::1], float64[::1], float64[:, ::1], float64[::1], float64[::1])",
      cache=True, nogil=True, error_model="numpy")  # fmt: skip
def run(settings, results, schedule, times, wanted, noise, disturbance, resolution, bounds, start, hold):
    """Run every setting from start to end.

    Args:
        settings: shape (8 n, N), blocks of `SETTINGS`.
        results: shape (6 n, N), blocks of `SCORES`, written.
        schedule: ticks, steps per tick, delay in steps, whether speeds are taken from positions.
        times: length of a step and of a tick, s; then the lower and upper stops of all joints.
        wanted: shape (ticks + 1, 3 n): positions, speeds, accelerations.
        noise: shape (ticks + 1, n), added to positions as they are measured.
        disturbance: shape (ticks * steps, n), added to the torques; (0, n) for none.
        resolution: of the encoders, shape (n,); 0 for exact.
        bounds: largest error, speed and asked torque, shape (3, n).
        start: position and speed of every joint, shape (2 n,).
        hold: torques before the first command arrives, shape (n,).
    """
    ticks, steps, delay, by_difference = schedule[0], schedule[1], schedule[2], schedule[3] != 0
    n, count = len(resolution), settings.shape[1]
    ring = delay // steps + 2
    state, scores = np.zeros(STATE_BLOCKS * n * ROW), np.zeros(SCORES * n * ROW)
    commands = np.zeros(ring * n * ROW)
    # step, tick, stops, then the three wanted rows.
    shared = np.empty(2 + 5 * n)
    shared[: 2 + 2 * n] = times
    for first in range(0, count, TILE):
        lanes = min(TILE, count - first)
        scores[:] = 0.0
        state[:] = 0.0
        for k in range(SETTINGS * n):
            for i in range(lanes):
                state[(k) * ROW + i] = settings[k, first + i]
        for k in range(n):
            for i in range(lanes):
                state[(Q * n + k) * ROW + i] = start[k]
                state[(QD * n + k) * ROW + i] = start[n + k]
                state[(MEASURED * n + k) * ROW + i] = start[k] - start[n + k] * times[1]
        for tick in range(ticks + 1):
            shared[2 + 2 * n :] = wanted[tick]
            measure(state, lanes, n, noise[tick], resolution, by_difference, times[1])
            control_lanes(state, shared, lanes)
            alive = score(state, scores, lanes, n, wanted[tick], bounds, tick)
            if tick == ticks or alive == 0:
                break
            slot = tick % ring
            for k in range(n):
                for i in range(lanes):
                    commands[(slot * n + k) * ROW + i] = state[(QUEUED * n + k) * ROW + i]
            for step in range(tick * steps, (tick + 1) * steps):
                arrived = step >= delay
                slot = ((step - delay) // steps) % ring
                for k in range(n):
                    push = disturbance[step, k] if len(disturbance) > 0 else 0.0
                    for i in range(lanes):
                        state[(TAU * n + k) * ROW + i] = push + (
                            commands[(slot * n + k) * ROW + i] if arrived else hold[k]
                        )
                move_lanes(state, shared, lanes)
        for k in range(SCORES * n):
            for i in range(lanes):
                results[k, first + i] = scores[k * ROW + i]
