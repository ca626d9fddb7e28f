"""Recorded motions played back: sample for sample, or slower, forwards or backwards."""

from __future__ import annotations

import math

import numpy as np

from hil.errors import ConfigError
from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion.profiles import axis_limits, usage
from hil.motion.recording import Recording, moving_end
from hil.motion.refusals import Spot, beyond_soft_limits, refused, require_time
from hil.motion.step_files import Replay
from hil.refusal import Refusal
from hil.units import DEG, MM

SLOWER = 1.15
TRIES = 3
"""What lies between two samples of a recording is assumed: it is played a little slower until limits are kept, a third
more slowly at most. Slower than that it would be another motion."""

KEPT = 1.0 + 1e-9
"""Rounding that a recorded motion may show beyond a limit that it kept when it was made."""


def replay_rows(rig: Rig, replay: Replay, key: str, spot: Spot) -> FloatArray:
    """Samples of a recording as a step asks for them, shape (K + 1, n_axes).

    Raises:
        ConfigError: it is of another rig, or of other axes.
        RefusedError: it leaves the soft limits, or is too fast for this rig, or begins or ends in mid-motion.
    """
    recording, step = replay.recording, replay.step
    _check_rig(rig, recording)
    _check_ends(rig, recording, spot)
    samples = recording.samples[::-1] if step.backwards else recording.samples
    require_time(spot, (len(samples) - 1) * recording.period_s * 100.0 / step.speed_percent)
    _check_limits(rig, samples, spot)
    seconds = (len(samples) - 1) * recording.period_s * 100.0 / step.speed_percent
    if step.speed_percent == 100.0 and recording.period_s == rig.period_s:
        rows = samples.copy()
        if float(usage(rig, rows).max(initial=0.0)) <= KEPT:
            return rows
    for _ in range(TRIES):
        rows = _resampled(samples, max(math.ceil(seconds / rig.period_s - 1e-9), 1))
        used = float(usage(rig, rows).max(initial=0.0))
        if used <= 1.0:
            return rows
        seconds *= SLOWER
    raise refused([_too_fast(rig, rows, used, key)], spot)


def _check_rig(rig: Rig, recording: Recording) -> None:
    if recording.rig != rig.id:
        advice = "A recording is played back on the rig that made it: record it anew on this one"
        raise ConfigError(recording.file, "rig", recording.rig, f'"{rig.id}", the rig in use', advice)
    names = tuple(axis.name for axis in rig.axes)
    if recording.axes != names:
        given = ", ".join(recording.axes)
        raise ConfigError(recording.file, "axes", given, f"{', '.join(names)}, the axes of rig {rig.id}")


def _check_ends(rig: Rig, recording: Recording, spot: Spot) -> None:
    jerk = axis_limits(rig)[2]
    moving = moving_end(recording, jerk)
    if moving is None:
        return
    axis = rig.axes[moving.axis]
    unit, size = ("deg/s", DEG) if axis.kind is AxisKind.REVOLUTE else ("mm/s", MM)
    found = Refusal(
        check="E-03",
        subject=axis.name,
        limit=f"rest at both ends of a recording; this one {moving.verb} at {moving.speed / size:.2f} {unit}",
        margin=-moving.speed / size,
        unit=unit,
        nearest_allowed="a recording that begins and ends at rest",
        advice="Record it anew from rest to rest.",
    )
    raise refused([found], spot)


def _check_limits(rig: Rig, samples: FloatArray, spot: Spot) -> None:
    low = np.array([axis.lower + axis.soft_margin for axis in rig.axes])
    high = np.array([axis.upper - axis.soft_margin for axis in rig.axes])
    outside = ((samples < low - KEPT + 1.0) | (samples > high + KEPT - 1.0)).any(axis=1)
    if outside.any():
        k = int(np.argmax(outside))
        found = beyond_soft_limits(rig.axes, samples[k].tolist(), f"in sample {k} of the recording")
        raise refused(found, spot, k)


def _resampled(samples: FloatArray, count: int) -> FloatArray:
    """The same course in `count` periods, by cubics through the neighbours; both ends are kept."""
    last = len(samples) - 1
    cursors = np.linspace(0.0, last, count + 1)
    base = np.clip(np.floor(cursors).astype(np.intp), 0, max(last - 1, 0))
    t = (cursors - base)[:, None]
    p0, p1, p2, p3 = (samples[np.clip(base + k, 0, last)] for k in (-1, 0, 1, 2))
    a, b = 0.5 * (p2 - p0), 0.5 * (p3 - p1)
    rows: FloatArray = p1 + t * (a + t * (3.0 * (p2 - p1) - 2.0 * a - b + t * (2.0 * (p1 - p2) + a + b)))
    rows[-1] = samples[-1]
    return rows


def _too_fast(rig: Rig, rows: FloatArray, used: float, key: str) -> Refusal:
    axis = rig.axes[int(np.argmax(usage(rig, rows).max(axis=0)))]
    return Refusal(
        check="E-03",
        subject=axis.name,
        limit=f"speed, acceleration and jerk of this rig; the recording of {key} needs {used:.2f} times as much",
        margin=1.0 - used,
        unit="times the limit",
        nearest_allowed="a lower speed_percent, or a recording that begins and ends at rest",
        advice="Play it more slowly, or record it anew from rest to rest.",
    )
