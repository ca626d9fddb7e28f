"""Compiles several kernels at a time, in processes of their own: Numba's compiler lets one thread work at a time."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

from hil.kernels.build import build, is_kept

_CHILD = "from hil.compile_apart import work; work()"


def compile_apart(sources: Sequence[str], processes: int | None = None) -> None:
    """Compile what the cache has not yet; `build` finds it there afterwards, and does itself whatever failed here.

    Args:
        sources: texts of modules, as for `build`.
        processes: how many at a time; as many as processors if not given.
    """
    missing = sorted({source for source in sources if not is_kept(source)}, key=len, reverse=True)
    at_once = min(processes or os.cpu_count() or 1, len(missing))
    if at_once < 2 or not sys.executable:
        return
    waiting: SimpleQueue[str] = SimpleQueue()
    for source in missing:  # the longest first
        waiting.put(source)
    with ThreadPoolExecutor(at_once) as pool:
        for done in [pool.submit(_feed, waiting) for _ in range(at_once)]:
            done.result()


def _feed(waiting: SimpleQueue[str]) -> None:
    """Give one process one source after the other, for as long as it answers."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with contextlib.suppress(OSError, Empty):
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        with child:
            assert child.stdin is not None and child.stdout is not None
            while True:
                child.stdin.write(f"{json.dumps(waiting.get_nowait())}\n")
                child.stdin.flush()
                if not child.stdout.readline():
                    return


def work() -> None:
    """In the process of its own: compile each line of the input, and say so."""
    for line in sys.stdin:
        build(json.loads(line))
        sys.stdout.write("built\n")
        sys.stdout.flush()
