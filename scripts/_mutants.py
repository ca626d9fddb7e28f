"""One small change of the product at a time: a comparison, a number, a sign, a call left out. Does a test notice it?

Prints what nobody noticed, as the line before and after. What was looked at and accepted stands, with its reason, in
tests/accepted-mutants.toml. Ends with 1 if something survived that is not accepted, or too much did. Linux and macOS.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from accepted_mutants import FILE, PACKAGES, Accepted, Package, package_of, read
from mutant_runs import Settings, Verdict, campaign
from mutations import Mutant, mutants_of

ROOT = Path(__file__).parents[1]

REACH = ROOT / ".mutants" / "reach.json"


def main() -> int:
    """Choose, run, tell."""
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=600, help="changes by chance, of all packages alike (600; 0: all)")
    parser.add_argument("--seed", type=int, default=1, help="of that chance (1)")
    parser.add_argument("--only", action="append", metavar="PATH", help="a package, file or FILE:LINE; may come again")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="the tests to ask (those named for each package)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="changes at a time (all cores)")
    parser.add_argument("--budget", type=float, default=12.0, help="seconds of tests for one change (12)")
    parser.add_argument("--list", action="store_true", help="only say which changes there are")
    wanted = parser.parse_args()
    every = [mutant for package in PACKAGES for mutant in _all(package) if _is_meant(mutant, wanted.only)]
    if not every:
        parser.error(f"nothing to change there; packages: {', '.join(p.name for p in PACKAGES)}, or a file of one")
    chosen = _chosen(every, wanted.count, random.Random(wanted.seed))
    if wanted.list:
        for mutant in chosen:
            print(_words(mutant))
        print(f"{len(chosen)} of {len(every)} changes")
        return 0
    packages = [package for package in PACKAGES if any(package_of(m.file) is package for m in chosen)]
    tests = tuple(wanted.tests or dict.fromkeys(path for package in packages for path in package.tests))
    print(f"seed {wanted.seed}: {len(chosen)} of {len(every)} changes", flush=True)
    return _run(chosen, Settings(ROOT, tests, wanted.jobs, wanted.budget, REACH))


def _all(package: Package) -> list[Mutant]:
    paths = [path for name in package.paths for path in ([ROOT / name] if name.endswith(".py") else _files(name))]
    return [mutant for path in paths for mutant in mutants_of(path.relative_to(ROOT).as_posix(), path.read_bytes())]


def _files(folder: str) -> list[Path]:
    others = {ROOT / name for package in PACKAGES for name in package.paths if name.endswith(".py")}
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if path not in others]


def _is_meant(mutant: Mutant, only: Sequence[str] | None) -> bool:
    if not only:
        return True
    place, package = f"{mutant.file}:{mutant.line}", package_of(mutant.file)
    return any(
        (package is not None and package.name == each)
        or each == place
        or mutant.file == each
        or mutant.file.startswith(each.rstrip("/") + "/")
        for each in only
    )


def _chosen(every: Sequence[Mutant], count: int, rng: random.Random) -> list[Mutant]:
    """So many by chance: of each package as many as of the next, as far as they have them."""
    if not 0 < count < len(every):
        return list(every)
    queues: dict[str, list[Mutant]] = {}
    for mutant in rng.sample(every, len(every)):
        package = package_of(mutant.file)
        queues.setdefault(package.name if package else "", []).append(mutant)
    chosen: list[Mutant] = []
    while len(chosen) < count:
        for name in sorted(queues):
            if queues[name] and len(chosen) < count:
                chosen.append(queues[name].pop())
    return sorted(chosen, key=lambda mutant: (mutant.file, mutant.start))


def _words(mutant: Mutant) -> str:
    old, new = mutant.lines((ROOT / mutant.file).read_bytes())
    return f"{mutant.file}:{mutant.line} {mutant.kind}\n  - {old}\n  + {new}"


def _run(chosen: Sequence[Mutant], settings: Settings) -> int:
    accepted = {entry.key for entry in read(ROOT / FILE).accepted}
    verdicts: list[Verdict] = []
    began_s = time.monotonic()

    def tell(verdict: Verdict) -> None:
        verdicts.append(verdict)
        if verdict.survived:
            word = "accepted" if _entry(verdict.mutant).key in accepted else "SURVIVED"
            print(f"{word} ({verdict.how}): {_words(verdict.mutant)}", flush=True)
        elif len(verdicts) % 50 == 0:
            print(f"{len(verdicts)} of {len(chosen)} after {time.monotonic() - began_s:.0f} s", flush=True)

    code = campaign(settings, chosen, tell, lambda words: print(words, flush=True))
    if code or len(verdicts) < len(chosen):
        print("the tests could not be run: see above", file=sys.stderr)
        return code or 2
    took_s = time.monotonic() - began_s
    print(f"{len(verdicts)} changes in {took_s:.0f} s, {took_s / len(verdicts):.1f} s each")
    return 0 if _judged(verdicts, accepted) else 1


def _entry(mutant: Mutant) -> Accepted:
    old, new = mutant.lines((ROOT / mutant.file).read_bytes())
    return Accepted(mutant.file, mutant.within, old, new, "")


def _judged(verdicts: Sequence[Verdict], accepted: set[tuple[str, ...]]) -> bool:
    """Print how many were noticed; whether that is enough, and all else accepted."""
    from hil.cli.output import print_table  # pytest wants to be the first who loads the product

    tried, survived, unknown = Counter[str](), Counter[str](), 0
    for verdict in verdicts:
        package = package_of(verdict.mutant.file)
        name = package.name if package else ""
        tried[name] += 1
        survived[name] += verdict.survived
        unknown += verdict.survived and _entry(verdict.mutant).key not in accepted
    rows, fine = [], unknown == 0
    for package in PACKAGES:
        if count := tried[package.name]:
            share = survived[package.name] / count
            fine = fine and share <= package.most
            cells = [str(count), str(survived[package.name]), f"{share:.1%}", f"{package.most:.0%}"]
            rows.append([package.name, *cells])
    print_table("", ["package", "changes", "survived", "share", "at most"], rows)
    if unknown:
        print(f"{unknown} survived that {FILE} does not name: add a test, or the change with its reason")
    return fine


if __name__ == "__main__":
    sys.exit(main())
