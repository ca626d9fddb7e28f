"""The self-test of an arm: what moves, what its reports have to show, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from lab_server import PATIENT, Served, run, served

from hil.model.rig import Rig
from hil.runtime.wiring import load_rig
from hil.service.arm_channel import ArmReport
from hil.service.self_test import SETTLE_S, Ending, Outcome, RunningTest, self_test_task, swings
from hil.service.self_test_results import SelfTests
from hil.service.settings import ArmSettings
from hil.service.uploads import Job, UploadVerdict, judge
from hil.types import Mode, StateSource
from hil.units import DEG

RIG = load_rig("lynx6", calibrated=False)
NOW_S = 1_790_000_000.0


# -- what moves ------------------------------------------------------------------------------------------------------


def _previewed(rig: Rig, pose: tuple[float, ...]) -> UploadVerdict:
    text = self_test_task(rig, pose, 50.0)
    return judge({"a": rig}, Job(arm="a", language="task", name="self-test", text=text, start=pose))


@pytest.mark.parametrize("name", ["lynx6", "rv2aj"])
@pytest.mark.parametrize("pose", ["park", "home"])
def test_it_is_let_through_from_the_poses_of_every_rig_and_ends_where_it_began(name: str, pose: str) -> None:
    from hil.motion.motion import Motion

    rig = load_rig(name, calibrated=False)
    start = rig.park if pose == "park" else rig.home
    verdict = _previewed(rig, start)
    assert verdict.ok, verdict.words
    motion = Motion.from_bytes(verdict.motion)
    assert motion.samples[-1] == pytest.approx(start, abs=1e-9)
    for index, way in enumerate(swings(rig, start)):
        column = [sample[index] for sample in motion.samples]
        assert max(column) - min(column) == pytest.approx(abs(way))


def test_every_axis_goes_towards_the_middle_of_its_range() -> None:
    for edge in ("lower", "upper"):
        pose = [getattr(axis, edge) for axis in RIG.axes]
        for axis, position, way in zip(RIG.axes, pose, swings(RIG, pose), strict=True):
            assert axis.lower <= position + way <= axis.upper
            assert way != 0.0


# -- what its reports have to show -----------------------------------------------------------------------------------

DIGEST = "f0" * 32
BEGUN = f"armed -> streaming: streaming motion {DIGEST[:12]}"


def _report(mode: Mode, reported: tuple[float | None, ...] | None = RIG.park, *events: str) -> ArmReport:
    return ArmReport(
        tick=1, t_s=1.0, sent_s=1.0, mode=mode, sample=None, commanded=RIG.park, setpoint=RIG.park, simulated=RIG.park,
        reported=reported, source=None if reported is None else StateSource.ECHOED, wire_s=0.0, taken=0, ticks=1,
        written_bytes=0, late_s=0.0, work_s=0.0, missed=0, events=events,
    )  # fmt: skip


def _moved(share: float = 1.0) -> tuple[float, ...]:
    return tuple(at + share * way for at, way in zip(RIG.park, swings(RIG, RIG.park), strict=True))


START = _report(Mode.STREAMING, RIG.park, BEGUN)
THERE = _report(Mode.STREAMING, _moved())
REST = _report(Mode.IDLE)
PASSED = Outcome(ending=Ending.PASSED, words="positions echoed")


def _followed(*reports: ArmReport, trouble: str = "", settled: bool = True, called_off: bool = False) -> Outcome | None:
    """What came of it, of reports that are so far apart that each rest is long enough with the second."""
    test = RunningTest(RIG, RIG.park, DIGEST)
    for index, report in enumerate(reports):
        outcome = test.take(report, index * SETTLE_S, trouble, settled=settled, called_off=called_off)
        if outcome is not None:
            return outcome
    return None


def test_reports_that_went_there_and_came_back_pass() -> None:
    assert _followed(START, THERE, REST) is None
    assert _followed(START, THERE, REST, REST) == PASSED


def test_a_motion_that_begins_right_after_it_is_not_taken_for_it() -> None:
    assert _followed(START, THERE, REST, _report(Mode.STREAMING, _moved(3.0))) == PASSED


def test_another_motion_that_was_under_way_says_nothing_about_the_arm() -> None:
    outcome = _followed(_report(Mode.STREAMING, _moved()), _report(Mode.STREAMING), REST, REST)
    assert outcome == Outcome(ending=Ending.BROKEN_OFF, words="the loop did not begin it")


def test_an_axis_whose_reports_do_not_change_fails_and_is_named() -> None:
    outcome = _followed(START, _report(Mode.STREAMING, (RIG.park[0], *_moved()[1:])), REST, REST)
    words = "base was sent 5.0 deg there and back, and its reports changed by 0.0"
    assert outcome == Outcome(ending=Ending.FAILED, words=words)


def test_an_axis_that_does_not_come_back_fails_and_is_named() -> None:
    away = _report(Mode.IDLE, (*RIG.park[:1], RIG.park[1] - 3.0 * DEG, *RIG.park[2:]))
    outcome = _followed(START, THERE, away, away)
    assert outcome is not None
    assert outcome.ending is Ending.FAILED
    assert outcome.words.startswith("shoulder stands at 169.0 deg, and was sent to 172.0")


def test_an_arm_that_reports_nothing_passes_by_running_to_its_end_and_it_is_said() -> None:
    outcome = _followed(*(_report(mode, None, BEGUN) for mode in (Mode.STREAMING, Mode.IDLE, Mode.IDLE)))
    words = "nothing reported of base, shoulder, elbow, wrist, wrist_rotate, gripper"
    assert outcome == Outcome(ending=Ending.PASSED, words=words)


@pytest.mark.parametrize("mode", [Mode.FAULT, Mode.DISCONNECTED, Mode.UNKNOWN_POSE])
def test_a_fault_on_the_way_fails_with_its_words(mode: Mode) -> None:
    outcome = _followed(START, _report(mode), trouble="the board does not answer")
    assert outcome == Outcome(ending=Ending.FAILED, words="the board does not answer")


def test_a_stop_that_the_loop_makes_by_itself_fails_with_its_words() -> None:
    stopping = _report(Mode.STOPPING, RIG.park, "streaming -> stopping: 3 queries without an answer")
    outcome = _followed(START, stopping, _report(Mode.HOLDING))
    assert outcome == Outcome(ending=Ending.FAILED, words="the loop stopped it: 3 queries without an answer")


@pytest.mark.parametrize("mode", [Mode.HOLDING, Mode.ESTOP])
def test_one_that_somebody_stops_says_nothing_about_the_arm(mode: Mode) -> None:
    outcome = _followed(START, _report(Mode.STOPPING), _report(mode), called_off=True)
    assert outcome is not None
    assert outcome.ending is Ending.BROKEN_OFF


def test_what_was_reported_before_the_loop_took_it_is_not_its_end() -> None:
    assert _followed(REST, REST, settled=False) is None


# -- what is kept ----------------------------------------------------------------------------------------------------

FAILED = Outcome(ending=Ending.FAILED, words="base stands still")


def _tests(path: Path | None, *daily: str) -> SelfTests:
    said = list[str]()
    tests = SelfTests(path, frozenset(daily), said.append)
    assert not said
    return tests


def test_nothing_is_said_of_an_arm_that_was_not_tested_and_need_not_be(tmp_path: Path) -> None:
    assert _tests(tmp_path / "tests.json").brief("left", NOW_S) is None


def test_the_newest_result_outlives_the_server(tmp_path: Path) -> None:
    _tests(tmp_path / "tests.json").note("left", PASSED, NOW_S)
    brief = _tests(tmp_path / "tests.json").brief("left", NOW_S + 60.0)
    assert brief is not None
    assert (brief.at_epoch_s, brief.failure, brief.how, brief.due) == (NOW_S, "", "positions echoed", False)


@pytest.mark.parametrize(
    ("outcome", "later_s", "due"),
    [
        (None, 0.0, True),
        (PASSED, 3600.0, False),
        (PASSED, 25 * 3600.0, True),
        (PASSED, -60.0, True),
        (FAILED, 60.0, True),
    ],
    ids=["never made", "an hour ago", "yesterday", "the clock was set back", "failed"],
)
def test_one_is_due_where_the_lab_wants_one_a_day(outcome: Outcome | None, later_s: float, due: bool) -> None:
    tests = _tests(None, "left")
    if outcome is not None:
        tests.note("left", outcome, NOW_S)
    brief = tests.brief("left", NOW_S + later_s)
    assert brief is not None
    assert brief.due is due


def test_one_that_was_broken_off_leaves_the_result_before_it() -> None:
    tests = _tests(None)
    tests.note("left", FAILED, NOW_S)
    tests.note("left", Outcome(ending=Ending.BROKEN_OFF, words="stopped"), NOW_S + 1.0)
    brief = tests.brief("left", NOW_S + 2.0)
    assert brief is not None
    assert brief.failure == "base stands still"


@pytest.mark.parametrize("content", [b"", b"[]", b'{"left": 7}', b"\xff"])
def test_a_damaged_file_is_named_and_keeps_no_lab_from_starting(content: bytes, tmp_path: Path) -> None:
    path, said = tmp_path / "tests.json", list[str]()
    path.write_bytes(content)
    tests = SelfTests(path, frozenset(), said.append)
    assert len(said) == 1
    assert str(path) in said[0]
    tests.note("left", PASSED, NOW_S)
    assert _tests(path).brief("left", NOW_S) is not None


# -- at a lab's server -----------------------------------------------------------------------------------------------

served_in_real_time = pytest.mark.wall_clock
DAILY = msgspec.structs.replace(PATIENT, arms={"arm-1": ArmSettings(rig="lynx6", daily_self_test=True)})


async def _listed(lab: Served) -> dict[str, object]:
    _, told = await lab.get("/v1/lab")
    found = told["arms"][0]["self_test"]
    _, calendar = await lab.get("/v1/arms/arm-1/bookings")
    assert calendar["self_test"] == found
    return dict(found)


@served_in_real_time
def test_one_that_passed_is_told_and_stands_in_the_list_and_at_the_booking(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, settings=DAILY) as lab:
            await lab.ready()
            assert (await _listed(lab))["due"]
            person = await lab.join()
            await person.drive()
            assert (await person.order("self_test", speed_share=1.0))["type"] == "accepted"
            await person.until(lambda: any(notice["kind"] == "self_test" for notice in person.notices))
            words = next(notice["text"] for notice in person.notices if notice["kind"] == "self_test")
            assert words == "self-test passed: positions echoed"
            assert not (await _listed(lab))["due"]

    run(story)


@served_in_real_time
def test_a_stop_on_its_way_leaves_it_due_and_the_next_motion_is_not_taken_for_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, settings=DAILY) as lab:
            person = await lab.driver()
            await person.accepted("self_test", speed_share=0.5)
            await lab.reach(Mode.STREAMING)
            await person.ask("stop")
            await person.until(lambda: any(notice["kind"] == "self_test" for notice in person.notices))
            assert (await _listed(lab))["due"]
            await lab.reach(Mode.HOLDING)
            await person.hold()
            assert (await person.order("go", to="home", speed_share=1.0))["type"] == "accepted"
            await lab.reach(Mode.STREAMING)
            await lab.reach(Mode.IDLE)
            endings = [notice["text"] for notice in person.notices if notice["kind"] == "self_test"]
            assert endings == ["self-test broken off: it was stopped on its way; ask for it again"]

    run(story)


@served_in_real_time
def test_nothing_moves_without_the_dead_man_or_for_who_only_watches(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            person, watcher = await lab.join(), await lab.join()
            await person.drive()
            person.held = False
            await person.beat()
            assert (await person.order("self_test", speed_share=0.5))["code"] == "deadman"
            await watcher.until(lambda: bool(watcher.lease))
            assert (await watcher.order("self_test", speed_share=0.5))["code"] == "lease"
            assert lab.lab.desks["arm-1"].loop.mode is Mode.IDLE

    run(story)


@served_in_real_time
def test_a_second_one_waits_for_the_end_of_the_first_and_a_crawl_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            person = await lab.driver()
            slow = await person.order("self_test", speed_share=0.005)
            assert "allowed: 1 at least" in slow["reason"]
            assert (await person.order("self_test", speed_share=0.5))["type"] == "accepted"
            assert "is not over" in (await person.order("self_test", speed_share=0.5))["reason"]

    run(story)


@served_in_real_time
@pytest.mark.parametrize(("ends", "failed"), [(False, True), (True, False)], ids=["the arm is lost", "the server ends"])
def test_an_arm_that_is_lost_on_its_way_has_failed_unless_it_was_let_go(
    ends: bool, failed: bool, tmp_path: Path
) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            person = await lab.driver()
            assert (await person.order("self_test", speed_share=0.5))["type"] == "accepted"
            await lab.reach(Mode.STREAMING)
            if ends:
                lab.lab.desks["arm-1"].hold("the server ends")
            lab.workers["arm-1"].lose("the line is gone")
            brief = lab.lab.self_tests.brief("arm-1", NOW_S)
            assert (brief is not None and brief.failure == "the arm was lost: the line is gone") is failed

    run(story)
