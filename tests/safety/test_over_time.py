"""What a check tells of every sample: the same verdicts, as lines over time and as stretches that fail."""

from __future__ import annotations

from typing import Any

import numpy as np

from hil.motion.motion import Motion
from hil.motion.planner import plan_task
from hil.motion.tasks import task_from_table
from hil.robot import Robot
from hil.runtime.wiring import load_rig
from hil.safety.checker import Findings, check_motion
from hil.safety.findings import without_echoes
from hil.safety.over_time import Judged, OverTime

INTO_THE_TABLE = {
    "title": "too low",
    "step": [
        {"do": "move", "to": "home"},
        {"do": "move", "joints_deg": {"shoulder": 20, "elbow": -30}},
        {"do": "move", "to": "home"},
    ],
}
RIG = load_rig("lynx6")
ROBOT = Robot(RIG.robot)


def _checked(table: dict[str, Any]) -> tuple[Motion, Findings, OverTime]:
    motion = plan_task(RIG, ROBOT, task_from_table(table, "task"))
    over_time = OverTime(len(motion))
    return motion, check_motion(RIG, ROBOT, motion, over_time), over_time


def test_whoever_looks_changes_nothing_of_the_verdict() -> None:
    motion, findings, _ = _checked(INTO_THE_TABLE)
    assert findings == check_motion(RIG, ROBOT, motion)
    assert findings.refusals


def test_every_refusal_of_a_sample_lies_in_a_stretch_that_begins_with_it() -> None:
    _, findings, over_time = _checked(INTO_THE_TABLE)
    begins = {(each.check, each.subject, each.first) for each in over_time.stretches()}
    assert {(each.check, each.subject, each.sample) for each in findings.refusals} <= begins


def test_a_stretch_names_the_worst_of_its_samples() -> None:
    _, _, over_time = _checked(INTO_THE_TABLE)
    tracks = {(track.check, track.group): track for track in over_time.tracks()}
    table = tracks["E-10", "table"].margins
    stretch = next(each for each in over_time.stretches() if each.check == "E-10")
    inside = slice(stretch.first, stretch.last + 1)
    assert (table[inside] < 0.0).all()
    assert table[stretch.first - 1] >= 0.0 and table[stretch.last + 1] >= 0.0
    assert stretch.margin == table[inside].min() == table[stretch.worst]


def test_a_motion_that_passes_has_no_stretches_and_its_tightest_margins_in_the_tracks() -> None:
    motion, findings, over_time = _checked({"title": "fine", "step": [{"do": "move", "to": "home"}]})
    assert not findings.refusals and not over_time.stretches()
    lowest = {(track.check, track.group): np.nanmin(track.margins) for track in over_time.tracks()}
    distances = [each for each in findings.margins if each.check in ("E-09", "E-10")]
    assert distances
    for margin in distances:
        groups = [value for (check, _), value in lowest.items() if check == margin.check]
        assert min(abs(value - margin.margin) for value in groups) < 1e-9
    assert all(len(track.margins) == len(motion) for track in over_time.tracks())


def test_stops_that_meet_what_the_motion_meets_anyway_are_told_once() -> None:
    _, _, over_time = _checked(INTO_THE_TABLE)
    told = without_echoes(over_time.stretches())
    assert {each.check for each in told} == {"E-10"}


def test_the_smaller_of_two_margins_is_kept_with_whom_it_is_of() -> None:
    over_time = OverTime(3)
    for subject, margins in (("one", [3.0, 1.0, 2.0]), ("two", [2.0, 2.0, 2.5])):
        over_time.take(Judged("E-09", subject, "arm", np.array(margins), None, "mm", "", ""))
    track = over_time.tracks()[0]
    assert track.margins.tolist() == [2.0, 1.0, 2.0]
    assert [track.subjects[k] for k in track.which] == ["two", "one", "one"]


def test_samples_that_were_not_judged_are_not_known() -> None:
    over_time = OverTime(4)
    over_time.take(Judged("E-06", "tool", "line", np.array([1.0, -1.0]), np.array([1, 3]), "mm", "", ""))
    margins = over_time.tracks()[0].margins
    assert np.isnan(margins[[0, 2]]).all() and margins[[1, 3]].tolist() == [1.0, -1.0]
    assert [(each.first, each.last) for each in over_time.stretches()] == [(3, 3)]
