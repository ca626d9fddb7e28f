"""The joint motions of the manipulator design package: published numbers, ends and mirrors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.kernels.expression import Graph
from hil.kernels.scalar import ARRAYS, FLOATS
from hil.kernels.trajectories import (
    blended,
    cubic,
    cubic_coefficients,
    keeps_direction,
    parabolic_cruise,
    smooth_cruise,
)

POSITIONS = st.floats(-3.0, 3.0, allow_subnormal=False)
DURATIONS = st.floats(0.5, 5.0)


def test_cubic_coefficients_are_the_published_ones() -> None:
    assert cubic_coefficients(0, 90, 0, 0, 2, FLOATS) == pytest.approx((0, 0, 67.5, -22.5))
    assert cubic_coefficients(10, 70, 5, -3, 4, FLOATS) == pytest.approx((10, 5, 9.5, -1.75))


@pytest.mark.parametrize(("cruise", "expected"), [(36.0, (9.0, 45.0, 81.0)), (33.75, (11.25, 45.0, 78.75))])
def test_blended_motion_passes_the_published_points(cruise: float, expected: tuple[float, ...]) -> None:
    found = [blended(0, 90, cruise, 0.5, 3.0, t, FLOATS).q for t in (0.5, 1.5, 2.5)]
    assert found == pytest.approx(expected)


@given(POSITIONS, POSITIONS, POSITIONS, POSITIONS, DURATIONS)
def test_a_cubic_meets_positions_and_speeds_at_both_ends(
    q0: float, q1: float, qd0: float, qd1: float, duration_s: float
) -> None:
    start = cubic(q0, q1, qd0, qd1, duration_s, 0.0, FLOATS)
    end = cubic(q0, q1, qd0, qd1, duration_s, duration_s, FLOATS)
    assert (start.q, start.qd, end.q, end.qd) == pytest.approx((q0, qd0, q1, qd1), abs=1e-9)


@given(POSITIONS, POSITIONS, POSITIONS, DURATIONS, st.floats(0.05, 0.5), st.floats(0.0, 1.0))
def test_a_blended_motion_is_its_own_mirror_without_a_jump(
    q0: float, q1: float, cruise: float, duration_s: float, part: float, share: float
) -> None:
    blend_s, t = part * duration_s, share * duration_s
    there = blended(q0, q1, cruise, blend_s, duration_s, t, FLOATS)
    back = blended(q0, q1, cruise, blend_s, duration_s, duration_s - t, FLOATS)
    assert there.q + back.q == pytest.approx(q0 + q1, abs=1e-9)
    assert there.qd == pytest.approx(back.qd, abs=1e-6)
    for edge in (blend_s, duration_s - blend_s):
        before, after = (blended(q0, q1, cruise, blend_s, duration_s, edge + d, FLOATS) for d in (-1e-9, 1e-9))
        assert (before.q, before.qd) == pytest.approx((after.q, after.qd), abs=1e-4)


def test_the_published_cruise_speeds_are_those_of_parabolic_and_of_smooth_blends() -> None:
    """0 to 90 in 3 s with blends of 0.5 s: (Q1 - Q0) / (tf - tb), and (Q1 - Q0) / (tf - 2 tb / 3)."""
    assert parabolic_cruise(0, 90, 0.5, 3.0, FLOATS) == pytest.approx(36.0)
    assert smooth_cruise(0, 90, 0.5, 3.0, FLOATS) == pytest.approx(33.75)


@given(POSITIONS, POSITIONS, DURATIONS, st.floats(0.05, 0.45))
def test_cruise_speeds_make_smooth_and_parabolic_blends(q0: float, q1: float, duration_s: float, part: float) -> None:
    blend_s = part * duration_s
    smooth = smooth_cruise(q0, q1, blend_s, duration_s, FLOATS)
    assert blended(q0, q1, smooth, blend_s, duration_s, blend_s, FLOATS).qdd == pytest.approx(0.0, abs=1e-8)
    parabolic = parabolic_cruise(q0, q1, blend_s, duration_s, FLOATS)
    early, late = (blended(q0, q1, parabolic, blend_s, duration_s, share * blend_s, FLOATS) for share in (0.0, 0.9))
    assert early.qdd == pytest.approx(late.qdd, abs=1e-6)
    assert keeps_direction(q0, q1, smooth, blend_s, duration_s) >= -1e-12
    assert keeps_direction(q0, q1, parabolic, blend_s, duration_s) >= -1e-12


def test_a_cruise_that_is_too_fast_turns_back_and_is_told() -> None:
    assert keeps_direction(0, 90, 36, 0.5, 3) >= 0
    assert keeps_direction(0, 90, 60, 0.5, 3) < 0
    assert min(blended(0, 90, 60, 0.5, 3, t, FLOATS).qd for t in np.linspace(0, 0.5, 20).tolist()) < 0


def test_before_the_start_and_after_the_end_the_nearer_end_holds() -> None:
    assert cubic(1, 2, 0, 0, 2, -1, FLOATS) == cubic(1, 2, 0, 0, 2, 0, FLOATS)
    assert blended(1, 2, 0.7, 0.5, 2, 9, FLOATS) == blended(1, 2, 0.7, 0.5, 2, 2, FLOATS)


def test_a_motion_without_duration_stays_finite() -> None:
    assert np.isfinite(cubic(0, 1, 0, 0, 0, 0, FLOATS)).all()
    assert np.isfinite(blended(0, 1, 1, 0, 0, 0, FLOATS)).all()


def test_arrays_equal_floats_and_a_graph_takes_the_same_equations() -> None:
    times = np.linspace(0, 3, 31)
    batch = blended(0.0, 90.0, 36.0, 0.5, 3.0, times, ARRAYS)
    for i, t in enumerate(times.tolist()):
        assert [v[i] for v in batch] == pytest.approx(blended(0.0, 90.0, 36.0, 0.5, 3.0, t, FLOATS))
    graph = Graph()
    q0, q1, cruise, blend, duration, t = (graph.input(name) for name in ("a", "b", "v", "tb", "tf", "t"))
    assert blended(q0, q1, cruise, blend, duration, t, graph).q.graph is graph
