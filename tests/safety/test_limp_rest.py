"""Where a limp arm comes to rest on paper, held against what can be worked out by hand."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.model.rig import Rig
from hil.robot import Robot
from hil.runtime.wiring import load_rig
from hil.space.body import Body
from hil.space.gravity_load import SINKS_N_M, GravityLoad
from hil.space.limp_rest import limp_rest, words
from hil.units import DEG

RIG = load_rig("lynx6")
BASE, SHOULDER, ELBOW, WRIST = range(4)


def deg(*angles: float) -> tuple[float, ...]:
    return (*(angle * DEG for angle in angles), 0.01)


def in_the_air(rig: Rig) -> Rig:
    """The arm on a pole: nothing below it but its own stops."""
    fences = msgspec.structs.replace(rig.fences, table_height_m=-1.0)
    return msgspec.structs.replace(rig, fences=fences)


def test_the_shipped_park_pose_of_a_lynx6_is_within_eight_degrees_of_its_rest() -> None:
    """Leaning back, the shoulder sinks to its stop at 180 and the wrist to its own at -90. Of the forearm's weight the
    hand's in front carries the balance: 0.016 N m are left, less than the gears hold."""
    rest = limp_rest(RIG, RIG.park)
    assert rest.positions[:4] == pytest.approx(deg(0.0, 180.0, -84.0, -90.0)[:4])
    assert (rest.held_by[SHOULDER], rest.held_by[ELBOW], rest.held_by[WRIST]) == ("stop", "friction", "stop")
    torque = GravityLoad(RIG).torques(rest.positions)[ELBOW]
    # Forearm at 96, hand at 6 degrees above the level: lever arms of both about the elbow.
    cos96, cos6 = np.cos(96.0 * DEG), np.cos(6.0 * DEG)
    assert torque == pytest.approx(9.81 * (0.207 * 0.038 * cos96 + 0.081 * (0.12 * cos96 + 0.0432 * cos6)), abs=1e-6)
    assert 0.0 < torque < SINKS_N_M
    assert "shoulder at 180 deg by stop (park: 172)" in words(RIG, rest)


def test_an_al5d_needs_its_stand_as_its_file_says() -> None:
    rig = load_rig("al5d")
    rest = limp_rest(rig, rig.park)
    assert rest.positions[SHOULDER] < rig.park[SHOULDER] - 30.0 * DEG
    assert "contact" in rest.held_by
    assert "the arm would sink: shoulder" in words(rig, rest)


def test_in_the_air_a_level_arm_hangs_from_its_stops() -> None:
    """All joints as far down as they go: shoulder at 0, forearm at -90, and the hand below it hardly pulls."""
    rest = limp_rest(in_the_air(RIG), deg(0.0, 20.0, 0.0, 0.0, 0.0))
    assert rest.positions[SHOULDER] == 0.0 and rest.held_by[SHOULDER] == "stop"
    hanging = (rest.positions[SHOULDER] + rest.positions[ELBOW]) / DEG
    assert hanging == pytest.approx(-90.0, abs=25.0)


def test_an_arm_that_lies_on_its_stops_stays() -> None:
    rest = limp_rest(RIG, deg(0.0, 180.0, -84.0, -90.0, 0.0))
    rig = msgspec.structs.replace(
        RIG, axes=tuple(msgspec.structs.replace(a, park=p) for a, p in zip(RIG.axes, rest.positions, strict=True))
    )
    assert words(rig, rest).startswith("let go of there, the arm stays within a degree")


@settings(max_examples=15, deadline=None)
@given(st.tuples(*(st.floats(axis.lower, axis.upper) for axis in RIG.axes)))
def test_it_never_rises_never_drives_into_anything_and_ends_where_something_holds_it(pose: tuple[float, ...]) -> None:
    rest, body, joints = limp_rest(RIG, pose), Body(RIG, Robot(RIG.robot)), slice(0, 5)
    energy = Robot(RIG.robot).dynamics.energy
    still = np.zeros(5)
    before, after = (energy(list(each)[joints], still).potential for each in (pose, rest.positions))
    assert after <= before + 1e-9
    left = body.margins(np.array([pose[joints], rest.positions[joints]])) + body.clearance_m
    solid = [i for i, each in enumerate(body.constraints) if each.check == "E-09" or each.group == "table"]
    assert np.all((left[1, solid] >= 0.0) | (left[1, solid] >= left[0, solid] - 1e-9))
    torques = GravityLoad(RIG).torques(rest.positions)
    for index in range(5):
        assert rest.held_by[index] != "friction" or abs(torques[index]) <= SINKS_N_M
        assert rest.positions[index] == pose[index] or index in (SHOULDER, ELBOW, WRIST)
