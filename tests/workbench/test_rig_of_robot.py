"""hil new rig --robot: a whole rig of any robot and controller, with its defaults named, that loads and moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drivers.ssc32 import Ssc32Settings
from hil.errors import ConfigError
from hil.model.files import list_names
from hil.model.link_shapes import link_meshes
from hil.model.reader import load_robot
from hil.model.rig import Rig
from hil.model.robot import JointType
from hil.model.stl import write_stl
from hil.motion.planner import plan_joint_move
from hil.runtime import wiring
from hil.runtime.preview import preview
from hil.units import DEG, MM
from hil.workbench.robot_rig import KINDS, Wish, tool_words, with_tool_axis, write_rig

ROBOTS = list_names("robots")


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("hil.model.files.user_dir", lambda: tmp_path)
    monkeypatch.setattr("hil.workbench.new_files.user_dir", lambda: tmp_path)
    return tmp_path


def written(robot: str, kind: str, **wish: object) -> tuple[Rig, tuple[str, ...]]:
    """The rig that is read back from the new file, and the defaults that were named."""
    made = Wish("mine", kind, **wish)  # type: ignore[arg-type]
    file, draft = write_rig(load_robot(robot), robot, made, wiring.load_rig)
    assert file.name == "mine.toml"
    return wiring.load_rig("mine"), draft.defaults


@pytest.mark.parametrize("kind", ["simulated", "ssc32"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_every_robot_becomes_a_rig_that_loads(robot: str, kind: str) -> None:
    rig, defaults = written(robot, kind)
    assert (rig.robot.id, rig.controller.kind) == (robot, kind)
    assert not rig.defaults, "a file of its own says everything"
    assert all(words in Path(rig.file).read_text("utf-8") for words in defaults)


@pytest.mark.parametrize("robot", ["puma560", "stanford", "planar-2r", "lynx6-alu", "ur5", "adept-cobra600"])
def test_a_rig_with_a_servo_board_is_checked_and_moves(robot: str) -> None:
    rig, _ = written(robot, "ssc32", gripper_mm=30.0)
    goal = list(rig.park)
    for index, axis in enumerate(rig.axes):
        towards = 1.0 if 0.5 * (axis.lower + axis.upper) >= goal[index] else -1.0
        goal[index] += 0.02 * (axis.upper - axis.lower) * towards
    report = preview(rig, plan_joint_move(rig, rig.park, goal))
    assert report.ok, report.refusals[0].text


def test_channels_follow_the_axes_and_pulses_are_ten_us_a_degree_about_the_middle() -> None:
    rig, _ = written("puma560", "ssc32", gripper_mm=30.0)
    settings = rig.controller
    assert isinstance(settings, Ssc32Settings)
    assert [axis.channel for axis in settings.axes] == [0, 1, 2, 3, 4, 5, 6]
    assert settings.canary_channel == 31
    joint = settings.axes[1]
    assert np.array(joint.points) == pytest.approx(np.array([(5 * DEG, 650), (175 * DEG, 2350)]))
    assert (joint.lower_us, joint.upper_us) == (650, 2350)
    assert np.array(settings.axes[6].points) == pytest.approx(np.array([(0.0, 1000), (30 * MM, 2000)]))


def test_a_servo_turns_170_degrees_about_home_within_the_robots_limits() -> None:
    rig, defaults = written("puma560", "ssc32")
    for axis, joint, home in zip(rig.axes, rig.robot.joints, rig.home, strict=True):
        assert joint.lower is not None and joint.upper is not None
        assert axis.upper - axis.lower == pytest.approx(170 * DEG)
        assert joint.lower <= axis.lower < home < axis.upper <= joint.upper
        assert axis.speed == pytest.approx(45 * DEG)
        assert any(words.startswith(f"{joint.name}: ") for words in defaults)
    assert rig.park_source == "estimate"
    assert any("park: as home, where a limp arm does not lie" in words for words in defaults)


def test_park_is_taken_in_degrees_and_millimetres() -> None:
    rig, defaults = written("stanford", "ssc32", park=(10.0, 20.0, 500.0, 30.0, 40.0, 50.0))
    kinds = [joint.type for joint in rig.robot.joints]
    units = [DEG if kind is JointType.REVOLUTE else MM for kind in kinds]
    assert np.array(rig.park) / units == pytest.approx([10, 20, 500, 30, 40, 50])
    assert not any(words.startswith("park") for words in defaults)


def test_a_cr1_takes_the_robots_of_its_five_joints_and_no_other() -> None:
    rig, _ = written("rv2aj", "cr1", port="/dev/ttyUSB7")
    pattern = wiring.load_rig("rv2aj")
    assert rig.controller.port_url == "/dev/ttyUSB7"
    assert [axis.speed for axis in rig.axes] == [axis.speed for axis in pattern.axes]
    with pytest.raises(ConfigError, match="the five joints J1, J2, J3, J5, J6 of an RV-2AJ"):
        write_rig(load_robot("ur5"), "ur5", Wish("other", "cr1"), wiring.load_rig)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (Wish("mine", "ssc"), "--controller: 'ssc' given; allowed: simulated, ssc32, cr1"),
        (Wish("mine", "simulated", port="COM3"), "--port: 'COM3' given; allowed: nothing, for a simulated controller"),
        (Wish("mine", "simulated", gripper_mm=3.0), "--gripper-mm: 3.0 given"),
        (
            Wish("mine", "cr1", gripper_mm=3.0),
            "--gripper-mm: 3.0 given; allowed: nothing: the hand of a CR1 is no axis",
        ),
        (Wish("mine", "ssc32", park=(1.0, 2.0)), r"--park: .* allowed: 6 numbers, for J1, J2"),
        (
            Wish("mine", "ssc32", park=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
            r"joints.J2.park_deg: 0.0 given; allowed: between",
        ),
        (Wish("ur5 2", "simulated"), "NAME: 'ur5 2' given"),
        (Wish("lynx6", "simulated"), "NAME: 'lynx6' given; allowed: a name that is not taken"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_and_nothing_is_written(wish: Wish, words: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        write_rig(load_robot("puma560"), "puma560", wish, wiring.load_rig)
    assert not list(folder.rglob("*.toml"))


@pytest.mark.parametrize("axis", ["x", "-x", "y", "-y", "z", "-z"])
def test_another_tool_axis_is_a_robot_whose_hand_points_there(axis: str) -> None:
    path = with_tool_axis("puma560", "turned", axis, load_robot)
    tool = np.array(load_robot(path).tool)
    wanted = {"x": 0, "y": 1, "z": 2}[axis[-1]]
    assert tool[wanted, 2] == (-1.0 if axis[0] == "-" else 1.0)
    assert np.linalg.det(tool[:3, :3]) == pytest.approx(1.0)
    assert f"along {axis} of the last link" in tool_words(load_robot(path))


@pytest.mark.parametrize(
    ("robot", "words"),
    [
        ("al5d", "the hand points along x of the last link; `pitch` is measured on it"),
        ("lynx6", "the hand points along z of the last link; `pitch` is measured on it"),
        ("puma560", "the hand points along z of the last link"),
    ],
)
def test_where_the_hand_points_is_said_as_pitch_has_it(robot: str, words: str) -> None:
    assert tool_words(load_robot(robot)) == words


def test_all_kinds_are_offered() -> None:
    assert KINDS == ("simulated", "ssc32", "cr1")


def meshes_of(robot: str, folder: Path, scale: float | None = None) -> Path:
    """The links' own pictures as `hil robots NAME --stl DIR` writes them; scaled, as another program would."""
    folder.mkdir()
    for mesh in link_meshes(load_robot(robot)):
        data = write_stl(mesh.vertices * (scale or 1.0), mesh.faces)
        file = folder / f"{robot}-link-{mesh.link}.stl"
        file.write_bytes(data if scale is None else b"another program".ljust(80) + data[80:])
    return folder


def test_bodies_can_be_meshes(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    rig, defaults = written("puma560", "simulated", meshes=meshes_of("puma560", tmp_path / "stl"))
    assert [shape.link for shape in rig.shapes] == list(range(7))
    assert "bodies: one capsule around each mesh" in defaults
    assert preview(rig, plan_joint_move(rig, rig.park, [value + 0.05 for value in rig.park])).ok


def test_a_meshs_unit_is_asked_for_where_it_is_in_doubt(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    folder = meshes_of("puma560", tmp_path / "stl", 1000.0)
    with pytest.raises(ConfigError, match="--stl-unit"):
        written("puma560", "simulated", meshes=folder)
    rig, _ = written("puma560", "simulated", meshes=folder, units="mm")
    assert max(shape.radius_m for shape in rig.shapes) < 0.5


def test_a_folder_without_links_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--stl: .*arm-link-0.stl to arm-link-6.stl"):
        written("puma560", "simulated", meshes=tmp_path)
