"""The board's input pins: debounced levels with a latch, and voltages."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from sim.ssc32.settings import BoardSettings

IDLE_V = 5.0
"""What the pull-up makes of a pin that nothing is on."""
SETTLE_S = 0.015
"""A digital input has to be stable this long to count."""


@dataclass
class InputPin:
    """One pin.

    Attributes:
        raw, since_s: its level from outside, and since when; stable: as it counts.
        noise_v: standard deviation of a reading of its voltage.
        flips_hz: how often a second its level changes by chance.
        rng: of both chances.
        flip_s: when it changes next.
    """

    raw: bool = True
    since_s: float = -math.inf
    stable: bool = True
    latched_low: bool = False
    volts: float = IDLE_V
    analogue: bool = False
    noise_v: float = 0.0
    flips_hz: float = 0.0
    rng: random.Random = field(default_factory=random.Random)
    flip_s: float = math.inf

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
        volts = self.rng.gauss(self.volts, self.noise_v) if self.noise_v else self.volts
        return min(max(int(volts * 256 / 5), 0), 255) if valid else 255

    def _settle(self, now_s: float) -> None:
        while self.flip_s <= now_s:
            self._count(self.flip_s)
            self.raw, self.since_s = not self.raw, self.flip_s
            self.flip_s += self.rng.expovariate(self.flips_hz)
        self._count(now_s)

    def _count(self, now_s: float) -> None:
        if self.raw != self.stable and now_s - self.since_s >= SETTLE_S - 1e-9:
            self.stable = self.raw
            self.latched_low |= not self.stable


def input_pins(names: Iterable[str], settings: BoardSettings, at_s: float) -> dict[str, InputPin]:
    """The pins of a board, each with a chance of its own."""
    pins, volts = {}, {str(name): volts for name, volts in settings.inputs_v.items()}
    for name in names:
        rng = random.Random(f"{settings.input_seed} {name}")
        high = name not in settings.inputs_low
        pin = pins[name] = InputPin(raw=high, stable=high, rng=rng)
        pin.volts = volts.get(name, IDLE_V)
        pin.noise_v, pin.flips_hz = settings.noise_v, settings.flips_hz
        if pin.flips_hz:
            pin.flip_s = at_s + rng.expovariate(pin.flips_hz)
    return pins
