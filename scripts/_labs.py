"""Runs the labs, each in an empty folder, and says of every number whether it comes out; or writes notebooks."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from hil.labs.lab_notebook import notebook_text
from hil.labs.lab_page import Lab
from hil.labs.lab_runner import LabOutcome, run_lab
from hil.labs.pack import lab_names, load_lab

CELL_S = 600


def main() -> int:
    """Run them; 1 if a number or a command does not come out as its page has it."""
    parser = argparse.ArgumentParser(prog="scripts/labs", description=__doc__)
    parser.add_argument("labs", nargs="*", metavar="LAB", help="names or numbers; none: all")
    parser.add_argument("--short", action="store_true", help="leave out what takes long")
    parser.add_argument("--quiet", action="store_true", help="a line for each lab alone")
    parser.add_argument("--notebooks", type=Path, metavar="DIR", help="write them as notebooks there; run none")
    parser.add_argument("--execute", action="store_true", help="with --notebooks: run every cell, by nbconvert")
    wanted = parser.parse_args()
    labs = [load_lab(name) for name in wanted.labs or lab_names()]
    if wanted.notebooks is not None:
        return _write(labs, wanted.notebooks, execute=wanted.execute)
    return _run(labs, short=wanted.short, quiet=wanted.quiet)


def _run(labs: list[Lab], *, short: bool, quiet: bool) -> int:
    began_s, wrong, numbers = time.monotonic(), 0, 0
    for lab in labs:
        outcome = run_lab(lab, None if quiet else lambda words: print(f"    {words}", flush=True), short=short)
        _tell(outcome, quiet=quiet)
        wrong += not outcome.good
        numbers += len(outcome.measured)
    print(f"{len(labs)} labs, {numbers} numbers in {time.monotonic() - began_s:.0f} s, {wrong} labs wrong")
    return int(wrong > 0)


def _tell(outcome: LabOutcome, *, quiet: bool) -> None:
    for one in outcome.measured if not quiet else ():
        print(f"    {'ok' if one.holds else 'WRONG':5} {one.words()}")
    left = f", {outcome.left_out} blocks left out" if outcome.left_out else ""
    verdict = "ok" if outcome.good else "WRONG"
    print(f"{verdict:5} {outcome.name}: {outcome.commands} lines, {len(outcome.measured)} numbers{left}", flush=True)
    for words in outcome.wrong:
        print(f"      {words}", flush=True)


def _write(labs: list[Lab], folder: Path, *, execute: bool) -> int:
    """Write the notebooks, and run them if wanted; 1 if a cell of one fails."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for lab in labs:
        file = folder / f"{lab.name}.ipynb"
        file.write_text(notebook_text(lab), encoding="utf-8")
        files.append(file)
        print(file)
    if not execute:
        return 0
    options = ("--to", "notebook", "--inplace", "--execute", f"--ExecutePreprocessor.timeout={CELL_S}")
    return int(
        any(subprocess.run([sys.executable, "-m", "nbconvert", *options, str(file)]).returncode for file in files)
    )


if __name__ == "__main__":
    sys.exit(main())
