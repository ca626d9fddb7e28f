"""What the system grants a process that has to be on time: priority, locked memory, fine timers."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from hil.runtime.cores import claim_core

PRIORITY = 40
"""Of SCHED_FIFO's 1 to 99: above every ordinary process, below the kernel's interrupt threads at 50."""

RELAY_PRIORITY = 20
"""Of SCHED_FIFO, for what stands between people and a loop, or in for a board."""

_BEFORE_OTHERS, _AFTER_OTHERS = -10, 10

LOOPS_ON_A_CORE = 8
"""At 50 Hz each needs about 1 ms of its 20, so that they can take turns."""


def prepare_realtime(core: int | None = None) -> tuple[str, ...]:
    """Ask for everything that helps this process to wake up on time; what is refused is said, never raised.

    Call it once everything is imported and built: what exists now is taken out of the garbage collector's
    sight, and the collector is switched off.

    Args:
        core: the one to run on; the last of those that this process may use if None.

    Returns:
        One text for each thing asked for, granted or not, for the report.
    """
    return (*_ask_system(), _own_core(core), _still_collector())


@contextlib.contextmanager
def fine_timers() -> Iterator[None]:
    """Meanwhile a sleep of this process ends when it should, as far as the system can be asked for it.

    Windows alone has to be asked, and has to be told when it is over: the rate of its timer costs power.
    """
    granted = _begin_fine_timers()
    try:
        yield
    finally:
        if granted:
            _end_fine_timers()


def hand_out_cores(loops: int, claims: Path | None = None) -> tuple[int | None, ...]:
    """Keep this process and all that it will start off some cores, and say which of them each of `loops` loops gets.

    Cores that no other program's loops have come first.

    Args:
        loops: how many.
        claims: folder for claims; the computer's own if None.

    Returns:
        A core for each; None where there is nothing to choose.
    """
    if sys.platform != "linux":
        return (None,) * loops
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2 or loops == 0:
        return (None,) * loops
    wanted = min(len(cores) - 1, -(-loops // LOOPS_ON_A_CORE))
    # What is claimed stays so until this process ends.
    claimed = [claim.core for _ in range(wanted) if (claim := claim_core(cores, claims)).core is not None]
    shared = [core for core in reversed(cores) if core not in claimed]
    kept = sorted([*claimed, *shared[: wanted - len(claimed)]])
    os.sched_setaffinity(0, set(cores) - set(kept))
    return tuple(kept[i % len(kept)] for i in range(loops))


def _own_core(core: int | None) -> str:
    if sys.platform != "linux":
        return "core: left to the system"
    if core is not None:
        try:
            os.sched_setaffinity(0, {core})
        except OSError as error:
            return f"core: {core} was not given ({error.strerror})"
        return f"core: {core}, its owner's choice"
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[-1:])
    shared = "shared, there is no other" if len(cores) == 1 else "which recorder and fake leave to it"
    return f"core: {cores[-1]}, {shared}"


def go_before_others() -> None:
    """Ask for a better place than ordinary programs, for what nobody may keep waiting: what stands in for a board.

    And for fine timers until the process ends: a fake whose waits end 15 ms late is not the board that it stands for.
    """
    _begin_fine_timers()
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, _BEFORE_OTHERS)


def answer_at_once() -> None:
    """Ask for real-time priority below the loops', or else to go before others: for boards, and who hands a stop on.

    Nice values count only among the programs of one session, so that a busy one beside it can still keep such a
    process waiting. For work that is short each time.
    """
    go_before_others()
    _ask_for_fifo(RELAY_PRIORITY)


def go_after_others() -> None:
    """Take what time the others leave; for long work that nobody's stop waits for."""
    if sys.platform != "win32":
        os.setpriority(os.PRIO_PROCESS, 0, _AFTER_OTHERS)


class RestingCollector:
    """Collects the loop's garbage while nothing moves: with the collector off nobody else does."""

    EVERY_S = 10.0

    def __init__(self) -> None:
        self._next_s = -math.inf

    def rests(self, now_s: float) -> None:
        """Say every tick that the arm rests; collects once in a while."""
        if now_s >= self._next_s:
            self._next_s = now_s + self.EVERY_S
            gc.collect()


def _still_collector() -> str:
    gc.collect()
    gc.freeze()
    gc.disable()
    return f"garbage collector: off, {gc.get_freeze_count()} objects frozen"


if sys.platform == "linux":
    import resource

    _MCL_CURRENT, _MCL_FUTURE = 1, 2
    _PR_SET_TIMERSLACK = 29

    def _ask_system() -> tuple[str, ...]:
        return (_lock_memory(), _no_timer_slack(), _ask_for_fifo(PRIORITY))

    def _begin_fine_timers() -> bool:
        return False

    def _end_fine_timers() -> None:
        pass

    def _lock_memory() -> str:
        # Under a limit, later allocations would fail for want of lockable memory: lock only what is here.
        unlimited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY
        whole = unlimited or os.geteuid() == 0
        refusal = _call_libc("mlockall", _MCL_CURRENT | (_MCL_FUTURE if whole else 0))
        if refusal:
            return f"memory lock: not permitted ({refusal}; a line 'memlock unlimited' in limits.conf allows it)"
        return "memory lock: everything, now and later" if whole else "memory lock: what is mapped now"

    def _no_timer_slack() -> str:
        refusal = _call_libc("prctl", _PR_SET_TIMERSLACK, 1, 0, 0, 0)
        return f"timer slack: not permitted ({refusal})" if refusal else "timer slack: 1 ns"

    def _ask_for_fifo(priority: int) -> str:
        try:
            policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(0, policy, os.sched_param(priority))
        except OSError as error:
            return (
                f"real-time priority: not permitted ({error.strerror}; "
                f"a line 'rtprio {PRIORITY}' in limits.conf allows it)"
            )
        return f"real-time priority: SCHED_FIFO {priority}"

    def _call_libc(name: str, *arguments: int) -> str:
        """Why the call was refused, or an empty text."""
        try:
            function = getattr(ctypes.CDLL(None, use_errno=True), name)
        except (OSError, AttributeError):
            return "this C library does not have it"
        if function(*(ctypes.c_ulong(argument) for argument in arguments)) == 0:
            return ""
        return os.strerror(ctypes.get_errno())

elif sys.platform == "win32":
    _HIGH_PRIORITY_CLASS = 0x80
    _TIMER_MS = 1

    def _ask_system() -> tuple[str, ...]:
        return (_high_priority(),)

    def _begin_fine_timers() -> bool:
        try:
            return bool(ctypes.WinDLL("winmm").timeBeginPeriod(_TIMER_MS) == 0)
        except OSError:
            return False

    def _end_fine_timers() -> None:
        with contextlib.suppress(OSError):
            ctypes.WinDLL("winmm").timeEndPeriod(_TIMER_MS)

    def _high_priority() -> str:
        try:
            kernel = ctypes.WinDLL("kernel32", use_last_error=True)
            kernel.GetCurrentProcess.restype = ctypes.c_void_p
            process = ctypes.c_void_p(kernel.GetCurrentProcess())
            granted = bool(kernel.SetPriorityClass(process, _HIGH_PRIORITY_CLASS))
        except OSError:
            granted = False
        return "priority class: high" if granted else "priority class: not permitted"

    def _ask_for_fifo(priority: int) -> str:
        return _high_priority()

else:

    def _ask_system() -> tuple[str, ...]:
        return (f"real-time priority: not available on {sys.platform}",)

    def _begin_fine_timers() -> bool:
        return False

    def _end_fine_timers() -> None:
        pass

    def _ask_for_fifo(priority: int) -> str:
        return f"real-time priority: not available on {sys.platform}"
