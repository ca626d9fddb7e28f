"""What a session asks of the simulated arm that always runs beside the real one."""

from __future__ import annotations

from typing import Protocol

from hil.link import ArmLink
from hil.types import JointState


class Shadow(ArmLink, Protocol):
    """The simulated arm that always runs beside the real one."""

    def look(self, now_s: float) -> JointState:
        """Where its servos are."""
        ...

    @property
    def setpoint(self) -> tuple[float, ...]:
        """Positions that the interpolation has reached."""
        ...
