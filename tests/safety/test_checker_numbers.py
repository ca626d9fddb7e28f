"""Every number that the checker tells of a motion, to four digits: one that is changed in the code is seen here.

Limits are those of the rig in tests/support/fixed_arm.py: base -88 to 88 degrees (soft), 60 deg/s, 300 deg/s2,
3000 deg/s3, rest within one step of jerk (1.2 deg/s), a pulse of 1/8 degree.
"""

from __future__ import annotations

import pytest
from fixed_arm import HOME, NAMES, PERIOD_S, make_rig, move, pose

from hil.motion.motion import Motion
from hil.robot import Robot
from hil.safety.checker import check_motion

RIG = make_rig()
ROBOT = Robot(RIG.robot)
ALWAYS = """
E-02 elbow: lower limit -148 deg: 88 deg
E-02 roll: upper limit 78 deg: 78 deg
E-02 shoulder: lower limit of the controller -32.5 deg: 122.5 deg
E-02 wrist: lower limit -88 deg: 28 deg
E-03 base: speed 60 deg/s and one step of the wire a period: 10 deg/s
E-04 look-ahead: at least one period, 20 ms: 20 ms
E-05 base: step of 10 deg between samples: 8.92 deg
E-09 upper arm and hand: clearance 5 mm: 91.15 mm
E-10 upper arm and table: clearance 5 mm: 85.6 mm
E-13 upper arm and table: clearance 5 mm during a stop from here: 85.6 mm
E-16 line to the controller: 7.374 ms on the wire, 30% of 20 ms kept free: 6.626 ms
"""
REST = """
E-03 base: acceleration 300 deg/s2: 30 deg/s2
E-03 base: at rest at the start: 1.2 deg/s: 1.02 deg/s
E-03 base: jerk 3000 deg/s3: 300 deg/s3
"""


def fine() -> Motion:
    return move(RIG, HOME, pose(base=60, elbow=-20, gripper=4), HOME, share=0.9)


def beyond_the_lower_limit() -> Motion:
    return move(RIG, HOME, pose(base=-89), HOME)


def cut_at_both_ends() -> Motion:
    return Motion(NAMES, PERIOD_S, move(RIG, HOME, pose(base=60)).samples[20:-20])


def back_from_beyond() -> Motion:
    return move(RIG, pose(base=-89), pose(base=-60))


TOLD = {
    fine: """
E-02 base: upper limit 88 deg: 28 deg
E-02 gripper: lower limit 0.5 mm: 3.5 mm
E-03 base: at rest at the end: 1.2 deg/s: 1.169 deg/s
E-03 gripper: rounding to the wire, half a step of 0.05 mm: 0.0004 mm
E-03 tool: tool speed 1000 mm/s: 734.7 mm/s
E-13 gripper: lower limit 0 mm after a stop from here: 4 mm
E-14 gripper: closed for 0.04 s, at most 60 s before its servo runs hot: 59.96 s
"""
    + REST,
    beyond_the_lower_limit: """
E-02 base: lower limit -88 deg: -0.06304 deg, sample 91; allowed: -88 deg
E-02 gripper: lower limit 0.5 mm: 9.5 mm
E-03 base: at rest at the end: 1.2 deg/s: 1.188 deg/s
E-03 base: rounding to the wire, half a step of 0.125 deg: 0.000537 deg
E-03 tool: tool speed 1000 mm/s: 779.6 mm/s
E-13 base: lower limit -90 deg after a stop from here: 0.9903 deg
"""
    + REST,
    cut_at_both_ends: """
E-02 base: upper limit 88 deg: 41.02 deg
E-02 gripper: lower limit 0.5 mm: 9.5 mm
E-03 base: acceleration 300 deg/s2: 300 deg/s2
E-03 base: at rest at the end: 1.2 deg/s: -52.8 deg/s, sample 31; allowed: 1.2 deg/s
E-03 base: at rest at the start: 1.2 deg/s: -52.8 deg/s, sample 1; allowed: 1.2 deg/s
E-03 base: jerk 3000 deg/s3: -1.32e+05 deg/s3, sample 2; allowed: 3000 deg/s3
E-03 base: rounding to the wire, half a step of 0.125 deg: 0.0025 deg
E-03 tool: tool speed 1000 mm/s: 779.6 mm/s
E-13 base: upper limit 90 deg after a stop from here: -1484 deg, sample 1; allowed: 90 deg
""",
    back_from_beyond: """
E-02 base: lower limit -88 deg; it starts 1 deg beyond and may go no further out: -1 deg
E-02 base: lower limit -88 deg; it starts 1 deg beyond and may go no further out: 0 deg
E-02 gripper: lower limit 0.5 mm: 9.5 mm
E-03 base: at rest at the end: 1.2 deg/s: 1.089 deg/s
E-03 base: rounding to the wire, half a step of 0.125 deg: 0.0001772 deg
E-03 tool: tool speed 1000 mm/s: 779.6 mm/s
E-13 base: lower limit -90 deg after a stop from here: 1 deg
E-13 base: no further beyond its soft limit during a stop from here: 0 deg
"""
    + REST,
}
"""What is told of each, besides what is told of all; the sample of a margin is left out, since many have the same."""


@pytest.mark.parametrize("motion", TOLD, ids=lambda motion: motion.__name__)
def test_every_number_that_is_told_of_a_motion_is_right(motion) -> None:
    findings = check_motion(RIG, ROBOT, motion())
    told = [f"{m.check} {m.subject}: {m.limit}: {m.margin:.4g} {m.unit}" for m in findings.margins]
    told += [
        f"{r.check} {r.subject}: {r.limit}: {r.margin:.4g} {r.unit}, sample {r.sample}; allowed: {r.nearest_allowed}"
        for r in findings.refusals
    ]
    assert sorted(told) == sorted(line for line in (TOLD[motion] + ALWAYS).splitlines() if line)
