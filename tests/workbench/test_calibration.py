"""Calibrating: a scripted operator, who sees only what a person sees, at arms that are not what their rig says."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from calibration_bench import Operator, Table, go_through, true_arm, worst_error
from hypothesis import given
from hypothesis import strategies as st

from drivers._ssc32_channels import STEP_US
from drivers.ssc32 import Ssc32Settings
from hil.errors import ConfigError, ControllerError, InterlockError, LinkTimeout
from hil.model._calibration_file import AxisCalibration
from hil.model.files import bundled_dir
from hil.model.rig import AdapterIdentity, Rig
from hil.runtime import channel_wiring, wiring
from hil.types import ControllerIdentity
from hil.units import DEG
from hil.workbench._calibration_servos import WINDOW_US
from hil.workbench.calibration import (
    CalibrationStoppedError,
    Plan,
    Progress,
    Question,
    calibrate,
    calibrated,
    centre,
    plan_calibration,
    residuals,
)
from hil.workbench.drafts import Draft, read_draft, write_calibration, write_draft

OFF_US = {"base": 60.0, "shoulder": -45.0, "elbow": 45.0, "wrist": -50.0, "wrist_rotate": 70.0, "gripper": -30.0}
STEP = STEP_US * 0.125
"""What a step of a servo may make of a joint: eight microseconds per degree is the least that is found."""
NOW = datetime.datetime(2026, 11, 28, 10, 0, tzinfo=datetime.UTC)
DESK_3 = AdapterIdentity(serial_number="A50285BI", place="USB 1-1.2")


@pytest.fixture(scope="module")
def lynx6() -> Rig:
    return wiring.load_rig(bundled_dir() / "rigs/lynx6.toml", calibrated=False)


@pytest.fixture(scope="module")
def plan(lynx6: Rig) -> Plan:
    return plan_calibration(lynx6, channel_wiring.channels_of(lynx6))


@pytest.fixture(scope="module")
def crooked(lynx6: Rig) -> Rig:
    """Elbow on its head, base and wrist plugged in the wrong way round, and every horn off by up to seven degrees."""
    return true_arm(lynx6, reversed_=("elbow",), swapped=(("base", "wrist"),), off_us=OFF_US)


@pytest.fixture(scope="module")
def measured(plan: Plan, lynx6: Rig, crooked: Rig) -> dict[str, AxisCalibration]:
    """What comes of it without any incident."""
    table = Table(lynx6, crooked)
    found: dict[str, AxisCalibration] = go_through(calibrate(plan, Progress()), table, Operator(table))
    return found


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user's folders of their own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_good(rig: Rig, true: Rig, found: dict[str, AxisCalibration]) -> None:
    assert isinstance(true.controller, Ssc32Settings)
    assert set(found) == {axis.name for axis in rig.axes}
    for wire in true.controller.axes:
        assert found[wire.name].channel == wire.channel
        assert found[wire.name].direction == ("rising" if wire.points[-1][1] > wire.points[0][1] else "falling")
        assert worst_error(rig, true, wire.name, found[wire.name]) <= 1.0, wire.name


def assert_small_moves(table: Table, first: float = 0.01) -> None:
    """No joint has ever moved by more than one step between two commands, the first move included."""
    assert max(table.first_jumps, default=0.0) <= 1.001 * first * DEG
    assert max(itertools.chain.from_iterable(table.moved)) <= max(STEP, first)


# -- the whole way ---------------------------------------------------------------------------------------


def test_from_horns_off_to_one_degree_with_small_moves_alone(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked, mounted=False)
    go_through(centre(plan), table, Operator(table))
    assert sorted(table.targets) == [(channel, 1500, False) for channel in sorted(table.channels)]
    table.mount()
    table.line.close()
    table.line = table.connect()
    operator = Operator(table)
    found = go_through(calibrate(plan, Progress()), table, operator)
    assert_good(lynx6, crooked, found)
    assert_small_moves(table)
    assert not any(kind == "place" for kind in (question.kind for question, _ in operator.asked))


def test_a_limp_arm_that_a_person_brought_near_the_middle_jumps_by_no_more_than_the_hand_was_off(
    plan: Plan, lynx6: Rig, crooked: Rig
) -> None:
    table = Table(lynx6, crooked, by_hand=2.0)
    assert_good(lynx6, crooked, go_through(calibrate(plan, Progress()), table, Operator(table)))
    assert_small_moves(table, first=2.0)


@pytest.mark.parametrize("name", ["lynx6-4axis", "al5d"])
def test_other_arms_too(name: str) -> None:
    rig = wiring.load_rig(name, calibrated=False)
    true = true_arm(rig, reversed_=("base",), swapped=(("wrist", "gripper"),), off_us={"base": 40.0, "wrist": -25.0})
    table = Table(rig, true)
    steps = calibrate(plan_calibration(rig, channel_wiring.channels_of(rig)), Progress())
    assert_good(rig, true, go_through(steps, table, Operator(table)))
    assert_small_moves(table)


def test_every_move_is_a_step_of_one_channel_and_the_window_widens_only_after_somebody_looked(
    plan: Plan, lynx6: Rig, crooked: Rig
) -> None:
    table = Table(lynx6, crooked)
    looked: dict[int, tuple[int, int]] = {}

    def look(question: Question) -> None:
        for channel, pulse_us, _ in table.targets:
            low_us, high_us = looked.get(channel, (pulse_us, pulse_us))
            assert low_us - WINDOW_US <= pulse_us <= high_us + WINDOW_US
        for channel, pulse_us, _ in table.targets:
            low_us, high_us = looked.get(channel, (pulse_us, pulse_us))
            looked[channel] = (min(low_us, pulse_us), max(high_us, pulse_us))
        before = {channel: pulse_us for channel, pulse_us, _ in table.targets}
        table.targets[:] = [(channel, pulse_us, True) for channel, pulse_us in before.items()]

    go_through(calibrate(plan, Progress()), table, Operator(table, before=look))
    assert len(looked) == len(table.channels)


def test_the_arm_ends_where_it_began(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    before = table.positions()
    go_through(calibrate(plan, Progress()), table, Operator(table))
    assert table.positions() == pytest.approx(before, abs=0.02)


# -- stopping --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 3, 6, 9, 12, 14, 20, 37, 66, 101, 140])
def test_a_stop_at_any_question_holds_the_arm_and_the_next_run_goes_on_without_a_jump(
    plan: Plan, lynx6: Rig, crooked: Rig, number: int
) -> None:
    table = Table(lynx6, crooked)
    kept = [Progress()]
    count = itertools.count()
    with pytest.raises(CalibrationStoppedError, match="kept"):
        stopping = Operator(table, before=lambda question: "stop" if next(count) == number else None)
        go_through(calibrate(plan, kept[-1]), table, stopping, kept.append)
    table.line.stop()
    table.line.close()
    held = table.positions()
    table.line = table.connect()
    assert table.positions() == pytest.approx(held, abs=0.05)
    operator = Operator(table)
    assert_good(lynx6, crooked, go_through(calibrate(plan, kept[-1]), table, operator))
    assert_small_moves(table)
    assert len(operator.asked) < 185 - number


def test_ctrl_c_in_the_middle_of_a_move_freezes_it_and_the_next_run_goes_on(
    plan: Plan, lynx6: Rig, crooked: Rig
) -> None:
    table = Table(lynx6, crooked)
    kept = [Progress()]
    reads = itertools.count()
    real = table.line._link.read

    def interrupted(now_s: float):  # type: ignore[no-untyped-def]
        if next(reads) == 3000:
            raise KeyboardInterrupt
        return real(now_s)

    table.line._link.read = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        go_through(calibrate(plan, kept[-1]), table, Operator(table), kept.append)
    table.line.stop()
    table.line.close()
    table.clock.sleep_until(table.clock.now_s() + 0.5)
    held = table.positions()
    table.clock.sleep_until(table.clock.now_s() + 5.0)
    assert table.positions() == pytest.approx(held, abs=0.01)
    table.line = table.connect()
    assert_good(lynx6, crooked, go_through(calibrate(plan, kept[-1]), table, Operator(table)))
    assert_small_moves(table)


@pytest.mark.parametrize(("still_s", "goes_on"), [(0.7, True), (1.1, False)])
def test_a_move_in_whose_middle_it_stood_still_does_not_go_on_by_itself(
    still_s: float, goes_on: bool, lynx6: Rig, crooked: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(lynx6, crooked)
    channel = table.channels[0]
    table.line.drive(channel, 1500)
    step = table.line._link.step
    steps = itertools.count()

    def suspended(channel: int, pulse_us: int, now_s: float) -> float:
        arrives_s = step(channel, pulse_us, now_s)
        if next(steps) == 2:
            table.clock.sleep_until(arrives_s + still_s)
        return arrives_s

    monkeypatch.setattr(table.line._link, "step", suspended)
    if goes_on:
        table.line.move(channel, 1600)
    else:
        with pytest.raises(InterlockError, match=r"was suspended for 1\.[0-9] s in the middle of a move"):
            table.line.move(channel, 1600)
    assert next(steps) == (5 if goes_on else 3)


@pytest.mark.parametrize("at", ["the report before", "the rest after"])
def test_nor_does_the_next_move_of_the_same_answer_begin(
    at: str, lynx6: Rig, crooked: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There and back is two moves, and between them it only looks."""
    table = Table(lynx6, crooked)
    channel = table.channels[0]
    table.line.drive(channel, 1500)
    sent: list[int] = []
    step = table.line._link.step
    monkeypatch.setattr(table.line._link, "step", lambda *given: sent.append(given[1]) or step(*given))
    if at == "the report before":
        table.clock.sleep_until(table.clock.now_s() + 1.1)
    else:
        table.line._moved = lambda: table.clock.sleep_until(table.clock.now_s() + 1.1)
        table.line.move(channel, 1540)
    with pytest.raises(InterlockError, match="was suspended"):
        table.line.move(channel, 1500)
    assert sent == ([] if at == "the report before" else [1520, 1540])


def test_whoever_was_waited_for_may_take_an_hour(lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    channel = table.channels[0]
    for pulse_us in (1500, 1540):
        table.clock.sleep_until(table.clock.now_s() + 3600.0)
        table.line.attended()
        (table.line.drive if pulse_us == 1500 else table.line.move)(channel, pulse_us)
    assert table.line.report()[channel] == 1540


def test_a_draft_is_read_back_as_it_was_written(home: Path, lynx6: Rig, plan: Plan) -> None:
    progress = Progress(
        held={1: 1512}, channels={"base": 3}, directions={"base": "rising"}, points={"base": ((1.5, 3),)}
    )
    written = Draft(
        rig="lynx6", adapter=DESK_3, only=None, saved="2026-11-28", progress=progress, rig_digest=lynx6.digest
    )
    write_draft(written)
    assert read_draft(lynx6, plan, DESK_3, None) == written
    assert read_draft(lynx6, plan, None, None) is None


HERE = ControllerIdentity(facts=(("R32", "0"), ("version", "2.03")))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"adapter": AdapterIdentity(serial_number="B2")},
            r"at another adapter: then adapter B2, now adapter A50285BI",
        ),
        ({"only": "base"}, r"of joint base alone, not of all joints"),
        ({"rig_digest": ""}, r"by an older version"),
        ({"rig_digest": "0" * 64}, r"by a rig that is another one now"),
        ({"progress": Progress(done=("knee",))}, r"by a rig that is another one now"),
        ({"progress": Progress(channels={"base": 31})}, r"with channels that are not named now: 31"),
        ({"controller": ControllerIdentity(facts=(("R32", "40"),))}, r"the board is another one.*R32 was '40', is '0'"),
    ],
)
def test_a_draft_of_something_else_is_refused_in_words(
    home: Path, lynx6: Rig, plan: Plan, change: dict[str, Any], words: str
) -> None:
    """Another adapter, board or rig, or an older version: nothing that was measured then is taken over."""
    mine = Draft(
        rig="lynx6", adapter=DESK_3, only=None, saved="2026-11-28", progress=Progress(), rig_digest=lynx6.digest
    )
    write_draft(msgspec.structs.replace(mine, **change))
    with pytest.raises(InterlockError, match=f"begun here, last touched 2026-11-28, but .*{words}"):
        read_draft(lynx6, plan, DESK_3, None, HERE)


def test_what_a_board_did_not_say_is_no_reason_to_refuse_a_draft(home: Path, lynx6: Rig, plan: Plan) -> None:
    said = ControllerIdentity(facts=(("version", "2.03"), ("R33", "9")))
    mine = Draft(
        rig="lynx6",
        adapter=DESK_3,
        only=None,
        saved="d",
        progress=Progress(),
        rig_digest=lynx6.digest,
        controller=said,
    )
    write_draft(mine)
    assert read_draft(lynx6, plan, DESK_3, None, HERE) == mine
    assert read_draft(lynx6, plan, DESK_3, None, None) == mine


def test_a_draft_that_cannot_be_read_is_not_taken_for_none(home: Path, lynx6: Rig, plan: Plan) -> None:
    file = home / "state/hil/drafts/lynx6.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    with pytest.raises(InterlockError, match=r"lynx6\.json: a calibration was begun here, and cannot be read"):
        read_draft(lynx6, plan, DESK_3, None)


# -- slips of the operator -------------------------------------------------------------------------------


def slip(kind: str, axis: str, answers: list[str]) -> Callable[[Question], str | None]:
    """Gives these answers, in this order, to the first questions of this kind on this axis."""

    def before(question: Question) -> str | None:
        return answers.pop(0) if answers and question.kind == kind and question.axis == axis else None

    return before


def test_a_direction_that_was_seen_wrongly_is_found_by_the_first_measurements(
    plan: Plan, lynx6: Rig, crooked: Rig
) -> None:
    """A flag that is wrong drives a joint into its stop: the points contradict it, and nothing is written."""
    table = Table(lynx6, crooked)
    directions = iter(["+"])
    told_off = iter(["direction"])

    def before(question: Question) -> str | None:
        if question.kind == "direction" and question.axis == "elbow":
            return next(directions, None)
        if question.kind == "measure" and question.axis == "elbow" and "against the direction" in operator.told[-1]:
            return next(told_off, None)
        return None

    operator = Operator(table, before)
    assert_good(lynx6, crooked, go_through(calibrate(plan, Progress()), table, operator))
    assert next(told_off, None) is None
    assert_small_moves(table)


def test_a_sign_that_was_forgotten_is_refused_with_the_direction_in_words(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    wrong = iter(["= -45", "= nan", "= 1000", "= ", "what?"])
    operator = Operator(
        table,
        lambda question: (
            next(wrong, None)
            if question.axis == "wrist" and question.reference == 45.0 and "it is there" in question.text
            else None
        ),
    )
    assert_good(lynx6, crooked, go_through(calibrate(plan, Progress()), table, operator))
    said = "\n".join(operator.told)
    assert "against the direction you saw" in said
    assert "goes from -88.0 deg to 88.0 deg" in said
    assert "'what?': allowed: = 44.5 (so many deg were measured), Enter or go" in said


def test_a_misread_scale_is_refused_by_the_usual_slope(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    wrong = iter(["= 170"])
    operator = Operator(
        table,
        lambda question: (
            next(wrong, None) if question.axis == "wrist" and "near 45.0 deg, it is there" in question.text else None
        ),
    )
    go_through(calibrate(plan, Progress()), table, operator)
    assert any("us per deg, where about" in text for text in operator.told)


def test_a_first_measurement_far_from_the_middle_is_doubted(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    wrong = iter(["= 60"])
    operator = Operator(
        table,
        lambda question: next(wrong, None) if question.axis == "base" and question.kind == "measure" else None,
    )
    assert_good(lynx6, crooked, go_through(calibrate(plan, Progress()), table, operator))
    assert any("should be near -4.2 deg" in text for text in operator.told)


def test_two_channels_under_one_name_are_both_looked_at_again(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    wrong = iter(["base"])
    operator = Operator(table, lambda question: next(wrong, None) if question.kind == "which" else None)
    assert_good(lynx6, crooked, go_through(calibrate(plan, Progress()), table, operator))
    assert any("look at both once more" in text for text in operator.told)


def test_a_joint_that_no_channel_moves_is_named_with_what_to_do(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    operator = Operator(table, lambda question: "skip" if question.channel == 5 else None)
    with pytest.raises(InterlockError, match=r"no channel moves wrist_rotate.*--channels"):
        go_through(calibrate(plan, Progress()), table, operator)


def test_too_few_points_are_not_enough(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    hasty = iter(["done"])
    operator = Operator(
        table,
        lambda question: next(hasty, None) if question.axis == "shoulder" and question.reference else None,
    )
    assert_good(lynx6, crooked, go_through(calibrate(plan, Progress()), table, operator))
    assert any("needed: two or more" in text for text in operator.told)


def test_a_board_that_restarts_ends_it_with_nothing_more_sent(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    count = itertools.count()

    def cut(question: Question) -> None:
        if next(count) == 30:
            table.board.power_cycle(table.clock.now_s())

    with pytest.raises(ControllerError, match="restarted"):
        go_through(calibrate(plan, Progress()), table, Operator(table, cut))


def test_another_program_that_moves_the_arm_meanwhile_is_noticed(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    count = itertools.count()

    def meddle(question: Question) -> None:
        if next(count) == 20:
            table.board.receive(b"#1P1900\r", table.clock.now_s(), table.board.byte_s)

    with pytest.raises(ControllerError, match=r"channel 1 .* the board makes 1900 us.*another program"):
        go_through(calibrate(plan, Progress()), table, Operator(table, meddle))


def test_a_board_that_falls_silent_between_two_steps_gets_no_further_one(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    table = Table(lynx6, crooked)
    receive, timed = table.board.receive, itertools.count(1)

    def hang_after_three(data: bytes, start_s: float, byte_s: float, *framing: Any) -> None:
        receive(data, start_s, byte_s, *framing)
        if b"T" in data and next(timed) == 3:
            table.board.hang(start_s + len(data) * byte_s)

    table.board.receive = hang_after_three  # type: ignore[method-assign]
    with pytest.raises(LinkTimeout, match="does not answer any more; nothing more was sent"):
        go_through(calibrate(plan, Progress()), table, Operator(table))
    assert next(timed) == 4


# -- one joint -------------------------------------------------------------------------------------------


def test_one_joint_is_redone_without_moving_any_other(
    home: Path, lynx6: Rig, crooked: Rig, measured: dict[str, AxisCalibration]
) -> None:
    write_calibration(lynx6, measured, operator="A. Tester", adapter=None, port="fake", now=NOW)
    rig = wiring.load_rig("lynx6")
    moved = true_arm(crooked, off_us={"wrist": 35.0})
    table = Table(lynx6, moved)
    again = plan_calibration(rig, channel_wiring.channels_of(rig))
    channels = {axis.name: axis.channel for axis in again.axes}
    found = go_through(calibrate(again, Progress(channels=channels), "wrist"), table, Operator(table))
    assert list(found) == ["wrist"]
    assert {channel for channel, _, _ in table.targets} == {0}
    assert worst_error(lynx6, moved, "wrist", found["wrist"]) <= 1.0


# -- numbers ---------------------------------------------------------------------------------------------


@given(st.floats(-50, 50), st.floats(5, 20), st.sampled_from((-1, 1)))
def test_points_on_a_straight_line_have_no_residuals(at: float, slope: float, sign: int) -> None:
    points = tuple((at + us / slope * sign, us) for us in (700, 1100, 1500, 1900))
    assert residuals(points) == pytest.approx((0.0,) * 4, abs=1e-3)


def test_limits_are_narrowed_to_what_was_measured_and_pulses_lie_just_outside_them(plan: Plan) -> None:
    base = plan.axis("base")
    points = ((-60.0, 2100), (0.0, 1500), (60.0, 900))
    progress = Progress(channels={"base": 0}, directions={"base": "falling"}, points={"base": points})
    found = calibrated(base, progress)
    assert (found.lower, found.upper) == (-70.5, 70.5)
    assert (found.lower_us, found.upper_us) == (795, 2205)


def test_positive_directions_are_told_as_a_bystander_sees_them(plan: Plan) -> None:
    words = {axis.name: axis.positive for axis in plan.axes}
    assert words["base"] == "it turns counter-clockwise, seen from above"
    assert words["shoulder"] == "the hand moves back, over the base"
    assert words["gripper"] == "the fingers open"
    al5d = wiring.load_rig("al5d", calibrated=False)
    other = plan_calibration(al5d, channel_wiring.channels_of(al5d))
    assert other.axis("base").positive == "it turns clockwise, seen from above"


# -- files -----------------------------------------------------------------------------------------------


def test_the_file_is_laid_over_the_rig_and_its_digest_covers_it(
    home: Path, lynx6: Rig, crooked: Rig, measured: dict[str, AxisCalibration]
) -> None:
    path = write_calibration(lynx6, measured, operator="Zoë", adapter=DESK_3, port="/dev/ttyUSB0", now=NOW)
    assert path.name == "lynx6-2026-11-28.toml"
    rig = wiring.load_rig("lynx6")
    assert rig.calibration is not None and rig.calibration.operator == "Zoë"
    assert rig.adapter_serial == "A50285BI"
    assert rig.digest != lynx6.digest
    assert isinstance(rig.controller, Ssc32Settings) and isinstance(crooked.controller, Ssc32Settings)
    assert rig.controller.axes[0].channel == crooked.controller.axes[0].channel == 3
    pulse_us = rig.controller.pulse_us(0, 0.5)
    assert crooked.controller.position(0, pulse_us) == pytest.approx(0.5, abs=1.0 * DEG)
    assert msgspec.json.decode(msgspec.json.encode(rig))["calibration"]["id"] == "lynx6-2026-11-28"


def test_the_newest_counts_and_one_of_a_fake_never_replaces_one_of_an_arm(
    home: Path, lynx6: Rig, measured: dict[str, AxisCalibration]
) -> None:
    def write(adapter: AdapterIdentity | None, day: int) -> str:
        now = NOW.replace(day=day)
        return write_calibration(lynx6, measured, operator="A", adapter=adapter, port="p", now=now).stem

    def in_force() -> str | None:
        note = wiring.load_rig("lynx6").calibration
        return None if note is None else note.id

    assert in_force() is None
    assert in_force() == write(None, 2) or in_force() == "lynx6-2026-11-02"
    assert write(DESK_3, 1) == in_force() == "lynx6-2026-11-01"
    write(None, 3)
    assert in_force() == "lynx6-2026-11-01"
    names = [write(DESK_3, 1) for _ in range(10)]
    assert names[-1] == in_force() == "lynx6-2026-11-01-11"


def test_a_rig_may_name_its_calibration_but_not_that_of_another_arm(
    home: Path, lynx6: Rig, measured: dict[str, AxisCalibration]
) -> None:
    write_calibration(lynx6, measured, operator="A", adapter=DESK_3, port="p", now=NOW)
    folder = home / "config/hil/rigs"
    folder.mkdir(parents=True)
    (folder / "fast.toml").write_text('inherit = "lynx6"\ncalibration = "lynx6-2026-11-28"\n')
    (folder / "other.toml").write_text('inherit = "al5d"\ncalibration = "lynx6-2026-11-28"\n')
    (folder / "heir.toml").write_text('inherit = "fast"\n')
    assert wiring.load_rig("fast").calibration is not None
    assert wiring.load_rig("heir").calibration is None
    with pytest.raises(ConfigError, match="'lynx6' given; allowed: 'other'"):
        wiring.load_rig("other")


BAD = {
    "a pulse of 0": ("points_deg_us = [[-85, ", "points_deg_us = [[-86, 0], [-85, ", "axis.base.points_deg_us"),
    "points that do not run one way": ("[[-85, ", "[[-86, 1500], [-85, ", "axis.base.points_deg_us"),
    "a direction that was flipped": ('direction = "falling"', 'direction = "rising"', "axis.base.direction"),
    "a missing axis": ("[axis.gripper]", "[axis.grip]", "axis"),
    "a missing entry": ("channel = 3\n", "", "axis.base.channel"),
    "a channel given twice": ("channel = 3\n", "channel = 1\n", "axis.shoulder.channel"),
    "another rig": ('rig = "lynx6"', 'rig = "lynx6-4"', "rig"),
    "a number that is none": ("[[-85, ", "[[nan, 2450], [-85, ", "axis.base.points_deg_us.0.0"),
    "no adapter": ("[adapter]", "[adaptor]", "adaptor"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_calibration_that_cannot_be_is_refused_with_file_and_key(
    home: Path, lynx6: Rig, measured: dict[str, AxisCalibration], what: str
) -> None:
    old, new, key = BAD[what]
    path = write_calibration(lynx6, measured, operator="A", adapter=DESK_3, port="p", now=NOW)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        wiring.load_rig("lynx6")
    assert caught.value.file == str(path)
    assert caught.value.key.startswith(key)


def test_a_calibration_of_another_adapter_is_refused(
    home: Path, lynx6: Rig, measured: dict[str, AxisCalibration]
) -> None:
    write_calibration(lynx6, measured, operator="A", adapter=DESK_3, port="p", now=NOW)
    folder = home / "config/hil/rigs"
    folder.mkdir(parents=True)
    text = 'inherit = "lynx6"\ncalibration = "lynx6-2026-11-28"\nadapter_serial = "FT9"\n'
    (folder / "desk-4.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"'A50285BI' given; allowed: 'FT9', to which rig desk-4 is bound"):
        wiring.load_rig("desk-4")


def test_a_calibration_with_which_the_rig_cannot_be_used_is_not_written(
    home: Path, lynx6: Rig, measured: dict[str, AxisCalibration]
) -> None:
    narrow = msgspec.structs.replace(measured["base"], lower=10.0)
    with pytest.raises(ConfigError, match="what was measured"):
        write_calibration(lynx6, {**measured, "base": narrow}, operator="A", adapter=DESK_3, port="p", now=NOW)
    assert not (home / "config/hil/calibrations").exists()


def test_the_proof_finds_nothing_wrong_with_what_was_written(
    home: Path, lynx6: Rig, measured: dict[str, AxisCalibration]
) -> None:
    from hil.workbench.prove import prove

    write_calibration(lynx6, measured, operator="A", adapter=DESK_3, port="p", now=NOW)
    proof = prove(wiring.load_rig("lynx6"), seconds=0.0, seed=1, now_s=lambda: math.inf)
    assert proof.ok, proof.counter_example
