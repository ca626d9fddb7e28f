"""Rigs whose servos have a model: shadow and fake move by it, on every kind of controller; the wire stays as it was."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from msgspec.structs import replace

from hil.model.rig import Rig
from hil.model.servo import DriveServo, HobbyServo, ServoModel
from hil.runtime.wiring import load_rig
from hil.testing.arms import VirtualArm
from hil.types import Mode

HOBBY = HobbyServo(frequency_rad_s=10.0 * math.pi, damping=0.8, dead_band=0.01, backlash=0.004, sag=0.02)
DRIVE = DriveServo(acceleration=0.4)


def with_servo(rig: Rig, servo: ServoModel) -> Rig:
    joints = rig.axes[: rig.robot.dof]
    return replace(rig, axes=(*[replace(axis, servo=servo) for axis in joints], *rig.axes[rig.robot.dof :]))


def swayed(rig: Rig, folder: Path, axis: str) -> VirtualArm:
    task = folder / "sway.toml"
    steps = (f'[[step]]\ndo = "move"\nby_deg = {{ {axis} = {way} }}\n' for way in (12, -12))
    task.write_text('title = "to and fro"\nstart = "home"\n' + "".join(steps))
    arm = VirtualArm(rig)
    arm.run(task)
    arm.wait(1.0)
    assert arm.mode is Mode.IDLE
    return arm


@pytest.mark.parametrize(
    ("name", "axis", "servo"),
    [("lynx6", "shoulder", HOBBY), ("rv2aj-mxt", "J1", DRIVE), ("ur5", "J1", replace(HOBBY, sag=0.0))],
)
def test_shadow_and_fake_follow_alike_and_the_wire_stays_as_it_was(tmp_path, name, axis, servo):
    rig = load_rig(name)
    index = rig.index(axis)
    plain, modelled = swayed(rig, tmp_path, axis), swayed(with_servo(rig, servo), tmp_path, axis)
    assert modelled.written == plain.written
    for at, shadow in zip(modelled.servos, modelled.records[-1].simulated.positions, strict=True):
        assert at == pytest.approx(shadow, abs=0.012)
    moved = [record.simulated.positions[index] for record in modelled.records]
    before = [record.simulated.positions[index] for record in plain.records]
    assert max(abs(a - b) for a, b in zip(moved, before, strict=True)) > 1e-3


def test_a_shoulder_that_carries_its_arm_stands_lower_in_shadow_and_fake(tmp_path):
    rig = load_rig("lynx6")
    arm = swayed(with_servo(rig, replace(HOBBY, dead_band=0.0, backlash=0.0, sag=0.1)), tmp_path, "elbow")
    index = rig.index("elbow")
    due = arm.setpoints[index]
    assert due is not None
    sunk = due - arm.servos[index]
    assert abs(sunk) > 0.005
    assert arm.records[-1].simulated.positions[index] == pytest.approx(arm.servos[index], abs=1e-3)
