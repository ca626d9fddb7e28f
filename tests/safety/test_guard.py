"""The guard: what passes never breaks a limit, whatever is asked; what a limit stops leaves no trace."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from fixed_arm import (
    HOME,
    NAMES,
    PERIOD_S,
    Clipping,
    box,
    make_rig,
    move,
    pose,
    with_axis,
    with_fences,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import CommandError
from hil.motion.stops import stop_ramp
from hil.robot import Robot
from hil.safety.guard import Guard
from hil.types import JointCommand
from hil.units import DEG, MM

RIG = make_rig()
ROBOT = Robot(RIG.robot)


def guard(rig=RIG, at=HOME):
    fresh = Guard(rig, ROBOT)
    fresh.reset(at)
    return fresh


def command(positions, seq=0):
    return JointCommand(seq=seq, due_s=seq * PERIOD_S, positions=tuple(positions))


def checks(verdict):
    return {(hit.check, hit.axis) for hit in verdict.hits}


def creeping(rig, name, start, step, count=400):
    """A guard that has been led to `start` on one axis as slowly as need be, by resetting it there."""
    at = list(HOME)
    at[NAMES.index(name)] = start
    return guard(rig, at), at


def test_a_motion_that_the_rig_allows_passes_untouched():
    motion = move(RIG, HOME, pose(base=60, elbow=-20, gripper=20), HOME, share=0.99)
    live = guard(at=motion.start)
    for k, row in enumerate(motion.samples.tolist()):
        asked = command(row, k)
        verdict = live.check(asked)
        assert verdict.hits == ()
        assert verdict.command is asked


@pytest.mark.parametrize("seed", range(5))
def test_a_stop_ramp_from_any_sample_passes(seed):
    motion = move(RIG, HOME, pose(base=60, elbow=-20, gripper=20), HOME, share=0.99)
    rows = motion.samples
    k = int(np.random.default_rng(seed).integers(2, len(rows) - 1))
    live = guard(at=motion.start)
    for i in range(k + 1):
        assert not live.check(command(rows[i], i)).hits
    velocity = (rows[k] - rows[k - 1]) / PERIOD_S
    acceleration = (rows[k] - 2 * rows[k - 1] + rows[k - 2]) / PERIOD_S**2
    for i, row in enumerate(stop_ramp(RIG, rows[k], velocity, acceleration), k + 1):
        assert not live.check(command(row, i)).hits


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            *(st.one_of(st.floats(-0.03, 0.03), st.floats(-4.0, 4.0), st.floats(allow_nan=False)) for _ in NAMES),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_whatever_is_asked_what_passes_never_breaks_a_limit(wishes):
    live = guard()
    passed, sent = [HOME] * 3, [RIG.controller.quantise(np.array(HOME))]
    for k, (*numbers, relative) in enumerate(wishes):
        wanted = np.add(passed[-1], np.multiply(numbers, 1e-3)) if relative else np.array(numbers)
        if not np.isfinite(wanted).all():
            with pytest.raises(CommandError):
                command(wanted, k)
            continue
        if not live.check(command(wanted, k)).hits:
            passed.append(tuple(wanted))
            sent.append(RIG.controller.quantise(wanted))
    assert_within_limits(RIG, np.array(passed), np.array(sent))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_random_walk_within_the_limits_of_a_random_calibration_never_breaks_one(seed):
    random = np.random.default_rng(seed)
    axes = []
    for axis in RIG.controller.axes:  # type: ignore[attr-defined]
        gain = random.uniform(0.7, 1.3) * random.choice([-1.0, 1.0])
        points = tuple((x, 1500.0 + gain * (y - 1500.0)) for x, y in axis.points)
        axes.append(msgspec.structs.replace(axis, points=points, lower_us=500, upper_us=2500))
    rig = make_rig(controller=msgspec.structs.replace(RIG.controller, axes=tuple(axes)))
    live = guard(rig)
    passed, sent = [HOME] * 3, [rig.controller.quantise(np.array(HOME))]
    jerk = np.array([axis.jerk for axis in rig.axes]) * PERIOD_S**3
    for k in range(60):
        coasting = 3 * np.subtract(passed[-1], passed[-2]) + passed[-3]
        wanted = coasting + random.uniform(-1.02, 1.02, len(NAMES)) * jerk
        if not live.check(command(wanted, k)).hits:
            passed.append(tuple(wanted))
            sent.append(rig.controller.quantise(wanted))
    assert_within_limits(rig, np.array(passed), np.array(sent))


def assert_within_limits(rig, passed, sent):
    low, high = rig.controller.bounds()
    quantum = rig.controller.quantum()
    for i, axis in enumerate(rig.axes):
        assert (sent[1:, i] >= max(axis.lower, low[i]) - 1e-9).all()
        assert (sent[1:, i] <= min(axis.upper, high[i]) + 1e-9).all()
        assert (np.abs(np.diff(sent[:, i])) <= axis.speed * PERIOD_S + quantum[i] + 1e-9).all()
        for order, limit in ((2, axis.acceleration), (3, axis.jerk)):
            assert (np.abs(np.diff(passed[:, i], order)) <= 1.00001 * limit * PERIOD_S**order).all()


@pytest.mark.parametrize("side", [-1, 1])
def test_the_hard_limit_itself_passes_and_one_pulse_beyond_does_not(side):
    rig = with_axis(RIG, "roll", lower=-50 * DEG, upper=50 * DEG)
    pulse = DEG / 8.0
    for extra, passes in ((-pulse, True), (0.0, True), (pulse, False)):
        live, at = creeping(rig, "roll", side * (50 * DEG + extra), pulse)
        hits = checks(live.check(command(at)))
        assert (("E-02", "roll") not in hits) is passes


@pytest.mark.parametrize("side", [-1, 1])
def test_the_pulse_limits_hold_even_where_the_joint_could_go_further(side):
    axes = [msgspec.structs.replace(a, lower_us=1340, upper_us=1660) for a in RIG.controller.axes]  # type: ignore[attr-defined]
    axes[:4], axes[5] = RIG.controller.axes[:4], RIG.controller.axes[5]  # type: ignore[attr-defined]
    rig = make_rig(controller=msgspec.structs.replace(RIG.controller, axes=tuple(axes)))
    for degrees, passes in ((19.9, True), (20.0, True), (20.125, False)):
        live, at = creeping(rig, "roll", side * degrees * DEG, 0.0)
        assert (not live.check(command(at)).hits) is passes


@pytest.mark.parametrize(("factor", "passes"), [(0.999, True), (1.0, True), (1.001, False)])
def test_jerk_is_limited_exactly(factor, passes):
    at = list(HOME)
    at[4] += factor * RIG.axes[4].jerk * PERIOD_S**3
    assert (("E-03 jerk", "roll") not in checks(guard().check(command(at)))) is passes


def test_a_jerk_that_is_too_much_is_told_beside_the_one_that_is_allowed():
    at, axis = list(HOME), RIG.axes[4]
    at[4] += 2.0 * axis.jerk * PERIOD_S**3
    (hit,) = guard().check(command(at)).hits
    assert (hit.check, hit.axis) == ("E-03 jerk", "roll")
    assert hit.requested == pytest.approx(2.0 * axis.jerk)
    assert hit.allowed == pytest.approx(axis.jerk, rel=1e-5)


@pytest.mark.parametrize(("end", "towards"), [("upper", 1.0), ("lower", -1.0)])
def test_a_place_that_the_wire_rounds_out_of_the_limits_is_stopped_and_both_are_told(end, towards):
    quantum = float(RIG.controller.quantum()[0])
    told = getattr(RIG.axes[0], end)
    limit = told - towards * 0.4 * quantum
    at = (limit, *HOME[1:])
    (hit,) = guard(with_axis(RIG, "base", **{end: limit}), at).check(command(at)).hits
    assert (hit.check, hit.axis) == ("E-02", "base")
    assert (hit.requested, hit.allowed) == pytest.approx((told, limit), abs=1e-9)


@pytest.mark.parametrize(("factor", "passes"), [(0.999, True), (1.0, True), (1.001, False)])
def test_acceleration_is_limited_exactly(factor, passes):
    rig = with_axis(RIG, "roll", jerk=1e9)
    at = list(HOME)
    at[4] += factor * rig.axes[4].acceleration * PERIOD_S**2
    assert (not guard(rig).check(command(at)).hits) is passes


@pytest.mark.parametrize(("pulses", "passes"), [(9, True), (10, True), (11, True), (12, False)])
def test_speed_is_limited_with_one_pulse_of_allowance(pulses, passes):
    rig = with_axis(RIG, "roll", jerk=1e9, acceleration=1e6, speed=10 * DEG / 8.0 / PERIOD_S)
    at = list(HOME)
    at[4] += pulses * DEG / 8.0
    assert (not guard(rig).check(command(at)).hits) is passes


def test_a_shape_in_a_box_is_a_hit_that_names_shape_and_box():
    rig = with_fences(RIG, keep_out=(box("camera", (100, -50, 0), (300, 50, 300)),))
    verdict = guard(rig, pose(base=80)).check(command(pose(base=1.2)))
    assert ("E-03 jerk", "base") in checks(verdict)
    live = guard(with_axis(rig, "base", jerk=1e9, acceleration=1e6, speed=1e3), pose(base=80))
    verdict = live.check(command(pose(base=1.2)))
    assert checks(verdict) == {("E-10", "forearm and camera"), ("E-10", "hand and camera")}
    assert all(hit.requested < hit.allowed == 5 * MM for hit in verdict.hits)


def test_a_position_that_the_controller_rounds_too_far_is_a_hit():
    rig = make_rig(controller=Clipping(RIG.controller, -20 * DEG, says_so=False))
    at = pose(roll=-30)
    assert checks(guard(rig, at).check(command(at))) == {("E-02", "roll")}


def test_a_refused_command_leaves_no_trace():
    live = guard()
    assert live.check(command(pose(base=30), 0)).hits
    assert not live.check(command(HOME, 1)).hits


def test_two_commands_for_the_same_moment_are_refused():
    live = guard()
    assert not live.check(command(HOME, 1)).hits
    assert checks(live.check(command(HOME, 1))) == {("E-04", "time")}


def test_a_retracted_command_may_be_sent_again():
    motion = move(RIG, HOME, pose(base=60), share=0.99)
    live = guard(at=motion.start)
    for k in range(10):
        assert not live.check(command(motion.samples[k], k)).hits
    assert not live.check(command(motion.samples[10], 10)).hits
    live.retract()
    live.retract()
    assert not live.check(command(motion.samples[10], 11)).hits
    assert live.check(command(motion.samples[10], 12)).hits


def test_a_retracted_command_takes_its_moment_back_as_well():
    """What could not be sent is said again in the next tick, and may be due at the same time as before."""
    motion = move(RIG, HOME, pose(base=60), share=0.99)
    live = guard(at=motion.start)
    for k in range(10):
        assert not live.check(command(motion.samples[k], k)).hits
    assert not live.check(command(motion.samples[10], 10)).hits
    live.retract()
    assert not live.check(command(motion.samples[10], 10)).hits


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_position_that_is_not_finite_is_refused_at_the_door(value):
    with pytest.raises(CommandError, match=r"axis 3: position .* is not a finite number"):
        command((*HOME[:3], value, *HOME[4:]))
    with pytest.raises(CommandError, match=r"wrist: position .* is not a finite number"):
        Guard(RIG, ROBOT).reset((*HOME[:3], value, *HOME[4:]))


def test_the_wrong_number_of_positions_is_refused_and_the_axes_are_named():
    with pytest.raises(CommandError, match=r"5 positions given; this rig has the axes base, shoulder"):
        guard().check(command(HOME[:5]))


def test_nothing_passes_before_the_guard_knows_a_pose():
    with pytest.raises(CommandError, match="does not know where the arm is"):
        Guard(RIG, ROBOT).check(command(HOME))


def test_energising_at_a_pose_outside_of_the_limits_is_not_a_command():
    guard(at=pose(roll=120))
