"""Running a search: in pieces, with progress, kept as it goes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.control.crew import Crew
from hil.control.loop import WORTH_COMPILING_STEPS, ClosedLoop
from hil.control.search import Grid, pieces
from hil.control.store import Store
from hil.kernels.build import fast_available
from hil.model.robot import RobotModel

STEPS_TOGETHER, STEPS_TOGETHER_PLAIN = 5_000_000, 500_000
"""Steps of the arm in one piece: about half a second on a core or two."""

LEAST_TOGETHER, MOST_TOGETHER = 64, 65536
KEEP_EVERY_S = 5.0


def steps_of(grid: Grid, model: RobotModel) -> int:
    """Steps of the arm in one run of the base experiment."""
    loop = ClosedLoop(model, grid.experiment)
    return loop.ticks * loop.steps


def worth_compiling(grid: Grid, model: RobotModel) -> bool:
    """A compiler is there, and the whole search takes long enough for it."""
    return fast_available() and grid.count * steps_of(grid, model) >= WORTH_COMPILING_STEPS


def search(
    store: Store,
    model: RobotModel,
    crew: Crew,
    *,
    compiled: bool,
    told: Callable[[int], None],
    clock: Callable[[], float],
) -> None:
    """Run what the store has not yet, and keep it there; also where that is broken off.

    Args:
        store: of the search.
        model: the arm.
        crew: who works.
        compiled: decides how much goes into one piece.
        told: is told how many settings are done.
        clock: seconds, to keep what was found every so often.
    """
    together = (STEPS_TOGETHER if compiled else STEPS_TOGETHER_PLAIN) // steps_of(store.grid, model)
    together = min(max(together, LEAST_TOGETHER), MOST_TOGETHER)
    missing = np.isnan(store.table[:, 0])
    waiting = [piece for piece in pieces(store.grid, together) if missing[list(piece.settings)].any()]
    done = int((~missing).sum())
    told(done)
    kept_s = clock()
    try:
        for piece, table in crew.run(waiting):
            rows = list(piece.settings)
            done += int(np.isnan(store.table[rows, 0]).sum())
            store.table[rows] = table
            told(done)
            if clock() - kept_s > KEEP_EVERY_S:
                store.keep()
                kept_s = clock()
    finally:
        store.keep()
