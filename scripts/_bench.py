"""Benchmarks of this project beside bare peers, interleaved in one run; see docs/measurements.md."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from pathlib import Path

from _bench_common import Effort

BENCHES = (
    "loop",
    "preview",
    "tick",
    "kinematics",
    "inverse",
    "peers",
    "control",
    "paths",
    "dashboard",
    "lessons",
    "lateness",
)
BY_NAME = ("import", "page")
"""What needs more than Python, and is run when it is asked for."""


def main() -> int:
    """Run what was asked for; 1 if a criterion was not met."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("bench", choices=(*BENCHES, *BY_NAME, "all"))
    parser.add_argument("--quick", action="store_true", help="shorter runs, for a look; criteria count as in long ones")
    parser.add_argument("--once", action="store_true", help="only whether it runs: no criterion counts")
    parser.add_argument("--minutes", type=float, help="of lateness: length of each run")
    parser.add_argument("--beside", type=Path, help="of tick and preview: root of another checkout, measured in turns")
    parser.add_argument("--corpus", type=Path, help="of import: the folder with URDF files, at any depth")
    wanted = parser.parse_args()
    more = {} if wanted.minutes is None else {"minutes": wanted.minutes}
    if more and wanted.bench != "lateness":
        parser.error("--minutes is for lateness")
    effort = Effort.ONCE if wanted.once else Effort.QUICK if wanted.quick else Effort.LONG
    if wanted.beside is not None:
        if wanted.bench not in ("tick", "preview"):
            parser.error("--beside is for tick and preview")
        more = {"beside": wanted.beside}
    if wanted.corpus is not None:
        if wanted.bench != "import":
            parser.error("--corpus is for import")
        more = {"corpus": wanted.corpus}
    print(_machine())
    met = True
    for name in BENCHES if wanted.bench == "all" else (wanted.bench,):
        # Imported here: the loop's process imports this file again, and shall not carry the other benches along.
        met = importlib.import_module(f"_bench_{name}").run(effort, **more) and met
        print(f"load of the machine after it: {_load()}\n")
    if wanted.once:
        print("it runs; from so little, no number says anything")
    return 0 if met or wanted.once else 1


def _machine() -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, {python}, load before: {_load()}"


def _load() -> str:
    """Mean number of runnable threads over the last minute: with more than one beside the bench, numbers are noise."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "not known here"


if __name__ == "__main__":
    sys.exit(main())
