"""Eight arms, thirty watchers, eight drivers: do loops keep their ticks, stops their budget, the server its size?"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path

from hil.cli.output import print_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from browser_stand import why_no_browser
from lab_load import bare, quarters, served
from lab_tally import Tally

MORE_OVERRUNS = 1e-4
P99_RATIO, P99_FINE_MS = 1.5, 2.0
GROWTH, GROWTH_BYTES = 0.02, 8 << 20


def main() -> int:
    """Run both in turn; 1 if a bound was broken."""
    parser = argparse.ArgumentParser(prog="scripts/lab-load", description=__doc__)
    parser.add_argument("--arms", type=int, default=8, help="virtual arms (8)")
    parser.add_argument(
        "--watchers", type=int, default=30, help="watchers, spread over the arms, one of which reads nothing (30)"
    )
    parser.add_argument("--drivers", type=int, default=8, help="drivers, one an arm (8)")
    parser.add_argument("--pages", type=int, default=2, help="of the drivers, so many at pages in a browser (2)")
    parser.add_argument("--minutes", type=float, default=5.0, help="length of each run (5)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each kind, in turn (3)")
    parser.add_argument("--seed", type=int, help="source of all chance; a random one if not given")
    wanted = parser.parse_args()
    seed = random.randrange(1 << 32) if wanted.seed is None else wanted.seed
    rng = random.Random(seed)
    drivers = min(wanted.drivers, wanted.arms)
    pages = min(wanted.pages, drivers)
    if pages and (why := why_no_browser()):
        print(f"without pages: {why}")
        pages = 0
    print(
        f"seed {seed}: {wanted.arms} arms, {wanted.watchers} watchers, {drivers} drivers, of them {pages} at pages,"
        f" {wanted.runs} runs",
        flush=True,
    )
    pairs: list[tuple[Tally, Tally]] = []
    for number in range(1, wanted.runs + 1):
        with tempfile.TemporaryDirectory(prefix="hil-load-") as folder:
            without = bare(wanted.arms, 60.0 * wanted.minutes, rng, Path(folder) / "bare")
            (Path(folder) / "served").mkdir()
            place = Path(folder) / "served"
            with_it = served(wanted.arms, wanted.watchers, drivers, pages, 60.0 * wanted.minutes, rng, place)
        pairs.append((without, with_it))
        _show(number, without, with_it)
    wrong = _judge(pairs)
    for words in wrong:
        print(f"BROKEN: {words}")
    print(f"seed {seed}: {'all bounds held' if not wrong else f'{len(wrong)} bounds broken'}")
    return 1 if wrong else 0


def _show(number: int, without: Tally, with_it: Tally) -> None:
    stops = [took / asked.budget_ms for asked, took in with_it.stops]
    rows = [
        (
            name,
            str(tally.ticks),
            str(sum(tally.missed.values())),
            f"{statistics.median(tally.p99_ms):.3f}",
            f"{max(tally.p99_ms):.3f}",
        )
        for name, tally in (("bare", without), ("served", with_it))
        if tally.p99_ms
    ]
    print_table(f"run {number}", ("loops", "ticks", "missed", "late p99, ms, median arm", "worst arm"), rows)
    if stops:
        print(f"{len(stops)} stops, of their budget: median {statistics.median(stops):.2f}, worst {max(stops):.2f}")
    if with_it.memory:
        begin, end = quarters(with_it.memory)
        print(f"memory {begin / 1e6:.1f} to {end / 1e6:.1f} MB")
    print(f"{with_it.frames} frames watched; the watcher that reads nothing was cut {with_it.cut} times")
    print(f"{with_it.at_pages} stops by hand at a page; {with_it.let_go} holds that a page let go of", flush=True)
    for words in dict.fromkeys((*without.trouble, *with_it.trouble)):
        print(f"trouble: {words}", flush=True)


def _judge(pairs: list[tuple[Tally, Tally]]) -> list[str]:
    if not all(tally.p99_ms for pair in pairs for tally in pair):
        return ["a loop ended early: there is nothing to compare"]
    wrong = []
    over = statistics.median(with_it.overruns - without.overruns for without, with_it in pairs)
    if over > MORE_OVERRUNS:
        wrong.append(
            f"overruns {1e4 * over:.2f} in 10 000 above those of the bare loops; allowed: {1e4 * MORE_OVERRUNS:g}"
        )
    served_ms = statistics.median(value for _, with_it in pairs for value in with_it.p99_ms)
    bare_ms = statistics.median(value for without, _ in pairs for value in without.p99_ms)
    if served_ms / max(bare_ms, 1e-9) > P99_RATIO and served_ms > P99_FINE_MS:
        wrong.append(
            f"late p99 {served_ms:.3f} ms, {served_ms / bare_ms:.2f} times the bare one; allowed: {P99_RATIO:g}"
        )
    for _, with_it in pairs:
        late = [(asked, took) for asked, took in with_it.stops if took > asked.budget_ms]
        wrong += [
            f"{asked.arm}: {asked.way} took {took:.0f} ms, promised {asked.budget_ms:.0f} ms" for asked, took in late
        ]
        if not with_it.stops:
            wrong.append("nothing was stopped: the drivers did not drive")
        begin, end = quarters(with_it.memory)
        if end - begin > max(GROWTH * begin, GROWTH_BYTES):
            wrong.append(f"memory grew from {begin / 1e6:.1f} to {end / 1e6:.1f} MB")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
