"""Whole processes killed, paused and interrupted, and cables pulled; scripts/kill-test does all kinds, many times."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest
from kill_campaign import PLANTED, Job, PlantedRound, run
from kill_kinds import KINDS

pytestmark = [
    pytest.mark.processes,
    pytest.mark.pty,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="children are found in Linux' /proc"),
]

SHORT = (
    ("lynx6", "kill owner"),
    ("lynx6", "kill recorder"),
    ("lynx6", "kill group"),
    ("lynx6", "int owner"),
    ("lynx6", "stop loop"),
    ("lynx6", "cable pulled and put back"),
    ("lynx6", "controller restarts"),
    ("lynx6", "second owner of the port"),
    ("rv2aj", "kill loop"),
    ("rv2aj", "int group"),
)
"""One round of each, some at a time: what the whole campaign does many times, within a test's patience."""


def _seed() -> int:
    seed = random.SystemRandom().randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    return seed


def test_every_promise_of_the_short_form_is_kept_on_whole_processes() -> None:
    """Which kind, and its seed, stand in the failure: `scripts/kill-test --only KIND` plays more of them."""
    rng = random.Random(_seed())
    todo = [Job(arm, kind, rng.randrange(1 << 32)) for arm, kind in SHORT]
    wrong, never = [], []
    for job, outcome in run(todo, at_a_time=3):
        wrong += [f"{words} (seed {job.seed})" for words in outcome.wrong]
        never += [f"{job.arm} {job.kind}: {outcome.not_judged}"] if outcome.not_judged else []
    assert wrong == []
    assert len(never) <= 1, never


@pytest.mark.parametrize(
    "planted", [p for p in PLANTED if p.plant in ("look_ahead_doubled", "record_lost")], ids=lambda p: p.plant
)
def test_a_fault_planted_into_a_process_is_found(planted: PlantedRound) -> None:
    """`scripts/kill-test --judges` plants all of them."""
    ((_, outcome),) = run([Job("lynx6", planted.kind, _seed(), planted.plant)], at_a_time=1)
    assert any(re.search(planted.words, words) for words in outcome.wrong), (outcome.wrong, outcome.not_judged)


def test_the_list_of_kinds_names_each_once() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names))
    assert {p.kind for p in PLANTED} <= set(names)
