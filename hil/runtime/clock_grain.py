"""Whether this computer's clock and sleeps are fine enough for a rig's period; asked before anything is connected."""

from __future__ import annotations

from collections.abc import Callable

from hil.clock import ClockGrain, measure_grain
from hil.errors import InterlockError
from hil.model.rig import Rig
from hil.runtime.rtprio import fine_timers


def grain_of_the_loop() -> ClockGrain:
    """How coarse time is for a process that has asked for fine timers, as the loop has."""
    with fine_timers():
        return measure_grain()


def require_fine_clock(rig: Rig, measure: Callable[[], ClockGrain] = grain_of_the_loop) -> None:
    """Make sure that this computer can keep a rig's period.

    Args:
        rig: what is to run.
        measure: how coarse its time is.

    Raises:
        InterlockError: it cannot.
    """
    grain = measure()
    if grain.shortest_period_s <= rig.period_s:
        return
    raise InterlockError(
        f"rig {rig.id}: a tick is due every {rig.period_s * 1e3:g} ms, and this computer cannot keep less than "
        f"{grain.shortest_period_s * 1e3:.0f} ms: its clock goes on by {grain.step_s * 1e3:.1f} ms at a time, a short "
        f"sleep takes {grain.oversleep_s * 1e3:.1f} ms too long. Nothing was connected. Look at the clock in "
        "`hil doctor`; virtual machines and battery savers often have such clocks",
        ["clock"],
    )
