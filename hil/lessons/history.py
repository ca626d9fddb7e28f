"""What was typed, step by step, so that it can be taken back and done again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_KEPT = 200


class History(Generic[T]):
    """States in their order; one of them is now."""

    def __init__(self, first: T) -> None:
        self._states, self._at = [first], 0

    @property
    def now(self) -> T:
        """The present state."""
        return self._states[self._at]

    @property
    def is_begun(self) -> bool:
        """Whether there is more than the first state."""
        return len(self._states) > 1

    def add(self, state: T) -> None:
        """A new state; what was taken back before is forgotten. The same one again is no step."""
        if state == self.now:
            return
        self._states = [*self._states[: self._at + 1], state][-MOST_KEPT:]
        self._at = len(self._states) - 1

    def back(self) -> bool:
        """To the state before; False if there is none."""
        moved = self._at > 0
        self._at -= moved
        return moved

    def forth(self) -> bool:
        """To the state that was taken back; False if there is none."""
        moved = self._at < len(self._states) - 1
        self._at += moved
        return moved

    def replace(self, other: Callable[[T], T]) -> None:
        """Another state in the place of each, for what no state may lead back to any more."""
        self._states = [other(state) for state in self._states]
