"""The paper's law: tau = f (wanted qdd + Kp e + Kd de/dt), f by formula."""

import msgspec
import numpy as np
import pytest
from controlled_arms import TWO, two

from hil.control.experiment import Experiment
from hil.control.loop import ClosedLoop
from hil.dynamics.model import Dynamics
from hil.errors import CommandError
from hil.formula.errors import FormulaError, OutsideDomainError
from hil.kernels.closed_loop import Law
from hil.kernels.scalar import FLOATS


def scaled(*factors: str) -> Experiment:
    return msgspec.structs.replace(two(), law=Law.SCALED_PD, factors=factors, kp=(400.0,), kd=(40.0,))


def torque(*factors: str) -> np.ndarray:
    given = [[0.3, -0.2], [0.1, 0.4], [0.5, 0.1], [0.2, 0.0], [2.0, -1.0], [400.0] * 2, [40.0] * 2, [1e9] * 2]
    return np.array(ClosedLoop(TWO, scaled(*factors)).controller.body(*given, FLOATS)["tau"][1])


ASKED = np.array([2.0 + 400.0 * 0.2 + 40.0 * 0.1, -1.0 + 400.0 * 0.3 - 40.0 * 0.4])


def test_factors_multiply_what_is_asked():
    assert torque("3") == pytest.approx(3.0 * ASKED)
    assert torque("1+q1*qd2", "2-qdd") == pytest.approx(np.array([1.0 + 0.3 * 0.4, 3.0]) * ASKED)


def test_the_factor_m_is_the_diagonal_of_the_mass_matrix():
    masses = np.diag(Dynamics(TWO).mass_matrix(np.array([0.3, -0.2])))
    assert torque("m") == pytest.approx(masses * ASKED)


def test_factors_that_mean_nothing_are_refused_with_their_joint_and_column():
    with pytest.raises(FormulaError, match=r"factor of J1, column 3.*qq"):
        ClosedLoop(TWO, scaled("2*qq", "1"))
    with pytest.raises(OutsideDomainError, match="factor of J2"):
        ClosedLoop(TWO, scaled("1", "1/q2"))
    with pytest.raises(CommandError, match="3 factors given"):
        ClosedLoop(TWO, scaled("1", "1", "1"))
