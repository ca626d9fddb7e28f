"""Inputs that a program was proved with: read while it is streamed, and where they differ the arm is held."""

from __future__ import annotations

from typing import Any

import pytest

from hil.errors import CommandError
from hil.model.rig import Rig
from hil.motion.motion import ExpectedInput, Motion
from hil.program.program_plan import ProgramPlan, plan_program
from hil.program.signals import InputChange, Inputs
from hil.program.structure import parse_program
from hil.runtime import wiring
from hil.runtime.input_watch import OLDEST_S, InputWatch
from hil.runtime.preview import preview
from hil.types import Arm, Confirm, InputState, Load, Mode, Request, Start, TickRecord
from sim.cr1 import Cr1

EPOCH_S = 1.75e9
WAITS = "10 DLY 4\n20 WAIT M_IN(8)=1\n30 MOV J1\n40 END\nJ1=(5,-18,108,0,80,4)"
WATCHES = (
    "10 DEF ACT 1,M_IN(10)=1 GOSUB *SEEN\n20 ACT 1=1\n30 MOV J1\n40 END\n50 *SEEN\n60 RETURN 1\nJ1=(9,-14,104,0,78,8)"
)
PRESSED = Inputs(changes=(InputChange(time_s=1.0, signal=8, value=1),))


class Session:
    """A rig with its real driver and the fake on virtual time, whose inputs a test switches."""

    def __init__(self, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[Cr1] = []

        def keep(*arguments: Any, **choices: Any) -> Cr1:
            made.append(Cr1(*arguments, **choices))
            return made[-1]

        monkeypatch.setattr("hil.runtime.kinds.rv2aj_fake.Cr1", keep)
        self.rig = rig
        self.arm = wiring.virtual_arm(rig, rig.park, energised=True, epoch_offset_s=EPOCH_S)
        self.cr1 = made[-1]
        self.records: list[TickRecord] = []

    def run(self, requests: tuple[Request, ...], until: Mode | None, within_s: float) -> Mode:
        clock, end_s = self.arm.clock, self.arm.clock.now_s() + within_s
        while clock.now_s() < end_s:
            record = self.arm.bridge.tick(clock.now_s(), requests)
            self.records.append(record)
            requests = ()
            clock.sleep_until(clock.now_s() + self.rig.period_s)
            if record.mode in (until, Mode.FAULT, Mode.HOLDING):
                break
        return self.records[-1].mode

    def stream(self, plan: ProgramPlan) -> Mode:
        report = preview(self.rig, plan.motion, now_epoch_s=EPOCH_S)
        assert report.certificate is not None, report.refusals
        assert self.run((), Mode.UNKNOWN_POSE, 5) is Mode.UNKNOWN_POSE
        assert self.run((Confirm(positions=self.rig.park, by="a test"),), Mode.IDLE, 12) is Mode.IDLE
        load = Load(motion=plan.motion.to_bytes(), certificate=report.certificate.to_bytes())
        assert self.run((load, Arm(digest=plan.motion.digest)), Mode.ARMED, 1) is Mode.ARMED
        self.run((), None, 2.0)
        return self.run((Start(digest=plan.motion.digest),), Mode.IDLE, 90)

    @property
    def words(self) -> str:
        return " ".join(event for record in self.records for event in record.events)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(wiring.load_rig("rv2aj"), monkeypatch)


def planned(session: Session, text: str, inputs: Inputs | None = None) -> ProgramPlan:
    return plan_program(session.rig, parse_program(text, name="P"), inputs, start=session.rig.park)


def test_a_program_runs_to_its_end_where_the_inputs_are_as_assumed(session: Session) -> None:
    plan = planned(session, WAITS, PRESSED)
    session.cr1.machine.signals.write(8, 1, 1, outputs=False)
    assert session.stream(plan) is Mode.IDLE
    assert session.words.count("the motion is done") == 1
    assert b";IN0\r" in b"".join(record.written for record in session.records)


def test_a_wait_that_is_not_met_holds_the_arm_before_it_moves_on(session: Session) -> None:
    plan = planned(session, WAITS, PRESSED)
    assert session.stream(plan) is Mode.HOLDING
    assert "input 8 is 0, and the program was proved with 1 here" in session.words
    first = plan.expected[0].first
    sent = [record.sample for record in session.records if record.sample is not None and record.sent is not None]
    assert max(sent) == first - 1
    assert all(record.sent is None or record.sample is None or record.sample < first for record in session.records)


def test_an_interrupt_that_was_not_assumed_holds_the_arm(session: Session) -> None:
    plan = planned(session, WATCHES)
    assert {each.value for each in plan.expected} == {0}
    session.cr1.machine.signals.write(10, 1, 1, outputs=False)
    assert session.stream(plan) is Mode.HOLDING
    assert "input 10 is 1, and the program was proved with 0 here" in session.words


def test_a_preview_shows_the_bridge_the_inputs_that_the_plan_assumes(session: Session) -> None:
    pressed = Inputs(changes=(InputChange(time_s=0.5, signal=10, value=1),))
    plan = planned(session, WATCHES, pressed)
    assert {each.value for each in plan.expected} == {0, 1}
    assert preview(session.rig, plan.motion, now_epoch_s=EPOCH_S).ok


def test_a_motion_without_inputs_has_none_of_them_read(session: Session) -> None:
    plan = planned(session, "10 MOV J1\n20 END\nJ1=(5,-18,108,0,80,4)")
    assert session.stream(plan) is Mode.IDLE
    assert b";IN" not in b"".join(record.written for record in session.records)


def test_an_arm_whose_controller_shows_no_inputs_takes_no_such_motion() -> None:
    rig = wiring.load_rig("lynx6")
    arm = wiring.virtual_arm(rig, rig.park, energised=True, epoch_offset_s=EPOCH_S)
    plain = Motion([axis.name for axis in rig.axes], rig.period_s, [rig.park] * 40)
    needing = Motion(plain.axes, plain.period_s, plain.samples, (), [ExpectedInput(first=3, last=9, signal=1, value=1)])
    report = preview(rig, plain, now_epoch_s=EPOCH_S)
    assert report.certificate is not None
    assert needing.digest != plain.digest
    # The certificate binds the inputs: it is void for the same samples with others.
    load = Load(motion=needing.to_bytes(), certificate=report.certificate.to_bytes())
    record = arm.bridge.tick(0.1, (load,))
    assert any("refused: " in event for event in record.events)


def test_what_was_read_too_long_ago_says_nothing() -> None:
    watch = InputWatch([ExpectedInput(first=2, last=4, signal=8, value=1)])
    state = InputState(t_s=1.0, values=((8, 1),))
    assert watch.differing(1, None, 1.0) == ""
    assert "have not been read" in watch.differing(2, None, 1.0)
    assert watch.differing(3, state, 1.0 + OLDEST_S) == ""
    assert "have not been read" in watch.differing(4, state, 1.1 + OLDEST_S)
    assert watch.differing(5, None, 9.0) == ""


def test_expectations_are_kept_in_the_motions_bytes_and_have_to_fit_its_samples() -> None:
    expected = [ExpectedInput(first=0, last=1, signal=8, value=1), ExpectedInput(first=1, last=2, signal=9, value=0)]
    motion = Motion(["a"], 0.02, [[0.0]] * 3, (), expected)
    assert Motion.from_bytes(motion.to_bytes()).expected == tuple(expected)
    for wrong in (ExpectedInput(first=0, last=3, signal=8, value=1), ExpectedInput(first=0, last=1, signal=8, value=2)):
        with pytest.raises(CommandError, match="expected to be"):
            Motion(["a"], 0.02, [[0.0]] * 3, (), [wrong])
