"""Hobby servos and drives: what they do under targets, loads and limits, and that arms and fakes move by them."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from cr1_terminal import Cr1Terminal
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hil.control.servo import DriveFollower, HobbyFollower
from hil.model.servo import DriveServo, HobbyServo
from sim.arm import SimulatedArm
from sim.bench import BenchServo, ServoBench
from sim.cr1.arm import ArmModel, JointDrive
from sim.servo import follow
from sim.servo_group import ServoGroup
from sim.ssc32 import Ssc32Board

OMEGA = 2.0 * math.pi * 4.0
HOBBIES = st.builds(
    HobbyServo,
    frequency_rad_s=st.floats(5.0, 60.0),
    damping=st.sampled_from([0.4, 0.7, 1.0, 2.0]),
    dead_band=st.sampled_from([0.0, 0.02]),
)
WAYS = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=6)
TOPS = st.floats(0.5, 20.0)


def fine(model: HobbyServo, top: float, ends: list[float], step_s: float) -> float:
    """The equations of the module's head in steps of 20 us."""
    x = v = start = 0.0
    half = model.dead_band / 2.0
    for end in ends:
        count = round(step_s / 2e-5)
        for i in range(count):
            error = start + (end - start) * (i + 0.5) / count - x
            push = 0.0 if abs(error) <= half else error - math.copysign(half, error)
            v += (model.frequency_rad_s**2 * push - 2.0 * model.damping * model.frequency_rad_s * v) * 2e-5
            v = max(-top, min(top, v))
            x += v * 2e-5
        start = end
    return x


def led(servo, ends, step_s, load=0.0):
    start = servo.position
    for end in ends:
        servo.follow(start, end, step_s, load)
        start = end
    return servo


@settings(max_examples=30, deadline=None)
@given(HOBBIES, TOPS, WAYS)
@example(HobbyServo(frequency_rad_s=25.0, damping=0.7, dead_band=0.02), 1.0, [0.5, -0.5, 0.0])
@example(HobbyServo(frequency_rad_s=26.0, damping=0.4), 7.0, [1.0, -1.0])  # past its top speed and back in one step
@example(HobbyServo(frequency_rad_s=60.0, damping=0.4), 20.0, [1.0, -0.15])
def test_a_hobby_servo_goes_as_its_equations_say(model, top, ends):
    servo = led(HobbyFollower(model, 0.0, top), ends, 0.02)
    # At 20 rad/s an edge found up to 1 ms late costs 2.2 mrad at worst (of 10 000 drawn), an edge missed up to 70.
    assert servo.position == pytest.approx(fine(model, top, ends, 0.02), abs=4e-3)


@given(HOBBIES, TOPS, WAYS, st.floats(0.001, 0.3))
def test_it_is_never_faster_than_its_top_speed(model, top, ends, step_s):
    servo, start = HobbyFollower(model, 0.0, top), 0.0
    for end in ends:
        before = servo.position
        servo.follow(start, end, step_s)
        assert abs(servo.position - before) <= top * step_s * (1.0 + 1e-9) + 1e-12
        start = end


@given(HOBBIES, TOPS, st.floats(-1.0, 1.0), st.floats(-0.5, 0.5))
def test_it_rests_off_its_target_by_load_and_dead_band_at_most(model, top, target, load):
    from msgspec.structs import replace

    sagging = replace(model, sag=0.1, backlash=0.01)
    servo = HobbyFollower(sagging, 0.0, top)
    led(servo, [target], 0.02, load)
    led(servo, [target] * 1000, 0.02, load)
    assert abs(servo.position - (target - 0.1 * load)) <= model.dead_band / 2.0 + 0.005 + 1e-6
    assert abs(servo.position - target) <= servo.slack(load) + 1e-6


def test_a_hobby_servo_holds_a_load_by_its_sag():
    servo = HobbyFollower(HobbyServo(frequency_rad_s=OMEGA, damping=0.8, sag=0.05), 0.0, 5.0)
    led(servo, [0.0] * 200, 0.02, 0.4)
    assert servo.position == pytest.approx(-0.02, abs=1e-9)


def test_on_a_ramp_it_is_behind_by_its_lag():
    model = HobbyServo(frequency_rad_s=OMEGA, damping=0.8)
    servo = led(HobbyFollower(model, 0.0, 5.0), [0.01 * (i + 1) for i in range(200)], 0.02)
    assert 2.0 - servo.position == pytest.approx(0.5 * 2.0 * 0.8 / OMEGA, abs=1e-9)
    assert model.lag_s == pytest.approx(2.0 * 0.8 / OMEGA)


def test_play_is_crossed_before_the_joint_turns_back():
    servo = HobbyFollower(HobbyServo(frequency_rad_s=100.0, damping=1.0, backlash=0.02), 0.0, 50.0)
    led(servo, [0.1] * 100, 0.02)
    assert servo.position == pytest.approx(0.09)
    led(servo, [0.085] * 100, 0.02)
    assert servo.position == pytest.approx(0.09)
    led(servo, [0.0] * 100, 0.02)
    assert servo.position == pytest.approx(0.01)


def test_its_speed_does_not_jump_at_a_refresh_where_a_plain_lag_does():
    """A target in steps of a refresh, as a board makes it: 0.6 rad/s in steps of 12 mrad."""
    stairs = [0.012 * (i // 20) for i in range(400)]
    servo, plain = HobbyFollower(HobbyServo(frequency_rad_s=OMEGA, damping=0.8), 0.0, 5.0), 0.0
    places, plain_places = [], []
    for end in stairs:
        places.append(servo.follow(end, end, 0.001))
        plain = follow(plain, end, end, 0.001, 0.064, 5.0)
        plain_places.append(plain)

    def worst(of: list[float]) -> float:
        speeds = [(b - a) / 0.001 for a, b in pairwise(of)]
        return max(abs(b - a) for a, b in pairwise(speeds))

    assert worst(plain_places) > 0.15
    assert worst(places) < 0.012


ACCELERATION = math.radians(600.0)


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=20), st.floats(0.5, 5.0), st.floats(0.02, 0.1))
def test_a_drive_keeps_to_its_acceleration_and_its_speed(ends, top, lag_s):
    servo, start = DriveFollower(0.0, lag_s, top, ACCELERATION), 0.0
    for end in ends:
        for i in range(20):
            before, speed = servo.position, servo.speed
            servo.follow(start + (end - start) * i / 20, start + (end - start) * (i + 1) / 20, 0.002)
            assert abs(servo.speed - speed) <= ACCELERATION * 0.002 * 1.3
            assert abs(servo.position - before) <= top * 0.002 * (1.0 + 1e-9)
        start = end


@given(st.floats(-2.0, 2.0), st.floats(0.5, 5.0), st.floats(0.02, 0.1))
def test_a_drive_comes_to_rest_on_its_target_without_passing_it(target, top, lag_s):
    servo = DriveFollower(0.0, lag_s, top, ACCELERATION)
    furthest = 0.0
    for _ in range(2000):
        servo.follow(target, target, 0.01)
        furthest = max(furthest, abs(servo.position))
    assert servo.position == pytest.approx(target, abs=1e-6)
    assert furthest <= abs(target) + 2e-3


def test_where_nothing_limits_it_a_drive_is_its_lag():
    servo, plain, start = DriveFollower(0.0, 0.06, 3.0, 50.0), 0.0, 0.0
    for i in range(100):
        end = 0.2 * math.sin(0.1 * (i + 1))
        servo.follow(start, end, 0.02)
        plain = follow(plain, start, end, 0.02, 0.06, 3.0)
        start = end
        assert servo.position == pytest.approx(plain, abs=1e-4)


@pytest.mark.parametrize("model", [HobbyServo(frequency_rad_s=20.0, damping=0.8), DriveServo(acceleration=10.0)])
def test_a_group_and_a_bench_move_a_servo_with_a_model_alike(model):
    """The shadow's set-point goes straight, the board's in steps of a refresh: they part by no more than that."""
    board = Ssc32Board()
    bench = ServoBench(board, [BenchServo(channel=0, lag_s=0.08, speed=5.0, model=model)])
    shadow = SimulatedArm([0.0], [0.08], [5.0], energised=True, models=[model])
    shadow.open(0.0)
    board.receive(b"#0P1500\r", 0.2, board.byte_s)
    board.advance(1.0)
    assert bench.position(0, 1.0) == 0.0
    board.receive(b"#0P2000T500\r", 1.0, board.byte_s)
    from hil.types import JointCommand

    shadow.look(1.0)
    shadow.write(JointCommand(seq=0, due_s=1.5, positions=(math.pi / 4,)), 1.0)
    for i in range(1, 60):
        now_s = 1.0 + 0.02 * i
        board.advance(now_s)
        assert bench.position(0, now_s) == pytest.approx(shadow.look(now_s).positions[0], abs=0.05)
    assert bench.position(0, 3.0) == pytest.approx(math.pi / 4, abs=1e-3)


def test_a_joint_of_the_bench_sinks_by_the_load_of_its_pose():
    board = Ssc32Board()
    model = HobbyServo(frequency_rad_s=20.0, damping=0.8, sag=0.1)
    bench = ServoBench(
        board,
        [BenchServo(channel=3, model=model)],
        loads=lambda places: {3: 0.5 * math.cos(places[3])},
    )
    board.receive(b"#3P1500\r", 0.2, board.byte_s)
    board.advance(3.0)
    sunk = bench.position(3, 3.0)
    assert sunk == pytest.approx(-0.05 * math.cos(sunk), abs=1e-4)
    assert bench.settled()


def test_a_servo_that_is_let_go_of_forgets_its_speed():
    group = ServoGroup((0.0,), (0.05,), (5.0,), (HobbyServo(frequency_rad_s=20.0, damping=0.5),))
    group.power(0, True)
    group.ramp((1.0,), 0.1)
    group.power(0, False)
    stood = group.positions
    group.advance(0.5)
    assert group.positions == stood
    group.place((0.3,))
    group.power(0, True)
    group.advance(1.0)
    assert group.positions == (0.3,)


def test_the_fake_of_the_rv2aj_reports_where_its_drives_are():
    drive = JointDrive(lag_s=0.06, speed_rad_s=3.0, model=DriveServo(acceleration=12.0))
    plain, lagging = Cr1Terminal(), Cr1Terminal(arm=ArmModel(drives=(drive,) * 5))
    for terminal in (plain, lagging):
        terminal.ready()
        terminal.do("EXECJ1=(40,10,80,0,60,20)")
        terminal.ask("EXECMOV J1", wait_s=0.1)
    began, behind = plain.cr1.joints, 0.0
    for _ in range(300):
        for terminal in (plain, lagging):
            terminal.wait(0.01)
        behind = max(behind, *(abs(a - b) for a, b in zip(plain.cr1.joints, lagging.cr1.joints, strict=True)))
    assert plain.cr1.joints != pytest.approx(began, abs=1.0)
    assert behind > 1.0
    for terminal in (plain, lagging):
        terminal.wait(5.0)
    assert lagging.cr1.joints == pytest.approx(plain.cr1.joints, abs=1e-3)
    assert lagging.ask("JPOSF") == plain.ask("JPOSF")
