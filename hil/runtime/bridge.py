"""One tick of the bridge: read, take requests, watch, choose, guard, write, record.

A pure function of its arguments and the bytes on the line: the same times, requests and received bytes give the
same bytes out, which is what a replay checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hil.errors import CommandError, ControllerError, HilError, InterlockError, LinkClosed, LinkError, LinkOverrun
from hil.identity import Acquaintance
from hil.link import ArmLink, BoundedLink, InputLink, WaitingLink
from hil.model.rig import Rig
from hil.model.start_tolerance import start_tolerances
from hil.motion.motion import Motion
from hil.motion.refusals import say, say_range
from hil.motion.stopping import rest_time_s, stop_ramp
from hil.runtime.certified_rows import CertifiedRows
from hil.runtime.divergence import DivergenceMonitor, stands_elsewhere
from hil.runtime.driven import DrivenWait
from hil.runtime.first_cause import FirstCause
from hil.runtime.input_watch import InputWatch, watched_signals
from hil.runtime.jog_source import HOLD_S, JogSource
from hil.runtime.letting_go import LettingGo
from hil.runtime.line_health import AccountLog, Level, LineHealth, explained
from hil.runtime.modes import Event, follow
from hil.runtime.opening import Opening
from hil.runtime.parting import Parting
from hil.runtime.remedies import bring_to_park
from hil.runtime.reports import AgreedReport
from hil.runtime.sources import EnergiseSource, MotionSource, Positions, StopSource
from hil.runtime.starving import NO_TICK
from hil.runtime.supply import ServoSupply
from hil.runtime.tap import PortTap
from hil.safety.bounds import motion_bounds
from hil.safety.certificate import Certificate, verify
from hil.safety.guard import Guard
from hil.types import (
    WRITING,
    Arm,
    ArmJog,
    Command,
    Confirm,
    ControllerIdentity,
    Disconnect,
    EmergencyStop,
    EndStream,
    EnergiseCommand,
    JogHold,
    JogRelease,
    JogStep,
    JointCommand,
    JointState,
    LetGo,
    LimitHit,
    LineAccount,
    LinkPhase,
    LinkState,
    Load,
    Mode,
    Request,
    Reset,
    Start,
    StateSource,
    Stop,
    Supply,
    SupplyCut,
    TickRecord,
)

ARM_LAPSE_S = 30.0
MISSED_TICKS_TO_STOP = 3
GAP_TO_STOP_S = 0.1
OVERRUNS_TO_FAULT = 3
REPLY_AGE_S = 0.2
REPLY_AGE_PERIODS = 5
REPLY_AGE_REPORTS = 1
"""A controller may take its time to answer: a whole round of an RV-2AJ's questions, half a second, is still fresh."""
CONFIRM_S = 1.0


class Shadow(ArmLink, Protocol):
    """The simulated arm that always runs beside the real one."""

    def look(self, now_s: float) -> JointState:
        """Where its servos are."""
        ...

    @property
    def setpoint(self) -> tuple[float, ...]:
        """Positions that the interpolation has reached."""
        ...


@dataclass(slots=True)
class _Tick:
    """What one tick gathers for its record."""

    now_s: float
    sample: int | None = None
    wanted: Command | None = None
    sent: Command | None = None
    hits: tuple[LimitHit, ...] = ()


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
    ) -> None:
        self.mode = Mode.DISCONNECTED
        self.finished = False
        self._rig, self._link, self._shadow, self._guard, self._tap = rig, link, shadow, guard, tap
        self._acquaintance = acquaintance or Acquaintance(rig.id)
        self._met: ControllerIdentity | None = None
        self._released: int | None = None
        self._long_silent = False
        self._epoch_offset_s, self._version = epoch_offset_s, version
        self._settle_s = rig.controller.settle_s
        window_s = rig.look_ahead_s + rig.controller.settle_s + REPLY_AGE_S
        self._divergence = DivergenceMonitor(rig, window_s)
        self._reports = AgreedReport(tuple(rig.controller.report_quantum().tolist()))
        self._health, self._accounts = LineHealth(rig), AccountLog()
        self._first_cause = FirstCause()
        self._opening, self._parting = Opening(), Parting()
        self._supply = ServoSupply([axis.name for axis in rig.axes], supply)
        self._letting_go = LettingGo(rig)
        self._driven = DrivenWait([axis.name for axis in rig.axes])
        self._tick = 0
        self._seq = 0
        self._last_tick_s: float | None = None
        self._last_sent_s = float("-inf")
        self._last_due_s = self._begun_s = float("-inf")
        self._still_s = float("-inf")
        self._recent: list[Positions] = []
        self._confirmed: Confirm | None = None
        self._confirm_by_s = 0.0
        self._energise: EnergiseSource | None = None
        self._source: MotionSource | StopSource | JogSource | None = None
        self._motion: Motion | None = None
        self._inputs = InputWatch(())
        self._certificate: Certificate | None = None
        if isinstance(link, BoundedLink):
            link.bound(motion_bounds(rig))
        self._rows = CertifiedRows(rig, link, guard)
        self._armed_at_s = 0.0
        self._jog_share: float | None = None
        self._jog_seq = 0
        self._refused: tuple[Mode, str] | None = None
        self._overruns = 0
        self._leaving = False
        self._abandoned = ""
        self._link_state = self._nothing_known()
        self._events: list[str] = []

    @property
    def stop_time_s(self) -> float:
        """Longest time from a stop to the last moving pulse."""
        return rest_time_s(self._rig)

    @property
    def by_hand(self) -> bool:
        """True while a hand on a key has the arm: it is armed for jogging, or jogs."""
        armed = self.mode is Mode.ARMED and self._jog_share is not None
        return armed or isinstance(self._source, JogSource)

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
        tick, supply = _Tick(now_s), self._supply.state
        if self.mode is Mode.DISCONNECTED and self._tick == 0:
            self._follow(Event.CONNECT, "connecting")
            self._connect(now_s)
        elif self._opening.pending and self.mode is Mode.CONNECTING:
            self._connect(now_s)
        self._read(now_s)
        simulated = self._shadow.look(now_s)
        setpoint = self._shadow.setpoint
        for request in requests:
            self._take(request, now_s)
        if self._confirmed is not None:
            self._attempt(lambda: self._adopt(now_s))
        self._watch(now_s, setpoint, simulated)
        self._write(tick)
        if self._leaving and self.mode not in WRITING and not self.finished:
            self._leave(now_s)
        received, written, failures = self._tap.take()
        record = TickRecord(
            tick=self._tick,
            t_s=now_s,
            late_s=late_s,
            work_s=work_s,
            missed=missed,
            mode=self.mode,
            sample=tick.sample,
            wanted=tick.wanted,
            sent=tick.sent,
            simulated=simulated,
            setpoint=setpoint,
            reported=self._link_state.joints,
            received=received,
            written=written,
            failures=failures,
            requests=tuple(requests),
            hits=tick.hits,
            events=tuple(self._events),
            controller=self._met,
            line=self._accounts.entry(self._link_state.line, self.mode),
            supply=None if self._supply.state is supply else self._supply.news_since(supply),
            released=self._released,
        )
        self._events.clear()
        self._met = self._released = None
        self._tick += 1
        self._last_tick_s = now_s
        return record

    def warm_up(self) -> None:
        """Go through the heaviest part of the next tick shortly before it is due; changes nothing."""
        if self.mode is Mode.STREAMING and self._source is not None:
            # What a jog wants next is known only with the next requests.
            jog = isinstance(self._source, JogSource)
            self._guard.rehearse(self._recent[-1] if jog else self._source.wanted)

    # -- the line ----------------------------------------------------------------------------------------

    def _connect(self, now_s: float) -> None:
        """Begin to connect, or go on with it while the port is still being opened."""
        try:
            if words := self._opening.attempt(self._link, now_s):
                self._events.append(words)
        except HilError as error:
            self._fault(now_s, str(error))

    def _read(self, now_s: float) -> None:
        over = self._opening.pending or self.mode in (Mode.DISCONNECTED, Mode.FAULT, Mode.ESTOP)
        if over and self._link_state.phase is LinkPhase.CLOSED:
            return
        was_ready = self._link_state.phase is LinkPhase.READY
        try:
            self._link_state = self._link.read(now_s)
            if self._link_state.phase is LinkPhase.READY and not was_ready:
                self._meet(self._link_state)
        except (CommandError, LinkError, ControllerError) as error:
            self._link_state = self._nothing_known(self._link_state.line)
            self._fault(now_s, explained(error))
            return
        self._events.extend(self._link_state.notices)
        self._reports.take(self._link_state.joints)
        if words := self._letting_go.look(self._reports.agreed, now_s):
            self._events.append(words)
        if self.mode is Mode.STREAMING:
            return
        if self.mode is Mode.CONNECTING and self._link_state.phase is LinkPhase.READY:
            self._follow(Event.READY, f"{self._link_state.identity} answers; where the arm stands is not known yet")
        if self.mode is Mode.UNKNOWN_POSE and (words := self._look_at_supply()):
            self._fault(now_s, words)

    def _look_at_supply(self) -> str:
        return self._supply.look(self._reports.agreed, drives_unseen=self._link_state.drives_unseen)

    def _nothing_known(self, line: LineAccount | None = None) -> LinkState:
        line = line or LineAccount()
        return LinkState(phase=LinkPhase.CLOSED, joints=None, known=(False,) * len(self._rig.axes), line=line)

    def _meet(self, state: LinkState) -> None:
        """Somebody answers at a new connection: the right one, or nothing that moves is sent to it."""
        controller = state.controller or ControllerIdentity.named(state.identity)
        try:
            self._acquaintance.meet(controller)
        except ControllerError:
            self._link.close()
            raise
        self._met = controller

    # -- requests ----------------------------------------------------------------------------------------

    def _take(self, request: Request, now_s: float) -> None:
        match request:
            case Stop(reason=reason):
                self._stop(now_s, reason)
            case EmergencyStop(reason=reason):
                self._freeze(now_s)
                words = f"software stop: {reason}. It is not an emergency stop: cut the power if in doubt"
                self._follow(Event.ESTOP, self._first_cause.behind(words))
                self._first_cause.keep(words)
            case SupplyCut(by=by):
                self._supply_cut(by, now_s)
            case Disconnect(reason=reason):
                self._leaving = True
                self._stop(now_s, reason)
            case EndStream(reason=reason):
                self._end_stream(reason)
            case Reset(by=by):
                self._reset(now_s, by)
            case Confirm():
                self._attempt(lambda: self._confirm(request, now_s))
            case LetGo():
                self._attempt(lambda: self._let_go(request, now_s))
            case Load():
                self._attempt(lambda: self._load(request, now_s))
            case Arm(digest=digest):
                self._attempt(lambda: self._arm(digest, now_s))
            case Start(digest=digest):
                self._attempt(lambda: self._start(digest, now_s))
            case ArmJog(speed_share=share):
                self._attempt(lambda: self._arm_jog(share, now_s))
            case JogHold():
                self._attempt(lambda: self._hold(request, now_s), once=True)
            case JogStep():
                self._attempt(lambda: self._begin_jog(now_s, lambda source: source.step(request)))
            case JogRelease(seq=seq):
                self._release(seq, now_s)

    def _attempt(self, action: Callable[[], None], *, once: bool = False) -> None:
        """Carry out a request that may be refused; a refusal is an event and changes nothing.

        With `once` it is not repeated in the same mode: holds come in many times a second.
        """
        try:
            action()
        except HilError as error:
            words = f"refused: {error}"
            if not once or self._refused != (self.mode, words):
                self._events.append(words)
            self._refused = (self.mode, words)

    def _confirm(self, request: Confirm, now_s: float) -> None:
        self._refuse_if_abandoned()
        self._need(Mode.UNKNOWN_POSE, "confirm a pose")
        axes = self._rig.axes
        if len(request.positions) != len(axes):
            raise CommandError(
                f"confirmed pose: {len(request.positions)} positions given; allowed: {len(axes)}, one per axis",
                value=request.positions,
                allowed=str(len(axes)),
            )
        for axis, confirmed in zip(axes, request.positions, strict=True):
            if not axis.lower <= confirmed <= axis.upper:
                raise CommandError(
                    f"{axis.name}: confirmed position {say(axis, confirmed)} given; allowed: {say_range(axis)}",
                    axis=axis.name,
                    value=confirmed,
                )
        self._supply.check(request.supply_on)
        self._confirmed, self._confirm_by_s = request, now_s + CONFIRM_S

    def _adopt(self, now_s: float) -> None:
        """Begin to drive the axes at the confirmed pose, once fresh reports agree which are driven already."""
        request, report = self._confirmed, self._reports.agreed
        assert request is not None
        # What was reported before the pulses last changed, or long ago, may be where the arm is no more.
        report_s = self._rig.controller.report_period_s
        oldest_s = max(
            self._still_s,
            now_s - max(REPLY_AGE_S, REPLY_AGE_PERIODS * self._rig.period_s, REPLY_AGE_REPORTS * report_s),
        )
        if report is None or report.t_s < oldest_s:
            if now_s < self._confirm_by_s:
                return
            self._confirmed = None
            raise InterlockError(
                f"the controller has not said twice alike within {CONFIRM_S:g} s which axes it drives, and where "
                f"({self._health.words(now_s)}); then confirm again",
                ["a fresh report"],
            )
        self._confirmed = None
        pose = []
        for axis, confirmed, reported, step in zip(
            self._rig.axes, request.positions, report.positions, self._reports.step, strict=True
        ):
            # A controller that already drives the axis elsewhere keeps it there: adopting its pulse moves nothing.
            if reported is None or abs(reported - confirmed) <= step:
                pose.append(confirmed)
            elif axis.lower - step <= reported <= axis.upper + step:
                pose.append(min(max(reported, axis.lower), axis.upper))
            else:
                verb = "measures" if report.source is StateSource.MEASURED else "drives"
                raise CommandError(
                    f"{axis.name}: the controller {verb} it at {say(axis, reported)}; allowed: {say_range(axis)}. "
                    f"{bring_to_park(report)}",
                    axis=axis.name,
                    value=reported,
                )
        self._energise = EnergiseSource(self._guard.inside(pose), self._rig.energise_order, self._rig.energise_dwell_s)
        self._driven.begin()
        self._supply.vouched(request.supply_on)
        self._follow(Event.CONFIRMED, f"pose confirmed by {request.by}; driving the axes one by one")

    def _let_go(self, request: LetGo, now_s: float) -> None:
        """Have one axis go limp; where the arm is has to be confirmed anew then."""
        self._refuse_if_abandoned()
        if not self._health.may_move:
            raise InterlockError(f"nothing is let go of now: {self._health.words(now_s)}", ["a line that answers"])
        try:
            self._released, words = self._letting_go.begin(request, self._link, self.mode, now_s)
        except LinkClosed as error:
            self._fault(now_s, explained(error))
            return
        self._confirmed, self._still_s = None, now_s + self._rig.controller.settle_s
        before = self.mode
        self._follow(Event.LET_GO, words)
        if self.mode is before:
            self._events.append(words)

    def _load(self, request: Load, now_s: float) -> None:
        if self.mode in WRITING or self.mode is Mode.ARMED:
            raise InterlockError(f"a motion is loaded while nothing moves or is armed; the mode is {self.mode.value}")
        motion, certificate = Motion.from_bytes(request.motion), Certificate.from_bytes(request.certificate)
        names = tuple(axis.name for axis in self._rig.axes)
        if (motion.axes, motion.period_s) != (names, self._rig.period_s):
            raise CommandError(
                f"motion: axes {', '.join(motion.axes)} with a period of {motion.period_s * 1e3:g} ms given; "
                f"allowed: axes {', '.join(names)} with a period of {self._rig.period_s * 1e3:g} ms, those of this rig"
            )
        verify(certificate, self._rig, motion, now_s + self._epoch_offset_s, version=self._version)
        table = self._rows.made(motion, certificate)
        self._watch_inputs(motion)
        self._rows.take(motion, table)
        self._motion, self._certificate = motion, certificate
        self._events.append(f"motion {motion.digest[:12]} loaded, {motion.duration_s:.2f} s")

    def _watch_inputs(self, motion: Motion) -> None:
        """Have the controller's inputs read that the motion depends on, and no others."""
        if isinstance(self._link, InputLink):
            self._link.watch_inputs(watched_signals(motion.expected))
        elif motion.expected:
            raise InterlockError("this motion depends on inputs, and the controller shows none", ["inputs"])

    def _arm(self, digest: str, now_s: float) -> None:
        self._refuse_if_abandoned()
        if self.mode not in (Mode.IDLE, Mode.HOLDING):
            raise InterlockError(f"arming needs the mode idle or holding; it is {self.mode.value}", ["mode"])
        self._check_start(digest, now_s)
        self._armed_at_s, self._jog_share = now_s, None
        self._follow(Event.ARM, "armed")

    def _start(self, digest: str, now_s: float) -> None:
        self._need(Mode.ARMED, "start")
        if self._jog_share is not None:
            raise InterlockError(
                "the rig is armed for jogging, not for a motion; stop, then arm the motion", ["motion"]
            )
        self._check_start(digest, now_s)
        assert self._motion is not None
        # The arm stands within the start tolerance; from here on the motion's own first sample is the reference.
        self._recent = [self._motion.start]
        self._guard.reset(self._motion.start)
        self._source = MotionSource(self._motion, by_table=self._rows.begin())
        self._inputs = InputWatch(self._motion.expected)
        self._begun_s = now_s
        self._follow(Event.START, f"streaming motion {digest[:12]}")

    def _check_start(self, digest: str, now_s: float) -> None:
        """Everything that has to be true in the tick of the first byte, certificate and start pose included."""
        if self._motion is None or self._certificate is None or self._motion.digest != digest:
            raise InterlockError("no motion with this digest is loaded; load it with its certificate first", ["motion"])
        verify(self._certificate, self._rig, self._motion, now_s + self._epoch_offset_s, version=self._version)
        self._check_arm(now_s)
        ways = zip(self._rig.axes, self._recent[-1], self._motion.start, start_tolerances(self._rig), strict=True)
        for axis, present, start, tolerance in ways:
            if abs(present - start) > tolerance:
                raise InterlockError(
                    f"{axis.name} stands at {say(axis, present)}, the motion starts at {say(axis, start)}: "
                    "preview again from the present pose",
                    ["start pose"],
                )
        # A motion may begin where a limit is not kept; an arm that stands better may not be brought there.
        if worse := self._guard.worse(self._recent[-1], self._motion.start):
            names = ", ".join(f"{hit.axis} [{hit.check}]" for hit in worse)
            raise InterlockError(
                f"the motion starts nearer than the arm stands: {names}. Preview again from the present pose",
                ["start pose"],
            )

    def _check_arm(self, now_s: float) -> None:
        """The pose is known and the controller answers."""
        if not all(self._link_state.known):
            names = [axis.name for axis, known in zip(self._rig.axes, self._link_state.known, strict=True) if not known]
            raise InterlockError(
                f"the controller does not drive {', '.join(names)} yet; try again in a moment", ["known pose"]
            )
        if elsewhere := stands_elsewhere(self._rig, self._recent[-1], self._link_state.joints):
            raise InterlockError(elsewhere, ["known pose"])
        age_s, allowed_s = self._health.age_s(now_s), self._health.hold_s
        if age_s > allowed_s or self._health.level >= Level.HOLD:
            raise InterlockError(
                f"the newest report of the controller that can be believed is {age_s:.2f} s old; allowed: "
                f"{allowed_s:.2f} s. {self._health.words(now_s)}",
                ["answers"],
            )

    # -- jogging -----------------------------------------------------------------------------------------

    def _arm_jog(self, share: float, now_s: float) -> None:
        self._refuse_if_abandoned()
        again = self.mode is Mode.ARMED and self._jog_share is not None
        if self.mode not in (Mode.IDLE, Mode.HOLDING) and not again:
            raise InterlockError(f"arming needs the mode idle or holding; it is {self.mode.value}", ["mode"])
        if not 0.0 < share <= 1.0:
            raise CommandError(f"speed share {share!r} of a jog; allowed: above 0 to 1", value=share)
        self._check_arm(now_s)
        self._armed_at_s, self._jog_share = now_s, share
        self._follow(Event.ARM, f"armed for jogging at {100.0 * share:g} % speed")

    def _hold(self, request: JogHold, now_s: float) -> None:
        if request.seq <= self._jog_seq:
            return
        self._jog_seq = request.seq
        if self.mode is Mode.STREAMING and isinstance(self._source, JogSource):
            self._source.hold(request, now_s)
        else:
            self._begin_jog(now_s, lambda source: source.hold(request, now_s))

    def _begin_jog(self, now_s: float, ask: Callable[[JogSource], None]) -> None:
        if self.mode is Mode.STREAMING and isinstance(self._source, JogSource):
            raise InterlockError("the jog before is still running; nothing is queued", ["rest"])
        self._need(Mode.ARMED, "jog")
        if self._jog_share is None:
            raise InterlockError("the rig is armed for a motion, not for jogging; stop, then arm for it", ["arming"])
        self._check_arm(now_s)
        here = self._recent[-1]
        # Robot and body not anew: that takes long, and what is left of old ones nobody collects while the loop moves.
        source = JogSource(self._rig, self._guard.robot, self._guard.body, here, self._jog_share)
        ask(source)
        self._recent = [here]
        self._guard.reset(here, self._jog_share)
        self._source = source
        self._begun_s = now_s
        self._follow(Event.START, f"jogging at {100.0 * self._jog_share:g} % speed")

    def _release(self, seq: int, now_s: float) -> None:
        self._jog_seq, self._refused = max(self._jog_seq, seq), None
        if isinstance(self._source, JogSource):
            self._stop(now_s, "the jog was released")

    def _reset(self, now_s: float, by: str) -> None:
        if self.mode not in (Mode.FAULT, Mode.ESTOP):
            self._events.append(f"reset by {by}: nothing to reset in mode {self.mode.value}")
            return
        self._first_cause.forget()
        if self._link_state.phase is LinkPhase.READY and not (self._long_silent or self._supply.doubtful):
            self._follow(Event.RESET, f"reset by {by}; where the arm stands has to be confirmed anew")
            return
        self._link_state, self._long_silent = self._nothing_known(), False
        self._follow(Event.RECONNECT, f"reset by {by}; connecting again")
        self._link.close()
        self._connect(now_s)

    # -- watching ----------------------------------------------------------------------------------------

    def _watch(self, now_s: float, setpoint: tuple[float, ...], simulated: JointState) -> None:
        if self._parting.begun:
            # Nothing that moves is sent any more, and nobody is asked where the arm stands.
            return
        alarm = self._divergence.judge(now_s, setpoint, simulated, self._link_state.joints)
        if self.mode is Mode.ARMED and now_s - self._armed_at_s > ARM_LAPSE_S:
            self._follow(Event.LAPSE, f"armed for {ARM_LAPSE_S:.0f} s without a start: no longer armed")
        level = self._watch_line(now_s)
        if self.mode is not Mode.STREAMING:
            return
        if alarm is not None:
            self._diverged(now_s, alarm)
        elif (
            isinstance(self._source, MotionSource)
            and self._source.motion.expected
            and (differing := self._inputs.differing(self._source.sample, self._link_state.inputs, now_s))
        ):
            self._stop(now_s, differing)
        elif isinstance(self._source, JogSource) and self._source.silent(now_s):
            self._stop(now_s, f"the jog's hold was not renewed for {HOLD_S * 1e3:.0f} ms")
        elif level >= Level.HOLD:
            self._stop(now_s, self._health.words(now_s))
        elif self._last_tick_s is not None:
            gap_s = now_s - self._last_tick_s
            missed = round(gap_s / self._rig.period_s) - 1
            if missed >= MISSED_TICKS_TO_STOP or gap_s > GAP_TO_STOP_S:
                self._stop(now_s, f"{NO_TICK} {gap_s * 1e3:.0f} ms ({missed} missed in a row)")

    def _diverged(self, now_s: float, alarm: str) -> None:
        """An arm that measures is elsewhere than it was sent: a ramp from where it should be is none that it would go.

        An echo tells of the pulses alone, and those do take the ramp.
        """
        report = self._link_state.joints
        if report is not None and report.source is StateSource.MEASURED:
            self._fault(now_s, alarm)
        else:
            self._stop(now_s, alarm)

    def _watch_line(self, now_s: float) -> Level:
        """What the line's state asks for in any mode, and what is new to say of it."""
        health = self._health
        if self._link_state.phase is LinkPhase.CLOSED:
            health.forget()
            return health.level
        news = health.look(self._link_state.line, now_s)
        # Behind an adapter a board can be exchanged without the port closing: who was silent is asked again who it is.
        self._long_silent |= health.level is Level.FAULT
        if self.mode in (Mode.FAULT, Mode.ESTOP):
            return health.level
        if news:
            self._events.append(news)
        if health.level is Level.FAULT:
            self._fault(now_s, health.words(now_s))
        elif health.level is Level.HOLD and self.mode is Mode.ENERGISING:
            self._stop(now_s, health.words(now_s))
        return health.level

    # -- writing -----------------------------------------------------------------------------------------

    def _write(self, tick: _Tick) -> None:
        if self.mode is Mode.ENERGISING:
            self._write_energise(tick)
        elif self.mode is Mode.STREAMING or self.mode is Mode.STOPPING:
            self._write_sample(tick)

    def _write_energise(self, tick: _Tick) -> None:
        source = self._energise
        assert source is not None
        if source.finished(tick.now_s):
            if not self._all_driven(tick.now_s):
                return
            self._guard.reset(source.positions)
            self._recent = [source.positions]
            self._divergence.reset()
            self._follow(Event.ENERGISED, "all axes are driven; the pose is known")
            return
        axis = source.due(tick.now_s)
        if axis is None or not self._health.may_move:
            return
        tick.wanted = EnergiseCommand(seq=self._next_seq(), axis=axis, position=source.positions[axis])
        if self._send(tick, tick.wanted) is not None:
            source.advance(tick.now_s)

    def _all_driven(self, now_s: float) -> bool:
        """Whether the controller has done what the first moves asked for: until then the pose is not known."""
        known = self._link_state.known
        if words := self._driven.words(known, now_s):
            self._events.append(words)
        if not all(known) and self._driven.over(now_s):
            self._stop(now_s, f"the controller does not drive {self._driven.missing(known)}; confirm again")
        return all(known)

    def _write_sample(self, tick: _Tick) -> None:
        source = self._source
        assert source is not None
        now_s = tick.now_s
        if source.at_end and self._all_sent(source):
            # Sent again, the last sample would begin its look-ahead anew, and the pulse would creep towards it.
            if now_s >= self._last_due_s:
                self._finish()
            return
        if isinstance(source, JogSource):
            resting = source.resting
            self._events.extend(source.take_words())
            if resting:
                return
        if not self._health.may_move:
            self._hold_back(now_s)
            return
        due_s = now_s + self._rig.look_ahead_s
        wanted = JointCommand(seq=self._next_seq(), due_s=due_s, positions=source.wanted)
        tick.wanted, row = wanted, None
        if isinstance(source, MotionSource):
            tick.sample = source.sample
            row = source.sample if source.by_table else None
        if not self._passes(tick, wanted, row):
            return
        if self._send(tick, wanted, row) is None:
            if row is None:
                self._guard.retract()
            return
        self._recent = [*self._recent[-2:], wanted.positions]
        self._last_sent_s, self._last_due_s = now_s, due_s
        source.advance()

    def _hold_back(self, now_s: float) -> None:
        """Nothing that moves leaves: the controller may be another one by now. Without more it soon stands still."""
        if now_s - max(self._last_sent_s, self._begun_s) < self._rig.look_ahead_s:
            return
        words = self._health.words(now_s)
        if self.mode is Mode.STREAMING:
            self._stop(now_s, words)
        if self.mode is Mode.STOPPING:
            self._rest(words)

    def _passes(self, tick: _Tick, wanted: JointCommand, row: int | None) -> bool:
        """Ask the guard; a hit on certified motion begins a stop, a hit on the stop itself freezes the arm.

        Of a row of the certified table all but its time was proved.
        """
        if row is not None and wanted.due_s > self._last_due_s:
            return True
        try:
            self._leave_table()
            verdict = self._guard.check(wanted)
        except CommandError as error:
            self._fault(tick.now_s, f"the guard refused a command: {error}")
            return False
        tick.hits = verdict.hits
        if not verdict.hits:
            return True
        words = verdict.words
        if self.mode is Mode.STOPPING:
            self._fault(tick.now_s, f"the guard refused the stop ramp: {words}")
        else:
            self._stop(tick.now_s, f"the guard refused a sample: {words}")
        return False

    def _send(self, tick: _Tick, command: Command, row: int | None = None) -> Command | None:
        """The one gate to the arm; a row of the certified table is read back behind it."""
        try:
            if row is None or not isinstance(command, JointCommand):
                sent = self._link.write(command, tick.now_s)
            else:
                sent = self._rows.write(row, command, tick.now_s)
        except LinkOverrun as error:
            if not self._overruns:
                self._events.append(str(error))
            self._overruns += 1
            if self._overruns >= self._overruns_to_fault():
                self._fault(tick.now_s, f"{self._overruns} commands in a row did not fit on the line: {error}")
            return None
        except (CommandError, LinkError, ControllerError) as error:
            self._fault(tick.now_s, explained(error))
            return None
        self._overruns = 0
        self._shadow.write(sent, tick.now_s)
        arrives_s = sent.due_s if isinstance(sent, JointCommand) else tick.now_s
        self._still_s = arrives_s + self._settle_s
        tick.sent = sent
        return sent

    def _overruns_to_fault(self) -> int:
        """A motion waits while the controller has something to do; a stop that has to wait soon becomes a freeze."""
        share = 0.25 if self.mode is Mode.STOPPING else 1.0
        return max(OVERRUNS_TO_FAULT, round(share * self._rig.look_ahead_s / self._rig.period_s))

    def _all_sent(self, source: MotionSource | StopSource | JogSource) -> bool:
        return source.at_end and self._recent[-1] == source.wanted

    def _finish(self) -> None:
        self._source = None
        if self.mode is Mode.STREAMING:
            self._follow(Event.DONE, "the motion is done")
        else:
            self._follow(Event.STOPPED, "the arm holds; queued motion is thrown away")

    # -- leaving motion ----------------------------------------------------------------------------------

    def _stop(self, now_s: float, reason: str) -> None:
        before = self.mode
        self._confirmed = None
        if before in (Mode.FAULT, Mode.ESTOP):
            self._events.append(self._first_cause.behind(f"stop: {reason}; nothing moves, and a reset is still needed"))
            return
        self._follow(Event.STOP, f"stop: {reason}")
        if before is not Mode.STREAMING:
            return
        if now_s - self._last_sent_s >= self._rig.look_ahead_s:
            # The controller has finished what it was sent and stands still; a ramp would set it moving again.
            self._rest()
            return
        if self._source is not None and self._all_sent(self._source):
            return
        self._leave_table()
        if isinstance(self._source, JogSource) and len(self._source.stop):
            # The one that was looked at; worked out anew in the middle of a stop it would end a little elsewhere.
            self._source = StopSource(self._source.stop)
            return
        position, velocity, acceleration = self._motion_state()
        self._source = StopSource(stop_ramp(self._rig, position, velocity, acceleration))

    def _rest(self, why: str = "") -> None:
        """The controller has ended what it was sent, and nothing more is."""
        self._source = None
        self._guard.reset(self._recent[-1])
        words = "the arm had come to rest by itself and holds"
        self._follow(Event.STOPPED, f"{words}: {why}" if why else words)

    def _supply_cut(self, by: str, now_s: float) -> None:
        """Pulses that nobody follows are frozen; of an arm that feels its supply it is a stop like any other."""
        words = self._supply.cut(by)
        if not self._supply.doubtful:
            self._stop(now_s, words)
        elif self.mode in (Mode.FAULT, Mode.ESTOP):
            self._events.append(self._first_cause.behind(words))
        else:
            self._fault(now_s, words)

    def _end_stream(self, reason: str) -> None:
        """Send nothing more: the controller ends the look-ahead that it has, as when this process dies."""
        if self._abandoned:
            return
        self._abandoned = reason
        self._source = self._energise = self._confirmed = None
        if isinstance(self._link, WaitingLink):
            self._link.throw_away()
        self._follow(Event.ABANDONED, f"stop: {reason}; nothing that moves is sent any more in this session")

    def _refuse_if_abandoned(self) -> None:
        """Nothing leads to the first move or to ARMED once the stream has been ended, or the session ends."""
        if why := self._abandoned or ("it ends" if self._leaving else ""):
            raise InterlockError(f"no more motion in this session: {why}. Start again", ["a new session"])

    def _leave_table(self) -> None:
        """What comes next is in no table: the guard goes on from the samples that have left."""
        source = self._source
        if isinstance(source, MotionSource) and source.by_table:
            source.by_table = False
            self._guard.catch_up(self._padded, self._last_due_s)

    @property
    def _padded(self) -> list[Positions]:
        """The last three samples; a motion begins at rest, so those before its first are copies of it."""
        return [self._recent[0]] * (3 - len(self._recent)) + self._recent[-3:]

    def _motion_state(self) -> tuple[Positions, Positions, Positions]:
        """Position, velocity and acceleration of the newest samples sent, per axis."""
        period_s = self._rig.period_s
        padded = self._padded
        older, old, last = (np.asarray(positions) for positions in padded)
        velocity, acceleration = (last - old) / period_s, (last - 2.0 * old + older) / period_s**2
        return padded[-1], tuple(velocity.tolist()), tuple(acceleration.tolist())

    def _freeze(self, now_s: float) -> None:
        """Stop at the controller, without a ramp: for faults and the software stop."""
        try:
            self._link.stop(now_s)
        except (LinkError, ControllerError) as error:
            self._events.append(f"the stop did not reach the controller: {error}")
        self._shadow.stop(now_s)
        self._still_s = now_s + self._rig.controller.settle_s
        self._source = None
        self._energise = None
        self._confirmed = None

    def _fault(self, now_s: float, reason: str) -> None:
        if self.mode in (Mode.FAULT, Mode.DISCONNECTED):
            return
        self._freeze(now_s)
        self._follow(Event.FAULT, reason)
        self._first_cause.keep(reason)

    def _leave(self, now_s: float) -> None:
        # Whoever is dead, or a line at fault, is not kept waiting for.
        in_haste = bool(self._abandoned) or self.mode is Mode.FAULT
        if not in_haste and not self._parting.over(self._link, now_s):
            return
        self._follow(Event.DISCONNECT, "disconnected; the controller goes on holding its last pulses")
        self._link.close()
        self.finished = True

    def give_up(self, now_s: float) -> None:
        """Freeze the arm and let go of the line, because the program around this is at fault."""
        self._freeze(now_s)
        self._link.close()

    # -- small things ------------------------------------------------------------------------------------

    def _follow(self, event: Event, words: str) -> None:
        after = follow(self.mode, event)
        if after is not self.mode or event in (Event.STOP, Event.ABANDONED):
            self._events.append(f"{self.mode.value} -> {after.value}: {words}")
        self.mode = after

    def _need(self, mode: Mode, what: str) -> None:
        if self.mode is not mode:
            raise InterlockError(f"to {what} needs the mode {mode.value}; it is {self.mode.value}", ["mode"])

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq
