"""One arm's desk, where all about it gets its order: what people ask for, what time brings, and what the arm says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from hil.clock import monotonic_s
from hil.errors import CommandError, HilError, InterlockError
from hil.model.rig import Rig
from hil.service import wire
from hil.service.answers import Answers
from hil.service.arm_channel import ArmReport
from hil.service.arm_loop import ArmLoop
from hil.service.arm_presence import ArmPresence
from hil.service.audit import Deed
from hil.service.bookings import Condition
from hil.service.camera import Camera
from hil.service.channel import Channel
from hil.service.coming_up import ComingUp
from hil.service.current_self_test import CurrentSelfTest
from hil.service.doors import Visitor
from hil.service.gate import HELD, Facts, Gate, GateVerdict, MotionFacts
from hil.service.held_arm import ArmHolding
from hil.service.house import Frozen, House
from hil.service.keepsake import Keepsake
from hil.service.lamp import lamp
from hil.service.lease import Lease
from hil.service.lease_executor import LeaseExecutor
from hil.service.lease_facts import Party
from hil.service.live_arm import LiveArm
from hil.service.motion_commands import MotionCommands
from hil.service.move_planner import MovePlanner
from hil.service.open_channels import OpenChannels
from hil.service.picture_watch import PictureWatch
from hil.service.planned_moves import PlannedMoves
from hil.service.standing import Standing, welcome
from hil.service.unattended_park import UnattendedPark
from hil.service.uploads import Shelf
from hil.service.wire import Code, LeasePhase, NoticeKind
from hil.types import WRITING, Confirm, LetGo, Mode, Reset, Stop, SupplyCut

LOST_MODES = frozenset({Mode.FAULT, Mode.ESTOP})
_WIRING = "the wiring, which placed its own fake in the park pose"


class ArmDesk:
    """One arm.

    Attributes:
        lease: who drives.
        gate: judges what is asked for.
        loop: what moves the arm.
        live: what is known of the arm.
        holding: what holds it.
        shelf: motions that were previewed for people.
        channels: everybody here.

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
        self.live, self.holding, self.shelf = LiveArm(rig), ArmHolding(rig), Shelf()
        self.channels = OpenChannels()
        self.loop = ArmLoop(arm, self.live)
        self._house = house
        self._coming_up = ComingUp(standing.vouched)
        self._presence = ArmPresence(self.loop, self._coming_up)
        self._pictures = PictureWatch(standing.gate)
        self._condition: tuple[Condition, str] | None = None
        self._answers = Answers(arm, house)
        self._self_test = CurrentSelfTest(arm, rig, self.loop, self.channels, house)
        self._planner = MovePlanner(self.loop, self.live, house)
        park = UnattendedPark(rig, self.lease, self.loop, self.live, self._planner, self.channels, house)
        self._executor = LeaseExecutor(
            self.lease, self.loop, self.live, self._coming_up, self._planner, park, self.channels, house
        )
        self._commands = MotionCommands(rig, self.loop, self.live, self.shelf)
        self._planned = PlannedMoves(
            rig, self.live, self.lease, self.gate, self._executor, self._planner, self._self_test, self._answers
        )

    # -- what people ask for -----------------------------------------------------------------------------

    def join(self, channel: Channel, hello: wire.Hello) -> None:
        """Welcome a channel."""
        now_s, visitor = monotonic_s(), channel.visitor
        self.channels.add(channel)
        camera = self.camera is not None
        channel.send(
            welcome(
                self.arm,
                self.rig,
                self.live.axes,
                self.standing,
                visitor,
                camera=camera,
                now_s=now_s,
                speaks=channel.speaks,
            )
        )
        channel.send(self._executor.news_for(channel, now_s, ""))
        channel.send(self.holding.message(now_s))
        if channel.speaks >= wire.VERSION:
            channel.send(self._presence.message(now_s))
        self._answers.note(visitor, "join", "done", hello.client)

    def leave(self, channel: Channel) -> None:
        """A channel is gone; said again once nothing more can come from it."""
        self.gate.forget(channel.number)
        if self.channels.remove(channel):
            self._executor.do(self.lease.closed(channel.number, monotonic_s()))
            self._answers.note(channel.visitor, "leave", "done")

    def take(self, channel: Channel, message: wire.ClientMessage) -> None:
        """Judge a message and do what it says, or say why not."""
        now_s = monotonic_s()
        # What time alone changes comes first: after a pause of this process the driver counts as silent, too.
        self._executor.observe(now_s)
        visitor, party = channel.visitor, channel.party(now_s, self._house.token_epoch_s())
        if isinstance(message, wire.AnyStop):
            self._stop(channel, party, message, now_s)
            return
        if channel not in self.channels:
            return  # it was told goodbye, and its line is about to be closed
        # Whoever does not drive says nothing about the line of who does.
        if isinstance(message, wire.Beat | wire.Command) and self.lease.is_driver(channel.number):
            self.live.heard(max(0.0, now_s - message.issued_s))
        verdict = self.gate.judge(message, party, visitor.grant, self._gate_facts(message, visitor, now_s))
        if self._house.trouble and isinstance(message, wire.Command):
            verdict = GateVerdict(code=Code.UNAVAILABLE, reason=self._house.trouble)
        if not verdict.allowed:
            self._answers.refuse(channel, message, verdict)
            if verdict.code is Code.TOKEN:
                channel.end(Code.TOKEN, verdict.reason)
                self.leave(channel)
            return
        try:
            text = self._do(channel, party, message, verdict, now_s)
        except InterlockError as error:
            code = Code.UNAVAILABLE if self.loop.away else Code.LEASE
            self._answers.refuse(channel, message, GateVerdict(code=code, reason=str(error), missing=error.missing))
        except HilError as error:
            self._answers.refuse(channel, message, GateVerdict(code=Code.MODE, reason=str(error)))
        else:
            if text is not None:
                self._answers.accept(channel, message, verdict, text)

    def _stop(
        self, channel: Channel, party: Party, message: wire.Stop | wire.EmergencyStop | wire.SupplyCut, now_s: float
    ) -> None:
        """Stop, past everything that could refuse it."""
        self.gate.use_up(channel.number, message.seq)
        deed, text, reason = "stop", "stopping", message.reason
        match message:
            case wire.Stop():
                self._executor.do(self.lease.stop(party, reason, now_s))
            case wire.EmergencyStop():
                deed = "emergency stop"
                self._executor.do(self.lease.emergency_stop(party, reason, now_s))
            case wire.SupplyCut():
                # A stop that latches, and more: the loop believes no echo any more.
                deed, text = "supply cut", "nothing that moves is sent any more"
                why = "; ".join(words for words in ("the servo supply was cut", reason) if words)
                self._executor.do(self.lease.stop(party, why, now_s))
                self.loop.halt(SupplyCut(by=channel.visitor.who))
        self._answers.note(channel.visitor, deed, "done", reason)
        channel.send(wire.Accepted(to=message.seq, now_s=now_s, text=text))

    def _gate_facts(self, message: wire.ClientMessage, visitor: Visitor, now_s: float) -> Facts:
        boxed = message if visitor.grant.box is not None and isinstance(message, wire.Led) else None
        motion = None
        if isinstance(message, wire.ArmMotion | wire.Start):
            kept = self.shelf.find(visitor.user, message.digest)
            # One that was held against another box would have to be previewed again.
            if kept is not None and kept.box == visitor.grant.box:
                motion = MotionFacts(user=visitor.user, peak_share=kept.peak_share, box=kept.box)
        return Facts(
            now_s=now_s,
            now_epoch_s=self._house.token_epoch_s(),
            mode=self.loop.mode,
            revoked=not self._house.still_counts(visitor),
            picture_s=None if self.camera is None or self.camera.newest is None else self.camera.newest.taken_s,
            budget_share=self.live.share(self.standing.lease.stop_after_s, now_s),
            armed_share=self.loop.armed_share,
            tool_m=self.live.tool_m if boxed is not None else None,
            goal_m=self.live.goal_of(boxed) if boxed is not None else None,
            motion=motion,
        )

    def _do(
        self, channel: Channel, party: Party, message: wire.ClientMessage, verdict: GateVerdict, now_s: float
    ) -> str | None:
        """Do what a message that was allowed says; gives words for the answer, None if it is answered otherwise."""
        if isinstance(message, HELD):
            self.lease.asked(_led(message), now_s, planned=_led(message) is None)
        match message:
            case wire.Watch(rate_hz=rate_hz):
                self.channels.audience.admit(channel.outbox, rate_hz, channel.speaks)
            case wire.Beat():
                self._executor.beat(channel, party, message, now_s)
                return None
            case wire.Claim() | wire.LeaveQueue() | wire.Renew() | wire.Release() | wire.TakeOver():
                self._executor.ask(channel.visitor, party, message, now_s)
            case wire.Freeze(everywhere=everywhere, reason=reason):
                self._each(channel.visitor, everywhere, lambda desk: desk.freeze(party, reason))
            case wire.Thaw(everywhere=everywhere):
                self._each(channel.visitor, everywhere, lambda desk: desk.thaw(party))
            case wire.Tell(text=words):
                self.channels.pass_on(channel.visitor.name or channel.visitor.grant.role.value, words)
            case wire.Hello():
                raise CommandError("this channel has had its hello")
            case wire.Reset():
                self._executor.do(self.lease.unlatch(party, now_s))
                if self.loop.mode in LOST_MODES:
                    self.loop.send(Reset(by=channel.visitor.who))
            case wire.Go() | wire.Gripper() | wire.SelfTest():
                self._planned.begin(channel, message, verdict)
                return None
            case wire.GoLimp(axis=axis):
                # By whom, and which, is in the audit.
                words = self.holding.begin(axis, self.loop.mode, now_s)
                self.loop.send(LetGo(axis=axis, by=channel.visitor.who))
                self._coming_up.taken_over()
                return words
            case wire.Command():
                self._commands.ask(channel.visitor, message, verdict.speed_share, now_s)
        return ""

    def _each(self, visitor: Visitor, everywhere: bool, act: Callable[[Frozen], None]) -> None:
        if everywhere:
            self._house.everywhere(visitor, act)
        else:
            act(self)

    # -- what the lab asks for ---------------------------------------------------------------------------

    def hold(self, reason: str) -> None:
        """Stop the arm, whoever drives."""
        self.loop.halt(Stop(reason=reason))

    def freeze(self, party: Party, reason: str) -> None:
        """Hold the arm until it is thawed."""
        self._executor.do(self.lease.freeze(party, reason, monotonic_s()))

    def thaw(self, party: Party) -> None:
        """Let it be driven again."""
        self._executor.do(self.lease.thaw(party, monotonic_s()))

    def take_up(self, kept: Keepsake, now_s: float) -> str:
        """Go on with the lease of a server before this one; gives what there is to say about it."""
        return self._executor.take_up(kept, now_s)

    @property
    def occupied(self) -> bool:
        """Whether somebody has the arm, or keeps it still."""
        return self.lease.driver is not None or bool(self.lease.frozen or self.lease.latched)

    def summary(self, now_s: float, why_not: str, self_test: wire.SelfTestBrief | None) -> wire.ArmSummary:
        """The arm in a list."""
        return wire.ArmSummary(
            arm=self.arm,
            title=self.rig.title,
            robot=self.rig.robot.id,
            real=self.standing.real,
            mode=self.loop.mode,
            lease=self.lease.brief(now_s),
            bookable=not why_not,
            why_not=why_not,
            camera=self.camera is not None,
            watchers=len(self.channels),
            self_test=self_test,
            lamp=lamp(self.loop.mode, self.lease.brief(now_s), alarm=self.live.alarmed,
                      starting=self._presence.starting_s(now_s) is not None),
            away=self.loop.away,
            starting_s=self._presence.starting_s(now_s),
        )  # fmt: skip

    def telemetry(self, now_s: float) -> wire.Telemetry:
        """The arm as it is."""
        age_s = None if self.camera is None else self.camera.age_s(now_s)
        lease, silence_s = self.lease.brief(now_s), self.standing.lease.stop_after_s
        return self.live.telemetry(now_s, lease, silence_s, age_s, self._presence.starting_s(now_s))

    # -- what time brings --------------------------------------------------------------------------------

    def observe(self, now_s: float) -> None:
        """Time has passed: every 50 ms or so."""
        if self.loop.process is not None:
            self.loop.process.beat()
        self._vouch(now_s)
        self._executor.observe(now_s)
        if (news := self._presence.news(now_s)) is not None:
            self.channels.send_of(wire.VERSION, news)
        if self.camera is not None and self.lease.phase is LeasePhase.HELD:
            self._watch_pictures(self.camera, now_s)
        else:
            self._pictures.forget()

    def _vouch(self, now_s: float) -> None:
        """Have the axes of a fake driven that the wiring has placed, as often as something breaks that off."""
        if not self._executor.kept_still and self._coming_up.due(now_s):
            with contextlib.suppress(InterlockError):
                self.loop.send(Confirm(positions=self.rig.park, by=_WIRING, supply_on=True))

    def _watch_pictures(self, camera: Camera, now_s: float) -> None:
        """A driver who needs a picture and has none is stopped, once."""
        camera.want()
        mode = self.loop.mode
        at_stake = mode in WRITING or mode is Mode.ARMED or self._planner.at_work
        news = self._pictures.look(self.lease.driver, camera.age_s(now_s), at_stake=at_stake)
        if news is NoticeKind.PICTURE_STALE:
            self.hold("the camera's picture is too old")
            self.channels.tell(news, camera.trouble or "the camera's picture is too old: the arm holds")
        elif news is not None:
            self.channels.tell(news, "the camera's picture is fresh again; arm anew to move")

    def look_round(self, now_s: float) -> None:
        """What has to be looked at every second: tokens that ended, and how the arm is for the calendar."""
        for channel in self.channels:
            if not self._house.still_counts(channel.visitor):
                self._answers.note(channel.visitor, "token ended", "cut")
                channel.end(Code.TOKEN, "the token does not count any more; ask for a new one")
                self.leave(channel)
        condition = self._how()
        if condition != self._condition:
            self._condition = condition
            self._house.set_condition(self.arm, *condition)

    def _how(self) -> tuple[Condition, str]:
        mode = self.loop.mode
        if self._presence.starting_s(monotonic_s()) is not None:
            return Condition.STARTING, ""
        if self.loop.away:
            return Condition.AWAY, self.loop.away
        if mode in LOST_MODES or mode is Mode.UNKNOWN_POSE:
            return Condition.FAULT, self.live.trouble or f"its mode is {mode.value}"
        if self.lease.phase is LeasePhase.CLEARING:
            return Condition.CLEARING, ""
        return Condition.READY, ""

    # -- what the arm says -------------------------------------------------------------------------------

    def report_came(self, report: ArmReport) -> None:
        """News from the worker."""
        now_s = monotonic_s()
        self.live.take(report, now_s)
        self.holding.take(report)
        self._coming_up.begun(report.mode)
        self.loop.reported(report.mode)
        for event in report.events:
            self.channels.tell(NoticeKind.LOOP, event)
        self._self_test.take(report, now_s, self.live.trouble)
        if (news := self.holding.news(now_s)) is not None:
            self.channels.send(lambda channel: news)
        self.channels.audience.show(now_s, lambda speaks: self._frame(now_s, speaks))

    def _frame(self, now_s: float, speaks: int) -> bytes:
        return wire.encode_telemetry(self.telemetry(now_s), speaks)

    def arm_lost(self, words: str) -> None:
        """The worker is gone."""
        self._self_test.lost(words)
        self.loop.lost(words)
        self._coming_up.lost()
        self.live.forget()
        self.holding.forget()
        self.channels.tell(NoticeKind.ARM_LOST, f"{self.arm} is not there: {words}")
        self._house.note(Deed(who="", what="arm", verdict="lost", arm=self.arm, detail=words))


def _led(message: wire.ClientMessage) -> object:
    """What a hand asks for with this, which shows that it is there if it is another thing than before; else None."""
    match message:
        case wire.JogHold(move=move):
            return move
        case wire.FollowTarget(target=target):
            return target
        case _:
            return None
