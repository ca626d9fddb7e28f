"""A limp joint sinks to where gravity takes it, at a plain speed, and slams when power returns to a pulse."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.bench import BenchServo, ServoBench
from sim.faults import Event, Fault, FaultKind
from sim.servo import FALL_SPEED, Servo
from sim.ssc32 import Ssc32Board

REST = -1.0
SPEED = math.radians(300.0)


def loose(position: float, rest: float | None = REST) -> Servo:
    servo = Servo(position, 0.05, SPEED, rest=rest)
    servo.loose = True
    return servo


@given(
    position=st.floats(-3.0, 3.0),
    steps=st.lists(st.floats(0.0, 0.5), min_size=1, max_size=20),
)
def test_it_sinks_at_no_more_than_its_speed_to_its_rest_and_no_further_in_steps_of_any_length(
    position: float, steps: list[float]
) -> None:
    servo, now_s = loose(position), 0.0
    for step_s in steps:
        before, now_s = servo.position, now_s + step_s
        servo.advance(now_s)
        assert abs(servo.position - before) <= FALL_SPEED * step_s + 1e-12
    way = abs(position - REST) - FALL_SPEED * now_s
    assert abs(servo.position - REST) == pytest.approx(max(way, 0.0), abs=1e-9)
    assert servo.falling == (servo.position != REST)


def test_half_a_turn_a_second_is_the_limit() -> None:
    servo = loose(REST + math.pi)
    servo.advance(0.999)
    assert servo.falling
    servo.advance(1.001)
    assert servo.position == REST and not servo.falling


@pytest.mark.parametrize("why", ["no rest", "held by hand", "stalled", "powered"])
def test_what_is_held_does_not_sink(why: str) -> None:
    servo = loose(0.5, None if why == "no rest" else REST)
    servo.loose = why != "held by hand"
    servo.stalled = why == "stalled"
    servo.powered = why == "powered"
    servo.target = 0.5
    servo.advance(5.0)
    assert servo.position == 0.5 and not servo.falling


def bench() -> tuple[Ssc32Board, ServoBench]:
    board = Ssc32Board()
    made = ServoBench(board, [BenchServo(channel=0, start=0.0, rest=REST), BenchServo(channel=1, start=0.0)])
    board.receive(b"#0P1500#1P1500\r", 0.2, board.byte_s)
    board.advance(0.3)
    return board, made


def test_a_joint_that_was_put_somewhere_stays_there_until_it_has_been_driven() -> None:
    made = ServoBench(Ssc32Board(), [BenchServo(channel=0, start=0.3, rest=REST)])
    assert made.position(0, 10.0) == 0.3


def test_an_arm_falls_with_its_servo_supply_and_slams_with_it() -> None:
    board, made = bench()
    made.meet(Event(fault=Fault(kind=FaultKind.NO_SERVO_POWER), begins=True, time_s=1.0))
    assert made.falling and not made.settled()
    # The joint that gravity does not turn stays.
    assert made.positions(3.0) == pytest.approx((REST, 0.0), abs=2e-3)
    assert made.settled()
    made.first_moves.clear()
    made.meet(Event(fault=Fault(kind=FaultKind.NO_SERVO_POWER), begins=False, time_s=3.0))
    assert made.largest_jump == pytest.approx(-REST, abs=2e-3)
    before = made.position(0, 3.05)
    assert (made.position(0, 3.1) - before) / 0.05 == pytest.approx(SPEED, rel=1e-6)
    assert board.pulse_us(0) == 1500


def test_a_board_that_loses_its_logic_lets_the_arm_fall_and_does_not_pull_it_back() -> None:
    board, made = bench()
    board.power_cycle(1.0)
    board.advance(3.0)
    assert made.position(0, 3.0) == REST
    made.first_moves.clear()
    made.supply(False, 3.0)
    made.supply(True, 3.5)
    assert made.first_moves == [] and made.position(0, 5.0) == REST


def test_a_hand_holds_it_where_it_was_put() -> None:
    _, made = bench()
    made.supply(False, 1.0)
    made.place(0, 0.4, 1.2)
    assert made.position(0, 9.0) == 0.4
