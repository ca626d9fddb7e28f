"""Fits the model of a servo to what was measured while it followed: least squares by SciPy, with what is left open."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hil.control.servo import Follower, follower
from hil.errors import CommandError, MissingExtraError
from hil.kernels.scalar import FloatArray
from hil.model.servo import DriveServo, HobbyServo, ServoModel
from hil.types import Record

KINDS = ("hobby", "drive")
LONGEST_STEP_S = 0.01
"""A stretch between two targets is gone in steps of at most this."""

SETTLING_S = 0.5
"""So much of each stretch does not count: nobody knows how fast the servo was at its beginning."""

LEAST_REPORTS = 40
SURE = 1.96
"""Standard deviations on either side of a value that hold it with 95 %."""

OPEN_SHARE = 0.5
"""A value whose interval reaches further than this part of itself to either side is not known from the recording."""


class Stretch(NamedTuple):
    """One axis while it was told where to be, radians or metres.

    Attributes:
        time_s: when it was told, shape (K,), rising.
        target: where it was due, straight between the times.
        load: what it had to hold there, N m or N; zeros where nobody knows.
        measured_s: when it was measured, shape (M,).
        measured: where it was found; or volts of something that turns with it.
    """

    time_s: FloatArray
    target: FloatArray
    load: FloatArray
    measured_s: FloatArray
    measured: FloatArray


class Fitted(Record, frozen=True):
    """One number of a model.

    Attributes:
        name: as `Fit.values` calls it.
        value: the best.
        low, high: where it is with 95 %.
    """

    name: str
    value: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """How far its interval reaches to the wider side, as a part of the value; infinite for a value of 0."""
        reach = max(self.high - self.value, self.value - self.low)
        return reach / abs(self.value) if self.value else math.inf

    @property
    def known(self) -> bool:
        """The recording says what it is; else only that it is small, or nothing at all."""
        return self.spread <= OPEN_SHARE


class Fit(Record, frozen=True):
    """What came of it; times in seconds, all else in the units of the axis.

    Attributes:
        model: the best.
        lag_s: of the axis with it.
        values: its numbers, and ``delay``: how much later than due the servo was told, or the measuring clock shows.
        offset: measured minus where the model is, on average: a calibration that is off, not a servo.
        rms: what is left of measured minus modelled.
        reports: how many were compared.
    """

    model: ServoModel
    lag_s: float
    values: tuple[Fitted, ...]
    offset: float
    rms: float
    reports: int

    def value(self, name: str) -> Fitted:
        """One of them.

        Raises:
            KeyError: this kind has none of that name.
        """
        for each in self.values:
            if each.name == name:
                return each
        raise KeyError(name)


class _Number(NamedTuple):
    """What is looked for.

    Attributes:
        name: as `Fit.values` calls it.
        start: where to begin.
        least, most: where it can be.
        scale: a natural size of it; 0 for a number that is looked for by its ratio to `start`.
    """

    name: str
    start: float
    least: float
    most: float
    scale: float = 0.0

    def inner(self, value: float) -> float:
        """As the search has it: far from 0, since its steps are parts of what they start from."""
        return _FAR + (value / self.scale if self.scale else math.log(value / self.start))

    def outer(self, value: float) -> float:
        """Back from there."""
        far = value - _FAR
        return far * self.scale if self.scale else self.start * math.exp(far)


_FAR = 10.0
_STEP = 1e-4
"""Of the search's differences, as a part of a number that is about `_FAR`."""


def fit_servo(
    stretches: Sequence[Stretch],
    kind: str,
    *,
    top_speed: float,
    way: float,
    backlash: float = 0.0,
    volts: bool = False,
    own_clock: bool = False,
) -> Fit:
    """The servo that comes nearest to what was measured.

    Args:
        stretches: of one axis.
        kind: one of `KINDS`.
        top_speed: of the servo, by its data sheet.
        way: how far the axis goes in the recording; the scale of what is looked for.
        backlash: of a hobby servo. From outside, play and dead band look the same, so that only one can be found.
        volts: what was measured goes up or down with the position in a straight line.
        own_clock: it was measured by another clock, which may be some seconds off.

    Raises:
        CommandError: another kind, or too little was measured.
        MissingExtraError: SciPy is not installed.
    """
    if kind not in KINDS:
        raise CommandError(f"kind {kind!r} given; allowed: {', '.join(KINDS)}", value=kind, allowed=", ".join(KINDS))
    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise MissingExtraError("hil fit", "tune", needs="needs") from None
    compared = sum(int(np.sum(_counts(each))) for each in stretches)
    if compared < LEAST_REPORTS:
        raise CommandError(
            f"{compared} measurements while it followed; allowed: {LEAST_REPORTS} or more", value=compared
        )
    loaded = any(float(np.ptp(each.load)) > 0.0 for each in stretches)
    numbers = _hobby_numbers(way, loaded) if kind == "hobby" else _drive_numbers(top_speed, way)
    numbers = [*numbers, _Number("delay", 0.01, -2.0 if own_clock else -0.05, 2.0 if own_clock else 0.5, scale=0.5)]

    def made(inner: Sequence[float]) -> dict[str, float]:
        return {number.name: number.outer(float(value)) for number, value in zip(numbers, inner, strict=True)}

    def off(inner: Sequence[float]) -> FloatArray:
        values = made(inner)
        model, lag_s = _model(kind, values, backlash)
        parts = [
            _compared(each, follower(model, _start(each, volts), lag_s, top_speed), values["delay"])
            for each in stretches
        ]
        found = np.concatenate([part[0] for part in parts])
        seen = np.concatenate([part[1] for part in parts])
        left, _ = _explained(found, seen, volts)
        return left / way

    starts = [[number.inner(number.start) for number in numbers]]
    if own_clock:
        starts[0][-1] = _best_delay(off, starts[0], numbers[-1])
    # Dead band and play make flat places: another start beside the first.
    starts.append([*starts[0]])
    starts[1][0] = numbers[0].inner(numbers[0].start * 2.0)
    bounds = (
        [number.inner(number.least) for number in numbers],
        [number.inner(number.most) for number in numbers],
    )
    runs = [least_squares(off, start, bounds=bounds, diff_step=_STEP, x_scale=0.1, max_nfev=60) for start in starts]
    best = min(runs, key=lambda run: float(run.cost))
    values = made(best.x)
    model, lag_s = _model(kind, values, backlash)
    return Fit(
        model=model,
        lag_s=lag_s,
        values=_with_confidence(numbers, best.x, np.asarray(best.jac), np.asarray(best.fun)),
        offset=0.0 if volts else _offset(stretches, model, lag_s, top_speed, values["delay"]),
        rms=float(np.sqrt(np.mean(np.square(best.fun)))) * way,
        reports=compared,
    )


def followed(
    stretches: Sequence[Stretch], model: ServoModel, lag_s: float, top_speed: float
) -> tuple[FloatArray, FloatArray]:
    """Where the shadow would be when it was measured, with this model and no delay; and what was measured."""
    parts = [_compared(each, follower(model, _start(each, False), lag_s, top_speed), 0.0) for each in stretches]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def counted(stretches: Sequence[Stretch], values: Callable[[Stretch], FloatArray]) -> FloatArray:
    """Of a value per measurement, those that are compared."""
    return np.concatenate([values(each)[_counts(each)] for each in stretches])


def _hobby_numbers(way: float, loaded: bool) -> list[_Number]:
    numbers = [
        _Number("frequency", 2.0 * math.pi * 4.0, 2.0 * math.pi * 0.3, 2.0 * math.pi * 40.0),
        _Number("damping", 0.9, 0.2, 5.0),
        _Number("dead_band", 0.02 * way, 0.0, 0.5 * way, scale=way),
    ]
    return [*numbers, _Number("sag", 0.02 * way, 0.0, 10.0 * way, scale=way)] if loaded else numbers


def _drive_numbers(top_speed: float, way: float) -> list[_Number]:
    return [
        _Number("lag", 0.05, 0.002, 1.0),
        _Number("acceleration", top_speed / 0.15, top_speed / 5.0, top_speed / 0.002),
    ]


def _model(kind: str, values: dict[str, float], backlash: float) -> tuple[ServoModel, float]:
    if kind == "drive":
        return DriveServo(acceleration=values["acceleration"]), values["lag"]
    hobby = HobbyServo(
        frequency_rad_s=values["frequency"],
        damping=values["damping"],
        dead_band=values["dead_band"],
        backlash=backlash,
        sag=values.get("sag", 0.0),
    )
    return hobby, hobby.lag_s


def _start(stretch: Stretch, volts: bool) -> float:
    return float(stretch.target[0] if volts else stretch.measured[0])


def _counts(stretch: Stretch) -> np.ndarray:
    after, before = stretch.measured_s >= stretch.time_s[0] + SETTLING_S, stretch.measured_s <= stretch.time_s[-1]
    return np.asarray(after & before)


def _compared(stretch: Stretch, servo: Follower, delay_s: float) -> tuple[FloatArray, FloatArray]:
    """Where the servo was when it was measured, and what was."""
    whole_s = stretch.time_s[-1] - stretch.time_s[0]
    times = np.linspace(stretch.time_s[0], stretch.time_s[-1], max(2, math.ceil(whole_s / LONGEST_STEP_S) + 1))
    targets = np.interp(times, stretch.time_s, stretch.target).tolist()
    loads = np.interp(times, stretch.time_s, stretch.load).tolist()
    step_s = float(times[1] - times[0])
    places = [servo.position]
    for start, end, load in zip(targets[:-1], targets[1:], loads[1:], strict=True):
        places.append(servo.follow(start, end, step_s, load))
    counts = _counts(stretch)
    return np.interp(stretch.measured_s[counts] - delay_s, times, places), stretch.measured[counts]


def _explained(found: FloatArray, seen: FloatArray, volts: bool) -> tuple[FloatArray, float]:
    """What an offset, or a straight line from volts, leaves; and the offset."""
    if not volts:
        offset = float(np.mean(seen - found))
        return seen - found - offset, offset
    gain = np.polyfit(seen, found, 1) if float(np.ptp(seen)) > 0.0 else np.zeros(2)
    left: FloatArray = np.polyval(gain, seen) - found
    return left, 0.0


def _offset(stretches: Sequence[Stretch], model: ServoModel, lag_s: float, top_speed: float, delay_s: float) -> float:
    parts = [_compared(each, follower(model, _start(each, False), lag_s, top_speed), delay_s) for each in stretches]
    return _explained(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), False)[1]


def _best_delay(off: Callable[[Sequence[float]], FloatArray], start: Sequence[float], delay: _Number) -> float:
    tried = [delay.inner(value) for value in np.arange(-1.9, 1.95, 0.05).tolist()]
    return min(tried, key=lambda value: float(np.sum(np.square(off([*start[:-1], value])))))


def _with_confidence(
    numbers: Sequence[_Number], inner: FloatArray, jacobian: FloatArray, left: FloatArray
) -> tuple[Fitted, ...]:
    """Each with its interval: as for independent noise, widened by how much neighbours have in common."""
    spare = max(1, len(left) - len(inner))
    alike = float(np.sum(left[1:] * left[:-1]) / max(float(np.sum(left * left)), 1e-300))
    widened = (1.0 + min(max(alike, 0.0), 0.98)) / (1.0 - min(max(alike, 0.0), 0.98))
    spread = np.linalg.pinv(jacobian.T @ jacobian) * (float(np.sum(left * left)) / spare * widened)
    # What changes nothing in the recording is not known at all: pinv would call it certain.
    felt = np.linalg.norm(jacobian, axis=0) > 1e-9 * max(float(np.linalg.norm(jacobian)), 1e-300)
    sizes = np.where(felt, SURE * np.sqrt(np.maximum(np.diag(spread), 0.0)), np.inf)
    found = []
    for number, value, size in zip(numbers, inner.tolist(), sizes.tolist(), strict=True):
        low = max(value - size, number.inner(number.least))
        high = min(value + size, number.inner(number.most))
        found.append(Fitted(number.name, number.outer(value), number.outer(low), number.outer(high)))
    return tuple(found)
