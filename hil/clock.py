"""Clocks: the machine's own for hardware, a virtual one for previews, replays and tests."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

if sys.platform == "win32":

    def monotonic_s() -> float:
        """Seconds since an arbitrary start, never backwards, the same for every process of one boot.

        Before Python 3.13 `time.monotonic` goes by steps of 15.6 ms here; `time.perf_counter` counts the same for all
        processes since 3.10, finer than a microsecond (both from Python's own documentation of `time`).
        """
        return time.perf_counter()

else:

    def monotonic_s() -> float:
        """Seconds since an arbitrary start, never backwards, the same for every process of one boot."""
        return time.monotonic()


SPIN_S = 200e-6
"""The last stretch before a deadline is spun, not slept: 0.8 us late at the median against 90 us."""


WARM_UP_S = 300e-6
"""Room for a warm-up before the spinning; it also catches most of the sleeps that end late."""

GRAIN_SHARE = 0.25
"""Part of its period by which a tick may be late for the coarseness of clock and sleep alone."""
_STEPS, _NAPS, _NAP_S = 4, 8, 0.001
_LOOKS = 1_000_000


class Clock(Protocol):
    """Where the one clock read of a tick comes from."""

    def now_s(self) -> float:
        """Seconds on a clock that never runs backwards."""
        ...

    def sleep_until(self, deadline_s: float) -> None:
        """Return at `deadline_s`, or at once if it has passed."""
        ...


class RealClock:
    """The machine's monotonic clock, shared by all processes of one boot.

    Args:
        warm_up: called after a sleep, shortly before its deadline, to bring code and data back into the caches that
            the processor drops when it sleeps; may take `WARM_UP_S`.
    """

    def __init__(self, warm_up: Callable[[], None] | None = None) -> None:
        self._warm_up = warm_up
        self._awake_s = SPIN_S if warm_up is None else SPIN_S + WARM_UP_S

    def now_s(self) -> float:
        """Seconds since an arbitrary start, the same for every process."""
        return monotonic_s()

    def sleep_until(self, deadline_s: float) -> None:
        """Sleep to just before the deadline, warm up, then spin to it."""
        ahead_s = deadline_s - monotonic_s() - self._awake_s
        if ahead_s > 0:
            time.sleep(ahead_s)
            # After a sleep that ended late there is no time for it.
            if self._warm_up is not None and monotonic_s() < deadline_s - SPIN_S:
                self._warm_up()
        while monotonic_s() < deadline_s:
            pass


class VirtualClock:
    """Time that moves only when somebody sleeps; goes with the in-memory port alone."""

    def __init__(self, start_s: float = 0.0) -> None:
        self._now_s = start_s

    def now_s(self) -> float:
        """The present virtual second."""
        return self._now_s

    def sleep_until(self, deadline_s: float) -> None:
        """Jump to the deadline; never backwards."""
        self._now_s = max(self._now_s, deadline_s)


@dataclass(frozen=True)  # no `Record`: the first lines of a command read this clock, and import next to nothing
class ClockGrain:
    """How coarse the time of a machine is, however busy it is.

    Attributes:
        step_s: what the clock goes on by, at least.
        oversleep_s: how much longer than asked for a short sleep takes, at best.
    """

    step_s: float
    oversleep_s: float

    @property
    def shortest_period_s(self) -> float:
        """The shortest period that a loop can keep."""
        return max(self.step_s, self.oversleep_s) / GRAIN_SHARE


def measure_grain(now_s: Callable[[], float] = monotonic_s, sleep: Callable[[float], None] = time.sleep) -> ClockGrain:
    """Watch a clock move some times, and sleep a little some times: 9 ms, or 0.2 s if both are coarse."""
    steps, before_s = [], now_s()
    for _ in range(_LOOKS):
        if (seen_s := now_s()) != before_s:
            steps.append(seen_s - before_s)
            before_s = seen_s
            if len(steps) == _STEPS:
                break
    naps = []
    for _ in range(_NAPS):
        began_s = now_s()
        sleep(_NAP_S)
        naps.append(now_s() - began_s)
    # The first of each begins anywhere in a step, and so does the nap after one that was held up: it may be too short.
    return ClockGrain(step_s=min(steps[1:], default=float("inf")), oversleep_s=max(0.0, sorted(naps[1:])[1] - _NAP_S))
