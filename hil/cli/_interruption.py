"""What a signal does to the command that was typed, from its first line to its last. Imports next to nothing."""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time
from collections.abc import Callable
from types import CodeType, FrameType

# Type checkers take it for True. Nobody listens for Ctrl-C until this module is loaded, and `typing` is slow to load.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from typing import NoReturn

INTERRUPTED = 130
"""Exit code of what was interrupted, if nobody knows by which signal."""

TWICE_S = 1.0
"""The same end is often told twice: of a closed terminal by its shell and by the system."""

_AGAIN_S = 0.001
_WORDS = {
    "SIGINT": ("interrupted", "interrupted from the keyboard"),
    "SIGBREAK": ("interrupted", "interrupted from the keyboard"),
    "SIGQUIT": ("interrupted (SIGQUIT)", "interrupted from the keyboard (SIGQUIT)"),
    "SIGTERM": ("ended by the system (SIGTERM)", "ended by the system (SIGTERM)"),
    "SIGHUP": ("ended: the terminal was closed (SIGHUP)", "the terminal was closed (SIGHUP)"),
    "SIGTSTP": (
        "stopped: this cannot be suspended (Ctrl-Z)",
        "the program that watches it was to be suspended (Ctrl-Z)",
    ),
}


class Interruption:
    """Ctrl-C and its kin, for one command.

    What is ignored already when the command begins, as `nohup` does it, stays ignored.

    Args:
        now_s: seconds since an arbitrary start.

    Attributes:
        number: the first signal that came; None while none has.
    """

    # `hil.clock` is slow to load, and the steps of 16 ms that this clock has on Windows do no harm here.
    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:  # noqa: TID251
        self._now_s = now_s
        # Not those of `hil.runtime.terminal_signals`: importing anything takes time in which nobody listens.
        names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK")
        found = [signal.Signals[name] for name in names if hasattr(signal, name)]
        self._numbers = [each for each in found if signal.getsignal(each) is not signal.SIG_IGN]
        self._raised_s = -TWICE_S
        self._otherwise = sys.unraisablehook
        self.number: int | None = None
        # First come, last called. Python then gives back what it has handled: a signal would change the exit code.
        atexit.register(self._ignore)

    # -- the life of a command ---------------------------------------------------------------------------

    def before_anything_is_started(self) -> None:
        """While modules are imported: leave on the spot, for there is nothing to clear up."""
        self._handle(self._leave_with_words)

    def ends_what_runs(self) -> None:
        """From now on a signal raises KeyboardInterrupt: whoever moves an arm stops it first."""
        self._handle(self.interrupt)
        sys.unraisablehook = self._swallowed

    def when_nothing_is_left(self, code: int) -> None:
        """All is done and said, and the interpreter takes itself apart: a signal makes that quicker, no more."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                continue  # its reader is gone, or it is closed
        self._handle(lambda number, frame: os._exit(code))
        sys.unraisablehook = self._otherwise

    def _ignore(self) -> None:
        for number in self._numbers:
            signal.signal(number, signal.SIG_IGN)

    def _handle(self, handler: Callable[[int, FrameType | None], None]) -> None:
        for number in self._numbers:
            signal.signal(number, handler)

    # -- what a signal does ------------------------------------------------------------------------------

    def interrupt(self, number: int, frame: FrameType | None = None) -> None:
        """End what runs, unless it was just told so.

        Raises:
            KeyboardInterrupt: with the reason in words.
        """
        if _is_within(frame, Interruption._swallowed.__code__):
            self._again(number)
            return
        now_s = self._now_s()
        if now_s - self._raised_s < TWICE_S:
            return
        self.number, self._raised_s = self.number or number, now_s
        raise KeyboardInterrupt(_WORDS[signal.Signals(number).name][1])

    def _swallowed(self, what: UnraisableHookArgs) -> None:
        """Python drops what is raised where nobody can catch it, such as in a finalizer. Not an interruption."""
        number = self.number
        if number is None or not issubclass(what.exc_type, KeyboardInterrupt):
            self._otherwise(what)
            return
        self._raised_s = -TWICE_S
        self._again(number)

    def _again(self, number: int) -> None:
        """Send it once more a moment later, from outside: raised here it would be dropped again."""

        def later() -> None:
            time.sleep(_AGAIN_S)
            signal.raise_signal(number)

        _thread.start_new_thread(later, ())

    def _leave_with_words(self, number: int, frame: FrameType | None) -> NoReturn:
        self.number = number
        try:
            os.write(2, f"{self.words}\n".encode())
        finally:
            os._exit(self.code)

    # -- afterwards --------------------------------------------------------------------------------------

    @property
    def code(self) -> int:
        """Exit code: 128 and the signal, as shells have it."""
        return INTERRUPTED if self.number is None else 128 + self.number

    @property
    def words(self) -> str:
        """What happened, for a person."""
        return _WORDS["SIGINT" if self.number is None else signal.Signals(self.number).name][0]


def _is_within(frame: FrameType | None, code: CodeType) -> bool:
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False
