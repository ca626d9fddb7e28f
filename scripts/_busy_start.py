"""Starts beside programs that never rest: does every command that moves an arm come up, and what does a start cost?"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from hil.cli.output import print_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from busy_start import COMMANDS, Round, busy, help_cpu_s, loop_cpu_s, play

HELP_S, LOOP_S = 0.25, 0.5
"""What `hil --help`, and a loop's process until it is ready, may take of a core."""
COSTS = 7


def main() -> int:
    """Run the rounds; 1 if a command did not come up, or a start costs more than it may."""
    parser = argparse.ArgumentParser(prog="scripts/busy-start", description=__doc__)
    parser.add_argument("--busy", type=int, default=16, help="programs that take all that they can get (16)")
    parser.add_argument("--rounds", type=int, default=10, help="starts of each command (10)")
    parser.add_argument("--only", action="append", choices=sorted(COMMANDS), help="which command (all)")
    parser.add_argument("--minutes", type=float, help="begin no round after so long; the rounds that are left are told")
    parser.add_argument("--cost", action="store_true", help="only what a start costs, on a computer at rest")
    wanted = parser.parse_args()
    if wanted.cost:
        return _show_cost()
    end_s = float("inf") if wanted.minutes is None else time.monotonic() + 60.0 * wanted.minutes
    names, results = wanted.only or tuple(COMMANDS), list[Round]()
    left = 0
    with busy(wanted.busy):
        for number in range(wanted.rounds):
            for name in names:
                if time.monotonic() > end_s:
                    left += 1
                    continue
                outcome = play(name)
                results.append(outcome)
                print(f"{number + 1}: {name}: {outcome.wrong or f'moves after {outcome.up_s:.1f} s'}", flush=True)
    _show(results, wanted.busy)
    if left:
        print(f"{left} rounds were left out for want of time")
    return 1 if any(outcome.wrong for outcome in results) else 0


def _show(results: list[Round], programs: int) -> None:
    rows = []
    for name in dict.fromkeys(outcome.command for outcome in results):
        mine = [outcome for outcome in results if outcome.command == name]
        up_s = [outcome.up_s for outcome in mine if not outcome.wrong]
        rows.append(
            [
                name,
                f"{len(up_s)} of {len(mine)}",
                f"{statistics.median(up_s):.1f}, {max(up_s):.1f}" if up_s else "",
                f"{statistics.median(outcome.whole_s for outcome in mine):.1f}",
            ]
        )
    columns = ["command", "came up", "until the arm moves, s: median, worst", "whole command, s"]
    print_table(f"beside {programs} busy programs", columns, rows)


def _show_cost() -> int:
    helps = sorted(help_cpu_s() for _ in range(COSTS))
    loops = {rig: sorted(loop_cpu_s(rig) for _ in range(COSTS)) for rig in ("lynx6", "rv2aj")}
    rows = [["hil --help", f"{statistics.median(helps):.3f}", f"{helps[-1]:.3f}", f"{HELP_S:g}"]]
    rows += [
        [f"loop of {rig}, until it is ready", f"{statistics.median(used):.3f}", f"{used[-1]:.3f}", f"{LOOP_S:g}"]
        for rig, used in loops.items()
    ]
    print_table("seconds of a core", ["what", "median", "worst", "allowed"], rows)
    medians = [statistics.median(helps) <= HELP_S, *(statistics.median(used) <= LOOP_S for used in loops.values())]
    return 0 if all(medians) else 1


if __name__ == "__main__":
    sys.exit(main())
