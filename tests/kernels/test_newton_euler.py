"""Inverse dynamics against the balance of forces in world coordinates, and against the 2R arm's closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dynamic_arms import SEEDS, arm, arms, plain_torques, planar_2r, random_state, revolute
from hypothesis import given, settings

from hil.errors import CommandError
from hil.kernels.bodies import mechanism_of
from hil.kernels.dynamics_routines import ROUTINES
from hil.kernels.expression import Operation
from hil.kernels.newton_euler import (
    EARTH_M_S2,
    coriolis_torque,
    friction_torque,
    gravity_torque,
    inverse_dynamics,
)
from hil.kernels.routine import operation_counts
from hil.kernels.scalar import ARRAYS, FLOATS
from hil.model.reader import load_robot
from hil.model.robot import LinkInertia, RobotModel

GRAVITY = (1.0, -2.0, -9.0)


@given(arms(), SEEDS)
@settings(max_examples=100, deadline=None)
def test_torques_are_those_of_a_plain_balance_of_forces(model: RobotModel, seed: int) -> None:
    q, qd, qdd = random_state(model, seed)
    expected = plain_torques(model, q, qd, qdd, GRAVITY)
    found = inverse_dynamics(mechanism_of(model), GRAVITY, q, qd, qdd, FLOATS)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(arms(most=4), SEEDS)
@settings(max_examples=40, deadline=None)
def test_gravity_and_coriolis_terms_are_the_torques_without_the_rest(model: RobotModel, seed: int) -> None:
    q, qd, _ = random_state(model, seed)
    mechanism, still = mechanism_of(model), [0.0] * model.dof
    weight = gravity_torque(mechanism, GRAVITY, q, FLOATS)
    whirl = coriolis_torque(mechanism, q, qd, FLOATS)
    assert weight == pytest.approx(plain_torques(model, q, still, still, GRAVITY), rel=1e-9, abs=1e-9)
    assert whirl == pytest.approx(plain_torques(model, q, qd, still, (0, 0, 0)), rel=1e-9, abs=1e-9)


@given(arms(), SEEDS)
@settings(max_examples=25, deadline=None)
def test_arrays_and_emitted_code_equal_floats(model: RobotModel, seed: int) -> None:
    from hil.kernels.emit_python import python_function

    mechanism = mechanism_of(model)
    states = [random_state(model, seed + i) for i in range(4)]
    singles = [inverse_dynamics(mechanism, GRAVITY, *state, FLOATS) for state in states]  # type: ignore[call-arg]
    columns = inverse_dynamics(mechanism, GRAVITY, *np.array(states).transpose(1, 2, 0), ARRAYS)  # type: ignore[call-arg]
    emitted = python_function(ROUTINES["inverse_dynamics"](mechanism, GRAVITY), flat=True)
    for i, single in enumerate(singles):
        batch = [np.broadcast_to(column, 4)[i] for column in columns]
        assert batch == pytest.approx(single, rel=1e-10, abs=1e-10)
        assert emitted(*states[i]) == pytest.approx(single, rel=1e-10, abs=1e-10)


def test_the_2r_arm_has_its_closed_form() -> None:
    (m1, m2), (l1, l2), g = (2.0, 1.5), (0.6, 0.4), 9.81
    mechanism = mechanism_of(planar_2r((m1, m2), (l1, l2)))
    (q1, q2), (v1, v2), (a1, a2) = (0.3, -1.1), (0.7, -1.9), (2.1, 0.4)
    i1, i2, r1, r2 = m1 * l1**2 / 12, m2 * l2**2 / 12, l1 / 2, l2 / 2
    h = m2 * l1 * r2
    m11 = i1 + i2 + m1 * r1**2 + m2 * (l1**2 + r2**2) + 2 * h * math.cos(q2)
    m12, m22 = i2 + m2 * r2**2 + h * math.cos(q2), i2 + m2 * r2**2
    g2 = m2 * g * r2 * math.cos(q1 + q2)
    g1 = (m1 * r1 + m2 * l1) * g * math.cos(q1) + g2
    expected = [
        m11 * a1 + m12 * a2 - h * math.sin(q2) * (2 * v1 * v2 + v2**2) + g1,
        m12 * a1 + m22 * a2 + h * math.sin(q2) * v1**2 + g2,
    ]
    found = inverse_dynamics(mechanism, (0.0, -g, 0.0), (q1, q2), (v1, v2), (a1, a2), FLOATS)
    assert found == pytest.approx(expected, abs=1e-9)


def test_friction_follows_the_speed_through_the_gear_and_vanishes_at_rest() -> None:
    link = LinkInertia(
        mass_kg=1.0,
        com_m=(0.0, 0, 0),
        gear_ratio=-10.0,
        viscous_nm_s=0.01,
        coulomb_nm=(0.2, -0.3),
        motor_inertia_kg_m2=0.0,
    )
    mechanism = mechanism_of(arm([revolute()], [link]), point_masses=True)
    assert friction_torque(mechanism, [2.0], FLOATS) == [pytest.approx(10 * (0.01 * 10 * 2 + 0.2))]
    assert friction_torque(mechanism, [-2.0], FLOATS) == [pytest.approx(10 * (-0.01 * 10 * 2 - 0.3))]
    assert friction_torque(mechanism, [0.0], FLOATS) == [0.0]
    assert friction_torque(mechanism, [np.array([2.0, 0.0])], ARRAYS)[0] == pytest.approx([4.0, 0.0])


def test_the_puma_takes_few_operations() -> None:
    mechanism = mechanism_of(load_robot("puma560"))
    arithmetic = (Operation.ADD, Operation.SUBTRACT, Operation.MULTIPLY)
    most = {"inverse_dynamics": 360, "gravity_torque": 45, "mass_matrix": 180, "forward_dynamics": 620}
    for name, limit in most.items():
        counts = operation_counts(ROUTINES[name](mechanism, EARTH_M_S2))
        assert sum(counts.get(operation, 0) for operation in arithmetic) <= limit, name


def test_an_arm_without_masses_says_that_no_source_gives_them() -> None:
    with pytest.raises(CommandError, match=r"no source gives masses.*\[joints\.inertia\]"):
        mechanism_of(load_robot("ur5"))


def test_a_missing_tensor_is_named_unless_point_masses_are_meant() -> None:
    model = load_robot("al5d")
    with pytest.raises(CommandError, match=r"no inertia tensor for base, shoulder, elbow, wrist.*inertia_kg_m2"):
        mechanism_of(model)
    assert len(mechanism_of(model, point_masses=True).bodies) == 4
