"""Who waits for an arm, in order."""

from __future__ import annotations

from collections.abc import Iterator

from hil.service.lease_facts import Party

MOST_WAITING = 64


class LeaseQueue:
    """One place for each user, so that nobody fills it alone."""

    def __init__(self) -> None:
        self._waiting: list[Party] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Party]:
        return iter(tuple(self._waiting))

    @property
    def full(self) -> bool:
        """Nobody more may wait."""
        return len(self._waiting) >= MOST_WAITING

    def place(self, channel: int) -> int:
        """Place from 1; 0 for not in it."""
        return next((i for i, party in enumerate(self._waiting, 1) if party.channel == channel), 0)

    def join(self, party: Party) -> None:
        """Wait, at the end."""
        self.leave(party.user)
        self._waiting.append(party)

    def leave(self, user: str) -> None:
        """Wait no longer."""
        self._waiting = [waiting for waiting in self._waiting if waiting.user != user]

    def closed(self, channel: int) -> None:
        """A channel is gone, and whoever waited on it."""
        self._waiting = [waiting for waiting in self._waiting if waiting.channel != channel]
