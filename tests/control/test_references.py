"""References: the papers' numbers, both ends met, and derivatives that belong together."""

import math

import msgspec
import numpy as np
import pytest
from controlled_arms import TWO, two

import hil
from hil.control.checks import checked
from hil.control.experiment import Kind, Reference
from hil.control.references import sampled
from hil.errors import CommandError
from hil.workbench.recorded_reference import reference_of_file

WAY = Reference(start=(0.0, 10.0), end=(90.0, 70.0), duration_s=2.0)


def at(reference: Reference, *times: float) -> np.ndarray:
    return np.degrees(sampled(reference, TWO)(np.array(times)))


def test_the_cubic_has_the_coefficients_of_the_corrected_paper():
    t = 0.7
    rest = msgspec.structs.replace(WAY, end=(90.0, 10.0))
    assert at(rest, t)[0, 0] == pytest.approx(67.5 * t**2 - 22.5 * t**3)
    moving = Reference(start=(10.0, 10.0), end=(70.0, 70.0), start_speed=(5.0,), end_speed=(-3.0,), duration_s=4.0)
    assert at(moving, t)[0, 0] == pytest.approx(10.0 + 5.0 * t + 9.5 * t**2 - 1.75 * t**3)


@pytest.mark.parametrize(("cruise", "places"), [(36.0, (9.0, 45.0, 81.0)), (33.75, (11.25, 45.0, 78.75))])
def test_constant_speed_between_blends_is_where_the_paper_has_it(cruise, places):
    given = Reference(
        kind=Kind.BLENDED, start=(0.0, 0.0), end=(90.0, 90.0), duration_s=3.0, blend_s=0.5, cruise=(cruise,)
    )
    assert at(given, 0.5, 1.5, 2.5)[:, 0] == pytest.approx(places)


@pytest.mark.parametrize("kind", [Kind.CUBIC, Kind.BLENDED, Kind.QUINTIC, Kind.TRAPEZOID, Kind.JERK_LIMITED])
def test_both_ends_are_met_and_speeds_are_those_of_the_positions(kind):
    given = msgspec.structs.replace(WAY, kind=kind)
    assert at(given, 0.0, -1.0)[:, :2] == pytest.approx(np.array([[0.0, 10.0]] * 2))
    assert at(given, 2.0, 9.0)[:, :2] == pytest.approx(np.array([[90.0, 70.0]] * 2))
    assert at(given, 0.0, 2.0)[:, 2:4] == pytest.approx(np.zeros((2, 2)), abs=1e-9)
    times = np.linspace(0.013, 1.987, 211)
    h = 1e-6
    before, here, after = at(given, *(times - h)), at(given, *times), at(given, *(times + h))
    slopes = (after - before) / (2 * h)
    assert np.abs(slopes[:, :2] - here[:, 2:4]).max() < 1e-3
    joints = np.abs(slopes[:, 2:4] - here[:, 4:]).max(axis=1)
    assert np.sort(joints)[:-8].max() < 1e-2  # a trapezoid's acceleration jumps in a few places


def test_a_jerk_limited_motion_has_no_jump_of_acceleration():
    times = np.linspace(0.0, 2.0, 4001)
    acceleration = at(msgspec.structs.replace(WAY, kind=Kind.JERK_LIMITED, blend_s=0.8), *times)[:, 4]
    assert np.abs(np.diff(acceleration)).max() < 0.5
    assert acceleration.max() > 100.0


def test_blends_that_do_not_fit_and_a_cruise_that_turns_back_are_refused():
    with pytest.raises(CommandError, match="do not fit"):
        checked(two(reference=msgspec.structs.replace(WAY, blend_s=1.1)), TWO)
    fast = msgspec.structs.replace(WAY, kind=Kind.BLENDED, blend_s=0.2, cruise=(200.0,))
    with pytest.raises(CommandError, match=r"J1 turn back.*for example"):
        sampled(fast, TWO)


def test_a_table_of_somebody_s_own_is_followed(tmp_path):
    arm = hil.load_robot("planar-2r")
    times = np.linspace(0.0, 1.0, 51)
    rows = [f"{t:.6f},{30 * math.sin(t) ** 2:.9f},{10 * t * t * (3 - 2 * t):.9f}" for t in times]
    file = tmp_path / "mine.csv"
    file.write_text("\n".join(["time_s,J1_deg,J2_deg", *rows]))
    given = reference_of_file(file, arm)
    assert given.duration_s == pytest.approx(1.0)
    found = np.degrees(sampled(given, arm.model)(np.array([0.511])))[0]
    assert found[0] == pytest.approx(30 * math.sin(0.511) ** 2, abs=1e-4)
    assert found[2] == pytest.approx(30 * math.sin(2 * 0.511), abs=0.05)
    file.write_text("time_s,J1_deg\n0,1\n1,2")
    with pytest.raises(CommandError, match="J2_deg"):
        reference_of_file(file, arm)
    file.write_text("time_s,J1_deg,J2_deg\n0,1,1\n1,2,2\n5,3,3")
    with pytest.raises(CommandError, match="unevenly"):
        reference_of_file(file, arm)


def test_a_task_is_followed_as_its_plan_has_it():
    from hil.motion.planner import plan
    from hil.runtime.wiring import load_rig

    arm = hil.load_robot("lynx6")
    from hil.model.files import find

    motion = plan(load_rig("lynx6"), find("tasks", "wave"))
    given = reference_of_file(find("tasks", "wave"), arm)
    times = np.arange(len(motion)) * motion.period_s
    assert sampled(given, arm.model)(times)[:, :5] == pytest.approx(motion.samples[:, :5], abs=1e-9)
