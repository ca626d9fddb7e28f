"""The emulated SSC-32 and SSC-32U servo controllers: bytes in, pulses and bytes out, time as an argument.

Written from the manuals alone, and shares nothing with the driver. What the manuals leave open is a choice in
`BoardSettings`; `docs/fake-ssc32.md` lists what is and is not modelled.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

import msgspec

from hil.types import Record
from sim.faults import Event, FaultKind
from sim.uart import EIGHT_N_ONE, Chunk, Framing, mishear, same_speed

CHANNELS = 32
FRAME_S = 0.02
LOWEST_US, HIGHEST_US = 500, 2500
CLIPPED_US = 3000
"""Widths up to this are clipped for sure; of one above it somebody reports that it was made."""
LINE_LIMIT = 4096
"""Text kept without a CR; the board has no documented limit, but a fake must not grow without end."""

STARTUP_LIMIT = 100
EEPROM_BYTE_S = 3.4e-3
DEFAULTS_S = 1.1
SETTLE_S = 0.015
"""A digital input has to be stable this long to count."""

Watcher = Callable[[float, Sequence[tuple[int, float]]], None]


class Firmware(Enum):
    """Families of firmware: the original board with 1.x or 2.x, and the SSC-32U."""

    V1 = "1.x"
    V2 = "2.x"
    U = "u"


class FirstMove(Enum):
    """What S and T do in the first command of a channel."""

    JUMP = "jump"
    """Ignored for that channel, which takes the new width at once."""
    FROM_500 = "from_500"
    """The board takes 500 us as the start and moves from there (manual of firmware 1.06)."""
    ONCE = "once"
    """Ignored in the very first move of the whole board (manual of the SSC-32U); later channels start at 500 us."""


class EarlyMove(Enum):
    """What a timed move does that comes while the one before it is still going on."""

    REPLACE = "replace"
    """The channel goes on from where it is, at once."""
    STUTTER = "stutter"
    """It stands for a frame first, unless it has just done so."""


class Rounding(Enum):
    """How QP makes tens of microseconds of a width."""

    DOWN = "down"
    NEAREST = "nearest"

    def of(self, tens: float) -> int:
        """A whole number of them."""
        return math.floor(tens + 0.5) if self is Rounding.NEAREST else math.floor(tens)


class Beyond(Enum):
    """What a width outside 500 to 2500 us does."""

    CLIP = "clip"
    IGNORE = "ignore"
    """That servo is left out of the line."""
    THROUGH = "through"
    """Up to 3000 us it is clipped; above, the pin makes it as it was sent."""


class Fractions(Enum):
    """What a decimal fraction in P or S does."""

    DROP_SERVO = "drop_servo"
    """That servo is left out of the line."""
    DROP_SPEED = "drop_speed"
    """The whole part counts and S is forgotten: the joint runs at full speed."""


class Mixed(Enum):
    """What happens to the later types when one line mixes several."""

    FIRST_TYPE = "first_type"
    ALL = "all"


class Untouched(Enum):
    """What QP answers for a channel that nothing has driven since the board got its power."""

    ZERO = "zero"
    """0: it makes no pulse."""
    MIDDLE = "middle"
    """150, as if it made 1500 us."""
    GARBAGE = "garbage"
    """Any byte, another one each time."""


class BoardState(Enum):
    """What the processor on the board is doing."""

    OFF = "off"
    BOOTING = "booting"
    RUNNING = "running"
    LOADER = "loader"
    HUNG = "hung"


class Level(Enum):
    """What an output does."""

    OFF = "off"
    PULSE = "pulse"
    LOW = "low"
    HIGH = "high"


_VERSIONS = {Firmware.V1: "SSC32-1.06XE", Firmware.V2: "SSC32-V2.03XE", Firmware.U: "SSC32-V2.50USB"}
_BAUDS = {Firmware.V1: 115200, Firmware.V2: 115200, Firmware.U: 9600}


class BoardSettings(Record, frozen=True):
    """What kind of board this is, and how it decides what the manuals leave open.

    Attributes:
        version: answer to VER without its CR; None for the family's usual text.
        baud: None for 115200, or the SSC-32U's factory setting of 9600.
        resolution_us: step of the generated pulse, 0 for none.
        boot_s: time from power to the first byte that is understood.
        brown_out_channels: so many servos driven for the first time in one frame reset the board.
        registers: number and content of what the EEPROM holds otherwise than from the factory; 1.x has none.
        startup: the stored startup string; likewise.
        untouched: what QP answers for a channel that nothing has driven yet.
        early: what a timed move does that comes before the one before it has ended.
        rounding: how QP makes tens of microseconds of a width.
        shows_offset: QP answers a width with its pulse offset; None for the family's usual, which is 1.x alone.
        offsets_add: a repeated PO adds to the one before; else it takes its place.
        beyond: what a width outside 500 to 2500 us does.
        zero_releases: P0 ends the pulses of a channel; else it does nothing.
        bare_stop: STOP without a number stops all channels; else it does nothing.
        escape_drops: ESC drops the line that has begun; else it is ignored.
        lacks: words that this build does not know, though its family does.
        greeting: what it sends by itself once it has started up, CR and all; manuals tell of nothing.
        q_newest: Q tells of the newest move only; else of whichever ends last.
    """

    firmware: Firmware = Firmware.V2
    version: str | None = None
    baud: Annotated[int, msgspec.Meta(ge=300)] | None = None
    first_move: FirstMove = FirstMove.JUMP
    fractions: Fractions = Fractions.DROP_SERVO
    mixed: Mixed = Mixed.FIRST_TYPE
    resolution_us: Annotated[float, msgspec.Meta(ge=0.0)] = 1.0
    boot_s: Annotated[float, msgspec.Meta(ge=0.0)] = 0.1
    brown_out_channels: Annotated[int, msgspec.Meta(ge=1, le=32)] | None = None
    registers: tuple[tuple[int, int], ...] = ()
    startup: str = ""
    untouched: Untouched = Untouched.ZERO
    early: EarlyMove = EarlyMove.REPLACE
    rounding: Rounding = Rounding.DOWN
    shows_offset: bool | None = None
    offsets_add: bool = False
    beyond: Beyond = Beyond.CLIP
    zero_releases: bool = True
    bare_stop: bool = False
    escape_drops: bool = True
    lacks: tuple[str, ...] = ()
    greeting: str = ""
    q_newest: bool = True


@dataclass
class Counts:
    """What has happened since the fake was made; a real board tells none of this."""

    received: int = 0
    lost: int = 0
    lines: int = 0
    parse_errors: int = 0
    mixed_lines: int = 0
    oddities: int = 0
    clipped: int = 0
    binary: int = 0
    framing_errors: int = 0
    boots: int = 0


class _Channel:
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


@dataclass
class _Input:
    """One input pin: debounced level with its latch, and the analogue voltage."""

    raw: bool = True
    since_s: float = -math.inf
    stable: bool = True
    latched_low: bool = False
    volts: float = 5.0
    analogue: bool = False

    def settle(self, now_s: float) -> None:
        if self.raw != self.stable and now_s - self.since_s >= SETTLE_S - 1e-9:
            self.stable = self.raw
            self.latched_low |= not self.stable


@dataclass
class _Servo:
    """One `# P S` of a line."""

    number: int
    width: int | None = None
    speed: int | None = None
    fraction: bool = False


class _BadLineError(Exception):
    """The line holds a word that the board does not know."""


Item = tuple[str, tuple[str, ...]]
Action = Callable[[Sequence[str], float, bool], None]


class Ssc32Board:
    """The controller. It reads no clock: hand bytes in with their times, then `advance` or `transmit`.

    Args:
        settings: kind of board and its choices; None for a 2.x board at 115200 baud.
        start_s: when the emulation begins; a powered board has finished booting by then.
        powered: False for a board whose logic supply is missing.
    """

    NAME: ClassVar[str] = "ssc32"
    FAULTS: ClassVar[frozenset[FaultKind]] = frozenset({FaultKind.BROWN_OUT})

    def __init__(
        self,
        settings: BoardSettings | None = None,
        *,
        start_s: float = 0.0,
        powered: bool = True,
    ) -> None:
        self.settings = settings = settings or BoardSettings()
        self.counts = Counts()
        self.state = BoardState.OFF
        self.brown_out_channels = settings.brown_out_channels
        self.sequencer: dict[str, int] = {}
        self._firmware = settings.firmware
        self._version = _VERSIONS[self._firmware] if settings.version is None else settings.version
        self._registers = {**_DEFAULT_REGISTERS, **self._baud_register(), **dict(settings.registers)}
        self._startup = settings.startup[:STARTUP_LIMIT]
        self.baud = settings.baud or _BAUDS[self._firmware]
        self.framing = EIGHT_N_ONE
        self._garbage = 0
        self._channels = [_Channel(number) for number in range(CHANNELS)]
        self._active: list[_Channel] = []
        self._watchers: list[Watcher] = []
        names = "ABCDEFGH" if self._firmware is Firmware.U else "ABCD"
        self._inputs = {name: _Input() for name in names}
        self._inbox: deque[Chunk] = deque()
        self._outbox: deque[tuple[float, int]] = deque()
        self._now_s = self._origin_s = self._ready_s = start_s
        self._frame = 0
        self._kinds = {
            word: kind for word, kind in _words_of(self._firmware, self._version).items() if word not in settings.lacks
        }
        self._shows_offset = self._firmware is Firmware.V1 if settings.shows_offset is None else settings.shows_offset
        self._actions = self._action_table()
        self._forget(start_s)
        if powered:
            self._boot(start_s)

    def _baud_register(self) -> dict[int, int]:
        """The SSC-32U alone keeps its speed in a register; the older boards have jumpers."""
        return {4: (self.settings.baud or _BAUDS[Firmware.U]) // 10} if self._firmware is Firmware.U else {}

    # What a test or a bench looks at.

    @property
    def version(self) -> str:
        """The answer to VER, without its CR."""
        return self._version

    @property
    def byte_s(self) -> float:
        """Time of one byte at the board's own speed."""
        return 10.0 / self.baud

    @property
    def moving(self) -> bool:
        """True while some output still has to change in a later frame."""
        return bool(self._active)

    def pulse_us(self, channel: int) -> float:
        """Width of the pulse that the pin shows now, offset included; 0 for no pulses."""
        return self._channels[channel].pulse_us

    def pulses_us(self) -> tuple[float, ...]:
        """All widths, shape (32,)."""
        return tuple([channel.pulse_us for channel in self._channels])

    def level(self, channel: int) -> Level:
        """What the pin shows now."""
        return self._channels[channel].shown

    def register(self, number: int) -> int:
        """Contents of one EEPROM register."""
        return self._registers.get(number, 1500 if 64 <= number <= 95 else 0)

    @property
    def startup(self) -> str:
        """The stored startup string."""
        return self._startup

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher(time_s, [(channel, pulse_us), ...])` for every frame in which a pulse changed."""
        self._watchers.append(watcher)

    def next_due_s(self, *, frames: bool = False) -> float:
        """When something happens next by itself; infinity if nothing does.

        Args:
            frames: count a frame that changes a pulse as something.
        """
        due_s = self._outbox[0][0] if self._outbox else math.inf
        if self._inbox:
            chunk = self._inbox[0]
            end = chunk.data.find(b"\r", chunk.taken) + 1
            due_s = min(due_s, chunk.end_s(end or len(chunk.data)))
        if self.state is BoardState.BOOTING:
            due_s = min(due_s, self._ready_s)
        if frames and self._active:
            due_s = min(due_s, self._origin_s + (self._frame + 1) * FRAME_S)
        return due_s

    # What the world does to the board.

    def receive(self, data: bytes, start_s: float, byte_s: float, framing: Framing = EIGHT_N_ONE) -> None:
        """Put bytes on the board's input.

        Args:
            data: what is sent, back to back.
            start_s: when the first byte begins; byte i is complete at start_s + (i + 1) * byte_s.
            byte_s: time of a byte of the sender. More than 4 % off the board's own, and it hears garbage.
            framing: the sender's; with any other than 8N1 it hears garbage too.
        """
        if not data:
            return
        if framing == self.framing and same_speed(byte_s, self.byte_s):
            self._inbox.append(Chunk(data, start_s, byte_s))
            return
        for end_s, value, broken in mishear(data, start_s, byte_s, self.byte_s, framing, self.framing):
            self.counts.framing_errors += broken
            self._inbox.append(Chunk(bytes((value,)), end_s - self.byte_s, self.byte_s))

    def advance(self, until_s: float) -> None:
        """Let everything happen that happens up to and including `until_s`; never goes back."""
        while self._inbox:
            chunk = self._inbox[0]
            complete = chunk.complete(until_s)
            if complete > chunk.taken:
                self._take(chunk, complete)
            if chunk.taken < len(chunk.data):
                break
            self._inbox.popleft()
        self._run_to(until_s)

    def transmit(self, until_s: float) -> list[tuple[float, bytes]]:
        """Advance, and hand over the reply bytes complete by `until_s`, each with the time of its end."""
        self.advance(until_s)
        sent: list[tuple[float, bytes]] = []
        while self._outbox and self._outbox[0][0] <= until_s + 1e-12:
            end_s, value = self._outbox.popleft()
            sent.append((end_s, bytes((value,))))
        return sent

    def cut(self, at_s: float) -> None:
        """The cable is pulled: bytes not complete by `at_s` never arrive, in both directions."""
        self.advance(at_s)
        self._inbox.clear()
        self._outbox.clear()

    def power_off(self, at_s: float) -> None:
        """Take the logic supply away: no pulses, no answers, all but the EEPROM forgotten."""
        self.advance(at_s)
        self._forget(at_s)
        self.state = BoardState.OFF

    def power_cycle(self, at_s: float) -> None:
        """A brown-out, or power coming back: silent, all but the EEPROM forgotten, deaf for `boot_s`."""
        self.advance(at_s)
        self._reset(at_s)

    def hang(self, at_s: float, hung: bool = True) -> None:
        """The processor stops: pulses stay as they are, bytes are lost; or it goes on, moves forgotten."""
        self.advance(at_s)
        if hung and self.state is BoardState.RUNNING:
            self.state = BoardState.HUNG
            for channel in self._active:
                channel.begin(channel.width, 0.0, self._frame)
            self._drop_active()
            self._outbox.clear()
        elif not hung and self.state is BoardState.HUNG:
            self.state = BoardState.RUNNING

    def meet(self, event: Event) -> None:
        """A brown-out by many servos at once becomes possible, or impossible again."""
        self.brown_out_channels = event.fault.channels_starting if event.begins else None

    def set_input(self, name: str, high: bool, at_s: float) -> None:
        """Drive a digital input; it counts once it has been stable for 15 ms."""
        self.advance(at_s)
        pin = self._inputs[name]
        pin.settle(at_s)
        if pin.raw != high:
            pin.raw, pin.since_s = high, at_s

    def set_voltage(self, name: str, volts: float) -> None:
        """Put a voltage on an analogue input."""
        self._inputs[name].volts = volts

    # Power and time.

    def _forget(self, at_s: float) -> None:
        changes = [(c.number, 0.0) for c in self._channels if c.pulse_us]
        for channel in self._channels:
            channel.reset()
            channel.pulse_us, channel.shown = 0.0, Level.OFF
        self._drop_active()
        self._outbox.clear()
        self._text = bytearray()
        self._binary = bytearray()
        self._binary_targets: dict[int, int] = {}
        self._positioned = False
        self._busy_until_s = -math.inf
        self._eeprom_until_s = -math.inf
        self._line_free_s = -math.inf
        for pin in self._inputs.values():
            pin.analogue = pin.latched_low = False
        self.sequencer.clear()
        self._tell(at_s, changes)

    def _reset(self, at_s: float) -> None:
        self._forget(at_s)
        self.state = BoardState.BOOTING
        self._ready_s = at_s + self.settings.boot_s

    def _boot(self, at_s: float) -> None:
        self.state = BoardState.RUNNING
        self.counts.boots += 1
        self._origin_s, self._frame = at_s, 0
        enabled = self.register(0)
        if self._firmware is Firmware.V1 or enabled & 0x8000:
            enabled = 0
        if self._firmware is Firmware.U:
            self.baud = self._registers[4] * 10
        if self._firmware is Firmware.V1:
            self._delay_s, self._pacing_s = 100e-6, 0.0
        else:
            own_delays = bool(enabled & 2)
            self._delay_s = (self._registers[1] if own_delays else 600) * 1e-6
            self._pacing_s = (self._registers[2] if own_delays else 70) * 1e-6
        for channel in self._channels:
            if enabled & 4:
                channel.offset = self.register(32 + channel.number)
            if enabled & 8:
                self._initial_width(channel, self.register(64 + channel.number))
        if enabled & 1:
            for command in self._startup.split(";")[:-1]:
                self._execute(command, at_s, at_startup=True)
        if self.settings.greeting and self.counts.boots > 1:
            self._reply(self.settings.greeting.encode("latin-1"), at_s)

    def _initial_width(self, channel: _Channel, width: int) -> None:
        if width in (0, 0xFFFF):
            channel.level, channel.touched = Level.HIGH if width else Level.LOW, True
        else:
            channel.jump(min(max(width, LOWEST_US), HIGHEST_US), self._frame)
        self._activate(channel)

    def _run_to(self, time_s: float) -> None:
        """Let frames, and the end of booting, happen up to `time_s`; no bytes."""
        if time_s <= self._now_s:
            return
        self._now_s = time_s
        if self.state is BoardState.RUNNING:
            self._run_frames(time_s)
        while self.state is BoardState.BOOTING and time_s >= self._ready_s:
            self._boot(self._ready_s)
            self._run_frames(time_s)

    def _run_frames(self, time_s: float) -> None:
        last = int((time_s - self._origin_s) / FRAME_S + 1e-9)
        while self._active and self._frame < last:
            self._frame += 1
            self._step()
        if self.state is BoardState.RUNNING:
            self._frame = max(self._frame, last)

    def _step(self) -> None:
        """One frame: every output that has something to do moves on."""
        frame, grid = self._frame, self.settings.resolution_us
        changes: list[tuple[int, float]] = []
        going: list[_Channel] = []
        starting = 0
        for channel in self._active:
            if channel.step(frame):
                going.append(channel)
            else:
                channel.active = False
            channel.shown = channel.level
            pulse_us = 0.0
            if channel.level is Level.PULSE:
                pulse_us = channel.width + channel.offset
                if grid:
                    pulse_us = round(pulse_us / grid) * grid
                pulse_us = max(pulse_us, LOWEST_US)
                if channel.width <= HIGHEST_US:
                    pulse_us = min(pulse_us, HIGHEST_US)
            if pulse_us != channel.pulse_us:
                starting += channel.pulse_us == 0.0
                channel.pulse_us = pulse_us
                changes.append((channel.number, pulse_us))
        self._active = going
        time_s = self._origin_s + frame * FRAME_S
        self._tell(time_s, changes)
        if self.brown_out_channels is not None and starting >= self.brown_out_channels:
            self._reset(time_s)

    def _tell(self, time_s: float, changes: list[tuple[int, float]]) -> None:
        if changes:
            for watcher in self._watchers:
                watcher(time_s, changes)

    def _activate(self, channel: _Channel) -> None:
        if not channel.active:
            channel.active = True
            self._active.append(channel)

    def _drop_active(self) -> None:
        for channel in self._active:
            channel.active = False
        self._active = []

    # Bytes in.

    def _take(self, chunk: Chunk, complete: int) -> None:
        """Take the bytes of `chunk` up to number `complete`, each at its time."""
        data, index = chunk.data, chunk.taken
        while index < complete:
            time_s = chunk.end_s(index + 1)
            self._run_to(time_s)
            if self.state in _DEAF:
                self.counts.lost += 1
                index += 1
            elif self._binary:
                self._binary.append(data[index])
                index += 1
                if len(self._binary) == 3:
                    self._binary_command(time_s)
            else:
                found = _SPECIAL.search(data, index, complete)
                end = found.start() if found else complete
                if len(self._text) < LINE_LIMIT:
                    self._text += data[index:end]
                index = end
                if found:
                    index += 1
                    self._special(data[end], chunk.end_s(index))
        self.counts.received += complete - chunk.taken
        chunk.taken = complete

    def _special(self, value: int, time_s: float) -> None:
        self._run_to(time_s)
        if self.state in _DEAF:
            self.counts.lost += 1
        elif value == 0x0D:
            line = self._text.decode("latin-1")
            self._text = bytearray()
            self._execute(line, time_s)
        elif self.state is BoardState.LOADER:
            self._text.append(value)
        elif value == 0x1B:
            if self.settings.escape_drops:
                self._text = bytearray()
        elif self._firmware is not Firmware.V1 or value == 0xFF:
            self._binary = bytearray((value,))
        else:
            self.counts.oddities += 1

    def _binary_command(self, time_s: float) -> None:
        first, high, low = self._binary
        self._binary = bytearray()
        self.counts.binary += 1
        if first == 0xFF and self._firmware is not Firmware.U:
            self._move([_Servo(high, LOWEST_US + 8 * min(low, 250))], 0, time_s)
        elif first < 0xA0:
            self._binary_targets[first - 0x80] = high << 8 | low
        elif first == 0xA1:
            self._commit_binary(high << 8 | low, time_s)
        else:
            self.counts.oddities += 1

    def _commit_binary(self, duration_ms: int, time_s: float) -> None:
        targets, self._binary_targets = self._binary_targets, {}
        for number, width in targets.items():
            if width in (0, 0xFFFF):
                self._set_level(number, Level.HIGH if width else Level.LOW)
        self._move([_Servo(n, w) for n, w in targets.items() if w not in (0, 0xFFFF)], duration_ms, time_s)

    # One line.

    def _execute(self, line: str, time_s: float, *, at_startup: bool = False) -> None:
        if self.state is BoardState.LOADER:
            if line == "g0000":
                self._reset(time_s)
            return
        text = line.upper().strip(" \t\n")
        if not text:
            return
        self.counts.lines += 1
        try:
            if text.startswith("SSCAT"):
                if at_startup or "SSCAT" not in self._kinds:
                    raise _BadLineError
                self._append_startup(line.lstrip(" \t\n")[5:], time_s)
                return
            items, servos, duration_ms = self._parse(text)
            for kind, args in self._one_type(items):
                if kind == _MOVE:
                    self._move(servos, duration_ms, time_s)
                else:
                    self._actions[kind](args, time_s, at_startup)
        except _BadLineError:
            self.counts.parse_errors += 1

    def _parse(self, text: str) -> tuple[list[Item], list[_Servo], int]:
        """A line's commands in order, its servo positions (one item stands for all), its T in ms."""
        items: list[Item] = []
        servos: list[_Servo] = []
        servo: _Servo | None = None
        duration_ms = 0
        for word, args in self._words(text):
            if word == "#" and ":" in args:
                items.append((_BYTES, args))
            elif word == "#":
                servo = _Servo(self._number(args)[0])
            elif word == "T":
                value, fraction = self._number(args)
                duration_ms = 0 if fraction else self._sixteen_bits(value)
            elif word in _SERVO_WORDS:
                if servo is None:
                    raise _BadLineError
                if word in ("P", "S"):
                    value, fraction = self._number(args)
                    servo.fraction |= fraction
                    if word == "S":
                        servo.speed = self._sixteen_bits(value)
                    else:
                        servo.width = value
                        if not servos:
                            items.append((_MOVE, ()))
                        servos.append(servo)
                else:
                    items.append((_OFFSET if word == "PO" else _LEVEL, (word, str(servo.number), *args)))
            else:
                items.append((self._kinds[word], (word, *args)))
        return items, servos, duration_ms

    def _words(self, text: str) -> list[tuple[str, tuple[str, ...]]]:
        """Split into words, each with what follows it; a run of letters is one word, blanks only separate."""
        words: list[tuple[str, list[str]]] = []
        for token in _TOKEN.findall(text):
            if token[0] in _LETTERS:
                if token not in self._kinds:
                    raise _BadLineError
                words.append((token, []))
            elif words and token[0] in _ARGUMENT:
                words[-1][1].append(token)
            else:
                raise _BadLineError
        return [(word, tuple(args)) for word, args in words]

    def _number(self, args: Sequence[str]) -> tuple[int, bool]:
        """The last number after a word, and whether it has a fraction; a blank inside makes two numbers."""
        if len(args) > 1:
            self.counts.oddities += 1
        try:
            return int(args[-1]), False
        except (ValueError, IndexError):
            pass
        match = _FRACTION.match(args[-1]) if args else None
        if match is None:
            raise _BadLineError
        self.counts.oddities += 1
        return int(match[1]), True

    def _sixteen_bits(self, value: int) -> int:
        if not 0 <= value <= 0xFFFF:
            self.counts.oddities += 1
        return value & 0xFFFF

    def _one_type(self, items: list[Item]) -> list[Item]:
        if len(items) < 2:
            return items
        first = items[0][0]
        same = [item for item in items if item[0] == first]
        if len(same) < len(items):
            self.counts.mixed_lines += 1
            if self.settings.mixed is Mixed.ALL:
                return items
        return same

    def _channel(self, number: int) -> _Channel | None:
        if 0 <= number < CHANNELS:
            return self._channels[number]
        self.counts.oddities += 1
        return None

    def _move(self, servos: list[_Servo], duration_ms: int, time_s: float) -> None:
        """A group move: all that interpolate start together and arrive together, the longest time wins."""
        movers: list[tuple[_Channel, int]] = []
        duration_s = duration_ms / 1000
        for servo in servos[:CHANNELS]:
            channel, width, speed = self._channel(servo.number), servo.width, servo.speed
            if channel is None or width is None or width < 0:
                self.counts.oddities += 1
                continue
            if servo.fraction:
                if self.settings.fractions is Fractions.DROP_SERVO:
                    continue
                speed = None
            if width == 0 and not self.settings.zero_releases:
                continue
            self._activate(channel)
            if width == 0:
                self._release(channel, Level.OFF)
                continue
            within = self._within(width)
            if within is None:
                continue
            width = within
            if channel.level is not Level.PULSE:
                timed = duration_ms or any(each.speed is not None for each in servos)
                if not (timed and self._starts_at_500()):
                    channel.jump(width, self._frame)
                    continue
                channel.jump(LOWEST_US, self._frame)
            if speed is not None:
                duration_s = max(duration_s, abs(width - channel.width) / max(speed, 1))
            movers.append((channel, width))
        self._positioned = True
        if not movers:
            duration_s = 0.0
        for channel, width in movers:
            stands = self.settings.early is EarlyMove.STUTTER and channel.goes_on(self._frame)
            channel.begin(width, duration_s / FRAME_S, self._frame + stands)
        until_s = time_s + duration_s
        self._busy_until_s = until_s if self.settings.q_newest else max(until_s, self._busy_until_s)

    def _starts_at_500(self) -> bool:
        """Whether a timed move of a channel without pulses begins at 500 us; else it jumps."""
        rule = self.settings.first_move
        return rule is FirstMove.FROM_500 or (rule is FirstMove.ONCE and self._positioned)

    def _within(self, width: int) -> int | None:
        """A width as the board takes it; None for one that it ignores."""
        if LOWEST_US <= width <= HIGHEST_US:
            return width
        self.counts.clipped += 1
        if self.settings.beyond is Beyond.IGNORE:
            return None
        if self.settings.beyond is Beyond.THROUGH and width > CLIPPED_US:
            return width
        return min(max(width, LOWEST_US), HIGHEST_US)

    def _release(self, channel: _Channel, level: Level) -> None:
        channel.level, channel.touched = level, True
        channel.width = 0.0
        channel.begin(0.0, 0.0, self._frame)

    def _set_level(self, number: int, level: Level) -> None:
        if channel := self._channel(number):
            self._release(channel, level)
            self._activate(channel)

    # Replies.

    def _reply(self, data: bytes, time_s: float) -> None:
        """Queue reply bytes after the transmit delay, each one pacing time after the last."""
        begin_s = max(max(time_s, self._eeprom_until_s) + self._delay_s, self._line_free_s)
        for value in data:
            end_s = begin_s + self.byte_s
            self._outbox.append((end_s, value))
            begin_s = end_s + self._pacing_s
        self._line_free_s = begin_s

    # What the words do. Each takes the word with its arguments, the time, and whether the board starts up.

    def _action_table(self) -> dict[str, Action]:
        return {
            _OFFSET: self._do_offset,
            _LEVEL: self._do_level,
            _BYTES: self._do_bytes,
            "query": self._do_query,
            "pulse": self._do_pulse,
            "version": self._do_version,
            "digital": self._do_digital,
            "analogue": self._do_analogue,
            "stop": self._do_stop,
            "register": self._do_register,
            "defaults": self._do_defaults,
            "startup": self._do_startup,
            "delete startup": self._do_delete_startup,
            "loader": self._do_loader,
            "sequencer": self._do_sequencer,
            "player": self._do_player,
            "external eeprom": self._do_external_eeprom,
        }

    def _do_level(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        self._set_level(int(args[1]), Level.HIGH if args[0] == "H" else Level.LOW)

    def _do_bytes(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        if len(args) != 3 or args[1] != ":":
            raise _BadLineError
        bank, value = self._number(args[:1])[0], self._number(args[2:])[0]
        if not (0 <= bank <= 3 and 0 <= value <= 255):
            self.counts.oddities += 1
            return
        for bit in range(8):
            self._set_level(8 * bank + bit, Level.HIGH if value >> bit & 1 else Level.LOW)

    def _do_offset(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        if channel := self._channel(int(args[1])):
            before = channel.offset if self.settings.offsets_add else 0
            channel.offset = self._clip_offset(before + self._number(args[2:])[0])
            self._activate(channel)

    def _clip_offset(self, value: int) -> int:
        if not -100 <= value <= 100:
            self.counts.clipped += 1
        return min(max(value, -100), 100)

    def _do_query(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        self._reply(b"+" if time_s < self._busy_until_s else b".", time_s)

    def _do_pulse(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        channel = self._channel(self._number(args[1:])[0])
        if channel is None:
            return
        if not channel.touched and self.settings.untouched is not Untouched.ZERO:
            self._reply(bytes((self._untouched(),)), time_s)
            return
        width = channel.width if channel.level is Level.PULSE else 0.0
        if width and self._shows_offset:
            width = min(max(width + channel.offset, LOWEST_US), HIGHEST_US)
        tens = round(width) / 10
        self._reply(bytes((min(self.settings.rounding.of(tens), 255),)), time_s)

    def _untouched(self) -> int:
        if self.settings.untouched is Untouched.GARBAGE:
            # Goes through all bytes, each once in 256 times.
            self._garbage = (73 * self._garbage + 41) % 256
            return self._garbage
        return 150

    def _do_version(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        self._reply(self._version.encode("ascii") + b"\r", time_s)

    def _do_digital(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        pin = self._inputs[args[0][0]]
        pin.settle(time_s)
        pin.analogue = False
        high = pin.stable
        if args[0].endswith("L"):
            high = high and not pin.latched_low
            pin.latched_low = not pin.stable
        self._reply(b"1" if high else b"0", time_s)

    def _do_analogue(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        pin = self._inputs[args[0][1]]
        valid, pin.analogue = pin.analogue, True
        value = min(max(int(pin.volts * 256 / 5), 0), 255) if valid else 255
        self._reply(bytes((value,)), time_s)

    def _do_stop(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        if self.settings.bare_stop and len(args) == 1:
            stopped = self._channels
        else:
            channel = self._channel(self._number(args[1:])[0])
            stopped = [] if channel is None else [channel]
        for channel in stopped:
            channel.begin(channel.width, 0.0, self._frame)

    def _do_register(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        number = self._number(args[1:2])[0]
        if not 0 <= number <= 95 or len(args) not in (2, 4):
            raise _BadLineError
        if len(args) == 2:
            self._reply(b"%d\r" % self.register(number), time_s)
            return
        if args[2] != "=" or at_startup:
            raise _BadLineError
        value = self._number(args[3:])[0]
        if 32 <= number <= 63:
            value = self._clip_offset(value)
        elif number in (0, 1, 2) or number >= 64 or (number == 4 and self._firmware is Firmware.U):
            value = self._sixteen_bits(value)
        else:
            self.counts.oddities += 1
            return
        self._registers[number] = value
        self._program_eeprom(2 * EEPROM_BYTE_S, time_s)

    def _do_defaults(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        self._registers = {**_DEFAULT_REGISTERS}
        if self._firmware is Firmware.U:
            self._registers[4] = _BAUDS[Firmware.U] // 10
        self._program_eeprom(DEFAULTS_S, time_s)
        self._reply(b"OK\r", time_s)

    def _program_eeprom(self, duration_s: float, time_s: float) -> None:
        self._eeprom_until_s = max(self._eeprom_until_s, time_s) + duration_s

    def _append_startup(self, text: str, time_s: float) -> None:
        added = text.removeprefix(" ").replace("\n", "")
        self._startup = (self._startup + added)[:STARTUP_LIMIT]
        self._program_eeprom(len(added) * EEPROM_BYTE_S, time_s)

    def _do_startup(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        self._reply(f'"{self._startup}"\r'.encode("latin-1"), time_s)

    def _do_delete_startup(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        count = self._number(args[1:])[0]
        if at_startup or count < 0:
            raise _BadLineError
        self._startup = self._startup[: max(len(self._startup) - count, 0)]
        self._program_eeprom(EEPROM_BYTE_S, time_s)

    def _do_loader(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        self._forget(time_s)
        self.state = BoardState.LOADER

    def _do_sequencer(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        if args[0] == "XQ":
            self._reply(b"\x00", time_s)
        elif args[0] == "XSTOP":
            self.sequencer.pop("XS", None)
        else:
            self.sequencer[args[0]] = self._number(args[1:])[0]

    def _do_player(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        if args[0] == "QPL":
            self._reply(b"\xff\x00\x00\x00", time_s)

    def _do_external_eeprom(self, args: Sequence[str], time_s: float, at_startup: bool) -> None:
        self.counts.oddities += 1


_DEAF = frozenset({BoardState.OFF, BoardState.BOOTING, BoardState.HUNG})
_SPECIAL = re.compile(rb"[\r\x1b\x80-\xff]")
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ#")
_ARGUMENT = frozenset("-0123456789:=;,")
_TOKEN = re.compile(r"[A-Z#]+|-?[0-9]+(?:[.,][0-9]*)?|[^ \t\n]")
_FRACTION = re.compile(r"(-?[0-9]+)[.,][0-9]*$")
_DEFAULT_REGISTERS = {1: 600, 2: 70}

_MOVE, _OFFSET, _LEVEL, _BYTES = "move", "offset", "level", "bytes"
_SERVO_WORDS = frozenset({"P", "S", "PO", "H", "L"})


def _words_of(firmware: Firmware, version: str) -> dict[str, str]:
    """Which words this firmware knows, and the type of command of each."""
    kinds = dict.fromkeys(("#", "T", *_SERVO_WORDS), _MOVE)
    kinds |= {
        "Q": "query",
        "QP": "pulse",
        "VER": "version",
        "EER": "external eeprom",
        "EEW": "external eeprom",
    }
    sequencer = "LH LM LL RH RM RL VS LF LR RF RR HT XL XR XS XSTOP XQ"
    kinds |= dict.fromkeys(sequencer.split(), "sequencer")
    for name in "ABCDEF" if firmware is Firmware.U else "ABCD":
        kinds |= {name: "digital", name + "L": "digital"}
    for name in "ABCDEFGH" if firmware is Firmware.U else "ABCD":
        kinds["V" + name] = "analogue"
    if firmware is not Firmware.U:
        kinds["GOBOOT"] = "loader"
    if firmware is not Firmware.V1:
        kinds |= {"STOP": "stop", "R": "register", "RDFLT": "defaults"}
        kinds |= {"SS": "startup", "SSCAT": "startup", "SSDEL": "delete startup"}
    if "GP" in version:
        kinds |= dict.fromkeys(("PL", "SQ", "SM", "IX", "ONCE", "QPL"), "player")
    return kinds
