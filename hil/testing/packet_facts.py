"""What a rig says of an arm that is led by packets, read anew from the record, as `hil.testing.facts` for pulses."""

from __future__ import annotations

from typing import Any

import msgspec

from hil.model.rig import Rig
from hil.units import DEG

STEPS = 1000
"""Whole steps in a degree that a packet is to carry."""
SINGLE = 4e-7
"""Radians that numbers of single precision may be off by, both ends of a step together."""


def is_led_by_packets(rig: Rig) -> bool:
    """An RV-2AJ whose targets go by MXT."""
    return rig.controller.kind == "rv2aj" and msgspec.to_builtins(rig.controller)["way"] == "mxt"


class PacketAxisFacts:
    """One joint; the wire's numbers are thousandths of a degree.

    Attributes:
        name, unit, scale: as people read it.
        points: its limits, as position and number on the wire.
        wire_us: lowest and highest number that the controller takes.
        limits, speed: of the rig.
        per_us: one step of the wire, and what single precision adds.
        top_speed: what the controller's table and its override allow.
    """

    def __init__(self, rig: Rig, index: int, table: dict[str, Any]) -> None:
        axis = rig.axes[index]
        self.name, self.unit, self.scale = axis.name, "deg", DEG
        self.limits, self.speed = (axis.lower, axis.upper), axis.speed
        self.per_us = DEG / STEPS + SINGLE
        self.wire_us = (round(table["lower_deg"][index] * STEPS), round(table["upper_deg"][index] * STEPS))
        self.points = [(limit, self.pulse_us(limit)) for limit in self.limits]
        self.top_speed = table["max_speed_deg_s"][index] * DEG * table["override_percent"] / 100

    def position(self, pulse_us: float) -> float:
        """What a number on the wire stands for."""
        return pulse_us * DEG / STEPS

    def pulse_us(self, position: float) -> float:
        """The number of a position, unrounded."""
        return position / DEG * STEPS

    def say(self, position: float) -> str:
        """A position as people read it."""
        return f"{position / self.scale:.3f} {self.unit}"


class PacketFacts:
    """The numbers of a rig that count in packets.

    Attributes:
        axes: by their place in a packet.
    """

    def __init__(self, rig: Rig) -> None:
        table = msgspec.to_builtins(rig.controller)
        self.axes = {index: PacketAxisFacts(rig, index, table) for index in range(len(rig.axes))}
        self.period_s, self.look_ahead_s, self.dwell_s = rig.period_s, rig.look_ahead_s, rig.energise_dwell_s
