"""The warm-up before a tick: it makes the tick quicker and nothing else."""

from __future__ import annotations

import types

import pytest
from virtual_session import swing

from hil import clock as clocks
from hil.clock import SPIN_S, WARM_UP_S, RealClock
from hil.types import Mode

STEP_S = 1e-6


class Machine:
    """A machine's time that moves by being read or slept; sleeps end late by `late_s`."""

    def __init__(self, late_s: float = 0.0) -> None:
        self.now_s, self.late_s = 100.0, late_s

    def monotonic(self) -> float:
        self.now_s += STEP_S
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds + self.late_s


@pytest.fixture
def machine(monkeypatch):
    made = Machine()
    monkeypatch.setattr(clocks, "time", types.SimpleNamespace(monotonic=made.monotonic, sleep=made.sleep))
    return made


def test_the_warm_up_runs_once_between_the_sleep_and_the_deadline(machine):
    warmed_s = []
    RealClock(lambda: warmed_s.append(machine.now_s)).sleep_until(100.02)
    assert warmed_s == [pytest.approx(100.02 - SPIN_S - WARM_UP_S, abs=5 * STEP_S)]
    assert 100.02 <= machine.now_s < 100.02 + 2 * STEP_S


def test_there_is_no_warm_up_after_a_sleep_that_ended_too_late_for_it(machine):
    machine.late_s = WARM_UP_S + 10 * STEP_S
    warmed = []
    RealClock(lambda: warmed.append(True)).sleep_until(100.02)
    assert not warmed


def test_there_is_no_warm_up_when_there_is_nothing_to_wait_for(machine):
    warmed = []
    RealClock(lambda: warmed.append(True)).sleep_until(99.0)
    assert not warmed
    assert machine.now_s < 100.0 + 5 * STEP_S


def test_a_session_that_warms_up_before_every_tick_sends_the_same_as_one_that_does_not(session):
    motion = swing()
    plain, warm = session(), session()
    for one in (plain, warm):
        one.to(Mode.STREAMING, motion)
    while plain.mode is Mode.STREAMING:
        warm.bridge.warm_up()
        assert warm.tick() == plain.tick()
    assert plain.mode is Mode.IDLE


@pytest.mark.parametrize("mode", [Mode.UNKNOWN_POSE, Mode.IDLE, Mode.ARMED])
def test_a_warm_up_where_nothing_streams_does_nothing(session, mode):
    plain, warm = session(), session()
    for one in (plain, warm):
        one.to(mode)
    warm.bridge.warm_up()
    assert warm.tick() == plain.tick()
