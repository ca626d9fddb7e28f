"""From where a limit is not kept: out is allowed, further in is not, and what has lessened never grows again."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from fixed_arm import HOME, NAMES, PERIOD_S, box, make_rig, move, pose, with_axis, with_fences
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.motion.motion import Motion
from hil.motion.refusals import RIG_FILE
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.safety.certificate import issue, verify
from hil.safety.checker import check_motion
from hil.safety.guard import Guard
from hil.space.body import Body, LiveBody
from hil.space.no_worse import NO_FLOORS, NoWorse, course
from hil.types import JointCommand
from hil.units import DEG, MM

RIG = make_rig()
ROBOT = Robot(RIG.robot)

# The hand hangs over the place where the crate stands; the base swings it in and out.
CRATE = with_fences(RIG, keep_out=(box("crate", (100, -50, 0), (300, 50, 300)),))
QUICK = with_axis(CRATE, "base", jerk=1e9, acceleration=1e6, speed=1e3)
IN = {"base": 14.0}


def refused(motion, rig):
    return {(refusal.check, refusal.subject) for refusal in check_motion(rig, ROBOT, motion).refusals}


def command(positions, seq):
    return JointCommand(seq=seq, due_s=seq * PERIOD_S, positions=tuple(positions))


def guard_at(positions, rig=QUICK):
    live = Guard(rig, ROBOT)
    live.reset(positions)
    return live


def hits(live, positions, seq):
    return {(hit.check, hit.axis) for hit in live.check(command(positions, seq)).hits}


def too_near(rig, positions):
    body = LiveBody(rig)
    return {body.constraints[i].subject for i, _ in body.violations(positions[:5], 1e-9)}


def test_the_rig_of_these_tests_is_as_they_say():
    assert "hand and crate" in too_near(CRATE, pose(**IN))
    assert not too_near(CRATE, pose(base=60))


# -- the guard -------------------------------------------------------------------------------------------------


def test_from_inside_a_fence_the_guard_lets_an_arm_out_and_no_deeper():
    assert hits(guard_at(pose(**IN)), pose(base=14.5), 1) == set()
    assert ("E-10", "hand and crate") in hits(guard_at(pose(**IN)), pose(base=13.5), 1)


def test_what_has_lessened_may_not_grow_again_not_even_to_where_it_was():
    live = guard_at(pose(**IN))
    assert hits(live, pose(base=16), 1) == set()
    assert ("E-10", "hand and crate") in hits(live, pose(base=15), 2)
    assert hits(live, pose(base=60), 3) == set()
    assert ("E-10", "hand and crate") in hits(live, pose(**IN), 4)


def test_a_retracted_command_has_lessened_nothing():
    live = guard_at(pose(**IN))
    assert hits(live, pose(base=16), 1) == set()
    live.retract()
    assert hits(live, pose(base=15), 2) == set()


def test_a_hit_says_how_near_it_would_be_and_how_near_it_may_be():
    live = guard_at(pose(**IN))
    (hit,) = [hit for hit in live.check(command(pose(base=13), 1)).hits if hit.axis == "hand and crate"]
    body = LiveBody(QUICK)
    index = [c.subject for c in body.constraints].index("hand and crate")
    here, there = (body.margins(pose(base=base)[:5], (index,))[0] for base in (14, 13))
    assert hit.allowed == pytest.approx(here + 5 * MM, abs=1e-12)
    assert hit.requested == pytest.approx(there + 5 * MM, abs=1e-12)


def test_beyond_a_soft_limit_the_guard_lets_an_axis_back_and_not_further_out():
    assert hits(guard_at(pose(base=89)), pose(base=89.1), 1) == {("E-02", "base")}
    live = guard_at(pose(base=89))
    assert hits(live, pose(base=88.5), 1) == set()
    assert hits(live, pose(base=88.7), 2) == {("E-02", "base")}
    assert hits(live, pose(base=87), 3) == set()
    assert hits(live, pose(base=88.5), 4) == set(), "inside, it is for the preview: a stop may end beyond a soft limit"


def test_the_hard_limit_has_no_floor():
    assert ("E-02", "base") in hits(guard_at(pose(base=91)), pose(base=90.9), 1)


def test_a_motion_may_not_bring_an_arm_to_its_start_that_stands_better():
    live = Guard(CRATE, ROBOT)
    assert live.worse(pose(**IN), pose(**IN)) == ()
    assert {hit.axis for hit in live.worse(pose(base=14.3), pose(**IN))} >= {"hand and crate"}
    assert {hit.axis for hit in live.worse(pose(base=60), pose(**IN))} >= {"hand and crate"}
    assert live.worse(pose(**IN), pose(base=60)) == ()
    assert {hit.axis for hit in live.worse(pose(base=80), pose(base=89))} == {"base"}


def test_an_arm_that_is_confirmed_at_its_hard_limit_is_driven_inside_of_it():
    rig = with_axis(RIG, "roll", lower=-50 * DEG - 0.03 * DEG)
    at = pose(roll=-50.03)
    assert rig.controller.quantise_pose(at)[4] < rig.axes[4].lower or Guard(rig, ROBOT).inside(at) == at
    inside = Guard(rig, ROBOT).inside(at)
    assert rig.controller.quantise_pose(inside)[4] >= rig.axes[4].lower - 1e-12
    assert abs(inside[4] - at[4]) <= rig.controller.quantum()[4] + 1e-12
    assert Guard(RIG, ROBOT).inside(HOME) == HOME


# -- the checker -----------------------------------------------------------------------------------------------


def test_a_motion_out_of_a_fence_passes_and_warns_of_what_its_start_does_not_keep():
    findings = check_motion(CRATE, ROBOT, move(CRATE, pose(**IN), pose(base=60)))
    assert findings.refusals == ()
    warned = {m.subject: m for m in findings.margins if m.margin < 0.0}
    assert "hand and crate" in warned
    assert "too near and may come no nearer" in warned["hand and crate"].limit


def test_a_motion_deeper_into_a_fence_is_refused_at_its_first_sample():
    (refusal, *_) = check_motion(CRATE, ROBOT, move(CRATE, pose(**IN), pose(base=0))).refusals
    assert (refusal.check, refusal.sample) == ("E-10", 1)
    assert "it starts" in refusal.limit


def test_out_and_back_in_is_refused_although_it_ends_where_it_began():
    there_and_back = move(CRATE, pose(**IN), pose(base=16), pose(**IN))
    assert ("E-10", "hand and crate") in refused(there_and_back, CRATE)


def test_one_violation_is_not_traded_against_another():
    rig = with_fences(
        RIG, keep_out=(box("crate", (100, -50, 0), (300, 50, 300)), box("post", (100, 80, 0), (300, 110, 300)))
    )
    both = pose(base=17)
    assert {"hand and crate", "hand and post"} <= too_near(rig, both)
    assert ("E-10", "hand and post") in refused(move(rig, both, pose(base=60)), rig)
    assert ("E-10", "hand and crate") in refused(move(rig, both, pose(base=0)), rig)


def test_a_limit_that_is_kept_is_not_broken_on_the_way_out_of_another():
    rig = with_fences(CRATE, keep_in=box("cell", (-400, -400, -400), (400, 150, 700)))
    assert refused(move(rig, pose(**IN), pose(base=60)), rig) >= {("E-10", "hand inside cell")}


def test_beyond_a_soft_limit_a_motion_leads_back_and_no_further_out():
    assert refused(move(RIG, pose(base=89), pose(base=80)), RIG) == set()
    assert ("E-02", "base") in refused(move(RIG, pose(base=89), pose(base=89.5)), RIG)
    assert ("E-02", "base") in refused(move(RIG, pose(base=89), pose(base=88.5), pose(base=88.9)), RIG)
    assert refused(move(RIG, pose(base=89), pose(elbow=-20, base=89)), RIG) == set()
    assert ("E-02", "base") in refused(move(RIG, pose(base=89), pose(base=-89)), RIG)


def test_what_no_joint_changes_is_refused_and_the_rig_file_named():
    rig = with_fences(RIG, table_height_m=0.1)
    refusals = check_motion(rig, ROBOT, move(rig, pose(elbow=0, wrist=0), pose(base=20, elbow=0, wrist=0))).refusals
    assert {refusal.subject for refusal in refusals} == {"upper arm and table"}
    assert refusals[0].advice == RIG_FILE


def test_a_stop_on_the_way_out_makes_nothing_worse_either():
    """Two joints leave together; in a stop the slower one goes on alone, and alone it leads back in."""
    slow = with_axis(CRATE, "base", acceleration=3000 * DEG, jerk=30000 * DEG)
    slow = with_axis(slow, "elbow", acceleration=60 * DEG, jerk=600 * DEG)
    motion = move(slow, pose(**IN), pose(base=16, elbow=-72))
    found = check_motion(slow, ROBOT, motion).refusals
    assert {refusal.check for refusal in found} <= {"E-10", "E-13"}
    assert found


def test_the_excuse_is_for_one_motion_from_one_start():
    motion = move(CRATE, pose(**IN), pose(base=60))
    certificate = issue(CRATE, motion, check_motion(CRATE, ROBOT, motion), 0.0, version="1")
    verify(certificate, CRATE, motion, 1.0, version="1")
    with pytest.raises(RefusedError, match="start pose"):
        verify(certificate, CRATE, move(CRATE, pose(base=15), pose(base=60)), 1.0, version="1")


# -- what was clean stays as it was ----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_from_a_pose_that_keeps_everything_there_are_no_floors_at_all(seed):
    random = np.random.default_rng(seed)
    start = np.array([random.uniform(a.lower + a.soft_margin, a.upper - a.soft_margin) for a in CRATE.axes])
    body = Body(CRATE, ROBOT)
    sent = CRATE.controller.quantise(start[None, :])
    goal = pose(base=random.uniform(-60, 60), elbow=random.uniform(-90, 0))
    samples = move(CRATE, start, goal).samples
    along = CRATE.controller.quantise(samples)[:, :5]
    space = course(body, samples[:, :5], along, body.margins(along))
    clean = bool((body.margins(sent[:, :5]) >= 0.0).all())
    assert (NoWorse(CRATE, LiveBody(CRATE)).standing(start.tolist()) == NO_FLOORS) is clean
    if clean:
        assert not space.before.any()
        assert not space.after.any()
        assert (space.left == body.margins(along)).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_whatever_is_asked_from_a_broken_pose_what_passes_the_guard_makes_nothing_worse(seed):
    random = np.random.default_rng(seed)
    axes = tuple(msgspec.structs.replace(a, jerk=1e9, acceleration=1e6, speed=1e3) for a in CRATE.axes)
    rig = msgspec.structs.replace(CRATE, axes=axes)
    body = Body(rig, ROBOT)
    start = np.array(pose(base=random.uniform(0, 20), elbow=random.uniform(-80, -40)))
    live, passed = guard_at(start.tolist(), rig), [start]
    for k in range(30):
        asked = passed[-1] + random.normal(size=len(NAMES)) * (0.5 * DEG)
        if not hits(live, asked.tolist(), k + 1):
            passed.append(asked)
    exact = body.margins(np.array(passed)[:, :5])
    sent = body.margins(rig.controller.quantise(np.array(passed))[:, :5])
    best = np.maximum.accumulate(exact, axis=0)
    for column in range(exact.shape[1]):
        if sent[0, column] >= 0.0:
            assert sent[:, column].min() >= -1e-8
        else:
            held = best[:-1, column] < body.rounding_m[column]
            assert (exact[1:, column] >= best[:-1, column] - 1e-8)[held].all()
            assert (sent[1:, column] >= -1e-8)[~held].all()


def test_a_motion_of_one_sample_in_a_broken_place_is_no_motion_and_passes():
    motion = Motion(NAMES, PERIOD_S, np.array([pose(**IN)]))
    assert check_motion(CRATE, ROBOT, motion).refusals == ()
