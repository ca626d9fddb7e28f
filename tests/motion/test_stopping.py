from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_rigs import make_rig

from hil.errors import CommandError
from hil.motion.motion import Motion
from hil.motion.profiles import axis_limits, differences, rest_to_rest
from hil.motion.stops import stop_positions, stop_ramp, stop_samples, stop_time_s

PART = st.floats(-1.0, 1.0)
RIG = make_rig()
FAST = make_rig(period_s=0.004)


def history(rig, position, v, a):
    """Three samples with the given backward differences."""
    h = rig.period_s
    p1 = position - v * h
    return np.array([p1 - (v - a * h) * h, p1, position])


@settings(max_examples=300)
@given(
    v=st.lists(PART, min_size=6, max_size=6),
    a=st.lists(PART, min_size=6, max_size=6),
    rig=st.sampled_from([RIG, FAST]),
)
def test_a_stop_from_any_state_keeps_acceleration_and_jerk_and_ends_at_rest(v, a, rig):
    speed, acceleration, jerk = axis_limits(rig)
    v, a, p = np.array(v) * speed, np.array(a) * acceleration, np.zeros(6)
    samples = stop_ramp(rig, p, v, a)
    whole = np.concatenate([history(rig, p, v, a), samples, samples[-1:], samples[-1:], samples[-1:]])
    second = np.diff(whole, 2, axis=0) / rig.period_s**2
    third = np.diff(whole, 3, axis=0) / rig.period_s**3
    assert (np.abs(second) <= acceleration * (1 + 1e-6)).all()
    assert (np.abs(third) <= jerk * (1 + 1e-6)).all()
    assert len(samples) * rig.period_s <= stop_time_s(rig) + 1e-9


@settings(max_examples=150, deadline=None)
@given(
    length=st.floats(1e-4, 3.0),
    scale=st.floats(0.1, 1.0),
    part=st.floats(0.0, 1.0),
    rig=st.sampled_from([RIG, FAST]),
)
def test_a_stop_out_of_a_planned_run_never_goes_faster_than_the_limit(length, scale, part, rig):
    axis = rig.axes[0]
    s = rest_to_rest(length, axis.speed * scale, axis.acceleration, axis.jerk, rig.period_s)
    samples = np.zeros((len(s), 6))
    samples[:, 0] = s
    at = round(part * (len(s) - 1))
    speed, acceleration, _ = differences(samples[: at + 1], rig.period_s)
    stop = stop_ramp(rig, samples[at], speed[at], acceleration[at])
    run = np.concatenate([samples[: at + 1], stop])
    assert np.abs(differences(run, rig.period_s)[0]).max() <= axis.speed * scale * (1 + 1e-6)
    assert stop[-1, 0] <= length + axis.speed * rig.period_s


def test_the_rest_positions_of_a_whole_motion_are_those_of_the_ramps():
    runs = [rest_to_rest(x, 0.9, 3.0, 20.0, 0.02) for x in (1.5, 0.7, 0.3, 0.01, 0.9)]
    samples = np.zeros((max(map(len, runs)) + 5, 6))
    for column, run in enumerate(runs):
        samples[: len(run), column], samples[len(run) :, column] = run, run[-1]
    motion = Motion([axis.name for axis in RIG.axes], RIG.period_s, samples)
    speed, acceleration, _ = differences(samples, RIG.period_s)
    ramps = [stop_ramp(RIG, samples[k], speed[k], acceleration[k])[-1] for k in range(len(samples))]
    np.testing.assert_allclose(stop_positions(RIG, motion), ramps, atol=1e-11)


def test_an_arm_at_rest_stays_where_it_is():
    p = np.linspace(0.1, 0.6, 6)
    samples = stop_ramp(RIG, p, np.zeros(6), np.zeros(6))
    assert samples.shape == (1, 6)
    assert (samples == p).all()


def test_an_acceleration_above_the_limit_is_let_go_within_the_jerk_limit():
    v, a = np.zeros(6), np.zeros(6)
    a[0] = 3.0 * RIG.axes[0].acceleration
    samples = stop_ramp(RIG, np.zeros(6), v, a)
    whole = np.concatenate([history(RIG, np.zeros(6), v, a), samples, samples[-1:], samples[-1:]])
    third = np.diff(whole, 3, axis=0) / RIG.period_s**3
    assert np.abs(third[:, 0]).max() <= RIG.axes[0].jerk * (1 + 1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_stop_from_a_state_that_is_not_finite_is_refused(bad):
    with pytest.raises(CommandError, match=r"velocity .* of base is not a finite number"):
        stop_ramp(RIG, [0.0] * 6, [bad, 0, 0, 0, 0, 0], [0.0] * 6)


def test_a_stop_with_too_few_numbers_is_refused():
    with pytest.raises(CommandError, match="5 values of position for 6 axes"):
        stop_ramp(RIG, [0.0] * 5, [0.0] * 6, [0.0] * 6)


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1))
def test_joints_that_stop_together_rest_at_once_keep_their_limits_and_do_not_turn_back(seed):
    random = np.random.default_rng(seed)
    most, jerk = np.array([3.0, 2.0, 4.0]), np.array([30.0, 20.0, 40.0])
    share = random.uniform(0.0, 1.0)
    speed = random.uniform(-1.0, 1.0, 3) * share
    rows = stop_samples(0.02, most, jerk, np.zeros(3), speed, np.zeros(3), together=True)
    single = stop_samples(0.02, most, jerk, np.zeros(3), speed, np.zeros(3))
    assert len(rows) == len(single)
    path = np.vstack([-0.02 * 2 * speed, -0.02 * speed, np.zeros(3), rows, rows[-1], rows[-1]])
    assert (np.abs(np.diff(path, 2, axis=0)) <= most * 0.02**2 * (1 + 1e-9)).all()
    assert (np.abs(np.diff(path, 3, axis=0)) <= jerk * 0.02**3 * (1 + 1e-9)).all()
    steps = np.diff(np.vstack([np.zeros(3), rows]), axis=0)
    assert (steps * np.sign(speed) >= -1e-12).all()
    # All of one shape, since acceleration and jerk are in one proportion here.
    assert np.allclose(steps[:-1] / speed, (steps[:-1] / speed)[:, :1], atol=1e-6)
