"""URDF in and out: the same poses, limits and masses, and every fault of a file named."""

from __future__ import annotations

import math
from pathlib import Path

import chain_arrays as arrays
import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from urdf_files import ARM, chain_urdf

from hil.errors import ConfigError
from hil.kernels.chain import chain_of
from hil.model._dh_from_axes import NEARLY_PARALLEL
from hil.model.files import list_names, parse_toml
from hil.model.reader import load_robot
from hil.model.robot import JointType, RobotModel
from hil.model.robot_text import robot_text
from hil.model.transforms import frames, random_q
from hil.model.urdf import UrdfRobot, read_urdf
from hil.model.urdf_out import urdf_text
from hil.units import DEG

Matrix = npt.NDArray[np.float64]
ROBOTS = list_names("robots")
QUARTERS = st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi])
ANGLES = st.one_of(QUARTERS, st.floats(-3.1, 3.1).filter(lambda value: abs(value) > 1e-3))
LENGTHS = st.one_of(st.just(0.0), st.floats(-0.5, 0.5).filter(lambda value: abs(value) > 1e-3))
DIRECTIONS = st.one_of(
    st.sampled_from([(0, 0, 1), (0, 0, -1), (0, 1, 0), (-1, 0, 0)]),
    st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda axis: math.hypot(*axis) > 0.1),
)
TRIPLES = st.tuples(LENGTHS, LENGTHS, LENGTHS)
JOINTS = st.tuples(
    st.sampled_from(["continuous", "prismatic", "fixed"]), TRIPLES, st.tuples(ANGLES, ANGLES, ANGLES), DIRECTIONS
)


def read_text(folder: Path, text: str, **options: object) -> UrdfRobot:
    path = folder / "arm.urdf"
    path.write_text(text)
    return read_urdf(path, **options)  # type: ignore[arg-type]


def there_and_back(folder: Path, model: RobotModel) -> RobotModel:
    return read_text(folder, urdf_text(model)).model


def from_toml(folder: Path, model: RobotModel) -> RobotModel:
    path = folder / "arm.toml"
    path.write_text(robot_text(model))
    return load_robot(path)


def masses_in_world(model: RobotModel, q: list[float]) -> list[tuple[float, Matrix, Matrix | None]]:
    """Per link mass, centre in the world, and inertia with axes of the world."""
    found = []
    assert model.inertia is not None
    for link, frame in zip(model.inertia, frames(model, q)[1:], strict=False):
        turned = frame[:3, :3]
        tensor = None if link.inertia_kg_m2 is None else turned @ np.array(link.inertia_kg_m2) @ turned.T
        found.append((link.mass_kg, turned @ np.array(link.com_m) + frame[:3, 3], tensor))
    return found


# -- out and in again ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROBOTS)
def test_a_bundled_robot_goes_through_urdf_and_toml_and_stays_the_same(name: str, tmp_path: Path) -> None:
    model = load_robot(name)
    back = from_toml(tmp_path, there_and_back(tmp_path, model))
    generator = np.random.default_rng(1)
    for _ in range(20):
        q = random_q(model, generator)
        assert np.max(np.abs(frames(back, q)[-1] - frames(model, q)[-1])) < 1e-12
    for own, other in zip(model.joints, back.joints, strict=True):
        assert (own.name, own.type) == (other.name, other.type)
        assert (own.lower, own.upper, own.max_speed) == (other.lower, other.upper, other.max_speed)


@pytest.mark.parametrize("name", [name for name in ROBOTS if load_robot(name).inertia is not None])
def test_masses_drives_and_friction_go_through_urdf_and_stay_the_same(name: str, tmp_path: Path) -> None:
    model = load_robot(name)
    back = there_and_back(tmp_path, model)
    assert model.inertia is not None and back.inertia is not None
    q = random_q(model, np.random.default_rng(2))
    for own, other in zip(masses_in_world(model, q), masses_in_world(back, q), strict=True):
        assert other[0] == own[0]
        assert np.allclose(other[1], own[1], atol=1e-12)
        assert (own[2] is None) == (other[2] is None)
        assert own[2] is None or np.allclose(other[2], own[2], atol=1e-12)
    for link, same in zip(model.inertia, back.inertia, strict=True):
        for field in ("motor_inertia_kg_m2", "gear_ratio", "viscous_nm_s", "coulomb_nm"):
            assert getattr(same, field) == getattr(link, field)


@pytest.mark.parametrize("name", ["lynx6", "puma560", "stanford", "panda", "rv2aj"])
def test_a_table_without_tool_comes_back_row_by_row(name: str, tmp_path: Path) -> None:
    model = load_robot(name)
    assert there_and_back(tmp_path, model).joints == model.joints


def test_an_independent_reader_gives_the_same_poses(tmp_path: Path) -> None:
    yourdfpy = pytest.importorskip("yourdfpy")
    for name in ("puma560", "stanford", "al5d", "ur5"):
        model, path = load_robot(name), tmp_path / f"{name}.urdf"
        path.write_text(urdf_text(model))
        other = yourdfpy.URDF.load(str(path), load_meshes=False, build_scene_graph=True)
        q = random_q(model, np.random.default_rng(3))
        other.update_cfg(dict(zip([joint.name for joint in model.joints], q, strict=True)))
        assert np.allclose(other.get_transform("tool0", "base_link"), frames(model, q)[-1], atol=1e-9)


def test_a_slide_without_limits_and_a_joint_without_end_come_back_so(tmp_path: Path) -> None:
    model = load_robot("stanford")
    free = tuple(msgspec.structs.replace(joint, lower=None, upper=None) for joint in model.joints)
    back = there_and_back(tmp_path, msgspec.structs.replace(model, joints=free))
    assert all(joint.lower is None and joint.upper is None for joint in back.joints)


# -- in --------------------------------------------------------------------------------------------------


def test_joints_keep_their_names_kinds_limits_and_directions(tmp_path: Path) -> None:
    found = read_text(tmp_path, ARM)
    turn, lift, reach = found.model.joints
    assert (found.root, found.tip, found.model.title) == ("world", "plate", "Two joints and a slide")
    assert (turn.name, turn.type, turn.max_speed) == ("turn", JointType.REVOLUTE, pytest.approx(1.25))
    assert (turn.lower, turn.upper) == (pytest.approx(-1.5), pytest.approx(2.0))
    assert (lift.lower, lift.upper, lift.sign) == (None, None, -1)
    assert (reach.type, reach.upper, reach.max_speed) == (JointType.PRISMATIC, pytest.approx(0.15), None)


def test_a_rounded_quarter_turn_is_a_quarter_turn_and_told(tmp_path: Path) -> None:
    found = read_text(tmp_path, ARM)
    assert any("1.5708, 1.571" in note for note in found.notes)
    assert [joint.alpha_rad for joint in found.model.joints] == [pytest.approx(x * 90 * DEG) for x in (1, 1, 0)]


def test_as_written_means_every_digit_as_it_stands(tmp_path: Path) -> None:
    found = read_text(tmp_path, ARM, as_written=True)
    assert found.notes == ()
    assert found.model.joints[0].alpha_rad == pytest.approx(1.5708, abs=1e-15)


@pytest.mark.parametrize(
    ("word", "quarters"),
    [("1.57", 1), ("-1.5708", -1), ("3.14159", 2), ("1.570796325", 1), ("1.57079637", 1), ("4.712", 3)],
)
def test_what_is_taken_for_a_quarter_turn(word: str, quarters: int, tmp_path: Path) -> None:
    model = read_text(tmp_path, ARM.replace('rpy="1.5708 0 0"', f'rpy="{word} 0 0"')).model
    assert math.remainder(model.joints[0].alpha_rad - quarters * math.pi / 2, 2 * math.pi) == pytest.approx(
        0, abs=1e-15
    )


@pytest.mark.parametrize("word", ["1.58", "1.6", "1.5", "1.5707", "1.569", "1.5710"])
def test_what_is_no_rounding_stays_as_it_is(word: str, tmp_path: Path) -> None:
    model = read_text(tmp_path, ARM.replace('rpy="1.5708 0 0"', f'rpy="{word} 0 0"')).model
    exact = word == "1.5707"  # pi / 2 cut off after four decimals
    assert model.joints[0].alpha_rad == pytest.approx(math.pi / 2 if exact else float(word), abs=1e-14)


def test_what_is_bolted_together_is_one_link(tmp_path: Path) -> None:
    inertia = read_text(tmp_path, ARM).model.inertia
    assert inertia is not None
    assert [link.mass_kg for link in inertia] == [2.0, 1.0, 1.0]
    tensor = np.array(inertia[2].inertia_kg_m2)
    # Two bodies of 0.5 kg, 0.1 m apart, add m l^2 / 4 across the line between them.
    assert sorted(np.linalg.eigvalsh(tensor)) == pytest.approx([0.002, 0.0045, 0.0045])


def test_one_link_without_mass_makes_the_dynamics_unknown(tmp_path: Path) -> None:
    text = ARM.replace('<link name="two"><inertial><mass value="1"/>', '<link name="two"><inertial>')
    found = read_text(tmp_path, text)
    assert found.model.inertia is None
    assert "no mass for two" in found.model.inertia_status


def test_friction_at_the_joint_is_friction_with_a_gear_of_one(tmp_path: Path) -> None:
    text = ARM.replace('<axis xyz="0 0 -1"/>', '<axis xyz="0 0 -1"/><dynamics damping="0.4" friction="0.1"/>')
    inertia = read_text(tmp_path, text).model.inertia
    assert inertia is not None
    assert (inertia[1].viscous_nm_s, inertia[1].coulomb_nm, inertia[1].gear_ratio) == (0.4, (0.1, -0.1), 1.0)
    assert inertia[0].viscous_nm_s is None


def test_meshes_are_named_with_their_link_and_found_above_the_file(tmp_path: Path) -> None:
    (tmp_path / "arm" / "meshes").mkdir(parents=True)
    (tmp_path / "arm" / "urdf").mkdir()
    path = tmp_path / "arm" / "urdf" / "arm.urdf"
    path.write_text(ARM)
    assert read_urdf(path).meshes[0].found == ""
    (tmp_path / "arm" / "meshes" / "one.stl").write_bytes(b"")
    mesh = read_urdf(path).meshes[0]
    assert (mesh.link, mesh.urdf_link, mesh.scale) == (1, "one", (0.001, 0.001, 0.001))
    assert Path(mesh.found) == tmp_path.resolve() / "arm" / "meshes" / "one.stl"


def test_beside_the_chosen_tip_moving_joints_are_left_out_and_told(tmp_path: Path) -> None:
    more = '<link name="more"/><joint name="on" type="prismatic"><parent link="plate"/><child link="more"/></joint>'
    text = ARM.replace("</robot>", f"{more}</robot>")
    assert read_text(tmp_path, text).model.dof == 4
    found = read_text(tmp_path, text, tip="plate")
    assert found.model.dof == 3
    assert any("held still at 0 with the masses on them: on" in note for note in found.notes)


@settings(max_examples=60)
@given(st.lists(JOINTS, min_size=2, max_size=8), st.integers(0, 2**32 - 1))
def test_any_chain_of_axes_keeps_its_poses(
    tmp_path_factory: pytest.TempPathFactory,
    joints: list[tuple[str, tuple[float, ...], tuple[float, ...], tuple[float, ...]]],
    seed: int,
) -> None:
    assume(sum(kind != "fixed" for kind, *_ in joints) >= 2)
    folder = tmp_path_factory.mktemp("urdf")
    try:
        found = read_text(folder, chain_urdf(joints))
    except ConfigError as error:
        assert "parallel" in str(error)
        return
    assert found.worst <= 1e-12 * max(1.0, 0.8 * len(joints))
    # The kernels, which the importer does not use, say the same about the file that would be written.
    model = from_toml(folder, found.model)
    q = random_q(model, np.random.default_rng(seed))
    assert np.allclose(arrays.forward(chain_of(model), q), frames(found.model, q)[-1], atol=1e-12)


@pytest.mark.parametrize("angle", [1e-4, 1e-3, 0.01])
def test_axes_a_little_off_parallel_are_given_exactly(tmp_path: Path, angle: float) -> None:
    joints = [
        ("continuous", (0, 0, 0.1), (0, 0, 0), (0, 0, 1)),
        ("continuous", (0.3, 0, 0), (angle, 0, 0), (0, 0, 1)),
        ("continuous", (0.2, 0, 0), (math.pi / 2, 0, 0), (0, 0, 1)),
    ]
    assert read_text(tmp_path, chain_urdf(joints)).worst < 1e-12


def test_axes_too_near_to_parallel_are_refused_with_the_angle(tmp_path: Path) -> None:
    joints = [
        ("continuous", (0, 0, 0.1), (0, 0, 0), (0, 0, 1)),
        ("continuous", (0.3, 0, 0), (NEARLY_PARALLEL / 2, 0, 0), (0, 0, 1)),
    ]
    with pytest.raises(ConfigError, match=r"j1: origin: 'an axis 0\.00029 deg off that of joint j0'"):
        read_text(tmp_path, chain_urdf(joints))


# -- what can be wrong -----------------------------------------------------------------------------------

LOOP = '<joint name="back" type="fixed"><parent link="plate"/><child link="one"/></joint></robot>'
BRANCH = '<link name="x"/><joint name="b" type="revolute"><parent link="one"/><child link="x"/></joint></robot>'
SECOND_TREE = (
    '<link name="other"/><link name="o"/><joint name="p" type="continuous"><parent link="other"/><child link="o"/>'
    "</joint></robot>"
)
TWO_ENDS = '<link name="x"/><joint name="b" type="fixed"><parent link="three"/><child link="x"/></joint></robot>'


@pytest.mark.parametrize(
    ("old", "new", "key", "text"),
    [
        ("</robot>", LOOP, "line 24: joint back: child", "turn does already"),
        ("</robot>", BRANCH, "--tip", "plate (3 moving joints), x (2 moving joints)"),
        ("</robot>", TWO_ENDS, "--tip", "several links at the end"),
        ('<parent link="world"/>', '<parent link="plate"/>', "joint", "do not carry themselves"),
        ("</robot>", SECOND_TREE, "link", "['world', 'other'] given"),
        ('type="continuous"', 'type="floating"', "joint lift: type", "'floating' given"),
        ('type="continuous"', 'type="planar"', "joint lift: type", "A DH row has one axis"),
        ('type="continuous"', 'type="ball"', "joint lift: type", "revolute, continuous, prismatic, fixed"),
        ('<axis xyz="0 0 -1"/>', '<axis xyz="0 0 -1"/><mimic joint="turn"/>', "joint lift: mimic", "follows turn"),
        ('<axis xyz="0 0 -1"/>', '<axis xyz="0 0 0"/>', "joint lift: axis", "of any length but 0"),
        ('<axis xyz="0 0 -1"/>', '<axis xyz="0 0 nan"/>', "joint lift: axis", "'nan' given; allowed: a finite number"),
        ('xyz="0.3 0 0"', 'xyz="0.3 0"', "joint lift: origin: xyz", "three numbers"),
        ('xyz="0.3 0 0"', 'xyz="0.3 0 1e7"', "joint lift: origin: xyz", "a number up to 1e+06"),
        ('xyz="0.3 0 0"', 'xyz="0.3 0 1e999"', "joint lift: origin: xyz", "'1e999' given"),
        ('lower="-1.5"', 'lower="2.5"', "joint turn: limit: lower", "less than upper = 2"),
        ('velocity="1.25"', 'velocity="-1"', "joint turn: limit: velocity", "or 0 where it is not known"),
        ('<mass value="2"/>', '<mass value="-2"/>', "link one: inertial: mass", "0 kg or more"),
        ('ixx="0.01" ixy', 'ixy', "link one: inertial: ixx", "nothing given"),
        ('<child link="two"/>', '<child link="tow"/>', "joint lift: child", "Did you mean 'two'?"),
        ('name="turn"', 'name="lift"', "joint lift", "no other joint has"),
        ('<link name="two">', '<link name="one">', "link one", "no other link has"),
        ("<robot ", "<sdf ", "line", "mismatched tag"),
        ('xyz="0.3 0 0"', 'xyz="${length} 0 0"', "<origin>", "expand it first"),
        ('<?xml version="1.0"?>', '<!DOCTYPE r [<!ENTITY a "b">]>', "line 1", "no document type"),
        ("</robot>", "", "line", "Is the file whole?"),
    ],
)  # fmt: skip
def test_a_fault_in_a_urdf_is_named(tmp_path: Path, old: str, new: str, key: str, text: str) -> None:
    assert old in ARM
    with pytest.raises(ConfigError) as error:
        read_text(tmp_path, ARM.replace(old, new, 1))
    assert error.value.file == str(tmp_path / "arm.urdf")
    assert key in error.value.key
    # With the package that expands it, Xacro is refused for what it lacks.
    assert text in str(error.value) or (text == "expand it first" and "Xacro that can" in str(error.value))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no element found"),
        ("no xml", "syntax error"),
        ("<sdf/>", "This is an SDF"),
        ('<robot name="empty"/>', "one link at least"),
        ('<robot><link name="a"/></robot>', "moving"),
    ],
)
def test_what_is_no_arm_is_said_so(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_text(tmp_path, text)


def test_one_moving_joint_or_nine_are_no_arm(tmp_path: Path) -> None:
    joint = ("continuous", (0.1, 0, 0), (0, 0, 0), (0, 0, 1))
    for count in (1, 9, 1500):
        with pytest.raises(ConfigError, match=f"{count} moving joints' given; allowed: 2 to 8"):
            read_text(tmp_path, chain_urdf([joint] * count))


def test_a_tip_that_is_not_there_is_answered_with_the_closest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'plate'"):
        read_text(tmp_path, ARM, tip="plat")


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_urdf(tmp_path / "none.urdf")


@settings(max_examples=60)
@given(st.integers(0, len(ARM) - 1), st.characters(max_codepoint=127))
def test_whatever_is_changed_in_a_file_is_read_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, place: int, character: str
) -> None:
    path = tmp_path_factory.mktemp("urdf") / "arm.urdf"
    path.write_bytes((ARM[:place] + character + ARM[place + 1 :]).encode())
    try:
        found = read_urdf(path)
    except ConfigError as error:
        assert error.allowed
    else:
        assert parse_toml(robot_text(found.model).encode(), "arm.toml")
