"""The bytes of a CR1's line: whole lines in, whole requests out, each read back first, and when they have left."""

from __future__ import annotations

from typing import Final

from drivers import _rv2aj_mxt_gate as mxt
from drivers._line_signs import LineSigns
from drivers._rv2aj_codec import JOINTS, split
from drivers._rv2aj_gate import Gate, Joint
from drivers._rv2aj_settings import Rv2ajSettings
from hil.errors import ControllerError, LinkOverrun
from hil.joined import Splitter, packet_bytes
from hil.link import BytePort, FloatArray, MotionBounds

STALE_S = 3.0
"""A line that has not ended by then is no reply."""


class Wire:
    """An open port.

    Args:
        settings: of the line.
        port: just opened.
        now_s: time of that.

    Attributes:
        gate: looks at all requests before they leave.
        packet_gate: looks at all packets before they leave.
        free_s: when everything written so far has left.
        heard_s: when the last byte came.
        stalled: the port has not taken what was handed to it last.
        signs: how bytes come.
    """

    def __init__(self, settings: Rv2ajSettings, port: BytePort, now_s: float) -> None:
        ranges = zip(JOINTS, settings.lower_deg, settings.upper_deg, strict=True)
        self.gate: Final = Gate([Joint(*joint) for joint in ranges])
        self.packet_gate: Final = mxt.MxtGate([mxt.Joint(*joint) for joint in self.gate.joints])
        self.free_s: float = float("-inf")
        self.heard_s = self._line_s = now_s
        self.stalled = False
        self.signs: Final = LineSigns(settings.wire_s(1))
        self._settings: Final = settings
        self._port: Final = port
        self._data = bytearray()
        self._splitter = Splitter() if settings.networked else None
        self._packets: list[bytes] = []

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
        if self._splitter is not None:
            data, packets = self._splitter.split(data)
            self._packets += packets
        if not data:
            return []
        self.signs.heard(data, now_s)
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

    def take_packets(self) -> list[bytes]:
        """Packets that have come, once."""
        packets, self._packets = self._packets, []
        return packets

    def post(self, packet: bytes, now_s: float) -> None:
        """Send a packet, once it was read back.

        Raises:
            CommandError: it may not leave.
            LinkOverrun: the network does not take it now.
            LinkClosed: the port is gone.
        """
        self.packet_gate.check(packet)
        self._port.write(packet_bytes(packet), now_s)
        self.packet_gate.left()

    def bound(self, bounds: MotionBounds) -> None:
        """From now on hold what leaves against the arm's limits, too."""
        pace = self._settings.pace
        self.gate.bound(bounds, bounds.period_s if pace is None else 2.0 * pace.longest_s)
        self.packet_gate.bound(bounds)

    def certify(self, samples: FloatArray) -> None:
        """Samples of the motion that is loaded, for both gates."""
        self.gate.certify(samples)
        self.packet_gate.certify(samples)

    def begin_rows(self) -> None:
        """The certified motion begins."""
        self.gate.begin()
        self.packet_gate.begin()

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
        self.signs.sent(data)
        self.free_s = max(now_s, self.free_s) + self._settings.wire_s(len(data))
