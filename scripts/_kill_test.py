"""Kills, pauses, signals, cables, journals, noise, second owners and clocks: see docs/faults-and-kills.md."""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from pathlib import Path

from hil.cli.output import print_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from kill_campaign import NOT_JUDGED, PLANTED, Job, jobs, markdown, never_judged, rows, run, table
from kill_judges import Round
from kill_kinds import KINDS
from kill_stand import ARMS


def main() -> int:
    """Run the rounds; 1 if a promise was broken in one of them, or too few were judged."""
    parser = argparse.ArgumentParser(prog="scripts/kill-test", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="of each kind on each arm (20)")
    parser.add_argument("--only", action="append", default=[], metavar="KIND", help="kinds with this in their name")
    parser.add_argument("--arm", action="append", choices=sorted(ARMS), help="which arm (both)")
    parser.add_argument("--seed", type=int, help="source of all chance; a random one if not given")
    parser.add_argument("--jobs", type=int, default=4, help="rounds at a time (4)")
    parser.add_argument("--keep", type=Path, help="folder for what rounds that broke a promise have left")
    parser.add_argument("--markdown", action="store_true", help="print the table as the page has it")
    parser.add_argument("--list", action="store_true", help="only say which kinds there are")
    parser.add_argument("--judges", action="store_true", help="judge the judges: plant a fault for each promise")
    wanted = parser.parse_args()
    if wanted.list:
        print_table("", ["kind", "promise"], [[kind.name, kind.promise] for kind in KINDS])
        return 0
    seed = random.randrange(1 << 32) if wanted.seed is None else wanted.seed
    if wanted.judges:
        return _judge_the_judges(seed, wanted.jobs, wanted.only)
    kinds = [kind for kind in KINDS if not wanted.only or any(words in kind.name for words in wanted.only)]
    todo = jobs(kinds, wanted.arm or tuple(ARMS), wanted.rounds, seed)
    print(f"seed {seed}: {len(todo)} rounds of {len(kinds)} kinds", flush=True)
    began_s = time.monotonic()
    results = []
    for job, outcome in run(todo, wanted.jobs, wanted.keep):
        results.append((job, outcome))
        _tell(job, outcome)
    return _sum_up(results, time.monotonic() - began_s, seed, as_page=wanted.markdown)


def _tell(job: Job, outcome: Round) -> None:
    print("-" if outcome.skipped else "?" if outcome.not_judged else "x" if outcome.wrong else ".", end="", flush=True)
    for words in outcome.wrong:
        print(f"\nBROKEN {job.arm}, {words}; seed {job.seed}", flush=True)
    if outcome.not_judged:
        print(f"\nnot judged, {job.arm}: {job.kind}: {outcome.not_judged}", flush=True)


def _sum_up(results: list[tuple[Job, Round]], took_s: float, seed: int, *, as_page: bool) -> int:
    lines = table(results)
    print()
    if as_page:
        print(markdown(lines))
    else:
        print_table("", ["arm: blow", "promise", "kept", "median, worst (allowed)"], rows(lines))
    broken, never = sum(line.broken for line in lines), sum(line.not_judged for line in lines)
    kept, skipped = sum(line.kept for line in lines), sum(bool(line.skipped) for line in lines)
    print(
        f"{len(results)} rounds in {took_s:.0f} s, seed {seed}: {kept} kept their promise, {broken} broke one, "
        f"{never} not judged; {skipped} kinds skipped"
    )
    for line in lines:
        if line.skipped:
            print(f"skipped: {line.arm}: {line.kind.name}: {line.skipped}")
    too_few = never > NOT_JUDGED * len(results)
    if too_few:
        print(f"{never} of {len(results)} rounds never began: that is too many to say anything", file=sys.stderr)
    silent = never_judged(lines)
    for name in silent:
        print(f"{name}: not one of its rounds was judged", file=sys.stderr)
    return 1 if broken or too_few or silent else 0


def _judge_the_judges(seed: int, at_a_time: int, only: list[str]) -> int:
    """Plant every fault; 1 if one of them is not found, or by a judge who was not meant."""
    planted = [p for p in PLANTED if not only or any(words in p.fault for words in only)]
    rng = random.Random(seed)
    todo = [Job("lynx6", p.kind, rng.randrange(1 << 32), p.plant) for p in planted]
    said = {job.plant: outcome for job, outcome in run(todo, at_a_time)}
    table_rows, missed = [], 0
    for p in planted:
        outcome = said[p.plant]
        found = next((words for words in outcome.wrong if re.search(p.words, words)), "")
        missed += not found
        instead = f"NOT FOUND: {outcome.not_judged or outcome.skipped or outcome.wrong or 'every promise kept'}"
        table_rows.append([p.promise, p.fault, p.kind, found or instead])
    print_table("judges", ["promise", "planted fault", "round", "found"], table_rows)
    print(f"{len(planted) - missed} of {len(planted)} planted faults found, seed {seed}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
