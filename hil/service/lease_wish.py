"""Whether a client wants the lease of an arm, also over losses of its line, and whether it may still come."""

from __future__ import annotations

from hil.service import wire


class LeaseWish:
    """One client's.

    Attributes:
        wanted: it is ours, or shall be.
        waits: in the queue, if need be.
    """

    def __init__(self) -> None:
        self.wanted = self.waits = False
        self._asked_again: int | None = None

    def want(self, *, wait: bool) -> None:
        """It is asked for."""
        self.wanted, self.waits = True, wait

    def got(self) -> None:
        """It is ours: who loses the line has nothing to wait for in a queue."""
        self.waits = False

    def drop(self) -> None:
        """It is not wanted any more."""
        self.wanted = False

    def ask_again(self, seq: int) -> None:
        """It is asked for on a new line, with the message of this number."""
        self._asked_again = seq

    def answered(self, seq: int) -> None:
        """The message of this number has its answer."""
        if seq == self._asked_again:
            self._asked_again = None

    def lost(self) -> None:
        """The line is gone, and no answer will come on it."""
        self._asked_again = None

    def declined(self, news: wire.LeaseNews | None) -> str:
        """Why, by the newest news, the lease is neither ours nor on its way to us; empty while it may be."""
        # After a lost line it is asked for again, and the news of before that say nothing.
        if self._asked_again is not None:
            return ""
        if news is None or news.yours or news.place or news.lease.phase is wire.LeasePhase.CHANGING:
            return ""
        return news.reason or f"the lease is {news.lease.phase.value}"
