"""Forged, expired, cut, replayed and misplaced messages, then noise: nothing moves, breaks or grows."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from hil.cli.output import print_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from lab_fuzz import Target, whole
from lab_load import quarters


def main() -> int:
    """Run; 1 if something moved, broke or grew."""
    parser = argparse.ArgumentParser(prog="scripts/lab-fuzz", description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000, help="messages that may move nothing (10000)")
    parser.add_argument("--minutes", type=float, default=10.0, help="noise afterwards (10)")
    parser.add_argument("--seed", type=int, help="source of all chance; a random one if not given")
    wanted = parser.parse_args()
    seed = random.randrange(1 << 32) if wanted.seed is None else wanted.seed
    print(f"seed {seed}: {wanted.messages} messages, {wanted.minutes:g} minutes of noise", flush=True)
    with tempfile.TemporaryDirectory(prefix="hil-fuzz-") as folder:
        target = Target(Path(folder))
        try:
            report = asyncio.run(whole(target, wanted.messages, 60.0 * wanted.minutes, random.Random(seed)))
        finally:
            target.server.clear_up()
    rows = [(name, str(count)) for name, count in report.answers.most_common()]
    print_table("answers", ("answer", "times"), rows)
    if report.memory:
        begin, end = quarters(report.memory)
        print(f"memory {begin / 1e6:.1f} to {end / 1e6:.1f} MB, second and last quarter")
    for words in report.wrong[:20]:
        print(f"BROKEN: {words}")
    print(f"seed {seed}: {'nothing moved, broke or grew' if not report.wrong else f'{len(report.wrong)} wrong'}")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
