"""What a rig says of its wire, read anew from the record: the oracle shares no arithmetic with what it judges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from hil.errors import ConfigError
from hil.model.rig import AxisKind, Rig
from hil.units import DEG, MM

FRAME_S = 0.020
"""The board moves its pulses once per frame, so a move may begin that much later than its line."""
ROUNDING = 1e-9
"""Radians or metres that floating-point numbers may be off by."""


class AxisFacts:
    """One servo as the rig has it, with its own arithmetic between position and pulse; radians, or metres of a gripper.

    Attributes:
        name: the axis's.
        unit, scale: how people read its positions, and what one of that is here.
        channel: where its servo is plugged in.
        points: calibration, (position, pulse in us), positions rising.
        wire_us: lowest and highest pulse that may be sent.
        joint_us: pulses of its lower and upper limit, the lower pulse first.
        limits: its lower and upper limit.
        speed: its speed limit.
        per_us: the most that one microsecond can be, anywhere on this axis.
        direction: which way the rig says that it runs, "rising", "falling" or None.
    """

    def __init__(self, rig: Rig, index: int, wire: dict[str, object]) -> None:
        axis = rig.axes[index]
        self.name = axis.name
        self.unit, self.scale = ("deg", DEG) if axis.kind is AxisKind.REVOLUTE else ("mm", MM)
        self.channel = msgspec.convert(wire["channel"], int)
        self.points = points = msgspec.convert(wire["points"], list[tuple[float, float]])
        self._by_pulse = sorted(points, key=lambda point: point[1])
        self.direction = msgspec.convert(wire["direction"], str | None)
        self.wire_us = (msgspec.convert(wire["lower_us"], int), msgspec.convert(wire["upper_us"], int))
        self.limits, self.speed = (axis.lower, axis.upper), axis.speed
        self.per_us = max(abs((x1 - x0) / (us1 - us0)) for (x0, us0), (x1, us1) in pairwise(points))
        ends = sorted((self.pulse_us(axis.lower), self.pulse_us(axis.upper)))
        self.joint_us = (ends[0], ends[1])

    def position(self, pulse_us: float) -> float:
        """What a pulse stands for: straight from point to point, and on beyond the outer ones."""
        return _along([(us, x) for x, us in self._by_pulse], pulse_us)

    def pulse_us(self, position: float) -> float:
        """The pulse of a position, unrounded."""
        return _along(self.points, position)

    def say(self, position: float) -> str:
        """A position as people read it."""
        return f"{position / self.scale:.2f} {self.unit}"

    def outside(self, pulse_us: int, rounding: float) -> str:
        """What is wrong with a pulse by itself, empty if nothing is; `rounding` in microseconds is forgiven."""
        lower, upper = self.wire_us
        here = self.position(pulse_us)
        if not lower <= pulse_us <= upper:
            return f"{self.name}: {pulse_us} us is outside its pulse limits, {lower}..{upper} us"
        low, high = self.limits
        forgiven = rounding * self.per_us + ROUNDING
        if not low - forgiven <= here <= high + forgiven:
            return (
                f"{self.name}: {pulse_us} us is {self.say(here)}, outside its joint limits, "
                f"{self.say(low)} to {self.say(high)}"
            )
        return ""

    def too_fast(self, way: float, duration_s: float) -> str:
        """What is wrong with going so far in that time, empty if nothing is; 0 s means as fast as the servo can."""
        if not duration_s:
            if way <= self.per_us + ROUNDING:
                return ""
            return f"{self.name} moves by {self.say(way)} without time or speed: as fast as its servo can"
        if way <= self.speed * (duration_s + FRAME_S) + self.per_us + ROUNDING:
            return ""
        return (
            f"{self.name} moves by {self.say(way)} in {duration_s * 1e3:.0f} ms, {self.say(way / duration_s)}/s; "
            f"allowed: {self.say(self.speed)}/s"
        )


class RigFacts:
    """The numbers of a rig that count on the wire.

    Attributes:
        axes: by channel, in the order of `rig.axes`.
        canary: the channel that is set once, or None.

    Raises:
        ConfigError: the rig's controller is of a kind that cannot be read here.
    """

    def __init__(self, rig: Rig) -> None:
        if rig.controller.kind != "ssc32":
            raise ConfigError(
                rig.file or rig.id, "controller.kind", rig.controller.kind, '"ssc32", whose bytes can be read'
            )
        settings = msgspec.to_builtins(rig.controller)
        axes = [AxisFacts(rig, index, wire) for index, wire in enumerate(settings["axes"])]
        self.axes = {axis.channel: axis for axis in axes}
        self.canary: int | None = settings["canary_channel"]
        self.period_s, self.look_ahead_s, self.dwell_s = rig.period_s, rig.look_ahead_s, rig.energise_dwell_s


def _along(points: Sequence[tuple[float, float]], x: float) -> float:
    """Straight lines through points with rising x, the outer ones prolonged."""
    k = 0
    while k < len(points) - 2 and x >= points[k + 1][0]:
        k += 1
    (x0, y0), (x1, y1) = points[k], points[k + 1]
    return y0 + (x - x0) * (y1 - y0) / (x1 - x0)
