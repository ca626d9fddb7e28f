"""A whole arm on virtual time for tests: bridge, driver and fake controller, ticked by the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hil.model.files import find
from hil.model.rig import AxisKind, Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_task
from hil.motion.tasks import Task, load_task
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.runtime import wiring
from hil.runtime.preview import PreviewReport, preview
from hil.safety.certificate import Certificate
from hil.testing.fault_scripts import Faults, started
from hil.testing.oracle import UnsafeBytes
from hil.types import Arm, Confirm, Disconnect, Load, Mode, Record, Request, Start, Stop, TickRecord
from hil.units import DEG, MM

EPOCH_S = 1.8e9
"""Epoch seconds at virtual second 0, so that certificates and journals of tests are the same every day."""
CONNECT_S = 6.0
"""Longest handshake, a lost answer or two included."""


class VirtualArm:
    """The product's own bridge and driver over a fake controller, on a clock that moves only when the test ticks.

    A fresh arm is limp and not connected. `ready` brings it to where a motion can be armed, `run` does a whole task.
    Positions are in radians, and metres for a gripper, in the order of `rig.axes`; `position` speaks degrees and
    millimetres.

    Args:
        rig: the resolved rig.
        start: where the limp arm is; the rig's park pose if not given.
        faults: what goes wrong on the line and the board.
        profile: what kind of controller it is, name or path of a profile; None for what is usual.
        choices: further ones over the profile, by name; `hil fake --list` shows all.

    Attributes:
        rig: as given.
        start: where the limp arm was at the beginning.
        records: every tick so far.
    """

    def __init__(
        self,
        rig: Rig,
        start: Sequence[float] | None = None,
        faults: Faults | None = None,
        *,
        profile: str | Path | None = None,
        choices: Mapping[str, Any] | None = None,
    ) -> None:
        self.rig = rig
        self.records: list[TickRecord] = []
        self._faults = faults
        self._chosen = wiring.fake_choices(rig, profile, choices or {})
        self._place(rig.park if start is None else start)

    def _place(self, start: Sequence[float]) -> None:
        self.start = tuple(start)
        self._arm = wiring.virtual_arm(
            self.rig,
            self.start,
            energised=False,
            epoch_offset_s=EPOCH_S,
            faults=started(self._faults),
            chosen=self._chosen,
        )

    # -- looking at it -------------------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        """The virtual second."""
        return self._arm.clock.now_s()

    @property
    def mode(self) -> Mode:
        """The bridge's mode."""
        return self._arm.bridge.mode

    @property
    def events(self) -> list[str]:
        """Everything that was said so far: transitions, refusals, notices, faults."""
        return [event for record in self.records for event in record.events]

    @property
    def written(self) -> bytes:
        """Every byte that left for the controller."""
        return b"".join(record.written for record in self.records)

    @property
    def setpoints(self) -> tuple[float | None, ...]:
        """What the controller drives now, None for a limp axis."""
        return self._arm.fake.setpoints(self.now_s)

    def setpoints_at(self, time_s: float) -> tuple[float | None, ...]:
        """What it drives at a time before the next tick."""
        return self._arm.fake.setpoints(time_s)

    @property
    def servos(self) -> tuple[float, ...]:
        """Where the servos are now; a real arm of this kind cannot tell."""
        return self._arm.fake.servos(self.now_s)

    @property
    def first_jumps(self) -> tuple[float, ...]:
        """How far each servo jumped when it was first driven."""
        return self._arm.fake.first_jumps()

    @property
    def stop_time_s(self) -> float:
        """Longest time from a stop to the last moving pulse, as the bridge declares it."""
        return self._arm.bridge.stop_time_s

    def position(self, axis: str) -> float:
        """Where the servo of an axis is, in degrees or millimetres; KeyError if there is no such axis."""
        index = self.rig.index(axis)
        return self.servos[index] / (DEG if self.rig.axes[index].kind is AxisKind.REVOLUTE else MM)

    # -- letting time pass ---------------------------------------------------------------------------------

    def tick(self, *requests: Request, after_s: float | None = None) -> TickRecord:
        """Wait a period (or `after_s`) and tick once; the first tick comes at once."""
        wait_s = after_s if after_s is not None else self.rig.period_s if self.records else 0.0
        self._arm.clock.sleep_until(self.now_s + wait_s)
        record = self._arm.bridge.tick(self.now_s, requests)
        self.records.append(record)
        return record

    def wait(self, seconds: float) -> TickRecord:
        """Tick for that long."""
        end_s = self.now_s + seconds
        record = self.tick()
        while self.now_s < end_s - 1e-9:
            record = self.tick()
        return record

    def until(self, mode: Mode, *requests: Request, within_s: float = 10.0) -> TickRecord:
        """Tick until the mode is reached; the requests go with the first tick.

        Raises:
            AssertionError: it is not reached in time; says the mode and what was said last.
        """
        end_s = self.now_s + within_s
        record = self.tick(*requests)
        while record.mode is not mode:
            if self.now_s >= end_s:
                raise AssertionError(
                    f"mode {mode.value} not reached within {within_s:g} s, still {self.mode.value}; "
                    f"said last: {'; '.join(self.events[-3:])}"
                )
            record = self.tick()
        return record

    # -- the usual ways ------------------------------------------------------------------------------------

    def connect(self) -> VirtualArm:
        """Wait until the controller has answered; where the arm stands is not known then."""
        self.until(Mode.UNKNOWN_POSE, within_s=CONNECT_S)
        return self

    def ready(self) -> VirtualArm:
        """Connect and drive the axes one by one where the arm is, the test vouching for its pose."""
        if self.mode in (Mode.DISCONNECTED, Mode.CONNECTING):
            self.connect()
        if self.mode is Mode.UNKNOWN_POSE:
            within_s = CONNECT_S + len(self.rig.axes) * (self.rig.energise_dwell_s + 2 * self.rig.period_s)
            self.until(Mode.IDLE, Confirm(positions=self.start, by="the test"), within_s=within_s)
        return self

    def arm(self, motion: Motion) -> PreviewReport:
        """Preview a motion and arm it.

        Raises:
            RefusedError: the preview refused it, with the reasons.
            AssertionError: the bridge does not arm it; says why.
        """
        self.ready()
        report = preview(self.rig, motion, now_epoch_s=EPOCH_S + self.now_s)
        if report.certificate is None:
            raise RefusedError(report.refusals, "the preview refused it")
        self.load(motion, report.certificate)
        return report

    def load(self, motion: Motion, certificate: Certificate) -> None:
        """Load a motion with a certificate that is there already, and arm it.

        Raises:
            AssertionError: the bridge does not arm it; says why.
        """
        load = Load(motion=motion.to_bytes(), certificate=certificate.to_bytes())
        self.until(Mode.ARMED, load, Arm(digest=motion.digest), within_s=5 * self.rig.period_s)

    def begin(self, motion: Motion) -> PreviewReport:
        """Preview, arm and start a motion, and return while it runs."""
        report = self.arm(motion)
        self.until(Mode.STREAMING, Start(digest=motion.digest), within_s=5 * self.rig.period_s)
        return report

    def stream(self, motion: Motion) -> PreviewReport:
        """Preview, arm and start a motion, and wait for its end and until the servos have settled.

        Raises:
            RefusedError: the preview refused it.
            AssertionError: it was stopped on its way; says why.
        """
        report = self.begin(motion)
        self.until(Mode.IDLE, within_s=motion.duration_s + 10 * self.rig.look_ahead_s + 1.0)
        self.wait(10 * max(axis.servo_lag_s for axis in self.rig.axes) + self.rig.controller.settle_s)
        return report

    def stop(self, reason: str = "the test") -> VirtualArm:
        """Stop what moves, and wait until it holds."""
        self.until(Mode.HOLDING, Stop(reason=reason), within_s=self.stop_time_s + 1.0)
        return self

    def run(self, task: str | Path | Task) -> PreviewReport:
        """Plan a task, by name, by path, or as a `Task`, and stream it; a fresh arm is put to where it begins.

        Raises:
            ConfigError, RefusedError: the task is wrong or cannot be done, in words.
            AssertionError: it was stopped on its way; says why.
        """
        what = task if isinstance(task, Task) else load_task(find("tasks", task))
        motion = plan_task(self.rig, Robot(self.rig.robot), what)
        if not self.records:
            self._place(motion.start)
        return self.stream(motion)

    def judged(self) -> UnsafeBytes:
        """The oracle's findings on every byte that left so far."""
        return UnsafeBytes(self.rig).take(self.records)

    def close(self) -> None:
        """Disconnect, as the end of a session does; a moving arm is stopped first."""
        if self.records and not self._arm.bridge.finished:
            self.tick(Disconnect(reason="the test is over"))
            end_s = self.now_s + self.stop_time_s + 1.0
            while not self._arm.bridge.finished and self.now_s < end_s:
                self.tick()


class Streamed(Record, frozen=True):
    """What came of a task.

    Attributes:
        report: the preview's, with its certificate and margins.
        records: every tick from connecting to the end.
        final: where the servos rest, one position per axis, in rad or m.
    """

    report: PreviewReport
    records: tuple[TickRecord, ...]
    final: tuple[float, ...]


def plan_and_stream(rig: Rig, task: str | Path | Task, faults: Faults | None = None) -> Streamed:
    """Plan a task, preview it and stream it to a fresh virtual arm that stands where it begins.

    Raises:
        ConfigError, RefusedError: the task is wrong or cannot be done, in words.
        AssertionError: it was stopped on its way.
    """
    arm = VirtualArm(rig, faults=faults)
    report = arm.run(task)
    return Streamed(report=report, records=tuple(arm.records), final=arm.servos)
