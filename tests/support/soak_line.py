"""What adapters and second readers do to a line in a long run. Their chance is their own: all other stays as it was."""

from __future__ import annotations

import random

from sim.faults import Direction, Fault, FaultKind

SHARE = 0.5
"""Of lives in which any of it happens."""
KINDS = (FaultKind.DRIBBLED, FaultKind.DRIBBLED, FaultKind.MERGED, FaultKind.ECHOED, FaultKind.SHARED)


def line_troubles(rng: random.Random, duration_s: float, apart_s: float) -> list[Fault]:
    """A schedule.

    Args:
        rng: of the life, as it stands; it is not drawn from.
        duration_s: of the life.
        apart_s: how long on average between two.
    """
    chance = random.Random(f"{rng.getstate()} line")
    if chance.random() >= SHARE:
        return []
    faults: list[Fault] = []
    at_s = chance.expovariate(1.0 / apart_s)
    while at_s < duration_s:
        faults.append(_trouble(chance, at_s))
        at_s += chance.expovariate(1.0 / apart_s)
    return faults


def _trouble(chance: random.Random, at_s: float) -> Fault:
    kind = chance.choice(KINDS)
    pieces = kind in (FaultKind.DRIBBLED, FaultKind.MERGED)
    return Fault(
        kind=kind,
        at_s=at_s,
        for_s=chance.uniform(0.1, 3.0),
        probability=None if kind is FaultKind.ECHOED else chance.choice([0.02, 0.2, 1.0]),
        direction=chance.choice([Direction.REPLIES, Direction.REPLIES, Direction.COMMANDS]) if pieces else None,
        delay_ms=chance.choice([1.0, 8.0, 16.0, 40.0]) if pieces else None,
    )
