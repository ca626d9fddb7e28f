"""Lynxmotion SSC-32 and SSC-32U: an `ArmLink` that streams timed group moves and listens to the board's echo.

The board never acknowledges a move and cannot tell where a servo is; it only repeats the pulse that it makes.
So every reported position is ECHOED, an axis counts as known only after it was energised by a plain move, and
restarts and damaged lines show by channels that do not read as they were sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from drivers._ssc32_echo import Echo
from drivers._ssc32_handshake import Handshake
from drivers._ssc32_hello import ask
from drivers._ssc32_line import Ssc32Line
from drivers._ssc32_moves import Moves
from drivers._ssc32_settings import ControllerTable, Ssc32Axis, Ssc32Settings, settings_from_table
from drivers._ssc32_watch import Watch
from hil.errors import ControllerError, HilError, LinkClosed, LinkError, LinkOverrun
from hil.identity import Acquaintance
from hil.link import ArmLink, BytePort, FloatArray, MotionBounds
from hil.types import Command, ControllerIdentity, JointCommand, LineAccount, LinkPhase, LinkState
from hil.wire_table import WireTable

__all__ = ["ControllerTable", "Ssc32Axis", "Ssc32Driver", "Ssc32Settings", "ask", "build", "settings_from_table"]


def build(settings: Ssc32Settings, open_port: Callable[[], BytePort]) -> ArmLink:
    """The link that a rig with `settings` gets."""
    return Ssc32Driver(settings, open_port)


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
        self._settings, self._others, self._open_port = settings, others, open_port
        self._name = settings.port_url
        self._line: Ssc32Line | None = None
        self._bounds: MotionBounds | None = None
        self._carried: tuple[WireTable, FloatArray] | None = None
        self._acquaintance = Acquaintance(self._name)
        self._notices: list[str] = []
        self._looked_s = float("-inf")
        self._forget()

    def _forget(self) -> None:
        """Whatever was known of a board counts for one connection only."""
        self._echo = Echo(self._settings, self._name)
        self._handshake: Handshake | None = None
        self._moves: Moves | None = None
        self._watch: Watch | None = None
        self._notices.clear()
        self._failure: LinkError | None = None
        self._trouble: ControllerError | None = None

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
        line = self._line = Ssc32Line(self._settings, self._open_port())
        if self._bounds is not None:
            line.gate.bound(self._bounds)
        self._moves = Moves(self._settings, line, self._echo, self._notices.append)
        if self._carried is not None:
            self._moves.carry(*self._carried)
        try:
            self._handshake = Handshake(
                line, self._settings, self._acquaintance, self._others, now_s, self._notices.append
            )
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
        line, watch, self._looked_s = self._line, self._watch, now_s
        if line is not None:
            try:
                data = line.receive(now_s)
                if watch is None:
                    watch = self._watch = self._shake_hands(line, data, now_s)
                elif self._trouble is None:
                    watch.step(data, now_s)
                if watch is not None and self._trouble is None:
                    watch.ask_on(now_s)
            except LinkClosed:
                self.close()
                raise
            except ControllerError as error:
                # Nothing but a stop leaves any more.
                self._trouble = error
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
        moves = self._ready_moves()
        try:
            return moves.take(command, now_s)
        except LinkClosed:
            self.close()
            raise

    def let_go(self, axis: int, now_s: float) -> bool:
        """Switch one axis off, whoever drives it; it may be driven anew by a first move alone.

        Returns:
            Whether the board's answers show it; not where it answers for a channel without a pulse as it likes.

        Raises:
            CommandError: there is no such axis; nothing was sent.
            ControllerError: there was trouble since `open`; nothing was sent.
            LinkError: not connected, or the line failed.
        """
        moves = self._ready_moves()
        try:
            moves.release(axis, now_s)
        except LinkClosed:
            self.close()
            raise
        return self._watch is not None and self._watch.met.trusted

    def carry(self, table: WireTable, samples: FloatArray) -> None:
        """Take what the wire carries for the motion that is loaded; nothing is sent."""
        self._carried = table, samples
        if self._moves is not None:
            self._moves.carry(table, samples)

    def begin_rows(self) -> None:
        """The motion begins: the next row is its first."""
        if self._line is not None:
            self._line.gate.begin()

    def write_row(self, row: int, command: JointCommand, now_s: float) -> JointCommand:
        """Send the line of one sample as it was certified; errors as for `write`."""
        moves = self._ready_moves()
        try:
            return moves.take_row(row, command, now_s)
        except LinkClosed:
            self.close()
            raise

    def stop(self, now_s: float) -> None:
        """Freeze every channel where the board has it; the servos keep their power.

        Goes out at once, whatever is still queued; twice where commands arrive damaged. Firmware 1.x has no such
        command: there every axis whose pulse is still on its way is sent to the width that our own account says it
        has, unless the board may have restarted, which ends its moves too. Never raises: a line that fails here is
        reported by the next `read`.
        """
        line, moves = self._line, self._moves
        firmware = None if self._handshake is None else self._handshake.firmware
        if line is None or moves is None or firmware is None:
            return
        try:
            # A limp servo would go at full speed; what a board that lives has still to do is the look-ahead.
            moves.freeze(firmware, now_s, alive=self._trouble is None and line.overdue_s is None)
        except LinkError as error:
            self._failure = error
            if isinstance(error, LinkClosed):
                self.close()

    def close(self) -> None:
        """Let go of the line. The arm stays as it is, and nothing of it counts as known any more."""
        if self._line is not None:
            self._line.close()
        self._line = self._handshake = self._moves = self._watch = None

    def _shake_hands(self, line: Ssc32Line, data: bytes, now_s: float) -> Watch | None:
        """After a handshake that failed nothing is sent any more."""
        handshake = self._handshake
        assert handshake is not None
        try:
            met = handshake.step(data, now_s)
        except HilError as error:
            # What the port does not take of a question is asked again; a greeting begins anew.
            if handshake.firmware is None or not isinstance(error, LinkOverrun):
                self.close()
            raise
        return None if met is None else Watch(self._settings, line, self._echo, met, now_s, self._notices.append)

    def _state(self) -> LinkState:
        line, moves, watch, echo = self._line, self._moves, self._watch, self._echo
        notices = tuple(self._notices)
        self._notices.clear()
        known = (False,) * len(self._settings.axes)
        if line is None or moves is None:
            return LinkState(phase=LinkPhase.CLOSED, joints=None, known=known, notices=notices, line=LineAccount())
        if self._trouble is None:
            known = tuple(moves.known)
        if watch is None:
            account = line.counts.account(None, line.overdue_s)
            return LinkState(phase=LinkPhase.OPENING, joints=None, known=known, notices=notices, line=account)
        met = watch.met
        return LinkState(
            phase=LinkPhase.READY,
            joints=watch.joints,
            known=known,
            notices=notices,
            identity=met.firmware.text,
            controller=met.controller,
            line=line.counts.account(watch.joints.t_s, line.overdue_s, echo.wrong, echo.doubtful_s, echo.delayed_s),
            tells=met.trusted,
            sign=line.signs.sign(self._looked_s),
            drives_unseen=met.kept and not met.trusted,
        )

    def _ready_moves(self) -> Moves:
        """Raises what stands in the way of a command."""
        moves = self._moves
        if moves is None:
            raise LinkClosed(f"{self._name}: not connected", self._name)
        if self._trouble is not None:
            raise self._trouble
        if self._watch is None:
            stage = "" if self._handshake is None else self._handshake.stage
            raise LinkError(f"{self._name}: still connecting ({stage})", self._name)
        return moves
