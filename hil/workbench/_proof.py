"""What a search for unsafe bytes is made of: what was tried, what was found, and how it is said."""

from __future__ import annotations

import random
from typing import Any

from hil.model.rig import Rig
from hil.robot import Robot
from hil.testing.facts import RigFacts
from hil.testing.packet_facts import PacketFacts, is_led_by_packets
from hil.types import Record


class Trial(Record, frozen=True):
    """One thing that was tried, and how often."""

    what: str
    count: int


class CounterExample(Record, frozen=True):
    """Why a rig is not safe as it stands.

    Attributes:
        what: the trial in which it was found.
        words: what is wrong, and what to change.
        steps: the shortest way there that was found.
    """

    what: str
    words: str
    steps: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As people read it: the words, then the way there."""
        return "\n".join([self.words, *(f"  {number}. {step}" for number, step in enumerate(self.steps, 1))])


class Proof(Record, frozen=True):
    """What a search found.

    Attributes:
        rig: name of the rig.
        seed: of all chance; the same seed tries the same things in the same order.
        seconds: how long it took.
        trials: what was tried, in order.
        notes: what could not be judged.
        counter_example: the first fault; None if none was found.
    """

    rig: str
    seed: int
    seconds: float
    trials: tuple[Trial, ...]
    notes: tuple[str, ...]
    counter_example: CounterExample | None

    @property
    def ok(self) -> bool:
        """True if no fault was found."""
        return self.counter_example is None


class FoundError(Exception):
    """A trial came out wrong."""

    def __init__(self, words: str, steps: tuple[str, ...] = ()) -> None:
        self.words, self.steps = words, steps
        super().__init__(words)


class Search:
    """What all trials of one rig share.

    Attributes:
        facts: the rig's numbers, read apart from driver and guard.
        axes: their axes, in the order of `rig.axes`: `hil.testing.facts.AxisFacts`, or of packets the like.
        rng: source of all chance.
        tried: how many trials the present kind has had.
        notes: what could not be judged.
    """

    def __init__(self, rig: Rig, seed: int) -> None:
        self.rig, self.seed = rig, seed
        self.robot = Robot(rig.robot)
        self.facts: RigFacts | PacketFacts = PacketFacts(rig) if is_led_by_packets(rig) else RigFacts(rig)
        self.axes: list[Any] = list(self.facts.axes.values())
        self.rng = random.Random(seed)
        self.tried = 0
        self.notes: list[str] = []

    def inside(self, index: int) -> float:
        """Somewhere inside an axis's soft limits."""
        axis = self.rig.axes[index]
        return self.rng.uniform(axis.lower + 1.01 * axis.soft_margin, axis.upper - 1.01 * axis.soft_margin)

    def edges(self, index: int) -> list[float]:
        """Positions at and beyond every limit and calibrated point of an axis, what is nearest first."""
        axis = self.axes[index]
        corners = {*axis.limits, *(axis.position(us) for us in axis.wire_us), *(x for x, _ in axis.points)}
        step, unit = axis.per_us, axis.scale
        offsets = (0.0, 1e-9, 0.49 * step, 0.51 * step, step, 1.5 * step, 3 * step, unit, 10 * unit, 90 * unit)
        near = [corner + sign * offset for offset in offsets for corner in sorted(corners) for sign in (1.0, -1.0)]
        return [*near, 1e3, -1e3, 1e308, -1e308]

    def pose(self, index: int, position: float) -> tuple[float, ...]:
        """The home pose with one axis elsewhere."""
        return tuple(position if i == index else home for i, home in enumerate(self.rig.home))
