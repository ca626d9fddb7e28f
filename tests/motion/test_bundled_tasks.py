from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from controllers import CONTROLLERS

from hil.model.reader import load_rig
from hil.motion.planner import plan_task
from hil.motion.profiles import usage
from hil.motion.tasks import load_task
from hil.robot import Robot
from hil.safety.checker import check_motion

TASKS = Path(__file__).parents[2] / "configs" / "tasks"


def planned(file):
    """A bundled task on its own rig; those that suit any are planned on the Lynx6."""
    task = load_task(file)
    rig = load_rig(task.rig or "lynx6", CONTROLLERS)
    robot = Robot(rig.robot)
    return rig, robot, plan_task(rig, robot, task)


@pytest.mark.parametrize("file", sorted(TASKS.glob("*.toml")), ids=lambda file: file.stem)
def test_a_bundled_task_plans_ends_in_park_and_is_found_safe(file):
    rig, robot, motion = planned(file)
    assert motion.start == rig.park
    np.testing.assert_allclose(motion.end, rig.park, atol=1e-12)
    assert (usage(rig, motion.samples) <= 1.0).all()
    assert check_motion(rig, robot, motion).refusals == ()


def test_pick_and_place_takes_less_than_a_minute_and_has_lines_and_grips():
    _, _, motion = planned(TASKS / "pick-and-place.toml")
    assert 20.0 <= motion.duration_s <= 40.0
    assert {mark.kind for mark in motion.marks} == {"joint", "line", "wait", "gripper"}
