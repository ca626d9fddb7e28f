"""Connections of which nobody knows whose they are: so many are kept, and the newest always comes in.

Whoever opens connections and says nothing, or asks for pages that anybody may see, pushes out his own.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Hashable
from typing import NamedTuple

MOST_UNKNOWN = 256
MOST_UNKNOWN_OF_ONE_HOME = 128
"""A class behind one router loads the page with six connections each."""

_HOME_BITS = 64
"""What one household gets of the addresses of IPv6."""


class _Caller(NamedTuple):
    home: str
    drop: Callable[[], None]


class Callers:
    """All connections of a server whose other end has shown no token yet, the oldest first.

    Args:
        most: of them.
        most_of_one: from one home; a server behind a proxy sees a single one.
    """

    def __init__(self, most: int = MOST_UNKNOWN, most_of_one: int = MOST_UNKNOWN_OF_ONE_HOME) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._unknown: dict[Hashable, _Caller] = {}

    def take(self, line: Hashable, address: str, drop: Callable[[], None]) -> None:
        """A new connection; beyond the limits the oldest of the home that has most of them is broken off.

        Args:
            line: stands for the connection.
            address: at its other end.
            drop: breaks it off.
        """
        caller = self._unknown[line] = _Caller(home_of(address), drop)
        counts = Counter(other.home for other in self._unknown.values())
        if counts[caller.home] > self._most_of_one:
            self._break_off(caller.home)
        elif len(self._unknown) > self._most:
            self._break_off(counts.most_common(1)[0][0])

    def forget(self, line: Hashable) -> None:
        """It is gone, or known by now: it takes no place any more. Said again, it changes nothing."""
        self._unknown.pop(line, None)

    def _break_off(self, home: str) -> None:
        oldest = next(line for line, caller in self._unknown.items() if caller.home == home)
        self._unknown.pop(oldest).drop()


def home_of(address: str) -> str:
    """What stands for all addresses that one household may have; what is no address stands for itself."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _HOME_BITS), strict=False))
