"""Lives of fake controllers under random requests, one seed each: the loop of the scripts that fuzz them."""

from __future__ import annotations

import argparse
import math
import time
import traceback
from collections.abc import Callable

TOLD = 100_000
"""Requests after which it is said how far it is."""

MakeLife = Callable[[int], tuple[Callable[[int], None], Callable[[], int]]]
"""From a seed: what lives for so many steps, and what tells how many requests that were."""


def main(script: str, purpose: str | None, steps: int, make: MakeLife) -> int:
    """Fuzz until the time is over, enough requests were made or Ctrl-C, and print the seed of every life that broke.

    Args:
        script: its name.
        purpose: for its help.
        steps: random things in one life, if nothing else is said.
        make: begins a life.
    """
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--minutes", type=float, help="end after so many (1, if no requests are counted)")
    parser.add_argument("--requests", type=int, help="end after so many")
    parser.add_argument("--seed", type=int, default=1, help="of the first life; each further one has the next number")
    parser.add_argument("--steps", type=int, default=steps, help="random things in one life")
    options = parser.parse_args()
    minutes = options.minutes if options.minutes is not None else 1.0 if options.requests is None else math.inf
    most = math.inf if options.requests is None else options.requests
    end_s = time.monotonic() + 60.0 * minutes
    seed, broken, requests = options.seed, 0, 0
    while time.monotonic() < end_s and requests < most:
        live, counted = make(seed)
        try:
            live(options.steps)
        except KeyboardInterrupt:
            break
        except Exception:
            broken += 1
            traceback.print_exc()
            print(f"seed {seed} broke it: scripts/{script} --minutes 0.001 --seed {seed} --steps {options.steps}")
        before, requests, seed = requests, requests + counted(), seed + 1
        if requests // TOLD > before // TOLD:
            print(f"{requests} requests, {broken} broken", flush=True)
    print(f"{seed - options.seed} lives from seed {options.seed} on, {requests} requests, {broken} broken")
    return int(broken > 0)
