"""Where the arm is, as far as its reports can be believed, and whether it rests there."""

from __future__ import annotations

from collections.abc import Sequence

from drivers._rv2aj_codec import JOINTS, Position
from drivers._rv2aj_settings import REPORT_DEG, Rv2ajSettings
from hil.types import JointState, StateSource
from hil.units import DEG

REST_DEG = 0.05
BEYOND = 1.5
"""Times its speed that an arm is believed to have moved between two reports."""


class Believed:
    """Takes reports one by one.

    Args:
        settings: speeds of the joints.

    Attributes:
        joints: the newest report that is believed; its time is when its question reached the controller.
        degrees: the same in degrees, empty before the first.
        moved: the arm was on its way at some time since that report.
    """

    def __init__(self, settings: Rv2ajSettings) -> None:
        self.joints: JointState | None = None
        self.degrees: tuple[float, ...] = ()
        self.moved = False
        self._reach = (settings.ceiling / DEG * BEYOND).tolist()
        self._doubtful: tuple[float, ...] | None = None
        self._before_s: float | None = None

    @property
    def at_s(self) -> float | None:
        """When the newest was asked for; None before the first."""
        return None if self.joints is None else self.joints.t_s

    def take(self, found: Position, at_s: float, *, moving: bool) -> None:
        """Take a position if the arm can have got there, or if it is seen there twice.

        The line carries no check sum: a digit lost on the way makes a number that looks right.
        """
        seen = found.joints_deg
        self.moved |= moving
        if self.joints is not None:
            way_s = at_s - self.joints.t_s if self.moved else 0.0
            near = all(
                abs(a - b) <= speed * way_s + REST_DEG
                for a, b, speed in zip(seen, self.degrees, self._reach, strict=True)
            )
            if not near and not (self._doubtful is not None and _within(seen, self._doubtful, REST_DEG)):
                self._doubtful = seen
                return
        self._doubtful, self.moved = None, moving
        alike = self.joints is not None and _within(seen, self.degrees, REPORT_DEG + 1e-9)
        self._before_s = self.at_s if alike else None
        self.degrees = seen
        self.joints = JointState(
            t_s=at_s, positions=tuple(degrees * DEG for degrees in seen), source=StateSource.MEASURED
        )

    def rests(self, after_s: float) -> bool:
        """It was seen at one place twice in a row, both times after this."""
        return self._before_s is not None and self._before_s > after_s

    def seen_at(self, target_deg: Sequence[float], most_deg: float, after_s: float) -> bool:
        """The newest report is later than this, and there."""
        return (self.at_s or float("-inf")) > after_s and _within(self.degrees, target_deg, most_deg)

    def farthest(self, target_deg: Sequence[float]) -> tuple[str, float]:
        """The joint that is farthest off, and by how much, degrees."""
        return max(
            ((name, here - there) for name, here, there in zip(JOINTS, self.degrees, target_deg, strict=True)),
            key=lambda off: abs(off[1]),
        )


def _within(one: Sequence[float], other: Sequence[float], most: float) -> bool:
    return all(abs(a - b) <= most for a, b in zip(one, other, strict=True))
