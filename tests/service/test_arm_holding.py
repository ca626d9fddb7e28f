"""What a lab tells of an arm that is held: supply, loads, time, and which axis may be let go of next."""

from __future__ import annotations

import msgspec
import pytest
from virtual_session import SINKING, Session

from hil.errors import CommandError
from hil.runtime.hold_reminder import REMIND_S
from hil.service.arm_channel import ArmReport
from hil.service.arm_worker import Reports
from hil.service.held_arm import EVERY_S, GOES_S, ArmHolding
from hil.space.gravity_load import GravityLoad, release_order
from hil.types import LetGo, Mode, Reset, StateSource, Supply, SupplyCut


class Followed:
    """A session, and what its lab makes of it."""

    def __init__(self, mode: Mode = Mode.IDLE, **board: object) -> None:
        self.session = Session(**board)  # type: ignore[arg-type]
        self.reports = Reports(self.session.rig)
        self.session.to(mode)
        self.holding = ArmHolding(self.session.rig)
        self._taken = 0
        self.take()

    def take(self) -> ArmReport:
        for record in self.session.records[self._taken :]:
            self.reports.take(record)
            if (report := self.reports.report(record.t_s)) is not None:
                self.holding.take(report)
        self._taken = len(self.session.records)
        assert report is not None
        return report

    def let_go(self, axis: str) -> ArmReport:
        self.holding.begin(axis, self.session.mode, self.session.clock.now_s())
        self.session.run(0.4, LetGo(axis=axis, by="Ann"))
        return self.take()


def test_an_arm_that_is_held_is_told_with_what_it_carries() -> None:
    found = Followed()
    message = found.holding.message(1.0)
    rig = found.session.rig
    assert message.driven == tuple(axis.name for axis in rig.axes)
    assert [load.axis for load in message.loads] == [axis.name for axis in rig.axes[: rig.robot.dof]]
    for told, reckoned in zip(message.loads, GravityLoad(rig).loads(rig.park), strict=True):
        # The echo comes in steps of 10 us, about a degree.
        assert told.torque == pytest.approx(reckoned.torque_n_m, abs=0.01)
        assert told.heavy is reckoned.heavy
    assert "estimate" in message.basis
    assert message.next is not None and message.next.axis == "gripper"
    order = [rig.axes[index].name for index in release_order(rig, rig.park)]
    assert [message.next.axis, *message.next.after] == order
    assert message.supply is Supply.UNSAID and not message.remind


def test_before_anything_is_driven_nothing_is_carried_and_nothing_can_be_let_go_of() -> None:
    found = Followed(Mode.UNKNOWN_POSE)
    message = found.holding.message(1.0)
    assert (message.driven, message.loads, message.next, message.held_s, message.basis) == ((), (), None, None, "")
    with pytest.raises(CommandError, match="there is nothing to let go of"):
        found.holding.begin("gripper", Mode.UNKNOWN_POSE, 1.0)


def test_axis_after_axis_is_let_go_of_in_order_and_no_other() -> None:
    found = Followed()
    gone: list[str] = []
    while (step := found.holding.next) is not None:
        for wrong in step.after:
            with pytest.raises(CommandError, match=f"allowed: {step.axis}, for what carries most"):
                found.holding.begin(wrong, found.session.mode, found.session.clock.now_s())
        report = found.let_go(step.axis)
        gone.append(step.axis)
        assert report.commanded[found.session.rig.index(step.axis)] is None
        assert step.axis not in found.holding.driven
    assert gone[0] == "gripper" and gone[-1] == "shoulder" and len(gone) == 6
    assert found.holding.held_s is None


def test_what_sinks_is_told_before() -> None:
    found = Followed()
    texts: dict[str, str] = {}
    while (step := found.holding.next) is not None:
        texts[step.axis] = step.text
        found.let_go(step.axis)
    assert "what it holds falls" in texts["gripper"]
    assert "it sinks, and with it elbow, wrist, wrist_rotate, gripper" in texts["shoulder"]
    assert all("Hold the arm now" in texts[name] for name in SINKING)
    assert "hardly sinks" in texts["base"]


def test_the_next_is_not_begun_before_the_one_before_is_limp() -> None:
    found = Followed()
    now_s = found.session.clock.now_s()
    found.holding.begin("gripper", Mode.IDLE, now_s)
    with pytest.raises(CommandError, match="one axis at a time: whether the gripper is limp"):
        found.holding.begin("gripper", Mode.IDLE, now_s + 0.9 * GOES_S)
    found.holding.begin("gripper", Mode.IDLE, now_s + 1.1 * GOES_S)


@pytest.mark.parametrize("mode", [Mode.ARMED, Mode.STREAMING, Mode.STOPPING, Mode.ENERGISING, Mode.CONNECTING])
def test_while_it_moves_or_may_nothing_is_let_go_of(mode: Mode) -> None:
    with pytest.raises(CommandError, match=f"it is {mode.value}: stop first"):
        Followed().holding.begin("gripper", mode, 1.0)


def test_ten_minutes_of_holding_are_reminded_of_and_moving_begins_them_anew() -> None:
    found = Followed()
    report = found.reports.report(1.0)
    assert report is not None
    begun_s = report.t_s - (found.holding.held_s or 0.0)
    for after_s, remind in ((REMIND_S - 1.0, False), (REMIND_S, True)):
        found.holding.take(msgspec.structs.replace(report, t_s=begun_s + after_s))
        message = found.holding.message(1.0)
        assert message.held_s == pytest.approx(after_s)
        assert message.remind is remind
    found.holding.take(msgspec.structs.replace(report, t_s=begun_s + REMIND_S + 1.0, commanded=(0.0,) * 6))
    assert found.holding.held_s == 0.0


def test_after_a_cut_no_load_is_told_and_letting_go_drops_nothing() -> None:
    found = Followed()
    found.session.run(0.2, SupplyCut(by="Ann"))
    found.take()
    message = found.holding.message(1.0)
    assert message.supply is Supply.CUT
    assert (message.loads, message.held_s) == ((), None)
    assert message.next is not None and "hangs limp already" in message.next.text
    while (step := found.holding.next) is not None:
        found.let_go(step.axis)
    found.session.until(Mode.UNKNOWN_POSE, Reset(by="Ann"))
    found.session.run(0.3)
    found.take()
    assert found.holding.supply is Supply.FORGOTTEN


def test_of_an_arm_that_measures_nothing_can_be_let_go_of() -> None:
    found = Followed()
    report = found.reports.report(1.0)
    assert report is not None
    found.holding.take(msgspec.structs.replace(report, source=StateSource.MEASURED))
    message = found.holding.message(1.0)
    assert (message.driven, message.held_s, message.next) == ((), None, None)


def test_only_news_are_told_and_not_while_the_arm_moves() -> None:
    found = Followed()
    report = found.reports.report(1.0)
    assert report is not None
    assert found.holding.news(10.0) is not None
    assert found.holding.news(10.0 + 2 * EVERY_S) is None
    found.holding.take(msgspec.structs.replace(report, supply=Supply.ON))
    assert found.holding.news(10.0 + 2.5 * EVERY_S) is None, "not so soon"
    news = found.holding.news(10.0 + 3 * EVERY_S)
    assert news is not None and news.supply is Supply.ON
    found.holding.take(msgspec.structs.replace(report, supply=Supply.UNSAID, mode=Mode.STREAMING))
    assert found.holding.news(20.0) is None


def test_once_the_worker_is_gone_nothing_is_known() -> None:
    found = Followed()
    found.holding.forget()
    assert found.holding.message(1.0).driven == ()
    assert found.holding.news(30.0) is None
