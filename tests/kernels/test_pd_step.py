"""One step of PD control."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.kernels.bodies import mechanism_of
from hil.kernels.newton_euler import EARTH_M_S2, gravity_torque
from hil.kernels.pd_step import pd_step
from hil.kernels.scalar import ARRAYS, FLOATS
from hil.model.reader import load_robot

NUMBERS = st.floats(-50.0, 50.0, allow_subnormal=False)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.floats(0.1, 20.0))
def test_torques_follow_the_errors_and_never_pass_the_limits(
    target: float, target_speed: float, q: float, qd: float, limit: float
) -> None:
    free = pd_step([3.0], [0.5], [target], [target_speed], [q], [qd], FLOATS)
    assert free.torque == [pytest.approx(3.0 * (target - q) + 0.5 * (target_speed - qd))]
    assert free.saturated == []
    held = pd_step([3.0], [0.5], [target], [target_speed], [q], [qd], FLOATS, limits=[limit])
    assert held.torque == [pytest.approx(min(limit, max(-limit, free.torque[0])))]
    assert (held.saturated[0] >= 0) == (abs(free.torque[0]) >= limit)


def test_gravity_compensation_holds_a_weight_without_an_error() -> None:
    mechanism, q, still = mechanism_of(load_robot("puma560")), [0.1, -0.4, 0.7, 0.2, -0.3, 0.5], [0.0] * 6
    weight = gravity_torque(mechanism, EARTH_M_S2, q, FLOATS)
    control = pd_step([100.0] * 6, [10.0] * 6, q, still, q, still, FLOATS, feedforward=weight)
    assert control.torque == pytest.approx(weight)


def test_the_weight_counts_before_the_limit() -> None:
    control = pd_step([1.0], [1.0], [2.0], [0.0], [0.0], [0.0], FLOATS, limits=[3.0], feedforward=[5.0])
    assert control.torque == [3.0]
    assert control.saturated == [pytest.approx(4.0)]


def test_arrays_equal_floats() -> None:
    q = np.linspace(-2, 2, 9)
    batch = pd_step([5.0], [1.0], [0.3], [0.0], [q], [0.1 * q], ARRAYS, limits=[4.0])
    for i, value in enumerate(q.tolist()):
        single = pd_step([5.0], [1.0], [0.3], [0.0], [value], [0.1 * value], FLOATS, limits=[4.0])
        assert (batch.torque[0][i], batch.saturated[0][i]) == pytest.approx((single.torque[0], single.saturated[0]))
