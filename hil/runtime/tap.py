"""Listens on the byte line for the journal: what was read, written and what failed since it was last asked."""

from __future__ import annotations

from collections.abc import Callable

from hil.errors import HilError, LinkError
from hil.link import BytePort
from hil.types import LineFailure


class PortTap:
    """Wraps the port that a driver opens and keeps a copy of each tick's bytes."""

    def __init__(self, open_port: Callable[[], BytePort]) -> None:
        self._open_port = open_port
        self._port: BytePort | None = None
        self._received = self._written = b""
        self._failures: list[LineFailure] = []

    def open(self) -> BytePort:
        """Open the port behind; hand this to the driver as its way of opening."""
        try:
            self._port = self._open_port()
        except HilError as error:
            self._note("open", error)
            raise
        return self

    def take(self) -> tuple[bytes, bytes, tuple[LineFailure, ...]]:
        """Bytes received, bytes written and failed calls since the last time."""
        received, written = self._received, self._written
        failures: tuple[LineFailure, ...] = ()
        self._received = self._written = b""
        if self._failures:
            failures, self._failures = tuple(self._failures), []
        return received, written, failures

    def read(self, now_s: float) -> bytes:
        """What the port behind has."""
        assert self._port is not None
        try:
            data = self._port.read(now_s)
        except LinkError as error:
            self._note("read", error)
            raise
        self._received += data
        return data

    def write(self, data: bytes, now_s: float) -> None:
        """Pass on, then note what the port took."""
        assert self._port is not None
        try:
            self._port.write(data, now_s)
        except LinkError as error:
            self._note("write", error)
            raise
        self._written += data

    def set_baud(self, baud: int) -> None:
        """Pass on."""
        assert self._port is not None
        self._port.set_baud(baud)

    def close(self) -> None:
        """Pass on; a tap whose port was never opened has nothing to close."""
        if self._port is not None:
            self._port.close()

    def _note(self, call: str, error: HilError) -> None:
        self._failures.append(LineFailure(call=call, kind=type(error).__name__, message=str(error)))
