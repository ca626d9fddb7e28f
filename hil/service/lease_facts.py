"""What a lease is told of people and of the arm, and what it gives back for the server to do."""

from __future__ import annotations

from hil.service.rights import Role
from hil.service.wire import NoticeKind
from hil.types import WRITING, Mode, Record

READY = frozenset({Mode.IDLE, Mode.HOLDING})
"""Modes in which a known arm stands and can be armed."""

NOBODY = 0
"""Channel of somebody who has none: channels count from 1."""


class Party(Record, frozen=True):
    """Somebody on a channel.

    Attributes:
        user: who it is, the same after a reconnect.
        name: for display; may be empty.
        channel: of this connection alone.
        on_site: stands beside the arm.
        until_s: when the token ends, by the clock of all times here; None for no end.
    """

    user: str
    name: str
    role: Role
    channel: int
    on_site: bool = False
    until_s: float | None = None

    @property
    def shown(self) -> str:
        """What others read."""
        return self.name or "someone"


class ArmFacts(Record, frozen=True):
    """What is true of the arm, and of its calendar, right now.

    Attributes:
        mode: of the loop; DISCONNECTED where there is no loop.
        parked: the arm is in its park pose.
        settled: the loop has taken all requests that were ever sent to it, and `mode` is from after that.
        clean: what the lab wants done between two users is done.
        reserved_for: the user who has booked this moment; empty for nobody.
        until_s: when the free time, or the booked slot, ends; None for no end in sight.
        coming: the arm is coming up by itself, and needs nothing but a moment.
    """

    mode: Mode
    parked: bool
    settled: bool = True
    clean: bool = True
    reserved_for: str = ""
    until_s: float | None = None
    coming: bool = False

    @property
    def standing(self) -> bool:
        """Nothing moves, nothing is armed, and nothing on its way could change that."""
        return self.settled and self.mode not in WRITING and self.mode is not Mode.ARMED

    @property
    def ready(self) -> bool:
        """It is idle or holds, and nothing on its way could change that."""
        return self.settled and self.mode in READY

    @property
    def fit(self) -> bool:
        """A new user may have it."""
        return self.ready and self.parked and self.clean


class Hold(Record, frozen=True):
    """Stop the arm now: slow down within limits and hold."""

    reason: str


class LetGo(Record, frozen=True):
    """The dead-man was released: stop what moves, or is about to. What stands may stay armed."""

    reason: str


class Freeze(Record, frozen=True):
    """Freeze the controller now, and latch."""

    reason: str


class Cut(Record, frozen=True):
    """Say goodbye on a channel and close it."""

    channel: int
    reason: str


class Tell(Record, frozen=True):
    """Send a notice.

    Attributes:
        channel: None for all channels of the arm.
        left_s: until what is announced.
    """

    channel: int | None
    kind: NoticeKind
    text: str
    left_s: float | None = None


class Changed(Record, frozen=True):
    """The lease is not what it was: send everybody what concerns them."""

    reason: str


class Park(Record, frozen=True):
    """Park the arm through the checked path, with nobody there; the settings allow it."""


class EndBooking(Record, frozen=True):
    """The present booking of this user is over."""

    user: str


Effect = Hold | LetGo | Freeze | Cut | Tell | Changed | Park | EndBooking
Effects = tuple[Effect, ...]
