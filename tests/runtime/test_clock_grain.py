"""A clock that is too coarse for a rig is noticed before anything is connected."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.clock import ClockGrain, VirtualClock, measure_grain, monotonic_s
from hil.errors import InterlockError
from hil.runtime import clock_grain, fake_process, wiring
from hil.runtime.host import Host
from hil.runtime.pace import run_paced
from hil.types import Request

LOOK_S = 1e-6
WINDOWS_S = 0.015625
FINE = ClockGrain(step_s=1e-7, oversleep_s=0.0001)


class CoarseMachine:
    """Its clock goes on by `step_s`, its sleeps end at whole `timer_s`; a look at the clock takes a microsecond."""

    def __init__(self, step_s: float, timer_s: float, start_s: float = 0.0031) -> None:
        self.step_s, self.timer_s, self.true_s = step_s, timer_s, start_s
        self.held_up_s: list[float] = []

    def now_s(self) -> float:
        self.true_s += LOOK_S
        return math.floor(self.true_s / self.step_s) * self.step_s

    def sleep(self, seconds: float) -> None:
        held_up_s = self.held_up_s.pop() if self.held_up_s else 0.0
        self.true_s = math.ceil((self.true_s + seconds) / self.timer_s) * self.timer_s + held_up_s


@given(step_s=st.floats(3 * LOOK_S, 0.016), start_s=st.floats(0.0, 0.1))
def test_the_step_of_a_clock_is_found_wherever_the_look_begins(step_s: float, start_s: float) -> None:
    machine = CoarseMachine(step_s, 1e-5, start_s)
    assert measure_grain(machine.now_s, machine.sleep).step_s == pytest.approx(step_s, rel=1e-6)


def test_a_clock_that_stands_still_is_no_clock() -> None:
    assert measure_grain(lambda: 5.0, lambda seconds: None).step_s == math.inf


def test_how_coarse_sleeps_are_is_found_on_a_machine_that_is_held_up_for_once() -> None:
    machine = CoarseMachine(1e-6, WINDOWS_S)
    machine.held_up_s = [0.05, 0.0, 0.0, 0.0]
    assert measure_grain(machine.now_s, machine.sleep).oversleep_s == pytest.approx(WINDOWS_S - 0.001, abs=1e-4)


def test_sleeps_that_end_on_time_are_not_called_coarse_because_the_machine_is_busy() -> None:
    machine = CoarseMachine(1e-6, 1e-5)
    machine.held_up_s = [0.0, 0.05, 0.05, 0.05, 0.05]
    assert measure_grain(machine.now_s, machine.sleep).oversleep_s < 1e-4


@pytest.mark.parametrize(
    ("grain", "shortest_s"),
    [(ClockGrain(WINDOWS_S, 0.0), 0.0625), (ClockGrain(1e-7, 0.001), 0.004), (ClockGrain(0.002, 0.005), 0.02)],
)
def test_a_quarter_of_a_period_is_what_clock_and_sleep_may_cost(grain: ClockGrain, shortest_s: float) -> None:
    assert grain.shortest_period_s == pytest.approx(shortest_s)


class _Lateness:
    def __init__(self) -> None:
        self.late_s: list[float] = []

    @property
    def finished(self) -> bool:
        return len(self.late_s) == 200

    def tick(
        self, now_s: float, requests: tuple[Request, ...] = (), *, late_s: float, missed: int, work_s: float
    ) -> None:
        self.late_s.append(late_s)


def _median_late_s(period_s: float, step_s: float) -> float:
    """Of a loop on a clock with such steps, which sleeps as finely as the machine can."""

    class Coarse(VirtualClock):
        def now_s(self) -> float:
            return math.floor(super().now_s() / step_s) * step_s

        def sleep_until(self, deadline_s: float) -> None:
            while self.now_s() < deadline_s:
                super().sleep_until(super().now_s() + 1e-4)

    loop = _Lateness()
    run_paced(loop, Coarse(), period_s, lambda now_s: (), lambda nothing: None)
    return sorted(loop.late_s)[100]


def test_that_is_what_a_coarse_clock_does_to_a_loop() -> None:
    assert _median_late_s(0.02, WINDOWS_S) > 0.005
    assert _median_late_s(0.02, 0.005) < 0.005


def test_a_rig_that_the_clock_cannot_keep_is_refused_in_words() -> None:
    rig = wiring.load_rig("lynx6")
    with pytest.raises(InterlockError) as refusal:
        clock_grain.require_fine_clock(rig, lambda: ClockGrain(WINDOWS_S, 0.0146))
    assert refusal.value.missing == ("clock",)
    assert str(refusal.value).startswith(
        "rig lynx6: a tick is due every 20 ms, and this computer cannot keep less than 62 ms: its clock goes on by "
        "15.6 ms at a time, a short sleep takes 14.6 ms too long. Nothing was connected"
    )


def test_a_rig_that_it_can_keep_is_not() -> None:
    for name in ("lynx6", "lynx6-bench", "rv2aj"):
        clock_grain.require_fine_clock(wiring.load_rig(name), lambda: FINE)


def test_nothing_is_started_on_a_coarse_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("hil.runtime.host.require_fine_clock", lambda rig: clock_grain.require_fine_clock(
        rig, lambda: ClockGrain(WINDOWS_S, 0.0)))  # fmt: skip
    monkeypatch.setattr(fake_process, "start_fake", lambda *args: pytest.fail("a fake was started"))
    host = Host(wiring.load_rig("lynx6"), url=None, journal=tmp_path / "one.mcap", command="a test")
    with pytest.raises(InterlockError, match="Nothing was connected"), host:
        pytest.fail("it was entered")


def test_the_one_clock_never_goes_backwards_and_is_fine() -> None:
    looks = [monotonic_s() for _ in range(1000)]
    assert looks == sorted(looks)
    assert len(set(looks)) > 10
