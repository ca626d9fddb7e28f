"""Is a process still there? Asked of one's parent, of a sibling, and of any process by its number."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path

_QUERY_LIMITED_INFORMATION = 0x1000
_STILL_ACTIVE = 259


def death_of(life_line: Connection | int) -> Callable[[], bool]:
    """A question cheap enough for every tick: is the process gone that alone holds the other end of this pipe?

    Nothing is ever written to it. The system closes that end with the process, however it ends, and before its parent
    could know: a killed child stays in the process table until its parent asks, and only Linux shows to others that it
    is dead.

    Args:
        life_line: this end, or the sentinel of a process.
    """
    if sys.platform == "win32":
        return lambda: bool(wait([life_line], timeout=0))
    poller = select.poll()
    poller.register(life_line, select.POLLIN)
    return lambda: bool(poller.poll(0))


def death_of_parent() -> Callable[[], bool]:
    """The same of the process that has started this one with `multiprocessing`."""
    parent = parent_process()
    return death_of(parent.sentinel) if parent is not None else lambda: False


def process_alive(pid: int) -> bool:
    """True while process `pid` runs or is stopped; False once it has ended, reaped or not."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return _alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """A killed child stays in the process table until its parent asks; only Linux lets others see that."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return status.rpartition(b")")[2].split()[:1] in ([b"Z"], [b"X"])


if sys.platform == "win32":

    def _alive_on_windows(pid: int) -> bool:
        import ctypes

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = ctypes.c_void_p
        handle = kernel.OpenProcess(_QUERY_LIMITED_INFORMATION, False, pid)
        if not handle:
            access_denied = 5  # it exists, and belongs to somebody else
            return bool(ctypes.get_last_error() == access_denied)
        code = ctypes.c_ulong()
        asked = kernel.GetExitCodeProcess(ctypes.c_void_p(handle), ctypes.byref(code))
        kernel.CloseHandle(ctypes.c_void_p(handle))
        return bool(asked) and code.value == _STILL_ACTIVE
