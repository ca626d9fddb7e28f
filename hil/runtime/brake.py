"""How an arm is brought to rest: by a ramp, by itself at the end of what it was sent, or frozen at the controller."""

from __future__ import annotations

from hil.errors import ControllerError, LinkError
from hil.link import ArmLink, SwitchingLink, WaitingLink
from hil.model.rig import Rig
from hil.motion.stops import stop_ramp
from hil.runtime.farewell import SessionEnd
from hil.runtime.follow_source import Led
from hil.runtime.intent import Intent
from hil.runtime.mode_log import ModeLog
from hil.runtime.modes import Event
from hil.runtime.shadow import Shadow
from hil.runtime.sources import MotionSource, StopSource
from hil.runtime.trail import Trail
from hil.safety.guard import Guard
from hil.types import Mode

LATCHED = (Mode.FAULT, Mode.ESTOP)
"""Nothing moves in these, and nothing will before a reset."""


class Brake:
    """Stops of every kind, in any mode.

    Args:
        rig: the resolved rig.
        link: the arm behind its driver.
        shadow: the simulated arm.
        guard: the live checks.
        log: mode and words.
        intent: what the arm is about to do.
        trail: the end of what was sent.
        end: of the session.
        calls_off: a stop reaches a controller that still switches servos on; not in a session that did not do so.
    """

    def __init__(
        self,
        rig: Rig,
        link: ArmLink,
        shadow: Shadow,
        guard: Guard,
        log: ModeLog,
        intent: Intent,
        trail: Trail,
        end: SessionEnd,
        *,
        calls_off: bool = True,
    ) -> None:
        self._calls_off = calls_off
        self._rig, self._link, self._shadow, self._guard = rig, link, shadow, guard
        self._log, self._intent, self._trail, self._end = log, intent, trail, end

    def stop(self, now_s: float, reason: str) -> None:
        """Begin to come to rest within the limits; in a fault there is nothing left to stop."""
        log, intent = self._log, self._intent
        before = log.mode
        intent.confirmed = None
        if before in LATCHED:
            log.say(log.cause.behind(f"stop: {reason}; nothing moves, and a reset is still needed"))
            return
        log.follow(Event.STOP, f"stop: {reason}")
        if before is Mode.ENERGISING and self._call_off():
            self._halt(now_s)
        if before is not Mode.STREAMING:
            return
        if now_s - self._trail.sent_s >= self._rig.look_ahead_s:
            # The controller has finished what it was sent and stands still; a ramp would set it moving again.
            self.rest()
            return
        source = intent.source
        if source is not None and source.at_end and self._trail.here == source.wanted:
            return
        self.leave_table()
        if isinstance(source, Led) and len(source.stop):
            # The one that was looked at; worked out anew in the middle of a stop it would end a little elsewhere.
            intent.source = StopSource(source.stop)
            return
        intent.source = StopSource(stop_ramp(self._rig, *self._trail.motion_state()))

    def rest(self, why: str = "") -> None:
        """The controller has ended what it was sent, and nothing more is."""
        self._intent.source = None
        self._guard.reset(self._trail.here)
        words = "the arm had come to rest by itself and holds"
        self._log.follow(Event.STOPPED, f"{words}: {why}" if why else words)

    def leave_table(self) -> None:
        """What comes next is in no table: the guard goes on from the samples that have left."""
        source = self._intent.source
        if isinstance(source, MotionSource) and source.by_table:
            source.by_table = False
            self._guard.catch_up(self._trail.padded, self._trail.due_s)

    def freeze(self, now_s: float) -> None:
        """Stop at the controller, without a ramp: for faults and the software stop."""
        self._call_off()
        self._halt(now_s)
        self._shadow.stop(now_s)
        self._trail.still_s = now_s + self._rig.controller.settle_s
        self._intent.drop()

    def _call_off(self) -> bool:
        """Servos that a controller still switches on are not wanted any more; False if it does not."""
        return self._calls_off and isinstance(self._link, SwitchingLink) and self._link.call_off()

    def _halt(self, now_s: float) -> None:
        try:
            self._link.stop(now_s)
        except (LinkError, ControllerError) as error:
            self._log.say(f"the stop did not reach the controller: {error}")

    def fault(self, now_s: float, reason: str) -> None:
        """Freeze the arm, and let nothing move before a reset."""
        if self._log.mode in (Mode.FAULT, Mode.DISCONNECTED):
            return
        self.freeze(now_s)
        self._log.latch(Event.FAULT, reason)

    def software_stop(self, now_s: float, reason: str) -> None:
        """The same because a person wants it."""
        self.freeze(now_s)
        words = f"software stop: {reason}. It is not an emergency stop: cut the power if in doubt"
        self._log.latch(Event.ESTOP, words)

    def abandon(self, reason: str) -> None:
        """Send nothing more: the controller ends the look-ahead that it has, as when this process dies."""
        if self._end.abandoned:
            return
        self._end.abandoned = reason
        self._intent.drop()
        self._call_off()
        if isinstance(self._link, WaitingLink):
            self._link.throw_away()
        self._log.follow(Event.ABANDONED, f"stop: {reason}; nothing that moves is sent any more in this session")
