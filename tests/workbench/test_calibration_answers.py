"""What a calibration takes for an answer: how few do, several in one, which move, and how one is taken back."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest
from calibration_bench import STEPS, Operator, Table, go_through, true_arm, worst_error
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.model.files import bundled_dir
from hil.model.rig import Rig
from hil.runtime import channel_wiring, wiring
from hil.workbench._calibration_answers import Act, parse_answer
from hil.workbench._calibration_past import Known, Past
from hil.workbench._calibration_servos import WINDOW_US
from hil.workbench.calibration import (
    UNSURE_STEPS,
    CalibrationStoppedError,
    Glance,
    Plan,
    Progress,
    Question,
    Report,
    calibrate,
    carry_out,
    plan_calibration,
)

MOST_ANSWERS = 60
OFF_US = {"base": 60.0, "shoulder": -45.0, "elbow": 45.0, "wrist": -50.0, "wrist_rotate": 70.0, "gripper": -30.0}


@pytest.fixture(scope="module")
def lynx6() -> Rig:
    return wiring.load_rig(bundled_dir() / "rigs/lynx6.toml", calibrated=False)


@pytest.fixture(scope="module")
def plan(lynx6: Rig) -> Plan:
    return plan_calibration(lynx6, channel_wiring.channels_of(lynx6))


@pytest.fixture(scope="module")
def crooked(lynx6: Rig) -> Rig:
    return true_arm(lynx6, reversed_=("elbow",), swapped=(("base", "wrist"),), off_us=OFF_US)


@pytest.fixture(scope="module")
def plain(plan: Plan, lynx6: Rig, crooked: Rig) -> tuple[Operator, dict[str, Any]]:
    """The whole way by somebody who is brief, without any slip: who answered, and what came of it."""
    table = Table(lynx6, crooked)
    operator = Operator(table, brief=True)
    return operator, go_through(calibrate(plan, Progress()), table, operator)


# -- how few ---------------------------------------------------------------------------------------------


def test_six_axes_from_limp_to_measured_take_at_most_sixty_answers(
    plan: Plan, plain: tuple[Operator, dict[str, Any]]
) -> None:
    operator, found = plain
    sys.stdout.write(f"{len(operator.asked)} answers for {len(found)} axes that were limp at the beginning\n")
    assert len(found) == 6
    assert len(operator.asked) <= MOST_ANSWERS
    assert all(len(axis.points) >= 3 for axis in found.values())
    assert all(len(found[axis.name].points) >= 5 for axis in plan.axes if axis.unit == "deg")


def test_each_question_of_a_joint_says_which_of_how_many_it_is(
    plan: Plan, plain: tuple[Operator, dict[str, Any]]
) -> None:
    numbers = {axis.name: f"joint {number} of 6, {axis.name}: " for number, axis in enumerate(plan.axes, start=1)}
    asked = [question for question, _ in plain[0].asked if question.kind in ("measure", "direction")]
    assert asked and all(question.text.startswith(numbers[question.axis]) for question in asked)
    which = [question.text for question, _ in plain[0].asked if question.kind == "which"]
    assert [f"({number} of 6)" in text for number, text in enumerate(which, start=1)] == [True] * 6


def test_a_sign_behind_the_name_spares_the_question_for_the_direction(
    plan: Plan, lynx6: Rig, crooked: Rig, plain: tuple[Operator, dict[str, Any]]
) -> None:
    signs = {question.axis: answer for question, answer in plain[0].asked if question.kind == "direction"}
    names = {question.channel: answer for question, answer in plain[0].asked if question.kind == "which"}

    def signed(question: Question) -> str | None:
        if question.kind != "which":
            return None
        operator._watched.clear()
        return f"{names[question.channel]} {signs[names[question.channel]]}"

    table = Table(lynx6, crooked)
    operator = Operator(table, signed, brief=True)
    assert go_through(calibrate(plan, Progress()), table, operator) == plain[1]
    assert not [question for question, _ in operator.asked if question.kind == "direction"]
    assert len(operator.asked) < len(plain[0].asked)


# -- several in one --------------------------------------------------------------------------------------

NUMBERS = st.floats(-180, 180).map(lambda number: round(number, 1))
PARTS = st.one_of(
    NUMBERS.map(lambda number: (f"= {number}", Act("measured", number))),
    NUMBERS.map(lambda number: (f"={number:+}", Act("measured", number))),
    st.integers(1, 99).map(lambda steps: (f"go {steps}", Act("go", steps))),
    NUMBERS.map(lambda number: (f"{number:+}", Act("by", number))),
    st.sampled_from((("skip", Act("skip")), ("done", Act("done")), ("+", Act("by", 1.0)), ("-", Act("by", -1.0)))),
)


@given(st.lists(PARTS, min_size=1, max_size=4))
def test_the_parts_of_an_answer_are_taken_in_their_order(parts: list[tuple[str, Act]]) -> None:
    assert parse_answer("  ".join(text for text, _ in parts)) == tuple(act for _, act in parts)


@given(st.floats(0, 1e6).map(str) | st.integers(0, 9999).map(str), st.lists(PARTS, max_size=2))
def test_a_bare_number_is_neither_measured_nor_a_move(number: str, parts: list[tuple[str, Act]]) -> None:
    """It could be meant as both, and one of them moves the arm."""
    assert parse_answer(" ".join([number, *(text for text, _ in parts)])) is None


@given(st.text(max_size=12))
def test_whatever_is_typed_is_understood_as_a_whole_or_not_at_all(text: str) -> None:
    acts = parse_answer(text.strip().lower())
    assert acts is None or (len(acts) >= 1 and all(abs(act.number) < float("inf") for act in acts))


def test_decimal_commas_and_an_empty_answer() -> None:
    assert parse_answer("= 44,5 go 4") == (Act("measured", 44.5), Act("go", 4))
    assert parse_answer("") == parse_answer("go") == (Act("go", 1),)
    assert parse_answer("go 0") is parse_answer("go 100") is parse_answer("=") is parse_answer("= nan") is None


def test_what_is_refused_takes_the_rest_of_its_answer_with_it(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    """A measurement that cannot be does not send the joint on."""
    table = Table(lynx6, crooked)
    where: list[int] = []

    def slip(question: Question) -> str | None:
        if question.axis == "shoulder" and question.reference == 135.0 and "it is there" in question.text and not where:
            where.append(table.targets[-1][1])
            return "= 20 go 9"
        if len(where) == 1:
            where.append(table.targets[-1][1])
        return None

    go_through(calibrate(plan, Progress()), table, operator := Operator(table, slip, brief=True))
    assert where[0] == where[1]
    assert any("against the direction you saw" in text for text in operator.told)


# -- which move ------------------------------------------------------------------------------------------


def test_a_joint_goes_beyond_what_was_seen_by_as_many_steps_as_were_asked_for_and_two_on_one_point(
    plan: Plan, lynx6: Rig, crooked: Rig
) -> None:
    """Every pulse lies within the asked number of windows; on a single point within two, whatever was asked for."""
    table = Table(lynx6, crooked)
    seen: dict[int, tuple[int, int]] = {}
    allowed: dict[int, int] = {}
    furthest: dict[int, int] = {1: 0, UNSURE_STEPS: 0, STEPS: 0}

    def look(question: Question) -> None:
        targets = table.targets[:]
        table.targets.clear()
        for channel, pulse_us, _ in targets:
            low_us, high_us = seen.get(channel, (pulse_us, pulse_us))
            steps = allowed.get(channel, 1)
            beyond_us = max(low_us - pulse_us, pulse_us - high_us)
            assert beyond_us <= steps * WINDOW_US
            furthest[steps] = max(furthest[steps], beyond_us)
        for channel, pulse_us, _ in targets:
            low_us, high_us = seen.get(channel, (pulse_us, pulse_us))
            seen[channel] = (min(low_us, pulse_us), max(high_us, pulse_us))
        if question.kind == "measure" and question.channel is not None:
            many = question.reference is not None and "(1 measured)" not in question.text
            measured = "it is there" in question.text and "(1 measured)" in question.text
            allowed[question.channel] = STEPS if many or measured else UNSURE_STEPS

    go_through(calibrate(plan, Progress()), table, Operator(table, look, brief=True))
    assert furthest[UNSURE_STEPS] == UNSURE_STEPS * WINDOW_US
    assert furthest[STEPS] > UNSURE_STEPS * WINDOW_US


@pytest.mark.parametrize("after", [1, 2])
def test_enter_halts_a_joint_on_its_way_at_the_next_step(plan: Plan, lynx6: Rig, after: int) -> None:
    """Between any two steps somebody is asked for; who halted is asked a question next, and nothing goes on."""
    table = Table(lynx6, true_arm(lynx6))
    glances = itertools.count(1)
    where: list[int] = []
    arrived: list[int] = []

    def halted() -> bool:
        where.append(table.targets[-1][1])
        return next(glances) == after

    def stop(question: Question) -> str | None:
        if "(1 measured)" in question.text and where:
            arrived.append(table.targets[-1][1])
            return "stop"
        return None

    progress = Progress(channels={axis.name: axis.channel for axis in plan.axes}, directions={"wrist": "falling"})
    operator = Operator(table, stop, brief=True)
    with pytest.raises(CalibrationStoppedError):
        carry_out(calibrate(plan, progress, "wrist"), operator, table.line, operator.told.append, halted=halted)
    assert len(where) == 1
    assert arrived == [where[-1] if after == 1 else where[-1] - WINDOW_US]
    assert ("halted: it holds here" in operator.told) == (after == 1)


def test_a_procedure_looks_for_a_halt_between_steps_and_not_elsewhere(plan: Plan) -> None:
    """Whoever typed ahead of a question has not asked for a halt."""
    steps = calibrate(plan, Progress(channels={"wrist": 3}, directions={"wrist": "falling"}), "wrist")
    kinds = []
    step = next(steps)
    typed = iter(["= -4.6 go 2", "stop"])
    with pytest.raises(CalibrationStoppedError):
        while True:
            kinds.append(type(step).__name__)
            answer: Any = next(typed) if isinstance(step, Question) else None
            if isinstance(step, Report):
                answer = {3: 1500}
            elif isinstance(step, Glance):
                answer = False
            step = steps.send(answer)
    assert [kind for kind in kinds if kind in ("Move", "Glance")] == ["Move", "Glance", "Move"]


# -- taken back ------------------------------------------------------------------------------------------


@settings(max_examples=5, deadline=None)
@given(number=st.integers(0, 54), times=st.integers(1, 4), word=st.sampled_from(("u", "back", "undo")))
def test_whatever_is_taken_back_and_answered_again_comes_to_the_same(
    plan: Plan,
    lynx6: Rig,
    crooked: Rig,
    plain: tuple[Operator, dict[str, Any]],
    number: int,
    times: int,
    word: str,
) -> None:
    """From any question, any number of answers back: nothing moves by that.

    What comes of it is as good up to points that now lie close beside each other, read to half a degree.
    """
    table = Table(lynx6, crooked)
    count = itertools.count()
    sent: list[tuple[str, int]] = []

    def slip(question: Question) -> str | None:
        if sent and question.kind in ("place", "measure") and sent[-1][0] in ("place", "measure"):
            assert len(table.targets) == sent[-1][1]
        sent.clear()
        if not number <= next(count) < number + times:
            return None
        operator._watched.clear()
        operator._tried = None
        sent.append((question.kind, len(table.targets)))
        return word

    operator = Operator(table, slip, brief=True)
    found = go_through(calibrate(plan, Progress()), table, operator)
    for name, axis in plain[1].items():
        assert (found[name].channel, found[name].direction) == (axis.channel, axis.direction)
        assert worst_error(lynx6, crooked, name, found[name]) <= 2.0
    said = [text for text in operator.told if text.startswith(("taken back: ", "there is nothing to take back"))]
    assert len(said) == sum(answer == word for _, answer in operator.asked)


def test_a_misread_point_is_named_as_it_is_taken_back_and_asked_for_again(
    plan: Plan, lynx6: Rig, crooked: Rig, plain: tuple[Operator, dict[str, Any]]
) -> None:
    table = Table(lynx6, crooked)
    slips = iter(["= 128", "u"])

    def slip(question: Question) -> str | None:
        arrived = question.axis == "shoulder" and "near 135.0 deg, it is there" in question.text
        wrong = question.axis == "shoulder" and question.reference == 175.0
        return next(slips, None) if arrived or wrong else None

    operator = Operator(table, slip, brief=True)
    found = go_through(calibrate(plan, Progress()), table, operator)
    assert "taken back: shoulder at 128.0 deg. Nothing has moved" in operator.told
    assert found == plain[1]


def test_at_the_beginning_there_is_nothing_to_take_back_and_no_servo_lets_go(
    plan: Plan, lynx6: Rig, crooked: Rig
) -> None:
    table = Table(lynx6, crooked)
    answers = iter(["u", "go", "u", "stop"])
    operator = Operator(table, lambda question: next(answers))
    with pytest.raises(CalibrationStoppedError):
        go_through(calibrate(plan, Progress()), table, operator)
    assert [text.split(":")[0] for text in operator.told] == ["there is nothing to take back"] * 2
    assert len({question.channel for question, _ in operator.asked}) == 2


def test_points_of_before_a_break_can_be_taken_back_too(plan: Plan, lynx6: Rig, crooked: Rig) -> None:
    progress = Progress(
        channels={axis.name: axis.channel for axis in plan.axes},
        directions={"wrist": "falling"},
        points={"wrist": ((-4.5, 1500), (45.0, 1010))},
    )
    table = Table(lynx6, true_arm(lynx6))
    answers = iter(["go", "u", "u", "stop"])
    operator = Operator(table, lambda question: next(answers))
    kept: list[Progress] = []
    with pytest.raises(CalibrationStoppedError):
        go_through(calibrate(plan, progress, "wrist"), table, operator, kept.append)
    assert [question.reference for question, _ in operator.asked] == [None, 85.0, 45.0, None]
    assert kept[-1].points["wrist"] == ()


@given(st.lists(st.integers(0, 5), max_size=12))
def test_the_past_gives_each_state_once_newest_first_and_never_the_present(states: list[int]) -> None:
    def known(number: int) -> Known:
        return Known(progress=Progress(done=(str(number),)), unused=frozenset(), passed={})

    past = Past()
    for number in states:
        past.remember(known(number))
    expected = [number for number, _ in itertools.groupby(states)]
    now = -1
    given_back = []
    while (before := past.before(known(now))) is not None:
        now = int(before.progress.done[0])
        given_back.append(now)
    assert given_back == expected[::-1]
