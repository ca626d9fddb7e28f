"""Where the next command comes from: a certified motion, a stop ramp, or the guided first move."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from hil.link import FloatArray
from hil.motion.motion import Motion

Positions = tuple[float, ...]


class MotionSource:
    """A certified motion, advanced by samples sent and not by the clock: a late tick never makes it jump.

    Args:
        motion: its samples.
        by_table: what the wire carries for each was certified with it; False if each is judged and encoded anew.

    Attributes:
        sample: the one to send now.
        at_end: it is the last one.
    """

    def __init__(self, motion: Motion, *, by_table: bool = False) -> None:
        self.motion, self.by_table = motion, by_table
        self._row = Struct(f"<{len(motion.axes)}d")
        self._samples = motion.samples.data.cast("B")
        self._last = len(motion) - 1
        self.sample = 0
        self.at_end = self._last == 0

    @property
    def wanted(self) -> Positions:
        """The sample to send now; the last one for ever after the end."""
        return self._row.unpack_from(self._samples, self.sample * self._row.size)

    def advance(self) -> None:
        """The wanted sample was sent."""
        if self.sample < self._last:
            self.sample += 1
            self.at_end = self.sample == self._last


class StopSource:
    """The samples of one stop ramp, the last one for ever after."""

    def __init__(self, ramp: FloatArray) -> None:
        self._samples: list[Positions] = [tuple(row) for row in ramp.tolist()]
        self._next = 0

    @property
    def wanted(self) -> Positions:
        """The sample to send now."""
        return self._samples[self._next]

    @property
    def at_end(self) -> bool:
        """True while the sample at rest is the one to send."""
        return self._next == len(self._samples) - 1

    def advance(self) -> None:
        """The wanted sample was sent."""
        self._next = min(self._next + 1, len(self._samples) - 1)


class EnergiseSource:
    """One axis at a time, each at the place where it is confirmed to be, with a pause after each for the supply."""

    def __init__(self, positions: Sequence[float], order: Sequence[int], dwell_s: float) -> None:
        self.positions = tuple(positions)
        self._order = tuple(order)
        self._dwell_s = dwell_s
        self._done = 0
        self._due_s = 0.0

    def due(self, now_s: float) -> int | None:
        """The axis to drive now, or None while the supply recovers and at the end."""
        if self._done == len(self._order) or now_s < self._due_s:
            return None
        return self._order[self._done]

    def advance(self, now_s: float) -> None:
        """The due axis was driven."""
        self._done += 1
        self._due_s = now_s + self._dwell_s

    def finished(self, now_s: float) -> bool:
        """True once the pause after the last axis is over."""
        return self._done == len(self._order) and now_s >= self._due_s
