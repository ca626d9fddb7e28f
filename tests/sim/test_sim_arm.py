"""The simulated arm as a link."""

from __future__ import annotations

import pytest

from hil.errors import CommandError, LinkClosed
from hil.types import EnergiseCommand, JointCommand, LinkPhase, StateSource
from sim.arm import SimulatedArm


def arm(start=(0.0, 0.5), frame_s=0.0, energised=True, lag_s=0.05, speed=5.0):
    made = SimulatedArm(start, [lag_s] * len(start), [speed] * len(start), frame_s, energised=energised)
    made.open(0.0)
    return made


def to(*positions, due_s, seq=0):
    return JointCommand(seq=seq, due_s=due_s, positions=positions)


def test_it_tells_simulated_positions_once_open():
    made = SimulatedArm([0.1], [0.05], [5.0])
    assert made.read(0.0).phase is LinkPhase.CLOSED
    made.open(0.0)
    state = made.read(0.5)
    assert state.phase is LinkPhase.READY
    assert state.joints.source is StateSource.SIMULATED
    assert state.joints.positions == (0.1,)
    assert state.joints.t_s == 0.5


@pytest.mark.parametrize("frame_s", [0.0, 0.02])
def test_the_set_point_goes_straight_to_the_target_until_it_is_due(frame_s):
    made = arm(frame_s=frame_s)
    command = to(1.0, 0.5, due_s=1.0)
    assert made.write(command, 0.0) is command
    made.read(0.5)
    assert made.setpoint == pytest.approx((0.5, 0.5))
    made.read(2.0)
    assert made.setpoint == (1.0, 0.5)


def test_with_a_frame_the_set_point_moves_only_once_per_frame():
    made = arm(frame_s=0.02)
    made.write(to(1.0, 0.5, due_s=0.1), 0.0)
    made.read(0.039)
    assert made.setpoint[0] == pytest.approx(0.2)
    made.read(0.041)
    assert made.setpoint[0] == pytest.approx(0.4)


def test_a_new_command_starts_from_the_present_set_point():
    made = arm()
    made.write(to(1.0, 0.5, due_s=1.0), 0.0)
    made.write(to(0.5, 0.5, due_s=1.0), 0.5)
    made.read(0.75)
    assert made.setpoint[0] == pytest.approx(0.5)


def test_the_servo_lags_behind_the_set_point_and_settles_on_it():
    made = arm(lag_s=0.05)
    made.write(to(1.0, 0.5, due_s=1.0), 0.0)
    assert made.read(0.9).joints.positions[0] == pytest.approx(0.9 - 0.05, abs=1e-6)
    assert made.read(2.0).joints.positions[0] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("frame_s", [0.0, 0.02])
def test_reading_often_or_seldom_gives_the_same_motion(frame_s):
    often, seldom = arm(frame_s=frame_s), arm(frame_s=frame_s)
    for each in (often, seldom):
        each.write(to(1.0, -0.5, due_s=0.3), 0.0)
    for k in range(100):
        often.read(k * 0.005)
    assert often.read(0.5).joints.positions == pytest.approx(seldom.read(0.5).joints.positions)


def test_a_limp_axis_is_unknown_and_jumps_when_it_is_energised():
    made = arm(energised=False)
    assert made.read(0.0).known == (False, False)
    made.write(EnergiseCommand(seq=0, axis=1, position=0.9), 0.0)
    assert made.setpoint == (0.0, 0.9)
    state = made.read(1.0)
    assert state.known == (False, True)
    assert state.joints.positions == (0.0, pytest.approx(0.9))
    with pytest.raises(CommandError, match="not energised: axes 0"):
        made.write(to(0.4, 0.9, due_s=9.0), 1.0)
    assert made.setpoint == (0.0, 0.9)


def test_stop_freezes_the_set_point_and_keeps_power():
    made = arm()
    made.write(to(1.0, 0.5, due_s=1.0), 0.0)
    made.stop(0.5)
    made.stop(0.6)
    state = made.read(3.0)
    assert made.setpoint[0] == pytest.approx(0.5)
    assert state.joints.positions[0] == pytest.approx(0.5, abs=1e-6)
    assert state.known == (True, True)


def test_a_command_that_is_due_already_is_taken_at_once():
    made = arm()
    made.write(to(1.0, 0.5, due_s=-1.0), 0.5)
    assert made.setpoint == (1.0, 0.5)


def test_placing_the_arm_makes_it_limp_there():
    made = arm()
    made.place((0.3, 0.4))
    state = made.read(1.0)
    assert state.joints.positions == (0.3, 0.4)
    assert state.known == (False, False)


def test_a_stalled_axis_does_not_follow():
    made = arm()
    made.stall(0)
    made.write(to(1.0, 1.0, due_s=0.1), 0.0)
    assert made.read(2.0).joints.positions == (0.0, pytest.approx(1.0))


def test_wrong_lengths_and_axes_are_refused_by_name():
    made = arm()
    with pytest.raises(CommandError, match="3 positions given; this arm has 2 axes"):
        made.write(to(1.0, 2.0, 3.0, due_s=1.0), 0.0)
    with pytest.raises(CommandError, match="axis 2: no such axis"):
        made.write(EnergiseCommand(seq=0, axis=2, position=0.0), 0.0)
    with pytest.raises(CommandError):
        made.place((1.0,))
    with pytest.raises(ValueError, match="one entry per axis"):
        SimulatedArm([0.0], [], [1.0])
    with pytest.raises(ValueError, match="frame period"):
        SimulatedArm([0.0], [0.1], [1.0], -1.0)


def test_a_closed_arm_takes_no_commands():
    made = arm()
    made.close()
    with pytest.raises(LinkClosed):
        made.write(to(1.0, 0.5, due_s=1.0), 0.0)
