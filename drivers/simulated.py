"""An arm without hardware: an `ArmLink` to a simulated controller, which takes every target and tells where its arm is.

Its line is our own and carries nothing but positions, so any robot can be behind it. No real port leads to one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Literal

import numpy as np

from drivers._command_checks import CommandOrder, check_axis, check_count, rows_of
from drivers._simulated_codec import MILLIONTH, MOST, Greeting, Report, framed, millionths
from drivers._simulated_line import BAUD, REPORT_PERIOD_S, SimulatedLine, wire_s
from hil.errors import CommandError, ControllerError, LineCause, LinkClosed, LinkError, LinkOverrun, LinkTimeout
from hil.findings import Findings
from hil.link import ArmLink, BytePort, FloatArray
from hil.types import (
    Command,
    ControllerIdentity,
    EnergiseCommand,
    JointCommand,
    JointState,
    LineAccount,
    LinkPhase,
    LinkState,
    Record,
    StateSource,
)

NAME = "simulated arm"
HELLO_PERIOD_S, HELLO_S = 0.2, 2.0


class SimulatedTable(Record, frozen=True):
    """The ``[controller]`` table: a simulated arm has nothing to be set."""

    kind: Literal["simulated"] = "simulated"


class SimulatedSettings(Record, frozen=True):
    """A simulated controller; a `hil.link.ControllerSettings`.

    Attributes:
        axes: names of the axes, in the order of `rig.axes`.
    """

    kind: ClassVar[str] = "simulated"

    axes: tuple[str, ...]
    port_url: str = "simulated"

    @property
    def baud(self) -> int:
        """Speed of its line."""
        return BAUD

    @property
    def framing(self) -> str:
        """Its line is the usual one."""
        return "8N1"

    @property
    def settle_s(self) -> float:
        """It acts on a line at once."""
        return 0.0

    @property
    def report_period_s(self) -> float:
        """It is asked every 20 ms."""
        return REPORT_PERIOD_S

    @property
    def pace(self) -> None:
        """It takes the target of every tick."""
        return None

    def quantise(self, positions: FloatArray) -> FloatArray:
        """Positions as whole millionths make them, shape (n,) or (N, n).

        Raises:
            CommandError: a position is not finite, or the last dimension is not the number of axes.
        """
        wanted = rows_of(positions, len(self.axes))
        rounded: FloatArray = np.rint(wanted / MILLIONTH) * MILLIONTH
        return rounded

    def quantise_pose(self, positions: Sequence[float]) -> tuple[float, ...]:
        """`quantise` for one pose of finite numbers, in plain floats."""
        return tuple([place * MILLIONTH for place in millionths(positions)])

    def quantum(self) -> FloatArray:
        """A millionth per axis, shape (n,)."""
        return np.full(len(self.axes), MILLIONTH)

    def report_quantum(self) -> FloatArray:
        """It tells as finely as it is told, shape (n,)."""
        return self.quantum()

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """What the line can carry, shape (n,) each."""
        return np.full(len(self.axes), -MOST), np.full(len(self.axes), MOST)

    def line_time_s(self) -> float:
        """The longest move, a question and its answer."""
        places = " ".join([str(-round(MOST / MILLIONTH))] * len(self.axes))
        lines = (f"MOVE 99999999 {places}", "ASK 9999999999", f"AT 9999999999 99 FFFF {places}")
        return wire_s(sum(len(framed(line)) for line in lines))


def settings_from_table(table: Mapping[str, Any], axes: tuple[tuple[str, str], ...], file: str) -> SimulatedSettings:
    """Check a rig's ``[controller]`` table and turn it into settings.

    Raises:
        ConfigError: a key is unknown: there is nothing to set.
    """
    findings = Findings(file, {"controller": table})
    findings.not_finite(table, "controller")
    findings.read(table, SimulatedTable, "controller")
    findings.stop()
    return SimulatedSettings(axes=tuple(name for name, _ in axes))


def build(settings: SimulatedSettings, open_port: Callable[[], BytePort]) -> ArmLink:
    """The link that a rig with `settings` gets."""
    return SimulatedDriver(settings, open_port)


class SimulatedDriver:
    """The `ArmLink` of one simulated controller.

    Args:
        settings: the axes.
        open_port: opens the line; called once per `open`.
    """

    def __init__(self, settings: SimulatedSettings, open_port: Callable[[], BytePort]) -> None:
        self._axes, self._name, self._open_port = settings.axes, settings.port_url, open_port
        self._line: SimulatedLine | None = None
        self._forget(0.0)

    def _forget(self, now_s: float) -> None:
        """Whatever was known of a controller counts for one connection only."""
        self._known = [False] * len(self._axes)
        self._order = CommandOrder()
        self._boots: int | None = None
        self._joints: JointState | None = None
        self._driven_s = float("-inf")
        self._opened_s = self._hello_s = now_s
        self._failure: LinkError | None = None
        self._trouble: ControllerError | None = None

    def open(self, now_s: float) -> None:
        """Open the line and ask who is there; `read` does the rest.

        Raises:
            LinkError: the port cannot be opened, or does not take a byte.
        """
        self.close()
        self._forget(now_s)
        self._line = SimulatedLine(self._open_port(), self._name, len(self._axes))
        try:
            self._line.send("HELLO", now_s)
        except LinkError:
            self.close()
            raise

    def read(self, now_s: float) -> LinkState:
        """Drain the line, ask on, and tell what is known.

        Raises:
            LinkTimeout: nobody answers.
            LinkError: the line failed.
            ControllerError: the arm behind it has another number of axes, or the controller was switched off and on.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if self._line is not None:
            try:
                self._converse(self._line, now_s)
            except (LinkClosed, LinkTimeout):
                self.close()
                raise
            except ControllerError as error:
                # Nothing but a stop leaves any more.
                self._trouble = error
                raise
        return self._state()

    def write(self, command: Command, now_s: float) -> Command:
        """Send one command in one line and return it as the controller will see it.

        Raises:
            CommandError: out of order, no such axis, or an axis was not driven; nothing was sent.
            ControllerError: there was such trouble since `open`; nothing was sent.
            LinkOverrun: the line is still busy with more than one earlier move; nothing was sent.
            LinkError: not connected, or the line failed.
        """
        if self._trouble is not None:
            raise self._trouble
        if self._line is None or self._joints is None:
            raise LinkClosed(f"{self._name}: not connected", self._name)
        self._order.check(command)
        line = self._line
        try:
            if isinstance(command, EnergiseCommand):
                sent: Command = self._first(line, command, now_s)
            else:
                sent = self._move(line, command, now_s)
        except LinkClosed:
            self.close()
            raise
        self._order.last = command.seq
        return sent

    def stop(self, now_s: float) -> None:
        """Freeze every axis where it is; a line that fails here is reported by the next `read`."""
        if self._line is None:
            return
        try:
            self._line.send("STOP", now_s)
        except LinkError as error:
            self._failure = error
            if isinstance(error, LinkClosed):
                self.close()

    def close(self) -> None:
        """Let go of the line. The arm stays as it is, and nothing of it counts as known any more."""
        if self._line is not None:
            self._line.close()
        self._line = self._joints = None
        self._known = [False] * len(self._axes)

    # -- out ---------------------------------------------------------------------------------------------

    def _first(self, line: SimulatedLine, command: EnergiseCommand, now_s: float) -> EnergiseCommand:
        check_axis(command.axis, len(self._axes))
        (place,) = millionths([command.position])
        line.send_move(f"FIRST {command.axis} {place}", now_s)
        self._known[command.axis], self._driven_s = True, line.free_s
        return EnergiseCommand(seq=command.seq, axis=command.axis, position=place * MILLIONTH)

    def _move(self, line: SimulatedLine, command: JointCommand, now_s: float) -> JointCommand:
        check_count(command.positions, len(self._axes))
        if not all(self._known):
            limp = ", ".join(name for name, known in zip(self._axes, self._known, strict=True) if not known)
            raise CommandError(f"not energised: {limp}; a timed move would jump there at full speed", axis=limp)
        places = millionths(command.positions)
        time_us = max(round((command.due_s - now_s) / MILLIONTH), 0)
        line.send_move(f"MOVE {time_us} {' '.join(map(str, places))}", now_s)
        positions = tuple([place * MILLIONTH for place in places])
        return JointCommand(seq=command.seq, due_s=command.due_s, positions=positions)

    # -- in ----------------------------------------------------------------------------------------------

    def _converse(self, line: SimulatedLine, now_s: float) -> None:
        """Take what was said; greet until somebody answers, then ask where the arm is."""
        for said in line.receive(now_s):
            if isinstance(said, Greeting):
                self._meet(said)
            elif self._trouble is None:
                self._believe(said, line.asked_s)
        if self._boots is not None:
            with suppress(LinkOverrun):
                line.ask(now_s)
        elif now_s - self._opened_s > HELLO_S:
            raise LinkTimeout(f"{self._name}: no simulated arm answers within {HELLO_S:g} s", self._name)
        elif now_s - self._hello_s >= HELLO_PERIOD_S:
            self._hello_s = now_s
            line.send("HELLO", now_s)

    def _meet(self, said: Greeting) -> None:
        if said.axes != len(self._axes):
            raise ControllerError(f"{self._name}: an arm of {said.axes} axes answers; the rig has {len(self._axes)}")
        if self._boots is None:
            self._boots = said.boots

    def _believe(self, said: Report, asked_s: float) -> None:
        if said.boots != self._boots:
            raise ControllerError(f"{self._name}: it was switched off and on", cause=LineCause.RESTARTED)
        limp = [
            name for name, known, held in zip(self._axes, self._known, said.held, strict=True) if known and not held
        ]
        if limp and asked_s > self._driven_s:
            raise ControllerError(f"{self._name}: it does not hold {', '.join(limp)}", cause=LineCause.DAMAGED)
        self._joints = JointState(t_s=asked_s, positions=said.positions, source=StateSource.SIMULATED)

    def _state(self) -> LinkState:
        line, joints, known = self._line, self._joints, tuple(self._known)
        if line is None:
            return LinkState(phase=LinkPhase.CLOSED, joints=None, known=known, line=LineAccount())
        if self._trouble is not None:
            known = (False,) * len(known)
        account = line.counts.account(None if joints is None else joints.t_s, line.overdue_s)
        if joints is None:
            return LinkState(phase=LinkPhase.OPENING, joints=None, known=known, line=account)
        return LinkState(
            phase=LinkPhase.READY,
            joints=joints,
            known=known,
            identity=NAME,
            line=account,
            controller=ControllerIdentity.named(NAME),
        )
