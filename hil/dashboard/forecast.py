"""Where the arm would stop if everything were let go of now, from the newest commands and the stop budget."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from hil.dashboard.arm import ShownArm
from hil.motion.stops import stop_ramp
from hil.service.wire import Telemetry

Floats = npt.NDArray[np.float64]

SPAN_S = 0.06
"""Time over which the speed is measured; single differences are full of the wire's rounding."""

STILL = 0.02
"""Part of an axis's full speed below which it counts as standing."""


class StopForecast:
    """Keeps what it needs of the newest telemetry."""

    def __init__(self, arm: ShownArm) -> None:
        self._arm = arm
        self._newest: deque[tuple[float, Floats]] = deque(maxlen=16)

    def add(self, frame: Telemetry) -> None:
        """Take one frame; one without a command in every axis begins anew."""
        if any(position is None for position in frame.commanded):
            self._newest.clear()
        elif not self._newest or frame.t_s > self._newest[-1][0]:
            self._newest.append((frame.t_s, np.array(frame.commanded, dtype=np.float64)))

    def rest(self, frame: Telemetry) -> tuple[float, ...] | None:
        """Positions in which the arm would come to rest; None while it stands, or where the rig is not known."""
        rig = self._arm.rig
        speed = self._speed()
        if rig is None or speed is None or frame.stop is None:
            return None
        if all(abs(v) <= STILL * axis.speed for v, axis in zip(speed, rig.axes, strict=True)):
            return None
        # Until the loop takes the stop, everything goes on as it does now.
        begin = self._newest[-1][1] + speed * (frame.stop.input_ms + frame.stop.loop_ms) * 1e-3
        end = stop_ramp(rig, begin.tolist(), speed.tolist(), [0.0] * len(speed))[-1]
        lower, upper = [axis.lower for axis in rig.axes], [axis.upper for axis in rig.axes]
        return tuple(np.clip(end, lower, upper).tolist())

    def _speed(self) -> Floats | None:
        if len(self._newest) < 2:
            return None
        end_s, end = self._newest[-1]
        before = [pair for pair in self._newest if end_s - pair[0] >= SPAN_S] or [self._newest[0]]
        begin_s, begin = before[-1]
        speed: Floats = (end - begin) / (end_s - begin_s)
        return speed
