"""X Y Z A B C in each convention, poles included, and what is refused as a pose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hil
from hil.errors import CommandError
from hil.kinematics.poses import (
    Convention,
    XyzAbc,
    checked_pose,
    pose_to_xyzabc,
    rotation_rz_ry_rx,
    rotation_vector,
    xyzabc_to_pose,
)

DEGREES = st.floats(-180, 180, allow_subnormal=False)


@given(a=DEGREES, b=DEGREES, c=DEGREES, name=st.sampled_from(["rpy_xyz_fixed", "kuka_abc"]))
@example(a=30.0, b=90.0, c=50.0, name="rpy_xyz_fixed")
@example(a=30.0, b=-90.0, c=50.0, name="rpy_xyz_fixed")
@example(a=30.0, b=90.0, c=50.0, name="kuka_abc")
@example(a=-70.0, b=89.9999, c=10.0, name="kuka_abc")
@settings(max_examples=200, deadline=None)
def test_a_pose_survives_the_way_to_angles_and_back(a: float, b: float, c: float, name: str) -> None:
    pose = xyzabc_to_pose((100.0, -20.0, 5.0, a, b, c), name)
    shown = pose_to_xyzabc(pose, name)
    assert abs(shown.b_deg) <= 90.0
    assert xyzabc_to_pose(shown) == pytest.approx(pose, abs=1e-9)


def test_each_convention_turns_about_the_axes_it_names() -> None:
    rx, ry, rz = (rotation_rz_ry_rx(*angles) for angles in ((0, 0, 0.1), (0, 0.2, 0), (0.3, 0, 0)))
    product = np.array(rz) @ np.array(ry) @ np.array(rx)
    roll, pitch, yaw = (math.degrees(v) for v in (0.1, 0.2, 0.3))
    assert xyzabc_to_pose((0, 0, 0, roll, pitch, yaw), "rpy_xyz_fixed")[:3, :3] == pytest.approx(product, abs=1e-15)
    assert xyzabc_to_pose((0, 0, 0, yaw, pitch, roll), "kuka_abc")[:3, :3] == pytest.approx(product, abs=1e-15)


@pytest.mark.parametrize("b", [90.0, -90.0])
def test_at_a_pole_the_read_out_is_steady_and_says_that_a_and_c_are_not_separate(b: float) -> None:
    pose = xyzabc_to_pose((0, 0, 0, 0, b, 0))
    noisy = pose.copy()
    noisy[:3, :3] += 1e-17 * np.array([[1, -1, 1], [-1, 1, -1], [1, 1, -1]])
    for shown in (pose_to_xyzabc(pose), pose_to_xyzabc(noisy)):
        assert (shown.a_deg, shown.b_deg, shown.c_deg) == pytest.approx((0.0, b, 0.0), abs=1e-9)
        assert not shown.separate
        assert shown.note == "A and C not separate here"


@pytest.mark.parametrize(("b", "seen", "turned"), [(89.9999, 89.9999, 0.0), (90.0001, 89.9999, 180.0)])
def test_beside_a_pole_the_angles_are_exact_and_separate(b: float, seen: float, turned: float) -> None:
    shown = pose_to_xyzabc(xyzabc_to_pose((0, 0, 0, 0, b, 0)))
    assert shown.separate
    assert shown.note == ""
    assert (abs(shown.a_deg), shown.b_deg, abs(shown.c_deg)) == pytest.approx((turned, seen, turned), abs=1e-6)


def test_the_kr5_start_pose_reads_as_its_paper_prints_it() -> None:
    pose = hil.load_robot("vrm-kukakr5").forward_kinematics(np.radians([0, 90, 0, 0, 90, 0]))
    shown = pose_to_xyzabc(pose)
    assert (shown.x_mm, shown.y_mm, shown.z_mm) == pytest.approx((800, 0, 1005), abs=1e-9)
    assert (shown.a_deg, shown.b_deg, shown.c_deg) == pytest.approx((180, 0, 0), abs=1e-9)


def test_the_rv2aj_seed_home_stands_at_a_pole_and_reads_steadily() -> None:
    robot = hil.load_robot("rv2aj-seed")
    pose = robot.forward_kinematics(robot.model.home)
    shown = pose_to_xyzabc(pose)
    assert (shown.b_deg, shown.c_deg, shown.separate) == (pytest.approx(-90), 0.0, False)
    assert xyzabc_to_pose(shown) == pytest.approx(pose, abs=1e-9)


def test_tool_down_is_b_180_for_melfa_and_a_180_c_180_for_rpy_and_both_are_one_rotation() -> None:
    pose = hil.load_robot("rv2aj").forward_kinematics(np.radians([0, 21.19, 72.78, 86.03, 0]))
    melfa, rpy = pose_to_xyzabc(pose, "melfa"), pose_to_xyzabc(pose)
    assert (melfa.a_deg, melfa.b_deg, melfa.c_deg) == pytest.approx((0, 180, 0), abs=1e-9)
    assert (rpy.a_deg, rpy.b_deg, rpy.c_deg) == pytest.approx((180, 0, 180), abs=1e-9)
    assert xyzabc_to_pose(melfa) == pytest.approx(xyzabc_to_pose(rpy), abs=1e-12)
    # The controller's own log rounds its joints to 0.01 deg.
    assert (melfa.x_mm, melfa.y_mm, melfa.z_mm) == pytest.approx((250, 0, 450), abs=0.03)


@pytest.mark.parametrize(
    ("joints", "pose"),
    [
        ((0, 0, 90, 0, 0), (232, 0, 550, 0, 90)),
        ((0, 0, 90, 90, 0), (160, 0, 478, 0, 180)),
        ((45, 30, 60, 60, -30), (226.981, 226.981, 454.153, -68.971, 150)),
        ((-90, 60, 30, 45, 120), (0, -427.418, 374.088, 183.640, 135)),
        ((0, 120, -30, 0, 0), (448.506, 0, 175, 0, 90)),
        ((-107.7560, 32.1796, 104.1809, 42.9295, 66.1123), (-74.55, -232.81, 323.81, 173.86, 179.29)),
    ],
)
def test_melfa_read_outs_of_the_rv2aj(joints: tuple[float, ...], pose: tuple[float, ...]) -> None:
    array = hil.load_robot("rv2aj").forward_kinematics(np.radians(joints))
    shown = pose_to_xyzabc(array, Convention.MELFA)
    assert (shown.x_mm, shown.y_mm, shown.z_mm) == pytest.approx(pose[:3], abs=0.01)
    assert math.remainder(shown.a_deg - pose[3], 360) == pytest.approx(0, abs=0.01)
    assert shown.b_deg == pytest.approx(pose[4], abs=0.01)
    assert xyzabc_to_pose(shown) == pytest.approx(array, abs=1e-9)


def test_melfa_takes_the_yaw_of_an_arm_that_leans_over_backwards() -> None:
    joints = np.radians([10, 10, -50, 80, 15])
    pose = hil.load_robot("rv2aj").forward_kinematics(joints)
    shown = pose_to_xyzabc(pose, "melfa", yaw_rad=joints[0])
    assert (shown.x_mm, shown.y_mm, shown.z_mm) == pytest.approx((-12.953, -2.284, 723.924), abs=0.001)
    assert (shown.a_deg, shown.b_deg) == pytest.approx((22.660, 40), abs=0.001)
    assert xyzabc_to_pose(shown, yaw_rad=joints[0]) == pytest.approx(pose, abs=1e-9)


def test_melfa_refuses_what_five_axes_cannot_say() -> None:
    with pytest.raises(CommandError, match=r"30\.000 deg out of the plane"):
        pose_to_xyzabc(xyzabc_to_pose((200, 0, 300, 30, 0, 0)), "melfa")
    with pytest.raises(CommandError, match="C = 0"):
        xyzabc_to_pose((200, 0, 300, 0, 180, 5), "melfa")


def bad(change: str) -> object:
    pose = np.eye(4)
    if change == "shape":
        return pose[:3]
    if change == "words":
        return [["a"] * 4] * 4
    if change == "nan":
        pose[0, 3] = math.nan
    if change == "last row":
        pose[3, 0] = 0.5
    if change == "stretched":
        pose[0, 0] = 1.001
    if change == "mirrored":
        pose[0, 0] = -1.0
    return pose


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("shape", r"shape \(3, 4\) was given"),
        ("words", "4x4 array of numbers"),
        ("nan", "not finite"),
        ("last row", "0 0 0 1"),
        ("stretched", "not a rotation.*0.002"),
        ("mirrored", "mirror image"),
    ],
)
def test_a_matrix_that_is_no_pose_is_refused_with_the_reason(change: str, reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        checked_pose(bad(change))  # type: ignore[arg-type]


def test_rounding_in_a_pose_is_taken_out() -> None:
    pose = np.round(xyzabc_to_pose((1, 2, 3, 10, 20, 30)), 8)
    rotation = checked_pose(pose)[:3, :3]
    assert rotation.T @ rotation == pytest.approx(np.eye(3), abs=1e-15)


def test_six_finite_numbers_and_a_known_convention_are_asked_for() -> None:
    with pytest.raises(CommandError, match="six finite numbers"):
        xyzabc_to_pose((1, 2, 3))
    with pytest.raises(CommandError, match="six finite numbers"):
        xyzabc_to_pose((1, 2, 3, 4, 5, math.inf))
    with pytest.raises(CommandError, match="rpy_xyz_fixed, kuka_abc, melfa"):
        pose_to_xyzabc(np.eye(4), "euler")


@given(axis=st.tuples(*[st.floats(-1, 1, allow_subnormal=False)] * 3), angle=st.floats(0, math.pi))
@example(axis=(0.0, 0.0, 1.0), angle=math.pi)
@example(axis=(1.0, -1.0, 0.0), angle=math.pi - 1e-9)
@settings(max_examples=200, deadline=None)
def test_the_rotation_vector_is_axis_times_angle_up_to_half_a_turn(
    axis: tuple[float, float, float], angle: float
) -> None:
    length = math.sqrt(sum(v * v for v in axis))
    if length < 1e-3:
        return
    unit = np.array(axis) / length
    cross = np.array([[0, -unit[2], unit[1]], [unit[2], 0, -unit[0]], [-unit[1], unit[0], 0]])
    rotation = np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    vector = np.array(rotation_vector(rotation.tolist()))
    error = min(np.abs(vector - angle * unit).max(), np.abs(vector + angle * unit).max() + math.pi - angle)
    assert error < 1e-7


def test_a_record_carries_its_convention() -> None:
    record = XyzAbc(x_mm=1, y_mm=2, z_mm=3, a_deg=30, b_deg=20, c_deg=10, convention=Convention.KUKA_ABC)
    assert xyzabc_to_pose(record) == pytest.approx(xyzabc_to_pose((1, 2, 3, 30, 20, 10), "kuka_abc"))
