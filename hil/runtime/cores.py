"""Which core a loop gets where several programs on one computer have loops: each one of its own while there is one.

A claim is a lock on a file that all programs of the computer share; the system frees it with the process, however that
ends. Whoever cannot claim takes the last core, as if it were alone.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from hil.runtime.ring import default_folder

_FOR_ALL = 0o666


class CoreClaim:
    """A core that this process has claimed for a loop.

    Attributes:
        core: its number; None where nothing is claimed, and the loop takes the last one.
    """

    def __init__(self, core: int | None = None, descriptor: int | None = None) -> None:
        self.core = core
        self._descriptor = descriptor

    def close(self) -> None:
        """Let others have it. Who never does keeps it until its process ends."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def claim_core(cores: Sequence[int] | None = None, folder: Path | None = None) -> CoreClaim:
    """Claim the last core that no other loop has.

    Args:
        cores: to choose from; those that this process may use if None.
        folder: where the computer's claims are; one in memory if None.

    Returns:
        The claim; of none where all are taken, there is only one, or claims cannot be made.
    """
    given = usable_cores() if cores is None else list(cores)
    for core in reversed(given) if len(given) > 1 or cores is not None else ():
        descriptor = _lock((folder or default_folder()) / f"hil-core-{core}.lock")
        if descriptor is not None:
            return CoreClaim(core, descriptor)
    return CoreClaim()


def leave_the_loops_core(core: int | None) -> None:
    """Keep this process off the core of the loop that it serves, the last one if None, where there is another."""
    cores = usable_cores()
    others = set(cores) - {cores[-1] if core is None else core} if cores else set()
    if others and len(others) < len(cores):
        _keep_to(others)


if sys.platform == "linux":
    import fcntl

    def usable_cores() -> list[int]:
        """Cores that this process may use, in order; empty where the system does not let it choose."""
        return sorted(os.sched_getaffinity(0))

    def _keep_to(cores: set[int]) -> None:
        os.sched_setaffinity(0, cores)

    def _lock(path: Path) -> int | None:
        """A descriptor that holds the file's lock; None where somebody else does, or the file cannot be used."""
        descriptor = _open(path)
        if descriptor is None:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor

    def _open(path: Path) -> int | None:
        """Open the file, or make it for all users. With O_CREAT that of another user can be refused."""
        with contextlib.suppress(OSError):
            return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, _FOR_ALL)
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, _FOR_ALL)
        return descriptor

else:

    def usable_cores() -> list[int]:
        """Cores that this process may use, in order; empty where the system does not let it choose."""
        return []

    def _keep_to(cores: set[int]) -> None:
        """There is nothing to choose from."""

    def _lock(path: Path) -> int | None:
        return None
