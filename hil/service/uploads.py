"""What people send to be run: planned and previewed, with limits, in a process that does nothing else."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from hil.errors import CommandError, HilError
from hil.model.rig import AxisKind, Rig
from hil.refusal import Refusal, RefusedError
from hil.runtime.host import Room
from hil.runtime.recorder import PART_BYTES
from hil.runtime.rtprio import go_after_others
from hil.runtime.terminal_signals import leave_the_terminal_to_the_owner
from hil.service.gate import BOX_SLACK_M, SLACK
from hil.service.grants import WorkBox
from hil.service.wire import Previewed, encode
from hil.types import Record
from hil.units import DEG, MM

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from hil.link import FloatArray
    from hil.motion.motion import Motion
    from hil.runtime.preview import PreviewReport

LONGEST_MOTION_S = 900.0
LONGEST_PART_S = 1000.0
"""Of a motion that cannot be planned to its end, and is only looked at."""

MOST_MEMORY_BYTES = 4 << 30
"""Address space of the process: numpy's libraries alone claim a good part of one."""

_NUMBER_BYTES = 9
"""A number of a motion, with something to spare."""

_RECORDS_BYTES = 2 << 20
"""Half a minute of ticks: much longer than a recorder may be silent."""

_REQUESTS_BYTES = 1 << 20
T = TypeVar("T")
_KEPT_EACH = 8
_KEPT_BYTES = 64 << 20
_TIMELINES_EACH = 2
_TIMELINES_BYTES = 16 << 20
"""Of timelines, which are fetched at once or never."""


class Job(Record, frozen=True):
    """Something to plan and preview.

    Attributes:
        arm: whose rig.
        language: ``task``, ``melfa`` (a MELFA-BASIC program), or ``move`` for a single move of all axes.
        text: the task or program file.
        points: the program's list of positions.
        name: of the file, for messages.
        start: pose in which the motion begins, rad or m per axis; None for the task's own.
        goal: of a move.
        speed_percent: of a move.
        box: where the tool point has to stay; None for the rig's own fences.
        most_share: part of the rig's speeds that may be used.
        timeline: whether somebody may want to look at it.
        asked_by: whose turn it takes; empty for the arm's own.
    """

    arm: str
    language: Literal["task", "melfa", "move"]
    name: str = ""
    text: str = ""
    points: str = ""
    start: tuple[float, ...] | None = None
    goal: tuple[float, ...] = ()
    speed_percent: float = 100.0
    box: WorkBox | None = None
    most_share: float = 1.0
    timeline: bool = False
    asked_by: str = ""


class UploadVerdict(Record, frozen=True):
    """What came of it.

    Attributes:
        words: why nothing could be planned, or the headline of the refusals; empty if all is well.
        motion, certificate: their bytes; empty if refused.
        certificate_digest, until_epoch_s: of the certificate.
        digest: of the motion.
        peak_share: largest part of the rig's speeds that the motion uses.
        start: pose in which it begins; empty where nothing was planned.
        start_within: how far each axis may stand from there.
        box: that the tool's path was held against.
        notes: tight places, in words.
        timeline: a `Timeline` as JSON, also of a motion that was refused or could not be planned to its end.
        timeline_name: under which it is kept.
    """

    words: str = ""
    refusals: tuple[Refusal, ...] = ()
    motion: bytes = b""
    certificate: bytes = b""
    certificate_digest: str = ""
    until_epoch_s: float | None = None
    digest: str = ""
    duration_s: float = 0.0
    peak_share: float = 0.0
    start: tuple[float, ...] = ()
    start_within: tuple[float, ...] = ()
    box: WorkBox | None = None
    notes: tuple[str, ...] = ()
    timeline: bytes = b""
    timeline_name: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is a certificate."""
        return bool(self.certificate)


_decode_job = msgspec.msgpack.Decoder(Job).decode
_decode_verdict = msgspec.msgpack.Decoder(UploadVerdict).decode
_encode = msgspec.msgpack.Encoder().encode


def room_of(rig: Rig) -> Room:
    """What an arm's processes need for the longest motion that is let through here, and for what comes meanwhile."""
    motion_bytes = int(LONGEST_MOTION_S / rig.period_s * len(rig.axes) * _NUMBER_BYTES)
    return Room(
        # Twice: while a motion is loaded, the one before may still have to be recorded.
        ring_bytes=2 * motion_bytes + _RECORDS_BYTES,
        mailbox_bytes=motion_bytes + _REQUESTS_BYTES,
        part_bytes=PART_BYTES,
    )


class Shelf:
    """Previewed motions of one arm, until they are run; the oldest make room, each holder's own first."""

    def __init__(self) -> None:
        self._motions: _Kept[UploadVerdict] = _Kept(_KEPT_EACH, _KEPT_BYTES)
        self._timelines: _Kept[bytes] = _Kept(_TIMELINES_EACH, _TIMELINES_BYTES)

    def keep(self, holder: str, verdict: UploadVerdict) -> None:
        """Keep a motion, and what is to be seen of it, for whoever had it previewed."""
        if verdict.timeline:
            self._timelines.put((holder, verdict.timeline_name), verdict.timeline, len(verdict.timeline))
        if verdict.ok:
            motion = replace(verdict, timeline=b"")
            self._motions.put((holder, verdict.digest), motion, len(verdict.motion))

    def find(self, holder: str, digest: str) -> UploadVerdict | None:
        """The motion with this digest, if this holder had it previewed."""
        return self._motions.find((holder, digest))

    def timeline(self, holder: str, name: str) -> bytes | None:
        """The timeline with this name, if this holder had it previewed lately."""
        return self._timelines.find((holder, name))


class _Kept(Generic[T]):
    """The newest of what people had made, so many of each and so many bytes of all."""

    def __init__(self, each: int, most_bytes: int) -> None:
        self._each, self._most_bytes = each, most_bytes
        self._kept: OrderedDict[tuple[str, str], tuple[T, int]] = OrderedDict()

    def put(self, key: tuple[str, str], thing: T, size: int) -> None:
        self._kept.pop(key, None)
        self._kept[key] = thing, size
        own = [other for other in self._kept if other[0] == key[0]]
        for old in own[: -self._each]:
            del self._kept[old]
        while len(self._kept) > 1 and sum(size for _, size in self._kept.values()) > self._most_bytes:
            self._kept.popitem(last=False)

    def find(self, key: tuple[str, str]) -> T | None:
        found = self._kept.get(key)
        return None if found is None else found[0]


def told(arm: str, verdict: UploadVerdict, name: str) -> Previewed:
    """What became of an upload, for whoever sent it; `name` is theirs."""
    return Previewed(
        arm=arm,
        ok=verdict.ok,
        refusals=verdict.refusals,
        digest=verdict.digest,
        certificate=verdict.certificate,
        certificate_digest=verdict.certificate_digest,
        until_epoch_s=verdict.until_epoch_s,
        made_for=name if verdict.ok else "",
        start=verdict.start,
        start_within=verdict.start_within,
        duration_s=verdict.duration_s,
        peak_share=verdict.peak_share,
        timeline=verdict.timeline_name,
        notes=(*((verdict.words,) if verdict.words else ()), *verdict.notes),
    )


# -- the process -----------------------------------------------------------------------------------------


def serve_previews(rigs: Mapping[str, Rig], connection: Connection, cpu_s: float) -> None:
    """Answer jobs until the server is gone.

    Args:
        rigs: by the arm's name.
        connection: to the server.
        cpu_s: work that a job may take. One that takes more is the end of this process.
    """
    leave_the_terminal_to_the_owner()
    _limit_memory()
    go_after_others()
    with contextlib.suppress(EOFError, OSError):
        while True:
            job = _decode_job(connection.recv_bytes())
            _limit_work(cpu_s)
            answer = _encode(judge(rigs, job))
            _limit_work(0.0)
            connection.send_bytes(answer)


def _limit_work(cpu_s: float) -> None:
    """The system ends this process after so much work of all its threads; 0 for no limit."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, cpu_s)


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = MOST_MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MOST_MEMORY_BYTES, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def judge(rigs: Mapping[str, Rig], job: Job) -> UploadVerdict:
    """Plan and preview one job; never raises for what stands in it."""
    rig = rigs[job.arm]
    try:
        motion, refused = _motion(rig, job)
        if refused is not None and motion.duration_s > LONGEST_PART_S:
            raise refused
        if refused is None and motion.duration_s > LONGEST_MOTION_S:
            return UploadVerdict(
                words=f"a motion of {motion.duration_s:.0f} s given; allowed: {LONGEST_MOTION_S:.0f}. "
                "Split it into shorter ones"
            )
        return _judge_motion(rig, job, motion, refused)
    except HilError as error:
        words, refusals = _said(error)
        return UploadVerdict(words=words, refusals=refusals)
    except (MemoryError, RecursionError) as error:
        return UploadVerdict(words=f"the preview needs more than there is: {type(error).__name__}")
    except Exception as error:
        # A fault of ours: whoever sent it is not to blame, and the next one must not wait for a new process.
        return UploadVerdict(words=f"the preview has failed ({type(error).__name__}: {error}); tell the lab's owner")


def _said(error: HilError) -> tuple[str, tuple[Refusal, ...]]:
    """What an error says: of refusals the headline, and they themselves."""
    if isinstance(error, RefusedError):
        return str(error).partition("\n")[0], error.refusals
    return str(error), ()


def _judge_motion(rig: Rig, job: Job, motion: Motion, refused: HilError | None) -> UploadVerdict:
    """What becomes of a motion, or of as much of one as could be planned."""
    import numpy as np

    from hil.model.start_tolerance import start_tolerances
    from hil.robot import Robot
    from hil.runtime.preview import preview
    from hil.safety.checker import check_motion
    from hil.safety.over_time import OverTime
    from hil.service.timelines import timeline_of

    robot = Robot(rig.robot)
    samples = np.asarray(motion.samples, dtype=np.float64)
    tool_m = robot.forward_kinematics(samples[:, : robot.dof])[:, :3, 3]
    over_time = OverTime(len(samples)) if job.timeline else None
    planned = UploadVerdict(
        duration_s=motion.duration_s,
        peak_share=_peak_share(rig, samples, tool_m),
        start=motion.start,
        start_within=start_tolerances(rig),
    )
    if refused is not None:
        check_motion(rig, robot, motion, over_time)
        words, refusals = _said(refused)
        verdict = replace(planned, words=words, refusals=refusals)
    elif words := _beyond_the_token(job, planned.peak_share, tool_m):
        check_motion(rig, robot, motion, over_time)
        verdict = replace(planned, words=words)
    else:
        verdict = _reported(planned, job, motion, preview(rig, motion, over_time=over_time))
    if over_time is None:
        return verdict
    timeline = timeline_of(job.arm, motion, over_time, complete=refused is None)
    return replace(verdict, timeline=encode(timeline), timeline_name=timeline.name)


def _reported(planned: UploadVerdict, job: Job, motion: Motion, report: PreviewReport) -> UploadVerdict:
    if report.certificate is None:
        return replace(planned, words="refused", refusals=report.refusals)
    tightest = sorted(report.worst_margins, key=lambda margin: margin.margin)[:3]
    return replace(
        planned,
        motion=motion.to_bytes(),
        certificate=report.certificate.to_bytes(),
        certificate_digest=report.certificate.digest,
        until_epoch_s=report.certificate.expires_epoch_s,
        digest=motion.digest,
        box=job.box,
        notes=tuple(f"[{m.check}] {m.subject}: {m.limit}, margin {m.margin:.3g} {m.unit}" for m in tightest),
    )


def _motion(rig: Rig, job: Job) -> tuple[Motion, HilError | None]:
    """What is asked for, as far as it can be planned, and why no further."""
    from hil.model.files import parse_toml
    from hil.motion.planner import plan_joint_move, plan_until_refused
    from hil.motion.tasks import task_from_table
    from hil.robot import Robot

    if job.start is not None and len(job.start) != len(rig.axes):
        raise CommandError(f"start: {len(job.start)} positions given; allowed: {len(rig.axes)}, one per axis")
    if job.language == "move":
        assert job.start is not None
        return plan_joint_move(rig, job.start, job.goal, speed_percent=job.speed_percent), None
    if job.language == "melfa":
        return _program(rig, job)
    task = task_from_table(parse_toml(job.text.encode(), job.name), job.name)
    if job.start is not None:
        task = replace(task, start=_start(rig, job.start))
    return plan_until_refused(rig, Robot(rig.robot), task)


def _program(rig: Rig, job: Job) -> tuple[Motion, HilError | None]:
    """A program played through once. Nobody is there to read signals for it while it runs here."""
    from hil.program.points import parse_points
    from hil.program.program_plan import plan_program_until_refused
    from hil.program.structure import parse_program

    points = parse_points(job.points, f"points of {job.name}")
    program = parse_program(job.text, name=job.name.upper(), points=points, file=job.name)
    joints = None if job.start is None else [at for at, axis in zip(job.start, rig.axes, strict=True)
                                             if axis.kind is not AxisKind.GRIPPER]  # fmt: skip
    plan, refused = plan_program_until_refused(rig, program, start=joints, most_s=LONGEST_MOTION_S)
    if refused is None and (plan.expected or plan.texts):
        return plan.motion, CommandError(
            f"{job.name} reads signals or lines of text; allowed here: programs that read none. "
            "Run it beside the arm with `hil program`"
        )
    return plan.motion, refused


def _start(rig: Rig, positions: tuple[float, ...]) -> object:
    """A pose as a task says it, in degrees and millimetres."""
    from hil.motion.tasks import Start

    of_kind: dict[AxisKind, dict[str, float]] = {kind: {} for kind in AxisKind}
    for axis, position in zip(rig.axes, positions, strict=True):
        of_kind[axis.kind][axis.name] = position / (DEG if axis.kind is AxisKind.REVOLUTE else MM)
    return Start(
        joints_deg=of_kind[AxisKind.REVOLUTE] or None,
        joints_mm=of_kind[AxisKind.PRISMATIC] or None,
        opening_mm=next(iter(of_kind[AxisKind.GRIPPER].values()), None),
    )


def _peak_share(rig: Rig, samples: FloatArray, tool_m: FloatArray) -> float:
    """The largest part of the rig's speeds that a motion uses."""
    import numpy as np

    if len(samples) < 2:
        return 0.0
    axes = np.abs(np.diff(samples, axis=0)) / rig.period_s / np.array([axis.speed for axis in rig.axes])
    tool_m_s = np.linalg.norm(np.diff(tool_m, axis=0), axis=1) / rig.period_s
    return max(float(axes.max()), float(tool_m_s.max()) / rig.tool_speed_m_s)


def _beyond_the_token(job: Job, peak_share: float, tool_m: FloatArray) -> str:
    """Why the token does not allow it; empty if it does."""
    if peak_share > job.most_share + SLACK:
        return (
            f"the motion uses {100.0 * peak_share:.0f} % of the rig's speeds; the token allows "
            f"{100.0 * job.most_share:.0f} %. Add speed_percent to its steps"
        )
    if job.box is None or _keeps_to(job.box, tool_m):
        return ""
    ends = zip(tool_m.min(axis=0), tool_m.max(axis=0), job.box.lower_m, job.box.upper_m, strict=True)
    spans = [(f"{least / MM:z.0f} to {most / MM:z.0f}", f"{low / MM:z.0f} to {high / MM:z.0f}")
             for least, most, low, high in ends]  # fmt: skip
    seen, fits = (", ".join(words) for words in zip(*spans, strict=True))
    return f"the tool's path spans {seen} mm in x, y, z; the token allows {fits} mm"


def _keeps_to(box: WorkBox, tool_m: FloatArray) -> bool:
    """Whether a path is inside the box, or comes nearer with every step until it is."""
    import numpy as np

    gaps = np.maximum(np.maximum(np.array(box.lower_m) - tool_m, tool_m - np.array(box.upper_m)), 0.0)
    off_m = np.linalg.norm(gaps, axis=1)
    outside = off_m > BOX_SLACK_M
    # Standing still outside, as before and after a move, leads nowhere.
    return bool((~outside[1:] | (outside[:-1] & (off_m[1:] <= off_m[:-1] + SLACK))).all())
