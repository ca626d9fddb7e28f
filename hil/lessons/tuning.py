"""A search for gains as a lesson: begun in pieces, stopped and gone on with, as a heat map whose cells are runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hil.control.best import BestRun, best_runs
from hil.control.crew import crew_of
from hil.control.experiment import Experiment
from hil.control.loop import ClosedLoop
from hil.control.search import MEASURES, Axis, Found, Grid, axis_of, check_axes, check_grid, with_values
from hil.control.store import Store
from hil.control.summary import summary_of
from hil.control.tuning import search, worth_compiling
from hil.kernels.scalar import FloatArray
from hil.robot import Robot

SHOWN = 10
"""Settings that are listed."""


class HeatMap(NamedTuple):
    """Costs over two of the axes; over the others, the best.

    Attributes:
        across, up: what varies; the same axis twice where one varies alone.
        cost: shape (values up, values across); infinity where all are unstable, NaN where nothing was run yet.
        numbers: the setting that each cell shows, of the same shape; -1 where none was run.
    """

    across: Axis
    up: Axis
    cost: FloatArray
    numbers: npt.NDArray[np.int64]


class SearchEnd(NamedTuple):
    """What came of a search.

    Attributes:
        found: of all settings.
        runs: before and after, in full; none where no setting is stable.
    """

    found: Found
    runs: tuple[BestRun, ...]


def grid_at_once(arm: Robot, experiment: Experiment, vary: Sequence[str]) -> Grid:
    """The grid, of which it is known that its axes are right; its corners are not tried.

    Raises:
        CommandError: nothing varies, or something that cannot.
    """
    grid = Grid(experiment=experiment, axes=tuple(axis_of(text, arm.model) for text in vary))
    check_axes(grid)
    return grid


def grid_of(arm: Robot, experiment: Experiment, vary: Sequence[str]) -> Grid:
    """The grid that is searched, tried at its corners.

    Args:
        arm: the robot, with the masses that the experiment asks for.
        experiment: the base.
        vary: as `hil tune --vary` takes them.

    Raises:
        CommandError: nothing varies, or something has no meaning.
    """
    grid = grid_at_once(arm, experiment, vary)
    check_grid(grid, arm.model)
    return grid


def searched(
    arm: Robot, store: Store, told: Callable[[int], None], clock: Callable[[], float], *, cores: int | None = None
) -> SearchEnd:
    """Run what the store has not yet, and the best setting in full.

    Args:
        arm: the robot, with the masses that the experiment asks for.
        store: of the search.
        told: is told how many settings are done.
        clock: seconds, to keep what was found every so often.
        cores: that work where nothing is compiled; all by default.
    """
    compiled = worth_compiling(store.grid, arm.model)
    crew = crew_of(store.grid, arm.model, compiled=compiled, cores=None if compiled else cores)
    search(store, arm.model, crew, compiled=compiled, told=told, clock=clock)
    return SearchEnd(store.found, tuple(best_runs(arm, store.found)))


def kept(grid: Grid, folder: Path) -> Found:
    """What a search that was stopped has left.

    Raises:
        CommandError: the folder holds another search.
    """
    return Store(folder, grid).found


def heat_map(found: Found, across: int = 0, up: int = 1) -> HeatMap:
    """The map over two axes, by their places in the grid."""
    grid = found.grid
    up = up if len(grid.axes) > 1 else across
    costs = found.costs.reshape(grid.shape)
    numbers = np.arange(grid.count).reshape(grid.shape)
    first = [up, across] if up != across else [across]
    others = [k for k in range(len(grid.axes)) if k not in first]
    order = first + others
    rows = len(grid.axes[up].values) if up != across else 1
    shape = (rows, len(grid.axes[across].values), -1)
    costs, numbers = costs.transpose(order).reshape(shape), numbers.transpose(order).reshape(shape)
    ranked = np.where(np.isnan(costs), np.inf, costs)
    # Of settings that are all unstable the first that was run, so that it can be opened.
    ranked = np.where(np.isinf(costs), np.finfo(float).max, ranked)
    at = np.argmin(ranked, axis=2)[..., None]
    cost = np.take_along_axis(costs, at, axis=2)[..., 0]
    shown = np.take_along_axis(numbers, at, axis=2)[..., 0]
    return HeatMap(grid.axes[across], grid.axes[up], cost, np.where(np.isnan(cost), -1, shown))


def experiment_at(arm: Robot, found: Found, number: int) -> Experiment:
    """The experiment of one setting."""
    (values,) = found.values([number]).tolist()
    return with_values(found.grid.experiment, arm.model, found.grid.axes, values)


def run_at(arm: Robot, experiment: Experiment, name: str) -> BestRun:
    """One setting in full."""
    trace = ClosedLoop(arm.model, experiment).trace()
    return BestRun(name, experiment, trace, summary_of(arm, experiment, trace))


def search_report(found: Found, best: Sequence[BestRun], *, pareto: bool) -> dict[str, Any]:
    """All numbers of a search, as `hil tune --json` prints them."""
    report: dict[str, Any] = {
        "settings": len(found.table),
        "done": found.done,
        "unstable": found.unstable,
        "minimised": "cost_s" if found.grid.rates_vary else "cost",
        "best": setting_rows(found, found.best(SHOWN)),
        "ties": setting_rows(found, found.ties()),
        "runs": [{"experiment": run.experiment, "summary": run.summary} for run in best],
    }
    if pareto:
        report["pareto"] = setting_rows(found, found.pareto())
    return report


def setting_rows(found: Found, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """What is set in some settings, and what each measured."""
    names = [axis.title for axis in found.grid.axes]
    values = found.values(numbers).tolist()
    return [
        {**dict(zip(names, row, strict=True)), **dict(zip(MEASURES, found.table[k].tolist(), strict=True))}
        for k, row in zip(numbers, values, strict=True)
    ]
