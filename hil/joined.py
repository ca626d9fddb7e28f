"""A byte line and the packets of a network in one stream of bytes, so that a tap, a journal and a replay see both.

The line's bytes stand as they are, but for `MARK`, which is doubled. A packet stands behind `MARK` and `PACKET`, with
its length in two bytes. Nothing of this is ever on a wire: whoever opens the port takes it apart again.
"""

from __future__ import annotations

from hil.link import BytePort, DatagramPort

MARK = 0x10
"""No request, and no reply that can be read, holds it."""
PACKET = 0x44
HEAD = 4
LONGEST = 0xFFFF
BETWEEN = "|"
"""In a URL of both, which no name of a port holds."""


def joined_url(line: str, packets: str) -> str:
    """Where both lead."""
    return f"{line}{BETWEEN}{packets}"


def split_url(url: str) -> tuple[str, str]:
    """Line and packets of a URL; empty for the packets where it names a line alone."""
    line, _, packets = url.partition(BETWEEN)
    return line, packets


def line_bytes(data: bytes) -> bytes:
    """What came on the line, as the stream has it."""
    return data.replace(bytes((MARK,)), bytes((MARK, MARK)))


def packet_bytes(packet: bytes) -> bytes:
    """A packet as the stream has it.

    Raises:
        ValueError: no packet is that long.
    """
    if len(packet) > LONGEST:
        raise ValueError(f"a packet of {len(packet)} bytes; allowed: {LONGEST}")
    return bytes((MARK, PACKET)) + len(packet).to_bytes(2, "little") + packet


class Splitter:
    """Takes a stream apart; what has not come as a whole waits."""

    def __init__(self) -> None:
        self._rest = b""

    def split(self, data: bytes) -> tuple[bytes, list[bytes]]:
        """Bytes of the line, and packets, that have come with this."""
        if not self._rest and data.find(MARK) < 0:
            return data, []
        data, line, packets, at = self._rest + data, bytearray(), [], 0
        while at < len(data):
            mark = data.find(MARK, at)
            if mark < 0:
                line += data[at:]
                at = len(data)
                break
            line += data[at:mark]
            at = mark
            if len(data) < at + 2:
                break
            if data[at + 1] != PACKET:
                line.append(MARK)
                at += 2 if data[at + 1] == MARK else 1
                continue
            if len(data) < at + HEAD:
                break
            end = at + HEAD + int.from_bytes(data[at + 2 : at + HEAD], "little")
            if len(data) < end:
                break
            packets.append(data[at + HEAD : end])
            at = end
        self._rest = data[at:]
        return bytes(line), packets


class JoinedPort:
    """The `BytePort` of a driver that talks on a line and by packets at once.

    Args:
        line: open.
        packets: open.
    """

    def __init__(self, line: BytePort, packets: DatagramPort) -> None:
        self._line, self._packets = line, packets
        self._written = Splitter()

    def read(self, now_s: float) -> bytes:
        """What has come on both, the line first."""
        data = line_bytes(self._line.read(now_s))
        return data + b"".join([packet_bytes(packet) for packet in self._packets.receive(now_s)])

    def write(self, data: bytes, now_s: float) -> None:
        """Send on the line what is of the line, and packets as such."""
        line, packets = self._written.split(data)
        if line:
            self._line.write(line, now_s)
        for packet in packets:
            self._packets.send(packet, now_s)

    def set_baud(self, baud: int) -> None:
        """Of the line."""
        self._line.set_baud(baud)

    def close(self) -> None:
        """Let go of both."""
        self._packets.close()
        self._line.close()
