"""A compiled robot answers as an uncompiled one, refuses the same, and says so where Numba is missing."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hil
from hil.errors import CommandError, MissingExtraError
from hil.kernels import build

compiling = pytest.mark.skipif(not build.fast_available(), reason="the extra [fast] is not installed")


@pytest.fixture(scope="module")
def plain() -> hil.Robot:
    return hil.load_robot("puma560")


@pytest.fixture(scope="module")
def fast() -> hil.Robot:
    return hil.load_robot("puma560").compile()


def states(count: int, seed: int = 3) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).uniform(-2.0, 2.0, (3, count, 6)))


@compiling
@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("forward_kinematics", 1),
        ("jacobian", 1),
        ("inverse_dynamics", 3),
        ("mass_matrix", 1),
        ("gravity_torque", 1),
        ("forward_dynamics", 3),
    ],
)
def test_one_and_many_agree_with_the_uncompiled_robot(
    plain: hil.Robot, fast: hil.Robot, method: str, arguments: int
) -> None:
    given = states(130)[:arguments]
    expected = getattr(plain, method)(*given)
    found = getattr(fast, method)(*given)
    scale = np.abs(expected).max()
    assert np.allclose(found, expected, rtol=0, atol=1e-12 * scale)
    one = [values[7] for values in given]
    assert np.allclose(getattr(fast, method)(*one), expected[7], rtol=0, atol=1e-12 * scale)
    assert np.allclose(getattr(fast, method)(*(v.tolist() for v in one)), expected[7], rtol=0, atol=1e-12 * scale)
    out = np.empty_like(expected[7])
    assert getattr(fast, method)(*one, out) is out


@compiling
@pytest.mark.parametrize("shape", [(5,), (7,), (3, 5), (2, 3, 6)])
def test_a_wrong_shape_is_refused_by_both_with_the_same_words(
    plain: hil.Robot, fast: hil.Robot, shape: tuple[int, ...]
) -> None:
    words = []
    for robot in (plain, fast):
        with pytest.raises(CommandError, match="has 6 joints") as refusal:
            robot.forward_kinematics(np.zeros(shape))
        words.append(str(refusal.value))
    assert words[0] == words[1]


@compiling
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_is_refused_by_name_and_out_stays_as_it_was(fast: hil.Robot, bad: float) -> None:
    out = np.full((4, 4), 5.0)
    q = np.array([0.0, 0.0, bad, 0.0, 0.0, 0.0])
    with pytest.raises(CommandError, match="J3"):
        fast.forward_kinematics(q, out)
    assert np.all(out == 5.0)
    with pytest.raises(CommandError, match="J3"):
        fast.jacobian(np.vstack([np.zeros(6), q]))


@compiling
def test_an_out_that_is_not_contiguous_is_written_all_the_same(plain: hil.Robot, fast: hil.Robot) -> None:
    q, out = states(1)[0][0], np.empty((8, 8))[::2, ::2]
    assert fast.forward_kinematics(q, out) is out
    assert np.allclose(out, plain.forward_kinematics(q), rtol=0, atol=1e-15)


@compiling
@pytest.mark.parametrize("name", ["puma560", "rv2aj", "ur5", "adept-cobra600", "lynx6-4axis"])
def test_all_solutions_are_the_same_in_the_same_order(name: str) -> None:
    plain, fast = hil.load_robot(name), hil.load_robot(name).compile("inverse_kinematics")
    generator = np.random.default_rng(9)
    poses = np.array([plain.forward_kinematics(q) for q in generator.uniform(-1.5, 1.5, (40, plain.dof))])
    for pose in poses:
        expected, found = plain.inverse_kinematics_all(pose), fast.inverse_kinematics_all(pose)
        assert found.shape == expected.shape
        assert np.abs(np.remainder(found - expected + np.pi, 2 * np.pi) - np.pi).max() < 1e-7
    (q, valid), (expected_q, expected_valid) = plain.inverse_kinematics_all(poses), fast.inverse_kinematics_all(poses)
    assert np.array_equal(valid, expected_valid)
    assert np.abs(np.remainder(q - expected_q + np.pi, 2 * np.pi) - np.pi)[valid].max() < 1e-7
    assert len(plain.branches) == q.shape[1]


@compiling
def test_a_pose_that_is_no_rotation_is_refused_and_a_rounded_one_is_made_exact(fast: hil.Robot) -> None:
    pose = fast.forward_kinematics(np.array([0.3, 0.7, -0.4, 0.2, 0.9, -0.5]))
    rounded = np.round(pose, 8)
    answers = fast.inverse_kinematics_all(rounded)
    assert len(answers) == 8
    assert np.abs(fast.forward_kinematics(answers) - pose).max() < 1e-7
    mirrored = pose.copy()
    mirrored[:3, 2] *= -1.0
    for bad in (mirrored, pose * 1.1, np.full((4, 4), np.nan)):
        with pytest.raises(CommandError):
            fast.inverse_kinematics_all(bad)
        with pytest.raises(CommandError):
            fast.inverse_kinematics_all(np.array([pose, bad]))
    with pytest.raises(CommandError, match="4x4"):
        fast.inverse_kinematics_all(np.zeros((2, 3, 3)))


@compiling
def test_an_empty_batch_of_poses_has_no_solutions(fast: hil.Robot, plain: hil.Robot) -> None:
    for robot in (fast, plain):
        found = robot.inverse_kinematics_all(np.empty((0, 4, 4)))
        assert found.q.shape == (0, 8, 6)
        assert found.valid.shape == (0, 8)


def test_an_arm_without_masses_says_so_for_its_dynamics() -> None:
    with pytest.raises(CommandError, match="mass"):
        hil.load_robot("ur5").gravity_torque(np.zeros(6))


def test_without_the_extra_compile_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "fast_available", lambda: False)
    build._build.cache_clear()
    with pytest.raises(MissingExtraError, match=r"hil-arm-bridge\[fast\]"):
        hil.load_robot("planar-2r").compile("forward_kinematics")
