"""Jogging through the loop: armed for it, moved only while held, stopped by silence, and replayed to the same bytes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_session import Session, certified, load, lynx6, swing

from hil.motion.profiles import usage
from hil.runtime import jog_source
from hil.runtime.jog_source import HOLD_S
from hil.runtime.journal import EndKind, JournalWriter
from hil.runtime.mailbox import MailboxReader, MailboxWriter
from hil.runtime.readiness import ARM_LAPSE_S
from hil.runtime.replay import replay
from hil.space.body import LiveBody
from hil.testing.oracle import UnsafeBytes
from hil.types import (
    Arm,
    ArmJog,
    AxisJog,
    Disconnect,
    EmergencyStop,
    JogFrame,
    JogHold,
    JogRelease,
    JogStep,
    JointCommand,
    Mode,
    Request,
    Start,
    Stop,
    TickRecord,
    ToolJog,
)
from hil.units import DEG, MM

Make = Callable[..., Session]
RENEW_TICKS = 3
DOWN = ToolJog(frame=JogFrame.WORLD, linear=(0.0, 0.0, -10 * MM))


def axes(**amounts: float) -> AxisJog:
    """Amounts by name, in degrees, or millimetres of the gripper."""
    return AxisJog(amounts=tuple(amounts.get(a.name, 0.0) * (MM if a.name == "gripper" else DEG) for a in lynx6().axes))


def ready(s: Session) -> Session:
    """Connected, driven, idle."""
    return s.to(Mode.IDLE)


def at_home(session: Make) -> Session:
    """The same with the arm where the controller left it: at home."""
    return ready(session(true_pose=lynx6().home, driven=True))


def hold(s: Session, move: AxisJog | ToolJog, seconds: float, seq: int = 1) -> list[TickRecord]:
    """Hold and renew, the way a hand does."""
    first = len(s.records)
    for k in range(round(seconds / s.rig.period_s)):
        fresh = k % RENEW_TICKS == 0
        s.tick(*([JogHold(seq=seq + k, issued_s=s.clock.now_s() + s.rig.period_s, move=move)] if fresh else []))
    return s.records[first:]


def sent(records: Sequence[TickRecord]) -> np.ndarray:
    """Samples that were sent, shape (N, n)."""
    return np.array([r.wanted.positions for r in records if isinstance(r.wanted, JointCommand) and r.sent is not None])


def said(s: Session, *words: str) -> bool:
    return any(all(word in event for word in words) for event in s.events)


def moved_s(s: Session) -> float:
    """When the last pulse of an axis changed."""
    channels = {axis.channel for axis in s.settings.axes}
    return max(t for t, channel, _ in s.pulses if channel in channels)


# -- arming ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("move", [axes(base=5), DOWN], ids=["axis", "tool"])
def test_nothing_moves_without_arming(session: Make, move: AxisJog | ToolJog) -> None:
    s = at_home(session)
    before = len(s.pulses)
    s.run(0.5, JogStep(move=move), JogHold(seq=1, issued_s=s.clock.now_s(), move=move))
    assert s.mode is Mode.IDLE
    assert said(s, "refused", "to jog needs the mode armed")
    assert len(s.pulses) == before


def test_jogs_of_joints_leave_nothing_behind_that_only_a_collector_would_find(session: Make) -> None:
    s = at_home(session)

    def jog(number: int) -> None:
        s.tick(ArmJog(speed_share=0.5))
        hold(s, axes(base=20.0), 0.3, seq=100 * number + 1)
        s.tick(JogRelease(seq=100 * number + 99))
        s.until(Mode.HOLDING)

    for number in range(2):
        jog(number)
    gc.collect()
    gc.disable()  # as in the loop's process
    try:
        for number in range(2, 6):
            jog(number)
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("mode", [Mode.UNKNOWN_POSE, Mode.ENERGISING, Mode.STREAMING, Mode.ESTOP])
def test_jogging_is_armed_at_rest_with_a_known_pose_only(session: Make, mode: Mode) -> None:
    s = session().to(mode)
    s.tick(ArmJog(speed_share=0.25))
    assert s.mode is mode
    assert said(s, "refused: arming needs the mode idle or holding")


def test_the_guard_holds_a_jog_to_its_share_of_the_speeds_whatever_the_jog_asks_for(
    session: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A jog that forgot its share is stopped at the first sample that is faster, and that one is not sent."""
    s = at_home(session)
    jog_motion = jog_source.JogMotion
    monkeypatch.setattr(
        jog_source, "JogMotion", lambda rig, robot, start, share, room: jog_motion(rig, robot, start, 1.0, room)
    )
    s.tick(ArmJog(speed_share=0.25))
    records = hold(s, axes(base=20.0), 1.0)
    assert said(s, "the guard refused a sample: base [E-03 speed]")
    steps = np.abs(np.diff(sent(records), axis=0)[:, 0]) / s.rig.period_s
    speed, quantum = s.rig.axes[0].speed, s.rig.controller.quantum()[0] / s.rig.period_s
    assert 0.2 * speed < steps.max() <= 0.25 * speed + quantum


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5, float("nan")])
def test_a_speed_outside_its_range_is_refused(session: Make, share: float) -> None:
    s = ready(session())
    s.tick(ArmJog(speed_share=share))
    assert s.mode is Mode.IDLE
    assert said(s, "refused: speed share", "above 0 to 1")


def test_arming_lapses_and_may_be_renewed_with_another_speed(session: Make) -> None:
    s = ready(session())
    s.tick(ArmJog(speed_share=0.25))
    s.run(ARM_LAPSE_S - 1.0)
    s.tick(ArmJog(speed_share=0.5))
    s.run(ARM_LAPSE_S - 1.0)
    assert s.mode is Mode.ARMED
    s.run(2.0)
    assert s.mode is Mode.IDLE


def test_armed_for_the_one_does_not_start_the_other(session: Make) -> None:
    s = ready(session())
    motion = swing(10.0)
    s.tick(load(motion, certified(s.rig, motion)), ArmJog(speed_share=0.25), Start(digest=motion.digest))
    assert s.mode is Mode.ARMED
    assert said(s, "refused: the rig is armed for jogging")
    s.until(Mode.HOLDING, Stop(reason="test"))
    s.tick(Arm(digest=motion.digest), JogStep(move=axes(base=1)))
    assert s.mode is Mode.ARMED
    assert said(s, "refused: the rig is armed for a motion")


# -- increments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.05, 1.0])
def test_a_step_begins_at_the_present_pose_ends_exactly_and_needs_arming_for_the_next(
    session: Make, share: float
) -> None:
    s = at_home(session)
    first = len(s.records)
    here = s.bridge._trail.here
    s.until(Mode.IDLE, ArmJog(speed_share=share), JogStep(move=axes(base=5)), within_s=20.0)
    samples = sent(s.records[first:])
    assert samples[0].tolist() == list(here)
    assert samples[-1][0] == here[0] + 5 * DEG
    assert usage(s.rig, samples)[0].max() <= share * (1 + 1e-9)
    assert not any(record.hits for record in s.records)
    s.tick(JogStep(move=axes(base=5)))
    assert s.mode is Mode.IDLE
    assert said(s, "refused", "to jog needs the mode armed")


def test_tool_steps_there_and_back_end_at_the_same_pulses(session: Make) -> None:
    s = at_home(session)
    before = [s.pulse_us(axis) for axis in range(6)]
    for move in (DOWN, msgspec.structs.replace(DOWN, linear=(0.0, 0.0, 10 * MM))):
        s.until(Mode.IDLE, ArmJog(speed_share=0.5), JogStep(move=move))
        s.run(0.1)
    assert [s.pulse_us(axis) for axis in range(6)] == before


def test_a_second_step_while_one_runs_is_dropped_and_said(session: Make) -> None:
    s = at_home(session)
    s.tick(ArmJog(speed_share=0.25), JogStep(move=axes(base=5)))
    s.run(0.1)
    s.tick(JogStep(move=axes(base=5)))
    assert said(s, "refused", "nothing is queued")
    s.until(Mode.IDLE)
    assert s.bridge._trail.here[0] == pytest.approx(5 * DEG, abs=0.1 * DEG)


def test_a_refused_step_moves_nothing_and_says_joint_and_limit(session: Make) -> None:
    s = at_home(session)
    s.tick(ArmJog(speed_share=0.25), JogStep(move=axes(gripper=30)))
    s.run(0.2)
    assert s.mode is Mode.ARMED
    assert said(s, "refused", "gripper: upper soft limit 26.50 mm", "gripper by +6.")


def test_a_step_of_nothing_sends_the_present_pose_and_is_over(session: Make) -> None:
    s = at_home(session)
    here = s.bridge._trail.here
    first = len(s.records)
    s.until(Mode.IDLE, ArmJog(speed_share=0.25), JogStep(move=axes()))
    assert {tuple(row) for row in sent(s.records[first:]).tolist()} == {here}


def test_a_step_is_stopped_like_anything_else(session: Make) -> None:
    s = at_home(session)
    s.tick(ArmJog(speed_share=1.0), JogStep(move=axes(base=40)))
    s.run(0.4)
    s.until(Mode.HOLDING, Stop(reason="test"), within_s=s.bridge.stop_time_s + 0.1)


# -- held ------------------------------------------------------------------------------------------------------


def test_a_held_jog_goes_on_while_renewed_and_stops_at_release(session: Make) -> None:
    s = at_home(session)
    s.tick(ArmJog(speed_share=0.5))
    records = hold(s, axes(base=20), 1.0)
    assert s.mode is Mode.STREAMING
    assert sent(records)[-1][0] > 10 * DEG
    released_s = s.clock.now_s()
    s.until(Mode.HOLDING, JogRelease(seq=99))
    s.run(1.0)
    assert moved_s(s) - released_s <= s.bridge.stop_time_s + s.rig.period_s
    assert said(s, "stop: the jog was released")


def test_silence_counts_as_release_within_the_stop_budget(session: Make) -> None:
    s = at_home(session)
    s.tick(ArmJog(speed_share=1.0))
    hold(s, axes(base=50), 0.61)
    last_s = next(r.issued_s for record in reversed(s.records) for r in record.requests if isinstance(r, JogHold))
    s.until(Mode.HOLDING)
    s.run(1.0)
    assert said(s, "stop: the jog's hold was not renewed for 100 ms")
    assert moved_s(s) - last_s <= HOLD_S + s.bridge.stop_time_s + 2 * s.rig.period_s


def test_a_hold_that_comes_late_or_again_does_not_set_the_arm_moving_again(session: Make) -> None:
    s = at_home(session)
    s.tick(ArmJog(speed_share=0.5))
    hold(s, axes(base=20), 0.3)
    s.until(Mode.HOLDING, JogRelease(seq=50))
    before = len(s.pulses)
    late = JogHold(seq=40, issued_s=s.clock.now_s(), move=axes(base=20))
    s.run(0.3, late)
    s.run(0.3, msgspec.structs.replace(late, seq=60, issued_s=s.clock.now_s()))
    assert s.mode is Mode.HOLDING
    assert len(s.pulses) == before
    s.tick(ArmJog(speed_share=0.5))
    s.run(0.3, late, msgspec.structs.replace(late, seq=61, issued_s=s.clock.now_s() - 1.0))
    assert s.mode is Mode.ARMED
    assert said(s, "refused: the hold is", "ms old; allowed: 100 ms")


def test_a_sender_whose_clock_is_ahead_gains_no_time(session: Make) -> None:
    s = at_home(session)
    s.tick(ArmJog(speed_share=0.5))
    s.tick(JogHold(seq=1, issued_s=s.clock.now_s() + 100.0, move=axes(base=20)))
    s.run(0.2)
    assert s.mode is not Mode.STREAMING


def test_who_holds_on_without_being_armed_is_told_once(session: Make) -> None:
    s = at_home(session)
    hold(s, axes(base=20), 1.0)
    assert sum("refused" in event for event in s.events) == 1


def test_at_a_limit_the_loop_waits_without_sending_until_the_way_back(session: Make) -> None:
    s = at_home(session)
    s.tick(ArmJog(speed_share=1.0))
    hold(s, axes(wrist_rotate=60), 3.0)
    assert s.mode is Mode.STREAMING
    assert said(s, "wrist_rotate is at its upper soft limit 76.00 deg")
    assert all(record.sent is None for record in hold(s, axes(wrist_rotate=60), 0.5, seq=1000))
    back = sent(hold(s, axes(wrist_rotate=-60), 0.5, seq=2000))
    assert back[-1][4] < 70 * DEG
    assert not any(record.hits for record in s.records)


def test_input_that_jitters_comes_out_smooth(session: Make) -> None:
    s = at_home(session)
    s.tick(ArmJog(speed_share=1.0))
    first, jitter = len(s.records), np.random.default_rng(5)
    for k in range(150):
        speed = 40.0 + 15.0 * float(jitter.standard_normal())
        fresh = jitter.random() < 0.5
        request = JogHold(seq=k + 1, issued_s=s.clock.now_s(), move=axes(base=speed, wrist=-speed))
        s.tick(*([request] if fresh else []))
    s.until(Mode.HOLDING, JogRelease(seq=999))
    speed_used, acceleration_used, jerk_used = usage(s.rig, sent(s.records[first:])).max(axis=1)
    assert max(speed_used, acceleration_used) <= 1.0 + 1e-9
    assert jerk_used <= 1.0 + 1e-6
    assert not any(record.hits for record in s.records)


def test_after_another_motion_a_jog_starts_where_the_arm_is(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.until(Mode.IDLE)
    here = s.bridge._trail.here
    s.tick(ArmJog(speed_share=0.5))
    assert sent(hold(s, axes(base=-20), 0.5))[0].tolist() == list(here)
    s.until(Mode.HOLDING, JogRelease(seq=99))
    assert not any(record.hits for record in s.records)


@pytest.mark.parametrize("end", ["unplugged", "late", "estop", "disconnect"])
def test_a_jog_ends_like_any_motion(session: Make, end: str) -> None:
    s = at_home(session)
    s.tick(ArmJog(speed_share=0.5))
    hold(s, axes(base=20), 0.4)
    if end == "unplugged":
        s.unplug()
        s.until(Mode.FAULT)
    elif end == "late":
        s.tick(JogHold(seq=99, issued_s=s.clock.now_s() + 0.15, move=axes(base=20)), after_s=0.15)
        assert s.mode is Mode.HOLDING
        assert said(s, "no tick for 150 ms")
    elif end == "estop":
        s.tick(EmergencyStop(reason="test"))
        assert s.mode is Mode.ESTOP
    else:
        s.until(Mode.DISCONNECTED, Disconnect(reason="test"))
        assert said(s, "streaming -> stopping")


# -- whatever comes --------------------------------------------------------------------------------------------

MOVES = st.one_of(
    st.tuples(*[st.sampled_from([0.0, 0.0, 0.5, -0.5, 9.0])] * 6).map(lambda v: AxisJog(amounts=v)),
    st.builds(
        ToolJog,
        frame=st.sampled_from(JogFrame),
        linear=st.tuples(*[st.sampled_from([0.0, 0.04, -0.04])] * 3),
        pitch=st.sampled_from([0.0, 0.3]),
    ),
)
WHATEVER = st.lists(
    st.tuples(st.sampled_from(["hold", "hold", "step", "release", "arm", "stop", "wait"]), MOVES, st.integers(1, 40)),
    min_size=1,
    max_size=8,
)


@given(WHATEVER, st.sampled_from([0.05, 0.5, 1.0]))
@settings(max_examples=25, deadline=None)
def test_whatever_is_asked_for_the_arm_keeps_its_limits_and_comes_to_rest(
    asked: list[tuple[str, AxisJog | ToolJog, int]], share: float
) -> None:
    s = Session(true_pose=lynx6().home, driven=True).to(Mode.IDLE)
    body = LiveBody(s.rig)
    first = len(s.records)
    for number, (what, move, ticks) in enumerate(asked):
        if what == "hold":
            if s.mode in (Mode.IDLE, Mode.HOLDING):
                s.tick(ArmJog(speed_share=share))
            hold(s, move, ticks * s.rig.period_s, seq=1000 * (number + 1))
        else:
            requests: dict[str, tuple[Request, ...]] = {
                "step": (ArmJog(speed_share=share), JogStep(move=move)),
                "release": (JogRelease(seq=1000 * (number + 1)),),
                "arm": (ArmJog(speed_share=share),),
                "stop": (Stop(reason="test"),),
                "wait": (),
            }
            s.run(ticks * s.rig.period_s, *requests[what])
    s.tick(JogRelease(seq=10**6))
    s.run(s.bridge.stop_time_s)
    assert s.mode in (Mode.IDLE, Mode.HOLDING, Mode.ARMED)
    assert not any(record.hits for record in s.records)
    samples = sent(s.records[first:])
    if len(samples):
        for column, axis in enumerate(s.rig.axes):
            assert samples[:, column].min() >= axis.lower + axis.soft_margin - 1e-9
            assert samples[:, column].max() <= axis.upper - axis.soft_margin + 1e-9
        assert not any(body.violations(row[:5].tolist(), 0.0) for row in samples)
    assert not UnsafeBytes(s.rig).take(s.records)


# -- carried and kept ------------------------------------------------------------------------------------------


def test_requests_of_a_jog_go_through_the_mailbox(tmp_path: Path) -> None:
    requests: list[Request] = [
        ArmJog(speed_share=0.25),
        JogHold(seq=1, issued_s=2.5, move=DOWN),
        JogStep(move=axes(base=1)),
        JogRelease(seq=2),
    ]
    writer = MailboxWriter.create(tmp_path / "box")
    reader = MailboxReader(tmp_path / "box")
    for request in requests:
        writer.send(request)
    assert reader.take() == tuple(requests)
    writer.close()
    reader.close()


def test_a_jog_replays_to_the_same_bytes(tmp_path: Path) -> None:
    s = Session(true_pose=lynx6().home, driven=True).to(Mode.IDLE)
    s.tick(ArmJog(speed_share=0.5))
    hold(s, axes(base=20, gripper=-5), 0.5)
    hold(s, ToolJog(frame=JogFrame.TOOL, linear=(0.0, 0.0, 0.03)), 1.0, seq=500)
    s.until(Mode.HOLDING)
    s.until(Mode.IDLE, ArmJog(speed_share=1.0), JogStep(move=DOWN))
    s.tick(ArmJog(speed_share=1.0), JogStep(move=axes(base=80)))
    s.until(Mode.DISCONNECTED, Disconnect(reason="the end"))
    path = tmp_path / "jog.mcap"
    with JournalWriter(path, s.session_record()) as journal:
        for record in s.records:
            journal.tick(record)
        journal.end(EndKind.CLOSED, "the end", s.records[-1].t_s)
    verdict = replay(path)
    assert verdict.same, verdict.first_difference
    assert verdict.wire_bytes == sum(len(record.written) for record in s.records)


def test_the_example_in_the_docs_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "jog.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    names: dict[str, object] = {}
    exec(compile(code, "docs/jog.md", "exec"), names)
    assert names["arm"].mode is Mode.IDLE  # type: ignore[attr-defined]
