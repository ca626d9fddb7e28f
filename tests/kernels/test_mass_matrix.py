"""The mass matrix and the energies of any arm."""

from __future__ import annotations

import numpy as np
import pytest
from dynamic_arms import SEEDS, arms, plain_frames, plain_torques, random_state
from hypothesis import given, settings

from hil.kernels.bodies import mechanism_of
from hil.kernels.mass_matrix import kinetic_energy, mass_matrix, potential_energy
from hil.kernels.scalar import ARRAYS, FLOATS
from hil.model.robot import JointType, RobotModel

GRAVITY = (1.0, -2.0, -9.0)


def square(model: RobotModel, q: list[float]) -> np.ndarray:
    rows = mass_matrix(mechanism_of(model), q, FLOATS)
    return np.array([[rows[max(i, k)][min(i, k)] for k in range(model.dof)] for i in range(model.dof)])


@given(arms(), SEEDS)
@settings(max_examples=60, deadline=None)
def test_a_column_is_the_torque_of_one_unit_of_acceleration(model: RobotModel, seed: int) -> None:
    q, still = random_state(model, seed)[0], [0.0] * model.dof
    columns = [plain_torques(model, q, still, unit, (0, 0, 0)) for unit in np.eye(model.dof).tolist()]
    assert square(model, q) == pytest.approx(np.array(columns).T, rel=1e-9, abs=1e-9)


@given(arms(), SEEDS)
@settings(max_examples=40, deadline=None)
def test_the_mass_matrix_is_positive_definite(model: RobotModel, seed: int) -> None:
    moments = np.linalg.eigvalsh(square(model, random_state(model, seed)[0]))
    # A chain of sliding joints may push the same mass along the same line: then it is only semidefinite.
    turning = all(joint.type is JointType.REVOLUTE for joint in model.joints)
    assert moments[0] > (1e-9 * moments[-1] if turning else -1e-9 * moments[-1])


@given(arms(), SEEDS)
@settings(max_examples=25, deadline=None)
def test_arrays_equal_floats(model: RobotModel, seed: int) -> None:
    mechanism, q = mechanism_of(model), np.array(random_state(model, seed, 4))
    singles = [mass_matrix(mechanism, row, FLOATS) for row in q.tolist()]
    for i, row in enumerate(mass_matrix(mechanism, q.T, ARRAYS)):
        for k, value in enumerate(row):
            expected = [single[i][k] for single in singles]
            assert np.broadcast_to(value, 4) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@given(arms(), SEEDS)
@settings(max_examples=40, deadline=None)
def test_kinetic_energy_is_half_of_speed_mass_speed(model: RobotModel, seed: int) -> None:
    q, qd, _ = random_state(model, seed)
    found = kinetic_energy(mass_matrix(mechanism_of(model), q, FLOATS), qd)
    assert found == pytest.approx(0.5 * np.array(qd) @ square(model, q) @ qd, rel=1e-12)


@given(arms(), SEEDS)
@settings(max_examples=60, deadline=None)
def test_potential_energy_is_the_weight_of_every_centre_of_mass(model: RobotModel, seed: int) -> None:
    assert model.inertia is not None
    q = random_state(model, seed)[0]
    frames = plain_frames(model, q)[1:]
    places = [(frame @ [*link.com_m, 1.0])[:3] for frame, link in zip(frames, model.inertia, strict=True)]
    expected = -sum(link.mass_kg * (place @ GRAVITY) for place, link in zip(places, model.inertia, strict=True))
    assert potential_energy(mechanism_of(model), GRAVITY, q, FLOATS) == pytest.approx(expected, rel=1e-9, abs=1e-9)
