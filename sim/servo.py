"""A servo that follows its target by a lag with a top speed, exact over any step, or by a model of its own."""

from __future__ import annotations

import math

from hil.control.servo import Follower

SHORTEST_S = 1e-12
"""A shorter step is none: a rate over it would be no number any more."""

FALL_SPEED = math.radians(180.0)
"""A plain limit: gears and motors that turn along brake a limp joint."""


def follow(position: float, start: float, end: float, duration_s: float, lag_s: float, speed: float) -> float:
    """Where a servo is after its target went straight from `start` to `end`.

    Solves dx/dt = clamp((u - x) / lag, -speed, speed) for u linear in time, of slope r. For e = u - x that is
    piecewise linear: e' = r - e / lag inside the band abs(e) <= speed * lag, e' = r -+ speed outside.

    Args:
        position: where the servo is at the beginning, in any unit.
        start: target at the beginning, same unit.
        end: target at the end, same unit.
        duration_s: length of the step; nothing happens below `SHORTEST_S`.
        lag_s: time constant, 0 for none.
        speed: top speed in units per second, may be infinite.

    Returns:
        The position at the end of the step.
    """
    if duration_s < SHORTEST_S:
        return position
    rate = (end - start) / duration_s
    error = start - position
    if lag_s <= 0.0:
        return end - _chase(error, rate, duration_s, speed)
    band = speed * lag_s
    rest = rate * lag_s
    left_s = duration_s
    while left_s > 0.0:
        if abs(error) > band:
            side = math.copysign(1.0, error)
            closing = speed - rate * side
            to_band_s = (abs(error) - band) / closing if closing > 0.0 else math.inf
            if to_band_s >= left_s:
                return end - (error - side * closing * left_s)
            error, left_s = side * band, left_s - to_band_s
            continue
        edge = math.copysign(band, rate)
        if abs(rate) > speed and edge != rest:
            # Faster by a rounding alone, the edge is where the error comes to rest: it is never left.
            to_edge_s = lag_s * math.log((error - rest) / (edge - rest)) if error != edge else 0.0
            if to_edge_s < left_s:
                drift = rate - math.copysign(speed, rate)
                return end - (edge + drift * (left_s - to_edge_s))
        return end - (rest + (error - rest) * math.exp(-left_s / lag_s))
    return end - error


def _chase(error: float, rate: float, duration_s: float, speed: float) -> float:
    """The error left after `duration_s` by a servo without lag."""
    side = math.copysign(1.0, error)
    closing = speed - rate * side
    reached_s = 0.0 if error == 0.0 else abs(error) / closing if closing > 0.0 else math.inf
    if reached_s >= duration_s:
        return error - side * closing * duration_s
    if abs(rate) <= speed:
        return 0.0
    return (rate - math.copysign(speed, rate)) * (duration_s - reached_s)


class Servo:
    """One servo with its own clock; the target stays until it is changed.

    Attributes:
        position: where it is at `time_s`.
        target: where it wants to be.
        powered: it has power and pulses. Without, it stays where it is, or sinks to `rest`.
        stalled: something blocks it; it stays, powered or not.
        loose: nobody holds it: without power it sinks. One that was put somewhere by hand is held until it is driven.
        load: what it has to hold, N m or N; only a servo with a model of its own feels it.
    """

    __slots__ = (
        "fall_speed",
        "follower",
        "lag_s",
        "load",
        "loose",
        "position",
        "powered",
        "rest",
        "speed",
        "stalled",
        "target",
        "time_s",
    )

    def __init__(
        self,
        position: float,
        lag_s: float,
        speed: float,
        time_s: float = 0.0,
        rest: float | None = None,
        fall_speed: float = FALL_SPEED,
        follower: Follower | None = None,
    ) -> None:
        """Make one without power.

        Args:
            position: where it is, in any unit.
            lag_s: time constant, 0 for none.
            speed: top speed in units per second.
            time_s: its clock.
            rest: where it sinks to when it is let go of; None for a joint that stays where it is.
            fall_speed: how fast at most, in units per second.
            follower: how it follows, standing at `position`; None for the lag.

        Raises:
            ValueError: a number is out of range.
        """
        if not (math.isfinite(position) and math.isfinite(lag_s) and lag_s >= 0.0 and speed > 0.0):
            raise ValueError(
                f"a servo needs a finite position, lag >= 0, speed > 0; {position}, {lag_s}, {speed} given"
            )
        self.position = self.target = position
        self.lag_s, self.speed, self.time_s = lag_s, speed, time_s
        self.rest, self.fall_speed = rest, fall_speed
        self.powered = self.stalled = self.loose = False
        self.follower, self.load = follower, 0.0

    def put(self, position: float) -> None:
        """It stands here now, by a hand."""
        self.position = position
        if self.follower is not None:
            self.follower.put(position)

    def at_rest(self, tolerance: float) -> bool:
        """It is within `tolerance` of where it comes to rest."""
        slack = 0.0 if self.follower is None else self.follower.slack(self.load)
        return abs(self.target - self.position) <= tolerance + slack

    def advance(self, until_s: float) -> float:
        """Position at `until_s`, the target staying where it is; time never runs backwards."""
        step_s = until_s - self.time_s
        if step_s > 0.0:
            self.time_s = until_s
            if self.follower is not None and self.powered and not self.stalled:
                self.position = self.follower.follow(self.target, self.target, step_s, self.load)
                return self.position
            if self.falling:
                self._sink(step_s)
            elif self.powered and not self.stalled and self.position != self.target:
                self.position = follow(self.position, self.target, self.target, step_s, self.lag_s, self.speed)
            if self.follower is not None:
                self.follower.put(self.position)
        return self.position

    @property
    def falling(self) -> bool:
        """It is on its way down."""
        return (
            not self.powered
            and self.loose
            and not self.stalled
            and self.rest is not None
            and self.position != self.rest
        )

    def _sink(self, step_s: float) -> None:
        assert self.rest is not None
        way, most = self.rest - self.position, self.fall_speed * step_s
        self.position = self.rest if abs(way) <= most else self.position + math.copysign(most, way)
