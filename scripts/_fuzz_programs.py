"""Mutated MELFA-BASIC programs for some minutes; the first that breaks something is printed, and the end is 1."""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests" / "support")]

from program_fuzz import judge, mutated, seeds  # noqa: E402 - the path to it is only known now


def main() -> int:
    """Run until the time is over."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=10.0)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    warnings.simplefilter("error")
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


if __name__ == "__main__":
    sys.exit(main())
