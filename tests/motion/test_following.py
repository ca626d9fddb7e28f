"""Following: whatever targets come, the samples keep the limits, a stop is always open, and rest is at the target."""

from __future__ import annotations

import contextlib
import functools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space_judge import SpaceJudge, fault

from hil.errors import CommandError, InterlockError
from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.follow import LEAD_S, NEAR, FollowMotion
from hil.motion.jog_room import JogRoom
from hil.motion.profiles import axis_limits
from hil.motion.stops import first_and_rest, stop_samples
from hil.motion.target_track import MOST_BEHIND_S, PAUSE_S, TargetTrack
from hil.robot import Robot
from hil.runtime import wiring
from hil.space.body import LiveBody
from hil.units import DEG, MM

H = 0.02
SLACK = 1.0 + 1e-6


@functools.cache
def lynx6() -> tuple[Rig, Robot, LiveBody]:
    rig = wiring.load_rig("lynx6")
    return rig, Robot(rig.robot), LiveBody(rig)


def follow(share: float = 1.0) -> FollowMotion:
    rig, robot, body = lynx6()
    return FollowMotion(rig, robot, rig.home, share, JogRoom(rig, body))


def turned(motion: FollowMotion, samples: list[tuple[float, ...]]) -> None:
    """One tick."""
    motion.turn()
    samples.append(motion.sample)
    if not motion.resting:
        motion.advance()


def to_rest(motion: FollowMotion, positions: tuple[float, ...], samples: list[tuple[float, ...]], at_s: float) -> None:
    for k in range(400):
        motion.aim(at_s + k * H, positions)
        turned(motion, samples)
        if k > 2 and motion.resting:
            return
    raise AssertionError("it does not come to rest")


def judge(samples: list[tuple[float, ...]], share: float = 1.0) -> None:
    rig, robot, _ = lynx6()
    way = np.array(samples)
    speed, acceleration, jerk = axis_limits(rig)
    for order, most in ((1, share * speed), (2, acceleration), (3, jerk)):
        assert np.all(np.abs(np.diff(way, order, axis=0)) <= most * H**order * SLACK + 1e-12), order
    tools = robot.forward_kinematics(way[:, : robot.dof])[:, :3, 3]
    assert np.linalg.norm(np.diff(tools, axis=0), axis=1).max() <= share * rig.tool_speed_m_s * H * SLACK
    for axis, low, high in zip(rig.axes, way.min(axis=0), way.max(axis=0), strict=True):
        assert axis.lower + axis.soft_margin - 1e-9 <= low
        assert high <= axis.upper - axis.soft_margin + 1e-9


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.1, 0.5, 1.0]))
def test_every_sample_keeps_the_limits_and_so_does_a_stop_from_it(seed: int, share: float) -> None:
    """Targets that are lost, late, noisy, that jump, and lead beyond limits and into the table."""
    rng = random.Random(seed)
    rig, *_ = lynx6()
    motion, samples = follow(share), [rig.home] * 3
    judged = SpaceJudge(rig)
    goal = [0.0] * len(rig.axes)
    motion.aim(-0.1, rig.home)
    for k in range(120):
        if rng.random() < 0.05:
            goal = [rng.uniform(-60, 60) * (MM / 5 if axis.kind.value == "gripper" else DEG) for axis in rig.axes]
        here = motion.sample
        wanted = tuple(
            p + max(-0.1, min(0.1, home + g - p)) * rng.uniform(0.2, 2.0)
            for p, home, g in zip(here, rig.home, goal, strict=True)
        )
        if rng.random() < 0.8:
            with contextlib.suppress(InterlockError):
                motion.aim(k * H - rng.uniform(0.0, 0.03), wanted)
        turned(motion, samples)
        if k % 10 == 0 and len(motion.stop):
            judge([*samples[-4:], *map(tuple, motion.stop.tolist())], share)
            assert np.allclose(np.diff(motion.stop[-2:], axis=0), 0.0, atol=1e-3)
    judge(samples, share)
    assert not fault(judged, rig, np.array(samples[::5]))


@pytest.mark.parametrize("degrees", [-4.5, -0.01, 3.0])
def test_it_comes_to_rest_exactly_at_a_target_that_stays_and_does_not_swing_about_it(degrees: float) -> None:
    rig, *_ = lynx6()
    motion, samples = follow(), [rig.home] * 3
    goal = (rig.home[0] + degrees * DEG, *rig.home[1:])
    to_rest(motion, goal, samples, 0.0)
    came = np.array(samples)[:, 0]
    assert came[-1] == pytest.approx(goal[0], abs=2e-9)
    past = max(float((came / goal[0]).max()) - 1.0, 0.0) * abs(degrees)
    assert past <= 0.1
    judge(samples)


def test_the_stop_s_first_sample_and_its_end_are_those_of_the_stop() -> None:
    rng = np.random.default_rng(3)
    most, jerk = np.array([3.0, 2.0]), np.array([30.0, 15.0])
    for _ in range(300):
        v, a = rng.uniform(-1.5, 1.5, 2), rng.uniform(-3.0, 3.0, 2) * rng.integers(0, 2)
        samples = stop_samples(H, most, jerk, np.zeros(2), v, a)
        first, rest = first_and_rest(H, most, jerk, v, a)
        assert first == pytest.approx(samples[0], abs=1e-12)
        assert rest == pytest.approx(samples[-1], abs=1e-12)


def test_a_target_beyond_a_soft_limit_leads_up_to_it_and_says_so_once() -> None:
    rig, *_ = lynx6()
    motion, samples = follow(), [rig.home] * 3
    limit = rig.axes[4].upper - rig.axes[4].soft_margin
    for k in range(200):
        goal = list(rig.home)
        goal[4] = min(rig.home[4] + 0.5 * k * H, limit + 5.0 * DEG)
        motion.aim(k * H, goal)
        turned(motion, samples)
    assert samples[-1][4] == pytest.approx(limit, abs=1e-6)
    words = motion.take_words()
    assert len(words) == 1
    assert words[0].startswith("[E-02] a target of wrist_rotate is beyond its upper soft limit 76.00 deg")
    judge(samples)


def test_an_arm_led_into_the_table_stops_before_it_and_goes_on_once_it_is_led_away() -> None:
    rig, *_ = lynx6()
    motion, samples = follow(), [rig.home] * 3
    down = [math.sin(math.pi * k / 300) * 60.0 * DEG for k in range(301)]
    for k, lower in enumerate(down):
        goal = list(rig.home)
        goal[1] -= lower
        with contextlib.suppress(InterlockError):  # too far ahead of an arm that goes no further
            motion.aim(k * H, goal)
        turned(motion, samples)
    words = motion.take_words()
    assert any(text.startswith("the arm follows no further: [E-10]") for text in words), words
    assert samples[-1][1] == pytest.approx(rig.home[1], abs=1.0 * DEG)
    assert min(s[1] for s in samples) > rig.home[1] - 59.0 * DEG


def test_how_far_a_target_may_be() -> None:
    rig, *_ = lynx6()
    motion = follow(0.5)
    kinds = {axis.name: NEAR[axis.kind] for axis in rig.axes}
    assert kinds["base"] == 5.0 * DEG and kinds["gripper"] == 5.0 * MM
    with pytest.raises(
        InterlockError, match=r"the first target is 5.10 deg away from where base is; allowed: 5.00 deg"
    ):
        motion.aim(0.0, (5.1 * DEG, *rig.home[1:]))
    motion.aim(0.0, rig.home)
    turned(motion, [])
    assert LEAD_S == 0.25
    motion.aim(0.1, (12.4 * DEG, *rig.home[1:]))
    with pytest.raises(
        InterlockError, match=r"12.60 deg away from where base is; allowed: 12.50 deg. Lead more slowly"
    ):
        motion.aim(0.2, (12.6 * DEG, *rig.home[1:]))
    with pytest.raises(InterlockError, match="no later than the one before"):
        motion.aim(0.1, rig.home)


@pytest.mark.parametrize("positions", [(math.nan,) * 6, (0.0,) * 5, (math.inf,) * 6])
def test_what_is_no_pose_of_this_rig_is_refused(positions: tuple[float, ...]) -> None:
    with pytest.raises(CommandError, match="target of following"):
        follow().aim(0.0, positions)


# -- the track of targets --------------------------------------------------------------------------------------


def at(value: float) -> FloatArray:
    return np.array([value])


def test_targets_are_played_back_as_late_as_the_latest_of_them_and_never_beyond_the_newest() -> None:
    track = TargetTrack(H)
    for k in range(100):
        if k % 5 == 0:
            track.add(k * H, at(k * H))
        track.turn()
        assert k < 10 or track.wanted is not None
    assert track.wanted is not None
    assert track.wanted.positions[0] == pytest.approx(99 * H - 4 * H)


def test_behind_the_newest_target_nothing_is_known_and_nothing_is_made_up() -> None:
    track = TargetTrack(H)
    for k in range(10):
        track.add(k * H, at(k * H))
        track.turn()
    assert track.wanted is not None
    for _ in range(20):
        track.turn()
        assert track.wanted is None


def test_a_delay_that_is_needed_no_more_is_made_up_for_slowly() -> None:
    track = TargetTrack(H)
    for k in range(10):
        track.turn()
        if k == 9:
            for late in range(10):
                track.add(late * H, at(0.0))
    behind_s = []
    for k in range(10, 600):
        track.add(k * H, at(0.0))
        track.turn()
        behind_s.append(track.behind_s)
    assert max(behind_s) == pytest.approx(9 * H, abs=H)
    assert behind_s[-1] <= 2.1 * H
    assert min(np.diff(behind_s)) >= -0.021 * H


def test_nothing_is_played_back_later_than_is_of_use() -> None:
    track = TargetTrack(H)
    track.add(0.0, at(0.0))
    track.add(1.0, at(1.0))  # in time, while the one before is not passed
    track.turn()
    assert MOST_BEHIND_S == 0.3
    assert track.wanted is not None
    assert track.wanted.positions[0] == pytest.approx(0.7)
    assert track.wanted.velocity[0] == pytest.approx(1.0)


def test_after_a_pause_the_targets_begin_anew_and_no_later_than_they_come() -> None:
    track = TargetTrack(H)
    track.add(0.0, at(0.0))
    for _ in range(20):
        track.turn()
    for k in range(20, 23):
        track.add(k * H, at(k * H))
        track.turn()
    assert PAUSE_S == 0.15
    assert track.behind_s <= H
