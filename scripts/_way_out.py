"""Random poses among moved fences: what is allowed makes nothing worse, and something leads out or words say why."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

# Every process is one of many: threads of its own would only be in the way of the others.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hil.cli.output import print_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from way_out_rounds import RIGS, campaign

AT_ONCE = 50
"""Poses that one process takes at a time."""


def main() -> int:
    """Judge the poses of every rig and print a table; 1 if a promise was broken for one of them."""
    parser = argparse.ArgumentParser(prog="scripts/way-out", description=__doc__)
    parser.add_argument("--poses", type=int, default=1000, help="poses of each rig (1000)")
    parser.add_argument("--seed", type=int, help="source of all chance; a random one if not given")
    parser.add_argument("--rig", choices=RIGS, action="append", help="only this rig; may be given again")
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first pose (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time (all cores)")
    wanted = parser.parse_args()
    seed = random.randrange(1 << 32) if wanted.seed is None else wanted.seed
    end = wanted.first + wanted.poses
    parts = [range(at, min(at + AT_ONCE, end)) for at in range(wanted.first, end, AT_ONCE)]
    print(f"seed {seed}: {wanted.poses} poses of each rig", flush=True)
    began_s = time.monotonic()
    tallies, count = {}, 0
    with ProcessPoolExecutor(wanted.jobs) as pool:
        for name in wanted.rig or RIGS:
            tallies[name] = Counter[str]()
            for tally, found in pool.map(partial(campaign, name, seed), parts):
                tallies[name] += tally
                count += len(found)
                for words in found:
                    print(f"BROKEN: {words}", flush=True)
            print(f"{name}: done after {time.monotonic() - began_s:.0f} s", flush=True)
    _show(tallies)
    print(f"{sum(t['poses'] for t in tallies.values())} poses in {time.monotonic() - began_s:.0f} s, seed {seed}")
    if count:
        print(f"{count} poses broke a promise", file=sys.stderr)
    return 1 if count else 0


def _show(tallies: dict[str, Counter[str]]) -> None:
    rows = sorted({what for tally in tallies.values() for what in tally})
    print_table(
        "what came of the poses",
        ["", *tallies],
        [[what, *(str(tally[what]) for tally in tallies.values())] for what in rows],
    )


if __name__ == "__main__":
    sys.exit(main())
