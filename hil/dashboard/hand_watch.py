"""Whether the window still has a hand on something, as the process beside it sees it.

A window that hangs says nothing, and counts as let go. A window that only does not get its turn on a busy computer is
given a little longer: the computer tells which of the two it is, not the window.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hil.dashboard.beside_words import Hand
from hil.service.hold_watch import NO_SIGN, Sign

STALLED_S = 0.2
"""A window that has had its turn and has said nothing for so long hangs: nothing counts as held."""

LONGEST_S = 0.3
"""Without a word for longer nothing counts as held, whatever the computer was busy with: the hand may be gone."""

LOOKS_S = 0.06
"""A silence of more than a tick of the window's, from when on its reason is looked for."""

GONE_S = 2.0
"""A window without a word for so long drives no more: its lease is not renewed."""

_OWN_LATENESS = 2.0


class Turn(NamedTuple):
    """What a computer says of a thread.

    Attributes:
        cpu_s: time that it has run so far.
        wants: it could run, if it were its turn.
    """

    cpu_s: float
    wants: bool


def turn_of(pid: int) -> Turn | None:
    """Of the first thread of a process; None where that cannot be known."""
    if sys.platform != "linux":
        return None
    try:
        ran = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="ascii").split()
        state = Path(f"/proc/{pid}/task/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return None
    return Turn(int(ran[0]) * 1e-9, state[0] == "R")


class HandWatch:
    """Follows the words of one window.

    Args:
        turn: of the window's thread, now.
        every_s: how often `look` is called, if all is well.
    """

    def __init__(self, turn: Callable[[], Turn | None], every_s: float) -> None:
        self._turn, self._every_s = turn, every_s
        self._word = Hand(None, -math.inf, NO_SIGN)
        self._lapsed: int | None = None
        self._excused_s = 0.0
        self._looked_s = -math.inf
        self._before: Turn | None = None
        self._excused_of = self._word

    def say(self, word: Hand) -> None:
        """The window has said something; from any thread."""
        self._word = word

    @property
    def press(self) -> int | None:
        """Number of the press that was said last; None while nothing was held."""
        return self._word.number

    @property
    def sign(self) -> Sign:
        """What showed the hand last."""
        return self._word.sign

    def gone(self, now_s: float) -> bool:
        """Whether nothing was heard for so long that somebody else may have the arm."""
        return now_s - self._word.at_s > GONE_S

    def holds(self, now_s: float) -> bool:
        """Whether a hand is on something; what has lapsed has to be pressed anew."""
        word = self._word
        if word.number is None or word.number == self._lapsed:
            return False
        silence_s = now_s - word.at_s
        excused_s = self._excused_s if self._excused_of is word else 0.0
        if silence_s > LONGEST_S or silence_s - excused_s > STALLED_S:
            self._lapsed = word.number
            return False
        return True

    def look(self, now_s: float) -> bool:
        """Look for the reason of a silence; whether a hand is on something. To be called again and again."""
        word, passed_s = self._word, now_s - self._looked_s
        self._looked_s = now_s
        if word is not self._excused_of:
            self._excused_of, self._excused_s, self._before = word, 0.0, None
        if word.number is not None and now_s - word.at_s > LOOKS_S:
            turn, before = self._turn(), self._before
            self._before = turn
            if turn is None:
                # Where nobody knows whose turn it was: what we have missed ourselves, the window may have missed, too.
                self._excused_s += max(0.0, passed_s - _OWN_LATENESS * self._every_s)
            elif before is not None and turn.wants:
                # What it did in its own turns counts; what it had to wait for them does not.
                self._excused_s += max(0.0, passed_s - (turn.cpu_s - before.cpu_s))
        return self.holds(now_s)
