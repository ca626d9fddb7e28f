"""The emulated SSC-32 and SSC-32U servo controllers: power, clock and line. Time is an argument.

Written from the manuals alone, and shares nothing with the driver. What the manuals leave open is a choice in
`BoardSettings`; `docs/fake-ssc32.md` lists what is and is not modelled.
"""

from __future__ import annotations

import math
import re
from collections import deque
from enum import Enum
from typing import ClassVar

from sim.faults import Event, FaultKind
from sim.ssc32.counts import Counts
from sim.ssc32.machine import Machine
from sim.ssc32.outputs import Level, Servo, Watcher
from sim.ssc32.settings import BAUDS, LOWEST_US, BoardSettings, Firmware
from sim.ssc32.words import BadLineError, Kind
from sim.uart import EIGHT_N_ONE, Chunk, Framing, Outbox, hear

LINE_LIMIT = 4096
"""Text kept without a CR; the board has no documented limit, but a fake must not grow without end."""

CR, ESCAPE = 0x0D, 0x1B
_SPECIAL = re.compile(rb"[\r\x1b\x80-\xff]")


class BoardState(Enum):
    """What the processor on the board is doing."""

    OFF = "off"
    BOOTING = "booting"
    RUNNING = "running"
    LOADER = "loader"
    HUNG = "hung"


_DEAF = frozenset({BoardState.OFF, BoardState.BOOTING, BoardState.HUNG})


class Ssc32Board:
    """The controller. It reads no clock: hand bytes in with their times, then `advance` or `transmit`.

    Args:
        settings: kind of board and its choices; None for a 2.x board at 115200 baud.
        start_s: when the emulation begins; a powered board has finished booting by then.
        powered: False for a board whose logic supply is missing.

    Attributes:
        machine: its state, for whoever looks inside.
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
        self._network = False
        self.settings = settings = settings or BoardSettings()
        self.counts = Counts()
        self.machine = Machine(settings, self.counts, start_s)
        self.state = BoardState.OFF
        self.baud = settings.baud or BAUDS[settings.firmware]
        self.framing = EIGHT_N_ONE
        self._inbox: deque[Chunk] = deque()
        self._outbox = Outbox()
        self._now_s = self._ready_s = start_s
        self._forget(start_s)
        if powered:
            self._boot(start_s)

    # What a test or a bench looks at.

    @property
    def byte_s(self) -> float:
        """Time of one byte at the board's own speed; 0 on a network."""
        return 0.0 if self._network else 10.0 / self.baud

    @property
    def moving(self) -> bool:
        """True while some output still has to change in a later frame."""
        return self.machine.outputs.moving

    def pulse_us(self, channel: int) -> float:
        """Width of the pulse that the pin shows now, offset included; 0 for no pulses."""
        return self.machine.outputs.channels[channel].pulse_us

    def pulses_us(self) -> tuple[float, ...]:
        """All widths, shape (32,)."""
        return tuple([channel.pulse_us for channel in self.machine.outputs.channels])

    def level(self, channel: int) -> Level:
        """What the pin shows now."""
        return self.machine.outputs.channels[channel].shown

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher(time_s, [(channel, pulse_us), ...])` for every frame in which a pulse changed."""
        self.machine.outputs.watchers.append(watcher)

    def next_due_s(self, *, frames: bool = False) -> float:
        """When something happens next by itself; infinity if nothing does.

        Args:
            frames: count a frame that changes a pulse as something.
        """
        due_s = self._outbox.due_s
        if self._inbox:
            chunk = self._inbox[0]
            end = chunk.data.find(b"\r", chunk.taken) + 1
            due_s = min(due_s, chunk.end_s(end or len(chunk.data)))
        if self.state is BoardState.BOOTING:
            due_s = min(due_s, self._ready_s)
        return min(due_s, self.machine.outputs.due_s, self.machine.sequencer.due_s) if frames else due_s

    # What the world does to the board.

    def join_network(self) -> None:
        """An adapter makes its line a network port; see `sim.controllers.Controller`."""
        self._network = True

    def receive(self, data: bytes, start_s: float, byte_s: float, framing: Framing = EIGHT_N_ONE) -> None:
        """Put bytes on the board's input.

        Args:
            data: what is sent, back to back.
            start_s: when the first byte begins; byte i is complete at start_s + (i + 1) * byte_s.
            byte_s: time of a byte of the sender. More than 4 % off the board's own, and it hears garbage.
            framing: the sender's; with any other than 8N1 it hears garbage too.
        """
        for chunk, broken in hear(data, start_s, byte_s, self.byte_s, framing, self.framing):
            self.counts.framing_errors += broken
            self._inbox.append(chunk)

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
        return self._outbox.sent_by(until_s)

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
            self.machine.freeze()
            self._outbox.clear()
        elif not hung and self.state is BoardState.HUNG:
            self.state = BoardState.RUNNING

    def meet(self, event: Event) -> None:
        """A brown-out by many servos at once becomes possible, or impossible again."""
        self.machine.outputs.brown_out_channels = event.fault.channels_starting if event.begins else None

    def set_input(self, name: str, high: bool, at_s: float) -> None:
        """Drive a digital input; it counts once it has been stable for 15 ms."""
        self.advance(at_s)
        self.machine.inputs[name].drive(high, at_s)

    def set_voltage(self, name: str, volts: float) -> None:
        """Put a voltage on an analogue input."""
        self.machine.inputs[name].volts = volts

    # Power and time.

    def _forget(self, at_s: float) -> None:
        self.machine.forget(at_s)
        self._outbox.clear()
        self._text = bytearray()
        self._binary = bytearray()
        self._binary_targets: dict[int, int] = {}
        self._line_free_s = -math.inf

    def _reset(self, at_s: float) -> None:
        self._forget(at_s)
        self.state = BoardState.BOOTING
        self._ready_s = at_s + self.settings.boot_s

    def _boot(self, at_s: float) -> None:
        self.state = BoardState.RUNNING
        self.counts.boots += 1
        startup = self.machine.boot(at_s)
        self.baud = self.machine.stored_baud or self.baud
        self._delay_s, self._pacing_s = self.machine.reply_delays_s
        for line in startup:
            self._execute(line, at_s, at_startup=True)
        if self.settings.greeting and self.counts.boots > 1:
            self._reply(self.settings.greeting.encode("latin-1"), at_s)

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
        sagged_s = self.machine.run_to(time_s)
        if sagged_s is not None:
            self._reset(sagged_s)

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
        elif value == CR:
            line = self._text.decode("latin-1")
            self._text = bytearray()
            self._end_of_line(line, time_s)
        elif self.state is BoardState.LOADER:
            self._text.append(value)
        elif value == ESCAPE:
            if self.settings.escape_drops:
                self._text = bytearray()
        elif self.settings.firmware is not Firmware.V1 or value == 0xFF:
            self._binary = bytearray((value,))
        else:
            self.counts.oddities += 1

    def _binary_command(self, time_s: float) -> None:
        first, high, low = self._binary
        self._binary = bytearray()
        self.counts.binary += 1
        if first == 0xFF and self.settings.firmware is not Firmware.U:
            self.machine.move([Servo(high, LOWEST_US + 8 * min(low, 250))], 0, time_s)
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
                self.machine.outputs.set_level(number, Level.HIGH if width else Level.LOW)
        self.machine.move([Servo(n, w) for n, w in targets.items() if w not in (0, 0xFFFF)], duration_ms, time_s)

    # Lines.

    def _end_of_line(self, line: str, time_s: float) -> None:
        if self.state is not BoardState.LOADER:
            self._execute(line, time_s)
        elif line == "g0000":
            self._reset(time_s)

    def _execute(self, line: str, time_s: float, *, at_startup: bool = False) -> None:
        if not line.strip(" \t\n"):
            return
        self.counts.lines += 1
        machine = self.machine
        try:
            commands, servos, duration_ms = machine.parser.parse(line)
            for command in commands:
                if command.kind is Kind.MOVE:
                    machine.move(servos, duration_ms, time_s)
                elif command.kind is Kind.LOADER:
                    self._forget(time_s)
                    self.state = BoardState.LOADER
                else:
                    self._reply(machine.do(command, time_s, at_startup=at_startup), time_s)
        except BadLineError:
            self.counts.parse_errors += 1

    # Bytes out.

    def _reply(self, data: bytes, time_s: float) -> None:
        """Queue reply bytes after the transmit delay, each one pacing time after the last."""
        if not data:
            return
        begin_s = max(max(time_s, self.machine.eeprom.busy_until_s) + self._delay_s, self._line_free_s)
        if self._network:
            self._outbox.put_whole(begin_s, data)
            self._line_free_s = begin_s
            return
        for value in data:
            end_s = begin_s + self.byte_s
            self._outbox.put(end_s, value)
            begin_s = end_s + self._pacing_s
        self._line_free_s = begin_s
