"""The capsule around a mesh leaves no point outside, and is no larger than it has to be for what is a capsule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.space.enclosing_capsule import Enclosing, enclosing_capsule


def outside(body: Enclosing, points: np.ndarray) -> np.ndarray:
    start, end = np.array(body.start_m), np.array(body.end_m)
    way = end - start
    length = float(way @ way)
    share = np.clip((points - start) @ way / length, 0.0, 1.0) if length > 0.0 else np.zeros(len(points))
    return np.linalg.norm(points - start - share[:, None] * way, axis=1) - body.radius_m


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 200), st.floats(0.001, 2.0), st.floats(0.001, 2.0))
def test_no_point_is_outside(seed: int, count: int, wide: float, long: float) -> None:
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(count, 3)) * [wide, 0.5 * wide, long] + generator.normal(size=3)
    assert outside(enclosing_capsule(points), points).max() <= 1e-9


def test_a_rod_is_found_again() -> None:
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    ring = np.stack([0.03 * np.cos(angles), 0.03 * np.sin(angles)], axis=1)
    points = np.concatenate([np.column_stack([ring, np.full(24, z)]) for z in np.linspace(-0.2, 0.1, 40)])
    body = enclosing_capsule(points + np.array([0.5, 0.0, 0.0]))
    assert body.radius_m == pytest.approx(0.03, abs=1e-4)
    assert sorted((body.start_m[2], body.end_m[2])) == pytest.approx([-0.2, 0.1], abs=1e-3)


def test_a_ball_is_a_capsule_without_a_length() -> None:
    points = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.1
    body = enclosing_capsule(points)
    assert body.radius_m <= 0.1 * np.sqrt(3.0) + 1e-9
    assert outside(body, points).max() <= 1e-9
