from __future__ import annotations

import math
from functools import cache

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_rigs import make_rig

from hil.errors import CommandError, ConfigError
from hil.model.rig import AxisKind
from hil.motion.planner import plan_joint_move, plan_task
from hil.motion.profiles import usage
from hil.motion.tasks import task_from_table
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.units import DEG, MM

RIG = make_rig()
FAST = make_rig(period_s=0.004, tool_speed_m_s=10.0)
ROBOT = Robot(RIG.robot)
NAMES = [axis.name for axis in RIG.axes]


def plan(*steps, rig=RIG, robot=ROBOT, **top):
    return plan_task(rig, robot, task_from_table({"title": "t", "step": list(steps), **top}, "t.toml"))


def refusals(*steps, **more):
    with pytest.raises(RefusedError) as caught:
        plan(*steps, **more)
    return caught.value.refusals


def tool_m(motion, robot=ROBOT):
    return robot.forward_kinematics(motion.samples[:, : robot.dof])[:, :3, 3]


def poses(rig):
    parts = st.lists(st.floats(0.0, 1.0), min_size=len(rig.axes), max_size=len(rig.axes))
    lower = np.array([axis.lower + axis.soft_margin for axis in rig.axes])
    upper = np.array([axis.upper - axis.soft_margin for axis in rig.axes])
    return parts.map(lambda part: lower + np.array(part) * (upper - lower))


HOME = {"do": "move", "to": "home"}
ABOVE = {"do": "move", "to_mm": [180, 60, 120], "pitch_deg": -70, "roll_deg": 0, "elbow": "up"}


@settings(max_examples=100, deadline=None)
@given(start=poses(RIG), goal=poses(RIG), rig=st.sampled_from([RIG, FAST]), percent=st.floats(1, 100))
def test_any_joint_move_inside_the_limits_keeps_all_of_them(start, goal, rig, percent):
    motion = plan_joint_move(rig, start, goal, speed_percent=percent)
    assert motion.start == tuple(start)
    assert motion.end == tuple(goal)
    assert (usage(rig, motion.samples) <= 1.0).all()
    for column, axis in enumerate(rig.axes):
        assert motion.samples[:, column].min() >= axis.lower + axis.soft_margin - 1e-12
        assert motion.samples[:, column].max() <= axis.upper - axis.soft_margin + 1e-12
    if len(motion) > 1:
        tool = np.linalg.norm(np.diff(tool_m(motion), axis=0), axis=1).max()
        assert tool <= rig.tool_speed_m_s * rig.period_s


def test_all_axes_of_a_joint_move_run_in_step():
    motion = plan_joint_move(RIG, RIG.park, RIG.home)
    part = (motion.samples - RIG.park) / np.where(np.equal(RIG.home, RIG.park), 1.0, np.subtract(RIG.home, RIG.park))
    moving = ~np.equal(RIG.home, RIG.park)
    assert np.ptp(part[:, moving], axis=1).max() < 1e-12


def test_a_joint_move_to_where_the_arm_is_takes_no_time():
    assert len(plan_joint_move(RIG, RIG.home, RIG.home)) == 1


def test_a_joint_move_uses_what_the_slowest_axis_allows():
    goal = list(RIG.home)
    goal[0] = 80 * DEG
    motion = plan_joint_move(make_rig(tool_speed_m_s=10.0), RIG.home, goal)
    # distance / speed + speed / acceleration + acceleration / jerk
    assert motion.duration_s == pytest.approx(80 / 60 + 60 / 200 + 200 / 1500, abs=0.02)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_joint_move_from_or_to_nowhere_is_refused(bad):
    with pytest.raises(CommandError, match="start of a joint move"):
        plan_joint_move(RIG, [bad, *RIG.park[1:]], RIG.home)
    with pytest.raises(CommandError, match="goal of a joint move"):
        plan_joint_move(RIG, RIG.park, RIG.home[:5])


def test_a_joint_move_to_outside_a_soft_limit_is_refused_with_joint_and_limit():
    goal = list(RIG.home)
    goal[0] = 89 * DEG
    with pytest.raises(RefusedError) as caught:
        plan_joint_move(RIG, RIG.park, goal)
    (refusal,) = caught.value.refusals
    assert (refusal.check, refusal.subject, refusal.unit, refusal.place) == ("E-02", "base", "deg", "goal")
    assert refusal.margin == pytest.approx(-1.0)
    assert refusal.nearest_allowed == "88.00 deg"


def test_a_move_from_beyond_a_soft_limit_leads_back_and_no_further_out():
    beyond = [89 * DEG, *RIG.park[1:]]
    assert plan_joint_move(RIG, beyond, RIG.home).start[0] == 89 * DEG
    assert plan_joint_move(RIG, beyond, [88.5 * DEG, *RIG.home[1:]]).end[0] == 88.5 * DEG
    with pytest.raises(RefusedError, match="base: upper soft limit"):
        plan_joint_move(RIG, beyond, [89.5 * DEG, *RIG.home[1:]])
    with pytest.raises(RefusedError, match="at the start"):
        plan_joint_move(RIG, [90.5 * DEG, *RIG.park[1:]], RIG.home)


def test_steps_from_a_start_beyond_a_soft_limit_lead_back_and_no_further_out():
    start = {"joints_deg": {"base": 89}}
    assert plan({"do": "move", "by_deg": {"base": -10}}, start=start).end[0] == pytest.approx(79 * DEG)
    assert plan({"do": "gripper", "opening_mm": 5}, start=start).end[0] == 89 * DEG
    (refusal,) = refusals({"do": "move", "by_deg": {"base": 0.5}}, start=start)
    assert (refusal.check, refusal.subject) == ("E-02", "base")
    inside = {"do": "move", "by_deg": {"base": -10}}
    (refusal,) = refusals(inside, {"do": "move", "by_deg": {"base": 9.5}}, start=start)
    assert (refusal.check, refusal.place) == ("E-02", "step 2 (joint)")


def test_a_task_goes_from_rest_to_rest_with_a_mark_for_each_step():
    motion = plan(
        HOME,
        ABOVE,
        {"do": "line", "by_mm": [0, 0, -40], "label": "down"},
        {"do": "gripper", "opening_mm": 5},
        {"do": "wait", "seconds": 0.5},
        {"do": "move", "to": "park"},
    )
    assert [mark.kind for mark in motion.marks] == ["joint", "joint", "line", "gripper", "wait", "joint"]
    assert [mark.step for mark in motion.marks] == [1, 2, 3, 4, 5, 6]
    assert [mark.first for mark in motion.marks] == [0, *(mark.last for mark in motion.marks[:-1])]
    assert motion.marks[-1].last == len(motion) - 1
    assert motion.marks[2].label == "down"
    assert motion.place(motion.marks[2].last) == "step 3 (line)"
    assert motion.start == RIG.park
    assert motion.end[:5] == RIG.park[:5]
    assert motion.end[5] == pytest.approx(5 * MM)
    assert (usage(RIG, motion.samples) <= 1.0).all()


@settings(max_examples=30, deadline=None)
@given(
    x=st.floats(140, 200),
    y=st.floats(-80, 80),
    dx=st.floats(-30, 30),
    dy=st.floats(-60, 60),
    dz=st.floats(-50, 30),
    pitch=st.floats(-75, -50),
    speed=st.floats(5, 400),
    rig=st.sampled_from([RIG, FAST]),
)
def test_any_line_is_straight_keeps_its_pitch_and_all_limits_or_is_refused(x, y, dx, dy, dz, pitch, speed, rig):
    start = {"do": "move", "to_mm": [x, y, 110], "pitch_deg": pitch, "elbow": "up"}
    try:
        motion = plan(HOME, start, {"do": "line", "by_mm": [dx, dy, dz], "speed_mm_s": speed}, rig=rig)
    except RefusedError as error:
        assert {refusal.check for refusal in error.refusals} <= {"E-02", "E-07", "E-08"}
        return
    assert (usage(rig, motion.samples) <= 1.0).all()
    mark = motion.marks[-1]
    points = tool_m(motion)[mark.first : mark.last + 1]
    way = np.array(mark.end_m) - mark.start_m
    np.testing.assert_allclose(mark.end_m, np.array([x + dx, y + dy, 110 + dz]) * MM, atol=1e-9)
    np.testing.assert_allclose(points[-1], mark.end_m, atol=1e-9)
    off = np.linalg.norm(np.cross(points - mark.start_m, way), axis=1)
    assert off.max() <= 1e-9 * max(float(np.linalg.norm(way)), 1e-12) + 1e-12
    if abs(ROBOT.tool_target(motion.end[:5]).pitch_rad - pitch * DEG) > 1e-6:
        return  # the end could not be reached with the present pitch
    for k in range(mark.first, mark.last + 1, 7):
        assert ROBOT.tool_target(motion.samples[k, :5]).pitch_rad == pytest.approx(pitch * DEG, abs=1e-6)


def test_a_line_runs_at_its_speed_between_the_ramps():
    motion = plan(HOME, ABOVE, {"do": "line", "by_mm": [0, -120, 0], "speed_mm_s": 50})
    mark = motion.marks[-1]
    speed = np.linalg.norm(np.diff(tool_m(motion)[mark.first : mark.last + 1], axis=0), axis=1) / RIG.period_s
    cruise = np.flatnonzero(speed >= 0.0495)
    assert len(cruise) > 0.8 * len(speed)
    assert (np.diff(cruise) == 1).all()
    np.testing.assert_allclose(speed[cruise[1:-1]], 0.05, rtol=1e-3)


def test_a_line_is_slowed_where_a_joint_cannot_follow_and_is_never_clipped():
    slow = make_rig(
        axes=tuple(
            msgspec.structs.replace(axis, speed=axis.speed / 8) if axis.kind is AxisKind.REVOLUTE else axis
            for axis in RIG.axes
        )
    )
    steps = (HOME, ABOVE, {"do": "line", "by_mm": [0, -120, 0], "speed_mm_s": 200})
    motion = plan(*steps, rig=slow)
    assert motion.marks[-1].last - motion.marks[-1].first > 2 * 120 / 200 / slow.period_s
    assert 0.9 < usage(slow, motion.samples)[0].max() <= 1.0
    assert motion.end == pytest.approx(plan(*steps).end, abs=1e-9)


def test_a_line_never_exceeds_the_tool_speed_of_the_rig():
    motion = plan(HOME, ABOVE, {"do": "line", "by_mm": [0, -120, 0], "speed_mm_s": 5000})
    assert np.linalg.norm(np.diff(tool_m(motion), axis=0), axis=1).max() <= RIG.tool_speed_m_s * RIG.period_s


def test_a_line_can_turn_the_tool_on_the_spot():
    motion = plan(HOME, ABOVE, {"do": "line", "by_mm": [0, 0, 0], "pitch_deg": -62, "roll_deg": 30})
    end = ROBOT.tool_target(motion.end[:5])
    assert end.pitch_rad == pytest.approx(-62 * DEG, abs=1e-9)
    assert end.roll_rad == pytest.approx(30 * DEG, abs=1e-9)
    mark = motion.marks[-1]
    assert np.ptp(tool_m(motion)[mark.first :], axis=0).max() < 1e-9


def test_a_line_to_where_the_tool_is_takes_no_time():
    motion = plan(HOME, ABOVE, {"do": "line", "by_mm": [0, 0, 0]})
    assert motion.marks[-1].last - motion.marks[-1].first <= 1
    assert (usage(RIG, motion.samples) <= 1.0).all()


def test_a_target_beyond_reach_is_refused_with_its_distance():
    (refusal,) = refusals(HOME, {"do": "move", "to_mm": [500, 0, 110.6]})
    assert (refusal.check, refusal.place, refusal.unit) == ("E-07", "step 2 (joint)", "mm")
    assert refusal.margin == pytest.approx(-110.0)
    assert "out of reach by 110.000 mm" in refusal.text


def test_a_line_out_of_reach_is_refused_with_its_place_its_distance_and_how_far_it_would_go():
    (refusal, *_) = refusals(HOME, ABOVE, {"do": "line", "to_mm": [450, 60, 120], "pitch_deg": 0, "speed_mm_s": 50})
    assert (refusal.check, refusal.subject, refusal.place) == ("E-07", "tool", "step 3 (line)")
    assert refusal.margin < 0
    assert refusal.sample is not None
    assert refusal.time_s == pytest.approx(refusal.sample * RIG.period_s)
    assert "% of the way" in refusal.limit
    assert refusal.nearest_allowed.startswith("the line up to (")


@cache
def hollow_rig():
    """Unequal links leave a hole round the shoulder that the wrist cannot enter."""
    joints = list(RIG.robot.joints)
    joints[2] = msgspec.structs.replace(joints[2], a_m=0.09)
    joints[1:4] = [msgspec.structs.replace(j, lower=-math.pi, upper=math.pi) for j in joints[1:4]]
    axes = list(RIG.axes)
    axes[1:4] = [msgspec.structs.replace(a, lower=-math.pi, upper=math.pi) for a in axes[1:4]]
    return make_rig(robot=msgspec.structs.replace(RIG.robot, joints=tuple(joints)), axes=tuple(axes))


def test_a_line_between_two_reachable_points_is_refused_where_its_middle_is_out_of_reach():
    rig = hollow_rig()
    robot = Robot(rig.robot)
    # The hand is level and 150 mm long, so the wrist passes 10 mm from the shoulder.
    start = {"do": "move", "to_mm": [160, 0, 210.6], "pitch_deg": 0}
    end = {"do": "move", "to_mm": [160, 0, 10.6], "pitch_deg": 0}
    plan(start, end, rig=rig, robot=robot)
    line = {"do": "line", "to_mm": [160, 0, 10.6], "pitch_deg": 0, "speed_mm_s": 100}
    (refusal,) = refusals(start, line, rig=rig, robot=robot)
    assert refusal.check in {"E-07", "E-08"}
    assert refusal.check == "E-07"
    assert refusal.place == "step 2 (line)"
    # |z| = sqrt(30^2 - 10^2) mm below the start of the hole: 71.7 mm of 200 mm.
    assert "36 % of the way" in refusal.limit or "37 % of the way" in refusal.limit
    assert -2.0 < refusal.margin < 0.0
    first = plan(start, rig=rig, robot=robot)
    assert refusal.sample == pytest.approx(len(first) - 1 + 0.362 * 200 / 100 / rig.period_s, abs=2)


def test_a_line_that_leaves_a_soft_limit_on_its_way_is_refused_with_the_joint():
    (refusal, *_) = refusals(HOME, ABOVE, {"do": "line", "to_mm": [60, 60, 120], "speed_mm_s": 50})
    assert refusal.check == "E-02"
    assert refusal.subject in NAMES
    assert refusal.place == "step 3 (line)"
    assert "soft limit" in refusal.limit
    assert "% of the way" in refusal.limit


def test_a_line_that_stretches_the_arm_straight_is_refused_with_the_joint_that_would_race():
    found = refusals(
        HOME,
        {"do": "move", "to_mm": [236.9, 0, 347.5], "pitch_deg": 45, "elbow": "up"},
        {"do": "line", "to_mm": [275.76, 0, 386.36], "pitch_deg": 45, "speed_mm_s": 50},
    )
    assert {refusal.check for refusal in found} <= {"E-05", "E-08"}
    assert found[0].subject in {"elbow", "shoulder", "wrist"}


def test_a_line_through_the_base_axis_is_refused():
    upright = {"do": "move", "joints_deg": {"base": 0, "shoulder": 80, "elbow": 10, "wrist": 5}}
    found = refusals(upright, {"do": "line", "by_mm": [-90, 0, -10], "speed_mm_s": 50})
    assert {refusal.check for refusal in found} <= {"E-02", "E-05", "E-07", "E-08"}
    assert found[0].place == "step 2 (line)"


def test_the_present_pitch_is_kept_when_none_is_given():
    motion = plan(HOME, ABOVE, {"do": "move", "to_mm": [180, -60, 120]})
    assert ROBOT.tool_target(motion.end[:5]).pitch_rad == pytest.approx(-70 * DEG, abs=1e-9)


def test_another_pitch_is_taken_where_the_present_one_cannot_be():
    motion = plan(HOME, ABOVE, {"do": "move", "to_mm": [330, 0, 150]})
    np.testing.assert_allclose(tool_m(motion)[-1], [0.33, 0.0, 0.15], atol=1e-9)


def test_a_pitch_is_found_that_this_rigs_limits_allow():
    """From park neither the present pitch nor the first that the robot could take keeps the rig's soft limits."""
    motion = plan({"do": "move", "to_mm": [200, 0, 100]})
    np.testing.assert_allclose(tool_m(motion)[-1], [0.2, 0.0, 0.1], atol=1e-9)


def test_a_point_without_a_usable_pitch_is_refused_with_the_posture_that_comes_nearest():
    (refusal, *_) = refusals({"do": "move", "to_mm": [60, 0, 60]})
    assert refusal.check in ("E-02", "E-07") and "(60.0, 0.0, 60.0) mm" in refusal.limit


def test_the_elbow_goes_where_it_is_told():
    up = {"do": "move", "to_mm": [280, 0, 320], "pitch_deg": 30, "elbow": "up"}
    down = {**up, "elbow": "down"}
    assert plan(HOME, up).end[2] < 0 < plan(HOME, down).end[2]


def test_an_elbow_that_leads_outside_the_limits_is_refused_with_the_joint():
    (refusal, *_) = refusals(HOME, {**ABOVE, "elbow": "down"})
    assert (refusal.check, refusal.place) == ("E-02", "step 2 (joint)")
    assert "to be at (180.0, 60.0, 120.0) mm" in refusal.limit


def test_an_arm_of_five_axes_is_told_to_take_a_pitch_for_an_orientation_that_it_cannot_take():
    pose = {"do": "move", "to_mm": [180, 80, 120], "abc_deg": [0, 150, 10], "convention": "rpy_xyz_fixed"}
    (refusal,) = refusals(HOME, pose)
    assert refusal.check == "E-07" and "5 axes" in refusal.advice and "pitch_deg" in refusal.advice


def test_a_full_pose_is_reached_where_the_arm_can_take_it():
    motion = plan(HOME, {"do": "move", "to_mm": [200, 0, 100], "abc_deg": [180, 150, 0], "convention": "melfa"})
    np.testing.assert_allclose(tool_m(motion)[-1], [0.2, 0.0, 0.1], atol=1e-9)
    assert ROBOT.tool_target(motion.end[:5]).pitch_rad == pytest.approx(-60 * DEG, abs=1e-9)


def test_a_full_pose_that_five_axes_cannot_take_is_refused_with_the_reason():
    (refusal,) = refusals(
        HOME, {"do": "move", "to_mm": [200, 0, 100], "abc_deg": [90, 90, 0], "convention": "rpy_xyz_fixed"}
    )
    assert refusal.check == "E-07"
    assert "cannot take this orientation" in refusal.limit


def test_moves_of_named_joints_leave_the_others_where_they_are():
    motion = plan(HOME, {"do": "move", "joints_deg": {"base": 30}}, {"do": "move", "by_deg": {"base": -10}})
    assert motion.end[0] == pytest.approx(20 * DEG)
    assert motion.end[1:] == (*RIG.home[1:5], RIG.park[5])


def test_a_start_pose_names_joints_and_leaves_the_others_parked():
    motion = plan({"do": "wait", "seconds": 1}, start={"joints_deg": {"base": 10}, "opening_mm": 5})
    assert motion.start == (10 * DEG, *RIG.park[1:5], 5 * MM)
    assert plan(HOME, start="home").start == RIG.home


def test_a_start_outside_the_limits_is_refused():
    (refusal,) = refusals(HOME, start={"joints_deg": {"base": 95}})
    assert (refusal.check, refusal.place, refusal.sample) == ("E-02", "start", 0)


def test_a_wait_is_rounded_up_to_whole_periods():
    assert len(plan({"do": "wait", "seconds": 0.5})) == 26
    assert len(plan({"do": "wait", "seconds": 0.501})) == 27


def test_speed_percent_slows_a_step_down():
    slow = plan({**HOME, "speed_percent": 25}).duration_s
    assert slow > 2 * plan(HOME).duration_s


def test_a_motion_beyond_an_hour_is_refused():
    (refusal,) = refusals({"do": "wait", "seconds": 3000}, {"do": "wait", "seconds": 700})
    assert (refusal.check, refusal.place) == ("E-04", "step 2 (wait)")
    assert refusal.nearest_allowed == "600 s for this step"


def test_a_gripper_beyond_its_limit_is_refused_in_millimetres():
    (refusal,) = refusals({"do": "gripper", "opening_mm": 40})
    assert (refusal.check, refusal.subject, refusal.unit) == ("E-02", "gripper", "mm")
    assert refusal.nearest_allowed == "29.50 mm"


@pytest.mark.parametrize(
    ("step", "key", "allowed"),
    [
        ({"do": "move", "joints_deg": {"hand": 1}}, "step 2.joints_deg.hand", "the joints base, shoulder"),
        ({"do": "move", "by_deg": {"gripper": 1}}, "step 2.by_deg.gripper", "the joints base"),
        ({"do": "move", "joints_mm": {"base": 1}}, "step 2.joints_mm.base", "no such joint"),
        ({"do": "move", "by_mm": {"base": 1}}, "step 2.by_mm.base", "no such joint"),
        (
            {"do": "move", "to_mm": [200, 0, 100], "abc_deg": [0, 150, 5], "convention": "melfa"},
            "step 2.abc_deg",
            "C = 0",
        ),
    ],
)
def test_a_key_that_does_not_fit_the_rig_is_named_with_its_step(step, key, allowed):
    with pytest.raises(ConfigError) as caught:
        plan(HOME, step)
    assert caught.value.key == key
    assert allowed in caught.value.allowed


def test_a_gripper_step_on_a_rig_without_one_is_refused():
    bare = make_rig(axes=RIG.axes[:5])
    with pytest.raises(
        ConfigError, match=r"step 1\.opening_mm: 5\.0 given; allowed: nothing: rig lynx6 has no gripper"
    ):
        plan({"do": "gripper", "opening_mm": 5}, rig=bare)
    assert plan(HOME, rig=bare).axes == tuple(NAMES[:5])


def test_a_task_for_another_rig_is_refused():
    with pytest.raises(ConfigError, match='"lynx6", the rig in use'):
        plan_task(RIG, ROBOT, task_from_table({"title": "t", "rig": "al5d", "step": [HOME]}, "t.toml"))


def test_planning_twice_gives_the_same_digest():
    steps = (HOME, ABOVE, {"do": "line", "by_mm": [0, 0, -40]})
    assert plan(*steps).digest == plan(*steps).digest
