"""How long and how far an arm goes on after its driver lets go, and how fast it may be for that to fit.

The way is a bound, not a forecast: until the ramp begins the tool is taken to move on as fast as it does now, and
the ramp to be the longest of any axis, at steady speed or while it was still speeding up.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from hil.errors import CommandError
from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.profiles import axis_limits
from hil.motion.stops import stop_samples
from hil.service.wire import StopBudget
from hil.types import AxisJog, Record, ToolJog
from hil.units import MM

SHARES = tuple(round(0.05 * k, 2) for k in range(1, 21))
"""Parts of the rig's speeds at which the ramp is worked out beforehand; between two the faster one counts."""

CRAWL = SHARES[0]
"""What is always left where speed is capped by a clearance: an arm that stands close to something has to get away,
and the loop itself refuses what could not stop in time."""

STATES = tuple(k / 8.0 for k in range(9))
"""Parts of the acceleration with which the speed may still be approached when the ramp begins."""

LAGS_TO_REST = 3.0
"""A servo that follows with a lag has 5 % of its way left after three of them."""

SMOOTH_AGE_S = 0.15
USABLE_AGE_S = 0.5
LEAST_BY_AGE = 0.2
"""Input up to the first age is worth full speed, at the second this part of it; older is good for steps alone."""


class StopFigures(Record, frozen=True):
    """What a rig contributes; worked out once, by `stop_figures`.

    Attributes:
        loop_s: until the loop takes a request, at worst one period.
        queue_s: motion that the controller has been given already: its look-ahead and one of its frames.
        wire_s: bytes of one command on the line.
        servo_s: lag of the slowest servo.
        tool_speed_m_s: at a speed share of 1.
        ramp_s: time of the ramp at each of `SHARES`.
        ramp_way_s: way of the ramp at each of `SHARES`, as time at the speed of that share.
    """

    loop_s: float
    queue_s: float
    wire_s: float
    servo_s: float
    tool_speed_m_s: float
    ramp_s: tuple[float, ...]
    ramp_way_s: tuple[float, ...]


class Live(Record, frozen=True):
    """What is measured now.

    Attributes:
        input_age_s: of the newest command when it came in; 0 for none.
        silence_s: for how long a command that is not renewed counts: what a cut connection adds.
        late_s: lateness of the loop's ticks, the worst of late.
        clearance_m: from the arm to the nearest thing that it may not touch; None if not known.
        tool_speed_m_s: of the tool now.
        speed_share: that is in force for another reason: token, picture, age.
    """

    input_age_s: float
    silence_s: float
    late_s: float
    clearance_m: float | None
    tool_speed_m_s: float
    speed_share: float = 1.0


def stop_figures(rig: Rig, wire_s: float) -> StopFigures:
    """The figures of a rig.

    Args:
        rig: gives limits, period, look-ahead and servo lags.
        wire_s: how long the bytes of one command take on the line.

    Raises:
        CommandError: `wire_s` is not a finite number of at least 0.
    """
    if not 0.0 <= wire_s < math.inf:
        raise CommandError(f"time on the wire: {wire_s!r} s given; allowed: 0 or more, finite", value=wire_s)
    speed, most, jerk = axis_limits(rig)
    times_s, ways_s = [], []
    for share in SHARES:
        top = speed * share
        paths = [_ramp_from(rig.period_s, top, most, jerk, part) for part in STATES]
        times_s.append(max(len(path) for path in paths) * rig.period_s)
        ways_s.append(max(float((np.abs(path).max(axis=0) / top).max()) for path in paths))
    return StopFigures(
        loop_s=rig.period_s,
        queue_s=rig.look_ahead_s + rig.controller.settle_s,
        wire_s=wire_s,
        servo_s=max(axis.servo_lag_s for axis in rig.axes),
        tool_speed_m_s=rig.tool_speed_m_s,
        ramp_s=tuple(times_s),
        ramp_way_s=tuple(ways_s),
    )


def budget(figures: StopFigures, live: Live) -> StopBudget:
    """The budget now, for people and for the cap.

    Raises:
        CommandError: a measured number is not finite or negative.
    """
    _refuse_unmeasured(live)
    reaction_s = _reaction_s(figures, live)
    share = min(max(live.tool_speed_m_s / figures.tool_speed_m_s, CRAWL), 1.0)
    ramp_s, ramp_way_s = _ramp(figures, share)
    way_m = live.tool_speed_m_s * (reaction_s + ramp_way_s) if live.tool_speed_m_s > 0.0 else 0.0
    cap = min(live.speed_share, speed_cap(figures, reaction_s, live.clearance_m))
    input_s = live.input_age_s + live.silence_s
    settle_s = LAGS_TO_REST * figures.servo_s
    total_s = input_s + figures.loop_s + live.late_s + figures.queue_s + figures.wire_s + ramp_s + settle_s
    return StopBudget(
        input_ms=input_s / MM,
        loop_ms=(figures.loop_s + live.late_s) / MM,
        queue_ms=figures.queue_s / MM,
        wire_ms=figures.wire_s / MM,
        ramp_ms=ramp_s / MM,
        servo_ms=settle_s / MM,
        total_ms=total_s / MM,
        distance_mm=way_m / MM,
        clearance_mm=None if live.clearance_m is None else live.clearance_m / MM,
        speed_share=cap,
    )


def speed_cap(figures: StopFigures, reaction_s: float, clearance_m: float | None) -> float:
    """The largest of `SHARES` at which the whole way of a stop stays inside the clearance, `CRAWL` at least.

    Args:
        figures: of the rig.
        reaction_s: from letting go to the beginning of the ramp at the arm, servo lag included.
        clearance_m: what there is; None, not known, is not a reason to slow down: the loop's own look at every stop
            holds in any case.
    """
    if clearance_m is None:
        return 1.0
    for share, ramp_way_s in zip(reversed(SHARES), reversed(figures.ramp_way_s), strict=True):
        if share * figures.tool_speed_m_s * (reaction_s + ramp_way_s) <= clearance_m:
            return share
    return CRAWL


def share_by_age(
    age_s: float, full_s: float = SMOOTH_AGE_S, last_s: float = USABLE_AGE_S, least: float = LEAST_BY_AGE
) -> float:
    """Part of the speed that something of this age is good for: all up to `full_s`, `least` at `last_s`, then 0.

    Used for commands and, with ages of their own, for pictures. What has no age, or a negative one, is good for 0.
    """
    if not 0.0 <= age_s <= last_s:
        return 0.0
    if age_s <= full_s:
        return 1.0
    return 1.0 - (1.0 - least) * (age_s - full_s) / (last_s - full_s)


def slowed(
    move: AxisJog | ToolJog, share: float, axis_speeds: Sequence[float], tool_speed_m_s: float, turn_speed_rad_s: float
) -> AxisJog | ToolJog:
    """Rates of a held jog, brought down in one proportion so that none is above `share` of its limit.

    Args:
        move: rates, rad/s or m/s.
        share: 0 or more.
        axis_speeds: limits of the axes.
        tool_speed_m_s: limit of the tool point.
        turn_speed_rad_s: limit of the tool's turning.
    """
    if isinstance(move, AxisJog):
        pairs = list(zip(move.amounts, axis_speeds, strict=True))
    else:
        turn = math.hypot(move.pitch, move.roll, *move.turn)
        pairs = [(math.hypot(*move.linear), tool_speed_m_s), (turn, turn_speed_rad_s)]
    used = max((abs(rate) / limit for rate, limit in pairs), default=0.0)
    if used <= share:
        return move
    part = share / used
    if isinstance(move, AxisJog):
        return AxisJog(amounts=tuple(part * amount for amount in move.amounts))
    x, y, z = move.linear
    a, b, c = move.turn
    return ToolJog(
        frame=move.frame,
        linear=(part * x, part * y, part * z),
        pitch=part * move.pitch,
        roll=part * move.roll,
        turn=(part * a, part * b, part * c),
    )


def _ramp_from(period_s: float, top: FloatArray, most: FloatArray, jerk: FloatArray, part: float) -> FloatArray:
    """The ramp of axes that were about to reach the speed `top`, this part of their acceleration still on."""
    acceleration = part * np.minimum(most, np.sqrt(2.0 * jerk * top))
    speed = top - acceleration**2 / (2.0 * jerk)
    return stop_samples(period_s, most, jerk, np.zeros_like(top), speed, acceleration)


def _reaction_s(figures: StopFigures, live: Live) -> float:
    """Until the ramp begins at the arm; a servo's lag moves the whole curve by about itself."""
    waits_s = live.input_age_s + live.silence_s + figures.loop_s + live.late_s
    return waits_s + figures.queue_s + figures.wire_s + figures.servo_s


def _ramp(figures: StopFigures, share: float) -> tuple[float, float]:
    """Time and way of the ramp at the next faster of `SHARES`."""
    index = min(bisect_left(SHARES, share), len(SHARES) - 1)
    return figures.ramp_s[index], figures.ramp_way_s[index]


def _refuse_unmeasured(live: Live) -> None:
    given = (live.input_age_s, live.silence_s, live.late_s, live.tool_speed_m_s, live.clearance_m or 0.0)
    if not all(0.0 <= value < math.inf for value in given[:4]) or not math.isfinite(given[4]):
        raise CommandError(f"stop budget: {given} measured; allowed: finite numbers of at least 0", value=given)
