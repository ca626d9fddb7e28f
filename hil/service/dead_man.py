"""The driver's sign of life, and the dead-man that counts in it."""

from __future__ import annotations

import math

from hil.service.hold_watch import HoldWatch, Sign
from hil.service.lease_facts import Effect, Effects, Hold, LetGo, Tell
from hil.service.lease_settings import LeaseSettings
from hil.service.wire import NoticeKind


class DeadMan:
    """Whether the driver is heard, and holds on. After a silence, and after every change, it has to be pressed anew.

    Args:
        settings: the lab's choices.
    """

    def __init__(self, settings: LeaseSettings) -> None:
        self._settings = settings
        self._watch = HoldWatch(settings.unchanged_s, settings.planned_unchanged_s)
        self._heard_s = -math.inf
        self._held = self._silent = self._pressed = False
        self._let_go_first = True

    @property
    def held(self) -> bool:
        """It was held when the driver was heard last."""
        return self._held

    def silence_s(self, now_s: float) -> float:
        """For how long nothing was heard."""
        return now_s - self._heard_s

    def alive(self, now_s: float) -> bool:
        """The driver was heard in time."""
        return self.silence_s(now_s) <= self._settings.stop_after_s

    def void(self) -> None:
        """It has to be let go of, and pressed anew."""
        self._held, self._let_go_first = False, True

    def heard(self, now_s: float) -> None:
        """Silence counts from here."""
        self._heard_s, self._silent = now_s, False

    def beat(self, channel: int, held: bool, issued_s: float, now_s: float, sign: Sign) -> Effects:
        """A sign of life, and what shows that a hand is on it."""
        self.heard(now_s)
        fresh = now_s - min(issued_s, now_s) <= self._settings.command_age_s
        if not held:
            self._let_go_first, self._pressed = False, False
        before, self._held = self._held, held and fresh and not self._let_go_first
        if self._held and not self._pressed:
            self._pressed = True
            self._watch.begin(now_s)
        if self._held:
            self._watch.see(sign, now_s)
        if before and not self._held:
            text = "the dead-man was released"
            return (LetGo(reason=text), Tell(channel=channel, kind=NoticeKind.DEADMAN_RELEASED, text=text))
        return ()

    def asked(self, what: object, now_s: float, *, planned: bool) -> None:
        """A motion was let through that goes on while it is held: `what` tells them apart."""
        self._watch.ask(what, now_s, planned=planned)

    def watch(self, channel: int, now_s: float) -> Effects:
        """Time has passed: a silence stops the arm, and a hold without a hand counts no more."""
        silence_s = self.silence_s(now_s)
        done: list[Effect] = []
        if silence_s > self._settings.stop_after_s and not self._silent:
            self._silent = True
            self.void()
            text = f"nothing heard from the driver for {silence_s * 1e3:.0f} ms"
            done += [Hold(reason=text), Tell(channel=channel, kind=NoticeKind.HEARTBEAT_LOST, text=text)]
        return (*done, *self._watch_hand(channel, now_s))

    def _watch_hand(self, channel: int, now_s: float) -> Effects:
        """It counts no more until it was let go of; shortly before, the driver is told."""
        if not self._held:
            return ()
        if text := self._watch.over(now_s):
            self.void()
            return (LetGo(reason=text), Tell(channel=channel, kind=NoticeKind.PRESS_AGAIN, text=text))
        if (warning := self._watch.warning(now_s)) is None:
            return ()
        text, left_s = warning
        return (Tell(channel=channel, kind=NoticeKind.HOLD_ENDS, text=text, left_s=left_s),)
