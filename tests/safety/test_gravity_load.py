"""What servos carry against gravity, held against numbers worked out by hand."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.model.rig import Capsule, Rig
from hil.runtime.wiring import load_rig
from hil.space.gravity_load import GravityLoad, release_order
from hil.units import DEG

RIG = load_rig("lynx6")
LEVEL = (0.0,) * 6
"""Upper arm, forearm and hand stretched out level: all that the arm can be made to carry."""
UPRIGHT = (0.0, 90.0 * DEG, 0.0, 0.0, 0.0, 0.0)


def without_masses(rig: Rig) -> Rig:
    return msgspec.structs.replace(rig, robot=msgspec.structs.replace(rig.robot, inertia=None))


def test_the_level_arm_carries_what_the_levers_say() -> None:
    """Masses and centres of the robot's file: 44 g 57.9 mm out, 207 g 158 mm out, 81 g 283.2 mm out; 9.81 m/s2."""
    base, shoulder, elbow, wrist, _ = GravityLoad(RIG).loads(LEVEL)
    assert shoulder.torque_n_m == pytest.approx(9.81 * (0.044 * 0.0579 + 0.207 * 0.158 + 0.081 * 0.2832))
    assert shoulder.torque_n_m == pytest.approx(0.5709, abs=1e-4)
    assert elbow.torque_n_m == pytest.approx(9.81 * (0.207 * 0.038 + 0.081 * 0.1632))
    assert wrist.torque_n_m == pytest.approx(9.81 * 0.081 * 0.0432)
    assert base.torque_n_m == pytest.approx(0.0, abs=1e-9)
    # 11 kg cm of an HS-755HB are 1.08 N m.
    assert shoulder.share == pytest.approx(0.5709 / 1.08, abs=1e-3)
    assert [each.axis for each in GravityLoad(RIG).loads(LEVEL) if each.heavy] == ["shoulder"]


def test_only_what_is_too_much_for_long_is_warned_of() -> None:
    load = GravityLoad(RIG)
    assert "shoulder 0.57 N m, 53 % of its servo's stall torque" in load.words(LEVEL)
    assert "WARNING: shoulder above 50 %" in load.words(LEVEL)
    assert "WARNING" not in load.words(RIG.home)
    assert load.words(UPRIGHT).endswith("nothing to speak of")


def test_a_rig_that_names_no_servos_gets_torques_alone() -> None:
    axes = tuple(msgspec.structs.replace(axis, stall_torque_n_m=None) for axis in RIG.axes)
    load = GravityLoad(msgspec.structs.replace(RIG, axes=axes))
    assert {each.share for each in load.loads(LEVEL)} == {None}
    assert "shoulder 0.57 N m;" in load.words(LEVEL) and "WARNING" not in load.words(LEVEL)


def test_without_masses_the_shapes_are_weighed_and_it_is_said() -> None:
    """One rod on the forearm alone: 120 mm long, 20 mm thick all round, its middle 180 mm from the shoulder."""
    rod = Capsule(name="rod", link=3, start_m=(-0.12, 0.0, 0.0), end_m=(0.0, 0.0, 0.0), radius_m=0.02)
    load = GravityLoad(msgspec.structs.replace(without_masses(RIG), shapes=(rod,)))
    mass_kg = 550.0 * math.pi * 0.02**2 * (0.12 + 4.0 / 3.0 * 0.02)
    assert mass_kg == pytest.approx(0.1014, abs=1e-4)
    assert load.torques(LEVEL) == pytest.approx((0.0, 9.81 * mass_kg * 0.18, 9.81 * mass_kg * 0.06, 0.0, 0.0), abs=1e-9)
    assert "rough estimate from the sizes" in load.words(LEVEL)
    assert "masses of robot lynx6" in GravityLoad(RIG).words(LEVEL)


def test_the_shapes_of_the_bundled_arms_weigh_about_what_their_links_do() -> None:
    for name in ("lynx6", "lynx6-4axis", "al5d"):
        rig = load_rig(name)
        most = max(map(abs, GravityLoad(rig).torques(LEVEL)))
        assert max(map(abs, GravityLoad(without_masses(rig)).torques(LEVEL))) == pytest.approx(most, rel=0.6)


@given(
    st.tuples(*(st.floats(axis.lower, axis.upper) for axis in RIG.axes)),
)
def test_the_gripper_is_let_go_of_first_and_what_carries_most_last(pose: tuple[float, ...]) -> None:
    order = release_order(RIG, pose)
    assert sorted(order) == list(range(6)) and order[0] == RIG.gripper
    carried = [round(abs(GravityLoad(RIG).torques(pose)[index]), 3) for index in order[1:]]
    assert carried == sorted(carried)


def test_joints_that_carry_the_same_are_let_go_of_from_the_outermost_in() -> None:
    names = [RIG.axes[index].name for index in release_order(RIG, UPRIGHT)]
    assert names == ["gripper", "wrist_rotate", "wrist", "elbow", "shoulder", "base"]
