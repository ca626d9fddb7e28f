"""A run on an arm, marked from the journal that the lab itself wrote, held against what the lab has signed of it.

Nothing that a student sends is believed: who started which motion when stands in the audit, whose chain and signatures
are checked; what the arm did stands in the journal, whose chain is held against the heads in the audit. In a process
of its own, ``python -m hil.service.courses.driven``, behind all others; started by `hand_ins.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from hil.errors import HilError, JournalError
from hil.figures.options import require_matplotlib
from hil.labs.exercise import Exercise as Asked
from hil.labs.grade_records import Marked, Setup
from hil.model.rig import AxisKind, Rig
from hil.own_program import PYTHON
from hil.robot import Robot
from hil.runtime.journal import FIRST_CHAIN, EndKind, EndRecord, GapRecord, SessionRecord, next_chain, read_payloads
from hil.runtime.rtprio import go_after_others
from hil.runtime.wiring import rig_of_session
from hil.service.audit import Deed
from hil.service.audit_query import JOURNAL, checked
from hil.service.keys import PublicKey
from hil.types import Mode, Record, Start, StateSource, TickRecord
from hil.units import DEG, MM

LATELY_S = 24 * 3600.0
"""A run that is older is not looked for."""

APART_S = 5.0
"""Between what the audit and what the journal say of one start: the way to the loop, and clocks that were set a bit."""

HEAD_EVERY_S = 120.0
"""Twice the time between two heads: which journal an arm wrote at some moment stands in the audit so close to it."""

MOST_RUN_TICKS = 200_000
MOST_S = 180.0
RUNS = frozenset({Mode.ARMED, Mode.STREAMING, Mode.STOPPING})


class DrivenJob(Record, frozen=True):
    """What is looked for.

    Attributes:
        audit, journals: folders of the lab.
        audit_key: public, as PEM.
        arm: on which it was driven.
        who: id of the token that drove.
        asked: the exercise.
        seed: of its hidden numbers.
        student: for whom it counts.
        now_epoch_s: seconds since 1970.
        pictures: draw one where something fails.
    """

    audit: str
    audit_key: bytes
    journals: str
    arm: str
    who: str
    asked: Asked
    seed: int | None
    student: str
    now_epoch_s: float
    pictures: bool = True


class DrivenVerdict(Record, frozen=True):
    """What came of it.

    Attributes:
        marked: None if there is nothing to mark.
        words: why there is not.
        forged: the journal or the audit is not as the lab signed it.
    """

    marked: Marked | None = None
    words: str = ""
    forged: bool = False


class NoRunError(HilError):
    """There is no run to be marked; in words for the student."""


class ForgedError(HilError):
    """A journal or audit is not what the lab has signed."""


class _Head(Record, frozen=True):
    name: str
    n: int
    chain: str
    t_s: float


def mark_driven(job: DrivenJob) -> DrivenVerdict:
    """Find the newest run of this token on the arm, check it, mark it. Never raises for what stands there."""
    try:
        return DrivenVerdict(marked=_marked(job))
    except ForgedError as error:
        return DrivenVerdict(words=str(error), forged=True)
    except HilError as error:
        return DrivenVerdict(words=str(error))


def _marked(job: DrivenJob) -> Marked:
    from hil.labs.grade_run import mark_run, run_of_records

    start, heads = _audited(job)
    session, ticks, whole = _run_in_journal(job, start, heads)
    rig = rig_of_session(session)
    if rig.digest != session.rig_digest:
        raise ForgedError("the journal's rig is not the one that its digest names")
    robot = Robot(rig.robot)
    run = run_of_records(rig, robot, ticks)
    if not len(run.time_s):
        raise NoRunError(f"{job.arm} did not run it: {_said(ticks) or 'no sample was sent'}. Start it again")
    if not whole:
        run = replace(run, broken_off=_said(ticks) or "it was stopped")
    notes = [f"driven on {job.arm} ({session.wiring.value}), {_when(session, ticks[0])}", *_apart(rig, ticks)]
    if not whole:
        notes.append(f"it ended before its end: {run.broken_off}")
    marked, case = mark_run(job.asked, job.seed, job.student, run, start.detail, notes)
    if not job.pictures or all(mark.held == mark.cases for mark in marked.marks):
        return marked
    from hil.labs.grade_picture import picture_of

    setup = Setup(exercise=job.asked, seed=job.seed)
    with tempfile.TemporaryDirectory(prefix="hil-driven-") as folder:
        return msgspec.structs.replace(marked, picture=picture_of(setup, marked, run, case, Path(folder)))


# -- what the lab has signed -------------------------------------------------------------------------------


class _Started(Record, frozen=True):
    detail: str
    t_s: float


def _audited(job: DrivenJob) -> tuple[_Started, list[_Head]]:
    """The newest start of this token on this arm, and the heads of the arm's journals since shortly before it."""
    key = PublicKey.from_pem(job.audit_key, "the audit's key")
    started: _Started | None = None
    heads: list[_Head] = []
    since_s = job.now_epoch_s - LATELY_S
    try:
        for entry in checked(Path(job.audit), key, since_s - HEAD_EVERY_S):
            deed = entry.data
            if not isinstance(deed, Deed) or deed.arm != job.arm:
                continue
            if deed.what == JOURNAL and deed.detail:
                name, n, chain = deed.detail.rsplit(" ", 2)
                heads.append(_Head(name=name, n=int(n), chain=chain, t_s=entry.t_s))
            elif (deed.what, deed.verdict, deed.who) == ("start", "done", job.who) and entry.t_s >= since_s:
                started = _Started(detail=deed.detail, t_s=entry.t_s)
    except JournalError as error:
        raise ForgedError(f"the audit is not as the lab signed it: {error}") from None
    if started is None:
        raise NoRunError(
            f"you have started no motion on {job.arm} within the last {LATELY_S / 3600.0:.0f} h; allowed: preview a "
            "task or program, run it there, then hand the run in"
        )
    return started, [head for head in heads if head.t_s >= started.t_s - HEAD_EVERY_S]


# -- what stands in the journal ----------------------------------------------------------------------------


def _run_in_journal(
    job: DrivenJob, start: _Started, heads: Sequence[_Head]
) -> tuple[SessionRecord, list[TickRecord], bool]:
    """The session, the ticks of the run, and whether it went to its end."""
    run, session = _Run(job.arm, start), None
    for name in dict.fromkeys(head.name for head in heads):
        path = Path(job.journals) / name
        if not path.exists():
            continue
        for record in _vouched(path, [head for head in heads if head.name == name], start.t_s):
            if isinstance(record, SessionRecord):
                session = record
                run.session_begins(record)
            elif run.take(record):
                assert session is not None
                return session, run.ticks, run.whole
    if run.ticks:
        raise NoRunError(f"{job.arm} still moves, or its journal is not signed up to now; hand it in again in a moment")
    raise NoRunError(f"the run that you started on {job.arm} stands in no journal of the lab any more; run it again")


class _Run:
    """Looks for one run among the records of journals, and gathers its ticks."""

    def __init__(self, arm: str, start: _Started) -> None:
        self._arm, self._start = arm, start
        self._offset_s = 0.0
        self._sampled = False
        self.ticks: list[TickRecord] = []
        self.whole = False

    def session_begins(self, session: SessionRecord) -> None:
        """Another file; one that goes on from the one before leaves the run as it is."""
        self._offset_s = session.start_epoch_s - session.start_monotonic_s
        if session.part == 0:
            self.ticks.clear()

    def take(self, record: TickRecord | GapRecord) -> bool:
        """Take the next record; whether the run is over with it."""
        if isinstance(record, GapRecord):
            if self.ticks:
                raise NoRunError(f"{record.last - record.first + 1} ticks of the run are missing in the journal; "
                                 "run it again")  # fmt: skip
            return False
        if not self.ticks and not self._begins(record):
            return False
        self.ticks.append(record)
        self._sampled = self._sampled or record.sample is not None
        over = record.mode not in RUNS and (self._sampled or len(self.ticks) > 1)
        if len(self.ticks) > MOST_RUN_TICKS:
            raise NoRunError(f"the run on {self._arm} is longer than {MOST_RUN_TICKS} ticks")
        self.whole = over and record.mode is Mode.IDLE
        return over

    def _begins(self, tick: TickRecord) -> bool:
        apart_s = tick.t_s + self._offset_s - self._start.t_s
        return abs(apart_s) <= APART_S and any(
            isinstance(request, Start) and request.digest == self._start.detail for request in tick.requests
        )


def _vouched(path: Path, heads: Sequence[_Head], since_s: float) -> Iterator[SessionRecord | TickRecord | GapRecord]:
    """Session, and the ticks and gaps from shortly before a moment on, up to the last head that the lab has signed.

    Raises:
        ForgedError: a record is not the one that was signed.
    """
    decode = msgspec.json.Decoder(SessionRecord | TickRecord | GapRecord | EndRecord).decode
    ahead = sorted(heads, key=lambda head: head.n)
    waiting: list[SessionRecord | TickRecord | GapRecord] = []
    # What was signed well before the start needs no reading, only its part in the chain.
    unread = max((head.n for head in ahead if head.t_s < since_s - 2.0 * APART_S), default=-1)
    chain, n = FIRST_CHAIN, -1
    try:
        for n, payload in enumerate(read_payloads(path)):
            chain = next_chain(chain, payload)
            if n == 0 or n > unread:
                record = decode(payload)
                if not isinstance(record, EndRecord):
                    waiting.append(record)
                elif record.kind is EndKind.ABANDONED:
                    break
            while ahead and ahead[0].n == n:
                if ahead[0].chain != chain:
                    raise ForgedError(f"{path.name}: record {n} is not the one that the lab signed")
                ahead.pop(0)
                yield from waiting
                waiting.clear()
            if not ahead:
                return
    except (JournalError, msgspec.MsgspecError) as error:
        raise ForgedError(f"{path.name}: {error}") from None
    if ahead:
        raise ForgedError(f"{path.name}: it ends after record {n}, and the lab signed record {ahead[0].n}")


def _said(ticks: Sequence[TickRecord]) -> str:
    """Why a run did not go on, as the loop has said it."""
    words = [event for tick in ticks for event in tick.events if " -> " not in event or "stop" in event]
    return "; ".join(words[-2:])[:200]


def _when(session: SessionRecord, tick: TickRecord) -> str:
    import datetime

    at_s = tick.t_s + session.start_epoch_s - session.start_monotonic_s
    return f"{datetime.datetime.fromtimestamp(at_s).astimezone():%Y-%m-%d %H:%M:%S %Z}"


def _apart(rig: Rig, ticks: Sequence[TickRecord]) -> list[str]:
    """How far what was measured at the arm was from the model over which the run is judged; nothing where none was."""
    worst, where, unit = 0.0, "", ""
    for tick in ticks:
        if tick.reported is None or tick.reported.source is not StateSource.MEASURED:
            continue
        for axis, told, model in zip(rig.axes, tick.reported.positions, tick.simulated.positions, strict=True):
            scale, name = (DEG, "deg") if axis.kind is AxisKind.REVOLUTE else (MM, "mm")
            if told is not None and model is not None and abs(told - model) / scale > worst:
                worst, where, unit = abs(told - model) / scale, axis.name, name
    return [f"the arm's own reports were up to {worst:.1f} {unit} from the model ({where})"] if where else []


# -- the process -------------------------------------------------------------------------------------------


def mark_apart(job: DrivenJob) -> DrivenVerdict:
    """`mark_driven` in a process of its own, behind all others; blocks until it is done.

    Raises:
        HilError: it came to no end.
    """
    home = str(Path(__file__).resolve().parents[3])
    try:
        done = subprocess.run(
            [*PYTHON, "-m", "hil.service.courses.driven"],
            input=msgspec.msgpack.encode(job),
            stdout=subprocess.PIPE,
            env={**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": os.pathsep.join([home, *filter(None, sys.path)])},
            timeout=MOST_S,
            start_new_session=True,
            check=False,
        )
        return msgspec.msgpack.decode(done.stdout, type=DrivenVerdict)
    except (OSError, subprocess.TimeoutExpired, msgspec.MsgspecError):
        raise HilError("the run could not be marked: the computer was too busy; hand it in again") from None


def main() -> None:
    """Answer one job."""
    outside = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    go_after_others()
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=DrivenJob)
    try:
        require_matplotlib()
    except HilError:
        job = msgspec.structs.replace(job, pictures=False)
    with outside:
        outside.write(msgspec.msgpack.encode(mark_driven(job)))


if __name__ == "__main__":
    main()
