"""Moves that somebody asks the service to plan: to a pose, of the gripper alone, or a self-test."""

from __future__ import annotations

from functools import partial

from hil.clock import monotonic_s
from hil.errors import CommandError, HilError, InterlockError
from hil.model.rig import Rig
from hil.service import wire
from hil.service.answers import Answers
from hil.service.channel import Channel
from hil.service.current_self_test import CurrentSelfTest
from hil.service.gate import Gate, GateVerdict, MotionFacts
from hil.service.grants import WorkBox
from hil.service.lease import Lease
from hil.service.lease_executor import LeaseExecutor
from hil.service.live_arm import LiveArm
from hil.service.move_planner import MovePlanner
from hil.service.self_test import SLOWEST_PERCENT, self_test_task
from hil.service.uploads import Job
from hil.service.uploads import UploadVerdict as Preview
from hil.service.wire import Code
from hil.types import Record


class _Asked(Record, frozen=True):
    """A move that the gate has let through.

    Attributes:
        verdict: of the gate.
        epoch: of the lease, under which it was asked for.
        box: inside which its whole way has to be found.
    """

    message: wire.Planned
    verdict: GateVerdict
    epoch: int
    box: WorkBox | None


class PlannedMoves:
    """Those of one arm. They are planned in their own time, so that all is looked at again before they are made.

    Args:
        rig: what the arm is.
        live: what is known of it.
        lease: of the arm.
        gate: judges what was planned.
        executor: brings the lease up to now.
        planner: plans, and makes what is still wanted.
        self_test: follows one.
        answers: tell whoever asked.
    """

    def __init__(
        self,
        rig: Rig,
        live: LiveArm,
        lease: Lease,
        gate: Gate,
        executor: LeaseExecutor,
        planner: MovePlanner,
        self_test: CurrentSelfTest,
        answers: Answers,
    ) -> None:
        self._rig, self._live, self._lease, self._gate, self._executor = rig, live, lease, gate, executor
        self._planner, self._self_test, self._answers = planner, self_test, answers

    def begin(self, channel: Channel, message: wire.Planned, verdict: GateVerdict) -> None:
        """Have it planned; it is answered once it has begun, or cannot.

        Raises:
            InterlockError: another one is on its way, or where the arm stands is not known.
            CommandError: this arm cannot make it.
        """
        if self._planner.at_work:
            raise InterlockError("the move before is still being planned", ["a turn"])
        if self._self_test.under_way:
            raise InterlockError("the self-test is not over; stop it, or wait", ["a turn"])
        start = self._live.pose
        if start is None:
            raise InterlockError("where the arm stands is not known", ["known pose"])
        box = channel.visitor.grant.box
        job = job_of(self._lease.arm, self._rig, message, start, 100.0 * verdict.speed_share, box)
        asked = _Asked(message=message, verdict=verdict, epoch=self._lease.epoch, box=box)
        self._planner.begin(job, partial(self._planned, channel, asked), partial(self._failed, channel, asked))

    def _planned(self, channel: Channel, asked: _Asked, preview: Preview) -> None:
        """Make it, if after all that may have changed meanwhile it still may be."""
        now_s, lease, message = monotonic_s(), self._lease, asked.message
        self._executor.observe(now_s)
        if not (lease.is_driver(channel.number) and lease.epoch == asked.epoch and lease.held(now_s)):
            raise InterlockError("the dead-man was released, or the lease has changed, meanwhile", ["dead-man"])
        self._planner.check_wanted()
        if not preview.ok:
            refused = GateVerdict(code=Code.PREVIEW, reason=preview.words or "refused")
            self._answers.refuse(channel, message, refused, preview.refusals)
            return
        visitor = channel.visitor
        moved = MotionFacts(user=visitor.user, peak_share=preview.peak_share, box=asked.box)
        planned = self._gate.judge_planned(moved, visitor.grant, asked.verdict.speed_share)
        if not planned.allowed:
            self._answers.refuse(channel, message, planned)
            return
        self._planner.make(preview)
        if isinstance(message, wire.SelfTest):
            self._self_test.begin(preview)
        text = f"a move of {preview.duration_s:.1f} s"
        self._answers.accept(channel, message, asked.verdict, text, digest=preview.digest)

    def _failed(self, channel: Channel, asked: _Asked, error: HilError) -> None:
        self._answers.refuse(channel, asked.message, GateVerdict(code=Code.MODE, reason=str(error)))


def job_of(
    arm: str, rig: Rig, message: wire.Planned, start: tuple[float, ...], speed_percent: float, box: WorkBox | None
) -> Job:
    """What has to be planned for a message, from this pose.

    Raises:
        CommandError: a self-test slower than one can be, or a gripper that there is not.
    """
    if isinstance(message, wire.SelfTest):
        if speed_percent < SLOWEST_PERCENT:
            raise CommandError(
                f"a self-test at {speed_percent:.2g} % of the rig's speeds; allowed: {SLOWEST_PERCENT:g} at least"
            )
        text = self_test_task(rig, start, speed_percent)
        return Job(arm=arm, language="task", name="self-test", text=text, start=start, box=box)
    if isinstance(message, wire.Go):
        goal = rig.park if message.to == "park" else rig.home
    else:
        gripper = rig.gripper
        if gripper is None:
            raise CommandError(f"{arm} has no gripper")
        goal = (*start[:gripper], message.opening_m, *start[gripper + 1 :])
    name = type(message).__name__.lower()
    return Job(arm=arm, language="move", name=name, start=start, goal=goal, speed_percent=speed_percent, box=box)
