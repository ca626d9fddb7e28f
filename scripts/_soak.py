"""The whole stack on virtual time through everything that can go wrong; see docs/faults-and-kills.md."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from hil.cli.output import print_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from planted_faults import LIVES, PLANTED, Planted, found
from soak_excuses import Excuse
from soak_follow import LedRun
from soak_life import WORLDS, Tally, live, lives, together
from soak_oracles import Violation

NOT_JUDGED = 0.1
"""The share of lives in which nothing moved: more of them, and the run says too little to pass."""


def main() -> int:
    """Run many lives and say what they were made of; 1 if a guarantee was broken in one, or too few were judged."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--ticks", type=int, default=200_000, help="virtual ticks in all (200000)")
    parser.add_argument("--seed", type=int, help="source of all chance; a random one if not given")
    parser.add_argument("--each", type=int, default=4_000, help="ticks of one life (4000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time (all cores)")
    parser.add_argument("--rig", choices=sorted(WORLDS), default="lynx6", help="whose arm, board and faults (lynx6)")
    parser.add_argument("--led", action="store_true", help="an SSC-32's arm led by bad targets all the time, no faults")
    parser.add_argument("--judges", action="store_true", help="judge the judges: plant a fault for each promise")
    wanted = parser.parse_args()
    if wanted.judges:
        return _judge_the_judges(wanted.jobs)
    seed = random.randrange(1 << 32) if wanted.seed is None else wanted.seed
    if wanted.led:
        return _led(seed, wanted.ticks, wanted.rig)
    plan = lives(seed, wanted.ticks, wanted.each)
    print(f"seed {seed}: {wanted.ticks} ticks in {len(plan)} lives", flush=True)
    began_s = time.monotonic()
    tallies: list[Tally] = []
    with ProcessPoolExecutor(wanted.jobs) as pool:
        for tally in pool.map(partial(live, rig=wanted.rig), *zip(*plan, strict=True)):
            tallies.append(tally)
            if tally.violation:
                again = f"scripts/soak --rig {wanted.rig} --ticks {wanted.each} --seed {tally.seed}"
                print(f"BROKEN: {tally.violation}\n  again: {again} --each {wanted.each}", flush=True)
    _show(together(tallies), time.monotonic() - began_s)
    broken = [tally for tally in tallies if tally.violation]
    idle = sum(not tally.judged for tally in tallies)
    print(
        f"{len(tallies)} lives: {len(tallies) - idle - len(broken)} kept all, {len(broken)} broke a guarantee, "
        f"{idle} not judged"
    )
    if idle > NOT_JUDGED * len(tallies):
        print(f"nothing moved in {idle} of {len(tallies)} lives: longer ones, please (--each)", file=sys.stderr)
    return 1 if broken or idle > NOT_JUDGED * len(tallies) else 0


def _led(seed: int, ticks: int, rig: str) -> int:
    """Lead one arm by targets that nobody should send; 1 if a promise was broken."""
    if rig == "rv2aj":
        print("an rv2aj does not follow targets: give an SSC-32's rig", file=sys.stderr)
        return 1
    print(f"seed {seed}: {ticks} ticks of an arm that is led", flush=True)
    began_s, run = time.monotonic(), LedRun(seed, rig)
    try:
        run.run(ticks)
    except (Violation, AssertionError) as broken:
        print(
            f"BROKEN after {run.counts['ticks']} ticks: {broken}\n  again: scripts/soak --led --seed {seed}", flush=True
        )
        return 1
    print_table("what happened", ["what", "times"], _rows(dict(run.counts)))
    print(
        f"{run.counts['ticks']} ticks in {time.monotonic() - began_s:.0f} s, seed {seed}: no byte beyond a limit; the "
        f"last pulse {run.worst_rest_s:.3f} s after an end at the latest, allowed {run.allowed_s:.3f} s"
    )
    return 0


def _judge_the_judges(jobs: int) -> int:
    """Plant every fault; 1 if one of them is not found, or by a judge who was not meant."""
    with ProcessPoolExecutor(jobs) as pool:
        said = list(pool.map(_said, range(len(PLANTED))))
    rows = [[p.promise, p.title, p.judge, words] for p, words in zip(PLANTED, said, strict=True)]
    print_table("judges", ["promise", "planted fault", "judge", "found"], rows)
    missed = [p for p, words in zip(PLANTED, said, strict=True) if not words or words.startswith("NOT FOUND")]
    print(f"{len(PLANTED) - len(missed)} of {len(PLANTED)} planted faults found")
    return 1 if missed else 0


def _said(number: int) -> str:
    planted: Planted = PLANTED[number]
    try:
        return found(planted) or f"NOT FOUND in {LIVES} lives"
    except AssertionError as error:
        return f"NOT FOUND: {error}"


def _show(total: Tally, took_s: float) -> None:
    counts = total.counts
    faults = {name: n for name, n in counts.items() if name.startswith(("fault: ", "gap ", "owner ", "recorder "))}
    modes = {name: n for name, n in counts.items() if name.startswith("to ")}
    rest = {name: n for name, n in counts.items() if name not in faults and name not in modes}
    print_table("what went wrong", ["kind", "times"], _rows(faults))
    print_table("modes entered", ["mode", "times"], _rows({name.removeprefix("to "): n for name, n in modes.items()}))
    print_table("what else happened", ["what", "times"], _rows({**rest, "sessions": total.sessions}))
    print_table("what was checked on the wire", ["what", "number"], _rows(dict(total.wire)))
    worst = [[name, f"{value:.4g}"] for name, value in sorted(total.worst.items())]
    worst.append(["arm at rest after a stop at the latest, allowed, s", f"{total.allowed_s:.4g}"])
    print_table("the worst of each", ["what", "value"], worst)
    excuses = [[excuse.when, excuse.not_judged, str(total.excused[excuse])] for excuse in Excuse]
    print_table("what was excused", ["when", "what is not judged", "times"], excuses)
    print(f"{total.ticks} ticks in {took_s:.0f} s, seed {total.seed}")


def _rows(numbers: dict[str, int]) -> list[list[str]]:
    return [[name, str(number)] for name, number in sorted(numbers.items())]


if __name__ == "__main__":
    sys.exit(main())
