"""Commands in a real terminal; scripts/terminal-test does everything with all of them."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

pytest.importorskip("termios")

from terminal_rounds import EVENTS, MOMENTS, commands, moment_round, round_of

pytestmark = [
    pytest.mark.processes,
    pytest.mark.alone,
    pytest.mark.pty,
    # Longer than the patience of a round, which says what it has waited for.
    pytest.mark.timeout(300),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="who is left behind is found in Linux' /proc"),
]

COMMANDS = {(each.name, each.kind, each.port): each for each in commands()}
WHAT = {event.name: event for event in EVENTS}


@pytest.fixture
def rng() -> random.Random:
    """Chance of the moment; its seed is shown when a test fails."""
    seed = random.SystemRandom().randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    return random.Random(seed)


@pytest.mark.parametrize(
    ("command", "kind", "port", "event"),
    [
        ("demo", "ssc32", False, "Ctrl-C"),
        ("jog", "cr1", False, "Ctrl-Z, fg"),
        ("run", "ssc32", True, "terminal closed"),
    ],
)
def test_what_a_terminal_does_stops_the_arm_closes_the_journal_and_leaves_nothing_behind(
    command: str, kind: str, port: bool, event: str, rng: random.Random, tmp_path: Path
) -> None:
    outcome = round_of(COMMANDS[command, kind, port], WHAT[event], tmp_path, rng)
    assert (outcome.wrong, outcome.unjudged) == ([], "")


def test_ctrl_c_at_a_bad_moment_leaves_neither_traceback_nor_process(rng: random.Random, tmp_path: Path) -> None:
    moment = next(each for each in MOMENTS if each.name == "starting")
    outcome = moment_round("cr1", False, moment, tmp_path, rng)
    assert (outcome.wrong, outcome.unjudged) == ([], "")
