"""Samples for a real arm: written, and read back as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hil
from hil.errors import ConfigError
from hil.paths.curve_samples import (
    CurveSamples,
    SamplesHead,
    check_joints,
    joint_columns,
    read_samples,
    samples_text,
)
from hil.units import MM

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


def _samples(points, positions=None, joints=(), **head) -> CurveSamples:
    points = np.array(points, dtype=float)
    positions = np.empty((len(points), 0)) if positions is None else np.array(positions, dtype=float)
    return CurveSamples(SamplesHead(**{"title": "a", "dt_s": 0.05, **head}), points, joints, positions)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory):
    return tmp_path_factory.mktemp("samples") / "s.csv"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=2, max_size=30),
    st.floats(1e-4, 60.0),
    st.text(max_size=40),
)
def test_what_is_written_is_read_back_to_the_last_digit(file, rows, dt_s: float, title: str) -> None:
    table = np.array(rows)
    given_ = _samples(table[:, :3], table[:, 3:], ("base_deg",), dt_s=dt_s, title=title, robot="lynx6")
    file.write_text(samples_text(given_), encoding="utf-8", newline="\n")
    read = read_samples(file)
    assert read.head == given_.head and read.joints == ("base_deg",)
    assert read.points_mm.tobytes() == given_.points_mm.tobytes()
    assert read.positions.tobytes() == given_.positions.tobytes()


def test_the_head_says_robot_units_and_time_step() -> None:
    text = samples_text(_samples([(1, 2, 3), (4, 5, 6)], [(7,), (8,)], ("base_deg",), robot="lynx6", title="Ring"))
    assert text.splitlines() == [
        "# samples of a curve",
        '# title = "Ring"',
        '# robot = "lynx6"',
        "# dt_s = 0.05",
        '# length_unit = "mm"',
        '# angle_unit = "deg"',
        "t_s,x_mm,y_mm,z_mm,base_deg",
        "0.0,1.0,2.0,3.0,7.0",
        "0.05,4.0,5.0,6.0,8.0",
    ]


def test_points_alone_say_no_robot_and_no_angles() -> None:
    text = samples_text(_samples([(1, 2, 3), (4, 5, 6)]))
    assert "robot" not in text and "deg" not in text


GOOD = samples_text(_samples([(1, 2, 3), (4, 5, 6)]))
JOINTS = samples_text(_samples([(1, 2, 3), (4, 5, 6)], [(7, 8), (9, 10)], ("base_deg", "wrist_deg"), robot="lynx6"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: nothing given"),
        ("x,y,z\n1,2,3\n", "line 1: 'x,y,z' given; allowed: '# samples of a curve'"),
        (GOOD.replace("dt_s = 0.05", "dt_s = 0"), "dt_s: 0 given; allowed: number > 0"),
        (GOOD.replace("# dt_s = 0.05\n", ""), "dt_s: nothing given"),
        (GOOD.replace('"mm"', '"cm"'), "length_unit: 'cm' given; allowed: 'mm'"),
        (JOINTS.replace('"deg"', '"rad"'), "angle_unit: 'rad' given; allowed: 'deg'"),
        (JOINTS.replace("base_deg", "base_rad"), "line 7: 'base_rad' given; allowed: joints that end in _deg or _mm"),
        (JOINTS.replace("base_deg", "wrist_deg"), "line 7: 'wrist_deg' given; allowed: each column once"),
        (JOINTS.replace('# robot = "lynx6"\n', ""), "robot: nothing given; allowed: the id of the arm"),
        (GOOD.replace("4.0,5.0", "4.0,1e308"), "line 7: '1e308' given; allowed: up to 1e+09"),
        (GOOD.replace("# dt_s", "# dt"), "Did you mean `dt_s`"),
        (GOOD.replace("t_s,x_mm", "t_s,x_cm"), "line 5: 't_s,x_cm,y_mm,z_mm' given; allowed: t_s,x_mm,y_mm,z_mm"),
        (GOOD.replace("4.0,5.0", "4.0,five"), "line 7: 'five' given; allowed: a finite number"),
        (GOOD.replace("4.0,5.0", "4.0,nan"), "line 7: 'nan' given; allowed: a finite number"),
        (GOOD.replace("4.0,5.0", "4,0,5.0"), "line 7: '5 values' given; allowed: 4 numbers. A comma parts two values"),
        (GOOD.replace("0.05,4.0", "0.06,4.0"), "line 7: 't_s = 0.06' given; allowed: 0.05, which is 1 times dt_s"),
        ("\n".join(GOOD.splitlines()[:6]), "rows: 1 given; allowed: 2 to 100000 samples"),
        ("\n".join(GOOD.splitlines()[:4]), "line 5: nothing given"),
    ],
)
def test_a_wrong_file_is_answered_by_its_line(file, text: str, words: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_samples(file)
    assert words in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path) -> None:
    with pytest.raises(ConfigError, match="a readable CSV file"):
        read_samples(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="a readable CSV file"):
        read_samples(tmp_path / "bytes.csv")


@pytest.mark.parametrize("change", [lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\n\n")])
def test_what_editors_leave_in_a_file_changes_nothing(file, change) -> None:
    file.write_text(change(GOOD), encoding="utf-8")
    assert (read_samples(file).points_mm == [(1, 2, 3), (4, 5, 6)]).all()


# -- for an arm ---------------------------------------------------------------------------------------------


def _of_lynx6(robot: str = "lynx6", degrees=(0, 60, -60, -60, 0), moved_mm: float = 0.0) -> CurveSamples:
    arm = hil.load_robot("lynx6")
    names, units = joint_columns(arm.model)
    rows = np.array([degrees, degrees], dtype=float)
    points = arm.forward_kinematics(rows * units)[:, :3, 3] / MM + (moved_mm, 0.0, 0.0)
    return _samples(points, rows, names, robot=robot)


def test_joints_that_bring_the_tool_to_its_points_pass() -> None:
    check_joints(_of_lynx6(moved_mm=0.005), hil.load_robot("lynx6"), "s.csv")
    check_joints(_samples([(1, 2, 3), (4, 5, 6)]), hil.load_robot("lynx6"), "s.csv")


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        (_of_lynx6(robot="al5d"), "robot: 'al5d' given; allowed: 'lynx6', the robot in use"),
        (_of_lynx6()._replace(joints=("base_deg",) * 5), "columns: 'base_deg,base_deg,base_deg,base_deg,base_deg'"),
        (_of_lynx6(degrees=(0, 60, 91, -60, 0)), "sample 1, elbow_deg: 91.0 given; allowed: up to the upper limit 90"),
        (_of_lynx6(moved_mm=0.5), "where its joints bring the tool"),
    ],
    ids=["other arm", "other columns", "beyond a limit", "other place"],
)
def test_joints_that_are_not_those_of_the_arm_or_its_points_are_refused(samples: CurveSamples, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_joints(samples, hil.load_robot("lynx6"), "s.csv")
    assert words in str(caught.value)
