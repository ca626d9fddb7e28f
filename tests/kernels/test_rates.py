"""Velocity and acceleration kinematics against the Jacobian and finite differences; their inverses undo them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dynamic_arms import SEEDS, chains, random_state
from hypothesis import given, settings

from hil.kernels.chain import chain_of, forward_and_jacobian
from hil.kernels.emit_python import python_function
from hil.kernels.rates import (
    acceleration,
    has_spherical_wrist,
    inverse_acceleration,
    inverse_jacobian,
    inverse_velocity,
    jacobian_rate,
    velocity,
)
from hil.kernels.routine import Argument, draft
from hil.kernels.scalar import ARRAYS, FLOATS
from hil.model.files import list_names
from hil.model.reader import load_robot
from hil.model.robot import RobotModel

ROBOTS = list_names("robots")
TWIST = (0.1, -0.2, 0.3, 0.4, -0.5, 0.6)


def jacobian_of(model: RobotModel, q: list[float]) -> np.ndarray:
    return np.array(forward_and_jacobian(chain_of(model), q, FLOATS)[1]).T


@given(chains(), SEEDS)
@settings(max_examples=60, deadline=None)
def test_velocity_is_the_jacobian_times_the_joint_speeds(model: RobotModel, seed: int) -> None:
    q, qd, _ = random_state(model, seed)
    found = velocity(chain_of(model), q, qd, FLOATS)
    assert found == pytest.approx(jacobian_of(model, q) @ qd, rel=1e-10, abs=1e-10)


@given(chains(), SEEDS)
@settings(max_examples=60, deadline=None)
def test_the_jacobian_rate_is_its_change_per_second(model: RobotModel, seed: int) -> None:
    q, qd, _ = (np.array(v) for v in random_state(model, seed))
    step = 1e-6
    ahead, behind = (jacobian_of(model, (q + side * step * qd).tolist()) for side in (1, -1))
    found = np.array(jacobian_rate(chain_of(model), q.tolist(), qd.tolist(), FLOATS)).T
    assert found == pytest.approx((ahead - behind) / (2 * step), rel=1e-6, abs=1e-6)


@given(chains(), SEEDS)
@settings(max_examples=60, deadline=None)
def test_acceleration_is_the_jacobian_times_accelerations_plus_its_rate_times_speeds(
    model: RobotModel, seed: int
) -> None:
    q, qd, qdd = random_state(model, seed)
    rate = np.array(jacobian_rate(chain_of(model), q, qd, FLOATS)).T
    expected = jacobian_of(model, q) @ qdd + rate @ qd
    assert acceleration(chain_of(model), q, qd, qdd, FLOATS) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_inverses_are_those_of_linear_algebra_for_every_robot(name: str) -> None:
    model = load_robot(name)
    chain = chain_of(model)
    q, qd, qdd = random_state(model, 5)
    jacobian = jacobian_of(model, q)
    speeds = inverse_velocity(chain, q, velocity(chain, q, qd, FLOATS), FLOATS)
    again = inverse_acceleration(chain, q, qd, acceleration(chain, q, qd, qdd, FLOATS), FLOATS)
    if np.linalg.matrix_rank(jacobian, 1e-6) < min(jacobian.shape):
        assert speeds.regular < 0
    elif model.dof <= 6:
        assert speeds.regular >= 0
        assert speeds.values == pytest.approx(qd, rel=1e-8, abs=1e-8)
        assert again.values == pytest.approx(qdd, rel=1e-8, abs=1e-8)
    else:
        assert speeds.regular >= 0
        assert speeds.values == pytest.approx(np.linalg.pinv(jacobian) @ jacobian @ qd, rel=1e-8)
    if model.dof >= 6:
        inverse = inverse_jacobian(chain, q, FLOATS)
        assert np.array(inverse.rows) == pytest.approx(np.linalg.pinv(jacobian), rel=1e-7, abs=1e-9)


def test_wrists_are_told_by_their_axes() -> None:
    found = {name for name in ROBOTS if has_spherical_wrist(chain_of(load_robot(name)))}
    assert {"puma560", "stanford", "abb-irb120", "kuka-kr5-arc"} <= found
    assert found.isdisjoint({"ur5", "lynx6", "panda", "planar-2r"})


@pytest.mark.parametrize("q", [[0.3, 0.2, 0.4, 0.1, 0.0, 0.2], [0.0, 0.0, math.pi / 2, 0.3, 0.5, 0.0]])
@pytest.mark.parametrize("name", ["puma560", "ur5", "panda", "lynx6"])
def test_near_a_singularity_speeds_stay_finite_and_the_status_says_so(name: str, q: list[float]) -> None:
    model = load_robot(name)
    for pose in ([0.0] * model.dof, [*q, 0.0][: model.dof]):
        found = inverse_velocity(chain_of(model), pose, TWIST, FLOATS)
        assert all(map(math.isfinite, found.values))
    wrist_in_line = inverse_velocity(chain_of(load_robot("puma560")), [0.3, 0.2, 0.4, 0.1, 0.0, 0.2], TWIST, FLOATS)
    assert wrist_in_line.regular < 0


@pytest.mark.parametrize("name", ["puma560", "ur5", "panda", "lynx6"])
def test_arrays_and_emitted_code_equal_floats(name: str) -> None:
    model = load_robot(name)
    chain, states = chain_of(model), np.array(random_state(model, 11, 4))
    singles = [inverse_velocity(chain, q, TWIST, FLOATS) for q in states.tolist()]
    batch = inverse_velocity(chain, states.T, TWIST, ARRAYS)

    def body(q, functions):  # type: ignore[no-untyped-def]
        found = inverse_velocity(chain, q, TWIST, functions)
        return {"qd": ((model.dof,), found.values, ""), "regular": ((), (found.regular,), "")}

    emitted = python_function(draft("inverse_velocity", "", [Argument("q", model.dof, "")], body), flat=True)
    for i, single in enumerate(singles):
        expected = [*single.values, single.regular]
        assert [v[i] for v in (*batch.values, batch.regular)] == pytest.approx(expected, rel=1e-9)
        assert emitted(states[i].tolist()) == pytest.approx(expected, rel=1e-9)
