"""The line to the controller in a session: opened, however long that takes, read in every tick, judged, opened anew."""

from __future__ import annotations

from hil.errors import ControllerError
from hil.identity import Acquaintance
from hil.link import ArmLink
from hil.model.rig import Rig
from hil.runtime.line_health import LINE_ERRORS, Level, LineHealth
from hil.runtime.mode_log import ModeLog
from hil.runtime.reports import AgreedReport
from hil.runtime.slow_port import SlowPort
from hil.types import ControllerIdentity, LineAccount, LinkPhase, LinkState, Mode

_SHUT = (Mode.DISCONNECTED, Mode.FAULT, Mode.ESTOP)
"""In these a line that was lost is not asked for."""


class Connection:
    """What is known of the controller, and of the line to it.

    Args:
        rig: the resolved rig.
        link: the arm behind its driver.
        acquaintance: who has to answer.
        log: is told what people should know.
        signs: what the way in which bytes come shows of the line is told; not in a session that did not do so.

    Attributes:
        state: the newest from the link.
        reports: which of its reports counts.
        health: how the line is.
        met: who was taken for the right one; the tick's record takes it.
    """

    def __init__(
        self, rig: Rig, link: ArmLink, acquaintance: Acquaintance, log: ModeLog, *, signs: bool = True
    ) -> None:
        self._signs = signs
        self._axes = len(rig.axes)
        self._link, self._acquaintance, self._log = link, acquaintance, log
        self._opening = SlowPort()
        self._long_silent = False
        self.reports = AgreedReport(tuple(rig.controller.report_quantum().tolist()))
        self.health = LineHealth(rig)
        self.met: ControllerIdentity | None = None
        self.state = self._nothing_known()

    @property
    def opening(self) -> bool:
        """The port is still being opened, and has to be asked for again."""
        return self._opening.pending

    @property
    def ready(self) -> bool:
        """The controller answers, and was taken for the right one."""
        return self.state.phase is LinkPhase.READY

    @property
    def doubtful(self) -> bool:
        """Behind an adapter a board can be exchanged without the port closing: who was silent is asked who it is."""
        return self._long_silent or not self.ready

    def open(self, now_s: float) -> None:
        """Begin to connect, or go on with it while the port is still being opened.

        Raises:
            HilError: it cannot be opened.
        """
        if words := self._opening.attempt(self._link, now_s):
            self._log.say(words)

    def forget(self) -> None:
        """Let go of the line, and of what it said."""
        self.state, self._long_silent = self._nothing_known(), False
        self._link.close()

    def read(self, now_s: float) -> bool:
        """Take what the link knows now; False if the line is closed and shall be.

        Raises:
            CommandError, LinkError, ControllerError: line or controller is at fault; nothing is known of it any more.
        """
        before = self.state.phase
        if before is LinkPhase.CLOSED and (self.opening or self._log.mode in _SHUT):
            return False
        try:
            state = self.state = self._link.read(now_s)
            if before is not LinkPhase.READY and state.phase is LinkPhase.READY:
                self._meet(state)
        except LINE_ERRORS:
            self.state = self._nothing_known(self.state.line)
            raise
        if state.notices:
            self._log.say_all(state.notices)
        self.reports.take(state.joints)
        return True

    def judge(self, now_s: float) -> str:
        """Judge the line by its account; words if there is something new to say of it."""
        health = self.health
        if self.state.phase is LinkPhase.CLOSED:
            health.forget()
            return ""
        health.sign = self.state.sign if self._signs else None
        news = health.look(self.state.line, now_s)
        if health.level is Level.FAULT:
            self._long_silent = True
        return news

    def _nothing_known(self, line: LineAccount | None = None) -> LinkState:
        line = line or LineAccount()
        return LinkState(phase=LinkPhase.CLOSED, joints=None, known=(False,) * self._axes, line=line)

    def _meet(self, state: LinkState) -> None:
        """Somebody answers at a new connection: the right one, or nothing that moves is sent to it."""
        controller = state.controller or ControllerIdentity.named(state.identity)
        try:
            self._acquaintance.meet(controller)
        except ControllerError:
            self._link.close()
            raise
        self.met = controller
