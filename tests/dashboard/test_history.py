"""Hours of curves in bounded memory: nothing seen is lost, nothing joined that was apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.dashboard.history import GAP_S, History


def _fed(times: np.ndarray, values: np.ndarray, parts: int, **sizes: int) -> History:
    history = History(values.shape[1], **sizes)
    for chunk_t, chunk_v in zip(np.array_split(times, parts), np.array_split(values, parts), strict=True):
        history.extend(chunk_t, chunk_v)
    return history


@settings(max_examples=40)
@given(count=st.integers(1, 3000), parts=st.integers(1, 40), most=st.integers(4, 200), seed=st.integers(0, 1000))
def test_lows_and_highs_of_any_view_are_those_of_the_samples_in_it(
    count: int, parts: int, most: int, seed: int
) -> None:
    values = np.random.default_rng(seed).normal(size=(count, 3)).astype(np.float32)
    history = _fed(0.02 * np.arange(count), values, parts)
    span = history.between(-1.0, 1e9, most)
    assert np.array_equal(span.low.min(axis=0), values.min(axis=0))
    assert np.array_equal(span.high.max(axis=0), values.max(axis=0))
    assert span.first_s[0] == 0.0 and span.last_s[-1] == 0.02 * (count - 1)


@settings(max_examples=40)
@given(count=st.integers(1, 3000), begin=st.floats(0, 60), length=st.floats(0.01, 60), most=st.integers(8, 300))
def test_buckets_follow_each_other_in_time_and_are_not_many(count: int, begin: float, length: float, most: int) -> None:
    history = _fed(0.02 * np.arange(count), np.zeros((count, 1)), 7, capacity=64, levels=6)
    span = history.between(begin, begin + length, most)
    assert (span.first_s <= span.last_s).all()
    assert (np.diff(span.first_s) > 0.0).all() and (span.first_s[1:] > span.last_s[:-1]).all()
    assert len(span.first_s) <= max(most, 2 * 64 + 3 * 6)


@settings(max_examples=30)
@given(one=st.integers(1, 700), two=st.integers(1, 700), most=st.integers(2, 100))
def test_no_bucket_and_no_line_joins_two_runs(one: int, two: int, most: int) -> None:
    first, second = 0.02 * np.arange(one), 0.02 * one + 60.0 + 0.02 * np.arange(two)
    values = np.concatenate([np.zeros((one, 1)), np.ones((two, 1))])
    history = _fed(np.concatenate([first, second]), values, 5)
    span = history.between(0.0, second[-1], most)
    assert (span.last_s - span.first_s < 60.0).all()
    before = np.flatnonzero(span.last_s <= first[-1])[-1]
    assert span.gap[before] and not span.gap[np.arange(len(span.gap)) != before].any()
    assert span.high[: before + 1].max() == 0.0 and span.low[before + 1 :].min() == 1.0


def test_memory_does_not_grow_over_a_day() -> None:
    history = History(4, capacity=256, levels=7)
    before = history.nbytes
    for hour in range(24):
        times = 3600.0 * hour + 0.1 * np.arange(36_000)
        history.extend(times, np.zeros((len(times), 4)))
    assert history.nbytes == before
    assert history.between(0.0, 86_400.0, 500).first_s[0] == 0.0


def test_a_moment_is_found_again_as_fine_as_it_is_still_known() -> None:
    times = 0.02 * np.arange(20_000)
    history = _fed(times, np.sin(times)[:, None], 50, capacity=512, levels=6)
    newest_s, low, high = history.at(399.98) or (0.0, None, None)
    assert newest_s == pytest.approx(399.98) and low == high
    old_s, low, high = history.at(10.0) or (0.0, None, None)
    assert abs(old_s - 10.0) < 20.0 and low is not None and high is not None and low <= np.sin(10.0) <= high


def test_what_is_unknown_stays_unknown_and_hides_nothing() -> None:
    values = np.array([[np.nan, 1.0], [np.nan, 2.0], [np.nan, np.nan], [np.nan, 3.0], [np.nan, 4.0]])
    history = _fed(0.02 * np.arange(5), values, 1)
    span = history.between(0.0, 1.0, 3)
    assert np.isnan(span.low[:, 0]).all()
    assert np.nanmin(span.low[:, 1]) == 1.0 and np.nanmax(span.high[:, 1]) == 4.0


def test_samples_out_of_order_are_left_out() -> None:
    history = History(1)
    history.extend(np.array([1.0, 0.5, 1.1, 1.1]), np.array([[1.0], [2.0], [3.0], [4.0]]))
    history.extend(np.array([1.05, 1.2]), np.array([[5.0], [6.0]]))
    assert history.between(0.0, 2.0, 100).low[:, 0].tolist() == [1.0, 3.0, 6.0]


def test_clearing_forgets_and_goes_on() -> None:
    history = _fed(0.02 * np.arange(100), np.zeros((100, 1)), 1)
    history.clear()
    assert history.end_s is None and history.at(0.0) is None
    history.extend(np.array([5.0, 5.0 + 2.0 * GAP_S]), np.ones((2, 1)))
    assert history.begin_s == 5.0 and history.between(0.0, 9.0, 9).gap.tolist() == [True, False]
