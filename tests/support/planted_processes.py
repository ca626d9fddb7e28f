"""What is put over the program in processes of its own before their first line: so that judges of whole processes are
judged, and so that a fake does what no person at a command line can make it do.

Each public function is called in a process that a nursery has just forked, and changes that process alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from hil.runtime import host
from sim import fake_cr1, server

PARKED_DEG = (0.0, -20.0, 110.0, 80.0, 0.0)


# -- fakes -----------------------------------------------------------------------------------------------


def parked_cr1() -> None:
    """The arm of the next fake CR1 stands in the park pose of its rig."""
    original = fake_cr1.run_fake_cr1

    def run(options: Any, *rest: Any, **named: Any) -> None:
        original(msgspec.structs.replace(options, joints_deg=PARKED_DEG), *rest, **named)

    fake_cr1.run_fake_cr1 = run


def restartable_ssc32() -> None:
    """The next fake SSC-32 loses its power for a moment when somebody writes its order file."""
    order, original = Path(os.environ["HIL_TEST_ORDER"]), server._loop

    def loop(line: Any, end: Any, faults: Any, trace: Any, heard: Any, stop: Callable[[], bool], *rest: Any) -> None:
        def asked() -> bool:
            """Several times a second."""
            if order.exists():
                now_s = time.monotonic()
                order.unlink()
                line.board.power_cycle(now_s)
                order.with_suffix(".done").write_text(repr(now_s))
            return bool(stop())

        original(line, end, faults, trace, heard, asked, *rest)

    server._loop = loop
    server.CHECK_S = 0.01


def restartable_rv2aj() -> None:
    """The same of a fake CR1."""
    parked_cr1()
    restartable_ssc32()


# -- faults in the owner's process ---------------------------------------------------------------------------


def supply_unheard() -> None:
    """The owner does not look for what was said of the servo supply."""
    host.SupplyMemory.news = lambda memory, now_s: ""  # type: ignore[method-assign]


# -- faults in the loop's process --------------------------------------------------------------------------


class _Spoilt:
    """The loop's or the recorder's main function with a fault planted; found by its name, for it goes into another
    process."""

    def __init__(self, main: str, fault: str) -> None:
        self._main, self._fault = main, fault

    def __call__(self, *arguments: Any) -> None:
        import planted_faults

        from hil.runtime.loop_process import run_loop
        from hil.runtime.recorder import record

        plant: Callable[[], AbstractContextManager[object]] = getattr(planted_faults, self._fault)
        with plant():
            {"loop": run_loop, "recorder": record}[self._main](*arguments)


def _loop(fault: str) -> Callable[[], None]:
    def plant() -> None:
        host.run_loop = _Spoilt("loop", fault)

    return plant


def _recorder(fault: str) -> Callable[[], None]:
    def plant() -> None:
        host.record = _Spoilt("recorder", fault)

    return plant


owner_death_ignored = _loop("OWNER_IGNORED")
recorder_death_ignored = _loop("RECORDER_IGNORED")
owner_silence_ignored = _loop("OWNER_SILENT")
recorder_silence_ignored = _loop("RECORDER_SILENT")
look_ahead_doubled = _loop("doubled_look_ahead")
beyond_pulse_limit = _loop("beyond_pulse_limit")
ramp_cut = _loop("RAMP_CUT")
stop_not_begun = _loop("NO_STOP")
sent_while_holding = _loop("sent_again_while_holding")
restart_kept_quiet = _loop("RESTART_KEPT_QUIET")
line_said_to_be_well = _loop("ALWAYS_WELL")
record_lost = _recorder("record_lost")
never_ended = _recorder("never_ended")
wall_clock = _loop("wall_clock")


def vouches_for_anything() -> None:
    """The command confirms a pose that nobody has looked at."""
    from hil.cli import motion_commands

    motion_commands.voucher = lambda *who: lambda reported: "nobody"


def no_lock() -> None:
    """The rig has as many owners as want it."""
    from hil.runtime.lock import RigLock

    RigLock.__enter__ = lambda self: self  # type: ignore[method-assign]
    RigLock.__exit__ = lambda self, *error: None  # type: ignore[method-assign]
    no_exclusive_port()


def no_exclusive_port() -> None:
    """The port is open to whoever wants it."""
    host.run_loop = _Spoilt("loop", "port_for_all")
