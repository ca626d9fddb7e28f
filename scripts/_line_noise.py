"""What a bad line comes to: restarts at every phase, noise, every byte of one line damaged, what adapters do.

Adapters that echo, dribble or collect and second readers are tried on both kinds of controller, all else on an SSC-32.
Prints tables, and ends with 1 if a restarted board was driven, if more than two refreshes were wrong after a first
wrong echo, or if the words for an adapter's doing do not name it.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from line_faults import AT_WORK, CONNECTING, Told, at_work, connecting
from line_noise import Noise, noise, one_damaged_line, restart
from virtual_session import swing

from hil.errors import LineCause

BOOT_S = (0.03, 0.05, 0.07, 0.1, 0.3, 1.0)
SURE_BOOT_S = 0.05
NAMES = ("restarted", "arrive damaged", "stood still", "arrive late", "no answer", "without meaning", "parted")


def main() -> int:
    """Run all four and say whether what is promised held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="motions per kind of noise")
    parser.add_argument("--seed", type=int, default=1, help="of the first motion; each further one has the next number")
    parser.add_argument("--every", type=int, default=1, help="of phases and bytes only each so-manieth (1)")
    options = parser.parse_args()
    held = _restarts(options.every)
    held &= _noise(options.rounds, options.seed)
    held &= _one_line(options.every)
    held &= _adapters(options.rounds, options.seed)
    return int(not held)


def _restarts(every: int) -> bool:
    phases = list(itertools.product(range(32), range(4)))[::every]
    print(f"restart in the middle of a motion, at {len(phases)} of 32 phases of the tick and 4 of the board's frame")
    held = True
    for boot_s in BOOT_S:
        found = [restart(p * 0.0025, boot_s, -f * 0.005) for p, f in phases]
        left, reached = Counter(each.left for each in found), Counter(each.reached for each in found)
        print(
            f"  boot {boot_s * 1e3:4.0f} ms: moves sent after it {_span(left)}, taken by the booted board "
            f"{_span(reached)}; stream ended within {max(each.held_s for each in found):.2f} s, fault within "
            f"{max(each.noticed_s for each in found):.2f} s"
        )
        held &= boot_s < SURE_BOOT_S or set(reached) == {0}
        held &= all("the controller restarted" in each.words for each in found)
    return held


def _noise(rounds: int, seed: int) -> bool:
    print(f"noise in one motion of {swing().duration_s:.1f} s, {rounds} motions each")
    held = True
    for way, kind, one_in in itertools.product(("commands", "replies"), ("garbled", "lost", "doubled"), (200, 2000)):
        found = [noise(seed + i, kind=kind, probability=1 / one_in, direction=way) for i in range(rounds)]
        _show(f"{way} {kind}, one byte in {one_in}", found)
        held &= all(each.after <= 2 for each in found)
    return held


def _one_line(every: int) -> bool:
    which = "each byte" if every == 1 else f"one byte in {every}"
    print(f"one byte of one line at full speed, {which} and each kind (of garbled: each bit)")
    held = True
    for kind in ("lost", "doubled", "garbled"):
        bits = range(8) if kind == "garbled" else range(1)
        found = [one_damaged_line(kind, at, bit) for at in range(0, 46, every) for bit in bits]
        _show(kind, found)
        held &= all(each.after <= 2 for each in found)
    return held


def _adapters(rounds: int, seed: int) -> bool:
    print(f"adapters and second readers, at the first word and at work, {rounds} times each where it is chance")
    held = True
    for kind, (title, fault, cause) in itertools.product(("ssc32", "rv2aj"), CONNECTING):
        held &= _tell(
            f"{kind}, connecting, {title}", [connecting(kind, fault, s) for s in _seeds(fault, rounds, seed)], cause
        )
    for kind, (title, fault, cause) in itertools.product(("ssc32", "rv2aj"), AT_WORK):
        held &= _tell(
            f"{kind}, at work, {title}", [at_work(kind, fault, s) for s in _seeds(fault, rounds, seed)], cause
        )
    return held


def _seeds(fault: Mapping[str, Any], rounds: int, seed: int) -> range:
    return range(seed, seed + (rounds if "probability" in fault else 1))


def _tell(what: str, found: list[Told], cause: LineCause | None) -> bool:
    words = Counter("as usual" if each.cause is None else each.cause.value for each in found)
    print(f"  {what}: {', '.join(f'{name} {count}' for name, count in words.most_common())}")
    return all(each.safe for each in found) and (cause is None or all(each.cause is cause for each in found))


def _show(what: str, found: list[Noise]) -> None:
    words = Counter(next((name for name in NAMES if name in each.words), "nothing") for each in found)
    said = ", ".join(f"{name} {count}" for name, count in words.most_common())
    print(
        f"  {what}: {said}; wrong refreshes at most {max(each.wrong for each in found)}, after the first wrong echo "
        f"{max(each.after for each in found)}; largest jump {max(each.largest for each in found):.0f} times the limit; "
        f"over at most {max(each.span_s for each in found):.2f} s; without a pulse for a while "
        f"{sum(each.vanished for each in found)}"
    )


def _span(counts: Counter[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


if __name__ == "__main__":
    sys.exit(main())
