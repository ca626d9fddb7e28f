"""Axes that are let go of in a session: one at a time, only while nothing moves, and seen to be limp."""

from __future__ import annotations

import re

import pytest
from virtual_session import Session

from hil.link import ReleasingLink
from hil.runtime.letting_go import GONE_S, LettingGo
from hil.testing.oracle import UnsafeBytes
from hil.types import LetGo, Mode, Reset, Stop, Supply, SupplyCut
from sim.arm import SimulatedArm
from sim.ssc32 import Untouched

RELEASE = re.compile(rb"#\d+P0\r")


def let_go(name: str) -> LetGo:
    return LetGo(axis=name, by="Ann")


def said(s: Session, since: int) -> str:
    return " | ".join(event for record in s.records[since:] for event in record.events)


def axis_names(s: Session) -> list[str]:
    return [axis.name for axis in s.rig.axes]


@pytest.mark.parametrize("mode", [Mode.IDLE, Mode.HOLDING])
def test_one_axis_goes_limp_and_where_the_arm_stands_is_not_known_any_more(mode: Mode) -> None:
    s = Session()
    s.to(Mode.IDLE)
    if mode is Mode.HOLDING:
        s = Session()
        s.to(Mode.STREAMING).until(mode, Stop(reason="test"))
    elbow, since = s.rig.index("elbow"), len(s.records)
    record = s.tick(let_go("elbow"))
    assert record.mode is Mode.UNKNOWN_POSE
    assert record.released == elbow
    assert record.written.endswith(b"#%dP0\r" % s.settings.axes[elbow].channel)
    s.run(0.5)
    assert [s.pulse_us(axis) == 0.0 for axis in range(6)] == [axis == elbow for axis in range(6)]
    assert "Ann lets go of the elbow" in said(s, since)
    assert "the elbow is limp: the controller makes no pulse there any more" in said(s, since)
    assert s.mode is Mode.UNKNOWN_POSE
    assert [record.released for record in s.records[since + 1 :]] == [None] * (len(s.records) - since - 1)


def test_all_of_them_one_after_the_other_and_driven_anew_once_the_pose_is_confirmed() -> None:
    s = Session().to(Mode.IDLE)
    for name in axis_names(s):
        s.run(0.3, let_go(name))
        assert f"the {name} is limp" in " ".join(s.events)
    assert all(s.pulse_us(axis) == 0.0 for axis in range(6))
    s.until(Mode.IDLE, s.confirm())
    assert all(s.pulse_us(axis) > 0.0 for axis in range(6))
    UnsafeBytes(s.rig).take(s.records).check()


def test_the_next_waits_until_the_one_before_is_seen_to_be_limp() -> None:
    s = Session().to(Mode.IDLE)
    record = s.tick(let_go("wrist"), let_go("elbow"))
    assert record.released == s.rig.index("wrist")
    assert any("one axis at a time" in event for event in record.events)
    assert len(RELEASE.findall(record.written)) == 1


@pytest.mark.parametrize("mode", [Mode.CONNECTING, Mode.ENERGISING, Mode.ARMED, Mode.STREAMING])
def test_while_anything_moves_or_is_about_to_nothing_is_let_go_of(mode: Mode) -> None:
    s = Session().to(mode)
    record = s.tick(let_go("elbow"))
    assert record.released is None
    assert not RELEASE.search(record.written)
    assert any(event.startswith("refused: ") and "stop first" in event for event in record.events)


def test_an_arm_that_was_found_driven_is_let_go_of_without_being_confirmed() -> None:
    s = Session(driven=True).to(Mode.UNKNOWN_POSE)
    s.run(0.2)
    s.run(0.5, let_go("shoulder"))
    assert s.pulse_us(s.rig.index("shoulder")) == 0.0
    assert s.pulse_us(s.rig.index("elbow")) > 0.0


def test_after_a_cut_it_is_a_way_back_that_needs_no_switching_off_of_the_logic() -> None:
    s = Session().to(Mode.IDLE)
    s.run(0.2, SupplyCut(by="Ann"))
    assert s.mode is Mode.FAULT
    for name in axis_names(s):
        s.run(0.4, let_go(name))
    assert s.mode is Mode.FAULT
    s.until(Mode.UNKNOWN_POSE, Reset(by="Ann"))
    s.run(0.3)
    assert s.bridge._supply.state is Supply.FORGOTTEN
    s.until(Mode.IDLE, s.vouch())


def test_a_firmware_that_does_not_let_go_is_told_of() -> None:
    s = Session(zero_releases=False).to(Mode.IDLE)
    since = len(s.records)
    s.run(GONE_S + 0.1, let_go("wrist"))
    assert "the wrist was switched off, and the controller goes on driving it" in said(s, since)
    assert "is limp" not in said(s, since)


@pytest.mark.parametrize("answer", [Untouched.MIDDLE, Untouched.GARBAGE])
def test_where_the_answers_show_nothing_of_it_nobody_is_told_that_it_is_limp(answer: Untouched) -> None:
    s = Session(untouched=answer).to(Mode.IDLE)
    since = len(s.records)
    s.run(GONE_S + 0.1, let_go("wrist"))
    assert s.pulse_us(s.rig.index("wrist")) == 0.0
    assert "does not show whether it did: look at the arm" in said(s, since)
    assert "is limp" not in said(s, since)


def test_a_controller_that_falls_silent_has_not_said_that_it_is_limp() -> None:
    s = Session().to(Mode.IDLE)
    watch, since = LettingGo(s.rig), len(s.records)
    index, _ = watch.begin(let_go("wrist"), s.link, Mode.IDLE, s.clock.now_s())
    assert watch.look(s.last.reported, s.clock.now_s() + GONE_S) == ""
    assert "has not said so" in watch.look(s.last.reported, s.clock.now_s() + GONE_S + 0.01)
    assert index == s.rig.index("wrist") and len(s.records) == since


def test_a_cable_that_comes_out_just_then_is_a_fault_and_lets_go_of_nothing() -> None:
    s = Session().to(Mode.IDLE)
    s.unplug()
    record = s.tick(let_go("wrist"))
    assert record.mode is Mode.FAULT
    assert record.released is None


def test_an_axis_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    s = Session().to(Mode.IDLE)
    record = s.tick(let_go("tail"))
    assert record.mode is Mode.IDLE
    assert any("'tail' given; allowed: base, shoulder" in event for event in record.events)


def test_an_arm_with_brakes_is_not_let_go_of() -> None:
    arm = SimulatedArm((0.0,) * 6, (0.0,) * 6, (1.0,) * 6)
    assert not isinstance(arm, ReleasingLink)
    s = Session()
    with pytest.raises(Exception, match="its arm has brakes"):
        LettingGo(s.rig).begin(let_go("wrist"), arm, Mode.IDLE, 0.0)
