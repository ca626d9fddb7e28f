"""Sends one sample in each tick, past the guard or by the certified table, until the source has no more."""

from __future__ import annotations

from hil.errors import CommandError
from hil.model.rig import Rig
from hil.runtime.brake import Brake
from hil.runtime.follow_source import Led
from hil.runtime.intent import Intent
from hil.runtime.line_health import LineHealth
from hil.runtime.mode_log import ModeLog
from hil.runtime.modes import Event
from hil.runtime.outlet import Outlet, TickOutput
from hil.runtime.sources import MotionSource
from hil.runtime.trail import Trail
from hil.safety.guard import Guard
from hil.types import JointCommand, Mode


class SampleStream:
    """The samples of whatever source moves the arm: a certified motion, a jog, a stop ramp.

    Args:
        rig: the resolved rig.
        guard: the live checks.
        health: whether the line may carry anything that moves.
        log: mode and words.
        intent: holds the source.
        trail: the end of what was sent.
        brake: for stops and faults.
        outlet: to the arm.
    """

    def __init__(
        self,
        rig: Rig,
        guard: Guard,
        health: LineHealth,
        log: ModeLog,
        intent: Intent,
        trail: Trail,
        brake: Brake,
        outlet: Outlet,
    ) -> None:
        self._look_ahead_s = rig.look_ahead_s
        self._guard, self._health, self._log = guard, health, log
        self._intent, self._trail, self._brake, self._outlet = intent, trail, brake, outlet

    def write(self, tick: TickOutput) -> None:
        """Send the sample that is due, if there is one and it may leave."""
        source, trail, now_s = self._intent.source, self._trail, tick.now_s
        assert source is not None
        if source.at_end and trail.here == source.wanted:
            # Sent again, the last sample would begin its look-ahead anew, and the pulse would creep towards it.
            if now_s >= trail.due_s:
                self._finish()
            return
        sample: int | None = None
        if isinstance(source, MotionSource):
            sample = source.sample
        elif isinstance(source, Led):
            source.turn()
            resting = source.resting
            self._log.say_all(source.take_words())
            if resting:
                return
        if not self._health.may_move:
            self._hold_back(now_s)
            return
        due_s, positions = now_s + self._look_ahead_s, source.wanted
        wanted = JointCommand(seq=self._outlet.next_seq(), due_s=due_s, positions=positions)
        tick.wanted, tick.sample = wanted, sample
        if isinstance(source, MotionSource) and source.by_table:
            # Of a row of the certified table all but its time was proved.
            if due_s <= trail.due_s and not self._passes(tick, wanted):
                return
            if self._outlet.send_row(tick, wanted, source.sample) is None:
                return
        elif not self._passes(tick, wanted):
            return
        elif self._outlet.send(tick, wanted) is None:
            self._guard.retract()
            return
        trail.add(positions, now_s, due_s)
        source.advance()

    def rehearse(self) -> None:
        """Let the guard go through its look at the next sample; changes nothing."""
        source = self._intent.source
        if source is not None:
            # What a hand wants next is known only with the next requests.
            self._guard.rehearse(self._trail.here if isinstance(source, Led) else source.wanted)

    def _hold_back(self, now_s: float) -> None:
        """Nothing that moves leaves: the controller may be another one by now. Without more it soon stands still."""
        if now_s - max(self._trail.sent_s, self._trail.begun_s) < self._look_ahead_s:
            return
        words = self._health.words(now_s)
        if self._log.mode is Mode.STREAMING:
            self._brake.stop(now_s, words)
        if self._log.mode is Mode.STOPPING:
            self._brake.rest(words)

    def _passes(self, tick: TickOutput, wanted: JointCommand) -> bool:
        """Ask the guard; a hit on certified motion begins a stop, a hit on the stop itself freezes the arm."""
        try:
            self._brake.leave_table()
            verdict = self._guard.check(wanted)
        except CommandError as error:
            self._brake.fault(tick.now_s, f"the guard refused a command: {error}")
            return False
        tick.hits = verdict.hits
        if not verdict.hits:
            return True
        words = verdict.words
        if self._log.mode is Mode.STOPPING:
            self._brake.fault(tick.now_s, f"the guard refused the stop ramp: {words}")
        else:
            self._brake.stop(tick.now_s, f"the guard refused a sample: {words}")
        return False

    def _finish(self) -> None:
        self._intent.source = None
        if self._log.mode is Mode.STREAMING:
            self._log.follow(Event.DONE, "the motion is done")
        else:
            self._log.follow(Event.STOPPED, "the arm holds; queued motion is thrown away")
