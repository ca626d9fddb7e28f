"""The board's 32 outputs: widths that are wanted, and the pulses that a pin shows frame by frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum

import msgspec

from sim.ssc32.counts import Counts
from sim.ssc32.settings import (
    CHANNELS,
    CLIPPED_US,
    FRAME_S,
    HIGHEST_US,
    LARGEST_US,
    LOWEST_US,
    Beyond,
    BoardSettings,
    EarlyMove,
    FirstMove,
    Fractions,
)

LARGEST_OFFSET_US = 100
Watcher = Callable[[float, Sequence[tuple[int, float]]], None]


class Level(Enum):
    """What an output does."""

    OFF = "off"
    PULSE = "pulse"
    LOW = "low"
    HIGH = "high"


class Channel:
    """One output. Widths without offset; `pulse_us` is what the pin shows, 0 for no pulses."""

    __slots__ = (
        "active",
        "frames",
        "goal",
        "level",
        "number",
        "offset",
        "pulse_us",
        "shown",
        "since",
        "start",
        "touched",
        "width",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.active = False
        self.reset()
        self.pulse_us = 0.0
        self.shown = Level.OFF

    def reset(self) -> None:
        """Forget everything but what the pin shows."""
        self.level = Level.OFF
        self.touched = False
        self.width = self.start = self.goal = 0.0
        self.frames = 0.0
        self.since = 0
        self.offset = 0

    def begin(self, goal: float, frames: float, frame: int) -> None:
        """Move from the present width to `goal` within `frames` frames after `frame`."""
        self.start, self.goal, self.frames, self.since = self.width, goal, frames, frame

    def jump(self, goal: float, frame: int) -> None:
        """Take `goal` as the present width at once."""
        self.level, self.touched = Level.PULSE, True
        self.width = goal
        self.begin(goal, 0.0, frame)

    def goes_on(self, frame: int) -> bool:
        """It is on its way at `frame`, and does not stand just then."""
        return self.frames > 0.0 and self.since < frame < self.since + self.frames and self.width != self.goal

    def step(self, frame: int) -> bool:
        """Move on to `frame`; False once there is no more to do."""
        done = max(frame - self.since, 0)
        if done >= self.frames - 1e-9:
            self.width = self.goal
            return False
        self.width = self.start + (self.goal - self.start) * (done / self.frames)
        return True


class Servo(msgspec.Struct):
    """One ``# P S`` of a line."""

    number: int
    width: int | None = None
    speed: int | None = None
    fraction: bool = False


class Outputs:
    """All channels together; frames count from `begin` on.

    Args:
        settings: kind of board and its choices.
        counts: kept up to date.
        at_s: when the first frame begins.

    Attributes:
        brown_out_channels: so many servos driven for the first time in one frame reset the board.
    """

    def __init__(self, settings: BoardSettings, counts: Counts, at_s: float) -> None:
        self._settings, self._counts = settings, counts
        self.brown_out_channels = settings.brown_out_channels
        self.channels = [Channel(number) for number in range(CHANNELS)]
        self.watchers: list[Watcher] = []
        self._active: list[Channel] = []
        self._positioned = False
        self._origin_s, self._frame = at_s, 0

    @property
    def moving(self) -> bool:
        """True while some output still has to change in a later frame."""
        return bool(self._active)

    @property
    def due_s(self) -> float:
        """When the next frame ends in which something changes; infinity if nothing does."""
        return self._origin_s + (self._frame + 1) * FRAME_S if self._active else math.inf

    def channel(self, number: int) -> Channel | None:
        """A channel by its number; None for one that the board does not have."""
        if 0 <= number < CHANNELS:
            return self.channels[number]
        self._counts.oddities += 1
        return None

    # Power.

    def forget(self, at_s: float) -> None:
        """The supply goes: every pin is silent from now on."""
        changes = [(channel.number, 0.0) for channel in self.channels if channel.pulse_us]
        for channel in self.channels:
            channel.reset()
            channel.pulse_us, channel.shown = 0.0, Level.OFF
        self._drop_active()
        self._positioned = False
        self._tell(at_s, changes)

    def begin(self, at_s: float) -> None:
        """The board has started up: frames count from here."""
        self._origin_s, self._frame = at_s, 0

    def freeze(self) -> None:
        """The processor stops: pulses stay as they are, moves are forgotten."""
        for channel in self._active:
            channel.begin(channel.width, 0.0, self._frame)
        self._drop_active()

    # Frames.

    def run_to(self, time_s: float) -> float | None:
        """Let frames happen up to `time_s`.

        Returns:
            When so many servos started at once that the board's supply sagged; None if it did not.
        """
        last = int((time_s - self._origin_s) / FRAME_S + 1e-9)
        while self._active and self._frame < last:
            self._frame += 1
            if self._step():
                return self._origin_s + self._frame * FRAME_S
        self._frame = max(self._frame, last)
        return None

    def _step(self) -> bool:
        """One frame: every output that has something to do moves on; True for a brown-out."""
        changes: list[tuple[int, float]] = []
        going: list[Channel] = []
        starting = 0
        for channel in self._active:
            if channel.step(self._frame):
                going.append(channel)
            else:
                channel.active = False
            channel.shown = channel.level
            pulse_us = self._pulse_of(channel)
            if pulse_us != channel.pulse_us:
                starting += channel.pulse_us == 0.0
                channel.pulse_us = pulse_us
                changes.append((channel.number, pulse_us))
        self._active = going
        self._tell(self._origin_s + self._frame * FRAME_S, changes)
        return self.brown_out_channels is not None and starting >= self.brown_out_channels

    def _pulse_of(self, channel: Channel) -> float:
        """What the pin makes of the width and the offset; 0 for no pulses."""
        if channel.level is not Level.PULSE:
            return 0.0
        pulse_us, grid = channel.width + channel.offset, self._settings.resolution_us
        if grid:
            pulse_us = round(pulse_us / grid) * grid
        if pulse_us < LOWEST_US:
            return LOWEST_US
        return HIGHEST_US if pulse_us > HIGHEST_US >= channel.width else pulse_us

    def _tell(self, time_s: float, changes: list[tuple[int, float]]) -> None:
        if changes:
            for watcher in self.watchers:
                watcher(time_s, changes)

    def _activate(self, channel: Channel) -> None:
        if not channel.active:
            channel.active = True
            self._active.append(channel)

    def _drop_active(self) -> None:
        for channel in self._active:
            channel.active = False
        self._active = []

    # What commands do to them.

    def move(self, servos: Sequence[Servo], duration_ms: int) -> float:
        """A group move: all that interpolate start together and arrive together, the longest time wins.

        Returns:
            How long it takes, seconds.
        """
        timed = bool(duration_ms) or any(servo.speed is not None for servo in servos)
        movers: list[tuple[Channel, int]] = []
        duration_s = duration_ms / 1000
        for servo in servos[:CHANNELS]:
            found = self._mover(servo, timed)
            if found is None:
                continue
            channel, width, speed = found
            if speed is not None:
                duration_s = max(duration_s, abs(width - channel.width) / max(speed, 1))
            movers.append((channel, width))
        self._positioned = True
        for channel, width in movers:
            stands = self._settings.early is EarlyMove.STUTTER and channel.goes_on(self._frame)
            channel.begin(width, duration_s / FRAME_S, self._frame + stands)
        return duration_s if movers else 0.0

    def _mover(self, servo: Servo, timed: bool) -> tuple[Channel, int, int | None] | None:
        """A channel that has to move, to which width, how fast; None for one that does not, or is there already."""
        channel, width, speed = self.channel(servo.number), servo.width, servo.speed
        if channel is None or width is None or width < 0:
            self._counts.oddities += 1
            return None
        if servo.fraction:
            if self._settings.fractions is Fractions.DROP_SERVO:
                return None
            speed = None
        if width == 0 and not self._settings.zero_releases:
            return None
        self._activate(channel)
        if width == 0:
            self._release(channel, Level.OFF)
            return None
        within = self._within(width)
        if within is None:
            return None
        if channel.level is not Level.PULSE:
            if not (timed and self._starts_at_500()):
                channel.jump(within, self._frame)
                return None
            channel.jump(LOWEST_US, self._frame)
        return channel, within, speed

    def _starts_at_500(self) -> bool:
        """Whether a timed move of a channel without pulses begins at 500 us; else it jumps."""
        rule = self._settings.first_move
        return rule is FirstMove.FROM_500 or (rule is FirstMove.ONCE and self._positioned)

    def _within(self, width: int) -> int | None:
        """A width as the board takes it; None for one that it ignores."""
        if LOWEST_US <= width <= HIGHEST_US:
            return width
        self._counts.clipped += 1
        if self._settings.beyond is Beyond.IGNORE:
            return None
        if self._settings.beyond is Beyond.THROUGH and width > CLIPPED_US:
            return min(width, LARGEST_US)
        return min(max(width, LOWEST_US), HIGHEST_US)

    def _release(self, channel: Channel, level: Level) -> None:
        channel.level, channel.touched = level, True
        channel.width = 0.0
        channel.begin(0.0, 0.0, self._frame)

    def set_level(self, number: int, level: Level) -> None:
        """End the pulses of a channel, and hold its pin."""
        if channel := self.channel(number):
            self._release(channel, level)
            self._activate(channel)

    def set_first_width(self, number: int, width: int) -> None:
        """What a register says of a channel at power-up: a width, or a level for 0 and 65535."""
        channel = self.channels[number]
        if width in (0, 0xFFFF):
            channel.level, channel.touched = Level.HIGH if width else Level.LOW, True
        else:
            channel.jump(min(max(width, LOWEST_US), HIGHEST_US), self._frame)
        self._activate(channel)

    def set_offset(self, number: int, offset_us: int) -> None:
        """Shift a channel's pulses, added to what shifts them already where the board adds."""
        if channel := self.channel(number):
            before = channel.offset if self._settings.offsets_add else 0
            channel.offset = self.clip_offset(before + offset_us)
            self._activate(channel)

    def clip_offset(self, offset_us: int) -> int:
        """An offset as the board takes it."""
        if not -LARGEST_OFFSET_US <= offset_us <= LARGEST_OFFSET_US:
            self._counts.clipped += 1
        return min(max(offset_us, -LARGEST_OFFSET_US), LARGEST_OFFSET_US)

    def stop(self, channel: Channel) -> None:
        """Stand where it is."""
        channel.begin(channel.width, 0.0, self._frame)
