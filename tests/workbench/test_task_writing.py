"""Poses kept as steps: the file is a task before and after, and what stood in it stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import ConfigError
from hil.motion.planner import plan_task
from hil.motion.tasks import Gripper, Move, load_task
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.runtime import wiring
from hil.units import DEG, MM
from hil.workbench.task_poses import append_pose

RIG = wiring.load_rig("lynx6")
HOME = RIG.home


def moved(**degrees: float) -> tuple[float, ...]:
    return tuple(
        value + degrees.get(axis.name, 0.0) * (MM if axis.name == "gripper" else DEG)
        for axis, value in zip(RIG.axes, HOME, strict=True)
    )


def test_a_new_file_becomes_a_task_that_can_be_planned(tmp_path: Path) -> None:
    file = tmp_path / "new" / "my-poses.toml"
    assert append_pose(file, RIG, HOME) == 1
    task = load_task(file)
    assert (task.title, task.rig, task.start) == ("my poses", "lynx6", "park")
    move, gripper = task.steps
    assert isinstance(move, Move)
    assert move.joints_deg == {"base": 0.0, "shoulder": 90.0, "elbow": -75.0, "wrist": -55.0, "wrist_rotate": 0.0}
    assert isinstance(gripper, Gripper)
    assert gripper.opening_mm == 20.0
    assert plan_task(RIG, Robot(RIG.robot), task).samples[-1] == pytest.approx(HOME, abs=1e-6)


def test_a_file_that_is_there_keeps_its_text_and_gets_steps_at_its_end(tmp_path: Path) -> None:
    file = tmp_path / "task.toml"
    text = '# by hand\ntitle = "t"   # kept\n[[step]]\ndo = "gripper"\nopening_mm = 20'
    file.write_text(text)
    assert append_pose(file, RIG, moved(base=10)) == 2
    assert append_pose(file, RIG, moved(base=20, gripper=-3)) == 3
    after = file.read_text()
    assert after.startswith(text)
    assert [step.do for step in load_task(file).steps] == ["gripper", "move", "move", "gripper"]
    assert list(tmp_path.iterdir()) == [file]


@given(st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6))
@settings(max_examples=30, deadline=None)
def test_any_pose_inside_the_soft_limits_is_kept_and_can_be_reached(
    tmp_path_factory: pytest.TempPathFactory, parts: list[float]
) -> None:
    file = tmp_path_factory.mktemp("poses") / "pose.toml"
    pose = [
        axis.lower + axis.soft_margin + part * (axis.upper - axis.lower - 2 * axis.soft_margin)
        for axis, part in zip(RIG.axes, parts, strict=True)
    ]
    append_pose(file, RIG, pose)
    end = plan_task(RIG, Robot(RIG.robot), load_task(file)).samples[-1]
    assert end[:5] == pytest.approx(pose[:5], abs=2e-4 * DEG)


def test_a_pose_where_no_task_may_go_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "task.toml"
    with pytest.raises(RefusedError, match="base: upper soft limit"):
        append_pose(file, RIG, moved(base=87))
    assert not file.exists()


@pytest.mark.parametrize(
    "text", ['title = "t"\nrig = "al5d"\n[[step]]\ndo = "wait"\nseconds = 1\n', "no toml", 'title = "t"\n']
)
def test_a_file_that_is_no_task_of_this_rig_is_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "task.toml"
    file.write_text(text)
    with pytest.raises(ConfigError):
        append_pose(file, RIG, HOME)
    assert file.read_text() == text


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="a place where files can be written"):
        append_pose(tmp_path / "file" / "task.toml", RIG, HOME)
