"""Lives of fake CR1 controllers under random requests, until the time is over or enough requests were made."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from _fuzz_lives import main

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from cr1_fuzz import Fuzzer


def _life(seed: int) -> tuple[Callable[[int], None], Callable[[], int]]:
    fuzzer = Fuzzer(seed)
    return fuzzer.run, lambda: fuzzer.cr1.counts.requests


if __name__ == "__main__":
    sys.exit(main("fuzz-cr1", __doc__, 150, _life))
