"""What every emulated controller in a process of its own needs: its owner's word, a terminal, its choices."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hil.clock import monotonic_s
from hil.errors import HilError
from hil.runtime.cores import leave_the_loops_core
from hil.runtime.processes import death_of
from hil.runtime.rtprio import answer_at_once, go_before_others
from hil.runtime.terminal_signals import SERVANTS_STAY_S, leave_the_terminal_to_the_owner
from hil.types import Record
from sim.faults import Event, Fault, FaultKind
from sim.profiles import choices_of
from sim.server import Ready

S = TypeVar("S", bound=Record)

LONGEST_SOCKET_PATH = 103
"""Bytes; macOS takes 103, Linux 107."""


class Owner:
    """What the owner of a fake controller has to say to it: what goes wrong, and that it is to end.

    A shutdown of the machine tells all processes at once. As a real controller would, this one then stays for those
    that still have to stop the arm.
    """

    def __init__(self, line: Connection) -> None:
        self._line, self._stirs, self._told_s = line, death_of(line), list[float]()
        self._waiting: list[tuple[FaultKind, bool]] = []
        leave_the_terminal_to_the_owner(lambda: self._told_s.append(monotonic_s()))

    def ended(self) -> bool:
        """It has let go of the line, or is gone, or the system has asked all to end a while ago."""
        try:
            while self._stirs():
                self._waiting.append(self._line.recv())
        except (EOFError, OSError):
            return True
        return bool(self._told_s) and monotonic_s() - self._told_s[0] > SERVANTS_STAY_S

    def orders(self, now_s: float) -> list[Event]:
        """What it has said since the last time."""
        came, self._waiting = self._waiting, []
        return [Event(time_s=now_s, fault=Fault(kind=kind), begins=begins) for kind, begins in came]


def tell(owner: Connection, word: str | HilError) -> None:
    """Say something to the owner, if it still listens."""
    with contextlib.suppress(OSError):  # it has changed its mind meanwhile
        owner.send(word)


def serve_owner(owner: Connection, loop_core: int | None, run: Callable[[Ready, Owner], None]) -> None:
    """Serve until the owner ends it or is gone; what cannot be had is told to the owner."""
    said = Owner(owner)
    go_before_others()
    leave_the_loops_core(loop_core)

    def ready(url: str) -> None:
        # No program on the computer keeps a real board waiting. Once it is up, its work is short each time.
        answer_at_once()
        tell(owner, url)

    try:
        run(ready, said)
    except HilError as error:
        tell(owner, error)


class OwnLine(NamedTuple):
    """Where a fake serves its owner alone, as `sim.server.Service` has it."""

    socket: str | None
    tcp_port: int | None


def own_line(folder: Path, name: str) -> OwnLine:
    """A socket in the owner's folder, or TCP where the system has none or the path is too long for one.

    Not a pseudo-terminal: its bytes go by a worker of the kernel, at a usual program's priority whoever asks. Beside
    eight busy programs that go before others, an answer took 52 ms at worst; on a socket 1.1 ms.
    """
    path = str(folder / name)
    if sys.platform == "win32" or len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        return OwnLine(socket=None, tcp_port=0)
    return OwnLine(socket=path, tcp_port=None)


def has_pseudo_terminals() -> bool:
    """True where a fake can look like a serial device; elsewhere (Windows, small containers) it serves on TCP."""
    if sys.platform == "win32":
        return False
    try:
        ends = os.openpty()
    except OSError:
        return False
    for end in ends:
        os.close(end)
    return True


def laid_over(
    settings: S, controller: str, profile: str | Path | None, short: Mapping[str, Any], changes: Sequence[str]
) -> S:
    """Settings under a profile, the options that were given, and further changes; the later ones win."""
    given = {key: value for key, value in short.items() if value is not None}
    plain = choices_of(controller, profile, given).over(settings)
    return choices_of(controller, None, changes).over(plain)
