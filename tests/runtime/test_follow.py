"""Following through the loop: armed for it, led by targets, stopped by whatever is wrong with them, replayed alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from virtual_session import Session, lynx6

from hil.errors import CommandError
from hil.motion.profiles import axis_limits
from hil.motion.stops import rest_time_s
from hil.runtime.follow_source import COUNTS_S
from hil.runtime.journal import EndKind, JournalWriter
from hil.runtime.replay import replay
from hil.runtime.wiring import load_rig
from hil.testing import VirtualArm
from hil.types import (
    ArmJog,
    AxisJog,
    Disconnect,
    FollowTarget,
    JogHold,
    JogRelease,
    JointCommand,
    Mode,
    Request,
    Stop,
    TickRecord,
)
from hil.units import DEG

Make = Callable[..., Session]
Way = Callable[[float], float]
WRIST = lynx6().index("wrist")


def at_home(session: Make) -> Session:
    s = session(true_pose=lynx6().home, driven=True)
    s.to(Mode.IDLE)
    return s


def armed(session: Make, share: float = 1.0) -> Session:
    s = at_home(session)
    s.tick(ArmJog(speed_share=share))
    assert s.mode is Mode.ARMED
    return s


def stood(s: Session) -> tuple[float, ...]:
    """Where the arm was taken to stand before it was led: an echo is in whole pulses."""
    known = next((r.wanted.positions for r in s.records if isinstance(r.wanted, JointCommand)), None)
    return s.bridge._trail.here if known is None else known


def target(s: Session, degrees: float, seq: int, age_s: float = 0.0) -> FollowTarget:
    """One for the next tick, with the wrist so far from where the arm stood."""
    positions = list(stood(s))
    positions[WRIST] += degrees * DEG
    return FollowTarget(seq=seq, issued_s=s.clock.now_s() + s.rig.period_s - age_s, positions=tuple(positions))


def lead(s: Session, way: Way, seconds: float, first: int = 1) -> list[TickRecord]:
    """A target in each tick, from the time 0 of a way on."""
    begun = len(s.records)
    for k in range(round(seconds / s.rig.period_s)):
        s.tick(target(s, way(k * s.rig.period_s), first + k))
    return s.records[begun:]


def sine(t_s: float) -> float:
    """0.5 Hz, 30 degrees from one end to the other, from rest."""
    return 15.0 * (1.0 - math.cos(math.pi * t_s))


def sent(s: Session) -> np.ndarray:
    """Samples that were sent, shape (N, n)."""
    return np.array([r.wanted.positions for r in s.records if isinstance(r.wanted, JointCommand) and r.sent])


def wrist_deg(s: Session) -> np.ndarray:
    degrees: np.ndarray = (sent(s)[:, WRIST] - stood(s)[WRIST]) / DEG
    return degrees


def said(s: Session, *words: str) -> int:
    return sum(all(word in event for word in words) for event in s.events)


def moved_s(s: Session) -> float:
    """When the last pulse of an axis changed."""
    channels = {axis.channel for axis in s.settings.axes}
    return max(t for t, channel, _ in s.pulses if channel in channels)


def test_a_sine_is_followed_to_less_than_a_degree_of_the_delayed_target_within_every_limit(session: Make) -> None:
    s = armed(session)
    lead(s, sine, 8.0)
    h, came = s.rig.period_s, wrist_deg(s)
    times = np.arange(len(came)) * h
    worst, delay_s = min(
        (float(np.abs(came - [sine(max(t - delay, 0.0)) for t in times]).max()), delay)
        for delay in np.arange(0.0, 0.2, 0.005)
    )
    assert worst < 1.0
    assert delay_s <= 0.05
    for order, most in enumerate(axis_limits(s.rig), 1):
        assert np.all(np.abs(np.diff(sent(s), order, axis=0)) <= most * h**order * (1.0 + 1e-9))


def test_who_ends_the_targets_is_stopped_within_the_budget_and_nothing_goes_on_by_itself(session: Make) -> None:
    s = armed(session)
    lead(s, sine, 0.5)
    last_s = s.clock.now_s()
    s.until(Mode.HOLDING)
    assert said(s, "stop: no target to follow has come for 200 ms") == 1
    s.run(1.0)
    assert moved_s(s) <= last_s + COUNTS_S + rest_time_s(s.rig)


def test_an_arm_that_hears_no_further_target_begins_to_stop_at_once_and_passes_it_by_its_stop_alone(
    session: Make,
) -> None:
    s = armed(session)
    lead(s, sine, 0.5)
    speed = wrist_deg(s)[-1] - wrist_deg(s)[-2]
    s.until(Mode.HOLDING)
    assert (np.diff(wrist_deg(s), 1)[-20:] <= speed + 1e-9).all()
    at_most = sine(0.5) + (47.0**2 / (2.0 * 200.0) + 47.0 * 200.0 / (2.0 * 2000.0))
    assert sine(0.5) - 1.0 < wrist_deg(s)[-1] < at_most


def test_a_release_stops_at_once_and_a_target_that_was_under_way_does_not_begin_it_anew(session: Make) -> None:
    s = armed(session)
    lead(s, sine, 0.5)
    s.tick(JogRelease(seq=100))
    assert s.mode is Mode.STOPPING
    s.tick(target(s, sine(0.5), 99))
    s.until(Mode.HOLDING)
    assert said(s, "refused") == 0
    s.tick(target(s, 0.0, 101))
    assert s.mode is Mode.HOLDING
    assert said(s, "refused", "to jog needs the mode armed") == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s, good: target(s, 40.0, good.seq + 1), "a target is 40.00 deg away"),
        (lambda s, good: target(s, 1.0, good.seq + 1, age_s=0.5), "a target is 500 ms old; allowed: 200 ms"),
        (lambda s, good: FollowTarget(seq=good.seq + 1, issued_s=good.issued_s, positions=good.positions), "no later"),
        (lambda s, good: target(s, 1.0, good.seq), None),
        (lambda s, good: FollowTarget(seq=good.seq + 1, issued_s=good.issued_s + 0.02, positions=(0.0,)), None),
    ],
    ids=["jump", "stale", "reordered", "repeated", "short"],
)
def test_a_bad_target_is_passed_over_said_once_and_stops_the_arm_if_no_good_one_comes(
    session: Make, change: Callable[[Session, FollowTarget], FollowTarget], words: str | None
) -> None:
    s = armed(session)
    good = target(s, 0.0, 1)
    for k in range(10):
        good = target(s, 0.0, 1 + 2 * k)
        s.tick(good)
        s.tick(change(s, good))
    assert s.mode is Mode.STREAMING
    for _ in range(9):
        s.tick(change(s, good))
    assert s.mode is Mode.STREAMING
    s.run(0.1, change(s, good))
    assert s.mode is Mode.HOLDING
    assert words is None or said(s, "not followed: ", words) == 1
    assert np.abs(wrist_deg(s)).max() == 0.0


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_no_target(value: float) -> None:
    with pytest.raises(CommandError, match="finite numbers"):
        FollowTarget(seq=1, issued_s=0.0, positions=(0.0, value))
    with pytest.raises(CommandError, match="finite numbers"):
        FollowTarget(seq=1, issued_s=value, positions=(0.0,))


def test_the_first_target_has_to_be_where_the_arm_stands_and_nothing_moves_for_another(session: Make) -> None:
    s = armed(session)
    before = len(s.pulses)
    for k in range(10):
        s.tick(target(s, 5.5, 1 + k))
    assert s.mode is Mode.ARMED
    assert said(s, "refused: the first target is 5.50 deg away from where wrist is; allowed: 5.00 deg") == 1
    assert len(s.pulses) == before
    s.tick(target(s, 4.5, 20))
    assert s.mode is Mode.STREAMING


def test_too_few_positions_are_refused_in_words(session: Make) -> None:
    s = armed(session)
    s.tick(FollowTarget(seq=1, issued_s=s.clock.now_s(), positions=(0.0,)))
    assert s.mode is Mode.ARMED
    assert said(s, "refused: target of following: 1 positions given; this rig has the axes base, shoulder")


@pytest.mark.parametrize("first", ["hold", "target"])
def test_a_jog_is_no_following_and_the_other_way_round(session: Make, first: str) -> None:
    s = armed(session)
    hold = JogHold(seq=1, issued_s=s.clock.now_s(), move=AxisJog(amounts=(0.1, 0.0, 0.0, 0.0, 0.0, 0.0)))
    both: list[Request] = (
        [hold, target(s, 0.0, 2)] if first == "hold" else [target(s, 0.0, 1), msgspec.structs.replace(hold, seq=2)]
    )
    s.tick(both[0])
    assert s.mode is Mode.STREAMING
    s.tick(both[1])
    assert said(s, "refused: the jog before is still running") == 1


def test_a_stop_is_a_stop(session: Make) -> None:
    s = armed(session)
    lead(s, sine, 0.5)
    asked_s = s.clock.now_s()
    s.until(Mode.HOLDING, Stop(reason="the test"))
    assert moved_s(s) <= asked_s + s.rig.period_s + rest_time_s(s.rig)


def test_a_share_of_the_speeds_is_kept(session: Make) -> None:
    s = armed(session, 0.25)
    lead(s, lambda t: min(20.0 * t, 12.0), 1.2)
    assert np.abs(np.diff(wrist_deg(s))).max() <= 0.25 * 60.0 * s.rig.period_s
    assert wrist_deg(s).max() == pytest.approx(12.0, abs=0.5)


def test_an_arm_whose_controller_is_given_motion_seconds_ahead_refuses_to_follow() -> None:
    arm = VirtualArm(load_rig("rv2aj"))
    arm.ready()
    arm.tick(ArmJog(speed_share=0.25))
    before = len(arm.written)
    arm.tick(FollowTarget(seq=1, issued_s=arm.now_s, positions=arm.rig.park))
    assert arm.mode is Mode.ARMED
    assert any("rv2aj does not follow targets: its controller is given motion 3.6 s ahead" in e for e in arm.events)
    assert b"MOV" not in arm.written[before:]


def test_a_robot_without_a_rig_follows() -> None:
    arm = VirtualArm(load_rig("ur5"))
    arm.ready()
    arm.tick(ArmJog(speed_share=0.25))
    for k in range(51):
        goal = list(arm.rig.park)
        goal[5] += 0.1 * (1.0 - math.cos(math.pi * k * arm.rig.period_s))
        arm.tick(FollowTarget(seq=1 + k, issued_s=arm.now_s + arm.rig.period_s, positions=tuple(goal)))
    assert arm.mode is Mode.STREAMING
    assert arm.servos[5] - arm.rig.park[5] == pytest.approx(0.2, abs=0.02)


def test_a_sine_of_thirty_degrees_either_way_is_followed_where_a_joint_is_fast_enough() -> None:
    """0.5 Hz at 50 Hz: 94 deg/s at its fastest, which no joint of a Lynx6 is allowed and the last one of a UR5 is."""
    arm = VirtualArm(load_rig("ur5"))
    arm.ready()
    rig, h = arm.rig, arm.rig.period_s
    record = arm.tick(ArmJog(speed_share=1.0))
    start, rows = list(record.setpoint), []
    for k in range(round(8.0 / h)):
        goal = [*start[:5], start[5] + 2.0 * sine(k * h) * DEG]
        record = arm.tick(FollowTarget(seq=1 + k, issued_s=arm.now_s + h, positions=tuple(goal)))
        if isinstance(record.wanted, JointCommand) and record.sent:
            rows.append(record.wanted.positions)
    assert len(rows) > 390
    came = (np.array(rows)[:, 5] - start[5]) / DEG
    assert came.max() == pytest.approx(60.0, abs=1.0)
    delayed = np.array([2.0 * sine(max(k * h - 0.005, 0.0)) for k in range(len(came))])
    assert np.abs(came - delayed).max() < 1.0
    for order, most in enumerate(axis_limits(rig), 1):
        assert np.all(np.abs(np.diff(rows, order, axis=0)) <= most * h**order * (1.0 + 1e-9))


def test_what_was_followed_is_replayed_to_the_same_bytes(tmp_path: Path) -> None:
    s = Session(true_pose=lynx6().home, driven=True).to(Mode.IDLE)
    s.tick(ArmJog(speed_share=1.0))
    lead(s, sine, 1.0)
    s.until(Mode.HOLDING)
    s.until(Mode.DISCONNECTED, Disconnect(reason="the end"))
    path = tmp_path / "follow.mcap"
    with JournalWriter(path, s.session_record()) as journal:
        for record in s.records:
            journal.tick(record)
        journal.end(EndKind.CLOSED, "the end", s.records[-1].t_s)
    verdict = replay(path)
    assert verdict.same, verdict.first_difference
    assert verdict.wire_bytes == sum(len(record.written) for record in s.records)


def test_the_example_for_programs_in_the_docs_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "follow.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[2].split("```")[0]
    names: dict[str, object] = {}
    exec(compile(code, "docs/follow.md", "exec"), names)
    assert capsys.readouterr().out.endswith("degrees\n")
    assert names["arm"].position("base") == pytest.approx(5.7, abs=0.3)  # type: ignore[attr-defined]
