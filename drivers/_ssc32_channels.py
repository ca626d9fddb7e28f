"""Single channels of an SSC-32 in microseconds, for calibration: one short slow step at a time, each on its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from drivers._ssc32_codec import PULSE_US
from drivers._ssc32_settings import FRAME_S, Ssc32Axis, Ssc32Settings
from drivers.ssc32 import Ssc32Driver
from hil.errors import CommandError
from hil.link import BytePort, ServoChannel
from hil.types import Command

STEP_US = 25
"""The longest step, some 2.5 degrees: a joint that runs the wrong way has not gone far by then."""
SPEED_US_S = 125.0
"""The speed of a step, some 12 degrees a second: slow enough to take the hand off the arm, or to cut the supply."""
_PULSES = tuple((float(pulse_us), float(pulse_us)) for pulse_us in PULSE_US)


class Ssc32Channels(Ssc32Driver):
    """A `hil.link.ChannelLink` to one board: handshake, echo, restart watch and stop are those of the driver.

    A channel can be moved only after `drive`, and only by `step`. What may leave is narrowed to the one pulse, or to
    one step around the present pulse, at the last gate before the port, where the finished bytes are read again.

    Args:
        settings: line and canary; its axes do not count.
        channels: those that may be moved.
        open_port: opens the line; called once per `open`.
    """

    def __init__(self, settings: Ssc32Settings, channels: Sequence[int], open_port: Callable[[], BytePort]) -> None:
        axes = tuple(
            Ssc32Axis(
                name=f"channel {channel}",
                channel=channel,
                revolute=False,
                points=_PULSES,
                lower_us=PULSE_US[0],
                upper_us=PULSE_US[1],
            )
            for channel in channels
        )
        canary = None if settings.canary_channel in channels else settings.canary_channel
        ours = msgspec.structs.replace(settings, axes=axes, canary_channel=canary)
        super().__init__(ours, open_port, others=settings.channels)

    def open(self, now_s: float) -> None:
        """Open the line; no channel may be moved yet."""
        super().open(now_s)
        assert self._line is not None
        for axis in self._settings.axes:
            self._line.gate.limit(axis.channel, None)

    def write(self, command: Command, now_s: float) -> Command:
        """Refused: here nothing is known of positions.

        Raises:
            CommandError: always.
        """
        raise CommandError("while it is calibrated an arm is moved by `drive` and `step` alone", value=command)

    def drive(self, channel: int, pulse_us: int, now_s: float) -> None:
        """The first move of a channel, plain and alone."""
        moves, index = self._ready_moves(), self._index(channel)
        if moves.known[index]:
            raise CommandError(f"channel {channel} is driven already; move it by steps", value=channel)
        moves.line.gate.limit(channel, (pulse_us, pulse_us))
        moves.drive(index, pulse_us, now_s)

    def step(self, channel: int, pulse_us: int, now_s: float) -> float:
        """Move one driven channel by at most `STEP_US` at `SPEED_US_S`; gives the time at which it has arrived."""
        moves, index = self._ready_moves(), self._index(channel)
        account = self._echo.channels[index]
        if not moves.known[index]:
            raise CommandError(f"channel {channel} is not driven yet; a timed move would jump there", value=channel)
        if any(each.moving(now_s) for each in self._echo.channels):
            raise CommandError(f"channel {channel}: one step at a time, and the last one has not ended", value=channel)
        here_us = round(account.width_us(now_s))
        low_us, high_us = max(here_us - STEP_US, PULSE_US[0]), min(here_us + STEP_US, PULSE_US[1])
        if not low_us <= pulse_us <= high_us:
            raise CommandError(
                f"channel {channel}: a step from {here_us} to {pulse_us} us; allowed: {low_us}..{high_us} us",
                value=pulse_us,
                allowed=f"{low_us}..{high_us} us",
            )
        time_s = max(abs(pulse_us - here_us) / SPEED_US_S, FRAME_S)
        line = moves.line
        line.gate.limit(channel, (low_us, high_us))
        moves.send({channel: pulse_us}, math.ceil(time_s * 1000.0), now_s)
        account.move(pulse_us, line.free_s, time_s)
        return line.free_s + time_s + FRAME_S

    def release(self, channel: int, now_s: float) -> None:
        """Switch one channel off, whoever drives it; it may be driven anew by `drive` alone."""
        moves, index = self._ready_moves(), self._index(channel)
        moves.release(index, now_s)
        moves.line.gate.limit(channel, None)

    def _index(self, channel: int) -> int:
        channels = [axis.channel for axis in self._settings.axes]
        if channel not in channels:
            allowed = ", ".join(map(str, channels))
            raise CommandError(f"channel {channel}: allowed: {allowed}", value=channel, allowed=allowed)
        return channels.index(channel)


def servo_channels(settings: Ssc32Settings) -> tuple[ServoChannel, ...]:
    """The board's channels as the rig's calibration has them."""
    return tuple(
        ServoChannel(
            axis=axis.name,
            channel=axis.channel,
            points=axis.points,
            lower_us=axis.lower_us,
            upper_us=axis.upper_us,
        )
        for axis in settings.axes
    )
