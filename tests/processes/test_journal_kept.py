"""No motion without a journal, on whole processes: files that go away, and signals for one process alone."""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

import pytest
from kill_rounds import BLOWS, Setting, file_round, signal_round

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


@pytest.mark.parametrize("name", ["removed", "cut", "that takes no more"])
def test_a_journal_that_goes_away_stops_the_arm_within_limits_and_is_named_truly(
    name: str, rng: random.Random, tmp_path: Path
) -> None:
    (blow,) = (blow for blow in BLOWS if blow.name == name)
    assert file_round(blow, QUICK, rng, tmp_path).wrong == []


@pytest.mark.parametrize(("target", "number"), [("recorder", signal.SIGTERM), ("loop", signal.SIGHUP)])
def test_a_signal_for_one_process_alone_stops_the_arm_and_completes_the_journal(
    target: str, number: signal.Signals, rng: random.Random, tmp_path: Path
) -> None:
    assert signal_round(target, number, QUICK, rng, tmp_path).wrong == []
