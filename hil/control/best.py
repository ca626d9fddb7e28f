"""The run before and the run after a search."""

from __future__ import annotations

from typing import NamedTuple

from hil.control.experiment import Experiment
from hil.control.loop import ClosedLoop
from hil.control.results import Trace
from hil.control.search import Found, with_values
from hil.control.summary import RunSummary, summary_of
from hil.robot import Robot


class BestRun(NamedTuple):
    """One run in full: ``before`` with the experiment as it was given, or ``after`` with the best setting."""

    name: str
    experiment: Experiment
    trace: Trace
    summary: RunSummary


def best_runs(arm: Robot, found: Found) -> list[BestRun]:
    """Before and after; empty if no setting is stable."""
    chosen = found.best()
    if not chosen:
        return []
    (values,) = found.values(chosen).tolist()
    base = found.grid.experiment
    after = with_values(base, arm.model, found.grid.axes, values)
    return [_run(arm, "before", base), _run(arm, "after", after)]


def _run(arm: Robot, name: str, experiment: Experiment) -> BestRun:
    trace = ClosedLoop(arm.model, experiment).trace()
    return BestRun(name, experiment, trace, summary_of(arm, experiment, trace))
