"""The page of an arm, looked at for an hour by a fast clock: nodes, listeners and heap at its begin and at its end."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from browser_stand import chromium, lab_thread, why_no_browser

LEFT_OUT = 75
MOST_NODES, MOST_LISTENERS, MOST_BYTES = 100, 10, 1 << 20


def main() -> int:
    """Run; 1 if the page has grown."""
    parser = argparse.ArgumentParser(prog="scripts/page-growth", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="of the page's own time (60)")
    parser.add_argument("--warm-up-minutes", type=float, default=2.0, help="of it, before it is looked at (2)")
    wanted = parser.parse_args()
    if why := why_no_browser():
        print(why)
        return LEFT_OUT
    from page_hour import looked_at

    with tempfile.TemporaryDirectory(prefix="hil-page-") as folder:
        os.environ["XDG_STATE_HOME"] = folder
        with chromium() as browser, lab_thread(Path(folder)) as lab:
            first, last = looked_at(browser, lab, wanted.minutes, wanted.warm_up_minutes)
    grown = 0
    for name, before, after, most in zip(
        ("nodes", "listeners", "bytes of heap"), first, last, (MOST_NODES, MOST_LISTENERS, MOST_BYTES), strict=True
    ):
        grown += after - before > most
        print(f"{name}: {before} at first, {after} after {wanted.minutes:g} minutes; allowed: {most} more")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
