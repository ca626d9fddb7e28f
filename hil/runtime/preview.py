"""Preview: every check on every sample, then the same bridge and driver on a virtual clock against the fake.

Nothing here is a flag in the loop: it is another wiring of the same parts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from hil.link import ArmLink
from hil.model.rig import Rig
from hil.motion.jog_refusals import ways_out
from hil.motion.jog_room import JogRoom
from hil.motion.motion import ExpectedInput, Motion
from hil.motion.planner import plan_joint_move
from hil.motion.refusals import in_unit, say, unit_of
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.runtime import wiring
from hil.runtime.certified_rows import wire_table
from hil.runtime.first_cause import first_fault
from hil.runtime.input_watch import AssumedInputs
from hil.runtime.report import Tracking, tracking
from hil.safety.certificate import Certificate, issue
from hil.safety.checker import check_motion
from hil.safety.findings import without_echoes
from hil.safety.guard import Guard
from hil.safety.over_time import OverTime
from hil.space.body import LiveBody
from hil.types import Arm, Confirm, JointCommand, Load, Margin, Mode, Record, Request, Start, TickRecord
from hil.version import software_version

CONNECT_DEADLINE_S = 6.0
LEFT_BY_A_WAY_OUT = ("E-02", "E-09", "E-10", "E-13")


class PreviewReport(Record, frozen=True):
    """What a preview found.

    Attributes:
        refusals: why the motion may not be sent; empty if it may.
        certificate: binds rig, motion, rates and start pose to this verdict; None if refused.
        worst_margins: the tightest place of each check.
        wire_bytes: what the driver put on the line, from connecting to the last sample.
        tracking: command against the simulated arm, per axis.
        first_move: per axis, the first jump of its servo in a guided start from the park pose, radians or metres.
    """

    refusals: tuple[Refusal, ...]
    certificate: Certificate | None
    worst_margins: tuple[Margin, ...]
    wire_bytes: bytes
    tracking: tuple[Tracking, ...]
    first_move: tuple[float, ...]
    duration_s: float
    samples: int

    def _repr_html_(self) -> str:
        from hil.figures import notebook

        verdict = "PASSED" if self.ok else "REFUSED"
        size = f"{self.duration_s:.2f} s, {self.samples} samples, {len(self.wire_bytes)} bytes on the wire"
        margins = ([m.check, m.subject, m.limit, f"{m.margin:.4g} {m.unit}"] for m in self.worst_margins)
        return notebook.page(
            notebook.heading(f"{verdict}: {size}"),
            *(notebook.line(refusal.text) for refusal in self.refusals),
            notebook.table(("check", "what", "limit", "worst margin"), margins),
        )

    @property
    def ok(self) -> bool:
        """True if nothing was refused."""
        return not self.refusals


class Rehearsed(NamedTuple):
    """A preview, and every tick of its rehearsal; none of a motion that is refused before it."""

    report: PreviewReport
    records: tuple[TickRecord, ...]


def preview(
    rig: Rig, motion: Motion, *, now_epoch_s: float | None = None, over_time: OverTime | None = None
) -> PreviewReport:
    """Prove a motion safe for a rig, or say why not.

    Args:
        rig: the resolved rig.
        motion: what is to be sent.
        now_epoch_s: time from which the certificate counts; the machine's own if not given.
        over_time: filled with the margins at all samples.
    """
    return rehearsed(rig, motion, now_epoch_s=now_epoch_s, over_time=over_time).report


def rehearsed(
    rig: Rig, motion: Motion, *, now_epoch_s: float | None = None, over_time: OverTime | None = None
) -> Rehearsed:
    """A preview with the ticks of its rehearsal, for whoever judges what the arm did; arguments as for `preview`."""
    now_epoch_s = time.time() if now_epoch_s is None else now_epoch_s
    findings = check_motion(rig, Robot(rig.robot), motion, over_time)
    refusals, certificate = _with_ways_out(rig, motion, without_echoes(findings.refusals)), None
    records: list[TickRecord] = []
    first_move: tuple[float, ...] = ()
    if not refusals:
        refusals = _second_look(rig, motion)
        table = wire_table(rig, motion)
        certificate = issue(rig, motion, findings, now_epoch_s, version=software_version(), table=table)
        first_move, jumps = _check_first_move(rig, now_epoch_s)
        records, interruptions = _rehearse(rig, motion, certificate, now_epoch_s)
        refusals = (*refusals, *jumps, *interruptions)
    report = PreviewReport(
        refusals=refusals,
        certificate=None if refusals else certificate,
        worst_margins=findings.margins,
        wire_bytes=b"".join(record.written for record in records),
        tracking=tracking(rig, records),
        first_move=first_move,
        duration_s=motion.duration_s,
        samples=len(motion.samples),
    )
    return Rehearsed(report, tuple(records))


def _with_ways_out(rig: Rig, motion: Motion, refusals: tuple[Refusal, ...]) -> tuple[Refusal, ...]:
    """Where the start does not keep a limit and the motion is refused: with what leads out of there."""
    if not any(refusal.check in LEFT_BY_A_WAY_OUT for refusal in refusals):
        return refusals
    room, robot = JogRoom(rig, LiveBody(rig)), Robot(rig.robot)
    reached = room.standing(motion.start)
    if not reached.floors or room.by_the_file(motion.start):
        return refusals
    axes, tool = room.ways_out(robot, reached, np.array(motion.start))
    poses = [name for name, pose in (("home", rig.home), ("park", rig.park)) if _leads_to(rig, robot, motion, pose)]
    words = ways_out(axes, tool, poses)
    return tuple(
        msgspec.structs.replace(refusal, advice=f"{refusal.advice} {words}")
        if refusal.check in LEFT_BY_A_WAY_OUT
        else refusal
        for refusal in refusals
    )


def _leads_to(rig: Rig, robot: Robot, motion: Motion, pose: Sequence[float]) -> bool:
    """Whether a planned move leads from the motion's start to a pose that it does not go to itself."""
    if tuple(pose) == motion.end:
        return False
    try:
        planned = plan_joint_move(rig, motion.start, pose)
    except RefusedError:
        return False
    return not check_motion(rig, robot, planned).refusals


def _second_look(rig: Rig, motion: Motion) -> tuple[Refusal, ...]:
    """What the loop's guard says of every sample: of a certified motion it is not asked again when that streams."""
    guard = Guard(rig, Robot(rig.robot))
    guard.reset(motion.start)
    for sample, row in enumerate(motion.samples.tolist()):
        verdict = guard.check(JointCommand(seq=sample, due_s=sample * rig.period_s, positions=tuple(row)))
        if verdict.hits:
            words = f"the guard refused sample {sample}: {verdict.words}"
            return (_interrupted(rig, "the rehearsal", words),)
    return ()


class _Rehearsal:
    """The bridge of one rig on a virtual clock, from DISCONNECTED on."""

    def __init__(
        self,
        rig: Rig,
        start: Sequence[float],
        *,
        energised: bool,
        now_epoch_s: float,
        expected: Sequence[ExpectedInput] = (),
    ) -> None:
        self._assumed: AssumedInputs | None = None

        def assume(link: ArmLink) -> ArmLink:
            self._assumed = AssumedInputs(link, expected)
            return self._assumed

        around = assume if expected else lambda link: link
        self._arm = wiring.virtual_arm(rig, start, energised=energised, epoch_offset_s=now_epoch_s, around=around)
        self._period_s = rig.period_s
        self.records: list[TickRecord] = []

    def run(self, requests: tuple[Request, ...], until: Mode, within_s: float) -> bool:
        """Tick until the mode is reached; False if it is not reached in time, or ever left for FAULT or HOLDING."""
        clock, bridge = self._arm.clock, self._arm.bridge
        deadline_s = clock.now_s() + within_s
        while clock.now_s() < deadline_s:
            record = bridge.tick(clock.now_s(), requests)
            self.records.append(record)
            requests = ()
            if self._assumed is not None and record.sample is not None:
                # Once sent it is the turn of the next; one that did not leave comes again.
                self._assumed.sample = record.sample + (record.sent is not None)
            clock.sleep_until(clock.now_s() + self._period_s)
            if record.mode is until:
                return True
            if record.mode in (Mode.FAULT, Mode.HOLDING):
                return False
        return False

    @property
    def first_jumps(self) -> tuple[float, ...]:
        """Per axis, how far the servo jumped when it was first driven."""
        return self._arm.fake.first_jumps()

    def words(self) -> str:
        """What was said about the cause, for a refusal: the first fault, or else what came last."""
        said = [event for record in self.records for event in record.events]
        if fault := first_fault(said):
            return fault
        causes = [event for event in said if any(word in event for word in ("stop: ", "fault: ", "refused: "))]
        return (causes or said or ["nothing was said"])[-1]


def _energise_time_s(rig: Rig) -> float:
    return CONNECT_DEADLINE_S + len(rig.axes) * (rig.energise_dwell_s + rig.period_s) + 1.0


def _check_first_move(rig: Rig, now_epoch_s: float) -> tuple[tuple[float, ...], tuple[Refusal, ...]]:
    """Drive a limp arm that rests in its park pose for the first time, and look how far each servo jumps."""
    rehearsal = _Rehearsal(rig, rig.park, energised=False, now_epoch_s=now_epoch_s)
    within_s = _energise_time_s(rig)
    if not (
        rehearsal.run((), Mode.UNKNOWN_POSE, CONNECT_DEADLINE_S)
        and rehearsal.run((Confirm(positions=rig.park, by="preview"),), Mode.IDLE, within_s)
    ):
        return (), (_interrupted(rig, "the guided first move", rehearsal.words()),)
    jumps = rehearsal.first_jumps
    quanta = rig.controller.quantum()
    refusals = [
        Refusal(
            check="E-12",
            subject=axis.name,
            limit="first move at most one step of the wire",
            margin=in_unit(axis, float(quantum - jump)),
            unit=unit_of(axis),
            nearest_allowed=say(axis, float(quantum)),
            advice="Make the park pose the pose in which the limp arm rests",
        )
        for axis, jump, quantum in zip(rig.axes, jumps, quanta, strict=True)
        if jump > quantum
    ]
    return jumps, tuple(refusals)


def _rehearse(
    rig: Rig, motion: Motion, certificate: Certificate, now_epoch_s: float
) -> tuple[list[TickRecord], tuple[Refusal, ...]]:
    """Stream the motion through driver and fake; the arm is already driven at the start pose."""
    rehearsal = _Rehearsal(rig, motion.start, energised=True, now_epoch_s=now_epoch_s, expected=motion.expected)
    load = Load(motion=motion.to_bytes(), certificate=certificate.to_bytes())
    done = (
        rehearsal.run((), Mode.UNKNOWN_POSE, CONNECT_DEADLINE_S)
        and rehearsal.run((Confirm(positions=motion.start, by="preview"),), Mode.IDLE, _energise_time_s(rig))
        and rehearsal.run((load, Arm(digest=motion.digest)), Mode.ARMED, rig.period_s * 3)
        and rehearsal.run((Start(digest=motion.digest),), Mode.IDLE, motion.duration_s + 10 * rig.look_ahead_s + 1.0)
    )
    if done:
        return rehearsal.records, ()
    return rehearsal.records, (_interrupted(rig, "the rehearsal", rehearsal.words()),)


def _interrupted(rig: Rig, what: str, words: str) -> Refusal:
    return Refusal(
        check="E-17",
        subject=rig.id,
        limit=f"{what} runs to its end on the fake controller",
        margin=-1.0,
        unit="runs",
        nearest_allowed="a run without a stop or a fault",
        advice=f"It ended early: {words}",
    )
