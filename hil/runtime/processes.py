"""Is a process still there? Asked of the loop by its recorder, and of an owner by the next one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_QUERY_LIMITED_INFORMATION = 0x1000
_STILL_ACTIVE = 259


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
