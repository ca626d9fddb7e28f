"""Forward dynamics undoes inverse dynamics, and says where it cannot."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dynamic_arms import SEEDS, arms, planar_2r, random_state
from hypothesis import assume, given, settings

from hil.kernels.bodies import mechanism_of
from hil.kernels.dynamics_routines import ROUTINES
from hil.kernels.emit_python import python_function
from hil.kernels.forward_dynamics import (
    LEAST_PIVOT,
    cornered,
    factorised,
    forward_dynamics,
    solved,
    solved_by_corner,
)
from hil.kernels.newton_euler import EARTH_M_S2, inverse_dynamics
from hil.kernels.scalar import ARRAYS, FLOATS
from hil.model.reader import load_robot
from hil.model.robot import RobotModel

GRAVITY = (1.0, -2.0, -9.0)


@given(arms(), SEEDS)
@settings(max_examples=80, deadline=None)
def test_forward_dynamics_returns_the_accelerations_of_inverse_dynamics(model: RobotModel, seed: int) -> None:
    mechanism, (q, qd, qdd) = mechanism_of(model), random_state(model, seed)
    tau = inverse_dynamics(mechanism, GRAVITY, q, qd, qdd, FLOATS)
    found = forward_dynamics(mechanism, GRAVITY, q, qd, tau, FLOATS)
    assume(found.smallest_pivot > 1e-3)
    assert found.qdd == pytest.approx(qdd, rel=1e-6, abs=1e-6)


@given(arms(), SEEDS)
@settings(max_examples=25, deadline=None)
def test_arrays_and_emitted_code_equal_floats(model: RobotModel, seed: int) -> None:
    mechanism = mechanism_of(model)
    states = [random_state(model, seed + i) for i in range(3)]
    singles = [forward_dynamics(mechanism, GRAVITY, *state, FLOATS) for state in states]  # type: ignore[call-arg]
    assume(min(single.smallest_pivot for single in singles) > 1e-2)
    batch = forward_dynamics(mechanism, GRAVITY, *np.array(states).transpose(1, 2, 0), ARRAYS)  # type: ignore[call-arg]
    emitted = python_function(ROUTINES["forward_dynamics"](mechanism, GRAVITY), flat=True)
    for i, single in enumerate(singles):
        expected = [*single.qdd, single.smallest_pivot]
        rows = [np.broadcast_to(value, 3)[i] for value in (*batch.qdd, batch.smallest_pivot)]
        assert rows == pytest.approx(expected, rel=1e-8, abs=1e-8)
        assert emitted(*states[i]) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_the_factors_solve_a_symmetric_system() -> None:
    root = np.random.default_rng(3).normal(size=(7, 7))
    matrix, right = root @ root.T, np.arange(7.0)
    factors = factorised([row[: i + 1] for i, row in enumerate(matrix.tolist())], FLOATS)
    assert solved(factors, right.tolist()) == pytest.approx(np.linalg.solve(matrix, right), rel=1e-9)
    lower = np.eye(7)
    for i, row in enumerate(factors.lower):
        lower[i, :i] = row
    assert lower.T @ np.diag(1.0 / np.array(factors.inverse)) @ lower == pytest.approx(matrix, abs=1e-12)


@pytest.mark.parametrize("count", range(1, 8))
def test_the_corner_of_a_matrix_solves_it_as_well_with_inertias_of_any_size(count: int) -> None:
    root = np.random.default_rng(count).normal(size=(count, count))
    sizes = np.diag(10.0 ** np.linspace(3.0, -3.0, count))
    matrix, right = sizes @ root @ root.T @ sizes, np.arange(1.0, count + 1.0)
    factors = cornered([row[: i + 1] for i, row in enumerate(matrix.tolist())], FLOATS)
    assert solved_by_corner(factors, right.tolist()) == pytest.approx(np.linalg.solve(matrix, right), rel=1e-9)
    assert [len(row) for row in factors.lower] == [0, 0, 0, 3, 4, 5, 6][:count]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_matrix_without_an_inverse_gives_finite_numbers_by_its_corner_too(count: int) -> None:
    factors = cornered([[0.0] * (i + 1) for i in range(count)], FLOATS)
    assert all(map(math.isfinite, solved_by_corner(factors, [1.0] * count)))


def test_a_massless_last_link_gives_no_pivot_and_still_finite_numbers() -> None:
    mechanism = mechanism_of(load_robot("lynx6"))
    found = forward_dynamics(mechanism, EARTH_M_S2, [0.1] * 5, [0.2] * 5, [0.3] * 5, FLOATS)
    assert found.smallest_pivot <= LEAST_PIVOT
    assert all(map(math.isfinite, found.qdd))


def test_a_free_falling_arm_keeps_its_energy() -> None:
    """Five seconds at 1 kHz by Runge-Kutta."""
    mechanism, gravity, step = mechanism_of(planar_2r()), (0.0, -9.81, 0.0), 1e-3
    accelerations = python_function(ROUTINES["forward_dynamics"](mechanism, gravity), flat=True)
    energy = python_function(ROUTINES["energy"](mechanism, gravity), flat=True)

    def slope(state: np.ndarray) -> np.ndarray:
        values = state.tolist()
        return np.array([*values[2:], *accelerations(values[:2], values[2:], (0.0, 0.0))[:2]])

    state = np.array([0.4, 0.9, 0.0, 0.0])
    start = sum(energy(state[:2], state[2:]))
    swing = 0.0
    for _ in range(5000):
        k1 = slope(state)
        k2 = slope(state + step / 2 * k1)
        k3 = slope(state + step / 2 * k2)
        k4 = slope(state + step * k3)
        state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        swing = max(swing, energy(state[:2], state[2:])[0])
    assert swing > 1.0
    assert abs(sum(energy(state[:2], state[2:])) - start) < 1e-3 * swing
