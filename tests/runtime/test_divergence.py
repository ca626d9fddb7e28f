"""Comparing what is reported with what the shadow did."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_session import lynx6

from hil.motion.planner import plan_joint_move
from hil.runtime import wiring
from hil.runtime.divergence import CONFIRM_REPORTS, DivergenceMonitor, DivergenceView, window_of_s
from hil.testing.arms import VirtualArm
from hil.types import JointState, Mode, StateSource
from hil.units import DEG

BAND = lynx6().axes[0].divergence
WINDOW_S = 0.28
AXES = len(lynx6().axes)


class Watcher:
    """A monitor that is shown one number for every axis."""

    def __init__(self) -> None:
        self.monitor = DivergenceMonitor(lynx6(), WINDOW_S)
        self.now_s = 0.0

    def look(
        self,
        setpoint: float,
        reported: float | Sequence[float | None] | None,
        *,
        shaft: float | None = None,
        age_s: float = 0.0,
        source: StateSource = StateSource.ECHOED,
    ) -> str | None:
        self.now_s += 0.02
        shafts = (setpoint if shaft is None else shaft,) * AXES
        values = tuple(reported) if isinstance(reported, Sequence) else (reported,) * AXES
        return self.monitor.judge(
            self.now_s,
            (setpoint,) * AXES,
            JointState(t_s=self.now_s, positions=shafts, source=StateSource.SIMULATED),
            JointState(t_s=self.now_s - age_s, positions=values, source=source),
        )


@given(st.lists(st.floats(-0.002, 0.002), min_size=1, max_size=40))
def test_reports_within_the_band_never_alarm(noise: list[float]) -> None:
    watcher = Watcher()
    assert not any(watcher.look(0.01, 0.01 + value) for value in noise)


def test_three_reports_in_a_row_outside_the_band_alarm_and_go_on_alarming() -> None:
    watcher = Watcher()
    watcher.look(0.0, 0.0)
    alarms = [watcher.look(0.0, 2 * BAND) for _ in range(6)]
    assert [alarm is not None for alarm in alarms] == [k >= CONFIRM_REPORTS - 1 for k in range(6)]


def test_an_alarm_says_which_axis_what_was_reported_and_what_was_expected() -> None:
    watcher = Watcher()
    off = [0.0] * AXES
    off[2] = 0.5
    alarms = [watcher.look(0.0, off) for _ in range(3)]
    assert alarms[-1] is not None
    assert alarms[-1].startswith(
        "elbow: the controller reports 28.65 deg, the shadow was between 0.00 deg and 0.00 deg"
    )


@given(st.lists(st.booleans(), max_size=60))
def test_fewer_than_three_in_a_row_never_alarm(outside: list[bool]) -> None:
    watcher = Watcher()
    row = 0
    for bad in outside:
        bad = bad and row < CONFIRM_REPORTS - 1
        row = row + 1 if bad else 0
        assert watcher.look(0.0, 1.0 if bad else 0.0) is None


def test_a_report_seen_twice_counts_once() -> None:
    watcher = Watcher()
    watcher.look(0.0, 1.0)
    for ticks in range(1, 6):
        assert watcher.look(0.0, 1.0, age_s=0.02 * ticks) is None


def test_an_axis_without_a_report_is_not_judged() -> None:
    watcher = Watcher()
    assert not any(watcher.look(0.0, None) for _ in range(10))


def test_without_any_report_there_is_nothing_to_judge() -> None:
    monitor = DivergenceMonitor(lynx6(), WINDOW_S)
    rest = (0.0,) * AXES
    simulated = JointState(t_s=0.0, positions=rest, source=StateSource.SIMULATED)
    assert monitor.judge(0.0, rest, simulated, None) is None


def test_a_report_may_be_as_old_as_the_window() -> None:
    """A line and a board take their time: what was true within the window is no divergence."""
    speed = lynx6().axes[0].speed
    watcher = Watcher()
    for tick in range(100):
        here = 0.02 * tick * speed
        late = max(here - 0.8 * WINDOW_S * speed, 0.0)
        assert watcher.look(here, [late, *[None] * (AXES - 1)]) is None


def test_a_report_that_stays_behind_for_longer_is_a_divergence() -> None:
    speed = lynx6().axes[0].speed
    watcher = Watcher()
    alarms = [watcher.look(0.02 * tick * speed, [0.0, *[None] * (AXES - 1)]) for tick in range(100)]
    first = next(k for k, alarm in enumerate(alarms) if alarm)
    assert first * 0.02 * speed == pytest.approx(BAND + WINDOW_S * speed, abs=4 * 0.02 * speed)


def test_an_echo_is_held_against_the_pulse_and_a_measurement_against_the_shaft() -> None:
    """The servo lags behind its pulse; only a measurement can be compared with where the shaft should be."""
    for source, near in ((StateSource.ECHOED, 0.5), (StateSource.MEASURED, 0.0)):
        for reported in (0.0, 0.5):
            watcher = Watcher()
            alarms = [watcher.look(0.5, reported, shaft=0.0, source=source) for _ in range(4)]
            assert (alarms[-1] is None) == (reported == near)


def test_after_a_reset_the_past_counts_no_more() -> None:
    watcher = Watcher()
    watcher.look(0.0, 1.0)
    watcher.look(0.0, 1.0)
    watcher.monitor.reset()
    assert watcher.look(0.0, 1.0) is None
    assert watcher.look(0.0, 1.0) is None
    assert watcher.look(0.0, 1.0) is not None


@pytest.mark.parametrize("name", ["rv2aj", "rv2aj-hot", "rv2aj-line"])
def test_an_arm_that_measures_is_stopped_at_its_controller_when_it_has_parted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ramp from where it should be is none that it would go: what it was sent last goes on until STOP comes."""
    rig = wiring.load_rig(name)
    arm = VirtualArm(rig)
    arm.begin(plan_joint_move(rig, rig.park, (60 * DEG, *rig.park[1:])))
    arm.wait(3.0)
    since = len(arm.records)
    monkeypatch.setattr(DivergenceMonitor, "judge", lambda *states: "J1: they have parted")
    arm.wait(rig.period_s)
    assert arm.mode is Mode.FAULT
    left = b"".join(record.written for record in arm.records[since:])
    assert b"1;1;STOP\r" in left and b"EXECMOV" not in left


# -- what those who watch are told -----------------------------------------------------------------------


class Seen:
    """A view that is shown one number for every axis, 0.02 s apart."""

    def __init__(self) -> None:
        self.view = DivergenceView(lynx6())
        self.now_s = 0.0

    def look(
        self,
        setpoint: float,
        reported: float | None,
        *,
        mode: Mode = Mode.HOLDING,
        driven: bool = True,
        age_s: float = 0.0,
        source: StateSource = StateSource.ECHOED,
    ) -> float | None:
        self.now_s += 0.02
        self.view.take(
            self.now_s,
            mode,
            (setpoint if driven else None,) * AXES,
            (setpoint,) * AXES,
            JointState(t_s=self.now_s, positions=(setpoint,) * AXES, source=StateSource.SIMULATED),
            JointState(t_s=self.now_s - age_s, positions=(reported,) * AXES, source=source),
        )
        return self.view.errors[0]


@given(st.floats(-1.0, 1.0), st.floats(-0.5, 0.5), st.sampled_from([StateSource.ECHOED, StateSource.MEASURED]))
def test_the_error_of_an_arm_that_stands_is_what_it_reports_less_what_was_commanded(
    at: float, off: float, source: StateSource
) -> None:
    assert Seen().look(at, at + off, source=source) == pytest.approx(off, abs=1e-12)


def test_an_arm_that_only_lags_by_the_age_that_a_report_may_have_has_no_error() -> None:
    seen, lag = Seen(), int(window_of_s(lynx6()) / 0.02) - 1
    assert {seen.look(0.01 * k, 0.01 * max(0, k - lag), mode=Mode.STREAMING) for k in range(60)} == {0.0}


@given(st.lists(st.tuples(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3)), min_size=CONFIRM_REPORTS, max_size=30))
def test_an_error_beyond_the_band_three_reports_in_a_row_is_the_alarm(looks: list[tuple[float, float]]) -> None:
    seen, outside = Seen(), 0
    for setpoint, reported in looks:
        error = seen.look(setpoint, reported)
        assert error is not None
        outside = outside + 1 if abs(error) > BAND else 0
        assert not (outside >= CONFIRM_REPORTS and not seen.view.alarm)
    assert bool(seen.view.alarm) is (outside >= CONFIRM_REPORTS) or seen.view.alarm


def test_an_alarm_lasts_until_the_report_is_inside_its_band_and_somebody_has_gone_on() -> None:
    seen = Seen()
    for _ in range(CONFIRM_REPORTS):
        seen.look(0.0, 2 * BAND, mode=Mode.STREAMING)
    assert "they have parted" in seen.view.alarm
    seen.look(0.0, 0.0, mode=Mode.HOLDING)
    assert seen.view.alarm
    seen.look(0.0, 2 * BAND, mode=Mode.ARMED)
    assert seen.view.alarm
    seen.look(0.0, 0.0, mode=Mode.ARMED)
    assert not seen.view.alarm


@pytest.mark.parametrize("mode", [Mode.DISCONNECTED, Mode.CONNECTING, Mode.UNKNOWN_POSE, Mode.ENERGISING])
def test_of_a_pose_that_is_not_known_there_is_no_error_and_no_alarm(mode: Mode) -> None:
    seen = Seen()
    assert [seen.look(0.0, 1.0, mode=mode) for _ in range(5)] == [None] * 5
    assert not seen.view.alarm


def test_an_axis_that_was_never_driven_or_of_which_nothing_is_reported_has_no_error() -> None:
    assert Seen().look(0.0, 0.1, driven=False) is None
    assert Seen().look(0.0, None) is None


def test_a_report_that_gets_old_keeps_its_error() -> None:
    seen = Seen()
    first = seen.look(0.0, BAND / 2)
    later = [seen.look(1.0, BAND / 2, age_s=0.02 * (k + 1) + 0.001) for k in range(40)]
    assert {first, *later} == {BAND / 2}
