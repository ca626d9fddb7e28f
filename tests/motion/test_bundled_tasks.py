from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drivers.ssc32 import settings_from_table
from hil.model.loading import load_rig
from hil.motion.planning import plan_task
from hil.motion.profiles import usage
from hil.motion.tasks import load_task
from hil.robot import Robot
from hil.safety.checker import check_motion

TASKS = Path(__file__).parents[2] / "configs" / "tasks"


@pytest.fixture(scope="module")
def rig():
    return load_rig("lynx6", {"ssc32": settings_from_table})


@pytest.fixture(scope="module")
def robot(rig):
    return Robot(rig.robot)


@pytest.mark.parametrize("file", sorted(TASKS.glob("*.toml")), ids=lambda file: file.stem)
def test_a_bundled_task_plans_on_the_lynx6_ends_in_park_and_is_found_safe(rig, robot, file):
    motion = plan_task(rig, robot, load_task(file))
    assert motion.start == rig.park
    np.testing.assert_allclose(motion.end, rig.park, atol=1e-12)
    assert (usage(rig, motion.samples) <= 1.0).all()
    assert check_motion(rig, robot, motion).refusals == ()


def test_pick_and_place_takes_less_than_a_minute_and_has_lines_and_grips(rig, robot):
    motion = plan_task(rig, robot, load_task(TASKS / "pick-and-place.toml"))
    assert 20.0 <= motion.duration_s <= 40.0
    assert {mark.kind for mark in motion.marks} == {"joint", "line", "wait", "gripper"}
