"""What an SSC-32 is sent that moves an arm or stops it: first moves, timed moves of all axes, a freeze, a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from drivers._command_checks import CommandOrder, check_axis, check_count
from drivers._ssc32_codec import CANCEL, Firmware, encode_move, encode_stop
from drivers._ssc32_echo import Echo
from drivers._ssc32_line import Ssc32Line
from drivers._ssc32_settings import Ssc32Settings
from drivers._ssc32_table import time_of
from hil.errors import CommandError, LinkOverrun
from hil.link import FloatArray
from hil.types import Command, EnergiseCommand, JointCommand
from hil.wire_table import WireTable


class Moves:
    """Writes at once, and tells the account of the pulses what has left. No axis is known at first.

    Args:
        settings: the axes and their calibration.
        line: on which is written.
        echo: the account.
        say: takes words for the user.

    Attributes:
        line: as given.
        known: per axis, whether it was driven by a plain move.
    """

    def __init__(self, settings: Ssc32Settings, line: Ssc32Line, echo: Echo, say: Callable[[str], None]) -> None:
        self.line = line
        self.known = [False] * len(settings.axes)
        self._settings, self._echo, self._say = settings, echo, say
        longest = encode_move({axis.channel: axis.upper_us for axis in settings.axes}, 65535)
        self._move_s = settings.wire_s(len(longest))
        self._order = CommandOrder()
        self._table: WireTable | None = None

    def carry(self, table: WireTable, samples: FloatArray) -> None:
        """Rows are of this table from now on."""
        self._table = table
        self.line.gate.certify(samples)

    def take(self, command: Command, now_s: float) -> Command:
        """Send one command in one line; gives it as the board will see it.

        Raises:
            CommandError: out of range, out of order, or an axis was not energised; nothing was sent.
            LinkOverrun: the line is still busy with more than one earlier move; nothing was sent.
            LinkClosed: the port is gone.
        """
        self._order.check(command)
        sent = self._energise(command, now_s) if isinstance(command, EnergiseCommand) else self._move(command, now_s)
        self._order.last = command.seq
        return sent

    def take_row(self, row: int, command: JointCommand, now_s: float) -> JointCommand:
        """Send the line of one sample as it was certified; errors as for `take`."""
        # Each is asked by itself only if it has to say no: this runs in every tick.
        line, order, table = self.line, self._order, self._table
        if order.last is not None and command.seq <= order.last:
            order.check(command)
        if table is None:
            raise CommandError(f"sample {row} of a motion of which no table is there", value=row)
        time_ms = time_of(command.due_s - now_s)
        if not all(self.known):
            self._need_driven()
        if line.free_s - now_s > self._move_s:
            self._need_room(now_s)
        data = table.line(row)
        if time_ms != table.time_ms:
            # A look-ahead of half a millisecond is rounded now this way, now that.
            channels = (axis.channel for axis in self._settings.axes)
            data = encode_move(dict(zip(channels, table.native(row), strict=True)), time_ms)
        pulses_us = line.send_row(data, row, now_s)
        self._echo.move(pulses_us, line.free_s, time_ms / 1000.0)
        order.last = command.seq
        return JointCommand(seq=command.seq, due_s=command.due_s, positions=table.positions(row))

    def drive(self, axis: int, pulse_us: int, now_s: float) -> None:
        """The first move of an axis, plain and alone; errors as for `take`."""
        self.send({self._settings.axes[axis].channel: pulse_us}, None, now_s)
        self._echo.drive(axis, pulse_us, self.line.free_s)
        self.known[axis] = True

    def send(self, pulses_us: Mapping[int, int], time_ms: int | None, now_s: float) -> None:
        """One group move, by channel; the account is the caller's. Errors as for `take`."""
        data = encode_move(pulses_us, time_ms)
        self._need_room(now_s)
        self.line.send(data, now_s)

    def release(self, axis: int, now_s: float) -> None:
        """Switch one axis off, whoever drives it; errors as for `take`."""
        check_axis(axis, len(self.known))
        self.line.release(self._settings.axes[axis].channel, now_s)
        self._echo.released(axis)
        self.known[axis] = False

    def freeze(self, firmware: Firmware, now_s: float, *, alive: bool) -> None:
        """Hold every channel where the board has it, at once, whatever is still queued.

        Args:
            firmware: without a STOP, every axis whose pulse is on its way is sent to where it should be by now.
            now_s: time of the stop.
            alive: the board has not restarted, as far as is known: then such a move is no jump.

        Raises:
            LinkOverrun, LinkClosed: as `Ssc32Line.send`.
        """
        line, axes, channels = self.line, self._settings.axes, self._echo.channels
        arrives_s = max(now_s, line.free_s)
        frozen_us = [round(channel.width_us(arrives_s)) for channel in channels]
        data = b""
        if firmware.has_stop:
            # Where commands arrive damaged it is said twice.
            first = encode_stop(axes[index].channel for index in self._echo.damaged)
            data = first + encode_stop(axis.channel for axis in axes) * (2 if first else 1)
        elif alive:
            # An axis at rest is left alone: on a board that has restarted, a move would drive it at full speed.
            trios = zip(axes, frozen_us, channels, strict=True)
            moving = {axis.channel: pulse_us for axis, pulse_us, channel in trios if channel.moving(arrives_s)}
            data = encode_move(moving) if moving else b""
            if data:
                self._say(
                    f"{firmware.text} has no STOP command: the moving axes were sent to the pulse that they "
                    "should have now, and can twitch by a few microseconds"
                )
        if data:
            # Half a move may wait in the board if bytes were lost: it must not be ended by our CR.
            line.send(CANCEL + data, now_s)
        self._echo.frozen(frozen_us)

    def _energise(self, command: EnergiseCommand, now_s: float) -> EnergiseCommand:
        axis = command.axis
        check_axis(axis, len(self.known))
        pulse_us = self._settings.pulse_us(axis, command.position)
        self.drive(axis, pulse_us, now_s)
        return EnergiseCommand(seq=command.seq, axis=axis, position=self._settings.position(axis, pulse_us))

    def _move(self, command: JointCommand, now_s: float) -> JointCommand:
        settings = self._settings
        check_count(command.positions, len(settings.axes))
        self._need_driven()
        pulses_us = settings.pulses_us(command.positions)
        time_ms = time_of(command.due_s - now_s)
        channels = (axis.channel for axis in settings.axes)
        self.send(dict(zip(channels, pulses_us, strict=True)), time_ms, now_s)
        self._echo.move(pulses_us, self.line.free_s, time_ms / 1000.0)
        positions = tuple([each.inverse(pulse_us) for each, pulse_us in zip(settings.maps, pulses_us, strict=True)])
        return JointCommand(seq=command.seq, due_s=command.due_s, positions=positions)

    def _need_driven(self) -> None:
        if not all(self.known):
            axes = self._settings.axes
            limp = ", ".join(axis.name for axis, known in zip(axes, self.known, strict=True) if not known)
            raise CommandError(f"not energised: {limp}; a timed move would jump there at full speed", axis=limp)

    def _need_room(self, now_s: float) -> None:
        busy_s = self.line.free_s - now_s
        if busy_s > self._move_s:
            name = self._settings.port_url
            raise LinkOverrun(
                f"{name}: the line needs another {busy_s * 1000:.1f} ms for what was sent before; "
                f"allowed: one move in flight, {self._move_s * 1000:.1f} ms at {self.line.rate} baud",
                name,
            )
