"""How far what is reported is from what was commanded, axis by axis, beside the band that would raise the alarm.

A service of version 2 says error, band and what is used of it. From an older one there is the bare difference, which
says nothing while the arm moves, for a report is always a little old.
"""

from __future__ import annotations

from typing import NamedTuple

from hil.dashboard.arm import ShownArm
from hil.service.wire import Telemetry
from hil.types import Mode

GROWN = 10.0
"""An error is drawn so many times as large beside its true size."""

NOTED, PAST = 0.5, 1.0
"""Parts of the band from which on an error is highlighted, and counts for the alarm."""

_WITHOUT_BAND = 3.0
"""Degrees or millimetres that count as a whole band where none is known."""

_AT_REST = frozenset({Mode.IDLE, Mode.HOLDING, Mode.ARMED, Mode.FAULT, Mode.ESTOP})


class Difference(NamedTuple):
    """Of one axis.

    Attributes:
        error: reported less commanded, rad or m.
        band: the error that raises the alarm; None where it is not known.
        used: part of the band that the error uses.
    """

    error: float
    band: float | None
    used: float

    @property
    def noted(self) -> bool:
        """Large enough to be pointed at."""
        return self.used >= NOTED

    @property
    def past(self) -> bool:
        """Beyond the band."""
        return self.used >= PAST


def differences(arm: ShownArm, frame: Telemetry | None) -> tuple[Difference | None, ...]:
    """Of every axis; None where command or report is not known."""
    count = len(arm.axes)
    if frame is None:
        return (None,) * count
    if frame.errors:
        told = zip(frame.errors, frame.bands, frame.used, strict=False)
        found = [None if error is None else Difference(error, band, used or 0.0) for error, band, used in told]
        return (*found, *[None] * count)[:count]
    if frame.mode not in _AT_REST:
        return (None,) * count
    pairs = zip(arm.axes, frame.commanded, frame.reported, strict=False)
    plain = [
        None if there is None or here is None
        else Difference(here - there, None, abs(here - there) / (_WITHOUT_BAND * axis.unit))
        for axis, there, here in pairs
    ]  # fmt: skip
    return (*plain, *[None] * count)[:count]


def worst(arm: ShownArm, frame: Telemetry | None) -> tuple[int, Difference] | None:
    """The axis that uses most of its band; None where nothing is known."""
    known = [(index, each) for index, each in enumerate(differences(arm, frame)) if each is not None]
    return max(known, key=lambda pair: pair[1].used, default=None)


def grown(arm: ShownArm, frame: Telemetry) -> tuple[float, ...] | None:
    """A pose in which every error is `GROWN` times as large; None where none is worth it, or the pose is not known."""
    found = differences(arm, frame)
    if any(each is None for each in found) or not any(each is not None and each.noted for each in found):
        return None
    if any(position is None for position in frame.commanded):
        return None
    return tuple(
        (here or 0.0) + GROWN * (0.0 if each is None else each.error)
        for here, each in zip(frame.commanded, found, strict=False)
    )


def words(arm: ShownArm, index: int, difference: Difference) -> str:
    """``elbow +3.1 deg of ±2.0``."""
    axis = arm.axes[index]
    text = f"{axis.name} {difference.error / axis.unit:+.1f} {axis.unit_name}"
    return text if difference.band is None else f"{text} of ±{difference.band / axis.unit:.1f}"
