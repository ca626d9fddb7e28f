"""Python's garbage is collected in the window's thread alone, and never while something is held.

An object of Qt must not end in any other thread. A look at everything takes a tenth of a second, in which no hand is
seen: what the window is made of is frozen, so that no look goes over it, and none is taken while the arm moves by hand.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator

from PySide6.QtCore import QTimer

COLLECT_EVERY_MS = 1000
WHOLE_EVERY = 30
"""Collections of what is young between two of everything, which take the longest."""


@contextlib.contextmanager
def collected_here(held: Callable[[], bool]) -> Iterator[None]:
    """Collect by a timer of this thread, which has to run Qt's loop, instead of wherever Python happens to allocate.

    Args:
        held: whether a hand is on something now.
    """
    count = 0

    def collect() -> None:
        nonlocal count
        if held():
            return
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
        gc.unfreeze()
        gc.collect()
        if was_enabled:
            gc.enable()


def freeze() -> None:
    """What there is now stays: a window that is built, an arm that is drawn."""
    gc.collect()
    gc.freeze()
