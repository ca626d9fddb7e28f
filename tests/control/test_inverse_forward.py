"""What inverse dynamics asks for along a motion, forward dynamics gives back as that motion."""

from __future__ import annotations

import numpy as np
import pytest
from controlled_arms import PUMA, TWO

from hil.control.experiment import Kind, Reference
from hil.control.references import sampled
from hil.dynamics.model import Dynamics
from hil.model.robot import RobotModel


@pytest.mark.parametrize("kind", [Kind.CUBIC, Kind.QUINTIC, Kind.TRAPEZOID, Kind.JERK_LIMITED])
@pytest.mark.parametrize("model", [TWO, PUMA], ids=lambda model: str(model.id))
def test_a_motion_comes_back_from_its_torques_to_1e_9(model: RobotModel, kind: Kind) -> None:
    ends = tuple(40.0 - 25.0 * joint for joint in range(model.dof))
    motion = sampled(Reference(kind=kind, start=(0.0,) * model.dof, end=ends, duration_s=1.3), model)
    q, qd, qdd = np.hsplit(motion(np.linspace(0.0, 1.3, 200)), 3)
    dynamics = Dynamics(model)
    back = np.array(
        [
            dynamics.forward_dynamics(a, b, dynamics.inverse_dynamics(a, b, c))
            for a, b, c in zip(q, qd, qdd, strict=True)
        ]
    )
    assert np.abs(qdd).max() > 1.0
    np.testing.assert_allclose(back, qdd, rtol=0.0, atol=1e-9)
