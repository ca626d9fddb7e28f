"""The pages of docs/ as a site in site/, with what the code says of itself; a link that leads nowhere is an error."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Build it, or show it while somebody writes."""
    parser = argparse.ArgumentParser(prog="scripts/docs", description=__doc__)
    parser.add_argument("--show", action="store_true", help="serve it on this computer, anew after every change")
    wanted = parser.parse_args()
    command = [sys.executable, "-m", "zensical", *(["serve"] if wanted.show else ["build", "--strict", "--clean"])]
    # The handler of docstrings imports what it shows.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
