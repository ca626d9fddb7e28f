"""The owner's side: one rig locked, its loop and recorder started, requests sent, records watched."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from hil.clock import monotonic_s
from hil.errors import InterlockError, LinkError, LinkOpening
from hil.model.files import state_dir
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.runtime import fake_process, port_wiring, wiring
from hil.runtime.attendance import OwnPresence
from hil.runtime.clock_grain import require_fine_clock
from hil.runtime.controller_memory import ControllerMemory
from hil.runtime.cores import claim_core
from hil.runtime.driven import DRIVEN_S
from hil.runtime.first_cause import first_fault
from hil.runtime.hold_reminder import HoldingWatch
from hil.runtime.journal_end import JournalEnd, judge_end
from hil.runtime.journal_file import require_room
from hil.runtime.lock import RigLock
from hil.runtime.loop_process import LoopSlot, LoopSpec, run_loop
from hil.runtime.mailbox import MailboxWriter
from hil.runtime.processes import process_alive
from hil.runtime.recorder import record
from hil.runtime.report import LineQuality, QualityCount
from hil.runtime.ring import RingReader, RingWriter, default_folder
from hil.runtime.slow_port import LONGEST_S
from hil.runtime.start_report import Mark, StartReport, Step
from hil.runtime.starvation import Party, StarvationWatch
from hil.runtime.supply_memory import SupplyMemory
from hil.runtime.terminal_signals import HeldBack, held_back, start_unheard
from hil.safety.certificate import Certificate
from hil.types import (
    Arm,
    Confirm,
    Disconnect,
    JointState,
    Load,
    Mode,
    Record,
    Request,
    Start,
    Stop,
    SupplyCut,
    TickRecord,
)

T = TypeVar("T")
StartFake = Callable[[Rig, Path, Callable[[], None], int | None], fake_process.FakeProcess]

POLL_S = 0.02
CONNECT_S = 8.0
LOOK_S = 2.0
PATIENCE_S = 600.0
INPUTS_S = 2.0
_PREFIX = "hil-"
_ABANDONED_S = 60.0
_STOPPED = (Mode.HOLDING, Mode.ESTOP, Mode.DISCONNECTED)
"""Where an arm is that somebody stopped before its motion was looked at."""
_decode_tick = msgspec.msgpack.Decoder(TickRecord).decode


class Room(Record, frozen=True):
    """How much of the machine one arm takes.

    Attributes:
        ring_bytes, mailbox_bytes: of memory. A motion of an hour fits.
        part_bytes: length at which the journal goes on in another file; None for one file, however long.
    """

    ring_bytes: int = 32 << 20
    mailbox_bytes: int = 32 << 20
    part_bytes: int | None = None


class Host:
    """Owns one rig for as long as it is entered.

    Args:
        rig: what to run.
        url: real port, or None for a fake controller of its own, placed in the park pose.
        journal: file to write.
        command: what the user typed, for whoever finds the rig taken.
        address: where the owner can be talked to, or empty.
        slot: the loop's share of the machine, where the owner has several; None for a core that no other loop has.
        room: memory, and length of a file.
        on_record: called with every tick record, in order.
        fake: gives the fake, where `url` is None, as `fake_process.start_fake` does; None for that.
        say: takes words while the start is slow.

    Attributes:
        events: the loop's words, and the owner's own.
        remarks: the owner's own once more, which are in no record; whoever passes them on empties it.

    Raises:
        InterlockError: a real rig has another owner, is not calibrated, or the port may lead to another arm; or this
            computer's clock cannot keep its period.
        JournalError: no journal can be made; nothing was connected.
        ConfigError: what was said of its servo supply cannot be read.
        LinkError, ControllerError: connecting failed, in the driver's words.
    """

    def __init__(
        self,
        rig: Rig,
        *,
        url: str | None,
        journal: Path,
        command: str,
        address: str = "",
        slot: LoopSlot | None = None,
        room: Room | None = None,
        on_record: Callable[[TickRecord], None] = lambda record: None,
        fake: StartFake | None = None,
        say: Callable[[str], None] = lambda words: None,
    ) -> None:
        self.rig, self.journal, self._start_fake = rig, journal, fake
        self.last: TickRecord | None = None
        self._start_taken: TickRecord | None = None
        self.events: list[str] = []
        self.remarks: list[str] = []
        self._url, self._command, self._on_record = url, command, on_record
        self._address, self._slot, self._room = address, slot or LoopSlot(), room or Room()
        self._stack = contextlib.ExitStack()
        self._loop: BaseProcess | None = None
        self._recorder: BaseProcess | None = None
        self._lost = self._leaving = False
        self._say, self._starting = say, StartReport(say)
        self._held = HeldBack({})
        self._presence, self._starved = OwnPresence(rig), StarvationWatch({})
        self._quality, self._holding = QualityCount(), HoldingWatch(rig, address)
        self._supply = SupplyMemory(rig.id, url)

    # -- life --------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            # Until the arm is let go of, a signal means something only where we wait, never in between.
            self._held = stack.enter_context(held_back())
            if self._url is not None:
                # A fake of its own is nobody else's, so nobody is kept from it either.
                stack.enter_context(RigLock(state_dir(), self.rig.id, command=self._command, address=self._address))
            require_room(self.journal)
            require_fine_clock(self.rig)
            if self._slot.core is None:
                claim = stack.enter_context(contextlib.closing(claim_core()))
                self._slot = msgspec.structs.replace(self._slot, core=claim.core)
            memory, prefix = default_folder(), f"{_PREFIX}{os.getpid()}-"
            _clear_up_after_the_dead(memory, time.time())
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix, dir=memory, ignore_cleanup_errors=True))
            )
            url, fake = self._url, None
            self._memory = ControllerMemory(self.rig, url)
            if url is not None:
                port_wiring.check_arm(self.rig, url)
            self._starting.begin(monotonic_s(), Step.FAKE if url is None else Step.LOOP)
            if url is None:
                start = self._start_fake or fake_process.start_fake
                fake = start(self.rig, folder, self._while_starting, self._slot.core)
                stack.callback(fake.stop)
                self._starting.reached(Step.FAKE, Mark(at_s=monotonic_s()))
                url = fake.url
            self._start(stack, folder, url)
            served = None if fake is None else fake.process
            processes = {Party.LOOP: self._loop, Party.RECORDER: self._recorder, Party.LINE: served}
            pids = {party: process.pid for party, process in processes.items() if process is not None}
            self._starved = StarvationWatch({Party.OWNER: os.getpid(), **pids})
            self._stack = stack.pop_all()
        return self

    def _start(self, stack: contextlib.ExitStack, folder: Path, url: str) -> None:
        spawn = multiprocessing.get_context("spawn")
        ring_path, mailbox_path = folder / "ring", folder / "mailbox"
        RingWriter.create(ring_path, self._room.ring_bytes).detach()
        mailbox = MailboxWriter.create(mailbox_path, self._room.mailbox_bytes)
        self._mailbox = stack.enter_context(contextlib.closing(mailbox))
        self._mailbox.beat(monotonic_s())
        self._reader = stack.enter_context(contextlib.closing(RingReader(ring_path)))
        expected = self._memory.expected
        self._session = wiring.session_record(
            self.rig, url=url, fake=self._url is None, expected=expected, supply=self._supply.was
        )
        spec = LoopSpec(rig=self.rig, ring=ring_path, mailbox=mailbox_path, session=self._session, slot=self._slot)
        seen, held = spawn.Pipe(duplex=False)
        with seen, held:  # the recorder alone may hold that end: the loop sees its death by the pipe's
            told = (ring_path, self.journal, self._session, None, self._room.part_bytes, held, self._slot.core)
            self._recorder = spawn.Process(target=record, args=told, name="hil-recorder")
            start_unheard(self._recorder.start)
            self._loop = spawn.Process(target=run_loop, args=(spec, seen), name="hil-loop")
            start_unheard(self._loop.start)

    def _while_starting(self) -> None:
        self._held.deliver()
        self._starting.look(monotonic_s())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, let go of the line, wait until the journal is closed. No signal breaks that off."""
        self._leaving = True
        try:
            self.send(Disconnect(reason="the session ends"))
            self.until(lambda: not self.alive, within_s=self.rig.period_s + 10.0)
            self.poll()
        finally:
            for process in (self._loop, self._recorder):
                if process is not None:
                    process.join(5.0)
            self._stack.close()

    # -- talking -----------------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        """Mode at the end of the newest tick."""
        return self.last.mode if self.last is not None else Mode.DISCONNECTED

    def send(self, *requests: Request) -> None:
        """Put requests into the loop's mailbox; it takes them at its next tick, in this order."""
        for request in requests:
            self._mailbox.send(request)
            self._presence.asks(request)

    def connect(self, vouch: Callable[[JointState | None], str]) -> None:
        """Wait for the controller, have the pose confirmed, and drive the axes one by one.

        Args:
            vouch: given what the controller already drives, returns who confirms that every other axis is in its
                park pose, and the servo supply on and not cut since; may take its time, and may refuse by raising.
        """
        self.until(lambda: self.last is not None, PATIENCE_S)
        self.until(lambda: not self._opening, LONGEST_S)
        self.wait_for(Mode.UNKNOWN_POSE, CONNECT_S)
        if self._supply.doubtful:
            # Nobody is asked for a pose that may not be driven.
            self.until(lambda: not self._supply.doubtful or self.mode is not Mode.UNKNOWN_POSE, LOOK_S)
            self.wait_for(Mode.UNKNOWN_POSE, 0.0)
        by = self._ask(vouch)
        self.send(Confirm(positions=self.rig.park, by=by, supply_on=True))
        dwell_s = self.rig.energise_dwell_s + self.rig.period_s
        self.wait_for(Mode.IDLE, 2.0 + 2.0 * len(self.rig.axes) * dwell_s + DRIVEN_S)

    def run(self, motion: Motion, certificate: Certificate) -> Mode:
        """Arm and stream one certified motion.

        Returns:
            The mode in which it ended: IDLE if it ran to its end.

        Raises:
            KeyboardInterrupt: after it was stopped because of that.
        """
        self.send(Load(motion=motion.to_bytes(), certificate=certificate.to_bytes()), Arm(digest=motion.digest))
        self.wait_for(Mode.ARMED, 2.0)
        if motion.expected:
            # The controller's inputs are read from the loading on, and may be needed for the first sample.
            self.until(lambda: False, INPUTS_S)
        self._begin(motion.digest)
        ended = (Mode.IDLE, Mode.FAULT, *_STOPPED)
        try:
            self.until(lambda: self.mode in ended, within_s=motion.duration_s * 1.5 + 10.0)
        except KeyboardInterrupt as interruption:
            self.send(Stop(reason=str(interruption) or "interrupted from the keyboard"))
            self.until(lambda: self.mode in ended, within_s=10.0)
            raise
        return self.mode

    def _begin(self, digest: str) -> None:
        """Start, and see that taken: a motion of a few samples is over before anybody has looked."""
        self._start_taken = None
        self.send(Start(digest=digest))
        self.until(lambda: self._start_taken is not None or self.mode in (*_STOPPED, Mode.FAULT), 2.0)
        if self.mode in _STOPPED:
            return
        taken = self._start_taken
        if taken is None or self.mode is Mode.FAULT:
            self.wait_for(Mode.STREAMING, 0.0)
        elif refusal := _refusal(taken.events):
            raise InterlockError(refusal)

    def wait_for(self, mode: Mode, within_s: float) -> None:
        """Follow the loop until it reaches `mode`.

        Raises:
            InterlockError: a request was refused on the way, in the loop's words.
            LinkError: the loop ended, faulted, or did not get there in time.
        """
        seen = len(self.events)
        self.until(lambda: self.mode in (mode, Mode.FAULT, Mode.ESTOP) or bool(_refusal(self.events[seen:])), within_s)
        if self.mode is mode:
            return
        if self.mode is Mode.FAULT:
            raise LinkError(first_fault(self.events))
        if refusal := _refusal(self.events[seen:]):
            raise InterlockError(refusal)
        last = self.events[-1] if self.events else self.farewell or "the loop said nothing"
        words = first_fault(self.events) or last
        raise LinkError(f"{self.rig.id}: {mode.value} was not reached; the last word was: {words}")

    def _ask(self, vouch: Callable[[JointState | None], str]) -> str:
        reported = self.last.reported if self.last is not None else None
        return self.meanwhile(lambda: vouch(reported), "nobody confirmed the pose; nothing was sent")

    def meanwhile(self, action: Callable[[], T], too_late: str) -> T:
        """Do something that takes its time, in a thread of its own: the loop needs our sign of life all the while.

        Raises:
            InterlockError: it took more than ten minutes, or the loop has ended; in the words of `too_late`.
            BaseException: whatever the action raises.
        """
        answers: list[T] = []
        errors: list[BaseException] = []

        def act() -> None:
            try:
                answers.append(action())
            except BaseException as error:
                errors.append(error)

        threading.Thread(target=act, daemon=True).start()
        self.until(lambda: bool(answers or errors), within_s=PATIENCE_S)
        if errors:
            raise errors[0]
        if not answers:
            raise InterlockError(too_late if self.alive else f"{too_late}; {self.events[-1]}", ["an answer"])
        return answers[0]

    @property
    def _opening(self) -> bool:
        """True while the loop's newest word is that its port is still being opened."""
        failures = self.last.failures if self.last is not None else ()
        return any(failure.kind == LinkOpening.__name__ for failure in failures)

    def until(self, reached: Callable[[], bool], within_s: float) -> None:
        """Follow the loop until something is reached, the time is over, or the loop has ended."""
        deadline_s = monotonic_s() + within_s
        self.poll()
        while not reached() and self.alive and monotonic_s() < deadline_s:
            time.sleep(POLL_S)
            self.poll()

    @property
    def line_quality(self) -> LineQuality:
        """How well the line has answered so far."""
        return self._quality.quality

    @property
    def start_marks(self) -> Mapping[Step, Mark]:
        """When each step of its start was reached, so far."""
        return self._starting.marks

    @property
    def real(self) -> bool:
        """Its line is a real port."""
        return self._url is not None

    @property
    def supply_cut(self) -> bool:
        """Its servo supply was said to be cut: whether the arm is held nobody knows."""
        return self._supply.doubtful

    @property
    def alive(self) -> bool:
        """True while the loop's process runs."""
        return self._loop is not None and self._loop.is_alive()

    @property
    def farewell(self) -> str:
        """Why the loop has left, in its own words; empty while it runs, and if it said none."""
        return self._reader.closing_reason if self._reader.closed else ""

    def journal_end(self) -> JournalEnd:
        """What has become of the journal, read back; for whoever has left this host."""
        return judge_end(self.journal, self._session, self.last.tick + 1 if self.last is not None else 0)

    @property
    def recorded(self) -> bool:
        """True while somebody keeps the journal."""
        return self._recorder is not None and self._recorder.is_alive()

    def _remark(self, words: str) -> None:
        """Something of our own to say, if it is anything."""
        if words:
            self.events.append(words)
            self.remarks.append(words)

    def poll(self) -> None:
        """Give a sign of life, take what the loop has published, and let signals do what they do.

        Raises:
            KeyboardInterrupt: one has come.
        """
        now_s = monotonic_s()
        gap_s = self._presence.away_s(now_s, met=self.last is not None)
        self._mailbox.beat(now_s)
        self._starved.look(now_s)
        if not self._leaving:
            self._held.deliver()
        for record_bytes in self._reader.read():
            tick = _decode_tick(record_bytes)
            self.last = tick
            self._quality.take(tick)
            self.events.extend(tick.events)
            if any(isinstance(request, Start) for request in tick.requests):
                self._start_taken = tick
            if tick.controller is not None:
                self._remark(self._memory.met(tick.controller))
            if tick.supply is not None:
                self._remark(self._supply.take(tick.supply))
            self._remark(self._holding.take(tick))
            self._remark(self._starved.take(tick, now_s))
            self._on_record(tick)
        if not self._leaving and (by := self._supply.news(now_s)):
            self.send(SupplyCut(by=by))
        self._follow_start(now_s)
        if not self._leaving and gap_s:
            # A loop that stood still with us may not have missed us.
            self.send(Disconnect(reason=f"the asking program was suspended for {gap_s:.1f} s"))
            self.events.append(
                f"this program was suspended for {gap_s:.1f} s (Ctrl-Z, or a machine that stood still); stop: without "
                "its sign of life the arm is stopped and let go of"
            )
        if self._loop is not None and not self._lost and not self._loop.is_alive() and not self._reader.closed:
            self._lost = True
            self.events.append(
                "fault: the loop's process has ended without a word; the controller goes on for at most its "
                "look-ahead, then holds, and where the arm stands has to be confirmed anew"
            )

    def _follow_start(self, now_s: float) -> None:
        """Say how far a slow start is, until the loop's first tick."""
        if self._starting.over:
            return
        for step in (Step.LOOP, Step.JOURNAL, Step.BUILT):
            if (mark := self._reader.mark(step)) is not None:
                self._starting.reached(step, Mark(at_s=mark[0], cpu_s=mark[1]))
        if self.last is None:
            self._starting.look(now_s)
        else:
            self._starting.end(now_s)


def _clear_up_after_the_dead(memory: Path, now_epoch_s: float) -> None:
    """An owner that was killed leaves its ring and mailbox behind, in memory; the next one takes them away."""
    for folder in memory.glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            old = now_epoch_s - folder.stat().st_mtime > _ABANDONED_S
            if pid.isdigit() and old and not process_alive(int(pid)):
                shutil.rmtree(folder, ignore_errors=True)


def _refusal(events: Sequence[str]) -> str:
    """The first refusal among the loop's words; empty if there is none."""
    return next((event for event in events if event.startswith("refused: ")), "")
