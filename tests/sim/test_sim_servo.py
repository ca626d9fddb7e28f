"""The servo plant: exact over any step."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.servo import Servo, follow

places = st.floats(-3, 3)
lags = st.one_of(st.just(0.0), st.floats(0.005, 0.5))
speeds = st.floats(0.05, 20)
steps = st.floats(0.001, 1.0)


def integrate(x: float, start: float, end: float, duration_s: float, lag_s: float, speed: float) -> float:
    count = 4000
    h = duration_s / count
    for i in range(count):
        u = start + (end - start) * (i + 0.5) / count
        rate = max(-speed, min(speed, (u - x) / max(lag_s, 1e-12)))
        x = u if lag_s == 0.0 and abs(u - x) <= speed * h else x + rate * h
    return x


@given(places, places, places, steps, lags, speeds)
def test_one_exact_step_agrees_with_fine_integration(x, start, end, duration_s, lag_s, speed):
    exact = follow(x, start, end, duration_s, lag_s, speed)
    scale = speed + abs(end - start) / duration_s
    assert exact == pytest.approx(
        integrate(x, start, end, duration_s, lag_s, speed), abs=0.02 * scale * duration_s + 1e-6
    )


@given(places, places, places, steps, st.floats(0.05, 0.95), lags, speeds)
@example(x=0.0, start=0.0, end=1.75, duration_s=1.0, share=0.05, lag_s=0.005, speed=1.75)
def test_two_steps_end_where_one_does(x, start, end, duration_s, share, lag_s, speed):
    middle = start + (end - start) * share
    once = follow(x, start, end, duration_s, lag_s, speed)
    half = follow(x, start, middle, duration_s * share, lag_s, speed)
    twice = follow(half, middle, end, duration_s * (1 - share), lag_s, speed)
    assert twice == pytest.approx(once, abs=1e-6)


@given(places, places, places, steps, lags, speeds)
def test_a_servo_is_never_faster_than_its_top_speed(x, start, end, duration_s, lag_s, speed):
    assert abs(follow(x, start, end, duration_s, lag_s, speed) - x) <= speed * duration_s * (1 + 1e-9) + 1e-9


@given(places, places, lags, speeds)
def test_a_servo_approaches_a_resting_target_without_overshoot(x, target, lag_s, speed):
    before = abs(target - x)
    for _ in range(5):
        x = follow(x, target, target, 0.02, lag_s, speed)
        assert abs(target - x) <= before + 1e-12
        before = abs(target - x)


def test_without_power_a_servo_stays_where_it_is():
    servo = Servo(0.3, 0.05, 5.0)
    servo.target = 1.0
    assert servo.advance(1.0) == 0.3


def test_a_stalled_servo_stays_and_goes_on_when_freed():
    servo = Servo(0.0, 0.05, 5.0)
    servo.powered = servo.stalled = True
    servo.target = 1.0
    assert servo.advance(1.0) == 0.0
    servo.stalled = False
    assert servo.advance(3.0) == pytest.approx(1.0)


def test_after_one_time_constant_63_percent_of_the_way_is_done():
    assert follow(0.0, 1.0, 1.0, 0.1, 0.1, math.inf) == pytest.approx(1 - math.exp(-1))


@pytest.mark.parametrize("bad", [(math.nan, 0.1, 1.0), (0.0, -0.1, 1.0), (0.0, 0.1, 0.0), (0.0, 0.1, math.nan)])
def test_a_servo_with_impossible_numbers_is_refused(bad):
    with pytest.raises(ValueError, match="a servo needs"):
        Servo(*bad)
