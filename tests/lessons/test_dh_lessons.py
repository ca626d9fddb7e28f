"""DH tables as typed, and frames that walk through them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.lessons.dh_table import COLUMNS, new_row, read_table, table_of, typed
from hil.lessons.history import History
from hil.lessons.motions import JointMotion
from hil.lessons.symbols import symbols_between
from hil.lessons.walks import PARTS, Walk, between
from hil.model.files import list_names
from hil.model.reader import load_robot
from hil.model.robot import JointType
from hil.robot import Robot

ROBOTS = sorted(list_names("robots"))
ARM = load_robot("puma560")


@pytest.mark.parametrize("name", ROBOTS)
def test_the_table_of_every_robot_makes_that_robot_again(name: str) -> None:
    model = load_robot(name)
    good, faults = read_table(table_of(model), model)
    assert not faults and good is not None and good.model is model


@pytest.mark.parametrize("name", ["puma560", "stanford", "lynx6", "vrm-kukakr5", "panda"])
def test_a_walk_goes_by_d_theta_a_alpha_and_ends_exactly_on_the_frame(name: str) -> None:
    """S2-02: the animated frame ends on the frame of forward kinematics."""
    robot = Robot(load_robot(name))
    good, _ = read_table(table_of(robot.model), robot.model)
    assert good is not None
    frames = robot.link_frames(good.end)
    for first, last in ((0, robot.dof + 1), (0, robot.dof), (2, 3)):
        walk = Walk(robot, good.end, first, last)
        columns = [part.column for part in walk.parts if part.column != "tool"]
        assert columns == list(PARTS) * (len(columns) // 4)
        end_s = walk.timeline.duration_s
        assert np.array_equal(walk.at(end_s).pose, frames[last])
        assert np.abs(walk.at(end_s - 1e-9).pose - frames[last]).max() < 1e-7, "no jump at the end"
        assert np.allclose(walk.at(0.0).pose, frames[first], atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 7), st.integers(0, 7), st.lists(st.floats(-3, 3), min_size=6, max_size=6))
def test_frame_to_frame_and_back_is_no_motion(start: int, end: int, q: list[float]) -> None:
    """S2-03: T(i, j) T(j, i) = I, and T(0, tool) is forward kinematics."""
    robot = Robot(ARM)
    there, back = between(robot, q, start, end), between(robot, q, end, start)
    assert np.abs(there @ back - np.eye(4)).max() < 1e-12
    assert np.abs(between(robot, q, 0, 7) - robot.forward_kinematics(q)).max() < 1e-12


@pytest.mark.parametrize(
    ("column", "text", "words"),
    [
        ("d", "15o", "J3, d (mm), column 3: "),
        ("d", "150,05", "column 4: "),
        ("theta", "", "nothing is typed"),
        ("alpha", "1/0", "column 2: "),
        ("a", "1e9", "1e+09 given; allowed: -100000 to 100000"),
        ("type", "screw", "'screw' given; allowed: revolute or prismatic (r, p)"),
        ("name", "J1", "'J1' is there twice"),
        ("name", " ", "allowed: 1 to 40 letters"),
        ("end", "sqrt(-1)", "column 1: sqrt"),
    ],
)
def test_a_wrong_entry_makes_no_robot_and_says_where(column: str, text: str, words: str) -> None:
    """S2-01: invalid text keeps the last good robot."""
    rows = typed(table_of(ARM), 2, COLUMNS.index(column), text)
    good, faults = read_table(rows, ARM)
    assert good is None
    (fault,) = faults
    assert (fault.row, fault.column) == (2, COLUMNS.index(column)) and words in fault.sentence


def test_numbers_may_be_formulas_and_the_others_stay_as_the_file_has_them() -> None:
    good, _ = read_table(typed(table_of(ARM), 1, COLUMNS.index("a"), "2*100 + 50"), ARM)
    assert good is not None and good.model is not ARM
    assert good.model.joints[1].a_m == pytest.approx(0.25) and good.model.id == "puma560-edited"
    assert [joint for k, joint in enumerate(good.model.joints) if k != 1] == [
        joint for k, joint in enumerate(ARM.joints) if k != 1
    ]
    assert good.model.inertia is None, "masses were those of another arm"


def test_a_prismatic_joint_varies_its_length_along_z() -> None:
    """S2-05: the Jacobian's column of a slide is [z; 0]."""
    good, _ = read_table(typed(table_of(ARM), 2, COLUMNS.index("type"), "p"), ARM)
    assert good is not None and good.model.joints[2].type is JointType.PRISMATIC
    assert good.model.joints[2].lower is None, "limits were angles"
    robot = Robot(good.model)
    q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    column = robot.jacobian(q)[:, 2]
    assert np.allclose(column, [*robot.link_frames(q)[2, :3, 2], 0.0, 0.0, 0.0], atol=1e-12)


def test_rows_come_and_go() -> None:
    rows = table_of(load_robot("planar-2r"))
    more, _ = read_table((*rows, new_row(rows)), load_robot("planar-2r"))
    assert more is not None and more.model.dof == 3
    less, _ = read_table(rows[:1], load_robot("planar-2r"))
    assert less is not None and less.model.dof == 1
    assert Robot(less.model).forward_kinematics([0.0]).shape == (4, 4)
    assert read_table(rows * 5, load_robot("planar-2r"))[0] is None


def test_what_was_typed_is_taken_back_and_done_again() -> None:
    history = History("a")
    for state in ("b", "b", "c"):
        history.add(state)
    assert history.back() and history.now == "b" and history.back() and history.now == "a" and not history.back()
    assert history.forth() and history.now == "b"
    history.add("d")
    assert not history.forth() and history.now == "d"


@pytest.mark.parametrize("profile", ["quintic", "cubic", "trapezoid", "blended"])
def test_a_joint_motion_begins_and_ends_where_it_was_told(profile: str) -> None:
    """S2-12, S1-21: initial and final values, at rest at both."""
    robot = Robot(ARM)
    start, end = [0.0] * 6, [0.5, -0.5, 0.25, 1.0, 0.1, -1.0]
    motion = JointMotion(robot, start, end, profile, 2.0)
    assert motion.at(0.0).tolist() == start and motion.at(9.0).tolist() == end
    sheet = motion.sheet()
    assert len(sheet.rows) == 101 and sheet.rows[-1][1] == pytest.approx(np.degrees(0.5))
    speeds = np.abs(np.diff(motion.q, axis=0))
    assert speeds[0].max() < 0.1 * speeds.max() and speeds[-1].max() < 0.1 * speeds.max()


def test_symbols_between_frames_have_the_numbers_of_the_frames() -> None:
    """S3-02: matrices of a segment, in symbols."""
    sympy = pytest.importorskip("sympy")
    found = symbols_between(load_robot("planar-2r"), 0, 2, lengths=True)
    assert "c12" in found.text and "a1*c1" in found.text
    assert r"\theta" in found.latex or "c_{12}" in found.latex
    from hil.kernels.readable import frame_to_frame

    q = [0.3, -0.4, 0.5, 0.6, -0.7, 0.8]
    symbols = {sympy.Symbol(f"q_{k}", real=True): value for k, value in enumerate(q, start=1)}
    for start, end in ((1, 4), (5, 2), (3, 7)):
        numbers = np.array(frame_to_frame(ARM, start, end).matrix.subs(symbols).evalf().tolist(), dtype=float)
        assert np.abs(numbers - between(Robot(ARM), q, start, end)).max() < 1e-12
