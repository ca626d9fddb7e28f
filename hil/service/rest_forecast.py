"""Where the arm would come to rest if everything were let go of now, from the newest commands and the stop budget."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from hil.model.rig import Rig
from hil.motion.stops import stop_ramp

SPAN_S = 0.06
"""Time over which the speed is measured; single differences are full of rounding."""

STILL = 0.02
"""Part of an axis's full speed below which it counts as standing."""


class RestForecast:
    """Keeps what it needs of the newest commands.

    Args:
        rig: the resolved rig.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._newest: deque[tuple[float, tuple[float, ...]]] = deque(maxlen=16)

    def add(self, t_s: float, pose: tuple[float, ...] | None) -> None:
        """Where every axis was sent at that time; a pose that is not known begins anew."""
        if pose is None:
            self._newest.clear()
        elif not self._newest or t_s > self._newest[-1][0]:
            self._newest.append((t_s, pose))

    def rest(self, late_s: float) -> tuple[float, ...]:
        """Positions in which the arm would come to rest; empty while it stands, or where that is not known.

        Args:
            late_s: until the loop takes the stop everything goes on as it does now.
        """
        speed = self._speed()
        axes = self._rig.axes
        if all(abs(v) <= STILL * axis.speed for v, axis in zip(speed, axes, strict=False)):
            return ()
        begin = [at + v * late_s for at, v in zip(self._newest[-1][1], speed, strict=True)]
        end = stop_ramp(self._rig, begin, speed, [0.0] * len(axes))[-1].tolist()
        return tuple(min(max(at, axis.lower), axis.upper) for at, axis in zip(end, axes, strict=True))

    def _speed(self) -> Sequence[float]:
        if len(self._newest) < 2:
            return ()
        end_s, end = self._newest[-1]
        before = [pair for pair in self._newest if end_s - pair[0] >= SPAN_S] or [self._newest[0]]
        begin_s, begin = before[-1]
        return [(b - a) / (end_s - begin_s) for a, b in zip(begin, end, strict=True)]
