"""Packets to one controller on a network and back, by UDP; never waits."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from hil.errors import LinkClosed, LinkOverrun

SCHEME = "udp"
_LARGEST = 2048
_MOST_AT_ONCE = 64


def open_datagrams(url: str) -> UdpPort:
    """Open ``udp://HOST:PORT``.

    Raises:
        LinkClosed: there is no such address.
    """
    return UdpPort(url)


class UdpPort:
    """A `hil.link.DatagramPort`; takes packets of its partner alone.

    Args:
        url: ``udp://HOST:PORT``.

    Raises:
        LinkClosed: there is no such address.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._socket: socket.socket | None = None
        try:
            parts = urlsplit(url)
            if parts.scheme != SCHEME or not parts.hostname or not parts.port:
                raise ValueError("udp://HOST:PORT is meant")
            family, kind, protocol, _, address = socket.getaddrinfo(parts.hostname, parts.port, type=socket.SOCK_DGRAM)[
                0
            ]
            found = socket.socket(family, kind, protocol)
            found.setblocking(False)
            found.connect(address)
        except (OSError, ValueError) as error:
            raise LinkClosed(
                f"{url}: no packets can be sent there ({error}); look at the rig and the network", url
            ) from None
        self._socket = found

    def receive(self, now_s: float) -> list[bytes]:
        """Every packet that has arrived; that nobody listens there shows as silence."""
        packets: list[bytes] = []
        for _ in range(_MOST_AT_ONCE):
            try:
                packets.append(self._open().recv(_LARGEST))
            except BlockingIOError:
                break
            except (ConnectionRefusedError, ConnectionResetError):
                continue
            except OSError as error:
                raise LinkClosed(f"{self._url}: {error}", self._url) from None
        return packets

    def send(self, packet: bytes, now_s: float) -> None:
        """Send one.

        Raises:
            LinkOverrun: the system does not take it now.
            LinkClosed: the network is gone.
        """
        try:
            self._open().send(packet)
        except BlockingIOError:
            raise LinkOverrun(f"{self._url}: the network takes no packet now", self._url) from None
        except (ConnectionRefusedError, ConnectionResetError):
            # Says that nobody listened to the one before; silence is judged by whoever waits for answers.
            return
        except OSError as error:
            raise LinkClosed(f"{self._url}: {error}; look at the network's cable", self._url) from None

    def close(self) -> None:
        """Let go of it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _open(self) -> socket.socket:
        if self._socket is None:
            raise LinkClosed(f"{self._url}: closed", self._url)
        return self._socket
