"""The board's input pins: debounced levels with a latch, and voltages."""

from __future__ import annotations

import math
from dataclasses import dataclass

SETTLE_S = 0.015
"""A digital input has to be stable this long to count."""


@dataclass
class InputPin:
    """One pin."""

    raw: bool = True
    since_s: float = -math.inf
    stable: bool = True
    latched_low: bool = False
    volts: float = 5.0
    analogue: bool = False

    def forget(self) -> None:
        """The power goes."""
        self.analogue = self.latched_low = False

    def drive(self, high: bool, at_s: float) -> None:
        """Its level from outside; it counts once it has been stable for 15 ms."""
        self._settle(at_s)
        if self.raw != high:
            self.raw, self.since_s = high, at_s

    def read(self, now_s: float, *, latch: bool) -> bool:
        """Its level; with `latch` low if it was so at any time since the latch was read."""
        self._settle(now_s)
        self.analogue = False
        high = self.stable
        if latch:
            high = high and not self.latched_low
            self.latched_low = not self.stable
        return high

    def read_voltage(self) -> int:
        """0 to 255 for 0 to 5 V; 255 for the first one after the pin was something else."""
        valid, self.analogue = self.analogue, True
        return min(max(int(self.volts * 256 / 5), 0), 255) if valid else 255

    def _settle(self, now_s: float) -> None:
        if self.raw != self.stable and now_s - self.since_s >= SETTLE_S - 1e-9:
            self.stable = self.raw
            self.latched_low |= not self.stable
