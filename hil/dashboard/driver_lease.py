"""Whose turn it is, without widgets: asking for the arm, giving it back, and what becomes of a hold when it changes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from hil.dashboard.link import FarArm
from hil.dashboard.session import Session
from hil.dashboard.texts import tr
from hil.service import wire
from hil.service.client import COMING_S
from hil.service.wire import LeasePhase

QUEUE_S = 8 * 3600.0

T = TypeVar("T")


class LeasedHand(Protocol):
    """What loses its grip with the lease."""

    def drop(self, why: str) -> None:
        """Nothing is held any more, for this reason."""

    def say(self, text: str) -> None:
        """Something to read beside the controls."""

    def ask(self, what: Callable[[FarArm], Coroutine[Any, Any, T]]) -> None:
        """Have something done, and say what is refused."""


class DriverLease:
    """The lease of one window."""

    def __init__(self, session: Session, hand: LeasedHand) -> None:
        self._session, self._hand = session, hand
        self._was_ours = False

    @property
    def ours(self) -> bool:
        """Whether this window drives."""
        return self._session.lease is not None and self._session.lease.yours

    def claim(self, *, wait: bool = False) -> None:
        """Ask for the lease; with `wait` stand in the queue."""
        within_s = QUEUE_S if wait else COMING_S
        self._hand.ask(lambda arm: arm.claim(wait=wait, within_s=within_s))

    def leave_queue(self) -> None:
        """Wait no longer."""
        self._hand.ask(lambda arm: arm.leave_queue())

    def give_back(self) -> None:
        """Nobody drives; the arm holds."""
        self._hand.drop(tr("the lease is given back"))
        self._hand.ask(lambda arm: arm.release())

    def take_over(self, reason: str, *, keep_booking: bool) -> None:
        """As a teacher, take the arm from its driver."""
        self._hand.ask(lambda arm: arm.take_over(reason, keep_booking=keep_booking))

    def more_time(self, minutes: float) -> None:
        """Ask for a longer slot."""
        self._hand.ask(lambda arm: arm.request(wire.Renew, minutes=minutes))

    def reset(self) -> None:
        """Leave a fault, or a latched stop."""
        self._hand.ask(lambda arm: arm.request(wire.Reset))

    def thaw(self) -> None:
        """Allow motion again on a frozen arm."""
        self._hand.ask(lambda arm: arm.request(wire.Thaw))

    def hear(self, news: wire.LeaseNews) -> None:
        """News of it."""
        if news.yours and not self._was_ours:
            self._hand.say(tr("it is your turn: you drive"))
        elif self._was_ours and not news.yours:
            self._hand.drop(tr("the lease is no longer yours"))
            why = news.reason or news.lease.phase.value
            if news.lease.phase not in (LeasePhase.FREE, LeasePhase.CLEARING) or "given" not in why:
                self._session.failed.emit(tr("You no longer drive: {why}", why=why))
            self._hand.say(tr("you no longer drive: {why}", why=why))
        self._was_ours = news.yours

    def lost(self) -> None:
        """There is no service any more."""
        self._was_ours = False
