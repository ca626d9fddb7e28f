"""The arm behind an emulated board: its channels drive servos through the arm's true calibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from hil.control.servo import follower
from hil.model.servo import ServoModel
from hil.piecewise import PiecewiseLinear
from hil.types import Record
from sim.faults import Event, FaultKind
from sim.servo import FALL_SPEED, Servo
from sim.ssc32 import CHANNELS, FRAME_S, Ssc32Board

ChannelLoads = Callable[[Mapping[int, float]], Mapping[int, float]]
"""By channel, from where its servo is to what it has to hold, N m or N."""

SETTLING_FRAMES = 100
"""After so many refreshes in which nothing was asked, every servo has come to rest under its load."""

NOMINAL_POINTS = ((-math.pi / 2, 500.0), (math.pi / 2, 2500.0))
"""Radians and microseconds: 11.11 us per degree, as the maker's manual has it."""


class BenchServo(Record, frozen=True):
    """One servo as it really is. Positions are in the unit of `points`: radians, or metres of a gripper.

    Attributes:
        channel: 0 to 31.
        points: true calibration as (position, pulse in us), positions rising, pulses rising or falling.
        start: where it is when the emulation begins.
        lag_s, speed: how it follows, speed in units per second; by default 60 degrees in 0.2 s.
        rest: where gravity takes it once it has been driven and is not any more; None for a joint that stays.
        fall_speed: how fast at most, in units per second.
        model: how it follows; None for the lag.
    """

    channel: int
    points: tuple[tuple[float, float], ...] = NOMINAL_POINTS
    start: float = 0.0
    lag_s: float = 0.05
    speed: float = math.radians(300.0)
    rest: float | None = None
    fall_speed: float = FALL_SPEED
    model: ServoModel | None = None

    def servo(self, start_s: float) -> Servo:
        """One at work from `start_s` on, without power.

        Raises:
            ValueError: a number is out of range.
        """
        own = None if self.model is None else follower(self.model, self.start, self.lag_s, self.speed)
        return Servo(self.start, self.lag_s, self.speed, start_s, self.rest, self.fall_speed, own)


class FirstMove(Record, frozen=True):
    """A servo got power or pulses while it stood elsewhere; `jump` is how far it then went at full speed."""

    time_s: float
    channel: int
    jump: float


class ServoBench:
    """The servos on a board's outputs. Channels without a `BenchServo` carry none.

    Args:
        board: the board.
        servos: what hangs on it.
        start_s: when the emulation begins.
        loads: what servos have to hold where they are; None for nothing. It is asked once a refresh.

    Raises:
        ValueError: a channel outside 0 to 31 or given twice, or points that are no calibration.
    """

    FAULTS: ClassVar[frozenset[FaultKind]] = frozenset({FaultKind.STALL, FaultKind.NO_SERVO_POWER})

    def __init__(
        self,
        board: Ssc32Board,
        servos: Sequence[BenchServo],
        *,
        start_s: float = 0.0,
        loads: ChannelLoads | None = None,
    ) -> None:
        self.first_moves: list[FirstMove] = []
        self._servos: dict[int, Servo] = {}
        self._maps: dict[int, PiecewiseLinear] = {}
        self._pulses: dict[int, float] = {}
        self._supplied = [True, True]
        self._loads, self._loaded_s = loads, start_s
        for each in servos:
            if not 0 <= each.channel < CHANNELS or each.channel in self._servos:
                raise ValueError(f"channel {each.channel}: 0 to {CHANNELS - 1} allowed, each once")
            self._servos[each.channel] = each.servo(start_s)
            self._maps[each.channel] = PiecewiseLinear(
                [point[0] for point in each.points], [point[1] for point in each.points]
            )
            self._pulses[each.channel] = 0.0
        self._weigh()
        board.watch(self._on_pulses)
        self._on_pulses(start_s, [(c, board.pulse_us(c)) for c in self._servos if board.pulse_us(c)])

    @property
    def channels(self) -> tuple[int, ...]:
        """Channels that carry a servo, in the order given."""
        return tuple(self._servos)

    @property
    def largest_jump(self) -> float:
        """The largest first move so far, 0.0 without any."""
        return max((move.jump for move in self.first_moves), default=0.0)

    def position(self, channel: int, now_s: float) -> float:
        """Where the servo on `channel` is."""
        self._carry(now_s)
        return self._servos[channel].advance(now_s)

    def positions(self, now_s: float) -> tuple[float, ...]:
        """Where all servos are, in the order of `channels`."""
        self._carry(now_s)
        return tuple([servo.advance(now_s) for servo in self._servos.values()])

    @property
    def falling(self) -> bool:
        """Some joint is on its way down."""
        return any(servo.falling for servo in self._servos.values())

    def settled(self, tolerance: float = 1e-4) -> bool:
        """True once nothing falls, and every driven servo that nothing blocks is within `tolerance` of its target."""
        return not self.falling and all(
            servo.at_rest(tolerance) for servo in self._servos.values() if servo.powered and not servo.stalled
        )

    def place(self, channel: int, position: float, at_s: float) -> None:
        """Turn a servo by hand, and hold it there until it is driven; one that is driven goes back at once."""
        servo = self._servos[channel]
        servo.advance(at_s)
        servo.put(position)
        servo.loose = False

    def stall(self, channel: int, at_s: float, stalled: bool = True) -> None:
        """Block the joint of `channel` mechanically, or free it."""
        servo = self._servos[channel]
        servo.advance(at_s)
        servo.stalled = stalled

    def supply(self, on: bool, at_s: float, banks: Sequence[int] = (1, 2)) -> None:
        """Switch the servo supply: VS1 feeds channels 0 to 15, VS2 the others. The board cannot tell."""
        for bank in banks:
            self._supplied[bank - 1] = on
        for channel in self._servos:
            if channel // 16 + 1 in banks:
                self._drive(channel, at_s)

    def meet(self, event: Event) -> None:
        """A joint is blocked, or the servo supply fails; or that is over."""
        if event.fault.kind is FaultKind.NO_SERVO_POWER:
            self.supply(not event.begins, event.time_s)
        elif event.fault.channel is not None:
            self.stall(event.fault.channel, event.time_s, event.begins)

    def _carry(self, until_s: float) -> None:
        """Bring all servos to `until_s`, refresh by refresh, each under the load of the pose that they are in."""
        if self._loads is None or until_s <= self._loaded_s:
            return
        frames = math.floor((until_s - self._loaded_s) / FRAME_S + 1e-9)
        for done in range(max(frames - SETTLING_FRAMES, 0), frames):
            for servo in self._servos.values():
                servo.advance(self._loaded_s + (done + 1) * FRAME_S)
            self._weigh()
        self._loaded_s += frames * FRAME_S

    def _weigh(self) -> None:
        if self._loads is not None:
            loads = self._loads({channel: servo.position for channel, servo in self._servos.items()})
            for channel, load in loads.items():
                self._servos[channel].load = load

    def _on_pulses(self, time_s: float, changes: Sequence[tuple[int, float]]) -> None:
        self._carry(time_s)
        for channel, pulse_us in changes:
            if channel in self._servos:
                self._pulses[channel] = pulse_us
                self._drive(channel, time_s)

    def _drive(self, channel: int, time_s: float) -> None:
        servo, pulse_us = self._servos[channel], self._pulses[channel]
        servo.advance(time_s)
        if not pulse_us or not self._supplied[channel // 16]:
            servo.powered = False
            return
        servo.target = self._maps[channel].inverse(pulse_us)
        if not servo.powered:
            servo.powered = servo.loose = True
            self.first_moves.append(FirstMove(time_s=time_s, channel=channel, jump=abs(servo.target - servo.position)))
