"""The certificate: it covers exactly what was checked, and nothing that differs by a single bit."""

from __future__ import annotations

import re

import msgspec
import pytest
from fixed_arm import HOME, arrive, hold, make_rig, move, pose, with_axis
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import HilError
from hil.model.rig import TOLD_ONLY
from hil.motion.motion import Motion
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.safety.certificate import VALID_S, Certificate, issue, verify
from hil.safety.checker import check_motion

NOW_S = 1_800_000_000.0
VERSION = "0.1.0"
RIG = make_rig()
ROBOT = Robot(RIG.robot)
MOTION = move(RIG, HOME, pose(base=30, gripper=4))
FINDINGS = check_motion(RIG, ROBOT, MOTION)
CERTIFICATE = issue(RIG, MOTION, FINDINGS, NOW_S, version=VERSION)


def subjects(certificate=CERTIFICATE, rig=RIG, motion=MOTION, now_s=NOW_S, version=VERSION):
    try:
        verify(certificate, rig, motion, now_s, version=version)
    except RefusedError as error:
        assert all(refusal.check == "E-15" and refusal.advice for refusal in error.refusals)
        return [refusal.subject for refusal in error.refusals]
    return []


def test_an_untouched_certificate_is_accepted_until_it_expires():
    assert subjects() == []
    assert subjects(now_s=NOW_S + VALID_S - 1.0) == []
    assert subjects(now_s=NOW_S + VALID_S) == ["expiry"]


def test_a_certificate_from_the_future_says_that_the_clock_is_wrong():
    assert subjects(now_s=NOW_S - 1.0) == ["clock"]


def test_a_clock_that_says_nothing_is_refused():
    assert subjects(now_s=float("nan")) == ["expiry", "clock"]


def test_it_survives_the_way_to_a_file_and_back():
    assert Certificate.from_bytes(CERTIFICATE.to_bytes()) == CERTIFICATE


def test_it_carries_the_margins_of_the_check():
    assert CERTIFICATE.margins == FINDINGS.margins
    assert CERTIFICATE.start == MOTION.start


def test_a_refused_motion_gets_no_certificate():
    bad = arrive(RIG, pose(base=89))
    with pytest.raises(RefusedError, match=r"no certificate: the motion was refused\n\[E-02\]"):
        issue(RIG, bad, check_motion(RIG, ROBOT, bad), NOW_S, version=VERSION)


def test_every_mismatch_is_told_at_once():
    other = hold(RIG, pose(base=10))
    rig = make_rig(period_s=0.04, look_ahead_s=0.08)
    assert subjects(rig=rig, motion=other, version="0.2.0", now_s=NOW_S + 2 * VALID_S) == [
        *("rig", "motion", "period", "look-ahead", "start pose", "software version", "expiry")
    ]


def test_a_mismatch_says_what_was_certified_what_was_found_and_what_to_do():
    with pytest.raises(RefusedError) as caught:
        verify(CERTIFICATE, make_rig(look_ahead_s=0.06), MOTION, NOW_S, version=VERSION)
    text = str(caught.value)
    assert "look-ahead: certified 40 ms, found 60 ms, margin -1 mismatch" in text
    assert "The rig's look-ahead has changed. Preview again and use the new certificate." in text
    assert re.search(r"rig: certified [0-9a-f]{12}, found [0-9a-f]{12}", text)


@pytest.mark.parametrize(
    "change",
    [
        lambda rig: with_axis(rig, "base", upper=rig.axes[0].upper + 1e-15),
        lambda rig: msgspec.structs.replace(rig, tool_speed_m_s=rig.tool_speed_m_s * (1 + 1e-15)),
        lambda rig: msgspec.structs.replace(rig, shapes=rig.shapes[:-1]),
        lambda rig: msgspec.structs.replace(rig, controller=msgspec.structs.replace(rig.controller, baud=57600)),
        lambda rig: msgspec.structs.replace(
            rig, robot=msgspec.structs.replace(rig.robot, joints=rig.robot.joints[::-1])
        ),
    ],
)
def test_any_change_of_the_rig_or_the_robot_voids_it(change):
    assert subjects(rig=change(RIG)) == ["rig"]


def test_where_the_rig_file_lies_does_not_matter():
    assert subjects(rig=msgspec.structs.replace(RIG, file="elsewhere.toml")) == []


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_flipping_any_one_bit_of_the_file_is_refused(data):
    encoded = bytearray(CERTIFICATE.to_bytes())
    bit = data.draw(st.integers(0, 8 * len(encoded) - 1))
    encoded[bit // 8] ^= 1 << bit % 8
    with pytest.raises(RefusedError) as caught:
        Certificate.from_bytes(bytes(encoded))
    assert [refusal.check for refusal in caught.value.refusals] == ["E-15"]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_flipping_any_one_bit_of_the_motion_is_refused(data):
    encoded = bytearray(MOTION.to_bytes())
    bit = data.draw(st.integers(0, 8 * len(encoded) - 1))
    encoded[bit // 8] ^= 1 << bit % 8
    try:
        motion = Motion.from_bytes(bytes(encoded))
    except HilError:
        return
    assert "motion" in subjects(motion=motion)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_flipping_any_one_bit_of_the_rig_is_refused(data):
    encoded = bytearray(msgspec.json.encode(msgspec.to_builtins(RIG)))
    bit = data.draw(st.integers(0, 8 * len(encoded) - 1))
    encoded[bit // 8] ^= 1 << bit % 8
    try:
        tree = msgspec.json.decode(bytes(encoded))
        controller = msgspec.convert(tree.pop("controller"), type=type(RIG.controller))
        robot = msgspec.convert(tree.pop("robot"), type=type(RIG.robot))
        axes = msgspec.convert(tree.pop("axes"), type=tuple[type(RIG.axes[0]), ...])
        shapes = msgspec.convert(tree.pop("shapes"), type=tuple[type(RIG.shapes[0]), ...])
        fences = msgspec.convert(tree.pop("fences"), type=type(RIG.fences))
        tree["energise_order"] = tuple(tree["energise_order"])
        rig = type(RIG)(controller=controller, robot=robot, axes=axes, shapes=shapes, fences=fences, **tree)
    except (msgspec.MsgspecError, UnicodeError, KeyError, TypeError):
        return
    told = {name: getattr(RIG, name) for name in TOLD_ONLY & set(RIG.__struct_fields__)}
    changed = msgspec.structs.replace(rig, **told) != RIG
    assert ("rig" in subjects(rig=rig)) is changed


@pytest.mark.parametrize("data", [b"", b"{}", b"null", b"\xff\xfe", b"[" * 10_000, CERTIFICATE.to_bytes() + b" "])
def test_anything_else_is_refused_in_words(data):
    with pytest.raises(RefusedError, match=r"certificate refused\n\[E-15\] certificate file: must be"):
        Certificate.from_bytes(data)


def test_a_certificate_changed_in_memory_is_refused_too():
    longer = msgspec.structs.replace(CERTIFICATE, expires_epoch_s=NOW_S + 1e9)
    assert subjects(longer) == ["certificate file"]
