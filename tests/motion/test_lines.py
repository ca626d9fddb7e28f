from __future__ import annotations

import msgspec
import numpy as np
import pytest
from motion_rigs import make_rig

from hil.kinematics.results import IkResult
from hil.motion.lines import StraightLine, deviation_m, halfway_m, plan_line
from hil.motion.profiles import usage
from hil.motion.refusals import Spot
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.units import DEG

RIG = make_rig()
ROBOT = Robot(RIG.robot)
SPOT = Spot(100, RIG.period_s, "step 7 (line)")
PITCH = 45 * DEG
START, END = np.array([0.25, -0.03, 0.33]), np.array([0.25, 0.03, 0.33])


def solutions(point, elbow):
    result = ROBOT.inverse_kinematics_target(point.tolist(), PITCH, 0.0)
    found = tuple(s for s in result.solutions if s.branch == f"front, elbow {elbow}")
    return IkResult(solutions=found)


def joints(point, elbow="up"):
    return np.array(solutions(point, elbow).solutions[0].q)


def line(**changes):
    return StraightLine(
        **{
            "start_m": START,
            "end_m": END,
            "turn_rad": 0.0,
            "speed_m_s": 0.1,
            "effort": 1.0,
            "tolerance_m": 1e-3,
            **changes,
        }
    )


def plan(inverse, asked=None):
    start = np.array([*joints(START), 0.01])
    return plan_line(RIG, ROBOT, start, asked or line(), inverse, SPOT)


def on_the_line(fraction, elbow="up"):
    return solutions(START + fraction * (END - START), elbow)


def test_an_elbow_that_flips_between_two_points_is_refused_with_joint_and_place():
    with pytest.raises(RefusedError) as caught:
        plan(lambda fraction, seed: on_the_line(fraction, "up" if fraction < 0.5 else "down"))
    (refusal,) = caught.value.refusals
    assert (refusal.check, refusal.place) == ("E-05", "step 7 (line)")
    assert refusal.subject in {"shoulder", "elbow"}
    assert "mm off the line" in refusal.limit
    assert "change its posture" in refusal.advice
    # Half of 60 mm at 100 mm/s, after the sample at which the line begins.
    assert refusal.sample == pytest.approx(100 + 0.3 / RIG.period_s, abs=2)


def test_a_flip_is_seen_with_two_points_by_the_pose_half_way_between_them():
    rows = np.array([joints(START, "up"), joints(END, "down")])
    assert halfway_m(ROBOT, rows, line())[0] > 0.01


def test_neighbouring_points_of_a_straight_line_pass_the_half_way_check():
    rows = np.array([joints(START + f * (END - START)) for f in np.linspace(0, 1, 31)])
    assert halfway_m(ROBOT, rows, line()).max() < 1e-4


def test_a_jump_that_no_slowness_smooths_out_is_refused():
    def inverse(fraction, seed):
        """A base that is 2 degrees off from half-way on: too little for a change of posture."""
        found = on_the_line(fraction).solutions[0]
        q = (found.q[0] + (2 * DEG if fraction > 0.5 else 0.0), *found.q[1:])
        return IkResult(solutions=(msgspec.structs.replace(found, q=q),))

    with pytest.raises(RefusedError) as caught:
        plan(inverse, line(tolerance_m=0.05))
    (refusal,) = caught.value.refusals
    assert refusal.check in {"E-05", "E-08"}
    assert refusal.subject == "base"


def test_a_path_that_curves_away_from_the_line_is_refused():
    def inverse(fraction, seed):
        bulge = np.array([0.003 * np.sin(np.pi * fraction), 0.0, 0.0])
        return solutions(START + fraction * (END - START) + bulge, "up")

    with pytest.raises(RefusedError) as caught:
        plan(inverse)
    (refusal,) = caught.value.refusals
    assert refusal.check in {"E-05", "E-06"}
    assert plan(inverse, line(tolerance_m=4e-3)).shape[1] == 6


def test_a_tight_tolerance_between_samples_is_met_by_moving_slower():
    loose = plan(lambda fraction, seed: on_the_line(fraction), line(speed_m_s=0.24))
    least_m = 0.5 * halfway_m(ROBOT, loose[:, :5], line()).max()
    tight = plan(lambda fraction, seed: on_the_line(fraction), line(speed_m_s=0.24, tolerance_m=least_m))
    assert len(tight) > len(loose)
    assert halfway_m(ROBOT, tight[:, :5], line()).max() <= least_m


def test_a_line_starts_at_the_start_keeps_the_gripper_and_all_limits():
    rows = plan(lambda fraction, seed: on_the_line(fraction))
    assert (rows[0, :5] == joints(START)).all()
    assert (rows[:, 5] == 0.01).all()
    assert (usage(RIG, rows) <= 1.0).all()


def test_the_distance_from_a_stretch_is_measured_to_its_ends_beyond_them():
    points = np.array([[0.0, 0.0, 1.0], [-3.0, 4.0, 0.0], [2.0, 0.0, 0.0]])
    found = deviation_m(points, np.zeros(3), np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(found, [1.0, 5.0, 1.0])
    np.testing.assert_allclose(deviation_m(points[:1], np.zeros(3), np.zeros(3)), [1.0])
