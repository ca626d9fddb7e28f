"""The dead-man at a client: whether it is held, what the lab makes of that, and what the next beat says of it.

After a change of the lease the first beat says that nobody holds anything: what is held then has to be held anew.
Whether a hold counts is what the answers to its own beats say. A notice that the dead-man was released is no news of
the present hold: it may have been on its way since the one before.
"""

from __future__ import annotations

from typing import NamedTuple

from hil.errors import InterlockError
from hil.service import wire
from hil.service.hold_watch import NO_SIGN, Sign
from hil.service.wire import NoticeKind

_MOST_BEATEN = 100
_NEVER = -1


class _Beaten(NamedTuple):
    sent_s: float
    held: bool


class ClientDeadMan:
    """One client's, at one arm.

    Attributes:
        counts: whether the server counts the present hold.
        press_again: why nothing counts before it was let go of, in words; empty if it may be held.
        hand: counts how often it was let go of: what waited for one hand is not for the next.
        told_held: number of the newest beat that said that it is held.
        known_free: number of the newest beat that said that it is not, of which the lab knows.
        trip_s: way there and back of the newest beat; None before the first.
    """

    def __init__(self) -> None:
        self.counts = False
        self.press_again = ""
        self.hand = 0
        self.told_held = self.known_free = _NEVER
        self.trip_s: float | None = None
        self._until_s = float("-inf")
        self._sign = NO_SIGN
        self._free_epoch: int | None = None
        self._told_free = _NEVER
        self._beaten: dict[int, _Beaten] = {}

    # -- the hand ----------------------------------------------------------------------------------------

    def hold(self, until_s: float, sign: Sign) -> None:
        """Somebody holds it, and that counts until then; not one that the lab has ended."""
        if not self.press_again:
            self._until_s = max(self._until_s, until_s)
            self._sign = sign

    def let_go(self) -> None:
        """Nobody holds it."""
        self.hand += 1
        self.press_again = ""
        self.drop()

    def drop(self) -> None:
        """What is held counts no more; it may be held anew at once, unless the lab has ended it."""
        self._until_s = float("-inf")
        self._free_epoch = None
        self.counts = False

    # -- what is beaten ----------------------------------------------------------------------------------

    def wanted(self, now_s: float) -> bool:
        """Whether somebody holds it, whatever the lab knows of it."""
        return now_s < self._until_s

    def held(self, epoch: int, now_s: float) -> bool:
        """Whether a beat says now, under this epoch, that it is held."""
        return self._free_epoch == epoch and now_s < self._until_s

    def signs(self, ahead_s: float) -> dict[str, float]:
        """What shows the hand, by a clock that is so far ahead of the one here; as fields of a beat."""
        known = {"changed_s": self._sign.changed_s, "reported_s": self._sign.reported_s}
        return {name: ahead_s + at_s for name, at_s in known.items() if at_s is not None}

    def beating(self, beat: wire.Beat, now_s: float) -> None:
        """A beat is about to be sent."""
        if len(self._beaten) >= _MOST_BEATEN:
            self._beaten.clear()
        self._beaten[beat.seq] = _Beaten(now_s, beat.held)
        if beat.held:
            self.told_held = beat.seq

    def beaten(self, beat: wire.Beat) -> None:
        """It was sent; under the epoch of one that was free, it may be held."""
        if not beat.held:
            self._free_epoch, self._told_free = beat.epoch, beat.seq

    # -- what the lab says -------------------------------------------------------------------------------

    def seen(self, answer: wire.BeatSeen, now_s: float) -> None:
        """The lab has seen a beat."""
        if (beaten := self._beaten.pop(answer.to, None)) is None:
            return
        self.trip_s = now_s - beaten.sent_s
        if not beaten.held:
            self.known_free = answer.to
        elif self._free_epoch is not None and answer.to > self._told_free:
            if not answer.held:
                self.drop()
            self.counts = answer.held

    def refused(self, to: int) -> bool:
        """Whether it was a beat that the lab has refused: what has changed there it tells by itself."""
        return self._beaten.pop(to, None) is not None

    def noticed(self, kind: NoticeKind, text: str) -> None:
        """The lab has something to say, which may end a hold until it is pressed anew."""
        if kind is NoticeKind.PRESS_AGAIN:
            self.drop()
            self.press_again = text

    def lost(self) -> None:
        """The line is gone; beats of the next one are counted anew."""
        self.drop()
        self._beaten.clear()
        self.told_held = self.known_free = self._told_free = _NEVER

    def not_held(self) -> InterlockError:
        """Why it does not count."""
        if self.press_again:
            return InterlockError(self.press_again, ["a new press"])
        trip = "" if self.trip_s is None else f"; the line takes {1e3 * self.trip_s:.0f} ms there and back"
        return InterlockError(f"the dead-man does not count as held{trip}", ["dead-man"])
