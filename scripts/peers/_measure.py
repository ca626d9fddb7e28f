"""What every peer's script shares: CPU time of this thread per call, and results as one line of JSON.

Needs numpy alone, since each peer runs in an environment of its own.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

BATCHES = 9


def job() -> dict[str, np.ndarray]:
    """The arrays that all sides work on."""
    with np.load(sys.argv[1]) as stored:
        return dict(stored)


def per_call(function: Callable[[], object], seconds: float = 0.15) -> float:
    """Median over batches of the CPU time of one hot call, s."""
    calls, used = 1, 0.0
    while used < seconds / BATCHES:
        calls *= 2
        used = _cpu(function, calls)
    return statistics.median(_cpu(function, calls) / calls for _ in range(BATCHES))


def once(function: Callable[[], object], repeats: int = 3) -> float:
    """Median CPU time of one long call after a warm one, s."""
    function()
    return statistics.median(_cpu(function, 1) for _ in range(repeats))


def each(function: Callable[[int], object], count: int) -> float:
    """Median over `count` different calls of the CPU time of each, s."""
    function(0)
    times = []
    for i in range(count):
        start = time.thread_time_ns()
        function(i)
        times.append(time.thread_time_ns() - start)
    return statistics.median(times) * 1e-9


def wall(function: Callable[[], object], repeats: int = 3) -> float:
    """Median wall time of one long call after a warm one, s: for what runs on several threads."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def tell(**what: Any) -> None:
    """The last line of the output."""
    print(json.dumps(what))


def _cpu(function: Callable[[], object], calls: int) -> float:
    start = time.thread_time_ns()
    for _ in range(calls):
        function()
    return (time.thread_time_ns() - start) * 1e-9
