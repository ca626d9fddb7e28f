"""Confirmed where it should not be, an arm is led out by hand, by a step, by a previewed move; and never further in."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from space_judge import SpaceJudge, broken, fault, lessened
from virtual_session import EPOCH_S, Session, load, lynx6

from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.refusal import RefusedError
from hil.runtime.preview import preview
from hil.safety.certificate import Certificate
from hil.testing.oracle import UnsafeBytes
from hil.types import (
    Arm,
    ArmJog,
    AxisJog,
    Confirm,
    JogFrame,
    JogHold,
    JogRelease,
    JogStep,
    JointCommand,
    Mode,
    Start,
    Stop,
    ToolJog,
)
from hil.units import DEG, MM

LOW = (0.0, 40 * DEG, -65 * DEG, -30 * DEG, 0.0, 10 * MM)
"""The hand reaches forward and down; the fingers end 13 mm above the table of the rig."""


def raised(height_mm: float) -> Rig:
    """The table is higher than it was: somebody put a board on it and changed the rig file."""
    rig = lynx6()
    return msgspec.structs.replace(rig, fences=msgspec.structs.replace(rig.fences, table_height_m=height_mm * MM))


def standing(rig: Rig, pose: Sequence[float]) -> Session:
    """Driven and confirmed at a pose."""
    s = Session(rig, true_pose=pose, driven=True)
    s.until(Mode.UNKNOWN_POSE)
    s.until(Mode.IDLE, Confirm(positions=tuple(pose), by="test"))
    return s


def axes(**amounts: float) -> AxisJog:
    return AxisJog(amounts=tuple(amounts.get(a.name, 0.0) * (MM if a.name == "gripper" else DEG) for a in lynx6().axes))


def hold(s: Session, move: AxisJog | ToolJog, seconds: float) -> None:
    s.tick(ArmJog(speed_share=0.5))
    for k in range(round(seconds / s.rig.period_s)):
        request = JogHold(seq=1000 + k + len(s.records), issued_s=s.clock.now_s() + s.rig.period_s, move=move)
        s.tick(request)


def sent(s: Session) -> FloatArray:
    return np.array(
        [r.wanted.positions for r in s.records if isinstance(r.wanted, JointCommand) and r.sent is not None]
    )


def assert_no_worse(s: Session, pose: Sequence[float]) -> None:
    samples = sent(s)
    if len(samples):
        assert fault(SpaceJudge(s.rig), s.rig, np.vstack([pose, samples])) == ""
    assert not any(record.hits for record in s.records)
    assert not UnsafeBytes(s.rig).take(s.records)


def certificate(rig: Rig, motion: Motion) -> Certificate:
    report = preview(rig, motion, now_epoch_s=EPOCH_S)
    assert report.certificate is not None, [refusal.text for refusal in report.refusals]
    return report.certificate


def test_the_table_was_raised_under_the_hand_and_the_shoulder_lifts_it_out() -> None:
    rig = raised(30)
    assert broken(SpaceJudge(rig), rig, np.array(LOW)).any()
    s = standing(rig, LOW)
    hold(s, axes(shoulder=20), 2.0)
    s.until(Mode.HOLDING, JogRelease(seq=10**6))
    assert_no_worse(s, LOW)
    assert not broken(SpaceJudge(rig), rig, sent(s)[-1]).any()


def test_further_down_is_refused_and_the_words_name_what_leads_up() -> None:
    s = standing(raised(30), LOW)
    s.tick(ArmJog(speed_share=0.5), JogStep(move=axes(shoulder=-3)))
    assert s.mode is Mode.ARMED
    (words,) = [event for event in s.events if event.startswith("refused")]
    assert "too near already" in words
    assert "Out of it: jog +shoulder" in words
    s.tick(JogStep(move=ToolJog(frame=JogFrame.WORLD, linear=(0.0, 0.0, -5 * MM))))
    words = s.events[-1]
    assert "jog the tool" in words
    assert "+z" in words
    assert len(sent(s)) == 0


@pytest.mark.parametrize("word", ["+shoulder", "+elbow"])
def test_what_the_words_name_is_a_step_that_is_done(word: str) -> None:
    s = standing(raised(30), LOW)
    s.until(Mode.IDLE, ArmJog(speed_share=0.5), JogStep(move=axes(**{word[1:]: 3.0})))
    assert_no_worse(s, LOW)
    assert lessened(SpaceJudge(s.rig), sent(s), broken(SpaceJudge(s.rig), s.rig, np.array(LOW))).any()


def test_a_jog_that_is_let_go_on_the_way_out_stops_without_a_fault() -> None:
    for ticks in range(1, 30, 4):
        s = standing(raised(30), LOW)
        hold(s, ToolJog(frame=JogFrame.WORLD, linear=(0.0, 0.0, 0.1)), ticks * s.rig.period_s)
        s.until(Mode.HOLDING, JogRelease(seq=10**6))
        assert_no_worse(s, LOW)


def test_beyond_a_soft_limit_the_words_name_the_axis_and_the_way_back() -> None:
    pose = (87.5 * DEG, *lynx6().home[1:])
    s = standing(lynx6(), pose)
    hold(s, axes(base=20), 0.4)
    s.until(Mode.HOLDING, JogRelease(seq=10**6))
    assert any("base is beyond its upper soft limit 86.00 deg. Out of it: jog -base." in event for event in s.events)
    assert (sent(s)[:, 0] == pose[0]).all()
    s.until(Mode.IDLE, ArmJog(speed_share=0.5), JogStep(move=axes(base=-3)))
    assert_no_worse(s, pose)


def test_home_and_park_lead_out_and_run_to_their_end() -> None:
    rig = raised(30)
    for goal in (rig.home, rig.park):
        motion = plan_joint_move(rig, LOW, goal)
        granted = certificate(rig, motion)
        assert any(margin.margin < 0.0 and "table" in margin.subject for margin in granted.margins)
        s = standing(rig, LOW)
        s.tick(load(motion, granted), Arm(digest=motion.digest))
        s.until(Mode.IDLE, Start(digest=motion.digest), within_s=30.0)
        assert_no_worse(s, LOW)
        assert sent(s)[-1] == pytest.approx(np.array(goal))


def test_a_straight_move_that_would_go_deeper_first_leaves_by_a_short_way() -> None:
    rig = raised(30)
    goal = (-41 * DEG, 66 * DEG, -83 * DEG, -83 * DEG, 0.0, 10 * MM)
    straight = np.array(LOW) + np.linspace(0.0, 1.0, 200)[:, None] * (np.array(goal) - np.array(LOW))
    assert "table" in fault(SpaceJudge(rig), rig, straight)
    motion = plan_joint_move(rig, LOW, goal)
    assert fault(SpaceJudge(rig), rig, motion.samples) == ""
    assert motion.end == pytest.approx(goal)
    s = standing(rig, LOW)
    s.tick(load(motion, certificate(rig, motion)), Arm(digest=motion.digest))
    s.until(Mode.IDLE, Start(digest=motion.digest), within_s=30.0)
    assert_no_worse(s, LOW)


def test_where_the_table_is_as_high_as_the_arm_s_own_base_only_the_rig_file_helps() -> None:
    rig = raised(40)
    s = standing(rig, LOW)
    s.tick(ArmJog(speed_share=0.5), JogStep(move=axes(shoulder=3)))
    assert "turret and table" in s.events[-1]
    assert "correct the rig file" in s.events[-1]
    report = preview(rig, plan_joint_move(rig, LOW, rig.home), now_epoch_s=EPOCH_S)
    assert "correct the rig file" in report.refusals[0].text


def test_stopped_on_the_way_out_it_holds_and_goes_on_from_there() -> None:
    rig = raised(30)
    motion = plan_joint_move(rig, LOW, rig.home)
    s = standing(rig, LOW)
    s.tick(load(motion, certificate(rig, motion)), Arm(digest=motion.digest))
    s.run(0.16, Start(digest=motion.digest))
    s.until(Mode.HOLDING, Stop(reason="test"))
    here = s.bridge._trail.here
    on = plan_joint_move(rig, here, rig.home)
    s.tick(load(on, certificate(rig, on)), Arm(digest=on.digest))
    s.until(Mode.IDLE, Start(digest=on.digest), within_s=30.0)
    assert_no_worse(s, LOW)


def test_who_plans_from_what_the_controller_was_sent_plans_from_where_the_arm_is() -> None:
    rig = raised(30)
    for tenths in range(10):
        pose = (LOW[0] + 0.01 * tenths * DEG, LOW[1] + 0.013 * tenths * DEG, LOW[2] - 0.017 * tenths * DEG, *LOW[3:])
        s = standing(rig, pose)
        motion = plan_joint_move(rig, s.last.setpoint, rig.park)
        s.tick(load(motion, certificate(rig, motion)), Arm(digest=motion.digest))
        assert s.mode is Mode.ARMED, s.events[-1]


def test_a_certificate_from_a_broken_start_does_not_bring_a_better_arm_there() -> None:
    rig = raised(30)
    motion = plan_joint_move(rig, LOW, rig.home)
    better = (LOW[0], LOW[1] + 0.3 * DEG, *LOW[2:])
    s = standing(rig, better)
    s.tick(load(motion, certificate(rig, motion)), Arm(digest=motion.digest))
    assert s.mode is Mode.IDLE
    assert any("the motion starts nearer than the arm stands" in event for event in s.events)
    assert len(sent(s)) == 0


def test_a_move_that_is_refused_says_which_axis_which_direction_and_which_pose_lead_out() -> None:
    rig = raised(30)
    down = plan_joint_move(rig, LOW, (LOW[0], LOW[1] - 5 * DEG, *LOW[2:]))
    report = preview(rig, down, now_epoch_s=EPOCH_S)
    text = report.refusals[0].text
    assert "Out of it: jog +shoulder" in text
    assert "or go home or park" in text
    assert "+z" in text


def test_confirmed_at_the_hard_limit_itself_the_axis_comes_back() -> None:
    rig = lynx6()
    for name, side in (("base", "lower"), ("elbow", "upper"), ("gripper", "upper"), ("wrist", "lower")):
        axis = rig.axes[rig.index(name)]
        pose = list(rig.home)
        pose[rig.index(name)] = getattr(axis, side)
        s = standing(rig, pose)
        s.until(Mode.IDLE, ArmJog(speed_share=0.5), JogStep(move=axes(**{name: 3.0 if side == "lower" else -3.0})))
        assert not any(record.hits for record in s.records), name
        assert not UnsafeBytes(rig).take(s.records), name


def test_a_goal_beyond_a_soft_limit_is_refused_from_a_start_that_is_inside_of_it() -> None:
    rig = lynx6()
    with pytest.raises(RefusedError, match="base: upper soft limit"):
        plan_joint_move(rig, rig.home, (87 * DEG, *rig.home[1:]))
