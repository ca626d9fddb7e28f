"""How a calibration moves servos: one at a time, and beyond what was seen only by as many steps as were asked for."""

from __future__ import annotations

from collections.abc import Callable

from hil.model._calibration_file import PULSE_US
from hil.workbench._calibration_numbers import inside
from hil.workbench._servo_steps import Glance, Move, Steps, Tell

WIGGLE_US = 40
WINDOW_US = 100
"""A step: how far a servo goes beyond the pulses that are known to be good, some 10 degrees."""


def wiggle_us(here_us: int) -> int:
    """By how much a servo there is moved to be seen."""
    return WIGGLE_US if here_us + WIGGLE_US <= PULSE_US[1] else -WIGGLE_US


class Servos:
    """The servos that are driven, where they are, and which pulses somebody has looked at.

    Args:
        keep: keeps where they are, after each move.

    Attributes:
        pulses: by channel, in the order in which they were driven.
    """

    def __init__(self, keep: Callable[[], Steps[None]]) -> None:
        self._keep = keep
        self._good: dict[int, tuple[int, int]] = {}
        self.pulses: dict[int, int] = {}

    def driven(self, channel: int, pulse_us: int) -> None:
        """A channel got its first pulse."""
        self.pulses[channel] = pulse_us
        self._good[channel] = (pulse_us, pulse_us)

    def looked(self, channel: int) -> None:
        """Whoever answers has looked: the present pulse is known to be good."""
        low_us, high_us = self._good[channel]
        self._good[channel] = (min(low_us, self.pulses[channel]), max(high_us, self.pulses[channel]))

    def wiggle(self, channel: int) -> Steps[None]:
        """A little, and back."""
        here_us = self.pulses[channel]
        yield from self.go(channel, here_us + wiggle_us(here_us))
        yield from self.go(channel, here_us)

    def steps_to(self, channel: int, pulse_us: int) -> int:
        """How many steps it takes to a pulse; what was seen before counts as a part of the first."""
        low_us, high_us = self._good[channel]
        if pulse_us == self.pulses[channel]:
            return 0
        return max(1, -(-max(pulse_us - high_us, low_us - pulse_us) // WINDOW_US))

    def go_within(self, channel: int, pulse_us: int, steps: int) -> Steps[None]:
        """Towards a pulse, by so many steps at most; between two of them the person may halt it."""
        goal_us = inside(pulse_us)
        low_us, high_us = self._good[channel]
        for step in range(1, steps + 1):
            if step > 1 and (yield Glance()):
                yield Tell(text="halted: it holds here")
                return
            beyond_us = step * WINDOW_US
            yield from self.go(channel, inside(min(max(goal_us, low_us - beyond_us), high_us + beyond_us)))
            if self.pulses[channel] == goal_us:
                return

    def go(self, channel: int, pulse_us: int) -> Steps[None]:
        """All the way, in the small steps of the line."""
        if pulse_us != self.pulses[channel]:
            yield Move(channel=channel, pulse_us=pulse_us)
            self.pulses[channel] = pulse_us
            yield from self._keep()
