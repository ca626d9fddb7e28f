"""Whole processes killed, paused and interrupted; scripts/kill-test does it a hundred times at random moments."""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

import pytest
from kill_rounds import TARGETS, Setting, kill_round, pause_round, polite_round

HERE = Path(__file__).parent
QUICK = Setting(rig=str(HERE / "quick-rig.toml"), task=str(HERE / "there-and-back.toml"), within_s=1.5)

pytestmark = [
    pytest.mark.processes,
    pytest.mark.pty,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="children are found in Linux' /proc"),
]


@pytest.fixture
def rng() -> random.Random:
    """Chance of the moment; its seed is shown when a test fails."""
    seed = random.SystemRandom().randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    return random.Random(seed)


@pytest.mark.parametrize("target", TARGETS)
def test_after_a_kill_the_arm_stops_in_time_and_the_journal_reads(
    target: str, rng: random.Random, tmp_path: Path
) -> None:
    assert kill_round(target, QUICK, rng, tmp_path, start_again=target == "loop").wrong == []


@pytest.mark.parametrize("target", ["owner", "loop", "recorder"])
def test_a_process_that_stood_still_for_a_while_makes_nothing_jump(
    target: str, rng: random.Random, tmp_path: Path
) -> None:
    assert pause_round(target, QUICK, rng, tmp_path, pause_s=1.4).wrong == []


@pytest.mark.parametrize(("number", "group"), [(signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGHUP, True)])
def test_who_is_asked_to_end_stops_the_arm_and_closes_the_journal_first(
    number: signal.Signals, group: bool, rng: random.Random, tmp_path: Path
) -> None:
    assert polite_round(number, QUICK, rng, tmp_path, group=group).wrong == []
