"""Python's garbage is collected in the window's thread alone: an object of Qt must not end in any other."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

from PySide6.QtCore import QTimer

COLLECT_EVERY_MS = 1000
WHOLE_EVERY = 30
"""Collections of what is young between two of everything, which take the longest."""


@contextlib.contextmanager
def collected_here() -> Iterator[None]:
    """Collect by a timer of this thread, which has to run Qt's loop, instead of wherever Python happens to allocate."""
    count = 0

    def collect() -> None:
        nonlocal count
        count += 1
        gc.collect(2 if count % WHOLE_EVERY == 0 else 1)

    was_enabled = gc.isenabled()
    gc.disable()
    timer = QTimer()
    timer.timeout.connect(collect)
    timer.start(COLLECT_EVERY_MS)
    try:
        yield
    finally:
        timer.stop()
        gc.collect()
        if was_enabled:
            gc.enable()
