"""Steps along paths, from their text to samples that the check has passed."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest

import hil
from hil.errors import ConfigError, ConfigErrors
from hil.kinematics.along import Targets
from hil.model.rig import AxisKind
from hil.motion import path_plan
from hil.motion.motion import Motion
from hil.motion.planner import plan_task
from hil.motion.profiles import usage
from hil.motion.recording import Recording, read_recording, recording_text
from hil.motion.tasks import Task, task_from_table
from hil.paths.timing import time_on_path
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.runtime.wiring import load_rig
from hil.safety.checker import check_motion
from hil.units import DEG, MM

RIG = load_rig("lynx6")
ROBOT = Robot(RIG.robot)
HEAD = 'title = "t"\nstart = "home"\n[[step]]\ndo = "move"\nto_mm = [260, 25, 140]\npitch_deg = -45\n'
CIRCLE = '[[step]]\ndo = "arc"\ncentre_mm = [260, 0, 140]\nangle_deg = 360\n'
CENTRE = np.array([260.0, 0.0, 140.0]) * MM


def task(text: str, folder: Path | None = None) -> Task:
    return task_from_table(tomllib.loads(text), "t.toml", folder)


@cache
def planned(text: str) -> Motion:
    """The motion of a task; what is planned is what the check passes."""
    motion = plan_task(RIG, ROBOT, task(HEAD + text))
    assert check_motion(RIG, ROBOT, motion).refusals == ()
    assert usage(RIG, motion.samples).max() <= 1.0
    return motion


def refusals(text: str, head: str = HEAD):
    with pytest.raises(RefusedError) as caught:
        plan_task(RIG, ROBOT, task(head + text))
    return caught.value.refusals


def fault(text: str) -> str:
    with pytest.raises((ConfigError, ConfigErrors)) as caught:
        plan_task(RIG, ROBOT, task(HEAD + text))
    return str(caught.value)


def tool_m(motion: Motion, step: int = 2) -> np.ndarray:
    marks = [mark for mark in motion.marks if mark.step == step]
    rows = motion.samples[marks[0].first : marks[-1].last + 1, : ROBOT.dof]
    return ROBOT.forward_kinematics(rows)[:, :3, 3]


# -- arcs and curves --------------------------------------------------------------------------------------


def test_every_sample_of_a_circle_is_on_it_and_it_ends_where_it_began() -> None:
    """Feature S1-20: program mode with circular motion."""
    points = tool_m(planned(CIRCLE + "speed_mm_s = 60\n"))
    assert np.linalg.norm(points - CENTRE, axis=1) == pytest.approx(np.full(len(points), 0.025), abs=1e-9)
    assert points[:, 2] == pytest.approx(np.full(len(points), 0.140), abs=1e-9)
    assert points[-1] == pytest.approx(points[0], abs=1e-9)


def test_the_tool_keeps_its_speed_on_a_circle_between_the_ramps() -> None:
    points = tool_m(planned(CIRCLE + "speed_mm_s = 30\n"))
    speeds = np.linalg.norm(np.diff(points, axis=0), axis=1) / RIG.period_s
    cruise = speeds[12:-12]
    assert cruise.max() <= 0.03 and np.ptp(cruise) / 0.03 < 1e-3


@pytest.mark.parametrize("compiled", [False, True])
def test_paths_of_a_compiled_robot_are_timed_by_machine_code_and_no_others(compiled, monkeypatch) -> None:
    asked = []

    def recorded(joints, length_m, limits, *, compiled):
        asked.append(compiled)
        return time_on_path(joints, length_m, limits)

    monkeypatch.setattr(path_plan, "time_on_path", recorded)
    monkeypatch.setattr(Robot, "is_compiled", compiled)
    plan_task(RIG, ROBOT, task(HEAD + CIRCLE))
    assert set(asked) == {compiled}


@pytest.mark.parametrize(
    "step",
    [
        'do = "arc"\nthrough_mm = [270, 0, 150]\nto_mm = [260, -25, 140]\n',
        'do = "spline"\nthrough_mm = [[275, 0, 150], [260, -25, 135], [250, 0, 140]]\nclosed = true\n',
        'do = "curve"\npitch_deg = -45\n[step.curve]\ntitle = "e"\nx = "265 + 20*cos(u)"\ny = "20*sin(u)"\n'
        'z = "140 + 10*sin(u)"\nparameters.u = { start = 0, end = 360, unit = "deg" }\n',
    ],
)
def test_a_motion_carries_where_the_tool_has_to_be_and_the_check_measures_against_it(step: str) -> None:
    motion = planned("[[step]]\n" + step)
    (path,) = motion.paths
    points = ROBOT.forward_kinematics(motion.samples[path.first : path.last + 1, :5])[:, :3, 3]
    assert points == pytest.approx(path.points_m[::2], abs=1e-9)
    shifted = path.points_m.copy()
    shifted[20, 1] += 1.5e-3
    moved = Motion(
        motion.axes,
        motion.period_s,
        motion.samples,
        motion.marks,
        paths=[type(path)(first=path.first, last=path.last, tolerance_m=path.tolerance_m, points=shifted.tobytes())],
    )
    found = check_motion(RIG, ROBOT, moved).refusals
    assert {each.check for each in found} == {"E-06"}
    assert found[0].sample == path.first + 10


def test_a_motion_with_paths_is_read_back_from_its_bytes_and_one_without_has_the_bytes_of_before() -> None:
    motion = planned(CIRCLE)
    again = Motion.from_bytes(motion.to_bytes())
    assert again.paths == motion.paths and again.digest == motion.digest
    assert b"paths" not in Motion(motion.axes, motion.period_s, motion.samples).to_bytes()


def test_three_points_on_a_line_are_refused_with_the_step_and_the_distance() -> None:
    said = fault('[[step]]\ndo = "arc"\nthrough_mm = [260, 0, 140]\nto_mm = [260, -25, 140]\n')
    assert said.startswith("t.toml: step 2.through_mm: [260.0, 0.0, 140.0] given; allowed: more than 0.001 mm off")
    assert "The three points of an arc are on one line" in said


def test_an_arc_out_of_reach_is_refused_with_the_place_on_it() -> None:
    (found,) = refusals('[[step]]\ndo = "arc"\ncentre_mm = [260, 200, 140]\nangle_deg = 90\n')
    assert (found.check, found.place) == ("E-02", "step 2 (arc)") or found.check == "E-07"
    assert "% of the way" in found.limit


def test_a_hand_that_shall_follow_a_circle_is_refused_in_degrees_on_five_axes() -> None:
    (found,) = refusals(CIRCLE + 'orientation = "along"\n')
    assert found.check == "E-07" and found.unit == "deg"
    assert "5 axes cannot take this orientation" in found.limit and "the tool axis would still be 9" in found.limit
    assert found.nearest_allowed.startswith("orientation_tolerance_deg = 9")


def test_a_path_that_begins_with_another_hand_says_by_how_many_degrees() -> None:
    low = HEAD.replace("[260, 25, 140]", "[205, 10, 60]").replace("-45", "-80")
    circle = '[[step]]\ndo = "arc"\ncentre_mm = [205, 0, 60]\nangle_deg = 90\norientation = "ground"\n'
    (found,) = refusals(circle, low)
    assert found.limit == "the arc begins 10.00 deg from how the arm stands"


def test_a_curve_is_gone_with_the_pitch_that_suits_all_of_it() -> None:
    """With the hand level, as the arm stands at first, this word is out of reach."""
    word = '[step.curve]\ntitle = "w"\ntext = "HIL"\nheight_mm = 20\nlift_mm = 5\n'
    place = "place = { shift_mm = [275, 20, 140], turn_deg = [0, 0, -90] }\n"
    motion = planned('[[step]]\ndo = "curve"\n' + word + place)
    assert len(motion.paths) > 10
    pitches = [ROBOT.tool_target(row.tolist()).pitch_rad for row in motion.samples[motion.paths[0].first :: 40, :5]]
    assert np.ptp(pitches) < 1e-9


def test_a_curve_backwards_visits_the_same_places_from_its_end() -> None:
    curve = 'do = "curve"\npitch_deg = -45\n{}[step.curve]\ntitle = "e"\nx = "250 + u"\ny = "20*sin(u/8)"\nz = "140"\n'
    ends = "parameters.u = { start = 0, end = 25 }\n"
    there, back = (planned("[[step]]\n" + curve.format(way) + ends) for way in ("", "backwards = true\n"))
    first, last = there.paths[0].points_m[[0, -1]]
    assert back.paths[0].points_m[[0, -1]] == pytest.approx(np.array([last, first]), abs=1e-9)


def test_a_line_that_one_place_slows_down_is_slow_there_alone() -> None:
    start = '[[step]]\ndo = "move"\nto_mm = [290, -40, 100]\npitch_deg = -50\n'
    motion = planned(start + '[[step]]\ndo = "line"\nto_mm = [250, 50, 120]\n')
    points = tool_m(motion, 3)
    assert len(points) - 1 == 52  # 81 where the whole line takes the speed of its slowest place
    away = points - points[0]
    way = points[-1] - points[0]
    assert np.linalg.norm(np.cross(away, way), axis=1).max() / np.linalg.norm(way) < 1e-9


def through_a_straight_wrist(policy: str) -> str:
    """A way of a PUMA 560 on which the wrist passes 0.02 deg from straight, half-way."""
    middle = PUMA.forward_kinematics(np.array([10.0, -20.0, 20.0, 20.0, 0.02, 10.0]) * DEG)
    way = np.array([0.0, 0.06, 0.0])
    back = middle[:3, 3] - np.linspace(0.0, 1.0, 200)[:, None] * way
    rotations = np.repeat(middle[None, :3, :3], 200, axis=0)
    seed = (np.array([10.0, -20.0, 20.0, 20.0, 0.02, 10.0]) * DEG).tolist()
    start = PUMA.inverse_kinematics_along(Targets(back, rotations=rotations), seed).rows[-1] / DEG
    joints = "".join(f"J{k} = {value!r}\n" for k, value in enumerate(start.tolist(), start=1))
    ends = [((middle[:3, 3] + part * way) / MM).tolist() for part in (0.001, 1.0)]
    step = f'[[step]]\ndo = "spline"\nthrough_mm = {ends}\nspeed_mm_s = 100\ntolerance_mm = 3\n'
    return f'title = "t"\n[start.joints_deg]\n{joints}{step}singularity = "{policy}"\n'


PUMA_RIG = hil.load_rig("puma560")
PUMA = Robot(PUMA_RIG.robot)


def test_a_path_past_a_singular_posture_is_refused_with_the_place_and_what_leaving_it_would_cost() -> None:
    with pytest.raises(RefusedError) as caught:
        plan_task(PUMA_RIG, PUMA, task(through_a_straight_wrist("refuse")))
    (found,) = caught.value.refusals
    assert found.check == "E-05" and "50 % of the way" in found.nearest_allowed
    assert 'Or set singularity = "leave", which leaves the spline by up to ' in found.advice


def test_a_path_may_be_left_within_its_tolerance_and_no_farther() -> None:
    motion = plan_task(PUMA_RIG, PUMA, task(through_a_straight_wrist("leave")))
    assert check_motion(PUMA_RIG, PUMA, motion).refusals == ()
    (path,) = motion.paths
    points = PUMA.forward_kinematics(motion.samples[path.first : path.last + 1, :6])[:, :3, 3]
    off = np.linalg.norm(points - path.points_m[::2], axis=1)
    assert 1e-6 < off.max() <= 3e-3 and off[0] < 1e-9 and off[-1] < 1e-9


# -- seams ------------------------------------------------------------------------------------------------

CORNER = '[[step]]\ndo = "line"\nto_mm = [260, -25, 140]\n{}[[step]]\ndo = "line"\nto_mm = [260, -25, 165]\n'


def test_a_blended_corner_is_rounded_within_its_distance_and_saves_time() -> None:
    sharp, round_ = planned(CORNER.format("")), planned(CORNER.format("blend_mm = 10\n"))
    corner = np.array([0.260, -0.025, 0.140])
    off = [
        np.linalg.norm(ROBOT.forward_kinematics(m.samples[:, :5])[:, :3, 3] - corner, axis=1).min()
        for m in (sharp, round_)
    ]
    assert off[0] < 1e-9 < off[1] <= 10e-3
    assert len(round_) < len(sharp)
    assert [mark.kind for mark in round_.marks] == ["joint", "line", "joint", "line"]
    assert round_.end == pytest.approx(sharp.end, abs=1e-12)


def test_two_joint_moves_blend_within_degrees() -> None:
    text = '[[step]]\ndo = "move"\nby_deg = {{ base = 30 }}\n{}[[step]]\ndo = "move"\nby_deg = {{ elbow = 15 }}\n'
    sharp, round_ = planned(text.format("")), planned(text.format("blend_deg = 5\n"))
    goal = sharp.samples[[mark.last for mark in sharp.marks if mark.step == 2][-1], :5]
    near = np.abs(round_.samples[:, :5] - goal).max(axis=1).min()
    assert 1e-3 < near <= 5 * DEG
    assert len(round_) < len(sharp)


def test_steps_without_a_blend_come_to_rest_between_them() -> None:
    motion = planned(CORNER.format(""))
    seam = next(mark.last for mark in motion.marks if mark.step == 2)
    steps = np.abs(np.diff(motion.samples[seam - 1 : seam + 2], axis=0))
    assert steps.max() <= max(axis.jerk for axis in RIG.axes[:5]) * RIG.period_s**3


# -- textbook profiles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["cubic", "quintic", "trapezoid", "blended"])
def test_a_profile_of_a_textbook_keeps_the_limits_and_rests_at_both_ends(profile: str) -> None:
    """Feature S1-21: joint motion smooth between initial and final angles; limits respected at every sample."""
    motion = planned(f'[[step]]\ndo = "move"\nby_deg = {{ base = 30 }}\nprofile = "{profile}"\n')
    base = motion.samples[motion.marks[-1].first :, 0]
    assert base[-1] - base[0] == pytest.approx(30 * DEG, abs=1e-12)
    part = (base - base[0]) / (30 * DEG)
    assert part + part[::-1] == pytest.approx(np.ones(len(part)), abs=0.02)
    assert (np.diff(part) >= 0.0).all()


def test_a_profile_takes_the_seconds_asked_for_or_says_how_many_it_needs() -> None:
    step = '[[step]]\ndo = "move"\nby_deg = {{ base = 30 }}\nprofile = "quintic"\nseconds = {}\n'
    motion = planned(step.format(4))
    assert motion.marks[-1].last - motion.marks[-1].first == 200
    (found,) = refusals(step.format(0.5))
    assert found.check == "E-03" and found.nearest_allowed.startswith("about ")


# -- points, repeats, postures ------------------------------------------------------------------------------


def test_taught_points_are_visited_in_their_order_in_every_cycle() -> None:
    """Feature S1-18: playback visits every taught pose within tolerance, in order, any number of cycles."""
    points = [[270, 0, 150], [260, -25, 140], [250, 0, 140]]
    motion = planned(f'[[step]]\ndo = "points"\nto_mm = {points}\npitch_deg = -45\ncycles = 3\n')
    visited = [motion.samples[mark.last] for mark in motion.marks if mark.step == 2]
    reached = ROBOT.forward_kinematics(np.array(visited)[:, :5])[:, :3, 3] / MM
    assert reached == pytest.approx(np.array(points * 3), abs=1e-6)
    assert [mark.label for mark in motion.marks][1:3] == ["point 1, cycle 1", "point 2, cycle 1"]


def test_points_of_a_list_are_read_with_their_names(tmp_path: Path) -> None:
    """Feature S5-08: names P1.., duplicate refused."""
    rig = load_rig("rv2aj")
    robot = Robot(rig.robot)
    lines = [
        "DEF POS P1=(300.00,0.00,300.00,0.00,180.00,0.00)(6,0)",
        "' between",
        "DEF POS P2=(260,40,300,0,180,0)(6,0)",
    ]
    (tmp_path / "a.pos").write_text("\n".join(lines), encoding="utf-8")
    text = 'title = "t"\n[[step]]\ndo = "points"\nfile = "a.pos"\n'
    motion = plan_task(rig, robot, task(text, tmp_path))
    assert [mark.label for mark in motion.marks] == ["P1", "P2"]
    ends = robot.forward_kinematics(np.array([motion.samples[mark.last] for mark in motion.marks]))
    assert ends[:, :3, 3] / MM == pytest.approx(np.array([[300, 0, 300], [260, 40, 300]]), abs=1e-6)
    assert ends[:, 2, 2] == pytest.approx([-1.0, -1.0])
    (tmp_path / "a.pos").write_text("\n".join([*lines, lines[0]]), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"line 4: 'P1' given; allowed: every name once"):
        task(text, tmp_path)
    (tmp_path / "a.pos").write_text(lines[0].replace("300.00", "1e308", 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"line 1: 1e\+308 given; allowed: -100000 to 100000"):
        task(text, tmp_path)


def test_steps_repeat_as_often_as_is_said() -> None:
    up_and_down = '[[step.step]]\ndo = "line"\nby_mm = [0, 0, 10]\n[[step.step]]\ndo = "line"\nby_mm = [0, 0, -10]\n'
    motion = planned('[[step]]\ndo = "repeat"\ntimes = 3\n' + up_and_down)
    heights = ROBOT.forward_kinematics(np.array([motion.samples[m.last] for m in motion.marks])[:, :5])[:, 2, 3] / MM
    assert heights == pytest.approx([140, 150, 140, 150, 140, 150, 140], abs=1e-6)


def test_a_posture_is_changed_with_the_tool_back_at_its_place_and_checked_as_any_motion() -> None:
    """Feature S2-10: end poses equal; the path between is no constant-pose path, and is checked as any other."""
    rig = load_rig("kuka-kr5-arc")
    robot = Robot(rig.robot)
    text = (
        'title = "t"\n[start.joints_deg]\njoint1 = 0\njoint2 = 60\njoint3 = 20\njoint4 = 40\njoint5 = 50\njoint6 = 10\n'
        '[[step]]\ndo = "solution"\nnumber = {}\n'
    )
    names = [axis.name for axis in rig.axes]
    text = text.replace("joint1", names[0])
    for k in range(1, 6):
        text = text.replace(f"joint{k + 1}", names[k])
    changed = 0
    for number in range(1, 9):
        try:
            motion = plan_task(rig, robot, task(text.replace("{}", str(number))))
        except RefusedError:
            continue
        poses = robot.forward_kinematics(motion.samples[:, : robot.dof])
        assert poses[-1] == pytest.approx(poses[0], abs=1e-8)
        changed += len(motion) > 1 and np.abs(poses - poses[0]).max() > 1e-3
    assert changed >= 1


def test_a_posture_that_is_not_there_lists_those_that_are() -> None:
    (found,) = refusals('[[step]]\ndo = "solution"\nposture = "elbow sideways"\n')
    assert "posture 'elbow sideways' does not exist" in found.limit
    assert "front, elbow up" in found.nearest_allowed and "back, elbow down" in found.nearest_allowed


# -- recordings ---------------------------------------------------------------------------------------------


def recording_of(samples: np.ndarray) -> str:
    """The file of these samples of the rig."""
    names = tuple(axis.name for axis in RIG.axes)
    units = tuple("rad" if axis.kind is AxisKind.REVOLUTE else "m" for axis in RIG.axes)
    rows = np.ascontiguousarray(samples, dtype="<f8").tobytes()
    return recording_text(Recording(rig=RIG.id, period_s=RIG.period_s, axes=names, units=units, rows=rows))


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, Motion]:
    motion = planned(CIRCLE + "speed_mm_s = 60\n")
    text = recording_of(motion.samples)
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    return tmp_path, motion


def replayed(folder: Path, keys: str = "") -> Motion:
    text = f'title = "t"\nstart = "home"\n[[step]]\ndo = "replay"\nfile = "r.csv"\n{keys}'
    motion = plan_task(RIG, ROBOT, task(text, folder))
    assert check_motion(RIG, ROBOT, motion).refusals == ()
    return motion


def test_a_recording_is_played_back_sample_for_sample(recorded) -> None:
    """Feature S1-19: the replayed joint log equals the recorded log sample for sample."""
    folder, motion = recorded
    assert (replayed(folder).samples == motion.samples).all()
    assert (read_recording(folder / "r.csv").samples == motion.samples).all()


def test_a_recording_is_played_back_backwards_and_the_arm_goes_to_its_end_first(recorded) -> None:
    folder, motion = recorded
    back = replayed(folder, "backwards = true\n")
    assert (back.samples[-len(motion) :] == motion.samples[::-1]).all()
    assert [mark.kind for mark in back.marks] == ["joint", "replay"]


def test_a_recording_at_half_speed_takes_twice_the_time_on_the_same_way(recorded) -> None:
    folder, motion = recorded
    slow = replayed(folder, "speed_percent = 50\n")
    assert len(slow) - 1 == 2 * (len(motion) - 1)
    assert slow.samples[::2] == pytest.approx(motion.samples, abs=1e-12)
    assert usage(RIG, slow.samples)[0].max() == pytest.approx(0.5 * usage(RIG, motion.samples)[0].max(), rel=0.02)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# rig = lynx6", "# rig = al5d", "rig: 'al5d' given; allowed: \"lynx6\", the rig in use"),
        ("shoulder_rad", "sholder_rad", "axes: 'base, sholder, "),
        ("# period_s = 0.02", "# period_s = -1", "period_s: '-1' given; allowed: 0.0001 to 1"),
        ("# rig = lynx6\n", "", "rig: nothing given; allowed: a line '# rig = ...'"),
        ("\n0.0,", "\nnan,", "row 1: 'nan,"),
        ("\n0.0,", '\n"0.0,', "row 1: '\"0.0,"),
        ("\n0.0,", f"\n{'9' * 200_000},", "row 1: '9999"),
    ],
)
def test_a_recording_of_another_rig_or_a_broken_one_is_refused_in_one_sentence(recorded, old, new, said) -> None:
    folder, _ = recorded
    text = (folder / "r.csv").read_text(encoding="utf-8")
    assert old in text
    (folder / "r.csv").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        replayed(folder)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_recording_with_a_mark_that_an_editor_put_before_it_is_the_same(recorded) -> None:
    folder, motion = recorded
    text = (folder / "r.csv").read_text(encoding="utf-8")
    (folder / "r.csv").write_text(text, encoding="utf-8-sig")
    assert (replayed(folder).samples == motion.samples).all()


@pytest.mark.parametrize("mm_s", [2, 60])
@pytest.mark.parametrize(("part", "said"), [("first", "this one ends at "), ("last", "this one begins at ")])
def test_a_recording_that_breaks_off_in_mid_motion_is_refused_however_slow_it_is(
    tmp_path: Path, mm_s: int, part: str, said: str
) -> None:
    samples = planned(f"{CIRCLE}speed_mm_s = {mm_s}\n").samples
    middle = len(samples) // 2
    half = samples[:middle] if part == "first" else samples[middle:]
    (tmp_path / "r.csv").write_text(recording_of(half), encoding="utf-8")
    with pytest.raises(RefusedError) as caught:
        replayed(tmp_path)
    (found,) = caught.value.refusals
    assert said in found.limit and "from rest to rest" in found.advice


def test_a_recording_that_this_rig_is_too_slow_for_is_refused_and_not_stretched(recorded) -> None:
    folder, _ = recorded
    axes = tuple(msgspec.structs.replace(axis, speed=0.3 * axis.speed) for axis in RIG.axes)
    slow = msgspec.structs.replace(RIG, axes=axes)
    with pytest.raises(RefusedError, match=r"needs \d+\.\d\d times as much"):
        plan_task(slow, ROBOT, task('title = "t"\nstart = "home"\n[[step]]\ndo = "replay"\nfile = "r.csv"\n', folder))


# -- what is wrong in a file --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ('do = "arc"\nto_mm = [1, 2, 3]\n', "step 2.through_mm: nothing given; allowed: through_mm and to_mm, or"),
        ('do = "arc"\nto_mm = [1, 2, 3]\ncentre_mm = [1, 2, 4]\n', "step 2.centre_mm: (1.0, 2.0, 4.0) given"),
        (
            'do = "arc"\ncentre_mm = [260, 0, 140]\nangle_deg = 0\n',
            "step 2.angle_deg: 0.0 given; allowed: an angle other",
        ),
        ('do = "arc"\ncentre_mm = [260, 0, 140]\nangle_deg = 9\naxis = [0, 0, 0]\n', "step 2.axis: (0.0, 0.0, 0.0)"),
        ('do = "arc"\ncentre_mm = [260, 0, 140]\nangle_deg = 9\nwhole_circle = true\n', "step 2.whole_circle: True"),
        (
            'do = "spline"\nthrough_mm = [[270, 0, 150], [270, 0, 150]]\n',
            "point 1 and point 2, which follow each other, are one",
        ),
        ('do = "spline"\nthrough_mm = []\n', "step 2.through_mm: [] given"),
        ('do = "spline"\nthrough_mm = [[270, 0, 150]]\norientation = "normal"\n', "step 2.orientation: 'normal' given"),
        ('do = "points"\n', "step 2.to_mm: nothing given; allowed: one of file, to_mm, joints_deg, poses"),
        ('do = "points"\nto_mm = [[1, 2, 3], [1, 2, 3]]\n', "point 1 and point 2, which follow each other"),
        ('do = "points"\nto_mm = [[1, 2, 3]]\ncycles = 0\n', "step 2.cycles: 0 given"),
        ('do = "points"\nposes = [[1, 2, 3, 4, 5, 6]]\n', "step 2.convention: nothing given"),
        ('do = "points"\nfile = "p.pos"\n', "step 2.file: 'p.pos' given; allowed: a task that names no file"),
        ('do = "repeat"\ntimes = 0\n[[step.step]]\ndo = "wait"\nseconds = 1\n', "step 2.times: 0 given"),
        ('do = "repeat"\ntimes = 2\n', "step 2.step: nothing given"),
        ('do = "repeat"\ntimes = 2\n[[step.step]]\ndo = "wiat"\n', "step 2.step 1.do: 'wiat' given"),
        ('do = "solution"\n', "step 2.posture: nothing given; allowed: posture or number"),
        ('do = "replay"\nfile = "r.csv"\n', "step 2.file: 'r.csv' given; allowed: a task that names no file"),
        ('do = "curve"\n', "step 2.file: nothing given; allowed: a curve file"),
        ('do = "curve"\ncurve = { title = "c", x = "u+", y = "u", z = "u" }\n', "step 2.curve"),
        (
            'do = "curve"\nindex = 4\n[step.curve]\ntitle = "f"\nx = "v"\ny = "u"\nz = "140"\nalong = "u"\n'
            "[step.curve.parameters.u]\nstart = 0\nend = 1\n"
            "[step.curve.parameters.v]\nstart = 0\nend = 1\ncount = 3\n",
            "step 2.index: 4 given; allowed: 1 to 3",
        ),
        (
            'do = "move"\nto = "home"\nprofile = "blended"\nseconds = 1\nblend_seconds = 0.6\n',
            "at most 0.5: both blends",
        ),
        ('do = "move"\nto = "home"\nprofile = "cubic"\nblend_seconds = 1\n', "a cubic has no blends"),
        ('do = "move"\nto = "home"\nseconds = 1\n', "step 2.seconds: 1.0 given; allowed: only together with profile"),
        ('do = "move"\nto = "home"\nblend_mm = 0\n', "step 2.blend_mm: 0 given"),
    ],
)
def test_a_step_that_cannot_be_is_told_with_its_key(step: str, said: str) -> None:
    assert said in fault("[[step]]\n" + step)


def test_a_list_that_is_far_too_long_is_not_repeated_in_the_answer() -> None:
    points = ", ".join(f"[{260 + k % 2}, {k % 3}, 140]" for k in range(1001))
    said = fault(f'[[step]]\ndo = "spline"\nthrough_mm = [{points}]\n')
    assert "step 2.through_mm: [[260, 0, 140], [261, 1, 140]," in said
    assert said.endswith(" given; allowed: array of length <= 1000") and len(said) < 500


def test_repeats_within_repeats_end_before_the_computer_does() -> None:
    inner = '[[step.step]]\ndo = "repeat"\ntimes = 1000\n[[step.step.step]]\ndo = "wait"\nseconds = 1\n'
    assert "allowed: at most 10000" in fault('[[step]]\ndo = "repeat"\ntimes = 1000\n' + inner)


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        ("sqrt(u-5)", "u", "outside its domain at u = "),
        ("5", "3", "the curve has no length"),
        ("u^100*1e200", "u", "a slope along u of "),
        ("sin(1e160*u)", "u", "a slope along u of "),
        ("1e9*sin(u)", "u", "m long; allowed: up to 10000 m"),
        ("1e15+u", "u", "1e+12 m; allowed: up to 1e+06 m"),
    ],
)
def test_a_curve_without_a_place_or_a_length_is_told_by_its_file(tmp_path: Path, x: str, y: str, said: str) -> None:
    """The key is that of the step, what was given is what stands there, and the curve's own words follow."""
    file = f'title = "d"\nx = "{x}"\ny = "{y}"\nz = "1"\n[parameters.u]\nstart = 0\nend = 10\n'
    (tmp_path / "d.toml").write_text(file, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        plan_task(RIG, ROBOT, task('title = "t"\n[[step]]\ndo = "curve"\nfile = "d.toml"\n', tmp_path))
    (first, *_) = str(caught.value).splitlines()
    whole = "t.toml: step 1.file: 'd.toml' given; allowed: a curve that has a place and a direction all along: "
    assert first.startswith(whole) and said in first
