from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.kernels.build import fast_available
from hil.motion.motion import MAX_DURATION_S
from hil.motion.profiles import differences, run_time_s
from hil.paths.timing import LONGEST_S, PathLimits, TooLongError, slopes, time_on_path

SPEED, ACCELERATION, JERK = np.array([1.0, 1.2]), np.array([3.5, 3.0]), np.array([35.0, 30.0])
LENGTH_M = 0.4

compiling = pytest.mark.skipif(not fast_available(), reason="the extra [fast] is not installed")


def limits(**changes) -> PathLimits:
    return PathLimits(
        **{"period_s": 0.02, "speed": SPEED, "acceleration": ACCELERATION, "jerk": JERK, "pace_m_s": 0.2, **changes}
    )


def straight(joints: float = 1.0, count: int = 401) -> np.ndarray:
    return np.linspace(0.0, joints, count)[:, None] * np.array([1.0, 0.5])


def wavy(count: int = 801) -> np.ndarray:
    s = np.linspace(0.0, 1.0, count)
    return np.stack([0.6 * np.sin(5.0 * s), 0.5 * np.cos(7.0 * s) + 0.2 * s], axis=1)


def used(rows: np.ndarray, wanted: PathLimits) -> list[float]:
    found = differences(rows, wanted.period_s)
    kept = (wanted.speed, wanted.acceleration, np.full(2, math.inf) if wanted.jerk is None else wanted.jerk)
    return [float((np.abs(each) / limit).max()) for each, limit in zip(found, kept, strict=True)]


def test_the_tool_goes_at_the_speed_asked_for_between_its_ramps_and_no_faster() -> None:
    course = time_on_path(straight(), LENGTH_M, limits())
    pace = np.diff(course.at_m) / 0.02
    assert pace.max() <= 0.2
    cruise = pace[pace > 0.19999]
    assert len(cruise) > 80 and np.ptp(cruise) < 1e-9
    assert course.at_m[0] == 0.0 and course.at_m[-1] == LENGTH_M


def test_a_straight_way_takes_hardly_longer_than_the_quickest_run() -> None:
    """Seven stretches of constant jerk are the best there is; the course has the same ramps, averaged."""
    course = time_on_path(straight(), LENGTH_M, limits(pace_m_s=10.0))
    best = run_time_s(1.0, *(float((limit / np.array([1.0, 0.5])).min()) for limit in (SPEED, ACCELERATION, JERK)))
    # Limits are judged on samples: over 20 ms a bend of jerk is a little softer than it is at its sharpest.
    assert 0.98 * best <= course.seconds <= 1.05 * best


def test_without_jerk_a_straight_way_takes_the_time_of_a_trapezoid() -> None:
    course = time_on_path(straight(), LENGTH_M, limits(jerk=None, pace_m_s=10.0))
    assert course.seconds == pytest.approx(1.0 / 1.0 + 1.0 / 3.5, rel=0.01)


@given(
    st.floats(0.02, 2.0), st.floats(0.3, 3.0), st.floats(1.0, 9.0), st.booleans(), st.sampled_from([0.005, 0.02, 0.04])
)
@settings(max_examples=40, deadline=None)
def test_samples_keep_every_limit_or_the_course_says_that_they_do_not(pace, speed, acceleration, jerk, period) -> None:
    wanted = limits(
        pace_m_s=pace,
        period_s=period,
        speed=speed * SPEED,
        acceleration=acceleration * ACCELERATION,
        jerk=acceleration * JERK if jerk else None,
    )
    course = time_on_path(wavy(), LENGTH_M, wanted)
    assert course.excess <= 1.0
    s = course.at_m / LENGTH_M
    exact = np.stack([0.6 * np.sin(5.0 * s), 0.5 * np.cos(7.0 * s) + 0.2 * s], axis=1)
    assert max(used(exact, wanted)) <= 1.0 + 2e-3
    assert (np.diff(course.at_m) >= 0.0).all() and np.diff(course.at_m).max() <= pace * period


def test_a_path_slows_where_it_has_to_and_only_there() -> None:
    """A joint that turns sharply in the middle: the ends go on at full speed."""
    s = np.linspace(0.0, 1.0, 801)
    bent = np.stack([s, 0.3 * np.tanh((s - 0.5) / 0.02)], axis=1)
    course = time_on_path(bent, LENGTH_M, limits())
    pace, at = np.diff(course.at_m) / 0.02, course.at_m[1:] / LENGTH_M
    assert course.excess <= 1.0
    assert pace[(at > 0.15) & (at < 0.3)].min() == pytest.approx(0.2, rel=1e-3)
    assert pace[(at > 0.75) & (at < 0.85)].min() == pytest.approx(0.2, rel=1e-3)
    assert pace[(at > 0.48) & (at < 0.52)].max() < 0.1


def test_derivatives_over_length_are_those_of_the_way() -> None:
    s = np.linspace(0.0, 2.0, 2001)
    along = slopes(np.stack([np.sin(s), s**3], axis=1), 2.0)
    assert along.first[1:-1, 0] == pytest.approx(np.cos(s)[1:-1], abs=1e-6)
    assert along.second[1:-1, 1] == pytest.approx(6.0 * s[1:-1], abs=1e-5)
    assert along.third[5:-5, 1] == pytest.approx(np.full(1991, 6.0), abs=1e-3)


def test_what_takes_longer_than_a_motion_may_is_given_up_without_a_second_round() -> None:
    """A jump in the way makes each round slower than the one before; over an hour none of them counts."""
    assert LONGEST_S == MAX_DURATION_S
    assert time_on_path(straight(), LENGTH_M, limits(pace_m_s=LENGTH_M / 3500.0)).seconds < 3600.0
    with pytest.raises(TooLongError) as caught:
        time_on_path(straight(), LENGTH_M, limits(pace_m_s=LENGTH_M / 3700.0))
    assert caught.value.seconds == pytest.approx(3700.0, rel=0.01)


def test_what_would_take_for_ever_is_refused_before_it_is_sampled() -> None:
    with pytest.raises(TooLongError, match="too many samples") as caught:
        time_on_path(straight(), LENGTH_M, limits(pace_m_s=1e-6))
    assert caught.value.seconds == pytest.approx(LENGTH_M / 1e-6, rel=0.01)


def stuck() -> np.ndarray:
    """A joint that jumps in the middle: no slowness smooths that out."""
    return np.where(np.linspace(0.0, 1.0, 401)[:, None] < 0.5, 0.0, [0.2, 0.1])


WAYS = {"straight": straight(), "wavy": wavy(), "still": straight(0.0), "jump": stuck()}


@compiling
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("jerk", [None, JERK, 0.2 * JERK], ids=["no jerk", "jerk", "soft"])
@pytest.mark.parametrize("pace", [0.05, 0.4, 10.0])
def test_machine_code_finds_the_same_course(name, jerk, pace) -> None:
    wanted = limits(jerk=jerk, pace_m_s=pace)
    plain, compiled = (time_on_path(WAYS[name], LENGTH_M, wanted, compiled=each) for each in (False, True))
    # At a jump rounding is brought up to the size of the jump, round after round.
    same = 1e-9 if name != "jump" else 1e-6
    assert len(compiled.at_m) == len(plain.at_m)
    assert np.abs(compiled.at_m - plain.at_m).max() <= same * LENGTH_M
    assert compiled.seconds == pytest.approx(plain.seconds, rel=same)
    assert compiled.excess == pytest.approx(plain.excess, rel=1e-5)
    assert compiled.worst_m == pytest.approx(plain.worst_m, abs=same) or plain.excess <= 1.0


@compiling
def test_machine_code_refuses_what_would_take_for_ever_too() -> None:
    with pytest.raises(TooLongError) as caught:
        time_on_path(straight(), LENGTH_M, limits(pace_m_s=1e-6), compiled=True)
    assert caught.value.seconds == pytest.approx(LENGTH_M / 1e-6, rel=0.01)
