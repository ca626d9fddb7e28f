"""Clocks: the machine's own for hardware, a virtual one for previews, replays and tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

SPIN_S = 200e-6
"""The last stretch before a deadline is spun, not slept: 0.8 us late at the median against 90 us."""


WARM_UP_S = 300e-6
"""Room for a warm-up before the spinning; it also catches most of the sleeps that end late."""


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
        return time.monotonic()

    def sleep_until(self, deadline_s: float) -> None:
        """Sleep to just before the deadline, warm up, then spin to it."""
        ahead_s = deadline_s - time.monotonic() - self._awake_s
        if ahead_s > 0:
            time.sleep(ahead_s)
            # After a sleep that ended late there is no time for it.
            if self._warm_up is not None and time.monotonic() < deadline_s - SPIN_S:
                self._warm_up()
        while time.monotonic() < deadline_s:
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
