"""The paced loop on virtual time, and the watch over those who answer for the motion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_session import Session, certified, load, swing

from hil.clock import VirtualClock
from hil.runtime.pace import Watch, run_paced
from hil.types import Arm, Disconnect, EndStream, Mode, Request, Start, Stop, TickRecord

PERIOD_S = 0.02


class Worker:
    """Takes a given time for each tick, and notes what it was told."""

    def __init__(self, clock: VirtualClock, works_s: Sequence[float]) -> None:
        self._clock, self._works_s = clock, list(works_s)
        self.seen: list[tuple[float, float, int, float]] = []
        self.requests: list[tuple[Request, ...]] = []

    @property
    def finished(self) -> bool:
        return len(self.seen) == len(self._works_s)

    def tick(
        self, now_s: float, requests: tuple[Request, ...] = (), *, late_s: float, missed: int, work_s: float
    ) -> int:
        self.seen.append((now_s, late_s, missed, work_s))
        self.requests.append(requests)
        self._clock.sleep_until(now_s + self._works_s[len(self.seen) - 1])
        return len(self.seen)


def paced(works_s: Sequence[float], start_s: float = 5.0) -> tuple[Worker, list[int]]:
    clock, published = VirtualClock(start_s), []
    worker = Worker(clock, works_s)
    run_paced(worker, clock, PERIOD_S, lambda now_s: (), published.append)
    return worker, published


def test_ticks_keep_to_absolute_deadlines_however_long_each_takes() -> None:
    worker, published = paced([0.001, 0.019, 0.005, 0.0, 0.012])
    assert [now_s for now_s, *_ in worker.seen] == pytest.approx([5.0 + k * PERIOD_S for k in range(5)])
    assert [missed for *_, missed, _ in worker.seen] == [0] * 5
    assert published == [1, 2, 3, 4, 5]


def test_each_tick_is_told_how_long_the_one_before_took() -> None:
    worker, _ = paced([0.001, 0.019, 0.005])
    assert [work_s for *_, work_s in worker.seen] == pytest.approx([0.0, 0.001, 0.019])


def test_a_missed_tick_is_counted_and_never_made_up_for() -> None:
    worker, _ = paced([0.001, 0.065, 0.001, 0.001])
    times = [now_s - 5.0 for now_s, *_ in worker.seen]
    assert times == pytest.approx([0.0, 0.02, 0.10, 0.12])
    assert [missed for *_, missed, _ in worker.seen] == [0, 0, 3, 3]


def test_a_late_tick_says_how_late_it_is_and_the_next_is_on_time_again() -> None:
    clock = VirtualClock(0.0)
    worker = Worker(clock, [0.001] * 4)
    held_up = iter([0.0, 0.0045, 0.0, 0.0])

    class LateClock(VirtualClock):
        def sleep_until(self, deadline_s: float) -> None:
            clock.sleep_until(deadline_s + next(held_up))

        def now_s(self) -> float:
            return clock.now_s()

    run_paced(worker, LateClock(), PERIOD_S, lambda now_s: (), lambda record: None)
    assert [late_s for _, late_s, *_ in worker.seen] == pytest.approx([0.0, 0.0045, 0.0, 0.0])
    assert [now_s for now_s, *_ in worker.seen] == pytest.approx([0.0, 0.0245, 0.04, 0.06])


@given(st.lists(st.floats(0.0, 0.2), min_size=1, max_size=30))
def test_no_two_ticks_share_a_deadline_and_none_is_early(works_s: list[float]) -> None:
    worker, published = paced(works_s)
    assert len(published) == len(works_s)
    slots = []
    for now_s, late_s, missed, _ in worker.seen:
        deadline_s = now_s - late_s
        assert late_s >= 0.0
        slot = (deadline_s - 5.0) / PERIOD_S
        assert slot == pytest.approx(round(slot), abs=1e-6)
        assert missed == round(slot) - len(slots)
        slots.append(round(slot))
    assert slots == sorted(set(slots))


def test_requests_are_taken_at_the_tick_s_own_time() -> None:
    clock = VirtualClock(0.0)
    worker = Worker(clock, [0.001] * 3)
    asked: list[float] = []

    def take(now_s: float) -> tuple[Request, ...]:
        asked.append(now_s)
        return (Stop(reason=f"{now_s:.2f}"),)

    run_paced(worker, clock, PERIOD_S, take, lambda record: None)
    assert asked == [now_s for now_s, *_ in worker.seen]
    assert worker.requests[1] == (Stop(reason="0.02"),)


def test_a_whole_session_runs_under_the_paced_loop() -> None:
    """Bridge, driver and board, from the first tick to the last, told by nothing but requests."""
    session = Session()
    records: list[TickRecord] = []
    motion = swing()
    wanted: dict[Mode, tuple[Request, ...]] = {
        Mode.UNKNOWN_POSE: (session.confirm(),),
        Mode.IDLE: (load(motion, certified(session.rig, motion)), Arm(digest=motion.digest)),
        Mode.ARMED: (Start(digest=motion.digest),),
    }

    def take(now_s: float) -> tuple[Request, ...]:
        if not wanted and session.mode is Mode.IDLE:
            return (Disconnect(reason="done"),)
        return wanted.pop(session.mode, ())

    run_paced(session.bridge, session.clock, session.rig.period_s, take, records.append)
    assert records[-1].mode is Mode.DISCONNECTED
    assert any("the motion is done" in event for record in records for event in record.events)
    assert all(record.missed == 0 and record.late_s == 0.0 for record in records)


# -- the watch ---------------------------------------------------------------------------------------------


class Others:
    """Owner and recorder, as the watch sees them: dead, silent or behind for so long, or in trouble."""

    def __init__(self, owner_age_s: float = 0.0, unkept_s: float = 0.0) -> None:
        self.owner_dead = self.recorder_dead = False
        self.owner_age_s, self.unkept_s, self.trouble = owner_age_s, unkept_s, ""
        self.watch = Watch(
            lambda: self.owner_dead,
            lambda: self.recorder_dead,
            lambda now_s: self.owner_age_s,
            lambda: self.unkept_s,
            lambda: self.trouble,
        )


def kinds(requests: tuple[Request, ...]) -> list[type[Request]]:
    return [type(request) for request in requests]


def test_while_everybody_is_there_the_watch_asks_for_nothing() -> None:
    assert Others(0.24, 0.49).watch.requests(1.0) == ()


def test_a_dead_owner_ends_the_stream_at_once_and_the_session() -> None:
    others = Others()
    others.owner_dead = True
    reason = "the program that asked for the motion has ended"
    assert others.watch.requests(1.0) == (EndStream(reason=reason), Disconnect(reason=reason))


def test_a_dead_recorder_ends_the_stream_at_once_and_leaves_the_session_to_the_owner() -> None:
    others = Others()
    others.recorder_dead = True
    assert others.watch.requests(1.0) == (EndStream(reason="the recorder has ended: no motion without a journal"),)


@pytest.mark.parametrize("age_s", [0.26, 10.0, math.inf])
def test_an_owner_that_is_only_silent_may_be_alive_and_gets_a_controlled_stop(age_s: float) -> None:
    (request,) = Others(owner_age_s=age_s).watch.requests(1.0)
    assert isinstance(request, Disconnect)
    assert "no sign of life from the asking program" in request.reason


@pytest.mark.parametrize("unkept_s", [0.51, 100.0])
def test_a_recorder_that_is_only_silent_may_be_alive_and_gets_a_controlled_stop(unkept_s: float) -> None:
    (request,) = Others(unkept_s=unkept_s).watch.requests(1.0)
    behind = f"the journal {unkept_s * 1e3:.0f} ms behind (allowed: 500 ms)"
    words = f"the recorder is silent, {behind}: no motion without a journal"
    assert request == Stop(reason=words)


def test_a_journal_that_cannot_be_kept_any_more_is_a_controlled_stop_and_the_end_of_the_session() -> None:
    others = Others()
    others.trouble = "run.mcap: the journal was removed"
    reason = "run.mcap: the journal was removed: no motion without a journal"
    assert others.watch.requests(1.0) == (Disconnect(reason=reason),)
    assert others.watch.reason == reason
    assert others.watch.requests(1.02) == ()
    others.recorder_dead = True
    assert kinds(others.watch.requests(1.04)) == [EndStream]


def test_who_leaves_for_another_reason_says_nothing_of_the_journal() -> None:
    others = Others(owner_age_s=0.3)
    assert kinds(others.watch.requests(1.0)) == [Disconnect]
    others.trouble = "run.mcap: the journal was removed"
    assert others.watch.requests(1.02) == ()


def test_every_death_and_a_lost_owner_are_said_once() -> None:
    others = Others()
    others.recorder_dead = True
    assert kinds(others.watch.requests(1.0)) == [EndStream]
    others.unkept_s = 5.0
    assert others.watch.requests(7.0) == ()
    others.owner_dead = True
    assert kinds(others.watch.requests(7.02)) == [EndStream, Disconnect]
    others.owner_age_s = 5.0
    assert others.watch.requests(9.0) == ()
    silent = Others(owner_age_s=5.0)
    assert silent.watch.requests(1.0)
    assert silent.watch.requests(1.02) == ()


@pytest.mark.parametrize("who", ["owner_dead", "recorder_dead"])
def test_a_stop_for_a_silent_owner_is_cut_short_when_somebody_turns_out_to_be_dead(who: str) -> None:
    others = Others(owner_age_s=0.3)
    assert kinds(others.watch.requests(1.0)) == [Disconnect]
    setattr(others, who, True)
    assert kinds(others.watch.requests(1.02))[0] is EndStream


def test_an_owner_that_falls_silent_after_the_recorder_did_still_means_leave() -> None:
    others = Others(unkept_s=5.0)
    assert kinds(others.watch.requests(1.0)) == [Stop]
    others.owner_age_s = 5.0
    assert kinds(others.watch.requests(2.0)) == [Disconnect]
    assert others.watch.requests(3.0) == ()


def test_a_recorder_that_stays_silent_is_said_again_every_half_second() -> None:
    """Somebody may be about to start something."""
    silent = Others(unkept_s=5.0).watch
    asked = [bool(silent.requests(1.0 + 0.02 * tick)) for tick in range(101)]
    assert sum(asked) == 5


@pytest.mark.parametrize("who", ["owner_dead", "recorder_dead"])
def test_under_the_paced_loop_no_line_leaves_from_the_tick_on_that_sees_a_death(who: str) -> None:
    session, others, motion = Session().to(Mode.ARMED), Others(), swing()
    records: list[TickRecord] = []
    dead_from = 40

    def take(now_s: float) -> tuple[Request, ...]:
        setattr(others, who, len(records) >= dead_from)
        asked: tuple[Request, ...] = () if records else (Start(digest=motion.digest),)
        leave: tuple[Request, ...] = (Disconnect(reason="done"),) if len(records) == 100 else ()
        return asked + others.watch.requests(now_s) + leave

    run_paced(session.bridge, session.clock, session.rig.period_s, take, records.append)
    assert [record.tick for record in records if record.sent is not None][-1] == records[dead_from - 1].tick
    assert all(b"#" not in record.written for record in records[dead_from:])
    assert records[dead_from].mode is (Mode.DISCONNECTED if who == "owner_dead" else Mode.HOLDING)


def test_loops_that_share_a_core_begin_their_ticks_in_turn() -> None:
    begun = []
    for phase_s in (0.0, 0.25 * PERIOD_S):
        clock = VirtualClock(3.3 * PERIOD_S)
        worker = Worker(clock, [0.001] * 3)
        run_paced(worker, clock, PERIOD_S, lambda now_s: (), lambda record: None, phase_s)
        begun.append([now_s / PERIOD_S for now_s, *_ in worker.seen])
    assert begun == [pytest.approx([4.0, 5.0, 6.0]), pytest.approx([4.25, 5.25, 6.25])]
