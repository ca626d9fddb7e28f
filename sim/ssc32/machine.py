"""The board's state, and what each command does to it. It knows no line: a reply is what is handed back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sim.ssc32.counts import Counts
from sim.ssc32.eeprom import BAUD, ENABLE, FIRST_WIDTHS, OFFSETS, TRANSMIT_DELAY, TRANSMIT_PACING, Eeprom
from sim.ssc32.inputs import input_pins
from sim.ssc32.outputs import Level, Outputs, Servo
from sim.ssc32.sequencer import Sequencer
from sim.ssc32.settings import HIGHEST_US, LOWEST_US, VERSIONS, BoardSettings, Firmware, Reserved, Untouched
from sim.ssc32.words import BadLineError, Command, Kind, LineParser, vocabulary

MIDDLE = 150
"""1500 us, as QP says it."""


class Machine:
    """Outputs, EEPROM and inputs of one board.

    Args:
        settings: kind of board and its choices.
        counts: kept up to date.
        at_s: when the emulation begins.

    Attributes:
        version: the answer to VER, without its CR.
        sequencer: the hexapod sequencer.
    """

    def __init__(self, settings: BoardSettings, counts: Counts, at_s: float) -> None:
        self.settings, self.counts = settings, counts
        self.firmware = settings.firmware
        self.version = VERSIONS[self.firmware] if settings.version is None else settings.version
        self.eeprom = Eeprom(settings)
        self.outputs = Outputs(settings, counts, at_s)
        self.inputs = input_pins("ABCDEFGH" if self.firmware is Firmware.U else "ABCD", settings, at_s)
        self.sequencer = Sequencer(self.outputs, settings.sequencer)
        self.parser = LineParser(vocabulary(self.firmware, self.version, settings.lacks), settings.mixed, counts)
        v1 = self.firmware is Firmware.V1
        self._shows_offset = v1 if settings.shows_offset is None else settings.shows_offset
        self._garbage = 0
        self._busy_until_s = -math.inf
        self._actions: dict[Kind, Callable[[Sequence[str], float], bytes]] = {
            Kind.OFFSET: self._set_offset,
            Kind.LEVEL: self._set_level,
            Kind.BYTES: self._set_bytes,
            Kind.QUERY: self._tell_moving,
            Kind.PULSE: self._tell_pulse,
            Kind.VERSION: self._tell_version,
            Kind.DIGITAL: self._tell_level,
            Kind.ANALOGUE: self._tell_voltage,
            Kind.STOP: self._stop,
            Kind.REGISTER: self._register,
            Kind.DEFAULTS: self._restore_defaults,
            Kind.STARTUP: self._tell_startup,
            Kind.STARTUP_APPEND: self._append_startup,
            Kind.STARTUP_DELETE: self._delete_startup,
            Kind.SEQUENCER: self._sequence,
            Kind.PLAYER: self._play,
            Kind.EXTERNAL_EEPROM: self._external_eeprom,
        }

    # Power.

    def forget(self, at_s: float) -> None:
        """The power goes: all but the EEPROM is forgotten."""
        self.outputs.forget(at_s)
        self._busy_until_s = self.eeprom.busy_until_s = -math.inf
        for pin in self.inputs.values():
            pin.forget()
        self.sequencer.forget()

    def freeze(self) -> None:
        """The processor stops: pulses stay as they are, what moves them is forgotten."""
        self.outputs.freeze()
        self.sequencer.forget()

    def boot(self, at_s: float) -> Sequence[str]:
        """Start up as the registers say.

        Returns:
            Commands of the startup string, to be done at once.
        """
        self.outputs.begin(at_s)
        enabled = self._enabled
        for number in range(len(OFFSETS)):
            if enabled & 4:
                self.outputs.channels[number].offset = self.eeprom.register(OFFSETS[number])
            if enabled & 8:
                self.outputs.set_first_width(number, self.eeprom.register(FIRST_WIDTHS[number]))
        return self.eeprom.startup_commands() if enabled & 1 else ()

    @property
    def _enabled(self) -> int:
        """Register 0, unless its highest bit switches all of it off; a 1.x board has none."""
        enabled = self.eeprom.register(ENABLE)
        return 0 if self.firmware is Firmware.V1 or enabled & 0x8000 else enabled

    @property
    def reply_delays_s(self) -> tuple[float, float]:
        """Before the first byte of a reply, and between two."""
        if self.firmware is Firmware.V1:
            return 100e-6, 0.0
        if not self._enabled & 2:
            return 600e-6, 70e-6
        return self.eeprom.register(TRANSMIT_DELAY) * 1e-6, self.eeprom.register(TRANSMIT_PACING) * 1e-6

    @property
    def stored_baud(self) -> int | None:
        """Speed of the line as an SSC-32U keeps it; None for a board with jumpers."""
        return self.eeprom.register(BAUD) * 10 if self.firmware is Firmware.U else None

    # Commands.

    def move(self, servos: Sequence[Servo], duration_ms: int, time_s: float) -> None:
        """A group move."""
        until_s = time_s + self.outputs.move(servos, duration_ms)
        self._busy_until_s = until_s if self.settings.q_newest else max(until_s, self._busy_until_s)

    def do(self, command: Command, time_s: float, *, at_startup: bool = False) -> bytes:
        """Do any other command.

        Returns:
            The reply; empty for none.

        Raises:
            BadLineError: it has not what it needs, or may not stand in a startup string.
        """
        if at_startup and command.kind in (Kind.STARTUP_APPEND, Kind.STARTUP_DELETE):
            raise BadLineError
        if at_startup and command.kind is Kind.REGISTER and len(command.args) > 2:
            raise BadLineError
        return self._actions[command.kind](command.args, time_s)

    def _set_offset(self, args: Sequence[str], time_s: float) -> bytes:
        self.outputs.set_offset(int(args[1]), self.parser.number(args[2:])[0])
        return b""

    def _set_level(self, args: Sequence[str], time_s: float) -> bytes:
        self.outputs.set_level(int(args[1]), Level.HIGH if args[0] == "H" else Level.LOW)
        return b""

    def _set_bytes(self, args: Sequence[str], time_s: float) -> bytes:
        if len(args) != 3 or args[1] != ":":
            raise BadLineError
        bank, value = self.parser.number(args[:1])[0], self.parser.number(args[2:])[0]
        if not (0 <= bank <= 3 and 0 <= value <= 255):
            self.counts.oddities += 1
            return b""
        for bit in range(8):
            self.outputs.set_level(8 * bank + bit, Level.HIGH if value >> bit & 1 else Level.LOW)
        return b""

    def _tell_moving(self, args: Sequence[str], time_s: float) -> bytes:
        return b"+" if time_s < self._busy_until_s else b"."

    def _tell_pulse(self, args: Sequence[str], time_s: float) -> bytes:
        channel = self.outputs.channel(self.parser.number(args[1:])[0])
        if channel is None:
            return b""
        if not channel.touched and self.settings.untouched is not Untouched.ZERO:
            return bytes((self._untouched(),))
        width = channel.width if channel.level is Level.PULSE else 0.0
        if width and self._shows_offset:
            width = min(max(width + channel.offset, LOWEST_US), HIGHEST_US)
        return bytes((min(self.settings.rounding.of(round(width) / 10), 255),))

    def _untouched(self) -> int:
        if self.settings.untouched is Untouched.GARBAGE:
            # Goes through all bytes, each once in 256 times.
            self._garbage = (73 * self._garbage + 41) % 256
            return self._garbage
        return MIDDLE

    def _tell_version(self, args: Sequence[str], time_s: float) -> bytes:
        return self.version.encode("ascii") + b"\r"

    def _tell_level(self, args: Sequence[str], time_s: float) -> bytes:
        high = self.inputs[args[0][0]].read(time_s, latch=args[0].endswith("L"))
        return b"1" if high else b"0"

    def _tell_voltage(self, args: Sequence[str], time_s: float) -> bytes:
        return bytes((self.inputs[args[0][1]].read_voltage(),))

    def run_to(self, time_s: float) -> float | None:
        """Let frames happen up to `time_s`, and states of the sequencer in between; see `Outputs.run_to`."""
        while (due_s := self.sequencer.due_s) <= time_s:
            sagged_s = self.outputs.run_to(due_s)
            if sagged_s is not None:
                return sagged_s
            self.sequencer.advance(due_s)
        return self.outputs.run_to(time_s)

    def _stop(self, args: Sequence[str], time_s: float) -> bytes:
        if self.settings.bare_stop and len(args) == 1:
            for channel in self.outputs.channels:
                self.outputs.stop(channel)
        elif found := self.outputs.channel(self.parser.number(args[1:])[0]):
            self.outputs.stop(found)
        return b""

    def _register(self, args: Sequence[str], time_s: float) -> bytes:
        number = self.parser.number(args[1:2])[0]
        if not 0 <= number < FIRST_WIDTHS.stop or len(args) not in (2, 4):
            raise BadLineError
        if len(args) == 2:
            return self._tell_register(number)
        if args[2] != "=":
            raise BadLineError
        value = self.parser.number(args[3:])[0]
        if number in OFFSETS:
            value = self.outputs.clip_offset(value)
        elif number <= TRANSMIT_PACING or number in FIRST_WIDTHS or (number == BAUD and self.stored_baud is not None):
            value = self.parser.sixteen_bits(value)
        else:
            self.counts.oddities += 1
            return b""
        self.eeprom.write(number, value, time_s)
        return b""

    def _tell_register(self, number: int) -> bytes:
        if self.eeprom.names(number) or self.settings.reserved is Reserved.ZERO:
            return b"%d\r" % self.eeprom.register(number)
        return b"65535\r" if self.settings.reserved is Reserved.ERASED else b""

    def _restore_defaults(self, args: Sequence[str], time_s: float) -> bytes:
        self.eeprom.restore_defaults(time_s)
        return b"OK\r"

    def _tell_startup(self, args: Sequence[str], time_s: float) -> bytes:
        return f'"{self.eeprom.startup}"\r'.encode("latin-1")

    def _append_startup(self, args: Sequence[str], time_s: float) -> bytes:
        if len(args) != 2:
            # Only at the head of a line is the rest of it kept as it was sent.
            raise BadLineError
        self.eeprom.append_startup(args[1], time_s)
        return b""

    def _delete_startup(self, args: Sequence[str], time_s: float) -> bytes:
        count = self.parser.number(args[1:])[0]
        if count < 0:
            raise BadLineError
        self.eeprom.cut_startup(count, time_s)
        return b""

    def _sequence(self, args: Sequence[str], time_s: float) -> bytes:
        if args[0] == "XQ":
            return bytes((self.sequencer.told(time_s),))
        if args[0] == "XSTOP":
            self.sequencer.stop(time_s)
        elif not self.sequencer.set(args[0], self.parser.number(args[1:])[0], time_s):
            self.counts.oddities += 1
        return b""

    def _play(self, args: Sequence[str], time_s: float) -> bytes:
        return b"\xff\x00\x00\x00" if args[0] == "QPL" else b""

    def _external_eeprom(self, args: Sequence[str], time_s: float) -> bytes:
        self.counts.oddities += 1
        return b""
