"""The RV-2AJ through the whole wiring on virtual time: planner, checker, bridge, driver, emulated controller."""

from __future__ import annotations

import msgspec
import pytest

from hil.motion.planner import plan_joint_move, plan_task
from hil.motion.tasks import load_task
from hil.robot import Robot
from hil.runtime.preview import preview
from hil.runtime.wiring import load_rig
from hil.units import DEG

RIGS = ("rv2aj", "rv2aj-hot", "rv2aj-line")
EPOCH_S = 1_750_000_000.0


@pytest.mark.parametrize("name", RIGS)
def test_a_move_runs_to_its_end_in_every_way_and_stands_where_it_should(name: str) -> None:
    rig = load_rig(name)
    goal = tuple(angle + by * DEG for angle, by in zip(rig.home, (12, -4, 6, -8, 10), strict=True))
    report = preview(rig, plan_joint_move(rig, rig.home, goal), now_epoch_s=EPOCH_S)
    assert report.refusals == ()
    assert all(jump == 0.0 for jump in report.first_move)


def test_the_bundled_task_is_previewed_twice_alike_to_the_last_byte() -> None:
    rig = load_rig("rv2aj")
    motion = plan_task(rig, Robot(rig.robot), load_task("configs/tasks/rv2aj-pick-and-place.toml"))
    first, second = (preview(rig, motion, now_epoch_s=EPOCH_S) for _ in range(2))
    assert first.ok
    assert first.wire_bytes == second.wire_bytes
    assert first.wire_bytes.count(b"EXECMOV JT\r") > 20


def test_an_arm_that_is_slower_than_the_rig_says_is_noticed_before_anything_moves() -> None:
    rig = load_rig("rv2aj")
    fast = (1800.0, 900.0, 1350.0, 1800.0, 2100.0)
    axes = tuple(
        msgspec.structs.replace(axis, speed=axis.speed * 5, servo_speed=axis.servo_speed * 10) for axis in rig.axes
    )
    settings = msgspec.structs.replace(rig.controller, max_speed_deg_s=fast)  # type: ignore[type-var]
    boast = msgspec.structs.replace(rig, axes=axes, controller=settings, tool_speed_m_s=2.0)
    ends = [(angle * DEG, *boast.home[1:]) for angle in (-120, 120)]
    report = preview(boast, plan_joint_move(boast, *ends), now_epoch_s=EPOCH_S)
    assert [refusal.check for refusal in report.refusals] == ["E-17"]
    assert "nothing is skipped" in report.refusals[0].advice or "did not fit on the line" in report.refusals[0].advice
