"""The CR1's bytes, pinned by captures and by the manual's examples; and the poses of the reference."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers._rv2aj_alarms import explain, explain_standing
from drivers._rv2aj_codec import (
    MOST_BYTES,
    Pose,
    Status,
    decode,
    decode_alarm,
    decode_entry,
    decode_identity,
    decode_joints,
    decode_pose,
    decode_state,
    decode_status,
    decode_stops,
    encode,
    joint_constant,
    split,
)
from drivers._rv2aj_pose import pose, turns
from hil.errors import CommandError, ControllerError

JOINTS = "J1;0.00;J2;21.19;J3;72.78;J4;****;J5;86.03;J6;0.00;;****,****;50;0.00;00000000"
POSE = "X;250.00;Y;0.00;Z;450.00;A;0.00;B;180.00;;6,0;50;0.00;00000000"


# -- requests ------------------------------------------------------------------------------------------------


def test_requests_are_the_bytes_of_the_manual() -> None:
    assert encode("CNTLON") == bytes.fromhex("31 3B 31 3B 43 4E 54 4C 4F 4E 0D")
    assert encode("EMDAT10 MOV P1\x0b20 MOV P2")[-11:] == bytes.fromhex("0B 32 30 20 4D 4F 56 20 50 32 0D")
    assert encode("JOG00;00;00;10;00").hex(" ").upper().startswith("31 3B 31 3B 4A 4F 47")
    assert encode("SAVE", slot=9) == b"1;9;SAVE\r"


@pytest.mark.parametrize("command", ["A\rB", "A\n", "\x00", "ä", "X" * MOST_BYTES])
def test_a_request_that_would_end_early_or_is_too_long_is_refused(command: str) -> None:
    with pytest.raises(CommandError, match="allowed: printable ASCII"):
        encode(command)


def test_the_fourth_place_of_a_joint_constant_stays_empty() -> None:
    assert joint_constant((0, 10, 80, 90, 0.004)) == "(0.00,10.00,80.00,0.00,90.00,0.00)"


@pytest.mark.parametrize("joints", [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4), (1, 2, 3, math.nan, 5)])
def test_a_list_that_is_not_five_finite_joints_is_refused(joints: tuple[float, ...]) -> None:
    with pytest.raises(CommandError, match="five finite numbers, J1, J2, J3, J5, J6"):
        joint_constant(joints)


# -- replies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [b"\r", b"\r\n", b"\n\r"])
def test_lines_end_with_cr_or_cr_lf_and_no_line_feed_stays(end: bytes) -> None:
    data = bytearray(b"QoK" + end + b"QoK1" + end + b"QoK2")
    assert split(data) == ["QoK", "QoK1"]
    assert bytes(data).lstrip(b"\n\r") == b"QoK2"


def test_bytes_without_an_end_do_not_pile_up_for_ever() -> None:
    with pytest.raises(ControllerError, match="without an end of line"):
        split(bytearray(b"\xff" * 9000))


@pytest.mark.parametrize(
    ("line", "accepted", "alarm", "error", "data"),
    [
        ("QoK", True, False, 0, ""),
        ("Qok4140;2", True, True, 0, "4140;2"),
        ("QOK50", True, False, 0, "50"),
        ("QeR601000000", False, False, 6010, ""),
        ("QeR6020", False, False, 6020, ""),
        ("Qer4220;7", False, True, 4220, ""),
        ("qER414000000;2;5", False, False, 4140, ""),
    ],
)
def test_replies_in_either_case_and_with_either_length_of_error(
    line: str, accepted: bool, alarm: bool, error: int, data: str
) -> None:
    reply = decode(line)
    assert (reply.accepted, reply.alarm, reply.error, reply.data) == (accepted, alarm, error, data)


@pytest.mark.parametrize("line", ["", "Q", "QoX", "K", "QeR", "QeR60", "\x00\xff", "oK", "QeRabcd"])
def test_what_is_no_reply_is_refused_by_name(line: str) -> None:
    with pytest.raises(ControllerError):
        decode(line)


def test_the_joints_of_a_real_arm_come_without_the_fourth() -> None:
    found = decode_joints(JOINTS)
    assert found.joints_deg == (0.0, 21.19, 72.78, 86.03, 0.0)
    assert (found.override, found.at_limit) == (50, ())
    assert decode_joints(JOINTS.replace("J4;****;", "")).joints_deg == found.joints_deg
    assert decode_joints(JOINTS.replace("J4;****", "J4;0.00")).joints_deg == found.joints_deg
    more = JOINTS.replace("J6;0.00", "J6;0.00;J7;****;J8;0.00")
    assert decode_joints(more).joints_deg == found.joints_deg
    assert decode_joints(JOINTS[:-8] + "12000000").at_limit == ("J2", "J5")


@pytest.mark.parametrize(
    "data",
    [
        JOINTS[:-1],
        JOINTS.replace("21.19", "****"),
        JOINTS.replace("21.19", "21.1"),
        JOINTS.replace("21.19", "nan"),
        JOINTS.replace("J2", "J3"),
        JOINTS.replace("J4;****", "J4;***"),
        JOINTS.replace("J4;****", "J9;0.00"),
        JOINTS.replace("J1;0.00;J2;21.19", "J2;21.19;J1;0.00"),
        JOINTS.replace(";;", ";"),
        POSE,
        "",
    ],
)
def test_a_joint_report_that_lacks_a_byte_or_an_axis_is_none(data: str) -> None:
    with pytest.raises(ControllerError, match="no answer to JPOSF"):
        decode_joints(data)


@pytest.mark.parametrize("gap", [f";{name}" for name in ("J1", "J2")])
@given(at=st.integers(0, len(JOINTS) - 1))
def test_a_lost_byte_never_shifts_a_value_to_another_joint(gap: str, at: int) -> None:
    true = (0.0, 21.19, 72.78, 86.03, 0.0)
    try:
        found = decode_joints(JOINTS[:at] + JOINTS[at + 1 :])
    except ControllerError:
        return
    assert sum(a != b for a, b in zip(found.joints_deg, true, strict=True)) <= 1


def test_the_pose_of_a_real_arm_has_no_c_and_unwrapped_angles() -> None:
    assert decode_pose(POSE) == Pose(250.0, 0.0, 450.0, 0.0, 180.0, 6, 0)
    six = "X;176.01;Y;33.14;Z;541.62;A;77.92;B;-25.59;C;106.80;;6,15728640;100;0.00;00000000"
    assert decode_pose(six).flag2 == 15728640
    assert decode_pose(POSE.replace("B;180.00", "B;180.14")).b == 180.14


def test_status_bits_are_those_of_the_manual() -> None:
    state = decode_state("2.MB5;100;100;5;A1124220;1;1;;;;;;;;;REP;START;1;0")
    assert (state.program, state.line, state.override) == ("2.MB5", 100, 100)
    status = state.status
    assert (status.servo, status.enabled, status.running, status.teach, status.error) == (
        True,
        True,
        False,
        False,
        4220,
    )
    assert decode_status("09060;17;1") == Status(0x09, 0x06, 0)
    assert decode_status("09060;17;1").teach
    assert decode_status("09060;17;1").waiting
    assert decode_status("A1060;1;0").servo


@pytest.mark.parametrize("data", ["", "QoK", "09;17;1", "XX060;1;0", "AA0100;1;0", JOINTS])
def test_what_is_no_status_is_refused(data: str) -> None:
    with pytest.raises(ControllerError):
        decode_status(data)
    with pytest.raises(ControllerError):
        decode_state(data)


def test_the_other_answers_are_read_as_the_manual_prints_them() -> None:
    assert decode_alarm("4140;2") == (4140, 2)
    assert decode_alarm("") is None
    assert decode_stops("02;03") == (("computer",), ("outside circuit", "panel"))
    who = decode_identity(
        "3F;3F;7,0;3,5,A,1E,32,46,64;MB5;PRM;RV-4A;CRn-5xx;MELFA;03-11-19;Ver.J4;ENG;COPYRIGHT(C)1999-2003 MITSUBISHI "
        "ELECTRIC CORPORATION ALL RIGHTS RESERVED;1;1;8;"
    )
    assert (who.text, who.tasks, who.joint_axes) == ("RV-4A on a CRn-5xx, Ver.J4", 8, 0x3F)
    entry = decode_entry("10.MB4;1024;04-01-0112:00:00;3;90000;;;12;4;0;0;0;0")
    assert entry is not None
    assert (entry.name, entry.size) == ("10.MB4", 1024)
    assert decode_entry("") is None


@given(st.text(st.characters(max_codepoint=255), max_size=120))
def test_no_answer_whatever_ends_in_anything_but_an_error_of_ours(text: str) -> None:
    for read in (decode, decode_joints, decode_pose, decode_status, decode_state, decode_alarm, decode_identity,
                 decode_stops, decode_entry):  # fmt: skip
        try:
            read(text)
        except ControllerError as error:
            assert len(str(error)) > 10


# -- alarms and poses ----------------------------------------------------------------------------------------

LISTED = """
H0050 H0060 H0070 C1630 C1640 C1650 C1660 C1670 H1680 H1681 C1770 L2000 L2030 L2600 L2601 L2602 L2603 L2800 L2801 L2802
L2803 L2810 L3500 L3700 L4140 L4170 L4180 L4190 L4220 L4340 H5000 L5010 L5150 L5600 C5610 L5640 L5650 L6010 L6020 L6030
C6060 C6080 C6500 C7080 C7500 H7810 H7820 H7830 H7840
"""


def test_every_number_has_words_a_class_and_a_remedy() -> None:
    assert explain(6020).words.startswith("L6020 the operation right is missing")
    assert explain(2133).text == "joint 3 was asked to move too fast"
    assert explain(2130).text == "joint of some axis was asked to move too fast"
    assert explain(9999, "H").words.startswith("H9999 an alarm of the controller: see the maker's list")
    assert all(len(explain(number).remedy) > 3 for number in range(0, 10000, 7))


def test_the_class_of_an_alarm_that_stands_is_the_controller_s() -> None:
    assert [explain_standing((6020, level)).words[:5] for level in (1, 2, 3)] == ["H6020", "L6020", "C6020"]


def test_the_numbers_and_classes_are_those_of_the_maker_s_list() -> None:
    unknown = explain(9999).text
    known = [f"{explain(n).level}{n:04d}" for n in range(10_000) if explain(n).text != unknown]
    families = [f"H{family}{axis}" for family in (213, 216, 217) for axis in range(10)]
    assert sorted(known) == sorted([*families, *LISTED.split()])


@pytest.mark.parametrize(
    ("joints", "x", "y", "z", "a", "b", "flag"),
    [
        ((0, 0, 0, 0, 0), 0, 0, 782, 0, 0, 6),
        ((0, 0, 90, 0, 0), 232, 0, 550, 0, 90, 6),
        ((0, 0, 90, 90, 0), 160, 0, 478, 0, 180, 6),
        ((45, 30, 60, 60, -30), 226.981, 226.981, 454.153, -68.971, 150, 6),
        ((-90, 60, 30, 45, 120), 0, -427.418, 374.088, 183.640, 135, 6),
        ((0, 120, -30, 0, 0), 448.506, 0, 175, 0, 90, 4),
        ((10, 10, -50, 80, 15), -12.953, -2.284, 723.924, 22.660, 40, 0),
        ((0, -60, 120, 90, 0), -41.942, 0, 442.646, 0, 150, 2),
        ((-107.7560, 32.1796, 104.1809, 42.9295, 66.1123), -74.55, -232.81, 323.81, 173.86, 179.29, 6),
    ],
)
def test_poses_are_those_of_the_reference(
    joints: tuple[float, ...], x: float, y: float, z: float, a: float, b: float, flag: int
) -> None:
    found = pose(joints)
    assert (found.x, found.y, found.z) == pytest.approx((x, y, z), abs=6e-3)
    assert (found.a, found.b, found.flag1) == (pytest.approx(a, abs=1e-2), pytest.approx(b, abs=1e-2), flag)


@pytest.mark.parametrize(("j6", "word"), [(0, 0), (179, 0), (190, 0x00100000), (-190, 0x00F00000)])
def test_turns_beyond_half_a_turn_are_counted_in_the_second_flag(j6: float, word: int) -> None:
    assert turns((0, 0, 0, 0, j6)) == word
