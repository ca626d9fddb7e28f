"""URDF trees: ends, grippers, faults beside the way, Xacro, units, and masses that stay where they hang."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from xml.dom import minidom

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from urdf_by_hand import Tree
from urdf_files import ARM
from urdf_trees import GRIPPERS, RandomTree, random_tree

from hil.errors import ConfigError
from hil.model._urdf_ends import UrdfTipError
from hil.model.transforms import frames, random_q
from hil.model.urdf import UrdfRobot, read_urdf
from hil.robot import Robot


def read_text(folder: Path, text: str, **options: object) -> UrdfRobot:
    path = folder / "arm.urdf"
    path.write_text(text)
    return read_urdf(path, **options)  # type: ignore[arg-type]


def notes(found: UrdfRobot) -> str:
    return "\n".join(found.notes)


def with_joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = "") -> str:
    """The arm with one more link on a joint."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return ARM.replace(
        "</robot>", f'<link name="{child}"/><joint name="{name}" type="{kind}">{ends}{inside}</joint></robot>'
    )


def agrees(tree: RandomTree, found: UrdfRobot, seed: int) -> None:
    """Tip, weights and mass matrix of the whole file, with whatever is no axis of the arm at 0."""
    robot, plain = Robot(found.model), Tree(tree.text)
    q = random_q(found.model, np.random.default_rng(seed))
    names = [joint.name for joint in found.model.joints]
    torque, matrix = plain.dynamics(names, q)
    assert frames(found.model, q)[-1] == pytest.approx(
        plain.pose(found.tip, dict(zip(names, q, strict=True))), abs=1e-9
    )
    assert robot.gravity_torque(q) == pytest.approx(torque, abs=1e-9)
    assert robot.mass_matrix(q) == pytest.approx(matrix, abs=1e-9)


# -- masses ----------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.sampled_from(GRIPPERS))
def test_weights_and_mass_matrix_are_those_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, seed: int, gripper: str
) -> None:
    tree = random_tree(np.random.default_rng(seed), gripper)
    found = read_text(tmp_path_factory.mktemp("tree"), tree.text, tip=tree.tip)
    assert tuple(joint.name for joint in found.model.joints) == tree.joints
    agrees(tree, found, seed)


@settings(max_examples=6)
@given(st.integers(0, 2**32 - 1))
def test_so_they_are_where_the_arm_begins_further_up(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    tree = random_tree(np.random.default_rng(seed))
    if len(tree.joints) < 3:
        return
    found = read_text(tmp_path_factory.mktemp("tree"), tree.text, tip=tree.tip, base="part_0")
    assert tuple(joint.name for joint in found.model.joints) == tree.joints[1:]
    assert "held still at 0, since they come before the base: axis_0" in notes(found)
    agrees(tree, found, seed)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(GRIPPERS))
def test_the_arm_is_told_from_its_gripper_whatever_the_order_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, seed: int, gripper: str
) -> None:
    tree = random_tree(np.random.default_rng(seed), gripper)
    found = read_text(tmp_path_factory.mktemp("tree"), tree.text, propose=True)
    if not tree.beside:
        assert tuple(joint.name for joint in found.model.joints) == tree.joints
        assert set(found.ends[0].gripper) == set(tree.gripper)
    for name in {*tree.joints, *tree.gripper, *tree.beside} - {joint.name for joint in found.model.joints}:
        assert name in notes(found) or "more" in notes(found)


# -- ends and grippers -----------------------------------------------------------------------------------

SLIDES = (
    '<link name="f1"/><link name="f2"/>'
    '<joint name="a" type="prismatic"><parent link="plate"/><child link="f1"/><axis xyz="0 1 0"/>'
    '<limit lower="0" upper="0.04"/></joint>'
    '<joint name="b" type="prismatic"><parent link="plate"/><child link="f2"/><axis xyz="0 {second} 0"/>'
    '<limit lower="{lower}" upper="{upper}"/></joint></robot>'
)


@pytest.mark.parametrize(
    ("second", "lower", "upper", "is_gripper"),
    [(-1, 0, 0.04, True), (1, -0.04, 0, True), (1, -0.02, 0.02, True), (1, 0, 0.04, False), (-1, -0.04, 0, False)],
)
def test_two_fingers_are_a_gripper_if_they_move_towards_each_other(
    tmp_path: Path, second: int, lower: float, upper: float, is_gripper: bool
) -> None:
    text = ARM.replace("</robot>", SLIDES.format(second=second, lower=lower, upper=upper))
    if not is_gripper:
        with pytest.raises(UrdfTipError, match=r"f1 \(4 moving joints\), f2 \(4 moving joints\)"):
            read_text(tmp_path, text)
        return
    found = read_text(tmp_path, text)
    assert (found.tip, found.tip_reason, found.ends[0].gripper) == ("plate", "it carries the gripper", ("a", "b"))
    assert "two fingers that move towards each other): a, b held still at 0" in notes(found)
    beside = read_text(tmp_path, text, tip="two")
    assert "a gripper beside the tip, on plate: a, b held still at 0 with the masses on them" in notes(beside)


@pytest.mark.parametrize(
    ("name", "is_gripper"),
    [("gripper_joint", True), ("left_finger", True), ("jaw", True), ("joint_4", False), ("gripper_roll_joint", False),
     ("wrist_roll", False), ("panda_gripper", True), ("middle_joint", False)],
)  # fmt: skip
def test_a_jaw_alone_is_told_by_its_name(tmp_path: Path, name: str, is_gripper: bool) -> None:
    found = read_text(tmp_path, with_joint(name, "plate", "more"))
    assert found.model.dof == (3 if is_gripper else 4)


def test_wheels_and_eyes_are_no_gripper(tmp_path: Path) -> None:
    for names in (("left_wheel", "right_wheel"), ("left_eye", "right_eye")):
        text = ARM
        for side, name in zip((1, -1), names, strict=True):
            origin = f'<origin xyz="0 {0.1 * side} 0"/><axis xyz="0 0 {side}"/><limit lower="-1" upper="1"/>'
            more = f'<link name="{name}"/><joint name="j_{name}" type="revolute"><parent link="plate"/>'
            text = text.replace("</robot>", f'{more}<child link="{name}"/>{origin}</joint></robot>')
        with pytest.raises(UrdfTipError):
            read_text(tmp_path, text)


def test_a_follower_of_an_axis_of_the_arm_is_no_gripper_and_told(tmp_path: Path) -> None:
    text = with_joint("parallel", "one", "rod", inside='<mimic joint="lift" multiplier="-1"/>')
    found = read_text(tmp_path, text, tip="plate")
    assert "held still at 0, though in the file they follow joints on the way: parallel (follows lift)" in notes(found)


def test_every_end_is_named_with_the_proposal_and_why(tmp_path: Path) -> None:
    text = with_joint("nod", "base", "head").replace(
        "</robot>",
        '<link name="tool0"/><joint name="t" type="fixed"><parent link="plate"/><child link="tool0"/></joint>'
        '<link name="camera"/><joint name="c" type="fixed"><parent link="plate"/><child link="camera"/></joint>'
        "</robot>",
    )
    with pytest.raises(UrdfTipError) as error:
        read_text(tmp_path, text)
    assert "tool0 (3 moving joints), camera (3 moving joints), head (1 moving joints)" in str(error.value)
    assert "Proposed: --tip tool0, a tool frame by its name" in str(error.value)
    found = read_text(tmp_path, text, tip="tool0")
    assert found.tip_reason == "as told"
    assert "tip tool0: as told; other ends: camera, head" in notes(found)
    assert "beside the way, held still at 0 with the masses on them: nod" in notes(found)


def test_a_hand_alone_has_fingers_for_arms(tmp_path: Path) -> None:
    joint = (
        '<joint name="finger_{i}" type="revolute"><parent link="l{i}"/><child link="l{n}"/><axis xyz="0 1 0"/></joint>'
    )
    links = "".join(f'<link name="l{i}"/>' for i in range(3))
    text = f'<robot name="finger">{links}{"".join(joint.format(i=i, n=i + 1) for i in range(2))}</robot>'
    assert read_text(tmp_path, text).model.dof == 2


@pytest.mark.parametrize("mimic", ["", '<mimic joint="a"/>'])
def test_a_gripper_alone_is_no_arm(tmp_path: Path, mimic: str) -> None:
    slides = SLIDES.format(second=-1, lower=0, upper=0.04).replace("</joint></robot>", f"{mimic}</joint></robot>")
    with pytest.raises(ConfigError, match="'a gripper alone, on plate' given; allowed: an arm of 2 to 8 moving joints"):
        read_text(tmp_path, f'<robot name="hand"><link name="plate"/>{slides}')


def test_a_way_that_is_too_long_is_told_where_to_begin(tmp_path: Path) -> None:
    origin = '<origin xyz="0.1 0 0" rpy="0 0.5 0"/><axis xyz="0 0 1"/>'
    lines = [f'<link name="l{i}"/>' for i in range(11)]
    lines += [
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/>{origin}</joint>'
        for i in range(10)
    ]
    other = '<link name="arm2"/><joint name="other" type="continuous"><parent link="l3"/><child link="arm2"/></joint>'
    text = "\n".join(["<robot>", *lines, other, "</robot>"])
    with pytest.raises(ConfigError, match=r"10 moving joints.*With --base l3 it begins there"):
        read_text(tmp_path, text, tip="l10")
    found = read_text(tmp_path, text, tip="l10", base="l3")
    assert (found.base, found.model.dof) == ("l3", 7)
    with pytest.raises(ConfigError, match="Did you mean 'l3'"):
        read_text(tmp_path, text, tip="l10", base="l33")


def test_a_base_that_goes_about_is_held_still(tmp_path: Path) -> None:
    found = read_text(tmp_path, ARM.replace('name="stand" type="fixed"', 'name="stand" type="floating"'))
    assert found.model.dof == 3
    assert "held still at 0, since they come before the base: stand (floating)" in notes(found)


# -- faults beside the way -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "inside", "words"),
    [
        ("revolute", '<axis xyz="0 0 0"/>', "joint side: axis: [0.0, 0.0, 0.0] given"),
        ("revolute", '<limit lower="2" upper="1"/>', "joint side: limit: lower: 2.0 given"),
        ("prismatic", '<limit lower="0" upper="nan"/>', "joint side: limit: upper: 'nan' given"),
        ("revolute", '<dynamics damping="-1"/>', "joint side: dynamics: [-1.0, 0.0] given"),
        ("ball", "", "joint side: type: 'ball' given"),
        ("revolute", '<origin xyz="0 0"/>', "joint side: origin: xyz: '0 0' given"),
        ("revolute", '<origin xyz="0 0 1e7"/>', "joint side: origin: xyz: '1e7' given"),
        ("revolute", '<origin rpy="a b c"/>', "joint side: origin: rpy: 'a' given"),
    ],
)
@pytest.mark.parametrize("parent", ["base", "one"])
def test_a_broken_joint_on_another_branch_is_a_note(
    tmp_path: Path, parent: str, kind: str, inside: str, words: str
) -> None:
    found = read_text(tmp_path, with_joint("side", parent, "thing", kind, inside), tip="plate")
    assert words in notes(found)
    assert found.model.inertia is not None
    with pytest.raises(ConfigError):
        read_text(tmp_path, with_joint("side", "plate", "thing", kind, inside), tip="thing")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('<joint name="s" type="fixed"><parent link="one"/><child link="none"/></joint>', "child: 'none' given"),
        ('<joint name="s" type="fixed"><parent link="none"/><child link="x"/></joint>', "parent: 'none' given"),
        ('<joint name="lift" type="fixed"><parent link="one"/><child link="x"/></joint>', "no other joint has"),
        ('<joint type="fixed"><parent link="one"/><child link="x"/></joint>', "a name for every joint"),
        ('<link><visual/></link>', "a name for every link"),
        ('<link name="y"><visual><geometry><mesh filename="a" scale="1 1"/></geometry></visual></link>',
         "link y: visual: mesh: '1 1' given"),
        ('<joint name="s" type="fixed"><parent link="one"/><child link="x"/></joint>'
         '<joint name="t" type="fixed"><parent link="two"/><child link="x"/></joint>', "joint t closes a loop"),
        ('<link name="y"/><joint name="s" type="fixed"><parent link="y"/><child link="x"/></joint>'
         '<joint name="t" type="fixed"><parent link="x"/><child link="y"/></joint>', "hang on world: link x, y"),
        ("", "does not hang on world: link x"),
    ],
)  # fmt: skip
def test_whatever_else_is_wrong_beside_the_way_is_a_note(tmp_path: Path, more: str, words: str) -> None:
    found = read_text(tmp_path, ARM.replace("</robot>", f'<link name="x"/>{more}</robot>'), tip="plate")
    assert words in notes(found)
    assert found.model.inertia is not None


def test_a_mass_with_a_fault_beside_the_way_makes_the_masses_unknown_unless_it_stands(tmp_path: Path) -> None:
    body = '<link name="thing"><inertial><mass value="-1"/></inertial></link>'
    for parent, unknown in (("one", True), ("base", False)):
        text = with_joint("side", parent, "thing", "fixed").replace('<link name="thing"/>', body)
        found = read_text(tmp_path, text, tip="plate")
        assert (found.model.inertia is None) == unknown
        assert "link thing: inertial: mass: -1.0 given" in notes(found)


def test_a_link_that_is_there_twice_makes_the_masses_unknown_where_it_rides(tmp_path: Path) -> None:
    text = with_joint("side", "one", "thing", "fixed").replace("</robot>", '<link name="thing"/></robot>')
    found = read_text(tmp_path, text, tip="plate")
    assert found.model.inertia is None
    assert "a name that no other link has" in found.model.inertia_status


def test_a_mass_of_which_nobody_tells_the_place_makes_the_masses_unknown(tmp_path: Path) -> None:
    body = '<link name="thing"><inertial><mass value="1"/></inertial></link>'
    text = with_joint("side", "two", "thing", "fixed", '<origin xyz="? 0 0"/>').replace('<link name="thing"/>', body)
    found = read_text(tmp_path, text, tip="plate")
    assert found.model.inertia is None
    assert "joint side does not tell where the mass on it is" in found.model.inertia_status


def test_endless_limits_are_none(tmp_path: Path) -> None:
    found = read_text(tmp_path, ARM.replace('lower="0" upper="0.15"', 'lower="-1e16" upper="1e16"'))
    assert (found.model.joints[2].lower, found.model.joints[2].upper) == (None, None)
    assert "no limits given (or 0 to 0, or endless): reach" in notes(found)


# -- Xacro -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</robot>", '<xacro:property name="width" value=".2"/></robot>'),
        ("</robot>", '<xacro:arg name="width" default="$(env HOME)"/></robot>'),
        ("</robot>", '<x:property xmlns:x="http://www.ros.org/wiki/xacro" name="w" value="${pi/2}"/></robot>'),
        ("</robot>", '<property name="width" value=".2"/></robot>'),
        ("</robot>", "<something>${unread}</something></robot>"),
        ('<link name="two">', '<link name="two"><xacro:property name="width" value="1"/>'),
    ],
)
def test_what_nothing_uses_is_passed_over_and_told(tmp_path: Path, old: str, new: str) -> None:
    found = read_text(tmp_path, ARM.replace(old, new, 1))
    assert "passed over, since nothing uses it: <" in notes(found)
    assert found.model.joints == read_text(tmp_path, ARM).model.joints


def test_what_simulators_use_is_passed_over_without_a_word(tmp_path: Path) -> None:
    more = '<gazebo reference="one"><kp>${none}</kp></gazebo><transmission name="t"/><material name="red"/></robot>'
    assert "passed over" not in notes(read_text(tmp_path, ARM.replace("</robot>", more)))


USES = [
    ('xyz="0.3 0 0"', 'xyz="${length} 0 0"'),
    ('name="turn"', 'name="$(arg prefix)turn"'),
    ("package://arm", "$(find arm)"),
    ("</robot>", '<xacro:macro name="m"/></robot>'),
    ("</robot>", '<xacro:include filename="x"/></robot>'),
    ("</robot>", '<xacro:if value="1"/></robot>'),
    ("</robot>", '<xacro:unless value="1"/></robot>'),
    ("</robot>", '<xacro:leg/></robot>'),
    ("</robot>", '<x:leg xmlns:x="http://wiki.ros.org/xacro"/></robot>'),
    ("</robot>", '<include filename="x"/></robot>'),
    ('<link name="two">', '<link name="two"><xacro:inertia/>'),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), USES)
def test_what_has_to_be_expanded_is_refused_with_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(ConfigError, match=r"pip install 'hil-arm-bridge\[xacro\]'"):
        read_text(tmp_path, ARM.replace(old, new, 1))


def test_a_xacro_is_expanded_where_the_package_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def process_file(file: str, mappings: dict[str, str]) -> minidom.Document:
        asked.append((Path(file).name, mappings))
        return minidom.parseString(Path(file).read_text().replace("${length}", mappings["length"]))

    monkeypatch.setitem(sys.modules, "xacro", SimpleNamespace(process_file=process_file))
    text = ARM.replace('xyz="0.3 0 0"', 'xyz="${length} 0 0"')
    found = read_text(tmp_path, text, values={"length": "0.3"})
    assert asked == [("arm.urdf", {"length": "0.3"})]
    assert found.model.joints == read_text(tmp_path, ARM).model.joints
    assert "a Xacro, expanded" in notes(found)
    with pytest.raises(ConfigError, match=r"KeyError: 'length'.*--set NAME=VALUE"):
        read_text(tmp_path, text)


def test_the_real_package_expands_properties_macros_and_arguments(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="length" default="0.2"/>'
    macro = (
        '<xacro:macro name="axis" params="i a b"><joint name="j${i}" type="continuous"><parent link="${a}"/>'
        '<child link="${b}"/><origin xyz="${2 * $(arg length)} 0 0" rpy="0 0.4 0"/></joint></xacro:macro>'
    )
    rest = (
        '<link name="a"/><link name="b"/><link name="c"/><xacro:axis i="1" a="a" b="b"/><xacro:axis i="2" a="b" b="c"/>'
    )
    found = read_text(tmp_path, f"{head}{macro}{rest}</robot>", values={"length": "0.4"})
    assert np.linalg.norm(frames(found.model, [0.0, 0.0])[-1][:3, 3]) == pytest.approx(0.8 * 2 * np.cos(0.2))


# -- units and meshes ------------------------------------------------------------------------------------


def test_a_scale_takes_lengths_and_moments_and_leaves_angles_and_masses(tmp_path: Path) -> None:
    plain, scaled = read_text(tmp_path, ARM).model, read_text(tmp_path, ARM, scale=0.01)
    q = [0.3, -0.7, 0.1]
    small = frames(scaled.model, [0.3, -0.7, 0.001])[-1]
    whole = frames(plain, q)[-1]
    assert small[:3, 3] == pytest.approx(0.01 * whole[:3, 3])
    assert small[:3, :3] == pytest.approx(whole[:3, :3])
    assert scaled.model.joints[2].upper == pytest.approx(0.0015)
    assert scaled.model.joints[0].upper == plain.joints[0].upper
    for ours, theirs in zip(scaled.model.inertia or (), plain.inertia or (), strict=True):
        assert ours.mass_kg == theirs.mass_kg
        assert np.array(ours.inertia_kg_m2) == pytest.approx(1e-4 * np.array(theirs.inertia_kg_m2))
    assert scaled.meshes[0].scale == pytest.approx((1e-5,) * 3)
    assert "lengths times 0.01, moments of inertia times 0.0001; masses as they stand" in notes(scaled)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_is_above_nought(tmp_path: Path, scale: float) -> None:
    with pytest.raises(ConfigError, match="--scale"):
        read_text(tmp_path, ARM, scale=scale)


@pytest.mark.parametrize(
    "name",
    ["../secret.stl", "package://arm/../../secret.stl", "package://secret.stl", "file://{outside}", "{outside}",
     "meshes/link.stl", "meshes/../../secret.stl", "x" * 5000, "meshes/one.stl/" * 300],
)  # fmt: skip
@pytest.mark.parametrize("folder", ["arm", "arm/urdf"])
def test_a_meshs_name_does_not_tell_what_is_outside_the_models_folder(tmp_path: Path, folder: str, name: str) -> None:
    """The same answer, whether there is such a file or not; by a link out of the folder too."""
    home, outside = tmp_path / folder, tmp_path / "secret.stl"
    (home / "meshes").mkdir(parents=True)
    (home / "meshes" / "link.stl").symlink_to(outside)
    text = ARM.replace("package://arm/meshes/one.stl", name.format(outside=outside))
    answers = []
    for there in (False, True):
        if there:
            outside.write_bytes(b"")
        answers.append(read_text(home, text))
    assert answers[0] == answers[1]
    assert answers[0].meshes[0].found == ""


@pytest.mark.parametrize("name", ["meshes/one.stl", "package://arm/meshes/one.stl", "file://{own}", "./meshes/one.stl"])
def test_a_mesh_in_the_models_folder_is_found(tmp_path: Path, name: str) -> None:
    own = tmp_path / "arm" / "meshes" / "one.stl"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"")
    found = read_text(tmp_path / "arm", ARM.replace("package://arm/meshes/one.stl", name.format(own=own.resolve())))
    assert Path(found.meshes[0].found).resolve() == own.resolve()


def test_empty_lines_before_the_declaration_are_no_fault(tmp_path: Path) -> None:
    assert read_text(tmp_path, "\n \n" + ARM).model.dof == 3
    with pytest.raises(ConfigError, match="line 17: joint turn: axis"):
        read_text(tmp_path, "\n\n" + ARM.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', 1))
