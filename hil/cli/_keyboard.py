"""Single keys and single lines from whoever sits at the other end of standard input; neither ever waits."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

AT_ONCE = 256
END = "q"
"""What the end of input means: leave."""

CURSOR_SHOWN, CURSOR_HIDDEN = b"\x1b[?25h", b"\x1b[?25l"
"""Whoever draws a screen of keys hides the cursor."""


@contextmanager
def single_keys() -> Iterator[Callable[[], list[str]]]:
    """Keys as they are pressed, without Enter; the terminal is put back whatever happens, also while suspended.

    Gives a function that returns the keys pressed since the last call. A key that sends a sequence (an arrow, a
    function key) comes as one. Ctrl-C interrupts and Ctrl-Z suspends as ever.
    """
    if sys.platform == "win32":
        yield _windows_keys
        return
    import termios
    import tty

    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)

    def put_back() -> None:
        with contextlib.suppress(termios.error):  # the terminal was closed: there is nothing to put back
            # What was typed ahead of the end is not meant for the shell.
            termios.tcsetattr(stdin, termios.TCSAFLUSH, before)

    def take_again() -> None:
        with contextlib.suppress(termios.error):
            tty.setcbreak(stdin)

    with _suspending(put_back, take_again):
        try:
            tty.setcbreak(stdin)
            yield lambda: _posix_keys(stdin)
        finally:
            put_back()


@contextmanager
def _suspending(put_back: Callable[[], None], take_again: Callable[[], None]) -> Iterator[None]:
    """Ctrl-Z gives the terminal to the shell as it was, with its cursor, and `fg` takes it again."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return

    def suspend(number: int, frame: FrameType | None) -> None:
        put_back()
        _write_at_once(CURSOR_SHOWN)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        # Here it stands still, until somebody says `fg`.
        signal.signal(signal.SIGTSTP, suspend)
        take_again()
        _write_at_once(CURSOR_HIDDEN)

    before = signal.getsignal(signal.SIGTSTP)
    if before is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGTSTP, suspend)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)


def _write_at_once(sequence: bytes) -> None:
    """Past Python's own buffer, which may be in the middle of something."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stdout.isatty():
            os.write(sys.stdout.fileno(), sequence)


def _posix_keys(stdin: int) -> list[str]:
    import select

    if not select.select([stdin], [], [], 0.0)[0]:
        return []
    try:
        data = os.read(stdin, AT_ONCE).decode("utf-8", "replace")
    except OSError:  # the terminal was closed
        return [END]
    if not data:
        return [END]
    return ["\x1b"] if data.startswith("\x1b") else list(data)


def _windows_keys() -> list[str]:
    if sys.platform != "win32":
        return []
    import msvcrt

    keys = []
    while msvcrt.kbhit():
        key = msvcrt.getwch()
        if key == "\x03":
            raise KeyboardInterrupt
        if key in ("\x00", "\xe0"):
            msvcrt.getwch()
            key = "\x1b"
        keys.append(key)
    return keys


def somebody_typed() -> bool:
    """Whether a line (on Windows a key) was typed at the terminal meanwhile; it is taken away. Of a pipe never."""
    if not sys.stdin.isatty():
        return False
    return bool(_windows_keys() if sys.platform == "win32" else _posix_keys(sys.stdin.fileno()))


class Lines:
    """Lines from a pipe or a console, read in a thread; the end of input comes as a line that leaves.

    It reads the descriptor itself: a thread that waits in Python's own buffer cannot be left behind at the end.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        threading.Thread(target=self._read, args=(sys.stdin.fileno(),), daemon=True).start()

    @property
    def waiting(self) -> str | None:
        """The next line, left where it is; None if there is none yet."""
        return self._lines[0] if self._lines else None

    def take(self) -> str:
        """The next line; IndexError if there is none yet."""
        return self._lines.popleft()

    def _read(self, stdin: int) -> None:
        rest = b""
        while data := self._data(stdin):
            *lines, rest = (rest + data).split(b"\n")
            self._lines.extend(line.decode("utf-8", "replace").rstrip("\r") for line in lines)
        self._lines.extend([rest.decode("utf-8", "replace"), END] if rest else [END])

    @staticmethod
    def _data(stdin: int) -> bytes:
        try:
            return os.read(stdin, 4096)
        except OSError:
            return b""
