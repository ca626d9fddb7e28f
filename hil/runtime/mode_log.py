"""The mode of a session, and the words of a tick: what changed the mode, what was refused, what people should know."""

from __future__ import annotations

from collections.abc import Iterable

from hil.errors import InterlockError
from hil.runtime.first_cause import FirstCause
from hil.runtime.modes import Event, follow
from hil.types import Mode


class ModeLog:
    """Follows the table of modes, and keeps the words until the tick's record takes them.

    Attributes:
        mode: what the bridge is doing with the arm.
        cause: of the fault or software stop that nobody has reset yet.
    """

    def __init__(self) -> None:
        self.mode = Mode.DISCONNECTED
        self.cause = FirstCause()
        self._words: list[str] = []

    def follow(self, event: Event, words: str) -> None:
        """Something has happened: go where the table leads, and say so; a stop is said even if it leads nowhere."""
        after = follow(self.mode, event)
        if after is not self.mode or event in (Event.STOP, Event.ABANDONED):
            self._words.append(f"{self.mode.value} -> {after.value}: {words}")
        self.mode = after

    def latch(self, event: Event, words: str) -> None:
        """The same for a fault or a software stop: the first of them is kept as the cause until a reset."""
        self.follow(event, self.cause.behind(words))
        self.cause.keep(words)

    def need(self, mode: Mode, what: str) -> None:
        """Make sure of the mode.

        Raises:
            InterlockError: it is another one.
        """
        if self.mode is not mode:
            raise InterlockError(f"to {what} needs the mode {mode.value}; it is {self.mode.value}", ["mode"])

    def say(self, words: str) -> None:
        """Something that people should know."""
        self._words.append(words)

    def say_all(self, words: Iterable[str]) -> None:
        """Several such things, or none."""
        self._words.extend(words)

    def take(self) -> tuple[str, ...]:
        """Everything that was said since the last time."""
        if not self._words:
            return ()
        words, self._words = tuple(self._words), []
        return words
