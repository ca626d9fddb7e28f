"""Calibrations of arms that are what their rig's file says: fakes stand behind a port like any arm."""

from __future__ import annotations

import datetime
import os
import threading
from pathlib import Path
from unittest import mock

from hil.model._calibration_file import AxisCalibration
from hil.model.rig import AxisKind, Rig
from hil.runtime import channel_wiring, port_wiring
from hil.units import DEG, MM
from hil.workbench.drafts import write_calibration

_environment = threading.Lock()
NOW = datetime.datetime(2026, 11, 28, 10, 0, tzinfo=datetime.UTC)


def as_it_is(rig: Rig) -> dict[str, AxisCalibration]:
    """The rig's own numbers, as somebody would have measured them."""
    found = {}
    for axis, servo in zip(rig.axes, channel_wiring.channels_of(rig), strict=True):
        unit = DEG if axis.kind is AxisKind.REVOLUTE else MM
        points = tuple((round(position / unit, 6), round(pulse_us)) for position, pulse_us in servo.points)
        found[axis.name] = AxisCalibration(
            channel=servo.channel,
            direction="rising" if points[-1][1] > points[0][1] else "falling",
            points=points,
            residuals=(0.0,) * len(points),
            lower_us=servo.lower_us,
            upper_us=servo.upper_us,
        )
    return found


def calibrate_as_it_is(rig: Rig, config_home: Path, url: str) -> Path:
    """What `hil calibrate --hardware` leaves in a user's folder after somebody has measured the arm at a port.

    Args:
        rig: without a calibration.
        config_home: the user's ``XDG_CONFIG_HOME``.
        url: where the arm hangs.
    """
    with _environment, mock.patch.dict(os.environ, {"XDG_CONFIG_HOME": str(config_home)}):
        adapter = port_wiring.check_adapter(rig, url)
        return write_calibration(rig, as_it_is(rig), operator="a test", adapter=adapter, port=url, now=NOW)
