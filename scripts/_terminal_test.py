"""Every command in a real terminal, and everything that can happen to it there; see docs/faults-and-kills.md."""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hil.cli.output import print_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from terminal_rounds import EVENTS, MOMENTS, Outcome, commands, moment_round, round_of

Round = Callable[[Path, random.Random], Outcome]


def main() -> int:
    """Run the rounds; 1 if a promise was broken in one of them."""
    parser = argparse.ArgumentParser(prog="scripts/terminal-test", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="of each kind (1)")
    parser.add_argument("--only", action="append", default=[], help="rounds named like this pattern; again: and this")
    parser.add_argument("--seed", type=int, help="source of all chance; a random one if not given")
    parser.add_argument("--for", type=float, dest="for_s", help="begin no round after so many seconds")
    parser.add_argument("--skip", type=int, default=0, help="rounds to leave out at the beginning (0)")
    parser.add_argument("--jobs", type=int, default=1, help="rounds at a time (1)")
    parser.add_argument("--list", action="store_true", help="name the rounds, and run none")
    parser.add_argument("--keep", type=Path, help="folder for what rounds that broke a promise have left")
    wanted = parser.parse_args()
    chosen = [each for each in _all() if all(re.search(found, each[0]) for found in wanted.only)][wanted.skip :]
    if wanted.list:
        print("\n".join(name for name, _ in chosen))
        return 0
    seed = random.randrange(1 << 32) if wanted.seed is None else wanted.seed
    print(f"seed {seed}: {len(chosen)} kinds of rounds, {wanted.rounds} of each", flush=True)
    began_s, seeds = time.monotonic(), random.Random(seed)
    last_s = began_s + (wanted.for_s or float("inf"))
    jobs = [(round_, seeds.randrange(1 << 32), number) for number, (_, round_) in enumerate(chosen * wanted.rounds)]

    def one(job: tuple[Round, int, int]) -> Outcome | None:
        round_, round_seed, number = job
        return None if time.monotonic() > last_s else _run(round_, random.Random(round_seed), wanted.keep, number)

    with ThreadPoolExecutor(wanted.jobs) as pool:
        outcomes = [outcome for outcome in pool.map(one, jobs) if outcome is not None]
    if len(outcomes) < len(jobs):
        print(f"out of time; go on with --skip {wanted.skip + len(outcomes)}")
    _show(outcomes)
    broken = sum(bool(outcome.wrong) for outcome in outcomes)
    unjudged = sum(bool(outcome.unjudged) for outcome in outcomes)
    print(
        f"{len(outcomes)} rounds in {time.monotonic() - began_s:.0f} s: {broken} broke a promise, {unjudged} not judged"
    )
    return 1 if broken else 0


def _all() -> list[tuple[str, Round]]:
    found: list[tuple[str, Round]] = []
    for command in commands():
        where = "port" if command.port else "own fake"
        for event in EVENTS:
            name = f"{command.name}, {command.kind}, {where}: {event.name}"
            found.append((name, lambda folder, rng, c=command, e=event: round_of(c, e, folder, rng)))  # type: ignore[misc]
    for kind in ("ssc32", "cr1"):
        for port in (False, True):
            for moment in MOMENTS:
                name = f"run, {kind}, {'port' if port else 'own fake'}: Ctrl-C while {moment.name}"
                found.append(
                    (name, lambda folder, rng, k=kind, p=port, m=moment: moment_round(k, p, m, folder, rng))  # type: ignore[misc]
                )
    return found


def _run(round_: Round, rng: random.Random, keep: Path | None, number: int) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="hil-terminal-", ignore_cleanup_errors=True) as folder:
        outcome = round_(Path(folder), rng)
        if (outcome.wrong or outcome.unjudged) and keep is not None:
            shutil.copytree(folder, keep / f"round-{number}", symlinks=True, dirs_exist_ok=True)
            (keep / f"round-{number}" / "screen.txt").write_text(f"{outcome}\n{outcome.words}")
    verdict = "BROKEN" if outcome.wrong else "not judged" if outcome.unjudged else "kept"
    print(f"{verdict}: {outcome.name}", flush=True)
    for words in outcome.wrong or [outcome.unjudged]:
        if words:
            print(f"    {words}", flush=True)
    return outcome


def _show(outcomes: list[Outcome]) -> None:
    rows = []
    for outcome in outcomes:
        command, _, event = outcome.name.partition(": ")
        verdict = "BROKEN" if outcome.wrong else "not judged" if outcome.unjudged else "kept"
        stopped = "" if outcome.stopped_s is None else f"{outcome.stopped_s:.2f}"
        rows.append([command, event, "" if outcome.code is None else str(outcome.code), stopped, verdict])
    print_table("", ["command", "what happened", "exit code", "at rest after, s", "promises"], rows)


if __name__ == "__main__":
    sys.exit(main())
