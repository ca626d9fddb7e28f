"""The owner's attendance, as its loop sees it: from when on silence counts, and how much of it is allowed."""

from __future__ import annotations

from collections.abc import Callable

from hil.model.rig import Rig
from hil.runtime.pace import HAND_SILENT_S
from hil.types import ArmJog, Request, Start

FIRST_ANSWER_S = 60.0
"""An owner that has not answered the loop's first tick by then counts as silent: the line is not held for nobody."""


class Attendance:
    """Loop and owner meet: the loop ticks for the first time, and the owner gives a sign of life after that.

    Before, both are only starting, however long that takes on a busy computer, and nothing moves: without a
    confirmation from the owner nothing can.

    Args:
        rig: says how long an owner may be silent whose certified motion runs unattended.
        age_s: seconds since the owner's last sign of life, given the time now.
        by_hand: whether a hand on a key has the arm.
    """

    def __init__(self, rig: Rig, age_s: Callable[[float], float], by_hand: Callable[[], bool]) -> None:
        self._silent_s, self._age_s, self._by_hand = rig.owner_silent_s, age_s, by_hand
        self._began_s: float | None = None
        self._met = False

    def begin(self, now_s: float) -> None:
        """The loop has ticked; only the first time counts."""
        if self._began_s is None:
            self._began_s = now_s

    def silent_s(self, now_s: float) -> float:
        """For how long the owner has been silent, as far as that counts."""
        age_s = self._age_s(now_s)
        if self._met:
            return age_s
        if self._began_s is None:
            return 0.0
        since_s = now_s - self._began_s
        self._met = age_s < since_s
        return age_s if self._met or since_s > FIRST_ANSWER_S else 0.0

    @property
    def allowed_s(self) -> float:
        """For how long it may be silent now."""
        return HAND_SILENT_S if self._by_hand() else self._silent_s


class OwnPresence:
    """The owner's own look at itself: was it away for longer than it may be?

    A loop that stood still together with it may not have missed it.

    Args:
        rig: as for `Attendance`.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._looked_s: float | None = None
        self._by_hand = False

    def asks(self, request: Request) -> None:
        """The owner asks its loop for something: who jogs has a hand on a key until a motion is started."""
        if isinstance(request, ArmJog | Start):
            self._by_hand = isinstance(request, ArmJog)

    def away_s(self, now_s: float, met: bool) -> float:
        """Seconds since the look before this one, if that is too long; else 0.

        Args:
            now_s: the time.
            met: the loop has ticked, as far as the owner knew until now; before that both are only starting.
        """
        before_s, self._looked_s = self._looked_s, now_s
        if before_s is None or not met:
            return 0.0
        allowed_s = HAND_SILENT_S if self._by_hand else self._rig.owner_silent_s
        return now_s - before_s if now_s - before_s > allowed_s + 2.0 * self._rig.period_s else 0.0
