"""The last gate before a CR1: it reads the finished requests and nothing else."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rv2aj_script import Cr1Port, settings

from drivers import _rv2aj_codec as codec
from drivers._rv2aj_gate import Gate, Joint
from drivers._rv2aj_programs import hot_target, line_target
from drivers._rv2aj_settings import LOWER_DEG, UPPER_DEG
from drivers._rv2aj_wire import Wire
from hil.errors import CommandError
from hil.link import AxisBounds, MotionBounds
from hil.units import DEG

HERE = (0.0, 10.0, 80.0, 60.0, 0.0)
BOUNDS = MotionBounds(
    axes=tuple(AxisBounds(lower=at * DEG - 0.2, upper=at * DEG + 0.2, step=0.4 * DEG) for at in HERE),
    period_s=0.02,
    look_ahead_s=0.04,
)
SAMPLES = (np.array(HERE) + np.array([[0.0], [0.004], [1.002], [2.0]])) * DEG


def gate() -> Gate:
    return Gate([Joint(*joint) for joint in zip(codec.JOINTS, LOWER_DEG, UPPER_DEG, strict=True)])


def bound() -> Gate:
    """One that knows the arm, which stands at HERE; at most 4 samples between two targets, 2.4 deg."""
    made = gate()
    made.bound(BOUNDS, 0.08)
    made.stands(HERE)
    return made


def certified(row: int | None) -> Gate:
    made = bound()
    made.certify(SAMPLES)
    made.expect(row)
    return made


def execute(*joints_deg: float) -> bytes:
    return codec.encode(f"EXECJT={codec.joint_constant(joints_deg)}")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1;1;STOP",
        b"1;1;STOP\n",
        b"1;1;MJ 30,0,0,0,0,0\r",
        b"1;1;EXECMOV P1\r",
        b"1;1;EXECHOPEN 1\r",
        b"1;1;EXECJT=(0,10,80,0,60,0)\r",
        b"1;1;EXECJT=(0.00,10.00,80.00,60.00,0.00)\r",
        b"1;1;EXECJT=(0.00,10.00,80.00,1.00,60.00,0.00)\r",
        b"1;1;EXECJT=(0.00,10.00,80.00,0.00,60.00,1e2)\r",
        b"1;1;EXECJT=(0.00,10.00,80.00,0.00,60.00,)\r",
        b"1;1;EXECJT=(151.00,10.00,80.00,0.00,60.00,0.00)\r",
        b"1;1;HOTHILLINE;JT=(0.00,10.00,80.00,0.00,60.00,0.00)\r",
        b"1;1;HOTHILHOT;JT=(-150.01,10.00,80.00,0.00,60.00,0.00)\r",
        b"1;1;JOG01;00;01;00\r",
        b"PRN 7,0.00,10.00,80.00,60.00,0.00,50.0,200.01\r",
        b"PRN 7,0.00,10.00,80.00,60.00,0.00,100.1,250.10\r",
        b"PRN 7,0.00,10.00,80.00,60.00,0.00,0.0,150.00\r",
        b"PRN 7,0.00,10.00,200.00,60.00,0.00,50.0,320.00\r",
    ],
)
def test_what_is_no_known_request_or_no_allowed_target_does_not_leave(data):
    with pytest.raises(CommandError):
        gate().check(data)


@given(st.tuples(*(st.floats(low, high) for low, high in zip(LOWER_DEG, UPPER_DEG, strict=True))), st.floats(1, 100))
def test_whatever_the_driver_makes_of_a_target_in_range_leaves(joints_deg, percent):
    target = tuple(round(100 * degrees) / 100 for degrees in joints_deg)
    made = gate()
    made.check(execute(*target))
    made.check(codec.encode("EXECMOV JT"))
    made.check(codec.encode(hot_target(codec.joint_constant(target))))
    made.check(f"{line_target(target, round(percent, 1), 12)}\r".encode())


def test_a_move_needs_a_target_that_was_told():
    with pytest.raises(CommandError, match="not told before"):
        gate().check(codec.encode("EXECMOV JT"))


def test_text_for_a_program_of_somebody_else_is_a_plain_line_and_no_request():
    gate().check_text(b"PRN 101.5,20,HELLO\r")
    for data in (b"1;1;SRVON\r", b"PRN 1\rPRN 2\r", b"PRN 1", b"PRN \xe9\r"):
        with pytest.raises(CommandError):
            gate().check_text(data)


def test_a_target_is_held_against_the_arm_s_own_limits_and_the_target_before():
    made = bound()
    with pytest.raises(CommandError, match=r"J1: a target of 11\.46 deg; allowed: -11\.45 to 11\.45 deg"):
        made.check(execute(11.46, *HERE[1:]))
    with pytest.raises(
        CommandError, match=r"J1: a target of 2\.43 deg; allowed: 2\.42 deg from the target before, 0\.00"
    ):
        made.check(execute(2.43, *HERE[1:]))
    made.check(execute(2.42, *HERE[1:]))
    with pytest.raises(CommandError, match="from the target before"):
        made.check(execute(4.84, *HERE[1:]))
    made.check(execute(2.42, *HERE[1:]))
    made.left()
    made.check(execute(4.84, *HERE[1:]))


@given(st.integers(-140, -1), st.integers(1, 140))
def test_a_limit_of_the_arm_itself_is_reached_and_a_hundredth_beyond_it_is_not(lower: int, upper: int):
    made = gate()
    span = AxisBounds(lower=lower * DEG, upper=upper * DEG, step=300.0 * DEG)
    made.bound(msgspec.structs.replace(BOUNDS, axes=(span, *BOUNDS.axes[1:])), 0.08)
    made.stands(HERE)
    made.check(execute(lower, *HERE[1:]))
    made.check(execute(upper, *HERE[1:]))
    for beyond in (lower - 0.01, upper + 0.01):
        with pytest.raises(CommandError, match="J1: a target of"):
            made.check(execute(beyond, *HERE[1:]))


def test_a_target_of_a_certified_motion_is_that_of_its_sample():
    certified(1).check(execute(*HERE))
    certified(2).check(execute(*(at + 1.0 for at in HERE)))
    with pytest.raises(
        CommandError, match=r"J1: a target of 0\.00 deg; allowed: 1\.002 deg, that of the certified sample 2"
    ):
        certified(2).check(execute(*HERE))
    with pytest.raises(CommandError, match=r"J6: a target of 0\.01 deg; allowed: 0\.004 deg"):
        certified(1).check(execute(*HERE[:4], 0.01))


def test_samples_of_a_certified_motion_only_rise():
    made = certified(2)
    made.check(execute(*(at + 1.0 for at in HERE)))
    made.left()
    for row in (1, -1, 4):
        made.expect(row)
        with pytest.raises(CommandError, match="allowed: 2 to 3"):
            made.check(execute(*HERE))
    made.begin()
    made.expect(0)
    made.check(execute(*HERE))


@given(st.integers(0, 60), st.integers(0, 255))
def test_a_changed_byte_of_a_certified_target_is_found_or_means_the_same(place, byte):
    line = bytearray(execute(*(at + 1.0 for at in HERE)))
    if place >= len(line) or line[place] == byte or place in (0, 2):
        return
    line[place] = byte
    made = certified(2)
    with pytest.raises(CommandError):
        made.check(bytes(line))


@pytest.mark.parametrize("name", ["1", "HIL", "PICK_2", "RV2AJ-SHORT"])
@pytest.mark.parametrize("request_", ["RUN{};1", "LOAD={}", "FDEL{}", "FCHECK{}", "PRGLOAD={}"])
def test_every_name_that_a_program_may_have_is_let_out(name: str, request_: str) -> None:
    gate().check(f"1;1;{request_.format(name)}\r".encode())


@pytest.mark.parametrize("name", ["A B", "A;2", "A.MB4"])
def test_what_is_no_name_of_a_program_is_not_run(name: str) -> None:
    with pytest.raises(CommandError, match="no request that may leave"):
        gate().check(f"1;1;RUN{name};1\r".encode())


def test_a_target_that_has_left_is_the_one_that_the_next_is_held_against():
    wire = Wire(settings(), Cr1Port(), 0.0)
    wire.gate.bound(BOUNDS, 0.08)
    wire.gate.stands(HERE)
    wire.send(execute(2.42, *HERE[1:]), 0.0)
    wire.send(execute(4.84, *HERE[1:]), 0.1)
    with pytest.raises(CommandError, match=r"from the target before, 4\.84"):
        wire.send(execute(7.27, *HERE[1:]), 0.2)
