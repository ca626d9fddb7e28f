"""Servos and drives that follow a target: the shadow, the simulated arms and the fakes move by them, and hil fit, too.

A hobby servo is a spring and a damper between the target and its motor, x'' = w2 (z - x) - 2 D w x', as long as the
target is outside the dead band; inside, its motor has no power and only brakes. Its speed has a top, its joint gives
way under a load, and follows the motor with play. A drive is a lag with a top speed and a top acceleration that it
keeps to when it slows down, too. Both take a target that goes straight, and any length of step: exact where one
equation holds from end to end, in steps of `EDGE_STEP_S` across its edges.
"""

from __future__ import annotations

import math
from math import exp
from typing import Protocol

from hil.model.servo import HobbyServo, ServoModel

EDGE_STEP_S = 0.001
"""Length of the steps in which a dead band, a top speed or a top acceleration is entered or left."""

SAME_S = 1e-9
"""Steps that differ by less are of one length: so much the rounding of times makes."""

LONG_STEP_S = 0.02 + SAME_S
"""A longer step is gone in several: between its ends a servo might pass an edge and come back."""

STILL = 1e-9
"""Slower than this, in rad/s or m/s, a motor without power stands."""


class Follower(Protocol):
    """One servo at work.

    Attributes:
        position: where its joint is.
        speed: of its motor.
    """

    position: float
    speed: float

    def put(self, position: float) -> None:
        """It stands here."""
        ...

    def slack(self, load: float) -> float:
        """How far off its target it may come to rest under a load."""
        ...

    def follow(self, start: float, end: float, duration_s: float, load: float = 0.0) -> float:
        """Where its joint is after its target went straight from `start` to `end`.

        Args:
            start: target at the beginning, in the unit of the model.
            end: target at the end.
            duration_s: length of the step; nothing happens at or below 0.
            load: what the joint has to hold, N m or N, positive where that is in its own direction.
        """
        ...


def follower(model: ServoModel, position: float, lag_s: float, speed: float) -> Follower:
    """A servo that stands.

    Args:
        model: what kind it is.
        position: where it stands.
        lag_s: time constant of a drive; above 0.
        speed: top speed, may be infinite.

    Raises:
        ValueError: a number is out of range.
    """
    if isinstance(model, HobbyServo):
        return HobbyFollower(model, position, speed)
    return DriveFollower(position, lag_s, speed, model.acceleration)


class HobbyFollower:
    """A hobby servo at work; see the head of this module and `Follower`."""

    __slots__ = (
        "_band", "_decay", "_edge_free", "_edge_step_s", "_fixed", "_free", "_lag_s", "_play", "_sag", "_square",
        "_step_s", "_top",
        "motor", "position", "speed",
    )  # fmt: skip

    def __init__(self, model: HobbyServo, position: float, speed: float) -> None:
        parts = (model.frequency_rad_s, model.damping, speed)
        spare = (model.dead_band, model.backlash, model.sag)
        if not (all(part > 0.0 for part in parts) and all(part >= 0.0 for part in spare) and math.isfinite(position)):
            raise ValueError(
                f"a hobby servo needs frequency, damping and top speed above 0, the rest not below; {model}, {speed} "
                "given"
            )
        self._top, self._sag, self._lag_s = speed, model.sag, model.lag_s
        self._band, self._play = model.dead_band / 2.0, model.backlash / 2.0
        self._square, self._decay = model.frequency_rad_s**2, 2.0 * model.damping * model.frequency_rad_s
        self._step_s, self._free = 0.0, _AT_ONCE
        self._edge_step_s, self._edge_free = 0.0, _AT_ONCE
        # What a tick needs, in one look-up.
        self._fixed = self._band, self._play, self._lag_s, self._square, self._top
        self.put(position)

    def put(self, position: float) -> None:
        """It stands here."""
        self.position = self.motor = position
        self.speed = 0.0

    def slack(self, load: float) -> float:
        """See `Follower`."""
        return self._band + self._play + abs(self._sag * load)

    def follow(self, start: float, end: float, duration_s: float, load: float = 0.0) -> float:
        """See `Follower`. In a stream this is once a tick and axis: what nearly always holds is written out here."""
        if load:
            sunk = self._sag * load
            start, end = start - sunk, end - sunk
        if not 0.0 < duration_s <= LONG_STEP_S:
            return self._follow_long(start, end, duration_s)
        band, play, lag_s, square, top = self._fixed
        error = start - self.motor
        if error > band or error < -band or band == 0.0:
            side = band if error > 0.0 else -band
            if not -SAME_S < duration_s - self._step_s < SAME_S:
                self._step_s, self._free = duration_s, _free_motion(square, self._decay, duration_s)
            by_place, by_speed, speed_by_place, speed_by_speed = self._free
            rate = (end - start) / duration_s
            behind = side + lag_s * rate
            off, faster = behind - error, self.speed - rate
            reached = end - behind + by_place * off + by_speed * faster
            speed = rate + speed_by_place * off + speed_by_speed * faster
            # Off and faster make an energy that only falls: it bounds the speed all the way, not at the ends alone.
            spare = top - rate if rate > 0.0 else top + rate
            if (
                spare >= 0.0
                and faster * faster + square * off * off <= spare * spare
                and not faster * side > 0.0 > (speed - rate) * side
                and (end - side - reached) * side >= 0.0
            ):
                self.motor, self.speed = reached, speed
                if play:
                    at = self.position
                    reached = reached + play if at > reached + play else reached - play if at < reached - play else at
                self.position = reached
                return reached
        elif self.speed == 0.0 and -band <= end - self.motor <= band:
            # It stands in its dead band and goes on standing, as a joint that has arrived does.
            return self.position
        self._across(start, end, duration_s)
        return self._joint()

    def _joint(self) -> float:
        play, motor = self._play, self.motor
        at = self.position
        if at > motor + play:
            self.position = motor + play
        elif at < motor - play:
            self.position = motor - play
        return self.position

    def _follow_long(self, start: float, end: float, duration_s: float) -> float:
        """The same for a step of any length."""
        if duration_s <= 0.0:
            return self.position
        count = max(1, math.ceil(duration_s / LONG_STEP_S - 1e-9))
        way, part_s = (end - start) / count, duration_s / count
        for i in range(count):
            self._across(start + way * i, start + way * (i + 1), part_s)
            self._joint()
        return self.position

    def _across(self, start: float, end: float, duration_s: float) -> None:
        """A step in which an edge may be passed; in one all the same if none is."""
        if self._rests(start, end, duration_s) or self._at_top(start, end, duration_s):
            return
        count = max(1, math.ceil(duration_s / EDGE_STEP_S - 1e-9))
        self._edges(start, (end - start) / count, duration_s / count, count)

    def _rests(self, start: float, end: float, step_s: float) -> bool:
        """Brake in the dead band, if it is not left."""
        band = self._band
        if not (band > 0.0 and -band <= start - self.motor <= band):
            return False
        motor, speed = self._braked(step_s)
        if not -band <= end - motor <= band:
            return False
        self.motor, self.speed = motor, speed
        return True

    def _at_top(self, start: float, end: float, step_s: float) -> bool:
        """Go on at top speed, if that lasts to the end."""
        speed, error = self.speed, start - self.motor
        if abs(speed) != self._top or abs(error) <= self._band or error * speed < 0.0:
            return False
        motor = self.motor + speed * step_s
        side = math.copysign(self._band, error)
        if (self._square * (end - side - motor) - self._decay * speed) * speed < 0.0:
            return False
        self.motor = motor
        return True

    def _edges(self, start: float, way: float, step_s: float, count: int) -> None:
        """Short steps, each by the equation that holds at its beginning, of which each takes the target on by a way."""
        if step_s != self._edge_step_s:
            self._edge_step_s, self._edge_free = step_s, _free_motion(self._square, self._decay, step_s)
        by_place, by_speed, speed_by_place, speed_by_speed = self._edge_free
        band, top, rate = self._band, self._top, way / step_s
        led, far = self._lag_s * rate, top * step_s
        for i in range(count):
            before, at = self.motor, start + way * i
            error = at - before
            if -band <= error <= band and band > 0.0:
                self.motor, self.speed = self._braked(step_s)
                continue
            behind = (band if error > 0.0 else -band) + led
            off, faster = behind - error, self.speed - rate
            motor = at + way - behind + by_place * off + by_speed * faster
            speed = rate + speed_by_place * off + speed_by_speed * faster
            if speed > top or speed < -top:
                speed = math.copysign(top, speed)
                motor = before + (self.speed + speed) / 2.0 * step_s
            self.motor, self.speed = min(max(motor, before - far), before + far), speed

    def _braked(self, step_s: float) -> tuple[float, float]:
        speed = self.speed
        if -STILL < speed < STILL:
            return self.motor, 0.0
        slower = speed * math.exp(-self._decay * step_s)
        return self.motor + (speed - slower) / self._decay, slower


_Free = tuple[float, float, float, float]
_AT_ONCE: _Free = (1.0, 0.0, 0.0, 1.0)


def _free_motion(square: float, decay: float, step_s: float) -> _Free:
    """How x'' = -square x - decay x' carries place and speed over a step, row by row."""
    half = decay / 2.0
    inside = square - half * half
    fade = math.exp(-half * step_s)
    root = math.sqrt(abs(inside))
    angle = root * step_s
    if angle < 1e-4:
        even, odd = 1.0 - math.copysign(angle * angle, inside) / 2.0, step_s
    elif inside > 0.0:
        even, odd = math.cos(angle), math.sin(angle) / root
    else:
        even, odd = math.cosh(angle), math.sinh(angle) / root
    even, odd = fade * even, fade * odd
    lost = half * odd
    return even + lost, odd, -square * odd, even - lost


class DriveFollower:
    """A drive at work; see the head of this module and `Follower`."""

    __slots__ = ("_fixed", "_lag_s", "_near", "_top", "acceleration", "position", "speed")

    def __init__(self, position: float, lag_s: float, speed: float, acceleration: float) -> None:
        if not (math.isfinite(position) and lag_s > 0.0 and speed > 0.0 and acceleration > 0.0):
            raise ValueError(
                f"a drive needs lag, top speed and acceleration above 0; {lag_s}, {speed}, {acceleration} given"
            )
        self._lag_s, self._top, self.acceleration = lag_s, speed, acceleration
        # Errors, all as ways: within which it brakes in time, and within which nothing but the lag holds it back.
        self._near = acceleration * lag_s * lag_s
        # What a tick needs, in one look-up.
        self._fixed = lag_s, min(self._near, speed * lag_s), self._near, acceleration * lag_s * EDGE_STEP_S / 2.0
        self.put(position)

    def put(self, position: float) -> None:
        """It stands here."""
        self.position, self.speed = position, 0.0

    def slack(self, load: float) -> float:
        """See `Follower`; an encoder sees no load."""
        return 0.0

    def follow(self, start: float, end: float, duration_s: float, load: float = 0.0) -> float:
        """See `Follower`; an encoder sees no load. What nearly always holds is written out here."""
        if duration_s <= 0.0:
            return self.position
        lag_s, near, sharp, apart = self._fixed
        error = start - self.position
        rest = (end - start) * lag_s / duration_s
        if -near <= error <= near and -sharp <= rest - error <= sharp and -apart <= self.speed * lag_s - error <= apart:
            left = rest + (error - rest) * exp(-duration_s / lag_s)
            if -near <= left <= near:
                self.speed = left / lag_s
                self.position = reached = end - left
                return reached
        count = max(1, math.ceil(duration_s / EDGE_STEP_S - 1e-9))
        rate, step_s = (end - start) / count, duration_s / count
        for i in range(count):
            self._edge(start + rate * (i + 1), step_s)
        return self.position

    def _edge(self, end: float, step_s: float) -> None:
        """A short step towards the speed that the error asks for, and from which it can still brake."""
        error, most = end - self.position, self.acceleration * step_s
        size = abs(error)
        if size > self._near:
            wanted = math.sqrt(2.0 * self.acceleration * (size - self._near / 2.0))
        else:
            # By the whole step of the lag, or else a step that is long against it would swing.
            wanted = size * -math.expm1(-step_s / self._lag_s) / step_s
        wanted = math.copysign(min(wanted, self._top), error)
        before = self.speed
        self.speed = before + min(max(wanted - before, -most), most)
        self.position += self.speed * step_s
