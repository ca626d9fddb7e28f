"""One arm's worker: a process that owns the rig's host and answers to the server, and to nothing else."""

from __future__ import annotations

import select
import socket
from collections import deque
from datetime import datetime
from pathlib import Path

from hil.clock import monotonic_s
from hil.errors import ConfigError, HilError, InterlockError, JournalError, LinkClosed
from hil.model.rig import Rig
from hil.runtime.divergence import DivergenceView
from hil.runtime.host import Host, Room
from hil.runtime.loop_process import LoopSlot
from hil.runtime.rtprio import answer_at_once
from hil.runtime.terminal_signals import leave_the_terminal_to_the_owner
from hil.service.arm_channel import ArmReport, Ask, Ended, Leave, Starting, WorkerEnd
from hil.service.retention import new_journal
from hil.types import (
    WRITING,
    EnergiseCommand,
    JointCommand,
    LimitHit,
    Mode,
    Record,
    Request,
    Stop,
    Supply,
    TickRecord,
)

POLL_S = 0.02
MOVING_REPORT_S = 0.04
RESTING_REPORT_S = 0.1
SERVER_SILENT_S = 0.25
"""A server that gives no sign of life for so long counts as a lost driver."""

_MOVING = WRITING | {Mode.ARMED}
_MOST_EVENTS = 200
"""Events kept while the server takes no reports."""


class ArmSpec(Record, frozen=True):
    """All that a worker needs, handed over when it is started.

    Attributes:
        url: real port; or None for a fake of the worker's own, in the park pose. Empty for the port that the rig's own
            adapter has when a worker is started: whoever starts it puts that in.
        journals: folder for the motion's journals.
        slot: the loop's share of the machine.
        room: memory, and length of a journal's file.
    """

    rig: Rig
    url: str | None
    journals: Path
    command: str
    address: str
    slot: LoopSlot
    room: Room = Room()


def run_arm(spec: ArmSpec, end: socket.socket) -> None:
    """Own the arm until told to leave, the server is gone, or the loop has ended."""
    told: list[str] = []
    leave_the_terminal_to_the_owner(lambda: told.append("the worker was told to end"))
    channel = WorkerEnd(end)
    channel.send(Starting())
    reports = Reports(spec.rig)

    def starts(words: str) -> None:
        channel.send(Starting(words=words))
        reports.say(words)

    try:
        with Host(
            spec.rig,
            url=spec.url,
            journal=_journal(spec),
            command=spec.command,
            address=spec.address,
            slot=spec.slot,
            room=spec.room,
            on_record=reports.take,
            say=starts,
        ) as host:
            # Behind a busy server its sign of life to the loop must not be late.
            answer_at_once()
            words = _Worker(spec, host, channel, reports).serve(told)
        channel.send(Ended(words=words, again=True))
    except (InterlockError, ConfigError) as error:
        channel.send(Ended(words=str(error), again=False))
    except HilError as error:
        channel.send(Ended(words=str(error), again=True))
    finally:
        channel.close()


def _journal(spec: ArmSpec) -> Path:
    try:
        spec.journals.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(f"{spec.journals}: no journal can be made here: {error.strerror}") from None
    return new_journal(spec.journals, spec.rig.id, datetime.now())


class Reports:
    """Follows the loop's records, and joins them into reports."""

    def __init__(self, rig: Rig) -> None:
        self._last: TickRecord | None = None
        self._commanded: list[float | None] = [None] * len(rig.axes)
        self._divergence = DivergenceView(rig)
        self._ticks, self._written, self._late_s, self._work_s = 0, 0, 0.0, 0.0
        self._hits: dict[tuple[str, str], LimitHit] = {}
        self._forwarded: deque[Request] = deque()
        self.supply = Supply.UNSAID
        self._asked = 0
        self.events: list[str] = []

    @property
    def taken(self) -> int:
        """How many of the server's requests the loop has taken."""
        return self._asked - len(self._forwarded)

    def ask(self, request: Request, forwarded: bool) -> None:
        """The server has asked for something, which went into the loop's mailbox or not."""
        self._asked += 1
        if forwarded:
            self._forwarded.append(request)

    @property
    def mode(self) -> Mode:
        """Mode at the end of the newest tick."""
        return self._last.mode if self._last is not None else Mode.DISCONNECTED

    def take(self, record: TickRecord) -> None:
        """A tick has come."""
        self._last = record
        for request in record.requests:
            # The mailbox keeps the order; between them are requests of the worker's own, and of the loop's watch.
            if self._forwarded and request == self._forwarded[0]:
                self._forwarded.popleft()
        self._ticks += 1
        self._written += len(record.written)
        if record.supply is not None:
            self.supply = record.supply
            if self.supply is Supply.CUT:
                self._commanded[:] = [None] * len(self._commanded)
        self._late_s, self._work_s = max(self._late_s, record.late_s), max(self._work_s, record.work_s)
        if record.sent is not None:
            if isinstance(record.wanted, JointCommand):
                self._commanded[:] = record.wanted.positions
            elif isinstance(record.wanted, EnergiseCommand):
                self._commanded[record.wanted.axis] = record.wanted.position
        if record.released is not None:
            self._commanded[record.released] = None
        self._divergence.take(
            record.t_s, record.mode, self._commanded, record.setpoint, record.simulated, record.reported
        )
        for hit in record.hits:
            self._hits[hit.check, hit.axis] = hit
        self.say(*record.events)

    def say(self, *events: str) -> None:
        """Words for the next report; the oldest are dropped if it never comes."""
        self.events.extend(events)
        del self.events[:-_MOST_EVENTS]

    def report(self, now_s: float) -> ArmReport | None:
        """What became of the arm since the report before; None before the first tick."""
        last = self._last
        if last is None:
            return None
        reported = last.reported
        report = ArmReport(
            tick=last.tick,
            t_s=last.t_s,
            sent_s=now_s,
            mode=last.mode,
            sample=last.sample,
            commanded=tuple(self._commanded),
            setpoint=last.setpoint,
            simulated=last.simulated.positions,
            reported=None if reported is None else reported.positions,
            source=None if reported is None else reported.source,
            wire_s=None if reported is None else max(0.0, last.t_s - reported.t_s),
            taken=self.taken,
            ticks=self._ticks,
            written_bytes=self._written,
            late_s=self._late_s,
            work_s=self._work_s,
            missed=last.missed,
            hits=tuple(self._hits.values()),
            events=tuple(self.events),
            supply=self.supply,
            errors=self._divergence.errors,
            alarm=self._divergence.alarm,
        )
        self._ticks, self._written, self._late_s, self._work_s = 0, 0, 0.0, 0.0
        self._hits.clear()
        self.events.clear()
        return report


class _Worker:
    """Goes round between server and loop."""

    def __init__(self, spec: ArmSpec, host: Host, channel: WorkerEnd, reports: Reports) -> None:
        self._spec, self._host, self._channel, self._reports = spec, host, channel, reports
        self._heard_s = monotonic_s()
        self._alone = False
        self._reported_s, self._reported = 0.0, (Mode.DISCONNECTED, 0)
        self._leave = ""

    def serve(self, told: list[str]) -> str:
        """Serve until there is a reason to end; returns it."""
        host = self._host
        while not (self._leave or told):
            # A socket that has been given up would be ready for ever.
            select.select([self._channel], [], [], POLL_S)
            now_s = monotonic_s()
            self._listen(now_s)
            farewell = host.farewell  # asked before its records are taken: none comes after it
            host.poll()
            if farewell or not host.alive:
                self._report(now_s)
                return farewell or (host.events[-1] if host.events else "the loop has ended")
            host.events.clear()  # they have come with the records, but for the owner's own
            while host.remarks:
                self._reports.say(host.remarks.pop(0))
            self._watch(now_s)
            self._report(now_s)
            if not host.recorded and self._reports.mode not in _MOVING:
                return "its journal is not kept any more, for the recorder has ended"
        return self._leave or told[0]

    def _listen(self, now_s: float) -> None:
        try:
            messages = self._channel.receive()
        except LinkClosed as error:
            self._leave = str(error)
            self._send(Stop(reason=self._leave))
            return
        if messages:
            self._heard_s, self._alone = now_s, False
        for message in messages:
            if isinstance(message, Ask):
                for request in message.requests:
                    self._reports.ask(request, self._send(request))
            elif isinstance(message, Leave):
                self._leave = message.reason

    def _watch(self, now_s: float) -> None:
        if (
            self._reports.supply is Supply.CUT
            and not self._host.real
            and self._reports.mode in (Mode.FAULT, Mode.ESTOP)
        ):
            # Nobody can switch its logic off: a new one stands in the park pose, and its board drives nothing.
            self._leave = "the servo supply of a fake was said to be cut: another fake takes its place"
        if not self._alone and now_s - self._heard_s > SERVER_SILENT_S:
            self._alone = True
            if self._reports.mode in _MOVING:
                self._send(Stop(reason=f"no sign of life from the server for {SERVER_SILENT_S * 1e3:.0f} ms"))

    def _send(self, request: Request) -> bool:
        """Put a request into the loop's mailbox; False if it was not taken."""
        try:
            self._host.send(request)
        except HilError as error:
            self._reports.say(f"refused: {error}")
            return False
        return True

    def _report(self, now_s: float) -> None:
        mode = self._reports.mode
        every_s = MOVING_REPORT_S if mode in _MOVING else RESTING_REPORT_S
        state = mode, self._reports.taken
        news = bool(self._reports.events) or state != self._reported
        # Half a poll early rather than a whole one late.
        if not (news or now_s - self._reported_s > every_s - POLL_S / 2) or not self._channel.clear:
            return
        report = self._reports.report(now_s)
        if report is not None:
            self._channel.send(report)
            self._reported_s, self._reported = now_s, state
