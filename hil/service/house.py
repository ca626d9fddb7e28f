"""What the desk of one arm asks of the lab around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hil.service.audit import Deed
from hil.service.bookings import Condition
from hil.service.doors import Visitor
from hil.service.lease_facts import Party
from hil.service.preview_desk import PreviewDesk
from hil.service.self_test import Outcome


class Frozen(Protocol):
    """What a freeze, and its end, can be said to: the desk of any arm."""

    def freeze(self, party: Party, reason: str) -> None:
        """Hold the arm until it is thawed."""
        ...

    def thaw(self, party: Party) -> None:
        """Let it be driven again."""
        ...


class Books(Protocol):
    """Where it is written down what has happened."""

    def note(self, deed: Deed) -> None:
        """Write into the audit."""
        ...

    def tested(self, arm: str, outcome: Outcome) -> None:
        """What came of an arm's self-test."""
        ...

    def keep_leases(self) -> None:
        """Write down who has which arm: it has changed."""
        ...


class Calendar(Protocol):
    """For whom an arm is booked."""

    def reserved(self, arm: str, now_s: float) -> tuple[str, float | None]:
        """Whose booking counts now (empty for nobody's), and when that or the free time ends, monotonic."""
        ...

    def come(self, arm: str, user: str) -> None:
        """Somebody has the arm now; if it is booked for that person, the booking is taken up."""
        ...

    def extend(self, arm: str, user: str, minutes: float, until_epoch_s: float | None) -> None:
        """Make this person's booking, if there is one now, longer, to the token's end at most.

        Raises HilError if that cannot be.
        """
        ...

    def end_booking(self, arm: str, user: str) -> None:
        """The booking that counts now is over."""
        ...

    def set_condition(self, arm: str, condition: Condition, reason: str) -> None:
        """How the arm is, for the calendar."""
        ...


class Workshop(Protocol):
    """What a move needs before it may be made."""

    previews: PreviewDesk

    @property
    def trouble(self) -> str:
        """Why nothing may move at any arm; empty if it may."""
        ...


class House(Books, Calendar, Workshop, Protocol):
    """The lab, as one desk sees it."""

    def token_epoch_s(self) -> float:
        """The time of day by which tokens are judged, seconds since 1970."""
        ...

    def still_counts(self, visitor: Visitor) -> bool:
        """Whether a visitor's token counts now."""
        ...

    def everywhere(self, visitor: Visitor, act: Callable[[Frozen], None]) -> None:
        """Do something at every desk that the visitor's token is for."""
        ...
