"""Walks through what the fake controllers can be: every choice alone, in pairs, and more of them by chance.

For each corner it connects, confirms a pose, moves, stops and leaves. Prints how far the corners came and with which
words, and ends with 1 if one was unsafe or said nothing of what to do.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from corners import CANNOT, broken, campaign, cannot, text_of


def main() -> int:
    """Walk and judge."""
    parser = argparse.ArgumentParser(prog="scripts/corners", description=__doc__)
    parser.add_argument("--controller", choices=("ssc32", "cr1"), action="append", help="only this; may be given again")
    parser.add_argument("--chances", type=int, default=500, help="corners by chance behind the pairs (500)")
    parser.add_argument("--seed", type=int, default=1, help="of that chance (1)")
    parser.add_argument("--most", type=int, help="end after so many corners of each controller")
    wanted = parser.parse_args()
    count = 0
    for controller in wanted.controller or ("ssc32", "cr1"):
        count += _walk(controller, wanted.chances, wanted.seed, wanted.most)
    if count:
        print(f"{count} findings", file=sys.stderr)
    return int(bool(count))


def _walk(controller: str, chances: int, seed: int, most: int | None) -> int:
    began_s = time.monotonic()
    reached, words, unmendable = Counter[str](), Counter[str](), Counter[str]()
    count = 0
    for corner, verdict in islice(campaign(controller, chances, seed), most):
        reached[verdict.reached] += 1
        if verdict.said:
            words[re.sub(r"[\d.]+", "#", verdict.said)[:100]] += 1
        if verdict.unsafe and (why := cannot(corner)):
            unmendable[why] += 1
        for finding in broken(corner, verdict):
            count += 1
            print(f"FOUND: {text_of(corner)}: {finding}", flush=True)
    tally = ", ".join(f"{number} {name}" for name, number in reached.most_common())
    print(f"{controller}: {sum(reached.values())} corners in {time.monotonic() - began_s:.0f} s: {tally}")
    for said, number in words.most_common():
        print(f"  {number:5} {said}")
    for why, _ in CANNOT:
        if unmendable[why]:
            print(f"  {unmendable[why]:5} unsafe, and nobody here can mend it: {why}")
    return count


if __name__ == "__main__":
    sys.exit(main())
