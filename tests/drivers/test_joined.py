"""A line and packets in one stream: whatever goes in comes out, in any pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers._udp import open_datagrams
from hil.errors import LinkClosed
from hil.joined import JoinedPort, Splitter, joined_url, line_bytes, packet_bytes, split_url

PARTS = st.lists(st.one_of(st.binary(max_size=30), st.tuples(st.binary(max_size=300))), max_size=8)


@given(parts=PARTS, cuts=st.lists(st.integers(0, 2000), max_size=10))
def test_line_and_packets_come_apart_again_in_any_pieces(parts: list[object], cuts: list[int]) -> None:
    line = b"".join(part for part in parts if isinstance(part, bytes))
    packets = [part[0] for part in parts if isinstance(part, tuple)]
    stream = b"".join(packet_bytes(part[0]) if isinstance(part, tuple) else line_bytes(part) for part in parts)
    splitter, got_line, got_packets = Splitter(), b"", []
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for first, last in pairwise(places):
        text, found = splitter.split(stream[first:last])
        got_line, got_packets = got_line + text, got_packets + found
    assert (got_line, got_packets) == (line, packets)


def test_a_packet_is_at_most_as_long_as_its_length_can_say() -> None:
    assert len(packet_bytes(bytes(0xFFFF))) == 0xFFFF + 4
    with pytest.raises(ValueError, match="65536"):
        packet_bytes(bytes(0x10000))


class _Line:
    def __init__(self) -> None:
        self.sent, self.closed = b"", False

    def read(self, now_s: float) -> bytes:
        return b"a\x10b"

    def write(self, data: bytes, now_s: float) -> None:
        self.sent += data

    def set_baud(self, baud: int) -> None:
        self.baud = baud

    def close(self) -> None:
        self.closed = True


class _Packets:
    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def receive(self, now_s: float) -> list[bytes]:
        return [b"one", b"two"]

    def send(self, packet: bytes, now_s: float) -> None:
        self.sent.append(packet)

    def close(self) -> None:
        self.closed = True


def test_the_joined_port_gives_each_its_own() -> None:
    line, packets = _Line(), _Packets()
    port = JoinedPort(line, packets)
    assert Splitter().split(port.read(0.0)) == (b"a\x10b", [b"one", b"two"])
    port.write(line_bytes(b"x\x10y") + packet_bytes(b"three"), 0.0)
    assert (line.sent, packets.sent) == (b"x\x10y", [b"three"])
    port.set_baud(19200)
    port.close()
    assert line.baud == 19200
    assert line.closed
    assert packets.closed


def test_a_url_of_both() -> None:
    assert split_url(joined_url("/dev/ttyUSB0", "udp://10.0.0.1:10000")) == ("/dev/ttyUSB0", "udp://10.0.0.1:10000")
    assert split_url("COM3") == ("COM3", "")


@pytest.mark.parametrize("url", ["udp://", "udp://host", "tcp://127.0.0.1:1", "udp://127.0.0.1:99999"])
def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(LinkClosed, match="look at the rig"):
        open_datagrams(url)


def test_a_closed_network_is_closed() -> None:
    port = open_datagrams("udp://127.0.0.1:9")
    port.close()
    port.close()
    for use in (lambda: port.receive(0.0), lambda: port.send(b"x", 0.0)):
        with pytest.raises(LinkClosed, match="closed"):
            use()
