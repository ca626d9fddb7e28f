"""The first cause of a fault: what comes after it, until somebody resets it, is a consequence or a coincidence."""

from __future__ import annotations

from collections.abc import Sequence

_FAULT = "-> fault: "
_OWNERS = "fault: "
"""So begins what the owner says of a loop that can say nothing any more."""
_LEAVES = ("fault -> unknown_pose", "fault -> connecting", "estop -> unknown_pose", "estop -> connecting")


class FirstCause:
    """Keeps the words of the first fault or software stop until a reset.

    Attributes:
        words: empty while there is none.
    """

    def __init__(self) -> None:
        self.words = ""

    def keep(self, words: str) -> None:
        """A fault has come, or a software stop."""
        self.words = self.words or words

    def forget(self) -> None:
        """Somebody has reset it."""
        self.words = ""

    def behind(self, words: str) -> str:
        """Later words, followed by the cause that they do not displace."""
        return f"{words} (before that: {self.words})" if self.words else words


def first_fault(events: Sequence[str]) -> str:
    """The words of the first fault among the loop's events since the last reset; empty if there was none."""
    words = ""
    for event in events:
        if event.startswith(_LEAVES):
            words = ""
        elif not words and _FAULT in event:
            words = event.partition(_FAULT)[2]
    return words


def why_it_ended(events: Sequence[str]) -> str:
    """The first reason for which the newest motion did not go on: a stop, or a fault; empty if there was none."""
    begun = max((index for index, event in enumerate(events) if "-> streaming" in event), default=0)
    reasons = (event for event in events[begun:] if "stop: " in event or _FAULT in event or event.startswith(_OWNERS))
    return next(reasons, "")
