"""MELFA-BASIC programs for some minutes; the first that breaks something is printed, and the end is 1.

Mutated ones have to be read, checked and run without surprises. With `--written N`, N programs are written at random,
and lint and interpreter have to agree on each of them.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests" / "support")]

import program_generator  # noqa: E402 - the path to it is only known now
from program_fuzz import judge, mutated, seeds  # noqa: E402


def main() -> int:
    """Run until the time is over."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=10.0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument(
        "--written", type=int, default=0, metavar="N", help="N programs of the other kind, not minutes"
    )
    given = options.parse_args()
    warnings.simplefilter("error")
    if given.written:
        return _written(given.seed, given.written)
    programs = seeds()
    end_s = time.monotonic() + 60.0 * given.minutes
    count = 0
    while time.monotonic() < end_s:
        text = mutated(random.Random(f"{given.seed} {count}"), programs)
        try:
            judge(text)
        except Exception:
            print(f"seed {given.seed}, program {count}:\n{text}\n")
            traceback.print_exc()
            return 1
        count += 1
    print(f"seed {given.seed}: {count} programs, nothing found")
    return 0


def _written(first: int, many: int) -> int:
    read = 0
    for seed in range(first, first + many):
        text = program_generator.written(str(seed))
        try:
            read += program_generator.judge(text, random.Random(seed))
        except Exception:
            print(f"seed {seed}:\n{text}\n")
            traceback.print_exc()
            return 1
    print(f"seeds {first} to {first + many - 1}: {many} programs, {read} of them could be run, no disagreement")
    return 0


if __name__ == "__main__":
    sys.exit(main())
