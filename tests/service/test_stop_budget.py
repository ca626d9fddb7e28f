"""The stop budget: a bound on time and way, and a speed cap that makes the way fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import CommandError
from hil.motion.profiles import axis_limits, rest_to_rest
from hil.motion.stops import stop_ramp
from hil.runtime.wiring import load_rig
from hil.service.stop_budget import (
    CRAWL,
    SHARES,
    Live,
    budget,
    share_by_age,
    slowed,
    speed_cap,
    stop_figures,
)
from hil.types import AxisJog, JogFrame, ToolJog

RIG = load_rig("lynx6")
FIGURES = stop_figures(RIG, wire_s=0.0035)
SPEEDS = tuple(axis.speed for axis in RIG.axes)

amounts = st.floats(-2.0, 2.0)
axis_jogs = st.lists(amounts, min_size=len(SPEEDS), max_size=len(SPEEDS)).map(lambda a: AxisJog(amounts=tuple(a)))
tool_jogs = st.builds(
    ToolJog,
    frame=st.sampled_from(JogFrame),
    linear=st.tuples(amounts, amounts, amounts),
    pitch=amounts,
    roll=amounts,
    turn=st.tuples(amounts, amounts, amounts),
)


def _live(**changes: Any) -> Live:
    given = {"input_age_s": 0.03, "silence_s": 0.1, "late_s": 0.001, "clearance_m": 0.05, "tool_speed_m_s": 0.1}
    return Live(**(given | changes))


def _limits(share: float) -> tuple[float, ...]:
    return tuple(share * speed for speed in SPEEDS)


@settings(max_examples=40)
@given(share=st.sampled_from(SHARES), axis=st.integers(0, len(SPEEDS) - 1), at=st.floats(0.0, 1.0))
def test_no_stop_on_the_way_up_to_a_speed_takes_longer_or_further_than_its_figures(
    share: float, axis: int, at: float
) -> None:
    """Any sample of the quickest run that there is, stopped there as the loop would."""
    speed, most, jerk = axis_limits(RIG)
    top = share * float(speed[axis])
    run = rest_to_rest(3.0 * top, top, float(most[axis]), float(jerk[axis]), RIG.period_s)
    k = 2 + round(at * (len(run) - 3))
    p2, p1, p0 = run[k - 2 : k + 1]
    position, velocity, acceleration = np.zeros(len(SPEEDS)), np.zeros(len(SPEEDS)), np.zeros(len(SPEEDS))
    velocity[axis] = (p0 - p1) / RIG.period_s
    acceleration[axis] = (p0 - 2.0 * p1 + p2) / RIG.period_s**2
    path = stop_ramp(RIG, position, velocity, acceleration)  # type: ignore[arg-type]
    index = SHARES.index(share)
    # The grid of time lets a speed that is still rising overshoot by a step of its acceleration.
    period_s = RIG.period_s
    assert len(path) * period_s <= FIGURES.ramp_s[index] + period_s + 1e-9
    assert np.abs(path[:, axis]).max() <= top * (FIGURES.ramp_way_s[index] + period_s) + 1e-9


def test_faster_stops_take_longer_and_further() -> None:
    assert list(FIGURES.ramp_s) == sorted(FIGURES.ramp_s)
    ways = [share * way_s for share, way_s in zip(SHARES, FIGURES.ramp_way_s, strict=True)]
    assert ways == sorted(ways)


def test_the_budget_of_the_lynx6_is_the_sum_of_its_parts() -> None:
    found = budget(FIGURES, _live())
    parts = (found.input_ms, found.loop_ms, found.queue_ms, found.wire_ms, found.ramp_ms, found.servo_ms)
    assert found.total_ms == pytest.approx(sum(parts))
    assert found.input_ms == pytest.approx(130.0)
    assert found.queue_ms == pytest.approx(80.0)
    assert found.servo_ms == pytest.approx(150.0)


def test_an_arm_at_rest_has_no_way_before_it() -> None:
    assert budget(FIGURES, _live(tool_speed_m_s=0.0)).distance_mm == 0.0


@given(
    clearance_m=st.floats(0.0, 1.0),
    input_age_s=st.floats(0.0, 0.5),
    silence_s=st.floats(0.0, 0.25),
    late_s=st.floats(0.0, 0.1),
)
def test_at_the_capped_speed_the_way_of_a_stop_stays_inside_the_clearance(
    clearance_m: float, input_age_s: float, silence_s: float, late_s: float
) -> None:
    live = _live(clearance_m=clearance_m, input_age_s=input_age_s, silence_s=silence_s, late_s=late_s)
    cap = budget(FIGURES, live).speed_share
    at_cap = _live(
        clearance_m=clearance_m,
        input_age_s=input_age_s,
        silence_s=silence_s,
        late_s=late_s,
        tool_speed_m_s=cap * RIG.tool_speed_m_s,
    )
    assert cap == CRAWL or budget(FIGURES, at_cap).distance_mm <= clearance_m * 1e3 + 1e-9


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_less_room_or_a_slower_reaction_never_allows_more_speed(one: float, two: float, reaction_s: float) -> None:
    near, far = sorted((one, two))
    assert speed_cap(FIGURES, reaction_s, near) <= speed_cap(FIGURES, reaction_s, far)
    assert speed_cap(FIGURES, 1.0 + reaction_s, far) <= speed_cap(FIGURES, reaction_s, far)


def test_close_to_something_a_crawl_is_left_and_an_unknown_clearance_caps_nothing() -> None:
    assert speed_cap(FIGURES, 0.3, 0.0) == CRAWL
    assert speed_cap(FIGURES, 0.3, -1.0) == CRAWL
    assert speed_cap(FIGURES, 0.3, None) == 1.0
    assert budget(FIGURES, _live(clearance_m=None)).clearance_mm is None


def test_another_reason_to_be_slow_counts_as_well() -> None:
    assert budget(FIGURES, _live(clearance_m=None, speed_share=0.2)).speed_share == 0.2


@pytest.mark.parametrize("field", ["input_age_s", "silence_s", "late_s", "clearance_m", "tool_speed_m_s"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_was_not_measured_is_refused(field: str, value: float) -> None:
    with pytest.raises(CommandError, match="stop budget"):
        budget(FIGURES, _live(**{field: value}))


@pytest.mark.parametrize("wire_s", [math.nan, math.inf, -0.1])
def test_a_line_without_a_time_is_refused(wire_s: float) -> None:
    with pytest.raises(CommandError, match="on the wire"):
        stop_figures(RIG, wire_s)


# -- ages ------------------------------------------------------------------------------------------------------------


@given(st.floats(), st.floats())
def test_older_is_never_worth_more(one: float, two: float) -> None:
    if 0.0 <= one <= two:
        assert share_by_age(one) >= share_by_age(two)
    assert 0.0 <= share_by_age(one) <= 1.0


def test_speed_by_age_is_whole_then_shrinks_then_ends() -> None:
    assert [share_by_age(age_s) for age_s in (0.0, 0.15)] == [1.0, 1.0]
    assert share_by_age(0.325) == pytest.approx(0.6)
    assert share_by_age(0.5) == pytest.approx(0.2)
    assert [share_by_age(age_s) for age_s in (0.51, -0.1, math.inf, math.nan)] == [0.0] * 4


# -- slowing a jog ---------------------------------------------------------------------------------------------------


@given(st.one_of(axis_jogs, tool_jogs), st.floats(0.0, 1.0))
def test_a_slowed_jog_keeps_its_direction_and_its_limits(move: AxisJog | ToolJog, share: float) -> None:
    slow = slowed(move, share, SPEEDS, 0.25, 1.0)
    assert type(slow) is type(move)
    if isinstance(move, AxisJog) and isinstance(slow, AxisJog):
        before, after, most = np.array(move.amounts), np.array(slow.amounts), np.array(_limits(share))
        assert (np.abs(after) <= most + 1e-12).all()
    else:
        assert isinstance(move, ToolJog)
        assert isinstance(slow, ToolJog)
        before = np.array([*move.linear, move.pitch, move.roll, *move.turn])
        after = np.array([*slow.linear, slow.pitch, slow.roll, *slow.turn])
        assert slow.frame is move.frame
        assert np.linalg.norm(after[:3]) <= share * 0.25 + 1e-12
        assert np.linalg.norm(after[3:]) <= share + 1e-12
    assert (np.abs(after) <= np.abs(before) + 1e-12).all()
    assert np.linalg.norm(after) * before == pytest.approx(np.linalg.norm(before) * after, abs=1e-9)


def test_a_jog_that_is_slow_enough_is_left_alone() -> None:
    move = AxisJog(amounts=tuple(0.5 * limit for limit in _limits(0.5)))
    assert slowed(move, 0.5, SPEEDS, 0.25, 1.0) is move
