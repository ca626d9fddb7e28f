"""The loop's own process: nothing else in it can hold the interpreter."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from hil.clock import RealClock, monotonic_s
from hil.model.rig import Rig
from hil.runtime import wiring
from hil.runtime.attendance import Attendance
from hil.runtime.journal import SessionRecord
from hil.runtime.mailbox import MailboxReader
from hil.runtime.pace import Watch, run_paced
from hil.runtime.processes import death_of, death_of_parent
from hil.runtime.ring import RECORDER_SLOT, RingWriter
from hil.runtime.rtprio import RestingCollector, fine_timers, prepare_realtime
from hil.runtime.start_report import Step
from hil.runtime.terminal_signals import Told
from hil.types import WRITING, Disconnect, Mode, Record, Request, TickRecord

RECORDER_START_S = 10.0


class LoopSlot(Record, frozen=True):
    """Which share of the machine a loop gets from an owner of several.

    Attributes:
        core: to run on; None for the last one.
        phase_s: when in a period of the clock its tick begins; None for any time.
    """

    core: int | None = None
    phase_s: float | None = None


class LoopSpec(Record, frozen=True):
    """All that the loop's process needs, handed over when it is started."""

    rig: Rig
    ring: Path
    mailbox: Path
    session: SessionRecord
    slot: LoopSlot = LoopSlot()


def run_loop(spec: LoopSpec, recorder: Connection) -> None:
    """Connect, tick until told to leave, close the ring.

    Args:
        spec: what to run.
        recorder: end of a pipe whose other end the recorder alone holds.
    """
    told = Told(monotonic_s)
    told.listen()
    why: list[str] = []
    ring = RingWriter.attach(spec.ring)
    reached(ring, Step.LOOP)
    mailbox = MailboxReader(spec.mailbox)
    recorder_dead = death_of(recorder)
    missing = _await_journal(ring, lambda: bool(told.to_end()) or recorder_dead())
    if missing or told.to_end():
        ring.close(_interrupted_by(told.to_end()) if told.to_end() else missing)
        return
    reached(ring, Step.JOURNAL)
    bridge = wiring.serial_bridge(spec.session, spec.rig, aside=True)
    owner = Attendance(spec.rig, mailbox.age_s, lambda: bridge.by_hand)
    watch = Watch(
        death_of_parent(),
        recorder_dead,
        owner.silent_s,
        lambda: ring.unkept * spec.rig.period_s,
        lambda: ring.trouble,
        lambda: owner.allowed_s,
    )
    encode = msgspec.msgpack.Encoder().encode
    newest: deque[TickRecord] = deque(maxlen=1)

    def warm_up() -> None:
        bridge.warm_up()
        for record in newest:
            encode(record)

    clock = RealClock(warm_up)
    prepare_realtime(spec.slot.core)
    reached(ring, Step.BUILT)

    def take(now_s: float) -> tuple[Request, ...]:
        requests: tuple[Request, ...] = mailbox.take() + watch.requests(now_s)
        if (name := told.to_end()) and not why:
            why.append(_interrupted_by(name))
            requests += (Disconnect(reason=why[0]),)
        return requests

    collector = RestingCollector()

    def publish(record: TickRecord) -> None:
        ring.append(encode(record))
        owner.begin(record.t_s)
        newest.append(record)
        if record.mode not in WRITING and record.mode is not Mode.ARMED:
            collector.rests(record.t_s)

    try:
        with fine_timers():
            run_paced(bridge, clock, spec.rig.period_s, take, publish, spec.slot.phase_s)
    except Exception as error:
        bridge.give_up(clock.now_s())
        raise SystemExit(f"loop: fault in the program itself, the arm was frozen where it was: {error!r}") from error
    ring.close(": ".join(["the session ended", *[reason for reason in (watch.reason, *why) if reason][:1]]))


def _interrupted_by(name: str) -> str:
    return f"the loop was interrupted by {name}"


def reached(ring: RingWriter, step: Step) -> None:
    """Tell the owner how far this process is, and what that took."""
    ring.set_mark(step, monotonic_s(), time.process_time())


def _await_journal(ring: RingWriter, in_vain: Callable[[], bool]) -> str:
    """Nothing is sent, and no line opened, before a journal stands where it can be read back; why there is none.

    The recorder's time counts from its own first sign of life: that it reads the ring.
    """
    deadline_s: float | None = None
    while ring.kept is None:
        if ring.trouble or in_vain():
            return ring.trouble or "the recorder has ended: no motion without a journal"
        if deadline_s is None and ring.slot(RECORDER_SLOT) is not None:
            deadline_s = monotonic_s() + RECORDER_START_S
        if deadline_s is not None and monotonic_s() > deadline_s:
            return f"the recorder has not begun a journal within {RECORDER_START_S:.0f} s: no motion without one"
        time.sleep(0.005)
    return ""
