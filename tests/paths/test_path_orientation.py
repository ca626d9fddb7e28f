from __future__ import annotations

import math

import numpy as np
import pytest

from hil.kinematics.along import Targets
from hil.paths.orientation import EvenTurn, PitchedAxis, ToolAxis, rotations, shortest_turns
from hil.paths.path import Arc, Line
from hil.robot import load_robot
from hil.units import DEG

LYNX, PUMA = load_robot("lynx6"), load_robot("puma560")
CIRCLE = Arc.about(np.array([0.26, 0.03, 0.14]), np.array([0.26, 0.0, 0.14]), np.array([0.0, 0.0, 1.0]), 2 * math.pi)
AT = np.linspace(0.0, CIRCLE.length_m, 200)


def test_the_shortest_turn_leads_from_one_vector_to_the_other_by_the_angle_between_them() -> None:
    rng = np.random.default_rng(4)
    one, other = (v / np.linalg.norm(v, axis=1)[:, None] for v in rng.normal(size=(2, 300, 3)))
    one[0], other[0] = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
    one[1] = other[1]
    turns = shortest_turns(one, other)
    assert np.einsum("kij,kj->ki", turns, one) == pytest.approx(other, abs=1e-9)
    assert turns @ np.swapaxes(turns, 1, 2) == pytest.approx(np.tile(np.eye(3), (300, 1, 1)), abs=1e-9)
    angle = np.arccos(np.clip(0.5 * (np.trace(turns, axis1=1, axis2=2) - 1.0), -1.0, 1.0))
    assert angle == pytest.approx(np.arccos(np.clip((one * other).sum(axis=1), -1.0, 1.0)), abs=1e-6)


def test_a_hand_turns_evenly_about_one_axis_and_ends_where_it_is_asked_to() -> None:
    start = rotations(np.array([[0.3, -0.2, 0.5]]))[0]
    turn = np.array([0.4, 1.0, -0.7])
    hand = EvenTurn(start, turn)
    turned = hand.targets(CIRCLE, AT).rotations
    assert turned[0] == pytest.approx(start) and turned[-1] == pytest.approx(start @ rotations(turn[None, :])[0])
    steps = np.swapaxes(turned[:-1], 1, 2) @ turned[1:]
    angles = np.arccos(np.clip(0.5 * (np.trace(steps, axis1=1, axis2=2) - 1.0), -1.0, 1.0))
    assert angles == pytest.approx(np.full(199, np.linalg.norm(turn) / 199), rel=1e-6)
    assert hand.turn_rad == pytest.approx(np.linalg.norm(turn))


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ("ground", lambda: np.tile([0.0, 0.0, -1.0], (200, 1))),
        ("along", lambda: CIRCLE.directions(AT)),
        ("normal", lambda: np.tile([0.0, 0.0, -1.0], (200, 1))),
    ],
)
def test_the_tool_axis_of_an_arm_of_six_follows_what_is_asked(policy, wanted) -> None:
    hand = ToolAxis(CIRCLE, policy, np.diag([1.0, -1.0, -1.0]))
    turned = hand.targets(CIRCLE, AT).rotations
    assert turned[:, :, 2] == pytest.approx(wanted(), abs=1e-9)


def test_a_tool_that_follows_a_circle_does_not_spin_about_its_own_axis() -> None:
    hand = ToolAxis(CIRCLE, "along", np.diag([1.0, -1.0, -1.0]))
    turned = hand.targets(CIRCLE, AT).rotations
    steps = np.swapaxes(turned[:-1], 1, 2) @ turned[1:]
    spin = 0.5 * (steps[:, 1, 0] - steps[:, 0, 1])
    assert np.abs(spin).max() < 1e-4
    assert hand.turn_rad == pytest.approx(2 * math.pi, rel=1e-3)


def test_five_axes_point_their_hand_down_at_any_place_and_nothing_lacks() -> None:
    hand = PitchedAxis(CIRCLE, "ground", np.eye(4), 0.0, -80 * DEG)
    assert hand.lacking_rad(AT) == pytest.approx(np.zeros(200), abs=1e-12)
    assert hand.targets(CIRCLE, AT).pitch_rad == pytest.approx(np.full(200, -90 * DEG))


def test_what_five_axes_cannot_take_is_the_angle_out_of_their_plane() -> None:
    """A line straight across: the hand that shall follow it would have to leave the arm's plane altogether."""
    across = Line(np.array([0.25, -0.05, 0.15]), np.array([0.25, 0.05, 0.15]))
    hand = PitchedAxis(across, "along", np.eye(4), 0.0, 0.0)
    lacking = hand.lacking_rad(np.array([0.0, 0.05]))
    assert lacking[1] == pytest.approx(90 * DEG)
    assert lacking[0] == pytest.approx(math.atan2(0.25, 0.05))


@pytest.mark.parametrize("arm", ["lynx6", "al5d", "rv2aj", "rhino-xr3"])
def test_joints_along_a_path_are_those_of_one_place_after_the_other(arm: str) -> None:
    robot = load_robot(arm)
    q = [0.1, *(np.array([0.9, 1.1, -0.7]) if arm == "rv2aj" else np.array([1.2, -1.0, -0.6])), 0.2][: robot.dof]
    now = robot.tool_target(q)
    start = np.array(now.position_m)
    path = Arc.about(start, start - [0.03, 0.01, 0.0], np.array([0.0, 0.0, 1.0]), 5.0)
    at = np.linspace(0.0, path.length_m, 60)
    roll = None if now.roll_rad is None else np.linspace(now.roll_rad, now.roll_rad + 0.3, 60)
    targets = Targets(path.points_m(at), np.linspace(now.pitch_rad, now.pitch_rad + 0.1, 60), roll)
    found = robot.inverse_kinematics_along(targets, q)
    assert found.refusal is None
    assert found.rows[0] == pytest.approx(q, abs=1e-9)
    for k in (0, 17, 59):
        one = robot.inverse_kinematics_target(
            targets.points_m[k].tolist(),
            targets.pitch_rad[k],
            None if roll is None else roll[k],
            found.rows[k].tolist(),
        )
        assert found.rows[k] == pytest.approx(one.solutions[0].q, abs=1e-12)


@pytest.mark.parametrize("arm", ["puma560", "ur5", "kuka-kr5-arc", "panda"])
def test_whole_orientations_are_followed_in_one_posture(arm: str) -> None:
    robot = load_robot(arm)
    q = [0.1, 0.6, -0.5, 0.3, 0.6, 0.2, 0.1][: robot.dof]
    pose = robot.forward_kinematics(q)
    path = Arc.about(pose[:3, 3], pose[:3, 3] - [0.05, 0.0, 0.0], np.array([0.0, 0.0, 1.0]), 2 * math.pi)
    at = np.linspace(0.0, path.length_m, 80)
    found = robot.inverse_kinematics_along(EvenTurn(pose[:3, :3], np.zeros(3)).targets(path, at), q)
    assert found.refusal is None
    reached = robot.forward_kinematics(found.rows)
    assert reached[:, :3, 3] == pytest.approx(path.points_m(at), abs=1e-8)
    assert reached[:, :3, :3] == pytest.approx(np.tile(pose[:3, :3], (80, 1, 1)), abs=1e-8)
    assert np.abs(np.diff(found.rows, axis=0)).max() < 0.1


def test_a_path_that_leaves_the_reach_is_followed_up_to_there() -> None:
    q = [0.0, 1.2, -1.0, -0.6, 0.0]
    now = LYNX.tool_target(q)
    start = np.array(now.position_m)
    out = Line(start, start + np.array([0.3, 0.0, 0.0]))
    at = np.linspace(0.0, 0.3, 100)
    found = LYNX.inverse_kinematics_along(Targets(out.points_m(at), np.full(100, now.pitch_rad), np.zeros(100)), q)
    assert found.refusal is not None and "out of reach" in found.refusal.reason
    last = len(found.rows) - 1
    assert LYNX.forward_kinematics(found.rows[last])[:3, 3] == pytest.approx(
        out.points_m(at[last : last + 1])[0], abs=1e-9
    )
    assert abs(found.rows[last][2]) < 0.2  # the elbow is nearly straight: there is no more to give
