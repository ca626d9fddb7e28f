"""The paced loop: absolute deadlines; a missed tick is counted and never replayed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

from hil.clock import Clock
from hil.runtime.starvation import OWNER_SILENT, RECORDER_SILENT
from hil.types import Disconnect, EndStream, Request, Stop

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")

HAND_SILENT_S = 0.25
"""For how long an owner may be silent while a hand on a key has the arm; for a certified motion the rig says it."""
JOURNAL_BEHIND_S = 0.5
"""Motion that the journal may lack before it counts as not kept: ten looks of a recorder that is alive."""


class Ticker(Protocol[R_co]):
    """What is paced: the bridge, or a bare loop to compare with."""

    @property
    def finished(self) -> bool:
        """True once there is nothing left to tick for."""
        ...

    def tick(
        self, now_s: float, requests: tuple[Request, ...] = (), *, late_s: float, missed: int, work_s: float
    ) -> R_co:
        """Do everything that is due."""
        ...


class Watch:
    """Asks every tick whether those who answer for the motion are still there.

    Who is dead can stop nothing and keep nothing: the stream ends. Who is only silent may be alive, see and stop: the
    motion is stopped within its limits. So it is, and the session with it, when the recorder says that the journal
    cannot be kept any more.

    Args:
        owner_dead: whether the owner's process has ended.
        recorder_dead: the same for the recorder.
        owner_age_s: seconds since the owner's last sign of life, given the time now; see `Attendance`.
        unkept_s: length of the motion that cannot be read back from the journal.
        trouble: why the journal cannot be kept any more, in the recorder's words; empty while it can.
        allowed_s: for how long the owner may be silent now.
    """

    def __init__(
        self,
        owner_dead: Callable[[], bool],
        recorder_dead: Callable[[], bool],
        owner_age_s: Callable[[float], float],
        unkept_s: Callable[[], float],
        trouble: Callable[[], str],
        allowed_s: Callable[[], float] = lambda: HAND_SILENT_S,
    ) -> None:
        self._owner_dead, self._recorder_dead = owner_dead, recorder_dead
        self._owner_age_s, self._unkept_s, self._trouble = owner_age_s, unkept_s, trouble
        self._allowed_s = allowed_s
        self._orphaned = self._unrecorded = self._leaving = False
        self._next_stop_s = -math.inf
        self.reason = ""
        """Why it wanted the session to end; empty as long as it did not."""

    def requests(self, now_s: float) -> tuple[Request, ...]:
        """Requests in the name of whoever went away, recorded like any other.

        A death, trouble with the journal and a lost owner are said once: the stream, or the session, is over. A journal
        that has fallen behind stops whatever moves, again and again, for the owner may be about to start something.
        """
        return (*self._deaths(), *self._troubles(), *self._silences(now_s))

    def _deaths(self) -> tuple[Request, ...]:
        if not self._orphaned and self._owner_dead():
            self._orphaned = True
            reason = "the program that asked for the motion has ended"
            return (EndStream(reason=reason), self._leave(reason))
        if not (self._orphaned or self._unrecorded) and self._recorder_dead():
            self._unrecorded = True
            return (EndStream(reason="the recorder has ended: no motion without a journal"),)
        return ()

    def _troubles(self) -> tuple[Request, ...]:
        if self._leaving or not (trouble := self._trouble()):
            return ()
        return (self._leave(f"{trouble}: no motion without a journal"),)

    def _silences(self, now_s: float) -> tuple[Request, ...]:
        if self._leaving:
            return ()
        if (age_s := self._owner_age_s(now_s)) > (allowed_s := self._allowed_s()):
            allowed = f"(allowed: {allowed_s * 1e3:.0f} ms)"
            return (self._leave(f"{OWNER_SILENT} for {age_s * 1e3:.0f} ms {allowed}"),)
        if self._unrecorded or now_s < self._next_stop_s:
            return ()
        if (unkept_s := self._unkept_s()) > JOURNAL_BEHIND_S:
            self._next_stop_s = now_s + JOURNAL_BEHIND_S
            allowed = f"(allowed: {JOURNAL_BEHIND_S * 1e3:.0f} ms)"
            words = f"{RECORDER_SILENT}, the journal {unkept_s * 1e3:.0f} ms behind {allowed}"
            return (Stop(reason=f"{words}: no motion without a journal"),)
        return ()

    def _leave(self, reason: str) -> Disconnect:
        self._leaving, self.reason = True, reason
        return Disconnect(reason=reason)


def run_paced(
    ticker: Ticker[R],
    clock: Clock,
    period_s: float,
    take: Callable[[float], tuple[Request, ...]],
    publish: Callable[[R], None],
    phase_s: float | None = None,
) -> None:
    """Tick until the ticker has finished.

    Args:
        ticker: what to call every period.
        clock: read once a tick for the tick, and once after it for the work time.
        period_s: distance of the deadlines.
        take: requests that have come in, given the time now.
        publish: takes each record; must not block.
        phase_s: deadlines are this much after whole periods of the clock, so that loops that share a core take turns;
            None to begin at once.
    """
    deadline_s = clock.now_s()
    if phase_s is not None:
        deadline_s = math.ceil((deadline_s - phase_s) / period_s) * period_s + phase_s
    missed, work_s = 0, 0.0
    while not ticker.finished:
        clock.sleep_until(deadline_s)
        now_s = clock.now_s()
        late_s = now_s - deadline_s
        publish(ticker.tick(now_s, take(now_s), late_s=late_s, missed=missed, work_s=work_s))
        work_s = clock.now_s() - now_s
        skipped = max(0, int((now_s + work_s - deadline_s) / period_s))
        missed += skipped
        deadline_s += (skipped + 1) * period_s
