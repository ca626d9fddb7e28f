"""The servos of one arm on one clock: each follows as a `sim.servo.Servo` does, all in one go, once in every tick."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hil.control.servo import Follower, follower
from hil.model.servo import ServoModel
from sim.servo import SHORTEST_S, follow

WEIGHED_EVERY_S = 0.1
"""How often the loads are asked for: weighing an arm takes as long as half a tick, and its pose changes slowly."""

Loads = Callable[[Sequence[float]], Sequence[float]]
"""What each axis has to hold where they all are, N m or N."""


class ServoGroup:
    """Servos without power at first, that stay where they are while they have none.

    Args:
        positions: where each is, in any unit.
        lags_s: their time constants, 0 for none.
        speeds: their top speeds in units per second.
        models: how each follows, None for a plain lag; None for all.
        loads: what they have to hold; None for nothing.

    Attributes:
        positions: where each is at `time_s`.
        targets: where each wants to be.
        time_s: their clock.

    Raises:
        ValueError: lengths differ, or a number is out of range.
    """

    def __init__(
        self,
        positions: Sequence[float],
        lags_s: Sequence[float],
        speeds: Sequence[float],
        models: Sequence[ServoModel | None] | None = None,
        loads: Loads | None = None,
    ) -> None:
        for position, lag_s, speed in zip(positions, lags_s, speeds, strict=True):
            if not (math.isfinite(position) and math.isfinite(lag_s) and lag_s >= 0.0 and speed > 0.0):
                raise ValueError(
                    f"a servo needs a finite position, lag >= 0, speed > 0; {position}, {lag_s}, {speed} given"
                )
        self.positions, self.targets = tuple(positions), tuple(positions)
        self.time_s = 0.0
        self._lags_s, self._speeds = tuple(lags_s), tuple(speeds)
        # Nothing is within the band of a servo without lag: it goes the long way.
        ways = zip(lags_s, speeds, strict=True)
        self._bands = tuple([speed * lag_s if lag_s > 0.0 else -1.0 for lag_s, speed in ways])
        self._powered = [False] * len(self._bands)
        self._stalled = [False] * len(self._bands)
        self._free = [False] * len(self._bands)
        self._followers: tuple[Follower | None, ...] = ()
        # The same while none has a plain lag and all are free, as in nearly every tick; else empty.
        self._all_follow: tuple[Follower, ...] = ()
        self._loads, self._weighed_s = loads, -math.inf
        self._carried = (0.0,) * len(self._bands)
        if models is not None and any(model is not None for model in models):
            self._followers = tuple(
                [
                    None if model is None else follower(model, position, lag_s, speed)
                    for model, position, lag_s, speed in zip(models, positions, lags_s, speeds, strict=True)
                ]
            )

    def place(self, positions: tuple[float, ...]) -> None:
        """All stand here, and want to."""
        self.positions = self.targets = positions
        for each, position in zip(self._followers, positions, strict=False):
            if each is not None:
                each.put(position)

    def power(self, axis: int, powered: bool) -> None:
        """Give one power and pulses, or take them away."""
        self._powered[axis] = powered
        self._set_free(axis, powered and not self._stalled[axis])

    def stall(self, axis: int, stalled: bool) -> None:
        """Block one, or free it."""
        self._stalled[axis] = stalled
        self._set_free(axis, self._powered[axis] and not stalled)

    def advance(self, until_s: float) -> None:
        """Until a time, the targets staying where they are; time never runs backwards."""
        self.ramp(self.targets, until_s)

    def ramp(self, ends: tuple[float, ...], until_s: float) -> None:
        """Until a time, each target going straight from where it is to its end."""
        step_s = until_s - self.time_s
        if step_s <= 0.0:
            self.targets = ends
            return
        if step_s < SHORTEST_S:
            self.time_s, self.targets = until_s, ends
            return
        if self._followers:
            self._follow(ends, step_s)
            self.time_s, self.targets = until_s, ends
            return
        positions = []
        same_lag_s, decay = 0.0, 0.0
        for position, start, end, free, lag_s, speed, band in zip(
            self.positions, self.targets, ends, self._free, self._lags_s, self._speeds, self._bands, strict=True
        ):
            if not free:
                positions.append(position)
                continue
            rate, error = (end - start) / step_s, start - position
            if -band <= error <= band and -speed <= rate <= speed:
                # As `follow` has it within the band, where a servo is nearly always.
                if lag_s != same_lag_s:
                    same_lag_s, decay = lag_s, math.exp(-step_s / lag_s)
                rest = rate * lag_s
                positions.append(end - (rest + (error - rest) * decay))
            else:
                positions.append(follow(position, start, end, step_s, lag_s, speed))
        self.time_s, self.targets, self.positions = until_s, ends, tuple(positions)

    def _set_free(self, axis: int, free: bool) -> None:
        self._free[axis] = free
        each = self._followers[axis] if self._followers else None
        if each is not None and not free:
            each.put(self.positions[axis])
        followers = [follower for follower in self._followers if follower is not None]
        every = all(self._free) and len(followers) == len(self._free)
        self._all_follow = tuple(followers) if every else ()

    def _follow(self, ends: tuple[float, ...], step_s: float) -> None:
        """As `ramp`, where some follow by a model."""
        if self._loads is not None and self.time_s + step_s >= self._weighed_s + WEIGHED_EVERY_S:
            self._weighed_s = self.time_s + step_s
            self._carried = tuple(self._loads(self.positions))
        if self._all_follow:
            self.positions = tuple(
                [
                    each.follow(start, end, step_s, load)
                    for each, start, end, load in zip(self._all_follow, self.targets, ends, self._carried, strict=True)
                ]
            )
            return
        positions = []
        for position, start, end, free, each, load, lag_s, speed in zip(
            self.positions, self.targets, ends, self._free, self._followers, self._carried, self._lags_s, self._speeds,
            strict=True,
        ):  # fmt: skip
            if not free:
                positions.append(position)
            elif each is None:
                positions.append(follow(position, start, end, step_s, lag_s, speed))
            else:
                positions.append(each.follow(start, end, step_s, load))
        self.positions = tuple(positions)
