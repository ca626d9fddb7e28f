"""Whether an arm is there; while it comes up by itself, for how long it has, which is nobody's duty."""

from __future__ import annotations

from hil.service.arm_loop import ArmLoop
from hil.service.coming_up import ComingUp
from hil.service.wire import Presence


class ArmPresence:
    """Follows one arm.

    Args:
        loop: of the arm; says why there is none, and when its start began.
        coming_up: whether it needs nothing but a moment.
    """

    def __init__(self, loop: ArmLoop, coming_up: ComingUp) -> None:
        self._loop, self._coming_up = loop, coming_up
        self._told: tuple[str, bool] = ("", False)

    def starting_s(self, now_s: float) -> float | None:
        """For how long it has been coming up by itself; None for one that does not."""
        begun_s = self._loop.begun_s
        if begun_s is None or not (self._loop.away or self._coming_up.under_way):
            return None
        return max(0.0, now_s - begun_s)

    def message(self, now_s: float) -> Presence:
        """All of it."""
        return Presence(now_s=now_s, words=self._loop.away, starting_s=self.starting_s(now_s))

    def news(self, now_s: float) -> Presence | None:
        """The same, if something of it is new; who gets it counts on by itself."""
        message = self.message(now_s)
        what = message.words, message.starting_s is not None
        if what == self._told:
            return None
        self._told = what
        return message
