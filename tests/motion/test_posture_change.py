"""Paths on which the arm rests for another posture, because the one that it has does not lead on."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from command_line import Terminal

import hil
from hil.motion.motion import Motion
from hil.motion.planner import plan_task
from hil.motion.posture_change import changes_of
from hil.motion.tasks import task_from_table
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.safety.checker import check_motion
from hil.units import DEG, MM

RIG = hil.load_rig("puma560")
ARM = Robot(RIG.robot)
HEIGHT_M = float(ARM.forward_kinematics(np.array([0.0, 0.0, 0.0, 0.0, 45.0, 0.0]) * DEG)[2, 3])
WORDS = re.compile(
    r"step 1: another posture at \((.+), (.+), (.+)\) mm, (\d+) % of the arc: in (.+) s, the tool up to (\d+) mm off"
)


def round_the_base(angle_deg: float, policy: str) -> str:
    """An arc about the base: one wrist comes to its limit after a good quarter of a turn."""
    start = "".join(f"J{k} = {45.0 if k == 5 else 0.0}\n" for k in range(1, 7))
    return (
        f'title = "t"\n[start.joints_deg]\n{start}[[step]]\ndo = "arc"\ncentre_mm = [0, 0, {HEIGHT_M / MM}]\n'
        f'angle_deg = {angle_deg}\nsingularity = "{policy}"\n'
    )


@cache
def planned(angle_deg: float, policy: str = "change") -> Motion:
    return plan_task(RIG, ARM, task_from_table(tomllib.loads(round_the_base(angle_deg, policy)), "t.toml"))


@pytest.mark.parametrize(("angle_deg", "kinds"), [(200.0, "asa"), (340.0, "asasa")])
def test_the_arm_rests_on_the_path_for_another_posture_and_goes_all_of_it(angle_deg: float, kinds: str) -> None:
    motion = planned(angle_deg)
    assert check_motion(RIG, ARM, motion).refusals == ()
    assert "".join(mark.kind[0] for mark in motion.marks) == kinds
    poses = ARM.forward_kinematics(motion.samples[:, :6])
    radius_m = np.linalg.norm(poses[0, :2, 3])
    turned = 0.0
    for mark in motion.marks:
        rows = poses[mark.first : mark.last + 1]
        if mark.kind == "arc":
            assert np.linalg.norm(rows[:, :2, 3], axis=1) == pytest.approx(radius_m, abs=1e-8)
            turned += float(np.abs(np.diff(np.unwrap(np.arctan2(rows[:, 1, 3], rows[:, 0, 3])))).sum())
        else:
            assert rows[-1] == pytest.approx(rows[0], abs=1e-8)
            still = motion.samples[[mark.first - 1, mark.first, mark.last, mark.last + 1], :6]
            assert np.abs(still[1] - still[2]).max() > 1.0
            steps = np.abs(np.diff(still, axis=0))[[0, 2]]
            assert steps.max() <= max(axis.jerk for axis in RIG.axes[:6]) * RIG.period_s**3
    assert turned == pytest.approx(angle_deg * DEG, abs=1e-6)


def test_the_place_and_the_cost_that_are_told_are_those_of_the_samples() -> None:
    motion = planned(200.0)
    (words,) = changes_of(motion)
    found = WORDS.match(words)
    assert found is not None
    mark = next(mark for mark in motion.marks if mark.kind == "solution")
    points = ARM.forward_kinematics(motion.samples[mark.first : mark.last + 1, :6])[:, :3, 3]
    *place, part, seconds, away = (float(text) for text in found.groups())
    assert points[0] / MM == pytest.approx(np.array(place), abs=0.06)
    start = ARM.forward_kinematics(motion.samples[0, :6])[:3, 3]
    turned = np.arctan2(points[0, 1], points[0, 0]) - np.arctan2(start[1], start[0])
    assert part == pytest.approx(100.0 * turned / (200.0 * DEG), abs=0.6)
    assert seconds == pytest.approx((mark.last - mark.first) * RIG.period_s, abs=0.06)
    assert away == pytest.approx(np.linalg.norm(points - points[0], axis=1).max() / MM, abs=0.6)


def test_a_refusal_tells_where_and_at_what_cost_another_posture_would_lead_on() -> None:
    with pytest.raises(RefusedError) as caught:
        planned(200.0, "refuse")
    (found,) = caught.value.refusals
    (words,) = changes_of(planned(200.0))
    place, cost = words.removeprefix("step 1: another posture at ").split(" of the arc: ")
    assert found.check == "E-02" and found.subject == "J4"
    assert f'set singularity = "change", which takes another posture at {place} of the way, {cost}.' in found.advice


def test_a_path_that_needs_no_other_posture_has_the_samples_that_it_had() -> None:
    assert planned(60.0).digest == planned(60.0, "refuse").digest
    assert changes_of(planned(60.0)) == []


def test_where_no_posture_leads_on_the_answer_is_a_refusal_that_says_so() -> None:
    text = (
        'title = "t"\nstart = "home"\n[[step]]\ndo = "move"\nto_mm = [260, 25, 140]\npitch_deg = -45\n[[step]]\n'
        'do = "arc"\ncentre_mm = [0, 25, 140]\nangle_deg = 200\npitch_deg = -45\nsingularity = "change"\n'
    )
    lynx = hil.load_rig("lynx6")
    with pytest.raises(RefusedError) as caught:
        plan_task(lynx, Robot(lynx.robot), task_from_table(tomllib.loads(text), "t.toml"))
    (found,) = caught.value.refusals
    assert found.check == "E-02" and found.advice.endswith(
        "No other posture at rest leads on from there, or those that do leave a soft limit."
    )


def test_a_preview_says_where_the_arm_will_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "round.toml").write_text(round_the_base(200.0, "change"), "utf-8")
    outcome = Terminal(tmp_path, monkeypatch, capsys).run("preview", "puma560", "round.toml")
    assert outcome.code == 0
    assert WORDS.match(outcome.text)
