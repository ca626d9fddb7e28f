"""The one way to the arm: every command gets its number here, leaves through the driver, and moves the shadow too."""

from __future__ import annotations

import msgspec

from hil.errors import HilError, LinkOverrun
from hil.link import ArmLink, TableLink
from hil.model.rig import Rig
from hil.runtime.brake import Brake
from hil.runtime.line_health import LINE_ERRORS, explained
from hil.runtime.mode_log import ModeLog
from hil.runtime.shadow import Shadow
from hil.runtime.trail import Trail
from hil.types import Command, JointCommand, LimitHit, Mode

OVERRUNS_TO_FAULT = 3


class TickOutput(msgspec.Struct):
    """What one tick sends, for its record."""

    now_s: float
    sample: int | None = None
    wanted: Command | None = None
    sent: Command | None = None
    hits: tuple[LimitHit, ...] = ()


class Outlet:
    """Sends commands, and faults where the link or the line does not take them.

    Args:
        rig: the resolved rig.
        link: the arm behind its driver.
        shadow: the simulated arm.
        log: mode and words.
        trail: is told when the arm will be still again.
        brake: for faults.
    """

    def __init__(
        self,
        rig: Rig,
        link: ArmLink,
        shadow: Shadow,
        log: ModeLog,
        trail: Trail,
        brake: Brake,
    ) -> None:
        self._link, self._shadow = link, shadow
        self._rows = link if isinstance(link, TableLink) else None
        self._log, self._trail, self._brake = log, trail, brake
        self._settle_s = rig.controller.settle_s
        self._look_ahead_ticks = rig.look_ahead_s / rig.period_s
        self._seq = 0
        self._overruns = 0

    def next_seq(self) -> int:
        """The number of the next command."""
        self._seq += 1
        return self._seq

    def send(self, tick: TickOutput, command: Command) -> Command | None:
        """Send one.

        Returns:
            What the controller will really see; None if nothing was sent.
        """
        try:
            sent = self._link.write(command, tick.now_s)
        except LINE_ERRORS as error:
            self._not_sent(tick.now_s, error)
            return None
        self._note(tick, sent, sent.due_s if isinstance(sent, JointCommand) else tick.now_s)
        return sent

    def send_row(self, tick: TickOutput, command: JointCommand, row: int) -> JointCommand | None:
        """The same by its row of the certified table, which is read back behind this."""
        assert self._rows is not None
        try:
            sent = self._rows.write_row(row, command, tick.now_s)
        except LINE_ERRORS as error:
            self._not_sent(tick.now_s, error)
            return None
        self._note(tick, sent, sent.due_s)
        return sent

    def _note(self, tick: TickOutput, sent: Command, arrives_s: float) -> None:
        self._overruns = 0
        self._shadow.write(sent, tick.now_s)
        self._trail.still_s = arrives_s + self._settle_s
        tick.sent = sent

    def _not_sent(self, now_s: float, error: HilError) -> None:
        """A motion waits while the controller has something to do; a stop that has to wait soon becomes a freeze."""
        if not isinstance(error, LinkOverrun):
            self._brake.fault(now_s, explained(error))
            return
        if not self._overruns:
            self._log.say(str(error))
        self._overruns += 1
        share = 0.25 if self._log.mode is Mode.STOPPING else 1.0
        if self._overruns >= max(OVERRUNS_TO_FAULT, round(share * self._look_ahead_ticks)):
            self._brake.fault(now_s, f"{self._overruns} commands in a row did not fit on the line: {error}")
