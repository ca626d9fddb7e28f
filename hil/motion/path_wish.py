"""A path, and what is asked of it."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from hil.link import FloatArray
from hil.paths.orientation import Orientation
from hil.paths.path import Path

Singularity = Literal["refuse", "slow", "leave", "change"]
"""What to do beside a singular posture: refuse the path, be slow there, leave it within its tolerance, or change the
posture at rest (which `hil.motion.posture_change` cuts a path into parts for)."""


class PathWish(NamedTuple):
    """A path, and what is asked of it.

    Attributes:
        noun: what messages call it.
        path: geometry.
        orientation: how the tool is turned on it.
        speed_m_s: asked for; joints and the rig's tool speed may lower it where they have to.
        effort: part of the joints' limits that may be used, above 0 to 1.
        tolerance_m: how far the tool may be off the path.
        singularity: what to do beside a singular posture.
    """

    noun: str
    path: Path
    orientation: Orientation
    speed_m_s: float
    effort: float
    tolerance_m: float
    singularity: Singularity = "refuse"

    @property
    def length_m(self) -> float:
        """From start to end."""
        return self.path.length_m

    def point_m(self, fraction: float) -> FloatArray:
        """Tool point at a fraction of the way, shape (3,)."""
        point: FloatArray = self.path.points_m(np.array([fraction * self.path.length_m]))[0]
        return point
