"""The bytes of a CR1's line: whole lines in, whole requests out, each read back first, and when they have left."""

from __future__ import annotations

from typing import Final

from drivers._rv2aj_codec import JOINTS, split
from drivers._rv2aj_gate import Gate, Joint
from drivers._rv2aj_settings import Rv2ajSettings
from hil.errors import ControllerError, LinkOverrun
from hil.link import BytePort

STALE_S = 3.0
"""A line that has not ended by then is no reply."""


class Wire:
    """An open port.

    Args:
        settings: of the line.
        port: just opened.
        now_s: time of that.

    Attributes:
        gate: looks at all bytes before they leave.
        free_s: when everything written so far has left.
        heard_s: when the last byte came.
        stalled: the port has not taken what was handed to it last.
    """

    def __init__(self, settings: Rv2ajSettings, port: BytePort, now_s: float) -> None:
        ranges = zip(JOINTS, settings.lower_deg, settings.upper_deg, strict=True)
        self.gate: Final = Gate([Joint(*joint) for joint in ranges])
        self.free_s: float = float("-inf")
        self.heard_s = self._line_s = now_s
        self.stalled = False
        self._settings: Final = settings
        self._port: Final = port
        self._data = bytearray()

    @property
    def half(self) -> str:
        """What has come of a line that has not ended."""
        return self._data.decode("latin-1")

    @property
    def rubbish(self) -> bool:
        """It cannot become a reply any more."""
        return bool(self._data) and self._data[:1] not in b"qQ"

    def stale(self, now_s: float) -> bool:
        """It has waited for its end for too long."""
        return bool(self._data) and now_s - self._line_s > STALE_S

    def drop(self) -> str:
        """Forget it; gives what it was."""
        half = self.half
        self._data.clear()
        return half

    def receive(self, now_s: float) -> list[str]:
        """The lines that have ended.

        Raises:
            LinkClosed: the port is gone.
        """
        data = self._port.read(now_s)
        if not data:
            return []
        self._line_s = now_s if not self._data else self._line_s
        self.heard_s = now_s
        self._data += data
        lines: list[str] = []
        try:
            lines = split(self._data)
        except ControllerError:
            self._line_s = float("-inf")
        if lines:
            self._line_s = now_s
        return lines

    def send(self, data: bytes, now_s: float) -> None:
        """Send requests, once they were read back.

        Raises:
            CommandError: they may not leave.
            LinkOverrun: the port did not take them all.
            LinkClosed: the port is gone.
        """
        self.gate.check(data)
        self._write(data, now_s)
        self.gate.left()

    def tell(self, data: bytes, now_s: float) -> None:
        """Send a line of text for a program that reads the line; errors as for `send`."""
        self.gate.check_text(data)
        self._write(data, now_s)

    def close(self) -> None:
        """Let go of the port."""
        self._port.close()

    def _write(self, data: bytes, now_s: float) -> None:
        """The only place from which bytes leave."""
        if self.stalled:
            # Part of a line has left: what comes now must not become its end.
            data = b"\r" + data
        try:
            self._port.write(data, now_s)
        except LinkOverrun:
            self.stalled = True
            raise
        self.stalled = False
        self.free_s = max(now_s, self.free_s) + self._settings.wire_s(len(data))
