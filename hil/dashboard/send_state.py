"""Sending a previewed motion: what is still missing, arming it by one press, and running it while a hand is on it."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QObject, Signal

from hil.dashboard.dead_man import Grip
from hil.dashboard.drive_scripts import PLANNED_S
from hil.dashboard.link import FarArm
from hil.dashboard.preview_state import PreviewState
from hil.dashboard.session import Session
from hil.dashboard.texts import LEASES, MODES, tr
from hil.errors import HilError, InterlockError
from hil.service import wire
from hil.service.lab_request import RefusedByLabError
from hil.service.rights import Action, may, who_may
from hil.service.wire import Code, Previewed
from hil.types import Mode

GRIPS = 2
"""Times that a hand which was counted too early is waited for anew."""

READY = (Mode.IDLE, Mode.HOLDING)


class SendState(QObject):
    """Of the motion that is previewed.

    Signals:
        changed: something that is shown may be different now.

    Attributes:
        busy: the service was asked to arm, and has not answered yet.
        running: the motion was started from here and is not over.
        words: what came of the last press.
    """

    changed = Signal()

    def __init__(self, session: Session, previewing: PreviewState) -> None:
        super().__init__()
        self._session, self._previewing = session, previewing
        self.busy = self.running = False
        self.words = ""
        self._armed = ""
        self._grip: Grip | None = None
        previewing.changed.connect(self._look_anew)
        session.stopping.connect(lambda: self.drop(tr("stopped")))
        session.linked.connect(self._look_at_link)

    # -- what is so --------------------------------------------------------------------------------------

    @property
    def armed(self) -> bool:
        """Whether the arm waits for the motion that is previewed."""
        told, frame = self._previewing.previewed, self._session.newest
        return bool(
            told is not None and self._armed == told.digest != "" and frame is not None and frame.mode is Mode.ARMED
        )

    @property
    def held(self) -> bool:
        """Whether a hand is on it."""
        return self._grip is not None

    @property
    def progress(self) -> float | None:
        """Part of the motion that is done; None while it does not run."""
        frame = self._session.newest
        return frame.progress if self.running and frame is not None else None

    def missing(self) -> tuple[str, ...]:
        """What has to be so before the motion may be sent, one thing each; the service looks at all of it again."""
        return tuple(self._missing())

    def _missing(self) -> Iterator[str]:
        session, told = self._session, self._previewing.previewed
        if told is None or not told.certificate:
            yield tr("a certificate: only a motion that passes every check has one")
            return
        welcome, frame = session.welcome, session.newest
        if welcome is None or session.parted:
            yield tr("the service: {reason}", reason=session.parted or tr("not connected yet"))
            return
        if frame is None or not session.live:
            yield tr("news of the arm: nothing is heard of it")
            return
        now_epoch_s = welcome.now_epoch_s + frame.now_s - welcome.now_s
        if told.until_epoch_s is not None and told.until_epoch_s <= now_epoch_s:
            yield tr("a certificate that has not ended: preview again")
        if not may(welcome.role, Action.RUN):
            yield tr("a role that may run motions: {roles}; yours is {role}", roles=who_may(Action.RUN),
                     role=welcome.role.value)  # fmt: skip
        elif session.lease is None or not session.lease.yours:
            who = tr(LEASES[frame.lease.phase], holder=frame.lease.holder or tr("somebody"))
            yield tr("your turn: {who}", who=who)
        if frame.lease.frozen:
            yield tr("a thaw: the arm is frozen")
        if frame.lease.latched:
            yield tr("a reset of the stop that is latched: {who}", who=frame.lease.latched)
        if frame.mode not in READY and not self.armed and not self.running:
            yield tr("an arm at rest with nothing armed: {mode}, {meaning}", mode=tr(MODES[frame.mode][0]),
                     meaning=tr(MODES[frame.mode][1]))  # fmt: skip
        if not self.running:
            yield from self._off_start(told, frame.commanded)

    def _off_start(self, told: Previewed, present: tuple[float | None, ...]) -> Iterator[str]:
        arm = self._session.arm
        if arm is None:
            return
        off = []
        for axis, here, start, within in zip(arm.axes, present, told.start, told.start_within, strict=False):
            if here is None:
                off.append(tr("{axis} is not known", axis=axis.name))
            elif abs(here - start) > within:
                way = (here - start) / axis.unit
                off.append(tr("{axis} {way:+.1f} {unit}", axis=axis.name, way=way, unit=axis.unit_name))
        if off:
            yield tr("the start pose: {off} off it; go there, or preview again from here", off=", ".join(off))

    # -- what people do ----------------------------------------------------------------------------------

    def claim(self) -> None:
        """Ask for the lease."""
        self._session.link.ask(lambda arm: arm.claim(), self._told)

    def arm(self) -> None:
        """The first press: the service loads the motion and arms; nothing moves by it."""
        told = self._previewing.previewed
        if told is None or self.busy or self.missing():
            return
        digest = told.digest
        self.busy, self.words = True, ""

        def came(result: HilError | None) -> None:
            self.busy = False
            self._armed = "" if isinstance(result, HilError) else digest
            self._told(result)

        self._session.link.ask(lambda arm: arm.arm_motion(digest), came)
        self.changed.emit()

    def press(self) -> None:
        """The second press: the motion runs from now on, as long as it lasts."""
        if not self.armed or self.held:
            return
        digest, grip = self._armed, self._session.dead_man.take_hold(self._dropped)
        self._grip = grip
        self.running, self.words = True, ""

        async def run(arm: FarArm) -> Mode | None:
            await arm.free()
            try:
                if grip.held:
                    await arm.grip()
            except InterlockError:
                # Whoever lets go while it begins has not been refused anything.
                if grip.held:
                    raise
            if not grip.held:
                return None
            mark = arm.mark
            await _start(arm, digest, grip)
            return await arm.settled(mark, PLANNED_S)

        self._session.link.ask(run, lambda result: self._over(grip, result))
        self.changed.emit()

    def release(self) -> None:
        """The hand is gone: the arm holds, unless the motion is over."""
        if (grip := self._grip) is not None:
            self._grip = None
            self._session.dead_man.let_go(grip)
            self.changed.emit()

    def drop(self, why: str) -> None:
        """The hand, or the eye, is gone, for this reason."""
        if self.held:
            self.words = tr("let go: {why}", why=why)
            self.release()

    def _dropped(self, why: str) -> None:
        """What was held counts no more, whatever the hand does."""
        self.words = why
        self.release()

    # -- what becomes of it ------------------------------------------------------------------------------

    def _told(self, result: object) -> None:
        if isinstance(result, HilError):
            self.words = str(result)
            self._session.note(self.words)
        self.changed.emit()

    def _over(self, grip: Grip, result: Mode | HilError | None) -> None:
        self.running = False
        if self._grip is grip:
            if not grip.held:
                self.words = tr("the window was busy, the arm has stopped: let go and press again")
            self.release()
        if result is None:
            self.words = tr("Let go before it began: hold it until the motion is done.")
            self.changed.emit()
            return
        self._armed = ""
        if result is Mode.IDLE:
            self.words = tr("The motion is done.")
        elif isinstance(result, HilError):
            self.words = str(result)
        else:
            self.words = self.words or tr("The arm holds: the motion was cut short.")
        self._session.note(self.words)
        self.changed.emit()

    def _look_anew(self) -> None:
        if not self.running:
            self._armed, self.words = "", ""
        self.changed.emit()

    def _look_at_link(self) -> None:
        if self._session.parted:
            self.drop(tr("there is no service"))
            self._armed = ""
        self.changed.emit()


async def _start(arm: FarArm, digest: str, grip: Grip) -> None:
    """Begin what is armed; that an earlier hand was gone may reach the lab's books after this one came."""
    for _ in range(GRIPS):
        try:
            await arm.request(wire.Start, digest=digest)
            return
        except RefusedByLabError as error:
            if error.refused.code is not Code.DEADMAN or not grip.held:
                raise
            await arm.grip()
    await arm.request(wire.Start, digest=digest)
