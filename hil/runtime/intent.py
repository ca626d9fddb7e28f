"""What the arm is about to do: a pose to adopt, first moves, or a source of samples. Who freezes it drops all three."""

from __future__ import annotations

from dataclasses import dataclass

from hil.runtime.follow_source import Led
from hil.runtime.sources import EnergiseSource, MotionSource, StopSource
from hil.types import Confirm

Source = MotionSource | StopSource | Led


@dataclass(slots=True)
class Intent:
    """Nothing leaves for the arm that does not stand here.

    Attributes:
        confirmed: a pose that somebody has vouched for, until fresh reports agree with it.
        first_moves: of axes that are driven one by one.
        source: of samples.
    """

    confirmed: Confirm | None = None
    first_moves: EnergiseSource | None = None
    source: Source | None = None

    def drop(self) -> None:
        """Nothing more is meant to leave."""
        self.confirmed = self.first_moves = self.source = None
