"""The shadow's servos go through one loop, and each to the last bit as a servo alone does."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from hil.control.servo import follower
from hil.model.servo import DriveServo, HobbyServo
from sim.servo import Servo, follow
from sim.servo_group import ServoGroup

PLACES = st.floats(-3.0, 3.0)
LAGS = st.sampled_from([0.0, 0.05, 0.06])
SPEEDS = st.floats(0.05, 20.0)
SERVOS = st.lists(st.tuples(PLACES, LAGS, SPEEDS, st.booleans(), st.booleans()), min_size=1, max_size=6)
STEPS = st.lists(st.tuples(st.floats(0.0, 0.5), st.none() | PLACES), max_size=8)


@given(SERVOS, STEPS)
@example([(0.0, 0.05, 1.0, True, False)], [(2.3e-309, 1.0)])
def test_each_of_a_group_goes_as_a_servo_alone(servos, steps):
    starts, lags_s, speeds, powered, stalled = zip(*servos, strict=True)
    group = ServoGroup(starts, lags_s, speeds)
    alone = [Servo(*each) for each in zip(starts, lags_s, speeds, strict=True)]
    for axis, servo in enumerate(alone):
        group.power(axis, powered[axis])
        group.stall(axis, stalled[axis])
        servo.powered, servo.stalled = powered[axis], stalled[axis]
    now_s = 0.0
    for step_s, end in steps:
        before_s, now_s = now_s, now_s + step_s
        if end is None:
            group.advance(now_s)
            for servo in alone:
                servo.advance(now_s)
            continue
        group.ramp((end,) * len(alone), now_s)
        for servo in alone:
            if servo.powered and not servo.stalled:
                servo.position = follow(servo.position, servo.target, end, now_s - before_s, servo.lag_s, servo.speed)
            servo.target, servo.time_s = end, now_s
    assert group.positions == tuple(servo.position for servo in alone)
    assert group.targets == tuple(servo.target for servo in alone)


def test_a_servo_that_is_freed_follows_again():
    group = ServoGroup((0.0,), (0.05,), (5.0,))
    group.power(0, True)
    group.stall(0, True)
    group.ramp((1.0,), 1.0)
    assert group.positions == (0.0,)
    group.stall(0, False)
    group.advance(3.0)
    assert abs(group.positions[0] - 1.0) < 1e-9


def test_servos_by_models_go_each_as_alone_also_while_one_of_them_is_held():
    models = (HobbyServo(25.0, 0.9, dead_band=0.01, sag=0.02), DriveServo(30.0))
    loads = (0.4, -0.3)
    group = ServoGroup((0.0, 0.1), (0.08, 0.05), (4.0, 3.0), models, lambda positions: loads)
    alone = [follower(models[0], 0.0, 0.08, 4.0), follower(models[1], 0.1, 0.05, 3.0)]
    targets, free = (0.0, 0.1), [True, True]
    for axis in range(2):
        group.power(axis, True)
    for k in range(60):
        if k in (20, 30):
            free[1] = k == 30
            group.stall(1, not free[1])
            alone[1].put(alone[1].position)
        ends = (0.01 * k, 0.1 - 0.02 * k)
        before_s = group.time_s
        group.ramp(ends, 0.02 * (k + 1))
        for axis, each in enumerate(alone):
            if free[axis]:
                each.follow(targets[axis], ends[axis], group.time_s - before_s, loads[axis])
        targets = ends
        assert group.positions == (alone[0].position, alone[1].position), k
    assert alone[1].position < -0.5
