"""Joint motions as textbooks have them, as a fraction of the way over time: for lessons, not for speed.

A cubic and a trapezoid begin with a jump in acceleration, which a limit of jerk makes long; a quintic and the cubic
blends do not (equations of `hil.kernels.trajectories`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from hil.errors import CommandError
from hil.kernels import trajectories
from hil.kernels.scalar import ARRAYS, FLOATS, FloatArray

Profile = Literal["cubic", "quintic", "trapezoid", "blended"]

BLEND_SHARE = 0.25
"""Length of each blend, as a part of the whole, where nobody says."""


def fractions(profile: Profile, duration_s: float, period_s: float, blend_s: float | None = None) -> FloatArray:
    """From exactly 0 to exactly 1, a sample a period, shape (K + 1,).

    Args:
        profile: cubic and quintic are polynomials at rest at both ends; trapezoid is constant speed between parabolic
            blends, blended the same between cubic ones, its acceleration continuous.
        duration_s: of the whole, above 0.
        period_s: between samples.
        blend_s: of each blend, at most half the whole; a quarter of it if None.

    Raises:
        CommandError: the two blends are longer than the whole, or there is no time at all.
    """
    if not duration_s > 0.0:
        raise CommandError(f"a motion of {duration_s:g} s", value=duration_s, allowed="above 0 s")
    blend = BLEND_SHARE * duration_s if blend_s is None else blend_s
    if not 0.0 < 2.0 * blend <= duration_s * (1.0 + 1e-12):
        raise CommandError(
            f"two blends of {blend:g} s in a motion of {duration_s:g} s",
            value=blend,
            allowed=f"blends above 0 s, at most {0.5 * duration_s:g} s each",
        )
    count = max(1, int(np.ceil(duration_s / period_s - 1e-9)))
    t = np.minimum(np.arange(count + 1) * period_s, duration_s)
    if profile == "quintic":
        part = t / duration_s
        found: FloatArray = part**3 * (10.0 + part * (6.0 * part - 15.0))
    elif profile == "cubic":
        found = np.asarray(trajectories.cubic(0.0, 1.0, 0.0, 0.0, duration_s, t, ARRAYS).q)
    else:
        speed = trajectories.parabolic_cruise if profile == "trapezoid" else trajectories.smooth_cruise
        cruise = speed(0.0, 1.0, blend, duration_s, FLOATS)
        found = np.asarray(trajectories.blended(0.0, 1.0, cruise, blend, duration_s, t, ARRAYS).q)
    found[0], found[-1] = 0.0, 1.0
    return found
