"""Where the arm can be on its way: between where it stood and where it was sent. Outside of that it goes astray.

The line carries no check sum. A command that lost a digit is accepted, and sends a joint far away at full speed; only
where the arm is seen then tells of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from drivers._rv2aj_codec import JOINTS

ASTRAY_DEG = 2.0
"""Further outside than gravity, loads and the lag of the servos take a joint."""
REPORTS = 2
"""So many in a row: one may have lost a digit itself."""
TARGETS = 3
"""The arm may still be on its way to the one before the last when it is told the next."""

Degrees = Sequence[float]


class Corridor:
    """Each joint's span since the last halt, and how often it was seen outside of it."""

    def __init__(self) -> None:
        self._targets: deque[Degrees] = deque(maxlen=TARGETS)
        self._here: tuple[Degrees, ...] = ()
        self._outside = 0

    @property
    def left(self) -> bool:
        """The last report lay outside: look again at once."""
        return self._outside > 0

    def forget(self) -> None:
        """The arm was halted, or nobody has sent it anywhere yet."""
        self._targets.clear()
        self._here, self._outside = (), 0

    def lead(self, here: Degrees, target: Degrees) -> None:
        """The arm, seen `here` last, is told where to go. What it hangs off its targets now it will hang off this."""
        before = self._targets[-1] if self._targets else here
        self._here = here, [there + at - sent for there, at, sent in zip(target, here, before, strict=True)]
        self._targets.append(target)

    def judge(self, seen: Degrees) -> str:
        """Which joint has gone astray, in words, once enough reports in a row say so; empty while none has."""
        if not self._targets:
            return ""
        spans = [(min(values), max(values)) for values in zip(*self._here, *self._targets, strict=True)]
        outside = (
            f"{name} is at {at:.2f} deg, and was sent from {stood:.2f} to {target:.2f} deg"
            for name, at, stood, target, (low, high) in zip(
                JOINTS, seen, self._here[0], self._targets[-1], spans, strict=True
            )
            if not low - ASTRAY_DEG <= at <= high + ASTRAY_DEG
        )
        words = next(outside, "")
        self._outside = self._outside + 1 if words else 0
        return words if self._outside >= REPORTS else ""
