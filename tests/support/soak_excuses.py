"""What the long run does not hold against the program, each with its reason: the one place that the judges ask.

The same table stands in docs/faults-and-kills.md; a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum


class Excuse(Enum):
    """One thing outside the program that its judges allow for: its name, what is not judged, and why."""

    DAMAGED_COMMAND = (
        "bytes of a command lost, garbled, doubled or late",
        "the arm's motion and the first moves, until 1.5 s after it (RV-2AJ: 4 s)",
        "the controller takes a line without a checksum, and a digit that changed can be another valid target",
    )
    LATE_LINE = (
        "more than 200 bytes wait on the line",
        "the arm's motion, until 1.5 s after it",
        "what left in time reaches the board late; no program can take it back",
    )
    HALF_A_LINE = (
        "a damaged command still acts: half a line waits in the board, or a pulse is on a long way",
        "the arm's motion, for as long as that lasts and 1.5 s (RV-2AJ: 4 s)",
        "a damaged time can be long, and half a line waits for whatever ends it",
    )
    FREED_JOINT = (
        "a stalled joint comes free",
        "the arm's motion, until 1.5 s after it",
        "the servo goes to its pulse at full speed, and its echo never showed that it stood elsewhere",
    )
    SERVO_SUPPLY = (
        "the servo supply fails or returns",
        "the arm's motion, until 1.5 s after each",
        "the same: the echo shows pulses, not servos",
    )
    FALLING = (
        "a limp arm sinks",
        "the arm's motion and the first moves, until 1.5 s after it",
        "without pulses or power nothing holds it, and no program can catch it",
    )
    BY_HAND = (
        "a person frees the arm by hand",
        "the arm's motion, until 1.5 s after it (RV-2AJ: 4 s)",
        "it is the person who moves it",
    )
    HUNG_CONTROLLER = (
        "a CR1 hangs",
        "the arm's motion, until 4 s after it goes on",
        "it ends the chord that it was in when it goes on; nobody can take that back",
    )
    HELD_UP = (
        "the loop is held up",
        "nothing; what was due in that time may be late by as much, and a ramp goes on by samples",
        "a program that does not run can notice nothing; the pulses end by themselves after the look-ahead",
    )
    WENT_ON = (
        "who hung or was silent goes on before it had to be noticed",
        "that it was noticed",
        "a silence shorter than the time to notice is none",
    )
    OLD_FIRMWARE = (
        "a 1.x board is frozen",
        "that a fault sends nothing but STOP: one plain move of what still moves may leave",
        "that firmware knows no STOP",
    )

    def __init__(self, when: str, not_judged: str, why: str) -> None:
        self.when, self.not_judged, self.why = when, not_judged, why


def markdown() -> str:
    """The table as the page has it."""
    rows = [f"| {excuse.when} | {excuse.not_judged} | {excuse.why} |" for excuse in Excuse]
    return "\n".join(["| when | what is not judged | why |", "|---|---|---|", *rows])


class Excused:
    """What is excused at a time: spans that were planned, and what comes up on the way.

    Args:
        spans: from when, until when, and why.
    """

    def __init__(self, spans: Iterable[tuple[float, float, Excuse]]) -> None:
        self._spans = sorted(spans, key=lambda span: span[:2])
        self._until_s = -math.inf
        self._why = Excuse.DAMAGED_COMMAND

    def extend(self, until_s: float, why: Excuse) -> None:
        """Excuse until then."""
        if until_s > self._until_s:
            self._until_s, self._why = until_s, why

    def at(self, now_s: float) -> Excuse | None:
        """Why the arm may move now although nobody asks it to; None if it may not."""
        while self._spans and self._spans[0][0] <= now_s:
            _, until_s, why = self._spans.pop(0)
            self.extend(until_s, why)
        return self._why if now_s < self._until_s else None
