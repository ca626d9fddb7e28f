"""The closed form of the Lynx6 family: numbers from the papers, singular poses, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hil
from hil.errors import CommandError

FAMILY = [
    "al5d",
    "crs-a255",
    "l6-terzakis",
    "lynx6",
    "lynx6-4axis",
    "lynx6-alu",
    "lynx6-kinect",
    "rhino-xr3",
    "rv2aj",
    "rv2aj-seed",
    "teachmover",
]
OTHERS = ["adept-cobra600", "pioneer2-arm", "planar-3r", "puma560", "stanford", "panda"]


def turned_apart(q: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(np.remainder(q - other + np.pi, 2 * np.pi) - np.pi).max())


def test_the_family_is_recognised_from_its_dh_table_and_nothing_else_is() -> None:
    assert all(hil.load_robot(name).has_pitch_and_roll for name in FAMILY)
    assert not any(hil.load_robot(name).has_pitch_and_roll for name in OTHERS)


def test_an_arm_without_a_closed_form_says_what_to_use_instead() -> None:
    with pytest.raises(CommandError, match="inverse_kinematics_numeric"):
        hil.load_robot("panda").inverse_kinematics_all(np.eye(4))


@pytest.mark.parametrize(
    ("point_cm", "pitch_deg", "expected_deg"),
    [
        ((20, 0, 15), 0, (0, 112.856760, 149.237300, 36.380540)),
        ((15, 15, 10), -45, (45, 95.505759, 107.033152, -33.472607)),
    ],
)
def test_lynx6_angles_are_those_of_the_corrected_3d_ras_equations(
    point_cm: tuple[float, ...], pitch_deg: float, expected_deg: tuple[float, ...]
) -> None:
    robot = hil.load_robot("lynx6")
    position = [v / 100 for v in point_cm]
    result = robot.inverse_kinematics_target(position, math.radians(pitch_deg), 0.0)
    elbow_up = next(s for s in result.solutions if s.branch == "front, elbow up")
    theta = np.degrees(elbow_up.q[:4]) * (1, 1, -1, 1)
    assert np.remainder(theta - expected_deg + 180, 360) - 180 == pytest.approx(0, abs=1e-5)
    for solution in result.solutions:
        assert robot.forward_kinematics(solution.q)[:3, 3] == pytest.approx(position, abs=1e-12)


def test_rv2aj_seed_poses_are_those_of_the_paper() -> None:
    robot = hil.load_robot("rv2aj-seed")
    home = [[0, 0, 1, 0.16], [0, -1, 0, 0], [1, 0, 0, 0.55], [0, 0, 0, 1]]
    assert robot.forward_kinematics(robot.model.home) == pytest.approx(np.array(home), abs=1e-12)
    zero = robot.forward_kinematics([0.0] * 5)
    assert zero[:3, 3] == pytest.approx((0.41, 0, 0.3), abs=1e-12)
    assert zero[:3, 2] == pytest.approx((0, 0, -1), abs=1e-12)
    real = hil.load_robot("rv2aj")
    assert real.forward_kinematics(real.model.home)[:3, 3] == pytest.approx((0.232, 0, 0.55), abs=1e-12)


def test_the_rv2aj_log_of_a_real_controller_comes_back_from_the_inverse() -> None:
    robot = hil.load_robot("rv2aj")
    down = hil.load_robot("rv2aj").forward_kinematics(np.radians([0, 21.19, 72.78, 86.03, 0]))
    down[:3, 3] = 0.25, 0.0, 0.45
    result = robot.inverse_kinematics(down)
    assert np.degrees(result.solutions[0].q) == pytest.approx((0, 21.19, 72.78, 86.03, 0), abs=0.01)


@pytest.mark.parametrize(
    ("x", "z", "tilt", "above", "below"),
    [
        (350, 600, 90, (39.63, 8.19, 42.18), (46.02, -8.19, 52.18)),
        (300, 600, 45, (21.07, 63.26, -39.33), (68.93, -63.26, 39.33)),
        (350, 400, 90, (37.43, 90.58, -38.01), (103.00, -90.58, 77.58)),
    ],
)
def test_the_two_legal_rv2aj_postures_of_a_pose(
    x: float, z: float, tilt: float, above: tuple[float, ...], below: tuple[float, ...]
) -> None:
    robot = hil.load_robot("rv2aj")
    result = robot.inverse_kinematics_target((x / 1000, 0, z / 1000), math.radians(90 - tilt), 0.0)
    legal = {s.branch: np.degrees(s.q[1:4]) for s in result.solutions if s.within_limits}
    assert set(legal) == {"front, elbow up", "front, elbow down"}
    assert legal["front, elbow up"] == pytest.approx(above, abs=0.006)
    assert legal["front, elbow down"] == pytest.approx(below, abs=0.006)


@pytest.mark.parametrize("name", FAMILY)
def test_straight_elbows_and_poses_above_the_shoulder_are_not_lost(name: str) -> None:
    robot = hil.load_robot(name)
    tip = np.random.default_rng(5)
    for _ in range(40):
        q = tip.uniform(-math.pi, math.pi, robot.dof)
        joint = robot.model.joints[2]
        q[2] = -joint.theta_rad * joint.sign
        pose = robot.forward_kinematics(q)
        solutions = robot.inverse_kinematics_all(pose)
        assert min(turned_apart(s, q) for s in solutions) < 1e-6
        assert sum(turned_apart(s, q) < 1e-5 for s in solutions) == 1
        assert np.isfinite(solutions).all()


@pytest.mark.parametrize("pitch_deg", [90.0, 60.0, -20.0])
def test_a_tool_point_on_the_yaw_axis_is_reached_with_the_yaw_of_the_orientation(pitch_deg: float) -> None:
    robot = hil.load_robot("lynx6")
    seed = (0.4, 1.5, 0.0, 0.0, 0.2)
    result = robot.inverse_kinematics_target((0, 0, 0.2), math.radians(pitch_deg), 0.2, seed)
    q = result.solutions[0].q
    assert math.remainder(q[0] - 0.4, math.pi) == pytest.approx(0.0, abs=1e-9)
    pose = robot.forward_kinematics(q)
    for solution in robot.inverse_kinematics(pose, seed).solutions:
        assert robot.forward_kinematics(solution.q) == pytest.approx(pose, abs=1e-9)
    assert turned_apart(np.array(robot.inverse_kinematics(pose, q).solutions[0].q), np.array(q)) < 1e-6


@pytest.mark.parametrize("offset_m", [0.0, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5])
def test_a_pose_just_beside_the_yaw_axis_is_found(offset_m: float) -> None:
    robot = hil.load_robot("lynx6")
    start = robot.inverse_kinematics_target((offset_m, 0, 0.4), math.radians(70), 0.1, (0.3, 1.5, 0, 0, 0.1))
    pose = robot.forward_kinematics(start.solutions[0].q)
    result = robot.inverse_kinematics(pose)
    assert result.solutions
    assert all(s.error < 1e-9 for s in result.solutions)


def test_limits_mark_a_solution_and_whole_turns_bring_it_inside() -> None:
    robot = hil.load_robot("lynx6")
    result = robot.inverse_kinematics(robot.forward_kinematics([0.1, 1.2, -0.9, 0.3, 0.5]))
    assert result.ok
    assert result.best is result.solutions[0]
    assert [s.within_limits for s in result.solutions] == sorted(
        (s.within_limits for s in result.solutions), reverse=True
    )
    far = np.radians([0, 60, 10, 0, -190])
    arm = hil.load_robot("rv2aj")
    kept = arm.inverse_kinematics(arm.forward_kinematics(far), far).solutions[0]
    assert kept.q == pytest.approx(far, abs=1e-9)
    assert kept.within_limits


def test_home_at_a_limit_is_within_limits_despite_rounding() -> None:
    robot = hil.load_robot("lynx6")
    q = np.radians([90, 90, -90, 90, 80])
    best = robot.inverse_kinematics(robot.forward_kinematics(q), q).best
    assert best is not None
    assert best.q == pytest.approx(q, abs=1e-9)


def test_a_pose_outside_the_limits_names_joint_and_limit() -> None:
    robot = hil.load_robot("lynx6")
    result = robot.inverse_kinematics(robot.forward_kinematics(np.radians([0, 45, 100, 10, 0])))
    assert not result.ok
    assert result.best is None
    assert result.solutions
    assert not any(s.within_limits for s in result.solutions)
    assert (result.joint, result.limit) == ("elbow", "upper limit 90.00 deg")
    assert "elbow would have to be at 100.00 deg, 10.00 deg beyond its upper limit 90.00 deg" in result.reason


def test_a_full_pose_that_the_base_cannot_face_is_refused_with_the_angle_off() -> None:
    robot = hil.load_robot("lynx6")
    pose = robot.forward_kinematics([0.0, 1.2, -1.2, 0.0, 0.3])
    c, s = math.cos(math.radians(20)), math.sin(math.radians(20))
    pose[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ pose[:3, :3]
    result = robot.inverse_kinematics(pose)
    assert not result.solutions
    assert "the base at 0.00 deg" in result.reason
    assert "20.000 deg off" in result.reason
    assert "give a pitch" in result.reason


def test_four_axes_refuse_a_rolled_tool_with_the_angle_off() -> None:
    robot = hil.load_robot("lynx6-4axis")
    pose = robot.forward_kinematics([0.2, 1.0, -0.6, -0.2])
    assert robot.inverse_kinematics(pose).ok
    axis = pose[:3, 2].copy()
    c, s = math.cos(0.1), math.sin(0.1)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    pose[:3, :3] = (np.eye(3) + s * cross + (1 - c) * cross @ cross) @ pose[:3, :3]
    result = robot.inverse_kinematics(pose)
    assert not result.solutions
    assert f"{math.degrees(0.1):.3f} deg off" in result.reason


@pytest.mark.parametrize("beyond_m", [1e-3, 0.2, 5.0])
@pytest.mark.parametrize("name", ["lynx6", "rv2aj", "al5d"])
def test_a_pose_beyond_the_reach_is_refused_with_its_distance(name: str, beyond_m: float) -> None:
    robot = hil.load_robot(name)
    first, second = robot.model.joints[1:3]
    joint = robot.model.joints[2]
    straight = -joint.theta_rad * joint.sign
    generator = np.random.default_rng(11)
    shoulder_frame, wrist_frame = 2, 4
    for _ in range(100):
        q = generator.uniform(-math.pi, math.pi, robot.dof)
        q[2] = straight
        frames = robot.link_frames(q)
        outwards = frames[wrist_frame - 1][:3, 3] - frames[shoulder_frame - 1][:3, 3]
        assert np.linalg.norm(outwards) == pytest.approx(first.a_m + second.a_m)
        # Pushing the wrist straight out keeps the orientation and the plane.
        pose = frames[-1].copy()
        pose[:3, 3] += outwards / np.linalg.norm(outwards) * beyond_m
        result = robot.inverse_kinematics(pose)
        assert not result.ok
        assert "out of reach" in result.reason
        assert result.distance_m is not None
        assert 0.0 < result.distance_m <= beyond_m + 1e-9
        if robot.model.joints[0].a_m == 0.0 and "with this orientation" in result.reason:
            assert result.distance_m == pytest.approx(beyond_m, abs=1e-9)


def test_the_hole_around_the_shoulder_is_refused_with_its_distance() -> None:
    robot = hil.load_robot("rv2aj")
    inside = robot.inverse_kinematics_target((0.01, 0, 0.30))
    assert inside.distance_m == pytest.approx(0.250 - 0.160 - 0.072 - 0.01, abs=1e-12)
    assert "out of reach by 8.000 mm" in inside.reason


def test_three_kinds_of_poses_never_succeed_wrongly_and_never_raise() -> None:
    """1000 poses: inside, 1 mm outside, far away."""
    generator = np.random.default_rng(30)
    robot = hil.load_robot("lynx6")
    shoulder, reach = np.array([0, 0, 0.1106]), 0.39
    for i in range(1000):
        pose = robot.forward_kinematics(generator.uniform(-math.pi, math.pi, 5))
        kind = i % 3
        if kind:
            outward = generator.normal(size=3)
            outward /= np.linalg.norm(outward)
            distance = reach + (1e-3 if kind == 1 else generator.uniform(0.5, 50.0))
            pose[:3, 3] = shoulder + distance * outward
        result = robot.inverse_kinematics(pose)
        assert bool(result.solutions) == (kind == 0)
        if kind:
            assert result.distance_m == pytest.approx(distance - reach, abs=1e-9)
        for solution in result.solutions:
            assert robot.forward_kinematics(solution.q) == pytest.approx(pose, abs=1e-9)
            inside = all(j.lower <= v <= j.upper for v, j in zip(solution.q, robot.model.joints, strict=True))
            assert inside == solution.within_limits
