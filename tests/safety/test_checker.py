"""The checker: each limit just inside, exactly on and just outside, and what hides between samples."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest
from fixed_arm import (
    HOME,
    NAMES,
    PERIOD_S,
    Clipping,
    arrive,
    box,
    hold,
    make_rig,
    move,
    pose,
    with_axis,
    with_fences,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.motion.motion import Mark, Motion
from hil.motion.stops import stop_ramp
from hil.robot import Robot
from hil.safety.checker import SLOW_DOWN, check_motion
from hil.space.body import Body
from hil.units import DEG, MM

RIG = make_rig()
ROBOT = Robot(RIG.robot)
PULSE = DEG / 8.0


def check(motion, rig=RIG):
    return check_motion(rig, ROBOT, motion)


def refused(motion, rig=RIG):
    """Pairs of check and subject that were refused."""
    return {(refusal.check, refusal.subject) for refusal in check(motion, rig).refusals}


def first(motion, rig=RIG, check_id=""):
    return next(r for r in check(motion, rig).refusals if r.check.startswith(check_id))


def margin(motion, check_id, rig=RIG, subject=""):
    return next(m for m in check(motion, rig).margins if m.check == check_id and subject in m.subject)


def samples_of(column, values, start=HOME):
    rows = np.tile(start, (len(values), 1))
    rows[:, NAMES.index(column)] = values
    return Motion(NAMES, PERIOD_S, rows)


def bump(motion, sample, column, by):
    rows = motion.samples.copy()
    rows[sample, NAMES.index(column)] += by
    return Motion(motion.axes, motion.period_s, rows, motion.marks)


def mark(motion, kind="joint", first=0, last=None, step=1, **line):
    last = len(motion) - 1 if last is None else last
    return Motion(
        motion.axes,
        motion.period_s,
        motion.samples,
        [Mark(first=first, last=last, step=step, kind=kind, **line)],
    )


# -- a motion that is fine ----------------------------------------------------------------------------------


def test_a_motion_within_all_limits_passes_and_every_check_reports_its_margin():
    motion = move(RIG, HOME, pose(base=60, elbow=-20, gripper=4), HOME, share=0.999)
    findings = check(motion)
    assert findings.refusals == ()
    assert {m.check for m in findings.margins} == {
        *("E-02", "E-03", "E-04", "E-05", "E-09", "E-10", "E-13", "E-14", "E-16")
    }
    assert all(m.margin >= 0.0 for m in findings.margins)


def test_standing_still_is_a_motion_too():
    assert check(hold(RIG, HOME, 1)).refusals == ()
    assert check(hold(RIG, HOME, 2)).refusals == ()


def test_a_rig_without_shapes_fences_or_gripper_is_checked_for_the_rest():
    axes, settings_ = RIG.axes[:-1], RIG.controller
    rig = make_rig(shapes=(), axes=axes, controller=msgspec.structs.replace(settings_, axes=settings_.axes[:-1]))  # type: ignore[attr-defined]
    motion = Motion(NAMES[:-1], PERIOD_S, np.tile(HOME[:-1], (3, 1)))
    assert check(motion, rig).refusals == ()


# -- E-01 ---------------------------------------------------------------------------------------------------


def test_a_motion_for_other_axes_is_refused_with_the_names_of_both():
    motion = Motion(("a", "b"), PERIOD_S, [[0.0, 0.0]])
    (refusal,) = check(motion).refusals
    assert refusal.text == (
        "[E-01] axes: the motion is for a, b, margin -1 mismatch; nearest allowed: base, shoulder, elbow, "
        "wrist, roll, gripper. Plan the motion anew for this rig."
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300])
def test_a_sample_that_is_not_a_sensible_number_is_refused_before_anything_else(value):
    motion = hold(RIG, HOME, 4)
    rows = motion.samples.copy()
    rows[2, 3] = value
    forged = Motion.__new__(Motion)
    for name in ("axes", "period_s", "marks"):
        object.__setattr__(forged, name, getattr(motion, name))
    object.__setattr__(forged, "samples", rows)
    (refusal,) = check(forged).refusals
    assert (refusal.check, refusal.subject) == ("E-01", "wrist, sample 2")


# -- E-02 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("extra", "passes"), [(-1e-6, True), (0.0, True), (1e-6, False)])
def test_the_soft_limit_itself_passes_and_anything_beyond_does_not(side, extra, passes):
    motion = arrive(RIG, pose(base=side * (88.0 + extra)))
    assert (("E-02", "base") not in refused(motion)) is passes


def test_a_position_refusal_says_who_where_how_much_and_what_to_do():
    motion = mark(move(RIG, HOME, pose(base=89), HOME))
    refusal = first(motion, check_id="E-02")
    assert re.fullmatch(
        r"\[E-02\] step 1 \(joint\): sample \d+, \d\.\d\d s: base: upper limit 88 deg, margin -0\.\d+ deg; "
        r"nearest allowed: 88 deg\. Move the target inside; the soft margin stands in the rig file\. "
        r"Worst: sample \d+, -1 deg\.",
        refusal.text,
    )


def test_the_earliest_failing_sample_is_named():
    motion = move(RIG, HOME, pose(base=89), HOME)
    outside = np.flatnonzero(motion.samples[:, 0] > 88 * DEG)
    refusal = first(motion, check_id="E-02")
    assert refusal.sample == outside[0]
    assert refusal.time_s == outside[0] * PERIOD_S


@pytest.mark.parametrize(("extra", "passes"), [(-PULSE, True), (0.0, True), (PULSE, False)])
def test_the_hard_limit_holds_for_the_rounded_position_where_there_is_no_soft_margin(extra, passes):
    rig = with_axis(RIG, "roll", soft_margin=0.0, upper=50 * DEG + PULSE / 4.0)
    assert (("E-02", "roll") not in refused(hold(rig, pose(roll=(50 * DEG + extra) / DEG)), rig)) is passes


def test_a_position_that_rounds_to_beyond_the_hard_limit_is_refused():
    rig = with_axis(RIG, "roll", soft_margin=0.0, upper=50 * DEG + 0.75 * PULSE)
    refusal = first(hold(rig, pose(roll=50 + 0.7 / 8)), rig)
    assert (refusal.check, refusal.limit) == ("E-02", "upper limit (hard) 50.09 deg")


@pytest.mark.parametrize(("pulses", "passes"), [(159, True), (160, True), (161, False)])
def test_the_pulse_limits_of_the_channel_hold_as_well_as_the_angles(pulses, passes):
    axes = list(RIG.controller.axes)  # type: ignore[attr-defined]
    axes[4] = msgspec.structs.replace(axes[4], upper_us=1660)
    rig = make_rig(controller=msgspec.structs.replace(RIG.controller, axes=tuple(axes)))
    findings = check(hold(rig, pose(roll=pulses / 8)), rig)
    found = {(r.check, r.limit) for r in findings.refusals}
    assert (("E-02", "upper limit of the controller 20 deg") not in found) is passes


# -- E-03 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "passes"), [(0.999, True), (1.0, True), (1.002, False)])
@pytest.mark.parametrize("what", ["acceleration", "jerk"])
def test_a_profile_at_its_limit_passes_and_one_above_does_not(what, share, passes):
    planned = with_axis(RIG, "base", **{what: share * getattr(RIG.axes[0], what)})
    motion = move(planned, HOME, pose(base=70), share=1.0)
    assert (("E-03", "base") not in refused(motion)) is passes


@pytest.mark.parametrize(("pulses", "passes"), [(9, True), (10, True), (11, True), (12, False)])
def test_speed_is_that_of_the_pulses_with_one_pulse_a_period_of_allowance(pulses, passes):
    rig = with_axis(RIG, "roll", speed=10 * PULSE / PERIOD_S, acceleration=1e6, jerk=1e9)
    motion = samples_of("roll", [0.0, pulses * PULSE, 2 * pulses * PULSE])
    assert (("E-03", "roll") not in refused(motion, rig)) is passes


def test_a_speed_refusal_gives_the_limit_in_degrees_a_second():
    refusal = first(move(with_axis(RIG, "base", speed=80 * DEG), HOME, pose(base=60), share=1.0), check_id="E-03")
    assert refusal.limit == "speed 60 deg/s and one step of the wire a period"
    assert (refusal.unit, refusal.nearest_allowed) == ("deg/s", "60 deg/s")
    assert refusal.advice.startswith("Give this step more time, or a lower speed.")


@pytest.mark.parametrize("cut", ["start", "end"])
def test_a_motion_that_does_not_start_or_end_at_rest_is_refused(cut):
    whole = move(RIG, HOME, pose(base=60))
    rows = whole.samples[20:] if cut == "start" else whole.samples[:-20]
    refusals = check(Motion(NAMES, PERIOD_S, rows)).refusals
    found = [r for r in refusals if r.limit == f"at rest at the {cut}: 1.2 deg/s"]
    assert len(found) == 1
    assert found[0].advice == f"The motion has to {cut} at rest."
    assert found[0].sample == (1 if cut == "start" else len(rows) - 1)


@pytest.mark.parametrize(("factor", "passes"), [(0.999, True), (1.0, True), (1.001, False)])
def test_the_tool_may_move_as_fast_as_its_limit(factor, passes):
    motion = move(RIG, HOME, pose(base=60))
    points = ROBOT.forward_kinematics(motion.samples[:, :5])[:, :3, 3]
    fastest = np.linalg.norm(np.diff(points, axis=0), axis=1).max() / PERIOD_S
    rig = make_rig(tool_speed_m_s=fastest / factor)
    assert (("E-03", "tool") not in refused(motion, rig)) is passes


def test_a_position_that_the_controller_would_clip_is_refused_for_what_was_asked():
    rig = make_rig(controller=Clipping(RIG.controller, -20 * DEG))
    limits = [r.limit for r in check(hold(rig, pose(roll=-30)), rig).refusals]
    assert any(limit.startswith("rounding to the wire, half a step") for limit in limits)
    assert "lower limit of the controller -20 deg" in limits


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.004, 0.01, 0.02, 0.05]))
def test_rounding_breaks_no_limit_whatever_the_calibration(seed, period_s):
    random = np.random.default_rng(seed)
    axes = []
    for axis in RIG.controller.axes:  # type: ignore[attr-defined]
        middle, gain = random.uniform(-40, 40), random.uniform(0.5, 1.3) * random.choice([-1.0, 1.0])
        bent = random.uniform(0.8, 1.25)
        points = [(x, 1500.0 + middle + gain * (y - 1500.0)) for x, y in axis.points]
        points[-1] = (points[-1][0], points[-2][1] + bent * (points[-1][1] - points[-2][1]))
        axes.append(msgspec.structs.replace(axis, points=tuple(points), lower_us=500, upper_us=2500))
    rig = make_rig(period_s=period_s, controller=msgspec.structs.replace(RIG.controller, axes=tuple(axes)))
    goal = pose(base=random.uniform(-50, 50), elbow=random.uniform(-90, -30), roll=random.uniform(-40, 40))
    motion = move(rig, HOME, goal, HOME, share=1.0)
    assert not [r for r in check(motion, rig).refusals if r.check in ("E-02", "E-03", "E-05")]


# -- E-04, E-16 ---------------------------------------------------------------------------------------------


def test_a_motion_sampled_at_another_period_is_refused():
    motion = Motion(NAMES, 0.01, np.tile(HOME, (3, 1)))
    refusal = first(motion)
    assert refusal.text.startswith(
        "[E-04] period: the motion was sampled every 10 ms, margin -1 mismatch; nearest allowed: 20 ms."
    )


@pytest.mark.parametrize("period_s", [0.0, -0.02, float("nan")])
def test_a_rig_without_a_positive_period_is_refused(period_s):
    assert ("E-04", "rig period") in refused(hold(RIG, HOME), make_rig(period_s=period_s))


@pytest.mark.parametrize(
    ("look_ahead_s", "passes"),
    [(0.0, False), (0.0199, False), (0.02, True), (0.06, True), (0.2, True), (0.2001, False)],
)
def test_the_look_ahead_lies_between_one_period_and_two_tenths_of_a_second(look_ahead_s, passes):
    rig = make_rig(look_ahead_s=look_ahead_s)
    assert (("E-04", "look-ahead") not in refused(hold(RIG, HOME), rig)) is passes


def test_a_line_that_does_not_drain_in_time_is_refused_with_the_period_that_would_do():
    rig = make_rig(controller=msgspec.structs.replace(RIG.controller, baud=38400))
    refusal = first(hold(rig, HOME), rig, "E-16")
    assert refusal.subject == "line to the controller"
    assert refusal.nearest_allowed.startswith("a period of ")
    assert refusal.advice == "Raise the baud rate or the period."


# -- E-05 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("degrees", "passes"), [(9.999, True), (10.0, True), (10.001, False)])
def test_a_jump_is_refused_whatever_speed_the_rig_allows(degrees, passes):
    rig = with_axis(RIG, "roll", speed=1e4, acceleration=1e7, jerk=1e10)
    motion = samples_of("roll", [0.0, degrees * DEG])
    assert (("E-05", "roll") not in refused(motion, rig)) is passes


def test_a_jump_is_explained_as_a_change_of_posture():
    assert "changes posture in mid-way" in first(samples_of("elbow", [-1.0, 1.0]), check_id="E-05").advice


# -- E-06, E-08 ---------------------------------------------------------------------------------------------


def line_motion(goal=None, tolerance_m=1 * MM, bend_m=0.0):
    """A joint move of the base: its tool path is an arc, whose chord is marked as the line."""
    motion = move(RIG, HOME, goal or pose(base=4))
    points = ROBOT.forward_kinematics(motion.samples[:, :5])[:, :3, 3]
    ends = (tuple(points[0].tolist()), tuple(points[-1].tolist()))
    return mark(motion, "line", start_m=ends[0], end_m=ends[1], tolerance_m=tolerance_m), points


def test_a_tool_path_may_leave_its_line_by_the_tolerance_and_no_more():
    _, points = line_motion()
    start, end = points[0], points[-1]
    unit = (end - start) / np.linalg.norm(end - start)
    off = max(np.linalg.norm((p - start) - ((p - start) @ unit) * unit) for p in points)
    for tolerance_m, passes in ((float(off) + 1e-7, True), (float(off) - 1e-5, False)):
        assert (("E-06", "tool") not in refused(line_motion(tolerance_m=tolerance_m)[0])) is passes


@pytest.mark.parametrize(("part", "passes"), [(1.0, True), (1.01, False)])
@pytest.mark.parametrize("ends", [1, -1])
def test_the_second_step_and_the_last_but_one_are_judged_like_all_others(part, passes, ends):
    """Only the outermost steps are rest's to judge: from a step of nothing to one at speed is an acceleration."""
    limit = 300 * DEG
    rig = with_axis(RIG, "base", acceleration=limit, jerk=1e9)
    steps = np.array([0.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0][::ends]) * part * limit * PERIOD_S**2
    motion = samples_of("base", np.concatenate([[0.0], np.cumsum(steps)]))
    assert (("E-03", "base") not in refused(motion, rig)) is passes


def test_a_path_that_leaves_its_line_only_between_two_samples_is_found():
    # Two samples on the chord of a wide arc: both lie on the line, the middle between them does not.
    rig = with_axis(make_rig(tool_speed_m_s=1e3), "base", speed=1e4, acceleration=1e7, jerk=1e10)
    motion = samples_of("base", [0.0, 9.0 * DEG])
    ends = ROBOT.forward_kinematics(motion.samples[:, :5])[:, :3, 3]
    marked = mark(motion, "line", start_m=tuple(ends[0].tolist()), end_m=tuple(ends[1].tolist()), tolerance_m=0.1 * MM)
    refusal = first(marked, rig, "E-06")
    assert refusal.limit == "0.1 mm from the straight line half-way there"
    assert refusal.place == "step 1 (line)"


@pytest.mark.parametrize(("part", "passes"), [(1.01, True), (0.99, False)])
def test_half_way_between_two_samples_is_the_middle(part, passes):
    """There an arc is farthest from its chord: by the radius times one less the cosine of half the angle."""
    rig = with_axis(make_rig(tool_speed_m_s=1e3), "base", speed=1e4, acceleration=1e7, jerk=1e10)
    motion = samples_of("base", [0.0, 9.0 * DEG])
    ends = ROBOT.forward_kinematics(motion.samples[:, :5])[:, :3, 3]
    rise_m = float(np.linalg.norm(ends[0, :2])) * (1.0 - np.cos(4.5 * DEG))
    line = {"start_m": tuple(ends[0].tolist()), "end_m": tuple(ends[1].tolist())}
    marked = mark(motion, "line", **line, tolerance_m=part * float(rise_m))
    assert (("E-06", "tool") not in refused(marked, rig)) is passes


def test_a_line_through_a_singular_posture_is_refused_but_the_same_joint_move_is_not():
    # Stretching the arm straight: the tool hardly moves outward any more while the elbow races.
    start, goal = pose(shoulder=60, elbow=-40, wrist=-20), pose(shoulder=40, elbow=-0.05, wrist=-39.95)
    motion = move(RIG, start, goal)
    marked = mark(motion, "line", start_m=(0, 0, 0), end_m=(1, 0, 0), tolerance_m=10.0)
    rows = motion.samples[:, :5].copy()
    assert not [r for r in check(motion).refusals if r.check == "E-08"]
    slow = slow_down(rows)
    assert (slow > SLOW_DOWN) == (("E-08", "tool") in refused(marked))
    assert slow > SLOW_DOWN
    refusal = first(marked, check_id="E-08")
    assert "singular posture" in refusal.advice
    assert slow_down(rows[: refusal.sample]) <= SLOW_DOWN < slow_down(rows[: refusal.sample + 1])


def slow_down(rows):
    points = ROBOT.forward_kinematics(rows)[:, :3, 3]
    travel = np.linalg.norm(np.diff(points, axis=0), axis=1)
    periods = np.abs(np.diff(rows, axis=0)).max(axis=1) / (60 * DEG)
    moving = travel > 1e-6
    attainable = travel[moving] / periods[moving]
    return min(RIG.tool_speed_m_s, attainable.max()) / attainable.min()


# -- E-09, E-10 ---------------------------------------------------------------------------------------------


def test_a_folded_arm_that_meets_itself_is_found():
    rig = with_axis(RIG, "elbow", lower=-170 * DEG)
    refusal = first(arrive(rig, pose(shoulder=100, elbow=-148, wrist=-80)), rig, "E-09")
    assert refusal.subject in ("pedestal and hand", "upper arm and hand", "pedestal and forearm")
    assert refusal.advice.startswith("Fold the arm less here")


def test_an_elbow_below_the_table_is_found_although_the_tool_is_above():
    rig = with_axis(with_fences(RIG, table_height_m=0.11), "elbow", upper=95 * DEG)
    motion = arrive(rig, pose(shoulder=10, elbow=60, wrist=0), start=pose(elbow=0, wrist=0))
    tool_z = ROBOT.forward_kinematics(motion.samples[-1:, :5])[0, 2, 3]
    assert tool_z > 0.3
    subjects = {subject for check_id, subject in refused(motion, rig) if check_id == "E-10"}
    assert subjects == {"upper arm and table", "forearm and table"}


@pytest.mark.parametrize(("extra_m", "passes"), [(-1e-6, True), (0.0, True), (1e-6, False)])
def test_the_clearance_to_the_table_is_kept_exactly(extra_m, passes):
    motion = arrive(RIG, pose(shoulder=90, elbow=-90, wrist=-90 + 2))
    sent = RIG.controller.quantise(motion.samples)[:, :5]
    frame = ROBOT.link_frames(sent)[-1, 5]
    low = (frame @ [0.0, 0.0, -0.01, 1.0])[2] - 0.015
    rig = with_fences(RIG, table_height_m=low - 0.005 + extra_m)
    assert (("E-10", "hand and table") not in refused(motion, rig)) is passes


@pytest.mark.parametrize("kind", ["keep_out", "keep_in"])
def test_boxes_hold_for_every_shape_and_are_called_by_their_names(kind):
    if kind == "keep_out":
        rig = with_fences(RIG, keep_out=(box("camera", (60, -20, 60), (80, 20, 400)),))
    else:
        rig = with_fences(RIG, keep_in=box("cell", (-200, -200, -100), (150, 200, 600)))
    motion = arrive(rig, HOME, start=pose(elbow=0, wrist=0, base=80))
    subjects = {subject for check_id, subject in refused(motion, rig) if check_id == "E-10"}
    assert subjects
    assert all(("and camera" if kind == "keep_out" else "inside cell") in subject for subject in subjects)


def fast_rig():
    """A rig that lets the base turn eight degrees from one sample to the next."""
    return with_axis(make_rig(tool_speed_m_s=1e3), "base", speed=1e4, acceleration=1e7, jerk=1e10)


def test_a_fence_that_is_crossed_only_between_two_samples_is_found():
    motion = samples_of("base", [0.0, 8.0 * DEG])
    # A needle half-way between the two places of the finger, thinner than the way between them.
    middle = ROBOT.link_frames(motion.samples.mean(axis=0, keepdims=True)[:, :5])[0, 5]
    centre = (middle @ [0.0, 0.0, -0.03, 1.0])[:3] / MM
    needle = box("needle", centre - 0.5, centre + 0.5)
    rig = with_fences(fast_rig(), keep_out=(needle,), clearance_m=0.001)
    thin = tuple(msgspec.structs.replace(s, radius_m=0.001) for s in rig.shapes)
    rig = msgspec.structs.replace(rig, shapes=thin)
    moved = hold(rig, motion.samples[0]), hold(rig, motion.samples[1])
    assert not any(("E-10", "hand and needle") in refused(m, rig) for m in moved)
    refusal = next(r for r in check(motion, rig).refusals if r.subject == "hand and needle")
    assert "reached between samples 0 and 1" in refusal.limit


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_whatever_a_dense_search_finds_between_samples_is_refused(seed):
    random = np.random.default_rng(seed)
    start = np.array(HOME)
    goal = start + np.append(random.uniform(-8, 8, 5) * DEG, 0.0)
    motion = Motion(NAMES, PERIOD_S, [start, goal])
    dense = np.linspace(*RIG.controller.quantise(motion.samples)[:, :5], 200)
    rig = fast_rig()
    centre = ROBOT.forward_kinematics(dense[100:101])[0, :3, 3] + random.uniform(-0.03, 0.03, 3)
    rig = with_fences(rig, keep_out=(box("needle", centre / MM - 1, centre / MM + 1),), clearance_m=0.001)
    thin = tuple(msgspec.structs.replace(s, radius_m=0.004) for s in rig.shapes)
    rig = msgspec.structs.replace(rig, shapes=thin)
    margins = Body(rig, ROBOT).margins(dense)
    lowest, kept = margins.min(), margins[:, margins[0] >= 0.0].min()
    found = bool([r for r in check(motion, rig).refusals if r.check in ("E-09", "E-10")])
    if kept < -0.5 * MM:
        assert found
    if lowest > 0.0:
        assert not found


# -- E-13, E-14 ---------------------------------------------------------------------------------------------


def test_a_stop_that_would_overrun_a_hard_limit_is_refused():
    # Turning round just before the limit is within every limit, but a slower brake could not stop in time.
    rig = with_axis(RIG, "base", acceleration=300 * DEG, jerk=1e6 * DEG)
    motion = move(rig, HOME, pose(base=87.9), HOME, share=1.0)
    assert not refused(motion, rig)
    slow_to_stop = with_axis(rig, "base", acceleration=150 * DEG)
    refusal = first(motion, slow_to_stop, "E-13")
    assert refusal.subject == "base"
    assert refusal.limit == "upper limit 90 deg after a stop from here"
    assert "Plan this place slower" in refusal.advice


def test_a_stop_that_would_end_in_a_box_is_refused_although_the_motion_goes_round_it():
    # The base turns round before the box; with a slower brake a stop carries the hand on into it.
    start, turn = pose(base=0, elbow=-60), pose(base=40, elbow=-60)
    motion = move(RIG, start, turn, start, share=1.0)
    slow = with_axis(RIG, "base", acceleration=100 * DEG)
    tip = ROBOT.forward_kinematics(np.array([pose(base=50)[:5]]))[0, :3, 3]
    rig = with_fences(slow, keep_out=(box("lamp", tip / MM - 8, tip / MM + 8),))
    found = refused(motion, rig)
    assert not [subject for check_id, subject in found if check_id == "E-10"]
    assert ("E-13", "hand and lamp") in found


@pytest.mark.parametrize(("seconds", "left"), [(30.0, 30.0), (90.0, -30.0)])
def test_holding_the_gripper_closed_for_long_is_a_warning_and_never_a_refusal(seconds, left):
    closing = move(RIG, pose(gripper=20), pose(gripper=4))
    rows = np.concatenate([closing.samples, np.tile(closing.samples[-1], (int(seconds / PERIOD_S), 1))])
    findings = check(Motion(NAMES, PERIOD_S, rows))
    assert findings.refusals == ()
    (grip,) = (m for m in findings.margins if m.check == "E-14")
    assert (grip.subject, grip.unit) == ("gripper", "s")
    assert abs(grip.margin - left) < 0.1


# -- how it is told -----------------------------------------------------------------------------------------


def test_three_thousand_failing_samples_make_one_refusal_per_subject():
    motion = arrive(RIG, pose(base=89.0), 3000)
    outside = int(np.argmax(motion.samples[:, 0] > 88.0 * DEG + 1e-9))
    assert [(r.check, r.subject, r.sample) for r in check(motion).refusals] == [("E-02", "base", outside)]


def test_only_the_worst_few_of_one_kind_are_told():
    rig = with_fences(RIG, keep_in=box("cell", (-400, -400, -400), (80, 400, 700)), clearance_m=0.0)
    level = {"shoulder": 20, "elbow": 0, "wrist": 0}
    motion = arrive(rig, pose(base=0, **level), start=pose(base=85, **level))
    assert len([r for r in check(motion, rig).refusals if r.check == "E-10"]) == 3


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_walk_along_the_stops_meets_is_refused(seed):
    random = np.random.default_rng(seed)
    rig = msgspec.structs.replace(RIG, axes=tuple(msgspec.structs.replace(a, soft_margin=0.0) for a in RIG.axes))
    goal = pose(base=random.uniform(20, 60), shoulder=random.uniform(60, 100), elbow=random.uniform(-90, -20))
    motion = move(rig, HOME, goal, share=1.0)
    rows, period = motion.samples, PERIOD_S
    before = np.concatenate([rows[:1], rows[:1], rows])
    stops = [
        stop_ramp(
            rig,
            rows[k],
            (rows[k] - before[k + 1]) / period,
            (rows[k] - 2 * before[k + 1] + before[k]) / period**2,
        )
        for k in range(len(rows))
    ]
    # A small box where one of the stops leads, off the way itself if the stop leaves it.
    tip = ROBOT.link_frames(stops[len(rows) // 3][-3:-2, :5])[0, 5, :3, 3] + random.uniform(-0.02, 0.02, 3)
    rig = with_fences(rig, keep_out=(box("lamp", tip / MM - 3, tip / MM + 3),))
    body = Body(rig, ROBOT)
    clear = body.margins(rig.controller.quantise(rows)[:, :5]).min(axis=1) >= 0.0
    lowest = [body.margins(stop[:, :5]).min() for stop in stops]
    met = any(ok and low < -1e-6 for ok, low in zip(clear, lowest, strict=True))
    assert met == any(r.check == "E-13" for r in check(motion, rig).refusals)


def test_nonsense_is_refused_without_walking_its_endless_stops():
    random = np.random.default_rng(0)
    findings = check(Motion(NAMES, PERIOD_S, random.uniform(-9999.0, 9999.0, (1000, len(NAMES)))))
    assert {"E-02", "E-03", "E-05", "E-13"} <= {r.check for r in findings.refusals}
