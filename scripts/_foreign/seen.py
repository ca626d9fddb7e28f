"""What the fake says of itself while a client runs that cannot ask: the last line of its trace."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

LONGEST_S = 20.0


def until(reached: Callable[[dict[str, Any]], bool]) -> None:
    """Wait until the last line of the trace is as wanted; on a busy computer nothing is over after a fixed time."""
    file = os.path.join(os.environ["HIL_FOREIGN_FOLDER"], "trace")
    end_s = time.monotonic() + LONGEST_S
    while time.monotonic() < end_s:
        with open(file, encoding="ascii") as trace:
            lines = trace.read().split("\n")[:-1]
        if lines and reached(json.loads(lines[-1])):
            return
        time.sleep(0.02)
    raise SystemExit(f"not reached after {LONGEST_S:g} s; last line of the trace: {lines[-1:]}")
