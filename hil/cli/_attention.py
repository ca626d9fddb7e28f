"""Signals for a command that talks to a controller itself, without a loop between: heard where it waits, and once."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from hil.clock import RealClock
from hil.runtime.terminal_signals import ENDS, HeldBack, held_back

T = TypeVar("T")


class Attention:
    """Hands one interruption to a conversation, where that can take it; others must not break off its clearing up.

    Attributes:
        interrupted: it was handed on.
    """

    def __init__(self, held: HeldBack) -> None:
        self._held = held
        self.interrupted = False

    def look(self) -> None:
        """Let a signal that has come do what it does.

        Raises:
            KeyboardInterrupt: one has come, the first time.
        """
        if self.interrupted:
            return
        try:
            self._held.deliver()
        except KeyboardInterrupt:
            self.interrupted = True
            raise

    def ask(self, question: Callable[[], T]) -> T:
        """Ask a person something, which any signal breaks off."""
        try:
            with self._held.let_through():
                return question()
        except KeyboardInterrupt:
            self.interrupted = True
            raise

    @property
    def clock(self) -> RealClock:
        """The machine's clock, which looks for signals whenever somebody waits by it."""
        return _AttentiveClock(self.look)


class _AttentiveClock(RealClock):
    def __init__(self, look: Callable[[], None]) -> None:
        super().__init__()
        self._look = look

    def sleep_until(self, deadline_s: float) -> None:
        """Look for signals, then sleep."""
        self._look()
        super().sleep_until(deadline_s)


@contextmanager
def attentive() -> Iterator[Attention]:
    """Signals go to the conversation in here. Ctrl-Z is one of them: what a controller does goes on without us."""
    with _no_suspending() as numbers, held_back(numbers) as held:
        yield Attention(held)


@contextmanager
def _no_suspending() -> Iterator[tuple[signal.Signals, ...]]:
    """Ctrl-Z interrupts as Ctrl-C does."""
    interrupt = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread()
    if sys.platform == "win32" or not mine or not callable(interrupt):
        yield ENDS
        return
    before = signal.getsignal(signal.SIGTSTP)
    if before is signal.SIG_IGN:
        yield ENDS
        return
    signal.signal(signal.SIGTSTP, interrupt)
    try:
        yield (*ENDS, signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, before)
