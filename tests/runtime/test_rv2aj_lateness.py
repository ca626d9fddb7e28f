"""A whole session with an RV-2AJ of which one answer comes late: what becomes of it never depends on luck."""

from __future__ import annotations

import functools
import os
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from late_line import Damage, between, doubled, dribbled, late, lost, split

from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.runtime import wiring
from hil.runtime.preview import preview
from hil.safety.certificate import Certificate
from hil.testing.arms import EPOCH_S, VirtualArm
from hil.types import Arm, Confirm, Load, Mode, Request, Start, Stop
from hil.units import DEG

RIGS = ("rv2aj", "rv2aj-hot", "rv2aj-line")
MODES = (
    Mode.CONNECTING,
    Mode.UNKNOWN_POSE,
    Mode.ENERGISING,
    Mode.IDLE,
    Mode.ARMED,
    Mode.STREAMING,
    Mode.STOPPING,
    Mode.HOLDING,
)
KINDS = ("OPEN", "PAR", "STATE", "STPSIG", "ERROR", "JPOSF", "PPOSF", "DSTATE", "CNTLON", "SRVON", "OVRD", "EDATA", "RUN", "EXEC", "HOT", "PRN")  # fmt: skip # noqa: E501
LATE_S = (0.1, 0.3, 0.5, 0.8, 1.1, 1.5, 2.0, 2.5, 3.0)
HOW = {"late": late, "split": split, "doubled": doubled, "dribbled": dribbled}


class Severity(IntEnum):
    """What became of a session."""

    NOTHING = 0
    NOTICE = 1
    HOLD = 2
    FAULT = 3


@functools.cache
def known(name: str) -> tuple[Rig, Motion, Certificate]:
    rig = wiring.load_rig(name)
    motion = plan_joint_move(rig, rig.park, (22 * DEG, *rig.park[1:]))
    certificate = preview(rig, motion, now_epoch_s=EPOCH_S).certificate
    assert certificate is not None
    return rig, motion, certificate


class Session:
    """Brought into a mode; then one answer is damaged, and the person goes on half a second later."""

    def __init__(self, name: str, mode: Mode, kind: str, damage: Damage) -> None:
        self.rig, self.motion, self.certificate = known(name)
        self.arm = VirtualArm(self.rig)
        port = between(self.arm)
        self._to(mode)
        port().kind, port().damage = kind, damage
        since = len(self.arm.records)
        self.arm.wait(0.5)
        if request := self._next(mode):
            self.arm.tick(*request)
        self.arm.wait(12.0)
        self.struck = port().struck
        self.events = [event for record in self.arm.records[since:] for event in record.events]
        self.final = self.arm.servos

    def _to(self, mode: Mode) -> None:
        arm = self.arm
        if mode is Mode.CONNECTING:
            arm.tick()
            return
        arm.connect()
        if mode is Mode.UNKNOWN_POSE:
            return
        if mode is Mode.ENERGISING:
            arm.until(mode, Confirm(positions=arm.start, by="the test"))
            return
        arm.ready()
        arm.wait(1.0)
        if mode is Mode.IDLE:
            return
        arm.load(self.motion, self.certificate)
        if mode is Mode.ARMED:
            return
        arm.until(Mode.STREAMING, Start(digest=self.motion.digest))
        arm.wait(1.3)
        if mode in (Mode.STOPPING, Mode.HOLDING):
            arm.until(mode, Stop(reason="asked for"))

    def _next(self, mode: Mode) -> tuple[Request, ...]:
        if mode is Mode.UNKNOWN_POSE:
            return (Confirm(positions=self.arm.start, by="the test"),)
        if mode in (Mode.IDLE, Mode.HOLDING):
            motion = self.motion
            if mode is Mode.HOLDING:
                return (Stop(reason="once more"),)
            load = Load(motion=motion.to_bytes(), certificate=self.certificate.to_bytes())
            return (load, Arm(digest=motion.digest), Start(digest=motion.digest))
        return (Start(digest=self.motion.digest),) if mode is Mode.ARMED else ()

    @property
    def severity(self) -> Severity:
        words = [event for event in self.events if "asked for" not in event and "once more" not in event]
        if self.arm.mode in (Mode.FAULT, Mode.ESTOP):
            return Severity.FAULT
        if any("stop: " in event or "refused" in event for event in words):
            return Severity.HOLD
        return (
            Severity.NOTICE if any("waits" in event or "the line: " in event for event in words) else Severity.NOTHING
        )


CASES = st.tuples(st.sampled_from(RIGS), st.sampled_from(MODES), st.sampled_from(KINDS), st.sampled_from(list(HOW)))
EXAMPLES = int(os.environ.get("HIL_LATENESS_EXAMPLES", "12"))


@settings(max_examples=EXAMPLES, deadline=None, print_blob=True)
@given(case=CASES, by=st.lists(st.sampled_from(LATE_S), min_size=2, max_size=2, unique=True))
@example(case=("rv2aj", Mode.STREAMING, "JPOSF", "late"), by=[0.8, 1.5])
@example(case=("rv2aj", Mode.STREAMING, "EXEC", "late"), by=[0.8, 1.5])
@example(case=("rv2aj-line", Mode.STREAMING, "PRN", "late"), by=[0.8, 3.0])
@example(case=("rv2aj-hot", Mode.STOPPING, "HOT", "late"), by=[0.8, 2.0])
def test_an_answer_is_never_worse_for_coming_sooner(case: tuple[str, Mode, str, str], by: list[float]) -> None:
    name, mode, kind, how = case
    sooner, later = (Session(name, mode, kind, HOW[how](by_s)) for by_s in sorted(by))
    assert sooner.severity <= later.severity, (sooner.events, later.events)
    if min(by) <= 0.8:
        assert sooner.severity <= Severity.NOTICE, sooner.events


@pytest.mark.parametrize("name", RIGS)
@pytest.mark.parametrize("mode", [Mode.UNKNOWN_POSE, Mode.STREAMING])
def test_one_lost_answer_ends_nothing(name: str, mode: Mode) -> None:
    session = Session(name, mode, "JPOSF", lost(0.0))
    assert session.struck
    assert session.severity <= Severity.NOTICE, session.events


@pytest.mark.parametrize("sag_deg", [-0.06, 0.4, -1.0])
def test_a_motion_goes_through_with_an_arm_that_droops_and_no_move_is_refused(sag_deg: float) -> None:
    rig, motion, certificate = known("rv2aj")
    arm = VirtualArm(rig)
    cr1 = arm._arm.fake.open_port().line.board  # type: ignore[attr-defined]
    arm.ready()
    cr1.machine.arm._sag = np.array([0.0, sag_deg, 0.0, 0.0, 0.0]) * DEG
    arm.load(motion, certificate)
    arm.until(Mode.STREAMING, Start(digest=motion.digest))
    arm.until(Mode.IDLE, within_s=motion.duration_s + 10.0)
    arm.wait(3.0)
    assert arm.servos[0] == pytest.approx(22 * DEG, abs=1e-3)
    assert cr1.counts.refused == 0
