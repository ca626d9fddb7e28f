"""What the Robot takes and refuses at its door, and what `import hil` costs."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import hil
from hil.errors import CommandError


def test_importing_hil_loads_no_numpy() -> None:
    code = "import sys, hil; sys.exit('numpy' in sys.modules or 'msgspec' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_hil_names_its_public_things_and_nothing_else() -> None:
    assert {"Robot", "load_robot", "list_robots", "load_rig", "plan", "preview", "__version__"} <= set(dir(hil))
    assert hil.__version__
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        hil.nothing_of_the_kind  # noqa: B018


def test_a_robot_knows_its_model_name_and_joints() -> None:
    robot = hil.load_robot("puma560")
    assert (robot.name, robot.dof, robot.model.id) == ("puma560", 6, "puma560")
    assert "puma560" in repr(robot)
    assert "puma560" in hil.list_robots()


def test_shapes_of_one_and_of_many() -> None:
    robot = hil.load_robot("lynx6")
    one, many = [0.1] * 5, np.full((7, 5), 0.1)
    assert robot.forward_kinematics(one).shape == (4, 4)
    assert robot.forward_kinematics(many).shape == (7, 4, 4)
    assert robot.jacobian(one).shape == (6, 5)
    assert robot.jacobian(many).shape == (7, 6, 5)
    assert robot.link_frames(one).shape == (7, 4, 4)
    assert robot.link_frames(many).shape == (7, 7, 4, 4)
    assert robot.forward_kinematics(np.empty((0, 5))).shape == (0, 4, 4)


def test_out_is_written_and_returned() -> None:
    robot = hil.load_robot("lynx6")
    for q in ([0.1] * 5, np.full((3, 5), 0.1)):
        for method in (robot.forward_kinematics, robot.jacobian):
            expected = method(q)
            out = np.full(expected.shape, np.nan)
            assert method(q, out=out) is out
            assert np.array_equal(out, expected)


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 4)])
def test_an_out_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(CommandError, match="out has shape"):
        hil.load_robot("lynx6").forward_kinematics([0.1] * 5, out=np.empty(shape))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_coordinate_that_is_not_finite_names_its_joint(value: float) -> None:
    robot = hil.load_robot("lynx6")
    name = robot.model.joints[2].name
    with pytest.raises(CommandError, match=f"{name}: {value}") as refusal:
        robot.forward_kinematics([0, 0, value, 0, 0])
    assert refusal.value.axis == name
    many = np.zeros((9, 5))
    many[4, 2] = value
    for method in (robot.forward_kinematics, robot.jacobian, robot.link_frames):
        with pytest.raises(CommandError, match=name):
            method(many)
    with pytest.raises(CommandError, match=name):
        robot.inverse_kinematics(np.eye(4), seed=[0, 0, value, 0, 0])


@pytest.mark.parametrize("q", [[0.0] * 4, 1.0, np.zeros((2, 3, 5)), ["a"] * 5])
def test_coordinates_of_another_shape_are_refused(q: object) -> None:
    with pytest.raises(CommandError, match=r"joint coordinates|5 joints"):
        hil.load_robot("lynx6").forward_kinematics(q)


def test_a_matrix_that_is_no_pose_is_refused() -> None:
    with pytest.raises(CommandError, match="not a rotation"):
        hil.load_robot("lynx6").inverse_kinematics(2.0 * np.eye(4) - np.diag([0, 0, 0, 1]))


def test_huge_but_finite_coordinates_are_no_reason_to_fail() -> None:
    assert np.isfinite(hil.load_robot("lynx6").forward_kinematics([1e308, 1e308, 0, 0, 0])).all()
