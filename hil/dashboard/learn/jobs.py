"""The heavy parts of lessons as jobs for `hil.dashboard.learn.work.Work`: each begins in a process of its own."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hil.clock import monotonic_s
from hil.control.best import BestRun
from hil.control.experiment import Experiment
from hil.control.store import Store
from hil.dashboard.learn.steps import told_of
from hil.kernels.scalar import FloatArray
from hil.kinematics.workspace.joint_workspace import JointWorkspace
from hil.lessons import boxes, curves, dynamics, tuning, workspaces
from hil.lessons.thinning import Thinned
from hil.model.robot import RobotModel
from hil.robot import Robot

Steps = Generator[tuple[int, int], None, Any]


def reach_job(model: RobotModel, ask: workspaces.WorkspaceAsk, folder: str) -> Steps:
    """Clouds go through files: a window that takes in hundreds of megabytes at once stands still."""
    reached = yield from told_of(lambda told: workspaces.reach(Robot(model), ask, told, monotonic_s))
    for number, cloud in enumerate(reached.clouds):
        np.save(Path(folder) / f"{number}.npy", cloud.points_m)
    return reached._replace(clouds=tuple(cloud._replace(points_m=cloud.points_m[:0]) for cloud in reached.clouds))


def with_clouds(reached: workspaces.Reached, folder: str) -> workspaces.Reached:
    """With the points that the job left in its folder; they are read as they are drawn."""
    clouds = [
        Thinned(cloud.name, np.load(Path(folder) / f"{number}.npy", mmap_mode="r"), cloud.total)
        for number, cloud in enumerate(reached.clouds)
    ]
    return reached._replace(clouds=tuple(clouds))


def box_job(model: RobotModel, ask: boxes.BoxAsk) -> Generator[tuple[int, int], None, JointWorkspace]:
    """As `hil.lessons.boxes.box_need`."""
    total = len(boxes.places_of(ask))
    return (yield from told_of(lambda told: boxes.box_need(Robot(model), ask, lambda done: told(done, total))))


def curve_job(model: RobotModel, table: Mapping[str, Any], index: int | None, even: bool) -> Steps:
    """As `hil.lessons.curves.curve_answer`."""
    return (yield from told_of(lambda told: curves.curve_answer(Robot(model), table, index, told, even=even)))


def needed_job(model: RobotModel, experiment: Experiment) -> dynamics.NeededTorques:
    """As `hil.lessons.dynamics.needed_torques`."""
    return dynamics.needed_torques(Robot(model), experiment)


def run_job(model: RobotModel, experiment: Experiment, fall: bool) -> dynamics.Run:
    """As `hil.lessons.dynamics.run_of`."""
    return dynamics.run_of(Robot(model), experiment, fall=fall)


class Searched(NamedTuple):
    """What a search says as it goes.

    Attributes:
        done, total: settings.
        table: of the store by now.
    """

    done: int
    total: int
    table: FloatArray


def search_job(
    model: RobotModel, experiment: Experiment, vary: Sequence[str], folder: str, again: bool
) -> Generator[Searched, None, tuning.SearchEnd]:
    """As `hil.lessons.tuning.searched`, kept in a folder and gone on with from there."""
    arm = Robot(model)
    grid = tuning.grid_of(arm, experiment, vary)
    store = Store(Path(folder), grid, again=again)
    # A process that ends with the window may have none of its own: compiled loops use all cores, plain ones this one.
    steps = told_of(lambda told: tuning.searched(arm, store, lambda done: told(done, grid.count), monotonic_s, cores=1))
    while True:
        try:
            done, total = next(steps)
        except StopIteration as end:
            found: tuning.SearchEnd = end.value
            return found
        yield Searched(done, total, store.table.copy())


def setting_job(model: RobotModel, experiment: Experiment, name: str) -> BestRun:
    """One setting of a search in full."""
    return tuning.run_at(Robot(model), experiment, name)
