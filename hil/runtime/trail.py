"""The end of what was sent: the newest samples and when they are due. A stop, a guard or a motion goes on from it."""

from __future__ import annotations

import numpy as np

from hil.runtime.sources import Positions

KEPT = 3
"""Samples that say how fast the arm moves, and how that changes."""


class Trail:
    """The last three samples that have left, and what time they take.

    Args:
        period_s: time from one sample to the next.

    Attributes:
        recent: those samples, oldest first; fewer after a new begin, none before the pose is known.
        begun_s: when the motion began that goes on.
        sent_s: when the newest sample left.
        due_s: when the controller gets there.
        still_s: from then on the controller moves nothing by itself.
    """

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self.recent: list[Positions] = []
        self.begun_s = self.sent_s = self.due_s = self.still_s = float("-inf")

    @property
    def here(self) -> Positions:
        """Where the arm was sent last, and stands once it rests."""
        return self.recent[-1]

    def stand(self, here: Positions) -> None:
        """The arm stands here, known anew."""
        self.recent = [here]

    def begin(self, here: Positions, now_s: float) -> None:
        """A motion begins here, at rest."""
        self.recent, self.begun_s = [here], now_s

    def add(self, positions: Positions, now_s: float, due_s: float) -> None:
        """A sample has left."""
        self.recent.append(positions)
        if len(self.recent) > KEPT:
            del self.recent[0]
        self.sent_s, self.due_s = now_s, due_s

    @property
    def padded(self) -> list[Positions]:
        """The last three samples; a motion begins at rest, so those before its first are copies of it."""
        return [self.recent[0]] * (KEPT - len(self.recent)) + self.recent

    def motion_state(self) -> tuple[Positions, Positions, Positions]:
        """Position, velocity and acceleration of the newest samples sent, per axis."""
        padded = self.padded
        older, old, last = (np.asarray(positions) for positions in padded)
        velocity, acceleration = (last - old) / self._period_s, (last - 2.0 * old + older) / self._period_s**2
        return padded[-1], tuple(velocity.tolist()), tuple(acceleration.tolist())
