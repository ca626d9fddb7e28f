"""Whole processes killed, paused and interrupted, and cables pulled; scripts/kill-test does all kinds, many times."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest
from kill_campaign import PLANTED, Job, run
from kill_kinds import KINDS

pytestmark = [
    pytest.mark.processes,
    pytest.mark.alone,
    pytest.mark.pty,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="children are found in Linux' /proc"),
]

SHORT = (
    ("rv2aj", "int group"),
    ("lynx6", "kill owner"),
    ("lynx6", "kill group"),
    ("lynx6", "int owner"),
    ("lynx6", "stop loop"),
    ("lynx6", "cable pulled and put back"),
    ("lynx6", "controller restarts"),
    ("lynx6", "second owner of the port"),
)
"""One round of each, some at a time: what the whole campaign does many times, within a test's patience."""


FOUND = ("look_ahead_doubled", "record_lost")
"""Faults that are planted on the way, so that a round that finds nothing is known to look; --judges plants all."""


def test_every_promise_of_the_short_form_is_kept_and_what_is_planted_is_found() -> None:
    """Some rounds at a time. A failure names kind and seed; `scripts/kill-test --only KIND` plays more."""
    seed = random.SystemRandom().randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    rng = random.Random(seed)
    planted = {p.plant: p for p in PLANTED if p.plant in FOUND}
    todo = [Job(arm, kind, rng.randrange(1 << 32)) for arm, kind in SHORT]
    todo += [Job("lynx6", p.kind, rng.randrange(1 << 32), p.plant) for p in planted.values()]
    wrong = []
    for at_a_time in (4, 1, 1):
        never = {}
        for job, outcome in run(todo, at_a_time=at_a_time):
            if outcome.not_judged:
                never[job] = outcome.not_judged
            elif job.plant is None:
                wrong += [f"{words} (seed {job.seed})" for words in outcome.wrong]
            elif not any(re.search(planted[job.plant].words, words) for words in outcome.wrong):
                wrong.append(f"{planted[job.plant].fault} was not found in {job.kind}: {outcome.wrong}")
        # A round that never began, on a busy machine, is played again; one that never begins shows nothing.
        todo = list(never)
    assert (wrong, never) == ([], {})


def test_the_list_of_kinds_names_each_once() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names))
    assert {p.kind for p in PLANTED} <= set(names)
