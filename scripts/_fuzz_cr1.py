"""Lives of fake CR1 controllers under random requests, until the time is over."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from cr1_fuzz import Fuzzer


def main() -> int:
    """Fuzz, and print the seed of every life that broke something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1, help="of the first life; each further one has the next number")
    parser.add_argument("--steps", type=int, default=150, help="random things in one life")
    options = parser.parse_args()
    end_s = time.monotonic() + 60.0 * options.minutes
    seed, broken, requests = options.seed, 0, 0
    while time.monotonic() < end_s:
        try:
            fuzzer = Fuzzer(seed)
            fuzzer.run(options.steps)
            requests += fuzzer.cr1.counts.requests
        except Exception:
            broken += 1
            traceback.print_exc()
            print(f"seed {seed} broke it: scripts/fuzz-cr1 --minutes 0.001 --seed {seed} --steps {options.steps}")
        seed += 1
    print(f"{seed - options.seed} lives from seed {options.seed} on, {requests} requests, {broken} broken")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
