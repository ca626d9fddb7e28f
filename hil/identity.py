"""Whom to expect at the other end of a line, and the words for somebody else who answers there."""

from __future__ import annotations

from hil.errors import ControllerError
from hil.types import ControllerIdentity

SHOWN = 4
"""So many differences are told one by one; another board can differ in all of its settings."""

NO_MEMORY = "Connect the one that was there before, or end this session and begin another"


class Acquaintance:
    """Who was met at the other end: at first whoever answers, or whom somebody remembers; from then on only that one.

    Args:
        port: the line's name, for messages.
    """

    def __init__(self, port: str) -> None:
        self._port = port
        self._remedy = NO_MEMORY
        self._expected: ControllerIdentity | None = None

    @property
    def expected(self) -> ControllerIdentity | None:
        """Who has to answer; None as long as that is anybody."""
        return self._expected

    def expect(self, controller: ControllerIdentity | None, remedy: str) -> None:
        """Take this one for the right one.

        Args:
            controller: who was here in an earlier session; None if nobody remembers.
            remedy: what a person can do about another one, a sentence without its stop.
        """
        self._expected, self._remedy = controller, remedy

    def meet(self, controller: ControllerIdentity) -> None:
        """Somebody answers.

        Raises:
            ControllerError: it is another one, or this one was changed; the text says what was and what is.
        """
        if self._expected is None:
            self._expected = controller
            return
        changes = self._expected.changes(controller)
        if changes:
            more = f"; and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
            raise ControllerError(
                f"{self._port}: this is not the controller that was here before, or somebody has changed it: "
                f"{'; '.join(changes[:SHOWN])}{more}. Nothing that moves was sent. {self._remedy}"
            )
        self._expected = controller.completed(self._expected)
