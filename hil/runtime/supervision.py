"""What stops an arm that nobody has stopped: a bad line, an arm elsewhere, inputs that differ, a held-up loop."""

from __future__ import annotations

from hil.model.rig import Rig
from hil.runtime.brake import LATCHED, Brake
from hil.runtime.connection import Connection
from hil.runtime.divergence import DivergenceMonitor
from hil.runtime.follow_source import Led
from hil.runtime.intent import Intent
from hil.runtime.line_health import Level
from hil.runtime.loaded_motion import LoadedMotion
from hil.runtime.mode_log import ModeLog
from hil.runtime.sources import MotionSource
from hil.runtime.starvation import NO_TICK
from hil.types import JointState, Mode

MISSED_TICKS_TO_STOP = 3
GAP_TO_STOP_S = 0.1


class Supervision:
    """Looks in every tick, before anything is sent.

    Args:
        rig: the resolved rig.
        connection: what the controller reports, and how its line is.
        divergence: compares that with the shadow.
        loaded: knows the inputs that a motion depends on.
        log: mode and words.
        intent: holds the source.
        brake: for stops and faults.
    """

    def __init__(
        self,
        rig: Rig,
        connection: Connection,
        divergence: DivergenceMonitor,
        loaded: LoadedMotion,
        log: ModeLog,
        intent: Intent,
        brake: Brake,
    ) -> None:
        self._period_s, self._usual_s = rig.period_s, min(rig.period_s, GAP_TO_STOP_S)
        self._connection, self._divergence, self._loaded = connection, divergence, loaded
        self._health = connection.health
        self._log, self._intent, self._brake = log, intent, brake

    def watch(self, now_s: float, gap_s: float | None, setpoint: tuple[float, ...], simulated: JointState) -> None:
        """Look, and stop what may not go on.

        Args:
            now_s: time of the tick.
            gap_s: since the tick before; None at the first.
            setpoint: where the shadow was sent.
            simulated: where its servos are.
        """
        alarm = self._divergence.judge(now_s, setpoint, simulated, self._connection.state.joints)
        news, level = self._connection.judge(now_s), self._health.level
        if (news or level >= Level.HOLD) and self._log.mode not in LATCHED:
            self._watch_line(news, level, now_s)
        if self._log.mode is not Mode.STREAMING:
            return
        if alarm is not None:
            self._diverged(now_s, alarm)
        elif words := self._wrong_source(now_s):
            self._brake.stop(now_s, words)
        elif level >= Level.HOLD:
            self._brake.stop(now_s, self._health.words(now_s))
        elif gap_s is not None and gap_s > self._usual_s:
            missed = round(gap_s / self._period_s) - 1
            if missed >= MISSED_TICKS_TO_STOP or gap_s > GAP_TO_STOP_S:
                self._brake.stop(now_s, f"{NO_TICK} {gap_s * 1e3:.0f} ms ({missed} missed in a row)")

    def _wrong_source(self, now_s: float) -> str:
        """Why the motion or jog that runs may not go on as it is; mostly empty."""
        source = self._intent.source
        if isinstance(source, MotionSource):
            if not source.motion.expected:
                return ""
            return self._loaded.inputs.differing(source.sample, self._connection.state.inputs, now_s)
        return source.silence if isinstance(source, Led) and source.silent(now_s) else ""

    def _diverged(self, now_s: float, alarm: str) -> None:
        """An arm that measures is elsewhere than it was sent: a ramp from where it should be is none that it would go.

        An echo tells of the pulses alone, and those do take the ramp.
        """
        report = self._connection.state.joints
        if report is not None and report.source.of_arm:
            self._brake.fault(now_s, alarm)
        else:
            self._brake.stop(now_s, alarm)

    def _watch_line(self, news: str, level: Level, now_s: float) -> None:
        """What is new to say of the line, and what its state asks for in any mode."""
        if news:
            self._log.say(news)
        if level is Level.FAULT:
            self._brake.fault(now_s, self._health.words(now_s))
        elif level is Level.HOLD and self._log.mode is Mode.ENERGISING:
            self._brake.stop(now_s, self._health.words(now_s))
