"""Who hears what of a terminal and of the system: the one place that decides it, for every process of the program.

A terminal tells all its processes at once: Ctrl-C, Ctrl-Z, a quit and its own end reach the command that was typed
(the owner) and every process that it has started (its servants). Only the owner can know what they mean for the arm, so
servants are deaf to them from before their first line, and end with their owner instead, however that ends. Loop and
recorder, which can stop the arm, wait for the owner and then go by themselves: they may have been told alone.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


def _of_this_system(*names: str) -> tuple[signal.Signals, ...]:
    return tuple(getattr(signal, name) for name in names if hasattr(signal, name))


ENDS = _of_this_system("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK")
"""What asks the command that was typed to end: Ctrl-C, the system, a closed terminal, Ctrl-\\, Ctrl-Break."""

OF_THE_TERMINAL = _of_this_system("SIGINT", "SIGHUP", "SIGQUIT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGBREAK")
"""What a terminal sends to all of its processes, and what no servant hears."""

SERVANTS_STAY_S = 15.0
"""Whoever shuts a machine down tells all processes at once. Those that the loop needs for a stop within limits stay for
so long at most: longer than the slowest arm takes, shorter than a system waits before it kills."""

OWNER_ACTS_S = 0.25
"""What a terminal tells all its processes the owner acts on within this time. Who is not spoken for by then was told
alone, or has an owner that hears nothing."""

_TOLD_TOGETHER = (*OF_THE_TERMINAL, signal.SIGTERM)
"""And what whoever shuts a machine down sends to all of them."""


# -- servants --------------------------------------------------------------------------------------------


def leave_the_terminal_to_the_owner(told_to_end: Callable[[], object] | None = None) -> None:
    """Make this process, which serves another one, deaf to the terminal; first thing that it does.

    Args:
        told_to_end: called at SIGTERM, in the main thread; None leaves that as it is.
    """
    for number in OF_THE_TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    if told_to_end is not None:
        signal.signal(signal.SIGTERM, lambda number, frame: told_to_end())
    if sys.platform != "win32":
        # Whoever started it has them held back until now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _TOLD_TOGETHER)


class Told:
    """What the loop or the recorder was told, each of which can stop the arm within its limits.

    Args:
        now_s: reads a clock that never runs backwards.
    """

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._due: list[tuple[float, str]] = []

    def listen(self) -> None:
        """From now on hear what asks to end; first thing that the process does. Ctrl-Z is the owner's alone.

        What is ignored already stays so: whoever started the process meant that, as `nohup` does.
        """
        for number in {*OF_THE_TERMINAL, *ENDS}:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._note if number in ENDS else signal.SIG_IGN)
        if sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _TOLD_TOGETHER)

    def to_end(self) -> str:
        """The name of a signal that means this process; empty while there is none."""
        now_s = self._now_s() if self._due else 0.0
        return next((name for due_s, name in self._due if now_s >= due_s), "")

    def _note(self, number: int, frame: FrameType | None) -> None:
        patience_s = OWNER_ACTS_S if number in OF_THE_TERMINAL else 0.0
        self._due.append((self._now_s() + patience_s, signal.Signals(number).name))


def start_unheard(start: Callable[[], T]) -> T:
    """Start a servant that no signal of the terminal reaches before it can say that it hears none.

    Nor is the start itself broken off, which would leave a process behind that nobody knows.

    Args:
        start: starts a process that calls `leave_the_terminal_to_the_owner` first of all.
    """
    with held_back(), _inherited_silence():
        return start()


if sys.platform == "win32":

    @contextlib.contextmanager
    def _inherited_silence() -> Iterator[None]:
        """A process that ignores Ctrl-C hands that on to those that it starts."""
        import ctypes

        kernel = ctypes.WinDLL("kernel32")
        kernel.SetConsoleCtrlHandler(None, True)
        try:
            yield
        finally:
            kernel.SetConsoleCtrlHandler(None, False)

else:

    @contextlib.contextmanager
    def _inherited_silence() -> Iterator[None]:
        """A process hands on which signals it blocks; here they stay pending meanwhile, and none is lost."""
        from multiprocessing import resource_tracker

        before = signal.pthread_sigmask(signal.SIG_BLOCK, _TOLD_TOGETHER)
        try:
            # Multiprocessing's own helper: it would be ended by a closed terminal, and unblocks some when it starts.
            resource_tracker.ensure_running()
            signal.pthread_sigmask(signal.SIG_BLOCK, _TOLD_TOGETHER)
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- the owner -------------------------------------------------------------------------------------------


class HeldBack:
    """Signals that came while they were held back, for whoever handles them otherwise."""

    def __init__(self, handlers: dict[signal.Signals, Callable[[int, FrameType | None], Any]]) -> None:
        self._handlers = handlers
        self._came: list[int] = []

    def note(self, number: int, frame: FrameType | None) -> None:
        """A signal has come."""
        self._came.append(number)

    def deliver(self) -> None:
        """Let what has come so far do what it does otherwise, which mostly is to raise KeyboardInterrupt, here."""
        while self._came:
            number = signal.Signals(self._came.pop(0))
            self._handlers[number](number, None)

    @contextlib.contextmanager
    def let_through(self) -> Iterator[None]:
        """For as long as this lasts nothing is held back: for a question to a person, which waits for ever."""
        try:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            self.deliver()
            yield
        finally:
            for number in self._handlers:
                signal.signal(number, self.note)


@contextlib.contextmanager
def held_back(numbers: Iterable[signal.Signals] = ENDS) -> Iterator[HeldBack]:
    """Nothing in here is broken off by a signal; it is delivered at the end, or when it is asked for.

    Python raises KeyboardInterrupt between any two instructions, also in the middle of starting a process, of stopping
    an arm, and of clearing up. Signals that nobody handles in Python are left alone; so are all in any thread but the
    main one, which alone hears them.
    """
    mine = threading.current_thread() is threading.main_thread()
    handlers = {number: handler for number in numbers if mine and callable(handler := signal.getsignal(number))}
    held = HeldBack(handlers)
    try:
        for number in handlers:
            signal.signal(number, held.note)
        yield held
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        held.deliver()
