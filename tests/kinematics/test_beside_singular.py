"""Beside a singular pose, not only at it, the joint that the pose all but leaves open stays at the seed."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

import hil
from hil.kernels.chain import chain_of
from hil.kernels.families import recognise
from hil.kinematics.certified import all_solutions, in_limits
from hil.kinematics.limits import range_of, result_of
from hil.kinematics.results import IkSolution
from hil.robot import frame_of_rows

Array = npt.NDArray[np.float64]

CERTIFICATE = 1e-6
HELD = 0.9e-6
FULLY = 0.5e-3
"""Up to half of a thousandth the whole certificate may be used; from there on ever less of it."""

WRIST_FIRST = np.array([1e4, 1e4, 1e4, 1.0, 1.0, 1.0])

JUMP_RAD = 2e-3
"""No joint of a wrist that goes through straight within the certificate turns more than this in one sample."""


def unlimited(name: str) -> hil.Robot:
    """The arm, with joints that turn as far as they like: limits are not what is asked here."""
    model = hil.load_robot(name).model
    return hil.Robot(
        structs.replace(model, joints=tuple(structs.replace(j, lower=None, upper=None) for j in model.joints))
    )


ARMS = {name: unlimited(name) for name in hil.list_robots()}
SIX = [name for name, robot in ARMS.items() if robot.dof == 6 and robot.has_closed_form]
FREE = {name: 5 if name == "ur5" else 3 for name in SIX}
FIVE = [name for name, robot in ARMS.items() if robot.dof == 5 and robot.has_closed_form]
AMOUNTS = st.one_of(st.just(0.0), st.floats(-12.0, -3.0).map(lambda power: 10.0**power))
"""From nothing to a thousandth, each power of ten as likely."""


def straight(robot: hil.Robot, generator: np.random.Generator) -> Array:
    """Any configuration with axes 4 and 6 in line, stretched or folded."""
    q = generator.uniform(-math.pi, math.pi, robot.dof)
    q[2] = math.copysign(0.3, q[2]) + q[2] / 3.0
    fifth = robot.model.joints[4]
    q[4] = fifth.sign * (generator.choice([0.0, math.pi]) - fifth.theta_rad)
    return q


def turned(pose: Array, vector: Array, shift: Array) -> Array:
    """The tool turned by a rotation vector about its point, and moved."""
    result = pose.copy()
    result[:3, :3] = rotation_of(vector) @ pose[:3, :3]
    result[:3, 3] += shift
    return result


def rotation_of(vector: Array) -> Array:
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross + 2.0 * math.sin(angle / 2.0) ** 2 * cross @ cross)


def lacking(robot: hil.Robot, q: Array, pose: Array) -> float:
    """Metres or radians, whichever is more."""
    reached = robot.forward_kinematics(q)
    turn = np.linalg.norm(reached[:3, :3] - pose[:3, :3]) / math.sqrt(2.0)
    return float(max(turn, np.linalg.norm(reached[:3, 3] - pose[:3, 3])))


def cost_of_holding(robot: hil.Robot, joint: int, seed: Array, pose: Array) -> float:
    """What the pose lacks at least while one joint stands at its seed, the others meeting the place of the wrist."""
    q = seed.copy()
    others = [i for i in range(robot.dof) if i != joint]
    for _ in range(12):
        at = robot.forward_kinematics(q)
        away = robot.link_frames(q)[5, :3, 3] - at[:3, 3]
        small = pose[:3, :3] @ at[:3, :3].T
        turn = 0.5 * np.array([small[2, 1] - small[1, 2], small[0, 2] - small[2, 0], small[1, 0] - small[0, 1]])
        gap = np.concatenate([pose[:3, 3] + small @ away - (at[:3, 3] + away), turn])
        jacobian = robot.jacobian(q)[:, others]
        jacobian[:3] += np.cross(jacobian[3:].T, away).T
        step = np.linalg.lstsq(WRIST_FIRST[:, None] * jacobian, WRIST_FIRST * gap, rcond=None)[0]
        widest = float(np.abs(step).max())
        q[others] += step * min(1.0, 0.1 / max(widest, 1e-300))
        if widest < 1e-13:
            break
    return lacking(robot, q, pose)


def answers(robot: hil.Robot, pose: Array, seed: Array) -> tuple[IkSolution, ...]:
    """All solutions, each certified by forward kinematics; none where a stretched arm was moved out of reach."""
    result = robot.inverse_kinematics(pose, seed.tolist())
    assert result.ok or "out of reach" in result.reason
    for solution in result.solutions:
        assert lacking(robot, np.array(solution.q), pose) <= CERTIFICATE * (1.0 + 1e-6)
    return result.solutions


@pytest.mark.parametrize("name", SIX)
@given(seed=st.integers(0, 2**32 - 1), bend=AMOUNTS, shift=AMOUNTS, own=AMOUNTS)
@settings(max_examples=25, deadline=None)
def test_a_wrist_all_but_straight_keeps_its_seed_within_the_certificate(
    name: str, seed: int, bend: float, shift: float, own: float
) -> None:
    robot, generator = ARMS[name], np.random.default_rng(seed)
    joint = FREE[name]
    q = straight(robot, generator)
    pose = turned(
        robot.forward_kinematics(q),
        bend * direction(generator),
        min(shift, 1e-4) * direction(generator),
    )
    q[4] += own * generator.choice([-1.0, 1.0])
    found = answers(robot, pose, q)
    if not found or np.linalg.svd(robot.jacobian(q))[1][4] < 1e-2 or max(bend, own) > FULLY:
        return  # more than the wrist is singular, or the certificate is no longer used in full
    # The solver reckons to first order what holding costs: close to the limit it may find more than there is.
    if cost_of_holding(robot, joint, q, pose) <= 0.85 * HELD:
        assert found[0].q[joint] == pytest.approx(q[joint], abs=1e-12)
        assert f"J{joint + 1} is free" in found[0].note
        assert "was kept at" in found[0].note


def direction(generator: np.random.Generator) -> Array:
    vector = generator.normal(size=3)
    return np.asarray(vector / np.linalg.norm(vector))


@pytest.mark.parametrize("name", SIX)
@given(
    seed=st.integers(0, 2**32 - 1),
    bend=st.floats(1e-5, 2e-3),
    miss=st.floats(-0.1e-6, 0.1e-6),
    drift=st.floats(0.0, 1e-4),
    count=st.integers(9, 40),
)
@settings(max_examples=6, deadline=None)
def test_a_wrist_goes_through_straight_without_a_jump(
    name: str, seed: int, bend: float, miss: float, drift: float, count: int
) -> None:
    robot, generator = ARMS[name], np.random.default_rng(seed)
    q = straight(robot, generator)
    if np.linalg.svd(robot.jacobian(q))[1][4] < 0.1:
        return
    frames = robot.link_frames(q)
    aside = miss * np.cross(frames[4, :3, 2], frames[5, :3, 2])
    if cost_of_holding(robot, FREE[name], q, turned(robot.forward_kinematics(q), aside, np.zeros(3))) > 0.5 * HELD:
        return  # near the shoulder's axis a hair's miss turns joint 1, and with it the wrist, by much more
    way = drift * generator.uniform(-1.0, 1.0, 6)
    way[4] = bend
    near = q - way
    for part in np.linspace(-1.0, 1.0, count):
        pose = turned(robot.forward_kinematics(q + part * way), aside, np.zeros(3))
        found = np.array(answers(robot, pose, near)[0].q)
        assert np.abs(found - near).max() <= 2.0 * bend / (count - 1) + 2.0 * drift + JUMP_RAD
        near = found


def test_what_keeping_may_cost_is_the_certificate_and_beyond_it_the_joint_goes_over_without_a_step() -> None:
    robot = ARMS["puma560"]
    seed = np.array([0.4, -1.0, 1.3, 0.5, 0.0, 0.7])
    turns = []
    for cost in np.linspace(0.8, 2.0, 1201) * 1e-6:
        pose = robot.forward_kinematics(seed + np.array([0.0, 0.0, 0.0, 1.0, cost / math.sin(1.0), 0.0]))
        turns.append(answers(robot, pose, seed)[0].q[3] - seed[3])
    kept = [i for i, turn in enumerate(turns) if abs(turn) <= 1e-12]
    assert kept == list(range(len(kept)))
    assert 0.8 + 0.001 * len(kept) == pytest.approx(0.9, abs=0.002)
    assert max(b - a for a, b in pairwise(turns)) < 0.02
    exact = [i for i, turn in enumerate(turns) if turn == pytest.approx(1.0, abs=1e-6)]
    assert exact == list(range(1001, 1201)) or exact == list(range(1000, 1201))


def test_what_keeping_may_cost_falls_to_nothing_at_a_thousandth_of_a_radian() -> None:
    robot = ARMS["puma560"]
    seed = np.array([0.4, -1.0, 1.3, 0.5, 0.0, 0.7])

    def held(bend: float, turn: float) -> bool:
        pose = robot.forward_kinematics(seed + np.array([0.0, 0.0, 0.0, turn, bend, 0.0]))
        return answers(robot, pose, seed)[0].q[3] == pytest.approx(0.5, abs=1e-12)

    assert held(0.499e-3, 0.88e-6 / 0.499e-3)
    assert held(0.75e-3, 0.44e-6 / 0.75e-3)
    assert not held(0.75e-3, 0.46e-6 / 0.75e-3)
    assert not held(1.001e-3, 1e-9)


def test_no_limit_is_broken_for_the_seed_s_sake() -> None:
    model = ARMS["puma560"].model
    joints = list(model.joints)
    joints[5] = structs.replace(joints[5], lower=0.5, upper=1.0)
    robot = hil.Robot(structs.replace(model, joints=tuple(joints)))
    true, seed = [0.4, -1.0, 1.3, 0.5, 1e-7, 0.7], [0.4, -1.0, 1.3, 0.9, 0.0, 0.7]
    best = robot.inverse_kinematics(robot.forward_kinematics(true), seed).best
    assert best is not None
    assert best.q == pytest.approx(true, abs=1e-6)
    assert best.note == ""


def test_without_a_seed_every_digit_of_the_pose_counts() -> None:
    robot = ARMS["puma560"]
    pose = robot.forward_kinematics([0.4, -1.0, 1.3, 0.5, 1e-8, 0.7])
    for solution in robot.inverse_kinematics(pose).solutions:
        assert solution.error < 1e-12
        assert solution.note == ""


@pytest.mark.parametrize("name", [*SIX, *FIVE])
def test_away_from_singular_poses_a_seed_changes_no_bit(name: str) -> None:
    robot, generator = ARMS[name], np.random.default_rng(11)
    form = recognise(chain_of(robot.model))
    assert form is not None
    ranges = [range_of(joint) for joint in robot.model.joints]
    for q in generator.uniform(-math.pi, math.pi, (12, robot.dof)):
        if np.linalg.svd(robot.jacobian(q))[1][-1] < 1e-3:
            continue
        frame = frame_of_rows(robot.forward_kinematics(q).tolist())
        for seed in (q.tolist(), (q + generator.normal(size=robot.dof)).tolist()):
            plain = [in_limits(s, ranges, seed) for s in all_solutions(form, frame, seed)]
            assert robot.inverse_kinematics(robot.forward_kinematics(q), seed) == result_of(plain, ranges, seed)


def over_the_axis(robot: hil.Robot, partner: int, generator: np.random.Generator) -> Array | None:
    """A configuration with one joint's axis on the yaw axis, by Gauss-Newton; None if the arm has none near by."""

    def apart(q: Array) -> Array:
        frames = robot.link_frames(q)
        up, axis = frames[0, :3, 2], frames[partner, :3, 2]
        return np.concatenate([np.cross(axis, up), np.cross(frames[partner, :3, 3] - frames[0, :3, 3], up)])

    for _ in range(30):
        q = generator.uniform(-math.pi, math.pi, robot.dof)
        for _ in range(30):
            here = apart(q)
            between = list(range(1, partner))
            slopes = np.array([(apart(q + 1e-6 * np.eye(robot.dof)[i]) - here) / 1e-6 for i in between]).T
            step = np.linalg.lstsq(slopes, -here, rcond=1e-6)[0]
            q[between] += step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(apart(q)).max() < 1e-12 and np.linalg.svd(robot.jacobian(q))[1][3] > 1e-2:
            return q
    return None


PARTNERS = {name: 3 if name == "pioneer2-arm" else 4 for name in FIVE}
ON_AXIS = {name: over_the_axis(ARMS[name], partner, np.random.default_rng(3)) for name, partner in PARTNERS.items()}


def test_every_five_axis_arm_has_a_posture_that_leaves_the_yaw_open() -> None:
    assert [name for name, q in ON_AXIS.items() if q is None] == []


@pytest.mark.parametrize("name", FIVE)
@given(seed=st.integers(0, 2**32 - 1), amount=AMOUNTS, turn=st.floats(-1.5, 1.5))
@settings(max_examples=25, deadline=None)
def test_a_tool_all_but_on_the_yaw_axis_keeps_its_seed_within_the_certificate(
    name: str, seed: int, amount: float, turn: float
) -> None:
    robot, q = ARMS[name], ON_AXIS[name]
    assert q is not None
    generator, partner = np.random.default_rng(seed), PARTNERS[name]
    angular = robot.jacobian(q)[3:]
    moved = q + amount * generator.uniform(-1.0, 1.0, 5)
    moved[0] += turn
    moved[partner] -= turn * float(angular[:, 0] @ angular[:, partner])
    best = answers(robot, robot.forward_kinematics(moved), q)[0]
    reach_m = sum(abs(joint.a_m) + abs(joint.d_m) for joint in robot.model.joints)
    if 4.0 * amount * max(1.0, reach_m) <= HELD:
        assert best.q[0] == pytest.approx(q[0], abs=1e-12)
        assert "J1 is free" in best.note
        assert "was kept at" in best.note


@pytest.mark.parametrize("name", FIVE)
@given(
    seed=st.integers(0, 2**32 - 1),
    amount=st.floats(1e-6, 2e-3),
    drift=st.floats(0.0, 1e-4),
    count=st.integers(9, 40),
)
@settings(max_examples=15, deadline=None)
def test_a_tool_goes_over_the_yaw_axis_without_a_jump(
    name: str, seed: int, amount: float, drift: float, count: int
) -> None:
    robot, q = ARMS[name], ON_AXIS[name]
    assert q is not None
    way = amount * np.random.default_rng(seed).uniform(-1.0, 1.0, 5)
    way[0] = drift
    near = q - way
    for part in np.linspace(-1.0, 1.0, count):
        found = np.array(answers(robot, robot.forward_kinematics(q + part * way), near)[0].q)
        assert np.abs(found - near).max() <= 2.0 * amount / (count - 1) + 2.0 * drift + JUMP_RAD
        near = found
