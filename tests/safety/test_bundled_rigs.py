"""The bundled rigs: what the planner makes of the bundled tasks passes the checker, and then the guard as well."""

from __future__ import annotations

from pathlib import Path

import pytest
from controllers import CONTROLLERS

from hil.model.reader import load_rig
from hil.motion.planner import plan_joint_move, plan_task
from hil.motion.stops import stop_ramp
from hil.motion.tasks import load_task
from hil.robot import Robot
from hil.safety.checker import check_motion
from hil.safety.guard import Guard
from hil.types import JointCommand

TASKS = Path(__file__).parents[2] / "configs" / "tasks"


def planned(name):
    task = load_task(TASKS / f"{name}.toml")
    rig = load_rig(task.rig or "lynx6", CONTROLLERS)
    robot = Robot(rig.robot)
    return rig, robot, plan_task(rig, robot, task)


def pass_guard(guard, rig, rows, first=0):
    for k, row in enumerate(rows, first):
        command = JointCommand(seq=k, due_s=k * rig.period_s, positions=tuple(row.tolist()))
        assert guard.check(command).hits == (), k


@pytest.mark.parametrize(
    "name", ["lynx6", "lynx6-4axis", "lynx6-bench", "al5d", "rv2aj", "rv2aj-hot", "rv2aj-line", "rv2aj-mxt"]
)
def test_from_home_to_park_and_back_passes(name):
    rig = load_rig(name, CONTROLLERS)
    robot = Robot(rig.robot)
    for start, goal in ((rig.home, rig.park), (rig.park, rig.home)):
        motion = plan_joint_move(rig, start, goal)
        assert check_motion(rig, robot, motion).refusals == ()
        guard = Guard(rig, robot)
        guard.reset(motion.start)
        pass_guard(guard, rig, motion.samples)


@pytest.mark.parametrize("name", ["pick-and-place", "square", "wave", "rv2aj-pick-and-place"])
def test_every_bundled_task_passes_and_so_does_a_stop_on_the_way(name):
    rig, robot, motion = planned(name)
    assert check_motion(rig, robot, motion).refusals == ()
    rows, period_s = motion.samples, rig.period_s
    guard = Guard(rig, robot)
    guard.reset(motion.start)
    pass_guard(guard, rig, rows)
    for k in range(50, len(rows), 150):
        guard.reset(motion.start)
        pass_guard(guard, rig, rows[: k + 1])
        velocity = (rows[k] - rows[k - 1]) / period_s
        acceleration = (rows[k] - 2.0 * rows[k - 1] + rows[k - 2]) / period_s**2
        pass_guard(guard, rig, stop_ramp(rig, rows[k], velocity, acceleration), k + 1)
