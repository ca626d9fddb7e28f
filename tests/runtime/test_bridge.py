"""The bridge on the whole virtual wiring: what it does, what it refuses, and how it ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import pytest
from virtual_session import EPOCH_S, Session, certified, forged, load, lynx6, swing

from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.runtime.adoption import CONFIRM_S
from hil.safety.guard import Guard, GuardVerdict
from hil.types import (
    WRITING,
    Arm,
    ArmJog,
    Confirm,
    Disconnect,
    EmergencyStop,
    EndStream,
    EnergiseCommand,
    JointCommand,
    LimitHit,
    Load,
    Mode,
    Request,
    Reset,
    Start,
    Stop,
    TickRecord,
)
from hil.units import DEG
from sim.ssc32 import FRAME_S, Firmware

Make = Callable[..., Session]
ELSEWHERE = tuple(value + (5 * DEG if i == 0 else 0.0) for i, value in enumerate(lynx6().park))
UNTIL_QUIET_S = 0.2


def said(session: Session, *words: str) -> bool:
    """Whether one event holds all these words."""
    return any(all(word in event for word in words) for event in session.events)


def moves(records: Sequence[TickRecord]) -> list[TickRecord]:
    """Ticks that sent something to the arm."""
    return [record for record in records if record.sent is not None or b"#" in record.written]


def sent_positions(records: Sequence[TickRecord]) -> np.ndarray:
    """Unrounded samples that were sent, shape (N, n)."""
    return np.array([r.wanted.positions for r in records if isinstance(r.wanted, JointCommand) and r.sent is not None])


def largest_step_us(session: Session, axis: int, since_s: float) -> float:
    """Largest change of one pulse from one frame to the next."""
    channel = session.settings.axes[axis].channel
    before = [pulse for t, c, pulse in session.pulses if c == channel and t < since_s][-1:]
    widths = before + [pulse for t, c, pulse in session.pulses if c == channel and t >= since_s]
    return max((abs(b - a) for a, b in itertools.pairwise(widths)), default=0.0)


def allowed_step_us(rig: Rig, axis: int) -> float:
    """What the speed limit allows a pulse per board frame, rounding at both ends included."""
    points = rig.controller.axes[axis].points  # type: ignore[attr-defined]
    slope = max(abs((b[1] - a[1]) / (b[0] - a[0])) for a, b in itertools.pairwise(points))
    return rig.axes[axis].speed * FRAME_S * slope + 2.0


# -- connecting and the first move -------------------------------------------------------------------------


def test_connected_is_not_armed_and_nothing_has_moved(session: Make) -> None:
    s = session().to(Mode.UNKNOWN_POSE)
    s.run(2.0)
    assert s.mode is Mode.UNKNOWN_POSE
    assert not s.bench.first_moves
    assert [line for r in s.records for line in r.written.split(b"\r") if b"#" in line] == [b"#31P1750"]
    assert said(s, "answers; where the arm stands is not known yet")


def test_a_true_confirmation_drives_one_servo_at_a_time_and_none_jumps_by_more_than_a_step_of_the_wire(
    session: Make,
) -> None:
    s = session().to(Mode.IDLE)
    times = [move.time_s for move in s.bench.first_moves]
    assert [move.channel for move in s.bench.first_moves] == [
        s.settings.axes[axis].channel for axis in s.rig.energise_order
    ]
    assert all(b - a >= s.rig.energise_dwell_s - FRAME_S for a, b in itertools.pairwise(times))
    quantum = {axis.channel: step for axis, step in zip(s.settings.axes, s.settings.quantum(), strict=True)}
    assert all(move.jump <= quantum[move.channel] for move in s.bench.first_moves)


def test_a_wrong_confirmation_makes_the_arm_jump_but_only_one_servo_at_a_time(session: Make) -> None:
    """What a guided first move cannot prevent: a servo without feedback goes where it is told to be."""
    true_pose = tuple(value + (20 * DEG if i in (0, 2) else 0.0) for i, value in enumerate(lynx6().park))
    s = session(true_pose=true_pose).to(Mode.IDLE)
    jumps = {move.channel: move.jump for move in s.bench.first_moves}
    assert jumps[0] == pytest.approx(20 * DEG, abs=0.1 * DEG)
    assert jumps[2] == pytest.approx(20 * DEG, abs=0.1 * DEG)
    assert max(jump for channel, jump in jumps.items() if channel not in (0, 2)) < 0.1 * DEG
    times = [move.time_s for move in s.bench.first_moves]
    assert min(b - a for a, b in itertools.pairwise(times)) >= s.rig.energise_dwell_s - FRAME_S


def test_a_board_that_still_drives_the_arm_keeps_it_where_it_is(session: Make) -> None:
    """As after the program was killed: the pulse that is there counts, not the confirmed pose."""
    standing = tuple(swing().samples[40].tolist())
    s = session(true_pose=standing, driven=True)
    s.until(Mode.UNKNOWN_POSE)
    begin_s = s.clock.now_s()
    s.until(Mode.IDLE, s.confirm())
    assert max(largest_step_us(s, axis, begin_s) for axis in range(6)) < 10, "an echo is in steps of 10 us"
    assert len(s.bench.first_moves) == 6, "those of the program before"
    motion = swing()
    s.tick(load(motion, certified(s.rig, motion)), Arm(digest=motion.digest))
    assert s.mode is Mode.IDLE
    assert said(s, "refused", "preview again from the present pose")


@pytest.mark.parametrize(
    ("positions", "words"),
    [
        ((0.0,), "1 positions given; allowed: 6"),
        ((), "0 positions given; allowed: 6"),
        ((math.nan, *lynx6().park[1:]), "base: confirmed position nan deg given"),
        ((math.inf, *lynx6().park[1:]), "base: confirmed position inf deg given"),
        ((*lynx6().park[:5], -1e308), "gripper: confirmed position"),
        ((1e308,) * 6, "base: confirmed position"),
        ((2.0, *lynx6().park[1:]), "base: confirmed position 114.59 deg given; allowed: -88.00 to 88.00 deg"),
    ],
)
def test_a_pose_that_cannot_be_is_not_confirmed(session: Make, positions: tuple[float, ...], words: str) -> None:
    s = session().to(Mode.UNKNOWN_POSE)
    s.run(0.5, Confirm(positions=positions, by="the test"))
    assert s.mode is Mode.UNKNOWN_POSE
    assert said(s, "refused", words)
    assert not s.bench.first_moves


def test_a_stop_in_the_guided_first_move_leads_back_to_a_pose_to_be_confirmed(session: Make) -> None:
    s = session().to(Mode.ENERGISING)
    s.run(1.0)
    driven = len(s.bench.first_moves)
    assert 0 < driven < 6
    s.run(1.0, Stop(reason="test"))
    assert s.mode is Mode.UNKNOWN_POSE
    assert len(s.bench.first_moves) == driven
    s.until(Mode.IDLE, s.confirm())


# -- arming ------------------------------------------------------------------------------------------------


def test_arming_needs_a_loaded_certificate(session: Make) -> None:
    s = session().to(Mode.IDLE)
    s.tick(Arm(digest=swing().digest))
    assert s.mode is Mode.IDLE
    assert said(s, "refused: no motion with this digest is loaded; load it with its certificate first")


@pytest.mark.parametrize(
    ("certificate", "words"),
    [
        (
            lambda rig: certified(msgspec.structs.replace(rig, title="another"), swing()),
            "rig or robot file has changed",
        ),
        (lambda rig: certified(rig, swing(20.0)), "not the motion that was previewed"),
        (lambda rig: certified(rig, swing(), EPOCH_S - 9 * 3600), "valid for 8 h"),
        (lambda rig: certified(rig, swing(), EPOCH_S + 3600), "Set the computer's clock"),
    ],
)
def test_a_certificate_for_something_else_is_refused_with_words(
    session: Make, certificate: Callable[[Rig], object], words: str
) -> None:
    s = session().to(Mode.IDLE)
    s.tick(load(swing(), certificate(s.rig)), Arm(digest=swing().digest))  # type: ignore[arg-type]
    assert s.mode is Mode.IDLE
    assert said(s, "refused: certificate refused", words)
    s.tick(Arm(digest=swing().digest), Start(digest=swing().digest))
    assert s.mode is Mode.IDLE


def test_a_certificate_that_runs_out_while_the_arm_waits_is_refused_at_the_start(session: Make) -> None:
    s = session().to(Mode.IDLE)
    certificate = certified(s.rig, swing(), EPOCH_S, valid_s=s.clock.now_s() + 1.0)
    s.tick(load(swing(), certificate), Arm(digest=swing().digest))
    assert s.mode is Mode.ARMED
    s.run(2.0)
    s.tick(Start(digest=swing().digest))
    assert s.mode is Mode.ARMED
    assert said(s, "refused", "a certificate that has not expired")
    assert not moves(s.records[-2:])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_motion_that_starts_elsewhere_by_more_than_half_a_degree_is_refused(session: Make, sign: int) -> None:
    s = session().to(Mode.IDLE)
    for off_deg, mode in ((0.52, Mode.IDLE), (0.48, Mode.ARMED)):
        start = (s.rig.park[0] + sign * off_deg * DEG, *s.rig.park[1:])
        motion = plan_joint_move(s.rig, start, (s.rig.park[0] + 10 * DEG, *s.rig.park[1:]))
        s.tick(load(motion, certified(s.rig, motion)), Arm(digest=motion.digest))
        assert s.mode is mode
    assert said(s, "refused: base stands at 0.00 deg", "preview again from the present pose")


def test_a_start_half_a_degree_off_keeps_the_speed_limit_all_the_same(session: Make) -> None:
    s = session().to(Mode.IDLE)
    start = (s.rig.park[0] + 0.48 * DEG, *s.rig.park[1:])
    motion = plan_joint_move(s.rig, start, (s.rig.park[0] + 10 * DEG, *s.rig.park[1:]))
    s.tick(load(motion, certified(s.rig, motion)), Arm(digest=motion.digest))
    s.until(Mode.IDLE, Start(digest=motion.digest))
    assert said(s, "the motion is done")


def test_on_a_slow_axis_the_start_may_differ_by_no_more_than_one_step_at_its_speed(session: Make) -> None:
    slow = msgspec.structs.replace(lynx6().axes[0], speed=5 * DEG)
    s = session(msgspec.structs.replace(lynx6(), axes=(slow, *lynx6().axes[1:]))).to(Mode.IDLE)
    for off_deg, mode in ((0.12, Mode.IDLE), (0.08, Mode.ARMED)):
        start = (s.rig.park[0] + off_deg * DEG, *s.rig.park[1:])
        motion = plan_joint_move(s.rig, start, (s.rig.park[0] + 2 * DEG, *s.rig.park[1:]))
        s.tick(load(motion, certified(s.rig, motion)), Arm(digest=motion.digest))
        assert s.mode is mode
    s.until(Mode.IDLE, Start(digest=motion.digest))


def test_armed_lapses_after_half_a_minute(session: Make) -> None:
    s = session().to(Mode.ARMED)
    s.run(29.0)
    assert s.mode is Mode.ARMED
    s.run(1.5)
    assert s.mode is Mode.IDLE
    assert said(s, "armed for 30 s without a start")
    s.tick(Start(digest=swing().digest))
    assert s.mode is Mode.IDLE


@pytest.mark.parametrize("mode", [Mode.ARMED, Mode.STREAMING])
def test_no_other_motion_is_loaded_while_one_is_armed_or_runs(session: Make, mode: Mode) -> None:
    s = session().to(mode)
    other = swing(20.0)
    s.tick(load(other, certified(s.rig, other)))
    assert s.mode is mode
    assert said(s, "refused: a motion is loaded while nothing moves or is armed")


@pytest.mark.parametrize("axes", [("base",), ("one", "two", "three", "four", "five", "six")])
def test_a_motion_of_another_arm_is_refused_even_with_a_certificate_that_names_it(
    session: Make, axes: tuple[str, ...]
) -> None:
    s = session().to(Mode.IDLE)
    motion = Motion(axes, s.rig.period_s, np.tile(s.rig.park[: len(axes)], (5, 1)))
    s.tick(load(motion, forged(s.rig, motion)), Arm(digest=motion.digest), Start(digest=motion.digest))
    assert s.mode is Mode.IDLE
    assert said(s, "refused", "axes")


def test_a_motion_of_another_period_is_refused_even_with_a_certificate_that_names_it(session: Make) -> None:
    s = session().to(Mode.IDLE)
    motion = Motion([axis.name for axis in s.rig.axes], 0.01, np.tile(s.rig.park, (5, 1)))
    s.tick(load(motion, forged(s.rig, motion)), Arm(digest=motion.digest))
    assert s.mode is Mode.IDLE
    assert said(s, "refused", "period")


@pytest.mark.parametrize("mode", [Mode.UNKNOWN_POSE, Mode.IDLE, Mode.ARMED, Mode.STREAMING])
@pytest.mark.parametrize(
    "request_",
    [
        Load(motion=b"", certificate=b""),
        Load(motion=b"\xff" * 40, certificate=b"{}"),
        Load(motion=swing().to_bytes(), certificate=b"null"),
        Load(motion=swing().to_bytes()[:-9], certificate=certified(lynx6(), swing()).to_bytes()),
        Load(
            motion=swing().to_bytes().replace(np.float64(swing().samples[9, 0]).tobytes(), np.float64("nan").tobytes()),
            certificate=certified(lynx6(), swing()).to_bytes(),
        ),
        Load(
            motion=swing().to_bytes().replace(np.float64(swing().samples[9, 0]).tobytes(), np.float64(1e308).tobytes()),
            certificate=certified(lynx6(), swing()).to_bytes(),
        ),
        Arm(digest=""),
        Arm(digest="nan"),
        Start(digest="inf"),
        Confirm(positions=(math.nan,) * 6, by="the test"),
        Confirm(positions=(math.inf,) * 6, by="the test"),
        Confirm(positions=(1e308,) * 6, by="the test"),
    ],
)
def test_nonsense_in_a_request_changes_nothing(session: Make, mode: Mode, request_: Request) -> None:
    s = session().to(mode)
    record = s.tick(request_)
    assert s.mode is mode
    assert len(record.events) == 1
    assert record.events[0].startswith("refused: ")
    assert "Traceback" not in record.events[0]


# -- streaming and stopping --------------------------------------------------------------------------------


def test_a_motion_ends_where_it_was_planned_to_end(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.until(Mode.IDLE)
    s.run(1.0)
    goal = s.settings.quantise(np.array(swing().end))
    for axis, wire in enumerate(s.settings.axes):
        assert s.pulse_us(axis) == s.settings.pulse_us(axis, swing().end[axis])
        assert s.bench.position(wire.channel, s.clock.now_s()) == pytest.approx(goal[axis], abs=1e-4)


def test_every_sample_is_sent_once_and_in_order(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.until(Mode.IDLE)
    assert [r.sample for r in moves(s.records) if r.sample is not None] == list(range(len(swing())))


@pytest.mark.parametrize("waiting", [0, 1, 2, 3, 10])
def test_the_pulses_rest_when_the_motion_is_said_to_be_done(session: Make, waiting: int) -> None:
    """Also when it ends with a wait: sent again, a sample begins its look-ahead anew."""
    s = session().to(Mode.IDLE)
    rows = np.concatenate([swing().samples, np.tile(swing().end, (waiting, 1))])
    motion = Motion(swing().axes, s.rig.period_s, rows)
    s.tick(load(motion, certified(s.rig, motion)), Arm(digest=motion.digest))
    s.until(Mode.IDLE, Start(digest=motion.digest))
    done_s = s.clock.now_s()
    s.run(1.0)
    assert max(t for t, _, _ in s.pulses) <= done_s + FRAME_S


@pytest.mark.parametrize("ticks_before_the_end", range(6))
def test_a_stop_at_the_very_end_of_a_motion_ends_holding_at_its_goal(session: Make, ticks_before_the_end: int) -> None:
    s = session().to(Mode.STREAMING)
    while len([r for r in moves(s.records) if r.sample is not None]) < len(swing()) - ticks_before_the_end:
        s.tick()
    s.until(Mode.HOLDING, Stop(reason="test"), within_s=s.bridge.stop_time_s)
    last = next(r.wanted for r in reversed(s.records) if isinstance(r.wanted, JointCommand))
    assert last.positions == pytest.approx(swing().end, abs=1e-3)


@pytest.mark.parametrize("at_s", [0.02, 0.1, 0.3, 0.8, 1.2])
def test_a_stop_in_mid_motion_keeps_the_limits_and_ends_holding(session: Make, at_s: float) -> None:
    s = session().to(Mode.ARMED)
    begin_s = s.clock.now_s()
    s.run(at_s, Start(digest=swing().digest))
    s.tick(Stop(reason="the test says so"))
    stop_s = s.clock.now_s()
    s.until(Mode.HOLDING, within_s=s.bridge.stop_time_s + s.rig.period_s)
    rest_s = s.clock.now_s()
    sent = sent_positions(s.records)
    for axis, positions in zip(s.rig.axes, sent.T, strict=True):
        h = s.rig.period_s
        positions = np.concatenate([[positions[0]] * 3, positions])
        assert np.abs(np.diff(positions)).max() <= axis.speed * h * (1 + 1e-6)
        assert np.abs(np.diff(positions, 2)).max() <= axis.acceleration * h**2 * (1 + 1e-6)
        assert np.abs(np.diff(positions, 3)).max() <= axis.jerk * h**3 * (1 + 1e-6)
    assert all(largest_step_us(s, i, begin_s) <= allowed_step_us(s.rig, i) for i in range(6))
    s.run(2.0)
    assert max(t for t, _, _ in s.pulses) <= rest_s + FRAME_S, "the pulses rest when the mode says so"
    assert rest_s - stop_s <= s.bridge.stop_time_s
    assert s.mode is Mode.HOLDING
    assert said(s, "streaming -> stopping: stop: the test says so")


def test_what_was_queued_is_thrown_away_by_a_stop(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.until(Mode.HOLDING, Stop(reason="test"))
    count = len(moves(s.records))
    s.tick(Start(digest=swing().digest))
    s.tick(Arm(digest=swing().digest))
    s.run(1.0)
    assert s.mode is Mode.HOLDING
    assert len(moves(s.records)) == count
    assert said(s, "refused", "preview again from the present pose")


def test_after_a_stop_a_motion_from_the_present_pose_runs(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.until(Mode.HOLDING, Stop(reason="test"))
    here = next(record.wanted for record in reversed(s.records) if isinstance(record.wanted, JointCommand))
    back = plan_joint_move(s.rig, here.positions, s.rig.park)
    s.tick(load(back, certified(s.rig, back)), Arm(digest=back.digest))
    s.until(Mode.IDLE, Start(digest=back.digest))
    assert said(s, "the motion is done")


def test_a_second_stop_changes_nothing_about_the_first(session: Make) -> None:
    once, twice = session().to(Mode.STREAMING), session().to(Mode.STREAMING)
    once.tick(Stop(reason="test"))
    twice.tick(Stop(reason="test"))
    for _ in range(40):
        once.tick()
        twice.tick(Stop(reason="again"))
    assert [r.written for r in once.records] == [r.written for r in twice.records]


def test_leaving_in_mid_motion_stops_first_and_ends_the_loop(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.tick(Disconnect(reason="test"))
    assert s.mode is Mode.STOPPING
    s.until(Mode.DISCONNECTED, within_s=2.0)
    assert s.bridge.finished
    assert s.pulse_us(0) > 0, "the controller goes on holding"


def test_late_ticks_make_the_motion_late_and_never_make_it_jump(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    begin_s = s.clock.now_s()
    for _ in range(8):
        s.tick(after_s=0.05)
        s.tick()
        s.tick(after_s=0.012)
    assert s.mode is Mode.STREAMING
    assert all(largest_step_us(s, i, begin_s) <= allowed_step_us(s.rig, i) * 1.4 for i in range(6))
    samples = [record.sample for record in s.records if record.sample is not None]
    assert samples == list(range(len(samples)))


@pytest.mark.parametrize("gap_s", [0.08, 0.101, 0.5, 2.0, 3600.0])
def test_a_gap_in_the_ticks_ends_holding_and_nothing_jumps_when_they_come_back(session: Make, gap_s: float) -> None:
    s = session().to(Mode.STREAMING)
    begin_s = s.clock.now_s()
    s.tick(after_s=gap_s)
    back_s = s.clock.now_s()
    s.until(Mode.HOLDING, within_s=s.bridge.stop_time_s)
    s.run(1.0)
    assert said(s, "stop: no tick for")
    assert max(t for t, _, _ in s.pulses) <= begin_s + s.rig.look_ahead_s + 2 * FRAME_S, "it had come to rest by itself"
    assert not moves([record for record in s.records if record.t_s >= back_s])


def test_two_missed_ticks_are_only_counted_and_three_in_a_row_stop(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.tick(after_s=3 * s.rig.period_s)
    assert s.mode is Mode.STREAMING
    s.tick()
    s.tick(after_s=4 * s.rig.period_s)
    assert s.mode in (Mode.STOPPING, Mode.HOLDING)


def test_with_a_long_look_ahead_a_gap_is_left_along_a_ramp(session: Make) -> None:
    rig = msgspec.structs.replace(lynx6(), look_ahead_s=0.2)
    s = session(rig).to(Mode.STREAMING)
    begin_s = s.clock.now_s()
    s.tick(after_s=0.12)
    assert s.mode is Mode.STOPPING
    s.until(Mode.HOLDING, within_s=s.bridge.stop_time_s)
    assert all(largest_step_us(s, i, begin_s) <= allowed_step_us(rig, i) for i in range(6))


def test_a_sample_that_the_guard_refuses_stops_the_motion_and_is_not_sent(session: Make) -> None:
    """A certificate says that a motion was checked; the guard looks at every sample all the same."""
    s = session().to(Mode.IDLE)
    rows = swing().samples.copy()
    rows[30:, 0] += 10 * DEG
    motion = Motion(swing().axes, s.rig.period_s, rows)
    s.tick(load(motion, forged(s.rig, motion)), Arm(digest=motion.digest))
    begin_s = s.clock.now_s()
    s.until(Mode.HOLDING, Start(digest=motion.digest), within_s=3.0)
    assert said(s, "stop: the guard refused a sample: base [E-03 speed]")
    assert max(record.sample or 0 for record in moves(s.records)) == 29
    assert any(record.hits for record in s.records)
    assert all(largest_step_us(s, i, begin_s) <= allowed_step_us(s.rig, i) for i in range(6))


# -- an end of the stream ----------------------------------------------------------------------------------


def test_an_end_of_the_stream_sends_nothing_more_and_the_board_ends_the_look_ahead_it_has(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    begin_s = s.clock.now_s()
    s.tick(EndStream(reason="test"))
    assert s.mode is Mode.HOLDING
    count = len(moves(s.records))
    s.run(2.0)
    assert len(moves(s.records)) == count
    line_s = 48 * 10 / s.settings.baud
    assert max(t for t, _, _ in s.pulses) <= begin_s + s.rig.look_ahead_s + FRAME_S + line_s
    last = next(record.sent for record in reversed(s.records) if isinstance(record.sent, JointCommand))
    assert [s.pulse_us(i) for i in range(6)] == [s.settings.pulse_us(i, at) for i, at in enumerate(last.positions)]
    assert said(s, "streaming -> holding: stop: test; nothing that moves is sent any more in this session")


def test_an_end_of_the_stream_cuts_a_stop_short(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.tick(Stop(reason="test"))
    s.tick()
    assert s.mode is Mode.STOPPING
    s.tick(EndStream(reason="test"))
    assert s.mode is Mode.HOLDING
    assert s.last.sent is None
    count = len(moves(s.records))
    s.run(1.0)
    assert len(moves(s.records)) == count


def test_whatever_else_comes_with_the_end_of_the_stream_nothing_is_sent_in_that_tick(session: Make) -> None:
    for others in ([Stop(reason="test")], [Disconnect(reason="test")], [Start(digest=swing().digest)]):
        for requests in ([*others, EndStream(reason="test")], [EndStream(reason="test"), *others]):
            s = session().to(Mode.ARMED if isinstance(others[0], Start) else Mode.STREAMING)
            s.tick(*requests)
            assert s.last.sent is None
            assert s.mode is (Mode.DISCONNECTED if isinstance(others[0], Disconnect) else Mode.HOLDING)


def test_no_axis_is_driven_for_the_first_time_after_the_end_of_the_stream(session: Make) -> None:
    s = session().to(Mode.ENERGISING)
    s.tick()
    s.tick(EndStream(reason="test"))
    assert s.mode is Mode.UNKNOWN_POSE
    count = len(s.bench.first_moves)
    s.run(2.0, s.confirm())
    assert s.mode is Mode.UNKNOWN_POSE
    assert len(s.bench.first_moves) == count
    assert said(s, "refused", "no more motion in this session: test")


def test_a_confirmation_that_still_waits_for_a_report_is_thrown_away_by_the_end_of_the_stream(session: Make) -> None:
    s = session().to(Mode.UNKNOWN_POSE)
    s.tick(s.confirm(), EndStream(reason="test"))
    s.run(2.0)
    assert s.mode is Mode.UNKNOWN_POSE
    assert not s.bench.first_moves


@pytest.mark.parametrize("mode", [Mode.IDLE, Mode.ARMED, Mode.STREAMING])
def test_after_the_end_of_the_stream_nothing_is_armed_and_leaving_is_possible(session: Make, mode: Mode) -> None:
    s = session().to(mode)
    s.tick(EndStream(reason="test"))
    resting = s.mode
    count = len(moves(s.records))
    here = next((r.wanted.positions for r in reversed(s.records) if isinstance(r.wanted, JointCommand)), s.rig.park)
    back = plan_joint_move(s.rig, here, ELSEWHERE)
    s.tick(load(back, certified(s.rig, back)), Arm(digest=back.digest), Start(digest=back.digest))
    s.tick(ArmJog(speed_share=0.5))
    s.run(1.0, EndStream(reason="again"))
    assert s.mode is resting
    assert len(moves(s.records)) == count
    assert said(s, "refused", "no more motion in this session: test")
    s.tick(Disconnect(reason="test"))
    assert s.mode is Mode.DISCONNECTED
    assert not moves(s.records[-1:])


def test_a_fault_after_the_end_of_the_stream_is_reset_and_still_nothing_is_driven(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.tick(EndStream(reason="test"))
    s.unplug()
    s.until(Mode.FAULT, within_s=0.2)
    s.plug_in()
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    count = len(moves(s.records))
    s.run(2.0, s.confirm())
    assert s.mode is Mode.UNKNOWN_POSE
    assert len(moves(s.records)) == count


# -- software stop and faults ------------------------------------------------------------------------------

EVERYWHERE = [
    Mode.CONNECTING,
    Mode.UNKNOWN_POSE,
    Mode.ENERGISING,
    Mode.IDLE,
    Mode.ARMED,
    Mode.STREAMING,
    Mode.STOPPING,
    Mode.HOLDING,
]


def bring(session: Session, mode: Mode) -> Session:
    if mode is Mode.STOPPING:
        session.to(Mode.STREAMING).tick(Stop(reason="test"))
    elif mode is Mode.HOLDING:
        session.to(Mode.STREAMING).until(Mode.HOLDING, Stop(reason="test"))
    else:
        session.to(mode)
    assert session.mode is mode
    return session


@pytest.mark.parametrize("firmware", list(Firmware))
def test_a_software_stop_freezes_the_pulses_at_once_and_latches(session: Make, firmware: Firmware) -> None:
    s = session(firmware=firmware, baud=115200).to(Mode.STREAMING)
    s.tick(EmergencyStop(reason="test"))
    frozen_s = s.clock.now_s()
    s.run(1.0)
    assert s.mode is Mode.ESTOP
    last = max(t for t, _, _ in s.pulses)
    assert last <= frozen_s + 2 * FRAME_S
    for request in (s.confirm(), Arm(digest=swing().digest), Start(digest=swing().digest), Stop(reason="test")):
        s.run(0.1, request)
        assert s.mode is Mode.ESTOP
    assert max(t for t, _, _ in s.pulses) == last
    assert said(s, "It is not an emergency stop: cut the power if in doubt")
    s.tick(Reset(by="the test"))
    assert s.mode is Mode.UNKNOWN_POSE
    s.until(Mode.IDLE, s.confirm())


@pytest.mark.parametrize("mode", EVERYWHERE)
def test_a_software_stop_is_taken_in_every_mode(session: Make, mode: Mode) -> None:
    s = bring(session(), mode)
    s.tick(EmergencyStop(reason="test"))
    assert s.mode is Mode.ESTOP
    s.run(0.5)
    last_s = s.clock.now_s()
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    s.run(0.5)
    assert not [t for t, channel, _ in s.pulses if t > last_s and channel != 31]


@pytest.mark.parametrize("mode", EVERYWHERE)
def test_a_pulled_cable_is_a_fault_within_a_fifth_of_a_second_and_a_reset_connects_anew(
    session: Make, mode: Mode
) -> None:
    s = bring(session(), mode)
    s.unplug()
    s.until(Mode.FAULT, within_s=0.2)
    s.run(0.5, Start(digest=swing().digest))
    s.tick(Reset(by="the test"))
    assert s.mode is Mode.FAULT, "the cable is still out"
    s.plug_in()
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    assert s.last.sent is None
    s.until(Mode.IDLE, s.confirm())


def test_a_pulled_cable_does_not_unlatch_a_software_stop(session: Make) -> None:
    s = session().to(Mode.ESTOP)
    s.unplug()
    s.run(0.5)
    assert s.mode is Mode.ESTOP
    s.plug_in()
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    s.until(Mode.IDLE, s.confirm())


@pytest.mark.parametrize("phase_s", [0.0, 0.011, 0.023, 0.037, 0.049])
def test_a_brown_out_in_mid_stream_is_found_by_the_canary_and_nothing_moves_after_it(
    session: Make, phase_s: float
) -> None:
    """Found within 0.3 s: a tenth of it the board is deaf because it boots, and one query is lost to that."""
    s = session().to(Mode.STREAMING)
    s.run(phase_s + 1e-6)
    s.board.power_cycle(s.clock.now_s())
    s.until(Mode.FAULT, within_s=0.3)
    assert said(s, "fault", "the controller restarted (brown-out?)")
    after = len(s.records)
    s.run(3.0, s.confirm(), Arm(digest=swing().digest), Start(digest=swing().digest), Stop(reason="test"))
    assert s.mode is Mode.FAULT, "it never resumes by itself"
    assert not moves(s.records[after - 1 :])
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    s.until(Mode.IDLE, s.confirm())


@pytest.mark.parametrize("mode", [Mode.UNKNOWN_POSE, Mode.ENERGISING, Mode.IDLE, Mode.ARMED, Mode.HOLDING])
def test_a_brown_out_is_found_in_every_mode_that_waits(session: Make, mode: Mode) -> None:
    s = bring(session(), mode)
    s.board.power_cycle(s.clock.now_s())
    s.until(Mode.FAULT, within_s=0.5)
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    s.until(Mode.IDLE, s.confirm())


def test_a_brown_out_while_stopped_by_software_needs_a_new_connection_and_gets_it(session: Make) -> None:
    s = session().to(Mode.ESTOP)
    s.board.power_cycle(s.clock.now_s())
    s.run(1.0)
    assert s.mode is Mode.ESTOP
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    s.until(Mode.IDLE, s.confirm())


def test_one_lost_reply_holds_a_few_lines_back_and_nothing_else(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.line.deaf = True
    while s.bridge._connection.state.line.overdue_s is None:
        s.tick()
    s.line.deaf = False
    s.until(Mode.IDLE)
    assert s.bridge._connection.state.line.lost == 1
    assert said(s, "the motion is done")
    assert [r.sample for r in moves(s.records) if r.sample is not None] == list(range(len(swing())))


def test_silence_holds_before_the_look_ahead_is_over_and_is_a_fault_at_its_age(session: Make) -> None:
    s = session().to(Mode.IDLE)
    motion = plan_joint_move(s.rig, s.rig.park, ELSEWHERE, speed_percent=5)
    s.tick(load(motion, certified(s.rig, motion)), Arm(digest=motion.digest), Start(digest=motion.digest))
    s.line.deaf = True
    s.until(Mode.HOLDING, within_s=0.16)
    assert said(s, "stop: no answer for 0.1 s")
    deaf_s = s.clock.now_s()
    s.until(Mode.FAULT, within_s=2.0)
    assert s.clock.now_s() - deaf_s == pytest.approx(1.4, abs=0.05)
    assert said(s, "fault: no answer for 1.5 s")
    count = len(moves(s.records))
    s.run(2.0)
    assert len(moves(s.records)) == count


def test_a_hung_board_is_a_fault(session: Make) -> None:
    s = session().to(Mode.IDLE)
    s.board.hang(s.clock.now_s())
    s.until(Mode.FAULT, within_s=3.0)


def test_a_line_that_stays_dead_is_told_once_to_freeze_while_stopped_by_software(session: Make) -> None:
    s = session().to(Mode.ESTOP)
    s.line.deaf = True
    s.run(4.0)
    stops = [record for record in s.records if b"STOP" in record.written]
    assert len(stops) == 1
    assert s.mode is Mode.ESTOP


def test_a_board_that_makes_something_else_than_it_was_sent_is_a_fault_at_the_second_look(session: Make) -> None:
    s = session().to(Mode.STREAMING)

    def lie(data: bytes) -> bytes:
        return bytes([data[0] - 40, *data[1:]]) if len(data) == 7 else data

    s.line.lie = lie
    s.until(Mode.FAULT, within_s=0.1)
    assert said(s, "fault", "commands arrive damaged: base should be at", "Mend the line before anything moves")


def test_a_report_that_has_parted_from_the_shadow_stops_the_motion(session: Make) -> None:
    """An offset in an old board, which its echo is allowed to show."""
    s = session(firmware=Firmware.V1)
    s.tick()
    s.line.lie = lambda data: bytes([max(data[0] - 10, 0), *data[1:]]) if len(data) == 7 else data
    s.to(Mode.IDLE)
    s.run(1.0)
    assert said(s, "base: the board repeats -95 us beside what it is sent")
    s.tick(load(swing(), certified(s.rig, swing())), Arm(digest=swing().digest), Start(digest=swing().digest))
    s.until(Mode.STOPPING, within_s=0.6)
    assert said(s, "stop: base: the controller reports", "they have parted. Look at the arm and the line")
    s.until(Mode.HOLDING, within_s=s.bridge.stop_time_s)


def test_a_stalled_servo_is_invisible_to_an_echo(session: Make) -> None:
    """The board repeats its own pulse; only an eye, or a servo that measures, sees this."""
    s = session().to(Mode.ARMED)
    s.bench.stall(s.settings.axes[0].channel, s.clock.now_s())
    s.until(Mode.IDLE, Start(digest=swing().digest))
    s.run(1.0)
    assert said(s, "the motion is done")
    assert s.last.reported is not None
    assert s.last.reported.positions[0] == pytest.approx(80 * DEG, abs=1.1 * DEG)
    assert s.bench.position(s.settings.axes[0].channel, s.clock.now_s()) == pytest.approx(0.0, abs=0.1 * DEG)


def test_one_command_that_did_not_fit_on_the_line_is_sent_with_the_next_tick(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    begin_s = s.clock.now_s()
    s.line.refusals = 1
    s.until(Mode.IDLE)
    assert said(s, "the motion is done")
    assert [r.sample for r in moves(s.records) if r.sample is not None] == list(range(len(swing())))
    assert all(largest_step_us(s, i, begin_s) <= allowed_step_us(s.rig, i) for i in range(6))


def test_a_line_that_takes_nothing_three_times_is_a_fault(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.line.refusals = 1000
    s.until(Mode.FAULT, within_s=0.2)
    assert said(s, "3 commands in a row did not fit on the line")
    s.line.refusals = 0
    count = len(moves(s.records))
    s.run(1.0)
    assert len(moves(s.records)) == count


def test_commands_that_do_not_fit_now_and_then_are_no_fault(session: Make) -> None:
    """Three in a row are; two, and two again after one that left, are the machine's own unrest."""
    s = session().to(Mode.STREAMING)
    for _ in range(3):
        s.line.refusals = 2
        s.run(3 * s.rig.period_s)
        assert s.line.refusals == 0
    s.until(Mode.IDLE)
    assert said(s, "the motion is done")
    assert not said(s, "fault")


def test_a_stop_ramp_that_the_guard_refuses_is_frozen(session: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing gentler left than to have the board stop where it is."""
    s = session().to(Mode.STREAMING)
    check = Guard.check

    def refusing(guard: Guard, wanted: JointCommand) -> GuardVerdict:
        verdict = check(guard, wanted)
        if s.mode is not Mode.STOPPING:
            return verdict
        hit = LimitHit(check="E-03 speed", axis="base", requested=9.0, allowed=1.0)
        return GuardVerdict(command=wanted, hits=(hit,))

    monkeypatch.setattr(Guard, "check", refusing)
    s.tick(Stop(reason="test"))
    s.until(Mode.FAULT, within_s=2 * s.rig.period_s)
    assert said(s, "the guard refused the stop ramp: base [E-03 speed] 9, allowed 1")
    assert any(b"STOP" in record.written for record in s.records[-3:])


def test_what_was_reported_before_the_pulses_last_changed_is_not_adopted(session: Make) -> None:
    """A freeze takes a frame of the board: a report from before it may be where the arm is no more."""
    s = session().to(Mode.ARMED)
    s.tick(Start(digest=swing().digest))
    s.tick(EmergencyStop(reason="test"), Reset(by="the test"), s.confirm())
    frozen_s = s.clock.now_s()
    assert s.mode is Mode.UNKNOWN_POSE
    s.until(Mode.ENERGISING, within_s=0.5)
    assert s.last.reported is not None and s.last.reported.t_s >= frozen_s + FRAME_S


def test_a_report_that_is_old_by_itself_is_not_adopted(session: Make) -> None:
    """Nothing has moved since; but who says that the controller is still there?"""
    s = session().to(Mode.UNKNOWN_POSE)
    s.run(0.2)
    s.line.deaf = True
    s.run(0.3)
    s.tick(s.confirm())
    s.run(CONFIRM_S + 0.1)
    assert s.mode is Mode.UNKNOWN_POSE
    assert any("has not said twice alike" in event for event in s.events)


def test_a_dead_line_in_mid_stop_is_a_fault(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    s.tick(Stop(reason="test"))
    s.unplug()
    s.until(Mode.FAULT, within_s=0.1)


@pytest.mark.parametrize("mode", [mode for mode in EVERYWHERE if mode not in WRITING])
def test_a_mode_that_does_not_write_moves_nothing_however_long_it_lasts(session: Make, mode: Mode) -> None:
    s = bring(session(), mode)
    s.run(UNTIL_QUIET_S)
    count = len([change for change in s.pulses if change[1] != 31])
    s.run(5.0)
    assert len([change for change in s.pulses if change[1] != 31]) == count


def test_the_first_move_names_each_axis_once_and_streaming_names_them_all(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    firsts = [r.sent.axis for r in s.records if isinstance(r.sent, EnergiseCommand)]
    assert firsts == list(s.rig.energise_order)
    assert all(len(r.sent.positions) == 6 for r in s.records if isinstance(r.sent, JointCommand))


def test_what_is_recorded_as_sent_is_what_the_pulses_stand_for(session: Make) -> None:
    s = session().to(Mode.STREAMING)
    for record in s.records:
        if isinstance(record.sent, JointCommand) and isinstance(record.wanted, JointCommand):
            assert record.sent.positions == tuple(s.settings.quantise(np.array(record.wanted.positions)).tolist())
