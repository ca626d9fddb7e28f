"""What is to be seen of a preview: every check over time, in bounded size, for whoever asked for it and nobody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_server import run, served
from tokens_of_people import token

from hil.motion.motion import Mark, Motion
from hil.runtime.wiring import load_rig
from hil.safety.over_time import Judged, OverTime
from hil.service.client import AsyncArm
from hil.service.lab_request import Access
from hil.service.timelines import MOST_SAMPLES, timeline_of
from hil.service.uploads import Job, Shelf, UploadVerdict, judge
from hil.service.wire import Timeline, decode_body

LOW = """title = "too low"
[[step]]
do = "move"
to = "home"
[[step]]
do = "move"
joints_deg = { shoulder = 20, elbow = -30 }
label = "into the table"
"""
FAR = LOW.replace("joints_deg = { shoulder = 20, elbow = -30 }", "to_mm = [900, 0, 100]")
WAVE = 'title = "a wave"\n[[step]]\ndo = "move"\nto = "home"\nspeed_percent = 30\n'


def _seen(text: str, **more: Any) -> tuple[UploadVerdict, Timeline]:
    rig = load_rig("lynx6")
    job = Job(arm="a", language="task", name="t", text=text, start=rig.park, timeline=True, **more)
    verdict = judge({"a": rig}, job)
    return verdict, decode_body(verdict.timeline, Timeline)


def test_a_passing_task_is_there_sample_by_sample_with_all_its_checks() -> None:
    verdict, timeline = _seen(WAVE)
    motion = Motion.from_bytes(verdict.motion)
    assert verdict.ok and timeline.complete and not timeline.failures
    assert timeline.samples == tuple(range(len(motion)))
    assert np.abs(np.array(timeline.positions) - motion.samples).max() < 1e-6
    checks = {lane.check for lane in timeline.lanes}
    assert {"E-02", "E-03", "E-05", "E-09", "E-10", "E-13"} <= checks
    assert all(len(lane.margins) == len(lane.which) == len(timeline.samples) for lane in timeline.lanes)
    assert all(margin is None or margin >= 0.0 for lane in timeline.lanes for margin in lane.margins)
    assert verdict.start == motion.start and len(verdict.start_within) == len(motion.start)


def test_a_refused_motion_is_there_with_where_it_fails() -> None:
    verdict, timeline = _seen(LOW)
    assert not verdict.ok and timeline.complete
    failure = timeline.failures[0]
    assert (failure.check, failure.place) == ("E-10", "step 2 (joint)")
    assert "table" in failure.subject and failure.margin < 0.0
    lane = next(lane for lane in timeline.lanes if lane.name == "table")
    assert lane.margins[failure.worst] == pytest.approx(failure.margin, abs=1e-3)
    assert timeline.stages[1].label == "into the table"


def test_a_task_that_cannot_be_planned_to_its_end_is_there_as_far_as_it_could_be() -> None:
    verdict, timeline = _seen(FAR)
    assert not verdict.ok and not timeline.complete
    assert verdict.refusals[0].check == "E-07"
    assert verdict.refusals[0].sample == timeline.samples[-1]
    assert [stage.place for stage in timeline.stages] == ["step 1 (joint)"]


def test_what_the_token_does_not_allow_is_there_as_well() -> None:
    verdict, timeline = _seen(WAVE, most_share=0.1)
    assert "the token allows 10 %" in verdict.words
    assert timeline.lanes


def test_a_typing_error_has_no_timeline_but_its_line() -> None:
    rig = load_rig("lynx6")
    job = Job(arm="a", language="task", name="t.toml", text=WAVE + "speed percent = 3\n", timeline=True)
    verdict = judge({"a": rig}, job)
    assert "line 6" in verdict.words and not verdict.timeline


def _program(text: str, points: str = "") -> tuple[UploadVerdict, Timeline]:
    rig = load_rig("rv2aj")
    job = Job(arm="a", language="melfa", name="p", text=text, points=points, start=rig.home, timeline=True)
    verdict = judge({"a": rig}, job)
    return verdict, decode_body(verdict.timeline, Timeline)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("30 MVS P1", "variable read before it was set: P1"),
        ("30 IF M_IN(3)=1 THEN 40 ELSE 40", "reads signals"),
        ("30 WAIT M_IN(3)=1", "the program cannot be planned"),
    ],
)
def test_a_program_that_cannot_go_on_is_there_up_to_that_line(last: str, words: str) -> None:
    points = Path("configs/programs/arcs.pos").read_text()
    verdict, timeline = _program(f"10 MOV PA\n20 MVS PB\n{last}\n40 END\n", points)
    assert words in verdict.words and not verdict.ok
    assert not timeline.complete and any("line 20" in stage.place for stage in timeline.stages)
    assert not timeline.failures


def _long(failing: slice, count: int = 30_000) -> tuple[Motion, OverTime]:
    samples = np.linspace(0.0, 1.0, count)[:, None]
    marks = [
        Mark(first=0, last=count // 3, step=1, kind="joint"),
        Mark(first=count // 3, last=count - 1, step=2, kind="joint"),
    ]
    over_time = OverTime(count)
    margins = np.full(count, 5.0)
    margins[failing] = -1.0
    margins[failing.start + 1] = -2.0
    margins[17] = 0.5
    over_time.take(Judged("E-10", "hand and table", "table", margins, None, "mm", "clearance 5 mm", "5 mm apart"))
    return Motion(["one"], 0.02, samples, marks), over_time


def test_a_long_motion_is_thinned_but_no_failing_sample_and_no_extreme_is_left_out() -> None:
    motion, over_time = _long(slice(20_000, 20_400))
    timeline = timeline_of("a", motion, over_time, complete=True)
    assert len(timeline.samples) <= MOST_SAMPLES and list(timeline.samples) == sorted(set(timeline.samples))
    kept = set(timeline.samples)
    assert set(range(20_000, 20_400)) <= kept
    assert {0, 29_999, 10_000, 20_001} <= kept
    assert np.diff(timeline.samples).max() < 3 * 30_000 / MOST_SAMPLES


def test_more_failing_samples_than_fit_leave_the_ends_and_the_worst() -> None:
    motion, over_time = _long(slice(2_000, 28_000))
    timeline = timeline_of("a", motion, over_time, complete=True)
    assert len(timeline.samples) <= MOST_SAMPLES
    assert {2_000, 2_001, 27_999} <= set(timeline.samples)
    failure = timeline.failures[0]
    assert (failure.first, failure.worst, failure.last) == (2_000, 2_001, 27_999)


def test_a_shelf_keeps_the_newest_timelines_for_their_holder_alone() -> None:
    shelf = Shelf()
    for k in range(5):
        shelf.keep("Ada", UploadVerdict(timeline=b"{}", timeline_name=f"{k}"))
    assert shelf.timeline("Ada", "4") == b"{}" and shelf.timeline("Ada", "0") is None
    assert shelf.timeline("Eve", "4") is None
    assert shelf.find("Ada", "4") is None, "a refused motion is not to be run"


@pytest.mark.wall_clock
def test_the_lab_gives_a_timeline_to_whom_it_was_previewed_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            async with AsyncArm(Access(url=lab.url, token=token("Dee")), "arm-1") as arm:
                for text in (WAVE, LOW, FAR):
                    previewed = await arm.preview(text)
                    timeline = await arm.timeline(previewed.timeline)
                    assert timeline.name == previewed.timeline and timeline.arm == "arm-1"
                    assert bool(timeline.failures) is (text is LOW)
                assert previewed.until_epoch_s is None and not previewed.made_for
                path = f"/v1/arms/arm-1/timelines/{previewed.timeline}"
            status, answer = await lab.get(path, headers={"Authorization": f"Bearer {token('Eve')}"})
            assert (status, answer["type"]) == (404, "refused")
            assert "preview it again" in json.dumps(answer)

    run(story)
