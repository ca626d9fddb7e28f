"""Lynxmotion SSC-32 and SSC-32U: an `ArmLink` that streams timed group moves and listens to the board's echo.

The board never acknowledges a move and cannot tell where a servo is; it only repeats the pulse that it makes.
So every reported position is ECHOED, an axis counts as known only after it was energised by a plain move, and
restarts and damaged lines show by channels that do not read as they were sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum

from drivers._ssc32_adoption import Adoption
from drivers._ssc32_codec import (
    CANCEL,
    Firmware,
    encode_move,
    encode_stop,
)
from drivers._ssc32_echo import Echo
from drivers._ssc32_hello import Hello, ask
from drivers._ssc32_identity import (
    FIRST_OFFSET,
    IdentityReader,
    adds_offsets,
    power_up_notices,
    why_no_motion,
)
from drivers._ssc32_line import Line, Reading
from drivers._ssc32_settings import FRAME_S, ControllerTable, Ssc32Axis, Ssc32Settings, settings_from_table
from drivers._ssc32_table import time_of
from hil.errors import (
    CommandError,
    ControllerError,
    HilError,
    LinkClosed,
    LinkError,
    LinkOverrun,
    LinkTimeout,
)
from hil.identity import Acquaintance
from hil.link import ArmLink, BytePort, FloatArray, MotionBounds
from hil.types import (
    Command,
    ControllerIdentity,
    EnergiseCommand,
    JointCommand,
    JointState,
    LineAccount,
    LinkPhase,
    LinkState,
    StateSource,
)
from hil.wire_table import WireTable

__all__ = ["ControllerTable", "Ssc32Axis", "Ssc32Driver", "Ssc32Settings", "ask", "build", "settings_from_table"]

GIVE_UP = 3


def build(settings: Ssc32Settings, open_port: Callable[[], BytePort]) -> ArmLink:
    """The link that a rig with `settings` gets."""
    return Ssc32Driver(settings, open_port)


class _Stage(Enum):
    CLOSED = "closed"
    GREETING = "asking who is there"
    IDENTIFYING = "reading its registers"
    ADOPTING = "reading what is driven"
    READY = "ready"


class Ssc32Driver:
    """The `ArmLink` of one SSC-32.

    Args:
        settings: line, channels and calibration.
        open_port: opens the line; called once per `open`.
        others: channels on which a servo may be, beside those of the settings.
    """

    def __init__(
        self, settings: Ssc32Settings, open_port: Callable[[], BytePort], others: Collection[int] = ()
    ) -> None:
        self._settings, self._others = settings, others
        self._open_port = open_port
        self._name = settings.port_url
        longest = encode_move({axis.channel: axis.upper_us for axis in settings.axes}, 65535)
        self._move_s = settings.wire_s(len(longest))
        self._steps: dict[_Stage, Callable[[Line, bytes, float], None]] = {
            _Stage.GREETING: self._greet,
            _Stage.IDENTIFYING: self._identify,
            _Stage.ADOPTING: self._adopt,
            _Stage.READY: self._watch,
        }
        self._line: Line | None = None
        self._bounds: MotionBounds | None = None
        self._carried: tuple[WireTable, FloatArray] | None = None
        self._acquaintance = Acquaintance(self._name)
        self._forget()

    def _forget(self) -> None:
        """Whatever was known of a board counts for one connection only."""
        count = len(self._settings.axes)
        self._stage = _Stage.CLOSED
        self._firmware: Firmware | None = None
        self._known = [False] * count
        self._echo = Echo(self._settings, self._name)
        self._believed_s: float | None = None
        self._joints: JointState | None = None
        self._seq: int | None = None
        self._notices: list[str] = []
        self._failure: LinkError | None = None
        self._trouble: ControllerError | None = None
        self._controller: ControllerIdentity | None = None

    def expect(self, controller: ControllerIdentity | None, remedy: str) -> None:
        """Refuse every other board at the handshake, before the canary gets its pulse."""
        self._acquaintance.expect(controller, remedy)

    def bound(self, bounds: MotionBounds) -> None:
        """From the next `open` on hold what leaves against the arm's limits, too."""
        self._bounds = bounds

    def open(self, now_s: float) -> None:
        """Open the line afresh and drop any half line that waits in the board; `read` does the rest.

        Raises:
            LinkError: the port cannot be opened, or does not take a byte.
        """
        self.close()
        self._forget()
        self._line = Line(self._settings, self._open_port())
        if self._bounds is not None:
            self._line.gate.bound(self._bounds)
        self._certify()
        self._stage = _Stage.GREETING
        try:
            self._hello = Hello(self._line, self._name, now_s)
        except LinkError:
            self.close()
            raise

    def read(self, now_s: float) -> LinkState:
        """Drain the line, move handshake or query along, and tell what is known.

        A reported position carries the time at which its query reached the board.

        Raises:
            LinkTimeout: nobody answers at any usual rate, or the board fell silent during the handshake.
            LinkError: the board answers at another rate than the rig's; or the line failed.
            ControllerError: something else answers, another board than at first, or one that moves its servos by itself
                at power-up; or the board has restarted, stood still, or does not take what it is sent.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if self._line is not None:
            try:
                # Nearly always, and so without a look into a table.
                step = self._watch if self._stage is _Stage.READY else self._steps[self._stage]
                step(self._line, self._line.receive(now_s), now_s)
                if self._stage is _Stage.READY or self._stage is _Stage.ADOPTING:
                    self._ask_on(self._line, now_s)
            except LinkClosed:
                self.close()
                raise
        return self._state()

    def write(self, command: Command, now_s: float) -> Command:
        """Send one command in one line and return it as the board will see it.

        Raises:
            CommandError: out of range, out of order, or an axis was not energised; nothing was sent.
            ControllerError: there was such trouble since `open`; nothing was sent.
            LinkOverrun: the line is still busy with more than one earlier move; nothing was sent.
            LinkError: not connected, or the line failed.
        """
        line = self._ready_line()
        self._need_risen(command)
        try:
            if isinstance(command, EnergiseCommand):
                sent: Command = self._energise(line, command, now_s)
            else:
                sent = self._move(line, command, now_s)
        except LinkClosed:
            self.close()
            raise
        self._seq = command.seq
        return sent

    def let_go(self, axis: int, now_s: float) -> bool:
        """Switch one axis off, whoever drives it; it may be driven anew by a first move alone.

        Returns:
            Whether the board's answers show it; not where it answers for a channel without a pulse as it likes.

        Raises:
            CommandError: there is no such axis; nothing was sent.
            ControllerError: there was trouble since `open`; nothing was sent.
            LinkError: not connected, or the line failed.
        """
        line = self._ready_line()
        try:
            line.release(self._settings.axes[self._axis(axis)].channel, now_s)
        except LinkClosed:
            self.close()
            raise
        self._echo.released(axis)
        self._known[axis] = False
        return self._adoption.trusted

    def carry(self, table: WireTable, samples: FloatArray) -> None:
        """Take what the wire carries for the motion that is loaded; nothing is sent."""
        self._carried = table, samples
        self._certify()

    def begin_rows(self) -> None:
        """The motion begins: the next row is its first."""
        if self._line is not None:
            self._line.gate.begin()

    def write_row(self, row: int, command: JointCommand, now_s: float) -> JointCommand:
        """Send the line of one sample as it was certified; errors as for `write`."""
        # Each is asked by itself only if it has to say no: this runs in every tick.
        line = self._line
        if line is None or self._trouble is not None or self._stage is not _Stage.READY:
            line = self._ready_line()
        if self._seq is not None and command.seq <= self._seq:
            self._need_risen(command)
        if self._carried is None:
            raise CommandError(f"sample {row} of a motion of which no table is there", value=row)
        table, time_ms = self._carried[0], time_of(command.due_s - now_s)
        if not all(self._known):
            self._need_driven()
        if line.free_s - now_s > self._move_s:
            self._need_room(line, now_s)
        data = table.line(row)
        if time_ms != table.time_ms:
            # A look-ahead of half a millisecond is rounded now this way, now that.
            channels = (axis.channel for axis in self._settings.axes)
            data = encode_move(dict(zip(channels, table.native(row), strict=True)), time_ms)
        try:
            pulses_us = line.send_row(data, row, now_s)
        except LinkClosed:
            self.close()
            raise
        self._echo.move(pulses_us, line.free_s, time_ms / 1000.0)
        self._seq = command.seq
        return JointCommand(seq=command.seq, due_s=command.due_s, positions=table.positions(row))

    def _certify(self) -> None:
        """Every connection has a gate of its own."""
        if self._line is not None and self._carried is not None:
            self._line.gate.certify(self._carried[1])

    def stop(self, now_s: float) -> None:
        """Freeze every channel where the board has it; the servos keep their power.

        Goes out at once, whatever is still queued; twice where commands arrive damaged. Firmware 1.x has no such
        command: there every axis whose pulse is still on its way is sent to the width that our own account says it
        has, unless the board may have restarted, which ends its moves too. Never raises: a line that fails here is
        reported by the next `read`.
        """
        line, firmware = self._line, self._firmware
        if line is None or firmware is None:
            return
        arrives_s = max(now_s, line.free_s)
        frozen_us = [round(channel.width_us(arrives_s)) for channel in self._echo.channels]
        if firmware.has_stop:
            axes = self._settings.axes
            first = encode_stop(axes[index].channel for index in self._echo.damaged)
            data = first + encode_stop(axis.channel for axis in axes) * (2 if first else 1)
        elif self._trouble is not None or line.overdue_s is not None:
            # A limp servo would go at full speed; what a board that lives has still to do is the look-ahead.
            data = b""
        else:
            data = self._freeze(frozen_us, arrives_s)
            if data:
                self._notices.append(
                    f"{firmware.text} has no STOP command: the moving axes were sent to the pulse that they "
                    "should have now, and can twitch by a few microseconds"
                )
        try:
            if data:
                # Half a move may wait in the board if bytes were lost: it must not be ended by our CR.
                line.send(CANCEL + data, now_s)
        except LinkError as error:
            self._failure = error
            if isinstance(error, LinkClosed):
                self.close()
            return
        self._echo.frozen(frozen_us)

    def close(self) -> None:
        """Let go of the line. The arm stays as it is, and nothing of it counts as known any more."""
        if self._line is not None:
            self._line.close()
        self._line = None
        self._stage = _Stage.CLOSED
        self._known = [False] * len(self._known)
        self._joints = None

    def _state(self) -> LinkState:
        phase = LinkPhase.OPENING
        if self._stage is _Stage.READY:
            phase = LinkPhase.READY
        elif self._stage is _Stage.CLOSED:
            phase = LinkPhase.CLOSED
        notices: tuple[str, ...] = ()
        if self._notices:
            notices, self._notices = tuple(self._notices), []
        return LinkState(
            phase=phase,
            joints=self._joints,
            known=tuple(self._known),
            notices=notices,
            identity=self._firmware.text if phase is LinkPhase.READY and self._firmware is not None else "",
            controller=self._controller if phase is LinkPhase.READY else None,
            line=self._account(),
            tells=phase is not LinkPhase.READY or self._adoption.trusted,
            drives_unseen=phase is LinkPhase.READY and self._adoption.kept and not self._adoption.trusted,
        )

    def _account(self) -> LineAccount:
        if self._line is None:
            return LineAccount()
        echo = self._echo
        return self._line.account(self._believed_s, echo.wrong, echo.doubtful_s, echo.delayed_s)

    def _fail(self, error: HilError) -> HilError:
        """After a failed handshake nothing is sent any more."""
        self.close()
        return error

    # --- commands -------------------------------------------------------------------------------------------

    def _ready_line(self) -> Line:
        if self._line is None:
            raise LinkClosed(f"{self._name}: not connected", self._name)
        if self._trouble is not None:
            raise self._trouble
        if self._stage is not _Stage.READY:
            raise LinkError(f"{self._name}: still connecting ({self._stage.value})", self._name)
        return self._line

    def _need_risen(self, command: Command) -> None:
        if self._seq is not None and command.seq <= self._seq:
            raise CommandError(
                f"command {command.seq} comes after command {self._seq}; numbers must rise",
                value=command.seq,
                allowed=f"more than {self._seq}",
            )

    def _need_driven(self) -> None:
        if not all(self._known):
            axes = self._settings.axes
            limp = ", ".join(axis.name for axis, known in zip(axes, self._known, strict=True) if not known)
            raise CommandError(f"not energised: {limp}; a timed move would jump there at full speed", axis=limp)

    def _need_room(self, line: Line, now_s: float) -> None:
        busy_s = line.free_s - now_s
        if busy_s > self._move_s:
            raise LinkOverrun(
                f"{self._name}: the line needs another {busy_s * 1000:.1f} ms for what was sent before; "
                f"allowed: one move in flight, {self._move_s * 1000:.1f} ms at {line.rate} baud",
                self._name,
            )

    def _energise(self, line: Line, command: EnergiseCommand, now_s: float) -> EnergiseCommand:
        axis = self._axis(command.axis)
        pulse_us = self._settings.pulse_us(axis, command.position)
        self._send_move(line, {self._settings.axes[axis].channel: pulse_us}, None, now_s)
        self._echo.drive(axis, pulse_us, line.free_s)
        self._known[axis] = True
        return EnergiseCommand(seq=command.seq, axis=axis, position=self._settings.position(axis, pulse_us))

    def _axis(self, axis: int) -> int:
        count = len(self._settings.axes)
        if not 0 <= axis < count:
            raise CommandError(
                f"there is no axis {axis}; allowed: 0..{count - 1}", value=axis, allowed=f"0..{count - 1}"
            )
        return axis

    def _move(self, line: Line, command: JointCommand, now_s: float) -> JointCommand:
        axes = self._settings.axes
        if len(command.positions) != len(axes):
            raise CommandError(
                f"{len(command.positions)} positions given; allowed: {len(axes)}",
                value=command.positions,
                allowed=f"{len(axes)} positions",
            )
        self._need_driven()
        pulses = self._settings.pulses_us(command.positions)
        time_ms = time_of(command.due_s - now_s)
        targets = {axis.channel: pulse_us for axis, pulse_us in zip(axes, pulses, strict=True)}
        self._send_move(line, targets, time_ms, now_s)
        self._echo.move(pulses, line.free_s, time_ms / 1000.0)
        pairs = zip(self._settings.maps, pulses, strict=True)
        positions = tuple([each.inverse(pulse_us) for each, pulse_us in pairs])
        return JointCommand(seq=command.seq, due_s=command.due_s, positions=positions)

    def _send_move(self, line: Line, pulses_us: dict[int, int], time_ms: int | None, now_s: float) -> None:
        data = encode_move(pulses_us, time_ms)
        self._need_room(line, now_s)
        line.send(data, now_s)

    def _freeze(self, frozen_us: list[int], at_s: float) -> bytes:
        """A plain move of the moving axes to where they should be; empty if there are none.

        An axis at rest is left alone: on a board that has restarted, a move would drive the limp servo at full speed.
        """
        pulses_us = {
            axis.channel: pulse_us
            for axis, pulse_us, channel in zip(self._settings.axes, frozen_us, self._echo.channels, strict=True)
            if channel.moving(at_s)
        }
        return encode_move(pulses_us) if pulses_us else b""

    # --- handshake: nothing here can move the arm -----------------------------------------------------------

    def _greet(self, line: Line, data: bytes, now_s: float) -> None:
        try:
            self._firmware = self._hello.step(data, now_s)
        except HilError as error:
            raise self._fail(error) from None
        if self._firmware is None:
            return
        self._echo.learns = not self._firmware.has_registers
        self._stage = _Stage.IDENTIFYING
        self._reader = IdentityReader(line, self._settings, self._firmware, self._acquaintance.expected)
        self._identify(line, b"", now_s)

    def _identify(self, line: Line, data: bytes, now_s: float) -> None:
        board = self._reader.step(data, now_s)
        if board is None:
            return
        assert self._firmware is not None
        # Not met yet: once it is set right it must not count as another board.
        if words := why_no_motion(board, self._firmware, line.rate):
            raise self._fail(ControllerError(f"{self._name}: {words}"))
        try:
            self._acquaintance.meet(board.facts)
        except ControllerError as error:
            raise self._fail(error) from None
        self._notices += power_up_notices(board, self._firmware)
        self._controller = board.facts
        # Whether a board repeats a pulse with the offset that it adds is said to differ by firmware.
        if adds_offsets(board):
            offsets = (board.register(FIRST_OFFSET + axis.channel) or 0 for axis in self._settings.axes)
            self._echo.learns, self._echo.offsets_us = True, tuple(offsets)
        self._stage = _Stage.ADOPTING
        self._adoption = Adoption(line, self._settings, board, self._name, self._others)

    def _adopt(self, line: Line, data: bytes, now_s: float) -> None:
        """Show what is driven already, as an echo only: an axis stays unknown until it is energised."""
        reading = self._first_reading(line, data, now_s)
        if reading is None:
            return
        try:
            if not self._adoption.step(reading, now_s):
                return
        except ControllerError as error:
            raise self._fail(error) from None
        self._notices += self._adoption.notices
        self._echo.canary_us = line.canary_us
        self._believe(reading)
        self._stage = _Stage.READY
        line.steady = True
        line.hold_queries(now_s + FRAME_S / 2)

    def _first_reading(self, line: Line, data: bytes, now_s: float) -> Reading | None:
        """The next sure report; a board that identified itself and then does not answer ends the handshake."""
        reading = self._poll(line, data, now_s)
        if reading is not None and reading.sure:
            return reading
        patience_s = GIVE_UP * self._settings.reply_timeout_s
        if line.overdue_s is not None and now_s - line.overdue_s > patience_s:
            raise self._fail(
                LinkTimeout(
                    f"{self._name}: the board answered VER, but for {patience_s:.1f} s no query after it had a valid "
                    "answer; check cable and receive line for noise, or raise controller.reply_timeout_ms if the "
                    "adapter or the way there is slow",
                    self._name,
                )
            )
        return None

    # --- echo -----------------------------------------------------------------------------------------------

    def _poll(self, line: Line, data: bytes, now_s: float) -> Reading | None:
        assert self._firmware is not None
        return line.poll(data, now_s, self._firmware.raw)

    def _ask_on(self, line: Line, now_s: float) -> None:
        """Nothing is asked any more once there is trouble, or the line was let go of."""
        if self._line is line and self._trouble is None:
            assert self._firmware is not None
            if line.counted is not None and self._stage is _Stage.READY:
                line.counted = self._counted(now_s)
            line.go_on(now_s, self._firmware.raw)

    def _counted(self, now_s: float) -> tuple[int, ...] | None:
        """Where a board tells anything of what it does not drive: the places in its answers that mean something."""
        axes = range(len(self._settings.axes))
        driven = tuple(i for i in axes if self._echo.channels[i].driven_by(now_s))
        return None if len(driven) == len(axes) else (*driven, *range(len(axes), len(self._settings.channels)))

    def _believe(self, reading: Reading) -> None:
        trusted, channels = self._adoption.trusted, self._echo.channels
        # An offset that is stored was there when the arm was calibrated; of another nobody knows what it does.
        stored = bool(self._echo.offsets_us)
        # The canary is asked behind the axes and has no map.
        pairs = zip(self._settings.maps, reading.pulses_us, channels, strict=False)
        positions = tuple(
            [
                each.inverse(pulse_us - (channel.trim_us or 0) * stored)
                if pulse_us and (trusted or channel.driven_by(reading.asked_s))
                else None
                for each, pulse_us, channel in pairs
            ]
        )
        self._joints = JointState(t_s=reading.asked_s, positions=positions, source=StateSource.ECHOED)
        self._believed_s = reading.asked_s

    def _watch(self, line: Line, data: bytes, now_s: float) -> None:
        """Hold every report against what was sent."""
        if self._trouble is not None:
            return
        assert self._firmware is not None
        reading = line.poll(data, now_s, self._firmware.raw)
        try:
            if reading is None:
                if line.overdue_s is not None:
                    self._echo.unanswered()
            elif not reading.sure:
                fits = self._echo.take(reading, now_s)
                if not fits and (reading.newest or self._echo.strays(reading)):
                    line.ask_again(now_s)
                elif fits:
                    # Also an older answer shows that the board is there and as it was left.
                    line.overdue_s = None
            elif self._echo.doubtful_s is None:
                self._believe(reading)
                if self._echo.learns and (words := self._echo.learn(reading)):
                    self._notices.append(words)
        except ControllerError as error:
            self._known = [False] * len(self._known)
            self._trouble = error
            raise
