from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import CommandError
from hil.motion.profiles import differences, rest_to_rest

LIMIT = st.floats(0.01, 100.0)


@given(
    length=st.floats(1e-9, 50.0),
    speed=st.floats(0.05, 100.0),
    acceleration=LIMIT,
    jerk=st.floats(0.1, 1000.0),
    period_s=st.sampled_from([0.004, 0.01, 0.02]),
)
def test_a_run_goes_exactly_there_and_its_samples_keep_every_limit(length, speed, acceleration, jerk, period_s):
    run = rest_to_rest(length, speed, acceleration, jerk, period_s)
    assert (run[0], run[-1]) == (0.0, length)
    assert (np.diff(run) >= -1e-12 * length).all()
    rounding = 32 * np.spacing(length)
    found = differences(run[:, None], period_s)
    for order, (values, limit) in enumerate(zip(found, (speed, acceleration, jerk), strict=True), start=1):
        assert np.abs(values).max() <= limit * (1 + 1e-9) + rounding / period_s**order


def test_a_long_run_cruises_at_its_speed_and_takes_the_shortest_time():
    run = rest_to_rest(10.0, 1.0, 2.0, 10.0, 0.02)
    # length / speed + speed / acceleration + acceleration / jerk = 10 + 0.5 + 0.2 s
    assert len(run) - 1 == 535
    np.testing.assert_allclose(np.diff(run)[40:-40] / 0.02, 1.0, rtol=1e-9)


def test_no_distance_takes_no_time():
    assert rest_to_rest(0.0, 1.0, 1.0, 1.0, 0.02).tolist() == [0.0]


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_a_run_with_a_number_that_makes_no_sense_is_refused(place, bad):
    arguments = [1.0, 1.0, 1.0, 1.0, 0.02]
    arguments[place] = bad
    with pytest.raises(CommandError, match="a finite number"):
        rest_to_rest(*arguments)


@pytest.mark.parametrize("place", range(1, 5))
def test_a_limit_of_zero_is_no_limit_but_an_error(place):
    arguments = [1.0, 1.0, 1.0, 1.0, 0.02]
    arguments[place] = 0.0
    with pytest.raises(CommandError, match="above 0"):
        rest_to_rest(*arguments)


def test_a_run_without_end_is_refused():
    with pytest.raises(CommandError, match="too many samples"):
        rest_to_rest(1e9, 1e-3, 1.0, 1.0, 0.02)
