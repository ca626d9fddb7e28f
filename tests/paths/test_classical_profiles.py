"""The seed papers' numbers of joint motions ("Design package", corrected), through the profiles of tasks."""

from __future__ import annotations

import numpy as np
import pytest

from hil.errors import CommandError
from hil.paths.classical import fractions


def at(profile: str, seconds: float, *, of: float = 90.0, blend_s: float | None = None) -> np.ndarray:
    """Positions every tenth of a second."""
    return of * fractions(profile, seconds, 0.1, blend_s)


def test_a_cubic_of_90_degrees_in_2_seconds() -> None:
    """Coefficients (0, 0, 67.5, -22.5)."""
    t = np.linspace(0.0, 2.0, 21)
    assert at("cubic", 2.0) == pytest.approx(67.5 * t**2 - 22.5 * t**3, abs=1e-12)


def test_parabolic_blends_of_half_a_second_in_3_seconds() -> None:
    """Cruise 36 deg/s: 9, 45 and 81 deg at 0.5, 1.5 and 2.5 s."""
    assert at("trapezoid", 3.0, blend_s=0.5)[[5, 15, 25]] == pytest.approx([9.0, 45.0, 81.0], abs=1e-12)


def test_cubic_blends_with_continuous_acceleration_in_3_seconds() -> None:
    """Cruise 33.75 deg/s: 11.25, 45 and 78.75 deg at 0.5, 1.5 and 2.5 s."""
    assert at("blended", 3.0, blend_s=0.5)[[5, 15, 25]] == pytest.approx([11.25, 45.0, 78.75], abs=1e-12)


def test_a_quintic_begins_and_ends_without_acceleration() -> None:
    part = fractions("quintic", 1.0, 0.001)
    assert np.abs(np.diff(part, n=2)[[0, -1]]).max() / 1e-6 < 0.2
    assert part[500] == pytest.approx(0.5)


@pytest.mark.parametrize("profile", ["trapezoid", "blended"])
def test_two_blends_longer_than_the_whole_are_refused(profile: str) -> None:
    with pytest.raises(CommandError, match=r"two blends of 2 s in a motion of 3 s"):
        fractions(profile, 3.0, 0.02, 2.0)
    with pytest.raises(CommandError, match="a motion of 0 s"):
        fractions(profile, 0.0, 0.02)
