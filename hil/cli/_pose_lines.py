"""Where an arm of a lab is, as lines that lead another: `hil watch URL --poses | hil follow RIG --leader LEADER`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hil.clock import monotonic_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil.service.remote import RemoteArm
    from hil.service.wire import AxisInfo, Telemetry

RATE_HZ = 50.0
LOOK_S = 0.004


def print_poses(arm: RemoteArm, until_s: float) -> None:
    """A line for each new report of the arm, for as long as they come: a leader that is not heard of leads nowhere."""
    from hil.service import wire

    arm.begin(arm.channel.tell(wire.Watch, rate_hz=RATE_HZ)).result()
    shown = -1
    while monotonic_s() < until_s and not arm.channel.over:
        seen = arm.channel.telemetry
        if seen is not None and arm.channel.connected and seen.frame != shown:
            shown = seen.frame
            if line := pose_line(arm.welcome.axes, seen):
                print(line, flush=True)
        time.sleep(LOOK_S)


def pose_line(axes: Sequence[AxisInfo], seen: Telemetry) -> str:
    """The pose that the arm measures, else the one that it was sent to; empty while an axis has none.

    An echo is no measurement, and in whole steps of it: what was sent says the same more finely.
    """
    from hil.units import DEG, MM

    measured = seen.source is not None and seen.source.of_arm and None not in seen.reported
    values = seen.reported if measured else seen.commanded
    units = [DEG if axis.kind == "revolute" else MM for axis in axes]
    known = [value / unit for value, unit in zip(values, units, strict=True) if value is not None]
    return f"joints {' '.join(f'{value:z.3f}' for value in known)}" if len(known) == len(axes) else ""
