"""A controller that takes few targets cuts straight across what lies between them: the preview sees that."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from controllers import CONTROLLERS

from hil.model.reader import load_rig
from hil.model.rig import Box, Rig
from hil.motion.motion import Mark, Motion, ToolPath
from hil.motion.planner import plan_joint_move, plan_task
from hil.motion.tasks import load_task
from hil.robot import Robot
from hil.safety.checker import check_motion
from hil.units import DEG, MM

NAMES = ("J1", "J2", "J3", "J5", "J6")


@pytest.fixture(scope="module")
def rig() -> Rig:
    return load_rig("rv2aj", CONTROLLERS)


def round_a_corner(rig: Rig) -> Motion:
    """J1 out, then J2 down."""
    corner, end = (np.array(rig.home) + np.array(by) * DEG for by in ([40, 0, 0, 0, 0], [40, 30, 0, 0, 0]))
    first = plan_joint_move(rig, rig.home, corner.tolist()).samples
    second = plan_joint_move(rig, corner.tolist(), end.tolist()).samples
    return Motion(NAMES, rig.period_s, np.concatenate([first, second[1:]]), [])


def with_post(rig: Rig, send_period_s: float) -> Rig:
    """A post half-way on the straight way to where the corner leads, and targets so far apart."""
    between = np.array(rig.home) + np.array([20, 15, 0, 0, 0]) * DEG
    point = Robot(rig.robot).forward_kinematics(between)[:3, 3]
    box = Box(name="post", lower_m=tuple((point - 2 * MM).tolist()), upper_m=tuple((point + 2 * MM).tolist()))
    return msgspec.structs.replace(
        rig,
        fences=msgspec.structs.replace(rig.fences, keep_out=(box,)),
        controller=msgspec.structs.replace(rig.controller, send_period_s=send_period_s),  # type: ignore[type-var]
    )


def test_the_planner_rests_at_every_corner_for_as_long_as_the_longest_chord(rig: Rig) -> None:
    pace = rig.controller.pace
    assert pace is not None
    motion = plan_task(rig, Robot(rig.robot), load_task("configs/tasks/rv2aj-pick-and-place.toml"))
    count = round(pace.longest_s / rig.period_s)
    for mark in motion.marks:
        if mark.kind != "wait":
            tail = motion.samples[mark.last - count : mark.last + 1]
            assert (tail == tail[-1]).all(), mark.step


def test_a_board_that_takes_every_sample_needs_no_rests() -> None:
    lynx6 = load_rig("lynx6", CONTROLLERS)
    assert lynx6.controller.pace is None
    motion = plan_task(lynx6, Robot(lynx6.robot), load_task("configs/tasks/pick-and-place.toml"))
    assert motion.duration_s < 40.0


def test_an_override_at_which_the_tool_would_be_too_fast_between_targets_is_refused(rig: Rig) -> None:
    slow = msgspec.structs.replace(rig, tool_speed_m_s=0.05)
    motion = plan_joint_move(slow, slow.home, (20 * DEG, *slow.home[1:]))
    refusals = check_motion(slow, Robot(slow.robot), motion).refusals
    assert {refusal.check for refusal in refusals} == {"E-03"}
    assert "controller's own speed between targets" in refusals[0].limit
    assert "Lower the override" in refusals[0].advice


def test_a_line_from_which_the_chords_bulge_too_far_is_refused(rig: Rig) -> None:
    robot = Robot(rig.robot)
    task = load_task("configs/tasks/rv2aj-pick-and-place.toml")
    motion = plan_task(rig, robot, task)
    marks = [msgspec.structs.replace(mark, tolerance_m=0.5 * MM) if mark.tolerance_m else mark for mark in motion.marks]
    tight = Motion(motion.axes, motion.period_s, motion.samples, marks)
    refusals = check_motion(rig, robot, tight).refusals
    assert {refusal.check for refusal in refusals} == {"E-06"}
    assert "on the controller's way between targets" in refusals[0].limit


def test_a_corner_cut_through_an_obstacle_is_refused_though_every_sample_is_clear_of_it(rig: Rig) -> None:
    near, far = with_post(rig, 1.5), with_post(rig, 9.0)
    robot, motion = Robot(rig.robot), round_a_corner(rig)
    assert check_motion(near, robot, motion).refusals == ()
    refusals = check_motion(far, robot, motion).refusals
    assert {refusal.check for refusal in refusals} == {"E-10"}
    assert "post" in refusals[0].subject
    assert "on the controller's straight way to its next target" in refusals[0].limit


def kept_to(rig: Rig, motion: Motion, first: int, last: int, tolerance_m: float) -> Motion:
    """The same motion with its own way between two samples as a path that the tool has to keep to."""
    joints = motion.samples[first : last + 1]
    both = np.insert(joints, np.arange(1, len(joints)), 0.5 * (joints[1:] + joints[:-1]), axis=0)
    points_m = Robot(rig.robot).forward_kinematics(both)[:, :3, 3]
    path = ToolPath(first=first, last=last, tolerance_m=tolerance_m, points=points_m.astype("<f8").tobytes())
    return Motion(NAMES, motion.period_s, motion.samples, [], paths=[path])


@pytest.mark.parametrize(("before", "after"), [(150, 150), (120, 200), (20, 30)])
def test_a_path_is_refused_if_the_chords_cut_its_bend_by_more_than_it_allows(rig: Rig, before: int, after: int) -> None:
    robot, motion = Robot(rig.robot), round_a_corner(rig)
    corner = int(np.flatnonzero(np.diff(motion.samples[:, 1]))[0])
    first, last = corner - before, corner + after
    joints = np.asarray(rig.controller.quantise(motion.samples))
    spans = [round(seconds / rig.period_s) for seconds in (1.5, 2.25)]
    chords = [(k, k + span) for span in spans for k in range(0, last - span + 1, span // 8) if k >= first]
    share = np.linspace(0.0, 1.0, 9)[:, None]
    farthest_m = 0.0
    for k, end in chords or [(first, last)]:
        on_chord = robot.forward_kinematics(joints[k] + share * (joints[end] - joints[k]))[:, :3, 3]
        way = robot.forward_kinematics(motion.samples[k : end + 1])[:, :3, 3]
        apart_m = np.linalg.norm(on_chord[:, None] - way[None], axis=2).min(axis=1)
        farthest_m = max(farthest_m, float(apart_m.max()))
    (cut,) = {
        r.limit for r in check_motion(rig, robot, kept_to(rig, motion, first, last, farthest_m - 0.1 * MM)).refusals
    }
    assert cut.endswith(" mm from the path on the controller's way between targets")
    assert check_motion(rig, robot, kept_to(rig, motion, first, last, farthest_m + 0.1 * MM)).refusals == ()


def test_marks_that_are_no_lines_are_not_judged_for_straightness(rig: Rig) -> None:
    motion = plan_joint_move(rig, rig.home, rig.park)
    joint = Mark(first=0, last=len(motion.samples) - 1, step=1, kind="joint", label="")
    assert check_motion(rig, Robot(rig.robot), Motion(NAMES, rig.period_s, motion.samples, [joint])).refusals == ()


def test_the_tool_is_as_fast_on_the_way_back_as_on_the_way_there(rig: Rig) -> None:
    """The whole chord is looked at: an arm that turns while it is drawn in is fastest at its one end."""
    rig, robot = msgspec.structs.replace(rig, tool_speed_m_s=0.01), Robot(rig.robot)
    ends = np.array(rig.home) + np.array([[0, 0, 0, 0, 0], [60, 40, -60, 0, 0]]) * DEG
    chord = Motion(NAMES, rig.period_s, ends, [])
    back = Motion(NAMES, rig.period_s, ends[::-1], [])
    margins = [
        next(r.margin for r in check_motion(rig, robot, motion).refusals if "between targets" in r.limit)
        for motion in (chord, back)
    ]
    assert margins[0] == pytest.approx(margins[1], rel=1e-3)
    points = robot.forward_kinematics(ends)[:, :3, 3]
    radii = np.linalg.norm(points[:, :2], axis=1)
    assert abs(radii[0] - radii[1]) > 0.05, "or both ends are as fast"
