"""A search for unsafe bytes on a lab's own rig: seeded trials of its numbers, single parts, whole stack."""

from __future__ import annotations

import random
from collections.abc import Callable

from hil.model.rig import Rig
from hil.testing.packet_facts import is_led_by_packets
from hil.workbench import _prove_packets as packets
from hil.workbench import _prove_parts as parts
from hil.workbench._proof import CounterExample, FoundError, Proof, Search, Trial
from hil.workbench._prove_sessions import Stack

__all__ = ["CounterExample", "Proof", "Trial", "prove"]


def prove(
    rig: Rig,
    *,
    seconds: float,
    seed: int,
    now_s: Callable[[], float],
    tell: Callable[[str], None] = lambda what: None,
) -> Proof:
    """Look for something unsafe in a rig until it is found or the time is over.

    Everything that does not depend on chance is tried first, once; then random trials go on in rounds. Nothing of it
    touches a port: the controller is the fake one, on virtual time.

    Args:
        rig: the resolved rig.
        seconds: how long to look; what does not depend on chance is finished in any case.
        seed: of all chance. The same seed finds the same counter-example, given the same time.
        now_s: a clock.
        tell: called with the name of each kind of trial as it begins.

    Returns:
        What was tried, and the first counter-example.
    """
    started_s = now_s()
    search = Search(rig, seed)
    stack = Stack(search)
    random_driver = packets.random_driver if is_led_by_packets(rig) else parts.random_driver
    counts: dict[str, int] = {}
    once: dict[str, Callable[[], None]] = (
        {
            "joint limits, speeds, look-ahead": lambda: packets.numbers(search),
            "the driver alone, at and beyond every limit": lambda: packets.driver_alone(search),
            "the guard alone, at and beyond every limit": lambda: parts.guard_alone(search),
            "each joint alone, up and down": lambda: packets.each_joint(search),
            "first move, park to home, home to park": stack.park_and_home,
        }
        if is_led_by_packets(rig)
        else {
            "joint limits, pulse limits, directions, look-ahead": lambda: parts.numbers(search),
            "the driver alone, at and beyond every limit": lambda: parts.driver_alone(search),
            "the guard alone, at and beyond every limit": lambda: parts.guard_alone(search),
            "each joint alone, up and down": lambda: parts.each_joint(search),
            "first move, park to home, home to park": stack.park_and_home,
            "an even pulse": stack.even_pulse,
        }
    )
    rounds: dict[str, Callable[[], None]] = {
        "random poses to the driver alone": lambda: random_driver(search),
        "random walks past the guard alone": lambda: parts.random_guard(search),
        "stops from motion": stack.stop,
        "random sessions of the whole stack": stack.session,
    }

    def attempt(what: str, trial: Callable[[], None]) -> CounterExample | None:
        search.tried = 0
        try:
            trial()
        except FoundError as found:
            return CounterExample(what=what, words=found.words, steps=found.steps)
        finally:
            counts[what] = counts.get(what, 0) + search.tried
        return None

    def result(found: CounterExample | None) -> Proof:
        return Proof(
            rig=rig.id,
            seed=seed,
            seconds=now_s() - started_s,
            trials=tuple(Trial(what=what, count=count) for what, count in counts.items()),
            notes=tuple(search.notes),
            counter_example=found,
        )

    for what, trial in once.items():
        tell(what)
        if found := attempt(what, trial):
            return result(found)
    number = 0
    tell("at random")
    while now_s() - started_s < seconds:
        number += 1
        for what, trial in rounds.items():
            search.rng = random.Random(f"{seed}/{number}/{what}")
            if found := attempt(what, trial):
                return result(found)
    return result(None)
