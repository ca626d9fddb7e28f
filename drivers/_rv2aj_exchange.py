"""One conversation at a time on the line of a CR1: what is asked next, when it may leave, and what became of it."""

from __future__ import annotations

from collections.abc import Callable

from drivers._rv2aj_control import Control
from drivers._rv2aj_line import Ask, Cr1Line
from drivers._rv2aj_settings import SPACING_S
from drivers._rv2aj_talk import Talk
from hil.errors import LinkOverrun

TAKING_TURNS = 16
"""Requests and replies that one look at the line goes through at most."""


class Exchange:
    """Nothing is said before `begin`.

    Args:
        line: open.
        control: says whether our program runs; is told that an alarm may have come.
        usual: what is said once a conversation is over.
        took_late: called when a program has taken a line whose answer was not waited for any more.
        now_s: time of the first look.

    Attributes:
        line: as given.
        now_s: time of the newest look; whoever looks sets it first.
        left_s: when the newest request left.
    """

    def __init__(
        self,
        line: Cr1Line,
        control: Control,
        usual: Callable[[], Talk[None]],
        took_late: Callable[[], None],
        now_s: float,
    ) -> None:
        self.line, self.now_s, self.left_s = line, now_s, float("-inf")
        self._control, self._usual, self._took_late = control, usual, took_late
        self._talk: Talk[None] | None = None
        self._asked: Ask | None = None
        self._in_flight = False

    def begin(self, talk: Talk[None]) -> None:
        """Say this from now on; what was being asked is nobody's question any more."""
        self._talk, self._asked, self._in_flight = talk, None, False

    def fall_silent(self) -> None:
        """Say nothing more."""
        self._talk = None

    def advance(self) -> None:
        """Take what came and go on with the conversation until it has to wait.

        Raises:
            LinkClosed: the port is gone.
            HilError: the conversation ended in it.
        """
        now_s, line = self.now_s, self.line
        for _ in range(TAKING_TURNS):
            heard = line.take(now_s)
            talk = self._talk
            if talk is None:
                return
            if not self._in_flight:
                heard = None
            elif heard is None:
                return
            else:
                self._asked, self._in_flight = None, False
                if heard.reply is not None and heard.reply.alarm:
                    # A small third letter anywhere says that an alarm came.
                    self._control.suspicious = True
            if line.took_late():
                self._took_late()
            if self._asked is None:
                try:
                    self._asked = talk.send(heard)
                except StopIteration:
                    self._talk = self._usual()
                    continue
            if self._asked is None or not self.free(spaced=self._asked.spaced):
                return
            try:
                line.ask(self._asked, now_s)
            except LinkOverrun:
                return
            self._in_flight, self.left_s = True, now_s

    def free(self, *, spaced: bool) -> bool:
        """A request may leave now: one that needs a distance to the reply before it, as all do while a program runs."""
        apart = spaced or self._control.program_runs
        return self.line.idle and (not apart or self.now_s >= self.line.replied_s + SPACING_S)
