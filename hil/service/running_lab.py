"""The lab while it runs: all desks, the previews, the calendar, the audit, and the beat that keeps time for them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import msgspec

from hil.clock import monotonic_s
from hil.errors import ConfigError, HilError, InterlockError, JournalError
from hil.model.rig import Rig
from hil.runtime.loop_process import LoopSlot
from hil.service import wire
from hil.service.arm_channel import ArmReport
from hil.service.arm_worker import ArmSpec
from hil.service.arms import BEAT_S, ArmProcess, ServedArm
from hil.service.audit import AuditLog, Deed, Now
from hil.service.bookings import Bookings, Condition, Reserved
from hil.service.camera import Camera, Drawn, MotionJpeg, Snapshots, Source
from hil.service.desk import ArmDesk
from hil.service.doors import Door, Visitor
from hil.service.gate import GateSettings
from hil.service.house import Frozen
from hil.service.journal_heads import ARM_AWAY, HEAD, LAB_ENDS, MARKED, JournalHead, newest_heads
from hil.service.kept_leases import KeptLeases
from hil.service.keys import SigningKey
from hil.service.preview_desk import PreviewDesk
from hil.service.retention import delete_old
from hil.service.self_test import Outcome
from hil.service.self_test_results import SelfTests
from hil.service.settings import Settings, kept_address
from hil.service.sketch import Sketch
from hil.service.standing import Standing
from hil.service.token_clock import TokenClock
from hil.service.tokens import TokenError
from hil.service.uploads import room_of
from hil.service.wire import NoticeKind

if TYPE_CHECKING:
    from hil.service.courses.books import Courses

DAY_S = 86_400.0
TIDY_EVERY_S = 600.0
JOURNALS_EVERY_S = 60.0
_EPOCHS_A_SECOND = 1000
"""Epochs begin at the time of day in such parts, above all that a server before this one can have used."""


class MakeArm(Protocol):
    """Makes what keeps an arm's worker running."""

    def __call__(
        self,
        spec: ArmSpec,
        *,
        on_report: Callable[[ArmReport], None],
        on_away: Callable[[str], None],
        turn: asyncio.Semaphore,
    ) -> ServedArm:
        """Ready to be started."""
        ...


class ArmPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One arm that the lab will have.

    Attributes:
        url: real port, empty for wherever the rig's own adapter is; None for a fake.
        vouched: the wiring confirms the pose of the fake that it has made.
        camera: URL; None for the drawn picture of a fake, and none for a real arm.
    """

    arm: str
    rig: Rig
    url: str | None = None
    vouched: bool = False
    camera: str | None = None

    @property
    def place(self) -> str:
        """Where a real arm is, in words."""
        return self.url or f"the adapter {self.rig.adapter_serial}"


class RunningLab:
    """Everything behind the server's doors.

    Args:
        settings: the lab's.
        plans: its arms.
        door: lets people in.
        bookings: the calendar.
        audit_folder: where the audit is kept.
        audit_key: signs it.
        journals: folder for journals of motion, and for nothing else: old ones are deleted.
        command: what was typed, for whoever finds a rig taken.
        address: where the lab answers, for the same.
        say: tells whoever runs the server what is wrong.
        slots: which share of the machine each arm's loop gets.
        make_arm: makes what keeps an arm's worker running.
        self_tests: file for the arms' newest self-tests; None to forget them at the end.
        leases: file for who has which arm; None to forget it at the end.
        courses: whose results are let go of at the end; None for none.

    Raises:
        ConfigError: two arms have one rig.
        JournalError: the audit cannot be kept.
    """

    def __init__(
        self,
        settings: Settings,
        plans: Sequence[ArmPlan],
        *,
        door: Door,
        bookings: Bookings,
        audit_folder: Path,
        audit_key: SigningKey,
        journals: Path,
        command: str,
        address: str,
        say: Callable[[str], None],
        slots: Mapping[str, LoopSlot] = MappingProxyType({}),
        make_arm: MakeArm = ArmProcess,
        self_tests: Path | None = None,
        leases: Path | None = None,
        courses: Courses | None = None,
    ) -> None:
        served_before = audit_folder.is_dir() and any(audit_folder.iterdir())
        _refuse_shared_rigs(plans)
        self.settings, self.door, self.bookings, self.journals = settings, door, bookings, journals
        daily = frozenset(arm for arm, one in settings.arms.items() if one.daily_self_test)
        self.self_tests = SelfTests(self_tests, daily, say)
        self.audit_folder, self.audit_pem = audit_folder, audit_key.public.pem
        self.courses = courses
        self.trouble = ""
        self._token_clock = TokenClock(time.time, monotonic_s, say)
        rigs = {plan.arm: plan.rig for plan in plans}
        # Whoever wants to park does not wait for somebody's long program, nor does a second person.
        self.previews, self.uploads = PreviewDesk(rigs), PreviewDesk(rigs, places=2)
        self._audit = AuditLog(audit_folder, audit_key, _now(), retention_days=settings.audit.retention_days)
        self._reserved: dict[str, Reserved] = {}
        self._journal_heads: dict[str, JournalHead] = {}
        self._plans, self._command, self._address, self.say = tuple(plans), command, address, say
        self._slots, self._make_arm = slots, make_arm
        self._tasks: list[asyncio.Task[None]] = []
        self._signing: asyncio.Task[None] | None = None
        first_epoch = int(time.time() * _EPOCHS_A_SECOND)
        self.desks: dict[str, ArmDesk] = {plan.arm: self._desk(plan, first_epoch) for plan in plans}
        bookings.ask_whether_occupied(lambda arm: self.desks[arm].occupied)
        self._leases = KeptLeases(leases, expected=served_before, now_epoch_s=time.time(), say=say)
        for arm, kept in self._leases.found.items():
            if arm in self.desks and (words := self.desks[arm].take_up(kept, monotonic_s())):
                say(words)

    def _desk(self, plan: ArmPlan, first_epoch: int) -> ArmDesk:
        pictures = self.settings.pictures
        gate = GateSettings(
            picture_needed=pictures.needed,
            picture_last_s=pictures.oldest_s,
            picture_full_s=min(0.5, pictures.oldest_s / 2.0),
        )
        standing = Standing(
            real=plan.url is not None,
            vouched=plan.vouched,
            server=self.settings.name,
            lease=self.settings.lease,
            gate=gate,
        )
        desk = ArmDesk(self, plan.arm, plan.rig, standing, None, first_epoch)
        source = _camera(plan, desk)
        desk.camera = None if source is None else Camera(source)
        return desk

    # -- life --------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin: start the arms' workers a few at a time, keep time, let people in."""
        # A loop's tick comes before all else on its core; what starts must not crowd the others.
        turn = asyncio.Semaphore(max(1, (os.cpu_count() or 2) // 2))
        for plan in self._plans:
            desk = self.desks[plan.arm]
            spec = ArmSpec(
                rig=plan.rig,
                url=plan.url,
                journals=self.journals,
                command=self._command,
                address=self._address,
                slot=self._slots.get(plan.arm, LoopSlot()),
                room=room_of(plan.rig),
            )
            process = self._make_arm(spec, on_report=desk.report_came, on_away=desk.arm_lost, turn=turn)
            desk.loop.process = process
            process.start()
        self._refresh_calendar()
        loop = asyncio.get_running_loop()
        self._signing = loop.create_task(self._sign_for_journals())
        self._tasks = [loop.create_task(self._beat()), loop.create_task(self._look_round()), self._signing]
        for task in self._tasks:
            task.add_done_callback(self._ended)
        self._tasks.append(loop.create_task(self.previews.warm_up()))

    async def close(self, reason: str) -> None:
        """End: say so, have every arm stopped and held, close the books."""
        for desk in self.desks.values():
            desk.hold(reason)
            desk.channels.tell(NoticeKind.SERVER_ENDS, reason)
            for channel in desk.channels:
                channel.end(wire.Code.UNAVAILABLE, reason)
        processes = [desk.loop.process for desk in self.desks.values() if desk.loop.process is not None]
        if self._signing is not None:
            self._signing.cancel()  # the journals end now, and their ends are noted below
        # The workers need the beat until they have ended.
        await asyncio.gather(*(process.close(reason) for process in processes))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for desk in self.desks.values():
            if desk.camera is not None:
                await desk.camera.close()
        for previews in (self.previews, self.uploads):
            await asyncio.get_running_loop().run_in_executor(None, previews.close)
        await self.note_journals(self.desks, LAB_ENDS)
        with contextlib.suppress(JournalError):
            self._audit.close(reason, _now())
        self.bookings.close()
        if self.courses is not None:
            self.courses.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """One of the lab's own tasks is over; before the lab's end that is a fault, and no arm is driven with it."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        self.trouble = "the lab has a fault of its own; tell its owner"
        self.say(f"{self.trouble}: {type(error).__name__}: {error}. Nothing moves until the server is started anew")
        for desk in self.desks.values():
            desk.hold(self.trouble)

    async def _beat(self) -> None:
        """A sign of life for the workers, and time for leases; a late one is not made up for."""
        while True:
            now_s = monotonic_s()
            for desk in self.desks.values():
                desk.observe(now_s)
            await asyncio.sleep(BEAT_S)

    async def _look_round(self) -> None:
        tidied_s = float("-inf")
        while True:
            now_s = monotonic_s()
            for desk in self.desks.values():
                desk.look_round(now_s)
            self._keep_books(lambda: self._audit.tick(_now()))
            self._refresh_calendar()
            self.keep_leases(aged=True)
            if now_s - tidied_s > TIDY_EVERY_S:
                tidied_s = now_s
                await self.tidy(time.time())
            await asyncio.sleep(1.0)

    async def _sign_for_journals(self) -> None:
        """Each minute the journals of all arms, and at once that of an arm that has gone away."""
        noted_s, there = monotonic_s(), set[str]()
        while True:
            now_s, before = monotonic_s(), there
            there = {arm for arm, desk in self.desks.items() if not desk.loop.away}
            await self.note_journals(before - there, ARM_AWAY)
            if now_s - noted_s >= JOURNALS_EVERY_S:
                noted_s = now_s
                await self.note_journals(there, HEAD)
            await asyncio.sleep(1.0)

    async def note_journals(self, arms: Collection[str], verdict: str) -> None:
        """Write into the audit how far the journals of these arms have grown, where they have."""
        if not arms:
            return
        rigs = {arm: self.desks[arm].rig.id for arm in arms}
        heads = await asyncio.get_running_loop().run_in_executor(None, newest_heads, self.journals, rigs)
        for arm, head in heads.items():
            if head != self._journal_heads.get(arm):
                self._journal_heads[arm] = head
                self.note(head.deed(arm, verdict))

    async def vouch(self, arm: str) -> None:
        """Sign for all that this arm's journal and the audit say up to now."""
        await self.note_journals([arm], MARKED)
        self._keep_books(lambda: self._audit.sign(_now()))

    async def tidy(self, now_epoch_s: float) -> None:
        """Forget slots and delete journals as the settings want it."""
        kept = self.settings.audit
        oldest_s = now_epoch_s - kept.retention_days * DAY_S
        try:
            self.bookings.forget_before(oldest_s)
        except ConfigError as error:
            self.say(str(error))
        most_bytes = int(kept.journals_gb * 1e9)
        tidy = functools.partial(delete_old, self.journals, oldest_s, most_bytes, now_epoch_s)
        await asyncio.get_running_loop().run_in_executor(None, tidy)

    # -- what desks ask for ------------------------------------------------------------------------------

    def note(self, deed: Deed) -> None:
        """Write into the audit."""
        kept = kept_address(deed.origin, self.settings.audit) if deed.origin else ""
        deed = msgspec.structs.replace(deed, origin=kept)
        self._keep_books(lambda: self._audit.note(deed, _now()))

    def _keep_books(self, write: Callable[[], None]) -> None:
        """A service that cannot say who moved what lets nobody move anything."""
        try:
            write()
        except JournalError as error:
            if not self.trouble:
                self.say(f"the audit cannot be kept, so that nothing moves any more: {error}")
                self.trouble = "the audit cannot be kept; tell the lab's owner"
                for desk in self.desks.values():
                    desk.hold(self.trouble)

    def token_epoch_s(self) -> float:
        """The time of day by which tokens are judged."""
        return self._token_clock.now_s()

    def still_counts(self, visitor: Visitor) -> bool:
        """Whether a visitor's token counts now."""
        try:
            self.door.recheck(visitor, self.token_epoch_s())
        except TokenError:
            return False
        return True

    def reserved(self, arm: str, now_s: float) -> tuple[str, float | None]:
        """Whose booking counts now, and until when, as the calendar said within the last second."""
        found = self._reserved.get(arm)
        if found is None:
            return "", None
        until_s = None if found.until_s is None else found.until_s - time.time() + now_s
        return (found.slot.user if found.slot is not None else ""), until_s

    def come(self, arm: str, user: str) -> None:
        """Somebody drives; if it is booked for that person, the booking is taken up."""
        found = self._reserved.get(arm)
        if found is not None and found.slot is not None and found.slot.user == user and not found.slot.claimed:
            with contextlib.suppress(HilError):
                self.bookings.claim(found.slot.id, user, time.time())

    def extend(self, arm: str, user: str, minutes: float, until_epoch_s: float | None) -> None:
        """Make this person's booking longer, if there is one now; the token's end is the latest."""
        found = self._reserved.get(arm)
        if found is not None and found.slot is not None and found.slot.user == user:
            allowed_until_s = math.inf if until_epoch_s is None else until_epoch_s
            self.bookings.extend(found.slot.id, minutes, time.time(), allowed_until_s=allowed_until_s)
            self._refresh_calendar()

    def end_booking(self, arm: str, user: str) -> None:
        """The booking that counts now is over."""
        self.bookings.dismiss(arm, user, time.time())
        self._refresh_calendar()

    def keep_leases(self, *, aged: bool = False) -> None:
        """Write down who has which arm, where that has changed; with `aged` also that it is so still."""
        now_s = monotonic_s()
        kept = {arm: desk.lease.keepsake(now_s) for arm, desk in self.desks.items()}
        self._leases.keep(kept, time.time(), aged=aged)

    def set_condition(self, arm: str, condition: Condition, reason: str) -> None:
        """How the arm is, for the calendar."""
        self.bookings.set_condition(arm, condition, reason)

    def tested(self, arm: str, outcome: Outcome) -> None:
        """What came of an arm's self-test; the audit has it also where this cannot be written."""
        try:
            self.self_tests.note(arm, outcome, time.time())
        except OSError as error:
            self.say(f"{arm}: the result of its self-test is not kept: {error}")

    def everywhere(self, visitor: Visitor, act: Callable[[Frozen], None]) -> None:
        """Do something at every desk that the visitor's token is for; one that cannot does not hinder the others."""
        errors: list[HilError] = []
        for desk in (desk for arm, desk in self.desks.items() if visitor.grant.covers(arm)):
            try:
                act(desk)
            except HilError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    # -- what visitors ask for ---------------------------------------------------------------------------

    def desk(self, arm: str, visitor: Visitor) -> ArmDesk:
        """The desk of an arm that the visitor may see.

        Raises:
            InterlockError: there is none; of arms that the token is not for nothing is told.
        """
        if arm not in self.desks or not visitor.grant.covers(arm):
            seen = [name for name in self.desks if visitor.grant.covers(name)]
            raise InterlockError(f"there is no arm of that name for you; there are: {', '.join(seen) or 'none'}")
        return self.desks[arm]

    def list_arms(self, visitor: Visitor) -> wire.Lab:
        """All arms that the visitor may see."""
        now_s, now_epoch_s = monotonic_s(), time.time()
        return wire.Lab(
            server=self.settings.name,
            now_s=now_s,
            now_epoch_s=now_epoch_s,
            arms=tuple(
                desk.summary(now_s, self.bookings.why_not(arm), self.self_tests.brief(arm, now_epoch_s))
                for arm, desk in self.desks.items()
                if visitor.grant.covers(arm)
            ),
        )

    def _refresh_calendar(self) -> None:
        now_epoch_s = time.time()
        with contextlib.suppress(ConfigError):
            self._reserved = {arm: self.bookings.reserved(arm, now_epoch_s) for arm in self.desks}

    def calendar_changed(self) -> None:
        """Look at the calendar now, not within a second."""
        self._refresh_calendar()


def _now() -> Now:
    return Now(epoch_s=time.time(), monotonic_s=monotonic_s())


def _camera(plan: ArmPlan, desk: ArmDesk) -> Source | None:
    if plan.camera is not None:
        return MotionJpeg(plan.camera) if plan.camera.endswith(STREAMS) else Snapshots(plan.camera)
    if plan.url is not None:
        return None
    sketch = Sketch(plan.rig)

    def draw() -> bytes:
        report = desk.live.report
        return sketch.png(() if report is None else report.simulated, time.time())

    return Drawn(draw)


STREAMS = (".mjpg", ".mjpeg", "action=stream", "stream")
"""Ends of addresses that give a stream of pictures; others give one picture each time."""


def _refuse_shared_rigs(plans: Sequence[ArmPlan]) -> None:
    seen: set[str] = set()
    for plan in plans:
        if plan.rig.id in seen:
            allowed = "a rig of its own for each arm"
            advice = f'One with nothing but `inherit = "{plan.rig.id}"` will do'
            raise ConfigError(f"arm {plan.arm}", "rig", plan.rig.id, allowed, advice)
        seen.add(plan.rig.id)
