"""Lines cut, clients killed and frozen, leases taken, tokens ended, servers gone: is the fake arm still in time?"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hil.cli.output import print_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from kill_rounds import Outcome
from lab_rounds import ROUNDS, Lab, lab

Round = Callable[[Lab, random.Random], Outcome]

EACH = 2 * len(ROUNDS)
"""Rounds in one lab, before a new one is made."""


def main() -> int:
    """Run the rounds; 1 if a guarantee was broken in one of them."""
    parser = argparse.ArgumentParser(prog="scripts/lab-chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=70, help="bad days, of each kind in turn (70)")
    parser.add_argument("--only", help="one kind, by its function's name in tests/support/lab_rounds.py")
    parser.add_argument("--jobs", type=int, default=1, help="labs at a time (1)")
    parser.add_argument("--seed", type=int, help="source of all chance; a random one if not given")
    parser.add_argument("--keep", type=Path, help="folder for what labs have left in which a guarantee was broken")
    wanted = parser.parse_args()
    seed = random.randrange(1 << 32) if wanted.seed is None else wanted.seed
    kinds = [kind for kind in ROUNDS if wanted.only in (None, kind.__name__)]
    if not kinds:
        parser.error(f"--only: one of {', '.join(kind.__name__ for kind in ROUNDS)}")
    print(f"seed {seed}: {wanted.rounds} rounds", flush=True)
    began_s, seeds = time.monotonic(), random.Random(seed)
    labs = [
        (
            [kinds[i % len(kinds)] for i in range(first, min(first + EACH, wanted.rounds))],
            seeds.randrange(1 << 32),
            first,
        )
        for first in range(0, wanted.rounds, EACH)
    ]
    with ThreadPoolExecutor(wanted.jobs) as pool:
        found = pool.map(lambda one: _one_lab(one[0], random.Random(one[1]), wanted.keep, one[2]), labs)
        outcomes = [outcome for of_one in found for outcome in of_one]
    print()
    _show(outcomes)
    broken = sum(bool(outcome.wrong) for outcome in outcomes)
    print(f"{len(outcomes)} rounds in {time.monotonic() - began_s:.0f} s, {broken} broke a guarantee; seed {seed}")
    return 1 if broken else 0


def _one_lab(chosen: list[Round], rng: random.Random, keep: Path | None, first: int) -> list[Outcome]:
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="hil-chaos-") as folder:
        try:
            with lab(Path(folder)) as stage:
                for kind in chosen:
                    outcomes.append(kind(stage, rng))
                    print(".", end="", flush=True)
                    for words in outcomes[-1].wrong:
                        print(f"\nBROKEN, round {first + len(outcomes) - 1}: {words}", flush=True)
                    stage.make_ready()
        except AssertionError as error:
            outcomes.append(Outcome("a round that did not get so far", wrong=[str(error)]))
            print(f"\nBROKEN, round {first + len(outcomes) - 1}: {error}", flush=True)
        if keep is not None and any(outcome.wrong for outcome in outcomes):
            shutil.copytree(folder, keep / f"lab-{first}", symlinks=True, dirs_exist_ok=True)
    return outcomes


def _show(outcomes: list[Outcome]) -> None:
    rows = []
    for name in dict.fromkeys(outcome.name for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.name == name]
        rows.append([name, "rounds", str(len(mine)), ""])
        for what in dict.fromkeys(key for outcome in mine for key in outcome.numbers):
            values = sorted(outcome.numbers[what] for outcome in mine if what in outcome.numbers)
            rows.append(["", what, f"{values[len(values) // 2]:.4f}", f"{values[-1]:.4f}"])
    print_table("", ["round", "what", "median", "worst"], rows)


if __name__ == "__main__":
    sys.exit(main())
