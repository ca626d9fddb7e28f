"""A bare loop with the same waiting code and nothing to do: what the machine itself costs, for comparison."""

from __future__ import annotations

import contextlib
import multiprocessing
from multiprocessing.connection import Connection

from hil.clock import RealClock
from hil.runtime.pace import run_paced
from hil.runtime.report import Timing, timing
from hil.runtime.rtprio import fine_timers, prepare_realtime
from hil.runtime.terminal_signals import leave_the_terminal_to_the_owner, start_unheard
from hil.types import Request


class _Bare:
    """Notes how late each tick began, and how long the one before it worked."""

    def __init__(self, ticks: int) -> None:
        self._ticks = ticks
        self.late_s: list[float] = []
        self.work_s: list[float] = []
        self.missed = 0

    @property
    def finished(self) -> bool:
        return len(self.late_s) >= self._ticks

    def tick(
        self, now_s: float, requests: tuple[Request, ...] = (), *, late_s: float, missed: int, work_s: float
    ) -> None:
        self.late_s.append(late_s)
        self.work_s.append(work_s)
        self.missed = missed


def measure_bare_loop(period_s: float, seconds: float) -> Timing:
    """Run a bare loop in a process of its own, as the real loop does, and return its timing."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(
        target=_run, args=(theirs, period_s, max(2, round(seconds / period_s))), name="hil-bare", daemon=True
    )
    start_unheard(process.start)
    theirs.close()
    try:
        result: Timing = ours.recv()
        return result
    finally:
        process.kill()
        process.join()


def _run(results: Connection, period_s: float, ticks: int) -> None:
    leave_the_terminal_to_the_owner()
    prepare_realtime()
    bare = _Bare(ticks)
    with fine_timers():
        run_paced(bare, RealClock(lambda: None), period_s, lambda now_s: (), lambda nothing: None)
    with contextlib.suppress(OSError):  # nobody asks any more
        results.send(timing(bare.late_s, bare.work_s[1:], bare.missed))
