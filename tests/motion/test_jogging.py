"""Jogging: whatever is held, the samples keep the limits and a stop is always open; increments are exact."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from motion_rigs import revolute
from space_judge import SpaceJudge, fault

from hil.errors import CommandError, InterlockError
from hil.link import FloatArray
from hil.model.reader import load_robot
from hil.model.rig import Fences, Rig
from hil.motion.jog import JogMotion, Move
from hil.motion.jog_room import JogRoom
from hil.motion.jog_run import speed_before
from hil.motion.profiles import differences, usage
from hil.motion.stops import stop_ramp
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.runtime import wiring
from hil.space.body import LiveBody
from hil.types import AxisJog, JogFrame, ToolJog
from hil.units import DEG, MM

WORLD, TOOL = JogFrame.WORLD, JogFrame.TOOL
STRAIGHT_UP = (0.0, 90 * DEG, 0.0, 0.0, 0.0, 10 * MM)
MOST_SAMPLES = 3000


class Bench:
    """A rig, and what is near in it."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.robot, self.body = rig, Robot(rig.robot), LiveBody(rig)

    def near(self, joints: Sequence[float]) -> dict[tuple[str, str], float]:
        found = self.body.constraints
        return {(found[i].check, found[i].subject): left for i, left in self.body.violations(joints, -1 * MM)}

    def jog(self, start: Sequence[float], share: float = 0.25) -> JogMotion:
        return JogMotion(self.rig, self.robot, start, share, JogRoom(self.rig, self.body))

    def axes(self, **amounts: float) -> AxisJog:
        """Amounts by name, in degrees, or millimetres of the gripper."""
        scale = {axis.name: DEG if axis.kind.value == "revolute" else MM for axis in self.rig.axes}
        return AxisJog(amounts=tuple(amounts.get(a.name, 0.0) * scale[a.name] for a in self.rig.axes))

    def point_mm(self, positions: Sequence[float]) -> FloatArray:
        pose = self.robot.forward_kinematics(np.asarray(positions)[..., : self.robot.dof])
        points: FloatArray = pose[..., :3, 3] / MM
        return points


@functools.cache
def lynx6() -> Bench:
    return Bench(wiring.load_rig("lynx6"))


@functools.cache
def puma() -> Bench:
    """Six joints, which take any orientation; no shapes, no fences."""
    names = ("waist", "shoulder", "elbow", "forearm", "wrist", "flange")
    fences = Fences(table_height_m=-9.0, stands_on_table=(), keep_out=(), keep_in=None, clearance_m=0.0, neighbours=())
    axes = tuple(revolute(name, -150, 150, 0, 0) for name in names)
    base = lynx6().rig
    return Bench(msgspec.structs.replace(base, robot=load_robot("puma560"), axes=axes, shapes=(), fences=fences))


def taken(jog: JogMotion, most: int = MOST_SAMPLES) -> list[tuple[float, ...]]:
    """Samples until there is nothing more to send."""
    samples = []
    while not jog.resting and len(samples) < most:
        samples.append(jog.sample)
        jog.advance()
    return samples


def step(bench: Bench, start: Sequence[float], move: Move, share: float = 0.25) -> FloatArray:
    """All samples of one increment."""
    jog = bench.jog(start, share)
    jog.step(move)
    samples = taken(jog)
    assert jog.done
    assert not jog.take_words()
    return np.array(samples)


def held(jog: JogMotion, move: Move, ticks: int) -> list[tuple[float, ...]]:
    """Samples while something is held for so many ticks."""
    samples = []
    for _ in range(ticks):
        jog.hold(move)
        if not jog.resting:
            samples.append(jog.sample)
            jog.advance()
    return samples


def stop_of(rig: Rig, samples: Sequence[Sequence[float]]) -> FloatArray:
    """The stop that the loop would begin after these samples."""
    older, old, last = (np.array(row) for row in ([samples[0]] * 2 + list(samples))[-3:])
    h = rig.period_s
    return stop_ramp(rig, last.tolist(), ((last - old) / h).tolist(), ((last - 2 * old + older) / h**2).tolist())


def assert_kept(bench: Bench, samples: FloatArray, share: float) -> None:
    """Speed at the share, acceleration and jerk, soft limits, tool speed."""
    speed, acceleration, jerk = usage(bench.rig, samples).max(axis=1)
    assert speed <= share * (1.0 + 1e-9)
    assert acceleration <= 1.0 + 1e-9
    assert jerk <= 1.0 + 1e-6
    assert_inside(bench, samples)
    travel = np.linalg.norm(np.diff(bench.point_mm(samples), axis=0), axis=1) * MM / bench.rig.period_s
    assert travel.max(initial=0.0) <= bench.rig.tool_speed_m_s * share * (1.0 + 1e-9)


def assert_inside(bench: Bench, samples: FloatArray) -> None:
    for column, axis in enumerate(bench.rig.axes):
        assert samples[:, column].min() >= axis.lower + axis.soft_margin - 1e-9, axis.name
        assert samples[:, column].max() <= axis.upper - axis.soft_margin + 1e-9, axis.name
    for row in samples[:, : bench.robot.dof].tolist():
        assert not bench.body.violations(row, 0.0)


# -- whatever is held ------------------------------------------------------------------------------------------

POSES = st.tuples(*[st.floats(0.0, 1.0)] * 6).map(
    lambda parts: tuple(
        a.lower + a.soft_margin + part * (a.upper - a.lower - 2 * a.soft_margin)
        for a, part in zip(lynx6().rig.axes, parts, strict=True)
    )
)
AXIS_HOLDS = st.tuples(*[st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.2])] * 6).map(lambda v: AxisJog(amounts=v))
TOOL_HOLDS = st.builds(
    ToolJog,
    frame=st.sampled_from(JogFrame),
    linear=st.tuples(*[st.sampled_from([0.0, 0.1, -0.1, 0.02])] * 3),
    pitch=st.sampled_from([0.0, 0.0, 0.5, -0.5]),
    roll=st.sampled_from([0.0, 0.0, 0.5]),
)
HELD = st.lists(st.tuples(st.one_of(AXIS_HOLDS, TOOL_HOLDS), st.integers(1, 60)), min_size=1, max_size=5)
SHARES = st.sampled_from([0.05, 0.25, 1.0])


@given(POSES, HELD, SHARES)
@settings(max_examples=40, deadline=None)
def test_whatever_is_held_limits_and_clearances_are_kept_and_so_does_the_stop_after_it(
    start: tuple[float, ...], moves: list[tuple[Move, int]], share: float
) -> None:
    bench = lynx6()
    assume(not bench.near(start[:5]))
    jog = bench.jog(start, share)
    samples = [jog.sample]
    jog.advance()
    for move, ticks in moves:
        samples += held(jog, move, ticks)
    path = np.array([*samples, *stop_of(bench.rig, samples)])
    assert path[0].tolist() == list(start)
    assert_kept(bench, path, share)


@given(POSES, HELD, st.integers(1, 120))
@settings(max_examples=25, deadline=None)
def test_a_stop_begun_at_any_sample_stays_inside_and_clear(
    start: tuple[float, ...], moves: list[tuple[Move, int]], at: int
) -> None:
    bench = lynx6()
    assume(not bench.near(start[:5]))
    jog = bench.jog(start, 1.0)
    samples = [jog.sample]
    jog.advance()
    for move, ticks in moves:
        samples += held(jog, move, ticks)
    samples = samples[: at + 1]
    assert_inside(bench, np.array([*samples, *stop_of(bench.rig, samples)]))


def test_the_first_sample_is_where_the_arm_is() -> None:
    bench = lynx6()
    for move in (bench.axes(base=30), ToolJog(frame=WORLD, linear=(0.0, 0.1, 0.0))):
        jog = bench.jog(bench.rig.home)
        jog.hold(move)
        assert jog.sample == bench.rig.home


def test_a_sudden_full_push_and_its_reversal_come_out_smooth() -> None:
    bench = lynx6()
    jog = bench.jog(bench.rig.home, 1.0)
    samples = held(jog, bench.axes(wrist=999), 30) + held(jog, bench.axes(wrist=-999), 45)
    assert_kept(bench, np.array([*samples, *stop_of(bench.rig, samples)]), 1.0)
    speed = differences(np.array(samples[:-1]), bench.rig.period_s)[0][:, 3] / DEG
    assert speed.max() == pytest.approx(60.0, rel=1e-3)
    assert speed.min() == pytest.approx(-60.0, rel=1e-3)


def test_holding_nothing_is_no_motion_and_ends_one() -> None:
    bench = lynx6()
    jog = bench.jog(bench.rig.home)
    still = held(jog, AxisJog(amounts=(0.0,) * 6), 20)
    assert set(still) == {bench.rig.home}
    held(jog, bench.axes(base=10), 20)
    held(jog, ToolJog(frame=WORLD), 60)
    assert jog.resting


def test_a_direction_is_changed_at_rest_and_a_speed_while_moving() -> None:
    bench = lynx6()
    jog = bench.jog(bench.rig.home, 1.0)
    samples = held(jog, ToolJog(frame=WORLD, linear=(0.0, 0.02, 0.0)), 60)
    samples += held(jog, ToolJog(frame=WORLD, linear=(0.0, 0.08, 0.0)), 60)
    first = bench.point_mm(np.array(samples))
    assert np.abs(first[:, [0, 2]] - first[0, [0, 2]]).max() < 1e-9
    steps = np.diff(first[:, 1]) / bench.rig.period_s
    assert steps[40:58].max() == pytest.approx(20.0, rel=1e-2)
    assert steps[-1] == pytest.approx(80.0, rel=2e-2)
    turned = held(jog, ToolJog(frame=WORLD, linear=(0.0, 0.0, 0.03)), 120)
    points = bench.point_mm(np.array(turned))
    sideways, upwards = np.diff(points[:, 1]), np.diff(points[:, 2]) / bench.rig.period_s
    turn = int(np.flatnonzero(np.abs(sideways) > 1e-9)[-1]) + 1
    assert upwards[turn] == pytest.approx(0.0, abs=1e-9)
    assert 0 < turn < 40
    assert upwards.max() == pytest.approx(30.0, rel=1e-2)


# -- limits and fences in the way ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "sign"), [("base", 1), ("wrist", 1), ("wrist_rotate", -1), ("gripper", 1)])
def test_an_axis_slows_before_its_soft_limit_stops_there_says_so_and_comes_back(name: str, sign: int) -> None:
    bench = lynx6()
    axis = bench.rig.axes[bench.rig.index(name)]
    jog = bench.jog(bench.rig.home, 1.0)
    samples = held(jog, bench.axes(**{name: 999.0 * sign}), 400)
    end = samples[-1][bench.rig.index(name)]
    bound = axis.upper - axis.soft_margin if sign > 0 else axis.lower + axis.soft_margin
    assert abs(end - bound) < (0.02 * DEG if axis.kind.value == "revolute" else 0.02 * MM)
    words = jog.take_words()
    assert len(words) == 1
    assert name in words[0]
    assert "soft limit" in words[0]
    assert "the other way" in words[0]
    assert jog.resting
    back = held(jog, bench.axes(**{name: -999.0 * sign}), 30)
    assert abs(back[-1][bench.rig.index(name)] - bound) > 1e-3
    assert_kept(bench, np.array([*samples, *back, *stop_of(bench.rig, samples + back)]), 1.0)


def test_an_axis_that_stands_beyond_a_soft_limit_may_come_back_and_go_no_further() -> None:
    bench = lynx6()
    base = bench.rig.axes[0]
    start = (base.upper - 0.25 * base.soft_margin, *bench.rig.home[1:])
    outwards = bench.jog(start)
    assert {s[0] for s in held(outwards, bench.axes(base=10), 50)} == {start[0]}
    with pytest.raises(RefusedError, match="base: upper soft limit 86"):
        bench.jog(start).step(bench.axes(base=1))
    assert step(bench, start, bench.axes(base=-1))[-1][0] == pytest.approx(start[0] - 1 * DEG, abs=1e-12)
    assert len(held(bench.jog(start), bench.axes(base=-10), 50)) > 40


def test_an_arm_led_down_stops_before_the_table_and_goes_up_again() -> None:
    bench = lynx6()
    jog = bench.jog(bench.rig.home, 1.0)
    down = held(jog, bench.axes(shoulder=-40), 200)
    assert jog.resting
    words = jog.take_words()
    assert any("table" in text for text in words)
    assert_kept(bench, np.array(down), 1.0)
    up = held(jog, bench.axes(shoulder=40), 50)
    assert up[-1][1] > down[-1][1] + 5 * DEG


def test_the_tool_led_down_slows_and_stops_before_the_table() -> None:
    bench = lynx6()
    start = step(bench, bench.rig.home, ToolJog(frame=WORLD, linear=(0.0, 0.0, 30 * MM)), 1.0)[-1]
    start = step(bench, start, bench.axes(elbow=30), 1.0)[-1]
    jog = bench.jog(start.tolist(), 1.0)
    samples = np.array(held(jog, ToolJog(frame=WORLD, linear=(0.0, 0.0, -0.2)), 600))
    assert jog.resting
    assert jog.take_words()
    assert_kept(bench, samples, 1.0)
    points = bench.point_mm(samples)
    assert np.abs(points[:, :2] - points[0, :2]).max() < 1e-6
    speeds = -np.diff(points[:, 2])
    late = speeds[int(np.argmax(speeds)) :]
    assert (np.diff(late) < 1e-2).all(), "it slows without pushing on again"


@given(st.floats(0.0, 3.0), st.floats(0.5, 5.0), st.floats(5.0, 50.0))
def test_the_speed_in_front_of_a_limit_is_the_one_that_can_be_given_up_there(
    room: float, acceleration: float, jerk: float
) -> None:
    speed = float(speed_before(np.array([room]), np.array([acceleration]), np.array([jerk]))[0])
    full = speed * jerk >= acceleration**2
    way = 0.5 * speed * (speed / acceleration + acceleration / jerk) if full else speed * math.sqrt(speed / jerk)
    assert way == pytest.approx(room, rel=1e-6, abs=1e-9)


# -- increments ------------------------------------------------------------------------------------------------

LYNX6_STEPS = [
    ToolJog(frame=frame, linear=tuple(length if i == k else 0.0 for i in range(3)))  # type: ignore[arg-type]
    for (frame, k), length in itertools.product([(WORLD, 0), (WORLD, 1), (WORLD, 2), (TOOL, 2)], (10 * MM, 0.5 * MM))
] + [ToolJog(frame=WORLD, pitch=5 * DEG), ToolJog(frame=WORLD, roll=10 * DEG)]


def reverse(move: ToolJog) -> ToolJog:
    x, y, z = move.linear
    a, b, c = move.turn
    return ToolJog(frame=move.frame, linear=(-x, -y, -z), pitch=-move.pitch, roll=-move.roll, turn=(-a, -b, -c))


@pytest.mark.parametrize("share", [0.1, 1.0])
@pytest.mark.parametrize("move", LYNX6_STEPS, ids=lambda m: f"{m.frame.value} {m.linear} {m.pitch:.2f} {m.roll:.2f}")
def test_a_step_of_the_tool_and_its_reverse_come_back_to_the_start(move: ToolJog, share: float) -> None:
    bench = lynx6()
    start = step(bench, bench.rig.home, bench.axes(base=20, wrist_rotate=15), 1.0)[-1]
    there = step(bench, start, move, share)
    back = step(bench, there[-1], reverse(move), share)
    assert_kept(bench, there, share)
    assert_kept(bench, back, share)
    assert np.abs(bench.point_mm(back[-1]) - bench.point_mm(start)).max() < 1e-6
    assert np.abs(back[-1] - start).max() < 1e-9
    length = np.linalg.norm(bench.point_mm(there[-1]) - bench.point_mm(start)) * MM
    assert length == pytest.approx(math.hypot(*move.linear), abs=1e-12)


def test_sideways_in_its_own_frame_five_joints_turn_the_hand_and_so_come_back_only_nearly() -> None:
    bench = lynx6()
    sideways = ToolJog(frame=TOOL, linear=(0.0, 10 * MM, 0.0))
    there = step(bench, bench.rig.home, sideways)[-1]
    back = step(bench, there, reverse(sideways))[-1]
    away = float(np.linalg.norm(bench.point_mm(back) - bench.point_mm(bench.rig.home)))
    assert 0.01 < away < 10.0**2 / np.linalg.norm(bench.point_mm(bench.rig.home)[:2])


def test_only_the_line_moves_the_point_and_only_the_turn_turns_the_tool() -> None:
    bench = lynx6()
    home = bench.rig.home
    target = bench.robot.tool_target
    for row in step(bench, home, ToolJog(frame=WORLD, linear=(8 * MM, 8 * MM, 0.0))):
        assert target(row[:5]).pitch_rad == pytest.approx(target(home[:5]).pitch_rad, abs=1e-12)
        assert target(row[:5]).roll_rad == pytest.approx(0.0, abs=1e-12)
    turned = step(bench, home, ToolJog(frame=WORLD, pitch=5 * DEG))
    assert np.abs(bench.point_mm(turned) - bench.point_mm(home)).max() < 1e-6
    assert target(turned[-1][:5]).pitch_rad - target(home[:5]).pitch_rad == pytest.approx(5 * DEG)


@pytest.mark.parametrize("share", [0.05, 0.25, 1.0])
def test_a_step_of_one_axis_is_exact_and_moves_no_other(share: float) -> None:
    bench = lynx6()
    samples = step(bench, bench.rig.home, bench.axes(elbow=5), share)
    assert samples[-1][2] == bench.rig.home[2] + 5 * DEG
    assert (np.delete(samples, 2, axis=1) == np.delete(samples[0], 2)).all()
    assert_kept(bench, samples, share)
    assert (np.diff(samples[:, 2]) >= 0.0).all(), "never past its end"


@pytest.mark.parametrize("move", [AxisJog(amounts=(0.0,) * 6), ToolJog(frame=WORLD), ToolJog(frame=TOOL)])
def test_an_increment_of_nothing_is_exactly_no_motion(move: Move) -> None:
    bench = lynx6()
    samples = step(bench, bench.rig.home, move)
    assert {tuple(row) for row in samples.tolist()} == {bench.rig.home}


@pytest.mark.parametrize(
    "move",
    [
        ToolJog(frame=WORLD, linear=(10 * MM, 0.0, 0.0)),
        ToolJog(frame=TOOL, linear=(0.0, 0.0, 25 * MM)),
        ToolJog(frame=WORLD, turn=(10 * DEG, 0.0, 0.0)),
        ToolJog(frame=TOOL, turn=(0.0, 5 * DEG, 20 * DEG)),
    ],
)
def test_six_joints_turn_the_tool_about_its_point_and_come_back(move: ToolJog) -> None:
    bench = puma()
    start = np.array((10, 40, -30, 20, 50, 10)) * DEG
    there = step(bench, start, move, 1.0)
    back = step(bench, there[-1], reverse(move), 1.0)
    assert_kept(bench, there, 1.0)
    assert np.abs(back[-1] - start).max() < 1e-8
    assert np.abs(bench.point_mm(back[-1]) - bench.point_mm(start)).max() < 1e-6
    if not any(move.linear):
        assert np.abs(bench.point_mm(there) - bench.point_mm(start)).max() < 1e-5
        first, last = (bench.robot.forward_kinematics(row)[:3, :3] for row in (there[0], there[-1]))
        angle = math.acos((np.trace(first.T @ last) - 1.0) / 2.0)
        assert angle == pytest.approx(math.hypot(*move.turn), abs=1e-7)


# -- straight up, where the tool cannot go everywhere ----------------------------------------------------------


@pytest.mark.parametrize("share", [0.05, 0.25, 1.0])
def test_out_of_the_straight_up_posture_the_tool_goes_down_and_back_up(share: float) -> None:
    bench = lynx6()
    down = ToolJog(frame=WORLD, linear=(0.0, 0.0, -10 * MM))
    there = step(bench, STRAIGHT_UP, down, share)
    back = step(bench, there[-1], reverse(down), share)
    for samples in (there, back):
        assert_kept(bench, samples, share)
        assert np.abs(bench.point_mm(samples)[:, :2]).max() < 1e-6
    assert bench.point_mm(there[-1])[2] == pytest.approx(bench.point_mm(STRAIGHT_UP)[2] - 10.0, abs=1e-9)
    assert np.abs(bench.point_mm(back[-1]) - bench.point_mm(STRAIGHT_UP)).max() < 1e-6
    again = step(bench, back[-1], down, share)
    assert np.abs(again[-1] - there[-1]).max() < 1e-6, "the elbow bends the same way"


def test_straight_up_what_the_tool_cannot_do_is_refused_with_what_it_can() -> None:
    bench = lynx6()
    with pytest.raises(RefusedError) as refused:
        bench.jog(STRAIGHT_UP).step(ToolJog(frame=WORLD, linear=(10 * MM, 0.0, 0.0)))
    text = refused.value.refusals[0].text
    assert "the tool can go -z" in text
    assert "single joints" in text


@pytest.mark.parametrize("name", ["base", "shoulder", "elbow", "wrist", "wrist_rotate"])
def test_single_joints_move_in_any_posture(name: str) -> None:
    bench = lynx6()
    assert len(held(bench.jog(STRAIGHT_UP), bench.axes(**{name: 20}), 40)) == 40
    assert len(step(bench, STRAIGHT_UP, bench.axes(**{name: -3}))) > 5


def test_the_tool_led_up_to_its_reach_slows_says_what_helps_and_goes_back() -> None:
    bench = lynx6()
    low = step(bench, STRAIGHT_UP, ToolJog(frame=WORLD, linear=(0.0, 0.0, -60 * MM)), 1.0)[-1]
    jog = bench.jog(low.tolist(), 1.0)
    up = held(jog, ToolJog(frame=WORLD, linear=(0.0, 0.0, 0.2)), 400)
    assert jog.resting
    words = " ".join(jog.take_words())
    assert "singular" in words
    assert "reach" in words
    assert "-z" in words
    assert bench.point_mm(up[-1])[2] == pytest.approx(bench.point_mm(STRAIGHT_UP)[2], abs=0.01)
    back = held(jog, ToolJog(frame=WORLD, linear=(0.0, 0.0, -0.2)), 60)
    assert bench.point_mm(back[-1])[2] < bench.point_mm(up[-1])[2] - 2.0
    assert_kept(bench, np.array([*up, *back, *stop_of(bench.rig, up + back)]), 1.0)


def test_beside_the_base_axis_a_tool_that_cannot_go_on_names_reach_and_not_the_base() -> None:
    """The nearest posture beyond has the base turned round: its limit is not what is in the way."""
    bench = lynx6()
    near = (-0.21589800703471027, 1.6088283346079986, 0.004341808831447159, -0.020974121776304675, 0.0, 0.01)
    for start in (STRAIGHT_UP, near):
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            jog = bench.jog(start)
            held(jog, ToolJog(frame=WORLD, linear=(0.05 * x, 0.05 * y, 0.0)), 150)
            said = " ".join(jog.take_words())
            assert "Jog base the other way" not in said
            if "would have to turn far" in said:
                assert "[E-07] tool: reach" in said
    with pytest.raises(RefusedError) as refused:
        bench.jog(STRAIGHT_UP).step(ToolJog(frame=WORLD, linear=(0.0, 10 * MM, 0.0)))
    assert refused.value.refusals[0].subject == "tool"
    assert "reach" in refused.value.refusals[0].limit


# -- from where a limit is not kept ----------------------------------------------------------------------------


def test_from_too_near_a_jog_away_goes_on_and_one_nearer_is_refused_by_what_leads_out() -> None:
    bench = Bench(raised(lynx6().rig, 30))
    low = (0.0, 40 * DEG, -65 * DEG, -30 * DEG, 0.0, 10 * MM)
    assert bench.body.violations(low[:5], 0.0)
    up = np.array(held(bench.jog(low, 0.5), bench.axes(shoulder=20), 60))
    assert up[-1][1] > low[1] + 5 * DEG
    assert_floors_kept(bench, up)
    down = bench.jog(low, 0.5)
    assert {tuple(row) for row in held(down, bench.axes(shoulder=-20), 30)} == {low}
    (words,) = down.take_words()
    assert "it is too near already" in words
    assert "Out of it: jog +shoulder" in words


def test_what_has_lessened_in_a_jog_does_not_grow_again_in_the_same_or_the_next() -> None:
    bench = Bench(raised(lynx6().rig, 30))
    low = (0.0, 40 * DEG, -65 * DEG, -30 * DEG, 0.0, 10 * MM)
    jog = bench.jog(low, 0.5)
    up = held(jog, bench.axes(shoulder=20), 20)
    back = held(jog, bench.axes(shoulder=-20), 40)
    assert_floors_kept(bench, np.array(up + back))
    assert back[-1][1] > low[1] + 0.5 * DEG


@given(st.integers(0, 2**32 - 1), HELD)
@settings(max_examples=25, deadline=None)
def test_whatever_is_held_from_a_broken_pose_no_sample_and_no_stop_makes_it_worse(
    seed: int, moves: list[tuple[Move, int]]
) -> None:
    random = np.random.default_rng(seed)
    bench = Bench(raised(lynx6().rig, float(random.uniform(0, 34))))
    axes = bench.rig.axes
    start = tuple(float(random.uniform(a.lower + 0.1 * a.soft_margin, a.upper - 0.1 * a.soft_margin)) for a in axes)
    jog = bench.jog(start, 1.0)
    samples = [jog.sample]
    jog.advance()
    for move, ticks in moves:
        samples += held(jog, move, ticks)
    samples += [tuple(row) for row in jog.stop.tolist()]
    assert_floors_kept(bench, np.array(samples))


def raised(rig: Rig, height_mm: float) -> Rig:
    return msgspec.structs.replace(rig, fences=msgspec.structs.replace(rig.fences, table_height_m=height_mm * MM))


def assert_floors_kept(bench: Bench, samples: FloatArray) -> None:
    words = fault(SpaceJudge(bench.rig), bench.rig, samples)
    assert not words, words


# -- refusals --------------------------------------------------------------------------------------------------


def test_a_step_beyond_a_soft_limit_is_refused_with_joint_limit_and_what_is_left() -> None:
    bench = lynx6()
    start = (80 * DEG, *bench.rig.home[1:])
    with pytest.raises(RefusedError) as refused:
        bench.jog(start).step(bench.axes(base=10))
    text = refused.value.refusals[0].text
    assert "[E-02] base: upper soft limit 86.00 deg" in text
    assert "base by +6.00 deg" in text


@pytest.mark.parametrize(
    "move", [ToolJog(frame=WORLD, linear=(0.2, 0.0, 0.0)), ToolJog(frame=WORLD, pitch=2.0)], ids=["line", "turn"]
)
def test_a_step_larger_than_any_jog_is_refused(move: ToolJog) -> None:
    with pytest.raises(RefusedError, match="smaller increments"):
        lynx6().jog(lynx6().rig.home).step(move)
    with pytest.raises(RefusedError, match=r"45\.00 deg at most"):
        lynx6().jog(lynx6().rig.home).step(lynx6().axes(base=50))


def test_nothing_is_queued() -> None:
    bench = lynx6()
    jog = bench.jog(bench.rig.home)
    jog.step(bench.axes(base=5))
    jog.advance()
    with pytest.raises(InterlockError, match="nothing is queued"):
        jog.step(bench.axes(base=5))
    with pytest.raises(InterlockError, match="step is running"):
        jog.hold(bench.axes(base=5))


def test_what_does_not_fit_the_arm_is_refused_at_the_door() -> None:
    bench = lynx6()
    jog = bench.jog(bench.rig.home)
    with pytest.raises(CommandError, match="3 amounts given; allowed: 6"):
        jog.hold(AxisJog(amounts=(0.0, 0.0, 0.0)))
    with pytest.raises(CommandError, match="allowed: pitch and roll"):
        jog.hold(ToolJog(frame=WORLD, turn=(0.1, 0.0, 0.0)))
    with pytest.raises(CommandError, match="turns about x, y, z"):
        puma().jog(puma().rig.home).hold(ToolJog(frame=WORLD, pitch=0.1))
    with pytest.raises(CommandError, match="above 0 to 1"):
        bench.jog(bench.rig.home, 0.0)
    for value in (math.nan, math.inf):
        with pytest.raises(CommandError, match="finite"):
            AxisJog(amounts=(value,))
        with pytest.raises(CommandError, match="finite"):
            ToolJog(frame=WORLD, linear=(value, 0.0, 0.0))
        with pytest.raises(CommandError, match="finite"):
            bench.jog((value, *bench.rig.home[1:]))


def test_a_tool_is_led_out_of_a_straight_wrist_wherever_its_forearm_stands() -> None:
    bench = puma()
    start = (0.3, -0.6, 0.4, 0.5, 0.0, 0.2)
    jog = bench.jog((*start, *[0.0] * (len(bench.rig.axes) - 6)))
    samples = np.array(held(jog, ToolJog(frame=WORLD, linear=(50 * MM, 0.0, 0.0)), 60))
    assert abs(samples[-1, 3] - start[3]) > 5 * DEG
    assert not any("posture" in words and "only in another" in words for words in jog.take_words())
