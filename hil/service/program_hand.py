"""The hand of a program: what holds the dead-man while it waits, and what of it shows that somebody is there."""

from __future__ import annotations

import math
from collections.abc import Callable

from hil.service.hold_watch import Sign

DeadMan = Callable[[], object]
"""Asked 20 times a second. False, 0, None and NaN let go; anything else holds. Whatever differs from the answer before
shows a hand: a pad's raw reading, which is never quite still, says more than True."""


class ProgramHand:
    """Follows one dead-man, from when something is asked for.

    Args:
        deadman: None for the program itself: that it goes round is the sign, as often as it does.
        now_s: monotonic; asking is a press.
    """

    def __init__(self, deadman: DeadMan | None, now_s: float) -> None:
        self._deadman = deadman
        self._changed_s = now_s
        self._before: object = None
        self._first = True

    def look(self, now_s: float, *besides: object) -> Sign | None:
        """What shows that it is held now; None for let go.

        Args:
            now_s: monotonic.
            besides: what else a hand would change, as the rates of a jog.
        """
        held: object = True if self._deadman is None else self._deadman()
        # NaN is no reading; in a comparison it would be a new one each time.
        if not held or (isinstance(held, float) and math.isnan(held)):
            held = False
        seen = held, besides
        if self._deadman is None or (not self._first and seen != self._before):
            self._changed_s = now_s
        self._before, self._first = seen, False
        return Sign(changed_s=self._changed_s) if held else None
