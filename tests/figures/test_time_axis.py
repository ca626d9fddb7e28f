"""Round times at an axis, and as many as have room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.figures.time_axis import STEPS_S, most_ticks, time_scale


@pytest.mark.parametrize(
    ("span_s", "most", "labels"),
    [
        (4.1, 5, ["0", "1", "2", "3", "4"]),
        (9.0, 5, ["0", "2", "4", "6", "8"]),
        (47.0, 5, ["0", "10", "20", "30", "40"]),
        (70.0, 5, ["0", "15", "30", "45", "60"]),
        (150.0, 5, ["0", "30", "60", "90", "120", "150"]),
        (0.9, 5, ["0.0", "0.2", "0.4", "0.6", "0.8"]),
    ],
)
def test_seconds_are_round(span_s: float, most: int, labels: list[str]) -> None:
    scale = time_scale(0.0, span_s, most)
    assert [scale.label(time_s) for time_s in scale.ticks_s] == labels and scale.unit == "s"


@pytest.mark.parametrize(
    ("span_s", "unit", "labels"),
    [
        (290.0, "min", ["0", "1", "2", "3", "4"]),
        (1500.0, "min", ["0", "5", "10", "15", "20", "25"]),
        (4 * 3600.0, "h", ["0", "1", "2", "3", "4"]),
    ],
)
def test_long_times_are_whole_minutes_and_hours(span_s: float, unit: str, labels: list[str]) -> None:
    scale = time_scale(0.0, span_s, 5)
    assert (scale.unit, [scale.label(time_s) for time_s in scale.ticks_s]) == (unit, labels)


@given(st.floats(0.0, 1e5), st.floats(0.01, 3e6), st.integers(2, 12))
def test_ticks_are_multiples_of_their_step_within_the_axis_and_have_room(
    low_s: float, span_s: float, most: int
) -> None:
    scale = time_scale(low_s, low_s + span_s, most)
    assert len(scale.ticks_s) <= most + 1
    assert all(low_s - 1e-6 * scale.step_s <= tick <= low_s + span_s + 1e-6 * scale.step_s for tick in scale.ticks_s)
    assert scale.step_s in STEPS_S or scale.step_s % STEPS_S[-1] == 0.0
    assert len({scale.label(tick) for tick in scale.ticks_s}) == len(scale.ticks_s)


@pytest.mark.parametrize(("width_mm", "most"), [(60.0, 5), (120.0, 11)])
def test_a_wider_axis_has_room_for_more(width_mm: float, most: int) -> None:
    assert most_ticks(width_mm / 25.4 * 72.0, 8.0) == most


def test_there_are_two_at_least() -> None:
    assert most_ticks(1.0, 16.0) == 2
