"""What runs of a closed loop give: scores of many, every tick of one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hil.kernels import lane_layout as layout
from hil.kernels.scalar import FloatArray

REASONS = {
    int(layout.BEYOND_ERROR): "error",
    int(layout.BEYOND_SPEED): "speed",
    int(layout.BEYOND_TORQUE): "torque",
}


class Scores(NamedTuple):
    """What N settings cost.

    Attributes:
        cost: sum over ticks and joints of the error's size, rad (m where prismatic); infinity where unstable.
        cost_s: the same times the length of a tick: comparable between rates.
        largest_error: of any joint, rad (m).
        torque_rms: over joints and ticks, N m (N).
        at_limit: part of ticks and joints at their torque limit.
        error_sums: per joint, shape (n, N).
        failed_s: when a bound was passed, s; NaN where none was.
        reason: which: 0 none, 1 error, 2 speed, 3 torque.
    """

    cost: FloatArray
    cost_s: FloatArray
    largest_error: FloatArray
    torque_rms: FloatArray
    at_limit: FloatArray
    error_sums: FloatArray
    failed_s: FloatArray
    reason: FloatArray


class Trace(NamedTuple):
    """One run, tick by tick: shapes (K,) and (K, n), radians, metres, N m.

    Attributes:
        time_s: of each tick.
        wanted, wanted_speed, wanted_acceleration: of the reference.
        actual, speed: of the arm.
        measured: what the controller saw.
        torque: that the controller asked for, within its limits.
        reaction: torque that dry friction and stops took.
        scores: of the run.
    """

    time_s: FloatArray
    wanted: FloatArray
    wanted_speed: FloatArray
    wanted_acceleration: FloatArray
    actual: FloatArray
    speed: FloatArray
    measured: FloatArray
    torque: FloatArray
    reaction: FloatArray
    scores: Scores

    @property
    def error(self) -> FloatArray:
        """Wanted minus actual position."""
        return self.wanted - self.actual


def scores_of(results: FloatArray, dof: int, ticks: int, period_s: float) -> Scores:
    """What the loops count, shape (6 n, N), as scores; sums of unstable settings become infinite in it.

    Args:
        results: rows of `hil.kernels.lane_layout`.
        dof: joints, n.
        ticks: of the whole run, the first not counted.
        period_s: of a tick.
    """
    n, count = dof, ticks + 1
    blocks = results.reshape(layout.SCORES, n, -1)
    reason, sums = blocks[layout.FAILED, 0], blocks[layout.ERROR_SUM]
    totals = np.add.reduce(blocks[: layout.FAILED], axis=1)
    cost, largest = totals[layout.ERROR_SUM], np.maximum.reduce(blocks[layout.LARGEST_ERROR])
    rms = np.sqrt(totals[layout.TORQUE_SQUARES] / (n * count))
    limited = totals[layout.AT_LIMIT] / (n * count)
    when: FloatArray = np.full(len(reason), np.nan)
    if np.count_nonzero(reason):
        failed = reason > 0.0
        when[failed] = blocks[layout.FAILED_AT, 0, failed] * period_s
        for values, nothing in ((sums.T, np.inf), (cost, np.inf), (largest, np.inf), (rms, np.inf),
                                (limited, np.nan)):  # fmt: skip
            values[failed] = nothing
    return Scores(cost, cost * period_s, largest, rms, limited, sums, when, reason)
