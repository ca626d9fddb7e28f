"""The network at a fake controller's Ethernet card: in memory on virtual time, or as a UDP port of this computer."""

from __future__ import annotations

import socket
from typing import Protocol

from hil.errors import ConfigError

LARGEST = 2048
MOST_AT_ONCE = 64


class Card(Protocol):
    """The controller's end."""

    def bring(self, packet: bytes, at_s: float) -> None:
        """A packet has come."""
        ...

    def sent_by(self, until_s: float) -> list[bytes]:
        """Packets that have left by then, once."""
        ...


class Clocked(Protocol):
    """A controller that lives on the time that it is told."""

    def advance(self, until_s: float) -> None:
        """Let everything happen up to then."""
        ...


class MemoryDatagrams:
    """A `hil.link.DatagramPort` to a fake in memory. What goes wrong with the line beside it is not its business.

    Args:
        controller: whose card it is.
        card: its card.
    """

    def __init__(self, controller: Clocked, card: Card) -> None:
        self._controller, self._card = controller, card

    def receive(self, now_s: float) -> list[bytes]:
        """What has come."""
        self._controller.advance(now_s)
        return self._card.sent_by(now_s)

    def send(self, packet: bytes, now_s: float) -> None:
        """Send one."""
        self._controller.advance(now_s)
        self._card.bring(packet, now_s)

    def close(self) -> None:
        """Nothing is left to let go of."""


class UdpEnd:
    """The card's UDP port on 127.0.0.1; answers whoever sent last.

    Args:
        controller: whose card it is.
        card: its card.
        port: 0 for any free one.

    Raises:
        ConfigError: the port is taken.
    """

    def __init__(self, controller: Clocked, card: Card, port: int = 0) -> None:
        self._controller, self._card = controller, card
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            self._socket.close()
            raise ConfigError("fake options", "udp_port", port, f"a free port ({error})") from None
        self._socket.setblocking(False)
        self._partner: tuple[str, int] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"udp://127.0.0.1:{self._socket.getsockname()[1]}"

    def exchange(self, now_s: float) -> None:
        """Take what has come, let the controller live up to now, and send what it has answered."""
        for _ in range(MOST_AT_ONCE):
            try:
                packet, self._partner = self._socket.recvfrom(LARGEST)
            except BlockingIOError:
                break
            except OSError:
                continue
            self._card.bring(packet, now_s)
        self._controller.advance(now_s)
        for packet in self._card.sent_by(now_s):
            if self._partner is not None:
                try:
                    self._socket.sendto(packet, self._partner)
                except OSError:
                    # As on any network, it is lost.
                    continue

    def close(self) -> None:
        """Let go of the port."""
        self._socket.close()
