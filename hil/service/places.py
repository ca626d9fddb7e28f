"""Which channels may be open: so many in all and of one address, and a few more for those who must get at an arm."""

from __future__ import annotations

from collections.abc import Callable

from hil.errors import HilError

MOST_CHANNELS = 400
MOST_OF_ONE_ADDRESS = 100

MOST_UNHEARD = 16
"""Spare places on which a hello is waited for."""

MOST_SPARE = 40
"""Open channels beyond the limits, in all."""

SPARE_OF_ONE_USER = 2
"""Of them of one person, who may have come back before the line that broke off was noticed."""


class FullError(HilError):
    """There is no place for one more channel."""


class Place:
    """A channel's place.

    Args:
        origin: network address.
        drop: breaks the channel off.
        spare: beyond the limits.
    """

    def __init__(self, origin: str, drop: Callable[[], None], spare: bool) -> None:
        self.origin, self.drop, self.spare = origin, drop, spare
        self.user = ""
        """Who is there; empty until that is known."""


class Places:
    """All places of a server."""

    def __init__(self) -> None:
        self._taken: list[Place] = []

    def take(self, origin: str, drop: Callable[[], None]) -> Place:
        """A place for a new channel, whose hello is still to come.

        Beyond the limits it is a spare one. Of those who are on one without having said who they are the oldest is
        broken off for the newest: whoever only opens channels keeps nobody out who says hello at once.
        """
        place = Place(origin, drop, not self._room(origin))
        self._taken.append(place)
        unheard = [other for other in self._taken if other.spare and not other.user]
        if len(unheard) > MOST_UNHEARD:
            self.leave(unheard[0])
            unheard[0].drop()
        return place

    def keep(self, place: Place, user: str, needed: bool) -> None:
        """Somebody has said hello and was let in.

        Args:
            place: where.
            user: who.
            needed: must get at the arm, be it full or not.

        Raises:
            FullError: it is a spare place, and not for this person.
        """
        if place.spare and self._room(place.origin):
            place.spare = False
        if place.spare:
            kept = [other.user for other in self._taken if other.spare and other.user]
            if not needed or len(kept) >= MOST_SPARE or kept.count(user) >= SPARE_OF_ONE_USER:
                raise FullError("too many channels are open; close one first")
        place.user = user

    def leave(self, place: Place) -> None:
        """A channel is gone; said again, it changes nothing."""
        if place not in self._taken:
            return
        self._taken.remove(place)
        for other in self._taken:
            if other.spare and other.user and self._room(other.origin):
                other.spare = False

    def _room(self, origin: str) -> bool:
        regular = [place.origin for place in self._taken if not place.spare]
        return len(regular) < MOST_CHANNELS and regular.count(origin) < MOST_OF_ONE_ADDRESS
