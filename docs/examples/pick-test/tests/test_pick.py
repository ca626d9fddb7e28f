"""The task, on the whole stack: our rig, the real driver, a fake board, and a clock that costs no waiting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import hil
from hil.refusal import RefusedError
from hil.testing import Faults, RigFactory, VirtualArm, WatchedBytes, plan_and_stream
from hil.types import Arm, Mode, Reset, Start

PROJECT = Path(__file__).parents[1]
PICK = PROJECT / "tasks" / "pick.toml"


def test_the_peg_is_gripped_and_lifted(virtual_arm: VirtualArm, unsafe_bytes: WatchedBytes) -> None:
    virtual_arm.run(PICK)
    assert virtual_arm.position("gripper") == pytest.approx(12.0, abs=0.3)
    tool_m = hil.Robot(virtual_arm.rig.robot).forward_kinematics(virtual_arm.servos[:5])[:3, 3]
    assert tool_m == pytest.approx([0.200, 0.080, 0.140], abs=0.003)
    assert not unsafe_bytes


def test_a_stop_in_the_middle_ends_within_the_declared_time(
    virtual_arm: VirtualArm, unsafe_bytes: WatchedBytes
) -> None:
    virtual_arm.begin(hil.plan(virtual_arm.rig, PICK))
    virtual_arm.wait(1.3)
    asked_s = virtual_arm.now_s
    virtual_arm.stop()
    assert virtual_arm.now_s - asked_s <= virtual_arm.stop_time_s
    rest = virtual_arm.setpoints
    virtual_arm.wait(5.0)
    assert virtual_arm.setpoints == rest


def test_after_a_pulled_cable_nothing_moves_until_somebody_confirms_the_pose(
    virtual_arm_factory: Callable[..., VirtualArm], fault_script: Callable[..., Faults], unsafe_bytes: WatchedBytes
) -> None:
    arm = virtual_arm_factory(faults=fault_script({"kind": "unplug", "at_s": 6.0, "for_s": 2.0}))
    motion = hil.plan(arm.rig, PICK)
    arm.begin(motion)
    arm.until(Mode.FAULT)
    arm.wait(3.0)
    rest = arm.setpoints
    arm.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    arm.tick(Arm(digest=motion.digest), Start(digest=motion.digest))
    arm.wait(2.0)
    assert arm.setpoints == rest


def test_the_power_supply_is_in_nobodys_way(hil_rig: RigFactory) -> None:
    """The same task, turned to the right, would hit it: the preview says so before anything moves."""
    with pytest.raises(RefusedError, match="supply"):
        plan_and_stream(hil_rig("rigs/desk.toml"), PROJECT / "tasks" / "into-the-supply.toml")


def test_the_task_fits_a_slower_base_too(hil_rig: RigFactory) -> None:
    slow = hil_rig("rigs/desk.toml", joints={"base": {"speed_deg_s": 20}})
    assert plan_and_stream(slow, PICK).report.ok
