"""Any robot moves without a rig: a simulated arm of its own limits, in bodies that cover it."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec
import numpy as np
import pytest

from hil.errors import ConfigError, InterlockError
from hil.model.files import list_names
from hil.model.reader import load_robot
from hil.model.rig import Rig
from hil.model.rig_text import file_text
from hil.model.robot import JointType
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.runtime import wiring
from hil.runtime.port_wiring import check_arm
from hil.runtime.preview import preview
from hil.service.rig_copy import pulled
from hil.space.coverage import margin_of, require_bodies, uncovered
from hil.space.rig_of_robot import SPEED_DEG_S, rig_of_robot
from hil.testing.arms import VirtualArm
from hil.testing.fault_scripts import fault_script
from hil.types import ArmJog, AxisJog, JogStep, Mode, StateSource
from hil.units import DEG, MM

ROBOTS = [name for name in list_names("robots") if name not in list_names("rigs")]
STEP = 1.0 * DEG


@functools.cache
def rig_of(name: str) -> Rig:
    return wiring.load_rig(name)


def short_move(rig: Rig) -> Motion:
    """Every joint a little towards the middle of its range, one after the other would do as well."""
    goal = list(rig.home)
    for index, axis in enumerate(rig.axes):
        middle = 0.5 * (axis.lower + axis.upper)
        goal[index] += min(STEP, 0.05 * (axis.upper - axis.lower)) * (1.0 if middle >= goal[index] else -1.0)
    return plan_joint_move(rig, rig.park, goal)


@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_is_previewed_and_led_by_hand(name: str) -> None:
    rig = rig_of(name)
    report = preview(rig, short_move(rig))
    assert report.ok, report.refusals[0].text
    arm = VirtualArm(rig)
    arm.ready()
    towards = 1.0 if rig.axes[0].upper > rig.home[0] + 2 * STEP else -1.0
    amounts = (towards * STEP, *[0.0] * (len(rig.axes) - 1))
    arm.tick(ArmJog(speed_share=1.0))
    arm.tick(JogStep(move=AxisJog(amounts=amounts)))
    for _ in range(150):
        arm.tick()
    assert arm.mode is Mode.HOLDING or arm.mode is Mode.IDLE
    assert arm.servos[0] == pytest.approx(rig.home[0] + towards * STEP, abs=1e-4)
    assert arm.servos[1:] == pytest.approx(rig.home[1:], abs=1e-4)


@pytest.mark.parametrize("name", ROBOTS)
def test_its_limits_and_speeds_are_those_of_the_robots_file(name: str) -> None:
    rig = rig_of(name)
    for axis, joint in zip(rig.axes, rig.robot.joints, strict=True):
        if joint.lower is not None and joint.upper is not None:
            assert (axis.lower, axis.upper) == pytest.approx((joint.lower, joint.upper), abs=1e-5)
            assert joint.lower - 1e-9 <= axis.lower <= axis.upper <= joint.upper + 1e-9
        else:
            assert any(words.startswith(f"{joint.name}: no limits") for words in rig.defaults)
        if joint.max_speed is not None:
            assert axis.speed == pytest.approx(joint.max_speed, rel=1e-4)
            assert axis.speed <= joint.max_speed
        elif joint.type is JointType.REVOLUTE:
            assert axis.speed == pytest.approx(SPEED_DEG_S * DEG)
            assert any(words.startswith("speed of") for words in rig.defaults)


@pytest.mark.parametrize("name", ROBOTS)
def test_files_that_are_pulled_give_the_same_rig(name: str, tmp_path: Path) -> None:
    rig = rig_of(name)
    found = pulled("arm", rig)
    for file in found.files:
        place = tmp_path / file.name
        place.parent.mkdir(exist_ok=True)
        place.write_text(file.text, encoding="utf-8")
    assert wiring.load_rig(tmp_path / "rigs" / f"{rig.id}.toml").digest == rig.digest == found.digest


def test_a_rig_of_the_same_name_wins() -> None:
    assert wiring.load_rig("lynx6").controller.kind == "ssc32"
    assert wiring.load_rig("lynx6-alu").controller.kind == "simulated"


def test_a_robots_file_is_enough(tmp_path: Path) -> None:
    place = tmp_path / "mine.toml"
    place.write_text(Path(load_robot("ur5").file).read_text("utf-8"), encoding="utf-8")
    rig = wiring.load_rig(place)
    assert (rig.id, rig.controller.kind) == ("mine", "simulated")


def test_neither_rig_nor_robot_is_told_with_what_was_meant() -> None:
    with pytest.raises(ConfigError, match=r"one of the rigs al5d, .*robot: `hil robots`.*Did you mean 'puma560'"):
        wiring.load_rig("puma56")


def test_what_is_reported_is_simulated_and_where_the_arm_is() -> None:
    arm = VirtualArm(rig_of("puma560"))
    arm.ready()
    report = arm.records[-1].reported
    assert report is not None
    assert report.source is StateSource.SIMULATED
    assert report.positions == pytest.approx(rig_of("puma560").home, abs=1e-6)


def test_no_real_port_leads_to_it() -> None:
    with pytest.raises(InterlockError, match=r"simulated controller.*hil new rig NAME --robot ur5"):
        check_arm(rig_of("ur5"), "/dev/ttyUSB0")


def test_a_controller_that_was_switched_off_and_on_is_a_fault() -> None:
    arm = VirtualArm(rig_of("ur5"), faults=fault_script({"kind": "reset", "at_s": 1.0}))
    arm.ready()
    for _ in range(100):
        arm.tick()
    assert arm.mode is Mode.FAULT
    assert any("it was switched off and on" in event for event in arm.events)


# -- bodies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ROBOTS, *list_names("rigs")])
def test_every_link_is_inside_the_bodies(name: str) -> None:
    assert not uncovered(rig_of(name))


@pytest.mark.parametrize("name", ["lynx6", "rv2aj", "ur5"])
def test_a_body_that_is_taken_away_or_too_short_is_refused(name: str) -> None:
    rig = rig_of(name)
    arms = [shape for shape in rig.shapes if shape.link in (2, 3)]
    assert arms
    for shape in arms:
        rest = tuple(other for other in rig.shapes if other.link != shape.link)
        short = msgspec.structs.replace(shape, start_m=shape.end_m, radius_m=0.01)
        for shapes in (rest, (*rest, short)):
            with pytest.raises(ConfigError, match=rf"shapes: .*behind .* of frame {shape.link}") as told:
                require_bodies(msgspec.structs.replace(rig, shapes=shapes), frozenset())
            assert f"link = {shape.link}" in str(told.value)


def test_a_link_may_come_out_by_four_hundredths_of_the_arm_and_no_more() -> None:
    rig = rig_of("lynx6")
    assert margin_of(rig) == pytest.approx(0.04 * 0.5006, abs=1e-3)
    (forearm,) = [shape for shape in rig.shapes if shape.name == "forearm"]
    others = tuple(shape for shape in rig.shapes if abs(shape.link - 3) > 1 or shape.name == "forearm")
    for beyond_m, fits in ((margin_of(rig) - 1e-3, True), (margin_of(rig) + 1e-3, False)):
        x = forearm.end_m[0] - forearm.radius_m - beyond_m
        cut = msgspec.structs.replace(forearm, end_m=(x, 0.0, 0.0))
        shapes = tuple(cut if shape.name == "forearm" else shape for shape in others)
        links = [each.link for each in uncovered(msgspec.structs.replace(rig, shapes=shapes))]
        assert (3 not in links) is fits


def test_bodies_of_another_robots_rig_are_refused_unless_they_fit(tmp_path: Path) -> None:
    robot = tmp_path / "short.toml"
    text = Path(load_robot("al5d").file).read_text("utf-8")
    robot.write_text(text.replace("a_mm = 177.51", "a_mm = 100"), encoding="utf-8")
    rig = tmp_path / "mine.toml"
    rig.write_text(file_text({"inherit": "al5d", "robot": str(robot)}), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"shapes.forearm: .*52 mm beyond its link of 'short'"):
        wiring.load_rig(rig)
    own = {"shapes": {"forearm": {"start_mm": [-100, 0, 0], "end_mm": [0, 0, 0]}}}
    rig.write_text(file_text({"inherit": "al5d", "robot": str(robot), **own}), encoding="utf-8")
    assert wiring.load_rig(rig).robot.id == "short"


def test_bodies_stay_foreign_through_a_rig_between(tmp_path: Path) -> None:
    robot = tmp_path / "short.toml"
    text = Path(load_robot("al5d").file).read_text("utf-8")
    robot.write_text(text.replace("a_mm = 177.51", "a_mm = 100"), encoding="utf-8")
    (tmp_path / "between.toml").write_text(file_text({"inherit": "al5d", "robot": str(robot)}), encoding="utf-8")
    heir = tmp_path / "heir.toml"
    heir.write_text(file_text({"inherit": "./between.toml", "title": "heir"}), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"heir.toml: shapes.forearm"):
        wiring.load_rig(heir)


def test_pairs_that_always_touch_are_not_checked_and_all_others_are() -> None:
    rig = rig_of("stanford")
    table = rig_of_robot(rig.robot, {"kind": "simulated"}).table
    neighbours = {frozenset(pair) for pair in table["fences"]["neighbours"]}
    names = [shape.name for shape in rig.shapes]
    pairs = {frozenset((a, b)) for i, a in enumerate(names) for b in names[i + 1 :]}
    assert frozenset(("base", "J1_link")) in neighbours
    assert pairs - neighbours
    assert np.isclose(rig.fences.clearance_m, 5 * MM)
