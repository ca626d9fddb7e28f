"""The PUMA 560's dynamics as two independent public packages work them out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil.dynamics.model import Dynamics
from hil.model.reader import load_robot

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("puma560_oracle.json").read_text())["cases"]
PUMA = load_robot("puma560")
LINKS, WHOLE = Dynamics(PUMA, motors=False), Dynamics(PUMA)
ROUNDING = 1e-13
"""What the published numbers give where the true value is zero."""


def near(values: list[Any]) -> Any:
    return pytest.approx(np.array(values), rel=1e-9, abs=ROUNDING)


@pytest.fixture(params=CASES, ids=["first", "second", "third"])
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.param
    return found


def test_torques_of_links_motors_and_friction(case: dict[str, Any]) -> None:
    state = case["q"], case["qd"], case["qdd"]
    assert LINKS.inverse_dynamics(*state) == near(case["torque_links"])
    assert WHOLE.inverse_dynamics(*state) == near(case["torque_with_motors"])
    assert WHOLE.inverse_dynamics(*state, friction=True) == near(case["torque_with_motors_and_friction"])


def test_mass_matrix_with_and_without_motors(case: dict[str, Any]) -> None:
    assert LINKS.mass_matrix(case["q"]) == near(case["mass_links"])
    motors = WHOLE.mass_matrix(case["q"]) - LINKS.mass_matrix(case["q"])
    assert PUMA.inertia is not None
    expected = [link.motor_inertia_kg_m2 * link.gear_ratio**2 for link in PUMA.inertia]  # type: ignore[operator]
    assert motors == pytest.approx(np.diag(expected), rel=1e-9, abs=ROUNDING)


def test_gravity_and_coriolis_torques(case: dict[str, Any]) -> None:
    assert WHOLE.gravity_torque(case["q"]) == pytest.approx(np.array(case["gravity_torque"]), rel=1e-9, abs=1e-12)
    assert WHOLE.coriolis_torque(case["q"], case["qd"]) == near(case["coriolis_torque"])


def test_forward_dynamics_returns_the_accelerations(case: dict[str, Any]) -> None:
    # Torques of ten digits leave seven of the smallest acceleration.
    found = WHOLE.forward_dynamics(case["q"], case["qd"], case["torque_with_motors"])
    assert found == pytest.approx(case["qdd"], rel=1e-7)
    rubbed = WHOLE.forward_dynamics(case["q"], case["qd"], case["torque_with_motors_and_friction"], friction=True)
    assert rubbed == pytest.approx(case["qdd"], rel=1e-7)
