"""Robot files: the bundled ones hold what their sources say, and every fault of one is named."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from robot_numbers import EXPECTED

from hil.errors import ConfigError
from hil.model._robot_file import robot_from_table
from hil.model.files import bundled_dir, list_names
from hil.model.reader import load_robot
from hil.model.robot import Joint, JointType, RobotModel
from hil.units import DEG, MM

Matrix = npt.NDArray[np.float64]

BUNDLED = sorted(path.stem for path in (bundled_dir() / "robots").glob("*.toml"))
DERIVED = ["lynx6-4axis", "spatial-3r", "vrm-abbirb2400-5axis"]

SMALL = """
title = "two joints"
manufacturer = "nobody"
convention = "standard"
status = "made for a test"
source = "this file"

[tool]
rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
translation_mm = [0, 0, 10]

[[joints]]
name = "turn"
type = "revolute"
d_mm = 100
theta_deg = 30
a_mm = 20
alpha_deg = 90
sign = 1
lower_deg = -90
upper_deg = 90
max_speed_deg_s = 60
home_deg = 90

[[joints]]
name = "slide"
type = "prismatic"
d_mm = 10
theta_deg = -45
a_mm = 5
alpha_deg = -30
sign = -1
lower_mm = 0
upper_mm = 200
max_speed_mm_s = 50
home_mm = 0
"""

INERTIA = """
inertia_frame = "distal"
[[joints]]
name = "turn"
type = "revolute"
d_mm = 100
theta_deg = 0
a_mm = 20
alpha_deg = 90
[joints.inertia]
mass_kg = 1
com_mm = [-10, 0, 0]
inertia_kg_m2 = [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
"""


def load_text(tmp_path: Path, text: str) -> RobotModel:
    path = tmp_path / "arm.toml"
    path.write_text(text)
    return load_robot(path)


def row(joint: Joint, q: float) -> tuple[float, float]:
    """Angle about z and way along z of one joint at `q`."""
    turn = joint.sign * q if joint.type is JointType.REVOLUTE else 0.0
    slide = joint.sign * q if joint.type is JointType.PRISMATIC else 0.0
    return joint.theta_rad + turn, joint.d_m + slide


def about_z(angle_rad: float, z_m: float) -> Matrix:
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, z_m], [0, 0, 0, 1]])


def about_x(angle_rad: float, x_m: float) -> Matrix:
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    return np.array([[1, 0, 0, x_m], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])


def tool_pose(robot: RobotModel, q: list[float]) -> Matrix:
    pose = np.array(robot.base)
    for joint, value in zip(robot.joints, q, strict=True):
        pose = pose @ about_z(*row(joint, value)) @ about_x(joint.alpha_rad, joint.a_m)
    result: Matrix = pose @ np.array(robot.tool)
    return result


def test_all_sourced_robots_are_there() -> None:
    assert sorted(EXPECTED) == [name for name in BUNDLED if name not in DERIVED]
    assert len(EXPECTED) == 53
    assert set(BUNDLED) <= set(list_names("robots"))


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_robot_says_where_it_comes_from_and_invents_nothing(name: str) -> None:
    robot = load_robot(name)
    assert robot.id == name
    assert robot.source
    assert robot.status
    assert robot.licence_note
    assert len({joint.name for joint in robot.joints}) == robot.dof
    for transform in (robot.base, robot.tool):
        rotation = np.array(transform)[:3, :3]
        assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_bundled_robot_holds_its_sources_numbers(name: str) -> None:
    robot = load_robot(name)
    pose = tool_pose(robot, [0.3 * (i + 1) * (-1) ** i for i in range(robot.dof)])
    sums = [
        sum(value for joint in robot.joints if (value := getattr(joint, field)) is not None)
        for field in ("lower", "upper", "max_speed")
    ]
    assert [*pose[:3, 3], pose[0, 1], pose[2, 2], *sums] == pytest.approx(EXPECTED[name], abs=2e-9)


def test_what_no_source_gives_stays_not_given() -> None:
    lynx6, sixx = load_robot("lynx6"), load_robot("kuka-kr-5-sixx-r650")
    assert all(joint.max_speed is None for joint in lynx6.joints)
    assert lynx6.payload_kg is None
    assert all(joint.lower is None and joint.upper is None for joint in sixx.joints)


def test_whole_degrees_and_millimetres_stay_whole() -> None:
    elbow = load_robot("lynx6").joints[2]
    assert (elbow.lower, elbow.upper, elbow.a_m) == (-90 * DEG, 90 * DEG, 120 * MM)


def test_the_four_axis_lynx6_is_the_lynx6_with_its_wrist_rotation_at_rest() -> None:
    whole, four = load_robot("lynx6"), load_robot("lynx6-4axis")
    q = [0.4, 1.2, -0.9, -0.5]
    assert four.joints == whole.joints[:4]
    assert np.allclose(tool_pose(four, q), tool_pose(whole, [*q, 0.0]), atol=1e-12)


def test_the_kr5_stands_where_its_paper_says() -> None:
    pose = tool_pose(load_robot("vrm-kukakr5"), [0, 90 * DEG, 0, 0, 90 * DEG, 0])
    assert pose[:3, 3] == pytest.approx([0.8, 0.0, 1.005], abs=1e-12)


def test_the_rv2aj_joints_have_the_controllers_names() -> None:
    assert [joint.name for joint in load_robot("rv2aj").joints] == ["J1", "J2", "J3", "J5", "J6"]


def test_the_puma_has_its_whole_published_inertia() -> None:
    robot = load_robot("puma560")
    assert robot.inertia is not None
    link = robot.inertia[1]
    assert link.mass_kg == 17.4
    assert link.com_m == pytest.approx((-0.3638, 0.006, 0.2275), abs=1e-15)
    assert link.inertia_kg_m2 == ((0.13, 0, 0), (0, 0.524, 0), (0, 0, 0.539))
    assert (link.motor_inertia_kg_m2, link.gear_ratio, link.viscous_nm_s) == (0.0002, 107.815, 0.000817)
    assert link.coulomb_nm == (0.126, -0.071)


def test_centres_of_mass_given_at_the_near_joint_are_moved_to_the_far_frame() -> None:
    robot = load_robot("al5d")
    assert robot.inertia is not None
    upper_arm, hand = robot.inertia[1], robot.inertia[3]
    assert upper_arm.com_m == pytest.approx((0.07084 - 0.14679, 0.0, -0.0019), abs=1e-12)
    assert hand.com_m == pytest.approx((0.04318 - 0.07719, 0.00735, -0.00523), abs=1e-12)


def test_inertia_that_cannot_be_trusted_is_told_and_not_used() -> None:
    robot = load_robot("vrm-kukakr5")
    assert robot.inertia is None
    assert "Not used as inertia" in robot.inertia_status


def test_the_stanford_arm_has_its_published_masses_and_nothing_else_of_what_cannot_be_trusted() -> None:
    robot = load_robot("stanford")
    assert robot.inertia is not None
    assert [link.mass_kg for link in robot.inertia] == [9.29, 5.01, 4.25, 1.08, 0.63, 0.51]
    assert robot.inertia_status.startswith("ESTIMATE")
    assert "Not used as inertia" in robot.inertia_status
    assert max(abs(value) for link in robot.inertia for value in link.com_m) < 1.0


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=2))
def test_modified_rows_give_the_same_poses_as_their_own_formula(q: list[float]) -> None:
    table = tomllib.loads(SMALL)
    plain = robot_from_table(table, "arm", "arm.toml")
    robot = robot_from_table({**table, "convention": "modified"}, "arm", "arm.toml")
    expected = np.eye(4)
    for joint, value in zip(plain.joints, q, strict=True):
        expected = expected @ about_x(joint.alpha_rad, joint.a_m) @ about_z(*row(joint, value))
    assert np.allclose(tool_pose(robot, q), expected @ np.array(plain.tool), atol=1e-12)


def test_inertia_at_the_near_joint_turns_with_its_frame(tmp_path: Path) -> None:
    head = SMALL.split("[tool]")[0]
    far = load_text(tmp_path, head + INERTIA).inertia
    near = load_text(tmp_path, head + INERTIA.replace('"distal"', '"proximal"')).inertia
    assert far is not None
    assert near is not None
    assert far[0].com_m == pytest.approx((-0.01, 0, 0))
    assert near[0].com_m == pytest.approx((-0.03, 0, 0))
    assert near[0].inertia_kg_m2 is not None
    assert np.allclose(near[0].inertia_kg_m2, np.diag([1, 3, 2]), atol=1e-12)


@given(
    st.floats(-360, 360).filter(lambda value: value == 0 or abs(value) > 1e-9),
    st.floats(-5000, 5000).filter(lambda value: value == 0 or abs(value) > 1e-9),
)
def test_degrees_and_millimetres_come_back(angle_deg: float, length_mm: float) -> None:
    table = tomllib.loads(SMALL)
    table["joints"][0] |= {"alpha_deg": angle_deg, "a_mm": length_mm}
    joint = robot_from_table(table, "arm", "arm.toml").joints[0]
    assert joint.alpha_rad / DEG == pytest.approx(angle_deg, rel=1e-15)
    assert joint.a_m / MM == pytest.approx(length_mm, rel=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "key", "text"),
    [
        ("a_mm = 20", "a_cm = 2", "joints.turn.a_cm", "Did you mean `a_mm`, in millimetres?"),
        (
            "lower_deg = -90",
            "lower_rad = -1.57",
            "joints.turn.lower_rad",
            "Did you mean `lower_deg`, in degrees?",
        ),
        (
            "lower_mm = 0",
            "lower_deg = 0",
            "joints.slide.lower_deg",
            "Did you mean `lower_mm`, in millimetres?",
        ),
        (
            "d_mm = 100\n",
            "",
            "joints.turn.d_mm",
            "nothing given; allowed: this key is required, in millimetres",
        ),
        ("theta_deg = 30", "theta_deg = '30'", "joints.turn.theta_deg", "'30' given; allowed: number"),
        ("theta_deg = 30", "theta_deg = nan", "joints.0.theta_deg", "nan given; allowed: a finite number"),
        ("upper_mm = 200", "upper_mm = inf", "joints.1.upper_mm", "inf given; allowed: a finite number"),
        (
            "upper_deg = 90",
            "upper_deg = -90",
            "joints.turn.lower_deg",
            "-90.0 given; allowed: less than upper_deg = -90",
        ),
        ("upper_mm = 200\n", "", "joints.slide.upper_mm", "both limits, or neither"),
        (
            "home_deg = 90",
            "home_deg = 90.001",
            "joints.turn.home_deg",
            "allowed: -90 to 90 deg, the joint's limits",
        ),
        ("home_mm = 0", "home_mm = -1", "joints.slide.home_mm", "allowed: 0 to 200 mm, the joint's limits"),
        ("home_mm = 0\n", "", "joints.slide.home_mm", "a home for every joint, or for none"),
        ("max_speed_deg_s = 60", "max_speed_deg_s = 0", "joints.turn.max_speed_deg_s", "number > 0"),
        (
            "max_speed_deg_s = 60",
            "max_speed_deg = 60",
            "joints.turn.max_speed_deg",
            "Did you mean `max_speed_deg_s`",
        ),
        ("sign = 1", "sign = 2", "joints.turn.sign", "2 given; allowed: -1 or 1"),
        (
            'type = "revolute"',
            'type = "rotary"',
            "joints.turn.type",
            "'rotary' given; allowed: 'revolute' or 'prismatic'",
        ),
        ('type = "revolute"\n', "", "joints.turn.type", "nothing given; allowed: 'revolute' or 'prismatic'"),
        ('name = "slide"', 'name = "turn"', "joints.1.name", "a name that no other joint has"),
        ('convention = "standard"', 'convention = "craig"', "convention", "'modified' or 'standard'"),
        ('source = "this file"\n', "", "source", "this key is required"),
        ('source = "this file"', 'source = ""', "source", "text of length >= 1"),
        ('source = "this file"', 'sources = "this file"', "sources", "Did you mean `source`?"),
        (
            "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]",
            "[[1, 0, 0], [0, 1, 0.01], [0, 0, 1]]",
            "tool.rotation",
            "off by 0.01",
        ),
        (
            "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]",
            "[[1, 0, 0], [0, 1, 0], [0, 0, -1]]",
            "tool.rotation",
            "mirror image",
        ),
        ("[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", "[[1, 0, 0], [0, 1, 0]]", "tool.rotation", "list of 3 values"),
        (
            "translation_mm = [0, 0, 10]",
            "translation_m = [0, 0, 1]",
            "tool.translation_m",
            "`translation_mm`, in mill",
        ),
    ],
)
def test_a_fault_in_a_robot_is_named(tmp_path: Path, old: str, new: str, key: str, text: str) -> None:
    load_text(tmp_path, SMALL)
    assert old in SMALL
    with pytest.raises(ConfigError) as error:
        load_text(tmp_path, SMALL.replace(old, new, 1))
    assert error.value.file == str(tmp_path / "arm.toml")
    assert error.value.key == key
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "key", "text"),
    [
        ('inertia_frame = "distal"\n', "", "inertia_frame", "'distal' or 'proximal'"),
        ("mass_kg = 1", "mass_kg = -1", "joints.turn.inertia.mass_kg", "number >= 0"),
        ("[0, 2, 0]", "[1, 2, 0]", "joints.turn.inertia.inertia_kg_m2", "symmetric"),
        ("[0, 0, 3]", "[0, 0, -3]", "joints.turn.inertia.inertia_kg_m2", "without negative moments"),
        ("com_mm", "com_m", "joints.turn.inertia.com_m", "Did you mean `com_mm`"),
    ],
)
def test_a_fault_in_an_inertia_is_named(tmp_path: Path, old: str, new: str, key: str, text: str) -> None:
    head = SMALL.split("[tool]")[0]
    with pytest.raises(ConfigError) as error:
        load_text(tmp_path, head + INERTIA.replace(old, new, 1))
    assert error.value.key == key
    assert text in str(error.value)


def test_inertia_is_given_for_every_joint_or_for_none(tmp_path: Path) -> None:
    more = '[[joints]]\nname = "b"\ntype = "revolute"\nd_mm = 1\ntheta_deg = 0\na_mm = 0\nalpha_deg = 0\n'
    with pytest.raises(ConfigError, match=r"joints\.b\.inertia: nothing given; allowed: an inertia for every joint"):
        load_text(tmp_path, SMALL.split("[tool]")[0] + INERTIA + more)


def test_a_controller_map_needs_one_entry_per_joint(tmp_path: Path) -> None:
    extra = "[controller_map]\ntheta_offset_deg = [0]\nsign = [1, 1]\n"
    extra += "[controller_map.tool_to_tool0]\ntranslation_mm = [0, 0, 0]\n"
    with pytest.raises(ConfigError, match=r"controller_map\.theta_offset_deg: \[0\.0\] given; allowed: 2 entries"):
        load_text(tmp_path, SMALL + extra)
