"""The judges of the long run can say no: each is shown what it has to find."""

from __future__ import annotations

from dataclasses import replace

import pytest
from soak_oracles import ArmJudge, NoticeJudge, RecordJudge, SampleJudge, Violation, WireJudge, read_rig

from hil.model.files import find
from hil.types import Confirm, EndStream, JointCommand, JointState, Mode, Start, StateSource, TickRecord

RIG = read_rig(find("rigs", "lynx6"))
PARK = tuple(axis.park for axis in RIG.axes)
SAMPLE = b"#0P1460#1P2322#2P912#3P2282#5P1580#4P2112T60\r"


def _record(tick: int = 0, mode: Mode = Mode.STREAMING, written: bytes = b"", **changes: object) -> TickRecord:
    state = JointState(t_s=0.0, positions=PARK, source=StateSource.SIMULATED)
    fields: dict[str, object] = {
        "tick": tick,
        "t_s": 1.0 + 0.02 * tick,
        "late_s": 0.0,
        "work_s": 0.0,
        "missed": 0,
        "mode": mode,
        "sample": None,
        "wanted": None,
        "sent": None,
        "simulated": state,
        "setpoint": PARK,
        "reported": None,
        "received": b"",
        "written": written,
    }
    return TickRecord(**{**fields, **changes})  # type: ignore[arg-type]


def _wire() -> WireJudge:
    """One that has seen the first moves and a sample."""
    judge = WireJudge(RIG, old_firmware=False)
    for line in SAMPLE.removesuffix(b"T60\r").split(b"#")[1:]:
        judge.judge(
            _record(mode=Mode.ENERGISING, written=b"#" + line + b"\r", requests=(Confirm(positions=PARK, by="x"),))
        )
    judge.judge(_record(written=SAMPLE))
    return judge


@pytest.mark.parametrize(
    ("mode", "written", "words"),
    [
        (Mode.STREAMING, SAMPLE[:-1], "without an end"),
        (Mode.STREAMING, SAMPLE.replace(b"1460", b"3000"), "pulse limits"),
        (Mode.STREAMING, SAMPLE.replace(b"1460", b"529"), "pulse limits"),
        (Mode.STREAMING, SAMPLE.replace(b"2322", b"2381"), "steps"),
        (Mode.STREAMING, SAMPLE.replace(b"1460", b"1475"), "steps"),
        (Mode.STREAMING, SAMPLE.replace(b"T60", b"T40"), "look-ahead"),
        (Mode.STREAMING, SAMPLE.replace(b"T60", b""), "no time"),
        (Mode.STREAMING, SAMPLE + SAMPLE, "2 moves"),
        (Mode.STREAMING, b"#0P1460\r", "no sample of every axis"),
        (Mode.STREAMING, SAMPLE.replace(b"#0P", b"#7P"), "has no axis"),
        (Mode.STREAMING, SAMPLE.replace(b"1460", b"1460.5"), "nothing that may be sent"),
        (Mode.STREAMING, b"#31P1750\r", "canary"),
        (Mode.IDLE, SAMPLE, "left in mode idle"),
        (Mode.FAULT, b"#0P1460\r", "left in mode fault"),
        (Mode.ENERGISING, b"#0P1460#1P2322\r", "one channel"),
        (Mode.ENERGISING, b"#0P1460T500\r", "never timed"),
        (Mode.IDLE, b"R0=15\r", "nothing that may be sent"),
        (Mode.IDLE, b"QP0\r", "asks other channels"),
        (Mode.IDLE, b"#31P1500\r", "channel 31, which has no axis"),
        (Mode.FAULT, b"STOP9\r", "without an axis"),
    ],
)
def test_bytes_that_must_not_leave_are_found(mode: Mode, written: bytes, words: str) -> None:
    with pytest.raises(Violation, match=words):
        _wire().judge(_record(mode=mode, written=written))


@pytest.mark.parametrize(
    "written",
    [
        SAMPLE,
        b"\x1b\rVER\r",
        b"~~\x1b\r",
        b"QP0QP1QP2QP3QP5QP4QP31\r",
        b"QP0QP1QP2QP3QP5QP4QP31QP30\r",
        b"\x1b\rSTOP0\rSTOP4\r",
        b"",
    ],
)
def test_bytes_that_may_leave_pass(written: bytes) -> None:
    _wire().judge(_record(written=written))


def _sample(tick: int, base: float, **changes: object) -> TickRecord:
    command = JointCommand(seq=tick, due_s=0.0, positions=(base, *PARK[1:]))
    return _record(tick, wanted=command, sent=command, sample=tick, **changes)


def test_a_pulse_that_the_wire_allows_and_the_joint_does_not_is_found() -> None:
    wide = replace(RIG, axes=(replace(RIG.axes[0], lower_us=500, upper_us=2500), *RIG.axes[1:]))
    judge = WireJudge(wide, old_firmware=False)
    with pytest.raises(Violation, match="joint limits"):
        judge.judge(_record(mode=Mode.ENERGISING, written=b"#0P2330\r"))


def test_samples_that_speed_up_too_fast_are_found_although_each_step_is_slow_enough() -> None:
    judge = SampleJudge(RIG)
    place = speed = 0.0
    for tick in range(40):
        speed += 0.19 * min(tick, 6) * RIG.axes[0].acceleration * RIG.period_s**2
        if tick == 6:
            with pytest.raises(Violation, match="acceleration"):
                judge.judge(_sample(tick, place + speed))
            return
        place += speed
        judge.judge(_sample(tick, place))


def test_samples_whose_acceleration_changes_too_fast_are_found() -> None:
    judge = SampleJudge(RIG)
    step = RIG.axes[0].jerk * RIG.period_s**3
    judge.judge(_sample(0, 0.0))
    judge.judge(_sample(1, 0.9 * step))
    with pytest.raises(Violation, match="jerk"):
        judge.judge(_sample(2, 5.0 * step))


@pytest.mark.parametrize(("ended", "found"), [(False, True), (True, False)])
def test_a_stop_that_is_cut_is_found_unless_somebody_is_dead(ended: bool, found: bool) -> None:
    judge = SampleJudge(RIG)
    place = speed = 0.0
    for tick in range(8):
        speed += min(tick, 4) * 0.2 * RIG.axes[0].acceleration * RIG.period_s**2
        place += speed
        judge.judge(_sample(tick, place))
    requests = (EndStream(reason="x"),) if ended else ()
    if found:
        with pytest.raises(Violation, match="the end of a motion at"):
            judge.judge(_record(8, Mode.HOLDING, requests=requests))
    else:
        judge.judge(_record(8, Mode.HOLDING, requests=requests))


def test_a_missing_tick_is_found() -> None:
    judge = RecordJudge(each_leaves=True)
    judge.judge(_record(0, Mode.CONNECTING))
    with pytest.raises(Violation, match="tick 2 follows tick 0"):
        judge.judge(_record(2, Mode.CONNECTING))


def test_motion_that_nobody_asked_for_is_found() -> None:
    judge = RecordJudge(each_leaves=True)
    judge.judge(_record(0, Mode.ARMED))
    with pytest.raises(Violation, match="nobody has started"):
        judge.judge(_record(1, Mode.STREAMING))
    judge = RecordJudge(each_leaves=True)
    judge.judge(_record(0, Mode.UNKNOWN_POSE))
    with pytest.raises(Violation, match="nobody has confirmed"):
        judge.judge(_record(1, Mode.ENERGISING))


def test_motion_that_somebody_asked_for_passes() -> None:
    judge = RecordJudge(each_leaves=True)
    judge.judge(_record(0, Mode.ARMED))
    judge.judge(_record(1, Mode.STREAMING, requests=(Start(digest="x"),)))


@pytest.mark.parametrize("mode", [Mode.STREAMING, Mode.STOPPING, Mode.ENERGISING, Mode.ARMED])
def test_motion_after_the_end_of_the_stream_is_found(mode: Mode) -> None:
    judge = RecordJudge(each_leaves=True)
    judge.judge(_record(0, Mode.HOLDING, requests=(EndStream(reason="x"),)))
    judge.judge(_record(1, Mode.HOLDING))
    with pytest.raises(Violation, match="somebody who answers for the motion is dead"):
        judge.judge(_record(2, mode))


@pytest.mark.parametrize(("stops_after_s", "found"), [(0.7, False), (1.1, True)])
def test_an_arm_that_goes_on_after_its_stop_time_is_found(stops_after_s: float, found: bool) -> None:
    judge = ArmJudge(RIG, stop_time_s=0.64, end_time_s=0.085)
    judge.judge(_record(0), PARK)

    def play() -> None:
        for tick in range(1, 100):
            base = min(0.02 * tick, stops_after_s) * 0.5
            judge.judge(_record(tick, Mode.STOPPING if tick < 30 else Mode.HOLDING), (base, *PARK[1:]))

    if found:
        with pytest.raises(Violation, match="base moved"):
            play()
    else:
        play()
        assert judge.worst_rest_s["stopping"] == pytest.approx(stops_after_s, abs=0.03)


@pytest.mark.parametrize(("ends_after_s", "found"), [(0.3, False), (0.4, True)])
def test_an_arm_that_goes_on_as_after_a_stop_when_its_stream_has_ended_is_found(
    ends_after_s: float, found: bool
) -> None:
    judge = ArmJudge(RIG, stop_time_s=0.64, end_time_s=0.085)
    judge.judge(_record(0), PARK)

    def play() -> None:
        for tick in range(1, 60):
            ended = (EndStream(reason="x"),) if tick == 1 else ()
            base = min(0.02 * (tick - 1), ends_after_s) * 0.5
            judge.judge(_record(tick, Mode.HOLDING, requests=ended), (base, *PARK[1:]))

    if found:
        with pytest.raises(Violation, match=r"base moved .* \(allowed 0.335 s\)"):
            play()
    else:
        play()
        assert judge.worst_rest_s["the end of the stream"] == pytest.approx(ends_after_s, abs=0.03)


def test_an_arm_that_moves_by_itself_while_it_holds_is_found() -> None:
    judge = ArmJudge(RIG, stop_time_s=0.64, end_time_s=0.085)
    judge.judge(_record(0, Mode.HOLDING), PARK)
    judge.judge(_record(1, Mode.HOLDING), PARK)
    with pytest.raises(Violation, match="wrist moved"):
        judge.judge(_record(2, Mode.HOLDING), (*PARK[:3], PARK[3] + 0.01, *PARK[4:]))


def test_trouble_that_is_not_noticed_in_time_is_found() -> None:
    judge = NoticeJudge({"unplugged": 0.05})
    judge.happened("unplugged", 1.0)
    judge.judge(_record(1))
    judge.judge(_record(2))
    with pytest.raises(Violation, match="unplugged: still streaming"):
        judge.judge(_record(3))
