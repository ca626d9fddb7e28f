"""An arm that is led by bad targets: short forms of `scripts/soak --led`, and what its judges find."""

from __future__ import annotations

import random

import pytest
from soak_follow import LedRun
from soak_oracles import Violation

from hil.motion import follow
from hil.motion.jog_judge import JogJudge
from hil.runtime import follow_source


def test_whatever_targets_come_no_byte_is_beyond_a_limit_and_every_stop_is_in_time() -> None:
    """Its seed is in the text of the failure: `scripts/soak --led --ticks 1000 --seed N`."""
    seed = random.SystemRandom().randrange(1 << 32)
    try:
        run = LedRun(seed).run(1000)
    except (Violation, AssertionError) as broken:
        raise AssertionError(f"seed {seed}: {broken}") from broken
    assert run.counts["samples sent"] > 200
    assert run.counts["targets that were no numbers"] > 3


def test_the_same_seed_gives_the_same_run() -> None:
    assert LedRun(3).run(300).counts == LedRun(3).run(300).counts


def test_a_loop_that_goes_on_without_targets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_source.FollowSource, "silent", lambda self, now_s: False)
    with pytest.raises(Violation, match="it streams, and no target has come"):
        LedRun(1).run(2000)


def test_samples_that_nobody_looks_at_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JogJudge, "judge", lambda self, reached, history, sample: (history.newest[None, :], None))
    monkeypatch.setattr(follow, "first_and_rest", lambda h, most, jerk, v, a: (0.0 * v, 0.0 * v))
    with pytest.raises(Violation, match="the guard refused a sample"):
        LedRun(1).run(2000)
