"""New rigs and robots: written into the user's folder, read back first, never over anything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.errors import ConfigError
from hil.model import files
from hil.model.reader import load_robot
from hil.runtime.wiring import load_rig
from hil.workbench.new_files import LENGTHS, check_length, check_name, new_rig, new_robot

LYNX6_MM = {"base_height_mm": 110.6, "upper_arm_mm": 120.0, "forearm_mm": 120.0, "hand_mm": 150.0}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, empty, and a working folder without configs."""
    monkeypatch.setattr(files, "user_dir", lambda: tmp_path / "user/hil")
    monkeypatch.setattr("hil.workbench.new_files.user_dir", lambda: tmp_path / "user/hil")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "user/hil"


def robot(name: str = "mine", lengths_mm: dict[str, float] | None = None, **changes: object) -> Path:
    options = {"axes": 5, "measured_by": "Ann", "date": "2026-01-31", **changes}
    return new_robot(name, lengths_mm or LYNX6_MM, load_robot, **options)  # type: ignore[arg-type]


def no_file(home: Path) -> bool:
    return not [path for path in home.rglob("*") if path.is_file()]


# -- rigs ------------------------------------------------------------------------------------------------


def test_a_new_rig_says_only_what_differs_and_loads_by_its_name(home: Path) -> None:
    file = new_rig("lynx6-3", "lynx6", load_rig, port="/dev/hil-lynx6-3", adapter_serial="A50285BI")
    assert file == home / "rigs/lynx6-3.toml"
    assert 'inherit = "lynx6"' in file.read_text() and len(file.read_text()) < 300
    rig, parent = load_rig("lynx6-3"), load_rig("lynx6")
    assert (rig.adapter_serial, rig.controller.port_url) == ("A50285BI", "/dev/hil-lynx6-3")
    assert (rig.axes, rig.fences, rig.controller.baud) == (parent.axes, parent.fences, parent.controller.baud)


def test_a_rig_may_inherit_from_a_file_that_has_no_name(home: Path, tmp_path: Path) -> None:
    parent = tmp_path / "elsewhere/desk.toml"
    parent.parent.mkdir()
    parent.write_text('inherit = "lynx6"\n[timing]\nlook_ahead_ms = 40\n')
    new_rig("child", str(parent), load_rig)
    assert load_rig("child").look_ahead_s == 0.04


def test_windows_ports_and_odd_titles_are_written_as_they_are() -> None:
    new_rig("desk", "lynx6", load_rig, port="\\\\.\\COM12", title='Tür "3"\tö')
    rig = load_rig("desk")
    assert (rig.controller.port_url, rig.title) == ("\\\\.\\COM12", 'Tür "3"\tö')


@pytest.mark.parametrize("name", ["lynx6", "LYNX6", "al5d"])
def test_a_name_that_is_taken_is_refused_with_the_file_that_has_it(name: str, home: Path) -> None:
    with pytest.raises(ConfigError, match=r"not taken.*\.toml has it"):
        new_rig(name, "lynx6", load_rig)
    assert no_file(home)


def test_nothing_is_overwritten(home: Path) -> None:
    file = new_rig("desk", "lynx6", load_rig)
    before = file.read_text()
    with pytest.raises(ConfigError, match="has it"):
        new_rig("desk", "al5d", load_rig)
    assert file.read_text() == before


@pytest.mark.parametrize("name", ["", "-x", "a/b", "..", "a b", "desk.toml", "com3", "NUL", "x" * 64, "ä", 'a"b'])
def test_what_is_no_name_for_a_file_on_every_system_is_refused(name: str, home: Path) -> None:
    with pytest.raises(ConfigError, match="letters"):
        new_rig(name, "lynx6", load_rig)
    assert no_file(home)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"port": ""}, "controller.port"),
        ({"adapter_serial": ""}, "adapter_serial"),
        ({"robot": "puma560"}, "joints"),
        ({"robot": "lynx7"}, "Did you mean 'lynx6'"),
    ],
)
def test_a_rig_that_would_not_load_is_not_written_and_the_key_is_named(
    changes: dict[str, str], words: str, home: Path
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        new_rig("desk", "lynx6", load_rig, **changes)  # type: ignore[arg-type]
    assert "hil-new-" not in str(caught.value)
    assert no_file(home)


def test_a_parent_that_is_not_there_is_answered_with_the_closest(home: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'lynx6'"):
        new_rig("desk", "lynx7", load_rig)
    assert no_file(home)


def test_a_folder_that_cannot_be_written_is_said_in_words(home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_text("a file where the folder should be")
    with pytest.raises(ConfigError, match="a folder that can be written to"):
        new_rig("desk", "lynx6", load_rig)


# -- robots ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("axes", "same"), [(5, "lynx6"), (4, "lynx6-4axis")])
def test_with_the_lynx6s_lengths_the_new_robot_is_where_the_lynx6_is(axes: int, same: str) -> None:
    robot(axes=axes)
    ours, theirs = hil.load_robot("mine"), hil.load_robot(same)
    for q in np.random.default_rng(7).uniform(-1.5, 1.5, (100, axes)):
        np.testing.assert_allclose(ours.forward_kinematics(q), theirs.forward_kinematics(q), atol=1e-12)


@settings(deadline=None)
@given(
    lengths=st.tuples(st.floats(30, 300), st.floats(160, 400), st.floats(160, 400), st.floats(40, 350)),
    axes=st.sampled_from([4, 5]),
)
def test_straight_up_the_finger_tips_are_at_the_sum_of_the_lengths(
    lengths: tuple[float, float, float, float], axes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("straight")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hil.workbench.new_files.user_dir", lambda: place)
        given_mm = {length.key: value for length, value in zip(LENGTHS, lengths, strict=True)}
        arm = hil.load_robot(robot(lengths_mm=given_mm, axes=axes))
    tip = arm.forward_kinematics([0.0, np.pi / 2, *[0.0] * (axes - 2)])[:3, 3]
    np.testing.assert_allclose(tip, [0.0, 0.0, sum(lengths) / 1000], atol=2e-6)


def test_the_file_says_who_measured_and_when() -> None:
    robot(measured_by='A. "Ann" Ö')
    assert load_robot("mine").source == 'measured by A. "Ann" Ö, 2026-01-31'


def test_a_measured_robot_takes_the_place_of_the_parents_in_a_rig() -> None:
    robot(lengths_mm={**LYNX6_MM, "forearm_mm": 131.0})
    new_rig("desk", "lynx6", load_rig, robot="mine")
    assert load_rig("desk").robot.joints[2].a_m == pytest.approx(0.131)


@pytest.mark.parametrize("length", LENGTHS, ids=lambda length: length.key)
def test_a_length_in_another_unit_is_refused_with_the_one_that_was_meant(length) -> None:
    true_mm = (length.lower_mm + length.upper_mm) / 2
    for factor, unit in ((10.0, "centimetres"), (25.4, "inches"), (1000.0, "metres")):
        if true_mm / factor < length.lower_mm:
            with pytest.raises(ConfigError) as caught:
                check_length(length, true_mm / factor)
            assert "Did you mean" in caught.value.advice
            if unit == "metres":
                assert f"{true_mm:g} mm, if those were metres" in caught.value.advice


@pytest.mark.parametrize("value_mm", [float("nan"), float("inf"), -120.0, 0.0, 1e9])
def test_what_is_no_length_is_refused(value_mm: float, home: Path) -> None:
    with pytest.raises(ConfigError, match="upper_arm_mm"):
        robot(lengths_mm={**LYNX6_MM, "upper_arm_mm": value_mm})
    assert no_file(home)


def test_lengths_that_do_not_go_together_are_refused(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"forearm_mm.*Measure both again"):
        robot(lengths_mm={**LYNX6_MM, "upper_arm_mm": 60.0, "forearm_mm": 200.0})
    assert no_file(home)


@pytest.mark.parametrize(("height_mm", "taken"), [(500.6, True), (510.0, True), (512.0, False), (float("nan"), False)])
def test_the_height_of_the_upright_arm_checks_the_other_lengths(height_mm: float, taken: bool, home: Path) -> None:
    if taken:
        robot(height_mm=height_mm)
    else:
        with pytest.raises(ConfigError, match=r"500\.6 mm, the sum"):
            robot(height_mm=height_mm)
    assert no_file(home) is not taken


def test_only_four_and_five_axes_are_of_this_kind(home: Path) -> None:
    with pytest.raises(ConfigError, match="--axes"):
        robot(axes=6)
    assert no_file(home)


def test_the_name_is_judged_before_anything_is_asked() -> None:
    with pytest.raises(ConfigError, match="not taken"):
        check_name("robots", "lynx6")
    assert check_name("robots", "mine").name == "mine.toml"
