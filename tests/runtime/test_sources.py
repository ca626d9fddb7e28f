"""Where the next command comes from."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from virtual_session import swing

from hil.motion.motion import Motion
from hil.runtime.sources import EnergiseSource, MotionSource, StopSource


def test_a_motion_advances_only_when_a_sample_was_sent() -> None:
    source = MotionSource(swing())
    assert [source.wanted for _ in range(5)] == [swing().start] * 5
    source.advance()
    assert source.wanted == tuple(swing().samples[1].tolist())


@given(st.integers(1, 400))
def test_a_motion_gives_each_sample_in_order_and_stays_at_the_last(advances: int) -> None:
    source = MotionSource(swing())
    for k in range(advances):
        assert source.sample == min(k, len(swing()) - 1)
        assert source.at_end == (k >= len(swing()) - 1)
        source.advance()
    assert source.wanted == tuple(swing().samples[min(advances, len(swing()) - 1)].tolist())


def test_a_motion_of_one_sample_is_at_its_end_at_once() -> None:
    source = MotionSource(Motion(("base",), 0.02, [[0.5]]))
    assert source.at_end
    source.advance()
    assert source.wanted == (0.5,)


def test_samples_are_plain_floats() -> None:
    """What goes into records and journals must not be a number of numpy's."""
    for source in (MotionSource(swing()), StopSource(np.array([[0.1, 0.2]]))):
        assert all(type(value) is float for value in source.wanted)


def test_a_stop_gives_its_ramp_and_then_rests() -> None:
    source = StopSource(np.array([[0.1], [0.15], [0.17]]))
    given_out = []
    for _ in range(5):
        given_out.append(source.wanted)
        source.advance()
    assert given_out == [(0.1,), (0.15,), (0.17,), (0.17,), (0.17,)]
    assert source.at_end


def test_the_guided_first_move_gives_one_axis_at_a_time_with_a_pause_after_each() -> None:
    source = EnergiseSource((0.1, 0.2, 0.3), (2, 0, 1), 0.4)
    order, now_s = [], 10.0
    while not source.finished(now_s):
        axis = source.due(now_s)
        if axis is not None:
            order.append((now_s - 10.0, axis))
            source.advance(now_s)
        now_s += 0.02
    assert [axis for _, axis in order] == [2, 0, 1]
    assert all(0.4 <= b - a <= 0.42 + 1e-9 for (a, _), (b, _) in pairwise(order))
    assert now_s - 10.0 - order[-1][0] >= 0.4


def test_an_axis_that_could_not_be_driven_is_due_again() -> None:
    source = EnergiseSource((0.1, 0.2), (1, 0), 0.4)
    assert [source.due(now_s) for now_s in (0.0, 0.02, 0.04)] == [1, 1, 1]
    source.advance(0.04)
    assert source.due(0.06) is None
    assert source.due(0.44) == 0


def test_the_first_move_is_over_only_after_the_last_pause() -> None:
    source = EnergiseSource((0.1,), (0,), 0.4)
    source.advance(1.0)
    assert not source.finished(1.39)
    assert source.due(1.39) is None
    assert source.finished(1.4)
