"""One arm's desk: takes what people ask for, has gate and lease judge it, and tells the arm and everybody the rest."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import msgspec

from hil.clock import monotonic_s
from hil.errors import CommandError, HilError, InterlockError
from hil.model.rig import Rig
from hil.model.start_tolerance import START_TOLERANCE
from hil.service import lease_facts as leases
from hil.service import wire
from hil.service.arm_channel import ArmReport
from hil.service.arms import Arm as Worker
from hil.service.audit import Deed
from hil.service.bookings import Condition
from hil.service.camera import Camera
from hil.service.channel import Channel
from hil.service.coming_up import ComingUp
from hil.service.doors import Visitor
from hil.service.gate import HELD, Facts, Gate, GateSettings, MotionFacts, Verdict
from hil.service.grants import WorkBox
from hil.service.hold_watch import Sign
from hil.service.holding import ArmHolding
from hil.service.keepsake import Keepsake
from hil.service.lease import Lease
from hil.service.lease_facts import READY, ArmFacts, Effects, Party
from hil.service.lease_settings import LeaseSettings
from hil.service.live_arm import LiveArm
from hil.service.self_test import SLOWEST_PERCENT, Ending, Outcome, RunningTest, self_test_task
from hil.service.stop_budget import slowed
from hil.service.uploads import Job, PreviewDesk, Shelf
from hil.service.uploads import Verdict as Preview
from hil.service.watching import Audience
from hil.service.wire import Code, LeaseNews, LeasePhase, Notice, NoticeKind
from hil.types import (
    WRITING,
    Arm,
    ArmJog,
    Confirm,
    EmergencyStop,
    JogHold,
    JogRelease,
    JogStep,
    LetGo,
    Load,
    Mode,
    Record,
    Request,
    Reset,
    Start,
    Stop,
    SupplyCut,
)

_MOVING = (Confirm, JogHold, JogStep, Start)
LOST_MODES = frozenset({Mode.FAULT, Mode.ESTOP})
LOAD_EVERY_S = 1.0
_PARKER = "the service, unattended"
_WIRING = "the wiring, which placed its own fake in the park pose"


class House(Protocol):
    """What a desk asks of the lab around it."""

    previews: PreviewDesk

    def note(self, deed: Deed) -> None:
        """Write into the audit."""
        ...

    def still_counts(self, visitor: Visitor) -> bool:
        """Whether a visitor's token counts now."""
        ...

    @property
    def trouble(self) -> str:
        """Why nothing may move at any arm; empty if it may."""
        ...

    def reserved(self, arm: str, now_s: float) -> tuple[str, float | None]:
        """Whose booking counts now (empty for nobody's), and when that or the free time ends, monotonic."""
        ...

    def come(self, arm: str, user: str) -> None:
        """Somebody has the arm now; if it is booked for that person, the booking is taken up."""
        ...

    def extend(self, arm: str, user: str, minutes: float, until_epoch_s: float | None) -> None:
        """Make this person's booking, if there is one now, longer, to the token's end at most.

        Raises HilError if that cannot be.
        """
        ...

    def end_booking(self, arm: str, user: str) -> None:
        """The booking that counts now is over."""
        ...

    def keep_leases(self) -> None:
        """Write down who has which arm: it has changed."""
        ...

    def set_condition(self, arm: str, condition: Condition, reason: str) -> None:
        """How the arm is, for the calendar."""
        ...

    def tested(self, arm: str, outcome: Outcome) -> None:
        """What came of an arm's self-test."""
        ...

    def everywhere(self, visitor: Visitor, act: Callable[[ArmDesk], None]) -> None:
        """Do something at every desk that the visitor's token is for."""
        ...


class Standing(Record, frozen=True):
    """What does not change about an arm.

    Attributes:
        real: whether it is no fake.
        vouched: whether the wiring confirms the pose, which it can for a fake that its worker has just made.
        server: name of the lab, for displays.
    """

    real: bool
    vouched: bool
    server: str
    lease: LeaseSettings
    gate: GateSettings


class ArmDesk:
    """One arm.

    Args:
        house: the lab.
        arm: its name.
        rig: what it is.
        standing: settings.
        camera: or None.
        first_epoch: above every epoch that was ever used for this arm.
    """

    def __init__(
        self, house: House, arm: str, rig: Rig, standing: Standing, camera: Camera | None, first_epoch: int
    ) -> None:
        self.arm, self.rig, self.camera, self.standing = arm, rig, camera, standing
        self.lease = Lease(arm, standing.lease, first_epoch)
        self.gate = Gate(self.lease, standing.gate)
        self.live = LiveArm(rig)
        self.holding = ArmHolding(rig)
        self.shelf = Shelf()
        self.audience = Audience()
        self.channels: dict[int, Channel] = {}
        self.process: Worker | None = None
        self._house = house
        self._coming_up = ComingUp(standing.vouched)
        self._on_site: set[int] = set()
        self._jog_seq = 0
        self._jogging_by = 0
        self._armed_share: float | None = None
        self._set_going = False
        self._planning: asyncio.Task[None] | None = None
        self._called_off = ""
        self._loaded_s = float("-inf")
        self._picture_said = False
        self._condition: tuple[Condition, str] | None = None
        self._self_test: RunningTest | None = None

    # -- channels ----------------------------------------------------------------------------------------

    def join(self, channel: Channel, hello: wire.Hello) -> None:
        """Welcome a channel."""
        now_s = monotonic_s()
        self.channels[channel.number] = channel
        channel.send(self._welcome(channel.visitor, now_s))
        channel.send(self._news_for(channel, now_s, ""))
        channel.send(self.holding.message(now_s))
        self._note(channel.visitor, "join", "done", hello.client)

    def leave(self, channel: Channel) -> None:
        """A channel is gone; said again once nothing more can come from it."""
        self.audience.dismiss(channel.outbox)
        self.gate.forget(channel.number)
        if self.channels.pop(channel.number, None) is None:
            return
        self._apply(self.lease.closed(channel.number, monotonic_s()))
        self._note(channel.visitor, "leave", "done")

    def take(self, channel: Channel, message: wire.ClientMessage) -> None:
        """Judge a message and do what it says, or say why not."""
        now_s = monotonic_s()
        # What time alone changes comes first: after a pause of this process the driver counts as silent, too.
        self._apply(self.lease.observe(self.facts(now_s), now_s))
        visitor, party = channel.visitor, self._party(channel)
        if isinstance(message, wire.SupplyCut):
            self._supply_cut(channel, party, message, now_s)
            return
        if isinstance(message, wire.Stop | wire.EmergencyStop):
            self._stop(channel, party, message, now_s)
            return
        if channel.number not in self.channels:
            return  # it was told goodbye, and its line is about to be closed
        # Whoever does not drive says nothing about the line of who does.
        if isinstance(message, wire.Beat | wire.Command) and self.lease.is_driver(channel.number):
            self.live.heard(max(0.0, now_s - message.issued_s))
        facts = self._gate_facts(message, visitor, now_s)
        verdict = self.gate.judge(message, party, visitor.grant, facts)
        if self._house.trouble and isinstance(message, wire.Command):
            verdict = Verdict(code=Code.UNAVAILABLE, reason=self._house.trouble)
        if not verdict.allowed:
            self._refuse(channel, message, verdict)
            return
        try:
            text = self._do(channel, party, message, verdict, now_s)
        except InterlockError as error:
            code = Code.UNAVAILABLE if self._away else Code.LEASE
            self._refuse(channel, message, Verdict(code=code, reason=str(error), missing=error.missing))
        except HilError as error:
            self._refuse(channel, message, Verdict(code=Code.MODE, reason=str(error)))
        else:
            if text is not None:
                self._accept(channel, message, verdict, text)

    # -- what is so --------------------------------------------------------------------------------------

    @property
    def _away(self) -> str:
        return "not started yet" if self.process is None else self.process.away

    @property
    def mode(self) -> Mode:
        """Mode of the loop; DISCONNECTED where there is none."""
        report = self.live.report
        return Mode.DISCONNECTED if self._away or report is None else report.mode

    @property
    def parked(self) -> bool:
        """Whether the arm stands in its park pose."""
        report = self.live.report
        return report is not None and all(
            position is not None and abs(position - axis.park) <= START_TOLERANCE[axis.kind]
            for axis, position in zip(self.rig.axes, report.commanded, strict=True)
        )

    @property
    def occupied(self) -> bool:
        """Whether somebody has the arm, or keeps it still."""
        return self.lease.driver is not None or bool(self.lease.frozen or self.lease.latched)

    def facts(self, now_s: float) -> ArmFacts:
        """What the lease has to know."""
        user, until_s = self._house.reserved(self.arm, now_s)
        return ArmFacts(
            mode=self.mode,
            parked=self.parked,
            settled=self.process is None or self.process.settled,
            clean=not self._at_work,
            coming=self._coming_up.under_way and not self._kept_still,
            reserved_for=user,
            until_s=until_s,
        )

    @property
    def _kept_still(self) -> bool:
        """Whether somebody wants that nothing at all moves."""
        return bool(self.lease.latched or self.lease.frozen or self._house.trouble)

    @property
    def _at_work(self) -> bool:
        """Whether the service itself still plans a move of this arm: the one who asked may be gone by now."""
        return self._planning is not None and not self._planning.done()

    def summary(self, now_s: float, why_not: str, self_test: wire.SelfTestBrief | None) -> wire.ArmSummary:
        """The arm in a list."""
        return wire.ArmSummary(
            arm=self.arm,
            title=self.rig.title,
            robot=self.rig.robot.id,
            real=self.standing.real,
            mode=self.mode,
            lease=self.lease.brief(now_s),
            bookable=not why_not,
            why_not=why_not,
            camera=self.camera is not None,
            watchers=len(self.channels),
            self_test=self_test,
        )

    def _party(self, channel: Channel) -> Party:
        visitor, until_epoch_s = channel.visitor, channel.visitor.until_epoch_s
        return Party(
            user=visitor.user,
            name=visitor.name,
            role=visitor.grant.role,
            channel=channel.number,
            on_site=visitor.on_site,
            until_s=None if until_epoch_s is None else until_epoch_s - time.time() + monotonic_s(),
        )

    def _gate_facts(self, message: wire.ClientMessage, visitor: Visitor, now_s: float) -> Facts:
        boxed = message if visitor.grant.box is not None and isinstance(message, wire.JogHold | wire.JogStep) else None
        motion = None
        if isinstance(message, wire.ArmMotion | wire.Start):
            kept = self.shelf.find(visitor.user, message.digest)
            # One that was held against another box would have to be previewed again.
            if kept is not None and kept.box == visitor.grant.box:
                motion = MotionFacts(user=visitor.user, peak_share=kept.peak_share, box=kept.box)
        return Facts(
            now_s=now_s,
            now_epoch_s=time.time(),
            mode=self.mode,
            revoked=not self._house.still_counts(visitor),
            picture_s=None if self.camera is None or self.camera.newest is None else self.camera.newest.taken_s,
            budget_share=self.live.share(self._silence_s, now_s),
            armed_share=self._armed_share,
            tool_m=self.live.tool_m if boxed is not None else None,
            goal_m=self.live.goal_of(boxed) if boxed is not None else None,
            motion=motion,
        )

    @property
    def _silence_s(self) -> float:
        return self.standing.lease.stop_after_s

    # -- doing -------------------------------------------------------------------------------------------

    def _supply_cut(self, channel: Channel, party: Party, message: wire.SupplyCut, now_s: float) -> None:
        """A stop that latches, and more: the loop believes no echo any more."""
        self.gate.use_up(channel.number, message.seq)
        why = "; ".join(words for words in ("the servo supply was cut", message.reason) if words)
        self._apply(self.lease.stop(party, why, now_s))
        self._halt(SupplyCut(by=channel.visitor.who))
        self._note(channel.visitor, "supply cut", "done", message.reason)
        channel.send(wire.Accepted(to=message.seq, now_s=now_s, text="nothing that moves is sent any more"))

    def _stop(self, channel: Channel, party: Party, message: wire.Stop | wire.EmergencyStop, now_s: float) -> None:
        self.gate.use_up(channel.number, message.seq)
        freeze = isinstance(message, wire.EmergencyStop)
        act = self.lease.emergency_stop if freeze else self.lease.stop
        self._apply(act(party, message.reason, now_s))
        self._note(channel.visitor, "emergency stop" if freeze else "stop", "done", message.reason)
        channel.send(wire.Accepted(to=message.seq, now_s=now_s, text="stopping"))

    def _do(
        self, channel: Channel, party: Party, message: wire.ClientMessage, verdict: Verdict, now_s: float
    ) -> str | None:
        """Do what a message that was allowed says; gives words for the answer, None if it is answered otherwise."""
        lease = self.lease
        if isinstance(message, HELD):
            jog = message.move if isinstance(message, wire.JogHold) else None
            lease.asked(jog, now_s, planned=jog is None)
        match message:
            case wire.Watch(rate_hz=rate_hz):
                self.audience.admit(channel.outbox, rate_hz)
            case wire.Beat(epoch=epoch, held=held, issued_s=issued_s, seq=seq):
                self._apply(lease.beat(party, epoch, held, issued_s, now_s, _sign(message)))
                channel.send(wire.BeatSeen(to=seq, now_s=now_s, held=lease.held(now_s)))
                return None
            case wire.Claim(wait=wait):
                self._apply(lease.claim(party, now_s, self.facts(now_s), wait=wait))
            case wire.LeaveQueue():
                self._apply(lease.leave_queue(party, now_s))
            case wire.Renew(epoch=epoch, minutes=minutes):
                lease.check_renewal(party, epoch, self.facts(now_s))
                self._house.extend(self.arm, party.user, minutes, channel.visitor.until_epoch_s)
                self._apply(lease.renew(party, epoch, minutes, now_s, self.facts(now_s)))
            case wire.Release(epoch=epoch):
                self._apply(lease.release(party, epoch, now_s))
            case wire.TakeOver(reason=reason, keep_booking=keep_booking):
                facts = self.facts(now_s)
                self._apply(lease.take_over(party, reason, now_s, facts, keep_booking=keep_booking))
            case wire.Freeze(everywhere=everywhere, reason=reason):
                self._each(channel.visitor, everywhere, lambda desk: desk.freeze(party, reason))
            case wire.Thaw(everywhere=everywhere):
                self._each(channel.visitor, everywhere, lambda desk: desk.thaw(party))
            case wire.Hello():
                raise CommandError("this channel has had its hello")
            case wire.Go() | wire.Gripper() | wire.SelfTest():
                self._begin_planned(channel, party, message, verdict)
                return None
            case wire.GoLimp(axis=axis):
                return self._go_limp(channel.visitor, axis, now_s)
            case wire.Command():
                self._motion(channel.visitor, party, message, verdict, now_s)
        return ""

    def _each(self, visitor: Visitor, everywhere: bool, act: Callable[[ArmDesk], None]) -> None:
        if everywhere:
            self._house.everywhere(visitor, act)
        else:
            act(self)

    def hold(self, reason: str) -> None:
        """Stop the arm, whoever drives."""
        self._halt(Stop(reason=reason))

    def freeze(self, party: Party, reason: str) -> None:
        """Hold the arm until it is thawed."""
        self._apply(self.lease.freeze(party, reason, monotonic_s()))

    def thaw(self, party: Party) -> None:
        """Let it be driven again."""
        self._apply(self.lease.thaw(party, monotonic_s()))

    def _motion(self, visitor: Visitor, party: Party, message: wire.Command, verdict: Verdict, now_s: float) -> None:
        share = verdict.speed_share
        match message:
            case wire.Reset():
                self._apply(self.lease.unlatch(party, now_s))
                if self.mode in LOST_MODES:
                    self._send(Reset(by=visitor.who))
            case wire.Confirm(positions=positions, supply_on=on):
                self._send(Confirm(positions=positions or self.rig.park, by=visitor.who, supply_on=on))
            case wire.ArmJog():
                self._send(ArmJog(speed_share=share))
                self._armed_share = share
            case wire.JogHold(move=move):
                axes = [axis.speed for axis in self.rig.axes]
                try:
                    move = slowed(move, share, axes, self.rig.tool_speed_m_s, self.live.turn_speed_rad_s)
                except ValueError:
                    raise CommandError(f"a jog of single axes takes {len(axes)} amounts, one per axis") from None
                self._send(JogHold(seq=self._next_jog(), issued_s=now_s, move=move))
            case wire.JogRelease():
                self._called_off = "the jog was let go of"
                self._send(JogRelease(seq=self._next_jog()))
            case wire.JogStep(move=move):
                self._send(JogStep(move=move))
            case wire.ArmMotion(digest=digest):
                self._spare_the_journal(now_s)
                kept = self.shelf.find(visitor.user, digest)
                assert kept is not None  # the gate has seen it
                self._send(Load(motion=kept.motion, certificate=kept.certificate), Arm(digest=digest))
                self.live.loaded(kept)
            case wire.Start(digest=digest):
                self._send(Start(digest=digest))

    def _go_limp(self, visitor: Visitor, axis: str, now_s: float) -> str:
        """Let one axis go; by whom, and which, is in the audit."""
        words = self.holding.begin(axis, self.mode, now_s)
        self._send(LetGo(axis=axis, by=visitor.who))
        self._coming_up.taken_over()
        return words

    def _spare_the_journal(self, now_s: float) -> None:
        """A motion is recorded whole each time it is loaded; nobody fills ring and disk by asking again and again."""
        if now_s - self._loaded_s < LOAD_EVERY_S:
            raise InterlockError(f"a motion was loaded less than {LOAD_EVERY_S:g} s ago; ask again", ["a moment"])
        self._loaded_s = now_s

    def _next_jog(self) -> int:
        self._jog_seq += 1
        return self._jog_seq

    def _send(self, *requests: Request) -> None:
        if self.process is None:
            raise InterlockError(f"{self.arm} is not there", ["the arm"])
        self.process.send(*requests)
        self._set_going = self._set_going or any(isinstance(request, _MOVING) for request in requests)

    # -- moves that are planned here ---------------------------------------------------------------------

    def _begin_planned(self, channel: Channel, party: Party, message: wire.Planned, verdict: Verdict) -> None:
        if self._at_work:
            raise InterlockError("the move before is still being planned", ["a turn"])
        if self._self_test is not None:
            raise InterlockError("the self-test is not over; stop it, or wait", ["a turn"])
        start = self.live.pose
        if start is None:
            raise InterlockError("where the arm stands is not known", ["known pose"])
        job = self._job(message, start, 100.0 * verdict.speed_share, channel.visitor.grant.box)
        self._called_off = ""
        work = self._planned(channel, party, message, verdict, job, self.lease.epoch)
        self._planning = asyncio.get_running_loop().create_task(work)

    def _job(self, message: wire.Planned, start: tuple[float, ...], speed_percent: float, box: WorkBox | None) -> Job:
        if isinstance(message, wire.SelfTest):
            if speed_percent < SLOWEST_PERCENT:
                raise CommandError(
                    f"a self-test at {speed_percent:.2g} % of the rig's speeds; allowed: {SLOWEST_PERCENT:g} at least"
                )
            text = self_test_task(self.rig, start, speed_percent)
            return Job(arm=self.arm, language="task", name="self-test", text=text, start=start, box=box)
        if isinstance(message, wire.Go):
            goal = self.rig.park if message.to == "park" else self.rig.home
        else:
            gripper = self.rig.gripper
            if gripper is None:
                raise CommandError(f"{self.arm} has no gripper")
            goal = (*start[:gripper], message.opening_m, *start[gripper + 1 :])
        name = type(message).__name__.lower()
        return Job(
            arm=self.arm, language="move", name=name, start=start, goal=goal, speed_percent=speed_percent, box=box
        )

    async def _planned(
        self, channel: Channel, party: Party, message: wire.Planned, verdict: Verdict, job: Job, epoch: int
    ) -> None:
        try:
            preview = await self._house.previews.preview(job)
            now_s = monotonic_s()
            # All that may have changed while it was planned.
            self._apply(self.lease.observe(self.facts(now_s), now_s))
            lease = self.lease
            if not (lease.is_driver(party.channel) and lease.epoch == epoch and lease.held(now_s)):
                raise InterlockError("the dead-man was released, or the lease has changed, meanwhile", ["dead-man"])
            self._check_wanted()
            if not preview.ok:
                refused = Verdict(code=Code.PREVIEW, reason=preview.words or "refused")
                self._refuse(channel, message, refused, preview)
                return
            moved = MotionFacts(user=party.user, peak_share=preview.peak_share, box=job.box)
            planned = self.gate.judge_planned(moved, channel.visitor.grant, verdict.speed_share)
            if not planned.allowed:
                self._refuse(channel, message, planned)
                return
            self._run(preview)
            if isinstance(message, wire.SelfTest):
                self._self_test = RunningTest(self.rig, preview.start, preview.digest)
        except HilError as error:
            self._refuse(channel, message, Verdict(code=Code.MODE, reason=str(error)))
        else:
            text = f"a move of {preview.duration_s:.1f} s"
            self._accept(channel, message, verdict, text, digest=preview.digest)

    def _check_wanted(self) -> None:
        """What was asked for before it was planned is not made if anything stopped the arm, or would, meanwhile."""
        why_not = self._called_off or self._house.trouble
        if why_not:
            raise InterlockError(f"called off while it was planned: {why_not}; ask again", ["a new request"])

    def _run(self, preview: Preview) -> None:
        """Load, arm and start; the loop refuses it if the arm does not stand where it begins."""
        load = Load(motion=preview.motion, certificate=preview.certificate)
        requests: tuple[Request, ...] = (load, Arm(digest=preview.digest), Start(digest=preview.digest))
        if self.mode is Mode.ARMED:
            requests = (Stop(reason="a previewed move takes over"), *requests)
        self._send(*requests)
        self.live.loaded(preview)

    async def _park(self) -> None:
        """Park with nobody there, which the settings allow; only while nobody drives."""
        start, self._called_off = self.live.pose, ""
        try:
            if start is None:
                raise InterlockError("where the arm stands is not known", ["known pose"])
            job = Job(arm=self.arm, language="move", name="park", start=start, goal=self.rig.park)
            preview = await self._house.previews.preview(job)
            if not preview.ok:
                raise InterlockError(f"the way to the park pose is refused: {preview.words}", ["a free way"])
            lease = self.lease
            if lease.phase is not LeasePhase.CLEARING or lease.frozen or lease.latched or self.mode not in READY:
                return
            self._check_wanted()
            self._run(preview)
            self._house.note(Deed(who="", what="park", verdict="done", arm=self.arm, detail=_PARKER))
        except HilError as error:
            self.tell(NoticeKind.PARKING, f"not parked: {error}")

    # -- what the lease asks for -------------------------------------------------------------------------

    def _apply(self, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case leases.Hold(reason=reason):
                    self._halt(Stop(reason=reason))
                case leases.LetGo(reason=reason):
                    self._called_off = reason
                    # One that comes in after the motion must not disarm the next. A pose that was confirmed, and
                    # that the loop has still to see for itself, leads to motion though nothing moves yet.
                    if self.mode in WRITING or self.mode is Mode.UNKNOWN_POSE or self._set_going:
                        self._halt(Stop(reason=reason))
                case leases.Freeze(reason=reason):
                    self._halt(EmergencyStop(reason=reason))
                case leases.Cut(channel=number, reason=reason):
                    if (channel := self.channels.get(number)) is not None:
                        channel.end(Code.LEASE, reason)
                case leases.Tell(channel=number, kind=kind, text=text, left_s=left_s):
                    self.tell(kind, text, channel=number, left_s=left_s)
                case leases.Changed(reason=reason):
                    self._tell_news(reason)
                case leases.Park():
                    self._spawn(self._park())
                case leases.EndBooking(user=user):
                    self._house.end_booking(self.arm, user)

    def _halt(self, request: Stop | EmergencyStop | SupplyCut) -> None:
        """Stop the arm; where there is none, or nothing moves or could, there is nothing to stop."""
        self._armed_share = None
        words = "the servo supply was cut" if isinstance(request, SupplyCut) else request.reason
        self._called_off = words or "stopped"
        if self.process is not None and not self.process.away:
            self.process.send(request)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        if self._planning is not None:
            self._planning.cancel()
        self._planning = asyncio.get_running_loop().create_task(work)

    def tell(self, kind: NoticeKind, text: str, *, channel: int | None = None, left_s: float | None = None) -> None:
        """Send a notice to one channel of the arm, or to all."""
        notice = wire.encode(Notice(now_s=monotonic_s(), kind=kind, text=text, left_s=left_s))
        for number, each in self.channels.items():
            if channel is None or number == channel:
                each.outbox.put(notice)

    def _tell_news(self, reason: str) -> None:
        now_s = monotonic_s()
        if self.lease.phase is LeasePhase.HELD and self.lease.driver is not None:
            self._house.come(self.arm, self.lease.driver.user)
        self._house.keep_leases()
        for channel in self.channels.values():
            channel.send(self._news_for(channel, now_s, reason))
        self._note_lease()

    def _note_lease(self) -> None:
        self._house.note(Deed(who="", what="lease", verdict=self.lease.phase.value, arm=self.arm))

    def take_up(self, kept: Keepsake, now_s: float) -> str:
        """Go on with the lease of a server before this one; gives what there is to say about it."""
        self.lease.take_up(kept, now_s)
        if kept == Keepsake(epoch=kept.epoch):
            return ""
        self._note_lease()
        brief = self.lease.brief(now_s)
        waits = f"it waits {brief.kept_s:.0f} s for {brief.holder}, who drove it" if brief.kept_s is not None else ""
        frozen = f"it is frozen by {self.lease.frozen}" if self.lease.frozen else ""
        latched = f"a stop is latched ({self.lease.latched})" if self.lease.latched else ""
        return f"{self.arm}: {'; '.join(words for words in (waits, frozen, latched) if words)}"

    def _news_for(self, channel: Channel, now_s: float, reason: str) -> LeaseNews:
        lease = self.lease
        return LeaseNews(
            now_s=now_s,
            lease=lease.brief(now_s),
            yours=lease.is_driver(channel.number),
            place=lease.place(channel.number),
            reason=reason,
            must_park=lease.must_park and lease.is_driver(channel.number),
        )

    # -- time and the arm --------------------------------------------------------------------------------

    def observe(self, now_s: float) -> None:
        """Time has passed: every 50 ms or so."""
        if self.process is not None:
            self.process.beat()
        self._vouch(now_s)
        self._apply(self.lease.observe(self.facts(now_s), now_s))
        if self.camera is not None and self.lease.phase is LeasePhase.HELD:
            self.camera.want()
            self._watch_picture(now_s)
        else:
            self._picture_said = False

    def _vouch(self, now_s: float) -> None:
        """Have the axes of a fake driven that the wiring has placed, as often as something breaks that off."""
        if not self._kept_still and self._coming_up.due(now_s):
            with contextlib.suppress(InterlockError):
                self._send(Confirm(positions=self.rig.park, by=_WIRING, supply_on=True))

    def look_round(self, now_s: float) -> None:
        """What has to be looked at every second: tokens that ended, and how the arm is for the calendar."""
        for channel in list(self.channels.values()):
            if not self._house.still_counts(channel.visitor):
                self._note(channel.visitor, "token ended", "cut")
                channel.end(Code.TOKEN, "the token does not count any more; ask for a new one")
                self.leave(channel)
        condition = self._how()
        if condition != self._condition:
            self._condition = condition
            self._house.set_condition(self.arm, *condition)

    def _how(self) -> tuple[Condition, str]:
        if self._away:
            return Condition.AWAY, self._away
        if self.mode in LOST_MODES or self.mode is Mode.UNKNOWN_POSE:
            return Condition.FAULT, self.live.trouble or f"its mode is {self.mode.value}"
        if self.lease.phase is LeasePhase.CLEARING:
            return Condition.CLEARING, ""
        return Condition.READY, ""

    def _watch_picture(self, now_s: float) -> None:
        """A driver who needs a picture and has none is stopped, once."""
        driver, camera = self.lease.driver, self.camera
        if driver is None or camera is None or driver.on_site or not self.standing.gate.picture_needed:
            return
        age_s = camera.age_s(now_s)
        stale = age_s is None or age_s > self.standing.gate.picture_last_s
        at_stake = self.mode in WRITING or self.mode is Mode.ARMED or self._at_work
        if stale is self._picture_said or (stale and not at_stake):
            return
        self._picture_said = stale
        if stale:
            self._halt(Stop(reason="the camera's picture is too old"))
            self.tell(NoticeKind.PICTURE_STALE, camera.trouble or "the camera's picture is too old: the arm holds")
        else:
            self.tell(NoticeKind.PICTURE_BACK, "the camera's picture is fresh again; arm anew to move")

    def report_came(self, report: ArmReport) -> None:
        """News from the worker."""
        now_s = monotonic_s()
        self.live.take(report, now_s)
        self.holding.take(report)
        self._coming_up.begun(report.mode)
        # What the report says is from before something that the loop has still to take.
        if self.process is not None and self.process.settled:
            self._set_going = self._set_going and report.mode in WRITING
            if report.mode not in (Mode.ARMED, Mode.STREAMING):
                self._armed_share = None
        for event in report.events:
            self.tell(NoticeKind.LOOP, event)
        if self._self_test is not None:
            settled = self.process is not None and self.process.settled
            stopped = bool(self._called_off)
            self._tested(self._self_test.take(report, now_s, self.live.trouble, settled=settled, called_off=stopped))
        if (news := self.holding.news(now_s)) is not None:
            for channel in self.channels.values():
                channel.send(news)
        self.audience.show(now_s, lambda: wire.encode(self.telemetry(now_s)))

    def arm_lost(self, words: str) -> None:
        """The worker is gone."""
        if self._self_test is not None:
            ending = Ending.BROKEN_OFF if self._called_off else Ending.FAILED
            self._tested(Outcome(ending=ending, words=f"the arm was lost: {words}"))
        self._armed_share, self._called_off = None, words
        self._coming_up.lost()
        self.live.forget()
        self.holding.forget()
        self.tell(NoticeKind.ARM_LOST, f"{self.arm} is not there: {words}")
        self._house.note(Deed(who="", what="arm", verdict="lost", arm=self.arm, detail=words))

    def _tested(self, outcome: Outcome | None) -> None:
        """What came of the self-test that runs, if anything yet."""
        if outcome is None:
            return
        self._self_test = None
        ending = outcome.ending.value
        self._house.tested(self.arm, outcome)
        self.tell(NoticeKind.SELF_TEST, f"self-test {ending}{outcome.words and ': '}{outcome.words}")
        self._house.note(Deed(who="", what="self test", verdict=ending, arm=self.arm, detail=outcome.words))

    def telemetry(self, now_s: float) -> wire.Telemetry:
        """The arm as it is."""
        age_s = None if self.camera is None else self.camera.age_s(now_s)
        return self.live.telemetry(now_s, self.lease.brief(now_s), self._silence_s, age_s)

    # -- answers -----------------------------------------------------------------------------------------

    def _welcome(self, visitor: Visitor, now_s: float) -> wire.Welcome:
        lease, gate, grant = self.standing.lease, self.standing.gate, visitor.grant
        rules = wire.Rules(
            beat_every_s=0.1,
            stop_after_s=lease.stop_after_s,
            suspend_after_s=lease.suspend_after_s,
            hold_every_s=0.05,
            command_age_s=gate.step_age_s,
            picture_age_s=gate.picture_last_s,
            picture_needed=gate.picture_needed,
            unchanged_s=lease.unchanged_s,
            planned_unchanged_s=lease.planned_unchanged_s,
        )
        return wire.Welcome(
            speaks=wire.VERSION,
            server=self.standing.server,
            now_s=now_s,
            now_epoch_s=time.time(),
            arm=self.arm,
            title=self.rig.title,
            robot=self.rig.robot.id,
            real=self.standing.real,
            axes=self.live.axes,
            period_s=self.rig.period_s,
            rules=rules,
            role=grant.role,
            name=visitor.name,
            speed_share=grant.speed_share,
            on_site=visitor.on_site,
            until_epoch_s=float(grant.expires_s),
            camera=self.camera is not None,
        )

    def _accept(
        self, channel: Channel, message: wire.ClientMessage, verdict: Verdict, text: str, digest: str = ""
    ) -> None:
        moves = isinstance(message, wire.Command)
        share = verdict.speed_share if moves else None
        channel.send(wire.Accepted(to=message.seq, now_s=monotonic_s(), speed_share=share, text=text))
        if isinstance(message, wire.ArmMotion | wire.Start):
            digest = message.digest
        if not isinstance(message, wire.Watch):
            # By the digest, what somebody did is found again in the journal of the motion.
            # Each axis is a deed of its own: the same deed again within a second would only be counted.
            which = f" {message.axis}" if isinstance(message, wire.GoLimp) else ""
            self._note(channel.visitor, f"{_name(message)}{which}", "done", digest)

    def _refuse(
        self, channel: Channel, message: wire.ClientMessage, verdict: Verdict, preview: Preview | None = None
    ) -> None:
        assert verdict.code is not None
        channel.send(
            wire.Refused(
                to=message.seq,
                now_s=monotonic_s(),
                code=verdict.code,
                reason=verdict.reason,
                missing=verdict.missing,
                findings=() if preview is None else preview.refusals,
            )
        )
        # The code alone: the words may name people, whom the audit could not forget.
        self._note(channel.visitor, _name(message), "refused", verdict.code.value)
        if verdict.code is Code.TOKEN:
            channel.end(Code.TOKEN, verdict.reason)
            self.leave(channel)

    def _note(self, visitor: Visitor, what: str, verdict: str, detail: str = "") -> None:
        self._house.note(
            Deed(
                who=visitor.who,
                role=visitor.grant.role.value,
                what=what,
                verdict=verdict,
                arm=self.arm,
                origin=visitor.origin,
                detail=detail,
            )
        )


def _sign(beat: wire.Beat) -> Sign:
    changed_s, reported_s = beat.changed_s, beat.reported_s
    return Sign(
        changed_s=None if changed_s is msgspec.UNSET else changed_s,
        reported_s=None if reported_s is msgspec.UNSET else reported_s,
    )


def _name(message: wire.ClientMessage) -> str:
    return str(message.__struct_config__.tag).replace("_", " ")
