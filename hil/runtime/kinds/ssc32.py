"""The SSC-32 and SSC-32U servo controllers."""

from __future__ import annotations

import random

import msgspec

from drivers import ssc32
from drivers._ssc32_channels import Ssc32Channels, servo_channels
from hil.runtime.kinds.kind import ByHand, ChannelKind, FakeKind, Kind

MIDDLE_US = 1500
"""The middle of a servo's travel, whatever hangs on it."""
CROOKED_US = 80.0
"""Half the distance of two teeth of a horn, some 7 degrees."""


def _crooked(settings: ssc32.Ssc32Settings, rng: random.Random) -> ssc32.Ssc32Settings:
    """As a kit comes from a hurried evening: two plugs exchanged, one servo on its head, horns a tooth off."""
    axes = list(settings.axes)
    first, second, third = rng.sample(range(len(axes)), 3)
    channels = [axis.channel for axis in axes]
    channels[first], channels[second] = channels[second], channels[first]
    for index, axis in enumerate(axes):
        off_us = rng.uniform(-CROOKED_US, CROOKED_US)
        sign = -1.0 if index == third else 1.0
        points = tuple((position, MIDDLE_US + sign * (us - MIDDLE_US) + off_us) for position, us in axis.points)
        axes[index] = msgspec.structs.replace(axis, channel=channels[index], points=points, direction=None)
    return msgspec.structs.replace(settings, axes=tuple(axes))


def _emulated() -> FakeKind:
    from hil.runtime.kinds.ssc32_fake import FAKE

    return FAKE


KIND = Kind(
    ssc32.Ssc32Settings,
    ssc32.ControllerTable,
    ssc32.settings_from_table,
    ssc32.build,
    ssc32.ask,
    "ssc32",
    _emulated,
    ChannelKind(servo_channels, Ssc32Channels, _crooked),
    by_hand=ByHand(why="it can let a servo go, but it tells only the pulse that it makes, never where a limp joint is"),
)
