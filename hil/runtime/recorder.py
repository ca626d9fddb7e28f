"""The recorder: a process of its own that drains the loop's ring into a journal.

It outlives whoever started it, and ends when the loop has closed the ring or is gone. No motion without a journal is a
property of the file: the loop is told which records stand in it, under its name, and can be read back.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from hil.clock import Clock, RealClock
from hil.errors import CommandError, HilError, JournalError
from hil.runtime.cores import leave_the_loops_core
from hil.runtime.journal import EndKind, JournalWriter, SessionRecord, pack, part_path
from hil.runtime.journal_file import DiskFullError, Reserve, TamperedError
from hil.runtime.processes import process_alive
from hil.runtime.ring import RECORDER_SLOT, RingReader
from hil.runtime.rtprio import answer_at_once
from hil.runtime.terminal_signals import Told
from hil.types import TickRecord

DRAIN_S = 0.05
"""Time between two looks into the ring; what was found is flushed, read back and acknowledged at once."""

QUIET_S = 1.0
"""A writer whose process is gone counts as gone when nothing new came for this long."""

SILENT_S = 600.0
"""A writer that gives nothing for this long is given up even if a process with its number exists."""

TOLD_TO_END_S = 10.0
"""A recorder that is told to end has the arm stopped and waits at most so long for the loop to leave."""

PART_BYTES = 64 << 20
"""Length at which a session of days goes on in another file: twenty minutes of an arm that rests."""

_BATCH = 256


class Recorder:
    """Drains one ring into one journal, a step at a time, and tells the loop how far the journal can be read back.

    Args:
        ring: reader declared in the recorder's slot. Holds tick records, msgpack, one for every tick from 0.
        journal: fresh journal.
        alive: whether a process, given its number, is still there.
        reserve: room for the end of the journal, given back when the disk is full; None for a disk that has some.
        part_bytes: length at which the session goes on in another file; None for one file, however long.
        on_full: called with each file that is full.
    """

    def __init__(
        self,
        ring: RingReader,
        journal: JournalWriter,
        alive: Callable[[int], bool],
        *,
        reserve: Reserve | None = None,
        part_bytes: int | None = None,
        on_full: Callable[[Path], None] = lambda path: None,
    ) -> None:
        self._ring, self._journal, self._alive, self._reserve = ring, journal, alive, reserve
        self._first, self._part_bytes, self._on_full = journal.path, part_bytes, on_full
        self._decoder = msgspec.msgpack.Decoder(TickRecord)
        self._next_tick = 0
        self._last_news_s: float | None = None
        self._told_s: float | None = None
        self._spoilt: TamperedError | None = None
        self.finished = False

    def step(self, now_s: float) -> None:
        """Write what has come, acknowledge what can be read back, and end if there is nothing to wait for.

        What is wrong with the journal is told to the loop, which stops the arm and leaves.

        Raises:
            JournalError: there is nothing more to wait for, and the journal is not whole.
        """
        closed = self._ring.closed  # asked before draining: nothing comes after the mark
        if self._drain(now_s) or self._last_news_s is None:
            self._last_news_s = now_s
        self._keep()
        self._ring.beat(now_s)
        if not closed and not self._ring.trouble and self._is_full():
            self._turn_over(now_s)
        quiet_s = now_s - self._last_news_s
        if closed:
            self._end(EndKind.CLOSED, self._ring.closing_reason or "the loop ended", now_s)
        elif quiet_s > QUIET_S and not self._alive(self._ring.writer_pid):
            self._end(EndKind.ABANDONED, "the loop went away without closing its record", now_s)
        elif quiet_s > SILENT_S:
            self._end(EndKind.ABANDONED, f"the loop gave nothing for {SILENT_S:.0f} s", now_s)
        elif self._told_s is not None and (quiet_s > QUIET_S or now_s - self._told_s > TOLD_TO_END_S):
            self._end(EndKind.ABANDONED, "the recorder was told to end, and the loop did not leave", now_s)

    def leave(self, reason: str, now_s: float) -> None:
        """Have the arm stopped within its limits, and end when the loop has ended: somebody wants the recorder to."""
        if self._told_s is None:
            self._told_s = now_s
            self._ring.complain(reason)

    def _keep(self) -> None:
        """Hand over what was written, read it back, and acknowledge it, or say what is wrong."""
        if self._spoilt is not None:
            return
        try:
            self._journal.look()  # first: what is written behind a cut leaves a hole, and hides how far the file reads
            self._flush()
            self._journal.look()
        except TamperedError as error:
            self._complain(error)
            if error.spoilt:
                self._spoilt = error
        except JournalError as error:
            self._complain(error)
        else:
            self._ring.keep(self._next_tick)

    def _complain(self, error: JournalError) -> None:
        self._ring.complain(_in_short(error, self._first))

    def _flush(self) -> None:
        try:
            self._journal.flush()
        except DiskFullError as error:
            self._complain(error)
            if self._reserve is None:
                raise
            self._reserve.release()
            self._journal.flush()

    def _is_full(self) -> bool:
        return self._part_bytes is not None and self._journal.size_bytes >= self._part_bytes

    def _turn_over(self, now_s: float) -> None:
        full = self._journal
        try:
            after = full.continue_in(part_path(self._first, full.session.part + 1), now_s)
        except JournalError as error:
            self._complain(error)
            return
        self._flush()
        full.close()
        self._journal = after
        self._on_full(full.path)

    def close(self) -> None:
        """Let go of the journal, if it was not ended."""
        self._journal.close()

    def _drain(self, now_s: float) -> bool:
        """Write everything there is; True if there was something."""
        before = self._ring.next_number
        while records := self._ring.numbered(_BATCH):
            for number, payload in records:
                self._gap_before(number, now_s, "overwritten before it was recorded")
                self._write(number, payload, now_s)
            self._ring.beat(now_s)
        self._gap_before(self._ring.next_number, now_s, "too large for the ring")
        return self._ring.next_number != before

    def _write(self, number: int, payload: bytes, now_s: float) -> None:
        try:
            self._journal.tick(self._decoder.decode(payload))
        except (msgspec.DecodeError, CommandError) as error:
            self._gap_before(number + 1, now_s, f"cannot be recorded: {error}")
        else:
            self._next_tick = number + 1

    def _gap_before(self, number: int, now_s: float, reason: str) -> None:
        if number > self._next_tick:
            self._journal.gap(self._next_tick, number - 1, now_s, reason)
            self._next_tick = number

    def _end(self, kind: EndKind, reason: str, now_s: float) -> None:
        self.finished = True
        if self._spoilt is not None:
            raise self._spoilt
        if self._reserve is not None:
            self._reserve.release()
        self._journal.end(kind, reason, now_s)


def record(
    ring_path: Path,
    journal_path: Path,
    session: SessionRecord,
    clock: Clock | None = None,
    part_bytes: int | None = None,
    life_line: Connection | None = None,
    loop_core: int | None = None,
) -> None:
    """Main function of the recorder's process.

    A signal that can be caught has the arm stopped first, and then ends the journal. One that was ignored from birth,
    as by `nohup`, stays so.

    Args:
        ring_path: the loop's ring.
        journal_path: a new file.
        session: first record of the journal.
        clock: the clock that the loop runs on; the machine's own if None.
        part_bytes: length at which the session goes on in another file, and the full one is packed; None for one file.
        life_line: held until this process ends, which the loop sees at the other end.
        loop_core: that of the loop, which is left to it; None for the last one.

    Raises:
        SystemExit: the ring or the journal cannot be used; with one line that says why.
    """
    running = clock or RealClock()
    told = Told(running.now_s)
    told.listen()
    leave_the_loops_core(loop_core)
    with contextlib.ExitStack() as stack:
        try:
            ring = stack.enter_context(RingReader(ring_path, slot=RECORDER_SLOT))
            recorder = stack.enter_context(contextlib.closing(_begin(ring, journal_path, session, part_bytes)))
            # A loop whose recorder is kept waiting stops its arm.
            answer_at_once()
            while not recorder.finished:
                if name := told.to_end():
                    recorder.leave(f"the recorder was interrupted by {name}", running.now_s())
                recorder.step(running.now_s())
                if not recorder.finished:
                    running.sleep_until(running.now_s() + DRAIN_S)
        except (HilError, OSError) as error:
            raise SystemExit(f"recorder: {error}") from None


def _begin(ring: RingReader, path: Path, session: SessionRecord, part_bytes: int | None) -> Recorder:
    """Make the journal; whoever waits for it in the loop is told why there is none."""
    try:
        reserve = Reserve(path)
        journal = JournalWriter(path, session)
    except JournalError as error:
        ring.complain(_in_short(error, path))
        raise
    return Recorder(ring, journal, process_alive, reserve=reserve, part_bytes=part_bytes, on_full=pack_meanwhile)


def _in_short(error: JournalError, journal: Path) -> str:
    """Its words without the folder: they have to fit into the ring, and go to people far away too."""
    return str(error).replace(f"{journal.parent}{os.sep}", "")


def pack_meanwhile(path: Path) -> None:
    """Pack a full file beside the recorder's work; one that cannot be packed stays as it is."""
    threading.Thread(target=_pack, args=(path,), name="pack", daemon=True).start()


def _pack(path: Path) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
    with contextlib.suppress(HilError):
        pack(path)
