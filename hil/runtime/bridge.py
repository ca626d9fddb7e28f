"""One tick of the bridge: read, take requests, watch, choose, guard, write, record.

A pure function of its arguments and the bytes on the line: the same times, requests and received bytes give the
same bytes out, which is what a replay checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hil.errors import HilError, InterlockError, LinkClosed
from hil.identity import Acquaintance
from hil.link import ArmLink, BoundedLink
from hil.model.rig import Rig
from hil.motion.stops import rest_time_s
from hil.runtime.adoption import Adoption
from hil.runtime.brake import LATCHED, Brake
from hil.runtime.certified_rows import CertifiedRows
from hil.runtime.connection import Connection
from hil.runtime.divergence import DivergenceMonitor, window_of_s
from hil.runtime.farewell import Farewell, SessionEnd
from hil.runtime.first_moves import FirstMoves
from hil.runtime.hand_jog import HandJog
from hil.runtime.intent import Intent
from hil.runtime.letting_go import LettingGo
from hil.runtime.line_health import LINE_ERRORS, AccountLog, explained
from hil.runtime.loaded_motion import LoadedMotion
from hil.runtime.mode_log import ModeLog
from hil.runtime.modes import Event
from hil.runtime.outlet import Outlet, TickOutput
from hil.runtime.readiness import Readiness
from hil.runtime.shadow import Shadow
from hil.runtime.stream import SampleStream
from hil.runtime.supervision import Supervision
from hil.runtime.supply import ServoSupply
from hil.runtime.tap import PortTap
from hil.runtime.trail import Trail
from hil.safety.bounds import motion_bounds
from hil.safety.guard import Guard
from hil.types import (
    WRITING,
    Arm,
    ArmJog,
    Confirm,
    Disconnect,
    EmergencyStop,
    EndStream,
    FollowTarget,
    JogHold,
    JogRelease,
    JogStep,
    LetGo,
    LinkPhase,
    Load,
    Mode,
    Request,
    Reset,
    Start,
    Stop,
    Supply,
    SupplyCut,
    TickRecord,
)


class Bridge:
    """The session of one arm, from DISCONNECTED to HOLDING, one `tick` at a time.

    Args:
        rig: the resolved rig.
        link: the arm behind its driver.
        shadow: the simulated arm.
        guard: the live checks.
        tap: listens on the link's line.
        acquaintance: who has to answer; None for whoever answers first.
        epoch_offset_s: epoch seconds minus this clock's seconds, for the expiry of certificates.
        version: software version that certificates have to carry.
        supply: what an earlier session has left behind of the servo supply.
        signs: see `Connection`.
        calls_off: see `Brake`.
    """

    def __init__(
        self,
        rig: Rig,
        link: ArmLink,
        shadow: Shadow,
        guard: Guard,
        tap: PortTap,
        acquaintance: Acquaintance | None = None,
        *,
        epoch_offset_s: float,
        version: str,
        supply: Supply = Supply.UNSAID,
        signs: bool = True,
        calls_off: bool = True,
    ) -> None:
        self.finished = False
        self._rig, self._link, self._shadow, self._tap = rig, link, shadow, tap
        if isinstance(link, BoundedLink):
            link.bound(motion_bounds(rig))
        log = self._log = ModeLog()
        intent, end = self._intent, self._end = Intent(), SessionEnd()
        trail = self._trail = Trail(rig.period_s)
        connection = self._connection = Connection(rig, link, acquaintance or Acquaintance(rig.id), log, signs=signs)
        divergence = DivergenceMonitor(rig, window_of_s(rig))
        rows = CertifiedRows(rig, link, guard)
        brake = self._brake = Brake(rig, link, shadow, guard, log, intent, trail, end, calls_off=calls_off)
        outlet = Outlet(rig, link, shadow, log, trail, brake)
        self._supply = ServoSupply([axis.name for axis in rig.axes], supply)
        self._first_moves = FirstMoves(rig, guard, connection, divergence, log, intent, trail, brake, outlet)
        self._adoption = Adoption(rig, connection, self._supply, self._first_moves, log, intent, trail, end)
        self._letting_go = LettingGo(rig)
        self._readiness = Readiness(rig, connection, log, trail, end)
        self._loaded = LoadedMotion(
            rig,
            link,
            guard,
            rows,
            self._readiness,
            log,
            intent,
            trail,
            epoch_offset_s=epoch_offset_s,
            version=version,
        )
        self._hand = HandJog(rig, guard, self._readiness, log, intent, trail, brake)
        self._supervision = Supervision(rig, connection, divergence, self._loaded, log, intent, brake)
        self._stream = SampleStream(rig, guard, connection.health, log, intent, trail, brake, outlet)
        self._parting, self._accounts = Farewell(), AccountLog()
        self._tick = 0
        self._last_tick_s: float | None = None
        self._released: int | None = None
        self._refused: tuple[Mode, str] | None = None

    @property
    def mode(self) -> Mode:
        """What it is doing with the arm."""
        return self._log.mode

    @property
    def stop_time_s(self) -> float:
        """Longest time from a stop to the last moving pulse."""
        return rest_time_s(self._rig)

    @property
    def by_hand(self) -> bool:
        """True while a hand on a key has the arm: it is armed for jogging, or jogs."""
        return self._hand.has_the_arm

    # -- the tick ----------------------------------------------------------------------------------------

    def tick(
        self,
        now_s: float,
        requests: Sequence[Request] = (),
        *,
        late_s: float = 0.0,
        missed: int = 0,
        work_s: float = 0.0,
    ) -> TickRecord:
        """Do everything that is due at `now_s`; never raises for what the arm, the line or a user did."""
        output, supply, log = TickOutput(now_s), self._supply.state, self._log
        if log.mode is Mode.DISCONNECTED and self._tick == 0:
            log.follow(Event.CONNECT, "connecting")
            self._connect(now_s)
        elif log.mode is Mode.CONNECTING and self._connection.opening:
            self._connect(now_s)
        self._read(now_s)
        simulated = self._shadow.look(now_s)
        setpoint = self._shadow.setpoint
        for request in requests:
            self._take(request, now_s)
        if self._intent.confirmed is not None:
            self._attempt(lambda: self._adoption.adopt(now_s))
        if not self._parting.begun:
            # After that nothing that moves is sent any more, and nobody is asked where the arm stands.
            gap_s = None if self._last_tick_s is None else now_s - self._last_tick_s
            if log.mode is Mode.ARMED:
                self._readiness.lapse(now_s)
            self._supervision.watch(now_s, gap_s, setpoint, simulated)
        self._write(output)
        if self._end.asked and log.mode not in WRITING and not self.finished:
            self._leave(now_s)
        received, written, failures = self._tap.take()
        connection = self._connection
        record = TickRecord(
            tick=self._tick,
            t_s=now_s,
            late_s=late_s,
            work_s=work_s,
            missed=missed,
            mode=log.mode,
            sample=output.sample,
            wanted=output.wanted,
            sent=output.sent,
            simulated=simulated,
            setpoint=setpoint,
            reported=connection.state.joints,
            received=received,
            written=written,
        )
        news = self._supply.news_since(supply) if self._supply.state is not supply else None
        line, events = self._accounts.entry(connection.state.line, log.mode), log.take()
        # Beyond fifteen names CPython makes a dictionary for a call, which takes longer than all else about a record.
        if (
            events
            or requests
            or failures
            or output.hits
            or line
            or news
            or connection.met
            or self._released is not None
        ):
            record = msgspec.structs.replace(
                record,
                failures=failures,
                requests=tuple(requests),
                hits=output.hits,
                events=events,
                controller=connection.met,
                line=line,
                supply=news,
                released=self._released,
            )
            connection.met = self._released = None
        self._tick += 1
        self._last_tick_s = now_s
        return record

    def warm_up(self) -> None:
        """Go through the heaviest part of the next tick shortly before it is due; changes nothing."""
        if self.mode is Mode.STREAMING:
            self._stream.rehearse()

    def give_up(self, now_s: float) -> None:
        """Freeze the arm and let go of the line, because the program around this is at fault."""
        self._brake.freeze(now_s)
        self._link.close()

    def _connect(self, now_s: float) -> None:
        """Begin to connect, or go on with it while the port is still being opened."""
        try:
            self._connection.open(now_s)
        except HilError as error:
            self._brake.fault(now_s, str(error))

    def _read(self, now_s: float) -> None:
        """Take what the controller says, and what follows from it for the pose."""
        connection, log = self._connection, self._log
        if log.mode is Mode.FAULT and connection.state.phase is LinkPhase.OPENING:
            # Whoever said so may be right about the whole controller: it is asked and sent nothing before a reset.
            connection.forget()
        try:
            if not connection.read(now_s):
                return
        except LINE_ERRORS as error:
            self._brake.fault(now_s, explained(error))
            return
        if self._letting_go.waits and (words := self._letting_go.look(connection.reports.agreed, now_s)):
            log.say(words)
        if log.mode is Mode.STREAMING:
            return
        if log.mode is Mode.CONNECTING and connection.ready:
            log.follow(Event.READY, f"{connection.state.identity} answers; where the arm stands is not known yet")
        if log.mode is Mode.UNKNOWN_POSE:
            report, unseen = connection.reports.agreed, connection.state.drives_unseen
            if words := self._supply.look(report, drives_unseen=unseen):
                self._brake.fault(now_s, words)

    def _write(self, output: TickOutput) -> None:
        mode = self._log.mode
        if mode is Mode.STREAMING or mode is Mode.STOPPING:
            self._stream.write(output)
        elif mode is Mode.ENERGISING:
            self._first_moves.write(output)

    def _leave(self, now_s: float) -> None:
        # Whoever is dead, or a line at fault, is not kept waiting for.
        in_haste = bool(self._end.abandoned) or self.mode is Mode.FAULT
        if not in_haste and not self._parting.over(self._link, now_s):
            return
        self._log.follow(Event.DISCONNECT, "disconnected; the controller goes on holding its last pulses")
        self._link.close()
        self.finished = True

    # -- requests ----------------------------------------------------------------------------------------

    def _take(self, request: Request, now_s: float) -> None:
        match request:
            case Stop(reason=reason):
                self._brake.stop(now_s, reason)
            case EmergencyStop(reason=reason):
                self._brake.software_stop(now_s, reason)
            case SupplyCut(by=by):
                self._supply_cut(by, now_s)
            case Disconnect(reason=reason):
                self._end.asked = True
                self._brake.stop(now_s, reason)
            case EndStream(reason=reason):
                self._brake.abandon(reason)
            case Reset(by=by):
                self._reset(now_s, by)
            case Confirm():
                self._attempt(lambda: self._adoption.confirm(request, now_s))
            case LetGo():
                self._attempt(lambda: self._let_go(request, now_s))
            case Load():
                self._attempt(lambda: self._loaded.load(request, now_s))
            case Arm(digest=digest):
                self._attempt(lambda: self._loaded.arm(digest, now_s))
            case Start(digest=digest):
                self._attempt(lambda: self._loaded.start(digest, now_s))
            case ArmJog(speed_share=share):
                self._attempt(lambda: self._hand.arm(share, now_s))
            case JogHold():
                self._attempt(lambda: self._hand.hold(request, now_s), once=True)
            case FollowTarget():
                self._attempt(lambda: self._hand.follow(request, now_s), once=True)
            case JogStep():
                self._attempt(lambda: self._hand.step(request, now_s))
            case JogRelease(seq=seq):
                self._refused = None
                self._hand.release(seq, now_s)

    def _attempt(self, action: Callable[[], None], *, once: bool = False) -> None:
        """Carry out a request that may be refused; a refusal is an event and changes nothing.

        With `once` it is not repeated in the same mode: holds come in many times a second.
        """
        try:
            action()
        except HilError as error:
            words = f"refused: {error}"
            if not once or self._refused != (self.mode, words):
                self._log.say(words)
            self._refused = (self.mode, words)

    def _let_go(self, request: LetGo, now_s: float) -> None:
        """Have one axis go limp; where the arm is has to be confirmed anew then."""
        self._end.refuse()
        health, log = self._connection.health, self._log
        if not health.may_move:
            raise InterlockError(f"nothing is let go of now: {health.words(now_s)}", ["a line that answers"])
        try:
            self._released, words = self._letting_go.begin(request, self._link, log.mode, now_s)
        except LinkClosed as error:
            self._brake.fault(now_s, explained(error))
            return
        self._intent.confirmed = None
        self._trail.still_s = now_s + self._rig.controller.settle_s
        before = log.mode
        log.follow(Event.LET_GO, words)
        if log.mode is before:
            log.say(words)

    def _supply_cut(self, by: str, now_s: float) -> None:
        """Pulses that nobody follows are frozen; of an arm that feels its supply it is a stop like any other."""
        words = self._supply.cut(by)
        if not self._supply.doubtful:
            self._brake.stop(now_s, words)
        elif self.mode in LATCHED:
            self._log.say(self._log.cause.behind(words))
        else:
            self._brake.fault(now_s, words)

    def _reset(self, now_s: float, by: str) -> None:
        log = self._log
        if log.mode not in LATCHED:
            log.say(f"reset by {by}: nothing to reset in mode {log.mode.value}")
            return
        log.cause.forget()
        if not (self._connection.doubtful or self._supply.doubtful):
            log.follow(Event.RESET, f"reset by {by}; where the arm stands has to be confirmed anew")
            return
        log.follow(Event.RECONNECT, f"reset by {by}; connecting again")
        self._connection.forget()
        self._connect(now_s)
