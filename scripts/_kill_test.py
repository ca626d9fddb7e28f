"""Kills, pauses and signals at random moments of a run on a fake board; see docs/faults-and-kills.md."""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hil.cli.output import print_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from kill_rounds import (
    BLOWS,
    FULL_DISK,
    TARGETS,
    Blow,
    Outcome,
    Setting,
    file_round,
    kill_round,
    pause_round,
    polite_round,
    signal_round,
)

Round = Callable[[Setting, random.Random, Path], Outcome]


def _kill(target: str) -> Round:
    return lambda setting, rng, folder: kill_round(target, setting, rng, folder)


def _pause(target: str) -> Round:
    return lambda setting, rng, folder: pause_round(target, setting, rng, folder)


def _polite(number: signal.Signals, group: bool) -> Round:
    return lambda setting, rng, folder: polite_round(number, setting, rng, folder, group=group)


def _signal(target: str, number: signal.Signals) -> Round:
    return lambda setting, rng, folder: signal_round(target, number, setting, rng, folder)


def _file(blow: Blow) -> Round:
    return lambda setting, rng, folder: file_round(blow, setting, rng, folder)


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_OTHERS: tuple[Round, ...] = (
    *(_pause(target) for target in ("owner", "loop", "recorder")),
    *(_polite(n, group) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) for group in (False, True)),
    *(_signal(target, n) for target in ("loop", "recorder") for n in _ENDING),
)


def main() -> int:
    """Run the rounds; 1 if a guarantee was broken in one of them."""
    parser = argparse.ArgumentParser(prog="scripts/kill-test", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="kills (100)")
    parser.add_argument("--others", type=int, default=34, help="pauses and polite signals after them (34)")
    parser.add_argument("--journals", type=int, default=10, help="journals that go away in mid-motion (10)")
    parser.add_argument("--full-disk", action="store_true", help="one on a full disk too; needs the right to mount one")
    parser.add_argument("--seed", type=int, help="source of all chance; a random one if not given")
    parser.add_argument("--rig", default="lynx6", help="a Lynx6 (lynx6)")
    parser.add_argument("--task", default="pick-and-place", help="what runs (pick-and-place)")
    parser.add_argument(
        "--within", type=float, default=6.0, help="longest time from the first sample to the blow, s (6)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="rounds at a time (2)")
    parser.add_argument("--keep", type=Path, help="folder for what rounds that broke a guarantee have left")
    wanted = parser.parse_args()
    seed = random.randrange(1 << 32) if wanted.seed is None else wanted.seed
    setting = Setting(wanted.rig, wanted.task, wanted.within)
    rounds = [_kill(TARGETS[i % len(TARGETS)]) for i in range(wanted.rounds)]
    rounds += [_OTHERS[i % len(_OTHERS)] for i in range(wanted.others)]
    blows = (*BLOWS, FULL_DISK) if wanted.full_disk else BLOWS
    rounds += [_file(blows[i % len(blows)]) for i in range(wanted.journals)]
    print(f"seed {seed}: {len(rounds)} rounds of {wanted.rig} {wanted.task}", flush=True)
    began_s = time.monotonic()
    seeds = random.Random(seed)
    jobs = [(number, round_, seeds.randrange(1 << 32)) for number, round_ in enumerate(rounds)]
    with ThreadPoolExecutor(wanted.jobs) as pool:
        outcomes = list(pool.map(lambda job: _run(setting, wanted.keep, *job), jobs))
    print()
    _show(outcomes)
    broken = sum(bool(outcome.wrong) for outcome in outcomes)
    print(f"{len(outcomes)} rounds in {time.monotonic() - began_s:.0f} s, {broken} broke a guarantee; seed {seed}")
    return 1 if broken else 0


def _run(setting: Setting, keep: Path | None, number: int, round_: Round, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="hil-kill-") as folder:
        try:
            outcome = round_(setting, random.Random(seed), Path(folder))
        except AssertionError as error:
            outcome = Outcome("a round that did not get so far", wrong=[str(error)])
        if outcome.wrong and keep is not None:
            shutil.copytree(folder, keep / f"round-{number}", symlinks=True, dirs_exist_ok=True)
    print(".", end="", flush=True)
    for words in outcome.wrong:
        print(f"\nBROKEN, round {number}: {words}", flush=True)
    return outcome


def _show(outcomes: list[Outcome]) -> None:
    counts = Counter(outcome.name for outcome in outcomes)
    names = list(dict.fromkeys(outcome.name for outcome in outcomes))
    rows = []
    for name in names:
        mine = [outcome for outcome in outcomes if outcome.name == name]
        rows.append([name, "rounds", str(counts[name]), ""])
        for what in dict.fromkeys(key for outcome in mine for key in outcome.numbers):
            values = sorted(outcome.numbers[what] for outcome in mine if what in outcome.numbers)
            rows.append(["", what, f"{values[len(values) // 2]:.4f}", f"{values[-1]:.4f}"])
    print_table("", ["round", "what", "median", "worst"], rows)


if __name__ == "__main__":
    sys.exit(main())
