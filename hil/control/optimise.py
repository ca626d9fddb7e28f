"""The search between the ends of what varies: differential evolution, whole generations side by side."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hil.control.generations import Generations
from hil.control.search import MEASURES, WHOLE, Found, Grid, evaluate
from hil.errors import CommandError, MissingExtraError
from hil.kernels.scalar import FloatArray
from hil.model.robot import RobotModel

LEAST_RUNS, MOST_RUNS = 50, 1_000_000
GENERATION_PER_AXIS = 8
"""Settings in a generation for each thing that varies."""

INFINITY = 1e30
"""What an unstable run costs in the eyes of the optimiser, which adds and compares."""


def optimise(
    grid: Grid,
    model: RobotModel,
    runs: int,
    seed: int,
    told: Callable[[int], None],
    kept: Generations | None = None,
) -> Found:
    """Look for the cheapest setting between the smallest and the largest value of each axis.

    Axes whose ends are both above 0 are searched by their logarithm. Same seed, same runs.

    Args:
        grid: the experiment and its axes; only the ends of the axes count.
        model: the arm.
        runs: how many at most.
        seed: of the search.
        told: is told how many are done.
        kept: what an earlier start of the same search has run; each generation is added to it.

    Raises:
        CommandError: too few or too many runs, or an axis without two ends.
        MissingExtraError: SciPy is not installed.
    """
    if not LEAST_RUNS <= runs <= MOST_RUNS:
        allowed = f"{LEAST_RUNS} to {MOST_RUNS}"
        raise CommandError(f"--optimise {runs} given; allowed: {allowed}", value=runs, allowed=allowed)
    for axis in grid.axes:
        if min(axis.values) == max(axis.values):
            raise CommandError(f"{axis.title} has one value; allowed: two ends, to look between", value=axis.values)
    try:
        from scipy.optimize import differential_evolution
    except ImportError:
        raise MissingExtraError("--optimise", "tune", "Without it, the grid of --vary is searched") from None
    ends = np.array([(min(axis.values), max(axis.values)) for axis in grid.axes])
    by_ratio = ends[:, 0] > 0.0
    scaled = np.where(by_ratio[:, None], np.log(np.where(by_ratio[:, None], ends, 1.0)), ends)
    points: list[FloatArray] = []
    tables: list[FloatArray] = []
    column = MEASURES.index("cost_s" if grid.rates_vary else "cost")

    def cost(columns: FloatArray) -> FloatArray:
        given = np.atleast_2d(columns.T)
        values = np.clip(np.where(by_ratio, np.exp(given), given), ends[:, 0], ends[:, 1])
        table = None if kept is None else kept.known(values)
        if table is None:
            table = _evaluated(grid, model, values)
            if kept is not None:
                kept.keep(values, table)
        points.append(values)
        tables.append(table)
        told(min(sum(map(len, points)), runs))
        found: FloatArray = np.minimum(table[:, column], INFINITY)
        return found

    each = GENERATION_PER_AXIS * len(grid.axes)
    differential_evolution(
        cost,
        scaled.tolist(),
        popsize=GENERATION_PER_AXIS,
        maxiter=max(1, math.ceil(runs / each) - 1),
        rng=np.random.default_rng(seed),
        vectorized=True,
        updating="deferred",
        polish=False,
        tol=1e-6,
    )
    return Found(grid, np.vstack(tables), np.vstack(points))


def _evaluated(grid: Grid, model: RobotModel, values: FloatArray) -> FloatArray:
    """`MEASURES` of each row; rows that share a loop side by side."""
    whole = [k for k, axis in enumerate(grid.axes) if axis.name in WHOLE]
    table = np.empty((len(values), len(MEASURES)))
    _, group = np.unique(values[:, whole], axis=0, return_inverse=True) if whole else (None, np.zeros(len(values), int))
    for number in range(int(group.max()) + 1):
        rows = np.flatnonzero(group.reshape(-1) == number)
        table[rows] = evaluate(grid.experiment, model, grid.axes, values[rows], compiled=None)
    return table
