"""The last gate before packets to a CR1: each as it stands before it leaves, made here without the driver."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from drivers._rv2aj_mxt_gate import Joint, MxtGate
from hil.errors import CommandError
from hil.link import AxisBounds, MotionBounds
from hil.units import DEG

LENGTH, ASK, MOVE, END, JOINTS = 196, 0, 1, 255, 2
ARM = [Joint(name, -10.0, 10.0) for name in ("J1", "J2", "J3", "J5", "J6")]
UPPER_HAIR = [Joint("J1", -0.9999995, 0.9999995), *ARM[1:]]
"""Half a millionth of a degree short of a whole thousandth."""


def packet(command: int, kind: int = 0, joints_deg: tuple[float, ...] = ()) -> bytearray:
    made = bytearray(LENGTH)
    struct.pack_into("<HH", made, 0, command, kind)
    for place, degrees in zip((0, 4, 8, 16, 20), joints_deg, strict=False):
        struct.pack_into("<f", made, 8 + place, math.radians(degrees))
    return made


def gate(joints: list[Joint] = ARM, within_deg: float = 0.0) -> MxtGate:
    made = MxtGate(joints)
    made.stands((0.0,) * 5, within_deg)
    return made


def lead(joint_1_deg: float) -> bytes:
    return bytes(packet(MOVE, JOINTS, (joint_1_deg, 0.0, 0.0, 0.0, 0.0)))


def bound(made: MxtGate, most_deg: float, step_deg: float) -> MxtGate:
    axis = AxisBounds(lower=-most_deg * DEG, upper=most_deg * DEG, step=step_deg * DEG)
    made.bound(MotionBounds(axes=(axis,) * 5, period_s=0.0071, look_ahead_s=0.0071))
    return made


@pytest.mark.parametrize("command", [ASK, END])
def test_a_question_and_a_farewell_carry_neither_data_nor_its_kind(command: int) -> None:
    gate().check(bytes(packet(command)))
    with pytest.raises(CommandError, match=f"command {command} and data of type 2"):
        gate().check(bytes(packet(command, JOINTS)))
    with pytest.raises(CommandError, match="without data"):
        gate().check(bytes(packet(command, 0, (1.0,))))


@pytest.mark.parametrize("command", [2, 3, 254])
def test_no_other_command_leaves(command: int) -> None:
    with pytest.raises(CommandError, match=f"command {command} "):
        gate().check(bytes(packet(command)))


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("whose", ["controller's", "arm's"])
def test_a_limit_holds_to_the_last_hair(whose: str, way: float) -> None:
    made = gate(UPPER_HAIR) if whose == "controller's" else bound(gate(), 0.9999995, 2.0)
    made.check(lead(way * 0.999))
    with pytest.raises(CommandError, match=r"J1: -?1\.000 deg; allowed: -0\.999 to 0\.999 deg"):
        made.check(lead(way))


def test_a_step_is_one_sample_long_and_a_thousandth_for_its_rounding() -> None:
    made = bound(gate(), 10.0, 0.0995)
    made.check(lead(0.101))
    with pytest.raises(CommandError, match=r"0\.102 deg; allowed: 0\.101 deg from the packet before, 0\.000"):
        made.check(lead(0.102))
    made.check(lead(0.101))
    made.left()
    made.check(lead(0.202))


def test_the_first_packet_alone_may_be_off_by_what_the_controller_s_command_is_not_known() -> None:
    made = bound(gate(within_deg=0.0495), 10.0, 0.1)
    with pytest.raises(CommandError, match=r"allowed: 0\.151 deg from the packet before"):
        made.check(lead(0.152))
    made.check(lead(0.151))
    made.left()
    with pytest.raises(CommandError, match=r"allowed: 0\.101 deg from the packet before"):
        made.check(lead(0.253))
    made.forget()
    with pytest.raises(CommandError, match="before it is known where"):
        made.check(lead(0.151))


def test_each_joint_has_its_place_and_its_own_limit() -> None:
    far = [0.0] * 5
    for number, name in enumerate(("J1", "J2", "J3", "J5", "J6")):
        far[number] = 10.001
        with pytest.raises(CommandError, match=f"{name}: 10.001 deg; allowed: -10.000 to 10.000") as caught:
            gate().check(bytes(packet(MOVE, JOINTS, tuple(far))))
        assert (caught.value.axis, caught.value.value) == (name, pytest.approx(10.001))
        far[number] = 0.0


@pytest.mark.parametrize("radians", [math.nan, math.inf, -math.inf, 1e30, math.radians(0.0004), math.radians(0.9994)])
def test_what_is_no_whole_thousandth_of_a_degree_does_not_leave(radians: float) -> None:
    made = packet(MOVE, JOINTS, (0.0,) * 5)
    struct.pack_into("<f", made, 8, radians)
    with pytest.raises(CommandError, match="no whole thousandth"):
        gate().check(bytes(made))


def test_packets_of_a_certified_motion_are_its_samples_in_order_and_rounded() -> None:
    made = gate()
    made.certify(np.array([[0.0] * 5, [0.1004, 0.0, 0.0, 0.0, 0.2], [0.2] * 5]) * DEG)
    made.expect(1)
    with pytest.raises(CommandError, match="sample 1 of the motion; allowed: 0, of 3"):
        made.check(lead(0.1))
    made.expect(0)
    made.check(lead(0.0))
    made.left()
    made.expect(1)
    for joints in ((0.101, 0.0, 0.0, 0.0, 0.2), (0.1, 0.0, 0.0, 0.0, 0.201), (0.1, -0.001, 0.0, 0.0, 0.2)):
        with pytest.raises(CommandError, match="that of the certified sample 1, rounded"):
            made.check(bytes(packet(MOVE, JOINTS, joints)))
    made.check(bytes(packet(MOVE, JOINTS, (0.1, 0.0, 0.0, 0.0, 0.2))))
    made.left()
    made.expect(2)
    made.check(bytes(packet(MOVE, JOINTS, (0.2,) * 5)))
    made.left()
    made.expect(3)
    with pytest.raises(CommandError, match="sample 3 of the motion; allowed: 3, of 3"):
        made.check(bytes(packet(MOVE, JOINTS, (0.2,) * 5)))
    made.begin()
    made.expect(0)
    made.check(lead(0.0))
    made.left()
    made.certify(np.array([[0.0004999] * 5, [0.0005001] * 5]) * DEG)
    made.expect(0)
    made.check(lead(0.0))
    made.left()
    made.expect(1)
    with pytest.raises(CommandError, match=r"J1: 0\.000 deg; allowed: 0\.0005 deg, that of the certified sample 1"):
        made.check(lead(0.0))


def test_without_a_certified_motion_there_is_no_sample_of_one() -> None:
    made = gate()
    made.expect(0)
    with pytest.raises(CommandError, match="sample 0 of the motion; allowed: 0, of 0"):
        made.check(lead(0.0))


@pytest.mark.parametrize("most_deg", [1.0, 1.0 + 1e-10, 1.0 - 1e-10])
def test_a_limit_itself_is_allowed_however_it_was_rounded(most_deg: float) -> None:
    for made in (gate([Joint("J1", -most_deg, most_deg), *ARM[1:]]), bound(gate(), most_deg, 2.0)):
        made.check(lead(1.0))
        made.check(lead(-1.0))


@pytest.mark.parametrize("at", [4, 5, 60, 63, 64, 65, 108, 109, 152, 153])
def test_kinds_of_answers_and_the_counter_may_be_told(at: int) -> None:
    for made in (packet(MOVE, JOINTS, (0.0,) * 5), packet(ASK), packet(END)):
        made[at] = 1
        gate().check(bytes(made))


@pytest.mark.parametrize("command", [ASK, END])
@pytest.mark.parametrize("at", [8, 27, 47])
def test_no_byte_of_data_goes_with_a_question(command: int, at: int) -> None:
    made = packet(command)
    made[at] = 1
    with pytest.raises(CommandError, match="without data"):
        gate().check(bytes(made))


@pytest.mark.parametrize(
    "at", [*range(48, 60), 66, 107, 110, 151, 154, 195, 6, 7, 20, 23, 32, 35, 36, 39, 40, 43, 44, 47]
)
def test_what_stays_empty_is_empty(at: int) -> None:
    made = packet(MOVE, JOINTS, (0.0,) * 5)
    made[at] = 1
    with pytest.raises(CommandError):
        gate().check(bytes(made))


@pytest.mark.parametrize("length", [0, LENGTH - 1, LENGTH + 1])
def test_a_packet_of_another_length_does_not_leave(length: int) -> None:
    with pytest.raises(CommandError, match=f"{length} bytes; allowed: 196"):
        gate().check(bytes(length))
