"""Short lives of the long run; scripts/soak makes many long ones."""

from __future__ import annotations

import random

import pytest
from soak_life import live, lives, together

TICKS = 4000
FOUND = (12, 1094)
"""Seeds of lives in which a fault of the program or of a judge was found once; test_found.py has each by itself."""

FOUND_RV2AJ, TICKS_RV2AJ = (2675342405, 930847394), 6000
"""A target that was old when it left; one that the line did not take, and that moved the arm after its motion."""


@pytest.mark.parametrize("seed", FOUND)
def test_a_life_full_of_faults_breaks_no_guarantee(seed: int) -> None:
    tally = live(seed, TICKS)
    assert not tally.violation
    assert tally.ticks >= TICKS


@pytest.mark.parametrize("seed", FOUND_RV2AJ)
def test_a_life_of_the_rv2aj_breaks_no_guarantee(seed: int) -> None:
    tally = live(seed, TICKS_RV2AJ, "rv2aj")
    assert not tally.violation
    assert tally.wire["samples"] > 5


def test_a_life_led_by_packets_breaks_no_guarantee() -> None:
    tally = live(1, TICKS_RV2AJ, "rv2aj-mxt")
    assert not tally.violation
    assert tally.wire["samples"] > 500


def test_an_rv2ajs_life_that_nobody_has_seen_breaks_no_guarantee_either() -> None:
    """Its seed is in the text of the failure: `scripts/soak --rig rv2aj --ticks 3000 --each 3000 --seed N`."""
    assert not live(random.SystemRandom().randrange(1 << 32), 3000, "rv2aj").violation


def test_a_life_that_nobody_has_seen_breaks_no_guarantee_either() -> None:
    """Its seed is in the text of the failure: `scripts/soak --ticks 4000 --seed N` runs it again."""
    assert not live(random.SystemRandom().randrange(1 << 32), TICKS).violation


def test_the_same_seed_gives_the_same_life() -> None:
    assert live(7, 600) == live(7, 600)


def test_lives_together_are_judged_and_full_of_what_they_are_for() -> None:
    total = together([live(seed, ticks) for seed, ticks in lives(1, 4000, 1000)])
    assert total.ticks >= 4000
    assert total.wire["samples"] > 500
    assert total.counts["ticks in which the arm had to stand still"] > 200
    assert total.counts["interrupted motions"] > 5
    assert total.counts["journals verified and replayed"] == total.sessions
    assert sum(number for name, number in total.counts.items() if name.startswith("fault: ")) > 20
