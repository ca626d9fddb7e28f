"""The Stanford arm's closed form: which branches there are, and what happens where the boom has no length."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hil
from hil.kernels.chain import Frame, chain_of, forward
from hil.kernels.scalar import FLOATS
from hil.kernels.spherical_wrist import SphericalWristArm
from hil.kernels.stanford import recognise

REST = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


@pytest.fixture(scope="module")
def arm() -> SphericalWristArm:
    found = recognise(chain_of(hil.load_robot("stanford").model))
    assert found is not None
    return found


def error(arm: SphericalWristArm, q: tuple[float, ...], wanted: Frame) -> float:
    return max(abs(a - b) for a, b in zip(forward(arm.chain, q, FLOATS), wanted, strict=True))


def test_a_pose_has_eight_branches_four_of_them_with_the_boom_on_its_own_side(arm: SphericalWristArm) -> None:
    wanted = forward(arm.chain, (0.4, -0.9, 0.7, 1.1, 0.6, -2.0), FLOATS)
    solutions = dict(zip(arm.branches, arm.solve(wanted, REST, FLOATS), strict=True))
    assert len(solutions) == 8
    for name, branch in solutions.items():
        assert branch.exists >= 0.0 > branch.free
        assert error(arm, branch.q, wanted) < 1e-14
        assert (branch.q[2] > 0.0) == ("boom out" in name)
        assert (math.sin(branch.q[4]) > 0.0) == ("not flipped" in name)
        assert abs(branch.q[2]) == pytest.approx(0.7)


def test_far_points_are_reached_by_a_long_boom_and_points_beside_the_yaw_axis_are_not(arm: SphericalWristArm) -> None:
    far = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 40.0, -30.0, 20.0)
    assert all(branch.exists >= 0.0 and error(arm, branch.q, far) < 1e-12 for branch in arm.solve(far, REST, FLOATS))
    inside = (*far[:9], 0.054, 0.0, 1.0)
    for branch in arm.solve(inside, REST, FLOATS):
        assert branch.exists == pytest.approx(-0.1, abs=1e-8)
        assert all(map(math.isfinite, branch.q))


@pytest.mark.parametrize("length_m", [0.0, 1e-15, -1e-12, 5e-11, -1e-9, 1e-8, -1e-6, 1e-3])
def test_a_boom_without_length_leaves_the_shoulder_where_rest_has_it(arm: SphericalWristArm, length_m: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        q = rng.uniform(-math.pi, math.pi, 6)
        q[2] = length_m
        wanted = forward(arm.chain, q.tolist(), FLOATS)
        for branch in arm.solve(wanted, REST, FLOATS):
            assert branch.exists >= 0.0
            assert error(arm, branch.q, wanted) < 1e-9
            if abs(length_m) < 1e-14:
                assert branch.free >= 0.0
                assert branch.q[1] == pytest.approx(REST[1])
