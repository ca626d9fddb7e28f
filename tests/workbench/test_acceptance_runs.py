"""What is measured of a run, from journals of sessions on virtual time, and what the judges make of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from recorded import run_to_end, write_journal
from virtual_session import Session, swing

from hil.motion.stops import rest_time_s, stop_time_s
from hil.runtime.wiring import load_rig
from hil.types import Disconnect, JointCommand, Mode, Stop, TickRecord
from hil.workbench import acceptance_runs as runs
from hil.workbench.acceptance import Facts, Result, judge_runs
from hil.workbench.acceptance_runs import Deed, Measured, Run, Way, measure

PERIOD_S = 0.02


def ended(session: Session) -> Session:
    """Left as `hil run` leaves it."""
    session.tick(Disconnect(reason="the session ends"))
    return session


def stopped() -> Session:
    session = Session()
    session.to(Mode.STREAMING, swing(40.0))
    session.until(Mode.HOLDING, Stop(reason="interrupted from the keyboard"))
    session.run(0.2)
    return ended(session)


def unplugged() -> Session:
    session = Session()
    session.to(Mode.STREAMING, swing(40.0))
    session.unplug()
    session.run(0.3)
    return ended(session)


def restarted(mode: Mode = Mode.IDLE) -> Session:
    session = Session()
    session.to(mode, swing(40.0) if mode is Mode.STREAMING else None)
    session.run(0.1)
    session.board.power_cycle(session.clock.now_s())
    session.run(1.0)
    return ended(session)


def measured(session: Session, folder: Path, deed_s: float | None = None) -> Measured:
    return measure("11", "", write_journal(session, folder / "run.mcap"), deed_s)


def changed(session: Session, n: int, **changes: Any) -> Session:
    """The same with one record as it must never be."""
    session.records[n] = msgspec.structs.replace(session.records[n], **changes)
    return session


def first(session: Session, found: Callable[[TickRecord], bool]) -> int:
    return next(n for n, record in enumerate(session.records) if found(record))


def test_a_motion_that_ran_to_its_end_is_whole_and_nothing_has_ended_it(tmp_path: Path) -> None:
    found = measured(ended(run_to_end()), tmp_path)
    assert (found.mode, found.ended, found.fault, found.moved_after) == ("idle", "", "", 0)
    assert found.samples > 50 and found.complete and found.journal == "run.mcap"
    assert runs.ran_through(found)[0] is True
    assert (found.limp, found.axes) == (6, 6)


def test_a_stop_is_measured_to_the_last_move_of_the_setpoint(tmp_path: Path) -> None:
    session = stopped()
    found = measured(session, tmp_path)
    asked = first(session, lambda record: bool(record.requests) and isinstance(record.requests[-1], Stop))
    still = [
        record.t_s
        for before, record in zip(session.records[asked:], session.records[asked + 1 :], strict=False)
        if max(abs(a - b) for a, b in zip(before.setpoint, record.setpoint, strict=True)) > 1e-4
    ]
    assert found.stop_to_rest_s == pytest.approx(still[-1] - session.records[asked].t_s, abs=1.5 * PERIOD_S)
    assert 0.1 < (found.stop_to_rest_s or 0.0) < 0.5
    assert found.mode == "holding" and "interrupted from the keyboard" in found.ended
    assert runs.ran_through(found)[0] is False


def test_the_number_of_a_stop_is_held_against_its_limit_to_the_hundredth(tmp_path: Path) -> None:
    found = measured(stopped(), tmp_path)
    assert found.stop_to_rest_s is not None
    assert runs.came_to_rest(found.stop_to_rest_s + 0.01)(found)[0] is True
    assert runs.came_to_rest(found.stop_to_rest_s - 0.01)(found)[0] is False


def test_where_no_limit_is_given_a_stop_may_take_what_it_takes_by_the_rig() -> None:
    stopped_so = [Measured(step="C5", stop_to_rest_s=1.91, rest_time_s=limit_s) for limit_s in (1.92, 1.90, None)]
    assert [runs.came_to_rest()(found)[0] for found in stopped_so] == [True, False, None]


def test_the_rest_by_the_rig_is_ramp_look_ahead_and_the_controllers_own() -> None:
    rig = load_rig("lynx6")
    assert rest_time_s(rig) == pytest.approx(stop_time_s(rig) + 0.06 + rig.controller.settle_s)


def test_without_a_stop_nothing_is_judged(tmp_path: Path) -> None:
    passed, number, _ = runs.came_to_rest(0.5)(measured(ended(run_to_end()), tmp_path))
    assert passed is None and "no stop in the middle" in number


def test_a_pulled_cable_is_named_soon_after_the_last_good_report(tmp_path: Path) -> None:
    session = unplugged()
    found = measured(session, tmp_path)
    assert "the cable was pulled" in found.fault
    assert 0.0 < (found.good_to_fault_s or 0.0) <= 0.1
    assert runs.was_named(0.1)(found)[0] is True
    assert runs.was_named((found.good_to_fault_s or 0.0) - 0.001)(found)[0] is False


@pytest.mark.parametrize("mode", [Mode.IDLE, Mode.STREAMING])
def test_a_restart_is_measured_from_the_last_good_report_and_from_when_it_was_done(tmp_path: Path, mode: Mode) -> None:
    session = restarted(mode)
    fault = session.records[first(session, lambda record: record.mode is Mode.FAULT)]
    found = measured(session, tmp_path, fault.t_s - 0.25)
    assert "restarted" in found.fault
    assert 0.0 < (found.good_to_fault_s or 0.0) < 0.6
    assert found.deed_to_fault_s == pytest.approx(0.25)
    assert runs.was_named(0.6)(found)[0] is True


def test_one_command_that_moves_after_the_fault_fails_the_run(tmp_path: Path) -> None:
    session = unplugged()
    fault = first(session, lambda record: record.mode is Mode.FAULT)
    sent = JointCommand(seq=1, due_s=0.0, positions=session.rig.park)
    found = measured(changed(session, fault + 2, sent=sent), tmp_path)
    assert found.moved_after == 1
    assert runs.was_named(0.1)(found)[0] is False


def test_one_command_that_moves_after_it_stands_fails_the_run(tmp_path: Path) -> None:
    session = stopped()
    holding = first(session, lambda record: record.mode is Mode.HOLDING)
    sent = JointCommand(seq=1, due_s=0.0, positions=session.rig.park)
    found = measured(changed(session, holding + 2, sent=sent), tmp_path)
    assert runs.came_to_rest(0.5)(found)[0] is False


def test_a_journal_that_is_not_whole_fails_whatever_its_numbers_say(tmp_path: Path) -> None:
    found = measure("11", "", write_journal(stopped(), tmp_path / "cut.mcap", closed=False))
    assert not found.complete
    assert runs.common(found) == (False, f"its journal: {found.verified}", runs.SEND)


GOOD = Measured(step="12", complete=True, mode="fault", fault="named", good_to_fault_s=0.05, samples=10)


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({}, True),
        ({"good_to_fault_s": None}, None),
        ({"good_to_fault_s": 0.11}, False),
        ({"fault": "", "mode": "idle"}, None),
        ({"fault": "", "mode": "idle", "deed_s": 1.0}, False),
        ({"fault": "", "mode": "holding"}, False),
    ],
)
def test_what_cannot_be_measured_is_not_judged_and_what_was_done_and_not_named_fails(
    changes: dict[str, Any], passed: bool | None
) -> None:
    assert runs.was_named(0.1)(msgspec.structs.replace(GOOD, **changes))[0] is passed


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({"deed_to_fault_s": 0.9}, True),
        ({"deed_to_fault_s": 1.1, "still_to_fault_s": 0.1}, False),
        ({"still_to_fault_s": 0.9}, True),
        ({"still_to_fault_s": 1.1}, False),
        ({}, None),
    ],
)
def test_where_nobody_knows_when_it_was_done_the_standing_joints_tell(
    changes: dict[str, Any], passed: bool | None
) -> None:
    assert runs.was_named(1.0, by="deed")(msgspec.structs.replace(GOOD, **changes))[0] is passed


@pytest.mark.parametrize(("travel_deg", "passed"), [(2.0, True), (1.4, False), (2.6, False), (None, None)])
def test_two_degrees_are_two_degrees(travel_deg: float | None, passed: bool | None) -> None:
    found = Measured(step="C3", complete=True, mode="idle", samples=10, travel_deg=travel_deg)
    assert runs.went(1.5, 2.5)(found)[0] is passed


@pytest.mark.parametrize(("limp", "axes", "passed"), [(6, 6, True), (5, 6, False), (0, 0, None)])
def test_after_the_power_every_axis_is_limp(limp: int, axes: int, passed: bool | None) -> None:
    assert runs.was_limp(Measured(step="14", complete=True, limp=limp, axes=axes))[0] is passed


RUN = Run(way=Way.TASK, task="square", deed=Deed.UNPLUG)


def verdict(run: Measured | None, answers: dict[str, str], word: bool = False) -> Result:
    facts = Facts(channels=(), talk=(), answers=answers, runs=() if run is None else (run,))
    judge = judge_runs("12", ((RUN, runs.was_named(0.1)),), asks=True, word=word)
    return judge(facts, answers.get("12", "")).result


LATE = msgspec.structs.replace(GOOD, good_to_fault_s=0.2)
ASKED = Measured(step="12", trouble="nobody has confirmed the pose", asked=True)
UNREACHED = msgspec.structs.replace(GOOD, samples=0, trouble="the controller does not answer")
BETWEEN_TWO = msgspec.structs.replace(GOOD, trouble="refused: there is a fault")
REFUSED = Measured(step="12", trouble="the preview refuses it")


@pytest.mark.parametrize(
    ("run", "answers", "word", "result"),
    [
        (GOOD, {"12": "yes"}, False, Result.PASSED),
        (GOOD, {"12": ""}, False, Result.PASSED),
        (GOOD, {}, False, Result.NOT_JUDGED),
        (GOOD, {"12": "no, it sank"}, False, Result.FAILED),
        (GOOD, {"12": ""}, True, Result.NOT_JUDGED),
        (LATE, {"12": "yes"}, False, Result.FAILED),
        (None, {"12": "yes"}, False, Result.NOT_JUDGED),
        (None, {"12": "no"}, False, Result.FAILED),
        (ASKED, {"12": "yes"}, False, Result.NOT_JUDGED),
        (REFUSED, {"12": "yes"}, False, Result.FAILED),
        (UNREACHED, {"12": "yes"}, False, Result.FAILED),
        (BETWEEN_TWO, {"12": "yes"}, False, Result.PASSED),
    ],
)
def test_a_number_decides_and_a_no_fails_it_too(
    run: Measured | None, answers: dict[str, str], word: bool, result: Result
) -> None:
    assert verdict(run, answers, word) is result
