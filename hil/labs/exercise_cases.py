"""Hidden cases of an exercise: numbers drawn by a seed, the same on every computer."""

from __future__ import annotations

import hashlib
import random

from hil.labs.exercise import Draw, Exercise

Case = dict[str, float]


def cases_of(exercise: Exercise, seed: int | None, student: str) -> list[Case]:
    """The numbers of every case, in their order.

    Args:
        exercise: what is drawn.
        seed: None for the exercise's own.
        student: counts only where each student has numbers of their own.
    """
    variants = exercise.variants
    root = exercise.seed if seed is None else seed
    who = student if variants.each else ""
    return [
        {name: _drawn(draw, f"{root}/{exercise.id}/{who}/{number}/{name}") for name, draw in variants.draw.items()}
        for number in range(variants.count)
    ]


def _drawn(draw: Draw, key: str) -> float:
    # A seed of a number's own: a number that is added to an exercise later leaves the others as they were.
    chance = random.Random(hashlib.sha256(key.encode()).digest())
    steps = int((draw.upper - draw.lower) / draw.step + 1e-9)
    return round(draw.lower + draw.step * chance.randint(0, steps), 9)
