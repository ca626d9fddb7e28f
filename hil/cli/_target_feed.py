"""Where targets come from: lines of standard input, or datagrams on a port of this machine. Neither ever waits."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections import deque
from typing import NamedTuple, Protocol

from hil.clock import monotonic_s

AT_ONCE = 4096
MOST_WAITING = 200
"""Of more lines that nobody takes the oldest are dropped: they would be too old anyway."""

LOOPBACK = "127.0.0.1"


class Line(NamedTuple):
    """A line, and when it is meant."""

    at_s: float
    text: str


class Feed(Protocol):
    """A source of lines."""

    @property
    def over(self) -> bool:
        """True once no further line comes, and all were taken."""
        ...

    def take(self) -> list[Line]:
        """The lines that are due, oldest first."""
        ...


class StreamFeed:
    """Lines of standard input as they come. Of those that come together only the last counts: they come too late.

    It reads the descriptor itself: a thread that waits in Python's own buffer cannot be left behind at the end.
    """

    def __init__(self) -> None:
        self._lines: deque[Line] = deque(maxlen=MOST_WAITING)
        self._ended = False
        threading.Thread(target=self._read, args=(sys.stdin.fileno(),), daemon=True).start()

    @property
    def over(self) -> bool:
        """True once no further line comes, and all were taken."""
        return self._ended and not self._lines

    def take(self) -> list[Line]:
        """The lines that have come."""
        return [self._lines.popleft() for _ in range(len(self._lines))]

    def _read(self, stdin: int) -> None:
        rest = b""
        while data := _data(stdin):
            *lines, rest = (rest + data).split(b"\n")
            full = [line for line in lines if line.strip()]
            if full:
                self._lines.append(Line(monotonic_s(), full[-1].decode("utf-8", "replace")))
        if rest.strip():
            self._lines.append(Line(monotonic_s(), rest.decode("utf-8", "replace")))
        self._ended = True


class PacedFeed:
    """Lines of standard input at an even rate, whenever they come: a file, or a program that does not wait.

    Args:
        rate_hz: so many a second.
    """

    def __init__(self, rate_hz: float) -> None:
        self._period_s = 1.0 / rate_hz
        self._lines: deque[str] = deque()
        self._room = threading.Semaphore(MOST_WAITING)
        self._due_s: float | None = None
        self._ended = False
        threading.Thread(target=self._read, args=(sys.stdin.fileno(),), daemon=True).start()

    @property
    def over(self) -> bool:
        """True once no further line comes, and all were taken."""
        return self._ended and not self._lines

    def take(self) -> list[Line]:
        """The lines that are due."""
        now_s, due = monotonic_s(), []
        while self._lines:
            at_s = now_s if self._due_s is None else self._due_s
            if at_s > now_s:
                break
            due.append(Line(at_s, self._lines.popleft()))
            self._room.release()
            self._due_s = at_s + self._period_s
        return due

    def _read(self, stdin: int) -> None:
        rest = b""
        while data := _data(stdin):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._add(line)
        self._add(rest)
        self._ended = True

    def _add(self, line: bytes) -> None:
        if line.strip():
            self._room.acquire()
            self._lines.append(line.decode("utf-8", "replace"))


class DatagramFeed:
    """Datagrams to a port of this machine, a line each; from elsewhere nothing is heard.

    Args:
        port: number of the UDP port; 0 for any.

    Raises:
        OSError: it is taken.
    """

    over = False

    def __init__(self, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((LOOPBACK, port))
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    def take(self) -> list[Line]:
        """The lines that have come."""
        found: list[Line] = []
        while len(found) < MOST_WAITING:
            try:
                data = self._socket.recv(AT_ONCE)
            except OSError:
                break
            found.append(Line(monotonic_s(), data.decode("utf-8", "replace")))
        return found

    def close(self) -> None:
        """Let go of the port."""
        self._socket.close()


def _data(stdin: int) -> bytes:
    try:
        return os.read(stdin, AT_ONCE)
    except OSError:  # the terminal was closed
        return b""
