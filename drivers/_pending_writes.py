"""Writes on their way, each with a record of its own, so that it is known what has left.

On Windows a write goes on after its call has come back. pyserial uses one record for all writes (its issue 671): what
became of the one before is lost then, and so may be its bytes. Only `drivers/_ports.py` uses this.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

MOST_BYTES: Final = 4096
"""So many may be on their way, as many as pyserial has the system keep for us. More is a line that is stalled."""


class Write(Protocol):
    """One write that was begun."""

    def left(self) -> int | None:
        """How many of its bytes have left; None while it goes on.

        Raises:
            OSError: it failed.
        """
        ...

    def cancel(self) -> None:
        """Give up what has not left."""
        ...


class PendingWrites:
    """Begins writes one after the other, and knows how many bytes of them have not left.

    Args:
        begin: begins a write.
    """

    def __init__(self, begin: Callable[[bytes], Write]) -> None:
        self._begin = begin
        self._writes: deque[tuple[Write, int]] = deque()
        self._cut_short = False

    def write(self, data: bytes) -> int:
        """Begin to write all of `data`, or none of it; 0 also, once, after an earlier write was cut short.

        Raises:
            OSError: the line failed.
        """
        waiting = self.waiting()
        if self._cut_short or waiting + len(data) > MOST_BYTES:
            self._cut_short = False
            return 0
        self._writes.append((self._begin(data), len(data)))
        return len(data)

    def waiting(self) -> int:
        """How many bytes may not have left yet.

        Raises:
            OSError: the line failed.
        """
        while self._writes:
            write, count = self._writes[0]
            left = write.left()
            if left is None:
                break
            self._writes.popleft()
            self._cut_short |= left < count
        return sum(count for _, count in self._writes)

    def cancel(self) -> None:
        """Give up what has not left: the system must not go on with records that are not kept any more."""
        for write, _ in self._writes:
            write.cancel()


class OverlappedWrite:
    """One `WriteFile` of Windows. Bytes and record stay where they are until the system needs them no more.

    Args:
        api: pyserial's `serial.win32`, which declares what is called here.
        handle: of the port, opened for overlapped use.
        data: what to write.

    Raises:
        OSError: the line does not take it.
    """

    def __init__(self, api: Any, handle: Any, data: bytes) -> None:
        self._api, self._handle = api, handle
        self._bytes = ctypes.create_string_buffer(data, len(data))
        self._record = api.OVERLAPPED()
        self._record.hEvent = api.CreateEvent(None, 1, 0, None)
        began = api.WriteFile(handle, self._bytes, len(data), None, self._record)
        if not began and (code := api.GetLastError()) != api.ERROR_IO_PENDING:
            self._forget()
            raise OSError(f"a write was not taken (Windows error {code})")

    def left(self) -> int | None:
        """How many of its bytes have left; None while it goes on."""
        count = self._api.DWORD()
        if self._api.GetOverlappedResult(self._handle, self._record, count, False):
            self._forget()
            return int(count.value)
        if (code := self._api.GetLastError()) == self._api.ERROR_IO_INCOMPLETE:
            return None
        self._forget()
        raise OSError(f"a write failed (Windows error {code})")

    def cancel(self) -> None:
        """Give up what has not left."""
        self._api.CancelIoEx(self._handle, self._record)

    def _forget(self) -> None:
        self._api.CloseHandle(self._record.hEvent)
